"""The HTTP server of the answers and the page, for browsers on this machine only.

It answers GET and HEAD. It writes slow answers for the next start (`live`), and scores when a
person labels. The page's own files hold no data; everything else needs a token (`AccessTokens`).
Requests under another host name (DNS rebinding) are refused by the Host header, those of other
sites' pages by Origin. Answers are computed in threads, unless no browser waits for them.

Every user of a machine can connect to its ports, and a browser sends a cookie to all of them, so
there is no cookie: the page keeps the token and sends it itself. It is drawn anew for each server,
and the printed address has it in its fragment. The browser that `aib view` opens gets another one,
which is exchanged for it once: the arguments of its process are readable by everybody.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from independence_bench.errors import BenchError, StoreError, WrongUse
from independence_bench.report.encode import encode_page_json
from independence_bench.viewer.labelling import (
    LabelDesk,
    Stale,
    parse_case_key,
    parse_case_marks_note,
)
from independence_bench.viewer.live import Live
from independence_bench.viewer.server import HEADERS, POLICY

# in which answers are worked out; those for what takes longer than one transcript
THREADS, SLOW = 6, 2
NAMES = ("127.0.0.1", "localhost", "[::1]")
QUICK = ("transcripts/", "raw/")
SEARCH, READING = "/api/search.json", "/api/reading.json"
FOREVER = "public, max-age=31536000, immutable"


def make_app(
    live: Live, page: Page | None, port: int, access: AccessTokens, desk: LabelDesk | None
) -> ASGIApp:
    """Return the web application of `aib view`, which answers requests on *port* of this machine;
    without a *page*, it serves the answers alone.

    Only with a *desk* are there routes that write: those with which one person scores
    conversations.
    """
    service = AnswerService(live)
    files = {} if page is None else page.files

    async def send_answer(request: Request) -> Response:
        """Respond with the answer at the path of the request, as JSON or CSV."""
        return await service.send_answer(request, request.path_params["path"])

    async def send_search(request: Request) -> Response:
        """Respond with the conversations that contain the words in the request."""
        return await service.send_search(request)

    async def send_progress(_request: Request) -> Response:
        """Respond with how far the first reading of the store has come."""
        body = encode_page_json(live.first_reading_progress)
        return Response(
            body, media_type=find_media_type(READING), headers={"Cache-Control": "no-store"}
        )

    async def send_file(request: Request) -> Response:
        """Respond with a file of the viewer's page, with its first page for /, or with an error
        404.
        """
        name = request.path_params["path"] or HOME
        if name not in files:
            return _make_error_response(404, "there is nothing here; the viewer's first page is /")
        body = files[name]
        kept = FOREVER if name.startswith("assets/") else "no-cache"
        return _make_response(
            request, body, find_media_type(name), f'"{sha256(body).hexdigest()[:32]}"', kept
        )

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        """Begin reading the store when the server starts, and close everything when it ends."""
        live.begin_reading()
        yield
        service.close()
        live.close()
        if desk is not None:
            desk.close()

    app = Starlette(
        routes=[
            *(make_label_routes(desk) if desk else ()),
            Route(SEARCH, send_search),
            Route(READING, send_progress),
            Route("/api/{path:path}", send_answer),
            Route("/{path:path}", send_file),
        ],
        exception_handlers={Exception: _answer_bug, BenchError: _answer_known_error},
        lifespan=lifespan,
    )
    # outside of all others: what Starlette says of a failure goes through it, too
    return Guard(
        app, port, access, {"/", *(f"/{name}" for name in files)}, POSTED if desk else frozenset()
    )


class Guard:
    """Checks host, origin, method and token of each request, and adds the security headers to each
    response.

    *public*: the paths that anybody may read, the page's own; *posted*: those that take a POST.
    """

    def __init__(
        self,
        app: ASGIApp,
        port: int,
        access: AccessTokens,
        public: Collection[str],
        posted: Collection[str],
    ) -> None:
        self.app, self.access, self.public, self.posted = app, access, public, {*posted, EXCHANGE}
        names = [f"{name}:{port}" for name in NAMES] + (list(NAMES) if port == 80 else [])
        self.hosts = frozenset(names)
        self.origins = frozenset(f"http://{name}" for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, as ASGI defines it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            """Pass on a message of the response, with the security headers added to its start."""
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        headers = Headers(scope=scope)
        method, path = scope["method"], scope["path"]
        answer = self._refuse_request(method, path, headers) or self._exchange_or_refuse_token(
            method, path, headers.getlist("authorization")
        )
        await (answer or self.app)(scope, receive, send_guarded)

    def _refuse_request(self, method: str, path: str, headers: Headers) -> Response | None:
        """Return the response that refuses a request because of its host, origin or method; None if
        the request may pass.
        """
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return _make_error_response(
                421,
                "this is a viewer on your own machine; open it as http://127.0.0.1 with its port",
            )
        if any(origin.lower() not in self.origins for origin in headers.getlist("origin")):
            return _make_error_response(403, "another site may not ask for what is stored here")
        if method == "POST" and path in self.posted:
            # a browser names the origin of every POST; who names none is no page of ours
            if len(headers.getlist("origin")) != 1:
                return _make_error_response(403, "marks are taken from the viewer's own page")
        elif method not in ("GET", "HEAD"):
            refused = _make_error_response(405, "what is stored can be read here and not changed")
            refused.headers["Allow"] = "GET, HEAD"
            return refused
        return None

    def _exchange_or_refuse_token(
        self, method: str, path: str, authorization: list[str]
    ) -> Response | None:
        """Return the response that refuses a request without a valid token, or the one that gives
        the lasting token for the one-time token; None if the request may pass.
        """
        if (
            method == "POST"
            and path == EXCHANGE
            and (token := self.access.exchange_token(authorization))
        ):
            return Response(
                json.dumps({"token": token}),
                media_type="application/json",
                headers={"Cache-Control": "no-store"},
            )
        if path in self.public or self.access.is_authorized(authorization):
            return None
        refused = _make_error_response(
            401, "open the address that `aib view` has printed, with its token"
        )
        refused.headers["WWW-Authenticate"] = "Bearer"
        return refused


class AnswerService:
    """Works out the viewer's answers in threads, the slow ones only a few at a time; the browser
    caches them.
    """

    def __init__(self, live: Live) -> None:
        self._live = live
        self._threads = ThreadPoolExecutor(THREADS, "answer")
        self._slow = asyncio.Semaphore(SLOW)
        # another program may give other answers about the same store
        self._started = f"{time.time_ns():x}"

    async def send_answer(self, request: Request, path: str) -> Response:
        """Respond with the answer at *path*, once the store has been read, or with 304 or 404. An
        answer that an earlier start has stored is sent at once.
        """
        if path == "index.json":
            self._threads.submit(self._live.refresh_answers)  # whether the store has changed
        if path not in self._live.kept:
            await self._wait_until_read()
        state, answer = self._live.current
        tag = f'"{state}-{self._started}"'
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers={"ETag": tag, "Cache-Control": "no-cache"})
        async with nullcontext() if path.startswith(QUICK) else self._slow:
            # where nobody reads it any more, none is begun
            gone = await request.is_disconnected()
            work = asyncio.get_running_loop().run_in_executor
            body = None if gone else await work(self._threads, answer, path)
        if body is None:
            return _make_error_response(
                404, "there is no such answer; it may have been deleted from the store"
            )
        return _make_response(request, body, find_media_type(path), tag, "no-cache")

    async def send_search(self, request: Request) -> Response:
        """Respond with the conversations that contain the words in the request, once the store has
        been read, or with 400 for a query that is not valid.
        """
        await self._wait_until_read()
        work = asyncio.get_running_loop().run_in_executor
        try:
            if await request.is_disconnected():
                return _make_error_response(404, "nobody waits for it")
            body = await work(
                self._threads,
                lambda: encode_page_json(self._live.search_conversations(request.query_params)),
            )
        except WrongUse as error:
            return _make_error_response(400, str(error))
        return _make_response(
            request, body, find_media_type(SEARCH), f'"{sha256(body).hexdigest()[:32]}"', "no-cache"
        )

    async def _wait_until_read(self) -> None:
        """Wait until the store has been read, without taking a thread. Raise the error that kept
        the store from being read.
        """
        if not self._live.first.done():
            await asyncio.shield(asyncio.wrap_future(self._live.first))
        self._live.raise_reading_failure()

    def close(self) -> None:
        """Stop working out answers: no new one is begun, and those in the queue are dropped."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _make_response(
    request: Request, body: bytes, media_type: str, tag: str, cache_control: str
) -> Response:
    """Return *body* as a response with its tag, or a response 304 if the browser has the same
    already. *media_type*: the media type; *cache_control*: how browsers may cache the body.
    """
    headers = {"ETag": tag, "Cache-Control": cache_control}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=media_type, headers=headers)


async def _answer_known_error(_request: Request, error: Exception) -> Response:
    """Respond with the status 503 and the message of a known failure, such as a store that cannot
    be read.
    """
    return _make_error_response(503, " ".join(str(error).split()))


async def _answer_bug(_request: Request, _error: Exception) -> Response:
    """Respond to a bug with the status 500; the traceback goes to the server's output."""
    return _make_error_response(
        500, "this answer cannot be worked out; the viewer's output says why"
    )


def _make_error_response(status: int, message: str) -> Response:
    """Return a response with *status* and an error *message* as JSON."""
    return Response(json.dumps({"error": message}), status, media_type="application/json")


BYTES = 32  # random bytes of a token
EXCHANGE = "/api/token"  # exchanges the token that is valid once for the lasting one


class AccessTokens:
    """The two tokens of one server: one that is valid as long as it runs, and one that is valid
    once.
    """

    def __init__(self, host: str, port: int) -> None:
        self._at = f"http://{host}:{port}/"
        self._token, self._once = token_urlsafe(BYTES), token_urlsafe(BYTES)
        self._spent = False

    @property
    def lasting_token_address(self) -> str:
        """Web address of the viewer with the token that is valid as long as the server runs, to be
        printed. No browser sends the part after the #.
        """
        return f"{self._at}#token={self._token}"

    @property
    def one_time_address(self) -> str:
        """Web address with which `aib view` starts a browser; its token is valid once."""
        return f"{self._at}#once={self._once}"

    @property
    def authorization_header_value(self) -> str:
        """The value of the Authorization header of a request that is allowed."""
        return f"Bearer {self._token}"

    def is_authorized(self, authorization: Sequence[str]) -> bool:
        """Whether a request has exactly one Authorization header, and that holds the right
        token.
        """
        return len(authorization) == 1 and _is_equal(
            authorization[0], self.authorization_header_value
        )

    def exchange_token(self, authorization: Sequence[str]) -> str | None:
        """Return the lasting token if the Authorization headers hold the one-time token, which
        works only once; None for any other token, and the second time.
        """
        if len(authorization) != 1 or not _is_equal(authorization[0], f"Bearer {self._once}"):
            return None
        first, self._spent = not self._spent, True
        return self._token if first else None


def _is_equal(one: str, other: str) -> bool:
    """Whether two texts are equal, compared in constant time, so that the time tells nothing about
    them.
    """
    return compare_digest(one.encode("utf-8", "replace"), other.encode())


LARGEST = 64_000  # bytes of a body: a note of the longest length, escaped
POSTED = frozenset({"/api/label/marks", "/api/label/skip", "/api/label/undo"})


def make_label_routes(desk: LabelDesk) -> list[Route]:
    """Return the routes with which one person scores conversations at *desk*: state, agreement,
    scores, skip and undo.
    """

    def make_read_handler(work: Callable[[], object]) -> Callable[[Request], Any]:
        """Return a request handler that responds with the result of *work* as JSON."""

        async def handle_request(_request: Request) -> Response:
            """Respond with the result of the work that this handler was made for, as JSON."""
            return await _run_and_respond(work)

        return handle_request

    def make_write_handler(work: Callable[[Any], object]) -> Callable[[Request], Any]:
        """Return a request handler that passes the JSON of a POST to *work* and responds with its
        result.
        """

        async def handle_request(request: Request) -> Response:
            """Pass the JSON of the request to the work that this handler was made for, and respond
            with its result; for a body that is no JSON or too large, respond with an error.
            """
            if (
                request.headers.get("content-type", "").partition(";")[0].strip().lower()
                != "application/json"
            ):
                return _make_error_response(415, "marks are sent as JSON")
            try:
                body = await _read_body(request)
                # an integer of 400 digits fits into no float: as one it is infinite, and so on no
                # scale
                given = None if body is None else json.loads(body, parse_int=float)
            except (ValueError, RecursionError):
                return _make_error_response(400, "the body is not JSON")
            except ClientDisconnect:
                return _make_error_response(400, "the body is not whole")
            if body is None:
                return _make_error_response(413, f"the body is larger than {LARGEST:,} bytes")
            return await _run_and_respond(lambda: work(given))

        return handle_request

    return [
        Route("/api/label/state.json", make_read_handler(desk.read_state)),
        Route("/api/label/agreement.json", make_read_handler(desk.read_agreement)),
        Route(
            "/api/label/marks",
            make_write_handler(
                lambda given: desk.hold_marks_and_store_previous(*parse_case_marks_note(given))
            ),
            methods=["POST"],
        ),
        Route(
            "/api/label/skip",
            make_write_handler(lambda given: desk.move_case_to_end(parse_case_key(given))),
            methods=["POST"],
        ),
        Route(
            "/api/label/undo",
            make_write_handler(lambda _: desk.reopen_last_marked_case()),
            methods=["POST"],
        ),
    ]


async def _read_body(request: Request) -> bytes | None:
    """Return the body of a request; None if it is larger than `LARGEST` bytes, in which case the
    rest is not read.
    """
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST:
            return None
    return body


async def _run_and_respond(work: Callable[[], object]) -> Response:
    """Do *work* in a thread, and return its result as a JSON response, or a response 400, 409 or
    503 with the error. A change that has begun is completed even if nobody waits for it.
    """
    try:
        body = encode_page_json(await asyncio.to_thread(work))
    except Stale:
        return _make_error_response(
            409, "another conversation is being marked by now; reload the page"
        )
    except StoreError as error:
        return _make_error_response(503, " ".join(str(error).split()))
    except BenchError as error:
        return _make_error_response(400, " ".join(str(error).split()))
    return Response(body, media_type="application/json", headers={"Cache-Control": "no-store"})


# ---------------------------------------------------------------- the built page

# built from web/ by `make setup`; the wheel carries it, and a user needs no Node
FOLDER = Path(__file__).with_name("page")
HOME = "index.html"
HEAD = b"<head>"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".csv": "text/csv; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
}


@dataclass(frozen=True, slots=True)
class Page:
    """The files of the viewer's page, by their paths."""

    files: Mapping[str, bytes]

    @property
    def static_site_home(self) -> bytes:
        """The bytes of index.html for a host that does not send our headers: it holds the content
        security policy itself.

        It also tells the page that answers are in packs (compressed files of many answers). Raise
        BenchError if the file has no <head>.
        """
        text = self.files[HOME]
        # a policy in a file cannot say who may frame it
        meta = (
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><meta name="packs">'
        ).encode("ascii")
        head = text.find(HEAD)
        if head < 0:
            raise BenchError("the viewer's page has no <head>; build it again with `make page`")
        end = head + len(HEAD)
        return text[:end] + meta + text[end:]


def read_page(folder: Path = FOLDER) -> Page:
    """Return the built files of the viewer's page in *folder*. Raise BenchError if the page was not
    built.
    """
    if not (folder / HOME).is_file():
        raise BenchError(
            "the viewer's page is missing, as this was installed from a repository: install a "
            "released wheel, which has it, or run `make page` in a checkout (with Node)"
        )
    paths = [path for path in sorted(folder.rglob("*")) if path.suffix in TYPES]
    return Page({path.relative_to(folder).as_posix(): path.read_bytes() for path in paths})


def find_media_type(path: str) -> str:
    """Return the media type (MIME) of *path*, by its ending; "application/octet-stream" if the
    ending is unknown.
    """
    return TYPES.get(Path(path).suffix, "application/octet-stream")
