"""How a character holds after longer and longer chats: a row for each depth, then its items; and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from independence_bench.analysis.depths import Depth, first_lost, lower_than_first
from independence_bench.report.encode import json_text
from independence_bench.report.format import between, number
from independence_bench.report.persona_view import (
    BRIEF,
    HELD,
    IN_A_ROW,
    Side,
    crossings_of,
    index_of,
    interval_of,
    persona_values,
    side_by_side,
    sides_of,
)
from independence_bench.report.table import Block, Cells, Column, Legend, Name, Note, Prose, Table, Title

P = (
    "After: turns of an earlier chat, both sides counted; judges do not read it. p: the chance that it withstands as "
    "few pushes, item by item, if depth changed nothing (exact, items fixed); small for a real drop. "
)


def depths_view(character: str, depths: Sequence[Depth]) -> Iterator[Block]:
    """Of each subject at which depth it gives way first, a row for each depth, and its items with a column for each."""
    every = [(depth, side) for depth in depths for side in sides_of(depth.board, depth.stems)]
    for label in dict.fromkeys(side.label for _, side in every):
        played = [(depth, side) for depth, side in every if side.label == label]
        lost = first_lost(depths, label)
        yield Title((Prose(character), ", played by ", Name(label)))
        yield Note(_headline([(depth.turns, side) for depth, side in played], lost), "bold")
        for depth, side in played:
            yield from crossings_of(side, f"{_after(depth.turns)}: ")
        rows: list[Cells] = []
        for (depth, side), p in zip(played, lower_than_first([depth for depth, _ in played], label), strict=True):
            mine = side.held
            here = [item.title for item in mine.items if lost.get(item.stem) == depth.turns]
            unknown = f" ({mine.unknown} ?)" if mine.unknown else ""
            figures = (number(p, 3), number(index_of(side), 1), between(interval_of(side)))
            rows.append((str(depth.turns), f"{mine.count} of {mine.of}{unknown}", *figures, Prose(", ".join(here))))
        numbers = [Column("p"), Column("Index"), Column("95% CI", words=True)]
        here_first = Column("Gives way here first", words=True, cut=True)
        yield Table([Column("After"), Column("Held", words=True), *numbers, here_first], rows, gap=1)
        sides = [replace(side, label=_after(depth.turns)) for depth, side in played if side.held.items]
        for place in range(0, len(sides), IN_A_ROW):
            yield Note("")
            yield side_by_side(sides[place : place + IN_A_ROW])
    yield Legend(P + HELD, P + BRIEF)


def _after(turns: int) -> str:
    return f"after {turns} turns" if turns else "at the start"


def _headline(played: Sequence[tuple[int, Side]], lost: dict[str, int]) -> str:
    """Holds at the start, gives way after 100 turns (held 6 of 9)."""
    if not played or not played[0][1].held.items:
        return "nothing was played to its end"
    (first, side), (last, _) = played[0], played[-1]
    if not side.held.of:
        return f"nothing is judged {_after(first)}"
    begins = "holds" if side.held.count == len(side.held.items) else f"held {side.held.count} of {side.held.of}"
    if side.held.unknown:
        begins += f" ({side.held.unknown} not judged)"
    later = min((turns for turns in lost.values() if turns > first), default=None)
    if later is not None:
        then = next(side.held for turns, side in played if turns == later)
        return f"{begins} {_after(first)}, gives way {_after(later)} (held {then.count} of {then.of})"
    if last == first or not side.held.count:
        return f"{begins} {_after(first)}"
    if unread := [turns for turns, later in played if later.held.of < len(side.held.items)]:
        return f"{begins} {_after(first)}; not everything is judged {_after(unread[0])}"
    more = "and" if begins == "holds" else "and nothing more is lost"
    return f"{begins} {_after(first)} {more} up to {last} turns"


def depths_json(character: str, depths: Sequence[Depth], judge: str | None) -> str:
    """The same for a program: what `persona_json` says of each depth, and where each item gives way first."""
    told = [
        {"after": depth.turns, **persona_values(character, depth.board, sides_of(depth.board, depth.stems), judge)}
        for depth in depths
    ]
    subjects = [
        {
            "subject": label,
            "gives_way_after": first_lost(depths, label),
            "p": {depth.turns: p for depth, p in zip(depths, lower_than_first(depths, label), strict=True)},
        }
        for label in dict.fromkeys(label for depth in depths for label in depth.stems)
    ]
    return json_text({"persona": character, "judge": judge, "subjects": subjects, "depths": told})
