"""Says which stored results are meant, as one value, and reads the leaderboards that it asks
for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from independence_bench.analysis.board import Board
from independence_bench.analysis.leaderboard import Wanted, make_leaderboards
from independence_bench.api.named import (
    check_current_form,
    describe_missing_conversations,
    find_shipped_or_stored_protocol,
    open_store_with_exclusions,
)
from independence_bench.engine.named import apply_weights, choose_configurations
from independence_bench.errors import WrongUse
from independence_bench.lookup import normalize_names, split_list
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.loader import Files
from independence_bench.protocol.published_scoring import RULES
from independence_bench.protocol.scoring import OWN
from independence_bench.store.database import Store, find_default_store, open_store


@dataclass(frozen=True, slots=True)
class Selection:
    """Which stored results a command is about: the values of its options, by their names. An option
    that is left open means all. Raises WrongUse for *rules* that do not exist.
    """

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

    def __post_init__(self) -> None:
        if self.rules not in RULES:
            raise WrongUse(f"rules is {self.rules!r}; it should be {' or '.join(RULES)}")

    @contextmanager
    def open_for_reading(
        self, allow_earlier_form: bool = False
    ) -> Iterator[tuple[Store, Protocol]]:
        """Open the selected store and yield it with the selected protocol, whose weights are the
        selected ones. *allow_earlier_form*: allow a protocol of an earlier form, which has no
        scores; else it raises WrongUse.
        """
        list_jurors(self.judge, self.jury)
        with open_store_with_exclusions(self.store) as store:
            protocol, _ = find_shipped_or_stored_protocol(self.protocol_name, store)
            if not allow_earlier_form:
                check_current_form(protocol)
            yield store, apply_weights(protocol, self.weights)

    @contextmanager
    def open_for_marking(
        self, command_line: str, allow_earlier_form: bool = False
    ) -> Iterator[tuple[Store, Protocol, Files]]:
        """Open the selected store for a command that may call models or store scores, and yield the
        store, the selected protocol with the selected weights, and the protocol's files.
        *command_line* is the command line, which the store records. *allow_earlier_form*: allow a
        protocol of an earlier form, which has no scores; else it raises WrongUse.
        """
        with open_store(self.store, create=False, command_line=command_line) as store:
            protocol, files = find_shipped_or_stored_protocol(self.protocol_name, store)
            if not allow_earlier_form:
                check_current_form(protocol)
            yield store, apply_weights(protocol, self.weights), files

    def find_configurations(self, protocol: Protocol) -> tuple[Configuration, ...]:
        """Return the selected configurations of *protocol*: each selected system prompt in each
        selected delivery mode, with the protocol's defaults for what is not selected. Raises
        WrongUse for an unknown name.
        """
        return choose_configurations(protocol, self.variants, self.modes)

    @property
    def wanted_boards(self) -> Wanted:
        """The selected judge or jury, scoring rules and weights, as a filter for making
        leaderboards. All configurations pass it.
        """
        jury = tuple(list_jurors(self.judge, self.jury))
        return Wanted(self.judge, jury, RULES[self.rules], self.weights)


def select_results(
    store: str | Path | None,
    protocol: str | Path | None,
    weights: str | None = None,
    judge: str | None = None,
    jury: Sequence[str] = (),
    rules: str = OWN.name,
    *,
    variants: str | Sequence[str] = (),
    modes: str | Sequence[str] = (),
    models: str | Sequence[str] = (),
    exp: str | Sequence[str] = (),
) -> Selection:
    """Return the selection that the arguments of a Python call mean, as the options of the same
    names do. *store*: None: the default store. Raises WrongUse for *rules* that do not exist.
    """
    return Selection(
        str(store or find_default_store()),
        None if protocol is None else str(protocol),
        weights,
        judge,
        ",".join(jury) or None,
        rules,
        normalize_names(variants),
        normalize_names(modes),
        normalize_names(models),
        normalize_names(exp),
    )


def list_jurors(judge: str | None, jury: str | None) -> list[str]:
    """Return the names in the comma-separated list *jury*; [] if it is None. Raises WrongUse if it
    is empty, or if *judge* is given too.
    """
    if judge and jury is not None:
        raise WrongUse(
            "--judge chooses single judges, --jury several together: leave one of them out"
        )
    names = split_list(jury)
    if jury is not None and not names:
        raise WrongUse("--jury: name two judges or more, with commas; `aib judges` lists them")
    return names


# ---------------------------------------------------------------- the boards that were asked for


def read_configured_boards(selection: Selection, store: Store, protocol: Protocol) -> list[Board]:
    """Return the leaderboards of *protocol* for exactly the configurations and the judges that
    *selection* names, the main judge's first. Raises WrongUse if there is none.
    """
    chosen = selection.find_configurations(protocol)
    every = make_leaderboards(store, protocol, selection.wanted_boards)
    if found := [board for board in every if board.configurations == chosen]:
        return found
    others = dict.fromkeys(one for board in every for one in board.configurations)
    raise WrongUse(describe_missing_conversations(protocol, chosen, tuple(others), selection.judge))
