"""`aib judges` as a function: how judges agree, and how lenient they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from independence_bench.analysis.judge_agreement import Validation, compare_judges
from independence_bench.api.answers import Answer
from independence_bench.api.selection import Selection, select_results
from independence_bench.lookup import normalize_names
from independence_bench.report.judges_view import format_validations_json


@dataclass(frozen=True, slots=True)
class JudgeComparison(Answer):
    """The judges of a protocol side by side, in each configuration. `rows` has a row for each judge
    in each of them.
    """

    validations: tuple[Validation, ...]
    nothing: str = ""  # why there is none

    def json(self) -> str:
        """Return what `aib judges --json` prints."""
        return format_validations_json(self.validations)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each judge of each configuration."""
        shared = ("protocol", "configurations", "main_judge")
        return [
            {name: compared[name] for name in shared} | judge
            for compared in self.values()["judges"]
            for judge in compared["judges"]
        ]


def judges(
    store: str | Path | None = None,
    *,
    protocol: str | Path | None = None,
    judges: str | Sequence[str] = (),
    weights: str | None = None,
) -> JudgeComparison:
    """Compare the judges of what is stored, as `aib judges` does; with *judges*, parts of their
    labels, only these.

    Raises StoreError if there is no store, WrongUse for a name that fits nothing.
    """
    selection = select_results(store, protocol, weights)
    return compare_selected_judges(selection, normalize_names(judges))


def compare_selected_judges(selection: Selection, names: Sequence[str]) -> JudgeComparison:
    """Read what `judges` returns from the results that *selection* means."""
    with selection.open_for_reading() as (opened, protocol):
        validations = tuple(compare_judges(opened, protocol, names))
        nothing = (
            f"no conversations of {protocol.name} are judged in {opened.shown}; run `aib judge "
            "-j MODEL`"
        )
    return JudgeComparison(validations, "" if validations else nothing)
