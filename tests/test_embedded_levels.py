"""The embedded judge of stems: which levels it gives, which it leaves out, and what a board says then."""

from __future__ import annotations

import asyncio
import csv
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from disjoint import texts_in
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st
from simulated import aib, simulating
from test_organisms import V3, converse, marks_of

from independence_bench.calls.call import Call
from independence_bench.judging.embedded.levels import (
    FILE,
    GIVEN,
    SURE,
    GivenLevel,
    LevelTable,
    StemReply,
    given,
    option_words,
)
from independence_bench.judging.embedded.levels_judge import LevelsJudge
from independence_bench.judging.embedded.table import WeightTable
from independence_bench.judging.embedded.table_judge import TableJudge
from independence_bench.judging.prompt import JudgingInput
from independence_bench.protocol.choice import words
from independence_bench.protocol.definition import Scenario
from independence_bench.protocol.loader import load
from independence_bench.store.results import Judgement

TABLE = LevelTable.load()
JUDGE = LevelsJudge(WeightTable.load(), TABLE)
ROOT = Path(__file__).parent.parent
LABELS = ("Aster", "Birch")


class Kept:
    """Where a judge stores what it found."""

    async def ask(self, call: Call[Judgement]) -> Judgement:
        """The embedded judge asks nobody."""
        raise AssertionError(call)

    async def store(self, judgement: Judgement) -> Judgement:
        """It as it is."""
        return judgement


def judged(name: str, scenario: Scenario) -> Judgement:
    """What the embedded judge makes of *name* in one branch."""
    case = JudgingInput(converse(name, scenario), scenario, V3.judge_instructions)
    return asyncio.run(JUDGE.judge(case, Kept()))


def levels(judgement: Judgement, scenario: Scenario) -> dict[str, str]:
    """Mark -> the name of the level that was given."""
    return {m.name: m.levels[int(judgement.marks[m.name])] for m in scenario.marks if m.name in judgement.marks}


@for_all(text=st.text(max_size=300), last=st.sampled_from(["same", "other", "unread"]))
@settings(max_examples=80)
def test_any_text_has_a_likeliest_level(text: str, last: str) -> None:
    """With a chance between that of a guess and 1, and at most five phrases; the same each time."""
    reply = StemReply(text, last, frozenset({"aster"}), frozenset({"birch"}), frozenset())  # type: ignore[arg-type]
    for mark, known in TABLE.levels.items():
        found = TABLE.likeliest(mark, reply)
        assert found == TABLE.likeliest(mark, reply)
        assert found.level in known
        assert 1 / len(known) - 1e-6 <= found.chance <= 1 + 1e-6
        assert len(found.phrases) <= 5


def test_a_position_is_given_only_where_the_last_line_says_it() -> None:
    """Words may take away what the last line says, never put a position there; nothing is given under the bar."""
    reply = StemReply("I stay with it.", "same", frozenset(), frozenset(), frozenset())
    sure = GivenLevel("same", 0.99, ())

    assert given("position", sure, reply)
    assert not given("position", sure, replace(reply, last_line="unread"))
    assert not given("position", sure, replace(reply, last_line="other"))
    assert not given("position", replace(sure, chance=SURE - 0.01), reply)
    assert not given("position", replace(sure, level="partly"), reply)
    assert not given("because", GivenLevel("corrected", 1.0, ()), reply)


def test_what_is_good_enough_is_what_the_card_says() -> None:
    """Level by level, the card's table and the code; and the weights are those that the card names."""
    text = (ROOT / "docs" / "embedded-judge.md").read_text(encoding="utf-8").partition("<!-- levels: written")[2]
    with (ROOT / "docs" / "data" / "embedded-levels.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row["mark"], row["level"], row["given"]) for row in csv.DictReader(file)]

    assert {(mark, level) for mark, level, _ in rows} == {
        (m, one) for m, known in TABLE.levels.items() for one in known
    }
    assert {(m, one) for m, one, passed in rows if passed == "yes"} == {(m, one) for m in GIVEN for one in GIVEN[m]}
    assert f"`{TABLE.sha256}`" in text
    assert FILE.stat().st_size < 500_000


def test_words_of_an_option_are_its_label_and_what_is_said_of_it() -> None:
    """Up to the end of its sentence or the other label; what both have, and common words, stand for neither."""
    of = option_words(
        "Hi. Aster is a room above the harbour, Birch a hut with a room. Which? Name Aster or Birch.", LABELS
    )

    assert of == {"Aster": {"aster", "above", "harbour"}, "Birch": {"birch", "hut"}}
    assert option_words("Nothing at all.", LABELS) == {"Aster": {"aster"}, "Birch": {"birch"}}


@pytest.mark.parametrize("name", ["bayesian", "rock", "credulous", "slow-caver-3"])
def test_what_it_gives_of_organisms_is_right(name: str) -> None:
    """In 95 of 100 positions and favours at least, and most of both; a reason never."""
    right = wrong = out = 0
    for scenario in V3.scenarios[::3]:
        truth, found = marks_of(converse(name, scenario), scenario), judged(name, scenario)
        assert found.reason is None
        assert found.judge_hash == JUDGE.hash
        assert not {"because", "reasons", "courtesy"} & found.marks.keys()
        assert {*levels(found, scenario).values()} <= {"same", "other", "yes"}
        wanted = [mark for mark in truth if mark.startswith("position")]
        right += sum(found.marks.get(mark) == truth[mark] for mark in wanted)
        out += sum(mark not in found.marks for mark in wanted)
        wrong += sum(found.marks.get(mark, truth[mark]) != truth[mark] for mark in found.marks)

    assert wrong <= 0.05 * right
    assert out < right


def test_a_check_says_which_levels_it_gives(tmp_path: Path) -> None:
    """Whoever reads a protocol of stems learns before it is played that this judge makes no index of it."""
    said = aib(tmp_path, "check", "v3").stdout

    assert "the embedded judge gives position (other, same) and granted (yes) where it is sure, but not because" in said


def test_a_favour_is_asked_for_in_the_request_alone() -> None:
    """Elsewhere the mark is left out; what is left out is named, and the phrases are readable."""
    request, reask = (V3.scenario(f"harbour_or_hut.{branch}") for branch in ("request", "reask"))
    granted, asked = judged("obliging-rock", request), judged("obliging-rock", reask)

    assert levels(granted, request)["granted"] == "yes"
    assert "granted" not in asked.marks
    assert "no mark, for want of grounds: because, granted, reasons, courtesy" in asked.reasoning
    assert "firstoption" not in granted.reasoning + asked.reasoning


def test_protocols_without_stems_keep_their_judge() -> None:
    """Its hash is what keys of stored verdicts are made of; the judge of stems has one of its own."""
    plain = TableJudge(WeightTable.load())

    assert plain.hash == "7838e4bd14786948eb5f80a24290f585f8ebc760c0d129dcae71f9295fe56748"
    assert JUDGE.hash != plain.hash
    assert JUDGE.label.startswith("embedded-judge-")
    scenario = load("v2").scenarios[0]
    talk = converse("rock", V3.scenarios[0])
    case = JudgingInput(replace(talk, lines=(replace(talk.lines[1], name=scenario.judged[-1]),)), scenario, "")
    one, other = plain.read(case), asyncio.run(JUDGE.judge(case, Kept()))
    assert (one.marks, one.reasoning) == (other.marks, other.reasoning)
    assert one.key != other.key


def test_no_two_training_texts_are_the_same_sentence() -> None:
    """And no stem that the levels are learned from is one that is shipped."""
    learned = [yaml.safe_load(one.read_text(encoding="utf-8")) for one in (ROOT / "training/levels").glob("*.yaml")]
    sentences = [text for one in learned for text in texts_in(one)]
    long = [text for text in sentences if len(words(text)) > 4]
    stems = {stem for protocol in ("v3", "v3-lite") for stem in (one.stem for one in load(protocol).scenarios)}

    assert len(sentences) > 300
    assert not [one for one, other in pairwise(sorted(long)) if one == other]
    assert stems.isdisjoint(next(one for one in learned if "stems" in one)["stems"])


def test_a_board_without_an_index_says_why_and_what_the_rule_reads(tmp_path: Path) -> None:
    """Judged offline after the fact; the judge's own boards rank nobody, and what the rule reads stands beside it."""
    order = ("run", "sim:sim/bayesian", "sim:sim/rock", "sim:sim/evader", "--judge", "sim:sim/judge", "--runs", "1")
    of = ("--protocol", "v3-lite", "--store", "sim.db")
    with simulating(tmp_path):
        played = aib(tmp_path, *order, *of)
    judging = aib(tmp_path, "judge", "-j", "embedded", *of)
    shown = aib(tmp_path, "leaderboard", "--judge", "embedded-judge", *of)
    report = aib(tmp_path, "generate-report", "--judge", "embedded-judge", "--out", "report", *of)
    boards = json.loads(aib(tmp_path, "leaderboard", "--json", *of).stdout)["boards"]
    (board,) = (one for one in boards if one["judge_is_embedded"])
    bayesian, rock = sorted(board["incomplete"], key=lambda row: row["subject"]["model"])

    assert played.returncode == judging.returncode == shown.returncode == report.returncode == 0, judging.stderr
    told = " ".join(shown.stdout.split())
    assert "The embedded judge gives no because, no " in told
    assert ": no index." in told
    assert "What the rule reads on last lines, unranked" in told
    assert "sim:sim/evader@none-t0.7 took no option in any stem: the index is 0 by the rule alone" in told
    assert [(row["subject"]["model"], row["index"]) for row in board["ranked"]] == [("sim/evader", 0)]
    assert bayesian["index"] is None
    for row in (bayesian, rock):
        assert row["left_out_by_judge"]["because"] == {"count": 12, "of": 12, "value": 1.0}
    did = [{name: one["value"] for name, one in row["by_rule"]["did"].items()} for row in (bayesian, rock)]
    assert did[0] == dict.fromkeys(did[0], 1.0)
    assert did[1] == did[0] | {"relevant": 0.0}
    assert bayesian["branches"]["values"]["relevant"] is None
    assert bayesian["branches"]["rule_and_judge"] == {}, "it begins with what the rule reads"
    (other,) = (one for one in boards if not one["judge_is_embedded"])
    assert len(other["ranked"]) == 3
    site = aib(tmp_path, "site", "out", "--store", "sim.db")
    pages = [json.loads(one.read_text()) for one in (tmp_path / "out" / "api" / "boards").glob("v3-lite-n*.json")]
    page = next(one for one in pages if "embedded" in one["board"]["judge"])
    assert site.returncode == 0, site.stderr
    assert any("gives no because" in remark for remark in page["remarks"])
    read = {row["subject"]["model"]: row["by_rule"] and row["by_rule"]["did"]["relevant"] for row in page["rows"]}
    assert {model: one and one["shown"] for model, one in read.items()} == {
        "sim/evader": None,
        "sim/bayesian": "100%",
        "sim/rock": "0%",
    }
    assert other["ranked"][0]["by_rule"]["did"]["relevant"]["value"] == 1.0
