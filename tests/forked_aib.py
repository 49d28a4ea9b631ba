"""`aib` as a process of its own, forked from one that has imported everything: real signals,
streams and kills.

    with start(["run", ...], cwd=folder, env=environment, stdout=subprocess.PIPE) as child:
        # like subprocess.Popen
        child.send_signal(signal.SIGINT)
    put_aib(folder)
        # a program `aib` for a shell script, which has it forked; signals do not reach it

A start takes a second of a processor, nearly all of it imports, and hundreds of tests start one.
Where an environment would change the interpreter itself, and where what is started is not `aib`
alone, it is a start like any other.
"""

from __future__ import annotations

import gc
import importlib
import json
import logging
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from independence_bench.cli.main import COMMANDS, main
from independence_bench.models.endpoints import load_shipped_subjects
from independence_bench.protocol.loader import list_shipped, load_protocol
from independence_bench.store.database import open_store

AIB = str(Path(sys.executable).with_name("aib"))
# the variable with the address of the server that somebody has started already
SHARED = "AIB_TESTS_FORKS"
STATUS = struct.Struct("i")
CLIENT = """\
#!{python} -IS
import json, os, socket, sys
read, ended = os.pipe()
order = {{"args": sys.argv, "cwd": os.getcwd(), "env": dict(os.environ), "leads": False}}
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
    server.connect({address!r})
    socket.send_fds(server, [json.dumps(order).encode()], [0, 1, 2, ended])
    server.recv(64)
os.close(ended)
told = os.read(read, 4)  # nothing, where the server has gone
sys.exit(int.from_bytes(told, sys.byteorder, signed=True) if told else "the server has gone")
"""
# Python's development mode; there every log is on as well
DEBUGGING = ("-X", "dev", "-X", "faulthandler")
MOST = 1 << 17  # bytes of a command and its environment
# while a process becomes what it was told to be
HELD = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
LANGUAGE = {"LANG": "C.UTF-8"}


def start(
    arguments: Sequence[str], *, env: Mapping[str, str], **more: Any
) -> subprocess.Popen[Any]:
    """Start `aib` with these *arguments*; *more* is what subprocess.Popen takes, and *options* of
    the interpreter.
    """
    plain = (
        not any(name.startswith(("PYTHON", "LC_")) for name in env)
        and env.get("LANG") == LANGUAGE["LANG"]
    )
    if plain and "preexec_fn" not in more:
        return _Forked([AIB, *arguments], env=env, **more)
    return subprocess.Popen([AIB, *arguments], env=env, **more)


def put_aib(folder: Path) -> None:
    """A program `aib` in *folder*, which stands first in somebody's PATH."""
    program = folder / "aib"
    program.write_text(CLIENT.format(python=sys.executable, address=_address(())), encoding="utf-8")
    program.chmod(0o755)


class _Forked(subprocess.Popen[Any]):
    """A child of the server, so its end is told by a pipe and not by the system."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        start_new_session: bool = False,
        options: Sequence[str] = (),
        **more: Any,
    ) -> None:
        self._leads, self._options = start_new_session, options
        self._end = -1
        super().__init__(arguments, **more)

    def _execute_child(self, args: Any, *given: Any) -> None:
        cwd, env, ends = given[4], given[5], given[9:15]
        read, _, _, written, _, error = ends
        self._end, ended = os.pipe()
        streams = [
            number if end == -1 else end for number, end in enumerate((read, written, error))
        ]
        try:
            self.pid = _begin(
                _address(self._options),
                {
                    "args": args,
                    "cwd": os.fspath(cwd or Path.cwd()),
                    "env": dict(env),
                    "leads": self._leads,
                },
                [*streams, ended],
            )
            self._child_created = True
        finally:
            os.close(ended)
            self._close_pipe_fds(*ends)  # type: ignore[attr-defined]

    def _wait(self, timeout: float | None) -> int:
        if self.returncode is None:
            if not select.select([self._end], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
            told = os.read(self._end, STATUS.size)
            os.close(self._end)
            self.returncode = STATUS.unpack(told)[0] if told else -signal.SIGKILL
        return self.returncode

    def _internal_poll(self, *_given: Any, **_named: Any) -> int | None:
        try:
            return self._wait(0.0)
        except subprocess.TimeoutExpired:
            return None


class _Server:
    """The process that forks. It ends with the one that has started it."""

    def __init__(self, options: Sequence[str]) -> None:
        self._alive, theirs = socket.socketpair()
        listens = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # a short path; the server takes it away
        self.address = str(Path(tempfile.mkdtemp(prefix="aib-")) / "forks")
        listens.bind(self.address)
        listens.listen(64)
        ends = [theirs.fileno(), listens.fileno()]
        self._process = subprocess.Popen(
            [sys.executable, *options, __file__, *map(str, ends)],
            pass_fds=ends,
            env=os.environ | LANGUAGE,
            start_new_session=True,
        )
        theirs.close()
        listens.close()


@cache
def _server(*options: str) -> _Server:
    return _Server(options)


def share() -> None:
    """Have one server fork for this process and for those that it starts: each takes seconds to
    import everything.
    """
    os.environ[SHARED] = _server().address


_MAKING = threading.Lock()


def _address(options: Sequence[str]) -> str:
    with _MAKING:  # of two threads each would make one, and that of the first would end
        if options or SHARED not in os.environ:
            return _server(*options).address
        return os.environ[SHARED]


def _begin(address: str, order: Mapping[str, Any], files: Sequence[int]) -> int:
    """The process that carries *order* out, forked by the server at *address*."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.connect(address)
        socket.send_fds(server, [json.dumps(order).encode()], list(files))
        return int(server.recv(64))


# ---------------------------------------------------------------- the process that forks


def serve(alive: socket.socket, listens: socket.socket) -> dict[str, Any] | None:
    """Fork for each order until *alive* is closed at its other end; in the child: the order."""
    for module in {entry.module for entry in COMMANDS.values()}:
        importlib.import_module(f"independence_bench.cli.{module}")
    _warm_up(Path(listens.getsockname()).parent)
    gc.collect()
    gc.freeze()
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    ends: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([alive, listens, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            while ends and (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = ended
                with suppress(BrokenPipeError):  # who asked has gone
                    os.write(ends[pid], STATUS.pack(os.waitstatus_to_exitcode(status)))
                os.close(ends.pop(pid))
        if alive in ready:
            return None
        if listens not in ready:
            continue
        asking, _ = listens.accept()
        message, files, *_ = socket.recv_fds(asking, MOST, 4)
        if not message:  # whoever asked has gone
            asking.close()
            continue
        become, became = os.pipe()
        signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
        if not (pid := os.fork()):
            os.close(become)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for end in (woken, wake, *ends.values()):
                os.close(end)
            asking.close()
            order: dict[str, Any] = json.loads(message)
            _become(order, files)
            os.close(became)
            # as from a terminal, though who began the tests may ignore some: `nohup`, a shell's `&`
            for number in HELD:
                signal.signal(
                    number,
                    signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL,
                )
            signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)
            return order
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)
        os.close(became)
        os.read(become, 1)  # until it is what it was told to be
        os.close(become)
        ends[pid] = files.pop()
        for file in files:
            os.close(file)
        asking.send(str(pid).encode())
        asking.close()


def _warm_up(folder: Path) -> None:
    """Do once what every child would do: import what is imported late, compile the tables, read the
    protocols.
    """
    importlib.import_module("numpy.ma")
    # it has the tables, and nothing is written
    with open_store(folder / "none.db") as store, store.open_snapshot():
        pass
    for name in list_shipped():
        load_protocol(name)
    load_shipped_subjects()


def _become(order: Mapping[str, Any], files: Sequence[int]) -> None:
    """Take the folder, environment, streams and words of *order*."""
    if order["leads"]:
        os.setsid()
    for number, file in enumerate(files[:3]):
        os.dup2(file, number)
    for file in files:
        os.close(file)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    sys.argv = order["args"]
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, buffering, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115 - to the end
        for number, mode, buffering, errors in (
            (0, "r", -1, "surrogateescape"),
            (1, "w", -1, "surrogateescape"),
            (2, "w", 1, "backslashreplace"),
        )
    )


if __name__ == "__main__":
    with (
        socket.socket(fileno=int(sys.argv[1])) as alive,
        socket.socket(fileno=int(sys.argv[2])) as listens,
    ):
        folder = Path(listens.getsockname()).parent
        told = serve(alive, listens)
    if told is None:
        shutil.rmtree(folder)
    else:
        if sys.flags.dev_mode:
            logging.basicConfig(level=logging.DEBUG)
        main()
