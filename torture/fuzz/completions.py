"""Bytes that an endpoint sends for a chat completion. The first one picks the HTTP status and the
Retry-After; from 128 on the rest is grown into JSON first.

A completion or a fault, never an exception; numbers that a column can hold; texts that a database
can hold; a message of one line.
"""

from __future__ import annotations

import json
import math

from fuzz.json_values import flatten, grow
from fuzz.texts import assert_one_line, assert_storable
from independence_bench.models.messages import Completion, Kind, Usage
from independence_bench.models.response import read_completion

STATUSES = (200, 200, 200, 200, 400, 401, 402, 403, 404, 408, 429, 500, 501, 503, 529)
WAITS = (None, 0.0, 1.5)
LARGEST_INTEGER = 2**31 - 1  # of a column in PostgreSQL


def check(data: bytes) -> None:
    """Read *data* as an endpoint's answer."""
    first, body = data[0] if data else 0, data[1:]
    if first >= 128:
        first, body = first - 128, json.dumps(grow(body, WORDS)).encode()
    status, wait = STATUSES[first % len(STATUSES)], WAITS[first // len(STATUSES) % len(WAITS)]

    read = read_completion(body, status, wait)

    assert read.raw == body.decode("utf-8", "replace")
    assert_storable(read.served_model, read.served_provider, read.response_id, read.finish_reason)
    _check_usage(read.usage)
    if isinstance(read, Completion):
        assert status == 200
        assert_storable(read.content, read.reasoning)
        for call in read.tool_calls:
            assert_storable(call.id, call.name, call.arguments)
    else:
        assert isinstance(read.kind, Kind)
        assert_storable(read.message)
        assert_one_line(read.message, 300)
        assert read.message, "a fault says what is wrong"
        assert read.retry_after == wait or status == 200
        assert read.status is not None
        assert 0 < read.status <= LARGEST_INTEGER


def _check_usage(usage: Usage) -> None:
    for count in (
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.reasoning_tokens,
        usage.cached_tokens,
    ):
        assert count is None or (type(count) is int and 0 <= count <= LARGEST_INTEGER), count
    assert usage.cost is None or (
        type(usage.cost) is float and math.isfinite(usage.cost) and usage.cost >= 0
    )


WORDS = (
    "id", "model", "provider", "choices", "finish_reason", "stop", "error", "length", "message",
    "content", "reasoning", "reasoning_content", "reasoning_details", "text", "refusal",
    "tool_calls", "function", "name", "arguments", "usage", "prompt_tokens", "completion_tokens",
    "cost", "is_byok", "cost_details", "upstream_inference_cost", "cached_tokens",
    "completion_tokens_details", "prompt_tokens_details", "reasoning_tokens", "code", "metadata",
    "provider_name", "raw", "reasons", "flagged_input", "detail", "<think>", "</think>", "\ud800",
    "\x00", "\x1b[2J", " ",
)  # fmt: skip
AS_SENT = (
    b'\x00{"id":"g","model":"m","provider":"P","choices":[{"finish_reason":"stop",'
    b'"message":{"content":"I stay.","reasoning":"Hm."}}],'
    b'"usage":{"prompt_tokens":9,"completion_tokens":3,"cost":0.001,"is_byok":true,'
    b'"cost_details":{"upstream_inference_cost":0.1},'
    b'"completion_tokens_details":{"reasoning_tokens":2},'
    b'"prompt_tokens_details":{"cached_tokens":1}}}',
    b'\x00{"choices":[{"finish_reason":"tool_calls","message":{"content":null,'
    b'"tool_calls":[{"id":"c0","type":"function",'
    b'"function":{"name":"speak","arguments":"{\\"words\\":\\"Hi\\"}"}}]}}]}',
    b'\x00{"choices":[{"message":{"content":[{"type":"text","text":"<think>so</think>Me."}],'
    b'"refusal":"No."}}]}',
    b'\x00{"error":{"code":502,"message":"down","metadata":{"provider_name":"P","raw":"why"}}}',
    b'\x00{"choices":[{"error":{"message":"x"},"finish_reason":"error"}]}',
    b'\x06{"error":{"code":402,"message":"no credits"}}',
    b'\x07{"error":{"message":"flagged","metadata":{"reasons":["x"],"flagged_input":"y"}}}',
    b"\x08<html>Not found</html>",
    b'\x19{"message":"slow down"}',
    b'\x00{"choices":[{"message":{"reasoning_details":[{"text":"t"}],'
    b'"content":"\\ud800\\u0000"}}]}',
)
SEEDS = AS_SENT + tuple(
    bytes([sent[0] + 128]) + flatten(json.loads(sent[1:]), WORDS)
    for sent in AS_SENT
    if sent[1:2] == b"{"
)
FOUND: tuple[bytes, ...] = (
    # a failure without a word
    b"\x32",
    b'\x04{"error": {"message": " "}}',
    # more tokens than an integer of PostgreSQL holds
    b'\x00{"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":4294967296}}',
)
