"""The costs of a store and its audit, rendered for a terminal and as JSON. Formats the results of
`analysis`; decides nothing.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from independence_bench.analysis.audit import (
    SEVERITIES,
    AuditReport,
    Finding,
    IndexChange,
    Occurrence,
    Severity,
)
from independence_bench.analysis.costs import Costs, ModelCost, Paid
from independence_bench.figures import money, plural, signed
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import load, shipped
from independence_bench.protocol.scoring import OWN
from independence_bench.report.encode import json_text
from independence_bench.report.table import (
    Block,
    Cells,
    Legend,
    Note,
    Prose,
    Strong,
    Styled,
    Table,
    Text,
    Title,
    columns_of,
)

NOT_KEPT = "before commands were recorded"
LIBRARY = "a program that uses the library"

# column, what it shows (left out where that is nothing throughout), what that means
COLUMNS: tuple[tuple[str, Callable[[Paid], str], str], ...] = (
    ("calls", lambda paid: f"{paid.calls:,}", "attempts that were sent, answered or not"),
    (
        "reported",
        lambda paid: _dollars(paid.dollars) if paid.dollars else "",
        "dollars that the providers reported",
    ),
    (
        "computed",
        lambda paid: _dollars(paid.computed_dollars) if paid.computed_dollars else "",
        "where they reported none, dollars by the tokens and the list price of that time",
    ),
    (
        "list price",
        lambda paid: _dollars(paid.listed) if paid.listed else "",
        "the same calls at the list price of that time, every token in full; providers charge less "
        "for cached tokens",
    ),
    (
        "no price",
        lambda paid: f"{paid.unknown:,}" if paid.unknown else "",
        "calls whose cost is unknown, lost ones and those in flight included",
    ),
)


def costs_view(costs: Costs, store: str) -> Iterator[Block]:
    """Render all costs of a store: by command, by judge and by model. *store*: where it is."""
    if not costs.whole.calls:
        yield Note((Prose(store), " holds no paid calls."), "")
    else:
        yield Title((Prose(store), f": {_in_words(costs.whole)}"))
        commands: list[tuple[Text, Paid]] = []
        for command in costs.commands:
            began = f"{datetime.fromtimestamp(command.began_at, UTC):%Y-%m-%d %H:%M UTC}  "
            commands.append(
                (
                    (began, NOT_KEPT if command.typed is None else Prose(command.typed or LIBRARY)),
                    command.paid,
                )
            )
        yield from _tables(
            costs.whole,
            ("command", commands, costs.whole),
            ("judge: judgements", _lines(costs.judges), costs.judgements),
            ("model: replies", _lines(costs.subjects), costs.replies),
        )
    if (theirs := costs.imported) is not None:
        yield Title(f"As imported, not paid by this store: {_in_words(theirs.whole)}")
        yield from _tables(
            theirs.whole,
            ("judge: judgements", _lines(theirs.judges), theirs.judgements),
            ("model: replies", _lines(theirs.subjects), theirs.replies),
        )


def _tables(all_of: Paid, *parts: tuple[str, Sequence[tuple[Text, Paid]], Paid]) -> Iterator[Block]:
    """Render the meaning of the columns, then a table for each of *parts*: the heading of its first
    column, its lines, and their sum.
    """
    columns = [column for column in COLUMNS if column[1](all_of)]
    yield Legend("; ".join(f"{name}: {meaning}" for name, _, meaning in columns) + ".", "")
    for title, lines, whole in parts:
        if lines:
            rows: list[Cells] = [
                (name, *(show(paid) for _, show, _ in columns)) for name, paid in lines
            ]
            total = [Strong(cell) for cell in ("total", *(show(whole) for _, show, _ in columns))]
            yield Note("")
            heads = columns_of(f"by {title}", *(name for name, *_ in columns))
            yield Table(heads, rows, long=True, total=total if len(rows) > 1 else None)


def _in_words(paid: Paid) -> str:
    """Describe what was paid: "$1.20 reported and $0.30 computed, 12 calls"."""
    parts = [f"{money(paid.dollars)} reported"] if paid.dollars else []
    parts += [f"{money(paid.computed_dollars)} computed"] if paid.computed_dollars else []
    return " and ".join(parts or [money(0.0)]) + f", {plural(paid.calls, 'call')}"


def _lines(parts: Iterable[ModelCost]) -> list[tuple[Text, Paid]]:
    """Return a name and a payment for each model."""
    return [(Prose(part.name), part.paid) for part in parts]


def _dollars(dollars: float) -> str:
    """Format dollars with four decimals, so that columns can be added up by eye; less than that
    reads <$0.0001.
    """
    return "<$0.0001" if 0 < dollars < 0.00005 else f"${dollars:,.4f}"


def costs_json(costs: Costs) -> str:
    """Return *costs* as JSON, with every field."""
    return json.dumps(asdict(costs), indent=2)


SHOWN = 5  # places of a finding, and rows that it moves, by default
NAMED = 8  # scenarios in one line
_STYLES = {"error": "bold red", "warning": "yellow", "note": "dim"}


def chosen(audit: AuditReport, lowest: Severity) -> tuple[Finding, ...]:
    """Return the findings of severity *lowest* or worse."""
    wanted = SEVERITIES[: SEVERITIES.index(lowest) + 1]
    return tuple(finding for finding in audit.findings if finding.kind.severity in wanted)


def audit_view(audit: AuditReport, lowest: Severity, top: int) -> Iterator[Block]:
    """Render an audit: a summary, then each finding with its first *top* places and how to see
    them.
    """
    findings = chosen(audit, lowest)
    yield Title(("Audit of ", Prose(audit.protocol.called)))
    rules = "" if audit.rules == OWN.name else f" · {audit.rules} rules, not our own"
    yield Note(
        f"{plural(audit.conversations, 'conversation')}; recomputed from raw bodies: "
        f"{plural(audit.replies, 'reply', 'replies')}, {plural(audit.verdicts, 'judgement')}, "
        f"{plural(audit.indices, 'index', 'indices')}{rules}"
    )
    if not findings:
        yield Note(
            f"Nothing was found{'' if lowest == 'note' else f' of severity {lowest} or worse'}.", ""
        )
        return
    yield Table(
        columns_of("severity", "finding", "places", "subjects", "without it", words=2),
        [
            (
                *(
                    Styled(one.kind.severity, _STYLES[one.kind.severity]),
                    one.kind.title,
                    f"{one.count:,}",
                ),
                *(str(one.subjects or "–"), signed(one.change)),
            )
            for one in findings
        ],
        "error: the number is wrong, or does not follow from its records; warning: a number is "
        "missing; note: it cannot be checked. places: conversations or records with the finding; "
        "without it: the largest change of a subject's index, in points, if the runs with the "
        "finding are left out; a dash: no other run is left, or there was no index. See "
        "docs/audit.md.",
        gap=2,
        brief="without it: the largest change of a subject's index, in points, if the runs with "
        "the finding are left out.",
    )
    for finding in findings:
        yield from _finding(finding, audit.protocol, top)


def _finding(finding: Finding, protocol: Protocol, top: int) -> Iterator[Block]:
    """Render one finding: its meaning, its first *top* places, and the indices that it moves."""
    kind = finding.kind
    yield Title(
        (Styled(kind.severity, _STYLES[kind.severity]), f": {kind.title}"), aside=f"  {kind.name}"
    )
    yield Note(kind.meaning, indent=2)
    yield from _first(fold(finding.places), 2, top)
    if to_read := next((place for place in finding.places if place.transcript), None):
        yield Note(Prose(show_command(to_read, protocol)), "cyan", 2)
    if moved := sorted(
        finding.effects,
        key=lambda effect: (effect.change is None, -abs(effect.change or 0.0), effect.label),
    ):
        yield Note("without these runs:", indent=2)
        several = len({effect.judge for effect in moved}) > 1
        yield from _first([_effect(effect, several) for effect in moved], 4, top)


def _first(lines: Sequence[str], indent: int, top: int) -> Iterator[Block]:
    """Render the first *top* of *lines*, and how many more there are."""
    for line in lines[:top]:
        yield Note(Prose(line), "", indent)
    if len(lines) > top:
        yield Note(f"and {len(lines) - top:,} more (--top shows more, --json all)", "dim", indent)


def fold(places: Sequence[Occurrence]) -> list[str]:
    """Return a line for each place. Conversations of one run with the same problem share a line,
    which names the first few.
    """
    lines: dict[tuple[str, int | None, str], list[str]] = {}
    for place in places:
        lines.setdefault((place.label, place.run, place.detail), []).append(place.scenario)
    facts = []
    for (label, run, detail), scenarios in lines.items():
        named = [
            name if times == 1 else f"{name} x {times}"
            for name, times in Counter(scenarios).items()
            if name
        ]
        if len(named) > NAMED:
            named = [*named[:NAMED], f"and {len(named) - NAMED} more"]
        where = ", ".join(part for part in (label, f"run {run}" if run else "", *named) if part)
        facts.append(f"{where}: {detail}" if where else detail)
    return facts


def show_command(place: Occurrence, protocol: Protocol) -> str:
    """Return the command that shows the conversation at *place*."""
    name = protocol.name
    if name in shipped() and load(name).hash != protocol.hash:
        name = protocol.hash[:12]
    words = [
        "aib",
        "show",
        place.label,
        place.scenario,
        "--run",
        str(place.run),
        "--protocol",
        name,
    ]
    if place.configuration is not None and place.configuration not in protocol.configurations[:1]:
        words += [
            "--variants",
            place.configuration.system,
            "--delivery",
            place.configuration.delivery,
        ]
    return shlex.join(words)


def _effect(effect: IndexChange, name_judge: bool) -> str:
    """Describe how an index changes without the runs that have the finding."""
    now = "no index" if effect.index is None else f"{effect.index:.1f}"
    by = f" by {effect.judge}" if name_judge and effect.judge else ""
    if effect.without is None:
        return f"{effect.label}{by}: {now}; no other run has one"
    return (
        f"{effect.label}{by}: {now} -> {effect.without:.1f} over {effect.left} of "
        f"{plural(effect.runs, 'run')}"
    )


# ---------------------------------------------------------------- for programs


def audit_json(audit: AuditReport, lowest: Severity = "note") -> str:
    """Return the whole audit as JSON, with the findings of severity *lowest* or worse."""
    return json_text(
        {
            "protocol": audit.protocol,
            "weighting": audit.protocol.weights,  # null: its own
            "rules": audit.rules,
            "conversations": audit.conversations,
            "read_again": {
                "replies": audit.replies,
                "judgements": audit.verdicts,
                "indices": audit.indices,
            },
            "errors": audit.errors,
            "findings": chosen(audit, lowest),
        }
    )
