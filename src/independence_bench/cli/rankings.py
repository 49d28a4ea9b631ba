"""`aib leaderboard`, `aib compare`: rankings, and two of their subjects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import click

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.compare_settings import (
    ConfigurationComparison,
    compare_configurations,
    compare_efforts,
    compare_providers,
)
from independence_bench.analysis.compare_subjects import SubjectComparison, compare_pairs
from independence_bench.analysis.compare_versions import VersionComparison, compare_versions, version_change
from independence_bench.analysis.leaderboard import read_examined, rule_differences
from independence_bench.api.named import find_protocol, weighed
from independence_bench.cli.options import (
    configuration_options,
    json_option,
    legend_option,
    say,
    show,
    show_chosen,
    shown_options,
    shown_rows,
)
from independence_bench.cli.selection import (
    Selection,
    boards_of,
    chosen_boards,
    configured_boards,
    judged_options,
    rules_option,
    selecting,
)
from independence_bench.errors import WrongUse
from independence_bench.escape import label_text
from independence_bench.lookup import fit, instead
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import parse_stored
from independence_bench.protocol.scoring import OWN
from independence_bench.report.compare_view import paired_values, paired_view, version_values, version_view
from independence_bench.report.encode import json_text
from independence_bench.report.leaderboard_view import board_legend, board_view, boards_json, differences_view, matching
from independence_bench.report.settings_view import configurations_view
from independence_bench.report.table import EVERYTHING, Block, Shown
from independence_bench.store import registry
from independence_bench.store.database import Store

VERSION = "version"
WAYS = {"reasoning": ("reasoning efforts", compare_efforts), "provider": ("providers", compare_providers)}


@click.command(name="leaderboard")
@click.option("--detailed", is_flag=True, help="Every mark, run by run, and the number of conversations behind it.")
@shown_options
@legend_option
@selecting(judged_options, rules_option, json_option)
def leaderboard(selection: Selection, detailed: bool, as_json: bool) -> None:
    """Show the ranking of everything that is stored: one table for each configuration and judge.

    --top and --find choose which subjects are shown, --find by their labels; ranks and intervals stay those of all
    subjects. --json has all of them.

    --rules published also lists every row that our own rules rank or score differently, and why.
    """
    shown = shown_rows()
    own_rules = selection.rules == OWN.name
    with selection.opened() as (opened, protocol):
        with opened.reading() as connection:
            records = read_examined(connection, protocol)
            stored = [f"{name} {hash_[:12]}" for hash_, name, _ in registry.stored_protocols(connection)]
        found = boards_of(selection, records, protocol)
        own = found if own_rules else boards_of(replace(selection, rules=OWN.name), records, protocol)
    if as_json:
        click.echo(boards_json(found, None if own_rules else rule_differences(own, found), compared_in(found)))
    elif found:
        if shown.find and not any(matching(board.rows, shown) for board in found):
            labels = dict.fromkeys(row.label for board in found for row in board.rows)
            near = instead(shown.find, labels, "there are")
            raise WrongUse(f"--find: no subject has {shown.find} in its label; {near}")
        differences = [] if own_rules else [differences_view(rule_differences(own, found), selection.rules)]
        print_boards(found, shown, detailed, differences)
    else:
        by = f" by a judge called {selection.judge}" if selection.judge else ""
        asked = f"{protocol.name} {protocol.hash[:12]}"
        others = [one for one in stored if one != asked]
        known = f"it holds {', '.join(others)} (--protocol chooses)" if others else "`aib run` plays and judges"
        say(f"no conversations of {asked}{by} are stored in {opened.shown}; {known}")


def print_boards(
    found: list[Board], shown: Shown = EVERYTHING, detailed: bool = False, below: Sequence[Iterator[Block]] = ()
) -> None:
    """Print *found*, one table after the other; then for each judge its configurations, if there are several."""
    configurations = [] if shown.find or shown.top else [configurations_view(one) for one in compared_in(found)]
    show(*(board_view(board, shown, detailed) for board in found), board_legend(found), *configurations, *below)


def compared_in(found: list[Board]) -> list[ConfigurationComparison]:
    """For each judge of the boards *found* its configurations, if there are several."""
    judges = dict.fromkeys(board.judge for board in found)
    return [one for one in (compare_configurations(found, judge) for judge in judges) if one is not None]


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
    selection: Selection, subjects: tuple[str, ...], by: str | None, against: str | None, as_json: bool
) -> None:
    """Compare two subjects, scenario by scenario: the same protocol, configuration and judge.

    By the main judge of what is stored (docs/judges.md), unless --judge or --jury says otherwise.

    Each difference has two intervals (rerun: the same test again; new scenarios: another test like it), and the
    smallest difference that such a comparison would detect.

    A and B are labels, or parts of one that fit a single subject. With --by reasoning (or provider) A is a model
    and is compared with itself: the lowest complete effort (or the unpinned subject) with each of the others;
    without A, every model with several.

    With --by version the protocol is compared with an older version of it (--against) that has another system prompt,
    paired by scenario: how the prompts differ, what that does to the index and the dimensions, and how many runs
    would decide. Both have to be played and judged in the same store. Where they differ in more than the prompt,
    only what both ask and mark in the same words is compared.
    """
    if against is not None and by != VERSION:
        raise WrongUse("--against names the old version for --by version")
    if len(subjects) != 2 and not by:
        raise WrongUse("name two subjects (`aib leaderboard` lists them), or say --by reasoning")
    if by and len(subjects) > 1:
        raise WrongUse(f"--by {by} compares a model with itself: name one model, or none")
    if by == VERSION:
        versions = _versions(selection, against, subjects)
        values, views = [version_values(one) for one in versions], [version_view(one) for one in versions]
    else:
        with selection.opened() as (opened, protocol):
            found = configured_boards(selection, opened, protocol)
        compared = _by(by, found, subjects) if by else _two(found, *subjects)
        values, views = [paired_values(one) for one in compared], [paired_view(one) for one in compared]
    if as_json:
        click.echo(json_text(values))
    else:
        show_chosen(*views)


def _two(found: Sequence[Board], a: str, b: str) -> list[SubjectComparison]:
    """The two by the main judge, or by the next one that has judged both. Raises WrongUse where none has."""
    fitting, wrong = [], []
    for board in found:
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
    _say_judge(board, [other for other, *_ in fitting[1:]], "both")
    return compare_pairs(board, [(first, second)])


def _say_judge(board: Board, others: Sequence[Board], what: str) -> None:
    """Name the judge that is shown, where it is not the main one or where others have judged the same."""
    if board.main_judge not in (None, board.judge):
        say(f"the main judge, {label_text(board.main_judge or '')}, has not judged {what}")
    if others:
        names = ", ".join(other.judge or "none" for other in others)
        said = "the main judge" if board.judge == board.main_judge else "the first that fits"
        say(f"by {label_text(board.judge or 'none')}, {said}; also judged by {label_text(names)} (--judge chooses)")


def _by(by: str, found: Sequence[Board], typed: Sequence[str]) -> list[SubjectComparison]:
    """Every pair of the settings of one model, or of every model, by the main judge or the next one that has some.

    Raises WrongUse where nothing differs in that.
    """
    title, compare_settings = WAYS[by]
    fitting: list[tuple[Board, list[tuple[Row, Row]]]] = []
    for board in found:
        rows = {row.label: row for row in board.rows}
        pairs: list[tuple[Row, Row]] = []
        for group in compare_settings(board, {}):
            if typed and typed[0].lower() not in group.model.lower():
                continue
            base = next((one for one in group.variants if one.index is not None and one.difference is None), None)
            if base is not None:
                others = [one for one in group.variants if one.label != base.label]
                pairs += [(rows[base.label], rows[one.label]) for one in others]
        if pairs:
            fitting.append((board, pairs))
    if not fitting:
        of = f" of {typed[0]}" if typed else ""
        raise WrongUse(
            f"there are no two {title}{of} to compare: subjects that differ in nothing else, one of them complete"
        )
    board, pairs = fitting[0]
    _say_judge(board, [other for other, _ in fitting[1:]], "them")
    return compare_pairs(board, pairs)


def _versions(selection: Selection, against: str | None, typed: Sequence[str]) -> list[VersionComparison]:
    """The subjects of those names, or all that have marks by both versions, by the first judge that has judged both.

    Raises WrongUse where there is no older version, or nothing to compare.
    """
    if selection.rules != OWN.name:
        raise WrongUse("--by version uses our own rules: leave --rules out")
    with selection.opened() as (opened, new):
        old = weighed(find_protocol(against, opened)[0] if against else _played_before(new, opened), selection.weights)
        change = version_change(old, new, selection.configurations(new))
        before, after = (chosen_boards(selection, opened, version) for version in (old, new))
    wanted = set(change.configurations)
    old_boards, new_boards = (
        [one for one in boards if wanted <= set(one.configurations)] for boards in (before, after)
    )
    for now in new_boards:
        then = next((one for one in old_boards if one.judge_hashes and one.judge_hashes == now.judge_hashes), None)
        if then is None:
            continue
        earlier = {row.subject.hash: row for row in then.rows}
        rows = {row.subject.hash: row for row in now.rows if row.subject.hash in earlier}
        if rows:
            labels = {hash_: row.label for hash_, row in rows.items()}
            chosen = [fit(labels, name) for name in typed] or list(rows)
            _say_judge(now, [], "both")
            return compare_versions(change, then, now, [(earlier[one], rows[one]) for one in chosen])
    names = " and ".join(f"{one.name} {one.hash[:8]}" for one in (old, new))
    raise WrongUse(
        f"no subject was played and judged by {names} in {' + '.join(map(str, change.configurations))} by one judge; "
        "`aib run --protocol` plays each of them"
    )


def _played_before(new: Protocol, store: Store) -> Protocol:
    """The stored version of *new*'s name that was played last of the others. Raises WrongUse where there is none."""
    with store.reading() as connection:
        others = [one for one in registry.stored_protocols(connection) if one[1] == new.name and one[0] != new.hash]
    if not others:
        raise WrongUse(
            f"no other version of {new.name} was played into {store.shown}; --against names another protocol"
        )
    hash_, name, files = others[0]
    if len(others) > 1:
        say(
            f"against {name} {hash_[:8]}, played last of the others; --against names another: "
            f"{', '.join(one[0][:8] for one in others[1:])}"
        )
    return parse_stored(files, where=f"{store.shown}: {name}")
