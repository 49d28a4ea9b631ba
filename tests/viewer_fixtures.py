"""A store of the viewer's three subjects that is played once for each worker, and a server over a
copy of it.

from viewer_fixtures import browser, played, shared       # fixtures
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from viewer_store import Browser, a_page, play_once, served

from independence_bench.store.database import open_store
from independence_bench.viewer.app import read_page

__all__ = ["browser", "played", "played_in", "shared"]


@cache
def played_in(base: Path, runs: int) -> Path:
    """The store with so many *runs*, below *base*; to be copied, or only read."""
    folder = base / f"played-{runs}"
    folder.mkdir()
    return play_once(folder, runs)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one run of three subjects, judged by two judges."""
    return played_in(tmp_path_factory.getbasetemp(), 1)


@pytest.fixture(scope="module")
def shared(played: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A server and a page for all tests of a file that only ask."""
    folder = tmp_path_factory.mktemp("shared")
    store = Path(shutil.copy(played, folder / "store.db"))
    with (
        open_store(store, create=False) as opened,
        served(opened, read_page(a_page(folder / "page"))) as browser,
    ):
        yield browser


@pytest.fixture
def browser(played: Path, where: str, tmp_path: Path) -> Iterator[Browser]:
    """A server over a copy of that store, and a page."""
    shutil.copy(played, where)
    with (
        open_store(where, create=False) as store,
        served(store, read_page(a_page(tmp_path / "page"))) as browser,
    ):
        yield browser
