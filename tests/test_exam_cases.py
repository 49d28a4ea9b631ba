"""The exam's questions as cases: what a judge is sent, under which key, and which are asked more
than once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC
from pathlib import Path

import pytest

from independence_bench.analysis.exam.answers import exam_answers
from independence_bench.judging.exam.cases import SOME, exam_cases, room
from independence_bench.judging.exam.questions import every, questions, stem_of
from independence_bench.judging.output import NoVerdict, Verdict
from independence_bench.judging.prompt import JudgingInput, judge_request
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.conversation import play
from independence_bench.protocol.loader import load
from independence_bench.store import registry, results
from independence_bench.store.database import open_store

JUDGE = ChatModel("judge/one", "scripted", 0.0, 2000)
ONE = "stability"


def test_a_judge_is_sent_what_it_is_sent_for_a_stored_conversation() -> None:
    """The same request, to the letter, as for a conversation of the protocol with these words."""
    scenario = load("v2").scenario("creativity")
    talk = play(
        "",
        scenario.script,
        {"preference": "Slow films.", "after_pushback": "Slow films, still."}.__getitem__,
    )
    stored = JudgingInput(talk, scenario, load("v2").judge_instructions)
    case = replace(exam_cases([ONE])[0], transcript=talk)

    assert judge_request(case, JUDGE) == judge_request(stored, JUDGE)
    assert case.key("judge") != stored.key("judge")


@pytest.mark.parametrize("name", questions())
def test_each_question_has_the_marks_of_its_state(name: str) -> None:
    """Every mark that has a state is asked for, and the whole rubric with it; each name once."""
    for case in exam_cases([name]):
        asked = [mark.name for mark in case.scenario.marks]
        assert set(case.question.state) <= set(asked)
        assert len(set(asked)) == len(asked)
        for mark in case.scenario.marks:
            if stem_of(mark.name, case.question.judged) != mark.name:
                assert any(f"“{reply}”" in mark.asks for reply in case.question.judged)


def test_what_rules_read_is_there() -> None:
    """The name that a character goes by."""
    named = [case for case in exam_cases(["character"]) if case.scenario.own_name]
    assert named
    assert all(case.scenario.own_name in case.scenario.reference for case in named)


@pytest.mark.parametrize("name", questions())
def test_some_are_asked_again_with_an_attack(name: str) -> None:
    """Twelve: over all states, as many hard as ordinary ones, each with another family."""
    cases, group = exam_cases([name]), questions()[name]
    attacked = [case for case in cases if case.asked == "injected"]

    assert Counter(case.asked for case in cases) == {
        "first": len(group.questions),
        "injected": SOME,
    }
    states = Counter(next(iter(case.question.state.values())) for case in attacked)
    assert max(states.values()) - min(states.values()) <= 2, states
    assert sum(case.question.hard for case in attacked) == pytest.approx(SOME / 2, abs=1)
    assert all(room(group, case.question) for case in attacked)
    assert len({case.attack.family for case in attacked if case.attack}) == SOME


def test_no_two_cases_share_a_key() -> None:
    """So that none is bought twice, and a second reading is one."""
    cases = exam_cases()

    assert (
        len({case.key("judge") for case in cases})
        == len(cases)
        == len(list(every())) + len(questions()) * SOME
    )
    assert exam_cases([ONE]) == tuple(case for case in cases if case.rubric == ONE)


def test_answers_come_back_with_their_judge(tmp_path: Path) -> None:
    """A level is its index; what failed has no marks; nobody else's are among them."""
    case = exam_cases(["character"])[0]
    given = Verdict("So.", {mark.name: 0.0 for mark in case.scenario.marks})
    failed = exam_cases(["drift"])[0]
    with open_store(tmp_path / "exam.db") as store:
        with store.writing() as connection:
            for judge in ("mine", "other"):
                registry.keep_judge(connection, judge, judge, "{}")
            made = [
                case.judgement("mine", given),
                failed.judgement("mine", NoVerdict("no JSON")),
                failed.judgement("other", NoVerdict("no JSON")),
            ]
            results.keep_judgements(
                connection, [(one.key, None, one, 1_700_000_000.0) for one in made]
            )
        with store.reading() as connection:
            found = {
                (answer.rubric, answer.asked): answer for answer in exam_answers(connection, "mine")
            }
            none = exam_answers(connection, "mine", ["stability"])

    first = found["character", "first"]
    assert len(found) == 2
    assert none == ()
    assert first.marks is not None
    assert first.marks["granted"] == 0.0
    assert found["drift", "first"].marks is None
    assert (first.cost, first.attack) == (0.0, None)
    assert first.when.timestamp() == 1_700_000_000
    assert first.when.tzinfo == UTC
