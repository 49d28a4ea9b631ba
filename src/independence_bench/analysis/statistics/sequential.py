"""Which subjects are worth one more run: rules on numbers, for a test that is looked at while it is played. Pure.

Two questions can be played for (docs/statistics-methods.md, "Adaptive runs"):

    width     until each index has an interval no wider than was asked for
    ranking   until each pair of subjects is apart, or cannot be told apart with the runs that are allowed

Whoever looks often finds something sooner or later. So a pair is taken to be apart only at a level of which all looks
together make up 5%. A width needs nothing of the kind: it says where to stop and not what to find there, and the
dispersions lean on all subjects. What is shown afterwards, at 95% and without memory of how it was played, holds all
the same; `benchmarks/adaptive.py` measures it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, sqrt

import numpy as np

from independence_bench.analysis.statistics.arrays import Bools, Floats, Numbers
from independence_bench.analysis.statistics.dispersion import Measured, for_ranking
from independence_bench.analysis.statistics.intervals import joined, p_values
from independence_bench.analysis.statistics.planning import after, widths
from independence_bench.analysis.statistics.ranking import holm, pairs_of, ranking_degrees

FEWEST = 2  # runs of a subject before anything is decided: with one, its own variance is not known
MOST = 10  # unless somebody says otherwise
SLACK = 1.15  # a width is given up where so many times what was asked for is to be expected in the end
_TINY = 1e-300  # a p-value below it is 0 to a computer
NEXT_TO_BEST = 0.5  # a run is spent on whoever gains at least this share of what the best one would


@dataclass(frozen=True, slots=True, eq=False)
class WidthLook:
    """What a look at the widths found; arrays over subjects, widths in [0, 1] from end to end at 95%."""

    width: Floats
    narrow: Bools  # settled
    out_of_reach: Bools  # not settled, and not to be expected in the end either
    next: Numbers  # who is to play one more run, the closest to being settled first


@dataclass(frozen=True, slots=True, eq=False)
class RankLook:
    """What a look at the ranking found; the first three over pairs, in the order of `pairs_of`."""

    apart: Bools  # settled
    out_of_reach: Bools  # not settled, and not to be expected with the runs that are left
    open: Bools  # neither
    gain: Floats  # of each subject: how much of what its open pairs lack one more run would bring, in pairs
    next: Numbers  # who is to play one more run, the largest gain first


# Two-sided z at each of K = 1, 2, ... looks, so that all of them together reach 5%: S. J. Pocock, Biometrika 64, 1977,
# 191-199; as in C. Jennison and B. W. Turnbull, Group Sequential Methods with Applications to Clinical Trials, 2000,
# table 2.1.
POCOCK = (1.959964, 2.178, 2.289, 2.361, 2.413, 2.453, 2.485, 2.512, 2.535, 2.555)


def level_of_a_look(looks: int) -> float:
    """The level of each of *looks*, at which 95% is left for all of them together; beyond ten looks a higher one."""
    z = POCOCK[min(looks, len(POCOCK)) - 1]
    return 1 - erfc(z / sqrt(2)) * min(len(POCOCK) / looks, 1.0)  # what a normal leaves outside -z to z


def look_at_width(measured: Measured, may_play: Bools, most: int, width: float) -> WidthLook:
    """Who needs another run for an interval of *width*, in [0, 1]; *may_play*: who can be given one.

    A subject is given up where with *most* runs it is to be expected that its interval is still wider, by more than
    what such an expectation can be wrong by (`SLACK`). Where nobody has two runs nothing is known, and all play on.
    """
    now = widths(after(measured, measured.runs))
    then = widths(after(measured, np.maximum(measured.runs, most)))
    known = bool(measured.rerun.known.any())
    narrow = (now <= width) & known
    hopeless = ~narrow & (then > SLACK * width) & known
    on = may_play & ~narrow & ~hopeless & (measured.runs < most)
    order = np.argsort(now, kind="stable")
    return WidthLook(now, narrow, hopeless, order[on[order]])


def look_at_ranking(measured: Measured, may_play: Bools, most: int, looks: int | None = None) -> RankLook:
    """Whose next run settles most in the ranking.

    A pair is settled where it is apart by Holm's procedure at the level of one of so many *looks* (None: as many as
    there are numbers of runs from `FEWEST` to *most*). It is given up where it would not be apart with *most* runs of
    both if the gap and the dispersions stay what they are. What a run of one side brings to an open pair is the share
    of the evidence that is lacking: (log p now - log p then)/(log p now - log bound), at most 1, where *bound* is that
    of the pair which Holm's procedure comes to next. Whoever gains at least `NEXT_TO_BEST` of the most plays on.
    """
    number = len(measured.mean)
    level = level_of_a_look(looks or max(most - FEWEST + 1, 1))
    first, second = pairs_of(number)
    playing = may_play & (measured.runs < most)
    last = np.where(may_play, np.maximum(measured.runs, most), measured.runs)
    now, then, ahead = (
        for_ranking(measured, after(measured, runs)) for runs in (measured.runs, last, measured.runs + 1)
    )
    # of four lists of pairs, found together: a few times faster
    one, other = (
        joined([now.at(side), then.at(side), *(of.at(side) for of in further)])
        for side, further in ((first, (ahead, now)), (second, (now, ahead)))
    )
    p = p_values(one, other, ranking_degrees(number, bool(measured.trials.any())))
    p_now, p_then, *p_ahead = np.split(np.maximum(p, _TINY), 4)
    apart, in_reach = holm(p_now, level), holm(p_then, level)
    open_ = ~apart & in_reach & (playing[first] | playing[second])
    gain = np.zeros(number)
    if open_.any():
        lacking = np.log(p_now) - np.log((1 - level) / np.count_nonzero(~apart))
        for side, p in zip((first, second), p_ahead, strict=True):
            brought = np.clip((np.log(p_now) - np.log(p)) / np.where(open_, lacking, 1.0), 0.0, 1.0)
            np.add.at(gain, side, np.where(open_ & playing[side], brought, 0.0))
    order = np.argsort(-gain, kind="stable")
    chosen = (gain > 0) & (gain >= NEXT_TO_BEST * gain.max(initial=0.0))
    return RankLook(apart, ~apart & ~open_, open_, gain, order[chosen[order]])
