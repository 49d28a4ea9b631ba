"""The HTTP server of the answers and the page, for browsers on this machine only.

It answers GET and HEAD, and writes nothing unless somebody labels (`label_routes.py`). The page's own files hold no
data; everything else needs the token of `access.py`. Requests under another host name (DNS rebinding) are refused by
the Host header, those of other sites' pages by Origin. Answers are computed in threads, once for all requests that wait
for them; one that nobody waits for any more is cancelled.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from independence_bench.errors import BenchError
from independence_bench.viewer.access import EXCHANGE, AccessTokens
from independence_bench.viewer.assets import HEADERS, HOME, Page, media_type
from independence_bench.viewer.label_routes import POSTED, label_routes
from independence_bench.viewer.labelling import LabelDesk
from independence_bench.viewer.live import Live
from independence_bench.viewer.routes import Answers

QUICK, SLOW = 4, 2  # threads for one transcript, and for what takes longer
KEPT = 64_000_000  # bytes of answers that are kept for whoever asks next
NAMES = ("127.0.0.1", "localhost", "[::1]")
ONE_CONVERSATION = ("transcripts/", "raw/")
FOREVER = "public, max-age=31536000, immutable"


def make_app(live: Live, page: Page | None, port: int, access: AccessTokens, desk: LabelDesk | None = None) -> ASGIApp:
    """The application that listens on *port* of this machine; without a *page*, the answers alone.

    Only with a *desk* are there routes that write: those of one person who labels.
    """
    service = AnswerService(live)
    files = {} if page is None else page.files

    async def answer(request: Request) -> Response:
        return await service.answer(request, request.path_params["path"])

    async def file(request: Request) -> Response:
        name = request.path_params["path"] or HOME
        if name not in files:
            return _problem(404, "there is nothing here; the viewer's first page is /")
        body = files[name]
        kept = FOREVER if name.startswith("assets/") else "no-cache"
        return _response(request, body, media_type(name), f'"{sha256(body).hexdigest()[:32]}"', kept)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        live.begin()
        yield
        service.close()
        live.close()
        if desk is not None:
            desk.close()

    app = Starlette(
        routes=[*(label_routes(desk) if desk else ()), Route("/api/{path:path}", answer), Route("/{path:path}", file)],
        exception_handlers={Exception: _broken},
        lifespan=lifespan,
    )
    # outside of all others: what Starlette says of a failure goes through it, too
    return Guard(app, port, access, {"/", *(f"/{name}" for name in files)}, POSTED if desk else frozenset())


class Guard:
    """Checks host, origin, method and token of each request, and adds the security headers to each response.

    *public*: the paths that anybody may read, the page's own; *posted*: those that take a POST.
    """

    def __init__(
        self, app: ASGIApp, port: int, access: AccessTokens, public: Collection[str], posted: Collection[str]
    ) -> None:
        self.app, self.access, self.public, self.posted = app, access, public, {*posted, EXCHANGE}
        names = [f"{name}:{port}" for name in NAMES] + (list(NAMES) if port == 80 else [])
        self.hosts = frozenset(names)
        self.origins = frozenset(f"http://{name}" for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI has it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        headers = Headers(scope=scope)
        method, path = scope["method"], scope["path"]
        answer = self._refusal(method, path, headers) or self._at_the_door(
            method, path, headers.getlist("authorization")
        )
        await (answer or self.app)(scope, receive, send_guarded)

    def _refusal(self, method: str, path: str, headers: Headers) -> Response | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return _problem(421, "this is a viewer on your own machine; open it as http://127.0.0.1 with its port")
        if any(origin.lower() not in self.origins for origin in headers.getlist("origin")):
            return _problem(403, "another site may not ask for what is stored here")
        if method == "POST" and path in self.posted:
            # a browser names the origin of every POST; who names none is no page of ours
            if len(headers.getlist("origin")) != 1:
                return _problem(403, "marks are taken from the viewer's own page")
        elif method not in ("GET", "HEAD"):
            refused = _problem(405, "what is stored can be read here and not changed")
            refused.headers["Allow"] = "GET, HEAD"
            return refused
        return None

    def _at_the_door(self, method: str, path: str, authorization: list[str]) -> Response | None:
        """The lasting token for the one that is good once, or a refusal; None: who asks may have what is there."""
        if method == "POST" and path == EXCHANGE and (token := self.access.exchange(authorization)):
            return Response(
                json.dumps({"token": token}), media_type="application/json", headers={"Cache-Control": "no-store"}
            )
        if path in self.public or self.access.knows(authorization):
            return None
        refused = _problem(401, "open the address that `aib view` has printed, with its token")
        refused.headers["WWW-Authenticate"] = "Bearer"
        return refused


@dataclass(slots=True)
class PendingAnswer:
    """An answer that is being computed, and how many requests wait for it."""

    future: Future[bytes | None]
    waiting: int = 0


class AnswerService:
    """Computes answers in threads, and keeps the latest ones as bytes."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._quick = ThreadPoolExecutor(QUICK, "transcript")
        self._slow = ThreadPoolExecutor(SLOW, "answer")
        self._looker = ThreadPoolExecutor(1, "look")
        self._looking: Future[None] | None = None
        self._pending: dict[tuple[Answers, str], PendingAnswer] = {}
        self._kept = BodyCache(KEPT)
        self._started = f"{time.time_ns():x}"  # another program may give other answers about the same store

    async def answer(self, request: Request, path: str) -> Response:
        """The answer at *path*."""
        if path == "index.json":
            self._look()
        answers = self._live.answers
        tag = f'"{answers.catalog.version}-{self._started}"'
        of_store = not path.startswith("search/")  # the index may be of a moment ago
        if of_store and request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers={"ETag": tag, "Cache-Control": "no-cache"})
        try:
            body = await self._worked_out(request, answers, path)
        except BenchError as error:
            return _problem(503, " ".join(str(error).split()))
        if body is None:
            return _problem(404, "there is no such answer; it may have been deleted from the store")
        tag = tag if of_store else f'"{sha256(body).hexdigest()[:32]}"'
        return _response(request, body, media_type(path), tag, "no-cache")

    def close(self) -> None:
        """Cancel what has not begun, and begin nothing any more."""
        for pool in (self._quick, self._slow, self._looker):
            pool.shutdown(wait=False, cancel_futures=True)

    def _look(self) -> None:
        """See whether the store has changed, beside everything else."""
        if self._looking is None or self._looking.done():
            self._looking = self._looker.submit(self._live.look)

    async def _worked_out(self, request: Request, answers: Answers, path: str) -> bytes | None:
        key = (answers, path)
        is_quick = path.startswith(ONE_CONVERSATION)
        kept = None if is_quick else self._kept.get(answers.catalog.version, path)
        if kept is not None:
            return kept
        work = self._pending.get(key)
        if work is None:
            pool = self._quick if is_quick else self._slow
            work = self._pending[key] = PendingAnswer(pool.submit(answers.get, path))
        work.waiting += 1
        gone = asyncio.ensure_future(_gone(request))
        done = asyncio.wrap_future(work.future)
        done.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # nobody may be left to hear it
        try:
            await asyncio.wait((done, gone), return_when=asyncio.FIRST_COMPLETED)
            if not done.done():
                return None  # nobody reads it
            body = done.result()
        finally:
            gone.cancel()
            work.waiting -= 1
            if not work.waiting:
                self._pending.pop(key, None)
                work.future.cancel()  # where it has not begun
        if body is not None and not is_quick and not path.startswith("search/"):
            self._kept.put(answers.catalog.version, path, body)
        return body


class BodyCache:
    """A least-recently-used cache of the answers of one version, up to so many bytes."""

    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._version = ""
        self._bodies: OrderedDict[str, bytes] = OrderedDict()

    def get(self, version: str, path: str) -> bytes | None:
        """What was put there."""
        if version != self._version or path not in self._bodies:
            return None
        self._bodies.move_to_end(path)
        return self._bodies[path]

    def put(self, version: str, path: str, body: bytes) -> None:
        """Keep *body*; drop what was asked for longest ago."""
        if version != self._version:
            self._version, self._size = version, 0
            self._bodies.clear()
        self._size += len(body) - len(self._bodies.pop(path, b""))
        self._bodies[path] = body
        while self._size > self._most:
            self._size -= len(self._bodies.popitem(last=False)[1])


async def _gone(request: Request) -> None:
    """Returns when the client has disconnected."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _response(request: Request, body: bytes, kind: str, tag: str, kept: str) -> Response:
    headers = {"ETag": tag, "Cache-Control": kept}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=kind, headers=headers)


async def _broken(_request: Request, _error: Exception) -> Response:
    """A bug: the traceback goes to the server's output, whoever asked is told so."""
    return _problem(500, "this answer cannot be worked out; the viewer's output says why")


def _problem(status: int, said: str) -> Response:
    """What is wrong, in one line."""
    return Response(json.dumps({"error": said}), status, media_type="application/json")
