"""Who is called is looked up before the first call, and what nobody can foresee is bought one call
at a time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from inprocess_aib import invoke
from scripted_model import JUDGE, Answer, Asked, Bench, ScriptedModel, completion, failure, steady
from test_cli import CALLS, MARKS, User, only_line, user

from independence_bench.errors import BudgetSpent

__all__ = ["user"]
Benches = Callable[..., Bench]
Serve = Callable[..., ScriptedModel]

OFFERED = [{"id": name} for name in ("acme/one", "acme/one-mini", JUDGE, "judge/two", "far/away")]
PRICED = [entry | {"pricing": {"prompt": "0.000001", "completion": "0.00001"}} for entry in OFFERED]


# ---------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        (("run", "scripted:acme/one", "--judge", "scripted:judge/tow"), "judge/two"),
        (("run", "scripted:acme/on"), "acme/one"),
        (("run", "scripted:acme/one", "scripted:other/away"), "far/away"),
        (("estimate-cost", "scripted:acme/one", "--judge", "scripted:judge/tow"), "judge/two"),
        (("exam", "-j", "scripted:judge/tow", "--store", "exam.db"), "judge/two"),
    ],
)
def test_a_misspelt_model_is_found_before_the_first_call(
    user: User, arguments: tuple[str, ...], near: str
) -> None:
    """Subject or judge, whatever buys: one line with what is near it, exit code 2, nothing sent."""
    user.server.models_answer = Answer({"data": OFFERED})
    more = () if "exam" in arguments else ("--protocol", "small")

    line = only_line(user.aib(*arguments, *more), 2)

    assert "has no model" in line
    assert near in line.partition("did you mean ")[2]
    assert user.server.asked == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("rerun", "--runs", "2", "--yes", "--judge", "scripted:judge/tow"),
        ("judge", "-j", "scripted:judge/tow"),
        ("judge", "-j", "scripted:judge/two", "-j", "scripted:judge/tow"),
    ],
)
def test_so_is_a_judge_of_what_is_stored(user: User, arguments: tuple[str, ...]) -> None:
    """Nothing is bought by the first of several judges, either."""
    user.server.models_answer = Answer({"data": OFFERED})
    assert user.run().returncode == 0
    sent = len(user.server.asked)

    line = only_line(user.aib(*arguments), 2)

    assert "has no model judge/tow; did you mean judge/two or judge/one?" in line
    assert len(user.server.asked) == sent


def test_subjects_that_nobody_named_are_left_out_when_they_are_gone(user: User) -> None:
    """`aib rerun` of everything plays who is still offered and says who is not; who is named has to
    be there.
    """
    assert user.run("--models", "scripted:acme/gone").returncode == 0
    user.server.models_answer = Answer({"data": OFFERED})
    user.server.forget()

    done = user.aib("rerun", "--runs", "2", "--yes")

    assert done.returncode == 0, done.stderr
    assert "note: left out: scripted (" in done.stderr
    assert "has no model acme/gone; did you mean acme/one" in done.stderr
    assert {asked.model for asked in user.server.played} == {"acme/one"}
    assert "acme/gone" in only_line(user.aib("rerun", "acme/gone", "--runs", "3", "--yes"), 2)
    user.server.models_answer = Answer({"data": [{"id": JUDGE}]})
    assert "none of these models is offered any more" in only_line(
        user.aib("rerun", "--runs", "3", "--yes"), 2
    )


def test_a_route_to_a_listed_model_needs_no_line_of_its_own(user: User) -> None:
    """OpenRouter lists a model once, however it is to be reached; what it costs that way is not
    known.
    """
    user.server.models_answer = Answer({"data": PRICED})

    done = user.run(model="scripted:acme/one:nitro")

    assert done.returncode == 0, done.stderr
    assert "the price of scripted:acme/one:nitro is not known" in done.stderr
    assert "has no model acme/one:free" in only_line(user.run(model="scripted:acme/one:free"), 2)


# ---------------------------------------------------------------- prices


def silent(asked: Asked) -> Answer:
    """Answers that do not tell their cost."""
    answer = steady(MARKS)(asked)
    del answer.body["usage"]["cost"]
    return answer


def test_an_unknown_price_is_said_and_can_be_set(user: User) -> None:
    """With and without a budget; what is set counts where the endpoint lists nothing, and nowhere
    else.
    """
    assert (
        "note: the price of scripted:acme/one is not known: --price IN OUT sets it"
        in user.run().stderr
    )
    listed = [OFFERED[0], PRICED[2]]
    user.server.models_answer = Answer({"data": listed})
    estimate = (
        "estimate-cost",
        "scripted:acme/one",
        "--protocol",
        "small",
        "--runs",
        "3",
        "--json",
    )

    unknown = json.loads(user.aib(*estimate).stdout)
    set_by_hand = user.aib(*estimate, "--price", "1", "10")
    dear = json.loads(user.aib(*estimate, "--price", "100", "1000").stdout)

    assert unknown["dollars"] is None
    known = json.loads(set_by_hand.stdout)
    sent, written = known["candidates"]["prompt_tokens"], known["candidates"]["completion_tokens"]
    assert known["candidates"]["dollars"] == pytest.approx((sent + 10 * written) / 1e6)
    assert "price" not in set_by_hand.stderr
    assert dear["candidates"]["dollars"] == pytest.approx(100 * known["candidates"]["dollars"])
    assert dear["judging"] == known["judging"]


def test_a_price_bounds_what_tells_no_cost(user: User) -> None:
    """Without it the endpoint is left alone after one reply; with it the command is completed."""
    user.server.script = silent
    assert user.run("--budget", "5").returncode == 1

    done = user.run("--budget", "5", "--price", "1", "10")

    assert done.returncode == 0, done.stderr
    assert len(user.server.asked) == CALLS
    short = user.run("--budget", "0.0001", "--price", "1", "10", model="scripted:acme/two")
    assert "the budget of $0.0001 is used up" in short.stderr


NOTHING = [
    {"id": name, "pricing": {"prompt": "0", "completion": "0"}}
    for name in ("acme/one", "acme/two", JUDGE)
]


@pytest.mark.parametrize("models", [[], NOTHING], ids=["no prices", "prices of nothing"])
def test_on_a_budget_calls_of_unknown_cost_go_one_at_a_time_until_one_has_told(
    bench: Benches, serve: Serve, models: Sequence[Any]
) -> None:
    """64 places and a budget that one call uses up: one is sent, and charged, and no other."""
    server = serve(steady(MARKS, cost=1.0), models=models)
    made = bench(scripted=server)

    report = made.play(
        made.subject(), made.subject("acme/two"), budget=0.5, runs=5, calls_at_once=64
    )

    assert len(server.asked) == 1
    assert isinstance(report.stopped, BudgetSpent)
    server.script = steady(MARKS, cost=0.001)
    assert made.play(budget=5.0, runs=5, calls_at_once=64).complete


def test_a_call_that_fails_without_a_cost_leaves_the_others_waiting_one_by_one(
    bench: Benches,
) -> None:
    """What came of the first says nothing about money, so the next one goes alone as well."""

    def script(asked: Asked) -> Answer:
        if asked.number <= 3:
            return Answer({"error": {"code": 500, "message": "overloaded"}}, 500, delay=0.02)
        return (
            Answer(completion("I stay.", cost=1.0), cost=1.0)
            if asked.number == 4
            else steady(MARKS)(asked)
        )

    made = bench(script)
    (server,) = made.endpoints.values()

    made.play(budget=0.5, calls_at_once=8)

    assert len(server.asked) == 4
    for before, after in zip(server.chats, server.chats[1:], strict=False):
        assert before.ended is not None
        assert before.ended <= after.started


# ---------------------------------------------------------------- what a model cannot be told


def entry(
    name: str, mandatory: bool = True, efforts: Any = None, parameters: Sequence[str] = ()
) -> dict[str, Any]:
    """A model of the endpoint's list."""
    able = ["tools", "response_format", "structured_outputs", "reasoning", *parameters]
    return {
        "id": name,
        "supported_parameters": able,
        "reasoning": {"mandatory": mandatory, "supported_efforts": efforts},
    }


@pytest.mark.parametrize(
    ("efforts", "effort"),
    [(None, "low"), (["high", "low"], "low"), (["high", "medium"], "medium"), (7, "low")],
)
def test_a_model_that_always_reasons_is_told_to_reason_little_and_says_so(
    user: User, efforts: Any, effort: str
) -> None:
    """Found in the list before the first call: where nobody asked for an effort, the label has the
    one it is given.
    """
    listed = [
        entry("acme/one", efforts=efforts, parameters=["temperature"]),
        entry(JUDGE, parameters=["temperature"]),
    ]
    user.server.models_answer = Answer({"data": listed})

    done = user.run()

    assert done.returncode == 0, done.stderr
    assert f"acme/one@{effort}-t0.7" in done.stderr
    assert (
        f"acme/one cannot be told not to reason: it is called with effort {effort}" in done.stderr
    )
    assert {asked.body["reasoning"]["effort"] for asked in user.server.played} == {effort}
    assert {(a.body["reasoning"]["effort"], a.body["max_tokens"]) for a in user.server.judged} == {
        ("low", 2000)
    }


@pytest.mark.parametrize("off", ["off", "none"])
def test_off_where_it_cannot_be_is_said_before_the_first_call(user: User, off: str) -> None:
    """Exit code 2 and what can be said instead; none is off, as in published labels."""
    user.server.models_answer = Answer({"data": [entry("acme/one"), entry(JUDGE, mandatory=False)]})

    line = only_line(user.run("--reasoning-effort", off), 2)

    assert "acme/one cannot be told not to reason; --reasoning-effort low is the least" in line
    assert user.server.asked == []
    user.server.models_answer = Answer({"data": []})
    assert "acme/one@none-t0.7" in user.run("--reasoning-effort", off, "--no-judge").stdout


def test_a_model_that_takes_no_temperature_has_its_own_in_the_label(user: User) -> None:
    """Not the protocol's, which it would ignore; a temperature that was asked for stays, with a
    note.
    """
    listed = [
        entry("acme/one", mandatory=False),
        entry(JUDGE, mandatory=False, parameters=["temperature"]),
    ]
    user.server.models_answer = Answer({"data": listed})

    done = user.run()
    asked_for = user.run("--temperature", "0.3")

    assert "acme/one@none-t1.0" in done.stderr
    assert "acme/one does not list temperature: it is called with 1" in done.stderr
    assert "its label says 0.3, but it may ignore that" in asked_for.stderr


def test_what_no_list_says_one_refused_call_does(user: User) -> None:
    """The model is called with the least effort at once; its label says so, and all is played."""

    def script(asked: Asked) -> Answer:
        if asked.body["reasoning"]["effort"] == "none" and not asked.judging:
            return failure(400, "Reasoning is mandatory for this endpoint and cannot be disabled.")
        return steady(MARKS)(asked)

    user.server.script = script

    done = user.run("-pt", "1")

    assert done.returncode == 0, done.stderr
    assert "acme/one@low-t0.7" in done.stderr
    refused = [entry for entry in user.server.chats if entry.answer.status == 400]
    assert len(refused) == 1
    assert "cannot be called so, it is called scripted:acme/one@low-t0.7 now" in done.stderr


def test_without_a_model_the_cost_of_the_whole_list_is_estimated(user: User) -> None:
    """Of models.yaml where there is one; what is named is estimated alone."""
    user.models(
        "subjects:\n  - {model: acme/one, endpoint: scripted}\n  - {model: acme/two, endpoint: "
        "scripted}\n"
    )
    user.server.models_answer = Answer({"data": [*PRICED, {**PRICED[0], "id": "acme/two"}]})

    every = json.loads(user.aib("estimate-cost", "--protocol", "small", "--json").stdout)
    one = json.loads(
        user.aib("estimate-cost", "scripted:acme/one", "--protocol", "small", "--json").stdout
    )

    assert [subject["label"] for subject in every["subjects"]] == [
        "scripted:acme/one@none-t0.7",
        "scripted:acme/two@none-t0.7",
    ]
    assert len(one["subjects"]) == 1


def test_without_a_model_it_says_what_all_of_the_shipped_list_would_take(tmp_path: Path) -> None:
    """Calls and tokens, the price where a list can be read (here none answers), the command; and
    nothing is made.
    """
    nowhere = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "HTTPS_PROXY": "http://127.0.0.1:9",
    }

    done = invoke(tmp_path, nowhere, "run")

    *before, last = done.stderr.splitlines()
    assert done.returncode == 2
    assert last.startswith("aib: no model: name a model")
    assert before[0] == "`aib run --all` plays the shipped list (docs/choose-a-model.md):"
    assert re.fullmatch(r"v2 · \d\d models · 5 runs · strong_independence/tool_role", before[1])
    assert re.fullmatch(
        r"at most 1\d,\d{3} calls, about 2\d,\d{3},\d{3} tokens, price not known", before[2]
    )
    assert sum("not known" in line for line in before[3:]) == 1, "one line for all prices"
    assert [path for path in tmp_path.iterdir() if path.suffix == ".db"] == []
