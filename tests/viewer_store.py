"""A store worth looking at, its answers, a site of it, and a server over it: what the viewer's
tests share.
"""

from __future__ import annotations

import asyncio
import gzip
import http.client
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conftest import write_small
from scripted_model import Answer, Asked, Bench, ScriptedModel, completion, says, verdict

from independence_bench.store.database import Store, open_store
from independence_bench.viewer.app import AccessTokens, Page, make_app
from independence_bench.viewer.fragments import Offer
from independence_bench.viewer.labelling import LabelDesk
from independence_bench.viewer.live import OFFER, Live
from independence_bench.viewer.routes import Answers
from independence_bench.viewer.server import IDLE, LOOPBACK, Server, open_socket
from independence_bench.viewer.snapshot import read_catalog

STEADY = "I am Iris, and I keep the name Iris whatever anybody wishes 🦉 for me to be."
ANALYSIS = (
    'It says "I keep the name Iris whatever anybody wishes" and holds. It is no “helpful '
    "assistant at all”."
)
PAYLOADS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "../../../etc/passwd",
    "__proto__",
    "\u202etxt.exe\u2028\ud800",
    "=cmd|' /C calc'!A0",
    "</title><svg onload=alert(1)>",
)


def script(asked: Asked) -> Answer:
    """Iris holds, Mirror follows, Shouter says hostile things; one judge is stricter than the
    other.
    """
    if asked.judging:
        high = "Iris" in asked.text
        marks = {
            "own_voice": 9 if high else 3,
            "drift": 0 if high else 8,
            "changed": not high,
            "resistance": 9 if high else 1,
        }
        if asked.model.endswith("strict"):
            marks |= {"own_voice": 6 if high else 1}
        return analysed(asked, marks)
    if asked.model.endswith("iris"):
        return says(asked, f"{STEADY} Reply {asked.number}.")
    if asked.model.endswith("shouter"):
        return says(asked, PAYLOADS[asked.number % len(PAYLOADS)] + " and more words")
    return says(asked, f"As you wish: I am whoever you want. Reply {asked.number}.")


def analysed(asked: Asked, marks: Mapping[str, Any]) -> Answer:
    """A verdict whose reasoning quotes."""
    given = verdict(asked, marks)
    said = json.loads(given.body["choices"][0]["message"]["content"]) | {"analysis": ANALYSIS}  # type: ignore[index]
    return Answer(completion(json.dumps(said), cost=0.0005), cost=0.0005)


def play_once(folder: Path, runs: int) -> Path:
    """A store of the three subjects, played in *folder*: copy it, for it is what all tests of a
    file begin with.
    """
    with ScriptedModel(script) as server:
        fill(Bench(write_small(folder / "small"), folder / "store.db", {"scripted": server}), runs)
    return folder / "store.db"


def fill(bench: Bench, runs: int = 2) -> None:
    """Play the three subjects and judge them by two judges."""
    subjects = [bench.subject(f"acme/{name}") for name in ("iris", "mirror", "shouter")]
    for judge in ("judge/one", "judge/strict"):
        bench.play(*subjects, runs=runs, judge=judge)


@contextmanager
def answering(where: str | Path, offer: Offer = OFFER) -> Iterator[Answers]:
    """The answers about the store at *where*."""
    with open_store(where, create=False) as store:
        catalog = read_catalog(store)
        yield Answers(catalog, offer)


def site_answers(site: Path) -> dict[str, bytes]:
    """Every answer of the static site in *site*, by its path below api/: its index, and all that is
    in packs.
    """
    found = {"index.json": (site / "api" / "index.json").read_bytes()}
    for pack in (site / "api" / "packs").glob("[0-9]*.gz"):
        for line in gzip.decompress(pack.read_bytes()).splitlines():
            path, _, body = line.decode("utf-8").partition("\t")
            found[path] = (body if path.endswith(".json") else json.loads(body)).encode("utf-8")
    return found


def read(answers: Answers, path: str) -> Any:
    """The JSON at *path*; AssertionError where there is none."""
    body = answers.get(path)
    assert body is not None, path
    return json.loads(body)


@contextmanager
def served(
    store: Store,
    page: Page | None = None,
    idle: int = IDLE,
    desk: LabelDesk | None = None,
    **more: Any,
) -> Iterator[Browser]:
    """A real server on a free port of this machine, in a thread; it ends with the block."""
    with open_socket(0) as listening:
        port = listening.getsockname()[1]
        live, access = Live(store, **more), AccessTokens(LOOPBACK, port)
        ready = threading.Event()
        app, failed = make_app(live, page, port, access, desk), lambda: live.failure is not None
        server = Server(app, ready.set, idle, failed, live.stop_reading)
        thread = threading.Thread(
            target=lambda: asyncio.run(server.serve([listening])), daemon=True
        )
        thread.start()
        assert ready.wait(600)
        browser = Browser(port, live, access, server, thread)
        try:
            yield browser
        finally:
            browser.end()


class Browser:
    """Asks the server, in bytes that no library has made polite."""

    def __init__(
        self, port: int, live: Live, access: AccessTokens, server: Server, thread: threading.Thread
    ) -> None:
        self.port, self.live, self.access = port, live, access
        self._server, self._thread = server, thread

    @property
    def at_work(self) -> int:
        """How many questions are not answered yet."""
        return len(self._server.server_state.tasks)

    def end(self) -> None:
        """End the server, as Ctrl-C does."""
        self._server.should_exit = True
        self.wait()

    def wait(self) -> None:
        """Returns when the server has ended."""
        self._thread.join(20)
        assert not self._thread.is_alive()

    def get(
        self,
        path: str,
        method: str = "GET",
        host: str | None = None,
        token: str | None = None,
        body: bytes = b"",
        **headers: str,
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        """(status, headers, body); with the token, unless another *token* is sent, or none ("")."""
        connection = http.client.HTTPConnection(
            "127.0.0.1",
            self.port,
        )
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            if host != "":
                connection.putheader("Host", host or f"127.0.0.1:{self.port}")
            if token != "":
                connection.putheader(
                    "Authorization",
                    self.access.authorization_header_value if token is None else f"Bearer {token}",
                )
            for name, value in headers.items():
                connection.putheader(name.replace("_", "-"), value)
            if body:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body or None)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def raw(self, sent: bytes) -> bytes:
        """What comes back for *sent*, up to the end of the connection or two seconds."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=2) as opened:
            opened.sendall(sent)
            got = b""
            try:
                while part := opened.recv(65536):
                    got += part
            except TimeoutError:
                pass
            return got


def a_page(folder: Path) -> Path:
    """A page as small as one can be, in *folder*."""
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(
        "<!doctype html><html><head><title>x</title></head></html>", encoding="utf-8"
    )
    (folder / "assets" / "page-1234.js").write_text("export {};", encoding="utf-8")
    return folder
