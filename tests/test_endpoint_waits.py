"""Who waits for whom, what is said of it, and what is not waited for at all: over real HTTP."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from rich.console import Console
from scripted_model import Answer, Asked, Bench, ScriptedModel, failure, steady

from independence_bench.calls.call import Tally, Wait
from independence_bench.calls.limits import Policy
from independence_bench.cli.progress import ProgressDisplay, group_waits_by_cause
from independence_bench.engine.ask import Engine
from independence_bench.errors import Interrupted
from independence_bench.models.messages import Kind

FREE, PAID = "free/throttled", "paid/good"
LONG = "600"  # seconds that a throttled model asks to wait: longer than any of these tests
PRICES = [
    {"id": model, "pricing": {"prompt": "0.000001", "completion": "0.000001"}}
    for model in (FREE, PAID, "judge/one")
]


def throttled(asked: Asked) -> Answer:
    """One model's provider has us wait each time; all others answer."""
    if asked.model == FREE:
        return failure(429, "temporarily rate-limited upstream", retry_after=LONG)
    return steady()(asked)


def stop_when(done: Callable[[Engine], bool]) -> Callable[[Engine], Awaitable[None]]:
    """Stop the engine once *done*, or after a minute."""

    async def during(engine: Engine) -> None:
        for _ in range(6000):
            if done(engine):
                break
            await asyncio.sleep(0.01)
        engine.stop_asking(Interrupted())

    return during


@pytest.mark.parametrize("budget", [None, 10.0])
def test_a_neighbour_of_a_throttled_model_is_not_held_up(
    small: Path, tmp_path: Path, budget: float | None
) -> None:
    """All its calls and its judge's go out while the other waits for its second try."""
    with ScriptedModel(throttled, PRICES) as model:
        bench = Bench(small, tmp_path / "store.db", {"scripted": model})
        report = bench.play(
            bench.subject(FREE),
            bench.subject(PAID),
            budget=budget,
            runs=2,
            policy=Policy(),
            during=stop_when(lambda engine: engine.report.subjects[1].state in ("done", "stopped")),
        )

    free, paid = report.subjects
    assert (paid.done, paid.judged) == (paid.planned, paid.planned)
    assert free.done == 0
    asked = [entry.asked.model for entry in model.chats]
    assert asked.count(FREE) <= 8, "those that were in flight when the first 429 came"
    assert asked.index(PAID) < 8 + 1


def test_an_empty_account_ends_the_endpoint_and_is_said_once(small: Path, tmp_path: Path) -> None:
    """A 429 of that kind is not waited for."""
    empty = failure(429, "You exceeded your current quota.", type="insufficient_quota")
    with ScriptedModel(lambda _asked: empty) as model:
        bench = Bench(small, tmp_path / "store.db", {"scripted": model})
        report = bench.play(bench.subject(FREE), bench.subject(PAID), policy=Policy())

    assert len(model.chats) <= 16, "those in flight"
    assert {trouble.why for _, trouble in report.troubles} == {
        "out of credits (HTTP 429): You exceeded your current quota."
    }


def test_a_model_without_a_quota_is_stopped_and_its_neighbour_plays(
    small: Path, tmp_path: Path
) -> None:
    """Gemini's free tier has none for some models."""

    def answer(asked: Asked) -> Answer:
        if asked.model == FREE:
            return failure(429, "Quota exceeded, limit: 0, model: x. Please retry in 7s.")
        return steady()(asked)

    with ScriptedModel(answer) as model:
        bench = Bench(small, tmp_path / "store.db", {"scripted": model})
        report = bench.play(bench.subject(FREE), bench.subject(PAID), policy=Policy())

    free, paid = report.subjects
    assert (free.state, paid.state) == ("stopped", "done")
    assert paid.judged == paid.planned
    assert [entry.asked.model for entry in model.chats].count(FREE) <= 8


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"<!DOCTYPE html><title>Sign in</title>", headers={"Content-Type": "text/html"}),
        Answer({"error": "Unexpected endpoint or method. (POST /chat/completions)"}),
    ],
)
def test_a_wrong_address_costs_no_six_tries_for_each_conversation(
    small: Path, tmp_path: Path, answer: Answer
) -> None:
    """Three of the first calls tell; a model that has answered meets an outage."""
    with ScriptedModel(lambda _asked: answer) as model:
        bench = Bench(small, tmp_path / "store.db", {"scripted": model})
        report = bench.play(calls_at_once=1)
        assert len(model.chats) == 3
        (why,) = {trouble.why for _, trouble in report.troubles}
        assert why.startswith(Kind.WRONG_ADDRESS.value)

        model.script = lambda asked: answer if asked.number == 6 else steady()(asked)
        report = bench.play(calls_at_once=1)
    assert report.complete, report.troubles


def test_a_template_that_refuses_is_asked_three_conversations_at_most(
    small: Path, tmp_path: Path
) -> None:
    """Its 500 is no outage."""
    jinja = failure(500, "Jinja Exception: conversation roles must alternate")
    with ScriptedModel(lambda _asked: jinja) as model:
        bench = Bench(small, tmp_path / "store.db", {"scripted": model})
        report = bench.play(calls_at_once=1)

    assert len(model.chats) == 3
    assert "--modes user_role" in report.troubles[0][1].why


def test_a_reply_that_the_server_cannot_read_is_asked_again(small: Path, tmp_path: Path) -> None:
    """Groq's 400: each question is asked again, and answered."""

    def answer(asked: Asked) -> Answer:
        if asked.times == 1:
            return failure(400, "Failed to call a function.", code="tool_use_failed")
        return steady()(asked)

    with ScriptedModel(answer) as model:
        report = Bench(small, tmp_path / "store.db", {"scripted": model}).play()

    assert report.complete, report.troubles


# ---------------------------------------------------------------- what is said of it


def test_the_progress_says_for_what_it_waits_and_until_when(small: Path, tmp_path: Path) -> None:
    """In a pipe once, however often it is tried; hostile names are written out."""
    hostile = "free/\x1b[31mred"

    def answer(asked: Asked) -> Answer:
        if asked.model == hostile:
            return failure(429, "\x1b[2J", retry_after="1")
        return steady()(asked)

    said = io.StringIO()

    async def during(engine: Engine) -> None:
        display = ProgressDisplay(Console(file=said, width=200))
        watching = asyncio.create_task(display(engine))
        await stop_when(lambda _: model.asked_of(hostile) > 12 and "waiting" in said.getvalue())(
            engine
        )
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    class Counting(ScriptedModel):
        def asked_of(self, name: str) -> int:
            return sum(entry.asked.model == name for entry in self.chats)

    with Counting(answer) as model:
        bench = Bench(small, tmp_path / "store.db", {"scripted": model})
        bench.play(bench.subject(hostile), policy=Policy(first_wait=1.0), during=during)

    lines = [line for line in said.getvalue().splitlines() if line.startswith("waiting for")]
    assert len(lines) == 1, said.getvalue()
    assert lines[0].startswith(r"waiting for free/\u{1b}[31mred: rate limited, next try in ")
    assert "\x1b" not in said.getvalue()


def test_waits_of_one_model_for_one_cause_are_one_line() -> None:
    """Until the first of them is over; what most wait for comes first."""

    class Told:
        tallies = (
            Tally(
                waits={
                    "a": Wait("m/one", "rate limited", 130.0),
                    "b": Wait("m/one", "rate limited", 115.0),
                    "c": Wait("m/two", "connection failed", 101.0),
                }
            ),
            Tally(waits={"d": Wait("m/one", "timed out", 99.0)}),
        )

    waits = group_waits_by_cause(Told())

    assert [wait.calls for wait in waits] == [2, 1, 1]
    assert waits[0].describe_wait(100.0) == "waiting for m/one: rate limited, next try in 15 s"
    assert waits[0].describe_wait(100.0, 2).endswith("next try in 15 s; and for 2 more")
    assert waits[1].describe_wait(100.0) == "waiting for m/one: timed out, next try in 1 s"
