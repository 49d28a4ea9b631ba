"""The boards of the judges, rules and configurations that were asked for."""

from __future__ import annotations

from independence_bench.analysis import leaderboard
from independence_bench.analysis.board import Board, BoardRecords
from independence_bench.analysis.leaderboard import read_examined
from independence_bench.api.named import not_stored
from independence_bench.cli.selection import Selection, jurors
from independence_bench.errors import WrongUse
from independence_bench.lookup import instead
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.published_scoring import RULES
from independence_bench.store.database import Store


def chosen_boards(selection: Selection, store: Store, protocol: Protocol) -> list[Board]:
    """Every board, by the judges and rules that were asked for. Raises WrongUse for a judge that is not there."""
    with store.reading() as connection:
        records = read_examined(connection, protocol)
    return boards_of(selection, records, protocol)


def boards_of(selection: Selection, records: BoardRecords, protocol: Protocol) -> list[Board]:
    """The same of what was read before."""
    judge, labels = selection.judge, records.labels.values()
    if judge is not None and labels and not any(judge in label for label in labels):
        raise WrongUse(f"no judge is called {judge}; {instead(judge, labels, 'there are')}")
    jury, rules = jurors(judge, selection.jury), RULES[selection.rules]
    return leaderboard.boards_of(records, protocol, judge, jury, rules)


def configured_boards(selection: Selection, store: Store, protocol: Protocol) -> list[Board]:
    """Those of the configurations that were asked for. Raises WrongUse where there is none."""
    chosen = selection.configurations(protocol)
    every = chosen_boards(selection, store, protocol)
    if found := [board for board in every if board.configurations == chosen]:
        return found
    others = dict.fromkeys(one for board in every for one in board.configurations)
    raise WrongUse(not_stored(protocol, chosen, tuple(others), selection.judge))
