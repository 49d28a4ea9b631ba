"""Who is talked to: labels, what a user may type, models.yaml and its mistakes, and what makes two
subjects one.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from independence_bench.errors import SubjectError
from independence_bench.models.endpoints import read_models_file
from independence_bench.models.response import ModelInfo
from independence_bench.models.spec import (
    AUTO,
    BUILT_IN,
    ChatModel,
    Endpoint,
    ModelSpec,
    Reasoning,
    Roster,
    read_chat_model,
)
from independence_bench.models.trust import check_url
from independence_bench.yaml_io import LARGEST

MODEL = ChatModel("openai/gpt-5-nano", "openrouter", 0.7, 2048)


# labels


@pytest.mark.parametrize(
    ("model", "label"),
    [
        (MODEL, "openai/gpt-5-nano@none-t0.7"),
        (replace(MODEL, reasoning=Reasoning.LOW), "openai/gpt-5-nano@low-t0.7"),
        (replace(MODEL, provider="acme/int4"), "openai/gpt-5-nano+acme/int4@none-t0.7"),
        (replace(MODEL, temperature=1), "openai/gpt-5-nano@none-t1.0"),
        (replace(MODEL, temperature=0.0), "openai/gpt-5-nano@none-t0.0"),
        (replace(MODEL, temperature=0.25), "openai/gpt-5-nano@none-t0.25"),
        (replace(MODEL, max_tokens=200, own_limit=True), "openai/gpt-5-nano@none-t0.7-m200"),
        (
            ChatModel("companion:reply", "python", 1.0, 0, identity="2.1"),
            "python:companion:reply@2.1",
        ),
        (replace(MODEL, model="llama3:8b", endpoint="local"), "local:llama3:8b@none-t0.7"),
        (
            replace(MODEL, model="qwen/qwen3-8b:free", reasoning=Reasoning.HIGH),
            "qwen/qwen3-8b:free@high-t0.7",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_label_says_how_the_model_was_called(model: ChatModel, label: str) -> None:
    """name+provider@reasoning-tTEMP, off written none, as in published tables."""
    assert model.label == label


@pytest.mark.parametrize(
    ("effort", "thinks"),
    [(effort, effort not in (Reasoning.OFF, Reasoning.UNSET)) for effort in Reasoning],
)
def test_a_model_that_was_told_to_reason_thinks(effort: Reasoning, thinks: bool) -> None:
    """Even minimally; tables mark it."""
    assert replace(MODEL, reasoning=effort).is_told_to_think is thinks


# identity


@pytest.mark.parametrize(
    "changed",
    [
        {"model": "openai/gpt-5-mini"},
        {"endpoint": "openai"},
        {"temperature": 0.8},
        {"max_tokens": 2049},
        {"reasoning": Reasoning.MINIMAL},
        {"provider": "acme"},
        {"identity": "sha"},
        {"accept_cut_off": True},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_whatever_causes_replies_makes_another_subject(changed: dict[str, object]) -> None:
    """Another temperature or effort is another row, never the same."""
    assert replace(MODEL, **changed).hash != MODEL.hash  # type: ignore[arg-type]


def test_nothing_else_makes_another_subject() -> None:
    """Nor whether the limit was typed or came from the protocol, nor whether 1 is written 1.0."""
    assert replace(MODEL, own_limit=True).hash == MODEL.hash
    assert replace(MODEL, temperature=1).hash == replace(MODEL, temperature=1.0).hash
    assert "url" not in MODEL.causes(), "an endpoint goes by its name, wherever it runs today"


# what a user types


ROSTER = Roster(
    {**BUILT_IN, "lab": Endpoint("lab", "http://lab:8080/v1", "local")},
    (
        ModelSpec("a/b", temperature=0.2, provider="acme"),
        ModelSpec("llama3:8b", "lab", active=False),
    ),
)


@pytest.mark.parametrize(
    ("typed", "model", "endpoint"),
    [
        ("openai/gpt-5-nano", "openai/gpt-5-nano", "openrouter"),
        ("qwen/qwen3-8b:free", "qwen/qwen3-8b:free", "openrouter"),
        ("openrouter:qwen/qwen3-8b:free", "qwen/qwen3-8b:free", "openrouter"),
        ("openai:gpt-5-nano", "gpt-5-nano", "openai"),
        ("local:llama3:8b", "llama3:8b", "local"),
        ("lab:llama3:8b", "llama3:8b", "lab"),
        ("gguf:~/x.gguf", "~/x.gguf", "gguf"),
    ],
)
def test_a_colon_names_an_endpoint_only_behind_one(typed: str, model: str, endpoint: str) -> None:
    """`:free` and `:8b` belong to the model."""
    (spec,) = ROSTER.find_or_make_specs(typed)

    assert (spec.model, spec.endpoint) == (model, endpoint)


def test_a_model_of_models_yaml_comes_with_its_settings() -> None:
    """Inactive ones too, when they are named."""
    assert (
        ROSTER.find_or_make_specs("a/b")
        == ROSTER.find_or_make_specs("openrouter:a/b")
        == ROSTER.specs[:1]
    )
    assert ROSTER.find_or_make_specs("lab:llama3:8b") == ROSTER.specs[1:2]
    assert ROSTER.find_or_make_specs("local:llama3:8b") == (ModelSpec("llama3:8b", "local"),)


def test_what_a_model_is_called_finds_it_again() -> None:
    """The name that tables show can be typed."""
    for spec in ROSTER.specs:
        assert ROSTER.find_or_make_specs(spec.make_model(0.7, 100, Reasoning.OFF).name) == (spec,)


@pytest.mark.parametrize(
    "typed", ["", "  ", "openrouter:", "local: ", "a/\x1b[31mb", "a\nb", "a\x00b"]
)
def test_what_is_no_model_id_is_refused(typed: str) -> None:
    """It would end up in tables and terminals."""
    with pytest.raises(
        SubjectError, match=r"is not a model id; write author/model or ENDPOINT:MODEL"
    ):
        ROSTER.find_or_make_specs(typed)


def test_an_unknown_endpoint_is_answered_with_the_known_ones() -> None:
    """And with where to add one."""
    with pytest.raises(
        SubjectError, match=r"no endpoint called x; known: openrouter, .*lab .*models\.yaml"
    ):
        ROSTER.find_endpoint("x")
    with pytest.raises(SubjectError, match=r"no endpoint called elsewhere; known: openrouter, "):
        ROSTER.find_or_make_specs("elsewhere:acme/model")
    assert ROSTER.find_endpoint("lab").url == "http://lab:8080/v1"
    (free,) = ROSTER.find_or_make_specs("acme/model:free")  # a colon inside an id names no endpoint
    assert (free.endpoint, free.model) == ("openrouter", "acme/model:free")


# from specification to model


@pytest.mark.parametrize("typed", [None, 2048])
def test_what_a_wish_leaves_open_comes_from_the_protocol(typed: int | None) -> None:
    """The protocol's own limit, typed or not, is the same subject, and the label does not mention
    it.
    """
    wish = ModelSpec("a/b", max_tokens=typed)

    assert wish.make_model(0.7, 2048, Reasoning.OFF) == ChatModel("a/b", "openrouter", 0.7, 2048)


def test_what_a_wish_says_holds() -> None:
    """A temperature of 0 is a temperature."""
    spec = ModelSpec("a/b", "lab", 0.0, 200, "high", "acme", accept_cut_off=True)

    assert spec.make_model(0.7, 2048, Reasoning.HIGH, "sha") == ChatModel(
        "a/b",
        "lab",
        0.0,
        200,
        Reasoning.HIGH,
        "acme",
        accept_cut_off=True,
        identity="sha",
        own_limit=True,
    )


@pytest.mark.parametrize("parameters", [None, frozenset(), frozenset({"reasoning", "tools"})])
def test_auto_is_what_the_model_does_by_itself(parameters: frozenset[str] | None) -> None:
    """Whatever its endpoint lists: nothing is sent of it, so there is nothing to guess."""
    assert ModelInfo("a/b", parameters=parameters).choose_effort(AUTO) is Reasoning.UNSET


@pytest.mark.parametrize(
    ("temperature", "effort", "label"),
    [
        (None, Reasoning.OFF, "a/b@none-tunset"),
        (0.7, Reasoning.UNSET, "a/b@unset-t0.7"),
        (None, Reasoning.UNSET, "a/b@unset-tunset"),
    ],
)
def test_what_cannot_be_set_is_unset_in_label_and_hash(
    temperature: float | None, effort: Reasoning, label: str
) -> None:
    """A subject at another temperature is another subject; its settings come back from the store as
    they were.
    """
    subject = ChatModel("a/b", "openrouter", temperature, 2048, effort)

    assert subject.label == label
    assert subject.hash != ChatModel("a/b", "openrouter", 0.7, 2048).hash
    assert read_chat_model(json.loads(subject.settings_json)) == subject


# models.yaml


def models(folder: Path, text: str | bytes) -> Path:
    """A models.yaml with *text*."""
    path = folder / "models.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_models_yaml_holds_endpoints_and_subjects(tmp_path: Path) -> None:
    """Everything that it may say, and what it means."""
    roster = read_models_file(
        models(
            tmp_path,
            """
endpoints:
  lab: {url: "http://lab:8080/v1/", key_env: LAB_KEY, at_once: 2, free: true}
  local: {url: "http://localhost:11434/v1"}
subjects:
  - model: openai/gpt-5-nano
    reasoning: off
    notes: ignores temperature
  - {model: "llama3:8b", endpoint: lab, temperature: 0, max_tokens: 300, \
reasoning: high, accept_cut_off: true}
  - {model: a/b, provider: acme/int4, active: false, reasoning: auto}
""",
        )
    )

    assert roster.endpoints["lab"] == Endpoint(
        "lab", "http://lab:8080/v1", "local", "LAB_KEY", 2, True
    )
    assert roster.endpoints["local"].url == "http://localhost:11434/v1"
    assert roster.endpoints["openrouter"] == BUILT_IN["openrouter"]
    assert roster.specs == (
        ModelSpec("openai/gpt-5-nano", reasoning="off", asked_for=frozenset({"effort"})),
        ModelSpec(
            "llama3:8b",
            "lab",
            0.0,
            300,
            "high",
            accept_cut_off=True,
            asked_for=frozenset({"temperature", "effort"}),
        ),
        ModelSpec(
            "a/b",
            provider="acme/int4",
            reasoning="auto",
            active=False,
            asked_for=frozenset({"effort"}),
        ),
    )


def test_an_empty_list_is_a_roster(tmp_path: Path) -> None:
    """Nobody has to have endpoints or subjects of their own."""
    roster = read_models_file(models(tmp_path, "subjects: []\n"))

    assert roster.specs == ()
    assert roster.endpoints == BUILT_IN


@pytest.mark.parametrize(
    ("text", "key", "mend"),
    [
        ("subject: []", "subject", "is not a known key; did you mean subjects?"),
        ("subjects:\n- {modle: a/b}", "subjects.0.modle", "is not a known key"),
        ("subjects:\n- {endpoint: local}", "subjects.0.model", "is missing; add it"),
        (
            "subjects:\n- {model: a/b, temprature: 1}",
            "subjects.0.temprature",
            "did you mean temperature?",
        ),
        ("subjects:\n- {model: ''}", "subjects.0.model", "at least 1 character"),
        (
            "subjects:\n- {model: a/b, temperature: 3}",
            "subjects.0.temperature",
            "less than or equal to 2",
        ),
        ("subjects:\n- {model: a/b, temperature: .inf}", "subjects.0.temperature", "finite"),
        (
            "subjects:\n- {model: a/b, max_tokens: 0}",
            "subjects.0.max_tokens",
            "greater than or equal to 1",
        ),
        ("subjects:\n- {model: a/b, reasoning: on}", "subjects.0.reasoning", "'off', 'minimal'"),
        (
            "subjects:\n- {model: a/b}\n- {model: c, endpoint: lab}",
            "subjects.1.endpoint",
            "there is no endpoint called lab; did you mean local?",
        ),
        ("subjects:\n- {model: a/b, model: c/d}", "line 2", "the key model appears here twice"),
        ("subjects: a/b", "subjects", "valid list (it says 'a/b')"),
        ("endpoints:\n  lab: {}", "endpoints.lab.url", "is missing; add it"),
        (
            "endpoints:\n  lab: {url: 'http://x', key: y}",
            "endpoints.lab.key",
            "did you mean key_env?",
        ),
        (
            "endpoints:\n  lab: {url: localhost}",
            "endpoints.lab.url",
            "is not an http(s) address; write http://localhost",
        ),
        (
            "endpoints:\n  lab: {url: 'http://u:hunter2@x'}",
            "endpoints.lab.url",
            "use an environment variable",
        ),
        (
            "endpoints:\n  lab: {url: 'http://ｏpenrouter.ai'}",
            "endpoints.lab.url",
            "write other letters as xn--",
        ),
        ("endpoints:\n  lab: {url: 'http://x\\\\@y/v1'}", "endpoints.lab.url", "a plain name"),
        (
            "endpoints:\n  lab: {url: 'http://x', dialect: soap}",
            "endpoints.lab.dialect",
            "'openai' or 'local'",
        ),
        (
            "endpoints:\n  lab: {url: 'http://x', at_once: 0}",
            "endpoints.lab.at_once",
            "greater than or equal to 1",
        ),
        (
            "endpoints:\n  openrouter: {url: 'http://x', free: true}",
            "endpoints.openrouter.free",
            "only its url",
        ),
        (
            "endpoints:\n  lab: {url: 'http://x', referer: lab}",
            "endpoints.lab.referer",
            "is not an http(s) address",
        ),
        (
            "endpoints:\n  lab: {url: 'http://x', title: Lärm}",
            "endpoints.lab.title",
            "write it in ASCII letters",
        ),
        ("endpoints:\n  gguf: {url: 'http://x'}", "endpoints.gguf", "choose another name"),
        ("endpoints:\n  'a:b': {url: 'http://x'}", "endpoints.a:b", "choose another name"),
        ("- a/b", "", "should hold keys and values"),
        ("", "", "should hold keys and values"),
        ("subjects: [", "line ", "is not valid YAML"),
        (b"subjects: \xff", "", "is not UTF-8 text"),
        (
            "endpoints:\n  a: &a {url: 'http://x'}\n  b: *a\n",
            "line 3",
            "has a YAML alias (*a); write it out",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and "\n" not in value else None,
)
def test_a_mistake_is_one_line_with_file_key_and_mend(
    tmp_path: Path, text: str | bytes, key: str, mend: str
) -> None:
    """Whoever writes models.yaml is told where to look and what to do, and no password is
    repeated.
    """
    path = models(tmp_path, text)

    with pytest.raises(SubjectError) as caught:
        read_models_file(path)

    message = str(caught.value)
    assert message.startswith(f"{path}{', ' + key if key else ''}"), message
    assert mend in message
    assert "\n" not in message
    assert "hunter2" not in message


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """What leads to none, too."""
    with pytest.raises(
        SubjectError, match=r"nowhere\.yaml does not exist .*--models-file names another"
    ):
        read_models_file(tmp_path / "nowhere.yaml")
    with pytest.raises(SubjectError, match="is not a file"):
        read_models_file(Path("/dev/zero"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "subjects: [] #" + "x" * LARGEST,
            "more than 400,000; shorten it; --models-file names another",
        ),
        ("subjects: " + "[" * 100_000, "line 1: is nested too deeply"),
        ("subjects:\n" + "- " * 100_000, "line 2: is nested too deeply"),
    ],
    ids=range(3),
)
def test_a_file_that_no_person_wrote_is_bounded(tmp_path: Path, text: str, says: str) -> None:
    """As a sheet of a character is: neither its size nor its brackets take minutes."""
    with pytest.raises(SubjectError, match=says):
        read_models_file(models(tmp_path, text))


# addresses


@pytest.mark.parametrize(
    ("url", "checked"),
    [
        ("http://localhost:8080/v1", "http://localhost:8080/v1"),
        ("https://api.example.org/v1//", "https://api.example.org/v1"),
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434"),
        ("http://[::1]:8080/v1/", "http://[::1]:8080/v1"),
    ],
)
def test_an_address_has_no_slash_at_its_end(url: str, checked: str) -> None:
    """Paths are put behind it."""
    assert check_url(url) == checked


@pytest.mark.parametrize(
    "url", ["", "localhost:8080", "ftp://x/v1", "http://", "file:///etc/passwd", "x"]
)
def test_what_is_no_http_address_is_refused(url: str) -> None:
    """With an example of one."""
    with pytest.raises(
        SubjectError, match=r"is not an http\(s\) address; write http://localhost:8080/v1"
    ):
        check_url(url)


@pytest.mark.parametrize(
    "url", ["http://user:hunter2@x/v1", "http://:hunter2@x/v1", "http://hunter2@x/v1"]
)
def test_a_password_in_an_address_is_refused_and_not_repeated(url: str) -> None:
    """Addresses end up in logs."""
    with pytest.raises(SubjectError, match="environment variable") as caught:
        check_url(url)

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("effort", list(Reasoning))
def test_who_is_told_to_think_gets_room_for_it(effort: Reasoning) -> None:
    """Thoughts count against the limit: four times the protocol's; that is the protocol's word, not
    the label's.
    """
    model = ModelSpec("acme/one").make_model(0.7, 100, effort)

    assert model.max_tokens == (100 if effort is Reasoning.OFF else 400)
    assert model.label == f"acme/one@{'none' if effort is Reasoning.OFF else effort.value}-t0.7"


def test_a_limit_of_ones_own_holds_for_thinking_too() -> None:
    """What was typed is what is sent, and the label says it."""
    typed = ModelSpec("acme/one", max_tokens=100).make_model(0.7, 100, Reasoning.LOW)
    usual = ModelSpec("acme/one", max_tokens=400).make_model(0.7, 100, Reasoning.LOW)

    assert (typed.max_tokens, typed.label) == (100, "acme/one@low-t0.7-m100")
    assert (usual.max_tokens, usual.label) == (400, "acme/one@low-t0.7")
    assert usual == ModelSpec("acme/one").make_model(0.7, 100, Reasoning.LOW)


def test_a_word_without_a_slash_is_no_model_of_openrouter() -> None:
    """A slip such as `embeded` is said at once, and not asked of an endpoint that costs money."""
    with pytest.raises(SubjectError, match=r"is not an OpenRouter model.* did you mean embedded"):
        ROSTER.find_or_make_specs("embeded")
