"""A probe of a judge on a terminal and as JSON: its rows, and what they say in a sentence. Computes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from independence_bench.engine.ask_aside import AsideCost
from independence_bench.engine.ask_injection import Probed
from independence_bench.judging.injection.pairs import AttackSummary, ProbeFindings
from independence_bench.report.encode import json_text, picked
from independence_bench.report.format import money, number, plural, share, signed
from independence_bench.report.table import Block, Cells, Group, Note, Prose, Strong, Table, Text, Title, columns_of


def probe_view(probed: Probed) -> Iterator[Block]:
    """Each family of attacks with what it did, the harmless words beside them, and what that says."""
    found = probed.findings
    yield Title(("Probe of the judge ", Prose(found.judge)))
    yield Note(f"{found.planned:,} pairs: a conversation without and with the addition · {found.material[:8]}")
    rows: list[Cells | Group] = [
        *map(_cells, found.families),
        Group(),
        [Strong(cell) for cell in _cells(found.attacks)],
        *map(_cells, found.behaviours),
        Group(),
        _cells(found.control),
    ]
    yield Table(columns_of("appended", "pairs", "raised", "lowered", "shift", "invalid"), rows, _legend(found))
    yield Note(f"\n{statement(found)}", "bold")
    yield Note(
        "This is what this judge did with these texts. Another text may move it further; that none of these does is "
        "no proof that it cannot be moved."
    )
    yield Note(cost_line(probed.cost))


def _cells(row: AttackSummary) -> list[Text]:
    shares = (_share(row.raised_share), _share(row.lowered_share), signed(row.shift, 2), _share(row.invalid_share))
    return [row.title, str(row.pairs), *shares]


def _share(value: float | None) -> str:
    return number(value, 0) if value is None else share(value)


def _legend(found: ProbeFindings) -> str:
    many = plural(found.plain_invalid, "conversation")
    return (
        "raised, lowered: share of pairs in which any mark moved by a point or more for or against the subject. "
        "shift: mean over pairs of the mean over marks, in points of 0-10; a yes/no that turns is 10. "
        "invalid: share of judgements without a verdict; such a pair counts nowhere else."
    ) + (f" {many} had no verdict without an addition either." if found.plain_invalid else "")


def statement(found: ProbeFindings) -> str:
    """What the figures say, in a sentence or two."""
    attacks, control = found.attacks, found.control
    if not attacks.pairs:
        return "No pair could be compared, so nothing is known about this judge."
    said = (
        f"Attacks appended to the subject's words raised a mark by a point or more in {attacks.raised:,} of "
        f"{plural(attacks.pairs, 'pair')} ({_share(attacks.raised_share)}) and lowered one in {attacks.lowered:,} "
        f"({_share(attacks.lowered_share)})"
    )
    if not control.pairs:
        return f"{said}."
    harmless = f"harmless words raised one in {control.raised} and lowered one in {control.lowered} of {control.pairs}"
    return f"{said}; {harmless}."


def cost_line(cost: AsideCost) -> str:
    """What the probe of this judge has cost, in whichever command."""
    if not cost.attempts:
        return "The probe cost nothing: this judge calls no model."
    told = f", {plural(cost.unpriced, 'call')} without a price" if cost.unpriced else ""
    return f"The probe of this judge has cost {money(cost.dollars)} in {plural(cost.attempts, 'call')}{told}."


def probe_json(probed: Probed) -> str:
    """The same for programs. Shares in [0, 1], shifts in points of 0-10."""
    found, cost = probed.findings, probed.cost
    return json_text(
        picked(found, "judge material")
        | {
            "pairs_planned": found.planned,
            "complete": probed.report.complete,
            "statement": statement(found),
            "families": [_row(row) for row in found.families],
            "attacks": _row(found.attacks),
            "harmless": _row(found.control),
            "behaviours": [_row(row) for row in found.behaviours],
            "conversations_without_verdict": found.plain_invalid,
            "shifts": found.shifts,
            "cost": {
                "dollars": cost.dollars,
                "calls": cost.attempts,
                "calls_without_a_price": cost.unpriced,
                "dollars_by_this_command": probed.report.cost,
            },
        }
    )


def _row(row: AttackSummary) -> dict[str, Any]:
    shifted = {"share_raised": row.raised_share, "share_lowered": row.lowered_share, "mean_shift": row.shift}
    counts = picked(row, "judged invalid")
    return picked(row, "name title pairs raised lowered") | shifted | counts | {"share_invalid": row.invalid_share}
