"""Reads a folder that `aib export` wrote back into a store.

    summary = import_export(Path("results"), store)     # summary.findings: what was refused and why, a line each

Every file is somebody else's: a row that is damaged, of the wrong type or says something else than its key was made
from is refused, counted and listed, and the rest comes in. What is in the store already stays as it is. All of it is
one commit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from independence_bench.dataset.convert import same, to_sheet, to_store
from independence_bench.dataset.files_io import find_file, in_batches, read_file
from independence_bench.dataset.schema import SHEETS, Sheet, read_row
from independence_bench.dataset.validate import (
    Refused,
    check_attempt,
    check_call,
    check_decision,
    check_judge,
    check_protocol,
    check_subject,
    model_of,
    need,
)
from independence_bench.errors import ProtocolError, WrongUse
from independence_bench.hashing import content_hash, text_hash
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.conversation import Line, Talk, Transcript, Words
from independence_bench.protocol.definition import Configuration, Protocol, Scenario
from independence_bench.protocol.loader import load, parse, shipped
from independence_bench.protocol.plan import every_configuration, opening, request, script_hash
from independence_bench.store import bulk, registry
from independence_bench.store.attempts import ANSWERED, CUT_OFF
from independence_bench.store.database import Store

MOST_FINDINGS = 1000  # that are kept in words; all are counted
ELSEWHERE = "published-"  # protocols of this name describe what other programs sent; their requests are not ours

Row = dict[str, Any]
Known = Mapping[str, list[tuple[Protocol, Configuration, Scenario]]]  # script hash -> what is played by it


@dataclass(slots=True)
class Count:
    """What became of the rows of one file."""

    added: int = 0
    there: int = 0  # were stored already, and say the same
    conflicts: int = 0  # are stored already and say something else; what is stored stays
    refused: int = 0


@dataclass(slots=True)
class Imported:
    """What an import came to."""

    counts: dict[str, Count] = field(default_factory=lambda: {s.name: Count() for s in SHEETS if s.imported})
    findings: list[str] = field(default_factory=list)  # the first of them, a line each
    found: int = 0  # all of them
    untraced: int = 0  # transcripts played by other programs, or by a script that no protocol here has

    def note(self, finding: str) -> None:
        """Write a finding down."""
        self.found += 1
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(finding)


def is_export(path: Path) -> bool:
    """Whether *path* looks like a folder that `aib export` wrote."""
    return find_file(path, "transcripts") is not None or find_file(path, "calls") is not None


def import_export(path: Path, store: Store) -> Imported:
    """Read the export in the folder *path* into *store*. Raises WrongUse where there is none, or StoreError."""
    if not is_export(path):
        raise WrongUse(
            f"{path} is no folder that `aib export` wrote: it has no transcripts.jsonl or transcripts.parquet"
        )
    summary = Imported()
    with store.writing() as connection:
        desk = _Desk(connection, summary)
        for sheet in SHEETS:
            if sheet.imported:
                for batch in in_batches(_rows(path, sheet, summary)):
                    desk.take(sheet, batch)
    return summary


def _rows(path: Path, sheet: Sheet, summary: Imported) -> Iterator[tuple[int, tuple[str, Row]]]:
    """Its size, where it stands, and the row, for each good row of *sheet*."""
    file = find_file(path, sheet.name)
    if file is None:
        if not sheet.optional:
            summary.note(f"{sheet.name}: there is no such file")
        return
    for found in read_file(file):
        try:
            if isinstance(found.value, ValueError):
                raise found.value
            yield found.size, (found.where, read_row(sheet, found.value))
        except ValueError as error:
            summary.counts[sheet.name].refused += 1
            summary.note(f"{found.where}: {error}")


class _Desk:
    """Takes rows of one sheet after the other, each batch checked against what came before it."""

    def __init__(self, connection: Connection, summary: Imported) -> None:
        self.connection, self.summary = connection, summary
        self.requests: dict[str, str] = {}  # of calls, made again
        self._scripts: Known | None = None

    def take(self, sheet: Sheet, batch: list[tuple[str, Row]]) -> None:
        """Store what is good and new of *batch*."""
        if sheet.name == "attempts":
            self._attempts(sheet, batch)
            return
        count = self.summary.counts[sheet.name]
        stored = self._stored(sheet, batch)
        check = self._check(sheet, [row for _, row in batch])
        new = []
        for where, row in batch:
            key = _key(sheet, row)
            if key in stored:
                self._again(sheet, where, same(sheet, row, stored[key]))
                continue
            try:
                made = check(row)
            except Refused as error:
                count.refused += 1
                self.summary.note(f"{where}: {error}")
                continue
            stored[key] = row
            new.append(made)
            count.added += 1
        bulk.add(self.connection, sheet.name, new)
        if sheet.name == "transcripts":
            bulk.set_requests(self.connection, self.requests)

    def _check(self, sheet: Sheet, rows: list[Row]) -> Callable[[Row], Row]:
        """What makes a row for the store of one of *rows*, or refuses it."""
        if sheet.name == "replies":
            return _Replies(self, rows).check
        if sheet.name == "transcripts":
            return _Transcripts(self, rows).check
        if sheet.name == "judgements":
            return _Judgements(self, rows).check
        return _CHECKS.get(sheet.name, self._parents)

    def _again(self, sheet: Sheet, where: str, alike: bool) -> None:
        count = self.summary.counts[sheet.name]
        if alike:
            count.there += 1
        else:
            count.conflicts += 1
            self.summary.note(f"{where}: is stored already with other content, which stays")

    def _stored(self, sheet: Sheet, batch: list[tuple[str, Row]]) -> dict[tuple[Any, ...], Row]:
        """What is stored under the keys of *batch*, in the form of an export."""
        first = sheet.columns[0].name
        blobs = {"files", "lines", "request", "raw"}
        found = bulk.find(self.connection, sheet.name, first, {row[first] for _, row in batch}, blobs)
        numbers = self.numbers({row["attempt_id"] for row in found if row.get("attempt_id")})
        told = [{"attempt": numbers.get(row.get("attempt_id") or 0)} for row in found]
        rows = [to_sheet(sheet, row, more) for row, more in zip(found, told, strict=True)]
        return {_key(sheet, row): row for row in rows}

    # attempts have no key of their own: they are the first, second, ... at their call

    def _attempts(self, sheet: Sheet, batch: list[tuple[str, Row]]) -> None:
        count = self.summary.counts[sheet.name]
        calls = {row["call_key"] for _, row in batch}
        known = self.present("calls", "key", calls)
        stored: dict[str, list[Row]] = {key: [] for key in known}
        for found in bulk.find(self.connection, "attempts", "call_key", calls, {"raw"}):
            if found["finished_at"] is not None:
                stored[found["call_key"]].append(found)
        new, identity = [], bulk.next_attempt(self.connection)
        for where, row in batch:
            before = stored.get(row["call_key"])
            number = row["number"]
            try:
                check_attempt(row)
            except Refused as error:
                count.refused += 1
                self.summary.note(f"{where}: {error}")
                continue
            if before is not None and 0 < number <= len(before):
                there = to_sheet(sheet, {**before[number - 1], "number": number}, {})
                self._again(sheet, where, same(sheet, row, there))
            elif before is None or number != len(before) + 1:
                count.refused += 1
                why = "its call is not here" if before is None else f"attempt {number} comes after {len(before)}"
                self.summary.note(f"{where}: {why}")
            else:
                made = {**to_store(sheet, row), "id": identity}
                del made["number"]
                before.append(made)
                new.append(made)
                identity += 1
                count.added += 1
        bulk.add(self.connection, sheet.name, new)

    def numbers(self, ids: Collection[int]) -> dict[int, int]:
        """The number at its call of each attempt."""
        return {identity: number for (_, number), (identity, _) in self._at_calls(self._calls_of(ids)).items()}

    def attempt_ids(self, calls: Collection[str]) -> dict[tuple[str, int], tuple[int, str]]:
        """(call, number) -> (id, outcome) of the attempts at *calls*."""
        return self._at_calls(calls)

    def _calls_of(self, ids: Collection[int]) -> set[str]:
        return {row["call_key"] for row in bulk.find(self.connection, "attempts", "id", ids)} if ids else set()

    def _at_calls(self, calls: Collection[str]) -> dict[tuple[str, int], tuple[int, str]]:
        numbered: dict[str, int] = {}
        found = {}
        for row in bulk.find(self.connection, "attempts", "call_key", calls) if calls else []:
            if row["finished_at"] is not None:
                number = numbered[row["call_key"]] = numbered.get(row["call_key"], 0) + 1
                found[row["call_key"], number] = (row["id"], row["outcome"])
        return found

    def present(self, table: str, column: str, values: Collection[str]) -> set[str]:
        """Those of *values* that the table has."""
        return {row[column] for row in bulk.find(self.connection, table, column, values)}

    def _parents(self, row: Row) -> Row:
        """A row of `begun` or `decisions`: its protocol and its subject have to be here."""
        if "verdict" in row:
            check_decision(row)
        else:
            need(self.present("protocols", "hash", {row["protocol_hash"]}), "its protocol is not here")
        need(self.present("subjects", "hash", {row["subject_hash"]}), "its subject is not here")
        return row

    @property
    def scripts(self) -> Known:
        """Every script of every protocol in the store, and of those that ship."""
        if self._scripts is None:
            self._scripts = _scripts(self.connection)
        return self._scripts


def _scripts(connection: Connection) -> Known:
    protocols = [load(name) for name in shipped()]
    for hash_, _, files in registry.stored_protocols(connection):
        try:
            protocols.append(parse(files, where=hash_[:12]))
        except ProtocolError:
            continue  # one that this version cannot read has nothing to check by
    known: dict[str, list[tuple[Protocol, Configuration, Scenario]]] = {}
    for protocol in protocols:
        for configuration in every_configuration(protocol):
            for scenario in protocol.scenarios:
                script = script_hash(protocol, configuration, scenario)
                known.setdefault(script, []).append((protocol, configuration, scenario))
    return known


def _key(sheet: Sheet, row: Row) -> tuple[Any, ...]:
    return tuple(row[c.name] for c in sheet.columns) if sheet.name == "begun" else (row[sheet.columns[0].name],)


_SHEET = {sheet.name: sheet for sheet in SHEETS}
_CHECKS: Mapping[str, Callable[[Row], Row]] = {
    "protocols": check_protocol,
    "subjects": check_subject,
    "judges": check_judge,
    "calls": check_call,
}


class _Answers:
    """Replies or judgements with the attempts that they came from."""

    kind = ""

    def __init__(self, desk: _Desk, rows: list[Row]) -> None:
        keys = {row["key"] for row in rows}
        self.attempts = desk.attempt_ids(keys)
        self.kinds = {row["key"]: row["kind"] for row in bulk.find(desk.connection, "calls", "key", keys)}

    def bought(self, row: Row, valid: bool) -> int:
        """The id of the attempt that *row* came from."""
        need(self.kinds.get(row["key"]) == self.kind, f"no call for a {self.kind} of that key is here")
        found = self.attempts.get((row["key"], row["attempt"]))
        if found is None:
            raise Refused("the attempt that it came from is not here")
        need(not valid or found[1] in (ANSWERED, CUT_OFF), f"it is valid and comes from an attempt that was {found[1]}")
        return found[0]


class _Replies(_Answers):
    kind = "reply"

    def check(self, row: Row) -> Row:
        valid = row["state"] == "valid"
        need(row["state"] in ("valid", "invalid") and valid == (row["reason"] is None), "state and reason disagree")
        need(not valid or row["text"].strip(), "it is valid and says nothing")
        stored = dict(row)
        del stored["attempt"]
        return stored | {"attempt_id": self.bought(row, valid)}


class _Judgements(_Answers):
    kind = "judgement"

    def __init__(self, desk: _Desk, rows: list[Row]) -> None:
        super().__init__(desk, rows)
        self.judges = desk.present("judges", "hash", {row["judge_hash"] for row in rows})

    def check(self, row: Row) -> Row:
        valid = row["state"] == "valid"
        need(row["judge_hash"] in self.judges, "its judge is not here")
        own = content_hash([row["heard_hash"], row["rubric_hash"], row["judge_hash"]])
        need(own == row["key"], "its key is not made of what was heard, the rubric and the judge")
        need(row["state"] in ("valid", "failed") and valid == (row["reason"] is None), "state and reason disagree")
        names = [mark["mark"] for mark in row["marks"]]
        need(valid == bool(names) and len(set(names)) == len(names), f"it is {row['state']}, with the marks {names}")
        stored = to_store(_SHEET["judgements"], row)
        del stored["attempt"]
        return stored | {"attempt_id": None if row["attempt"] is None else self.bought(row, valid)}


class _Transcripts:
    """Transcripts, checked against their replies, their script, and the keys that its requests make."""

    def __init__(self, desk: _Desk, rows: list[Row]) -> None:
        self.desk = desk
        self.protocols = desk.present("protocols", "hash", {row["protocol_hash"] for row in rows})
        subjects = bulk.find(desk.connection, "subjects", "hash", {row["subject_hash"] for row in rows})
        self.subjects = {row["hash"]: model_of(row["spec"]) for row in subjects}
        keys = {key for row in rows for key in row["reply_keys"]}
        self.replies = {row["key"]: row for row in bulk.find(desk.connection, "replies", "key", keys)}
        desk.requests = {}

    def check(self, row: Row) -> Row:
        need(row["protocol_hash"] in self.protocols, "its protocol is not here")
        subject = self.subjects.get(row["subject_hash"])
        if subject is None:
            raise Refused("its subject is not here")
        need(row["run"] >= 1, "runs are counted from 1")
        need({line["speaker"] for line in row["lines"]} <= {"human", "model"}, "somebody else speaks in it")
        own = content_hash([row["script_hash"], row["subject_hash"], row["run"]])
        need(own == row["id"], "its id is not made of script, subject and run")
        talk = Transcript(row["system_prompt"], tuple(Line(**line) for line in row["lines"]))
        need(talk.heard_hash == row["heard_hash"], "it holds other words than its hash was made from")
        complete = row["state"] == "complete"
        need(
            row["state"] in ("complete", "invalid") and complete == (row["reason"] is None), "state and reason disagree"
        )
        need(all(key in self.replies for key in row["reply_keys"]), "a reply of it is not here")
        self._said(row, talk, complete)
        self._caused(row, talk, subject)
        return to_store(_SHEET["transcripts"], row)

    def _said(self, row: Row, talk: Transcript, complete: bool) -> None:
        """Its words are those of its replies."""
        replies = [self.replies[key] for key in row["reply_keys"]]
        said = [line for line in talk.lines if line.name]
        open_ended = 0 if complete else 1  # what ended an invalid one is no line of it
        need(len(said) <= len(replies) <= len(said) + open_ended, "it has not as many replies as it says")
        need(len(replies) == row["replies"], "it has not as many replies as it says")
        for line, reply in zip(said, replies, strict=False):
            need(
                (line.text, line.notes) == (reply["text"], reply["notes"]), f"“{line.name}” is not what its reply says"
            )
        for counted in ("cut_off", "plain_text", "reasoned"):
            need(row[counted] == sum(bool(reply[counted]) for reply in replies), f"it miscounts {counted}")

    def _caused(self, row: Row, talk: Transcript, subject: ChatModel) -> None:
        """Its script, played with its replies, gives its words, and each request the key that its reply is under."""
        known = self.desk.scripts.get(row["script_hash"], [])
        if all(protocol.name.startswith(ELSEWHERE) for protocol, _, _ in known):
            self.desk.summary.untraced += 1
            return
        named = tuple(row[name] for name in ("system", "delivery", "scenario", "experiment"))
        places = {(c.system, c.delivery, s.id, s.experiment): (p, c, s) for p, c, s in known}
        need(named in places, "its script is not that of its scenario and configuration")
        protocol, configuration, scenario = places[named]
        played = opening(protocol, configuration, scenario)
        made: dict[str, str] = {}
        for key in row["reply_keys"]:
            if not played.awaiting:
                raise Refused("it has more replies than its script asks for")
            record = request(played, subject, configuration, protocol).record
            need(
                content_hash([text_hash(record), row["run"]]) == key,
                f"“{played.awaiting}” has another key than its request",
            )
            made[key] = record
            played = self._on(played, key)
        need(
            played.transcript == talk and bool(played.awaiting) != (row["state"] == "complete"),
            "its script goes otherwise",
        )
        self.desk.requests |= made

    def _on(self, played: Talk, key: str) -> Talk:
        reply = self.replies[key]
        return played if reply["state"] == "invalid" else played.answered(Words(reply["text"], reply["notes"]))
