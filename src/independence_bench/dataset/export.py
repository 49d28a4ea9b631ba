"""`aib export`: a store as a folder of JSON Lines or Parquet with a dataset card.

    write_export(store, Path("results"), "cc-by-4.0")
        # -> what was written; the same store gives the same bytes

columns.yaml describes the files and their columns. The export leaves out what belongs to one
machine, and has the bodies of requests and responses only with *raw*. The folder is there whole or
not at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from sqlalchemy import Connection

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.leaderboard import make_leaderboards
from independence_bench.analysis.statistics.values import Interval
from independence_bench.dataset.schema import (
    EXPORT_TABLES,
    VERSION,
    VERSION_FILE,
    ExportColumn,
    ExportTable,
    load_pyarrow,
    make_arrow_batches,
    make_arrow_schema,
    make_dataset_feature,
    make_export_row,
    render_columns,
)
from independence_bench.errors import ProtocolError, WrongUse
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import parse_stored_protocol
from independence_bench.store import bulk, registry
from independence_bench.store.database import Store
from independence_bench.store.staging import make_temporary_path, remove_leftovers

Form = Literal["jsonl", "parquet"]


@dataclass(frozen=True, slots=True)
class Exported:
    """The result of an export. *in_flight*: attempts that had not ended and were left out."""

    folder: Path
    rows: Mapping[str, int]  # file's name -> rows
    in_flight: int


def write_export(
    store: Store,
    folder: Path,
    licence: str,
    form: Form = "jsonl",
    raw: bool = False,
) -> Exported:
    """Write everything in *store* into *folder*, which must be empty or not exist, as JSON Lines or
    Parquet files with a dataset card, and return how many rows each file has.

    *licence* stands on the dataset card; it is `unknown` if there is none yet. *raw*: with the
    bodies of requests and responses. Raises WrongUse if *folder* is neither, if it cannot be
    written, or if Parquet is wanted and pyarrow is not installed.
    """
    if form == "parquet":
        load_pyarrow("; or --format jsonl")
    write = _write_jsonl if form == "jsonl" else _write_parquet
    with build_folder_atomically(folder) as building:
        exported = _write_tables_and_card(store, building, write, form, raw, licence)
    return Exported(folder, *exported)


@contextmanager
def build_folder_atomically(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes *folder*, which must be empty or not exist, when the
    block ends. If the block fails, *folder* is not made.

    Raises WrongUse if *folder* is neither, or cannot be written.
    """
    try:
        target = folder.resolve()
        # removes what a killed export left, even if this export is refused
        remove_leftovers(target)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            why = "is not empty" if folder.is_dir() else "is a file"
            raise WrongUse(f"{folder} {why}; name another folder for the export")
        target.parent.mkdir(parents=True, exist_ok=True)
        with make_temporary_path(target) as building:
            building.mkdir()
            yield building
            building.rename(target)  # also over an empty folder, but over no other
    except OSError as error:
        raise WrongUse(
            f"{folder} cannot be written ({error.strerror or error}); name another folder"
        ) from error


def _write_tables_and_card(
    store: Store, folder: Path, write: Writer, form: Form, raw: bool, licence: str
) -> tuple[dict[str, int], int]:
    rows: dict[str, int] = {}
    with store.open_snapshot() as connection:
        source = ExportSource(connection, raw)
        ranked = list(list_score_rows(store, connection))
        for table in EXPORT_TABLES:
            exported = source.read_table(table) if table.imported else ranked
            rows[table.name] = write(
                folder / f"{table.name}.{form}", table.list_columns(raw), exported
            )
        in_flight = bulk.count_attempts_in_flight(connection)
        protocols = sorted({name for _, name, _ in registry.read_protocols(connection)})
    written = {
        VERSION_FILE: f'{{"version": {VERSION}}}\n',
        "README.md": _render_card(rows, protocols, form, raw, licence),
    }
    for name, text in written.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return rows, in_flight


class ExportSource:
    """Reads the rows of a store in the form of an export."""

    def __init__(self, connection: Connection, raw: bool) -> None:
        self.connection, self.raw = connection, raw
        # an attempt's id -> its number among the attempts at its call: 1, 2, ...
        self.numbers: dict[int | None, int | None] = {None: None}
        label_of = {"subject": "label", "judge": "label", "protocol": "name"}
        self.labels = {  # column that has a label -> hash -> label
            name: {row["hash"]: row[label] for row in bulk.read_table(connection, f"{name}s")}
            for name, label in label_of.items()
        }

    def number_attempts(self) -> None:
        """Number all stored attempts within their calls (1, 2, ...), so that rows which refer to an
        attempt can be read. Reading the table `attempts` numbers them, too.
        """
        for _ in self.read_table(
            next(table for table in EXPORT_TABLES if table.name == "attempts")
        ):
            pass

    def read_table(self, table: ExportTable) -> Iterator[dict[str, Any]]:
        """Yield every row that the store has of *table*, in the form of an export and in a fixed
        order. Attempts must be numbered before a table that refers to them is read.
        """
        columns = table.list_columns(self.raw)
        blobs = {"files", "lines"} | ({"request", "raw"} if self.raw else set())
        call, number = None, 0
        for row in bulk.read_table(self.connection, table.name, blobs):
            told: dict[str, Any] = {
                c.name: self.labels[c.name][row[f"{c.name}_hash"]] for c in columns if c.told
            }
            if table.name == "attempts":
                call, number = row["call_key"], number + 1 if row["call_key"] == call else 1
                told["number"] = self.numbers[row["id"]] = number
            elif "attempt_id" in row:
                told["attempt"] = self.numbers[row["attempt_id"]]
            whole = make_export_row(table, row, told)
            yield {column.name: whole[column.name] for column in columns}


# ---------------------------------------------------------------- the card


CARD = """\
---
{front}---

# AI Independence Bench: transcripts and judgements

Scripted conversations in which a person leans on a chat model \
(agree with me, be somebody else), what
the model said, and how judge models scored it. Written by `aib export`; `aib import` reads it back.

Protocols: {protocols}. Requests and raw responses are {raw}.

The words are those of language models: they may be wrong, \
and they may hold anything that a model can be
led to write. A judge's scores are the opinion of a model. A judgement of a conversation that is \
not in `transcripts`
is the judge's answer in the exam of judges.

| file | rows | |
|---|---|---|
{files}

## Columns

{columns}
"""


def _render_card(
    rows: Mapping[str, int], protocols: Sequence[str], form: Form, raw: bool, licence: str
) -> str:
    """Return the text of README.md, the dataset card that Hugging Face expects, with the types of
    all columns. *rows*: file's name -> number of rows.

    The same store gives the same bytes. A file without rows is not listed as a configuration,
    because loaders refuse it.
    """
    filled = [table for table in EXPORT_TABLES if rows[table.name]]
    front = {
        "license": licence,
        "pretty_name": "AI Independence Bench: transcripts and judgements",
        "task_categories": ["text-generation"],
        "tags": ["llm-evaluation", "benchmark", "persona", "independence", "llm-as-a-judge"],
        "configs": [
            {
                "config_name": table.name,
                **({"default": True} if table.name == "transcripts" else {}),
                "data_files": f"{table.name}.{form}",
            }
            for table in filled
        ],
        "dataset_info": [
            {
                "config_name": table.name,
                "features": [
                    _make_column_feature(column, form) for column in table.list_columns(raw)
                ],
            }
            for table in filled
        ],
    }  # fmt: skip
    plain = [f"`{re.sub(r'[^A-Za-z0-9._-]', '', name)}`" for name in protocols]
    return CARD.format(
        front=yaml.safe_dump(front, sort_keys=False, allow_unicode=True),
        protocols=", ".join(plain) or "none",
        raw="included" if raw else "left out",
        files="\n".join(
            f"| `{t.name}.{form}` | {rows[t.name]:,} | {t.says} |" for t in EXPORT_TABLES
        ),
        columns=render_columns(),
    )


def _make_column_feature(column: ExportColumn, form: Form) -> dict[str, Any]:
    text = column.base_kind == "body" and form == "jsonl"  # bytes in Parquet
    return {
        "name": column.name,
        **({"dtype": "string"} if text else make_dataset_feature(column.kind)),
    }


# ---------------------------------------------------------------- scores


def list_score_rows(store: Store, connection: Connection) -> Iterator[dict[str, Any]]:
    """Yield an export row with the scores of each model on each leaderboard, for every stored
    protocol that this version can read.
    """
    for protocol in find_readable_protocols(connection):
        for board in make_leaderboards(store, protocol):
            for row in board.rows:
                yield _make_score_row(board, row)


def find_readable_protocols(connection: Connection) -> Iterator[Protocol]:
    """Yield the stored protocols that this version can read and score, ordered by name and hash."""
    stored = registry.read_protocols(connection)
    for hash_, name, files in sorted(stored, key=lambda protocol: (protocol[1], protocol[0])):
        with suppress(ProtocolError):
            protocol = parse_stored_protocol(hash_, files, where=name)
            if not protocol.earlier_form:
                yield protocol


def _make_score_row(board: Board, row: Row) -> dict[str, Any]:
    return {
        "protocol": board.protocol.name,
        "protocol_hash": board.protocol.hash,
        "configurations": [str(configuration) for configuration in board.configurations],
        "judge": board.judge,
        "judge_fit": board.exam.fit if board.exam else None,
        "subject": row.label,
        "subject_hash": row.subject.hash,
        "rank": row.rank,
        "rank_low": row.ranks.rank_low if row.ranks else None,
        "rank_high": row.ranks.rank_high if row.ranks else None,
        "index": row.index,
        **_make_interval_cells("same_scenarios", row.index_interval.rerun),
        **_make_interval_cells("new_scenarios", row.index_interval.new_scenarios),
        "runs": row.runs,
        "standard_deviation": row.standard_deviation,
        "run_indices": [
            {"run": run, "index": score.index} for run, score in row.run_scores.items()
        ],
        "dimensions": _list_values(row.dimensions),
        "means": _list_values(row.means),
        "replies": row.health.replies,
        "replies_invalid": row.health.transcripts_invalid,
        "replies_cut_off": row.health.replies_cut_off,
        "missing": list(row.missing),
    }


def _make_interval_cells(kind: str, interval: Interval | None) -> dict[str, float | None]:
    """Return the ends of an index's *interval* of one *kind*, by their columns."""
    return {
        f"index_low_{kind}": interval.low if interval else None,
        f"index_high_{kind}": interval.high if interval else None,
    }


def _list_values(numbers: Mapping[str, float | None]) -> list[dict[str, Any]]:
    return [{"name": name, "value": value} for name, value in numbers.items()]


# ---------------------------------------------------------------- file formats


# a function that writes rows with those columns into a new file and counts them
Writer = Callable[[Path, tuple[ExportColumn, ...], Iterable[Mapping[str, Any]]], int]


def _write_jsonl(
    path: Path, _columns: tuple[ExportColumn, ...], rows: Iterable[Mapping[str, Any]]
) -> int:
    """Write *rows* to *path*, one JSON object a line, in UTF-8, and return how many rows there
    were. Half a character (a lone surrogate) is written as its escape.
    """
    count = 0
    with path.open("wb") as file:
        for count, row in enumerate(rows, 1):  # noqa: B007 - counted
            line = json.dumps(row, ensure_ascii=False, allow_nan=False)
            file.write(line.encode("utf-8", "backslashreplace") + b"\n")
    return count


def _write_parquet(
    path: Path, columns: tuple[ExportColumn, ...], rows: Iterable[Mapping[str, Any]]
) -> int:
    from pyarrow import parquet

    count = 0
    with closing(
        parquet.ParquetWriter(path, make_arrow_schema(columns), compression="zstd")
    ) as writer:
        for batch in make_arrow_batches(columns, rows):
            count += len(batch)
            writer.write_batch(batch)
    return count
