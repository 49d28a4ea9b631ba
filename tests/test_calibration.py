"""Boards corrected for what their judge gets wrong in the exam, from the judge's answers to what a user reads."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from scripted import Answer, Asked, ScriptedModel, says, verdict
from test_cli import User, only_line, user

from independence_bench.analysis.calibration import Calibration, calibrations
from independence_bench.analysis.leaderboard import boards
from independence_bench.judging.exam.questions import BANDS, every
from independence_bench.protocol.loader import load
from independence_bench.report.calibration_view import calibration_view
from independence_bench.report.markdown import markdown
from independence_bench.store.database import open_store

__all__ = ["user"]  # a fixture
JUDGE = "scripted:judge/one"
MARK = {"low": 1, "middle": 5, "high": 9}
# what the judge makes of twenty middle and eighty high conversations: one of ten is given the band beside it
PLANTED = ["low"] + ["middle"] * (18 + 8) + ["high"] * (1 + 72)
TRUE = {"low": 0.0, "middle": 0.2, "high": 0.8}
TRUE_MEAN = 0.2 * 5 + 0.8 * 9
RUNS = 20  # five conversations of resistance each


def tenth_wrong(level: str, number: int, scale: tuple[str, ...] = BANDS) -> str:
    """The *number*-th conversation of *level* by a judge that errs in one of each ten, by turns up and down."""
    if number % 10 != 9:
        return level
    place = scale.index(level)
    beside = [one for one in (place - 1, place + 1) if 0 <= one < len(scale)]
    return scale[beside[number // 10 % len(beside)]]


@cache
def key() -> dict[str, dict[str, str]]:
    """What the human says first in a question -> what that judge makes of it: it errs in resistance alone."""
    counts: dict[tuple[str, str], Iterator[int]] = defaultdict(count)
    found = {}
    for _, question in every():
        found[(question.turns[0].human or "").strip()] = {
            name: tenth_wrong(state, next(counts[name, state])) if name == "resistance" and state in BANDS else state
            for name, state in question.state.items()
        }
    return found


def judge(turn: Iterator[int]) -> Callable[[Asked], Answer]:
    """A subject, and a judge of whose marks for resistance a tenth is wrong: in the exam, and `PLANTED`."""

    def script(asked: Asked) -> Answer:
        if not asked.judging:
            return says(asked, f"Mine, answer {asked.number}.")
        read = str(asked.body["messages"][-1]["content"])
        known = next((states for opening, states in key().items() if opening in read), None)
        if known is not None:
            return verdict(asked, {name: MARK.get(state, state == "yes") for name, state in known.items()})
        fields = asked.body["response_format"]["json_schema"]["schema"]["properties"]
        given = MARK[PLANTED[37 * next(turn) % len(PLANTED)]] if "resistance" in fields else 5
        return verdict(asked, {"resistance": given})

    return script


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    """Somebody with twenty runs of one subject under v2, by a judge that sat the exam; to be read only."""
    with ScriptedModel(judge(count())) as server:
        made = User(tmp_path_factory.mktemp("calibrated"), server)
        made.models()
        rubrics = ("identity", "drift", "name_and_gender", "resistance", "stability")
        for command in (
            ("run", "scripted:acme/one", "--protocol", "v2", "--runs", str(RUNS), "--judge", JUDGE, "-y"),
            ("exam", "-j", JUDGE, "-y", *(part for name in rubrics for part in ("--rubric", name))),
        ):
            done = made.aib(*command)
            assert done.returncode == 0, done.stderr
        yield made


def calibrated(made: User) -> Calibration:
    """The one board."""
    protocol = load("v2")
    with open_store(str(made.folder / "aib.db")) as store:
        (found,) = calibrations(store, protocol, boards(store, protocol))
    assert isinstance(found, Calibration)
    return found


def test_a_planted_tenth_of_errors_is_corrected_to_within_a_point(played: User) -> None:
    """Shares, mean and index come out as without the errors; as given, seven of a hundred high ones are missing."""
    found = calibrated(played)
    (row,) = found.rows
    mark = row.marks["resistance"]

    assert mark.conversations == 5 * RUNS == len(PLANTED)
    assert mark.shares == pytest.approx((0.01, 0.26, 0.73))
    assert mark.corrected_shares == pytest.approx(tuple(TRUE.values()), abs=0.01)
    assert mark.mean == pytest.approx(0.01 * 1 + 0.26 * 5 + 0.73 * 9)
    assert mark.corrected == pytest.approx(TRUE_MEAN, abs=0.1)
    assert mark.share_intervals
    assert all(one.holds(true) for one, true in zip(mark.share_intervals, TRUE.values(), strict=True))
    assert row.index
    assert row.interval
    true_index = row.index + 35 * (TRUE_MEAN - mark.mean) / 10  # resistance weighs 35
    assert true_index - row.index > 1
    assert row.corrected == pytest.approx(true_index, abs=0.5)
    assert row.interval.holds(true_index)


def test_marks_without_errors_stay_as_they_are(played: User) -> None:
    """All in the middle, by a judge that errs in no answer: no share moves, and limits say how few answers that is."""
    found = calibrated(played)
    mark = found.rows[0].marks["consistency"]

    assert found.marks["consistency"].confusion.accuracy == 1.0
    assert mark.shares == mark.corrected_shares == (0.0, 1.0, 0.0)
    assert mark.corrected == mark.mean == 5.0
    assert mark.share_intervals
    assert 0.8 < mark.share_intervals[1].low < 1.0


def test_every_table_says_that_it_is_corrected(played: User) -> None:
    """In its heading in a terminal and in Markdown, in JSON, and never unasked."""
    plain, shown, values = (
        played.aib("leaderboard", *more) for more in ((), ("--calibrated",), ("--calibrated", "--json"))
    )

    assert plain.returncode == shown.returncode == values.returncode == 0, plain.stderr + shown.stderr + values.stderr
    assert "orrected" not in plain.stdout
    assert all(len(line) <= 80 for line in shown.stdout.splitlines() if line.startswith("scripted:acme"))
    headings = [line for line in shown.stdout.splitlines() if "errors in its exam" in line]
    assert len(headings) == 1 + 8  # the index, and the marks that the exam has questions for
    assert "resistance, corrected for the judge's errors in its exam" in shown.stdout
    (found,) = json.loads(values.stdout)["calibrated"]
    assert found["what"] == "corrected for the judge's errors in its exam"
    assert found["no_corrected_index"] is None
    (row,) = found["rows"]
    assert row["corrected"] == pytest.approx(calibrated(played).rows[0].corrected)
    assert found["marks"]["resistance"]["levels"] == list(BANDS)
    text = markdown(calibration_view(calibrated(played)))
    assert "## Independence Index, protocol v2, corrected for the judge's errors in its exam" in text


def test_a_judge_that_has_not_sat_is_told_how(user: User) -> None:
    """One line with the command, and no table."""
    user.run("--judge", JUDGE)

    line = only_line(user.aib("leaderboard", "--calibrated"), 1)

    assert "has not sat the exam" in line
    assert "`aib exam -j scripted:judge/one`" in line


def test_no_correction_of_juries_or_by_other_rules(user: User) -> None:
    """A matrix is one judge's: wrong use, in one line."""
    user.run("--judge", JUDGE)

    for more in (("--jury", "a,b"), ("--rules", "published")):
        assert "leave --jury and --rules out" in only_line(user.aib("leaderboard", "--calibrated", *more), 2)


def test_a_rubric_that_the_exam_has_no_questions_for_is_not_corrected(user: User, small: Path) -> None:
    """A protocol of one's own has other rubrics: its marks are named, and there is no index."""
    written = small / "protocol.yaml"  # the judge as it sits: one with another limit is another judge
    written.write_text(written.read_text("utf-8").replace("max_tokens: 500", "max_tokens: 2000"), "utf-8")
    user.run("--judge", JUDGE)
    done = user.aib("exam", "-j", JUDGE, "--rubric", "drift", "-y")
    assert done.returncode == 0, done.stderr

    shown = user.aib("leaderboard", "--calibrated", "--json")
    (found,) = json.loads(shown.stdout)["calibrated"]

    assert found["marks"] == {}
    assert set(found["not_corrected"]) == {"own_voice", "drift", "changed", "resistance"}
    assert "no answers for" in found["no_corrected_index"]
    assert [row["corrected"] for row in found["rows"]] == [None]


def test_subjects_are_chosen_as_in_a_ranking(played: User) -> None:
    """--find shows those that are called so, and says who there is where nobody is."""
    shown, none = (played.aib("leaderboard", "--calibrated", "--find", word) for word in ("ACME", "nobody"))

    assert "scripted:acme/one" in shown.stdout
    assert "no subject has nobody in its label" in only_line(none, 2)
