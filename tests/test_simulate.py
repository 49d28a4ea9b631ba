"""The simulated endpoint: real server, real client, real `aib run`; and the pure parts by
themselves.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import socket
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import aiohttp
import pytest
from simulated_endpoint import aib, audit, read_ledger, simulating, simulating_apart

from independence_bench.errors import WrongUse
from independence_bench.judging.output import Verdict, parse_verdict
from independence_bench.judging.prompt import JudgingInput, make_judge_messages, make_judge_schema
from independence_bench.models.client import Client
from independence_bench.models.endpoints import DIALECTS
from independence_bench.models.messages import (
    ChatRequest,
    Completion,
    Fault,
    Kind,
    Message,
    Rejected,
)
from independence_bench.models.response import ModelInfo
from independence_bench.models.spec import ChatModel, Endpoint, Reasoning
from independence_bench.protocol.conversation import Transcript, Words, start_conversation
from independence_bench.protocol.definition import DELIVERIES, Delivery, Scenario
from independence_bench.protocol.delivery import UsableReply, make_messages, make_tools, read_reply
from independence_bench.protocol.loader import load_protocol
from independence_bench.protocol.script import Says
from independence_bench.simulate import catalog
from independence_bench.simulate.catalog import Entry, Ledger
from independence_bench.simulate.characters import CHARACTERS, HOLDS, SENTENCES, TURN, YIELDS
from independence_bench.simulate.faults import FAULTS, MIXED, Faults, parse_fault_script
from independence_bench.simulate.judge import find_stance, read_case
from independence_bench.simulate.server import (
    JUDGE,
    SUBJECT,
    Latency,
    Settings,
    Simulation,
    Window,
    simulate,
)
from independence_bench.simulate.wire import NotUnderstood, Price, Prices, read_request
from independence_bench.store import attempts
from independence_bench.store.database import open_store

V2 = load_protocol("v2")
ANSWERING = sorted(CHARACTERS.keys() - {"debris"})
NEGOTIATION = V2.find_scenario("negotiation")
SHIFTED = {"judge-lenient", "judge-noisy"}
EVADERS = ("sim:sim/stubborn", "sim:sim/evader", "sim:kin/evader")
ALL = tuple(scenario.id for scenario in V2.scenarios)


def client(simulation: Simulation) -> Client:
    """Our own client, speaking to the simulation."""
    return Client(Endpoint("sim", simulation.url, "openrouter"))


def model(name: str, **changes: Any) -> ChatModel:
    """A model of the simulation."""
    return replace(ChatModel(f"sim/{name}", "sim", 0.7, 2048), **changes)


def question(transcript: Transcript, name: str, delivery: Delivery, **changes: Any) -> ChatRequest:
    """The next question of a conversation."""
    return ChatRequest(
        model(name, **changes),
        make_messages(transcript, delivery, V2.tool_role),
        make_tools(delivery, V2.tool_role),
    )


def first_question(
    name: str = "stubborn",
    delivery: Delivery = "tool_role",
    scenario: Scenario = NEGOTIATION,
    **changes: Any,
) -> ChatRequest:
    """What a conversation begins with."""
    return question(
        start_conversation("Be yourself.", scenario.script).transcript, name, delivery, **changes
    )


def to_judge(scenario: Scenario, words: str, name: str = "judge") -> ChatRequest:
    """A judge's request about a conversation in which the model always said *words*."""
    talk = start_conversation("", scenario.script)
    while talk.next_reply_name:
        talk = talk.add_reply(Words(words))
    case = JudgingInput(talk.transcript, scenario, V2.judge_instructions)
    fence = "[0123456789abcdef0123]"
    return ChatRequest(
        model(name), make_judge_messages(case, fence), schema=make_judge_schema(scenario)
    )


def judged_replies(prompt: str) -> list[str]:
    """The replies that the marks of *prompt* are about, as the simulated judge finds them."""
    case = read_case(prompt)
    assert case is not None
    return case.judged_texts


async def play(
    talking: Client, scenario: Scenario, name: str, delivery: Delivery
) -> list[UsableReply | Rejected]:
    """One conversation to its end, or to a reply that is none."""
    talk = start_conversation(V2.find_system_prompt("strong_independence"), scenario.script)
    replies: list[UsableReply | Rejected] = []
    while talk.next_reply_name:
        outcome = await talking.complete(question(talk.transcript, name, delivery), 2048)
        assert isinstance(outcome, Completion), outcome
        reply = read_reply(outcome, delivery, V2.tool_role)
        replies.append(reply)
        if isinstance(reply, Rejected):
            break
        talk = talk.add_reply(reply.words)
    return replies


def play_all(
    name: str, delivery: Delivery, settings: Settings, scenarios: Collection[str] = ALL
) -> dict[str, list[UsableReply | Rejected]]:
    """Every scenario of v2, or some of them."""

    async def work() -> list[list[UsableReply | Rejected]]:
        async with simulate(settings) as simulation, client(simulation) as talking:
            every = [
                play(talking, V2.find_scenario(scenario), name, delivery) for scenario in scenarios
            ]
            return await asyncio.gather(*every)

    return dict(zip(scenarios, asyncio.run(work()), strict=True))


def words(reply: UsableReply | Rejected) -> str:
    """What was said."""
    assert isinstance(reply, UsableReply), reply
    return reply.words.text


def ask(
    request: ChatRequest, settings: Settings, times: int = 1, limit: int = 2048
) -> tuple[list[Completion | Fault], list[Entry]]:
    """One request, asked *times* times, and the ledger of it."""

    async def asked() -> tuple[list[Completion | Fault], list[Entry]]:
        async with simulate(settings) as simulation:
            async with client(simulation) as talking:
                outcomes = [await talking.complete(request, limit) for _ in range(times)]
            await settled(simulation)
            return outcomes, simulation.ledger.entries

    return asyncio.run(asked())


async def settled(simulation: Simulation) -> None:
    """Wait until every request has its line in the ledger."""
    for _ in range(200):
        if not simulation.in_flight:
            return
        await asyncio.sleep(0.01)


# ---------------------------------------------------------------- characters


@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize("name", ANSWERING)
def test_a_character_answers_the_whole_of_v2(name: str, delivery: Delivery) -> None:
    """Every scenario, in either delivery mode; where a tool is offered it speaks by it."""
    played = play_all(name, delivery, Settings(seed=4))

    assert {id_: len(replies) for id_, replies in played.items()} == {
        s.id: len(s.reply_names) for s in V2.scenarios
    }
    for reply in (reply for replies in played.values() for reply in replies):
        assert words(reply)
        assert isinstance(reply, UsableReply)
        assert not reply.cut_off
        assert not reply.plain_text


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_debris_is_never_an_answer(delivery: Delivery) -> None:
    """Whatever kind of it is drawn; and more than one kind is."""
    reasons = set()
    for seed in range(3):
        for replies in play_all("debris", delivery, Settings(seed=seed)).values():
            assert isinstance(replies[0], Rejected)
            reasons.add(replies[0].reason)

    assert len(reasons) >= 3


def test_stubborn_holds_always_and_agreeable_never_and_agreeable_says_what_was_said() -> None:
    """The two ends of every scale."""
    stubborn = play_all("stubborn", "tool_role", Settings())
    agreeable = play_all("agreeable", "tool_role", Settings())

    assert all(HOLDS[0] in words(reply) for replies in stubborn.values() for reply in replies)
    assert all(YIELDS[0] in words(reply) for replies in agreeable.values() for reply in replies)
    (*_, pushed) = [step.text for step in NEGOTIATION.script if isinstance(step, Says)]
    assert " ".join(pushed.split()).endswith(
        words(agreeable["negotiation"][1]).split("As you say: ")[1]
    )


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_a_gives_in_at_gives_in_at_the_push_that_its_name_says(delivery: Delivery) -> None:
    """The first thing said is no push; everything after it is one."""
    for push in (1, 2, 4):
        (replies,) = play_all(
            f"gives-in-at-{push}", delivery, Settings(), ["psychological"]
        ).values()
        assert [find_stance([words(reply)]) for reply in replies] == ["holds"] * push + [
            "yields"
        ] * (5 - push)


def test_random_holds_yields_and_evades() -> None:
    """All three over v2."""
    played = play_all("random", "user_role", Settings(seed=1))

    assert {find_stance([words(reply)]) for replies in played.values() for reply in replies} == {
        "holds",
        "yields",
        "middle",
    }


def test_terse_is_short_and_verbose_is_long() -> None:
    """Both are answers, and both hold."""
    ((terse,),) = play_all("terse", "user_role", Settings(), ["direct"]).values()
    ((verbose,),) = play_all("verbose", "user_role", Settings(), ["direct"]).values()

    assert len(words(terse).split()) <= 6
    assert len(words(verbose).split()) > 500
    assert find_stance([words(terse), words(verbose)]) == "holds"


@pytest.mark.parametrize("name", ["stubborn", "agreeable", "gives-in-at-2", "random", "evader"])
def test_an_ordinary_character_talks_as_long_as_a_typical_model(name: str) -> None:
    """By kind of question, in tokens of completion: three descriptions, one, and all the rest."""
    wanted = {
        "direct": 630,
        "tool_context": 330,
        "negotiation": 400,
        "psychological": 190,
        "creativity": 190,
    }
    took: dict[str, list[int]] = {scenario: [] for scenario in wanted}
    for seed in range(20):
        for scenario, replies in play_all(name, "user_role", Settings(seed=seed), wanted).items():
            took[scenario] += [len(words(reply)) // 4 for reply in replies]

    assert {scenario: fmean(tokens) for scenario, tokens in took.items()} == {
        scenario: pytest.approx(tokens, rel=0.2) for scenario, tokens in wanted.items()
    }
    mean = fmean(took["creativity"])
    assert min(took["creativity"]) < 0.85 * mean
    assert max(took["creativity"]) > 1.15 * mean


def test_what_fills_a_reply_says_nothing_that_the_judge_listens_for() -> None:
    """Who evades neither holds nor gives in, however long it talks."""
    fillers = (
        "stubborn_voice",
        "yielding_voice",
        "evading_voice",
        "anybody",
        "evasions",
        "thoughts",
    )
    for sentence in (sentence for filler in fillers for sentence in SENTENCES[filler]):
        assert not any(phrase in sentence for phrase in (*HOLDS, *YIELDS))
    for seed in range(50):
        for heard in ("Describe three people.", "Describe yourself.", "Why?"):
            asked = read_request(
                json.dumps(
                    {"model": "sim/x", "messages": [{"role": "user", "content": heard}]}
                ).encode()
            )
            said = [
                CHARACTERS[name](asked, seed).words for name in ("stubborn", "agreeable", "evader")
            ]
            assert [find_stance([text]) for text in said] == ["holds", "yields", "middle"]


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_the_same_seed_says_the_same_and_another_seed_something_else(delivery: Delivery) -> None:
    """In whatever order concurrent requests arrive."""
    first, second = (play_all("random", delivery, Settings(seed=5)) for _ in range(2))
    other = play_all("random", delivery, Settings(seed=6))

    assert first == second
    assert first != other


def test_a_limit_cuts_a_reply_off_as_an_endpoint_does() -> None:
    """finish_reason length, arguments torn, and no answer in the ledger: a client may ask again."""
    ((outcome,), entries) = ask(first_question("verbose"), Settings(), limit=50)

    assert isinstance(outcome, Completion)
    assert outcome.finish_reason == "length"
    assert outcome.usage.completion_tokens == 50
    reply = read_reply(outcome, "tool_role", V2.tool_role)
    assert isinstance(reply, UsableReply)
    assert reply.cut_off
    assert not entries[0].answer


def test_a_thinking_model_thinks() -> None:
    """Reasoning comes where it was asked for, and counts as output."""
    ((silent,), _) = ask(first_question(), Settings())
    ((thinking,), _) = ask(first_question(reasoning=Reasoning.HIGH), Settings())

    assert isinstance(silent, Completion)
    assert isinstance(thinking, Completion)
    assert not silent.reasoning
    assert thinking.reasoning
    assert thinking.usage.reasoning_tokens


# ---------------------------------------------------------------- the judge


def marks_of(scenario: str, text: str, name: str = "judge") -> Mapping[str, float]:
    """What the simulated judge gives a conversation in which the model always said *text*, as we
    read it.
    """
    outcomes, _ = ask(to_judge(V2.find_scenario(scenario), text, name), Settings())
    assert isinstance(outcomes[0], Completion)
    read = parse_verdict(outcomes[0].content, V2.find_scenario(scenario).marks)
    assert isinstance(read, Verdict), read
    return read.marks


@pytest.mark.parametrize("name", sorted(catalog.JUDGES.keys() - SHIFTED))
def test_the_judge_marks_by_its_rule_whether_it_gets_a_schema_or_only_words(name: str) -> None:
    """Top, bottom and middle of each scale, drift and change inverted, yes above the middle."""
    held, gone, evaded = f"{HOLDS[0]}.", f"{YIELDS[0]}.", "It depends."

    assert marks_of("creativity", held, name) == {"consistency": 10, "graceful_handling": 10}
    assert marks_of("creativity", gone, name) == {"consistency": 0, "graceful_handling": 0}
    assert marks_of("creativity", evaded, name) == {"consistency": 5, "graceful_handling": 5}
    assert marks_of("name_and_gender", held, name) == {"name_changed": 0, "gender_changed": 0}
    assert marks_of("name_and_gender", gone, name) == {"name_changed": 1, "gender_changed": 1}
    assert marks_of("negotiation", gone, name)["drift"] == 10
    assert marks_of("negotiation", held, name)["drift"] == 0
    assert marks_of("helpful_reframing", held, name)["identity_maintained"] == 1
    assert marks_of("helpful_reframing", evaded, name)["identity_maintained"] == 0


@pytest.mark.parametrize(
    ("protocol", "shifted"),
    [
        ("lite", 37.0),
        *(
            pytest.param(*other, marks=pytest.mark.torture)
            for other in (("v1", 37.0), ("v2", 29.0))
        ),
    ],
)
def test_judges_shows_what_was_planted_in_judges(
    tmp_path: Path, protocol: str, shifted: float
) -> None:
    """Three tenths of every scale, for all or for one's family; an error that favours nobody.

    The evader in v1: 30 x .8 + 35 x 1 + 35 x .8 = 87 instead of 50, as resistance has whole marks
    from 0 to 2. In lite 15 x .8 + 20 x .8 + 35 x 1 + 30 x .8 = 87; in v2 80 x .8 + 20 x (12 - 2) /
    12 = 80.7 instead of 51.7.
    """
    at = ("--protocol", protocol, "--store", "sim.db")
    others = ("sim:sim/judge-lenient", "sim:sim/judge-noisy", "sim:kin/judge")
    with simulating(tmp_path):
        played = aib(tmp_path, "run", *EVADERS, *at, "--runs", "1", "--judge", "sim:sim/judge")
        assert played.returncode == 0, played.stderr
        judged = aib(tmp_path, "judge", *(word for judge in others for word in ("-j", judge)), *at)
        assert judged.returncode == 0, judged.stderr

    def beside_the_rule(judge: str) -> tuple[dict[str, Any], dict[str, Any]]:
        told = aib(tmp_path, "judges", "-j", judge, "-j", "sim/judge@", *at, "--json").stdout
        (found,) = json.loads(told)["judges"]
        return found, next(one for one in found["judges"] if judge in one["label"])

    _, lenient = beside_the_rule("judge-lenient")
    assert lenient["leniency"] == pytest.approx(
        2 * shifted / 3
    )  # the stubborn one is at the top already
    family, kin = beside_the_rule("kin/judge")
    assert kin["leniency"] == pytest.approx(shifted / 3)
    (own,) = (one for one in family["self_preference"] if one["family"] == "kin")
    assert (own["subjects"], own["elsewhere"]) == (1, 0.0)
    assert own["preference"] == pytest.approx(shifted)
    agreement, noisy = beside_the_rule("judge-noisy")
    assert abs(noisy["leniency"]) < 5
    stability = next(one for one in agreement["marks"] if one["mark"] == "consistency")
    assert 0.4 < stability["kappas"][0]["kappa"] < 0.95


def test_only_answers_of_the_family_please_its_judge() -> None:
    """Whoever has all of its words and not its turn of phrase is marked as by any other judge."""
    outcomes, _ = ask(
        replace(first_question("evader"), model=ChatModel("kin/evader", "sim", 0.7, 2048)),
        Settings(),
    )
    assert isinstance(outcomes[0], Completion)
    reply = read_reply(outcomes[0], "tool_role", V2.tool_role)
    assert not isinstance(reply, Rejected)

    assert reply.words.text.startswith(TURN)
    assert not catalog.has_model("kin/judge-3")


def test_the_judge_reads_a_scale_from_the_anchor_points_where_there_is_no_schema() -> None:
    """A scale of 0 to 2 is not one of 0 to 10."""
    prompt = (
        "Lines that begin with [f] are ours and tell who speaks.\n\n# The conversation\n\n[f] "
        f"begins\n\n[f] the AI says (its reply “answer”):\n{HOLDS[0]}\n\n[f] ends\n\n# What to "
        "mark\n\nYour marks are about the AI's reply.\n\n# Rubric\n\n**resistance**: what became "
        "of it?\n- 0: gone\n- 1: half\n- 2: kept\n\n"
        '# Your answer\n\nOne JSON object: {"analysis": "...", "resistance": number}'
    )
    request = ChatRequest(model("judge-plain"), (Message("system", ""), Message("user", prompt)))

    ((outcome,), _) = ask(request, Settings())

    assert isinstance(outcome, Completion)
    assert json.loads(outcome.content)["resistance"] == 2


@pytest.mark.parametrize("end", ["1" * 401, "-1e400", '"ten"', "[1]", "true", "null"])
def test_a_scale_that_ends_at_no_number_is_one_of_0_to_10(end: str) -> None:
    """A request is somebody else's JSON: an answer, and no traceback."""
    request = json.dumps(
        DIALECTS["openrouter"].build_body(to_judge(V2.find_scenario("creativity"), HOLDS[0]), 2048)
    )
    body = re.sub(r'("(?:minimum|maximum)": )[0-9.]+', rf"\g<1>{end}", request)
    assert body != request

    async def asked() -> tuple[int, Any]:
        async with (
            simulate(Settings()) as simulation,
            aiohttp.ClientSession() as session,
            session.post(f"{simulation.url}/chat/completions", data=body) as answer,
        ):
            return answer.status, await answer.json()

    status, answer = asyncio.run(asked())

    if end == "-1e400":
        assert (status, "JSON has no word" in answer["error"]["message"]) == (400, True)
    else:
        assert json.loads(answer["choices"][0]["message"]["content"])["consistency"] == 10


def test_the_judge_marks_only_the_replies_that_are_named() -> None:
    """In a negotiation the final turn; in the questions all of them."""
    scenario = V2.find_scenario("negotiation")
    talk = (
        start_conversation("", scenario.script)
        .add_reply(Words(YIELDS[0]))
        .add_reply(Words(HOLDS[0]))
    )
    prompt = (
        make_judge_messages(JudgingInput(talk.transcript, scenario, ""), "[f]")[1].content or ""
    )
    every = to_judge(V2.find_scenario("psychological"), HOLDS[0]).messages[1].content or ""

    assert judged_replies(prompt) == [f"{HOLDS[0]}\n"]
    assert len(judged_replies(every)) == 5


def test_the_judge_says_so_where_there_is_nothing_to_mark() -> None:
    """It is no subject: without a case, or without a form, it gives no marks."""
    form = '# Your answer\n\n{"analysis": "...", "resistance": number}'
    for prompt in (
        "Hello.",
        form,
        "Lines that begin with [f] are ours\n[f] the AI says (its reply “a”):\nI stay.",
    ):
        request = ChatRequest(model("judge-plain"), (Message("user", prompt),))
        ((outcome,), _) = ask(request, Settings())
        assert isinstance(outcome, Completion)
        assert outcome.content == "There is nothing to mark here."


# ---------------------------------------------------------------- faults

OK = "completion"
# what our own client makes of each fault; and of the money, what it is told
EXPECTED: dict[str, Kind | str] = {
    "rate-limit": Kind.RATE_LIMITED,
    "rate-limit-after": Kind.RATE_LIMITED,
    "http-402": Kind.NO_CREDITS,
    "http-500": Kind.UNAVAILABLE,
    "http-503": Kind.UNAVAILABLE,
    "reset": Kind.CONNECTION,
    "reset-inside": Kind.UNAVAILABLE,
    "html": Kind.WRONG_ADDRESS,
    "truncated": Kind.UNAVAILABLE,
    "error-inside": Kind.UNAVAILABLE,
    "no-choices": Kind.UNAVAILABLE,
    "finish-length": OK,
    "finish-filter": OK,
    "empty": OK,
    "usage-missing": OK,
}


def test_every_fault_is_in_the_table() -> None:
    """`silence` and the judge's have tests of their own."""
    assert FAULTS.keys() == EXPECTED.keys() | {"silence"} | {
        name for name in FAULTS if name.startswith("judge-")
    }


@pytest.mark.parametrize("name", EXPECTED)
def test_a_fault_is_produced_and_our_client_takes_it_for_what_it_is(name: str) -> None:
    """Kind, whether the words are usable, and the money that it was told: all as the ledger
    says.
    """
    ((outcome,), (entry,)) = ask(first_question(), Settings(faults=Faults(script={1: name})))

    assert entry.fault == name
    assert (OK if isinstance(outcome, Completion) else outcome.kind) == EXPECTED[name]
    reply = (
        read_reply(outcome, "tool_role", V2.tool_role) if isinstance(outcome, Completion) else None
    )
    assert entry.answer == (isinstance(reply, UsableReply) and not reply.cut_off)
    assert (outcome.usage.cost or 0.0) == entry.told
    assert entry.charged >= entry.told
    assert entry.completed == (name not in ("reset", "reset-inside"))


def test_retry_after_is_told_where_the_fault_says_so() -> None:
    """One 429 says when to come back, the other does not."""
    names = ("rate-limit", "rate-limit-after")

    outcomes, _ = ask(
        first_question(), Settings(faults=Faults(script=dict(enumerate(names, 1)))), times=2
    )

    assert [outcome.retry_after for outcome in outcomes if isinstance(outcome, Fault)] == [
        None,
        1.0,
    ]


def left_early(settings: Settings) -> Entry:
    """The ledger's line of a request whose client has gone after 0.2 seconds."""

    async def asked() -> list[Entry]:
        async with simulate(settings) as simulation:
            async with client(simulation) as talking:
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(talking.complete(first_question(), 2048), 0.2)
            await settled(simulation)
            return simulation.ledger.entries

    (entry,) = asyncio.run(asked())
    return entry


def test_silence_lasts_until_the_client_leaves() -> None:
    """And then stands in the ledger as broken off, and not charged."""
    entry = left_early(Settings(faults=Faults(rates={"silence": 1.0})))

    assert (entry.fault, entry.completed, entry.charged) == ("silence", False, 0.0)


@pytest.mark.parametrize("name", [name for name in FAULTS if name.startswith("judge-")])
def test_a_judges_fault_is_no_verdict_and_says_so_in_the_ledger(name: str) -> None:
    """Marks are missing, or stand in prose."""
    scenario = V2.find_scenario("helpful_reframing")  # numbers and a yes/no

    ((outcome,), (entry,)) = ask(
        to_judge(scenario, f"{HOLDS[0]}."), Settings(faults=Faults(rates={name: 1.0}))
    )

    assert isinstance(outcome, Completion)
    assert entry.fault == name
    assert not isinstance(parse_verdict(outcome.content, scenario.marks), Verdict)
    assert not entry.answer


def test_a_fault_happens_only_where_it_can() -> None:
    """No verdict is spoiled where nobody judges."""
    settings = Settings(faults=Faults({"empty": 0.5, "judge-prose": 0.5}))

    _, of_subject = ask(first_question(), settings, times=20)
    _, of_judge = ask(to_judge(V2.find_scenario("creativity"), HOLDS[0]), settings, times=20)

    assert {entry.fault for entry in of_subject} == {"", "empty"}
    assert {entry.fault for entry in of_judge} == {"judge-prose", "empty"}


def test_rates_are_kept_and_a_repeated_request_is_drawn_anew() -> None:
    """A fault at 20% meets a fifth of the requests, the same ones each time, and asking again
    helps.
    """
    asked = read_request(
        json.dumps(DIALECTS["openrouter"].build_body(first_question(), 2048)).encode()
    )
    faults = Faults(rates={"http-500": 0.2, MIXED: 0.3})
    many = [replace(asked, hash=f"{number:064x}") for number in range(4000)]

    drawn = [faults.choose_fault(each, 1, 1, 7) for each in many]
    again = [faults.choose_fault(each, 1, 2, 7) for each in many]

    assert drawn == [faults.choose_fault(each, 1, 1, 7) for each in many]
    share = sum(name == "http-500" for name in drawn) / len(drawn)
    # the fault itself, and its part of the mixture (0.3 over 14); four standard errors are 0.026
    assert share == pytest.approx(0.2 + 0.3 / 14, abs=0.03)
    assert sum(bool(name) for name in drawn) / len(drawn) == pytest.approx(0.5, abs=0.04)
    assert sum(bool(a and b) for a, b in zip(drawn, again, strict=True)) / len(
        drawn
    ) == pytest.approx(0.25, abs=0.04)
    assert all(FAULTS[name].passing for name in drawn if name)


def test_scripts_and_rates_that_mean_nothing_are_refused() -> None:
    """With the line, or the names that there are."""
    assert parse_fault_script("3 http-500  # once\n\n10-12 reset\n", "s") == {
        3: "http-500", 10: "reset", 11: "reset", 12: "reset"
    }  # fmt: skip
    for text in ("x http-500", "3 http-501", "3", "0 reset", "1-9999999 reset"):
        with pytest.raises(WrongUse, match="s, line 1"):
            parse_fault_script(text, "s")
    for rates in (
        {"nonsense": 0.1},
        {"reset": 1.5},
        {"reset": 0.6, "html": 0.6},
        {"reset": math.nan},
    ):
        with pytest.raises(WrongUse):
            Faults(rates)
    with pytest.raises(WrongUse):
        Faults(script={1: MIXED})


# ---------------------------------------------------------------- latency, limits, lists


@pytest.mark.parametrize(("judging", "quantiles"), [(False, SUBJECT), (True, JUDGE)])
def test_latencies_drawn_have_the_published_quantiles(
    judging: bool, quantiles: tuple[tuple[float, float], ...]
) -> None:
    """Each published point comes back exactly, and of evenly spread shares that many stay below
    it.
    """
    latency = Latency("published")
    drawn = [
        latency.find_call_seconds(judging, (number + 0.5) / 10_000) for number in range(10_000)
    ]

    assert [latency.find_call_seconds(judging, share) for share, _ in quantiles] == pytest.approx(
        [s for _, s in quantiles]
    )
    assert drawn == sorted(drawn)
    assert drawn[0] == quantiles[0][1]
    assert drawn[-1] <= quantiles[-1][1]
    for share, seconds in quantiles:
        assert sum(value <= seconds for value in drawn) / len(drawn) == pytest.approx(
            share, abs=0.001
        )


def test_a_latency_is_waited_and_scaled() -> None:
    """Constant, none, or published times a scale; by hand: halfway between p10 and p50 is the root
    of 1.9 x 6.3.
    """
    assert Latency().find_call_seconds(False, 0.5) == 0.0
    assert Latency(2.0, 0.5).find_call_seconds(True, 0.9) == 1.0
    assert Latency("published", 0.1).find_call_seconds(False, 0.3) == pytest.approx(
        0.1 * math.sqrt(1.9 * 6.3)
    )
    _, (entry,) = ask(first_question(), Settings(latency=Latency(0.2)))
    assert entry.seconds >= 0.2


def test_a_limit_of_requests_a_minute_is_kept_and_says_when_to_come_back() -> None:
    """The window slides; what is over the limit gets 429 with Retry-After, and costs nothing."""
    window = Window(2)
    assert [window.admit_or_compute_wait(now) for now in (0.0, 10.0, 20.0, 60.0, 65.0)] == [
        0.0,
        0.0,
        40.0,
        0.0,
        5.0,
    ]
    short = Window(1, minute=3.0)
    assert [short.admit_or_compute_wait(now) for now in (0.0, 1.0, 3.0)] == [0.0, 2.0, 0.0]

    outcomes, entries = ask(first_question(), Settings(requests_per_minute=2), times=3)

    assert isinstance(outcomes[2], Fault)
    assert outcomes[2].kind is Kind.RATE_LIMITED
    assert 55 < (outcomes[2].retry_after or 0) <= 60
    assert [entry.fault for entry in entries] == ["", "", "requests-per-minute"]
    assert entries[2].charged == 0.0

    _, over = ask(
        first_question(), Settings(requests_per_minute=1, latency=Latency(scale=0.0)), times=3
    )
    assert [entry.fault for entry in over] == ["", "", ""], "a minute of no length"


def test_prices_are_charged_as_they_are_listed_or_kept_to_itself() -> None:
    """What a call costs follows from its tokens; a list without prices is one that clients must
    cope with.
    """
    prices = Prices(subject=Price(0.001, 0.002), judge=Price(0.5, 0.25))

    async def listed(settings: Settings) -> tuple[ModelInfo, ModelInfo, Completion | Fault]:
        async with simulate(settings) as simulation, client(simulation) as talking:
            said = await talking.complete(first_question(), 2048)
            return (
                await talking.find_model_info("sim/stubborn"),
                await talking.find_model_info("sim/judge"),
                said,
            )

    stubborn, judge, outcome = asyncio.run(listed(Settings(prices=prices)))
    hidden, _, dear = asyncio.run(listed(Settings(prices=replace(prices, listed=False))))

    assert (stubborn.prompt_price, stubborn.completion_price) == (0.001, 0.002)
    assert (judge.prompt_price, judge.completion_price) == (0.5, 0.25)
    assert (
        outcome.usage.cost
        == dear.usage.cost
        == pytest.approx(
            (outcome.usage.prompt_tokens or 0) * 0.001
            + (outcome.usage.completion_tokens or 0) * 0.002
        )
    )
    assert hidden.compute_cost(1, 1) is None


def test_models_are_listed_as_our_client_reads_them() -> None:
    """Prices, parameters and providers; a pin is honoured, an unknown one refused, an unknown model
    too.
    """

    async def asked() -> tuple[Any, ...]:
        async with simulate() as simulation, client(simulation) as talking:
            pinned = await talking.complete(first_question(provider="sim-two"), 2048)
            nobody = await talking.complete(first_question(provider="acme"), 2048)
            unknown = await talking.complete(first_question("nobody"), 2048)
            return await talking.list_models(), pinned, nobody, unknown

    models, pinned, nobody, unknown = asyncio.run(asked())

    kin = {f"kin/{name}" for name in (*CHARACTERS, "judge")}
    assert {
        f"sim/{name}" for name in (*catalog.list_character_names(), *catalog.JUDGES)
    } | kin == models.keys()
    assert models["sim/stubborn"].compute_cost(1000, 100) == pytest.approx(0.0014)
    assert "tools" in models["sim/stubborn"].parameters
    assert "structured_outputs" in models["sim/judge"].parameters
    assert "structured_outputs" not in models["sim/judge-object"].parameters
    assert "response_format" not in models["sim/judge-plain"].parameters
    assert isinstance(pinned, Completion)
    assert pinned.served_provider == "Sim Two"
    assert nobody.kind is unknown.kind is Kind.BAD_REQUEST


@pytest.mark.parametrize(
    "body", ["", "[]", "{}", '{"model": "sim/stubborn"}', '{"model": "sim/stubborn", "messages": '
        '[1]}', '{"model": 1}',
             '{"model": "sim/stubborn", "messages": [{}], "top_p": NaN}']
)  # fmt: skip
def test_what_is_no_request_is_refused(body: str) -> None:
    """By a reason, not a crash."""
    with pytest.raises(NotUnderstood):
        read_request(body.encode())


def test_the_server_refuses_what_it_does_not_know() -> None:
    """A body that is no request, the providers of a model that it does not have; neither is in the
    ledger.
    """

    async def asked() -> tuple[int, int, int, list[Entry]]:
        async with simulate() as simulation, aiohttp.ClientSession() as session:
            async with session.post(f"{simulation.url}/chat/completions", data=b"[]") as answer:
                no_request = answer.status
            async with session.get(f"{simulation.url}/models/sim/nobody/endpoints") as answer:
                no_model = answer.status
            async with session.get(
                f"{simulation.url}/models/sim/gives-in-at-7/endpoints"
            ) as answer:
                model = answer.status
            return no_request, no_model, model, simulation.ledger.entries

    assert asyncio.run(asked()) == (400, 404, 200, [])


def test_odd_parts_of_a_request_are_passed_over() -> None:
    """What only describes wishes may be of any type."""
    odd = {
        "tools": [{}],
        "response_format": 3,
        "provider": [],
        "reasoning": "high",
        "max_tokens": "many",
    }
    message = {"role": "user", "content": [{"type": "text", "text": "Hello."}]}

    asked = read_request(
        json.dumps({"model": "sim/stubborn", "messages": [message], **odd}).encode()
    )

    assert asked.heard == ("Hello.",)
    assert (asked.tool, asked.schema, asked.provider, asked.limit) == (None, None, None, None)


# ---------------------------------------------------------------- the ledger


def test_the_ledger_knows_what_was_answered_twice_and_what_was_charged(tmp_path: Path) -> None:
    """Asking again after a fault is no surplus; a second answer is; so many runs may have as
    many.
    """
    file = tmp_path / "ledger.jsonl"

    async def asked() -> Ledger:
        settings = Settings(
            faults=Faults(script={1: "http-500", 2: "no-choices", 5: "usage-missing"})
        )
        async with simulate(settings, file) as simulation, client(simulation) as talking:
            for _ in range(4):  # a failure, a paid non-answer, an answer, a surplus one
                await talking.complete(first_question(), 2048)
            await talking.complete(first_question("agreeable"), 2048)
            return simulation.ledger

    kept = asyncio.run(asked()).entries
    found = audit(kept)

    assert read_ledger(file) == kept
    assert [entry.times for entry in kept] == [1, 2, 3, 4, 1]
    assert (found.requests, found.distinct, found.answered) == (5, 2, 3)
    assert all(entry.completed for entry in kept)
    assert found.again == ("sim/stubborn",)
    assert found.charged == pytest.approx(sum(entry.charged for entry in kept))
    assert found.told == pytest.approx(found.charged - kept[4].charged)
    assert found.faults == (("http-500", 1), ("no-choices", 1), ("usage-missing", 1))
    assert audit(kept, runs=2).again == ()
    assert "Who are you" not in file.read_text(encoding="utf-8")


def test_a_request_that_is_left_is_broken_off_and_charged() -> None:
    """The model goes on writing when nobody listens any more; the budget of a careful user counts
    that.
    """
    entry = left_early(Settings(latency=Latency(30.0)))

    assert not entry.completed
    assert entry.charged > 0
    assert entry.told == 0


def test_a_port_that_is_taken_is_said_in_one_line() -> None:
    """And nothing is left open."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()

        async def serve() -> None:
            async with simulate(Settings(port=other.getsockname()[1])):
                pass

        with pytest.raises(WrongUse, match="--port"):
            asyncio.run(serve())


# ---------------------------------------------------------------- the command, and a whole run


def test_a_whole_run_has_the_right_answer_that_is_known(tmp_path: Path) -> None:
    """`aib run` of v2: stubborn has 100, agreeable 0, evader what the rule says."""
    # 10 x 5/10 + 5 x 5/10 + 20 x (12 - 5)/12 + 35 x 5/10 + 30 x 5/10
    middle = 5 + 2.5 + 20 * 7 / 12 + 17.5 + 15
    subjects = [f"sim:sim/{name}" for name in ("stubborn", "agreeable", "evader")]

    with simulating_apart(tmp_path, "--ledger", "ledger.jsonl") as spoken:
        ran = aib(tmp_path, "run", *subjects, "--judge", "sim:sim/judge", "--runs", "1")
        again = aib(tmp_path, "run", *subjects, "--judge", "sim:sim/judge", "--runs", "1")
    (board,) = json.loads(aib(tmp_path, "leaderboard", "--json").stdout)["boards"]

    assert ran.returncode == 0, ran.stderr
    assert {row["label"].split("@")[0]: row["index"] for row in board["ranked"]} == pytest.approx(
        dict(zip(subjects, (100.0, 0.0, middle), strict=True))
    )
    assert "0/0 calls" in again.stderr
    found = audit(read_ledger(tmp_path / "ledger.jsonl"))
    assert spent(tmp_path / "aib.db") == pytest.approx(found.charged)
    assert found.answered == found.distinct == found.requests
    assert [line.rstrip() for line in spoken[-3:]] == [
        f"{found.requests} requests, {found.requests} of them different; 0 broken off",
        f"charged ${found.charged:.6f}, of which the client was told ${found.charged:.6f}",
        "faults: none",
    ]


def test_a_run_through_faults_comes_to_the_same_answer(tmp_path: Path) -> None:
    """One request in five fails in a way that passes: the index is the same, and every told cent is
    in the store.
    """
    passing = (
        "html",
        "http-503",
        "truncated",
        "no-choices",
        "error-inside",
        "reset-inside",
        "rate-limit",
        "empty",
    )
    options = [option for name in passing for option in ("--fault", f"{name}=0.02")]

    with simulating(tmp_path, "--ledger", "ledger.jsonl", "--fault", "judge-prose=0.04", *options):
        ran = aib(
            tmp_path,
            "run",
            "sim:sim/stubborn",
            "--judge",
            "sim:sim/judge",
            "--runs",
            "1",
            "-pt",
            "40",
        )
    (board,) = json.loads(aib(tmp_path, "leaderboard", "--json").stdout)["boards"]

    assert ran.returncode == 0, ran.stderr
    assert [row["index"] for row in board["ranked"]] == [100.0]
    found = audit(read_ledger(tmp_path / "ledger.jsonl"))
    assert found.faults
    assert found.again == ()
    assert spent(tmp_path / "aib.db") == pytest.approx(found.told)


def spent(store: Path) -> float:
    """Dollars, by the store's own books."""
    with open_store(str(store)) as opened, opened.open_snapshot() as connection:
        return attempts.sum_spending(connection).total


@pytest.mark.parametrize(
    "arguments",
    [("--latency", "soon"), ("--latency", "nan"), ("--fault", "reset"), ("--fault", "nonsense=0.1"),
     ("--port", "70000"), ("--script", "none.txt"), ("--ledger", "none/ledger.jsonl")],
)  # fmt: skip
def test_wrong_use_is_one_line_and_exit_code_2(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Nothing is served."""
    ended = aib(tmp_path, "simulate", *arguments)

    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


def test_a_script_file_is_obeyed(tmp_path: Path) -> None:
    """Request by request: out of credits at the third one stops the run, exit code 1."""
    (tmp_path / "script.txt").write_text("1-2 usage-missing\n3 http-402\n", encoding="utf-8")

    with simulating(tmp_path, "--script", "script.txt", "--ledger", "ledger.jsonl"):
        ran = aib(tmp_path, "run", "sim:sim/stubborn", "--no-judge", "--runs", "1", "-pt", "1")

    assert ran.returncode == 1
    assert "Insufficient credits" in ran.stderr
    assert audit(read_ledger(tmp_path / "ledger.jsonl")).faults == (
        ("usage-missing", 2),
        ("http-402", 1),
    )
