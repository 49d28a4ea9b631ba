"""Where the variance of a mark and of an index comes from, and how reliable an order is. Pure
functions on numbers.

A mark, rescaled to a share in [0, 1], is taken as a sum of independent random effects (L. J.
Cronbach and others, The Dependability of Behavioral Measurements, 1972; R. L. Brennan,
Generalizability Theory, 2001):

    p     subjects: what is to be measured
    i     scenarios: some are harder for everybody
    pi    subjects in scenarios: what is hard for the one is easy for the other
    r:pi  runs: the same subject in the same scenario again; every run is a conversation of its own, so runs are
          nested in subjects and scenarios
    h     judges, where several marked the same conversations: some are milder with everybody
    ph, ih, pih   judges who are milder with some subjects, in some scenarios, or with some subjects in some scenarios
    residual      what is left: a judge and a run

Estimated by moments from means over runs, of which the noise of runs is taken out. Subjects may
have been played in unequal numbers of runs; in a balanced design the estimates are those of the
analysis of variance.

An index is a sum of points, conversation by conversation. A scenario is one of those that its
stratum (an experiment) might have had; strata are fixed, and what a subject is in one is correlated
with what it is in another (multivariate generalizability: Brennan, chapters 9 and 10, with the
strata as variables). All that a conversation is marked for is one sum of points, so what its marks
share, errors included, is in that sum. With c_s points to be had in scenario s, a share x_ps of
them had by subject p, and S the covariances over subjects of what is had in the scenarios, noise of
runs taken out:

    p    sum over s, t in different strata of c_s c_t S_st, and for each stratum (sum of c_s)^2 times the mean of its
         S_st, s and t different, weighted with c_s c_t: what a subject is, whichever scenarios it is asked
    pi   what is left of sum c_s c_t S_st: what it is in these scenarios only
    r:pi sum of c_s^2 times the variance over runs of one conversation
    i    sum of c_s^2 times the variance of scenarios within their stratum, as if all had been equally hard for all

and likewise h, ph (like p), ih, pih (like pi) and the residual (like r:pi) where several judges
marked the same conversations. A mark is the mean over its scenarios: a single stratum of scenarios
with equal points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan, sqrt
from typing import NamedTuple

import numpy as np

from independence_bench.analysis.statistics.values import Floats, Numbers

FEWEST_LEFT_OUT = 3  # subjects for a standard error

ONE_JUDGE = ("p", "i", "pi", "r:pi")
SEVERAL_JUDGES = (*ONE_JUDGE, "h", "ph", "ih", "pih", "residual")
OF_NO_SUBJECT = ("i", "h", "ih")

# components with a scenario in them; else p, h, ph
OF_SCENARIOS = ("i", "pi", "r:pi", "ih", "pih", "residual")


@dataclass(frozen=True, slots=True)
class Components:
    """Variance components of a sum of points, in points squared, as estimated: one below 0 is
    something near 0.

    *estimates* has `ONE_JUDGE` or `SEVERAL_JUDGES`; one with scenarios in it is the sum over strata
    of what
    *by_stratum* has, in the order of the strata. None where there is nothing to tell it by: fewer
    than two subjects, a stratum of a single scenario, no subject that was played twice in some
    scenario. *left_out*: the same without each subject.
    """

    estimates: Mapping[str, float | None]
    by_stratum: tuple[Mapping[str, float | None], ...] = ()
    left_out: tuple[Components, ...] = ()

    @property
    def errors(self) -> dict[str, float | None]:
        """Standard errors, for other subjects in the same scenarios under the same judges.

        None for a component without subjects in it, which other scenarios or judges would move and
        other subjects hardly; and for fewer than `FEWEST_LEFT_OUT` subjects.
        """
        return {
            name: None
            if name in OF_NO_SUBJECT
            else jackknife([components.estimates[name] for components in self.left_out])
            for name in self.estimates
        }

    @property
    def shown(self) -> dict[str, float | None]:
        """The estimates, those below 0 as 0: no variance is negative."""
        return {
            name: None if value is None else max(value, 0.0)
            for name, value in self.estimates.items()
        }

    @property
    def shares(self) -> dict[str, float | None]:
        """Each as a share of their sum, [0, 1]; None for all where one is unknown, or where nothing
        varies.
        """
        known = [value for value in self.shown.values() if value is not None]
        whole = len(known) == len(self.estimates) and sum(known) > 0
        return {
            name: value / sum(known) if whole and value is not None else None
            for name, value in self.shown.items()
        }

    def of_one_scenario(self, scenarios: int) -> Components:
        """Those of one scenario's mark, where these are of the mean over so many."""
        return Components(
            {n: v and v * scenarios if n in OF_SCENARIOS else v for n, v in self.estimates.items()},
            left_out=tuple(components.of_one_scenario(scenarios) for components in self.left_out),
        )


def jackknife(left_out: Sequence[float | None]) -> float | None:
    """The standard error of an estimate from what it is without each of the n subjects.

    sqrt((n - 1)/n sum (t_j - mean t)^2) (J. W. Tukey, Annals of Mathematical Statistics 29, 1958,
    614). None for fewer than `FEWEST_LEFT_OUT`, and where there is no estimate without one of them.
    """
    there = [value for value in left_out if value is not None]
    if len(there) < len(left_out) or len(there) < FEWEST_LEFT_OUT:
        return None
    return sqrt((len(there) - 1) * float(np.var(np.array(there))))


def variance_components(
    shares: Floats, points: Sequence[float], strata: Sequence[int]
) -> Components:
    """The variance components of the sum of *points* (one a scenario) times *shares*; and of it
    without each subject.

    *shares*: (subjects, scenarios, runs, judges), each in [0, 1]; nan where a run was not played,
    which may be so for other runs with each subject and scenario, but no cell may be empty.
    *strata*: the number of each scenario's, from 0 without a gap. Raises ValueError for an empty
    cell.
    """
    if np.any(np.all(np.any(np.isnan(shares), axis=3), axis=2)):
        raise ValueError(
            "a subject has no mark in one of the scenarios: an index is made of all of them"
        )
    weights = np.array(points, dtype=np.float64)
    members = [
        _stratum(weights, np.flatnonzero(np.array(strata) == stratum))
        for stratum in range(max(strata) + 1)
    ]
    cells = _cells(shares)
    left_out = [
        _components(_Cells(*(of[others] for of in cells)), weights, members)
        for others in ~np.eye(len(shares), dtype=np.bool_)
    ]
    return replace(_components(cells, weights, members), left_out=tuple(left_out))


class _Cells(NamedTuple):
    """What is known of each subject in each scenario, whoever the others are."""

    runs: Floats  # (subjects, scenarios)
    mean: Floats  # (subjects, scenarios, judges)
    covariance: Floats  # (subjects, scenarios, judges, judges), over runs; nan for a single one


def _cells(shares: Floats) -> _Cells:
    there = np.all(~np.isnan(shares), axis=3)  # a run counts where all judges have marked it
    runs = there.sum(axis=2).astype(np.float64)
    mean = np.where(there[..., None], shares, 0.0).sum(axis=2) / runs[..., None]
    off = np.where(there[..., None], shares - mean[:, :, None, :], 0.0)
    products = np.einsum("psrh,psrg->pshg", off, off)
    return _Cells(runs, mean, products / np.where(runs > 1, runs - 1, np.nan)[..., None, None])


class _Stratum(NamedTuple):
    """What is the same of a stratum whoever the subjects are."""

    own: Numbers  # its scenarios
    # where the table of every two of them stands in that of all scenarios
    pairs: tuple[Numbers, ...]
    squares: Floats  # of their points
    weights: Floats  # products of the points of two different ones, and 0 on the diagonal
    weight: float  # sum of these
    all_points: float  # square of their sum


def _stratum(points: Floats, own: Numbers) -> _Stratum:
    weights = np.outer(points[own], points[own])
    np.fill_diagonal(weights, 0.0)
    whole = float(points[own].sum()) ** 2
    return _Stratum(own, np.ix_(own, own), points[own] ** 2, weights, float(weights.sum()), whole)


def _components(cells: _Cells, points: Floats, members: Sequence[_Stratum]) -> Components:
    names = SEVERAL_JUDGES if cells.mean.shape[2] > 1 else ONE_JUDGE
    if len(cells.runs) < 2:
        nothing = {name: None for name in names if name in OF_SCENARIOS}
        return Components(dict.fromkeys(names), tuple(nothing for _ in members))
    tables = _tables(cells)
    within = [_within(tables, stratum, names) for stratum in members]
    estimates = {
        name: sum(of[name] for of in within)
        if name in OF_SCENARIOS
        else _between(tables[name], points, members)
        for name in names
    }
    known, *by_stratum = (
        {name: None if isnan(n) else n for name, n in of.items()} for of in (estimates, *within)
    )
    return Components(known, tuple(by_stratum))


def _tables(cells: _Cells) -> dict[str, Floats]:
    """Component -> what it comes to between two scenarios, (scenarios, scenarios); nan where that
    is not known.

    "p", "h" and "ph" hold themselves off the diagonal, and on it themselves with what they are in
    that scenario alone (pi, ih, pih). "i" holds products of the means of different subjects (and
    judges). "r:pi" and "residual" are known by scenario, so they have a diagonal only.
    """
    runs, mean, covariance = cells
    judges = mean.shape[2]
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

    With one judge no key names judges; with several, "p" is one subject under two judges, ""
    neither.
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
    """(the covariance over runs of one conversation, that of a mean over the runs that were
    played), as diagonals.

    Means over subjects of what is *of_cell*, (subjects, scenarios), nan for a single run. Who was
    played once is taken to vary as the others do on average; nan where none was played twice.
    """
    known = ~np.isnan(of_cell)
    usual = np.where(known, of_cell, 0.0).sum(axis=0) / np.where(
        known.any(axis=0), known.sum(axis=0), np.nan
    )
    of_mean = (np.where(known, of_cell, usual) / runs).mean(axis=0)
    return np.diag(usual), np.diag(of_mean)


def _between(table: Floats, points: Floats, members: Sequence[_Stratum]) -> float:
    """A component without scenarios in it: what it is across strata, and in each as its scenarios
    share it.
    """
    weighted = np.outer(points, points) * table
    np.fill_diagonal(weighted, 0.0)
    total = float(weighted.sum())
    for stratum in members:
        total += stratum.all_points * _common(table, stratum) - float(weighted[stratum.pairs].sum())
    return total


def _common(table: Floats, stratum: _Stratum) -> float:
    """The mean of *table* over two different scenarios of a stratum, weighted with their points;
    nan for one alone.
    """
    if not stratum.weight:
        return nan
    return (
        float(np.sum(stratum.weights * np.where(stratum.weights > 0, table[stratum.pairs], 0.0)))
        / stratum.weight
    )


def _within(
    tables: Mapping[str, Floats], stratum: _Stratum, names: Sequence[str]
) -> dict[str, float]:
    """The components with scenarios in them, of one stratum; nan: unknown."""
    own, squares = stratum.own, stratum.squares
    components: dict[str, float] = {}
    for whole, part in (("p", "pi"), ("h", "ih"), ("ph", "pih")):
        if part in names:
            left = np.diag(tables[whole])[own] - _common(tables[whole], stratum)
            components[part] = float(squares @ left)
    for name in ("r:pi", "residual"):
        if name in names:
            components[name] = float(squares @ np.diag(tables[name])[own])
    # the variance of the scenarios' means: half the squared difference of any two
    products, scenarios = tables["i"][stratum.pairs], len(own)
    trace = float(np.trace(products))
    others = (
        (float(products.sum()) - trace) / (scenarios * (scenarios - 1)) if scenarios > 1 else nan
    )
    components["i"] = float(squares.sum()) * (trace / scenarios - others)
    return {name: components[name] for name in OF_SCENARIOS if name in components}


# ---------------------------------------------------------------- how reliable a test would be


def generalizability(
    components: Components, times: float, runs: float, judges: float = 1
) -> float | None:
    """E rho^2, [0, 1], of a test with so many *times* the scenarios of each stratum, so many runs,
    so many judges.

    How far the order of subjects would be the same under another such test (the decision study of
    Cronbach and others). Components below 0 count as 0. None where one is not known, and where
    nothing at all varies.

        E rho^2 = p / (p + error)
        error = ph/n_h + sum over strata of (pi + r:pi/n_r + pih/n_h + residual/(n_r n_h)) / times
    """
    if any(
        value is None
        for part in (components.estimates, *components.by_stratum)
        for value in part.values()
    ):
        return None

    def variance(part: Mapping[str, float | None], name: str) -> float:
        return max(part.get(name) or 0.0, 0.0)

    error = variance(components.estimates, "ph") / judges
    for of in components.by_stratum:
        of_runs = (variance(of, "r:pi") + variance(of, "residual") / judges) / runs
        error += (variance(of, "pi") + variance(of, "pih") / judges + of_runs) / times
    universe = variance(components.estimates, "p")
    return universe / (universe + error) if universe + error > 0 else None
