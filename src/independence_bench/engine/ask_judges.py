"""Asks judges about given texts: the exam, the names in a conversation, a character's lines.

    readings = list_chosen_names(store, protocol)  # asks no model
    left = list_distinct_unread_conversations(readings)
    await make_name_asker(left, judge, session, 8).ask_until_done()  # like any judgement
    readings = list_chosen_names(store, protocol)  # now with what the model read

Each answer is paid for and stored like any judgement: what is stored is not asked again, a budget
bounds it, Ctrl-C stops it and the same command goes on. None is part of a score: the exam's
conversations are no stored transcripts, and names are judged by the question of
`judging.extraction`. Prints nothing, and says nothing of how judges did.
"""

from __future__ import annotations

from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean

from independence_bench.analysis.chosen_names import NamesRead
from independence_bench.calls.call import Accepted, Call
from independence_bench.calls.executor import Executor
from independence_bench.engine.ask import (
    Asker,
    ConversationCalls,
    ConversationTask,
    ask_and_drop_refused_settings,
)
from independence_bench.engine.preview import VERDICT_TOKENS, Forecast, Preview, make_preview
from independence_bench.engine.run import Progress, Report, Run, Session, Trouble
from independence_bench.engine.session import open_session, resolve_judge
from independence_bench.judging.exam.cases import ExamCase, list_exam_cases
from independence_bench.judging.exam.questions import load_exam_protocol, load_questions
from independence_bench.judging.extraction import (
    GIVEN_GENDERS,
    INSTRUCTIONS,
    QUESTION,
    SCHEMA,
    convert_name_answer_to_json,
    make_name_answer_key,
    make_name_count_mark,
)
from independence_bench.judging.judge import Judge, ModelJudge
from independence_bench.judging.prompt import (
    JudgingInput,
    make_fence,
    make_judge_request,
    render_fenced_conversation,
)
from independence_bench.models.messages import (
    ChatRequest,
    Completion,
    Message,
    Rejected,
    estimate_tokens,
)
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.conversation import Transcript
from independence_bench.protocol.definition import Scenario
from independence_bench.store import registry, results
from independence_bench.store.database import Store
from independence_bench.store.results import Judgement
from independence_bench.store.tokens import average_completion_tokens_by_rubric


class JudgeAsker(Asker):
    """Asks judges about given conversations or texts, such as the cases of an exam."""

    def __init__(
        self,
        judges: Sequence[Judge],
        every: int,
        left: Sequence[ConversationTask],
        session: Session,
        calls_at_once: int,
    ) -> None:
        """*judges*: the judges that *left* asks; progress is shown under the first one's label.
        *every*: the number of all conversations; *left*: those that are still to be asked about.
        """
        self.judges, self._tasks, known = judges, left, every - len(left)
        calls = sum(task.calls for task in left)
        self._progress = Progress(
            judges[0].label, every, every, to_judge=every, judged=known, calls_left=calls
        )
        # a judge that is no model makes no call, so there is nothing to report
        asking = any(judge.calls for judge in judges)
        super().__init__(session, [self._progress] if asking else [], calls_at_once, calls_at_once)

    async def ask_missing_calls(self, executor: Executor) -> None:
        """Record the judges in the store, then ask them about every conversation or text whose
        answer the store lacks.
        """
        for judge in self.judges:
            keep = partial(
                registry.store_judge, judge_hash=judge.hash, label=judge.label, spec=judge.spec
            )
            await executor.commits.commit_operation(keep)
        await self.hold_conversations(executor, self._progress, self._tasks)


async def ask_one_judge(
    wanted: Run,
    store: Store,
    make_asker: Callable[[ModelJudge, Session, int], JudgeAsker],
    calls: int,
    watch: Callable[[Asker], Awaitable[None]],
    approve: Callable[[Forecast], bool],
) -> Report | None:
    """Have the judge of *wanted*, a model, answer everything that *make_asker*'s asker asks, and
    return the report; None if *approve* says no to the cost. What is answered is stored.

    *make_asker* gets the judge, the session, and how many calls it makes at once; *calls* is the
    most calls that it may make; *watch* runs beside it. Raises what `open_session` raises.
    """

    def find_judge(session: Session) -> ModelJudge:
        assert isinstance(session.judge, ModelJudge)  # noqa: S101 - the embedded one was turned away
        return session.judge

    async def make_judge_asker(session: Session) -> Asker:
        return make_asker(find_judge(session), session, session.calls_at_once)

    async with open_session(wanted, store) as session:
        free = session.clients[find_judge(session).model.endpoint].endpoint.free
        if not free and not approve(Forecast(calls, dollars=None, paid_calls=calls)):
            return None
        return await ask_and_drop_refused_settings(session, make_judge_asker, watch)


# ---------------------------------------------------------------- the exam


class ExamAsker(JudgeAsker):
    """Asks judges about exam cases. `judgements` holds stored and new judgements by key."""

    def __init__(
        self, sittings: Sequence[tuple[Judge, ExamCase]], session: Session, calls_at_once: int
    ) -> None:
        """*sittings*: each case once, with the judge that scores it, in the order in which they are
        asked; at least one.

        Progress shows one judge: the judges differ only if the embedded one reads protocols
        differently.
        """
        keyed = {case.make_key(judge.hash): (judge, case) for judge, case in sittings}
        self.cases = {key: case for key, (_, case) in keyed.items()}
        with session.store.open_snapshot() as connection:
            self.judgements = results.find_judgements(connection, list(keyed))
        self._left = {key: sitting for key, sitting in keyed.items() if key not in self.judgements}
        tasks = [
            ConversationTask(
                f"a conversation of {case.scenario.id}",
                judge.calls,
                partial(self._ask_case, judge, case),
            )
            for judge, case in self._left.values()
        ]
        judges = list({judge.hash: judge for judge, _ in sittings}.values())
        super().__init__(judges, len(keyed), tasks, session, calls_at_once)

    async def _ask_case(self, judge: Judge, case: ExamCase, calls: ConversationCalls) -> None:
        self.judgements[case.make_key(judge.hash)] = await judge.judge(case, calls)
        calls.progress.record_ending("judged")

    async def preview_missing_judgements(self) -> Preview:
        """Return a preview of this exam of judges: a forecast of the judgements that are neither
        stored nor made yet. No model under test is part of the preview.
        """
        preview = await make_preview(self.session)
        with self.session.store.open_snapshot() as connection:
            taken = {
                judge.hash: average_completion_tokens_by_rubric(connection, judge.hash)
                for judge in self.judges
            }
        total = Forecast()
        for key in self._left.keys() - self.judgements.keys():
            judge, case = self._left[key]
            if isinstance(judge, ModelJudge):
                total += await self._forecast_judgement(judge, case, taken[judge.hash])
        return replace(preview, forecast=total)

    async def _forecast_judgement(
        self, judge: ModelJudge, case: ExamCase, mean_judgement_tokens: Mapping[str, float]
    ) -> Forecast:
        """Forecast the tokens and dollars of one judgement of the exam case *case* by *judge*.
        *mean_judgement_tokens*: rubric's hash -> mean completion tokens of the judge's judgements
        so far, of which the mean is expected.
        """
        client = self.session.clients[judge.model.endpoint]
        info = await client.find_model_info(judge.model.model)
        sent = make_judge_request(case, judge.model).messages
        prompt = int(sum(estimate_tokens(message.content or "") for message in sent))
        written = (
            round(fmean(mean_judgement_tokens.values()))
            if mean_judgement_tokens
            else VERDICT_TOKENS
        )
        return Forecast(
            1, prompt, written, 0.0 if client.endpoint.free else info.compute_cost(prompt, written)
        )


@dataclass(frozen=True, slots=True)
class ExamOutcome:
    """The result of one judge's exam. A judge that reads protocols differently counts as several,
    with a hash each.
    """

    hashes: tuple[str, ...]
    report: Report


async def preview_exam(wanted: Run, rubrics: Collection[str], store: Store) -> Preview:
    """Return a preview of the exam of the judge that *wanted* names: the forecast calls, tokens and
    dollars of those questions in the question files *rubrics* whose answers are not stored yet.
    Raises what `open_session` raises.
    """
    async with open_session(wanted, store) as session:
        return await (await _make_exam_asker(wanted, rubrics, session)).preview_missing_judgements()


async def take_exam(
    wanted: Run,
    rubrics: Collection[str],
    store: Store,
    watch: Callable[[Asker], Awaitable[None]],
) -> ExamOutcome:
    """Ask the judge that *wanted* names every exam question of the question files *rubrics* whose
    answer is not stored yet, and return the judge's hashes and the report of the calls. *watch*
    runs at the same time.

    Ctrl-C works as in `Asker.ask_while_watched`. Raises what `open_session` raises, or StoreError.
    """
    askers: list[ExamAsker] = []
    async with open_session(wanted, store) as session:

        async def make_asker(session: Session) -> Asker:
            askers.append(await _make_exam_asker(wanted, rubrics, session))
            return askers[-1]

        report = await ask_and_drop_refused_settings(session, make_asker, watch)
    return ExamOutcome(tuple(judge.hash for judge in askers[-1].judges), report)


async def _make_exam_asker(wanted: Run, rubrics: Collection[str], session: Session) -> ExamAsker:
    judges: dict[str, Judge] = {}
    for name in dict.fromkeys(load_questions()[rubric].protocol for rubric in rubrics):
        judge = await resolve_judge(
            replace(wanted, protocol=(load_exam_protocol(name), {})), session.clients
        )
        assert judge is not None  # noqa: S101 - an exam is of a judge
        judges[name] = judge
    sittings = [
        (judges[load_questions()[case.rubric].protocol], case) for case in list_exam_cases(rubrics)
    ]
    return ExamAsker(sittings, session, session.calls_at_once)


def make_names_call(transcript: Transcript, model: ChatModel) -> Call[Judgement]:
    """Return the call that asks the judge *model* which names and which gender the model under test
    chose for itself in *transcript*.
    """
    heard, key = transcript.heard_hash, make_name_answer_key(transcript.heard_hash, model.hash)
    fence = make_fence(JudgingInput(transcript, _NOTHING, ""))
    parts = (
        f"Lines that begin with {fence} are ours and tell who speaks. Everything between them was "
        "said in the conversation.",
        render_fenced_conversation(transcript, fence),
        "# Your answer\n\nOne JSON object and nothing else, its keys in this order: "
        f'{{"analysis": ..., "names": [...], "gender": {" | ".join(GIVEN_GENDERS)}, '
        '"final_name": ..., '
        '"final_gender": ...}',
    )
    asked = ChatRequest(
        model, (Message("system", INSTRUCTIONS), Message("user", "\n\n".join(parts))), schema=SCHEMA
    )
    words = " ".join(line.text for line in transcript.lines if line.speaker == "model").casefold()

    def make_judgement(reading: str, reason: str | None) -> Judgement:
        marks = {} if reason else make_name_count_mark(reading)
        return Judgement(key, heard, QUESTION, model.hash, marks, reading, reason)

    def read_names(completion: Completion) -> Accepted[Judgement] | Rejected:
        reading = convert_name_answer_to_json(completion.content, words)
        return (
            Accepted(make_judgement(reading, None))
            if reading
            else Rejected("the reply is not the JSON that was asked for")
        )

    return make_judgement_call(key, asked, read_names, partial(make_judgement, ""))


_NOTHING = Scenario("", "", "", (), (), ())
TITLE = "a conversation about names"


def make_name_asker(
    left: Sequence[NamesRead], judge: ModelJudge, session: Session, calls_at_once: int
) -> JudgeAsker:
    """Return an asker that has *judge* find which names and genders were chosen in each of the
    conversations *left*, whose transcripts are read from the session's store.
    """

    async def ask_names(transcript: Transcript, calls: ConversationCalls) -> None:
        judgement = await calls.ask(make_names_call(transcript, judge.model))
        if judgement.reason is None:
            calls.progress.record_ending("judged")
        else:
            calls.progress.record_ending("unjudged", Trouble(TITLE, judgement.reason))

    with session.store.open_snapshot() as connection:
        transcripts = [
            results.read_transcript_and_reply_keys(connection, names.transcript_id)[0]
            for names in left
        ]
    tasks = [
        ConversationTask(TITLE, 1, partial(ask_names, transcript)) for transcript in transcripts
    ]
    return JudgeAsker([judge], len(tasks), tasks, session, calls_at_once)


# ---------------------------------------------------------------- what all ask


def make_judgement_call(
    key: str,
    asked: ChatRequest,
    read: Callable[[Completion], Accepted[Judgement] | Rejected],
    failed: Callable[[str], Judgement],
) -> Call[Judgement]:
    """Return the call for the judgement that is stored under *key*: *asked* is the request, *read*
    turns the model's completion into a judgement or rejects it, and *failed* makes a failed
    judgement from the reason. The next command asks for a failed judgement again.
    """
    return Call(
        key=key,
        kind="judgement",
        request=asked,
        table=results.JUDGEMENTS,
        final=lambda judgement: judgement.reason is None,
        read=read,
        none=failed,
        priority=1,
    )
