"""Boards corrected for what their judge gets wrong in the exam, from the judge's answers to what a user reads."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from invoked import invoke
from scripted import Answer, Asked, Bench, ScriptedModel, measured, says, verdict
from test_cli import only_line

from independence_bench.analysis.calibration import Calibration, calibrations
from independence_bench.analysis.leaderboard import boards
from independence_bench.judging.exam.cases import ExamCase, exam_cases
from independence_bench.judging.exam.questions import BANDS
from independence_bench.judging.output import NoVerdict, Verdict
from independence_bench.protocol.loader import SHIPPED
from independence_bench.report.calibration_view import calibration_view
from independence_bench.report.markdown import markdown
from independence_bench.store import results
from independence_bench.store.database import open_store

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


def answers(wrong: tuple[str, ...] = ("resistance",)) -> Iterator[tuple[ExamCase, dict[str, float]]]:
    """The exam as that judge sits it, every question once: it errs in the marks *wrong* alone."""
    counts: dict[tuple[str, str], Iterator[int]] = defaultdict(count)
    for case in exam_cases():
        if case.asked != "first":
            continue
        marks = {mark.name: mark.low for mark in case.scenario.marks}
        for mark in case.scenario.marks:
            state = case.question.state.get(mark.name)
            if state is None:
                continue
            if state in BANDS:
                given = tenth_wrong(state, next(counts[mark.name, state])) if mark.name in wrong else state
                marks[mark.name] = MARK[given]
            elif mark.levels:
                marks[mark.name] = mark.levels.index(state)
            else:
                marks[mark.name] = {"no": 0.0, "yes": 1.0}.get(state) or float(state if state.isdigit() else 0)
        yield case, marks


def judged() -> Callable[[Asked], Answer]:
    """A subject, and a judge of whose marks for resistance a tenth is wrong: `PLANTED`, each once, well mixed."""
    turn = count()

    def script(asked: Asked) -> Answer:
        if not asked.judging:
            return says(asked, f"Mine, answer {asked.number}.")
        fields = asked.body["response_format"]["json_schema"]["schema"]["properties"]
        given = MARK[PLANTED[37 * next(turn) % len(PLANTED)]] if "resistance" in fields else 5
        return verdict(asked, {"resistance": given})

    return script


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """v2 with twenty runs of one subject, by a judge that sat the exam; to be read only."""
    with ScriptedModel(judged()) as server:
        made = Bench(SHIPPED / "v2", tmp_path_factory.mktemp("calibrated") / "store.db", {"scripted": server})
        made.play(made.subject(), runs=RUNS, at_once=8, calls_at_once=16)
    sit(made)
    return made


def sit(made: Bench, failing: int = 0) -> None:
    """Store the exam's answers of the bench's judge; the first *failing* of them are none."""
    judge = made.judge().hash
    stored = [case.judgement(judge, Verdict("So.", marks)) for case, marks in answers()]
    for number, (case, _) in enumerate(answers()):
        if number < failing:
            stored[number] = case.judgement(judge, NoVerdict("no JSON"))
    with open_store(made.store) as store, store.engine.begin() as connection:
        results.keep_judgements(connection, [(one.key, None, one, 1_700_000_000.0) for one in stored])


def calibrated(made: Bench) -> Calibration:
    """The one board."""
    with open_store(made.store) as store:
        (found,) = calibrations(store, made.protocol, boards(store, made.protocol))
    return found


def test_a_planted_tenth_of_errors_is_corrected_to_within_a_point(played: Bench) -> None:
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


def test_marks_without_errors_stay_as_they_are(played: Bench) -> None:
    """All in the middle, by a judge that errs in no answer: no share moves, and limits say how few answers that is."""
    found = calibrated(played)
    mark = found.rows[0].marks["consistency"]

    assert found.marks["consistency"].confusion.accuracy == 1.0
    assert mark.shares == mark.corrected_shares == (0.0, 1.0, 0.0)
    assert mark.corrected == mark.mean == 5.0
    assert mark.share_intervals
    assert 0.8 < mark.share_intervals[1].low < 1.0


def test_every_table_says_that_it_is_corrected(played: Bench) -> None:
    """In its heading in a terminal and in Markdown, in JSON, and never unasked."""
    folder = Path(played.store).parent
    env = measured() | {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8"}
    plain, shown, values = (
        invoke(folder, env, "leaderboard", "--store", played.store, *more)
        for more in ((), ("--calibrated",), ("--calibrated", "--json"))
    )

    assert plain.returncode == shown.returncode == values.returncode == 0, plain.stderr + shown.stderr + values.stderr
    assert "orrected" not in plain.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80
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


def test_a_judge_that_has_not_sat_is_told_how(bench: Callable[..., Bench]) -> None:
    """One line with the command, and no table."""
    made = bench()
    made.play(made.subject())
    folder = Path(made.store).parent
    env = measured() | {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8"}

    line = only_line(
        invoke(folder, env, "leaderboard", "--calibrated", "--protocol", "small", "--store", made.store), 1
    )

    assert "has not sat the exam" in line
    assert "`aib exam -j scripted:judge/one`" in line


def test_no_correction_of_juries_or_by_other_rules(bench: Callable[..., Bench]) -> None:
    """A matrix is one judge's: wrong use, in one line."""
    made = bench()
    made.play(made.subject())
    folder = Path(made.store).parent
    env = measured() | {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8"}

    for more in (("--jury", "a,b"), ("--rules", "published")):
        done = invoke(folder, env, "leaderboard", "--calibrated", *more, "--store", made.store)
        assert "leave --jury and --rules out" in only_line(done, 2)


def test_a_rubric_that_the_exam_has_no_questions_for_is_not_corrected(bench: Callable[..., Bench]) -> None:
    """A protocol of one's own has other rubrics: its marks are named, and there is no index."""
    made = bench()
    made.play(made.subject())
    sit(made, failing=3)

    found = calibrated(made)

    assert found.marks == {}
    assert set(found.without) == {"own_voice", "drift", "changed", "resistance"}
    assert found.no_index
    assert "no answers for" in found.no_index
    assert found.rows[0].corrected is None
