"""The child process that runs the embedded model: one chat-completions server on a loopback port.

Started by `server.py` as `python -m independence_bench.models.local.host WEIGHTS FOLDER CONTEXT AT_ONCE`. Writes its
address as one line to its standard output as soon as it answers; everything else, the runtime's log included,
goes to standard error. It ends, and takes the folder along, when its standard input is closed, which also happens when
its parent is killed. Knows nothing of the benchmark.

In front of the runtime's own servers is one of ours, so that a reply follows from its request alone. Sums of floats
depend on how many tokens are evaluated together: a prompt of which a part was there already, as of any conversation
that goes on, has other sums than one that is evaluated as a whole; now and then that changes a token, and with it the
rest of a reply. Here a prompt is always evaluated up to the end of its beginning (system prompt and tools), then up to
each of the human's turns, whether these steps were just taken or have to be taken again. What the server holds after a
step is kept in a file, whose name says what was evaluated, so that no step is taken twice while it is there. The
servers have the same weights and share the folder; a request goes to the first one that is free.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import IO, Any, Final

import aiohttp
from aiohttp import web

from independence_bench.hashing import content_hash
from independence_bench.models.local.weights import SMOLLM2

# What a request gets that does not say otherwise. At temperature 0 the model repeats itself for ever; with
# these it does not. top_k 40, top_p 0.95 and min_p 0.05 are the runtime's own.
TEMPERATURE: Final = 0.7
REPEAT_PENALTY: Final = 1.1
REPLY_TOKENS: Final = 512  # only for a request without max_tokens, which would run to the end of the context

# One compute thread: two threads wait for each other at every layer, and on two cores
# that something else is using as well they fell to a tenth of the speed of one.
THREADS: Final = 1

HOST = "127.0.0.1"
COMPLETIONS = "/v1/chat/completions"
HUMAN = ("user", "tool")  # roles of what the human says
PLACEHOLDER = {"role": "user", "content": "."}  # the turn after a beginning, whatever follows
# of a request: all that its prompt may depend on
SHOWN = ("messages", "tools", "tool_choice", "parallel_tool_calls", "response_format", "chat_template_kwargs")
MOST_BYTES = 256 * 2**20  # of the files: 23 kB a token, so about 11,000 tokens
LONGEST = 64 * 2**20  # bytes of a request
Body = dict[str, Any]


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
    settings.cache_ram_mib = 0  # what a prompt begins with is kept by `_Server`
    settings.cache_idle_slots = False
    settings.slot_save_path = f"{folder}{os.sep}"
    settings.hostnames = [HOST]
    settings.port = 0  # the system chooses a free one, so there is no race for it
    settings.cors_origins = f"http://{HOST}"  # not every page open in the user's browser
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


@asynccontextmanager
async def answering(servers: Sequence[str], folder: Path) -> AsyncIterator[str]:
    """The address before *servers*, until the block is left; each has one slot and keeps its files in *folder*."""
    app = web.Application(client_max_size=LONGEST)
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(None)) as session:
        free: asyncio.Queue[_Server] = asyncio.Queue()
        for address in servers:
            free.put_nowait(_Server(session, address, folder))

        async def completion(request: web.Request) -> web.Response:
            sent = await request.read()
            server = await free.get()
            try:
                return await server.completion(sent)
            finally:
                free.put_nowait(server)

        async def other(request: web.Request) -> web.Response:
            """Whatever is no completion, as it is."""
            url, body = f"{servers[0]}{request.path_qs}", await request.read()
            async with session.request(request.method, url, data=body) as answer:
                return web.Response(body=await answer.read(), status=answer.status, content_type=answer.content_type)

        app.router.add_post(COMPLETIONS, completion)
        app.router.add_route("*", "/{path:.*}", other)
        # whoever goes away is not answered: the server stops, too
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
        await runner.setup()
        try:
            site = web.TCPSite(runner, HOST, 0)
            await site.start()
            yield f"http://{HOST}:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()


class _Server:
    """Sends one request after the other to the server at *address*, from the state that belongs to it."""

    def __init__(self, session: aiohttp.ClientSession, address: str, folder: Path) -> None:
        self.session, self.address, self.folder = session, address, folder

    async def completion(self, sent: bytes) -> web.Response:
        """A reply. What the server says it had evaluated already is what it had before the last step."""
        there = await self._prepare(sent)
        headers = {"Content-Type": "application/json"}
        async with self.session.post(f"{self.address}{COMPLETIONS}", data=sent, headers=headers) as answer:
            body, status, kind = await answer.read(), answer.status, answer.content_type
        if there is not None and status == 200 and kind == "application/json":
            answered = json.loads(body)
            answered["usage"]["prompt_tokens_details"]["cached_tokens"] = there
            body = json.dumps(answered).encode()
        return web.Response(body=body, status=status, content_type=kind)

    async def _prepare(self, sent: bytes) -> int | None:
        """Have the server evaluate the prompt; how much of it was there. None: it has no prompt, as it will say."""
        try:
            prompts = prompts_of(json.loads(sent))
            names = [f"{content_hash(prompt)}.state" for prompt in prompts]
        except (ValueError, TypeError, AttributeError, KeyError):
            return None
        known = len(prompts) - 1
        while known >= 0 and not await self._restored(names[known]):
            known -= 1
        if known < 0:
            await self._slot("erase")
        there = None
        for prompt, name in list(zip(prompts, names, strict=True))[known + 1 :]:
            asked = {**prompt, "max_tokens": 0}
            async with self.session.post(f"{self.address}{COMPLETIONS}", json=asked) as answer:
                if answer.status != 200:
                    return None
                usage = (await answer.json())["usage"]
            there = usage["prompt_tokens_details"]["cached_tokens"]
            await self._keep(name)
        return there

    async def _restored(self, name: str) -> bool:
        """Whether the state of that name is there, and is now the server's."""
        path = self.folder / name
        with suppress(OSError):
            os.utime(path)  # the last to go
            return await self._slot("restore", name)
        return False

    async def _keep(self, name: str) -> None:
        """Keep the server's state under *name*; whoever reads it meanwhile finds the whole of it or none."""
        part = f"{content_hash(self.address)}.part"
        if await self._slot("save", part):
            os.replace(self.folder / part, self.folder / name)
        found = []
        for path in self.folder.glob("*.state"):
            with suppress(OSError):  # another server may take it away meanwhile
                stat = path.stat()
                found.append((stat.st_mtime_ns, stat.st_size, path))
        left = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if left > MOST_BYTES:
                path.unlink(missing_ok=True)
                left -= size

    async def _slot(self, action: str, name: str = "") -> bool:
        url = f"{self.address}/slots/0"
        async with self.session.post(url, params={"action": action}, json={"filename": name}) as answer:
            return answer.status == 200


def prompts_of(body: Mapping[str, Any]) -> list[Body]:
    """The prompts that are evaluated one after the other for the request *body*, each of them the start of the next.

    Raises ValueError, TypeError, AttributeError or KeyError where it has no list of messages.
    """
    messages = list(body["messages"])
    first = [message for message in messages[:1] if message.get("role") == "system"]
    turns = [messages[: place + 1] for place, message in enumerate(messages) if message.get("role") in HUMAN]
    shown = {name: body[name] for name in SHOWN if name in body}
    return [{**shown, "messages": messages} for messages in ([*first, PLACEHOLDER], *turns)]


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
    except Exception as error:
        # an ordinary exit: the runtime logs from a thread of its own and says its last words then
        sys.exit(f"{type(error).__name__}: {error}")
