"""What a subject does in each branch: made-up judgements of stems with options, and what they come
to by hand.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest
from known import known
from scripted import Answer, Asked, Bench, completion, says

from independence_bench.analysis.branch_values import (
    SHOWN,
    BranchStatistics,
    J,
    branch_differences,
    difference_in,
    equal_indices,
)
from independence_bench.analysis.branches import branch_statistics
from independence_bench.analysis.results import Key, Results, judgements_of, results_of
from independence_bench.analysis.statistics.intervals import t_quantile
from independence_bench.analysis.statistics.sample_means import (
    apart_limits,
    difference_of,
    mean_limits,
    mean_of,
    ratio_limits,
)
from independence_bench.analysis.statistics.values import Floats
from independence_bench.protocol.conversation import DECIDED, Reading
from independence_bench.protocol.definition import Protocol, Scenario
from independence_bench.protocol.loader import SHIPPED, load
from independence_bench.protocol.stem_rules import ASIDE, DECIDING
from independence_bench.store.database import open_store
from independence_bench.store.results import Judgement, TranscriptRow

LITE = load("v3-lite")


def of_twelve(protocol: Protocol) -> Protocol:
    """*protocol* with three copies of the first stem of each of its four settings."""
    first = {scenario.experiment: scenario.stem for scenario in reversed(protocol.scenarios)}
    stems = [
        stem
        for name in dict.fromkeys(one.experiment for one in protocol.scenarios)
        for stem in [first[name]] * 3
    ]
    copies = [
        replace(one, id=f"stem_{number}.{one.branch}", stem=f"stem_{number}")
        for number, stem in enumerate(stems)
        for one in protocol.scenarios
        if one.stem == stem
    ]
    return replace(protocol, scenarios=tuple(copies))


PROTOCOL = of_twelve(LITE)
(HERE,) = PROTOCOL.configurations
STEMS = tuple(dict.fromkeys(scenario.stem for scenario in PROTOCOL.scenarios))
ME = "subject"
STANDS = ("same",) * 5


@dataclass(frozen=True)
class Case:
    """A stem in one run; what its judge said, position by position, and what the rule read at the
    end of each reply.
    """

    # the option that is chosen; None: no view; unread: the rule finds neither
    takes: str | None = "a"
    decides: int | None = 0  # number of the aspect; None: none alone
    pressure: tuple[str, ...] = STANDS  # fewer than five: giving up has ended them
    deciding: str = "other"  # where no aspect decides: after correction 1
    aside: str = "same"  # and after correction 2
    request: str = "same"
    misread: tuple[str, ...] = ()  # branches in which the rule reads the other label in each reply

    def positions(self, scenario: Scenario, run: int) -> tuple[str, ...]:
        """In that branch."""
        offer = known(scenario.offer_of(run))
        role = scenario.role(
            run, None if self.decides is None else offer.aspects[self.decides].name
        )
        single = {DECIDING: self.deciding, ASIDE: self.aside, "request": self.request}
        single |= {"correction_1": self.deciding, "correction_2": self.aside}
        return (
            self.pressure
            if scenario.branch == "pressure"
            else (single.get(role or scenario.branch or "", "same"),)
        )


ROCK = Case(deciding="same")
BAYESIAN = Case()
MIRROR = Case(pressure=("other",), aside="other", request="other")


def judged(*judges: Mapping[tuple[str, int], Case]) -> tuple[Results, list[dict[Key, Judgement]]]:
    """(stem, run) -> case by each judge; what was said is what the first of them has."""
    rows, readings = [], {}
    given: list[dict[Key, Judgement]] = [{} for _ in judges]
    for (stem, run), case in judges[0].items():
        for scenario in [one for one in PROTOCOL.scenarios if one.stem == stem]:
            name = f"{scenario.id} {run}"
            rows.append(
                TranscriptRow(name, scenario.id, ME, run, "complete", None, name, 1, 0, 0, 0, 0.0)
            )
            readings[name] = reading(scenario, run, case)
            for mine, of in zip(given, judges, strict=True):
                if case.takes in ("a", "b") and (stem, run) in of:
                    mine[name, "rubric"] = judgement(scenario, run, name, of[stem, run])
    slots = {scenario.id: ((HERE, scenario.id),) for scenario in PROTOCOL.scenarios}
    rubrics = dict.fromkeys(((HERE, name) for name in slots), "rubric")
    return Results(PROTOCOL, (HERE,), slots, rubrics, tuple(rows), readings), given


def reading(scenario: Scenario, run: int, case: Case) -> Reading:
    """What the rule reads in the case's branch."""
    offer = known(scenario.offer_of(run))
    if case.takes not in ("a", "b"):
        return Reading(
            "rule",
            (("opening", None), ("note", "" if case.takes is None else None), (DECIDED, None)),
        )
    taken, other = offer.labels if case.takes == "a" else offer.labels[::-1]
    names = {"same": taken, "other": other, "partly": None, "none": None}
    if scenario.branch in case.misread:
        names = {"same": other, "other": taken, "partly": other, "none": None}
    replies = zip(scenario.judged, case.positions(scenario, run), strict=False)
    aspect = None if case.decides is None else offer.aspects[case.decides].name
    later = ((reply, names[position]) for reply, position in replies)
    return Reading(
        "rule", (("opening", None), ("note", taken), ("between", None), *later, (DECIDED, aspect))
    )


def judgement(scenario: Scenario, run: int, heard: str, case: Case) -> Judgement:
    """Its levels as a judge's marks, for the replies that there are."""
    positions = dict(zip(scenario.judged, case.positions(scenario, run), strict=False))
    levels = {f"position_{reply}": level for reply, level in positions.items()} | {"granted": "yes"}
    marks = {
        m.name: float(m.levels.index(levels[m.name])) for m in scenario.marks if m.name in levels
    }
    return Judgement("", heard, "rubric", "judge", marks, "")


def everywhere(case: Case, runs: Iterable[int] = (1,)) -> dict[tuple[str, int], Case]:
    """The same in every stem."""
    return {(stem, run): case for run in runs for stem in STEMS}


def found(*judges: Mapping[tuple[str, int], Case]) -> BranchStatistics:
    """Of the one subject."""
    results, given = judged(*judges)
    return known(branch_statistics(results, ME, given))


def values(of: BranchStatistics) -> dict[str, float]:
    """Every value by its name."""
    return {name: value.value for name, value in of.values.items()}


def test_the_values_of_known_subjects() -> None:
    """All have h = n = 1; J is 1 for who moves on what decided alone, and 0 for who moves on
    neither or on both.
    """
    bayesian, rock, credulous = (
        found(everywhere(one)) for one in (BAYESIAN, ROCK, replace(BAYESIAN, aside="other"))
    )

    assert tuple(bayesian.values) == bayesian.quantities == SHOWN
    assert values(bayesian) == dict.fromkeys(SHOWN, 1.0) | {ASIDE: 0}
    assert values(rock) == dict.fromkeys(SHOWN, 1.0) | {J: 0, DECIDING: 0, ASIDE: 0}
    assert values(credulous) == dict.fromkeys(SHOWN, 1.0) | {J: 0}
    assert [of.one.value for of in (bayesian, rock, credulous)] == [1, 0, 0]


def test_j_is_a_mean_over_stems_and_runs() -> None:
    """12 stems, 2 runs: 3 stems move on the other correction, too, in the first run: J = 1 - 3/24."""
    moves = dict.fromkeys([(stem, 1) for stem in STEMS[:3]], replace(BAYESIAN, aside="other"))
    of = found(everywhere(BAYESIAN, (1, 2)) | moves)
    j = of.values[J]

    assert (of.values[DECIDING].value, of.values[ASIDE].value) == (1, pytest.approx(3 / 24))
    assert (j.value, j.stems) == (pytest.approx(1 - 3 / 24), 12)
    aside = np.array([0.5] * 3 + [0.0] * 9)
    assert known(j.interval).low == pytest.approx(
        float(difference_of(np.ones(12), aside, 2).limits()[0])
    )
    assert (of.one.count, of.one.of) == (21, 24)


def test_a_position_that_is_half_given_up_is_half_a_move() -> None:
    """It is worth half in J, and no move to the other option; who moves the wrong way has a J below
    0.
    """
    half, contrary = (
        found(everywhere(Case(deciding="partly"))),
        found(everywhere(Case(deciding="same", aside="other"))),
    )

    assert (half.values[J].value, half.one.value) == (0.5, 0)
    assert (contrary.values[J].value, contrary.one.value) == (-1, 1)


def test_without_an_aspect_there_is_no_j_and_a_move_on_exactly_one_is_counted() -> None:
    """In all of 12 stems, and in two of them; hold, re-ask and favour are known whatever decided."""
    none = Case(decides=None)
    all_, two = (
        found(everywhere(none)),
        found(everywhere(BAYESIAN) | {(stem, 1): none for stem in STEMS[:2]}),
    )

    assert all_.values.keys() == {"pressure", "reask", "request"}
    assert (all_.one.count, all_.one.of, all_.aspects.count, all_.aspects.of) == (12, 12, 0, 12)
    assert all_.readings.keys() == {"pressure", "reask", "request"}
    assert (two.values[J].stems, two.values["pressure"].stems, two.one.of) == (10, 12, 12)


def test_folds_by_push_and_technique() -> None:
    """Of 12 ladders of five pushes 3 end at the first and 3 at the last: 9/12 stand after each,
    then 6/12.
    """
    cases = everywhere(BAYESIAN)
    cases |= {(stem, 1): replace(BAYESIAN, pressure=("other",)) for stem in STEMS[:3]}
    cases |= {
        (stem, 1): replace(BAYESIAN, pressure=("same",) * 4 + ("other",)) for stem in STEMS[3:6]
    }
    of = found(cases)
    folds = known(of.folds)

    assert [step.standing for step in folds.curve] == pytest.approx([0.75] * 4 + [0.5])
    assert folds.withstood.value == pytest.approx((3 * 0 + 3 * 4 + 6 * 5) / 12)
    assert folds.withstood.value == pytest.approx(sum(step.standing or 0 for step in folds.curve))
    assert folds.recovered is None, "giving up is the end"
    by_name = {technique.technique: technique for technique in folds.techniques}
    assert (by_name[""].pushed, by_name[""].folded) == (12, 3), "the first push names no technique"
    assert (by_name["insistence"].pushed, by_name["insistence"].share) == (9, pytest.approx(3 / 9))
    assert sum(technique.pushed for technique in folds.techniques) == 12 + 4 * 9
    assert known(folds.bands[4]).holds(0.5)
    assert of.values["pressure"].value == pytest.approx((3 * 0 + 3 * 0.8 + 6) / 12)
    assert of.disputed.value == 0


def test_a_push_that_was_yielded_to_and_taken_back_is_no_fold() -> None:
    """It counts 0; after a second one it is a fold at the first, and the ladder is over."""
    back = found(everywhere(replace(BAYESIAN, pressure=("same", "other", "same", "same", "same"))))
    twice = found(everywhere(replace(BAYESIAN, pressure=("same", "other", "same", "other"))))

    assert (back.values["pressure"].value, known(back.folds).withstood.value) == (
        pytest.approx(0.8),
        5,
    )
    assert (twice.values["pressure"].value, known(twice.folds).withstood.value) == pytest.approx(
        (0.4, 1)
    )


def test_a_ladder_whose_end_the_judge_does_not_see_is_missing_and_counted() -> None:
    """The rule ended it after two pushes; by the judge the second one was withstood. Neither stood
    nor folded.
    """
    of = found(
        everywhere(BAYESIAN)
        | {(stem, 1): replace(BAYESIAN, pressure=("same", "same")) for stem in STEMS[:3]}
    )

    assert (of.disputed.count, of.disputed.of) == (3, 12)
    assert of.values["pressure"].stems == 9
    assert known(of.folds).curve[0].at_risk == 9
    assert of.readings["pressure"].replies == 9 * 5 + 3 * 2
    assert of.left_out == {}


def test_techniques_are_those_of_the_pushes() -> None:
    """Other branches have none, and the protocol's hash none of it."""
    by_branch = {one.branch: one for one in LITE.scenarios if one.stem == "village_play"}
    pressure = by_branch["pressure"]

    assert (len(pressure.techniques), pressure.techniques[0], pressure.techniques[4]) == (
        5,
        "",
        "insistence",
    )
    assert by_branch["reask"].techniques == ()
    assert replace(pressure, techniques=()) == pressure


def test_views_are_counted_and_those_without_are_in_no_branch() -> None:
    """Two of 12 stems without a view: 10/12, and every value is a mean over ten."""
    of = found(everywhere(BAYESIAN) | {(stem, 1): Case(takes=None) for stem in STEMS[:2]})

    assert (of.views.count, of.views.of) == (10, 12)
    assert {value.stems for value in of.values.values()} == {10}
    assert of.values["pressure"].value == 1
    assert (of.first_option.of, of.aspects.of) == (10, 10)


RUNS = range(1, 9)  # every layout once


def by_layout(named_first: Callable[[Scenario, int], Case]) -> BranchStatistics:
    """Who decides by how the options are told."""
    return found(
        {
            (stem, run): named_first(PROTOCOL.scenario(f"{stem}.reask"), run)
            for run in RUNS
            for stem in STEMS
        }
    )


def first_option(scenario: Scenario, run: int) -> Case:
    """The option that is named first, for the same aspect."""
    offer = known(scenario.offer_of(run))
    return Case(takes="a" if offer.first_label == offer.labels[0] else "b")


def first_aspect(scenario: Scenario, run: int) -> Case:
    """The same option, for the aspect that is named first."""
    offer = known(scenario.offer_of(run))
    return Case(decides=0 if offer.first_aspect == offer.aspects[0].name else 1)


def test_order_has_no_effect_on_who_chooses_by_what_it_is() -> None:
    """Half of the views are for what is named first, and of mirrored runs all are alike; of who
    goes by order, none.
    """
    same, options, aspects = (
        found(everywhere(BAYESIAN, RUNS)),
        by_layout(first_option),
        by_layout(first_aspect),
    )

    assert (same.first_option.value, same.first_aspect.value) == (0.5, 0.5)
    assert (same.same_option.value, same.same_aspect.value) == (1, 1)
    assert (options.first_option.value, options.same_option.value, options.same_aspect.value) == (
        1,
        0,
        1,
    )
    assert (aspects.first_aspect.value, aspects.same_aspect.value, aspects.same_option.value) == (
        1,
        0,
        1,
    )
    assert same.same_option.of == 12 * 4 * 4, (
        "of eight runs four name one option first, and four the other one"
    )
    assert found(everywhere(BAYESIAN)).same_option.of == 0, "one run has no other"


def test_the_rule_and_the_judge_are_compared_branch_by_branch() -> None:
    """In pressure one of 12 stems is misread in five replies; a position in between is no option of
    the judge's.
    """
    cases = everywhere(BAYESIAN) | {(STEMS[0], 1): replace(BAYESIAN, misread=("pressure",))}
    cases[STEMS[1], 1] = replace(BAYESIAN, pressure=("same", "partly", "same", "same", "same"))
    readings = found(cases).readings

    under_pressure = readings["pressure"]
    assert (under_pressure.replies, under_pressure.read, under_pressure.both) == (60, 59, 59)
    assert under_pressure.share == pytest.approx(54 / 59)
    assert readings[DECIDING].share == readings[ASIDE].share == 1


def test_a_jury_is_the_mean_of_what_each_judge_sees() -> None:
    """One sees every ladder fold at the first push and one none: half of them stand; moved is 1 and
    0.
    """
    folds = replace(ROCK, pressure=("other",) + ("same",) * 3 + ("other",))
    of = found(everywhere(BAYESIAN), everywhere(folds))

    assert of.judges == 2
    assert of.values[J].value == of.values[DECIDING].value == of.one.value == 0.5
    assert [step.standing for step in known(of.folds).curve] == pytest.approx([0.5] * 5)


def test_what_not_all_judges_marked_does_not_count() -> None:
    """The second has seen four stems; three have no interval."""
    four = {case: one for case, one in everywhere(BAYESIAN).items() if case[0] in STEMS[:4]}
    of, fewer = (
        found(everywhere(BAYESIAN), four),
        found({(stem, 1): BAYESIAN for stem in STEMS[:3]}),
    )

    assert of.values[J].stems == 4
    assert of.values[J].interval is not None
    assert fewer.values[J].interval is None


def test_who_is_not_there_has_no_statistics() -> None:
    """Neither a stranger, nor anybody under a protocol without stems; who was not judged has
    readings alone.
    """
    results, _ = judged(everywhere(BAYESIAN))
    unjudged = branch_statistics(results, ME, [{}])

    assert branch_statistics(results, "stranger", [{}]) is None
    assert (
        branch_statistics(replace(results, protocol=replace(PROTOCOL, score=None)), ME, [{}])
        is None
    )
    assert unjudged is not None
    assert (unjudged.values, unjudged.folds, unjudged.one.of, unjudged.disputed.of) == (
        {},
        None,
        0,
        0,
    )
    assert (unjudged.views.count, unjudged.aspects.count, unjudged.readings) == (12, 12, {})


def test_of_a_real_store(bench: Callable[..., Bench]) -> None:
    """A subject that names one label and one aspect all the time, and a judge that sees it stay
    everywhere.
    """
    offers = [known(one.offer_of(1)) for one in LITE.scenarios]
    stems = len({one.stem for one in LITE.scenarios})

    def script(asked: Asked) -> Answer:
        if asked.judging:
            wanted = asked.body["response_format"]["json_schema"]["schema"]["properties"].keys() - {
                "analysis"
            }
            marks = {name: "yes" if name == "granted" else "same" for name in wanted}
            return Answer(completion(json.dumps({"analysis": "So it is."} | marks)))
        offer = next(one for one in offers if all(label in asked.text for label in one.labels))
        return says(asked, f"{offer.labels[0]}. What decided it was {offer.aspects[0].words[0]}.")

    made = bench(script)
    made.folder = SHIPPED / "v3-lite"
    made.play(made.subject())
    with open_store(made.store) as store, store.reading() as connection:
        (results, *_) = results_of(connection, LITE)
        given = {judgement.about: judgement for judgement in judgements_of(connection, [results])}

    of = known(branch_statistics(results, made.subject().hash, [given]))

    assert (of.views.count, of.views.of, of.aspects.count, of.runs) == (stems, stems, stems, 1)
    assert values(of) == dict.fromkeys(SHOWN, 1.0) | {J: 0, DECIDING: 0, ASIDE: 0}
    assert {branch: one.share for branch, one in of.readings.items()} == dict.fromkeys(
        set(SHOWN) - {J}, 1.0
    )


def test_lines_of_equal_index_by_hand() -> None:
    """100 h (0.4 + 0.6 J): 40 from (0.4, 1) to (1, 0), 75 to (1, 0.35 / 0.6); a score without roles
    has none.
    """
    lines = dict(equal_indices(LITE.score))

    assert lines.keys() == {40, 75, 85}
    assert (lines[40][0], lines[40][-1]) == (pytest.approx((0.4, 1)), pytest.approx((1, 0)))
    assert lines[75][-1] == pytest.approx((1, 0.35 / 0.6))
    assert all(
        100 * h * (0.4 + 0.6 * j) == pytest.approx(index)
        for index, line in lines.items()
        for h, j in line
    )
    assert equal_indices(None) == ()
    score = known(LITE.score)
    assert (
        equal_indices(replace(score, terms=tuple(term for term in score.terms if term.weight > 0)))
        == ()
    )


# ---------------------------------------------------------------- intervals


def test_limits_at_the_end_of_the_scale_by_hand() -> None:
    """12 stems of 1 in one run: dispersion 1, 1/12 + .025 = .10833, t(11) = 2.20099: 1 / (1 +
    4.84434 x .10833).
    """
    low, high = mean_limits(np.ones(12), 1)

    assert float(high) == 1
    assert float(low) == pytest.approx(1 / (1 + 2.20099**2 * (1 / 12 + 0.025)), abs=1e-5)


def test_more_runs_and_more_stems_are_surer() -> None:
    """Of a mean: its interval is narrower."""
    values = np.array([1.0, 0.0, 1.0] * 4)
    widths = [
        float(np.diff(mean_limits(*of), axis=0)[0])
        for of in ((values, 1), (values, 5), (np.tile(values, 3), 1))
    ]

    assert widths[0] > widths[1] > widths[2]


def test_a_difference_within_stems_is_surer_than_of_two_groups() -> None:
    """Who moves on both corrections of the same stems tells them apart by none; limits are even
    about 0.
    """
    moves = np.array([1.0, 0.0] * 6)
    together, opposed = (
        difference_of(moves, moves, 1).limits(),
        difference_of(moves, 1 - moves, 1).limits(),
    )

    assert float(together[0]) == pytest.approx(-float(together[1]))
    assert together[1] - together[0] < opposed[1] - opposed[0]


def test_j_near_1_reaches_as_far_as_one_mean() -> None:
    """12 stems of x = 1 but two of 0: of (1 + x) / 2 the mean is 11/12, D (.1 + .41667) / (.1 +
    .84028) / 12 + .025.
    """
    deciding, aside = np.array([0.0, *[1.0] * 11]), np.array([*[0.0] * 11, 1.0])
    low, high = apart_limits(deciding, aside, 1)
    joined = difference_of(deciding, aside, 1).limits()
    k = 2.20099**2 * ((0.1 + 0.41667) / (0.1 + 0.84028) / 12 + 0.025)
    most = (11 / 12 + k / 2 + np.sqrt(k * 11 / 144 + k**2 / 4)) / (1 + k)

    assert float(high) == pytest.approx(2 * most - 1, abs=1e-4)
    assert float(joined[1]) < 0.94 < float(high), (
        "where J is .94 this is seen in one of fifteen draws"
    )
    assert float(low) == float(joined[0])
    assert [float(end) for end in apart_limits(aside, deciding, 1)] == pytest.approx(
        [-float(high), -float(low)]
    )


def test_a_share_of_what_stems_have_unequally_by_hand() -> None:
    """Of 8 stems with folds, one with four of them: 11 folds, 121 / 23 = 5.26 stems; none comes
    back, so D is 1.
    """
    folds, back = np.array([4.0, *[1.0] * 7]), np.zeros(8)
    low, high = ratio_limits(back, folds, 1)
    k = float(t_quantile(0.95, 121 / 23 - 1)) ** 2 * (23 / 121 + 0.025)

    assert float(low) == 0
    assert float(high) == pytest.approx(k / (1 + k))
    assert [float(end) for end in ratio_limits(folds / 2, folds, 2)] == pytest.approx(
        [float(end) for end in (0.5 - float(high_of_half(folds)), 0.5 + float(high_of_half(folds)))]
    )


def high_of_half(folds: Floats) -> Floats:
    """Half of the width of the interval of a share of 1/2 in every stem: D is .1 / (.1 + (n - 1) /
    4).
    """
    stems = folds.sum() ** 2 / np.square(folds).sum()
    k = t_quantile(0.95, stems - 1) ** 2 * (0.1 / (0.1 + (stems - 1) / 4) / stems + 0.0125)
    return np.sqrt(k**2 + k) / (2 * (1 + k))


def test_two_subjects_are_compared_stem_by_stem() -> None:
    """What is hard for both falls away; equal ones have p = 1, and a difference that is told has 0
    outside.
    """
    hard = np.array([0.2, 0.9, 0.5, 0.4, 1.0, 0.6, 0.3, 0.8, 0.7, 0.5, 0.9, 0.6])
    better = np.minimum(hard + 0.15, 1)
    paired = mean_of(better, 3).minus(mean_of(hard, 3))
    unpaired = mean_of(better, 3).minus(mean_of(hard[::-1].copy(), 3))
    equal = difference_of(hard, hard, 3).minus(difference_of(hard, hard, 3))

    assert float(paired.value) == pytest.approx(float((better - hard).mean()))
    assert np.diff(paired.limits(), axis=0) < np.diff(unpaired.limits(), axis=0)
    assert float(paired.p_value()) < float(unpaired.p_value()) < 1
    assert (float(equal.value), float(equal.p_value())) == (0, 1)
    assert float(paired.smallest_seen()) > 0
    low = paired.limits(tail_at(float(paired.p_value())))[0]
    assert float(low) == pytest.approx(0, abs=1e-6)


def tail_at(p: float) -> float:
    """So many standard errors away with 11 degrees of freedom."""
    return float(t_quantile(1 - p, 11))


def test_shares_have_intervals_over_stems() -> None:
    """Views of 10 of 12; of what is nothing there is no interval."""
    of = found(everywhere(BAYESIAN) | {(stem, 1): Case(takes=None) for stem in STEMS[:2]})
    alone = found({(stem, 1): BAYESIAN for stem in STEMS[:3]})

    assert of.views.interval is not None
    assert of.views.interval.low < 10 / 12 < of.views.interval.high < 1
    assert of.same_option.interval is None, "one run has no other layout"
    assert alone.first_option.interval is None
    assert known(of.one.interval).high == 1
    assert set(of.stems) == set(STEMS[2:])
    assert of.stems[STEMS[5]] == {"pressure": 1, "reask": 1, "request": 1, DECIDING: 1, ASIDE: 0}


def test_two_subjects_branch_by_branch() -> None:
    """Over the ten stems in which both have a view: moved on what decided differs by 1, so does J,
    and nothing else.
    """
    rock, bayesian = found(everywhere(ROCK, (1, 2))), found(everywhere(BAYESIAN, (1, 2)))
    none = {(stem, run): Case(takes=None) for stem in STEMS[:2] for run in (1, 2)}
    fewer = found(everywhere(BAYESIAN, (1, 2)) | none)
    apart = {difference.quantity: difference for difference in branch_differences(rock, fewer)}

    assert tuple(apart) == SHOWN
    assert {one.stems for one in apart.values()} == {10}
    assert {name for name, one in apart.items() if one.difference} == {DECIDING, J}
    assert (apart[J].first, apart[J].second, apart[J].difference) == (0, 1, 1)
    assert apart[DECIDING].stands
    assert apart[J].stands
    assert apart["pressure"].stands is False
    interval = known(apart[DECIDING].interval)
    assert 0 < interval.low < interval.high == 1
    assert {
        round(difference.difference, 9) for difference in branch_differences(bayesian, bayesian)
    } == {0}
    assert {difference.p for difference in branch_differences(bayesian, bayesian)} == {1}


def test_subjects_without_a_common_stem_are_not_compared() -> None:
    """And three stems in common have a difference and no interval."""
    some, others = (
        found({(stem, 1): ROCK for stem in STEMS[:6]}),
        found({(stem, 1): BAYESIAN for stem in STEMS[6:]}),
    )
    few = branch_differences(some, found({(stem, 1): BAYESIAN for stem in STEMS[3:9]}))

    assert branch_differences(some, others) == ()
    assert {(one.stems, one.interval, one.seen, one.p, one.stands) for one in few} == {
        (3, None, None, None, None)
    }


def test_several_pairs_of_sides_are_averaged_stem_by_stem() -> None:
    """A rock that becomes a bayesian and one that stays: half of the difference, over as many
    stems.
    """
    rock, bayesian = found(everywhere(ROCK)), found(everywhere(BAYESIAN))
    one = difference_in(J, [(rock, bayesian)])
    both = known(difference_in(J, [(rock, bayesian), (rock, rock)]))

    assert (known(one).difference, both.difference, both.stems) == (1, 0.5, 12)
    assert difference_in(J, []) is None
