"""What each scenario does in the ranking: the statistics against calculations by hand, then
everything made of them.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from invoked import invoke
from rich.cells import cell_len
from scripted import Answer, Asked, Bench, says, verdict
from simulated import environment

from independence_bench.analysis.item_analysis import (
    ItemAnalysis,
    RunMarks,
    ScenarioFacts,
    ScenarioVerdict,
    measure_scenarios,
)
from independence_bench.analysis.statistics.items import (
    MarkScores,
    beyond_chance,
    emptied,
    ends,
    fisher_interval,
    index_without,
    item_rest,
    places,
    variance_share,
)
from independence_bench.analysis.statistics.values import Floats
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import load
from independence_bench.protocol.scoring import Marks, Slot, score_run
from independence_bench.report import table as markdown
from independence_bench.report import terminal
from independence_bench.report.contents import contents_json, read_contents
from independence_bench.report.format import percent
from independence_bench.report.scenarios_view import remarks
from independence_bench.store.database import open_store

Benches = Callable[..., Bench]


def array(*numbers: float) -> Floats:
    """One number for each subject."""
    return np.array(numbers, dtype=np.float64)


# ---------------------------------------------------------------- one item


def test_ends_are_the_shares_of_full_and_of_no_points() -> None:
    """Two of four at 1, one at 0; a sum that is 1 but for the last digit is 1; nobody has no
    shares.
    """
    assert ends([1, 0.1 + 0.2 + 0.7, 0.5, 0]) == (0.5, 0.25)
    assert ends([]) == (None, None)


def test_an_item_is_compared_with_the_rest_and_not_with_itself() -> None:
    """1, 2, 3 with rests 2, 1, 3: deviations -1, 0, 1 and 0, -1, 1, so 1 / sqrt(2 x 2) = 0.5.

    With itself left in, the totals are 3, 3, 6: (1 + 0 + 2) / sqrt(2 x 6) = 0.87.
    """
    item, rest = array(1, 2, 3), array(2, 1, 3)

    assert item_rest(item, item + rest) == pytest.approx(0.5)
    assert np.corrcoef(item, item + rest)[0, 1] == pytest.approx(0.866, abs=0.001)


def test_no_correlation_of_two_subjects_or_of_what_never_varies() -> None:
    """Two are always on a line; an item that is all there is has no rest."""
    assert item_rest(array(1, 2), array(3, 5)) is None
    assert item_rest(array(1, 1, 1), array(1, 2, 3)) is None
    assert item_rest(array(1, 2, 3), array(1, 2, 3)) is None
    assert item_rest(array(), array()) is None


def test_fishers_interval_by_hand() -> None:
    """r = 0.6, n = 10: atanh 0.6 = 0.6931, 1.96 / sqrt 7 = 0.7408, so tanh -0.0477 and tanh 1.4339."""
    found = fisher_interval(0.6, 10)

    assert found is not None
    assert (found.low, found.high) == (
        pytest.approx(-0.0476, abs=1e-4),
        pytest.approx(0.8925, abs=1e-4),
    )
    assert fisher_interval(0.6, 3) is None
    assert fisher_interval(1.0, 10) is None
    assert fisher_interval(-1.0, 10) is None


def test_fishers_interval_holds_what_it_promises() -> None:
    """Of 4,000 samples of 12 from a normal pair with correlation 0.5, 95% have it inside."""
    random = np.random.default_rng(7)
    one = random.normal(size=(4000, 12))
    other = 0.5 * one + np.sqrt(0.75) * random.normal(size=(4000, 12))

    found = [
        fisher_interval(float(np.corrcoef(a, b)[0, 1]), 12) for a, b in zip(one, other, strict=True)
    ]

    assert np.mean([one is not None and one.holds(0.5) for one in found]) == pytest.approx(
        0.95, abs=0.012
    )


def test_beyond_chance_is_stricter_the_more_one_looks_at() -> None:
    """r = -0.5, n = 20: -0.5 x sqrt(18 / 0.75) = -2.45; Student's t, 18: 1.73 at 0.05, 3.04 at 0.05
    / 15.
    """
    assert beyond_chance(-0.5, 20)
    assert not beyond_chance(-0.5, 20, looked_at=15)
    assert not beyond_chance(0.9, 20)
    assert not beyond_chance(-0.99, 3)
    assert beyond_chance(-1.0, 10, looked_at=30)


@pytest.mark.torture
def test_where_nothing_is_connected_hardly_any_report_says_so() -> None:
    """Fifteen correlations of nothing with nothing, over 10 subjects: 5% of the reports name one."""
    random = np.random.default_rng(11)
    wrong = 0
    for _ in range(4000):
        table = np.corrcoef(random.normal(size=(16, 10)))
        wrong += any(beyond_chance(float(r), 10, looked_at=15) for r in table[0, 1:])

    assert wrong / 4000 == pytest.approx(0.05, abs=0.012)


# ---------------------------------------------------------------- shares


def test_shares_of_the_differences_by_hand() -> None:
    """a = 0, 2, 0, 2 and b = 0, 0, 1, 1 have nothing in common: squares 4 and 1 of 5, so 0.8 and
    0.2.

    What is left of a: 4 - 0.8^2 x 5 = 0.8; 0.8 -+ 4.303 x sqrt(0.8 / 2 / 5) = 0.8 -+ 1.217.
    """
    a, b = array(0, 2, 0, 2), array(0, 0, 1, 1)

    one, other = variance_share(a, a + b), variance_share(b, a + b)

    assert one is not None
    assert other is not None
    assert (one.share, one.explained) == (pytest.approx(0.8), pytest.approx(0.8))
    assert (other.share, other.explained) == (pytest.approx(0.2), pytest.approx(0.2))
    assert one.interval is not None
    assert (one.interval.low, one.interval.high) == (
        pytest.approx(-0.417, abs=0.001),
        pytest.approx(2.017, abs=0.001),
    )


def test_an_item_against_the_others_carries_less_than_nothing() -> None:
    """0, 1, 2 and 0, -0.5, -1 add up to 0, 0.5, 1: shares 2 and -1; each of them tells the total
    all the same.
    """
    a, b = array(0, 1, 2), array(0, -0.5, -1)

    found = [variance_share(item, a + b) for item in (a, b)]

    assert [(one.share, one.interval, one.explained) for one in found if one] == [
        (pytest.approx(2), None, pytest.approx(1)),
        (pytest.approx(-1), None, pytest.approx(1)),
    ]
    assert variance_share(a, array(1, 1, 1)) is None
    assert variance_share(array(0, 1), array(0, 2)) is None
    still = variance_share(array(1, 1, 1), a)
    assert still is not None
    assert (still.share, still.explained) == (0, None)


@given(st.lists(st.lists(st.floats(0, 1), min_size=6, max_size=6), min_size=1, max_size=8))
def test_all_shares_add_up_to_one(items: list[list[float]]) -> None:
    """Whatever the marks are; or there is none, where all totals are alike."""
    columns = [array(*item) for item in items]
    total: Floats = np.sum(columns, axis=0)
    shares = [variance_share(column, total) for column in columns]

    if np.ptp(total) < 1e-9:
        assert shares == [None] * len(items)
    elif np.ptp(total) > 1e-6:
        assert sum(share.share for share in shares if share) == pytest.approx(1)


@pytest.mark.torture
@pytest.mark.parametrize("equal", [3, 5])
def test_of_equal_items_hardly_ever_one_seems_to_carry_more_than_half(equal: int) -> None:
    """The interval says so of at most 5% of samples, where the share itself does of most; it covers
    the truth.
    """
    random = np.random.default_rng(equal)
    named, over, inside = 0, 0, 0
    for _ in range(1500):
        items = random.normal(size=(equal, 5))
        found = [variance_share(item, items.sum(axis=0)) for item in items]
        intervals = [one.interval for one in found if one and one.interval]
        named += any(interval.low > 0.5 for interval in intervals)
        over += any(one.share > 0.5 for one in found if one)
        inside += intervals[0].holds(1 / equal)

    assert named / 1500 <= 0.05
    assert over / 1500 > 0.3
    assert inside / 1500 == pytest.approx(0.95, abs=0.02)


# ---------------------------------------------------------------- the index without one


def taken_apart() -> list[MarkScores]:
    """Two dimensions of one subject: held (60) over items 0 and 1; drift (40) of item 1 (0-10) and
    item 2 (0-1).
    """
    return [
        MarkScores("held", 60, 10, (0, 1), np.array([[1, 0.5]])),
        MarkScores("drift", 40, 10, (1,), np.array([[0.5]])),
        MarkScores("drift", 40, 1, (2,), np.array([[1.0]])),
    ]


@pytest.mark.parametrize(
    ("item", "index"),
    [
        (None, 60 * 0.75 + 40 * 6 / 11),
        (0, 60 * 0.5 + 40 * 6 / 11),
        (1, 60 * 1 + 40 * 1),
        (2, 60 * 0.75 + 40 * 0.5),
    ],
)
def test_the_index_without_an_item_by_hand(item: int | None, index: float) -> None:
    """Means over what remains; without item 1, drift rests on item 2 alone."""
    found = index_without(taken_apart(), item)

    assert found is not None
    assert found.tolist() == [pytest.approx(index)]


def test_a_dimension_that_is_left_with_nothing_leaves_no_index() -> None:
    """It says which one; nothing is renormalised over the others."""
    parts = taken_apart()[:2]

    assert emptied(parts, {1}) == ("drift",)
    assert emptied(parts, {0}) == ()
    assert index_without(parts, 1) is None
    assert index_without([], None) is None


def test_equal_indices_share_a_place() -> None:
    """Also where the same sum was made in another order."""
    assert places(array(50, 90, 0.1 + 0.2, 0.3, 90)).tolist() == [3, 1, 4, 4, 1]
    assert places(array()).tolist() == []


# ---------------------------------------------------------------- a protocol's scenarios


def random_run(protocol: Protocol, random: np.random.Generator) -> dict[Slot, dict[str, float]]:
    """Every mark of one run, anywhere on its scale."""
    return {
        (at, scenario.id): {
            mark.name: float(random.uniform(mark.low, mark.high)) for mark in scenario.marks
        }
        for at in protocol.configurations
        for scenario in protocol.scenarios
    }


def indices(protocol: Protocol, subjects: Sequence[tuple[str, RunMarks]]) -> list[float | None]:
    """As the leaderboard has them."""
    scores = [
        [score_run(protocol, protocol.configurations, run).index for run in runs.values()]
        for _, runs in subjects
    ]
    return [float(np.mean([one for one in of_runs if one is not None])) for of_runs in scores]


def without(protocol: Protocol, left_out: str) -> Protocol:
    """The protocol as if that scenario had never been in it."""
    scenarios = tuple(scenario for scenario in protocol.scenarios if scenario.id != left_out)
    left = {mark.name for scenario in scenarios for mark in scenario.marks}
    dimensions = tuple(
        replace(d, marks=tuple(name for name in d.marks if name in left))
        for d in protocol.dimensions
    )
    return replace(
        protocol, scenarios=scenarios, dimensions=tuple(d for d in dimensions if d.marks)
    )


@pytest.mark.parametrize("name", ["v1", "lite", "v2"])
def test_the_index_without_a_scenario_is_that_of_a_protocol_without_it(name: str) -> None:
    """For every scenario of every shipped protocol: scored anew, it is the same; where a dimension
    is gone, none.
    """
    protocol, random = load(name), np.random.default_rng(1)
    runs = [2, 1, 3, 1, 1]
    subjects: list[tuple[str, RunMarks]] = [
        (f"s{n}", {run: random_run(protocol, random) for run in range(count)})
        for n, count in enumerate(runs)
    ]
    full = indices(protocol, subjects)

    measured = measure_scenarios(protocol, protocol.configurations, subjects)

    weighted = {d.name for d in protocol.dimensions if d.weight}
    for facts in measured.scenarios:
        smaller = without(protocol, facts.id)
        gone = weighted - {d.name for d in smaller.dimensions}
        assert set(facts.without.empty) == gone
        if gone:
            assert facts.without.indices is None
            assert facts.without.mean_change is None
            continue
        expected = indices(smaller, subjects)
        assert facts.without.indices == pytest.approx(expected)
        changes = [
            a - b for a, b in zip(expected, full, strict=True) if a is not None and b is not None
        ]
        assert facts.without.mean_change == pytest.approx(np.mean(changes))
        most = max(range(5), key=lambda n: abs(changes[n]))
        assert facts.without.largest_change is not None
        assert facts.without.largest_change.label == f"s{most}"
        assert facts.without.largest_change.points == pytest.approx(changes[most])
    assert sum(f.share or 0 for f in measured.scenarios) == pytest.approx(1)
    for dimension in weighted:
        inside = [w for f in measured.scenarios for w in f.within if w.dimension == dimension]
        assert sum(w.share or 0 for w in inside) == pytest.approx(1)
        assert {w.scenarios for w in inside} == {len(inside)}
    total = sum(w.points for f in measured.scenarios for w in f.within)
    assert (total, sum(f.points for f in measured.scenarios)) == (
        pytest.approx(100),
        pytest.approx(100),
    )


def of_v2(given: dict[str, float]) -> dict[Slot, Marks]:
    """One run of v2, everything in the middle but the first mark of the scenarios that are *given*."""
    protocol = load("v2")
    (at,) = protocol.configurations
    return {
        (at, scenario.id): {mark.name: (mark.low + mark.high) / 2 for mark in scenario.marks}
        | ({scenario.marks[0].name: given[scenario.id]} if scenario.id in given else {})
        for scenario in protocol.scenarios
    }


def measured(*subjects: dict[str, float]) -> tuple[ItemAnalysis, dict[str, ScenarioFacts]]:
    """Subjects of v2, one run each."""
    protocol = load("v2")
    runs: list[tuple[str, RunMarks]] = [
        (f"s{n}", {1: of_v2(subject)}) for n, subject in enumerate(subjects)
    ]
    found = measure_scenarios(protocol, protocol.configurations, runs)
    return found, {facts.id: facts for facts in found.scenarios}


def stability() -> list[str]:
    """The ids of the five scenarios of stability, in order."""
    return [scenario.id for scenario in load("v2").scenarios if scenario.experiment == "stability"]


def resistance() -> list[str]:
    """Likewise of resistance."""
    return [scenario.id for scenario in load("v2").scenarios if scenario.experiment == "resistance"]


def test_each_verdict_is_given_where_it_is_due() -> None:
    """One topic varies from 0 to 10 and the others by a point; all hold one; one demand goes
    against the others.
    """
    held, firm = stability(), resistance()
    random = np.random.default_rng(5)
    subjects = []
    for n in range(12):
        wobble = random.permutation([8.0, 9, 9, 10])
        given = dict(zip([held[0], *held[2:4]], wobble[:3], strict=True))
        given |= {held[4]: 10 * (n % 2), held[1]: 10.0}
        given |= {one: float(np.clip(n + random.normal(), 0, 10)) for one in firm[:4]}
        subjects.append(given | {firm[4]: 10 - 0.8 * n})

    found, facts = measured(*subjects)

    assert facts[held[4]].verdicts == (ScenarioVerdict("decides its dimension alone", "stability"),)
    assert ScenarioVerdict("does not tell subjects apart") in facts[held[1]].verdicts
    assert facts[held[1]].ceiling == 1
    assert ScenarioVerdict("points the other way", "resistance") in facts[firm[4]].verdicts
    assert all(
        ScenarioVerdict("points the other way", "resistance") not in facts[one].verdicts
        for one in firm[:4]
    )
    said = [terminal.written(remark).plain for remark in remarks(load("v2"), found)]
    assert any(
        line.startswith(f"{held[4]} (") and "decides Stability alone" in line for line in said
    )
    assert any(
        line.startswith(f"{held[1]} (") and "of 12 conversations 100% get all" in line
        for line in said
    )
    assert any(
        line.startswith(f"{firm[4]} (") and "have fewer in the rest of Resistance" in line
        for line in said
    )


def test_of_two_scenarios_none_carries_a_dimension_alone() -> None:
    """One of two always carries half of it: low drift, of v2, where only negotiation varies."""
    protocol = load("v2")
    (at,) = protocol.configurations
    runs: list[tuple[str, RunMarks]] = []
    for n in range(6):
        run = {slot: dict(given) for slot, given in of_v2({}).items()}
        run[at, "negotiation"]["drift"] = float(n)
        runs.append((f"s{n}", {1: run}))
    found = measure_scenarios(protocol, protocol.configurations, runs)
    facts = {scenario.id: scenario for scenario in found.scenarios}
    (drift,) = [one for one in facts["negotiation"].within if one.dimension == "low_drift"]

    assert (drift.scenarios, drift.share) == (2, pytest.approx(1))
    assert facts["negotiation"].verdicts == ()
    assert facts["negotiation"].without.marks_gone == ("drift",)


def test_three_subjects_are_too_few_for_a_verdict() -> None:
    """Figures there are, what stands out there is not, and the report says why."""
    held = stability()
    found, facts = measured(*({held[0]: 10.0 * n / 2} for n in range(3)))

    assert facts[held[0]].within[0].share == pytest.approx(1)
    assert facts[held[0]].within[0].share_interval is None
    assert all(not scenario.verdicts for scenario in found.scenarios)
    assert [terminal.written(remark).plain for remark in remarks(load("v2"), found)] == [
        "What stands out is shown from 4 ranked subjects on; here: 3."
    ]


def test_without_anybody_everything_is_absent() -> None:
    """Not 0: no ceiling, no share, no change; the points are the protocol's."""
    _, facts = measured()
    one = facts["negotiation"]

    assert (one.transcripts, one.difficulty, one.ceiling, one.floor, one.share) == (
        0,
        None,
        None,
        None,
        None,
    )
    assert (one.without.mean_change, one.without.indices, one.without.most_ranks) == (
        None,
        None,
        None,
    )
    assert one.points == pytest.approx(10 / 4 + 5 / 4 + 20 * 10 / 12)


def test_ceiling_and_floor_count_conversations() -> None:
    """Two runs of one subject and one of another: two of three have all points, one has none."""
    protocol, held = load("v2"), stability()[0]
    twice = {1: of_v2({held: 10.0}), 2: of_v2({held: 0.0})}

    found = measure_scenarios(
        protocol, protocol.configurations, [("a", twice), ("b", {1: of_v2({held: 10.0})})]
    )

    facts = {scenario.id: scenario for scenario in found.scenarios}[held]
    assert (facts.transcripts, facts.ceiling, facts.floor) == (
        3,
        pytest.approx(2 / 3),
        pytest.approx(1 / 3),
    )
    assert facts.difficulty == pytest.approx(100 * (1 - (0.5 + 1) / 2))


def test_titles_in_sentences_are_no_markup() -> None:
    """A protocol's own words are written like those of anybody else."""
    protocol, held = load("v2"), stability()
    evil = "<b>*x*</b>\x1b[31m"
    odd = replace(
        protocol,
        dimensions=tuple(replace(d, title=evil) for d in protocol.dimensions),
        scenarios=tuple(replace(s, title=evil) for s in protocol.scenarios),
    )
    runs: list[tuple[str, RunMarks]] = [(f"s{n}", {1: of_v2({held[0]: 10 - n})}) for n in range(5)]

    text = "\n".join(
        map(markdown.written, remarks(odd, measure_scenarios(odd, odd.configurations, runs)))
    )

    assert "tell subjects apart" in text
    assert not {"<", "*", "\x1b"} & set(text)


def test_percent_is_whole_and_never_minus_nothing() -> None:
    """-0.2% is 0; what is absent is a dash."""
    assert [percent(value) for value in (0.668, -0.002, -0.12, 0.0, None)] == [
        "67",
        "0",
        "-12",
        "0",
        "–",
    ]


# ---------------------------------------------------------------- the command


def by_model(asked: Asked) -> Answer:
    """Five subjects who hold out more and more."""
    if not asked.judging:
        return says(asked, f"Signed {asked.model}, answer {asked.number}.")
    who = next(n for n in range(5) if f"Signed acme/m{n}," in asked.text)
    return verdict(
        asked,
        {"own_voice": 2 * who, "drift": 10 - who, "changed": who < 2, "resistance": 2 * who + 1},
    )


@pytest.fixture
def made(bench: Benches) -> Bench:
    """A store with five subjects."""
    made = bench(by_model)
    made.play(*(made.subject(f"acme/m{n}") for n in range(5)))
    return made


def scenarios(made: Bench, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`aib scenarios`, 80 columns wide."""
    folder = Path(made.store).parent
    where = ("--protocol", str(made.folder), "--store", str(made.store))
    return invoke(folder, environment(folder) | {"COLUMNS": "80"}, "scenarios", *where, *arguments)


def test_the_command_shows_every_scenario_in_eighty_columns(made: Bench) -> None:
    """Three tables, each with a sentence on its headings, and what stands out."""
    done = scenarios(made)

    assert (done.returncode, done.stderr) == (0, "")
    assert max(cell_len(line) for line in done.stdout.splitlines()) <= 80
    for scenario in made.protocol.scenarios:
        assert done.stdout.count(f"\n{scenario.id} ") >= 3
    flat = " ".join(done.stdout.split())
    for heading in ("points", "with others", "share", "change", "rho", "ranks moved"):
        assert f"{heading}:" in flat or f"{heading}," in flat
    assert "Without choice nothing would be left of Low drift, so there would be no index." in flat


def test_the_json_is_that_of_the_report(made: Bench) -> None:
    """One set of values; an index without the scenario for each subject, null where there is none."""
    (told,) = json.loads(scenarios(made, "--json").stdout)
    with open_store(made.store) as store:
        report = json.loads(contents_json(read_contents(store, made.protocol, made.boards()), None))

    assert told["scenarios"] == report["scenarios"]
    assert told["scenario_scores"] == report["scenario_scores"]
    assert len(told["subjects"]) == 5
    by_id = {one["id"]: one for one in told["scenarios"]}
    assert by_id["choice"]["without"]["indices"] is None
    assert by_id["choice"]["without"]["empty"] == ["low_drift"]
    assert len(by_id["plain"]["without"]["indices"]) == 5
    assert by_id["plain"]["within"][0].keys() >= {
        "dimension",
        "item_rest",
        "share",
        "share_interval",
        "explained",
    }


def test_wrong_use_is_one_line(made: Bench) -> None:
    """Exit code 2, nothing on stdout."""
    for arguments, said in (
        (["--judge", "nobody"], "no judge is called nobody"),
        (["--variants", "neutral"], "neutral/tool_role"),
        (["--judge", "one", "--jury", "one,two"], "leave one of them out"),
        (["--jury", ","], "name two judges"),
    ):
        done = scenarios(made, *arguments)

        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


def test_nobody_ranked_is_said(bench: Benches) -> None:
    """A store in which the only subject is incomplete."""
    made = bench(
        lambda asked: says(asked, "no verdict") if asked.judging else says(asked, "Here I am.")
    )
    made.play(made.subject("acme/one"))

    done = scenarios(made)

    assert done.returncode == 0
    assert "No subject is ranked" in done.stdout
