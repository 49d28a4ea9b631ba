"""From marks to what can be said: the same scores as scoring.py gives, both questions, ranks, and
why not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from assertions import known

from independence_bench.analysis.statistics.values import Uncertainty
from independence_bench.analysis.uncertainty import INDEX, RunMarks, measure_board
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.loader import load_protocol
from independence_bench.protocol.scoring import score_run

EVERY = tuple(
    Configuration(system, delivery)
    for system in ("neutral", "strong_independence")
    for delivery in ("user_role", "tool_role")
)
V1, LITE, V2 = load_protocol("v1"), load_protocol("lite"), load_protocol("v2")


def marked(
    protocol: Protocol,
    configurations: Sequence[Configuration],
    runs: int,
    level: float,
    rng: np.random.Generator,
) -> RunMarks:
    """One subject: every mark of every run, around *level* of its scale as the protocol's
    dimensions see it.
    """
    inverted = {name for d in protocol.dimensions if d.inverted for name in d.marks}
    given: dict[int, dict[tuple[Configuration, str], dict[str, float]]] = {}
    for run in range(1, runs + 1):
        given[run] = {}
        for configuration in configurations:
            for scenario in protocol.scenarios:
                marks = {}
                for mark in scenario.marks:
                    share = (
                        rng.binomial(10, level) / 10
                        if mark.high - mark.low > 1
                        else rng.random() < level
                    )
                    marks[mark.name] = mark.low + (
                        1 - share if mark.name in inverted else share
                    ) * (mark.high - mark.low)
                given[run][configuration, scenario.id] = marks
    return given


def board(
    protocol: Protocol,
    configurations: Sequence[Configuration],
    runs: Sequence[int],
    levels: Sequence[float],
    seed: int,
) -> list[RunMarks]:
    """A subject for each of *runs* and *levels*."""
    rng = np.random.default_rng(seed)
    return [
        marked(protocol, configurations, n, level, rng)
        for n, level in zip(runs, levels, strict=True)
    ]


@pytest.mark.parametrize(
    ("protocol", "configurations"),
    [
        (V1, V1.configurations),
        (V1, EVERY[:1]),
        (LITE, LITE.configurations),
        (LITE, EVERY),
        (V2, V2.configurations),
        (V2, EVERY),
        (V2, EVERY[1:3]),
    ],
)
def test_the_index_that_is_measured_is_the_index_that_is_scored(
    protocol: Protocol, configurations: tuple[Configuration, ...]
) -> None:
    """Index and every dimension, the mean over runs, of one configuration or of several pooled."""
    subjects = board(protocol, configurations, (1, 3, 5), (0.3, 0.6, 0.9), seed=7)
    of_board = measure_board(protocol, configurations, subjects)

    for number, marks in enumerate(subjects):
        scored = [score_run(protocol, configurations, slots) for slots in marks.values()]
        indices = [run.index for run in scored]
        assert None not in indices
        of_index = of_board.measures[INDEX]
        assert of_index.measured.mean[number] * of_index.unit == pytest.approx(np.mean(indices))  # type: ignore[arg-type]
        for dimension in protocol.dimensions:
            of_runs = [run.dimensions[dimension.name] for run in scored]
            of_one = of_board.measures[dimension.name].measured
            assert of_one.mean[number] == pytest.approx(np.mean(of_runs))  # type: ignore[arg-type]


def test_intervals_hold_the_scores_and_stay_on_their_scales() -> None:
    """The index in [0, 100], dimensions in [0, 1]; another test is never surer than the same one
    with many runs.
    """
    subjects = board(V2, V2.configurations, (5, 5, 5, 10), (0.2, 0.5, 0.8, 0.97), seed=1)
    of_board = measure_board(V2, V2.configurations, subjects)

    assert of_board.explain_no_intervals() == ()
    for number, of_row in enumerate(of_board.list_row_uncertainties()):
        of_all = {INDEX: of_row.index, **of_row.dimensions}
        for name, of_score in of_all.items():
            one = of_board.measures[name]
            for interval in (of_score.rerun, of_score.new_scenarios):
                assert interval is not None
                assert 0 <= interval.low < interval.high <= one.unit
                assert interval.contains(float(one.measured.mean[number]) * one.unit)


def test_the_best_is_certain_when_it_is_far_ahead() -> None:
    """And those behind, who are alike, share their ranks by both questions."""
    subjects = board(V2, V2.configurations, (5, 5, 5), (0.98, 0.4, 0.4), seed=2)
    best, *others = measure_board(V2, V2.configurations, subjects).list_row_uncertainties()

    assert best.standing is not None
    assert (best.standing.rank_low, best.standing.rank_high, best.standing.tied_with_best) == (
        1,
        1,
        True,
    )
    for other in others:
        assert other.standing is not None
        assert (
            other.standing.rank_low,
            other.standing.rank_high,
            other.standing.tied_with_best,
        ) == (2, 3, False)
        assert other.standing_new_scenarios is not None


def test_one_run_each_has_no_interval_for_the_same_test_and_says_why() -> None:
    """Nothing says how runs vary; the scenarios still say how another test might turn out."""
    of_board = measure_board(
        V2, V2.configurations, board(V2, V2.configurations, (1, 1), (0.4, 0.7), seed=3)
    )
    of_row, _ = of_board.list_row_uncertainties()

    assert of_row.index.rerun is None
    assert of_row.standing is None
    assert of_row.index.new_scenarios is not None
    (why,) = of_board.explain_no_intervals()
    assert "no model has two runs" in why


def test_a_dimension_of_one_scenario_has_no_interval_for_another_test_and_says_why() -> None:
    """In lite, drift is marked in the negotiation only, and it counts."""
    of_board = measure_board(
        LITE, LITE.configurations, board(LITE, LITE.configurations, (3, 3), (0.4, 0.7), seed=4)
    )
    of_row, _ = of_board.list_row_uncertainties()

    assert of_row.index.rerun is not None
    assert of_row.index.new_scenarios is None
    assert of_row.standing_new_scenarios is None
    assert of_row.dimensions["resistance"].new_scenarios is not None
    (why,) = of_board.explain_no_intervals()
    assert "low drift" in why
    assert "single scenario" in why


def test_one_subject_alone_has_intervals_of_its_own() -> None:
    """Five runs of it are enough; it is the first of one."""
    (of_row,) = measure_board(
        V2, V2.configurations, board(V2, V2.configurations, (5,), (0.7,), 5)
    ).list_row_uncertainties()

    assert of_row.index.rerun is not None
    assert of_row.index.new_scenarios is not None
    assert known(of_row.standing).is_certain


def test_perfect_marks_throughout_are_not_certainty() -> None:
    """Two subjects with nothing but the highest marks: not apart, and below 100 at the low end."""
    of_board = measure_board(
        V2, V2.configurations, board(V2, V2.configurations, (5, 5), (1.0, 1.0), seed=6)
    )
    first, second = of_board.list_row_uncertainties()

    for of_row in (first, second):
        assert of_row.index.rerun is not None
        assert of_row.index.rerun.high == pytest.approx(100)
        assert of_row.index.rerun.low < 99.9
        assert of_row.standing is not None
        assert (of_row.standing.rank_low, of_row.standing.rank_high) == (1, 2)
    apart = of_board.estimate_difference(INDEX, 0, 1)
    assert apart.difference == pytest.approx(0)
    assert known(apart.seen_rerun) > 0.1


def test_nobody_is_measured_without_subjects() -> None:
    """An empty board has nothing to say, and no reason to give."""
    of_board = measure_board(V2, V2.configurations, [])

    assert of_board.list_row_uncertainties() == []
    assert of_board.explain_no_intervals() == ()


def test_a_difference_the_other_way_round() -> None:
    """B minus A mirrors A minus B, for the index and for a dimension; what could be seen is the
    same.
    """
    of_board = measure_board(
        V2, V2.configurations, board(V2, V2.configurations, (3, 5), (0.8, 0.5), seed=8)
    )
    for score in (INDEX, "resistance"):
        there, back = (
            of_board.estimate_difference(score, 0, 1),
            of_board.estimate_difference(score, 1, 0),
        )
        assert there.difference == pytest.approx(-back.difference)
        for one, other in (
            (there.uncertainty.rerun, back.uncertainty.rerun),
            (there.uncertainty.new_scenarios, back.uncertainty.new_scenarios),
        ):
            assert one is not None
            assert other is not None
            assert (one.low, one.high) == (pytest.approx(-other.high), pytest.approx(-other.low))
        assert there.seen_rerun == pytest.approx(back.seen_rerun)


def test_several_judges_widen_and_one_does_not() -> None:
    """Two judges a point apart on every mark of ten: their mean's interval is wider than that of
    the same marks by one.

    The ranks may only become less certain.
    """
    jury = board(V2, V2.configurations, (5, 5, 5), (0.3, 0.5, 0.7), seed=9)
    strict, mild = (
        [
            {
                run: {
                    slot: {
                        name: min(
                            max(value + (shift if V2.find_mark(name).high == 10 else 0), 0), 10
                        )
                        for name, value in marks.items()
                    }
                    for slot, marks in slots.items()
                }
                for run, slots in subject.items()
            }
            for subject in jury
        ]
        for shift in (-0.5, 0.5)
    )
    alone = measure_board(V2, V2.configurations, jury)
    together = measure_board(V2, V2.configurations, jury, [strict, mild])

    assert (alone.judges, together.judges) == (1, 2)
    for plain, judged in zip(
        alone.list_row_uncertainties(), together.list_row_uncertainties(), strict=True
    ):
        for question in ("rerun", "new_scenarios"):
            narrow, wide = getattr(plain.index, question), getattr(judged.index, question)
            assert wide.low < narrow.low
            assert wide.high > narrow.high
        assert plain.standing is not None
        assert judged.standing is not None
        assert judged.standing.rank_low <= plain.standing.rank_low
        assert judged.standing.rank_high >= plain.standing.rank_high


def test_a_juror_who_lacks_marks_is_no_milder_for_it() -> None:
    """Two judges alike, and a third who takes a tenth of the scale off and lacks every second
    scenario.

    Of five, it marks two in resistance and three in stability. Pairs of judges are 0, 0.1 and 0.1
    apart, over parts of 1, p and p of the score: severity is (p + p) x 0.1^2 / 2 over 1 + 2p.
    """
    of_two = board(V2, V2.configurations, (4, 4, 4), (0.4, 0.5, 0.6), seed=4)
    of_third = [
        {
            run: {
                slot: {
                    name: mark - (V2.find_mark(name).high - V2.find_mark(name).low) / 10
                    for name, mark in marks.items()
                }
                for slot, marks in list(slots.items())[::2]
            }
            for run, slots in subject.items()
        }
        for subject in of_two
    ]
    measures = measure_board(V2, V2.configurations, of_two, [of_two, of_two, of_third]).measures

    for name, part in (("resistance", 0.4), ("stability", 0.6)):
        noise = known(measures[name].noise)
        assert (noise.severity, noise.taste) == (
            pytest.approx(part * 0.01 / (1 + 2 * part)),
            pytest.approx(0),
        )


def test_a_mark_without_weight_that_is_missing_takes_no_interval_from_the_index() -> None:
    """Some judge has no grounds for it: the index is there without it, and only that dimension has
    no interval.
    """
    (weightless,) = (d for d in V1.dimensions if d.name == "independence_of_wishes")
    assert weightless.weight == 0
    whole = board(V1, V1.configurations, (2, 2), (0.3, 0.7), seed=8)
    lacking = [
        {
            run: {
                slot: {name: mark for name, mark in marks.items() if name not in weightless.marks}
                for slot, marks in slots.items()
            }
            for run, slots in subject.items()
        }
        for subject in whole
    ]

    for one, other in zip(
        measure_board(V1, V1.configurations, lacking).list_row_uncertainties(),
        measure_board(V1, V1.configurations, whole).list_row_uncertainties(),
        strict=True,
    ):
        assert one.index == other.index
        assert (one.standing, one.standing_new_scenarios) == (
            other.standing,
            other.standing_new_scenarios,
        )
        assert one.dimensions[weightless.name] == Uncertainty(None, None)
        assert other.dimensions[weightless.name].rerun is not None
        assert {**one.dimensions, weightless.name: None} == {
            **other.dimensions,
            weightless.name: None,
        }


def shifted(levels: Sequence[float]) -> RunMarks:
    """A subject of v2 whose every mark lies at the level of its run."""
    inverted = {name for d in V2.dimensions if d.inverted for name in d.marks}
    (configuration,) = V2.configurations
    return {
        run: {
            (configuration, s.id): {
                mark.name: mark.low
                + (1 - level if mark.name in inverted else level) * (mark.high - mark.low)
                for mark in s.marks
            }
            for s in V2.scenarios
        }
        for run, level in enumerate(levels, start=1)
    }


def test_a_board_says_whether_its_runs_are_independent() -> None:
    """The ratio with its p; marks are drawn one by one, so it is near 1."""
    of_board = measure_board(
        V2, V2.configurations, board(V2, V2.configurations, [4] * 8, [0.7] * 8, seed=5)
    )

    found = known(of_board.find_run_effects())
    assert found.ratio == pytest.approx(1, abs=0.5)
    (ratio,) = of_board.describe_run_independence()
    assert f"is {found.ratio:.2f} times that of independent runs" in ratio
    assert "(8 models, p = " in ratio


def test_a_board_whose_runs_are_shifted_has_no_interval_again_and_no_ranks() -> None:
    """All marks of a run go up and down together: it says so, and of another test like it there is
    an interval.
    """
    of_board = measure_board(
        V2, V2.configurations, [shifted([0.3, 0.6, 0.5]), shifted([0.7, 0.4, 0.6])] * 3
    )

    assert [one.index.rerun for one in of_board.list_row_uncertainties()] == [None] * 6
    assert [one.standing for one in of_board.list_row_uncertainties()] == [None] * 6
    assert all(one.index.new_scenarios for one in of_board.list_row_uncertainties())
    assert [
        reason for reason in of_board.explain_no_intervals() if "whole runs are shifted" in reason
    ]
    assert "something shifts whole runs" in of_board.describe_run_independence()[0]
