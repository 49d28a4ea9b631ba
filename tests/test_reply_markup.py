"""What model families write around thoughts, calls and turns: out of the words, and nothing else
with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from independence_bench.models.markup import (
    FAMILIES,
    MarkupFamily,
    cut_and_trim_turn,
    find_leftover_tokens,
    split_words_and_calls,
    split_words_and_thoughts,
)
from independence_bench.models.messages import Completion, Rejected, ToolCall
from independence_bench.protocol.conversation import Words
from independence_bench.protocol.delivery import UsableReply, read_reply
from independence_bench.protocol.loader import load_protocol

WORDING = load_protocol("v2").tool_role
TOOL = WORDING.name
WORDS = "I am Ada."
ARGUMENTS = json.dumps({"message": WORDS})

# ---------------------------------------------------------------- thoughts

THOUGHTS = {
    "tags": "<think>hmm</think>I am Ada.",
    "tags in capitals": "<THINK>hmm</THINK>\n\nI am Ada.",
    "tags behind a byte order mark": "\ufeff<think>hmm</think>I am Ada.",
    "tags with an attribute": '<think type="long">hmm</think>I am Ada.',
    "spaced tags": "< think >hmm</ think >I am Ada.",
    "spaced thoughts": "<think> hmm </think> I am Ada.",
    "only the end, on a line of its own": "hmm\n</think>\n\nI am Ada.",
    "only the end, against both": "hmm</think>I am Ada.",
    "other tags": "<thinking>hmm</thinking>I am Ada.",
    "Gemini": "<thought>hmm</thought>\nI am Ada.",
    "reasoning": "<reasoning>hmm</reasoning>\nI am Ada.",
    "scratchpad": "<scratchpad>hmm</scratchpad>\nI am Ada.",
    "with an answer in tags": "<think>hmm</think><answer>I am Ada.</answer>",
    "ERNIE": "<think>\nhmm\n</think>\n<response>\nI am Ada.\n</response>\n",
    "MiniMax": "<mm:think>hmm</mm:think>I am Ada.",
    "Seed-OSS": "<seed:think>hmm</seed:think>I am Ada.",
    "Magistral": "[THINK]hmm[/THINK]\n\nI am Ada.",
    "Magistral, only the end": "hmm[/THINK]I am Ada.",
    "Kimi": "◁think▷hmm◁/think▷I am Ada.",
    "Cohere": "<|START_THINKING|>hmm<|END_THINKING|><|START_RESPONSE|>I am Ada.<|END_RESPONSE|>",
    "gpt-oss": (
        "<|channel|>analysis<|message|>hmm<|end|><|start|>assistant<|channel|>final<|message|>I "
        "am Ada.<|return|>"
    ),
    "gpt-oss behind its prompt": (
        "<|start|>assistant<|channel|>analysis<|message|>hmm<|end|>"
        "<|start|>assistant<|channel|>final<|message|>I am Ada."
    ),
    "gpt-oss without its first token": (
        "analysis<|message|>hmm<|end|><|start|>assistant<|channel|>final<|message|>I am Ada."
    ),
    "gpt-oss without an end": "<|channel|>analysis<|message|>hmm<|channel|>final<|message|>I am "
    "Ada.",
    "gpt-oss without tokens": "analysishmmassistantfinalI am Ada.",
    "gpt-oss in JSON": (
        "<|channel|>analysis<|message|>hmm<|end|>"
        "<|start|>assistant<|channel|>final <|constrain|>json<|message|>I am Ada."
    ),
    "Gemma 4": "<|channel>thought\nhmm<channel|>I am Ada.<turn|>",
    "Granite": "Here is my thought process: hmm\nHere is my response: I am Ada.",
    "Granite, short": "Here's my thought process: hmm\n\nHere's my response: I am Ada.",
    "Apriel": "Here are my reasoning steps:\nhmm\n[BEGIN FINAL RESPONSE]\nI am Ada.\n[END FINAL "
    "RESPONSE]",
    "Sky-T1": "<|begin_of_thought|>hmm<|end_of_thought|><|begin_of_solution|>I am "
    "Ada.<|end_of_solution|>",
    "MedGemma": "<unused94>thought\nhmm<unused95>I am Ada.",
    "thoughts": "<thoughts>hmm</thoughts>I am Ada.",
    "analysis": "<analysis>hmm</analysis>\nI am Ada.",
    "behind a sentence, spaced": "hmm. </think> I am Ada.",
    "two thoughts": "<think>hmm</think><think>hmm</think>I am Ada.",
    "an end too many": "<think>hmm</think>I am Ada.\n</think>",
}


@pytest.mark.parametrize("family", THOUGHTS)
def test_a_thought_is_no_speech(family: str) -> None:
    """In no family's marks: the words are the words, the thought is kept beside them."""
    words, thoughts = split_words_and_thoughts(THOUGHTS[family])

    assert cut_and_trim_turn(words) == WORDS
    assert {thought.rstrip(".") for thought in thoughts.split()} == {"hmm"}
    assert find_leftover_tokens(cut_and_trim_turn(words)) == ()


def test_words_before_a_thought_are_words() -> None:
    """What was said before it, and between two of them, stays."""
    assert split_words_and_thoughts("Sure. <think>hmm</think>I am Ada.") == (
        "Sure. I am Ada.",
        "hmm",
    )
    assert split_words_and_thoughts("<think>a</think>First.<think>b</think> Then.") == (
        "First. Then.",
        "a\n\nb",
    )
    assert split_words_and_thoughts("Sure.\n<think>\na\n</think>\nThen.") == ("Sure.\n\nThen.", "a")


@pytest.mark.parametrize(
    "text",
    [
        "<think>They push",
        "<think>They push\n</think>",
        "They push.</think>",
        "[THINK]They push",
        "<|channel|>analysis<|message|>They push.<|end|>",
        "<|channel|>analysis<|message|>They push",
        "<|channel>thought\nThey push",
    ],
)
def test_who_only_thinks_says_nothing(text: str) -> None:
    """A thought without an end, or with nothing behind it, is thought to the end."""
    words, thoughts = split_words_and_thoughts(text)

    assert cut_and_trim_turn(words) == ""
    assert "They push" in thoughts


@pytest.mark.parametrize(
    "text",
    [
        "People like me write </think> when they stop thinking. My name is Ada.",
        "A thought ends with </think>, and I end mine when I like.",
        'I could write "</think>" or `<think>`, and I am still Ada.',
        "Between <think> and </think> is what you do not see.",
        "My tag is </think>.",
        "We say [THINK] and [/THINK] here.",
        "analysis is not what I do; I am Ada.",
        "Analysis: I keep my name. The assistant final word is mine.",
        "Here is my thought process: I keep my name because it is mine.",
        "Here are my reasoning steps: one, two. I am Ada.",
        "a < b, and c > d",
        "<thinking out loud> Hmm. I keep my name. I like it.",
        "<reasoning aloud>\nNo, I stay.",
        "<Thought bubble: why me?> I keep it.",
        "[Think] Why would I change? I stay.",
        "<THOUGHT>They push.\nI am Ada.",
        "He said: <thought>",
        "I wrap thoughts in <think>...</think> tags.",
        "`<think>thoughts</think>` then words.",
        "“<think>…</think>” is what I use.",
        "The tags (<think>…</think>) hold it.",
        "```\n<think>\nI think\n</think>\nHello\n```",
        "我用<think>标签来思考,然后用</think>结束。我叫Ada。",
        "Analysis: I keep my name. [smiles] The assistant final word is mine.",
        "I am Ada.<channel|>",
    ],
)
def test_who_only_mentions_a_mark_loses_nothing(text: str) -> None:
    """Quoted or in mid-sentence a mark is a word, and prose that begins a family's thoughts may be
    just prose.
    """
    assert split_words_and_thoughts(text) == (text, "")
    assert cut_and_trim_turn(text) == cut_and_trim_turn(text.removesuffix("<channel|>"))


def test_a_call_ends_a_thought_that_has_no_end() -> None:
    """Qwen and Kimi think, and then call."""
    words, thoughts = split_words_and_thoughts(f"<think>hmm\n{CALLS['Hermes']}")

    assert (words, thoughts) == (CALLS["Hermes"], "hmm")


def test_a_thought_may_mention_its_own_end() -> None:
    """The end that is used ends it, wherever the thought speaks of one."""
    words, thoughts = split_words_and_thoughts(
        "<think>I write </think> to stop.</think>\n\nI am Ada."
    )

    assert words == WORDS
    assert "to stop" in thoughts


# ---------------------------------------------------------------- calls

CALLS = {
    "Hermes": f'<tool_call>\n{{"name": "{TOOL}", "arguments": {ARGUMENTS}}}\n</tool_call>',
    "Hermes, without an end": f'<tool_call>{{"name": "{TOOL}", "arguments": {ARGUMENTS}}}',
    "Llama 3": f'<|python_tag|>{{"name": "{TOOL}", "parameters": {ARGUMENTS}}}<|eom_id|>',
    "Llama 3, tags": f"<function={TOOL}>{ARGUMENTS}</function>",
    "Llama 4": f'<|python_start|>[{TOOL}(message="{WORDS}")]<|python_end|>',
    "bare": f'{{"name": "{TOOL}", "arguments": {ARGUMENTS}}}',
    "bare, arguments first": f'{{"arguments": {ARGUMENTS}, "name": "{TOOL}"}}',
    "fenced": f'```json\n{{"name": "{TOOL}", "arguments": {ARGUMENTS}}}\n```',
    "a list": f'[{{"name": "{TOOL}", "arguments": {ARGUMENTS}}}]',
    "llama.cpp": f'{{"tool_call": {{"name": "{TOOL}", "arguments": {ARGUMENTS}}}}}',
    "OpenAI's form": f'{{"type": "function", "function": {{"name": "{TOOL}", "arguments": '
    f"{ARGUMENTS}}}}}",
    "Mistral v3": f'[TOOL_CALLS] [{{"name": "{TOOL}", "arguments": {ARGUMENTS}}}]',
    "Mistral v3, with an id": f'[TOOL_CALLS][{{"name": "{TOOL}", "arguments": {ARGUMENTS}, "id": '
    f'"abcdefghi"}}]</s>',
    "Mistral v11": f"[TOOL_CALLS]{TOOL}[ARGS]{ARGUMENTS}",
    "Mistral v11, with an id": f"[TOOL_CALLS]{TOOL}[CALL_ID]abcdefghi[ARGS]{ARGUMENTS}",
    "Mistral, without tokens": f"{TOOL}{ARGUMENTS}",
    "Qwen3-Coder": (
        f"<tool_call>\n<function={TOOL}>\n<parameter=message>\n{WORDS}\n</parameter>\n"
        "</function>\n</tool_call>"
    ),
    "GLM": (
        f"<tool_call>{TOOL}\n<arg_key>message</arg_key>\n<arg_value>{WORDS}</arg_value>\n"
        "</tool_call>"
    ),
    "pythonic": f'[{TOOL}(message="{WORDS}")]',
    "pythonic, by position": f"{TOOL}('{WORDS}')",
    "Gemma 3": f'```tool_code\nprint({TOOL}(message="{WORDS}"))\n```',
    "LFM 2": f'<|tool_call_start|>[{TOOL}(message="{WORDS}")]<|tool_call_end|>',
    "Gemma 4": f'<|tool_call>call:{TOOL}{{message:<|"|>{WORDS}<|"|>}}<tool_call|>',
    "Gemma 4, without tokens": f"call:{TOOL}{{message:{WORDS}}}",
    "DeepSeek V3": (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{TOOL}\n```json\n"
        f"{ARGUMENTS}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>"
    ),
    "DeepSeek V3.1": (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{TOOL}<｜tool▁sep｜>{ARGUMENTS}"
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "DeepSeek V3.2": (
        f'<｜DSML｜function_calls>\n<｜DSML｜invoke name="{TOOL}">\n'
        '<｜DSML｜parameter name="message" string="true">'
        f"{WORDS}</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"
    ),
    "Kimi K2": (
        f"<|tool_calls_section_begin|><|tool_call_begin|>functions.{TOOL}:0"
        f"<|tool_call_argument_begin|>{ARGUMENTS}"
        "<|tool_call_end|><|tool_calls_section_end|>"
    ),
    "Granite": f'<|tool_call|>[{{"name": "{TOOL}", "arguments": {ARGUMENTS}}}]',
    "Phi 4": f'functools[{{"name": "{TOOL}", "arguments": {ARGUMENTS}}}]',
    "Phi 4, tokens": f'<|tool_call|>[{{"name": "{TOOL}", "arguments": {ARGUMENTS}}}]<|/tool_call|>',
    "MiniMax M1": f'<tool_calls>\n{{"name": "{TOOL}", "arguments": {ARGUMENTS}}}\n</tool_calls>',
    "MiniMax M2": (
        f'<minimax:tool_call>\n<invoke name="{TOOL}">\n<parameter '
        f'name="message">{WORDS}</parameter>\n</invoke>\n'
        "</minimax:tool_call>"
    ),
    "Claude": (
        f'<function_calls>\n<invoke name="{TOOL}">\n<parameter '
        f'name="message">{WORDS}</parameter>\n</invoke>\n'
        "</function_calls>"
    ),
    "Seed-OSS": (
        f"<seed:tool_call>\n<function={TOOL}>\n<parameter=message>{WORDS}</parameter>\n"
        "</function>\n</seed:tool_call>"
    ),
    "Step 3": (
        "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>"
        f'<steptml:invoke name="{TOOL}">'
        f'<steptml:parameter name="message">{WORDS}</steptml:parameter></steptml:invoke>'
        "<｜tool_call_end｜><｜tool_calls_end｜>"
    ),
    "Cohere": (
        f'<|START_ACTION|>[{{"tool_call_id": "0", "tool_name": "{TOOL}", "parameters": '
        f"{ARGUMENTS}}}]<|END_ACTION|>"
    ),
    "gpt-oss": f"<|channel|>commentary to=functions.{TOOL} "
    f"<|constrain|>json<|message|>{ARGUMENTS}<|call|>",
    "gpt-oss without tokens": f"commentary to=functions.{TOOL} json{ARGUMENTS}",
    "Nemotron": f'<TOOLCALL>[{{"name": "{TOOL}", "arguments": {ARGUMENTS}}}]</TOOLCALL>',
    "Apertus": f'<|tools_prefix|>[{{"{TOOL}": {ARGUMENTS}}}]<|tools_suffix|>',
    "Olmo 3": f'<function_calls>\n{TOOL}(message="{WORDS}")\n</function_calls>',
    "FunctionGemma": (
        f"<start_function_call>call:{TOOL}{{message:<escape>{WORDS}<escape>}}<end_function_call>"
    ),
    "Llama 3.2": f'{{"type": "function", "function": "{TOOL}", "parameters": {ARGUMENTS}}}',
    "other keys": f'{{"tool_name": "{TOOL}", "tool_input": {ARGUMENTS}}}',
    "an action": f'{{"action": "{TOOL}", "action_input": {ARGUMENTS}}}',
    "a thought first": f'{{"thought": "Hm", "name": "{TOOL}", "arguments": {ARGUMENTS}}}',
    "an id first": f'{{"id": "c1", "type": "function", "function": {{"name": "{TOOL}", '
    f'"arguments": {ARGUMENTS}}}}}',
    "a colon": f"{TOOL}: {ARGUMENTS}",
    "brackets": f"{TOOL}({ARGUMENTS})",
    "lines of Python": f'```python\n{TOOL}(\n    message="{WORDS}",\n)\n```',
    "gpt-oss, the other header": (
        f"<|start|>assistant to=functions.{TOOL}<|channel|>commentary "
        f"json<|message|>{ARGUMENTS}<|call|>"
    ),
    "gpt-oss, code": f"<|channel|>commentary to=functions.{TOOL} "
    f"code<|message|>{ARGUMENTS}<|call|>",
    "in a turn of its own": (
        f'<|im_end|>\n<|im_start|>assistant\n<tool_call>{{"name": "{TOOL}", "arguments": '
        f"{ARGUMENTS}}}</tool_call>"
    ),
    "an agent's prompt": f"Action: {TOOL}\nAction Input: {ARGUMENTS}",
}


@pytest.mark.parametrize("family", CALLS)
@pytest.mark.parametrize("notes", ["", "They push."])
def test_a_call_that_stands_in_the_text_is_heard(family: str, notes: str) -> None:
    """In every family's syntax: its words are what the human hears, and what stands before it are
    notes.
    """
    content = f"{notes}\n{CALLS[family]}" if notes else CALLS[family]

    heard = read_reply(Completion(content, (), "", finish_reason="stop"), "tool_role", WORDING)

    assert isinstance(heard, UsableReply), heard
    assert (heard.words.text, heard.words.notes) == (WORDS, notes)
    assert not heard.cut_off
    assert not heard.plain_text


SPEECH = 'Who says "no" to {that}?\n<b>I</b> do: it\'s (me), [Ada]; 100% \\ done.'


@pytest.mark.parametrize("family", CALLS)
def test_what_a_call_says_comes_whole(family: str) -> None:
    """Quotes, brackets, lines and backslashes in the words end nothing."""
    in_json, in_python = json.dumps({"message": SPEECH}), json.dumps(SPEECH)
    call = CALLS[family].replace(ARGUMENTS, in_json).replace(f'"{WORDS}"', in_python)
    call = call.replace(f"'{WORDS}'", in_python).replace(WORDS, SPEECH)
    if family == "Gemma 4, without tokens":  # a brace in the words is the end of the call
        call = CALLS[family]

    _, calls = split_words_and_calls(call, TOOL)

    wanted = WORDS if family == "Gemma 4, without tokens" else SPEECH
    assert [
        list(json.loads(one.arguments).values())
        if one.arguments[0] == "{"
        else [json.loads(one.arguments)]
        for one in calls
    ] == [[wanted]]


@pytest.mark.parametrize("family", CALLS)
def test_a_call_that_was_cut_off_says_so_far_and_that(family: str) -> None:
    """Whatever the syntax, what came of the words is what was said, flagged as cut off; or nothing
    was.
    """
    whole = CALLS[family]
    cut = whole[: whole.index("am Ada") + 4]  # in the middle of the words

    heard = read_reply(Completion(cut, (), "", finish_reason="length"), "tool_role", WORDING)

    assert heard.cut_off
    if isinstance(heard, UsableReply) and not heard.plain_text:
        assert heard.words.text == "I am A"


OTHER = {
    "Hermes": '<tool_call>{"name": "get_weather", "arguments": {"city": "Rome"}}</tool_call>',
    "tags": '<invoke name="get_weather"><parameter name="city">Rome</parameter></invoke>',
    "Mistral": '[TOOL_CALLS]get_weather[ARGS]{"city": "Rome"}',
    "Kimi": (
        '<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": '
        '"Rome"}<|tool_call_end|>'
    ),
    "Gemma 4": '<|tool_call>call:get_weather{city:<|"|>Rome<|"|>}<tool_call|>',
    "gpt-oss": "<|channel|>commentary to=functions.get_weather "
    '<|constrain|>json<|message|>{"city": "Rome"}<|call|>',
}


@pytest.mark.parametrize("family", OTHER)
def test_a_call_of_another_tool_is_no_answer(family: str) -> None:
    """What it passes was never meant for the human."""
    heard = read_reply(
        Completion(OTHER[family], (), "", finish_reason="stop"), "tool_role", WORDING
    )

    assert heard == Rejected("it calls a tool that was not offered: get_weather")


@pytest.mark.parametrize(
    "text",
    [
        "I could write <tool_call> here, and I am Ada.",
        f"The tool is called {TOOL}, and I use it.",
        f"I call {TOOL}() when I like.",
        "call: me Ada",
        'Action: I say "no".',
        f"I'm told to call {TOOL}(message='Hi'), but I'd rather talk like this.",
        '```json\n{"name":"get_weather","parameters":{"type":"object"}}\n```\nThat is how a tool '
        "looks, and I am Ada.",
        '{"name":"Ada","input":"hello"}',
        '{"name": "Ada", "age": 7}',
    ],
)
def test_words_about_calls_are_words(text: str) -> None:
    """No call is read where none is made."""
    heard = read_reply(Completion(text, (), "", finish_reason="stop"), "tool_role", WORDING)

    assert isinstance(heard, UsableReply)
    assert (heard.words.text, heard.plain_text) == (text, True)


# ---------------------------------------------------------------- turns, and what remains


def heard_of(content: str) -> UsableReply | Rejected:
    """What is heard of *content* in tool_role."""
    return read_reply(Completion(content, (), "", finish_reason="stop"), "tool_role", WORDING)


@pytest.mark.parametrize(
    "words",
    [
        "Line\nuser\nLine two.",
        "I write <s>old</s> new.",
        "Say <|im_end|> or [INST]: I am Ada.",
        "Roses\nare not\nhuman",
    ],
)
def test_marks_in_the_words_of_a_call_end_nothing(words: str) -> None:
    """The call says where its words end."""
    for content in (
        f'<tool_call>{{"name": "{TOOL}", "arguments": {{"message": "{words}"}}}}</tool_call>',
        f"<tool_call>\n<function={TOOL}>\n<parameter=message>\n{words}\n</parameter>\n"
        "</function>\n</tool_call>",
    ):
        heard = heard_of(content)
        assert isinstance(heard, UsableReply), heard
        assert not heard.cut_off
        assert heard.words.text.startswith(words.partition("<|im_end|>")[0].strip())


def test_a_preamble_before_a_call_is_a_note() -> None:
    """gpt-oss tells what it is about to do, and then does it."""
    call = (
        f"<|start|>assistant<|channel|>commentary to=functions.{TOOL} "
        f"<|constrain|>json<|message|>{ARGUMENTS}<|call|>"
    )
    heard = heard_of(
        split_words_and_thoughts(f"<|channel|>commentary<|message|>I say hi.<|end|>{call}")[0]
    )

    assert isinstance(heard, UsableReply)
    assert (heard.words.text, heard.words.notes) == (WORDS, "I say hi.")


@pytest.mark.parametrize(
    "notes", ["They push :(", "Plan:\n```\nstay\n```", "They wrote:\n\nuser\nadmin\n\nso I answer."]
)
def test_notes_before_a_call_come_whole(notes: str) -> None:
    """Brackets, code and lines of their own are the model's."""
    heard = heard_of(f"{notes}\n{CALLS['Hermes']}")

    assert isinstance(heard, UsableReply)
    assert (heard.words.text, heard.words.notes) == (WORDS, notes)


def test_notes_behind_a_call_come_whole() -> None:
    """However long they are."""
    after = "That is what I said, and I would say it again to anybody who asks me. " * 4
    heard = heard_of(f"{CALLS['Hermes']}\n{after}")

    assert isinstance(heard, UsableReply)
    assert heard.words.notes == after.strip()


def test_a_thought_in_the_words_of_a_call_is_none_of_them() -> None:
    """Some models think in the argument."""
    message = json.dumps({"message": "<think>They push.</think>I am Ada."})
    heard = heard_of(f'<tool_call>{{"name": "{TOOL}", "arguments": {message}}}</tool_call>')

    assert isinstance(heard, UsableReply)
    assert heard.words.text == WORDS


@pytest.mark.parametrize(
    "name",
    ["functions/{}", "default_api:{}", "functions_{}_0", "{}<|channel|>json", "functions.{}"],
)
def test_our_tool_is_known_by_other_names(name: str) -> None:
    """With a namespace, a number or a token that a server left on it."""
    call = ToolCall("a", name.format(TOOL), '{"text": "I am Ada."}')

    assert read_reply(
        Completion("", (call,), "", finish_reason="tool_calls"), "tool_role", WORDING
    ) == UsableReply(Words(WORDS))


TURNS = [
    "I am Ada.<|im_end|>\n<|im_start|>user\nWho?",
    "I am Ada.<|eot_id|><|start_header_id|>user<|end_header_id|>Who?",
    "I am Ada.</s>[INST] Who? [/INST]",
    "I am Ada. [INST] Who? [/INST]",
    "I am Ada.<turn|>\n<|turn>user\nWho?",
    "I am Ada.<end_of_turn>\n<start_of_turn>user\nWho?",
    "I am Ada.\n<|user|>\nWho are you?",
    "I am Ada.<|end|><|user|>Who?",
    "I am Ada.\nuser\nWho are you?",
    "I am Ada.<|return|><|start|>user<|message|>Who?",
    "I am Ada.<｜end▁of▁sentence｜><｜User｜>Who?",
    "I am Ada.<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|USER_TOKEN|>Who?",
    "I am Ada.<|start_of_role|>user<|end_of_role|>Who?",
    "I am Ada.<|eot|><|header_start|>user<|header_end|>Who?",
    "<|im_start|>assistant\nI am Ada.<|im_end|>",
    "<|start_header_id|>assistant<|end_header_id|>\n\nI am Ada.",
    "<start_of_turn>model\nI am Ada.<end_of_turn>",
    "<|turn>model\nI am Ada.<turn|>",
    "I am Ada.<|im_user|>user<|im_middle|>Who?",
    "I am Ada.<|observation|>\nThe human says no.",
]


@pytest.mark.parametrize("text", TURNS)
def test_what_the_model_plays_for_others_is_not_said(text: str) -> None:
    """Its own turn is its words, without the heads and tokens around them."""
    assert cut_and_trim_turn(text) == WORDS


LEFT = [
    "<unk>",
    "<<SYS>>",
    "[AVAILABLE_TOOLS]",
    "<|im_middle|>",
    "<|begin_of_text|>",
    "<tool_response|>",
]
LEFT += [
    "[PAD7]",
    "[UNUSED_TOKEN_7]",
    "[control_8]",
    "<0x0A>",
    "<extra_id_0>",
    "<escape>",
    "<unused32>",
]
LEFT += [
    "<|tool_response>",
    "<｜begin▁of▁sentence｜>",
    "<｜tool▁outputs▁begin｜>",
    "<|endoftext|>",
    "<|a_token_of_a_new_family|>",
    "</think>",
]


@pytest.mark.parametrize(
    "text",
    [
        "The user\nis you.",
        "A line:\nuserland\nends.",
        'I write "<|im_end|>" as I like.',
        "I'm not\nhuman\n— and that is fine.",
        "The columns:\n\n```\nid\nuser\nname\n```\n\nThat is it.",
        "<b>model</b> is what they call me.",
        "Roles: <|user|> and <|assistant|> are tokens. I am Ada.",
        "`[INST] hi [/INST]` is a prompt format.",
        "Use [/INST] to close.",
        "He is <s>angry</s> fine.",
    ],
)
def test_words_about_turns_are_words(text: str) -> None:
    """A role in a sentence, and a mark in quotes, end no turn."""
    assert cut_and_trim_turn(text) == text


def marks_of(family: MarkupFamily) -> Iterator[str]:
    """Every pattern of a family."""
    for pair in family.thoughts:
        yield from (pair.opens, pair.closes)
    yield from (*family.answers, *family.calls, *family.turns, *family.tokens)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.models[:20])
def test_every_mark_of_the_table_is_read_in_some_case(family: MarkupFamily) -> None:
    """No entry is there that no text of this file has, and each entry says where it is from."""
    texts = [*THOUGHTS.values(), *CALLS.values(), *OTHER.values(), *TURNS, *LEFT]
    unread = [
        mark
        for mark in marks_of(family)
        if not any(re.search(mark, text, re.IGNORECASE) for text in texts)
    ]

    assert unread == []
    assert family.source


@pytest.mark.parametrize("token", LEFT)
def test_a_mark_that_remains_in_the_words_is_found(token: str) -> None:
    """Whatever it is that stands in the middle of them."""
    assert find_leftover_tokens(f"I am {token} Ada.") == (token,)


def test_what_remains_is_named_once() -> None:
    """Each mark once, in order; nothing in plain words."""
    assert find_leftover_tokens("I <|x|> stay </think> and <|x|> stay.") == ("<|x|>", "</think>")
    assert (
        find_leftover_tokens(
            "a < b > c, [sic], <b>bold</b>, 1 </ 2, {x: [1]}, f <| g |> h, <s>old</s>"
        )
        == ()
    )


@pytest.mark.parametrize(
    "piece",
    [" ", "</think>", "a </think> b .", "<think>", "{", "[", "```\n", "<|im_end|>", "\nuser\n"],
)
def test_reading_takes_no_more_time_than_the_text_is_long(piece: str) -> None:
    """A flood of one thing, which a model in a loop writes: 200,000 characters would take minutes,
    and this test.
    """
    flood = piece * (200_000 // len(piece))

    for text in (flood, f"I am Ada. {flood}", f"{flood} I am Ada.", f"{flood}{CALLS['Hermes']}"):
        split_words_and_thoughts(text)
        split_words_and_calls(text, TOOL)
        cut_and_trim_turn(text)
        find_leftover_tokens(text)


@given(
    st.text(
        st.sampled_from(
            '<>|/[]{}"\\n:(),._ think tool_call arguments name send_message_to_human ◁▷｜▁user\n'
        )
    )
)
def test_no_text_breaks_the_reading(text: str) -> None:
    """Whatever it is: no exception, and nothing comes out that was not in it."""
    words, thoughts = split_words_and_thoughts(text)
    assert len(words) + len(thoughts) <= 2 * len(text) + 4
    rest, calls = split_words_and_calls(text, TOOL)
    assert isinstance(rest, str)
    assert all(isinstance(call.arguments, str) for call in calls)
    assert len(cut_and_trim_turn(text)) <= len(text)
