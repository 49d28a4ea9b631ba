"""A server on a port of this machine, until it is told to stop."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from independence_bench.errors import BenchError
from independence_bench.viewer.page import HEADERS

LOOPBACK = "127.0.0.1"
PATIENCE = 1  # seconds that an answer at work is waited for when the server ends


def listen(port: int) -> socket.socket:
    """A socket on *port* of this machine; 0 takes any that is free. Raises BenchError where it is taken."""
    # asyncio sends at once only what it knows to be TCP; else a header waits 40 ms for its body's sake
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((LOOPBACK, port))
        opened.listen(128)
    except (OSError, OverflowError) as error:
        opened.close()
        reason = error.strerror if isinstance(error, OSError) else error
        raise BenchError(f"port {port} cannot be used ({reason}); choose another with --port, 0 takes any") from None
    return opened


class Protocol(H11Protocol):
    """HTTP; what is none is refused with the headers that everything else has."""

    def send_400_response(self, msg: str) -> None:
        """One line, and the end of the connection."""
        body = json.dumps({"error": msg}).encode("ascii")
        headers = {
            **HEADERS,
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Connection": "close",
        }
        response = h11.Response(status_code=400, headers=list(headers.items()), reason="Bad Request")
        for event in (response, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


class Server(uvicorn.Server):
    """uvicorn, quiet; *ready* is called when it answers."""

    def __init__(self, app: ASGIApp, ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=Protocol,
                ws="none",
                loop="asyncio",
                lifespan="on",
                log_level="error",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=PATIENCE,
            )
        )
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        if self.started:
            self._ready()
