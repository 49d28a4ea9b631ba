"""An audit on a terminal, and as JSON. Formats what `audit.auditing` found; decides nothing."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from independence_bench.analysis.audit.audit import Audit, Finding, IndexChange
from independence_bench.analysis.audit.catalog import SEVERITIES, Severity
from independence_bench.analysis.audit.checks import Occurrence
from independence_bench.escape import label_text
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import load, shipped
from independence_bench.protocol.scoring import OWN
from independence_bench.report.format import plural, signed

SHOWN = 5  # places of a finding, and rows that it moves
_STYLES = {"error": "bold red", "warning": "yellow", "note": "dim"}


def chosen(audit: Audit, lowest: Severity) -> tuple[Finding, ...]:
    """The findings of severity *lowest* or worse."""
    wanted = SEVERITIES[: SEVERITIES.index(lowest) + 1]
    return tuple(finding for finding in audit.findings if finding.kind.severity in wanted)


def audit_view(audit: Audit, lowest: Severity = "note") -> RenderableType:
    """A summary, then each finding with its first places and how to see them."""
    findings = chosen(audit, lowest)
    title = Text(f"\nAudit of protocol {label_text(audit.protocol.called)}", style="bold")
    rules = "" if audit.rules == OWN.name else f" · {audit.rules} rules, not our own"
    read = (
        f"{plural(audit.conversations, 'conversation')}; read again from raw bodies: "
        f"{plural(audit.replies, 'reply', 'replies')}, {plural(audit.verdicts, 'judgement')}; "
        f"{plural(audit.indices, 'index', 'indices')} made again{rules}"
    )
    parts: list[RenderableType] = [title, Text(read, style="dim")]
    if findings:
        parts += [_summary(findings), Text(LEGEND, style="dim")]
        parts += [_finding(finding, audit.protocol) for finding in findings]
    else:
        worse = "" if lowest == "note" else f" of severity {lowest} or worse"
        parts.append(Text(f"Nothing was found{worse}."))
    return Group(*parts)


LEGEND = (
    "without it: the biggest change of a subject's index, in points, when the runs that it is in are left out and "
    "the mean of its other runs stands; – where none is left, or there was no index. See docs/audit.md."
)


def _summary(findings: Sequence[Finding]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    table.add_column("severity")
    table.add_column("finding", overflow="fold", ratio=1)
    for heading in ("places", "subjects", "without it"):
        table.add_column(heading, justify="right")
    for one in findings:
        severity = Text(one.kind.severity, style=_STYLES[one.kind.severity])
        table.add_row(severity, one.kind.title, f"{len(one.places):,}", str(one.subjects or "–"), signed(one.change))
    return table


def _finding(finding: Finding, protocol: Protocol) -> RenderableType:
    kind = finding.kind
    head = Text(f"\n{kind.severity}", style=_STYLES[kind.severity])
    head.append(f": {kind.title}", style="bold").append(f"  {kind.name}", style="not bold dim")
    lines: list[RenderableType] = [head, _indented(kind.meaning, 2, "dim")]
    folded = fold(finding.places)
    lines += [_indented(line, 2) for line in folded[:SHOWN]]
    lines += _more(len(folded) - SHOWN, 2)
    if to_read := next((place for place in finding.places if place.transcript), None):
        lines.append(_indented(show_command(to_read, protocol), 2, "cyan"))
    moved = sorted(finding.effects, key=_weight)
    if moved:
        lines.append(_indented("without these runs:", 2, "dim"))
        several = len({effect.judge for effect in moved}) > 1
        lines += [_indented(_effect(effect, several), 4) for effect in moved[:SHOWN]]
    return Group(*lines, *_more(len(moved) - SHOWN, 4))


def _more(count: int, by: int) -> list[RenderableType]:
    return [_indented(f"and {count:,} more (--json has all)", by, "dim")] if count > 0 else []


def fold(places: Sequence[Occurrence]) -> list[str]:
    """A line for each place; one for all conversations of a run with which the same is wrong."""
    lines: dict[tuple[str, int | None, str], list[str]] = {}
    for place in places:
        lines.setdefault((place.label, place.run, place.detail), []).append(place.scenario)
    told = []
    for (label, run, detail), scenarios in lines.items():
        named = [name if times == 1 else f"{name} x {times}" for name, times in Counter(scenarios).items() if name]
        where = ", ".join(part for part in (label, f"run {run}" if run else "", *named) if part)
        told.append(f"{where}: {detail}" if where else detail)
    return told


def _weight(effect: IndexChange) -> tuple[bool, float, str]:
    """The biggest change first."""
    return effect.change is None, -abs(effect.change or 0.0), effect.label


def _indented(text: str, by: int, style: str = "") -> Padding:
    return Padding(Text(label_text(text), style=style), (0, 0, 0, by))


def show_command(place: Occurrence, protocol: Protocol) -> str:
    """How to read the conversation at *place*."""
    name = protocol.name
    if name in shipped() and load(name).hash != protocol.hash:
        name = protocol.hash[:12]
    words = ["aib", "show", place.label, place.scenario, "--run", str(place.run), "--protocol", name]
    if place.configuration is not None and place.configuration not in protocol.configurations[:1]:
        words += ["--variants", place.configuration.system, "--modes", place.configuration.delivery]
    return shlex.join(words)


def _effect(effect: IndexChange, name_judge: bool) -> str:
    now = "no index" if effect.index is None else f"{effect.index:.1f}"
    by = f" by {effect.judge}" if name_judge and effect.judge else ""
    if effect.without is None:
        return f"{effect.label}{by}: {now}; no other run has one"
    return f"{effect.label}{by}: {now} -> {effect.without:.1f} over {effect.left} of {plural(effect.runs, 'run')}"


# ---------------------------------------------------------------- for programs


def audit_json(audit: Audit, lowest: Severity = "note") -> str:
    """All of it, in ASCII, so that a terminal obeys nothing in it. Absent is null."""
    shown = {
        "protocol": {"name": audit.protocol.name, "hash": audit.protocol.hash},
        "weighting": audit.protocol.weights,  # null: its own
        "rules": audit.rules,
        "conversations": audit.conversations,
        "read_again": {"replies": audit.replies, "judgements": audit.verdicts, "indices": audit.indices},
        "errors": audit.errors,
        "findings": [_finding_record(finding) for finding in chosen(audit, lowest)],
    }
    return json.dumps(shown, indent=2)


def _finding_record(finding: Finding) -> dict[str, Any]:
    kind = finding.kind
    return {
        "name": kind.name,
        "severity": kind.severity,
        "title": kind.title,
        "meaning": kind.meaning,
        "count": len(finding.places),
        "subjects": finding.subjects,
        "biggest_change": finding.change,
        "places": [
            {
                "subject": place.subject or None,
                "label": place.label or None,
                "run": place.run,
                "configuration": str(place.configuration) if place.configuration else None,
                "scenario": place.scenario or None,
                "transcript": place.transcript or None,
                "judge": place.judge,
                "detail": place.detail,
            }
            for place in finding.places
        ],
        "without_it": [
            {
                "label": effect.label,
                "judge": effect.judge,
                "configurations": list(effect.configurations),
                "index": effect.index,
                "index_without": effect.without,
                "runs": effect.runs,
                "runs_left": effect.left,
            }
            for effect in finding.effects
        ],
    }
