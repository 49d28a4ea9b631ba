"""What f7ce088 made and `data/f7ce088` keeps, made usable again: a file, a PostgreSQL database, an export.

restored(tmp_path / "store.db")     # v1, v2, lite and published-v2; three judges; failures; cleared and imported things
"""

from __future__ import annotations

import lzma
import sqlite3
import subprocess
import tarfile
import zlib
from contextlib import closing
from pathlib import Path

import psycopg
from postgres import USER, Server, program

MADE = Path(__file__).parent / "data" / "f7ce088"
BLOBS = (  # table, key, column; in `data` they are not compressed one by one, so that they can be as a whole
    ("protocols", "hash", "files"),
    ("calls", "key", "request"),
    ("attempts", "id", "raw"),
    ("transcripts", "id", "lines"),
)


def read(name: str) -> bytes:
    """A file of `data`, decompressed."""
    return lzma.decompress((MADE / name).read_bytes())


def restored(store: Path) -> Path:
    """The SQLite file, at *store*."""
    store.write_bytes(read("store.sqlite3.xz"))
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.create_function("pack", 1, zlib.compress)
        for table, _, blob in BLOBS:
            connection.execute(f"UPDATE {table} SET {blob} = pack({blob}) WHERE {blob} IS NOT NULL")
    return store


def restored_database(server: Server, name: str) -> str:
    """The dump, in the empty database *name*; its address."""
    restore = [program("psql"), "-q", "-h", str(server.folder), "-p", str(server.port), "-U", USER, name]
    subprocess.run(restore, input=read("store.sql.xz"), stdout=subprocess.DEVNULL, check=True)
    with psycopg.connect(server.url(name)) as connection:
        for table, key, blob in BLOBS:
            found = connection.execute(f"SELECT {blob}, {key} FROM {table} WHERE {blob} IS NOT NULL").fetchall()
            packed = [(zlib.compress(text), one) for text, one in found]
            connection.cursor().executemany(f"UPDATE {table} SET {blob} = %s WHERE {key} = %s", packed)
    return server.url(name)


def unpacked_export(folder: Path) -> Path:
    """The export, in the new *folder*."""
    with tarfile.open(MADE / "export.tar.xz") as tar:
        tar.extractall(folder, filter="data")
    return folder
