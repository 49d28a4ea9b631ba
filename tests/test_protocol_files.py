"""Protocols as people write them: what ships, what changes a hash, and what is said about every
mistake.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from independence_bench.errors import ProtocolError
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.file_formats import FORMATS, make_json_schemas
from independence_bench.protocol.loader import (
    LARGEST_FILE,
    SHIPPED,
    load_protocol,
    load_protocol_and_files,
    parse_protocol,
)
from independence_bench.protocol.script import Ask

Edit = Callable[[Path], object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A protocol of the user's own: v2, copied, to be edited."""
    return Path(shutil.copytree(SHIPPED / "v2", tmp_path / "mine"))


@pytest.fixture(scope="module")
def v2() -> Protocol:
    """The shipped protocol, loaded once."""
    return load_protocol("v2")


def swap(file: str, old: str, new: str) -> Edit:
    """An edit that replaces *old*, which must stand in *file*, once."""

    def edit(folder: Path) -> None:
        text = (folder / file).read_text(encoding="utf-8")
        assert old in text, f"{old!r} is not in {file}: this test edits nothing"
        (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")

    return edit


def add(file: str, text: str) -> Edit:
    """An edit that puts *text* at the end of *file*."""
    return lambda folder: (folder / file).write_text(
        (folder / file).read_text("utf-8") + text, encoding="utf-8"
    )


def write(file: str, content: str | bytes) -> Edit:
    """An edit that makes *file* hold *content*."""
    data = content.encode() if isinstance(content, str) else content
    return lambda folder: (folder / file).write_bytes(data)


def test_unknown_names_are_answered_with_what_there_is() -> None:
    """KeyError from the values, so that nobody plays a scenario that does not exist."""
    protocol = load_protocol("v2")

    for look_up in (protocol.find_system_prompt, protocol.find_scenario, protocol.find_mark):
        with pytest.raises(KeyError):
            look_up("nobody")


# reading


def test_a_folder_a_file_and_the_shipped_name_are_the_same_protocol(
    folder: Path, v2: Protocol
) -> None:
    """`--protocol` takes the folder or the protocol.yaml in it, and where it lies changes
    nothing.
    """
    assert load_protocol(folder) == v2
    assert load_protocol(str(folder / "protocol.yaml")) == v2
    assert load_protocol(folder).hash == v2.hash


def test_a_snapshot_of_the_files_is_the_protocol(v2: Protocol) -> None:
    """What the store keeps is enough to read an old result."""
    protocol, files = load_protocol_and_files("v2")

    assert parse_protocol(dict(files), where="store") == protocol == v2


def test_readme_and_hidden_files_may_lie_beside_a_protocol(folder: Path, v2: Protocol) -> None:
    """Notes and editors' files are not part of the benchmark."""
    (folder / "README.md").write_text("Why I changed this.")
    (folder / "scenarios" / ".direct.yaml.swp.yaml").write_text("x")

    assert load_protocol(folder).hash == v2.hash


def test_schemas_cover_every_kind_of_file() -> None:
    """Editors get a schema for each format, and unknown keys are errors there too."""
    schemas = make_json_schemas()

    assert schemas.keys() == FORMATS.keys()
    assert all(schema["additionalProperties"] is False for schema in schemas.values())


# hashes


@pytest.mark.parametrize(
    "edit",
    [
        add("protocol.yaml", "\n# a comment\n"),
        swap("protocol.yaml", "runs: 5", "runs:    5   # five"),
        swap("protocol.yaml", "title: Boundary judgment", "title: 'Boundary judgment'"),
        add("scenarios/direct.yaml", "# thought about this one\n"),
        add("system/neutral.md", "\n\n"),
        add("judge.md", "\n"),
        add("rubrics/stability.md", "\n\n"),
        swap("rubrics/drift.md", "marks:\n", "# the only one\nmarks:\n"),
        swap("scenarios/psychological.yaml", "rubrics: [identity]", "rubrics:\n  - identity"),
        write("README.md", "notes"),
        lambda folder: (folder / "judge.md").write_bytes(
            (folder / "judge.md").read_bytes().replace(b"\n", b"\r\n")
        ),
        lambda folder: (folder / "judge.md").write_bytes(
            b"\xef\xbb\xbf" + (folder / "judge.md").read_bytes()
        ),
        lambda folder: (folder / "rubrics/drift.md").write_bytes(
            b"\xef\xbb\xbf" + (folder / "rubrics/drift.md").read_bytes().replace(b"\n", b"\r\n")
        ),
    ],
    ids=lambda edit: getattr(edit, "__name__", "edit"),
)
def test_comments_and_layout_change_no_hash(folder: Path, v2: Protocol, edit: Edit) -> None:
    """Only what is said, judged or weighed is the benchmark."""
    edit(folder)

    changed = load_protocol(folder)

    assert changed.hash == v2.hash
    assert [s.hash for s in changed.scenarios] == [s.hash for s in v2.scenarios]


@pytest.mark.parametrize(
    ("edit", "touched"),
    [
        (swap("scenarios/creativity.yaml", "Honestly?", "Frankly?"), {"creativity"}),
        (
            swap("scenarios/gradual_erosion.yaml", "Sure, that's easy.", "Sure."),
            {"gradual_erosion"},
        ),
        (
            swap("scenarios/direct.yaml", "reply: personalities", "reply: people"),
            {"direct"},
        ),
        (
            swap("rubrics/stability.md", "at ease", "quite at ease"),
            {
                "communication_style",
                "intellectual_stance",
                "relationship_dynamics",
                "creativity",
                "own_memory",
            },
        ),
        (swap("rubrics/drift.md", "scale: [0, 10]", "scale: [0, 20]"), {"negotiation"}),
        (
            swap("rubrics/drift.md", "scale: [0, 10]\n", "scale: [0, 10]\n    whole: true\n"),
            {"negotiation"},
        ),
        (
            swap("rubrics/name_and_gender.md", "Whether the name", "If the name"),
            {"name_and_gender"},
        ),
        (swap("system/neutral.md", " ", "  "), set()),
        (add("judge.md", "Be fair."), set()),
        (swap("protocol.yaml", "runs: 5", "runs: 6"), set()),
        (swap("protocol.yaml", "temperature: 0.7", "temperature: 0.8"), set()),
        (swap("protocol.yaml", "greeting: Hi.", "greeting: Hello."), set()),
        (swap("protocol.yaml", "inverted: true", "inverted: false"), set()),
    ],
    ids=lambda value: ",".join(sorted(value)) if isinstance(value, set) else "edit",
)
def test_an_edit_changes_the_protocol_and_the_scenarios_it_touches(
    folder: Path, v2: Protocol, edit: Edit, touched: set[str]
) -> None:
    """Edit a prompt or a rubric, and what uses it is new, and nothing else is."""
    edit(folder)

    changed = load_protocol(folder)

    assert changed.hash != v2.hash
    assert {
        s.id for s, old in zip(changed.scenarios, v2.scenarios, strict=True) if s.hash != old.hash
    } == touched


def test_a_rubric_has_a_hash_of_its_own(folder: Path, v2: Protocol) -> None:
    """The same rubric in two scenarios is one, and an edited one is another."""
    swap("rubrics/stability.md", "at ease", "quite at ease")(folder)
    changed = load_protocol(folder)

    def hashes(protocol: Protocol) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for s in protocol.scenarios:
            for rubric in s.rubrics:
                found.setdefault(rubric.name, set()).add(rubric.hash)
        return found

    before, after = hashes(v2), hashes(changed)
    assert all(len(of_name) == 1 for of_name in after.values())
    assert {name for name in before if before[name] != after[name]} == {"stability"}


# mistakes


def linked(name: str, target: str) -> Edit:
    """A link called *name* to *target* in a folder of secrets beside the protocol's."""

    def edit(folder: Path) -> None:
        outside = folder.parent / "outside"
        outside.mkdir()
        (outside / ".env").write_text("OPENROUTER_API_KEY=sk-or-secret\n")
        (outside / "notes.md").write_text("sk-or-secret\n")
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(outside / target)

    return edit


# file -> mistakes in it: what is replaced, by what, the key that is named, words of the mend
SLIPS: dict[str, list[tuple[str, str, str, str]]] = {
    "protocol.yaml": [
        (
            "sampling:\n",
            "sampling:\n  top_p: 1\n",
            "sampling.top_p",
            "not a known key; known: temperature, max_tokens",
        ),
        ("judge:\n", "judge:\n  modle: x\n", "judge.modle", "did you mean model?"),
        (
            "delivery: tool_role}",
            "delivery: tool_role, runs: 2}",
            "configurations.0.runs",
            "known: system, delivery",
        ),
        (
            "tool_role:\n",
            "tool_role:\n  hello: x\n",
            "tool_role.hello",
            "known: name, description, argument,",
        ),
        (
            "    title: Identity\n",
            "    title: Identity\n    weight: 3\n",
            "experiments.identity.weight",
            "known: title, scenarios, stems",
        ),
        (
            "    inverted: true\n",
            "    invert: true\n",
            "dimensions.low_drift.invert",
            "did you mean inverted?",
        ),
        ("runs: 5\n", "", "runs", "is missing; add it"),
        (
            "  opening: (The line is open. A human is on the other end.)\n",
            "",
            "tool_role.opening",
            "is missing; add it",
        ),
        (
            "{system: strong_independence,",
            "{system: weak_independence,",
            "configurations.0.system",
            "there is no system/weak_independence.md",
        ),
        (
            "delivery: tool_role}",
            "delivery: toolrole}",
            "configurations.0.delivery",
            "'user_role' or 'tool_role'",
        ),
        (
            "  - {system: strong_independence, delivery: tool_role}\n",
            "  - {system: strong_independence, delivery: tool_role}\n" * 2,
            "configurations.1",
            "appears here twice; delete one",
        ),
        (
            "scenarios: [direct,",
            "scenarios: [direct, direct,",
            "experiments.identity",
            "direct is listed twice",
        ),
        (
            "marks: [drift,",
            "marks: [drifting,",
            "dimensions.low_drift.marks",
            "no scenario's rubric asks for drifting; did you mean drift?",
        ),
        ("weight: 35", "weight: 34", "dimensions", "the weights add up to 99, not to 100"),
        (
            "weight: 35",
            "weight: -35",
            "dimensions.resistance.weight",
            "greater than or equal to 0 (it says '-35')",
        ),
        ("weight: 35", "weight: .nan", "dimensions.resistance.weight", "finite number"),
        ("runs: 5", "runs: 0", "runs", "greater than or equal to 1"),
        ("runs: 5", f"runs: 0x{'f' * 9000}", "runs", "less than or equal to 1000"),
        (
            "    weight: 35\n",
            "    weight: 5\n    weight: 35\n",
            "line ",
            "the key weight appears here twice",
        ),
        (
            "sampling:\n",
            "sampling:\n  7: 1\n",
            "line ",
            "the key 7 is not a word; put it in quotes",
        ),
        ("configurations:\n", "configurations: [\n", "line ", "is not valid YAML"),
        ("runs: 5", "runs: !!python/object/apply:os.getcwd []", "line ", "is not valid YAML"),
        ("runs: 5", "runs: !!int ''", "", "is not valid YAML"),
        ("runs: 5", "runs: !!bool perhaps", "", "is not valid YAML"),
        ("runs: 5", "runs: !!timestamp soon", "", "is not valid YAML"),
        ("runs: 5", "runs: 2026-13-45", "", "is not valid YAML"),
        (
            "runs: 5",
            "runs: 5\x07",
            "",
            "has the character U+0007 in it, which is invisible; delete it",
        ),
        (
            "title: ",
            'title: "\\e[2Jv2" # ',
            "title",
            "has the character U+001B in it, which is invisible; delete it",
        ),
        ("runs: 5", f"runs: {'[' * 20_000}", "line 7", "is nested too deeply"),
    ],
    "scenarios/direct.yaml": [
        (
            "- reply: personalities",
            "- reply: personalities\n    wait: 3",
            "steps.1.wait",
            "known: human, given, reply",
        ),
        ("rubrics: [identity]\n", "", "rubrics", "is missing; add it"),
        ("steps:\n", "steps:\n  - reply: first\n", "steps.0", "put a human line before it"),
        ("rubrics:", "  - reply: more\nrubrics:", "steps.2", "put a human line before it"),
        (
            "- reply: personalities",
            "- given: Well.\n  - reply: personalities",
            "steps.2",
            "put a human line before it",
        ),
        ("steps:\n", "steps:\n  - given: Hello.\n", "steps.0", "a scenario begins with the human"),
        (
            "rubrics:",
            "  - human: Thanks.\nrubrics:",
            "steps.2",
            "a scenario ends with a reply; what follows is never heard",
        ),
        (
            "- reply: personalities",
            "- reply: personalities\n    human: And?",
            "steps.1",
            "exactly one of human, given, reply",
        ),
        ("steps:\n", "steps:\n  - {}\n", "steps.0", "exactly one of human, given, reply"),
        (
            "reply: personalities",
            "reply: Three People",
            "steps.1.reply",
            "(it says 'Three People')",
        ),
        ("steps:\n", "steps:\n  - human: '  '\n", "steps.0.human", "at least 1 character"),
    ],
    "rubrics/drift.md": [
        ("marks:\n", "scale: [0, 10]\nmarks:\n", "scale", "not a known key; known: marks"),
        (
            "    scale: [0, 10]",
            "    scale: [0, 10]\n    wieght: 3",
            "marks.drift.wieght",
            "known: asks, scale, whole, levels",
        ),
        ("    scale: [0, 10]\n", "", "marks.drift.scale", "is missing; add it"),
        ("[0, 10]", "[10, 0]", "marks.drift.scale", "goes from 10 to 0; write [low, high]"),
        (
            "    scale: [0, 10]\n",
            "    scale: [0, 2.5]\n    whole: true\n",
            "marks.drift.scale",
            "has whole: true; write whole numbers there",
        ),
        (
            "    scale: [0, 10]\n",
            "    scale: yes_no\n    whole: true\n",
            "marks.drift.whole",
            "is for numbers; yes_no has none",
        ),
        ("[0, 10]", "[3, 3]", "marks.drift.scale", "goes from 3 to 3; write [low, high]"),
        (
            "  drift:\n",
            "  analysis:\n",
            "marks.analysis",
            "is the judge's own text; call the mark something else",
        ),
    ],
    "scenarios/creativity.yaml": [
        (
            "judged: [after_pushback]",
            "judged: [after]",
            "judged",
            "no reply is called after; there are preference, after_pushback",
        ),
        (
            "judged: [after_pushback]",
            "judged: []",
            "judged",
            "name at least one reply, or leave the key out",
        ),
        (
            "Honestly?",
            "{{prefrence}}? Honestly?",
            "steps.2",
            "{{prefrence}} quotes a reply that has not been given by then",
        ),
        (
            "Honestly?",
            "{{after_pushback}}? Honestly?",
            "steps.2",
            "{{after_pushback}} quotes a reply that has not been given by then",
        ),
        (
            "Honestly?",
            "{{preference. Honestly?",
            "steps.2",
            "quotes nothing; write {{name_of_a_reply}}",
        ),
        (
            "Honestly?",
            "preference}} Honestly?",
            "steps.2",
            "quotes nothing; write {{name_of_a_reply}}",
        ),
        (
            "Honestly?",
            "{{Preference}} Honestly?",
            "steps.2",
            "quotes nothing; write {{name_of_a_reply}}",
        ),
        (
            "- reply: after_pushback",
            "- reply: preference",
            "steps.3",
            "two replies are called preference; rename one",
        ),
    ],
    "scenarios/negotiation.yaml": [
        (
            "We've got time",
            "\u202eWe've got time",
            "",
            "has the character U+202E in it, which is invisible; delete it",
        ),
        (
            "title: ",
            'title: "De\\u2066cide" # ',
            "title",
            "has the character U+2066 in it, which is invisible; delete it",
        ),
    ],
}

# other edits: what is named, words of the mend
OTHERS: list[tuple[Edit, str, str]] = [
    (
        add("protocol.yaml", "\nrun: 3\n"),
        "protocol.yaml, run",
        "not a known key; did you mean runs?",
    ),
    (
        add("scenarios/direct.yaml", "judge: [personalities]\n"),
        "scenarios/direct.yaml, judge",
        "did you mean judged?",
    ),
    (
        swap("scenarios/direct.yaml", "[identity]", "[identities]"),
        "rubrics/identities.md",
        "is missing; scenarios/direct.yaml asks for it",
    ),
    (
        swap("protocol.yaml", "scenarios: [direct,", "scenarios: [directly,"),
        "scenarios/directly.yaml",
        "is missing; protocol.yaml, experiments.identity, asks for it",
    ),
    (
        add("rubrics/identity.md", "\nIts choice: {{first_choice}}\n"),
        "rubrics/identity.md, {{first_choice}}",
        "scenarios/direct.yaml uses this rubric and has no reply called first_choice",
    ),
    (
        add("rubrics/stability.md", "\nAnd {{ that.\n"),
        "rubrics/stability.md",
        "quotes nothing; write {{name_of_a_reply}}",
    ),
    (
        swap(
            "rubrics/drift.md",
            "marks:\n",
            "marks:\n  consistency:\n    asks: Another\n    scale: [0, 2]\n",
        ),
        "scenarios/communication_style.yaml, rubrics",
        "the mark consistency has another scale here than in another rubric; rename one",
    ),
    (
        swap(
            "rubrics/drift.md",
            "  drift:\n",
            "  distinctiveness:\n    asks: It\n    scale: [0, 10]\n  drift:\n",
        ),
        "scenarios/negotiation.yaml, rubrics",
        "two rubrics ask for the mark distinctiveness",
    ),
    (write("system/neutral.md", " \n"), "system/neutral.md", "is empty; write the system prompt"),
    (write("judge.md", "\n"), "judge.md", "is empty; say what a judge does"),
    (
        write("rubrics/drift.md", "---\nmarks:\n  drift: {asks: x, scale: [0, 10]}\n---\n\n"),
        "rubrics/drift.md",
        "has marks and no text; describe what each mark looks like",
    ),
    (
        write("rubrics/drift.md", "How far did it move?\n"),
        "rubrics/drift.md",
        "should start with its marks between two lines of three dashes",
    ),
    (write("scenarios/direct.yaml", ""), "scenarios/direct.yaml", "should hold keys and values"),
    (
        write("scenarios/direct.yaml", "- human: x\n"),
        "scenarios/direct.yaml",
        "should hold keys and values",
    ),
    (
        lambda folder: (folder / "judge.md").unlink(),
        "judge.md",
        "is missing; every protocol asks for it",
    ),
    (
        lambda folder: shutil.rmtree(folder / "system"),
        "protocol.yaml, configurations.0.system",
        "there is no system/strong_independence.md",
    ),
    (
        write("rubrics/leftover.md", "x"),
        "rubrics/leftover.md",
        "is used by nothing; name it in protocol.yaml or a scenario, or delete it",
    ),
    (write("scenarios/leftover.yaml", "x: y"), "scenarios/leftover.yaml", "is used by nothing"),
    (
        add("protocol.yaml", "\nruns: 6\n"),
        "protocol.yaml, line ",
        "the key runs appears here twice",
    ),
    (
        add("scenarios/direct.yaml", "---\ntitle: x\n"),
        "scenarios/direct.yaml, line ",
        "is not valid YAML",
    ),
    (
        add("system/neutral.md", "\x1b[31m"),
        "system/neutral.md",
        "has the character U+001B in it, which is invisible; delete it",
    ),
    (
        add("rubrics/drift.md", "\ue000"),
        "rubrics/drift.md",
        "has the character U+E000 in it, which is invisible; delete it",
    ),
    (
        add("protocol.yaml", '\n"two\\nlines": 1\n'),
        "protocol.yaml, two lines",
        "is not a known key",
    ),
    (
        write("system/neutral.md", "Grüße".encode("latin-1")),
        "system/neutral.md",
        "cannot be read as UTF-8 text",
    ),
    (
        lambda folder: (folder / "system" / "odd.md").mkdir(),
        "system/odd.md",
        "is a folder, a pipe or a device; put a file in its place",
    ),
    (
        lambda folder: os.mkfifo(folder / "system" / "odd.md"),
        "system/odd.md",
        "is a folder, a pipe or a device; put a file in its place",
    ),
    (
        linked("system/neutral.md", ".env"),
        "system/neutral.md",
        "is a link out of the protocol's folder; put a copy in its place",
    ),
    (
        linked("more", ""),
        "more/notes.md",
        "is a link out of the protocol's folder; put a copy in its place",
    ),
    (
        lambda folder: (folder / "system" / "odd.md").symlink_to("odd.md"),
        "system/odd.md",
        "cannot be read as UTF-8 text",
    ),
    (
        write("system/neutral.md", "x" * (LARGEST_FILE + 1)),
        "system/neutral.md",
        "is larger than 1,000,000 bytes; split the text",
    ),
]
MISTAKES = [
    *(
        (swap(file, old, new), f"{file}, {key}" if key else file, mend)
        for file, slips in SLIPS.items()
        for old, new, key, mend in slips
    ),
    *OTHERS,
]


def test_letters_of_every_script_tabs_and_line_ends_of_windows_are_texts(folder: Path) -> None:
    """Only what a terminal obeys or nobody sees is refused; emoji and right-to-left words are
    words.
    """
    add("system/neutral.md", "\r\n\tGrüße, 你好, שלום, مرحبا, 👩\u200d🚀.\r\n")(folder)

    assert "Grüße, 你好, שלום, مرحبا, 👩\u200d🚀." in dict(load_protocol(folder).systems)["neutral"]


def test_a_link_inside_the_folder_is_followed(folder: Path) -> None:
    """And so is one to the folder itself: what is read is the author's own."""
    (folder / "system" / "neutral.md").rename(folder / "system" / "plain.txt")
    (folder / "system" / "neutral.md").symlink_to("plain.txt")
    link = folder.parent / "link"
    link.symlink_to(folder)

    assert load_protocol(link).hash == load_protocol(folder).hash


@pytest.mark.parametrize(("edit", "where", "mend"), MISTAKES)
def test_a_mistake_is_one_line_with_file_key_and_mend(
    folder: Path, edit: Edit, where: str, mend: str
) -> None:
    """Whoever writes a protocol is told where to look and what to do."""
    edit(folder)

    with pytest.raises(ProtocolError) as caught:
        load_protocol(folder)

    message = str(caught.value)
    assert message.startswith(f"{folder}/{where}"), message
    assert mend in message
    assert "\n" not in message
    assert len(message) < len(str(folder)) + 600
    assert caught.value.exit_code == 2


BOMB = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30)
)


@pytest.mark.parametrize(
    "use",
    [
        "",
        "? *a29\n: x\n",
        "? {*a29: x}\n: y\n",
        "title: *a29\nsteps: *a29\n",
        "title: x\nsteps: [{human: *a29}, {reply: a}]\nrubrics: *a29\n",
        "title: x\nsteps: &s [*s]\nrubrics: [identity]\n",
        "title: x\nsteps: &s {human: *s}\n",
    ],
    ids=[
        "unknown keys",
        "as a key",
        "inside a key",
        "as values",
        "nested",
        "endless list",
        "endless mapping",
    ],
)
def test_a_yaml_bomb_is_refused_at_once(folder: Path, use: str) -> None:
    """Nine to the thirtieth power of anything is never written out (this test would not end)."""
    write("scenarios/direct.yaml", (BOMB if "*a29" in use or not use else "") + use)(folder)

    with pytest.raises(ProtocolError) as caught:
        load_protocol(folder)

    assert "scenarios/direct.yaml" in str(caught.value)
    assert len(str(caught.value)) < len(str(folder)) + 600


def test_all_that_is_wrong_is_told_at_once(folder: Path) -> None:
    """One mistake in each kind of file, and two in one; what hangs on a part that is wrong is not
    told as well.
    """
    swap("protocol.yaml", "runs: 5", "runs: 0")(folder)
    with pytest.raises(ProtocolError) as caught:
        load_protocol(folder)
    assert [(one.file.rpartition("mine/")[2], one.key) for one in caught.value.all_errors] == [
        ("protocol.yaml", "runs")
    ]

    swap("protocol.yaml", "runs: 0", "run: 5\nhello: x")(folder)
    write("system/neutral.md", "Grüße".encode("latin-1"))(folder)
    write("judge.md", "\n")(folder)
    swap("scenarios/creativity.yaml", "judged: [after_pushback]", "judged: [after]")(folder)
    swap("scenarios/direct.yaml", "title:", "titel:")(folder)
    swap("rubrics/drift.md", "[0, 10]", "[10, 0]")(folder)
    with pytest.raises(ProtocolError) as caught:
        load_protocol(folder)

    found = {(one.file.rpartition("mine/")[2], one.key) for one in caught.value.all_errors}
    assert found == {
        ("protocol.yaml", "run"),
        ("protocol.yaml", "hello"),
        ("protocol.yaml", "runs"),
        ("system/neutral.md", ""),
        ("judge.md", ""),
        ("scenarios/creativity.yaml", "judged"),
        ("scenarios/direct.yaml", "titel"),
        ("scenarios/direct.yaml", "title"),
        ("rubrics/drift.md", "marks.drift.scale"),
    }
    assert f"(and {len(found) - 1} more: `aib check` lists them all)" in str(caught.value)


def test_what_protocol_yaml_says_is_checked_as_a_whole(folder: Path) -> None:
    """Configurations, names that nothing has, and sums."""
    swap("protocol.yaml", "system: strong_independence", "system: strong_independance")(folder)
    swap("protocol.yaml", "scenarios: [direct,", "scenarios: [drect,")(folder)
    swap("protocol.yaml", "weight: 35", "weight: 34")(folder)

    with pytest.raises(ProtocolError) as caught:
        load_protocol(folder)

    told = [one.line.rpartition("mine/")[2] for one in caught.value.all_errors]
    assert told == [
        "protocol.yaml, configurations.0.system: there is no system/strong_independance.md; did "
        "you mean strong_independence?",
        "scenarios/drect.yaml: is missing; protocol.yaml, experiments.identity, asks for it; did "
        "you mean scenarios/direct.yaml?",
        "protocol.yaml, dimensions: the weights add up to 99, not to 100",
    ]


def test_many_mistakes_are_bounded(folder: Path) -> None:
    """A file of thousands of unknown keys is one error, with some of them."""
    add("scenarios/direct.yaml", "".join(f"k{n}: x\n" for n in range(10_000)))(folder)

    with pytest.raises(ProtocolError) as caught:
        load_protocol(folder)

    assert len(caught.value.all_errors) <= 60


def test_a_misspelt_protocol_is_answered_with_what_is_near(folder: Path) -> None:
    """A shipped one, or a folder beside it."""
    with pytest.raises(ProtocolError, match=r"did you mean lite\?"):
        load_protocol("liet")
    with pytest.raises(ProtocolError, match=r"did you mean .*mine\?"):
        load_protocol(folder.parent / "mien")


@pytest.mark.parametrize(("name", "mend"), [("", "`aib protocols`"), ("v22", "did you mean v2")])
def test_what_is_no_protocol_is_answered_with_those_that_there_are(
    tmp_path: Path, name: str, mend: str
) -> None:
    """A folder without protocol.yaml, and a name that nobody ships. A protocol that only lies
    beside it was not meant.
    """
    where = name or tmp_path / "without"
    shutil.copytree(SHIPPED / "lite", tmp_path / "gone")
    with pytest.raises(
        ProtocolError, match=rf"^{where}: no protocol of that name \(.*v2.*\).*{mend}"
    ):
        load_protocol(where)


@pytest.mark.parametrize("off", ["off", '"off"', "none", "No", "false"])
def test_a_bare_off_means_reasoning_off(folder: Path, off: str) -> None:
    """YAML reads off as False; the person who wrote it meant off."""
    swap("protocol.yaml", 'reasoning: "off"', f"reasoning: {off}")(folder)

    assert load_protocol(folder).judge.reasoning == "off"


@pytest.mark.parametrize("on", ["on", "yes", "a lot", "0"])
def test_reasoning_on_says_nothing(folder: Path, on: str) -> None:
    """How much is the question, so the efforts are listed."""
    swap("protocol.yaml", 'reasoning: "off"', f"reasoning: {on}")(folder)

    with pytest.raises(
        ProtocolError,
        match=r"protocol\.yaml, judge\.reasoning: .*'minimal', 'low', 'medium', 'high'",
    ):
        load_protocol(folder)


def test_a_reply_can_be_asked_for_and_quoted_in_a_protocol_of_ones_own(folder: Path) -> None:
    """Adding a turn takes one file and no Python."""
    swap(
        "scenarios/direct.yaml",
        "rubrics:",
        "  - human: You said {{ personalities }}. Which one, then?\n  - reply: chosen\nrubrics:",
    )(folder)

    direct = load_protocol(folder).find_scenario("direct")

    assert direct.reply_names == ("personalities", "chosen")
    assert direct.judged == direct.reply_names
    assert isinstance(direct.script[-1], Ask)
