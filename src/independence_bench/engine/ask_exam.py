"""Has judges sit the exam: what it would take, and the asking. Prints nothing, and says nothing of how they did.

Each question is paid for and stored like any judgement: what is stored is not asked again, a budget bounds it, Ctrl-C
stops it and the same command goes on. No transcript is stored, so no table of a protocol knows of it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean

from independence_bench.engine.ask import Asker, ConversationCalls, ConversationTask, JudgeAsker
from independence_bench.engine.preview import CHARACTERS_A_TOKEN, VERDICT_TOKENS, Forecast, Preview, preview_of
from independence_bench.engine.run import Report, RunPlan, Session
from independence_bench.engine.session import RunOptions, resolve_judge, resolved
from independence_bench.judging.exam.cases import ExamCase, exam_cases
from independence_bench.judging.exam.questions import questions
from independence_bench.judging.exam.rubrics import protocol_named
from independence_bench.judging.judge import Judge, ModelJudge
from independence_bench.judging.prompt import judge_request
from independence_bench.store import attempts, results, usage
from independence_bench.store.database import Store

PROTOCOL = "v2"  # whose judge it is that sits where none is named


@dataclass(frozen=True, slots=True)
class ExamCost:
    """What the judgements of an exam have cost in all commands: dollars, and answered attempts without a price."""

    dollars: float
    attempts: int
    unpriced: int


class ExamAsker(JudgeAsker):
    """Asks about cases; `judgements`, by key, holds what is stored and what is judged since."""

    def __init__(self, sittings: Sequence[tuple[Judge, ExamCase]], session: Session, calls_at_once: int) -> None:
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
    def missing(self) -> list[ExamCase]:
        """The cases that have no judgement yet."""
        return [case for key, case in self.cases.items() if key not in self.judgements]

    async def _ask(self, judge: Judge, case: ExamCase, calls: ConversationCalls) -> None:
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

    async def _forecast(self, judge: ModelJudge, case: ExamCase, taken: Mapping[str, float]) -> Forecast:
        """Of one judgement. *taken*: what the judge's verdicts have taken so far, in tokens."""
        client = self._session.clients[judge.model.endpoint]
        info = await client.info(judge.model.model)
        sent = judge_request(case, judge.model).messages
        prompt = int(sum(len(message.content or "") for message in sent) / CHARACTERS_A_TOKEN)
        written = round(fmean(taken.values())) if taken else VERDICT_TOKENS
        return Forecast(1, prompt, written, 0.0 if client.endpoint.free else info.most(prompt, written))


def cost_of(store: Store, keys: Iterable[str]) -> ExamCost:
    """What the judgements called *keys* have cost, every attempt at them included."""
    with store.reading() as connection:
        made = attempts.attempts_of(connection, list(keys))
    costs = [attempt["cost"] for attempt in made if attempt["cost"] is not None]
    answered = [one for one in made if one["outcome"] in (attempts.ANSWERED, attempts.CUT_OFF)]
    return ExamCost(sum(costs), len(made), sum(one["cost"] is None for one in answered))


@dataclass(frozen=True, slots=True)
class Sitting:
    """What became of one judge's exam. A judge that reads protocols differently is several, with a hash each."""

    judge: str  # label
    hashes: tuple[str, ...]
    report: Report
    cost: ExamCost  # in all commands


async def foresee(options: RunOptions, rubrics: Collection[str], store: Store) -> Preview:
    """What is left to ask the judge of *options* about those files of questions. Raises what `resolved` does."""
    async with _asker(options, rubrics, store) as (plan, asker):
        return await asker.preview(plan)


async def sit(
    options: RunOptions, rubrics: Collection[str], store: Store, watch: Callable[[Asker], Awaitable[None]]
) -> Sitting:
    """Ask the judge of *options* what it has not been asked yet, with *watch* beside it.

    Ctrl-C as with `Asker.run_watched`. Raises what `resolved` does, or StoreError.
    """
    async with _asker(options, rubrics, store) as (_, asker):
        report = await asker.run_watched(watch(asker))
        first, *_ = asker.judges
        return Sitting(first.label, tuple(one.hash for one in asker.judges), report, cost_of(store, asker.cases))


@asynccontextmanager
async def _asker(
    options: RunOptions, rubrics: Collection[str], store: Store
) -> AsyncIterator[tuple[RunPlan, ExamAsker]]:
    async with resolved(options, store) as (plan, session):
        judges: dict[str, Judge] = {}
        for name in dict.fromkeys(questions()[rubric].protocol for rubric in rubrics):
            found = await resolve_judge(replace(options, protocol=protocol_named(name)), session.clients)
            assert found is not None  # noqa: S101 - an exam is of a judge
            judges[name] = found
        sittings = [(judges[questions()[case.rubric].protocol], case) for case in exam_cases(rubrics)]
        yield plan, ExamAsker(sittings, session, plan.calls_at_once)
