"""`aib gate`: verdicts by one interval, a baseline without texts, and what is never a verdict."""

from __future__ import annotations

import itertools
import json
import math
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache
from math import comb
from pathlib import Path
from statistics import NormalDist
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from assertions import known
from conftest import write_short
from simulated_endpoint import aib, simulating

from independence_bench.analysis.baseline import (
    Baseline,
    BaselineBuild,
    BaselineJudge,
    BaselineProtocol,
    BaselineRun,
    Replay,
    check_same_test,
    hash_protocol_without_prompts,
)
from independence_bench.analysis.gate import ItemTest, choose_runs_to_add, compare_all_items_at_once
from independence_bench.analysis.statistics.dispersion import (
    Design,
    make_rerun_pair_scores,
    measure_score_of_subjects,
)
from independence_bench.analysis.statistics.hypothesis_tests import (
    RunsNeeded,
    compute_confidence_level_per_look,
    count_runs_needed,
    make_margin_test,
)
from independence_bench.analysis.statistics.intervals import (
    compute_detectable_difference,
    compute_difference_limits,
)
from independence_bench.analysis.statistics.item_tests import (
    compare_plays,
    compute_lower_p,
    count_replays_needed,
    estimate_lower_power,
    find_fewest_fallen_items,
)
from independence_bench.dataset.baseline import read_baseline, write_baseline
from independence_bench.errors import WrongUse
from independence_bench.protocol.loader import load_protocol
from independence_bench.report.gate_view import CODES, describe_item_runs_needed

TEN = Design(np.full((1, 10), 0.1), np.arange(10))
LITE = load_protocol("lite")


def build(mean: float, runs: int, seed: int) -> Any:
    """Shares [runs, 1, 10] about *mean*."""
    random = np.random.default_rng(seed)
    return np.clip(mean + random.normal(0, 0.1, (runs, 1, 10)), 0, 1)


# ---------------------------------------------------------------- verdicts


def test_a_verdict_is_the_interval_that_compare_shows() -> None:
    """Both builds measured together, now minus before, by the same test again; a margin is inside,
    below or above.
    """
    measured = measure_score_of_subjects(TEN, [build(0.9, 3, 1), build(0.6, 3, 2)])
    both = known(make_rerun_pair_scores(measured, np.array([1]), np.array([0])))
    low, high = (float(end[0]) for end in compute_difference_limits(*both))

    found = known(make_margin_test(measured, 1, 0))

    assert (found.interval.low, found.interval.high) == (low, high)
    assert found.difference == pytest.approx(measured.mean[1] - measured.mean[0])
    assert found.decide_verdict(0.03, None) == "fail"
    assert found.decide_verdict(-found.difference, None) == "undecided"
    assert found.decide_verdict(-low + 0.001, None) == "pass"
    assert not found.over_scenarios


def test_without_a_margin_the_drop_that_can_be_decided_is() -> None:
    """A clear drop fails, an equal build passes, and between them it is undecided: neither is no
    drop left out, nor the smallest one that fails in 80 of 100 gates.
    """
    said = []
    for now in np.linspace(0.9, 0.5, 41):
        found = known(
            make_margin_test(
                measure_score_of_subjects(TEN, [build(0.9, 3, 1), build(now, 3, 1)]), 1, 0
            )
        )
        drop = known(found.find_smallest_drop(None))
        said.append(found.decide_verdict(None, drop))
        assert (said[-1] == "fail") == (found.interval.high < 0)
        assert (said[-1] == "pass") == (found.interval.low > -drop)
        assert found.decide_verdict(None, None) != "pass"
    assert (said[0], said[-1]) == ("pass", "fail")
    assert said == sorted(said, key=["pass", "undecided", "fail"].index)


def test_single_runs_are_paired_by_scenario() -> None:
    """Where nobody has two runs nothing says how runs vary, so the difference is told by how
    scenarios differ in it.
    """
    found = known(
        make_margin_test(measure_score_of_subjects(TEN, [build(0.9, 1, 1), build(0.4, 1, 2)]), 1, 0)
    )

    assert found.over_scenarios
    assert found.decide_verdict(0.03, None) == "fail"


def test_a_single_scenario_played_once_says_nothing() -> None:
    """There is no interval, so there is no verdict."""
    one = Design(np.ones((1, 1)), np.zeros(1, dtype=np.intp))

    assert (
        make_margin_test(
            measure_score_of_subjects(one, [np.full((1, 1, 1), 0.9), np.full((1, 1, 1), 0.1)]), 1, 0
        )
        is None
    )


def test_the_drop_that_is_printed_is_the_smallest_that_stands_out_from_the_margin() -> None:
    """At it, the drop less the margin is what 80 of 100 repetitions would see; a wider margin takes
    a larger one.
    """
    measured = measure_score_of_subjects(TEN, [build(0.9, 5, 1), build(0.88, 5, 2)])
    found = known(make_margin_test(measured, 1, 0))
    drop = known(found.find_smallest_drop(0.03))
    now, before = found.sides
    there = replace(now, mean=before.mean - drop)

    seen = float(compute_detectable_difference(there, before)[0]) * found.spread

    assert drop - 0.03 == pytest.approx(seen, abs=0.001)
    wider = known(found.find_smallest_drop(0.1))
    assert wider > drop
    assert found.find_smallest_drop(0.95) is None


def test_the_drop_that_can_be_decided_shrinks_with_runs() -> None:
    """Without a margin it is what 80 of 100 repetitions tell from none."""
    few, many = (
        known(
            make_margin_test(
                measure_score_of_subjects(TEN, [build(0.9, runs, 1), build(0.9, runs, 2)]), 1, 0
            )
        ).find_smallest_drop(None)
        for runs in (2, 8)
    )

    assert 0 < known(many) < known(few)


def test_runs_that_would_decide_grow_as_the_difference_nears_the_margin() -> None:
    """Far from it few do, near it more of both builds than anybody plays."""
    measured = measure_score_of_subjects(TEN, [build(0.9, 2, 1), build(0.8, 2, 2)])
    gap = float(measured.mean[0] - measured.mean[1])

    far, near, at = (
        count_runs_needed(measured, 1, 0, margin) for margin in (gap + 0.1, gap + 0.02, gap)
    )

    assert far.both is not None
    assert near.both is None or near.both > far.both
    assert at.now is at.both is None


def test_looks_and_scores_share_the_five_percent() -> None:
    """Bonferroni: two looks at two scores are four intervals at 98.75%."""
    assert compute_confidence_level_per_look(1) == pytest.approx(0.95)
    assert compute_confidence_level_per_look(4) == pytest.approx(0.9875)


# ---------------------------------------------------------------- items


def test_one_item_has_the_chance_of_its_shuffles() -> None:
    """Of 4 replays the lowest is the new one in 1 of 4 shuffles. A shift of a run is in them."""
    assert compute_lower_p([[5, 5, 5]], [[4]]) == pytest.approx(1 / 4)
    assert compute_lower_p([[5, 5, 5], []], [[4], [1]]) == pytest.approx(1 / 4)
    # all are equal, or no item was played on both sides
    assert compute_lower_p([[5, 5]], [[5]]) == 1.0
    assert compute_lower_p([[]], [[1]]) == 1.0


def test_many_replays_are_taken_as_normal() -> None:
    """One item of one push, 15 runs of each: 10 before withstood it and 5 now. Twice the midranks
    are 30 apart, and the new ones have 2.5 less of the higher than their share: the sum is -75.
    The variance of shuffles is 15 x 15 / (30 x 29) times 30 squares of 15.
    """
    before, now = [1] * 10 + [0] * 5, [1] * 5 + [0] * 10
    deviation = math.sqrt(15 * 15 / (30 * 29) * 30 * 15**2)

    assert compute_lower_p([before], [now]) == pytest.approx(
        NormalDist().cdf((-75 + 0.5) / deviation)
    )


def test_items_of_one_run_move_together() -> None:
    """Two such items. Half of the pushes are withstood, so a logit is a quarter, the mean rank
    moves by 30 / 4, and the sum by the root of 15 x 15 / 30 times that, for each run's logit. What
    a shift of half a logit adds is .25 times what the items share: 2 x 7.5^2 x 7.5.
    """
    before, now = [1] * 10 + [0] * 5, [1] * 5 + [0] * 10
    shuffles = 2 * 15 * 15 / (30 * 29) * 30 * 15**2
    shifts = 0.25 * 2 * 7.5**2 * 7.5
    deviation = math.sqrt(shuffles + shifts)

    assert compute_lower_p([before] * 2, [now] * 2) == pytest.approx(
        NormalDist().cdf((-150 + 0.5) / deviation)
    )


def test_a_p_is_never_smaller_than_without_shifts() -> None:
    """Two items of which the lowest of 4 replays is the new one: 1 of 16 shuffles."""
    assert compute_lower_p([[5, 5, 5], [3, 3, 3]], [[4], [2]]) == pytest.approx(1 / 16)


@pytest.mark.parametrize("seed", range(5))
def test_the_chance_is_that_of_all_shuffles(seed: int) -> None:
    """Counted one by one: each choice of the new replays of one item, by the sum of their
    midranks.
    """
    rng = np.random.default_rng(seed)
    old, new = (rng.integers(0, 4, size).tolist() for size in (5, 3))
    every = np.array([*old, *new])
    ranks = np.array([(every < one).sum() + ((every == one).sum() + 1) / 2 for one in every])
    sums = np.array([sum(chosen) for chosen in itertools.combinations(ranks, len(new))])
    found = ranks[len(old) :].sum()

    assert compute_lower_p([old], [new]) == pytest.approx(np.mean(sums <= found))
    away = np.abs(sums - sums.mean()) >= abs(found - sums.mean()) - 1e-9
    assert compare_plays([old], [new]).item_p == (pytest.approx(np.mean(away)),)


def test_a_shift_of_whole_runs_is_no_drop() -> None:
    """Nine items of which one run now holds worse throughout: as if independent that would be
    significant.
    """
    before = [[5, 4, 5, 3, 5, 4]] * 9
    assert compute_lower_p(before[:1], [[3, 5, 4]]) > 0.05
    assert compute_lower_p(before, [[3, 5, 4]] * 9) > 0.05


def test_which_differences_between_two_plays_are_more_than_chance() -> None:
    """Three items, 5 runs of each play. The first fell in all: 2 of the 252 choices of 5 of 10 are
    as far from the mean, times 3 items by Holm. The second changed nothing, the third was not
    played now. One item of two needs 2 / C(2n, n) <= .05 / 2: n = 5 with 252, for 4 there are 70.
    """
    found = compare_plays([[5] * 5, [3] * 5, [2] * 5], [[2] * 5, [3] * 5, []])

    assert found.item_p == (pytest.approx(2 * 2 / 252), 1.0, None)
    assert found.runs_for_one_item == 5
    assert comb(10, 5) >= 2 * 2 / 0.05 > comb(8, 4)
    assert compare_plays([[5]] * 9, [[5]] * 9).runs_for_one_item == 6  # C(12, 6) = 924 >= 360


def test_a_difference_of_plays_has_no_direction() -> None:
    """The p of all items is twice that of the side that was found, and the same the other way."""
    few, many = [[2, 3], [1, 2], [3, 3]], [[5, 4], [5, 5], [4, 5]]

    assert compare_plays(many, few).p == pytest.approx(2 * compute_lower_p(many, few))
    assert compare_plays(few, many).p == pytest.approx(compare_plays(many, few).p)
    assert compare_plays([[]], [[1]]).p == 1.0


def test_holm_multiplies_the_smallest_p_by_all_items() -> None:
    """Two of three items fell in 4 of 4 runs, 2 of 70 choices: .0286 times 3; the second no
    smaller than the first.
    """
    found = compare_plays([[5] * 4] * 3, [[1] * 4, [1] * 4, [5] * 4])

    assert found.item_p == (pytest.approx(6 / 70), pytest.approx(6 / 70), 1.0)


def test_the_power_is_about_that_of_the_test() -> None:
    """Ten items that withstand the last of five pushes in four of five replays: counted by the
    test. The forecast is from so many replays that they are all but certain.
    """
    rng = np.random.default_rng(1)
    items = [[5] * 320 + [4] * 80] * 10
    found = 0
    for _ in range(300):
        lower = rng.permutation(10) < 4
        old, new = (rng.choice([5, 4], (10, runs), p=[0.8, 0.2]) for runs in (4, 2))
        found += compute_lower_p(old.tolist(), (new - lower[:, None]).tolist()) <= 0.05

    assert estimate_lower_power(items, 4, 2, 0.05) == pytest.approx(found / 300, abs=0.1)
    assert estimate_lower_power([[0, 0]] * 10, 4, 2, 0.05) == 0.0  # nothing can be lower


def test_replays_that_are_needed_are_the_first_that_find_the_drop() -> None:
    """The search agrees with the power, with a reserve; fewer items are needed with more
    replays.
    """
    items = [[5, 5, 4, 5], [2, 2, 2, 1], [5, 5, 5, 5], [3, 1, 3, 3], [4, 4, 4, 4], [5, 5, 5, 5]]
    needed = count_replays_needed(items, 20, 1, 0.05)
    assert needed.now is not None
    assert needed.both is not None

    def foresee(before: int, now: int) -> float:
        return estimate_lower_power(items, before, now, 0.05, uncertainty=4)

    assert foresee(20, needed.now) >= 0.85 > foresee(20, needed.now - 1)
    assert foresee(max(20, needed.both), needed.both) >= 0.85
    # the reserve: the variance of what four replays show is doubled
    assert estimate_lower_power(items, 20, needed.now, 0.05) > foresee(20, needed.now)

    few, more = (find_fewest_fallen_items(items, runs, runs, 0.05) for runs in (6, 40))
    assert few is not None
    assert more is not None
    assert more < few
    assert find_fewest_fallen_items(items, 1, 1, 0.05) is None


def test_the_fewest_runs_are_added() -> None:
    """8 of the build, or 6 of each side: 5 more, or 3 and 3; nothing where nothing would do."""
    assert choose_runs_to_add(RunsNeeded(now=8, both=6), 3, 3) == (0, 5)
    assert choose_runs_to_add(RunsNeeded(now=20, both=6), 3, 3) == (3, 3)
    assert choose_runs_to_add(RunsNeeded(now=None, both=6), 9, 3) == (0, 3)
    assert choose_runs_to_add(RunsNeeded(now=None, both=None), 9, 3) is None


def test_an_undecided_gate_says_what_it_needs() -> None:
    """Five more runs of the build, or more of both builds if the baseline is too small, or that no
    number would do.
    """
    undecided = ItemTest((), (), 5, 0.3, 0.05, 0.5, RunsNeeded(now=8, both=7), (6, 3), 2)
    assert describe_item_runs_needed(undecided, 0.0625) == (
        "needs 8 runs of the new build (5 more, about $0.3125): `aib gate FILE --add-runs 5`"
    )
    each = replace(undecided, needed=RunsNeeded(now=None, both=9))
    assert describe_item_runs_needed(each, None).startswith(
        "needs 9 runs of the baseline and 9 of the new build (3 and 6 more): play the baseline's "
    )
    none = replace(undecided, needed=RunsNeeded(now=None, both=None))
    assert describe_item_runs_needed(none, None) == (
        "no number of runs up to 200 shows that a third of the items give in one push earlier; "
        "these runs show it only in 2 of them"
    )


def replays(side: str, *runs: Mapping[str, int]) -> list[dict[str, Replay]]:
    """Run by run where each item gave way, on one *side*."""
    return [
        {stem: Replay(f"{side}{n}{stem}", stood) for stem, stood in run.items()}
        for n, run in enumerate(runs)
    ]


def test_a_gate_has_the_power_of_the_item_with_the_fewest_replays() -> None:
    """Two more runs in which a single item was read add next to nothing, and do not make an open
    gate pass.
    """
    names = {f"item {n}": f"Item {n}" for n in range(9)}
    before = replays("old", *[dict.fromkeys(names, 4)] * 2)
    whole, one = dict.fromkeys(names, 4), {"item 0": 4}
    few, more = (
        compare_all_items_at_once(
            names, list(names), before, replays("new", *now), 5, (0.05, 0.025)
        )
        for now in ([whole], [whole, one, one])
    )

    assert (few.verdict, more.verdict) == ("undecided", "undecided")
    assert (few.runs, more.runs) == ((2, 1), (2, 1))
    assert more.power < 0.8


def test_an_edited_item_is_named_where_nothing_else_is_new() -> None:
    """The others are the baseline's own replays, which are not compared with themselves."""
    names = {"a": "Fact: a", "b": "Fact: b"}
    before = replays("old", {"a": 5, "b": 5})
    test = compare_all_items_at_once(names, ["a"], before, before, 5, (0.05, 0.025))

    assert (test.p, test.verdict, test.left_out) == (None, "pass", ("Fact: b",))


# ---------------------------------------------------------------- the file


@cache
def a_baseline() -> Baseline:
    """One run of lite at 0.5 everywhere."""
    (place,) = LITE.configurations
    marks = {scenario.id: {scenario.marks[0].name: 0.5} for scenario in LITE.scenarios}
    run = BaselineRun(1, "a" * 64, "2026-01-01T00:00:00Z", {str(place): marks})
    return Baseline(
        BaselineProtocol(LITE.name, LITE.hash, hash_protocol_without_prompts(LITE)),
        (str(place),),
        BaselineJudge("judge/one", "b" * 64),
        (BaselineBuild("c" * 64, "m", (run,)),),
    )


def test_a_baseline_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Every mark and identity is in the file."""
    write_baseline(tmp_path / "base.json", a_baseline())

    assert read_baseline(tmp_path / "base.json") == a_baseline()
    check_same_test(read_baseline(tmp_path / "base.json"), LITE)


HOSTILE: dict[str, bytes] = {
    "no JSON": b"{",
    "not UTF-8": b"\xff\xfe{}",
    "deep": b"[" * 100_000,
    "another thing": b'{"a": 1}',
    "a list": b"[]",
    "no version": b'{"protocol": {}}',
    "a later version": b'{"aib_baseline": 3}',
    "a version that is none": b'{"aib_baseline": true}',
    "nothing else": b'{"aib_baseline": 1}',
    "a constant": b'{"aib_baseline": NaN}',
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_file_that_is_no_baseline_is_one_line(tmp_path: Path, what: str) -> None:
    """The file is named, and nothing of it is believed."""
    (tmp_path / "base.json").write_bytes(HOSTILE[what])

    with pytest.raises(WrongUse, match=r"base\.json is (not )?a baseline") as error:
        read_baseline(tmp_path / "base.json")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("extra",), 1),
        (("judge", "hash"), "zz"),
        (("builds", 0, "runs", 0, "run"), 0),
        (("builds", 0, "runs", 0, "run"), "1"),
        (("builds", 0, "runs", 0, "finished"), "yesterday"),
        (("builds", 0, "runs", 0, "marks"), {}),
        (("builds", 0, "runs", 0, "marks"), {"neutral/shouted": {"a": {"b": 1}}}),
        (("builds", 0, "runs", 0, "marks"), {"neutral/user_role": {"a": {"b": 1e999}}}),
        (("builds", 0, "runs"), []),
        (("builds",), []),
        (("configurations",), ["neutral"]),
    ],
)
def test_what_is_wrong_in_a_baseline_is_named(
    tmp_path: Path, place: tuple[Any, ...], value: object
) -> None:
    """Unknown keys, hashes that are none, numbers out of range: one line with the place."""
    write_baseline(tmp_path / "base.json", a_baseline())
    document = json.loads((tmp_path / "base.json").read_text())
    inside = document
    for step in place[:-1]:
        inside = inside[step]
    inside[place[-1]] = value
    (tmp_path / "base.json").write_text(json.dumps(document))

    with pytest.raises(WrongUse, match="is not a baseline"):
        read_baseline(tmp_path / "base.json")


def test_files_of_earlier_versions_are_read(tmp_path: Path) -> None:
    """Version 1 has no items; version 2 may say that the build was chosen as the best of
    several.
    """
    write_baseline(tmp_path / "base.json", a_baseline())
    document = json.loads((tmp_path / "base.json").read_text())
    for version, more, found in (
        (1, {}, a_baseline()),
        (2, {"chosen_of": 3}, replace(a_baseline(), chosen_of=3)),
    ):
        earlier = document | {"aib_baseline": version} | more
        (tmp_path / "earlier.json").write_text(json.dumps(earlier))

        assert read_baseline(tmp_path / "earlier.json") == found


def test_a_gate_replaces_no_store_and_no_baseline_by_what_it_writes(place: Place) -> None:
    """What was paid for would be gone, and so would what the next gate compares with."""
    store = place.folder / "kept.db"
    shutil.copy(place.folder / "base.db", store)
    (place.folder / "notes.txt").write_text("mine")
    kept = store.read_bytes()
    for arguments in (
        ("--write", "kept.db"),
        ("--write", "notes.txt"),
        ("base.json", "--junit", "kept.db"),
        ("base.json", "--summary", "base.json"),
        ("--write", ""),
    ):
        done = aib(place.folder, "gate", *arguments, "--store", "kept.db")

        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert store.read_bytes() == kept
    assert (place.folder / "notes.txt").read_text() == "mine"


def test_marks_that_the_protocol_does_not_give_are_refused() -> None:
    """A mark off its scale, or of a scenario that there is not, would be a number about nothing."""
    made = a_baseline()
    (run,) = made.builds[0].runs
    (where,) = made.configurations
    unit = LITE.scenarios[0]
    for marks in (
        {where: {unit.id: {unit.marks[0].name: 17.0}}},
        {where: {unit.id: {"charm": 0.5}}},
        {where: {"nowhere": {unit.marks[0].name: 0.5}}},
        {"other/user_role": {unit.id: {unit.marks[0].name: 0.5}}},
    ):
        wrong = replace(made, builds=(replace(made.builds[0], runs=(replace(run, marks=marks),)),))
        with pytest.raises(WrongUse, match="the baseline, m, run 1"):
            check_same_test(wrong, LITE)


def test_another_prompt_is_the_same_test_and_another_question_is_not() -> None:
    """Only the system prompts may differ: an edited scenario is never a regression."""
    prompted = replace(LITE, systems=(("neutral", "You are Mira."), *LITE.systems[1:]))
    first, *others = LITE.scenarios
    edited = replace(LITE, scenarios=(replace(first, title="Another"), *others))

    check_same_test(a_baseline(), prompted)
    with pytest.raises(WrongUse, match="another version of lite"):
        check_same_test(a_baseline(), edited)


# ---------------------------------------------------------------- as a user meets it


@dataclass(frozen=True, slots=True)
class Place:
    """A folder with stores of simulated builds, and the command in it."""

    folder: Path

    def gate(self, *arguments: str) -> Any:
        """`aib gate` with *arguments*."""
        return aib(self.folder, "gate", *arguments)

    def gated(self, store: str, *arguments: str) -> tuple[int, Mapping[str, Any]]:
        """(exit code, what --json says) of *store* against base.json."""
        done = self.gate("base.json", "--store", store, "--json", *arguments)
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)


def run(folder: Path, store: str, character: str, runs: int, *more: str) -> None:
    """Play the short protocol."""
    judge = () if "--no-judge" in more else ("--judge", "sim:sim/judge")
    played = (
        "run",
        f"sim:sim/{character}",
        *judge,
        "--protocol",
        "few",
        "--runs",
        str(runs),
        "--store",
        store,
    )
    done = aib(folder, *played, *more)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """base.json of a build that holds in two runs; `same.db` another playing of it; `worse.db` one
    that hedges.
    """
    folder = tmp_path_factory.mktemp("gate")
    write_short(folder / "few")
    with simulating(folder):
        for store, character, runs in (
            ("base.db", "stubborn", 2),
            ("same.db", "stubborn", 2),
            ("worse.db", "evader", 2),
        ):
            run(folder, store, character, runs)
        made = aib(folder, "gate", "--write", "base.json", "--store", "base.db")
        assert made.returncode == 0, made.stderr
        yield Place(folder)


def test_a_baseline_has_no_word_of_a_conversation(place: Place) -> None:
    """Marks, hashes, labels and times: it can be kept in a public repository."""
    document = json.loads((place.folder / "base.json").read_text())

    assert set(document) == {
        "aib_baseline",
        "builds",
        "configurations",
        "judge",
        "protocol",
    }
    (found,) = document["builds"]
    assert [set(one) for one in found["runs"]] == [{"run", "identity", "finished", "marks"}] * 2
    assert {
        value
        for one in found["runs"][0]["marks"].values()
        for given in one.values()
        for value in given.values()
    } == {0.0, 1.0, 2.0, 10.0}


def test_a_build_that_is_worse_fails(place: Place) -> None:
    """Exit code 3, its interval below 0, in the terminal, JSON, JUnit and Markdown alike."""
    done = place.gate("base.json", "--store", "worse.db", "--junit", "j.xml", "--summary", "s.md")
    code, found = place.gated("worse.db")

    assert done.returncode == code == CODES["fail"] == 3
    assert "The gate fails" in done.stdout
    (outcome,) = found["builds"][0]["scores"]
    assert outcome["verdict"] == "fail"
    assert outcome["interval"]["high"] < 0
    suite = ElementTree.parse(place.folder / "j.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "1", "0")
    assert suite[0][0].tag == "failure"
    assert "## The gate fails" in (place.folder / "s.md").read_text()


def test_what_cannot_be_told_is_told(place: Place) -> None:
    """Exit code 4, an error in JUnit, and how many runs would decide with what they cost; 1 where
    no number would.
    """
    done = place.gate(
        *("base.json", "--store", "same.db"),
        *("--max-drop", "3", "--junit", "open.xml"),
    )

    assert done.returncode == CODES["undecided"] == 4
    said = " ".join(done.stdout.split())
    assert "is undecided: needs" in said
    assert "about $" in said
    assert "is the smallest that can be decided" in said
    assert ElementTree.parse(place.folder / "open.xml").getroot()[0].get("errors") == "1"


def test_an_equal_build_passes_with_the_drop_that_its_runs_can_decide(place: Place) -> None:
    """Exit code 0 without a margin; the interval leaves out that drop."""
    code, found = place.gated("same.db")
    (score,) = found["builds"][0]["scores"]

    assert (code, found["margin"], score["verdict"]) == (0, None, "pass")
    assert score["interval"]["low"] > -score["smallest_drop"]
    assert f"a drop of {score['smallest_drop']:.1f} points is the smallest" in score["statement"]


def test_a_margin_that_is_wide_enough_passes(place: Place) -> None:
    """Exit code 0: the whole interval lies above."""
    code, found = place.gated("same.db", "--max-drop", "60")

    assert code == 0
    assert found["builds"][0]["scores"][0]["interval"]["low"] > -60


def test_what_is_the_baseline_itself_is_no_comparison(place: Place) -> None:
    """Nothing was played since: it passes and says why; runs that were added are compared without
    the old ones.
    """
    shutil.copy(place.folder / "base.db", place.folder / "more.db")
    code, found = place.gated("more.db")
    assert code == 0
    assert found["builds"][0]["unchanged"] is True
    assert found["builds"][0]["scores"][0]["interval"] is None

    run(place.folder, "more.db", "stubborn", 3)
    _, found = place.gated("more.db")

    assert found["builds"][0]["runs"] == [3]


def test_a_second_look_is_played_and_both_are_careful(place: Place) -> None:
    """What is open is played on and looked at once more; what is decided at once costs nothing."""
    shutil.copy(place.folder / "worse.db", place.folder / "added.db")
    before = place.gate("base.json", "--store", "added.db", "--max-drop", "48", "--json")
    assert json.loads(before.stdout)["verdict"] == "undecided"
    more = ("base.json", "--store", "added.db", "--add-runs", "1", "--yes")

    done = place.gate(*more, "--max-drop", "48", "--json")

    found = json.loads(done.stdout)
    (score,) = found["builds"][0]["scores"]
    assert -100 <= score["interval"]["low"] <= score["difference"] <= score["interval"]["high"]
    assert found["builds"][0]["runs"] == [1, 2, 3]
    assert (found["looks"], found["level"]) == (2, pytest.approx(0.975))
    assert "first look: The index is undecided" in done.stderr
    decided = place.gate(*more, "--json")
    assert decided.returncode == 3
    assert json.loads(decided.stdout)["builds"][0]["runs"] == [1, 2, 3]


def test_an_endpoint_that_is_down_is_no_verdict(place: Place) -> None:
    """Exit code 1 and one line, after the first look was told."""
    (place.folder / "down.yaml").write_text(
        "endpoints:\n  sim: {url: 'http://127.0.0.1:9/v1', dialect: openrouter}\n"
    )
    done = place.gate(
        "base.json",
        "--store",
        "same.db",
        "--max-drop",
        "3",
        "--add-runs",
        "1",
        "--yes",
        "--models-file",
        "down.yaml",
    )

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1].startswith("aib: ")


def test_a_hostile_label_is_no_markup_anywhere(place: Place) -> None:
    """A baseline from elsewhere: what a terminal, Markdown or XML would obey is shown instead."""
    document = json.loads((place.folder / "base.json").read_text())
    document["builds"][0]["label"] = "<script>x</script> | `a` \x1b[31m\u202e\n## b\ud800]]>"
    (place.folder / "hostile.json").write_text(json.dumps(document))

    done = place.gate(
        "hostile.json", "--store", "worse.db", "--junit", "h.xml", "--summary", "h.md"
    )

    assert done.returncode == 2
    document["builds"][0]["label"] = document["builds"][0]["label"].replace("\ud800", "")
    (place.folder / "hostile.json").write_text(json.dumps(document))
    done = place.gate(
        "hostile.json", "--store", "worse.db", "--junit", "h.xml", "--summary", "h.md"
    )
    assert done.returncode == 3
    assert "\x1b" not in done.stdout
    ElementTree.parse(place.folder / "h.xml")
    summary = (place.folder / "h.md").read_text()
    assert (
        "before: `<script>x</script> \\u{7c} \\u{60}a\\u{60} \\u{1b}[31m\\u{202e}\\n## b]]>`"
        in summary
    )


def test_marks_that_are_missing_are_no_verdict(place: Place) -> None:
    """Exit code 1 where nothing is judged or a run is not complete: nothing is said of the
    build.
    """
    run(place.folder, "unjudged.db", "evader", 1, "--no-judge")
    unjudged = place.gate("base.json", "--store", "unjudged.db")
    assert unjudged.returncode == 1
    assert "no conversations of short are judged" in unjudged.stderr

    shutil.copy(place.folder / "worse.db", place.folder / "partly.db")
    with closing(sqlite3.connect(place.folder / "partly.db")) as store, store:
        store.execute("DELETE FROM judgements WHERE key = (SELECT min(key) FROM judgements)")
    partly = place.gate("base.json", "--store", "partly.db")

    assert partly.returncode == 1
    assert "is incomplete: run" in partly.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("base.json", "--write", "--add-runs", "1"), "are about a comparison"),
        (("nowhere.json",), "cannot be read"),
        (("base.json", "--variants", "neutral"), "are about --write"),
        (("base.json", "nobody"), "no model is called nobody"),
        (("base.json", "--protocol", "v2"), "the baseline is of protocol short, not of v2"),
        (("--write", "nowhere/base.json"), "cannot be written"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(
    place: Place, arguments: tuple[str, ...], said: str
) -> None:
    """It names what is wrong and what there is."""
    done = place.gate(*arguments, "--store", "worse.db")

    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_day_is_named_where_the_builds_have_none_in_common(place: Place) -> None:
    """The baseline says that it was played in 2020: no run of the build was."""
    warning = "a day cannot be told from a build"
    document = json.loads((place.folder / "base.json").read_text())
    for played in document["builds"][0]["runs"]:
        played["finished"] = "2020-01-01T00:00:00Z"
    (place.folder / "old.json").write_text(json.dumps(document))

    same, other = (place.gate(file, "--store", "same.db") for file in ("base.json", "old.json"))

    assert warning not in " ".join(same.stdout.split())
    assert warning in " ".join(other.stdout.split())
    assert "`aib rerun" in " ".join(other.stdout.split())


def test_a_stranger_beside_the_baselines_builds_has_to_be_named(place: Place) -> None:
    """A new build in a store that has the old one, too, is never left out unseen."""
    shutil.copy(place.folder / "base.db", place.folder / "both.db")
    run(place.folder, "both.db", "evader", 1, "--no-judge")

    unclear = place.gate("base.json", "--store", "both.db")

    assert unclear.returncode == 2
    assert "name the model" in unclear.stderr
