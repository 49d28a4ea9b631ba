"""Starts and stops model files as an ordinary endpoint on a free loopback port.

They run in a child process: this one stays responsive, and a crash of the runtime is an error here
and not the end. The child has a session of its own, so Ctrl-C in the terminal reaches only this process,
which may finish its calls in flight; it ends with this process even if this one is killed. Knows nothing of
the benchmark; whoever calls the endpoint cannot tell it from another one.
How the endpoint behaves, as measured: docs/local-models.md.
"""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO

from independence_bench.errors import LocalModelError
from independence_bench.models.local import host
from independence_bench.models.local.files import ModelFile

START_UP_SECONDS = (
    600.0  # half a second for a small model; a cold disk, a large file or a busy machine may take minutes
)
CONTEXT = 8192  # tokens that a conversation may have; each takes 12 to 110 kB, by the size of the model
_DYING_SECONDS = 0.5
_QUOTED_LINES = 3


@asynccontextmanager
async def serve(
    models: Sequence[ModelFile],
    *,
    at_once: int = 1,
    context: int = CONTEXT,
    states: Path | None = None,
    log: Path | None = None,
) -> AsyncIterator[str]:
    """Serve *models* and give the base URL, such as `http://127.0.0.1:40001/v1`, until the block is left.

    *at_once* replies, 1 or more, of each are generated at a time; a file's weights are in memory once. *context* is in
    tokens. Evaluated prompts are kept in the folder *states*, or in one of its own that goes with it. The child's log
    goes to *log*, which is replaced, or nowhere. Raises LocalModelError if the runtime is not installed, if the server
    does not start, or if it ended before the block did; an error of the block's own is then the cause.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        raise LocalModelError("model files need their runtime: pip install xllamacpp")
    named = [f"{model.name}={model.template or ''}={model.repeat_penalty}={model.path}" for model in models]
    with (
        # a child that is just being killed may still write into its folder
        nullcontext(states)
        if states
        else TemporaryDirectory(prefix="aib-models-", ignore_cleanup_errors=True) as folder,
        log.open("w+b") if log else TemporaryFile() as trace,
        _child([str(folder), str(context), str(at_once), *named], trace) as child,
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
    """Wait until the child answers and return its address. Raises LocalModelError when it ends or hangs."""
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


def _ended(child: subprocess.Popen[bytes], trace: IO[bytes], what: str) -> LocalModelError:
    """One line: what happened, the exit code and the end of the child's log."""
    trace.seek(0)
    lines = [line.strip() for line in trace.read().decode(errors="replace").splitlines() if line.strip()]
    code = f" (exit code {child.returncode})" if child.returncode is not None else ""
    quoted = f": {' | '.join(lines[-_QUOTED_LINES:])}" if lines else ""
    return LocalModelError(
        f"the server of the model file {what}{code}{quoted}; try again, with a smaller model if memory is short, or "
        "fetch the file again if it is damaged"
    )
