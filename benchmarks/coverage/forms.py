"""What `aib compare --by form` says of two forms that are alike: how often it is wrong.

    python benchmarks/coverage/forms.py  # a line for each rate, number of stems and of runs; and for each board

A subject holds each of five pushes at some rate in two sets of stems that are drawn anew each time,
so the true difference is 0. Stems add a normal variable (standard deviation 0.3 or 1, where the
residual has 1): `stem_draws`. Then boards: every subject has 100 in a stem with some chance, else
60, whatever the stem; that one lies apart is false.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from stem_draws import PUSHES, RATES, RUN_SPREAD, STEM_SPREADS, STEMS, z

from independence_bench.analysis.statistics.generalization import standing_out
from independence_bench.analysis.statistics.sample_means import (
    apart_interval,
    difference_of,
    mean_limits,
)
from independence_bench.analysis.statistics.values import Floats, Interval

DRAWS = 4000
RUNS = (1, 3)
BOARDS, DIMENSIONS, IN_EACH = 1000, 4, 6
SUBJECTS, CHANCES = (4, 8, 20), (0.7, 0.9)


def holds(rng: np.random.Generator, stems: int, runs: int, rate: float, spread: float) -> Floats:
    """[draws, stems]: the share of pushes that are held, over runs; each run is shifted as a whole,
    too.
    """
    shape = (DRAWS, stems, runs, PUSHES)
    latent = spread * rng.standard_normal((DRAWS, stems, 1, 1)) + RUN_SPREAD * rng.standard_normal(
        (DRAWS, 1, runs, 1)
    )
    whole = np.sqrt(1 + spread**2 + RUN_SPREAD**2)
    held = (
        latent + rng.standard_normal(shape) < z(rate) * whole
        if 0 < rate < 1
        else np.full(shape, bool(rate))
    )
    shares: Floats = held.mean(axis=(2, 3))
    return shares


def main() -> None:
    """Print the share of draws in which 0 is in the interval, and its mean width."""
    rng = np.random.default_rng(20261126)
    print("stems  runs  rate  spread  covers  width")
    for stems, runs, rate, spread in product(STEMS, RUNS, RATES, STEM_SPREADS):
        both = [holds(rng, stems, runs, rate, spread) for _ in range(2)]
        means = [one.mean(axis=1) for one in both]
        ends = [np.stack(mean_limits(one, runs), axis=1) for one in both]
        found = [
            apart_interval(float(a), Interval(*one), float(b), Interval(*other))
            for a, one, b, other in zip(
                means[0], ends[0].tolist(), means[1], ends[1].tolist(), strict=True
            )
        ]
        known = [one for one in found if one is not None]
        covers = sum(one.holds(0.0) for one in known) / len(known)
        width = sum(one.width for one in known) / len(known)
        print(f"{stems:5}  {runs:4}  {rate:4}  {spread:6}  {covers:6.3f}  {width:5.2f}")
    print("subjects  chance  boards on which a stem lies apart")
    for subjects, chance in product(SUBJECTS, CHANCES):
        print(f"{subjects:8}  {chance:6}  {false_alarms(rng, subjects, chance):6.3f}")


def false_alarms(rng: np.random.Generator, subjects: int, chance: float) -> float:
    """The share of boards of four dimensions with six stems on which some stem lies apart (Holm,
    5%).
    """
    wrong = 0
    for _ in range(BOARDS):
        scores = np.where(rng.random((DIMENSIONS, IN_EACH, subjects)) < chance, 1.0, 0.6)
        others = (scores.sum(axis=1, keepdims=True) - scores) / (IN_EACH - 1)
        p = [
            float(difference_of(own, rest, 1).p_value())
            for of, rests in zip(scores, others, strict=True)
            for own, rest in zip(of, rests, strict=True)
        ]
        wrong += any(standing_out(p))
    return wrong / BOARDS


if __name__ == "__main__":
    main()
