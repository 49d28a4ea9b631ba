"""What a rate limit at the judge's endpoint costs the subject's: two endpoints, one of which
refuses every second call.

    python benchmarks/endpoints.py                        # about three minutes
    python benchmarks/endpoints.py --runs 4 --delay 0.05

One subject is played, on a budget and so run by run, at an endpoint that answers everything after a
fixed time, and judged at another that refuses every second request (429, Retry-After). *before*:
the judge's calls take the subject's places, as they once did; *after*: places belong to endpoints.
Both play the same order in turn, each in a process of its own. *played* is when the last reply had
come; no order of calls can be sooner than the *bound*, replies / at once x delay.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

from canned import CannedEndpoint, canned_endpoint
from playing import play, wanted
from results import Target, table, verdict
from scripts import ENDPOINT, JUDGE, canned_protocol

from independence_bench.calls import limits
from independence_bench.engine import ask
from independence_bench.models.spec import BUILT_IN, Endpoint, Roster

SINGLE, DOUBLE = 7, 2  # conversations of one and of two replies: 11 replies and 9 judgements a run
REPLIES, JUDGEMENTS = SINGLE + 2 * DOUBLE, SINGLE + DOUBLE
JUDGES = "judges"
BEFORE, AFTER = "before", "after"
REFUSING = 2  # every second call
PLENTY = (
    # dollars: on a budget whole runs are finished first, so a run's judgements go before the next
    # one's replies
    1000.0
)
CLOSE = 1.5  # times the bound, at most


@dataclass(frozen=True, slots=True)
class Result:
    """Seconds from when it was known what to do, to the last reply, and to the last judgement."""

    played: float
    judged: float


class SharedSlots(defaultdict[str, limits.CallSlots]):
    """As it was: the judge's calls take the subject's slots, wherever they go."""

    def __missing__(self, _endpoint: str) -> limits.CallSlots:
        return self[""] if "" in self else super().__missing__("")


def work(name: str, subjects: str, judges: str, runs: int, at_once: int, folder: Path) -> Result:
    """Play the order as it was or as it is; runs in a process of its own."""
    if name == BEFORE:
        ask.defaultdict = SharedSlots  # type: ignore[attr-defined]
    protocol, files = canned_protocol(SINGLE, DOUBLE)
    known = CannedEndpoint(subjects).known
    order = wanted(
        known,
        protocol,
        files,
        subjects=range(1),
        runs=runs,
        calls_at_once=at_once,
        subjects_at_once=1,
    )
    roster = Roster({**BUILT_IN, ENDPOINT: known, JUDGES: Endpoint(JUDGES, judges, "openrouter")})
    times: list[float] = []

    async def watch(at_work: ask.Engine) -> None:
        subjects = at_work.report.subjects
        for reached in (lambda one: one.planned, lambda one: one.done == one.planned):
            while not reached(subjects[0]):  # noqa: ASYNC110 - a report is looked at, it calls nobody
                await asyncio.sleep(0.002)
            times.append(time.monotonic())
        await asyncio.Event().wait()

    judged = replace(order, roster=roster, judge=f"{JUDGES}:{JUDGE}", budget=PLENTY)
    play(judged, folder / "store.db", watch)
    began, played = times
    return Result(played - began, time.monotonic() - began)


def measure(name: str, runs: int, at_once: int, delay: float) -> Result:
    """One of the two in a process of its own, with endpoints of its own. RuntimeError unless the
    ledgers agree.
    """
    with (
        canned_endpoint(delay) as subjects,
        canned_endpoint(delay, REFUSING) as judges,
        tempfile.TemporaryDirectory() as folder,
    ):
        told = [name, subjects.url, judges.url, str(runs), str(at_once), folder]
        ran = subprocess.run(
            [sys.executable, __file__, "--worker", *told],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=900,
        )
        served = (subjects.served().replies, judges.served().judgements)
    if served != (runs * REPLIES, runs * JUDGEMENTS):
        raise RuntimeError(f"{name}: {served} replies and judgements were served")
    return Result(**json.loads(ran.stdout))


def main() -> int:
    """Measure, print, and say with the exit code whether the target was met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--runs", type=int, default=6, help=f"of {REPLIES} replies and {JUDGEMENTS} judgements each"
    )
    parser.add_argument("--at-once", type=int, default=8, help="calls at once within the subject")
    parser.add_argument("--delay", type=float, default=0.2, help="seconds of a call")
    parser.add_argument("--times", type=int, default=1, help="turns of each")
    parser.add_argument("--worker", nargs=6, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker:
        name, subjects, judges, runs, at_once, folder = chosen.worker
        print(
            json.dumps(asdict(work(name, subjects, judges, int(runs), int(at_once), Path(folder))))
        )
        return 0
    turns = [
        [measure(name, chosen.runs, chosen.at_once, chosen.delay) for name in (BEFORE, AFTER)]
        for _ in range(chosen.times)
    ]
    bound = chosen.runs * REPLIES / chosen.at_once * chosen.delay
    replies, judgements = chosen.runs * REPLIES, chosen.runs * JUDGEMENTS
    print(
        f"{replies} replies at one endpoint, {judgements} judgements at one that refuses every 2nd;"
    )
    best = f"played in {bound:.2f} s at best; turns: {chosen.times}"
    print(f"{chosen.at_once} at once, {1000 * chosen.delay:g} ms a call: {best}")
    middle = [
        Result(median(one.played for one in of_one), median(one.judged for one in of_one))
        for of_one in zip(*turns, strict=True)
    ]
    rows = [
        (
            name,
            f"{one.played:.2f}",
            f"{one.played / bound:.2f}",
            f"{one.judged:.2f}",
            f"{one.judged / bound:.2f}",
        )
        for name, one in zip((BEFORE, AFTER), middle, strict=True)
    ]
    before, after = middle
    ratio = (
        "before / after",
        f"{before.played / after.played:.2f}",
        "",
        f"{before.judged / after.judged:.2f}",
        "",
    )
    print(table(("", "played, s", "x bound", "judged, s", "x bound"), [*rows, ratio]))
    print(
        f"each of the {2 * chosen.times} orders got its {replies} replies and {judgements} "
        "judgements once"
    )
    print()
    return verdict([Target("played, x the bound", after.played / bound, CLOSE)])


if __name__ == "__main__":
    sys.exit(main())
