"""A bound in dollars that holds, whatever happens at once."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_model import settle

from independence_bench.calls.budget import Budget
from independence_bench.errors import BudgetSpent

PATIENCE = 5.0  # real seconds after which a test says that somebody was forgotten


async def buy(budget: Budget, most: float, cost: float | None = None) -> None:
    """One call that may cost *most* and costs *cost*."""
    async with budget.reserve(most) as reservation:
        await asyncio.sleep(0)
        if cost is not None:
            reservation.cost = cost


def test_a_call_costs_what_it_did_cost() -> None:
    """The reservation is given back, the cost is kept; one that never happened cost nothing."""
    budget = Budget(1.0)

    asyncio.run(buy(budget, 0.5, 0.125))
    asyncio.run(buy(budget, 0.5))

    assert (budget.spent, budget.reserved) == (0.125, 0.0)


def test_without_a_limit_everything_fits_and_is_counted() -> None:
    """No bound is no reason not to know."""
    budget = Budget()

    asyncio.run(buy(budget, 1e6, 2.5))

    assert budget.spent == 2.5
    assert budget.can_afford(1e12)


@pytest.mark.parametrize(
    ("limit", "spent", "most", "fits"),
    [
        (1.0, 0.0, 1.0, True),
        (1.0, 0.0, 1.01, False),
        (1.0, 0.75, 0.25, True),
        (1.0, 0.75, 0.26, False),
        (1.0, 1.0, 0.0, False),
        (1.0, 0.99, 0.0, True),
        (0.0, 0.0, 0.0, False),
    ],
)
def test_what_fits(limit: float, spent: float, most: float, fits: bool) -> None:
    """Up to the limit and not beyond; at the limit nothing more, not even what looks free."""
    budget = Budget(limit)
    budget.spent = spent

    assert budget.can_afford(most) is fits


def test_a_call_that_cannot_fit_is_told_so_with_the_way_out() -> None:
    """Nothing is in flight that could leave something over."""
    budget = Budget(0.5)
    asyncio.run(buy(budget, 0.3, 0.3))

    with pytest.raises(
        BudgetSpent, match=r"\$0\.5 is used up: \$0\.3000 is spent .* \$0\.2500; raise --budget"
    ):
        asyncio.run(buy(budget, 0.25, 0.0))

    assert (budget.spent, budget.reserved) == (0.3, 0.0)


def test_a_call_waits_for_those_in_flight_that_may_leave_some_over() -> None:
    """They reserve the most they could cost, and mostly cost less."""

    async def scene() -> tuple[bool, float]:
        budget, leave = Budget(1.0), asyncio.Event()

        async def dear() -> None:
            async with budget.reserve(0.8) as reservation:
                await leave.wait()
                reservation.cost = 0.1

        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
            group.create_task(dear())
            await settle()
            second = group.create_task(buy(budget, 0.8, 0.8))
            await settle()
            waited = not second.done()
            leave.set()
        return waited, budget.spent

    waited, spent = asyncio.run(scene())
    assert waited
    assert spent == pytest.approx(0.9)


def test_those_who_waited_in_vain_are_told_when_the_last_call_has_settled() -> None:
    """Not before, and not never."""

    async def scene() -> list[object]:
        budget, leave = Budget(1.0), asyncio.Event()

        async def dear() -> None:
            async with budget.reserve(0.8) as reservation:
                await leave.wait()
                reservation.cost = 0.8

        first = asyncio.ensure_future(dear())
        await settle()
        waiting = [asyncio.ensure_future(buy(budget, 0.5, 0.5)) for _ in range(3)]
        await settle()
        assert not any(task.done() for task in waiting)
        leave.set()
        async with asyncio.timeout(PATIENCE):
            return await asyncio.gather(first, *waiting, return_exceptions=True)

    first, *others = asyncio.run(scene())
    assert first is None
    assert all(isinstance(error, BudgetSpent) for error in others)


def test_a_call_that_fails_settles_too() -> None:
    """What it had cost by then is spent, the rest is free again."""

    async def fail(budget: Budget) -> None:
        async with budget.reserve(0.9) as reservation:
            reservation.cost = 0.2
            raise RuntimeError

    async def scene() -> Budget:
        budget = Budget(1.0)
        with pytest.raises(RuntimeError):
            await fail(budget)
        await asyncio.wait_for(buy(budget, 0.8, 0.1), PATIENCE)
        return budget

    budget = asyncio.run(scene())
    assert budget.spent == pytest.approx(0.3)
    assert budget.reserved == 0.0


def test_rounding_leaves_nobody_waiting() -> None:
    """Sums of dollars do not come out at zero; when nothing is in flight, nothing is reserved."""

    async def scene() -> None:
        budget = Budget(4000.0)

        async def hold(most: float, leave: asyncio.Event) -> None:
            async with budget.reserve(most):
                await leave.wait()

        leaves = [asyncio.Event() for _ in range(3)]
        holding = [
            asyncio.ensure_future(hold(most, leave))
            for most, leave in zip((1000.1, 1000.2, 1000.7), leaves, strict=True)
        ]
        await settle()
        too_much = asyncio.ensure_future(buy(budget, 4001.0))
        await settle()
        for leave in leaves:
            leave.set()
            await settle()
        await asyncio.gather(*holding)
        with pytest.raises(BudgetSpent):
            await asyncio.wait_for(too_much, PATIENCE)
        assert budget.reserved == 0.0

    asyncio.run(scene())


@given(st.floats(0.01, 3), st.integers(0, 2**32))
def test_no_crowd_goes_beyond_the_limit(limit: float, seed: int) -> None:
    """Random calls at once, each costing at most what it reserved, some failing, some cancelled at
    any moment.
    """

    async def scene() -> None:
        draw, budget = random.Random(seed), Budget(limit)

        async def call() -> None:
            most = draw.choice([0.0, draw.random(), draw.random() / 10])
            async with budget.reserve(most) as reservation:
                assert budget.spent + budget.reserved <= limit + 1e-9
                for _ in range(draw.randrange(3)):
                    await asyncio.sleep(0)
                reservation.cost = draw.choice([0.0, most, most * draw.random()])
                if draw.random() < 0.1:
                    raise RuntimeError
            assert budget.spent <= limit + 1e-9

        async with asyncio.timeout(PATIENCE):
            tasks: list[asyncio.Task[None]] = []
            for _ in range(20):
                tasks.append(asyncio.create_task(call()))
                for _ in range(draw.randrange(3)):
                    await asyncio.sleep(0)
                if draw.random() < 0.2:
                    draw.choice(tasks).cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
        kinds = {type(end) for end in ends}
        assert kinds <= {type(None), BudgetSpent, RuntimeError, asyncio.CancelledError}
        assert budget.spent <= limit + 1e-9
        assert budget.reserved == 0.0

    asyncio.run(scene())
