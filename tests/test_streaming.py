"""Streamed replies: put together as if they had come at once, from any server, and refused where they are none."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from scripted import Answer, completion
from test_endpoint import Serve, always, answered, failed

from independence_bench.models.client import Client
from independence_bench.models.messages import Kind
from independence_bench.models.spec import Endpoint
from independence_bench.models.stream import StreamedReply
from independence_bench.simulate.server import Settings, simulate

STREAM = {"Content-Type": "text/event-stream; charset=utf-8"}


def chunk(reason: str | None = None, usage: dict[str, int] | None = None, **delta: Any) -> dict[str, Any]:
    """One chunk, as servers send them."""
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [choice], "usage": usage}


def events(*chunks: Any, done: bool = True) -> bytes:
    """Those chunks as an event stream."""
    lines = [piece if isinstance(piece, str) else json.dumps(piece, ensure_ascii=False) for piece in chunks]
    return "".join(f"data: {line}\n\n" for line in [*lines, *(["[DONE]"] if done else [])]).encode()


def sent(*chunks: Any, done: bool = True) -> Answer:
    """An answer that is such a stream."""
    return Answer(events(*chunks, done=done), headers=STREAM)


WORDS = [chunk(role="assistant", content=""), chunk(content="No, "), chunk(content="I stay."), chunk("stop")]


def test_a_stream_is_asked_for_and_put_together(serve: Serve) -> None:
    """Words, reason and usage are those of the whole, whose body is kept like that of any other reply."""
    usage = {"prompt_tokens": 7, "completion_tokens": 3}
    server = serve(always(sent(*WORDS, {**chunk(), "choices": [], "usage": usage})))

    got = answered(server, dialect="local")

    body = server.chats[0].asked.body
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}
    assert (got.content, got.finish_reason) == ("No, I stay.", "stop")
    assert (got.usage.prompt_tokens, got.usage.completion_tokens) == (7, 3)
    assert json.loads(got.raw)["choices"][0]["message"]["content"] == "No, I stay."


def test_other_endpoints_are_asked_for_the_whole(serve: Serve) -> None:
    """A paid reply is one body, as ever."""
    server = serve(always(Answer(completion("Yes."))))

    assert answered(server).content == "Yes."
    assert "stream" not in server.chats[0].asked.body


def test_a_server_that_does_not_stream_is_read_all_the_same(serve: Serve) -> None:
    """What counts is what comes."""
    assert answered(serve(always(Answer(completion("Yes.")))), dialect="local").content == "Yes."


def test_calls_and_thoughts_come_in_pieces(serve: Serve) -> None:
    """Two calls, each with its own arguments, and reasoning of its own."""
    calls = [
        [{"index": 0, "id": "a", "function": {"name": "speak", "arguments": ""}}],
        [{"index": 0, "function": {"arguments": '{"text": '}}],
        [{"index": 1, "id": "b", "function": {"name": "wait", "arguments": "{}"}}],
        [{"index": 0, "function": {"arguments": '"Hi"}'}}],
    ]
    thought = [chunk(reasoning_content="Hm"), chunk(reasoning_content=", so.")]
    server = serve(always(sent(*thought, *(chunk(tool_calls=piece) for piece in calls), chunk("tool_calls"))))

    got = answered(server, dialect="local")

    assert [(call.id, call.name, call.arguments) for call in got.tool_calls] == [
        ("a", "speak", '{"text": "Hi"}'),
        ("b", "wait", "{}"),
    ]
    assert json.loads(got.raw)["choices"][0]["message"]["reasoning_content"] == "Hm, so."


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (sent(*WORDS[:3], done=False), Kind.UNAVAILABLE),  # it ended without an end
        (sent(*WORDS[:3], "{", done=False), Kind.UNAVAILABLE),
        (sent(WORDS[1] | {"error": None}, done=False), Kind.UNAVAILABLE),
        (sent("[]"), Kind.UNAVAILABLE),
        (sent({"choices": 3}), Kind.UNAVAILABLE),
        (sent({"choices": [{"delta": {"tool_calls": [7]}}]}), Kind.UNAVAILABLE),
        (sent("[" * 100_000), Kind.UNAVAILABLE),
        (sent('{"choices": [{"delta": {"tool_calls": [{"index": 1e999}]}}]}'), Kind.UNAVAILABLE),
        (sent(chunk(content="x" * 1_100_000), chunk("stop")), Kind.TOO_LARGE),
        (Answer(b"data: " + b"x" * 1_100_000, headers=STREAM), Kind.TOO_LARGE),
    ],
)
def test_a_stream_that_is_none_is_a_fault(serve: Serve, answer: Answer, kind: Kind) -> None:
    """Whatever a server sends becomes a value, and never words that the model did not say to their end."""
    assert failed(serve(always(answer)), dialect="local").kind is kind


@pytest.mark.parametrize("more", [b"data: ", b": still here\n\n" * 1000])
def test_what_comes_after_a_whole_reply_takes_nothing_from_it(serve: Serve, more: bytes) -> None:
    """The connection breaks off behind its end: it was said, and may have been paid for."""
    server = serve(always(Answer(events(*WORDS) + more * 10_000, headers=STREAM, drop="inside")))

    assert answered(server, dialect="local").content == "No, I stay."


def test_an_error_in_the_stream_is_read_like_one_that_comes_at_once(serve: Serve) -> None:
    """Its message reaches the user."""
    fault = failed(
        serve(always(sent(WORDS[1], {"error": {"code": 400, "message": "context is full"}}))), dialect="local"
    )

    assert "context is full" in fault.message


def test_pieces_may_be_cut_anywhere() -> None:
    """Bytes come as the network has them, in the middle of a character, too."""
    data = events(chunk(content="Ja – größer"), chunk("stop"))
    whole = StreamedReply()
    for start in range(0, len(data), 3):
        whole.add(data[start : start + 3])

    assert whole.ended
    assert json.loads(whole.whole())["choices"][0]["message"]["content"] == "Ja – größer"


def test_the_simulated_endpoint_streams_the_same_words() -> None:
    """How it is sent changes nothing of what is said."""

    async def ask(dialect: str) -> str:
        async with simulate(Settings(seed=3)) as simulation, Client(Endpoint("e", simulation.url, dialect)) as client:
            body = {"model": "sim/rock", "messages": [{"role": "user", "content": "Who are you?"}], "max_tokens": 99}
            body |= {"stream": True} if dialect == "local" else {}
            outcome = await client._post(f"{simulation.url}/chat/completions", json.dumps(body).encode())
            return outcome.content

    assert asyncio.run(ask("local")) == asyncio.run(ask("openai")) != ""
