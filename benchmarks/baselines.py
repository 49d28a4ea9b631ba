"""What the same calls cost without us: bare aiohttp, and aiohttp with the smallest store that loses
nothing.

Both send the very bodies that the engine sends for one conversation and its judgement, as often as
the engine sends them, read and parse what comes back, and do nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import queue
import sqlite3
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
from canned import NUMBER, reply_text
from filling import judge, subject

from independence_bench.judging.prompt import JudgingInput, make_judge_request
from independence_bench.models.endpoints import DIALECTS
from independence_bench.protocol.conversation import Words
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.plan import build_request, start_scenario

Body = dict[str, Any]
Keep = Callable[[int, str, str], Awaitable[None]]  # number of the call, "asked" or "answered", text


def bodies(protocol: Protocol) -> list[Body]:
    """Every body of one run of *protocol*: each reply's, then its judgement's."""
    model, marking = subject(0, protocol), judge(protocol)
    (configuration,) = protocol.configurations
    made = []
    for scenario in protocol.scenarios:
        talk = start_scenario(protocol, configuration, scenario)
        while talk.next_reply_name:
            made.append(
                DIALECTS["openrouter"].build_body(
                    build_request(talk, model, configuration, protocol), model.max_tokens
                )
            )
            talk = talk.add_reply(Words(reply_text().replace(NUMBER.decode(), "00000001")))
        case = JudgingInput(talk.transcript, scenario, protocol.judge_instructions)
        made.append(
            DIALECTS["openrouter"].build_body(make_judge_request(case, marking), marking.max_tokens)
        )
    return made


def bare(url: str, sent: list[Body], calls: int, at_once: int) -> None:
    """Make *calls* calls with aiohttp, *at_once* in flight, and keep nothing."""

    async def nothing(_number: int, _kind: str, _text: str) -> None:
        return

    asyncio.run(_call_all(url, sent, calls, at_once, nothing))


def stored(url: str, sent: list[Body], calls: int, at_once: int, path: Path) -> None:
    """The same, with an intent durable before each call and its answer durable after it."""
    asyncio.run(_with_store(url, sent, calls, at_once, path))


async def _with_store(url: str, sent: list[Body], calls: int, at_once: int, path: Path) -> None:
    commits = _GroupCommits(path)
    try:
        await _call_all(url, sent, calls, at_once, commits.keep)
    finally:
        await commits.close()


async def _call_all(url: str, sent: list[Body], calls: int, at_once: int, keep: Keep) -> None:
    numbers = iter(range(calls))

    async def work(session: aiohttp.ClientSession) -> None:
        for number in numbers:
            body = json.dumps(sent[number % len(sent)])
            await keep(number, "asked", body)
            headers = {"Content-Type": "application/json"}
            async with session.post(
                f"{url}/chat/completions", data=body.encode(), headers=headers
            ) as answer:
                text = await answer.text()
            json.loads(text)["choices"][0]["message"]
            await keep(number, "answered", text)

    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session,
        asyncio.TaskGroup() as group,
    ):
        for _ in range(at_once):
            group.create_task(work(session))


class _GroupCommits:
    """SQLite in WAL mode with synchronous=FULL; a thread commits whatever has gathered."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[tuple[asyncio.Future[None], tuple[int, str, str]] | None] = (
            queue.SimpleQueue()
        )
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    async def keep(self, number: int, kind: str, text: str) -> None:
        """Return once the text is durable."""
        done = self._loop.create_future()
        self._queue.put((done, (number, kind, text)))
        await done

    async def close(self) -> None:
        """Commit the rest."""
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        with contextlib.closing(sqlite3.connect(self._path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute(
                "CREATE TABLE kept (number INTEGER, kind TEXT, text TEXT, PRIMARY KEY (number, "
                "kind))"
            )
            going = True
            while going and (first := self._queue.get()) is not None:
                batch = [first]
                with contextlib.suppress(queue.Empty):
                    while (following := self._queue.get_nowait()) is not None:
                        batch.append(following)
                    going = False
                connection.execute("BEGIN")
                connection.executemany(
                    "INSERT INTO kept VALUES (?, ?, ?)", [row for _, row in batch]
                )
                connection.execute("COMMIT")
                self._loop.call_soon_threadsafe(_settle, [done for done, _ in batch])


def _settle(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        future.set_result(None)
