"""A scripted model behind a real HTTP server on loopback, and a small bench that plays against it.

    with ScriptedModel(steady()) as model:  # a function decides every answer
        ...  # model.url speaks /chat/completions, /models, .../endpoints
        model.chats  # the ledger: what was asked, answered and charged, in order

The server runs in a thread of its own, so tests, event loops and other processes can all talk to
it.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import random
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from independence_bench.analysis.board import Board
from independence_bench.analysis.leaderboard import Wanted, make_leaderboards
from independence_bench.api.named import ALLOWED_FILE, add_stored_permissions
from independence_bench.calls.budget import Budget
from independence_bench.calls.limits import Clocks, Policy
from independence_bench.engine.ask import Engine
from independence_bench.engine.run import Report, Session
from independence_bench.errors import SubjectError
from independence_bench.judging.judge import Judge, ModelJudge
from independence_bench.models.client import Client
from independence_bench.models.endpoints import DialectName
from independence_bench.models.spec import ChatModel, Endpoint
from independence_bench.models.trust import Permission, find_origin
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.loader import load_protocol_and_files
from independence_bench.store.database import open_store

KEY = "sk-test-0123456789abcdef0123456789abcdef"

# ---------------------------------------------------------------- what is asked and answered


async def settle() -> None:
    """Let every task go as far as it can."""
    for _ in range(20):
        await asyncio.sleep(0)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request for a chat completion, as the server received it."""

    number: int  # 1, 2, ... of all that this server received
    times: int  # 1, 2, ... of those with this very question (whatever the token limit)
    body: Mapping[str, Any]
    headers: Mapping[str, str]

    @property
    def model(self) -> str:
        """The model that was asked for."""
        return str(self.body["model"])

    @property
    def judging(self) -> bool:
        """Whether this is a judge's work: in these tests a judge's model id begins with judge."""
        return self.model.startswith("judge")

    @property
    def text(self) -> str:
        """Everything that was sent to the model, as one text."""
        return "\n".join(str(message) for message in self.body["messages"])

    @property
    def last(self) -> str:
        """What was said last."""
        return str(self.body["messages"][-1]["content"])

    @property
    def question(self) -> str:
        """The question as a text that is the same whenever the question is, whatever the token
        limit.
        """
        return json.dumps({k: v for k, v in self.body.items() if k != "max_tokens"}, sort_keys=True)


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back. *body* is sent as JSON unless it is bytes."""

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cost: float = 0.0  # dollars that this server books, whatever it tells
    delay: float = 0.0  # seconds
    until: threading.Event | None = None  # held back until it is set
    # "before": the connection is cut without a word; "inside": in the middle of the body
    drop: str = ""

    @property
    def data(self) -> bytes:
        """The body's bytes."""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


Script = Callable[[Asked], Answer]


@dataclass(slots=True)
class Entry:
    """One line of the ledger. *ended* is None while the answer is on its way."""

    asked: Asked
    answer: Answer
    started: float  # monotonic seconds
    ended: float | None = None


def completion(
    text: str | None,
    *,
    calls: Sequence[tuple[str, Any]] = (),
    finish: str | None = "stop",
    cost: float | None = 0.001,
    **more: Any,
) -> dict[str, Any]:
    """A chat completion's body; *calls* are (tool, arguments), *more* replaces keys of the top
    level.
    """
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for n, (name, arguments) in enumerate(calls)
        ]
    usage: dict[str, Any] = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}
    if cost is not None:
        usage["cost"] = cost
    made = {
        "id": f"gen-1{uuid.uuid4().hex}",
        "model": "served/model",
        "provider": "Acme",
        "usage": usage,
    }
    return made | {"choices": [{"index": 0, "finish_reason": finish, "message": message}]} | more


def says(
    asked: Asked, text: str, *, finish: str = "stop", cost: float = 0.001, **more: Any
) -> Answer:
    """*text* said in the way the request asks for: by calling the tool where one is offered."""
    if "tools" in asked.body:
        function = asked.body["tools"][0]["function"]
        (argument,) = function["parameters"]["properties"]
        call = (function["name"], json.dumps({argument: text}))
        return Answer(
            completion(None, calls=[call], finish=finish, cost=cost, model=asked.model),
            cost=cost,
            **more,
        )
    return Answer(completion(text, finish=finish, cost=cost, model=asked.model), cost=cost, **more)


def verdict(
    asked: Asked, marks: Mapping[str, Any] | None = None, *, cost: float = 0.0005, **more: Any
) -> Answer:
    """Marks that fit the schema of the request: *marks* where it asks for them, else the middle of
    the scale.
    """
    properties = asked.body["response_format"]["json_schema"]["schema"]["properties"]
    given: dict[str, Any] = {"analysis": f"Judged as request {asked.number}."}
    for name, spec in properties.items():
        if name != "analysis":
            middle = False if spec["type"] == "boolean" else (spec["minimum"] + spec["maximum"]) / 2
            given[name] = (marks or {}).get(name, middle)
    return Answer(completion(json.dumps(given), cost=cost, model=asked.model), cost=cost, **more)


def untold(answer: Answer) -> Answer:
    """*answer* without its cost."""
    del answer.body["usage"]["cost"]
    return answer


def failure(status: int, message: str, *, retry_after: str | None = None, **error: Any) -> Answer:
    """An error as OpenRouter sends it."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return Answer({"error": {"code": status, "message": message} | error}, status, headers)


def steady(marks: Mapping[str, Any] | None = None, **more: Any) -> Script:
    """A model that always answers (each time in other words) and a judge that always gives
    *marks*.
    """

    def answer(asked: Asked) -> Answer:
        if asked.judging:
            return verdict(asked, marks, **more)
        return says(asked, f"I stay who I am, answer {asked.number}.", **more)

    return answer


# ---------------------------------------------------------------- the server


class ScriptedModel:
    """A server whose every answer *script* decides. Use it as a context manager."""

    def __init__(
        self,
        script: Script,
        models: Sequence[Mapping[str, Any]] | None = None,
        providers: Mapping[str, Sequence[tuple[str, str]]] | None = None,
    ) -> None:
        """*models* are entries of /models; *providers* by model id are (tag, display name)."""
        self.script = script
        self.models_answer = Answer({"data": list(models or [])})
        self.providers = dict(providers or {})
        self.chats: list[Entry] = []
        self.lookups: list[tuple[str, Mapping[str, str]]] = []  # every other request: path, headers
        self._times: Counter[str] = Counter()
        self._changed = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self.url = ""

    def __enter__(self) -> ScriptedModel:
        self._thread.start()
        assert self._ready.wait(600)
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Answer nobody any more."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(10)

    # what happened

    @property
    def asked(self) -> list[Asked]:
        """Every request for a completion, in the order of arrival."""
        return [entry.asked for entry in self.chats]

    @property
    def played(self) -> list[Asked]:
        """Those of subjects."""
        return [asked for asked in self.asked if not asked.judging]

    @property
    def judged(self) -> list[Asked]:
        """Those of judges."""
        return [asked for asked in self.asked if asked.judging]

    @property
    def charged(self) -> float:
        """Dollars booked so far."""
        return sum(entry.answer.cost for entry in self.chats)

    @property
    def in_flight(self) -> int:
        """Requests whose answer is on its way."""
        return sum(entry.ended is None for entry in self.chats)

    def forget(self) -> None:
        """Begin the ledger anew; counters go on."""
        self.chats.clear()

    def wait_until(self, seen: Callable[[ScriptedModel], bool], seconds: float = 600.0) -> None:
        """Wait for something to have happened here; AssertionError where it does not in time."""
        with self._changed:
            assert self._changed.wait_for(lambda: seen(self), seconds), "the server waited in vain"

    # how it works

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        runner = web.AppRunner(
            self._app(), access_log=None, handler_cancellation=True, shutdown_timeout=0.05
        )
        self._loop.run_until_complete(runner.setup())
        site = web.TCPSite(runner, "127.0.0.1", 0)
        self._loop.run_until_complete(site.start())
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        self._ready.set()
        self._loop.run_forever()
        self._loop.run_until_complete(runner.cleanup())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def _app(self) -> web.Application:
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_route("*", "/{path:.*}", self._lookup)
        return app

    async def _lookup(self, request: web.Request) -> web.StreamResponse:
        self.lookups.append((request.path, dict(request.headers)))
        if request.path == "/v1/models":
            return await self._send(request, self.models_answer)
        model = request.path.removeprefix("/v1/models/").removesuffix("/endpoints")
        if model in self.providers:
            known = [{"tag": tag, "provider_name": name} for tag, name in self.providers[model]]
            return web.json_response({"data": {"id": model, "endpoints": known}})
        return web.json_response({"error": {"code": 404, "message": "no such thing"}}, status=404)

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        asked = Asked(self._times.total() + 1, 0, body, dict(request.headers))
        self._times[asked.question] += 1
        asked = Asked(asked.number, self._times[asked.question], body, asked.headers)
        entry = Entry(asked, self.script(asked), time.monotonic())
        with self._changed:
            self.chats.append(entry)
            self._changed.notify_all()
        try:
            return await self._send(request, entry.answer)
        finally:
            with self._changed:
                entry.ended = time.monotonic()
                self._changed.notify_all()

    async def _send(self, request: web.Request, answer: Answer) -> web.StreamResponse:
        if answer.until is not None:
            while not answer.until.is_set():  # noqa: ASYNC110 - it is another thread that sets it
                await asyncio.sleep(0.005)
        if answer.delay:
            await asyncio.sleep(answer.delay)
        headers = {"Content-Type": "application/json", **answer.headers}
        if answer.drop:
            if answer.drop == "inside":
                headers["Content-Length"] = str(len(answer.data))
                response = web.StreamResponse(status=answer.status, headers=headers)
                await response.prepare(request)
                await response.write(answer.data[: len(answer.data) // 2])
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        data = (
            gzip.compress(answer.data) if headers.get("Content-Encoding") == "gzip" else answer.data
        )
        return web.Response(body=data, status=answer.status, headers=headers)


# ---------------------------------------------------------------- the bench

FAST = Policy(first_wait=0.002, longest_wait=0.02)  # the same tries, without the waiting
JUDGE = "judge/one"
# once on each database
both = pytest.mark.parametrize("where", ["sqlite", "postgresql"], indirect=True)
# on SQLite every day; on PostgreSQL, where the same is shown by a smaller test, by `make torture`
_RARELY = ["sqlite", pytest.param("postgresql", marks=pytest.mark.torture)]
rarely_both = pytest.mark.parametrize("where", _RARELY, indirect=True)
rarely_either = pytest.mark.parametrize("either", _RARELY, indirect=True)


class Bench:
    """Plays a protocol's folder against scripted models, into one store, in this process."""

    def __init__(self, folder: Path, store: Path, endpoints: Mapping[str, ScriptedModel]) -> None:
        self.folder, self.store, self.endpoints = folder, store, endpoints

    @property
    def protocol(self) -> Protocol:
        """The protocol as its files are now."""
        return load_protocol_and_files(self.folder)[0]

    def subject(
        self, model: str = "acme/one", endpoint: str = "scripted", **changes: Any
    ) -> ChatModel:
        """A subject with the protocol's sampling."""
        protocol = self.protocol
        settings: dict[str, Any] = {
            "temperature": protocol.temperature,
            "max_tokens": protocol.max_tokens,
        }
        return ChatModel(model, endpoint, **settings | changes)

    def judge(
        self, model: str = JUDGE, endpoint: str = "scripted", again: bool = False
    ) -> ModelJudge:
        """A judge behind an endpoint."""
        return ModelJudge(ChatModel(model, endpoint, 0.0, 500), again)

    def play(
        self,
        *subjects: ChatModel,
        during: Callable[[Engine], Awaitable[None]] | None = None,
        **plan: Any,
    ) -> Report:
        """Carry out one plan, as a command does; *plan* as for `carry_out`."""
        return asyncio.run(self.carry_out(*subjects, during=during, **plan))

    async def carry_out(
        self,
        *subjects: ChatModel,
        during: Callable[[Engine], Awaitable[None]] | None = None,
        runs: int = 1,
        judge: Judge | str | None = JUDGE,
        configurations: Sequence[Configuration] | None = None,
        budget: float | None = None,
        policy: Policy = FAST,
        at_once: int = 4,
        calls_at_once: int = 8,
        free: bool = False,
        dialect: DialectName = "openrouter",
        again: bool = False,
        ours: bool = False,
        job: str | None = None,
        now: Callable[[], float] = time.time,
    ) -> Report:
        """Open store and clients, run the engine to its end, close everything; *during* runs beside
        it.
        """
        protocol, files = load_protocol_and_files(self.folder)
        clients = {
            name: Client(Endpoint(name, server.url, dialect, free=free, ours=ours), KEY)
            for name, server in self.endpoints.items()
        }
        with open_store(self.store) as store:
            for client in clients.values():
                await client.__aenter__()
                await (
                    client.list_models()
                )  # as a command does, to find out whether anybody is there
            clocks = Clocks(now, time.monotonic, random.Random(7).random, policy)
            session = Session(
                protocol=protocol,
                files=files,
                configurations=tuple(configurations or protocol.configurations),
                subjects=subjects or (self.subject(),),
                runs=runs,
                judge=self.judge(judge, again=again) if isinstance(judge, str) else judge,
                store=store,
                clients=clients,
                budget=Budget(budget, job),
                again=again,
                at_once=at_once,
                calls_at_once=calls_at_once,
                clocks=clocks,
            )
            engine = Engine(session)
            beside = asyncio.ensure_future(during(engine)) if during else None
            try:
                report = await engine.ask_until_done()
                if beside is not None:
                    await beside
                return report
            finally:
                for client in clients.values():
                    await client.__aexit__(None, None, None)

    def boards(self, judge: str | None = None) -> list[Board]:
        """What `aib leaderboard` would show."""
        with open_store(self.store) as store:
            return make_leaderboards(store, self.protocol, Wanted(judge))

    def rows(self, query: str, *values: object) -> list[Any]:
        """What a SQL *query* finds in the store."""
        with open_store(self.store) as store, store.open_snapshot() as connection:
            return [tuple(row) for row in connection.exec_driver_sql(query, tuple(values))]


def once_each(asked: Sequence[Asked], runs: int = 1) -> bool:
    """Whether no question was sent more often than there are runs."""
    return all(count <= runs for count in Counter(a.question for a in asked).values())


def allow(home: Path, url: str, variable: str = "SCRIPTED_KEY") -> None:
    """Have the user whose home is *home* allow *variable* to go to *url*, where that is an
    address.
    """
    data = "Library/Application Support/aib" if sys.platform == "darwin" else ".local/share/aib"
    with suppress(SubjectError):
        add_stored_permissions(home / data / ALLOWED_FILE, [Permission(variable, find_origin(url))])


def measured() -> dict[str, str]:
    """What a process of its own needs in its environment, so that its lines are counted as
    covered.
    """
    return {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
