"""The one retry policy, row by row of its table."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from independence_bench.chat import Fault, Kind
from independence_bench.retry import GaveUp, Policy, Reach, Tries, describe, next_wait

SOONEST: Callable[[], float] = lambda: 0.0  # noqa: E731 - the shortest wait of each range
LATEST: Callable[[], float] = lambda: 0.999999  # noqa: E731 - as good as the longest


def ask_until_given_up(
    kind: Kind, draw: Callable[[], float] = SOONEST, retry_after: float | None = None
) -> tuple[list[float], GaveUp]:
    """The waits between the tries of one call that always fails in the same way, and how it ends."""
    tries, waits = Tries(), []
    while True:
        try:
            waits.append(next_wait(Fault(kind, "no", retry_after=retry_after), tries, Policy(), draw))
        except GaveUp as end:
            return waits, end
        assert len(waits) < 10_000


@pytest.mark.parametrize(
    ("kind", "reach"),
    [
        (Kind.REFUSED_PROMPT, Reach.REPLY),
        (Kind.BAD_REQUEST, Reach.MODEL),
        (Kind.UNAUTHORIZED, Reach.ENDPOINT),
        (Kind.NO_CREDITS, Reach.ENDPOINT),
    ],
)
def test_what_is_never_asked_again(kind: Kind, reach: Reach) -> None:
    """One try, and it says how far the failure reaches."""
    waits, end = ask_until_given_up(kind)

    assert waits == []
    assert end.reach is reach


@pytest.mark.parametrize("kind", [Kind.BROKEN, Kind.WRONG_PROVIDER])
def test_a_broken_reply_gets_three_tries(kind: Kind) -> None:
    """Two waits of 1 and 2 seconds at most, then the reply is invalid with the reason."""
    waits, end = ask_until_given_up(kind)

    assert waits == [0.5, 1.0]
    assert end.reach is Reach.REPLY
    assert end.reason == f"{kind.value}: no (3 tries)"


@pytest.mark.parametrize("kind", [Kind.UNAVAILABLE, Kind.TIMEOUT])
def test_an_endpoint_in_trouble_gets_six_tries(kind: Kind) -> None:
    """Five waits, each twice the one before; the call fails, and a later command may try again."""
    waits, end = ask_until_given_up(kind)

    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0]
    assert end.reach is Reach.CALL
    assert end.reason == f"{kind.value}: no (6 tries)"


@pytest.mark.parametrize(("kind", "reach"), [(Kind.RATE_LIMITED, Reach.CALL), (Kind.CONNECTION, Reach.ENDPOINT)])
def test_being_held_up_is_waited_out_for_a_quarter_of_an_hour(kind: Kind, reach: Reach) -> None:
    """Longest waits: 1+2+4+8+16+32 = 63 s, then 60 s each; 13 of those are 843 s, a 14th would be beyond 900."""
    waits, end = ask_until_given_up(kind, LATEST)

    assert [round(wait) for wait in waits] == [1, 2, 4, 8, 16, 32] + [60] * 13
    assert sum(waits) <= 900
    assert end.reach is reach
    assert end.reason == f"{kind.value}: no (20 tries in 15 minutes)"


@pytest.mark.parametrize("kind", [Kind.RATE_LIMITED, Kind.CONNECTION])
def test_shortest_waits_are_half_as_long_and_never_beyond_a_quarter_of_an_hour(kind: Kind) -> None:
    """0.5+1+2+4+8+16 = 31.5 s, then 30 s each: 28 of those are 871.5 s."""
    waits, _ = ask_until_given_up(kind, SOONEST)

    assert waits == [0.5, 1, 2, 4, 8, 16] + [30] * 28


def test_every_kind_of_failure_has_its_row() -> None:
    """Whatever goes wrong ends sometime, and none is forgotten."""
    ends = {kind: ask_until_given_up(kind)[1].reach for kind in Kind}

    assert len(ends) == 10
    assert set(ends.values()) == set(Reach)


@settings(deadline=None)
@given(st.integers(1, 60), st.floats(0, 1, exclude_max=True), st.sampled_from([Kind.RATE_LIMITED, Kind.CONNECTION]))
def test_jitter_stays_between_half_and_all_of_the_wait(number: int, drawn: float, kind: Kind) -> None:
    """Calls that failed together do not come back together, nor too early, nor after more than a minute."""
    tries = Tries(held_up=number - 1)
    full = min(2.0 ** (number - 1), 60.0)

    wait = next_wait(Fault(kind, "no"), tries, Policy(), lambda: drawn)

    assert full / 2 <= wait <= full
    assert wait == pytest.approx(full * (0.5 + drawn / 2))


@pytest.mark.parametrize("kind", [Kind.RATE_LIMITED, Kind.UNAVAILABLE, Kind.CONNECTION, Kind.TIMEOUT, Kind.BROKEN])
def test_retry_after_is_honoured_where_it_is_longer(kind: Kind) -> None:
    """Never earlier than asked, up to a second later so that not all come at once; a shorter one changes nothing."""

    def wait(retry_after: float | None, draw: Callable[[], float]) -> float:
        return next_wait(Fault(kind, "no", retry_after=retry_after), Tries(), Policy(), draw)

    assert wait(20.0, SOONEST) == 20.0
    assert 20.9 < wait(20.0, LATEST) < 21.0
    assert wait(0.0, SOONEST) == wait(None, SOONEST) == 0.5


@pytest.mark.parametrize("kind", [Kind.RATE_LIMITED, Kind.UNAVAILABLE])
def test_an_endpoint_that_asks_for_a_day_is_not_waited_for(kind: Kind) -> None:
    """Nobody sits there for that; the call fails for now, at once."""
    waits, end = ask_until_given_up(kind, retry_after=86_400.0)

    assert waits == []
    assert end.reach is Reach.CALL


def test_waiting_is_counted_over_all_tries_of_a_call() -> None:
    """Three times five minutes are a quarter of an hour; there is no fourth."""
    waits, _ = ask_until_given_up(Kind.RATE_LIMITED, retry_after=300.0)

    assert waits == [300.0] * 3


def test_kinds_of_trouble_are_counted_apart() -> None:
    """A broken reply between two time-outs does not use up their tries, nor they its."""
    tries, policy = Tries(), Policy()
    for kind in (Kind.BROKEN, Kind.TIMEOUT, Kind.BROKEN, Kind.RATE_LIMITED, Kind.UNAVAILABLE):
        next_wait(Fault(kind, "no"), tries, policy, SOONEST)

    assert (tries.broken, tries.failures, tries.held_up) == (2, 2, 1)
    with pytest.raises(GaveUp):
        next_wait(Fault(Kind.WRONG_PROVIDER, "no"), tries, policy, SOONEST)


def test_broken_tries_of_an_earlier_command_count() -> None:
    """A reply that was broken twice when the process was killed has one try left."""
    with pytest.raises(GaveUp) as end:
        next_wait(Fault(Kind.BROKEN, "empty"), Tries(broken=2), Policy(), SOONEST)

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
    assert describe(fault) == line
