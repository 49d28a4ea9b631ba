"""The one loop that asks models. It plays the conversations of a session and has them judged.

Conversations are tasks side by side; the calls of one of them are awaits in order. A failure ends
no more than it has to (`calls.limits`) and becomes a line of the report, which can be read at any
time. A judgement starts the moment its transcript is finished. When slots are scarce, the longest
remaining chain of calls goes first; when money is, what has begun goes first, with its judgement
(`admission`). Judges' exams and what else is asked aside use the same loop (`ask_judges`,
`ask_writers`).
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from sqlalchemy import Connection

from independence_bench.calls.call import Accepted, Call
from independence_bench.calls.executor import Executor, Stopped
from independence_bench.calls.limits import CallSlots, GaveUp, Reach
from independence_bench.calls.upkeep import open_executor
from independence_bench.engine.admission import Admission, Commitment, OutOfReach
from independence_bench.engine.preview import ConversationCost, estimate_costs_by_script
from independence_bench.engine.run import (
    Progress,
    Report,
    Session,
    Trouble,
    describe_failed_judgement,
    describe_invalid_conversation,
    stop_on_signals,
)
from independence_bench.engine.session import Pending, find_pending
from independence_bench.errors import BenchError, BudgetSpent, StoreError
from independence_bench.judging.prompt import JudgingInput
from independence_bench.models.abilities import Abilities, Part
from independence_bench.models.messages import ChatRequest, Completion, Rejected
from independence_bench.models.spec import ChatModel
from independence_bench.protocol import delivery
from independence_bench.protocol.conversation import ConversationState, Transcript, Words
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.plan import (
    Job,
    build_request,
    find_jobs_with_paid_opening,
    is_next_reply_shared,
    start_scenario,
)
from independence_bench.store import registry, results
from independence_bench.store.results import Judgement, Reply

A = TypeVar("A")
# conversations of one subject under way or waiting for a slot: enough to choose the longest from
FEWEST_WORKERS = 256
BEGUN = 1_000_000  # on a budget added to the priority of what has begun: more than any other rank


@dataclass(frozen=True, slots=True)
class ConversationTask:
    """One conversation that is to be played, judged, or both."""

    title: str
    calls: int  # when no call has to be repeated
    work: Callable[[ConversationCalls], Awaitable[None]]
    rank: int = 0  # added to the priority of each of its calls
    fresh: bool = False  # nothing of it can be stored, so its first call is not looked up
    cost: Cost | None = None  # None: no budget bounds it


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost that a conversation is expected to have, for a run with a budget."""

    order: int  # a lower one is begun before
    foreseen: ConversationCost
    first: ChatRequest | None  # None: only its judge is asked


@dataclass(slots=True)
class BudgetTurn:
    """One conversation's turn to spend from a budget. It is taken before the first call that is not
    stored.
    """

    admission: Admission
    # places of those that are about to begin: all others go by what these turn out to cost
    beginning: asyncio.Semaphore
    conversation: ConversationTask
    executor: Executor
    is_over: Callable[[], bool]  # whether nothing more begins
    _taken: bool = False
    _holds: bool = False  # a place of *beginning*
    _begun: Commitment | None = None

    def __post_init__(self) -> None:
        cost = self.conversation.cost
        if cost is not None and self.conversation.rank >= BEGUN:
            self._begun = self.admission.count_begun_conversation(
                cost.foreseen.expected, self.conversation.calls, cost.foreseen.dearest
            )

    async def wait_until_affordable(self, calls_left: int) -> None:
        """Wait until the budget can pay for the remaining calls of this conversation, whose number
        is given. Returns at once if the turn was taken before. Raises OutOfReach if the budget will
        never pay for them, Stopped if nothing more may begin, and the error with which the
        admission was closed.
        """
        if self._taken:
            return
        if self.conversation.rank < BEGUN:
            await self.beginning.acquire()
            self._holds = True
        if self.is_over():
            raise Stopped("stopped")
        self._taken = True
        if self._begun is not None:
            return
        cost, every = self.conversation.cost, max(self.conversation.calls, 1)
        if cost is not None:
            most, first = self.executor.prices.find_highest_cost, cost.first
            # in earlier commands a call may have cost more than is listed
            known = 0.0 if first is None else await most(first, first.model.max_tokens)
            dearest, expected = max(known, cost.foreseen.dearest), cost.foreseen.expected
            dollars = None if expected is None else expected * calls_left / every
            self._begun = await self.admission.await_admission(
                cost.order, dollars, calls_left, dearest
            )

    def record_answer(self, calls_left: int) -> None:
        """Record that a call of this conversation was answered and how many calls remain, so that
        the budget can admit other conversations.
        """
        self._release_place()
        if self._begun is not None:
            self.admission.record_progress_and_admit(
                self._begun, calls_left / max(self._begun.calls, 1)
            )

    def end_turn(self) -> None:
        """Record that this conversation has ended, with or without success, so that the budget can
        admit other conversations.
        """
        self._release_place()
        if self._begun is not None:
            self.admission.end_conversation_and_admit(self._begun)

    def _release_place(self) -> None:
        if self._holds:
            self._holds = False
            self.beginning.release()


@dataclass(slots=True)
class ConversationCalls:
    """Makes the calls of one conversation and of its judge."""

    executor: Executor
    # the subject's and its judge's, by endpoint: a call that waits at one fills no other
    slots: Mapping[str, CallSlots]
    progress: Progress
    left: int  # calls of the conversation that are not made yet
    rank: int
    fresh: bool  # the next request follows from an answer that came just now
    turn: BudgetTurn | None  # its turn on a budget; None: no budget bounds it

    async def ask(self, call: Call[A], counted: bool = True) -> A:
        """Return the answer to *call*, from the store or from its model. *counted*: the call is one
        of the planned calls of this conversation, so one call fewer is left. Raises what
        `Executor.execute_call` raises: GaveUp, Stopped, BudgetSpent, StoreError, and the errors of
        waiting for the budget.
        """
        ranked = replace(call, priority=call.priority + self.rank) if self.rank else call
        slots = self.slots[call.endpoint]
        answer = await self.executor.execute_call(
            ranked,
            slots,
            self.progress.tally,
            self.fresh,
            None if self.turn is None else partial(self.turn.wait_until_affordable, self.left),
        )
        if counted:
            self.left -= 1
            self.progress.calls_left -= 1
        if self.turn is not None:
            self.rank = max(self.rank, BEGUN)  # what has begun goes first
            self.turn.record_answer(self.left)
        self.fresh = call.key in self.executor.ledger.fresh
        return answer

    async def store_free_judgement(self, judgement: Judgement) -> Judgement:
        """Store *judgement*, which was made without a call and cost nothing, and return it."""
        row = (judgement.key, None, judgement, self.executor.clocks.now())
        await self.executor.commits.commit_item(results.store_judgements, row)
        return judgement


class Asker(ABC):
    """Makes the calls of one command. `report` can be read at any time meanwhile."""

    def __init__(
        self, session: Session, subjects: list[Progress], calls_at_once: int, most: int
    ) -> None:
        """*calls_at_once*: how many calls of one subject are in flight at one endpoint; *most*: how
        many calls of all subjects together at one endpoint.
        """
        self.report, self.calls_at_once = Report(subjects, session.budget), calls_at_once
        self.session, self._most = session, most
        self._stopping = asyncio.Event()
        self._admission = Admission(session.budget)
        self._over: BudgetSpent | None = None  # nothing more begins
        self._beyond: BudgetSpent | None = None  # why a conversation was not begun

    @abstractmethod
    async def ask_missing_calls(self, executor: Executor) -> None:
        """Make every call of this command whose answer is not stored yet, with *executor*."""

    def stop_asking(self, why: BenchError) -> None:
        """Send no new call, and record *why* in the report as the reason for stopping, unless it
        has one already. Calls in flight are waited for and stored.
        """
        self.report.stopped = self.report.stopped or why
        self._stop_new_calls()

    def _stop_new_calls(self) -> None:
        self._stopping.set()
        self._admission.close_admission(Stopped("stopped"))

    def _stop_new_conversations(self, why: BudgetSpent) -> None:
        """Begin no further conversation, because the budget is spent; *why* is the error that says
        so. Conversations that have begun go on as far as the rest of the budget pays for them.
        """
        self._over = self._over or why
        self._admission.close_admission(why)

    async def ask_until_done(self) -> Report:
        """Make all calls of this command until everything is done or stopped, and return the
        report. Raises StoreError; every other failure is in the report.
        """
        session = self.session

        def set_notice(text: str) -> None:
            self.report.notice = text

        def count_warning(text: str) -> None:
            self.report.warnings[text] += 1

        async with open_executor(
            session.store,
            session.clients,
            session.budget,
            self._stopping,
            self._most,
            session.clocks,
            set_notice,
            count_warning,
        ) as executor:
            self.report.lost += executor.lost
            if session.settle is not None:
                executor.asked_for = lambda model: session.asked_for.get(model, frozenset())
            self.report.unsettled = executor.unsettled
            executor.learned = self._remark_missing_system_prompt
            executor.stop_to_settle = self._stop_new_calls
            try:
                await self.ask_missing_calls(executor)
            except BaseExceptionGroup as errors:
                # all tasks share the store and fail with it: one error is enough
                failure: BaseException | None = errors.subgroup(StoreError)
                while isinstance(failure, BaseExceptionGroup):
                    failure = failure.exceptions[0]
                if failure is not None:
                    raise failure from None
                raise
        self.report.stopped = self.report.stopped or self._over or self._beyond
        if isinstance(self.report.stopped, StoreError):
            raise self.report.stopped
        return self.report

    def _remark_missing_system_prompt(self, model: ChatModel, abilities: Abilities) -> None:
        if not abilities.can_send(Part.SYSTEM):
            self.report.remarks.append(
                f"{model.name} takes no system prompt: it stands at the front of the first turn"
            )

    async def ask_while_watched(self, watching: Awaitable[None]) -> Report:
        """Make all calls of this command until everything is done or stopped, and return the
        report. *watching* runs at the same time and is cancelled at the end. The first signal, such
        as Ctrl-C, stops new calls; a second Ctrl-C abandons the calls in flight.
        """
        watcher = asyncio.ensure_future(watching)
        try:
            with stop_on_signals(self.report, self.stop_asking):
                return await self.ask_until_done()
        finally:
            watcher.cancel()
            await asyncio.gather(watcher, return_exceptions=True)

    async def hold_conversations(
        self,
        executor: Executor,
        progress: Progress,
        conversations: Iterable[ConversationTask],
        at_once: int | None = None,
    ) -> None:
        """Carry out all *conversations* of one model, begun in their order, and record in
        *progress* how they end. Raises StoreError in an exception group.

        *at_once*: how many conversations go on side by side. None: as many as keep the call slots
        full.
        """
        on_budget = self.report.budget.limit is not None
        # so many are about to begin: the others go by what those turn out to cost
        beginning = asyncio.Semaphore(self.calls_at_once) if on_budget else None
        slots: dict[str, CallSlots] = defaultdict(lambda: CallSlots(self.calls_at_once))
        left = iter(conversations)
        progress.state = "playing"
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once or max(FEWEST_WORKERS, 8 * self.calls_at_once)):
                group.create_task(
                    self._carry_out_conversations(executor, progress, slots, left, beginning)
                )
        if progress.state == "playing":
            ended_early = self.report.stopped or self._over or self._beyond
            progress.state = "stopped" if ended_early else "done"

    async def _carry_out_conversations(
        self,
        executor: Executor,
        progress: Progress,
        slots: Mapping[str, CallSlots],
        left: Iterator[ConversationTask],
        beginning: asyncio.Semaphore | None,
    ) -> None:
        """Carry out conversations, one after the other, until none is left in the iterator *left*,
        which other tasks take conversations from as well, or the command is over. Failures are
        recorded in *progress* and end no other conversation.
        """
        for conversation in left:
            if self._is_over():
                break
            turn = (
                None
                if beginning is None
                else BudgetTurn(self._admission, beginning, conversation, executor, self._is_over)
            )
            calls = ConversationCalls(
                executor,
                slots,
                progress,
                conversation.calls,
                conversation.rank,
                conversation.fresh,
                turn,
            )
            try:
                await conversation.work(calls)
            except Stopped:
                break
            except OutOfReach as error:  # a shorter one may be within
                self._beyond = self._beyond or error
            except BudgetSpent as error:
                self._stop_new_conversations(error)
                break
            # what else is in flight is paid for: it is waited for
            except StoreError as error:
                self.stop_asking(error)
                break
            except GaveUp as error:
                progress.record_ending("failed", Trouble(conversation.title, error.reason))
                if error.reach in (Reach.MODEL, Reach.ENDPOINT):
                    progress.state = "stopped"
            finally:
                if turn is not None:
                    turn.end_turn()
            progress.calls_left -= calls.left  # they will not be made

    def _is_over(self) -> bool:
        return self._stopping.is_set() or self._over is not None


MOST_SETTLED = 5  # times that a run is looked up anew: a model has fewer settings to leave out


async def ask_and_drop_refused_settings(
    session: Session,
    begin: Callable[[Session], Awaitable[Asker]],
    watch: Callable[[Asker], Awaitable[None]],
    approve: Callable[[Session], Awaitable[bool]] | None = None,
) -> Report:
    """Make the calls of *session* and return the report. *begin* makes the asker that sends the
    calls of a session; *watch* runs at the same time.

    If an endpoint refuses a setting of a model, calls in flight are stored and the model is looked
    up again without that setting. The new session goes on from what is stored, unless *approve*
    says no.
    """
    asker = await begin(session)
    report = await asker.ask_while_watched(watch(asker))
    for _ in range(MOST_SETTLED):
        if not report.unsettled or report.stopped is not None or session.settle is None:
            break
        session = await session.settle(session)
        for model, why in report.unsettled.items():
            now = [
                m.label
                for m in session.subject_and_judge_models
                if (m.endpoint, m.model) == (model.endpoint, model.model)
            ]
            called = f"it is called {now[0]} now" if now else "it is left out now"
            report.remarks.append(f"{model.label} cannot be called so, {called} ({why})")
        if approve is not None and not await approve(session):
            report.stopped = BenchError("it will cost more than was foreseen, and you said no")
            break
        earlier, asker = report, await begin(session)
        asker.report.add_earlier_report(earlier)
        report = await asker.ask_while_watched(watch(asker))
    return report


# ---------------------------------------------------------------- replies and their judgements


class Engine(Asker):
    """Plays and judges what is left of a session. `report` can be read at any time meanwhile."""

    def __init__(self, session: Session) -> None:
        subjects = [Progress(subject.label) for subject in session.subjects]
        most = session.at_once * session.calls_at_once
        super().__init__(session, subjects, session.calls_at_once, most)
        self.protocol_hash = session.protocol.hash  # of all its texts: once is enough
        # conversations' costs by (subject, script, whether only judged); None without a budget
        self.costs: Mapping[tuple[str, str, bool], ConversationCost] | None = None

    async def ask_missing_calls(self, executor: Executor) -> None:
        """Play and judge all missing conversations of every model of the session, as many models at
        once as the session says.
        """
        unknown = await executor.commits.commit_operation(
            partial(self._store_protocol_and_models, now=executor.clocks.now())
        )
        if self.session.judge is not None:
            self.report.judge = (
                await executor.commits.commit_operation(registry.read_judge_labels)
            )[self.session.judge.hash]
        at_once = asyncio.Semaphore(self.session.at_once)
        players = [
            _Player(self, executor, number, subject.hash in unknown)
            for number, subject in enumerate(self.session.subjects)
        ]
        async with asyncio.TaskGroup() as group:  # side by side, so that they share a commit
            for player in players:
                group.create_task(player.load_pending_and_begin_runs())
        budget = self.report.budget
        if budget.limit is not None and budget.job is None:
            pending = {
                player.subject: (player.pending.to_play, player.pending.to_judge)
                for player in players
            }
            self.costs = await estimate_costs_by_script(self.session, pending)
        async with asyncio.TaskGroup() as group:
            for player in players:
                group.create_task(player.play_subject(at_once))

    def _store_protocol_and_models(self, connection: Connection, now: float) -> set[str]:
        """Store the protocol, the models under test and the judge of the session. Returns the
        hashes of those models that the store did not know before.
        """
        session = self.session
        # who only judges may find nothing of it
        registry.store_protocol(
            connection,
            self.protocol_hash,
            session.protocol.name,
            session.files,
            now if session.runs else None,
        )
        unknown = {subject.hash for subject in session.subjects} - registry.read_subjects(
            connection
        ).keys()
        for subject in session.subjects:
            registry.store_subject(connection, subject)
        if session.judge is not None:
            registry.store_judge(
                connection, session.judge.hash, session.judge.label, session.judge.spec
            )
        return unknown


class _Player:
    """Plays and judges the conversations of one model under test."""

    def __init__(self, engine: Engine, executor: Executor, number: int, unknown: bool) -> None:
        """*number*: the subject's place among those of the session; *unknown*: nothing of the
        subject was stored before this command.
        """
        self.engine, self.session = engine, engine.session
        self.executor, self.unknown = executor, unknown
        self.number, self.subject = number, self.session.subjects[number]
        self.judge_calls = 0 if self.session.judge is None else self.session.judge.calls
        self.pending = Pending(engine.report.subjects[number])
        # by script: the same in every run, 7% of our CPU
        self.openings: dict[str, tuple[ConversationState, ChatRequest]] = {}

    async def load_pending_and_begin_runs(self) -> None:
        """Read from the store which conversations of this player's model are still to be played or
        judged, and keep them in `pending`. Runs of which nothing is missing are recorded in the
        store as begun, even if they were played for another protocol.
        """

        def find_pending_and_record_begun(connection: Connection) -> Pending:
            pending = find_pending(connection, self.session, self.subject)
            registry.record_begun_runs(
                connection, [(self.engine.protocol_hash, job) for job in pending.to_begin]
            )
            if not self.session.runs and pending.progress.planned:
                registry.store_play_time(
                    connection, self.engine.protocol_hash, self.executor.clocks.now()
                )
            return pending

        self.pending = await self.executor.commits.commit_operation(find_pending_and_record_begun)
        self.engine.report.subjects[self.number] = self.pending.progress

    async def play_subject(self, turn: asyncio.Semaphore) -> None:
        """Play and judge every missing conversation of this player's model, as soon as the
        semaphore *turn* is free.
        """
        async with turn:
            client = self.executor.clients.get(self.subject.endpoint)
            # one after the other where they run here: a server that holds one prompt need not read
            # it again
            at_once = (
                self.session.calls_at_once if client is not None and client.endpoint.here else None
            )
            await self.engine.hold_conversations(
                self.executor, self.pending.progress, self._make_tasks(), at_once
            )
        self.openings.clear()

    def _make_tasks(self) -> Iterator[ConversationTask]:
        """Yield a task for each conversation of this player's model that is still to be played or
        judged, the longest chain of calls first. With a budget the tasks go run by run, so that
        whole runs are completed, and conversations that only need a judgement go first.
        """
        on_budget = self.engine.report.budget.limit is not None
        shared = find_jobs_with_paid_opening(self.pending.to_play)
        left = [(job, False, len(job.scenario.reply_names) + 1) for job in self.pending.to_play]
        left += [(job, True, 1) for job in self.pending.to_judge]
        # a hundred thousand transcripts need not stay in memory
        self.pending = Pending(self.pending.progress)
        if on_budget:
            left.sort(key=lambda item: (not item[1], item[0].run, -item[2]))
        else:
            left.sort(key=lambda item: -item[2])
        for job, judge_only, _ in left:
            bought = job.place in shared
            shared_before = job.scenario.shared_reply_count if bought else 0
            calls = (
                0 if judge_only else len(job.scenario.reply_names) - shared_before
            ) + self.judge_calls
            work = (
                partial(self._judge_transcript, job, None)
                if judge_only
                else partial(self._play_and_judge_conversation, job, bought)
            )
            rank = (BEGUN if judge_only else -1000 * job.run) if on_budget else 0
            cost = None if self.engine.costs is None else self._find_cost(job, judge_only)
            fresh = self.unknown and not judge_only
            yield ConversationTask(job.title, calls, work, rank, fresh, cost)

    def _find_cost(self, job: Job, judge_only: bool) -> Cost:
        """Return the expected cost of the conversation *job*, with its place in the order in which
        a budget lets conversations begin: run by run, and within a run model by model.
        *judge_only*: only its judgement is missing.
        """
        assert self.engine.costs is not None  # noqa: S101 - only asked for on a budget
        order = job.run * len(self.session.subjects) + self.number
        return Cost(
            order,
            self.engine.costs[self.subject.hash, job.script_hash, judge_only],
            None if judge_only else self._make_opening(job)[1],
        )

    async def _play_and_judge_conversation(
        self, job: Job, opening_paid_elsewhere: bool, calls: ConversationCalls
    ) -> None:
        """Play the conversation *job* to its end, store it the moment it is finished, then have it
        judged if the session has a judge. Raises GaveUp if a reply cannot be had.

        *opening_paid_elsewhere*: another branch of the same item asks for the first replies, which
        all branches share, and counts their calls.
        """
        session, commits = self.session, self.executor.commits
        talk, asked = self._make_opening(job)
        replies: list[tuple[str, Reply]] = []
        while talk.next_reply_name:
            call = self._make_reply_call(job, talk, asked)
            try:
                reply = await calls.ask(
                    call,
                    counted=not (
                        opening_paid_elsewhere and is_next_reply_shared(job.scenario, talk)
                    ),
                )
            except GaveUp:
                # a run without a stored conversation was begun all the same, and is shown as
                # incomplete; not of a model that nobody can be
                if self.subject not in self.executor.unsettled:
                    await commits.commit_item(
                        registry.record_begun_runs, (self.engine.protocol_hash, job)
                    )
                raise
            replies.append((call.key, reply))
            if reply.reason is not None:
                break
            talk = talk.add_reply(Words(reply.text, reply.notes))
            if talk.next_reply_name:
                asked = build_request(
                    talk, self.subject, job.configuration, session.protocol, job.transcript_id
                )
        invalid = replies[-1][1].reason
        reason = None if invalid is None else f"{talk.next_reply_name}: {invalid}"
        played = results.PlayedJob(job, self.engine.protocol_hash, talk.transcript, replies, reason)
        kept = commits.commit_item(results.store_transcripts, (played, self.executor.clocks.now()))
        if reason is not None:
            await kept
            calls.progress.record_ending(
                "invalid", Trouble(job.title, describe_invalid_conversation(reason))
            )
            return
        calls.progress.record_ending("done")
        try:
            if session.judge is None:
                return
            await self._judge_transcript(job, talk.transcript, calls)
        finally:
            # handed over before the judge's claim, so it is durable before the judge is asked
            await kept

    def _make_opening(self, job: Job) -> tuple[ConversationState, ChatRequest]:
        """Return the conversation *job* up to the model's first reply, and the request for that
        reply. Both are kept for other runs of the same script.
        """
        if (known := self.openings.get(job.script_hash)) is None:
            talk = start_scenario(self.session.protocol, job.configuration, job.scenario)
            known = (
                talk,
                build_request(talk, self.subject, job.configuration, self.session.protocol),
            )
            self.openings[job.script_hash] = known
        talk, asked = known
        return talk, replace(
            asked, transcript=job.transcript_id
        ) if self.subject.stateful else asked

    def _make_reply_call(
        self, job: Job, talk: ConversationState, asked: ChatRequest
    ) -> Call[Reply]:
        """Return the call for the next reply of the conversation *talk*; *asked* is the request
        that the call sends.
        """
        return Call(
            key=asked.make_key(job.run),
            kind="reply",
            request=asked,
            table=results.REPLIES,
            final=lambda reply: reply.reason is None or not self.session.again,
            read=make_reply_reader(self.session.protocol, job.configuration),
            none=lambda reason: Reply("", reason=reason),
            priority=talk.replies_left + (self.session.judge is not None),
        )

    async def _judge_transcript(
        self, job: Job, transcript: Transcript | None, calls: ConversationCalls
    ) -> None:
        """Have the session's judge score *transcript*, the conversation of *job*, and record how
        that ends; None: the stored transcript of *job* is judged. Raises GaveUp if the judge cannot
        be asked.
        """
        assert self.session.judge is not None  # noqa: S101 - only planned where there is one
        if transcript is None:
            read = partial(results.read_transcript_and_reply_keys, transcript_id=job.transcript_id)
            transcript = (await self.executor.commits.commit_operation(read))[0]
        case = JudgingInput(transcript, job.scenario, self.session.protocol.judge_instructions)
        try:
            judgement = await self.session.judge.judge(case, calls)
        except GaveUp as error:
            # a judge that cannot be asked stops itself or its endpoint, never the subject
            raise GaveUp(
                Reach.CALL, f"not judged: {error.reason}; `aib judge` does it later"
            ) from None
        if judgement.reason is None:
            calls.progress.record_ending("judged")
        else:
            why = describe_failed_judgement(judgement.reason, self.judge_calls)
            calls.progress.record_ending("unjudged", Trouble(job.title, why))


def make_reply_reader(
    protocol: Protocol, configuration: Configuration
) -> Callable[[Completion], Accepted[Reply] | Rejected]:
    """Return a function that reads a model's completion as a reply in the delivery mode of
    *configuration*, or says why the completion is no valid reply.
    """

    def read_reply(completion: Completion) -> Accepted[Reply] | Rejected:
        spoken = delivery.read_reply(completion, configuration.delivery, protocol.tool_role)
        if isinstance(spoken, Rejected):
            return spoken
        reply = Reply(
            text=spoken.words.text,
            notes=spoken.words.notes,
            reasoning=completion.reasoning,
            cut_off=spoken.cut_off,
            plain_text=spoken.plain_text,
            reasoned=bool(completion.reasoning or completion.usage.reasoning_tokens),
        )
        return Accepted(reply, spoken.cut_off)

    return read_reply
