"""`--spread-over` of `aib run`: what it asks for, and what waits until when, in words."""

from __future__ import annotations

import time

import click
from rich.console import Console

from independence_bench.cli.options import F, Number
from independence_bench.cli.progress import duration
from independence_bench.engine.schedule import Spread, Wait, gap_of
from independence_bench.report.format import plural

LONGEST = 24.0 * 366  # hours


def spread_option(command: F) -> F:
    """--spread-over"""
    return click.option(
        "--spread-over",
        "hours",
        type=Number(0, LONGEST, min_open=True),
        metavar="HOURS",
        help="Begin the first run now, the last one so many hours later, the others evenly between them.",
    )(command)


def spread_of(hours: float | None, runs: int, console: Console) -> Spread | None:
    """What was asked for; None: one run after the other. Raises WrongUse for a single run."""
    if hours is None:
        return None

    def tell(wait: Wait) -> None:
        console.print(pause_line(wait, time.time()), soft_wrap=True)

    return Spread(gap_of(hours, runs), tell)


def spread_line(spread: Spread, runs: int) -> str:
    """What is about to be done, before what it takes."""
    return (
        f"a run begins {duration(spread.gap)} after the one before it, {runs} of them in "
        f"{duration(spread.gap * (runs - 1))}; leave this running, or stop it and give the same command later"
    )


def pause_line(wait: Wait, now: float) -> str:
    """What waits, and until when, by the clock of this place."""
    at = time.strftime("%a %d %b %H:%M", time.localtime(wait.until))
    return (
        f"run {wait.run} of {wait.runs} ({plural(wait.subjects, 'subject')}) waits until {at}, "
        f"{duration(wait.until - now)} from now · Ctrl-C stops; the same command goes on from here"
    )
