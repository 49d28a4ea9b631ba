"""How much memory a run takes that adds to a large store: 100,000 transcripts, at most 200 MB.

    python benchmarks/memory.py  # some minutes, most of them to fill the store
    python benchmarks/memory.py --transcripts 2000 --added 100

Two orders, each in a process of its own on the same store, against a canned endpoint in another
process. *adding*: a new subject, whose conversations nobody has played. *resuming*: an order for as
many conversations as the store holds, of which all but one in a hundred are stored. Megabytes are
what the process holds: before the order is looked at, when the first call has ended, at the end,
and at most.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from canned import CannedEndpoint, allow_many_connections, canned_endpoint
from filling import Filling, subject
from playing import highest_resident, play, resident, wanted
from results import Target, table, verdict
from scripts import canned_protocol

from independence_bench.engine.ask import Engine
from independence_bench.store.database import open_store

LIMIT = 200.0  # MB
SCENARIOS = 5  # of one reply each
SUBJECTS = 20
# conversations of one run of all subjects: what --transcripts is counted in
STEP = SUBJECTS * SCENARIOS
LEFT = 100  # one run in so many (one at least) is left for the order that resumes
CALLS = 2  # of a conversation: its reply and its judgement
DELAY = 0.02  # seconds of a call
AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class Order:
    """Whose conversations are ordered, how many runs of each, and how many conversations that
    leaves to play.
    """

    name: str
    subjects: range
    runs: int
    left: int

    @property
    def planned(self) -> int:
        """Conversations in the order, stored ones included."""
        return len(self.subjects) * self.runs * SCENARIOS


@dataclass(frozen=True, slots=True)
class Held:
    """Megabytes that the process held."""

    before: float
    playing: float
    end: float
    most: float


def orders(transcripts: int, added: int) -> tuple[Order, Order]:
    """The two orders on a store of so many transcripts."""
    runs = transcripts // STEP
    return (
        Order("adding", range(SUBJECTS + 1, SUBJECTS + 2), added // SCENARIOS, added),
        Order("resuming", range(SUBJECTS), runs, STEP * runs_left(runs)),
    )


def runs_left(runs: int) -> int:
    """How many of so many runs are not in the store."""
    return max(1, runs // LEFT)


def build(path: Path, transcripts: int) -> None:
    """A store with so many: all runs that are resumed but those left, and as many instead of
    another subject.
    """
    protocol, files = canned_protocol(SCENARIOS)
    runs = transcripts // STEP
    left = runs_left(runs)
    filling = Filling(protocol, files)
    with open_store(path) as store:
        every = [subject(number, protocol) for number in range(SUBJECTS)]
        count = filling.fill(store, every, range(1, runs - left + 1))
        count += filling.fill(store, [subject(SUBJECTS, protocol)], range(1, left * SUBJECTS + 1))
    if count != transcripts:
        raise RuntimeError(f"{count} transcripts were stored, not {transcripts}")


def work(url: str, path: Path, order: Order) -> Held:
    """Carry the order out; runs in a process of its own."""
    allow_many_connections()
    protocol, files = canned_protocol(SCENARIOS)
    before, playing = resident(), []

    async def watch(engine: Engine) -> None:
        while not any(p.tally.calls for p in engine.report.subjects):  # noqa: ASYNC110 - a number is looked at
            await asyncio.sleep(0.001)
        playing.append(resident())

    typed = wanted(
        CannedEndpoint(url).known,
        protocol,
        files,
        subjects=order.subjects,
        runs=order.runs,
        calls_at_once=AT_ONCE // min(len(order.subjects), 4),
        subjects_at_once=4,
    )
    play(typed, path, watch)
    return Held(before, playing[0], resident(), highest_resident())


def measure(path: Path, order: Order, endpoint: CannedEndpoint) -> tuple[Held, float]:
    """(what the order held, seconds that it took). RuntimeError unless the endpoint served just
    what was left.
    """
    numbers = [str(n) for n in (order.subjects.start, order.subjects.stop, order.runs, order.left)]
    before, started = endpoint.served(), time.monotonic()
    ran = subprocess.run(
        [sys.executable, __file__, "--worker", endpoint.url, str(path), order.name, *numbers],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=1800,
    )
    taken, after = time.monotonic() - started, endpoint.served()
    served = (after.replies - before.replies, after.judgements - before.judgements)
    if served != (order.left, order.left):
        raise RuntimeError(
            f"{order.left} conversations were left; {served} replies and judgements were served"
        )
    return Held(**json.loads(ran.stdout)), taken


def main() -> int:
    """Measure, print, and say with the exit code whether every target was met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--transcripts", type=int, default=100_000, help=f"in the store, a multiple of {STEP:,}"
    )
    parser.add_argument(
        "--added", type=int, default=3000, help=f"by the first order, a multiple of {SCENARIOS}"
    )
    parser.add_argument("--worker", nargs=7, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker:
        url, where, name, *numbers = chosen.worker
        first, last, runs, left = map(int, numbers)
        print(
            json.dumps(asdict(work(url, Path(where), Order(name, range(first, last), runs, left))))
        )
        return 0
    if (
        chosen.transcripts % STEP
        or chosen.added % SCENARIOS
        or not chosen.transcripts
        or not chosen.added
    ):
        parser.error(f"--transcripts goes in steps of {STEP:,}, --added in steps of {SCENARIOS}")
    rows, targets = [], []
    # one endpoint for both orders: another one would begin to number its answers anew
    with tempfile.TemporaryDirectory() as folder, canned_endpoint(DELAY) as endpoint:
        path = Path(folder) / "store.db"
        started = time.monotonic()
        build(path, chosen.transcripts)
        size, taken = path.stat().st_size / 1e6, time.monotonic() - started
        print(
            f"a store of {chosen.transcripts:,} transcripts, {size:.0f} MB, made in {taken:.0f} s\n"
        )
        for order in orders(chosen.transcripts, chosen.added):
            held, taken = measure(path, order, endpoint)
            shown = (held.before, held.playing, held.end, held.most)
            rows.append(
                (
                    order.name,
                    f"{order.planned:,}",
                    f"{order.left:,}",
                    *(f"{mb:.0f}" for mb in shown),
                    f"{taken:.0f}",
                )
            )
            targets.append(Target(f"{order.name}, at most held", held.most, LIMIT, "MB"))
    print(table(("MB", "planned", "played", "before", "playing", "end", "most", "seconds"), rows))
    print(f"the endpoint served {CALLS} calls for each conversation that was left\n")
    return verdict(targets)


if __name__ == "__main__":
    sys.exit(main())
