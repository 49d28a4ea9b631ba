"""Subjects that differ in one setting, side by side, and what an index costs. Pure: from rows and sums to values.

Differences are points of the index (0-100) between means over runs; how sure they are follows from all ranked subjects
of the board together (`uncertainty.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.costs import SubjectCost
from independence_bench.analysis.statistics.ranking import standing_out
from independence_bench.analysis.statistics.values import ScoreDifference
from independence_bench.analysis.uncertainty import INDEX
from independence_bench.models.spec import ChatModel, Reasoning

NOT_PINNED = "not pinned"


@dataclass(frozen=True, slots=True)
class Variant:
    """One of the subjects of a comparison."""

    label: str
    setting: str  # the provider that it is pinned to, or the effort
    index: float | None  # None: incomplete
    runs: int
    difference: float | None  # its index minus the one of what it is compared with; None for that one itself
    served: tuple[tuple[str, int], ...]
    apart: ScoreDifference | None = None  # the same difference with its intervals; None: not both of them are ranked
    stands: bool | None = None  # told from 0 on this test though so many are compared; None: nothing is known


@dataclass(frozen=True, slots=True)
class SettingComparison:
    """Subjects that are the same but for one setting."""

    model: str
    against: str | None  # the setting that the others are compared with; None: no variant is complete
    variants: tuple[Variant, ...]


def compare_providers(board: Board, spent: Mapping[str, SubjectCost]) -> list[SettingComparison]:
    """Every model that was served under two pins or more, no pin being one: compared with no pin, where that is there.

    *spent* by subject hash says who served those that were not pinned. Subjects are put side by side only if they
    are equal in everything else.
    """

    def rest(model: ChatModel) -> tuple[object, ...]:
        return tuple((name, value) for name, value in model.causes().items() if name != "provider")

    return _compare(board, spent, rest, lambda m: m.provider or NOT_PINNED, lambda m: m.provider is not None)


def compare_efforts(board: Board, spent: Mapping[str, SubjectCost]) -> list[SettingComparison]:
    """Every model that was played with two reasoning efforts or more: compared with the lowest that is complete.

    Equal in everything else, except that who thinks has more room for its reply unless a limit was chosen.
    """
    order = list(Reasoning)

    def rest(model: ChatModel) -> tuple[object, ...]:
        same = {name: value for name, value in model.causes().items() if name not in ("reasoning", "max_tokens")}
        return (*same.items(), model.max_tokens if model.own_limit else None)

    return _compare(board, spent, rest, lambda m: m.reasoning.value, lambda m: order.index(m.reasoning))


def _compare(
    board: Board,
    spent: Mapping[str, SubjectCost],
    rest: Callable[[ChatModel], tuple[object, ...]],
    setting: Callable[[ChatModel], str],
    place: Callable[[ChatModel], int],
) -> list[SettingComparison]:
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in board.rows:
        groups.setdefault(rest(row.subject), []).append(row)
    found = []
    for group in groups.values():
        if len({setting(row.subject) for row in group}) > 1:
            group.sort(key=lambda row: (place(row.subject), row.label))
            base = next((row for row in group if row.score.index is not None), None)
            variants = tuple(_variant(board, row, base, setting(row.subject), spent) for row in group)
            against = setting(base.subject) if base else None
            found.append(SettingComparison(group[0].subject.name, against, variants))
    found.sort(key=lambda comparison: (comparison.model, comparison.variants[0].label))
    # which are significant among all of them: of forty true zeros two seem to be none
    aparts = [variant.apart for one in found for variant in one.variants]
    stands = iter(standing_out([apart.p_rerun if apart else None for apart in aparts]))
    return [
        replace(one, variants=tuple(replace(variant, stands=next(stands)) for variant in one.variants)) for one in found
    ]


def _variant(board: Board, row: Row, base: Row | None, setting: str, spent: Mapping[str, SubjectCost]) -> Variant:
    apart, difference = None, None
    if base is not None and row is not base and row.score.index is not None and base.score.index is not None:
        difference = row.score.index - base.score.index
        if board.uncertainty is not None and row in board.ranked and base in board.ranked:
            apart = board.uncertainty.difference(INDEX, board.ranked.index(row), board.ranked.index(base))
    served = spent.get(row.subject.hash, SubjectCost()).served
    return Variant(row.label, setting, row.score.index, row.score.runs, difference, served, apart)


@dataclass(frozen=True, slots=True)
class IndexPrice:
    """What a ranked subject's index costs, in dollars of one run. None: not known."""

    label: str
    index: float
    replies_per_run: float | None
    judging_per_run: float | None  # what the board's judge took for it
    dollars_per_run: float | None  # both together

    @property
    def free(self) -> bool:
        """Whether neither its replies nor its judge cost anything."""
        return self.dollars_per_run == 0


def price_indices(ranked: Sequence[Row], spent: Mapping[str, SubjectCost]) -> list[IndexPrice]:
    """What one run of each of the *ranked* subjects cost, in their order."""
    prices = []
    for row in ranked:
        if row.score.index is None:
            continue
        mine = spent.get(row.subject.hash, SubjectCost())
        each = (None if one is None else one / row.score.runs for one in (mine.dollars, mine.judging, mine.total))
        prices.append(IndexPrice(row.label, row.score.index, *each))
    return prices
