"""A store as Arrow tables, with the columns of an export (docs/data-formats.md), or as a data set:

    stored = open_store("aib.db")
    stored.leaderboard().to_pandas()
    export("results", licence="cc-by-4.0")

pandas and polars take them without copying. Needs pyarrow: pip install
'ai-independence-bench[export]'.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import Connection

from independence_bench.analysis.results import read_counted_judgements, read_results
from independence_bench.api.named import open_store_with_exclusions
from independence_bench.dataset.export import (
    Exported,
    ExportSource,
    Form,
    find_readable_protocols,
    list_score_rows,
)
from independence_bench.dataset.export import write_export as write_export
from independence_bench.dataset.schema import EXPORT_TABLES, ExportColumn, make_arrow_table
from independence_bench.errors import WrongUse
from independence_bench.integrations.inspect.log_export import WrittenLogs, export_logs
from independence_bench.store import registry
from independence_bench.store.database import find_default_store
from independence_bench.store.results import Judgement

if TYPE_CHECKING:
    import pyarrow

_TABLES = {table.name: table for table in EXPORT_TABLES}


def _pick_columns(table: str, *names: str) -> tuple[ExportColumn, ...]:
    """Return the columns called *names* of the export table *table*."""
    columns = {column.name: column for column in _TABLES[table].columns}
    return tuple(columns[name] for name in names)


MARKS = (
    *_pick_columns("scores", "protocol", "protocol_hash", "subject", "subject_hash"),
    *_pick_columns("transcripts", "run", "system", "delivery", "experiment", "scenario"),
    ExportColumn("transcript", "key", "the conversation: `id` of `transcripts`"),
    *_pick_columns("judgements", "judge", "judge_hash"),
    ExportColumn("judgement", "key", "the judgement: `key` of `judgements`"),
    ExportColumn("mark", "text", "the mark's name"),
    ExportColumn("value", "number", "on the mark's own scale, yes and no as 1 and 0"),
)
"""The columns of `StoreTables.marks`: those of `scores`, `transcripts` and `judgements`, and a mark
with its value.
"""


def open_store(path: str | Path | None = None) -> StoreTables:
    """Return the contents of the store at *path*, a file or a database URL, as Arrow tables that
    are read when they are asked for. None: the store that the variable ``AIB_STORE`` names, else
    aib.db in the working folder.

    Raises StoreError if there is no store, or if it cannot be read.
    """
    address = str(path or find_default_store())
    with open_store_with_exclusions(address) as store:
        return StoreTables(address, store.shown)


@dataclass(frozen=True, slots=True)
class StoreTables:
    """The contents of a store as Arrow tables. Each table is read when it is asked for; the store
    is not kept open.

    Models that models.yaml of the working folder excludes are off the rankings, as for `aib
    leaderboard`. All methods raise WrongUse if pyarrow is not installed, StoreError if the store
    cannot be read.
    """

    _address: str
    shown: str  # without a password

    def __repr__(self) -> str:
        return f"StoreTables({self.shown!r})"

    def leaderboard(self) -> pyarrow.Table:
        """Return an Arrow table with one row for each model on each leaderboard of each protocol,
        best first. The columns are those of the export's table `scores`.
        """
        with (
            open_store_with_exclusions(self._address) as store,
            store.open_snapshot() as connection,
        ):
            return make_arrow_table(_TABLES["scores"].columns, list_score_rows(store, connection))

    def marks(self) -> pyarrow.Table:
        """Return an Arrow table with one row for each score that a judge gave, with the columns
        `MARKS`.

        Only scores that count are included: their conversation counts and was judged by the
        protocol's rubric. A score that fills two places of a run has two rows.
        """
        with (
            open_store_with_exclusions(self._address) as store,
            store.open_snapshot() as connection,
        ):
            return make_arrow_table(MARKS, _read_mark_rows(connection))

    def transcripts(self) -> pyarrow.Table:
        """Return an Arrow table with one row for each stored conversation, with everything that was
        said in it. The columns are those of the export's table `transcripts`.
        """
        return self._read_table("transcripts")

    def judgements(self) -> pyarrow.Table:
        """Return an Arrow table with one row for each judgement of each judge, failed ones too. The
        columns are those of the export's table `judgements`.
        """
        return self._read_table("judgements")

    def attempts(self, raw: bool = False) -> pyarrow.Table:
        """Return an Arrow table with one row for each attempt to call a model or a judge that has
        ended, with its cost. The columns are those of the export's table `attempts`.

        *raw*: include the bodies of the responses, as bytes.
        """
        return self._read_table("attempts", raw)

    def _read_table(self, name: str, raw: bool = False) -> pyarrow.Table:
        """Return the export's table called *name* as an Arrow table. *raw*: include the columns
        with raw bytes.
        """
        table = _TABLES[name]
        with (
            open_store_with_exclusions(self._address) as store,
            store.open_snapshot() as connection,
        ):
            source = ExportSource(connection, raw)
            if name == "judgements":
                source.number_attempts()
            return make_arrow_table(table.list_columns(raw), source.read_table(table))


LICENCE = r"[a-z0-9][a-z0-9.-]{0,63}"  # as data-set cards have it


def export(
    folder: str | Path,
    *,
    licence: str | None = None,
    form: Form | Literal["inspect"] = "jsonl",
    raw: bool = False,
    store: str | Path | None = None,
) -> Exported | WrittenLogs:
    """Write everything that the store holds as files into *folder*, as `aib export` does, and
    return how many rows or logs were written.

    *licence*: the licence under which others may use the data, such as cc-by-4.0, or "unknown"; not
    for inspect. *form*: jsonl, parquet, or inspect for logs of Inspect AI. *raw*: include requests
    and response bodies. *store*: the address; None: the default store. Raises StoreError if there
    is no store, WrongUse if the folder cannot be written or an argument is missing or wrong.
    """
    if form == "inspect":
        if raw:
            raise WrongUse(
                "--raw: logs of Inspect hold no raw bodies; leave it out, or export jsonl"
            )
        if licence:
            raise WrongUse("--licence applies to data sets only: leave it out, or export jsonl")
    elif licence is None or not re.fullmatch(LICENCE, licence.lower()):
        raise WrongUse(
            f"{licence!r} is not a licence identifier, such as mit or cc-by-4.0; nothing was "
            "written"
        )
    with open_store_with_exclusions(str(store or find_default_store())) as opened:
        if form == "inspect":
            return export_logs(opened, Path(folder))
        return write_export(opened, Path(folder), (licence or "").lower(), form, raw)


def _read_mark_rows(connection: Connection) -> Iterator[dict[str, Any]]:
    """Yield one dictionary, with the columns `MARKS`, for each score that counts, sorted by
    protocol, then conversation, then judgement.
    """
    labels = registry.make_unique_labels(registry.read_subjects(connection))
    judges = registry.read_judge_labels(connection)
    for protocol in find_readable_protocols(connection):
        found = read_results(connection, protocol)
        given: Mapping[tuple[str, str], list[Judgement]] = defaultdict(list)
        for judgement in read_counted_judgements(connection, found):
            given[judgement.text_and_rubric_hashes].append(judgement)
        for played in (conversation for results in found for conversation in results.conversations):
            columns = {
                "protocol": protocol.name,
                "protocol_hash": protocol.hash,
                "subject": labels[played.row.subject_hash],
                "subject_hash": played.row.subject_hash,
                "run": played.row.run,
                "system": played.configuration.system,
                "delivery": played.configuration.delivery,
                "experiment": played.scenario.experiment,
                "scenario": played.scenario.id,
                "transcript": played.row.id,
            }
            for judgement in given.get(played.key, ()):
                by = {"judge": judges[judgement.judge_hash], "judge_hash": judgement.judge_hash}
                for mark, value in judgement.marks.items():
                    yield {
                        **columns,
                        **by,
                        "judgement": judgement.key,
                        "mark": mark,
                        "value": float(value),
                    }
