"""How reliable a test would be with more scenarios, runs or judges, and the cheapest one that is reliable enough.

The decision study of generalizability theory (L. J. Cronbach and others, The Dependability of Behavioral Measurements,
1972; R. L. Brennan, Generalizability Theory, 2001, chapters 4 and 10). Pure functions on variances and prices.

    E rho^2 = u / (u + relative error)    of an order: how far it would be the same under another such test
    Phi     = u / (u + absolute error)    of the numbers themselves, for which it matters too how hard a test is

u, the universe-score variance, is what subjects differ by whatever they are asked, and whoever judges it.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from independence_bench.analysis.statistics.arrays import Floats
from independence_bench.analysis.statistics.composite_components import OF_SCENARIOS

MULTIPLES = (1, 2, 3, 4, 5, 6, 8)  # of the scenarios that there are
RUNS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20)
JUDGES = (1, 2, 3, 4, 5)
MOST_APART = 4  # strata with a multiple each; with more of them they share one
_NEARLY = 1e-12


@dataclass(frozen=True, slots=True)
class Sources:
    """Variances, none below 0, of a score over as many scenarios as there are, each played once, under one judge."""

    between: Mapping[str, float]  # p, and h and ph where judges are known as a source
    within: tuple[Mapping[str, float], ...]  # for each stratum: i, pi, r:pi, and ih, pih and the residual


@dataclass(frozen=True, slots=True)
class Coefficients:
    """How reliable a test is. The coefficients are in [0, 1]; None where nothing at all varies."""

    universe: float
    relative_error: float  # variances, on the scale of the score squared
    absolute_error: float
    repeated: float | None  # E rho^2 of the same scenarios played again: what they have of their own counts as true

    @property
    def relative(self) -> float | None:
        """The generalizability coefficient, E rho^2."""
        return _share(self.universe, self.relative_error)

    @property
    def absolute(self) -> float | None:
        """The index of dependability, Phi."""
        return _share(self.universe, self.absolute_error)


@dataclass(frozen=True, slots=True)
class StratumPrice:
    """What one run of a stratum's scenarios takes, and one judge of it. Dollars are None where they are not known."""

    replies: float
    judgements: float
    reply_dollars: float | None
    judgement_dollars: float | None


@dataclass(frozen=True, slots=True)
class Option:
    """One way to test a subject."""

    multiples: tuple[int, ...]  # for each stratum, of the scenarios that it has
    runs: int
    judges: int
    calls: float  # for one subject, replies and judgements
    dollars: float | None
    coefficients: Coefficients


def sources_of(
    estimates: Mapping[str, float | None], strata: Sequence[Mapping[str, float | None]] = ()
) -> Sources | None:
    """Variances for a decision study; estimates below 0 count as 0. None where one of them is not known.

    *estimates* are components of one mark, or with *strata* those of a sum over strata, each with its own.
    """
    parts = strata or [{name: value for name, value in estimates.items() if name in OF_SCENARIOS}]
    between = {name: value for name, value in estimates.items() if name not in OF_SCENARIOS}
    if any(value is None for part in (between, *parts) for value in part.values()):
        return None
    cut = [{name: max(value or 0.0, 0.0) for name, value in part.items()} for part in (between, *parts)]
    return Sources(cut[0], tuple(cut[1:]))


def coefficients(sources: Sources, multiples: Sequence[float], runs: float, judges: float = 1) -> Coefficients:
    """How reliable a test is that has *multiples* times the scenarios of each stratum, so many runs, so many judges.

    For components of a single mark there is one stratum, and its multiple is the number of scenarios.

        relative error = ph/n_h + sum over strata of (pi + r:pi/n_r + pih/n_h + residual/(n_r n_h)) / multiple
        absolute error = that + h/n_h + sum over strata of (i + ih/n_h) / multiple
    """
    strata = list(zip(sources.within, multiples, strict=True))
    between = sources.between
    relative = sum(_noise(of, runs, judges) / times for of, times in strata) + between.get("ph", 0.0) / judges
    difficulty = sum((of["i"] + of.get("ih", 0.0) / judges) / times for of, times in strata)
    lasting = sum(of["pi"] / times for of, times in strata)
    return Coefficients(
        universe=between["p"],
        relative_error=relative,
        absolute_error=relative + difficulty + between.get("h", 0.0) / judges,
        repeated=_share(between["p"] + lasting, relative - lasting),
    )


def _noise(of: Mapping[str, float], runs: float, judges: float) -> float:
    """The relative error that a stratum brings with the scenarios that it has."""
    return of["pi"] + of.get("pih", 0.0) / judges + (of["r:pi"] + of.get("residual", 0.0) / judges) / runs


def _share(universe: float, error: float) -> float | None:
    return universe / (universe + error) if universe + error > 0 else None


def cheapest(sources: Sources, prices: Sequence[StratumPrice], target: float) -> list[Option]:
    """The cheapest test with an E rho^2 of *target* or more for every number of runs, the cheapest of them first.

    Without those that are more of the same: as many scenarios, runs and judges as another or more. Looked for among
    `MULTIPLES` of each stratum's scenarios (of all together beyond `MOST_APART` strata), `RUNS` and, where judges are
    known as a source, `JUDGES`. By dollars where they are known, else by calls. [] where none is reliable enough.
    """
    strata = len(sources.within)
    apart = product(MULTIPLES, repeat=strata) if strata <= MOST_APART else ((n,) * strata for n in MULTIPLES)
    multiples = np.array(list(apart), dtype=np.float64)
    judges = JUDGES if "h" in sources.between else JUDGES[:1]
    found: list[Option] = []
    for runs in RUNS:
        tests = [_cheapest(sources, prices, target, multiples, runs, number) for number in judges]
        found += sorted((test for test in tests if test is not None), key=_cost)[:1]
    sizes = [(*one.multiples, one.runs, one.judges) for one in found]
    return [
        one
        for own, one in sorted(zip(sizes, found, strict=True), key=lambda sized: _cost(sized[1]))
        if not any(own is not than and all(map(operator.ge, own, than)) for than in sizes)
    ]


def _cheapest(
    sources: Sources, prices: Sequence[StratumPrice], target: float, multiples: Floats, runs: int, judges: int
) -> Option | None:
    """The cheapest of *multiples* (tests, strata) with these runs and judges; None where none is reliable enough."""
    errors = np.array([_noise(of, runs, judges) for of in sources.within])
    error = (1 / multiples) @ errors + sources.between.get("ph", 0.0) / judges
    universe = sources.between["p"]
    enough = multiples[universe * (1 - target) + _NEARLY >= target * error] if universe > 0 else multiples[:0]
    if not len(enough):
        return None
    calls = enough @ np.array([price.replies + judges * price.judgements for price in prices])
    each = [_dollars(price, judges) for price in prices]
    dollars, known = enough @ np.array([one or 0.0 for one in each]), None not in each
    order = np.lexsort((enough.sum(axis=1), calls.round(9), dollars.round(12) if known else calls.round(9)))
    return option(sources, prices, [round(multiple) for multiple in enough[order[0]]], runs, judges)


def option(
    sources: Sources, prices: Sequence[StratumPrice], multiples: Sequence[int], runs: int, judges: int
) -> Option:
    """One way to test a subject, and what it comes to."""
    each = [_dollars(price, judges) for price in prices]
    known = [dollars for dollars in each if dollars is not None]
    times = [runs * multiple for multiple in multiples]
    calls = sum(n * (price.replies + judges * price.judgements) for n, price in zip(times, prices, strict=True))
    dollars = sum(n * one for n, one in zip(times, known, strict=True)) if len(known) == len(each) else None
    return Option(tuple(multiples), runs, judges, calls, dollars, coefficients(sources, multiples, runs, judges))


def _dollars(price: StratumPrice, judges: int) -> float | None:
    """Of one run of a stratum."""
    if price.reply_dollars is None or price.judgement_dollars is None:
        return None
    return price.reply_dollars + judges * price.judgement_dollars


def _cost(one: Option) -> tuple[float, float, int, int]:
    return one.calls if one.dollars is None else one.dollars, one.calls, one.runs, one.judges
