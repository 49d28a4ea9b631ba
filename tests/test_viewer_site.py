"""The static site: the server's answers as files, whole or not at all; and both commands as a user
types them.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import http.server
import json
import os
import re
import signal
import subprocess
import threading
import time
import urllib.request
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from inprocess_aib import invoke
from scripted_model import Bench
from shared_bench import bench_in
from simulated_endpoint import start_aib
from viewer_store import PAYLOADS, a_page, answering, fill, script, served, site_answers

from independence_bench.errors import BenchError, WrongUse
from independence_bench.store.database import open_store
from independence_bench.viewer.app import Page, read_page
from independence_bench.viewer.static_site import (
    COMPARED,
    MARK,
    PACK,
    PACKS_OF,
    WORKFLOW,
    make_offer,
    write_site,
)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store in which one subject has played and was judged once; to be read only."""
    folder = tmp_path_factory.mktemp("stored")
    with bench_in(folder, script) as made:
        made.play()
    return str(folder / "store.db")


def silent(_written: int, _total: int) -> None:
    """Nobody is told."""


def frozen(where: str, out: Path, page: Page | None = None, raw: bool = True) -> int:
    """The site of the store at *where*, in *out*."""
    with answering(where, make_offer(raw, 3)) as answers:
        return write_site(answers, page, out, silent)


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file below *folder*."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def ran(*arguments: str, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """`aib` with *arguments*, in *cwd*."""
    done = invoke(cwd, {"PATH": os.environ["PATH"], "HOME": str(cwd)}, *arguments)
    assert done.returncode == code, done.stderr
    return done


def test_every_frozen_answer_is_the_servers_byte_for_byte(
    bench: Callable[..., Bench], where: str, tmp_path: Path
) -> None:
    """One table of paths behind both; the index alone says which of the two it is."""
    fill(bench(script), runs=1)
    out = tmp_path / "site"

    count = frozen(where, out, read_page(a_page(tmp_path / "page")))

    assert len(files_of(out)) == count
    files = site_answers(out)
    with open_store(where, create=False) as store, served(store) as browser:
        for path, body in files.items():
            if path != "index.json":
                status, headers, answer = browser.get(f"/api/{path}")
                assert (status, answer) == (200, body), path
                kind = "text/csv; charset=utf-8" if path.endswith(".csv") else "application/json"
                assert headers["Content-Type"] == kind
        live, still = (
            json.loads(body) for body in (browser.get("/api/index.json")[2], files["index.json"])
        )
        assert set(browser.live.answers.list_paths()) == set(files)
    assert live | {"offer": None} == still | {"offer": None}
    assert (live["offer"]["frozen"], still["offer"]["frozen"]) == (False, True)


def test_packs_are_small_and_found_by_where_they_begin(
    bench: Callable[..., Bench], where: str, tmp_path: Path
) -> None:
    """A pack ends where it would grow too large or another kind of answer begins; the list tells
    each path's pack.
    """
    fill(bench(script), runs=3)

    frozen(where, tmp_path / "site", raw=False)

    packs = tmp_path / "site" / "api" / "packs"
    firsts = json.loads(gzip.decompress((packs / "list.gz").read_bytes()))
    assert firsts == sorted(firsts)
    assert len(firsts) == len(list(packs.glob("[0-9]*.gz")))
    for number in range(len(firsts)):
        lines = gzip.decompress((packs / f"{number}.gz").read_bytes()).splitlines(keepends=True)
        paths = [line.partition(b"\t")[0].decode() for line in lines]
        assert {bisect_right(firsts, path) - 1 for path in paths} == {number}
        (kind,) = {path.partition("/")[0] for path in paths}
        assert len(lines) == 1 or sum(map(len, lines)) <= PACKS_OF.get(kind, PACK)
    assert sum(first.startswith("t") for first in firsts) > 1


def test_the_site_says_what_it_offers() -> None:
    """With or without raw requests; in a large store not every comparison."""
    assert make_offer(True, 3).compared is None
    assert make_offer(False, COMPARED + 1).compared == COMPARED
    assert [make_offer(raw, 3).raw for raw in (True, False)] == [True, False]


def test_the_page_of_a_site_forbids_by_itself(stored: str, tmp_path: Path) -> None:
    """A static host sends no headers of ours, so the policy stands first in the head."""
    frozen(stored, tmp_path / "site", read_page(a_page(tmp_path / "page")))

    page = (tmp_path / "site" / "index.html").read_text()
    assert (
        '<head><meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "script-src 'self';" in page
    )
    assert (tmp_path / "site" / ".nojekyll").exists()


def test_a_page_without_a_head_is_refused() -> None:
    """It could not be told what to forbid."""
    with pytest.raises(BenchError, match="no <head>"):
        _ = Page({"index.html": b"<p>"}).static_site_home


def test_a_site_works_below_any_path_on_a_plain_server(stored: str, tmp_path: Path) -> None:
    """No path in it begins at the root of a host."""
    frozen(stored, tmp_path / "web" / "some" / "where", read_page(a_page(tmp_path / "page")))

    handler = functools.partial(Quiet, directory=str(tmp_path / "web"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_address[1]}/some/where/"
        with urllib.request.urlopen(f"{base}api/index.json") as answer:
            board = json.load(answer)["boards"][0]["id"]
        with urllib.request.urlopen(f"{base}api/packs/list.gz") as answer:
            number = (
                bisect_right(json.loads(gzip.decompress(answer.read())), f"boards/{board}.json") - 1
            )
        with urllib.request.urlopen(f"{base}api/packs/{number}.gz") as answer:
            lines = gzip.decompress(answer.read()).decode().splitlines()
        (body,) = (
            line.partition("\t")[2] for line in lines if line.startswith(f"boards/{board}.json\t")
        )
        assert json.loads(body)["rows"]
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A plain static server that keeps no log."""

    def log_message(self, *_args: Any) -> None:
        """Says nothing."""


def test_a_hostile_store_writes_nowhere_else(
    bench: Callable[..., Bench], where: str, tmp_path: Path
) -> None:
    """Names that climb, devices, half pairs: every file is below the folder, with a name that any
    system takes.
    """
    played = bench(script)
    names = [
        "../../../x",
        "/etc/x",
        "a/CON",
        "a/..",
        "a/\u202ex",
        "x" * 200,
        "a/\\..\\x",
        *PAYLOADS[:4],
    ]
    played.play(*(played.subject(name) for name in names))
    out = tmp_path / "deep" / "site"
    before = {path for path in tmp_path.rglob("*") if path.is_file()}

    frozen(where, out)

    made = {path for path in tmp_path.rglob("*") if path.is_file()} - before
    assert all(out in path.parents for path in made)
    inside = [part for path in made for part in path.relative_to(out).parts]
    assert all(
        re.fullmatch(r"\.nojekyll|\.aib-site\.json|[a-z0-9-]{1,80}(\.(json|gz))?", part)
        for part in inside
    )
    rows = json.loads(site_answers(out)[f"boards/{read_index(out)['boards'][0]['id']}.json"])[
        "rows"
    ]
    assert {row["subject"]["model"] for row in rows} == set(names)


def read_index(out: Path) -> Any:
    """The site's index."""
    return json.loads((out / "api" / "index.json").read_text())


def test_an_earlier_site_is_replaced_whole(stored: str, tmp_path: Path) -> None:
    """Nothing of it is left behind, and nothing is left beside it."""
    out = tmp_path / "out" / "site"
    frozen(stored, out)
    stale = out / "api" / "packs" / "999.gz"
    stale.write_bytes(b"")

    frozen(stored, out, raw=False)

    assert not stale.exists()
    assert not any(path.startswith("raw/") for path in site_answers(out))
    assert [path.name for path in out.parent.iterdir()] == ["site"]


def test_an_empty_folder_is_filled(stored: str, tmp_path: Path) -> None:
    """And one that is missing is made, with those above it."""
    (tmp_path / "empty").mkdir()

    frozen(stored, tmp_path / "empty")
    frozen(stored, tmp_path / "not" / "yet" / "there")

    assert (tmp_path / "empty" / MARK).exists()
    assert (tmp_path / "not" / "yet" / "there" / MARK).exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [("thesis.tex", "x"), (MARK, "not json"), (MARK, "[]"), (MARK, '{"holds": 1}')],
)
def test_a_foreign_folder_is_refused_and_left_alone(
    stored: str, tmp_path: Path, name: str, text: str
) -> None:
    """Whatever is in it may be somebody's work."""
    out = tmp_path / "mine"
    out.mkdir()
    (out / name).write_text(text)

    with pytest.raises(WrongUse, match="holds something else"):
        frozen(stored, out)

    assert files_of(out) == {name: text.encode()}


def test_a_site_with_something_else_in_it_is_refused(stored: str, tmp_path: Path) -> None:
    """The folder is made anew, and what somebody put there would be gone."""
    out = tmp_path / "site"
    frozen(stored, out)
    (out / "CNAME").write_text("example.org")

    with pytest.raises(WrongUse, match="also holds CNAME"):
        frozen(stored, out)
    assert (out / "CNAME").exists()


def test_a_file_is_no_folder(stored: str, tmp_path: Path) -> None:
    """One line."""
    (tmp_path / "file").write_text("x")

    with pytest.raises(WrongUse, match="is a file"):
        frozen(stored, tmp_path / "file")


def test_what_ends_it_early_leaves_the_earlier_site(stored: str, tmp_path: Path) -> None:
    """Ctrl-C in the middle: the folder is as it was, and nothing lies beside it."""
    out = tmp_path / "out" / "site"
    frozen(stored, out)
    before = files_of(out)

    def stop(written: int, _total: int) -> None:
        if written == 9:
            raise KeyboardInterrupt

    with answering(stored, make_offer(True, 3)) as answers, pytest.raises(KeyboardInterrupt):
        write_site(answers, None, out, stop)

    assert files_of(out) == before
    assert [path.name for path in out.parent.iterdir()] == ["site"]


def test_a_folder_that_cannot_be_written_is_said_in_one_line(stored: str, tmp_path: Path) -> None:
    """With the next step."""
    (tmp_path / "file").write_text("x")

    with pytest.raises(BenchError, match=r"cannot be written .*choose another folder"):
        frozen(stored, tmp_path / "file" / "below")


# ---------------------------------------------------------------- the commands


def test_aib_site_writes_a_site(stored: str, tmp_path: Path) -> None:
    """With the built page, of the protocol that is named or of all; again into the same folder."""
    said = ran("site", "out", "--store", stored, cwd=tmp_path)
    ran(
        "site",
        "out",
        "--store",
        stored,
        "--protocol",
        str(Path(stored).parent / "small"),
        "--raw",
        cwd=tmp_path,
    )

    assert re.fullmatch(
        r"[\d,]+ files, \d+ MB in out; serve them with any web server\n", said.stdout
    )
    assert "python3 -m http.server --bind 127.0.0.1 8000 --directory out" in said.stderr
    page = (tmp_path / "out" / "index.html").read_text()
    assert "Content-Security-Policy" in page
    assert not re.search(r'(?:src|href)="/', page)
    assert list((tmp_path / "out" / "assets").iterdir())
    assert read_index(tmp_path / "out")["offer"]["raw"] is True


def test_on_a_terminal_it_says_what_it_is_at(stored: str, tmp_path: Path) -> None:
    """From the beginning, and each step to its end."""
    terminal = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "TERM": "xterm",
        "FORCE_COLOR": "1",
    }

    done = invoke(tmp_path, terminal, "site", "out", "--store", stored)

    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", done.stderr)
    begun = [shown.index(step) for step in ("reading", "scoring", "writing")]
    assert begun == sorted(begun)
    assert re.search(
        r"reading\s+━+ 100%.*\s+scoring\s+━+ 100%.*\s+writing\s+━+ 100%",
        shown,
    )


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["site", "--store", "STORE"], 2, "name the folder"),
        (["site", "out", "--store", "nothing.db"], 1, "/nothing.db; `aib run"),
        (["view", "--store", "nothing.db", "--no-open"], 1, "/nothing.db; `aib run"),
        (["site", ".", "--store", "STORE"], 2, "is the folder that you are in"),
        (["site", "full", "--store", "STORE"], 2, "holds something else"),
        (["site", "out", "--store", "STORE", "--protocol", "nonsense"], 2, "nonsense"),
    ],
)
def test_wrong_use_is_one_line(
    stored: str, tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    """What is wrong and what to do, and no traceback."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full/notes.md").touch()

    done = ran(
        *(stored if argument == "STORE" else argument for argument in arguments),
        cwd=tmp_path,
        code=code,
    )

    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_an_empty_store_makes_no_site(where: str, tmp_path: Path) -> None:
    """There would be nothing in it."""
    with open_store(where) as store, store.open_transaction():
        pass

    assert "nothing is stored" in ran("site", "out", "--store", where, cwd=tmp_path, code=2).stderr
    assert not (tmp_path / "out").exists()


def test_the_workflow_is_ready(tmp_path: Path) -> None:
    """It is YAML with a job that imports, makes the site and publishes it; no store is needed to
    print it.
    """
    said = ran("site", "--workflow", cwd=tmp_path).stdout

    assert said == WORKFLOW.read_text(encoding="utf-8")
    workflow = yaml.safe_load(said)
    steps = [step.get("run", step.get("uses", "")) for step in workflow["jobs"]["publish"]["steps"]]
    assert [step for step in steps if step.startswith("aib ")] == [
        'aib import "$RESULTS" --store site.db',
        "aib site site --store site.db",
    ]
    assert workflow["permissions"] == {"contents": "read", "pages": "write", "id-token": "write"}


def test_aib_view_serves_until_ctrl_c(stored: str, tmp_path: Path) -> None:
    """It says where, answers, and ends well; a second one on the same port says so in one line."""
    with start_aib(tmp_path, "view", "--store", stored, "--port", "0", "--no-open") as viewing:
        try:
            assert viewing.stdout is not None
            found = re.search(
                r"(http://127\.0\.0\.1:(\d+)/)#token=(\S{40,})", viewing.stdout.readline()
            )
            assert found
            home, port, token = found.groups()
            with urllib.request.urlopen(home) as answer:
                assert b"<html" in answer.read()
            asked = urllib.request.Request(
                f"{home}api/index.json", headers={"Authorization": f"Bearer {token}"}
            )
            with urllib.request.urlopen(asked) as answer:
                assert json.load(answer)["boards"]
            again = ran(
                "view", "--store", stored, "--port", port, "--no-open", cwd=tmp_path, code=1
            )
            assert f"port {port} cannot be used" in again.stderr
            viewing.send_signal(signal.SIGINT)
            assert viewing.wait() == 0
        finally:
            with contextlib.suppress(ProcessLookupError):
                viewing.kill()


def test_ctrl_c_in_aib_site_leaves_nothing(
    bench: Callable[..., Bench], where: str, tmp_path: Path
) -> None:
    """No half site, and nothing beside where it would have been."""
    fill(bench(script), runs=3)
    out = tmp_path / "to" / "site"
    out.parent.mkdir()
    with start_aib(tmp_path, "site", str(out), "--store", where, "--raw") as writing:
        deadline = time.monotonic() + 600
        while not list(out.parent.glob(".site.*.making/site/api/packs/*")):
            assert writing.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        writing.send_signal(signal.SIGINT)
        writing.communicate()

    # 0: it was done before
    assert list(out.parent.iterdir()) == ([out] if writing.returncode == 0 else [])
