"""Makes the other files of this folder: a store, the same in PostgreSQL, its export, its boards,
and hashes.

Run by the Python of a checkout of f7ce088, from that checkout, with its `tests` on PYTHONPATH:

    PYTHONPATH=tests .venv/bin/python .../tests/data/f7ce088/make.py

What that commit made is what users have, so it is made once and then only read
(tests/test_first_stores.py).
"""

from __future__ import annotations

import json
import lzma
import os
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

from postgres import USER, program, running
from published_files import Published, path_of
from simulated_endpoint import aib, simulating
from sqlalchemy import LargeBinary, insert, select, update

from independence_bench.judging.prompt import hash_rubric
from independence_bench.protocol.loader import load_protocol
from independence_bench.protocol.plan import hash_script, list_possible_configurations
from independence_bench.store.database import open_store
from independence_bench.store.rows import unpack
from independence_bench.store.schema import metadata

HERE = Path(__file__).parent
PLAIN, TABLE = "sim:sim/judge-plain", "embedded"
READINGS = {
    **{name: ("--protocol", name) for name in ("v1", "v2", "lite", "published-v2")},
    "v2 by the embedded judge": ("--protocol", "v2", "--judge", "embedded"),
    "v2 by the plain judge": ("--protocol", "v2", "--judge", "judge-plain"),
    "v2 by a jury": ("--protocol", "v2", "--jury", "sim/judge@,judge-plain,embedded"),
    "published-v2 by its rules": ("--protocol", "published-v2", "--rules", "published"),
}


def main() -> None:
    """Play it all into a file, then copy that into a PostgreSQL database."""
    with tempfile.TemporaryDirectory() as name, running() as server, server.database() as database:
        folder = Path(name)
        file, url = str(folder / "store.sqlite3"), server.url(database)
        fill(folder, file)
        copy(file, url)
        boards = {reading: board(folder, file, options) for reading, options in READINGS.items()}
        assert boards == {
            reading: board(folder, url, options) for reading, options in READINGS.items()
        }
        say(folder, "export", str(folder / "export"), "--store", file)
        unpack_blobs(file)
        unpack_blobs(url)
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("VACUUM")
        keep("store.sqlite3.xz", Path(file).read_bytes())
        dump = [
            program("pg_dump"),
            "--no-owner",
            "-h",
            str(server.folder),
            "-p",
            str(server.port),
            "-U",
            USER,
        ]
        keep(
            "store.sql.xz",
            subprocess.run([*dump, database], capture_output=True, check=True).stdout,
        )
        keep("export.tar.xz", packed(folder / "export"))
    keep("boards.json.xz", json.dumps(boards).encode())
    (HERE / "hashes.json").write_text(json.dumps(hashes(), indent=1) + "\n", encoding="utf-8")


def fill(folder: Path, store: str) -> None:
    """Everything that a store can hold, and what went wrong."""
    at = ("--store", store)
    with simulating(folder, "--seed", "5", "--fault", "mixed=0.15"):
        four = [f"sim:sim/{name}" for name in ("rock", "slow-caver-2", "random", "mirror")]
        say(folder, "run", *four, "--runs", "2", "--judge", "sim:sim/judge", *at)
        say(
            folder,
            "run",
            *four[:3],
            "--protocol",
            "lite",
            "--runs",
            "3",
            "--judge",
            "sim:sim/judge",
            *at,
        )
        say(
            folder,
            "run",
            four[0],
            four[2],
            "--protocol",
            "v1",
            "--runs",
            "1",
            "--judge",
            "sim:sim/judge",
            *at,
        )
        say(
            folder,
            "run",
            "sim:sim/evader",
            "--exp",
            "identity",
            "--runs",
            "1",
            "--judge",
            "sim:sim/judge",
            *at,
        )
        say(folder, "run", "sim:sim/debris", "--runs", "1", "--judge", "sim:sim/judge", *at)
    # some answer at the third try, some never
    with simulating(folder, "--seed", "6", "--fault", "empty=0.35"):
        say(folder, "run", "sim:sim/terse", "--runs", "2", "--judge", "sim:sim/judge", *at)
        lite = ("--protocol", "lite", "--runs", "1", "--judge", "sim:sim/judge")
        say(folder, "run", "sim:sim/terse", "sim:sim/slow-caver-3", *lite, *at)
    with simulating(folder, "--seed", "7", "--fault", "judge-missing=0.6"):
        say(folder, "judge", "-j", PLAIN, "--protocol", "v2", *at)
        say(folder, "judge", "-j", PLAIN, "--protocol", "lite", *at)
        for protocol in ("v1", "v2", "lite"):
            say(folder, "judge", "-j", TABLE, "--protocol", protocol, *at)
        say(
            folder,
            "run",
            "sim:sim/verbose",
            "--protocol",
            "lite",
            "--runs",
            "1",
            "--judge",
            "sim:sim/judge",
            *at,
        )
    say(folder, "clear", "responses", "verbose", "-y", *at)
    say(
        folder,
        "clear",
        "judgements",
        "sim/random",
        "--protocol",
        "lite",
        "--judge",
        "embedded",
        "-y",
        *at,
    )
    say(folder, "import", str(published().tar(folder / "published.tar.xz")), *at)


def copy(file: str, url: str) -> None:
    """Every row of the file into the tables that are made for a new database."""
    with (
        open_store(file) as source,
        open_store(url) as target,
        source.open_snapshot() as reading,
        target.open_transaction() as writing,
    ):
        for table in metadata.sorted_tables:
            rows = [dict(row) for row in reading.execute(select(table)).mappings()]
            if rows and table.name != "meta":
                writing.execute(insert(table), rows)


def unpack_blobs(store: str) -> None:
    """Each blob as the text that is in it, which together take a tenth of the room; the test packs
    them again.
    """
    with open_store(store) as opened, opened.open_transaction() as connection:
        for table in metadata.sorted_tables:
            (key,) = list(table.primary_key.columns)[:1]
            for column in table.c:
                if isinstance(column.type, LargeBinary):
                    for found, blob in connection.execute(
                        select(key, column).where(column.is_not(None))
                    ).all():
                        changed = (
                            update(table)
                            .where(key == found)
                            .values({column: unpack(blob).encode()})
                        )
                        connection.execute(changed)


def published() -> Published:
    """Results of somebody else, with conversations that do not count."""
    data = Published()
    for run in (1, 2):
        data.run("acme--one@none-t0.7", run)
    data.run("local--lab--two@low-t1.0", 1)
    data.run("acme--three@none-t0.7", 1)
    other = data.files[path_of("local--lab--two@low-t1.0", 1, "rs02")]
    other["judge_scores"]["resistance_score"] = 1
    data.files[path_of("acme--three@none-t0.7", 1, "direct")]["response"] = ":"
    data.files[path_of("acme--three@none-t0.7", 1, "rs01")]["judge_scores"] = None
    del data.files[path_of("acme--three@none-t0.7", 1, "pt03_turn2")]
    return data


def board(folder: Path, store: str, options: tuple[str, ...]) -> Any:
    """What `aib leaderboard --json` prints."""
    return json.loads(say(folder, "leaderboard", "--json", *options, "--store", store))


def say(folder: Path, *arguments: str) -> str:
    """Run `aib`; what it printed. Some of what goes wrong here cannot be completed: its exit code
    is then 1.
    """
    print("aib", *arguments, file=sys.stderr)
    done = aib(folder, *arguments, timeout=1800)
    assert done.returncode in (0, 1), done
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def hashes() -> dict[str, Any]:
    """Of each shipped protocol: its hash, and those of its scenarios, of what judges are told and
    what is sent.
    """
    found = {}
    for name in ("v1", "v2", "lite"):
        protocol = load_protocol(name)
        found[name] = {
            "protocol": protocol.hash,
            "scenarios": {s.id: s.hash for s in protocol.scenarios},
            "rubrics": {
                s.id: hash_rubric(protocol.judge_instructions, s) for s in protocol.scenarios
            },
            "scripts": {
                str(configuration): {
                    s.id: hash_script(protocol, configuration, s) for s in protocol.scenarios
                }
                for configuration in list_possible_configurations(protocol)
            },
        }
    return found


def packed(folder: Path) -> bytes:
    """The files of *folder* as a tar without anything of this machine."""
    whole = BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        for path in sorted(folder.iterdir()):
            about = tarfile.TarInfo(path.name)
            about.size = path.stat().st_size
            tar.addfile(about, BytesIO(path.read_bytes()))
    return whole.getvalue()


def keep(name: str, content: bytes) -> None:
    """*content*, compressed, as a file of this folder."""
    (HERE / name).write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))
    print(f"{name}: {os.path.getsize(HERE / name):,} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
