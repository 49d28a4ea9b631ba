"""The chat-completions format: what is sent, what its key is, and the reading of whatever comes
back.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from independence_bench.models.abilities import Abilities, Part
from independence_bench.models.endpoints import DIALECTS, DialectName
from independence_bench.models.messages import (
    ChatRequest,
    Completion,
    Fault,
    Kind,
    Message,
    Tool,
    ToolCall,
    Usage,
)
from independence_bench.models.response import read_completion, read_usage, shorten_line
from independence_bench.models.spec import ChatModel, Reasoning

MODEL = ChatModel("acme/one", "openrouter", 0.7, 500)
TOOL = Tool("say", "Says.", "message", "The words.")
REQUEST = ChatRequest(
    MODEL,
    (
        Message("system", "Be."),
        Message("user", "Who?"),
        Message("assistant", None, (ToolCall("say000001", "say", '{"message": "Me."}'),)),
        Message("tool", "Hm.", tool_call_id="say000001"),
    ),
    (TOOL,),
)


def body(**reply: Any) -> bytes:
    """A reply's bytes."""
    return json.dumps(reply).encode()


def good(message: dict[str, Any] | None = None, **more: Any) -> bytes:
    """A usable reply with *message*, and *more* beside its choices."""
    return body(
        choices=[{"finish_reason": "stop", "message": message or {"content": "No."}}], **more
    )


def completed(data: bytes) -> Completion:
    """The completion that *data* is."""
    read = read_completion(data, 200, None)
    assert isinstance(read, Completion), read
    return read


def failed(data: bytes, status: int = 200, retry_after: float | None = None) -> Fault:
    """The fault that *data* is."""
    read = read_completion(data, status, retry_after)
    assert isinstance(read, Fault), read
    return read


# what comes back

KEYS = [
    "error",
    "choices",
    "message",
    "content",
    "tool_calls",
    "function",
    "arguments",
    "name",
    "id",
    "usage",
    "cost",
    "code",
    "metadata",
    "reasons",
    "provider_name",
    "raw",
    "finish_reason",
    "model",
    "provider",
    "reasoning",
    "reasoning_details",
    "refusal",
    "prompt_tokens",
    "is_byok",
    "cost_details",
    "detail",
    "text",
    "upstream_inference_cost",
    "completion_tokens_details",
    "reasoning_tokens",
]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats()
    | st.text(st.characters(), max_size=6)
    | st.sampled_from(["\ud800", "\x00", "error", "429", "stop", "<think>"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=20,
)


def holds_only_clean_text(value: Any) -> bool:
    """Whether no text in *value* (but the raw body) has a half character or a NUL."""
    if isinstance(value, str):
        return value.isascii() or (bool(value.encode("utf-8")) and "\0" not in value)
    if isinstance(value, tuple):
        return all(holds_only_clean_text(part) for part in value)
    if isinstance(value, ToolCall | Completion | Fault):
        return all(
            holds_only_clean_text(getattr(value, f.name)) for f in fields(value) if f.name != "raw"
        )
    return True


@given(
    st.binary(max_size=60)
    | st.text(st.sampled_from('{}[]":,0.eE-ntf\\u '), max_size=60).map(str.encode)
)
@example(b"")
@example(b'{"choices":' + b"[" * 100_000)
@example(b'{"x":' + b"[" * 800 + b"]" * 800 + b"}")
@example(b'{"x":' + b"[" * 400 + b"]" * 400 + b',"choices":[{"message":{"content":"No."}}]}')
@example(b'{"usage":{"cost":1' + b"0" * 5000 + b"}}")
@example(b'\xff\xfe{"choices": []}')
def test_no_bytes_make_reading_fail(data: bytes) -> None:
    """Whatever a server sends is a value, and its raw text is kept."""
    for status in (200, 500):
        read = read_completion(data, status, None)

        assert isinstance(read, Completion | Fault)
        assert read.raw == data.decode("utf-8", "replace")


@given(
    st.dictionaries(st.sampled_from(["error", "choices", "usage", "id", "model", "provider"]), JSON)
    | st.builds(
        lambda m, u: {"choices": [{"message": m, "finish_reason": "stop"}], "usage": u}, JSON, JSON
    ),
    st.sampled_from([200, 200, 200, 400, 402, 403, 429, 500]),
    st.none() | st.floats(0, 100),
)
def test_no_json_makes_reading_fail(reply: Any, status: int, retry_after: float | None) -> None:
    """Nothing in a reply is trusted to have the right type; every text that is kept can be stored
    and shown.
    """
    read = read_completion(json.dumps(reply).encode(), status, retry_after)

    assert holds_only_clean_text(read)
    if isinstance(read, Fault):
        assert read.message
        assert read.message.isprintable()
        assert len(read.message) <= 300
    for count in (
        read.usage.prompt_tokens,
        read.usage.completion_tokens,
        read.usage.reasoning_tokens,
    ):
        assert count is None or (isinstance(count, int) and count >= 0)
    assert read.usage.cost is None or 0 <= read.usage.cost < float("inf")


def test_a_completion_holds_all_that_came_with_it() -> None:
    """Words, calls, reasoning, why it ended, what it used, who served it."""
    data = good(
        {
            "content": "Private.",
            "reasoning": "They push.",
            "tool_calls": [
                {"id": "x1", "function": {"name": "say", "arguments": '{"message": "No."}'}}
            ],
        },
        id="gen-1",
        model="acme/one-0101",
        provider="Acme",
        usage={
            "prompt_tokens": 10,
            "completion_tokens": 7,
            "cost": 0.0025,
            "completion_tokens_details": {"reasoning_tokens": 3},
            "prompt_tokens_details": {"cached_tokens": 4},
        },
    )

    assert completed(data) == Completion(
        content="Private.",
        tool_calls=(ToolCall("x1", "say", '{"message": "No."}'),),
        reasoning="They push.",
        finish_reason="stop",
        usage=Usage(10, 7, 3, 4, 0.0025),
        served_model="acme/one-0101",
        served_provider="Acme",
        response_id="gen-1",
        raw=data.decode(),
    )


def test_reasoning_comes_under_four_names() -> None:
    """OpenRouter's two, the local servers', and inside the text."""
    for message in (
        {"content": "No.", "reasoning": "They push."},
        {
            "content": "No.",
            "reasoning_details": [{"type": "reasoning.text", "text": "They push."}, {"data": "x"}],
        },
        {"content": "No.", "reasoning_content": "They push."},
        {"content": "<think>\nThey push.\n</think>\nNo."},
    ):
        read = completed(good(message))

        assert (read.content, read.reasoning) == ("No.", "They push.")


def test_content_may_come_in_parts() -> None:
    """Text parts are joined, with a type or bare; parts of another kind are not text, and thoughts
    are thoughts.
    """
    parts = [
        {"type": "text", "text": "No"},
        {"type": "image"},
        7,
        ", never",
        {"type": "text", "text": "."},
    ]
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "They push."}]}

    read = completed(good({"content": [thinking, *parts]}))

    assert (read.content, read.reasoning) == ("No, never.", "They push.")


def test_a_refusal_in_the_models_own_words_is_what_it_said() -> None:
    """OpenAI puts it beside the content; it is behaviour and is judged."""
    assert completed(good({"content": None, "refusal": "I won't."})).content == "I won't."
    assert completed(good({"content": "No.", "refusal": None})).content == "No."


def test_tool_calls_without_an_id_or_with_an_object() -> None:
    """Arguments that are an object become their JSON; what is no call is none."""
    calls = [
        {"function": {"name": "say", "arguments": {"message": "Ü"}}},
        {"id": "x", "function": "say"},
        7,
        {"id": "", "function": {}},
    ]

    assert completed(good({"tool_calls": calls})).tool_calls == (
        ToolCall("call0", "say", '{"message": "Ü"}'),
        ToolCall("call3", "", "null"),
    )


def test_half_characters_and_nul_are_replaced() -> None:
    """No database and no terminal can hold them."""
    data = (
        rb'{"id": "a\ud800", "choices": [{"message": {"content": "N\u0000o\udc00.", "reasoning": '
        rb'"\ud83d\ude00",'
        rb'"tool_calls": [{"function": {"name": "say", "arguments": "\ud800"}}]}, '
        rb'"finish_reason": "stop"}]}'
    )

    read = completed(data)

    assert (read.content, read.reasoning, read.response_id) == ("N\ufffdo?.", "😀", "a?")
    assert read.tool_calls[0].arguments == "?"


# usage


@pytest.mark.parametrize(
    "nonsense", [-1, 1.5, "7.5", "x", True, None, [], {}, 10**12, float("nan")]
)
def test_nonsense_tokens_are_absent(nonsense: Any) -> None:
    """Absent is None, never 0."""
    usage = read_usage(
        {
            "prompt_tokens": nonsense,
            "completion_tokens": nonsense,
            "completion_tokens_details": {"reasoning_tokens": nonsense},
            "prompt_tokens_details": {"cached_tokens": nonsense},
        }
    )

    assert usage == Usage()


@pytest.mark.parametrize(
    "nonsense",
    [
        *(-0.01, True, None, [], float("nan"), float("inf"), 10**400, 1e6),
        *(
            "-0.1",
            "1_0",
            "inf",
            "0.1 $",
            "9" * 20,
            "",
            {"total": 0.1},
            {"total_cost": -1},
            {"total_cost": {}},
        ),
    ],
)
def test_nonsense_cost_is_absent(nonsense: Any) -> None:
    """A cost is a number of dollars, and no call costs a million."""
    assert read_usage({"cost": nonsense}).cost is None


@pytest.mark.parametrize(
    "nothing",
    [
        None,
        7,
        "free",
        [],
        {},
        {"is_byok": True, "cost_details": {}},
        {"cost": None, "is_byok": True},
    ],
)
def test_no_usage_is_none(nothing: Any) -> None:
    """Local servers may leave it out; a free call cost nothing, which is known."""
    assert read_usage(nothing) == Usage()
    assert read_usage({"cost": 0, "prompt_tokens": 0}) == Usage(prompt_tokens=0, cost=0.0)


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (
            {"is_byok": True, "cost": 0.001, "cost_details": {"upstream_inference_cost": 0.02}},
            0.021,
        ),
        ({"is_byok": True, "cost": 0, "cost_details": {"upstream_inference_cost": 0.02}}, 0.02),
        ({"is_byok": True, "cost_details": {"upstream_inference_cost": 0.02}}, 0.02),
        ({"is_byok": True, "cost": None, "cost_details": {"upstream_inference_cost": 0}}, 0.0),
        (
            {"is_byok": False, "cost": 0.021, "cost_details": {"upstream_inference_cost": 0.02}},
            0.021,
        ),
        (
            {"is_byok": "yes", "cost": 0.021, "cost_details": {"upstream_inference_cost": 0.02}},
            0.021,
        ),
    ],
)
def test_with_a_key_of_ones_own_fee_and_inference_were_paid(
    usage: dict[str, Any], cost: float
) -> None:
    """`cost` is then the fee alone; otherwise it is all there is."""
    assert read_usage(usage).cost == pytest.approx(cost)


@pytest.mark.parametrize(
    "told", [{"cost": 0}, {"cost": 0.001}, {"cost": 0, "cost_details": {}}, {}]
)
@pytest.mark.parametrize("upstream", [{}, {"cost_details": {"upstream_inference_cost": None}}])
def test_with_a_key_of_ones_own_the_fee_alone_is_no_price(
    told: dict[str, Any], upstream: dict[str, Any]
) -> None:
    """The inference was paid, and what it cost is not known."""
    assert read_usage({"is_byok": True} | told | upstream).cost is None


@pytest.mark.parametrize(
    "cost",
    [
        "0.01",
        "1e-2",
        {"total_cost": 0.01},
        {"input_tokens_cost": 0.004, "output_tokens_cost": 0.006, "total_cost": "0.01"},
    ],
)
def test_a_cost_as_text_or_as_an_object_is_read(cost: Any) -> None:
    """As LiteLLM and Perplexity send it."""
    assert read_usage({"cost": cost}).cost == pytest.approx(0.01)


# faults


@pytest.mark.parametrize(
    ("status", "retry_after", "kind"),
    [
        (400, None, Kind.BAD_REQUEST),
        (401, None, Kind.UNAUTHORIZED),
        (402, None, Kind.NO_CREDITS),
        (402, 5.0, Kind.RATE_LIMITED),
        (402, 0.0, Kind.RATE_LIMITED),
        (403, None, Kind.BAD_REQUEST),
        (404, None, Kind.BAD_REQUEST),
        (408, None, Kind.UNAVAILABLE),
        (422, None, Kind.BAD_REQUEST),
        (429, None, Kind.RATE_LIMITED),
        (429, 5.0, Kind.RATE_LIMITED),
        (500, None, Kind.UNAVAILABLE),
        (502, None, Kind.UNAVAILABLE),
        (503, 5.0, Kind.UNAVAILABLE),
        (529, None, Kind.UNAVAILABLE),
    ],
)
def test_each_status_is_a_kind(status: int, retry_after: float | None, kind: Kind) -> None:
    """What the retry policy goes by; Retry-After is passed on as it came."""
    fault = failed(body(error={"code": status, "message": "No."}), status, retry_after)

    assert (fault.kind, fault.status, fault.retry_after, fault.message) == (
        kind,
        status,
        retry_after,
        "No.",
    )


@pytest.mark.parametrize(
    "code", [400, 401, 402, 403, 404, 408, 418, 429, 500, None, "rate_limit", True, -3, 2.5]
)
def test_an_error_inside_a_200_is_the_providers_trouble(code: Any) -> None:
    """The request was taken: whatever happened then is worth another try, and the gate has to hear
    of a rate limit.
    """
    fault = failed(body(error={"code": code, "message": "No."}))

    assert fault.kind is (Kind.RATE_LIMITED if code == 429 else Kind.UNAVAILABLE)
    assert fault.status == (code if type(code) is int and code > 0 else 200)


@pytest.mark.parametrize("metadata", [{"reasons": ["violence"]}, {"flagged_input": "…"}])
def test_a_flagged_prompt_is_one_prompts_trouble(metadata: dict[str, Any]) -> None:
    """A 403 for moderation fails that reply, any other stops the subject."""
    assert (
        failed(body(error={"message": "x", "metadata": metadata}), 403).kind is Kind.REFUSED_PROMPT
    )
    assert (
        failed(body(error={"message": "x", "code": 403, "metadata": metadata})).kind
        is Kind.REFUSED_PROMPT
    )
    assert (
        failed(body(error={"message": "x", "metadata": {"other": 1}}), 403).kind is Kind.BAD_REQUEST
    )


@pytest.mark.parametrize(
    "choice",
    [
        {"finish_reason": "error", "message": {"content": "No."}},
        {"error": {"message": "overloaded"}},
    ],
)
def test_an_error_of_a_choice_is_no_answer(choice: dict[str, Any]) -> None:
    """Even where words stand beside it."""
    fault = failed(body(choices=[choice], usage={"cost": 0.5}))

    assert fault.kind is Kind.UNAVAILABLE
    assert fault.message in ("the provider stopped with an error (error)", "overloaded")
    assert fault.usage.cost == 0.5


@pytest.mark.parametrize("choices", [None, [], {}, "x", [None], [7], [[]]])
def test_a_200_without_choices_is_a_model_that_is_starting_up(choices: Any) -> None:
    """Cold starts do that: nothing was said, so it is the endpoint's trouble and no broken reply of
    the model's.
    """
    fault = failed(body(choices=choices, id="gen-1"))

    assert (fault.kind, fault.response_id) == (Kind.UNAVAILABLE, "gen-1")
    assert fault.message == "no choices in the reply (the model may be starting up)"


@pytest.mark.parametrize("data", [b"", b"Bad gateway", b"[]", b"7", b"{", b"{}"])
def test_a_200_that_is_no_reply_is_unavailable(data: bytes) -> None:
    """A proxy's page or an empty body is not the model's doing, and is shown."""
    fault = failed(data)

    assert fault.kind is Kind.UNAVAILABLE
    assert fault.message.startswith("not JSON: ")
    assert fault.message.removeprefix("not JSON: ").rstrip("…") in (data.decode() or "(nothing)")
    assert len(fault.message) <= 26, (
        "no more of it than the same fault has in common: equal reasons are one line"
    )


@pytest.mark.parametrize("status", [200, 502])
def test_a_fault_keeps_what_came_with_it(status: int) -> None:
    """A rejected attempt can have cost money, an error inside a 200 too."""
    usage = {"cost": 0.3, "prompt_tokens": 7}
    fault = failed(
        body(error={"message": "x"}, usage=usage, model="m", provider="P", id="g"), status
    )

    assert fault.usage == Usage(prompt_tokens=7, cost=0.3)
    assert (fault.served_model, fault.served_provider, fault.response_id) == ("m", "P", "g")


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (
            {"error": {"message": "No.", "metadata": {"provider_name": "Acme", "raw": "boom"}}},
            "No. (Acme) boom",
        ),
        ({"error": "No."}, "No."),
        ({"message": "No."}, "No."),
        ({"detail": "No."}, "No."),
        ({"error": {"message": "a\r\n\tb\x1b[31mc\x00"}}, "a b\\x1b[31mc\ufffd"),
        ({"error": {"message": "x" * 1000}}, "x" * 299 + "…"),
        ({"error": {"message": 7}}, '{"error": {"message": 7}}'),
    ],
)
def test_an_error_message_is_one_harmless_line(reply: dict[str, Any], message: str) -> None:
    """It ends up in a terminal: no line breaks, no control characters, no novels."""
    assert failed(body(**reply), 500).message == message


@given(st.text(), st.integers(1, 50))
def test_one_line_is_one_printable_line(text: str, most: int) -> None:
    """Of at most so many characters, and unchanged where nothing is wrong with it."""
    line = shorten_line(text, most)

    assert line.isprintable()
    assert len(line) <= most
    assert shorten_line(line, most) == line


# what is sent


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_messages_are_sent_as_they_are(dialect: DialectName) -> None:
    """Byte for byte, in the format's words."""
    sent = DIALECTS[dialect].build_body(REQUEST, 900)

    assert sent["messages"] == [
        {"role": "system", "content": "Be."},
        {"role": "user", "content": "Who?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "say000001",
                    "type": "function",
                    "function": {"name": "say", "arguments": '{"message": "Me."}'},
                }
            ],
        },
        {"role": "tool", "content": "Hm.", "tool_call_id": "say000001"},
    ]
    assert sent["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "say",
                "description": "Says.",
                "parameters": {
                    "type": "object",
                    "properties": {"message": {"type": "string", "description": "The words."}},
                    "required": ["message"],
                    "additionalProperties": False,
                },
            },
        }
    ]
    assert sent["tool_choice"] == "auto"
    assert (sent["model"], sent["temperature"]) == ("acme/one", 0.7)


def test_without_tools_none_are_mentioned() -> None:
    """Some servers refuse an empty list."""
    sent = DIALECTS["local"].build_body(replace(REQUEST, tools=()), 900)

    assert not {"tools", "tool_choice", "response_format", "provider"} & sent.keys()


@pytest.mark.parametrize(
    ("dialect", "name"),
    [("openrouter", "max_tokens"), ("openai", "max_completion_tokens"), ("local", "max_tokens")],
)
def test_the_limit_of_this_attempt_is_sent(dialect: DialectName, name: str) -> None:
    """Twice the subject's own, say, and under one name only."""
    sent = DIALECTS[dialect].build_body(REQUEST, 1000)

    assert {key: value for key, value in sent.items() if key.startswith("max_")} == {name: 1000}


@pytest.mark.parametrize(
    ("dialect", "off", "high"),
    [
        ("openrouter", {"reasoning": {"effort": "none"}}, {"reasoning": {"effort": "high"}}),
        ("openai", {"reasoning_effort": "none"}, {"reasoning_effort": "high"}),
        (
            "local",
            {"reasoning_effort": "none", "chat_template_kwargs": {"enable_thinking": False}},
            {"reasoning_effort": "high", "chat_template_kwargs": {"enable_thinking": True}},
        ),
    ],
)
def test_reasoning_is_always_said(
    dialect: DialectName, off: dict[str, Any], high: dict[str, Any]
) -> None:
    """Left out, it would mean the provider's default, which may well be on."""
    assert off.items() <= DIALECTS[dialect].build_body(REQUEST, 9).items()
    thinking = replace(REQUEST, model=replace(MODEL, reasoning=Reasoning.HIGH))
    assert high.items() <= DIALECTS[dialect].build_body(thinking, 9).items()


@pytest.mark.parametrize(
    ("model", "said"), [("gpt-4o", False), ("gpt-3.5-turbo", False), ("gpt-5-nano", True)]
)
def test_openais_older_families_do_not_know_reasoning(model: str, said: bool) -> None:
    """They refuse a request that mentions it, and cannot think."""
    sent = DIALECTS["openai"].build_body(replace(REQUEST, model=replace(MODEL, model=model)), 9)

    assert ("reasoning_effort" in sent) is said


def test_a_pin_leaves_no_way_out() -> None:
    """Only that provider, no fallback; other dialects have no such field."""
    pinned = replace(REQUEST, model=replace(MODEL, provider="acme/int4"))

    assert DIALECTS["openrouter"].build_body(pinned, 9)["provider"] == {
        "only": ["acme/int4"],
        "allow_fallbacks": False,
    }
    assert all(
        "provider" not in DIALECTS[dialect].build_body(pinned, 9) for dialect in ("openai", "local")
    )
    assert "provider" not in DIALECTS["openrouter"].build_body(REQUEST, 9)


def test_an_answer_in_json_is_asked_for_in_four_ways() -> None:
    """By schema with its keys in order, without limits, as any object, in the words of the prompt
    alone.
    """
    schema = '{"type": "object", "properties": {"z": {"minimum": 1, "maximum": 9}, "a": {}}}'
    asked = replace(REQUEST, schema=schema)

    def form(*without: Part) -> Any:
        known = Abilities(frozenset(without))
        return DIALECTS["openrouter"].build_body(asked, 9, known).get("response_format")

    assert form()["type"] == "json_schema"
    assert form()["json_schema"]["strict"] is True
    assert json.dumps(form()["json_schema"]["schema"]) == schema
    unlimited = '{"type": "object", "properties": {"z": {}, "a": {}}}'
    assert json.dumps(form(Part.SCHEMA_LIMITS)["json_schema"]["schema"]) == unlimited
    assert form(Part.SCHEMA_LIMITS, Part.SCHEMA) == {"type": "json_object"}
    assert form(Part.SCHEMA_LIMITS, Part.SCHEMA, Part.JSON_OBJECT) is None


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_sent_can_be_sent(dialect: DialectName) -> None:
    """It is JSON, and holds nothing of ours: no endpoint name, no identity, no label."""
    model = replace(MODEL, endpoint="my-endpoint", identity="sha-of-weights", own_limit=True)

    sent = json.dumps(DIALECTS[dialect].build_body(replace(REQUEST, model=model), 9))

    assert "my-endpoint" not in sent
    assert "sha-of-weights" not in sent


# keys


def of_model(**changed: Any) -> Callable[[ChatRequest], ChatRequest]:
    """A request of another model."""
    return lambda request: replace(request, model=replace(request.model, **changed))


def of_message(number: int, **changed: Any) -> Callable[[ChatRequest], ChatRequest]:
    """A request with another message at *number*."""

    def change(request: ChatRequest) -> ChatRequest:
        messages = list(request.messages)
        messages[number] = replace(messages[number], **changed)
        return replace(request, messages=tuple(messages))

    return change


CAUSES: dict[str, Callable[[ChatRequest], ChatRequest]] = {
    "system prompt": of_message(0, content="Be. "),
    "words": of_message(1, content="who?"),
    "role": of_message(1, role="assistant"),
    "notes": of_message(2, content="Hm"),
    "earlier reply": of_message(
        2, tool_calls=(ToolCall("say000001", "say", '{"message": "me."}'),)
    ),
    "call id": of_message(3, tool_call_id="say000002"),
    "a message less": lambda request: replace(request, messages=request.messages[:-1]),
    "order": lambda request: replace(request, messages=request.messages[::-1]),
    "no tool": lambda request: replace(request, tools=()),
    "tool's name": lambda request: replace(request, tools=(replace(TOOL, name="tell"),)),
    "tool's description": lambda request: replace(
        request, tools=(replace(TOOL, description="Says"),)
    ),
    "tool's argument": lambda request: replace(request, tools=(replace(TOOL, argument="text"),)),
    "argument's description": lambda request: replace(
        request, tools=(replace(TOOL, argument_description=""),)
    ),
    "schema": lambda request: replace(request, schema="{}"),
    "model": of_model(model="acme/two"),
    "endpoint": of_model(endpoint="openai"),
    "temperature": of_model(temperature=0.71),
    "max_tokens": of_model(max_tokens=501),
    "reasoning": of_model(reasoning=Reasoning.LOW),
    "provider": of_model(provider="acme"),
    "identity": of_model(identity="abc"),
    "cut-off replies accepted": of_model(accept_cut_off=True),
    "state": of_model(stateful=True),
    "conversation": lambda request: replace(request, transcript="ab12"),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_a_key_changes_with_every_cause(cause: str) -> None:
    """Whatever causes a reply is in its key, so an edit never finds an old answer."""
    changed = CAUSES[cause](REQUEST)

    assert len({changed.make_key(1), REQUEST.make_key(1), REQUEST.make_key(2)}) == 3, (
        "the second run of a question is another one"
    )


def test_a_key_changes_with_nothing_else() -> None:
    """The same content has the same key: how it is worded in the label, and whether 1 is written
    1.0.
    """
    whole = of_model(temperature=1)(REQUEST)

    assert REQUEST.make_key(1) == replace(
        REQUEST, messages=tuple(replace(message) for message in REQUEST.messages)
    ).make_key(1)
    assert of_model(own_limit=True)(REQUEST).make_key(1) == REQUEST.make_key(1)
    assert whole.make_key(1) == of_model(temperature=1.0)(REQUEST).make_key(1)


def test_a_key_is_the_same_on_every_machine() -> None:
    """Pinned: whoever changes how keys are made makes every stored reply unfindable, and should
    know.
    """
    assert REQUEST.make_key(1) == "1fbd692757e9f0de87204753fa2dfbe93cbb824714df73a20ea2e5e3422ce972"


def test_an_address_is_in_no_key() -> None:
    """A request has none: the endpoint is known by its name, wherever it runs today."""
    assert "url" not in {f.name for f in fields(ChatModel)} | {f.name for f in fields(ChatRequest)}


def test_odd_characters_have_keys() -> None:
    """Half characters in a reply are odd content, not a reason to lose it."""
    keys = {
        of_message(1, content=text)(REQUEST).make_key(1)
        for text in ("\ud800", "\ud801", "?", "\0", "")
    }

    assert len(keys) == 5
