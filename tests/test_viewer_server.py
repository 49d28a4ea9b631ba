"""The viewer's server: a real one on loopback, asked by a client that has no manners."""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from email import message_from_string
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from scripted_model import Bench
from simulated_endpoint import start_aib
from sqlalchemy import select, text, update
from viewer_fixtures import browser, played, shared
from viewer_store import Browser, a_page, answering, script, served

from independence_bench.errors import BenchError, StoreError
from independence_bench.store.database import open_store
from independence_bench.store.schema import judgements, transcripts, worked_out
from independence_bench.viewer.app import read_page
from independence_bench.viewer.live import OFFER, Live, list_paths_to_prepare
from independence_bench.viewer.server import HEADERS, open_socket

__all__ = ["browser", "played", "shared"]  # fixtures


def test_every_answer_tells_the_browser_what_to_forbid(shared: Browser) -> None:
    """Page, script, answer, and what the browser has already."""
    for path in ("/", "/assets/page-1234.js", "/api/index.json"):
        status, headers, _ = shared.get(path)
        assert (status, guarded(headers)) == (200, True), path
        status, headers, _ = shared.get(path, If_None_Match=headers["ETag"])
        assert (status, guarded(headers)) == (304, True), path
    policy = HEADERS["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'; script-src 'self';" in policy


def guarded(headers: Mapping[str, str]) -> bool:
    """Whether every header is there that tells a browser what to forbid."""
    return all(headers[name] == value for name, value in HEADERS.items())


@pytest.mark.parametrize(
    ("status", "path", "how"),
    [
        (403, "/api/index.json", {"Origin": "http://evil.invalid"}),
        (404, "/nothing", {}),
        (404, "/api/nothing.json", {}),
        (405, "/", {"method": "POST"}),
        (405, "/api/index.json", {"method": "DELETE"}),
        (421, "/api/index.json", {"host": "evil.invalid"}),
        (400, "/api/index.json", {"host": ""}),
        (400, "/ x", {}),
    ],
)
def test_a_refusal_tells_it_too(
    shared: Browser, status: int, path: str, how: Mapping[str, str]
) -> None:
    """Refused, not there, not allowed, another name, and no HTTP at all: the same headers, and one
    line.
    """
    asked = f"{how.get('method', 'GET')} {path} HTTP/1.1\r\n"
    host = how.get("host", f"127.0.0.1:{shared.port}")
    asked += f"Host: {host}\r\n" if host else ""
    asked += f"Authorization: {shared.access.authorization_header_value}\r\n"
    asked += "".join(f"{name}: {value}\r\n" for name, value in how.items() if name == "Origin")

    line, _, rest = (
        shared.raw(f"{asked}Connection: close\r\n\r\n".encode()).decode().partition("\r\n")
    )
    head, _, body = rest.partition("\r\n\r\n")

    assert line.split()[1] == str(status)
    assert guarded(message_from_string(head))
    assert list(json.loads(body)) == ["error"]


def test_a_bug_tells_it_too(browser: Browser) -> None:
    """500 in one line, with the same headers; what went wrong is for the server's output alone."""

    def broken(_path: str) -> bytes:
        raise RuntimeError("a bug in the making of an answer")

    version = browser.live.answers.catalog.version
    answered = browser.live.current
    browser.live.current = version, broken
    status, headers, body = browser.get("/api/exam.json")
    browser.live.current = answered

    assert (status, headers["Content-Type"], guarded(headers)) == (500, "application/json", True)
    assert "the viewer's output says why" in json.loads(body)["error"]
    assert b"a bug in the making" not in body
    assert browser.get("/api/index.json")[0] == 200


def test_the_page_is_served_with_its_parts(shared: Browser) -> None:
    """The first page at /, and a script that the browser may keep for good."""
    status, headers, body = shared.get("/")
    assert (status, headers["Content-Type"], headers["Cache-Control"]) == (
        200,
        "text/html; charset=utf-8",
        "no-cache",
    )
    assert body.startswith(b"<!doctype html>")
    status, headers, _ = shared.get("/assets/page-1234.js")
    assert (status, headers["Content-Type"]) == (200, "text/javascript; charset=utf-8")
    assert "immutable" in headers["Cache-Control"]


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.invalid",
        "evil.invalid:PORT",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost.evil.invalid:PORT",
        "127.0.0.1:PORT@evil.invalid",
        "0.0.0.0:PORT",
        "[::]:PORT",
        "127.0.0.1:PORT, evil.invalid",
    ],
)
def test_a_name_that_is_not_this_machine_is_refused(shared: Browser, host: str) -> None:
    """DNS rebinding: another site's name leads here, and its scripts would read everything."""
    status, _, body = shared.get("/api/index.json", host=host.replace("PORT", str(shared.port)))

    assert status in (400, 421)
    assert b"boards" not in body


@pytest.mark.parametrize(
    "host", ["127.0.0.1:PORT", "localhost:PORT", "LOCALHOST:PORT", "[::1]:PORT"]
)
def test_this_machines_names_are_served(shared: Browser, host: str) -> None:
    """As the browser may write them."""
    status, _, _ = shared.get("/api/index.json", host=host.replace("PORT", str(shared.port)))

    assert status == 200


def test_two_host_headers_are_one_too_many(shared: Browser) -> None:
    """Who reads which of them would be a matter of luck."""
    sent = (
        f"GET /api/index.json HTTP/1.1\r\nHost: 127.0.0.1:{shared.port}\r\nHost: evil.invalid\r\n"
        "\r\n"
    )

    assert b" 200 " not in shared.raw(sent.encode()).partition(b"\r\n")[0]


@pytest.mark.parametrize(
    "origin", ["http://evil.invalid", "null", "https://127.0.0.1:PORT", "http://127.0.0.1:1"]
)
def test_other_origins_are_refused(shared: Browser, origin: str) -> None:
    """A page of another site, of another port, of no site."""
    status, _, body = shared.get("/api/index.json", Origin=origin.replace("PORT", str(shared.port)))

    assert status == 403
    assert b"boards" not in body


def test_the_own_origin_is_served_and_no_other_may_read(shared: Browser) -> None:
    """No header lets another site read an answer."""
    status, headers, _ = shared.get("/api/index.json", Origin=f"http://127.0.0.1:{shared.port}")

    assert status == 200
    assert not [name for name in headers if name.lower().startswith("access-control")]


@pytest.mark.parametrize(
    "method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"]
)
@pytest.mark.parametrize("path", ["/api/index.json", "/", "/api/nothing"])
def test_nothing_can_be_written(shared: Browser, method: str, path: str) -> None:
    """Only GET and HEAD are answered."""
    status, headers, _ = shared.get(path, method)

    assert status in (400, 405)
    assert status == 400 or headers["Allow"] == "GET, HEAD"


def test_head_has_the_headers_and_no_body(shared: Browser) -> None:
    """As HTTP says."""
    _, whole, body = shared.get("/api/index.json")
    status, headers, nothing = shared.get("/api/index.json", "HEAD")

    assert (status, nothing) == (200, b"")
    assert headers["Content-Length"] == whole["Content-Length"] == str(len(body))


@pytest.mark.parametrize(
    "path", ["/api/exam.json", "/api/search.json?words=keep", "/", "/assets/page-1234.js"]
)
def test_what_the_browser_has_is_not_sent_again(shared: Browser, path: str) -> None:
    """304 as long as the store has not changed."""
    _, headers, _ = shared.get(path)

    status, again, body = shared.get(path, If_None_Match=headers["ETag"])

    assert (status, again["ETag"], body) == (304, headers["ETag"], b"")
    assert shared.get(path, If_None_Match='"other"')[0] == 200


def test_a_changed_store_is_sent_anew(browser: Browser, bench: Callable[..., Bench]) -> None:
    """The index says another version, and what the browser has is not taken for current."""
    _, before, body = browser.get("/api/index.json")
    played = bench(script)
    played.play(played.subject("acme/late"))
    browser.live._not_before = 0.0  # as if a while had gone by

    deadline = time.monotonic() + 600
    while (answer := browser.get("/api/index.json", If_None_Match=before["ETag"]))[0] == 304:
        assert time.monotonic() < deadline
        time.sleep(0.05)

    assert json.loads(answer[2])["version"] != json.loads(body)["version"]


@pytest.mark.parametrize(
    "path",
    [
        "/api/",
        "/api/nothing.json",
        "/api/../index.html",
        "/..%2f..%2fetc%2fpasswd",
        "/../../../../etc/passwd",
        "/api/transcripts/%00.json",
        "/assets/",
        "/assets/..%5c..",
        "//etc/passwd",
        "/api/boards/%2e%2e/x.json",
        "/.git/config",
        "/index.html%00.js",
        "/api/" + "a" * 3000,
    ],
)
def test_what_is_not_there_is_one_line(shared: Browser, path: str) -> None:
    """No path leads out of the page's folder or into a traceback."""
    status, headers, body = shared.get(path)

    assert (status, headers["Content-Type"]) == (404, "application/json")
    assert list(json.loads(body)) == ["error"]


def test_the_store_is_not_touched(played: Path, where: str) -> None:
    """Every answer is read, a search too, and the file's bytes are what they were."""
    shutil.copy(played, where)
    with answering(where) as answers:
        paths = [*answers.list_paths(), "search.json?words=keep"]
    before = hashlib.sha256(Path(where).read_bytes()).hexdigest()
    with open_store(where, create=False) as store, served(store, clock=lambda: 0.0) as browser:
        assert all(browser.get(f"/api/{path}")[0] == 200 for path in paths)

    assert hashlib.sha256(Path(where).read_bytes()).hexdigest() == before


def test_what_took_long_is_kept_until_something_changes(played: Path, where: str) -> None:
    """A second start shows what the first one worked out; after another judgement it is worked out
    again.
    """
    shutil.copy(played, where)
    seconds = count(step=2)  # between two looks at the clock
    with open_store(where, create=False) as store:
        first = Live(store, clock=lambda: float(next(seconds)))
        index = first.current[1]("index.json")
        first.store_first_answers()
        kept = json.dumps({"version": first.current[0], "kept": True})

        def put(value: str | bytes) -> bytes | None:
            with store.open_transaction() as connection:
                connection.execute(
                    update(worked_out).where(worked_out.c.name == "index.json").values(value=value)
                )
            return Live(store).current[1]("index.json")

        assert put(kept) == kept.encode()
        assert (
            Live(store, offer=replace(OFFER, label="ada")).current[1]("index.json") != kept.encode()
        )
        # what is no answer about this state is worked out again: of another state, no JSON, no
        # object
        for wrong in ('{"version": "another"}', "<script>", "5", "[" * 99_999):
            assert put(wrong) == index
        with store.open_transaction() as connection:
            connection.exec_driver_sql("UPDATE worked_out SET value = CAST(x'ff' AS TEXT)")
        assert Live(store).current[1]("index.json") == index
        put(kept)
        with store.open_transaction() as connection:
            connection.exec_driver_sql("UPDATE attempts SET cost = coalesce(cost, 0) + 1")
        assert Live(store).current[1]("index.json") != kept.encode()
        with store.open_transaction() as connection:
            connection.exec_driver_sql("UPDATE judgements SET stored_at = stored_at + 1")
        assert (
            json.loads(Live(store).current[1]("index.json") or b"")["version"]
            != json.loads(index or b"")["version"]
        )


def test_what_is_kept_gives_way_though_the_first_reading_failed(played: Path, where: str) -> None:
    """As where the database was away for a moment: a page that is open shows what comes
    afterwards.
    """
    shutil.copy(played, where)
    seconds = count(step=2)
    with open_store(where, create=False) as store:
        first = Live(store, clock=lambda: float(next(seconds)))
        assert first.answers
        first.store_first_answers()
        with store.open_snapshot() as connection:
            marks = connection.execute(select(judgements.c.key, judgements.c.marks)).all()
        with store.open_transaction() as connection:
            connection.execute(update(judgements).values(marks="no JSON"))

        live = Live(store)
        live.begin_reading()
        live.first.result(600)
        assert live.kept
        assert live.failure is None
        with store.open_transaction() as connection:
            for key, given in marks:
                mended = update(judgements).where(judgements.c.key == key)
                connection.execute(mended.values(marks=given, stored_at=judgements.c.stored_at + 1))
        live.refresh_answers()
        assert live.current[0] != first.current[0]
        live.close()


def test_what_is_looked_at_first_is_there_and_is_prepared(
    played: Path, where: str, tmp_path: Path
) -> None:
    """A transcript, a scenario and a comparison of a board with two subjects; of an empty store
    nothing.
    """
    shutil.copy(played, where)
    with open_store(where, create=False) as store:
        answers = Live(store).answers
        paths = list(list_paths_to_prepare(answers.catalog))
        kinds = [
            next(kind for kind in ("transcripts", "scenarios", "compare") if kind in path)
            for path in paths
        ]

        assert kinds == ["transcripts", "scenarios", "compare"]
        assert all(answers.get(path) for path in paths)
    with open_store(tmp_path / "empty.db") as store:
        assert list(list_paths_to_prepare(Live(store).answers.catalog)) == []


class Gate:
    """A clock that stands still when it is looked at for the *at*th time, until it is let go."""

    def __init__(self, at: int) -> None:
        self.at, self.looked = at, count(1)
        self.reached, self.open = threading.Event(), threading.Event()

    def __call__(self) -> float:
        """The time."""
        if next(self.looked) == self.at:
            self.reached.set()
            assert self.open.wait(600)
        return 0.0


BEGUN, WORKED_OUT = 1, 2  # when the clock is looked at in the first reading


def waiting(browser: Browser, path: str) -> Future[tuple[int, Any, bytes]]:
    """Who asks for *path*, as soon as the server has the question."""
    before, asked = browser.at_work, ThreadPoolExecutor(1).submit(browser.get, path)
    deadline = time.monotonic() + 600
    while browser.at_work <= before and not asked.done():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return asked


def test_what_needs_no_store_is_answered_while_it_is_read(
    played: Path, where: str, tmp_path: Path
) -> None:
    """The page, and how far the reading is; answers and searches wait, however many, and then they
    come.
    """
    shutil.copy(played, where)
    gate = Gate(WORKED_OUT)
    with (
        open_store(where, create=False) as store,
        served(store, read_page(a_page(tmp_path)), clock=gate) as browser,
    ):
        assert gate.reached.wait(600)
        asked = [waiting(browser, "/api/index.json") for _ in range(20)]
        sought = waiting(browser, "/api/search.json?words=iris")

        assert browser.get("/")[0] == 200
        status, headers, body = browser.get("/api/reading.json")
        told = json.loads(body)
        assert (status, headers["Cache-Control"], guarded(headers)) == (200, "no-store", True)
        assert (told["share"], told["shown"]) == (
            0.99,
            {"conversations": str(told["conversations"]), "share": "99%"},
        )
        assert not any(one.done() for one in (*asked, sought))
        gate.open.set()

        bodies = {one.result(600)[2] for one in asked}
        assert len(bodies) == 1
        assert told["conversations"] == sum(
            one["transcripts"] for one in json.loads(bodies.pop())["protocols"]
        )
        assert sought.result(600)[0] == 200
        assert json.loads(browser.get("/api/reading.json")[2])["share"] is None


@pytest.mark.parametrize(
    ("marks", "told", "raised"),
    [
        ("no JSON", "holds a damaged record", StoreError),
        ("null", "its scores are not those that were stored", StoreError),
    ],
)
def test_a_store_that_turns_out_to_be_damaged_ends_the_server(
    marks: str,
    told: str,
    raised: type[Exception],
    played: Path,
    where: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Who waits is told so in one line; why, who began it, who looks whether an error that is no
    line is damage.
    """
    shutil.copy(played, where)
    gate = Gate(BEGUN)
    with open_store(where, create=False) as store, served(store, clock=gate) as browser:
        assert gate.reached.wait(600)
        asked = waiting(browser, "/api/index.json")
        with open_store(where) as other, other.open_transaction() as connection:
            connection.execute(update(judgements).values(marks=marks))
        gate.open.set()

        status, headers, body = asked.result(600)
        assert (status, guarded(headers)) == (503, True)
        assert told in json.loads(body)["error"]
        browser.wait()
        assert isinstance(browser.live.failure, raised)
    assert "Traceback" not in capsys.readouterr().err


def test_the_end_of_the_server_waits_for_no_reading(played: Path, where: str) -> None:
    """Who waits for it is told that the viewer ends."""
    shutil.copy(played, where)
    gate = Gate(BEGUN)
    with open_store(where, create=False) as store, served(store, clock=gate) as browser:
        assert gate.reached.wait(600)
        asked = waiting(browser, "/api/index.json")
        browser.end()

        status, _, body = asked.result(600)
        assert status == 503
        assert "the viewer ends" in json.loads(body)["error"]
        gate.open.set()


def test_what_is_scored_when_the_server_ends_is_given_up_without_a_traceback(
    browser: Browser, capsys: pytest.CaptureFixture[str]
) -> None:
    """A board by other rules is scored when it is asked for, long after the store was read."""
    boards = json.loads(browser.get("/api/index.json")[2])["boards"]
    by_other_rules = next(board["id"] for board in boards if board["rules"] != "own")
    browser.live.stop_reading()

    status, headers, body = browser.get(f"/api/boards/{by_other_rules}.json")

    assert (status, guarded(headers)) == (503, True)
    assert "the viewer ends" in json.loads(body)["error"]
    assert "Traceback" not in capsys.readouterr().err


MANY = 60_000  # conversations: it takes a second to read them, so the address is printed before


@pytest.fixture(scope="module")
def large(played: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of so many conversations: the first one of a store again and again, each time in a
    further run.
    """
    path = tmp_path_factory.mktemp("large") / "store.db"
    shutil.copy(played, path)
    other = {"id": "lower(hex(randomblob(32)))", "run": "100 + number"}
    columns = ", ".join(other.get(column.name, column.name) for column in transcripts.columns)
    numbers = (
        "WITH RECURSIVE n (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM n LIMIT :many) "
    )
    with open_store(path) as store, store.open_transaction() as connection:
        again = (
            f"INSERT INTO transcripts {numbers} SELECT {columns} FROM n, (SELECT * FROM "
            "transcripts LIMIT 1)"
        )
        connection.execute(text(again), {"many": MANY})
    return path


def test_damage_that_is_noticed_late_is_one_line_and_an_exit_code(
    large: Path, tmp_path: Path
) -> None:
    """The address was printed by then, unless the machine is very fast."""
    shutil.copy(large, tmp_path / "aib.db")
    with open_store(tmp_path / "aib.db") as store, store.open_transaction() as connection:
        connection.exec_driver_sql("UPDATE judgements SET marks = 'no JSON'")

    with start_aib(tmp_path, "view", "--port", "0", "--no-open") as child:
        out, err = child.communicate(timeout=600)

    assert child.returncode == 1
    assert not out or out.startswith("the viewer is at http://127.0.0.1:")
    first, line = err.splitlines()
    assert first == "reading aib.db"
    assert "the store aib.db holds a damaged record" in line


def test_ctrl_c_ends_the_reading(large: Path, tmp_path: Path) -> None:
    """As it ends the serving: nothing failed."""
    shutil.copy(large, tmp_path / "aib.db")
    with start_aib(tmp_path, "view", "--port", "0", "--no-open") as child:
        assert child.stdout is not None
        assert child.stdout.readline()
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=600)

    assert (child.returncode, err.splitlines()) == (0, ["reading aib.db", "stopped"])
    with open_store(tmp_path / "aib.db") as store, store.open_snapshot() as connection:
        assert not connection.execute(select(worked_out)).all()


def test_a_store_on_a_read_only_disk_is_served(played: Path, where: str) -> None:
    """Somebody else's results, on a disk that cannot be written."""
    shutil.copy(played, where)
    path = Path(where)
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        with open_store(where, create=False) as store, served(store) as browser:
            assert browser.get("/api/index.json")[0] == 200
    finally:
        path.parent.chmod(0o755)


def test_a_store_that_cannot_be_read_any_more_is_said_in_one_line(
    browser: Browser, where: str
) -> None:
    """Damaged while it was being looked at: 503 with what is wrong, and no traceback."""
    transcript = next(iter(browser.live.answers.catalog.transcripts))
    with open_store(where) as store, store.open_transaction() as connection:
        connection.exec_driver_sql("UPDATE transcripts SET lines = x'00'")

    status, _, body = browser.get(f"/api/transcripts/{transcript}.json")

    assert status == 503
    assert "damaged" in json.loads(body)["error"]
    assert browser.get("/api/index.json")[0] == 200


def test_many_who_ask_at_once_get_the_same(shared: Browser) -> None:
    """What takes long is worked out for a few at a time, and for all of them."""
    path = f"/api/judges/{next(iter(shared.live.answers.catalog.editions))}.json"
    with ThreadPoolExecutor(24) as pool:
        bodies = set(pool.map(lambda _: shared.get(path)[2], range(48)))

    assert len(bodies) == 1


def test_questions_that_nobody_waits_for_do_not_pile_up(browser: Browser) -> None:
    """Two hundred asked and left again; the next one is answered all the same, and nothing is left
    at work.
    """
    ids = list(browser.live.answers.catalog.transcripts)

    def ask_and_leave(number: int) -> None:
        with socket.create_connection(("127.0.0.1", browser.port), timeout=5) as opened:
            path = f"/api/transcripts/{ids[number % len(ids)]}.json"
            key = browser.access.authorization_header_value
            head = f"Host: 127.0.0.1:{browser.port}\r\nAuthorization: {key}"
            opened.sendall(f"GET {path} HTTP/1.1\r\n{head}\r\n\r\n".encode())

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(ask_and_leave, range(200)))

    assert browser.get(f"/api/transcripts/{ids[0]}.json")[0] == 200
    assert threading.active_count() < 60


def test_a_port_that_is_taken_is_said_in_one_line() -> None:
    """With the next step."""
    with (
        open_socket(0) as taken,
        pytest.raises(BenchError, match=r"port \d+ cannot be used .*--port"),
    ):
        open_socket(taken.getsockname()[1])


def test_a_page_that_was_not_built_is_said_in_one_line(tmp_path: Path) -> None:
    """With the next step."""
    with pytest.raises(BenchError, match="page is missing"):
        read_page(tmp_path)
