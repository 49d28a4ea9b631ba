"""A budget where the list price is too low, or a reply's cost is none: what is charged, and what
goes out at once.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from scripted_model import Answer, Asked, Bench, ScriptedModel, both, says, steady, untold, verdict

from independence_bench.analysis.costs import read_costs
from independence_bench.errors import BudgetSpent
from independence_bench.store import attempts, workers
from independence_bench.store.database import open_store
from independence_bench.store.owners import make_owner_name

Benches = Callable[..., Bench]
Serve = Callable[..., ScriptedModel]
NAMES = ("acme/one", "acme/two", "judge/one")
TOO_LOW = {"prompt": "0.0000001", "completion": "0.0000001"}
TOO_HIGH = {"prompt": "0.001", "completion": "0.001"}  # 20 and 10 tokens a call: $0.03
NOTHING = {"prompt": "0", "completion": "0"}
CALLS = 11  # 7 replies and 4 judgements of the small protocol


def listed(pricing: Mapping[str, str]) -> list[dict[str, Any]]:
    """The list of an endpoint at which every model has this price."""
    return [{"id": name, "pricing": dict(pricing)} for name in NAMES]


def costing(dollars: float) -> Callable[[Asked], Answer]:
    """A model and a judge, each call of which costs so much."""

    def script(asked: Asked) -> Answer:
        if asked.judging:
            return verdict(asked, cost=dollars)
        return says(asked, f"I stay, answer {asked.number}.", cost=dollars)

    return script


def server_of(made: Bench) -> ScriptedModel:
    """The only one."""
    (server,) = made.endpoints.values()
    return server


def costs_in(made: Bench) -> list[float | None]:
    """The cost of every attempt, as the ledger has it."""
    return [cost for (cost,) in made.rows("select cost from attempts order by id")]


def alone(server: ScriptedModel, first: int = 1) -> bool:
    """Whether each of the *first* calls was over before the next one came."""
    chats = server.chats[: first + 1]
    return all(
        before.ended is not None and before.ended <= after.started
        for before, after in pairwise(chats)
    )


# ---------------------------------------------------------------- a list price that is too low


@both
def test_a_budget_holds_where_the_list_price_is_far_too_low(bench: Benches, serve: Serve) -> None:
    """In the first command, whose first call shows it, and in the second, which knows it from the
    store.
    """
    made = bench(scripted=serve(costing(0.5), models=listed(TOO_LOW)))
    server, charged = server_of(made), []

    for _ in range(2):
        report = made.play(made.subject(), made.subject("acme/two"), budget=1.0, runs=3)
        charged.append(server.charged)
        server.forget()
        assert isinstance(report.stopped, BudgetSpent)

    assert charged == [1.0, 1.0]


def test_the_first_call_at_a_false_price_is_all_that_goes_beyond(
    bench: Benches, serve: Serve
) -> None:
    """64 places and a call that costs twice the budget: nothing else is sent."""
    made = bench(scripted=serve(costing(2.0), models=listed(TOO_LOW)))

    report = made.play(
        made.subject(), made.subject("acme/two"), budget=1.0, runs=5, calls_at_once=64
    )

    assert len(server_of(made).asked) == 1
    assert isinstance(report.stopped, BudgetSpent)


@both
def test_workers_of_a_job_begin_with_one_call_together(bench: Benches, serve: Serve) -> None:
    """Three workers, two subjects: the first call of all of them is alone, and the job's budget
    holds.
    """
    made = bench(scripted=serve(costing(0.5), models=listed(TOO_LOW)))

    async def every() -> list[Any]:
        subjects = made.subject(), made.subject("acme/two")
        return await asyncio.gather(
            *(made.carry_out(*subjects, budget=1.0, runs=3, job="night") for _ in range(3))
        )

    reports = asyncio.run(every())

    server = server_of(made)
    assert alone(server)
    assert server.charged == 1.0
    assert all(isinstance(report.stopped, BudgetSpent) for report in reports)
    with open_store(made.store) as store, store.open_snapshot() as connection:
        assert workers.sum_job_spending(connection, "night").spent == pytest.approx(1.0)


@both
def test_a_worker_that_was_killed_at_its_first_call_holds_nobody_up(
    bench: Benches, serve: Serve
) -> None:
    """Its call has no end in the store, and another model's first call is sent all the same."""
    made = bench(scripted=serve(costing(0.001), models=listed(TOO_LOW)))
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        pass
    dead = "|".join((*make_owner_name().split("|")[:3], str(child.pid), "1", "x"))
    with open_store(made.store) as store, store.open_transaction() as connection:
        workers.join_job(connection, dead, "night", 0.0)
        call = attempts.CallInfo("k", "reply", "scripted", "acme/one", "{}")
        attempts.claim_calls(connection, [call], {}, dead, time.time())
        attempts.begin_attempts(connection, [("k", 100)], dead, time.time())

    assert made.play(made.subject("acme/two"), budget=1.0, job="night").complete


def test_a_dearer_call_is_reserved_for_from_then_on(bench: Benches, serve: Serve) -> None:
    """A price that rises: what goes beyond the budget were in flight when it did."""

    def script(asked: Asked) -> Answer:
        return costing(0.01 if asked.number <= 5 else 0.4)(asked)

    made = bench(scripted=serve(script, models=listed(TOO_LOW)))

    made.play(budget=1.0, runs=5, calls_at_once=1, judge=None)

    assert server_of(made).charged == pytest.approx(5 * 0.01 + 2 * 0.4)


# ---------------------------------------------------------------- what need not wait


@pytest.mark.parametrize(
    ("pricing", "script"),
    [
        (NOTHING, costing(0.0)),
        (TOO_HIGH, costing(0.0)),
        (TOO_HIGH, lambda asked: untold(steady()(asked))),
    ],
    ids=["free", "no price", "nothing told"],
)
def test_one_reply_is_enough_whatever_it_tells(
    bench: Benches, serve: Serve, pricing: Mapping[str, str], script: Callable[[Asked], Answer]
) -> None:
    """A free model, or one whose replies never tell what they cost, goes on with all its places."""
    together = threading.Event()

    def held(asked: Asked) -> Answer:
        return replace(script(asked), until=None if asked.number == 1 else together)

    made = bench(scripted=serve(held, models=listed(pricing)))
    server = server_of(made)

    async def look(_engine: object) -> None:
        await asyncio.to_thread(server.wait_until, lambda model: model.in_flight == 4)
        together.set()

    report = made.play(budget=500.0, judge=None, calls_at_once=4, runs=2, during=look)

    assert report.complete
    assert alone(server)


def test_a_price_that_the_store_knows_needs_no_first_call(bench: Benches, serve: Serve) -> None:
    """The second command sends its calls together."""
    together = threading.Event()
    made = bench(scripted=serve(costing(0.02), models=listed(TOO_HIGH)))
    server = server_of(made)
    made.play(budget=5.0, judge=None)
    server.forget()
    server.script = lambda asked: replace(costing(0.02)(asked), until=together)

    async def look(_engine: object) -> None:
        await asyncio.to_thread(server.wait_until, lambda model: model.in_flight == 4)
        together.set()

    assert made.play(budget=50.0, judge=None, runs=3, calls_at_once=4, during=look).complete


def test_without_a_budget_nothing_goes_alone(bench: Benches, serve: Serve) -> None:
    """There is nothing to keep within."""
    together = threading.Event()
    made = bench(
        scripted=serve(
            lambda asked: replace(costing(0.5)(asked), until=together), models=listed(TOO_LOW)
        )
    )

    async def look(_engine: object) -> None:
        await asyncio.to_thread(server_of(made).wait_until, lambda model: model.in_flight == 4)
        together.set()

    assert made.play(judge=None, calls_at_once=4, during=look).complete


def test_a_dear_call_at_its_list_price_blocks_no_cheap_ones(bench: Benches, serve: Serve) -> None:
    """An earlier long chat cost $0.9, as listed: a short one is reserved for by the list alone."""
    made = bench(
        scripted=serve(costing(0.003), models=listed({"prompt": "0.0001", "completion": "0.0001"}))
    )
    made.play(judge=None)
    with open_store(made.store) as store, store.open_transaction() as connection:
        # of no conversation that is played here: those would be foreseen to be as long again
        connection.exec_driver_sql(
            "insert into calls (key, kind, endpoint, model, request) "
            "select 'long', kind, endpoint, model, request from calls limit 1"
        )
        connection.exec_driver_sql(
            "insert into attempts (id, call_key, owner, started_at, max_tokens, finished_at, "
            "outcome, message, status, cost, prompt_tokens, completion_tokens, raw) "
            "select 9999, 'long', owner, started_at, max_tokens, finished_at, outcome, message, "
            "status, 0.9, 9000, 0, raw from attempts limit 1"
        )

    assert made.play(budget=0.6, judge=None, runs=2, calls_at_once=1).complete


# ------------------------------------------------------ what the budget counts, and what the ledger


def test_the_budget_counts_tokens_at_the_list_price_where_less_is_told(
    bench: Benches, serve: Serve
) -> None:
    """The ledger keeps what was told."""
    made = bench(scripted=serve(costing(0.001), models=listed(TOO_HIGH)))

    report = made.play(budget=50.0)

    assert report.complete
    assert report.budget.spent == pytest.approx(CALLS * 0.03)
    assert report.cost == pytest.approx(CALLS * 0.001)
    assert costs_in(made) == [0.001] * CALLS


def test_what_a_cache_had_is_counted_at_the_price_that_is_listed_for_it(
    bench: Benches, serve: Serve
) -> None:
    """15 of 20 tokens at a tenth."""

    def script(asked: Asked) -> Answer:
        answer = costing(0.001)(asked)
        answer.body["usage"]["prompt_tokens_details"] = {"cached_tokens": 15}
        return answer

    made = bench(scripted=serve(script, models=listed(TOO_HIGH | {"input_cache_read": "0.0001"})))

    report = made.play(budget=50.0)

    assert report.budget.spent == pytest.approx(CALLS * (5 * 0.001 + 15 * 0.0001 + 10 * 0.001))


def own_key(asked: Asked) -> Answer:
    """A reply by a key of one's own, of which only the fee is told: nothing."""
    answer = costing(0.0)(asked)
    answer.body["usage"] |= {"is_byok": True, "cost_details": {"upstream_inference_cost": None}}
    return answer


@pytest.mark.parametrize("script", [costing(0.0), own_key], ids=["zero", "own key"])
def test_nothing_beside_a_list_price_is_no_price(
    bench: Benches, serve: Serve, script: Callable[[Asked], Answer]
) -> None:
    """It is counted as a call without a price, and the budget counts the most that it can have
    cost.
    """
    made = bench(scripted=serve(script, models=listed(TOO_HIGH)))

    report = made.play(budget=2.0, calls_at_once=1)

    assert isinstance(report.stopped, BudgetSpent)
    assert 0 < len(server_of(made).asked) < CALLS
    assert set(costs_in(made)) == {None}
    assert report.tallies[0].unpriced == len(server_of(made).asked)


def test_a_free_model_stays_free(bench: Benches, serve: Serve) -> None:
    """Listed at 0 and told 0: $0.00, and no call without a price."""
    made = bench(scripted=serve(costing(0.0), models=listed(NOTHING)))

    report = made.play(budget=0.01)

    assert report.complete
    assert set(costs_in(made)) == {0.0}
    assert sum(tally.unpriced for tally in report.tallies) == 0


def test_a_nothing_that_an_older_store_has_beside_a_list_price_confirms_none(
    bench: Benches, serve: Serve
) -> None:
    """The next command begins with one call, and `aib costs` computes what those calls cost."""
    made = bench(scripted=serve(costing(0.01), models=listed(TOO_LOW)))
    server = server_of(made)
    made.play(judge=None)
    with open_store(made.store) as store, store.open_transaction() as connection:
        connection.exec_driver_sql("update attempts set cost = 0.0")
    server.forget()

    made.play(judge=None, runs=2, budget=5.0)

    assert alone(server)
    with open_store(made.store) as store, store.open_snapshot() as connection:
        whole = read_costs(connection).whole
    assert (whole.calls, whole.unknown) == (14, 0)
    assert whole.dollars == pytest.approx(7 * 0.01)
    assert whole.computed_dollars == pytest.approx(7 * 30 * 1e-7)
