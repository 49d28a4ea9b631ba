"""Opens what an order needs, and carries it out: keys, clients, the embedded model, subjects, the engine.

Between the command line, which says what is wanted, and the engine, which wants it all settled. Prints
nothing; what a person should see or decide goes through the two callbacks of `conduct`.
"""

from __future__ import annotations

import asyncio
import gc
import random
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import Protocol as Interface

from independence_bench.calls.budget import Budget
from independence_bench.engine.cost import Estimate, Forecast, estimate
from independence_bench.engine.pending import habit_of, take_stock
from independence_bench.engine.player import Engine
from independence_bench.engine.run import Order, Report
from independence_bench.errors import EndpointUnusable, SubjectError, WrongUse
from independence_bench.judging.embedded.table import Table
from independence_bench.judging.embedded.table_judge import TableJudge
from independence_bench.judging.judge import Judge, ModelJudge
from independence_bench.models.client import Client, read_key
from independence_bench.models.listing import ModelInfo
from independence_bench.models.local import NAME as TABLE_JUDGE
from independence_bench.models.local import server, weights
from independence_bench.models.resolve import settle, takes_temperature
from independence_bench.models.spec import OWN_TEMPERATURE, THINKING_ROOM, ChatModel, Reasoning, Roster, Wish
from independence_bench.models.trust import Allow, known_only
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.store import attempts, usage
from independence_bench.store.database import Store

INTERRUPTED = "interrupted"
COLLECTED = 20_000  # new objects before Python looks for cycles among them; some megabytes

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
    again: bool = False  # what was invalid, or failed to be judged, is asked for once more
    at_once: int = 4
    calls_at_once: int = 8
    budget: float | None = None
    experiments: tuple[str, ...] = ()  # only these; none named: all
    price: tuple[float, float] | None = None  # dollars a token, prompt and reply, where an endpoint lists none
    allow: Allow = known_only  # asked before a key is read
    unnamed: bool = False  # nobody named these subjects: those that are not offered any more are left out, and said


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a person may want to know before anything is sent."""

    order: Order
    forecast: Forecast
    spent_before: attempts.Spending
    budget: float | None
    remarks: tuple[str, ...]  # what the numbers or the budget will not be able to say
    estimates: tuple[Estimate, ...] = ()  # of which the forecast is the sum, subject by subject


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
    async with settled(wanted) as (order, clients):
        if not approve(await outlook_of(order, store, clients, wanted.budget)):
            return None
        return await carry_out(order, store, clients, Budget(wanted.budget), watch)


@asynccontextmanager
async def settled(wanted: Wanted) -> AsyncIterator[tuple[Order, dict[str, Client]]]:
    """What is wanted as an order, its subjects and judge looked up, and the open clients that it needs.

    Raises EndpointUnusable where a key is missing or nothing answers, SubjectError for a subject that there is not.
    """
    async with AsyncExitStack() as stack:
        judge_wish = None if wanted.judge in (None, TABLE_JUDGE) else judge_of(wanted)
        needed = {wish.endpoint for wish in wanted.wishes} if wanted.runs else set()
        needed |= {judge_wish.endpoint} if judge_wish else set()
        try:
            clients = await stack.enter_async_context(_clients(needed, wanted))
        except EndpointUnusable as error:
            if judge_wish is None or not str(error).startswith(f"{judge_wish.endpoint} needs"):
                raise
            if judge_wish.endpoint in {wish.endpoint for wish in wanted.wishes}:
                raise
            raise EndpointUnusable(f"{error}; or judge with --judge embedded, or later with --no-judge") from None
        subjects, left_out = await _settle_all(wanted, clients)
        judge: Judge | None = None
        if wanted.judge == TABLE_JUDGE:
            judge = TableJudge(Table.load())
        elif judge_wish is not None:
            judge = await _model_judge(judge_wish, wanted, clients)
        order = Order(
            protocol=wanted.protocol,
            files=wanted.files,
            configurations=wanted.configurations,
            subjects=tuple(dict.fromkeys(subjects)),
            runs=wanted.runs,
            judge=judge,
            again=wanted.again,
            at_once=wanted.at_once,
            calls_at_once=wanted.calls_at_once,
            experiments=wanted.experiments,
            left_out=tuple(left_out),
        )
        yield order, clients


async def carry_out(
    order: Order,
    store: Store,
    clients: Mapping[str, Client],
    budget: Budget,
    watch: Callable[[Engine], Awaitable[None]],
    now: Callable[[], float] = time.time,
) -> Report:
    """Play and judge *order*, on what is left of *budget*; *watch* and Ctrl-C as with `conduct`.

    *now*: seconds since 1970.
    """
    engine = Engine(
        order,
        store,
        clients,
        budget,
        now=now,
        clock=time.monotonic,
        draw=random.Random().random,  # noqa: S311 - jitter, not secrets
    )
    async with attended(engine, watch(engine)):
        with _seldom_collecting():
            return await engine.run()


@asynccontextmanager
async def open_judge(wanted: Wanted) -> AsyncIterator[tuple[Judge, dict[str, Client]]]:
    """The judge that is wanted and the clients that it needs, for who has nothing to play.

    Raises EndpointUnusable where a key is missing or nothing answers.
    """
    if wanted.judge == TABLE_JUDGE:
        yield TableJudge(Table.load()), {}
        return
    wish = judge_of(wanted)
    async with _clients({wish.endpoint}, wanted) as clients:
        yield await _model_judge(wish, wanted, clients), clients


async def _model_judge(wish: Wish, wanted: Wanted, clients: Mapping[str, Client]) -> ModelJudge:
    model = await _settle(wish, wanted.protocol, clients)
    room = THINKING_ROOM if wish.reasoning is None and model.thinks else 1  # it thinks although nobody asked for it
    return ModelJudge(replace(model, own_limit=False, max_tokens=room * model.max_tokens), wanted.again)


def judge_of(wanted: Wanted) -> Wish:
    """The judge that was named, or the protocol's own, called as the protocol says."""
    default = wanted.protocol.judge
    # what models.yaml says is how a subject is called
    own = wanted.judge is None or wanted.judge == default.model
    found = default if own or wanted.judge is None else wanted.roster.find(wanted.judge)[0]
    reasoning = None if default.reasoning == Reasoning.OFF else default.reasoning  # off, where the judge can be
    return Wish(found.model, found.endpoint, default.temperature, default.max_tokens, reasoning)


@contextmanager
def _seldom_collecting() -> Iterator[None]:
    """Thousands of calls in flight are objects that live; looking through them for garbage took a fifth of our time."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(COLLECTED, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


@asynccontextmanager
async def _clients(names: set[str], wanted: Wanted) -> AsyncIterator[dict[str, Client]]:
    """An open client for each endpoint; raises EndpointUnusable where a key is missing or nothing answers."""
    async with AsyncExitStack() as stack:
        endpoints = {name: wanted.roster.endpoint(name) for name in sorted(names)}
        for name, endpoint in endpoints.items():
            if not endpoint.url and not endpoint.ours:
                raise SubjectError(f"the endpoint {name} has no address; say --local-url http://localhost:8080/v1")
        keys = {name: read_key(endpoint, wanted.allow) for name, endpoint in endpoints.items()}
        clients = {}
        for name, endpoint in endpoints.items():
            if name == "embedded":
                slots = endpoint.at_once or 1
                url = await stack.enter_async_context(server.serve(weights.require(), slots=slots))
                endpoint = replace(endpoint, url=url)
            client = await stack.enter_async_context(Client(endpoint, keys[name], price=wanted.price))
            await client.models()  # a dead endpoint is said here, once, and not by every call
            clients[name] = client
        yield clients


async def _settle(wish: Wish, protocol: Protocol, clients: Mapping[str, Client]) -> ChatModel:
    identity = server.identity() if wish.endpoint == "embedded" else ""
    return await settle(wish, protocol.temperature, protocol.max_tokens, clients[wish.endpoint], identity)


async def _settle_all(wanted: Wanted, clients: Mapping[str, Client]) -> tuple[list[ChatModel], list[str]]:
    """The subjects that are wanted; with them, where nobody named them, why some are left out.

    Raises SubjectError for one that was named, WrongUse where all are left out.
    """
    subjects, left_out = list(wanted.subjects), []
    for wish in wanted.wishes:
        try:
            subjects.append(await _settle(wish, wanted.protocol, clients))
        except SubjectError as error:
            if not wanted.unnamed:
                raise
            left_out.append(f"left out: {error}")
    if wanted.wishes and not subjects:
        raise WrongUse(f"none of these subjects is offered any more; {left_out[0].removeprefix('left out: ')}")
    return subjects, left_out


async def outlook_of(order: Order, store: Store, clients: Mapping[str, Client], budget: float | None) -> Outlook:
    """What *order* will take, beside what the store has cost so far."""
    models = [*order.subjects] if order.runs else []
    judge = order.judge.model if isinstance(order.judge, ModelJudge) else None
    if judge is not None:
        models.append(judge)
    infos = {model: await clients[model.endpoint].info(model.model) for model in models}
    free = {name for name, client in clients.items() if client.endpoint.free}
    estimates = []
    with store.reading() as connection:
        spent = attempts.spending(connection)
        verdicts = usage.verdict_tokens(connection, judge.hash) if judge else {}
        for subject in order.subjects:
            stock = take_stock(connection, order, subject)
            habit = habit_of(connection, subject, stock)
            estimates.append(
                estimate(order.protocol, subject, stock.to_play, stock.to_judge, judge, habit, verdicts, infos, free)
            )
    remarks = [*order.left_out]
    for model, info in infos.items():
        remarks += _remarks(order, model, info, model.endpoint in free, budget is not None)
    whole = sum((one.whole for one in estimates), Forecast())
    return Outlook(order, whole, spent, budget, tuple(remarks), tuple(estimates))


def _remarks(order: Order, model: ChatModel, info: ModelInfo, free: bool, bounded: bool) -> list[str]:
    """What the endpoint's list says against calling *model* like this."""
    said = []
    if not free and info.most(1, 1) is None:
        so = "; the budget counts what its replies say they cost, one call at a time until one has" if bounded else ""
        said.append(f"the price of {model.name} is not known: --price IN OUT sets it{so}")
    if model.endpoint == "local" and not info.identity:
        said.append(f"{model.name} is known by its name only: after putting other weights behind it, use another store")
    if info.always_reasons:
        said.append(f"{model.name} cannot be told not to reason: it is called with effort {model.reasoning}")
    if info.parameters is None or model.endpoint == "embedded":
        return said
    if not takes_temperature(info):
        own = model.temperature == OWN_TEMPERATURE
        so = "it is called with 1" if own else f"its label says {model.temperature:g}, it may ignore that"
        said.append(f"{model.name} does not list temperature: {so}")
    if model.thinks and "reasoning" not in info.parameters:
        said.append(f"{model.name} does not list reasoning: it may not think, whatever its label says")
    in_tool_role = any(configuration.delivery == "tool_role" for configuration in order.configurations)
    if model in order.subjects and in_tool_role and "tools" not in info.parameters:
        said.append(f"{model.name} does not list tools: tool_role may be refused; --modes user_role needs none")
    return said


class Stoppable(Interface):
    """Something at work that can be told to stop: the engine, say."""

    report: Report

    def stop(self, why: str) -> None:
        """Send nothing new; what is in flight is waited for and stored."""
        ...


@asynccontextmanager
async def attended(work: Stoppable, watching: Awaitable[None]) -> AsyncIterator[None]:
    """A block of *work* that Ctrl-C stops gently, with *watching* beside it until it has ended."""
    beside = asyncio.ensure_future(watching)
    try:
        with interruptible(work):
            yield
    finally:
        beside.cancel()
        await asyncio.gather(beside, return_exceptions=True)


@contextmanager
def interruptible(engine: Stoppable) -> Iterator[None]:
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
    return roster.moved("local", url)
