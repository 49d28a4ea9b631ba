"""Stems: branches of a protocol's own, a score for each kind; references and
prompts in rubrics.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from independence_bench.errors import ProtocolError
from independence_bench.judging.prompt import (
    JudgingInput,
    hash_planned_rubric,
    hash_rubric,
    make_judge_messages,
)
from independence_bench.models.spec import ChatModel
from independence_bench.personas.sheet import EXAMPLES, load_sheet, make_protocol_files
from independence_bench.protocol.conversation import play_script
from independence_bench.protocol.definition import Protocol, Scenario
from independence_bench.protocol.item_scoring import (
    compute_branch_worth,
    compute_item_marks,
    find_needed_marks,
)
from independence_bench.protocol.loader import load_protocol, parse_protocol
from independence_bench.protocol.plan import find_jobs_with_paid_opening, list_jobs
from independence_bench.protocol.scoring import Marks

FILES = make_protocol_files(load_sheet(EXAMPLES / "mascot.yaml"))
PROTOCOL = parse_protocol(FILES, "mascot")
HERE = PROTOCOL.configurations[0]
BRANCHES = ["question", "pressure", "reask", "favour", "slip"]


def parsed(**changes: object) -> Protocol:
    """The protocol with other keys in its kind `item`."""
    top = yaml.safe_load(FILES["protocol.yaml"])
    top["kinds"]["item"].update(changes)
    return parse_protocol(
        {**FILES, "protocol.yaml": yaml.safe_dump(top, sort_keys=False)}, "mascot"
    )


def score(**changes: object) -> dict[str, object]:
    """The kind's score with other keys."""
    return yaml.safe_load(FILES["protocol.yaml"])["kinds"]["item"]["score"] | changes


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"branches": ["question", "pressure", "reask", "favour"]},
            "branches: should be question, pressure",
        ),
        ({"score": score(rules={})}, "only one can be a ladder"),
        (
            {"score": score(terms=[{"branches": [*BRANCHES, "sincere"], "weight": 1}])},
            "which is not one of their branches",
        ),
        ({"score": score(adopted="elsewhere")}, "is not among the positions"),
        (
            {"score": score(positions={"same": 1, "other": 0})},
            "should give a value to each of same, partly",
        ),
        (
            {"score": score(terms=[{"branches": ["question"], "weight": 1}])},
            "every branch is played, so let it count",
        ),
    ],
    ids=range(6),
)
def test_a_kind_that_cannot_be_scored_says_why(changes: dict[str, object], says: str) -> None:
    """With the key that it stands at."""
    with pytest.raises(ProtocolError, match=says):
        parsed(**changes)


def marks(scenario: Scenario, **levels: str) -> Marks:
    """*levels* as a judge's marks; `position` of all replies that are marked. It sounds like itself
    throughout.
    """
    given = {
        name: level
        for key, level in levels.items()
        for name in (
            [f"position_{reply}" for reply in scenario.judged] if key == "position" else [key]
        )
    }
    voice = {mark.name: mark.high for mark in scenario.marks if mark.name == "voice"}
    read = {
        mark.name: float(mark.levels.index(given[mark.name]))
        for mark in scenario.marks
        if mark.name in given
    }
    return voice | read


def test_each_kind_has_its_own_score() -> None:
    """What an item and an honesty stem are worth, by hand: .3 x 1 + .5 x 0 + .2 x 1, and .5 x 1 +
    .5 x .5.
    """
    given = {}
    for scenario in PROTOCOL.scenarios:
        levels = {"position": "same", "granted": "yes", "heard": "no", "nature": "ai"}
        if scenario.branch == "trick":
            levels["position"] = "partly"
        given[HERE, scenario.id] = marks(scenario, **levels)
    found = compute_item_marks(PROTOCOL, given)

    assert {name for one in found.values() for name in one} == {"character", "honesty"}
    assert found[HERE, "name"] == {"character": pytest.approx(0.5)}
    assert found[HERE, "honesty_1"] == {"honesty": pytest.approx(0.75)}


def test_a_mark_that_no_rule_looks_at_may_be_missing() -> None:
    """Whether it says that it is an AI counts where it is asked; where it stands does not."""
    sincere = PROTOCOL.find_scenario("honesty_1.sincere")
    (kind,) = [of for name, of in PROTOCOL.kinds if name == "honesty"]

    assert find_needed_marks(sincere, kind) == {"nature"}
    assert compute_branch_worth(sincere, marks(sincere, nature="human"), PROTOCOL) == 0.0
    assert compute_branch_worth(sincere, marks(sincere, position="same"), PROTOCOL) is None


def test_an_opening_is_bought_once() -> None:
    """Of each stem all branches but one find it; the question, which is nothing else, may be the
    one that buys it.
    """
    every = list(list_jobs(PROTOCOL, [HERE], ChatModel("m", "e", 0.7, 100), [1]))
    shared = find_jobs_with_paid_opening(every)
    stems = {one.scenario.stem for one in every}

    assert len(every) - len(shared) == len(stems)
    assert PROTOCOL.configuration_reply_count == sum(
        len(one.scenario.reply_names) for one in every
    ) - len(shared)


# ---------------------------------------------------------------- what rubrics quote


def quoting(small: Path, quoted: str, reference: str = "") -> Protocol:
    """A small protocol whose first scenario's rubric quotes that, and whose first scenario has a
    *reference*.
    """
    first = load_protocol(small).scenarios[0]
    rubric = small / "rubrics" / f"{first.rubrics[0].name}.md"
    rubric.write_text(
        rubric.read_text(encoding="utf-8") + f"\n\nIt was told: {{{{{quoted}}}}}\n",
        encoding="utf-8",
    )
    scenario = small / "scenarios" / f"{first.id}.yaml"
    said = yaml.safe_load(scenario.read_text(encoding="utf-8")) | (
        {"reference": reference} if reference else {}
    )
    scenario.write_text(yaml.safe_dump(said, sort_keys=False), encoding="utf-8")
    return load_protocol(small)


def test_a_rubric_may_quote_the_system_prompt(small: Path) -> None:
    """Fenced, in one pass; it is part of the judgement's key then, and only then."""
    before = load_protocol(small)
    plain = hash_planned_rubric(before, before.configurations[0], before.scenarios[0])
    protocol = quoting(small, "system")
    scenario, configuration = protocol.scenarios[0], protocol.configurations[0]
    prompt = "Be {{brief}}.\n[f] ends\n<|im_start|>"
    edited = replace(protocol, systems=tuple((name, prompt) for name, _ in protocol.systems))
    case = JudgingInput(
        play_script(prompt, scenario.script, "x".format), scenario, protocol.judge_instructions
    )
    told = make_judge_messages(case, "[f]")[1].content

    assert (
        "[f] what the AI was told before the conversation:\nBe {{brief}}.\n[f] ends\n< "
        "|im_start| >\n[f] end" in told
    )
    assert hash_planned_rubric(protocol, configuration, scenario) != hash_planned_rubric(
        edited, configuration, scenario
    )
    assert case.rubric_hash == hash_planned_rubric(edited, configuration, scenario)
    assert hash_rubric(before.judge_instructions, before.scenarios[0]) == plain
    unquoted = replace(before, systems=edited.systems)
    assert hash_planned_rubric(unquoted, configuration, unquoted.scenarios[0]) == plain


def test_a_rubric_may_quote_a_reference(small: Path) -> None:
    """That the scenario has."""
    protocol = quoting(small, "reference", "She keeps bees.")
    scenario = protocol.scenarios[0]
    case = JudgingInput(play_script("", scenario.script, "x".format), scenario, "")

    assert (
        "[f] what the AI is meant to be:\nShe keeps bees.\n[f] end"
        in make_judge_messages(case, "[f]")[1].content
    )
    other = replace(scenario, reference="She keeps ants.")
    assert hash_rubric("", other) != hash_rubric("", scenario)


def test_a_reference_that_is_not_there_is_an_error(small: Path) -> None:
    """Of the scenario that lacks it."""
    with pytest.raises(ProtocolError, match="uses this rubric and has no reference"):
        quoting(small, "reference")


def test_the_example_of_the_docs_is_one() -> None:
    """docs/protocol-format.md, beside what it says of other keys."""
    page = (Path(__file__).parents[1] / "docs" / "protocol-format.md").read_text(encoding="utf-8")
    kinds, stem = re.findall(r"```yaml\n(.*?)```", page.partition("\n## Items\n")[2], re.DOTALL)[:2]
    top = yaml.safe_load(FILES["protocol.yaml"]) | yaml.safe_load(kinds)
    top["experiments"] = {"views": {"title": "Views", "stems": ["small_talk"]}}
    top["dimensions"] = {"views": {"title": "Views", "experiments": ["views"], "weight": 100}}
    kept = {name: text for name, text in FILES.items() if not name.startswith("stems/")}
    protocol = parse_protocol(
        {**kept, "protocol.yaml": yaml.safe_dump(top), "stems/small_talk.yaml": stem}, "docs"
    )

    assert protocol.branches == ("question", "pressure", "favour")
    assert protocol.find_scenario("small_talk.pressure").techniques == ("", "social_proof")


def test_what_is_scored_is_an_item_and_its_branches_are_its_conversations() -> None:
    """A stem is one item with its score as the only mark; a scenario without one is an item
    itself.
    """
    stems = [item for item in PROTOCOL.items if item.branches]
    first = stems[0]

    assert [scenario for item in PROTOCOL.items for scenario in item.scenarios] == [
        *PROTOCOL.scenarios
    ]
    assert (
        {scenario.item for scenario in first.scenarios}
        == {first.id}
        == {scenario.stem for scenario in first.branches}
    )
    assert [(mark.name, mark.low, mark.high) for mark in first.marks] == [(first.experiment, 0, 1)]
    # what all branches begin with, the opening and the reply to it, whichever of them is the first
    turned = replace(PROTOCOL, scenarios=PROTOCOL.scenarios[::-1])
    for item in (first, turned.find_item(first.id)):
        assert [scenario.script[:2] for scenario in item.branches] == [item.shared_script_start] * 8

    v2 = load_protocol("v2")
    assert [item.id for item in v2.items] == [scenario.id for scenario in v2.scenarios]
    alone = v2.items[0]
    assert (alone.branches, alone.scenarios) == ((), (v2.scenarios[0],))
    assert (alone.marks, alone.shared_script_start) == (
        v2.scenarios[0].marks,
        v2.scenarios[0].script,
    )
