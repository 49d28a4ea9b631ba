"""A real PostgreSQL for the tests: Debian's package, a server of its own in a temporary folder."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

USER, PASSWORD = "aib", "a pass:word/of?the#tests"


def program(name: str) -> str:
    """Where one of the server's programs is: on PATH, or where Debian puts it."""
    kept = sorted(
        Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3])
    )
    found = shutil.which(name) or (str(kept[-1]) if kept else None)
    assert found, (
        f"{name} is missing: `make postgres` installs the server (Debian's package postgresql)"
    )
    return found


def somebody() -> dict[str, Any]:
    """Whom the server runs as, for subprocess: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


class Server:
    """A running server. By its socket everybody is let in, on 127.0.0.1 a password is wanted."""

    def __init__(self, folder: Path, durable: bool = False) -> None:
        self.folder, self._durable = folder, durable
        self.port = free_port()
        self._as = somebody()
        self._process: subprocess.Popen[bytes] | None = None
        if self._as:
            os.chown(folder, self._as["user"], self._as["group"])
        secret = folder / "password"
        secret.write_text(PASSWORD, encoding="utf-8")
        secret.chmod(0o644)
        # with the alphabet of a language, as real ones have it: what needs the order of bytes has
        # to say so
        command = [program("initdb"), "-D", str(folder / "data"), "-U", USER,
                   "--pwfile", str(secret), "-E", "UTF8",
                   "--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US",
                   "--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync"]  # fmt: skip
        subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=True, **self._as)

    def start(self) -> None:
        """Start it and wait until it answers."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": self.folder,
            "max_connections": 60,
        }
        if not self._durable:
            settings |= {"fsync": "off", "full_page_writes": "off", "autovacuum": "off"}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        command = [program("postgres"), "-D", str(self.folder / "data"), *options]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=self.folder, stdout=log, stderr=log, **self._as
            )
        until = time.monotonic() + 600
        while True:
            try:
                self.say("SELECT 1")
            except psycopg.OperationalError:
                assert self._process.poll() is None, (self.folder / "log").read_text(
                    encoding="utf-8"
                )
                assert time.monotonic() < until, "the server does not answer"
                time.sleep(0.05)
            else:
                return

    def stop(self) -> None:
        """End it, whoever is connected."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait()
            self._process = None

    def cpu(self) -> float:
        """Seconds of CPU that the server has used, with its connections that are closed."""
        assert self._process is not None
        fields = (
            Path(f"/proc/{self._process.pid}/stat")
            .read_text(encoding="ascii")
            .rpartition(")")[2]
            .split()
        )
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def say(self, *statements: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Carry out *statements* as the server's owner; the rows of the last one."""
        with psycopg.connect(
            host=str(self.folder), port=self.port, user=USER, dbname=database, autocommit=True
        ) as connection:
            for statement in statements:
                done = connection.execute(sql.SQL(statement))  # type: ignore[arg-type]
            return done.fetchall() if done.description else []

    def url(self, database: str) -> str:
        """The address of a database, by the server's socket."""
        return f"postgresql://{USER}@/{database}?host={self.folder}&port={self.port}"

    @contextmanager
    def database(self, how: str = "", like: str = "template0") -> Iterator[str]:
        """The name of a new database: empty, or a copy of *like*. *how* is what CREATE DATABASE is
        told beside it.
        """
        name = f"t{uuid.uuid4().hex[:12]}"
        self.say(f"CREATE DATABASE {name} TEMPLATE {like} STRATEGY wal_log {how}")
        try:
            yield name
        finally:
            self.say(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def running(durable: bool = False) -> Iterator[Server]:
    """A new server, gone at the end with all that was in it; *durable*: its commits wait for the
    disk.
    """
    # a short path, for a socket's name has room for about a hundred characters
    folder = Path(tempfile.mkdtemp(prefix="aib-pg-"))
    folder.chmod(0o755)
    try:
        server = Server(folder, durable)
        try:
            server.start()
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


def free_port() -> int:
    """A port of this machine on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
