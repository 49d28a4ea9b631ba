"""The contents of a report: read from the store once, and as JSON for programs.

A report is about one leaderboard, the *main* one: the default configuration (or whichever was
played), scored by the main judge. The other leaderboards are shown as rankings and no more. The
same store gives the same contents: no clock, no order that is not fixed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from independence_bench import __version__
from independence_bench.analysis.board import Board, IndexPrice, Row
from independence_bench.analysis.chosen_names import NamesRead, Naming, count_chosen_names
from independence_bench.analysis.compare_settings import (
    ConfigurationComparison,
    SettingComparison,
    compare_configurations,
    compare_efforts,
    compare_providers,
)
from independence_bench.analysis.held_stems import (
    HeldStems,
    format_character_and_depth,
    read_held_stems_by_label,
)
from independence_bench.analysis.item_analysis import ItemAnalysis, analyse_items
from independence_bench.analysis.row_costs import (
    SubjectCost,
    add_reasoning_tokens,
    pair_index_with_run_cost,
    read_subject_costs,
)
from independence_bench.errors import WrongUse
from independence_bench.figures import SHARE
from independence_bench.protocol.definition import Protocol
from independence_bench.report.encode import convert_value_one_level, format_json
from independence_bench.report.format import name_models
from independence_bench.report.leaderboard_view import build_board_values
from independence_bench.store import attempts, results, usage
from independence_bench.store.attempts import Spending
from independence_bench.store.database import Store

# decimals of dollars: sums of doubles differ in the last place with a database's order of adding
DECIMALS = 10


@dataclass(frozen=True, slots=True)
class JudgeFacts:
    """A judge of the main configuration, with its counts of judgements and of failures."""

    label: str
    by_table: bool
    subjects: int
    judged: int  # transcripts with a verdict
    failed: int  # transcripts without one, asked again and again
    exam: str | None  # its exam result in a line; None: nothing to say

    @property
    def failed_share(self) -> Annotated[float, SHARE]:
        """Share of a judge's judgements that failed, in [0, 1]; 0 if none was asked for."""
        asked = self.judged + self.failed
        return self.failed / asked if asked else 0.0


@dataclass(frozen=True, slots=True)
class SubjectDetail:
    """One subject of the main leaderboard, in detail."""

    row: Row
    # mark -> (transcripts that have it, planned), over all runs
    scored: Mapping[str, tuple[int, int]]
    spent: SubjectCost


@dataclass(frozen=True, slots=True)
class ReportScope:
    """The subjects and experiments to which a report is limited; empty: all."""

    subjects: frozenset[str] = frozenset()  # hashes
    experiments: tuple[str, ...] = ()

    def has_experiment(self, experiment: str) -> bool:
        """Whether a report shows *experiment*, one of the protocol's experiments."""
        return not self.experiments or experiment in self.experiments

    def list_marks(self, protocol: Protocol) -> frozenset[str]:
        """Return the names of the scores in those experiments of *protocol* that a report shows."""
        return frozenset(
            mark.name
            for item in protocol.items
            if self.has_experiment(item.experiment)
            for mark in item.marks
        )

    def limit_board(self, board: Board) -> Board:
        """Return the leaderboard *board* with only the models that a report shows."""
        return board.select_subjects(self.subjects) if self.subjects else board

    def limit_scenarios(self, analysis: ItemAnalysis) -> ItemAnalysis:
        """Return *analysis* with only the scenarios of the experiments that a report shows."""
        kept = [
            n for n, facts in enumerate(analysis.scenarios) if self.has_experiment(facts.experiment)
        ]
        return ItemAnalysis(
            tuple(analysis.scenarios[n] for n in kept),
            tuple(
                replace(one, scores=tuple(one.scores[n] for n in kept)) for one in analysis.scores
            ),
        )


EVERY = ReportScope()


@dataclass(frozen=True, slots=True)
class Contents:
    """Everything that a report shows."""

    protocol: Protocol
    updated: float | None  # seconds since 1970 of the newest record; None: nothing has a time
    main: Board
    others: tuple[Board, ...]
    configurations: ConfigurationComparison | None
    providers: tuple[SettingComparison, ...]
    efforts: tuple[SettingComparison, ...]
    prices: tuple[IndexPrice, ...]
    judges: tuple[JudgeFacts, ...]
    naming: Naming
    complexity: ItemAnalysis  # over the ranked subjects
    details: tuple[SubjectDetail, ...]
    spending: Spending  # since the store was made
    # label -> what it held as a character on the main board; empty if there is no character
    held: Mapping[str, HeldStems]
    imported: tuple[int, float]  # calls that others made, and their dollars: not in `spending`
    only: ReportScope = EVERY
    of_subjects: int = 0  # all subjects of the main board, shown or not

    def name_models(self) -> dict[str, str]:
        """Return label -> the name that the report shows, for every model of its leaderboards:
        settings stay only if two of them differ by nothing else.
        """
        boards = (self.main, *self.others)
        return name_models([*self.held, *(row.label for board in boards for row in board.rows)])


def read_contents(
    store: Store,
    protocol: Protocol,
    boards: Sequence[Board],
    readings: Sequence[NamesRead] = (),
    only: ReportScope = EVERY,
) -> Contents:
    """Read from the store everything that a report on *boards* shows. The leaderboards are all of
    *protocol*, the main one first. Raise WrongUse if there is none.

    *only*: the models and experiments that are shown; ranks, intervals and indices stay those of
    all. *readings*: the names that models gave themselves; those on the main leaderboard count.
    """
    if not boards:
        raise WrongUse(
            f"no conversations of {protocol.name} are stored in {store.shown}; `aib run` plays "
            "and judges"
        )
    with store.open_snapshot() as connection:
        boards = add_reasoning_tokens(connection, boards)
        both = [(board, only.limit_board(board)) for board in boards]
        # a model that was played in other configurations alone is on their boards
        whole, main = next((pair for pair in both if pair[1].rows), both[0])
        boards = [shown for _, shown in both]
        spent = read_subject_costs(connection, whole)
        spending, imported = (
            attempts.sum_spending(connection),
            usage.sum_imported_attempts(connection),
        )
        updated = results.find_newest_time(connection)
    return Contents(
        protocol=protocol,
        updated=updated,
        main=main,
        others=tuple(board for board in boards if board is not main and board.rows),
        configurations=compare_configurations(boards, main.judge),
        providers=_select_comparisons(compare_providers(whole, spent), main),
        efforts=_select_comparisons(compare_efforts(whole, spent), main),
        prices=tuple(pair_index_with_run_cost(main.ranked, spent)),
        judges=tuple(
            _make_judge_facts(board)
            for board in boards
            if board.configurations == main.configurations and board.judge and board.rows
        ),
        naming=count_chosen_names(
            [
                reading
                for reading in _select_and_label_readings(main, readings)
                if only.has_experiment(protocol.find_scenario(reading.scenario).experiment)
            ]
        ),
        complexity=only.limit_scenarios(analyse_items(main)),
        details=tuple(
            SubjectDetail(
                row,
                count_scored_and_planned_conversations(main, row, only),
                spent.get(row.subject.hash, SubjectCost()),
            )
            for row in main.rows
        ),
        spending=spending,
        held=read_held_stems_by_label(store, protocol, main.judge)
        if format_character_and_depth(protocol)
        else {},
        imported=imported,
        only=only,
        of_subjects=len(whole.rows),
    )


def _select_comparisons(
    compared: Sequence[SettingComparison], board: Board
) -> tuple[SettingComparison, ...]:
    """Return those comparisons of a model's settings that include a model of *board*."""
    labels = {row.label for row in board.rows}
    return tuple(
        comparison
        for comparison in compared
        if any(variant.label in labels for variant in comparison.variants)
    )


def _make_judge_facts(board: Board) -> JudgeFacts:
    """Return the judge of a leaderboard with its numbers of models, judgements and failures, and
    its exam result.
    """
    rows = board.rows
    judged, failed = (
        sum(counts)
        for counts in zip(
            *((r.health.transcripts_judged, r.health.judgements_failed) for r in rows), strict=True
        )
    )
    subjects = sum(bool(r.health.transcripts_judged) for r in rows)
    return JudgeFacts(
        board.judge or "",
        board.by_table,
        subjects,
        judged,
        failed,
        board.exam_line,
    )


def _select_and_label_readings(board: Board, readings: Sequence[NamesRead]) -> list[NamesRead]:
    """Return those readings of chosen names that belong to models and configurations of the
    leaderboard, with the models' labels on it.
    """
    labels = {row.subject.hash: row.label for row in board.rows}
    return [
        replace(reading, label=labels[reading.subject_hash])
        for reading in readings
        if reading.subject_hash in labels and reading.configuration in board.configurations
    ]


def count_scored_and_planned_conversations(
    board: Board, row: Row, only: ReportScope = EVERY
) -> dict[str, tuple[int, int]]:
    """Return, by the name of each score that a report shows, two counts over all runs of one model:
    the conversations that have the score, and those planned for it.
    """
    counts = {}
    shown = only.list_marks(board.protocol) if only.experiments else row.means
    for name in row.means:
        if name not in shown:
            continue
        slots = [
            (configuration, item.id)
            for configuration in board.configurations
            for item in board.protocol.items
            if any(mark.name == name for mark in item.marks)
        ]
        there = sum(
            name in row.marks.get(run, {}).get(slot, {}) for run in row.run_scores for slot in slots
        )
        counts[name] = (there, len(slots) * len(row.run_scores))
    return counts


# ---------------------------------------------------------------- for programs


def format_contents_json(contents: Contents, updated: str | None) -> str:
    """Return everything that a report shows as JSON. *updated*: the time of the newest record as
    text. Costs are in dollars.
    """
    spending = contents.spending
    only = contents.only
    limits = {
        "shown": {
            "subjects": [row.label for row in contents.main.rows],
            "of_subjects": contents.of_subjects,
            "experiments": [
                one.name for one in contents.protocol.experiments if only.has_experiment(one.name)
            ],
        }
    }
    value = {
        "updated": updated,
        "aib": __version__,
        **(limits if only != EVERY else {}),
        # the first: what all is about
        "boards": [build_board_values(board) for board in (contents.main, *contents.others)],
        "configurations": contents.configurations,
        "providers": contents.providers,
        "reasoning_efforts": contents.efforts,
        "dollars_a_run": contents.prices,
        "judges": contents.judges,
        "names": contents.naming,
        **convert_value_one_level(contents.complexity),
        "subjects": [_build_detail_values(detail) for detail in contents.details],
        "cost": {
            "this_command": 0.0,
            "candidates": round(spending.replies, DECIMALS),
            "judges": round(spending.judgements, DECIMALS),
            "calls": spending.attempts,
            "calls_lost": spending.lost,
            "calls_without_a_price": spending.unpriced,
            "imported_calls": contents.imported[0],
            "imported_dollars": round(contents.imported[1], DECIMALS),
        },
    }
    return format_json(value, indent=1) + "\n"


def _build_detail_values(detail: SubjectDetail) -> dict[str, Any]:
    """Return one model's numbers of scored conversations and its costs in dollars, as values for
    JSON.
    """
    scored = {
        name: {"scored": scored, "planned": planned}
        for name, (scored, planned) in detail.scored.items()
    }
    values = {
        "label": detail.row.label,
        "hash": detail.row.subject.hash,
        "transcripts_scored": scored,
    }
    spent = detail.spent
    return values | {
        "dollars": spent.dollars,
        "judging_dollars": spent.judging,
        "served": dict(spent.served),
    }
