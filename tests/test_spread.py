"""Runs apart in time: a clock that only sleep moves on, a scripted endpoint, a store; and the
command's words.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from scripted import KEY, Bench, once_each, says, steady, verdict
from scripted import Asked as Question
from simulated import aib, simulating

from independence_bench.calls.budget import Budget
from independence_bench.calls.limits import Clocks
from independence_bench.cli.progress import duration
from independence_bench.engine.ask import Engine
from independence_bench.engine.run import (
    Report,
    RunPlan,
    Session,
    Sitting,
    Sittings,
    plan_of_sitting,
)
from independence_bench.engine.schedule import (
    HOUR,
    Spread,
    Wait,
    gap_of,
    play_spread,
)
from independence_bench.errors import BudgetSpent, WrongUse
from independence_bench.models.client import Client
from independence_bench.models.spec import ChatModel, Endpoint
from independence_bench.protocol.loader import load_with_files
from independence_bench.protocol.plan import every_configuration
from independence_bench.store.database import open_store

START = 1_700_000_000.0


class Clock:
    """Stands still but for what is slept."""

    def __init__(self, at: float = START, interrupts_at: float | None = None) -> None:
        """*interrupts_at*: when somebody presses Ctrl-C, in a wait."""
        self.at, self.interrupts_at = at, interrupts_at
        self.pauses: list[Wait] = []

    def now(self) -> float:
        """Seconds since 1970."""
        return self.at

    async def sleep(self, seconds: float) -> None:
        """Be so much later."""
        self.at += seconds
        if self.interrupts_at is not None and self.at >= self.interrupts_at:
            self.interrupts_at = None
            signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(0)

    def spread(self, hours: float) -> Spread:
        """By this clock."""
        return Spread(hours * HOUR, self.pauses.append, self.now, self.sleep)


async def quiet(_engine: Engine) -> None:
    """Watch nothing."""


def play(
    bench: Bench,
    clock: Clock,
    *subjects: ChatModel,
    runs: int = 3,
    hours: float = 6.0,
    budget: float | None = None,
    everywhere: bool = False,
    sittings: Sittings | None = None,
) -> Report:
    """One command: every run of *subjects*, each *hours* after the one before; or one of its
    *sittings*.
    """

    async def carry_out() -> Report:
        protocol, files = load_with_files(bench.folder)
        configurations = every_configuration(protocol) if everywhere else protocol.configurations
        players = subjects or (bench.subject(),)
        order = RunPlan(protocol, files, tuple(configurations), players, runs, bench.judge())
        async with AsyncExitStack() as stack:
            clients = {}
            for name, server in bench.endpoints.items():
                client = Client(Endpoint(name, server.url, "openrouter"), KEY)
                clients[name] = await stack.enter_async_context(client)
            with open_store(bench.store) as store:
                session = Session(store, clients, Budget(budget), Clocks(now=clock.now))
                if sittings is None:
                    return await play_spread(order, session, quiet, clock.spread(hours))
                return await play_spread(
                    plan_of_sitting(order, store, sittings), session, quiet, None
                )

    return asyncio.run(carry_out())


def times(bench: Bench) -> dict[tuple[str, int], set[float]]:
    """(subject, run) -> in which hours after the start its conversations were finished."""
    found: dict[tuple[str, int], set[float]] = {}
    query = "select s.label, t.run, t.finished_at from transcripts t join subjects s on s.hash = t.subject_hash"
    for label, run, at in bench.rows(query):
        found.setdefault((label.split("/")[1].split("@")[0], run), set()).add((at - START) / HOUR)
    return found


def asked_hours(pauses: Sequence[Wait]) -> list[tuple[int, float]]:
    """Which run waited until when."""
    return [(pause.run, (pause.until - START) / HOUR) for pause in pauses]


def test_the_last_of_five_runs_begins_when_the_hours_are_over() -> None:
    """24 hours are four gaps of six; a single run has none."""
    assert gap_of(24, 5) == 6 * HOUR
    with pytest.raises(WrongUse, match="two runs or more"):
        gap_of(24, 1)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0, "0 s"), (59.4, "59 s"), (59.7, "1 min 00 s"), (119.7, "2 min 00 s"), (200.4, "3 min 20 s"),
        (599.7, "10 min"), (2880.0, "48 min"), (3599.0, "1 h 00 min"), (7500.0, "2 h 05 min"),
    ],
)  # fmt: skip
def test_a_duration_is_rounded_once(seconds: float, said: str) -> None:
    """Never 60 seconds beside a minute."""
    assert duration(seconds) == said


def test_runs_are_played_at_their_times_all_subjects_together(bench: Callable[..., Bench]) -> None:
    """Three runs, six hours apart, in every configuration; what waits is said, with its time."""
    made, clock = bench(), Clock()
    one, two = made.subject("acme/one"), made.subject("acme/two")

    report = play(made, clock, one, two, everywhere=True)

    assert report.complete
    assert report.judge == made.judge().label
    assert times(made) == {
        (name, run): {6.0 * (run - 1)} for name in ("one", "two") for run in (1, 2, 3)
    }
    assert asked_hours(clock.pauses) == [(2, 6.0), (3, 12.0)]
    assert {(pause.runs, pause.subjects) for pause in clock.pauses} == {(3, 2)}


def test_a_restart_goes_on_in_step_and_buys_nothing_twice(bench: Callable[..., Bench]) -> None:
    """Ctrl-C an hour into the wait for run 2; two hours later the same command waits for what is
    left of the six.
    """
    made, clock = bench(), Clock(interrupts_at=START + HOUR)

    stopped = play(made, clock)
    later = Clock(START + 3 * HOUR)
    again = play(made, later)
    after = len(made.endpoints["scripted"].asked)
    at_the_end = play(made, Clock(START + 99 * HOUR))

    assert (str(stopped.stopped), stopped.complete) == ("interrupted", False)
    assert again.complete
    assert at_the_end.complete
    assert asked_hours(later.pauses) == [(2, 6.0), (3, 12.0)]
    assert times(made) == {("one", 1): {0.0}, ("one", 2): {6.0}, ("one", 3): {12.0}}
    assert once_each(made.endpoints["scripted"].played, runs=3)
    assert len(made.endpoints["scripted"].asked) == after, "everything is stored"


def test_who_was_away_for_days_does_not_play_what_was_missed_in_one_go(
    bench: Callable[..., Bench],
) -> None:
    """Run 2 is overdue and begins at once, run 3 six hours after it."""
    made = bench()
    play(made, Clock(), runs=1)
    clock = Clock(START + 50 * HOUR)

    play(made, clock)

    assert times(made) == {("one", 1): {0.0}, ("one", 2): {50.0}, ("one", 3): {56.0}}


def test_a_run_that_was_begun_goes_on_at_once(bench: Callable[..., Bench]) -> None:
    """Its time has come already, whoever stopped it; the next one is counted from when it was
    begun.
    """

    made = bench()
    cut_short = play(made, Clock(), runs=1, budget=0.006)
    begun = set(times(made))
    clock = Clock(START + HOUR)

    report = play(made, clock, runs=2)

    assert isinstance(cut_short.stopped, BudgetSpent)
    assert begun == {("one", 1)}
    assert report.complete
    assert asked_hours(clock.pauses) == [(2, 6.0)]


def test_a_newcomer_plays_its_first_runs_and_then_all_go_on_together(
    bench: Callable[..., Bench],
) -> None:
    """The other has two runs; the third is played together, when it is due for both."""
    made, clock = bench(), Clock()
    old, new = made.subject("acme/old"), made.subject("acme/new")
    play(made, clock, old, runs=2)
    later = Clock(START + 20 * HOUR)

    report = play(made, later, old, new)

    assert report.complete
    assert times(made)["new", 1] == {20.0}
    assert times(made)["new", 2] == {26.0}
    assert times(made)["new", 3] == times(made)["old", 3] == {32.0}


def test_a_command_makes_one_sitting_and_the_same_command_the_next_on_another_day(
    bench: Callable[..., Bench],
) -> None:
    """Five runs in three sittings: two, two and one; a newcomer begins with its first."""
    made, told = bench(), []
    old, new = made.subject("acme/old"), made.subject("acme/new")

    def sitting(hour: float, *subjects: ChatModel) -> Report:
        clock = Clock(START + hour * HOUR)
        return play(made, clock, *subjects, runs=5, sittings=Sittings(3, told.append, clock.now))

    reports = [sitting(hour, old) for hour in (0, 3, 12)]
    reports += [sitting(hour, old, new) for hour in (30, 31, 60, 90)]

    assert all(report.complete for report in reports)
    assert told == [
        Sitting(1, 1, 3, 2),
        Sitting(1, 1, 3, 2),  # nothing is left of it
        Sitting(2, 2, 3, 4),
        Sitting(1, 3, 3, 5),
        Sitting(1, 3, 3, 5),
        Sitting(2, 3, 3, 5),
        Sitting(3, 3, 3, 5),
    ]
    assert {key: min(at) for key, at in times(made).items()} == {
        **{("old", run): hour for run, hour in enumerate((0, 0, 12, 12, 30), 1)},
        **{("new", run): hour for run, hour in enumerate((30, 30, 60, 60, 90), 1)},
    }


def test_who_has_more_runs_than_a_sitting_was_to_have_goes_on_with_the_next(
    bench: Callable[..., Bench],
) -> None:
    """Five runs of one evening, then ten in five sittings: the third has the sixth run."""
    made, told = bench(), []
    play(made, Clock(), runs=5, hours=0.1)

    for day in (1, 2, 3):
        clock = Clock(START + 24 * day * HOUR)
        play(made, clock, runs=10, sittings=Sittings(5, told.append, clock.now))

    assert told == [Sitting(3, 3, 5, 6), Sitting(4, 4, 5, 8), Sitting(5, 5, 5, 10)]
    assert [min(times(made)["one", run]) for run in (6, 7, 8, 9, 10)] == [
        24.0,
        48.0,
        48.0,
        72.0,
        72.0,
    ]


def test_a_budget_that_is_used_up_ends_the_waiting_too(bench: Callable[..., Bench]) -> None:
    """What the first run has left does not hold the second; nobody waits for the third."""

    def dear(asked: Question) -> object:
        return (
            verdict(asked, cost=0.01)
            if asked.judging
            else says(asked, "No. I keep my name.", cost=0.01)
        )

    made = bench(dear)
    first = play(made, Clock(), runs=1)
    other, clock = bench(dear), Clock()
    other.store = f"{made.store}.other"  # type: ignore[assignment]

    report = play(other, clock, budget=first.cost * 1.5)

    assert isinstance(report.stopped, BudgetSpent)
    assert report.cost <= first.cost * 1.5 + 1e-9
    assert [pause.run for pause in clock.pauses] == [2]


def test_judging_what_is_stored_waits_for_nothing(bench: Callable[..., Bench]) -> None:
    """All runs were played in one go and not judged."""
    made, clock = bench(steady()), Clock()
    made.play(runs=3, judge=None)

    report = play(made, clock)

    assert report.complete
    assert clock.pauses == []
    assert (
        sum(progress.judged for progress in report.subjects)
        == sum(p.to_judge for p in report.subjects)
        > 0
    )


def test_the_command_spreads_runs_and_says_what_it_does(small: Path, tmp_path: Path) -> None:
    """Two runs within a second of each other; with rounds, too; and a single run is refused."""
    subject = ("sim:sim/rock", "--judge", "sim:sim/judge", "--protocol", "small")
    with simulating(tmp_path):
        done = aib(tmp_path, "run", *subject, "--runs", "2", "--spread-over", "0.0001")
        rounds = aib(
            tmp_path,
            "run",
            *subject,
            "--runs",
            "3",
            "--until-width",
            "1",
            "--spread-over",
            "0.0001",
        )
        refused = aib(tmp_path, "run", *subject, "--runs", "1", "--spread-over", "5")
        sitting = aib(tmp_path, "run", *subject, "--runs", "4", "--sittings", "2")
        few = aib(tmp_path, "run", *subject, "--runs", "2", "--sittings", "3")
        both = aib(
            tmp_path, "run", *subject, "--runs", "4", "--sittings", "2", "--spread-over", "5"
        )

    assert done.returncode == 0, done.stderr
    assert "a run begins 0 s after the one before it, 2 of them in 0 s" in done.stderr
    assert rounds.returncode == 0, rounds.stderr
    assert refused.returncode == 2
    assert "--spread-over needs two runs or more" in refused.stderr
    # the two runs that are there are what the first of two sittings has of four
    assert sitting.returncode == 0, sitting.stderr
    assert (
        "sitting 1 of 2: up to run 2 of 4; the same command plays the next on another day"
        in sitting.stderr
    )
    assert "0/0 calls" in sitting.stderr
    assert few.stderr == "aib: --sittings 3 needs 3 runs or more: say how many with --runs\n"
    assert "leave out --until-width, --spread-over and --on" in both.stderr
    assert few.returncode == both.returncode == 2
