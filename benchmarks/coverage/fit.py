"""Fits a model of each mark to stored results, and writes its parameters: what the simulation draws
from.

    aib import .../cache.tar.xz --store published.db
    python benchmarks/coverage/fit.py published.db       # writes benchmarks/coverage/models.json

A mark, turned so that 1 is the independent end of its scale, is a step function of a normal
variable,

    latent = subject + scenario + subject x scenario + residual        variances that add up to 1

The steps make the marks' distribution over everything that was stored. The variances are found by
moments: the covariance of two marks of one subject (in other scenarios; in the same one, in two
runs), or of two subjects in the same scenario, is inverted through Hermite polynomials (if the
correlation of two normal variables is r, the covariance of h of them is the sum over k of r^k
c_k^2, c_k being h's coefficients).

A mark that a single scenario gives has a residual of its own, because its runs can be compared; how
the rest is divided between subject, scenario and their interaction nobody can see in such data: it
is divided as that of the marks with several scenarios is, on average, and `borrowed` says so. Only
subjects with RUNS runs count.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from independence_bench.analysis.board import Board
from independence_bench.analysis.leaderboard import make_leaderboards
from independence_bench.api.named import find_shipped_or_stored_protocol
from independence_bench.protocol.definition import Mark, Protocol
from independence_bench.store.database import open_store

Floats = npt.NDArray[np.float64]
MODELS = Path(__file__).parent / "models.json"
PROTOCOL = "published-v2"
RUNS = 5
TERMS = 80  # of the Hermite expansion
NEVER_SEEN = 1e-4  # the chance of marks beyond those that were seen
CLOSEST = 0.995  # two marks of one conversation are never more alike than this
KEPT, FOREIGN = 0.8, 0.05  # of a published subject's marks, where they are drawn again
COMPONENTS = ("subject", "scenario", "interaction", "residual")


def marks_of(board: Board, protocol: Protocol, mark: Mark, inverted: bool) -> Floats:
    """[subjects, scenarios, runs]: shares of *mark*, 1 the independent end; subjects with at least
    RUNS runs.
    """
    configuration = board.configurations[0]
    scenarios = [s.id for s in protocol.scenarios if any(one.name == mark.name for one in s.marks)]
    given = [
        [
            [row.marks[run][configuration, s][mark.name] for run in sorted(row.marks)[:RUNS]]
            for s in scenarios
        ]
        for row in board.ranked
        if len(row.marks) >= RUNS
    ]
    shares = (np.array(given, dtype=np.float64) - mark.low) / (mark.high - mark.low)
    return 1 - shares if inverted else shares


def steps(shares: Floats, number: int) -> tuple[Floats, Floats]:
    """(values, thresholds): the marks that there can be, and the standard normal quantiles between
    them.
    """
    counts = np.bincount(np.rint(shares.ravel() * (number - 1)).astype(int), minlength=number)
    below = np.cumsum(counts)[:-1] / counts.sum()
    return np.arange(number) / (number - 1), ndtri(np.clip(below, NEVER_SEEN, 1 - NEVER_SEEN))


def squared_coefficients(values: Floats, thresholds: Floats) -> Floats:
    """[TERMS]: c_k^2 for k = 1, 2, ... of the step function, He_k normalised so that its variance
    is 1.
    """
    density = np.exp(-np.square(thresholds) / 2) / np.sqrt(2 * np.pi)
    before, polynomial = np.zeros_like(thresholds), np.ones_like(thresholds)
    found = []
    for k in range(1, TERMS + 1):
        found.append(float((np.diff(values) * density * polynomial).sum() ** 2) / k)
        before, polynomial = (
            polynomial,
            (thresholds * polynomial - np.sqrt(k - 1) * before) / np.sqrt(k),
        )
    return np.array(found)


def correlation(covariance: float, squares: Floats) -> float:
    """The correlation of two normal variables whose steps have *covariance*; 0 where that is not
    positive.
    """
    powers = np.arange(1, TERMS + 1)
    low, high = 0.0, CLOSEST
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (
            (middle, high)
            if float((squares * middle**powers).sum()) < covariance
            else (low, middle)
        )
    return low if covariance > 0 else 0.0


def covariances(shares: Floats) -> tuple[float, float, float]:
    """Of two marks of (one subject in two scenarios, two subjects in one, one subject and scenario
    in two runs).

    Each is a mean of products over all such pairs, minus the mean product of marks that share
    neither. The first two are NaN with a single scenario, and the third is then over subjects only.
    """
    subjects, scenarios, runs = shares.shape
    total = shares.sum(axis=2)
    cells = float(np.square(total).sum())
    same_cell = (cells - float(np.square(shares).sum())) / (
        subjects * scenarios * runs * (runs - 1)
    )
    if scenarios == 1:
        strangers = (float(total.sum()) ** 2 - cells) / (subjects * (subjects - 1) * runs**2)
        return np.nan, np.nan, same_cell - strangers
    by_subject, by_scenario = (
        np.square(total.sum(axis=1)).sum() - cells,
        np.square(total.sum(axis=0)).sum() - cells,
    )
    unlike = float(total.sum()) ** 2 - cells - by_subject - by_scenario
    strangers = unlike / (subjects * (subjects - 1) * scenarios * (scenarios - 1) * runs**2)
    return (
        float(by_subject) / (subjects * scenarios * (scenarios - 1) * runs**2) - strangers,
        float(by_scenario) / (scenarios * subjects * (subjects - 1) * runs**2) - strangers,
        same_cell - strangers,
    )


def fitted(shares: Floats, number: int) -> dict[str, object]:
    """The parameters of one mark on a scale of *number* steps; components are None where they
    cannot be told.
    """
    values, thresholds = steps(shares, number)
    squares = squared_coefficients(values, thresholds)
    subject, scenario, cell = (
        correlation(covariance, squares) for covariance in covariances(shares)
    )
    interaction = max(cell - subject - scenario, 0.0)
    single = shares.shape[1] == 1
    found = dict(zip(COMPONENTS, (subject, scenario, interaction, 1 - cell), strict=True))
    if not single:
        whole = sum(found.values())  # more than 1 where the interaction would be below 0
        found = {name: part / whole for name, part in found.items()}
    return {
        "thresholds": [round(float(threshold), 4) for threshold in thresholds],
        **{
            name: None if single and name != "residual" else round(part, 4)
            for name, part in found.items()
        },
        "borrowed": single,
        "from": dict(zip(("subjects", "scenarios", "runs"), shares.shape, strict=True)),
    }


def borrow(models: dict[str, dict[str, object]]) -> None:
    """Divide what is not residual in the marks of a single scenario as in the others, on
    average.
    """
    known = [
        np.array([model[name] for name in COMPONENTS[:3]])
        for model in models.values()
        if not model["borrowed"]
    ]
    division = np.mean([one / one.sum() for one in known], axis=0)
    for model in models.values():
        if model["borrowed"]:
            rest = 1 - float(str(model["residual"]))
            model.update(
                {
                    n: round(rest * float(p), 4)
                    for n, p in zip(COMPONENTS[:3], division, strict=True)
                }
            )


def smoothed(shares: Floats, number: int) -> Floats:
    """[subjects, scenarios, number]: chances of each step, made of a subject's own marks of that
    scenario.

    A mark stays where it was with chance KEPT and moves to a neighbouring step otherwise (not where
    there are only two steps); and a share FOREIGN of all marks is drawn from everybody's of that
    scenario.
    """
    own = np.eye(number)[np.rint(shares * (number - 1)).astype(int)].mean(axis=2)
    if number > 2:
        beside = np.eye(number, k=1) + np.eye(number, k=-1)
        beside /= beside.sum(axis=1, keepdims=True)
        own = KEPT * own + (1 - KEPT) * own @ beside
    chances: Floats = (1 - FOREIGN) * own + FOREIGN * own.mean(axis=0)
    return chances


def read_board(store_path: Path, protocol_name: str) -> tuple[Protocol, Board]:
    """The stored protocol of that name, and its first leaderboard."""
    with open_store(store_path, create=False) as store:
        protocol, _ = find_shipped_or_stored_protocol(protocol_name, store)
        return protocol, make_leaderboards(store, protocol)[0]


def fit(store_path: Path, protocol_name: str) -> dict[str, dict[str, object]]:
    """Every mark of a dimension that counts -> its parameters."""
    protocol, board = read_board(store_path, protocol_name)
    models: dict[str, dict[str, object]] = {}
    for dimension in protocol.dimensions:
        for name in dimension.marks if dimension.weight else ():
            mark = protocol.find_mark(name)
            shares = marks_of(board, protocol, mark, dimension.inverted)
            models[name] = fitted(shares, round(mark.high - mark.low) + 1)
    borrow(models)
    return models


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("store", type=Path)
    parser.add_argument("--protocol", default=PROTOCOL)
    chosen = parser.parse_args(arguments)
    models = fit(chosen.store, chosen.protocol)
    lines = [f"  {json.dumps(name)}: {json.dumps(model)}" for name, model in models.items()]
    MODELS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(MODELS.read_text(encoding="utf-8"), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
