"""Two versions of a protocol on two leaderboards of one judge: the changes in their prompts, and
their effect on each subject.

The numbers and sentences are those of `aib compare --by version`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from independence_bench.analysis.board import Board
from independence_bench.analysis.compare_subjects import list_score_keys
from independence_bench.analysis.compare_versions import (
    VersionChange,
    VersionComparison,
    compare_versions,
    find_old_version_board,
    find_version_change,
)
from independence_bench.analysis.uncertainty import Compared
from independence_bench.errors import WrongUse
from independence_bench.protocol.scoring import OWN
from independence_bench.report.compare_view import (
    describe_changes_beside_prompts,
    describe_needed_version_runs,
    describe_versions,
    list_signed_change_lines,
)
from independence_bench.report.encode import encode_csv
from independence_bench.viewer import compare
from independence_bench.viewer.compare import ComparedScore, Differences
from independence_bench.viewer.snapshot import (
    BoardEntry,
    Catalog,
    Edition,
    find_by_id,
    make_board_id,
)


@dataclass(frozen=True, slots=True)
class ChangedLine:
    """A piece of a prompt: the old words (-), the new words (+), or a remark ("")."""

    sign: str
    text: str


@dataclass(frozen=True, slots=True)
class ChangedPrompt:
    """A system prompt that differs between two versions of a protocol."""

    variant: str
    lines: tuple[ChangedLine, ...]


@dataclass(frozen=True, slots=True)
class ByVersions:
    """One model under both versions of a protocol."""

    subject: str  # id
    label: str
    before: compare.Numbers  # [0, 100], in the order of *compared*
    before_shown: compare.Texts
    now: compare.Numbers
    now_shown: compare.Texts
    apart: Differences  # now minus before
    statement: str  # the difference of the index in words, with the names of both versions
    # number of runs that would make it significant, in words; null: nothing to say
    settles: str | None


@dataclass(frozen=True, slots=True)
class VersionsAnswer:
    """`api/boards/<board>/versions/<protocol>.json`: the leaderboard's version compared with
    another one, whose leaderboard is *before*.
    """

    version: str
    board: str  # id
    before: str  # id
    names: tuple[str, str]  # names of both versions, the other one first
    configurations: tuple[str, ...]  # whose prompt differs
    left_out: tuple[str, ...]  # whose prompt is the same
    prompts: tuple[ChangedPrompt, ...]
    unlike: str | None  # other differences, because of which not all is compared; null: none
    compared: tuple[ComparedScore, ...]
    subjects: tuple[ByVersions, ...]  # in the board's order


def build_versions_answer(catalog: Catalog, entry: BoardEntry, protocol: str) -> VersionsAnswer:
    """Return the answer for `api/boards/<board>/versions/<protocol>.json`: a leaderboard compared
    with that of another version of its protocol, with the changed prompts and each model's
    differences. Raise NotThere if the two cannot be compared.
    """
    edition = find_by_id(
        {
            version.protocol: catalog.editions[version.protocol]
            for version in find_other_versions(catalog, entry)
        },
        protocol,
    )
    both = find_change_and_both_boards(catalog, entry, edition)
    assert both is not None  # noqa: S101 - else it were none of them
    change, before, now = both
    earlier = {row.subject.hash: row for row in before.rows}
    pairs = [
        (earlier[row.subject.hash], row)
        for row in now.rows
        if row.subject.hash in find_shared_model_hashes(before, now)
    ]
    compared = list_score_keys(change.common)
    return VersionsAnswer(
        version=catalog.version,
        board=entry.id,
        before=make_board_id(
            edition, before.configurations, before.judge, entry.rules, entry.weights
        ),
        names=(
            f"{edition.protocol.name} {edition.hash[:8]}",
            f"{entry.edition.protocol.name} {entry.edition.hash[:8]}",
        ),
        configurations=tuple(map(str, change.configurations)),
        left_out=tuple(map(str, change.same)),
        prompts=tuple(
            ChangedPrompt(
                prompt.variant,
                tuple(ChangedLine(*line) for line in list_signed_change_lines(prompt.changes)),
            )
            for prompt in change.prompts
        ),
        unlike=describe_changes_beside_prompts(change) or None,
        compared=compare.list_compared_scores(compared),
        subjects=tuple(
            _compare_subject(compared, comparison, row.subject.id, row.label)
            for comparison, (_, row) in zip(
                compare_versions(change, before, now, pairs), pairs, strict=True
            )
        ),
    )


def encode_versions_csv(answer: VersionsAnswer) -> bytes:
    """Return `api/boards/<board>/versions/<protocol>.csv`: a CSV table of all scores that two
    versions of a protocol have in common, with their differences, model by model.
    """
    return encode_csv(
        compare.SIDES,
        [
            (subject.label, *answer.names, *line)
            for subject in answer.subjects
            for line in compare.list_score_lines(
                answer.compared, subject.before, subject.now, subject.apart
            )
        ],
    )


def _compare_subject(
    compared: Sequence[Compared], one: VersionComparison, id_: str, label: str
) -> ByVersions:
    """Return one model's scores under two versions of a protocol, their differences, and what they
    mean in words.
    """
    scores = one.found.scores
    before, now = scores.sides
    return ByVersions(
        id_,
        label,
        *compare.format_side_values(compared, before),
        *compare.format_side_values(compared, now),
        compare.subtract_first_from_second(
            compared, scores, "; ".join(scores.why_no_interval) or None
        ),
        describe_versions(one),
        describe_needed_version_runs(one) or None,
    )


@dataclass(frozen=True, slots=True)
class OtherVersion:
    """Another version of the protocol that a leaderboard can be compared with."""

    protocol: str  # its id
    name: str
    hash: str  # the start of it, which tells versions of one name apart
    subjects: int  # number of subjects with scores by both


def find_other_versions(catalog: Catalog, entry: BoardEntry) -> Sequence[OtherVersion]:
    """Return the other versions of its protocol that the leaderboard of *entry* can be compared
    with, in the catalog's order, each with its number of shared models; worked out once.
    """

    def work_out_versions() -> list[OtherVersion]:
        """Return the other versions of the leaderboard's protocol that have scores of the same
        models.
        """
        others = []
        for edition in catalog.editions.values():
            both = (
                None
                if edition is entry.edition
                else find_change_and_both_boards(catalog, entry, edition)
            )
            if both is not None and (shared := len(find_shared_model_hashes(both[1], both[2]))):
                others.append(
                    OtherVersion(edition.id, edition.protocol.name, edition.hash[:8], shared)
                )
        return others

    return catalog.remember_result(("versions", entry.id), work_out_versions)


def find_change_and_both_boards(
    catalog: Catalog, entry: BoardEntry, edition: Edition
) -> tuple[VersionChange, Board, Board] | None:
    """Return what changed from the protocol version *edition* to that of *entry*, the leaderboard
    of *edition*, and the leaderboard of *entry*; None if the two cannot be compared.
    """
    names = {weighting.name for weighting in edition.protocol.weightings}
    if (
        entry.rules != OWN.name
        or entry.judge is None
        or (entry.weights is not None and entry.weights not in names)
    ):
        return None
    now = catalog.find_boards(entry.edition, entry.wanted_boards).get(entry.id)
    try:
        old, new = (
            edition.protocol.choose_weights(entry.weights),
            entry.edition.protocol.choose_weights(entry.weights),
        )
        change = find_version_change(old, new, entry.configurations)
    except WrongUse:
        return None
    try:
        there = catalog.find_boards(edition, entry.wanted_boards).values()
    except WrongUse:  # a jury of judges who have not judged it
        return None
    if now is None:
        return None
    before = find_old_version_board(change, now, list(there))
    return None if before is None else (change, before, now)


def find_shared_model_hashes(before: Board, now: Board) -> set[str]:
    """Return the hashes of the models that are on both leaderboards, *before* and *now*."""
    return {row.subject.hash for row in before.rows} & {row.subject.hash for row in now.rows}
