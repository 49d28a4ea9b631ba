"""Shows the progress of a run: a live table on a terminal, plain lines in a pipe (stderr)."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import NoReturn, Protocol

import rich.table
from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from independence_bench.calls.call import Wait
from independence_bench.engine.run import Report
from independence_bench.escape import escape_name
from independence_bench.figures import format_dollars

REFRESH = 0.25  # seconds, on a terminal
LINE_EVERY = 10.0  # seconds between two plain lines
MOST_ROWS = 20  # more subjects than that are summed up


@dataclass(frozen=True, slots=True)
class Waiting:
    """Calls of one model that wait for the same cause before they are tried again."""

    model: str
    cause: str
    calls: int
    until: float  # when the first of them goes out again, as `time.monotonic` has it

    def describe_wait(self, now: float, other_cause_count: int = 0) -> str:
        """Return one line that says which model's calls wait, for what cause, and how long until
        the next try. *now*: the time, in seconds, by `time.monotonic`. *other_cause_count*: the
        number of further causes that calls wait for.
        """
        left = format_duration(max(self.until - now, 1.0))
        line = f"waiting for {escape_name(self.model)}: {self.cause}, next try in {left}"
        return f"{line}; and for {other_cause_count} more" if other_cause_count else line


def group_waits_by_cause(report: Report) -> list[Waiting]:
    """Return one value for each model and cause that calls of *report* wait for, with the number of
    waiting calls. The one with the most calls comes first; [] if no call waits.
    """
    waits = [wait for tally in report.tallies for wait in [*tally.waits.values()]]
    alike: dict[tuple[str, str], list[Wait]] = {}
    for wait in waits:
        alike.setdefault((wait.model, wait.cause), []).append(wait)
    found = [
        Waiting(model, cause, len(those), min(wait.until for wait in those))
        for (model, cause), those in alike.items()
    ]
    return sorted(found, key=lambda waiting: (-waiting.calls, waiting.model, waiting.cause))


class Watched(Protocol):
    """Work whose progress can be shown, since it has a report that is updated while it runs."""

    report: Report


class ProgressDisplay:
    """Shows the progress of a command's calls on a console until it is cancelled: live on a
    terminal, as plain lines in a pipe.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self.started = time.monotonic()
        self.begun: float | None = None  # when the first of several was shown

    async def __call__(self, work: Watched, table: bool = True) -> None:
        """Show the progress of *work*: on a terminal a live line, below a *table* of its models if
        wanted; in a pipe plain lines. Never returns; ends by being cancelled.
        """
        self.started = time.monotonic()
        self.begun = self.begun or self.started
        if not self.console.is_terminal:
            await self._print_lines(work)
        told: set[str] = set()
        with Live(console=self.console, refresh_per_second=8, transient=True) as shown:
            while True:
                line = self.format_progress(work.report)
                if waits := group_waits_by_cause(work.report):
                    line = f"{line}\n{waits[0].describe_wait(time.monotonic(), len(waits) - 1)}"
                text = Text(line, style="dim")
                shown.update(Group(self._make_table(work.report), text) if table else text)
                self._print_warnings(work.report, told)
                await asyncio.sleep(REFRESH)

    async def keep_showing_one_line(self, work: Watched) -> None:
        """Show the progress of *work* as one line, without the table of its models. Never returns;
        ends by being cancelled.
        """
        await self(work, table=False)

    async def _print_lines(self, work: Watched) -> NoReturn:
        """Print the progress of *work* as a plain line every ten seconds if it has changed, and
        each new warning and wait. Never returns; ends by being cancelled.
        """
        last, told, causes = "", set[str](), dict[str, str]()
        while True:
            for _ in range(round(LINE_EVERY)):
                await asyncio.sleep(1)
                self._print_warnings(work.report, told)
                for wait in group_waits_by_cause(work.report):
                    if causes.get(wait.model) != wait.cause:  # once, not each time that it waits
                        line = wait.describe_wait(time.monotonic())
                        self.console.print(line, soft_wrap=True, markup=False, highlight=False)
                    causes[wait.model] = wait.cause
            line = self.format_progress(work.report)
            if line != last:
                self.console.print(line, soft_wrap=True)
            last = line

    def _print_warnings(self, report: Report, printed: set[str]) -> None:
        """Print each warning of *report* that is not in *printed* on the console, and add it to
        *printed*.
        """
        for warning in [text for text in report.warnings if text not in printed]:
            self.console.print(escape_name(warning), soft_wrap=True, markup=False, highlight=False)
            printed.add(warning)

    def format_progress(self, report: Report, over: bool = False) -> str:
        """Return the progress of *report* as one line: calls and conversations done, failed, in
        flight, cost in dollars, tokens, time so far and time left. If *over*, it has the whole time
        and no time left.
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
        if waiting := sum(len(t.waits) for t in report.tallies):
            parts.append(f"{waiting} waiting to be retried")
        limit = "" if report.budget.limit is None else f" of {format_dollars(report.budget.limit)}"
        parts.append(f"{format_dollars(report.cost)}{limit}")
        tokens = sum(t.prompt_tokens + t.completion_tokens for t in report.tallies)
        parts.append(f"{tokens:,} tokens")
        if report.notice:
            parts.append(report.notice)
        elif over:
            parts.append(format_duration(time.monotonic() - (self.begun or self.started)))
        else:
            parts.append(
                "finishing what is in flight, Ctrl-C again leaves it"
                if report.stopped
                else self._format_elapsed_and_left(report)
            )
        return " · ".join(part for part in parts if part)

    def _format_elapsed_and_left(self, report: Report) -> str:
        """Return a text with the time so far and, after three answers, the estimated time left."""
        elapsed = time.monotonic() - self.started
        left = sum(r.calls_left for r in report.subjects)
        got = sum(t.answered for t in report.tallies)
        if not left or got < 3:
            return f"{format_duration(elapsed)} so far"
        return (
            f"{format_duration(elapsed)} so far, about {format_duration(elapsed / got * left)} left"
        )

    def _make_table(self, report: Report) -> rich.table.Table:
        """Return a printable table with the progress of each model in *report*, those that are
        being played first; at most 20 rows.
        """
        table = rich.table.Table(
            box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0)
        )
        table.add_column("model", overflow="ellipsis", no_wrap=True, ratio=1)
        for heading in ("done", "judged", "failed", "in flight", "cost"):
            table.add_column(heading, justify="right")
        at_work = [r for r in report.subjects if r.state == "playing"]
        shown = (at_work + [r for r in report.subjects if r.state != "playing"])[:MOST_ROWS]
        for r in shown:
            style = {"waiting": "dim", "done": "green", "stopped": "red"}.get(r.state, "")
            table.add_row(
                escape_name(r.label),
                f"{r.done}/{r.planned}",
                f"{r.judged}/{r.to_judge}",
                str(r.invalid + r.failed + r.unjudged or ""),
                str(r.tally.in_flight or ""),
                format_dollars(r.tally.cost),
                style=style,
            )
        if len(report.subjects) > len(shown):
            table.add_row(
                f"and {len(report.subjects) - len(shown)} more", "", "", "", "", "", style="dim"
            )
        return table


def format_duration(seconds: float) -> str:
    """Return a duration in *seconds* as text, such as 7 s, 3 min 20 s, 48 min, or 2 h 05 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
