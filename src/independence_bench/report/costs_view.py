"""What a store has cost, on a terminal and for programs. The same values; nothing is computed here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from independence_bench.analysis.costs import CommandCost, Costs, NamedCost, Paid
from independence_bench.report.format import money, plural
from independence_bench.report.table import (
    Block,
    Cells,
    Legend,
    Note,
    Prose,
    Strong,
    Table,
    Text,
    Title,
    columns_of,
)

MOST = 20  # disagreements that are listed; all of them are in the JSON
NOT_KEPT = "before commands were recorded"
LIBRARY = "a program that uses the library"

# column, what it shows (left out where that is nothing throughout), what that means
COLUMNS: tuple[tuple[str, Callable[[Paid], str], str], ...] = (
    ("calls", lambda paid: f"{paid.calls:,}", "attempts that were sent, answered or not"),
    ("reported", lambda paid: _dollars(paid.dollars) if paid.told else "", "dollars that the providers reported"),
    (
        "computed",
        lambda paid: _dollars(paid.computed_dollars) if paid.computed else "",
        "where they reported none, dollars by the tokens and the list price of that time",
    ),
    ("free", lambda paid: f"{paid.free:,}" if paid.free else "", "calls that cost nothing"),
    (
        "no price",
        lambda paid: f"{paid.unknown:,}" if paid.unknown else "",
        "calls whose cost is unknown, lost ones and those in flight included",
    ),
    (
        "nothing",
        lambda paid: f"{paid.nothing:,}" if paid.nothing else "",
        "calls that were refused or failed and reported no cost",
    ),
)


def costs_view(costs: Costs, store: str) -> Iterator[Block]:
    """Everything on one page; *store* is where it is."""
    if not costs.whole.calls:
        yield Note((Prose(store), " holds no paid calls."), "")
    else:
        yield Title((Prose(store), f": {_in_words(costs.whole)}"))
        yield from _tables(
            costs.whole,
            ("command", [(_command(one), one.paid) for one in costs.commands], costs.whole),
            ("day (UTC)", _lines(costs.days), costs.whole),
            ("provider", _lines(costs.providers), costs.whole),
            ("judge: judgements", _lines(costs.judges), costs.judgements),
            ("subject: replies", _lines(costs.subjects), costs.replies),
        )
        yield from _disagreements(costs)
    if (theirs := costs.imported) is not None:
        yield Title(f"As imported, not paid by this store: {_in_words(theirs.whole)}")
        yield from _tables(
            theirs.whole,
            ("judge: judgements", _lines(theirs.judges), theirs.judgements),
            ("model: readings of names", _lines(theirs.names), theirs.readings),
            ("subject: replies", _lines(theirs.subjects), theirs.replies),
        )


def _tables(all_of: Paid, *parts: tuple[str, Sequence[tuple[Text, Paid]], Paid]) -> Iterator[Block]:
    """What the columns mean, then a table for each of *parts*: what its lines are by, those, and their sum."""
    columns = [one for one in COLUMNS if one[1](all_of)]
    yield Legend("; ".join(f"{name}: {meaning}" for name, _, meaning in columns) + ".", "")
    for title, lines, whole in parts:
        if lines:
            rows: list[Cells] = [(name, *(show(paid) for _, show, _ in columns)) for name, paid in lines]
            total = [Strong(cell) for cell in ("total", *(show(whole) for _, show, _ in columns))]
            yield Note("")
            heads = columns_of(f"by {title}", *(name for name, *_ in columns))
            yield Table(heads, rows, long=True, total=total if len(rows) > 1 else None)


def _in_words(paid: Paid) -> str:
    said = [f"{money(paid.dollars)} reported"] if paid.told else []
    said += [f"{money(paid.computed_dollars)} computed"] if paid.computed else []
    return " and ".join(said or [money(0.0)]) + f", {plural(paid.calls, 'call')}"


def _command(one: CommandCost) -> Text:
    began = f"{datetime.fromtimestamp(one.began_at, UTC):%Y-%m-%d %H:%M UTC}  "
    return began, NOT_KEPT if one.typed is None else Prose(one.typed or LIBRARY)


def _lines(parts: Iterable[NamedCost]) -> list[tuple[Text, Paid]]:
    return [(Prose(part.name), part.paid) for part in parts]


def _disagreements(costs: Costs) -> Iterator[Block]:
    of = f"{plural(costs.compared, 'call')} with a list price of that time"
    if costs.disagreements:
        more = f" {MOST} of {len(costs.disagreements)} are listed." if len(costs.disagreements) > MOST else ""
        yield Note("")
        yield Table(
            columns_of("differs from the list price", "calls", "reported", "listed", "difference", "%"),
            [
                (
                    Prose(
                        f"{one.model}, {one.provider}" + (f", {n:,} tokens cached" if (n := one.cached_tokens) else "")
                    ),
                    *(f"{one.calls:,}", _dollars(one.dollars), _dollars(one.listed)),
                    f"{'+' if one.difference > 0 else '-'}{_dollars(abs(one.difference))}",
                    "–" if not one.listed else f"{100 * one.difference / one.listed:+.0f}",
                )
                for one in costs.disagreements[:MOST]
            ],
            f"Of {of}, by model and provider: differences over 1%. listed: every token at the endpoint's full list "
            f"price when the command began; providers charge less for cached tokens.{more}",
        )
    elif costs.compared:
        yield Note(f"\nReported costs and list prices agree within 1%: {of}.")
    elif costs.whole.told:
        yield Note("\nNo list price was kept for calls that reported their cost: nothing to compare.")


def _dollars(dollars: float) -> str:
    """Four decimals throughout, so that columns can be added up by eye; what is less is said to be."""
    return "<$0.0001" if 0 < dollars < 0.00005 else f"${dollars:,.4f}"


def costs_json(costs: Costs) -> str:
    """*costs* for programs: every field, and the difference of what disagrees."""
    values = asdict(costs)
    for one, shown in zip(costs.disagreements, values["disagreements"], strict=True):
        shown["difference"] = one.difference
    return json.dumps(values, indent=2)
