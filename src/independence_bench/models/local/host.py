"""The child process that runs the embedded model: one chat-completions server on a loopback port.

Started by `server.py` as `python -m independence_bench.models.local.host WEIGHTS FOLDER CONTEXT AT_ONCE`. Writes its
address as one line to its standard output as soon as it answers; everything else, the runtime's log included,
goes to standard error. It ends, and takes the folder along, when its standard input is closed, which also happens when
its parent is killed. Knows nothing of the benchmark.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import IO, Final

from independence_bench.models.local.canonical import answering
from independence_bench.models.local.weights import SMOLLM2

# What a request gets that does not say otherwise. At temperature 0 the model repeats itself for ever; with
# these it does not. top_k 40, top_p 0.95 and min_p 0.05 are the runtime's own.
TEMPERATURE: Final = 0.7
REPEAT_PENALTY: Final = 1.1
REPLY_TOKENS: Final = 512  # only for a request without max_tokens, which would run to the end of the context

# One compute thread: two threads wait for each other at every layer, and on two cores
# that something else is using as well they fell to a tenth of the speed of one.
THREADS: Final = 1


def chat_template() -> str:
    """The chat template that the model is shown conversations through."""
    return files(__package__).joinpath("chat_template.jinja").read_text(encoding="utf-8")


def main(weights: Path, folder: Path, context: int, at_once: int) -> None:
    """Serve *weights*, *at_once* replies at a time, until standard input is closed. Never returns normally."""
    # the runtime may log to file descriptor 1: keep the pipe to the parent for ourselves
    report = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = str(weights)
    settings.model_alias = {SMOLLM2.model}
    settings.chat_template = chat_template()
    settings.n_parallel = 1
    settings.n_ctx = context
    settings.fit_params = False  # the context is what was asked for, whatever memory is free
    settings.n_predict = REPLY_TOKENS
    settings.cpuparams.n_threads = THREADS
    settings.cpuparams_batch.n_threads = THREADS
    settings.sampling.temp = TEMPERATURE
    settings.sampling.penalty_repeat = REPEAT_PENALTY
    settings.cache_ram_mib = 0  # what a prompt begins with is kept by `canonical.py`
    settings.cache_idle_slots = False
    settings.slot_save_path = f"{folder}{os.sep}"
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0  # the system chooses a free one, so there is no race for it
    settings.cors_origins = "http://127.0.0.1"  # not every page open in the user's browser
    settings.cors_origins_explicit = True
    settings.endpoint_slots = False
    settings.ui = False
    settings.offline = True
    settings.verbosity = 2  # warnings and errors; no conversation is logged

    # each returns when the model is loaded, and raises when it cannot be; the file of the weights is mapped once
    servers = [xllamacpp.Server(settings) for _ in range(at_once)]
    asyncio.run(_serve([str(server.listening_address) for server in servers], folder, report))


async def _serve(servers: Sequence[str], folder: Path, report: IO[str]) -> None:
    async with answering(servers, folder) as address:
        print(address, file=report, flush=True)
        await asyncio.to_thread(sys.stdin.buffer.read)
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)  # nothing to save, and the runtime's own shutdown would wait for calls in flight


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
    except Exception as error:
        # an ordinary exit: the runtime logs from a thread of its own and says its last words then
        sys.exit(f"{type(error).__name__}: {error}")
