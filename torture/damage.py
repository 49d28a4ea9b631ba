"""Damaged stores: bytes flipped, schemas garbled, rows changed, views in the place of tables; read
by every command.

    PYTHONPATH=tests python torture/damage.py [--stores 200] [--seed 1]

Each store is a copy of one that was played, judged and imported into, with one kind of damage.
Every command that reads has to end with its answer or with one line that says what is wrong: never
with a traceback, never with more than a minute of CPU. Exit code 1 where one did not.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import lzma
import random
import shutil
import sqlite3
import sys
import tempfile
import time
import traceback
import zlib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import click

from independence_bench.cli.main import cli
from independence_bench.errors import BenchError

STORE = Path(__file__).parents[1] / "tests" / "data" / "f7ce088" / "store.sqlite3.xz"
LONGEST = 60.0  # seconds of CPU
REPORTED = 20  # stores: then it says how far it is
COMMANDS = (
    "leaderboard", "leaderboard --json --protocol v1", "leaderboard --rules "
        "published", "compare acme/one acme/three",
    "judges", "extract-names", "costs", "scenarios", "audit", "show acme/one negotiation",
    "generate-report --out {folder}/report", "export {folder}/export "
        "--raw", "site {folder}/site --raw",
    "estimate-cost embedded --judge embedded", "exam", "gate --write {folder}/baseline.json "
        "acme/one",
    "clear judgements acme/one --yes",
)  # fmt: skip
PACKED = (
    ("transcripts", "lines"),
    ("calls", "request"),
    ("attempts", "raw"),
    ("protocols", "files"),
)
Damage = Callable[[Path, random.Random], str]


def flip_bytes(store: Path, draw: random.Random) -> str:
    """Some bytes anywhere."""
    return _flip(store, draw, 0, store.stat().st_size, draw.choice((1, 10, 1000)))


def flip_schema(store: Path, draw: random.Random) -> str:
    """Some bytes of the first page, behind the header."""
    return _flip(store, draw, 100, 4096, draw.choice((1, 5, 50)))


def _flip(store: Path, draw: random.Random, start: int, stop: int, many: int) -> str:
    data = bytearray(store.read_bytes())
    for _ in range(many):
        data[draw.randrange(start, min(stop, len(data)))] = draw.randrange(256)
    store.write_bytes(data)
    return f"{many} bytes between {start} and {stop}"


def cut_short(store: Path, draw: random.Random) -> str:
    """The end is missing."""
    size = draw.randrange(1, store.stat().st_size)
    store.write_bytes(store.read_bytes()[:size])
    return f"cut to {size} bytes"


VALUES: tuple[object, ...] = (
    None, "", "x", b"", b"\0\xff", -1, 0, 1.5, float("inf"), 10**18, "null", "[]", "{}", '{"a": 1}',
    "[1]", "\x1b[31m", "9" * 400,
)  # fmt: skip


def change_row(store: Path, draw: random.Random) -> str:
    """A value, or a whole column, is something else."""
    with contextlib.closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("pragma ignore_check_constraints = on")
        tables = [
            name
            for (name,) in connection.execute("select name from sqlite_schema where type = 'table'")
        ]
        for _ in range(20):
            table = draw.choice(tables)
            column = draw.choice(
                [row[1] for row in connection.execute(f"pragma table_info({table})")]
            )
            value = draw.choice(VALUES)
            every = draw.random() < 0.3
            where = (
                ""
                if every
                else f" where rowid = (select rowid from {table} order by random() limit 1)"
            )
            with contextlib.suppress(sqlite3.Error):
                changed = connection.execute(
                    f"update {table} set {column} = ?{where}", (value,)
                ).rowcount
                if changed:
                    return f"{table}.{column} = {str(value)[:20]!r} in {changed} rows"
    return "nothing"


def spoil_blob(store: Path, draw: random.Random) -> str:
    """A packed text is another one, or none."""
    texts = (
        "",
        "x",
        "[]",
        "{}",
        "null",
        "[[]]",
        '["Be.",[]]',
        '["Be.",[{"speaker":"human"}]]',
        "[" * 5000,
        json.dumps({"choices": 1}),
    )
    with contextlib.closing(sqlite3.connect(store)) as connection, connection:
        table, column = draw.choice(PACKED)
        text = draw.choice(texts)
        connection.execute(f"update {table} set {column} = ?", (zlib.compress(text.encode()),))
    return f"{table}.{column} is {text[:20]!r}"


def view_for_table(store: Path, draw: random.Random) -> str:
    """A table's name belongs to a view, one without an end among them."""
    with contextlib.closing(sqlite3.connect(store)) as connection, connection:
        tables = [
            name
            for (name,) in connection.execute("select name from sqlite_schema where type = 'table'")
        ]
        table = draw.choice(tables)
        columns = [row[1] for row in connection.execute(f"pragma table_info({table})")]
        connection.execute("pragma foreign_keys = off")
        connection.execute(f"drop table {table}")
        what = draw.choice(("endless", "itself", "other"))
        if what == "endless":
            chosen = ", ".join(["n", *["'x'"] * (len(columns) - 1)])
            connection.execute(
                f"create view {table}({', '.join(columns)}) as "
                "with recursive r(n) as (select 1 union all select n + 1 from r) select "
                f"{chosen} from r"
            )
        elif what == "itself":
            connection.execute(f"create view {table} as select * from {table}")
        else:
            connection.execute(f"create view {table} as select 1 as one")
    return f"{table} is a view: {what}"


KINDS: tuple[Damage, ...] = (
    flip_bytes,
    flip_schema,
    cut_short,
    change_row,
    spoil_blob,
    view_for_table,
)


def _whole(store: Path) -> None:
    """Write the store to be damaged to *store*; in the file its texts are not packed one by one, so
    that they can be as a whole.
    """
    store.write_bytes(lzma.decompress(STORE.read_bytes()))
    with contextlib.closing(sqlite3.connect(store)) as connection, connection:
        connection.create_function("pack", 1, zlib.compress)
        for table, column in PACKED:
            connection.execute(
                f"update {table} set {column} = pack({column}) where {column} is not null"
            )


def run(command: str, store: Path, folder: Path) -> str | None:
    """What is wrong with how *command* ended on *store*; None where it is as it should be."""
    words = command.format(folder=folder, subject="stubborn").split()
    out, began = io.StringIO(), time.process_time()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            cli.main([*words, "--store", str(store)], standalone_mode=False)
    except (BenchError, click.exceptions.ClickException, click.exceptions.Abort) as error:
        if "\n" in str(error).strip() and isinstance(error, BenchError):
            return f"more than one line: {error}"
    except SystemExit:
        pass
    except BaseException:
        last = traceback.format_exc().strip().splitlines()
        return " | ".join(line.strip() for line in last[-5:])
    took = time.process_time() - began
    return f"more than {LONGEST:.0f} s of CPU" if took > LONGEST else None


def read_damaged(whole: Path, number: int) -> tuple[str, list[tuple[str, str]]]:
    """Damage a copy of the store *whole* as *number* draws it, and read it by every command; the
    damage in words, and (what is wrong, command) for each command that did not end as it should.
    """
    draw, folder = random.Random(number), whole.with_name(str(number))
    folder.mkdir()
    store = folder / "aib.db"
    store.write_bytes(whole.read_bytes())
    damage = KINDS[number % len(KINDS)]
    said = f"{number} {damage.__name__} ({damage(store, draw)})"
    found = [(run(command, store, folder), command) for command in COMMANDS]
    shutil.rmtree(folder)
    return said, [(problem, command) for problem, command in found if problem]


def main() -> int:
    """Damage stores and read them; say what went wrong, once for each way."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--stores", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    wanted = options.parse_args()
    wrong: dict[str, str] = {}
    # a command's output and CPU time are those of its process, so each reads one store at a time
    with tempfile.TemporaryDirectory() as name, ProcessPoolExecutor() as pool:
        whole = Path(name) / "whole.db"
        _whole(whole)
        numbers = range(wanted.seed, wanted.seed + wanted.stores)
        every = pool.map(partial(read_damaged, whole), numbers)
        for read, (said, problems) in enumerate(every, start=1):
            for problem, command in problems:
                if problem not in wrong:
                    wrong[problem] = command
                    print(f"{said}: aib {command}: {problem}", flush=True)
            if read % REPORTED == 0:
                print(f"{read} of {wanted.stores} read", file=sys.stderr, flush=True)
    print(f"{wanted.stores} stores, {len(COMMANDS)} commands each: {len(wrong)} ways to go wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
