"""What a reading command is about: the options that such commands share, as one value."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

from independence_bench.analysis.leaderboard import Board, boards
from independence_bench.cli.options import configurations, find_protocol, jurors, open_results, weighed
from independence_bench.errors import WrongUse
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.published_scoring import RULES
from independence_bench.protocol.scoring import OWN
from independence_bench.store.database import Store


@dataclass(frozen=True, slots=True)
class Selection:
    """As typed; a command that lacks an option has its default."""

    store: str
    protocol_name: str | None = None
    weights: str | None = None
    judge: str | None = None
    jury: str | None = None
    rules: str = OWN.name
    variants: str | None = None
    modes: str | None = None

    @contextmanager
    def opened(self) -> Iterator[tuple[Store, Protocol]]:
        """The store, and the protocol with the weights that were asked for."""
        jurors(self.judge, self.jury)
        with open_results(self.store) as store:
            yield store, weighed(find_protocol(self.protocol_name, store)[0], self.weights)

    def boards(self, store: Store, protocol: Protocol) -> list[Board]:
        """Every board, by the judges and rules that were asked for."""
        return boards(store, protocol, self.judge, jurors(self.judge, self.jury), RULES[self.rules])

    def configured_boards(self, store: Store, protocol: Protocol) -> list[Board]:
        """Those of the configurations that were asked for. Raises WrongUse where there is none."""
        chosen = configurations(protocol, self.variants, self.modes)
        if found := [board for board in self.boards(store, protocol) if board.configurations == chosen]:
            return found
        where, by = " + ".join(map(str, chosen)), f" by {self.judge}" if self.judge else ""
        raise WrongUse(f"nothing of {protocol.name} in {where}{by} is stored")


def selecting(command: Callable[..., None]) -> Callable[..., None]:
    """Give *command* the options of a `Selection` as its first argument, and the others by name."""
    names = {field.name for field in fields(Selection)}

    @functools.wraps(command)
    def call(**typed: Any) -> None:
        command(Selection(**{name: typed.pop(name) for name in names & typed.keys()}), **typed)

    return call
