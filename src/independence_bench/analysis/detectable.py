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
from independence_bench.analysis.uncertainty import INDEX, make_designs
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.definition import Configuration, Protocol

ASSUMED = 80.0  # the index that is expected where no subject has one


@dataclass(frozen=True, slots=True)
class Detectable:
    """The smallest true difference of two subjects that is detected in 80 of 100 repetitions."""

    runs: int  # runs of each of the two subjects
    index: float  # the index near which both lie
    points: float | None  # points of the index; None: not known


def estimate_variation(
    protocol: Protocol,
    configurations: Sequence[Configuration],
    board: Board | None,
    subjects: Iterable[ChatModel],
) -> Expected:
    """Estimate how much the index of *subjects* will vary, by how it varies on *board*; None:
    nothing is stored.

    It includes what a leaderboard allows for one session, unless the session cannot shift any of
    the subjects.
    """
    uncertainty = None if board is None else board.uncertainty
    measured = (
        uncertainty.measures[INDEX].measured
        if uncertainty is not None and uncertainty.measures
        else None
    )
    design, shifted = (
        make_designs(protocol, configurations)[INDEX],
        any(map(can_vary_by_session, subjects)),
    )
    return estimate_score_variation(design, measured, shifted)


def estimate_mean_index(board: Board | None, subjects: Collection[str]) -> float:
    """Return the mean index of these *subjects* (hashes) on *board*, else of all on it, else
    `ASSUMED`.
    """
    ranked = () if board is None else board.ranked
    own = [row for row in ranked if row.subject.hash in subjects]
    indices = [row.index for row in own or ranked if row.index is not None]
    return sum(indices) / len(indices) if indices else ASSUMED


def find_detectable_difference(expected: Expected, index: float, runs: int) -> Detectable:
    """Return the smallest difference that *runs* runs of each of two subjects around *index*
    detect.
    """
    seen = estimate_detectable_difference(expected, index / 100, runs)
    return Detectable(runs, index, None if seen is None else 100 * seen)
