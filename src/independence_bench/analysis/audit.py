"""The audit: it computes every number of a protocol again from its records, and lists missing and
damaged records. Changes nothing.

It reads the raw bodies of replies and of judges again, compares them with the stored values, and
makes indices of the scores that it read. docs/data-formats.md has a row for each finding.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import combinations
from typing import Annotated, Any, Literal

from pydantic_core import from_json
from sqlalchemy import Connection

from independence_bench.analysis.board import Board, BoardRecords, Row
from independence_bench.analysis.leaderboard import Wanted, make_leaderboards, read_board_records
from independence_bench.analysis.results import CountedConversation, find_judgements_of_conversation
from independence_bench.columns import HIDDEN, SENT, Column
from independence_bench.errors import StoreError
from independence_bench.judging.output import (
    NoVerdict,
    Verdict,
    read_published_verdict,
    read_verdict,
)
from independence_bench.models.messages import Completion
from independence_bench.models.response import (
    read_completion,
    read_json,
    replace_unstorable_characters,
)
from independence_bench.models.served import is_same_model
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.conversation import Line
from independence_bench.protocol.definition import (
    Configuration,
    Delivery,
    Protocol,
    Scenario,
    ToolWording,
)
from independence_bench.protocol.delivery import UsableReply, has_words, read_reply
from independence_bench.protocol.scoring import OWN, Marks, Rules
from independence_bench.store import results as stored_results
from independence_bench.store.attempts import (
    ANSWERED,
    CUT_OFF,
    RawAttempt,
    SharedId,
    find_shared_response_ids,
    read_raw_attempts,
)
from independence_bench.store.database import Store
from independence_bench.store.integrity import check_store
from independence_bench.store.results import Judgement, TranscriptRow

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
# "chatcmpl-", "gen-": what all ids of an endpoint begin with
_ID_PREFIX = re.compile(r"(?<![A-Za-z])(?:[A-Za-z]+[-_.])+")
# characters; Ollama draws one of 999 numbers, other local servers count from 1 at each start
SHORTEST_UNIQUE_ID = 8
MOST_NAMES = 5  # models that are named in one line
TINY = 1e-9  # points of an index: what two sums of the same numbers may differ in


# ---------------------------------------------------------------- what the audit comes to


@dataclass(frozen=True, slots=True)
class Occurrence:
    """The place of a problem that the audit found. A field is empty or None if the problem is wider
    than that.
    """

    detail: str
    subject: str = ""  # hash
    label: str = ""
    run: int | None = None
    configuration: Configuration | None = None
    scenario: str = ""
    transcript: str = ""  # id
    judge: str | None = None  # label; None: it concerns every judge's numbers

    def sent(self) -> dict[str, object]:
        """Return the place of a problem in the form for JSON: field -> value, null where the
        problem is wider than the field.
        """
        return {field.name: getattr(self, field.name) or None for field in fields(self)}


Occurrences = Iterator[Occurrence]


@dataclass(frozen=True, slots=True)
class Check:
    """One kind of problem that the audit looks for. *runs*: show the index without the affected
    runs.
    """

    name: str
    severity: Severity
    title: str
    meaning: str
    find: Callable[[AuditEvidence], Occurrences]
    runs: bool = True


@dataclass(frozen=True, slots=True)
class IndexChange:
    """The index of one model on one leaderboard, with and without the runs that a finding of the
    audit affects.
    """

    label: str
    judge: str | None
    configurations: tuple[str, ...]
    index: float | None  # as it is shown, [0, 100]; None: incomplete
    # the other runs' mean, by the same scorer; None: none has an index
    without: Annotated[float | None, Column(key="index_without")]
    runs: int  # it has
    left: Annotated[int, Column(key="runs_left")]  # that *without* is the mean of

    @property
    def index_change_without_runs(self) -> float | None:
        """Change of a model's index, in points, if the runs with a problem are left out: without
        them minus with them; None if one of the two indices is missing.
        """
        return None if self.index is None or self.without is None else self.without - self.index


@dataclass(frozen=True, slots=True)
class Finding:
    """One kind of problem that the audit found, with all its places. *effects* is empty if no run
    can be left out for it.
    """

    kind: Annotated[Check, HIDDEN]
    places: tuple[Occurrence, ...]
    effects: Annotated[tuple[IndexChange, ...], Column(key="without_it")]

    @property
    def name(self) -> Annotated[str, SENT]:
        """Name of the check that found the problem."""
        return self.kind.name

    @property
    def severity(self) -> Annotated[Severity, SENT]:
        """Severity of the problem: "error", "warning" or "note"."""
        return self.kind.severity

    @property
    def title(self) -> Annotated[str, SENT]:
        """Title of the check that found the problem, a short phrase."""
        return self.kind.title

    @property
    def meaning(self) -> Annotated[str, SENT]:
        """A sentence that says what the problem means for the scores."""
        return self.kind.meaning

    @property
    def count(self) -> Annotated[int, SENT]:
        """Number of places at which the audit found the problem."""
        return len(self.places)

    @property
    def subjects(self) -> Annotated[int, SENT]:
        """Number of models that have the problem."""
        return len({place.subject for place in self.places if place.subject})

    @property
    def change(self) -> Annotated[float | None, Column(key="biggest_change")]:
        """The largest change of a model's index, in points with its sign, if the runs with the
        problem are left out; None if no index has such a change.
        """
        changes = (
            effect.index_change_without_runs
            for effect in self.effects
            if effect.index_change_without_runs is not None
        )
        return max(changes, key=abs, default=None)


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The findings of an audit, the worst first, and how much was read for them."""

    protocol: Protocol
    rules: str
    findings: tuple[Finding, ...]
    conversations: int = 0
    replies: int = 0  # read again from their raw bodies
    verdicts: int = 0  # read again from their raw bodies
    indices: int = 0  # made again

    @property
    def error_count(self) -> int:
        """Number of findings of an audit that have the severity "error"."""
        return sum(finding.kind.severity == "error" for finding in self.findings)


def audit_protocol(store: Store, protocol: Protocol, rules: Rules = OWN) -> AuditReport:
    """Return the findings of an audit of everything that *store* has of *protocol*: missing and
    damaged records, and scores, by *rules*, that do not follow from the raw replies. An empty store
    has no finding. Changes nothing.

    If the scores cannot be read, only the check that the store is consistent is made; raises
    StoreError if that check finds nothing.
    """
    with store.open_snapshot() as connection:
        contradictions = check_store(connection)
        try:
            evidence = _gather_evidence(connection, protocol, rules, contradictions)
        except StoreError:
            if not contradictions:
                raise
            damage = Finding(CHECKS[0], tuple(map(Occurrence, contradictions)), ())
            return AuditReport(protocol, rules.name, (damage,))
    findings = []
    for kind in CHECKS:
        if places := tuple(kind.find(evidence)):
            effects = tuple(_compute_index_changes(evidence, places)) if kind.runs else ()
            findings.append(Finding(kind, places, effects))
    return AuditReport(
        protocol,
        rules.name,
        tuple(findings),
        len(evidence.conversations),
        evidence.bodies.replies,
        evidence.bodies.verdicts,
        sum(len(board.ranked) for board in evidence.boards),
    )


def _compute_index_changes(
    evidence: AuditEvidence, places: Sequence[Occurrence]
) -> Iterator[IndexChange]:
    """Yield, for every row of every leaderboard that has a problem at one of *places*, its index
    with and without the affected runs.
    """
    rules = evidence.rules
    for board in evidence.boards:
        touched: dict[str, set[int]] = defaultdict(set)
        for place in places:
            if place.configuration in board.configurations and place.judge in (None, board.judge):
                touched[place.subject] |= {place.run} if place.run is not None else set()
        for row in board.rows:
            # an excluded row has no index that a finding could change
            if row.excluded is not None or not (runs := touched.get(row.subject.hash)):
                continue
            rest = {
                run: row.marks.get(run, {})
                for run, score in row.run_scores.items()
                if run not in runs and (rules.partial or score.index is not None)
            }
            without = rules.score(board.protocol, board.configurations, rest)[1] if rest else None
            yield IndexChange(
                row.label,
                board.judge,
                tuple(map(str, board.configurations)),
                row.index,
                without.index if without else None,
                row.runs,
                len(rest),
            )


# ---------------------------------------------------------------- what is looked at


@dataclass(frozen=True, slots=True)
class AuditedConversation:
    """A conversation that counts for scores, with its replies and judgements."""

    row: TranscriptRow
    configuration: Configuration
    scenario: Scenario
    subject: ChatModel
    label: str
    keys: tuple[str, ...]  # of its replies, in the order in which they were given
    replies: tuple[tuple[str, Line], ...]  # (key, line) of each reply in it
    judgements: Sequence[Judgement]  # one of each judge, failed ones included

    @property
    def missing_reply_names(self) -> tuple[str, ...]:
        """Names of the replies that the scenario asks for and this conversation lacks; () if none
        is lacking, or if an invalid reply ended the conversation.
        """
        given = {line.name for _, line in self.replies}
        if len(self.keys) > len(given):
            return ()
        return tuple(name for name in self.scenario.reply_names if name not in given)


@dataclass(slots=True)
class RawReadings:
    """What the audit found when it read raw replies again, by key of the call. Only unusual calls
    have an entry.
    """

    replies: int = 0  # stored replies that were read again
    verdicts: int = 0  # stored judgements that were
    silent: set[str] = field(default_factory=set)  # stored, and without a raw body
    # an attempt at it cannot be read back; what of it
    damaged: dict[str, str] = field(default_factory=dict)
    # what a stored reply or judgement differs in
    otherwise: dict[str, str] = field(default_factory=dict)
    served: dict[str, str] = field(default_factory=dict)  # provider, by its own word
    models: dict[str, str] = field(default_factory=dict)  # model, by the server's word
    # of stored judgements, as they were read again
    marks: dict[str, Marks] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AuditEvidence:
    """Everything that the audit's checks look at. *boards* are by the rules that were asked for."""

    protocol: Protocol
    rules: Rules
    boards: Sequence[Board]
    conversations: Sequence[AuditedConversation]
    judges: Mapping[str, str]  # hash -> label
    bodies: RawReadings
    contradictions: Sequence[str]  # what the store's own check finds
    shared_ids: Sequence[SharedId]  # of all endpoints, whatever was asked there


def _gather_evidence(
    connection: Connection, protocol: Protocol, rules: Rules, contradictions: Sequence[str]
) -> AuditEvidence:
    """Return everything that the audit's checks look at: the leaderboards of *protocol* by *rules*,
    its conversations, and what the raw replies and judgements say when they are read again.
    *contradictions*: what the check of the store found.
    """
    records = read_board_records(connection, protocol)
    shown = make_leaderboards(records, protocol, Wanted(rules=rules))
    played = tuple(_read_audited_conversations(connection, shown, records))
    bodies = RawReadings()
    _reread_replies(connection, played, protocol, bodies)
    _reread_verdicts(connection, records, protocol, bodies)
    shared_ids = find_shared_response_ids(connection)
    return AuditEvidence(
        protocol, rules, shown, played, records.labels, bodies, contradictions, shared_ids
    )


def _read_audited_conversations(
    connection: Connection, shown: Sequence[Board], records: BoardRecords
) -> Iterator[AuditedConversation]:
    """Yield the conversations of every row of the leaderboards *shown*, with replies and
    judgements, one for each scenario, configuration and run.

    Conversations that cannot be read from the store are left out; the check of the store reports
    them.
    """
    rows = {
        (c, row.subject.hash): row
        for board in shown
        for c in board.configurations
        for row in board.rows
    }
    if not rows:  # of a protocol of an earlier form nothing is shown
        return
    counted: dict[str, list[CountedConversation]] = defaultdict(list)
    for results in records.counted.groups:
        for played in results.conversations:
            counted[played.row.id].append(played)
    scripts = {script for of in records.counted.groups for script in of.slots}
    for transcript_id, transcript, keys in stored_results.read_script_transcripts(
        connection, scripts, skip_damaged=True
    ):
        replies = tuple(zip(keys, (line for line in transcript.lines if line.name), strict=False))
        for played in counted[transcript_id]:
            row = rows[played.configuration, played.row.subject_hash]
            verdicts = find_judgements_of_conversation(records.counted.given, played.key)
            yield AuditedConversation(*played[:3], row.subject, row.label, keys, replies, verdicts)


def _reread_replies(
    connection: Connection,
    played: Sequence[AuditedConversation],
    protocol: Protocol,
    bodies: RawReadings,
) -> None:
    """Read every reply of the conversations *played* again from its stored raw body, and record in
    *bodies* what is unusual: damaged or missing bodies, other words, another provider or model.
    """
    places: dict[str, Delivery] = {
        key: of.configuration.delivery for of in played for key in of.keys
    }
    for body in read_raw_attempts(connection, "reply"):
        delivery = places.get(body.key)
        if body.raw is None:
            bodies.damaged[body.key] = "the raw body of a reply"
        elif delivery is not None:
            if body.outcome in (ANSWERED, CUT_OFF) and body.served_provider:
                bodies.served[body.key] = body.served_provider
            if body.state is not None:
                if body.served_model:
                    bodies.models[body.key] = body.served_model
                _check_reply_body(body, body.raw, delivery, protocol.tool_role, bodies)


def _check_reply_body(
    body: RawAttempt, raw: str, delivery: Delivery, wording: ToolWording, bodies: RawReadings
) -> None:
    """Read the *raw* body of a reply and record in *bodies* if it is missing, or if its words
    differ from those of the stored reply.
    """
    if not raw:
        bodies.silent.add(body.key)
        return
    bodies.replies += 1
    if body.state == "valid":
        read = parse_words_and_notes(raw, body.status, delivery, wording)
        if isinstance(read, str):
            bodies.otherwise[body.key] = f"its raw body holds no valid answer: {read}"
        elif read != (body.text, body.notes):
            bodies.otherwise[body.key] = "its raw body has different words"


def _reread_verdicts(
    connection: Connection, records: BoardRecords, protocol: Protocol, bodies: RawReadings
) -> None:
    """Read every judgement of *protocol* again from the judge's stored raw reply, and record in
    *bodies* its scores and what is unusual: damaged or missing replies, scores that differ from the
    stored ones.
    """
    scenarios = {
        rubric: protocol.find_scenario(name)
        for results in records.counted.groups
        for (_, name), rubric in results.rubrics.items()
    }
    given = {
        one.key: one for of_judge in records.counted.given.values() for one in of_judge.values()
    }
    for body in read_raw_attempts(connection, "judgement"):
        stored = given.get(body.key)
        if body.raw is None:
            bodies.damaged[body.key] = "the raw body of a judgement"
            continue
        if stored is None or stored.reason is not None or body.state is None:
            continue
        if not body.raw:
            bodies.silent.add(body.key)
            continue
        bodies.verdicts += 1
        scenario = scenarios[stored.rubric_hash]
        read = _parse_verdict_body(body.raw, body.status, scenario)
        if isinstance(read, NoVerdict):
            if _find_marks_in_broken_json(body.raw, scenario) != stored.marks:
                bodies.otherwise[body.key] = f"its raw reply cannot be read: {read.reason}"
            continue
        bodies.marks[body.key] = read.marks
        if read.marks != stored.marks:
            both = (
                ", ".join(f"{n} {mark:g}" for n, mark in sorted(of.items()))
                for of in (read.marks, stored.marks)
            )
            bodies.otherwise[body.key] = "its raw reply says {}; stored: {}".format(*both)


def _parse_json_object_or_empty(text: str) -> dict[str, Any]:
    """Return the JSON object that *text* is, as a dict; {} if it is not valid JSON, or another JSON
    value.
    """
    try:
        # a third faster than `json`, and what it reads it reads alike; it refuses more
        value = from_json(text, cache_strings="none")
    except (ValueError, TypeError):
        try:
            value = read_json(text)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def parse_words_and_notes(
    raw: str, status: int | None, delivery: Delivery, wording: ToolWording
) -> tuple[str, str] | str:
    """Return (words, private notes) from the *raw* body of a model's reply, or a string that says
    why the body holds no valid reply. *status*: of the HTTP response.
    """
    file = _parse_json_object_or_empty(raw)
    if "request_messages" in file:  # of the published layout
        text, notes, ended = (
            file.get(name) for name in ("response", "content_thinking", "finish_reason")
        )
        if ended in ("error", "content_filter"):
            return f"it ended with {ended}"
        if not isinstance(text, str) or not has_words(text):
            return "no words"
        return replace_unstorable_characters(text), replace_unstorable_characters(
            notes
        ) if isinstance(notes, str) else ""
    completion = read_completion(raw.encode("utf-8", "replace"), status or 200, None)
    if not isinstance(completion, Completion):
        return completion.message
    read = read_reply(completion, delivery, wording)
    return (read.words.text, read.words.notes) if isinstance(read, UsableReply) else read.reason


def _parse_verdict_body(raw: str, status: int | None, scenario: Scenario) -> Verdict | NoVerdict:
    """Return the scores and reasoning in the *raw* body of a judge's reply, which is an endpoint's
    completion or the bare text of a published judge; NoVerdict, with the reason, if they cannot be
    read.
    """
    body = _parse_json_object_or_empty(raw)
    if "choices" in body:
        completion = read_completion(raw.encode("utf-8", "replace"), status or 200, None)
        if not isinstance(completion, Completion):
            return NoVerdict(completion.message)
        # what was taken as the judge's own when it came is not doubted again
        return read_verdict(completion, scenario.marks, conversation="")
    scores = body or _parse_json_object_or_empty(raw[raw.find("{") : raw.rfind("}") + 1])
    if not scores:
        return NoVerdict("not one JSON object")
    return read_published_verdict(scores, scenario.marks)


# a mark as JSON writes it, up to what may follow it there
_MARK = re.compile(
    r'"(\w{1,80})"[ \t]*:[ \t]*(-?[0-9]{1,9}(?:\.[0-9]{1,9})?|true|false)(?=\s*[,}])', re.ASCII
)


def _find_marks_in_broken_json(raw: str, scenario: Scenario) -> Marks:
    """Return the scores in a published judge's reply that is not valid JSON, such as one with an
    unescaped quote; {} if one of them is not clear.

    They only confirm stored scores and never replace them: a key that has two values may be a
    quoted one.
    """
    given: dict[str, set[str]] = defaultdict(set)
    for name, value in _MARK.findall(raw):
        given[name].add(value)
    clear = {name: json.loads(values.pop()) for name, values in given.items() if len(values) == 1}
    read = read_published_verdict(clear, scenario.marks)
    return {} if isinstance(read, NoVerdict) else read.marks


# -------------------------------------------------------------- the problems, one function for each


def _make_occurrence(
    played: AuditedConversation, detail: str, judge: str | None = None
) -> Occurrence:
    """Return the place of a problem in the conversation *played*, with *detail* as its description.
    *judge*: label of the judge whose scores it concerns; None: of every judge.
    """
    row, scenario = played.row, played.scenario.id
    where = (row.run, played.configuration, scenario, row.id)
    return Occurrence(detail, row.subject_hash, played.label, *where, judge)


def _find_contradictions(evidence: AuditEvidence) -> Occurrences:
    """Yield each contradiction that the consistency check of the store reported."""
    yield from map(Occurrence, evidence.contradictions)


def _find_damaged_records(evidence: AuditEvidence) -> Occurrences:
    """Yield every raw body of a reply or judgement that cannot be read from the store, also those
    that belong to no conversation of the protocol.
    """
    details = {key: f"{what} cannot be read back" for key, what in evidence.bodies.damaged.items()}
    seen = set()
    for played in evidence.conversations:
        judged = [(given.key, evidence.judges[given.judge_hash]) for given in played.judgements]
        for key, judge in (*((key, None) for key in played.keys), *judged):
            if key in details:
                seen.add(key)
                yield _make_occurrence(played, details[key], judge)
    for key in sorted(details.keys() - seen):
        yield Occurrence(f"{details[key]}: call {key[:16]}")


def _find_index_differences(evidence: AuditEvidence) -> Occurrences:
    """Yield every row of a leaderboard whose index differs from the one computed from the judge's
    raw replies, read again.
    """
    there = _map_slots_to_conversations(evidence)
    for board in evidence.boards:
        for row in board.rows:
            if row.index is None:
                continue
            again = {
                run: {
                    slot: _find_reread_marks(
                        evidence, board, there.get((row.subject.hash, run, *slot)), marks
                    )
                    for slot, marks in row.marks.get(run, {}).items()
                }
                for run in row.run_scores
            }
            index = evidence.rules.score(board.protocol, board.configurations, again)[1].index
            if index is None or abs(index - row.index) > TINY:
                read = "none" if index is None else f"{index:.2f}"
                yield _make_row_occurrence(
                    row, board, f"shown as {row.index:.2f}, from the raw replies {read}"
                )


def _make_row_occurrence(row: Row, board: Board, detail: str) -> Occurrence:
    """Return the place of a problem that concerns a whole *row* of the leaderboard *board*, with
    *detail* as its description.
    """
    where = board.configurations[0] if len(board.configurations) == 1 else None
    return Occurrence(detail, row.subject.hash, row.label, configuration=where, judge=board.judge)


def _map_slots_to_conversations(
    evidence: AuditEvidence,
) -> dict[tuple[str, int, Configuration, str], AuditedConversation]:
    """Return (model's hash, run, configuration, scenario's id) -> the conversation."""
    return {
        (played.row.subject_hash, played.row.run, played.configuration, played.scenario.id): played
        for played in evidence.conversations
    }


def _find_reread_marks(
    evidence: AuditEvidence, board: Board, played: AuditedConversation | None, marks: Marks
) -> Marks:
    """Return the scores of the conversation *played* by the judge of *board*, as the judge's raw
    reply says when it is read again; the stored *marks* if there is no raw reply. {} if the raw
    reply cannot be read.
    """
    for judgement in played.judgements if played else ():
        if evidence.judges[judgement.judge_hash] == board.judge:
            if judgement.key in evidence.bodies.marks:
                return evidence.bodies.marks[judgement.key]
            return {} if judgement.key in evidence.bodies.otherwise else marks
    return marks


def _find_mark_differences(evidence: AuditEvidence) -> Occurrences:
    """Yield every judgement whose stored scores differ from those in the judge's raw reply."""
    for played in evidence.conversations:
        for judgement in played.judgements:
            if (detail := evidence.bodies.otherwise.get(judgement.key)) is not None:
                yield _make_occurrence(played, detail, evidence.judges[judgement.judge_hash])


def _find_word_differences(evidence: AuditEvidence) -> Occurrences:
    """Yield every reply whose stored words differ from those in its raw body."""
    for played in evidence.conversations:
        for key, line in played.replies:
            if (detail := evidence.bodies.otherwise.get(key)) is not None:
                yield _make_occurrence(played, f"{line.name}: {detail}")


def _find_broken_provider_pins(evidence: AuditEvidence) -> Occurrences:
    """Yield every reply that was served by another provider than the one its model is pinned to.

    The server gives a provider's name and the model's settings have a short form of it. They may
    mean the same provider if the letters and digits of one begin the other.
    """
    for played in evidence.conversations:
        pin = played.subject.provider
        slug = _keep_lower_letters_and_digits((pin or "").split("/")[0])
        for key, line in played.replies:
            served = evidence.bodies.served.get(key, "")
            name = _keep_lower_letters_and_digits(served)
            if pin and served and not (name.startswith(slug) or slug.startswith(name)):
                yield _make_occurrence(played, f"{line.name}: pinned to {pin}, served by {served}")


def _keep_lower_letters_and_digits(text: str) -> str:
    """Return the letters and digits of *text* alone, in lower case."""
    return "".join(filter(str.isalnum, text.lower()))


def _find_other_models(evidence: AuditEvidence) -> Occurrences:
    """Yield every model whose replies came from another model than the one asked, or from several,
    by the server's word.
    """
    by_subject: dict[tuple[str, str], set[str]] = defaultdict(set)
    asked: dict[tuple[str, str], str] = {}
    for played in evidence.conversations:
        subject = (played.row.subject_hash, played.label)
        asked[subject] = played.subject.model
        by_subject[subject].update(played.keys)
    models = evidence.bodies.models
    for subject, keys in by_subject.items():
        replies = Counter(models[key] for key in sorted(keys) if key in models)
        others = [name for name in replies if not is_same_model(asked[subject], name)]
        changed = any(not is_same_model(one, other) for one, other in combinations(replies, 2))
        if changed or others:
            names = ", ".join(
                f"{name[:80]} {count}" for name, count in replies.most_common(MOST_NAMES)
            )
            if len(replies) > MOST_NAMES:
                names += f" and {len(replies) - MOST_NAMES} more names"
            yield Occurrence(
                f"asked for {asked[subject]}; replies by the model that served them: {names}",
                *subject,
            )


def _find_endpoints_repeating_ids(evidence: AuditEvidence) -> Occurrences:
    """Yield every endpoint that answered several calls with one response id, so that an answer to
    one call may have been given again to another.
    """
    for endpoint, ids in _group_shared_ids_by_endpoint(evidence, usable=True):
        calls, (one, other) = sum(shared.calls for shared in ids), ids[0].example
        yield Occurrence(
            f"{endpoint}: {len(ids)} of its response ids stand in the answers to {calls} calls, "
            f"as {ids[0].id[:60]} in calls {one[:16]} and {other[:16]}"
        )


def _find_endpoints_with_useless_ids(evidence: AuditEvidence) -> Occurrences:
    """Yield every endpoint whose response ids do not distinguish its answers: most answers have the
    same id, or ids are a few digits.
    """
    for endpoint, ids in _group_shared_ids_by_endpoint(evidence, usable=False):
        most = max(ids, key=lambda shared: shared.calls)
        yield Occurrence(
            f"{endpoint} sends no usable response ids: {most.id[:60]} stands in the answers to "
            f"{most.calls} of {most.answered} calls"
        )


def _group_shared_ids_by_endpoint(
    evidence: AuditEvidence, usable: bool
) -> Iterator[tuple[str, list[SharedId]]]:
    """Yield (endpoint, the response ids that several of its calls share). *usable* True: ids that
    should be unique to an answer; False: ids that cannot distinguish answers.
    """
    by_endpoint: dict[str, list[SharedId]] = defaultdict(list)
    for shared in evidence.shared_ids:
        by_endpoint[shared.endpoint].append(shared)
    for endpoint, several in by_endpoint.items():
        constant = any(2 * shared.calls > shared.answered for shared in several)
        ids = [
            shared
            for shared in several
            if usable != (constant or len(_ID_PREFIX.sub("", shared.id)) < SHORTEST_UNIQUE_ID)
        ]
        if ids:
            yield endpoint, ids


def _find_missing_conversations(evidence: AuditEvidence) -> Occurrences:
    """Yield every conversation that a run should have and that was never begun, or breaks off
    before its end.
    """
    there = _map_slots_to_conversations(evidence)
    runs: dict[str, set[int]] = defaultdict(set)
    for conversation in evidence.conversations:
        runs[conversation.row.subject_hash].add(conversation.row.run)
    planned = {
        (row.subject.hash, run, configuration, scenario.id): row.label
        for board in evidence.boards
        for row in board.rows
        for run in sorted(row.run_scores or runs[row.subject.hash])
        for configuration in board.configurations
        for scenario in evidence.protocol.scenarios
    }
    for slot, label in planned.items():
        played = there.get(slot)
        if played is None:
            subject, run, configuration, scenario_id = slot
            yield Occurrence("not played", subject, label, run, configuration, scenario_id)
        elif played.missing_reply_names:
            yield _make_occurrence(
                played, f"without its end: {', '.join(played.missing_reply_names)}"
            )


def _find_invalid_conversations(evidence: AuditEvidence) -> Occurrences:
    """Yield every conversation that is invalid by our rules, so that it does not count, with the
    reason; without those that merely break off, which count as missing.
    """
    for played in evidence.conversations:
        if played.row.state == "invalid" and not played.missing_reply_names:
            marked = any(judgement.reason is None for judgement in played.judgements)
            judged = ", judged nevertheless" if marked else ""
            yield _make_occurrence(played, f"{played.row.reason}{judged}")


def _list_unscored_conversations(
    evidence: AuditEvidence,
) -> Iterator[tuple[AuditedConversation, Board, Judgement | None]]:
    """Yield every complete conversation that the judge of its leaderboard gave no scores to, as
    (conversation, leaderboard, the judgement that failed or None).
    """
    for board in evidence.boards:
        for played in evidence.conversations:
            to_judge = played.row.state == "complete"
            if to_judge and played.configuration in board.configurations:
                given = (
                    judgement
                    for judgement in played.judgements
                    if evidence.judges[judgement.judge_hash] == board.judge
                )
                mine = next(given, None)
                if mine is None or mine.reason is not None:
                    yield played, board, mine


def _find_unjudged_conversations(evidence: AuditEvidence) -> Occurrences:
    """Yield every complete conversation that has no judgement by the judge of its leaderboard."""
    for played, board, failed in _list_unscored_conversations(evidence):
        if failed is None:
            yield _make_occurrence(played, "not judged", board.judge)


def _find_failed_judgements(evidence: AuditEvidence) -> Occurrences:
    """Yield every complete conversation on which the judge of its leaderboard failed, with the
    reason.
    """
    for played, board, failed in _list_unscored_conversations(evidence):
        if failed is not None:
            yield _make_occurrence(played, str(failed.reason), board.judge)


def _find_answers_without_body(evidence: AuditEvidence) -> Occurrences:
    """Yield every reply and judgement that has no raw body in the store, so that nothing shows what
    was received.
    """
    silent = evidence.bodies.silent
    for played in evidence.conversations:
        for key, line in played.replies:
            if key in silent:
                yield _make_occurrence(played, f"{line.name} has no record of its own")
        for judgement in played.judgements:
            if judgement.key in silent:
                yield _make_occurrence(
                    played, "no raw reply", evidence.judges[judgement.judge_hash]
                )


# In the order in which they are shown: the worst first.
CHECKS: tuple[Check, ...] = (
    Check(
        "store", "error", "the store contradicts itself",
        "Keys, hashes and records do not follow from each other; nothing can be relied on.",
        _find_contradictions, runs=False,
    ),
    Check(
        "damaged", "error", "records that cannot be read back",
        "What came is no longer what was written: nothing shows what the number rests on.",
        _find_damaged_records,
    ),
    Check(
        "index", "error", "index differs from its records",
        "Computed again from the judges' raw replies, the index differs from the one shown.",
        _find_index_differences, runs=False,
    ),
    Check(
        "marks", "error", "scores differ from the raw reply",
        "Read again, the judge's raw reply gives different scores than those that count, or none.",
        _find_mark_differences,
    ),
    Check(
        "words", "error", "judged text differs from the raw reply",
        "What was judged is not what the raw body gives when it is read again.",
        _find_word_differences,
    ),
    Check(
        "pin", "error", "served by another provider",
        "A provider other than the one in the model's name served it.",
        _find_broken_provider_pins,
    ),
    Check(
        "model", "error", "another model answered",
        "By the server's own word replies come from another model than the one asked, or from "
        "several.",
        _find_other_models, runs=False,
    ),
    Check(
        "response-id", "error", "an answer came twice",
        "An endpoint gave several calls an answer with the same id: some replies may belong to "
        "other questions.",
        _find_endpoints_repeating_ids, runs=False,
    ),
    Check(
        "missing", "warning", "conversations missing",
        "Not played, or not to the end: the run has no index.",
        _find_missing_conversations,
    ),
    Check(
        "invalid", "warning", "invalid conversations",
        "They are not what the protocol asks for: the run has no index.",
        _find_invalid_conversations,
    ),
    Check(
        "not-judged", "warning", "conversations without a judgement",
        "The run has no index on that judge's leaderboard.",
        _find_unjudged_conversations,
    ),
    Check(
        "judge-failed", "warning", "failed judgements",
        "The run has no index on that judge's leaderboard.",
        _find_failed_judgements,
    ),
    Check(
        "unrecorded", "note", "no raw record",
        "It cannot be read again: its raw body was never stored, or left out of an export.",
        _find_answers_without_body,
    ),
    Check(
        "no-ids", "note", "endpoint without usable response ids",
        "Its ids do not tell answers apart, so an answer that came twice cannot be found.",
        _find_endpoints_with_useless_ids, runs=False,
    ),
)  # fmt: skip
