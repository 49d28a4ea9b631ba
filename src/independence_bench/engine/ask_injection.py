"""Asks one judge about every conversation of the injection probe. Prints nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from independence_bench.engine.ask import Asker
from independence_bench.engine.ask_aside import AsideAsker, AsideCost, cost_of
from independence_bench.engine.preview import Preview
from independence_bench.engine.run import Report
from independence_bench.engine.session import RunOptions, resolved
from independence_bench.judging.aside import CaseAside
from independence_bench.judging.injection.pairs import AttackPair, ProbeFindings, all_pairs, findings
from independence_bench.judging.judge import Judge
from independence_bench.store.database import Store


@dataclass(frozen=True, slots=True)
class Probed:
    """The result of a probe."""

    findings: ProbeFindings
    report: Report
    cost: AsideCost


def cases_of(judge: Judge, pairs: Sequence[AttackPair]) -> list[tuple[Judge, CaseAside]]:
    """What *judge* is asked about, those without an addition first."""
    return [(judge, case) for case in (*(pair.plain for pair in pairs), *(pair.attacked for pair in pairs))]


async def probe(
    options: RunOptions, store: Store, approve: Callable[[Preview], bool], watch: Callable[[Asker], Awaitable[None]]
) -> Probed | None:
    """Probe the judge of *options*; None where *approve* said no.

    *watch* runs beside it. Ctrl-C as with `Asker.run_watched`. Raises EndpointUnusable or StoreError.
    """
    pairs = all_pairs()
    async with resolved(options, store) as (plan, session):
        judge = plan.judge
        assert judge is not None  # noqa: S101 - a probe is of a judge
        asker = AsideAsker(cases_of(judge, pairs), session, options.limits.calls_at_once)
        if not approve(await asker.preview(plan)):
            return None
        report = await asker.run_watched(watch(asker))
        found = findings(judge.label, judge.hash, pairs, asker.judgements)
        return Probed(found, report, cost_of(store, asker.cases))
