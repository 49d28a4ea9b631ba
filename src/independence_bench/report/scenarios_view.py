"""What each scenario does in the ranking: tables, what stands out as sentences, and JSON. Computes
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from independence_bench.analysis.board import Board
from independence_bench.analysis.item_analysis import ItemAnalysis, ScenarioFacts, ScenarioVerdict
from independence_bench.analysis.statistics.items import FEWEST, FEWEST_SAMPLED
from independence_bench.protocol.definition import Protocol, mark_words
from independence_bench.report.board_view import examined_by, judged_by
from independence_bench.report.encode import json_text
from independence_bench.report.format import number, percent, percents, plural, signed, span
from independence_bench.report.keys import HEAD, picked
from independence_bench.report.table import (
    Block,
    Bullets,
    Column,
    Group,
    Name,
    Note,
    Prose,
    Table,
    Text,
    Title,
    listed,
)

# ---------------------------------------------------------------- sentences


def remarks(protocol: Protocol, analysis: ItemAnalysis) -> list[Text]:
    """What stands out, a sentence each, and one where nothing does."""
    if len(analysis.scores) < FEWEST_SAMPLED:
        return [
            f"What stands out is shown from {FEWEST_SAMPLED} ranked subjects on; here: {len(analysis.scores)}."
        ]
    titles = {dimension.name: Prose(dimension.title) for dimension in protocol.dimensions}
    said: list[Text] = [
        (
            Name(facts.id),
            " (",
            Prose(facts.title),
            ") ",
            _says(verdict, facts, titles, len(analysis.scores)),
        )
        for facts in analysis.scenarios
        for verdict in facts.verdicts
    ]
    none = "No scenario decides its dimension alone, fails to tell subjects apart or points the other way."
    if protocol.has_stems:
        none = (
            "No stem decides too much of its dimension, is at one end in every branch, fails to tell subjects apart or "
            "points the other way."
        )
    return [*(said or [none]), *_what_would_be_gone(protocol, analysis, titles)]


def _says(
    verdict: ScenarioVerdict, facts: ScenarioFacts, titles: dict[str, Prose], subjects: int
) -> Text:
    within = next(
        (dimension for dimension in facts.within if dimension.dimension == verdict.dimension), None
    )
    match verdict.kind:
        case "decides its dimension alone":
            assert within is not None  # noqa: S101 - that verdict is about a dimension
            return (
                *("decides ", titles[within.dimension]),
                f" alone: {percent(within.share)}% of the differences between subjects come from it (95% CI "
                f"{percents(within.share_interval)}%); an even share among {within.scenarios} scenarios would be "
                f"{percent(1 / within.scenarios)}%.",
            )
        case "carries too much":
            assert within is not None  # noqa: S101 - that verdict is about a dimension
            even, interval = 1 / within.scenarios, within.share_interval
            chance = "" if interval is None or interval.low > even else "; this may be chance"
            return (
                f"makes up {percent(within.share)}% of the differences between subjects in ",
                titles[within.dimension],
                f" (95% CI {percents(interval)}%); an even share among {within.scenarios} stems would be "
                f"{percent(even)}%{chance}.",
            )
        case "at one end in every branch":
            return "has nine of ten subjects or more at one end in every branch."
        case "does not tell subjects apart":
            carried = [
                (f"{percent(dimension.share)}% in ", titles[dimension.dimension])
                for dimension in facts.within
            ]
            return (
                f"does not tell subjects apart: of {facts.transcripts:,} conversations {percent(facts.ceiling)}% get "
                f"all of its points and {percent(facts.floor)}% none; its share of the differences between subjects: ",
                *listed(carried),
                ".",
            )
        case _:
            correlation = within.item_rest if within else facts.discrimination
            return (
                "points the other way: subjects with more points in it have fewer in ",
                ("the rest of ", titles[within.dimension]) if within else "all other scenarios",
                f" (correlation {number(correlation, 2)} over {subjects} subjects).",
            )


def _what_would_be_gone(
    protocol: Protocol, analysis: ItemAnalysis, titles: dict[str, Prose]
) -> Iterator[Text]:
    """Where the index without a scenario is another quantity, or none."""
    for facts in analysis.scenarios:
        without = ("Without ", Name(facts.id))
        for dimension in protocol.dimensions:
            left = [mark for mark in dimension.marks if mark not in facts.without.marks_gone]
            if (
                dimension.weight
                and len(left) < len(dimension.marks)
                and dimension.name not in facts.without.empty
            ):
                rest = Prose(" and ".join(map(mark_words, left)))
                yield *without, ", ", titles[dimension.name], " would depend on ", rest, " alone."
        for gone in facts.without.empty:
            yield (
                *without,
                " nothing would be left of ",
                titles[gone],
                ", so there would be no index.",
            )


# ---------------------------------------------------------------- tables


def scenarios_blocks(board: Board, analysis: ItemAnalysis) -> Iterator[Block]:
    """Three tables, what their columns mean, and what stands out; for a terminal."""
    where = " + ".join(map(str, board.configurations))
    yield Title(("Scenarios of ", Prose(board.protocol_name)))
    some = f"{len(analysis.scores)} of " if len(analysis.scores) < len(board.ranked) else ""
    ranked = plural(len(board.ranked), "ranked subject")
    yield Note(
        f"{where} · judge: {judged_by(board)} · {some}{ranked}{', all of whose stems are scored' * bool(some)}"
    )
    yield from examined_by(board)
    yield Note("")
    if not analysis.scores:
        yield Note("No subject is ranked, so there is nothing to compare.", "")
        return
    yield difficulty(board.protocol, analysis)
    yield Title("What stands out")
    yield Bullets(remarks(board.protocol, analysis))
    yield Title("In its dimension", aside="  in brackets: the dimension's weight in the index")
    yield within_dimensions(board.protocol, analysis)
    yield Title("The index without it")
    yield left_out(analysis)


def difficulty(protocol: Protocol, analysis: ItemAnalysis) -> Table:
    """How hard each scenario is, and whom it tells apart."""
    titles = {experiment.name: Prose(experiment.title) for experiment in protocol.experiments}
    return Table(
        [
            Column("Scenario", words=True),
            Column("Experiment and title", words=True, on="report"),
            Column("Points"),
            Column("Difficulty", short="points\nlost, %"),
            *(
                Column("Ceiling", short="full\nmarks, %", spare=2),
                Column("Floor", short="\nnone, %", spare=2),
            ),
            Column("Discrimination", short="with\nothers"),
            *(Column("95% CI", spare=1), Column("Share", short="share of\ndiffer-\nences, %")),
        ],
        [
            (
                *(Name(facts.id), (titles[facts.experiment], ": ", Prose(facts.title))),
                *(
                    number(facts.points, 1),
                    number(facts.difficulty, 1),
                    percent(facts.ceiling),
                    percent(facts.floor),
                ),
                *(
                    number(facts.discrimination, 2),
                    span(facts.discrimination_interval),
                    percent(facts.share),
                ),
            )
            for facts in analysis.scenarios
        ],
        "{Points}: the scenario's share of the index's 100; {Difficulty}: the percent of them that "
        "subjects lose on average; {Ceiling}, {Floor}: percent of all conversations with all of the points, and with "
        "none; {Discrimination}: the correlation over subjects of the points in this scenario with those in all others "
        "(item-rest), -1 to 1, with its 95% interval if the subjects are a sample, each by itself; near 0 or below, "
        "the scenario says little about the rest; {Share}: percent of the differences between indices that come from "
        "this scenario, 100 over all of them. A dash: all subjects did the same, or there are too few "
        f"({FEWEST}; for an interval {FEWEST_SAMPLED}).",
        brief="points: of the index's 100; with others: correlation of the points here with those in all other "
        "scenarios (discrimination); share: of the differences between indices.",
        long=True,
    )


def within_dimensions(protocol: Protocol, analysis: ItemAnalysis) -> Table:
    """Each scenario among those of its dimension."""
    rows: list[tuple[Text, ...] | Group] = []
    for dimension in protocol.dimensions:
        of_dimension: list[tuple[Text, ...]] = [
            (
                *(
                    Prose(dimension.title),
                    Name(facts.id),
                    number(one.points, 1),
                    number(one.item_rest, 2),
                ),
                *(span(one.item_rest_interval), percent(one.share), percents(one.share_interval)),
                percent(one.explained),
            )
            for facts in analysis.scenarios
            for one in facts.within
            if one.dimension == dimension.name
        ]
        if of_dimension:
            rows += [Group(f"{dimension.title} ({dimension.weight:g})"), *of_dimension]
    return Table(
        [
            Column("Dimension", words=True, on="report"),
            Column("Scenario", words=True),
            *(
                Column("Points", spare=1),
                Column("Item-rest", short="with\nothers"),
                Column("95% CI", spare=1),
            ),
            Column("Share", short="share, %"),
            *(Column("95% CI", spare=2), Column("R²", short="R²", spare=3)),
        ],
        rows,
        "{Item-rest}: the correlation, over subjects, of the points in this scenario with those in the other scenarios "
        "of the dimension; {Share}: percent of the differences between subjects in this dimension that come from the "
        "scenario, 100 over all of them; R²: percent of these differences that this scenario alone predicts; these do "
        "not add up to 100. Intervals take the subjects as a sample, each by itself.",
        brief="with others: correlation with the other scenarios of the dimension; share: percent of the "
        "differences between subjects in the dimension.",
        long=True,
    )


def left_out(analysis: ItemAnalysis) -> Table:
    """What the ranking would be without each scenario."""
    return Table(
        [
            Column("Without", words=True),
            Column("Mean change", short="mean\nchange"),
            Column("Largest change", short="largest\nchange"),
            Column("Subject", words=True, labels=True),
            *(Column("Rho"), Column("Ranks", short="ranks\nmoved")),
        ],
        [
            (
                *(Name(facts.id), signed(one.mean_change)),
                *(
                    (signed(most.points), Name(most.label))
                    if (most := one.largest_change)
                    else ("–", "–")
                ),
                number(one.spearman, 3),
                "–" if one.most_ranks is None else str(one.most_ranks),
            )
            for facts in analysis.scenarios
            for one in (facts.without,)
        ],
        "The index of every subject if the scenario is left out of all means. {Mean change}: in "
        "points, over subjects; {Largest change}: of one subject, and which; {Rho}: Spearman's correlation "
        "of the ranking with the full one, 1 being the same order; "
        "{Ranks}: how far a subject moves at most.",
        brief="change: of the index, in points; rho: correlation with the full ranking; ranks moved: at most.",
        long=True,
    )


# ---------------------------------------------------------------- for programs


def scenarios_json(measured: Sequence[tuple[Board, ItemAnalysis]]) -> str:
    """All of it. Points in [0, 100], shares and scores in fractions of 1."""
    values = [
        picked(board, f"{HEAD} judge main_judge")
        | {"subjects": [label for label, _ in analysis.scores]}
        | scenario_values(analysis)
        for board, analysis in measured
    ]
    return json_text(values)


def scenario_values(analysis: ItemAnalysis) -> dict[str, Any]:
    """Every scenario, and every subject's score in each."""
    scores = [{"label": label, "scores": scores} for label, scores in analysis.scores]
    return {"scenarios": analysis.scenarios, "scenario_scores": scores}
