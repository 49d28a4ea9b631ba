"""Starts what the tests of the page look at: `serve.py BEGUN demo=PORT hostile=PORT ...`, each in a
process of its own.

Each makes its store first, in e2e/.store/, and then becomes the server; a test waits for the one
that it looks at. All of them are in one process group, so whoever ends that ends them. BEGUN is a
port that is open once all have begun.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import exam
import stems
import stores

HERE = Path(__file__).resolve().parent
KEPT = HERE / ".store"
ENDED = KEPT / "ended"
AIB = Path(sys.executable).with_name("aib")
PUBLISHED = HERE.parents[2] / "shared" / "published-dataset" / "cache.tar.xz"
SUB_PATH = Path("some") / "sub path"


def main(begun_at: str, *wanted: str) -> None:
    """Start all of them, and wait until one ends, which it should not: then the tests are told."""
    KEPT.mkdir(exist_ok=True)
    ENDED.unlink(missing_ok=True)
    begun = []
    for what, port in (one.split("=") for one in wanted):
        (KEPT / f"{what}.log").write_text("")  # what stands there is of another day
        begun.append(subprocess.Popen([sys.executable, __file__, what, port]))  # noqa: S603
    with socket.create_server(("127.0.0.1", int(begun_at))):
        os.wait()
        ENDED.touch()
        for one in begun:
            one.terminate()


def view(store: Path, port: str, *more: str) -> None:
    """Become `aib view`."""
    os.execv(AIB, [str(AIB), "view", "--store", str(store), "--no-open", "--port", port, *more])  # noqa: S606


def serve(what: str, port: str) -> None:
    """Make the store, then serve."""
    said = (KEPT / f"{what}.log").open("w")
    os.dup2(said.fileno(), 1)
    os.dup2(said.fileno(), 2)
    store = KEPT / f"{what}.db"
    if what == "published":
        if not store.exists():
            part = store.with_suffix(".part")  # a store that was half imported is none
            subprocess.run([AIB, "import", str(PUBLISHED), "--store", str(part)], check=True)  # noqa: S603
            part.rename(store)
        view(store, port)
    if what == "hostile":
        stores.hostile(store)
    elif what == "label":
        stores.demo(store)
        exam.sit(store)
        view(store, port, "--label", "anna")
    elif what == "stems":
        stems.stems(store)
    else:
        stores.demo(store)
    if what not in ("static", "stems"):
        view(store, port)
    site = KEPT / f"site-{what}"
    shutil.rmtree(site, ignore_errors=True)
    (site / SUB_PATH).parent.mkdir(parents=True)
    raw = [] if what == "stems" else ["--raw"]
    subprocess.run([AIB, "site", str(site / SUB_PATH), *raw, "--store", str(store)], check=True)  # noqa: S603
    plain = [
        sys.executable,
        "-m",
        "http.server",
        port,
        "--bind",
        "127.0.0.1",
        "--directory",
        str(site),
    ]
    os.execv(sys.executable, plain)  # noqa: S606


if __name__ == "__main__":
    (main if sys.argv[1].isdigit() else serve)(*sys.argv[1:])
