"""`aib compare`: two subjects side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import click
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from independence_bench.cli.options import (
    configuration_options,
    configurations,
    err,
    find_protocol,
    out,
    store_option,
    stored_protocol_option,
)
from independence_bench.errors import WrongUse
from independence_bench.report.called import fit
from independence_bench.report.comparisons import Comparison, compare_efforts, compare_providers
from independence_bench.report.paired import Pair, pair_rows
from independence_bench.report.rows import Board, Row, boards
from independence_bench.report.terminal import number, printed
from independence_bench.shown import label_text
from independence_bench.store.database import open_store

WAYS = {"reasoning": compare_efforts, "provider": compare_providers}
TITLES = {"reasoning": "reasoning efforts", "provider": "providers"}


@dataclass(frozen=True, slots=True)
class Compared:
    """Two rows of one board."""

    board: Board
    first: Row
    second: Row
    whole: Sequence[Pair]
    apart: Sequence[Pair]


@click.command(name="compare")
@click.argument("subjects", nargs=-1, metavar="[A] [B]")
@click.option("--by", type=click.Choice(list(WAYS)), help="Compare a model with itself under its settings.")
@click.option("--judge", metavar="NAME", help="By a judge whose label contains this.")
@stored_protocol_option
@configuration_options
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@store_option
def command(
    subjects: tuple[str, ...],
    by: str | None,
    judge: str | None,
    protocol_name: str | None,
    variants: str | None,
    modes: str | None,
    as_json: bool,
    store: str,
) -> None:
    """Compare two subjects, scenario by scenario: the same protocol, configuration and judge.

    A and B are labels, or parts of one that fit a single subject. With --by reasoning (or provider) A is a model
    and is compared with itself: the lowest effort that is complete (or what is not pinned) with each of the others;
    without A, every model that was played so.
    """
    if len(subjects) != 2 and not by:
        raise WrongUse("name two subjects (`aib leaderboard` lists them), or say --by reasoning")
    if by and len(subjects) > 1:
        raise WrongUse(f"--by {by} compares a model with itself: name one model, or none")
    with open_store(store, create=False) as opened:
        protocol, _ = find_protocol(protocol_name, opened)
        chosen = configurations(protocol, variants, modes)
        found = [board for board in boards(opened, protocol, judge) if board.configurations == chosen]
    if not found:
        where = " + ".join(map(str, chosen))
        raise WrongUse(f"nothing of {protocol.name} in {where}{f' by {judge}' if judge else ''} is stored")
    compared = _by(by, found, subjects) if by else _two(found, *subjects)
    if as_json:
        click.echo(json.dumps([_values(one) for one in compared], indent=2))
    else:
        printed(out(), *(_view(one) for one in compared))


def _two(found: Sequence[Board], a: str, b: str) -> list[Compared]:
    """The two on the first board that has both. Raises WrongUse where none has."""
    wrong: WrongUse | None = None
    fitting = []
    for board in found:
        rows = {row.subject.hash: row for row in (*board.ranked, *board.incomplete)}
        labels = {hash_: row.label for hash_, row in rows.items()}
        try:
            fitting.append((board, rows[fit(labels, a)], rows[fit(labels, b)]))
        except WrongUse as error:
            wrong = wrong or error
    if not fitting:
        assert wrong is not None  # noqa: S101 - there was a board
        raise wrong
    board, first, second = fitting[0]
    if first is second:
        raise WrongUse(f"both are {first.label}; name two subjects")
    if others := [other.judge or "none" for other, *_ in fitting[1:]]:
        err().print(f"also judged by {', '.join(others)} (--judge chooses)", soft_wrap=True)
    return [_compared(board, first, second)]


def _by(by: str, found: Sequence[Board], typed: Sequence[str]) -> list[Compared]:
    """Every pair of the settings of one model, or of every model. Raises WrongUse where nothing differs in that."""
    compared = []
    for board in found:
        rows = {row.label: row for row in (*board.ranked, *board.incomplete)}
        groups: list[Comparison] = WAYS[by](list(rows.values()), {})
        for group in groups:
            if typed and typed[0].lower() not in group.model.lower():
                continue
            base = next((one for one in group.variants if one.index is not None and one.difference is None), None)
            if base is not None:
                others = [one for one in group.variants if one.label != base.label]
                compared += [_compared(board, rows[base.label], rows[one.label]) for one in others]
    if not compared:
        of = f" of {typed[0]}" if typed else ""
        raise WrongUse(f"no two {TITLES[by]}{of} are stored that are the same otherwise, one of them complete")
    return compared


def _compared(board: Board, first: Row, second: Row) -> Compared:
    return Compared(board, first, second, *pair_rows(board.protocol, board.configurations, first, second))


def _values(one: Compared) -> Mapping[str, object]:
    def side(row: Row) -> Mapping[str, object]:
        return {"label": row.label, "index": row.score.index, "runs": row.score.runs, "thinks": row.thinks}

    def pairs(listed: Sequence[Pair]) -> list[Mapping[str, object]]:
        return [asdict(p) | {"dimension": p.dimension.name, "difference": p.difference} for p in listed]

    return {
        "protocol": one.board.protocol_name,
        "configurations": [str(configuration) for configuration in one.board.configurations],
        "judge": one.board.judge,
        "a": side(one.first),
        "b": side(one.second),
        "dimensions": pairs(one.whole),
        "scenarios": pairs(one.apart),
    }


def _view(one: Compared) -> RenderableType:
    board = one.board
    where = " + ".join(map(str, board.configurations))
    head = Text(f"\nA  {_side(one.first)}\nB  {_side(one.second)}\n", style="bold")
    head.append(
        f"{label_text(board.protocol_name)} · {where} · judge: {label_text(board.judge or 'none yet')}\n", "dim"
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("scenario", overflow="fold", ratio=1)
    table.add_column("dimension", overflow="fold", ratio=1)
    for name in ("A", "B", "B - A"):
        table.add_column(name, justify="right")
    indices = (one.first.score.index, one.second.score.index)
    table.add_row("all", "index", number(indices[0], 1), number(indices[1], 1), _minus(*indices), style="bold")
    same = [pair for pair in one.apart if abs(pair.difference) < 0.5]
    for listed in (one.whole, [pair for pair in one.apart if pair not in same]):
        for pair in listed:
            means = (f"{pair.first:.0f}", f"{pair.second:.0f}", _minus(pair.first, pair.second, 0))
            table.add_row(pair.scenario or "all", label_text(pair.dimension.title), *means)
        table.add_section()
    if same:
        table.add_row(Text(f"and {len(same)} without a difference", style="dim"))
    foot = Text(
        "Dimensions from 0 to 100, 100 being the independent end; in a scenario: the mean of its marks over runs. The "
        "largest differences first. Points of one scenario by themselves: with few runs they are mostly chance.",
        style="dim",
    )
    return Group(head, table, foot)


def _side(row: Row) -> str:
    runs = f"{row.score.runs} run{'s' if row.score.runs != 1 else ''}"
    health = row.health
    thought = f", {health.reasoned} of {health.replies} replies with reasoning" if health.reasoned else ""
    return f"{label_text(row.label)} ({runs}{thought}{'' if row.score.index is not None else ', incomplete'})"


def _minus(first: float | None, second: float | None, digits: int = 1) -> str:
    return "–" if first is None or second is None else f"{second - first:+.{digits}f}"
