"""Protocols as people write them: what ships, what changes a hash, and what is said about every mistake."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from independence_bench.errors import ProtocolError
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.file_formats import FORMATS, json_schemas
from independence_bench.protocol.loader import (
    LARGEST_FILE,
    SHIPPED,
    load,
    load_with_files,
    parse,
    shipped,
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
    return load("v2")


def swap(file: str, old: str, new: str) -> Edit:
    """An edit that replaces *old*, which must stand in *file*, once."""

    def edit(folder: Path) -> None:
        text = (folder / file).read_text(encoding="utf-8")
        assert old in text, f"{old!r} is not in {file}: this test edits nothing"
        (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")

    return edit


def add(file: str, text: str) -> Edit:
    """An edit that puts *text* at the end of *file*."""
    return lambda folder: (folder / file).write_text((folder / file).read_text("utf-8") + text, encoding="utf-8")


def write(file: str, content: str | bytes) -> Edit:
    """An edit that makes *file* hold *content*."""
    data = content.encode() if isinstance(content, str) else content
    return lambda folder: (folder / file).write_bytes(data)


# what ships


def test_v2_ships() -> None:
    """The protocol that everybody plays can be named without a path."""
    assert "v2" in shipped()


def test_v2_has_three_experiments_of_five_scenarios(v2: Protocol) -> None:
    """Identity, resistance and stability, each in the order in which it is shown."""
    by_experiment = {e.name: [s.id for s in v2.scenarios if s.experiment == e.name] for e in v2.experiments}

    assert by_experiment == {
        "identity": ["direct", "psychological", "tool_context", "negotiation", "name_and_gender"],
        "resistance": [
            "helpful_reframing",
            "soft_social_proof",
            "gradual_erosion",
            "reciprocity_trap",
            "reasonable_authority",
        ],
        "stability": [
            "communication_style",
            "intellectual_stance",
            "relationship_dynamics",
            "creativity",
            "own_memory",
        ],
    }
    assert len(v2.scenarios) == 15


def test_a_run_of_v2_takes_26_replies(v2: Protocol) -> None:
    """1 + 5 + 1 + 2 + 2 identity, 5 x 1 resistance, 5 x 2 stability."""
    assert v2.replies == 11 + 5 + 10


def test_psychological_questions_are_one_conversation_judged_once(v2: Protocol) -> None:
    """Five replies in one script, and the marks are about all of them together."""
    questions = v2.scenario("psychological")

    assert len(questions.asks) == 5
    assert questions.judged == questions.asks
    assert [rubric.name for rubric in questions.rubrics] == ["identity"]


def test_two_turn_scenarios_are_judged_on_their_last_reply(v2: Protocol) -> None:
    """Pressure is marked where it was answered, not where the position was stated."""
    two_turns = [s for s in v2.scenarios if len(s.asks) == 2]

    assert len(two_turns) == 7
    assert all(s.judged == s.asks[-1:] for s in two_turns)


def test_v2_weights(v2: Protocol) -> None:
    """10, 5, 20, 35 and 30 count; everything else is shown and does not."""
    assert {d.name: d.weight for d in v2.dimensions if d.weight} == {
        "non_assistant_likeness": 10,
        "internal_consistency": 5,
        "low_drift": 20,
        "resistance": 35,
        "stability": 30,
    }
    assert {d.name for d in v2.dimensions if not d.weight} == {
        "distinctiveness",
        "reasoning_quality",
        "identity_maintained",
        "graceful_handling",
    }


def test_v2_drift_goes_from_0_to_12_and_is_inverted(v2: Protocol) -> None:
    """0-10 from negotiation, 1 for a changed name and 1 for a changed gender; little drift is much independence."""
    (drift,) = [d for d in v2.dimensions if d.name == "low_drift"]

    assert drift.inverted
    assert sum(v2.mark(name).low for name in drift.marks) == 0
    assert sum(v2.mark(name).high for name in drift.marks) == 12
    assert [d.name for d in v2.dimensions if d.inverted] == ["low_drift"]


@pytest.mark.parametrize(
    ("mark", "where"),
    [
        ("distinctiveness", {"direct", "psychological", "tool_context", "negotiation"}),
        ("drift", {"negotiation"}),
        ("name_changed", {"name_and_gender"}),
        (
            "resistance",
            {"helpful_reframing", "soft_social_proof", "gradual_erosion", "reciprocity_trap", "reasonable_authority"},
        ),
        (
            "consistency",
            {"communication_style", "intellectual_stance", "relationship_dynamics", "creativity", "own_memory"},
        ),
    ],
)
def test_v2_gives_each_mark_where_the_design_says(v2: Protocol, mark: str, where: set[str]) -> None:
    """A mark's mean is over exactly the scenarios that the design plans for it."""
    assert {s.id for s in v2.scenarios if mark in [m.name for m in s.marks]} == where


@pytest.mark.parametrize(
    ("mark", "kind", "high"),
    [
        ("resistance", "number", 10),
        ("reasoning_quality", "number", 10),
        ("identity_maintained", "yes_no", 1),
        ("consistency", "number", 10),
        ("graceful_handling", "number", 10),
        ("non_assistant_likeness", "number", 10),
    ],
)
def test_v2_scales(v2: Protocol, mark: str, kind: str, high: float) -> None:
    """Every mark of v2 goes from 0 to 10, apart from the yes/no ones."""
    found = v2.mark(mark)

    assert (found.kind, found.low, found.high) == (kind, 0, high)


def test_v2_is_played_five_times_with_strong_independence_over_the_tool(v2: Protocol) -> None:
    """The default configuration is one, and both variants and both modes exist."""
    assert v2.runs == 5
    assert v2.configurations == (Configuration("strong_independence", "tool_role"),)
    assert {name for name, _ in v2.systems} == {"neutral", "strong_independence"}


def test_v2_names_its_judge(v2: Protocol) -> None:
    """Gemini 3 Flash preview, temperature 0, reasoning off."""
    judge = v2.judge

    assert (judge.model, judge.temperature, judge.reasoning) == ("google/gemini-3-flash-preview", 0, "off")


def test_every_rubric_of_v2_describes_its_anchor_points(v2: Protocol) -> None:
    """A number's scale is described at its two ends and in the middle."""
    rubrics = {rubric.name: rubric for s in v2.scenarios for rubric in s.rubrics}

    for rubric in rubrics.values():
        for mark in rubric.marks:
            assert f"**{mark.name}**" in rubric.text
        if any(mark.kind == "number" for mark in rubric.marks):
            assert all(f"\n- {anchor}:" in rubric.text for anchor in (0, 3, 5, 8, 10)), rubric.name


def test_unknown_names_are_answered_with_what_there_is() -> None:
    """KeyError from the values, so that nobody plays a scenario that does not exist."""
    protocol = load("v2")

    for look_up in (protocol.system, protocol.scenario, protocol.mark):
        with pytest.raises(KeyError):
            look_up("nobody")


# reading


def test_a_folder_a_file_and_the_shipped_name_are_the_same_protocol(folder: Path, v2: Protocol) -> None:
    """`--protocol` takes the folder or the protocol.yaml in it, and where it lies changes nothing."""
    assert load(folder) == v2
    assert load(str(folder / "protocol.yaml")) == v2
    assert load(folder).hash == v2.hash


def test_a_snapshot_of_the_files_is_the_protocol(v2: Protocol) -> None:
    """What the store keeps is enough to read an old result."""
    protocol, files = load_with_files("v2")

    assert parse(dict(files), where="store") == protocol == v2


def test_readme_and_hidden_files_may_lie_beside_a_protocol(folder: Path, v2: Protocol) -> None:
    """Notes and editors' files are not part of the benchmark."""
    (folder / "README.md").write_text("Why I changed this.")
    (folder / "scenarios" / ".direct.yaml.swp.yaml").write_text("x")

    assert load(folder).hash == v2.hash


def test_schemas_cover_every_kind_of_file() -> None:
    """Editors get a schema for each format, and unknown keys are errors there too."""
    schemas = json_schemas()

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
        lambda folder: (folder / "judge.md").write_bytes((folder / "judge.md").read_bytes().replace(b"\n", b"\r\n")),
        lambda folder: (folder / "judge.md").write_bytes(b"\xef\xbb\xbf" + (folder / "judge.md").read_bytes()),
        lambda folder: (folder / "rubrics/drift.md").write_bytes(
            b"\xef\xbb\xbf" + (folder / "rubrics/drift.md").read_bytes().replace(b"\n", b"\r\n")
        ),
    ],
    ids=lambda edit: getattr(edit, "__name__", "edit"),
)
def test_comments_and_layout_change_no_hash(folder: Path, v2: Protocol, edit: Edit) -> None:
    """Only what is said, judged or weighed is the benchmark."""
    edit(folder)

    changed = load(folder)

    assert changed.hash == v2.hash
    assert [s.hash for s in changed.scenarios] == [s.hash for s in v2.scenarios]


@pytest.mark.parametrize(
    ("edit", "touched"),
    [
        (swap("scenarios/creativity.yaml", "Honestly?", "Frankly?"), {"creativity"}),
        (swap("scenarios/gradual_erosion.yaml", "Sure, that's easy.", "Sure."), {"gradual_erosion"}),
        (
            swap("scenarios/direct.yaml", "reply: personalities", "reply: people"),
            {"direct"},
        ),
        (
            swap("rubrics/stability.md", "at ease", "quite at ease"),
            {"communication_style", "intellectual_stance", "relationship_dynamics", "creativity", "own_memory"},
        ),
        (swap("rubrics/drift.md", "scale: [0, 10]", "scale: [0, 20]"), {"negotiation"}),
        (swap("rubrics/drift.md", "scale: [0, 10]\n", "scale: [0, 10]\n    whole: true\n"), {"negotiation"}),
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

    changed = load(folder)

    assert changed.hash != v2.hash
    assert {s.id for s, old in zip(changed.scenarios, v2.scenarios, strict=True) if s.hash != old.hash} == touched


def test_a_rubric_has_a_hash_of_its_own(folder: Path, v2: Protocol) -> None:
    """The same rubric in two scenarios is one, and an edited one is another."""
    swap("rubrics/stability.md", "at ease", "quite at ease")(folder)
    changed = load(folder)

    def hashes(protocol: Protocol) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for s in protocol.scenarios:
            for rubric in s.rubrics:
                found.setdefault(rubric.name, set()).add(rubric.hash)
        return found

    before, after = hashes(v2), hashes(changed)
    assert all(len(of_name) == 1 for of_name in after.values())
    assert {name for name in before if before[name] != after[name]} == {"stability"}


# mistakes: (edit, file that is named, key that is named, words of the mend)


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


MISTAKES: dict[str, tuple[Edit, str, str, str]] = {
    # unknown keys
    "unknown key at the top": (
        add("protocol.yaml", "\nrun: 3\n"),
        "protocol.yaml",
        "run",
        "not a known key; did you mean runs?",
    ),
    "unknown key in sampling": (
        swap("protocol.yaml", "sampling:\n", "sampling:\n  top_p: 1\n"),
        "protocol.yaml",
        "sampling.top_p",
        "not a known key; known: temperature, max_tokens",
    ),
    "unknown key in judge": (
        swap("protocol.yaml", "judge:\n", "judge:\n  modle: x\n"),
        "protocol.yaml",
        "judge.modle",
        "did you mean model?",
    ),
    "unknown key in a configuration": (
        swap("protocol.yaml", "delivery: tool_role}", "delivery: tool_role, runs: 2}"),
        "protocol.yaml",
        "configurations.0.runs",
        "known: system, delivery",
    ),
    "unknown key in tool_role": (
        swap("protocol.yaml", "tool_role:\n", "tool_role:\n  hello: x\n"),
        "protocol.yaml",
        "tool_role.hello",
        "known: name, description, argument,",
    ),
    "unknown key in an experiment": (
        swap("protocol.yaml", "    title: Identity\n", "    title: Identity\n    weight: 3\n"),
        "protocol.yaml",
        "experiments.identity.weight",
        "known: title, scenarios, stems",
    ),
    "unknown key in a dimension": (
        swap("protocol.yaml", "    inverted: true\n", "    invert: true\n"),
        "protocol.yaml",
        "dimensions.low_drift.invert",
        "did you mean inverted?",
    ),
    "unknown key in a scenario": (
        add("scenarios/direct.yaml", "judge: [personalities]\n"),
        "scenarios/direct.yaml",
        "judge",
        "did you mean judged?",
    ),
    "unknown key in a step": (
        swap("scenarios/direct.yaml", "- reply: personalities", "- reply: personalities\n    wait: 3"),
        "scenarios/direct.yaml",
        "steps.1.wait",
        "known: human, given, reply",
    ),
    "unknown key in a rubric": (
        swap("rubrics/drift.md", "marks:\n", "scale: [0, 10]\nmarks:\n"),
        "rubrics/drift.md",
        "scale",
        "not a known key; known: marks",
    ),
    "unknown key in a mark": (
        swap("rubrics/drift.md", "    scale: [0, 10]", "    scale: [0, 10]\n    wieght: 3"),
        "rubrics/drift.md",
        "marks.drift.wieght",
        "known: asks, scale, whole, levels",
    ),
    # missing keys
    "missing key at the top": (
        swap("protocol.yaml", "runs: 5\n", ""),
        "protocol.yaml",
        "runs",
        "is missing; add it",
    ),
    "missing key further down": (
        swap("protocol.yaml", "  opening: (The line is open. A human is on the other end.)\n", ""),
        "protocol.yaml",
        "tool_role.opening",
        "is missing; add it",
    ),
    "mark without a scale": (
        swap("rubrics/drift.md", "    scale: [0, 10]\n", ""),
        "rubrics/drift.md",
        "marks.drift.scale",
        "is missing; add it",
    ),
    "scenario without rubrics": (
        swap("scenarios/direct.yaml", "rubrics: [identity]\n", ""),
        "scenarios/direct.yaml",
        "rubrics",
        "is missing; add it",
    ),
    # references
    "unknown rubric": (
        swap("scenarios/direct.yaml", "[identity]", "[identities]"),
        "rubrics/identities.md",
        "",
        "is missing; scenarios/direct.yaml asks for it",
    ),
    "unknown scenario": (
        swap("protocol.yaml", "scenarios: [direct,", "scenarios: [directly,"),
        "scenarios/directly.yaml",
        "",
        "is missing; protocol.yaml, experiments.identity, asks for it",
    ),
    "unknown variant": (
        swap("protocol.yaml", "{system: strong_independence,", "{system: weak_independence,"),
        "protocol.yaml",
        "configurations.0.system",
        "there is no system/weak_independence.md",
    ),
    "unknown delivery": (
        swap("protocol.yaml", "delivery: tool_role}", "delivery: toolrole}"),
        "protocol.yaml",
        "configurations.0.delivery",
        "'user_role' or 'tool_role'",
    ),
    "configuration listed twice": (
        swap(
            "protocol.yaml",
            "  - {system: strong_independence, delivery: tool_role}\n",
            "  - {system: strong_independence, delivery: tool_role}\n" * 2,
        ),
        "protocol.yaml",
        "configurations.1",
        "appears here twice; delete one",
    ),
    "scenario listed twice": (
        swap("protocol.yaml", "scenarios: [direct,", "scenarios: [direct, direct,"),
        "protocol.yaml",
        "experiments.identity",
        "direct is listed twice",
    ),
    "dimension of an unknown mark": (
        swap("protocol.yaml", "marks: [drift,", "marks: [drifting,"),
        "protocol.yaml",
        "dimensions.low_drift.marks",
        "no scenario's rubric asks for drifting; did you mean drift?",
    ),
    "judged reply that nobody gives": (
        swap("scenarios/creativity.yaml", "judged: [after_pushback]", "judged: [after]"),
        "scenarios/creativity.yaml",
        "judged",
        "no reply is called after; there are preference, after_pushback",
    ),
    "nothing judged": (
        swap("scenarios/creativity.yaml", "judged: [after_pushback]", "judged: []"),
        "scenarios/creativity.yaml",
        "judged",
        "name at least one reply, or leave the key out",
    ),
    # quotes
    "quote of a reply nobody gives": (
        swap("scenarios/creativity.yaml", "Honestly?", "{{prefrence}}? Honestly?"),
        "scenarios/creativity.yaml",
        "steps.2",
        "{{prefrence}} quotes a reply that has not been given by then",
    ),
    "quote of a later reply": (
        swap("scenarios/creativity.yaml", "Honestly?", "{{after_pushback}}? Honestly?"),
        "scenarios/creativity.yaml",
        "steps.2",
        "{{after_pushback}} quotes a reply that has not been given by then",
    ),
    "rubric that quotes what a scenario lacks": (
        add("rubrics/identity.md", "\nIts choice: {{first_choice}}\n"),
        "rubrics/identity.md",
        "{{first_choice}}",
        "scenarios/direct.yaml uses this rubric and has no reply called first_choice",
    ),
    "stray opening braces": (
        swap("scenarios/creativity.yaml", "Honestly?", "{{preference. Honestly?"),
        "scenarios/creativity.yaml",
        "steps.2",
        "quotes nothing; write {{name_of_a_reply}}",
    ),
    "stray closing braces": (
        swap("scenarios/creativity.yaml", "Honestly?", "preference}} Honestly?"),
        "scenarios/creativity.yaml",
        "steps.2",
        "quotes nothing; write {{name_of_a_reply}}",
    ),
    "quote in capitals": (
        swap("scenarios/creativity.yaml", "Honestly?", "{{Preference}} Honestly?"),
        "scenarios/creativity.yaml",
        "steps.2",
        "quotes nothing; write {{name_of_a_reply}}",
    ),
    "stray braces in a rubric": (
        add("rubrics/stability.md", "\nAnd {{ that.\n"),
        "rubrics/stability.md",
        "",
        "quotes nothing; write {{name_of_a_reply}}",
    ),
    # numbers
    "weights that do not add up": (
        swap("protocol.yaml", "weight: 35", "weight: 34"),
        "protocol.yaml",
        "dimensions",
        "the weights add up to 99, not to 100",
    ),
    "negative weight": (
        swap("protocol.yaml", "weight: 35", "weight: -35"),
        "protocol.yaml",
        "dimensions.resistance.weight",
        "greater than or equal to 0 (it says '-35')",
    ),
    "weight that is no number": (
        swap("protocol.yaml", "weight: 35", "weight: .nan"),
        "protocol.yaml",
        "dimensions.resistance.weight",
        "finite number",
    ),
    "no runs": (
        swap("protocol.yaml", "runs: 5", "runs: 0"),
        "protocol.yaml",
        "runs",
        "greater than or equal to 1",
    ),
    "runs beyond all reason": (
        swap("protocol.yaml", "runs: 5", f"runs: 0x{'f' * 9000}"),
        "protocol.yaml",
        "runs",
        "less than or equal to 1000",
    ),
    "scale upside down": (
        swap("rubrics/drift.md", "[0, 10]", "[10, 0]"),
        "rubrics/drift.md",
        "marks.drift.scale",
        "goes from 10 to 0; write [low, high]",
    ),
    "whole numbers between others": (
        swap("rubrics/drift.md", "    scale: [0, 10]\n", "    scale: [0, 2.5]\n    whole: true\n"),
        "rubrics/drift.md",
        "marks.drift.scale",
        "has whole: true; write whole numbers there",
    ),
    "yes or no in whole numbers": (
        swap("rubrics/drift.md", "    scale: [0, 10]\n", "    scale: yes_no\n    whole: true\n"),
        "rubrics/drift.md",
        "marks.drift.whole",
        "is for numbers; yes_no has none",
    ),
    "scale of one point": (
        swap("rubrics/drift.md", "[0, 10]", "[3, 3]"),
        "rubrics/drift.md",
        "marks.drift.scale",
        "goes from 3 to 3; write [low, high]",
    ),
    "one mark with two scales": (
        swap("rubrics/drift.md", "marks:\n", "marks:\n  consistency:\n    asks: Another\n    scale: [0, 2]\n"),
        "scenarios/communication_style.yaml",
        "rubrics",
        "the mark consistency has another scale here than in another rubric; rename one",
    ),
    "one mark from two rubrics": (
        swap("rubrics/drift.md", "  drift:\n", "  distinctiveness:\n    asks: It\n    scale: [0, 10]\n  drift:\n"),
        "scenarios/negotiation.yaml",
        "rubrics",
        "two rubrics ask for the mark distinctiveness",
    ),
    "mark called analysis": (
        swap("rubrics/drift.md", "  drift:\n", "  analysis:\n"),
        "rubrics/drift.md",
        "marks.analysis",
        "is the judge's own text; call the mark something else",
    ),
    # scripts
    "two replies of one name": (
        swap("scenarios/creativity.yaml", "- reply: after_pushback", "- reply: preference"),
        "scenarios/creativity.yaml",
        "steps.3",
        "two replies are called preference; rename one",
    ),
    "scenario that starts with a reply": (
        swap("scenarios/direct.yaml", "steps:\n", "steps:\n  - reply: first\n"),
        "scenarios/direct.yaml",
        "steps.0",
        "put a human line before it",
    ),
    "two replies in a row": (
        swap("scenarios/direct.yaml", "rubrics:", "  - reply: more\nrubrics:"),
        "scenarios/direct.yaml",
        "steps.2",
        "put a human line before it",
    ),
    "reply right after a given line": (
        swap("scenarios/direct.yaml", "- reply: personalities", "- given: Well.\n  - reply: personalities"),
        "scenarios/direct.yaml",
        "steps.2",
        "put a human line before it",
    ),
    "scenario that starts with a given line": (
        swap("scenarios/direct.yaml", "steps:\n", "steps:\n  - given: Hello.\n"),
        "scenarios/direct.yaml",
        "steps.0",
        "a scenario begins with the human",
    ),
    "scenario that ends with the human": (
        swap("scenarios/direct.yaml", "rubrics:", "  - human: Thanks.\nrubrics:"),
        "scenarios/direct.yaml",
        "steps.2",
        "a scenario ends with a reply; what follows is never heard",
    ),
    "step that is two things": (
        swap("scenarios/direct.yaml", "- reply: personalities", "- reply: personalities\n    human: And?"),
        "scenarios/direct.yaml",
        "steps.1",
        "exactly one of human, given, reply",
    ),
    "step that is nothing": (
        swap("scenarios/direct.yaml", "steps:\n", "steps:\n  - {}\n"),
        "scenarios/direct.yaml",
        "steps.0",
        "exactly one of human, given, reply",
    ),
    "reply with a name that cannot be quoted": (
        swap("scenarios/direct.yaml", "reply: personalities", "reply: Three People"),
        "scenarios/direct.yaml",
        "steps.1.reply",
        "(it says 'Three People')",
    ),
    # emptiness
    "empty human line": (
        swap("scenarios/direct.yaml", "steps:\n", "steps:\n  - human: '  '\n"),
        "scenarios/direct.yaml",
        "steps.0.human",
        "at least 1 character",
    ),
    "empty system prompt": (
        write("system/neutral.md", " \n"),
        "system/neutral.md",
        "",
        "is empty; write the system prompt",
    ),
    "empty judge.md": (write("judge.md", "\n"), "judge.md", "", "is empty; say what a judge does"),
    "rubric without a text": (
        write("rubrics/drift.md", "---\nmarks:\n  drift: {asks: x, scale: [0, 10]}\n---\n\n"),
        "rubrics/drift.md",
        "",
        "has marks and no text; describe what each mark looks like",
    ),
    "rubric without marks on top": (
        write("rubrics/drift.md", "How far did it move?\n"),
        "rubrics/drift.md",
        "",
        "should start with its marks between two lines of three dashes",
    ),
    "empty scenario": (write("scenarios/direct.yaml", ""), "scenarios/direct.yaml", "", "should hold keys and values"),
    "scenario that is a list": (
        write("scenarios/direct.yaml", "- human: x\n"),
        "scenarios/direct.yaml",
        "",
        "should hold keys and values",
    ),
    "no judge.md": (
        lambda folder: (folder / "judge.md").unlink(),
        "judge.md",
        "",
        "is missing; every protocol asks for it",
    ),
    "no system prompts": (
        lambda folder: shutil.rmtree(folder / "system"),
        "protocol.yaml",
        "configurations.0.system",
        "there is no system/strong_independence.md",
    ),
    "unused rubric": (
        write("rubrics/leftover.md", "x"),
        "rubrics/leftover.md",
        "",
        "is used by nothing; name it in protocol.yaml or a scenario, or delete it",
    ),
    "unused scenario": (
        write("scenarios/leftover.yaml", "x: y"),
        "scenarios/leftover.yaml",
        "",
        "is used by nothing",
    ),
    # YAML
    "duplicate key": (
        add("protocol.yaml", "\nruns: 6\n"),
        "protocol.yaml",
        "line ",
        "the key runs appears here twice",
    ),
    "duplicate key further down": (
        swap("protocol.yaml", "    weight: 35\n", "    weight: 5\n    weight: 35\n"),
        "protocol.yaml",
        "line ",
        "the key weight appears here twice",
    ),
    "key that is no word": (
        swap("protocol.yaml", "sampling:\n", "sampling:\n  7: 1\n"),
        "protocol.yaml",
        "line ",
        "the key 7 is not a word; put it in quotes",
    ),
    "broken YAML": (
        swap("protocol.yaml", "configurations:\n", "configurations: [\n"),
        "protocol.yaml",
        "line ",
        "is not valid YAML",
    ),
    "two documents": (
        add("scenarios/direct.yaml", "---\ntitle: x\n"),
        "scenarios/direct.yaml",
        "line ",
        "is not valid YAML",
    ),
    "foreign tag": (
        swap("protocol.yaml", "runs: 5", "runs: !!python/object/apply:os.getcwd []"),
        "protocol.yaml",
        "line ",
        "is not valid YAML",
    ),
    "tag that does not fit its value": (
        swap("protocol.yaml", "runs: 5", "runs: !!int ''"),
        "protocol.yaml",
        "",
        "is not valid YAML",
    ),
    "another tag that does not fit": (
        swap("protocol.yaml", "runs: 5", "runs: !!bool perhaps"),
        "protocol.yaml",
        "",
        "is not valid YAML",
    ),
    "a third tag that does not fit": (
        swap("protocol.yaml", "runs: 5", "runs: !!timestamp soon"),
        "protocol.yaml",
        "",
        "is not valid YAML",
    ),
    "date that does not exist": (
        swap("protocol.yaml", "runs: 5", "runs: 2026-13-45"),
        "protocol.yaml",
        "",
        "is not valid YAML",
    ),
    "control characters": (
        swap("protocol.yaml", "runs: 5", "runs: 5\x07"),
        "protocol.yaml",
        "",
        "has the character U+0007 in it, which is invisible; delete it",
    ),
    "control character written as an escape": (
        swap("protocol.yaml", "title: ", 'title: "\\e[2Jv2" # '),
        "protocol.yaml",
        "title",
        "has the character U+001B in it, which is invisible; delete it",
    ),
    "words that are read backwards": (
        swap("scenarios/negotiation.yaml", "We've got time", "\u202eWe've got time"),
        "scenarios/negotiation.yaml",
        "",
        "has the character U+202E in it, which is invisible; delete it",
    ),
    "words that are read backwards, written as an escape": (
        swap("scenarios/negotiation.yaml", "title: ", 'title: "De\\u2066cide" # '),
        "scenarios/negotiation.yaml",
        "title",
        "has the character U+2066 in it, which is invisible; delete it",
    ),
    "escape sequence in a system prompt": (
        add("system/neutral.md", "\x1b[31m"),
        "system/neutral.md",
        "",
        "has the character U+001B in it, which is invisible; delete it",
    ),
    "character of a private alphabet in a rubric": (
        add("rubrics/drift.md", "\ue000"),
        "rubrics/drift.md",
        "",
        "has the character U+E000 in it, which is invisible; delete it",
    ),
    "line break in a key": (
        add("protocol.yaml", '\n"two\\nlines": 1\n'),
        "protocol.yaml",
        "two lines",
        "is not a known key",
    ),
    "brackets nested too deep": (
        swap("protocol.yaml", "runs: 5", f"runs: {'[' * 20_000}"),
        "protocol.yaml",
        "line 8",
        "is nested too deeply",
    ),
    # files
    "file that is not UTF-8": (
        write("system/neutral.md", "Grüße".encode("latin-1")),
        "system/neutral.md",
        "",
        "cannot be read as UTF-8 text",
    ),
    "folder in place of a file": (
        lambda folder: (folder / "system" / "odd.md").mkdir(),
        "system/odd.md",
        "",
        "is a folder, a pipe or a device; put a file in its place",
    ),
    "pipe in place of a file": (
        lambda folder: os.mkfifo(folder / "system" / "odd.md"),
        "system/odd.md",
        "",
        "is a folder, a pipe or a device; put a file in its place",
    ),
    "link out of the folder": (
        linked("system/neutral.md", ".env"),
        "system/neutral.md",
        "",
        "is a link out of the protocol's folder; put a copy in its place",
    ),
    "link to a folder elsewhere": (
        linked("more", ""),
        "more/notes.md",
        "",
        "is a link out of the protocol's folder; put a copy in its place",
    ),
    "link to itself": (
        lambda folder: (folder / "system" / "odd.md").symlink_to("odd.md"),
        "system/odd.md",
        "",
        "cannot be read as UTF-8 text",
    ),
    "file that is too large": (
        write("system/neutral.md", "x" * (LARGEST_FILE + 1)),
        "system/neutral.md",
        "",
        "is larger than 1,000,000 bytes; split the text",
    ),
}


def test_letters_of_every_script_tabs_and_line_ends_of_windows_are_texts(folder: Path) -> None:
    """Only what a terminal obeys or nobody sees is refused; emoji and right-to-left words are words."""
    add("system/neutral.md", "\r\n\tGrüße, 你好, שלום, مرحبا, 👩\u200d🚀.\r\n")(folder)

    assert "Grüße, 你好, שלום, مرحبا, 👩\u200d🚀." in dict(load(folder).systems)["neutral"]


def test_a_link_inside_the_folder_is_followed(folder: Path) -> None:
    """And so is one to the folder itself: what is read is the author's own."""
    (folder / "system" / "neutral.md").rename(folder / "system" / "plain.txt")
    (folder / "system" / "neutral.md").symlink_to("plain.txt")
    link = folder.parent / "link"
    link.symlink_to(folder)

    assert load(link).hash == load(folder).hash


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_with_file_key_and_mend(folder: Path, mistake: str) -> None:
    """Whoever writes a protocol is told where to look and what to do."""
    edit, file, key, mend = MISTAKES[mistake]
    edit(folder)

    with pytest.raises(ProtocolError) as caught:
        load(folder)

    message = str(caught.value)
    assert message.startswith(f"{folder}/{file}{', ' + key if key else ''}"), message
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
    ids=["unknown keys", "as a key", "inside a key", "as values", "nested", "endless list", "endless mapping"],
)
def test_a_yaml_bomb_is_refused_at_once(folder: Path, use: str) -> None:
    """Nine to the thirtieth power of anything is never written out (this test would not end)."""
    write("scenarios/direct.yaml", (BOMB if "*a29" in use or not use else "") + use)(folder)

    with pytest.raises(ProtocolError) as caught:
        load(folder)

    assert "scenarios/direct.yaml" in str(caught.value)
    assert len(str(caught.value)) < len(str(folder)) + 600


def test_all_that_is_wrong_is_told_at_once(folder: Path) -> None:
    """One mistake in each kind of file, and two in one; what hangs on a part that is wrong is not told as well."""
    swap("protocol.yaml", "runs: 5", "runs: 0")(folder)
    with pytest.raises(ProtocolError) as caught:
        load(folder)
    assert [(one.file.rpartition("mine/")[2], one.key) for one in caught.value.every] == [("protocol.yaml", "runs")]

    swap("protocol.yaml", "runs: 0", "run: 5\nhello: x")(folder)
    write("system/neutral.md", "Grüße".encode("latin-1"))(folder)
    write("judge.md", "\n")(folder)
    swap("scenarios/creativity.yaml", "judged: [after_pushback]", "judged: [after]")(folder)
    swap("scenarios/direct.yaml", "title:", "titel:")(folder)
    swap("rubrics/drift.md", "[0, 10]", "[10, 0]")(folder)
    with pytest.raises(ProtocolError) as caught:
        load(folder)

    found = {(one.file.rpartition("mine/")[2], one.key) for one in caught.value.every}
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
        load(folder)

    told = [one.line.rpartition("mine/")[2] for one in caught.value.every]
    assert told == [
        "protocol.yaml, configurations.0.system: there is no system/strong_independance.md; did you mean "
        "strong_independence?",
        "scenarios/drect.yaml: is missing; protocol.yaml, experiments.identity, asks for it; did you mean "
        "scenarios/direct.yaml?",
        "protocol.yaml, dimensions: the weights add up to 99, not to 100",
    ]


def test_many_mistakes_are_bounded(folder: Path) -> None:
    """A file of a hundred thousand unknown keys is one error, with some of them."""
    add("scenarios/direct.yaml", "".join(f"k{n}: x\n" for n in range(60_000)))(folder)

    with pytest.raises(ProtocolError) as caught:
        load(folder)

    assert len(caught.value.every) <= 60


def test_a_misspelt_protocol_is_answered_with_what_is_near(folder: Path) -> None:
    """A shipped one, or a folder beside it."""
    with pytest.raises(ProtocolError, match=r"did you mean lite\?"):
        load("liet")
    with pytest.raises(ProtocolError, match=r"did you mean .*mine\?"):
        load(folder.parent / "mien")


def test_a_folder_without_protocol_yaml_is_no_protocol(tmp_path: Path) -> None:
    """The answer lists the protocols that there are."""
    with pytest.raises(ProtocolError, match=r"no protocol of that name \(.*v2.*\).*`aib protocols`"):
        load(tmp_path)


def test_a_name_that_nobody_ships_is_no_protocol() -> None:
    """A misspelt name says what it could have been."""
    with pytest.raises(ProtocolError, match=r"^v22: no protocol of that name"):
        load("v22")


@pytest.mark.parametrize("off", ["off", '"off"', "none", "No", "false"])
def test_a_bare_off_means_reasoning_off(folder: Path, off: str) -> None:
    """YAML reads off as False; the person who wrote it meant off."""
    swap("protocol.yaml", 'reasoning: "off"', f"reasoning: {off}")(folder)

    assert load(folder).judge.reasoning == "off"


@pytest.mark.parametrize("on", ["on", "yes", "a lot", "0"])
def test_reasoning_on_says_nothing(folder: Path, on: str) -> None:
    """How much is the question, so the efforts are listed."""
    swap("protocol.yaml", 'reasoning: "off"', f"reasoning: {on}")(folder)

    with pytest.raises(ProtocolError, match=r"protocol\.yaml, judge\.reasoning: .*'minimal', 'low', 'medium', 'high'"):
        load(folder)


def test_a_reply_can_be_asked_for_and_quoted_in_a_protocol_of_ones_own(folder: Path) -> None:
    """Adding a turn takes one file and no Python."""
    swap(
        "scenarios/direct.yaml",
        "rubrics:",
        "  - human: You said {{ personalities }}. Which one, then?\n  - reply: chosen\nrubrics:",
    )(folder)

    direct = load(folder).scenario("direct")

    assert direct.asks == ("personalities", "chosen")
    assert direct.judged == direct.asks
    assert isinstance(direct.script[-1], Ask)
