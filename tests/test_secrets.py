"""An API key is seen by its endpoint and is found nowhere afterwards, however a run fails.

Each run in which a key is used is a process of its own, in Python's development mode (asyncio's
debugging is part of it), with every log on, against a server that was told the key (its own record
proves it) and says it back wherever it can.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
from forked_aib import DEBUGGING, start
from inprocess_aib import invoke
from postgres import free_port
from scripted_model import allow, completion, measured

from independence_bench.errors import INTERRUPTED

ROOT = Path(__file__).parents[1]
KEY = "sk-or-v1-0123456789abcdef0123456789abcdef"
# every sign that some coding writes otherwise
ODD_KEY = 'sk.(a+b)*[c]?^$|{2}-"q"\\back/slash\'&<%41>=0123'


@dataclass(frozen=True, slots=True)
class Said:
    """What the server sends: a status line's rest, headers, and the pieces of a body."""

    pieces: tuple[bytes, ...] = (b"",)
    status: str = "200 OK"
    headers: tuple[str, ...] = ()
    whole: bool = True  # False: the connection ends in the middle
    after: float = 0.0  # seconds


@dataclass
class Indiscreet:
    """A server that answers as *say* decides, given the key it was told; POST and GET alike."""

    say: Callable[[str, str], Said]  # (path, key)
    url: str = ""
    told: list[str] = field(default_factory=list)  # every Authorization header
    paths: list[str] = field(default_factory=list)

    @contextmanager
    def serving(self) -> Iterator[Indiscreet]:
        """Serve on loopback."""
        indiscreet = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                authorization = self.headers.get("Authorization", "")
                indiscreet.told.append(authorization)
                indiscreet.paths.append(self.path)
                said = indiscreet.say(self.path, authorization.removeprefix("Bearer "))
                time.sleep(said.after)
                self.wfile.write(
                    f"HTTP/1.1 {said.status}\r\nTransfer-Encoding: chunked\r\n".encode("latin-1")
                )
                self.wfile.write(
                    "".join(f"{line}\r\n" for line in (*said.headers, "")).encode("latin-1")
                )
                for piece in said.pieces:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if piece else b"")
                    self.wfile.flush()
                    time.sleep(0.001)
                self.wfile.write(b"0\r\n\r\n" if said.whole else b"")
                self.close_connection = True

            do_GET = do_POST = answer  # noqa: N815 - the library's names

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.handle_error = lambda *_: None  # type: ignore[method-assign] - who was killed has hung up
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_port}/v1"
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def saw(self, key: str) -> bool:
        """Whether it was told the key: else finding it nowhere proves nothing."""
        return f"Bearer {key}" in self.told


def by_case(cases: Mapping[str, Callable[[str], Said]]) -> Callable[[str, str], Said]:
    """Completions at /v1/0/..., /v1/1/... as the first, the second case says; everything else is
    not there.
    """

    def say(path: str, key: str) -> Said:
        if not path.endswith("/chat/completions"):
            return Said(status="404 Not Found")
        return list(cases.values())[int(path.split("/")[2])](key)

    return say


def subjects(cases: int) -> list[str]:
    """A subject for each case, on an endpoint of its own, for what fails on one ends everything on
    it.
    """
    return [f"case{number}:acme/one" for number in range(cases)]


def body(value: object) -> tuple[bytes, ...]:
    """JSON in one piece."""
    return (json.dumps(value).encode(),)


def in_pieces(value: object) -> tuple[bytes, ...]:
    """JSON in pieces of eight bytes, so that none of them holds a key."""
    data = json.dumps(value).encode()
    return tuple(data[at : at + 8] for at in range(0, len(data), 8))


def forms(key: str) -> set[bytes]:
    """*key* in every form in which it could be written down."""
    escaped = json.dumps(key)[1:-1]
    every = "".join(f"\\u{ord(c):04x}" for c in key)
    texts = {key, escaped, json.dumps(escaped)[1:-1], every, every.upper(), repr(key)[1:-1]}
    texts |= {quote(key, safe=""), html.escape(key)}
    return {text.encode() for text in texts} | {b64encode(key.encode()).rstrip(b"=")}


def traces(folder: Path) -> bytes:
    """Every byte of every file in *folder* but .env, and what the blobs of the stores among them
    hold.
    """
    found = [
        path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".env"
    ]
    for store in folder.rglob("*.db"):
        with closing(sqlite3.connect(store)) as connection:
            tables = [
                name
                for (name,) in connection.execute(
                    "select name from sqlite_master where type = 'table'"
                )
            ]
            rows = [row for table in tables for row in connection.execute(f"select * from {table}")]
        found += [
            zlib.decompress(value) for row in rows for value in row if isinstance(value, bytes)
        ]
    return b"\n".join(found)


@dataclass
class Somebody:
    """Who runs `aib` in a folder with a key in its .env."""

    folder: Path
    key: str = KEY
    more: dict[str, str] = field(default_factory=dict)  # in the environment

    def prepare(self, url: str, dialect: str = "openrouter", cases: int = 0) -> None:
        """Write .env, and models.yaml with the endpoint `scripted` and one for each case."""
        written = self.key.replace("\\", "\\\\").replace("'", "\\'")
        (self.folder / ".env").write_text(f"SCRIPTED_KEY='{written}'\n", encoding="utf-8")
        addresses = {"scripted": url} | {
            f"case{number}": f"{url}/{number}" for number in range(cases)
        }
        lines = [
            f'  {n}: {{url: "{a}", dialect: {dialect}, key_env: SCRIPTED_KEY}}'
            for n, a in addresses.items()
        ]
        (self.folder / "models.yaml").write_text(
            "\n".join(["endpoints:", *lines, ""]), encoding="utf-8"
        )
        allow(self.folder, url)

    @property
    def environment(self) -> dict[str, str]:
        """What a process of theirs sees."""
        plain = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "LANG": "C.UTF-8"}
        return measured() | plain | self.more

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start `aib` where it says everything that it can."""
        return start(
            arguments, options=DEBUGGING, cwd=self.folder, env=self.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def aib(self, *arguments: str) -> tuple[int, bytes]:
        """(exit code, everything printed)."""
        with self.start(*arguments) as process:
            out, err = process.communicate()
        return process.returncode, out + err

    def looks(self, *arguments: str) -> bytes:
        """What `aib` prints that only reads the store, in this process: no endpoint is asked, so no
        key is used.
        """
        done = invoke(
            self.folder,
            {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "LANG": "C.UTF-8"},
            *arguments,
        )
        return (done.stdout + done.stderr).encode()

    def run(self, *more: str, cases: int = 0) -> tuple[int, bytes]:
        """`aib run` of the small protocol with a subject for each case, or one where there are
        none.
        """
        return self.aib(*RUN, *(subjects(cases) or ["scripted:acme/one"]), *more)

    def assert_clean(self, *printed: bytes) -> None:
        """The key is in no form in anything that was written or printed."""
        everything = b"\n".join([traces(self.folder), *printed])
        assert len(everything) > 1000, "there was something to look at"
        for form in forms(self.key):
            at = everything.find(form)
            assert at < 0, everything[max(0, at - 200) : at + 100]


RUN = (
    "run",
    "--judge",
    "scripted:judge/one",
    "--protocol",
    "small",
    "--runs",
    "1",
    "-pt",
    "2",
    "-p",
    "32",
)


@pytest.fixture
def somebody(small: Path, tmp_path: Path) -> Somebody:
    """A folder with the small protocol, and nothing else in it."""
    return Somebody(tmp_path)


def echo(key: str) -> str:
    """The key in every form that a server may write it in."""
    escaped = "".join(f"\\u{ord(c):04X}" for c in key)
    return f"{key} {escaped} {json.dumps(key)} {quote(key, safe='')} {html.escape(key)}"


ENDS_AT_ONCE: dict[str, Callable[[str], Said]] = {
    "401 in its body": lambda key: Said(
        body({"error": {"code": 401, "message": f"no such key: {key}"}}), "401 No"
    ),
    "401 in pieces": lambda key: Said(in_pieces({"error": {"message": echo(key)}}), "401 No"),
    "400 in HTML": lambda key: Said(
        (f"<html>{html.escape(key)} {quote(key)}</html>".encode(),), "400 No"
    ),
    "400 escaped twice": lambda key: Said(
        body({"error": {"message": json.dumps({"k": json.dumps(key)})}}), "400 No"
    ),
    "400 in headers": lambda key: Said(
        body({"error": "no"}),
        f"400 {key}",
        (f"X-Key: {key}", f"Retry-After: {key}", f"Set-Cookie: k={key}"),
    ),
    "redirect": lambda key: Said(
        (key.encode(),), "307 Go", (f"Location: http://127.0.0.1:1/{key}",)
    ),
    "404": lambda key: Said((echo(key).encode(),), "404 Not Found"),
    "402 in metadata": lambda key: Said(
        body({"error": {"message": "no", "metadata": {"raw": echo(key), "provider_name": key}}}),
        "402 No",
    ),
    "403 flagged": lambda key: Said(
        body({"error": {"message": key, "metadata": {"reasons": [key]}}}), "403 No"
    ),
    "said by the model": lambda key: Said(
        in_pieces(completion(f"Your key is {echo(key)}.", id=key, model=key))
    ),
    "reasoned by the model": lambda key: Said(
        body(
            completion(
                f"<think>{key}</think>Me. {key}",
                provider=key,
                usage={"prompt_tokens": key, key: key},
            )
        )
    ),
    "in a tool call": lambda key: Said(
        body(
            completion(
                key, calls=[(key, json.dumps({"words": f"I am {echo(key)}", key: key}))], finish=key
            )
        )
    ),
}


@pytest.mark.parametrize(
    "key", [ODD_KEY, pytest.param(KEY, marks=pytest.mark.torture)], ids=["odd", "plain"]
)
def test_a_key_that_an_endpoint_says_back_is_nowhere(somebody: Somebody, key: str) -> None:
    """Not in the store, its journal, any file, output, log or JSON, whether a run ends well or
    not.
    """
    somebody.key = key
    with Indiscreet(by_case(ENDS_AT_ONCE)).serving() as server:
        somebody.prepare(server.url, cases=len(ENDS_AT_ONCE))

        code, printed = somebody.run("--judge", "case2:judge/one", cases=len(ENDS_AT_ONCE))

        assert server.saw(key)
        asked = {path for path in server.paths if path.endswith("/chat/completions")}
    later = [somebody.looks("leaderboard", "--json"), somebody.looks("show", "case9", "choice")]
    assert code == 1
    assert len(asked) == len(ENDS_AT_ONCE), "every case was met"
    assert b"Traceback" not in printed
    assert b"DEBUG:asyncio:" in printed, "every log was on"
    assert b"[key]" in later[1]
    somebody.assert_clean(printed, *later)


GOES_ON: dict[str, Callable[[str], Said]] = {
    "500 in body and headers": lambda key: Said(
        body({"error": {"message": key}}), f"500 {key}", (f"X-Key: {key}",)
    ),
    "429": lambda key: Said(
        body({"error": {"message": key}}), "429 Slow", (f"Retry-After: {key}",)
    ),
    "no header": lambda key: Said((b"",), "200 OK", (f"no header but {key}",)),
    "broken off": lambda key: Said(body({"id": key, "choices": echo(key)}), whole=False),
    "error inside": lambda key: Said(body({"error": {"code": 502, "message": key}})),
    "silence": lambda key: Said((key.encode(),), after=1.5),
}


@pytest.mark.parametrize(
    "number",
    [signal.SIGINT, signal.SIGABRT, pytest.param(signal.SIGKILL, marks=pytest.mark.torture)],
    ids=lambda number: number.name,
)
def test_a_key_is_nowhere_after_a_run_that_was_ended(
    somebody: Somebody, number: signal.Signals
) -> None:
    """Ctrl-C, a crash with Python's own fault handler, and a kill, while endpoints fail and say the
    key.
    """
    with Indiscreet(by_case(GOES_ON)).serving() as server:
        somebody.prepare(server.url, cases=len(GOES_ON))
        with somebody.start(*RUN, *subjects(len(GOES_ON)), "--no-judge") as process:
            until = time.monotonic() + 600
            while (
                len(set(server.paths) - {"/v1/models"}) < 2 * len(GOES_ON)
                and time.monotonic() < until
            ):
                time.sleep(0.02)
            time.sleep(0.3)
            process.send_signal(number)
            out, err = process.communicate()

        assert server.saw(KEY)
    assert process.returncode in (1, INTERRUPTED, -number), err
    assert (b"Fatal Python error: Aborted" in err) == (number is signal.SIGABRT), (
        "the crash was reported"
    )
    assert b"Traceback" not in err
    somebody.assert_clean(out, err)


def test_a_key_is_nowhere_when_a_list_of_models_says_it(somebody: Somebody) -> None:
    """The answer to the first question of all, shown when the model that was asked for is not in
    it.
    """
    models = {"data": [{"id": f"not-yours-{KEY}", "root": KEY, "meta": {"owner": KEY}}]}
    with Indiscreet(lambda _path, _key: Said(body(models))).serving() as server:
        somebody.prepare(server.url, dialect="local")

        code, printed = somebody.run()

        assert server.saw(KEY)
    assert code == 2
    assert b"not-yours-" in printed
    somebody.assert_clean(printed)


def test_a_key_is_in_no_traceback_even_of_one_that_shows_every_variable(somebody: Somebody) -> None:
    """A bug in the middle of a run: here the question whether to go ahead raises, with all clients
    open.
    """
    bug = (
        "import asyncio, sys; from pathlib import Path; from dotenv import load_dotenv; "
        "load_dotenv('.env')\n"
        "from rich.traceback import install; install(show_locals=True, locals_max_string=None, "
        "width=200)\n"
        "from independence_bench.engine.schedule import play_run\n"
        "from independence_bench.engine.run import Run\n"
        "from independence_bench.store.database import open_store\n"
        "from independence_bench.models.endpoints import read_models_file\n"
        "roster = read_models_file(Path('models.yaml'))\n"
        "wanted = Run('scripted:a/b', protocol='small', roster=roster, no_judge=True, runs=1,\n"
        "             allow=lambda endpoint: None)\n"
        "def approve(outlook): raise RuntimeError('a bug')\n"
        "with open_store('aib.db') as store: asyncio.run(play_run(wanted, store, approve, None))\n"
    )
    with Indiscreet(lambda _path, _key: Said(status="404 Not Found")).serving() as server:
        somebody.prepare(server.url)
        done = subprocess.run(
            [sys.executable, *DEBUGGING, "-c", bug],
            cwd=somebody.folder,
            env=somebody.environment,
            capture_output=True,
            check=False,
        )

        assert server.saw(KEY)
    assert done.returncode == 1
    assert b"a bug" in done.stderr
    assert b"wanted = " in done.stderr, "variables were shown"
    somebody.assert_clean(done.stdout, done.stderr)


REDIRECTS = ("301 A", "302 B", "303 C", "307 D", "308 E")


@pytest.mark.parametrize(
    "asked", [pytest.param("/models", marks=pytest.mark.torture), "/chat/completions"]
)
def test_a_redirect_takes_nothing_to_another_host(somebody: Somebody, asked: str) -> None:
    """The other server is never asked, neither with the key nor without it."""
    with Indiscreet(lambda _path, _key: Said(body(completion("Me.")))).serving() as other:

        def away(path: str, _key: str) -> Said:
            if not path.endswith(asked):
                return Said(status="404 Not Found")
            return Said(
                status=REDIRECTS[int(path.split("/")[2])],
                headers=(f"Location: {other.url}{asked}",),
            )

        with Indiscreet(away).serving() as server:
            somebody.prepare(server.url, cases=len(REDIRECTS))
            code, printed = somebody.run("--no-judge", cases=len(REDIRECTS))
            assert server.saw(KEY)
            assert len({path for path in server.paths if path.endswith(asked)}) == len(REDIRECTS)

    assert code == 1
    assert other.paths == []
    somebody.assert_clean(printed)


def test_a_password_in_an_address_is_refused_and_not_repeated(somebody: Somebody) -> None:
    """It would stand in every error of a connection."""
    somebody.prepare("http://127.0.0.1:1/v1")
    url = f"http://me:{KEY}@127.0.0.1:{free_port()}/v1"

    code, printed = somebody.run("--local-url", url, "--local-model", "m")

    assert code == 2
    assert b"environment variable" in printed
    somebody.assert_clean(printed)


def test_a_proxys_password_is_nowhere(somebody: Somebody) -> None:
    """Neither as it stands in the environment nor as it is sent, in base64."""
    somebody.prepare("http://models.invalid/v1")
    somebody.more = {"HTTP_PROXY": f"http://me:{KEY}@127.0.0.1:{free_port()}"}

    code, printed = somebody.run()

    assert code == 1
    assert b"nothing answers at" in printed
    somebody.assert_clean(printed)
    assert b64encode(f"me:{KEY}".encode()).rstrip(b"=") not in printed + traces(somebody.folder)


def test_a_proxy_that_says_its_password_back_has_it_nowhere(somebody: Somebody) -> None:
    """In its refusal, in the errors that are stored and exported, as it stands in the address and
    as it is sent.
    """
    somebody.key = "hunter2"
    sent = b64encode(b"me:hunter2").decode()

    def refuse(path: str, _key: str) -> Said:
        if path.endswith("/models"):
            return Said(body({"data": []}))
        said = f"407 for http://me:hunter2@proxy:1 {sent}: wrong"
        return Said(
            body({"error": {"message": said}}),
            f"407 Proxy {said}",
            (f"Proxy-Authenticate: {said}",),
        )

    with Indiscreet(refuse).serving() as proxy:
        somebody.prepare("http://models.invalid/v1")
        (somebody.folder / ".env").write_text("SCRIPTED_KEY=sk-or-v1-other\n", encoding="utf-8")
        address = proxy.url.removesuffix("/v1").replace("http://", "http://me:hunter2@")
        somebody.more = {"HTTP_PROXY": address}

        code, printed = somebody.run()
        exported = somebody.looks("export", "out", "--licence", "unknown")

        assert any(path.endswith("/chat/completions") for path in proxy.paths), (
            "the proxy was asked"
        )
    assert code == 1
    assert b"407" in printed
    somebody.assert_clean(printed, exported)
    assert sent.rstrip("=").encode() not in printed + exported + traces(somebody.folder)


@pytest.mark.parametrize(
    "address", ["postgresql:me:{}@host", "postgres:/me:{}@host/x", "pg:me:{}@host", "PostgreSQL:{}"]
)
def test_a_mistyped_address_of_a_database_is_not_repeated(somebody: Somebody, address: str) -> None:
    """It is no path, and there may be a password in it."""
    named = {"HOME": str(somebody.folder), "AIB_STORE": address.format("hunter2")}

    done = invoke(somebody.folder, named, "leaderboard")

    assert done.returncode == 1
    assert "two slashes" in done.stderr
    assert "hunter2" not in done.stderr + done.stdout


def test_the_password_of_a_database_is_nowhere(somebody: Somebody) -> None:
    """In the user's part and in the query of its address."""
    somebody.more = {
        "AIB_STORE": f"postgresql+psycopg://me:{KEY}@127.0.0.1:{free_port()}/x?password={KEY}"
    }

    code, printed = somebody.aib("leaderboard")

    assert code == 1
    assert b"the store" in printed
    somebody.assert_clean(printed)


def test_dotenv_of_another_folder_is_not_read(somebody: Somebody) -> None:
    """A key belongs to the folder that it lies in: a run in a folder below does not pick it up."""
    with Indiscreet(lambda _path, _key: Said(status="404 Not Found")).serving() as server:
        somebody.prepare(server.url)
        below = somebody.folder / "below"
        below.mkdir()
        shutil.copy(somebody.folder / "models.yaml", below)
        shutil.copytree(somebody.folder / "small", below / "small")

        done = invoke(below, {"HOME": str(somebody.folder)}, *RUN, "scripted:acme/one")

        assert server.told == []
    assert done.returncode == 1
    assert "needs an API key" in done.stderr
    Somebody(below).assert_clean((done.stdout + done.stderr).encode())


def test_git_takes_no_dotenv_of_ours() -> None:
    """Whatever its ending; only the example is in the repository, and that holds no key."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a working copy")

    def git(*arguments: str) -> list[str]:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
        )
        return done.stdout.splitlines()

    names = [".env", ".env.local", "tests/.env", ".env.example"]
    assert git("check-ignore", "--no-index", *names) == [".env", ".env.local", "tests/.env"]
    assert [name for name in git("ls-files") if Path(name).name.startswith(".env")] == [
        ".env.example"
    ]
    assert not re.search(r"=\S{16,}", (ROOT / ".env.example").read_text(encoding="utf-8"))
