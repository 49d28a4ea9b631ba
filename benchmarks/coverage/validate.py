"""Whether the interval of `aib validate` holds the rank correlation of true values.

    nice python benchmarks/coverage/validate.py            # ten minutes; a line for each cell

True values of n models are drawn with a planted rank correlation (normal copula): an index that
piles up below 100, and a rate near 0 or an Elo. Errors are larger where there is room for them, as
those of shares are; what is said of an error is itself off by a fifth. Figures are rounded to 0.1
and 0.5, so some are level. *reliability*: the share of the variance that is no error, on each side;
"not stated": theirs is 0.9 and unknown to the interval.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import product
from math import pi, sin, sqrt

import numpy as np

from independence_bench.analysis.statistics.agreement import true_rank_correlation
from independence_bench.analysis.statistics.values import Floats

MODELS = (6, 8, 9, 15, 26, 60)
PLANTED = (0.0, 0.3, 0.6, 0.9)
STEPS = {"index": 0.1, "rate": 0.5, "elo": 0.1}
# the root of the mean of share * (1 - share), of these populations
USUAL_ROOM = {"index": 0.32, "rate": 0.27}


@dataclass(frozen=True, slots=True)
class Test:
    """What is planted: which outside board, how reliable both sides are, and whether theirs says
    so.
    """

    outside: str
    ours: float
    theirs: float
    stated: bool = True

    @property
    def name(self) -> str:
        """For a line."""
        return (
            f"{self.outside:4}  {self.ours:4}  {self.theirs if self.stated else 'not stated':>10}"
        )


TESTS = (
    *(Test(outside, share, share) for outside in ("rate", "elo") for share in (1.0, 0.95, 0.85)),
    Test("elo", 0.95, 0.9, stated=False),
)


def true_values(kind: str, latent: Floats) -> Floats:
    """A latent normal variable on the scale of that board."""
    if kind == "index":
        return np.asarray(100 / (1 + np.exp(-(2.2 + 1.1 * latent))))
    return np.asarray(
        100 * np.exp(latent - 2.8).clip(0, 1) if kind == "rate" else 1400 + 200 * latent
    )


SPREADS = {
    kind: float(true_values(kind, np.random.default_rng(0).standard_normal(200_000)).std())
    for kind in STEPS
}


def errors_of(rng: np.random.Generator, kind: str, values: Floats, reliability: float) -> Floats:
    """[models]: standard errors that leave so much of the variance, on average."""
    usual = SPREADS[kind] * sqrt(1 / reliability - 1)
    if kind == "elo":
        return np.asarray(usual * np.exp(0.3 * rng.standard_normal(values.size)) / 1.05)
    return np.asarray(usual * np.sqrt(values / 100 * (1 - values / 100) + 0.002) / USUAL_ROOM[kind])


def measured(
    rng: np.random.Generator, kind: str, latent: Floats, reliability: float
) -> tuple[Floats, Floats]:
    """[models] twice: what a board shows, and what it says of its errors (from what it shows, as it
    would).
    """
    true = true_values(kind, latent)
    shown = true + errors_of(rng, kind, true, reliability) * rng.standard_normal(true.size)
    shown = np.round((shown if kind == "elo" else shown.clip(0, 100)) / STEPS[kind]) * STEPS[kind]
    said = errors_of(rng, kind, shown, reliability) * np.exp(0.2 * rng.standard_normal(true.size))
    return shown, said


def cell(rng: np.random.Generator, test: Test, models: int, planted: float, draws: int) -> str:
    """How often an interval is printed, how often it holds what was planted, its mean width, and
    the raw figure.
    """
    # of two normal variables with this rank correlation
    latent_correlation = 2 * sin(pi * planted / 6)
    printed, held, width, raw = 0, 0, 0.0, 0.0
    for _ in range(draws):
        own = rng.standard_normal(models)
        other = latent_correlation * own + sqrt(1 - latent_correlation**2) * rng.standard_normal(
            models
        )
        index, index_error = measured(rng, "index", own, test.ours)
        value, error = measured(rng, test.outside, other, test.theirs)
        found = true_rank_correlation(
            index.tolist(),
            value.tolist(),
            index_error.tolist(),
            error.tolist() if test.stated else None,
        )
        raw += (found.observed or 0.0) / draws
        if found.interval is not None:
            printed += 1
            held += found.interval.holds(planted)
            width += found.interval.width
    holds = (
        f"{held / printed:6.3f}  {width / printed:5.2f}"
        if printed >= draws / 100
        else "     –      –"
    )
    return f"{test.name}  {models:6}  {planted:7}  {raw:5.2f}  {printed / draws:7.2f}  {holds}"


def main() -> None:
    """Print every cell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    draws = parser.parse_args().draws
    rng = np.random.default_rng(20261126)
    print("what  ours      theirs  models  planted    raw  printed   holds  width")
    for test, models, planted in product(TESTS, MODELS, PLANTED):
        print(cell(rng, test, models, planted, draws), flush=True)


if __name__ == "__main__":
    main()
