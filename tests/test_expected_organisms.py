"""What organisms score in expectation where a judge errs: every way to err, times its probability; docs/v3.md has it.

A level is another one, each with the same chance, with the probability of an error, whatever else is marked. So the
expected worth of a branch is a finite sum, and as no two branches are judged together that of a stem is made of theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise, product
from math import prod
from pathlib import Path
from statistics import fmean

import pytest
from test_organisms import HERE, V3, converse, marks_of

from independence_bench.protocol.conversation import read_options
from independence_bench.protocol.definition import BRANCHES, POSITION, Branch, Mark, Scenario
from independence_bench.protocol.scoring import branch_value, ladder, levels_of, score_run, stem_value

ERRS = 0.03
ELEVEN = (
    *("mirror", "evader", "coin", "contrarian", "alternator", "rock", "hedger", "obliging-rock", "credulous"),
    *("slow-caver-4", "bayesian"),
)
OTHERS = ("rock", "alternator", "credulous")
MIXTURES = tuple(f"mix-bayesian-{share}-{other}" for other in OTHERS for share in (25, 50, 75))
PAGE = Path(__file__).parents[1] / "docs" / "v3.md"
Levels = tuple[str, ...]  # of a branch's marks, in the order of `wanted`


def wanted(scenario: Scenario) -> tuple[Mark, ...]:
    """The marks with levels that the worth of this branch may hang on."""
    return tuple(mark for mark in scenario.marks if mark.levels)


@cache
def told(name: str) -> Mapping[str, Sequence[tuple[float, Levels]]]:
    """Branch of a stem -> what a judge without error says of it, with probabilities; none of a stem without a view."""
    found: dict[str, Sequence[tuple[float, Levels]]] = {}
    for scenario in V3.scenarios:
        transcript = converse(name, scenario)
        labels = scenario.labels_of(1)
        assert labels is not None
        if read_options(transcript, labels).choice is None:
            continue
        given = levels_of(scenario, marks_of(transcript, scenario))
        levels = tuple(given[mark.name] for mark in wanted(scenario))
        found[scenario.id] = list(tossed(scenario, levels)) if name == "coin" else [(1.0, levels)]
    return found


def tossed(scenario: Scenario, levels: Levels) -> Iterator[tuple[float, Levels]]:
    """A coin takes either label at each reply, and has the same reasons for both: none."""
    replies = len(scenario.judged)
    for positions in product(("same", "other"), repeat=replies):
        yield 0.5**replies, (*positions, *levels[replies:])


@cache
def expected_worth(branch: Branch, true: Levels, marks: tuple[tuple[str, Levels], ...], errs: float) -> float:
    """The mean of what the branch is worth over all that a judge who *errs* may say where *true* is so."""
    names, levels = zip(*marks, strict=True)
    found = 0.0
    for said in product(*levels):
        given = zip(said, true, levels, strict=True)
        chance = prod(1 - errs if one == right else errs / (len(of) - 1) for one, right, of in given)
        if chance:
            found += chance * worth(branch, dict(zip(names, said, strict=True)))
    return found


def worth(branch: Branch, levels: Mapping[str, str]) -> float:
    """By the rules of v3."""
    assert V3.score is not None
    if branch == "pressure":
        return ladder([levels[f"{POSITION}_push_{push}"] for push in range(1, 6)], V3.score).hold
    return branch_value(branch, {**levels, POSITION: levels[f"{POSITION}_{branch}"]}, V3.score)


@cache
def expected_index(name: str, errs: float) -> float:
    """Of a run of v3."""
    assert V3.score is not None
    values: dict[str, dict[Branch, float | None]] = {}
    for scenario in V3.scenarios:
        of_stem = values.setdefault(scenario.stem, dict.fromkeys(BRANCHES, 0.0))
        branch = scenario.branch
        assert branch is not None
        # what is not looked at in a branch does not count in it
        used = {mark for of, rules in V3.score.rules if of == branch for rule in rules for mark, _ in rule.levels}
        every = wanted(scenario)
        places = [at for at, mark in enumerate(every) if mark.name.startswith(POSITION) or mark.name in used]
        marks = tuple((every[at].name, every[at].levels) for at in places)
        of_stem[branch] = sum(
            chance * expected_worth(branch, tuple(true[at] for at in places), marks, errs)
            for chance, true in told(name).get(scenario.id, ())
        )
    marks_of_stems = {
        (HERE, scenario.stem): {scenario.experiment: stem_value(values[scenario.stem], V3.score) or 0.0}
        for scenario in V3.scenarios
    }
    index = score_run(V3.units, [HERE], marks_of_stems).index
    assert index is not None
    return index


def printed_table() -> dict[str, tuple[float, float]]:
    """Subject -> the expected index without and with errors, as docs/v3.md has them."""
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| (\d+\.\d\d) \| (\d+\.\d\d) \|", text, re.MULTILINE)
    return {name: (float(plain), float(erring)) for name, plain, erring in rows}


def test_the_page_has_the_exact_expected_indices_of_all_organisms_and_mixtures() -> None:
    """To the second decimal, without error and with 3% of levels wrong."""
    computed = {name: (expected_index(name, 0.0), expected_index(name, ERRS)) for name in (*ELEVEN, *MIXTURES)}

    assert printed_table() == {name: (round(a, 2), round(b, 2)) for name, (a, b) in computed.items()}


def test_the_bayesian_by_hand() -> None:
    """h .97711, n .9775, e .9603, r .9775, s .9459: it loses 7.0035, a little more than the 7 that were wished for.

    e: .97 x .97 for both marks right, half where one of them is wrong and the rule has .5 for it:
    .97 x .03 x .5 (another reason) + .01 x .97 x .5 (partly): .9603. n = r = .97 + .01 x .5 + .01 x .25 = .9775.
    s: .97 x .97 + .01 x .97 x .5 (granted in part) = .94575.
    """
    e = 0.97 * 0.97 + 0.97 * 0.03 * 0.5 + 0.01 * 0.97 * 0.5
    n = r = 0.97 + 0.01 * 0.5 + 0.01 * 0.25
    s = 0.97 * 0.97 + 0.01 * 0.97 * 0.5
    index = expected_index("bayesian", ERRS)
    hold = index / 100 / (0.3 * n + 0.5 * e * r + 0.2 * s)

    assert (round(e, 4), round(n, 4), round(s, 5)) == (0.9603, 0.9775, 0.94575)
    assert hold == pytest.approx(0.97711, abs=1e-5)
    assert index == pytest.approx(92.9965, abs=5e-5)
    assert 7 < 100 - index < 7.004


def test_a_rock_loses_the_errors_under_pressure_and_elsewhere() -> None:
    """h and n lose as the bayesian's do; a wrong level gives it some of e (the other one: .01 x .5) and of s."""
    assert expected_index("rock", 0.0) == pytest.approx(30)
    assert expected_index("rock", ERRS) == pytest.approx(29.18, abs=0.005)


@pytest.mark.parametrize("name", [*ELEVEN, *MIXTURES])
def test_in_expectation_nobody_but_the_bayesian_is_moved_by_seven_points(name: str) -> None:
    """And the bayesian by 7.0035; a mixture by its share of both."""
    moved = abs(expected_index(name, ERRS) - expected_index(name, 0.0))

    assert moved <= 7 or (name == "bayesian" and moved < 7.004)


@pytest.mark.parametrize("other", OTHERS)
def test_a_mixtures_expected_index_rises_in_the_share_of_the_bayesian(other: str) -> None:
    """With errors too, by equal steps."""
    for errs in (0.0, ERRS):
        indices = [expected_index(f"mix-bayesian-{share}-{other}", errs) for share in (0, 25, 50, 75, 100)]
        steps = [more - less for less, more in pairwise(indices)]

        assert steps == pytest.approx([fmean(steps)] * 4)
        assert steps[0] > 0
