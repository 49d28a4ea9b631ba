"""An audit on a terminal, and as JSON. Formats what `analysis.audit` found; decides nothing."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from independence_bench.analysis.audit.audit import SEVERITIES, AuditReport, Finding, IndexChange, Severity
from independence_bench.analysis.audit.checks import Occurrence
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import load, shipped
from independence_bench.protocol.scoring import OWN
from independence_bench.report.encode import json_text, picked
from independence_bench.report.format import plural, signed
from independence_bench.report.table import Block, Note, Prose, Styled, Table, Title, columns_of

SHOWN = 5  # places of a finding, and rows that it moves, by default
NAMED = 8  # scenarios in one line
_STYLES = {"error": "bold red", "warning": "yellow", "note": "dim"}


def chosen(audit: AuditReport, lowest: Severity) -> tuple[Finding, ...]:
    """The findings of severity *lowest* or worse."""
    wanted = SEVERITIES[: SEVERITIES.index(lowest) + 1]
    return tuple(finding for finding in audit.findings if finding.kind.severity in wanted)


def with_word(findings: Sequence[Finding], word: str) -> tuple[Finding, ...]:
    """Those of *findings* that have *word* in their name or title, and of the others the places and effects with it."""
    kept = []
    for one in findings:
        if not _has(word, one.kind.name, one.kind.title):
            places = tuple(place for place in one.places if _has(word, place.label, place.scenario, place.detail))
            one = replace(one, places=places, effects=tuple(e for e in one.effects if _has(word, e.label)))
        if one.places:
            kept.append(one)
    return tuple(kept)


def _has(word: str, *texts: str) -> bool:
    return any(word.lower() in text.lower() for text in texts)


def audit_view(
    audit: AuditReport, lowest: Severity = "note", top: int = SHOWN, find: str | None = None
) -> Iterator[Block]:
    """A summary, then each finding with its first *top* places and how to see them.

    *find*: only what has this word in it. The numbers of the summary are those of all places.
    """
    every = chosen(audit, lowest)
    among = every if find is None else with_word(every, find)
    findings = [one for one in every if any(one.kind is kept.kind for kept in among)]
    yield Title(("Audit of ", Prose(audit.protocol.called)))
    rules = "" if audit.rules == OWN.name else f" · {audit.rules} rules, not our own"
    yield Note(
        f"{plural(audit.conversations, 'conversation')}; recomputed from raw bodies: "
        f"{plural(audit.replies, 'reply', 'replies')}, {plural(audit.verdicts, 'judgement')}, "
        f"{plural(audit.indices, 'index', 'indices')}{rules}"
    )
    if not findings:
        yield Note(f"Nothing was found{'' if lowest == 'note' else f' of severity {lowest} or worse'}.", "")
        return
    yield Table(
        columns_of("severity", "finding", "places", "subjects", "without it", words=2),
        [
            (
                *(Styled(one.kind.severity, _STYLES[one.kind.severity]), one.kind.title, f"{one.count:,}"),
                *(str(one.subjects or "–"), signed(one.change)),
            )
            for one in findings
        ],
        "error: the number is wrong, or does not follow from its records; warning: it is weaker than it looks, or "
        "missing; note: worth knowing. places: conversations or records with the finding; without it: the largest "
        "change of a subject's index, in points, if the runs with the finding are left out; a dash: no other run is "
        "left, or there was no index. See docs/audit.md.",
        gap=2,
        brief="without it: the largest change of a subject's index, in points, if the runs with the finding are left "
        "out.",
    )
    if len(findings) < len(every):
        yield Note(f"Shown: {len(findings)} of {plural(len(every), 'finding')}.")
    for finding in among:
        yield from _finding(finding, audit.protocol, top)


def _finding(finding: Finding, protocol: Protocol, top: int) -> Iterator[Block]:
    kind = finding.kind
    yield Title((Styled(kind.severity, _STYLES[kind.severity]), f": {kind.title}"), aside=f"  {kind.name}")
    yield Note(kind.meaning, indent=2)
    yield from _first(fold(finding.places), 2, top)
    if to_read := next((place for place in finding.places if place.transcript), None):
        yield Note(Prose(show_command(to_read, protocol)), "cyan", 2)
    if moved := sorted(finding.effects, key=lambda one: (one.change is None, -abs(one.change or 0.0), one.label)):
        yield Note("without these runs:", indent=2)
        several = len({effect.judge for effect in moved}) > 1
        yield from _first([_effect(effect, several) for effect in moved], 4, top)


def _first(lines: Sequence[str], indent: int, top: int) -> Iterator[Block]:
    for line in lines[:top]:
        yield Note(Prose(line), "", indent)
    if len(lines) > top:
        yield Note(f"and {len(lines) - top:,} more (--top shows more, --json all)", "dim", indent)


def fold(places: Sequence[Occurrence]) -> list[str]:
    """A line for each place; one for all conversations of a run with which the same is wrong, naming the first few."""
    lines: dict[tuple[str, int | None, str], list[str]] = {}
    for place in places:
        lines.setdefault((place.label, place.run, place.detail), []).append(place.scenario)
    told = []
    for (label, run, detail), scenarios in lines.items():
        named = [name if times == 1 else f"{name} x {times}" for name, times in Counter(scenarios).items() if name]
        if len(named) > NAMED:
            named = [*named[:NAMED], f"and {len(named) - NAMED} more"]
        where = ", ".join(part for part in (label, f"run {run}" if run else "", *named) if part)
        told.append(f"{where}: {detail}" if where else detail)
    return told


def show_command(place: Occurrence, protocol: Protocol) -> str:
    """How to read the conversation at *place*."""
    name = protocol.name
    if name in shipped() and load(name).hash != protocol.hash:
        name = protocol.hash[:12]
    words = ["aib", "show", place.label, place.scenario, "--run", str(place.run), "--protocol", name]
    if place.configuration is not None and place.configuration not in protocol.configurations[:1]:
        words += ["--variants", place.configuration.system, "--delivery", place.configuration.delivery]
    return shlex.join(words)


def _effect(effect: IndexChange, name_judge: bool) -> str:
    now = "no index" if effect.index is None else f"{effect.index:.1f}"
    by = f" by {effect.judge}" if name_judge and effect.judge else ""
    if effect.without is None:
        return f"{effect.label}{by}: {now}; no other run has one"
    return f"{effect.label}{by}: {now} -> {effect.without:.1f} over {effect.left} of {plural(effect.runs, 'run')}"


# ---------------------------------------------------------------- for programs


def audit_json(audit: AuditReport, lowest: Severity = "note") -> str:
    """All of it."""
    shown = picked(audit, "protocol weighting=protocol.weights rules conversations")  # weighting null: its own
    read = picked(audit, "replies judgements=verdicts indices")
    return json_text(shown | {"read_again": read, "errors": audit.errors, "findings": chosen(audit, lowest)})
