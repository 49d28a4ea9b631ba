"""Plays variants of one protocol one after the other, foreseen together, on one budget: a character at its depths.

A subject of which no reply is stored is heard first, in one stem, because nobody can know how long its replies are.
Prints nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from independence_bench.engine.player import Engine
from independence_bench.engine.preview import Preview, preview_of
from independence_bench.engine.run import Progress, Report, RunPlan, Session
from independence_bench.engine.schedule import play_spread
from independence_bench.engine.session import RunOptions, resolved
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import Files
from independence_bench.protocol.plan import Shard
from independence_bench.store.database import Store


async def run_each(
    options: RunOptions,
    protocols: Sequence[tuple[Protocol, Files]],
    store: Store,
    approve: Callable[[Sequence[Preview]], bool],
    watch: Callable[[Engine], Awaitable[None]],
) -> Report | None:
    """As `run`, what *options* ask for of each of *protocols*, one after the other and on one budget.

    All of them are foreseen before the first is played: once more after one stem of a subject of which no reply is
    stored, whose lengths nobody can know. The protocols are variants of that of *options*: sampled, configured and
    judged alike. *approve* is called each time.
    """
    async with resolved(options, store) as (plan, session):
        plans = [replace(plan, protocol=protocol, files=files) for protocol, files in protocols]
        previews = await _previews(plans, session)
        if not approve(previews):
            return None
        whole = Report([], session.budget)
        # what is asked for again would be asked for twice
        if (
            not options.again
            and previews[0].forecast.dollars != 0
            and any(one.unheard for one in previews[0].estimates)
        ):
            units = len({scenario.stem for scenario in plans[0].protocol.scenarios}) * plan.runs
            pilot = await play_spread(replace(plans[0], shard=Shard(1, units)), session, watch, None)
            # what it played is counted where the rest is
            pilot.subjects = [Progress(one.label, tally=one.tally, state=one.state) for one in pilot.subjects]
            whole.add(pilot)
            if whole.stopped is None and not approve(await _previews(plans, session)):
                return whole
        for part in plans:
            if whole.stopped is None:
                whole.add(await play_spread(part, session, watch, None))
        return whole


async def _previews(plans: Sequence[RunPlan], session: Session) -> list[Preview]:
    judging: set[tuple[str, str]] = set()
    return [await preview_of(plan, session, judging) for plan in plans]
