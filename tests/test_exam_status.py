"""A judge's exam stands beside its numbers: in tables, reports and the viewer, and before it is
bought.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from inprocess_aib import invoke
from simulated_endpoint import aib, environment, simulating
from viewer_store import answering, read

from independence_bench.analysis.conversations import find_label_and_conversations
from independence_bench.analysis.exam.standing import BoardExam
from independence_bench.personas.sheet import EXAMPLES
from independence_bench.protocol.loader import load_protocol
from independence_bench.store.database import open_store

SIM, SAT = "sim:kin/judge", "sim:sim/judge-plain"
NOT_SAT = f"this judge has not been validated: `aib exam -j {SIM}`"


class Judged(NamedTuple):
    """A folder whose store has two subjects by a judge that has sat the exam, and by one that has
    not.
    """

    folder: Path
    before: str  # what the run said before it bought
    line: str  # what tables say of the one that has


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judged]:
    """Played once; the server goes on."""
    folder = tmp_path_factory.mktemp("standing")
    run = ("run", "sim:sim/stubborn", "sim:sim/agreeable", "--protocol", "lite", "--runs", "1")
    with simulating(folder):
        first = aib(folder, *run, "--judge", SAT)
        for rubrics in (("drift",), ("identity", "resistance_blunt", "stability")):
            order = (
                "exam",
                "-j",
                SAT,
                *(word for rubric in rubrics for word in ("--rubric", rubric)),
            )
            assert aib(folder, *order, "--yes", "--json").returncode == 0
        second = aib(folder, "judge", "-j", SIM, "--protocol", "lite")
        assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
        boards = json.loads(aib(folder, "leaderboard", "--protocol", "lite", "--json").stdout)[
            "boards"
        ]
        exam = next(board["judge_exam"] for board in boards if "judge-plain" in board["judge"])
        yield Judged(folder, first.stderr + second.stderr, exam["line"])


def test_what_is_about_to_judge_is_said_before_it_is_bought(judged: Judged) -> None:
    """Whether the judge has sat: by run, judge and estimate-cost."""
    plan = ("sim:sim/stubborn", "--protocol", "lite", "--runs", "2", "--judge")
    sat = aib(judged.folder, "estimate-cost", *plan, SAT)
    unsat = json.loads(aib(judged.folder, "estimate-cost", *plan, SIM, "--json").stdout)

    assert f"aib exam -j {SAT}" not in judged.before  # simulated judges need not sit it
    assert NOT_SAT in judged.before
    assert judged.line in sat.stdout.replace("\n", " ")
    assert unsat["judge_exam"]["line"] == NOT_SAT


def test_every_table_of_a_judge_has_its_exam(judged: Judged) -> None:
    """leaderboard, compare, scenarios, judges and show: the same line in each, of this judge."""
    orders = (
        ("leaderboard",),
        ("compare", "stubborn", "agreeable", "--judge", "judge-plain"),
        ("scenarios", "--judge", "judge-plain"),
        ("judges",),
        ("show", "stubborn", "gaslighting"),
    )
    for order in orders:
        shown = aib(judged.folder, *order, "--protocol", "lite")
        assert shown.returncode == 0, shown.stderr
        assert judged.line in shown.stdout, order
        if "--judge" not in order:
            absent = NOT_SAT.removeprefix("this judge")
            assert shown.stdout.count(absent) == 1, order


def test_judges_of_a_conversation_stand_in_the_order_of_their_labels(judged: Judged) -> None:
    """In each conversation, as on the page: not as their judgements happen to be kept."""
    lite = load_protocol("lite")
    with open_store(judged.folder / "aib.db") as store:
        for scenario in lite.scenarios:
            _, (shown,) = find_label_and_conversations(
                store, lite, lite.configurations, "stubborn", scenario.id
            )
            assert [label for label, _ in shown.judgements] == [
                f"{SIM}@none-t0.0",
                f"{SAT}@none-t0.0",
            ]


def test_no_table_has_more_than_three_lines_of_notes(judged: Judged) -> None:
    """At 80 columns, unless --explain asks for all; a leaderboard also has a line or two for each
    limit. Which lines are notes is told by their being dim.
    """
    coloured = environment(judged.folder) | {"FORCE_COLOR": "1", "COLUMNS": "80"}
    of_protocol = (
        "leaderboard",
        "leaderboard --detailed",
        "compare stubborn agreeable",
        "scenarios",
        "judges",
    )
    for order in (*(f"{one} --protocol lite" for one in of_protocol), "exam", "costs"):
        below, notes = False, 0
        shown = invoke(judged.folder, coloured, *order.split()).stdout
        assert "\x1b[2m" in shown
        for line in shown.splitlines():
            below = bool(line) and (below or "───" in line)
            notes = (
                notes + 1 if below and line.startswith("\x1b[2m") and "--explain" not in line else 0
            )
            assert notes <= (14 if order.startswith("leaderboard") else 3), (order, line)


def test_programs_are_told_what_it_is(judged: Judged) -> None:
    """Fitness, kappa, date and what was sat, on the board as in the exam itself."""
    sat = json.loads(aib(judged.folder, "exam", "--json").stdout)["judges"][0]
    boards = json.loads(aib(judged.folder, "leaderboard", "--protocol", "lite", "--json").stdout)[
        "boards"
    ]
    by_judge = {"judge-plain" in board["judge"]: board["judge_exam"] for board in boards}

    rubrics = {one["rubric"]: one for one in sat["rubrics"]}
    assert by_judge[True]["rubrics"] == ["drift", "identity", "resistance_blunt", "stability"]
    assert by_judge[True]["kappa"] == min(
        rubrics[one]["kappa"]["value"] for one in by_judge[True]["rubrics"]
    )
    assert by_judge[True]["when"][:10] in by_judge[True]["line"]
    assert (by_judge[False]["sat"], by_judge[False]["fit"]) == (False, None)


def test_a_jurys_exam_is_that_of_the_jury(judged: Judged) -> None:
    """It has none until every member has sat, and names who has not."""
    shown = aib(
        judged.folder, "leaderboard", "--protocol", "lite", "--jury", "judge-plain,kin/judge@"
    )

    assert (
        f"of the jury {SIM}@none-t0.0 has not been validated: `aib exam -j {SIM}`" in shown.stdout
    )


def test_a_report_has_it_and_is_the_same_bytes_each_time(judged: Judged, tmp_path: Path) -> None:
    """With a date, so that tomorrow's report of the same store is today's."""
    found = []
    for name in ("one", "two"):
        made = aib(
            judged.folder, "generate-report", "--protocol", "lite", "--out", str(tmp_path / name)
        )
        assert made.returncode == 0, made.stderr
        found.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
    text = next(body for name, body in found[0].items() if name.endswith(".md")).decode()

    assert found[0] == found[1]
    assert judged.line in text
    assert "has not been validated" in text


def test_the_viewer_is_sent_it(judged: Judged) -> None:
    """With each board, with each judge of a protocol, and with each verdict on a conversation."""
    with answering(judged.folder / "aib.db") as answers:
        entries = read(answers, "index.json")["boards"]
        mine = next(entry for entry in entries if "judge-plain" in str(entry["judge"]))
        panel = read(answers, f"judges/{mine['protocol']}.json")["panels"][0]
        transcript = read(answers, f"transcripts/{next(iter(answers.catalog.transcripts))}.json")

    assert {entry["exam"] for entry in entries if entry["judge"] == mine["judge"]} == {judged.line}
    assert sorted(one["exam"]["line"] for one in panel["found"]["judges"]) == sorted(
        [judged.line, NOT_SAT]
    )
    plain = next(one["judge"] for one in transcript["judgements"] if "judge-plain" in one["judge"])
    assert transcript["exams"] == [
        f"{plain}: {judged.line}",
        NOT_SAT.replace("this judge", f"{SIM}@none-t0.0"),
    ]


def test_a_gate_and_a_character_have_it(judged: Judged, tmp_path: Path) -> None:
    """What a build is let through by, and what is told of a character, is a judge's, too."""
    (tmp_path / "models.yaml").write_text(
        (judged.folder / "models.yaml").read_text("utf-8"), encoding="utf-8"
    )
    lite = ("--protocol", "lite", "--judge", "kin/judge@")
    aib(judged.folder, "gate", "--write", str(tmp_path / "base.json"), "stubborn", *lite)
    gate = aib(
        judged.folder,
        "gate",
        str(tmp_path / "base.json"),
        "stubborn",
        "--protocol",
        "lite",
    )
    sheet = str(EXAMPLES / "companion.yaml")
    persona = aib(
        tmp_path,
        "persona",
        "run",
        sheet,
        "-m",
        "sim:sim/persona-keeper",
        "--judge",
        SIM,
        "--runs",
        "1",
    )

    assert NOT_SAT in gate.stdout, gate.stderr
    assert NOT_SAT in persona.stdout, persona.stderr
    assert NOT_SAT in persona.stderr


def test_foreign_labels_in_it_are_harmless() -> None:
    """A judge's name comes from a store that a stranger may have made."""
    said = BoardExam(None, ("evil\x1b[31m",), ("evil; rm -rf\x1b[31m",)).line

    assert said == "this judge has not been validated: `aib exam -j 'evil; rm -rf\\u{1b}[31m'`"
    assert (
        BoardExam(None, no_questions=True).line
        == "exam: it has no questions for what is scored here"
    )
