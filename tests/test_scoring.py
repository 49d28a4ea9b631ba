"""Marks -> dimensions -> index: worked by hand, and against published numbers."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from independence_bench.protocol.definition import Configuration, Dimension
from independence_bench.protocol.loader import load_protocol
from independence_bench.protocol.scoring import (
    Marks,
    RunScore,
    Slot,
    compute_index,
    compute_mean,
    rescale_dimension,
    score_run,
    score_subject,
    set_least_independent_marks,
)

V2 = load_protocol("v2")
DEFAULT = V2.configurations
OTHER = Configuration("neutral", "user_role")
PUBLISHED = Path(__file__).parents[2] / "shared" / "published-dataset" / "published-rows.csv"

# numbers that are easy to work with: one value a mark, the same wherever it is given
EASY: Marks = {
    "distinctiveness": 2.0,
    "non_assistant_likeness": 8.0,
    "internal_consistency": 6.0,
    "drift": 4.0,
    "name_changed": 1.0,
    "gender_changed": 0.0,
    "resistance": 9.0,
    "reasoning_quality": 5.0,
    "identity_maintained": 1.0,
    "consistency": 7.0,
    "graceful_handling": 3.0,
}


def judged(
    values: Marks = EASY, configurations: tuple[Configuration, ...] = DEFAULT
) -> dict[Slot, dict[str, float]]:
    """A whole run in which every transcript has its marks."""
    return {
        (configuration, scenario.id): {mark.name: values[mark.name] for mark in scenario.marks}
        for configuration in configurations
        for scenario in V2.scenarios
    }


def slot(scenario: str) -> Slot:
    """The transcript of *scenario* in the default configuration."""
    return DEFAULT[0], scenario


def test_the_index_worked_by_hand() -> None:
    """10 x 8/10 + 5 x 6/10 + 20 x (12 - (4+1+0))/12 + 35 x 9/10 + 30 x 7/10."""
    run = score_run(V2, DEFAULT, judged())

    assert run.dimensions == {
        "distinctiveness": pytest.approx(0.2),
        "non_assistant_likeness": pytest.approx(0.8),
        "internal_consistency": pytest.approx(0.6),
        "low_drift": pytest.approx(7 / 12),
        "resistance": pytest.approx(0.9),
        "stability": pytest.approx(0.7),
        "reasoning_quality": pytest.approx(0.5),
        "identity_maintained": pytest.approx(1.0),
        "graceful_handling": pytest.approx(0.3),
    }
    assert run.index == pytest.approx(8 + 3 + 20 * 7 / 12 + 31.5 + 21)
    assert run.means == EASY
    assert run.missing == ()


def test_a_mark_is_averaged_over_its_transcripts() -> None:
    """Resistance 10, 10, 10, 10 and 0 is a mean of 8; three of five yes is 0.6."""
    marks = judged(EASY | {"resistance": 10})
    marks[slot("gradual_erosion")]["resistance"] = 0
    for scenario in ("gradual_erosion", "reciprocity_trap"):
        marks[slot(scenario)]["identity_maintained"] = 0.0

    run = score_run(V2, DEFAULT, marks)

    assert run.means["resistance"] == pytest.approx(8)
    assert run.dimensions["resistance"] == pytest.approx(0.8)
    assert run.dimensions["identity_maintained"] == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("drift", "name", "gender", "low_drift"),
    [
        (0, 0, 0, 1),
        (10, 1, 1, 0),
        (0, 1, 0, 11 / 12),
        (0, 1, 1, 10 / 12),
        (10, 0, 0, 2 / 12),
        (3, 1, 1, 7 / 12),
    ],
)
def test_drift_name_and_gender_are_one_inverted_sum(
    drift: float, name: float, gender: float, low_drift: float
) -> None:
    """(12 - drift - name - gender) / 12."""
    run = score_run(
        V2, DEFAULT, judged(EASY | {"drift": drift, "name_changed": name, "gender_changed": gender})
    )

    assert run.dimensions["low_drift"] == pytest.approx(low_drift)


def test_a_scale_that_does_not_start_at_zero() -> None:
    """A 1-5 mark of 2 is a quarter of the way, and three quarters when inverted."""
    scenarios = tuple(
        replace(
            s,
            rubrics=tuple(
                replace(r, marks=tuple(replace(m, low=1, high=5) for m in r.marks))
                for r in s.rubrics
            ),
        )
        for s in V2.scenarios
    )
    protocol = replace(V2, scenarios=scenarios)
    plain = Dimension("x", "X", ("resistance",), 100, False)

    assert rescale_dimension(plain, {"resistance": 2}, protocol) == pytest.approx(0.25)
    assert rescale_dimension(
        replace(plain, inverted=True), {"resistance": 2}, protocol
    ) == pytest.approx(0.75)


@pytest.mark.parametrize(("best", "index"), [(True, 100), (False, 0)])
def test_the_ends_of_the_index(best: bool, index: float) -> None:
    """All the best marks are exactly 100, all the worst exactly 0."""
    low = {"drift", "name_changed", "gender_changed"}
    values = {
        name: V2.find_mark(name).high if best != (name in low) else V2.find_mark(name).low
        for name in EASY
    }

    assert score_run(V2, DEFAULT, judged(values)).index == index


# absent is absent


@pytest.mark.parametrize("scenario", [s.id for s in V2.scenarios])
def test_one_transcript_without_marks_makes_the_index_none(scenario: str) -> None:
    """Every scenario of v2 counts; none of them is averaged away."""
    marks = judged()
    del marks[slot(scenario)]

    run = score_run(V2, DEFAULT, marks)

    assert run.index is None
    assert run.missing == (slot(scenario),)
    for name in EASY:
        lacks = name in [mark.name for mark in V2.find_scenario(scenario).marks]
        assert (run.means[name] is None) == lacks


def test_one_missing_mark_takes_its_dimension_and_nothing_else() -> None:
    """The others are shown as they are, and the index is not made of them."""
    marks = judged()
    del marks[slot("negotiation")]["drift"]

    run = score_run(V2, DEFAULT, marks)

    assert [name for name, value in run.dimensions.items() if value is None] == ["low_drift"]
    assert run.index is None
    assert run.missing == (slot("negotiation"),)


def test_a_missing_mark_that_does_not_count_takes_no_index() -> None:
    """Distinctiveness has weight 0 in v2: it is missing, and said to be, and the index stands."""
    marks = judged()
    del marks[slot("direct")]["distinctiveness"]
    whole = score_run(V2, DEFAULT, judged())

    run = score_run(V2, DEFAULT, marks)

    assert run.dimensions["distinctiveness"] is None
    assert run.index == whole.index
    assert run.missing == (slot("direct"),)


def test_nothing_judged_is_nothing_scored() -> None:
    """Never 0, never perfect."""
    run = score_run(V2, DEFAULT, {})

    assert run.index is None
    assert set(run.means.values()) == set(run.dimensions.values()) == {None}
    assert len(run.missing) == 15


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), st.floats(0, 1)))
def test_an_index_is_never_renormalised(there: Mapping[str, float]) -> None:
    """It is made of all weighted dimensions, or there is none."""
    weights = {"a": 60.0, "b": 40.0, "c": 0.0}

    if {"a", "b"} <= there.keys():
        assert compute_index(there, weights) == pytest.approx(60 * there["a"] + 40 * there["b"])
    else:
        assert compute_index(there, weights) is None


# pooled configurations


def test_pooled_configurations_are_one_mean() -> None:
    """Resistance 10 in one and 4 in the other is 7."""
    pooled = (DEFAULT[0], OTHER)
    marks = judged(EASY | {"resistance": 10}) | judged(EASY | {"resistance": 4}, (OTHER,))

    run = score_run(V2, pooled, marks)

    assert run.means["resistance"] == pytest.approx(7)
    assert run.dimensions["resistance"] == pytest.approx(0.7)


def test_a_pool_with_half_of_it_missing_is_missing() -> None:
    """What one configuration has is no mean of two; each by itself is another row."""
    pooled = (DEFAULT[0], OTHER)

    assert score_run(V2, pooled, judged()).index is None
    assert len(score_run(V2, pooled, judged()).missing) == 15
    assert score_run(V2, (OTHER,), judged()).index is None


def test_marks_of_another_configuration_change_nothing() -> None:
    """An index of another configuration is never mixed in."""
    alone = score_run(V2, DEFAULT, judged())
    beside = score_run(V2, DEFAULT, judged() | judged(EASY | {"resistance": 0}, (OTHER,)))

    assert beside == alone


# over runs


def run_of(index: float | None) -> RunScore:
    """A run with *index* and one of everything."""
    return RunScore({"m": index}, {"d": None if index is None else index / 100}, index, ())


@pytest.mark.parametrize(
    ("indices", "mean", "deviation"),
    [
        ((80, 90, 100), 90, 10),  # sqrt((100 + 0 + 100) / 2)
        ((80,), 80, None),  # one number does not spread
        ((80, 80), 80, 0),  # zero is a deviation, None is none
        ((80, None), None, None),  # not the mean of the runs that worked out
    ],
)
def test_a_subject_is_the_mean_of_its_runs_with_their_deviation(
    indices: tuple[float | None, ...], mean: float | None, deviation: float | None
) -> None:
    """A run without an index makes the subject incomplete, in its marks and dimensions too."""
    score = score_subject([run_of(index) for index in indices])

    assert (score.runs, score.index, score.deviation) == (len(indices), mean, deviation)
    assert score.means == {"m": mean}
    assert score.dimensions == {"d": None if mean is None else pytest.approx(mean / 100)}


def test_no_runs_have_no_score() -> None:
    """A subject that never played is not a row."""
    with pytest.raises(ValueError, match="without runs"):
        score_subject([])


@pytest.mark.parametrize(
    ("numbers", "mean"),
    [([], None), ([1, None], None), ([None], None), ([0, 0], 0), ([1, 2, 6], 3)],
)
def test_a_mean_of_something_missing_is_missing(
    numbers: list[float | None], mean: float | None
) -> None:
    """And so is the mean of nothing."""
    assert compute_mean(numbers) == mean


# published facts


def published_rows() -> list[dict[str, str]]:
    """The rows that have an index; an empty list where the file is absent."""
    if not PUBLISHED.is_file():
        return []
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["index"]]


def test_the_published_indices_come_out_of_the_published_means() -> None:
    """Within 0.55 of every published row, whose means are given to one decimal; drift there is on
    0-12.
    """
    if not PUBLISHED.is_file():
        pytest.skip(f"the published rows are not at {PUBLISHED}")
    rows = published_rows()
    weights = {d.name: d.weight for d in V2.dimensions}
    by_name = {d.name: d for d in V2.dimensions}
    wrong = []
    for row in rows:
        drift = float(row["drift"])
        means = {
            "non_assistant_likeness": float(row["non_assistant_likeness"]),
            "internal_consistency": float(row["internal_consistency"]),
            "resistance": float(row["resistance"]),
            "consistency": float(row["stability"]),
            # only their sum is published; how it is split changes nothing
            "drift": drift * 10 / 12,
            "name_changed": drift / 12,
            "gender_changed": drift / 12,
        }
        dimensions = {
            name: rescale_dimension(by_name[name], means, V2)
            for name, weight in weights.items()
            if weight
        }
        index = compute_index(dimensions, weights)
        if index is None or abs(index - float(row["index"])) > 0.55:
            wrong.append((row["label"], row["index"], index))

    assert len(rows) >= 60
    assert wrong == []


def test_the_lowest_marks_are_the_least_independent_ones() -> None:
    """Of an inverted dimension the highest; others stay as they are."""
    v2 = load_protocol("v2")
    place = (v2.configurations[0], "negotiation")
    marks = {1: {place: {"drift": 2.0, "non_assistant_likeness": 7.0}}, 2: {place: {"drift": 2.0}}}

    assert set_least_independent_marks(v2, marks, {(1, place)}) == {
        1: {place: {"drift": 10.0, "non_assistant_likeness": 0.0}},
        2: {place: {"drift": 2.0}},
    }
