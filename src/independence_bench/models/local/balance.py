"""One loopback address before several servers: each connection goes to the server that has the fewest.

    async with balanced([("127.0.0.1", 40001), ("127.0.0.1", 40002)]) as port: ...

Bytes are passed on as they come. Knows nothing of what they say.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

HOST = "127.0.0.1"
PIECE = 65_536  # bytes read at once


@asynccontextmanager
async def balanced(servers: Sequence[tuple[str, int]]) -> AsyncIterator[int]:
    """The port of an address before *servers*, (host, port) each and at least one, until the block is left."""
    connections = [0] * len(servers)
    passing: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - asyncio runs a connection's handler as a task
        passing.add(task)
        place = connections.index(min(connections))
        connections[place] += 1
        try:
            # whoever is connected sees a failure by the end of the connection; cancelled is who is left at the end
            with suppress(OSError, asyncio.CancelledError):
                its_reader, its_writer = await asyncio.open_connection(*servers[place])
                await asyncio.gather(_pass_on(reader, its_writer), _pass_on(its_reader, writer))
        finally:
            connections[place] -= 1
            passing.discard(task)
            writer.close()

    server = await asyncio.start_server(connected, HOST, 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in list(passing):
            task.cancel()
        await asyncio.gather(*passing, return_exceptions=True)


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Everything that *reader* has, to its end, into *writer*, which is then closed."""
    try:
        with suppress(OSError):
            while piece := await reader.read(PIECE):
                writer.write(piece)
                await writer.drain()
    finally:
        writer.close()
