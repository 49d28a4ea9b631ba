"""When runs were made: worked by hand, in every report, and from a store that was played on three
days.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AsyncExitStack
from math import inf, nan

import pytest
from assertions import known
from scripted_model import KEY, Bench
from viewer_store import answering, read

from independence_bench.analysis.health import (
    RunTimes,
    describe_sessions,
    format_span,
    make_run_times,
)
from independence_bench.calls.limits import Clocks
from independence_bench.engine.ask import Engine
from independence_bench.engine.run import Session
from independence_bench.models.client import Client
from independence_bench.models.spec import ChatModel, Endpoint
from independence_bench.protocol.loader import load_protocol_and_files
from independence_bench.report.leaderboard_view import format_boards_json
from independence_bench.store.database import open_store

START = 1_700_000_000.0
MIDNIGHT = 1_767_225_600.0  # 2026-01-01 00:00 UTC
HOUR = 3600.0


def play(bench: Bench, *subjects: ChatModel, runs: int, hours: float = 0.0) -> None:
    """One command that many *hours* after the start, by a clock that stands still."""

    async def carry_out() -> None:
        protocol, files = load_protocol_and_files(bench.folder)
        async with AsyncExitStack() as stack:
            clients = {}
            for name, server in bench.endpoints.items():
                client = Client(Endpoint(name, server.url, "openrouter"), KEY)
                clients[name] = await stack.enter_async_context(client)
            with open_store(bench.store) as store:
                clocks = Clocks(now=lambda: START + hours * HOUR)
                session = Session(
                    protocol, files, protocol.configurations, subjects, runs, bench.judge(),
                    store, clients, clocks=clocks,
                )  # fmt: skip
                assert (await Engine(session).ask_until_done()).complete

    asyncio.run(carry_out())


def times(*hours: float) -> RunTimes:
    """Runs that began so many hours after midnight."""
    found = make_run_times([(run, MIDNIGHT + hour * HOUR) for run, hour in enumerate(hours, 1)])
    assert found is not None
    return found


def test_first_last_days_and_span_by_hand() -> None:
    """Run 1 from 23:00 to 00:30, run 2 from 02:00: two dates, three hours from beginning to
    beginning.
    """
    found = make_run_times(
        [(2, MIDNIGHT + 2 * HOUR), (1, MIDNIGHT + HOUR / 2), (1, MIDNIGHT - HOUR)]
    )

    assert found == RunTimes(
        runs={1: MIDNIGHT - HOUR, 2: MIDNIGHT + 2 * HOUR},
        first=MIDNIGHT - HOUR,
        last=MIDNIGHT + 2 * HOUR,
        days=2,
    )
    assert found.first_to_last_run_seconds == 3 * HOUR
    assert make_run_times([]) is None


@pytest.mark.parametrize("at", [nan, inf, -1.0, 0.0, 1e300])
def test_a_time_that_no_calendar_has_is_left_out(at: float) -> None:
    """It is from somebody else's file."""
    assert make_run_times([(1, at)]) is None
    assert make_run_times([(1, at), (1, MIDNIGHT)]) == RunTimes(
        {1: MIDNIGHT}, MIDNIGHT, MIDNIGHT, 1
    )


def test_in_how_many_sittings_runs_were_made_is_said_in_a_sentence() -> None:
    """Half a day without the beginning of a run parts two; of all, of some, of none."""
    evening = times(0, 1, 2.5)
    night = times(0, 11, 22)  # each run within half a day of the one before
    week = times(0, 1, 24, 7 * 24)

    assert evening.session_numbers == night.session_numbers == {1: 1, 2: 1, 3: 1}
    assert week.session_numbers == {1: 1, 2: 1, 3: 2, 4: 3}
    assert times(0, 12).session_numbers == {1: 1, 2: 2}
    assert times(0).session_numbers == {1: 1}
    assert describe_sessions([evening]) == "The runs of the model were made in one session."
    assert describe_sessions([evening, night]) == "The runs of each model were made in one session."
    assert (
        describe_sessions([week, times(0, 12)])
        == "The runs of each model were made in 2 to 3 sessions."
    )
    assert describe_sessions([week, night]) == (
        "The runs of 1 of 2 models were made in one session, of the others in 3."
    )
    assert describe_sessions([]) == ""


def test_spans_are_told_in_what_they_are_long_in() -> None:
    """Minutes, hours, days."""
    assert [format_span(one) for one in (0, 600, 3590, 5.5 * HOUR, 78 * HOUR)] == [
        *("–", "10 min", "1.0 h", "5.5 h", "3.2 days")
    ]


def test_what_is_known_by_its_weights_has_no_allowance_for_sittings(
    bench: Callable[..., Bench],
) -> None:
    """A model file is the same on every day; a hosted model need not be."""
    made = bench()
    of_a_file, hosted = made.subject("acme/file", identity="ab12"), made.subject("acme/hosted")
    play(made, of_a_file, hosted, runs=3)

    (board,) = made.boards()
    allowed = known(board.uncertainty).measures["index"].measured.session_dispersions
    by_name = {row.subject.model: float(allowed[n]) for n, row in enumerate(board.ranked)}
    allowance = known(known(board.uncertainty).measure_session_allowance())

    assert by_name["acme/file"] == 0
    assert by_name["acme/hosted"] > 0
    assert (allowance.one, allowance.of) == (1, 2)


def test_the_leaderboard_and_the_page_say_when_runs_were_made(
    bench: Callable[..., Bench], where: str
) -> None:
    """The same command with one more run each time: 36 hours to the second, 72 to the third."""
    made = bench()
    for runs, hours in ((1, 0.0), (2, 36.0), (3, 72.0)):
        play(made, made.subject(), runs=runs, hours=hours)

    (row,) = json.loads(format_boards_json(made.boards()))["boards"][0]["ranked"]
    assert row["made"] == {
        "first": "2023-11-14T22:13:20Z",
        "last": "2023-11-17T22:13:20Z",
        "days": 3,
        "span_hours": 72.0,
        "runs": {
            "1": "2023-11-14T22:13:20Z",
            "2": "2023-11-16T10:13:20Z",
            "3": "2023-11-17T22:13:20Z",
        },
        "span": "3.0 days",
        "says": "The runs of the model were made in 3 sessions.",
    }
    with answering(where) as answers:
        board = read(answers, "index.json")["boards"][0]["id"]
        (shown,) = read(answers, f"boards/{board}.json")["rows"]
        subject = read(answers, f"boards/{board}/subjects/{shown['subject']['id']}.json")
    assert [run["began"] for run in subject["runs"]] == [
        "2023-11-14 22:13",
        "2023-11-16 10:13",
        "2023-11-17 22:13",
    ]
    made_at = subject["row"]["made"]
    assert (made_at["days"], made_at["span"]) == (3, "3.0 days")
    assert made_at["says"] == "The runs of the model were made in 3 sessions."
