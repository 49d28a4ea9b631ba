"""Who the viewer's server speaks to, and for how long: a real one on loopback, among other users of the machine."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from viewed import Browser, a_page, play_once, served

from independence_bench.store.database import open_store
from independence_bench.viewer.assets import HEADERS, read_page
from independence_bench.viewer.server import MOST


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that is played once for all tests."""
    return play_once(tmp_path_factory.mktemp("played"), runs=1)


@pytest.fixture
def browser(played: Path, where: str, tmp_path: Path) -> Iterator[Browser]:
    """A server over a store, and a page."""
    shutil.copy(played, where)
    with open_store(where, create=False) as store, served(store, read_page(a_page(tmp_path / "page"))) as browser:
        yield browser


OUTSIDE = ("/", "/index.html", "/assets/page-1234.js", "/api/index.json", "/api/methods.json", "/nothing")


COOKIES = ("", "aib-PORT=", "aib-PORT=wrong", "other=TOKEN", "aib-1=TOKEN", "aib-PORT=TOKENx", ";=;")


@pytest.mark.parametrize("cookie", COOKIES)
def test_who_was_not_let_in_gets_nothing(browser: Browser, cookie: str) -> None:
    """Every user of the machine can connect: one line says which address to open."""
    token = browser.access.cookie.partition("=")[2]
    sent = cookie.replace("PORT", str(browser.port)).replace("TOKEN", token)

    for path in OUTSIDE:
        status, headers, body = browser.get(path, cookie=sent)

        assert (status, headers["Set-Cookie"]) == (403, None)
        assert json.loads(body) == {"error": "open the address that `aib view` has printed, with its token"}
        assert all(headers[name] == value for name, value in HEADERS.items())


@pytest.mark.parametrize(
    ("asked", "left"),
    [("/?TOKEN", "/"), ("/api/index.json?TOKEN", "/api/index.json"), ("/a%20b?x=%3C&TOKEN", "/a%20b?x=%3C"),
     ("//evil.invalid/?TOKEN", "/evil.invalid/"), ("/\\evil.invalid?TOKEN", "/evil.invalid"),
     ("/%0d%0aX:y?TOKEN", "/%0d%0aX:y"), ("/?token=wrong&TOKEN", "/")],
)  # fmt: skip
def test_the_address_that_was_printed_lets_in_and_leaves_the_address_bar(
    browser: Browser, asked: str, left: str
) -> None:
    """As often as it is opened: a cookie that no script reads and no other site's link sends, and the same page."""
    printed = urlsplit(browser.access.address)
    assert (printed.path, printed.port) == ("/", browser.port)
    for _ in range(2):
        status, headers, _ = browser.get(asked.replace("TOKEN", printed.query), cookie="")

        assert (status, headers["Location"], headers["Cache-Control"]) == (303, left, "no-store")
        cookie, *rules = headers["Set-Cookie"].split("; ")
        assert cookie == browser.access.cookie
        assert {"HttpOnly", "SameSite=Strict"} < set(rules)
        assert browser.get("/", cookie=f"a=b; {cookie}")[0] == 200


@pytest.mark.parametrize("query", ["token=", "token", "token=wrong", "token=%00%ff", "token=%ud800", "Token=TOKEN"])
def test_a_wrong_token_does_not_let_in(browser: Browser, query: str) -> None:
    """Whatever stands in its place, and however much of it."""
    token = urlsplit(browser.access.address).query.partition("=")[2]
    for asked in (
        query.replace("TOKEN", token),
        "&".join([query.replace("TOKEN", token)] * 500),
        f"token={token[:-1]}",
    ):
        status, headers, _ = browser.get(f"/?{asked}", cookie="")
        assert (status, headers["Set-Cookie"]) == (403, None)


def test_the_address_that_a_browser_is_started_with_is_good_once(browser: Browser) -> None:
    """Everybody on the machine can read the arguments of its process."""
    asked = urlsplit(browser.access.opened).query
    assert asked != urlsplit(browser.access.address).query

    assert browser.get(f"/?{asked}", cookie="")[0] == 303
    assert browser.get(f"/?{asked}", cookie="")[0] == 403
    assert browser.get("/", cookie=f"aib-{browser.port}={asked.partition('=')[2]}")[0] == 403


def test_a_token_under_another_name_or_origin_does_not_let_in(browser: Browser) -> None:
    """What the Host and Origin headers refuse comes first."""
    asked = f"/?{urlsplit(browser.access.address).query}"

    assert browser.get(asked, host="evil.invalid", cookie="")[0] == 421
    assert browser.get(asked, cookie="", Origin="http://evil.invalid")[0] == 403
    assert browser.get(asked, "POST", cookie="")[0] == 405


@pytest.mark.parametrize(
    "sent",
    [b"", b"G", b"GET / HTTP/1.1\r\nHost: x\r\n",
     b"GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Length: 9\r\n\r\nx",
     b"GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n"],
)  # fmt: skip
def test_a_connection_on_which_nothing_is_asked_is_closed(played: Path, sent: bytes) -> None:
    """Silent, half-sent, and kept alive after an answer: the server ends each of them."""
    with open_store(played, create=False) as store, served(store, idle=1) as browser:
        with socket.create_connection(
            ("127.0.0.1", browser.port),
        ) as opened:
            opened.sendall(sent.replace(b"PORT", str(browser.port).encode()))
            while opened.recv(65536):
                pass
        assert browser.get("/api/index.json")[0] == 200


def sent_until_it_ends(opened: socket.socket, part: bytes) -> bool:
    """Send that again and again, and read nothing, until the other side has ended the connection."""
    with suppress(ConnectionError):
        while True:
            opened.sendall(part)
    return True


def test_bytes_that_trickle_in_do_not_keep_a_connection(played: Path) -> None:
    """A header that grows by a byte now and then is half a request, however long that goes on."""
    with open_store(played, create=False) as store, served(store, idle=1) as browser:
        with socket.create_connection(
            ("127.0.0.1", browser.port),
        ) as opened:
            opened.sendall(b"GET / HTTP/1.1\r\nX: ")
            opened.settimeout(0.05)
            ended = False
            while not ended:
                with suppress(TimeoutError):
                    opened.sendall(b"x")
                    ended = not opened.recv(1)
        assert browser.get("/api/index.json")[0] == 200


def test_an_answer_that_nobody_reads_does_not_keep_a_connection(played: Path) -> None:
    """Its window is shut and stays so: the server gives up the rest."""
    with open_store(played, create=False) as store, served(store, idle=1) as browser:
        ask = f"GET /api/methods.json HTTP/1.1\r\nHost: 127.0.0.1:{browser.port}\r\n"
        ask += f"Cookie: {browser.access.cookie}\r\n\r\n"
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
            stack.enter_context(
                socket.create_connection(
                    ("127.0.0.1", browser.port),
                )
            )
            for _ in range(3 * MOST)
        ]
        assert browser.get("/api/index.json")[0] == 200
        for one in crowd[: 2 * MOST]:
            with suppress(ConnectionError):
                assert one.recv(1) == b""
