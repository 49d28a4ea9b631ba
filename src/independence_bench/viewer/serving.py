"""A server on a port of this machine, until it is told to stop."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn
from starlette.applications import Starlette

from independence_bench.errors import BenchError

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


class Server(uvicorn.Server):
    """uvicorn, quiet; *ready* is called when it answers."""

    def __init__(self, app: Starlette, ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http="h11",
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
