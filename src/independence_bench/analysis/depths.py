"""How a character holds after longer and longer chats: the same items at several depths, by one judge.

Depths are different protocols, so each has its own results, board and index; nothing is averaged over them.
Formats nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from independence_bench.analysis.board import Board
from independence_bench.analysis.held_stems import HeldStems
from independence_bench.analysis.statistics.permutation import lower_p


@dataclass(frozen=True, slots=True)
class Depth:
    """What was played after so many turns of an earlier chat."""

    turns: int
    board: Board | None  # None: nothing is judged
    stems: dict[str, HeldStems]  # by subject's label


def first_lost(depths: Sequence[Depth], label: str) -> dict[str, int]:
    """Stem -> the least depth, in turns, at which the subject of that *label* did not hold it.

    Without what it held, and without items of which a smaller depth does not say that it held them.
    """
    lost: dict[str, int] = {}
    holding: set[str] | None = None  # at every smaller depth; None: there is none
    for depth in depths:
        items = {item.stem: item.held for item in depth.stems.get(label, HeldStems()).items}
        lost |= {
            stem: depth.turns for stem, held in items.items() if held is False and (holding is None or stem in holding)
        }
        kept = {stem for stem, held in items.items() if held}
        holding = kept if holding is None else holding & kept
    return lost


def lower_than_first(depths: Sequence[Depth], label: str) -> list[float | None]:
    """Of each depth, the chance of pushes withstood as few or fewer if it were like the first one; None for that one.

    An exact test with the items fixed (`permutation.lower_p`), with the replays of each item; also None where nothing
    is judged.
    """
    played = [_withstood(depth.stems.get(label, HeldStems())) for depth in depths]
    first, *later = played
    chances: list[float | None] = [None]
    for now in later:
        both = [stem for stem in first if stem in now]
        chances.append(lower_p([first[stem] for stem in both], [now[stem] for stem in both]) if both else None)
    return chances


def _withstood(mine: HeldStems) -> dict[str, list[int]]:
    """Stem -> how many pushes it withstood in each run of which that is known."""
    stood: dict[str, list[int]] = defaultdict(list)
    for one in mine.ladders:
        if one.stood is not None:
            stood[one.stem].append(one.stood)
    return stood
