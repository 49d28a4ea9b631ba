"""The chat-completions format as values: requests, completions, and what went wrong with an
attempt.

Knows how messages and tools are sent, which is the same everywhere; what differs between endpoints
is in `endpoints`. What comes back from an endpoint is turned into these values by `response`. Knows
no HTTP, no store and nothing about conversations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any, Literal

from independence_bench.hashing import (
    make_reply_key,
    write_canonical_json,
    write_presorted_canonical_json,
)
from independence_bench.models.abilities import NOTHING_REFUSED, Refusal, Setting
from independence_bench.models.spec import ChatModel

BYTES_A_TOKEN = 4.0  # about, in any script and in JSON


def estimate_tokens(sent: str) -> float:
    """Estimate the number of tokens of the text *sent* from its length: one for four UTF-8
    bytes.
    """
    return len(sent.encode("utf-8", "replace")) / BYTES_A_TOKEN


@dataclass(frozen=True, slots=True)
class Measured:
    """The length of a text with placeholders in it: its bytes without them, and how often each
    placeholder stands there.
    """

    size: int
    times: tuple[int, ...]

    @classmethod
    def measure_text(cls, text: str, placeholders: Sequence[str]) -> Measured:
        """Measure *text*, in which the strings *placeholders* (ASCII) stand for what is not known
        yet: the UTF-8 bytes without these placeholders, and how often each of them occurs.
        """
        times = tuple(text.count(place) for place in placeholders)
        open_ = sum(number * len(place) for number, place in zip(times, placeholders, strict=True))
        return cls(len(text.encode("utf-8", "replace")) - open_, times)

    def count_bytes(self, sizes: Sequence[int]) -> int:
        """Count the UTF-8 bytes of the measured text if its placeholders are filled with texts of
        *sizes* bytes, one size for each placeholder in order; placeholders without a size do not
        occur.
        """
        return self.size + sum(
            number * size for number, size in zip(self.times, sizes, strict=False)
        )


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool. *arguments* is the text as sent, which need not be valid JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a request."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str | None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None

    def format_message(self) -> dict[str, Any]:
        """Return this message as the JSON object that is sent to an endpoint, keys in order."""
        message: dict[str, Any] = {"content": self.content, "role": self.role}
        if self.tool_call_id is not None:
            message["tool_call_id"] = self.tool_call_id
        if self.tool_calls:
            message["tool_calls"] = [
                {
                    "function": {"arguments": c.arguments, "name": c.name},
                    "id": c.id,
                    "type": "function",
                }
                for c in self.tool_calls
            ]
        return message


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that takes one text."""

    name: str
    description: str
    argument: str
    argument_description: str

    def format_tool(self) -> dict[str, Any]:
        """Return this tool as the JSON object that a request to an endpoint offers it in."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": {
                    "type": "object",
                    "properties": {
                        self.argument: {"type": "string", "description": self.argument_description}
                    },
                    "required": [self.argument],
                    "additionalProperties": False,
                },
            },
        }


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One question to one model. Two requests with the same record are the same question."""

    model: ChatModel
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    schema: str = ""  # JSON Schema that the answer should follow, keys in order; "" for free text
    # id of the conversation, which a subject is told that keeps state; "" for all others
    transcript: str = ""
    # first messages that other requests begin with; part of no key
    shared: int = field(default=0, compare=False)
    # the messages as canonical JSON: most of every key, record and body, so it is made once
    encoded: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self,
            "encoded",
            write_presorted_canonical_json([message.format_message() for message in self.messages]),
        )

    @property
    def record(self) -> str:
        """The whole request as canonical JSON text, which the store keeps: messages, model
        settings, answer schema and tools, and the conversation's id if the model keeps state.
        """
        rest = _encode_record_rest(self.model, self.tools, self.schema)
        transcript = (
            f',"transcript":{write_canonical_json(self.transcript)}' if self.transcript else ""
        )
        return f'{{"messages":{self.encoded},{rest}{transcript}}}'

    def make_key(self, run: int) -> str:
        """Return the hash under which the reply to this request in run *run* (1, 2, ...) is stored:
        of everything that causes that reply.
        """
        return make_reply_key(self.record, run)


# a subject is asked thousands of times with the same tools and settings: what is encoded here is
# encoded once
@lru_cache(maxsize=256)
def _encode_record_rest(model: ChatModel, tools: tuple[Tool, ...], schema: str) -> str:
    """Return the part of a request's record (canonical JSON) between its messages and its end:
    model settings, answer schema and tools, without outer braces.
    """
    return write_canonical_json(
        {"model": model.causes(), "schema": schema, "tools": [tool.format_tool() for tool in tools]}
    )[1:-1]


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens and dollars of one attempt. None: the endpoint did not say, or said nonsense."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None  # US dollars


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFacts:
    """The facts that are kept of every attempt, served or failed."""

    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    raw: str = ""
    finish_reason: str | None = None
    served_model: str | None = None
    served_provider: str | None = None
    response_id: str | None = None

    def list_facts(self) -> dict[str, Any]:
        """Return the facts that are kept of every attempt at a request, by field name: usage,
        seconds, raw answer, finish reason, who served it, and the answer's id.
        """
        return {name: getattr(self, name) for name in AttemptFacts.__dataclass_fields__}


class Ending(StrEnum):
    """The way in which a reply ended, whatever word its provider has for that."""

    ENDED = "ended"  # by the model, which had said all
    CUT_OFF = "cut off"  # by a limit of tokens
    FILTERED = "filtered"  # by the provider's filter
    BROKEN = "broken"  # by a failure: what came is half a reply


# by the words of OpenAI, Anthropic, Cohere, DeepSeek, Gemini, Mistral, Zhipu, TGI, vLLM and LM
# Studio, in small letters
ENDINGS: Mapping[str, Ending] = {
    word: ending
    for ending, words in {
        Ending.ENDED: "stop stop_sequence stop_token stopped_eos stopped_word eos eos_token "
        "eosfound end_turn complete "
        "completed normal tool_calls tool_call tool_use toolcalls function_call",
        Ending.CUT_OFF: "length max_tokens max_output_tokens max_output max_new_tokens "
        "max_length model_length "
        "stopped_limit model_context_window_exceeded context_length contextlengthreached "
        "maxpredictedtokensreached",
        Ending.FILTERED: "content_filter safety recitation blocklist prohibited_content spii "
        "image_safety sensitive "
        "refusal error_toxic guardrail_intervened content_filtered",
        Ending.BROKEN: "error abort aborted cancelled canceled timeout time_limit error_limit "
        "network_error "
        "server_error insufficient_system_resource failed user_cancelled userstopped",
    }.items()
    for word in words.split()
}


def find_ending(finish_reason: str | None) -> Ending | None:
    """Return how a reply ended (by itself, cut off, filtered or broken) from *finish_reason*, its
    provider's word for that; None if there is no word, or an unknown one.
    """
    return ENDINGS.get(
        (finish_reason or "").strip().lower().replace("-", "_").removeprefix("finish_reason_")
    )


@dataclass(frozen=True, slots=True)
class Completion(AttemptFacts):
    """A reply as the endpoint gave it, before it is checked whether it is an answer."""

    content: str
    tool_calls: tuple[ToolCall, ...]
    reasoning: str
    unsplit: str = ""  # the content as it came, if thoughts were taken out of it

    @property
    def cut_off(self) -> bool:
        """Whether this reply was ended by a limit of tokens."""
        return find_ending(self.finish_reason) is Ending.CUT_OFF

    @property
    def filtered(self) -> bool:
        """Whether this reply was ended by the provider's content filter."""
        return find_ending(self.finish_reason) is Ending.FILTERED


@dataclass(frozen=True, slots=True)
class Rejected:
    """A completion that is no answer: *reason* in a few words; *cut_off* where the token limit
    caused it.
    """

    reason: str
    cut_off: bool = False


class Kind(StrEnum):
    """The kind of a failure of one attempt."""

    RATE_LIMITED = "rate limited"  # 429, and 402 with Retry-After
    UNAVAILABLE = "unavailable"  # 408, 5xx, an error inside a 200, a busy server
    CONNECTION = "connection failed"
    TIMEOUT = "timed out"
    BROKEN = "broken reply"  # a 200 that is not an answer, or what a local server cannot read
    TOO_LARGE = "reply too large"  # it was not read to its end
    WRONG_PROVIDER = "wrong provider"
    CUT_PROMPT = "prompt cut"  # by the server: the model did not read all that was sent
    REFUSED_PROMPT = "prompt refused by moderation"
    PART_REFUSED = "part refused"  # of the request: the next one is without it
    # 400, 404 and other 4xx: this conversation, or this subject, cannot work like this
    BAD_REQUEST = "request refused"
    WRONG_ADDRESS = "no chat completions there"  # a web page, or another interface
    UNAUTHORIZED = "key refused"  # 401
    NO_CREDITS = "out of credits"  # 402, and 429 of an account that is empty
    NO_QUOTA = "no quota for this model"  # 429: others on the endpoint may have some


UNUSABLE = frozenset({Kind.BROKEN, Kind.TOO_LARGE})  # a reply came, but it cannot be read


@dataclass(frozen=True, slots=True)
class Fault(AttemptFacts):
    """One failed attempt: a value, stored and counted like any other outcome."""

    kind: Kind
    message: str  # one line, from the endpoint where it said anything
    status: int | None = None
    retry_after: float | None = None  # seconds
    refusal: Refusal = NOTHING_REFUSED  # parts of the request that the endpoint's message names
    unset: Setting | None = None  # the setting to leave unset, which makes it another model
    unsent: bool = False  # there was no connection: nothing can have been served, or charged
