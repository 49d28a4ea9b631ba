"""Plays and judges jobs: bounded, resumable, on budget. Concurrency lives here.

A conversation is awaits in order; scenarios are tasks side by side; a judgement starts the moment its
transcript is finished. When places are scarce, the longest remaining chain goes first. A failure ends no more
than it has to: a call, a subject, or everything on one endpoint.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from sqlalchemy import Connection

from independence_bench import delivery
from independence_bench.budget import Budget
from independence_bench.buying import Bad, Buyer, Good, Question, Stopped, Tally
from independence_bench.chat import Completion
from independence_bench.conversation import Talk, Words
from independence_bench.endpoint import Client
from independence_bench.errors import BudgetSpent, StoreError
from independence_bench.hashing import canonical
from independence_bench.judge import Case, Judge, request_record, rubric_hash
from independence_bench.plan import Job, jobs, opening, request
from independence_bench.protocol import Configuration, Protocol, Scenario
from independence_bench.retry import GaveUp, Policy, Reach
from independence_bench.store import records
from independence_bench.store.commits import Commits
from independence_bench.store.database import Store
from independence_bench.store.records import Judgement, Reply
from independence_bench.subject import ChatModel
from independence_bench.throttle import Gate, Places


@dataclass(frozen=True, slots=True)
class Order:
    """What one command is to do. *runs* 0: play nothing, judge what is stored."""

    protocol: Protocol
    files: Mapping[str, str]  # the protocol's, for the snapshot
    configurations: tuple[Configuration, ...]
    subjects: tuple[ChatModel, ...]
    runs: int
    judge: Judge | None
    at_once: int = 4  # subjects
    calls_at_once: int = 8  # within one subject


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that could not be completed."""

    what: str
    why: str


@dataclass(slots=True)
class Progress:
    """One subject's state; read while it is being written to."""

    subject: ChatModel
    planned: int = 0  # transcripts, stored ones included
    stored: int = 0  # of those, before this command
    done: int = 0  # complete, stored ones included
    invalid: int = 0  # ended by an invalid reply, stored ones included
    failed: int = 0  # not completed by this command
    to_judge: int = 0  # transcripts that are or will be judged
    judged: int = 0
    unjudged: int = 0  # the judge failed
    calls_left: int = 0  # replies and judgements still to buy, at least
    state: str = "waiting"  # waiting, playing, done, stopped
    tally: Tally = field(default_factory=Tally)
    troubles: list[Trouble] = field(default_factory=list)


@dataclass(slots=True)
class Report:
    """What a command came to."""

    subjects: list[Progress]
    budget: Budget
    lost: int = 0  # calls that an earlier process left in flight
    stopped: str | None = None  # why it ended early: Ctrl-C, or the budget

    @property
    def troubles(self) -> list[tuple[ChatModel, Trouble]]:
        """Everything that could not be completed, subject by subject."""
        return [(progress.subject, trouble) for progress in self.subjects for trouble in progress.troubles]

    @property
    def cost(self) -> float:
        """Dollars that the endpoints said this command has cost, rejected attempts included."""
        return sum(progress.tally.cost for progress in self.subjects)

    @property
    def complete(self) -> bool:
        """Whether everything that was ordered is stored and judged."""
        return self.stopped is None and not self.troubles


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
        self.report = Report([Progress(subject) for subject in order.subjects], budget)

    def stop(self, why: str) -> None:
        """Send nothing new; what is in flight is waited for and stored."""
        self.report.stopped = self.report.stopped or why
        self._stopping.set()

    async def run(self) -> Report:
        """Play and judge until everything is done or stopped. Raises StoreError; all else is in the report."""
        order = self.order
        async with Commits(self._store) as commits:
            owner = records.new_owner()
            self.report.lost = await commits.do(partial(records.mark_lost, now=self.now()))
            await commits.do(self._keep_order)
            most = order.at_once * order.calls_at_once

            async def pause(seconds: float) -> None:
                await buyer.pause(seconds)

            gates = {
                name: Gate(min(most, client.endpoint.at_once or most), self._clock, pause)
                for name, client in self._clients.items()
            }
            buyer = Buyer(
                commits=commits,
                clients=self._clients,
                gates=gates,
                budget=self.report.budget,
                owner=owner,
                now=self.now,
                draw=self._draw,
                stopping=self._stopping,
                policy=self._policy,
            )
            renewing = asyncio.create_task(self._renew(commits, owner))
            slots = asyncio.Semaphore(order.at_once)
            try:
                players = [_Player(self, commits, buyer, progress) for progress in self.report.subjects]
                for player in players:
                    await player.plan()
                async with asyncio.TaskGroup() as group:
                    for player in players:
                        group.create_task(player.play_all(slots))
            except BaseExceptionGroup as group_of_errors:
                # the store is shared by all tasks: when it fails, it fails in each, and once is enough to say
                if (failures := group_of_errors.subgroup(StoreError)) is not None:
                    raise _first(failures) from None
                raise
            finally:
                renewing.cancel()
        return self.report

    def _keep_order(self, connection: Connection) -> None:
        order, now = self.order, self.now()
        records.keep_protocol(connection, order.protocol.hash, order.protocol.name, order.files, now)
        for subject in order.subjects:
            records.keep_subject(connection, subject)
        if order.judge is not None:
            records.keep_judge(connection, order.judge.hash, order.judge.label, order.judge.spec)

    async def _renew(self, commits: Commits, owner: str) -> None:
        while True:
            await asyncio.sleep(records.LEASE / 4)
            await commits.do(partial(records.renew, owner=owner, now=self.now()))


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error


class _Player:
    """Plays and judges one subject."""

    def __init__(self, engine: Engine, commits: Commits, buyer: Buyer, progress: Progress) -> None:
        self.engine, self.order, self.commits, self.buyer = engine, engine.order, commits, buyer
        self.progress, self.subject, self.tally = progress, progress.subject, progress.tally
        self.places = Places(self.order.calls_at_once)
        self.judge_calls = 0 if self.order.judge is None else self.order.judge.calls
        self.stopped: str | None = None  # why nothing more is sent for this subject
        self.to_play: list[Job] = []
        self.to_judge: list[tuple[Job, str]] = []

    async def plan(self) -> None:
        """Read what is stored; what is missing is the work."""
        order, progress = self.order, self.progress
        every = list(jobs(order.protocol, order.configurations, self.subject, range(1, order.runs + 1)))
        scripts = {job.script_hash for job in every} or self._scripts()
        stored, judged = await self.commits.do(lambda c: self._stored(c, scripts))
        if not order.runs:
            runs = sorted({row.run for row in stored.values()})
            every = [
                job
                for job in jobs(order.protocol, order.configurations, self.subject, runs)
                if job.transcript_id in stored
            ]
        for job in every:
            row = stored.get(job.transcript_id)
            if row is None:
                self.to_play.append(job)
            elif row.state == "invalid":
                progress.invalid += 1
                self._trouble(job, f"invalid: {row.reason}")
            else:
                progress.done += 1
                self._plan_judging(job, row, judged)
        progress.planned = len(every)
        progress.stored = progress.done + progress.invalid
        replies = sum(len(job.scenario.asks) for job in self.to_play)
        progress.calls_left = replies + self.judge_calls * (len(self.to_play) + len(self.to_judge))
        if order.judge is not None:
            progress.to_judge += len(self.to_play)
        # long chains first: tasks that start in this order also wait in this order
        self.to_play.sort(key=lambda job: -len(job.scenario.asks))

    def _scripts(self) -> set[str]:
        return {job.script_hash for job in jobs(self.order.protocol, self.order.configurations, self.subject, [1])}

    def _stored(
        self, connection: Connection, scripts: set[str]
    ) -> tuple[dict[str, records.TranscriptRow], dict[tuple[str, str], Judgement]]:
        rows = records.transcript_rows(connection, scripts, self.subject.hash)
        judge = self.order.judge
        if judge is None:
            return {row.id: row for row in rows}, {}
        rubrics = {self._rubric(scenario) for scenario in self.order.protocol.scenarios}
        found = records.judgement_rows(connection, rubrics)
        judged = {(j.heard_hash, j.rubric_hash): j for j in found if j.judge_hash == judge.hash}
        return {row.id: row for row in rows}, judged

    def _rubric(self, scenario: Scenario) -> str:
        return rubric_hash(self.order.protocol.judge_instructions, scenario)

    def _plan_judging(self, job: Job, row: records.TranscriptRow, judged: Mapping[tuple[str, str], Judgement]) -> None:
        if self.order.judge is None:
            return
        self.progress.to_judge += 1
        before = judged.get((row.heard_hash, self._rubric(job.scenario)))
        if before is not None and before.reason is None:
            self.progress.judged += 1
        elif before is not None and self.order.runs:
            self.progress.unjudged += 1
            self._trouble(job, f"the judge failed: {before.reason}; `aib judge` asks it again")
        else:
            self.to_judge.append((job, row.id))

    async def play_all(self, slots: asyncio.Semaphore) -> None:
        """Everything there is to do for this subject."""
        async with slots:
            self.progress.state = "playing"
            async with asyncio.TaskGroup() as group:
                for job, transcript_id in self.to_judge:
                    group.create_task(self._guard(job, self._judge_stored(job, transcript_id)))
                for job in self.to_play:
                    group.create_task(self._guard(job, self._play(job)))
            self.progress.state = "stopped" if self.stopped or self.engine.report.stopped else "done"

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
            if error.reach is Reach.SUBJECT:
                self.stopped = self.stopped or error.reason
            self._trouble(job, error.reason)

    def _trouble(self, job: Job, why: str) -> None:
        self.progress.troubles.append(Trouble(job.title, why))

    async def _play(self, job: Job) -> None:
        """One scenario to its end, stored the moment it is finished, then judged."""
        order = self.order
        talk = opening(order.protocol, job.configuration, job.scenario)
        keys: list[str] = []
        replies: list[Reply] = []
        while talk.awaiting:
            question = self._question(job, talk)
            try:
                reply = await self._buy(question)
            except GaveUp:
                self.progress.calls_left -= talk.asks_left + self.judge_calls
                raise
            keys.append(question.info.key)
            replies.append(reply)
            self.progress.calls_left -= 1
            if reply.reason is not None:
                break
            talk = talk.answered(Words(reply.text, reply.notes))
        reason = replies[-1].reason
        played = records.Played(
            id=job.transcript_id,
            script_hash=job.script_hash,
            subject_hash=self.subject.hash,
            protocol_hash=order.protocol.hash,
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
            reason=None if reason is None else f"{talk.awaiting}: {reason}",
        )
        await self.commits.do(partial(records.keep_transcript, played=played, now=self.engine.now()))
        if reason is not None:
            self.progress.invalid += 1
            self.progress.to_judge -= order.judge is not None
            self.progress.calls_left -= talk.asks_left - 1 + self.judge_calls
            self._trouble(job, f"invalid: {played.reason}")
            return
        self.progress.done += 1
        if order.judge is not None:
            await self._judge(job, Case(talk.transcript, job.scenario, order.protocol.judge_instructions))

    def _question(self, job: Job, talk: Talk) -> Question[Reply]:
        """The reply that *talk* awaits, as something to buy."""
        asked = request(talk, self.subject, job.configuration, self.order.protocol)
        key = asked.key(job.run)
        wording = self.order.protocol.tool_role

        def read(completion: Completion) -> Good[Reply] | Bad:
            said = delivery.said(completion, job.configuration.delivery, wording)
            if isinstance(said, delivery.Unusable):
                return Bad(said.reason, said.cut_off)
            reply = Reply(said.words.text, said.words.notes, completion.reasoning, said.cut_off, said.plain_text)
            return Good(reply, said.cut_off)

        def keep(connection: Connection, attempt: int, reply: Reply, now: float) -> None:
            records.keep_reply(connection, key, attempt, reply, now)

        return Question(
            info=records.CallInfo(
                key, "reply", self.subject.endpoint, self.subject.model, canonical(request_record(asked))
            ),
            request=asked,
            find=partial(records.find_reply, key=key),
            read=read,
            keep=keep,
            none=lambda reason: Reply("", reason=reason),
            priority=talk.asks_left + (self.order.judge is not None),
        )

    async def _buy(self, question: Question[Reply]) -> Reply:
        if self.stopped is not None:
            raise GaveUp(Reach.SUBJECT, self.stopped)
        return await self.buyer.buy(question, self.places, self.tally)

    async def _judge_stored(self, job: Job, transcript_id: str) -> None:
        transcript, _ = await self.commits.do(partial(records.read_transcript, transcript_id=transcript_id))
        await self._judge(job, Case(transcript, job.scenario, self.order.protocol.judge_instructions))

    async def _judge(self, job: Job, case: Case) -> None:
        assert self.order.judge is not None  # noqa: S101 - only planned where there is one
        try:
            judgement = await self.order.judge.judge(case, self)
        except GaveUp as error:
            # a judge that cannot be asked stops its endpoint, never the subject
            raise GaveUp(Reach.CALL, f"not judged: {error.reason}") from None
        finally:
            self.progress.calls_left -= self.judge_calls
        if judgement.reason is None:
            self.progress.judged += 1
        else:
            self.progress.unjudged += 1
            self._trouble(job, f"the judge failed: {judgement.reason}; `aib judge` asks it again")

    # the desk lent to the judge

    async def buy(self, question: Question[Judgement]) -> Judgement:
        """Buy what a judge asks a model."""
        return await self.buyer.buy(question, self.places, self.tally)

    async def store(self, judgement: Judgement) -> Judgement:
        """Store a judgement that cost nothing."""
        now = self.engine.now()
        await self.commits.do(lambda c: records.keep_judgement(c, judgement, None, now))
        return judgement
