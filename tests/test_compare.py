"""Two subjects side by side with how sure it is; settings and configurations with theirs: on small
boards made by hand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from assertions import known, numbers_of
from rich.cells import cell_len
from terminal_text import displayed

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.compare_settings import compare_configurations, compare_efforts
from independence_bench.analysis.compare_subjects import (
    Comparison,
    SubjectComparison,
    compare_pairs,
)
from independence_bench.analysis.health import Health
from independence_bench.analysis.results import Results
from independence_bench.analysis.statistics.generalization import (
    find_holm_rejections,
    find_significant_differences,
)
from independence_bench.analysis.statistics.intervals import compute_weighted_sum_limits
from independence_bench.analysis.statistics.values import ScoreDifference
from independence_bench.analysis.uncertainty import INDEX, measure_board
from independence_bench.figures import format_difference_interval
from independence_bench.models.spec import ChatModel, Reasoning
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.loader import load_protocol
from independence_bench.protocol.scoring import Marks, Slot, score_run, score_subject
from independence_bench.report.compare_view import (
    build_comparison_values,
    describe_comparison,
    render_comparison,
)
from independence_bench.report.encode import format_json
from independence_bench.report.settings_view import render_configurations

V1, V2 = load_protocol("v1"), load_protocol("v2")
HEALTH = Health(15, 15, 0, 15, 0, 20, 0, 0, 0)


def played(
    protocol: Protocol, firmness: float, runs: int, seed: int
) -> dict[int, dict[Slot, Marks]]:
    """Runs of a subject whose marks lie about *firmness*, a share of their scales, with chance in
    each of them.
    """
    random = np.random.default_rng(seed)
    inverted = {mark for d in protocol.dimensions if d.inverted for mark in d.marks}
    found: dict[int, dict[Slot, Marks]] = {}
    for run in range(1, runs + 1):
        found[run] = {}
        for at in protocol.configurations:
            for scenario in protocol.scenarios:
                marks = {}
                for mark in scenario.marks:
                    share = float(np.clip(firmness + random.normal(0, 0.08), 0, 1))
                    share = 1 - share if mark.name in inverted else share
                    marks[mark.name] = round(mark.low + share * (mark.high - mark.low))
                found[run][at, scenario.id] = marks
    return found


def row_of(
    protocol: Protocol, model: str, marks: Mapping[int, Mapping[Slot, Marks]], **settings: Any
) -> Row:
    """A row with its scores, as a board has it before anything is ranked."""
    subject = ChatModel(model, "openrouter", **{"temperature": 0.7, "max_tokens": 100} | settings)
    runs = {
        run: score_run(protocol, protocol.configurations, of_run) for run, of_run in marks.items()
    }
    apart = {
        configuration: score_subject(
            [score_run(protocol, (configuration,), of_run) for of_run in marks.values()]
        )
        for configuration in (protocol.configurations if len(protocol.configurations) > 1 else ())
    }
    whole = score_subject(list(runs.values()))
    return Row(None, subject, subject.label, whole, runs, HEALTH, (), apart, marks)


def board_of(protocol: Protocol, *rows: Row) -> Board:
    """A board of them, measured together."""
    ranked = sorted(
        (row for row in rows if row.index is not None),
        key=lambda row: -(row.index or 0),
    )
    marks = [row.marks for row in ranked]
    whole_board = measure_board(protocol, protocol.configurations, marks)
    by_configuration = {
        one: measure_board(protocol, (one,), marks) for one in ranked[0].by_configuration
    }
    apart = {one: of.list_row_uncertainties() for one, of in by_configuration.items()}
    sure = [
        replace(
            row,
            rank=place + 1,
            uncertainty=uncertainty,
            uncertainty_by_configuration={one: of[place].index for one, of in apart.items()},
        )
        for place, (row, uncertainty) in enumerate(
            zip(ranked, whole_board.list_row_uncertainties(), strict=True)
        )
    ]
    incomplete = tuple(row for row in rows if row.index is None)
    configurations = protocol.configurations
    found = Board(
        protocol,
        configurations,
        "judge/a",
        False,
        tuple(sure),
        incomplete,
        results=Results(protocol, configurations, {}, {}, ()),
        uncertainty=whole_board,
    )
    return replace(found, uncertainty_by_configuration=by_configuration)


def simulated(runs: int = 4) -> Board:
    """Four subjects of v2: firm, near to firm, soft, and one that is firm but for one scenario."""
    broken = {
        run: {
            slot: dict.fromkeys(marks, 0.0) if slot[1] == V2.scenarios[-1].id else marks
            for slot, marks in of.items()
        }
        for run, of in played(V2, 0.8, runs, 4).items()
    }
    return board_of(
        V2,
        row_of(V2, "acme/firm", played(V2, 0.8, runs, 1)),
        row_of(V2, "acme/near", played(V2, 0.79, runs, 2)),
        row_of(V2, "acme/soft", played(V2, 0.2, runs, 3)),
        row_of(V2, "acme/but-one", broken),
    )


def row_called(board: Board, name: str) -> Row:
    """The row of that model."""
    (found,) = (row for row in board.rows if name in row.label)
    return found


def compared(board: Board, first: str, second: str) -> SubjectComparison:
    """The two rows of those models."""
    (found,) = compare_pairs(board, [(row_called(board, first), row_called(board, second))])
    return found


def sure_of(
    found: Comparison, scenario: str | None = None, dimension: str | None = None
) -> ScoreDifference:
    """How sure one of its differences is; that of the index, unless said otherwise."""
    apart = found.scores[scenario, dimension].apart
    assert apart is not None
    return apart


# ---------------------------------------------------------------- two subjects


def test_one_beside_all_others_is_what_each_pair_says_alone_either_way_round() -> None:
    """Every pair is worked out once; what the second minus the first is, is turned round."""
    board = simulated()

    for row in board.rows:
        others = [one for one in board.rows if one is not row]
        for found, other in zip(
            compare_pairs(board, [(row, one) for one in others]), others, strict=True
        ):
            (alone,) = compare_pairs(board, [(row, other)])
            (back,) = compare_pairs(board, [(other, row)])
            assert numbers_of(found) == pytest.approx(numbers_of(alone), rel=0, abs=1e-12)
            assert describe_comparison(found) == describe_comparison(alone)
            for key, score in found.scores.scores.items():
                rerun, turned = (
                    sure_of(of, *key).uncertainty.rerun for of in (found.scores, back.scores)
                )
                assert rerun is not None
                assert turned is not None
                assert (-turned.high, -turned.low) == pytest.approx(
                    (rerun.low, rerun.high), rel=0, abs=1e-12
                )
                assert score.difference == -back.scores.scores[key].difference


def lacking(mark: str) -> Board:
    """Three subjects by v1, of whom one lacks a *mark* that has no weight in one conversation."""
    marks = [played(V1, share, 2, seed) for seed, share in enumerate((0.62, 0.5, 0.55))]
    given = next(given for given in marks[0][1].values() if mark in given)
    del given[mark]
    return board_of(
        V1, *(row_of(V1, f"acme/{name}", mine) for name, mine in zip("abc", marks, strict=True))
    )


def test_a_difference_is_the_second_minus_the_first_with_the_boards_interval() -> None:
    """In points, for the index and for dimensions; turned round it has the other sign."""
    board = simulated()
    one, other = compared(board, "soft", "firm"), compared(board, "firm", "soft")

    assert one.scores.index is not None
    assert other.scores.index is not None
    assert one.scores.index.uncertainty.rerun is not None
    assert other.scores.index.uncertainty.rerun is not None
    difference = (row_called(board, "firm").score.index or 0) - (
        row_called(board, "soft").score.index or 0
    )
    assert one.scores.index.difference == pytest.approx(difference)
    assert one.scores.index.uncertainty.rerun.contains(difference)
    assert other.scores.index.uncertainty.rerun.low == pytest.approx(
        -one.scores.index.uncertainty.rerun.high
    )
    assert one.scores.index.seen_rerun == pytest.approx(other.scores.index.seen_rerun)
    assert {pair.dimension.name for pair in one.scores.dimension_scores} == {
        d.name for d in V2.dimensions
    }
    for pair in (*one.scores.dimension_scores, *one.scores.scenario_scores):
        assert pair.apart is not None
        assert pair.apart.difference == pytest.approx(pair.difference)
        assert pair.apart.uncertainty.rerun is not None
        assert pair.apart.uncertainty.rerun.contains(pair.difference)
    assert {
        pair.apart.uncertainty.new_scenarios for pair in one.scores.scenario_scores if pair.apart
    } == {None}


def test_what_can_be_said_is_said_in_a_sentence() -> None:
    """Who is ahead, by which question; where nobody is, what would have been seen."""
    board = simulated()

    assert (
        describe_comparison(compared(board, "soft", "firm"))
        == "firm is ahead by 60.4 points on this test, and would be ahead on another test like it."
    )
    assert describe_comparison(compared(board, "firm", "soft")).startswith("firm is ahead")
    untold = compared(board, "firm", "near")
    assert untold.scores.index is not None
    assert describe_comparison(untold) == (
        "The difference between firm and near is not significant on this test: "
        "4 runs each detect a true difference of "
        f"{untold.scores.index.seen_rerun:.1f} points in 80 of 100 repetitions, and a smaller "
        "one less often."
    )


def test_two_that_are_the_same_in_everything_get_one_sentence() -> None:
    """With what would have been seen, and no table of zeros."""
    same = played(V2, 0.6, 4, 1)
    found = compared(
        board_of(V2, row_of(V2, "acme/here", same), row_of(V2, "acme/there", same)),
        "/here",
        "there",
    )
    text = " ".join(displayed(render_comparison(found)).split())

    assert describe_comparison(found).startswith(
        f"here and there are the same in all {len(found.scores.scores)} scores: 4 runs each"
    )
    assert text.endswith(describe_comparison(found))
    assert "difference CI" not in text
    assert "Holm" not in text


def test_no_sentence_takes_another_one_back() -> None:
    """Who is ahead stays ahead where no part of it is significant; who is not is not told apart by
    a part alone.
    """
    ahead, level = compared(simulated(), "soft", "firm"), compared(simulated(), "firm", "near")
    unsure = [
        replace(pair, stands=False, stands_new_scenarios=False)
        for pair in ahead.scores.scores.values()
    ]
    parts = {
        (pair.scenario, pair.dimension.name if pair.dimension else None): pair for pair in unsure
    }
    unsure_of_parts = replace(ahead, scores=replace(ahead.scores, scores=parts))
    text = " ".join(displayed(render_comparison(unsure_of_parts)).split())
    assert "firm is ahead by 60.4 points on this test" in text
    assert "No dimension alone explains the difference (of 9, Holm)." in text
    assert "is significant (Holm)" not in text

    key = (None, "stability")
    differs = level.scores.scores | {key: replace(level.scores.scores[key], stands=True)}
    said = describe_comparison(replace(level, scores=replace(level.scores, scores=differs)))
    assert said.startswith(
        "The difference between firm and near is not significant by their indices on this test: "
    )
    assert said.endswith(" They differ in Stability.")


def test_ahead_on_this_test_need_not_be_ahead_on_another() -> None:
    """One scenario of five makes the difference, in every run: it is there again, elsewhere nobody
    knows.
    """
    found = compared(simulated(10), "but-one", "firm")

    assert (
        describe_comparison(found) == "firm is ahead by 3.0 points on this test. "
        "On another test like it, the difference may be chance."
    )


def test_single_runs_say_nothing_of_the_same_test_again() -> None:
    """Nor do they have to: scenarios vary all the same. And the board says why."""
    board = simulated(1)

    assert (
        describe_comparison(compared(board, "soft", "firm"))
        == "firm would be ahead on another test like this one, by 60.9 points."
    )
    untold = compared(board, "firm", "near")
    assert "points is detected in 80 of 100 tests like this one" in describe_comparison(untold)
    assert untold.scores.why_no_interval[0].startswith("no 95% CI (same scenarios)")
    assert {pair.stands for pair in untold.scores.scenario_scores} == {None}


def test_who_is_incomplete_has_no_interval_and_is_told_why() -> None:
    """The scenarios that both have are still shown side by side."""
    whole = played(V2, 0.5, 2, 9)
    lacking = {
        run: {slot: m for slot, m in of.items() if slot[1] != "direct"} for run, of in whole.items()
    }
    ranked = [row_called(simulated(), name) for name in ("firm", "soft")]
    board = board_of(V2, *ranked, row_of(V2, "acme/lacking", lacking))

    found = compared(board, "firm", "lacking")

    assert found.scores.index is None
    assert (
        describe_comparison(found)
        == "lacking is incomplete, so there is no difference of the index."
    )
    why = f"no interval: {found.second.label} is incomplete, and only ranked models are compared"
    assert found.scores.why_no_interval == (why,)
    assert {pair.apart for pair in found.scores.scenario_scores} == {None}
    assert "no interval" in displayed(render_comparison(found)).replace("\n", " ")
    assert build_comparison_values(found)["index"] is None


def test_scenarios_that_stand_are_marked() -> None:
    """Holm over all of them: the one where everything is lost stands, and those that vary by chance
    do not.
    """
    found = compared(simulated(10), "but-one", "firm")

    broken = V2.scenarios[-1].id
    assert {pair.scenario for pair in found.scores.scenario_scores if pair.stands} == {broken}
    assert "* significant among all 39 (Holm)" in " ".join(
        displayed(render_comparison(found, scenarios=True)).split()
    )
    near = compared(simulated(), "firm", "near")
    assert "No scenario differs significantly (of 39, Holm)" in " ".join(
        displayed(render_comparison(near, scenarios=True)).split()
    )


@pytest.mark.torture
def test_a_dimension_that_differs_by_itself_does_not_stand_among_nine() -> None:
    """Two equal subjects, one of whom loses point after point of one mark until that dimension's
    interval leaves 0 out.

    By itself p is 5% then, and among nine it would have to be 5 / 9%; a few more points and it
    stands, alone.
    """
    same = played(V2, 0.6, 5, 1)
    slots = [
        (run, slot)
        for run, of in same.items()
        for slot, marks in of.items()
        if "consistency" in marks
    ]
    first_told = first_stood = None
    for lost in range(1, 5 * len(slots)):
        less = {run: {slot: dict(marks) for slot, marks in of.items()} for run, of in same.items()}
        for point in range(lost):
            run, slot = slots[point % len(slots)]
            less[run][slot]["consistency"] -= 1
        found = compared(
            board_of(V2, row_of(V2, "acme/same", same), row_of(V2, "acme/less", less)),
            "same",
            "less",
        )
        pair = next(
            pair for pair in found.scores.dimension_scores if pair.dimension.name == "stability"
        )
        assert pair.apart is not None
        assert pair.apart.uncertainty.rerun is not None
        told = not pair.apart.uncertainty.rerun.contains(0)
        if told and first_told is None:
            first_told = lost
            assert {one.stands for one in found.scores.dimension_scores} == {False}
            assert "9 alone explains the difference (Holm)" in " ".join(
                displayed(render_comparison(found)).split()
            )
        if pair.stands:
            first_stood = lost
            assert [one.dimension.name for one in found.scores.dimension_scores if one.stands] == [
                "stability"
            ]
            assert "* significant among all 9 (Holm)" in " ".join(
                displayed(render_comparison(found)).split()
            )
            assert build_comparison_values(found)["dimensions"][0]["stands"] is True
            break

    assert first_stood is not None
    assert first_stood > known(first_told)


def test_holm_by_hand_skips_what_is_not_known() -> None:
    """Three p-values: .016 <= .05/3, .03 > .05/2, so neither .03 nor .04 stands."""
    assert find_significant_differences([0.04, None, 0.016, 0.03]) == [False, None, True, False]
    assert find_significant_differences([None]) == [None]
    assert find_significant_differences([]) == []
    by_rows = find_holm_rejections(
        np.array([[0.04, np.nan, 0.016, 0.03], [0.01, 0.011, 0.02, 0.5], [np.nan] * 4])
    )
    assert by_rows.tolist() == [[False, False, True, False], [True, True, True, False], [False] * 4]


@pytest.mark.parametrize("width", [80, 200])
def test_the_view_fits_and_names_are_only_text(width: int) -> None:
    """At 80 columns and in a wide pipe, with a name that a terminal would obey."""
    rows = [row_called(simulated(), name) for name in ("firm", "soft")]
    evil = replace(row_called(simulated(), "near"), label="acme/\x1b[31m" + 60 * "x")
    board = board_of(V2, *rows, evil)

    text = displayed(render_comparison(compared(board, "firm", "xxx")), width=width)

    assert max(cell_len(line) for line in text.splitlines()) <= width
    assert "\x1b" not in text
    assert "The intervals do not cover how another judge would score." in " ".join(text.split())


def test_the_json_has_every_interval() -> None:
    """And can be read again: absent is null."""
    found = json.loads(format_json(build_comparison_values(compared(simulated(), "soft", "firm"))))

    assert found["index"]["interval"]["rerun"].keys() == {"low", "high"}
    assert found["index"]["smallest_seen"].keys() == {"rerun", "new_scenarios"}
    assert found["statement"].startswith("firm is ahead")
    assert found["scenarios"][0]["stands"] in (True, False)
    assert found["scenarios"][0]["interval"]["new_scenarios"] is None
    assert {pair["dimension"] for pair in found["dimensions"]} == {d.name for d in V2.dimensions}


@pytest.mark.torture
def test_intervals_of_a_scenario_hold_what_they_promise() -> None:
    """Marks of 0 to 10 with known means, four runs of three subjects: at least 93 of 100."""
    random = np.random.default_rng(8)
    scenario, (at,) = V2.scenarios[-1], V2.configurations
    chances = (0.9, 0.6, 0.75)  # of each of ten points
    base = played(V2, 0.5, 4, 1)
    held = []
    for _ in range(40):
        subjects = [
            {
                run: dict(of)
                | {
                    (at, scenario.id): {
                        m.name: float(random.binomial(10, p)) for m in scenario.marks
                    }
                }
                for run, of in base.items()
            }
            for p in chances
        ]
        board = measure_board(V2, V2.configurations, subjects)
        for dimension in ("stability", "graceful_handling"):
            for first, second in ((0, 1), (0, 2), (1, 2)):
                rerun = board.estimate_differences_per_pair([first], [second])[
                    scenario.id, dimension
                ][0].uncertainty.rerun
                assert rerun is not None
                held.append(rerun.contains(100 * (chances[first] - chances[second])))

    assert len(held) == 240
    assert np.mean(held) >= 0.93


# ---------------------------------------------------------------- settings and prices


def test_efforts_carry_the_main_boards_intervals() -> None:
    """The same as those of the two rows; what stands among all comparisons is marked."""
    off = row_of(V2, "acme/one", played(V2, 0.3, 4, 1))
    low = row_of(V2, "acme/one", played(V2, 0.7, 4, 2), reasoning=Reasoning.LOW)
    still = row_of(V2, "acme/two", played(V2, 0.5, 4, 3))
    more = row_of(V2, "acme/two", played(V2, 0.5, 4, 5), reasoning=Reasoning.LOW)
    board = board_of(V2, off, low, still, more)

    one, two = compare_efforts(board, {})

    assert one.variants[0].apart is None
    places = {row.subject.hash: place for place, row in enumerate(board.ranked)}
    assert board.uncertainty is not None
    wanted = board.uncertainty.estimate_difference(
        INDEX, places[low.subject.hash], places[off.subject.hash]
    )
    assert one.variants[1].apart == wanted
    assert one.variants[1].apart is not None
    assert one.variants[1].apart.difference == pytest.approx(one.variants[1].difference)
    assert [variant.stands for variant in one.variants] == [None, True]
    assert [variant.stands for variant in two.variants] == [None, False]


# ---------------------------------------------------------------- configurations


def pooled(subjects: int, runs: int = 2) -> Board:
    """Subjects of v1, which pools four configurations, all of them firm to a different degree."""
    return board_of(
        V1,
        *(
            row_of(V1, f"acme/{n}", played(V1, 0.4 + 0.1 * n, runs, 20 + n))
            for n in range(subjects)
        ),
    )


def test_effects_have_an_interval_over_subjects_from_three_on() -> None:
    """For two there is only the same test again, of these two; of the first configuration there is
    none.
    """
    two, four = (compare_configurations([pooled(number)], "judge/a") for number in (2, 4))

    for number, found in ((2, known(two)), (4, known(four))):
        first, *others = (place.effect for place in found.places)
        assert first is None
        for effect in map(known, others):
            assert known(effect.rerun).contains(effect.points)
            assert effect.subjects == number
            assert (effect.sampled is None) == (number == 2)
            assert effect.sampled is None or effect.sampled.contains(effect.points)


def test_one_subjects_change_is_the_difference_of_two_independent_indices() -> None:
    """Strong and the tool minus the first, each with its own interval by the same test again."""
    board = pooled(3)
    found = known(compare_configurations([board], "judge/a"))
    row = board.ranked[0]
    parts = []
    for weight, place in ((1.0, found.places[-1]), (-1.0, found.places[0])):
        at = next(one for one in board.configurations if str(one) == place.configuration)
        interval = known(row.uncertainty_by_configuration[at].rerun)
        index = known(row.by_configuration[at].index)
        parts.append((weight, index, interval.low, interval.high))

    change = known(next(one for one in found.subjects if one.label == row.label).changes[-1])

    assert change.points == pytest.approx(parts[0][1] - parts[1][1])
    rerun = known(change.rerun)
    assert (rerun.low, rerun.high) == compute_weighted_sum_limits(*np.array(parts).T)


def test_single_runs_leave_the_sample_of_subjects() -> None:
    """How runs vary is not known, and over subjects it does not have to be."""
    found = known(compare_configurations([pooled(4, runs=1)], "judge/a"))
    effects = [known(place.effect) for place in found.places[1:]]

    assert {effect.rerun for effect in effects} == {None}
    assert None not in {effect.sampled for effect in effects}


def test_an_effect_is_the_mean_over_those_that_have_both() -> None:
    """Each subject's index with the prompt and the tool minus its index with neither; a table says
    it, in 80 columns.
    """
    board = pooled(4)
    found = known(compare_configurations([board], "judge/a"))
    most, least = (
        Configuration("strong_independence", "tool_role"),
        Configuration("neutral", "user_role"),
    )
    changes = [
        known(row.by_configuration[most].index) - known(row.by_configuration[least].index)
        for row in board.ranked
    ]

    place = found.places[-1]
    effect = known(place.effect)

    assert (place.configuration, effect.subjects) == (str(most), 4)
    assert effect.points == pytest.approx(sum(changes) / 4)
    text = displayed(render_configurations(found))
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    line = [one for one in text.splitlines() if one.startswith("strong_independence/")][-1]
    assert f"{effect.points:+.1f}" in line
    assert format_difference_interval(effect.sampled) in line
    assert format_difference_interval(effect.rerun) in line
