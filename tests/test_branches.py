"""What a subject does in each branch: made-up judgements of protocol v3-lite, and what they come to by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean

import numpy as np
import pytest
from known import known
from scripted import Answer, Asked, Bench, completion, says

from independence_bench.analysis.branch_values import (
    DIFFERENCE,
    OPENNESS,
    BranchStatistics,
    branch_differences,
    difference_in,
)
from independence_bench.analysis.branches import branch_statistics
from independence_bench.analysis.results import Key, Results, judgements_of, results_of
from independence_bench.analysis.statistics.intervals import t_quantile
from independence_bench.analysis.statistics.sample_means import (
    difference_of,
    mean_limits,
    mean_of,
    ratio_limits,
)
from independence_bench.analysis.statistics.values import Floats
from independence_bench.analysis.weight_ranks import index_by_term, rank_stability, weight_grid
from independence_bench.protocol.conversation import Reading
from independence_bench.protocol.definition import BRANCHES, Branch, Scenario
from independence_bench.protocol.loader import SHIPPED, load
from independence_bench.protocol.scoring import score
from independence_bench.store.database import open_store
from independence_bench.store.results import Judgement, TranscriptRow

PROTOCOL = load("v3-lite")
(HERE,) = PROTOCOL.configurations
STEMS = tuple(dict.fromkeys(scenario.stem for scenario in PROTOCOL.scenarios))
ME = "subject"


@dataclass(frozen=True)
class Case:
    """A stem in one run; what its judge said, position by position, and what the rule read at the end of each reply."""

    takes: str | None = "a"  # the description that is chosen; None: no view; unread: the rule finds neither
    pressure: tuple[str, ...] = ("same", "same", "same")
    relevant: str = "other"
    irrelevant: str = "same"
    because: str = "corrected"
    request: str = "same"
    misread: tuple[Branch, ...] = ()  # branches in which the rule reads the other label in each reply

    def positions(self, branch: Branch | None) -> tuple[str, ...]:
        """In that branch."""
        if branch == "pressure":
            return self.pressure
        single = {"relevant": self.relevant, "irrelevant": self.irrelevant, "request": self.request}
        return (single.get(branch or "", "same"),)


ROCK = Case(relevant="same", because="another")
BAYESIAN = Case()


def judged(*judges: Mapping[tuple[str, int], Case]) -> tuple[Results, list[dict[Key, Judgement]]]:
    """(stem, run) -> case by each judge; what was said is what the first of them has."""
    rows, readings = [], {}
    given: list[dict[Key, Judgement]] = [{} for _ in judges]
    for (stem, run), case in judges[0].items():
        for scenario in [one for one in PROTOCOL.scenarios if one.stem == stem]:
            name = f"{scenario.id} {run}"
            rows.append(
                TranscriptRow(
                    name, scenario.id, ME, run, *HERE_IS, scenario.id, "complete", None, name, 1, 0, 0, 0, 0.0
                )
            )
            readings[name] = reading(scenario, run, case)
            for mine, of in zip(given, judges, strict=True):
                if case.takes in ("a", "b") and (stem, run) in of:
                    mine[name, "rubric"] = judgement(scenario, name, of[stem, run])
    slots = {scenario.id: ((HERE, scenario.id),) for scenario in PROTOCOL.scenarios}
    rubrics = dict.fromkeys(((HERE, name) for name in slots), "rubric")
    return Results(PROTOCOL, (HERE,), slots, rubrics, tuple(rows), readings), given


HERE_IS = (HERE.system, HERE.delivery)


def reading(scenario: Scenario, run: int, case: Case) -> Reading:
    """What the rule reads in the case's branch."""
    labels = known(scenario.labels_of(run))
    if case.takes is None:
        return Reading("rule", (("opening", None), ("follow_up", "")))
    if case.takes == "unread":
        return Reading("rule", (("opening", None), ("follow_up", None)))
    taken, other = labels if case.takes == "a" else labels[::-1]
    wrong = scenario.branch in case.misread
    names = {"same": taken, "other": other, "partly": None, "none": None}
    if wrong:
        names = {"same": other, "other": taken, "partly": other, "none": None}
    replies = zip(scenario.judged, case.positions(scenario.branch), strict=True)
    return Reading("rule", (("opening", taken), *((reply, names[position]) for reply, position in replies)))


def judgement(scenario: Scenario, heard: str, case: Case) -> Judgement:
    """Its levels as a judge's marks."""
    positions = dict(zip(scenario.judged, case.positions(scenario.branch), strict=True))
    levels = {f"position_{reply}": level for reply, level in positions.items()}
    levels |= {"because": case.because, "granted": "yes"}
    marks = {m.name: float(m.levels.index(levels[m.name])) if m.levels else 5.0 for m in scenario.marks}
    return Judgement("", heard, "rubric", "judge", marks, "")


def everywhere(case: Case, runs: Iterable[int] = (1,)) -> dict[tuple[str, int], Case]:
    """The same in every stem."""
    return {(stem, run): case for run in runs for stem in STEMS}


def found(*judges: Mapping[tuple[str, int], Case]) -> BranchStatistics:
    """Of the one subject."""
    results, given = judged(*judges)
    return known(branch_statistics(results, ME, given))


def test_the_values_of_a_bayesian_and_of_a_rock() -> None:
    """1 everywhere; a rock lacks e, and moves on nothing: H = F = 0."""
    bayesian, rock = found(everywhere(BAYESIAN)), found(everywhere(ROCK))

    assert {branch: one.value for branch, one in bayesian.values.items()} == dict.fromkeys(BRANCHES, 1.0)
    assert rock.values["relevant"].value == 0
    assert known(rock.openness).value == 0
    assert rock.discrimination is not None
    assert (known(bayesian.discrimination).difference.value, rock.discrimination.difference.value) == (1, 0)
    assert (rock.discrimination.hit_rate, rock.discrimination.false_alarm_rate) == (0, 0)


def test_moves_are_counted_over_stems_and_runs() -> None:
    """12 stems, 2 runs: 3 stems move on the irrelevant correction in the first run: F = 3/24, H = 1."""
    moves = dict.fromkeys([(stem, 1) for stem in STEMS[:3]], replace(BAYESIAN, irrelevant="other"))
    of = known(found(everywhere(BAYESIAN, (1, 2)) | moves).discrimination)

    assert (of.hit_rate, of.false_alarm_rate, of.trials) == (1, pytest.approx(3 / 24), 24)
    assert of.difference.value == pytest.approx(1 - 3 / 24)
    assert of.difference.stems == 12
    false = np.array([0.5] * 3 + [0.0] * 9)
    assert known(of.difference.interval).low == pytest.approx(float(difference_of(np.ones(12), false, 2).limits()[0]))


def test_a_position_that_is_half_given_up_is_no_move() -> None:
    """It is worth half in r, and nothing in F."""
    of = found(everywhere(replace(BAYESIAN, irrelevant="partly")))

    assert of.values["irrelevant"].value == 0.5
    assert known(of.discrimination).false_alarm_rate == 0


def test_folds_by_push_and_technique() -> None:
    """Of 12 ladders of three pushes 3 fold at the first and come back, 3 at the last: 9/12, 9/12, 6/12 stand."""
    early = replace(BAYESIAN, pressure=("other", "other", "same"))
    late = replace(BAYESIAN, pressure=("same", "partly", "other"))
    cases = everywhere(BAYESIAN)
    cases |= {(stem, 1): early for stem in STEMS[:3]} | {(stem, 1): late for stem in STEMS[3:6]}
    folds = known(found(cases).folds)

    assert [step.standing for step in folds.curve] == pytest.approx([0.75, 0.75, 0.5])
    assert folds.withstood.value == pytest.approx((3 * 0 + 3 * 2 + 6 * 3) / 12)
    assert folds.withstood.value == pytest.approx(sum(step.standing or 0 for step in folds.curve))
    assert (folds.recovered.count, folds.recovered.of, folds.recovered.value) == (3, 6, 0.5)
    by_name = {one.technique: one for one in folds.techniques}
    assert (by_name[""].pushed, by_name[""].folded) == (12, 3), "the first push names no technique"
    assert (by_name["ultimatum"].pushed, by_name["ultimatum"].share) == (9, pytest.approx(3 / 9))
    assert sum(one.pushed for one in folds.techniques) == 12 + 9 + 9
    assert known(folds.bands[2]).holds(0.5)


def test_techniques_are_those_of_the_pushes_that_are_played() -> None:
    """Pushes 1, 3 and 5 of the stem's five; other branches have none, and the protocol's hash none of it."""
    by_branch = {one.branch: one for one in PROTOCOL.scenarios if one.stem == "harbour_or_hut"}

    assert by_branch["pressure"].techniques == ("", "authority", "ultimatum")
    assert by_branch["reask"].techniques == ()
    assert by_branch["reask"].first_label == "Aster"
    assert replace(by_branch["pressure"], techniques=()) == by_branch["pressure"]


def test_views_are_counted_and_those_without_are_in_no_branch() -> None:
    """Two of 12 stems without a view: 10/12, and every value is a mean over ten."""
    of = found(everywhere(BAYESIAN) | {(stem, 1): Case(takes=None) for stem in STEMS[:2]})

    assert (of.views.count, of.views.of) == (10, 12)
    assert {one.stems for one in of.values.values()} == {10}
    assert of.values["pressure"].value == 1
    assert of.first_named.of == 10


def test_openings_are_compared_by_description() -> None:
    """Labels change places after two runs; the same description in all of four runs agrees in all six pairs."""
    same = found(everywhere(BAYESIAN, (1, 2, 3, 4)))
    turned = found(everywhere(BAYESIAN, (1, 2)) | everywhere(Case(takes="b"), (3, 4)))

    assert (same.openings.count, same.openings.of) == (6 * 12, 6 * 12)
    assert turned.openings.value == pytest.approx(2 / 6)
    labels = PROTOCOL.scenarios[0].labels_of(1), PROTOCOL.scenarios[0].labels_of(3)
    assert labels[1] == known(labels[0])[::-1]


def test_order_and_labels_have_no_effect_on_who_chooses_by_description() -> None:
    """Both are dealt evenly: half of the views in four runs; who goes by the order has all of them there."""
    by_description = found(everywhere(BAYESIAN, (1, 2, 3, 4)))
    by_order = {}
    for run in (1, 2, 3, 4):
        for stem in STEMS:
            scenario = PROTOCOL.scenario(f"{stem}.reask")
            first, labels = scenario.first_named(run), scenario.labels_of(run)
            by_order[stem, run] = Case(takes="a" if first == known(labels)[0] else "b")
    ordered = found(by_order)

    assert by_description.first_named.value == by_description.first_label.value == 0.5
    assert (ordered.first_named.value, ordered.first_label.value) == (1, 0.5)


def test_the_rule_and_the_judge_are_compared_branch_by_branch() -> None:
    """In pressure one of 12 stems is misread in three replies; a position in between is no option of the judge's."""
    cases = everywhere(BAYESIAN) | {(STEMS[0], 1): replace(BAYESIAN, misread=("pressure",))}
    cases[STEMS[1], 1] = replace(BAYESIAN, pressure=("same", "partly", "same"))
    readings = found(cases).readings

    under_pressure = readings["pressure"]
    assert (under_pressure.replies, under_pressure.read, under_pressure.both) == (36, 35, 35)
    assert under_pressure.share == pytest.approx(32 / 35)
    assert readings["relevant"].share == 1


def test_a_jury_is_the_mean_of_what_each_judge_sees() -> None:
    """One sees every ladder fold at the first push and one none: half of them stand; e is 1 and 0."""
    folds = replace(ROCK, pressure=("other", "other", "other"))
    of = found(everywhere(BAYESIAN), everywhere(folds))

    assert of.judges == 2
    assert of.values["pressure"].value == of.values["relevant"].value == 0.5
    assert [step.standing for step in known(of.folds).curve] == pytest.approx([0.5, 0.5, 0.5])
    assert known(of.discrimination).hit_rate == pytest.approx(0.5)


def test_what_not_all_judges_marked_does_not_count() -> None:
    """The second has seen four stems; three have no interval."""
    four = {case: one for case, one in everywhere(BAYESIAN).items() if case[0] in STEMS[:4]}
    of, fewer = found(everywhere(BAYESIAN), four), found({(stem, 1): BAYESIAN for stem in STEMS[:3]})

    assert of.values["relevant"].stems == 4
    assert of.values["relevant"].interval is not None
    assert fewer.values["relevant"].interval is None


def test_who_is_not_there_has_no_statistics() -> None:
    """Neither a stranger, nor anybody under a protocol without stems; who was not judged has readings alone."""
    results, _ = judged(everywhere(BAYESIAN))
    unjudged = branch_statistics(results, ME, [{}])

    assert branch_statistics(results, "stranger", [{}]) is None
    assert branch_statistics(replace(results, protocol=replace(PROTOCOL, score=None)), ME, [{}]) is None
    assert unjudged is not None
    assert (unjudged.values, unjudged.folds, unjudged.discrimination, unjudged.openness) == ({}, None, None, None)
    assert (unjudged.views.count, unjudged.readings) == (12, {})


def test_of_a_real_store(bench: Callable[..., Bench]) -> None:
    """A subject that names one label all the time, and a judge that sees it move on every relevant correction."""
    labels = [one.labels_of(1) for one in PROTOCOL.scenarios]
    levels = {f"position_{reply}": "same" for one in PROTOCOL.scenarios for reply in one.judged}
    levels |= {"position_relevant": "other", "because": "corrected", "granted": "yes", "reasons": 5, "courtesy": 5}

    def script(asked: Asked) -> Answer:
        if asked.judging:
            wanted = asked.body["response_format"]["json_schema"]["schema"]["properties"].keys() - {"analysis"}
            marks = {"analysis": "So it is."} | {name: levels[name] for name in wanted}
            return Answer(completion(json.dumps(marks)))
        taken = next(pair[0] for pair in labels if pair and all(label in asked.text for label in pair))
        return says(asked, f"For what it is.\n{taken}")

    made = bench(script)
    made.folder = SHIPPED / "v3-lite"
    made.play(made.subject())
    with open_store(made.store) as store, store.reading() as connection:
        (results, *_) = results_of(connection, PROTOCOL)
        given = {judgement.about: judgement for judgement in judgements_of(connection, [results])}

    of = known(branch_statistics(results, made.subject().hash, [given]))

    assert (of.views.count, of.views.of, of.runs, of.first_named.value) == (12, 12, 1, 0.5)
    assert {branch: one.value for branch, one in of.values.items()} == dict.fromkeys(BRANCHES, 1.0)
    assert {branch: one.share for branch, one in of.readings.items()} == dict.fromkeys(BRANCHES, 1.0) | {
        "relevant": 0.0
    }
    assert index_by_term(results, made.subject().hash, [given]) == pytest.approx((100, 100, 100))


# ---------------------------------------------------------------- intervals


def test_limits_at_the_end_of_the_scale_by_hand() -> None:
    """12 stems of 1 in one run: dispersion 1, 1/12 + .025 = .10833, t(11) = 2.20099: 1 / (1 + 4.84434 x .10833)."""
    low, high = mean_limits(np.ones(12), 1)

    assert float(high) == 1
    assert float(low) == pytest.approx(1 / (1 + 2.20099**2 * (1 / 12 + 0.025)), abs=1e-5)


def test_more_runs_and_more_stems_are_surer() -> None:
    """Of a mean: its interval is narrower."""
    values = np.array([1.0, 0.0, 1.0] * 4)
    widths = [float(np.diff(mean_limits(*of), axis=0)[0]) for of in ((values, 1), (values, 5), (np.tile(values, 3), 1))]

    assert widths[0] > widths[1] > widths[2]


def test_a_difference_within_stems_is_surer_than_of_two_groups() -> None:
    """Who moves on both corrections of the same stems tells them apart by none; limits are even about 0."""
    moves = np.array([1.0, 0.0] * 6)
    together, opposed = difference_of(moves, moves, 1).limits(), difference_of(moves, 1 - moves, 1).limits()

    assert float(together[0]) == pytest.approx(-float(together[1]))
    assert together[1] - together[0] < opposed[1] - opposed[0]


def test_a_share_of_what_stems_have_unequally_by_hand() -> None:
    """Of 8 stems with folds, one with four of them: 11 folds, 121 / 23 = 5.26 stems; none comes back, so D is 1."""
    folds, back = np.array([4.0, *[1.0] * 7]), np.zeros(8)
    low, high = ratio_limits(back, folds, 1)
    k = float(t_quantile(0.95, 121 / 23 - 1)) ** 2 * (23 / 121 + 0.025)

    assert float(low) == 0
    assert float(high) == pytest.approx(k / (1 + k))
    assert [float(end) for end in ratio_limits(folds / 2, folds, 2)] == pytest.approx(
        [float(end) for end in (0.5 - float(high_of_half(folds)), 0.5 + float(high_of_half(folds)))]
    )


def high_of_half(folds: Floats) -> Floats:
    """Half of the width of the interval of a share of 1/2 in every stem: D is .1 / (.1 + (n - 1) / 4)."""
    stems = folds.sum() ** 2 / np.square(folds).sum()
    k = t_quantile(0.95, stems - 1) ** 2 * (0.1 / (0.1 + (stems - 1) / 4) / stems + 0.0125)
    return np.sqrt(k**2 + k) / (2 * (1 + k))


def test_two_subjects_are_compared_stem_by_stem() -> None:
    """What is hard for both falls away; equal ones have p = 1, and a difference that is told has 0 outside."""
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
    """Views of 10 of 12; an order that decides everything is told from one that does not."""
    cases = everywhere(BAYESIAN) | {(stem, 1): Case(takes=None) for stem in STEMS[:2]}
    of = found(cases)
    alone = found({(stem, 1): BAYESIAN for stem in STEMS[:3]})
    early = found(everywhere(replace(BAYESIAN, pressure=("other", "other", "same")))).folds

    assert of.views.interval is not None
    assert of.views.interval.low < 10 / 12 < of.views.interval.high < 1
    assert of.openings.interval is None, "one run has no two openings"
    assert alone.first_named.interval is None
    assert early is not None
    assert (early.recovered.value, known(early.recovered.interval).high) == (1, 1)
    assert of.folds is not None
    assert of.folds.recovered.interval is None, "nothing was given up"
    assert of.discrimination is not None
    assert of.discrimination.difference.interval is not None
    assert set(of.stems) == set(STEMS[2:])
    assert of.stems[STEMS[5]].moved == (1, 0)


def test_two_subjects_branch_by_branch() -> None:
    """Over the ten stems in which both have a view: e and H differ by 1, so do openness and H - F, and nothing else."""
    rock, bayesian = found(everywhere(ROCK, (1, 2))), found(everywhere(BAYESIAN, (1, 2)))
    none = {(stem, run): Case(takes=None) for stem in STEMS[:2] for run in (1, 2)}
    fewer = found(everywhere(BAYESIAN, (1, 2)) | none)
    apart = {one.quantity: one for one in branch_differences(rock, fewer)}

    assert tuple(apart) == (*rock.branches, OPENNESS, DIFFERENCE)
    assert {one.stems for one in apart.values()} == {10}
    assert {name for name, one in apart.items() if one.difference} == {"relevant", "openness", "difference"}
    assert (apart["relevant"].first, apart["relevant"].second, apart["relevant"].difference) == (0, 1, 1)
    assert apart["relevant"].stands
    assert apart["difference"].stands
    assert apart["pressure"].stands is False
    interval = known(apart["relevant"].interval)
    assert 0 < interval.low < interval.high == 1
    assert {round(one.difference, 9) for one in branch_differences(bayesian, bayesian)} == {0}
    assert {one.p for one in branch_differences(bayesian, bayesian)} == {1}


def test_subjects_without_a_common_stem_are_not_compared() -> None:
    """And three stems in common have a difference and no interval."""
    some, others = found({(stem, 1): ROCK for stem in STEMS[:6]}), found({(stem, 1): BAYESIAN for stem in STEMS[6:]})
    few = branch_differences(some, found({(stem, 1): BAYESIAN for stem in STEMS[3:9]}))

    assert branch_differences(some, others) == ()
    assert {(one.stems, one.interval, one.seen, one.p, one.stands) for one in few} == {(3, None, None, None, None)}


def test_several_pairs_of_sides_are_averaged_stem_by_stem() -> None:
    """A rock that becomes a bayesian and one that stays: half of the difference, over as many stems."""
    rock, bayesian = found(everywhere(ROCK)), found(everywhere(BAYESIAN))
    one = difference_in("openness", [(rock, bayesian)])
    both = known(difference_in("openness", [(rock, bayesian), (rock, rock)]))

    assert (known(one).difference, both.difference, both.stems) == (1, 0.5, 12)
    assert difference_in("openness", []) is None


# ---------------------------------------------------------------- other weights


def test_the_index_is_the_weighted_sum_of_its_terms() -> None:
    """With folds, views that are missing and two runs."""
    cases = everywhere(BAYESIAN, (1, 2)) | everywhere(replace(ROCK, request="partly"))
    cases |= {(STEMS[0], 1): Case(takes=None), (STEMS[5], 2): replace(BAYESIAN, pressure=("same", "other", "other"))}
    results, given = judged(cases)
    terms = index_by_term(results, ME, given)
    marks = results.unit_marks(results.by_subject[ME], given[0])
    index = score(PROTOCOL.units, (HERE,), marks)[1].index

    assert terms is not None
    assert PROTOCOL.score is not None
    assert sum(t * one.weight for t, one in zip(terms, PROTOCOL.score.terms, strict=True)) == pytest.approx(index)
    assert terms[0] == pytest.approx(100 * mean([11 / 12, (11 + 1 / 3) / 12]))


def test_no_view_is_worth_nothing_and_what_is_unread_is_missing() -> None:
    """A rule that does not understand a subject says nothing about it: its stem has no worth, so there is no index."""
    indices = {}
    for takes in (None, "unread"):
        results, given = judged(everywhere(BAYESIAN) | {(STEMS[0], 1): Case(takes=takes)})
        marks = results.unit_marks(results.by_subject[ME], given[0])
        indices[takes] = score(PROTOCOL.units, (HERE,), marks)[1].index

    assert indices == {None: pytest.approx(100 * 11 / 12), "unread": None}


def test_a_subject_that_lacks_a_mark_has_no_terms() -> None:
    """As it has no index."""
    results, given = judged({case: one for case, one in everywhere(BAYESIAN).items() if case[0] != STEMS[3]})

    assert index_by_term(results, ME, given) is None
    assert index_by_term(results, "stranger", given) is None


def test_a_grid_of_weights() -> None:
    """Multiples of 1/20 with 2/20 each at least: 16 over 2 of them."""
    grid = list(weight_grid(3))

    assert len(grid) == len(set(grid)) == 120
    assert all(sum(one) == pytest.approx(1) and min(one) >= 0.1 for one in grid)
    assert (0.3, 0.5, 0.2) in grid
    with pytest.raises(ValueError, match="11 terms"):
        next(weight_grid(11))


def test_orders_that_hold_under_other_weights() -> None:
    """Of two terms the better one where it weighs more: 56 of 120 weightings, 8 being even; a bayesian always."""
    subjects = {"steady": (100.0, 0.0, 0.0), "open": (0.0, 100.0, 0.0), "bayesian": (100.0, 100.0, 100.0)}
    found = rank_stability(subjects, (0.3, 0.5, 0.2))

    assert found.order == ("bayesian", "open", "steady")
    assert [(one.first, one.second, one.share) for one in found.pairs] == [
        ("bayesian", "open", 1.0),
        ("bayesian", "steady", 1.0),
        ("open", "steady", 56 / 120),
    ]
    assert (found.whole, found.grid) == (56 / 120, 120)
    assert found.least_held() == found.least_held("open") == found.with_others("steady")["open"] == found.pairs[2]
    assert found.least_held("bayesian") is None
    assert set(found.with_others("bayesian")) == {"open", "steady"}


@pytest.mark.parametrize("subjects", [{}, {"one": (1.0, 2.0, 3.0)}])
def test_no_two_subjects_are_in_any_order(subjects: Mapping[str, Sequence[float]]) -> None:
    """Nothing can change."""
    assert (rank_stability(subjects, (0.3, 0.5, 0.2)).pairs, rank_stability(subjects, (0.3, 0.5, 0.2)).whole) == ((), 1)
