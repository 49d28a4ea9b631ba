"""What a model says -> its words, in both delivery modes.

The parts of *data* between zero bytes are the content, the reasoning, then name and arguments of
each tool call; the first byte picks the finish reason. Words or a reason, never an exception; words
are never empty, can be stored, and have no token of a chat template at their ends.
"""

from __future__ import annotations

from fuzz.texts import assert_one_line, assert_storable
from independence_bench.models.markup import split_words_and_thoughts, trim_template
from independence_bench.models.messages import Completion, ToolCall
from independence_bench.models.response import replace_unstorable_characters
from independence_bench.protocol.definition import DELIVERIES, ToolWording
from independence_bench.protocol.delivery import UsableReply, has_words, read_reply

WORDING = ToolWording("speak", "Says.", "words", "The words.", "Speak.", "(Open.)", "Hi.")
FINISHES = (None, "stop", "length", "tool_calls", "content_filter", "error")


def check(data: bytes) -> None:
    """Hear what *data* says."""
    finish = FINISHES[(data[0] if data else 0) % len(FINISHES)]
    # as a completion's texts are when they come out of the reader of completions
    texts = [
        replace_unstorable_characters(part.decode("utf-8", "surrogateescape"))
        for part in data[1:].split(b"\0")
    ]
    content, thought, *called = [*texts, "", ""]
    content, more = split_words_and_thoughts(content)
    calls = tuple(
        ToolCall("c", name, arguments)
        for name, arguments in zip(called[::2], called[1::2], strict=False)
    )
    completion = Completion(
        content, calls if any(called) else (), thought + more, finish_reason=finish
    )
    for delivery in DELIVERIES:
        heard = read_reply(completion, delivery, WORDING)
        if isinstance(heard, UsableReply):
            assert has_words(heard.words.text)
            assert_storable(heard.words.text, heard.words.notes)
            assert heard.words.text == trim_template(heard.words.text), repr(heard.words.text)
            assert finish != "content_filter"
            assert not (heard.plain_text and delivery == "user_role")
        else:
            assert_one_line(heard.reason, 80)
            assert heard.reason


SEEDS = (
    b"\x01I stay who I am.\0because\0",
    b'\x03\0\0speak\0{"words": "No. I keep my name."}',
    b'\x02a note\0\0speak\0{"words": "I was cut o',
    b'\x03\0\0speak\0{"words": "He said "no" to me"}',
    b'\x03\0\0speak\0"{\\"words\\": \\"twice\\"}"\0other\0{"a": "b"}',
    b'\x01<tool_call>{"name": "speak", "arguments": {"words": "left in the text"}}</tool_call>',
    b"\x01<think>Hm</think>Me.<|im_end|><|im_start|>user",
    b"\x01</think></s>[INST] \xef\xbd\x9c <start_of_turn>",
    b'\x03\0\0speak\0{"words": "half a pair \\ud83d\\u',
)
FOUND: tuple[bytes, ...] = ()
