"""Checks whether a row of an export is true: its content makes its hash, and what it refers to is
in the store and agrees.

A check refuses a row or returns it in the form of the store. It trusts nothing that the row says.
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

from independence_bench.dataset.schema import ExportTable, make_export_row, make_stored_row
from independence_bench.errors import ProtocolError
from independence_bench.hashing import make_reply_key, write_canonical_json
from independence_bench.models.spec import ChatModel, read_chat_model
from independence_bench.protocol.conversation import ConversationState, Line, Transcript, Words
from independence_bench.protocol.definition import Configuration, Protocol, Scenario
from independence_bench.protocol.loader import (
    LARGEST_FILE,
    list_shipped,
    load_protocol,
    parse_protocol,
    parse_stored_protocol,
)
from independence_bench.protocol.plan import (
    build_request,
    hash_script,
    list_possible_configurations,
    start_scenario,
)
from independence_bench.store import bulk, integrity, registry
from independence_bench.store.attempts import ANSWERED, CUT_OFF, make_attempt_ids
from independence_bench.store.registry import COMMAND, MODELS_FILE

# protocols of this name describe what other programs sent; their requests are not ours
ELSEWHERE = "published-"
BLOBS = {"files", "lines", "request", "raw"}
PLACE = ("system", "delivery", "scenario", "experiment")  # a transcript's place in a protocol
LARGEST_COST = 1e6  # dollars of one attempt, as it is read from an endpoint

# column -> the table and column that it refers to, and the reason if no such row is there
REFERS: Mapping[str, tuple[str, str, str]] = {
    "protocol_hash": ("protocols", "hash", "its protocol is not here"),
    "subject_hash": ("subjects", "hash", "its model is not here"),
    "judge_hash": ("judges", "hash", "its judge is not here"),
    "call_key": ("calls", "key", "its call is not here"),
    "transcript": ("transcripts", "id", "its conversation is not here"),
    "reply_keys": ("replies", "key", "a reply of it is not here"),
}

Row = dict[str, Any]
Place = tuple[str, ...]  # a transcript's values of `PLACE`
Placed = tuple[Protocol, Configuration, Scenario]


class Refused(ValueError):
    """A row that says something false, or refers to something that is not in the store."""


def check_claim(true: object, otherwise: str) -> None:
    """Raise Refused with the reason *otherwise* unless *true* holds."""
    if not true:
        raise Refused(otherwise)


class StoreLookups:
    """Looks up what checks need from the store."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._placed: dict[tuple[str, Place], list[Placed]] = {}

    def find_rows(
        self, table: str, column: str, values: Collection[Any], blobs: Collection[str] = ()
    ) -> list[Row]:
        """Return the stored rows of *table* whose *column* is one of *values*; [] if *values* is
        empty. *blobs*: the large columns to read as well.
        """
        return bulk.find_rows(self.connection, table, column, values, blobs) if values else []

    def find_ended_attempts(
        self, calls: Collection[str], blobs: Collection[str] = ()
    ) -> dict[str, list[Row]]:
        """Return call's key -> the stored attempts at the call that have ended, in order, each with
        its *number* (1, 2, ...). *blobs*: the large columns to read as well.
        """
        by_call: dict[str, list[Row]] = {}
        for row in self.find_rows("attempts", "call_key", calls, blobs):
            if row["finished_at"] is not None:
                before = by_call.setdefault(row["call_key"], [])
                before.append(row | {"number": len(before) + 1})
        return by_call

    @cached_property
    def shipped_and_stored_protocols(self) -> list[Protocol]:
        """The shipped protocols, and the stored protocols that this version can read."""
        every = [load_protocol(name) for name in list_shipped()]
        for hash_, _, files in registry.read_protocols(self.connection):
            with suppress(ProtocolError):  # one that cannot be read cannot check anything
                every.append(parse_stored_protocol(hash_, files, where=hash_[:12]))
        return every

    @cached_property
    def earlier_form_protocols_by_hash(self) -> Mapping[str, Protocol]:
        """The protocols whose files have the form of an earlier version, by the hash under which
        they are stored.
        """
        return {one.hash: one for one in self.shipped_and_stored_protocols if one.earlier_form}

    @cached_property
    def scenarios_by_place(self) -> Mapping[Place, list[Placed]]:
        """Every (protocol, configuration, scenario) of all known protocols, by (system prompt,
        delivery mode, scenario's id, experiment).
        """
        by_place: dict[Place, list[Placed]] = defaultdict(list)
        for protocol in self.shipped_and_stored_protocols:
            for configuration in list_possible_configurations(protocol):
                for scenario in protocol.scenarios:
                    place = (
                        configuration.system,
                        configuration.delivery,
                        scenario.id,
                        scenario.experiment,
                    )
                    by_place[place].append((protocol, configuration, scenario))
        return by_place

    def find_scenarios(self, transcript: Row) -> list[Placed]:
        """Return (protocol, configuration, scenario) of each known protocol that has a scenario at
        the place that the row *transcript* names, with the row's script hash; [] if there is none.
        """
        script = transcript["script_hash"]
        place = tuple(transcript[name] for name in PLACE)
        if (script, place) not in self._placed:
            there = self.scenarios_by_place.get(place, [])
            self._placed[script, place] = [one for one in there if script == hash_script(*one)]
        return self._placed[script, place]

    @cached_property
    def playable_script_hashes(self) -> Collection[str]:
        """The hash of every script of the protocols that this program plays itself, so without
        those that describe what other programs played.
        """
        placed = (played for there in self.scenarios_by_place.values() for played in there)
        return {hash_script(*played) for played in placed if _is_playable_protocol(played)}


def _is_playable_protocol(placed: Placed) -> bool:
    return not placed[0].name.startswith(ELSEWHERE)


SETTINGS = TypeAdapter(ChatModel)


def read_model_spec(spec: str) -> ChatModel | None:
    """Return the model that the JSON text *spec* describes; None if *spec* describes a judge that
    is no model, or is not valid.
    """
    try:
        SETTINGS.validate_json(spec, strict=True)
        given = json.loads(spec)
        model = read_chat_model(given)
        # an earlier version may lack a setting, which then has its default
        return (
            model
            if model.settings_json == write_canonical_json(json.loads(model.settings_json) | given)
            else None
        )
    except (ValueError, TypeError, RecursionError):
        return None


class Batch:
    """Rows of one table, with what the store has of them and of what they refer to, each looked up
    once for all rows.
    """

    def __init__(self, stored: StoreLookups, table: ExportTable, rows: list[Row]) -> None:
        self.stored, self.table, self.rows = stored, table, rows
        self.requests: dict[str, str] = {}  # call's key -> its request, made again in a check
        self.untraced = 0  # transcripts of other programs, or of a script that no protocol here has

    @cached_property
    def existing_rows(self) -> dict[tuple[Any, ...], Row]:
        """Key -> the row, in the form of an export, that the store already has of this batch's
        table under that key.
        """
        first = self.table.columns[0].name
        values = {row[first] for row in self.rows}
        if self.table.name == "attempts":
            at_calls = self.stored.find_ended_attempts(values, BLOBS).values()
            stored_rows = [row for at_call in at_calls for row in at_call]
        else:
            stored_rows = self.stored.find_rows(self.table.name, first, values, BLOBS)
        ids = {row["attempt_id"] for row in stored_rows if row.get("attempt_id")}
        calls = {row["call_key"] for row in self.stored.find_rows("attempts", "id", ids)}
        numbers = {
            row["id"]: row["number"]
            for at in self.stored.find_ended_attempts(calls).values()
            for row in at
        }
        exported = [
            make_export_row(self.table, row, {"attempt": numbers.get(row.get("attempt_id"))})
            for row in stored_rows
        ]
        return {self.table.identify_row(row): row for row in exported}

    @cached_property
    def referenced_rows_by_column(self) -> Mapping[str, Mapping[str, Row]]:
        """Column that refers to another table -> each value of it in this batch -> the stored row
        that the value refers to. Only columns of `REFERS` that the batch has.
        """
        found: dict[str, Mapping[str, Row]] = {}
        for column in REFERS.keys() & self.rows[0].keys():
            table, key, _ = REFERS[column]
            values = {value for row in self.rows for value in _make_list(row[column])}
            found[column] = {
                row[key]: row for row in self.stored.find_rows(table, key, values, {"lines"})
            }
        return found

    @cached_property
    def answered_calls_by_key(self) -> Mapping[str, Row]:
        """Key of a reply or judgement in this batch -> the stored row of the call that was
        answered.
        """
        keys = {row["key"] for row in self.rows}
        return {row["key"]: row for row in self.stored.find_rows("calls", "key", keys)}

    @cached_property
    def ended_attempts_by_call(self) -> Mapping[str, list[Row]]:
        """Key of a reply or judgement in this batch -> the stored attempts at its call that have
        ended, in order.
        """
        return self.stored.find_ended_attempts({row["key"] for row in self.rows})

    @cached_property
    def _new_attempt_ids(self) -> Iterator[int]:
        return iter(make_attempt_ids(self.stored.connection, len(self.rows)))

    def check_and_convert_row(self, row: Row) -> Row:
        """Check *row*, which the store does not have yet, and return it in the form of the store.
        Raises Refused if the row says something false, or refers to something that is not in the
        store.
        """
        for column, here in self.referenced_rows_by_column.items():
            check_claim(all(value in here for value in _make_list(row[column])), REFERS[column][2])
        if self.table.name in CHECKS:
            CHECKS[self.table.name](self, row)
        stored = make_stored_row(self.table, row)
        if self.table.name == "attempts":
            stored["id"] = next(self._new_attempt_ids)
        elif "attempt" in stored:
            number = stored.pop("attempt")
            stored["attempt_id"] = None if number is None else self._find_attempt_id(row)
        return stored

    def _find_attempt_id(self, row: Row) -> int:
        """Return the store's id of the attempt that *row*, a reply or a judgement, came from.
        Raises Refused if the store does not have that attempt or its call, or if the attempt does
        not fit.
        """
        kind = "reply" if self.table.name == "replies" else "judgement"
        called = self.answered_calls_by_key.get(row["key"])
        check_claim(called and called["kind"] == kind, f"no call for a {kind} of that key is here")
        at_call = self.ended_attempts_by_call.get(row["key"], [])
        check_claim(0 < row["attempt"] <= len(at_call), "the attempt that it came from is not here")
        attempt = at_call[row["attempt"] - 1]
        usable = row["state"] != "valid" or attempt["outcome"] in (ANSWERED, CUT_OFF)
        check_claim(usable, f"is valid and comes from an attempt that was {attempt['outcome']}")
        return int(attempt["id"])

    # ---------------------------------------------------------------- a check for each table

    def _check_protocol(self, row: Row) -> None:
        paths = [file["path"] for file in row["files"]]
        check_claim(
            all(len(file["text"]) <= LARGEST_FILE for file in row["files"]),
            "a file of it is too large",
        )
        check_claim(len(set(paths)) == len(paths), "a file appears twice in it")
        files = {file["path"]: file["text"] for file in row["files"]}
        try:
            try:
                read = parse_protocol(files, where="files")
            except ProtocolError:  # it may have an earlier form
                read = parse_stored_protocol(row["hash"], files, where="files")
        except ProtocolError as error:
            raise Refused(f"no protocol that this version can read: {error}") from None
        check_claim(
            (read.hash, read.name) == (row["hash"], row["name"]),
            "its hash is not that of its files",
        )

    def _check_subject(self, row: Row) -> None:
        model = read_model_spec(row["spec"])
        if model is None:
            raise Refused("its settings are not those of a model")
        agree = (model.hash, model.label) == (row["hash"], row["label"])
        check_claim(agree, "its hash or label is not that of its settings")

    def _check_judge(self, row: Row) -> None:
        model = read_model_spec(row["spec"])
        check_claim(
            model is None or model.hash == row["hash"], "its hash is not that of its settings"
        )

    def _check_decision(self, row: Row) -> None:
        check_claim(
            row["verdict"] in ("exclude", "keep"), "its decision is neither exclude nor keep"
        )
        check_claim(
            row["origin"] in (COMMAND, MODELS_FILE),
            "its origin is neither the command nor models.yaml",
        )
        check_claim(
            row["reason"].strip() and row["reason"].isprintable(),
            "its reason is not one line of text",
        )

    def _check_call(self, row: Row) -> None:
        check_claim(
            row["kind"] in ("reply", "judgement"), "its kind is neither reply nor judgement"
        )

    def _check_attempt(self, row: Row) -> None:
        cost, number = row["cost"], row["number"]
        check_claim(
            cost is None or 0 <= cost < LARGEST_COST, f"{cost} is not a cost in dollars, from 0 up"
        )
        follows = number == 1 or (row["call_key"], number - 1) in self.existing_rows
        check_claim(follows, f"attempt {number} comes after one that is not here")

    def _check_reply(self, row: Row) -> None:
        refuse_faulty_row(integrity.find_reply_faults(row))

    def _check_reading(self, row: Row) -> None:
        """Raise Refused unless *row*, which says which options the replies of a conversation chose,
        is about exactly the replies of its stored conversation. The conversation is of a protocol
        of an earlier form.
        """
        played = self.referenced_rows_by_column["transcript"][row["transcript"]]
        system, lines = json.loads(played["lines"])
        talk = Transcript(system, tuple(Line(**line) for line in lines))
        of = [option["reply"] for option in row["options"] if option["reply"] != "decided"]
        check_claim(of == list(talk.reply_names), "it reads other replies")

    def _check_judgement(self, row: Row) -> None:
        names = [mark["mark"] for mark in row["marks"]]
        check_claim(len(set(names)) == len(names), f"is {row['state']}, with the scores {names}")
        refuse_faulty_row(integrity.find_judgement_faults(make_stored_row(self.table, row)))

    def _check_transcript(self, row: Row) -> None:
        """Raise Refused unless the conversation *row* agrees with its stored replies, with its
        script, and with the keys that its requests make.
        """
        model = read_model_spec(
            self.referenced_rows_by_column["subject_hash"][row["subject_hash"]]["spec"]
        )
        if model is None:
            raise Refused("its model is not here")
        check_claim(row["run"] >= 1, "runs are counted from 1")
        check_claim(
            {line["speaker"] for line in row["lines"]} <= {"human", "model"},
            "another speaker is in it",
        )
        complete = row["state"] == "complete"
        agree = row["state"] in ("complete", "invalid") and complete == (row["reason"] is None)
        check_claim(agree, f"is {row['state']}, with the reason {row['reason']!r}")
        talk = Transcript(row["system_prompt"], tuple(Line(**line) for line in row["lines"]))
        replies = [self.referenced_rows_by_column["reply_keys"][key] for key in row["reply_keys"]]
        refuse_faulty_row(integrity.find_transcript_faults(row, talk))
        refuse_faulty_row(integrity.find_reply_mismatches(row, talk, replies))
        self._check_script_or_count_untraced(row, talk, model, replies)

    def _check_script_or_count_untraced(
        self, row: Row, talk: Transcript, subject: ChatModel, replies: list[Row]
    ) -> None:
        """Raise Refused unless the script of the conversation *row*, played with *replies*, gives
        exactly the words of *talk*, and each reply has the key of its request. A conversation of
        another program, or of a script that no known protocol has, is counted in `untraced`
        instead.
        """
        if (
            earlier := self.stored.earlier_form_protocols_by_hash.get(row["protocol_hash"])
        ) is not None:
            self._check_earlier_form_reply_keys(row, talk, subject, earlier)
            return
        placed = self.stored.find_scenarios(row)
        if (
            not any(map(_is_playable_protocol, placed))
            and row["script_hash"] not in self.stored.playable_script_hashes
        ):
            self.untraced += 1
            return
        check_claim(placed, "its script is not that of its scenario and configuration")
        protocol, configuration, scenario = placed[-1]
        played = start_scenario(protocol, configuration, scenario)
        made: dict[str, str] = {}
        for key, reply in zip(row["reply_keys"], replies, strict=True):
            check_claim(played.next_reply_name, "it has more replies than its script asks for")
            record = build_request(played, subject, configuration, protocol, row["id"]).record
            check_claim(
                make_reply_key(record, row["run"]) == key,
                f"“{played.next_reply_name}” has another key than its request",
            )
            made[key] = record
            if reply["state"] != "invalid":
                played = played.add_reply(Words(reply["text"], reply["notes"]))
        ended = bool(played.next_reply_name) != (row["state"] == "complete")
        check_claim(played.transcript == talk and ended, "its script continues differently")
        self.requests |= made

    def _check_earlier_form_reply_keys(
        self, row: Row, talk: Transcript, subject: ChatModel, protocol: Protocol
    ) -> None:
        """Raise Refused unless each reply of the conversation *row* has the key of the request for
        it. This is for a *protocol* of an earlier form, which has no scripts.
        """
        configuration = Configuration(row["system"], row["delivery"])
        replies = [place for place, line in enumerate(talk.lines) if line.name]
        for place, key in zip((*replies, len(talk.lines)), row["reply_keys"], strict=False):
            said = ConversationState(Transcript(talk.system, talk.lines[:place]), ())
            record = build_request(said, subject, configuration, protocol, row["id"]).record
            check_claim(
                make_reply_key(record, row["run"]) == key,
                "a reply has another key than its request",
            )
            self.requests[key] = record


def _make_list(said: Any) -> list[Any]:
    return said if isinstance(said, list) else [said]


def refuse_faulty_row(faults: Iterable[str]) -> None:
    """Raise Refused with the first of *faults*, the descriptions of what is wrong with a row; do
    nothing if there is none.
    """
    for fault in faults:
        raise Refused(fault)


CHECKS: Mapping[str, Callable[[Batch, Row], None]] = {
    "protocols": Batch._check_protocol,
    "subjects": Batch._check_subject,
    "judges": Batch._check_judge,
    "decisions": Batch._check_decision,
    "calls": Batch._check_call,
    "attempts": Batch._check_attempt,
    "replies": Batch._check_reply,
    "transcripts": Batch._check_transcript,
    "readings": Batch._check_reading,
    "judgements": Batch._check_judgement,
}
