"""How soon the viewer shows something: `aib view` over a store, asked as the page asks it.

    python benchmarks/viewer.py                       100,000 generated conversations
    python benchmarks/viewer.py --store published.db  a store of your own
    python benchmarks/viewer.py --transcripts 300
    python benchmarks/viewer.py --browser             and how soon Chromium has drawn it (after
                                                      `make web`)

*ready* is from starting Python to the address being printed. *table of a new store* is until the
first board's rows are there in a store that was never looked at: it is read once, and the board is
worked out. At the second start that is found in the store, if it took longer than a second. All
other times are of the browser's side of one connection on loopback. *first table* is what the page
fetches before it shows one: itself, the index, the first rows of the board. A search fetches one
page of what it found. *first query* reads all texts of the store; the memory is told before it, and
after all queries. *in the browser* is from the beginning of a navigation to the frame after the
drawing: the table in a browser that was never there before, conversations inside the page.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from filling import Filling, subject
from results import Target, table, verdict

from independence_bench.protocol.loader import load_protocol_and_files
from independence_bench.store.database import open_store

FIRST_TABLE, TRANSCRIPT = 1.0, 0.3  # seconds
RUNS = 5
AIMED = ("first table", "transcript", "first table, in the browser", "transcript, in the browser")
TABLES, OPENED = 5, 40  # in the browser
PAGE = Path(__file__).with_name("page.mjs")
PAIRS, QUIET = 20, 5.0


def build(path: Path, transcripts: int) -> int:
    """Fill the store at *path* with about so many; how many conversations it then holds."""
    protocol, files = load_protocol_and_files("v2")
    subjects = max(1, transcripts // (RUNS * len(protocol.scenarios)))
    with open_store(path) as store:
        every = [subject(number, protocol) for number in range(subjects)]
        return Filling(protocol, files).fill(store, every, range(1, RUNS + 1))


@dataclass(frozen=True, slots=True)
class Fetched:
    """What one or several answers took."""

    seconds: float
    size: int | None  # bytes; None: not counted


class Browser:
    """One connection to the viewer."""

    def __init__(self, address: str) -> None:
        printed = urlsplit(address)
        self._connection = http.client.HTTPConnection(printed.netloc, timeout=600)
        self._let_in = {"Authorization": f"Bearer {printed.fragment.removeprefix('token=')}"}

    def fetch(self, *paths: str) -> tuple[Fetched, list[Any]]:
        """The answers at *paths*, one after the other. RuntimeError where there is none."""
        bodies = []
        started = time.perf_counter()
        for path in paths:
            self._connection.request("GET", f"/{path}", headers=self._let_in)
            answer = self._connection.getresponse()
            bodies.append(answer.read())
            if answer.status != 200:
                raise RuntimeError(f"{path}: {answer.status}")
        taken = time.perf_counter() - started
        read = [
            json.loads(body) if ".json" in path else None
            for path, body in zip(paths, bodies, strict=True)
        ]
        return Fetched(taken, sum(map(len, bodies))), read


def first_table(browser: Browser) -> float:
    """The seconds until the page and the first board's first rows are there, whatever they have to
    wait for.
    """
    page, (_, index) = browser.fetch("", "api/index.json")
    rows, _ = browser.fetch(f"api/boards/{index['boards'][0]['id']}/part/0.json")
    return page.seconds + rows.seconds


def measure(browser: Browser, asked: int) -> dict[str, list[Fetched]]:
    """Every kind of answer, so many times; a board is worked out once and then only fetched."""
    chance = random.Random(1)
    _, (index,) = browser.fetch("api/index.json")
    base = f"api/boards/{index['boards'][0]['id']}"
    found: dict[str, list[Fetched]] = {"first table": []}
    for _ in range(5):
        fetched, (_, _, board) = browser.fetch("", "api/index.json", f"{base}/part/0.json")
        found["first table"].append(fetched)
    found["further rows"] = []
    for part in range(board["parts"]):
        fetched, (more,) = browser.fetch(f"{base}/part/{part + 1}.json")
        found["further rows"].append(fetched)
        board["rows"] += more["rows"]
    scenarios = [one["id"] for one in board["scenarios"]]
    found["scenario"] = [
        browser.fetch(f"{base}/scenarios/{scenario}/part/all/0.json")[0]
        for scenario in scenarios[:5]
    ]
    found["subject"], ids = [], []
    for row in chance.sample(board["rows"], min(20, len(board["rows"]))):
        fetched, (one,) = browser.fetch(f"{base}/subjects/{row['subject']['id']}.json")
        found["subject"].append(fetched)
        ids += [entry["id"] for entry in one["transcripts"]]
    subjects = [row["subject"]["id"] for row in board["rows"]]
    pairs = [chance.sample(subjects, 2) for _ in range(PAIRS if len(subjects) > 1 else 0)]
    found["compare"] = [
        browser.fetch(f"{base}/compare/{one}/{other}.json")[0] for one, other in pairs
    ]
    chosen = chance.choices(ids, k=asked)
    found["transcript"] = [browser.fetch(f"api/transcripts/{one}.json")[0] for one in chosen]
    return {name: of for name, of in found.items() if of}


def search(browser: Browser) -> dict[str, list[Fetched]]:
    """The first query, and queries of words that were said, also of the commonest."""
    chance = random.Random(3)
    _, (index,) = browser.fetch("api/index.json")
    base = f"api/boards/{index['boards'][0]['id']}"
    _, (board,) = browser.fetch(f"{base}/part/0.json")
    subjects = [row["subject"]["id"] for row in board["rows"][:20]]
    pages = [browser.fetch(f"{base}/subjects/{one}.json")[1][0] for one in subjects]
    transcripts = [chance.choice(page["transcripts"])["id"] for page in pages]
    first, (answer,) = browser.fetch("api/search.json?words=first")
    base, queries, spoken = "api/search.json?of=said&words=", [], Counter[str]()
    for id_ in transcripts:
        _, (talk,) = browser.fetch(f"api/transcripts/{id_}.json")
        text = " ".join(line["text"] for line in talk["lines"] if line["reply"])
        words = sorted(set(re.findall(r"[a-z]{4,20}", text.lower())))
        spoken.update(words)
        pair = chance.sample(words, min(2, len(words)))
        queries.append(browser.fetch(f"{base}{'%20'.join(pair)}%20")[0])
    common = [browser.fetch(f"{base}{word}")[0] for word, _ in spoken.most_common(3)]
    print(f"search: {answer['conversations']:,} conversations\n")
    return {"first query": [first], "query": queries, "query, common word": common}


def drawn(address: str) -> dict[str, list[Fetched]]:
    """What a person waits for, in Chromium: the first table, and conversations of subjects of that
    board.
    """
    browser = Browser(address)
    _, (index,) = browser.fetch("api/index.json")
    base = f"api/boards/{index['boards'][0]['id']}"
    _, (board,) = browser.fetch(f"{base}/part/0.json")
    chance, ids = random.Random(2), []
    for row in chance.sample(board["rows"], min(OPENED, len(board["rows"]))):
        _, (one,) = browser.fetch(f"{base}/subjects/{row['subject']['id']}.json")
        ids.append(chance.choice(one["transcripts"])["id"])
    command = ["node", str(PAGE), address, str(TABLES), *ids]
    found = json.loads(
        subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    )
    return {
        f"{name}, in the browser": [Fetched(taken / 1000, None) for taken in every]
        for name, every in (("first table", found["table"]), ("transcript", found["transcript"]))
    }


@contextmanager
def viewing(store: Path) -> Iterator[tuple[str, float, int]]:
    """`aib view` over *store* while the block runs: its address, the seconds until it was printed,
    its process.
    """
    started = time.perf_counter()
    command = [
        sys.executable,
        "-m",
        "independence_bench",
        "view",
        "--no-open",
        "--port",
        "0",
        "--store",
        str(store),
    ]
    # modules are compiled once, as where a user has installed them
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **pipes, text=True, env=kept) as viewer:
        try:
            found = re.search(r"http://\S+", viewer.stdout.readline() if viewer.stdout else "")
            if found is None:
                raise RuntimeError("`aib view` did not start")
            yield found[0], time.perf_counter() - started, viewer.pid
        finally:
            viewer.terminate()


def main() -> int:
    """Measure, print, and say with the exit code whether every target was met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--transcripts", type=int, default=100_000)
    parser.add_argument("--store", type=Path, help="instead of generating one")
    parser.add_argument("--asked", type=int, default=200, help="transcripts that are opened")
    parser.add_argument("--browser", action="store_true", help="measure in Chromium, too")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = chosen.store or Path(folder) / "store.db"
        if chosen.store is None:
            started = time.perf_counter()
            count = build(path, chosen.transcripts)
            print(
                f"{count:,} judged conversations, {path.stat().st_size / 1e6:.0f} MB, made in "
                f"{time.perf_counter() - started:.0f} s"
            )
        measured: dict[str, list[Fetched]] = {}
        for start in ("ready", "ready again"):
            with viewing(path) as (address, seconds, process):
                browser = Browser(address)
                measured[start] = [Fetched(seconds, None)]
                print(f"{start} after {seconds:.1f} s")
                if start == "ready":
                    measured["table of a new store"] = [
                        Fetched(seconds + first_table(browser), None)
                    ]
                    time.sleep(QUIET)  # what was worked out is kept
                    continue
                measured |= measure(browser, chosen.asked)
                if chosen.browser:
                    measured |= drawn(address)
                print(f"the viewer took {resident(process)}")
                measured |= search(browser)
                print(f"the viewer took {resident(process)}, with search\n")
    rows = [
        (
            name,
            *(f"{1000 * seconds:.0f}" for seconds in (median(taken), max(taken))),
            *sizes([one.size for one in of_one]),
        )
        for name, of_one in measured.items()
        for taken in ([one.seconds for one in of_one],)
    ]
    print(table(("", "ms, median", "ms, worst", "kB, median", "kB, most"), rows))
    print()
    worst = {name: max(one.seconds for one in of_one) for name, of_one in measured.items()}
    bounds = {
        name: FIRST_TABLE if name.startswith("first table") else TRANSCRIPT
        for name in worst
        if name in AIMED
    }
    return verdict(
        [Target(f"{name}, worst", worst[name], bound, "s") for name, bound in bounds.items()]
    )


def sizes(of_one: Sequence[int | None]) -> tuple[str, str]:
    """Median and most, in kB; empty where they were not counted."""
    known = [size for size in of_one if size is not None]
    return (f"{median(known) / 1e3:.0f}", f"{max(known) / 1e3:.0f}") if known else ("", "")


def resident(process: int) -> str:
    """The most memory that *process* has had, in words."""
    most = most_memory(process)
    return "memory that nobody told" if most is None else f"{most:.0f} MB of memory at most"


def most_memory(process: int) -> float | None:
    """The most memory that *process* has had, in MB; None where the system does not say so."""
    status = Path(f"/proc/{process}/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) / 1e3 if found else None


if __name__ == "__main__":
    sys.exit(main())
