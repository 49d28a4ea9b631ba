"""The search index beside the serving: made by itself, in nobody's way, and never left half-made behind."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scripted import Bench
from seen_once import played
from viewed import read, script, served

from independence_bench.errors import StoreError
from independence_bench.store.database import Store, open_store
from independence_bench.viewer.live import Live, SearchCache
from independence_bench.viewer.search_index import SearchState
from independence_bench.viewer.snapshot import Catalog, read_catalog

__all__ = ["played"]  # fixtures


@pytest.fixture
def store(played: Path, where: str) -> Iterator[Store]:
    """Three subjects, two judges."""
    shutil.copy(played, where)
    with open_store(where, create=False) as opened:
        yield opened


def soon(ask: Callable[[], SearchState], done: Callable[[SearchState], bool]) -> SearchState:
    """What there is when it is as is waited for."""
    deadline = time.monotonic() + 600
    while not done(there := ask()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return there


def at_work() -> list[threading.Thread]:
    """The threads that make an index."""
    return [one for one in threading.enumerate() if one.name == "search"]


def test_the_index_is_made_although_nobody_asks(store: Store) -> None:
    """A while after the serving has begun, so that the first search need not wait."""
    catalog = read_catalog(store)
    shelf = SearchCache(time.monotonic, quiet=0.0)

    shelf.prepare(lambda: catalog)
    while at_work():
        time.sleep(0.01)
    there = shelf.of(lambda: catalog)

    assert there.newest is not None
    assert (there.newest.index.documents, there.preparing) == (12, None)


def test_whoever_asks_at_once_is_told_that_it_is_being_made(store: Store) -> None:
    """Nobody waits for it: the answer is there at once, and says how far it is."""
    live = Live(store)
    live.begin()

    head = read(live.answers, "search/index.json")
    there = soon(live.answers.search, lambda there: there.preparing is None)

    assert head["index"] is None
    assert 0 <= head["preparing"] < 1
    assert there.newest is not None
    assert read(live.answers, "search/index.json")["index"]["documents"] == 12


def test_what_was_there_serves_until_the_next_one_is(store: Store, bench: Callable[..., Bench]) -> None:
    """The earlier index answers, then the new one; the files of the earlier one are there a little longer."""
    now = [read_catalog(store)]
    shelf = SearchCache(time.monotonic, quiet=0.0)
    ask: Callable[[], SearchState] = lambda: shelf.of(lambda: now[0])  # noqa: E731
    before = soon(ask, lambda there: there.preparing is None).newest
    assert before is not None
    played = bench(script)
    played.play(played.subject("acme/late"))

    now[0] = read_catalog(store)
    meanwhile = ask()
    after = soon(ask, lambda there: there.preparing is None)

    assert meanwhile.newest is before
    assert meanwhile.preparing is not None
    assert after.newest is not None
    assert after.newest.index.documents > before.index.documents
    assert after.build(before.index.build) is before
    assert after.build("another") is None


def test_an_index_that_took_long_serves_for_a_while(store: Store, bench: Callable[..., Bench]) -> None:
    """A store that changes all the time is not read all the time; that a newer one is to come is said."""
    clock = [0.0]
    first = read_catalog(store)
    now: list[Catalog] = [first]

    def newest() -> Catalog:
        clock[0] += 10.0  # as if making it had taken so long
        return now[0]

    shelf = SearchCache(lambda: clock[0], quiet=0.0)
    before = soon(lambda: shelf.of(newest), lambda there: there.newest is not None)
    while at_work():  # the thread ends a moment after it has handed over the index
        time.sleep(0.01)
    played = bench(script)
    played.play(played.subject("acme/late"))
    clock[0] = 0.0
    now[0] = read_catalog(store)

    there = shelf.of(newest)

    assert (there.newest, there.preparing) == (before.newest, 0.0)
    assert not at_work()


def test_a_failure_is_told_once_to_who_asks_and_then_tried_again(store: Store, where: str) -> None:
    """A store that is damaged, and mended."""
    catalog = read_catalog(store)
    with open_store(where) as other, other.writing() as connection:
        connection.exec_driver_sql("CREATE TABLE kept AS SELECT id, lines FROM transcripts")
        connection.exec_driver_sql("UPDATE transcripts SET lines = x'00'")
    shelf = SearchCache(time.monotonic, quiet=0.0)
    shelf.prepare(lambda: catalog)
    while at_work():
        time.sleep(0.01)

    with pytest.raises(StoreError, match="damaged"):
        shelf.of(lambda: catalog)
    with open_store(where) as other, other.writing() as connection:
        connection.exec_driver_sql(
            "UPDATE transcripts SET lines = (SELECT lines FROM kept WHERE kept.id = transcripts.id)"
        )

    assert soon(lambda: shelf.of(lambda: catalog), lambda there: there.preparing is None).newest is not None


def test_nothing_is_left_at_work_when_the_server_ends(store: Store) -> None:
    """Not even an index that nobody has asked for yet."""
    with served(store) as browser:
        deadline = time.monotonic() + 600
        while not at_work():  # it is begun when the store was read
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert browser.get("/api/index.json")[0] == 200

    assert not at_work()


def test_work_that_is_to_end_ends_where_it_is(store: Store) -> None:
    """Nobody waits for the rest, and none is begun any more."""
    catalog = read_catalog(store)
    shelf = SearchCache(time.monotonic, quiet=20.0)
    shelf.prepare(lambda: catalog)

    shelf.close()

    assert not at_work()
    assert shelf.of(lambda: catalog).newest is None
    assert not at_work()
