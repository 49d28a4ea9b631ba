"""Asks one judge about every conversation of the injection probe, each paid for and stored like any judgement.

What is stored is not asked again, a budget bounds it, Ctrl-C stops it and the same command goes on. No transcript
is stored, so no table knows of it. Prints nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from independence_bench.calls.budget import Budget
from independence_bench.calls.pool import Clocks, Pool, real_clocks
from independence_bench.engine.ask import Asker, ConversationCalls, ConversationTask
from independence_bench.engine.cost import CHARACTERS_A_TOKEN, VERDICT_TOKENS, Forecast
from independence_bench.engine.run import Progress, Report, RunPlan
from independence_bench.engine.session import Preview, RunOptions, open_judge, preview_of
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


class InjectionAsker(Asker):
    """A probe at work; `judgements`, by key, fill up."""

    def __init__(
        self,
        judge: Judge,
        pairs: Sequence[AttackPair],
        store: Store,
        clients: Mapping[str, Client],
        budget: Budget,
        calls_at_once: int,
        clocks: Clocks,
    ) -> None:
        self.judge, self.cases = judge, cases_of(pairs, judge.hash)
        self.judgements = stored(store, self.cases)
        known, every = len(self.judgements), len(self.cases)
        calls = judge.calls * (every - known)
        self._progress = Progress(judge.label, every, every, to_judge=every, judged=known, calls=calls)
        # a judge that is no model asks nobody, so there is nothing to report
        report = Report([self._progress] if judge.calls else [], budget)
        super().__init__(store, clients, report, clocks, calls_at_once, calls_at_once)

    @property
    def missing(self) -> list[ProbeInput]:
        """What is still to be judged."""
        return [case for key, case in self.cases.items() if key not in self.judgements]

    async def ask_all(self, pool: Pool) -> None:
        """Judge what is missing."""
        judge = self.judge
        await pool.commits.do(lambda c: registry.keep_judge(c, judge.hash, judge.label, judge.spec))
        left = (
            ConversationTask(f"a conversation of {case.scenario.id}", judge.calls, partial(self._ask, case))
            for case in self.missing
        )
        await self.converse(pool, self._progress, left)

    async def _ask(self, case: ProbeInput, calls: ConversationCalls) -> None:
        self.judgements[case.key(self.judge.hash)] = await self.judge.judge(case, calls)
        self._progress.ended("judged")


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
    options: RunOptions,
    store: Store,
    approve: Callable[[Preview], bool],
    watch: Callable[[Asker], Awaitable[None]],
) -> Probed | None:
    """Probe the judge of *options*; None where *approve* said no.

    *watch* runs beside it. Ctrl-C as with `Asker.run_watched`. Raises EndpointUnusable or StoreError.
    """
    pairs = all_pairs()
    async with open_judge(options) as (judge, clients):
        budget = Budget(options.limits.budget)
        asker = InjectionAsker(judge, pairs, store, clients, budget, options.limits.calls_at_once, real_clocks())
        if not approve(await _preview(options, asker, store, clients)):
            return None
        report = await asker.run_watched(watch(asker))
        found = findings(judge.label, judge.hash, pairs, asker.judgements)
        return Probed(found, report, cost_of(store, asker.cases))


async def _preview(options: RunOptions, asker: InjectionAsker, store: Store, clients: Mapping[str, Client]) -> Preview:
    """What is still to be asked: a plan without subjects, and the forecast of the judgements that are missing."""
    judge = asker.judge
    plan = RunPlan(options.protocol, options.files, options.configurations, (), 0, judge)
    preview = await preview_of(plan, store, clients, options.limits.budget)
    if not isinstance(judge, ModelJudge):
        return preview
    client = clients[judge.model.endpoint]
    info = await client.info(judge.model.model)
    total = Forecast()
    for case in asker.missing:
        sent = judge_request(case, judge.model).messages
        prompt = int(sum(len(message.content or "") for message in sent) / CHARACTERS_A_TOKEN)
        dollars = 0.0 if client.endpoint.free else info.most(prompt, VERDICT_TOKENS)
        total += Forecast(1, prompt, VERDICT_TOKENS, dollars)
    return replace(preview, forecast=total)
