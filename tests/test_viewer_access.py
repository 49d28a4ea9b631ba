"""Who the viewer's server speaks to, and for how long: a real one on loopback, among other users of
the machine.
"""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from viewer_fixtures import browser, played, shared
from viewer_store import Browser, served

from independence_bench.store.database import open_store
from independence_bench.viewer.server import HEADERS, MOST

__all__ = ["browser", "played", "shared"]  # fixtures


SHELL = ("/", "/index.html", "/assets/page-1234.js")
DATA = ("/api/index.json", "/api/exam.json", "/api/", "/nothing", "/%2e/", "//", "/index.html/")
WRONG = ("", "wrong", "TOKENx", "TOKE", "TOKEN,x", "\xff")


def token_of(address: str) -> str:
    """What stands behind the = of an address's fragment."""
    return urlsplit(address).fragment.partition("=")[2]


def test_the_page_itself_holds_no_data_and_needs_no_token(shared: Browser) -> None:
    """No browser sends the fragment of the address that it opens, so the page comes first and asks
    then.
    """
    for path in SHELL:
        status, headers, _ = shared.get(path, token="")

        assert (status, headers["Set-Cookie"]) == (200, None)
        assert all(headers[name] == value for name, value in HEADERS.items())


@pytest.mark.parametrize("wrong", WRONG)
def test_who_has_no_token_gets_nothing_else(shared: Browser, wrong: str) -> None:
    """Every user of the machine can connect: one line says which address to open."""
    token = token_of(shared.access.lasting_token_address)

    for path in DATA:
        status, headers, body = shared.get(
            path, token=wrong.replace("TOKEN", token).replace("TOKE", token[:-1])
        )

        assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
        assert json.loads(body) == {
            "error": "open the address that `aib view` has printed, with its token"
        }
        assert all(headers[name] == value for name, value in HEADERS.items())


def test_no_cookie_and_no_address_stands_for_the_header(shared: Browser) -> None:
    """A browser sends cookies to every port of a host, and addresses stand in histories and
    logs.
    """
    token = token_of(shared.access.lasting_token_address)

    for cookie in (f"aib-{shared.port}={token}", f"aib.token={token}", f"token={token}"):
        assert shared.get(f"/api/index.json?token={token}", token="", Cookie=cookie)[0] == 401
    status, headers, _ = shared.get("/api/index.json", token=token)
    assert (status, headers["Set-Cookie"]) == (200, None)


def test_two_tokens_are_one_too_many(shared: Browser) -> None:
    """Who reads which of them would be a matter of luck."""
    assert shared.get("/api/index.json", Authorization="Bearer wrong")[0] == 401


def test_the_address_that_a_browser_is_started_with_is_good_once(browser: Browser) -> None:
    """Everybody on the machine can read the arguments of its process."""
    once = token_of(browser.access.one_time_address)
    own = f"http://127.0.0.1:{browser.port}"
    assert browser.get("/api/index.json", token=once)[0] == 401
    assert browser.get("/api/token", "POST", token="wrong", Origin=own)[0] == 401

    status, headers, body = browser.get("/api/token", "POST", token=once, Origin=own)

    assert (status, headers["Cache-Control"]) == (200, "no-store")
    assert (
        json.loads(body)
        == {"token": token_of(browser.access.lasting_token_address)}
        != {"token": once}
    )
    assert browser.get("/api/token", "POST", token=once, Origin=own)[0] == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.invalid"}, 421),
        ({"Origin": "http://evil.invalid"}, 403),
        ({"Origin": "null"}, 403),
        ({}, 403),
    ],
)
def test_no_other_site_spends_or_uses_a_token(
    browser: Browser, headers: dict[str, str], status: int
) -> None:
    """What the Host and Origin headers refuse comes first."""
    once = token_of(browser.access.one_time_address)

    assert browser.get("/api/token", "POST", token=once, **headers)[0] == status
    if headers:
        assert browser.get("/api/index.json", **headers)[0] == status
    own = f"http://127.0.0.1:{browser.port}"
    assert browser.get("/api/token", "POST", token=once, Origin=own)[0] == 200


@contextmanager
def impatient_server(played: Path, where: str) -> Iterator[Browser]:
    """A server that waits a second for a request, over a copy: a slow first reading is kept in the
    store that is served.
    """
    shutil.copy(played, where)
    with open_store(where, create=False) as store, served(store, idle=1) as browser:
        yield browser


@pytest.mark.parametrize(
    "sent",
    [b"", b"G", b"GET / HTTP/1.1\r\nHost: x\r\n",
     b"GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Length: 9\r\n\r\nx",
     b"GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n"],
)  # fmt: skip
def test_a_connection_on_which_nothing_is_asked_is_closed(
    played: Path, where: str, sent: bytes
) -> None:
    """Silent, half-sent, and kept alive after an answer: the server ends each of them."""
    with impatient_server(played, where) as browser:
        with socket.create_connection(("127.0.0.1", browser.port)) as opened:
            opened.sendall(sent.replace(b"PORT", str(browser.port).encode()))
            while opened.recv(65536):
                pass
        assert browser.get("/api/index.json")[0] == 200


def sent_until_it_ends(opened: socket.socket, part: bytes) -> bool:
    """Send that again and again, and read nothing, until the other side has ended the
    connection.
    """
    with suppress(ConnectionError):
        while True:
            opened.sendall(part)
    return True


def test_bytes_that_trickle_in_do_not_keep_a_connection(played: Path, where: str) -> None:
    """A header that grows by a byte now and then is half a request, however long that goes on."""
    with impatient_server(played, where) as browser:
        with socket.create_connection(("127.0.0.1", browser.port)) as opened:
            opened.sendall(b"GET / HTTP/1.1\r\nX: ")
            opened.settimeout(0.05)
            ended = False
            while not ended:
                with suppress(TimeoutError):
                    opened.sendall(b"x")
                    ended = not opened.recv(1)
        assert browser.get("/api/index.json")[0] == 200


def test_an_answer_that_nobody_reads_does_not_keep_a_connection(played: Path, where: str) -> None:
    """Its window is shut and stays so: the server gives up the rest."""
    with impatient_server(played, where) as browser:
        ask = f"GET /api/exam.json HTTP/1.1\r\nHost: 127.0.0.1:{browser.port}\r\n"
        ask += f"Authorization: {browser.access.authorization_header_value}\r\n\r\n"
        with socket.socket() as opened:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            opened.connect(("127.0.0.1", browser.port))
            opened.settimeout(60)
            assert sent_until_it_ends(opened, ask.encode())
        assert browser.get("/api/index.json")[0] == 200


def test_more_connections_than_there_may_be_push_out_those_that_wait(browser: Browser) -> None:
    """The page is served beside a crowd that says nothing, and most of the crowd is gone."""
    with ExitStack() as stack:
        crowd = [
            stack.enter_context(socket.create_connection(("127.0.0.1", browser.port)))
            for _ in range(3 * MOST)
        ]
        assert browser.get("/api/index.json")[0] == 200
        for one in crowd[: 2 * MOST]:
            with suppress(ConnectionError):
                assert one.recv(1) == b""
