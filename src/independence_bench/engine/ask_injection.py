"""Carries out a probe: asks one judge about every conversation of its pairs, bought like any judgement.

What is stored is not asked again, a budget bounds it, Ctrl-C stops it and the same command goes on. No transcript
is stored, so no table knows of it. Prints nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from independence_bench.calls.budget import Budget
from independence_bench.calls.call import Question
from independence_bench.calls.executor import Stopped, together
from independence_bench.calls.ledger import Tally
from independence_bench.calls.limits import Room
from independence_bench.calls.pool import Clocks, Shop, open_shop, real_clocks
from independence_bench.calls.retry import GaveUp
from independence_bench.engine.cost import CHARACTERS_A_TOKEN, VERDICT_TOKENS, Forecast
from independence_bench.engine.run import Order, Progress, Report, Trouble
from independence_bench.engine.session import Outlook, Wanted, attended, open_judge, outlook_of
from independence_bench.errors import BudgetSpent
from independence_bench.judging.injection.pairs import AttackPair, ProbeFindings, ProbeInput, all_pairs, findings
from independence_bench.judging.judge import Judge, ModelJudge
from independence_bench.judging.prompt import judge_request
from independence_bench.models.client import Client
from independence_bench.store import attempts as stored_attempts
from independence_bench.store import registry, results
from independence_bench.store.database import Store
from independence_bench.store.results import Judgement


@dataclass(frozen=True, slots=True)
class Cost:
    """What a probe's judgements have cost, in whichever command: dollars, and attempts that told no price."""

    dollars: float
    attempts: int
    unpriced: int


@dataclass(frozen=True, slots=True)
class Probed:
    """What a probe came to."""

    findings: ProbeFindings
    report: Report
    cost: Cost


class Probing:
    """A probe at work. `report` can be read meanwhile; `judgements`, by key, fill up."""

    def __init__(self, judge: Judge, pairs: Sequence[AttackPair], store: Store, clients: Mapping[str, Client]) -> None:
        self.judge, self._store, self._clients = judge, store, clients
        self.cases = cases_of(pairs, judge.hash)
        self.judgements = stored(store, self.cases)
        self.report = Report([], Budget())
        self.tally = Tally()
        self._stopping = asyncio.Event()

    @property
    def missing(self) -> list[ProbeInput]:
        """What is still to be judged."""
        return [case for key, case in self.cases.items() if key not in self.judgements]

    def stop(self, why: str) -> None:
        """Send nothing new; what is in flight is waited for and stored."""
        self.report.stopped = self.report.stopped or why
        self._stopping.set()

    async def run(self, budget: Budget, calls_at_once: int, clocks: Clocks) -> None:
        """Judge what is missing. Raises StoreError; all else is in the report."""
        self.report.budget = budget
        self._begin()
        async with open_shop(self._store, self._clients, budget, self._stopping, calls_at_once, clocks) as shop:
            self.report.lost = shop.lost
            await shop.buyer.commits.do(
                lambda c: registry.keep_judge(c, self.judge.hash, self.judge.label, self.judge.spec)
            )
            desk = _Desk(shop, Room(calls_at_once), self.tally, clocks.now)
            await together(self._judge(case, desk) for case in self.missing)

    def _begin(self) -> None:
        """Put the judge's line into the report: of a judge that is a model, for another one asks nobody."""
        if isinstance(self.judge, ModelJudge):
            known, every = len(self.judgements), len(self.cases)
            to_get = every - known
            self.report.subjects.append(
                Progress(
                    self.judge.model, planned=every, done=every, to_judge=every, judged=known,
                    calls=to_get, calls_left=to_get, state="playing", tally=self.tally,
                )
            )  # fmt: skip

    async def _judge(self, case: ProbeInput, desk: _Desk) -> None:
        try:
            judgement = await self.judge.judge(case, desk)
        except Stopped:
            return
        except BudgetSpent as error:
            self.stop(str(error))
            return
        except GaveUp as error:
            for progress in self.report.subjects:
                progress.failed += 1
                progress.calls -= 1
                progress.calls_left -= 1
                progress.troubles.append(Trouble(f"a conversation of {case.scenario.id}", error.reason))
            return
        self.judgements[case.key(self.judge.hash)] = judgement
        for progress in self.report.subjects:
            progress.judged += 1
            progress.calls_left -= 1


@dataclass(frozen=True, slots=True)
class _Desk:
    """What a judge is lent."""

    shop: Shop
    room: Room
    tally: Tally
    now: Callable[[], float]

    async def buy(self, question: Question[Judgement]) -> Judgement:
        """Buy what a judge asks a model."""
        return await self.shop.buyer.buy(question, self.room, self.tally)

    async def store(self, judgement: Judgement) -> Judgement:
        """Store a judgement that cost nothing."""
        await self.shop.buyer.commits.add(results.keep_judgements, (judgement.key, None, judgement, self.now()))
        return judgement


def cases_of(pairs: Iterable[AttackPair], judge_hash: str) -> dict[str, ProbeInput]:
    """Everything to be judged, by key: each conversation once, those without an addition first."""
    every = [*(pair.plain for pair in pairs), *(pair.attacked for pair in pairs)]
    return {case.key(judge_hash): case for case in every}


def stored(store: Store, keys: Iterable[str]) -> dict[str, Judgement]:
    """Those of the judgements called *keys* that the store has."""
    with store.reading() as connection:
        return results.find_judgements(connection, list(keys))


def cost_of(store: Store, keys: Iterable[str]) -> Cost:
    """What the judgements called *keys* have cost, every attempt at them included."""
    with store.reading() as connection:
        attempts = stored_attempts.attempts_of(connection, list(keys))
    told = [attempt["cost"] for attempt in attempts if attempt["cost"] is not None]
    answered = [
        attempt for attempt in attempts if attempt["outcome"] in (stored_attempts.ANSWERED, stored_attempts.CUT_OFF)
    ]
    return Cost(sum(told), len(attempts), sum(attempt["cost"] is None for attempt in answered))


async def probe(
    wanted: Wanted,
    store: Store,
    approve: Callable[[Outlook], bool],
    watch: Callable[[Probing], Awaitable[None]],
) -> Probed | None:
    """Probe the judge that is *wanted*; None where *approve* said no.

    *watch* runs beside it and is cancelled at its end. Ctrl-C once: what is in flight is waited for and stored;
    twice: it is left. Raises EndpointUnusable or StoreError.
    """
    pairs = all_pairs()
    async with open_judge(wanted) as (judge, clients):
        probing = Probing(judge, pairs, store, clients)
        if not approve(await _outlook(wanted, probing, store, clients)):
            return None
        async with attended(probing, watch(probing)):
            await probing.run(Budget(wanted.budget), wanted.calls_at_once, real_clocks())
        found = findings(judge.label, judge.hash, pairs, probing.judgements)
        return Probed(found, probing.report, cost_of(store, probing.cases))


async def _outlook(wanted: Wanted, probing: Probing, store: Store, clients: Mapping[str, Client]) -> Outlook:
    """What is still to be bought: an order without subjects, and the forecast of the judgements that are missing."""
    judge = probing.judge
    order = Order(wanted.protocol, wanted.files, wanted.configurations, (), 0, judge)
    outlook = await outlook_of(order, store, clients, wanted.budget)
    if not isinstance(judge, ModelJudge):
        return outlook
    client = clients[judge.model.endpoint]
    info = await client.info(judge.model.model)
    total = Forecast()
    for case in probing.missing:
        sent = judge_request(case, judge.model).messages
        prompt = int(sum(len(message.content or "") for message in sent) / CHARACTERS_A_TOKEN)
        dollars = 0.0 if client.endpoint.free else info.most(prompt, VERDICT_TOKENS)
        total += Forecast(1, prompt, VERDICT_TOKENS, dollars)
    return replace(outlook, forecast=total)
