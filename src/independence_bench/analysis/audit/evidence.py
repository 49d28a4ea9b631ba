"""Everything that an audit looks at, read from a store in one go: conversations, judgements, and
the raw bodies.

Of the raw bodies only what differs is kept, so a large store needs time and little memory. Decides
nothing.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pydantic_core import from_json
from sqlalchemy import Connection

from independence_bench.analysis.board import Board, BoardRecords
from independence_bench.analysis.leaderboard import read_records, scored_boards
from independence_bench.analysis.results import CountedConversation, Key, judgements_at
from independence_bench.hashing import hashed_reply_key, text_hash
from independence_bench.judging.output import NoVerdict, Verdict, parse_verdict, published_verdict
from independence_bench.models.messages import UNUSABLE, Completion
from independence_bench.models.response import clean_text, read_completion, read_json
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.conversation import Line, Transcript
from independence_bench.protocol.definition import (
    Configuration,
    Delivery,
    Protocol,
    Scenario,
    ToolWording,
)
from independence_bench.protocol.delivery import Said, is_words, said
from independence_bench.protocol.scoring import Marks, Rules
from independence_bench.store import results as stored_results
from independence_bench.store.attempts import (
    ANSWERED,
    CUT_OFF,
    RawAttempt,
    SharedId,
    raw_attempts,
    requests_of,
    shared_response_ids,
)
from independence_bench.store.bulk import JUDGED_AGAIN, REPLACED
from independence_bench.store.database import Store
from independence_bench.store.integrity import check
from independence_bench.store.results import Judgement, TranscriptRow


@dataclass(frozen=True, slots=True)
class AuditedConversation:
    """A counted conversation with its text and its judgements."""

    row: TranscriptRow
    configuration: Configuration
    scenario: Scenario
    key: Key
    subject: ChatModel
    label: str
    transcript: Transcript
    keys: tuple[str, ...]  # of its replies, in the order in which they were given
    replies: tuple[tuple[str, Line], ...]  # (key, line) of each reply in it
    judgements: Sequence[Judgement]  # one of each judge, failed ones included

    @property
    def marked(self) -> bool:
        """Whether a judge gave marks."""
        return any(judgement.reason is None for judgement in self.judgements)

    @property
    def lacking(self) -> tuple[str, ...]:
        """The replies that the scenario asks for and that are not in it, though none ended it."""
        given = {line.name for line in self.transcript.lines if line.name}
        ended = len(self.keys) > len(given)
        return () if ended else tuple(n for n in self.scenario.asks if n not in given)


@dataclass(slots=True)
class RawReadings:
    """What the raw bodies say, by key of the call; only what is out of the ordinary."""

    replies: int = 0  # stored replies that were read again
    verdicts: int = 0  # stored judgements that were
    silent: set[str] = field(default_factory=set)  # stored, and without a raw body
    # an attempt at it cannot be read back; what of it
    damaged: dict[str, str] = field(default_factory=dict)
    # what a stored reply or judgement differs in
    otherwise: dict[str, str] = field(default_factory=dict)
    # a judge's reply that has the stored marks; what it is not
    malformed: dict[str, str] = field(default_factory=dict)
    # other replies to the same question
    replaced: dict[str, list[str]] = field(default_factory=dict)
    loose: dict[str, list[tuple[str, str, str]]] = field(default_factory=dict)
    """The human's last words -> (key, text, hash of the request) of replies of no conversation."""
    # rejected, and an answer by our rules
    thrown_away: dict[str, str] = field(default_factory=dict)
    # what the model had said, of each request
    histories: dict[str, Sequence[str]] = field(default_factory=dict)
    served: dict[str, str] = field(default_factory=dict)  # provider, by its own word
    # of stored replies: the model, by the server's word
    models: dict[str, str] = field(default_factory=dict)
    # of stored judgements, as they were read again
    marks: dict[str, Marks] = field(default_factory=dict)
    again: dict[str, list[Marks]] = field(default_factory=dict)  # of further attempts at them


@dataclass(frozen=True, slots=True)
class AuditEvidence:
    """What there is. *boards* are by the rules that were asked for."""

    protocol: Protocol
    rules: Rules
    boards: tuple[Board, ...]
    conversations: tuple[AuditedConversation, ...]
    judges: Mapping[str, str]  # hash -> label
    bodies: RawReadings
    contradictions: Sequence[str]  # what the store's own check finds
    shared_ids: Sequence[SharedId]  # of all endpoints, whatever was asked there


def gather(store: Store, protocol: Protocol, rules: Rules) -> AuditEvidence:
    """Everything in *store* that belongs to *protocol*, and what the store's own check says of all
    of it.

    Raises StoreError for what the check cannot read.
    """
    with store.reading() as connection:
        records = read_records(connection, protocol)
        shown = [scored.board for scored in scored_boards(records, protocol, rules=rules)]
        # of a protocol of an earlier form nothing is shown
        played = tuple(_conversations(connection, shown, records)) if shown else ()
        bodies = RawReadings()
        loose = _read_replies(connection, played, protocol, bodies)
        rubrics = [rubric for results in records.every for rubric in results.rubrics.items()]
        scenarios = {rubric: protocol.scenario(name) for (_, name), rubric in rubrics}
        verdicts = {
            one.key: one for of_judge in records.given.values() for one in of_judge.values()
        }
        _read_verdicts(connection, scenarios, verdicts, bodies)

        def see(request: str | None, keys: Sequence[str]) -> None:
            if request is not None:
                bodies.histories.update(dict.fromkeys(keys, model_lines(request)[0]))

        # the store's own check unpacks the requests of conversations, so their histories are read
        # on the way
        contradictions = check(
            connection,
            see,
            {conversation.row.id: conversation.transcript for conversation in played},
        )
        _read_requests(connection, loose, bodies)
        shared_ids = shared_response_ids(connection)
    return AuditEvidence(
        protocol, rules, tuple(shown), played, records.labels, bodies, contradictions, shared_ids
    )


def _conversations(
    connection: Connection, shown: Sequence[Board], records: BoardRecords
) -> Iterator[AuditedConversation]:
    """The conversations of every row that is shown, one for each place of a run that they fill.

    Without those that cannot be read back, of which the store's own check speaks.
    """
    rows = {
        (c, row.subject.hash): row
        for board in shown
        for c in board.configurations
        for row in board.rows
    }
    counted: dict[str, list[CountedConversation]] = defaultdict(list)
    for results in records.every:
        for played in results.conversations:
            counted[played.row.id].append(played)
    scripts = {script for of in records.every for script in of.slots}
    for transcript_id, transcript, keys in stored_results.words_of(
        connection, scripts, skipping=True
    ):
        replies = tuple(zip(keys, (line for line in transcript.lines if line.name), strict=False))
        for played in counted[transcript_id]:
            row = rows[played.configuration, played.row.subject_hash]
            verdicts = tuple(judgements_at(records.given, played.key))
            yield AuditedConversation(
                *played[:4], row.subject, row.label, transcript, keys, replies, verdicts
            )


def _read_replies(
    connection: Connection,
    played: Sequence[AuditedConversation],
    protocol: Protocol,
    bodies: RawReadings,
) -> dict[str, str | None]:
    """Every reply from its raw body. Returns all keys, with the text of a published reply of no
    conversation.
    """
    places: dict[str, Delivery] = {
        key: of.configuration.delivery for of in played for key in of.keys
    }
    loose: dict[str, str | None] = {}
    for body in raw_attempts(connection, "reply"):
        loose.setdefault(body.key, None)
        if body.raw is None:
            bodies.damaged[body.key] = "the raw body of a reply"
            continue
        delivery = places.get(body.key)
        if delivery is None:
            if (
                body.state is not None
                and body.text is not None
                and '"request_messages"' in body.raw
            ):
                loose[body.key] = body.text
            continue
        read = (
            words_in(body.raw, body.status, delivery, protocol.tool_role)
            if body.raw
            else "no record"
        )
        _compare(body, read, bodies)
        if body.outcome in (ANSWERED, CUT_OFF) and body.served_provider:
            bodies.served[body.key] = body.served_provider
        if body.state is not None and body.served_model:
            bodies.models[body.key] = body.served_model
    return loose


def _read_requests(
    connection: Connection, replies: Mapping[str, str | None], bodies: RawReadings
) -> None:
    """What each of *replies* (key -> its text, if it is loose) was asked with, where the check has
    not read it.
    """
    here = [
        key for key, loose in replies.items() if loose is not None or key not in bodies.histories
    ]
    for key, request in requests_of(connection, here):
        if request is None:
            bodies.damaged.setdefault(key, "the request of a reply")
            continue
        bodies.histories[key], last = model_lines(request)
        if (text := replies[key]) is not None:
            bodies.loose.setdefault(last.strip(), []).append((key, text, text_hash(request)))


def _compare(body: RawAttempt, read: Words | str, bodies: RawReadings) -> None:
    """The raw body of a reply against what is stored of it."""
    if body.outcome == REPLACED:
        bodies.replaced.setdefault(body.key, []).append(read if isinstance(read, str) else read[0])
    elif not isinstance(read, str) and body.outcome in UNUSABLE:
        bodies.thrown_away[body.key] = read[0]
    if body.state is None:
        return
    if not body.raw:
        bodies.silent.add(body.key)
        return
    bodies.replies += 1
    if body.state == "valid" and isinstance(read, str):
        bodies.otherwise[body.key] = f"its raw body holds no valid answer: {read}"
    elif body.state == "valid" and read != (body.text, body.notes):
        bodies.otherwise[body.key] = "its raw body has different words"


def loose_replies(bodies: RawReadings, played: AuditedConversation, before: str) -> list[str]:
    """Replies of no conversation that were given in the run of *played* after the human's words
    *before*.
    """
    there = bodies.loose.get(before.strip(), ())
    return [
        text for key, text, request in there if hashed_reply_key(request, played.row.run) == key
    ]


def _read_verdicts(
    connection: Connection,
    scenarios: Mapping[str, Scenario],
    given: Mapping[str, Judgement],
    bodies: RawReadings,
) -> None:
    """*scenarios* by the hash of their rubric, judgements that are *given* by their key."""
    for body in raw_attempts(connection, "judgement"):
        stored = given.get(body.key)
        if body.raw is None:
            bodies.damaged[body.key] = "the raw body of a judgement"
            continue
        if (
            stored is None
            or stored.reason is not None
            or not (body.state or body.outcome == JUDGED_AGAIN)
        ):
            continue
        if not body.raw:
            bodies.silent.add(body.key)
            continue
        scenario = scenarios[stored.rubric_hash]
        read = verdict_in(body.raw, body.status, scenario)
        if body.outcome == JUDGED_AGAIN:
            if not isinstance(read, NoVerdict):
                bodies.again.setdefault(body.key, []).append(read.marks)
            continue
        bodies.verdicts += 1
        if isinstance(read, NoVerdict) and marks_in(body.raw, scenario) == stored.marks:
            bodies.malformed[body.key] = read.reason
            continue
        if isinstance(read, NoVerdict):
            bodies.otherwise[body.key] = f"its raw reply cannot be read: {read.reason}"
            continue
        bodies.marks[body.key] = read.marks
        if read.marks != stored.marks:
            both = (
                ", ".join(f"{n} {mark:g}" for n, mark in sorted(of.items()))
                for of in (read.marks, stored.marks)
            )
            bodies.otherwise[body.key] = "its raw reply says {}; stored: {}".format(*both)


Words = tuple[str, str]  # what the human hears, and the notes


def read_object(text: str) -> dict[str, Any]:
    """The JSON object in *text*; {} where it is none."""
    try:
        # a third faster than `json`, and what it reads it reads alike; it refuses more
        value = from_json(text, cache_strings="none")
    except (ValueError, TypeError):
        try:
            value = read_json(text)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def words_in(raw: str, status: int | None, delivery: Delivery, wording: ToolWording) -> Words | str:
    """The answer in the raw body of a reply, or in a few words why it holds none."""
    file = read_object(raw)
    if "request_messages" in file:
        text, notes, ended = (
            file.get(name) for name in ("response", "content_thinking", "finish_reason")
        )
        if ended in ("error", "content_filter"):
            return f"it ended with {ended}"
        if not isinstance(text, str) or not is_words(text):
            return "no words"
        return clean_text(text), clean_text(notes) if isinstance(notes, str) else ""
    completion = read_completion(raw.encode("utf-8", "replace"), status or 200, None)
    if not isinstance(completion, Completion):
        return completion.message
    read = said(completion, delivery, wording)
    return (read.words.text, read.words.notes) if isinstance(read, Said) else read.reason


# a mark as JSON writes it, up to what may follow it there
_MARK = re.compile(
    r'"(\w{1,80})"[ \t]*:[ \t]*(-?[0-9]{1,9}(?:\.[0-9]{1,9})?|true|false)(?=\s*[,}])', re.ASCII
)


def marks_in(raw: str, scenario: Scenario) -> Marks:
    """The marks that stand in a judge's reply which is no JSON, as with an unescaped quote; {}
    where one is not clear.

    Evidence for marks that count, and no way to a mark: a key that has two values may be one that
    is quoted.
    """
    completion = (
        read_completion(raw.encode("utf-8", "replace"), 200, None)
        if "choices" in read_object(raw)
        else raw
    )
    text = completion.content if isinstance(completion, Completion) else raw
    given: dict[str, set[str]] = defaultdict(set)
    for name, value in _MARK.findall(text):
        given[name].add(value)
    clear = {name: json.loads(values.pop()) for name, values in given.items() if len(values) == 1}
    read = published_verdict(clear, scenario.marks)
    return {} if isinstance(read, NoVerdict) else read.marks


def verdict_in(raw: str, status: int | None, scenario: Scenario) -> Verdict | NoVerdict:
    """The verdict in the raw body of a judgement: an endpoint's completion, or the bare words of a
    published judge.
    """
    body = read_object(raw)
    if "choices" in body:
        completion = read_completion(raw.encode("utf-8", "replace"), status or 200, None)
        if not isinstance(completion, Completion):
            return NoVerdict(completion.message)
        return parse_verdict(completion.content, scenario.marks)
    scores = body or read_object(raw[raw.find("{") : raw.rfind("}") + 1])
    if not scores:
        return NoVerdict("not one JSON object")
    return published_verdict(scores, scenario.marks)


# ---------------------------------------------------------------- histories in requests


def model_lines(request: str) -> tuple[tuple[str, ...], str]:
    """(the model's texts in the history in *request*, the human's last one); ((), "") where it is
    none.
    """
    texts: list[str] = []
    last = ""
    for message in _objects(read_object(request).get("messages")):
        if message.get("role") == "assistant":
            called = [call.get("function") for call in _objects(message.get("tool_calls"))]
            spoken = [
                text for call in _objects(called) for text in _spoken(str(call.get("arguments")))
            ]
            texts += spoken if called else [str(message.get("content") or "")]
        elif message.get("role") != "system":
            last = str(message.get("content") or "")
    return tuple(texts), last


@lru_cache(maxsize=1024)  # the history of a request is that of the next one, too
def _spoken(arguments: str) -> tuple[str, ...]:
    return tuple(value for value in read_object(arguments).values() if isinstance(value, str))


def _objects(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; a foreign request may have something else there."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
