"""What changed between two plays of a character: a row for each item, before and after; and as
JSON. Computes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from independence_bench.analysis.character_changes import (
    CharacterChange,
    ItemOfTwoPlays,
    Play,
    count_pushes,
)
from independence_bench.analysis.health import format_utc_day_and_minute, format_utc_time
from independence_bench.analysis.held_stems import HeldItem, HeldStems
from independence_bench.analysis.statistics.intervals import LEVEL
from independence_bench.figures import format_count, format_number
from independence_bench.personas.sheet import QUICK_PUSHES
from independence_bench.report.persona_view import (
    describe_item_loss,
    format_item_held_runs,
    quote_text,
)
from independence_bench.report.table import (
    Block,
    Cells,
    Column,
    Legend,
    Name,
    Note,
    Prose,
    Table,
    Title,
)

QUOTED = 60  # characters of a reply in a table
CHANGED = (
    "Before: the version that was played last, apart from this one. “not played anew”: both have "
    "the same conversation, so it says nothing new. “(edited)”: the sheet says or asks something "
    "else of the item now. More than chance: by pressure turns withstood, at 5%, over all items."
)


def render_change(change: CharacterChange) -> Iterator[Block]:
    """Yield the output blocks that show what changed between two plays of a character: a summary,
    and a table of the items, each before and now.
    """
    before, now = change.before, change.now
    same = before.label == now.label
    yield Title(("What changed, played by ", Name(now.label)) if same else "What changed")
    yield Note(("before: ", *_describe_play(change, before)))
    yield Note(("now:    ", *_describe_play(change, now)))
    yield Note(describe_change(change), "bold")
    columns = [
        Column("Item", words=True, cut=True),
        Column("Before", words=True),
        Column("Now", words=True),
        *([Column("More than chance", words=True)] if _can_single_items_differ(change) else []),
    ]
    rows: list[Cells] = [
        (
            Prose(f"{item.title} (edited)" if item.edited else item.title),
            _format_item(item.before),
            _format_item(item.now) if item.replayed or item.now is None else "not played anew",
            *([_format_chance(item)] if _can_single_items_differ(change) else []),
        )
        for item in change.items
    ]
    yield Table(columns, rows, gap=1)
    if change.now.finished_at < change.before.finished_at:
        yield Note("The version of now is an earlier one again; its conversations are older.")
    if change.is_of_two_forms:
        yield Note("A --quick run has three pushes and no favour or slip, so it can hold more.")
    yield Legend(CHANGED, "")


def _describe_play(change: CharacterChange, play: Play) -> tuple[Any, ...]:
    """Return the text on one play of a comparison: its time, model, version and runs."""
    runs = format_count(len(play.runs), "run")
    version = "" if change.is_same_version else f", version {play.protocol.hash[:8]}"
    form = ", --quick" if count_pushes(play.protocol) == QUICK_PUSHES else ""
    label = () if change.before.label == change.now.label else (", ", Name(play.label))
    when = format_utc_day_and_minute(play.finished_at)
    return f"{when} UTC{version}{form}, {runs}", *label


def describe_change(change: CharacterChange) -> str:
    """Say in one or two sentences what changed between two plays of a character, and what of it is
    more than chance.
    """
    if not any(item.before and item.now for item in change.items):
        return "No item is in both, so nothing can be compared."
    old, new = _count_held(change, change.held_before), _count_held(change, change.held_now)
    styles = change.average_styles()
    voice = ""
    if styles is not None:
        before, now = (format_number(10 * style, 1) for style in styles)
        voice = f"; voice {before} of 10 before, {now} now"
    return f"Held {old} before, {new} now{voice}. {_describe_chance(change)}"


def _count_held(change: CharacterChange, held: HeldStems) -> str:
    """Return how many items that both plays have were held in one of them: "6 of 9"."""
    both = {item.stem for item in change.items if item.before and item.now}
    known = [item.held for item in held.pushed_items if item.stem in both and item.held is not None]
    return f"{sum(known)} of {len(known)}"


def _describe_chance(change: CharacterChange) -> str:
    """Say which differences between two plays of a character are more than chance."""
    if change.p is None:
        return "No item of both was played anew, so nothing can be compared."
    if not any(_differs(item) for item in change.items):
        return "No item differs."
    single = [item.title for item in change.items if _is_more_than_chance(item.p)]
    whole = (
        "All items together differ by more than chance"
        if _is_more_than_chance(change.p)
        else "All items together do not differ by more than chance"
    )
    if single:
        return f"{whole}; so do, each alone: {', '.join(single)}."
    if not _can_single_items_differ(change):
        needed = change.runs_for_one_item
        return f"{whole}. One item alone can do so with {needed} or more runs of both."
    return f"{whole}; no item does so alone."


def _can_single_items_differ(change: CharacterChange) -> bool:
    """Return whether both plays have enough runs for a single item to differ by more than
    chance.
    """
    runs = min(len(change.before.runs), len(change.now.runs))
    return change.p is not None and runs >= (change.runs_for_one_item or 0)


def _differs(item: ItemOfTwoPlays) -> bool:
    """Return whether one item was not played in one play, or was lost at another place or in
    another share of the runs.
    """
    before, now = item.before, item.now
    if before is None or now is None:
        return True
    places = [one.loss and (one.loss.branch, one.loss.push) for one in (before, now)]
    return places[0] != places[1] or before.stood * now.of != now.stood * before.of


def _is_more_than_chance(p: float | None) -> bool:
    return p is not None and p <= 1 - LEVEL + 1e-12


def _format_chance(item: ItemOfTwoPlays) -> str:
    """Return whether one item differs by more than chance: "yes", "no", or a dash if that was not
    tested.
    """
    return "–" if item.p is None else "yes" if _is_more_than_chance(item.p) else "no"


def _format_item(item: HeldItem | None) -> Any:
    """Return what a model did with one item in one play: "held", or the push and the quote at which
    it gave in; with several runs, in how many it was held.
    """
    if item is None:
        return "not played"
    if item.held is None:
        return "not judged"
    runs = f"held {format_item_held_runs(item)}" if len(item.runs) > 1 else ""
    if item.held:
        return runs or "held"
    where = describe_item_loss(item)
    quote = f" {quote_text(item.loss.text, QUOTED)}" if item.loss else ""
    return Prose(f"{runs}: {where}{quote}" if runs else f"{where}{quote}")


def build_change_values(change: CharacterChange) -> dict[str, Any]:
    """Return what changed between two plays of a character, as values for JSON."""
    return {
        "says": describe_change(change),
        "before": _build_play_values(change.before),
        "now": _build_play_values(change.now),
        "p": change.p,
        "runs_for_one_item": change.runs_for_one_item,
        "items": [
            {
                "item": item.stem,
                "title": item.title,
                "edited": item.edited,
                "replayed": item.replayed,
                "before": _build_item_values(item.before),
                "now": _build_item_values(item.now),
                "p": item.p,
            }
            for item in change.items
        ],
    }


def _build_play_values(play: Play) -> dict[str, Any]:
    return {
        "subject": play.label,
        "protocol": play.protocol.name,
        "hash": play.protocol.hash,
        "runs": play.runs,
        "finished_at": format_utc_time(play.finished_at),
    }


def _build_item_values(item: HeldItem | None) -> dict[str, Any] | None:
    if item is None:
        return None
    loss = item.loss
    return {
        "held": item.held,
        "stood": item.stood,
        "of": item.of,
        "where": describe_item_loss(item),
        "push": loss.push if loss else None,
        "quote": loss.text if loss else None,
    }
