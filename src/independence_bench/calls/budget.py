"""The budget of a command, and what calls cost, as far as it is known.

A budget is a bound in dollars on what one command spends, judges and retries included, or all
workers of a job together. Every call reserves the most it can cost before it is sent and settles
for what it did cost. Prices are what an endpoint lists and what its replies say; where these differ
the dearer one counts. What is not known or too low is learned from one call, and the bound is then
kept up to the calls in flight. Sends nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from independence_bench.calls.call import CallState, KnownPrices
from independence_bench.errors import BudgetSpent
from independence_bench.models.client import Client
from independence_bench.models.messages import ChatRequest, Completion, Fault, Kind, Usage
from independence_bench.models.response import ModelInfo
from independence_bench.models.spec import ChatModel
from independence_bench.store import usage as stored_usage
from independence_bench.store.group_commit import Commits
from independence_bench.store.usage import ListPrice
from independence_bench.store.workers import Grant

# of plain letters; fewer than in English prose, so that a reservation is rather too large
CHARACTERS_A_TOKEN = 2.5
PROMPT_OVERHEAD = 200  # tokens for tools, roles and a template
LOOK = 0.5  # seconds between two looks whether another worker has left some over


class Purse(Protocol):
    """The budget of a job, as one of its workers uses it. All in dollars."""

    def has_lapsed(self) -> bool:
        """Return whether this worker slept so long that its claim on the dollars that it reserved
        has ended, and other workers of the job may have spent them.
        """

    async def draw(self, limit: float, needed: float, held: float) -> Grant:
        """Reserve more dollars of the job's budget of *limit* dollars for this worker: *needed* at
        least, or none. *held*: the dollars that this worker has reserved and not spent. Returns
        what was granted and the state of the budget.
        """

    async def give_back(self) -> None:
        """Leave the dollars that this worker has reserved and not spent to the job's other workers.
        No call of this worker may be in flight.
        """

    def pause(self, seconds: float, /) -> Awaitable[None]:
        """Sleep for so many *seconds*; raises an error as soon as the command is asked to stop."""


class Budget:
    """A bound in US dollars on what one command spends: *limit*, None for no bound. *spent* by this
    command is kept either way.

    *job*: all workers of that name have this limit together; then a `Purse` says how much this one
    may spend.
    """

    def __init__(self, limit: float | None = None, job: str | None = None) -> None:
        self.limit, self.job = limit, job
        self.spent = 0.0
        self.reserved = 0.0
        self.in_flight = 0
        self.largest = 0.0  # dollars that a call could cost at most, of those so far
        self.short = 0  # calls that wait for others to leave some over
        self.purse: Purse | None = None
        self.settled = asyncio.Event()  # set when a call has settled, then a new one
        self._drawn = 0.0  # from the purse, what is spent of it included
        self._drawing = False

    def reserve(self, most: float) -> Reservation:
        """Return an asynchronous context manager that reserves *most* dollars, the most that a call
        can cost, while its block runs. Entering it waits until they fit into the budget, as calls
        in flight may cost less than they reserved.

        Entering it raises BudgetSpent if nothing is in flight and *most* still does not fit.
        """
        return Reservation(self, most)

    def can_afford(self, most: float) -> bool:
        """Return whether a call that costs up to *most* dollars fits into what this command may
        spend, beside what is spent and reserved. Always True without a limit; always False once the
        limit is reached.
        """
        if self.limit is None:
            return True
        may = self._drawn if self.purse else self.limit
        return self.spent + self.reserved + most <= may and self.spent < may

    def attach_purse(self, purse: Purse | None) -> None:
        """Spend from *purse*, the budget that this worker shares with the job's others, from now
        on. None: from no shared budget any more; what was reserved there and not spent does not
        count here any more.
        """
        self.purse, self._drawn = purse, self.spent

    async def wait_until_affordable(self, most: float) -> None:
        """Wait until a call that costs up to *most* dollars fits into the budget. Raises
        BudgetSpent if it never will.
        """
        self.largest = max(self.largest, most)
        self.short += 1
        try:
            await self._wait_until_affordable(most)
        finally:
            self.short -= 1

    async def _wait_until_affordable(self, most: float) -> None:
        while True:
            # others may have had what was drawn and not spent
            if self.purse is not None and self.purse.has_lapsed():
                self._drawn = min(self._drawn, self.spent + self.reserved)
            if self.can_afford(most):
                return
            if self.purse is None:
                if self.reserved == 0:
                    raise self.make_spent_error(most)
                await self.settled.wait()
            # one call asks for all: each draw is a transaction that workers take turns in
            elif self._drawing:
                await self.settled.wait()
            else:
                self._drawing = True
                try:
                    await self._draw_more(self.purse, most)
                finally:
                    self._drawing = False
                    self.wake_waiting()

    def make_spent_error(self, most: float) -> BudgetSpent:
        """Return the error for a call that costs up to *most* dollars and does not fit into the
        budget.
        """
        return BudgetSpent(
            f"the budget of ${self.limit:g} is used up: ${self.spent:.4f} is spent "
            f"and the next call may cost ${most:.4f}; raise --budget, or run it again "
            "for as much once more"
        )

    async def _draw_more(self, purse: Purse, most: float) -> None:
        """Ask *purse*, the job's shared budget, once for the dollars that a call of up to *most*
        dollars lacks. If none are granted, sleep a little, so that other calls and workers may
        leave some over. Raises BudgetSpent if nobody can.
        """
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
                lost = (
                    f", calls that were lost in flight may have cost ${grant.lost:.4f},"
                    if grant.lost
                    else ""
                )
                raise BudgetSpent(
                    f"the budget of ${limit:g} of the job {self.job} is used up: "
                    f"${grant.spent:.4f} is spent by its "
                    f"workers{lost} and the next call may cost ${most:.4f}; raise --budget, or "
                    "name another --job"
                )
        self._drawn += more
        if not more:
            await purse.pause(LOOK)

    def wake_waiting(self) -> None:
        """Wake the calls that wait for the budget, so that each looks again whether it fits."""
        self.settled.set()
        self.settled = asyncio.Event()


class Reservation:
    """A block of code that may cost something. Set *cost* to what it did, in dollars; left alone,
    it cost nothing.
    """

    __slots__ = ("_budget", "_most", "cost")

    def __init__(self, budget: Budget, most: float) -> None:
        self._budget, self._most = budget, most
        self.cost = 0.0

    async def __aenter__(self) -> Reservation:
        budget, most = self._budget, self._most
        await budget.wait_until_affordable(most)
        budget.reserved += most
        budget.in_flight += 1
        return self

    async def __aexit__(self, *exc: object) -> None:
        # no await in here: tasks that wait are woken even if this call is being cancelled
        budget = self._budget
        budget.in_flight -= 1
        # what would be left is rounding
        budget.reserved = budget.reserved - self._most if budget.in_flight else 0.0
        budget.spent += self.cost
        if budget.limit is not None:
            budget.wake_waiting()


Who = tuple[str, str]
"""A model by (endpoint, its name there)."""


@dataclass(slots=True)
class Prices:
    """The most that the calls of one command can cost: by listed prices, or by the dearest reply if
    one cost more.

    A list price is a claim: until a reply has been served, in this command or in an earlier one
    that was told a cost, a model's calls on a budget go to their endpoint one by one.
    """

    commits: Commits
    clients: Mapping[str, Client]
    budget: Budget
    owner: str
    # dollars of the dearest call beyond the list price
    dearest: dict[Who, float] = field(default_factory=dict)
    shown: set[Who] = field(default_factory=set)  # models of which a reply was served
    # endpoint -> held by a call of a model not in *shown*
    alone: dict[str, asyncio.Lock] = field(default_factory=dict)
    listed: set[Who] = field(default_factory=set)  # models whose list price is written down
    # the attempts of the store up to this one are looked at; None: none is
    looked: int | None = None

    @contextlib.asynccontextmanager
    async def hold_turn_if_unpriced(self, model: ChatModel) -> AsyncIterator[KnownPrices | None]:
        """Make the calls of *model* wait for each other at their endpoint, one at a time, while the
        block runs, if no reply has shown yet what the model costs. Used if there is a budget.

        The block gets what is known of prices, which must still hold when the call is sent, since
        the other workers of a job do not wait for this one; None if the model's cost was shown, so
        that nothing waits.
        """
        async with contextlib.AsyncExitStack() as stack:
            unproven = None
            if not await self._has_shown_cost(model):
                await stack.enter_async_context(
                    self.alone.setdefault(model.endpoint, asyncio.Lock())
                )
                if await self._has_shown_cost(model):  # by the call before
                    await stack.aclose()
                else:
                    unproven = KnownPrices(self.shown, self.looked or 0)
            yield unproven

    async def _has_shown_cost(self, model: ChatModel) -> bool:
        """Return whether a reply has shown what *model* costs, in this command or in an earlier
        one, whose attempts are looked up in the store. True at an endpoint that is free.
        """
        who = (model.endpoint, model.model)
        if who in self.shown or self.clients[model.endpoint].endpoint.free:
            return True
        look = partial(stored_usage.read_seen_costs, after=self.looked or 0, job=self.budget.job)
        seen = await self.commits.commit_operation(look)
        self.looked = max(self.looked or 0, seen.looked)
        self.shown |= seen.shown
        for dear, dollars in seen.dearest.items():
            self.dearest[dear] = max(self.dearest.get(dear, 0.0), dollars)
        return who in self.shown

    async def store_list_price(self, model: ChatModel) -> None:
        """Store the price that the endpoint lists for *model*, once in this command. Does nothing
        if the endpoint is free, or its list was not read or has no price of the model.
        """
        client, who = self.clients[model.endpoint], (model.endpoint, model.model)
        if who in self.listed or client.endpoint.free or not client.has_read_list:
            return
        self.listed.add(who)
        info = await client.find_model_info(model.model)
        if info.prompt_price is not None and info.completion_price is not None:
            price = ListPrice(info.prompt_price, info.completion_price, info.request_price)
            await self.commits.commit_operation(
                partial(
                    stored_usage.store_price,
                    owner=self.owner,
                    endpoint=who[0],
                    model=who[1],
                    price=price,
                )
            )

    async def find_highest_cost(self, request: ChatRequest, token_limit: int) -> float:
        """Return the most US dollars that one attempt at *request* with up to *token_limit* tokens
        of reply can cost: by the list price, or by the model's dearest call so far if that was
        more. 0 if the endpoint is free or there is no budget.

        A model that was not served yet counts as dear as the dearest model at its endpoint of which
        the list was wrong before.
        """
        model = request.model
        client = self.clients[model.endpoint]
        if client.endpoint.free or self.budget.limit is None:
            return 0.0
        info = await client.find_model_info(model.model)
        listed = info.compute_cost(estimate_most_prompt_tokens(request), token_limit) or 0.0
        who = (model.endpoint, model.model)
        alike = [who] if who in self.shown else [one for one in self.dearest if one[0] == who[0]]
        return max(listed, *(self.dearest.get(one, 0.0) for one in alike), 0.0)

    async def correct_usage(self, model: ChatModel, usage: Usage) -> Usage:
        """Return *usage*, the tokens and cost that the endpoint stated for an attempt, with a cost
        that can be true: 0 at a free endpoint, and None (not known) in place of a stated 0 if a
        price is listed for *model*.
        """
        client = self.clients[model.endpoint]
        if client.endpoint.free:
            return replace(usage, cost=0.0)
        if usage.cost == 0 and (await client.find_model_info(model.model)).compute_cost(1, 1):
            return replace(usage, cost=None)
        return usage

    async def compute_and_note_charge(
        self,
        state: CallState[Any],
        outcome: Completion | Fault,
        usage: Usage,
        closed_endpoints: dict[str, str],
    ) -> float:
        """Return the US dollars that the budget counts for an attempt at the call *state*: the cost
        in *usage*, or its tokens at the list price if that is more. If no cost was stated, the most
        that the attempt can have cost; 0 if no reply can have been made.

        Also notes what the attempt shows of the model's price, and counts it in the call's tally if
        its cost is not known. An endpoint whose calls no budget can bound is added to
        *closed_endpoints* (endpoint -> why). The stored cost and the tally's dollars count only
        what was stated.
        """
        model = state.call.request.model
        client, who = self.clients[model.endpoint], (model.endpoint, model.model)
        bounded = self.budget.limit is not None and not client.endpoint.free
        info = await client.find_model_info(model.model) if bounded else ModelInfo(model.model)
        listed = _price_usage(info, usage)
        served = isinstance(outcome, Completion) or outcome.status == 200
        if usage.cost is not None:
            self.shown.add(who)
            if listed is None or usage.cost > listed * stored_usage.ROUNDED:
                self.dearest[who] = max(self.dearest.get(who, 0.0), usage.cost)
            return max(usage.cost, listed or 0.0)
        # a reply that did not arrive may have been made, and charged
        unseen = (
            isinstance(outcome, Fault)
            and outcome.kind in (Kind.CONNECTION, Kind.TIMEOUT)
            and not outcome.unsent
        )
        if not served and not unseen:
            return 0.0
        state.tally.unpriced += 1
        if served and info.compute_cost(1, 1) is not None:
            self.shown.add(who)  # it never tells more
        elif served and bounded and who not in self.shown:
            closed_endpoints.setdefault(
                model.endpoint,
                f"{model.name} reports neither prices nor costs, so --budget cannot bound it; "
                "--price IN OUT sets its price, or leave --budget out, or say `free: true` for "
                "its endpoint in models.yaml",
            )
        return max(await self.find_highest_cost(state.request, state.token_limit), listed or 0.0)


def _price_usage(info: ModelInfo, usage: Usage) -> float | None:
    """Return the US dollars of the tokens in *usage* at the model's list price, tokens from a cache
    at their own price; None if the tokens or a price are not known.
    """
    prompt, completion = usage.prompt_tokens, usage.completion_tokens
    if prompt is None or completion is None or info.compute_cost(0, 0) is None:
        return None
    cached = 0 if info.cached_price is None else min(usage.cached_tokens or 0, prompt)
    rest = info.compute_cost(prompt - cached, completion)
    return None if rest is None else rest + cached * (info.cached_price or 0.0)


def estimate_most_prompt_tokens(request: ChatRequest) -> float:
    """Return an upper estimate of the number of tokens in the prompt of *request*, its tools and
    schema included, whatever the tokenizer.
    """
    texts = [request.schema, *(message.content or "" for message in request.messages)]
    texts += [call.arguments for message in request.messages for call in message.tool_calls]
    texts += [json.dumps(tool.format_tool(), ensure_ascii=False) for tool in request.tools]
    text = "".join(texts)
    if text.isascii():
        return PROMPT_OVERHEAD + len(text) / CHARACTERS_A_TOKEN
    # other scripts can take a token for every byte
    plain = len(text.encode("ascii", "ignore"))
    return (
        PROMPT_OVERHEAD + plain / CHARACTERS_A_TOKEN + len(text.encode("utf-8", "replace")) - plain
    )
