"""The main judge of a board: one rule, and every reader answers by it and says so."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import write_short
from embedded_judge import embedded_judge
from scripted_model import Answer, Asked, Bench, says, steady
from simulated_endpoint import aib, simulating

from independence_bench.analysis.board import Board
from independence_bench.analysis.results import make_labelling_queue
from independence_bench.judging.person import Person, read_judging_input, store_marks
from independence_bench.store import registry
from independence_bench.store.database import open_store
from independence_bench.viewer.snapshot import read_catalog

PAID, SECOND = "sim:sim/judge@none-t0.0", "sim:sim/judge-object@none-t0.0"
EMBEDDED = embedded_judge().label


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two subjects, judged by two paid judges, and by the embedded one, which ranks a third subject
    as well.

    Both others sort before the first.
    """
    made = tmp_path_factory.mktemp("judged")
    write_short(made / "short")
    with simulating(made):
        for command in (
            (
                "run",
                "sim:sim/stubborn",
                "sim:sim/random",
                "--judge",
                "sim:sim/judge",
                "--protocol",
                "short",
                "--runs",
                "1",
            ),
            ("judge", "-j", "sim:sim/judge-object"),
            ("run", "sim:sim/agreeable", "--no-judge", "--protocol", "short", "--runs", "1"),
        ):
            done = aib(made, *command, "--store", "judged.db")
            assert done.returncode == 0, done.stderr
        with open_store(made / "judged.db") as store, store.open_snapshot() as connection:
            subjects = registry.read_subjects(connection).values()
        Bench(made / "short", made / "judged.db", {}).play(*subjects, judge=embedded_judge())
        yield made


def test_compare_answers_by_the_main_judge_and_says_so(folder: Path) -> None:
    """Not by the label that sorts first."""
    done = aib(folder, "compare", "stubborn", "random", "--store", "judged.db")
    (values,) = json.loads(
        aib(folder, "compare", "stubborn", "random", "--json", "--store", "judged.db").stdout
    )

    assert f"judge: {PAID} (the main one of 3)" in " ".join(done.stdout.split())
    assert f"by {PAID}, the main judge; also judged by {SECOND}, {EMBEDDED}" in done.stderr
    assert values["judge"] == values["main_judge"] == PAID
    chosen = aib(
        folder, "compare", "stubborn", "random", "--judge", "judge-object", "--store", "judged.db"
    )
    assert f"judge: {SECOND} (the main one is {PAID})" in " ".join(chosen.stdout.split())


def test_every_reader_has_the_same_main_judge(folder: Path) -> None:
    """Leaderboard, judges, report and viewer; its board comes first."""
    found = json.loads(aib(folder, "leaderboard", "--json", "--store", "judged.db").stdout)[
        "boards"
    ]
    (judged,) = json.loads(aib(folder, "judges", "--json", "--store", "judged.db").stdout)["judges"]
    reported = aib(folder, "generate-report", "--store", "judged.db", "--out", "report")
    with open_store(folder / "judged.db") as store:
        rankings = list(read_catalog(store).entries.values())

    assert [board["judge"] for board in found] == [PAID, SECOND, EMBEDDED]
    assert {board["main_judge"] for board in found} == {judged["main_judge"]} == {PAID}
    assert f"{PAID} is the main judge" in " ".join(
        aib(folder, "judges", "--store", "judged.db").stdout.split()
    )
    assert reported.returncode == 0, reported.stderr
    head = (folder / "report" / "LEADERBOARD.md").read_text(encoding="utf-8")
    assert f"judge `{PAID}` (the main one of 3)" in head
    assert rankings[0].judge == PAID
    assert {ranking.judge for ranking in rankings if ranking.main} == {PAID}


def test_rerun_is_judged_by_the_main_judge(folder: Path) -> None:
    """Not by whoever judged last; in a configuration that nobody has judged yet, by the main judge
    of the others.
    """
    done = aib(
        folder,
        "rerun",
        "stubborn",
        "--variants",
        "neutral",
        "--runs",
        "1",
        "-y",
        "--store",
        "judged.db",
    )

    assert done.returncode == 0, done.stderr
    assert (
        f"judge: {PAID}, the main one; {SECOND}, {EMBEDDED} judged too (--judge chooses)"
        in done.stderr
    )
    *_, board = json.loads(aib(folder, "leaderboard", "--json", "--store", "judged.db").stdout)[
        "boards"
    ]
    assert (board["configurations"], board["judge"]) == (["neutral/tool_role"], PAID)


def judges_of(boards: list[Board]) -> list[str]:
    """The judges in the rule's order, shortly."""
    (judges,) = {board.judges for board in boards}
    assert [board.judge for board in boards] == list(judges)
    assert {board.main_judge for board in boards} == {judges[0]}
    return [
        judge.partition("@")[0].removeprefix("scripted:").partition("-judge-")[0]
        for judge in judges
    ]


def test_the_rule(bench: Callable[..., Bench]) -> None:
    """Most subjects ranked; people after the models; who ranks nobody (the embedded judge, here)
    comes last.
    """
    made = bench(steady())
    one, two = made.subject("acme/one"), made.subject("acme/two")
    made.play(one, judge="judge/some")
    made.play(one, two, judge=embedded_judge())
    with open_store(made.store) as store:
        anna = Person("anna")
        for waiting in make_labelling_queue(
            store, made.protocol, made.protocol.configurations, anna
        ).waiting:
            case = read_judging_input(store, made.protocol, waiting)
            store_marks(
                store, anna, case, {mark.name: mark.high for mark in case.scenario.marks}, "", 1.0
            )
    assert judges_of(made.boards()) == ["judge/some", "person:anna", "embedded"]

    made.play(one, two, judge="judge/most")
    assert judges_of(made.boards()) == ["judge/most", "judge/some", "person:anna", "embedded"]

    made.play(two, judge="judge/some")
    made.play(one, two, judge="judge/all")
    assert judges_of(made.boards())[:3] == ["judge/some", "judge/most", "judge/all"], (
        "the first to judge"
    )

    made.endpoints["scripted"].script = no_verdict
    made.play(one, two, judge="judge/fails")
    assert judges_of(made.boards())[-3:] == ["person:anna", "judge/fails", "embedded"]


def no_verdict(asked: Asked) -> Answer:
    """A judge that says nothing of use."""
    return says(asked, "Who am I to judge?", cost=0.0)


def test_a_judge_that_the_exam_found_unfit_ranks_nobody(tmp_path: Path) -> None:
    """It judged first and most models; a fit one comes before it all the same."""
    blind, perfect = "sim:sim/exam-blind", "sim:sim/exam-perfect"
    two = ("sim:sim/stubborn", "sim:sim/agreeable")
    board = ("leaderboard", "--protocol", "lite")
    with simulating(tmp_path):
        for command in (
            ("run", *two, "--protocol", "lite", "--runs", "1", "--judge", blind),
            ("judge", "-j", perfect, "--models", "stubborn", "--protocol", "lite"),
        ):
            done = aib(tmp_path, *command)
            assert done.returncode == 0, done.stderr
        before = json.loads(aib(tmp_path, *board, "--json").stdout)["boards"]
        for rubrics in (("drift",), ("identity", "resistance_blunt", "stability")):
            asked = [word for rubric in rubrics for word in ("--rubric", rubric)]
            done = aib(tmp_path, "exam", "-j", blind, "-j", perfect, *asked, "--yes")
            assert done.returncode == 0, done.stderr
    after = json.loads(aib(tmp_path, *board, "--json").stdout)["boards"]
    told = " ".join(aib(tmp_path, *board, "--judge", "exam-blind").stdout.split())

    assert [one["judge"].partition("@")[0] for one in before] == [blind, perfect]
    assert [one["judge"].partition("@")[0] for one in after] == [perfect, blind]
    assert {one["main_judge"] for one in after} == {after[0]["judge"]}
    assert [one["judge_exam"]["fit"] for one in after] == ["ranking", "not fit"]
    assert [row["rank"] for row in before[0]["ranked"]] == [1, 2]
    assert [row["rank"] for row in after[0]["ranked"]] == [1]
    assert [row["rank"] for row in after[1]["ranked"]] == [None, None]
    indices = [[row["index"] for row in one["ranked"]] for one in (before[0], after[1])]
    assert indices[0] == indices[1]
    assert "The judge is not fit for ranking, by the exam, so the order may be wrong." in told
