"""A server on a port of this machine that runs until it is stopped."""

from __future__ import annotations

import asyncio
import ctypes
import json
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from independence_bench.errors import BenchError, handle_signals

LOOPBACK = "127.0.0.1"
PATIENCE = 1  # seconds that an answer in progress is waited for when the server ends
IDLE = 10  # seconds for a request to be complete, or for some of an answer to be read
MOST = 64  # connections at once; a browser makes six
# connections that are taken in one go: with MOST, fewer than any system lets a process have
QUEUE = 32
MMAP_THRESHOLD, ARENA_MAX = -3, -8  # constants of malloc.h
LARGE = 1 << 20  # bytes
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "
    "'self'; font-src 'self'; base-uri 'none'; form-action 'none'"
)
HEADERS = {
    "Content-Security-Policy": f"{POLICY}; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    # a later server on this port cannot have the browser show it what it keeps of this one
    "Vary": "Authorization",
}


def limit_kept_memory() -> None:
    """Make the C library (only glibc on Linux) return large free blocks to the system at once, and
    let threads share its heap.

    A search for a common word takes a hundred megabytes for a second, in whatever thread. Other C
    libraries are left as they are.
    """
    tell = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if tell is not None:
        tell(MMAP_THRESHOLD, LARGE)
        tell(ARENA_MAX, 1)


def open_socket(port: int) -> socket.socket:
    """Return a socket that listens on *port* of this machine; 0 uses any free port. Raise
    BenchError if the port cannot be used.
    """
    # asyncio sends at once only what it knows to be TCP; else a header waits 40 ms for its body's
    # sake
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((LOOPBACK, port))
        opened.listen(QUEUE)
    except (OSError, OverflowError) as error:
        opened.close()
        reason = error.strerror if isinstance(error, OSError) else error
        raise BenchError(
            f"port {port} cannot be used ({reason}); choose another with --port, 0 takes any"
        ) from None
    return opened


class BoundedHttp(H11Protocol):
    """HTTP with bounds on time and connections; a malformed request is refused with the security
    headers.

    A connection without a request in progress has `IDLE` seconds to send a whole request, however
    many bytes trickle in; one that is being answered has as long to read some of the answer. If
    there are more than `MOST` connections, the one that has waited longest is closed.
    """

    _clock: asyncio.TimerHandle | None = None
    _unread = 0  # bytes, when the clock was started
    _since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock of a new HTTP connection, and close the connection that has waited
        longest if there are too many.
        """
        super().connection_made(transport)
        self._start_clock()
        if len(self.connections) > MOST:
            waiting = [
                connection
                for connection in self.connections
                if isinstance(connection, BoundedHttp) and connection.is_waiting
            ]
            min(waiting, key=lambda one: one._since, default=self).abort_connection()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock of an HTTP connection that has ended."""
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        self._stop_clock()

    def on_response_complete(self) -> None:
        """Start an HTTP connection's clock anew for the next request after a response is
        complete.
        """
        super().on_response_complete()
        self._start_clock()

    @property
    def is_waiting(self) -> bool:
        """Whether this HTTP connection waits for a request, with none in progress."""
        return self._clock is not None and (self.cycle is None or self.cycle.response_complete)

    def abort_connection(self) -> None:
        """Close the HTTP connection at once, even if the browser has not read all of the answer."""
        self._stop_clock()
        self.transport.abort()

    def _start_clock(self) -> None:
        """Start anew the clock that limits how long an HTTP connection may stay without
        progress.
        """
        self._stop_clock()
        self._since, self._unread = self.loop.time(), self.transport.get_write_buffer_size()
        self._clock = self.loop.call_later(self.timeout_keep_alive, self._close_if_stalled)

    def _stop_clock(self) -> None:
        """Stop the clock that limits how long an HTTP connection may stay without progress, if it
        runs.
        """
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _close_if_stalled(self) -> None:
        """Close the HTTP connection if it has made no progress since its clock was started: no
        whole request came, or nothing of the answer was read. Else start the clock anew.
        """
        unread = self.transport.get_write_buffer_size()
        if unread == self._unread and (unread or self.is_waiting):
            self.abort_connection()
        else:
            self._start_clock()

    def send_400_response(self, msg: str) -> None:
        """Send a malformed request the answer 400 with the message *msg* as JSON, and close the
        connection.
        """
        body = json.dumps({"error": msg}).encode("ascii")
        headers = {
            **HEADERS,
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Connection": "close",
        }
        response = h11.Response(
            status_code=400, headers=list(headers.items()), reason="Bad Request"
        )
        for event in (response, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


class Server(uvicorn.Server):
    """A quiet uvicorn server. *ready* is called when the server answers, *leave* when it ends; it
    ends as soon as *failed* returns True.
    """

    def __init__(
        self,
        app: ASGIApp,
        ready: Callable[[], None],
        idle: int = IDLE,
        failed: Callable[[], bool] = lambda: False,
        leave: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=BoundedHttp,
                ws="none",
                loop="asyncio",
                lifespan="on",
                log_level="error",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                backlog=QUEUE,
                timeout_keep_alive=idle,
                timeout_graceful_shutdown=PATIENCE,
            )
        )
        self._ready, self._failed, self._leave = ready, failed, leave

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Have every signal that ends a command end the web server in an orderly way, while the
        context lasts: uvicorn itself handles two signals, and raises them again.
        """
        with handle_signals(self.handle_exit):
            yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen on *sockets*, then call the function `ready` that the web server was made
        with.
        """
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def on_tick(self, counter: int) -> bool:
        """Whether the web server is to end, because a signal came or its function `failed` returns
        True.
        """
        return await super().on_tick(counter) or self._failed()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the web server: call its function `leave`, so that no request waits for an answer
        that will not come, then close all connections.
        """
        self._leave()
        await super().shutdown(sockets)
