"""Asks one judge about every conversation of the injection probe, each paid for and stored like any judgement.

What is stored is not asked again, a budget bounds it, Ctrl-C stops it and the same command goes on. No transcript
is stored, so no table knows of it. Prints nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from independence_bench.engine.ask import Asker, ConversationCalls, ConversationTask, JudgeAsker
from independence_bench.engine.cost import CHARACTERS_A_TOKEN, VERDICT_TOKENS, Forecast
from independence_bench.engine.run import Report, RunPlan, Session
from independence_bench.engine.session import Preview, RunOptions, preview_of, resolved
from independence_bench.judging.aside import CaseAside
from independence_bench.judging.injection.pairs import AttackPair, ProbeFindings, all_pairs, findings
from independence_bench.judging.judge import Judge, ModelJudge
from independence_bench.judging.prompt import judge_request
from independence_bench.store import attempts, results
from independence_bench.store.database import Store


@dataclass(frozen=True, slots=True)
class Cost:
    """What a probe's judgements have cost in all commands: dollars, and answered attempts without a price."""

    dollars: float
    attempts: int
    unpriced: int


@dataclass(frozen=True, slots=True)
class Probed:
    """The result of a probe."""

    findings: ProbeFindings
    report: Report
    cost: Cost


class InjectionAsker(JudgeAsker):
    """Carries out a probe; `judgements`, by key, holds what is stored and what is judged since."""

    def __init__(self, judge: Judge, pairs: Sequence[AttackPair], session: Session, calls_at_once: int) -> None:
        # each conversation once, those without an addition first
        every = [*(pair.plain for pair in pairs), *(pair.attacked for pair in pairs)]
        self.cases = {case.key(judge.hash): case for case in every}
        with session.store.reading() as connection:
            self.judgements = results.find_judgements(connection, list(self.cases))
        tasks = [
            ConversationTask(f"a conversation of {case.scenario.id}", judge.calls, partial(self._ask, case))
            for case in self.missing
        ]
        super().__init__(judge, len(self.cases), tasks, session, calls_at_once)

    @property
    def missing(self) -> list[CaseAside]:
        """The conversations that have no judgement yet."""
        return [case for key, case in self.cases.items() if key not in self.judgements]

    async def _ask(self, case: CaseAside, calls: ConversationCalls) -> None:
        self.judgements[case.key(self.judge.hash)] = await self.judge.judge(case, calls)
        calls.progress.ended("judged")


def cost_of(store: Store, keys: Iterable[str]) -> Cost:
    """What the judgements called *keys* have cost, every attempt at them included."""
    with store.reading() as connection:
        made = attempts.attempts_of(connection, list(keys))
    costs = [attempt["cost"] for attempt in made if attempt["cost"] is not None]
    answered = [one for one in made if one["outcome"] in (attempts.ANSWERED, attempts.CUT_OFF)]
    return Cost(sum(costs), len(made), sum(one["cost"] is None for one in answered))


async def probe(
    options: RunOptions, store: Store, approve: Callable[[Preview], bool], watch: Callable[[Asker], Awaitable[None]]
) -> Probed | None:
    """Probe the judge of *options*; None where *approve* said no.

    *watch* runs beside it. Ctrl-C as with `Asker.run_watched`. Raises EndpointUnusable or StoreError.
    """
    pairs = all_pairs()
    async with resolved(options, store) as (plan, session):
        assert plan.judge is not None  # noqa: S101 - a probe is of a judge
        asker = InjectionAsker(plan.judge, pairs, session, options.limits.calls_at_once)
        if not approve(await _preview(plan, asker, session)):
            return None
        report = await asker.run_watched(watch(asker))
        found = findings(asker.judge.label, asker.judge.hash, pairs, asker.judgements)
        return Probed(found, report, cost_of(store, asker.cases))


async def _preview(plan: RunPlan, asker: InjectionAsker, session: Session) -> Preview:
    """The preview of a plan without subjects, with the forecast of the judgements that are missing."""
    judge, preview = asker.judge, await preview_of(plan, session)
    if not isinstance(judge, ModelJudge):
        return preview
    client = session.clients[judge.model.endpoint]
    info = await client.info(judge.model.model)
    total = Forecast()
    for case in asker.missing:
        sent = judge_request(case, judge.model).messages
        prompt = int(sum(len(message.content or "") for message in sent) / CHARACTERS_A_TOKEN)
        dollars = 0.0 if client.endpoint.free else info.most(prompt, VERDICT_TOKENS)
        total += Forecast(1, prompt, VERDICT_TOKENS, dollars)
    return replace(preview, forecast=total)
