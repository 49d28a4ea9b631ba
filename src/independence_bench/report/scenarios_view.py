"""Scenarios on a terminal and for programs, and what stands out in them as sentences. Computes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from independence_bench.analysis.item_analysis import ItemAnalysis, ScenarioFacts, ScenarioVerdict
from independence_bench.analysis.leaderboard import Board
from independence_bench.analysis.statistics.intervals import Interval
from independence_bench.analysis.statistics.items import FEWEST, FEWEST_SAMPLED
from independence_bench.escape import label_text
from independence_bench.protocol.definition import Protocol
from independence_bench.report.figures import judged_by
from independence_bench.report.format import number, plural, signed

Written = Callable[[str], str]  # words from outside -> what can be shown


# ---------------------------------------------------------------- sentences


def remarks(protocol: Protocol, found: ItemAnalysis, name: Written, words: Written) -> list[str]:
    """What stands out, a sentence each, and one where nothing does.

    *name* writes a scenario's id, *words* its title and those of dimensions, fit for where the sentences stand.
    """
    if len(found.scores) < FEWEST_SAMPLED:
        few = plural(len(found.scores), "subject")
        return [f"With {few} nothing is said about what stands out; that takes {FEWEST_SAMPLED}."]
    titles = {dimension.name: words(dimension.title) for dimension in protocol.dimensions}
    said = [
        f"{name(facts.id)} ({words(facts.title)}) {_says(verdict, facts, titles, len(found.scores))}"
        for facts in found.scenarios
        for verdict in facts.verdicts
    ]
    none = "No scenario carries its dimension alone, tells nobody apart or points the other way."
    return [*(said or [none]), *_what_would_be_gone(protocol, found, name, words)]


def _says(verdict: ScenarioVerdict, facts: ScenarioFacts, titles: dict[str, str], subjects: int) -> str:
    within = next((one for one in facts.within if one.dimension == verdict.dimension), None)
    match verdict.kind:
        case "carries its dimension alone":
            assert within is not None  # noqa: S101 - that verdict is about a dimension
            return (
                f"carries {titles[within.dimension]} alone: {percent(within.share)}% of the differences between "
                f"subjects lie in it ({percents(within.share_interval)}% at 95%), where an even share of "
                f"{within.scenarios} scenarios would be {percent(1 / within.scenarios)}%."
            )
        case "tells nobody apart":
            carried = ", ".join(f"{percent(one.share)}% in {titles[one.dimension]}" for one in facts.within)
            return (
                f"tells nobody apart: of {facts.transcripts:,} conversations {percent(facts.ceiling)}% have all of "
                f"its points and {percent(facts.floor)}% none; of the differences between subjects it carries "
                f"{carried}."
            )
        case _:
            rest = f"the rest of {titles[within.dimension]}" if within else "all other scenarios"
            correlation = within.item_rest if within else facts.discrimination
            return (
                f"points the other way: who has more points in it has fewer in {rest} (correlation "
                f"{number(correlation, 2)} over {subjects} subjects)."
            )


def _what_would_be_gone(protocol: Protocol, found: ItemAnalysis, name: Written, words: Written) -> list[str]:
    """Where the index without a scenario is another quantity, or none."""
    titles = {dimension.name: words(dimension.title) for dimension in protocol.dimensions}
    said = []
    for facts in found.scenarios:
        gone = facts.without.marks_gone
        for dimension in protocol.dimensions:
            left = [words(mark.replace("_", " ")) for mark in dimension.marks if mark not in gone]
            if dimension.weight and len(left) < len(dimension.marks) and dimension.name not in facts.without.empty:
                said.append(
                    f"Without {name(facts.id)}, {titles[dimension.name]} would rest on {' and '.join(left)} alone."
                )
        said += [
            f"Without {name(facts.id)} nothing would be left of {titles[dimension]}, so there would be no index."
            for dimension in facts.without.empty
        ]
    return said


# ---------------------------------------------------------------- numbers


def percent(value: float | None) -> str:
    """A share in whole percent, without the sign; a dash for what is absent."""
    return "–" if value is None else f"{round(100 * value)}"


def percents(interval: Interval | None) -> str:
    """From, to, in whole percent; a dash for what is absent."""
    return "–" if interval is None else f"{percent(interval.low)} to {percent(interval.high)}"


def span(interval: Interval | None) -> str:
    """From, to, of a correlation; a dash for what is absent."""
    return "–" if interval is None else f"{interval.low:.2f} to {interval.high:.2f}"


# ---------------------------------------------------------------- a terminal


def scenarios_view(board: Board, found: ItemAnalysis) -> RenderableType:
    """Three tables, what their columns mean, and what stands out."""
    where = " + ".join(map(str, board.configurations))
    heading = Text("\n").append(f"Scenarios of {label_text(board.protocol_name)}", style="bold")
    heading.append(
        f"\n{label_text(where)} · judge: {judged_by(board)} · {plural(len(found.scores), 'ranked subject')}\n",
        "dim",
    )
    if not found.scores:
        return Group(heading, Text("Nobody is ranked, so there is nothing to compare."))
    stands_out = [Text(line) for line in remarks(board.protocol, found, label_text, label_text)]
    return Group(
        heading,
        *_difficulty(found),
        Text("\nWhat stands out", style="bold"),
        *stands_out,
        *_dimensions(board.protocol, found),
        *_left_out(found),
    )


def _difficulty(found: ItemAnalysis) -> list[RenderableType]:
    table = _table("scenario", "points", "diff.", "ceiling", "floor", "discr.", "at 95%", "share")
    for facts in found.scenarios:
        table.add_row(
            label_text(facts.id),
            number(facts.points, 1),
            number(facts.difficulty, 1),
            percent(facts.ceiling),
            percent(facts.floor),
            number(facts.discrimination, 2),
            span(facts.discrimination_interval),
            percent(facts.share),
        )
    return [
        table,
        _legend(
            "points: of the index's 100, to be had in this scenario; diff.: difficulty, the percent of them that "
            "subjects lose on average; ceiling, floor: percent of all conversations with all of the points, and with "
            "none; discr.: discrimination, the correlation over subjects of the points had here with those had "
            "everywhere else (item-rest), -1 to 1, and where it lies at 95% if the subjects are a sample, each by "
            "itself; share: "
            "percent of the differences between indices that lie here, 100 over all scenarios. A dash: everybody did "
            f"the same, or too few subjects ({FEWEST}; for an interval {FEWEST_SAMPLED})."
        ),
    ]


def _dimensions(protocol: Protocol, found: ItemAnalysis) -> list[RenderableType]:
    table = _table("scenario", "points", "item-rest", "at 95%", "share", "at 95%", "R²")
    for dimension in protocol.dimensions:
        if dimension.weight:
            table.add_row(Text(f"{label_text(dimension.title)} ({dimension.weight:g})", style="bold"))
        for facts in found.scenarios:
            for one in facts.within:
                if one.dimension == dimension.name:
                    table.add_row(
                        label_text(facts.id),
                        number(one.points, 1),
                        number(one.item_rest, 2),
                        span(one.item_rest_interval),
                        percent(one.share),
                        percents(one.share_interval),
                        percent(one.explained),
                    )
        table.add_section()
    legend = (
        "Each scenario among those of its dimension, whose weight stands beside it. item-rest: the correlation with "
        "the other scenarios of the dimension; share: percent of the differences between subjects in this dimension "
        "that lie in the scenario, 100 over them all; R²: percent of these differences that could be told from this "
        "scenario alone, which add up to nothing. Intervals take the subjects as a sample, each by itself."
    )
    return [Text("\nIn its dimension", style="bold"), table, _legend(legend)]


def _left_out(found: ItemAnalysis) -> list[RenderableType]:
    table = _table("without", "mean", "most", "of", "tau", "rho", "ranks")
    table.columns[3].justify, table.columns[3].no_wrap = "left", False  # names are long
    for facts in found.scenarios:
        one = facts.without
        table.add_row(
            label_text(facts.id),
            signed(one.mean_change),
            signed(one.largest_change.points if one.largest_change else None),
            label_text(one.largest_change.label) if one.largest_change else "–",
            number(one.kendall_tau, 3),
            number(one.spearman, 3),
            "–" if one.most_ranks is None else str(one.most_ranks),
        )
    legend = (
        "The index of every subject if the scenario were left out of the means that it is in. mean: change in points, "
        "over subjects; most: the largest change of one subject, and of whom; tau, rho: Kendall's and Spearman's "
        "correlation of the ranking with the full one, 1 being the same order; ranks: how far a subject moves at most."
    )
    return [Text("\nThe index without it", style="bold"), table, _legend(legend)]


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left", overflow="fold", no_wrap=bool(place))
    return table


def _legend(text: str) -> Text:
    return Text(text, style="dim")


# ---------------------------------------------------------------- for programs


def scenarios_json(measured: Sequence[tuple[Board, ItemAnalysis]]) -> str:
    """All of it, in ASCII. Points in [0, 100], shares and scores in fractions of 1; absent is null."""
    return json.dumps([_values(board, found) for board, found in measured], indent=2)


def _values(board: Board, found: ItemAnalysis) -> dict[str, Any]:
    return {
        "protocol": {"name": board.protocol.name, "hash": board.protocol.hash},
        "weighting": board.protocol.weights,  # null: its own
        "configurations": [str(configuration) for configuration in board.configurations],
        "judge": board.judge,
        "main_judge": board.main_judge,
        "subjects": [label for label, _ in found.scores],
        "scenarios": [asdict(facts) for facts in found.scenarios],
        "scenario_scores": [{"label": label, "scores": list(scores)} for label, scores in found.scores],
    }
