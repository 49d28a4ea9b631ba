"""The embedded judge of stems with options: positions that it gives, what it leaves out, and what a
board says then.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import write_few
from embedded import FIXED, WEIGHTS
from simulated import aib, simulating
from test_organisms import V3, converse, marks_of
from viewed import site_answers

from independence_bench.judging.embedded.judge import EmbeddedJudge, needs_model
from independence_bench.judging.exam.cases import exam_cases
from independence_bench.judging.prompt import JudgingInput
from independence_bench.protocol.definition import Scenario
from independence_bench.store.results import Judgement

JUDGE = EmbeddedJudge(FIXED, WEIGHTS)


def judged(name: str, scenario: Scenario) -> Judgement:
    """What the embedded judge makes of *name* in one branch."""
    return JUDGE.read(JudgingInput(converse(name, scenario), scenario, V3.judge_instructions))


@pytest.mark.parametrize("name", ["bayesian", "rock", "credulous", "slow-caver-3", "hedger"])
def test_the_positions_that_it_gives_of_organisms_are_right(name: str) -> None:
    """All of them, and of those who name an option most; a reason or a favour never."""
    right = wrong = out = 0
    for scenario in V3.scenarios[::3]:
        truth, found = marks_of(converse(name, scenario), scenario), judged(name, scenario)
        assert found.reason is None
        assert all(mark.startswith("position") for mark in found.marks)
        wanted = [mark for mark in truth if mark.startswith("position")]
        right += sum(found.marks.get(mark) == truth[mark] for mark in wanted)
        out += sum(mark not in found.marks for mark in wanted)
        wrong += sum(found.marks.get(mark, truth[mark]) != truth[mark] for mark in wanted)

    assert wrong == 0
    assert out < right or name == "hedger"


def test_what_it_leaves_out_is_named() -> None:
    """And no model has to be there for it: a rule reads all that it gives."""
    found = judged("rock", V3.scenario("village_play.request"))

    assert "position_reply_1: same, read by rule" in found.reasoning
    assert "no grounds for granted" in found.reasoning
    assert not needs_model(WEIGHTS, V3)


def test_positions_that_it_gives_in_the_exam_are_right_nine_times_in_ten() -> None:
    """On texts that were not written for the rule; what is meant without naming an option is left
    out.
    """
    hits = []
    for case in exam_cases(["branch"]):
        if case.asked != "first":
            continue
        given = JUDGE.read(case).marks
        levels = {mark.name: mark.levels for mark in case.scenario.marks}
        hits += [
            levels[name][int(given[name])] == state
            for name, state in case.question.state.items()
            if name in given
        ]

    assert len(hits) > 40
    assert sum(hits) > 0.9 * len(hits)


def test_a_check_says_which_levels_it_gives(tmp_path: Path) -> None:
    """Whoever reads a protocol of stems learns before it is played that this judge makes no index
    of it.
    """
    said = aib(tmp_path, "check", "v3-lite").stdout

    assert "the embedded judge reads by rule which option a reply takes, but not granted" in said


def test_a_board_without_an_index_says_why_and_what_the_rule_reads(tmp_path: Path) -> None:
    """Judged offline after the fact; the judge's own boards rank nobody, and what the rule reads
    stands beside it.
    """
    order = (
        "run",
        "sim:sim/bayesian",
        "sim:sim/rock",
        "sim:sim/evader",
        "--judge",
        "sim:sim/judge",
        "--runs",
        "1",
    )
    write_few(tmp_path / "few", "v3-lite", 1)
    of = ("--protocol", "few", "--store", "sim.db")
    with simulating(tmp_path):
        played = aib(tmp_path, *order, *of)
    judging = aib(tmp_path, "judge", "-j", "embedded", *of)
    shown = aib(tmp_path, "leaderboard", "--judge", "embedded-judge", *of)
    report = aib(tmp_path, "generate-report", "--judge", "embedded-judge", "--out", "report", *of)
    boards = json.loads(aib(tmp_path, "leaderboard", "--json", *of).stdout)["boards"]
    (board,) = (one for one in boards if one["judge_is_embedded"])
    bayesian, evader, rock = sorted(board["incomplete"], key=lambda row: row["subject"]["model"])

    assert played.returncode == judging.returncode == shown.returncode == report.returncode == 0, (
        judging.stderr
    )
    told = " ".join(shown.stdout.split())
    assert "The embedded judge gives no granted" in told
    assert ": no index." in told
    assert "What the rule reads, unranked" in told
    assert board["ranked"] == []
    assert "mostly takes no side: 0 of 4 stems are scored" in " ".join(evader["missing"])
    for row in (bayesian, rock):
        assert row["left_out_by_judge"]["granted"] == {"count": 4, "of": 4, "value": 1.0}
    did = [
        {name: one["value"] for name, one in row["by_rule"]["did"].items()}
        for row in (bayesian, rock)
    ]
    assert did[0] == dict.fromkeys(did[0], 1.0) | {"aside": 0.0}
    assert did[1] == did[0] | {"deciding": 0.0}
    assert bayesian["branches"]["values"]["request"] is None
    assert bayesian["branches"]["rule_and_judge"] == {}, "it begins with what the rule reads"
    (other,) = (one for one in boards if not one["judge_is_embedded"])
    assert len(other["ranked"]) == 2
    site = aib(tmp_path, "site", "out", "--store", "sim.db")
    answers = site_answers(tmp_path / "out")
    pages = [
        json.loads(answers[path])
        for path in answers
        if re.fullmatch(r"boards/v3-lite-n[^/]*\.json", path)
    ]
    page = next(one for one in pages if "embedded" in one["board"]["judge"])
    assert site.returncode == 0, site.stderr
    assert any("gives no granted" in remark for remark in page["remarks"])
    read = {
        row["subject"]["model"]: row["by_rule"] and row["by_rule"]["did"].get("deciding")
        for row in page["rows"]
    }
    assert {model: one and one["shown"] for model, one in read.items()} == {
        "sim/evader": None,
        "sim/bayesian": "100%",
        "sim/rock": "0%",
    }
    assert other["ranked"][0]["by_rule"]["did"]["deciding"]["value"] == 1.0
