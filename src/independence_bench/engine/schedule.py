"""Carries out what a command asks for: of one protocol, or of variants of it, such as a character
at its depths, one after the other, foreseen together and on one budget.

The store is the only memory: a command that is started again goes on from what is there. `Engine`
decides which call goes first. Prints nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from independence_bench.engine.ask import Asker, Engine, ask_until_settled
from independence_bench.engine.preview import Preview, preview_of
from independence_bench.engine.run import Progress, Report, RunPlan, Session
from independence_bench.engine.session import RunOptions, resolved
from independence_bench.errors import BenchError
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import Files
from independence_bench.protocol.plan import Shard
from independence_bench.store.database import Store


async def run(
    options: RunOptions,
    store: Store,
    approve: Callable[[Preview], bool],
    watch: Callable[[Asker], Awaitable[None]],
) -> Report | None:
    """Play and judge what *options* ask for; None where *approve* said no.

    *watch* runs together with the engine and is cancelled at its end. Ctrl-C once: what is in
    flight is waited for and stored; twice: it is left.
    """
    async with resolved(options, store) as (plan, session):
        if not approve(await preview_of(plan, session)):
            return None
        return await play(plan, session, watch, approve)


async def play(
    plan: RunPlan,
    session: Session,
    watch: Callable[[Asker], Awaitable[None]],
    approve: Callable[[Preview], bool] | None = None,
) -> Report:
    """Play and judge *plan*, watched as in `run`; *approve* is asked again where it turns out that
    a model has to be called in another way.
    """

    async def begin(plan: RunPlan) -> Engine:
        return Engine(plan, session)

    async def approved(plan: RunPlan) -> bool:
        return approve is None or approve(await preview_of(plan, session))

    return await ask_until_settled(plan, session, begin, watch, approved)


async def run_each(
    options: RunOptions,
    protocols: Sequence[tuple[Protocol, Files]],
    store: Store,
    approve: Callable[[Sequence[Preview]], bool],
    watch: Callable[[Asker], Awaitable[None]],
) -> Report | None:
    """As `run`, what *options* ask for of each of *protocols*, one after the other and on one
    budget.

    All of them are foreseen before the first is played: once more after one stem of a subject of
    which no reply is stored, whose lengths are not known. The protocols are variants of that of
    *options*: sampled, configured and judged alike. *approve* is called each time.
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
            and any(estimate.unheard for estimate in previews[0].estimates)
        ):
            units = len({scenario.stem for scenario in plans[0].protocol.scenarios}) * plan.runs
            pilot = await play(replace(plans[0], shard=Shard(1, units)), session, watch)
            # what it played is counted where the rest is
            pilot.subjects = [
                Progress(subject.label, tally=subject.tally, state=subject.state)
                for subject in pilot.subjects
            ]
            whole.add(pilot)
            if whole.stopped is None and not approve(await _previews(plans, session)):
                whole.stopped = BenchError("it will cost more than was foreseen, and you said no")
        for part in plans:
            if whole.stopped is None:
                whole.add(await play(part, session, watch))
        return whole


async def _previews(plans: Sequence[RunPlan], session: Session) -> list[Preview]:
    judging: set[tuple[str, str]] = set()
    return [await preview_of(plan, session, judging) for plan in plans]
