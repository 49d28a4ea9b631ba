"""`--spread-over` and `--until-width` of `aib run`: what was typed, and the outcome as text."""

from __future__ import annotations

import time
from collections.abc import Iterator

import click

from independence_bench.analysis.statistics.planning import FEWEST, MOST
from independence_bench.cli.options import Number, say
from independence_bench.cli.progress import duration
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
from independence_bench.report.format import money, plural
from independence_bench.report.table import Block, Column, Name, Note, Prose, Table, columns_of

LONGEST = 24.0 * 366  # hours


spread_option = click.option(
    "--spread-over",
    "hours",
    type=Number(0, LONGEST, min_open=True),
    metavar="HOURS",
    help="Spread the runs over this many hours: the first now, the last at the end, the others evenly between.",
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
    settled = sum(one.state == SETTLED for one in subjects)
    yield Note(
        f"\nPlayed until rerun intervals at most {target.width:g} wide: {settled} of "
        f"{plural(len(subjects), 'subject')} settled\n",
        style="",
    )
    rows = []
    for one in subjects:
        yes = "yes" if one.state == SETTLED else "no"
        rows.append((Name(one.subject.label), str(one.runs), *_numbers(one), yes, Prose(_why(one, adaptive))))
    columns = columns_of("subject", "runs", "index", "width")
    yield Table([*columns, Column("settled", words=True), Column("", words=True)], rows)


def _numbers(one: SubjectStatus) -> tuple[str, str]:
    row = one.row
    if row is None or row.score.index is None:
        return "-", "-"
    rerun = row.uncertainty.index.rerun
    return f"{row.score.index:.1f}", "–" if rerun is None else f"{rerun.width:.1f}"


def _why(one: SubjectStatus, adaptive: AdaptiveRun) -> str:
    """Why a subject is settled or not."""
    if one.state == INCOMPLETE:
        missing = one.row.missing if one.row else ()
        return f"no index: {missing[0]}" if missing else "no index: nothing is judged"
    if one.state in (OUT_OF_REACH, ALL_RUNS):
        needed = "more runs than is practical" if one.needed is None else f"about {plural(one.needed, 'run')}"
        return f"{needed} needed, --runs {adaptive.target.most}"
    return f"another run would help{_stopped(adaptive)}" if one.state == OPEN else ""


def _stopped(adaptive: AdaptiveRun) -> str:
    stopped = adaptive.report.stopped
    if stopped is None:
        return ""
    return ": stopped by the budget" if isinstance(stopped, BudgetSpent) else f": {stopped}"
