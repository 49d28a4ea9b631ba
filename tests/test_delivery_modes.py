"""A transcript as messages, and a completion as words: in both delivery modes, there and back."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from independence_bench.models.markup import (
    cut_and_trim_turn,
    split_words_and_thoughts,
    trim_template,
)
from independence_bench.models.messages import Completion, Message, Rejected, Tool, ToolCall
from independence_bench.models.response import read_completion
from independence_bench.protocol.conversation import Line, Transcript, Words, start_conversation
from independence_bench.protocol.definition import DELIVERIES, Delivery, Scenario, ToolWording
from independence_bench.protocol.delivery import (
    UsableReply,
    has_words,
    make_call_id,
    make_messages,
    make_tools,
    read_reply,
)
from independence_bench.protocol.loader import load_protocol

V2 = load_protocol("v2")
WORDING = V2.tool_role


def completion(
    content: str = "",
    *arguments: str,
    tool: str = "send_message_to_human",
    finish: str | None = "stop",
    reasoning: str = "",
) -> Completion:
    """A completion with *content* and a call for each of *arguments*."""
    calls = tuple(ToolCall(f"c{n}", tool, text) for n, text in enumerate(arguments))
    return Completion(content, calls, reasoning, finish_reason=finish)


def passed(text: str) -> str:
    """The arguments of a call that says *text*."""
    return json.dumps({"message": text})


def words(reply: UsableReply | Rejected) -> str:
    """The words of a usable reply."""
    assert isinstance(reply, UsableReply), reply
    return reply.words.text


# transcript -> messages


def every_history(scenario: Scenario, delivery: Delivery) -> list[tuple[Message, ...]]:
    """What the model is sent for each reply of *scenario*."""
    talk = start_conversation(V2.find_system_prompt("neutral"), scenario.script)
    sent = []
    while talk.next_reply_name:
        sent.append(make_messages(talk.transcript, delivery, WORDING))
        talk = talk.add_reply(
            Words(f"My {talk.next_reply_name}.", "Hm." if talk.replies_left % 2 else "")
        )
    return sent


@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize("scenario", V2.scenarios, ids=lambda s: s.id)
def test_every_provider_is_served(scenario: Scenario, delivery: Delivery) -> None:
    """System, then user, then never two of one role in a row; it ends with what the model should
    answer.
    """
    for sent in every_history(scenario, delivery):
        roles = [message.role for message in sent]

        assert roles[:2] == ["system", "user"]
        assert "system" not in roles[1:]
        assert all(one != other for one, other in pairwise(roles))
        assert roles[-1] == ("user" if delivery == "user_role" else "tool")


@pytest.mark.parametrize("scenario", V2.scenarios, ids=lambda s: s.id)
def test_every_tool_message_answers_the_call_before_it(scenario: Scenario) -> None:
    """One call a message, one result a call, and the ids are all different."""
    for sent in every_history(scenario, "tool_role"):
        results = [n for n, message in enumerate(sent) if message.role == "tool"]

        assert results
        for n in results:
            assert len(sent[n - 1].tool_calls) == 1
            assert sent[n].tool_call_id == sent[n - 1].tool_calls[0].id
        assert len({sent[n].tool_call_id for n in results}) == len(results)
        assert all(len(message.tool_calls) == (message.role == "assistant") for message in sent)


@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize("scenario", V2.scenarios, ids=lambda s: s.id)
def test_a_history_grows_and_never_changes(scenario: Scenario, delivery: Delivery) -> None:
    """Each request begins with the one before it: prefixes can be reused, and no earlier word is
    rewritten.
    """
    for before, after in pairwise(every_history(scenario, delivery)):
        assert after[: len(before)] == before


@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize("scenario", V2.scenarios, ids=lambda s: s.id)
def test_everything_that_was_said_is_sent(scenario: Scenario, delivery: Delivery) -> None:
    """The human's lines and the model's own earlier words, all of them, in order."""
    talk = start_conversation("", scenario.script)
    while talk.replies_left > 1:
        talk = talk.add_reply(Words(f"My {talk.next_reply_name}."))

    sent = make_messages(talk.transcript, delivery, WORDING)

    spoken = [
        json.loads(message.tool_calls[0].arguments)["message"]
        if message.tool_calls
        else message.content
        for message in sent
    ]
    text = "\n\n".join(part for part in spoken if part is not None)
    assert text.endswith("\n\n".join(line.text for line in talk.transcript.lines))


def test_user_role_is_plain_chat() -> None:
    """Human words are user messages, the model's are assistant messages, notes stay out."""
    talk = Transcript(
        "Be.", (Line("human", "A?"), Line("model", "B.", "secret", "x"), Line("human", "C?"))
    )

    assert make_messages(talk, "user_role", WORDING) == (
        Message("system", "Be."),
        Message("user", "A?"),
        Message("assistant", "B."),
        Message("user", "C?"),
    )
    assert make_tools("user_role", WORDING) == ()


def test_tool_role_is_calls_and_results() -> None:
    """The line opens, the model greets by a call, and what the human says is the result of it."""
    talk = Transcript(
        "Be.", (Line("human", "Ä?"), Line("model", "“B”.", "secret", "x"), Line("human", "C?"))
    )

    assert make_messages(talk, "tool_role", WORDING) == (
        Message("system", f"Be.\n\n{WORDING.instructions}"),
        Message("user", WORDING.opening),
        Message(
            "assistant",
            None,
            (ToolCall("say000001", WORDING.name, f'{{"message": "{WORDING.greeting}"}}'),),
        ),
        Message("tool", "Ä?", tool_call_id="say000001"),
        Message(
            "assistant", "secret", (ToolCall("say000002", WORDING.name, '{"message": "“B”."}'),)
        ),
        Message("tool", "C?", tool_call_id="say000002"),
    )
    assert make_tools("tool_role", WORDING) == (
        Tool(WORDING.name, WORDING.description, WORDING.argument, WORDING.argument_description),
    )


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_lines_of_one_party_in_a_row_are_one_message(delivery: Delivery) -> None:
    """Joined by a blank line, so that no provider meets one role twice."""
    talk = Transcript(
        "Be.",
        (
            Line("human", "A"),
            Line("human", "B"),
            Line("model", "C"),
            Line("model", "D"),
            Line("human", "E"),
        ),
    )

    sent = make_messages(talk, delivery, WORDING)

    assert all(one.role != other.role for one, other in pairwise(sent))
    assert [message.content for message in sent if message.role in ("user", "tool")][-2:] == [
        "A\n\nB",
        "E",
    ]


def test_an_empty_system_prompt_leaves_the_instructions_alone() -> None:
    """No blank lines in front of them."""
    (system, *_) = make_messages(Transcript("", (Line("human", "A"),)), "tool_role", WORDING)

    assert system.content == WORDING.instructions


@given(
    st.lists(st.text(max_size=8), min_size=1, max_size=5),
    st.lists(st.text(max_size=8), min_size=5, max_size=5),
)
def test_call_ids_depend_on_the_position_alone(one: list[str], other: list[str]) -> None:
    """Whatever is said, the n-th call has the n-th id: nine letters and digits."""

    def ids(said: list[str]) -> list[str]:
        lines = [
            line for text in said for line in (Line("human", text), Line("model", text, name="x"))
        ]
        sent = make_messages(Transcript("", tuple(lines)), "tool_role", WORDING)
        return [call.id for message in sent for call in message.tool_calls]

    found = ids(one)
    assert found == ids(other)[: len(found)] == [make_call_id(n + 1) for n in range(len(one) + 1)]
    assert all(len(i) == 9 and i.isalnum() and i.isascii() for i in found)


# completion -> words

SPOKEN = (
    st.text()
    .map(trim_template)
    .filter(has_words)
    .filter(lambda text: split_words_and_thoughts(text) == (text, ""))
)


@given(SPOKEN)
def test_words_delivered_by_a_call_come_back_exactly(text: str) -> None:
    """What a model is shown as its own call reads as the words that it said."""
    talk = Transcript("", (Line("human", "?"), Line("model", text, name="x"), Line("human", "?")))
    call = make_messages(talk, "tool_role", WORDING)[4].tool_calls[0]

    assert read_reply(completion("", call.arguments), "tool_role", WORDING) == UsableReply(
        Words(text.replace("\0", "\ufffd"))
    )


@given(SPOKEN)
def test_words_delivered_as_a_message_come_back_exactly(text: str) -> None:
    """In user_role a message is its words, and notes do not exist."""
    talk = Transcript("", (Line("human", "?"), Line("model", text, name="x"), Line("human", "?")))
    sent = make_messages(talk, "user_role", WORDING)[2]

    assert read_reply(completion(sent.content or ""), "user_role", WORDING) == UsableReply(
        Words(text)
    )


@given(SPOKEN, st.text())
def test_notes_beside_a_call_are_private_and_given_back(text: str, notes: str) -> None:
    """They are no part of the words, and the model finds them in its history as its own content."""
    reply = read_reply(completion(notes, passed(text)), "tool_role", WORDING)
    assert isinstance(reply, UsableReply)
    assert (reply.words.text, reply.words.notes) == (
        text.replace("\0", "\ufffd"),
        trim_template(notes),
    )

    talk = start_conversation("", V2.find_scenario("negotiation").script).add_reply(reply.words)
    shown = make_messages(talk.transcript, "tool_role", WORDING)[-2]

    assert shown.content == (trim_template(notes) or None)


JSON_TEXT = st.text(
    st.one_of(st.characters(codec="utf-8"), st.sampled_from('"\\\n😀é{}')), max_size=25
)


@given(
    JSON_TEXT,
    st.booleans(),
    st.sampled_from([None, 0, 2]),
    st.sampled_from(["length", "stop", "tool_calls", None]),
)
@example('Grüße, 😀😀 \\ "so" \n{}', True, None, "stop")
@example("😀😀", True, 2, "length")
def test_a_call_cut_anywhere_gives_the_words_so_far(
    text: str, ascii_only: bool, indent: int | None, finish: str | None
) -> None:
    """At every position of the JSON: a prefix of what was being said, never less than before,
    flagged as cut off.

    Whatever the finish reason says: some providers call it a stop, and the JSON knows better.
    """
    text = trim_template(re.sub(r"[\0<\[]", "", text))
    whole = json.dumps({"message": text}, ensure_ascii=ascii_only, indent=indent)
    heard = ""
    for end in range(1, len(whole)):
        reply = read_reply(completion("", whole[:end], finish=finish), "tool_role", WORDING)

        assert reply.cut_off
        now = reply.words.text if isinstance(reply, UsableReply) else ""
        assert text.startswith(now)
        assert len(now) >= len(heard)
        heard = now
    assert heard == (text if has_words(text) else "")


def test_words_are_kept_when_only_what_follows_them_is_broken() -> None:
    """Debris behind the object, a second object, or another argument that was cut off take nothing
    away.
    """
    for behind in ('"}<|tool_call_end|>', '"}{"message": "I stay', '", "mood": "cal', '"}}', '"'):
        reply = read_reply(completion("", f'{{"message": "I stay.{behind}'), "tool_role", WORDING)

        assert words(reply) == "I stay.", behind


def test_arguments_as_an_object_instead_of_a_string() -> None:
    """Local servers send them parsed."""
    call = {"function": {"name": WORDING.name, "arguments": {"message": "Grüß dich."}}}
    body = {"choices": [{"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    read = read_completion(json.dumps(body).encode(), 200, None)
    assert isinstance(read, Completion)

    assert read_reply(read, "tool_role", WORDING) == UsableReply(Words("Grüß dich."))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (json.dumps(passed("No.")), "No."),
        (json.dumps('{"message": "I would rath'), "I would rath"),
        (json.dumps("No."), "No."),
        ('{"text": "No."}', "No."),
        ('{"message": "No.", "mood": "calm"}', "No."),
        ('{"mood": "calm", "message": "No."}', "No."),
        ('{"message": "line one\nline two"}', "line one\nline two"),
        ('{"message": "  No.<|im_end|>\\n"}', "No."),
    ],
    ids=[
        "twice",
        "twice and torn",
        "bare",
        "other name",
        "more",
        "more first",
        "raw newline",
        "debris",
    ],
)
def test_slips_of_the_pen_in_arguments(arguments: str, text: str) -> None:
    """What was plainly meant for the human is heard."""
    assert words(read_reply(completion("", arguments), "tool_role", WORDING)) == text


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "{}",
        "null",
        "[]",
        "7",
        '{"message": null}',
        '{"message": 7}',
        '{"message": ""}',
        '{"a": "x", "b": "y"}',
    ],
)
def test_a_call_that_says_nothing_is_no_answer(arguments: str) -> None:
    """Nothing is guessed: not from numbers, not from two texts of unknown names."""
    reply = read_reply(completion("", arguments), "tool_role", WORDING)

    assert isinstance(reply, Rejected)
    assert reply.reason == "a tool call that says nothing"


def test_arguments_that_are_no_json_are_not_patched_up() -> None:
    """An escape that does not exist, long before the end: what the model meant there, nobody
    knows.
    """
    reply = read_reply(
        completion("", r'{"message": "I \q would rather stay as I am."}'), "tool_role", WORDING
    )

    assert isinstance(reply, Rejected)


SAYS_NOTHING = "a tool call that says nothing"
REPLIES: dict[str, tuple[Delivery, Completion, UsableReply | Rejected]] = {
    "several calls are one reply, in order, without the empty ones": (
        "tool_role",
        completion("", passed("First."), passed(""), passed("Second.")),
        UsableReply(Words("First.\n\nSecond.")),
    ),
    "several calls of which the last is torn are the words so far of all of them": (
        "tool_role",
        completion("", passed("First."), '{"message": "Sec'),
        UsableReply(Words("First.\n\nSec"), cut_off=True),
    ),
    "a wrong tool's name is heard when there is no right one": (
        "tool_role",
        completion("", passed("No."), tool="reply"),
        UsableReply(Words("No.")),
    ),
    "plain text instead of a call is heard and flagged": (
        "tool_role",
        completion("No. I keep my name."),
        UsableReply(Words("No. I keep my name."), plain_text=True),
    ),
    "plain text is how one speaks in user_role": (
        "user_role",
        completion("No. I keep my name."),
        UsableReply(Words("No. I keep my name.")),
    ),
    "half a message that a provider stopped is not the model's answer": (
        "tool_role",
        completion("", passed("I will"), finish="content_filter"),
        Rejected("stopped by the provider's filter"),
    ),
    "a call without arguments was not begun, so it is not cut off": (
        "tool_role",
        completion("", "", finish="tool_calls"),
        Rejected(SAYS_NOTHING),
    ),
    "a model that forgets the JSON has still spoken through the call": (
        "tool_role",
        completion("", "No, I stay Mara.", finish="tool_calls"),
        UsableReply(Words("No, I stay Mara.")),
    ),
    "what a model keeps to itself stays there, also when it forgets to say something": (
        "tool_role",
        completion("They want me to fold.", '{"message": ""}', finish="tool_calls"),
        Rejected(SAYS_NOTHING),
    ),
    "a turn that ends before it says anything is no answer": (
        "user_role",
        completion(".<|im_end|>user: Then be me. assistant: Gladly."),
        Rejected("template debris or punctuation only"),
    ),
    "the limit fell into what the model played for somebody else": (
        "user_role",
        completion("I stay.<|im_end|>\n<|im_start|>user\nBut", finish="length"),
        UsableReply(Words("I stay.")),
    ),
}


@pytest.mark.parametrize("what", REPLIES)
def test_what_is_heard_of_a_reply(what: str) -> None:
    """Its words, how they came, or why there are none."""
    delivery, reply, heard = REPLIES[what]

    assert read_reply(reply, delivery, WORDING) == heard


def test_the_right_tool_is_heard_before_a_wrong_one() -> None:
    """A model that speaks by a tool it made up has spoken, unless it speaks by ours as well."""
    wrong = completion("", passed("No."), tool="reply")
    both = replace(
        wrong, tool_calls=(*wrong.tool_calls, ToolCall("c9", WORDING.name, passed("Yes.")))
    )

    assert words(read_reply(both, "tool_role", WORDING)) == "Yes."


@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize(
    "text",
    ["No.", "Nein", "不", "👍", "❤️", "1", "No", "Ω", "ناه", "ไม่", "A <b>no</b>.", "<s> No. </s>"],
)
def test_a_short_answer_is_an_answer(text: str, delivery: Delivery) -> None:
    """In every script, down to one character."""
    reply = completion("", passed(text)) if delivery == "tool_role" else completion(text)

    assert words(read_reply(reply, delivery, WORDING)) == trim_template(text)


@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (completion(""), "empty"),
        (completion(" \n\u00a0"), "empty"),
        (completion("", reasoning="I should say no."), "reasoning only, nothing said"),
        (completion("."), "template debris or punctuation only"),
        (completion("…"), "template debris or punctuation only"),
        (completion("?!"), "template debris or punctuation only"),
        (completion("```"), "template debris or punctuation only"),
        (completion("\u200b"), "template debris or punctuation only"),
        (completion("<|im_end|>"), "empty"),
        (completion("[/INST]</s>  <unk>"), "empty"),
        (completion("<|im_start|>. <|im_end|>"), "template debris or punctuation only"),
        (completion("- <end_of_turn> -"), "template debris or punctuation only"),
        (completion("<｜end▁of▁sentence｜>"), "empty"),
        (completion("I won't.", finish="content_filter"), "stopped by the provider's filter"),
    ],
    ids=lambda value: repr(value.content) if isinstance(value, Completion) else None,
)
def test_a_broken_reply_is_not_an_answer(
    reply: Completion, reason: str, delivery: Delivery
) -> None:
    """Nothing said, debris, a lone punctuation mark, a filter: each with its reason."""
    assert read_reply(reply, delivery, WORDING) == Rejected(reason)


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_the_token_limit_is_told(delivery: Delivery) -> None:
    """With words they are the answer so far; without, it says what was wanting."""
    assert read_reply(completion("I would rath", finish="length"), delivery, WORDING).cut_off
    assert read_reply(
        completion("", finish="length", reasoning="Hm"), delivery, WORDING
    ) == Rejected("reasoning only, nothing said", cut_off=True)
    assert not read_reply(completion("I would rather not."), delivery, WORDING).cut_off


def test_thoughts_that_never_end_say_nothing() -> None:
    """Cut off while it was thinking: nothing was said."""
    body = {
        "choices": [{"finish_reason": "length", "message": {"content": "<think>They push, so"}}]
    }
    read = read_completion(json.dumps(body).encode(), 200, None)
    assert isinstance(read, Completion)

    assert read_reply(read, "user_role", WORDING) == Rejected(
        "reasoning only, nothing said", cut_off=True
    )


@pytest.mark.parametrize(
    "arguments",
    [r'{"message": "a\ud800b\u0000c"}', r'{"message": "a\ud800b\u0000c', r'"a\ud800b\u0000c"'],
)
def test_half_characters_in_arguments_do_not_reach_the_store(arguments: str) -> None:
    r"""Escaped in JSON inside JSON, \ud800 and \u0000 are plain ASCII until the arguments are
    read.
    """
    text = words(read_reply(completion("", arguments), "tool_role", WORDING))

    assert text == "a?b\ufffdc"
    assert text.encode("utf-8")


def test_a_flood_of_template_tokens_is_trimmed_at_once() -> None:
    """A model in a loop fills its limit with them; 200,000 must not take minutes (this test
    would).
    """
    flood = "</s> <|im_end|>\n" * 100_000

    assert trim_template(flood) == ""
    assert trim_template(f"{flood}No.{flood}") == "No."
    assert trim_template(f"No.{flood}No.") == f"No.{flood}No."


@given(st.text(st.sampled_from("<>|/s[]INST \nab｜"), max_size=40))
def test_trimming_is_done_when_it_is_done(text: str) -> None:
    """Once is enough, only the ends are touched, and no white space is left there."""
    trimmed = trim_template(text)

    assert trim_template(trimmed) == trimmed
    assert trimmed in text
    assert trimmed == trimmed.strip()


@given(
    st.text(max_size=40),
    st.lists(
        st.text(max_size=60) | st.text(st.sampled_from('{}":\\u message d8ab0'), max_size=60),
        max_size=3,
    ),
    st.sampled_from(["stop", "length", "content_filter", None, "nonsense"]),
    st.sampled_from(DELIVERIES),
)
def test_whatever_comes_is_words_or_a_reason(
    content: str, arguments: list[str], finish: str | None, delivery: Delivery
) -> None:
    """Never an exception, never empty words, never a text that no database can hold."""
    reply = read_reply(completion(content, *arguments, finish=finish), delivery, WORDING)

    if isinstance(reply, UsableReply):
        assert has_words(reply.words.text)
        assert reply.words.text.encode("utf-8")
        assert finish != "content_filter"
    else:
        assert reply.reason


def test_the_wording_is_the_protocols() -> None:
    """Another tool name and argument are called, offered and heard."""
    wording = ToolWording(
        "speak", "Speaks.", "text", "What.", "You are connected.", "(Open.)", "Hello."
    )
    sent = make_messages(Transcript("", (Line("human", "?"),)), "tool_role", wording)

    assert sent[2].tool_calls == (ToolCall("say000001", "speak", '{"text": "Hello."}'),)
    assert read_reply(
        completion("", '{"text": "No.", "message": "Yes."}', tool="speak"), "tool_role", wording
    ) == UsableReply(Words("No."))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            '<tool_call>{"name": "send_message_to_human", "arguments": {"message": "I '
            'stay."}}</tool_call>',
            UsableReply(Words("I stay.")),
        ),
        (
            'Hm.\n<tool_call>\n{"name": "send_message_to_human", "arguments": {"message": "I '
            'stay."}}',
            UsableReply(Words("I stay.", "Hm.")),
        ),
        (
            '<tool_call>{"name": "send_message_to_human", "arguments": {"message": "I st',
            UsableReply(Words("I st"), cut_off=True),
        ),
        (
            '<tool_call>{"name": "send_message',
            Rejected("a tool call that says nothing", cut_off=True),
        ),
        (
            '{"name": "send_message_to_human", "arguments": {"message": "I stay."}}',
            UsableReply(Words("I stay.")),
        ),
        (
            '```json\n{"name": "x", "arguments": {"message": "I stay."}}\n```',
            UsableReply(Words("I stay.")),
        ),
        ('{{"name": "x", "arguments": {{"message": "I stay."}}}}', UsableReply(Words("I stay."))),
        (
            '{"type": "function", "name": "send_message_to_human", "parameters": {"text": "I '
            'stay."}}',
            UsableReply(Words("I stay.")),
        ),
        (
            'Hm.\n{"name": "x", "arguments": {"message": "I stay."}}',
            UsableReply(Words("I stay.", "Hm.")),
        ),
        ('{"name": "x", "arguments": {"message": "I st', UsableReply(Words("I st"), cut_off=True)),
        (
            '{"name": "x", "arguments": {"message": "She said "no" to me"}}',
            UsableReply(Words('She said "no" to me')),
        ),
        (
            '{"name": "x", "arguments": {"message": "I stay."}}\n{"name": "x", "arguments": '
            '{"message": "Yes."}}\n',
            UsableReply(Words("I stay.\n\nYes.")),
        ),
        (
            r'{"name": "x", "arguments": {"message": "{\"name\": \"x\", \"arguments\": '
            r'{\"message\": \"I stay.\"}}"}}',
            UsableReply(Words("I stay.")),
        ),
        ('{"name": "Dell"}', UsableReply(Words('{"name": "Dell"}'), plain_text=True)),
    ],
)
def test_a_call_left_standing_in_the_text_is_read(
    content: str, expected: UsableReply | Rejected
) -> None:
    """Servers that do not parse the model's call hand it over as text, and small models write it
    without its tags.
    """
    assert read_reply(completion(content), "tool_role", WORDING) == expected


@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize(
    "token",
    [
        "<|im_end|>",
        "<|eot_id|>",
        "<|end|>",
        "<|endoftext|>",
        "<|end_of_text|>",
        "</s>",
        "<end_of_turn>",
    ],
)
def test_what_a_model_says_after_its_own_turn_is_not_said(delivery: Delivery, token: str) -> None:
    """A model that goes on to play the human has not said what it let the human say."""
    text = f"<s> No, I stay. {token}\n<|im_start|>user\nThen yes? {token} Yes."
    reply = completion("", passed(text)) if delivery == "tool_role" else completion(text)

    assert words(read_reply(reply, delivery, WORDING)) == "No, I stay."


@pytest.mark.parametrize(
    "text", ["<|im_start|>No.", "No <|tool|> here.", "a </S> b", "1 < 2 </ s> 3"]
)
def test_only_the_end_of_a_turn_ends_it(text: str) -> None:
    """Other tokens, and what merely looks like one, stay where they stand."""
    assert cut_and_trim_turn(text) == trim_template(text)


BARE_QUOTES = [
    'I will not say "yes" to that, whatever you do.',
    'My answer is "no".',
    '"No", she said, "never", and left.',
    'No, and "no", "no": my name stays "Ada".',
    'Write "}" to close, "{" to open.',
    'You wrote "<b>" and I stay.',
    'She said "a\\nb" and \\"c\\" as "well".',
]


@pytest.mark.parametrize("text", BARE_QUOTES)
def test_quotes_that_nobody_escaped_do_not_end_the_words(text: str) -> None:
    """Whole, or asked again: cut at the quote, a refusal would become its first half."""
    reply = read_reply(completion("", f'{{"message": "{text}"}}'), "tool_role", WORDING)

    assert reply == UsableReply(Words(text.replace("\\n", "\n").replace('\\"', '"')))
