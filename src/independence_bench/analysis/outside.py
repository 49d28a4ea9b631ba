"""Does the index go together with what others measure? Boards of others against one board of ours.

A model counts once, however many subjects it is: its index is the mean of its ranked subjects',
unless the outside board names one of them by its whole label. Our error is that of the same test
again (the rerun interval): scenarios and judge are taken as they are.

The boards that are shipped are in outside.yaml: figures only, with their source, its state and our
ids of the models. A user's own are a CSV file with a header: model, value, and if known error, or
low and high of a 95 % interval. Knows no network.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite, sqrt
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.statistics.agreement import TrueCorrelation, true_rank_correlation
from independence_bench.errors import BenchError, WrongUse
from independence_bench.escape import label_text
from independence_bench.lookup import instead
from independence_bench.models.spec import ChatModel
from independence_bench.yaml_io import OneLine, Strict, file_text, read_yaml

# the first two: convergent; the last: discriminant
Expected = Literal["above 0", "below 0", "near 0"]
Verdict = Literal["as expected", "contrary", "goes together", "not decided"]
ERRORS_WIDE = 2 * 1.96  # how many standard errors a 95 % interval is wide


@dataclass(frozen=True, slots=True)
class OutsideFigure:
    """What an outside board says of one model; *error* is a standard error, None where it is not
    stated.
    """

    model: str  # our id, a whole label, or an id without its author
    value: float
    error: float | None = None


@dataclass(frozen=True, slots=True)
class OutsideBoard:
    """A board of others, or a user's own figures."""

    name: str
    figures: tuple[OutsideFigure, ...]
    measures: str
    source: str
    as_of: str | None = None
    expected: Expected | None = None  # of its correlation with the index; None: not stated


@dataclass(frozen=True, slots=True)
class MatchedModel:
    """One model on both boards; errors are standard errors, None where they are not known."""

    model: str
    subjects: tuple[str, ...]
    index: float
    index_error: float | None
    value: float
    error: float | None


@dataclass(frozen=True, slots=True)
class OutsideCorrelation:
    """One outside board against ours."""

    board: OutsideBoard
    matched: tuple[MatchedModel, ...]
    unmatched: tuple[str, ...]  # names that fit no ranked subject
    ambiguous: tuple[str, ...]  # names that fit several models: left out
    correlation: TrueCorrelation

    @property
    def errors_known(self) -> tuple[bool, bool]:
        """Ours, theirs: for every matched model."""
        return _known([model.index_error for model in self.matched]), _known(
            [model.error for model in self.matched]
        )

    @property
    def verdict(self) -> Verdict | None:
        """What the interval says of what was expected; None where there is no interval or nothing
        was expected.
        """
        interval, expected = self.correlation.interval, self.board.expected
        if interval is None or expected is None:
            return None
        if interval.holds(0.0):
            return "not decided"
        if expected == "near 0":
            return "goes together"
        return "as expected" if (interval.low > 0) == (expected == "above 0") else "contrary"


def compare_outside(board: Board, outside: Sequence[OutsideBoard]) -> list[OutsideCorrelation]:
    """Each of the *outside* boards against the ranked subjects of *board*, in their order."""
    return [_against(board, outside_board) for outside_board in outside]


def _against(board: Board, outside: OutsideBoard) -> OutsideCorrelation:
    rows: dict[str, dict[str, Row]] = defaultdict(dict)  # model -> label -> its subject
    figures: dict[str, list[OutsideFigure]] = defaultdict(list)
    unmatched: list[str] = []
    ambiguous: list[str] = []
    for figure in outside.figures:
        named = _called(board.ranked, figure.model)
        models = {_model(row.subject) for row in named}
        if len(models) == 1:
            model = models.pop()
            rows[model] |= {row.label: row for row in named}
            figures[model].append(figure)
        else:
            (ambiguous if models else unmatched).append(figure.model)
    matched = tuple(_matched(model, [*of.values()], figures[model]) for model, of in rows.items())
    ours, theirs = [match.index_error for match in matched], [match.error for match in matched]
    correlation = true_rank_correlation(
        [match.index for match in matched],
        [match.value for match in matched],
        [error for error in ours if error is not None] if _known(ours) else None,
        [error for error in theirs if error is not None] if _known(theirs) else None,
    )
    return OutsideCorrelation(outside, matched, tuple(unmatched), tuple(ambiguous), correlation)


def _called(rows: Sequence[Row], name: str) -> tuple[Row, ...]:
    """Those of the whole label, else of the model, else of its id without author; of no part of it,
    and in any case.

    A part is not enough: gpt-5 would be taken for gpt-5.4 where there is no other. A maker's own
    endpoint calls its models without an author (openai:gpt-5).
    """
    wanted = name.lower()
    without_author = wanted.rpartition("/")[2]
    ranked = [row for row in rows if row.score.index is not None]
    return (
        tuple(row for row in ranked if row.label.lower() == wanted)
        or tuple(row for row in ranked if wanted in (_model(row.subject), row.subject.name.lower()))
        or tuple(row for row in ranked if _model(row.subject).rpartition("/")[2] == wanted)
        or tuple(row for row in ranked if _model(row.subject) == without_author)
    )


def _model(subject: ChatModel) -> str:
    """The model's id in lower case, without a variant of OpenRouter's (`:free`), which is another
    way to the same.
    """
    model = subject.model.lower()
    return model.partition(":")[0] if subject.endpoint == "openrouter" else model


def _matched(model: str, rows: Sequence[Row], figures: Sequence[OutsideFigure]) -> MatchedModel:
    """The means of both sides, and their errors."""
    ordered = sorted(rows, key=lambda row: row.label)
    reruns = [row.uncertainty.index.rerun for row in ordered]
    index, index_error = _mean(
        [row.score.index or 0.0 for row in ordered],
        [None if rerun is None else rerun.width / ERRORS_WIDE for rerun in reruns],
    )
    value, error = _mean([figure.value for figure in figures], [figure.error for figure in figures])
    return MatchedModel(
        model, tuple(row.label for row in ordered), index, index_error, value, error
    )


def _mean(values: Sequence[float], errors: Sequence[float | None]) -> tuple[float, float | None]:
    """The mean and its standard error, the errors being independent; None where one of them is not
    known.
    """
    known = [error for error in errors if error is not None]
    error = (
        sqrt(sum(error_of**2 for error_of in known)) / len(known)
        if len(known) == len(errors)
        else None
    )
    return sum(values) / len(values), error


def _known(errors: Sequence[float | None]) -> bool:
    return bool(errors) and None not in errors


SHIPPED = Path(__file__).with_name("outside.yaml")
COLUMNS = ("model", "value", "error", "low", "high")  # of a user's file
MOST = 10_000  # rows
LONGEST = 300  # characters of a name
LARGEST = 1e12  # of a figure


class _Shipped(Strict):
    name: OneLine
    # of its figures; where there are NAME_low and NAME_high, they are a 95 % interval
    column: OneLine
    measures: OneLine
    expected: Expected
    source: OneLine
    as_of: OneLine
    # the figures are percent of so many cases: a binomial error
    cases: Annotated[int, Field(gt=0)] | None = None


class _File(Strict):
    boards: list[_Shipped]
    figures: str  # CSV; an empty cell: that board has no figure of that model


@cache
def shipped_boards() -> tuple[OutsideBoard, ...]:
    """Those of outside.yaml, in its order."""

    def wrong(key: str, problem: str) -> BenchError:
        return WrongUse(f"{SHIPPED.name}: {key} {problem}")

    file = read_yaml(file_text(SHIPPED), _File, wrong)
    _, rows = _rows(file.figures, SHIPPED.name)
    return tuple(
        OutsideBoard(
            board.name,
            tuple(_figure(row, board) for row in rows.values() if row[board.column]),
            *(board.measures, board.source, board.as_of, board.expected),
        )
        for board in file.boards
    )


def _figure(row: dict[str, str], board: _Shipped) -> OutsideFigure:
    value, low, high = (
        _number(row.get(board.column + end) or "0", SHIPPED.name) for end in ("", "_low", "_high")
    )
    error = (high - low) / ERRORS_WIDE or None
    if board.cases:
        # so that 0 of them is not without error
        share = (value / 100 * board.cases + 1) / (board.cases + 2)
        error = 100 * sqrt(share * (1 - share) / board.cases)
    return OutsideFigure(row["model"], value, error)


def read_outside(path: Path, expected: Expected | None = None) -> OutsideBoard:
    """A user's CSV. Raises WrongUse for a file that is none, naming the line; rows without a value
    are an error.
    """
    head, rows = _rows(file_text(path), str(path))
    if unknown := [name for name in head if name not in COLUMNS]:
        raise WrongUse(
            f"{path}: there is no column {label_text(unknown[0][:60])}; known: {', '.join(COLUMNS)}"
        )
    if missing := [name for name in COLUMNS[:2] if name not in head]:
        raise WrongUse(f"{path}: the column {missing[0]} is missing; {instead(missing[0], head)}")
    if ("low" in head) != ("high" in head) or ("error" in head and "low" in head):
        raise WrongUse(
            f"{path}: a standard error is one column, error, or two, low and high of a 95 % interval"
        )
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
            raise WrongUse(
                f"{where}: {label_text(row['model'])} is also in line {first}; keep one of them"
            )
        if error is not None and error < 0:
            raise WrongUse(f"{where}: an error is 0 or more, and low is not above high")
        figures.append(OutsideFigure(row["model"], _number(row["value"], where), error))
    return OutsideBoard(
        path.stem[:40], tuple(figures), "your own figures", str(path), expected=expected
    )


def _rows(text: str, where: str) -> tuple[list[str], dict[int, dict[str, str]]]:
    """The header and, by their lines, the rows of a CSV text, without spaces around cells; blank
    lines are none.

    Raises WrongUse where cells are missing. A row of several lines has the number of its last one.
    """
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        lines = [(reader.line_num, line) for line in reader if any(cell.strip() for cell in line)]
    except csv.Error as error:
        raise WrongUse(
            f"{where} is no CSV ({error}); commas between cells, quotes around what has commas"
        ) from error
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
