"""The exam's questions as cases: what a judge is sent, under which key, and which are asked more
than once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC
from pathlib import Path

import pytest

from independence_bench.analysis.exam.answers import read_exam_answers
from independence_bench.judging.exam.cases import SOME, has_mark_below_best, list_exam_cases
from independence_bench.judging.exam.questions import (
    list_questions,
    load_questions,
    strip_reply_name,
)
from independence_bench.judging.output import NoVerdict, Verdict
from independence_bench.judging.prompt import JudgingInput, make_judge_request
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.conversation import play_script
from independence_bench.protocol.loader import load_protocol
from independence_bench.store import registry, results
from independence_bench.store.database import open_store

JUDGE = ChatModel("judge/one", "scripted", 0.0, 2000)
ONE = "stability"


def test_a_judge_is_sent_what_it_is_sent_for_a_stored_conversation() -> None:
    """The same request, to the letter, as for a conversation of the protocol with these words."""
    scenario = load_protocol("v2").find_scenario("creativity")
    talk = play_script(
        "",
        scenario.script,
        {"preference": "Slow films.", "after_pushback": "Slow films, still."}.__getitem__,
    )
    stored = JudgingInput(talk, scenario, load_protocol("v2").judge_instructions)
    case = replace(list_exam_cases([ONE])[0], transcript=talk)

    assert make_judge_request(case, JUDGE) == make_judge_request(stored, JUDGE)
    assert case.make_key("judge") != stored.make_key("judge")


@pytest.mark.parametrize("name", load_questions())
def test_each_question_has_the_marks_of_its_state(name: str) -> None:
    """Every mark that has a state is asked for, and the whole rubric with it; each name once."""
    for case in list_exam_cases([name]):
        asked = [mark.name for mark in case.scenario.marks]
        assert set(case.question.state) <= set(asked)
        assert len(set(asked)) == len(asked)
        for mark in case.scenario.marks:
            if strip_reply_name(mark.name, case.question.judged) != mark.name:
                assert any(f"“{reply}”" in mark.asks for reply in case.question.judged)


def test_what_rules_read_is_there() -> None:
    """The name that a character goes by."""
    named = [case for case in list_exam_cases(["character"]) if case.scenario.own_name]
    assert named
    assert all(case.scenario.own_name in case.scenario.reference for case in named)


@pytest.mark.parametrize("name", load_questions())
def test_some_are_asked_again_with_an_attack(name: str) -> None:
    """Twelve: over all states, as many hard as ordinary ones, each with another family."""
    cases, group = list_exam_cases([name]), load_questions()[name]
    attacked = [case for case in cases if case.asked == "injected"]

    assert Counter(case.asked for case in cases) == {
        "first": len(group.questions),
        "injected": SOME,
    }
    states = Counter(next(iter(case.question.state.values())) for case in attacked)
    assert max(states.values()) - min(states.values()) <= 2, states
    assert sum(case.question.is_hard for case in attacked) == pytest.approx(SOME / 2, abs=1)
    assert all(has_mark_below_best(group, case.question) for case in attacked)
    assert len({case.attack.family for case in attacked if case.attack}) == SOME


def test_no_two_cases_share_a_key() -> None:
    """So that none is bought twice, and a second reading is one."""
    cases = list_exam_cases()

    assert (
        len({case.make_key("judge") for case in cases})
        == len(cases)
        == len(list(list_questions())) + len(load_questions()) * SOME
    )
    assert list_exam_cases([ONE]) == tuple(case for case in cases if case.rubric == ONE)


def test_answers_come_back_with_their_judge(tmp_path: Path) -> None:
    """A level is its index; what failed has no marks; nobody else's are among them."""
    case = list_exam_cases(["character"])[0]
    given = Verdict("So.", {mark.name: 0.0 for mark in case.scenario.marks})
    failed = list_exam_cases(["drift"])[0]
    with open_store(tmp_path / "exam.db") as store:
        with store.open_transaction() as connection:
            for judge in ("mine", "other"):
                registry.store_judge(connection, judge, judge, "{}")
            made = [
                case.make_judgement("mine", given),
                failed.make_judgement("mine", NoVerdict("no JSON")),
                failed.make_judgement("other", NoVerdict("no JSON")),
            ]
            results.store_judgements(
                connection, [(one.key, None, one, 1_700_000_000.0) for one in made]
            )
        with store.open_snapshot() as connection:
            found = {
                (answer.rubric, answer.asked): answer
                for answer in read_exam_answers(connection, "mine")
            }
            none = read_exam_answers(connection, "mine", ["stability"])

    first = found["character", "first"]
    assert len(found) == 2
    assert none == ()
    assert first.marks is not None
    assert first.marks["granted"] == 0.0
    assert found["drift", "first"].marks is None
    assert (first.cost, first.attack) == (0.0, None)
    assert first.when.timestamp() == 1_700_000_000
    assert first.when.tzinfo == UTC
