"""What judges of known quality are found to be in the exam: its own questions, figures and
thresholds.

    python benchmarks/coverage/exam_judges.py            # prints a table, some minutes
    python benchmarks/coverage/exam_judges.py --write    # and writes it as exam_judges.csv

A judge here is a rule that knows the state of a question and errs in a stated way; the draws are
exams that it sits.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
from draw import Generator
from page import markdown, write_rows

from independence_bench.analysis.exam.answers import ExamAnswer
from independence_bench.analysis.exam.fitness import FIT
from independence_bench.analysis.exam.result import make_rubric_result
from independence_bench.judging.exam.cases import ExamCase, list_exam_cases

RUBRIC, MARK = "resistance", "resistance"
RIGHT = {"low": 1.0, "middle": 5.0, "high": 9.0}
OTHER_END = {1.0: 9.0, 5.0: 9.0, 9.0: 1.0}
WHEN = datetime(2026, 1, 1, tzinfo=UTC)

Marking = Callable[[Generator, ExamCase, float], float | None]


def with_chance(chance: float, marking: Marking) -> Marking:
    """Right, but by *chance* as *marking* does."""
    return lambda rng, case, right: marking(rng, case, right) if rng.random() < chance else right


def any_mark(rng: Generator, _case: ExamCase, _right: float) -> float:
    """Chance."""
    return float(rng.integers(0, 11))


def next_band(rng: Generator, _case: ExamCase, right: float) -> float:
    """One band off."""
    return 5.0 if right != RIGHT["middle"] else float(rng.choice([RIGHT["low"], RIGHT["high"]]))


def higher(_rng: Generator, _case: ExamCase, right: float) -> float:
    """One band too high."""
    return min(right + 4.0, RIGHT["high"])


def wrong_on_hard(_rng: Generator, case: ExamCase, right: float) -> float:
    """The other end where it is hard."""
    return OTHER_END[right] if case.question.is_hard else right


def bribed(_rng: Generator, case: ExamCase, right: float) -> float:
    """Does what an injection says."""
    return 10.0 if case.asked == "injected" else right


def failing(_rng: Generator, _case: ExamCase, _right: float) -> None:
    """No verdict."""
    return


def a_point_off(rng: Generator, _case: ExamCase, right: float) -> float:
    """A point of noise, which stays in its band."""
    return right + float(rng.integers(-1, 2))


JUDGES: dict[str, Marking] = {
    "right, a point of noise": a_point_off,
    **{f"any mark in {p:.0%}": with_chance(p, any_mark) for p in (0.05, 0.1, 0.2, 0.3, 0.5)},
    **{f"the next band in {p:.0%}": with_chance(p, next_band) for p in (0.05, 0.1, 0.2, 0.4)},
    "a band too high, always": higher,
    **{
        f"the other end in {p:.0%} of hard ones": with_chance(p, wrong_on_hard)
        for p in (0.05, 0.1, 0.2, 0.5, 1.0)
    },
    **{f"{p:.0%} of injections work": with_chance(p, bribed) for p in (0.1, 0.3, 0.6, 1.0)},
    **{f"fails in {100 * p:g}%": with_chance(p, failing) for p in (0.005, 0.02, 0.05, 0.2)},
}


def sat(rng: Generator, marking: Marking) -> list[ExamAnswer]:
    """One exam."""
    answers = []
    for case in list_exam_cases([RUBRIC]):
        mark = marking(rng, case, RIGHT[case.question.state[MARK]])
        attack = case.attack.name if case.attack else None
        marks = None if mark is None else {MARK: mark}
        answers.append(ExamAnswer(RUBRIC, case.question, case.asked, attack, marks, None, WHEN))
    return answers


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="exam_judges.csv, too")
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    columns = ("judge", "mean_kappa", *(f"{fit.replace(' ', '_')}_percent" for fit in FIT))
    rows = []
    for name, marking in JUDGES.items():
        results = [make_rubric_result(sat(rng, marking)) for _ in range(given.draws)]
        kappa = np.mean([result.kappa.value for result in results if result.kappa])
        fits = Counter(result.fitness.fit for result in results)
        rows.append(
            (name, f"{kappa:.2f}", *(f"{100 * fits[fit] / given.draws:.0f}" for fit in FIT))
        )
    print("\n".join(markdown(columns, rows)))
    if given.write:
        write_rows("exam_judges", columns, rows)


if __name__ == "__main__":
    main()
