"""The options that commands on stored results share, as one value, and the boards that they ask
for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

import click

from independence_bench.analysis import leaderboard
from independence_bench.analysis.board import Board, BoardRecords
from independence_bench.analysis.leaderboard import read_examined
from independence_bench.api.named import find_protocol, need_today, not_stored, open_results
from independence_bench.cli.options import (
    FILLED,
    Command,
    command_line,
    split,
    store_option,
    stored_protocol_option,
    together,
    weights_option,
)
from independence_bench.engine.named import configurations, weighed
from independence_bench.errors import WrongUse
from independence_bench.lookup import instead
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.loader import Files
from independence_bench.protocol.published_scoring import RULES
from independence_bench.protocol.scoring import OWN
from independence_bench.store.database import Store, open_store


@dataclass(frozen=True, slots=True)
class Selection:
    """As typed; a command that lacks an option has its default."""

    store: str
    protocol_name: str | None = None
    weights: str | None = None
    judge: str | None = None
    jury: str | None = None
    rules: str = OWN.name
    variants: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    exp: tuple[str, ...] = ()

    @contextmanager
    def opened(self, earlier: bool = False) -> Iterator[tuple[Store, Protocol]]:
        """The store, and the protocol with the weights that were asked for; *earlier*: also one of
        an earlier form.
        """
        jurors(self.judge, self.jury)
        with open_results(self.store) as store:
            protocol, _ = find_protocol(self.protocol_name, store)
            if not earlier:
                need_today(protocol)
            yield store, weighed(protocol, self.weights)

    @contextmanager
    def stored(self, earlier: bool = False) -> Iterator[tuple[Store, Protocol, Files]]:
        """The store of a command that asks or marks, the protocol with those weights, and the
        protocol's files; *earlier*: also one of an earlier form.
        """
        with open_store(self.store, create=False, typed=command_line()) as store:
            protocol, files = find_protocol(self.protocol_name, store)
            if not earlier:
                need_today(protocol)
            yield store, weighed(protocol, self.weights), files

    def configurations(self, protocol: Protocol) -> tuple[Configuration, ...]:
        """Those of *protocol* that were asked for."""
        return configurations(protocol, self.variants, self.modes)


def select(asked: dict[str, Any]) -> Selection:
    """The selection among the values of a command's options, taken out of *asked*: the rest is of
    a run.
    """
    mine = [field.name for field in fields(Selection) if field.name in asked]
    return Selection(**{name: asked.pop(name) for name in mine})


judge_option = click.option(
    "--judge", type=FILLED, metavar="NAME", help="Only judges whose label contains NAME."
)
rules_option = click.option(
    "--rules",
    type=click.Choice(list(RULES)),
    default=OWN.name,
    show_default=True,
    help="Rules that turn marks into an index; `published`: see docs/published-data.md.",
)
jury_option = click.option(
    "--jury", metavar="A,B,C", help="Use the mean of these judges; a mark needs a majority of them."
)
judged_options = together(judge_option, jury_option, weights_option)


def jurors(judge: str | None, jury: str | None) -> list[str]:
    """The names that --jury lists; [] where it was not given. Raises WrongUse for none, and
    together with --judge.
    """
    if judge and jury is not None:
        raise WrongUse(
            "--judge chooses single judges, --jury several together: leave one of them out"
        )
    names = split(jury)
    if jury is not None and not names:
        raise WrongUse("--jury: name two judges or more, with commas; `aib judges` lists them")
    return names


def selecting(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Give a command *options*, --protocol and --store: the fields of a `Selection` among them."""
    return together(*options, stored_protocol_option, store_option)


# ---------------------------------------------------------------- the boards that were asked for


def chosen_boards(selection: Selection, store: Store, protocol: Protocol) -> list[Board]:
    """Every board, by the judges and rules that were asked for. Raises WrongUse for a judge that is
    not there.
    """
    with store.reading() as connection:
        records = read_examined(connection, protocol)
    return boards_of(selection, records, protocol)


def boards_of(selection: Selection, records: BoardRecords, protocol: Protocol) -> list[Board]:
    """The same of what was read before."""
    judge, labels = selection.judge, records.labels.values()
    if judge is not None and labels and not any(judge in label for label in labels):
        raise WrongUse(f"no judge is called {judge}; {instead(judge, labels, 'there are')}")
    jury = jurors(judge, selection.jury)
    return leaderboard.boards_of(records, protocol, judge, jury, RULES[selection.rules])


def configured_boards(selection: Selection, store: Store, protocol: Protocol) -> list[Board]:
    """Those of the configurations that were asked for. Raises WrongUse where there is none."""
    chosen = selection.configurations(protocol)
    every = chosen_boards(selection, store, protocol)
    if found := [board for board in every if board.configurations == chosen]:
        return found
    others = dict.fromkeys(one for board in every for one in board.configurations)
    raise WrongUse(not_stored(protocol, chosen, tuple(others), selection.judge))
