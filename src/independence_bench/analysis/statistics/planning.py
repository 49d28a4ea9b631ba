"""Predictions of a test before it is played: the minimum detectable difference, and the fewest
runs. Pure functions.

A score's interval depends on its dispersion, its mean and the number of runs
(docs/research/statistics.md, eq. 1 and 2). Before a subject is measured its dispersion is taken to
be that of all subjects that were measured with the same design, and without any, the one that is
believed beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from independence_bench.analysis.statistics import dispersion, intervals
from independence_bench.analysis.statistics.dispersion import Measured
from independence_bench.analysis.statistics.shared_effects import BELIEVED_SITTINGS, LEAST_SHARE
from independence_bench.analysis.statistics.values import Floats

MOST_RUNS = 1000  # in any plan; what needs more is not reached by runs
_NONE = np.zeros(1)
# a subject of whom nothing is known
NOBODY = dispersion.Variations(_NONE, _NONE, _NONE, np.full(1, False), _NONE)


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected variation of the score of a subject that was not measured yet."""

    rerun: float  # dispersion of one run
    borrowed: float  # degrees that a subject has from the others
    degrees: float  # what each run after the first adds to them
    subjects: int  # with two runs or more, whose mean this is; 0: believed beforehand
    # variance of the latent variable between sessions, of which one is expected
    between_sittings: float = 0.0
    average_room: float = 0.0  # of those measured: near an end a part of it is felt, as on a board

    def compute_session_dispersion(self, mean: float) -> float:
        """Return the variance that one session adds to a score at *mean*, in [0, 1], divided by
        mean x (1 - mean). The number of runs in the session does not change it.
        """
        return self.between_sittings * max(mean * (1 - mean), LEAST_SHARE * self.average_room)


def estimate_score_variation(
    design: dispersion.Design, measured: Measured | None = None, shifted_by_session: bool = False
) -> Expected:
    """Return the expected variation of the score of a subject that was not played yet. It comes
    from the subjects *measured* with the same *design*, or from prior beliefs if *measured* is
    None.

    *shifted_by_session*: whether a session can shift the score, which more runs in the same session
    do not reduce. Dispersions are the common ones of eq. 1. The degrees of a run are the median of
    the subjects with two runs, else those of Satterthwaite's formula if each conversation varies as
    its weight says.
    """
    blank = dispersion.measure_score_of_subjects(design, [np.full((1, *design.weights.shape), 0.5)])
    pool = measured or blank
    parts = np.square(design.weights.sum(axis=0))
    common = _compute_common_dispersion(pool.rerun, pool.believed_rerun, dispersion.WEIGHT_RERUN)
    sittings = (
        BELIEVED_SITTINGS
        if pool.sittings is None
        else pool.sittings.estimate_latent_variance(pool.rerun.room)
    )
    return Expected(
        rerun=common + max(common * pool.run_effects.excess, pool.believed_runs),
        borrowed=dispersion.compute_pool_weight(pool.rerun.pool_sums, dispersion.WEIGHT_RERUN),
        degrees=_compute_median_degrees_per_run(pool)
        or float(parts.sum() ** 2 / np.square(parts).sum()),
        subjects=int(np.count_nonzero(pool.rerun.known)),
        between_sittings=sittings if shifted_by_session else 0.0,
        average_room=0.0 if measured is None else float(measured.rerun.room.mean()),
    )


def make_expected_scores(expected: Expected, mean: float, runs: int) -> intervals.Scores | None:
    """Return one score at *mean*, in [0, 1], with the dispersion that is *expected* after so many
    *runs* of the same scenarios.

    None for one run if no subject has two runs: nothing then shows how runs vary.
    """
    if runs < 2 and not expected.subjects:
        return None
    of_runs, of_sitting = expected.rerun / runs, expected.compute_session_dispersion(mean)
    # as on a board
    degrees = (expected.borrowed + (runs - 1) * expected.degrees) * (1 + of_sitting / of_runs) ** 2
    return intervals.make_plain_scores(
        np.array([mean]), np.array([of_runs + of_sitting]), np.array([degrees])
    )


def estimate_detectable_difference(expected: Expected, mean: float, runs: int) -> float | None:
    """Return the minimum detectable difference, in [0, 1], of two subjects that score around *mean*
    and have so many *runs* each of the same scenarios: 80 of 100 repetitions find a true difference
    of this size significant.

    None for one run if no subject has two runs: nothing then shows how runs vary.
    """
    scores = make_expected_scores(expected, mean, runs)
    return (
        None
        if scores is None
        else float(intervals.compute_detectable_difference(scores, scores)[0])
    )


def find_fewest_runs(
    enough: Callable[[int], bool], least_runs: int = 1, most_runs: int = MOST_RUNS
) -> int | None:
    """Return the smallest number of runs from *least_runs* to *most_runs* for which *enough* is
    true; None if there is none. If *enough* is true for a number, it must be true for all larger
    ones.
    """
    many = most_runs
    if least_runs > many or not enough(many):
        return None
    few = least_runs
    while few < many:
        middle = (few + many) // 2
        few, many = (few, middle) if enough(middle) else (middle + 1, many)
    return few


def predict_scores(measured: Measured, runs: Floats | Sequence[float]) -> intervals.Scores:
    """Return the scores, with their dispersions, that the *measured* subjects would have after so
    many *runs* each of the same scenarios, if nothing else changed. *runs* has a number for each
    subject.
    """
    asked = np.asarray(runs, dtype=np.float64)
    own = measured.rerun
    more = measured.runs > 1
    of_a_run = np.where(
        more,
        own.degrees / np.where(more, measured.runs - 1, 1.0),
        _compute_median_degrees_per_run(measured),
    )
    return dispersion.make_scores_after_runs(measured, asked, (asked - 1) * of_a_run)


def _compute_common_dispersion(
    pool: dispersion.Variations, believed: float, weight: float
) -> float:
    """Return the dispersion (variance / (mean x (1 - mean))) that is expected of a subject that was
    not measured: the common one of all subjects in *pool*, with *believed* as one more subject.
    """
    return float(
        dispersion.shrink_dispersions_to_pool(NOBODY, pool.pool_sums, believed, weight)[0][0]
    )


def _compute_median_degrees_per_run(measured: Measured) -> float:
    """Return the median over subjects of the degrees of freedom that each run after the first has
    added to a subject's variance; 0 if no subject has two runs that differ.
    """
    counted = measured.rerun.degrees > 0
    if not counted.any():
        return 0.0
    return float(np.median(measured.rerun.degrees[counted] / (measured.runs[counted] - 1)))
