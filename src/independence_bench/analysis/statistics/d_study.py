"""How reliable the order of subjects would be with more scenarios, runs or judges. Pure functions on variances.

The decision study of generalizability theory (L. J. Cronbach and others, The Dependability of Behavioral Measurements,
1972; R. L. Brennan, Generalizability Theory, 2001, chapters 4 and 10):

    E rho^2 = u / (u + error)    how far the order would be the same under another such test

u, the universe-score variance, is what subjects differ by whatever they are asked, and whoever judges it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from independence_bench.analysis.statistics.composite_components import OF_SCENARIOS


@dataclass(frozen=True, slots=True)
class Sources:
    """Variances, none below 0, of a score over as many scenarios as there are, each played once, under one judge."""

    between: Mapping[str, float]  # p, and h and ph where judges are known as a source
    within: tuple[Mapping[str, float], ...]  # for each stratum: i, pi, r:pi, and ih, pih and the residual


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


def generalizability(sources: Sources, multiples: Sequence[float], runs: float, judges: float = 1) -> float | None:
    """E rho^2, [0, 1], of a test with *multiples* times the scenarios of each stratum, so many runs, so many judges.

    For components of a single mark there is one stratum, and its multiple is the number of scenarios. None where
    nothing at all varies.

        error = ph/n_h + sum over strata of (pi + r:pi/n_r + pih/n_h + residual/(n_r n_h)) / multiple
    """
    error = sources.between.get("ph", 0.0) / judges
    for of, times in zip(sources.within, multiples, strict=True):
        of_runs = (of["r:pi"] + of.get("residual", 0.0) / judges) / runs
        error += (of["pi"] + of.get("pih", 0.0) / judges + of_runs) / times
    universe = sources.between["p"]
    return universe / (universe + error) if universe + error > 0 else None
