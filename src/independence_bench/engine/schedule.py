"""Carries out what a command asks for: one protocol, or several variants of it, such as a character
at its depths. Variants are forecast together and played one after the other on one budget.

The store is the only memory: a command that is started again goes on from what is there. `Engine`
decides which call goes first. Prints nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from independence_bench.engine.ask import Asker, Engine, ask_until_settled
from independence_bench.engine.preview import Preview, make_preview
from independence_bench.engine.run import Progress, Report, Run, Session
from independence_bench.engine.session import open_session
from independence_bench.errors import BenchError
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import Files
from independence_bench.protocol.plan import Shard
from independence_bench.store.database import Store


async def play_run(
    wanted: Run,
    store: Store,
    approve: Callable[[Preview], bool],
    watch: Callable[[Asker], Awaitable[None]],
) -> Report | None:
    """Play and judge what is *wanted*, and return the report; None if *approve* says no.

    *watch* runs beside the engine and is cancelled at its end. The first Ctrl-C waits for calls in
    flight and stores them; the second one leaves them.
    """
    async with open_session(wanted, store) as session:
        if not approve(await make_preview(session)):
            return None
        return await play_session(session, watch, approve)


async def play_session(
    session: Session,
    watch: Callable[[Asker], Awaitable[None]],
    approve: Callable[[Preview], bool] | None = None,
) -> Report:
    """Play and judge what is left of *session*, watched as in `play_run`. *approve* is asked again
    if a model has to be called with other settings.
    """

    async def make_engine(session: Session) -> Engine:
        return Engine(session)

    async def ask_approval(session: Session) -> bool:
        return approve is None or approve(await make_preview(session))

    return await ask_until_settled(session, make_engine, watch, ask_approval)


async def play_protocols(
    wanted: Run,
    protocols: Sequence[tuple[Protocol, Files]],
    store: Store,
    approve: Callable[[Sequence[Preview]], bool],
    watch: Callable[[Asker], Awaitable[None]],
) -> Report | None:
    """Play and judge what is *wanted*, once for each of *protocols*, one after the other and on one
    budget. None if *approve* says no.

    All of them are forecast before the first is played. If no reply of a subject is stored, one
    item is played first and all are forecast again, since the lengths were not known. The protocols
    are variants of that of *wanted*: sampled, configured and judged alike. *approve* is called each
    time.
    """
    async with open_session(wanted, store) as session:
        parts = [replace(session, protocol=protocol, files=files) for protocol, files in protocols]
        previews = await _preview_parts(parts)
        if not approve(previews):
            return None
        whole = Report([], session.budget)
        # what is asked for again would be asked for twice
        if (
            not session.again
            and previews[0].forecast.dollars != 0
            and any(estimate.has_no_known_reply for estimate in previews[0].estimates)
        ):
            stems = {scenario.stem for scenario in parts[0].protocol.scenarios}
            pilot_of = replace(parts[0], shard=Shard(1, len(stems) * session.runs))
            pilot = await play_session(pilot_of, watch)
            # what it played is counted where the rest is
            pilot.subjects = [
                Progress(subject.label, tally=subject.tally, state=subject.state)
                for subject in pilot.subjects
            ]
            whole.add_part(pilot)
            if whole.stopped is None and not approve(await _preview_parts(parts)):
                whole.stopped = BenchError("it will cost more than was foreseen, and you said no")
        for part in parts:
            if whole.stopped is None:
                whole.add_part(await play_session(part, watch))
        return whole


async def _preview_parts(parts: Sequence[Session]) -> list[Preview]:
    judging: set[tuple[str, str]] = set()
    return [await make_preview(part, judging) for part in parts]
