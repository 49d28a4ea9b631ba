"""The difficulty of each scenario and its correlation with the others: a table and JSON. Computes
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from independence_bench.analysis.board import Board
from independence_bench.analysis.item_analysis import FEWEST, ItemAnalysis
from independence_bench.figures import format_count, format_number, format_share_without_unit
from independence_bench.protocol.definition import Protocol
from independence_bench.report.board_view import describe_judge, make_exam_legend
from independence_bench.report.encode import convert_value_one_level, format_json
from independence_bench.report.table import Block, Column, Name, Note, Prose, Table, Title


def render_scenarios(board: Board, analysis: ItemAnalysis) -> Iterator[Block]:
    """Yield the output blocks of a leaderboard's scenario analysis for a terminal: what was
    measured, and the table of difficulties.
    """
    where = " + ".join(map(str, board.configurations))
    yield Title(("Scenarios of ", Prose(board.shown_protocol_name)))
    some = f"{len(analysis.scores)} of " if len(analysis.scores) < len(board.ranked) else ""
    ranked = format_count(len(board.ranked), "ranked model")
    if hardest := max(
        analysis.scenarios,
        key=lambda one: -1.0 if one.difficulty is None else one.difficulty,
        default=None,
    ):
        lost = format_number(hardest.difficulty, 1)
        yield Note((Name(hardest.id), f" is the hardest: models lose {lost}% of its points."), "")
    yield Note(
        f"{where} · judge: {describe_judge(board)} · "
        f"{some}{ranked}{', all of whose items are scored' * bool(some)}"
    )
    yield from make_exam_legend(board)
    yield Note("")
    if not analysis.scores:
        yield Note("No model is ranked, so there is nothing to compare.", "")
        return
    yield build_difficulty_table(board.protocol, analysis)


def build_difficulty_table(protocol: Protocol, analysis: ItemAnalysis) -> Table:
    """Return a table of each scenario's difficulty (the share of points that models lose) and of
    its correlation with the other scenarios.
    """
    titles = {experiment.name: Prose(experiment.title) for experiment in protocol.experiments}
    return Table(
        [
            Column("Scenario", words=True),
            Column("Experiment and title", words=True, on="report"),
            Column("Points"),
            Column("Difficulty", short="points\nlost, %"),
            *(
                Column("Full score", short="full\nscore, %", spare=2),
                Column("None", short="\nnone, %", spare=2),
            ),
            Column("Discrimination", short="with\nothers"),
        ],
        [
            (
                *(Name(facts.id), (titles[facts.experiment], ": ", Prose(facts.title))),
                *(
                    format_number(facts.points, 1),
                    format_number(facts.difficulty, 1),
                    format_share_without_unit(facts.ceiling),
                    format_share_without_unit(facts.floor),
                ),
                format_number(facts.discrimination, 2),
            )
            for facts in analysis.scenarios
        ],
        "{Points}: the scenario's share of the index's 100; {Difficulty}: the percent of them that "
        "models lose on average; {Full score}, {None}: percent of all conversations with all of "
        "the points, and with "
        "none; {Discrimination}: the correlation over models of the points in this scenario "
        "with those in all others "
        "(item-rest), -1 to 1; near 0 or below, the scenario says little about the rest. A dash: "
        "all models did the "
        f"same, or there are fewer than {FEWEST}.",
        brief="points: of the index's 100; with others: correlation of the points here with "
        "those in all other "
        "scenarios (discrimination).",
        long=True,
    )


def format_scenarios_json(measured: Sequence[tuple[Board, ItemAnalysis]]) -> str:
    """Return the scenario analyses of several leaderboards as JSON. Points are in [0, 100], shares
    and scores in fractions of 1.
    """
    values = [
        {
            "protocol": board.protocol,
            "weighting": board.weighting,
            "configurations": board.configurations,
            "judge": board.judge,
            "main_judge": board.main_judge,
            "subjects": [one.label for one in analysis.scores],
            **convert_value_one_level(analysis),
        }
        for board, analysis in measured
    ]
    return format_json(values)
