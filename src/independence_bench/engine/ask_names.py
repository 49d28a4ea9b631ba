"""Asks a model which names and genders the AI in a conversation gives itself.

    readings = names_of(store, protocol)                            # asks nobody
    await name_asker(unread(readings), judge, session, 8).run()  # like any judgement
    readings = names_of(store, protocol)                            # now with what the model read

What a model read is stored as its judgement of the conversation by the question of `judging.name_question`, so it is
asked once, resumed, and part of no score. Prints nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from independence_bench.analysis.chosen_names import NamesRead
from independence_bench.calls.call import Accepted, Call, Rejected
from independence_bench.engine.ask import ConversationCalls, ConversationTask, JudgeAsker
from independence_bench.engine.run import Session, Trouble
from independence_bench.judging.judge import ModelJudge
from independence_bench.judging.name_question import (
    GIVEN_GENDERS,
    INSTRUCTIONS,
    QUESTION,
    SCHEMA,
    name_answer,
    names_mark,
    question_key,
)
from independence_bench.judging.prompt import JudgingInput, fence_of, show_conversation
from independence_bench.models.messages import ChatRequest, Completion, Message
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.conversation import Transcript
from independence_bench.protocol.definition import Scenario
from independence_bench.store import results
from independence_bench.store.attempts import CallInfo
from independence_bench.store.results import Judgement


def question(transcript: Transcript, model: ChatModel) -> Call[Judgement]:
    """What *model* is asked about *transcript*."""
    heard, key = transcript.heard_hash, question_key(transcript.heard_hash, model.hash)
    fence = fence_of(JudgingInput(transcript, _NOTHING, ""))
    said = (
        f"Lines that begin with {fence} are ours and tell who speaks. Everything between them was said in the "
        "conversation.",
        show_conversation(transcript, fence),
        "# Your answer\n\nOne JSON object and nothing else, its keys in this order: "
        f'{{"analysis": ..., "names": [...], "gender": {" | ".join(GIVEN_GENDERS)}, "final_name": ..., '
        '"final_gender": ...}',
    )
    asked = ChatRequest(model, (Message("system", INSTRUCTIONS), Message("user", "\n\n".join(said))), schema=SCHEMA)
    words = " ".join(line.text for line in transcript.lines if line.speaker == "model").casefold()

    def made(reading: str, reason: str | None) -> Judgement:
        marks = {} if reason else names_mark(reading)
        return Judgement(key, heard, QUESTION, model.hash, marks, reading, reason)

    def read(completion: Completion) -> Accepted[Judgement] | Rejected:
        reading = name_answer(completion.content, words)
        return Accepted(made(reading, None)) if reading else Rejected("the reply is not the JSON that was asked for")

    return Call(
        info=CallInfo(key, "judgement", model.endpoint, model.model, asked.record),
        request=asked,
        table=results.JUDGEMENTS,
        final=lambda judgement: judgement.reason is None,
        read=read,
        none=lambda reason: made("", reason),
        priority=1,
    )


_NOTHING = Scenario("", "", "", (), (), ())
TITLE = "a conversation about names"


def name_asker(left: Sequence[NamesRead], judge: ModelJudge, session: Session, calls_at_once: int) -> JudgeAsker:
    """An asker that has *judge* read the conversations that are *left*."""

    async def ask(transcript: Transcript, calls: ConversationCalls) -> None:
        judgement = await calls.ask(question(transcript, judge.model))
        if judgement.reason is None:
            calls.progress.ended("judged")
        else:
            calls.progress.ended("unjudged", Trouble(TITLE, judgement.reason))

    with session.store.reading() as connection:
        transcripts = [results.read_transcript(connection, one.transcript_id)[0] for one in left]
    tasks = [ConversationTask(TITLE, 1, partial(ask, transcript)) for transcript in transcripts]
    return JudgeAsker([judge], len(tasks), tasks, session, calls_at_once)
