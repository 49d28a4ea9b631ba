"""Does the index go together with what others measure? Boards of others against one board of ours.

A model counts once, however many subjects it is: its index is the mean of its ranked subjects', unless the outside
board names one of them by its whole label. Our error is that of the same test again (the rerun interval): scenarios
and judge are taken as they are. Knows no files and no network; `dataset/outside.py` reads both kinds of boards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.statistics.agreement import TrueCorrelation, true_rank_correlation
from independence_bench.models.spec import ChatModel

Expected = Literal["above 0", "below 0", "near 0"]  # the first two: convergent; the last: discriminant
Verdict = Literal["as expected", "contrary", "goes together", "not decided"]
ERRORS_WIDE = 2 * 1.96  # how many standard errors a 95 % interval is wide


@dataclass(frozen=True, slots=True)
class OutsideFigure:
    """What an outside board says of one model; *error* is a standard error, None where it is not stated."""

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
    expected: Expected | None = None  # of its correlation with the index; None: nobody said


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
        return _known([one.index_error for one in self.matched]), _known([one.error for one in self.matched])

    @property
    def verdict(self) -> Verdict | None:
        """What the interval says of what was expected; None where there is no interval or nothing was expected."""
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
    return [_against(board, one) for one in outside]


def _against(board: Board, outside: OutsideBoard) -> OutsideCorrelation:
    rows: dict[str, dict[str, Row]] = defaultdict(dict)  # model -> label -> its subject
    figures: dict[str, list[OutsideFigure]] = defaultdict(list)
    unmatched: list[str] = []
    ambiguous: list[str] = []
    for figure in outside.figures:
        found = _called(board.ranked, figure.model)
        models = {_model(row.subject) for row in found}
        if len(models) == 1:
            model = models.pop()
            rows[model] |= {row.label: row for row in found}
            figures[model].append(figure)
        else:
            (ambiguous if models else unmatched).append(figure.model)
    matched = tuple(_matched(model, [*of.values()], figures[model]) for model, of in rows.items())
    ours, theirs = [one.index_error for one in matched], [one.error for one in matched]
    correlation = true_rank_correlation(
        [one.index for one in matched],
        [one.value for one in matched],
        [one for one in ours if one is not None] if _known(ours) else None,
        [one for one in theirs if one is not None] if _known(theirs) else None,
    )
    return OutsideCorrelation(outside, matched, tuple(unmatched), tuple(ambiguous), correlation)


def _called(rows: Sequence[Row], name: str) -> tuple[Row, ...]:
    """Those of the whole label, else of the model, else of its id without author; of no part of it, and in any case.

    A part is not enough: gpt-5 would be taken for gpt-5.4 where there is no other. A maker's own endpoint calls its
    models without an author (openai:gpt-5).
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
    """The model's id in lower case, without a variant of OpenRouter's (`:free`), which is another way to the same."""
    model = subject.model.lower()
    return model.partition(":")[0] if subject.endpoint == "openrouter" else model


def _matched(model: str, rows: Sequence[Row], figures: Sequence[OutsideFigure]) -> MatchedModel:
    """The means of both sides, and their errors."""
    ordered = sorted(rows, key=lambda row: row.label)
    reruns = [row.uncertainty.index.rerun for row in ordered]
    index, index_error = _mean(
        [row.score.index or 0.0 for row in ordered],
        [None if one is None else one.width / ERRORS_WIDE for one in reruns],
    )
    value, error = _mean([one.value for one in figures], [one.error for one in figures])
    return MatchedModel(model, tuple(row.label for row in ordered), index, index_error, value, error)


def _mean(values: Sequence[float], errors: Sequence[float | None]) -> tuple[float, float | None]:
    """The mean and its standard error, the errors being independent; None where one of them is not known."""
    known = [error for error in errors if error is not None]
    error = sqrt(sum(one**2 for one in known)) / len(known) if len(known) == len(errors) else None
    return sum(values) / len(values), error


def _known(errors: Sequence[float | None]) -> bool:
    return bool(errors) and None not in errors
