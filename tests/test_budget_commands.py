"""Commands with a budget, whatever they cost: fuzzed in simulated time, and the real command's
words and exit code.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from budget_fuzz import spend
from scripted_model import ScriptedModel, steady
from simulated_endpoint import aib, play

from independence_bench.errors import BudgetSpent
from independence_bench.simulate.server import Latency, Settings
from independence_bench.simulate.wire import Price, Prices
from independence_bench.store.database import open_store

# drawn once: stopped by the budget, complete, stopped by a fault, at once or one by one, prices
# listed or not
SEEDS = (1, 2, 3, 10, 11, 15, 16, 17, 18, 22, 25)
DEAR = Prices(subject=Price(0.001, 0.01), judge=Price(0.001, 0.01))


def test_a_budget_holds_whatever_the_prices_and_the_faults(small: Path, tmp_path: Path) -> None:
    """Never exceeded at all where prices are known, by no more than the calls in flight where they
    are not.

    The seeds meet every kind of end: budgets that stop a command, and budgets that do not.
    """
    found = [spend(small, tmp_path / f"{seed}.db", seed) for seed in SEEDS]

    assert [one.line() for one in found if one.findings] == []
    assert {one.ended for one in found} == {"budget", "complete", "other"}
    assert {one.listed for one in found} == {True, False}
    assert sum(one.paid > one.budget / 2 for one in found) >= 3, "some came near their limit"
    assert any(one.at_once > 4 for one in found)


def test_a_first_call_beyond_the_budget_is_refused_before_anything_is_sent(
    small: Path, tmp_path: Path
) -> None:
    """Nothing is bought, and the report says what it would have cost and what to do."""
    played = play(small, tmp_path / "store.db", Settings(prices=DEAR), budget=0.01)

    assert played.entries == []
    assert played.report.stopped is not None
    assert str(played.report.stopped).startswith(
        "the budget of $0.01 is used up: $0.0000 is spent and the next call may cost $"
    )
    assert "raise --budget" in str(played.report.stopped)


def run_with_budget(folder: Path, small: Path, url: str, budget: str) -> tuple[int, str]:
    """`aib run` against a scripted model: its exit code and what it said on stderr."""
    models = f'endpoints:\n  scripted: {{url: "{url}", dialect: openrouter}}\n'
    (folder / "models.yaml").write_text(models, encoding="utf-8")
    order = (
        "run",
        "scripted:acme/one",
        "--protocol",
        str(small),
        "--judge",
        "scripted:judge/one",
        "--runs",
        "1",
    )
    ran = aib(folder, *order, "--budget", budget)
    return ran.returncode, ran.stderr


def test_the_command_refuses_to_start_on_too_little(
    small: Path, tmp_path: Path, serve: Callable[..., ScriptedModel]
) -> None:
    """Exit code 1, nothing sent."""
    prices = [
        {"id": n, "pricing": {"prompt": "0.001", "completion": "0.001"}}
        for n in ("acme/one", "judge/one")
    ]
    server = serve(steady(), models=prices)

    code, said = run_with_budget(tmp_path, small, server.url, "0.01")

    assert code == 1
    assert server.asked == []
    assert "the budget of $0.01 is used up" in said
    assert "price of" not in said


def test_the_command_says_where_it_cannot_bound(
    small: Path, tmp_path: Path, serve: Callable[..., ScriptedModel]
) -> None:
    """Before it sends anything: which prices are not known, and what the budget can do then."""
    server = serve(steady(cost=0.01))

    code, said = run_with_budget(tmp_path, small, server.url, "5")

    assert code == 0
    for name in ("acme/one", "judge/one"):
        assert (
            f"the price of scripted:{name} is not known: --price IN OUT sets it; the budget "
            "counts what its replies say they cost, one call at a time until one has" in said
        )
    assert server.charged <= 5


@pytest.mark.parametrize("at_once", [1, 8, 32])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_a_budget_too_small_for_the_plan_leaves_whole_conversations(
    small: Path, tmp_path: Path, share: float, at_once: int
) -> None:
    """What is begun is finished and judged, whatever the number of slots."""
    plan: dict[str, Any] = {"names": ("stubborn", "agreeable"), "runs": 3}
    whole = play(small, tmp_path / "whole.db", Settings(latency=Latency(1.0)), **plan)
    budget = share * whole.audit.charged

    played = play(
        small,
        tmp_path / "store.db",
        Settings(latency=Latency(1.0)),
        budget=budget,
        calls_at_once=at_once,
        **plan,
    )

    assert played.audit.charged <= budget
    assert isinstance(played.report.stopped, BudgetSpent)
    finished, unjudged, loose = what_is_left(tmp_path / "store.db")
    assert (unjudged, loose) == (0, 0)
    # the dearest call is held back, and is a third of the smallest budget here
    assert finished >= share * 3 * 2 * 4 / 3


def test_money_is_kept_for_the_judgements_of_stored_conversations(
    small: Path, tmp_path: Path
) -> None:
    """What an earlier command has paid for becomes readable first: the rest begins nothing new."""
    store = tmp_path / "store.db"
    played = play(small, store, Settings(), judged=False)
    whole = play(small, tmp_path / "whole.db", Settings())
    judging = whole.audit.charged - played.audit.charged

    more = play(
        small, store, Settings(), runs=2, budget=1.5 * judging, names=("stubborn", "agreeable")
    )

    assert more.audit.charged <= 1.5 * judging
    assert [entry.model for entry in more.entries].count("sim/judge") >= 4
    finished, unjudged, loose = what_is_left(store)
    assert (finished >= 4, unjudged, loose) == (True, 0, 0)


def what_is_left(store: Path) -> tuple[int, int, int]:
    """Conversations that are complete, those of them without a judgement, and replies that are in
    none.
    """
    with open_store(store) as opened, opened.open_snapshot() as connection:
        rows = [
            tuple(row)
            for row in connection.exec_driver_sql(
                "select heard_hash, reply_keys from transcripts where state = 'complete'"
            )
        ]
        judged = {row[0] for row in connection.exec_driver_sql("select heard_hash from judgements")}
        replies = {row[0] for row in connection.exec_driver_sql("select key from replies")}
    used = {key for _, keys in rows for key in json.loads(keys)}
    return len(rows), sum(heard not in judged for heard, _ in rows), len(replies - used)
