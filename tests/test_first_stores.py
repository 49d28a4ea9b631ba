"""Stores and exports that f7ce088 made, with everything that they can hold: they open and give the
same boards.

`data/f7ce088/make.py` made them. Intervals and who is left out of a ranking may change with the
code; what was answered, how it was marked and what that comes to must not.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from embedded_judge import needs_model
from first_stores import MADE, read, restored, restored_database, unpacked_export
from frozen_stores import aib, compare_boards
from postgres import Server
from sqlalchemy import func, select

from independence_bench.judging.prompt import hash_rubric
from independence_bench.protocol.loader import load_protocol
from independence_bench.protocol.plan import hash_script, list_possible_configurations
from independence_bench.store.database import open_store
from independence_bench.store.schema import attempts, judgements

BOARDS: Mapping[str, Any] = json.loads(read("boards.json.xz"))
HASHES: Mapping[str, Any] = json.loads((MADE / "hashes.json").read_text(encoding="utf-8"))
READINGS = {
    **{name: ("--protocol", name) for name in ("v1", "v2", "lite", "published-v2")},
    "v2 by the embedded judge": ("--protocol", "v2", "--judge", "embedded"),
    "v2 by the plain judge": ("--protocol", "v2", "--judge", "judge-plain"),
    "v2 by a jury": ("--protocol", "v2", "--jury", "sim/judge@,judge-plain,embedded"),
    "published-v2 by its rules": ("--protocol", "published-v2", "--rules", "published"),
}


@pytest.fixture(scope="module")
def from_sqlite(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The file."""
    return str(restored(tmp_path_factory.mktemp("first") / "store.db"))


@pytest.fixture(scope="module")
def from_postgresql(postgres: Server) -> Iterator[str]:
    """The dump, restored into a new database and upgraded by a command that wrote something."""
    with postgres.database() as name:
        address = restored_database(postgres, name)
        with open_store(address) as store, store.open_transaction():
            pass
        yield address


@pytest.fixture(scope="module")
def from_export(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A new store into which the export was imported."""
    folder = tmp_path_factory.mktemp("first")
    aib("import", str(unpacked_export(folder / "export")), "--store", str(folder / "store.db"))
    return str(folder / "store.db")


KINDS = ("sqlite", "postgresql", "export")
# every reading of the file; of what came another way, one of each kind
SHOWN = [
    (kind, name)
    for kind in KINDS
    for name in BOARDS
    if kind == KINDS[0] or name in ("v1", "v2 by a jury")
]


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest) -> str:
    """Each of them."""
    return str(request.getfixturevalue(f"from_{request.param}"))


@pytest.mark.parametrize(("store", "reading"), SHOWN, indirect=["store"])
def test_the_boards_are_those_that_were_printed(store: str, reading: str) -> None:
    """Each row with its runs, marks, counts and reasons, by each judge; who was ranked still is, in
    the same order.
    """
    compare_boards(
        aib("leaderboard", "--json", *READINGS[reading], "--store", store), BOARDS[reading]
    )


def test_its_money_is_what_was_spent(store: str, from_sqlite: str) -> None:
    """Attempts are the books: of what was cleared, too, and whichever way a store went."""
    assert spending(store) == spending(from_sqlite)


@needs_model
def test_an_old_store_goes_on_growing(from_sqlite: str, tmp_path: Path) -> None:
    """The embedded judge marks anew some of what was cleared, and nothing that is marked
    changes.
    """
    store = shutil.copy(from_sqlite, tmp_path / "store.db")
    before = marked(store)
    aib("judge", "-j", "embedded", "--protocol", "lite", "--shard", "1/60", "--store", str(store))

    assert before.items() <= marked(store).items()
    assert len(marked(store)) > len(before)


@pytest.mark.parametrize("name", HASHES)
def test_the_hashes_of_shipped_protocols_never_change(name: str) -> None:
    """Nor those of their scenarios, scripts and rubrics: else everything stored would be asked, and
    paid for, anew.
    """
    protocol = load_protocol(name)

    assert protocol.hash == HASHES[name]["protocol"]
    assert {s.id: s.hash for s in protocol.scenarios} == HASHES[name]["scenarios"]
    assert {
        s.id: hash_rubric(protocol.judge_instructions, s) for s in protocol.scenarios
    } == HASHES[name]["rubrics"]
    for configuration in list_possible_configurations(protocol):
        scripts = {s.id: hash_script(protocol, configuration, s) for s in protocol.scenarios}
        assert scripts == HASHES[name]["scripts"][str(configuration)]


# ---------------------------------------------------------------- what is compared


def spending(store: str) -> tuple[int, float]:
    """Attempts and dollars of a store's life, whoever paid them."""
    with open_store(store) as opened, opened.open_snapshot() as connection:
        count, dollars = connection.execute(select(func.count(), func.sum(attempts.c.cost))).one()
    return int(count), round(float(dollars), 9)


def marked(store: str | Path) -> dict[str, str]:
    """Key of each judgement -> its marks."""
    with open_store(store) as opened, opened.open_snapshot() as connection:
        return dict(iter(connection.execute(select(judgements.c.key, judgements.c.marks))))
