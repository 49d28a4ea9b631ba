"""Opens what an order needs, and carries it out: keys, clients, the embedded model, subjects, the engine.

Between the command line, which says what is wanted, and the engine, which wants it all settled. Prints
nothing; what a person should see or decide goes through the two callbacks of `conduct`.
"""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace

from independence_bench.budget import Budget
from independence_bench.embedded import server, weights
from independence_bench.embedded.judge import NAME as TABLE_JUDGE
from independence_bench.embedded.judge import TableJudge
from independence_bench.embedded.table import Table
from independence_bench.endpoint import Client, ModelInfo, read_key
from independence_bench.engine import Engine, Order, Report
from independence_bench.errors import SubjectError
from independence_bench.forecast import Forecast, forecast
from independence_bench.judge import Judge, ModelJudge
from independence_bench.plan import jobs
from independence_bench.protocol import Configuration, Protocol
from independence_bench.store import records
from independence_bench.store.database import Store
from independence_bench.subject import AUTO, ChatModel, Endpoint, Reasoning, Roster, Wish, resolve_auto

INTERRUPTED = "interrupted"

# The embedded model is slow and rambles: short replies, taken as they are
EMBEDDED = Wish(weights.SMOLLM2.model, "embedded", max_tokens=200, accept_cut_off=True)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a command line asks for, before anything is looked up."""

    protocol: Protocol
    files: Mapping[str, str]
    configurations: tuple[Configuration, ...]
    wishes: tuple[Wish, ...]
    subjects: tuple[ChatModel, ...]  # settled already: those of the store, to be judged
    roster: Roster
    runs: int  # 0: judge what is stored
    judge: str | None  # as typed; None for no judging
    again: bool = False  # a failed judgement is asked for once more
    at_once: int = 4
    calls_at_once: int = 8
    budget: float | None = None


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a person may want to know before anything is sent."""

    order: Order
    forecast: Forecast
    spent_before: records.Spending
    unpriced: tuple[str, ...]  # models that cost money whose prices are not known
    budget: float | None


async def conduct(
    wanted: Wanted,
    store: Store,
    approve: Callable[[Outlook], bool],
    watch: Callable[[Engine], Awaitable[None]],
) -> Report | None:
    """Carry out what is wanted; None where *approve* said no.

    *watch* runs beside the engine and is cancelled when that has ended. Ctrl-C once: what is in flight is
    waited for and stored; twice: it is left.
    """
    async with AsyncExitStack() as stack:
        judge_wish = None if wanted.judge in (None, TABLE_JUDGE) else judge_of(wanted)
        needed = {wish.endpoint for wish in wanted.wishes} if wanted.runs else set()
        needed |= {judge_wish.endpoint} if judge_wish else set()
        clients = await stack.enter_async_context(_clients(needed, wanted.roster))
        subjects = [
            *wanted.subjects,
            *[await _settle(wish, wanted.protocol, clients) for wish in wanted.wishes],
        ]
        judge: Judge | None = None
        if wanted.judge == TABLE_JUDGE:
            judge = TableJudge(Table.load())
        elif judge_wish is not None:
            default = wanted.protocol.judge
            model = await _settle(judge_wish, wanted.protocol, clients)
            limit = judge_wish.max_tokens or default.max_tokens
            judge = ModelJudge(replace(model, max_tokens=limit, own_limit=False), wanted.again)
        order = Order(
            protocol=wanted.protocol,
            files=wanted.files,
            configurations=wanted.configurations,
            subjects=tuple(dict.fromkeys(subjects)),
            runs=wanted.runs,
            judge=judge,
            at_once=wanted.at_once,
            calls_at_once=wanted.calls_at_once,
        )
        if not approve(await _outlook(order, store, clients, wanted.budget)):
            return None
        engine = Engine(
            order,
            store,
            clients,
            Budget(wanted.budget),
            now=time.time,
            clock=time.monotonic,
            draw=random.Random().random,  # noqa: S311 - jitter, not secrets
        )
        watching = asyncio.ensure_future(watch(engine))
        try:
            with _interruptible(engine):
                return await engine.run()
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)


def judge_of(wanted: Wanted) -> Wish:
    """The judge that was named, or the protocol's own, at the protocol's judging temperature."""
    default = wanted.protocol.judge
    if wanted.judge is None or wanted.judge == default.model:
        return Wish(
            default.model,
            default.endpoint,
            default.temperature,
            default.max_tokens,
            Reasoning(default.reasoning),
        )
    found = wanted.roster.find(wanted.judge)[0]
    # what models.yaml says about a subject's sampling is not how a judge should be sampled
    return Wish(found.model, found.endpoint, default.temperature, None, found.reasoning, found.provider)


@asynccontextmanager
async def _clients(names: set[str], roster: Roster) -> AsyncIterator[dict[str, Client]]:
    """An open client for each endpoint; raises EndpointUnusable where a key is missing or nothing answers."""
    async with AsyncExitStack() as stack:
        clients = {}
        for name in sorted(names):
            endpoint = roster.endpoint(name)
            key = read_key(endpoint)
            if name == "embedded":
                slots = endpoint.at_once or 1
                url = await stack.enter_async_context(server.serve(weights.require(), slots=slots))
                endpoint = replace(endpoint, url=url)
            elif not endpoint.url:
                raise SubjectError(f"the endpoint {name} has no address; say --local-url http://localhost:8080/v1")
            client = await stack.enter_async_context(Client(endpoint, key))
            await client.models()  # a dead endpoint is said here, once, and not by every call
            clients[name] = client
        yield clients


async def _settle(wish: Wish, protocol: Protocol, clients: Mapping[str, Client]) -> ChatModel:
    """The model to call: the wish, the protocol's sampling, and what its endpoint says it can do."""
    if wish.provider and clients[wish.endpoint].endpoint.dialect != "openrouter":
        raise SubjectError(f"{wish.model}: only OpenRouter can be told which provider serves; leave --provider out")
    info = await clients[wish.endpoint].info(wish.model)
    auto = wish.reasoning == AUTO
    reasoning = resolve_auto(wish.model, info.parameters) if auto else Reasoning(wish.reasoning)
    identity = server.identity() if wish.endpoint == "embedded" else ""
    return wish.settle(protocol.temperature, protocol.max_tokens, reasoning, identity)


async def _outlook(order: Order, store: Store, clients: Mapping[str, Client], budget: float | None) -> Outlook:
    with store.reading() as connection:
        spent = records.spending(connection)
        done = {
            row.id
            for subject in order.subjects
            for row in records.transcript_rows(connection, _scripts(order, subject), subject.hash)
        }
    models = [*order.subjects] if order.runs else []
    judge = order.judge.model if isinstance(order.judge, ModelJudge) else None
    if judge is not None:
        models.append(judge)
    prices: dict[str, ModelInfo] = {}
    for model in models:
        prices[model.name] = await clients[model.endpoint].info(model.model)
    free = {name: client.endpoint.free for name, client in clients.items()}
    left = [
        job
        for subject in order.subjects
        for job in jobs(order.protocol, order.configurations, subject, range(1, order.runs + 1), done)
    ]
    unpriced = tuple(
        name for name, info in prices.items() if info.completion_price is None and not _is_free(name, models, free)
    )
    return Outlook(order, forecast(order.protocol, left, judge, prices, free), spent, unpriced, budget)


def _is_free(name: str, models: Sequence[ChatModel], free: Mapping[str, bool]) -> bool:
    return any(model.name == name and free[model.endpoint] for model in models)


def _scripts(order: Order, subject: ChatModel) -> set[str]:
    return {job.script_hash for job in jobs(order.protocol, order.configurations, subject, [1])}


@contextmanager
def _interruptible(engine: Engine) -> Iterator[None]:
    """Ctrl-C (and SIGTERM) stops the engine gently; the second one cancels what is in flight."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def interrupted() -> None:
        if engine.report.stopped is None:
            engine.stop(INTERRUPTED)
        elif task is not None:
            task.cancel()

    def on_signal(_number: int, _frame: object) -> None:
        loop.call_soon_threadsafe(interrupted)

    # not the loop's own handlers: those do not exist on Windows
    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def with_local(roster: Roster, url: str) -> Roster:
    """*roster* with the endpoint ``local`` at *url*."""
    local: Endpoint = replace(roster.endpoints["local"], url=url)
    return replace(roster, endpoints={**roster.endpoints, "local": local})
