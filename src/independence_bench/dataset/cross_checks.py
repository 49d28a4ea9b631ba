"""What rows of an export say of each other, checked: a row refers to rows that are here, and does not contradict them.

What the rows of one batch need of the store is looked up once; a check refuses a row or makes it one for the store.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import Any

from sqlalchemy import Connection

from independence_bench.dataset.convert import to_store
from independence_bench.dataset.schema import JUDGEMENTS, TRANSCRIPTS
from independence_bench.dataset.validate import Refused, check_decision, model_of, need
from independence_bench.errors import ProtocolError
from independence_bench.hashing import judgement_key, reply_key, transcript_id
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.conversation import Line, Talk, Transcript, Words
from independence_bench.protocol.definition import Configuration, Protocol, Scenario
from independence_bench.protocol.loader import load, parse, shipped
from independence_bench.protocol.plan import every_configuration, opening, request, script_hash
from independence_bench.store import bulk, registry
from independence_bench.store.attempts import ANSWERED, CUT_OFF

ELSEWHERE = "published-"  # protocols of this name describe what other programs sent; their requests are not ours

Row = dict[str, Any]
Check = Callable[[Row], Row]
Known = Mapping[str, list[tuple[Protocol, Configuration, Scenario]]]  # script hash -> what is played by it


class StoreLookups:
    """What is in the store already, as checks need it."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def rows(self, table: str, column: str, values: Collection[Any], blobs: Collection[str] = ()) -> list[Row]:
        """The rows of *table* whose *column* is one of *values*."""
        return bulk.find(self.connection, table, column, values, blobs) if values else []

    def present(self, table: str, column: str, values: Collection[str]) -> set[str]:
        """Those of *values* that the table has."""
        return {row[column] for row in self.rows(table, column, values)}

    def attempts_at(self, calls: Collection[str], blobs: Collection[str] = ()) -> dict[str, list[Row]]:
        """Call -> the attempts at it that have ended, the first one first."""
        found: dict[str, list[Row]] = {}
        for row in self.rows("attempts", "call_key", calls, blobs):
            if row["finished_at"] is not None:
                found.setdefault(row["call_key"], []).append(row)
        return found

    def numbers(self, ids: Collection[int]) -> dict[int, int]:
        """The number at its call, from 1, of each attempt."""
        at_calls = self.attempts_at({row["call_key"] for row in self.rows("attempts", "id", ids)})
        return {row["id"]: number for rows in at_calls.values() for number, row in enumerate(rows, 1)}

    @cached_property
    def scripts(self) -> Known:
        """Every script of every protocol in the store, and of those that ship."""
        protocols = [load(name) for name in shipped()]
        for hash_, _, files in registry.stored_protocols(self.connection):
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


def parents(stored: StoreLookups, _rows: list[Row]) -> Check:
    """Of `begun` and `decisions`: the protocol and the subject have to be here."""

    def check(row: Row) -> Row:
        if "verdict" in row:
            check_decision(row)
        else:
            need(stored.present("protocols", "hash", {row["protocol_hash"]}), "its protocol is not here")
        need(stored.present("subjects", "hash", {row["subject_hash"]}), "its subject is not here")
        return row

    return check


def replies(stored: StoreLookups, rows: list[Row]) -> Check:
    """Replies with the attempts that they came from."""
    attempt_id = _paid_for(stored, rows, "reply")

    def check(row: Row) -> Row:
        valid = _is(row, "valid", "invalid")
        need(not valid or row["text"].strip(), "it is valid and says nothing")
        return _without_number(row) | {"attempt_id": attempt_id(row, valid)}

    return check


def judgements(stored: StoreLookups, rows: list[Row]) -> Check:
    """Judgements with the attempts that they came from, by judges that are here."""
    attempt_id = _paid_for(stored, rows, "judgement")
    judges = stored.present("judges", "hash", {row["judge_hash"] for row in rows})

    def check(row: Row) -> Row:
        need(row["judge_hash"] in judges, "its judge is not here")
        own = judgement_key(row["heard_hash"], row["rubric_hash"], row["judge_hash"])
        need(own == row["key"], "its key is not made of what was heard, the rubric and the judge")
        valid = _is(row, "valid", "failed")
        names = [mark["mark"] for mark in row["marks"]]
        need(valid == bool(names) and len(set(names)) == len(names), f"it is {row['state']}, with the marks {names}")
        bought = None if row["attempt"] is None else attempt_id(row, valid)
        return _without_number(to_store(JUDGEMENTS, row)) | {"attempt_id": bought}

    return check


def _is(row: Row, good: str, bad: str) -> bool:
    """Whether the row's state is *good*; refused where it is neither, or disagrees with the reason."""
    agree = row["state"] in (good, bad) and (row["state"] == good) == (row["reason"] is None)
    need(agree, "state and reason disagree")
    return bool(row["state"] == good)


def _without_number(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != "attempt"}


def _paid_for(stored: StoreLookups, rows: list[Row], kind: str) -> Callable[[Row, bool], int]:
    """What finds the id of the attempt that an answer of *kind* came from."""
    keys = {row["key"] for row in rows}
    attempts = stored.attempts_at(keys)
    kinds = {row["key"]: row["kind"] for row in stored.rows("calls", "key", keys)}

    def attempt_id(row: Row, valid: bool) -> int:
        need(kinds.get(row["key"]) == kind, f"no call for a {kind} of that key is here")
        at_call = attempts.get(row["key"], [])
        need(0 < row["attempt"] <= len(at_call), "the attempt that it came from is not here")
        found = at_call[row["attempt"] - 1]
        usable = found["outcome"] in (ANSWERED, CUT_OFF)
        need(not valid or usable, f"it is valid and comes from an attempt that was {found['outcome']}")
        return int(found["id"])

    return attempt_id


class Transcripts:
    """Transcripts, checked against their replies, their script, and the keys that its requests make."""

    def __init__(self, stored: StoreLookups, rows: list[Row]) -> None:
        self.stored = stored
        self.protocols = stored.present("protocols", "hash", {row["protocol_hash"] for row in rows})
        subjects = stored.rows("subjects", "hash", {row["subject_hash"] for row in rows})
        self.subjects = {row["hash"]: model_of(row["spec"]) for row in subjects}
        keys = {key for row in rows for key in row["reply_keys"]}
        self.replies = {row["key"]: row for row in stored.rows("replies", "key", keys)}
        self.requests: dict[str, str] = {}  # of calls, made again from what was checked
        self.untraced = 0  # played by other programs, or by a script that no protocol here has

    def check(self, row: Row) -> Row:
        """The row for the store, or Refused."""
        need(row["protocol_hash"] in self.protocols, "its protocol is not here")
        subject = self.subjects.get(row["subject_hash"])
        if subject is None:
            raise Refused("its subject is not here")
        need(row["run"] >= 1, "runs are counted from 1")
        need({line["speaker"] for line in row["lines"]} <= {"human", "model"}, "somebody else speaks in it")
        own = transcript_id(row["script_hash"], row["subject_hash"], row["run"])
        need(own == row["id"], "its id is not made of script, subject and run")
        talk = Transcript(row["system_prompt"], tuple(Line(**line) for line in row["lines"]))
        need(talk.heard_hash == row["heard_hash"], "it holds other words than its hash was made from")
        complete = _is(row, "complete", "invalid")
        need(all(key in self.replies for key in row["reply_keys"]), "a reply of it is not here")
        self._said(row, talk, complete)
        self._caused(row, talk, subject)
        return to_store(TRANSCRIPTS, row)

    def _said(self, row: Row, talk: Transcript, complete: bool) -> None:
        """Its words are those of its replies."""
        replies = [self.replies[key] for key in row["reply_keys"]]
        said = [line for line in talk.lines if line.name]
        open_ended = 0 if complete else 1  # what ended an invalid one is no line of it
        many = len(said) <= len(replies) <= len(said) + open_ended and len(replies) == row["replies"]
        need(many, "it has not as many replies as it says")
        for line, reply in zip(said, replies, strict=False):
            own = (line.text, line.notes) == (reply["text"], reply["notes"])
            need(own, f"“{line.name}” is not what its reply says")
        for counted in ("cut_off", "plain_text", "reasoned"):
            need(row[counted] == sum(bool(reply[counted]) for reply in replies), f"it miscounts {counted}")

    def _caused(self, row: Row, talk: Transcript, subject: ChatModel) -> None:
        """Its script, played with its replies, gives its words, and each request the key that its reply is under."""
        known = self.stored.scripts.get(row["script_hash"], [])
        if all(protocol.name.startswith(ELSEWHERE) for protocol, _, _ in known):
            self.untraced += 1
            return
        named = tuple(row[name] for name in ("system", "delivery", "scenario", "experiment"))
        scripts = {(c.system, c.delivery, s.id, s.experiment): (p, c, s) for p, c, s in known}
        need(named in scripts, "its script is not that of its scenario and configuration")
        protocol, configuration, scenario = scripts[named]
        played = opening(protocol, configuration, scenario)
        made: dict[str, str] = {}
        for key in row["reply_keys"]:
            need(played.awaiting, "it has more replies than its script asks for")
            record = request(played, subject, configuration, protocol).record
            need(reply_key(record, row["run"]) == key, f"“{played.awaiting}” has another key than its request")
            made[key] = record
            played = self._on(played, key)
        ended = bool(played.awaiting) != (row["state"] == "complete")
        need(played.transcript == talk and ended, "its script goes otherwise")
        self.requests |= made

    def _on(self, played: Talk, key: str) -> Talk:
        reply = self.replies[key]
        return played if reply["state"] == "invalid" else played.answered(Words(reply["text"], reply["notes"]))
