"""One board as the page is sent it, and as a table for a spreadsheet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Annotated

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.branches import (
    BranchStatistics,
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
from independence_bench.analysis.costs import IndexPrice, SubjectCost, price_indices
from independence_bench.analysis.health import Health
from independence_bench.analysis.item_analysis import ItemAnalysis, ScenarioFacts
from independence_bench.analysis.results import ReasoningTokens
from independence_bench.analysis.statistics.values import UNKNOWN, Interval, Standing, Uncertainty
from independence_bench.protocol.definition import Branch, Dimension
from independence_bench.protocol.scoring import OWN, mean_of
from independence_bench.report.board_notes import (
    of_kin,
    of_labels,
    of_lost,
    of_prompt,
    of_reasoning,
    reasoning_doubt,
)
from independence_bench.report.board_view import doubt_text, of_runs, over_runs
from independence_bench.report.branches_view import no_index
from independence_bench.report.encode import (
    POINTS,
    THOUSANDS,
    WHOLE,
    Cell,
    Points,
    Score,
    Thousands,
    Whole,
    csv_bytes,
)
from independence_bench.viewer import fragments
from independence_bench.viewer.fragments import Citation, ProtocolEntry, SubjectFacts
from independence_bench.viewer.snapshot import (
    BoardEntry,
    Catalog,
    NotThere,
    scenario_slug,
    subject_id,
)
from independence_bench.viewer.versions import OtherVersion, other_versions

BY_TABLE = (
    "A demonstration, without ranks: its judge is the embedded one, which does not pass the "
    "judge's exam (docs/embedded-judge.md)."
)
ROWS = 40  # of a board in one part of it: more than a screen has, and some 200 kB
NO_JUDGE = "Nothing on this board is judged yet."
OTHER_RULES = (
    "By the rules of published numbers, not by our own: marks count though others are missing, "
    "and means are rounded (docs/published-data.md)."
)


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One subject on one board."""

    rank: int | None  # null: incomplete, excluded, or on a demonstration
    # the ranks that it may have, were the same scenarios played again; null: not known
    standing: Standing | None
    standing_new_scenarios: Standing | None  # the same, were other scenarios of this kind asked
    subject: SubjectFacts
    thinks: bool  # told to reason, or does so by itself in most of its replies
    index: Annotated[Score, POINTS]
    # by the published rules: as it came with the imported data
    as_published: Annotated[Interval, POINTS] | None
    # of the index, were nothing allowed for between sessions; null: nothing is
    without_sessions: Annotated[Uncertainty, POINTS] | None
    deviation: Points | None  # standard deviation of the runs' indices
    runs: int
    dimensions: tuple[Annotated[Score, WHOLE], ...]  # in the order of the board's dimensions
    health: Health
    price: IndexPrice | None  # null: not ranked
    reply_length: Thousands | None  # characters of a mean valid reply; null: nothing was said
    # of a mean valid reply; null: nothing is known
    reasoning_tokens: Annotated[ReasoningTokens, THOUSANDS] | None
    # mean share of its points in each scenario, in the board's order
    scenarios: tuple[Whole | None, ...]
    missing: tuple[str, ...]  # why it is not ranked, a line each
    excluded: bool  # though all of its marks may be there
    whole_runs: int  # that have an index
    whole_index: Points | None  # the mean of their indices; null: there is none
    branches: BranchStatistics | None  # of a protocol with stems; null: nothing of it counts
    # why its label may be taken for another one of the board; null: it may not
    label_doubt: str | None
    # in what its replies belie the effort of its label; null: in nothing
    reasoning_doubt: str | None


@dataclass(frozen=True, slots=True)
class BoardPart:
    """`api/boards/<board>/part/<n>.json`, from 1: rows that the first part lacks."""

    version: str
    rows: tuple[BoardRow, ...]


@dataclass(frozen=True, slots=True)
class BoardAnswer:
    """`api/boards/<board>.json`: one entry. `part/0.json` below it: the same with its first rows
    alone.
    """

    version: str
    board: BoardEntry
    protocol: ProtocolEntry
    dimensions: tuple[Dimension, ...]
    scenarios: tuple[ScenarioFacts, ...]  # in the protocol's order
    rows: tuple[BoardRow, ...]  # ranked ones first, by rank; then incomplete ones by label
    ranked: int  # how many subjects have an index, in whatever part
    subjects: int  # how many there are
    # the ends of all indices and their intervals; null: there are none
    reach: tuple[float, float] | None
    # how many files `part/<n>.json`, from 1, have the rows behind these; 0: all are here
    parts: int
    ids: Mapping[str, str]  # of subjects, by their labels below
    providers: tuple[SettingComparison, ...]  # subjects that are the same but for who serves them
    efforts: tuple[SettingComparison, ...]  # but for how much they are told to reason
    why: str | None  # why an interval is missing; null where none is
    # over all boards of its series; null: nothing can be compared
    configurations: ConfigurationComparison | None
    versions: tuple[OtherVersion, ...]  # of the protocol, which this board can be compared with
    remarks: tuple[str, ...]  # what a reader must know about this board, a sentence each
    citation: Citation


def board_answer(catalog: Catalog, entry: BoardEntry, first: bool = False) -> BoardAnswer:
    """`api/boards/<board>.json`; `part/0.json` below it, with its *first* rows alone."""
    board = catalog.board(entry)
    rows = board.rows[:ROWS] if first else board.rows
    played = Counter(row.subject.model for row in board.rows)  # under several settings
    spent = fragments.costs(
        catalog, entry, [row for row in board.rows if played[row.subject.model] > 1]
    )
    providers, efforts = compare_providers(board, spent), compare_efforts(board, spent)
    named = {one.label for of in (*providers, *efforts) for one in of.variants}
    sure = [row.uncertainty.index for row in board.ranked]
    known = [
        interval for of in sure for interval in (of.rerun, of.new_scenarios) if interval is not None
    ]
    ends = [end for interval in known for end in (interval.low, interval.high)]
    ends += [row.score.index for row in board.ranked if row.score.index is not None]
    return BoardAnswer(
        version=catalog.version,
        board=entry,
        protocol=fragments.protocol_entry(catalog, entry.edition),
        dimensions=board.protocol.dimensions,
        scenarios=scenarios(entry, catalog.items(entry)),
        rows=tuple(board_rows(catalog, entry, board, rows, fragments.costs(catalog, entry, rows))),
        ranked=len(board.ranked),
        subjects=len(board.rows),
        reach=(min(ends), max(ends)) if ends else None,
        parts=ceil(len(board.rows) / ROWS) - 1 if first else 0,
        ids={row.label: subject_id(row.subject) for row in board.rows if row.label in named},
        providers=tuple(providers),
        efforts=tuple(efforts),
        why=fragments.why_no_interval(board),
        configurations=compare_configurations(
            [*catalog.boards(entry.edition, entry.wanted).values()], entry.judge
        ),
        versions=tuple(other_versions(catalog, entry)),
        remarks=tuple(_remarks(board)),
        citation=fragments.citation(catalog, entry),
    )


def board_part(catalog: Catalog, entry: BoardEntry, number: str) -> BoardPart:
    """`api/boards/<board>/part/<n>.json`, from 1: the rows behind the first ones."""
    part, board = int(number), catalog.board(entry)
    rows = board.rows[part * ROWS : (part + 1) * ROWS]
    if not rows:
        raise NotThere(number)
    return BoardPart(
        catalog.version,
        tuple(board_rows(catalog, entry, board, rows, fragments.costs(catalog, entry, rows))),
    )


def board_table(answer: BoardAnswer) -> bytes:
    """`api/boards/<board>.csv`: a line a row."""
    head = ["rank", "subject", "index", "index_low", "index_high", "standard_deviation", "runs"]
    head += [
        name for d in answer.dimensions for name in (d.name, f"{d.name}_low", f"{d.name}_high")
    ]
    head += ["invalid_share", "cut_off_share", "reasoned_share", "replies_dollars_per_run"]
    head += ["judging_dollars_per_run", "dollars_per_run", "reply_characters"]
    head += ["reasoning_tokens", "reasoning_tokens_estimated"]
    head += ["model", "endpoint", "provider", "reasoning", "temperature", "hash", "missing"]
    quantities = next((row.branches.quantities for row in answer.rows if row.branches), ())
    if not quantities:
        return csv_bytes(head, map(_line, answer.rows))
    lines = [[*_line(row), *_branch_cells(row, quantities)] for row in answer.rows]
    return csv_bytes([*head, *_branch_head(quantities)], lines)


def scenarios_table(answer: BoardAnswer) -> bytes:
    """`api/boards/<board>/scenarios.csv`: a line a scenario."""
    head = ["scenario", "title", "experiment", "points", "difficulty", "ceiling", "floor"]
    return csv_bytes(
        [*head, "discrimination"],
        [
            (scenario.id, scenario.title, scenario.experiment, scenario.points, scenario.difficulty,
             scenario.ceiling, scenario.floor, scenario.discrimination)
            for scenario in answer.scenarios
        ],
    )  # fmt: skip


def _line(row: BoardRow) -> list[Cell]:
    health, subject = row.health, row.subject
    price = row.price or IndexPrice("", 0.0, None, None, None)
    return [
        row.rank,
        subject.label,
        *_with_ends(row.index),
        row.deviation,
        row.runs,
        *(cell for one in row.dimensions for cell in _with_ends(one)),
        *(health.invalid_share, health.cut_off_share, health.reasoned_share),
        *(price.replies_per_run, price.judging_per_run, price.dollars_per_run, row.reply_length),
        *((tokens.mean, tokens.estimated) if (tokens := row.reasoning_tokens) else (None, None)),
        *(
            subject.model,
            subject.endpoint,
            subject.provider,
            subject.reasoning,
            subject.temperature,
            subject.hash,
        ),
        "; ".join(row.missing),
    ]


def _branch_head(quantities: Sequence[Branch]) -> list[str]:
    """The columns that a board of stems with these *quantities* has beside others."""
    names = (*quantities, "pushes_withstood", "recovered")
    return [f"{name}{end}" for name in names for end in ("", "_low", "_high")]


def _branch_cells(row: BoardRow, quantities: Sequence[Branch]) -> list[Cell]:
    """In the order of `_branch_head`."""
    of = row.branches
    folds = of.folds if of else None
    known: list[StemMean | Share | None] = [
        *((of.values.get(branch) if of else None) for branch in quantities),
        folds.withstood if folds else None,
        folds.recovered if folds else None,
    ]
    return [cell for figure in known for cell in _estimated(figure)]


def _estimated(one: StemMean | Share | None) -> tuple[Cell, Cell, Cell]:
    return (one.value, *_ends(one.interval)) if one else (None, None, None)


def _with_ends(score: Score) -> tuple[Cell, Cell, Cell]:
    return (score.value, *_ends(score.uncertainty.rerun))


def _ends(interval: Interval | None) -> tuple[Cell, Cell]:
    return (interval.low, interval.high) if interval else (None, None)


def board_rows(
    catalog: Catalog,
    entry: BoardEntry,
    board: Board,
    rows: Sequence[Row],
    spent: Mapping[str, SubjectCost],
) -> list[BoardRow]:
    """*rows* of *board*, each with what it cost, as it was *spent*, and how long its replies
    are and how much reasoning they came with.
    """
    prices = {price.label: price for price in price_indices(rows, spent)}
    scores = dict(catalog.items(entry).scores)
    lengths = fragments.lengths(catalog, entry, rows)
    tokens = fragments.reasoning(catalog, entry, rows)
    why = fragments.why_no_interval(board)

    def dimension(row: Row, name: str) -> Score:
        sure = row.uncertainty.dimensions.get(name, UNKNOWN)
        return score_of(percent(row.score.dimensions[name]), sure.scaled(100), why)

    return [
        BoardRow(
            rank=row.rank,
            standing=row.uncertainty.standing,
            standing_new_scenarios=row.uncertainty.standing_new_scenarios,
            subject=fragments.subject_facts(catalog, row.subject),
            thinks=row.thinks,
            index=score_of(row.score.index, row.uncertainty.index, why),
            as_published=row.as_published,
            without_sessions=row.uncertainty.without_sessions,
            deviation=row.score.deviation,
            runs=row.score.runs,
            dimensions=tuple(dimension(row, one.name) for one in board.protocol.dimensions),
            health=row.health,
            price=prices.get(row.label),
            reply_length=lengths.get(row.subject.hash),
            reasoning_tokens=tokens.get(row.subject.hash),
            scenarios=tuple(
                map(percent, scores.get(row.label) or (None,) * len(board.protocol.scenarios))
            ),
            missing=row.missing,
            excluded=row.excluded is not None,
            whole_runs=len(row.whole),
            whole_index=mean_of(row.whole),
            branches=row.branches,
            label_doubt=doubt_text(row),
            reasoning_doubt=reasoning_doubt(row),
        )
        for row in rows
    ]


def score_of(value: float | None, sure: Uncertainty, why: str | None) -> Score:
    """A number in [0, 100]; *why* is told where an interval is missing."""
    return Score(
        value, sure, None if sure.rerun is not None and sure.new_scenarios is not None else why
    )


def percent(share: float | None) -> float | None:
    """A share in [0, 1], of 100."""
    return None if share is None else 100 * share


def scenarios(entry: BoardEntry, items: ItemAnalysis) -> tuple[ScenarioFacts, ...]:
    """What is known of every scenario, in the protocol's order; by its id in paths and its
    experiment's title.
    """
    titles = {
        experiment.name: experiment.title for experiment in entry.edition.protocol.experiments
    }
    return tuple(
        replace(scenario, id=scenario_slug(scenario.id), experiment=titles[scenario.experiment])
        for scenario in items.scenarios
    )


def _remarks(board: Board) -> Sequence[str]:
    remarks = [BY_TABLE] if board.demonstration else []
    remarks += [NO_JUDGE] if board.judge is None else []
    remarks += [] if board.rules == OWN.name else [OTHER_RULES, *over_runs(board)]
    remarks += no_index(board)
    remarks += [
        f"By the weights “{weighting.name}”, not by the protocol's own: {weighting.title}."
        for weighting in board.protocol.weightings
        if weighting.name == board.protocol.weights
    ]
    # why an interval is missing stands beside each score
    return [
        *remarks,
        *of_labels(board),
        *of_prompt(board),
        *of_kin(board),
        *of_reasoning(board.rows),
        *of_lost(board),
        *of_runs(board),
    ]
