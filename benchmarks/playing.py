"""Our own engine against the canned endpoint, the way `aib run` uses it, and what the process spent
on it.
"""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from scripts import ENDPOINT, JUDGE, subject_name

from independence_bench.engine.ask import Engine
from independence_bench.engine.run import Report, Run
from independence_bench.engine.schedule import play_run
from independence_bench.models.spec import BUILT_IN, Endpoint, ModelSpec, Roster
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import Files
from independence_bench.store.database import open_store


@dataclass(frozen=True, slots=True)
class Spent:
    """What a piece of work took: seconds on the clock, and seconds of CPU (user and system) of this
    process.
    """

    seconds: float
    cpu: float


class Meter:
    """Counts from its making: `meter.read()` is what has been spent since."""

    def __init__(self) -> None:
        self._started, self._cpu = time.monotonic(), _cpu()

    def read(self) -> Spent:
        """Spent so far."""
        return Spent(time.monotonic() - self._started, _cpu() - self._cpu)


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def wanted(
    endpoint: Endpoint,
    protocol: Protocol,
    files: Files,
    *,
    subjects: range,
    runs: int,
    calls_at_once: int,
    subjects_at_once: int,
) -> Run:
    """What a command line asks for: *subjects* side by side, *runs* of each, all judged by the
    canned judge.
    """
    return Run(
        models=[ModelSpec(subject_name(number), ENDPOINT) for number in subjects],
        protocol=(protocol, files),
        roster=Roster({**BUILT_IN, ENDPOINT: endpoint}),
        runs=runs,
        judge=JUDGE,
        parallel=subjects_at_once,
        parallel_tasks=calls_at_once,
    )


def play(
    order: Run, store: Path | str, watch: Callable[[Engine], Awaitable[None]] | None = None
) -> Report:
    """Carry out *order* into *store*; *watch* runs beside it. RuntimeError unless everything was
    completed.
    """

    async def unwatched(_engine: Engine) -> None:
        await asyncio.Event().wait()

    with open_store(store) as opened:
        report = asyncio.run(play_run(order, opened, lambda _: True, watch or unwatched))
    if report is None or not report.complete:
        why = report.troubles[0][1] if report and report.troubles else "it was stopped"
        raise RuntimeError(f"the order was not completed: {why}")
    return report


def resident() -> float:
    """Megabytes that this process holds in memory now."""
    return _status("VmRSS")


def highest_resident() -> float:
    """Megabytes that this process has held in memory at most.

    Not ru_maxrss: that begins with what the parent held when it started us.
    """
    return _status("VmHWM")


def _status(name: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (kibibytes,) = (int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))
    return kibibytes * 1024 / 1e6
