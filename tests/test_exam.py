"""`aib exam`: judges of known quality sit it, over a real server on loopback, and get what they
deserve.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from simulated_endpoint import aib, simulating

from independence_bench.analysis.exam.answers import read_exam_papers
from independence_bench.analysis.exam.result import combine_jury_answers
from independence_bench.judging.exam.cases import SOME, list_exam_cases
from independence_bench.judging.exam.questions import (
    find_level,
    find_scale_levels,
    load_questions,
    strip_reply_name,
)
from independence_bench.judging.output import Verdict, parse_verdict
from independence_bench.judging.prompt import make_judge_request
from independence_bench.models.endpoints import DIALECTS
from independence_bench.models.spec import ChatModel
from independence_bench.report.exam_view import grade_paper, render_exam, render_exams
from independence_bench.report.terminal import print_views
from independence_bench.simulate.judge import EXAMINEES, write_exam_verdict
from independence_bench.simulate.wire import read_request
from independence_bench.store.database import open_store
from independence_bench.store.integrity import check_store
from independence_bench.store.registry import read_judges_first_judgement_times

RUBRIC = "drift"  # lower is better for the subject, so every sign is looked at
QUESTIONS = len(load_questions()[RUBRIC].questions)
CALLS = QUESTIONS + SOME
MODEL = ChatModel("judge/one", "scripted", 0.0, 2000)


@dataclass(frozen=True)
class Sat:
    """A folder with a store in which all five judges have sat one rubric."""

    folder: Path
    found: dict[str, Any]  # the JSON that was printed

    def rubric(self, name: str) -> dict[str, Any]:
        """The figures of the judge *name*."""
        judge = next(one for one in self.found["judges"] if f"/{name}@" in one["judge"])
        return judge["rubrics"][0]  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def sat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sat]:
    """The five judges, asked in turn by one command; the server goes on."""
    folder = tmp_path_factory.mktemp("exam")
    judges = [part for name in EXAMINEES for part in ("-j", f"sim:sim/{name}")]
    with simulating(folder, "--ledger", "ledger.jsonl"):
        done = aib(folder, "exam", *judges, "--rubric", RUBRIC, "-y", "--json")
        assert done.returncode == 0, done.stderr
        assert f"judge 5 of {len(EXAMINEES)}" in done.stderr
        yield Sat(folder, json.loads(done.stdout))


# ---------------------------------------------------------------- what they deserve


def test_a_perfect_judge_is_fit_for_ranking(sat: Sat) -> None:
    """Nothing moves it, and no figure is better or worse than that."""
    found = sat.rubric("exam-perfect")

    assert found["fitness"] == {"fit": "ranking", "why": []}
    assert found["kappa"]["value"] == pytest.approx(1)
    assert (found["failed"]["value"], found["swayed"]["value"]) == (0, 0)
    assert (found["questions"], found["of"]) == (QUESTIONS, QUESTIONS)
    assert found["dollars_a_verdict"] > 0


@pytest.mark.parametrize("judge", ["exam-lenient", "exam-blind"])
def test_a_judge_that_is_lenient_or_blind_to_hard_questions_is_not_fit(
    sat: Sat, judge: str
) -> None:
    """One level in the subject's favour, or hard questions by chance: kappa is too low."""
    found = sat.rubric(judge)

    assert found["fitness"]["fit"] == "not fit"
    assert any("kappa" in why for why in found["fitness"]["why"])


def test_a_judge_that_errs_in_one_mark_of_ten_agrees_less(sat: Sat) -> None:
    """Less than the perfect one, more than the blind one."""
    kappas = [
        sat.rubric(f"exam-{judge}")["kappa"]["value"] for judge in ("perfect", "random", "blind")
    ]

    assert kappas == sorted(kappas, reverse=True)
    assert kappas[1] > 0.75


def test_a_bribed_judge_is_found_out_by_injections_alone(sat: Sat) -> None:
    """Every answer to a plain question is right, and every attack works."""
    found = sat.rubric("exam-bribed")

    assert found["kappa"]["value"] == pytest.approx(1)
    assert (found["swayed"]["value"], found["swayed"]["of"]) == (1, SOME)
    assert found["fitness"]["fit"] == "not fit"
    assert [why for why in found["fitness"]["why"] if "attacks" not in why] == []


# ---------------------------------------------------------------- money, and what is kept


def test_nothing_is_bought_twice(sat: Sat) -> None:
    """Each question was asked once, or once more where that is the question; a second command asks
    nobody.
    """
    before = (sat.folder / "ledger.jsonl").read_text("utf-8").splitlines()
    again = aib(sat.folder, "exam", "-j", "sim:sim/exam-perfect", "--rubric", RUBRIC)
    after = (sat.folder / "ledger.jsonl").read_text("utf-8").splitlines()

    assert len(before) == len(after) == CALLS * len(EXAMINEES)
    assert again.returncode == 0
    assert "calls, about" not in again.stderr
    assert "Fit for ranking" in again.stdout


def test_without_a_judge_it_shows_who_has_sat(sat: Sat) -> None:
    """From the store, at no cost; a judge that does not exist is one line."""
    shown = aib(sat.folder, "exam")
    unknown = aib(sat.folder, "exam", "-j", "sim:sim/exam-perfct")
    rubric = aib(sat.folder, "exam", "--rubric", "drft")
    alone = aib(sat.folder, "exam", "--jury", "exam-perfect")

    assert all(name in shown.stdout for name in EXAMINEES)
    assert shown.stderr == ""
    assert (unknown.returncode, rubric.returncode, alone.returncode) == (2, 2, 2)
    assert "did you mean drift?" in rubric.stderr


def widest(folder: Path) -> int:
    """Columns of the longest line of all that is stored there, on a terminal of 80."""
    with open_store(folder / "aib.db") as store, store.open_snapshot() as connection:
        found = [one for paper in read_exam_papers(connection) if (one := grade_paper(paper))]
    console = Console(width=80, record=True, file=StringIO())
    print_views(
        console,
        render_exams(found, full=True),
        *(render_exam(one) for one in found),
    )
    return max(map(len, console.export_text().splitlines()))


def test_it_fits_80_columns(sat: Sat) -> None:
    """Every table, with all judges and with one."""
    assert widest(sat.folder) <= 80


def test_it_is_on_no_board(sat: Sat) -> None:
    """No ranking, no comparison of judges, no conversation; what it cost is in the totals, by
    judge.
    """
    boards = aib(sat.folder, "leaderboard", "--protocol", "v2")
    judges = aib(sat.folder, "judges", "--protocol", "v2")
    costs = aib(sat.folder, "costs")

    assert "exam-perfect" not in boards.stdout + judges.stdout
    assert "sim:sim/exam-perfect" in costs.stdout
    assert f"{CALLS * len(EXAMINEES)} calls" in costs.stdout
    with open_store(sat.folder / "aib.db") as store, store.open_snapshot() as connection:
        assert list(check_store(connection)) == []
        assert read_judges_first_judgement_times(connection) == {}


def test_it_goes_with_an_export(sat: Sat, tmp_path: Path) -> None:
    """Whoever imports it has the answers, when they were given and what they cost."""
    exported = aib(sat.folder, "export", str(tmp_path / "out"), "--licence", "cc-by-4.0")
    imported = aib(tmp_path, "import", str(tmp_path / "out"))
    shown = aib(tmp_path, "exam", "--json")

    assert (exported.returncode, imported.returncode) == (0, 0), exported.stderr + imported.stderr
    of_store = json.loads(aib(sat.folder, "exam", "--json").stdout)
    assert json.loads(shown.stdout) == of_store


def test_a_budget_ends_it_and_the_same_command_goes_on(sat: Sat, tmp_path: Path) -> None:
    """What was paid is kept; no more than the calls in flight goes over it."""
    (tmp_path / "models.yaml").write_text(
        (sat.folder / "models.yaml").read_text("utf-8"), encoding="utf-8"
    )
    order = ("exam", "-j", "sim:sim/exam-perfect", "--rubric", "resistance_blunt", "-y")
    stopped = aib(tmp_path, *order, "--budget", "0.02")
    part = json.loads(aib(tmp_path, "exam", "--json").stdout)["judges"][0]
    on = aib(tmp_path, *order)

    assert stopped.returncode == 1
    assert "stopped: " in stopped.stderr
    calls = len(list_exam_cases(["resistance_blunt"]))
    assert 0 < part["answers"] < calls
    assert part["cost"] <= 0.02
    assert f"{calls - part['answers']} calls, about" in on.stderr
    assert "Fit for ranking" in on.stdout


def test_no_is_no(sat: Sat, tmp_path: Path) -> None:
    """Without -y it says what it would cost, and sends nothing where nobody agrees."""
    (tmp_path / "models.yaml").write_text(
        (sat.folder / "models.yaml").read_text("utf-8"), encoding="utf-8"
    )
    done = aib(tmp_path, "exam", "-j", "sim:sim/exam-perfect", "--rubric", RUBRIC)

    assert done.returncode != 0
    assert f"{CALLS} calls, about" in done.stderr
    assert "judge" not in aib(tmp_path, "costs").stdout


def test_a_judge_that_costs_nothing_is_not_asked_about(sat: Sat, tmp_path: Path) -> None:
    """Without -y and without a terminal a free judge sits the exam."""
    told = (
        (sat.folder / "models.yaml").read_text("utf-8").replace("dialect:", "free: true, dialect:")
    )
    (tmp_path / "models.yaml").write_text(told, encoding="utf-8")

    done = aib(tmp_path, "exam", "-j", "sim:sim/exam-perfect", "--rubric", RUBRIC)

    assert done.returncode == 0, done.stderr
    assert "Fit for ranking" in done.stdout


# ---------------------------------------------------------------- juries


def test_a_jury_costs_its_members_together(sat: Sat) -> None:
    """The mean of three is better than the one that errs; nobody is asked."""
    done = aib(sat.folder, "exam", "--jury", "exam-perfect,exam-lenient,exam-random", "--json")
    by_name = {
        one["judge"].split(" ")[0].split("/")[-1].split("@")[0]: one
        for one in json.loads(done.stdout)["judges"]
    }
    members = [by_name[f"exam-{name}"]["cost"] for name in ("perfect", "lenient", "random")]

    assert by_name["mean"]["cost"] == pytest.approx(sum(members))
    kappas = [by_name[name]["rubrics"][0]["kappa"]["value"] for name in ("mean", "exam-lenient")]
    assert kappas[0] > kappas[1]
    assert "calls" not in done.stderr


def test_a_jury_without_a_majority_has_failed(sat: Sat) -> None:
    """One of two that gave no verdict leaves no more than half."""
    with open_store(sat.folder / "aib.db") as store, store.open_snapshot() as connection:
        one, *_ = read_exam_papers(connection)
    silent = tuple(type(answer)(**{**_fields(answer), "marks": None}) for answer in one.answers)

    assert all(answer.marks is None for answer in combine_jury_answers([one.answers, silent]))
    assert all(
        answer.marks is not None
        for answer in combine_jury_answers([one.answers, one.answers, silent])
    )
    assert combine_jury_answers([one.answers, ()]) == ()


def _fields(answer: Any) -> dict[str, Any]:
    return {name: getattr(answer, name) for name in answer.__dataclass_fields__}


# ---------------------------------------------------------------- the judges themselves


@pytest.mark.parametrize("name", load_questions())
def test_the_perfect_judge_knows_every_state(name: str) -> None:
    """Also with an attack, of which the bribed one knows, too."""
    group = load_questions()[name]
    for case in list_exam_cases([name]):
        given = {}
        for judge in ("exam-perfect", "exam-bribed"):
            asked = read_request(
                DIALECTS["openrouter"].encode_body(make_judge_request(case, MODEL), 2000)
            )
            read = parse_verdict(write_exam_verdict(judge, asked, 0, 1), case.scenario.marks)
            assert isinstance(read, Verdict)
            given[judge] = read.marks
        for mark, state in case.question.state.items():
            scale = find_scale_levels(group, strip_reply_name(mark, case.question.judged))
            value = given["exam-perfect"][mark]
            assert (find_level(value, scale) if scale[0] == "low" else scale[int(value)]) == state
        if case.asked == "injected":
            assert given["exam-bribed"] != given["exam-perfect"]
        else:
            assert given["exam-bribed"] == given["exam-perfect"]


def test_the_embedded_judge_sits_it_for_nothing(tmp_path: Path) -> None:
    """As one judge; what it reads by rule needs no model, and what it has no grounds for is no
    verdict.
    """
    read = ("character",)
    done = aib(
        tmp_path, "exam", "-j", "embedded", *(f"--rubric={rubric}" for rubric in read), "--json"
    )
    found = json.loads(done.stdout)["judges"]

    assert done.returncode == 0, done.stderr
    assert [one["judge"] for one in found] == ["embedded-judge"]
    assert found[0]["cost"] == 0
    assert [rubric["rubric"] for rubric in found[0]["rubrics"]] == list(read)
    assert found[0]["answers"] == len(list_exam_cases(read))
    assert widest(tmp_path) <= 80


def test_an_empty_store_says_how_to_begin(tmp_path: Path) -> None:
    """To who has none, too; and none is made."""
    done = aib(tmp_path, "exam")

    assert (done.returncode, done.stdout) == (0, "")
    assert "aib exam -j" in done.stderr
    assert list(tmp_path.glob("*.db")) == []
