"""What of an order is stored already, and what is left to do: read once, for the forecast and for the engine.

Knows orders and the store; changes nothing and sends nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection

from independence_bench.judge import rubric_hash
from independence_bench.order import Order, Trouble
from independence_bench.plan import Job, jobs
from independence_bench.store import records
from independence_bench.store.records import Judgement, TranscriptRow
from independence_bench.subject import ChatModel


@dataclass(slots=True)
class Stock:
    """One subject's part of an order."""

    planned: int = 0  # transcripts
    done: int = 0  # complete
    invalid: int = 0  # ended by an invalid reply, and not to be played again
    judged: int = 0
    unjudged: int = 0  # the judge failed, and is not to be asked again
    to_play: list[Job] = field(default_factory=list)  # longest chains first
    to_judge: list[Job] = field(default_factory=list)  # complete and not judged
    troubles: list[Trouble] = field(default_factory=list)  # what is stored and will stay as it is

    def calls(self, judge_calls: int) -> int:
        """How many replies and judgements are to be got, when one judgement takes *judge_calls*."""
        replies = sum(len(job.scenario.asks) for job in self.to_play)
        return replies + judge_calls * (len(self.to_play) + len(self.to_judge))


def take_stock(connection: Connection, order: Order, subject: ChatModel) -> Stock:
    """What is stored of *subject*'s part of *order* and what is left; for 0 runs: what is stored is judged."""
    every = list(jobs(order.protocol, order.configurations, subject, range(1, max(order.runs, 1) + 1)))
    rows = records.transcript_rows(connection, {job.script_hash for job in every}, subject.hash)
    stored = {row.id: row for row in rows}
    if not order.runs:
        runs = sorted({row.run for row in rows})
        every = [j for j in jobs(order.protocol, order.configurations, subject, runs) if j.transcript_id in stored]
    judged = _judged(connection, order)
    stock = Stock(planned=len(every))
    for job in every:
        row = stored.get(job.transcript_id)
        if row is None or (row.state == "invalid" and order.again and order.runs):
            stock.to_play.append(job)
        elif row.state == "invalid":
            stock.invalid += 1
            stock.troubles.append(Trouble(job.title, f"invalid: {row.reason}; `aib run --again` asks once more"))
        else:
            stock.done += 1
            _judging(stock, job, row, order, judged)
    # tasks that start in this order also wait in this order
    stock.to_play.sort(key=lambda job: -len(job.scenario.asks))
    return stock


def _judged(connection: Connection, order: Order) -> Mapping[tuple[str, str], Judgement]:
    if order.judge is None:
        return {}
    rubrics = {rubric_hash(order.protocol.judge_instructions, scenario) for scenario in order.protocol.scenarios}
    found = records.judgement_rows(connection, rubrics)
    return {(j.heard_hash, j.rubric_hash): j for j in found if j.judge_hash == order.judge.hash}


def _judging(
    stock: Stock, job: Job, row: TranscriptRow, order: Order, judged: Mapping[tuple[str, str], Judgement]
) -> None:
    if order.judge is None:
        return
    before = judged.get((row.heard_hash, rubric_hash(order.protocol.judge_instructions, job.scenario)))
    if before is None or (before.reason is not None and order.again):
        stock.to_judge.append(job)
    elif before.reason is None:
        stock.judged += 1
    else:
        stock.unjudged += 1
        stock.troubles.append(Trouble(job.title, judge_trouble(before.reason, order.judge.calls)))


def judge_trouble(reason: str, judge_calls: int) -> str:
    """A failed judgement in a line; asking again helps with a judge that is asked at all."""
    return f"the judge failed: {reason}" + ("; `aib judge` asks it again" if judge_calls else "")
