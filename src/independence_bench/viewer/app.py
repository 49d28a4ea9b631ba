"""The HTTP server of the answers and the page, for browsers on this machine only.

It answers GET and HEAD, and writes nothing unless somebody labels (`label_routes.py`). The page's own files hold no
data; everything else needs the token of `access.py`. Requests under another host name (DNS rebinding) are refused by
the Host header, those of other sites' pages by Origin. Answers are computed in threads, unless nobody waits any more.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, nullcontext
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

THREADS, SLOW = 6, 2  # in which answers are worked out; those for what takes longer than one transcript
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


class AnswerService:
    """Works answers out in threads, those that take long a few at a time; the browser keeps them."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._threads = ThreadPoolExecutor(THREADS, "answer")
        self._slow = asyncio.Semaphore(SLOW)
        self._started = f"{time.time_ns():x}"  # another program may give other answers about the same store

    async def answer(self, request: Request, path: str) -> Response:
        """The answer at *path*."""
        if path == "index.json":
            self._threads.submit(self._live.look)  # whether the store has changed
        answers = self._live.answers
        tag = f'"{answers.catalog.version}-{self._started}"'
        of_store = not path.startswith("search/")  # the index may be of a moment ago
        if of_store and request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers={"ETag": tag, "Cache-Control": "no-cache"})
        try:
            async with nullcontext() if path.startswith(ONE_CONVERSATION) else self._slow:
                # where nobody reads it any more, none is begun
                gone = await request.is_disconnected()
                work = asyncio.get_running_loop().run_in_executor
                body = None if gone else await work(self._threads, answers.get, path)
        except BenchError as error:
            return _problem(503, " ".join(str(error).split()))
        if body is None:
            return _problem(404, "there is no such answer; it may have been deleted from the store")
        tag = tag if of_store else f'"{sha256(body).hexdigest()[:32]}"'
        return _response(request, body, media_type(path), tag, "no-cache")

    def close(self) -> None:
        """Begin nothing any more."""
        self._threads.shutdown(wait=False, cancel_futures=True)


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
