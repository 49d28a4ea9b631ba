"""Whether the conversations of one run are independent: what varies from run to run beyond what each of them does.

Pure functions on numbers. A run is a sum over conversations, and if these are independent its variance V is the sum W
of theirs. A provider's bad day, an update between two runs, an hour of heavy load shift all conversations of a run
together; then V is more, and V - W is twice the sum of their covariances. Both are estimated on every board, so the
assumption is looked at where it is used, and what is beyond W widens the intervals.

What no board can show: what was the same in all of its runs. Runs of one evening say nothing of tomorrow.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, sqrt

import numpy as np

from independence_bench.analysis.statistics.values import Floats

BELIEVED_DEGREES = 0.5  # that runs are independent is believed beforehand, with so many degrees
LEAST_SHARE = 0.5  # of the average: how little of what shifts whole runs a subject near an end is taken to feel
NOTABLE = 0.05
MOST_RATIO = 3.0  # beyond it, for certain, no interval was found to hold (docs/statistics-methods.md)
CERTAIN = 0.01
ROUNDING = 1e-20  # a variance below it is 0: equal numbers less their mean are not always 0 to the last bit


@dataclass(frozen=True, slots=True, eq=False)
class RunEffects:
    """Of each subject, what varies between its runs; arrays [subjects]. A subject with one run has 0 everywhere."""

    of_runs: Floats  # V: the variance of its runs' scores
    of_conversations: Floats  # W: the sum of its conversations' variances
    by_chance: Floats  # the variance of V - W where runs are independent
    weight: Floats  # runs - 1

    @property
    def ratio(self) -> float | None:
        """V over W, all subjects together; about 1 where runs are independent. None where nothing varies."""
        below = float((self.weight * self.of_conversations).sum())
        return float((self.weight * self.of_runs).sum()) / below if below > 0 else None

    @property
    def degrees(self) -> float:
        """Of freedom, of the ratio: 2 over its variance where runs are independent, as for a chi-square.

        0 where no subject has two conversations that vary: then V is W.
        """
        chance = float((np.square(self.weight) * self.by_chance).sum())
        return 2 * float((self.weight * self.of_conversations).sum()) ** 2 / chance if chance > 0 else 0.0

    @property
    def p(self) -> float | None:
        """The chance of so large a ratio or a larger one where runs are independent; None where it is not known.

        By the cube root of a chi-square over its degrees (E. B. Wilson and M. M. Hilferty, Proceedings of the National
        Academy of Sciences 17, 1931, 684-688).
        """
        ratio, degrees = self.ratio, self.degrees
        if ratio is None or degrees <= 0:
            return None
        spread = 2 / (9 * degrees)
        return erfc((max(ratio, 0.0) ** (1 / 3) - 1 + spread) / sqrt(2 * spread)) / 2

    @property
    def excess(self) -> float:
        """By how much of W the variance of a run is taken to be larger, at least 0.

        The ratio less 1, drawn towards 0 by `BELIEVED_DEGREES`.
        """
        ratio, degrees = self.ratio, self.degrees
        return 0.0 if ratio is None else max(degrees * (ratio - 1) / (BELIEVED_DEGREES + degrees), 0.0)

    @property
    def beyond(self) -> bool:
        """Whether so much shifts whole runs that no interval of the same test again holds."""
        return self.ratio is not None and self.ratio > MOST_RATIO and self.p is not None and self.p < CERTAIN

    @property
    def careful(self) -> float:
        """What variances are multiplied by for a ranking: by one standard error of the ratio where it is notable.

        Every pair of a ranking leans on the one ratio, so where it came out too small many of them are wrong together.
        """
        return 1 + sqrt(2 / self.degrees) if self.p is not None and self.p < NOTABLE else 1.0

    def excess_of(self, room: Floats) -> Floats:
        """The same for each subject, by its *room*, mean x (1 - mean).

        What shifts a run moves a score in proportion to its room, so in the variance it counts by the square of it,
        where W counts by the room itself; near an end at least `LEAST_SHARE` of the average is taken.
        """
        felt = self.weight * self.of_conversations
        total = float(felt.sum())
        typical = float((felt * room).sum()) / total if total > 0 else 0.0
        if typical <= 0:
            return np.full_like(room, self.excess)
        share: Floats = np.maximum(room / typical, LEAST_SHARE)
        return self.excess * share


def run_effects(added: list[Floats]) -> RunEffects:
    """From what each transcript adds to each run, of each subject [runs, transcripts].

    V - W is the sum over pairs of different transcripts k, l of their covariance over runs. If the runs of one
    transcript are put in another order, it has the expectation 0 and the variance 2((sum s2)^2 - sum s2^2)/(R - 1),
    exactly, s2 being the variances of the transcripts and every order being as likely: each covariance has the
    variance s2_k s2_l / (R - 1), and any two of them are uncorrelated.
    """
    columns = []
    for runs in added:
        weight = len(runs) - 1
        if not weight:
            columns.append((0.0, 0.0, 0.0, 0.0))
            continue
        away = runs - runs.mean(axis=0)
        away = np.where(np.square(away).sum(axis=0) / weight > ROUNDING, away, 0.0)
        squares = np.square(away).sum(axis=0) / weight
        total = float(squares.sum())
        chance = 2 * max(total**2 - float(np.square(squares).sum()), 0.0) / weight
        if chance <= 1e-12 * total**2:  # one that varies: V is W
            chance = 0.0
        columns.append((float(np.square(away.sum(axis=1)).sum()) / weight, total, chance, float(weight)))
    return RunEffects(*np.array(columns).T)
