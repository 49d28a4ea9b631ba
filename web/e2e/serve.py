"""Starts what the tests of the page look at: `serve.py demo|hostile|static|stems|published PORT`.

Each makes its store first, in e2e/.store/, and then becomes the server, so whoever ends it ends that.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import stems
import stores

HERE = Path(__file__).resolve().parent
KEPT = HERE / ".store"
AIB = Path(sys.executable).with_name("aib")
PUBLISHED = HERE.parents[2] / "shared" / "published-dataset" / "cache.tar.xz"
SUB_PATH = Path("some") / "sub path"


def view(store: Path, port: str) -> None:
    """Become `aib view`."""
    os.execv(AIB, [str(AIB), "view", "--store", str(store), "--no-open", "--port", port])  # noqa: S606


def main(what: str, port: str) -> None:
    """Make the store, then serve."""
    KEPT.mkdir(exist_ok=True)
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
    plain = [sys.executable, "-m", "http.server", port, "--bind", "127.0.0.1", "--directory", str(site)]
    os.execv(sys.executable, plain)  # noqa: S606


if __name__ == "__main__":
    main(*sys.argv[1:])
