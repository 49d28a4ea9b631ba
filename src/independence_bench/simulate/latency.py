"""How long an answer takes: seconds from a number in [0, 1).

Pure: knows no clock and draws nothing itself. The quantiles are published ones of runs of this kind of
benchmark against paid endpoints; between two of them seconds grow evenly on a logarithmic scale.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Literal

Quantiles = tuple[tuple[float, float], ...]  # (share of the calls, seconds that they take at most), ascending

SUBJECT: Quantiles = ((0.01, 0.95), (0.10, 1.9), (0.50, 6.3), (0.90, 19.8), (0.99, 78.0), (1.0, 520.0))
JUDGE: Quantiles = ((0.01, 1.7), (0.10, 1.9), (0.50, 2.4), (0.90, 3.1), (0.99, 10.0), (1.0, 128.0))


@dataclass(frozen=True, slots=True)
class Latency:
    """A constant number of seconds, or the published quantiles; times *scale*."""

    seconds: float | Literal["published"] = 0.0
    scale: float = 1.0

    def of(self, judging: bool, share: float) -> float:
        """Seconds of a call that *share* of all calls are faster than."""
        if self.seconds == "published":
            return self.scale * at(JUDGE if judging else SUBJECT, share)
        return self.scale * self.seconds


def at(quantiles: Quantiles, share: float) -> float:
    """The seconds below which *share* (in [0, 1]) of the calls stay; the first quantile is also the fastest."""
    shares = [known for known, _ in quantiles]
    above = min(bisect_left(shares, share), len(quantiles) - 1)
    if above == 0:
        return quantiles[0][1]
    (low, fast), (high, slow) = quantiles[above - 1], quantiles[above]
    return float(fast * (slow / fast) ** ((share - low) / (high - low)))
