"""Subjects that differ in one setting, side by side, and what an index costs. Pure: from rows and sums to values.

Differences are points of the index (0-100) between means over runs; how sure they are follows from all ranked subjects
of the board together (`certainty.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from independence_bench.report.certainty import INDEX, UNKNOWN, Apart, Uncertainty
from independence_bench.report.paired import rows_apart, standing_out
from independence_bench.report.rows import Board, Row
from independence_bench.subject import ChatModel, Reasoning

NOT_PINNED = "not pinned"


@dataclass(frozen=True, slots=True)
class Spent:
    """What a subject's replies cost, attempts that were thrown away included, and who served them."""

    dollars: float | None = None  # None: not known, or not of all of them
    served: tuple[tuple[str, int], ...] = ()  # (provider, replies), the one that served most first


@dataclass(frozen=True, slots=True)
class Variant:
    """One of the subjects of a comparison."""

    label: str
    setting: str  # the provider that it is pinned to, or the effort
    index: float | None  # None: incomplete
    runs: int
    difference: float | None  # its index minus the one of what it is compared with; None for that one itself
    served: tuple[tuple[str, int], ...]
    apart: Apart | None = None  # the same difference with its intervals; None: not both of them are ranked
    stands: bool | None = None  # told from 0 on this test though so many are compared; None: nothing is known


@dataclass(frozen=True, slots=True)
class Comparison:
    """Subjects that are the same but for one setting."""

    model: str
    against: str | None  # the setting that the others are compared with; None: no variant is complete
    variants: tuple[Variant, ...]


def compare_providers(board: Board, spent: Mapping[str, Spent]) -> list[Comparison]:
    """Every model that was served under two pins or more, no pin being one: compared with no pin, where that is there.

    *spent* by subject hash says who served those that were not pinned. Subjects are put side by side only if they
    are equal in everything else.
    """

    def rest(model: ChatModel) -> tuple[object, ...]:
        return tuple((name, value) for name, value in model.causes().items() if name != "provider")

    return _compare(board, spent, rest, lambda m: m.provider or NOT_PINNED, lambda m: m.provider is not None)


def compare_efforts(board: Board, spent: Mapping[str, Spent]) -> list[Comparison]:
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
    spent: Mapping[str, Spent],
    rest: Callable[[ChatModel], tuple[object, ...]],
    setting: Callable[[ChatModel], str],
    place: Callable[[ChatModel], int],
) -> list[Comparison]:
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in (*board.ranked, *board.incomplete):
        groups.setdefault(rest(row.subject), []).append(row)
    found = []
    for group in groups.values():
        if len({setting(row.subject) for row in group}) > 1:
            group.sort(key=lambda row: (place(row.subject), row.label))
            found.append(_comparison(board, group, spent, setting))
    return _marked(sorted(found, key=lambda comparison: (comparison.model, comparison.variants[0].label)))


def _marked(found: Sequence[Comparison]) -> list[Comparison]:
    """With those that stand among all of them: who looks at forty differences sees two that are none."""
    differences = [variant.apart.p_again if variant.apart else None for one in found for variant in one.variants]
    stands = iter(standing_out(differences))
    return [
        replace(one, variants=tuple(replace(variant, stands=next(stands)) for variant in one.variants)) for one in found
    ]


def _comparison(
    board: Board, group: Sequence[Row], spent: Mapping[str, Spent], setting: Callable[[ChatModel], str]
) -> Comparison:
    base = next((row for row in group if row.score.index is not None), None)
    variants = [
        Variant(
            label=row.label,
            setting=setting(row.subject),
            index=row.score.index,
            runs=row.score.runs,
            difference=None if row is base else _minus(row.score.index, base.score.index if base else None),
            served=spent.get(row.subject.hash, Spent()).served,
            apart=None if base is None or row is base else rows_apart(board, INDEX, row, base),
        )
        for row in group
    ]
    return Comparison(group[0].subject.name, setting(base.subject) if base else None, tuple(variants))


def _minus(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


@dataclass(frozen=True, slots=True)
class Price:
    """What a ranked subject's index costs. Judges are not in it: they cost the same whoever is judged."""

    label: str
    index: float
    dollars_per_run: float | None  # None: not known
    index_per_dollar: float | None  # index / dollars of one run; None: not known, or free
    uncertainty: Uncertainty = UNKNOWN  # of the points for a dollar: the index's, what it cost being known


def price_indices(ranked: Sequence[Row], spent: Mapping[str, Spent]) -> list[Price]:
    """The ranked subjects by points of the index for a dollar of one run: free ones first, unknown prices last."""
    prices = []
    for row in ranked:
        if row.score.index is None:
            continue
        dollars = spent.get(row.subject.hash, Spent()).dollars
        per_run = None if dollars is None else dollars / row.score.runs
        points, uncertainty = None, UNKNOWN
        if per_run:
            points, uncertainty = row.score.index / per_run, row.certainty.index.scaled(1 / per_run)
        prices.append(Price(row.label, row.score.index, per_run, points, uncertainty))
    return sorted(prices, key=_dearness)


def _dearness(price: Price) -> tuple[bool, bool, float, str]:
    return price.dollars_per_run is None, bool(price.dollars_per_run), -(price.index_per_dollar or 0.0), price.label
