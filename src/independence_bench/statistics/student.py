"""Student's t for any degrees of freedom, whole or not: its tail and its quantiles. Pure functions on arrays.

Ours, for two functions: the library that has them takes longer to import than the ranks of 130 subjects to be worked
out, and more room on a disk than all else that is installed. Agrees with SciPy to eight significant digits
(tests/test_student.py).
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# Above FEW + FAR x distance^2 degrees of freedom the normal distribution is near enough: eight digits and more.
FEW, FAR = 12.0, 4.0
_SERIES = 50.0  # argument from which on the ratio of two gamma functions is taken from its series
_PRECISION = 1e-12
_TERMS = 500  # of the fraction: about the root of the degrees are needed
_STEPS = 100
_NEAR = 3e-4  # a step that leaves its cube to be gone
_TINY = 1e-300


def tail(distance: float | Floats, degrees: float | Floats) -> Floats:
    """The chance of being *distance* or farther from 0, on either side: in [0, 1]; arrays are broadcast.

    *distance* is finite, *degrees* > 0.
    """
    t, df = np.broadcast_arrays(np.abs(np.asarray(distance, np.float64)), np.asarray(degrees, np.float64))
    near = df > FEW + FAR * t * t
    found = np.empty(t.shape)
    for which, method in ((near, _near_normal), (~near, _fraction)):
        if which.any():
            found[which] = method(t[which], df[which])
    return found


def quantile(share: float | Floats, degrees: float | Floats) -> Floats:
    """Below which lies *share*, in (0, 1); arrays are broadcast. *degrees* > 0.

    Raises StatisticsError for a *share* of 0 or 1. Halley's method for the logarithm of the tail by the logarithm of
    the distance, a curve that falls and is concave.
    """
    below, df = np.broadcast_arrays(np.asarray(share, np.float64), np.asarray(degrees, np.float64))
    outside = 2 * np.minimum(below, 1 - below)
    z = np.array([-NormalDist().inv_cdf(half) for half in outside.ravel() / 2]).reshape(outside.shape)
    # Cornish and Fisher's first two terms; at the middle the logarithm would have no start
    square = z * z
    t = z * (1 + (square + 1) / (4 * df) + ((5 * square + 16) * square + 3) / (96 * df * df))
    t = np.maximum(t, 1e-9)
    going = np.full(t.shape, True)  # each for itself: a number must not depend on what is asked beside it
    for _ in range(_STEPS):
        left = tail(t, df)
        slope = -2 * t * _density(t, df) / left
        bend = slope * (1 - (df + 1) * t * t / (df + t * t) - slope)
        newton = -np.log(left / outside) / slope
        step = np.where(going, newton / (1 + np.clip(newton * bend / (2 * slope), -0.5, 0.5)), 0.0)
        t = t * np.exp(np.minimum(step, 50.0))
        going &= np.abs(step) >= _NEAR
        if not going.any():
            break
    return np.where(outside == 1, 0.0, np.where(below < 0.5, -t, t))


def _density(t: Floats, degrees: Floats) -> Floats:
    return np.exp(_gamma_ratio(degrees / 2) - (degrees + 1) / 2 * np.log1p(t * t / degrees)) / np.sqrt(degrees * np.pi)


def _gamma_ratio(a: Floats) -> Floats:
    """log(gamma(a + 1/2) / gamma(a)); for a large *a* by its series, for the two differ by less than their rounding.

    NIST Digital Library of Mathematical Functions, 5.11.13.
    """
    whole = np.maximum(a, _SERIES)
    series = np.log(whole) / 2 - 1 / (8 * whole) + 1 / (192 * whole**3) - 1 / (640 * whole**5)
    exact = [math.lgamma(one + 0.5) - math.lgamma(one) for one in np.minimum(a, _SERIES).ravel()]
    return np.where(a > _SERIES, series, np.array(exact).reshape(a.shape))


def _fraction(t: Floats, degrees: Floats) -> Floats:
    """The tail as the incomplete beta function I_x(degrees / 2, 1/2) at x = degrees / (degrees + t^2).

    DLMF 8.17.22's continued fraction, on the side where it converges soon; I_x(a, b) = 1 - I_(1-x)(b, a) for the other.
    """
    square = t * t / degrees
    x = 1 / (1 + square)
    half = np.full_like(x, 0.5)
    turned = x > (degrees + 2) / (degrees + 5)
    a, b = np.where(turned, half, degrees / 2), np.where(turned, degrees / 2, half)
    at = np.where(turned, square / (1 + square), x)
    # 1 / (a B(a, b)) x^a (1 - x)^b, the same on both sides but for its first factor
    with np.errstate(divide="ignore"):
        powers = np.log(square) / 2 - (degrees + 1) / 2 * np.log1p(square)
    front = np.exp(_gamma_ratio(degrees / 2) + powers) / (a * math.sqrt(math.pi))
    part = front * _lentz(a, b, at)
    return np.where(turned, 1 - part, part)


def _lentz(a: Floats, b: Floats, x: Floats) -> Floats:
    """1 / (1 + d1 / (1 + d2 / ...)) by W. J. Lentz (Applied Optics 15, 1976, 668-671), without dividing by 0."""
    c, d = np.ones_like(x), 1 / (1 - (a + b) * x / (a + 1) + _TINY)
    value, going = d.copy(), np.full(x.shape, True)
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        change = np.ones_like(x)
        for term in (even, odd):
            d = 1 / (1 + term * d + _TINY)
            c = 1 + term / (c + _TINY)
            change = change * (c * d)
        value = np.where(going, value * change, value)
        going &= np.abs(change - 1) >= _PRECISION
        if not going.any():
            break
    return value


def _near_normal(t: Floats, degrees: Floats) -> Floats:
    """By the normal distance that leaves out as much: G. W. Hill, Communications of the ACM 13, 1970, no. 395."""
    n = degrees - 0.5
    b = 48 * n * n
    square = n * np.log1p(t * t / degrees)
    z = np.sqrt(square)
    z = z * (
        1
        + (square + 3) / b
        - (((0.4 * square + 3.3) * square + 24) * square + 85.5) / (0.8 * square * square + 100 + b) / b
    )
    return np.array([math.erfc(one / math.sqrt(2)) for one in z.ravel()]).reshape(z.shape)
