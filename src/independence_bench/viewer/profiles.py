"""A subject's dimensions beside those of all who are ranked with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from independence_bench.analysis.board import Board, Row
from independence_bench.report.encode import Whole
from independence_bench.viewer.boards import percent

QUARTERS = (0.25, 0.5, 0.75)
SAME = 1e-9  # points: no more than what rounding leaves


@dataclass(frozen=True, slots=True)
class FieldProfile:
    """Where the other ranked subjects lie in one dimension, in [0, 100]."""

    dimension: str  # name
    place: int  # of the dimension, and of its score in the board's row, from 0
    others: tuple[Whole, ...]  # the lowest first
    quartiles: tuple[Whole, ...]  # of these: a quarter, half, three quarters lie below; empty without others
    below: int  # how many of them score lower than this subject
    above: int  # higher; both 0 where it has no score


def field_profiles(board: Board, row: Row) -> tuple[FieldProfile, ...]:
    """A profile for each dimension of *board*, by weight."""
    placed = sorted(enumerate(board.protocol.dimensions), key=lambda one: -one[1].weight)
    return tuple(_profile(board, row, place, dimension.name) for place, dimension in placed)


def _profile(board: Board, row: Row, place: int, dimension: str) -> FieldProfile:
    others = [one.score.dimensions[dimension] for one in board.ranked if one.subject.hash != row.subject.hash]
    there = sorted(100 * one for one in others if one is not None)
    mine = percent(row.score.dimensions[dimension])
    return FieldProfile(
        dimension,
        place,
        tuple(there),
        tuple(float(one) for one in np.quantile(there, QUARTERS)) if there else (),
        0 if mine is None else sum(one < mine - SAME for one in there),
        0 if mine is None else sum(one > mine + SAME for one in there),
    )
