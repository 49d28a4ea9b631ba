"""The one HTTP client, against a real server that behaves, misbehaves and lies."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import socket
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from postgres import free_port
from scripted_model import KEY, Answer, ScriptedModel, completion, failure

from independence_bench.errors import EndpointUnusable
from independence_bench.models.client import Client, read_key, read_reply_byte_limit
from independence_bench.models.endpoints import DialectName
from independence_bench.models.messages import ChatRequest, Completion, Fault, Kind, Message
from independence_bench.models.response import ModelInfo
from independence_bench.models.spec import ChatModel, Endpoint

Serve = Callable[..., ScriptedModel]
MODEL = ChatModel("acme/one", "scripted", 0.7, 100)
REQUEST = ChatRequest(MODEL, (Message("system", "Be."), Message("user", "Hello?")))
SCHEMA = json.dumps({"type": "object", "properties": {"mark": {"type": "number"}}})


async def with_client(
    url: str,
    use: Callable[[Client], Any],
    *,
    dialect: DialectName = "openrouter",
    key: str | None = KEY,
    free: bool = False,
) -> Any:
    """What *use* comes to with an open client."""
    async with Client(Endpoint("scripted", url, dialect, free=free), key) as client:
        return await use(client)


def ask(
    server: ScriptedModel | str,
    request: ChatRequest = REQUEST,
    *,
    dialect: DialectName = "openrouter",
    key: str | None = KEY,
    max_tokens: int = 100,
) -> Completion | Fault:
    """One attempt."""
    url = server if isinstance(server, str) else server.url
    outcome: Completion | Fault = asyncio.run(
        with_client(
            url, lambda client: client.complete(request, max_tokens), dialect=dialect, key=key
        )
    )
    return outcome


def answered(
    server: ScriptedModel | str, request: ChatRequest = REQUEST, **more: Any
) -> Completion:
    """One attempt that must come to a completion."""
    outcome = ask(server, request, **more)
    assert isinstance(outcome, Completion), outcome
    return outcome


def failed(server: ScriptedModel | str, request: ChatRequest = REQUEST, **more: Any) -> Fault:
    """One attempt that must come to a fault."""
    outcome = ask(server, request, **more)
    assert isinstance(outcome, Fault), outcome
    return outcome


EVENTS = {"Content-Type": "text/event-stream"}  # as some servers say of errors, too


def always(answer: Answer) -> Callable[[object], Answer]:
    """A script with one answer."""
    return lambda _asked: answer


# ---------------------------------------------------------------- what is sent


def test_a_request_carries_key_model_messages_limit_and_says_that_reasoning_is_off(
    serve: Serve,
) -> None:
    """Everything that a reply is keyed by is really in the body, and off is said aloud."""
    server = serve(always(Answer(completion("Yes."))))

    answered(server, max_tokens=77)

    (asked,) = server.asked
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert asked.body == {
        "model": "acme/one",
        "messages": [{"role": "system", "content": "Be."}, {"role": "user", "content": "Hello?"}],
        "temperature": 0.7,
        "max_tokens": 77,
        "reasoning": {"effort": "none"},
    }


def test_a_loopback_server_is_reached_although_a_proxy_is_set(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A company's proxy knows nothing of a model on this machine."""
    server = serve(always(Answer(completion("Here."))))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")

    assert answered(server).content == "Here."


def test_a_proxy_is_used_for_hosts_elsewhere(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a proxy, that is the only way out."""
    proxy = serve()
    monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))

    models = asyncio.run(
        with_client("http://models.invalid/v1", lambda client: client.list_models())
    )

    assert models == {}
    assert [path for path, _ in proxy.lookups] == ["/v1/models"]


@pytest.mark.parametrize("key", [KEY, None])
def test_no_login_of_netrc_is_ever_sent(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, key: str | None
) -> None:
    """Somebody's password for a host is no API key for what runs there."""
    (tmp_path / ".netrc").write_text("default login me password hunter2\n", encoding="utf-8")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    monkeypatch.setenv("HOME", str(tmp_path))
    server = proxy = serve(always(Answer(completion("Yes."))))
    monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))

    for url in (server.url, "http://models.invalid/v1"):
        answered(url, key=key)
        asyncio.run(with_client(url, lambda client: client.list_models(), key=key))

    sent = [*(asked.headers for asked in server.asked), *(headers for _, headers in server.lookups)]
    assert [headers.get("Authorization") for headers in sent] == [
        f"Bearer {key}" if key else None
    ] * 4
    assert not any("Proxy-Authorization" in headers for headers in sent)


@pytest.mark.parametrize("login", ["", "me:mine@"])
def test_a_proxy_is_never_shown_the_key(monkeypatch: pytest.MonkeyPatch, login: str) -> None:
    """It opens a tunnel to an https address without knowing what goes through; its own login it is
    told.
    """
    heard: list[bytes] = []

    async def proxied() -> None:
        async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heard.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            writer.close()

        async with await asyncio.start_server(refuse, "127.0.0.1", 0) as proxy:
            port = proxy.sockets[0].getsockname()[1]
            monkeypatch.setenv("HTTPS_PROXY", f"http://{login}127.0.0.1:{port}")
            async with Client(
                Endpoint("scripted", "https://models.invalid/v1", "openrouter"), KEY
            ) as client:
                assert isinstance(await client.complete(REQUEST, 100), Fault)
                with pytest.raises(EndpointUnusable):
                    await client.list_models()

    asyncio.run(proxied())

    assert [request.split(b"\r\n")[0] for request in heard] == [
        b"CONNECT models.invalid:443 HTTP/1.1"
    ] * 2
    assert not any(KEY.encode() in request for request in heard)
    told = b"Proxy-Authorization: Basic " + base64.b64encode(b"me:mine")
    assert all((told in request) is bool(login) for request in heard)
    assert login or not any(b"Authorization" in request for request in heard)


def test_a_host_that_is_excepted_from_the_proxy_is_reached_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """NO_PROXY is for what stands in the same house."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "models.invalid")

    fault = failed("http://models.invalid/v1")

    assert "models.invalid" in fault.message
    assert "127.0.0.1" not in fault.message


# ---------------------------------------------------------------- what comes back


def test_a_completion_keeps_the_raw_body_and_how_long_it_took(serve: Serve) -> None:
    """For the record, beside all that is read from it."""
    body = completion("  Still me. ", calls=[("speak", '{"words": "Hi"}')])

    got = answered(serve(always(Answer(body, delay=0.05))))

    assert got.content == "  Still me. "
    assert json.loads(got.raw) == body
    assert got.seconds >= 0.05


def test_a_compressed_reply_is_read(serve: Serve) -> None:
    """Endpoints compress; nobody should notice."""
    server = serve(always(Answer(completion("Compressed."), headers={"Content-Encoding": "gzip"})))

    assert answered(server).content == "Compressed."


@pytest.mark.parametrize("charset", ["iso-8859-1", "utf-16", "utf-8", "no-such-code"])
def test_a_reply_in_another_encoding_is_read_by_its_header(serve: Serve, charset: str) -> None:
    """No letter of it is lost; a code that nobody knows is taken for UTF-8."""
    body = json.dumps(completion("Zoé."), ensure_ascii=False).encode(
        "utf-8" if charset == "no-such-code" else charset
    )
    server = serve(
        always(Answer(body, headers={"Content-Type": f"application/json; charset={charset}"}))
    )

    assert answered(server).content == "Zoé."


def test_invalid_utf8_in_a_reply_costs_one_character_and_not_the_reply(serve: Serve) -> None:
    """A paid reply with a torn byte in it is still a reply."""
    data = json.dumps(completion("caf@ noir")).encode().replace(b"@", b"\xe9")
    server = serve(always(Answer(data)))

    assert answered(server).content == "caf� noir"


# ---------------------------------------------------------------- faults


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (failure(402, "top up", retry_after="5"), Kind.RATE_LIMITED, "top up"),
        (failure(402, "top up"), Kind.NO_CREDITS, "top up"),
        (Answer({"error": {"code": 429, "message": "begun"}}), Kind.RATE_LIMITED, "begun"),
        (Answer({"id": "x"}), Kind.UNAVAILABLE, "no choices"),
        (
            Answer(b"<html>gone</html>", 404, {"Content-Type": "text/html"}),
            Kind.BAD_REQUEST,
            "gone",
        ),
        (Answer(b"[" * 200_000), Kind.UNAVAILABLE, "not JSON"),
        (
            Answer(b"not gzip", headers={"Content-Encoding": "deflate"}),
            Kind.UNAVAILABLE,
            "the reply broke off",
        ),
        (Answer(drop="before"), Kind.CONNECTION, ""),
        (Answer({"error": {"message": "bad key"}}, 401, EVENTS), Kind.UNAUTHORIZED, "bad key"),
        (Answer({"error": {"message": "slowly"}}, 429, EVENTS), Kind.RATE_LIMITED, "slowly"),
        (
            Answer(completion("long " * 1000), drop="inside"),
            Kind.UNAVAILABLE,
            "the reply broke off",
        ),
        (Answer(completion("long " * 1000), 500, drop="inside"), Kind.CONNECTION, ""),
    ],
)
def test_every_way_to_fail_is_a_value_of_its_kind(
    serve: Serve, answer: Answer, kind: Kind, said: str
) -> None:
    """The retry policy decides by kind; tests/test_chat_completions.py has the kind of every body
    that can be read.
    """
    fault = failed(serve(always(answer)))

    assert fault.kind is kind
    assert said in fault.message
    assert "\n" not in fault.message
    assert fault.message


def test_nobody_at_the_address_is_a_failed_connection() -> None:
    """A closed port is said as such."""
    fault = failed(f"http://127.0.0.1:{free_port()}/v1")

    assert fault.kind is Kind.CONNECTION
    assert "127.0.0.1" in fault.message


def test_no_connection_in_time_is_a_failed_connection_that_cost_nothing() -> None:
    """Nothing was sent: no time-out of a reply, which may have been made and charged."""
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for waiting in (first, second):  # nobody accepts them, and the queue has no more room
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}/v1"

        async def hurried() -> Fault | Completion:
            async with Client(Endpoint("scripted", url, "openrouter"), KEY, connect=0.2) as client:
                return await client.complete(REQUEST, 100)

        fault = asyncio.run(hurried())

    assert isinstance(fault, Fault)
    assert (fault.kind, fault.message, fault.unsent) == (
        Kind.CONNECTION,
        "no connection in time",
        True,
    )


@pytest.mark.parametrize(
    ("value", "seconds"), [("7", 7), ("inf", 24 * 3600)], ids=["seconds", "never more than a day"]
)
def test_retry_after_is_read_as_seconds(serve: Serve, value: str, seconds: float) -> None:
    """The usual form; an absurd number must not make an absurd sleep."""
    assert failed(serve(always(failure(429, "later", retry_after=value)))).retry_after == seconds


def test_retry_after_is_read_as_a_date(serve: Serve) -> None:
    """The other form that HTTP allows."""
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)

    wait = failed(serve(always(failure(503, "later", retry_after=date)))).retry_after

    assert wait is not None
    assert 80 < wait <= 90


@pytest.mark.parametrize(
    "value", ["soon", "-3", "nan", "Mon, 99 Foo 2020", "Wed, 21 Oct 2015 07:28:00 GMT", ""]
)
def test_a_retry_after_that_says_nothing_is_none(serve: Serve, value: str) -> None:
    """Neither the past nor nonsense is a time to wait."""
    assert failed(serve(always(failure(429, "later", retry_after=value)))).retry_after is None


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(serve: Serve, status: int) -> None:
    """Followed, it would carry key and prompt to another host."""
    other = serve()
    server = serve(always(Answer(b"", status, {"Location": f"{other.url}/chat/completions"})))
    server.models_answer = Answer(b"", status, {"Location": f"{other.url}/models"})

    async def both(client: Client) -> Fault | Completion:
        assert await client.list_models() == {}
        return await client.complete(REQUEST, 100)

    outcome = asyncio.run(with_client(server.url, both))

    assert isinstance(outcome, Fault)
    assert outcome.kind is Kind.BAD_REQUEST
    assert "redirects" in outcome.message
    assert other.asked == []
    assert other.lookups == []


@pytest.mark.parametrize("headers", [{}, {"Content-Encoding": "gzip"}])
def test_an_oversize_reply_is_a_fault_of_its_own_and_not_read_to_its_end(
    serve: Serve, headers: dict[str, str]
) -> None:
    """Neither a flood nor a small body that unpacks to one may fill the memory."""
    body = b" " * 1_000_001

    fault = failed(serve(always(Answer(body, headers=headers))))

    assert fault.kind is Kind.TOO_LARGE
    assert fault.message == "over 1 MB; AIB_MAX_REPLY_MB sets the limit"
    assert fault.raw == ""


def test_how_large_a_reply_may_be_can_be_set(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a model that thinks in books; what is no size is one line."""
    monkeypatch.setenv("AIB_MAX_REPLY_MB", "2.5")
    words = "word " * 400_000
    assert answered(serve(always(Answer(completion(words))))).content == words

    for odd in ("0", "-1", "nan", "17", "much"):
        with pytest.raises(
            EndpointUnusable,
            match=r"AIB_MAX_REPLY_MB is .*; write megabytes, above 0 and at most 16",
        ):
            read_reply_byte_limit({"AIB_MAX_REPLY_MB": odd})


# ---------------------------------------------------------------- pins


PROVIDERS = {
    "acme/one": [
        ("acme", "Acme Cloud"),
        ("umbra/int4", "Umbra"),
        ("umbra/fp8", "Umbra"),
        ("zeta", "Zeta"),
    ]
}


def pinned_to(provider: str) -> ChatRequest:
    """The request with a pin."""
    return replace(REQUEST, model=replace(MODEL, provider=provider))


@pytest.mark.parametrize(
    ("pin", "served", "honoured"),
    [
        ("acme", "Acme Cloud", True),
        ("ACME", "Acme Cloud", True),
        ("acme", "Umbra", False),
        ("acme", "Zeta", False),
        ("umbra", "Umbra", True),
        ("umbra/int4", "Umbra", True),
        ("umbra/int4", "Acme Cloud", False),
        ("acme", "acme", True),
        ("acme", "Never Heard Of", True),
        ("unlisted", "Acme Cloud", True),
    ],
)
def test_a_pin_is_a_fault_only_where_it_was_provably_not_honoured(
    serve: Serve, pin: str, served: str, honoured: bool
) -> None:
    """The reply names a display name, the pin is a slug; where the list joins the two, it
    decides.
    """
    server = serve(always(Answer(completion("Yes.", provider=served))), providers=PROVIDERS)

    outcome = ask(server, pinned_to(pin))

    assert isinstance(outcome, Completion) is honoured
    assert outcome.served_provider == served
    assert outcome.usage.cost == 0.001
    if isinstance(outcome, Fault):
        assert outcome.kind is Kind.WRONG_PROVIDER
        assert pin in outcome.message
        assert served in outcome.message


def test_the_names_of_providers_are_asked_for_before_anything_is_sent(serve: Serve) -> None:
    """Once it is there, a paid reply waits for nothing more; the names are remembered."""
    known: list[int] = []

    def script(asked: object) -> Answer:
        known.append(len(server.lookups))
        return Answer(completion("Yes.", provider="Zeta"))

    server = serve(script, providers=PROVIDERS)

    async def twice(client: Client) -> list[Fault | Completion]:
        return [await client.complete(pinned_to("zeta"), 100) for _ in range(2)]

    outcomes = asyncio.run(with_client(server.url, twice))

    assert all(isinstance(outcome, Completion) for outcome in outcomes)
    assert known == [1, 1]
    assert [path for path, _ in server.lookups] == ["/v1/models/acme/one/endpoints"]


@pytest.mark.parametrize(
    ("named", "providers", "served"),
    [(None, PROVIDERS, None), (7, PROVIDERS, None), ("Umbra", {}, "Umbra")],
    ids=["no provider", "a number", "no list of providers"],
)
def test_where_nothing_is_proven_no_pin_is_broken(
    serve: Serve, named: object, providers: dict[str, Any], served: str | None
) -> None:
    """A reply that names nobody, or a mapping that is unknown: recorded, and nothing is
    rejected.
    """
    server = serve(always(Answer(completion("Yes.", provider=named))), providers=providers)

    assert answered(server, pinned_to("acme")).served_provider == served


# ---------------------------------------------------------------- structured output and model lists


@pytest.mark.parametrize(
    ("parameters", "dialect", "sent"),
    [
        (["structured_outputs", "response_format"], "openrouter", "json_schema"),
        (["response_format"], "openrouter", "json_object"),
        (["tools"], "openrouter", None),
        (None, "openrouter", "json_schema"),
        (["tools"], "local", "json_schema"),
    ],
)
def test_structured_output_is_asked_for_as_far_as_the_model_supports_it(
    serve: Serve, parameters: list[str] | None, dialect: DialectName, sent: str | None
) -> None:
    """A parameter that is not supported is silently ignored, so it is chosen by the list."""
    listed = {"id": "acme/one"} | (
        {} if parameters is None else {"supported_parameters": parameters}
    )
    server = serve(always(Answer(completion("{}"))), models=[listed])

    answered(server, ChatRequest(MODEL, REQUEST.messages, schema=SCHEMA), dialect=dialect)

    form = server.asked[0].body.get("response_format")
    assert (form or {}).get("type") == sent
    if sent == "json_schema":
        assert form["json_schema"] == {
            "name": "marks",
            "strict": True,
            "schema": json.loads(SCHEMA),
        }


def test_prices_and_parameters_are_read_from_the_list_of_models_once(serve: Serve) -> None:
    """Decimal strings, dollars a token."""
    listed = {
        "id": "acme/one",
        "pricing": {"prompt": "0.000001", "completion": "0.000004", "request": "0.01"},
        "supported_parameters": ["tools", "reasoning"],
    }
    server = serve(models=[listed])

    async def twice(client: Client) -> tuple[ModelInfo, ModelInfo]:
        known, unknown = await asyncio.gather(
            client.find_model_info("acme/one"), client.find_model_info("acme/two")
        )
        return known, unknown

    known, unknown = asyncio.run(with_client(server.url, twice))

    assert known == ModelInfo("acme/one", 1e-6, 4e-6, 0.01, frozenset({"tools", "reasoning"}))
    assert known.compute_cost(1000, 500) == pytest.approx(0.01 + 0.001 + 0.002)
    assert unknown == ModelInfo("acme/two")
    assert unknown.compute_cost(1, 1) is None
    assert len(server.lookups) == 1


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"<html>hello</html>"),
        Answer(b"\xff\xfe\x00"),
        Answer(b"[" * 200_000),
        Answer({"data": "none"}),
        Answer({"data": [None, 7, {}, {"id": 3}, {"name": "x"}]}),
        Answer([]),
        Answer(b"", 500),
        Answer({"error": "no"}, 401),
        Answer(b'{"data": [], "total": ' + b"9" * 5000 + b"}"),
    ],
)
def test_a_list_of_models_that_is_none_is_empty(serve: Serve, answer: Answer) -> None:
    """Many local servers keep no list, some a strange one; chat completions may work all the
    same.
    """
    server = serve()
    server.models_answer = answer

    assert asyncio.run(with_client(server.url, lambda client: client.list_models())) == {}


@pytest.mark.parametrize(
    "price", ["-1", "free", None, [], float("nan"), "inf", "1e400", 10**400, {"usd": 1}]
)
def test_a_price_that_is_none_is_not_known(serve: Serve, price: object) -> None:
    """An unknown price must never count as nothing."""
    server = serve(models=[{"id": "acme/one", "pricing": {"prompt": price, "completion": "0.1"}}])

    info = asyncio.run(with_client(server.url, lambda client: client.find_model_info("acme/one")))

    assert info.prompt_price is None
    assert info.compute_cost(10, 10) is None


def identity(serve: Serve, **entry: object) -> str:
    """What a local server's list that says *entry* about a model identifies it by."""
    server = serve(models=[{"id": "mine"} | entry])
    info: ModelInfo = asyncio.run(
        with_client(server.url, lambda client: client.find_model_info("mine"), dialect="local")
    )
    return info.identity


def test_a_local_model_is_identified_by_what_its_server_says_of_the_weights(serve: Serve) -> None:
    """llama.cpp tells its parameters and size, vLLM its root, others a digest; each other one is
    another model.
    """
    meta = {"n_params": 4_000_000_000, "size": 2_500_000_000, "n_vocab": 32_000}
    told = [
        {"meta": meta},
        {"meta": meta | {"size": 4_200_000_000}},
        {"root": "acme/a"},
        {"root": "acme/b"},
        {"digest": "ab"},
    ]

    identities = [identity(serve, **entry) for entry in told]

    assert len(set(identities)) == len(told)
    assert all(re.fullmatch("[0-9a-f]{16}", found) for found in identities)
    assert identity(serve, meta=dict(reversed(meta.items()))) == identities[0], (
        "the order of keys says nothing"
    )


def test_what_changes_with_every_start_identifies_nothing(serve: Serve) -> None:
    """The time of the question and the context that was asked for are not the weights; the name is
    all there is.
    """
    for said in (
        {},
        {"meta": None},
        {"root": "", "digest": 0},
        {"meta": []},
        {"created": 1, "owned_by": "me"},
    ):
        assert identity(serve, **said) == ""
    assert identity(serve, root="a/b", created=1) == identity(serve, root="a/b", created=2)
    for path in ("/models/a", "./a", "~/a", "C:\\a", "..\\a"):
        assert identity(serve, root=path) == ""  # any weights may lie there
    one, two = ({"n_params": 7, "n_ctx": context} for context in (4096, 8192))
    assert identity(serve, meta=one) == identity(serve, meta=two)


@pytest.mark.parametrize(
    ("entry", "context"),
    [
        ({"context_length": 32768}, 32768),
        ({"max_model_len": 4096}, 4096),
        ({"max_context_length": 131072}, 131072),
        ({"context_window": 8192}, 8192),
        ({"meta": {"n_ctx": 2048, "n_ctx_train": 8192}}, 2048),
        ({"meta": {"n_ctx_train": 8192}}, None),
        ({"max_model_len": "many"}, None),
        ({}, None),
    ],
)
def test_a_context_is_read_where_the_server_states_it(
    serve: Serve, entry: dict[str, object], context: int | None
) -> None:
    """OpenRouter, vLLM, Mistral, Groq, llama.cpp: as the server runs it, not as the model was
    trained.
    """
    server = serve(models=[{"id": "mine"} | entry])
    info: ModelInfo = asyncio.run(
        with_client(server.url, lambda client: client.find_model_info("mine"), dialect="local")
    )

    assert info.context == context


def test_a_dead_endpoint_is_unusable_in_one_line(serve: Serve) -> None:
    """Said once at the start, with the address and a next step; a server that speaks no HTTP is as
    good as none.
    """
    server = serve()
    server.models_answer = Answer(drop="before")

    for url in (f"http://127.0.0.1:{free_port()}/v1", server.url):
        with pytest.raises(EndpointUnusable, match="nothing answers") as raised:
            asyncio.run(with_client(url, lambda client: client.list_models()))

        assert url in str(raised.value)
        assert "check the address" in str(raised.value)
        assert "\n" not in str(raised.value)


# ---------------------------------------------------------------- the key


@pytest.mark.parametrize("status", [200, 401, 500])
def test_a_key_that_an_endpoint_echoes_is_in_no_value(serve: Serve, status: int) -> None:
    """Values are stored, printed and published."""
    body = (
        completion(f"Your key is {KEY}.", id=KEY)
        if status == 200
        else {"error": {"message": f"bad key {KEY}"}}
    )

    async def both(client: Client) -> tuple[str, object]:
        return repr(client), await client.complete(REQUEST, 100)

    shown, outcome = asyncio.run(with_client(serve(always(Answer(body, status))).url, both))

    assert KEY not in shown
    assert KEY not in repr(outcome)
    assert "[key]" in repr(outcome)


def test_a_key_that_is_echoed_with_json_escapes_is_in_no_value(serve: Serve) -> None:
    """PHP writes a slash as \\/, others write any character as \\u....: the parsed text has the key
    again.
    """
    key = "sk/live/0123456789abcdef0123"
    spelled = (
        json.dumps({"error": {"message": f"bad key {key}"}})
        .replace("/", "\\/")
        .replace("abc", "\\u0061bc")
    )

    fault = failed(serve(always(Answer(spelled.encode(), 401))), key=key)

    assert key not in repr(fault)
    assert "0123456789abcdef0123" not in repr(fault)


def test_a_key_in_the_reason_of_a_failed_connection_is_taken_out() -> None:
    """Somebody puts it into the address by mistake."""
    fault = failed(f"http://127.0.0.1:{free_port()}/{KEY}", key=KEY)

    assert KEY not in repr(fault)


@pytest.mark.parametrize("key", ["none", "EMPTY", "ollama", "e"])
def test_a_local_servers_placeholder_takes_no_words_out_of_a_reply(serve: Serve, key: str) -> None:
    """What everybody is told to write for a key is no secret, and a model may well say it."""
    words = "There is none. EMPTY as it is, ollama is content with it."

    assert (
        answered(serve(always(Answer(completion(words)))), dialect="local", key=key).content
        == words
    )


def test_a_short_key_is_taken_out_of_a_reply(serve: Serve) -> None:
    """Six characters are a secret as sixty are."""
    server = serve(always(Answer(completion("Your key is hunter2x, hunter2x."))))

    assert answered(server, dialect="local", key="hunter2x").content == "Your key is [key], [key]."


def test_a_key_is_read_from_the_environment_and_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing where it is needed, or torn by a line break, it is said before anything is sent."""

    def anywhere(_endpoint: Endpoint) -> None:
        """Everything is allowed."""

    paid = Endpoint("paid", "http://x/v1", "openrouter", "SOME_KEY")
    local = Endpoint("mine", "http://x/v1", "local", "SOME_KEY")
    monkeypatch.delenv("SOME_KEY", raising=False)
    with pytest.raises(EndpointUnusable, match=r"put SOME_KEY=\.\.\. into \.env"):
        read_key(paid, anywhere)
    assert read_key(local, anywhere) is None
    assert read_key(Endpoint("open", "http://x/v1", "local"), anywhere) is None
    monkeypatch.setenv("SOME_KEY", f"  {KEY}\n")
    assert read_key(paid, anywhere) == KEY
    for odd in ("sk one", "sk-ä", "sk-\x07"):
        monkeypatch.setenv("SOME_KEY", odd)
        with pytest.raises(EndpointUnusable) as raised:
            read_key(paid, anywhere)
        assert odd not in str(raised.value)
    monkeypatch.setenv("SOME_KEY", "content")
    with pytest.raises(EndpointUnusable, match="give the server another key"):
        read_key(local, anywhere)
