"""Carries out what a command asks for: one protocol, or several variants of it, such as a character
at its depths. Variants are forecast together and played one after the other on one budget.

The store is the only memory: a command that is started again goes on from what is there. `Engine`
decides which call goes first. Prints nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from independence_bench.engine.ask import Asker, Engine, ask_and_drop_refused_settings
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
    """Play and judge everything that *wanted* asks for and the store lacks, and return the report;
    None if *approve* declines the forecast.

    *watch* runs at the same time and is cancelled at the end. After the first Ctrl-C, calls in
    flight are waited for and stored; a second one abandons them.
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
    """Play and judge everything that is left of *session*, and return the report. *watch* runs at
    the same time, as in `play_run`. *approve* is asked with a new forecast if a model has to be
    called with other settings, and ends the work if it declines; None: nobody is asked.
    """

    async def make_engine(session: Session) -> Engine:
        return Engine(session)

    async def ask_approval(session: Session) -> bool:
        return approve is None or approve(await make_preview(session))

    return await ask_and_drop_refused_settings(session, make_engine, watch, ask_approval)


async def play_protocols(
    wanted: Run,
    protocols: Sequence[tuple[Protocol, Files]],
    store: Store,
    approve: Callable[[Sequence[Preview]], bool],
    watch: Callable[[Asker], Awaitable[None]],
) -> Report | None:
    """Play and judge what *wanted* asks for, once for each of *protocols*, one protocol after the
    other and on one budget. Returns one report for all; None if *approve* declines the first
    forecast.

    All protocols are forecast before the first is played. If no reply of a model is stored, one
    item is played first and all are forecast again, because the lengths of replies were not known;
    *approve* is called each time. *protocols* are variants of the protocol of *wanted*: sampled,
    configured and judged alike. *watch* runs at the same time.
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
