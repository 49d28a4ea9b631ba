"""What f7ce088 made and `data/f7ce088` keeps, made usable again: a file, a PostgreSQL database, an
export.

restored(tmp_path / "store.db")     # v1, v2, lite and published-v2; three judges; failures; cleared
and imported things
"""

from __future__ import annotations

import lzma
import subprocess
import tarfile
import zlib
from pathlib import Path

import frozen_stores
import psycopg
from frozen_stores import BLOBS
from postgres import USER, Server, program

MADE = Path(__file__).parent / "data" / "f7ce088"


def read(name: str) -> bytes:
    """A file of `data`, decompressed."""
    return lzma.decompress((MADE / name).read_bytes())


def restored(store: Path) -> Path:
    """The SQLite file, at *store*."""
    return frozen_stores.restored(store, MADE / "store.sqlite3.xz")


def restored_database(server: Server, name: str) -> str:
    """The dump, in the empty database *name*; its address."""
    restore = [
        program("psql"),
        "-q",
        "-h",
        str(server.folder),
        "-p",
        str(server.port),
        "-U",
        USER,
        name,
    ]
    subprocess.run(restore, input=read("store.sql.xz"), stdout=subprocess.DEVNULL, check=True)
    with psycopg.connect(server.url(name)) as connection:
        for table, key, blob in BLOBS:
            found = connection.execute(
                f"SELECT {blob}, {key} FROM {table} WHERE {blob} IS NOT NULL"
            ).fetchall()
            packed = [(zlib.compress(text), one) for text, one in found]
            connection.cursor().executemany(
                f"UPDATE {table} SET {blob} = %s WHERE {key} = %s", packed
            )
    return server.url(name)


def unpacked_export(folder: Path) -> Path:
    """The export, in the new *folder*."""
    with tarfile.open(MADE / "export.tar.xz") as tar:
        tar.extractall(folder, filter="data")
    return folder
