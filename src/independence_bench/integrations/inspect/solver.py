"""Plays one scenario, or one stem with all its branches, by this benchmark's own loop.

What was played goes into the sample's store as rows (`rows`), each reply once: the branches of a stem share those that
they begin with.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from inspect_ai.model import ModelOutput, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import span

from independence_bench.calls.call import Accepted, Rejected
from independence_bench.engine.player import reply_reader
from independence_bench.integrations.inspect.asking import ask, subject_of
from independence_bench.integrations.inspect.names import named
from independence_bench.integrations.inspect.rows import (
    KEY,
    Rows,
    call_rows,
    joined,
    played_rows,
    reply_rows,
    who_rows,
)
from independence_bench.integrations.inspect.samples import FIRST_RUN
from independence_bench.integrations.inspect.source import read_source
from independence_bench.integrations.inspect.wire import chat_messages
from independence_bench.models.messages import ChatRequest, Completion
from independence_bench.protocol import delivery
from independence_bench.protocol.conversation import Transcript, Words
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.plan import Job, opening, request, script_hash
from independence_bench.store.results import Played, Reply

Known = dict[str, tuple[Reply, Rows]]  # key -> a reply that was given in this sample, with its rows


@solver(name=named("conversations"))
def conversations(protocol: str) -> Solver:
    """Play the conversations of a sample with the model under test; *protocol* as tasks take it."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate  # which appends to one list of messages
        loaded, _ = read_source(protocol)
        subject = await subject_of(get_model(), loaded)
        configuration = Configuration(state.metadata["system"], state.metadata["delivery"])
        run = state.metadata[FIRST_RUN] - 1 + state.epoch
        known: Known = {}
        parts = [who_rows("subjects", subject)]
        shown: Transcript | None = None
        for name in state.metadata["scenarios"]:
            scenario = loaded.scenario(name)
            job = Job(subject, run, configuration, scenario, script_hash(loaded, configuration, scenario, run))
            async with span(scenario.branch or scenario.id):
                played, rows = await _play(loaded, job, known)
            parts += [rows, played_rows(played, time.time())]
            shown = shown or played.transcript
        state.store.set(KEY, joined(parts))
        if shown is not None:
            state.messages = chat_messages(delivery.messages(shown, configuration.delivery, loaded.tool_role))
            said = [line.text for line in shown.lines if line.name]
            state.output = ModelOutput.from_content(str(get_model()), said[-1] if said else "")
        state.completed = True
        return state

    return solve


async def _play(protocol: Protocol, job: Job, known: Known) -> tuple[Played, Rows]:
    """One scenario to its end, or to a reply that is none; with the rows of its replies."""
    talk = opening(protocol, job.configuration, job.scenario, job.run)
    said: list[tuple[str, Reply]] = []
    parts: list[Rows] = []
    while talk.awaiting:
        asked = request(talk, job.subject, job.configuration, protocol)
        key = asked.key(job.run)
        if key not in known:
            known[key] = await _reply(asked, key, reply_reader(protocol, job.configuration, talk.options))
        reply, rows = known[key]
        parts.append(rows)
        said.append((key, reply))
        if reply.reason is not None:
            break
        talk = talk.answered(Words(reply.text, reply.notes))
    invalid = said[-1][1].reason
    reason = None if invalid is None else f"{talk.awaiting}: {invalid}"
    return Played(job, protocol.hash, talk.transcript, said, reason), joined(parts)


async def _reply(
    asked: ChatRequest, key: str, read: Callable[[Completion], Accepted[Reply] | Rejected]
) -> tuple[Reply, Rows]:
    found = await ask(get_model(), asked, read, lambda reason: Reply("", reason=reason))
    rows = joined(
        [call_rows(key, "reply", asked.model, found.tried), reply_rows(key, found.answer, found.attempt, time.time())]
    )
    return found.answer, rows
