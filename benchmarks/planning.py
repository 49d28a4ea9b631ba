"""What planning costs: a large order, as one of several workers sees it before it sends anything.

    python benchmarks/planning.py                              # v2, 300 subjects, one of 4 workers
    python benchmarks/planning.py --subjects 60 --protocol lite

CPU time of this process: *foreseen* is what `aib run` shows first, *begun* what the engine then
reads of each subject. The store is empty. *each further* is the difference to a quarter of the
subjects, so what is done once is not in it.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from results import Target, table, verdict

from independence_bench.engine.preview import make_preview
from independence_bench.engine.run import Session
from independence_bench.engine.session import find_pending
from independence_bench.errors import EndpointUnusable
from independence_bench.judging.judge import ModelJudge
from independence_bench.models.client import Client
from independence_bench.models.spec import BUILT_IN, ChatModel
from independence_bench.protocol.loader import load_protocol_and_files
from independence_bench.protocol.plan import Shard
from independence_bench.store.database import open_store

ENDPOINT = "local"  # nothing is asked of it


def planned(name: str, subjects: int, workers: int) -> tuple[float, float]:
    """Seconds of CPU that it takes to foresee the order, and to read what is left of it."""
    protocol, files = load_protocol_and_files(name)
    client = Client(BUILT_IN[ENDPOINT])
    client.assume_no_list(EndpointUnusable("it is not asked"))
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "store.db") as store:
        session = Session(
            protocol=protocol,
            files=files,
            configurations=protocol.configurations,
            subjects=tuple(
                ChatModel(f"acme/{number}", ENDPOINT, 1.0, 1000) for number in range(subjects)
            ),
            runs=protocol.runs,
            judge=ModelJudge(ChatModel("acme/judge", ENDPOINT, 0.0, 1000)),
            store=store,
            clients={ENDPOINT: client},
            shard=Shard(1, workers),
        )
        began = time.process_time()
        asyncio.run(make_preview(session))
        foreseen = time.process_time()
        with store.open_snapshot() as connection:
            for subject in session.subjects:
                find_pending(connection, session, subject)
        return foreseen - began, time.process_time() - foreseen


def main() -> int:
    """Measure, print, and say with the exit code whether the target was met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--protocol", default="v2")
    parser.add_argument("--subjects", type=int, default=300, help="at least 4")
    parser.add_argument("--workers", type=int, default=4)
    chosen = parser.parse_args()
    few, many = max(chosen.subjects // 4, 1), chosen.subjects
    planned(chosen.protocol, 1, chosen.workers)  # what is done once in a process
    fewer, whole = (
        planned(chosen.protocol, few, chosen.workers),
        planned(chosen.protocol, many, chosen.workers),
    )
    each = [
        1000 * (more - less) / max(many - few, 1) for more, less in zip(whole, fewer, strict=True)
    ]
    rows = [
        (what, f"{seconds:.2f}", f"{1000 * seconds / many:.1f}", f"{further:.1f}")
        for what, seconds, further in zip(("foreseen", "begun"), whole, each, strict=True)
    ]
    print(f"{chosen.protocol}, {many} subjects, one of {chosen.workers} workers")
    print(table(("", "CPU s", "ms a subject", "each further"), rows))
    return verdict([Target("CPU a subject", 1000 * sum(whole) / many, 20, "ms")])


if __name__ == "__main__":
    sys.exit(main())
