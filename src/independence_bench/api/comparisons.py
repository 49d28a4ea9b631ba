"""`aib compare` as a function: two models, the settings of one, or two versions of a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.compare_settings import compare_efforts, compare_providers
from independence_bench.analysis.compare_subjects import SubjectComparison, compare_pairs
from independence_bench.analysis.compare_versions import (
    VersionComparison,
    compare_versions,
    find_old_version_board,
    find_version_change,
)
from independence_bench.analysis.leaderboard import make_leaderboards
from independence_bench.analysis.row_costs import add_reasoning_tokens
from independence_bench.api.answers import Answer
from independence_bench.api.named import check_current_form, find_shipped_or_stored_protocol
from independence_bench.api.selection import Selection, read_configured_boards, select_results
from independence_bench.engine.named import apply_weights
from independence_bench.errors import WrongUse
from independence_bench.escape import escape_line
from independence_bench.lookup import find_by_label
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import parse_stored_protocol
from independence_bench.protocol.scoring import OWN
from independence_bench.report.compare_view import (
    build_comparison_values,
    build_version_values,
    render_comparison,
    render_versions,
)
from independence_bench.report.encode import format_json
from independence_bench.report.table import Block
from independence_bench.store import registry
from independence_bench.store.database import Store

VERSION = "version"
WAYS = {
    "reasoning": ("reasoning efforts", compare_efforts),
    "provider": ("providers", compare_providers),
}
BY = (*WAYS, VERSION)


@dataclass(frozen=True, slots=True)
class Comparisons(Answer):
    """Comparisons of pairs: of two models, of two settings of one model, or of two versions of a
    prompt. `rows` has a row for the index of each pair, and one for each of its dimensions and
    scenarios.
    """

    pairs: tuple[SubjectComparison | VersionComparison, ...]
    notes: tuple[str, ...] = ()  # which judge they are by, and which version is the old one

    def __iter__(self) -> Iterator[SubjectComparison | VersionComparison]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, place: int) -> SubjectComparison | VersionComparison:
        return self.pairs[place]

    def json(self) -> str:
        """Return all compared pairs as JSON text, as `aib compare --json` prints it."""
        return format_json(
            [
                build_version_values(pair)
                if isinstance(pair, VersionComparison)
                else build_comparison_values(pair)
                for pair in self.pairs
            ]
        )

    def views(self, scenarios: bool = False) -> list[Iterator[Block]]:
        """Return one iterator of printable blocks (tables and notes) for each compared pair.
        *scenarios*: also show dimensions without a weight, and the differences in each scenario.
        """
        return [
            render_versions(pair, scenarios)
            if isinstance(pair, VersionComparison)
            else render_comparison(pair, scenarios)
            for pair in self.pairs
        ]

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary for each compared score of each pair: first the index, then the
        dimensions, then the scenarios. Each names the protocol, the judge, and the labels of both
        sides as `a` and `b`.
        """
        found: list[dict[str, Any]] = []
        for pair in self.values():
            one, other = pair["a"], pair["b"]
            of = {"protocol": pair["protocol"], "judge": pair["judge"]}
            of |= {"a": one["label"], "b": other["label"]}
            index = {"scenario": None, "dimension": "index"}
            index |= {"first": one["index"], "second": other["index"]}
            scores = [index | (pair["index"] or {}), *pair["dimensions"], *pair["scenarios"]]
            found += [of | score for score in scores]
        return found


def compare(
    *models: str,
    by: str | None = None,
    against: str | Path | None = None,
    store: str | Path | None = None,
    protocol: str | Path | None = None,
    judge: str | None = None,
    jury: Sequence[str] = (),
    weights: str | None = None,
    rules: str = OWN.name,
    variants: str | Sequence[str] = (),
    modes: str | Sequence[str] = (),
) -> Comparisons:
    """Compare two *models* scenario by scenario, as `aib compare A B` does, and return the
    comparison. With *by*, compare one model, or every model, with itself: "reasoning" compares its
    reasoning efforts, "provider" its providers, "version" its results by two versions of the
    protocol.

    *against*: with "version", the old version of the *protocol*; None: the stored version that was
    played last before. Raises StoreError if there is no store, WrongUse for models that cannot be
    compared.
    """
    selection = select_results(
        store,
        protocol,
        weights,
        judge,
        jury,
        rules,
        variants=variants,
        modes=modes,
    )
    return read_comparisons(selection, models, by, None if against is None else str(against))


def read_comparisons(
    selection: Selection, models: Sequence[str], by: str | None, against: str | None
) -> Comparisons:
    """Return the comparisons that `compare` makes, from the stored results that *selection*
    chooses. Raises WrongUse if *models*, *by* and *against* do not go together, or if there is
    nothing to compare.
    """
    if by not in (None, *BY):
        raise WrongUse(f"by is {by!r}; it should be {', '.join(BY)} or None")
    if against is not None and by != VERSION:
        raise WrongUse("--against names the old version for --by version")
    if len(models) != 2 and not by:
        raise WrongUse("name two models (`aib leaderboard` lists them), or say --by reasoning")
    if by and len(models) > 1:
        raise WrongUse(f"--by {by} compares a model with itself: name one model, or none")
    if by == VERSION:
        return _compare_stored_versions(selection, against, models)
    with selection.open_for_reading() as (opened, protocol):
        scored = read_configured_boards(selection, opened, protocol)
        board, pairs, notes = (
            _find_board_and_settings_pairs(by, scored, models)
            if by
            else _find_board_and_pair(scored, *models)
        )
        compared = compare_pairs(*_add_reasoning_tokens(opened, board, pairs))
    return Comparisons(tuple(compared), tuple(notes))


# of rows of the board, and which judge it is by
Pairs = tuple[Board, Sequence[tuple[Row, Row]], list[str]]


def _add_reasoning_tokens(
    store: Store, board: Board, pairs: Sequence[tuple[Row, Row]]
) -> tuple[Board, list[tuple[Row, Row]]]:
    """Return *board* and *pairs* of its rows again, with the reasoning tokens, read from *store*,
    added to the rows of every model in *pairs*.
    """
    hashes = {row.subject.hash for pair in pairs for row in pair}
    with store.open_snapshot() as connection:
        (board,) = add_reasoning_tokens(connection, [board], subjects=hashes)
    rows = {row.subject.hash: row for row in board.rows}
    return board, [(rows[a.subject.hash], rows[b.subject.hash]) for a, b in pairs]


def _find_board_and_pair(every: Sequence[Board], a: str, b: str) -> Pairs:
    """Return the two rows of the models called *a* and *b*, with their leaderboard and notes on the
    judge. The leaderboard is the first of *every* that has both models: the main judge's, else the
    next judge's. Raises WrongUse if none has both, or if both names mean one model.
    """
    fitting, wrong = [], []
    for board in every:
        rows = {row.subject.hash: row for row in board.rows}
        labels = {hash_: row.label for hash_, row in rows.items()}
        try:
            fitting.append((board, rows[find_by_label(labels, a)], rows[find_by_label(labels, b)]))
        except WrongUse as error:
            wrong.append(error)
    if not fitting:
        raise wrong[0]
    board, first, second = fitting[0]
    if first is second:
        raise WrongUse(f"both are {first.label}; name two models")
    notes = _describe_judge_choice(board, every, [other for other, *_ in fitting[1:]], "both")
    return board, [(first, second)], notes


def _describe_judge_choice(
    board: Board, every: Sequence[Board], others: Sequence[Board], unjudged: str
) -> list[str]:
    """Return up to two notes on which judge made the leaderboard *board*: one if the main judge of
    *every* leaderboard has not judged *unjudged*, and one that names the judges of *others*, which
    could have been chosen too. Empty if there is nothing to say.
    """
    notes = []
    if board.main_judge not in (None, board.judge) and any(
        other.judge == board.main_judge for other in every
    ):
        notes.append(
            f"the main judge, {escape_line(board.main_judge or '')}, has not judged {unjudged}"
        )
    if others:
        names = ", ".join(other.judge or "none" for other in others)
        which = "the main judge" if board.judge == board.main_judge else "the first that fits"
        notes.append(
            f"by {escape_line(board.judge or 'none')}, {which}; also judged by "
            f"{escape_line(names)} (--judge chooses)"
        )
    return notes


def _find_board_and_settings_pairs(by: str, every: Sequence[Board], typed: Sequence[str]) -> Pairs:
    """Return all pairs of rows that are one model with two settings that differ only in *by* (its
    reasoning effort or its provider), with their leaderboard and notes on the judge. The
    leaderboard is the first of *every* that has such a pair.

    *typed*: a list with a part of one model's name, or an empty one for all models. Raises WrongUse
    if there is no pair.
    """
    title, compare_settings = WAYS[by]
    fitting: list[tuple[Board, list[tuple[Row, Row]]]] = []
    for board in every:
        rows = {row.label: row for row in board.rows}
        pairs: list[tuple[Row, Row]] = []
        for group in compare_settings(board, {}):
            if typed and typed[0].lower() not in group.model.lower():
                continue
            base = next(
                (way for way in group.variants if way.index is not None and way.difference is None),
                None,
            )
            if base is not None:
                others = [variant for variant in group.variants if variant.label != base.label]
                pairs += [(rows[base.label], rows[variant.label]) for variant in others]
        if pairs:
            fitting.append((board, pairs))
    if not fitting:
        of = f" of {typed[0]}" if typed else ""
        raise WrongUse(
            f"there are no two {title}{of} to compare: models that differ in nothing else, one "
            "of them complete"
        )
    board, pairs = fitting[0]
    return (
        board,
        pairs,
        _describe_judge_choice(board, every, [other for other, _ in fitting[1:]], "them"),
    )


def _compare_stored_versions(
    selection: Selection, against: str | None, typed: Sequence[str]
) -> Comparisons:
    """Compare the results of models by two stored versions of a protocol: the selected one with the
    version *against*, or with the one of that name that was played last before. Uses the first
    judge that has judged both.

    *typed*: names of the models; empty: all that have results by both versions. Raises WrongUse if
    there is no older version, or nothing to compare.
    """
    if selection.rules != OWN.name:
        raise WrongUse("--by version uses our own rules: leave --rules out")
    notes: list[str] = []
    with selection.open_for_reading() as (opened, new):
        found = (
            find_shipped_or_stored_protocol(against, opened)[0]
            if against
            else _find_last_played_other_version(new, opened, notes)
        )
        old = apply_weights(found, selection.weights)
        change = find_version_change(old, new, selection.find_configurations(new))
        before, after = (
            make_leaderboards(opened, version, selection.wanted_boards) for version in (old, new)
        )
    wanted = set(change.configurations)
    new_boards = [board for board in after if wanted <= set(board.configurations)]
    for now in new_boards:
        then = find_old_version_board(change, now, before)
        if then is None:
            continue
        earlier = {row.subject.hash: row for row in then.rows}
        rows = {row.subject.hash: row for row in now.rows if row.subject.hash in earlier}
        if rows:
            labels = {hash_: row.label for hash_, row in rows.items()}
            chosen = [find_by_label(labels, name) for name in typed] or list(rows)
            notes += _describe_judge_choice(now, new_boards, [], "both")
            pairs = [(earlier[hash_], rows[hash_]) for hash_ in chosen]
            return Comparisons(tuple(compare_versions(change, then, now, pairs)), tuple(notes))
    names = " and ".join(f"{protocol.name} {protocol.hash[:8]}" for protocol in (old, new))
    raise WrongUse(
        f"no model was played and judged by {names} in "
        f"{' + '.join(map(str, change.configurations))} by one judge; "
        "`aib run --protocol` plays each of them"
    )


def _find_last_played_other_version(new: Protocol, store: Store, notes: list[str]) -> Protocol:
    """Return the protocol in *store* that has the name of *new* but another hash, the one that was
    played last if there are several; a note that names it is then added to *notes*. Raises WrongUse
    if there is none.
    """
    with store.open_snapshot() as connection:
        others = [
            row
            for row in registry.read_protocols(connection)
            if row[1] == new.name and row[0] != new.hash
        ]
    if not others:
        raise WrongUse(
            f"no other version of {new.name} was played into {store.shown}; --against names "
            "another protocol"
        )
    hash_, name, files = others[0]
    if len(others) > 1:
        notes.append(
            f"against {name} {hash_[:8]}, played last of the others; --against names another: "
            f"{', '.join(row[0][:8] for row in others[1:])}"
        )
    found = parse_stored_protocol(hash_, files, where=f"{store.shown}: {name}")
    check_current_form(found)
    return found
