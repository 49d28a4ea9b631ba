"""Several workers of one job on one store: parts of a plan, one budget, endpoints that are closed
for all.
"""

from __future__ import annotations

import asyncio
import gc
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from budget_fuzz import ROUNDING
from simulated_endpoint import Command, most_in_flight, play_together
from sqlalchemy import Connection

from independence_bench.calls.budget import Budget
from independence_bench.calls.limits import Clocks
from independence_bench.calls.upkeep import open_executor
from independence_bench.cli.calling import parse_cluster, parse_job, parse_shard
from independence_bench.errors import BudgetSpent, WrongUse
from independence_bench.integrations.ray_cluster import Cluster
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.loader import load_protocol
from independence_bench.protocol.plan import Shard, list_jobs
from independence_bench.simulate.faults import Faults
from independence_bench.simulate.server import Latency, Settings
from independence_bench.simulate.wire import Price, Prices
from independence_bench.store import workers
from independence_bench.store.attempts import LEASE
from independence_bench.store.database import open_store
from independence_bench.store.owners import make_owner_name

JOB = "nightly"
SLURM = {"SLURM_ARRAY_TASK_ID": "12", "SLURM_ARRAY_TASK_MIN": "10", "SLURM_ARRAY_TASK_COUNT": "4"}


# ---------------------------------------------------------------- parts of a plan


@pytest.mark.parametrize("protocol", ["v2"])
def test_the_parts_of_a_plan_are_all_of_it_and_as_large_as_each_other(protocol: str) -> None:
    """Each conversation is in one of them, with the other branches of its stem, which share an
    opening.
    """
    played = load_protocol(protocol)
    every = list(
        list_jobs(
            played, played.configurations, ChatModel("acme/one", "sim", 0.7, 1000), range(1, 6)
        )
    )
    parts = [list(Shard(number, 4).select_jobs(every)) for number in range(1, 5)]

    def units(part: list) -> set:  # type: ignore[type-arg]
        return {(job.run, job.configuration, job.scenario.stem or job.scenario.id) for job in part}

    assert Counter(job.transcript_id for part in parts for job in part) == {
        job.transcript_id: 1 for job in every
    }
    sizes = [len(units(part)) for part in parts]
    assert sum(sizes) == len(units(every)), "no stem is in two parts"
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(
    ("typed", "environ", "shard"),
    [
        (None, SLURM, None),
        ("3/8", {}, Shard(3, 8)),
        ("auto", SLURM, Shard(3, 4)),
        ("auto", {**SLURM, "SLURM_ARRAY_TASK_STEP": "2"}, Shard(2, 4)),
        ("auto/20", SLURM, Shard(12, 20)),
        ("auto/8", {"JOB_COMPLETION_INDEX": "0"}, Shard(1, 8)),
        ("auto/8", {"JOB_COMPLETION_INDEX": "7"}, Shard(8, 8)),
    ],
)
def test_a_worker_knows_its_part(
    typed: str | None, environ: Mapping[str, str], shard: Shard | None
) -> None:
    """By what was typed, or by what Slurm and Kubernetes say, who count differently."""
    assert parse_shard(typed, environ) == shard


@pytest.mark.parametrize(
    ("typed", "environ", "said"),
    [
        ("0/8", {}, "no part 0 of 8"),
        ("9/8", {}, "no part 9 of 8"),
        ("3", {}, "of how many"),
        ("x/8", {}, "is not a shard"),
        ("3/8/2", {}, "is not a shard"),
        ("-1/8", {}, "is not a shard"),
        ("1/0", {}, "no part 1 of 0"),
        ("1/99999", {}, "at most 10000"),
        ("auto", {}, "neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX is set"),
        ("auto", {"JOB_COMPLETION_INDEX": "2"}, "write auto/N"),
        ("auto", {"SLURM_ARRAY_TASK_ID": "2"}, "SLURM_ARRAY_TASK_COUNT is not set"),
        ("auto", {**SLURM, "SLURM_ARRAY_TASK_ID": "17"}, "--array=1-N"),
        ("auto/8", {"JOB_COMPLETION_INDEX": "eight"}, "is not a number"),
        ("auto/8", {"JOB_COMPLETION_INDEX": "8"}, "no part 9 of 8"),
    ],
)
def test_a_part_that_there_is_not_is_refused(
    typed: str, environ: Mapping[str, str], said: str
) -> None:
    """A worker that guessed its part would leave another one undone."""
    with pytest.raises(WrongUse, match=said):
        parse_shard(typed, environ)


def test_a_job_is_named_or_is_the_slurm_array() -> None:
    """Tasks of one array share a budget without being told to."""
    assert parse_job(JOB, {"SLURM_ARRAY_JOB_ID": "77"}) == JOB
    assert parse_job(None, {"SLURM_ARRAY_JOB_ID": "77"}) == "slurm-77"
    assert parse_job(None, {}) is None
    with pytest.raises(WrongUse, match="1 to 100 printable characters"):
        parse_job(" ", {})
    with pytest.raises(WrongUse, match="printable"):
        parse_job("night\udcff", {})


@pytest.mark.parametrize(
    ("typed", "shard", "cluster"),
    [
        (None, "3/8", None),
        ("ray", None, Cluster(None, None)),
        ("ray", "auto/12", Cluster(None, 12)),
        ("ray://head.example:10001", None, Cluster("ray://head.example:10001", None)),
    ],
)
def test_a_cluster_is_named(typed: str | None, shard: str | None, cluster: Cluster | None) -> None:
    """By its address or without one, and in as many parts as were asked for."""
    assert parse_cluster(typed, shard) == cluster


@pytest.mark.parametrize(
    ("typed", "shard", "said"),
    [
        ("slurm", None, "slurm is not a cluster"),
        ("ray://", None, "is not a cluster"),
        ("ray://me:secret@head", None, "is not a cluster"),
        ("ray", "3/8", "hands out all parts itself"),
        ("ray", "auto", "hands out all parts itself"),
        ("ray", "auto/0", "N from 1 to 10000"),
    ],
)
def test_what_is_no_cluster_is_refused(typed: str, shard: str | None, said: str) -> None:
    """Nothing is begun that would end elsewhere or not at all."""
    with pytest.raises(WrongUse, match=said):
        parse_cluster(typed, shard)


# ---------------------------------------------------------------- one budget


@contextmanager
def two_workers(either: str) -> Iterator[tuple[Connection, str, str, workers.Grant]]:
    """A transaction, two workers of one job with a budget of 1, and what the first has drawn of
    0.75.
    """
    one, other = make_owner_name(), make_owner_name()
    with open_store(either) as store, store.open_transaction() as connection:
        for owner in (one, other):
            workers.join_job(connection, owner, JOB, 0.0)
        yield (
            connection,
            one,
            other,
            workers.reserve_budget(connection, one, JOB, 1.0, 0.75, 0.0, now=0.0),
        )


def test_what_a_dead_worker_held_is_free_with_its_lease(either: str) -> None:
    """What it has spent stays spent, and nobody else's reservation is touched."""
    with two_workers(either) as (connection, one, other, first):
        workers.record_spending(connection, one, 0.25)
        before = workers.reserve_budget(connection, other, JOB, 1.0, 0.5, 0.0, now=LEASE - 1)
        after = workers.reserve_budget(connection, other, JOB, 1.0, 0.5, 0.0, now=LEASE)

        assert first.granted == 0.75
        assert (before.granted, before.spent, before.elsewhere) == (0.0, 0.25, 0.5)
        assert after.granted >= 0.5
        assert workers.sum_job_spending(connection, JOB) == workers.JobSpending(0.25, 0.0, 2)


def test_what_a_dead_worker_had_in_flight_counts_as_the_most_that_it_can_cost(either: str) -> None:
    """It may have been paid for. If the worker was only asleep, what its calls did cost takes that
    place.
    """
    with two_workers(either) as (connection, one, other, _):
        workers.store_reservations(connection, one, {1: 0.25, 2: 0.125, 3: 0.0})
        after = workers.reserve_budget(connection, other, JOB, 1.0, 0.75, 0.0, now=LEASE)
        assert (after.granted, after.spent, after.lost, after.elsewhere) == (0.0, 0.0, 0.375, 0.0)
        assert workers.sum_job_spending(connection, JOB) == workers.JobSpending(0.0, 0.375, 2)

        workers.record_spending(connection, one, 0.0625)
        workers.delete_reservations(connection, [1])
        woken = workers.reserve_budget(connection, other, JOB, 1.0, 0.75, 0.0, now=LEASE)
        assert (woken.granted >= 0.75, woken.spent, woken.lost) == (True, 0.0625, 0.125)


def test_calls_that_a_worker_left_in_flight_count_though_it_said_goodbye(either: str) -> None:
    """A second Ctrl-C leaves them, and gives back what is left over."""
    with two_workers(either) as (connection, one, other, _):
        workers.store_reservations(connection, one, {1: 0.25})
        workers.free_budget(connection, one)

        assert (
            workers.reserve_budget(connection, other, JOB, 1.0, 0.875, 0.0, now=1.0).granted == 0.0
        )
        assert (
            workers.reserve_budget(connection, other, JOB, 1.0, 0.75, 0.0, now=1.0).granted == 0.75
        )


class _Purse:
    """A job's budget whose other worker holds *elsewhere* dollars, until somebody has waited for
    it.
    """

    def __init__(self, left: float, elsewhere: float = 0.0) -> None:
        self.left, self.elsewhere, self.asleep = left, elsewhere, False
        self.given_back = 0

    def has_lapsed(self) -> bool:
        return self.asleep

    async def draw(self, limit: float, needed: float, held: float) -> workers.Grant:
        self.asleep = False
        granted = needed if needed <= self.left else 0.0
        self.left -= granted
        return workers.Grant(granted, limit - self.left - self.elsewhere, 0.0, self.elsewhere)

    async def give_back(self) -> None:
        self.given_back += 1

    async def pause(self, seconds: float) -> None:
        self.left, self.elsewhere = self.left + self.elsewhere, 0.0


async def _buy(budget: Budget, most: float, cost: float) -> None:
    async with budget.reserve(most) as reservation:
        reservation.cost = cost


def test_a_worker_waits_for_what_another_one_may_leave_over() -> None:
    """It is over only when nobody holds anything."""
    budget, purse = Budget(1.0, JOB), _Purse(0.1, elsewhere=0.5)
    budget.attach_purse(purse)

    asyncio.run(_buy(budget, 0.4, 0.4))

    assert purse.given_back == 1, "its own rest might have been what the other one waits for"
    with pytest.raises(
        BudgetSpent, match=r"\$1 of the job nightly is used up: .* name another --job"
    ):
        asyncio.run(_buy(budget, 0.4, 0.4))


def test_what_a_worker_held_before_it_slept_is_not_spent_after() -> None:
    """Others may have had it; it asks again."""
    budget, purse = Budget(1.0, JOB), _Purse(0.5)
    budget.attach_purse(purse)
    asyncio.run(_buy(budget, 0.5, 0.1))
    assert budget.can_afford(0.4)

    purse.asleep = True
    with pytest.raises(BudgetSpent):
        asyncio.run(_buy(budget, 0.4, 0.4))


PRICES = Prices(subject=Price(1e-6, 1e-5), judge=Price(1e-6, 1e-5))
MOST = 0.02  # dollars that a call of theirs can cost at most; 0.002 is usual


@pytest.mark.parametrize(
    ("seed", "listed"), [(1, True), pytest.param(3, False, marks=pytest.mark.torture)]
)
def test_three_workers_never_exceed_one_budget(
    seed: int, listed: bool, small: Path, database: str
) -> None:
    """Not at all where prices are known, by no more than the calls in flight where they are not;
    and all of it is used.

    The workers take parts of one plan, or all of it; some of their requests fail.
    """
    draw = random.Random(seed)
    faults = Faults({"mixed": draw.choice([0.0, 0.2])})
    settings = Settings(seed, Latency(2.0, 1.0), faults, prices=replace(PRICES, listed=listed))
    budget = draw.uniform(0.05, 0.07)
    command = Command(names=("stubborn", "agreeable"), runs=7, budget=budget, job=JOB, seed=seed)
    parts = [Shard(number, 3) if seed % 2 else None for number in (1, 2, 3)]

    reports, entries = play_together(
        small, database, settings, [replace(command, shard=part) for part in parts]
    )

    paid, dearest = sum(entry.charged for entry in entries), max(entry.charged for entry in entries)
    beyond = 0.0 if listed else dearest * most_in_flight(entries)
    assert paid <= budget + beyond + ROUNDING
    assert paid >= budget - MOST, "nobody's rest was lost"
    assert all(isinstance(report.stopped, BudgetSpent) for report in reports)
    with open_store(database) as store, store.open_snapshot() as connection:
        counted = workers.sum_job_spending(connection, JOB)
    assert (counted.workers, counted.open) == (3, 0.0)
    assert counted.spent == pytest.approx(sum(report.budget.spent for report in reports))
    assert counted.spent >= paid - ROUNDING if listed else True


def test_the_same_job_later_has_what_is_left_of_its_budget(small: Path, database: str) -> None:
    """A restarted worker spends nothing twice; one with a higher --budget goes on."""
    settings = Settings(1, prices=PRICES)
    command = Command(names=("stubborn",), runs=6, budget=0.04, job=JOB)

    _, first = play_together(small, database, settings, [command])
    _, second = play_together(small, database, settings, [command])
    _, third = play_together(small, database, settings, [replace(command, budget=0.08)])

    assert first
    assert not second
    assert 0.04 < sum(entry.charged for entry in (*first, *third)) <= 0.08


# ---------------------------------------------------------------- closed endpoints


def test_an_endpoint_that_is_closed_is_closed_for_all_workers(small: Path, database: str) -> None:
    """One is told that the credits are used up: the others send nothing from a moment later on."""
    settings = Settings(3, Latency(3.0, 1.0), Faults(script={20: "http-402"}))
    command = Command(
        names=("stubborn", "agreeable"), runs=6, calls_at_once=2, job=JOB, judged=False
    )

    reports, entries = play_together(
        small,
        database,
        settings,
        [replace(command, shard=Shard(number, 3)) for number in (1, 2, 3)],
    )

    told = [entry for entry in entries if entry.status == 402]
    assert len(told) == 1, "nobody else had to be told"
    assert max(entry.at for entry in entries) <= told[0].at + told[0].seconds + 2.0
    whys = [{trouble.why for _, trouble in report.troubles} for report in reports]
    assert all(whys)
    assert (
        sum(any("another worker of the job nightly" in why for why in of_one) for of_one in whys)
        == 2
    )


def test_who_begins_later_tries_a_closed_endpoint_anew(small: Path, database: str) -> None:
    """The user has paid, and starts the same command again."""
    command = Command(names=("stubborn",), runs=1, job=JOB, judged=False)
    play_together(small, database, Settings(3, faults=Faults(script={1: "http-402"})), [command])

    reports, _ = play_together(small, database, Settings(3), [command])

    assert reports[0].complete


def test_a_worker_that_cannot_join_leaves_no_task_behind(tmp_path: Path) -> None:
    """What renews leases must not go on in a command that never began."""

    async def tasks_left() -> set[asyncio.Task[Any]]:
        with open_store(tmp_path / "aib.db") as store:
            refused = Budget(1.0, "a name that no database takes: \udcff")
            with pytest.raises(UnicodeEncodeError):
                async with open_executor(store, {}, refused, asyncio.Event(), 1, Clocks()):
                    pass
            return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(tasks_left()) == set()


def test_commands_of_one_process_leave_its_garbage_collection_as_it_was(tmp_path: Path) -> None:
    """Also where the one that began first ends first, as the threads of a program that uses the
    library may.
    """

    async def one_ends_in_the_other() -> None:
        with open_store(tmp_path / "a.db") as first, open_store(tmp_path / "b.db") as second:
            opened = [
                open_executor(store, {}, Budget(), asyncio.Event(), 1, Clocks())
                for store in (first, second)
            ]
            for executor in opened:
                await executor.__aenter__()
            rare = gc.get_threshold()
            assert rare != before
            await opened[0].__aexit__(None, None, None)
            assert gc.get_threshold() == rare
            await opened[1].__aexit__(None, None, None)

    before = gc.get_threshold()
    asyncio.run(one_ends_in_the_other())
    assert gc.get_threshold() == before
