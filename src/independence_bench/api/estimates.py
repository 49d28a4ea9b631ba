"""`aib estimate-cost` as a function: what a run would cost, and the difference that it can show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from independence_bench.analysis.detectable import (
    Detectable,
    estimate_index_variation,
    estimate_mean_index,
    find_detectable_difference,
)
from independence_bench.analysis.leaderboard import Wanted, make_leaderboards
from independence_bench.api.answers import Answer
from independence_bench.api.commands import Work, learn_secrets_and_make_permissions
from independence_bench.engine.preview import Preview, make_preview
from independence_bench.engine.run import Run
from independence_bench.engine.session import list_named_models, open_session, resolve_run
from independence_bench.report.encode import format_json
from independence_bench.report.estimate_view import (
    build_estimate_values,
    render_detectable_difference,
    render_estimate,
)
from independence_bench.report.table import Block
from independence_bench.store.database import Store, find_default_store, open_store


@dataclass(frozen=True, slots=True)
class CostEstimate(Answer):
    """The estimated cost of a run. `rows` has a row for each model."""

    preview: Preview
    detectable: Detectable | None  # None: the run gives no index

    @property
    def dollars(self) -> float | None:
        """Estimated dollars of all models and the judge together; None if a price is missing."""
        return self.preview.forecast.dollars

    def json(self) -> str:
        """Return what `aib estimate-cost --json` prints."""
        return format_json(build_estimate_values(self.preview, self.detectable))

    def views(self) -> list[Iterator[Block]]:
        """Return the table, and the sentence on the difference, as blocks that can be printed."""
        difference = self.detectable and render_detectable_difference(self.detectable)
        return [render_estimate(self.preview), *([difference] if difference else [])]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each model: calls, tokens and dollars of its replies and of the
        judge.
        """
        found: list[dict[str, Any]] = self.values()["subjects"]
        return found


def estimate_cost(
    models: Run | str | Sequence[str] = (),
    *,
    store: str | Path | None = None,
    trust: str | Sequence[str] = (),
    **settings: Any,
) -> CostEstimate:
    """Estimate what `run` with the same arguments would cost, as `aib estimate-cost` does. Asks no
    model; stored replies cost nothing more. Without *models* the active ones of models.yaml are
    meant, and without that file those of the shipped list.

    Arguments and errors are those of `run`.
    """
    wanted = replace(models, **settings) if isinstance(models, Run) else Run(models, **settings)
    wanted.check_settings()
    if not list_named_models(wanted):
        wanted = replace(wanted, all=True)
    wanted = resolve_run(replace(wanted, allow=learn_secrets_and_make_permissions(trust)))
    with open_store(str(store or find_default_store())) as opened:
        return Work(None).run_work(forecast_cost_and_detectable_difference(wanted, opened))


async def forecast_cost_and_detectable_difference(wanted: Run, store: Store) -> CostEstimate:
    """Return the forecast of the calls and costs of the run *wanted*, and the smallest difference
    between two models' indices that its runs can detect; the difference is None if the run plays
    only some experiments, so that it gives no index.
    """
    async with open_session(wanted, store, will_ask_models=False) as session:
        preview = await make_preview(session)
        if session.experiments:
            return CostEstimate(preview, None)
        same = [
            board
            for board in make_leaderboards(
                store, session.protocol, Wanted(configurations=session.configurations)
            )
            if set(board.configurations) == set(session.configurations)
        ]
        judge = (session.judge.hash,) if session.judge else ()
        board = max(
            same, key=lambda board: (board.judge_hashes == judge, len(board.ranked)), default=None
        )
        expected = estimate_index_variation(
            session.protocol, session.configurations, board, session.subjects
        )
        index = estimate_mean_index(board, {subject.hash for subject in session.subjects})
        found = find_detectable_difference(expected, index, session.runs)
        return CostEstimate(preview, found)
