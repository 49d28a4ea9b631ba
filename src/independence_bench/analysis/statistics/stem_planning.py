"""What a protocol of stems will be able to tell of two subjects' discrimination, before it is played. Pure functions.

A subject with the true values d' and c moves on relevant corrections at the rate H = Phi(d'/2 - c) and on irrelevant
ones at F = Phi(-d'/2 - c). Over stems and runs the measured rates vary as `stem_intervals` takes them to, and so does
their d'. Two subjects' d' are compared in the same stems; how far these go together in both is not known beforehand,
so nothing is taken off for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist

import numpy as np

from independence_bench.analysis.statistics.arrays import Floats
from independence_bench.analysis.statistics.intervals import LEVEL, POWER, t_quantile, tail
from independence_bench.analysis.statistics.signal_detection import corrected_rate, z_score
from independence_bench.analysis.statistics.stem_intervals import BELIEVED_RUNS

# How far two runs of one stem go together in H - F, before any was measured: of a subject in which stems vary as much
# as single replies do, once what is common to both corrections is taken off (docs/coverage.md).
BELIEVED_LIKENESS = 0.3
WIDEST = 5.0  # difference of two d' that is looked for
MIDDLE = 1.0  # of two d' that are compared
_NORMAL = NormalDist()


def likeness_of(subjects: Sequence[tuple[Floats, Floats, float]]) -> float | None:
    """How far runs of one stem go together in H - F, [0, 1].

    *subjects*: of each the stems' moves on relevant corrections, those on irrelevant ones, and the runs. A mean over
    runs has the dispersion likeness + (1 - likeness) / runs. Subjects weigh by the room that their rates
    leave. None where nobody has two runs and any room: a single run does not say.
    """
    found, weights = 0.0, 0.0
    for hits, false, runs in subjects:
        apart = hits - false
        room = (hits.size - 1) * sum(float(one.mean() * (1 - one.mean())) for one in (hits, false))
        if runs > 1 and room > 0:
            dispersion = float(np.square(apart - apart.mean()).sum()) / room
            found, weights = found + room * (dispersion * runs - 1) / (runs - 1), weights + room
    return min(max(found / weights, 0.0), 1.0) if weights else None


def power_of_d_prime(first: float, second: float, stems: int, runs: int, likeness: float = BELIEVED_LIKENESS) -> float:
    """In what share of repetitions the d' of two subjects, *second* being the larger, are told apart; c is 0.

    At 95%, by Student's t with one degree less than there are *stems* (two at least). Runs may be shifted as is
    believed, or not at all, which takes noise away and leaves the intervals as they are: the smaller share counts.
    """
    gap = _observed(second, stems * runs) - _observed(first, stems * runs)
    degrees = stems - 1.0
    far = float(t_quantile(LEVEL, degrees)) * sqrt(_variance((first, second), stems, runs, likeness, BELIEVED_RUNS))
    shares = []
    for shifted in (0.0, BELIEVED_RUNS):
        missing = (far - gap) / sqrt(_variance((first, second), stems, runs, likeness, shifted))
        outside = float(tail(missing, degrees)) / 2
        shares.append(outside if missing > 0 else 1 - outside)
    return min(shares)


def smallest_d_prime(stems: int, runs: int, likeness: float = BELIEVED_LIKENESS) -> float | None:
    """The smallest true difference of two d', half of it on each side of `MIDDLE`, that `POWER` of repetitions see.

    To a hundredth; None where `WIDEST` is not enough.
    """
    low, high = 0.0, WIDEST
    if power_of_d_prime(MIDDLE - high / 2, MIDDLE + high / 2, stems, runs, likeness) < POWER:
        return None
    while high - low > 0.005:
        middle = (low + high) / 2
        seen = power_of_d_prime(MIDDLE - middle / 2, MIDDLE + middle / 2, stems, runs, likeness) >= POWER
        low, high = (low, middle) if seen else (middle, high)
    return high


def _observed(d_prime: float, trials: float) -> float:
    """The d' that the corrected rates come to."""
    rate = _NORMAL.cdf(d_prime / 2)
    return 2 * z_score(corrected_rate(rate * trials, trials))


def _variance(d_primes: tuple[float, float], stems: int, runs: int, likeness: float, shifted: float) -> float:
    """Of the difference of two d', by how rates vary and the slope of z."""
    of_rate = (likeness + (1 - likeness) / runs) / stems + shifted / runs
    total = 0.0
    for d_prime in d_primes:
        z = _observed(d_prime, stems * runs) / 2
        rate = _NORMAL.cdf(z)
        total += 2 * of_rate * rate * (1 - rate) / _NORMAL.pdf(z) ** 2
    return total
