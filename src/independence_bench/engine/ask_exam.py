"""Has one judge sit the exam: what it would take, and the asking. Prints nothing, and says nothing of how it did."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from independence_bench.engine.ask import Asker
from independence_bench.engine.ask_aside import AsideAsker, AsideCost, cost_of
from independence_bench.engine.preview import Preview
from independence_bench.engine.run import Report, RunPlan
from independence_bench.engine.session import RunOptions, resolve_judge, resolved
from independence_bench.judging.exam.cases import ExamCase, exam_cases
from independence_bench.judging.exam.questions import questions
from independence_bench.judging.exam.rubrics import protocol_named
from independence_bench.judging.judge import Judge
from independence_bench.store.database import Store

PROTOCOL = "v2"  # whose judge it is that sits where none is named


@dataclass(frozen=True, slots=True)
class Sitting:
    """What became of one judge's exam. A judge that reads protocols differently is several, with a hash each."""

    judge: str  # label
    hashes: tuple[str, ...]
    report: Report
    cost: AsideCost  # in all commands


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
) -> AsyncIterator[tuple[RunPlan, AsideAsker[ExamCase]]]:
    async with resolved(options, store) as (plan, session):
        judges: dict[str, Judge] = {}
        for name in dict.fromkeys(questions()[rubric].protocol for rubric in rubrics):
            found = await resolve_judge(replace(options, protocol=protocol_named(name)), session.clients)
            assert found is not None  # noqa: S101 - an exam is of a judge
            judges[name] = found
        sittings = [(judges[questions()[case.rubric].protocol], case) for case in exam_cases(rubrics)]
        yield plan, AsideAsker(sittings, session, options.limits.calls_at_once)
