"""The uncertainty of a leaderboard's scores: from their marks to intervals and possible ranks
(docs/reading-results.md).

Pure. Knows a protocol and marks; knows nothing of judges' names, stores or formats. It answers two
questions:

    rerun          the same test again: the score over very many runs of these scenarios
    new_scenarios  another test like it: and over very many scenarios of the same kind, too

If no method was found to hold there is no interval, and a sentence says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt

import numpy as np

from independence_bench.analysis.statistics.dispersion import (
    Design,
    Measured,
    make_new_scenarios_scores,
    make_rerun_scores,
    measure_score_of_subjects,
)
from independence_bench.analysis.statistics.generalization import (
    Answers,
    estimate_rerun_new_scenarios_limits,
    estimate_score_differences_per_pair,
    estimate_standings,
    find_corrected_better_than_matrices,
)
from independence_bench.analysis.statistics.intervals import Limits
from independence_bench.analysis.statistics.shared_effects import (
    BELIEVED_SUBJECTS,
    MOST_RATIO,
    NOTABLE,
    JudgeNoise,
    RunEffects,
    SessionEffects,
    measure_judge_noise,
    measure_jury_differences,
)
from independence_bench.analysis.statistics.values import (
    Bools,
    Floats,
    Interval,
    Numbers,
    PairDifferences,
    RowUncertainty,
    ScoreDifference,
    ScoreDifferences,
    Uncertainty,
)
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.scoring import RunMarks, Slot, list_counted_marks

INDEX = "index"  # next to the names of dimensions
PLAIN = "index without sessions"
# a scenario's id, a dimension's name; None: over all of them
Compared = tuple[str | None, str | None]
# One scenario after the other looks as far into the tails as a ranking, with a few runs of one
# conversation each: so many degrees are taken off there, also by measurement.
SCENARIO_DEGREES = -4
# Stems often have a single run, which shows nothing of the effects on whole runs. So some
# of it is believed beforehand, as a dispersion: what a standard deviation of a fifth of that of one
# reply's latent variable does to an index in the middle. By measurement.
BELIEVED_RUNS = 0.012
# to see how much runs vary; with fewer, as in a dimension or in one stem, more is believed instead
ENOUGH_STEMS = 12


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """One score of all subjects, with its variation and the judges' noise."""

    measured: Measured
    noise: JudgeNoise | None
    unit: float  # what the whole scale is in the score's unit: 100 for the index, 1 for a dimension


@dataclass(frozen=True, slots=True)
class SessionAllowance:
    """The allowance in a leaderboard's intervals for sessions, because the spread between the runs
    of one session does not show what shifts all of them.
    """

    one: int  # subjects that were played in one session
    of: int
    # standard deviation of a subject's index between sessions, root mean square over the subjects
    points: float
    published: int  # subjects that this was estimated from beforehand
    own: int  # subjects of this board that it was estimated from, too
    # mean width of the rerun intervals of the index, in points; None: there are none
    width: float | None = None
    width_without: float | None = None  # the same, were nothing allowed for

    def __str__(self) -> str:
        """Return a sentence that says how many points a leaderboard's intervals allow for
        differences between sessions.
        """
        alone = "the model" if self.of == 1 else "every model"
        who = f"{alone} was" if self.one in (0, self.of) else f"{self.one} of {self.of} models were"
        who += " played in one session" if self.one else " played in several sessions"
        own = f" and {self.own} here" if self.own else ""
        without = (
            ""
            if self.width is None or self.width_without is None
            else f"; intervals for the same scenarios are {self.width:.1f} points wide on average, "
            f"without that {self.width_without:.1f}"
        )
        return (
            f"{who}: intervals allow for {self.points:.1f} points between sessions, estimated from "
            f"{self.published} published models{own}{without}"
        )


@dataclass(frozen=True, eq=False)
class BoardUncertainty:
    """The scores of all complete models of one leaderboard, measured together: the variation of one
    model informs the others.
    """

    protocol: Protocol
    configurations: Sequence[Configuration]
    shares: Sequence[
        Floats
    ]  # of each subject, [runs, dimensions, transcripts], as of `_collect_mark_shares`
    measures: Mapping[str, Measure]  # INDEX and every dimension; empty where there are no subjects
    # the number whose noise is included; 1: nothing is known of the marks that another would give
    judges: int

    def list_row_uncertainties(
        self, lowest_indices: Sequence[float] | None = None
    ) -> list[RowUncertainty]:
        """Return the 95% intervals and possible ranks of each model of the leaderboard, in the
        order in which the models were measured; [] without models.

        *lowest_indices*: each model's index if its lost replies had got the worst score.
        """
        if not self.measures:
            return []
        index = self.measures[INDEX]
        asked = {name: (score.measured, score.noise) for name, score in self.measures.items()}
        if self._session_effects is not None:
            asked[PLAIN] = replace(index.measured, sittings=None), index.noise
        by_score = {
            name: self._convert_limits(name, limits)
            for name, limits in zip(
                asked, estimate_rerun_new_scenarios_limits(list(asked.values())), strict=True
            )
        }
        of_index, plain = by_score.pop(INDEX), by_score.pop(PLAIN, None)
        lowest = None if lowest_indices is None else [one / index.unit for one in lowest_indices]
        rerun, new_scenarios = estimate_standings(index.measured, index.noise, lowest)
        return [
            RowUncertainty(
                of_subject,
                {name: of[n] for name, of in by_score.items()},
                rerun[n] if rerun else None,
                new_scenarios[n] if new_scenarios else None,
                plain[n] if plain else None,
            )
            for n, of_subject in enumerate(of_index)
        ]

    def _convert_limits(
        self, score_name: str, limits: tuple[Limits | None, Limits | None]
    ) -> list[Uncertainty]:
        """Return each model's 95% intervals for the same scenarios and for new scenarios of the
        score *score_name*, in the score's unit. *limits* has low and high on the scale [0, 1], or
        None, for each of the two.
        """
        score = self.measures[INDEX if score_name == PLAIN else score_name]
        both = (
            _make_intervals(of, score.unit) if of else [None] * len(self.shares) for of in limits
        )
        return [Uncertainty(*ends) for ends in zip(*both, strict=True)]

    def estimate_difference(self, score: str, first: int, second: int) -> ScoreDifference:
        """Return the difference of a *score* between two models of the leaderboard, given by their
        numbers: the first minus the second, in the score's unit, with intervals. Raises KeyError
        for a *score* that is neither INDEX nor a dimension.
        """
        of, one, other = self.measures[score], np.array([first]), np.array([second])
        (both,) = estimate_score_differences_per_pair([(of.measured, of.noise, 0.0)], one, other)
        return _make_score_differences(of, both, one, other)[0]

    def check_significance_among_all(
        self, better: int, worse: int
    ) -> tuple[bool | None, bool | None]:
        """Return whether the index of model number *better* is significantly higher than that of
        model number *worse*, corrected for comparing each model with all others: once for the same
        scenarios (rerun) and once for new scenarios. None if that is not known.
        """
        rerun, new_scenarios = (
            None if told is None else bool(told[better, worse])
            for told in self._better_than_matrices
        )
        return rerun, new_scenarios

    @cached_property
    def _better_than_matrices(self) -> tuple[Bools | None, Bools | None]:
        """Two matrices, for the same scenarios and for new scenarios: [i, j] is True if the index
        of model i is significantly higher than that of model j, corrected for comparing each model
        with all others. None instead of a matrix if that is not known.
        """
        index = self.measures[INDEX]
        return find_corrected_better_than_matrices(index.measured, index.noise)

    @cached_property
    def compared_measures(self) -> Mapping[Compared, Measure]:
        """Every score in which models are compared, measured for all models, by (item id or None,
        dimension or None): the index, each dimension, and each dimension in each item that has
        scores of it. A dimension in an item is measured by itself.
        """
        compared: dict[Compared, Measure] = {
            (None, n if n != INDEX else None): of for n, of in self.measures.items()
        }
        items = [item.id for _ in self.configurations for item in self.protocol.items]
        rows = {dimension.name: row for row, dimension in enumerate(self.protocol.dimensions)}
        for dimension, item, *_ in list_counted_marks(self.protocol) if self.shares else ():
            if (item.id, dimension.name) not in compared:
                columns = [place for place, name in enumerate(items) if name == item.id]
                equal, same = (
                    np.full((1, len(columns)), 1 / len(columns)),
                    np.zeros(len(columns), dtype=np.intp),
                )
                design = Design(equal, same, compute_believed_run_dispersion(self.protocol, 1))
                row = rows[dimension.name]
                measured = measure_score_of_subjects(
                    design, [share[:, row : row + 1, columns] for share in self.shares]
                )
                compared[item.id, dimension.name] = Measure(measured, None, 1.0)
        return compared

    def estimate_differences_per_pair(
        self,
        first_models: Sequence[int],
        second_models: Sequence[int],
    ) -> dict[Compared, ScoreDifferences]:
        """Return the differences between pairs of models, the first minus the second, in the index,
        in each dimension, and in each dimension of each item; in points of 100, with intervals.
        *first_models* and *second_models* are the models' numbers.
        """
        one, other = (np.array(numbers, dtype=np.intp) for numbers in (first_models, second_models))
        # in the order of what is compared
        degrees = (
            0.0 if scenario is None else SCENARIO_DEGREES for scenario, _ in self.compared_measures
        )
        every = zip(self.compared_measures.values(), degrees, strict=True)
        asked = [(of.measured, of.noise, more) for of, more in every]
        answers = estimate_score_differences_per_pair(asked, one, other)
        points = [replace(measure, unit=100.0) for measure in self.compared_measures.values()]
        each = [
            _make_score_differences(of, both, one, other)
            for of, both in zip(points, answers, strict=True)
        ]
        return dict(zip(self.compared_measures, each, strict=True))

    def explain_no_intervals(self) -> tuple[str, ...]:
        """Return why the leaderboard has no interval for the same scenarios or for new scenarios, a
        sentence each; () if it has both, or no models.
        """
        if not self.measures:
            return ()
        reasons = []
        index = self.measures[INDEX].measured
        if make_rerun_scores(index) is None:
            reasons.append(
                "no 95% CI (same scenarios): no model has two runs, so their spread is unknown"
            )
        if index.run_effects.is_beyond_validated_range:
            reasons.append(
                "no 95% CI (same scenarios): whole runs are shifted, their spread is "
                f"{index.run_effects.ratio:.1f} times "
                f"that of independent runs, and above {MOST_RATIO:g} no interval was validated"
            )
        if make_new_scenarios_scores(index) is None:
            alone = [
                dimension.title.lower()
                for dimension in self.protocol.dimensions
                if dimension.weight and self.measures[dimension.name].measured.new_scenarios is None
            ]
            titles, number = " and ".join(alone), "is" if len(alone) == 1 else "are"
            reasons.append(
                f"no 95% CI (new scenarios): {titles} {number} scored in a single scenario, which "
                "does not show how much scenarios vary"
            )
        return tuple(reasons)

    def find_run_effects(self) -> RunEffects | None:
        """Return how much whole runs are shifted together in the leaderboard's index; None if no
        model has two runs that vary.
        """
        effects = self.measures[INDEX].measured.run_effects if self.measures else None
        return None if effects is None or effects.ratio is None else effects

    def describe_run_independence(self) -> tuple[str, ...]:
        """Return a tuple of one sentence that says whether the conversations of one run are
        independent on this leaderboard; () if the leaderboard has no intervals for the same
        scenarios.
        """
        if not self.measures or make_rerun_scores(self.measures[INDEX].measured) is None:
            return ()
        effects = self.find_run_effects()
        if effects is None or effects.ratio is None or effects.p is None:
            return ("these runs do not show whether the conversations of one run are independent",)
        return (_describe_run_spread(effects, effects.ratio, effects.p),)

    @property
    def _session_effects(self) -> SessionEffects | None:
        """How much the leaderboard's index varies between sessions (sets of runs played close
        together); None if no model's sessions are known.
        """
        sittings = self.measures[INDEX].measured.sittings if self.measures else None
        return sittings if sittings is not None and np.isfinite(sittings.number).any() else None

    def measure_session_allowance(self) -> SessionAllowance | None:
        """Return how much the intervals of the leaderboard's index are widened for variation
        between sessions; None if no model's sessions are known.
        """
        effects, index = self._session_effects, self.measures.get(INDEX)
        if effects is None or index is None:
            return None
        measured = index.measured
        known = np.isfinite(effects.number)
        with_it, without = (
            _average_width(
                estimate_rerun_new_scenarios_limits([(of, index.noise)])[0][0], index.unit
            )
            for of in (measured, replace(measured, sittings=None))
        )
        return SessionAllowance(
            int(np.count_nonzero(effects.number == 1)),
            len(known),
            index.unit
            * sqrt(float(effects.compute_score_variances(measured.rerun.room)[known].mean())),
            BELIEVED_SUBJECTS,
            int(np.count_nonzero(known & (effects.number > 1))),
            with_it,
            without,
        )


def _average_width(limits: Limits | None, unit: float) -> float | None:
    """Return the mean width of the intervals between *limits* (low and high on the scale [0, 1]),
    in a *unit* that is the whole scale's length; None without limits.
    """
    return None if limits is None else float((limits[1] - limits[0]).mean()) * unit


def _describe_run_spread(effects: RunEffects, ratio: float, p: float) -> str:
    """Return a sentence that compares the spread between runs with that of runs whose conversations
    are independent. *ratio* is the ratio of the two variances, *p* its p-value.
    """
    subjects = int(np.count_nonzero(effects.weight))
    number = f"{subjects} model{'s' if subjects > 1 else ''}"
    sentence = (
        f"the spread between runs is {ratio:.2f} times that of independent runs ({number}, p "
        f"{_format_p(p)})"
    )
    wider = sqrt(1 + effects.excess)
    if p < NOTABLE:
        sentence += ": something shifts whole runs, such as the day or the provider"
    elif ratio > 1:
        sentence += ", which chance can explain"
    if f"{wider:.2f}" != "1.00" and not effects.is_beyond_validated_range:
        sentence += (
            "; the intervals allow for it all the same: those for the same scenarios are "
            f"{wider:.2f} times as wide"
        )
    return sentence


def _format_p(p: float) -> str:
    """Return the p-value *p* as text, such as "= 0.123", or "< 0.001" if it is smaller."""
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def measure_board(
    protocol: Protocol,
    configurations: Sequence[Configuration],
    subjects: Sequence[RunMarks],
    by_judge: Sequence[Sequence[RunMarks]] = (),
    sittings: Sequence[Sequence[int]] | None = None,
) -> BoardUncertainty:
    """Return the scores of the leaderboard's models and how much they vary, over all
    *configurations* together. *subjects* has each model's scores by judges, which must be complete
    in every run.

    *by_judge*: for each judge of a jury the scores of the same models, some of which may be
    missing. *sittings*: for each model the session number of each of its runs; None if not known.
    """
    measures: dict[str, Measure] = {}
    slots = [(place, item.id) for place in configurations for item in protocol.items]
    runs = [list(marks) for marks in subjects]
    shares = _collect_mark_shares(protocol, slots, subjects, runs)
    if subjects:
        each = [_collect_mark_shares(protocol, slots, mine, runs) for mine in by_judge]
        of_judges = [np.array(of_subject) for of_subject in zip(*each, strict=True)]
        for name, design in make_score_designs(protocol, configurations).items():
            # a mark that does not count for this score may be missing
            counting = [np.where(design.weights, own, 0.0) for own in shares]
            measured = measure_score_of_subjects(design, counting, sittings)
            noise = (
                measure_judge_noise(
                    measure_jury_differences(design.weights, of_judges), measured.mean
                )
                if by_judge
                else None
            )
            measures[name] = Measure(measured, noise, unit=100.0 if name == INDEX else 1.0)
    return BoardUncertainty(protocol, configurations, shares, measures, max(len(by_judge), 1))


def _make_score_differences(
    score: Measure, both: Answers, one: Numbers, other: Numbers
) -> ScoreDifferences:
    """Return the differences of one score between pairs of models, with intervals, in the score's
    unit. *one* and *other* are the numbers of the first and second models; *both* has the intervals
    for the same scenarios and for new ones on the scale [0, 1].
    """
    reach = score.unit  # no two scores are farther apart

    def scale_answer(answer: PairDifferences | None) -> PairDifferences | None:
        """Return the intervals and minimum detectable differences of *answer* in the score's unit,
        with its p-values; None if *answer* is None.
        """
        if answer is None:
            return None
        # no -0.0
        low, high = (np.clip(limit * score.unit + 0.0, -reach, reach) for limit in answer.limits)
        return PairDifferences((low, high), answer.seen * score.unit, answer.p)

    mean = score.measured.mean
    return ScoreDifferences((mean[one] - mean[other]) * score.unit, *map(scale_answer, both))


def make_score_designs(
    protocol: Protocol, configurations: Sequence[Configuration]
) -> dict[str, Design]:
    """Return for the index and for each dimension the weights with which the judges' scores of one
    run's conversations, in order, make up that score.
    """
    number = len(protocol.items)
    rows = {dimension.name: row for row, dimension in enumerate(protocol.dimensions)}
    columns = {item.id: column for column, item in enumerate(protocol.items)}
    inside = np.zeros((len(rows), number))
    for dimension, item, mark, span, planned in list_counted_marks(protocol):
        inside[rows[dimension.name], columns[item.id]] += (mark.high - mark.low) / span / planned
    every = np.tile(inside, len(configurations)) / len(configurations)
    numbers = np.tile(np.arange(number), len(configurations))
    weights = np.array([[d.weight / 100] for d in protocol.dimensions])
    of_scores = {
        INDEX: Design(weights * every, numbers, compute_believed_run_dispersion(protocol, number))
    }
    for row, dimension in enumerate(protocol.dimensions):
        alone = np.zeros_like(every)
        alone[row] = every[row]
        of_scores[dimension.name] = Design(
            alone,
            numbers,
            compute_believed_run_dispersion(protocol, int(np.count_nonzero(inside[row]))),
        )
    return of_scores


def compute_believed_run_dispersion(protocol: Protocol, stems: int) -> float:
    """Return the dispersion (variance / (mean x (1 - mean))) of a run's score over so many items
    (*stems*) that is believed to come from shifts of whole runs; 0 if *protocol* has no such items.
    """
    return BELIEVED_RUNS * max(1.0, ENOUGH_STEMS / max(stems, 1)) if protocol.has_stems else 0.0


def _collect_mark_shares(
    protocol: Protocol,
    slots: Sequence[Slot],
    subjects: Sequence[RunMarks],
    runs: Sequence[Sequence[int]],
) -> list[Floats]:
    """Return for each model an array [runs, dimensions, conversations]: the judges' scores as
    shares of their scales, 1 at the end that stands for independence; NaN if a score is missing.

    *subjects* has each model's scores, *runs* each model's run numbers, and *slots* the
    conversations of a run.
    """
    marks = [of.get(run, {}) for of, mine in zip(subjects, runs, strict=True) for run in mine]
    shares = np.zeros((len(marks), len(protocol.dimensions), len(slots)))
    for column, slot in enumerate(slots):
        item, of_runs = protocol.find_item(slot[1]), [of.get(slot, {}) for of in marks]
        for row, dimension in enumerate(protocol.dimensions):
            wanted = [mark for mark in item.marks if mark.name in dimension.marks]
            if wanted:
                length = sum([mark.high - mark.low for mark in wanted])
                above = [
                    np.array([given.get(of.name, np.nan) for given in of_runs]) - of.low
                    for of in wanted
                ]
                share = sum(above) / length
                shares[:, row, column] = 1 - share if dimension.inverted else share
    return np.split(shares, np.cumsum([len(mine) for mine in runs])[:-1]) if runs else []


def _make_intervals(limits: Limits, unit: float) -> list[Interval | None]:
    """Return an interval for each model from *limits* (low and high on the scale [0, 1], over
    models), in a *unit* that is the whole scale's length. None for a model of which a judge's score
    is missing, as may be in a dimension without weight.
    """
    ends = zip(*(_replace_nan(np.clip(limit * unit, 0.0, unit)) for limit in limits), strict=True)
    return [None if a is None or b is None else Interval(a, b) for a, b in ends]


def _replace_nan(numbers: Floats) -> list[float | None]:
    """Return the array *numbers* as a list, with None in the place of NaN."""
    return [None if np.isnan(number) else number for number in numbers.tolist()]
