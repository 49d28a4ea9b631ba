"""How hard each scenario is: the statistics against calculations by hand, then what is made of
them.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from inprocess_aib import invoke
from rich.cells import cell_len
from scripted_model import Answer, Asked, Bench, says, verdict
from simulated_endpoint import environment

from independence_bench.analysis.item_analysis import (
    analyse_scenarios,
    compute_ceiling_and_floor_shares,
    correlate_item_with_rest,
)
from independence_bench.analysis.statistics.values import Floats
from independence_bench.figures import format_share_without_unit
from independence_bench.protocol.loader import load_protocol
from independence_bench.protocol.scoring import Marks, Slot
from independence_bench.report.contents import format_contents_json, read_contents
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
    assert compute_ceiling_and_floor_shares([1, 0.1 + 0.2 + 0.7, 0.5, 0]) == (0.5, 0.25)
    assert compute_ceiling_and_floor_shares([]) == (None, None)


def test_an_item_is_compared_with_the_rest_and_not_with_itself() -> None:
    """1, 2, 3 with rests 2, 1, 3: deviations -1, 0, 1 and 0, -1, 1, so 1 / sqrt(2 x 2) = 0.5.

    With itself left in, the totals are 3, 3, 6: (1 + 0 + 2) / sqrt(2 x 6) = 0.87.
    """
    item, rest = array(1, 2, 3), array(2, 1, 3)

    assert correlate_item_with_rest(item, item + rest) == pytest.approx(0.5)
    assert np.corrcoef(item, item + rest)[0, 1] == pytest.approx(0.866, abs=0.001)


def test_no_correlation_of_two_subjects_or_of_what_never_varies() -> None:
    """Two are always on a line; an item that is all there is has no rest."""
    assert correlate_item_with_rest(array(1, 2), array(3, 5)) is None
    assert correlate_item_with_rest(array(1, 1, 1), array(1, 2, 3)) is None
    assert correlate_item_with_rest(array(1, 2, 3), array(1, 2, 3)) is None
    assert correlate_item_with_rest(array(), array()) is None


# ---------------------------------------------------------------- a protocol's scenarios


def of_v2(given: dict[str, float]) -> dict[Slot, Marks]:
    """One run of v2, everything in the middle but the first mark of the scenarios that are
    *given*.
    """
    protocol = load_protocol("v2")
    (at,) = protocol.configurations
    return {
        (at, scenario.id): {mark.name: (mark.low + mark.high) / 2 for mark in scenario.marks}
        | ({scenario.marks[0].name: given[scenario.id]} if scenario.id in given else {})
        for scenario in protocol.scenarios
    }


def stability() -> list[str]:
    """The ids of the five scenarios of stability, in order."""
    return [
        scenario.id
        for scenario in load_protocol("v2").scenarios
        if scenario.experiment == "stability"
    ]


def test_without_anybody_everything_is_absent() -> None:
    """Not 0: no ceiling and no floor; the points are the protocol's."""
    protocol = load_protocol("v2")
    found = analyse_scenarios(protocol, protocol.configurations, [])
    (one,) = [facts for facts in found.scenarios if facts.id == "negotiation"]

    assert one.transcripts == 0
    assert (one.difficulty, one.ceiling, one.floor, one.discrimination) == (None,) * 4
    assert one.points == pytest.approx(10 / 4 + 5 / 4 + 20 * 10 / 12)


def test_ceiling_and_floor_count_conversations() -> None:
    """Two runs of one subject and one of another: two of three have all points, one has none."""
    protocol, held = load_protocol("v2"), stability()[0]
    twice = {1: of_v2({held: 10.0}), 2: of_v2({held: 0.0})}

    found = analyse_scenarios(
        protocol, protocol.configurations, [("a", twice), ("b", {1: of_v2({held: 10.0})})]
    )

    facts = {scenario.id: scenario for scenario in found.scenarios}[held]
    assert (facts.transcripts, facts.ceiling, facts.floor) == (
        3,
        pytest.approx(2 / 3),
        pytest.approx(1 / 3),
    )
    assert facts.difficulty == pytest.approx(100 * (1 - (0.5 + 1) / 2))


def test_percent_is_whole_and_never_minus_nothing() -> None:
    """-0.2% is 0; what is absent is a dash."""
    assert [format_share_without_unit(value) for value in (0.668, -0.002, -0.12, 0.0, None)] == [
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
    """One table with a sentence on its headings."""
    done = scenarios(made)

    assert (done.returncode, done.stderr) == (0, "")
    assert max(cell_len(line) for line in done.stdout.splitlines()) <= 80
    for scenario in made.protocol.scenarios:
        assert len(re.findall(rf"^{scenario.id} +[0-9]", done.stdout, re.MULTILINE)) == 1
    flat = " ".join(done.stdout.split())
    for heading in ("points", "with others"):
        assert f"{heading}:" in flat


def test_the_json_is_that_of_the_report(made: Bench) -> None:
    """One set of values."""
    (told,) = json.loads(scenarios(made, "--json").stdout)
    with open_store(made.store) as store:
        report = json.loads(
            format_contents_json(read_contents(store, made.protocol, made.boards()), None)
        )

    assert told["scenarios"] == report["scenarios"]
    assert told["scenario_scores"] == report["scenario_scores"]
    assert len(told["subjects"]) == 5


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
    assert "No model is ranked" in done.stdout
