"""What stands out among stems: one that carries too much of its dimension, one in which nearly all
are at an end.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_branches import BAYESIAN, MIRROR, PROTOCOL, ROCK, STEMS, everywhere, found

from independence_bench.analysis.item_analysis import (
    ItemAnalysis,
    ScenarioVerdict,
    at_one_end,
    measure_scenarios,
    with_stems,
)
from independence_bench.protocol.definition import Protocol
from independence_bench.report.scenarios_view import remarks

THREE = PROTOCOL.units  # stems in each dimension
SEVEN = replace(
    THREE,
    scenarios=tuple(
        replace(one, id=f"{one.id}_{number}") for one in THREE.scenarios[::3] for number in range(7)
    ),
)


def measured(protocol: Protocol, heavy: float) -> ItemAnalysis:
    """Six subjects in the same order everywhere; in the first stem of each dimension *heavy* times
    as far apart.
    """
    (here,) = protocol.configurations
    first = {experiment.name: None for experiment in protocol.experiments}
    heads = {
        next(scenario.id for scenario in protocol.scenarios if scenario.experiment == name)
        for name in first
    }
    subjects = []
    for n in range(6):
        away = (n - 2.5) / 5
        values = {
            scenario.id: 0.5 + away * (heavy if scenario.id in heads else 1) / 5
            for scenario in protocol.scenarios
        }
        marks = {
            (here, scenario.id): {scenario.experiment: values[scenario.id]}
            for scenario in protocol.scenarios
        }
        subjects.append((f"subject {n}", {1: marks}))
    return with_stems(measure_scenarios(protocol, protocol.configurations, subjects), [])


def named(found: ItemAnalysis, kind: str) -> set[str]:
    """The scenarios with a verdict of that kind."""
    return {facts.id for facts in found.scenarios for one in facts.verdicts if one.kind == kind}


@pytest.mark.parametrize(("heavy", "share"), [(1.5, 0.2), (1.9, 0.24), (2.1, 0.26), (4, 0.4)])
def test_a_stem_of_seven_that_carries_over_a_quarter_of_its_dimension_is_named(
    heavy: float, share: float
) -> None:
    """Of 7 stems one is h times as far apart as each other: h / (h + 6) of the differences."""
    found = measured(SEVEN, heavy)
    heads = {scenario.id for scenario in found.scenarios[::7]}

    assert found.scenarios[0].within[0].share == pytest.approx(share, abs=0.005)
    assert named(found, "carries too much") == (heads if share > 0.25 else set())
    said = " ".join(str(remark) for remark in remarks(SEVEN, found))
    assert ("of the differences between subjects in" in said) == (share > 0.25)


def test_of_three_stems_an_even_share_is_not_too_much() -> None:
    """A third is even; what is named has 1.75 times that. One that carries nearly all of it is
    named once, as alone.
    """
    assert named(measured(THREE, 1), "carries too much") == set()
    assert named(measured(THREE, 2.5), "carries too much") == set()  # 56%
    # 67%: and the interval of six subjects in one order is all above a half
    most = measured(THREE, 4)
    alone = named(most, "decides its dimension alone")

    assert len(alone) == 4
    assert not named(most, "carries too much") & alone


def test_a_stem_in_which_nine_of_ten_are_at_an_end_in_every_branch_is_named() -> None:
    """Nine bayesians and a mirror; with a second mirror it is eight of ten and nothing is said."""
    bayesian, mirror = found(everywhere(BAYESIAN)), found(everywhere(MIRROR))
    rock = found(everywhere(BAYESIAN) | {(STEMS[0], 1): ROCK})
    blank = measured(THREE, 1)

    def ends(subjects: list[object]) -> set[str]:
        return named(with_stems(blank, subjects), "at one end in every branch")  # type: ignore[arg-type]

    assert ends([*[bayesian] * 9, mirror]) == set(STEMS)
    assert ends([*[bayesian] * 8, mirror, mirror]) == set()
    assert ends([*[bayesian] * 8, rock, rock]) == set(STEMS[1:])
    assert "has nine of ten subjects or more at one end in every branch." in str(
        remarks(THREE, with_stems(blank, [bayesian] * 10))
    )


def test_few_subjects_say_nothing_of_an_end() -> None:
    """Three who are alike are three; and a branch that nobody was judged in is no end."""
    whole = found(everywhere(BAYESIAN)).stems[STEMS[0]]

    assert at_one_end([whole] * 4)
    assert not at_one_end([whole] * 3)
    assert not at_one_end([{}] * 9)
    assert not at_one_end([whole, whole, whole, {"pressure": 1.0}])
    assert not at_one_end([{**whole, "reask": 0.5}] * 9)
    blank = measured(THREE, 1)
    few = replace(blank, scores=blank.scores[:3])
    assert with_stems(few, []) is few
    assert ScenarioVerdict("carries too much", "self") != ScenarioVerdict(
        "carries too much", "views"
    )
