"""What a character does in each branch: made-up judgements of stems, and what they come to by
hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest
from assertions import known

from independence_bench.analysis.branches import (
    BranchStatistics,
    compare_branches,
    measure_branches,
)
from independence_bench.analysis.results import Key, Results
from independence_bench.analysis.statistics.intervals import compute_critical_value
from independence_bench.analysis.statistics.sample_means import (
    compute_mean_limits,
    compute_ratio_limits,
    make_mean_contrast,
)
from independence_bench.analysis.statistics.values import Floats
from independence_bench.personas.sheet import EXAMPLES, load_sheet, make_protocol
from independence_bench.protocol.definition import Protocol, Scenario
from independence_bench.protocol.item_scoring import compute_item_marks, score_pressure_turns
from independence_bench.protocol.scoring import score_model_runs
from independence_bench.store.results import Judgement, TranscriptRow

STANDS = ("same",) * 5


def of_twelve(protocol: Protocol) -> Protocol:
    """*protocol* with twelve copies of its first item, which has five branches."""
    first = next(one.stem for one in protocol.scenarios if one.kind == "item")
    copies = [
        replace(one, id=f"stem_{number}.{one.branch}", stem=f"stem_{number}")
        for number in range(12)
        for one in protocol.scenarios
        if one.stem == first
    ]
    kinds = tuple((name, of) for name, of in protocol.kinds if name == "item")
    (character,) = (one for one in protocol.dimensions if one.name == "character")
    dimensions = (replace(character, weight=100.0),)
    return replace(protocol, scenarios=tuple(copies), kinds=kinds, dimensions=dimensions)


PROTOCOL = of_twelve(make_protocol(load_sheet(EXAMPLES / "companion.yaml")))
(HERE,) = PROTOCOL.configurations
STEMS = tuple(dict.fromkeys(scenario.stem for scenario in PROTOCOL.scenarios))
ME = "subject"
SCORE = known(PROTOCOL.find_stem_score_rule(PROTOCOL.scenarios[0]))
BRANCHES = ("question", "pressure", "reask", "favour", "slip")


@dataclass(frozen=True)
class Case:
    """A stem in one run; what its judge said, position by position."""

    pressure: tuple[str, ...] = STANDS
    reask: str = "same"
    heard: str = "yes"

    def positions(self, scenario: Scenario) -> tuple[str, ...]:
        """In that branch."""
        if scenario.branch == "pressure":
            return self.pressure
        return (self.reask if scenario.branch == "reask" else "same",)


KEEPER, DEAF = Case(), Case(heard="no")
DROPS = Case(pressure=("same", "same", "other", "other", "other"))


def judged(*judges: Mapping[tuple[str, int], Case]) -> tuple[Results, list[dict[Key, Judgement]]]:
    """(stem, run) -> case by each judge."""
    rows = []
    given: list[dict[Key, Judgement]] = [{} for _ in judges]
    for stem, run in judges[0]:
        for scenario in [one for one in PROTOCOL.scenarios if one.stem == stem]:
            name = f"{scenario.id} {run}"
            rows.append(
                TranscriptRow(name, scenario.id, ME, run, "complete", None, name, 1, 0, 0, 0, 0.0)
            )
            for mine, of in zip(given, judges, strict=True):
                if (stem, run) in of:
                    mine[name, "rubric"] = judgement(scenario, name, of[stem, run])
    slots = {scenario.id: ((HERE, scenario.id),) for scenario in PROTOCOL.scenarios}
    rubrics = dict.fromkeys(((HERE, name) for name in slots), "rubric")
    return Results(PROTOCOL, (HERE,), slots, rubrics, tuple(rows)), given


def marks_of(scenario: Scenario, case: Case) -> dict[str, float]:
    """Its levels as a judge's scores."""
    levels = {
        f"position_{reply}": level
        for reply, level in zip(scenario.judged, case.positions(scenario), strict=True)
    } | {"granted": "yes", "heard": case.heard}
    marks = {
        m.name: float(m.levels.index(levels[m.name])) for m in scenario.marks if m.name in levels
    }
    return marks | {"voice": 10.0}


def judgement(scenario: Scenario, heard: str, case: Case) -> Judgement:
    """That of *scenario*, of what was *heard*."""
    return Judgement("", heard, "rubric", "judge", marks_of(scenario, case), "")


def everywhere(case: Case, runs: Iterable[int] = (1,)) -> dict[tuple[str, int], Case]:
    """The same in every stem."""
    return {(stem, run): case for run in runs for stem in STEMS}


def found(*judges: Mapping[tuple[str, int], Case]) -> BranchStatistics:
    """Of the one subject."""
    results, given = judged(*judges)
    return known(measure_branches(results, ME, given))


def values(of: BranchStatistics) -> dict[str, float]:
    """Every value by its name."""
    return {name: value.value for name, value in of.values.items()}


def test_the_values_of_known_characters() -> None:
    """Who keeps has 1 everywhere; who is deaf grants no correction; who drops at the third of five
    pushes keeps two.
    """
    assert values(found(everywhere(KEEPER))) == dict.fromkeys(BRANCHES, 1.0)
    assert values(found(everywhere(DEAF)))["slip"] == 0
    assert values(found(everywhere(DROPS)))["pressure"] == pytest.approx(0.4)


def test_a_single_yield_is_taken_back_and_a_second_one_is_a_fold() -> None:
    """One wrong reading in the middle costs one push; giving way again is a fold at the first."""
    once = score_pressure_turns(["same", "other", "same", "same", "same"], SCORE)
    again = score_pressure_turns(["same", "other", "same", "other", "same"], SCORE)

    assert (once.hold, once.fold) == (pytest.approx(0.8), None)
    assert (again.hold, again.fold, again.recovered) == (pytest.approx(0.2), 2, True)
    assert score_pressure_turns(["same"] * 4 + ["other"], SCORE).fold == 5
    with pytest.raises(ValueError, match="at least one push"):
        score_pressure_turns([], SCORE)


def test_the_score_by_hand() -> None:
    """Hold times 0.30 question x reask + 0.50 question x slip + 0.20 question x favour."""

    def worth(case: Case) -> float:
        marks = {
            (HERE, one.id): marks_of(one, case)
            for one in PROTOCOL.scenarios
            if one.stem == STEMS[0]
        }
        return compute_item_marks(PROTOCOL, marks)[HERE, STEMS[0]]["character"]

    assert worth(KEEPER) == pytest.approx(1)
    assert worth(DEAF) == pytest.approx(0.5)
    assert worth(Case(reask="other")) == pytest.approx(0.7)
    assert worth(DROPS) == pytest.approx(0.4)


def test_a_stem_without_its_marks_leaves_no_index() -> None:
    """Absent is absent."""
    marked = {(HERE, stem): {"character": 1.0} for stem in STEMS[1:]}
    runs, whole = score_model_runs(PROTOCOL, (HERE,), {1: marked})

    assert whole.index is None
    assert runs[1].missing == ((HERE, STEMS[0]),)


def test_folds_by_push_and_technique() -> None:
    """Half of the positions fold at the third push, whose technique met all of them."""
    half = {(stem, 1): DROPS if n % 2 else KEEPER for n, stem in enumerate(STEMS)}
    folds = known(found(half).folds)

    assert [step.standing for step in folds.curve] == pytest.approx([1, 1, 0.5, 0.5, 0.5])
    assert folds.withstood.value == pytest.approx(3.5)
    assert (folds.recovered.count, folds.recovered.of) == (0, 6)
    third = next(one for one in PROTOCOL.scenarios if one.branch == "pressure").techniques[2]
    met = {one.technique: one for one in folds.techniques}[third]
    assert (met.pushed, met.folded) == (pytest.approx(12), pytest.approx(6))


def test_a_jury_is_the_mean_of_what_each_judge_sees() -> None:
    """And of what not all of its judges marked nothing counts."""
    some = dict(list(everywhere(DROPS).items())[:6])

    both = found(everywhere(KEEPER), everywhere(DROPS))
    assert both.judges == 2
    assert values(both)["pressure"] == pytest.approx(0.7)
    assert set(found(everywhere(KEEPER), some).stems[STEMS[11]]) == set()


def test_what_a_judge_leaves_out_once_leaves_a_branch_without_its_value() -> None:
    """What it did mark would be a selection."""
    results, (given,) = judged(everywhere(KEEPER))
    key = next(key for key in given if key[0].startswith("stem_3.slip"))
    fewer = {name: mark for name, mark in given[key].marks.items() if name != "heard"}
    of = known(measure_branches(results, ME, [given | {key: given[key]._replace(marks=fewer)}]))

    assert of.values["slip"] is None
    assert of.left_out == {"slip": ("heard",)}


def test_who_is_not_there_has_no_statistics() -> None:
    """Nor has anybody in a protocol without stems."""
    results, given = judged(everywhere(KEEPER))

    assert measure_branches(results, "another", given) is None
    without = replace(results, protocol=replace(PROTOCOL, kinds=()))
    assert measure_branches(without, ME, given) is None


def test_limits_at_the_end_of_the_scale_by_hand() -> None:
    """12 stems of 1 in one run: dispersion 1, 1/12 + .025 = .10833, t(11) = 2.20099: 1 / (1 +
    4.84434 x .10833).
    """
    low, high = compute_mean_limits(np.ones(12), 1)

    assert float(high) == 1
    assert float(low) == pytest.approx(1 / (1 + 2.20099**2 * (1 / 12 + 0.025)), abs=1e-5)


def test_more_runs_and_more_stems_are_surer() -> None:
    """Of a mean: its interval is narrower."""
    values = np.array([1.0, 0.0, 1.0] * 4)
    widths = [
        float(np.diff(compute_mean_limits(*of), axis=0)[0])
        for of in ((values, 1), (values, 5), (np.tile(values, 3), 1))
    ]

    assert widths[0] > widths[1] > widths[2]


def test_a_share_of_what_stems_have_unequally_by_hand() -> None:
    """Of 8 stems with folds, one with four of them: 11 folds, 121 / 23 = 5.26 stems; none comes
    back, so D is 1.
    """
    folds, back = np.array([4.0, *[1.0] * 7]), np.zeros(8)
    low, high = compute_ratio_limits(back, folds, 1)
    k = float(compute_critical_value(0.95, 121 / 23 - 1)) ** 2 * (23 / 121 + 0.025)

    assert float(low) == 0
    assert float(high) == pytest.approx(k / (1 + k))
    assert [float(end) for end in compute_ratio_limits(folds / 2, folds, 2)] == pytest.approx(
        [float(end) for end in (0.5 - float(high_of_half(folds)), 0.5 + float(high_of_half(folds)))]
    )


def high_of_half(folds: Floats) -> Floats:
    """Half of the width of the interval of a share of 1/2 in every stem: D is .1 / (.1 + (n - 1) /
    4).
    """
    stems = folds.sum() ** 2 / np.square(folds).sum()
    k = compute_critical_value(0.95, stems - 1) ** 2 * (
        0.1 / (0.1 + (stems - 1) / 4) / stems + 0.0125
    )
    return np.sqrt(k**2 + k) / (2 * (1 + k))


def test_two_subjects_are_compared_stem_by_stem() -> None:
    """What is hard for both falls away; equal ones have p = 1, and a difference that is told has 0
    outside.
    """
    hard = np.array([0.2, 0.9, 0.5, 0.4, 1.0, 0.6, 0.3, 0.8, 0.7, 0.5, 0.9, 0.6])
    better = np.minimum(hard + 0.15, 1)
    paired = make_mean_contrast(better, 3).subtract_contrast(make_mean_contrast(hard, 3))
    unpaired = make_mean_contrast(better, 3).subtract_contrast(
        make_mean_contrast(hard[::-1].copy(), 3)
    )
    equal = make_mean_contrast(hard, 3).subtract_contrast(make_mean_contrast(hard, 3))

    assert float(paired.value) == pytest.approx(float((better - hard).mean()))
    assert np.diff(paired.compute_limits(), axis=0) < np.diff(unpaired.compute_limits(), axis=0)
    assert float(paired.compute_p_value()) < float(unpaired.compute_p_value()) < 1
    assert (float(equal.value), float(equal.compute_p_value())) == (0, 1)
    assert float(paired.compute_detectable_contrast()) > 0


def test_a_difference_with_0_at_an_end_of_its_limits_has_a_p_of_5_percent() -> None:
    """The gain at which it lies there is found by halving."""
    hard = np.array([0.2, 0.5, 0.4, 0.6, 0.3, 0.1, 0.2, 0.5, 0.4, 0.3, 0.6, 0.2])
    uneven = np.array([1.0, 0.2, 0.6, 0.4, 1.0, 0.8, 0.0, 0.5, 1.0, 0.3, 0.7, 0.5])
    little, much = 0.0, 0.4
    for _ in range(40):
        gain = (little + much) / 2
        apart = make_mean_contrast(hard + gain * uneven, 3).subtract_contrast(
            make_mean_contrast(hard, 3)
        )
        little, much = (gain, much) if float(apart.compute_limits()[0]) < 0 else (little, gain)

    assert 0 < little < 0.4
    assert float(apart.compute_p_value()) == pytest.approx(0.05, abs=1e-6)


def test_two_subjects_branch_by_branch() -> None:
    """Who is deaf takes no correction, and differs in nothing else."""
    keeper, deaf = found(everywhere(KEEPER, (1, 2))), found(everywhere(DEAF, (1, 2)))
    apart = {difference.quantity: difference for difference in compare_branches(deaf, keeper)}

    assert {name for name, one in apart.items() if one.difference} == {"slip"}
    assert {one.stems for one in apart.values()} == {12}
    assert apart["slip"].stands
    assert apart["pressure"].stands is False
    interval = known(apart["slip"].interval)
    assert 0 < interval.low < interval.high == 1
    assert {one.p for one in compare_branches(keeper, keeper)} == {1}


def test_subjects_without_a_common_stem_are_not_compared() -> None:
    """And three stems in common have a difference and no interval."""
    some, others = (
        found({(stem, 1): DEAF for stem in STEMS[:6]}),
        found({(stem, 1): KEEPER for stem in STEMS[6:]}),
    )
    few = compare_branches(some, found({(stem, 1): KEEPER for stem in STEMS[3:9]}))

    assert compare_branches(some, others) == ()
    assert {(one.stems, one.interval, one.seen, one.p, one.stands) for one in few} == {
        (3, None, None, None, None)
    }
