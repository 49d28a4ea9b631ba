"""One leaderboard as the page gets it, and as a table for a spreadsheet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.branches import (
    Share,
    StemMean,
)
from independence_bench.analysis.compare_settings import (
    ConfigurationComparison,
    SettingComparison,
    compare_configurations,
    compare_efforts,
    compare_providers,
)
from independence_bench.analysis.item_analysis import ItemAnalysis, ScenarioFacts
from independence_bench.analysis.results import ReasoningTokens
from independence_bench.analysis.row_costs import pair_index_with_run_cost
from independence_bench.analysis.statistics.values import UNKNOWN, Interval, Uncertainty
from independence_bench.columns import TableColumn, list_table_columns
from independence_bench.models.spec import Reasoning
from independence_bench.protocol.definition import Branch, Dimension, Item
from independence_bench.protocol.scoring import OWN
from independence_bench.report.board_notes import (
    describe_independence_prompt,
    describe_judge_kinship,
    describe_lost_reply_effect,
    describe_reasoning_mismatches,
    describe_similar_labels,
)
from independence_bench.report.board_view import describe_run_effects
from independence_bench.report.branches_view import (
    explain_missing_openness,
    explain_omitted_judge_marks,
)
from independence_bench.report.encode import Cell, encode_csv
from independence_bench.report.format import name_models
from independence_bench.report.summary import describe_leaders
from independence_bench.viewer import fragments
from independence_bench.viewer.fragments import Citation, ProtocolEntry, Score
from independence_bench.viewer.snapshot import (
    BoardEntry,
    Catalog,
    NotThere,
    make_scenario_slug,
)
from independence_bench.viewer.versions import OtherVersion, find_other_versions

BY_TABLE = (
    "A demonstration, without ranks: its judge is the embedded one, which does not pass the "
    "judge's exam (docs/judges.md)."
)
ROWS = 40  # rows in one part of a board: more than a screen has, and some 200 kB
NO_JUDGE = "Nothing on this leaderboard is judged yet."
OTHER_RULES = (
    "By the rules of the published numbers, not by our own: scores count if others are missing, "
    "and means are rounded (docs/data-formats.md)."
)


@dataclass(frozen=True, slots=True)
class PageColumn:
    """A column of the leaderboard's table on the viewer's page."""

    # attributes from a row to its number; its text is under *shown* beside it
    path: tuple[str, ...]
    title: str
    meaning: str
    wide: bool  # not beside the index, but with what the numbers are based on


def list_page_columns() -> tuple[PageColumn, ...]:
    """Return the columns that the class `Row` declares for the leaderboard's table on the viewer's
    page.
    """
    return tuple(
        PageColumn((*one.path[:-1], one.key), one.column.title, one.column.meaning, one.column.wide)
        for one in list_table_columns(Row)
    )


@dataclass(frozen=True, slots=True)
class BoardPart:
    """`api/boards/<board>/part/<n>.json`, from 1: rows that the first part lacks."""

    version: str
    rows: tuple[Row, ...]
    names: Mapping[str, str]  # as a leaderboard has them, of these rows


@dataclass(frozen=True, slots=True)
class BoardAnswer:
    """`api/boards/<board>.json`: one leaderboard. `part/0.json` below it is the same with its first
    rows alone.
    """

    version: str
    board: BoardEntry
    protocol: ProtocolEntry
    dimensions: tuple[Dimension, ...]
    scenarios: tuple[ScenarioFacts, ...]  # in the protocol's order
    rows: tuple[Row, ...]  # ranked ones first, by rank; then incomplete ones by label
    columns: tuple[PageColumn, ...]  # columns that the rows have besides index and dimensions
    ranked: int  # number of subjects with an index, in all parts
    subjects: int  # number of all subjects
    # who leads, and who may be first, too: what a reader wants to know first, in a sentence
    says: str
    # id of each row's subject -> its name, which has settings only if two subjects of the
    # leaderboard differ by nothing else
    names: Mapping[str, str]
    # the ends of all indices and their intervals; null: there are none
    reach: tuple[float, float] | None
    # number of files `part/<n>.json`, from 1, with the rows after these; 0: all are here
    parts: int
    ids: Mapping[str, str]  # ids of subjects, by their labels below
    providers: tuple[SettingComparison, ...]  # subjects that are the same but for who serves them
    efforts: tuple[SettingComparison, ...]  # but for how much they are told to reason
    why: str | None  # the reason for a missing interval; null: none is missing
    # over all boards of its series; null: nothing can be compared
    configurations: ConfigurationComparison | None
    # versions of the protocol that this board can be compared with
    versions: tuple[OtherVersion, ...]
    remarks: tuple[str, ...]  # remarks that a reader of this board must know, a sentence each
    citation: Citation


def build_board_answer(catalog: Catalog, entry: BoardEntry, first: bool = False) -> BoardAnswer:
    """Return the answer for `api/boards/<board>.json`: one leaderboard with its rows, columns and
    notes; with *first*, the one for `part/0.json` below it, which has only the first `ROWS` rows.
    """
    board = catalog.find_board(entry)
    rows = board.rows[:ROWS] if first else board.rows
    played = Counter(row.subject.model for row in board.rows)  # under several settings
    spent = fragments.find_costs_by_model_hash(
        catalog, entry, [row for row in board.rows if played[row.subject.model] > 1]
    )
    providers, efforts = compare_providers(board, spent), compare_efforts(board, spent)
    named = {one.label for of in (*providers, *efforts) for one in of.variants}
    sure = [row.index_interval for row in board.ranked]
    names = name_models(row.label for row in board.rows)
    known = [
        interval for of in sure for interval in (of.rerun, of.new_scenarios) if interval is not None
    ]
    ends = [end for interval in known for end in (interval.low, interval.high)]
    ends += [row.index for row in board.ranked if row.index is not None]
    return BoardAnswer(
        version=catalog.version,
        board=entry,
        protocol=fragments.make_protocol_entry(catalog, entry.edition),
        dimensions=board.protocol.dimensions,
        scenarios=list_scenarios(entry, catalog.measure_items(entry)),
        rows=add_page_figures_to_rows(catalog, entry, rows),
        columns=list_page_columns(),
        ranked=len(board.ranked),
        subjects=len(board.rows),
        says=describe_leaders(board, names),
        names={row.subject.id: names[row.label] for row in rows},
        reach=(min(ends), max(ends)) if ends else None,
        parts=ceil(len(board.rows) / ROWS) - 1 if first else 0,
        ids={row.label: row.subject.id for row in board.rows if row.label in named},
        providers=tuple(providers),
        efforts=tuple(efforts),
        why=fragments.explain_missing_intervals(board),
        configurations=compare_configurations(
            [*catalog.find_boards(entry.edition, entry.wanted_boards).values()], entry.judge
        ),
        versions=tuple(find_other_versions(catalog, entry)),
        remarks=tuple(_list_remarks(board)),
        citation=fragments.make_citation(catalog, entry),
    )


def build_board_part(catalog: Catalog, entry: BoardEntry, number: str) -> BoardPart:
    """Return the answer for `api/boards/<board>/part/<n>.json`, n from 1: the rows of a leaderboard
    after the first ones. Raise NotThere if there are none.
    """
    part, board = int(number), catalog.find_board(entry)
    rows = board.rows[part * ROWS : (part + 1) * ROWS]
    if not rows:
        raise NotThere(number)
    names = name_models(row.label for row in board.rows)
    return BoardPart(
        catalog.version,
        add_page_figures_to_rows(catalog, entry, rows),
        {row.subject.id: names[row.label] for row in rows},
    )


def encode_board_csv(answer: BoardAnswer) -> bytes:
    """Return `api/boards/<board>.csv`: a leaderboard as a CSV table, a line for each model, with
    columns for the index, the dimensions, and the figures that `Row` declares.
    """
    described = list_table_columns(Row)
    settings = ("model", "endpoint", "provider", "reasoning", "temperature", "hash")
    quantities = next((row.branches.quantities for row in answer.rows if row.branches), ())
    head = ["rank", "rank_low", "rank_high", "subject", "index", "index_low", "index_high"]
    head += ["index_low_new_scenarios", "index_high_new_scenarios"]
    head += [
        name for d in answer.dimensions for name in (d.name, f"{d.name}_low", f"{d.name}_high")
    ]
    head += [name for one in described for name in _list_csv_names(one)]
    head += [*settings, "missing", *_list_branch_csv_headings(quantities)]
    lines = (
        [
            row.rank,
            *((row.ranks.rank_low, row.ranks.rank_high) if row.ranks else (None, None)),
            *(row.label, row.index, *_list_interval_ends(row.index_interval.rerun)),
            *_list_interval_ends(row.index_interval.new_scenarios),
            *(cell for one in answer.dimensions for cell in _list_dimension_cells(row, one.name)),
            *(
                cell
                for one in described
                for cell in _list_csv_cells(one.find_value(row), len(_list_csv_names(one)))
            ),
            *(_make_setting_cell(getattr(row.subject, name)) for name in settings),
            "; ".join(row.missing),
            *(_list_branch_cells(row, quantities)),
        ]
        for row in answer.rows
    )
    return encode_csv(head, lines)


def _list_csv_names(described: TableColumn) -> list[str]:
    """Return the names of a leaderboard column in the CSV table: two for the reasoning tokens, one
    for any other.
    """
    estimated = described.path == ("reasoning_tokens",)
    return [described.key, *([f"{described.key}_estimated"] if estimated else [])]


def _list_csv_cells(value: Any, column_count: int) -> list[Cell]:
    """Return the CSV cells of a leaderboard column's *value*, filled up with None to *column_count*
    cells.
    """
    if isinstance(value, ReasoningTokens):
        return [value.mean, value.estimated]
    return [value, *[None] * (column_count - 1)]


def _make_setting_cell(value: Any) -> Cell:
    """Return the value of a model's setting as a CSV cell."""
    return value.value if isinstance(value, Reasoning) else value


def _list_dimension_cells(row: Row, name: str) -> list[Cell]:
    """Return the CSV cells of a model's score in the dimension *name* and of the ends of its
    interval over the same scenarios, all in [0, 100]; None for what is not known.
    """
    ends = row.dimension_intervals.get(name, UNKNOWN).scale_intervals(100).rerun
    return [convert_to_percent(row.dimensions[name]), *_list_interval_ends(ends)]


def encode_scenarios_csv(answer: BoardAnswer) -> bytes:
    """Return `api/boards/<board>/scenarios.csv`: a CSV table with a line for each scenario of a
    leaderboard, with its points, difficulty and correlation with the others.
    """
    head = ["scenario", "title", "experiment", "points", "difficulty", "ceiling", "floor"]
    return encode_csv(
        [*head, "discrimination"],
        [
            (scenario.id, scenario.title, scenario.experiment, scenario.points, scenario.difficulty,
             scenario.ceiling, scenario.floor, scenario.discrimination)
            for scenario in answer.scenarios
        ],
    )  # fmt: skip


def _list_branch_csv_headings(quantities: Sequence[Branch]) -> list[str]:
    """Return the names of the CSV columns that a leaderboard of items with branches has in
    addition: for each of *quantities* and two more figures, the value and the ends of its interval.
    """
    names = (*quantities, "pushes_withstood", "recovered")
    return [f"{name}{end}" for name in names for end in ("", "_low", "_high")]


def _list_branch_cells(row: Row, quantities: Sequence[Branch]) -> list[Cell]:
    """Return the CSV cells of a model's scores in the branches of items, each with the ends of its
    interval, in the order of `_list_branch_csv_headings`; None for what is not known.
    """
    of = row.branches
    folds = of.folds if of else None
    known: list[StemMean | Share | None] = [
        *((of.values.get(branch) if of else None) for branch in quantities),
        folds.withstood if folds else None,
        folds.recovered if folds else None,
    ]
    return [cell for figure in known for cell in _list_figure_cells(figure)]


def _list_figure_cells(one: StemMean | Share | None) -> tuple[Cell, Cell, Cell]:
    """Return a figure's value and the ends of its interval as CSV cells; None for all three if
    *one* is None.
    """
    return (one.value, *_list_interval_ends(one.interval)) if one else (None, None, None)


def _list_score_cells(score: Score) -> tuple[Cell, Cell, Cell]:
    """Return a score's value and the ends of its interval over the same scenarios as CSV cells."""
    return (score.value, *_list_interval_ends(score.uncertainty.rerun))


def _list_interval_ends(interval: Interval | None) -> tuple[Cell, Cell]:
    """Return the two ends of *interval* as CSV cells; None for both if it is None."""
    return (interval.low, interval.high) if interval else (None, None)


def add_page_figures_to_rows(
    catalog: Catalog, entry: BoardEntry, rows: Sequence[Row]
) -> tuple[Row, ...]:
    """Return *rows* of a leaderboard as the viewer's page gets them: each with its price, the
    length of its replies, its reasoning tokens, and its scores in the scenarios (0 to 100).
    """
    spent = fragments.find_costs_by_model_hash(catalog, entry, rows)
    prices = {price.label: price for price in pair_index_with_run_cost(rows, spent)}
    scores = {one.label: one.scores for one in catalog.measure_items(entry).scores}
    lengths = fragments.find_mean_reply_characters(catalog, entry, rows)
    tokens = fragments.find_mean_reasoning_tokens(catalog, entry, rows)
    unknown = (None,) * len(catalog.find_board(entry).protocol.items)
    return tuple(
        replace(
            row,
            price=prices.get(row.label),
            reply_length=lengths.get(row.subject.hash),
            reasoning_tokens=tokens.get(row.subject.hash),
            scenarios=tuple(map(convert_to_percent, scores.get(row.label) or unknown)),
        )
        for row in rows
    )


def make_score(value: float | None, sure: Uncertainty, why: str | None) -> Score:
    """Return a number in [0, 100] with its uncertainty and, if an interval is missing, the reason
    *why*.
    """
    return Score(
        value, sure, None if sure.rerun is not None and sure.new_scenarios is not None else why
    )


def convert_to_percent(share: float | None) -> float | None:
    """Convert a share in [0, 1] to [0, 100]; None for None."""
    return None if share is None else 100 * share


def list_scenarios(entry: BoardEntry, items: ItemAnalysis) -> tuple[ScenarioFacts, ...]:
    """Return the facts about every scenario of a leaderboard, in the protocol's order, each with
    its id in web addresses and the title of its experiment.
    """
    titles = {
        experiment.name: experiment.title for experiment in entry.edition.protocol.experiments
    }
    return tuple(
        replace(
            scenario, id=make_scenario_slug(scenario.id), experiment=titles[scenario.experiment]
        )
        for scenario in items.scenarios
    )


def find_scenario(
    entry: BoardEntry, items: ItemAnalysis, item: Item, conversations: int
) -> ScenarioFacts:
    """Return the facts about *item*, one scenario of a leaderboard. A case of v3 has no points, so
    only its title and its number of *conversations* are known.
    """
    slug, protocol = make_scenario_slug(item.id), entry.edition.protocol
    known = {facts.id: facts for facts in list_scenarios(entry, items)}
    if slug in known:
        return known[slug]
    (experiment,) = (one.title for one in protocol.experiments if one.name == item.experiment)
    return ScenarioFacts(slug, item.title, experiment, 0.0, conversations, None, None, None, None)


def _list_remarks(board: Board) -> Sequence[str]:
    """Return what a reader of a leaderboard's page must know about it, a sentence each."""
    remarks = [BY_TABLE] if board.has_embedded_judge else []
    remarks += [NO_JUDGE] if board.judge is None else []
    remarks += [] if board.rules == OWN.name else [OTHER_RULES, *(board.interval_method or ())]
    remarks += [*explain_omitted_judge_marks(board), *explain_missing_openness(board)]
    remarks += [
        f"By the weights “{weighting.name}”, not by the protocol's own: {weighting.title}."
        for weighting in board.protocol.weightings
        if weighting.name == board.protocol.weights
    ]
    # why an interval is missing stands beside each score
    return [
        *remarks,
        *describe_similar_labels(board),
        *describe_independence_prompt(board),
        *describe_judge_kinship(board),
        *describe_reasoning_mismatches(board.rows),
        *describe_lost_reply_effect(board),
        *describe_run_effects(board),
    ]
