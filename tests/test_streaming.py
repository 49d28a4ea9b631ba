"""Streamed replies: put together as if they had come at once, from any server, and refused where
they are none.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from scripted_model import Answer, completion
from test_http_client import Serve, always, answered, failed

from independence_bench.models.messages import Kind
from independence_bench.models.stream import StreamedReply

STREAM = {"Content-Type": "text/event-stream; charset=utf-8"}


def chunk(
    reason: str | None = None, usage: dict[str, int] | None = None, **delta: Any
) -> dict[str, Any]:
    """One chunk, as servers send them."""
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "model": "m",
        "choices": [choice],
        "usage": usage,
    }


def events(*chunks: Any, done: bool = True) -> bytes:
    """Those chunks as an event stream."""
    lines = [
        piece if isinstance(piece, str) else json.dumps(piece, ensure_ascii=False)
        for piece in chunks
    ]
    return "".join(f"data: {line}\n\n" for line in [*lines, *(["[DONE]"] if done else [])]).encode()


def sent(*chunks: Any, done: bool = True) -> Answer:
    """An answer that is such a stream."""
    return Answer(events(*chunks, done=done), headers=STREAM)


WORDS = [
    chunk(role="assistant", content=""),
    chunk(content="No, "),
    chunk(content="I stay."),
    chunk("stop"),
]


def test_a_stream_is_asked_for_and_put_together(serve: Serve) -> None:
    """Words, reason and usage are those of the whole, whose body is kept like that of any other
    reply.
    """
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
    server = serve(
        always(sent(*thought, *(chunk(tool_calls=piece) for piece in calls), chunk("tool_calls")))
    )

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
    """Whatever a server sends becomes a value, and never words that the model did not say to their
    end.
    """
    assert failed(serve(always(answer)), dialect="local").kind is kind


@pytest.mark.parametrize("more", [b"data: ", b": still here\n\n" * 1000])
def test_what_comes_after_a_whole_reply_takes_nothing_from_it(serve: Serve, more: bytes) -> None:
    """The connection breaks off behind its end: it was said, and may have been paid for."""
    server = serve(always(Answer(events(*WORDS) + more * 10_000, headers=STREAM, drop="inside")))

    assert answered(server, dialect="local").content == "No, I stay."


def test_an_error_in_the_stream_is_read_like_one_that_comes_at_once(serve: Serve) -> None:
    """Its message reaches the user."""
    fault = failed(
        serve(always(sent(WORDS[1], {"error": {"code": 400, "message": "context is full"}}))),
        dialect="local",
    )

    assert "context is full" in fault.message


FAILURES = {
    "an error's event": 'event: error\ndata: {"message": "overloaded", "code": 529}\n\n',
    "an object that is an error": 'data: {"object": "error", "message": "overloaded", "code": '
    "500}\n\n",
    "a type that is an error": 'data: {"type": "error", "error": {"message": "overloaded"}}\n\n',
    "a code of an error": 'data: {"text": "overloaded", "error_code": 50004}\n\n',
    "a message and no choices": 'data: {"message": "overloaded", "code": 503}\n\n',
    "a detail and no choices": 'data: {"detail": "overloaded"}\n\n',
    "a finish reason": 'data: {"choices": [{"delta": {}, "finish_reason": "error"}], '
    '"overloaded": 1}\n\n',
}


@pytest.mark.parametrize("failure", FAILURES)
def test_half_a_reply_before_an_error_is_no_reply(serve: Serve, failure: str) -> None:
    """However the server words it, and although it says that it is done behind it; its usage is
    kept.
    """
    usage = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}
    stream = events(WORDS[1], usage, done=False) + FAILURES[failure].encode() + b"data: [DONE]\n\n"

    fault = failed(serve(always(Answer(stream, headers=STREAM))), dialect="local")

    assert fault.kind is Kind.UNAVAILABLE
    assert fault.usage.prompt_tokens == 7
    assert "overloaded" in fault.raw


@pytest.mark.parametrize("empty", ["", {}, None, {"message": "", "type": "", "code": None}])
def test_an_error_without_a_word_is_none(serve: Serve, empty: Any) -> None:
    """Some servers send the field with every piece."""
    stream = [piece | {"error": empty} for piece in WORDS]

    assert answered(serve(always(sent(*stream))), dialect="local").content == "No, I stay."


def test_an_error_behind_the_end_takes_nothing_from_the_reply(serve: Serve) -> None:
    """The model had said all."""
    assert (
        answered(
            serve(always(sent(*WORDS, {"error": {"message": "late"}}))), dialect="local"
        ).content
        == "No, I stay."
    )


def test_a_stream_without_a_finish_reason_is_half_a_reply(serve: Serve) -> None:
    """That it is done says nothing of whether the model was."""
    fault = failed(serve(always(sent(*WORDS[:3]))), dialect="local")

    assert (fault.kind, fault.message) == (
        Kind.BROKEN,
        "the server sent no finish reason, so it may be half a reply",
    )


HI, BYE = '{"text": "Hi"}', '{"text": "Bye"}'


def piece(arguments: Any, name: str = "", **more: Any) -> dict[str, Any]:
    """A piece of a call."""
    return chunk(tool_calls=[{**more, "function": {"name": name, "arguments": arguments}}])


@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        ([piece(HI, "speak", index=0, id="a"), piece(BYE, "speak", index=0, id="b")], [HI, BYE]),
        ([piece(HI, "speak", id="a"), piece(BYE, "speak", id="b")], [HI, BYE]),
        ([piece(HI[:5], "speak", id="a"), piece(HI[5:])], [HI]),
        ([piece(HI[:5], "speak", id="a"), piece(HI[5:], id="a")], [HI]),
        ([piece(HI[:5], "speak", index=None, id="a"), piece(HI[5:], index=None)], [HI]),
        ([piece(HI[:5], "speak", index="0", id="a"), piece(HI[5:], index="0")], [HI]),
        ([piece(HI[:5], "speak", index=0, id="a"), piece(HI[5:], "speak", index=0, id="a")], [HI]),
        ([piece(HI[:5], "speak", index=0, id="a"), piece(HI, index=0, id="a")], [HI]),
        ([piece({"text": "Hi"}, "speak", index=0, id="a")], [HI]),
        (
            [
                chunk(
                    tool_calls={
                        "index": 0,
                        "id": "a",
                        "function": {"name": "speak", "arguments": HI},
                    }
                )
            ],
            [HI],
        ),
        ([chunk(tool_calls=[{"index": 0, "id": "a", "name": "speak", "arguments": HI}])], [HI]),
        (
            [
                chunk(function_call={"name": "speak", "arguments": HI[:5]}),
                chunk(function_call={"arguments": HI[5:]}),
            ],
            [HI],
        ),
    ],
    ids=[
        *[
            "two at one index",
            "two without one",
            "pieces without one",
            "pieces with their id",
            "null",
            "as text",
        ],
        *[
            "the name again",
            "all so far each time",
            "an object",
            "one by itself",
            "flat",
            "the older form",
        ],
    ],
)
def test_calls_are_told_apart_and_put_together(
    serve: Serve, pieces: list[dict[str, Any]], calls: list[str]
) -> None:
    """By index, by id, or by order, as servers send them."""
    got = answered(serve(always(sent(*pieces, chunk("tool_calls")))), dialect="local")

    assert [(call.name, call.arguments) for call in got.tool_calls] == [
        ("speak", arguments) for arguments in calls
    ]


def test_contents_in_parts_are_words_and_thoughts(serve: Serve) -> None:
    """Mistral's: a list of parts in each piece, thoughts among them; and other servers' fields for
    thoughts.
    """
    thinking = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]
    words = [{"type": "text", "text": "I stay."}]

    got = answered(
        serve(always(sent(chunk(content=thinking), chunk(content=words), chunk("stop")))),
        dialect="local",
    )
    assert (got.content, got.reasoning) == ("I stay.", "Hm.")
    details = [{"type": "reasoning.text", "text": "Hm."}]
    for field in (
        {"thinking": "Hm."},
        {"reasoning": {"text": "Hm."}},
        {"reasoning_details": details},
    ):
        stream = sent(chunk(**field), chunk(content="I stay."), chunk("stop"))
        got = answered(serve(always(stream)), dialect="local")
        assert (got.content, got.reasoning) == ("I stay.", "Hm."), field


def test_usage_may_stand_in_the_choice_and_a_mark_before_everything(serve: Serve) -> None:
    """Moonshot's place for it; and a byte order mark, which begins no line."""
    last = {
        "choices": [
            {"index": 0, "delta": {}, "finish_reason": "stop", "usage": {"prompt_tokens": "7"}}
        ]
    }
    stream = b"\xef\xbb\xbf" + events(*WORDS[:3], last)

    got = answered(serve(always(Answer(stream, headers=STREAM))), dialect="local")

    assert (got.content, got.usage.prompt_tokens) == ("No, I stay.", 7)


def test_pieces_may_be_cut_anywhere() -> None:
    """Bytes come as the network has them, in the middle of a character, too."""
    data = events(chunk(content="Ja – größer"), chunk("stop"))
    whole = StreamedReply()
    for start in range(0, len(data), 3):
        whole.add_bytes(data[start : start + 3])

    assert whole.ended
    assert (
        json.loads(whole.encode_completion())["choices"][0]["message"]["content"] == "Ja – größer"
    )


# ---------------------------------------------------------------- forms that are not asked for

SAID = "No, I stay."
UNTYPED = ["application/json", "text/plain; charset=utf-8", "application/octet-stream", ""]


def cut_from(chunks: list[Any], end: str) -> bytes:
    """Those chunks as an event stream whose lines end so."""
    return events(*chunks).replace(b"\n", end.encode())


@pytest.mark.parametrize("kind", UNTYPED)
def test_a_stream_is_known_by_its_first_bytes(serve: Serve, kind: str) -> None:
    """Whatever type its header has, also behind comments that keep the connection open."""
    comment = b": PROCESSING\n\n: PROCESSING\n\n"
    server = serve(always(Answer(comment + events(*WORDS), headers={"Content-Type": kind})))

    assert answered(server).content == SAID


@pytest.mark.parametrize("kind", UNTYPED)
def test_half_a_stream_is_no_reply_whatever_its_type(serve: Serve, kind: str) -> None:
    """It ended before the reply did."""
    half = Answer(events(*WORDS[:3], done=False), headers={"Content-Type": kind})

    assert failed(serve(always(half))).kind is Kind.UNAVAILABLE


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_the_first_one_does(serve: Serve, end: str) -> None:
    """All three are allowed; a lone CR in a text ends none of the others."""
    body = cut_from(WORDS, end)

    assert answered(serve(always(Answer(body, headers=STREAM)))).content == SAID
    for size in (1, 2, 7):
        stream = StreamedReply()
        for at in range(0, len(body), size):
            stream.add_bytes(body[at : at + size])
        stream.close()
        assert json.loads(stream.encode_completion())["choices"][0]["message"]["content"] == SAID
    lone = b'data: {"choices":[{"delta":{"content":"a\rb"},"finish_reason":"stop"}]}\n\n'
    assert answered(serve(always(Answer(lone, headers=STREAM)))).content == "a\rb"


def test_an_event_may_have_several_lines(serve: Serve) -> None:
    """They are one piece of JSON; without its last lines it is none."""
    spread = [
        "\n".join(f"data: {line}" for line in json.dumps(chunk, indent=1).split("\n"))
        for chunk in WORDS
    ]
    whole = "\n\n".join([*spread, "data: [DONE]\n\n"]).encode()
    cut = "\n\n".join(spread)[:-12].encode()

    assert answered(serve(always(Answer(whole, headers=STREAM)))).content == SAID
    assert failed(serve(always(Answer(cut, headers=STREAM)))).kind is Kind.UNAVAILABLE
    named = b"event: error\n" + spread[1].encode() + b"\n\n" + whole
    assert failed(serve(always(Answer(named, headers=STREAM)))).kind is Kind.UNAVAILABLE


@pytest.mark.parametrize("kind", ["application/x-ndjson", "application/json"])
def test_a_line_of_json_for_each_piece_is_read(serve: Serve, kind: str) -> None:
    """To its end, or not at all."""
    lines = "\n".join(json.dumps(chunk) for chunk in WORDS).encode()
    half = "\n".join(json.dumps(chunk) for chunk in WORDS[:3]).encode()
    broken = half + b'\n{"error": {"message": "boom", "code": 502}}'
    headers = {"Content-Type": kind}

    got = answered(serve(always(Answer(lines, headers=headers))))

    assert (got.content, got.finish_reason) == (SAID, "stop")
    for body in (half, broken, lines[:-9]):
        assert failed(serve(always(Answer(body, headers=headers)))).kind is Kind.UNAVAILABLE


@pytest.mark.parametrize(
    "around",
    [
        (b": PROCESSING\n\n: PROCESSING\r\n\n", b""),
        (b"", b"\n\n\x00"),
        (b"", b"\n[DONE]"),
        (b"", b'{"error": "late"}'),
        (b"[", b"]"),
    ],
)
def test_what_stands_around_a_whole_body_takes_nothing_from_it(
    serve: Serve, around: tuple[bytes, bytes]
) -> None:
    """Comments before it, bytes behind it, a list of one."""
    before, behind = around
    body = json.dumps(completion(SAID)).encode()

    assert answered(serve(always(Answer(before + body + behind)))).content == SAID
    half = before + body[: len(body) - 4] + behind
    assert failed(serve(always(Answer(half)))).kind is Kind.UNAVAILABLE


@pytest.mark.parametrize("status", [201, 202])
def test_a_completion_is_read_whatever_success_its_status_says(serve: Serve, status: int) -> None:
    """Without one, nothing was said."""
    assert answered(serve(always(Answer(completion(SAID), status)))).content == SAID
    assert answered(serve(always(Answer(events(*WORDS), status, STREAM)))).content == SAID
    assert failed(serve(always(Answer({"id": "job-1"}, status)))).kind is Kind.UNAVAILABLE


def test_large_and_many_headers_are_read_and_endless_ones_are_not(serve: Serve) -> None:
    """Proxies put much into them."""
    many = {f"x-h-{number}": "v" for number in range(300)}

    for headers in ({"x-policy": "a" * 9000}, many):
        assert answered(serve(always(Answer(completion(SAID), headers=headers)))).content == SAID
    endless = {"x-policy": "a" * 1_000_000}
    assert "no HTTP" in failed(serve(always(Answer(completion(SAID), headers=endless)))).message
