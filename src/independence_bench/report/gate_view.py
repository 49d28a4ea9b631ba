"""What a gate found: for a terminal and Markdown as blocks, for programs as JSON, for build servers
as JUnit's XML.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree import ElementTree

from independence_bench.analysis.compare_subjects import ScorePair
from independence_bench.analysis.gate import BuildComparison, Gate, ItemTest, Outcome, Resolution
from independence_bench.analysis.health import day_and_hour
from independence_bench.analysis.statistics.hypothesis_tests import Verdict
from independence_bench.analysis.uncertainty import INDEX
from independence_bench.escape import label_text
from independence_bench.report.board_view import examined_by
from independence_bench.report.compare_view import (
    score_cells,
    score_values,
)
from independence_bench.report.format import from_to, money, number, plural, signed
from independence_bench.report.keys import picked
from independence_bench.report.persona_view import crossed, quoted
from independence_bench.report.table import (
    Block,
    Legend,
    Name,
    Note,
    Passage,
    Prose,
    Table,
    Title,
    columns_of,
)

HEADS: dict[Verdict, str] = {
    "fail": "The gate fails",
    "pass": "The gate passes",
    "undecided": "The gate is undecided",
}
CODES: dict[Verdict, int] = {"pass": 0, "fail": 3, "undecided": 4}
SHOWN = 10  # scenarios, items
BRIEF = "difference: now minus before, in points of 100."
LEGEND = f"{BRIEF} CI: over very many runs of these scenarios. * significant among all differences of its table (Holm)."


def gate_view(gate: Gate) -> Iterator[Block]:
    """The verdict, then each build with its scores, what more runs would bring, and where it moved."""
    board, baseline = gate.board, gate.baseline
    where = " + ".join(map(str, board.configurations))
    yield Title(f"{HEADS[gate.verdict]}: {_in_a_word(gate)}")
    margin = "" if gate.margin is None else f" · margin {gate.margin:g} points"
    looks = f" · {plural(gate.looks, 'look')}" if gate.looks > 1 else ""
    yield Note(
        (
            Prose(board.protocol_name),
            " · ",
            Prose(where),
            " · judge: ",
            Name(baseline.judge),
            margin,
            looks,
        )
    )
    yield from examined_by(board)
    if gate.other_prompts:
        yield Note(
            "The system prompts differ from the baseline's; what is asked and marked is the same."
        )
    if (several := baseline.chosen_of) > 1:
        yield Note(
            f"The baseline is the best of {several} builds, so it may be better here than it will be again: the 5% is "
            f"divided by {several}."
        )
    for build in gate.builds:
        yield from _build(gate, build)
    if any(build.details and not build.unchanged for build in gate.builds):
        yield Legend(LEGEND, BRIEF)


def _in_a_word(gate: Gate) -> str:
    if any(build.crossings for build in gate.builds):
        return "a red line was crossed"
    if all(build.unchanged for build in gate.builds):
        return "nothing was played since the baseline"
    if any(build.items for build in gate.builds):
        return {
            "fail": "it gives way earlier than before",
            "pass": "it gives way no earlier than before",
            "undecided": "too few replays to tell whether it gives way earlier",
        }[gate.verdict]
    than = "than before" if gate.margin is None else f"by more than {gate.margin:g} points"
    return {
        "fail": f"worse {than}",
        "pass": f"not worse {than}",
        "undecided": "these runs are too few",
    }[gate.verdict]


def _build(gate: Gate, build: BuildComparison) -> Iterator[Block]:
    times = [run.finished_at for run in build.before.runs if run.finished_at is not None]
    since = f", {day_and_hour(min(times))}" if times else ""
    now = (
        f" ({plural(len(build.runs), 'run')})"
        if build.runs
        else " (no new run: these are the baseline's own)"
    )
    yield Title((Name(build.row.label), now), 3)
    yield Note(
        ("before: ", Name(build.before.label), f" ({plural(len(build.before.runs), 'run')}{since})")
    )
    for title in dict.fromkeys(crossing.title for crossing in build.crossings):
        of_line = [crossing for crossing in build.crossings if crossing.title == title]
        first = min(
            of_line, key=lambda crossing: (crossing.push is None, crossing.push or 0, crossing.run)
        )
        runs = plural(len({crossing.run for crossing in of_line}), "run")
        yield Note(Prose(f"It {crossed(first)}, in {runs}:"), "bold")
        yield Passage(quoted(first.text), indent=2, style="dim")
    for said, _ in statements(gate, build):
        yield Note(Prose(said), "bold")
    if build.items and build.items.p is not None:
        yield from _items(build.items)
    for reason in build.why_no_interval:
        yield Note(("There is ", Prose(reason), "."))
    if build.unchanged or build.details is None:
        return
    yield Note("Scores, which decide nothing here:" if build.items else "", "dim")
    yield Table(
        columns_of("score", "before", "now", "difference", "95% CI", ""),
        [score_cells(pair, 1) for pair in (*_decisive(build), *build.details.whole)],
    )
    if build.items:
        return
    moved = [pair for pair in build.details.in_scenarios if abs(pair.difference) >= 0.5]
    moved.sort(key=lambda pair: pair.difference)
    if moved:
        more = f"{SHOWN} of {len(moved)} that differ, the largest drops first."
        heads = ("scenario", "dimension", "before", "now", "difference", "95% CI", "")
        yield Note("")
        yield Table(
            columns_of(*heads, words=2),
            [score_cells(pair, 1) for pair in moved[:SHOWN]],
            more if len(moved) > SHOWN else "",
        )


def _decisive(build: BuildComparison) -> list[ScorePair]:
    """The index, where it decides; dimensions stand in the table anyway."""
    return [outcome.pair for outcome in build.outcomes if outcome.pair.dimension is None]


def _items(test: ItemTest) -> Iterator[Block]:
    """The items whose replays differ, the largest drops first; how many are as they were; which
    were not compared.
    """
    changes = [
        (sum(item.now) / len(item.now) - sum(item.before) / len(item.before), item)
        for item in test.items
    ]
    moved = sorted((pair for pair in changes if abs(pair[0]) > 1e-9), key=lambda pair: pair[0])
    if moved:
        yield Table(
            columns_of("item", "before", "now", "difference", "gave way before", "now", words=1),
            [
                (
                    Prose(item_change.title),
                    number(sum(item_change.before) / len(item_change.before), 1),
                    number(sum(item_change.now) / len(item_change.now), 1),
                    signed(change, 1),
                    _gave_way(item_change.before, test.pushes),
                    _gave_way(item_change.now, test.pushes),
                )
                for change, item_change in moved[:SHOWN]
            ],
            f"Pushes withstood of {test.pushes}, the mean over replays; the largest drops first.",
        )
    if same := len(test.items) - len(moved[:SHOWN]):
        more = "more item" if moved else "item"
        yield Note(
            f"{plural(same, more)} withstood {'about ' if len(moved) > SHOWN else ''}as many pushes as before."
        )
    if test.left_out:
        names = ", ".join(test.left_out[:SHOWN]) + (", ..." if len(test.left_out) > SHOWN else "")
        yield Note(
            Prose(f"Not compared, since changed or not played and read on both sides: {names}.")
        )


def _gave_way(values: Sequence[int], pushes: int) -> str:
    """In how many replays: "2 of 3"."""
    return f"{sum(value < pushes for value in values)} of {len(values)}"


def statements(gate: Gate, build: BuildComparison) -> list[tuple[str, Verdict]]:
    """What can be said of each score, or of all items, with its verdict."""
    if build.items is None:
        return [(statement(gate, build, outcome), outcome.verdict) for outcome in build.outcomes]
    return [(_of_items(build, build.items), build.items.verdict)]


def _of_items(build: BuildComparison, test: ItemTest) -> str:
    """What can be said of all items together, with what would decide it where it is open."""
    if test.p is None:
        changed = (
            f" Not compared, since changed: {', '.join(test.left_out)}." if test.left_out else ""
        )
        return f"Its items are the baseline's: none has been played since.{changed}"
    where = (
        f"{test.mean(now=False):.2f} of {test.pushes} pushes withstood before, {test.mean(now=True):.2f} now, over "
        f"{plural(len(test.items), 'item')} (p {_chance(test.p)})"
    )
    if test.verdict == "fail":
        return f"It gives way earlier: {where}."
    if not test.can_fall:
        return f"No item withstood a push before, so none can give way earlier: {where}."
    power = f"One push earlier in a third of the items fails in {100 * test.power:.0f} of 100 such gates"
    if test.verdict == "pass":
        return f"It gives way no earlier: {where}. {power}."
    needed = test.needed
    if needed is None or (needed.now is None and needed.both is None):
        few = (
            "not even in all items is found"
            if test.resolves is None
            else f"is found in {test.resolves} of the items"
        )
        return f"Undecided: {where}. {power}, and no number of runs makes it 80; one push earlier {few}."
    cost = (
        ""
        if build.run_dollars is None
        else f", about {money((needed.now or needed.both or 0) * build.run_dollars)}"
    )
    if needed.now is None:
        return (
            f"Undecided: {where}. {power}, and with this baseline no number of new runs makes it 80: "
            f"{needed.both} of each do{cost}."
        )
    more = max(needed.now - test.runs, 1)
    cost = "" if build.run_dollars is None else f", about {money(more * build.run_dollars)}"
    both = (
        f"; so do {needed.both} of each"
        if needed.both is not None and needed.both < needed.now
        else ""
    )
    return f"Undecided: {where}. {power}; with {plural(more, 'more run')} (--add-runs {more}{cost}) in 80{both}."


def _chance(p: float) -> str:
    return f"{p:.2f}" if p >= 0.095 else f"{p:.3f}" if p >= 0.0005 else "below .001"


def resolution(power: Resolution, run_dollars: float | None) -> str:
    """What a baseline can decide, in a sentence, with what a new build of that size costs."""
    if not power.items:
        if power.smallest_drop is None:
            return f"{plural(power.runs, 'run')} of a baseline can decide no drop"
        return f"with {plural(power.runs, 'run')} of each, {_decided(power.smallest_drop)}"
    needed = power.needed
    runs = needed.now if needed else None
    what = "one push earlier in a third of the items fails in 80 of 100 gates"
    if runs is None:
        both = needed.both if needed else None
        more = f"; {both} of each would" if both else ""
        few = f"{plural(power.items, 'item')}, {plural(power.runs, 'run')}"
        return f"{few}: no number of new runs shows {what.partition(' fails')[0]}{more}"
    cost = "" if run_dollars is None else f" (about {money(runs * run_dollars)})"
    return f"{plural(power.items, 'item')}: with {plural(runs, 'new run')}{cost} {what}"


def _decided(drop: float) -> str:
    return (
        f"a drop of {drop:.1f} points is the smallest that can be decided: it fails in 80 of 100 "
        "gates"
    )


def exit_code(gate: Gate) -> int:
    """Of a program that looks at *gate*: where no number of runs would decide, 1, as without a
    verdict.
    """
    return 1 if gate.verdict == "undecided" and not gate.decidable else CODES[gate.verdict]


def statement(gate: Gate, build: BuildComparison, outcome: Outcome) -> str:
    """What can be said of one score: how it differs, what is undecided, and the smallest drop that
    these runs can decide; our own words but for the title.
    """
    what = label_text(outcome.pair.dimension.title) if outcome.pair.dimension else "The index"
    if build.unchanged:
        return f"{what} is the baseline's: no conversation has been played since."
    if outcome.interval is None:
        return f"{what} cannot be compared: the difference of {signed(outcome.pair.difference)} points has no interval."
    than = "" if gate.margin is None else f" by more than {gate.margin:g} points"
    said = {
        "fail": f"is worse{than}",
        "pass": f"is not worse{than}",
        "undecided": f"is undecided: {_needed(build, outcome)}",
    }[outcome.verdict]
    drop = (
        "no drop can be decided"
        if outcome.smallest_drop is None
        else _decided(outcome.smallest_drop)
    )
    single = ", paired by scenario because no build has two" if outcome.over_scenarios else ""
    return (
        f"{what} {said} ({signed(outcome.pair.difference)} points, from {from_to(outcome.interval)}). "
        f"With {len(build.runs)} and {plural(len(build.before.runs), 'run')}{single}, {drop}."
    )


def _needed(build: BuildComparison, outcome: Outcome) -> str:
    """How many runs would decide, and what they cost."""
    needed = outcome.needed
    runs = needed and (needed.now or needed.both)
    if needed is None or not runs:
        return "no number of runs would decide so small a difference"
    more = runs - len(build.runs)
    cost = "" if build.run_dollars is None else f", about {money(more * build.run_dollars)}"
    each = "" if needed.now else " of each build"
    return f"needs {runs} runs{each} ({more} more: --add-runs {more}{cost})"


# ---------------------------------------------------------------- for programs


def gate_values(gate: Gate) -> dict[str, Any]:
    """All of it; points of 100. *exit* is the exit code."""

    def build(one: BuildComparison) -> dict[str, Any]:
        return {
            "label": one.row.label,
            "hash": one.row.subject.hash,
            "runs": one.runs,
            "before": {
                "label": one.before.label,
                "hash": one.before.hash,
                "runs": [run.run for run in one.before.runs],
            },
            "unchanged": one.unchanged,
            "crossings": one.crossings,
            "dollars_a_run": one.run_dollars,
            "scores": [
                picked(
                    outcome,
                    "score=pair.dimension.name title=pair.dimension.title before=pair.first now=pair.second",
                )
                | ({} if outcome.pair.dimension else {"score": INDEX, "title": INDEX})
                | picked(
                    outcome,
                    "difference=pair.difference verdict interval over_scenarios smallest_drop needed",
                )
                | {"statement": statement(gate, one, outcome)}
                for outcome in one.outcomes
            ],
            "items": one.items
            and picked(one.items, "items left_out pushes p level power verdict needed resolves")
            | {"statement": statements(gate, one)[0][0]},
            "no_interval_because": one.why_no_interval,
            "dimensions": [score_values(each, "before", "now") for each in one.details.whole]
            if one.details
            else [],
            "scenarios": [score_values(each, "before", "now") for each in one.details.in_scenarios]
            if one.details
            else [],
        }

    return {
        "verdict": gate.verdict,
        "exit": exit_code(gate),
        "protocol": picked(gate.board.protocol, "name hash")
        | {"baseline_hash": gate.baseline.protocol_hash},
        **picked(
            gate,
            "configurations=board.configurations judge=baseline.judge judge_exam=board.exam margin level looks "
            "chosen_of=baseline.chosen_of",
        ),
        "builds": [build(comparison) for comparison in gate.builds],
    }


def junit(gate: Gate) -> str:
    """JUnit's XML: a test case for each score of each build. Undecided is an error.

    A build that crosses red lines has one more, a failure.
    """
    cases = [
        (build, name, label_text(message), verdict)
        for build in gate.builds
        for name, (message, verdict) in zip(_names(build), statements(gate, build), strict=True)
    ]
    crossing = [build for build in gate.builds if build.crossings]
    counts = {verdict: sum(given == verdict for *_, given in cases) for verdict in CODES}
    failures = counts["fail"] + len(crossing)
    numbers = {
        "tests": len(cases) + len(crossing),
        "failures": failures,
        "errors": counts["undecided"],
        "skipped": 0,
    }
    attributes = {"name": f"aib gate {label_text(gate.board.protocol_name)}"} | {
        name: str(number) for name, number in numbers.items()
    }
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite", attributes)
    for build in crossing:
        case = ElementTree.SubElement(
            suite, "testcase", {"classname": label_text(build.row.label), "name": "red lines"}
        )
        message = label_text(
            "; ".join(
                f"{crossed(crossing)}, run {crossing.run}: {quoted(crossing.text)}"
                for crossing in build.crossings
            )
        )
        ElementTree.SubElement(
            case, "failure", {"type": "crossed", "message": message}
        ).text = message
    for build, name, message, verdict in cases:
        case = ElementTree.SubElement(
            suite, "testcase", {"classname": label_text(build.row.label), "name": name}
        )
        if verdict == "fail":
            ElementTree.SubElement(
                case, "failure", {"type": "worse", "message": message}
            ).text = message
        elif verdict == "undecided":
            ElementTree.SubElement(
                case, "error", {"type": "undecided", "message": message}
            ).text = message
        else:
            ElementTree.SubElement(case, "system-out").text = message
    ElementTree.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suites, encoding="unicode")}\n'


def _names(build: BuildComparison) -> list[str]:
    """Of what each of `statements` is about."""
    if build.items:
        return ["items"]
    return [
        label_text(outcome.pair.dimension.title) if outcome.pair.dimension else INDEX
        for outcome in build.outcomes
    ]
