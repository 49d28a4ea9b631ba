"""Slots and rate limiters: who goes first, how many at once, and that nobody is forgotten."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_model import settle

from independence_bench.calls.limits import CUT, PAUSE, EndpointLimiter, RateLimiter, Slots
from independence_bench.models.spec import ChatModel

PATIENCE = 5.0  # real seconds after which a test says that somebody was forgotten


class Clock:
    """Time that moves when somebody sleeps, as far as they sleep."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def time(self) -> float:
        """Seconds."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Let the others go first, then move on."""
        self.slept.append(seconds)
        until = self.now + seconds
        await asyncio.sleep(0)
        self.now = max(self.now, until)


def gate_of(most: int, clock: Clock | None = None) -> RateLimiter:
    """A gate on a clock of its own."""
    clock = clock or Clock()
    return RateLimiter(most, clock.time, clock.sleep)


Door = Callable[[int], contextlib.AbstractAsyncContextManager[None]]


async def order_of(door: Door, priorities: list[int]) -> list[int]:
    """In which order waiting tasks get in, one at a time; each is named by its place in
    *priorities*.
    """
    entered: list[int] = []
    opened = asyncio.Event()

    async def first() -> None:
        async with door(0):
            await opened.wait()

    async def visit(number: int, priority: int) -> None:
        async with door(priority):
            entered.append(number)
            await asyncio.sleep(0)

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        group.create_task(first())
        await settle()
        for number, priority in enumerate(priorities):
            group.create_task(visit(number, priority))
        await settle()
        assert entered == []
        opened.set()
    return entered


def doors() -> list[Door]:
    """A place and a gate with room for one."""
    return [Slots(1).hold_slot, gate_of(1).hold_slot]


@given(st.lists(st.integers(0, 3), max_size=12))
def test_the_longest_chain_goes_first_and_among_equals_who_came_first(
    priorities: list[int],
) -> None:
    """The same for places and for gates."""
    expected = sorted(range(len(priorities)), key=lambda number: -priorities[number])

    for door in doors():
        assert asyncio.run(order_of(door, priorities)) == expected


@pytest.mark.parametrize("limit", [1, 3, 8])
def test_never_more_than_the_limit_are_inside(limit: int) -> None:
    """And when there is work, never fewer."""

    async def scene(door: Door) -> list[int]:
        inside, seen = 0, []

        async def visit() -> None:
            nonlocal inside
            async with door(0):
                inside += 1
                seen.append(inside)
                await asyncio.sleep(0)
                inside -= 1

        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
            for _ in range(30):
                group.create_task(visit())
        return seen

    for door in (Slots(limit).hold_slot, gate_of(limit).hold_slot):
        seen = asyncio.run(scene(door))
        assert len(seen) == 30
        assert max(seen) == limit


def test_an_error_inside_gives_the_place_back() -> None:
    """Whoever fails leaves."""

    async def scene(door: Door) -> None:
        for _ in range(3):
            with pytest.raises(RuntimeError):
                async with asyncio.timeout(PATIENCE), door(0):
                    raise RuntimeError

    for door in doors():
        asyncio.run(scene(door))


@pytest.mark.parametrize("called_up", [False, True], ids=["while waiting", "after being called up"])
def test_a_cancelled_task_leaks_no_place(called_up: bool) -> None:
    """Who waited behind it gets in, at once."""

    async def scene(door: Door) -> list[str]:
        entered: list[str] = []
        leave = asyncio.Event()

        async def visit(name: str) -> None:
            async with door(0):
                entered.append(name)
                if name == "first":
                    await leave.wait()

        async with asyncio.timeout(PATIENCE):
            tasks = [asyncio.ensure_future(visit(name)) for name in ("first", "second", "third")]
            await settle()
            if called_up:
                leave.set()
                # the first wakes up and leaves in this very step; the second is called up and has
                # not run yet
                await asyncio.sleep(0)
                assert tasks[0].done()
                assert entered == ["first"]
                tasks[1].cancel()
            else:
                tasks[1].cancel()
                await settle()
                leave.set()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert tasks[1].cancelled()
            async with door(0):
                entered.append("fourth")
        return entered

    for door in doors():
        assert asyncio.run(scene(door)) == ["first", "third", "fourth"]


@given(st.integers(1, 4), st.integers(0, 2**32))
def test_places_survive_any_cancelling(limit: int, seed: int) -> None:
    """Tasks come, wait and are cancelled at any moment: never too many inside, and nobody else is
    forgotten.
    """

    async def scene(door: Door) -> None:
        draw = random.Random(seed)
        inside, entered = 0, set()

        async def visit(number: int) -> None:
            nonlocal inside
            async with door(draw.randrange(3)):
                inside += 1
                entered.add(number)
                assert inside <= limit
                try:
                    for _ in range(draw.randrange(4)):
                        await asyncio.sleep(0)
                finally:
                    inside -= 1

        async with asyncio.timeout(PATIENCE):
            tasks: list[asyncio.Task[None]] = []
            for number in range(25):
                tasks.append(asyncio.create_task(visit(number)))
                for _ in range(draw.randrange(3)):
                    await asyncio.sleep(0)
                if draw.random() < 0.5:
                    draw.choice(tasks).cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert {n for n, task in enumerate(tasks) if not task.cancelled()} <= entered
            assert not any(task.exception() for task in tasks if not task.cancelled())
            async with contextlib.AsyncExitStack() as stack:  # every place is free again
                for _ in range(limit):
                    await stack.enter_async_context(door(0))

    asyncio.run(scene(Slots(limit).hold_slot))
    asyncio.run(scene(gate_of(limit).hold_slot))


# the gate follows its endpoint


def test_a_429_cuts_to_four_fifths_and_pauses() -> None:
    """Nothing goes out for 15 seconds, and then fewer at once."""
    clock = Clock()
    gate = gate_of(10, clock)

    async def scene() -> None:
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(10):
                await stack.enter_async_context(gate.hold_slot(0))
            gate.record_rate_limit(None)
        async with gate.hold_slot(0):
            pass

    asyncio.run(scene())
    assert gate.limit == pytest.approx(10 * CUT)
    assert clock.slept == [PAUSE]


def test_what_is_cut_is_what_was_tried() -> None:
    """A model of which five calls were in flight is not served a hundred: its 429 is about five."""
    gate = gate_of(100)

    async def scene() -> None:
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(5):
                await stack.enter_async_context(gate.hold_slot(0))
        gate.record_rate_limit(None)

    asyncio.run(scene())
    assert gate.limit == pytest.approx(5 * CUT)


def test_a_pause_of_one_model_is_none_of_its_neighbour() -> None:
    """The endpoint's places are shared; who pauses holds none, not even one that it waited for."""
    clock = Clock()
    endpoint = EndpointLimiter(2, clock.time, clock.sleep)
    one, other = (
        endpoint.find_or_make_limiter(model_named("one")),
        endpoint.find_or_make_limiter(model_named("other")),
    )
    entered: list[str] = []

    async def visit(gate: RateLimiter, name: str) -> None:
        async with gate.hold_slot(0):
            entered.append(name)

    async def scene() -> None:
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(2):
                await stack.enter_async_context(other.hold_slot(0))
            waiting = asyncio.create_task(visit(one, "one"))
            await settle()
            assert entered == [], "the endpoint takes two at once, whoever they are from"
            one.record_rate_limit(None)
            await stack.aclose()
            for _ in range(10):
                await visit(other, "other")
            await waiting

    async def in_time() -> None:
        async with asyncio.timeout(PATIENCE):
            await scene()

    asyncio.run(in_time())
    assert entered == ["other"] * 10 + ["one"]
    assert clock.now == 1000.0 + PAUSE
    assert other.limit == 2
    assert endpoint.find_or_make_limiter(model_named("one")) is one
    assert endpoint.find_or_make_limiter(model_named("one", provider="acme")) is not one


def model_named(name: str, provider: str | None = None) -> ChatModel:
    """A model with such a name."""
    return ChatModel(name, "scripted", 0.7, 100, provider=provider)


def test_simultaneous_429s_count_once() -> None:
    """Ten calls that were in flight together met one limit, not ten."""
    clock = Clock()
    gate = gate_of(10, clock)

    for _ in range(10):
        gate.record_rate_limit(None)

    assert gate.limit == pytest.approx(8)
    clock.now += PAUSE
    gate.record_rate_limit(None)
    assert gate.limit == pytest.approx(6.4)


@pytest.mark.parametrize(
    ("asked", "pause"), [([None], PAUSE), ([3.0], 3.0), ([120.0], 120.0), ([60.0, 5.0], 60.0)]
)
def test_the_pause_is_as_long_as_the_endpoint_says(asked: list[float | None], pause: float) -> None:
    """And 15 seconds where it says nothing; a later, shorter Retry-After opens nothing earlier."""
    clock = Clock()
    gate = gate_of(4, clock)

    async def scene() -> None:
        for seconds in asked:
            gate.record_rate_limit(seconds)
        async with gate.hold_slot(0):
            assert clock.now == 1000.0 + pause

    asyncio.run(scene())


def test_the_limit_never_falls_below_one() -> None:
    """However often it says 429, one call at a time goes on asking."""
    clock = Clock()
    gate = gate_of(8, clock)
    for _ in range(100):
        gate.record_rate_limit(None)
        clock.now += 100

    assert gate.limit == 1.0

    async def scene() -> None:
        async with asyncio.timeout(PATIENCE), gate.hold_slot(0):
            assert gate.in_flight == 1

    asyncio.run(scene())


def test_successes_bring_the_limit_back_and_not_beyond() -> None:
    """One more at once for about as many successes as are in flight."""
    gate = gate_of(4)
    for _ in range(2):
        gate.record_rate_limit(0.0)
    assert gate.limit == pytest.approx(4 * CUT * CUT)

    before = gate.limit
    gate.record_success()
    assert before < gate.limit <= before + 1 / before
    for _ in range(50):
        gate.record_success()
    assert gate.limit == 4.0


def test_after_a_429_no_more_than_the_new_limit_go_out() -> None:
    """Eight in flight, a 429: the next ones go when fewer than six are left."""
    clock = Clock()
    gate = gate_of(8, clock)
    seen: list[int] = []

    async def visit() -> None:
        async with gate.hold_slot(0):
            seen.append(gate.in_flight)
            await asyncio.sleep(0)

    async def scene() -> None:
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(8):
                await stack.enter_async_context(gate.hold_slot(0))
            gate.record_rate_limit(None)
            async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
                for _ in range(20):
                    group.create_task(visit())
                await settle()
                assert seen == []
                await stack.aclose()

    asyncio.run(scene())
    assert len(seen) == 20
    assert max(seen) == int(8 * CUT)


def test_a_task_that_is_stopped_in_a_pause_passes_its_turn_on() -> None:
    """It was called up, met the pause and left: who waits behind it must not wait for ever."""

    async def scene(
        stop: Callable[[asyncio.Task[None]], object], sleep: Callable[[float], Awaitable[None]]
    ) -> list[str]:
        now = [0.0]
        gate = RateLimiter(1, lambda: now[0], sleep)
        entered: list[str] = []
        leave = asyncio.Event()

        async def visit(name: str) -> None:
            async with gate.hold_slot(0):
                entered.append(name)
                if name == "first":
                    await leave.wait()
                    gate.record_rate_limit(None)

        async with asyncio.timeout(PATIENCE):
            tasks = [asyncio.ensure_future(visit(name)) for name in ("first", "second", "third")]
            await settle()
            leave.set()
            await settle()
            stop(tasks[1])
            now[0] = 100.0
            await asyncio.gather(*tasks, return_exceptions=True)
        return entered

    async def for_ever(_: float) -> None:
        await asyncio.Event().wait()

    async def refuse(_: float) -> None:
        await settle()
        raise RuntimeError("stopped")

    assert asyncio.run(scene(lambda task: task.cancel(), for_ever)) == ["first", "third"]
    assert asyncio.run(scene(lambda task: None, refuse))[0] == "first"


def test_a_stop_during_a_pause_reaches_everybody() -> None:
    """The sleep raises when the command is stopped; those who queue behind the pause hear of it
    too.
    """
    stopping = asyncio.Event()

    async def sleep(_: float) -> None:
        await stopping.wait()
        raise RuntimeError("stopped")

    async def scene() -> list[BaseException | None]:
        gate = RateLimiter(1, lambda: 0.0, sleep)

        async def visit() -> None:
            async with gate.hold_slot(0):
                await asyncio.sleep(0)
                gate.record_rate_limit(None)

        async with asyncio.timeout(PATIENCE):
            tasks = [asyncio.ensure_future(visit()) for _ in range(5)]
            await settle()
            stopping.set()
            return await asyncio.gather(*tasks, return_exceptions=True)

    first, *others = asyncio.run(scene())
    assert first is None
    assert [str(error) for error in others] == ["stopped"] * 4


@given(st.integers(1, 5), st.integers(0, 2**32))
def test_a_gate_survives_429s_and_cancelling(most: int, seed: int) -> None:
    """Never more than it bears, nobody forgotten, and at the end it is as open as ever."""

    async def scene() -> None:
        draw, clock = random.Random(seed), Clock()
        gate = gate_of(most, clock)
        entered: set[int] = set()

        async def visit(number: int) -> None:
            async with gate.hold_slot(draw.randrange(3)):
                entered.add(number)
                assert gate.in_flight <= int(gate.limit)
                for _ in range(draw.randrange(3)):
                    await asyncio.sleep(0)
                if draw.random() < 0.2:
                    gate.record_rate_limit(draw.choice([None, 0.0, 1.0]))
                else:
                    gate.record_success()

        async with asyncio.timeout(PATIENCE):
            tasks: list[asyncio.Task[None]] = []
            for number in range(25):
                tasks.append(asyncio.create_task(visit(number)))
                for _ in range(draw.randrange(3)):
                    await asyncio.sleep(0)
                if draw.random() < 0.4:
                    draw.choice(tasks).cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert not [
                task.exception() for task in tasks if not task.cancelled() and task.exception()
            ]
            assert {n for n, task in enumerate(tasks) if not task.cancelled()} <= entered
            assert gate.in_flight == 0
            async with gate.hold_slot(0):
                pass

    asyncio.run(scene())
