"""`aib` in this process: as quick as a function, with the folder, environment and streams of a
process of its own.

    done = invoke(folder, {"HOME": str(folder)}, "leaderboard", "--json")
    done.returncode, done.stdout, done.stderr

Where a signal, a terminal, a kill or a second process is what matters, tests start one
(`simulated_endpoint.start_aib`).
"""

from __future__ import annotations

import gc
import io
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from independence_bench.cli.main import main
from independence_bench.escape import KNOWN, SENT
from independence_bench.models.trust import ASIDE


def invoke(
    folder: Path,
    environment: Mapping[str, str],
    *arguments: str,
    typed: str = "",
    terminal: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run `aib` to its end; an exception that would be a traceback is raised. *terminal*: it is
    typed at one.
    """
    out, err = _stream(), _stream()
    with _as_in_a_process(folder, environment):
        sys.argv = ["aib", *arguments]
        sys.stdin, sys.stdout, sys.stderr = (
            _stream(typed, _Terminal if terminal else io.TextIOWrapper),
            out,
            err,
        )
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        else:
            raise AssertionError("it did not exit")
    return subprocess.CompletedProcess(["aib", *arguments], code, _text(out), _text(err))


@contextmanager
def _as_in_a_process(folder: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """Folder, environment, streams and known secrets as they were, at the end."""
    streams = sys.argv, sys.stdin, sys.stdout, sys.stderr
    before, here = dict(os.environ), Path.cwd()
    secrets = [(each, dict(each._plain)) for each in (KNOWN, SENT)]
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    try:
        yield
    finally:
        sys.argv, sys.stdin, sys.stdout, sys.stderr = streams
        os.environ.clear()
        os.environ.update(before)
        os.chdir(here)
        for each, known in secrets:
            each._plain = known
        ASIDE.clear()
        gc.unfreeze()


class _Terminal(io.TextIOWrapper):
    """What is typed at a terminal."""

    def isatty(self) -> bool:
        """As a terminal says."""
        return True


def _stream(typed: str = "", kind: type[io.TextIOWrapper] = io.TextIOWrapper) -> io.TextIOWrapper:
    return kind(io.BytesIO(typed.encode()), encoding="utf-8", write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode().replace("\r\n", "\n").replace("\r", "\n")
