"""One subject compared with every other one of its leaderboard: differences, their uncertainty, and
the scenarios that flipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat

from independence_bench.analysis.branches import BranchDifference
from independence_bench.analysis.compare_settings import differ_only_in_effort
from independence_bench.analysis.compare_subjects import (
    Comparison,
    SubjectComparison,
    Values,
    compare_pairs,
    compute_compared_values,
    list_score_keys,
)
from independence_bench.analysis.statistics.values import UNKNOWN, Interval
from independence_bench.analysis.uncertainty import Compared
from independence_bench.columns import Rounded
from independence_bench.figures import format_difference, format_number, replace_hyphens_by_minus
from independence_bench.report.compare_view import (
    describe_comparison,
    describe_thinking_effect,
    shorten_side_names,
)
from independence_bench.report.encode import Cell, encode_csv, encode_csv_cell
from independence_bench.viewer import fragments
from independence_bench.viewer.snapshot import BoardEntry, Catalog, make_scenario_slug

DECIMALS = 3  # decimals of the scores that are compared, in [0, 100]
HALF = 50  # half of a score: a subject above it held more than it gave up
SIDES = (
    "subject",
    "first",
    "second",
    "scenario",
    "score",
    "first_value",
    "second_value",
    "difference",
    "low",
    "high",
)

Numbers = tuple[Rounded | None, ...]
Texts = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class WordedIntervals:
    """95% intervals as numbers and as texts, in the unit and the order of the scores to which they
    belong; null: not known.
    """

    low: tuple[Rounded | None, ...]
    high: tuple[Rounded | None, ...]
    shown: tuple[str | None, ...]  # both ends, as text


@dataclass(frozen=True, slots=True)
class ComparedScore:
    """A score that is compared: one dimension over all scenarios (*scenario* null), or in one."""

    scenario: str | None  # id
    dimension: str | None  # name; null: the index itself


@dataclass(frozen=True, slots=True)
class Differences:
    """The differences of two subjects, or of one subject by two versions: the second minus the
    first, in the order of *compared*.
    """

    points: tuple[Rounded | None, ...]  # null: one of the two has no mark of it
    shown: tuple[str | None, ...]  # the same, as text
    # intervals of the differences over the same scenarios; null: none is known
    rerun: WordedIntervals | None
    # intervals of the index and the dimensions over new scenarios
    new_scenarios: WordedIntervals | None
    why: str | None  # the reason for missing intervals; null: none is missing, or it is not known
    # places in *compared*: one of the two is above 50 and the other below; largest first
    flipped: tuple[int, ...]
    # places of every other dimension in a scenario that both have, largest difference first
    order: tuple[int, ...]
    # places told from 0 though so many are looked at (Holm's procedure), by the same scenarios: of
    # the dimensions, and of what is compared in scenarios; the index is one question by itself
    stand: tuple[int, ...]
    stand_new_scenarios: tuple[int, ...]  # the same over new scenarios, for the dimensions


@dataclass(frozen=True, slots=True)
class ComparedSubject:
    """One model of a leaderboard, compared with another model of it."""

    subject: str  # id
    label: str
    names: tuple[str, str]  # names of the two: their labels without their common parts
    says: str  # the difference of the two indices, in words
    # effect and tokens of the higher reasoning effort; null: they differ in more than that
    thinking: str | None
    values: tuple[Rounded | None, ...]  # [0, 100], in the order of *compared*
    shown: tuple[str | None, ...]  # the same, as text
    apart: Differences
    # for items with branches: the second minus the first, each item with itself
    branches: tuple[BranchDifference, ...]


@dataclass(frozen=True, slots=True)
class ComparisonsAnswer:
    """`api/boards/<board>/compare/<subject>.json`: one model compared with each model that comes
    after it on the leaderboard.

    So each two models are in one file, and only once; in the other direction, the numbers have the
    other sign. `compare/<subject>/<other>.json` compares only these two models, which is quick on a
    leaderboard of any size.
    """

    version: str
    board: str
    subject: str  # id
    label: str
    # the index, each dimension, each dimension in each scenario
    compared: tuple[ComparedScore, ...]
    values: tuple[Rounded | None, ...]  # the first subject's
    shown: tuple[str | None, ...]  # the same, as text
    others: tuple[ComparedSubject, ...]  # in the board's order


def build_comparisons_answer(
    catalog: Catalog, entry: BoardEntry, subject: str, other: str | None = None
) -> ComparisonsAnswer:
    """Return the answer for `api/boards/<board>/compare/<subject>.json`: one model compared with
    each model that comes after it on a leaderboard. *other*: the id of the only model to compare
    with; None: all that come after it. Raise NotThere for an unknown id.
    """
    board = catalog.find_board(entry)
    row = catalog.find_row(board, subject)
    beside = (
        board.rows[board.rows.index(row) + 1 :]
        if other is None
        else [catalog.find_row(board, other)]
    )
    compared = list_score_keys(board.protocol)
    of_board = fragments.explain_missing_intervals(board)
    others = []
    for pair in compare_pairs(board, [(row, one) for one in beside]):
        why = of_board or "; ".join(pair.scores.why_no_interval) or None
        others.append(
            ComparedSubject(
                pair.second.subject.id,
                pair.second.label,
                shorten_side_names(row, pair.second),
                describe_comparison(pair),
                _describe_effort_effect_on_index(catalog, entry, pair),
                *format_side_values(compared, pair.scores.sides[1]),
                subtract_first_from_second(compared, pair.scores, why),
                pair.branches,
            )
        )
    return ComparisonsAnswer(
        catalog.version,
        entry.id,
        subject,
        row.label,
        list_compared_scores(compared),
        *format_side_values(
            compared,
            compute_compared_values(board.protocol, board.configurations, row.score, row.marks),
        ),
        tuple(others),
    )


def _describe_effort_effect_on_index(
    catalog: Catalog, entry: BoardEntry, pair: SubjectComparison
) -> str | None:
    """Say in one sentence what the higher reasoning effort did to the index of two compared models,
    with the reasoning tokens of a reply; None if they differ in more than their effort, or if one
    has no index.
    """
    first, second = pair.first, pair.second
    if not differ_only_in_effort(first.subject, second.subject):
        return None
    tokens = fragments.find_mean_reasoning_tokens(catalog, entry, (first, second))
    first, second = (
        replace(row, reasoning_tokens=tokens.get(row.subject.hash)) for row in (first, second)
    )
    return describe_thinking_effect(replace(pair, first=first, second=second)) or None


def encode_comparisons_csv(answer: ComparisonsAnswer) -> bytes:
    """Return `api/boards/<board>/compare/<subject>.csv`: a CSV table of one model compared with
    others, with a line for the index and each dimension of each other model.
    """
    head = [name for name in SIDES if name not in ("subject", "scenario")]
    over_all = [score for score in answer.compared if score.scenario is None]  # they come first
    first = encode_csv_cell(answer.label)
    lines = (
        (first, second, *line)
        for other in answer.others
        for second in [encode_csv_cell(other.label)]
        for _, *line in list_score_lines(over_all, answer.values, other.values, other.apart)
    )
    return encode_csv(head, lines, is_encoded=True)


def list_score_lines(
    compared: Sequence[ComparedScore],
    first: Sequence[float | None],
    second: Sequence[float | None],
    apart: Differences,
) -> Iterator[tuple[Cell, ...]]:
    """Yield for each score in *compared* the cells of a table of two models: the scenario (None for
    all), the score's name, both values, their difference, and the ends of its interval.

    *compared* may be only the beginning of the scores that the other arguments cover.
    """
    scenarios, names = (
        [score.scenario for score in compared],
        [score.dimension or "index" for score in compared],
    )
    ends = (
        (repeat(None), repeat(None)) if apart.rerun is None else (apart.rerun.low, apart.rerun.high)
    )
    return zip(scenarios, names, first, second, apart.points, *ends, strict=False)


def subtract_first_from_second(
    compared: Sequence[Compared], pair: Comparison, why_no_interval: str | None
) -> Differences:
    """Return the differences of two models' scores, the second minus the first, for all scores in
    *compared*, with intervals and significance. *why_no_interval*: the reason for missing
    intervals; None if none is missing.
    """
    scores = [pair.scores.get(key) for key in compared]
    points = [None if score is None else score.difference for score in scores]
    over_all = sum(scenario is None for scenario, _ in compared)  # they come first
    in_scenarios = [place for place in range(over_all, len(compared)) if points[place] is not None]
    # what is equal but for rounding is
    in_scenarios.sort(key=lambda place: -abs(round(points[place] or 0.0, 9)))
    flipped = [
        place
        for place in in_scenarios
        if (score := scores[place]) and (score.first - HALF) * (score.second - HALF) < 0
    ]
    sure = [score.apart.uncertainty if score and score.apart else UNKNOWN for score in scores]
    return Differences(
        _round_values(points),
        _format_index_and_scores(points, format_difference),
        _format_intervals([of.rerun for of in sure]),
        _format_intervals([of.new_scenarios for of in sure[:over_all]]),
        why_no_interval,
        tuple(flipped),
        tuple(place for place in in_scenarios if place not in flipped),
        tuple(place for place, score in enumerate(scores) if score and score.stands),
        tuple(place for place, score in enumerate(scores) if score and score.stands_new_scenarios),
    )


def _format_intervals(intervals: Sequence[Interval | None]) -> WordedIntervals | None:
    """Return the ends of *intervals* as rounded numbers and as texts; None if no interval is
    known.
    """
    if not any(intervals):
        return None
    low = [None if one is None else one.low for one in intervals]
    high = [None if one is None else one.high for one in intervals]
    from_, to = (
        _format_index_and_scores(low, format_difference),
        _format_index_and_scores(high, format_difference),
    )
    shown = tuple(a and f"{a} to {b}" for a, b in zip(from_, to, strict=True))
    return WordedIntervals(_round_values(low), _round_values(high), shown)


def list_compared_scores(compared: Sequence[Compared]) -> tuple[ComparedScore, ...]:
    """Return the scores in *compared* with their scenarios' ids as the viewer's page uses them."""
    return tuple(
        ComparedScore(None if scenario is None else make_scenario_slug(scenario), dimension)
        for scenario, dimension in compared
    )


def format_side_values(compared: Sequence[Compared], values: Values) -> tuple[Numbers, Texts]:
    """Return one model's values of all scores in *compared*, in that order, as rounded numbers and
    as texts; None for a score that it lacks.
    """
    in_order = [values.get(key) for key in compared]
    return _round_values(in_order), _format_index_and_scores(in_order, format_number)


def _format_index_and_scores(
    values: Sequence[float | None], formatter: Callable[[float, int], str]
) -> Texts:
    """Return *values* as texts made by *formatter*: the first, which is the index, with one
    decimal, the others with none; None stays None.
    """
    return tuple(
        None if value is None else replace_hyphens_by_minus(formatter(value, 0 if place else 1))
        for place, value in enumerate(values)
    )


def _round_values(values: Sequence[float | None]) -> Numbers:
    """Return *values* rounded to three decimals, to keep the files of the site small; None stays
    None.
    """
    return tuple(None if value is None else round(value, DECIMALS) for value in values)
