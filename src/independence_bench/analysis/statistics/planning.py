"""What a test will be able to tell, before it is played and while it is: expected widths, who plays
on. Pure functions.

A score's interval depends on its dispersion, its mean and the number of runs
(docs/statistics-methods.md, eq. 6 and
7). Before a subject is met the dispersion is that of all subjects who were measured with the same
design, and where none was, the one that is believed beforehand.

Further runs can be played for two questions (docs/statistics-methods.md, "Adaptive runs"):

    width     until each index has an interval no wider than was asked for ranking   until each pair
    of subjects is apart, or cannot be told apart with the runs that are allowed

Frequent looks find something by chance sooner or later. So a pair is taken to be apart only at a
level of which all looks together make up 5%. A width needs nothing of the kind: it says where to
stop and not what to find there, and the dispersions lean on all subjects. What is shown afterwards,
at 95% and without memory of how it was played, still holds; `benchmarks/adaptive.py` measures it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from independence_bench.analysis.statistics import dispersion, intervals
from independence_bench.analysis.statistics.dispersion import Measured
from independence_bench.analysis.statistics.shared_effects import BELIEVED_SITTINGS, LEAST_SHARE
from independence_bench.analysis.statistics.values import Bools, Floats, Numbers

MOST_RUNS = 1000  # in any plan; a width that needs more is not reached by runs
_NONE = np.zeros(1)
# a subject of whom nothing is known
NOBODY = dispersion.Variations(_NONE, _NONE, _NONE, np.full(1, False), _NONE)


@dataclass(frozen=True, slots=True)
class Expected:
    """How the score of a subject that was not measured yet is expected to vary."""

    rerun: float  # dispersion of one run
    borrowed: float  # degrees that a subject has from the others
    degrees: float  # what each run after the first adds to them
    # dispersion over scenarios; None: a dimension that counts has a single one
    new_scenarios: float | None
    new_scenarios_degrees: float
    subjects: int  # with two runs or more, whose mean this is; 0: believed beforehand
    # what shifts whole runs, on top of the dispersion over scenarios; of stems
    believed_runs: float = 0.0
    # variance of the latent variable between sittings, of which one is expected
    between_sittings: float = 0.0
    average_room: float = 0.0  # of those measured: near an end a part of it is felt, as on a board

    def of_a_sitting(self, mean: float) -> float:
        """How much what a sitting shifts adds to the dispersion of a score at *mean*, however many
        runs are in it.
        """
        return self.between_sittings * max(mean * (1 - mean), LEAST_SHARE * self.average_room)


def expect(
    design: dispersion.Design, measured: Measured | None = None, shifted: bool = False
) -> Expected:
    """What is to be expected of a score of *design*, from the subjects who were *measured* with it;
    None: none was.

    *shifted*: whether a sitting can shift it, which no number of runs in one sitting makes smaller.
    Dispersions are the common ones of eq. 6. The degrees of a run are the median of those who have
    two; else what Satterthwaite's formula gives where each conversation varies as its weight says.
    """
    blank = dispersion.measure(design, [np.full((1, *design.weights.shape), 0.5)])
    over = dispersion.scores_new_scenarios(blank)
    pool = measured or blank
    met = None if measured is None else measured.new_scenarios or blank.new_scenarios
    parts = np.square(design.weights.sum(axis=0))
    common = _common(pool.rerun, pool.believed_rerun, dispersion.WEIGHT_RERUN)
    sittings = (
        BELIEVED_SITTINGS if pool.sittings is None else pool.sittings.variance(pool.rerun.room)
    )
    return Expected(
        rerun=common + max(common * pool.run_effects.excess, pool.believed_runs),
        borrowed=dispersion.weight_of(pool.rerun.pool, dispersion.WEIGHT_RERUN),
        degrees=_typical(pool) or float(parts.sum() ** 2 / np.square(parts).sum()),
        new_scenarios=None
        if over is None
        else _common(met or NOBODY, pool.believed_new_scenarios, dispersion.WEIGHT_NEW_SCENARIOS),
        new_scenarios_degrees=0.0 if over is None else float(over.degrees[0]),
        subjects=int(np.count_nonzero(pool.rerun.known)),
        believed_runs=pool.believed_runs,
        between_sittings=sittings if shifted else 0.0,
        average_room=0.0 if measured is None else float(measured.rerun.room.mean()),
    )


def expected_scores(expected: Expected, mean: float, runs: int) -> intervals.Scores | None:
    """A score at *mean*, in [0, 1], after *runs*, as the same test again sees it.

    None for one run where no subject has two: nothing says then how runs vary.
    """
    if runs < 2 and not expected.subjects:
        return None
    of_runs, of_sitting = expected.rerun / runs, expected.of_a_sitting(mean)
    # as on a board
    degrees = (expected.borrowed + (runs - 1) * expected.degrees) * (1 + of_sitting / of_runs) ** 2
    return intervals.plain_scores(
        np.array([mean]), np.array([of_runs + of_sitting]), np.array([degrees])
    )


def width_rerun(expected: Expected, mean: float, runs: int) -> float | None:
    """The width, from end to end, of the interval of the same test again after *runs*, in [0, 1];
    or None.
    """
    scores = expected_scores(expected, mean, runs)
    return None if scores is None else float(widths(scores)[0])


def width_new_scenarios(expected: Expected, mean: float, runs: int) -> float | None:
    """The same for another test like it; None: there is none. The number of *runs* matters for
    stems only.
    """
    if expected.new_scenarios is None:
        return None
    dispersion = (
        expected.new_scenarios + expected.believed_runs / runs + expected.of_a_sitting(mean)
    )
    of = (np.array([number]) for number in (mean, dispersion, expected.new_scenarios_degrees))
    return float(widths(intervals.plain_scores(*of))[0])


def seen_apart(
    expected: Expected, mean: float, runs: int, level: float = intervals.LEVEL
) -> float | None:
    """The smallest true difference of two subjects around *mean* that 80 of 100 repetitions tell
    from none; or None.

    Both with so many *runs*, by the same test again. For one pair out of m that are all compared,
    *level* is 1 - (1 - 0.95)/m.
    """
    scores = expected_scores(expected, mean, runs)
    return None if scores is None else float(intervals.smallest_seen(scores, scores, level)[0])


def runs_for_width(expected: Expected, mean: float, width: float) -> int | None:
    """The fewest runs after which the interval around *mean* is expected to be no wider than
    *width*, both in [0, 1].

    None where `MOST_RUNS` do not do it.
    """

    def narrow(runs: int) -> bool:
        reached = width_rerun(expected, mean, runs)
        return reached is not None and reached <= width

    return fewest_runs(narrow)


def fewest_runs(enough: Callable[[int], bool], few: int = 1) -> int | None:
    """The smallest number from *few* to `MOST_RUNS` that is *enough*, as all larger ones are; None:
    none is.
    """
    many = MOST_RUNS
    if few > many or not enough(many):
        return None
    while few < many:
        middle = (few + many) // 2
        few, many = (few, middle) if enough(middle) else (middle + 1, many)
    return few


def runs_needed(measured: Measured, width: float) -> list[int | None]:
    """For each subject the fewest runs after which its interval is expected to be no wider than
    *width*, in [0, 1].

    None where `MOST_RUNS` would not do it.
    """
    few, many = np.zeros_like(measured.mean), np.full_like(measured.mean, MOST_RUNS)
    reached = widths(after(measured, many)) <= width
    while (many - few).max() > 1:
        middle = np.ceil((few + many) / 2)
        enough = widths(after(measured, middle)) <= width
        few, many = np.where(enough, few, middle), np.where(enough, middle, many)
    return [int(runs) if there else None for runs, there in zip(many, reached, strict=True)]


def widths(scores: intervals.Scores) -> Floats:
    """From end to end of each interval, in [0, 1]."""
    low, high = intervals.intervals(scores)
    return high - low


def after(measured: Measured, runs: Floats | Sequence[float]) -> intervals.Scores:
    """What *the same test again* would say of the *measured* after so many *runs* each, if nothing
    else changed.
    """
    asked = np.asarray(runs, dtype=np.float64)
    own = measured.rerun
    more = measured.runs > 1
    of_a_run = np.where(
        more, own.degrees / np.where(more, measured.runs - 1, 1.0), _typical(measured)
    )
    return dispersion.scores_after(measured, asked, (asked - 1) * of_a_run)


def _common(pool: dispersion.Variations, believed: float, weight: float) -> float:
    """The dispersion of a subject that was not measured: that towards which all are drawn."""
    return float(dispersion.moderated(NOBODY, pool.pool, believed, weight)[0][0])


def _typical(measured: Measured) -> float:
    """The median of the degrees that a run after the first has added; 0 where no subject has two
    runs that differ.
    """
    counted = measured.rerun.degrees > 0
    if not counted.any():
        return 0.0
    return float(np.median(measured.rerun.degrees[counted] / (measured.runs[counted] - 1)))


# ---------------------------------------------------------------- while it is played

FEWEST = 2  # runs of a subject before anything is decided: with one, its own variance is not known
MOST = 10  # by default
# a width is given up where so many times what was asked for is to be expected in the end
SLACK = 1.15


@dataclass(frozen=True, slots=True, eq=False)
class WidthLook:
    """What a look at the widths found; arrays over subjects, widths in [0, 1] from end to end at
    95%.
    """

    width: Floats
    narrow: Bools  # settled
    out_of_reach: Bools  # not settled, and not to be expected in the end either
    next: Numbers  # who is to play one more run, the closest to being settled first


def look_at_width(measured: Measured, may_play: Bools, most: int, width: float) -> WidthLook:
    """Who needs new_scenarios run for an interval of *width*, in [0, 1]; *may_play*: who can be
    given one.

    A subject is given up where with *most* runs it is to be expected that its interval is still
    wider, by more than what such an expectation can be wrong by (`SLACK`). Where no subject has two
    runs nothing is known, and all play on.
    """
    now = widths(after(measured, measured.runs))
    then = widths(after(measured, np.maximum(measured.runs, most)))
    known = bool(measured.rerun.known.any())
    narrow = (now <= width) & known
    hopeless = ~narrow & (then > SLACK * width) & known
    on = may_play & ~narrow & ~hopeless & (measured.runs < most)
    order = np.argsort(now, kind="stable")
    return WidthLook(now, narrow, hopeless, order[on[order]])
