"""Starts and stops model files as an ordinary endpoint on a free loopback port, and is the process
that runs them.

They run in a child process: this one stays responsive, and a crash of the runtime is an error here
and not the end. The child has a session of its own, so Ctrl-C in the terminal reaches only this
process, which may finish its calls in flight; it ends with this process even if this one is killed.
Knows nothing of the benchmark; whoever calls the endpoint cannot tell it from another one. How the
endpoint behaves, as measured: docs/local-models.md.

The child is `python -m independence_bench.models.local.server FOLDER CONTEXT AT_ONCE MODEL...`. It
writes its address as one line to its standard output as soon as it answers; everything else, the
runtime's log included, goes to standard error. It ends, and takes the folder along, when its
standard input is closed, which also happens when its parent is killed.

In front of the runtime's own servers is one of ours, so that a reply follows from its request
alone. Sums of floats depend on how many tokens are evaluated together: a prompt of which a part was
there already, as of any conversation that goes on, has other sums than one that is evaluated as a
whole; now and then that changes a token, and with it the rest of a reply. Here a prompt is always
evaluated up to the end of its beginning (system prompt and tools), then up to each of the human's
turns, whether these steps were just taken or have to be taken again. What the server holds after a
step is kept in a file, whose name says what was evaluated, so that no step is taken twice while it
is there: the branches of a stem evaluate their opening once. The servers of a model have the same
weights and share the folder; a request goes to the first one that is free.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any, Final

import aiohttp
from aiohttp import web

from independence_bench.errors import LocalModelError
from independence_bench.hashing import hash_content
from independence_bench.models.local.files import ModelFile, hold_in_use

START_UP_SECONDS = (
    # half a second for a small model; a cold disk, a large file or a busy machine may take minutes
    600.0
)
# tokens that a conversation may have; each takes 12 to 110 kB, by the size of the model
CONTEXT = 8192
_DYING_SECONDS = 0.5
_QUOTED_LINES = 3
# only for a request without max_tokens, which would run to the end of the context
REPLY_TOKENS: Final = 512
HOST = "127.0.0.1"
COMPLETIONS = "/v1/chat/completions"
MODELS = "/v1/models"
HUMAN = ("user", "tool")  # roles of what the human says
PLACEHOLDER = {"role": "user", "content": "."}  # the turn after a beginning, whatever follows
# of a request: all that its prompt may depend on
SHOWN = (
    "model",
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "chat_template_kwargs",
)
MOST_BYTES = 2**30  # of the kept states: 12 to 110 kB a token, by the size of the model
LONGEST = 64 * 2**20  # bytes of a request
Body = dict[str, Any]


@asynccontextmanager
async def serve_models(
    models: Sequence[ModelFile],
    *,
    at_once: int = 1,
    context: int = CONTEXT,
    states: Path | None = None,
    log: Path | None = None,
) -> AsyncIterator[str]:
    """Serve *models* and give the base URL, such as `http://127.0.0.1:40001/v1`, until the block is
    left.

    *at_once* replies, 1 or more, of each are generated at a time; a file's weights are in memory
    once. *context* is in tokens. Evaluated prompts are kept in the folder *states*, or in one of
    its own that goes with it. The child's log goes to *log*, which is replaced, or nowhere. Raises
    LocalModelError if the runtime is not installed, if the server does not start, or if it ended
    before the block did; an error of the block's own is then the cause.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        raise LocalModelError(
            "model files need their runtime: pip install 'ai-independence-bench[embedded]'"
        )
    named = [
        f"{model.name}={model.replacement_template or ''}={model.repeat_penalty}={model.path}"
        for model in models
    ]
    with (
        # a child that is just being killed may still write into its folder
        nullcontext(states)
        if states
        else TemporaryDirectory(prefix="aib-models-", ignore_cleanup_errors=True) as folder,
        log.open("w+b") if log else TemporaryFile() as trace,
        _start_child([str(folder), str(context), str(at_once), *named], trace) as child,
    ):
        address = await _read_address(child, trace)
        for model in models:
            model.check_unchanged()  # what was loaded is what was hashed
        try:
            with hold_in_use(models):
                yield f"{address}/v1"
        except Exception as error:
            # a dying child resets its connections a little before it can be waited for
            with suppress(subprocess.TimeoutExpired):
                child.wait(_DYING_SECONDS)
                raise _make_error(child, trace, "ended while it was in use") from error
            raise
        if child.poll() is not None:
            raise _make_error(child, trace, "ended while it was in use")


@contextmanager
def _start_child(arguments: Sequence[str], trace: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Run the host process while the block runs. It has nothing to save, so it is killed when the
    block is left, before its folder goes.

    Its standard input is a pipe that nothing is written to, open as long as this process lives.
    """
    # -P: a file in the current folder must not stand in for a module of ours
    command = [sys.executable, "-P", "-m", __name__, *arguments]
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


async def _read_address(child: subprocess.Popen[bytes], trace: IO[bytes]) -> str:
    """Wait until the child answers and return its address. Raises LocalModelError when it ends or
    hangs.
    """
    assert child.stdout is not None  # noqa: S101 - a pipe was asked for
    try:
        # a thread may wait for a pipe on every platform; killing the child ends it
        line = await asyncio.wait_for(asyncio.to_thread(child.stdout.readline), START_UP_SECONDS)
    except TimeoutError:
        raise _make_error(child, trace, f"did not answer within {START_UP_SECONDS:.0f} s") from None
    if not line:
        child.wait()
        raise _make_error(child, trace, "did not start")
    return line.decode().strip()


def _make_error(child: subprocess.Popen[bytes], trace: IO[bytes], what: str) -> LocalModelError:
    """Return an error of one line: what happened, the exit code and the end of the child's log."""
    trace.seek(0)
    lines = [
        line.strip() for line in trace.read().decode(errors="replace").splitlines() if line.strip()
    ]
    code = f" (exit code {child.returncode})" if child.returncode is not None else ""
    quoted = f": {' | '.join(lines[-_QUOTED_LINES:])}" if lines else ""
    return LocalModelError(
        f"the server of the model file {what}{code}{quoted}; try again, with a smaller model if "
        "memory is short, or fetch the file again if it is damaged"
    )


# ---------------------------------------------------------------- the child


def count_threads_per_server(at_once: int) -> int:
    """Return the number of compute threads of each of *at_once* servers: half of the cores between
    them, 1 at least.

    Threads wait for each other at every layer: on two cores that something else is using as well,
    two threads gave
    5.0 tokens a second and one gave 16.9 (0.5B), 6.3 and 14.6 (1.5B).
    """
    usable = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return max(1, usable // 2 // at_once)


def main(state_folder: Path, context: int, at_once: int, model_specs: Sequence[str]) -> None:
    """Serve the files of *model_specs*, *at_once* replies of each, until standard input is closed.
    Never returns normally.

    *model_specs*: name, path of a chat template or nothing for the file's own, repeat penalty and
    path, with = between them.
    """
    # the runtime may log to file descriptor 1: keep the pipe to the parent for ourselves
    report = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    import xllamacpp

    def start_server(name: str, template: str, penalty: float, path: str) -> str:
        settings = xllamacpp.CommonParams()
        settings.model.path = path
        settings.model_alias = {name}
        settings.sampling.penalty_repeat = penalty
        if template:
            settings.chat_template = Path(template).read_text(encoding="utf-8")
        settings.n_parallel = 1
        settings.n_ctx = context
        settings.fit_params = False  # the context is what was asked for, whatever memory is free
        settings.n_predict = REPLY_TOKENS
        settings.cpuparams.n_threads = count_threads_per_server(at_once)
        settings.cpuparams_batch.n_threads = count_threads_per_server(at_once)
        settings.cache_ram_mib = 0  # what a prompt begins with is kept by `_Server`
        settings.cache_idle_slots = False
        settings.slot_save_path = f"{state_folder}{os.sep}"
        settings.hostnames = [HOST]
        settings.port = 0  # the system chooses a free one, so there is no race for it
        settings.cors_origins = f"http://{HOST}"  # not every page open in the user's browser
        settings.cors_origins_explicit = True
        settings.endpoint_slots = False
        settings.ui = False
        settings.offline = True
        settings.verbosity = 2  # warnings and errors; no conversation is logged
        # returns when the model is loaded, raises when it cannot be
        server = xllamacpp.Server(settings)
        running.append(server)
        return str(server.listening_address)

    running: list[object] = []
    servers = {}
    for item in model_specs:
        name, template, penalty, path = item.split("=", 3)
        servers[name] = [start_server(name, template, float(penalty), path) for _ in range(at_once)]
    asyncio.run(_serve_then_exit_process(servers, state_folder, report))


async def _serve_then_exit_process(
    addresses_by_model: Mapping[str, Sequence[str]], state_folder: Path, report: IO[str]
) -> None:
    async with open_front_server(addresses_by_model, state_folder) as address:
        print(address, file=report, flush=True)
        await asyncio.to_thread(sys.stdin.buffer.read)
        shutil.rmtree(state_folder, ignore_errors=True)
        # nothing to save, and the runtime's own shutdown would wait for calls in flight
        os._exit(0)


@asynccontextmanager
async def open_front_server(
    addresses_by_model: Mapping[str, Sequence[str]], state_folder: Path
) -> AsyncIterator[str]:
    """Serve one address in front of *addresses_by_model*, by model, and give it until the block is
    left; each server has one slot and its files in *state_folder*.
    """
    app = web.Application(client_max_size=LONGEST)
    async with aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(None), read_bufsize=LONGEST
    ) as session:
        free: dict[str, asyncio.Queue[_Server]] = {}
        for model, addresses in addresses_by_model.items():
            free[model] = asyncio.Queue()
            for address in addresses:
                free[model].put_nowait(_Server(session, address, state_folder))

        async def answer_completion(request: web.Request) -> web.StreamResponse:
            sent = await request.read()
            try:
                queue = free[json.loads(sent)["model"]]
            except (ValueError, TypeError, KeyError):
                queue = next(iter(free.values()))
            server = await queue.get()
            try:
                return await server.send_completion(request, sent)
            finally:
                queue.put_nowait(server)

        async def answer_models(_request: web.Request) -> web.Response:
            listed = []
            for addresses in addresses_by_model.values():
                async with session.get(f"{addresses[0]}{MODELS}") as answer:
                    listed += (await answer.json())["data"]
            return web.json_response({"object": "list", "data": listed})

        async def forward_other_request(request: web.Request) -> web.Response:
            """Return the first server's answer to anything that is no completion, as it is."""
            url, body = (
                f"{next(iter(addresses_by_model.values()))[0]}{request.path_qs}",
                await request.read(),
            )
            async with session.request(request.method, url, data=body) as answer:
                return web.Response(
                    body=await answer.read(), status=answer.status, content_type=answer.content_type
                )

        app.router.add_post(COMPLETIONS, answer_completion)
        app.router.add_get(MODELS, answer_models)
        app.router.add_route("*", "/{path:.*}", forward_other_request)
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
    """A sender of one request after the other to the server at *address*, from the state that
    belongs to it.
    """

    def __init__(self, session: aiohttp.ClientSession, address: str, folder: Path) -> None:
        self.session, self.address, self.folder = session, address, folder

    async def send_completion(self, request: web.Request, sent: bytes) -> web.StreamResponse:
        """Return a reply to *request*, streamed where it asks for that.

        What the server says it had evaluated already is what it had before the last step.
        """
        there = await self._prepare_prompt(sent)
        headers = {"Content-Type": "application/json"}
        async with self.session.post(
            f"{self.address}{COMPLETIONS}", data=sent, headers=headers
        ) as answer:
            if answer.content_type != "text/event-stream":
                body = _set_cached_tokens(await answer.read(), there)
                return web.Response(
                    body=body, status=answer.status, content_type=answer.content_type
                )
            streamed = web.StreamResponse(
                status=answer.status, headers={"Content-Type": answer.content_type}
            )
            await streamed.prepare(request)
            async for line in answer.content:
                prefix, colon, data = line.partition(b"data: ")
                await streamed.write(
                    line if not colon else prefix + colon + _set_cached_tokens(data, there)
                )
            await streamed.write_eof()
            return streamed

    async def _prepare_prompt(self, sent: bytes) -> int | None:
        """Have the server evaluate the prompt; return how many of its tokens were there before the
        last step. None: it has no prompt, as the server will say.
        """
        try:
            prompts = list_growing_prompts(json.loads(sent))
            names = [f"{hash_content(prompt)}.state" for prompt in prompts]
        except (ValueError, TypeError, AttributeError, KeyError):
            return None
        known = len(prompts) - 1
        while known >= 0 and not await self._restore_state(names[known]):
            known -= 1
        if known < 0:
            await self._call_slot("erase")
        there = None
        for prompt, name in list(zip(prompts, names, strict=True))[known + 1 :]:
            asked = {**prompt, "max_tokens": 0}
            async with self.session.post(f"{self.address}{COMPLETIONS}", json=asked) as answer:
                if answer.status != 200:
                    return None
                usage = (await answer.json())["usage"]
            there = usage["prompt_tokens_details"]["cached_tokens"]
            await self._keep_state(name)
        return there

    async def _restore_state(self, name: str) -> bool:
        """Restore the state of that name into the server; return whether it was there."""
        path = self.folder / name
        with suppress(OSError):
            os.utime(path)  # the last to go
            return await self._call_slot("restore", name)
        return False

    async def _keep_state(self, name: str) -> None:
        """Keep the server's state under *name*; whoever reads it meanwhile finds the whole of it or
        none.
        """
        part = f"{hash_content(self.address)}.part"
        if await self._call_slot("save", part):
            os.replace(self.folder / part, self.folder / name)
        files = []
        for path in self.folder.glob("*.state"):
            with suppress(OSError):  # another server may take it away meanwhile
                stat = path.stat()
                files.append((stat.st_mtime_ns, stat.st_size, path))
        left = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if left > MOST_BYTES:
                path.unlink(missing_ok=True)
                left -= size

    async def _call_slot(self, action: str, name: str = "") -> bool:
        url = f"{self.address}/slots/0"
        async with self.session.post(
            url, params={"action": action}, json={"filename": name}
        ) as answer:
            return answer.status == 200


def _set_cached_tokens(data: bytes, there: int | None) -> bytes:
    """Return *data* with *there* as the number of tokens that had been evaluated before, if it is
    JSON that tells of tokens used.
    """
    if there is None or b'"prompt_tokens_details"' not in data:
        return data
    value = json.loads(data)
    value["usage"]["prompt_tokens_details"]["cached_tokens"] = there
    return json.dumps(value).encode() + b"\n"


def list_growing_prompts(body: Mapping[str, Any]) -> list[Body]:
    """Return the prompts that are evaluated one after the other for the request *body*, each of
    them the start of the next.

    Raises ValueError, TypeError, AttributeError or KeyError if it has no list of messages.
    """
    messages = list(body["messages"])
    first = [message for message in messages[:1] if message.get("role") == "system"]
    turns = [
        messages[: place + 1]
        for place, message in enumerate(messages)
        if message.get("role") in HUMAN
    ]
    shown = {name: body[name] for name in SHOWN if name in body}
    return [{**shown, "messages": messages} for messages in ([*first, PLACEHOLDER], *turns)]


if __name__ == "__main__":
    _folder, _context, _at_once, *_named = sys.argv[1:]
    try:
        main(Path(_folder), int(_context), int(_at_once), _named)
    except Exception as error:
        # an ordinary exit: the runtime logs from a thread of its own and says its last words then
        sys.exit(f"{type(error).__name__}: {error}")
