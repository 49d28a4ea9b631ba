"""`aib gate` as functions: compare a stored build with a baseline, and write a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from independence_bench.analysis.baseline import (
    Baseline,
    check_same_test,
    find_chosen_row,
    has_character_items,
    is_decided_by_items,
    make_baseline,
    make_baseline_build,
)
from independence_bench.analysis.board import Board
from independence_bench.analysis.gate import Gate, Resolution, compare_build, estimate_resolution
from independence_bench.analysis.held_stems import HeldStems, read_held_stems_by_label
from independence_bench.analysis.leaderboard import make_leaderboards
from independence_bench.analysis.row_costs import read_subject_costs
from independence_bench.api.answers import Answer
from independence_bench.api.named import find_shipped_or_stored_protocol
from independence_bench.api.selection import Selection, read_configured_boards
from independence_bench.dataset.baseline import is_baseline, read_baseline
from independence_bench.dataset.baseline import write_baseline as write_file
from independence_bench.errors import NotComplete, ProtocolError, WrongUse
from independence_bench.escape import escape_line
from independence_bench.lookup import normalize_names
from independence_bench.personas.sheet import QUICK_SUFFIX
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import Files
from independence_bench.report.encode import format_json
from independence_bench.report.gate_view import build_gate_values, find_exit_code
from independence_bench.store import registry
from independence_bench.store.database import Store, find_default_store, open_store


@dataclass(frozen=True, slots=True)
class GateAnswer(Answer):
    """The answer of `aib gate`: whether a build is worse than a baseline. `rows` has a row for each
    score, or for each item of a character.
    """

    gate: Gate

    @property
    def verdict(self) -> str:
        """The verdict of a gate on whether a build is worse than its baseline: the text "pass",
        "fail" or "undecided".
        """
        return self.gate.verdict

    @property
    def exit_code(self) -> int:
        """The exit code with which `aib gate` ends for this verdict on a build."""
        return find_exit_code(self.gate)

    def json(self) -> str:
        """Return the comparison of a build with its baseline as JSON text, as `aib gate --json`
        prints it.
        """
        return format_json(build_gate_values(self.gate))

    def rows(self) -> list[dict[str, Any]]:
        """Return the comparison of a build with its baseline as dictionaries: one for each item of
        a character, or, without items, one for the index, for each dimension and for each scenario.
        """
        (build,) = self.values()["builds"]
        of = {"build": build["label"], "baseline": build["before"]["label"]}
        if build["items"]:
            return [of | item for item in build["items"]["items"]]
        return [of | row for row in (*build["scores"], *build["dimensions"], *build["scenarios"])]


def gate(
    baseline: str | Path,
    model: str | None = None,
    *,
    store: str | Path | None = None,
    protocol: str | Path | None = None,
    max_drop: float | None = None,
) -> GateAnswer:
    """Test whether a stored build (a model) is worse than the baseline in the file *baseline*, and
    return the answer, as `aib gate` does. Plays nothing.

    *model* names the build if the store has several. *max_drop*: how many index points (of 100)
    lower it may be. Raises NotComplete if scores are missing, WrongUse for another protocol or
    judge than the baseline's, or if the file is not a baseline.
    """
    read, name = read_baseline(Path(baseline)), None if protocol is None else str(protocol)
    with open_store(
        str(store or find_default_store()), create=False, command_line="independence_bench.gate"
    ) as opened:
        found, _ = find_baseline_protocol(name, read, opened)
        return GateAnswer(gate_stored_build(read, opened, found, model, max_drop))


@dataclass(frozen=True, slots=True)
class WrittenBaseline:
    """The baseline that was written to a file, and the smallest drop that a test against it can
    decide.
    """

    baseline: Baseline
    power: Resolution
    run_dollars: float | None  # what a run of it costs
    crossed: bool  # whether it crosses a red line


def write_baseline(
    file: str | Path,
    model: str | None = None,
    *,
    store: str | Path | None = None,
    protocol: str | Path | None = None,
    judge: str | None = None,
    variants: str | Sequence[str] = (),
    modes: str | Sequence[str] = (),
) -> WrittenBaseline:
    """Write the stored scores of *model* into *file* as a baseline, as `aib gate --write` does, and
    return the baseline. Raises NotComplete if nothing is judged, WrongUse if *file* exists and is
    not a baseline.
    """
    return write_selected_baseline(
        Selection(
            str(store or find_default_store()),
            None if protocol is None else str(protocol),
            judge=judge,
            variants=normalize_names(variants),
            modes=normalize_names(modes),
        ),
        Path(file),
        model,
    )


def write_selected_baseline(selection: Selection, file: Path, model: str | None) -> WrittenBaseline:
    """Write the scores of *model*, from the stored results that *selection* chooses, into *file* as
    a baseline, and return the baseline. Raises NotComplete if nothing is judged, WrongUse if *file*
    exists and is not a baseline.
    """
    head = read_file_head(file)
    if head and not is_baseline(head):
        raise WrongUse(
            f"--write: {file} is there already, and no baseline; name another file, or delete it"
        )
    with selection.open_for_reading() as (store, protocol):
        board = read_configured_boards(selection, store, protocol)[0]
        if not board.judge_hashes:
            raise NotComplete(
                f"no conversations of {protocol.name} are judged in {store.shown}; run `aib judge`"
            )
        row = find_chosen_row(board, board.ranked or board.rows, model)
        items = _map_labels_to_items(store, board).get(row.label)
        with store.open_snapshot() as connection:
            cost = read_subject_costs(connection, board, subjects=[row.subject.hash]).get(
                row.subject.hash
            )
    made = make_baseline(board, board.judge_hashes[0], row, items)
    write_file(file, made)
    (build,) = made.builds
    dollars = None if cost is None or cost.total is None else cost.total / len(build.runs)
    crossed = items is not None and bool(items.crossings)
    return WrittenBaseline(made, estimate_resolution(made, board), dollars, crossed)


def read_file_head(file: Path) -> bytes:
    """Return the first 1000 bytes of *file*; empty bytes if it does not exist or cannot be read."""
    try:
        with file.open("rb") as opened:
            return opened.read(1000)
    except (OSError, ValueError):
        return b""


def _map_labels_to_items(store: Store, board: Board) -> dict[str, HeldStems]:
    """Return model's label -> the items of the character that the model played, if the leaderboard
    *board* is of a character; else {}.
    """
    protocol = board.protocol
    return (
        dict(read_held_stems_by_label(store, protocol, board.judge))
        if has_character_items(protocol)
        else {}
    )


def find_baseline_protocol(
    name: str | None, baseline: Baseline, store: Store
) -> tuple[Protocol, Files]:
    """Return the protocol called *name* with its files; None: the stored protocol with the name
    that *baseline* has, the one that was played last. Raises WrongUse if there is none.
    """
    if name is None:
        with store.open_snapshot() as connection:
            stored = registry.read_protocols(connection)
        then = baseline.protocol.name
        name = next((hash_ for hash_, called, _ in stored if called == then), None)
        if name is None:
            known = ", ".join(dict.fromkeys(called for _, called, _ in stored)) or "nothing"
            form = "with --quick" if then.endswith(QUICK_SUFFIX) else "without --quick"
            names = {called.removesuffix(QUICK_SUFFIX) for _, called, _ in stored}
            play = f"; play {form}" if then.removesuffix(QUICK_SUFFIX) in names else ""
            raise WrongUse(
                f"the baseline is of {then}, of which nothing is stored in {store.shown}; it holds "
                f"{known}{play}"
            )
    try:
        return find_shipped_or_stored_protocol(name, store)
    except ProtocolError as error:
        raise WrongUse(str(error)) from error


def gate_stored_build(
    baseline: Baseline,
    store: Store,
    protocol: Protocol,
    model: str | None,
    allowed_drop: float | None,
    planned_tests: int = 1,
) -> Gate:
    """Return the comparison of a stored build (the model *model*; None: the only one) with
    *baseline*, by the judge and in the configurations of the baseline.

    *allowed_drop*: how many index points (of 100) lower the build may be; None: what its runs can
    decide. *planned_tests*: how many times the build will be tested in all, which makes each test
    stricter. Raises WrongUse for another protocol, judge or configuration than the baseline's,
    NotComplete if scores are missing.
    """
    check_same_test(baseline, protocol, is_decided_by_items(baseline, allowed_drop))
    board = _find_board_matching_baseline(baseline, store, protocol)
    row = find_chosen_row(board, board.rows, model)
    items = _map_labels_to_items(store, board).get(row.label)
    with store.open_snapshot() as connection:
        cost = read_subject_costs(connection, board, subjects=[row.subject.hash]).get(
            row.subject.hash
        )
    now = make_baseline_build(board, row, items)
    dollars = None if cost is None or cost.total is None else cost.total / len(row.run_scores)
    crossings = items.crossings if items else ()
    if unread := [item.title for item in items.list_unread_red_lines()] if items else []:
        raise NotComplete(
            "it is not known whether a red line was crossed, because not every reply could be "
            f"judged: {', '.join(map(escape_line, unread))}; have a model judge them "
            "(`aib judge -j MODEL`), and write the baseline anew by that judge (`aib gate --write`)"
        )
    return compare_build(baseline, board, row, now, allowed_drop, planned_tests, dollars, crossings)


def _find_board_matching_baseline(baseline: Baseline, store: Store, protocol: Protocol) -> Board:
    """Return the stored leaderboard that has the configurations and the judge of *baseline*. Raises
    WrongUse if there is none, NotComplete if none of these conversations is judged.
    """
    same_place = [
        board
        for board in make_leaderboards(store, protocol)
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
        f"the baseline was scored by {judge.label}, what is stored by {others}: {ask} scores it, "
        "or `aib gate --write` makes a new baseline"
    )
