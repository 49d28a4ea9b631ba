"""What the engine costs beside the waiting: 6,000 calls of 200 ms, 200 and 1,000 at once, all of it
durable.

    python benchmarks/overhead.py                        # everything, some minutes
    python benchmarks/overhead.py --calls 1500 --at-once 200 --times 1

Each contender runs in a process of its own against a canned endpoint in another process, and only
the contender's CPU is counted, from after its imports to its last call. They take turns, so that
all meet the same machine, and the numbers are medians over the turns. *bound* is calls / at once x
delay. The engine plays, stores and judges; *each further call* is the difference to a quarter of
the calls, per call.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

from baselines import bare, bodies, stored
from canned import CannedEndpoint, allow_many_connections, canned_endpoint
from playing import Meter, Spent, play, wanted
from results import Target, table, verdict
from scripts import calls_of, canned_protocol

SINGLE, DOUBLE = 7, 2  # conversations of one and of two replies: 20 calls a run
SUBJECTS = 5
UNIT = 100  # calls of one run of all subjects: what --calls is counted in
ENGINE, BARE, STORED = "aib", "bare aiohttp", "aiohttp + SQLite"


@dataclass(frozen=True, slots=True)
class Result:
    """What one contender took for its calls."""

    name: str
    calls: int
    spent: Spent

    @property
    def cpu(self) -> float:
        """Milliseconds of CPU a call."""
        return 1000 * self.spent.cpu / self.calls


def work(name: str, url: str, calls: int, at_once: int, folder: Path) -> Spent:
    """Make the calls as contender *name*; runs in a process of its own."""
    allow_many_connections()
    protocol, files = canned_protocol(SINGLE, DOUBLE)
    if name == ENGINE:
        order = wanted(
            CannedEndpoint(url).known,
            protocol,
            files,
            subjects=range(SUBJECTS),
            runs=calls // UNIT,
            calls_at_once=at_once // SUBJECTS,
            subjects_at_once=SUBJECTS,
        )
        meter = Meter()
        play(order, folder / "store.db")
        return meter.read()
    sent = bodies(protocol)
    meter = Meter()
    if name == BARE:
        bare(url, sent, calls, at_once)
    else:
        stored(url, sent, calls, at_once, folder / "plain.db")
    return meter.read()


def measure(name: str, calls: int, at_once: int, delay: float) -> Result:
    """One contender in a process of its own, with an endpoint of its own. RuntimeError unless the
    ledger agrees.
    """
    with canned_endpoint(delay) as endpoint, tempfile.TemporaryDirectory() as folder:
        told = [name, endpoint.url, str(calls), str(at_once), folder]
        ran = subprocess.run(
            [sys.executable, __file__, "--worker", *told],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=900,
        )
        served = endpoint.served()
    if served.calls != calls:
        raise RuntimeError(
            f"{name} should have made {calls} calls; the endpoint served {served.calls}"
        )
    return Result(name, calls, Spent(**json.loads(ran.stdout)))


def middle(results: Sequence[Result]) -> Result:
    """One contender's turns as one result: the median of the seconds, and of the CPU."""
    spent = [result.spent for result in results]
    return replace(
        results[0], spent=Spent(median(s.seconds for s in spent), median(s.cpu for s in spent))
    )


def compare(calls: int, at_once: int, delay: float, times: int) -> list[Target]:
    """Measure and print all contenders with *at_once* in flight; the targets for that."""
    quarter = max(calls // 4 // UNIT, 1) * UNIT
    entered = ((BARE, calls), (STORED, calls), (ENGINE, calls), (ENGINE, quarter))
    turns = [
        [measure(name, count, at_once, delay) for name, count in entered] for _ in range(times)
    ]
    *results, fewer = (middle(of_one) for of_one in zip(*turns, strict=True))
    plain, ours = results[0], results[-1]
    bound = calls / at_once * delay
    print(
        f"\n{calls:,} calls of {1000 * delay:g} ms, {at_once:,} at once: at least {bound:.2f} s; "
        f"turns: {times}"
    )
    rows = [
        (
            result.name,
            f"{result.spent.seconds:.2f}",
            f"{result.spent.seconds / bound:.2f}",
            f"{result.spent.seconds / plain.spent.seconds:.2f}",
            f"{result.calls / result.spent.seconds:,.0f}",
            f"{result.cpu:.3f}",
            f"{result.cpu / plain.cpu:.2f}",
        )
        for result in results
    ]
    print(table(("", "seconds", "x bound", "x bare", "calls/s", "CPU ms/call", "x bare"), rows))
    if ours.calls > fewer.calls:
        further = 1000 * (ours.spent.cpu - fewer.spent.cpu) / (ours.calls - fewer.calls)
        print(
            f"aib, each further call: {further:.3f} ms CPU ({fewer.calls:,} calls took "
            f"{fewer.spent.cpu:.2f} s)"
        )
    print(f"the endpoint served {calls:,} calls of {calls:,} to each")
    return targets_for(ours, plain, bound, at_once)


def targets_for(ours: Result, plain: Result, bound: float, at_once: int) -> list[Target]:
    """What was promised: the CPU and the bound at 200 at once, bare aiohttp's time beyond."""
    if at_once > 200:
        return [
            Target(
                f"{at_once:,} at once, seconds x bare aiohttp",
                ours.spent.seconds / plain.spent.seconds,
                1.3,
            )
        ]
    return [
        Target(f"{at_once:,} at once, CPU a call x bare aiohttp", ours.cpu / plain.cpu, 2.5),
        Target(f"{at_once:,} at once, seconds x the bound", ours.spent.seconds / bound, 1.1),
    ]


def main() -> int:
    """Measure, print, and say with the exit code whether every target was met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=6000, help=f"in all, a multiple of {UNIT}")
    parser.add_argument(
        "--at-once", type=int, action="append", help="in flight, a multiple of 5; may be repeated"
    )
    parser.add_argument("--delay", type=float, default=0.2, help="seconds of a call")
    parser.add_argument("--times", type=int, default=3, help="turns of each contender")
    parser.add_argument("--worker", nargs=5, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker:
        name, url, calls, at_once, folder = chosen.worker
        print(json.dumps(asdict(work(name, url, int(calls), int(at_once), Path(folder)))))
        return 0
    if chosen.calls % UNIT or any(at_once % SUBJECTS for at_once in chosen.at_once or ()):
        parser.error(f"--calls goes in steps of {UNIT}, --at-once in steps of {SUBJECTS}")
    assert calls_of(canned_protocol(SINGLE, DOUBLE)[0]) * SUBJECTS == UNIT
    targets = []
    for at_once in chosen.at_once or (200, 1000):
        targets += compare(chosen.calls, at_once, chosen.delay, chosen.times)
    print()
    return verdict(targets)


if __name__ == "__main__":
    sys.exit(main())
