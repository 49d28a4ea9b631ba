"""Starts and stops the embedded model as an ordinary endpoint on a free loopback port.

The model runs in a child process: this one stays responsive, and a crash of the runtime is an error here
and not the end. The child has a session of its own, so Ctrl-C in the terminal reaches only this process,
which may finish its calls in flight; it ends with this process even if this one is killed. Knows nothing of
the benchmark; whoever calls the endpoint cannot tell it from another one.
How the endpoint behaves, as measured: docs/local-models.md.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO

from independence_bench.errors import EmbeddedError
from independence_bench.models.local import host
from independence_bench.models.local.weights import SMOLLM2

START_UP_SECONDS = 120.0  # it takes half a second; a cold disk or a busy machine may take many
MOST = 4  # replies at once; each takes 200 MB on top of the weights
_DYING_SECONDS = 0.5
_QUOTED_LINES = 3


def identity() -> str:
    """What answers, for the key of a reply: the weights, the chat template and the default sampling by hash.

    The address and the runtime's version are not in it: they say where and with what, not who.
    """
    shown = f"{host.chat_template()}\n{host.TEMPERATURE} {host.REPEAT_PENALTY} {host.REPLY_TOKENS}"
    return f"{SMOLLM2.model} gguf:{SMOLLM2.sha256[:16]} shown:{hashlib.sha256(shown.encode()).hexdigest()[:16]}"


def at_once_here() -> int:
    """How many replies are generated at once here: one for each core that this process may use, at most `MOST`."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, MOST)


@asynccontextmanager
async def serve(
    weights: Path, *, at_once: int = 1, context: int = 8192, states: Path | None = None, log: Path | None = None
) -> AsyncIterator[str]:
    """Serve *weights* and give the base URL, such as `http://127.0.0.1:40001/v1`, until the block is left.

    *at_once* replies, 1 or more, are generated at a time; the weights are in memory once. *context* is in tokens, at
    most 8192 (what the model was trained for), and costs 23 kB of memory each. Evaluated prompts are kept in the
    folder *states*, or in one of its own that goes with it. The child's log goes to *log*, which is replaced, or
    nowhere. Raises EmbeddedError if the runtime is not installed, if the server does not start, or if it ended before
    the block did; an error of the block's own is then the cause.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        raise EmbeddedError("the embedded model needs its runtime: pip install xllamacpp")
    with (
        # a child that is just being killed may still write into its folder
        nullcontext(states)
        if states
        else TemporaryDirectory(prefix="aib-embedded-", ignore_cleanup_errors=True) as folder,
        log.open("w+b") if log else TemporaryFile() as trace,
        _child([str(weights), str(folder), str(context), str(at_once)], trace) as child,
    ):
        address = await _address(child, trace)
        try:
            yield f"{address}/v1"
        except Exception as error:
            # a dying child resets its connections a little before it can be waited for
            with suppress(subprocess.TimeoutExpired):
                child.wait(_DYING_SECONDS)
                raise _ended(child, trace, "ended while it was in use") from error
            raise
        if child.poll() is not None:
            raise _ended(child, trace, "ended while it was in use")


@contextmanager
def _child(arguments: Sequence[str], trace: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """The host process. It has nothing to save, so it is killed when the block is left, before its folder goes.

    Its standard input is a pipe that nothing is written to, open as long as this process lives.
    """
    # -P: a file in the current folder must not stand in for a module of ours
    command = [sys.executable, "-P", "-m", host.__name__, *arguments]
    with subprocess.Popen(  # noqa: S603 - our own arguments, no shell
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=trace,
        start_new_session=True,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    ) as child:
        try:
            yield child
        finally:
            child.kill()


async def _address(child: subprocess.Popen[bytes], trace: IO[bytes]) -> str:
    """Wait until the child answers and return its address. Raises EmbeddedError when it ends or hangs."""
    assert child.stdout is not None  # noqa: S101 - a pipe was asked for
    try:
        # a thread may wait for a pipe on every platform; killing the child ends it
        line = await asyncio.wait_for(asyncio.to_thread(child.stdout.readline), START_UP_SECONDS)
    except TimeoutError:
        raise _ended(child, trace, f"did not answer within {START_UP_SECONDS:.0f} s") from None
    if not line:
        child.wait()
        raise _ended(child, trace, "did not start")
    return line.decode().strip()


def _ended(child: subprocess.Popen[bytes], trace: IO[bytes], what: str) -> EmbeddedError:
    """One line: what happened, the exit code and the end of the child's log."""
    trace.seek(0)
    lines = [line.strip() for line in trace.read().decode(errors="replace").splitlines() if line.strip()]
    code = f" (exit code {child.returncode})" if child.returncode is not None else ""
    quoted = f": {' | '.join(lines[-_QUOTED_LINES:])}" if lines else ""
    return EmbeddedError(
        f"the embedded model's server {what}{code}{quoted}; try again, or run `aib embedded install` if its "
        "weights are damaged"
    )
