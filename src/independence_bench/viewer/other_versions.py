"""Which versions of a protocol a board can be compared with: another prompt, one judge, some of the same subjects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from independence_bench.analysis.board import Board
from independence_bench.analysis.compare_versions import VersionChange, version_change
from independence_bench.errors import WrongUse
from independence_bench.protocol.scoring import OWN
from independence_bench.viewer.snapshot import BoardEntry, Catalog, Edition


@dataclass(frozen=True, slots=True)
class OtherVersion:
    """Another version that a board can be compared with."""

    protocol: str  # its id
    name: str
    hash: str  # the start of it, which tells versions of one name apart
    subjects: int  # with marks by both


def other_versions(catalog: Catalog, entry: BoardEntry) -> Sequence[OtherVersion]:
    """What the board of *entry* can be compared with, in the catalog's order."""

    def work_out() -> list[OtherVersion]:
        found = []
        for edition in catalog.editions.values():
            both = None if edition is entry.edition else both_versions(catalog, entry, edition)
            if both is not None and (shared := len(shared_subjects(both[1], both[2]))):
                found.append(OtherVersion(edition.id, edition.protocol.name, edition.hash[:8], shared))
        return found

    return catalog.kept(("versions", entry.id), work_out)


def both_versions(catalog: Catalog, entry: BoardEntry, edition: Edition) -> tuple[VersionChange, Board, Board] | None:
    """What differs, the other version's board and this one's; None where nothing can be compared."""
    names = {one.name for one in edition.protocol.weightings}
    if entry.rules != OWN.name or entry.judge is None or (entry.weights is not None and entry.weights not in names):
        return None
    now = catalog.boards_like(entry).get(entry.id)
    try:
        old, new = edition.protocol.weighed(entry.weights), entry.edition.protocol.weighed(entry.weights)
        change = version_change(old, new, entry.configurations)
    except WrongUse:
        return None
    wanted = set(change.configurations)
    jury = entry.judges if entry.judge_kind == "jury" else ()
    try:
        there = catalog.boards(edition, entry.rules, jury, entry.weights).values()
    except WrongUse:  # a jury of judges who have not judged it
        return None
    if now is None:
        return None
    judges = set(now.judge_hashes)
    before = next((one for one in there if set(one.judge_hashes) == judges and wanted <= set(one.configurations)), None)
    return None if before is None else (change, before, now)


def shared_subjects(before: Board, now: Board) -> set[str]:
    """Hashes of who is on both."""
    return {row.subject.hash for row in before.rows} & {row.subject.hash for row in now.rows}
