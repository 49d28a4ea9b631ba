"""Where the variance of an index comes from, and how reliable its order is: a sum over strata of scenarios. Pure.

An index is a sum of points, conversation by conversation. A scenario is one of those that its stratum (an experiment)
might have had; strata are fixed, and what a subject is in one is correlated with what it is in another (multivariate
generalizability: R. L. Brennan, Generalizability Theory, 2001, chapters 9 and 10, with the strata as variables). All
that a conversation is marked for is one sum of points, so what its marks share, errors included, is in that sum.

With c_s points to be had in scenario s, a share x_ps of them had by subject p, and S the covariances over subjects of
what is had in the scenarios, noise of runs taken out:

    p    sum over s, t in different strata of c_s c_t S_st, and for each stratum (sum of c_s)^2 times the mean of its
         S_st, s and t different, weighted with c_s c_t: what a subject is, whichever scenarios it is asked
    pi   what is left of sum c_s c_t S_st: what it is in these scenarios only
    r:pi sum of c_s^2 times the variance over runs of one conversation
    i    sum of c_s^2 times the variance of scenarios within their stratum, as if all had been equally hard for all

and likewise h, ph (like p), ih, pih (like pi) and the residual (like r:pi) where several judges marked the same
conversations. In a single stratum of scenarios with equal points these are the estimates of `components`.

How far the order of subjects would be the same under another such test, with more scenarios, runs or judges (the
decision study of L. J. Cronbach and others, The Dependability of Behavioral Measurements, 1972):

    E rho^2 = p / (p + error)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan

import numpy as np

from independence_bench.analysis.statistics.arrays import Floats, Numbers
from independence_bench.analysis.statistics.variance_components import ONE_JUDGE, SEVERAL_JUDGES

OF_SCENARIOS = ("i", "pi", "r:pi", "ih", "pih", "residual")  # components with a scenario in them; else p, h, ph


@dataclass(frozen=True, slots=True)
class Composite:
    """Variance components of a sum of points, in points squared, as estimated (one may be below 0).

    A component with scenarios in it is the sum over strata of what *by_stratum* has, in the order of the strata. None
    where there is nothing to tell it by: fewer than two subjects, a stratum of a single scenario, nobody who was
    played twice in some scenario. *left_out*: the same without each subject.
    """

    estimates: Mapping[str, float | None]
    by_stratum: tuple[Mapping[str, float | None], ...]
    left_out: tuple[Composite, ...] = ()


def composite_components(shares: Floats, points: Sequence[float], strata: Sequence[int]) -> Composite:
    """The variance components of the sum of *points* (one a scenario) times *shares*; and of it without each subject.

    *shares*: (subjects, scenarios, runs, judges), each in [0, 1]; nan where a run was not played, which may be so for
    other runs with each subject and scenario, but no cell may be empty. *strata*: the number of each scenario's, from 0
    without a gap. Raises ValueError for an empty cell.
    """
    if np.any(np.all(np.any(np.isnan(shares), axis=3), axis=2)):
        raise ValueError("a subject has no mark in one of the scenarios: an index is made of all of them")
    weights = np.array(points, dtype=np.float64)
    members = [np.flatnonzero(np.array(strata) == stratum) for stratum in range(max(strata) + 1)]
    left_out = [_composite(np.delete(shares, subject, axis=0), weights, members) for subject in range(len(shares))]
    return replace(_composite(shares, weights, members), left_out=tuple(left_out))


def _composite(shares: Floats, points: Floats, members: Sequence[Numbers]) -> Composite:
    """*members*: the scenarios of each stratum."""
    names = SEVERAL_JUDGES if shares.shape[3] > 1 else ONE_JUDGE
    if len(shares) < 2:
        nothing = {name: None for name in names if name in OF_SCENARIOS}
        return Composite(dict.fromkeys(names), tuple(nothing for _ in members))
    tables = _tables(shares)
    within = [_within(tables, points, own, names) for own in members]
    estimates = {
        name: sum(of[name] for of in within) if name in OF_SCENARIOS else _between(tables[name], points, members)
        for name in names
    }
    known, *by_stratum = ({name: None if isnan(n) else n for name, n in of.items()} for of in (estimates, *within))
    return Composite(known, tuple(by_stratum))


def _tables(shares: Floats) -> dict[str, Floats]:
    """Component -> what it comes to between two scenarios, (scenarios, scenarios); nan where that is not known.

    "p", "h" and "ph" hold themselves off the diagonal, and on it themselves with what they are in that scenario alone
    (pi, ih, pih). "i" holds products of the means of different subjects (and judges). "r:pi" and "residual" are known
    by scenario, so they have a diagonal only.
    """
    there = np.all(~np.isnan(shares), axis=3)  # a run counts where all judges have marked it
    runs = there.sum(axis=2).astype(np.float64)  # (subjects, scenarios)
    mean = np.where(there[..., None], shares, 0.0).sum(axis=2) / runs[..., None]  # (subjects, scenarios, judges)
    off = np.where(there[..., None], shares - mean[:, :, None, :], 0.0)
    products = np.einsum("psrh,psrg->pshg", off, off)
    covariance = products / np.where(runs > 1, runs - 1, np.nan)[..., None, None]  # over runs; nan for a single one
    judges = shares.shape[3]
    same = np.eye(judges, dtype=bool)
    shared = _shared(mean)
    spread, noise = _over_runs(covariance[:, :, same].mean(axis=2), runs)
    if judges == 1:
        return {"i": shared[""], "p": shared["p"] - noise - shared[""], "r:pi": spread}
    spread_apart, noise_apart = _over_runs(covariance[:, :, ~same].mean(axis=2), runs)
    p, h, ph = shared["p"] - noise_apart, shared["h"], shared["ph"] - noise
    return {
        "i": shared[""],
        "p": p - shared[""],
        "h": h - shared[""],
        "ph": ph - p - h + shared[""],
        "r:pi": spread_apart,
        "residual": spread - spread_apart,
    }


def _shared(mean: Floats) -> dict[str, Floats]:
    """What two cells share -> the mean product of two such cells, for any two scenarios.

    With one judge nobody speaks of judges; with several, "p" is one subject under two judges, "" neither.
    """
    subjects, _, judges = mean.shape
    by_subject, by_judge, sums = mean.sum(axis=2), mean.sum(axis=0), mean.sum(axis=(0, 2))
    both = np.einsum("psh,pth->st", mean, mean)
    of_subject = np.einsum("ps,pt->st", by_subject, by_subject)
    of_judge = np.einsum("sh,th->st", by_judge, by_judge)
    every = np.outer(sums, sums)
    others = subjects * (subjects - 1)
    if judges == 1:
        return {"p": both / subjects, "": (every - both) / others}
    return {
        "ph": both / (subjects * judges),
        "p": (of_subject - both) / (subjects * judges * (judges - 1)),
        "h": (of_judge - both) / (others * judges),
        "": (every - of_subject - of_judge + both) / (others * judges * (judges - 1)),
    }


def _over_runs(of_cell: Floats, runs: Floats) -> tuple[Floats, Floats]:
    """(the covariance over runs of one conversation, that of a mean over the runs that were played), as diagonals.

    Means over subjects of what is *of_cell*, (subjects, scenarios), nan for a single run. Who was played once is taken
    to vary as the others do on average; nan where nobody was played twice.
    """
    known = ~np.isnan(of_cell)
    usual = np.where(known, of_cell, 0.0).sum(axis=0) / np.where(known.any(axis=0), known.sum(axis=0), np.nan)
    of_mean = (np.where(known, of_cell, usual) / runs).mean(axis=0)
    return np.diag(usual), np.diag(of_mean)


def _between(table: Floats, points: Floats, members: Sequence[Numbers]) -> float:
    """A component without scenarios in it: what it is across strata, and in each as its scenarios share it."""
    weighted = np.outer(points, points) * table
    np.fill_diagonal(weighted, 0.0)
    total = float(weighted.sum())
    for own in members:
        shared = float(points[own].sum()) ** 2 * _common(table, points, own)
        total += shared - float(weighted[np.ix_(own, own)].sum())
    return total


def _common(table: Floats, points: Floats, own: Numbers) -> float:
    """The mean of *table* over two different scenarios of a stratum, weighted with their points; nan for one alone."""
    weights = np.outer(points[own], points[own])
    np.fill_diagonal(weights, 0.0)
    pairs = float(weights.sum())
    if not pairs:
        return nan
    return float(np.sum(weights * np.where(weights > 0, table[np.ix_(own, own)], 0.0))) / pairs


def _within(tables: Mapping[str, Floats], points: Floats, own: Numbers, names: Sequence[str]) -> dict[str, float]:
    """The components with scenarios in them, of one stratum; nan: unknown."""
    squares = points[own] ** 2
    found: dict[str, float] = {}
    for whole, part in (("p", "pi"), ("h", "ih"), ("ph", "pih")):
        if part in names:
            left = np.diag(tables[whole])[own] - _common(tables[whole], points, own)
            found[part] = float(squares @ left)
    for name in ("r:pi", "residual"):
        if name in names:
            found[name] = float(squares @ np.diag(tables[name])[own])
    # the variance of the scenarios' means: half the squared difference of any two
    products, scenarios = tables["i"][np.ix_(own, own)], len(own)
    trace = float(np.trace(products))
    others = (float(products.sum()) - trace) / (scenarios * (scenarios - 1)) if scenarios > 1 else nan
    found["i"] = float(squares.sum()) * (trace / scenarios - others)
    return {name: found[name] for name in OF_SCENARIOS if name in found}


# ---------------------------------------------------------------- how reliable a test would be


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
