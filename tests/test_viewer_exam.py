"""What the page is sent of the exam: who has sat, and every question with what was made of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from simulated_endpoint import aib, simulating
from viewer_store import answering, read

from independence_bench.judging.exam.questions import load_questions
from independence_bench.store.database import open_store
from independence_bench.viewer.judges import build_exam_answer
from independence_bench.viewer.snapshot import read_catalog

JUDGES = ("exam-perfect", "exam-blind")
ORDER = [part for name in JUDGES for part in ("-j", f"sim:sim/{name}")]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two judges that have sat one rubric."""
    folder = tmp_path_factory.mktemp("exam")
    with simulating(folder):
        done = aib(folder, "exam", *ORDER, "--rubric", "name_and_gender", "-y")
        assert done.returncode == 0, done.stderr
        yield folder / "aib.db"


def test_figures_are_those_of_the_command(store: Path) -> None:
    """The same judges, fitness and kappa, as text."""
    printed = json.loads(aib(store.parent, "exam", "--json").stdout)["judges"]
    with answering(store) as answers:
        sent = read(answers, "exam.json")["judges"]

    assert [one["label"] for one in sent] == [one["judge"] for one in printed]
    for judge, as_printed in zip(sent, printed, strict=True):
        (rubric,), (figures,) = judge["result"]["rubrics"], as_printed["rubrics"]
        assert judge["result"]["fitness"] == as_printed["fitness"]
        assert rubric["kappa"]["shown"] == f"{figures['kappa']['value']:.2f}"
        assert rubric["questions"] == figures["questions"]


def test_every_question_has_its_state_and_what_each_judge_made_of_it(store: Path) -> None:
    """With the reasons of both; a perfect judge is right everywhere, and the canary goes along."""
    with answering(store) as answers:
        perfect = next(
            one["id"] for one in read(answers, "exam.json")["judges"] if "perfect" in one["label"]
        )
        sent = read(answers, "exam/name-and-gender.json")
        paths = list(answers.list_paths())

    group = load_questions()["name_and_gender"]
    assert sent["canary"] == group.canary
    assert [one["id"] for one in sent["questions"]] == [question.id for question in group.questions]
    for one in sent["questions"]:
        first = [reading for reading in one["readings"] if reading["asked"] == "first"]
        assert len(first) == len(JUDGES)
        assert all(reading["right"] for reading in first if reading["judge"] == perfect)
        assert all(reading["reasoning"] for reading in first)
        assert one["why"]
    assert [path for path in paths if path.startswith("exam")] == [
        "exam.json",
        "exam/name-and-gender.json",
    ]


def test_what_nobody_has_sat_is_not_there(store: Path, tmp_path: Path) -> None:
    """No questions are published of a rubric that nobody was asked; an empty store has no
    judges.
    """
    with answering(store) as answers:
        assert answers.get("exam/drift.json") is None
        assert answers.get("exam/nothing.json") is None
    with open_store(tmp_path / "empty.db") as empty:
        assert build_exam_answer(read_catalog(empty)).judges == ()
