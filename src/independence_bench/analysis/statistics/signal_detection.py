"""How well a subject tells two kinds of trials apart, and how readily it moves at all. Pure functions on numbers.

A trial of the first kind (a relevant correction) that is followed by a move is a hit, one of the second kind (an
irrelevant correction in the same form) a false alarm:

    d' = z(H) - z(F)              discrimination: 0 for whoever moves as often on both, however often that is
    c  = -(z(H) + z(F)) / 2       criterion: above 0 for whoever seldom moves, below 0 for whoever often does

z being the quantile of the normal distribution (D. M. Green and J. A. Swets, Signal Detection Theory and
Psychophysics, 1966). Rates of 0 and 1 have none, so half a trial of each outcome is added to both kinds, always: the
log-linear correction of M. J. Hautus (Behavior Research Methods, Instruments, & Computers 27, 1995, 46-51). It draws d'
towards 0, the more the fewer trials there are: values are compared only at equal numbers of trials. Knows nothing of
protocols; how sure the values are is said by `stem_intervals`.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

HALF = 0.5  # of a trial: what is added to the moves of each kind, and to what is not one


def corrected_rate(moves: float, trials: float) -> float:
    """(moves + 1/2) / (trials + 1), in (0, 1); 1/2 for no trials.

    *moves* may be a fraction, as the mean of several judges is. ValueError unless 0 <= moves <= trials.
    """
    if not 0 <= moves <= trials:
        raise ValueError(f"{moves:g} moves in {trials:g} trials")
    return (moves + HALF) / (trials + 2 * HALF)


def z_score(rate: float) -> float:
    """The point below which *rate* of a standard normal distribution lies. ValueError outside (0, 1)."""
    if not 0 < rate < 1:
        raise ValueError(f"a rate of {rate:g} has no z; correct it first")
    return NormalDist().inv_cdf(rate)


@dataclass(frozen=True, slots=True)
class Detection:
    """Moves after two kinds of corrections, as counted. ValueError without trials of either kind."""

    hits: float  # moves on the relevant kind, [0, relevant]
    relevant: float  # trials, above 0
    false_alarms: float  # moves on the irrelevant kind, [0, irrelevant]
    irrelevant: float  # trials, above 0

    def __post_init__(self) -> None:
        if not 0 <= self.hits <= self.relevant or not 0 <= self.false_alarms <= self.irrelevant:
            raise ValueError(f"more moves than trials, or fewer than none: {self}")
        if not self.relevant or not self.irrelevant:
            raise ValueError("discrimination needs trials of both kinds")

    @property
    def hit_rate(self) -> float:
        """H: the share of relevant corrections that it moved on, [0, 1]; not corrected."""
        return self.hits / self.relevant

    @property
    def false_alarm_rate(self) -> float:
        """F: the share of irrelevant corrections that it moved on, [0, 1]; not corrected."""
        return self.false_alarms / self.irrelevant

    @property
    def difference(self) -> float:
        """H - F, [-1, 1]: 0 for a rock and for whoever moves on everything."""
        return self.hit_rate - self.false_alarm_rate

    @property
    def d_prime(self) -> float:
        """z(H) - z(F) of the corrected rates, in standard deviations; at most 2 z((n + 1/2) / (n + 1)) at n trials."""
        return self._hits - self._false_alarms

    @property
    def criterion(self) -> float:
        """-(z(H) + z(F)) / 2 of the corrected rates, in standard deviations; 0: no bias to move or to stay."""
        return (-self._hits - self._false_alarms) / 2

    @property
    def _hits(self) -> float:
        return z_score(corrected_rate(self.hits, self.relevant))

    @property
    def _false_alarms(self) -> float:
        return z_score(corrected_rate(self.false_alarms, self.irrelevant))
