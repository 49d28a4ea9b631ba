"""`aib costs` as a function: what every call of a store has cost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from independence_bench.analysis.costs import Costs, read_costs
from independence_bench.api.answers import Answer
from independence_bench.report.stored_view import format_costs_json
from independence_bench.store.database import find_default_store, open_store


@dataclass(frozen=True, slots=True)
class StoreCosts(Answer):
    """The cost of every call that was made since a store began. `rows` has a row for each command,
    each model and each judge that made a call.
    """

    costs: Costs
    store: str  # as it is shown to a user

    def json(self) -> str:
        """Return what `aib costs --json` prints."""
        return format_costs_json(self.costs)

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of commands, then of models, then of judges; `of` names the list."""
        values = self.values()
        lists = ("commands", "subjects", "judges")
        return [{"of": name} | row for name in lists for row in values[name]]


def costs(store: str | Path | None = None) -> StoreCosts:
    """Return what each command, model and judge has cost, as `aib costs` shows it. Raises
    StoreError if there is no store.
    """
    address = str(store or find_default_store())
    with open_store(address, create=False) as opened, opened.open_snapshot() as connection:
        return StoreCosts(read_costs(connection), opened.shown)
