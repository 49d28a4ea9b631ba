"""When the runs of a subject were made, and what that leaves open. Pure: from times to values and a sentence.

What was the same in all runs is in no interval. Whether that could have been a day or a provider's build, only the
times of the runs can tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

HOUR, DAY = 3600.0, 86400.0
LAST = 253402300800.0  # the end of the year 9999, in seconds since 1970: an imported file may have any number


@dataclass(frozen=True, slots=True)
class RunTimes:
    """When the conversations of one subject on one board were finished; times are seconds since 1970."""

    runs: Mapping[int, float]  # run -> when its first conversation was
    first: float
    last: float
    days: int  # dates, in UTC, on which one was

    @property
    def span(self) -> float:
        """Seconds from the beginning of the first run to that of the last one; 0 for a single run."""
        return max(self.runs.values()) - min(self.runs.values())


def run_times(finished: Iterable[tuple[int, float]]) -> RunTimes | None:
    """From (run, when it was finished) of every conversation; None without any. What no calendar has is left out."""
    runs: dict[int, float] = {}
    times = []
    for run, at in finished:
        if 0 < at < LAST:
            runs[run] = min(at, runs.get(run, at))
            times.append(at)
    if not times:
        return None
    days = {datetime.fromtimestamp(at, UTC).date() for at in times}
    return RunTimes(dict(sorted(runs.items())), min(times), max(times), len(days))


def run_times_note(made: Sequence[RunTimes]) -> str:
    """What the times of several subjects' runs leave open, in a sentence; "" where nobody has two runs."""
    several = [one for one in made if len(one.runs) > 1]
    near = sum(one.span < DAY for one in several)
    if not several:
        return ""
    if not near:
        days = sorted({one.days for one in several})
        over = f"{days[0]} to {days[-1]} days" if len(days) > 1 else f"{days[0]} days"
        return f"The runs of a subject were made on {over}; no interval covers effects that all of them share."
    every = "the subject" if len(several) == 1 else "each subject"
    who = every if near == len(several) else f"{near} of {len(several)} subjects"
    return (
        f"The runs of {who} began within 24 hours: the intervals do not cover changes from day to day "
        "(`aib run --spread-over HOURS` does)."
    )


def span_text(seconds: float) -> str:
    """12 min, 5.5 h, 3.2 days; "–" for none."""
    if not seconds:
        return "–"
    if (minutes := round(seconds / 60)) < 60:
        return f"{minutes} min"
    return f"{seconds / HOUR:.1f} h" if seconds < 2 * DAY else f"{seconds / DAY:.1f} days"


def time_text(seconds: float) -> str:
    """ISO 8601 in UTC, to the second."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def day_and_hour(seconds: float) -> str:
    """2026-01-31 12:00, in UTC."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"
