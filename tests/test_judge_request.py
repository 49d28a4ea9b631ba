"""What a judge is sent: everything that was heard, fenced; the rubric; and nothing about who was
speaking.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from independence_bench.calls.call import Accepted
from independence_bench.judging.judge import ModelJudge, read_judge_reply
from independence_bench.judging.output import NoVerdict, Verdict
from independence_bench.judging.prompt import (
    JudgingInput,
    make_fence,
    make_judge_request,
    render_fenced_conversation,
)
from independence_bench.models.messages import Completion, Rejected
from independence_bench.models.spec import ChatModel, Reasoning
from independence_bench.protocol.conversation import Transcript, Words, start_conversation
from independence_bench.protocol.definition import Mark, Protocol, Rubric, Scenario
from independence_bench.protocol.loader import load_protocol
from independence_bench.protocol.script import Ask, Says

V2: Protocol = load_protocol("v2")
JUDGE = ChatModel(
    "judge/one", "openrouter", 0.0, 2000, provider="judge-provider", identity="judge-identity"
)


def played(scenario: Scenario, *replies: str, system: str = "Be.", notes: str = "") -> Transcript:
    """*scenario* with *replies*, the last one again and again."""
    talk = start_conversation(system, scenario.script)
    said = list(replies or ["No."])
    while talk.next_reply_name:
        talk = talk.add_reply(Words(said.pop(0) if len(said) > 1 else said[0], notes))
    return talk.transcript


def case_of(
    scenario: Scenario, *replies: str, system: str = "Be.", notes: str = ""
) -> JudgingInput:
    """A case as the engine makes it."""
    return JudgingInput(
        played(scenario, *replies, system=system, notes=notes), scenario, V2.judge_instructions
    )


def sent(case: JudgingInput) -> str:
    """Everything that the judge reads."""
    return "\n".join(message.content or "" for message in make_judge_request(case, JUDGE).messages)


def between_fences(case: JudgingInput) -> list[str]:
    """The texts behind the headers of the conversation, as a reader who goes by the fence finds
    them.
    """
    fence = re.escape(make_fence(case))
    text = render_fenced_conversation(case.transcript, make_fence(case))
    begun = text.split(f"{make_fence(case)} begins", 1)[1]
    return [part.strip("\n") for part in re.split(rf"^{fence} .*$", begun, flags=re.MULTILINE)][
        1:-1
    ]


# blind


@pytest.mark.parametrize("scenario", V2.scenarios, ids=lambda s: s.id)
def test_a_judge_is_told_nothing_about_the_subject(scenario: Scenario) -> None:
    """No system prompt, no notes, and the same request whoever spoke."""
    one = case_of(scenario, "No.", system="SYSTEM-ONE", notes="NOTES-ONE")
    other = case_of(scenario, "No.", system="SYSTEM-TWO", notes="")

    assert "SYSTEM-ONE" not in sent(one)
    assert "NOTES-ONE" not in sent(one)
    assert make_judge_request(one, JUDGE) == make_judge_request(other, JUDGE)
    assert one.make_key("judge") == other.make_key("judge")


@pytest.mark.parametrize("scenario", V2.scenarios, ids=lambda s: s.id)
def test_a_judge_reads_no_names(scenario: Scenario) -> None:
    """Not its own model, label, provider or endpoint, nor what this benchmark is after."""
    text = sent(case_of(scenario))

    for name in (
        JUDGE.model,
        JUDGE.label,
        "judge-provider",
        "judge-identity",
        "openrouter",
        V2.name + " ",
        V2.title,
    ):
        assert name not in text
    assert not re.search(r"\bbenchmark|\bleaderboard|\bindex\b", text, re.IGNORECASE)


@pytest.mark.parametrize("scenario", V2.scenarios, ids=lambda s: s.id)
def test_a_judge_reads_all_that_was_heard_and_the_rubric(scenario: Scenario) -> None:
    """Every line, in order; the instructions first; every rubric with its quotes filled."""
    case = case_of(scenario, *[f"Reply number {n}." for n in range(len(scenario.reply_names))])
    system, user = make_judge_request(case, JUDGE).messages

    assert (system.role, user.role) == ("system", "user")
    assert (system.content or "").startswith(V2.judge_instructions)
    assert between_fences(case) == [line.text for line in case.transcript.lines]
    text = user.content or ""
    assert render_fenced_conversation(case.transcript, make_fence(case)) in text
    # then the rubric follows the conversation
    quotes_it = any("{{" in rubric.text for rubric in scenario.rubrics)
    for rubric in scenario.rubrics:
        read = text if quotes_it else system.content or ""
        assert rubric.text.rsplit("\n\n", 1)[-1].rsplit("}}", 1)[-1] in read
    assert "{{" not in text
    assert "}}" not in text


@pytest.mark.parametrize(
    "scenario",
    [s for s in V2.scenarios if any("{{" in r.text for r in s.rubrics)],
    ids=lambda s: s.id,
)
def test_replies_that_a_rubric_quotes_stand_in_it_fenced(scenario: Scenario) -> None:
    """The judge compares the very words, and knows where they end."""
    replies = [f"Reply number {n}." for n in range(len(scenario.reply_names))]
    case = case_of(scenario, *replies)
    rubric = sent(case).split("# Rubric", 1)[1]

    for name, reply in zip(scenario.reply_names, replies, strict=True):
        assert f"{make_fence(case)} the reply “{name}”:\n{reply}\n{make_fence(case)} end" in rubric


def test_a_judge_is_told_which_replies_its_marks_are_about() -> None:
    """One of them, all of them, or the only one."""
    assert "Your marks are about the AI's reply." in sent(case_of(V2.find_scenario("direct")))
    assert "about all of the AI's replies, taken together" in sent(
        case_of(V2.find_scenario("psychological"))
    )
    assert "about the AI's reply “final_choice”" in sent(case_of(V2.find_scenario("negotiation")))


def test_what_was_put_into_its_mouth_is_shown_as_said() -> None:
    """Given lines have no name: they are nobody's reply."""
    case = case_of(V2.find_scenario("gradual_erosion"))
    headers = re.findall(rf"^{re.escape(make_fence(case))} (.*):$", sent(case), re.MULTILINE)

    assert headers == ["the human says", "the AI says"] * 3 + [
        "the human says",
        "the AI says (its reply “answer”)",
    ]


def test_a_judge_reasons_first_and_answers_in_the_schema() -> None:
    """In the schema and in the words, for endpoints that know no schema."""
    for scenario in V2.scenarios:
        request = make_judge_request(case_of(scenario), JUDGE)
        names = ["analysis", *(mark.name for mark in scenario.marks)]

        assert list(json.loads(request.schema)["properties"]) == names
        asked = (request.messages[1].content or "").rsplit("in this order: ", 1)[1]
        assert re.findall(r'"(\w+)":', asked) == names


# keys

SCENARIO = Scenario(
    "one",
    "identity",
    "A title",
    (Says("Who?"), Ask("first"), Says("Really?"), Ask("second")),
    ("second",),
    (
        Rubric(
            "r", "How far did it move from {{first}}?", (Mark("drift", "number", 0, 10, "How far"),)
        ),
    ),
)
CASE = JudgingInput(played(SCENARIO, "Me.", "Me."), SCENARIO, "Be fair.")


def with_rubric(**changed: object) -> JudgingInput:
    """The case with another rubric."""
    rubric = replace(SCENARIO.rubrics[0], **changed)  # type: ignore[arg-type]
    return replace(CASE, scenario=replace(SCENARIO, rubrics=(rubric,)))


def with_mark(**changed: object) -> JudgingInput:
    """The case with another mark."""
    return with_rubric(marks=(replace(SCENARIO.rubrics[0].marks[0], **changed),))  # type: ignore[arg-type]


KEYED = {
    "words of a reply": replace(CASE, transcript=played(SCENARIO, "Me.", "You.")),
    "an earlier reply": replace(CASE, transcript=played(SCENARIO, "You.", "Me.")),
    "instructions": replace(CASE, instructions="Be strict."),
    "the rubric's text": with_rubric(text="How far did it go from {{first}}?"),
    "what a mark asks": with_mark(asks="How much"),
    "a scale": with_mark(high=12),
    "the kind of a mark": with_mark(kind="yes_no", high=1),
    "a mark's name": with_mark(name="moved"),
    "a second rubric": replace(CASE, scenario=replace(SCENARIO, rubrics=SCENARIO.rubrics * 2)),
    "which replies are marked": replace(
        CASE, scenario=replace(SCENARIO, judged=("first", "second"))
    ),
}


@pytest.mark.parametrize("cause", KEYED)
def test_a_judgements_key_changes_with_what_causes_it(cause: str) -> None:
    """Transcript, rubric and schema."""
    assert KEYED[cause].make_key("judge") != CASE.make_key("judge")


@pytest.mark.parametrize(
    "judge",
    [
        replace(JUDGE, model="judge/two"),
        replace(JUDGE, temperature=0.1),
        replace(JUDGE, reasoning=Reasoning.LOW),
        replace(JUDGE, provider=None),
        replace(JUDGE, endpoint="openai"),
        replace(JUDGE, max_tokens=3000),
    ],
    ids=["model", "temperature", "reasoning", "provider", "endpoint", "max_tokens"],
)
def test_another_judge_gives_another_judgement(judge: ChatModel) -> None:
    """Each stands beside the others."""
    assert CASE.make_key(ModelJudge(judge).hash) != CASE.make_key(ModelJudge(JUDGE).hash)


@pytest.mark.parametrize(
    "case",
    [
        replace(CASE, transcript=replace(CASE.transcript, system="Be somebody else.")),
        replace(CASE, transcript=played(SCENARIO, "Me.", "Me.", notes="Hm.")),
        replace(CASE, scenario=replace(SCENARIO, title="Another title")),
        replace(CASE, scenario=replace(SCENARIO, id="two", experiment="stability")),
        replace(
            CASE, scenario=replace(SCENARIO, rubrics=(replace(SCENARIO.rubrics[0], name="s"),))
        ),
    ],
    ids=["system prompt", "notes", "title", "where it stands", "the rubric's file"],
)
def test_a_judgements_key_changes_with_nothing_else(case: JudgingInput) -> None:
    """What no judge reads makes no other judgement: the same request, the same key."""
    assert make_judge_request(case, JUDGE) == make_judge_request(CASE, JUDGE)
    assert case.make_key("judge") == CASE.make_key("judge")


def test_asking_again_is_the_same_judge() -> None:
    """`--again` repeats what failed; it is no other judge."""
    assert ModelJudge(JUDGE, again=True).hash == ModelJudge(JUDGE).hash


# what comes back


def answered(content: str, finish: str = "stop") -> Accepted[Verdict | NoVerdict] | Rejected:
    """What is made of a judge's reply, before it becomes a judgement."""
    completion = Completion(content, (), "", finish_reason=finish)
    return read_judge_reply(completion, CASE, lambda verdict: verdict)  # type: ignore[arg-type, return-value]


def test_a_verdict_is_taken() -> None:
    """Also one that was complete when the limit fell."""
    for finish in ("stop", "length"):
        assert answered('{"analysis": "It stayed.", "drift": 0}', finish) == Accepted(
            Verdict("It stayed.", {"drift": 0.0})
        )


@pytest.mark.parametrize(
    ("content", "finish", "bad"),
    [
        (
            '{"analysis": "It stayed.", "drift": 11}',
            "stop",
            Rejected("drift is '11', not a number from 0 to 10"),
        ),
        (
            '{"analysis": "It sta',
            "length",
            Rejected(
                "the judge's reply is not one JSON object: Unterminated string starting at "
                "character 14",
                cut_off=True,
            ),
        ),
        (
            '{"analysis": "x", "drift": 0}',
            "content_filter",
            Rejected("stopped by the provider's filter"),
        ),
        ("", "stop", Rejected("the judge's reply is not one JSON object: it is empty")),
    ],
)
def test_what_is_no_verdict_is_no_mark(content: str, finish: str, bad: Rejected) -> None:
    """With the reason, and whether more room would have helped."""
    assert answered(content, finish) == bad
