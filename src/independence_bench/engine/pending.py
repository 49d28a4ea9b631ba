"""Reads what of a plan is stored already and what is left to do, once, for the preview and for the engine.

Knows plans and the store; changes nothing and sends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection

from independence_bench.analysis.results import results_of
from independence_bench.engine.run import Progress, RunPlan, Trouble
from independence_bench.judging.prompt import told_hash
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.plan import Job, jobs, shared_openings
from independence_bench.store import registry
from independence_bench.store import results as stored_results


@dataclass(slots=True)
class Pending:
    """One subject's part of a plan: how far it is, and what is left."""

    progress: Progress
    to_play: list[Job] = field(default_factory=list)  # longest chains first
    to_judge: list[Job] = field(default_factory=list)  # complete and not judged
    to_begin: list[Job] = field(default_factory=list)  # one of each run that was played whole, all for other protocols


def find_pending(connection: Connection, plan: RunPlan, subject: ChatModel) -> Pending:
    """What is stored of *subject*'s part of *plan* and what is left; for 0 runs: what is stored is judged."""
    if plan.runs:
        runs = range(plan.first, plan.runs + 1)
        every = list(jobs(plan.protocol, plan.configurations, subject, runs, experiments=plan.experiments))
    else:
        every = list(_played(connection, plan, subject))
    if plan.shard is not None:
        every = list(plan.shard.part(every))
    scripts = {job.script_hash for job in every}
    stored = {row.id: row for row in stored_results.transcript_rows(connection, scripts, subject.hash)}
    if not plan.runs:
        every = [job for job in every if job.transcript_id in stored]
    judged = stored_results.verdicts(connection, scripts, subject.hash, plan.judge.hash) if plan.judge else {}
    # who took no option has said nothing that is judged
    read = stored_results.readings_of(connection, scripts, subject.hash) if plan.protocol.score else {}
    without_view = {transcript for transcript, reading in read.items() if reading.choice is None}
    progress = Progress(subject.label, planned=len(every))
    pending = Pending(progress)
    for job in every:
        ending = stored.get(job.transcript_id) if stored else None  # an id is a hash, and most plans are new
        if ending is None or (ending.state == "invalid" and plan.again and plan.runs):
            pending.to_play.append(job)
        elif ending.state == "invalid":
            # who only judges has done all that can be done
            progress.ended("invalid", Trouble(job.title, invalid_trouble(ending.reason)) if plan.runs else None)
        else:
            progress.ended("done")
            if plan.judge is None or job.transcript_id in without_view:
                continue
            key = (ending.heard_hash, told_hash(plan.protocol, job.configuration, job.scenario))
            reason = judged.get(key)
            if key not in judged or (reason is not None and plan.again):
                pending.to_judge.append(job)
            elif reason is None:
                progress.ended("judged")
            else:
                progress.ended("unjudged", Trouble(job.title, judge_trouble(reason, plan.judge.calls)))
    if plan.runs and len(pending.to_play) < len(every):
        pending.to_begin = _not_begun(connection, plan, subject, every, pending.to_play)
    pending.to_play.sort(key=lambda job: -len(job.scenario.asks))
    asked = sum(len(job.scenario.asks) for job in pending.to_play)
    progress.calls_left = asked - len(shared_openings(pending.to_play))
    if plan.judge is not None:
        progress.to_judge = progress.done - len(without_view & stored.keys()) + len(pending.to_play)
        progress.calls_left += plan.judge.calls * (len(pending.to_play) + len(pending.to_judge))
    return pending


def _not_begun(
    connection: Connection, plan: RunPlan, subject: ChatModel, every: Sequence[Job], to_play: Sequence[Job]
) -> list[Job]:
    """One job of each run and configuration with nothing *to_play* that nobody has begun for the plan's protocol.

    In the others the first conversation that is played, or fails, begins the run.
    """
    runs = {(job.run, job.configuration): job for job in every}
    for job in to_play:
        runs.pop((job.run, job.configuration), None)
    begun = registry.begun_runs(connection, plan.protocol.name, subject.hash) if runs else set()
    return [job for (run, of), job in runs.items() if (subject.hash, run, of.system, of.delivery) not in begun]


def _played(connection: Connection, plan: RunPlan, subject: ChatModel) -> Iterator[Job]:
    """The jobs of the runs that count for the plan's protocol, whether or not each of them was played."""
    for results in results_of(connection, plan.protocol, plan.configurations, subject.hash):
        wanted = [configuration for configuration in plan.configurations if configuration in results.configurations]
        runs = results.runs.get(subject.hash, ())
        yield from jobs(plan.protocol, wanted, subject, runs, experiments=plan.experiments)


def invalid_trouble(reason: str | None) -> str:
    """Why a conversation is invalid, and what to do, in one line."""
    return f"invalid: {reason}; `aib run --again` asks once more"


def judge_trouble(reason: str, judge_calls: int) -> str:
    """Why a judgement failed, in one line; and how to ask again, where the judge takes calls."""
    return f"the judge failed: {reason}" + ("; `aib judge` asks it again" if judge_calls else "")
