"""Tasks beside each other end together."""

from __future__ import annotations

import asyncio

import pytest

from independence_bench.calls.executor import together


def test_all_are_carried_out_and_none_is_none() -> None:
    """In whatever order they end."""
    done: list[int] = []

    async def work(number: int) -> None:
        await asyncio.sleep(0.01 * (3 - number))
        done.append(number)

    asyncio.run(together(work(number) for number in range(3)))
    asyncio.run(together([]))

    assert done == [2, 1, 0]


@pytest.mark.parametrize("fails", [True, False], ids=["one fails", "we are cancelled"])
def test_none_outlives_the_others(fails: bool) -> None:
    """The others are cancelled, and have cleaned up by the time the failure is raised."""
    cleaned: list[int] = []

    async def work(number: int) -> None:
        try:
            if number == 2 and fails:
                raise ValueError("no")
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)
            cleaned.append(number)

    async def carried_out() -> None:
        async with asyncio.timeout(60 if fails else 0.05):
            await together(work(number) for number in range(4))

    with pytest.raises(ValueError if fails else TimeoutError):
        asyncio.run(carried_out())

    assert sorted(cleaned) == [0, 1, 2, 3]
