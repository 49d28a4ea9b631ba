"""What was consumed: attempts as money and tokens, which commands made them, and what endpoints
listed as prices then.

An attempt's owner says which process made it; `commands` says what that was. A store of version 1
kept neither commands nor prices: what it holds from then has none.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from sqlalchemy import Connection, and_, bindparam, case, func, or_, select

from independence_bench.models.endpoints import verbosity_of
from independence_bench.models.messages import BYTES_A_TOKEN
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.definition import Configuration, Protocol, Scenario
from independence_bench.protocol.loader import shipped
from independence_bench.protocol.plan import Job, script_hash
from independence_bench.store import registry
from independence_bench.store.attempts import ANSWERED, CUT_OFF, select_attempts
from independence_bench.store.rows import (
    KEYS,
    fields_of,
    in_chunks,
    insert_once,
    rows_of,
    undamaged,
    unpack,
)
from independence_bench.store.schema import (
    IMPORTED,
    attempts,
    calls,
    commands,
    judgements,
    prices,
    transcripts,
    workers,
)

BATCH = 2000  # rows that are read at once
RUNS_READ = 3  # of a subject: further ones hardly change what a reply is expected to take
ROUNDED = 1.01  # times the list price: a reported cost up to that is what is listed
# for how much a token holds, which hardly differs between calls of one model in one language
CALLS_READ = 20


def newest(connection: Connection) -> float | None:
    """When the newest result was stored: an attempt's end, a transcript or a judgement. None where
    there is none.
    """
    times = (attempts.c.finished_at, transcripts.c.finished_at, judgements.c.stored_at)
    latest = [connection.execute(select(func.max(time))).scalar() for time in times]
    return max((time for time in latest if time is not None), default=None)


# ---------------------------------------------------------------- commands and prices


@dataclass(frozen=True, slots=True)
class Command:
    """What a process did with the store. One command may have opened it for calls several times."""

    session: str  # the same for all that one command did
    began_at: float  # seconds since 1970
    typed: str  # without secrets; "": not a command of ours, but a program that uses the library


def keep_command(connection: Connection, owner: str, command: Command) -> None:
    """Write down what *owner* is, before its first attempt."""
    insert_once(connection, commands, {"owner": owner} | fields_of(command))


@dataclass(frozen=True, slots=True)
class ListPrice:
    """What an endpoint lists for a model, in dollars: a token of the prompt, one of the reply, and
    for each call.
    """

    prompt: float
    completion: float
    request: float = 0.0

    def cost_of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Dollars of a call, every token in full."""
        return self.request + prompt_tokens * self.prompt + completion_tokens * self.completion


def keep_price(
    connection: Connection, owner: str, endpoint: str, model: str, price: ListPrice
) -> None:
    """Write down what a model was listed at when *owner* called it first."""
    insert_once(
        connection,
        prices,
        {"owner": owner, "endpoint": endpoint, "model": model} | fields_of(price),
    )


def last_price(connection: Connection, endpoint: str, model: str) -> tuple[ListPrice, float] | None:
    """What *model* was listed at when it was called last, and when that was; None where it was
    never.
    """
    columns = (prices.c.prompt, prices.c.completion, prices.c.request, commands.c.began_at)
    listed = select(*columns).join_from(prices, commands, prices.c.owner == commands.c.owner)
    wanted = listed.where(prices.c.endpoint == endpoint, prices.c.model == model).order_by(
        commands.c.began_at.desc()
    )
    row = connection.execute(wanted.limit(1)).first()
    return None if row is None else (ListPrice(*row[:3]), row[3])


@dataclass(frozen=True, slots=True)
class SeenCosts:
    """What attempts have shown of prices, by (endpoint, model)."""

    shown: frozenset[tuple[str, str]]  # with a reported cost above 0
    # dollars of the dearest that cost more than its tokens were listed at
    dearest: Mapping[tuple[str, str], float]
    looked: int  # every attempt up to this one has ended and was looked at


def seen_costs(connection: Connection, after: int = 0, job: str | None = None) -> SeenCosts:
    """What the store's own attempts *after* that one have cost.

    *job*: of its workers' attempts an answer is enough to have shown a model, whether or not it
    told its cost. A cost of 0 shows nothing: where something is listed, it is no price (older
    stores have such rows), and where nothing is listed, it may change.
    """
    listed = prices.c.request + attempts.c.prompt_tokens * prices.c.prompt
    listed += attempts.c.completion_tokens * prices.c.completion
    dearer = or_(listed.is_(None), attempts.c.cost > listed * ROUNDED)
    of_job = attempts.c.owner.in_(select(workers.c.owner).where(workers.c.job == job))
    shows = or_(attempts.c.cost > 0, and_(of_job, attempts.c.outcome.in_((ANSWERED, CUT_OFF))))
    same = and_(
        prices.c.owner == attempts.c.owner,
        prices.c.endpoint == calls.c.endpoint,
        prices.c.model == calls.c.model,
    )
    found = connection.execute(
        select(
            calls.c.endpoint,
            calls.c.model,
            func.count(case((shows, 1))),
            func.max(case((dearer, attempts.c.cost))),
        )
        .select_from(attempts.join(calls).outerjoin(prices, same))
        .where(
            attempts.c.id > after,
            attempts.c.finished_at.is_not(None),
            ~attempts.c.owner.like(f"{IMPORTED}%"),
        )
        .group_by(calls.c.endpoint, calls.c.model)
    ).all()
    unended = connection.execute(
        select(func.min(attempts.c.id)).where(attempts.c.finished_at.is_(None))
    ).scalar()
    latest = connection.execute(select(func.max(attempts.c.id))).scalar() or 0
    return SeenCosts(
        frozenset((endpoint, model) for endpoint, model, shown, _ in found if shown),
        {(endpoint, model): float(most) for endpoint, model, _, most in found if most},
        latest if unended is None else unended - 1,
    )


def kept_commands(connection: Connection) -> dict[str, Command]:
    """Owner -> what it was; {} in a store that kept none."""
    return {owner: Command(*command) for owner, *command in rows_of(connection, commands)}


def kept_prices(connection: Connection) -> dict[tuple[str, str, str], ListPrice]:
    """(owner, endpoint, model) -> what it was listed at; {} in a store that kept none."""
    rows = rows_of(connection, prices)
    return {
        (owner, endpoint, model): ListPrice(*listed) for owner, endpoint, model, *listed in rows
    }


# ---------------------------------------------------------------- dollars


@dataclass(frozen=True, slots=True)
class AttemptCost:
    """An attempt, as far as it is money."""

    key: str  # of the call
    kind: Literal["reply", "judgement"]
    endpoint: str
    model: str
    owner: str
    started_at: float
    outcome: str | None  # None: in flight
    cost: float | None  # dollars; None: not known
    prompt_tokens: int | None
    completion_tokens: int | None
    provider: str | None  # that served it, by its own word
    seconds: float | None  # from sending to the end; None: not known
    status: int | None = None  # HTTP; None: nothing came


_ENDED = select_attempts(*AttemptCost.__dataclass_fields__).where(
    calls.c.kind == bindparam("kind"), attempts.c.outcome.is_not(None)
)
_ENDED_OF = _ENDED.where(calls.c.key.in_(KEYS))


def attempt_costs(
    connection: Connection, kind: Literal["reply", "judgement"], keys: Collection[str] | None = None
) -> Mapping[str, Sequence[AttemptCost]]:
    """Key of each call of that kind, or of those of these *keys* -> its attempts that have ended,
    in order.
    """
    by_call: dict[str, list[AttemptCost]] = defaultdict(list)
    for some in [None] if keys is None else in_chunks(keys):
        wanted, given = (_ENDED, {}) if some is None else (_ENDED_OF, {"keys": some})
        for row in connection.execute(wanted, {"kind": kind, **given}).all():
            by_call[row.key].append(AttemptCost(*row))
    return by_call


def payments(connection: Connection, imported: bool = False) -> Iterator[AttemptCost]:
    """Every attempt in order, whatever came of it: the store's own, or those *imported*, which
    others paid.
    """
    theirs = attempts.c.owner.like(f"{IMPORTED}%")
    wanted = select_attempts(*AttemptCost.__dataclass_fields__).where(
        theirs if imported else ~theirs
    )
    for row in connection.execute(wanted.execution_options(yield_per=BATCH)):
        yield AttemptCost(*row)


def imported(connection: Connection) -> tuple[int, float]:
    """(imported attempts, which others made and paid for, their dollars)."""
    theirs = select(func.count(), func.coalesce(func.sum(attempts.c.cost), 0.0))
    row = connection.execute(theirs.where(attempts.c.owner.like(f"{IMPORTED}%"))).one()
    return int(row[0]), float(row[1])


def askers(connection: Connection) -> tuple[dict[str, str], dict[str, str]]:
    """(key of a reply -> the hash of a subject whose conversation has it, key of a judgement -> its
    judge's hash).
    """
    subjects = {}
    with undamaged():
        for subject, keys in connection.execute(
            select(transcripts.c.subject_hash, transcripts.c.reply_keys)
        ):
            subjects.update(dict.fromkeys(json.loads(keys), subject))
    rows = connection.execute(select(judgements.c.key, judgements.c.judge_hash))
    return subjects, {row[0]: row[1] for row in rows}


def request_models(connection: Connection, keys: list[str]) -> dict[str, dict[str, object]]:
    """Key of a call -> the settings of the model that it asks, as its request has them; {} where it
    does not say.
    """
    settings = {}
    for some in in_chunks(keys):
        for key, packed in connection.execute(
            select(calls.c.key, calls.c.request).where(calls.c.key.in_(some))
        ):
            with undamaged():
                asked = json.loads(unpack(packed) or "{}")
            settings[key] = asked.get("model") if isinstance(asked.get("model"), dict) else {}
    return settings


# ---------------------------------------------------------------- tokens


@dataclass(frozen=True, slots=True)
class Used:
    """Tokens that one reply took, all its attempts together; the mean of several, where it says
    so.
    """

    prompt: float
    completion: float  # reasoning included
    said: float  # of the last attempt's completion: what was no reasoning


def used_by(
    connection: Connection,
    scripts: Collection[str],
    subject: str,
    of: Literal["script_hash", "scenario"] = "script_hash",
) -> dict[str, list[tuple[Used, ...]]]:
    """Script hash -> what each reply took, for every complete transcript of the subject in its
    first `RUNS_READ` runs.

    *of* scenario: scenarios' ids in place of hashes, in whatever words they were played. Without
    those whose endpoint did not say what they took.
    """
    name = transcripts.c[of]
    rows = connection.execute(
        select(name, transcripts.c.reply_keys)
        .where(name.in_(list(scripts)), transcripts.c.subject_hash == subject)
        .where(transcripts.c.state == "complete", transcripts.c.run <= RUNS_READ)
    )
    with undamaged():
        keyed = [(script, json.loads(keys)) for script, keys in rows]
    counted = (attempts.c.prompt_tokens.is_not(None), attempts.c.completion_tokens.is_not(None))
    wanted = select_attempts(
        "call_key", "prompt_tokens", "completion_tokens", "reasoning_tokens"
    ).where(*counted)
    used: dict[str, Used] = {}
    # once each: several conversations may begin with the same reply
    for some in in_chunks(dict.fromkeys(key for _, keys in keyed for key in keys)):
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


def verdict_tokens(connection: Connection, judge: str) -> dict[str, float]:
    """Rubric hash -> mean completion tokens of the judge's judgements by it; without those that did
    not say.
    """
    means = connection.execute(
        select(judgements.c.rubric_hash, func.avg(attempts.c.completion_tokens))
        .join(attempts, attempts.c.id == judgements.c.attempt_id)
        .where(judgements.c.judge_hash == judge, attempts.c.completion_tokens.is_not(None))
        .group_by(judgements.c.rubric_hash)
    )
    return {rubric: float(mean) for rubric, mean in means}


def reply_bytes(connection: Connection, subject: str, scenarios: Collection[str]) -> float | None:
    """Bytes a token of what a subject was sent last in *scenarios*, in whatever words; None: it did
    not say.
    """
    mine = (transcripts.c.subject_hash == subject, transcripts.c.scenario.in_(list(scenarios)))
    newest = (
        select(transcripts.c.reply_keys)
        .where(*mine)
        .order_by(transcripts.c.finished_at.desc())
        .limit(CALLS_READ)
    )
    with undamaged():
        return _bytes_a_token(
            connection, [key for keys in connection.scalars(newest) for key in json.loads(keys)]
        )


def judgement_bytes(connection: Connection, judge: str, rubrics: Collection[str]) -> float | None:
    """Bytes a token of what a judge was sent last by *rubrics* (hashes); None: it did not say."""
    mine = (judgements.c.judge_hash == judge, judgements.c.rubric_hash.in_(list(rubrics)))
    newest = (
        select(judgements.c.key)
        .where(*mine)
        .order_by(judgements.c.stored_at.desc())
        .limit(CALLS_READ)
    )
    return _bytes_a_token(connection, list(connection.scalars(newest)))


def _bytes_a_token(connection: Connection, keys: Sequence[str]) -> float | None:
    """Of the requests of the first of the calls *keys*, as the store keeps them, to the tokens of
    their prompts.
    """
    wanted = select(calls.c.request, attempts.c.prompt_tokens).join_from(attempts, calls)
    requests = connection.execute(
        wanted.where(calls.c.key.in_(keys[:CALLS_READ]), attempts.c.prompt_tokens > 0)
    ).all()
    sent = sum(len((unpack(request) or "").encode()) for request, _ in requests)
    return sent / sum(tokens for _, tokens in requests) if sent else None


# ---------------------------------------------------------------- what is to be expected


@dataclass(frozen=True, slots=True)
class UsualReplies:
    """What a subject's replies are expected to take, from what was stored; empty where nothing
    was.
    """

    # the means, reply by reply
    by_script: Mapping[str, Sequence[Used]] = field(default_factory=dict)
    # of the whole protocol, in whatever words
    by_scenario: Mapping[str, Sequence[Used]] = field(default_factory=dict)
    own: bool = False  # taken from this subject's own replies
    subjects: int = 0  # whose replies they are taken from
    published: bool = False  # none are, and the subject's `verbosity` in shipped protocols is known
    bytes_a_token: float = BYTES_A_TOKEN  # of a request as JSON


class UsualUse:
    """What replies to conversations of *protocol* usually take, read from the store for all
    subjects of a plan.
    """

    def __init__(
        self, connection: Connection, protocol: Protocol, ways: Sequence[Configuration]
    ) -> None:
        """*ways*: the configurations of the plan."""
        self._connection, self._protocol, self._ways = connection, protocol, ways
        self._counts = {scenario.id: len(scenario.asks) for scenario in protocol.scenarios}
        self._stored = tuple(registry.stored_subjects(connection).values())
        self._of_all: dict[bool, UsualReplies] = {}  # whether they think -> of all of them

    def of(self, subject: ChatModel, left: Iterable[Job]) -> UsualReplies:
        """What *subject*'s replies in the jobs that are *left* are expected to take.

        Its own where there are such; else those of the same model under other settings, else of all
        others, that think as it does: to the same words, else in the same scenario (of a sheet that
        was edited, at another depth). Others are not asked where it was published how verbose the
        model is. An empty one where nothing is left or known.
        """
        scenarios = {job.script_hash: job.scenario for job in left}
        if not scenarios:
            return UsualReplies()
        others = [other for other in self._stored if other.may_think == subject.may_think]
        same = [
            other
            for other in others
            if (other.model, other.endpoint) == (subject.model, subject.endpoint)
        ]
        for like in ([other for other in same if other.hash == subject.hash], same):
            usual = self._taken(like, scenarios)
            if usual.by_scenario:
                return replace(usual, own=like[0].hash == subject.hash and len(like) == 1)
        if self._protocol.name in shipped() and verbosity_of(subject) is not None:
            return UsualReplies(published=True)
        if subject.may_think not in self._of_all:
            places = [
                (way, scenario) for way in self._ways for scenario in self._protocol.scenarios
            ]
            every = {
                script_hash(self._protocol, way, scenario): scenario for way, scenario in places
            }
            self._of_all[subject.may_think] = self._taken(others, every)
        usual = self._of_all[subject.may_think]
        known = usual.by_script.keys() & scenarios.keys()
        return replace(
            usual,
            by_script={script: usual.by_script[script] for script in scenarios if script in known},
        )

    def _taken(
        self, givers: Iterable[ChatModel], scenarios: Mapping[str, Scenario]
    ) -> UsualReplies:
        """What the replies of *givers* took in *scenarios*, by script hash."""
        counts = self._counts
        words: dict[str, list[tuple[Used, ...]]] = defaultdict(list)  # by script
        places: dict[str, list[tuple[Used, ...]]] = defaultdict(list)  # by scenario
        number = 0
        for giver in givers:
            here = used_by(self._connection, counts, giver.hash, "scenario")
            number += bool(here)
            for id_, taken in here.items():
                places[id_] += [
                    replies[: counts[id_]] for replies in taken if len(replies) >= counts[id_]
                ]
            for script, taken in (
                used_by(self._connection, scenarios, giver.hash) if here else {}
            ).items():
                words[script] += [
                    replies for replies in taken if len(replies) == counts[scenarios[script].id]
                ]
        by_scenario = {
            id_: tuple(map(mean_use, zip(*taken, strict=True)))
            for id_, taken in places.items()
            if taken
        }
        if not by_scenario:
            return UsualReplies()
        by_script = {
            script: tuple(map(mean_use, zip(*taken, strict=True)))
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


def mean_use(used: Sequence[Used]) -> Used:
    """What one reply took on average; *used* is not empty."""
    count = len(used)
    return Used(
        sum(reply.prompt for reply in used) / count,
        sum(reply.completion for reply in used) / count,
        sum(reply.said for reply in used) / count,
    )
