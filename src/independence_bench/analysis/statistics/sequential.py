"""Which subjects are worth one more run for an interval that is narrow enough, looked at while it is played. Pure.

A width says where to stop and not what to find there, and the dispersions lean on all subjects, so what is shown
afterwards, at 95% and without memory of how it was played, holds all the same; `benchmarks/adaptive.py` measures it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from independence_bench.analysis.statistics.arrays import Bools, Floats, Numbers
from independence_bench.analysis.statistics.dispersion import Measured
from independence_bench.analysis.statistics.planning import after, widths

FEWEST = 2  # runs of a subject before anything is decided: with one, its own variance is not known
MOST = 10  # where --runs says nothing else
SLACK = 1.15  # a width is given up where so many times what was asked for is to be expected in the end


@dataclass(frozen=True, slots=True, eq=False)
class WidthLook:
    """What a look at the widths found; arrays over subjects, widths in [0, 1] from end to end at 95%."""

    width: Floats
    narrow: Bools  # settled
    out_of_reach: Bools  # not settled, and not to be expected in the end either
    next: Numbers  # who is to play one more run, the closest to being settled first


def look_at_width(measured: Measured, may_play: Bools, most: int, width: float) -> WidthLook:
    """Who needs another run for an interval of *width*, in [0, 1]; *may_play*: who can be given one.

    A subject is given up where with *most* runs it is to be expected that its interval is still wider, by more than
    what such an expectation can be wrong by (`SLACK`). Where nobody has two runs nothing is known, and all play on.
    """
    now = widths(after(measured, measured.runs))
    then = widths(after(measured, np.maximum(measured.runs, most)))
    known = bool(measured.again.known.any())
    narrow = (now <= width) & known
    hopeless = ~narrow & (then > SLACK * width) & known
    on = may_play & ~narrow & ~hopeless & (measured.runs < most)
    order = np.argsort(now, kind="stable")
    return WidthLook(now, narrow, hopeless, order[on[order]])
