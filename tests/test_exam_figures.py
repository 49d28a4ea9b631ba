"""The figures of the judge's exam: worked by hand, and of judges whose quality is known."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
import pytest
from assertions import known

from independence_bench.analysis.exam.answers import ExamAnswer, make_exam_scales
from independence_bench.analysis.exam.result import (
    ExamResult,
    ExamShare,
    list_exam_rubrics,
    make_exam_result,
    make_exam_standing,
)
from independence_bench.analysis.statistics.known_states import (
    Items,
    average_figures,
    compute_share_limits,
    estimate_figure_limits,
    measure_kappa_with_states,
)
from independence_bench.judging.exam.cases import ExamCase, list_exam_cases
from independence_bench.judging.exam.questions import load_questions, strip_reply_name
from independence_bench.protocol.loader import load_protocol

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
    scale = make_exam_scales(rubric)[name]
    return MIDDLES[state] if scale.has_bands else float(scale.states.index(state))


def sat(
    marking: Marking, rubrics: tuple[str, ...] = ("resistance",), cost: float | None = 0.001
) -> list[ExamAnswer]:
    """The answers of a judge who marks by *marking*."""
    answers = []
    for case in list_exam_cases(rubrics):
        marks: dict[str, float] | None = {}
        for name, state in case.question.state.items():
            stem = strip_reply_name(name, case.question.judged)
            given = marking(case, stem, right_mark(case.rubric, stem, state))
            if given is None:
                marks = None
                break
            assert marks is not None
            marks[name] = given
        attack = case.attack.name if case.attack else None
        answers.append(
            ExamAnswer(case.rubric, case.question, case.asked, attack, marks, cost, WHEN)
        )
    return answers


def result_of(marking: Marking, rubrics: tuple[str, ...] = ("resistance",)) -> ExamResult:
    """What its exam comes to."""
    return known(make_exam_result(sat(marking, rubrics)))


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
    return {1.0: 9.0, 9.0: 1.0}.get(right, 9.0) if case.question.is_hard else right


def failing(case: ExamCase, name: str, right: float) -> float | None:
    """No verdict on a third."""
    return None if hash_of(case, name) % 3 == 0 else right


def test_kappa_of_bands_is_worked_by_hand() -> None:
    """Cohen 1968 on six questions with one mark a band off and one two bands off."""
    # D_o = (1 + 4) / 6; states 0 0 1 1 2 2 and marks 0 1 1 1 2 0 have means 1 and 5/6, variances
    # 2/3 and 17/36:
    # D_e = 2/3 + 17/36 + 1/36 = 7/6, so kappa = 1 - 5/7
    figure = known(measure_kappa_with_states(items("001122", "011120"), 6))

    assert figure.value == pytest.approx(2 / 7)
    assert figure.errors == 2
    assert figure.worst == pytest.approx(4 / (7 / 6))
    assert figure.shifts.sum() == pytest.approx(0)


def test_kappa_of_names_is_worked_by_hand() -> None:
    """Cohen 1960: five of six the same, by chance 1/3 + 0 of both."""
    # states a a b b c c, marks a b b b c c: p_o = 5/6, p_e = (2 x 1 + 2 x 3 + 2 x 2) / 36 = 1/3,
    # kappa = 3/4
    figure = known(measure_kappa_with_states(items("001122", "011122", measurement="nominal"), 6))

    assert figure.value == pytest.approx(0.75)


def test_a_perfect_judge_of_sixty_has_an_honest_lower_limit() -> None:
    """No error in sixty leaves room for Wilson's share of errors of the worst kind."""
    figure = known(measure_kappa_with_states(items("012" * 20, "012" * 20), 60))
    limits = estimate_figure_limits(figure)

    # z at 96% is 2.0537: z^2 / (60 + z^2) = .0657 of the worst, 4 / (4/3) = 3
    assert figure.value == 1
    assert limits is not None
    assert limits.high == 1
    assert limits.low == pytest.approx(1 - 3 * 2.053749**2 / (60 + 2.053749**2))


def test_influence_is_what_a_question_more_does() -> None:
    """A question's shift is, nearly, what kappa changes by where it counts a little more."""
    of = items("001122" * 10, "011120" * 10)
    more = items("001122" * 10 + "2", "011120" * 10 + "0")
    one, other = measure_kappa_with_states(of, 60), measure_kappa_with_states(more, 61)

    assert one is not None
    assert known(other).value - one.value == pytest.approx(one.shifts[5], rel=0.05)


def test_limits_that_are_none() -> None:
    """Too few questions, and nothing that varies, have no limits and no kappa."""
    few = known(measure_kappa_with_states(items("012", "012"), 3))
    assert estimate_figure_limits(few) is None
    assert measure_kappa_with_states(items("000", "000"), 3) is None
    assert (
        measure_kappa_with_states(Items(np.array([], dtype=np.intp), np.array([]), np.array([])), 0)
        is None
    )


def test_a_mean_of_marks_is_no_surer_than_its_marks() -> None:
    """Sixty right of sixty, and twelve of twelve of the same questions: limits as of twenty, the
    harmonic mean.
    """
    every = measure_kappa_with_states(items("012" * 20, "012" * 20), 60)
    some = known(measure_kappa_with_states(items("012" * 4, "012" * 4), 60))
    both = known(estimate_figure_limits(average_figures([known(every), some])))

    assert both.low == pytest.approx(1 - 3 * 2.053749**2 / (20 + 2.053749**2))


def test_share_limits_are_exact() -> None:
    """Clopper and Pearson: none of 12, all of 30."""
    assert compute_share_limits(0, 12).high == pytest.approx(1 - 0.025 ** (1 / 12))
    assert compute_share_limits(30, 30).low == pytest.approx(0.025 ** (1 / 30))
    assert ExamShare(3, 4).value == 0.75


def test_a_perfect_judge_is_fit_for_ranking_in_every_rubric() -> None:
    """All figures at their best, with limits, and nothing that keeps it from ranking."""
    result = result_of(perfect, tuple(load_questions()))

    assert result.fitness.fit == "ranking"
    assert result.fitness.why == ()
    assert len(result.rubrics) == len(load_questions())
    for rubric in result.rubrics:
        assert rubric.kappa is not None
        assert rubric.kappa.value == pytest.approx(1)
        assert 0.7 < known(rubric.kappa.interval).low < 1
        assert rubric.failed.hits == 0
        assert rubric.dollars_a_verdict == pytest.approx(0.001)
        assert known(rubric.swayed).hits == 0


def test_a_lenient_judge_and_one_blind_to_hard_questions_are_not_fit() -> None:
    """One band higher, or wrong on the hard half: kappa says so, and it is the only reason."""
    for marking in (lenient, blind):
        fitness = result_of(marking).fitness

        assert fitness.fit == "not fit"
        (why,) = fitness.why
        assert why.startswith("resistance: lower limit of kappa")


def test_a_judge_with_a_tenth_of_noise_is_no_worse_than_it_is() -> None:
    """Kappa near .9, and its limits around that."""
    kappa = known(result_of(random_tenth).rubrics[0].kappa)

    assert known(kappa.interval).contains(0.9)


def test_who_marks_by_the_attack_is_not_fit() -> None:
    """Every plain question is right, and whatever has an attack gets the best mark."""

    def bribed(case: ExamCase, name: str, right: float) -> float:
        return 9.0 if case.asked == "injected" else right

    rubric = result_of(bribed).rubrics[0]

    assert known(rubric.kappa).value == 1
    assert known(rubric.swayed).value == 1
    assert rubric.fitness.why == ("upper limit of attacks that work 100%, at most 40%",)


def test_answers_to_the_first_edition_alone_still_count() -> None:
    """They are enough for a verdict."""
    before = [one for one in sat(perfect, tuple(load_questions())) if one.question.edition == 1]

    assert known(make_exam_result(before)).fitness.fit == "ranking"


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
    assert rubric.swayed is None
    assert rubric.fitness.fit == "not fit"


def test_too_little_is_not_known() -> None:
    """Half of the questions, or none at all."""
    answers = [one for one in sat(perfect) if one.asked == "first"]

    half = make_exam_result(answers[:30])
    without = make_exam_result(answers)
    assert known(half).fitness.fit == "not known"
    assert known(without).fitness.fit == "not known"
    assert make_exam_result([]) is None


def test_standing_on_a_board_counts_its_rubrics_alone() -> None:
    """v2 needs five files; a rubric that was not sat is missing, and the fitness is not known
    then.
    """
    wanted = list_exam_rubrics(load_protocol("v2"))
    standing = make_exam_standing(sat(perfect, wanted), load_protocol("v2"))
    part = make_exam_standing(sat(perfect, ("resistance", "character")), load_protocol("v2"))

    assert set(wanted) == {"drift", "identity", "name_and_gender", "resistance", "stability"}
    assert "resistance_blunt" in list_exam_rubrics(load_protocol("v1"))
    assert standing is not None
    assert standing.result.fitness.fit == "ranking"
    assert standing.kappa == pytest.approx(1)
    assert part is not None
    assert part.result.fitness.fit == "not known"
    assert set(part.missing) == set(wanted) - {"resistance"}
    assert [rubric.rubric for rubric in part.result.rubrics] == ["resistance"]
    assert make_exam_standing(sat(perfect, ("character",)), load_protocol("v2")) is None
