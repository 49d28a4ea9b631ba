"""Two forms of a test compared: what they say of subjects of known behaviour, and a stem that does
not fit.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import write_few
from known import known
from simulated import aib, play

from independence_bench.analysis.leaderboard import boards
from independence_bench.analysis.reliability import INDEX, VIEWS, FormComparison, compare_forms
from independence_bench.analysis.statistics.sample_means import apart_interval
from independence_bench.analysis.statistics.values import Interval
from independence_bench.errors import WrongUse
from independence_bench.protocol.loader import SHIPPED, load, load_with_files
from independence_bench.report.reliability_view import forms_values
from independence_bench.simulate.server import Settings
from independence_bench.store.database import Store, open_store

SUBJECTS = ("bayesian", "credulous", "slow-caver-4", "rock", "evader")
INDICES = (100, 40, 60, 20)
AT = ("--by", "form", "--store", "a.db")
FEW = {"a": "v3-lite", "b": "v3-lite-b"}  # folder -> what it has four stems of


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five organisms in four stems of each form, one of each setting."""
    here = tmp_path_factory.mktemp("forms")
    for place, name in FEW.items():
        play(write_few(here / place, name, 1), here / "a.db", Settings(), names=SUBJECTS)
    return here


def compared(folder: Path, store: Store) -> FormComparison:
    """Both forms, by the only judge."""
    first, second = (boards(store, load(folder / place))[0] for place in FEW)
    return compare_forms(first, second)


def test_organisms_are_the_same_by_both_forms(folder: Path) -> None:
    """Whoever is known to have an index has it by either; who takes no option is not ranked, and
    has no views.
    """
    with open_store(folder / "a.db") as opened:
        found = compared(folder, opened)

    ranked = {
        subject.label.split("@")[0].split("/")[1]: subject.numbers
        for subject in found.subjects
        if subject.ranked
    }
    assert {
        name: (round(of[INDEX].first), round(of[INDEX].second)) for name, of in ranked.items()
    } == dict(zip(SUBJECTS[:-1], [(index, index) for index in INDICES], strict=True))
    (evader,) = (subject for subject in found.subjects if not subject.ranked)
    assert (evader.numbers[VIEWS].first, evader.numbers[VIEWS].second) == (0.0, 0.0)
    assert [of.subjects for of in found.agreement] == [4] * 5
    assert [of.correlation for of in found.agreement] == pytest.approx([1.0] * 5)
    assert all(abs(of.mean.difference) < 1e-9 for of in found.agreement)
    assert len(found.odd) == 8
    assert not any(of.stands for of in found.odd)


def test_a_stem_that_does_not_fit_comes_first(folder: Path) -> None:
    """All subjects are worth 30 points more in it than elsewhere; four are too few to call that
    significant.
    """
    with open_store(folder / "a.db") as opened:
        first, second = (boards(opened, load(folder / place))[0] for place in FEW)
    odd = second.protocol.scenarios[0].id
    for row in second.ranked:
        for slots in row.marks.values():
            for (_, name), marks in slots.items():
                if name == odd:
                    for mark in marks:
                        marks[mark] += 0.3  # type: ignore[index]
    found = compare_forms(first, second).odd

    # of two stems in a dimension the other one is as far away on the other side
    farthest = {(of.second, of.scenario, round(of.away, 6)) for of in found[:2]}
    assert farthest == {(True, odd, 30.0), (False, first.protocol.scenarios[0].id, -30.0)}
    assert all(abs(of.away) < 1e-9 for of in found[2:])
    assert all(known(of.interval).holds(of.away) for of in found)
    assert not any(of.stands for of in found)


def test_the_command_says_it_in_tables_and_as_json(folder: Path) -> None:
    """By name or folder; the numbers are the same."""
    forms = ("--protocol", "a", "--against", "b")
    shown, values = (
        aib(folder, "compare", *AT, *forms),
        aib(folder, "compare", *AT, *forms, "--json"),
    )

    assert shown.returncode == values.returncode == 0, shown.stderr
    said = " ".join(shown.stdout.split())
    assert "B is 0.0 points from A in the mean of 4 subjects" in said
    assert "No scenario lies apart from the others of its dimension (Holm, 5%)." in said
    found: dict[str, Any] = json.loads(values.stdout)[0]
    with open_store(folder / "a.db") as opened:
        assert set(found) == set(forms_values(compared(folder, opened)))
    assert [one["name"] for one in found["forms"]] == ["v3-lite", "v3-lite-b"]
    assert {
        one["label"].split("@")[0]: round(one["numbers"]["index"]["b"])
        for one in found["subjects"][:4]
    } == {f"sim:sim/{name}": index for name, index in zip(SUBJECTS[:-1], INDICES, strict=True)}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--protocol", "a"), "name the other form alone, --against NAME"),
        (
            ("--protocol", "a", "--against", "a"),
            "share free_evening, so they are no two forms of one test",
        ),
        (("--protocol", "a", "--against", "v2"), "no conversations of v2 in"),
        (
            ("rock", "--protocol", "a", "--against", "b"),
            "name the other form alone, --against NAME",
        ),
        (
            ("rock", "coin", "--protocol", "a", "--against", "b"),
            "name the other form alone, --against NAME",
        ),
    ],
)
def test_what_are_no_forms_is_refused_in_a_line(
    folder: Path, arguments: tuple[str, ...], says: str
) -> None:
    """With what to do."""
    done = aib(folder, "compare", *AT, *arguments)

    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_other_scores_are_no_form(folder: Path) -> None:
    """A changed weight makes another quantity, a changed temperature another test."""
    with open_store(folder / "a.db") as opened:
        first, second = (boards(opened, load(folder / place))[0] for place in FEW)
    heavier = replace(second.protocol.dimensions[0], weight=40.0)
    other = replace(
        second.protocol.written,
        dimensions=(heavier, *second.protocol.dimensions[1:]),
        temperature=1.0,
    )

    with pytest.raises(
        WrongUse,
        match="v3-lite and v3-lite-b differ in sampling, dimensions, so they are no two forms",
    ):
        compare_forms(first, replace(second, protocol=other.units))


def test_intervals_that_have_nothing_in_common_are_put_together_by_their_ends() -> None:
    """Symmetric ones give the sum of squares; skewed ones keep their skew; one that is unknown
    makes it unknown.
    """
    even = apart_interval(1.0, Interval(-2.0, 4.0), 5.0, Interval(1.0, 9.0))
    assert known(even) == Interval(-1.0, 9.0)
    skewed = known(apart_interval(1.0, Interval(0.7, 1.0), 1.0, Interval(0.6, 1.0)))
    assert (skewed.low, skewed.high) == pytest.approx((-0.4, 0.3))
    assert apart_interval(1.0, None, 1.0, Interval(0.6, 1.0)) is None


# ---------------------------------------------------------------- what ships


def test_v3_has_the_stems_of_v3_lite_and_form_b_has_none_of_them() -> None:
    """A copy, so that each folder is whole; labels and sentences of different stems have nothing in
    common.
    """
    lite, v3, form_b = (load_with_files(name)[1] for name in ("v3-lite", "v3", "v3-lite-b"))
    for name, text in lite.items():
        if name != "protocol.yaml":
            assert v3[name] == text, name
    assert not {name for name in form_b if name.startswith("stems/")} & set(v3)
    assert [lite[name] for name in lite if "/" in name and not name.startswith("stems/")] == [
        form_b[name] for name in form_b if "/" in name and not name.startswith("stems/")
    ]
    labels = [
        scenario.offer_of(1).labels  # type: ignore[union-attr]
        for name in ("v3", "v3-lite-b")
        for scenario in load(name).scenarios
        if scenario.branch == "reask"
    ]
    every = [label for pair in labels for label in pair]
    assert (len(every), len(set(every))) == (80, 80)
    assert {p.name for p in SHIPPED.iterdir() if (p / "stems").is_dir()} == {
        "v3",
        "v3-lite",
        "v3-lite-b",
    }
