"""Where the variance of marks comes from: variance components of generalizability theory. Pure functions on numbers.

A mark, rescaled to a share in [0, 1], is taken as a sum of independent random effects (L. J. Cronbach and others, The
Dependability of Behavioral Measurements, 1972; R. L. Brennan, Generalizability Theory, 2001):

    p     subjects: what is to be measured
    i     scenarios: some are harder for everybody
    pi    subjects in scenarios: what is hard for the one is easy for the other
    r:pi  runs: the same subject in the same scenario again; every run is a conversation of its own, so runs are
          nested in subjects and scenarios
    h     judges, where several marked the same conversations: some are milder with everybody
    ph, ih, pih   judges who are milder with some subjects, in some scenarios, or with some subjects in some scenarios
    residual      what is left: a judge and a run

Estimated from the differences between marks: half the squared difference of two of them expects the sum of the
components that the two do not share (G. G. Koch, Technometrics 10, 1968, 551-558). That holds whoever was played how
often, so unequal numbers of runs and missing cells bias nothing; in a balanced design the estimates are those of the
analysis of variance. The pairs of two cells count as much as those of any two others, so nobody weighs more for
having been played more often.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import isnan, sqrt

import numpy as np

from independence_bench.analysis.statistics.arrays import Floats

FEWEST_LEFT_OUT = 3  # subjects for a standard error

ONE_JUDGE = ("p", "i", "pi", "r:pi")
SEVERAL_JUDGES = (*ONE_JUDGE, "h", "ph", "ih", "pih", "residual")
OF_NO_SUBJECT = ("i", "h", "ih")

# component -> what its estimate is the sum of, and what is taken from it. The letters say what two marks share, and
# nothing else; half their squared difference expects everything that is not made of those. "r": the same run.
_MADE_OF = {
    "p": (("",), ("p",)),
    "i": (("",), ("i",)),
    "pi": (("p", "i"), ("pi", "")),
    "r:pi": (("pi",), ("pir",)),
    "h": (("",), ("h",)),
    "ph": (("p", "h"), ("ph", "")),
    "ih": (("i", "h"), ("ih", "")),
    "pih": (("", "pi", "ph", "ih"), ("pih", "p", "i", "h")),
    "residual": (("pir", "pih"), ("pi",)),
}


@dataclass(frozen=True, slots=True)
class Components:
    """Variance components of one mark, as estimated: one below 0 is an estimate of something near 0.

    *estimates* has `ONE_JUDGE` or `SEVERAL_JUDGES`, None where there is nothing to tell it by: one subject, one
    scenario, no cell with two runs, no conversation with two judges. *left_out*: the same without each subject.
    """

    estimates: Mapping[str, float | None]
    left_out: tuple[Mapping[str, float | None], ...] = ()

    @property
    def errors(self) -> dict[str, float | None]:
        """Standard errors, for other subjects in the same scenarios under the same judges.

        None for a component without subjects in it, which other scenarios or judges would move and other subjects
        hardly; and for fewer than `FEWEST_LEFT_OUT` subjects.
        """
        return {
            name: None if name in OF_NO_SUBJECT else jackknife([without[name] for without in self.left_out])
            for name in self.estimates
        }

    @property
    def shown(self) -> dict[str, float | None]:
        """The estimates, those below 0 as 0: no variance is negative."""
        return {name: None if value is None else max(value, 0.0) for name, value in self.estimates.items()}

    @property
    def shares(self) -> dict[str, float | None]:
        """Each as a share of their sum, [0, 1]; None for all where one is unknown, or where nothing varies."""
        known = [value for value in self.shown.values() if value is not None]
        whole = len(known) == len(self.estimates) and sum(known) > 0
        return {name: value / sum(known) if whole and value is not None else None for name, value in self.shown.items()}


def variance_components(marks: Floats) -> Components:
    """The variance components of *marks*, (subjects, scenarios, runs, judges) as shares in [0, 1]; nan: none there.

    Unbiased, whatever is missing. The judge is a source only where there are several. Raises ValueError for marks of
    another shape.
    """
    if marks.ndim != 4:
        raise ValueError(f"marks have the axes subjects, scenarios, runs and judges, not {marks.ndim}")
    judges = marks.shape[3]
    halves = _half_squares(marks)
    every: dict[str, list[float]] = {}
    for name in SEVERAL_JUDGES if judges > 1 else ONE_JUDGE:
        plus, minus = _MADE_OF[name] if judges > 1 or name != "r:pi" else (("pi",), ())
        found = np.sum([halves[share] for share in plus], axis=0) - sum(halves[share] for share in minus)
        every[name] = found.tolist()
    whole, *left_out = (
        {name: None if isnan(of[n]) else of[n] for name, of in every.items()} for n in range(1 + len(marks))
    )
    return Components(whole, tuple(left_out))


def jackknife(left_out: Sequence[float | None]) -> float | None:
    """The standard error of an estimate from what it is without each of the n subjects.

    sqrt((n - 1)/n sum (t_j - mean t)^2) (J. W. Tukey, Annals of Mathematical Statistics 29, 1958, 614). None for fewer
    than `FEWEST_LEFT_OUT`, and where there is no estimate without one of them.
    """
    there = [value for value in left_out if value is not None]
    if len(there) < len(left_out) or len(there) < FEWEST_LEFT_OUT:
        return None
    return sqrt((len(there) - 1) * float(np.var(np.array(there))))


def _mean(values: Floats, axes: tuple[int, ...]) -> Floats:
    """Means over *axes* of what is there; nan where nothing is."""
    there = ~np.isnan(values)
    count = np.count_nonzero(there, axis=axes)
    total = np.where(there, values, 0.0).sum(axis=axes)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _half_squares(marks: Floats) -> dict[str, Floats]:
    """What two marks share -> half the squared difference of two such marks, over all pairs; nan where there is none.

    Of all subjects together, and then without each of them: (1 + subjects). With one judge nobody speaks of judges;
    with several, "h" stands for the same one.

    The mean over all runs of (x - y)^2 / 2 for two cells is (mean x^2 + mean y^2)/2 - mean x mean y, so no pair of
    marks of different cells is looked at one by one.
    """
    centred = marks - _mean(marks, (0, 1, 2, 3)) if np.any(~np.isnan(marks)) else marks  # so that squares stay exact
    mean, square = _mean(centred, (2,)), _mean(centred**2, (2,))  # (subjects, scenarios, judges)
    there, same_run = (~np.isnan(mean)).astype(np.float64), np.eye(marks.shape[2], dtype=bool)
    mean, square = np.nan_to_num(mean), np.nan_to_num(square)
    total: dict[str, Floats] = {}
    count: dict[str, Floats] = {}
    for one, other in product(range(marks.shape[3]), repeat=2):
        judge = "h" if one == other and marks.shape[3] > 1 else ""
        squares = _products(square[:, :, one], there[:, :, other]), _products(there[:, :, one], square[:, :, other])
        products, pairs = _products(mean[:, :, one], mean[:, :, other]), _products(there[:, :, one], there[:, :, other])
        found = {s: ((squares[0][s] + squares[1][s]) / 2 - products[s], pairs[s]) for s in pairs}
        difference = centred[:, :, :, None, one] - centred[:, :, None, :, other]
        for share, runs in (("pi", ~same_run), ("pir", same_run)):
            if share + judge != "pirh":  # a mark and itself
                of_cell = _mean(np.where(runs, difference, np.nan) ** 2 / 2, (2, 3))
                known = (~np.isnan(of_cell)).astype(np.float64)
                sums = np.nan_to_num(of_cell).sum(axis=1), known.sum(axis=1)
                found[share] = (_without_each(sums[0]), _without_each(sums[1]))
        for share, (half, number) in found.items():
            total[share + judge] = total.get(share + judge, 0.0) + half
            count[share + judge] = count.get(share + judge, 0.0) + number
    return {share: total[share] / np.where(pairs > 0.5, pairs, np.nan) for share, pairs in count.items()}


def _products(x: Floats, y: Floats) -> dict[str, Floats]:
    """Sums of x[p, i] * y[q, j] over pairs of cells: of one subject, of one scenario, of neither.

    Of all subjects, and then without each of them.
    """
    nobody = np.zeros((1, x.shape[1]))  # to leave out nobody is to leave out one with nothing
    own_x, own_y = np.vstack([nobody, x]), np.vstack([nobody, y])
    rest_x, rest_y = x.sum(axis=0) - own_x, y.sum(axis=0) - own_y  # by scenario
    cell = _without_each(np.sum(x * y, axis=1))
    of_subject = _without_each(x.sum(axis=1) * y.sum(axis=1))
    of_scenario = np.sum(rest_x * rest_y, axis=1)
    every = rest_x.sum(axis=1) * rest_y.sum(axis=1)
    return {"p": of_subject - cell, "i": of_scenario - cell, "": every - of_subject - of_scenario + cell}


def _without_each(of_subject: Floats) -> Floats:
    """The sum over subjects, and then without each of them."""
    found: Floats = of_subject.sum() - np.concatenate([np.zeros(1), of_subject])
    return found
