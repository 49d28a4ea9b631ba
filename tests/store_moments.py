"""A store as it was at some moment of a run, and everything that can be read of it.

    copies = take(folder, draw, orders=ORDERS, many=200)     # of one store, while it is filled
    found = read_all(copy, folder, "lite")
    found.wrong, found.answered

Copies are consistent (SQLite's own backup) and partial: conversations without marks, subjects
without conversations, a second judge that has just begun.
"""

from __future__ import annotations

import asyncio
import contextlib
import csv
import io
import json
import random
import sqlite3
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import click
from simulated_endpoint import play
from viewer_store import answering

from independence_bench.calls.limits import Policy
from independence_bench.cli.main import cli
from independence_bench.engine.ask import Asker
from independence_bench.errors import BenchError
from independence_bench.simulate.faults import MIXED, Faults
from independence_bench.simulate.server import Latency, Settings

# {p}: a protocol's name; {out}: a folder
COMMANDS = (
    "leaderboard", "leaderboard --json --protocol {p}", "leaderboard --detailed --protocol {p}",
    "leaderboard --json --rules published --protocol "
        "{p}", "leaderboard --jury judge@,judge-plain --protocol {p}",
    "compare stubborn agreeable",
    "compare stubborn agreeable --json --protocol {p} --rules published",
    "compare stubborn random --json --protocol {p}", "compare --by reasoning --protocol {p}",
    "judges --protocol {p}", "judges --json", "extract-names", "extract-names --json --protocol "
        "{p}",
    "costs", "costs --json",
    "scenarios --protocol {p}", "scenarios --json", "audit", "audit --json --protocol {p} "
        "--rules published",
    "exam", "exam --json --rubric resistance",
    "gate --write {out}/baseline.json stubborn --protocol {p}", "gate {out}/baseline.json stubborn "
        "--protocol {p}",
    "show stubborn negotiation --protocol {p}", "generate-report --protocol {p} --out {out}/report",
    "generate-report --rules published --protocol {p} --out "
        "{out}/published", "export {out}/export --raw",
    "site {out}/site --raw", "estimate-cost embedded --judge embedded --protocol {p}",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Order:
    """One command of those that fill the store, one after the other."""

    protocol: str
    names: tuple[str, ...]
    judge: str | None
    runs: int = 1
    exam: tuple[str, ...] = ()  # rubrics: nothing is played, the judge sits the exam in these


EVERY = 8.0  # seconds of simulated time, at most, between two moments

ORDERS = (
    Order("lite", ("stubborn", "agreeable", "random"), None),
    Order("lite", ("stubborn", "agreeable", "random", "refuser", "gives-in-at-2"), "judge", runs=2),
    Order("v2", ("agreeable", "stubborn", "terse"), "judge-plain"),
    Order("lite", ("stubborn", "agreeable", "debris", "random"), "judge-plain", runs=2),
    Order("v2", ("stubborn", "agreeable", "random", "terse"), "judge", runs=2),
    Order("v2", (), "judge", exam=("resistance", "stability")),
)
PROTOCOLS = tuple(dict.fromkeys(order.protocol for order in ORDERS))


@dataclass(slots=True)
class Found:
    """What came of reading one copy."""

    answered: int = 0  # commands and paths that gave what they were asked for
    refused: int = 0  # commands that said in one line why they cannot
    wrong: list[str] = field(default_factory=list)


def take(folder: Path, draw: random.Random, orders: Sequence[Order], many: int) -> list[Path]:
    """*many* copies (or as many as there are) of a store that *orders* fill, drawn from the moments
    of the run.
    """
    store = folder / "store.db"
    taken: list[Path] = []

    async def copy_now_and_then(_asker: Asker) -> None:
        """Until the asking has ended."""
        while True:
            await asyncio.sleep(draw.uniform(0, EVERY))
            if store.exists():
                taken.append(folder / f"{len(taken)}.db")
                backup(store, taken[-1])

    settings = Settings(
        seed=draw.randrange(1000), faults=Faults({MIXED: 0.15}), latency=Latency(0.5, 6.0)
    )
    for order in orders:
        play(
            order.protocol,
            store,
            settings,
            names=order.names,
            runs=order.runs,
            judged=order.judge is not None,
            judge=order.judge or "judge",
            policy=Policy(failures=4, patience=30.0, first_wait=0.5),
            seed=draw.randrange(1000),
            exam=order.exam,
            during=copy_now_and_then,
        )
    chosen = sorted(draw.sample(range(len(taken)), min(many, len(taken))))
    for number in set(range(len(taken))) - set(chosen):
        taken[number].unlink()
    return [taken[number] for number in chosen]


def backup(store: Path, copy: Path) -> None:
    """A consistent copy of what has been committed."""
    with (
        contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as source,
        contextlib.closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)


def read_all(store: Path, folder: Path, protocol: str, commands: Sequence[str] = COMMANDS) -> Found:
    """Run *commands* on *store* and ask the viewer for every path that it has."""
    found = Found()
    for command in commands:
        problem = _run(command.format(p=protocol, out=folder), store, found)
        if problem is not None:
            found.wrong.append(f"aib {command}: {problem}")
    with answering(store) as answers:
        for path in answers.list_paths():
            try:
                body = answers.get(path)
                if body is None:
                    raise LookupError("a path without an answer")
                _strictly(body.decode("utf-8-sig"), path)
                found.answered += 1
            except Exception:
                found.wrong.append(f"/{path}: {_ending()}")
    return found


def _run(command: str, store: Path, found: Found) -> str | None:
    """What is wrong with how *command* ended; None where it is as it should be."""
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            cli.main([*command.split(), "--store", str(store)], standalone_mode=False)
        if "--json" in command:
            _strictly(out.getvalue(), ".json")
        found.answered += 1
    except (BenchError, SystemExit) as error:
        found.refused += 1
        return f"more than one line: {error}" if "\n" in str(error).strip() else None
    except click.exceptions.Abort:
        found.refused += 1
    except Exception:
        return _ending()
    return None


def _strictly(text: str, path: str) -> None:
    """Raises ValueError for what is no JSON or no table."""
    if path.endswith(".json"):
        json.loads(text, parse_constant=_no_number)
    elif len({len(row) for row in csv.reader(io.StringIO(text), strict=True)}) > 1:
        raise ValueError("a table whose rows are of different lengths")


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _ending() -> str:
    return " | ".join(line.strip() for line in traceback.format_exc().strip().splitlines()[-5:])
