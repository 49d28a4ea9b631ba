"""`aib compare`: two subjects, the settings of one model, or two versions of a protocol."""

from __future__ import annotations

from collections.abc import Sequence

import click

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.compare_settings import (
    compare_efforts,
    compare_providers,
)
from independence_bench.analysis.compare_subjects import compare_pairs
from independence_bench.analysis.compare_versions import (
    VersionComparison,
    compare_versions,
    earlier_board,
    version_change,
)
from independence_bench.analysis.costs import with_reasoning_tokens
from independence_bench.analysis.leaderboard import boards
from independence_bench.api.named import (
    find_protocol,
    need_today,
    weighed,
)
from independence_bench.cli.options import (
    configuration_options,
    json_option,
    legend_option,
    say,
    show_chosen,
    shown_options,
)
from independence_bench.cli.selection import (
    Selection,
    configured_boards,
    judged_options,
    rules_option,
    selecting,
)
from independence_bench.errors import WrongUse
from independence_bench.escape import label_text
from independence_bench.lookup import fit
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import parse_stored
from independence_bench.protocol.scoring import OWN
from independence_bench.report.compare_view import (
    paired_values,
    paired_view,
    version_values,
    version_view,
)
from independence_bench.report.encode import json_text
from independence_bench.store import registry
from independence_bench.store.database import Store

VERSION = "version"
WAYS = {
    "reasoning": ("reasoning efforts", compare_efforts),
    "provider": ("providers", compare_providers),
}


@click.command(name="compare")
@click.argument("subjects", nargs=-1, metavar="[A] [B]")
@click.option(
    "--by",
    type=click.Choice([*WAYS, VERSION]),
    help="Compare a model with itself: its settings, or versions of a prompt.",
)
@click.option(
    "--against",
    metavar="NAME|PATH|HASH",
    help="With --by version: the old version.  [default: the one of that name played before]",
)
@shown_options
@legend_option
@selecting(judged_options, rules_option, configuration_options, json_option)
def compare(
    selection: Selection,
    subjects: tuple[str, ...],
    by: str | None,
    against: str | None,
    as_json: bool,
) -> None:
    """Compare two subjects, scenario by scenario: the same protocol, configuration and judge.

    By the main judge of what is stored (docs/judges.md), unless --judge or --jury says otherwise.

    Each difference, A - B, has two intervals (rerun: the same test again; new scenarios: another
    test like it), and the smallest difference that such a comparison would detect.

    A and B are labels, or parts of one that fit a single subject. With --by reasoning (or provider)
    A is a model and is compared with itself: the lowest complete effort (or the unpinned subject)
    with each of the others; without A, every model with several.

    With --by version the protocol is compared with an older version of it (--against) that has
    another system prompt, paired by scenario: how the prompts differ, what that does to the index
    and the dimensions, and how many runs would decide. Both have to be played and judged in the
    same store. Where they differ in more than the prompt, only what both ask and mark in the same
    words is compared.
    """
    if against is not None and by != VERSION:
        raise WrongUse("--against names the old version for --by version")
    if len(subjects) != 2 and not by:
        raise WrongUse("name two subjects (`aib leaderboard` lists them), or say --by reasoning")
    if by and len(subjects) > 1:
        raise WrongUse(f"--by {by} compares a model with itself: name one model, or none")
    if by == VERSION:
        versions = _versions(selection, against, subjects)
        values, views = [*map(version_values, versions)], [*map(version_view, versions)]
    else:
        with selection.opened() as (opened, protocol):
            scored = configured_boards(selection, opened, protocol)
            pairs = _by(by, scored, subjects) if by else _two(scored, *subjects)
            compared = compare_pairs(*_with_reasoning_tokens(opened, *pairs))
        values = [*map(paired_values, compared)]
        views = [paired_view(comparison, named=not by) for comparison in compared]
    if as_json:
        click.echo(json_text(values))
    else:
        show_chosen(*views)


Pairs = tuple[Board, Sequence[tuple[Row, Row]]]  # of rows of the board


def _with_reasoning_tokens(store: Store, board: Board, pairs: Sequence[tuple[Row, Row]]) -> Pairs:
    """The same, with the reasoning tokens of all *pairs*."""
    hashes = {row.subject.hash for pair in pairs for row in pair}
    with store.reading() as connection:
        (board,) = with_reasoning_tokens(connection, [board], subjects=hashes)
    rows = {row.subject.hash: row for row in board.rows}
    return board, [(rows[a.subject.hash], rows[b.subject.hash]) for a, b in pairs]


def _two(every: Sequence[Board], a: str, b: str) -> Pairs:
    """The two by the main judge, or by the next one that has judged both. Raises WrongUse where
    none has.
    """
    fitting, wrong = [], []
    for board in every:
        rows = {row.subject.hash: row for row in board.rows}
        labels = {hash_: row.label for hash_, row in rows.items()}
        try:
            fitting.append((board, rows[fit(labels, a)], rows[fit(labels, b)]))
        except WrongUse as error:
            wrong.append(error)
    if not fitting:
        raise wrong[0]
    board, first, second = fitting[0]
    if first is second:
        raise WrongUse(f"both are {first.label}; name two subjects")
    _say_judge(board, every, [other for other, *_ in fitting[1:]], "both")
    return board, [(first, second)]


def _say_judge(board: Board, every: Sequence[Board], others: Sequence[Board], what: str) -> None:
    """Name the judge that is shown, where it is not the main one of *every* board, or where
    *others* fit, too.
    """
    if board.main_judge not in (None, board.judge) and any(
        other.judge == board.main_judge for other in every
    ):
        say(f"the main judge, {label_text(board.main_judge or '')}, has not judged {what}")
    if others:
        names = ", ".join(other.judge or "none" for other in others)
        which = "the main judge" if board.judge == board.main_judge else "the first that fits"
        say(
            f"by {label_text(board.judge or 'none')}, {which}; also judged by "
            f"{label_text(names)} (--judge chooses)"
        )


def _by(by: str, every: Sequence[Board], typed: Sequence[str]) -> Pairs:
    """Every pair of the settings of one model, or of every model, by the main judge or the next one
    that has some.

    Raises WrongUse where nothing differs in that.
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
            f"there are no two {title}{of} to compare: subjects that differ in nothing else, one "
            "of them complete"
        )
    board, pairs = fitting[0]
    _say_judge(board, every, [other for other, _ in fitting[1:]], "them")
    return board, pairs


def _versions(
    selection: Selection, against: str | None, typed: Sequence[str]
) -> list[VersionComparison]:
    """The subjects of those names, or all that have marks by both versions, by the first judge that
    has judged both.

    Raises WrongUse where there is no older version, or nothing to compare.
    """
    if selection.rules != OWN.name:
        raise WrongUse("--by version uses our own rules: leave --rules out")
    with selection.opened() as (opened, new):
        old = weighed(
            find_protocol(against, opened)[0] if against else _played_before(new, opened),
            selection.weights,
        )
        change = version_change(old, new, selection.configurations(new))
        before, after = (boards(opened, version, selection.wanted) for version in (old, new))
    wanted = set(change.configurations)
    new_boards = [board for board in after if wanted <= set(board.configurations)]
    for now in new_boards:
        then = earlier_board(change, now, before)
        if then is None:
            continue
        earlier = {row.subject.hash: row for row in then.rows}
        rows = {row.subject.hash: row for row in now.rows if row.subject.hash in earlier}
        if rows:
            labels = {hash_: row.label for hash_, row in rows.items()}
            chosen = [fit(labels, name) for name in typed] or list(rows)
            _say_judge(now, new_boards, [], "both")
            return compare_versions(
                change, then, now, [(earlier[hash_], rows[hash_]) for hash_ in chosen]
            )
    names = " and ".join(f"{protocol.name} {protocol.hash[:8]}" for protocol in (old, new))
    raise WrongUse(
        f"no subject was played and judged by {names} in "
        f"{' + '.join(map(str, change.configurations))} by one judge; "
        "`aib run --protocol` plays each of them"
    )


def _played_before(new: Protocol, store: Store) -> Protocol:
    """The stored version of *new*'s name that was played last of the others. Raises WrongUse where
    there is none.
    """
    with store.reading() as connection:
        others = [
            row
            for row in registry.stored_protocols(connection)
            if row[1] == new.name and row[0] != new.hash
        ]
    if not others:
        raise WrongUse(
            f"no other version of {new.name} was played into {store.shown}; --against names "
            "another protocol"
        )
    hash_, name, files = others[0]
    if len(others) > 1:
        say(
            f"against {name} {hash_[:8]}, played last of the others; --against names another: "
            f"{', '.join(row[0][:8] for row in others[1:])}"
        )
    found = parse_stored(hash_, files, where=f"{store.shown}: {name}")
    need_today(found)
    return found
