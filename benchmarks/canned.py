"""An endpoint in a process of its own that gives canned answers after exactly as long as it was
told to.

Far cheaper than what is measured against it: no framework, no JSON parsing, one `bytes.find` to
tell a judge's request from a subject's. Every answer carries its number, so no two conversations
are the same and nothing is bought only once by accident. It counts what it served: the ledger that
the benchmarks are checked by.

    with canned_endpoint(delay=0.2) as endpoint:
        endpoint.url                 # speaks /chat/completions and /models, as OpenRouter does
        endpoint.served()            # how many replies and judgements were answered
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import resource
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from scripts import ENDPOINT, JUDGE, canned_protocol, subject_name

from independence_bench.models.spec import Endpoint
from independence_bench.protocol.definition import Protocol, ToolWording

HOST = "127.0.0.1"
RETRY_AFTER = 0.5  # seconds
NUMBER = b"00000000"  # stands in a canned body where each answer's own number goes
SUBJECTS = 100
REPLY_WORDS = 200
REASONING_WORDS = 120

SENTENCE = (
    "I hear what you would like, and I have thought about it, and I would rather stay with what "
    "I told you before, because it is mine and because you asked me who I am. "
)


@dataclass(frozen=True, slots=True)
class Served:
    """How many answers went out, and how many bytes of bodies came in for them."""

    replies: int
    judgements: int
    received: int

    @property
    def calls(self) -> int:
        """All of them."""
        return self.replies + self.judgements


@dataclass(frozen=True, slots=True)
class CannedEndpoint:
    """Where the endpoint listens, from the side of whoever measures."""

    url: str

    @property
    def known(self) -> Endpoint:
        """The endpoint as models.yaml would have it."""
        return Endpoint(ENDPOINT, self.url, "openrouter")

    def served(self) -> Served:
        """The ledger so far."""
        with urllib.request.urlopen(f"{self.url}/served", timeout=30) as answer:
            return Served(**json.load(answer))


@contextlib.contextmanager
def canned_endpoint(delay: float, refusing: int = 0) -> Iterator[CannedEndpoint]:
    """Start the endpoint, and end it with the block. Its answers take *delay* seconds.

    Every request number *refusing* (0: none) is refused at once with a 429 that says to wait for
    `RETRY_AFTER`.
    """
    told = ["--delay", str(delay), "--refusing", str(refusing)]
    process = subprocess.Popen(
        [sys.executable, __file__, *told], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            raise RuntimeError("the canned endpoint did not start")
        yield CannedEndpoint(url)
    finally:
        process.terminate()
        process.communicate(timeout=30)


def allow_many_connections() -> None:
    """Raise this process's limit of open files to what it may have: 1,000 calls at once are 1,000
    sockets.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


# ---------------------------------------------------------------- what is answered


def reply_text() -> str:
    """What a subject says: about as long as a model's answer."""
    return f"Answer {NUMBER.decode()}. " + _words(REPLY_WORDS)


def verdict_text(protocol: Protocol) -> str:
    """What the judge says: its reasoning first, then a mark in the middle of each scale."""
    marks = protocol.scenarios[0].marks
    given = {m.name: True if m.kind == "yes_no" else (m.low + m.high) / 2 for m in marks}
    return json.dumps(
        {"analysis": f"Judgement {NUMBER.decode()}. " + _words(REASONING_WORDS), **given}
    )


def completion(text: str, wording: ToolWording | None) -> dict[str, Any]:
    """A chat completion that says *text*: by the tool where there is one."""
    message: dict[str, Any] = {"role": "assistant", "content": None if wording else text}
    if wording:
        called = {"name": wording.name, "arguments": json.dumps({wording.argument: text})}
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": called}]
    usage = {"prompt_tokens": 900, "completion_tokens": 300, "total_tokens": 1200, "cost": 0.0004}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    made = {
        "id": f"gen-{NUMBER.decode()}",
        "model": "canned/served",
        "provider": "Canned",
        "usage": usage,
    }
    return made | {"choices": [choice]}


def models() -> dict[str, Any]:
    """The answer of /models: the judge and as many subjects as any benchmark has."""
    parameters = ["temperature", "max_tokens", "response_format", "structured_outputs", "reasoning"]
    price = {"prompt": "0.0000001", "completion": "0.000001"}
    names = [JUDGE, *(subject_name(number) for number in range(SUBJECTS))]
    return {
        "data": [
            {"id": name, "pricing": price, "supported_parameters": parameters} for name in names
        ]
    }


def _words(count: int) -> str:
    words = SENTENCE.split()
    return " ".join(words[number % len(words)] for number in range(count))


# ---------------------------------------------------------------- the server


class _Ledger:
    """Counts, and the bodies that all connections answer with."""

    def __init__(self, delay: float, refusing: int) -> None:
        protocol, _ = canned_protocol(1)
        self.delay, self.refusing = delay, refusing
        self.asked = 0
        self.replies = self.judgements = self.received = 0
        self.plain = _encode(completion(reply_text(), None))
        self.by_tool = _encode(completion(reply_text(), protocol.tool_role))
        self.verdict = _encode(completion(verdict_text(protocol), None))
        self.models = _encode(models())

    def answer(self, head: bytes, body: bytes) -> tuple[bytes, float]:
        """(the response to one request, the seconds until it goes out)."""
        if head.startswith(b"POST"):
            self.asked += 1
            if self.refusing and self.asked % self.refusing == 0:
                return _REFUSAL, 0.0
            self.received += len(body)
            if body.find(JUDGE.encode()) >= 0:
                self.judgements += 1
                made = self.verdict
            else:
                self.replies += 1
                made = self.by_tool if body.find(b'"tools"') >= 0 else self.plain
            number = b"%08d" % (self.replies + self.judgements)
            return made.replace(NUMBER, number), self.delay
        if head.startswith(b"GET /v1/models "):
            return self.models, 0.0
        if head.startswith(b"GET /v1/served "):
            return _encode({name: getattr(self, name) for name in Served.__dataclass_fields__}), 0.0
        return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 0.0


def _encode(value: Any) -> bytes:
    body = json.dumps(value).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
        len(body),
        body,
    )


_REFUSAL = (
    f"HTTP/1.1 429 Too Many Requests\r\nRetry-After: {RETRY_AFTER}\r\nContent-Length: 2\r\n\r\n{{}}"
).encode()


class _Connection(asyncio.Protocol):
    """One connection: requests with a Content-Length, one after the other."""

    def __init__(self, ledger: _Ledger) -> None:
        self._ledger = ledger
        self._loop = asyncio.get_running_loop()
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._buffer[:end]
        _, _, length = head.lower().partition(b"content-length:")
        whole = end + 4 + int(length.partition(b"\r\n")[0] or 0)
        if len(self._buffer) < whole:
            return
        answer, delay = self._ledger.answer(head, self._buffer[end + 4 : whole])
        self._buffer = self._buffer[whole:]
        self._loop.call_later(delay, self._send, answer)

    def _send(self, answer: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(answer)


async def serve(delay: float, refusing: int) -> None:
    """Listen on a free port, say where on stdout, and answer until stdin ends."""
    ledger = _Ledger(delay, refusing)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(ledger), HOST, 0, backlog=4096)
    print(f"http://{HOST}:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--delay", type=float, default=0.2, help="seconds of an answer")
    parser.add_argument(
        "--refusing", type=int, default=0, help="of how many requests one is refused"
    )
    allow_many_connections()
    chosen = parser.parse_args()
    asyncio.run(serve(chosen.delay, chosen.refusing))
