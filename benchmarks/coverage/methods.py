"""Ways to put a 95% interval around a score, each on many draws at once. Ours is the package's; the
others compete.

A competitor sees one subject's shares of one mark, [draws, runs, scenarios], and of the board only
what it says. It answers (low, high), arrays [draws], and may leave [0, 1]: the limits are cut off
there for all of them alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, ndtr, ndtri, stdtrit

from independence_bench.analysis.statistics.dispersion import (
    Design,
    Measured,
    Variations,
    make_new_scenarios_pair_scores,
    make_new_scenarios_scores,
    make_rerun_pair_scores,
    make_rerun_scores,
    measure_score_of_subjects,
)
from independence_bench.analysis.statistics.intervals import (
    Scores,
    compute_difference_limits,
    compute_intervals,
    widen_limits,
)
from independence_bench.analysis.statistics.shared_effects import (
    JuryMarks,
    RunEffects,
    add_judge_variance,
    measure_judge_noise,
)

Floats = npt.NDArray[np.float64]
Generator = np.random.Generator
Limits = tuple[Floats, Floats]
RESAMPLES = 400
EDGE = 1e-9
Z = 1.959963984540054
QUESTIONS = ("rerun", "new_scenarios")


# ---------------------------------------------------------------- ours, as the package computes it


def measured_boards(design: Design, boards: Floats, runs_of: Sequence[int] = ()) -> list[Measured]:
    """Each of *boards* [draws, subjects, runs, dimensions, transcripts], measured as one
    leaderboard.

    *runs_of*: how many runs the first subjects have; the others have all.
    """
    draws, subjects, runs = boards.shape[:3]
    count = [*runs_of, *[runs] * (subjects - len(runs_of))]
    flat = measure_score_of_subjects(
        design, [boards[n, j, : count[j]] for n in range(draws) for j in range(subjects)]
    )
    return [_cut(flat, slice(n * subjects, (n + 1) * subjects)) for n in range(draws)]


def _cut(measured: Measured, part: slice) -> Measured:
    def of(variations: Variations) -> Variations:
        return Variations(*(getattr(variations, f.name)[part] for f in fields(Variations)))

    return Measured(
        measured.mean[part],
        measured.runs[part],
        of(measured.rerun),
        RunEffects(*(getattr(measured.run_effects, f.name)[part] for f in fields(RunEffects))),
        None if measured.new_scenarios is None else of(measured.new_scenarios),
        measured.influence[part],
        measured.trials[part],
        measured.single,
        measured.believed_rerun,
        measured.believed_new_scenarios,
        measured.believed_runs,
    )


def stacked(scores: Sequence[Scores]) -> Scores:
    """The scores of several boards as one array, [boards, subjects]."""
    arrays = map(np.array, zip(*(score.list_arrays() for score in scores), strict=True))
    return Scores(*arrays, shared=scores[0].shared, exact=scores[0].exact)


def ours(
    boards: Sequence[Measured], question: str, panels: Sequence[JuryMarks] = ()
) -> Limits | None:
    """[draws, subjects] of *boards*; None where the package shows none. *panels*: of the judges, if
    several.
    """
    find = make_rerun_scores if question == "rerun" else make_new_scenarios_scores
    found = [find(board) for board in boards]
    if any(one is None for one in found):
        return None
    least = ours(boards, "rerun", panels) if question == "new_scenarios" else None
    sure = [one for one in found if one is not None]
    if panels:
        sure = [
            add_judge_variance(one, measure_judge_noise(of, one.mean))
            for one, of in zip(sure, panels, strict=True)
        ]
    return widen_limits(compute_intervals(stacked(sure)), least)


def our_differences(
    boards: Sequence[Measured],
    question: str,
    first: Sequence[int],
    second: Sequence[int],
) -> Limits | None:
    """[draws, pairs]: of subjects *first* minus *second*; None where the package shows none."""
    find = make_rerun_pair_scores if question == "rerun" else make_new_scenarios_pair_scores
    one, other = np.array(first), np.array(second)
    found = [find(board, one, other) for board in boards]
    if any(sides is None for sides in found):
        return None
    least = our_differences(boards, "rerun", first, second) if question == "new_scenarios" else None
    sure = [sides for sides in found if sides is not None]
    return widen_limits(
        compute_difference_limits(stacked([a for a, _ in sure]), stacked([b for _, b in sure])),
        least,
    )


# ---------------------------------------------------------------- the same test again: competitors


def student_again(shares: Floats, _board: Floats, _rng: Generator) -> Limits:
    """Student's t over the means of runs."""
    return _student(shares.mean(axis=2))


def percentile_again(shares: Floats, _board: Floats, rng: Generator) -> Limits:
    """Percentile bootstrap of the means of runs."""
    return _percentile(_resampled(shares.mean(axis=2), rng).mean(axis=2))


def bca_again(shares: Floats, _board: Floats, rng: Generator) -> Limits:
    """Bias-corrected and accelerated bootstrap of the means of runs."""
    return _bca(shares.mean(axis=2), rng)


def bootstrap_t_again(shares: Floats, _board: Floats, rng: Generator) -> Limits:
    """Studentised bootstrap of the means of runs."""
    return _bootstrap_t(shares.mean(axis=2), rng)


def hierarchical_again(shares: Floats, _board: Floats, rng: Generator) -> Limits:
    """Bootstrap of runs within each scenario, apart from one another."""
    draws, runs, scenarios = shares.shape
    found = np.empty((draws, RESAMPLES))
    for n in range(draws):
        picked = rng.integers(runs, size=(RESAMPLES, runs, scenarios))
        found[n] = np.take_along_axis(shares[n][None], picked, axis=1).mean(axis=(1, 2))
    return _percentile(found)


def dirichlet_again(shares: Floats, board: Floats, _rng: Generator) -> Limits:
    """Bayesian: marks of a scenario by a Dirichlet whose prior is one mark, distributed as all on
    the board are.

    The posterior's mean and variance are exact; between the two, limits by the beta distribution
    that has both.
    """
    runs, scenarios = shares.shape[1:]
    everything = board.reshape(len(board), -1)
    centre, square = everything.mean(axis=1)[:, None], np.square(everything).mean(axis=1)[:, None]
    mean = (centre + shares.sum(axis=1)) / (1 + runs)
    variance = ((square + np.square(shares).sum(axis=1)) / (1 + runs) - mean**2) / (2 + runs)
    return _beta(mean.mean(axis=1), variance.sum(axis=1) / scenarios**2)


def pooled_again(shares: Floats, board: Floats, _rng: Generator) -> Limits:
    """Normal, with the variance of all subjects together."""
    runs, scenarios = shares.shape[1:]
    variance = board.var(axis=2, ddof=1).mean(axis=(1, 2)) / scenarios / runs
    return _around(shares.mean(axis=(1, 2)), Z * np.sqrt(variance))


# ---------------------------------------------------------------- another test like it: competitors


def student_another(shares: Floats, _board: Floats, _rng: Generator) -> Limits:
    """Student's t over the means of scenarios."""
    return _student(shares.mean(axis=1))


def percentile_another(shares: Floats, _board: Floats, rng: Generator) -> Limits:
    """Percentile bootstrap of the means of scenarios."""
    return _percentile(_resampled(shares.mean(axis=1), rng).mean(axis=2))


def bca_another(shares: Floats, _board: Floats, rng: Generator) -> Limits:
    """Bias-corrected and accelerated bootstrap of the means of scenarios."""
    return _bca(shares.mean(axis=1), rng)


def bootstrap_t_another(shares: Floats, _board: Floats, rng: Generator) -> Limits:
    """Studentised bootstrap of the means of scenarios."""
    return _bootstrap_t(shares.mean(axis=1), rng)


def hierarchical_another(shares: Floats, _board: Floats, rng: Generator) -> Limits:
    """Bootstrap of scenarios, then of runs within each."""
    draws, runs, scenarios = shares.shape
    found = np.empty((draws, RESAMPLES))
    for n in range(draws):
        which = rng.integers(scenarios, size=(RESAMPLES, 1, scenarios))
        picked = rng.integers(runs, size=(RESAMPLES, runs, scenarios))
        found[n] = shares[n][picked, which].mean(axis=(1, 2))
    return _percentile(found)


def dirichlet_another(shares: Floats, board: Floats, _rng: Generator) -> Limits:
    """Bayesian: scenarios' means by a Dirichlet process whose prior is one scenario, like all of
    the board's.
    """
    said, everything = shares.mean(axis=1), board.mean(axis=2).reshape(len(board), -1)
    number = said.shape[1]
    mean = (everything.mean(axis=1) + said.sum(axis=1)) / (1 + number)
    square = (np.square(everything).mean(axis=1) + np.square(said).sum(axis=1)) / (1 + number)
    return _beta(mean, (square - mean**2) / (2 + number))


def pooled_another(shares: Floats, board: Floats, _rng: Generator) -> Limits:
    """Normal, with the variance of all subjects together."""
    scenarios = shares.shape[2]
    variance = board.mean(axis=2).var(axis=2, ddof=1).mean(axis=1) / scenarios
    return _around(shares.mean(axis=(1, 2)), Z * np.sqrt(variance))


# ---------------------------------------------------------------- what they are made of


def _around(mean: Floats, reach: Floats) -> Limits:
    return mean - reach, mean + reach


def _student(numbers: Floats) -> Limits:
    many = numbers.shape[1]
    error = numbers.std(axis=1, ddof=1) / np.sqrt(many)
    return _around(numbers.mean(axis=1), stdtrit(many - 1, 0.975) * error)


def _resampled(numbers: Floats, rng: Generator) -> Floats:
    """[draws, RESAMPLES, many]"""
    draws, many = numbers.shape
    picked = rng.integers(many, size=(draws, RESAMPLES * many))
    return np.take_along_axis(numbers, picked, axis=1).reshape(draws, RESAMPLES, many)


def _percentile(means: Floats) -> Limits:
    low, high = np.quantile(means, (0.025, 0.975), axis=1)
    return low, high


def _bca(numbers: Floats, rng: Generator) -> Limits:
    """B. Efron, Journal of the American Statistical Association 82, 1987, 171-185; ties count
    half.
    """
    many = numbers.shape[1]
    mean = numbers.mean(axis=1)
    means = np.sort(_resampled(numbers, rng).mean(axis=2), axis=1)
    below = (means < mean[:, None] - EDGE).mean(axis=1) + (
        np.abs(means - mean[:, None]) <= EDGE
    ).mean(axis=1) / 2
    bias = ndtri(np.clip(below, 0.5 / RESAMPLES, 1 - 0.5 / RESAMPLES))
    away = (numbers - mean[:, None]) / max(many - 1, 1)  # the mean minus the one without it
    squares = np.square(away).sum(axis=1)
    acceleration = (away**3).sum(axis=1) / (6 * np.where(squares > 0, squares, 1.0) ** 1.5)
    limits = []
    for z in (-Z, Z):
        level = ndtr(bias + (bias + z) / (1 - acceleration * (bias + z)))
        at = np.clip(np.rint(level * (RESAMPLES - 1)).astype(int), 0, RESAMPLES - 1)
        limits.append(means[np.arange(len(means)), at])
    return limits[0], limits[1]


def _bootstrap_t(numbers: Floats, rng: Generator) -> Limits:
    """Resamples that do not vary at all say nothing and are left out."""
    many = numbers.shape[1]
    rerun = _resampled(numbers, rng)
    mean, error = numbers.mean(axis=1), numbers.std(axis=1, ddof=1) / np.sqrt(many)
    errors = rerun.std(axis=2, ddof=1) / np.sqrt(many)
    t = np.where(
        errors > EDGE,
        (rerun.mean(axis=2) - mean[:, None]) / np.where(errors > EDGE, errors, 1.0),
        np.nan,
    )
    t[np.isnan(t).all(axis=1)] = 0.0
    low, high = np.nanquantile(t, (0.025, 0.975), axis=1)
    return mean - high * error, mean - low * error


def _beta(mean: Floats, variance: Floats) -> Limits:
    total = mean * (1 - mean) / np.maximum(variance, EDGE) - 1
    first, second = np.maximum(mean * total, EDGE), np.maximum((1 - mean) * total, EDGE)
    return betaincinv(first, second, 0.025), betaincinv(first, second, 0.975)


@dataclass(frozen=True, slots=True)
class Competitor:
    """A method for both questions."""

    name: str
    rerun: Callable[[Floats, Floats, Generator], Limits]
    new_scenarios: Callable[[Floats, Floats, Generator], Limits]
    slow: bool = False  # resampling: tried on fewer draws

    def of(self, question: str) -> Callable[[Floats, Floats, Generator], Limits]:
        """The method for *question*."""
        return self.rerun if question == "rerun" else self.new_scenarios


COMPETITORS = (
    Competitor("Student-t", student_again, student_another),
    Competitor("percentile bootstrap", percentile_again, percentile_another, slow=True),
    Competitor("BCa", bca_again, bca_another, slow=True),
    Competitor("bootstrap-t", bootstrap_t_again, bootstrap_t_another, slow=True),
    Competitor("hierarchical bootstrap", hierarchical_again, hierarchical_another, slow=True),
    Competitor("Bayesian (Dirichlet)", dirichlet_again, dirichlet_another),
    Competitor("normal, pooled variance", pooled_again, pooled_another),
)
