"""`aib leaderboard` and `aib scenarios` as functions: the leaderboards of a store, and how hard
each scenario is, as values and as data frames.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from independence_bench.analysis.board import (
    Board,
    IndexPrice,
    RuleDifference,
    find_rule_differences,
)
from independence_bench.analysis.compare_settings import (
    ConfigurationComparison,
    compare_configurations,
)
from independence_bench.analysis.item_analysis import ItemAnalysis, analyse_items
from independence_bench.analysis.leaderboard import make_leaderboards, read_board_records
from independence_bench.analysis.row_costs import (
    add_reasoning_tokens,
    pair_index_with_run_cost,
    read_subject_costs,
)
from independence_bench.api.answers import Answer
from independence_bench.api.named import find_stored_subjects
from independence_bench.api.selection import Selection, read_configured_boards, select_results
from independence_bench.protocol.definition import EARLIER_FORM, Protocol
from independence_bench.protocol.scoring import OWN
from independence_bench.report.leaderboard_view import format_boards_json
from independence_bench.report.scenarios_view import format_scenarios_json
from independence_bench.store import registry
from independence_bench.store.database import Store


@dataclass(frozen=True, slots=True)
class Leaderboard(Answer):
    """The leaderboards of a protocol, one for each configuration and judge. `rows` has a row for
    each model on each leaderboard, ranked or not.
    """

    boards: tuple[Board, ...]
    rules: str = OWN.name
    # where our own rules rank or score otherwise; empty where the leaderboards are by them
    differences: tuple[RuleDifference, ...] = ()
    # of each leaderboard what a run of its ranked models costs, where that was asked for
    costs: tuple[Sequence[IndexPrice], ...] = ()
    nothing: str = ""  # why there is none

    def __iter__(self) -> Iterator[Board]:
        return iter(self.boards)

    def __len__(self) -> int:
        return len(self.boards)

    def __getitem__(self, place: int) -> Board:
        return self.boards[place]

    def json(self) -> str:
        """Return all leaderboards of a protocol as JSON text, as `aib leaderboard --json` prints
        it.
        """
        differing = None if self.rules == OWN.name else self.differences
        return format_boards_json(
            self.boards, differing, compare_configurations_per_judge(self.boards), self.costs
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary for each model on each leaderboard, the ranked models first. Each
        names the leaderboard's protocol, configurations and judge.
        """
        shared = ("protocol", "configurations", "judge", "main_judge", "rules", "weighting")
        return [
            {name: board[name] for name in shared} | row
            for board in self.values()["boards"]
            for row in (*board["ranked"], *board["incomplete"])
        ]


def leaderboard(
    store: str | Path | None = None,
    *,
    protocol: str | Path | None = None,
    models: str | Sequence[str] = (),
    judge: str | None = None,
    jury: Sequence[str] = (),
    weights: str | None = None,
    rules: str = OWN.name,
    detailed: bool = False,
) -> Leaderboard:
    """Return the leaderboards of a store, one for each configuration and judge, as `aib
    leaderboard` shows them. Without a *protocol*, they are those of the protocol that was played
    last.

    *models* choose rows; ranks and intervals stay those of all models. *judge*: show only judges
    whose label contains it. *jury*: use the mean of these judges as one judge. *weights* and
    *rules*: how scores make an index. *detailed*: include what a run of each model costs.

    Raises StoreError if there is no store, WrongUse for a name that fits nothing.
    """
    selection = select_results(
        store,
        protocol,
        weights,
        judge,
        jury,
        rules,
        models=models,
    )
    return read_leaderboard(selection, detailed)


def read_leaderboard(
    selection: Selection, detailed: bool, with_reasoning_tokens: bool = True
) -> Leaderboard:
    """Return the leaderboards of the stored results that *selection* chooses. *detailed*: include
    what a run of each model costs; *with_reasoning_tokens*: include the reasoning tokens of each
    model.
    """
    with selection.open_for_reading(allow_earlier_form=True) as (store, protocol):
        with store.open_snapshot() as connection:
            records = read_board_records(connection, protocol)
        wanted = selection.wanted_boards
        scored = make_leaderboards(records, protocol, wanted)
        own = (
            scored
            if selection.rules == OWN.name
            else make_leaderboards(records, protocol, replace(wanted, rules=OWN))
        )
        if selection.models:
            chosen = {one.hash for one in find_stored_subjects(store, protocol, selection.models)}
            scored, own = (
                [board for whole in every if (board := whole.select_subjects(chosen)).rows]
                for every in (scored, own)
            )
        with store.open_snapshot() as connection:
            spent = [read_subject_costs(connection, board) for board in scored if detailed]
            if with_reasoning_tokens:
                scored = add_reasoning_tokens(connection, scored)
        return Leaderboard(
            tuple(scored),
            selection.rules,
            () if selection.rules == OWN.name else tuple(find_rule_differences(own, scored)),
            tuple(
                pair_index_with_run_cost(board.ranked, of)
                for board, of in zip(scored, spent, strict=False)
            ),
            "" if scored else _explain_no_leaderboard(selection, store, protocol),
        )


def _explain_no_leaderboard(selection: Selection, store: Store, protocol: Protocol) -> str:
    """Return a sentence that says why *store* has no leaderboard of *protocol*, and which other
    protocols it holds.
    """
    if protocol.earlier_form:
        return f"{protocol.name}, {EARLIER_FORM} (aib show, aib export)"
    with store.open_snapshot() as connection:
        stored = [f"{name} {hash_[:12]}" for hash_, name, _ in registry.read_protocols(connection)]
    by = f" by a judge called {selection.judge}" if selection.judge else ""
    asked = f"{protocol.name} {protocol.hash[:12]}"
    others = [name for name in stored if name != asked]
    known = (
        f"it holds {', '.join(others)} (--protocol chooses)"
        if others
        else "`aib run` plays and judges"
    )
    return f"no conversations of {asked}{by} are stored in {store.shown}; {known}"


def compare_configurations_per_judge(every: Sequence[Board]) -> list[ConfigurationComparison]:
    """Return one comparison for each judge of the leaderboards *every*: how its results differ
    between configurations (system prompt and delivery mode). A judge without a model that has an
    index in two configurations is left out.
    """
    judges = dict.fromkeys(board.judge for board in every)
    return [
        comparison
        for comparison in (compare_configurations(every, judge) for judge in judges)
        if comparison is not None
    ]


# ---------------------------------------------------------------- scenarios


@dataclass(frozen=True, slots=True)
class Scenarios(Answer):
    """How hard each scenario is, on the leaderboard of each judge. `rows` has a row for each
    scenario and judge.
    """

    measured: tuple[tuple[Board, ItemAnalysis], ...]

    def json(self) -> str:
        """Return what `aib scenarios --json` prints."""
        return format_scenarios_json(self.measured)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each scenario, judge by judge."""
        shared = ("protocol", "configurations", "judge")
        return [
            {name: of_judge[name] for name in shared} | scenario
            for of_judge in self.values()
            for scenario in of_judge["scenarios"]
        ]


def scenarios(
    store: str | Path | None = None,
    *,
    protocol: str | Path | None = None,
    judge: str | None = None,
    jury: Sequence[str] = (),
    weights: str | None = None,
    variants: str | Sequence[str] = (),
    modes: str | Sequence[str] = (),
) -> Scenarios:
    """Return how hard each scenario is for the ranked models, as `aib scenarios` shows it.

    Raises StoreError if there is no store, WrongUse if nothing was played in that configuration.
    """
    selection = select_results(
        store,
        protocol,
        weights,
        judge,
        jury,
        variants=variants,
        modes=modes,
    )
    return analyse_selected_scenarios(selection)


def analyse_selected_scenarios(selection: Selection) -> Scenarios:
    """Read what `scenarios` returns from the results that *selection* means."""
    with selection.open_for_reading() as (opened, protocol):
        scored = read_configured_boards(selection, opened, protocol)
    return Scenarios(tuple((board, analyse_items(board)) for board in scored))
