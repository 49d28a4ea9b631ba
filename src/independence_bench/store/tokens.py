"""Counts the tokens that stored replies and judgements took, and estimates those of a plan."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from sqlalchemy import Connection, func, select

from independence_bench.models.endpoints import find_relative_reply_tokens
from independence_bench.models.messages import BYTES_A_TOKEN
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.definition import Configuration, Protocol, Scenario
from independence_bench.protocol.loader import list_shipped
from independence_bench.protocol.plan import Job, hash_script
from independence_bench.store import registry
from independence_bench.store.attempts import select_attempt_columns
from independence_bench.store.blobs import report_damage, unpack_text
from independence_bench.store.rows import split_chunks
from independence_bench.store.schema import attempts, calls, judgements, transcripts

RUNS_READ = 3  # of a subject: further ones hardly change what a reply is expected to take
# for how much a token holds, which hardly differs between calls of one model in one language
CALLS_READ = 20


@dataclass(frozen=True, slots=True)
class Used:
    """The tokens that one reply took, all its attempts together; or the mean of several replies."""

    prompt: float
    completion: float  # reasoning included
    said: float  # the last attempt's completion without reasoning


def read_used_tokens(
    connection: Connection,
    scripts: Collection[str],
    subject: str,
    group_by: Literal["script_hash", "scenario"] = "script_hash",
) -> dict[str, list[tuple[Used, ...]]]:
    """Return script's hash -> for each complete stored conversation of one tested model, the tokens
    that each of its replies took, in order. *scripts*: hashes of the scripts; *subject*: hash of
    the model, of which only the first `RUNS_READ` runs are read.

    If *group_by* is "scenario", *scripts* and the keys of the result are scenarios' ids, so that
    the script may have any wording. Conversations in which the endpoint did not state the tokens of
    every reply are left out.
    """
    name = transcripts.c[group_by]
    rows = connection.execute(
        select(name, transcripts.c.reply_keys)
        .where(name.in_(list(scripts)), transcripts.c.subject_hash == subject)
        .where(transcripts.c.state == "complete", transcripts.c.run <= RUNS_READ)
    )
    with report_damage():
        keyed = [(script, json.loads(keys)) for script, keys in rows]
    counted = (attempts.c.prompt_tokens.is_not(None), attempts.c.completion_tokens.is_not(None))
    wanted = select_attempt_columns(
        "call_key", "prompt_tokens", "completion_tokens", "reasoning_tokens"
    ).where(*counted)
    used: dict[str, Used] = {}
    # once each: several conversations may begin with the same reply
    for some in split_chunks(dict.fromkeys(key for _, keys in keyed for key in keys)):
        for key, prompt, completion, reasoning in connection.execute(
            wanted.where(attempts.c.call_key.in_(some))
        ):
            before = used.get(key, Used(0, 0, 0))
            visible = max(completion - (reasoning or 0), 0)
            used[key] = Used(before.prompt + prompt, before.completion + completion, visible)
    by_script: dict[str, list[tuple[Used, ...]]] = {}
    for script, keys in keyed:
        if keys and all(key in used for key in keys):
            by_script.setdefault(script, []).append(tuple(used[key] for key in keys))
    return by_script


def average_completion_tokens_by_rubric(connection: Connection, judge: str) -> dict[str, float]:
    """Return rubric's hash -> mean completion tokens of a judgement by that rubric, over all stored
    judgements by the judge with the hash *judge*. Judgements whose tokens the endpoint did not
    state are left out.
    """
    means = connection.execute(
        select(judgements.c.rubric_hash, func.avg(attempts.c.completion_tokens))
        .join(attempts, attempts.c.id == judgements.c.attempt_id)
        .where(judgements.c.judge_hash == judge, attempts.c.completion_tokens.is_not(None))
        .group_by(judgements.c.rubric_hash)
    )
    return {rubric: float(mean) for rubric, mean in means}


def measure_subject_bytes_per_token(
    connection: Connection, subject: str, scenarios: Collection[str]
) -> float | None:
    """Return how many bytes of a request make one token, as a mean over the latest requests to the
    tested model with the hash *subject* in *scenarios* (ids), in any wording; None if the endpoint
    stated no tokens.
    """
    mine = (transcripts.c.subject_hash == subject, transcripts.c.scenario.in_(list(scenarios)))
    newest = (
        select(transcripts.c.reply_keys)
        .where(*mine)
        .order_by(transcripts.c.finished_at.desc())
        .limit(CALLS_READ)
    )
    with report_damage():
        return _measure_bytes_per_token(
            connection, [key for keys in connection.scalars(newest) for key in json.loads(keys)]
        )


def measure_judge_bytes_per_token(
    connection: Connection, judge: str, rubrics: Collection[str]
) -> float | None:
    """Return how many bytes of a request make one token, as a mean over the latest requests to the
    judge with the hash *judge* by *rubrics* (hashes); None if the endpoint stated no tokens.
    """
    mine = (judgements.c.judge_hash == judge, judgements.c.rubric_hash.in_(list(rubrics)))
    newest = (
        select(judgements.c.key)
        .where(*mine)
        .order_by(judgements.c.stored_at.desc())
        .limit(CALLS_READ)
    )
    return _measure_bytes_per_token(connection, list(connection.scalars(newest)))


def _measure_bytes_per_token(connection: Connection, keys: Sequence[str]) -> float | None:
    """Return how many bytes of a request make one token: the bytes of the stored requests of the
    first `CALLS_READ` of the model calls *keys*, divided by the tokens of their prompts. None if no
    tokens are stated.
    """
    wanted = select(calls.c.request, attempts.c.prompt_tokens).join_from(attempts, calls)
    requests = connection.execute(
        wanted.where(calls.c.key.in_(keys[:CALLS_READ]), attempts.c.prompt_tokens > 0)
    ).all()
    sent = sum(len((unpack_text(request) or "").encode()) for request, _ in requests)
    return sent / sum(tokens for _, tokens in requests) if sent else None


# ---------------------------------------------------------------- what is to be expected


@dataclass(frozen=True, slots=True)
class UsualReplies:
    """The tokens that a tested model's replies are expected to take, from what was stored; empty if
    nothing was.
    """

    # the means, reply by reply
    by_script: Mapping[str, Sequence[Used]] = field(default_factory=dict)
    # means for the whole protocol, in any wording
    by_scenario: Mapping[str, Sequence[Used]] = field(default_factory=dict)
    own: bool = False  # taken from this subject's own replies
    subjects: int = 0  # the number of subjects that they are taken from
    published: bool = False  # none are, and the subject's `verbosity` in shipped protocols is known
    bytes_a_token: float = BYTES_A_TOKEN  # bytes of a request (JSON) that make one token


class UsualUse:
    """The tokens that replies in conversations of *protocol* usually take, read from the store for
    all subjects of a plan.
    """

    def __init__(
        self, connection: Connection, protocol: Protocol, ways: Sequence[Configuration]
    ) -> None:
        """*ways*: the configurations of the plan."""
        self._connection, self._protocol, self._ways = connection, protocol, ways
        self._counts = {scenario.id: len(scenario.reply_names) for scenario in protocol.scenarios}
        self._stored = tuple(registry.read_subjects(connection).values())
        self._of_all: dict[bool, UsualReplies] = {}  # whether they think -> of all of them

    def estimate_reply_tokens(self, subject: ChatModel, jobs: Iterable[Job]) -> UsualReplies:
        """Return the tokens that the replies of *subject*, a tested model, are expected to take in
        the jobs *jobs*, those still to be played. Empty if there are none, or if nothing is known.

        They are means of stored replies: this model's own if there are any, else those of the same
        model under other settings, else of all other models. Only models that reason are used for a
        model that reasons, and only others for others. Replies in the same script go first, else
        those in the same scenario (a sheet that was edited, or another depth). Other models are not
        used if it is published how verbose the model is.
        """
        scenarios = {job.script_hash: job.scenario for job in jobs}
        if not scenarios:
            return UsualReplies()
        others = [other for other in self._stored if other.may_think == subject.may_think]
        same = [
            other
            for other in others
            if (other.model, other.endpoint) == (subject.model, subject.endpoint)
        ]
        for like in ([other for other in same if other.hash == subject.hash], same):
            usual = self._average_reply_tokens(like, scenarios)
            if usual.by_scenario:
                return replace(usual, own=like[0].hash == subject.hash and len(like) == 1)
        if (
            self._protocol.name in list_shipped()
            and find_relative_reply_tokens(subject) is not None
        ):
            return UsualReplies(published=True)
        if subject.may_think not in self._of_all:
            places = [
                (way, scenario) for way in self._ways for scenario in self._protocol.scenarios
            ]
            every = {
                hash_script(self._protocol, way, scenario): scenario for way, scenario in places
            }
            self._of_all[subject.may_think] = self._average_reply_tokens(others, every)
        usual = self._of_all[subject.may_think]
        known = usual.by_script.keys() & scenarios.keys()
        return replace(
            usual,
            by_script={script: usual.by_script[script] for script in scenarios if script in known},
        )

    def _average_reply_tokens(
        self, givers: Iterable[ChatModel], scenarios: Mapping[str, Scenario]
    ) -> UsualReplies:
        """Return the mean tokens that each reply of the models *givers* took, by script hash and by
        scenario's id; empty if no replies are stored. *scenarios*: script hash -> scenario.
        """
        counts = self._counts
        words: dict[str, list[tuple[Used, ...]]] = defaultdict(list)  # by script
        places: dict[str, list[tuple[Used, ...]]] = defaultdict(list)  # by scenario
        number = 0
        for giver in givers:
            here = read_used_tokens(self._connection, counts, giver.hash, "scenario")
            number += bool(here)
            for id_, taken in here.items():
                places[id_] += [
                    replies[: counts[id_]] for replies in taken if len(replies) >= counts[id_]
                ]
            for script, taken in (
                read_used_tokens(self._connection, scenarios, giver.hash) if here else {}
            ).items():
                words[script] += [
                    replies for replies in taken if len(replies) == counts[scenarios[script].id]
                ]
        by_scenario = {
            id_: tuple(map(average_use, zip(*taken, strict=True)))
            for id_, taken in places.items()
            if taken
        }
        if not by_scenario:
            return UsualReplies()
        by_script = {
            script: tuple(map(average_use, zip(*taken, strict=True)))
            for script, taken in words.items()
            if taken
        }
        for script, scenario in scenarios.items():
            # as long, to a prompt that is not
            if script not in by_script and scenario.id in by_scenario:
                by_script[script] = tuple(
                    replace(used, prompt=0.0) for used in by_scenario[scenario.id]
                )
        return UsualReplies(by_script, by_scenario, subjects=number)


def average_use(used: Sequence[Used]) -> Used:
    """Return the mean tokens (prompt, completion, completion without reasoning) of the replies
    *used*, which must not be empty.
    """
    count = len(used)
    return Used(
        sum(reply.prompt for reply in used) / count,
        sum(reply.completion for reply in used) / count,
        sum(reply.said for reply in used) / count,
    )
