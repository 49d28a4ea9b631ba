"""The one retry policy, row by row of its table."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from independence_bench.calls.limits import (
    AttemptCounts,
    GaveUp,
    Policy,
    Reach,
    count_fault_and_compute_wait,
    describe_fault,
)
from independence_bench.models.messages import Fault, Kind

SOONEST: Callable[[], float] = lambda: 0.0  # noqa: E731 - the shortest wait of each range
LATEST: Callable[[], float] = lambda: 0.999999  # noqa: E731 - as good as the longest


def ask_until_given_up(
    kind: Kind,
    draw: Callable[[], float] = SOONEST,
    retry_after: float | None = None,
    attempt: float = 0.0,
) -> tuple[list[float], GaveUp]:
    """The waits between the tries of one call that always fails in the same way, and how it ends.

    *attempt* is how many seconds each try takes; waits are exactly as long as they are said to be.
    """
    tries, waits, now = AttemptCounts(), [], 5000.0
    while True:
        now += attempt
        try:
            waits.append(
                count_fault_and_compute_wait(
                    Fault(kind, "no", retry_after=retry_after), tries, Policy(), draw, now
                )
            )
        except GaveUp as end:
            return waits, end
        now += waits[-1]
        assert len(waits) < 10_000


@pytest.mark.parametrize(
    ("kind", "reach", "wanted"),
    [
        (Kind.REFUSED_PROMPT, Reach.REPLY, []),
        (Kind.BAD_REQUEST, Reach.CALL, []),
        (Kind.UNAUTHORIZED, Reach.ENDPOINT, []),
        (Kind.NO_CREDITS, Reach.ENDPOINT, []),
        (Kind.CUT_PROMPT, Reach.MODEL, []),
        (Kind.NO_QUOTA, Reach.MODEL, []),
        (Kind.WRONG_ADDRESS, Reach.ENDPOINT, [0.5, 1.0]),
        (Kind.BROKEN, Reach.REPLY, [0.5, 1.0]),
        (Kind.TOO_LARGE, Reach.REPLY, [0.5, 1.0]),
        (Kind.WRONG_PROVIDER, Reach.MODEL, [0.5, 1.0]),
        (Kind.UNAVAILABLE, Reach.CALL, [0.5, 1.0, 2.0, 4.0, 8.0]),
        (Kind.TIMEOUT, Reach.CALL, [0.5, 1.0, 2.0, 4.0, 8.0]),
    ],
)
def test_how_often_it_is_asked_again_and_how_far_the_failure_reaches(
    kind: Kind, reach: Reach, wanted: list[float]
) -> None:
    """Not at all, in three tries, or in six; each wait is twice the one before."""
    waits, end = ask_until_given_up(kind)

    assert waits == wanted
    assert end.reach is reach
    assert end.reason == f"{kind.value}: no" + (f" ({len(wanted) + 1} tries)" if wanted else "")


@pytest.mark.parametrize(
    ("status", "reach"),
    [
        (400, Reach.CALL),
        (413, Reach.CALL),
        (422, Reach.CALL),
        (404, Reach.MODEL),
        (501, Reach.MODEL),
        (308, Reach.MODEL),
        (200, Reach.CALL),
    ],
)
def test_a_refused_request_is_that_calls_failure_unless_nothing_is_there(
    status: int, reach: Reach
) -> None:
    """A conversation can be too long for a model; an address or a model that is not there refuses
    everything.
    """
    with pytest.raises(GaveUp) as end:
        count_fault_and_compute_wait(
            Fault(Kind.BAD_REQUEST, "no", status), AttemptCounts(), Policy(), SOONEST, 0.0
        )

    assert end.value.reach is reach


HELD_UP = [(Kind.RATE_LIMITED, Reach.CALL), (Kind.CONNECTION, Reach.ENDPOINT)]


@pytest.mark.parametrize(("kind", "reach"), HELD_UP)
def test_being_held_up_is_waited_out_for_a_quarter_of_an_hour(kind: Kind, reach: Reach) -> None:
    """Longest waits: 1+2+4+8+16+32 = 63 s, then 60 s each; 14 of those are 903 s, and the time is
    over.
    """
    waits, end = ask_until_given_up(kind, LATEST)

    assert [round(wait) for wait in waits] == [1, 2, 4, 8, 16, 32] + [60] * 14
    assert end.reach is reach
    assert end.reason == f"{kind.value}: no (21 tries in 15 minutes)"
    # shortest waits: 0.5+1+2+4+8+16 = 31.5 s, then 30 s each; 29 of those are 901.5 s
    assert ask_until_given_up(kind, SOONEST)[0] == [0.5, 1, 2, 4, 8, 16] + [30] * 29


@pytest.mark.parametrize(("kind", "reach"), HELD_UP)
def test_patience_is_time_on_the_clock_and_not_the_sum_of_waits(kind: Kind, reach: Reach) -> None:
    """Tries that take a minute each use it up too: 12 waits instead of 35."""
    waits, end = ask_until_given_up(kind, SOONEST, attempt=60.0)

    # since the first failure: 60.5, 121.5, 183.5, 247.5, 315.5, 391.5, 481.5, 571.5, 661.5, 751.5,
    # 841.5, 931.5
    assert waits == [0.5, 1, 2, 4, 8, 16] + [30] * 6
    assert end.reach is reach


def test_the_time_runs_from_the_first_hold_up_and_not_from_other_troubles() -> None:
    """A time-out an hour ago takes nothing of the patience; the first 429 starts the clock, and
    only the first.
    """
    tries, policy = AttemptCounts(), Policy()
    count_fault_and_compute_wait(Fault(Kind.TIMEOUT, "no"), tries, policy, SOONEST, 0.0)
    assert tries.held_up_since is None

    count_fault_and_compute_wait(Fault(Kind.RATE_LIMITED, "no"), tries, policy, SOONEST, 3600.0)
    count_fault_and_compute_wait(Fault(Kind.CONNECTION, "no"), tries, policy, SOONEST, 4499.9)

    assert (tries.held_up_since, tries.held_up) == (3600.0, 2)
    with pytest.raises(GaveUp) as end:
        count_fault_and_compute_wait(Fault(Kind.RATE_LIMITED, "no"), tries, policy, SOONEST, 4500.0)
    assert end.value.reason == "rate limited: no (3 tries in 15 minutes)"


def test_every_kind_of_failure_has_its_row() -> None:
    """Whatever goes wrong ends sometime, and none is forgotten; what is sent again without a part
    ends when no part is left, which the client sees to.
    """
    ends = {
        kind: ask_until_given_up(kind)[1].reach for kind in Kind if kind is not Kind.PART_REFUSED
    }

    assert len(ends) == len(Kind) - 1
    assert (
        count_fault_and_compute_wait(
            Fault(Kind.PART_REFUSED, "no"), AttemptCounts(), Policy(), SOONEST, 0.0
        )
        == 0
    )
    assert set(ends.values()) == set(Reach)


@given(
    st.integers(1, 60),
    st.floats(0, 1, exclude_max=True),
    st.sampled_from([Kind.RATE_LIMITED, Kind.CONNECTION]),
)
def test_jitter_stays_between_half_and_all_of_the_wait(
    number: int, drawn: float, kind: Kind
) -> None:
    """Calls that failed together do not come back together, nor too early, nor after more than a
    minute.
    """
    tries = AttemptCounts(held_up=number - 1)
    full = min(2.0 ** (number - 1), 60.0)

    wait = count_fault_and_compute_wait(Fault(kind, "no"), tries, Policy(), lambda: drawn, 0.0)

    assert full / 2 <= wait <= full
    assert wait == pytest.approx(full * (0.5 + drawn / 2))


@pytest.mark.parametrize(
    "kind", [Kind.RATE_LIMITED, Kind.UNAVAILABLE, Kind.CONNECTION, Kind.TIMEOUT, Kind.BROKEN]
)
def test_retry_after_is_honoured_where_it_is_longer(kind: Kind) -> None:
    """Never earlier than asked, up to a second later so that not all come at once; a shorter one
    changes nothing.
    """

    def wait(retry_after: float | None, draw: Callable[[], float]) -> float:
        return count_fault_and_compute_wait(
            Fault(kind, "no", retry_after=retry_after), AttemptCounts(), Policy(), draw, 0.0
        )

    assert wait(20.0, SOONEST) == 20.0
    assert 20.9 < wait(20.0, LATEST) < 21.0
    assert wait(0.0, SOONEST) == wait(None, SOONEST) == 0.5


@pytest.mark.parametrize(
    ("kind", "reach"),
    [
        (Kind.RATE_LIMITED, Reach.MODEL),
        (Kind.CONNECTION, Reach.MODEL),
        (Kind.UNAVAILABLE, Reach.CALL),
    ],
)
def test_an_endpoint_that_asks_for_a_day_is_not_waited_for(kind: Kind, reach: Reach) -> None:
    """Nobody sits there for that; a daily limit holds for all of a model's calls, so none of them
    is sent.
    """
    waits, end = ask_until_given_up(kind, retry_after=86_400.0)

    assert waits == []
    assert end.reach is reach
    assert end.reason == f"{kind.value}: no (it asks to wait 1440 minutes)"


def test_waiting_as_asked_counts_as_waiting() -> None:
    """Three times five minutes are a quarter of an hour; there is no fourth."""
    waits, end = ask_until_given_up(Kind.RATE_LIMITED, retry_after=300.0)

    assert waits == [300.0] * 3
    assert end.reach is Reach.CALL


def test_a_wait_as_long_as_the_patience_is_still_waited() -> None:
    """A quarter of an hour is what a call gets; a second more is not."""
    assert ask_until_given_up(Kind.RATE_LIMITED, retry_after=900.0)[0] == [900.0]
    assert ask_until_given_up(Kind.RATE_LIMITED, retry_after=900.5)[0] == []


def test_kinds_of_trouble_are_counted_apart() -> None:
    """A broken reply between two time-outs does not use up their tries, nor they its."""
    tries, policy = AttemptCounts(), Policy()
    mixed = (
        Kind.BROKEN,
        Kind.TIMEOUT,
        Kind.WRONG_PROVIDER,
        Kind.BROKEN,
        Kind.RATE_LIMITED,
        Kind.UNAVAILABLE,
    )
    for kind in (*mixed, Kind.WRONG_PROVIDER):
        count_fault_and_compute_wait(Fault(kind, "no"), tries, policy, SOONEST, 0.0)

    assert (tries.broken, tries.failures, tries.held_up, tries.wrong_provider) == (2, 2, 1, 2)
    for kind, reach in ((Kind.WRONG_PROVIDER, Reach.MODEL), (Kind.BROKEN, Reach.REPLY)):
        with pytest.raises(GaveUp) as end:
            count_fault_and_compute_wait(Fault(kind, "no"), tries, policy, SOONEST, 0.0)
        assert end.value.reach is reach


def test_broken_tries_of_an_earlier_command_count() -> None:
    """A reply that was broken twice when the process was killed has one try left."""
    with pytest.raises(GaveUp) as end:
        count_fault_and_compute_wait(
            Fault(Kind.BROKEN, "empty"), AttemptCounts(broken=2), Policy(), SOONEST, 0.0
        )

    assert end.value.reason == "broken reply: empty (3 tries)"


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        (Fault(Kind.UNAUTHORIZED, "no such key", 401), "key refused (HTTP 401): no such key"),
        (Fault(Kind.UNAVAILABLE, "overloaded", 200), "unavailable: overloaded"),
        (Fault(Kind.TIMEOUT, "no answer in time"), "timed out: no answer in time"),
    ],
)
def test_a_failure_is_one_clear_line(fault: Fault, line: str) -> None:
    """What it was, the status where that says more, and what the endpoint said."""
    assert describe_fault(fault) == line
