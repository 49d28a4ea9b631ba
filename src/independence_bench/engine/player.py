"""Plays and judges jobs: bounded, resumable, on budget. Concurrency lives here.

A conversation is awaits in order; scenarios are tasks side by side; a judgement starts the moment its
transcript is finished. When places are scarce, the longest remaining chain goes first. A failure ends no more
than it has to: a call, a subject, or everything on one endpoint.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from sqlalchemy import Connection

from independence_bench.calls.budget import Budget
from independence_bench.calls.call import Bad, Good, Question
from independence_bench.calls.executor import Buyer, Stopped, together
from independence_bench.calls.limits import Rooms
from independence_bench.calls.pool import Clocks, open_shop
from independence_bench.calls.retry import GaveUp, Policy, Reach
from independence_bench.engine.pending import Stock, judge_trouble, take_stock
from independence_bench.engine.run import Order, Progress, Report, Trouble
from independence_bench.errors import BudgetSpent, StoreError
from independence_bench.judging.prompt import JudgingInput
from independence_bench.models.client import Client
from independence_bench.models.messages import ChatRequest, Completion
from independence_bench.protocol import delivery
from independence_bench.protocol.conversation import Talk, Words
from independence_bench.protocol.plan import Job, opening, request
from independence_bench.store import attempts, registry, results
from independence_bench.store.database import Store
from independence_bench.store.group_commit import Commits
from independence_bench.store.results import Judgement, Reply

# conversations of one subject that are under way or wait for a place: enough to choose the longest from
SMALLEST_WINDOW = 256
STARTED_TOGETHER = 32  # of those; to make all of them ready at once takes longer than a commit


class Engine:
    """Carries out one order. `report` can be read at any time while `run` is at work."""

    def __init__(
        self,
        order: Order,
        store: Store,
        clients: Mapping[str, Client],
        budget: Budget,
        *,
        now: Callable[[], float],
        clock: Callable[[], float],
        draw: Callable[[], float],
        policy: Policy | None = None,
    ) -> None:
        """*now* is seconds since 1970, *clock* is monotonic seconds, *draw* random numbers in [0, 1)."""
        self.order, self._store, self._clients, self.now = order, store, clients, now
        self._clock, self._draw, self._policy = clock, draw, policy or Policy()
        self._stopping = asyncio.Event()
        self.protocol_hash = order.protocol.hash  # of all its texts: once is enough
        judge = order.judge.label if order.judge else None
        self.report = Report([Progress(subject) for subject in order.subjects], budget, judge=judge)

    def stop(self, why: str) -> None:
        """Send nothing new; what is in flight is waited for and stored."""
        self.report.stopped = self.report.stopped or why
        self._stopping.set()

    @property
    def stopping(self) -> bool:
        """Whether nothing new is to be sent."""
        return self._stopping.is_set()

    async def run(self) -> Report:
        """Play and judge until everything is done or stopped. Raises StoreError; all else is in the report."""
        order = self.order
        clocks = Clocks(self.now, self._clock, self._draw, self._policy)
        most = order.at_once * order.calls_at_once
        async with open_shop(self._store, self._clients, self.report.budget, self._stopping, most, clocks) as shop:
            buyer, commits = shop.buyer, shop.buyer.commits
            self.report.lost = shop.lost
            unknown = await commits.do(self._keep_order)
            slots = asyncio.Semaphore(order.at_once)
            try:
                players = [
                    _Player(self, commits, buyer, progress, progress.subject.hash in unknown)
                    for progress in self.report.subjects
                ]
                await together(player.plan() for player in players)  # beside each other they share a commit
                async with asyncio.TaskGroup() as group:
                    for player in players:
                        group.create_task(player.play_all(slots))
            except BaseExceptionGroup as group_of_errors:
                # the store is shared by all tasks: when it fails, it fails in each, and once is enough to say
                if (failures := group_of_errors.subgroup(StoreError)) is not None:
                    raise _first(failures) from None
                raise
        return self.report

    def _keep_order(self, connection: Connection) -> set[str]:
        """Store what is played and who plays it. Returns the subjects (hashes) that the store did not know."""
        order, now = self.order, self.now()
        registry.keep_protocol(connection, self.protocol_hash, order.protocol.name, order.files, now)
        unknown = {subject.hash for subject in order.subjects} - registry.known_subjects(connection)
        for subject in order.subjects:
            registry.keep_subject(connection, subject)
        if order.judge is not None:
            registry.keep_judge(connection, order.judge.hash, order.judge.label, order.judge.spec)
        return unknown


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error


class _Player:
    """Plays and judges one subject."""

    def __init__(self, engine: Engine, commits: Commits, buyer: Buyer, progress: Progress, new: bool) -> None:
        """*new*: nothing of the subject was stored before this command."""
        self.engine, self.order, self.commits, self.buyer, self.new = engine, engine.order, commits, buyer, new
        self.progress, self.subject, self.tally = progress, progress.subject, progress.tally
        self.rooms = Rooms(self.order.calls_at_once)
        self.room = self.rooms.at(self.subject.endpoint)
        self.judge_calls = 0 if self.order.judge is None else self.order.judge.calls
        self.stopped = False  # nothing more is sent for this subject
        self.stock = Stock()
        self.beginnings: dict[str, tuple[Talk, ChatRequest]] = {}  # by script: every run of it begins in the same way

    async def plan(self) -> None:
        """Read what is stored; what is missing is the work."""
        self.stock = await self.commits.do(lambda c: take_stock(c, self.order, self.subject))
        stock, progress = self.stock, self.progress
        progress.planned, progress.done, progress.invalid = stock.planned, stock.done, stock.invalid
        progress.judged, progress.unjudged = stock.judged, stock.unjudged
        if self.order.judge is not None:
            progress.to_judge = stock.done + len(stock.to_play)
        progress.calls = progress.calls_left = stock.calls(self.judge_calls)
        progress.troubles += stock.troubles

    async def play_all(self, slots: asyncio.Semaphore) -> None:
        """Everything there is to do for this subject."""
        async with slots:
            self.progress.state = "playing"
            left = self._in_order()
            window = min(len(left), max(SMALLEST_WINDOW, 8 * self.order.calls_at_once))
            upcoming = iter(left)
            async with asyncio.TaskGroup() as group:
                for started in range(1, window + 1):
                    group.create_task(self._work_off(upcoming))
                    if started % STARTED_TOGETHER == 0:
                        await asyncio.sleep(0)  # the first calls go out while the others are made ready
            self.beginnings.clear()
            self.progress.state = "stopped" if self.stopped or self.engine.report.stopped else "done"

    async def _work_off(self, upcoming: Iterator[tuple[Job, bool]]) -> None:
        """One job after the other, beside others that take theirs from *upcoming* too."""
        for job, judging in upcoming:
            if self.engine.stopping:
                return
            await self._guard(job, self._judge_stored(job) if judging else self._play(job))

    def _in_order(self) -> list[tuple[Job, bool]]:
        """What is left to do, what others wait for the longest first; with it, whether it is only to be judged."""
        left = [(job, False) for job in self.stock.to_play] + [(job, True) for job in self.stock.to_judge]
        self.stock = Stock()  # a store of a hundred thousand transcripts is planned, and let go of
        return sorted(left, key=lambda one: -self.priority(one[0], 1 if one[1] else len(one[0].scenario.asks) + 1))

    async def _guard(self, job: Job, work: Awaitable[None]) -> None:
        """Do *work*; a failure becomes a line in the report and ends what it has to end."""
        try:
            await work
        except Stopped:
            pass
        except BudgetSpent as error:
            self.engine.stop(str(error))
        except GaveUp as error:
            self.progress.failed += 1
            self.stopped = self.stopped or error.reach in (Reach.MODEL, Reach.ENDPOINT)
            self._trouble(job, error.reason)

    def _dropped(self, calls: int) -> None:
        """So many calls will not be made any more."""
        self.progress.calls -= calls
        self.progress.calls_left -= calls

    def _trouble(self, job: Job, why: str) -> None:
        self.progress.troubles.append(Trouble(job.title, why))

    async def _play(self, job: Job) -> None:
        """One scenario to its end, stored the moment it is finished, then judged."""
        order = self.order
        talk, asked = self._beginning(job)
        keys: list[str] = []
        replies: list[Reply] = []
        while talk.awaiting:
            question = self._question(job, talk, asked)
            try:
                reply = await self.buyer.buy(question, self.room, self.tally, new=self._bought(keys))
            except GaveUp:
                self._dropped(talk.asks_left + self.judge_calls)
                # a run that leaves no conversation behind was begun all the same, and is shown as incomplete
                where = (job.configuration.system, job.configuration.delivery)
                begun = registry.Begun(self.engine.protocol_hash, self.subject.hash, job.run, *where)
                await self.commits.add(registry.begin_runs, begun)
                raise
            keys.append(question.info.key)
            replies.append(reply)
            self.progress.calls_left -= 1
            if reply.reason is not None:
                break
            talk = talk.answered(Words(reply.text, reply.notes))
            if talk.awaiting:
                asked = request(talk, self.subject, job.configuration, order.protocol)
        reason = replies[-1].reason
        played = results.Played(
            id=job.transcript_id,
            script_hash=job.script_hash,
            subject_hash=self.subject.hash,
            protocol_hash=self.engine.protocol_hash,
            run=job.run,
            system=job.configuration.system,
            delivery=job.configuration.delivery,
            experiment=job.scenario.experiment,
            scenario=job.scenario.id,
            transcript=talk.transcript,
            reply_keys=tuple(keys),
            replies=len(replies),
            cut_off=sum(reply.cut_off for reply in replies),
            plain_text=sum(reply.plain_text for reply in replies),
            reasoned=sum(reply.reasoned for reply in replies),
            reason=None if reason is None else f"{talk.awaiting}: {reason}",
        )
        kept = self.commits.add(results.keep_transcripts, (played, self.engine.now()))
        if reason is not None:
            await kept
            self.progress.invalid += 1
            self.progress.to_judge -= order.judge is not None
            self._dropped(talk.asks_left - 1 + self.judge_calls)
            self._trouble(job, f"invalid: {played.reason}; `aib run --again` asks once more")
            return
        self.progress.done += 1
        try:
            if order.judge is not None:
                case = JudgingInput(talk.transcript, job.scenario, order.protocol.judge_instructions)
                await self._judge(job, case, new=self._bought(keys))
        finally:
            await kept  # handed over before the judge's claim, so it is durable before the judge is asked

    def _beginning(self, job: Job) -> tuple[Talk, ChatRequest]:
        """The conversation up to the first reply, and what is sent for that."""
        if (known := self.beginnings.get(job.script_hash)) is not None:
            return known
        talk = opening(self.order.protocol, job.configuration, job.scenario)
        beginning = talk, request(talk, self.subject, job.configuration, self.order.protocol)
        return self.beginnings.setdefault(job.script_hash, beginning)

    def _bought(self, keys: list[str]) -> bool:
        """Whether what follows from these replies is hardly stored yet: the last was bought by this command."""
        return keys[-1] in self.buyer.books.fresh if keys else self.new

    def _question(self, job: Job, talk: Talk, asked: ChatRequest) -> Question[Reply]:
        """The reply that *talk* awaits, as something to buy: *asked* is what to send for it."""
        key = asked.key(job.run)
        wording = self.order.protocol.tool_role

        def read(completion: Completion) -> Good[Reply] | Bad:
            said = delivery.said(completion, job.configuration.delivery, wording)
            if isinstance(said, delivery.Unusable):
                return Bad(said.reason, said.cut_off)
            reply = Reply(
                text=said.words.text,
                notes=said.words.notes,
                reasoning=completion.reasoning,
                cut_off=said.cut_off,
                plain_text=said.plain_text,
                reasoned=bool(completion.reasoning or completion.usage.reasoning_tokens),
            )
            return Good(reply, said.cut_off)

        return Question(
            info=attempts.CallInfo(key, "reply", self.subject.endpoint, self.subject.model, asked.record),
            request=asked,
            shelf=results.REPLIES,
            final=lambda reply: reply.reason is None or not self.order.again,
            read=read,
            none=lambda reason: Reply("", reason=reason),
            priority=self.priority(job, talk.asks_left + (self.order.judge is not None)),
        )

    def priority(self, job: Job, chain: int) -> int:
        """The longest chain first; on a budget run by run, so that what is spent makes whole runs."""
        return chain if self.engine.report.budget.limit is None else chain - 1000 * job.run

    async def _judge_stored(self, job: Job) -> None:
        transcript, _ = await self.commits.do(partial(results.read_transcript, transcript_id=job.transcript_id))
        await self._judge(
            job, JudgingInput(transcript, job.scenario, self.order.protocol.judge_instructions), new=False
        )

    async def _judge(self, job: Job, case: JudgingInput, new: bool) -> None:
        assert self.order.judge is not None  # noqa: S101 - only planned where there is one
        try:
            judgement = await self.order.judge.judge(case, _Desk(self, job, new))
        except GaveUp as error:
            # a judge that cannot be asked stops itself or its endpoint, never the subject
            self._dropped(self.judge_calls)
            raise GaveUp(Reach.CALL, f"not judged: {error.reason}; `aib judge` does it later") from None
        self.progress.calls_left -= self.judge_calls
        if judgement.reason is None:
            self.progress.judged += 1
        else:
            self.progress.unjudged += 1
            self._trouble(job, judge_trouble(judgement.reason, self.judge_calls))


@dataclass(frozen=True, slots=True)
class _Desk:
    """What a judge is lent for one transcript."""

    player: _Player
    job: Job
    new: bool  # it follows from a reply that was bought just now

    async def buy(self, question: Question[Judgement]) -> Judgement:
        """Buy what a judge asks a model."""
        player = self.player
        placed = replace(question, priority=player.priority(self.job, question.priority))
        room = player.rooms.at(question.info.endpoint)
        return await player.buyer.buy(placed, room, player.tally, self.new)

    async def store(self, judgement: Judgement) -> Judgement:
        """Store a judgement that cost nothing."""
        now = self.player.engine.now()
        await self.player.commits.add(results.keep_judgements, (judgement.key, None, judgement, now))
        return judgement
