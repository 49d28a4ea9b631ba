"""Runs a plan: at once, with its runs apart in time, in sittings, or in rounds until the intervals
are narrow enough.

With `Sittings`, a command plays the runs of one sitting. With a `Spread`, run k of all subjects is
played together: a run is due so many seconds after its predecessor was begun in the store, so
whoever was away for a day does not play what was missed in one go. With a `Target`, what is stored
is scored after each round, and the next run of every subject is played that it helps
(`statistics.planning`). There is no memory but the store: whoever starts again sees what is there
and goes on from it.

Variants of one protocol, such as a character at its depths, are played one after the other,
foreseen together and on one budget. Prints nothing. Clock and sleep are arguments.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.leaderboard import boards
from independence_bench.analysis.statistics.planning import FEWEST, look_at_width, runs_needed
from independence_bench.analysis.uncertainty import INDEX
from independence_bench.engine.ask import Engine
from independence_bench.engine.preview import Preview, preview_of
from independence_bench.engine.run import (
    Progress,
    Report,
    RunPlan,
    Session,
    Sittings,
    interruptible,
    plan_of_sitting,
)
from independence_bench.engine.session import RunOptions, find_pending, resolved
from independence_bench.errors import BenchError, NoWholeRun, WrongUse
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import Files
from independence_bench.protocol.plan import Shard, groups, jobs
from independence_bench.store import results
from independence_bench.store.database import Store

HOUR = 3600.0
LONGEST_SLEEP = 60.0  # seconds: the clock goes on while a laptop sleeps, and a timer does not


@dataclass(slots=True)
class Wait:
    """A run that is not due yet, and when it is; Ctrl-C ends the wait."""

    run: int
    runs: int  # of the plan
    subjects: int  # that have something to play in this run
    until: float  # seconds since 1970
    report: Report
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    def stop(self, why: BenchError) -> None:
        """End the wait, and begin no run."""
        self.report.stopped = self.report.stopped or why
        self.stopping.set()


@dataclass(frozen=True, slots=True)
class Spread:
    """How far apart runs are, with the clock and the sleep that measure it."""

    gap: float  # seconds from the beginning of one run to that of the next
    tell: Callable[[Wait], None]  # called when a wait begins
    now: Callable[[], float] = time.time  # seconds since 1970
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


def gap_of(hours: float, runs: int) -> float:
    """Seconds from run to run, where the first of *runs* begins at once and the last one *hours*
    later.

    Raises WrongUse for a single run.
    """
    if runs < 2:
        raise WrongUse("--spread-over needs two runs or more: say how many with --runs")
    return hours * HOUR / (runs - 1)


async def run(
    options: RunOptions,
    store: Store,
    approve: Callable[[Preview], bool],
    watch: Callable[[Engine], Awaitable[None]],
    spread: Spread | Sittings | None = None,
) -> Report | None:
    """Play and judge what *options* ask for; None where *approve* said no.

    *watch* runs together with the engine and is cancelled at its end. Ctrl-C once: what is in
    flight is waited for and stored; twice: it is left.
    """
    async with resolved(options, store) as (plan, session):
        if isinstance(spread, Sittings):
            plan, spread = plan_of_sitting(plan, store, spread), None
        if not approve(await preview_of(plan, session)):
            return None
        return await play_spread(plan, session, watch, spread)


async def play_spread(
    plan: RunPlan,
    session: Session,
    watch: Callable[[Engine], Awaitable[None]],
    spread: Spread | None,
) -> Report:
    """Play and judge *plan* run by run, each when it is due, or for None all at once; a begun run
    goes on at once.

    What a run could not complete is left for the same command later on: the next run does not ask
    for it.
    """
    if spread is None:
        engine = Engine(plan, session)
        return await engine.run_watched(watch(engine))
    session = replace(session, clocks=replace(session.clocks, now=spread.now))
    whole = Report([], session.budget)
    began: dict[str, float] = {}  # subject's hash -> when this command began its last run
    for number in range(plan.first, plan.runs + 1):
        part = replace(plan, first=number, runs=number)
        waiting, due = _due(part, session.store, spread.gap, began)
        if due is not None and due > spread.now():
            wait = Wait(number, plan.runs, len(waiting), due, whole)
            spread.tell(wait)
            await _wait(wait, spread)
            if whole.stopped is not None:
                break
        began |= dict.fromkeys(waiting, spread.now())
        whole.add(await play_spread(part, session, watch, None))
        if whole.stopped is not None:
            break
    return whole


def _due(
    plan: RunPlan, store: Store, gap: float, began: Mapping[str, float]
) -> tuple[list[str], float | None]:
    """(hashes of the subjects that have something to play in this run, when the first of it may be
    sent).

    None: at once, because it is their first run, or each of them has begun it.
    """
    number, waiting, due = plan.runs, [], []
    with store.reading() as connection:
        for subject in plan.subjects:
            if not find_pending(connection, plan, subject).to_play:
                continue
            waiting.append(subject.hash)
            of_one_run = jobs(
                plan.protocol, plan.configurations, subject, [1], experiments=plan.experiments
            )
            begun = results.begun_at(
                connection, {job.script_hash for job in of_one_run}, subject.hash
            )
            before = begun.get(number - 1, began.get(subject.hash))
            if number not in begun and before is not None:
                due.append(before + gap)
    return waiting, max(due, default=None)


async def _wait(wait: Wait, spread: Spread) -> None:
    """Wait until the run is due, or until Ctrl-C."""
    with interruptible(wait.report, wait.stop):
        stopped = asyncio.ensure_future(wait.stopping.wait())
        try:
            while not stopped.done() and (left := wait.until - spread.now()) > 0:
                nap = asyncio.ensure_future(spread.sleep(min(left, LONGEST_SLEEP)))
                await asyncio.wait((nap, stopped), return_when=asyncio.FIRST_COMPLETED)
                nap.cancel()
                with suppress(asyncio.CancelledError):
                    await nap
        finally:
            stopped.cancel()


SETTLED, OPEN, OUT_OF_REACH, ALL_RUNS, INCOMPLETE = (
    "settled",
    "open",
    "out of reach",
    "all runs",
    "incomplete",
)


@dataclass(frozen=True, slots=True)
class Target:
    """When to stop: the width of the intervals, and the most runs."""

    width: float  # of the index's interval from end to end, in points
    most: int  # runs of a subject


@dataclass(frozen=True, slots=True)
class SubjectStatus:
    """How far one subject of the plan is."""

    subject: ChatModel
    state: str  # SETTLED, OPEN, OUT_OF_REACH, ALL_RUNS, or INCOMPLETE: it has no index
    runs: int = 0  # begun
    row: Row | None = None  # on the board; None: nothing of it is there
    needed: int | None = None  # runs that the width would take; None: not out of reach, or too many


@dataclass(frozen=True, slots=True)
class Assessment:
    """The scores of what is stored, after a round."""

    subjects: tuple[SubjectStatus, ...]  # of the plan's subjects, in its order
    next: tuple[ChatModel, ...]  # to play one more run, the one that it helps most first
    widest: float | None  # interval of a subject of the plan, in points; None: no subject has one

    @property
    def left(self) -> int:
        """Subjects that another run would help."""
        return sum(status.state == OPEN for status in self.subjects)


@dataclass(slots=True)
class AdaptiveRun:
    """The state of an adaptive run, updated after every round."""

    target: Target
    report: Report  # of everything that was played
    round: int = 1  # the first plays the fewest runs of every subject
    assessment: Assessment | None = None  # after the last round


async def run_adaptive(
    options: RunOptions,
    target: Target,
    store: Store,
    approve: Callable[[Preview], bool],
    watch: Callable[[Engine], Awaitable[None]],
    tell: Callable[[AdaptiveRun], None],
    spread: Spread | None = None,
) -> AdaptiveRun | None:
    """Play until *target* is reached or no run that is allowed helps; None where *approve* said no.

    *approve* sees what it takes if every subject plays the most runs. *watch*, *spread* and Ctrl-C
    as with `schedule.run`. *tell* is called after every round. Raises WrongUse for what has no
    ranking of its own.
    """
    group = ranked_together(options)
    async with resolved(replace(options, runs=target.most), store) as (plan, session):
        if not approve(await preview_of(plan, session)):
            return None
        whole = Report([], session.budget)
        adaptive = AdaptiveRun(target, whole)

        async def play(wanted: Iterable[tuple[ChatModel, int]]) -> None:
            """Play each subject up to its number of runs; one plan for all that have the same
            number.
            """
            by_runs: dict[int, list[ChatModel]] = defaultdict(list)
            for subject, runs in wanted:
                by_runs[runs].append(subject)
            for runs, subjects in sorted(by_runs.items()):
                if whole.stopped is None:
                    part = replace(plan, subjects=tuple(subjects), runs=runs)
                    whole.add(await play_spread(part, session, watch, spread))

        begun = last_runs(boards(store, plan.protocol), group)
        await play((subject, max(FEWEST, begun.get(subject.hash, 0))) for subject in plan.subjects)
        while True:
            adaptive.assessment = now = assess(store, plan, target, group)
            tell(adaptive)
            if whole.stopped is not None or not now.next:
                return adaptive
            runs = {status.subject: status.runs + 1 for status in now.subjects}
            chosen = await _affordable(
                [(subject, runs[subject]) for subject in now.next], plan, session
            )
            if not chosen:
                whole.stopped = NoWholeRun()
                return adaptive
            adaptive.round += 1
            await play(chosen)


def ranked_together(options: RunOptions) -> tuple[object, ...]:
    """The configurations that are ranked together. Raises WrongUse where there is no such group, or
    several.
    """
    if options.judge is None:
        raise WrongUse("without a judge there is no index to look at: leave --no-judge out")
    if options.experiments:
        raise WrongUse("an index needs all experiments: leave --exp out")
    group = next(
        (group for group in groups(options.protocol) if set(group) == set(options.configurations)),
        None,
    )
    if group is None:
        raise WrongUse(
            "these configurations are ranked apart from each other: choose one, or the protocol's own"
        )
    return group


def last_runs(scored: Sequence[Board], group: Collection[object]) -> dict[str, int]:
    """Subject's hash -> the number of its last run that counts on a board of *group*."""
    begun: dict[str, int] = {}
    for board in scored:
        if set(board.configurations) == set(group):
            for row in board.rows:
                begun[row.subject.hash] = max(begun.get(row.subject.hash, 0), *row.runs, 0)
    return begun


def assess(store: Store, plan: RunPlan, target: Target, group: Collection[object]) -> Assessment:
    """Score what is stored, and say how far each of *plan*'s subjects is and who is to play on."""
    scored = [
        board for board in boards(store, plan.protocol) if set(board.configurations) == set(group)
    ]
    begun = last_runs(scored, group)
    judge = (plan.judge.hash,) if plan.judge else ()
    # (): nothing is judged yet
    board = next((board for board in scored if board.judge_hashes in (judge, ())), None)
    rows = {} if board is None else {row.subject.hash: row for row in board.rows}
    known = {
        subject.hash: SubjectStatus(
            subject, INCOMPLETE, begun.get(subject.hash, 0), rows.get(subject.hash)
        )
        for subject in plan.subjects
    }
    if board is None or board.uncertainty is None or not board.uncertainty.measures:
        return Assessment(tuple(known.values()), (), None)
    measured = board.uncertainty.measures[INDEX].measured
    # the plan's own values: a stored subject does not know how it was asked for
    by_hash = {subject.hash: subject for subject in plan.subjects}
    ours = [by_hash.get(row.subject.hash) for row in board.ranked]
    there = np.array([subject is not None for subject in ours], dtype=np.bool_)
    wanted = target.width / 100
    look = look_at_width(measured, there, target.most, wanted)
    needed = runs_needed(measured, wanted)
    for n, (row, subject) in enumerate(zip(board.ranked, ours, strict=True)):
        if subject is not None:
            state = SETTLED if look.narrow[n] else OUT_OF_REACH if look.out_of_reach[n] else OPEN
            if state == OPEN and n not in look.next:
                state = ALL_RUNS
            more = needed[n] if state in (OUT_OF_REACH, ALL_RUNS) else None
            known[subject.hash] = SubjectStatus(subject, state, max(row.runs), row, more)
    intervals = [row.uncertainty.index.rerun for row in board.ranked if row.subject.hash in by_hash]
    return Assessment(
        tuple(known.values()),
        tuple(subject for n in look.next.tolist() if (subject := ours[n]) is not None),
        max((interval.width for interval in intervals if interval), default=None),
    )


async def _affordable(
    wanted: Sequence[tuple[ChatModel, int]], plan: RunPlan, session: Session
) -> list[tuple[ChatModel, int]]:
    """Those of *wanted*, the first ones first, whose runs the budget will hold whole, as far as can
    be foreseen.

    A run that the budget cuts short leaves its subject without an index.
    """
    if session.budget.limit is None:
        return list(wanted)
    left = session.budget.limit - session.budget.spent
    chosen = []
    for subject, runs in wanted:
        preview = await preview_of(replace(plan, subjects=(subject,), runs=runs), session)
        most = preview.estimates[0].high or 0.0  # price not known: the budget stops it
        if most <= left:
            left -= most
            chosen.append((subject, runs))
    return chosen


async def run_each(
    options: RunOptions,
    protocols: Sequence[tuple[Protocol, Files]],
    store: Store,
    approve: Callable[[Sequence[Preview]], bool],
    watch: Callable[[Engine], Awaitable[None]],
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
            pilot = await play_spread(
                replace(plans[0], shard=Shard(1, units)), session, watch, None
            )
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
                whole.add(await play_spread(part, session, watch, None))
        return whole


async def _previews(plans: Sequence[RunPlan], session: Session) -> list[Preview]:
    judging: set[tuple[str, str]] = set()
    return [await preview_of(plan, session, judging) for plan in plans]
