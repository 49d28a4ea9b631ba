"""A store as Arrow tables, with the columns of an export (docs/export.md), or as a data set:

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

from independence_bench.analysis.results import judgements_of, results_of
from independence_bench.api.named import open_results
from independence_bench.dataset.export import (
    Exported,
    ExportSource,
    Form,
    readable_protocols,
    scores,
)
from independence_bench.dataset.export import export as write_export
from independence_bench.dataset.schema import EXPORT_TABLES, ExportColumn, arrow_table
from independence_bench.errors import WrongUse
from independence_bench.integrations.inspect.log_export import WrittenLogs, export_logs
from independence_bench.store import registry
from independence_bench.store.database import default_store
from independence_bench.store.results import Judgement

if TYPE_CHECKING:
    import pyarrow

_TABLES = {table.name: table for table in EXPORT_TABLES}


def _of(table: str, *names: str) -> tuple[ExportColumn, ...]:
    columns = {column.name: column for column in _TABLES[table].columns}
    return tuple(columns[name] for name in names)


MARKS = (
    *_of("scores", "protocol", "protocol_hash", "subject", "subject_hash"),
    *_of("transcripts", "run", "system", "delivery", "experiment", "scenario"),
    ExportColumn("transcript", "key", "the conversation: `id` of `transcripts`"),
    *_of("judgements", "judge", "judge_hash"),
    ExportColumn("judgement", "key", "the judgement: `key` of `judgements`"),
    ExportColumn("mark", "text", "the mark's name"),
    ExportColumn("value", "number", "on the mark's own scale, yes and no as 1 and 0"),
)
"""The columns of `StoreTables.marks`: those of `scores`, `transcripts` and `judgements`, and a mark
with its value.
"""


def open_store(path: str | Path | None = None) -> StoreTables:
    """Open the store at *path*, a file or a database URL; None: ``AIB_STORE``, else aib.db in the
    working folder.

    Raises StoreError if there is none, or if it cannot be read.
    """
    address = str(path or default_store())
    with open_results(address) as store:
        return StoreTables(address, store.shown)


@dataclass(frozen=True, slots=True)
class StoreTables:
    """The contents of a store as tables. Each is read when it is asked for; nothing stays open in
    between.

    Subjects that models.yaml of the working folder excludes are off the rankings, as for `aib
    leaderboard`. All methods raise WrongUse if pyarrow is not installed, StoreError if the store
    cannot be read.
    """

    _address: str
    shown: str  # without a password

    def __repr__(self) -> str:
        return f"StoreTables({self.shown!r})"

    def leaderboard(self) -> pyarrow.Table:
        """Return a row for each subject on each leaderboard of each protocol, best first. The
        columns are those of `scores`.
        """
        with open_results(self._address) as store, store.reading() as connection:
            return arrow_table(_TABLES["scores"].columns, scores(store, connection))

    def marks(self) -> pyarrow.Table:
        """Return a row for each score that counts, of every judge, with the columns `MARKS`.

        A score counts if its conversation does and was judged by the protocol's rubric. A score
        that fills two places of a run has two rows.
        """
        with open_results(self._address) as store, store.reading() as connection:
            return arrow_table(MARKS, _marks(connection))

    def transcripts(self) -> pyarrow.Table:
        """Return a row for each conversation, with everything that was said in it. The columns are
        those of `transcripts`.
        """
        return self._table("transcripts")

    def judgements(self) -> pyarrow.Table:
        """Return a row for each judgement of each judge, failed ones too. The columns are those of
        `judgements`.
        """
        return self._table("judgements")

    def attempts(self, raw: bool = False) -> pyarrow.Table:
        """Return a row for each attempt at a call that has ended, with its cost. The columns are
        those of `attempts`.

        *raw*: include the bodies of the responses, as bytes.
        """
        return self._table("attempts", raw)

    def _table(self, name: str, raw: bool = False) -> pyarrow.Table:
        table = _TABLES[name]
        with open_results(self._address) as store, store.reading() as connection:
            source = ExportSource(connection, raw)
            if name == "judgements":
                source.number_attempts()
            return arrow_table(table.shown(raw), source.rows(table))


LICENCE = r"[a-z0-9][a-z0-9.-]{0,63}"  # as data-set cards have it


def export(
    folder: str | Path,
    *,
    licence: str | None = None,
    form: Form | Literal["inspect"] = "jsonl",
    raw: bool = False,
    store: str | Path | None = None,
) -> Exported | WrittenLogs:
    """Write everything that is stored into *folder*, as `aib export` does, and return how much it
    is.

    *licence*: the licence for others, such as cc-by-4.0, or "unknown". *form*: jsonl, parquet, or
    inspect for logs of Inspect AI. *raw*: include requests and bodies. Raises StoreError if there
    is no store, WrongUse if the folder cannot be written or something is missing.
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
    with open_results(str(store or default_store())) as opened:
        if form == "inspect":
            return export_logs(opened, Path(folder))
        return write_export(opened, Path(folder), (licence or "").lower(), form, raw)


def _marks(connection: Connection) -> Iterator[dict[str, Any]]:
    """Yield the rows of `MARKS`, protocol by protocol, conversation by conversation, judge by
    judge.
    """
    labels = registry.unique_labels(registry.stored_subjects(connection))
    judges = registry.stored_judges(connection)
    for protocol in readable_protocols(connection):
        found = results_of(connection, protocol)
        given: Mapping[tuple[str, str], list[Judgement]] = defaultdict(list)
        for judgement in judgements_of(connection, found):
            given[judgement.about].append(judgement)
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
