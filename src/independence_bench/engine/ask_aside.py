"""Asks judges about cases that stand beside every protocol, each paid for and stored like any judgement.

The injection probe's cases and the exam's. What is stored is not asked again, a budget bounds it, Ctrl-C stops it and
the same command goes on. No transcript is stored, so no table knows of it. Prints nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Generic, TypeVar

from independence_bench.engine.ask import ConversationCalls, ConversationTask, JudgeAsker
from independence_bench.engine.preview import CHARACTERS_A_TOKEN, VERDICT_TOKENS, Forecast, Preview, preview_of
from independence_bench.engine.run import RunPlan, Session
from independence_bench.judging.aside import CaseAside
from independence_bench.judging.judge import Judge, ModelJudge
from independence_bench.judging.prompt import judge_request
from independence_bench.store import attempts, results, usage
from independence_bench.store.database import Store

C = TypeVar("C", bound=CaseAside)


@dataclass(frozen=True, slots=True)
class AsideCost:
    """What judgements of cases aside have cost in all commands: dollars, and answered attempts without a price."""

    dollars: float
    attempts: int
    unpriced: int


class AsideAsker(JudgeAsker, Generic[C]):
    """Asks about cases; `judgements`, by key, holds what is stored and what is judged since."""

    def __init__(self, sittings: Sequence[tuple[Judge, C]], session: Session, calls_at_once: int) -> None:
        """*sittings*: each case, once, with the judge that marks it, asked in that order; at least one.

        The judges are one to whoever looks on: they differ where the embedded one reads protocols differently.
        """
        keyed = {case.key(judge.hash): (judge, case) for judge, case in sittings}
        self.cases = {key: case for key, (_, case) in keyed.items()}
        with session.store.reading() as connection:
            self.judgements = results.find_judgements(connection, list(keyed))
        self._left = {key: sitting for key, sitting in keyed.items() if key not in self.judgements}
        tasks = [
            ConversationTask(f"a conversation of {case.scenario.id}", judge.calls, partial(self._ask, judge, case))
            for judge, case in self._left.values()
        ]
        judges = list({judge.hash: judge for judge, _ in sittings}.values())
        super().__init__(judges, len(keyed), tasks, session, calls_at_once)

    @property
    def missing(self) -> list[C]:
        """The cases that have no judgement yet."""
        return [case for key, case in self.cases.items() if key not in self.judgements]

    async def _ask(self, judge: Judge, case: C, calls: ConversationCalls) -> None:
        self.judgements[case.key(judge.hash)] = await judge.judge(case, calls)
        calls.progress.ended("judged")

    async def preview(self, plan: RunPlan) -> Preview:
        """The preview of *plan*, which has no subjects, with the forecast of the judgements that are missing."""
        found = await preview_of(plan, self._session)
        with self._session.store.reading() as connection:
            taken = {judge.hash: usage.verdict_tokens(connection, judge.hash) for judge in self.judges}
        total = Forecast()
        for key in self._left.keys() - self.judgements.keys():
            judge, case = self._left[key]
            if isinstance(judge, ModelJudge):
                total += await self._forecast(judge, case, taken[judge.hash])
        return replace(found, forecast=total)

    async def _forecast(self, judge: ModelJudge, case: C, taken: Mapping[str, float]) -> Forecast:
        """Of one judgement. *taken*: what the judge's verdicts have taken so far, in tokens."""
        client = self._session.clients[judge.model.endpoint]
        info = await client.info(judge.model.model)
        sent = judge_request(case, judge.model).messages
        prompt = int(sum(len(message.content or "") for message in sent) / CHARACTERS_A_TOKEN)
        written = round(fmean(taken.values())) if taken else VERDICT_TOKENS
        return Forecast(1, prompt, written, 0.0 if client.endpoint.free else info.most(prompt, written))


def cost_of(store: Store, keys: Iterable[str]) -> AsideCost:
    """What the judgements called *keys* have cost, every attempt at them included."""
    with store.reading() as connection:
        made = attempts.attempts_of(connection, list(keys))
    costs = [attempt["cost"] for attempt in made if attempt["cost"] is not None]
    answered = [one for one in made if one["outcome"] in (attempts.ANSWERED, attempts.CUT_OFF)]
    return AsideCost(sum(costs), len(made), sum(one["cost"] is None for one in answered))
