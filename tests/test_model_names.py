"""A model's name as people type it: with spaces around it, and without the tag that its server
adds.
"""

from __future__ import annotations

import json

import pytest
from scripted_model import Answer, Asked, completion, steady
from test_cli import CALLS, MARKS, User, only_line, user

from independence_bench.api.commands import run
from independence_bench.errors import NotOffered, WrongUse
from independence_bench.lookup import find_by_label
from independence_bench.models.spec import Roster

__all__ = ["user"]

TAGGED = [{"id": name} for name in ("llama3.2:latest", "qwen3:4b", "judge:latest")]


def local(asked: Asked) -> Answer:
    """As a server of the user's own, which is watched for whether all of a prompt arrived."""
    plain = asked.judging and "response_format" not in asked.body
    answer = Answer(completion("Hello.")) if plain else steady(MARKS)(asked)
    sent = asked.text + json.dumps(asked.body.get("tools", ""))
    answer.body["usage"]["prompt_tokens"] = len(sent) // 4
    return answer


def bought(user: User) -> int:
    """Calls that a reply or a judgement came of: not those that find out what a server shows."""
    return sum(asked.body["max_tokens"] > 1 for asked in user.server.asked)


def labels(user: User) -> set[str]:
    """Who is on the board."""
    boards = json.loads(user.aib("leaderboard", "--json").stdout)["boards"]
    return {row["label"] for board in boards for row in board["ranked"]}


def test_a_name_without_a_tag_is_that_of_the_latest(user: User) -> None:
    """Of a subject and of a judge: the listed one is called, stored and played again, and a line
    says so.
    """
    user.server.models_answer = Answer({"data": TAGGED})
    user.server.script = local
    where = ("--local-url", user.server.url, "--protocol", "small", "--runs", "1")
    order = ("run", "--local-model", "llama3.2", "--judge", "local:judge", *where)

    done = user.aib(*order)

    assert done.returncode == 0, done.stderr
    for name in ("llama3.2", "judge"):
        said = f"note: local:{name} is local:{name}:latest there, and is called and stored as that"
        assert done.stderr.count(said) == 1
    assert {asked.model for asked in user.server.asked} == {"llama3.2:latest", "judge:latest"}
    assert labels(user) == {"local:llama3.2:latest@none-t0.7"}
    assert bought(user) == CALLS
    again = user.aib(*order)
    more = user.aib("rerun", "llama3.2", "--local-url", user.server.url, "--yes", "--runs", "1")
    assert (again.returncode, more.returncode) == (0, 0), again.stderr + more.stderr
    assert bought(user) == CALLS, "nothing is bought twice"


def test_another_tag_is_another_model(user: User) -> None:
    """Of a name that has no latest, and of endpoints that run no models themselves, nothing is
    guessed.
    """
    user.server.models_answer = Answer({"data": TAGGED})
    where = ("--local-url", user.server.url, "--protocol", "small")

    other = only_line(user.aib("run", "local:qwen3", *where), 2)
    remote = only_line(user.run(model="scripted:llama3.2"), 2)

    assert "has no model qwen3; did you mean qwen3:4b?" in other
    assert "has no model llama3.2; did you mean llama3.2:latest?" in remote
    assert user.server.asked == []


def test_models_yaml_excludes_it_by_either_name(user: User) -> None:
    """Its entry is that of the model that the server lists."""
    user.server.models_answer = Answer({"data": TAGGED})
    entry = "subjects:\n  - {model: llama3.2, endpoint: scripted, exclude: not mine}\n"
    user.models(entry, dialect="local")

    done = user.run("--judge", "scripted:judge", model="scripted:llama3.2")

    assert done.returncode == 0, done.stderr
    assert "excluded by a person: not mine" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("typed", "model", "endpoint"),
    [
        (" qwen/qwen3-8b ", "qwen/qwen3-8b", "openrouter"),
        ("local: llama3.2", "llama3.2", "local"),
        (" local :llama3.2\n", "llama3.2", "local"),
        ("qwen/qwen3-8b:free ", "qwen/qwen3-8b:free", "openrouter"),
    ],
)
def test_spaces_around_a_name_are_no_part_of_it(typed: str, model: str, endpoint: str) -> None:
    """Nor those around its endpoint."""
    (spec,) = Roster().find_or_make_specs(typed)

    assert (spec.model, spec.endpoint) == (model, endpoint)


def test_they_are_none_wherever_a_name_is_typed(user: User) -> None:
    """Arguments, lists, judges, stored names; all of them lead to the same stored replies."""
    scripted = ("--protocol", " small ", "--runs", "1")
    judge = ("--judge", " scripted: judge/one ")
    for named in ((" scripted:acme/one ",), ("--models", "scripted: acme/one , ")):
        assert user.aib("run", *named, *scripted, *judge).returncode == 0

    assert len(user.server.asked) == CALLS
    for command in (
        ("judge", "-j", " scripted:judge/one "),
        ("leaderboard", "--judge", " judge/one "),
        ("judges", "-j", " judge/one "),
        ("show", " acme/one ", " plain "),
        ("rerun", " acme/one ", "--runs", "1", "--yes", "--judge", " scripted:judge/one "),
        ("exclude", " acme/one ", "--reason", "x"),
    ):
        done = user.aib(*command)
        assert done.returncode == 0, (command, done.stderr)
    assert len(user.server.asked) == CALLS
    assert find_by_label({1: "acme/one@x", 2: "acme/two@x"}, " acme/two ") == 2
    with pytest.raises(WrongUse, match="the name of a model is empty; did you mean acme/one@x"):
        find_by_label({1: "acme/one@x"}, " ")


def test_from_python_as_well(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of models and judges."""
    monkeypatch.chdir(user.folder)
    for name, value in user.env.items():
        monkeypatch.setenv(name, value)
    user.server.models_answer = Answer({"data": TAGGED})
    user.server.script = local
    where = {"local_url": user.server.url, "protocol": "small", "runs": 1}

    ended = run(" local: llama3.2 ", judge=" local:judge ", **where)  # type: ignore[arg-type]

    assert ended.complete
    assert ended.subjects == ("local:llama3.2:latest@none-t0.7",)
    with pytest.raises(NotOffered, match="did you mean qwen3:4b"):
        run("local:qwen3", judge="local:judge", **where)  # type: ignore[arg-type]
    with pytest.raises(WrongUse, match="not a model id"):
        run("local: ", **where)  # type: ignore[arg-type]
