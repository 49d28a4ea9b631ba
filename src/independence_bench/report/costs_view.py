"""What a store has cost, on a terminal and for programs. The same values; nothing is computed here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from independence_bench.analysis.costs import CommandCost, Costs, Disagreement, NamedCost, Paid
from independence_bench.escape import label_text
from independence_bench.report.format import money, plural

MOST = 20  # disagreements that are listed; all of them are in the JSON
NOT_KEPT = "before this was kept"
LIBRARY = "a program that uses the library"

Line = tuple[str, Paid]
# column -> what it shows; left out where that is nothing throughout
COLUMNS: tuple[tuple[str, Callable[[Paid], str]], ...] = (
    ("calls", lambda paid: f"{paid.calls:,}"),
    ("told", lambda paid: _dollars(paid.dollars) if paid.told else ""),
    ("computed", lambda paid: _dollars(paid.computed_dollars) if paid.computed else ""),
    ("free", lambda paid: _count(paid.free)),
    ("no price", lambda paid: _count(paid.unknown)),
    ("nothing", lambda paid: _count(paid.nothing)),
)
LEGENDS = {
    "told": "told: the dollars that providers said",
    "computed": "computed: where they said none, dollars by the tokens and the list price of that time",
    "free": "free: calls that cost nothing",
    "no price": "no price: calls whose cost nobody knows, lost ones and those in flight among them",
    "nothing": "nothing: calls that were refused or failed, and told no cost",
}


def costs_view(costs: Costs, store: str) -> RenderableType:
    """Everything on one page; *store* is where it is."""
    if not costs.whole.calls:
        return Group(Text(f"Nothing was bought into {label_text(store)}."), *_imported(costs))
    columns = [one for one in COLUMNS if one[1](costs.whole)]
    commands = [(f"{_when(one.began_at)}\n{_typed(one)}", one.paid) for one in costs.commands]
    tables: tuple[tuple[str, Sequence[Line], Paid], ...] = (
        ("command", commands, costs.whole),
        ("day (UTC)", _lines(costs.days), costs.whole),
        ("provider", _lines(costs.providers), costs.whole),
        ("judge: judgements", _lines(costs.judges), costs.judgements),
        ("subject: replies", _lines(costs.subjects), costs.replies),
    )
    legend = "; ".join(LEGENDS[name] for name, _ in columns if name in LEGENDS)
    parts: list[RenderableType] = [
        Text(f"\nWhat {label_text(store)} has cost in its life: {_in_words(costs.whole)}", style="bold"),
        Text(f"{legend}.", style="dim"),
    ]
    for title, lines, whole in tables:
        if lines:
            parts += [Text(""), _table(title, lines, columns, whole)]
    return Group(*parts, *_disagreements(costs), *_imported(costs))


def _in_words(paid: Paid) -> str:
    said = [f"{money(paid.dollars)} told"] if paid.told else []
    said += [f"{money(paid.computed_dollars)} computed"] if paid.computed else []
    return " and ".join(said or ["no dollars"]) + f", in {plural(paid.calls, 'call')}"


def _lines(parts: Iterable[NamedCost]) -> list[Line]:
    return [(label_text(part.name), part.paid) for part in parts]


def _table(
    title: str, lines: Sequence[Line], columns: Sequence[tuple[str, Callable[[Paid], str]]], whole: Paid
) -> Table:
    table = _empty(f"by {title}", *(name for name, _ in columns))
    for name, paid in lines:
        table.add_row(name, *(show(paid) for _, show in columns))
    table.add_section()
    table.add_row("in all", *(show(whole) for _, show in columns), style="bold")
    return table


def _empty(first: str, *others: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0), expand=True)
    table.add_column(first, overflow="fold", ratio=1)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _disagreements(costs: Costs) -> list[RenderableType]:
    if not costs.compared:
        said = "No list price was kept of a call that told its cost: nothing to compare."
        return [Text(f"\n{said}", style="dim")] if costs.whole.told else []
    of = f"{plural(costs.compared, 'call')} with a list price of that time"
    if not costs.disagreements:
        return [Text(f"\nWhat providers told and their list prices agree within 1 %: {of}.", style="dim")]
    table = _empty("told is not the list price", "calls", "told", "listed", "differs", "%")
    for one in costs.disagreements[:MOST]:
        percent = "–" if not one.listed else f"{100 * one.difference / one.listed:+.0f}"
        differs = f"{'+' if one.difference > 0 else '-'}{_dollars(abs(one.difference))}"
        figures = (f"{one.calls:,}", _dollars(one.dollars), _dollars(one.listed), differs, percent)
        table.add_row(_who(one), *figures)
    more = f" {MOST} of {len(costs.disagreements)} are listed." if len(costs.disagreements) > MOST else ""
    legend = (
        f"Of {of}, by model and provider, what differs by over 1 %. listed: every token in full at the price of "
        f"the endpoint's list when the command began; providers ask less for cached tokens.{more}"
    )
    return [Text(""), table, Text(legend, style="dim")]


def _who(one: Disagreement) -> str:
    cached = f", {one.cached_tokens:,} tokens cached" if one.cached_tokens else ""
    return label_text(f"{one.model}, {one.provider}{cached}")


def _imported(costs: Costs) -> list[RenderableType]:
    if not costs.imported_calls:
        return []
    theirs = f"{plural(costs.imported_calls, 'imported call')} had cost {money(costs.imported_dollars)}"
    return [Text(f"\n{theirs}, paid by whoever made them: in none of these sums.", style="dim")]


def _typed(one: CommandCost) -> str:
    return NOT_KEPT if one.typed is None else label_text(one.typed) or LIBRARY


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _dollars(dollars: float) -> str:
    """Four decimals throughout, so that columns can be added up by eye; what is less is said to be."""
    return "<$0.0001" if 0 < dollars < 0.00005 else f"${dollars:,.4f}"


def _count(calls: int) -> str:
    return f"{calls:,}" if calls else ""


# ---------------------------------------------------------------- for programs


def costs_json(costs: Costs) -> str:
    """All of it, in ASCII. Dollars, tokens, numbers of calls; times in seconds since 1970."""
    values: dict[str, Any] = asdict(costs)
    values["disagreements"] = [asdict(one) | {"difference": one.difference} for one in costs.disagreements]
    return json.dumps(values, indent=2)
