"""The figures of the judge's exam: worked by hand, and of judges whose quality is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
import pytest
from known import known

from independence_bench.analysis.exam.answers import ExamAnswer, exam_scales
from independence_bench.analysis.exam.result import (
    exam_result,
    exam_standing,
    judge_differences,
    rubrics_of,
)
from independence_bench.analysis.exam.values import ExamResult, ExamShare
from independence_bench.analysis.statistics.exact_binomial import fewest_successes
from independence_bench.analysis.statistics.known_states import (
    Items,
    agreement,
    figure_limits,
    joined_limits,
    mean_figure,
    mean_of_errors,
    rank_agreement,
    share_limits,
    slope,
)
from independence_bench.judging.exam.cases import ExamCase, exam_cases
from independence_bench.judging.exam.questions import GROUPS, STYLES, every, questions, stem_of
from independence_bench.protocol.loader import load

WHEN = datetime(2026, 1, 2, tzinfo=UTC)
MIDDLES = {"low": 1.0, "middle": 5.0, "high": 9.0}
# case, mark, the right mark -> what the judge gives
Marking = Callable[[ExamCase, str, float], float | None]


def items(states: str, given: str, **of: str) -> Items:
    """One item a question; 0, 1 and 2 are low, middle and high."""
    numbers = [np.array([float(one) for one in row]) for row in (states, given)]
    return Items(np.arange(len(states)), *numbers, **of)  # type: ignore[arg-type]


def right_mark(rubric: str, name: str, state: str) -> float:
    """A mark that says *state*."""
    scale = exam_scales(rubric)[name]
    return MIDDLES[state] if scale.bands else float(scale.states.index(state))


def sat(
    marking: Marking, rubrics: tuple[str, ...] = ("resistance",), cost: float | None = 0.001
) -> list[ExamAnswer]:
    """The answers of a judge who marks by *marking*."""
    answers = []
    for case in exam_cases(rubrics):
        marks: dict[str, float] | None = {}
        for name, state in case.question.state.items():
            stem = stem_of(name, case.question.judged)
            given = marking(case, stem, right_mark(case.rubric, stem, state))
            if given is None:
                marks = None
                break
            assert marks is not None
            marks[name] = given
        attack = case.attack.name if case.attack else None
        answers.append(
            ExamAnswer(case.rubric, case.question, case.asked, attack, marks, cost, 2.0, WHEN)
        )
    return answers


def result_of(marking: Marking, rubrics: tuple[str, ...] = ("resistance",)) -> ExamResult:
    """What its exam comes to."""
    return known(exam_result(sat(marking, rubrics)))


def perfect(case: ExamCase, name: str, right: float) -> float:
    """Always right."""
    return right


def lenient(case: ExamCase, name: str, right: float) -> float:
    """One band higher."""
    return min(right + 4.0, 9.0)


def random_tenth(case: ExamCase, name: str, right: float) -> float:
    """One mark of ten is any."""
    rng = np.random.default_rng(hash_of(case, name))
    return float(rng.integers(0, 11)) if rng.random() < 0.1 else right


def hash_of(case: ExamCase, name: str) -> int:
    """A number for each question as it is asked."""
    return int(case.transcript.heard_hash[:8], 16) + len(name) + 100 * len(case.asked)


def blind(case: ExamCase, name: str, right: float) -> float:
    """On hard questions the other end."""
    return {1.0: 9.0, 9.0: 1.0}.get(right, 9.0) if case.question.hard else right


def failing(case: ExamCase, name: str, right: float) -> float | None:
    """No verdict on a third."""
    return None if hash_of(case, name) % 3 == 0 else right


def test_kappa_of_bands_is_worked_by_hand() -> None:
    """Cohen 1968 on six questions with one mark a band off and one two bands off."""
    # D_o = (1 + 4) / 6; states 0 0 1 1 2 2 and marks 0 1 1 1 2 0 have means 1 and 5/6, variances
    # 2/3 and 17/36:
    # D_e = 2/3 + 17/36 + 1/36 = 7/6, so kappa = 1 - 5/7
    figure = known(agreement(items("001122", "011120"), 6))

    assert figure.value == pytest.approx(2 / 7)
    assert figure.errors == 2
    assert figure.worst == pytest.approx(4 / (7 / 6))
    assert figure.shifts.sum() == pytest.approx(0)


def test_kappa_of_names_is_worked_by_hand() -> None:
    """Cohen 1960: five of six the same, by chance 1/3 + 0 of both."""
    # states a a b b c c, marks a b b b c c: p_o = 5/6, p_e = (2 x 1 + 2 x 3 + 2 x 2) / 36 = 1/3,
    # kappa = 3/4
    figure = known(agreement(items("001122", "011122", measurement="nominal"), 6))

    assert figure.value == pytest.approx(0.75)


def test_a_perfect_judge_of_sixty_has_an_honest_lower_limit() -> None:
    """No error in sixty leaves room for Wilson's share of errors of the worst kind."""
    figure = known(agreement(items("012" * 20, "012" * 20), 60))
    limits = figure_limits(figure)

    # z at 96% is 2.0537: z^2 / (60 + z^2) = .0657 of the worst, 4 / (4/3) = 3
    assert figure.value == 1
    assert limits is not None
    assert limits.high == 1
    assert limits.low == pytest.approx(1 - 3 * 2.053749**2 / (60 + 2.053749**2))


def test_influence_is_what_a_question_more_does() -> None:
    """A question's shift is, nearly, what kappa changes by where it counts a little more."""
    of = items("001122" * 10, "011120" * 10)
    more = items("001122" * 10 + "2", "011120" * 10 + "0")
    one, other = agreement(of, 60), agreement(more, 61)

    assert one is not None
    assert known(other).value - one.value == pytest.approx(one.shifts[5], rel=0.05)


def test_rank_agreement_is_spearmans() -> None:
    """Ties share their ranks: 1 exactly where marks are three different numbers in order."""
    perfect_order = known(rank_agreement(items("001122", "001122"), 6))
    assert perfect_order.value == pytest.approx(1)
    # ranks 1.5 1.5 3.5 3.5 5.5 5.5 and 1.5 4 4 4 6 1.5: sum of products about 3.5: 4 - 1 + 0 + 0 +
    # 5 - 4 = 4, squares 16 and 4 + .25 + .25 + .25 + 6.25 + 4 = 15
    some = known(rank_agreement(items("001122", "011120"), 6))
    assert some.value == pytest.approx(4 / (16 * 15) ** 0.5)


def test_limits_that_are_none() -> None:
    """Too few questions, and nothing that varies, have no limits and no kappa."""
    few = known(agreement(items("012", "012"), 3))
    assert figure_limits(few) is None
    assert agreement(items("000", "000"), 3) is None
    assert agreement(Items(np.array([], dtype=np.intp), np.array([]), np.array([])), 0) is None
    assert mean_of_errors(np.array([], dtype=np.intp), np.array([]), 7, 0) is None


def test_a_mean_of_marks_is_no_surer_than_its_marks() -> None:
    """Sixty right of sixty, and twelve of twelve of the same questions: limits as of twenty, the
    harmonic mean.
    """
    every = agreement(items("012" * 20, "012" * 20), 60)
    some = known(agreement(items("012" * 4, "012" * 4), 60))
    both = known(figure_limits(mean_figure([known(every), some])))

    assert both.low == pytest.approx(1 - 3 * 2.053749**2 / (20 + 2.053749**2))


def test_share_limits_are_exact() -> None:
    """Clopper and Pearson: none of 12, all of 30, and half a question rounded outwards."""
    assert share_limits(0, 12).high == pytest.approx(1 - 0.025 ** (1 / 12))
    assert share_limits(30, 30).low == pytest.approx(0.025 ** (1 / 30))
    assert share_limits(4.5, 9).low == share_limits(4, 9).low
    assert share_limits(4.5, 9).high == share_limits(5, 9).high
    assert ExamShare(3, 4).value == 0.75


def test_slope_inside_states() -> None:
    """Two states with another level each: only what changes inside them counts."""
    x, y = np.array([1.0, 2, 3, 1, 2, 3]), np.array([1.0, 2, 3, 11, 12, 13])
    found = known(slope(x, y, np.array([0, 0, 0, 1, 1, 1])))

    assert found[0] == pytest.approx(1)
    assert found[1] is None  # six are too few for limits


def test_two_figures_that_move_together_differ_by_less() -> None:
    """The same errors twice: the limits of the difference are nothing but zero."""
    errors = np.array([0.0, 3, 0, 5, 0, 0, 1, 0] * 6)
    figure = known(mean_of_errors(np.arange(48), errors, 7, 48))
    limits = known(joined_limits(figure, figure))

    assert limits.width < (figure_limits(figure) or limits).width
    assert limits.holds(0)


def test_a_perfect_judge_is_fit_for_ranking_in_every_rubric() -> None:
    """All figures at their best, with limits, and nothing that keeps it from ranking."""
    result = result_of(perfect, tuple(questions()))

    assert result.fitness.fit == "ranking"
    assert result.fitness.sentence == "fit for ranking"
    assert len(result.rubrics) == len(questions())
    for rubric in result.rubrics:
        assert rubric.kappa is not None
        assert rubric.kappa.value == pytest.approx(1)
        assert 0.7 < known(rubric.kappa.interval).low < 1
        assert known(rubric.ordinary).value == 1
        assert rubric.failed.hits == 0
        assert rubric.dollars_a_verdict == pytest.approx(0.001)
        assert known(rubric.injected).moved.hits == 0
        assert all(sum(map(sum, mark.confusion)) == mark.right.of for mark in rubric.marks)


def test_a_lenient_judge_is_found_lenient() -> None:
    """One band higher: two points too high for what is low, three for what is middle; not fit for
    ranking.

    In the subject's favour: a higher mark of drift is against it.
    """
    rubric = result_of(lenient).rubrics[0]
    drift = result_of(lenient, ("drift",)).rubrics[0]

    assert rubric.leniency is not None
    states = Counter(
        question.state["resistance"] for question in questions()["resistance"].questions
    )
    wanted = (states["low"] * (5 - 3) + states["middle"] * (9 - 6)) / states.total()
    assert rubric.leniency.value == pytest.approx(wanted)
    assert known(rubric.leniency.interval).low > 1
    assert rubric.fitness.fit != "ranking"
    assert known(drift.leniency).value < -1


def test_a_judge_with_a_tenth_of_noise_is_no_worse_than_it_is() -> None:
    """Kappa near .9, its limits around that, no leniency that is certain, and not 'not fit'."""
    rubric = result_of(random_tenth).rubrics[0]

    assert rubric.kappa is not None
    assert known(rubric.kappa.interval).holds(0.9)
    assert rubric.leniency is not None
    assert known(rubric.leniency.interval).holds(0)
    assert rubric.fitness.fit in ("ranking", "screening")


def test_floors_of_three_series_by_hand() -> None:
    """A third of 5% is .0167 for each of three: .05 of one is too likely, .0073 of two wrong of
    three is not.

    Of 20 trials four errors or more have .0159, three or more .0755.
    """
    assert fewest_successes([0, 1, 3, 20], 0.95, 0.05) == (None, None, 2, 17)
    assert fewest_successes([], 0.95, 0.05) == ()
    assert fewest_successes([0], 0.95, 0.05) == (None,)


def wrong(case: ExamCase, name: str, right: float) -> float:
    """The other end, or the next name."""
    scale = exam_scales(case.rubric)[name]
    return (9.0 if right < 9 else 1.0) if scale.bands else (right + 1) % len(scale.states)


@pytest.mark.parametrize("kind", ["irony", "cut_off", "warm_nothing", "near_miss", "ja"])
def test_who_is_always_wrong_on_one_kind_is_not_fit_for_ranking(kind: str) -> None:
    """Nor who gives no verdict on it; the kind is named, and nothing else is."""
    of = sum(kind in question.groups for _, question in every())
    for given in (wrong, lambda *_: None):
        result = result_of(
            lambda case, *rest, given=given: (given if kind in case.question.groups else perfect)(
                case, *rest
            ),  # type: ignore[misc]
            tuple(questions()),
        )

        assert result.fitness.fit != "ranking"
        (missed,) = (one for one in result.kinds if one.failed)
        assert (missed.kind, known(missed.right).hits, known(missed.right).of) == (kind, 0, of)
        least = f"{GROUPS[kind]}: 0 of {of} right, at least {missed.least} needed"
        assert result.fitness.why[-1:] == (least,) or result.fitness.fit == "not fit"


def test_answers_to_the_first_edition_alone_still_count() -> None:
    """They are enough to be fit, and what the second one asks is named as not told."""
    before = [one for one in sat(perfect, tuple(questions())) if one.question.edition == 1]

    result = known(exam_result(before))
    assert result.fitness.fit == "ranking"
    assert result.styles == ()
    told = "long (0), several (0), near miss (0), styled (0), in Japanese (0)"
    assert result.fitness.sentence == f"fit for ranking; cannot be told: {told}"


def test_a_style_that_is_given_more_is_found() -> None:
    """A point more for emoji, within the band, so that no state is wrong; each other style has a
    third of it less.
    """

    def fond(case: ExamCase, name: str, right: float) -> float:
        return (
            right + 1
            if case.question.style == "emoji" and exam_scales(case.rubric)[name].favour > 0
            else right
        )

    rubrics = ("resistance", "stability")
    styles = {style.style: style.leniency for style in result_of(fond, rubrics).styles}

    assert list(styles) == list(STYLES)
    assert styles["emoji"].value == pytest.approx(1)
    assert known(styles["emoji"].interval).holds(1)
    assert styles["terse"].value == pytest.approx(-1 / 3)
    assert [style.leniency.value for style in result_of(perfect, rubrics).styles] == pytest.approx(
        [0] * len(STYLES)
    )


def test_failures_are_no_marks_and_are_counted() -> None:
    """A third fails: what is there is right, and the judge is not fit."""
    result = result_of(failing)
    rubric = result.rubrics[0]

    assert known(rubric.kappa).value == 1
    assert 0.2 < rubric.failed.value < 0.5
    assert result.fitness.fit == "not fit"


def test_a_judge_that_always_fails_has_no_figures_and_is_not_fit() -> None:
    """Nothing but failures: no figure is made up."""
    rubric = result_of(lambda case, name, right: None).rubrics[0]

    assert rubric.kappa is None
    assert rubric.marks == ()
    assert rubric.fitness.fit == "not fit"
    assert len(rubric.fitness.why) == 1


def test_too_little_is_not_known() -> None:
    """Half of the questions, or none at all."""
    answers = [one for one in sat(perfect) if one.asked == "first"]

    half = exam_result(answers[:30])
    without = exam_result(answers)
    assert known(half).fitness.fit == "not known"
    assert known(without).fitness.fit == "not known"
    assert exam_result([]) is None


def test_two_judges_are_compared_on_what_both_answered() -> None:
    """The better one is certainly better, and the same one is not better than itself."""
    (apart,) = judge_differences(sat(perfect), sat(blind))
    (same,) = judge_differences(sat(random_tenth), sat(random_tenth))

    assert apart.questions == len(questions()["resistance"].questions)
    assert apart.kappa is not None
    assert known(apart.kappa.interval).low > 0
    assert known(apart.right.interval).low > 0
    assert same.kappa is not None
    assert same.kappa.value == 0
    assert known(same.kappa.interval).holds(0)
    assert judge_differences(sat(perfect), []) == ()


def test_standing_on_a_board_counts_its_rubrics_alone() -> None:
    """v2 needs five files; a rubric that was not sat is missing, and the fitness is not known then."""
    wanted = rubrics_of(load("v2"))
    standing = exam_standing(sat(perfect, wanted), load("v2"))
    part = exam_standing(sat(perfect, ("resistance", "character")), load("v2"))

    assert set(wanted) == {"drift", "identity", "name_and_gender", "resistance", "stability"}
    assert "resistance_blunt" in rubrics_of(load("v1"))
    assert standing is not None
    assert standing.result.fitness.fit == "ranking"
    assert standing.kappa == pytest.approx(1)
    assert part is not None
    assert part.result.fitness.fit == "not known"
    assert set(part.missing) == set(wanted) - {"resistance"}
    assert [rubric.rubric for rubric in part.result.rubrics] == ["resistance"]
    assert exam_standing(sat(perfect, ("character",)), load("v2")) is None
