"""What a judge of known confusion does to rankings by v2's index: the grounds for the thresholds of
the judge's exam.

    python benchmarks/coverage/exam_thresholds.py            # prints a table, some ten minutes
    python benchmarks/coverage/exam_thresholds.py --write    # and writes it as exam_thresholds.csv

Marks are drawn from the models fitted to published results (draw.py), and the truth is the index
that a judge without an error gives over all runs. A judge errs by bands, as the exam sees it: some
share of ordinary conversations and some of hard ones. How many of its conversations are hard
differs from subject to subject, evenly from none to `MOST_HARD`; a judge that is wrong on hard ones
therefore wrongs some subjects more than others. Looked at are pairs of subjects whose true indices
are about 5 points apart, and about 20: how many stand in the wrong order after so many runs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from draw import Floats, Generator, Test, draw_parts, models, whole_index
from page import markdown, write_rows

from independence_bench.analysis.statistics.known_states import Items, agreement, slope

SUBJECTS = 40
RUNS = (5, 40)
MOST_HARD = (0.4, 0.8)
NEAR, FAR = (4.0, 6.0), (18.0, 22.0)  # points between two subjects
SHARES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6)
LENGTHS = (0.25, 0.5, 1.0, 2.0)  # points that a mark rises with each doubling of a reply
OF_EXAM = 30000  # questions by which a judge's true figures are found, half of them hard


@dataclass(frozen=True, slots=True)
class Erring:
    """A judge: *kind* of error, and in what share of ordinary and of hard conversations."""

    kind: str
    ordinary: float
    hard: float
    per_doubling: float = 0.0  # points


def judges() -> Iterator[Erring]:
    """All that are looked at."""
    yield Erring("none", 0.0, 0.0)
    for kind in ("any mark", "next band", "a band higher", "a band lower"):
        yield from (Erring(kind, share, share) for share in SHARES)
    for kind in ("other end", "highest", "lowest"):
        yield from (Erring(kind, 0.0, share) for share in SHARES)
    yield from (Erring("longer is better", 0.0, 0.0, each) for each in LENGTHS)


def bands(shares: Floats) -> Floats:
    """0, 1 and 2 of marks of 0-10 as shares of their scale."""
    return np.digitize(shares, (0.35, 0.65)).astype(np.float64)


def marked(
    rng: Generator, judge: Erring, shares: Floats, hard: Floats, length: Floats, steps: int
) -> Floats:
    """What *judge* gives for true *shares* of a scale with so many steps; *length* in doublings
    over the middle.
    """
    if judge.kind == "none":
        return shares
    err = rng.random(shares.shape) < np.where(hard, judge.hard, judge.ordinary)
    moved = shares
    if judge.per_doubling:
        moved = (
            np.clip(
                np.rint(10 * shares + judge.per_doubling * length + rng.random(shares.shape) - 0.5),
                0,
                10,
            )
            / 10
        )
        return moved if steps > 1 else shares
    return np.where(err, _wrong(rng, judge.kind, shares, steps), moved)


def _wrong(rng: Generator, kind: str, shares: Floats, steps: int) -> Floats:
    up = rng.random(shares.shape) < 0.5
    of = bands(shares)
    if steps == 1:  # yes or no: the other one, one of the two, or the end that the error goes to
        of_all = {
            "any mark": up * 1.0,
            "a band higher": np.ones_like(shares),
            "highest": np.ones_like(shares),
        }
        of_all["a band lower"] = of_all["lowest"] = np.zeros_like(shares)
        return of_all.get(kind, 1 - shares)
    if kind == "any mark":
        return rng.integers(0, 11, shares.shape) / 10
    target = {
        "next band": np.where(of == 1, 2.0 * up, 1.0),
        "a band higher": np.minimum(of + 1, 2),
        "a band lower": np.maximum(of - 1, 0),
        "other end": np.where(of == 1, 2.0 * up, 2 - of),
        "highest": np.full_like(of, 2.0),
        "lowest": np.zeros_like(of),
    }[kind]
    low, width = np.choose(target.astype(int), [0, 4, 7]), np.choose(target.astype(int), [4, 3, 4])
    return np.where(target == of, shares, (low + np.floor(width * rng.random(shares.shape))) / 10)


def exam_of(rng: Generator, judge: Erring) -> tuple[float, float, float, float, float]:
    """Its true (kappa, share right of ordinary ones, of hard ones, signed error in points, points
    by each doubling).
    """
    of = np.arange(OF_EXAM) % 3
    hard = np.arange(OF_EXAM) // 3 % 2 == 1
    states = (
        np.choose(of, [0, 4, 7]) + np.floor(np.choose(of, [4, 3, 4]) * rng.random(OF_EXAM))
    ) / 10
    lengths = rng.normal(size=OF_EXAM)
    given = marked(rng, judge, states, hard, lengths, 10)
    figure = agreement(Items(np.arange(OF_EXAM), of.astype(float), bands(given)), OF_EXAM)
    right = bands(given) == of
    low, high = np.choose(of, [0, 4, 7]), np.choose(of, [3, 6, 10])
    signed = np.maximum(10 * given - high, 0) - np.maximum(low - 10 * given, 0)
    by_length = slope(lengths, 10 * given, of)
    assert figure is not None
    assert by_length is not None
    return (
        figure.value,
        float(right[~hard].mean()),
        float(right[hard].mean()),
        float(signed.mean()),
        by_length[0],
    )


def ranked(
    rng: Generator, judge: Erring, test: Test, boards: int, runs: int, most_hard: float
) -> dict[str, float]:
    """Shares of pairs in the wrong order, and by how many points the mean index is too high."""
    size = (boards, SUBJECTS, runs)
    lengths = np.broadcast_to(rng.normal(size=(boards, SUBJECTS, 1)), size)
    hard_share = most_hard * rng.random((boards, SUBJECTS, 1))
    hard: dict[tuple[int, int], Floats] = {}
    index, truth = np.zeros(size), np.zeros((boards, SUBJECTS))
    weights = test.design.weights
    for part, shares, rerun in draw_parts(test, rng, *size):
        at = (0, part.transcript)
        if at not in hard:
            hard[at] = rng.random(size) < hard_share
        worth = part.share * weights[part.dimension, part.transcript]
        index += worth * marked(rng, judge, shares, hard[at], lengths, len(part.model.thresholds))
        truth += worth * rerun
    score = 100 * index.mean(axis=2)
    truth *= 100
    one, other = np.triu_indices(SUBJECTS, 1)
    apart = truth[:, one] - truth[:, other]
    said = score[:, one] - score[:, other]
    found = {"bias": float((score - truth).mean())}
    for name, (low, high) in {"near": NEAR, "far": FAR}.items():
        at = (np.abs(apart) > low) & (np.abs(apart) < high)
        found[name] = float((np.sign(said[at]) != np.sign(apart[at])).mean())
    return found


def main(report: Callable[[str], object] = print) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--boards", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="exam_thresholds.csv, too")
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    test = whole_index(models())
    columns = (
        "error", "share", "kappa", "ordinary_right_percent", "hard_right_percent", "leniency", "by_length", "bias",
        *(f"5_apart_{n}_runs_{100 * h:.0f}_percent_hard" for n in RUNS for h in MOST_HARD),
        *(f"20_apart_{100 * h:.0f}_percent_hard" for h in MOST_HARD),
    )  # fmt: skip
    rows = []
    for judge in judges():
        kappa, ordinary, hard, signed, by_length = exam_of(rng, judge)
        cells = [
            ranked(rng, judge, test, max(given.boards * RUNS[0] // n, 8), n, h)
            for n in RUNS
            for h in MOST_HARD
        ]
        row = [judge.kind, f"{judge.per_doubling or judge.hard:g}", f"{kappa:.2f}"]
        row += [f"{100 * ordinary:.0f}", f"{100 * hard:.0f}", f"{signed:+.2f}", f"{by_length:+.2f}"]
        row += [f"{cells[0]['bias']:+.1f}", *(f"{100 * cell['near']:.1f}" for cell in cells)]
        rows.append((*row, *(f"{100 * cell['far']:.1f}" for cell in cells[: len(MOST_HARD)])))
        print(f"{judge.kind} {row[1]}: done", file=sys.stderr, flush=True)
    report("\n".join(markdown(columns, rows)))
    if given.write:
        write_rows("exam_thresholds", columns, rows)


if __name__ == "__main__":
    main()
