"""The names that all subjects of one board gave themselves, as the page is sent them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from independence_bench.analysis.chosen_names import names_of, naming_of
from independence_bench.analysis.name_counts import Naming
from independence_bench.report.encode import csv_bytes
from independence_bench.viewer.snapshot import BoardEntry, Catalog, rows_of, subject_id


@dataclass(frozen=True, slots=True)
class NamesAnswer:
    """`api/boards/<board>/names.json`: every name that a subject gave itself, and who chose it."""

    version: str
    board: str
    naming: Naming
    subjects: Mapping[str, str]  # label -> id, of all that chose a name
    titles: Mapping[str, str]  # of the scenarios in which one was chosen


def names_answer(catalog: Catalog, entry: BoardEntry) -> NamesAnswer:
    """`api/boards/<board>/names.json`."""
    every = rows_of(catalog.board(entry))  # worked out later than the catalog, it may have more subjects
    rows = {row.subject.hash: row for row in every if row.subject.hash in catalog.labels}
    found = naming_of(
        one
        for one in names_of(catalog.store, entry.edition.protocol)
        if one.configuration in entry.configurations and one.subject_hash in rows
    )
    chose = {label for count in found.counts for label in count.subjects}
    ids = {catalog.labels[hash_]: subject_id(row.subject) for hash_, row in rows.items()}
    asked = {one.scenario for one in found.by_scenario}
    return NamesAnswer(
        catalog.version,
        entry.id,
        found,
        {label: id_ for label, id_ in ids.items() if label in chose},
        {one.id: one.title for one in entry.edition.protocol.scenarios if one.id in asked},
    )


def names_table(answer: NamesAnswer) -> bytes:
    """`api/boards/<board>/names.csv`: a line for each name."""
    return csv_bytes(
        ["name", "subjects", "times", "who"],
        [(one.name, len(one.subjects), one.times, "; ".join(one.subjects)) for one in answer.naming.counts],
    )
