"""A clock that is set while two commands share one store: no call is bought twice, and no dead
one's is left.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence

import pytest
from scripted_model import Answer, Asked, Bench, ScriptedModel, both, once_each, steady

from independence_bench.store.attempts import LEASE, Holder
from independence_bench.store.owners import LeaseWatch, make_owner_name

Benches = Callable[..., Bench]
DAY = 86_400.0
FIRST, REPLIES = 4, 7  # calls that a run of the small protocol begins with, and all of them


@both
@pytest.mark.parametrize(
    "jumps",
    [(DAY, 0.0), (DAY,), (-DAY,), (-DAY, 0.0)],
    ids=["forth and back", "forth", "back", "back and forth"],
)
def test_a_clock_that_is_set_has_no_call_bought_twice(
    bench: Benches, jumps: Sequence[float]
) -> None:
    """The second command begins after the first jump and sees what the first one has claimed: it
    waits for that.
    """
    shift, arrive = [0.0], threading.Event()
    made = bench(lambda asked: steady(until=None if asked.model == "acme/two" else arrive)(asked))
    (server,) = made.endpoints.values()

    def now() -> float:
        return time.time() + shift[0]

    def is_past_the_claims(model: ScriptedModel) -> bool:
        # it looks at what the first one has claimed before it asks its own subject, and this has
        # answered everything
        return (
            sum(
                entry.asked.model == "acme/two" and entry.ended is not None for entry in model.chats
            )
            == REPLIES
        )

    async def play() -> None:
        first = asyncio.ensure_future(made.carry_out(judge=None, now=now))
        await asyncio.to_thread(server.wait_until, lambda model: model.in_flight == FIRST)
        shift[0] = jumps[0]
        subjects = made.subject(), made.subject("acme/two")
        second = asyncio.ensure_future(made.carry_out(*subjects, judge=None, now=now))
        await asyncio.to_thread(server.wait_until, is_past_the_claims)
        shift[0] = jumps[-1]
        arrive.set()
        reports = await asyncio.gather(first, second)
        assert all(report.complete for report in reports)

    asyncio.run(play())

    assert once_each(server.asked)
    assert len(server.asked) == 2 * REPLIES


@both
def test_a_clock_that_is_set_back_amid_a_command_gives_none_of_its_claims_away(
    bench: Benches,
) -> None:
    """What it claims from then on ends a day ago, by its own clock."""
    shift, arrive = [0.0], threading.Event()

    def script(asked: Asked) -> Answer:
        if asked.model == "acme/one" and asked.number <= FIRST:
            shift[0] = -DAY
            return steady()(asked)
        return steady(until=None if asked.model == "acme/two" else arrive)(asked)

    made = bench(script)
    (server,) = made.endpoints.values()

    def is_past_the_claims(model: ScriptedModel) -> bool:
        return (
            sum(
                entry.asked.model == "acme/two" and entry.ended is not None for entry in model.chats
            )
            == REPLIES
        )

    async def play() -> None:
        first = asyncio.ensure_future(
            made.carry_out(judge=None, now=lambda: time.time() + shift[0])
        )
        await asyncio.to_thread(
            server.wait_until, lambda model: len(model.chats) > FIRST and model.in_flight > 0
        )
        subjects = made.subject(), made.subject("acme/two")
        second = asyncio.ensure_future(
            made.carry_out(*subjects, judge=None, now=lambda: time.time() + shift[0])
        )
        await asyncio.to_thread(server.wait_until, is_past_the_claims)
        arrive.set()
        await asyncio.gather(first, second)

    asyncio.run(play())

    assert once_each(server.asked)


def test_a_process_counts_as_ended_when_it_has_or_when_nothing_moves() -> None:
    """Whatever the clock says: at once where it is killed, after a whole lease of silence where it
    is suspended.
    """
    steps, clock = [0.0], time.time()
    watch = LeaseWatch(lambda: steps[0], LEASE)
    ours = make_owner_name().split("|")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        owner = "|".join((*ours[:3], str(child.pid), "", "x"))
        claim = Holder(owner, clock + LEASE)
        assert not claim.is_gone(clock + DAY, watch)
        child.send_signal(signal.SIGSTOP)
        steps[0] += LEASE - 1
        assert not Holder(owner, clock - DAY).is_gone(clock + DAY, watch), (
            "it has renewed, by whatever clock"
        )
        steps[0] += LEASE - 1
        assert not claim.is_gone(clock + DAY, watch)
        steps[0] += 1
        assert claim.is_gone(clock, watch)
        child.kill()
    assert Holder(owner, clock + DAY).is_gone(clock, LeaseWatch(lambda: 0.0, LEASE))


def test_a_silent_process_with_many_claims_is_silent() -> None:
    """Each of them ends at a time of its own, and none moves."""
    now = [0.0]
    watch = LeaseWatch(lambda: now[0], LEASE)
    ends = [100.0, 101.0, 102.0]
    assert [watch.is_silent("a", until) for until in ends] == [False, False, False]
    now[0] += LEASE
    assert [watch.is_silent("a", until) for until in ends] == [True, True, True]
