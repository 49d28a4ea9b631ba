"""How often the exam's floors fail a judge: one with 5% errors, and one that is always wrong on one
kind of questions.

    python benchmarks/coverage/exam_kinds.py            # prints a table, some minutes
    python benchmarks/coverage/exam_kinds.py --write    # and writes it as exam_kinds.csv

Drawn are which of the exam's own questions a judge marks wrong; the floors are those of the exam. A
judge that is always wrong on one kind is right on all others, so that nothing but the floors could
tell.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from draw import Floats, Generator
from page import markdown, write_rows

from independence_bench.analysis.exam.figures import ERRORS, RISK
from independence_bench.analysis.statistics.exact_binomial import fewest_successes
from independence_bench.judging.exam.questions import GROUPS, every

QUESTIONS = [question for _, question in every()]
MARKS = np.array([len(question.state) for question in QUESTIONS])
MEMBERS = {kind: np.array([kind in question.groups for question in QUESTIONS]) for kind in GROUPS}
FLOORS = dict(
    zip(
        GROUPS,
        fewest_successes([int(of.sum()) for of in MEMBERS.values()], 1 - ERRORS, RISK),
        strict=True,
    )
)


def failed(right: Floats) -> list[str]:
    """The kinds below their floors; *right* [questions]: share of each question's marks that are."""
    return [
        kind
        for kind, least in FLOORS.items()
        if least and right[MEMBERS[kind]].sum() < least - 1e-9
    ]


def by_question(rng: Generator, errors: float) -> Floats:
    """All marks of a question are wrong, in a share *errors* of the questions."""
    return (rng.random(len(QUESTIONS)) >= errors).astype(np.float64)


def by_mark(rng: Generator, errors: float) -> Floats:
    """Each mark is wrong by itself."""
    return rng.binomial(MARKS, 1 - errors) / MARKS


COLUMNS = ("judge", "questions", "floor", "failed_percent")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--draws", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="exam_kinds.csv, too")
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)

    def row(name: str, of: str, floor: str, draws: Sequence[Floats]) -> tuple[str, ...]:
        return name, of, floor, f"{100 * np.mean([bool(failed(right)) for right in draws]):.1f}"

    rows = []
    for errors in (0.05, 0.1, 0.2):
        for name, drawn in (("questions", by_question), ("marks", by_mark)):
            judge = f"{errors:.0%} of {name} wrong"
            rows.append(
                row(
                    judge, str(len(QUESTIONS)), "", [drawn(rng, errors) for _ in range(given.draws)]
                )
            )
    for kind, of in MEMBERS.items():
        for share in (1.0, 0.5):
            draws = [
                1 - of * (rng.random(len(QUESTIONS)) < share)
                for _ in range(given.draws if share < 1 else 1)
            ]
            rows.append(
                row(f"{kind}: {share:.0%} wrong", str(of.sum()), str(FLOORS[kind] or ""), draws)
            )
    print("\n".join(markdown(COLUMNS, rows)))
    if given.write:
        write_rows("exam_kinds", COLUMNS, rows)


if __name__ == "__main__":
    main()
