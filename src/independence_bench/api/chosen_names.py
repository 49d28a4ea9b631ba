"""`aib extract-names` as functions: the names that models chose, and a model that reads them in
conversations.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from independence_bench.analysis.chosen_names import (
    NamesRead,
    add_name_changes,
    list_chosen_names,
    list_distinct_unread_conversations,
    list_identity_choice_scenarios,
)
from independence_bench.analysis.leaderboard import make_leaderboards
from independence_bench.api.answers import Answer
from independence_bench.api.named import find_stored_subjects
from independence_bench.api.selection import select_results
from independence_bench.engine.ask import Asker
from independence_bench.engine.ask_judges import ask_one_judge, make_name_asker
from independence_bench.engine.preview import Forecast
from independence_bench.engine.run import Report, Run
from independence_bench.errors import WrongUse
from independence_bench.models.local import NAME
from independence_bench.protocol.definition import Protocol
from independence_bench.report.names_view import format_names_json
from independence_bench.store.database import Store


@dataclass(frozen=True, slots=True)
class ChosenNames(Answer):
    """The name and the gender that each model chose for itself. `rows` has a row for each
    conversation.
    """

    protocol: Protocol
    readings: tuple[NamesRead, ...]

    @property
    def unread(self) -> tuple[NamesRead, ...]:
        """The conversations that no model has read yet, one for those that are the same word for
        word.
        """
        return tuple(list_distinct_unread_conversations(self.readings))

    def json(self) -> str:
        """Return what `aib extract-names --json` prints."""
        return format_names_json(self.protocol, self.readings)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each conversation in which a model chooses who to be."""
        found: list[dict[str, Any]] = self.values()["choices"]
        return found


def extract_names(
    store: str | Path | None = None,
    *,
    protocol: str | Path | None = None,
    models: str | Sequence[str] = (),
) -> ChosenNames:
    """Return the names that models chose, as `aib extract-names` shows them; asks no model.

    Raises StoreError if there is no store, WrongUse for a protocol that asks for no name.
    """
    selection = select_results(
        store,
        protocol,
        models=models,
    )
    with selection.open_for_reading() as (opened, found):
        return read_chosen_names(opened, found, selection.models)


def read_chosen_names(store: Store, protocol: Protocol, models: Sequence[str]) -> ChosenNames:
    """Return the names that *models* (parts of stored labels; empty: all) chose for themselves, one
    value for each conversation, and whether they changed them later, by the judge's scores.
    """
    if not list_identity_choice_scenarios(protocol):
        raise WrongUse(
            f"{protocol.name} has no scenario that asks for a name; v2 has (--protocol v2)"
        )
    readings = list_chosen_names(store, protocol)
    if models:
        chosen = {subject.hash for subject in find_stored_subjects(store, protocol, models)}
        readings = [reading for reading in readings if reading.subject_hash in chosen]
    scored = add_name_changes(readings, make_leaderboards(store, protocol))
    return ChosenNames(protocol, tuple(scored))


async def have_judge_read_names(
    wanted: Run,
    store: Store,
    unread: Sequence[NamesRead],
    watch: Callable[[Asker], Awaitable[None]],
    approve: Callable[[Forecast], bool],
) -> Report | None:
    """Have the judge of *wanted* read the names in the *unread* conversations, one call each, and
    return the report; None if *approve* says no to the cost. Readings are stored.

    *watch* runs beside it. Raises WrongUse for the embedded judge, which reads no names.
    """
    if wanted.judge == NAME:
        raise WrongUse("the embedded judge cannot read names; name a model with -j")
    make_asker = partial(make_name_asker, unread)
    return await ask_one_judge(wanted, store, make_asker, len(unread), watch, approve)
