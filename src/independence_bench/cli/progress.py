"""The progress of a run: a live table on a terminal, plain lines in a pipe (stderr); waits and
rounds in words.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import NoReturn, Protocol

import click
import rich.table
from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from independence_bench.analysis.statistics.planning import FEWEST, MOST
from independence_bench.cli.options import Number, say
from independence_bench.engine.run import Report, Sitting, Sittings
from independence_bench.engine.schedule import (
    ALL_RUNS,
    INCOMPLETE,
    OPEN,
    OUT_OF_REACH,
    SETTLED,
    AdaptiveRun,
    Spread,
    SubjectStatus,
    Target,
    Wait,
    gap_of,
)
from independence_bench.errors import BudgetSpent, WrongUse
from independence_bench.escape import name_text
from independence_bench.report.format import money, plural
from independence_bench.report.table import Block, Column, Name, Note, Prose, Table, columns_of

REFRESH = 0.25  # seconds, on a terminal
LINE_EVERY = 10.0  # seconds between two plain lines
MOST_ROWS = 20  # more subjects than that are summed up


class Watched(Protocol):
    """Work whose progress can be shown."""

    report: Report


class ProgressDisplay:
    """Shows the progress of some work until it is cancelled."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.started = time.monotonic()
        self.begun: float | None = None  # when the first of several was shown

    async def __call__(self, work: Watched, table: bool = True) -> None:
        """Show *work* until cancelled: a *table* of its subjects, and a line."""
        self.started = time.monotonic()
        self.begun = self.begun or self.started
        if not self.console.is_terminal:
            await self._lines(work)
        told: set[str] = set()
        with Live(console=self.console, refresh_per_second=8, transient=True) as shown:
            while True:
                line = Text(self.line(work.report), style="dim")
                shown.update(Group(self._table(work.report), line) if table else line)
                self._warn(work.report, told)
                await asyncio.sleep(REFRESH)

    async def in_one_line(self, work: Watched) -> None:
        """Show *work*, without a table of its subjects, until cancelled."""
        await self(work, table=False)

    async def _lines(self, work: Watched) -> NoReturn:
        last, told = "", set[str]()
        while True:
            for _ in range(round(LINE_EVERY)):
                await asyncio.sleep(1)
                self._warn(work.report, told)
            line = self.line(work.report)
            if line != last:
                self.console.print(line, soft_wrap=True)
            last = line

    def _warn(self, report: Report, told: set[str]) -> None:
        """Say what is new among the warnings, once, above the progress."""
        for warning in [text for text in report.warnings if text not in told]:
            self.console.print(name_text(warning), soft_wrap=True, markup=False, highlight=False)
            told.add(warning)

    def line(self, report: Report, over: bool = False) -> str:
        """Everything in one line: done, failed, in flight; cost, tokens, time left (not when it is
        *over*).
        """
        rows = report.subjects
        done, planned = sum(r.done + r.invalid for r in rows), sum(r.planned for r in rows)
        answered = sum(t.answered for t in report.tallies)
        calls = answered + sum(r.calls_left for r in rows)
        parts = [f"{answered}/{calls} calls", f"{done}/{planned} conversations"]
        if any(r.to_judge for r in rows):
            parts.append(f"{sum(r.judged for r in rows)}/{sum(r.to_judge for r in rows)} judged")
        if bad := sum(r.invalid + r.failed + r.unjudged for r in rows):
            parts.append(f"{bad} not completed")
        if not over:
            parts.append(f"{sum(t.in_flight for t in report.tallies)} in flight")
        if waiting := sum(t.waiting for t in report.tallies):
            parts.append(f"{waiting} waiting to be retried")
        limit = "" if report.budget.limit is None else f" of {money(report.budget.limit)}"
        parts.append(f"{money(report.cost)}{limit}")
        tokens = sum(t.prompt_tokens + t.completion_tokens for t in report.tallies)
        written = sum(t.completion_tokens for t in report.tallies) / max(
            time.monotonic() - self.started, 1.0
        )
        parts.append(
            f"{tokens:,} tokens, {written:.0f} written a second"
            if written >= 1
            else f"{tokens:,} tokens"
        )
        if report.notice:
            parts.append(report.notice)
        elif over:
            parts.append(duration(time.monotonic() - (self.begun or self.started)))
        else:
            parts.append(
                "finishing what is in flight, Ctrl-C again leaves it"
                if report.stopped
                else self._time(report)
            )
        return " · ".join(part for part in parts if part)

    def _time(self, report: Report) -> str:
        elapsed = time.monotonic() - self.started
        left = sum(r.calls_left for r in report.subjects)
        got = sum(t.answered for t in report.tallies)
        if not left or got < 3:
            return f"{duration(elapsed)} so far"
        return f"{duration(elapsed)} so far, about {duration(elapsed / got * left)} left"

    def _table(self, report: Report) -> rich.table.Table:
        table = rich.table.Table(
            box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0)
        )
        table.add_column("subject", overflow="ellipsis", no_wrap=True, ratio=1)
        for heading in ("done", "judged", "failed", "in flight", "cost"):
            table.add_column(heading, justify="right")
        at_work = [r for r in report.subjects if r.state == "playing"]
        shown = (at_work + [r for r in report.subjects if r.state != "playing"])[:MOST_ROWS]
        for r in shown:
            style = {"waiting": "dim", "done": "green", "stopped": "red"}.get(r.state, "")
            table.add_row(
                name_text(r.label),
                f"{r.done}/{r.planned}",
                f"{r.judged}/{r.to_judge}",
                str(r.invalid + r.failed + r.unjudged or ""),
                str(r.tally.in_flight or ""),
                money(r.tally.cost),
                style=style,
            )
        if len(report.subjects) > len(shown):
            table.add_row(
                f"and {len(report.subjects) - len(shown)} more", "", "", "", "", "", style="dim"
            )
        return table


def duration(seconds: float) -> str:
    """A duration as text: 7 s, 3 min 20 s, 48 min, 2 h 05 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


# ---------------------------------------------------------------- `--spread-over` and `--until-width` of `aib run`


LONGEST = 24.0 * 366  # hours


spread_option = click.option(
    "--spread-over",
    "hours",
    type=Number(0, LONGEST, min_open=True),
    metavar="HOURS",
    help="Spread the runs over this many hours: the first now, the last at the end, the others evenly between.",
)
sittings_option = click.option(
    "--sittings",
    type=click.IntRange(min=2),
    metavar="N",
    help="Make the runs in N sittings: this command makes one, the same command on another day the next.",
)
until_option = click.option(
    "--until-width",
    type=Number(0, 100, min_open=True),
    metavar="POINTS",
    help="Play until each index has an interval at most this wide; --runs is the maximum for each.  "
    f"[default then: {MOST}]",
)


def spread_of(hours: float | None, runs: int) -> Spread | None:
    """The spread over *hours*; None: one run after the other. Raises WrongUse for a single run."""
    if hours is None:
        return None

    def tell(wait: Wait) -> None:
        say(pause_line(wait, time.time()))

    return Spread(gap_of(hours, runs), tell)


def sittings_of(number: int | None, runs: int) -> Sittings | None:
    """So many sittings; None: one. Raises WrongUse for more of them than *runs*."""
    if number is None:
        return None
    if number > runs:
        raise WrongUse(f"--sittings {number} needs {number} runs or more: say how many with --runs")
    return Sittings(number, lambda sitting: say(sitting_line(sitting, runs)))


def sitting_line(sitting: Sitting, runs: int) -> str:
    """One line about what a command plays, shown before the forecast."""
    which = (
        f"{sitting.first}"
        if sitting.first == sitting.last
        else f"{sitting.first} to {sitting.last}"
    )
    line = f"sitting {which} of {sitting.of}: up to run {sitting.runs} of {runs}"
    if sitting.first == sitting.of:
        return line
    return f"{line}; the same command plays the next on another day, 12 hours after the last run of this one began"


def spread_line(spread: Spread, runs: int) -> str:
    """One line about the spread, shown before the forecast."""
    return (
        f"a run begins {duration(spread.gap)} after the one before it, {runs} of them in "
        f"{duration(spread.gap * (runs - 1))}; leave this running, or stop it and give the same command later"
    )


def pause_line(wait: Wait, now: float) -> str:
    """One line about a wait, in local time."""
    at = time.strftime("%a %d %b %H:%M", time.localtime(wait.until))
    return (
        f"run {wait.run} of {wait.runs} ({plural(wait.subjects, 'subject')}) waits until {at}, "
        f"{duration(wait.until - now)} from now · Ctrl-C stops; the same command continues from here"
    )


def target_of(width: float | None, runs: int | None) -> Target | None:
    """The target; None where the number of runs is fixed. Raises WrongUse for too few runs."""
    if width is None:
        return None
    most = MOST if runs is None else runs
    if most < FEWEST:
        raise WrongUse(f"--runs {most}: it takes at least {FEWEST} runs to see how much they vary")
    return Target(width, most)


def target_line(target: Target) -> str:
    """One line about the target, shown before the forecast of the most it takes."""
    return (
        f"until each interval is at most {target.width:g} wide: {FEWEST} to {plural(target.most, 'run')} of each; "
        "if all of them were played:"
    )


def round_line(adaptive: AdaptiveRun) -> str:
    """The state after a round, in one line."""
    now, budget = adaptive.assessment, adaptive.report.budget
    parts = [f"round {adaptive.round}"]
    if now is not None:
        parts.append(f"{plural(now.left, 'subject')} left")
        if now.widest is not None:
            parts.append(f"widest interval {now.widest:.1f} ({adaptive.target.width:g} wanted)")
    left = "" if budget.limit is None else f", {money(max(budget.limit - budget.spent, 0.0))} left"
    return " · ".join((*parts, f"{money(budget.spent)} spent{left}"))


def outcome_view(adaptive: AdaptiveRun) -> Iterator[Block]:
    """Which subjects are settled, and why others are not: one row for each."""
    target, subjects = adaptive.target, adaptive.assessment.subjects if adaptive.assessment else ()
    settled = sum(subject.state == SETTLED for subject in subjects)
    yield Note(
        f"\nPlayed until rerun intervals at most {target.width:g} wide: {settled} of "
        f"{plural(len(subjects), 'subject')} settled\n",
        style="",
    )
    rows = []
    for subject in subjects:
        yes = "yes" if subject.state == SETTLED else "no"
        rows.append(
            (
                Name(subject.subject.label),
                str(subject.runs),
                *_numbers(subject),
                yes,
                Prose(_why(subject, adaptive)),
            )
        )
    columns = columns_of("subject", "runs", "index", "width")
    yield Table([*columns, Column("settled", words=True), Column("", words=True)], rows)


def _numbers(status: SubjectStatus) -> tuple[str, str]:
    row = status.row
    if row is None or row.score.index is None:
        return "-", "-"
    rerun = row.uncertainty.index.rerun
    return f"{row.score.index:.1f}", "–" if rerun is None else f"{rerun.width:.1f}"


def _why(status: SubjectStatus, adaptive: AdaptiveRun) -> str:
    """Why a subject is settled or not."""
    if status.state == INCOMPLETE:
        missing = status.row.missing if status.row else ()
        return f"no index: {missing[0]}" if missing else "no index: nothing is judged"
    if status.state in (OUT_OF_REACH, ALL_RUNS):
        needed = (
            "more runs than is practical"
            if status.needed is None
            else f"about {plural(status.needed, 'run')}"
        )
        return f"{needed} needed, --runs {adaptive.target.most}"
    if status.state != OPEN:
        return ""
    stopped = adaptive.report.stopped
    reason = (
        f": {'stopped by the budget' if isinstance(stopped, BudgetSpent) else stopped}"
        if stopped
        else ""
    )
    return f"another run would help{reason}"
