"""Boards of others, and a user's own figures: from files to values of `analysis/outside.py`.

The boards that are shipped are in outside.yaml: figures only, with their source, its state and our ids of the models.
A user's own are a CSV file with a header: model, value, and if known error, or low and high of a 95 % interval.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from functools import cache
from math import isfinite, sqrt
from pathlib import Path
from typing import Annotated

from pydantic import Field

from independence_bench.analysis.outside import ERRORS_WIDE, Expected, OutsideBoard, OutsideFigure
from independence_bench.errors import BenchError, WrongUse
from independence_bench.escape import label_text
from independence_bench.lookup import instead
from independence_bench.yaml_io import OneLine, Strict, file_text, read_yaml

SHIPPED = Path(__file__).with_name("outside.yaml")
COLUMNS = ("model", "value", "error", "low", "high")  # of a user's file
MOST = 10_000  # rows
LONGEST = 300  # characters of a name
LARGEST = 1e12  # of a figure


class _Shipped(Strict):
    name: OneLine
    column: OneLine  # of its figures; where there are NAME_low and NAME_high, they are a 95 % interval
    measures: OneLine
    expected: Expected
    source: OneLine
    as_of: OneLine
    cases: Annotated[int, Field(gt=0)] | None = None  # the figures are percent of so many cases: a binomial error


class _File(Strict):
    boards: list[_Shipped]
    figures: str  # CSV; an empty cell: that board has no figure of that model


@cache
def shipped_boards() -> tuple[OutsideBoard, ...]:
    """Those of outside.yaml, in its order."""

    def wrong(key: str, problem: str) -> BenchError:
        return WrongUse(f"{SHIPPED.name}: {key} {problem}")

    found = read_yaml(file_text(SHIPPED), _File, wrong)
    _, rows = _rows(found.figures, SHIPPED.name)
    return tuple(
        OutsideBoard(
            board.name,
            tuple(_figure(row, board) for row in rows.values() if row[board.column]),
            *(board.measures, board.source, board.as_of, board.expected),
        )
        for board in found.boards
    )


def _figure(row: dict[str, str], board: _Shipped) -> OutsideFigure:
    value, low, high = (_number(row.get(board.column + end) or "0", SHIPPED.name) for end in ("", "_low", "_high"))
    error = (high - low) / ERRORS_WIDE or None
    if board.cases:
        share = (value / 100 * board.cases + 1) / (board.cases + 2)  # so that 0 of them is not without error
        error = 100 * sqrt(share * (1 - share) / board.cases)
    return OutsideFigure(row["model"], value, error)


def read_outside(path: Path, expected: Expected | None = None) -> OutsideBoard:
    """A user's CSV. Raises WrongUse for a file that is none, naming the line; rows without a value are an error."""
    head, rows = _rows(file_text(path), str(path))
    if unknown := [name for name in head if name not in COLUMNS]:
        raise WrongUse(f"{path}: there is no column {label_text(unknown[0][:60])}; known: {', '.join(COLUMNS)}")
    if missing := [name for name in COLUMNS[:2] if name not in head]:
        raise WrongUse(f"{path}: the column {missing[0]} is missing; {instead(missing[0], head)}")
    if ("low" in head) != ("high" in head) or ("error" in head and "low" in head):
        raise WrongUse(f"{path}: a standard error is one column, error, or two, low and high of a 95 % interval")
    if not rows:
        raise WrongUse(f"{path} has no rows; write a line for each model: {','.join(head)}")
    figures = []
    lines: dict[str, int] = {}  # by model
    for number, row in rows.items():
        where = f"{path}, line {number}"
        error = None
        if row.get("error"):
            error = _number(row["error"], where)
        elif row.get("low") and row.get("high"):
            error = (_number(row["high"], where) - _number(row["low"], where)) / ERRORS_WIDE
        elif row.get("low") or row.get("high"):
            raise WrongUse(f"{where}: low and high are both given or neither")
        if not row["model"] or len(row["model"]) > LONGEST:
            raise WrongUse(f"{where}: a model's name has 1 to {LONGEST} characters")
        if (first := lines.setdefault(row["model"].lower(), number)) != number:
            raise WrongUse(f"{where}: {label_text(row['model'])} is also in line {first}; keep one of them")
        if error is not None and error < 0:
            raise WrongUse(f"{where}: an error is 0 or more, and low is not above high")
        figures.append(OutsideFigure(row["model"], _number(row["value"], where), error))
    return OutsideBoard(path.stem[:40], tuple(figures), "your own figures", str(path), expected=expected)


def _rows(text: str, where: str) -> tuple[list[str], dict[int, dict[str, str]]]:
    """The header and, by their lines, the rows of a CSV text, without spaces around cells; blank lines are none.

    Raises WrongUse where cells are missing. A row of several lines has the number of its last one.
    """
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        lines = [(reader.line_num, line) for line in reader if any(cell.strip() for cell in line)]
    except csv.Error as error:
        raise WrongUse(f"{where} is no CSV ({error}); commas between cells, quotes around what has commas") from error
    if not lines:
        raise WrongUse(f"{where} is empty; its first line is {','.join(COLUMNS[:3])}")
    if len(lines) > MOST:
        raise WrongUse(f"{where} has {len(lines):,} rows, more than {MOST:,}")
    head = [cell.strip().lower() for cell in lines[0][1]]
    if len({*head}) < len(head):
        raise WrongUse(f"{where}: two columns have the same name")
    return head, {number: _row(head, line, f"{where}, line {number}") for number, line in lines[1:]}


def _row(head: Sequence[str], line: Sequence[str], where: str) -> dict[str, str]:
    if len(line) != len(head):
        raise WrongUse(f"{where}: {len(line)} cells where the header has {len(head)}")
    return dict(zip(head, (cell.strip() for cell in line), strict=True))


def _number(cell: str, where: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        number = float("nan")
    if not isfinite(number) or abs(number) > LARGEST:
        raise WrongUse(
            f"{where}: {label_text(cell[:40])} is no number to {LARGEST:g}; write 12.5, without % or thousands"
        )
    return number
