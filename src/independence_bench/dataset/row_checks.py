"""Whether a row of an export is true: its content makes its hash, and what it refers to is in the
store and agrees.

A check refuses a row or returns it as the store has it. Whoever wrote the row may have made it up.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Connection

from independence_bench.dataset.schema import ExportTable, to_exported, to_store
from independence_bench.errors import ProtocolError
from independence_bench.hashing import canonical, reply_key
from independence_bench.models.spec import ChatModel, read_settings
from independence_bench.protocol.conversation import (
    DECIDED,
    Line,
    Transcript,
    Words,
    read_options,
    replayed,
)
from independence_bench.protocol.definition import Configuration, Protocol, Scenario
from independence_bench.protocol.loader import LARGEST_FILE, load, parse, shipped
from independence_bench.protocol.plan import (
    every_configuration,
    opening,
    request,
    script_hash,
    script_hashes,
)
from independence_bench.protocol.stem_rules import RULE
from independence_bench.store import bulk, integrity, registry
from independence_bench.store.attempts import ANSWERED, CUT_OFF, new_attempts
from independence_bench.store.registry import COMMAND, MODELS_FILE

# protocols of this name describe what other programs sent; their requests are not ours
ELSEWHERE = "published-"
BLOBS = {"files", "lines", "request", "raw"}
PLACE = ("system", "delivery", "scenario", "experiment")  # where in a protocol a transcript belongs
LARGEST_COST = 1e6  # dollars of one attempt, as it is read from an endpoint

Row = dict[str, Any]
Place = tuple[str, ...]  # what a transcript says under PLACE
Placed = tuple[Protocol, Configuration, Scenario]


class Refused(ValueError):
    """A row that says something false, or that refers to what is not there."""


def need(true: object, otherwise: str) -> None:
    """Refuse a row unless *true*."""
    if not true:
        raise Refused(otherwise)


class StoreLookups:
    """What is in the store already, as checks need it."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._placed: dict[tuple[str, int, Place], list[Placed]] = {}

    def rows(
        self, table: str, column: str, values: Collection[Any], blobs: Collection[str] = ()
    ) -> list[Row]:
        """The rows of *table* whose *column* is one of *values*."""
        return bulk.find(self.connection, table, column, values, blobs) if values else []

    def attempts_at(
        self, calls: Collection[str], blobs: Collection[str] = ()
    ) -> dict[str, list[Row]]:
        """Call -> the attempts at it that have ended, the first one first, each with its *number*
        there.
        """
        by_call: dict[str, list[Row]] = {}
        for row in self.rows("attempts", "call_key", calls, blobs):
            if row["finished_at"] is not None:
                before = by_call.setdefault(row["call_key"], [])
                before.append(row | {"number": len(before) + 1})
        return by_call

    @cached_property
    def protocols(self) -> list[Protocol]:
        """Those that ship, and those in the store that this version can read."""
        every = [load(name) for name in shipped()]
        for hash_, _, files in registry.stored_protocols(self.connection):
            with suppress(ProtocolError):  # one that cannot be read has nothing to check by
                every.append(parse(files, where=hash_[:12]))
        return every

    @cached_property
    def places(self) -> Mapping[Place, list[Placed]]:
        """Every scenario of every protocol, in every configuration, by where it stands."""
        by_place: dict[Place, list[Placed]] = defaultdict(list)
        for protocol in self.protocols:
            for configuration in every_configuration(protocol):
                for scenario in protocol.scenarios:
                    place = (
                        configuration.system,
                        configuration.delivery,
                        scenario.id,
                        scenario.experiment,
                    )
                    by_place[place].append((protocol, configuration, scenario))
        return by_place

    def placed(self, transcript: Row) -> list[Placed]:
        """What stands where *transcript* says that it was played, and is played by its script; []
        for nothing.
        """
        script, run, place = (
            transcript["script_hash"],
            transcript["run"],
            tuple(transcript[name] for name in PLACE),
        )
        if (script, run, place) not in self._placed:
            there = self.places.get(place, [])
            # another protocol may deal the same stem otherwise in this run
            fitting = [played for played in there if script == script_hash(*played, run)]
            self._placed[script, run, place] = fitting
        return self._placed[script, run, place]

    @cached_property
    def ours(self) -> Collection[str]:
        """The hash of every script of the protocols whose requests this program makes."""
        placed = (played for there in self.places.values() for played in there)
        return {
            script for played in placed if _is_ours(played) for script in script_hashes(*played)
        }


def _is_ours(placed: Placed) -> bool:
    return not placed[0].name.startswith(ELSEWHERE)


SETTINGS = TypeAdapter(ChatModel)


def model_of(spec: str) -> ChatModel | None:
    """The model that *spec* describes; None where it is another kind of judge, or nothing."""
    try:
        SETTINGS.validate_json(spec, strict=True)
        given = json.loads(spec)
        model = read_settings(given)
        # a setting that it lacks, of a version before there was such a setting, has its default
        return model if model.spec == canonical(json.loads(model.spec) | given) else None
    except (ValueError, TypeError, RecursionError):
        return None


class Batch:
    """Rows of one table, and what the store has of them and of what they refer to, each looked up
    once for all.
    """

    def __init__(self, stored: StoreLookups, table: ExportTable, rows: list[Row]) -> None:
        self.stored, self.table, self.rows = stored, table, rows
        self._here: dict[str, Mapping[str, Row]] = {}
        self.requests: dict[str, str] = {}  # of calls, made again from what was checked
        self.untraced = 0  # transcripts of other programs, or of a script that no protocol here has

    @cached_property
    def there(self) -> dict[tuple[Any, ...], Row]:
        """Key -> the row of an export that the store has under it already."""
        first = self.table.columns[0].name
        values = {row[first] for row in self.rows}
        if self.table.name == "attempts":
            stored_rows = [
                row
                for at_call in self.stored.attempts_at(values, BLOBS).values()
                for row in at_call
            ]
        else:
            stored_rows = self.stored.rows(self.table.name, first, values, BLOBS)
        ids = {row["attempt_id"] for row in stored_rows if row.get("attempt_id")}
        calls = {row["call_key"] for row in self.stored.rows("attempts", "id", ids)}
        numbers = {
            row["id"]: row["number"] for at in self.stored.attempts_at(calls).values() for row in at
        }
        exported = [
            to_exported(self.table, row, {"attempt": numbers.get(row.get("attempt_id"))})
            for row in stored_rows
        ]
        return {self.table.key_of(row): row for row in exported}

    def check(self, row: Row) -> Row:
        """The new *row* as the store has it, or Refused."""
        return CHECKS[self.table.name](self, row)

    def here(self, table: str) -> Mapping[str, Row]:
        """Hash or key -> the rows of *table* that these rows refer to and that are in the store."""
        if table not in self._here:
            column, name = ("key", "key") if table == "calls" else ("hash", f"{table[:-1]}_hash")
            name = "call_key" if self.table.name == "attempts" else name
            rows_there = self.stored.rows(table, column, {row[name] for row in self.rows})
            self._here[table] = {row[column]: row for row in rows_there}
        return self._here[table]

    @cached_property
    def attempts(self) -> Mapping[str, list[Row]]:
        """Key of a call -> the attempts at it."""
        return self.stored.attempts_at({row["key"] for row in self.rows})

    @cached_property
    def transcripts(self) -> Mapping[str, Row]:
        """Id -> transcript."""
        ids = {row["transcript"] for row in self.rows}
        return {row["id"]: row for row in self.stored.rows("transcripts", "id", ids, BLOBS)}

    @cached_property
    def replies(self) -> Mapping[str, Row]:
        """Key -> reply."""
        keys = {key for row in self.rows for key in row["reply_keys"]}
        return {row["key"]: row for row in self.stored.rows("replies", "key", keys)}

    @cached_property
    def _ids(self) -> Iterator[int]:
        return iter(new_attempts(self.stored.connection, len(self.rows)))

    # ---------------------------------------------------------------- a check for each table

    def _protocol(self, row: Row) -> Row:
        paths = [file["path"] for file in row["files"]]
        need(
            all(len(file["text"]) <= LARGEST_FILE for file in row["files"]),
            "a file of it is too large",
        )
        need(len(set(paths)) == len(paths), "a file appears twice in it")
        try:
            read = parse({file["path"]: file["text"] for file in row["files"]}, where="files")
        except ProtocolError as error:
            raise Refused(f"no protocol that this version can read: {error}") from None
        need(
            (read.hash, read.name) == (row["hash"], row["name"]),
            "its hash is not that of its files",
        )
        return to_store(self.table, row)

    def _subject(self, row: Row) -> Row:
        model = model_of(row["spec"])
        if model is None:
            raise Refused("its settings are not those of a model")
        agree = (model.hash, model.label) == (row["hash"], row["label"])
        need(agree, "its hash or label is not that of its settings")
        return row

    def _judge(self, row: Row) -> Row:
        model = model_of(row["spec"])
        need(model is None or model.hash == row["hash"], "its hash is not that of its settings")
        return row

    def _begun(self, row: Row) -> Row:
        need(row["protocol_hash"] in self.here("protocols"), "its protocol is not here")
        need(row["subject_hash"] in self.here("subjects"), "its subject is not here")
        return row

    def _decision(self, row: Row) -> Row:
        need(row["verdict"] in ("exclude", "keep"), "its verdict is neither exclude nor keep")
        need(
            row["origin"] in (COMMAND, MODELS_FILE),
            "its origin is neither the command nor models.yaml",
        )
        need(
            row["reason"].strip() and row["reason"].isprintable(),
            "its reason is not one line of text",
        )
        need(row["subject_hash"] in self.here("subjects"), "its subject is not here")
        return row

    def _call(self, row: Row) -> Row:
        need(row["kind"] in ("reply", "judgement"), "its kind is neither reply nor judgement")
        return to_store(self.table, row)

    def _attempt(self, row: Row) -> Row:
        cost, number = row["cost"], row["number"]
        need(
            cost is None or 0 <= cost < LARGEST_COST, f"{cost} is not a cost in dollars, from 0 up"
        )
        need(row["call_key"] in self.here("calls"), "its call is not here")
        follows = number == 1 or (row["call_key"], number - 1) in self.there
        need(follows, f"attempt {number} comes after one that is not here")
        return to_store(self.table, row) | {"id": next(self._ids)}

    def _reply(self, row: Row) -> Row:
        refuse_first(integrity.reply_faults(row))
        return self._with_attempt(row, "reply")

    def _reading(self, row: Row) -> Row:
        """It is of the replies of its conversation; where today's rule read, both are what that
        reads.
        """
        played = self.transcripts.get(row["transcript"])
        if played is None:
            raise Refused("its conversation is not here")
        system, lines = json.loads(played["lines"])
        talk = Transcript(system, tuple(Line(**line) for line in lines))
        of = [option["reply"] for option in row["options"] if option["reply"] != DECIDED]
        need(of == list(talk.names), "it reads other replies")
        scenario = next((scenario for *_, scenario in self.stored.placed(played)), None)
        if scenario is not None and (offer := scenario.offer_of(played["run"])) is not None:
            known = {"", None, *offer.labels, *(aspect.name for aspect in offer.aspects)}
            need(
                {option["label"] for option in row["options"]} <= known,
                "it reads what is not offered",
            )
            if row["rule"] == RULE:
                read = [
                    {"reply": name, "label": label}
                    for name, label in read_options(talk, offer).options
                ]
                need(row["options"] == read, "the rule reads other options")
                again = replayed(scenario.script_of(played["run"]), talk)
                need(
                    again.transcript == talk,
                    "by what the rule reads its conversation goes on otherwise",
                )
        return to_store(self.table, row)

    def _judgement(self, row: Row) -> Row:
        need(row["judge_hash"] in self.here("judges"), "its judge is not here")
        names = [mark["mark"] for mark in row["marks"]]
        need(len(set(names)) == len(names), f"is {row['state']}, with the marks {names}")
        stored = to_store(self.table, row)
        refuse_first(integrity.judgement_faults(stored))
        return self._with_attempt(stored, "judgement")

    def _with_attempt(self, row: Row, kind: str) -> Row:
        """*row* with the id of the attempt that its answer of *kind* came from, in the place of its
        number.
        """
        stored = {name: value for name, value in row.items() if name != "attempt"}
        number = row["attempt"]
        if number is None:
            return stored | {"attempt_id": None}
        called = self.here("calls").get(row["key"])
        need(called and called["kind"] == kind, f"no call for a {kind} of that key is here")
        at_call = self.attempts.get(row["key"], [])
        need(0 < number <= len(at_call), "the attempt that it came from is not here")
        attempt = at_call[number - 1]
        usable = row["state"] != "valid" or attempt["outcome"] in (ANSWERED, CUT_OFF)
        need(usable, f"is valid and comes from an attempt that was {attempt['outcome']}")
        return stored | {"attempt_id": attempt["id"]}

    def _transcript(self, row: Row) -> Row:
        """Checked against its replies, its script, and the keys that its requests make."""
        need(row["protocol_hash"] in self.here("protocols"), "its protocol is not here")
        subject = self.here("subjects").get(row["subject_hash"])
        model = model_of(subject["spec"]) if subject else None
        if model is None:
            raise Refused("its subject is not here")
        need(row["run"] >= 1, "runs are counted from 1")
        need(
            {line["speaker"] for line in row["lines"]} <= {"human", "model"},
            "another speaker is in it",
        )
        complete = row["state"] == "complete"
        agree = row["state"] in ("complete", "invalid") and complete == (row["reason"] is None)
        need(agree, f"is {row['state']}, with the reason {row['reason']!r}")
        need(all(key in self.replies for key in row["reply_keys"]), "a reply of it is not here")
        talk = Transcript(row["system_prompt"], tuple(Line(**line) for line in row["lines"]))
        replies = [self.replies[key] for key in row["reply_keys"]]
        refuse_first(integrity.transcript_faults(row, talk))
        refuse_first(integrity.reply_text_faults(row, talk, replies))
        self._caused(row, talk, model, replies)
        return to_store(self.table, row)

    def _caused(self, row: Row, talk: Transcript, subject: ChatModel, replies: list[Row]) -> None:
        """Its script, played with its replies, may give its words; each request has the key that
        its reply is under.

        What follows a choice or a push is not read again: the rule that read it may have been
        another one.
        """
        placed = self.stored.placed(row)
        if not any(map(_is_ours, placed)) and row["script_hash"] not in self.stored.ours:
            self.untraced += 1
            return
        need(placed, "its script is not that of its scenario and configuration")
        protocol, configuration, scenario = placed[-1]
        played = opening(protocol, configuration, scenario, row["run"])
        made: dict[str, str] = {}
        for key, reply in zip(row["reply_keys"], replies, strict=True):
            need(played.awaiting, "it has more replies than its script asks for")
            record = request(played, subject, configuration, protocol, row["id"]).record
            need(
                reply_key(record, row["run"]) == key,
                f"“{played.awaiting}” has another key than its request",
            )
            made[key] = record
            if reply["state"] != "invalid":
                played = played.answered(Words(reply["text"], reply["notes"]), talk)
        ended = bool(played.awaiting) != (row["state"] == "complete")
        need(played.transcript == talk and ended, "its script continues differently")
        self.requests |= made


def refuse_first(faults: Iterable[str]) -> None:
    """Refuse a row that has any of *faults*."""
    for fault in faults:
        raise Refused(fault)


CHECKS: Mapping[str, Callable[[Batch, Row], Row]] = {
    "protocols": Batch._protocol,
    "subjects": Batch._subject,
    "judges": Batch._judge,
    "begun": Batch._begun,
    "decisions": Batch._decision,
    "calls": Batch._call,
    "attempts": Batch._attempt,
    "replies": Batch._reply,
    "transcripts": Batch._transcript,
    "readings": Batch._reading,
    "judgements": Batch._judgement,
}
