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
from independence_bench.figures import format_count, format_difference, format_dollars
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import list_shipped, load_protocol
from independence_bench.protocol.scoring import OWN
from independence_bench.report.encode import format_json
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
    make_columns,
)

NOT_KEPT = "before commands were recorded"
LIBRARY = "a program that uses the library"

# column, what it shows (left out where that is nothing throughout), what that means
COLUMNS: tuple[tuple[str, Callable[[Paid], str], str], ...] = (
    ("calls", lambda paid: f"{paid.calls:,}", "attempts that were sent, answered or not"),
    (
        "reported",
        lambda paid: _format_four_decimals(paid.dollars) if paid.dollars else "",
        "dollars that the providers reported",
    ),
    (
        "computed",
        lambda paid: _format_four_decimals(paid.computed_dollars) if paid.computed_dollars else "",
        "where they reported none, dollars by the tokens and the list price of that time",
    ),
    (
        "list price",
        lambda paid: _format_four_decimals(paid.listed) if paid.listed else "",
        "the same calls at the list price of that time, every token in full; providers charge less "
        "for cached tokens",
    ),
    (
        "no price",
        lambda paid: f"{paid.unknown:,}" if paid.unknown else "",
        "calls whose cost is unknown, lost ones and those in flight included",
    ),
)


JUDGE_CALLS = "judge: judgements, readings of names"


def render_costs(costs: Costs, store_place: str) -> Iterator[Block]:
    """Yield the output blocks that show what all calls of a store have cost: by command, by judge
    and by model, and separately for imported calls. *store_place*: the place of the store, as text.
    """
    if not costs.whole.calls:
        yield Note((Prose(store_place), " holds no paid calls."), "")
    else:
        yield Title((Prose(store_place), f" has cost {_describe_payment(costs.whole)}"))
        commands: list[tuple[Text, Paid]] = []
        for command in costs.commands:
            began = f"{datetime.fromtimestamp(command.began_at, UTC):%Y-%m-%d %H:%M UTC}  "
            commands.append(
                (
                    (began, NOT_KEPT if command.typed is None else Prose(command.typed or LIBRARY)),
                    command.paid,
                )
            )
        yield from _render_cost_tables(
            costs.whole,
            ("command", commands, costs.whole),
            (JUDGE_CALLS, _list_cost_lines(costs.judges), costs.judgements),
            ("model: replies", _list_cost_lines(costs.subjects), costs.replies),
        )
    if (theirs := costs.imported) is not None:
        yield Title(f"As imported, not paid by this store: {_describe_payment(theirs.whole)}")
        yield from _render_cost_tables(
            theirs.whole,
            (JUDGE_CALLS, _list_cost_lines(theirs.judges), theirs.judgements),
            ("model: replies", _list_cost_lines(theirs.subjects), theirs.replies),
        )


def _render_cost_tables(
    all_of: Paid, *parts: tuple[str, Sequence[tuple[Text, Paid]], Paid]
) -> Iterator[Block]:
    """Yield a legend of the cost columns, then a table for each of *parts*: the heading of its
    first column, its lines with their costs, and their sum. A column that is empty for *all_of*,
    the costs of all calls together, is left out.
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
            heads = make_columns(f"by {title}", *(name for name, *_ in columns))
            yield Table(heads, rows, long=True, total=total if len(rows) > 1 else None)


def _describe_payment(paid: Paid) -> str:
    """Describe what calls have cost, in dollars: "$1.20 reported and $0.30 computed, 12 calls"."""
    parts = [f"{format_dollars(paid.dollars)} reported"] if paid.dollars else []
    parts += [f"{format_dollars(paid.computed_dollars)} computed"] if paid.computed_dollars else []
    return " and ".join(parts or [format_dollars(0.0)]) + f", {format_count(paid.calls, 'call')}"


def _list_cost_lines(parts: Iterable[ModelCost]) -> list[tuple[Text, Paid]]:
    """Return for each model in *parts* its name and what its calls have cost."""
    return [(Prose(part.name), part.paid) for part in parts]


def _format_four_decimals(dollars: float) -> str:
    """Format *dollars* with four decimals, so that columns can be added up by eye; a positive
    amount below half of the last decimal reads <$0.0001.
    """
    return "<$0.0001" if 0 < dollars < 0.00005 else f"${dollars:,.4f}"


def format_costs_json(costs: Costs) -> str:
    """Return *costs*, the costs of a store, as JSON with every field."""
    return json.dumps(asdict(costs), indent=2)


SHOWN = 5  # places of a finding, and rows that it moves, by default
NAMED = 8  # scenarios in one line
_STYLES = {"error": "bold red", "warning": "yellow", "note": "dim"}


def select_findings(audit: AuditReport, lowest: Severity) -> tuple[Finding, ...]:
    """Return those findings of *audit* whose severity is *lowest* or worse."""
    wanted = SEVERITIES[: SEVERITIES.index(lowest) + 1]
    return tuple(finding for finding in audit.findings if finding.kind.severity in wanted)


def render_audit(audit: AuditReport, lowest: Severity, top: int) -> Iterator[Block]:
    """Yield the output blocks that show an audit of stored results: a summary, then each finding of
    severity *lowest* or worse with its first *top* occurrences and the command that shows one of
    them.
    """
    findings = select_findings(audit, lowest)
    yield Title(("Audit of ", Prose(audit.protocol.name_with_weights)))
    rules = "" if audit.rules == OWN.name else f" · {audit.rules} rules, not our own"
    problems = [one for one in findings if one.kind.severity != "note"]
    if problems:
        found = format_count(sum(len(one.places) for one in problems), "problem")
        yield Note(f"{found} of {format_count(len(problems), 'kind')} found.", "")
    elif findings:
        notes = format_count(sum(len(one.places) for one in findings), "record")
        yield Note(f"No number is wrong or missing; {notes} cannot be checked.", "")
    else:
        worse = "" if lowest == "note" else f" of severity {lowest} or worse"
        yield Note(f"Nothing was found{worse}.", "")
    yield Note(
        f"{format_count(audit.conversations, 'conversation')}; recomputed from raw bodies: "
        f"{format_count(audit.replies, 'reply', 'replies')}, "
        f"{format_count(audit.verdicts, 'judgement')}, "
        f"{format_count(audit.indices, 'index', 'indices')}{rules}"
    )
    if not findings:
        return
    yield Table(
        make_columns("severity", "finding", "places", "models", "without it", word_column_count=2),
        [
            (
                *(
                    Styled(one.kind.severity, _STYLES[one.kind.severity]),
                    one.kind.title,
                    f"{one.count:,}",
                ),
                *(str(one.subjects or "–"), format_difference(one.change)),
            )
            for one in findings
        ],
        "error: the number is wrong, or does not follow from its records; warning: a number is "
        "missing; note: it cannot be checked. places: conversations or records with the finding; "
        "without it: the largest change of a model's index, in points, if the runs with the "
        "finding are left out; a dash: no other run is left, or there was no index. See "
        "docs/data-formats.md.",
        gap=2,
        brief="without it: the largest change of a model's index, in points, if the runs with "
        "the finding are left out.",
    )
    for finding in findings:
        yield from _render_finding(finding, audit.protocol, top)


def _render_finding(finding: Finding, protocol: Protocol, top: int) -> Iterator[Block]:
    """Yield the output blocks for one audit finding: its meaning, its first *top* occurrences, and
    the indices that change if the runs with the finding are left out.
    """
    kind = finding.kind
    yield Title(
        (Styled(kind.severity, _STYLES[kind.severity]), f": {kind.title}"), aside=f"  {kind.name}"
    )
    yield Note(kind.meaning, indent=2)
    yield from _render_first_lines(describe_places(finding.places), 2, top)
    if to_read := next((place for place in finding.places if place.transcript), None):
        yield Note(Prose(format_show_command(to_read, protocol)), "cyan", 2)
    if moved := sorted(
        finding.effects,
        key=lambda effect: (
            effect.index_change_without_runs is None,
            -abs(effect.index_change_without_runs or 0.0),
            effect.label,
        ),
    ):
        yield Note("without these runs:", indent=2)
        several = len({effect.judge for effect in moved}) > 1
        yield from _render_first_lines(
            [_describe_index_change(effect, several) for effect in moved], 4, top
        )


def _render_first_lines(lines: Sequence[str], indent: int, top: int) -> Iterator[Block]:
    """Yield the first *top* of *lines* as notes, and a note that says how many more there are."""
    for line in lines[:top]:
        yield Note(Prose(line), "", indent)
    if len(lines) > top:
        yield Note(f"and {len(lines) - top:,} more (--top shows more, --json all)", "dim", indent)


def describe_places(places: Sequence[Occurrence]) -> list[str]:
    """Return the lines that name the *places* of an audit finding. Conversations of one run with
    the same problem share a line, which names the first few.
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


def format_show_command(place: Occurrence, protocol: Protocol) -> str:
    """Return the `aib show` command that prints the conversation at *place*, an occurrence of an
    audit finding.
    """
    name = protocol.name
    if name in list_shipped() and load_protocol(name).hash != protocol.hash:
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
            "--modes",
            place.configuration.delivery,
        ]
    return shlex.join(words)


def _describe_index_change(effect: IndexChange, name_judge: bool) -> str:
    """Describe how a model's index changes without the runs that have an audit finding: "A: 71.2 ->
    70.4 over 2 of 3 runs". *name_judge*: name the judge, too.
    """
    now = "no index" if effect.index is None else f"{effect.index:.1f}"
    by = f" by {effect.judge}" if name_judge and effect.judge else ""
    if effect.without is None:
        return f"{effect.label}{by}: {now}; no other run has one"
    return (
        f"{effect.label}{by}: {now} -> {effect.without:.1f} over {effect.left} of "
        f"{format_count(effect.runs, 'run')}"
    )


# ---------------------------------------------------------------- for programs


def format_audit_json(audit: AuditReport, lowest: Severity = "note") -> str:
    """Return the whole *audit* of stored results as JSON, with its findings of severity *lowest* or
    worse.
    """
    return format_json(
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
            "errors": audit.error_count,
            "findings": select_findings(audit, lowest),
        }
    )
