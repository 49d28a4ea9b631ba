"""`aib gate`: what is stored now against a baseline, with an exit code for build servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import click

from independence_bench.analysis.baseline import (
    Baseline,
    baseline_of,
    check_same_test,
    has_items,
    paired_builds,
    stored_builds,
)
from independence_bench.analysis.board import Board
from independence_bench.analysis.costs import subject_costs
from independence_bench.analysis.gate import Gate, compare_builds, resolution_of
from independence_bench.analysis.held_stems import held
from independence_bench.analysis.leaderboard import boards
from independence_bench.analysis.uncertainty import INDEX
from independence_bench.api.named import find_protocol, open_results, weighed
from independence_bench.cli import calling
from independence_bench.cli.options import (
    FILLED,
    Number,
    command_line,
    configuration_options,
    json_option,
    legend_option,
    permissions,
    say,
    show,
    weights_option,
)
from independence_bench.cli.run import check_known, spec_of
from independence_bench.cli.selection import (
    Selection,
    configured_boards,
    judge_option,
    selecting,
)
from independence_bench.dataset.baseline import is_baseline, read_baseline, write_baseline
from independence_bench.engine.session import Limits, RunOptions
from independence_bench.errors import NotComplete, ProtocolError, WrongUse, why
from independence_bench.lookup import fit
from independence_bench.models.spec import PYTHON, Roster
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import Files
from independence_bench.report.encode import json_text
from independence_bench.report.format import plural
from independence_bench.report.gate_view import (
    exit_code,
    gate_values,
    gate_view,
    junit,
    resolution,
    statements,
)
from independence_bench.report.table import markdown
from independence_bench.store import registry
from independence_bench.store.database import Store, open_store

SQLITE = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is looked at, and how strictly."""

    subjects: tuple[str, ...]
    against: str | None
    # None: a character is looked at by its items, anything else by what the runs can decide
    margin: float | None
    dimensions: tuple[str, ...]
    looks: int


@click.command(name="gate")
@click.argument("subjects", nargs=-1, metavar="[SUBJECT]...")
@click.option(
    "--baseline", metavar="FILE|STORE", help="What to compare with: a file of --write, or a store."
)
@click.option(
    "--write",
    "target",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write what is stored now as a baseline: marks and identities, no texts.",
)
@click.option(
    "--against",
    type=FILLED,
    metavar="NAME",
    help="Which build of the baseline, where it has several.",
)
@click.option(
    "--max-drop",
    "margin",
    type=Number(0, 100),
    metavar="POINTS",
    help="How many points lower a score may be.  [default: what the runs can decide; of a character "
    "items decide]",
)
@click.option(
    "--dimension",
    "dimensions",
    multiple=True,
    metavar="NAME",
    help="A dimension instead of the index; may be repeated, and `index` is one too.",
)
@click.option(
    "--add-runs",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="If undecided, play N more runs and test again (both tests at 97.5%).",
)
@calling.endpoint_options
@calling.one_subject_limit_options
@click.option(
    "-y", "--yes", is_flag=True, help="With --add-runs: do not ask before it costs money."
)
@click.option(
    "--junit",
    "junit_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write the result as JUnit XML.",
)
@click.option(
    "--summary",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write the result as Markdown.",
)
@legend_option
@selecting(judge_option, configuration_options, weights_option, json_option)
def command(
    selection: Selection,
    subjects: tuple[str, ...],
    baseline: str | None,
    target: Path | None,
    against: str | None,
    margin: float | None,
    dimensions: tuple[str, ...],
    add_runs: int | None,
    roster: Roster,
    limits: Limits,
    yes: bool,
    junit_file: Path | None,
    summary: Path | None,
    as_json: bool,
) -> None:
    """Test whether what is stored now is worse than a baseline (docs/ci.md).

    SUBJECT is a label, or a part of one that fits a single subject; the default is every build of
    the baseline. The same scenarios are compared, by the judge of the baseline: of a character, at
    which push each item gave way; else the index. The gate says the smallest drop that these runs
    can decide, and decides on it.

    \b
    Exit code:
      0   pass: no item test fails that would have seen a drop, or the interval
          of the difference leaves out the drop that these runs can decide
          (--max-drop: one of so many points)
      3   fail: items give way earlier, the whole interval is below 0
          (--max-drop: below so many points), or a red line was crossed
      4   undecided with these runs; the output says how many would decide
      1   no verdict: marks are missing, an endpoint cannot be used, or no
          number of runs would decide
      2   wrong use, such as another protocol or judge, or not a baseline
    """
    if (baseline is None) == (target is None):
        raise WrongUse(
            "say either --baseline FILE, to compare with it, or --write FILE, to make one"
        )
    if baseline is None and (add_runs or dimensions or against):
        raise WrongUse(
            "--add-runs, --dimension and --against are about a comparison: say --baseline FILE"
        )
    for option, file in (("--write", target), ("--junit", junit_file), ("--summary", summary)):
        if file is not None:
            _check_replaceable(option, file)
    if target is not None:
        _write(selection, subjects, target)
        return
    asked = Asked(subjects, against, margin, dimensions, 1 if add_runs is None else 2)
    with open_store(selection.store, create=False, typed=command_line()) as opened:
        known = _baseline(baseline or "", selection, opened)
        protocol, files = _protocol(selection, known, opened)
        check_same_test(known, protocol, by_items(known, asked))
        gate = _look(known, opened, protocol, asked)
        if add_runs is not None and gate.verdict == "undecided":
            if not subjects:
                for build in gate.builds:  # which no user named: no store chooses what is run here
                    if build.row.subject.endpoint == PYTHON:
                        named = f"{build.row.label} is a Python function"
                        raise WrongUse(
                            f"{named}: name it to play it, as `aib gate NAME --add-runs`"
                        )
            options = _options(protocol, files, known, opened, roster, limits)
            if not _add_runs(gate, options, opened, add_runs, yes):
                raise NotComplete(
                    "the added runs are not complete, so it stays undecided; `aib rerun` continues"
                )
            gate = _look(known, opened, protocol, asked)
    for file, text in ((junit_file, junit(gate)), (summary, markdown(gate_view(gate)) + "\n")):
        if file is not None:
            _put(file, text)
    if as_json:
        click.echo(json_text(gate_values(gate)))
    else:
        show(gate_view(gate))
    raise SystemExit(exit_code(gate))


# ---------------------------------------------------------------- the two sides


def _check_replaceable(option: str, file: Path) -> None:
    """Raises WrongUse where writing *file* would replace what nobody can want to be replaced by it."""
    there = "a store" if _is_store(str(file)) else "a baseline" if is_baseline(file) else ""
    if there and (option, there) != ("--write", "a baseline"):
        raise WrongUse(f"{option}: {file} is {there}; name another file")
    if option == "--write" and not there and file.is_file() and file.stat().st_size:
        raise WrongUse(
            f"{option}: {file} is there already, and no baseline; name another file, or delete it"
        )


def _write(selection: Selection, subjects: Sequence[str], target: Path) -> None:
    with selection.opened() as (opened, protocol):
        board = configured_boards(selection, opened, protocol)[0]
        every = {row.subject.hash: row for row in board.rows}
        labels = {hash_: row.label for hash_, row in every.items()}
        named = [every[hash_] for hash_ in dict.fromkeys(fit(labels, name) for name in subjects)]
        rows = named or list(board.ranked) or list(board.rows)
        with opened.reading() as connection:
            items = held(opened, protocol, board.judge) if has_items(protocol) else None
            made = baseline_of(connection, board, _judge_hash(board, opened), rows, items)
            costs = subject_costs(connection, board)
    write_baseline(target, made)
    number = sum(len(build.runs) for build in made.builds)
    who = made.builds[0].label if len(made.builds) == 1 else plural(len(made.builds), "build")
    say(f"{target}: {who}, {plural(number, 'run')} of {made.protocol}, judge {made.judge}")
    if made.chosen_of > 1:
        say(
            f"it is the best of {made.chosen_of} builds here, so it may be better than it will be again: gates divide "
            f"their 5% by {made.chosen_of}; a baseline of new runs in a store of its own needs no allowance"
        )
    if left_out := [] if subjects else [row.label for row in board.incomplete if row not in rows]:
        say(f"left out because marks are missing: {', '.join(left_out)}")
    for row, build in zip(rows, made.builds, strict=True):
        dollars = costs[row.subject.hash].total if row.subject.hash in costs else None
        run_dollars = None if dollars is None else dollars / len(build.runs)
        about = f"{build.label}: " if len(made.builds) > 1 else ""
        say(about + resolution(resolution_of(made, board.protocol, build), run_dollars))


def _judge_hash(board: Board, store: Store) -> str:
    if not board.judge_hashes:
        raise NotComplete(
            f"no conversations of {board.protocol.name} are judged in {store.shown}; run `aib judge`"
        )
    return board.judge_hashes[0]


def _baseline(typed: str, selection: Selection, now: Store) -> Baseline:
    """From a file, or from what another store has of the protocol that is looked at."""
    if not _is_store(typed):
        if selection.judge or selection.variants or selection.delivery:
            raise WrongUse(
                "--judge, --variants, --delivery are about --write: a baseline names its judge and places"
            )
        return read_baseline(Path(typed))
    with open_results(typed) as opened:
        protocol, _ = find_protocol(
            selection.protocol_name or find_protocol(None, now)[0].name, opened
        )
        board = configured_boards(selection, opened, protocol)[0]
        with opened.reading() as connection:
            items = held(opened, protocol, board.judge) if has_items(protocol) else None
            return baseline_of(
                connection, board, _judge_hash(board, opened), board.ranked or board.rows, items
            )


def _is_store(typed: str) -> bool:
    if "://" in typed:
        return True
    try:
        with Path(typed).open("rb") as file:
            return file.read(len(SQLITE)) == SQLITE
    except (OSError, ValueError):
        return False


def _protocol(selection: Selection, baseline: Baseline, store: Store) -> tuple[Protocol, Files]:
    """The protocol that is named, else the one of the baseline's name that was played last."""
    name = selection.protocol_name
    if name is None:
        with store.reading() as connection:
            stored = registry.stored_protocols(connection)
        name = next((hash_ for hash_, called, _ in stored if called == baseline.protocol), None)
        if name is None:
            known = ", ".join(dict.fromkeys(called for _, called, _ in stored)) or "nothing"
            raise WrongUse(
                f"the baseline is of {baseline.protocol}, of which nothing is stored in {store.shown}; it holds {known}"
            )
    try:
        protocol, files = find_protocol(name, store)
    except ProtocolError as error:
        raise WrongUse(str(error)) from error
    return weighed(protocol, selection.weights), files


def by_items(baseline: Baseline, asked: Asked) -> bool:
    """Whether the items of a character decide, and no score."""
    return bool(baseline.item_hashes) and asked.margin is None and not asked.dimensions


def _look(baseline: Baseline, store: Store, protocol: Protocol, asked: Asked) -> Gate:
    """What is stored now against *baseline*, by the baseline's judge in its configurations."""
    same_place = [
        board
        for board in boards(store, protocol)
        if board.configurations == baseline.configurations
    ]
    where = " + ".join(map(str, baseline.configurations))
    ask = f"`aib judge -j {baseline.judge.partition('@')[0]}`"
    if not same_place:
        raise WrongUse(
            f"no conversations of {protocol.name} in {where} are stored in {store.shown}"
        )
    board = next(
        (board for board in same_place if board.judge_hashes == (baseline.judge_hash,)), None
    )
    if board is None:
        others = ", ".join(board.judge for board in same_place if board.judge)
        if not others:
            raise NotComplete(
                f"no conversations of {protocol.name} are judged in {store.shown}; run {ask}"
            )
        raise WrongUse(
            f"the baseline was marked by {baseline.judge}, what is stored by {others}: {ask} marks it, or "
            "`aib gate --write` makes a new baseline"
        )
    stems = held(store, protocol, board.judge) if has_items(protocol) else {}
    with store.reading() as connection:
        pairs = paired_builds(baseline, board, asked.subjects, asked.against)
        now = stored_builds(connection, board, [row for row, _ in pairs], stems)
        costs = {hash_: cost.total for hash_, cost in subject_costs(connection, board).items()}
    dollars = {
        row.subject.hash: None
        if (total := costs.get(row.subject.hash)) is None
        else total / len(row.runs)
        for row, _ in pairs
    }
    known = {INDEX: INDEX} | {dimension.name: dimension.name for dimension in protocol.dimensions}
    named = dict.fromkeys(
        fit(known, dimension, "dimension", f"{protocol.name} has") for dimension in asked.dimensions
    )
    crossings = {label: mine.crossings for label, mine in stems.items()}
    scores = () if by_items(baseline, asked) else tuple(named) or (INDEX,)
    return compare_builds(
        baseline, board, now, pairs, scores, asked.margin, asked.looks, dollars, crossings
    )


# ---------------------------------------------------------------- a second look


def _options(
    protocol: Protocol,
    files: Files,
    baseline: Baseline,
    store: Store,
    roster: Roster,
    limits: Limits,
) -> RunOptions:
    with store.reading() as connection:
        judge = registry.judges_to_ask(connection).get(baseline.judge_hash)
    if judge is None:
        raise WrongUse(
            f"{baseline.judge} cannot be asked: play with `aib rerun`, label, and gate without --add-runs"
        )
    return RunOptions(
        protocol=protocol,
        files=files,
        roster=roster,
        judge=judge,
        configurations=baseline.configurations,
        limits=limits,
        allow=permissions(),
    )


def _add_runs(gate: Gate, options: RunOptions, store: Store, number: int, yes: bool) -> bool:
    """Play *number* more runs of each build that is open, all within one budget; whether all of it
    is there.
    """
    left = options.limits.budget
    for build in gate.builds:
        undecided = [
            statement for statement, verdict in statements(gate, build) if verdict == "undecided"
        ]
        if not undecided:
            continue
        say(*(f"first look: {statement}" for statement in undecided))
        more = replace(
            options,
            specs=(spec_of(build.row.subject),),
            runs=max(build.row.runs) + number,
            limits=replace(options.limits, budget=left),
        )
        subject = [build.row.subject]
        work = calling.carry_out(
            more, store, not yes, partial(check_known, stored=subject), yes=yes
        )
        report = calling.to_the_end(work)
        if report is None or not report.complete:
            return False
        if left is not None:
            left -= report.budget.spent
            if left <= 0:
                raise NotComplete(
                    "the budget is spent, so other builds stay undecided; the same command continues"
                )
    return True


def _put(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8", newline="\n")
    except (OSError, ValueError) as error:
        raise WrongUse(f"{file} cannot be written ({why(error)})") from error
