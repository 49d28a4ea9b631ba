"""Two versions of a protocol side by side, on a terminal and for programs: what differs, and what that does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from independence_bench.analysis.compare_versions import VersionChange, VersionComparison, WordChange
from independence_bench.report.compare_view import (
    differences_view,
    paired_values,
    sides_view,
    statement,
    told_apart,
)
from independence_bench.report.encode import picked
from independence_bench.report.format import plural
from independence_bench.report.table import Block, Note, Prose

MOST_CHANGES = 8  # of one prompt; the rest is counted
LONGEST_CHANGE = 240  # characters of one side of a change
NOT_COMPARED = "The index is not compared: over fewer scenarios it is a different quantity."


def version_statement(one: VersionComparison) -> str:
    """What can be said of the two versions' indices, in words; A is the old one, B the new one."""
    return statement(one.found) if one.change.has_index else NOT_COMPARED


def what_settles(one: VersionComparison) -> str:
    """How many runs would tell the difference of the index from none; "" where nothing is to be said."""
    index, needed = one.found.scores.index, one.needed
    if index is None:
        return ""
    if told_apart(index.uncertainty.rerun):
        return "No more runs are needed to tell the two apart on this test."
    if needed is None:
        return "" if index.difference else "The indices are equal, so no number of runs would tell them apart."
    points = f"{abs(index.difference):.1f} points"
    if needed.both is None:
        return f"If the true difference is {points}, as it is now, no number of runs would show it."
    new = one.found.second.score.runs
    ways = [f"{needed.both} runs of each"]
    if needed.now is not None:
        ways.append(f"{plural(needed.now, 'run')} of B alone ({needed.now - new} more)")
    return (
        f"If the true difference is {points}, as it is now, {', or '.join(ways)}, would show it in 80 of 100 "
        "repetitions (aib run --runs)."
    )


def unlike_line(change: VersionChange) -> str:
    """What else than prompts differs, in a sentence; "" where nothing does."""
    if not change.unlike:
        return ""
    return (
        f"They differ in more than prompts ({'; '.join(change.unlike)}). Only what both ask and mark in the same words "
        "is compared."
    )


def change_lines(changes: tuple[WordChange, ...]) -> Iterator[tuple[str, str]]:
    """(sign, text) of each change, at most `MOST_CHANGES`: - what stood there, + what stands there now."""
    for one in changes[:MOST_CHANGES]:
        for sign, words in (("-", one.before), ("+", one.after)):
            if words:
                cut = words if len(words) <= LONGEST_CHANGE else f"{words[:LONGEST_CHANGE]} ..."
                yield (
                    sign,
                    " ".join(part for part in ("..." if one.left else "", one.left, f"[{cut}]", one.right) if part),
                )
    if len(changes) > MOST_CHANGES:
        yield "", f"and {len(changes) - MOST_CHANGES} more places"
    if not changes:
        yield "", "only white space differs"


def version_view(one: VersionComparison) -> Iterator[Block]:
    """What differs between the prompts, what can be said of that, and all differences, the largest first."""
    change = one.change
    yield from sides_view(one.found)
    for prompt in change.prompts:
        yield Note(("\nsystem prompt ", Prose(prompt.variant)), "")
        for sign, text in change_lines(prompt.changes):
            yield Note(Prose(f"  {sign} {text}"), {"-": "red", "+": "green"}.get(sign, "dim"))
    if change.same:
        yield Note(f"{', '.join(map(str, change.same))}: the same in both, and left out.")
    if unlike := unlike_line(change):
        yield Note(Prose(unlike))
    yield Note(f"\n{version_statement(one)}", "bold")
    if settles := what_settles(one):
        yield Note(settles)
    yield Note("")
    yield from differences_view(one.found)


def version_values(one: VersionComparison) -> dict[str, Any]:
    """All of it; points of 100."""
    change = one.change
    return paired_values(one.found) | {
        "versions": [picked(protocol, "name hash") for protocol in (change.old, change.new)],
        "prompts": change.prompts,
        "left_out": change.same,
        "unlike": change.unlike,
        "statement": version_statement(one),
        "runs_needed": one.needed,
        "settles": what_settles(one),
    }
