"""How reliable the numbers are, and all of them as files.

`aib judges`, `aib scenarios`, `aib compare`, `aib generate-report`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.chosen_names import names_of
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
from independence_bench.analysis.item_analysis import measure_board
from independence_bench.analysis.judge_agreement import validations
from independence_bench.analysis.leaderboard import read_examined
from independence_bench.api.named import (
    find_protocol,
    need_today,
    stored_subjects,
)
from independence_bench.cli.options import (
    FILLED,
    configuration_options,
    experiments_option,
    json_option,
    legend_option,
    out,
    say,
    show_chosen,
    shown_options,
    stored_models_option,
    weights_option,
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
from independence_bench.engine.named import experiments_of, weighed
from independence_bench.errors import WrongUse, why
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
from independence_bench.report.contents import Contents, Only, contents_json, read_contents
from independence_bench.report.encode import json_text
from independence_bench.report.judges_view import validation_view, validations_json
from independence_bench.report.report_markdown import moment, report_markdown
from independence_bench.report.scenarios_view import scenarios_blocks, scenarios_json
from independence_bench.report.svg import fold_picture, ranking_plot, scenario_map
from independence_bench.store import registry
from independence_bench.store.database import Store

STEM = "LEADERBOARD"
VERSION = "version"
WAYS = {
    "reasoning": ("reasoning efforts", compare_efforts),
    "provider": ("providers", compare_providers),
}


@click.command(name="judges")
@click.option(
    "-j",
    "--judge",
    "names",
    type=FILLED,
    multiple=True,
    metavar="NAME",
    help="Only these judges; may be repeated.",
)
@shown_options
@legend_option
@selecting(weights_option, json_option)
def judges(names: tuple[str, ...], as_json: bool, **selected: Any) -> None:
    """Compare the judges: their indices for each subject, how far they agree, which verdicts to
    read.

    NAME is a judge's label, or a part of one that fits a single judge. `aib judge -j MODEL` adds a
    judge, `aib label` a person; the embedded judge is included like any other.
    """
    with Selection(**selected).opened() as (opened, protocol):
        validated = validations(opened, protocol, names)
    if as_json:
        click.echo(validations_json(validated))
    elif validated:
        show_chosen(*(validation_view(validation) for validation in validated))
    else:
        say(
            f"no conversations of {protocol.name} are judged in {opened.shown}; run `aib judge "
            "-j MODEL`"
        )


@click.command(name="scenarios")
@shown_options
@legend_option
@selecting(judged_options, configuration_options, json_option)
def scenarios(as_json: bool, **selected: Any) -> None:
    """Show how hard each scenario is, how many conversations are at an end of its scale, and how it
    goes with the others.

    Over the ranked subjects of one configuration, for each judge. docs/reports.md says what the
    figures are.
    """
    selection = Selection(**selected)
    with selection.opened() as (opened, protocol):
        scored = configured_boards(selection, opened, protocol)
    measured = [(board, measure_board(board)) for board in scored]
    if as_json:
        click.echo(scenarios_json(measured))
    else:
        show_chosen(*(scenarios_blocks(board, analysis) for board, analysis in measured))


# --------------------------------------------------------- subjects, settings and versions compared


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
    subjects: tuple[str, ...], by: str | None, against: str | None, as_json: bool, **selected: Any
) -> None:
    """Compare two subjects, scenario by scenario: the same protocol, configuration and judge.

    By the main judge of what is stored (docs/judges.md), unless --judge or --jury says otherwise.

    Each difference has two intervals (rerun: the same test again; new scenarios: another test like
    it), and the smallest difference that such a comparison would detect.

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
    selection = Selection(**selected)
    if by == VERSION:
        versions = _versions(selection, against, subjects)
        values, views = [*map(version_values, versions)], [*map(version_view, versions)]
    else:
        with selection.opened() as (opened, protocol):
            scored = configured_boards(selection, opened, protocol)
            pairs = _by(by, scored, subjects) if by else _two(scored, *subjects)
            compared = compare_pairs(*_with_reasoning_tokens(opened, *pairs))
        values, views = [*map(paired_values, compared)], [*map(paired_view, compared)]
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
        before, after = (chosen_boards(selection, opened, version) for version in (old, new))
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


# ---------------------------------------------------------------- all of it as files


@click.command(name="generate-report")
@click.option(
    "--out",
    "folder",
    type=click.Path(path_type=Path),
    default=".",
    show_default=True,
    metavar="DIR",
    help="Where the files go; created if it is missing.",
)
@click.option(
    "--keep", is_flag=True, help="Also keep a copy, named after the time of the newest record."
)
@selecting(stored_models_option, experiments_option, judged_options, rules_option)
def generate_report(folder: Path, keep: bool, **selected: Any) -> None:
    """Write a report on everything that is stored of one protocol.

    LEADERBOARD.md (ranking, comparisons, scenarios, data health, every subject in detail), the same
    numbers in LEADERBOARD.json, and plots. Existing files of these names are overwritten. The same
    store gives the same bytes. Asks no model and changes nothing in the store.

    --models and --exp limit what is shown: ranks, intervals and the index stay those of all models
    and experiments.
    """
    selection = Selection(**selected)
    with selection.opened() as (opened, protocol):
        chosen = stored_subjects(opened, protocol, selection.models) if selection.models else []
        only = Only(
            frozenset(subject.hash for subject in chosen),
            experiments_of(protocol, selection.exp),
        )
        with opened.reading() as connection:
            records = read_examined(connection, protocol)
        scored = boards_of(selection, records, protocol)
        if selection.judge and not scored:
            called = f"{protocol.name} by a judge called {selection.judge}"
            raise WrongUse(f"no conversations of {called} are stored in {opened.shown}")
        names = names_of(opened, protocol, every=records.every)
        contents = read_contents(opened, protocol, scored, names, records, only)
    stems = [STEM]
    if keep and contents.updated is not None:
        stems.append(f"{STEM}-{datetime.fromtimestamp(contents.updated, UTC):%Y%m%dT%H%M%SZ}")
    files = {name: text for stem in stems for name, text in report_files(contents, stem).items()}
    _write(folder, files)
    for name in files:
        out().print(str(folder / name), soft_wrap=True)
    if keep and contents.updated is None:
        say("no copy was kept: no record in the store has a time to name it after")


def report_files(contents: Contents, stem: str) -> dict[str, str]:
    """The report's files, name -> text; those next to the Markdown are linked in it by name."""
    pictures = {
        f"{stem}-ranking.svg": ranking_plot(contents.main),
        f"{stem}-scenarios.svg": scenario_map(contents.complexity),
    }
    if any(row.branches and row.branches.folds for row in contents.main.ranked):
        pictures[f"{stem}-pushes.svg"] = fold_picture(contents.main)
    data = f"{stem}.json"
    return {
        f"{stem}.md": report_markdown(contents, tuple(pictures), data),
        data: contents_json(contents, moment(contents.updated)),
        **pictures,
    }


def _write(folder: Path, files: dict[str, str]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
    except (OSError, ValueError) as error:
        raise WrongUse(
            f"the report cannot be written to {folder} ({why(error)}); --out names another folder"
        ) from error
