"""`aib gate`: a build that is stored against a baseline, with an exit code for build servers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from independence_bench.analysis.baseline import (
    Baseline,
    baseline_of,
    build_of,
    check_same_test,
    chosen_row,
    has_items,
    is_by_items,
)
from independence_bench.analysis.board import Board
from independence_bench.analysis.costs import subject_costs
from independence_bench.analysis.gate import Gate, compare_build, resolution_of
from independence_bench.analysis.held_stems import HeldStems, held
from independence_bench.analysis.leaderboard import boards
from independence_bench.api.named import find_protocol
from independence_bench.cli import calling
from independence_bench.cli.options import (
    Number,
    command_line,
    configuration_options,
    json_option,
    permissions,
    say,
    show,
)
from independence_bench.cli.run import check_known, spec_of
from independence_bench.cli.selection import (
    Selection,
    configured_boards,
    judge_option,
    select,
    selecting,
)
from independence_bench.dataset.baseline import is_baseline, read_baseline, write_baseline
from independence_bench.engine.run import Run
from independence_bench.errors import NotComplete, ProtocolError, WrongUse, why
from independence_bench.models.spec import PYTHON
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
    statement,
)
from independence_bench.report.table import markdown
from independence_bench.store import registry
from independence_bench.store.database import Store, open_store

SQLITE = b"SQLite format 3\0"


@click.command(name="gate")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@click.argument("model", required=False, metavar="[MODEL]")
@click.option(
    "--write", is_flag=True, help="Write what is stored as the baseline FILE: scores, no texts."
)
@click.option(
    "--max-drop",
    "margin",
    type=Number(0, 100),
    metavar="POINTS",
    help="How many points lower the index may be.  [default: what the runs can decide; of a "
    "character its items decide]",
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
@selecting(judge_option, configuration_options, json_option)
def command(
    file: Path,
    model: str | None,
    write: bool,
    margin: float | None,
    add_runs: int | None,
    yes: bool,
    junit_file: Path | None,
    summary: Path | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Test whether a stored build is worse than the baseline FILE (docs/ci.md).

    `aib gate --write FILE` makes the baseline. MODEL is a label, or a part of one that fits a
    single model; you need it if the store has several. The same scenarios are compared, by the
    judge of the baseline: the push at which each item of a character gave way, else the index. The
    gate says the smallest drop that these runs can decide, and decides on it.

    \b
    Exit code:
      0   pass: no item test fails that would have seen a drop, or the interval
          of the difference leaves out the drop that these runs can decide
          (--max-drop: one of so many points)
      3   fail: items give way earlier, the whole interval is below 0
          (--max-drop: below so many points), or a red line was crossed
      4   undecided with these runs; the output says how many would decide
      1   no verdict: scores are missing, an endpoint cannot be used, or no
          number of runs would decide
      2   wrong use, such as another protocol or judge, or not a baseline
    """
    for option, target in (("--junit", junit_file), ("--summary", summary)):
        if target is not None and (is_baseline(_head(target)) or _head(target).startswith(SQLITE)):
            raise WrongUse(f"{option}: {target} is a store or a baseline; name another file")
    selection = select(asked)
    if write:
        if add_runs or margin is not None:
            raise WrongUse("--add-runs and --max-drop are about a comparison: leave --write out")
        _write(selection, file, model)
        return
    if selection.judge or selection.variants or selection.modes:
        raise WrongUse(
            "--judge, --variants and --modes are about --write: a baseline names its judge and "
            "its configurations"
        )
    baseline = read_baseline(file)
    with open_store(selection.store, create=False, typed=command_line()) as store:
        protocol, files = _protocol(selection, baseline, store)
        check_same_test(baseline, protocol, is_by_items(baseline, margin))
        look = partial(_look, baseline, store, protocol, model, margin, 2 if add_runs else 1)
        gate = look()
        if add_runs is not None and gate.verdict == "undecided":
            if model is None and gate.row.subject.endpoint == PYTHON:
                # no store chooses what is run here
                raise WrongUse(
                    f"{gate.row.label} is a Python function: name it to play it, as "
                    "`aib gate FILE NAME --add-runs`"
                )
            say(f"first look: {statement(gate)}")
            more = Run(
                protocol=(gate.board.protocol, files),
                models=(spec_of(gate.row.subject),),
                configurations=gate.board.configurations,
                runs=max(gate.row.runs) + add_runs,
                parallel=1,
                allow=permissions(),
                **asked,
            )
            _add_runs(gate, more, store, yes)
            gate = look()
    for target, text in ((junit_file, junit(gate)), (summary, markdown(gate_view(gate)) + "\n")):
        if target is not None:
            _put(target, text)
    if as_json:
        click.echo(json_text(gate_values(gate)))
    else:
        show(gate_view(gate))
    raise SystemExit(exit_code(gate))


# ---------------------------------------------------------------- the two sides


def _write(selection: Selection, file: Path, model: str | None) -> None:
    head = _head(file)
    if head and not is_baseline(head):
        raise WrongUse(
            f"--write: {file} is there already, and no baseline; name another file, or delete it"
        )
    with selection.opened() as (store, protocol):
        board = configured_boards(selection, store, protocol)[0]
        if not board.judge_hashes:
            raise NotComplete(
                f"no conversations of {protocol.name} are judged in {store.shown}; run `aib judge`"
            )
        row = chosen_row(board, board.ranked or board.rows, model)
        items = _items_of(store, board).get(row.label)
        with store.reading() as connection:
            made = baseline_of(connection, board, board.judge_hashes[0], row, items)
            costs = subject_costs(connection, board, subjects=[row.subject.hash])
    write_baseline(file, made)
    (build,) = made.builds
    runs = plural(len(build.runs), "run")
    say(f"{file}: {build.label}, {runs} of {protocol.name}, judge {made.judge.label}")
    cost = costs.get(row.subject.hash)
    dollars = None if cost is None or cost.total is None else cost.total / len(build.runs)
    say(resolution(resolution_of(made, board), dollars))


def _items_of(store: Store, board: Board) -> dict[str, HeldStems]:
    """Label -> its items, of a character."""
    protocol = board.protocol
    return dict(held(store, protocol, board.judge)) if has_items(protocol) else {}


def _protocol(selection: Selection, baseline: Baseline, store: Store) -> tuple[Protocol, Files]:
    """The protocol that is named, else the one of the baseline's name that was played last."""
    name = selection.protocol_name
    if name is None:
        with store.reading() as connection:
            stored = registry.stored_protocols(connection)
        then = baseline.protocol.name
        name = next((hash_ for hash_, called, _ in stored if called == then), None)
        if name is None:
            known = ", ".join(dict.fromkeys(called for _, called, _ in stored)) or "nothing"
            raise WrongUse(
                f"the baseline is of {then}, of which nothing is stored in {store.shown}; it holds "
                f"{known}"
            )
    try:
        return find_protocol(name, store)
    except ProtocolError as error:
        raise WrongUse(str(error)) from error


def _look(
    baseline: Baseline,
    store: Store,
    protocol: Protocol,
    model: str | None,
    margin: float | None,
    looks: int,
) -> Gate:
    """What is stored now against *baseline*, by the baseline's judge in its configurations."""
    board = _same_board(baseline, store, protocol)
    row = chosen_row(board, board.rows, model)
    items = _items_of(store, board).get(row.label)
    with store.reading() as connection:
        now = build_of(connection, board, row, items)
        cost = subject_costs(connection, board, subjects=[row.subject.hash]).get(row.subject.hash)
    dollars = None if cost is None or cost.total is None else cost.total / len(row.runs)
    crossings = items.crossings if items else ()
    return compare_build(baseline, board, row, now, margin, looks, dollars, crossings)


def _same_board(baseline: Baseline, store: Store, protocol: Protocol) -> Board:
    """Of the baseline's configurations and judge."""
    same_place = [
        board
        for board in boards(store, protocol)
        if tuple(map(str, board.configurations)) == baseline.configurations
    ]
    judge = baseline.judge
    ask = f"`aib judge -j {judge.label.partition('@')[0]}`"
    if not same_place:
        raise WrongUse(
            f"no conversations of {protocol.name} in {' + '.join(baseline.configurations)} are "
            f"stored in {store.shown}"
        )
    for board in same_place:
        if board.judge_hashes == (judge.hash,):
            return board
    others = ", ".join(board.judge for board in same_place if board.judge)
    if not others:
        raise NotComplete(
            f"no conversations of {protocol.name} are judged in {store.shown}; run {ask}"
        )
    raise WrongUse(
        f"the baseline was marked by {judge.label}, what is stored by {others}: {ask} marks it, or "
        "`aib gate --write` makes a new baseline"
    )


# ---------------------------------------------------------------- a second look


def _add_runs(gate: Gate, more: Run, store: Store, yes: bool) -> None:
    """Play *more* of the build, by the judge of the baseline. Raises NotComplete if not all of it
    could be played.
    """
    with store.reading() as connection:
        judge = registry.judges_to_ask(connection).get(gate.baseline.judge.hash)
    if judge is None:
        raise WrongUse(
            f"{gate.baseline.judge.label} cannot be asked: play with `aib rerun`, label, and gate "
            "without --add-runs"
        )
    check = partial(check_known, stored=[gate.row.subject])
    report = calling.to_the_end(
        calling.carry_out(replace(more, judge=judge), store, not yes, check, yes=yes)
    )
    if report is None or not report.complete:
        raise NotComplete(
            "the added runs are not complete, so it stays undecided; `aib rerun` continues"
        )


def _head(file: Path) -> bytes:
    """How *file* begins; nothing if it is not there."""
    try:
        with file.open("rb") as opened:
            return opened.read(1000)
    except (OSError, ValueError):
        return b""


def _put(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8", newline="\n")
    except (OSError, ValueError) as error:
        raise WrongUse(f"{file} cannot be written ({why(error)})") from error
