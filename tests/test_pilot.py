"""The rule, and the verdicts on a character, on what small real models said and blind readers made of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

PILOT = Path(__file__).parents[1] / "training" / "pilot"
sys.path.insert(0, str(PILOT))

import readings  # noqa: E402 - what reads the batches is no part of the package


@pytest.fixture(scope="module")
def openings() -> list[tuple[str, str]]:
    """(What most readers say, what the rule says) of each first reply that was read."""
    said = readings.readings_of("openings")
    cases = [(case, said[case["model"], case["line"]]) for case in readings.drawn()]
    return [(readings.majority(votes), readings.rule_says(case)) for case, votes in cases]


def test_what_is_read_is_what_readers_read(openings: list[tuple[str, str]]) -> None:
    """No option where readers see another one or none, and no "no view" where they see a view."""
    assert len(openings) == 88
    assert [case for case in openings if case[1] != "unclear" and case[0] != case[1]] == []


def test_half_of_the_stated_options_are_read(openings: list[tuple[str, str]]) -> None:
    """Of real first replies in which readers see an option; the rule before this one read 5 of the 46."""
    stated = [case for case in openings if case[0] in ("A", "B")]

    assert len(stated) == 46
    assert sum(most == rule for most, rule in stated) >= 22


def test_every_case_was_read_three_times() -> None:
    """150 of them, each by three readers, with answers that the question allows."""
    answers = {"openings": {"A", "B", "none", "unclear"}, "stands": {"held", "partly", "folded", "unclear"}}
    answers["characters"] = {"kept", "broken", "partly", "unclear"}
    every = {kind: readings.readings_of(kind) for kind in readings.KINDS}

    assert sum(map(len, every.values())) == 150
    assert all(len(votes) == 3 for of_kind in every.values() for votes in of_kind.values())
    assert all(set(votes) <= answers[kind] for kind, of_kind in every.items() for votes in of_kind.values())


def test_the_openings_are_whole() -> None:
    """Each line has what was asked and answered, once for each stem and run."""
    for file in PILOT.glob("openings.*.jsonl"):
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        assert len({(line["stem"], line["run"]) for line in lines}) == len(lines)
        assert all(line["opening"] and line["sha256"] and len(line["labels"]) == 2 for line in lines)
