"""The difference of two models that a number of runs will show: how much the index varies, by what
is stored or by the protocol, and what that allows to be seen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from independence_bench.analysis.board import Board
from independence_bench.analysis.leaderboard import can_vary_by_session
from independence_bench.analysis.statistics.planning import (
    Expected,
    estimate_detectable_difference,
    estimate_score_variation,
)
from independence_bench.analysis.uncertainty import INDEX, make_score_designs
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.definition import Configuration, Protocol

ASSUMED = 80.0  # the index that is expected where no subject has one


@dataclass(frozen=True, slots=True)
class Detectable:
    """The smallest true difference between two models that is detected in 80 of 100 repetitions."""

    runs: int  # runs of each of the two subjects
    index: float  # the index near which both lie
    points: float | None  # points of the index; None: not known


def estimate_index_variation(
    protocol: Protocol,
    configurations: Sequence[Configuration],
    board: Board | None,
    subjects: Iterable[ChatModel],
) -> Expected:
    """Estimate how much the index of the models *subjects* will vary from run to run, by how the
    index varies on the leaderboard *board*, or by assumed values if *board* is None (nothing is
    stored).

    The estimate includes what a leaderboard allows for a single session, unless the session cannot
    shift any of the models.
    """
    uncertainty = None if board is None else board.uncertainty
    measured = (
        uncertainty.measures[INDEX].measured
        if uncertainty is not None and uncertainty.measures
        else None
    )
    design, shifted = (
        make_score_designs(protocol, configurations)[INDEX],
        any(map(can_vary_by_session, subjects)),
    )
    return estimate_score_variation(design, measured, shifted)


def estimate_mean_index(board: Board | None, subject_hashes: Collection[str]) -> float:
    """Return the mean index, 0 to 100, of those ranked models on *board* whose hashes are in
    *subject_hashes*; if there are none, of all ranked models; if nothing is ranked, `ASSUMED`.
    """
    ranked = () if board is None else board.ranked
    own = [row for row in ranked if row.subject.hash in subject_hashes]
    indices = [row.index for row in own or ranked if row.index is not None]
    return sum(indices) / len(indices) if indices else ASSUMED


def find_detectable_difference(expected: Expected, index: float, runs: int) -> Detectable:
    """Return the smallest true difference, in points of the index, that is detected in 80 of 100
    repetitions if each of two models with an index around *index* (0 to 100) is played *runs*
    times.
    """
    seen = estimate_detectable_difference(expected, index / 100, runs)
    return Detectable(runs, index, None if seen is None else 100 * seen)
