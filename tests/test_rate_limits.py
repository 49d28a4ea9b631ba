"""An endpoint that says 429: how many calls are in flight, when the next ones come, and that none
fails.

Minutes pass in no time (see simulated_endpoint.py): the waits, the endpoint's window and the
patience are those of every day.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from simulated_endpoint import Played, aib, audit, most_in_flight, play, read_ledger, simulating

from independence_bench.calls.limits import Policy
from independence_bench.simulate.catalog import Entry
from independence_bench.simulate.faults import Faults
from independence_bench.simulate.server import OVER_THE_LIMIT, Latency, Settings

CUT, PAUSE = 0.8, 15.0  # what is promised: four fifths of the calls, after so many seconds
CALLS = 11  # of one run of the small protocol
SLOW = Latency(10.0)  # seconds, so that who waits is seen
LAG = 0.1  # seconds between an answer's end there and its being known here


def refused(played: Played) -> list[Entry]:
    """The requests that got a 429."""
    return [entry for entry in played.entries if entry.status == 429]


def after(entries: list[Entry], moment: float) -> list[Entry]:
    """Those that came later than *moment*, in order."""
    return sorted((entry for entry in entries if entry.at > moment), key=lambda entry: entry.at)


def end(entry: Entry) -> float:
    """When it was answered."""
    return entry.at + entry.seconds


def test_a_free_model_with_twenty_requests_a_minute_finishes_without_a_failed_call(
    small: Path, tmp_path: Path
) -> None:
    """88 calls where 20 a minute are served: it takes its minutes, and everything is there."""
    settings = Settings(requests_per_minute=20, latency=Latency(1.0))

    played = play(
        small,
        tmp_path / "store.db",
        settings,
        names=("stubborn", "agreeable"),
        runs=4,
        calls_at_once=8,
    )

    assert played.report.complete, played.report.troubles
    assert played.audit.answered == 8 * CALLS - shared(played)
    assert played.audit.again == ()
    assert played.seconds > 3 * 60, "20 at once, then 20 a minute"
    assert {entry.fault for entry in refused(played)} == {OVER_THE_LIMIT}
    # each pause is for all calls of a model, so no more come too early than were in flight of it
    assert len(refused(played)) <= 3 * 8 * (played.seconds / 60 + 1)


@pytest.mark.torture
@pytest.mark.parametrize(
    ("protocol", "runs", "policy"),
    [
        ("small", 2, Policy(patience=120.0)),
        pytest.param("v2", 3, Policy(), marks=pytest.mark.torture),
    ],
)
def test_who_waits_for_a_turn_among_many_is_not_given_up(
    protocol: str, runs: int, policy: Policy, small: Path, tmp_path: Path
) -> None:
    """It takes such an endpoint longer than anybody is patient; nobody's patience ends in the
    queue.
    """
    settings = Settings(requests_per_minute=20, latency=Latency(2.0))
    names = ("stubborn", "agreeable", "evader", "refuser")
    folder, store = small if protocol == "small" else protocol, tmp_path / "store.db"

    played = play(folder, store, settings, names=names, runs=runs, calls_at_once=8, policy=policy)

    assert played.report.complete, played.report.troubles
    assert played.audit.again == ()
    assert played.seconds > policy.patience


def shared(played: Played) -> int:
    """Judgements that were not bought because the same words had been judged before."""
    progresses = played.report.subjects
    return sum(progress.judged for progress in progresses) - sum(
        e.model == "sim/judge" and e.answer for e in played.entries
    )


def test_a_limit_of_the_whole_account_holds_everybody(small: Path, tmp_path: Path) -> None:
    """All models meet it, and wait as long as it says."""
    settings = Settings(requests_per_minute=20, latency=Latency(1.0))
    names = ("stubborn", "agreeable", "evader")

    played = play(small, tmp_path / "store.db", settings, names=names, calls_at_once=2)

    assert played.report.complete
    first = min(refused(played), key=end)
    opens = min(entry.at for entry in played.entries) + 60.0
    assert end(first) + 20.0 < opens, "it had us wait long enough to see who does"
    assert [entry for entry in played.entries if end(first) + LAG < entry.at < opens] == []


def test_a_pause_is_waited_out_by_that_model_alone(small: Path, tmp_path: Path) -> None:
    """A 429 that does not say how long is a pause of 15 seconds, for all calls to that model."""
    settings = Settings(latency=Latency(3.0), faults=Faults(script={9: "rate-limit"}))
    names = ("stubborn", "agreeable", "evader")

    played = play(small, tmp_path / "store.db", settings, names=names, calls_at_once=2)

    assert played.report.complete
    (limited,) = refused(played)
    following = after(played.entries, end(limited) + LAG)
    own = [entry for entry in following if entry.model == limited.model]
    assert own[0].at >= end(limited) + PAUSE - 0.1
    assert {entry.model for entry in following if entry.at < own[0].at} > {
        "sim/stubborn",
        "sim/agreeable",
    }
    assert len(played.entries) == len({entry.request for entry in played.entries}) + 1


def test_a_limit_of_the_whole_account_slows_every_model(small: Path, tmp_path: Path) -> None:
    """Each meets its own 429, so that no more than was in flight of each is refused in vain."""
    settings = Settings(requests_per_minute=30, latency=Latency(1.0))
    names = ("stubborn", "agreeable", "evader")

    played = play(small, tmp_path / "store.db", settings, names=names, runs=3, calls_at_once=4)

    assert played.report.complete, played.report.troubles
    assert {entry.model for entry in refused(played)} >= {f"sim/{name}" for name in names}
    served = [entry for entry in played.entries if entry.status == 200]
    assert len(refused(played)) < len(served)


def test_another_endpoint_is_not_held_up(small: Path, tmp_path: Path) -> None:
    """The judge goes on while the subjects' endpoint has us wait."""
    limited = Settings(
        latency=SLOW, faults=Faults(script={6: "rate-limit", 7: "rate-limit", 8: "rate-limit"})
    )

    played = play(
        small, tmp_path / "store.db", limited, Settings(latency=SLOW), calls_at_once=8, runs=2
    )

    assert played.report.complete
    first = min(refused(played), key=end)
    judged = [
        e
        for e in played.entries
        if e.model == "sim/judge" and end(first) < e.at < end(first) + PAUSE
    ]
    assert judged


def test_fewer_calls_are_in_flight_after_429s_and_as_many_as_before_in_the_end(
    small: Path, tmp_path: Path
) -> None:
    """Four fifths after the pause, more again with every success."""
    settings = Settings(
        latency=SLOW, faults=Faults(script=dict.fromkeys(range(17, 33), "rate-limit"))
    )

    played = play(
        small, tmp_path / "store.db", settings, names=("stubborn", "agreeable"), runs=20, at_once=2
    )

    assert played.report.complete
    every, last = refused(played), max(end(entry) for entry in refused(played))
    assert (
        most_in_flight(
            [entry for entry in played.entries if entry.at < min(end(entry) for entry in every)]
        )
        == 16
    )
    paused = after(played.entries, last + LAG)
    soon = [
        entry for entry in paused if entry.at < paused[0].at + SLOW.find_call_seconds(False, 0) / 2
    ]
    assert 1 <= len(soon) <= 2 * (8 * CUT), "what the gates of both let out after the pause"
    assert most_in_flight(after(paused, paused[0].at + 10 * SLOW.find_call_seconds(False, 0))) == 16


@pytest.mark.torture
def test_no_stampede_when_a_pause_ends(small: Path, tmp_path: Path) -> None:
    """48 calls wait for an endpoint that serves 20 a minute: what is refused after a pause is what
    the gate let out.
    """
    names = ("stubborn", "agreeable", "evader")
    settings = Settings(requests_per_minute=20, latency=Latency(1.0))

    played = play(small, tmp_path / "store.db", settings, names=names, runs=4, calls_at_once=16)

    assert played.report.complete, played.report.troubles
    bursts = in_bursts(refused(played))
    assert 48 - 20 <= bursts[0] <= 48, "nobody knew"
    allowed = 48.0
    for burst in bursts[1:]:
        allowed = max(1.0, allowed * CUT)
        # every success since has let a little more through: so many that one more was allowed for
        # each 20 served
        assert burst <= allowed + 20, bursts
    assert sum(bursts[len(bursts) // 2 :]) < sum(bursts[: len(bursts) // 2]), bursts


def in_bursts(entries: list[Entry]) -> list[int]:
    """How many were refused together, time after time; together is within ten seconds."""
    bursts: list[int] = []
    since = float("-inf")
    for entry in sorted(entries, key=lambda entry: entry.at):
        if entry.at > since + 10.0:
            bursts.append(0)
            since = entry.at
        bursts[-1] += 1
    return bursts


def test_the_command_itself_through_a_limit(small: Path, tmp_path: Path) -> None:
    """`aib run` against an `aib simulate` that refuses some calls: exit code 0, and everything is
    there.
    """
    (tmp_path / "script").write_text("2-4 rate-limit\n", encoding="utf-8")
    options = ("--script", "script", "--requests-per-minute", "600", "--ledger", "ledger.jsonl")
    with simulating(tmp_path, *options):
        order = (
            "run",
            "sim:sim/terse",
            "--protocol",
            str(small),
            "--judge",
            "sim:sim/judge",
            "--runs",
            "1",
        )
        ran = aib(tmp_path, *order)

    assert ran.returncode == 0, ran.stderr
    assert "not completed" not in ran.stderr
    entries = read_ledger(tmp_path / "ledger.jsonl")
    assert any(entry.status == 429 for entry in entries)
    assert audit(entries).answered == CALLS
