"""Stored transcripts with everything that belongs to them, as values for any form of output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from independence_bench.errors import WrongUse
from independence_bench.judging.prompt import rubric_hash
from independence_bench.lookup import fit
from independence_bench.protocol.conversation import Transcript
from independence_bench.protocol.definition import Configuration, Delivery, Protocol, Scenario
from independence_bench.protocol.delivery import messages
from independence_bench.protocol.plan import script_hash
from independence_bench.report.format import plural
from independence_bench.store import attempts, registry, results
from independence_bench.store.attempts import ANSWERED, CUT_OFF
from independence_bench.store.database import Store
from independence_bench.store.registry import unique_labels
from independence_bench.store.results import Judgement, TranscriptRow


@dataclass(frozen=True, slots=True)
class Reading:
    """One transcript to be read."""

    title: str
    preamble: tuple[tuple[str, str], ...]  # (what, text): what the model was sent before anything was said
    transcript: Transcript
    scenario: Scenario
    judgements: tuple[tuple[str, Judgement], ...]  # (judge's label, judgement)
    reasoning: Mapping[str, str]  # reply's name -> what the model thought before it
    remarks: tuple[str, ...]  # invalid, cut off, plain text, rejected attempts


def find_transcripts(
    store: Store,
    protocol: Protocol,
    configurations: Sequence[Configuration],
    subject: str,
    scenario_id: str,
    run: int | None = None,
) -> list[Reading]:
    """The transcripts of one scenario that fit, by configuration and run.

    *subject* is a label or a part of one. Raises WrongUse where it fits none or several, or where there is no
    such scenario.
    """
    try:
        scenario = protocol.scenario(scenario_id)
    except KeyError:
        known = ", ".join(s.id for s in protocol.scenarios)
        raise WrongUse(f"{protocol.name} has no scenario {scenario_id}; it has {known}") from None
    with store.reading() as connection:
        labels = unique_labels(registry.stored_subjects(connection))
        meant = fit(labels, subject, there="the store has")
        judges = registry.stored_judges(connection)
        found = []
        for configuration in configurations:
            script = script_hash(protocol, configuration, scenario)
            for row in results.transcript_rows(connection, [script], meant):
                if run is None or row.run == run:
                    title = f"{labels[meant]} · {scenario.title} · {configuration} · run {row.run}"
                    found.append(_read(connection, protocol, scenario, row, title, judges))
    return found


def _read(
    connection: Connection,
    protocol: Protocol,
    scenario: Scenario,
    row: TranscriptRow,
    title: str,
    judges: Mapping[str, str],
) -> Reading:
    transcript, keys = results.read_transcript(connection, row.id)
    rubric = rubric_hash(protocol.judge_instructions, scenario)
    judgements = results.judgements_of(connection, row.heard_hash, rubric)
    remarks = [f"invalid: {row.reason}"] if row.reason else []
    reasoning = {}
    replies = results.find_replies(connection, keys)
    for name, key in zip(scenario.asks, keys, strict=False):
        reply = replies.get(key)
        if reply is None:
            continue
        reasoning[name] = reply.reasoning
        if reply.cut_off:
            remarks.append(f"{name}: cut off by the token limit")
        if reply.plain_text:
            remarks.append(f"{name}: said in plain text, without calling the tool")
        for attempt in attempts.attempts_of(connection, [key]):
            if attempt["outcome"] == CUT_OFF:
                remarks.append(f"{name}: a first reply was cut off, and asked again with twice the limit")
            elif attempt["outcome"] == ANSWERED and attempt["reasoning_tokens"]:
                remarks.append(f"{name}: {plural(attempt['reasoning_tokens'], 'token')} of reasoning before it")
            elif attempt["outcome"] not in (ANSWERED, None):
                why = f": {attempt['message']}" if attempt["message"] else ""
                remarks.append(f"{name}: an attempt was rejected ({attempt['outcome']}{why})")
    shown = tuple((judges[j.judge_hash], j) for j in judgements)
    return Reading(
        title, _preamble(protocol, transcript.system, row), transcript, scenario, shown, reasoning, tuple(remarks)
    )


def _preamble(protocol: Protocol, system: str, row: TranscriptRow) -> tuple[tuple[str, str], ...]:
    """The system message as it was sent, and what tool_role puts before the human's first words."""
    wording = protocol.tool_role
    way: Delivery = "tool_role" if row.delivery == "tool_role" else "user_role"
    first, *_ = messages(Transcript(system), way, wording)
    shown = [("system prompt", first.content or "")]
    if way == "tool_role":
        shown += [("opening message", wording.opening), ("the model's first call, made for it", wording.greeting)]
    return tuple(shown)
