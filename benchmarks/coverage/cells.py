"""The simulations, cell by cell: how often an interval holds the truth, its width, how often a
ranking is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from draw import (
    PLACES,
    Boards,
    Floats,
    Generator,
    Jury,
    MarkModel,
    Test,
    draw_boards,
    draw_resampled,
    one_mark,
)
from methods import (
    COMPETITORS,
    QUESTIONS,
    Limits,
    measured_boards,
    our_differences,
    ours,
)

from independence_bench.analysis.statistics.dispersion import Measured
from independence_bench.analysis.statistics.generalization import find_better_than_matrices
from independence_bench.analysis.statistics.shared_effects import measure_jury_differences

OURS = "ours"
ROUNDING = 1e-12
THIRDS = ("lowest third", "middle third", "highest third")
SLOW = 5  # competitors that resample have this part of the draws
OTHERS = 3  # runs of the others on the board, where the one in question has a single run
AT_ONCE = 25  # boards that are measured together


@dataclass(frozen=True, slots=True)
class Cell:
    """One method on many draws of one situation."""

    test: str  # a mark, or the index
    question: str
    place: str
    subjects: int
    scenarios: int
    runs: int
    method: str
    draws: int
    coverage: float  # of the draws, those whose interval holds the truth
    width: float  # mean, of a score in [0, 1]
    oracle: float  # width of the central 95% of (estimate - truth)
    judges: int = 0  # who mark; 0: the marks are taken as they are
    lacking: float = 0.0  # what part of the last judge's marks is missing

    @property
    def ratio(self) -> float:
        """How much wider than needed by somebody who knows the errors' distribution; NaN where
        there is no error.
        """
        return self.width / self.oracle if self.oracle > ROUNDING else np.nan


@dataclass(frozen=True, slots=True)
class Family:
    """Rankings of many boards."""

    question: str
    place: str  # of those that are equal
    subjects: int
    equal: str  # all, or half
    runs: int
    draws: int
    left_out: float  # of the boards, those whose best subject may not be first
    rows_wrong: float  # of the rows, those with wrong possible ranks
    may_be_first: float  # of the rows

    @property
    def error(self) -> float:
        """The larger of the two."""
        return max(self.left_out, self.rows_wrong)


def covered(limits: Limits, truth: Floats) -> tuple[Floats, Floats]:
    """(shares of draws that hold *truth*, mean widths), over the first axis, limits cut off at 0
    and 1.
    """
    low, high = np.clip(limits[0], 0, 1), np.clip(limits[1], 0, 1)
    inside = (low <= truth + ROUNDING) & (truth <= high + ROUNDING)
    return inside.mean(axis=0), (high - low).mean(axis=0)


def central(errors: Floats) -> Floats:
    """The width of the central 95% of *errors*, over the first axis."""
    low, high = np.quantile(errors, (0.025, 0.975), axis=0)
    return np.asarray(high - low)


def means_of(boards: Sequence[Measured]) -> Floats:
    """[draws, subjects]"""
    return np.array([board.mean for board in boards])


def of_places(test: Test, rng: Generator, draws: int, subjects: int, runs: int) -> Iterator[Cell]:
    """Ours, of subjects at each place on boards of so many; alone, each place has boards of its
    own.
    """
    if subjects >= len(PLACES):
        played = draw_boards(
            test, rng, draws, subjects, OTHERS if runs == 1 else runs, tuple(PLACES)
        )
        yield from _ours(test, played, list(PLACES), runs)
        return
    for place in PLACES:
        yield from _ours(
            test, draw_boards(test, rng, draws, subjects, runs, (place,)), [place], runs
        )


def _ours(test: Test, played: Boards, places: Sequence[str], runs: int) -> Iterator[Cell]:
    draws, subjects = played.rerun.shape
    few = [runs] * len(places) if runs < played.shares.shape[2] else []
    boards = measured_boards(test.design, played.shares, few)
    mean = means_of(boards)
    for question in QUESTIONS:
        limits = ours(boards, question)
        if limits is None:
            continue
        truth = played.truth(question)
        coverage, width = covered(limits, truth)
        oracle = central(mean - truth)
        for n, place in enumerate(places):
            at = (place, subjects, test.design.weights.shape[1], runs, OURS, draws)
            yield Cell(
                test.name, question, *at, float(coverage[n]), float(width[n]), float(oracle[n])
            )


def contest(test: Test, rng: Generator, draws: int, subjects: int, runs: int) -> Iterator[Cell]:
    """Ours and every competitor on the same boards."""
    played = draw_boards(test, rng, draws, subjects, runs, tuple(PLACES))
    yield from _ours(test, played, list(PLACES), runs)
    board = played.shares[..., 0, :]
    for question in QUESTIONS:
        for n, place in enumerate(PLACES):
            truth, mean = played.truth(question)[:, n], board[:, n].mean(axis=(1, 2))
            oracle = float(central(mean - truth))
            for one in COMPETITORS:
                some = draws // SLOW if one.slow else draws
                limits = one.of(question)(board[:some, n], board[:some], rng)
                coverage, width = covered(limits, truth[:some])
                at = (place, subjects, board.shape[-1], runs, one.name, some)
                yield Cell(test.name, question, *at, float(coverage), float(width), oracle)


def index_by_runs(
    test: Test, rng: Generator, draws: int, subjects: int, runs: int
) -> Iterator[Cell]:
    """What is usually put around an index: methods that see a subject's indices of runs and nothing
    else.
    """
    played = draw_boards(test, rng, draws, subjects, runs, tuple(PLACES))
    indices = np.einsum("dk,njrdk->njr", test.design.weights, played.shares)
    for n, place in enumerate(PLACES):
        oracle = float(central(indices[:, n].mean(axis=1) - played.rerun[:, n]))
        for one in COMPETITORS[:4]:
            limits = one.rerun(indices[:, n, :, None], indices[..., None], rng)
            coverage, width = covered(limits, played.rerun[:, n])
            at = (place, subjects, test.design.weights.shape[1], runs, one.name, draws)
            yield Cell("index", "rerun", *at, float(coverage), float(width), oracle)


def resampled(
    test: Test, distributions: Floats, rng: Generator, draws: int, runs: int
) -> Iterator[Cell]:
    """The published subjects play again by their own marks: means over thirds of them, by their
    true index.
    """
    played = draw_resampled(test, distributions, rng, draws, runs)
    boards = measured_boards(test.design, played.shares)
    limits = ours(boards, "rerun")
    indices = np.einsum("dk,njrdk->njr", test.design.weights, played.shares)
    oracle = central(means_of(boards) - played.rerun)
    order = np.argsort(played.rerun[0])
    by_method = [(OURS, limits)] + [
        (
            one.name,
            tuple(
                np.array(
                    [one.rerun(indices[:, j, :, None], indices, rng) for j in order]
                ).transpose(1, 2, 0)
            ),
        )
        for one in (COMPETITORS[0], COMPETITORS[1])
    ]
    for name, found in by_method:
        if found is None:
            continue
        where = np.argsort(order) if name != OURS else np.arange(len(order))
        coverage, width = covered((found[0][:, where], found[1][:, where]), played.rerun)
        for place, third in zip(THIRDS, np.array_split(order, 3), strict=True):
            at = (place, len(order), test.design.weights.shape[1], runs, name, draws)
            yield Cell(
                "published subjects",
                "rerun",
                *at,
                float(coverage[third].mean()),
                float(width[third].mean()),
                float(oracle[third].mean()),
            )


def of_pairs(test: Test, rng: Generator, draws: int, subjects: int, runs: int) -> Iterator[Cell]:
    """Differences of two subjects of the index, by the package's paired dispersions."""
    played = draw_boards(test, rng, draws, subjects, runs, tuple(PLACES))
    boards = measured_boards(test.design, played.shares)
    names = ["low - middle", "middle - ceiling", "low - ceiling"]
    first, second = [0, 1, 0], [1, 2, 2]
    if subjects > len(PLACES) + 1:
        names, first, second = [*names, "anybody - anybody"], [*first, 3], [*second, 4]
    mean = means_of(boards)
    for question in QUESTIONS:
        limits = our_differences(boards, question, first, second)
        if limits is None:
            continue
        truth = played.truth(question)[:, first] - played.truth(question)[:, second]
        inside = ((limits[0] <= truth + ROUNDING) & (truth <= limits[1] + ROUNDING)).mean(axis=0)
        width, oracle = (
            (limits[1] - limits[0]).mean(axis=0),
            central(mean[:, first] - mean[:, second] - truth),
        )
        for n, name in enumerate(names):
            at = (name, subjects, test.design.weights.shape[1], runs, OURS, draws)
            yield Cell(
                "difference", question, *at, float(inside[n]), float(width[n]), float(oracle[n])
            )


def of_rankings(
    test: Test, rng: Generator, draws: int, subjects: int, runs: int, place: str, equal: str
) -> Iterator[Family]:
    """How often a ranking of the index says something that is false."""
    for question in QUESTIONS:
        same = subjects if equal == "all" else subjects // 2
        played = draw_boards(
            test, rng, draws, subjects, runs, (place,), equal=same, equal_in=question
        )
        found = []
        for start in range(0, draws, AT_ONCE):
            boards = measured_boards(test.design, played.shares[start : start + AT_ONCE])
            found += map(
                partial(wrong_ranks, question=question),
                boards,
                played.truth(question)[start : start + AT_ONCE],
            )
        wrong = np.mean(found, axis=0).tolist()
        yield Family(question, place, subjects, equal, runs, draws, *wrong)


def wrong_ranks(board: Measured, truth: Floats, question: str) -> tuple[bool, float, float]:
    """Of one ranking by its *truth*: whether the best subject is not among those that may be first,
    the share of rows with wrong possible ranks, and the share that may be first.

    Of equal ones each is held to all ranks that it may have among them.
    """
    number, asked = len(truth), QUESTIONS.index(question)
    if question == "rerun":
        board = replace(board, new_scenarios=None)
    share = 0.05 / max(number - 1, 1)
    one_sided, two_sided = (
        find_better_than_matrices(board, None, part)[asked] for part in (2 * share, share)
    )
    if one_sided is None or two_sided is None:  # nothing is said
        return False, 0.0, 1.0
    higher = truth[:, None] - truth[None, :] > 1e-9
    wrong = [(two_sided.sum(axis=axis) > higher.sum(axis=axis)) for axis in (0, 1)]
    first = ~one_sided.any(axis=0)
    best = int(np.argmin(higher.sum(axis=0)))
    return not first[best], float((wrong[0] | wrong[1]).mean()), float(first.mean())


def of_judges(
    test: Test,
    rng: Generator,
    draws: int,
    subjects: int,
    runs: int,
    jury: Jury,
    lacking: float = 0.0,
) -> Iterator[Cell]:
    """Intervals for the score under the mean of all judges that there could be.

    *lacking*: what part of its transcripts the last judge has not marked, at random.
    """
    played = draw_boards(test, rng, draws, subjects, runs, tuple(PLACES), jury=jury)
    assert played.by_judge is not None
    marks = played.by_judge
    if lacking:
        none = rng.random((*marks.shape[1:4], 1, marks.shape[-1])) < lacking
        marks[-1] = np.where(none, np.nan, marks[-1])
    boards = measured_boards(test.design, np.nanmean(marks, axis=0))
    panels = [
        measure_jury_differences(test.design.weights, list(np.moveaxis(marks[:, n], 0, 1)))
        for n in range(draws)
    ]
    mean = means_of(boards)
    for question in QUESTIONS:
        limits = ours(boards, question, panels if jury.judges > 1 else ())
        if limits is None:
            continue
        truth = played.truth(question)
        coverage, width = covered(limits, truth)
        oracle = central(mean - truth)
        for n, place in enumerate(PLACES):
            at = (place, subjects, test.design.weights.shape[1], runs, OURS, draws)
            found = (float(coverage[n]), float(width[n]), float(oracle[n]))
            yield Cell("index", question, *at, *found, judges=jury.judges, lacking=lacking)


def marks_of(
    models: dict[str, MarkModel], names: Sequence[str], scenarios: Sequence[int]
) -> Iterator[Test]:
    """A test of each mark with each number of scenarios."""
    for name in names:
        for number in scenarios:
            yield one_mark(models[name], number)
