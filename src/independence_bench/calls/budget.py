"""The budget of a command, and what calls cost, as far as it is known.

A budget is a bound in dollars on what one command spends, judges and retries included, or all workers of a job
together. Every call reserves the most it can cost before it is sent and settles for what it did cost. Where prices are
not known the reservation is a guess from what has been seen, and the bound is then kept up to the calls in flight.
Sends nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from independence_bench.calls.call import CallState
from independence_bench.errors import BudgetSpent
from independence_bench.models.client import Client
from independence_bench.models.messages import ChatRequest, Completion, Fault, Kind, Usage
from independence_bench.models.spec import ChatModel
from independence_bench.store import usage as stored_usage
from independence_bench.store.group_commit import Commits
from independence_bench.store.usage import ListPrice
from independence_bench.store.workers import Grant

CHARACTERS_A_TOKEN = 2.5  # of plain letters; fewer than in English prose, so that a reservation is rather too large
PROMPT_OVERHEAD = 200  # tokens for tools, roles and a template
LOOK = 0.5  # seconds between two looks whether another worker has left some over


class Purse(Protocol):
    """Where the budget of a job is kept, for one of its workers. All in dollars."""

    def lapsed(self) -> bool:
        """Whether this worker slept so long that others may have spent what it held."""

    async def draw(self, limit: float, needed: float, held: float) -> Grant:
        """Ask for more than this worker *held*: *needed* at least, or it is granted nothing."""

    async def give_back(self) -> None:
        """Leave to others what is not spent; nothing is in flight."""

    def pause(self, seconds: float, /) -> Awaitable[None]:
        """Sleep; raises where the command is asked to stop."""


class Budget:
    """*limit* in US dollars, None for no bound. *spent* by this command is kept either way.

    *job*: all workers of that name have this limit together; then a `Purse` says how much this one may spend.
    """

    def __init__(self, limit: float | None = None, job: str | None = None) -> None:
        self.limit, self.job = limit, job
        self.spent = 0.0
        self.reserved = 0.0
        self.in_flight = 0
        self.purse: Purse | None = None
        self.settled = asyncio.Event()  # set when a call has settled, then a new one
        self._drawn = 0.0  # from the purse, what is spent of it included
        self._drawing = False

    def reserve(self, most: float) -> Reservation:
        """Hold *most* dollars while a block runs; waits for calls in flight that may leave some over.

        Entering it raises BudgetSpent when nothing is in flight and it still does not fit.
        """
        return Reservation(self, most)

    def fits(self, most: float) -> bool:
        """Whether a call of up to *most* dollars stays within what may be spent here; at that nothing more does."""
        if self.limit is None:
            return True
        may = self._drawn if self.purse else self.limit
        return self.spent + self.reserved + most <= may and self.spent < may

    def attach(self, purse: Purse | None) -> None:
        """From now on spend from *purse*; None: from none, what was not spent of it is given back."""
        self.purse, self._drawn = purse, self.spent

    async def make_room(self, most: float) -> None:
        """Wait until a call of up to *most* dollars fits. Raises BudgetSpent where it never will."""
        while True:
            if self.purse is not None and self.purse.lapsed():  # others may have had what was drawn and not spent
                self._drawn = min(self._drawn, self.spent + self.reserved)
            if self.fits(most):
                return
            if self.purse is None:
                if self.reserved == 0:
                    raise BudgetSpent(
                        f"the budget of ${self.limit:g} is used up: ${self.spent:.4f} is spent and the next call "
                        f"may cost ${most:.4f}; raise --budget, or run it again for as much once more"
                    )
                await self.settled.wait()
            elif self._drawing:  # one call asks for all: each draw is a transaction that workers take turns in
                await self.settled.wait()
            else:
                self._drawing = True
                try:
                    await self._draw(self.purse, most)
                finally:
                    self._drawing = False
                    self.tell()

    async def _draw(self, purse: Purse, most: float) -> None:
        """Ask for more once; where there is none wait a little for what is held, here or elsewhere."""
        limit = self.limit or 0.0
        held = max(self._drawn - self.spent, 0.0)
        more = (await purse.draw(limit, max(self.reserved + most - held, 0.0), held)).granted
        if not more and self.reserved == 0:
            # what is left over here may be what another worker waits for
            self._drawn = self.spent
            await purse.give_back()
            grant = await purse.draw(limit, most, 0.0)
            more = grant.granted
            if not more and not grant.elsewhere:
                lost = f", calls that were lost in flight may have cost ${grant.lost:.4f}," if grant.lost else ""
                raise BudgetSpent(
                    f"the budget of ${limit:g} of the job {self.job} is used up: ${grant.spent:.4f} is spent by its "
                    f"workers{lost} and the next call may cost ${most:.4f}; raise --budget, or name another --job"
                )
        self._drawn += more
        if not more:
            await purse.pause(LOOK)

    def tell(self) -> None:
        """Have those that wait look again."""
        self.settled.set()
        self.settled = asyncio.Event()


class Reservation:
    """A block of code that may cost something. Set *cost* to what it did, in dollars; left alone, it cost nothing."""

    __slots__ = ("_budget", "_most", "cost")

    def __init__(self, budget: Budget, most: float) -> None:
        self._budget, self._most = budget, most
        self.cost = 0.0

    async def __aenter__(self) -> Reservation:
        budget, most = self._budget, self._most
        await budget.make_room(most)
        budget.reserved += most
        budget.in_flight += 1
        return self

    async def __aexit__(self, *exc: object) -> None:
        # no await in here: tasks that wait are woken even if this call is being cancelled
        budget = self._budget
        budget.in_flight -= 1
        budget.reserved = budget.reserved - self._most if budget.in_flight else 0.0  # what would be left is rounding
        budget.spent += self.cost
        if budget.limit is not None:
            budget.tell()


@dataclass(slots=True)
class Prices:
    """What the calls of one command can cost at most, by listed prices, else by the most that a reply has cost."""

    commits: Commits
    clients: Mapping[str, Client]
    budget: Budget
    owner: str
    dearest: dict[str, float] = field(default_factory=dict)  # model -> highest cost seen, in dollars
    alone: dict[str, asyncio.Lock] = field(default_factory=dict)  # endpoint -> held by its call of unforeseeable cost
    listed: set[tuple[str, str]] = field(default_factory=set)  # endpoint, model: whose list price is written down

    @contextlib.asynccontextmanager
    async def one_at_a_time(self, model: ChatModel) -> AsyncIterator[None]:
        """A block in which calls of unforeseeable cost to one endpoint, on a budget, wait for each other."""
        async with contextlib.AsyncExitStack() as stack:
            if not await self._foreseeable(model):
                await stack.enter_async_context(self.alone.setdefault(model.endpoint, asyncio.Lock()))
                if await self._foreseeable(model):  # the call before has shown its cost
                    await stack.aclose()
            yield

    async def _foreseeable(self, model: ChatModel) -> bool:
        """Whether a price is listed, or a reply has shown its cost. A price of nothing has to be seen once more."""
        client = self.clients[model.endpoint]
        if client.endpoint.free or model.name in self.dearest or (await client.info(model.model)).most(1, 1):
            return True
        most = await self.commits.do(partial(stored_usage.dearest, endpoint=model.endpoint, model=model.model))
        if most:  # an earlier command's
            self.dearest.setdefault(model.name, most)
        return bool(most)

    async def keep(self, model: ChatModel) -> None:
        """Write down what the endpoint lists for *model*, once, if its list was read and has it."""
        client, who = self.clients[model.endpoint], (model.endpoint, model.model)
        if who in self.listed or client.endpoint.free or not client.knows_list:
            return
        self.listed.add(who)
        info = await client.info(model.model)
        if info.prompt_price is not None and info.completion_price is not None:
            price = ListPrice(info.prompt_price, info.completion_price, info.request_price)
            await self.commits.do(
                partial(stored_usage.keep_price, owner=self.owner, endpoint=who[0], model=who[1], price=price)
            )

    async def most(self, request: ChatRequest, limit: int) -> float:
        """Dollars that an attempt can cost at most; where no price is known, or one of nothing, the most so far."""
        client = self.clients[request.model.endpoint]
        if client.endpoint.free or self.budget.limit is None:
            return 0.0
        info = await client.info(request.model.model)
        return info.most(most_tokens(request), limit) or self.dearest.get(request.model.name, 0.0)

    async def charge(
        self, state: CallState[Any], outcome: Completion | Fault, usage: Usage, closed: dict[str, str]
    ) -> float:
        """What the budget counts for an attempt, in dollars: what it cost, or the most where that is not known.

        The ledger (`Usage.cost`, the tally) counts only what is known. An endpoint whose calls no budget can bound is
        put into *closed*, and why.
        """
        model = state.call.request.model
        if usage.cost is not None:
            self.dearest[model.name] = max(self.dearest.get(model.name, 0.0), usage.cost)
            return usage.cost
        served = isinstance(outcome, Completion) or outcome.status == 200
        # a reply that did not arrive may have been made, and charged
        unseen = isinstance(outcome, Fault) and outcome.kind in (Kind.CONNECTION, Kind.TIMEOUT) and not outcome.unsent
        if not served and not unseen:
            return 0.0
        state.tally.unpriced += 1
        most = await self.most(state.call.request, state.limit)
        if served and self.budget.limit is not None and most == 0.0 and model.name not in self.dearest:
            if (await self.clients[model.endpoint].info(model.model)).most(1, 1) is not None:
                self.dearest[model.name] = 0.0  # nothing, as listed
            else:
                closed.setdefault(
                    model.endpoint,
                    f"{model.name} reports neither prices nor costs, so --budget cannot bound it; --price IN OUT sets "
                    "its price, or leave --budget out, or say `free: true` for its endpoint in models.yaml",
                )
        return most


def most_tokens(request: ChatRequest) -> float:
    """Tokens that the prompt of *request* has at most, whatever the tokenizer."""
    texts = [request.schema, *(message.content or "" for message in request.messages)]
    texts += [call.arguments for message in request.messages for call in message.tool_calls]
    texts += [json.dumps(tool.wire(), ensure_ascii=False) for tool in request.tools]
    text = "".join(texts)
    if text.isascii():
        return PROMPT_OVERHEAD + len(text) / CHARACTERS_A_TOKEN
    # other scripts can take a token for every byte
    plain = len(text.encode("ascii", "ignore"))
    return PROMPT_OVERHEAD + plain / CHARACTERS_A_TOKEN + len(text.encode("utf-8", "replace")) - plain
