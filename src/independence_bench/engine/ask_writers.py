"""Has a model write the items of a character, once, from its description: `aib persona new SHEET
--from CARD --writer MODEL`.

The answer is paid for and stored like a judgement, so the same command buys nothing twice. Prints
nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from independence_bench.calls.call import Accepted, Call
from independence_bench.engine.ask import (
    Asker,
    ConversationCalls,
    ConversationTask,
    ask_and_drop_refused_settings,
)
from independence_bench.engine.ask_judges import (
    JudgeAsker,
    make_judgement_call,
)
from independence_bench.engine.preview import Forecast, Preview, make_preview
from independence_bench.engine.run import Report, Run, Session, Trouble
from independence_bench.engine.session import open_session
from independence_bench.hashing import hash_text, make_judgement_key
from independence_bench.judging.extraction import (
    SHEET_SCHEMA,
    WRITING,
    join_card_texts,
    make_card_messages,
    read_card_items_counting_dropped,
)
from independence_bench.judging.judge import ModelJudge
from independence_bench.judging.output import find_verdict_text
from independence_bench.models.messages import (
    ChatRequest,
    Completion,
    Rejected,
    estimate_tokens,
)
from independence_bench.models.spec import ChatModel
from independence_bench.personas.cards import Description
from independence_bench.store import results
from independence_bench.store.database import Store
from independence_bench.store.results import Judgement


async def ask_for_sheet_items(
    wanted: Run,
    description: Description,
    store: Store,
    approve: Callable[[Preview], bool],
    watch: Callable[[Asker], Awaitable[None]],
) -> tuple[str, Report] | None:
    """Have the judge model of *wanted* write the items of a character from the texts of its
    *description*, and return (the model's answer, "" if there is none; the report of the call).
    *watch* runs at the same time.

    None if *approve* declines the forecast cost. Raises what `open_session` raises, or StoreError.
    """
    answers: list[str] = []
    async with open_session(wanted, store) as session:
        assert isinstance(session.judge, ModelJudge)  # noqa: S101 - the embedded one was turned away
        call = _make_items_call(description, session.judge.model)

        async def make_asker(session: Session) -> Asker:
            assert isinstance(session.judge, ModelJudge)  # noqa: S101 - as above
            asked = _make_items_call(description, session.judge.model)

            async def ask_items(calls: ConversationCalls) -> None:
                judgement = await calls.ask(asked)
                answers.append(judgement.reasoning)
                trouble = judgement.reason and Trouble("the description", judgement.reason)
                calls.progress.record_ending("unjudged" if trouble else "judged", trouble or None)

            task = ConversationTask("the description", 1, ask_items)
            return JudgeAsker([session.judge], 1, [task], session, 1)

        with store.open_snapshot() as connection:
            known = results.find_judgements(connection, [call.key])
        client, sent = session.clients[session.judge.model.endpoint], call.request.messages
        prompt = int(sum(estimate_tokens(message.content or "") for message in sent))
        # it quotes what it reads
        most = (await client.find_model_info(session.judge.model.model)).compute_cost(
            prompt, prompt
        )
        forecast = (
            Forecast()
            if known
            else Forecast(1, prompt, prompt, 0.0 if client.endpoint.free else most)
        )
        if not approve(replace(await make_preview(session), forecast=forecast, exam=None)):
            return None
        report = await ask_and_drop_refused_settings(session, make_asker, watch)
    return "".join(answers), report


def _make_items_call(description: Description, model: ChatModel) -> Call[Judgement]:
    """Return the call that asks *model* to write the items of the character of *description*."""
    texts, name = description.texts, description.draft.name
    card = join_card_texts(texts)
    key = make_judgement_key(hash_text(card), WRITING, model.hash)

    def make_judgement(answer: str, reason: str | None) -> Judgement:
        items = None if reason else read_card_items_counting_dropped(answer, texts, name)
        marks = {"items": float(len(items[0]))} if items else {}
        return Judgement(key, hash_text(card), WRITING, model.hash, marks, answer, reason)

    def read_items(completion: Completion) -> Accepted[Judgement] | Rejected:
        text = find_verdict_text(completion)
        items = read_card_items_counting_dropped(text, texts, name)
        if items and items[0]:
            return Accepted(make_judgement(text, None))
        says = (
            "no item of the reply quotes the description and is a whole sentence"
            if items
            else "the reply is not the JSON that was asked for"
        )
        return Rejected(says, completion.cut_off)

    return make_judgement_call(
        key,
        ChatRequest(model, make_card_messages(card), schema=SHEET_SCHEMA),
        read_items,
        partial(make_judgement, ""),
    )
