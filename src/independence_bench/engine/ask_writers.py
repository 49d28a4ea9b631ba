"""Has a model write for a character, once: the lines of the person who talks to it, or the items of
its description.

    make_line_asker(sheet, wanted, written, today, writer, session, ..)
        # aib persona write SHEET --writer MODEL
    await ask_for_sheet_items(wanted, description, store, approve, watch)
        # aib persona new SHEET --from CARD --writer MODEL

Each answer is paid for and stored like a judgement, so the same command buys nothing twice. Prints
nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

from independence_bench.calls.call import Accepted, Call
from independence_bench.calls.limits import GaveUp, Reach
from independence_bench.engine.ask import (
    Asker,
    ConversationCalls,
    ConversationTask,
    ask_and_drop_refused_settings,
)
from independence_bench.engine.ask_judges import (
    JudgeAsker,
    make_judgement_call,
    make_raw_answer_call,
)
from independence_bench.engine.preview import Forecast, Preview, make_preview
from independence_bench.engine.run import Report, Run, Session, Trouble
from independence_bench.engine.session import open_session
from independence_bench.hashing import hash_content, hash_text, make_judgement_key
from independence_bench.judging.extraction import (
    SHEET_SCHEMA,
    WRITING,
    join_card_texts,
    make_card_messages,
    read_card_items_counting_dropped,
)
from independence_bench.judging.judge import ModelJudge
from independence_bench.judging.output import find_verdict_text, parse_one_object
from independence_bench.models.messages import (
    ChatRequest,
    Completion,
    Message,
    Rejected,
    estimate_tokens,
)
from independence_bench.models.spec import ChatModel
from independence_bench.personas.cards import Description
from independence_bench.personas.lines import StemKey, StemLinesFile
from independence_bench.personas.sheet import Sheet
from independence_bench.personas.writer import (
    WriterTask,
    find_quotations,
    find_refusals,
    hash_writer_texts,
    list_places_to_write,
    make_checking_task,
    make_writing_task,
)
from independence_bench.store import results
from independence_bench.store.database import Store
from independence_bench.store.results import Judgement

# ---------------------------------------------------------------- the lines of a persona

LINES = hash_content(["the lines of a persona"])  # takes the place of the rubric's hash
ROUNDS = 3  # in which a line that was refused is written again


def make_line_asker(
    sheet: Sheet,
    wanted: Sequence[StemKey],
    written: dict[StemKey, StemLinesFile],
    today: str,
    writer: ModelJudge,
    session: Session,
    calls_at_once: int,
) -> JudgeAsker:
    """Return an asker that has the judge model *writer* write the human's lines for the items
    *wanted* of the character *sheet*, and adds the lines to *written*, by item. *today* is the date
    that is noted with the lines.

    A line that the rule or the second call still refuses in the last of `ROUNDS` rounds is taken
    from the template.
    """

    async def write_lines(key: StemKey, calls: ConversationCalls) -> None:
        lines: dict[str, str] = {}
        refused: dict[str, tuple[str, str]] = {}
        places = list_places_to_write(sheet, key)
        for number in range(ROUNDS):
            left = [place for place in places if place not in lines]
            if not left:
                break
            given = await ask_writer(
                make_writing_task(sheet, key, left, refused), calls, not number
            )
            why = {
                place: says
                for place, says in find_refusals(sheet, key, lines | given).items()
                if place in given
            }
            taken = {place: line for place, line in given.items() if place not in why}
            if check := make_checking_task(taken):
                claims = find_quotations(await ask_writer(check, calls, not number), taken)
                why |= {
                    place: f"gives a reason or a fact: “{words}”" for place, words in claims.items()
                }
            refused = {place: (given[place], says) for place, says in why.items()}
            lines |= {place: line for place, line in given.items() if place not in refused}
        says = next((item.says for item in sheet.items if item.key == key), None)
        kept = [place for place in places if place not in lines]
        whole = {place: lines.get(place, text) for place, text in sheet.lines[key].items()}
        written[key] = StemLinesFile(
            by=writer.label,
            source=hash_writer_texts(),
            date=today,
            says=says,
            from_templates=kept,
            lines=whole,
        )
        calls.progress.record_ending("judged")

    async def ask_writer(
        task: WriterTask, calls: ConversationCalls, counted: bool
    ) -> dict[str, str]:
        judgement = await calls.ask(_make_writer_call(task, writer.model), counted)
        answer = _parse_texts_by_place(judgement.reasoning, task)
        if answer is None:
            raise GaveUp(Reach.CALL, judgement.reason or "what is stored is not what was asked for")
        return answer

    tasks = [
        ConversationTask(
            f"the lines of {'.'.join(filter(None, key))}", 2, partial(write_lines, key)
        )
        for key in wanted
    ]
    return JudgeAsker([writer], len(tasks), tasks, session, calls_at_once)


def _parse_texts_by_place(reply: str, task: WriterTask) -> dict[str, str] | None:
    """Return place -> its text, put on one line, for each place that *task* asks for, parsed from a
    model's *reply*. None if *reply* is not a JSON object with a text at each place.
    """
    given = parse_one_object(reply) or {}
    whole = all(isinstance(given.get(place), str) for place in task.places)
    return {place: " ".join(given[place].split()) for place in task.places} if whole else None


def _make_writer_call(task: WriterTask, model: ChatModel) -> Call[Judgement]:
    asked = ChatRequest(
        model, (Message("system", task.system), Message("user", task.user)), schema=task.schema
    )
    shown = hash_content([task.system, task.user])
    return make_raw_answer_call(
        shown, LINES, asked, lambda reply: len(_parse_texts_by_place(reply, task) or ())
    )


# ---------------------------------------------------------------- a character's description


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
