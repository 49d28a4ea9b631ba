"""What may be absent and is not here, for type checkers and for whoever reads the failure; and what
pairs say.
"""

from __future__ import annotations

from typing import TypeVar

from independence_bench.analysis.compare_subjects import SubjectComparison

T = TypeVar("T")


def known(value: T | None) -> T:
    """*value*, which is there."""
    assert value is not None
    return value


def numbers_of(pair: SubjectComparison) -> list[float]:
    """All that a comparison says in numbers, in its order."""
    each = [score.apart for score in pair.scores.scores.values()]
    parts = [
        (one.difference, one.p_rerun, one.p_new_scenarios, one.seen_rerun) for one in each if one
    ]
    intervals = [
        of
        for one in each
        if one
        for of in (one.uncertainty.rerun, one.uncertainty.new_scenarios)
        if of
    ]
    known = [number for part in parts for number in part if number is not None]
    return known + [end for of in intervals for end in (of.low, of.high)]
