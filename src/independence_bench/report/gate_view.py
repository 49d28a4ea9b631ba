"""The verdict of a gate: blocks for a terminal and Markdown, JSON for programs, JUnit's XML for
build servers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from statistics import fmean
from typing import Any
from xml.etree import ElementTree

from independence_bench.analysis.compare_subjects import ScorePair
from independence_bench.analysis.gate import (
    Gate,
    ItemTest,
    Outcome,
    Resolution,
    choose_runs_to_add,
)
from independence_bench.analysis.statistics.hypothesis_tests import Verdict
from independence_bench.analysis.statistics.item_tests import DROP_SHARE, MOST_RUNS
from independence_bench.analysis.uncertainty import INDEX
from independence_bench.escape import escape_line
from independence_bench.figures import (
    format_count,
    format_difference,
    format_difference_interval,
    format_dollars,
    format_number,
)
from independence_bench.report.board_view import make_exam_legend
from independence_bench.report.compare_view import format_score_title
from independence_bench.report.encode import convert_value_one_level
from independence_bench.report.persona_view import describe_crossed_red_line, quote_text
from independence_bench.report.table import (
    Block,
    Name,
    Note,
    Passage,
    Prose,
    Table,
    Title,
    make_columns,
)

HEADS: dict[Verdict, str] = {
    "fail": "The gate fails",
    "pass": "The gate passes",
    "undecided": "The gate is undecided",
}
CODES: dict[Verdict, int] = {"pass": 0, "fail": 3, "undecided": 4}
DROP = "that a third of the items give in one push earlier"
SHOWN = 5  # largest changes that are listed


def render_gate(gate: Gate) -> Iterator[Block]:
    """Yield the output blocks of `aib gate`: whether a new build is worse than its baseline, how
    more runs would decide it, and the largest changes.
    """
    board, before, items = gate.board, gate.before, gate.items
    yield Title(f"{HEADS[gate.verdict]}: {_describe_verdict(gate)}")
    margin = "" if gate.margin is None else f" · margin {gate.margin:g} points"
    looks = f" · tested {gate.looks} times" if gate.looks > 1 else ""
    judge = (" · judge: ", Name(gate.baseline.judge.label))
    where = (
        ()
        if len(board.protocol.systems) == 1  # there is nothing to choose
        else (" · ", Prose(" + ".join(map(str, board.configurations))))
    )
    yield Note((Prose(board.shown_protocol_name), *where, *judge, margin, looks))
    yield from make_exam_legend(board)
    if gate.has_other_prompts:
        yield Note(
            "The system prompts differ from the baseline's; what is asked and scored is the same."
        )
    now = (
        format_count(len(gate.runs), "run")
        if gate.runs
        else "no new run: these are the baseline's own"
    )
    yield Title((Name(gate.row.label), f" ({now})"), 3)
    times = [run.finished for run in before.runs if run.finished is not None]
    since = f", {min(times)[:10]}" if times else ""
    yield Note(
        ("before: ", Name(before.label), f" ({format_count(len(before.runs), 'run')}{since})")
    )
    if gate.has_no_common_day:
        yield Note(
            "Baseline and build were played on different days, and a day cannot be told from a "
            "build: play the baseline again today (`aib rerun`), and write it again."
        )
    for title in dict.fromkeys(crossing.title for crossing in gate.crossings):
        of_line = [crossing for crossing in gate.crossings if crossing.title == title]
        first = min(
            of_line, key=lambda crossing: (crossing.push is None, crossing.push or 0, crossing.run)
        )
        runs = format_count(len({crossing.run for crossing in of_line}), "run")
        yield Note(Prose(f"It {describe_crossed_red_line(first)}, in {runs}:"), "bold")
        yield Passage(quote_text(first.text), indent=2, style="dim")
    # the title has the number of runs that an undecided test of items needs
    found = _describe_item_test(items) if items else describe_gate(gate)
    yield Note(Prose(found), "bold")
    for reason in _explain_missing_intervals(gate):
        yield Note(("There is ", Prose(reason), "."))
    if gate.runs:
        yield from _render_moved_scores(gate) if items is None else _render_moved_items(items)


def _explain_missing_intervals(gate: Gate) -> tuple[str, ...]:
    """Return the reasons why a gate's difference of the index has no interval; () if there are
    none.
    """
    return () if isinstance(gate.decided, ItemTest) else gate.decided.why_no_interval


def _describe_verdict(gate: Gate) -> str:
    """Describe a gate's verdict in a few words, such as "not worse than before"."""
    if gate.crossings:
        return "a red line was crossed"
    if not gate.runs:
        return "nothing was played since the baseline, so nothing was tested"
    if gate.items:
        return {
            "fail": "it gives in earlier than before",
            "pass": "it is not shown to give in earlier",
            "undecided": describe_item_runs_needed(gate.items, gate.run_dollars),
        }[gate.verdict]
    than = "than before" if gate.margin is None else f"by more than {gate.margin:g} points"
    return {
        "fail": f"worse {than}",
        "pass": f"not worse {than}",
        "undecided": "these runs are too few",
    }[gate.verdict]


def _render_moved_scores(gate: Gate) -> Iterator[Block]:
    """Yield a table of the largest changes from the baseline to the new build: scores of dimensions
    in single scenarios; nothing if none changed by half a point.
    """
    pairs = gate.details.scenario_scores if gate.details else []
    moved = sorted(
        (pair for pair in pairs if abs(pair.difference) >= 0.5), key=lambda pair: pair.difference
    )
    if moved:
        yield Note("")
        yield Table(
            make_columns(
                "scenario", "dimension", "before", "now", "difference", word_column_count=2
            ),
            [
                (
                    *(Name(pair.scenario or ""), format_score_title(pair)),
                    *(
                        format_number(pair.first, 1),
                        format_number(pair.second, 1),
                        format_difference(pair.difference, 1),
                    ),
                )
                for pair in moved[:SHOWN]
            ],
            _describe_listed_changes(len(moved)),
        )


def _render_moved_items(test: ItemTest) -> Iterator[Block]:
    """Yield a table of the items that changed most from the baseline to the new build, and a note
    on those that were not compared.
    """
    means = [(fmean(item.before), fmean(item.now), item) for item in test.items]
    moved = sorted((row for row in means if row[0] != row[1]), key=lambda row: row[1] - row[0])
    if moved:
        yield Table(
            make_columns(
                "item", "before", "now", "difference", "gave in before", "now", word_column_count=1
            ),
            [
                (
                    Prose(item.title),
                    format_number(before, 1),
                    format_number(now, 1),
                    format_difference(now - before, 1),
                    _format_give_in_count(item.before, test.pushes),
                    _format_give_in_count(item.now, test.pushes),
                )
                for before, now, item in moved[:SHOWN]
            ],
            f"Pushes withstood of {test.pushes}, the mean over replays. "
            f"{_describe_listed_changes(len(moved))}".strip(),
        )
    if test.left_out:
        names = ", ".join(test.left_out[:SHOWN]) + (", ..." if len(test.left_out) > SHOWN else "")
        yield Note(
            Prose(f"Not compared, since changed or not played and read on both sides: {names}.")
        )


def _describe_listed_changes(changed: int) -> str:
    """Say how many of *changed* changes are listed: "5 of 12 that changed, the largest drops
    first."; "" if all are.
    """
    return f"The {SHOWN} largest drops of {changed} changes." if changed > SHOWN else ""


def _format_give_in_count(withstood_per_replay: Sequence[int], pushes: int) -> str:
    """Return in how many replays of an item the model gave in: "2 of 3". *withstood_per_replay*:
    the number of pressure turns withstood in each replay, of *pushes*.
    """
    return f"{sum(value < pushes for value in withstood_per_replay)} of {len(withstood_per_replay)}"


def describe_gate(gate: Gate) -> str:
    """Sum up in one or two sentences how a new build compares with its baseline, by the index or by
    all items together, and what would decide the gate.
    """
    decided = gate.decided
    if isinstance(decided, ItemTest):
        found = _describe_item_test(decided)
        if decided.verdict != "undecided":
            return found
        return f"Undecided: {describe_item_runs_needed(decided, gate.run_dollars)}. {found}"
    if not gate.runs:
        return "The index is the baseline's: no conversation has been played since."
    points = f"{format_difference(decided.pair.difference)} points"
    if decided.interval is None:
        return f"The index cannot be compared: the difference of {points} has no interval."
    than = "" if gate.margin is None else f" by more than {gate.margin:g} points"
    said = {
        "fail": f"is worse{than}",
        "pass": f"is not worse{than}",
        "undecided": f"is undecided: {_describe_needed_runs(gate, decided)}",
    }[decided.verdict]
    drop = (
        "no drop can be decided"
        if decided.smallest_drop is None
        else _describe_smallest_drop(decided.smallest_drop)
    )
    single = ", paired by scenario because no build has two" if decided.over_scenarios else ""
    return (
        f"The index {said} ({points}, from {format_difference_interval(decided.interval)}). With "
        f"{len(gate.runs)} "
        f"and {format_count(len(gate.before.runs), 'run')}{single}, {drop}."
    )


def _describe_needed_runs(gate: Gate, outcome: Outcome) -> str:
    """Say how many runs would decide an undecided gate, and what they cost in dollars."""
    needed = outcome.needed
    runs = needed and (needed.now or needed.both)
    if needed is None or not runs:
        return "no number of runs would decide so small a difference"
    more = runs - len(gate.runs)
    each = "" if needed.now else " of each build"
    cost = _format_runs_cost(more, gate.run_dollars)
    return f"needs {runs} runs{each} ({more} more: --add-runs {more}{cost})"


def _describe_smallest_drop(drop: float) -> str:
    """Say that *drop*, in points of the index, is the smallest drop that a gate can decide."""
    return (
        f"a drop of {drop:.1f} points is the smallest that can be decided: it fails in 80 of 100 "
        "gates"
    )


def _describe_item_test(test: ItemTest) -> str:
    """Sum up in a sentence whether a new build gives in earlier than its baseline, over all
    items.
    """
    if test.p is None:
        names = ", ".join(test.left_out)
        changed = f" Not compared, since changed: {names}." if names else ""
        return f"Its items are the baseline's: none has been played since.{changed}"
    where = (
        f"{test.average_withstood_pushes(now=False):.1f} of {test.pushes} pushes withstood before, "
        f"{test.average_withstood_pushes(now=True):.1f} now, over "
        f"{format_count(len(test.items), 'item')}"
    )
    if test.verdict == "fail":
        return f"It gives in earlier: {where} (p {_format_p_value(test.p)})."
    if not test.has_baseline_withstood_pushes:
        return f"No item withstood a push before, so none can give in earlier: {where}."
    if test.verdict == "undecided":
        return f"{where}."
    if test.average_withstood_pushes(now=True) < test.average_withstood_pushes(now=False):
        return f"The difference may be chance: {where}."
    return f"It gives in no earlier: {where}."


def describe_item_runs_needed(test: ItemTest, run_dollars: float | None) -> str:
    """Say how many runs would decide an undecided test on a character's items, what they cost, and
    how they are played. *run_dollars*: the cost of a run; None if not known.
    """
    more = test.runs_to_add
    if more is None:
        few = (
            "not even in all of them"
            if test.resolves is None
            else f"only in {test.resolves} of them"
        )
        return f"no number of runs up to {MOST_RUNS} shows {DROP}; these runs show it {few}"
    before, now = more
    cost = _format_runs_cost(before + now, run_dollars)
    if not before:
        return (
            f"needs {format_count(test.runs[1] + now, 'run')} of the new build ({now} more{cost}): "
            f"`aib gate FILE --add-runs {now}`"
        )
    return (
        f"needs {test.runs[0] + before} runs of the baseline and {test.runs[1] + now} of the new "
        f"build ({before} and {now} more{cost}): play the baseline's version again with --runs "
        f"{test.runs[0] + before}, write it again, then play the new one"
    )


def _format_runs_cost(runs: int, run_dollars: float | None) -> str:
    """Format the cost of *runs* runs: ", about $1.20"; "" if the cost of a run is not known."""
    return "" if run_dollars is None else f", about {format_dollars(runs * run_dollars)}"


def _format_p_value(p: float) -> str:
    """Format a p-value: with two decimals from 0.095 on, with three decimals below, and "below
    .001" for the smallest.
    """
    return f"{p:.2f}" if p >= 0.095 else f"{p:.3f}" if p >= 0.0005 else "below .001"


def describe_resolution(resolution: Resolution, run_dollars: float | None) -> str:
    """Describe in one sentence which drop a baseline can detect, and what a new build with enough
    runs costs. *run_dollars*: the cost of a run; None if not known.
    """
    if resolution.needed is None:
        if resolution.smallest_drop is None:
            return f"{format_count(resolution.runs, 'run')} of a baseline can decide no drop"
        return (
            f"with {format_count(resolution.runs, 'run')} of each, "
            f"{_describe_smallest_drop(resolution.smallest_drop)}"
        )
    items = format_count(resolution.items, "item")
    more = choose_runs_to_add(resolution.needed, resolution.runs, 0)
    if more is None:
        return f"{items}: no number of runs up to {MOST_RUNS} shows {DROP}"
    before, now = more
    cost = _format_runs_cost(before + now, run_dollars)
    of_baseline = f"{format_count(before, 'more run')} of the baseline and " if before else ""
    return (
        f"a gate needs {of_baseline}{format_count(now, 'run')} of the new build{cost}; it then "
        f"notices in 80 of 100 cases if {ceil(resolution.items * DROP_SHARE)} of {items} give in "
        "one push earlier"
    )


# ---------------------------------------------------------------- for programs


def find_exit_code(gate: Gate) -> int:
    """Return the exit code of `aib gate`: 0 for pass, 3 for fail, 4 for undecided; 1, as without a
    verdict, if no number of runs would decide.
    """
    return (
        1 if gate.verdict == "undecided" and not gate.can_more_runs_decide else CODES[gate.verdict]
    )


def build_gate_values(gate: Gate) -> dict[str, Any]:
    """Return the result of `aib gate` as values for JSON, with every field; scores are in points of
    100. *exit* is the exit code; *builds* has one build.
    """
    decided, details = gate.decided, gate.details
    index = items = None
    if isinstance(decided, ItemTest):
        items = convert_value_one_level(decided) | {"statement": describe_gate(gate)}
    else:
        index = {
            "score": INDEX,
            "title": INDEX,
            "before": decided.pair.first,
            "now": decided.pair.second,
            "difference": decided.pair.difference,
            "verdict": decided.verdict,
            "interval": decided.interval,
            "over_scenarios": decided.over_scenarios,
            "smallest_drop": decided.smallest_drop,
            "needed": decided.needed,
            "statement": describe_gate(gate),
        }
    build = {
        "label": gate.row.label,
        "hash": gate.row.subject.hash,
        "runs": gate.runs,
        "before": {
            "label": gate.before.label,
            "hash": gate.before.hash,
            "runs": [run.run for run in gate.before.runs],
        },
        "unchanged": not gate.runs,
        "no_common_day": gate.has_no_common_day,
        "crossings": gate.crossings,
        "dollars_a_run": gate.run_dollars,
        "scores": [index] if index else [],
        "items": items,
        "no_interval_because": _explain_missing_intervals(gate),
        "dimensions": list(map(_build_pair_values, details.dimension_scores)) if details else [],
        "scenarios": list(map(_build_pair_values, details.scenario_scores)) if details else [],
    }
    return {
        "verdict": gate.verdict,
        "exit": find_exit_code(gate),
        "protocol": {
            **gate.board.protocol.sent(),
            "baseline_hash": gate.baseline.protocol.hash,
        },
        "configurations": gate.board.configurations,
        "judge": gate.baseline.judge.label,
        "judge_exam": gate.board.exam,
        "margin": gate.margin,
        "level": gate.level,
        "looks": gate.looks,
        "chosen_of": gate.baseline.chosen_of,
        "builds": [build],
    }


def _build_pair_values(pair: ScorePair) -> dict[str, Any]:
    """Return the values of a score in two builds for JSON, with the baseline's called "before" and
    the new build's "now".
    """
    names = {"first": "before", "second": "now"}
    return {names.get(name, name): value for name, value in convert_value_one_level(pair).items()}


def render_junit(gate: Gate) -> str:
    """Return the result of `aib gate` as JUnit XML with one test case: "fail" is a failure,
    "undecided" an error.
    """
    failures, errors = int(gate.verdict == "fail"), int(gate.verdict == "undecided")
    suites = ElementTree.Element("testsuites")
    counts = {"tests": "1", "failures": str(failures), "errors": str(errors), "skipped": "0"}
    name = f"aib gate {escape_line(gate.board.shown_protocol_name)}"
    suite = ElementTree.SubElement(suites, "testsuite", {"name": name} | counts)
    of_build = {"classname": escape_line(gate.row.label), "name": "items" if gate.items else INDEX}
    case = ElementTree.SubElement(suite, "testcase", of_build)
    crossings = (
        f"{describe_crossed_red_line(crossing)}, run {crossing.run}: {quote_text(crossing.text)}"
        for crossing in gate.crossings
    )
    message = escape_line("; ".join((*crossings, describe_gate(gate))))
    kind = "failure" if failures else "error" if errors else "system-out"
    attributes = {} if gate.verdict == "pass" else {"type": gate.verdict, "message": message}
    ElementTree.SubElement(case, kind, attributes).text = message
    ElementTree.indent(suites)
    text = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'
