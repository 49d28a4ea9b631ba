"""Do several workers on one PostgreSQL store do several times the work? 1, 2 and 4 of them, and how
long they wait.

    PYTHONPATH=tests python benchmarks/scale.py  # everything, some minutes
    PYTHONPATH=tests python benchmarks/scale.py --load 1x256x0.5 --load 4x100x0.5 --before

Each worker is a process of its own and plays its shard of one plan against a canned endpoint in
another process, into one database of a server that waits for its disk. They begin together, when
all have been loaded. A load WxNxS is W workers with N calls of S seconds in flight each. *before*:
every writing transaction keeps all others out, as it once did.

A hundred times a second somebody looks at the server's locks. *alone*: the share of the time in
which a writer kept all others out; *waiting*: in which a worker waited for another one's lock or
row; *open*: in which the mean worker had a transaction open. *CPU* is the workers', from after
their imports to their last call, in ms a call; *server* the database's; *idle* the share of the
machine that nobody used: where it is near 0, the CPU decides and not the locks.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import psycopg
from canned import CannedEndpoint, allow_many_connections, canned_endpoint
from playing import Meter, Spent, play, wanted
from postgres import Server, running
from results import Target, table, verdict
from scripts import calls_of, canned_protocol

from independence_bench.protocol.plan import Shard
from independence_bench.store.backends import LOCK, PostgresDatabase

SINGLE, DOUBLE = 7, 2  # conversations of one and of two replies: 20 calls a run
SUBJECTS = 4
LOOK = 0.01  # seconds between two looks at the locks
NEAR = 0.85  # of so many times as much as there are workers
SETTLE = 0.5  # seconds in which the server has counted the CPU of connections that were closed
LOADS = ("1x256x0.57", "1x100x0.5", "2x100x0.5", "4x100x0.5", "8x50x0.5")
BEFORE, AFTER = "before", "now"


class AloneDatabase(PostgresDatabase):
    """As it was: no two writers at once."""

    @property
    def begin_sharing(self) -> str:
        """The same as for those who need the store to hold still."""
        return self.begin_writing

    @begin_sharing.setter
    def begin_sharing(self, _shared: str) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Load:
    """What is measured: so many workers, each with so many calls in flight, each call so many
    seconds long.
    """

    how: str  # BEFORE or AFTER
    workers: int
    at_once: int
    delay: float
    seconds: float  # that it takes at least

    @property
    def runs(self) -> int:
        """Runs of each subject, so that there are calls for as long."""
        calls = self.workers * self.at_once / self.delay * self.seconds
        return max(1, round(calls / (SUBJECTS * CALLS)))

    @property
    def calls(self) -> int:
        """In all."""
        return self.runs * SUBJECTS * CALLS

    @property
    def bound(self) -> float:
        """Calls a second that are possible."""
        return self.workers * self.at_once / self.delay


CALLS = calls_of(canned_protocol(SINGLE, DOUBLE)[0])


@dataclass(slots=True)
class Locks:
    """Looks at the locks while workers work."""

    looks: int = 0
    alone: int = 0
    waiting: int = 0
    open: int = 0
    ended: threading.Event = field(default_factory=threading.Event)

    def watch(self, url: str) -> None:
        """Look until *ended*."""
        query = (
            "SELECT (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND "
            f"mode = 'ExclusiveLock' AND objid = {LOCK}), count(*) FILTER (WHERE wait_event_type "
            "= 'Lock'), count(xact_start) FROM pg_stat_activity WHERE application_name = 'aib'"
        )
        with psycopg.connect(url, autocommit=True, application_name="looking") as connection:
            while not self.ended.wait(LOOK):
                alone, waiting, opened = connection.execute(query).fetchone() or (0, 0, 0)
                self.looks += 1
                self.alone += alone > 0
                self.waiting += waiting > 0
                self.open += opened


@dataclass(frozen=True, slots=True)
class Result:
    """What a load came to."""

    load: Load
    steady: float  # seconds in which the middle 60% of the calls ended
    size: float  # kilobytes of the database at the end
    cpu: float  # seconds, all workers
    server: float  # seconds of CPU, the database
    idle: float  # share of the machine
    locks: Locks

    @property
    def rate(self) -> float:
        """Calls a second, while all workers are at work: their starts and ends differ."""
        return 0.6 * self.load.calls / self.steady

    @property
    def alone(self) -> float:
        """Share of the time."""
        return self.locks.alone / max(self.locks.looks, 1)

    @property
    def row(self) -> tuple[str, ...]:
        """For the table."""
        load, looks, calls = self.load, max(self.locks.looks, 1), self.load.calls
        return (
            f"{load.how}, {load.workers} x {load.at_once}",
            f"{self.rate:,.0f}",
            f"{self.rate / load.bound:.2f}",
            f"{100 * self.alone:.0f}%",
            f"{100 * self.locks.waiting / looks:.0f}%",
            f"{100 * self.locks.open / looks / load.workers:.0f}%",
            f"{1000 * self.cpu / calls:.2f}",
            f"{1000 * self.server / calls:.2f}",
            f"{100 * self.idle:.0f}%",
        )


HEAD = ("", "calls/s", "x bound", "alone", "waiting", "open", "CPU ms", "server", "idle")


def work(load: Load, number: int, url: str, store: str) -> Spent:
    """Play one shard; runs in a process of its own. Begins when it is told to."""
    allow_many_connections()
    if load.how == BEFORE:
        from independence_bench.store import database

        database.PostgresDatabase = AloneDatabase  # type: ignore[misc]
    protocol, files = canned_protocol(SINGLE, DOUBLE)
    order = wanted(
        CannedEndpoint(url).known,
        protocol,
        files,
        subjects=range(SUBJECTS),
        runs=load.runs,
        calls_at_once=load.at_once // SUBJECTS,
        subjects_at_once=SUBJECTS,
    )
    print("ready", flush=True)
    sys.stdin.readline()
    meter = Meter()
    play(replace(order, shard=Shard(number, load.workers)), store)
    return meter.read()


def measure(load: Load, server: Server) -> Result:
    """Carry *load* out into a database of its own. RuntimeError unless every call was made exactly
    once.
    """
    with canned_endpoint(load.delay) as endpoint, server.database() as name:
        store, locks = server.url(name), Locks()
        told = [sys.executable, __file__, "--worker", load.how]
        told += map(
            str, (load.workers, load.at_once, load.delay, load.seconds, endpoint.url, store)
        )
        workers = [
            subprocess.Popen(
                [*told, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            for number in range(1, load.workers + 1)
        ]
        for worker in workers:
            assert worker.stdout is not None
            worker.stdout.readline()
        looking = threading.Thread(target=locks.watch, args=(store,))
        looking.start()
        began, idle, used = time.monotonic(), _idle(), server.cpu()
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("begin\n")
            worker.stdin.flush()
        said = [worker.communicate()[0] for worker in workers]
        seconds, idle = time.monotonic() - began, _idle() - idle
        time.sleep(SETTLE)
        used = server.cpu() - used
        locks.ended.set()
        looking.join()
        if any(worker.returncode for worker in workers):
            raise RuntimeError("a worker failed")
        ((attempts, calls, size, steady),) = server.say(
            "SELECT count(*), count(DISTINCT call_key), pg_database_size(current_database()), "
            "percentile_disc(0.8) WITHIN GROUP (ORDER BY finished_at) "
            "- percentile_disc(0.2) WITHIN GROUP (ORDER BY finished_at) FROM attempts",
            database=name,
        )
        served = endpoint.served().calls
    if not served == attempts == calls == load.calls:
        raise RuntimeError(
            f"{load.calls} calls: {served} were served, {attempts} attempts at {calls} are stored"
        )
    cpu = sum(Spent(**json.loads(out)).cpu for out in said)
    return Result(
        load, float(steady), size / 1000, cpu, used, idle / seconds / (os.cpu_count() or 1), locks
    )


def _idle() -> float:
    """Seconds that this machine's processors had nothing to do, since it started."""
    fields = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
    return (int(fields[4]) + int(fields[5])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Measure, print, and say with the exit code whether every target was met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--load",
        action="append",
        metavar="WxNxS",
        help="workers x calls in flight x seconds a call",
    )
    parser.add_argument("--seconds", type=float, default=20, help="that each load takes at least")
    parser.add_argument("--before", action="store_true", help="each load also as it once was")
    parser.add_argument("--worker", nargs=8, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker:
        how, count, at_once, delay, seconds, url, store, number = chosen.worker
        load = Load(how, int(count), int(at_once), float(delay), float(seconds))
        print(json.dumps(asdict(work(load, int(number), url, store))))
        return 0
    hows = (BEFORE, AFTER) if chosen.before else (AFTER,)
    loads = []
    for told in chosen.load or LOADS:
        workers, at_once, delay = told.split("x")
        loads += [
            Load(how, int(workers), int(at_once), float(delay), chosen.seconds) for how in hows
        ]
    done = []
    with running(durable=True) as server:
        for load in loads:
            done.append(measure(load, server))
            print("  ".join(done[-1].row), file=sys.stderr, flush=True)
    print(table(HEAD, [one.row for one in done]))
    print(
        f"every one of {sum(one.load.calls for one in done):,} calls was served once and is "
        "stored once"
    )
    size = sum(one.size for one in done) / sum(one.load.calls for one in done)
    print(f"the database holds {size:.1f} KB a call")
    return verdict(targets_of(done))


def targets_of(done: Sequence[Result]) -> list[Target]:
    """What was promised, of what was measured."""
    targets = []
    now = [result for result in done if result.load.how == AFTER]
    for one in now:
        alone = [other for other in now if other.load == replace(one.load, workers=1)]
        if one.load.workers > 1 and alone:
            share = one.rate / alone[0].rate / one.load.workers
            about = f"{one.load.workers} x {one.load.at_once}"
            missing = 1 - NEAR
            targets.append(
                Target(
                    f"{about} are {one.load.workers * share:.2f} x one; missing", 1 - share, missing
                )
            )
        if one.load.workers == 1 and one.load.at_once == 256:
            targets.append(
                Target(
                    "one of 256 in flight keeps others out", 100 * one.alone, 25, "% of the time"
                )
            )
    return targets


if __name__ == "__main__":
    sys.exit(main())
