"""Stores that earlier commits left in `data`, usable again, and what is in a store in forms that
never change.

    restored(tmp_path / "store.db", MADE / "v3.sqlite3.xz")
    conversations(store)  # every conversation and score, as `aib show` and the viewer read them
    exported(folder)  # every row of an export, file by file
    compare_boards(now, before)
        # two answers of `aib leaderboard --json`, intervals and ranks aside

The forms are plain values with names of their own, so that digests of them stay comparable however
the code's own values come to be called.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import re
import sqlite3
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from independence_bench.analysis.conversations import Conversation, Place, read_conversations
from independence_bench.cli.main import cli
from independence_bench.errors import NotComplete
from independence_bench.store.database import open_store
from independence_bench.viewer.snapshot import read_catalog

# table, key, column; in `data` they are not compressed one by one, so that they can be as a whole
BLOBS = (
    ("protocols", "hash", "files"),
    ("calls", "key", "request"),
    ("attempts", "id", "raw"),
    ("transcripts", "id", "lines"),
)
COUNTS = [f"transcripts_{state}" for state in ("planned", "complete", "invalid", "judged")]
COUNTS += [
    "judgements_failed",
    "replies",
    "replies_cut_off",
    "replies_plain_text",
    "replies_with_reasoning",
]
EXCLUDED = "excluded: "  # how a reason begins that takes a row off a board though it has an index
SHORT = 12  # hexadecimal digits of a digest or a key that are kept


def restored(store: Path, kept: Path) -> Path:
    """The SQLite file that *kept* is, at *store*."""
    store.write_bytes(lzma.decompress(kept.read_bytes()))
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.create_function("pack", 1, zlib.compress)
        for table, _, blob in BLOBS:
            connection.execute(f"UPDATE {table} SET {blob} = pack({blob}) WHERE {blob} IS NOT NULL")
    return store


def aib(*arguments: str) -> str:
    """What the command prints; it may leave something uncompleted."""
    done = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert done.exception is None or isinstance(done.exception, (SystemExit, NotComplete)), (
        done.exc_info
    )
    return done.stdout


def digest(value: Any) -> str:
    """A digest of a JSON value; the order of keys does not matter."""
    text = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:SHORT]


# ---------------------------------------------------------------- conversations, as they are shown


def conversations(store: Path | str) -> dict[str, dict[str, dict[str, str]]]:
    """Protocol (name and hash) -> conversation (key) -> digests of its words, and of its scores."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for protocol, label, one in shown(store):
        forms = {"words": words(label, one), "scores": scores(one)}
        of = found.setdefault(protocol, {})
        assert one.row.id[:SHORT] not in of
        of[one.row.id[:SHORT]] = {name: digest(form) for name, form in forms.items()}
    return found


def shown(store: Path | str) -> Iterator[tuple[str, str, Conversation]]:
    """(protocol's name and hash, subject's label, conversation), of each that can be looked at."""
    with open_store(store, create=False) as opened:
        catalog = read_catalog(opened)
        with opened.open_snapshot() as connection:
            for edition in catalog.editions.values():
                name = f"{edition.protocol.name} {edition.hash[:SHORT]}"
                places = [
                    Place(t.row, t.scenario, t.configuration, t.key) for t in edition.transcripts
                ]
                for one in read_conversations(connection, places, catalog.judges):
                    yield name, edition.labels[one.row.subject_hash], one


def words(label: str, one: Conversation) -> Any:
    """Who said what where, how it ended, and each reply with what the human did not see."""
    row = one.row
    replies = []
    for name, key in one.asked_reply_names_and_keys:
        reply = one.replies[key]
        flags = [reply.cut_off, reply.plain_text, reply.reasoned]
        replies.append([name, reply.text, reply.notes, reply.reasoning, reply.reason, *flags])
    return {
        "subject": label,
        "run": row.run,
        "configuration": str(one.configuration),
        "scenario": one.scenario.id,
        "state": row.state,
        "reason": row.reason,
        "system": one.transcript.system,
        "lines": [
            [line.speaker, line.text, line.notes, line.name] for line in one.transcript.lines
        ],
        "replies": replies,
    }


def scores(one: Conversation) -> Any:
    """What each judge made of it, or why it made nothing of it."""
    return [
        [label, judgement.reason, dict(judgement.marks), judgement.reasoning]
        for label, judgement in one.judgements
    ]


# ---------------------------------------------------------------- rows, as they are exported


def exported(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """File's name -> its rows, of the export in *folder*; without the scores, which are
    computed.
    """
    return {
        path.stem: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for path in sorted(folder.glob("*.jsonl"))
        if path.stem != "scores"
    }


def summed(rows: list[dict[str, Any]], columns: list[str]) -> Mapping[str, Any]:
    """How many *rows*, and a digest of these *columns* of all of them, in any order."""
    lines = sorted(
        json.dumps({name: row.get(name) for name in columns}, sort_keys=True) for row in rows
    )
    return {"rows": len(rows), "columns": columns, "digest": digest(lines)}


# ---------------------------------------------------------------- boards


def compare_boards(printed_now: str, printed: Mapping[str, Any]) -> None:
    """Each row with its runs, marks, counts and reasons, by each judge; who was ranked still is, in
    the same order.
    """
    before = {key(board): board for board in printed["boards"]}
    now = {key(board): board for board in json.loads(printed_now)["boards"]}
    # a judge that was asked about another protocol alone had a board, with nobody ranked
    gone = before.keys() - now.keys()
    assert not any(before.pop(one)["ranked"] for one in gone)
    for name, board in before.items():
        compare_board(now[name], board)


def compare_board(now: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    """The same of one board."""
    rows, rows_before = everybody(now), everybody(before)
    assert rows.keys() == rows_before.keys()
    # published indices have one decimal
    rounded = 0.1001 if before["rules"] == "published" else 1e-9
    for label, row in rows_before.items():
        if not any(line.startswith(EXCLUDED) for line in row["missing"]):
            assert alike(numbers_of(rows[label]), numbers_of(row), rounded), (key(before), label)
        known = {name: rows[label]["subject"][name] for name in row["subject"]}  # others are new
        assert facts(rows[label] | {"subject": known}) == facts(row), (key(before), label)
    stood = [row["label"] for row in before["ranked"]]
    assert [row["label"] for row in now["ranked"] if row["label"] in stood] == stood
    assert before["weights"] == now["weights"]


def key(board: Mapping[str, Any]) -> tuple[Any, ...]:
    """Which board it is."""
    return (board["protocol"]["hash"], *board["configurations"], board["judge"], board["rules"])


def everybody(board: Mapping[str, Any]) -> dict[str, Any]:
    """Every row, ranked or not."""
    return {row["subject"]["hash"]: row for row in (*board["ranked"], *board["incomplete"])}


def numbers_of(row: Mapping[str, Any]) -> Any:
    """Its index, the indices of its runs, dimensions and means of marks."""
    runs = {
        run: (score["index"], score["dimensions"], score["means"])
        for run, score in row["run_scores"].items()
    }
    return [row["index"], row["standard_deviation"], row["dimensions"], row["means"], runs]


def alike(now: Any, before: Any, within: float) -> bool:
    """Whether two nests of numbers say the same; numbers may differ so far."""
    if isinstance(now, Mapping) and isinstance(before, Mapping):
        return now.keys() == before.keys() and all(
            alike(now[name], before[name], within) for name in now
        )
    if isinstance(now, list | tuple):
        return len(now) == len(before) and all(
            alike(*pair, within) for pair in zip(now, before, strict=True)
        )
    if isinstance(now, float) and isinstance(before, float):
        return abs(now - before) <= within
    return bool(now == before)


def facts(row: Mapping[str, Any]) -> Any:
    """Who it is, how many runs and conversations, and what is missing."""
    counts = {name: row["health"][name] for name in COUNTS}
    missing = [
        one.replace("a mark that", "a score that").replace(" stems ×", " items ×")  # called so
        for line in row["missing"]
        if not line.startswith(EXCLUDED)
        for one in of_each_run(line)
    ]
    return row["label"], row["subject"], row["runs"], counts, sorted(missing)


def of_each_run(line: str) -> Iterator[str]:
    """What is missing, as it was printed: a line a run; now one line names all runs of which it is
    true.
    """
    if found := re.fullmatch(r"runs ([-\d, ]+): (.*) in each", line):
        for span in found[1].split(", "):
            first, _, last = span.partition("-")
            yield from (
                f"run {run}: {found[2]}" for run in range(int(first), int(last or first) + 1)
            )
    else:
        yield line


def without(value: Any, names: Collection[str]) -> Any:
    """*value* without the keys of these *names*, wherever they are in it."""
    if isinstance(value, Mapping):
        return {name: without(of, names) for name, of in value.items() if name not in names}
    return [without(of, names) for of in value] if isinstance(value, list) else value


def shaped(now: Any, before: Any) -> Any:
    """*now* without the keys that *before* has not: what was said later besides."""
    if isinstance(now, Mapping) and isinstance(before, Mapping):
        return {name: shaped(of, before[name]) for name, of in now.items() if name in before}
    if isinstance(now, list) and isinstance(before, list) and len(now) == len(before):
        return [shaped(*pair) for pair in zip(now, before, strict=True)]
    return now
