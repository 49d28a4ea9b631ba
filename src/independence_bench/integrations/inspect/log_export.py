"""`aib export --form inspect`: a store as logs of Inspect, one for each subject in each
configuration.

Configurations that are ranked together (protocol v1 pools four) are one log, so that every index of
a leaderboard is in one log. The messages, calls and scores of a log are made of the rows that it
carries, which `aib import` reads back. The scores are those of the leaderboard's main judge; the
rows also hold the judgements of other judges. Inspect is imported only to write logs, so nothing
else needs it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from independence_bench import __version__
from independence_bench.analysis.board import Board
from independence_bench.analysis.leaderboard import make_leaderboards
from independence_bench.analysis.results import (
    CountedConversation,
    Results,
    read_counted_judgements,
)
from independence_bench.dataset.export import build_folder_atomically
from independence_bench.dataset.row_checks import StoreLookups
from independence_bench.dataset.schema import EXPORT_TABLES, make_export_row
from independence_bench.errors import ProtocolError, WrongUse
from independence_bench.hashing import hash_content
from independence_bench.integrations.inspect.log_import import INSTALL, SUFFIX
from independence_bench.integrations.inspect.log_sample import (
    format_moment,
    make_log_sample,
    sum_usages_by_name,
)
from independence_bench.integrations.inspect.rows import Rows
from independence_bench.integrations.inspect.samples import (
    METRICS,
    PREFIX,
    ROLE,
    SCORER,
    encode_protocol_source,
    make_inspect_name,
    make_log_header,
    make_sample_id,
    make_sample_metadata,
)
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.loader import Files, list_shipped, parse_protocol
from independence_bench.store import bulk, registry
from independence_bench.store.database import Store
from independence_bench.store.results import Judgement
from independence_bench.store.rows import split_chunks

_TABLES = {table.name: table for table in EXPORT_TABLES}
_BLOBS = {"lines"}


@dataclass(frozen=True, slots=True)
class WrittenLogs:
    """The result of an export as Inspect logs: the folder, and how many logs and samples it has."""

    folder: Path
    logs: int
    samples: int


def export_logs(store: Store, folder: Path) -> WrittenLogs:
    """Write a log of Inspect for each model on each leaderboard of *store* into *folder*, which
    must be empty or not exist, and return how many logs and samples were written.

    Raises WrongUse if *folder* is neither, if it cannot be written, or if Inspect is not installed.
    """
    try:
        from inspect_ai.log import EvalLog, recompute_metrics, write_eval_log
    except ImportError:
        raise WrongUse(f"logs of Inspect need inspect-ai: {INSTALL}") from None
    logs = samples = 0
    with build_folder_atomically(folder) as building:
        for name, made in make_logs(store):
            log = EvalLog.model_validate(made)
            recompute_metrics(log)
            write_eval_log(log, str(building / name))
            logs, samples = logs + 1, samples + len(made["samples"])
    return WrittenLogs(folder, logs, samples)


def make_logs(store: Store) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (file name, content as JSON values) of the Inspect log of each model on each main
    judge's leaderboard of *store*.
    """
    with store.open_snapshot() as connection:
        subjects = registry.make_unique_labels(registry.read_subjects(connection))
        models = registry.read_subjects(connection)
        stored = sorted(registry.read_protocols(connection), key=lambda row: (row[1], row[0]))
        for hash_, name, files in stored:
            try:
                protocol = parse_protocol(files, where=name)
            except ProtocolError:
                continue  # it is of another version and has no leaderboard either
            for board in _find_main_boards(store, protocol):
                results = board.results
                judge = None if board.judge is None else (board.judge_hashes[0], board.judge)
                for subject, mine in results.by_subject.items():
                    of = _Subject(connection, protocol, files, results, models[subject], judge)
                    place = "+".join(
                        f"{configuration.system}-{configuration.delivery}"
                        for configuration in results.configurations
                    )
                    called = (
                        f"{_clean_file_name(name)}-{hash_[:8]}_{_clean_file_name(place)}"
                        f"_{_clean_file_name(subjects[subject])}-{subject[:8]}"
                    )
                    yield f"{called}{SUFFIX}", of.make_log(mine)


def _find_main_boards(store: Store, protocol: Protocol) -> Iterable[Board]:
    """Return the main judge's leaderboard of *protocol* for each group of configurations that are
    ranked together.
    """
    main: dict[tuple[Configuration, ...], Board] = {}
    for board in make_leaderboards(store, protocol):  # the main judge's before those of others
        main.setdefault(board.configurations, board)
    return main.values()


@dataclass(frozen=True)
class _Subject:
    """Makes the log of one subject in configurations that are ranked together."""

    connection: Connection
    protocol: Protocol
    files: Files
    results: Results
    subject: ChatModel
    judge: tuple[str, str] | None  # hash, label; None: nothing is judged yet

    def make_log(self, own_conversations: Sequence[CountedConversation]) -> dict[str, Any]:
        protocol, configurations = self.protocol, self.results.configurations
        samples = list(self._make_item_samples(own_conversations))
        seconds = [conversation.row.finished_at for conversation in own_conversations]
        runs = sorted({conversation.row.run for conversation in own_conversations})
        id_ = hash_content(
            [
                protocol.hash,
                [str(configuration) for configuration in configurations],
                self.subject.hash,
            ]
        )
        source = encode_protocol_source(protocol, self.files)
        task = f"{PREFIX}/" + (
            protocol.name if protocol.name in list_shipped() and source == protocol.name else "own"
        )
        about = {"variants": sorted({configuration.system for configuration in configurations})}
        about |= {"modes": sorted({configuration.delivery for configuration in configurations})}
        sample_ids = [
            make_sample_id(configuration, item.id, configurations)
            for configuration in configurations
            for item in protocol.every_item
        ]
        scorer = {
            "name": SCORER,
            "options": {"protocol": source},
            "metrics": [{"name": f"{PREFIX}/{name}", "options": {}} for name in METRICS],
        }
        judge = (
            {ROLE: {"model": self._judge_inspect_name, "config": {}, "args": {}}}
            if self.judge
            else None
        )
        return {
            "version": 2,
            "status": "success",
            "eval": {
                "eval_id": id_[:22],
                "created": format_moment(min(seconds)),
                "task": task,
                "task_version": __version__,
                "task_args": about,
                "dataset": {
                    "name": protocol.name,
                    "samples": len(sample_ids),
                    "sample_ids": sample_ids,
                },
                "model": make_inspect_name(self.subject.endpoint, self.subject.model),
                "model_generate_config": {
                    "temperature": self.subject.temperature,
                    "max_tokens": self.subject.max_tokens or None,
                },
                "model_roles": judge,
                "config": {"epochs": max(runs)},
                "metadata": make_log_header(protocol, self.files),
                "scorers": [scorer],
            },
            "stats": {
                "started_at": format_moment(min(seconds)),
                "completed_at": format_moment(max(seconds)),
                "model_usage": sum_usages_by_name(sample["model_usage"] for sample in samples),
                "role_usage": sum_usages_by_name(sample["role_usage"] for sample in samples),
            },
            "samples": samples,
        }

    @property
    def _judge_inspect_name(self) -> str:
        """The name by which Inspect can call the log's judge again; for a judge that is no model,
        its label.
        """
        assert self.judge is not None  # noqa: S101 - asked where there is one
        spec = registry.read_judge_specs(self.connection).get(self.judge[0], {})
        model = registry.parse_model(spec)
        return make_inspect_name(model.endpoint, model.model) if model else self.judge[1]

    def _make_item_samples(
        self, own_conversations: Sequence[CountedConversation]
    ) -> Iterator[dict[str, Any]]:
        judged = {
            judgement.text_and_rubric_hashes: judgement
            for judgement in read_counted_judgements(self.connection, [self.results])
            if self.judge is not None and judgement.judge_hash == self.judge[0]
        }
        by_item: dict[tuple[int, Configuration, str], list[CountedConversation]] = defaultdict(list)
        order = {scenario.id: number for number, scenario in enumerate(self.protocol.scenarios)}
        for one in sorted(own_conversations, key=lambda one: (one.row.run, order[one.scenario.id])):
            by_item[one.row.run, one.configuration, one.scenario.item].append(one)
        rows = _Lookup(self.connection)
        made = partial(
            make_log_sample,
            self.protocol,
            subject=self.subject,
            judge=self._judge_inspect_name if self.judge else None,
        )
        for (run, configuration, item_id), conversations in by_item.items():
            about = make_sample_metadata(
                self.protocol, configuration, item_id, self.results.configurations
            )
            kept = rows.find_conversation_rows(
                self.subject, [conversation.row.id for conversation in conversations]
            )
            by_judges = rows.find_judgement_rows(
                {conversation.key for conversation in conversations}
            )
            given = {
                conversation.row.id: judged[conversation.key]
                for conversation in conversations
                if conversation.key in judged
            }
            marks = {judgement["key"]: judgement for judgement in by_judges.get("judgements", [])}
            # `read_counted_judgements` leaves out the reasoning, which the score is to show
            given = {
                id_: Judgement(
                    one.key,
                    *one.text_and_rubric_hashes,
                    one.judge_hash,
                    one.marks,
                    marks[one.key]["reasoning"],
                    one.reason,
                )
                for id_, one in given.items()
            }
            id_ = make_sample_id(configuration, item_id, self.results.configurations)
            yield made(
                id_=id_,
                sample_metadata=about,
                run=run,
                conversation_rows=kept,
                judgement_rows=by_judges,
                counted_judgements=given,
            )


class _Lookup:
    """Finds rows of a store, in the form of an export, by what they belong to."""

    def __init__(self, connection: Connection) -> None:
        self.stored = StoreLookups(connection)
        self.connection = connection

    def find_conversation_rows(self, subject: ChatModel, transcript_ids: Sequence[str]) -> Rows:
        """Return table -> the export rows that belong to the conversations of *subject* with the
        ids *transcript_ids*: the model, the conversations, the options read from them, their
        replies, and the calls and attempts for the replies.
        """
        stored = self.stored.find_rows("transcripts", "id", transcript_ids, _BLOBS)
        stored.sort(key=lambda row: transcript_ids.index(row["id"]))
        rows = [make_export_row(_TABLES["transcripts"], row, {}) for row in stored]
        keys = list(dict.fromkeys(key for row in rows for key in row["reply_keys"]))
        readings = self.stored.find_rows("readings", "transcript", transcript_ids)
        return {
            "subjects": [
                {"hash": subject.hash, "label": subject.label, "spec": subject.settings_json}
            ],
            "transcripts": rows,
            "readings": [make_export_row(_TABLES["readings"], row, {}) for row in readings],
            **self._find_answer_and_call_rows("replies", "key", keys),
        }

    def find_judgement_rows(self, heard_rubric_hashes: Collection[tuple[str, str]]) -> Rows:
        """Return table -> the export rows of every judgement of the conversations
        *heard_rubric_hashes*, pairs (hash of the words, hash of the rubric), with their judges,
        calls and attempts.
        """
        heard = sorted({heard_hash for heard_hash, _ in heard_rubric_hashes})
        every = self.stored.find_rows("judgements", "heard_hash", heard)
        judged = [
            row for row in every if (row["heard_hash"], row["rubric_hash"]) in heard_rubric_hashes
        ]
        judges = self.stored.find_rows("judges", "hash", {row["judge_hash"] for row in judged})
        answers = self._find_answer_and_call_rows(
            "judgements", "key", [row["key"] for row in judged]
        )
        return {
            "judges": [make_export_row(_TABLES["judges"], row, {}) for row in judges],
            **answers,
        }

    def _find_answer_and_call_rows(self, table: str, column: str, keys: Sequence[str]) -> Rows:
        """Return table -> export rows: the rows of *table* (`replies` or `judgements`) that have
        one of *keys* in *column*, their calls, and every attempt at these calls that has ended.
        """
        made: Rows = {"calls": [], "attempts": [], table: []}
        for chunk in split_chunks(keys):
            attempts = self.stored.find_ended_attempts(chunk)
            numbers = {
                attempt["id"]: attempt["number"]
                for at_call in attempts.values()
                for attempt in at_call
            }
            made["calls"] += [
                make_export_row(_TABLES["calls"], row, {})
                for row in self.stored.find_rows("calls", "key", chunk)
            ]
            made["attempts"] += [
                make_export_row(_TABLES["attempts"], row, {})
                for at_call in attempts.values()
                for row in at_call
            ]
            made[table] += [
                make_export_row(_TABLES[table], row, {"attempt": numbers.get(row["attempt_id"])})
                for row in bulk.find_rows(self.connection, table, column, chunk)
            ]
        return made


def _clean_file_name(name: str) -> str:
    """Return *name* in a form that a file's name can have: letters, digits, dots, plus signs and
    hyphens, at most 60 characters; `unnamed` if nothing is left.
    """
    return re.sub(r"[^A-Za-z0-9.+-]+", "-", name).strip("-.")[:60] or "unnamed"
