"""Which of what is stored is meant, as one value, and the leaderboards that it asks for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from independence_bench.analysis.board import Board
from independence_bench.analysis.leaderboard import Wanted, boards
from independence_bench.api.named import find_protocol, need_today, not_stored, open_results
from independence_bench.engine.named import configurations, weighed
from independence_bench.errors import WrongUse
from independence_bench.lookup import split
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.loader import Files
from independence_bench.protocol.published_scoring import RULES
from independence_bench.protocol.scoring import OWN
from independence_bench.store.database import Store, open_store


@dataclass(frozen=True, slots=True)
class Selection:
    """What of a store is meant, by the names of the options; what is left open is all of it."""

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
    def stored(self, typed: str, earlier: bool = False) -> Iterator[tuple[Store, Protocol, Files]]:
        """The store for a command that asks or marks, by what was *typed*; the protocol with those
        weights, and the protocol's files; *earlier*: also one of an earlier form.
        """
        with open_store(self.store, create=False, typed=typed) as store:
            protocol, files = find_protocol(self.protocol_name, store)
            if not earlier:
                need_today(protocol)
            yield store, weighed(protocol, self.weights), files

    def configurations(self, protocol: Protocol) -> tuple[Configuration, ...]:
        """Those of *protocol* that were asked for."""
        return configurations(protocol, self.variants, self.modes)

    @property
    def wanted(self) -> Wanted:
        """The leaderboards that were asked for, in all configurations."""
        jury = tuple(jurors(self.judge, self.jury))
        return Wanted(self.judge, jury, RULES[self.rules], self.weights)


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


# ---------------------------------------------------------------- the boards that were asked for


def configured_boards(selection: Selection, store: Store, protocol: Protocol) -> list[Board]:
    """Those of the configurations that were asked for. Raises WrongUse where there is none."""
    chosen = selection.configurations(protocol)
    every = boards(store, protocol, selection.wanted)
    if found := [board for board in every if board.configurations == chosen]:
        return found
    others = dict.fromkeys(one for board in every for one in board.configurations)
    raise WrongUse(not_stored(protocol, chosen, tuple(others), selection.judge))
