"""What a store has cost: by command and by model, with list prices beside it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest
from rich.cells import cell_len
from scripted_model import (
    Answer,
    Asked,
    Bench,
    both,
    failure,
    rarely_both,
    says,
    steady,
    untold,
    verdict,
)
from sqlalchemy import Connection
from terminal_text import displayed
from test_cli import KEY, User, user

from independence_bench.analysis.costs import Costs, ModelCost, Paid, read_costs
from independence_bench.errors import StoreError
from independence_bench.report.stored_view import format_costs_json, render_costs
from independence_bench.store import attempts, deletion
from independence_bench.store.database import open_store
from independence_bench.store.migrations import MIGRATIONS, VERSION
from independence_bench.store.owners import make_owner_name

__all__ = ["user"]  # a fixture
Benches = Callable[..., Bench]
LISTED = {"prompt": "0.00001", "completion": "0.00002"}  # 20 and 10 tokens a call: $0.0004


def costs_of(made: Bench) -> Costs:
    """What the store has cost; that everything adds up to what every other command says is looked
    at each time.
    """
    with open_store(made.store) as store, store.open_snapshot() as connection:
        costs, spent = read_costs(connection), attempts.sum_spending(connection)
    assert costs.whole.dollars == pytest.approx(spent.total)
    assert (costs.replies.dollars, costs.judgements.dollars) == pytest.approx(
        (spent.replies, spent.judgements)
    )
    assert costs.whole.calls == spent.attempts
    assert added(command.paid for command in costs.commands) == added([costs.whole])
    for parts, whole in (
        (costs.subjects, [costs.replies]),
        (costs.judges, [costs.judgements]),
        ((*costs.subjects, *costs.judges), [costs.whole]),
    ):
        assert added(part.paid for part in parts) == added(whole)
    return costs


def added(paid: Any) -> list[Any]:
    """The sum of each field."""
    names = [name for name in Paid.__dataclass_fields__ if name != "listed"]
    rows = [[getattr(one, name) for name in names] for one in paid]
    return [pytest.approx(sum(column)) for column in zip(*rows, strict=True)]


def dollars(parts: tuple[ModelCost, ...]) -> dict[str, float]:
    """Name -> dollars told."""
    return {part.name: pytest.approx(part.paid.dollars) for part in parts}


@both
def test_every_sum_adds_up_to_what_the_store_has_cost(bench: Benches) -> None:
    """Two subjects of seven replies at $0.002, four judgements each at $0.0005, and again by a
    judge of $0.01.
    """

    def script(asked: Asked) -> Answer:
        if asked.judging:
            return verdict(asked, cost=0.01 if asked.model == "judge/dear" else 0.0005)
        return says(asked, f"No, {asked.number}.", cost=0.002)

    made = bench(script)
    subjects = [made.subject("acme/one"), made.subject("acme/two")]
    made.play(*subjects)
    made.play(*subjects, judge="judge/dear")

    costs = costs_of(made)

    assert dollars(costs.subjects) == {
        f"scripted:acme/{name}@none-t0.7": 0.014 for name in ("one", "two")
    }
    assert dollars(costs.judges) == {
        "scripted:judge/dear@none-t0.0": 0.08,
        "scripted:judge/one@none-t0.0": 0.004,
    }
    assert [command.paid.dollars for command in costs.commands] == pytest.approx([0.032, 0.08])


def test_what_nobody_told_is_computed_from_the_list_price_and_kept_apart(bench: Benches) -> None:
    """Twenty and ten tokens at the list price are $0.0004 a call; a model without a price stays
    unknown.
    """
    made = bench(lambda asked: untold(steady()(asked)))
    made.endpoints["scripted"].models_answer = Answer(
        {"data": [{"id": "acme/one", "pricing": LISTED}]}
    )
    made.play()

    costs = costs_of(made)

    (subject,), (judge,) = costs.subjects, costs.judges
    assert (subject.paid.dollars, subject.paid.unknown) == (0.0, 0)
    assert subject.paid.computed_dollars == subject.paid.listed == pytest.approx(7 * 0.0004)
    assert (judge.paid.calls, judge.paid.unknown, judge.paid.computed_dollars) == (4, 4, 0.0)
    assert "$0.00 " not in displayed(render_costs(costs, "aib.db"))


def test_free_calls_and_refused_ones_have_a_price(bench: Benches) -> None:
    """An endpoint that says $0, and one refusal that says nothing: of neither is the cost
    unknown.
    """
    refused: list[int] = []

    def script(asked: Asked) -> Answer:
        if not asked.judging and not refused:
            refused.append(asked.number)
            return failure(503, "busy")
        return steady(cost=0.0)(asked)

    made = bench(script)
    made.play()

    whole = costs_of(made).whole

    assert (whole.calls, whole.dollars, whole.listed, whole.unknown) == (12, 0, 0, 0)
    assert "$0.00, 12 calls" in displayed(render_costs(costs_of(made), "aib.db"))


def test_the_list_price_stands_beside_what_was_reported(bench: Benches) -> None:
    """Seven replies told $0.001 each and are listed at $0.0004; the judge tells what is listed."""
    made = bench(
        lambda asked: (
            verdict(asked, cost=0.0004) if asked.judging else says(asked, f"No, {asked.number}.")
        )
    )
    listed = [{"id": name, "pricing": LISTED} for name in ("acme/one", "judge/one")]
    made.endpoints["scripted"].models_answer = Answer({"data": listed})
    made.play()

    costs = costs_of(made)

    (subject,), (judge,) = costs.subjects, costs.judges
    assert (subject.paid.dollars, subject.paid.listed) == pytest.approx((0.007, 0.0028))
    assert (judge.paid.dollars, judge.paid.listed) == pytest.approx((0.0016, 0.0016))
    assert "$0.0070     $0.0028" in displayed(render_costs(costs, "aib.db"))
    assert json.loads(format_costs_json(costs))["whole"]["listed"] == pytest.approx(0.0044)


def finding(made: Bench) -> Callable[[Connection], deletion.DeletionPlan]:
    """What finds everything that the subject said."""
    return lambda connection: deletion.plan_conversation_deletion(
        connection, [made.subject()], None
    )


@rarely_both
def test_what_was_cleared_is_still_on_the_bill_of_whom_it_was_for(bench: Benches) -> None:
    """Its answers are gone, and its subject with them: the requests say who was asked."""
    made = bench(steady())
    made.play()
    before = costs_of(made)

    with open_store(made.store) as store, store.open_transaction() as connection:
        find = finding(made)
        deletion.carry_out_deletion(connection, find(connection), find, 1e9)

    assert costs_of(made) == before


@both
def test_nothing_is_cleared_under_a_command_that_asks_for_it(bench: Benches) -> None:
    """A call that is claimed may be in flight: without its row, the reply that comes could not be
    stored.

    Also where it was claimed after a person had been told what would be deleted.
    """
    made = bench(steady())
    made.play()
    with open_store(made.store) as store:
        with store.open_transaction() as connection:
            doomed = finding(made)(connection)
            now = store.read_time(connection)
            (key, *_) = doomed.replies
            claimed = attempts.CallInfo(key, "reply", "scripted", "acme/one", "{}")
            held = attempts.find_holders(connection, {key})
            assert attempts.claim_calls(connection, [claimed], held, make_owner_name(), now) == {
                key
            }
        before = costs_of(made)

        with (
            pytest.raises(StoreError, match="another command is making 1 of these calls; wait"),
            store.open_transaction() as at,
        ):
            deletion.carry_out_deletion(at, doomed, finding(made), now)

    assert costs_of(made) == before
    assert len(made.rows("SELECT key FROM replies")) == len(doomed.replies)


@rarely_both
def test_nothing_is_cleared_that_a_person_was_not_told_of(bench: Benches) -> None:
    """What another command has finished meanwhile may rest on what would be deleted."""
    made = bench(steady())
    made.play()
    with open_store(made.store) as store:
        with store.open_snapshot() as connection:
            told = finding(made)(connection)
        made.play(runs=3)
        played = len(made.rows("SELECT id FROM transcripts"))

        with (
            pytest.raises(StoreError, match="changed what would be deleted: nothing was"),
            store.open_transaction() as at,
        ):
            deletion.carry_out_deletion(at, told, finding(made), store.read_time(at))

    assert len(made.rows("SELECT id FROM transcripts")) == played > len(told.transcripts)


@rarely_both
def test_a_store_of_version_1_is_read_as_it_is_and_upgraded_when_it_is_written(
    bench: Benches,
) -> None:
    """Old calls were made before commands were kept; the next command is kept beside them."""
    made = bench(steady())
    made.play()
    with open_store(made.store) as store, store.open_transaction() as connection:
        made_since = [*chain.from_iterable(step.makes for step in MIGRATIONS.values())]
        for table in reversed(made_since):  # what refers to another one was made after it
            connection.exec_driver_sql(f"DROP TABLE {table}")
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql("DROP SEQUENCE attempt_ids")
        for index in ("ix_transcripts_finished_at", "ix_judgements_stored_at"):
            connection.exec_driver_sql(f"DROP INDEX {index}")
        connection.exec_driver_sql("ALTER TABLE judgements DROP COLUMN checksum")
        connection.exec_driver_sql("UPDATE meta SET value = '1' WHERE name = 'version'")

    old = costs_of(made)
    assert [command.typed for command in old.commands] == [None]
    assert "before commands were recorded" in displayed(render_costs(old, "aib.db"))
    assert made.rows("SELECT value FROM meta WHERE name = 'version'") == [("1",)]

    made.play(runs=2)

    assert [command.typed for command in costs_of(made).commands] == [None, ""]
    assert costs_of(made).commands[0].paid == old.commands[0].paid
    assert made.rows("SELECT value FROM meta WHERE name = 'version'") == [(str(VERSION),)]


def test_a_store_without_calls_of_its_own(bench: Benches) -> None:
    """Nothing was bought, so there is nothing to add up; and what is at work has no price yet."""
    made = bench(steady())
    with open_store(made.store) as store, store.open_snapshot() as connection:
        assert "holds no paid calls" in displayed(render_costs(read_costs(connection), "aib.db"))

    made.play()
    with open_store(made.store) as store, store.open_transaction() as connection:
        connection.exec_driver_sql(
            "UPDATE attempts SET outcome = NULL, cost = NULL, finished_at = NULL WHERE id = 1"
        )

    assert costs_of(made).whole.unknown == 1


def test_hostile_names_stay_on_their_lines(bench: Benches) -> None:
    """A provider's and a model's names are anybody's text; 80 columns are enough for them."""
    evil = "\x1b[31mRed\nwine " + "w" * 200

    def script(asked: Asked) -> Answer:
        answer = steady()(asked)
        return replace(answer, body=answer.body | {"provider": evil})

    made = bench(script)
    made.play(made.subject("acme/\u202eeno"))

    lines = displayed(render_costs(costs_of(made), "aib.db")).splitlines()

    assert "\x1b" not in "".join(lines)
    assert max(cell_len(line) for line in lines) <= 80


def test_the_command_says_who_spent_what(user: User) -> None:
    """A command stands there as it was typed, without the store and without any secret."""
    user.run("--store", "other.db", "--judge", "scripted:judge/one")
    user.aib("judge", "-j", "scripted:judge/two", "-j", "scripted:judge/three", "--store=other.db")
    nothing = user.aib("rerun", "-y", "--runs", "1", "--store", "other.db")

    done = user.aib("costs", "--json", "--store", "other.db")

    assert nothing.returncode == done.returncode == 0
    found = json.loads(done.stdout)["commands"]
    assert [one["typed"] for one in found] == [
        "aib run scripted:acme/one --protocol small --runs 1 --judge scripted:judge/one",
        "aib judge -j scripted:judge/two -j scripted:judge/three",
    ]
    assert [one["paid"]["calls"] for one in found] == [11, 8]
    assert "by command" in user.aib("costs", "--store", "other.db").stdout


def test_a_key_on_the_command_line_is_not_kept(user: User) -> None:
    """Whatever was typed by mistake: what the process knows for a secret stays out of the books."""
    (user.folder / "models.yaml").rename(user.folder / f"{KEY}.yaml")
    assert user.run("--judge", "scripted:judge/one", "--models-file", f"{KEY}.yaml").returncode == 0

    (found,) = json.loads(user.aib("costs", "--json").stdout)["commands"]

    assert found["typed"].endswith("--models-file [key].yaml")


def test_a_command_line_that_is_not_utf_8_is_kept_as_far_as_it_is(user: User) -> None:
    """A file name may hold any bytes; no database does."""
    odd = "caf\udce9.yaml"  # how Python writes a byte that no character of UTF-8 has
    (user.folder / "models.yaml").rename(user.folder / odd)

    done = user.run("--judge", "scripted:judge/one", "--models-file", odd)

    assert done.returncode == 0, done.stderr
    (found,) = json.loads(user.aib("costs", "--json").stdout)["commands"]
    assert found["typed"].endswith("--models-file 'caf?.yaml'")
