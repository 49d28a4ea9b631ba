"""An export as `datasets` loads it, in every form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from simulated_endpoint import play

from independence_bench.dataset.export import Form, write_export
from independence_bench.simulate.faults import Faults
from independence_bench.simulate.server import Settings
from independence_bench.store.database import open_store

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("default"),  # of other people's libraries
]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with everything that goes wrong in it."""
    store = tmp_path_factory.mktemp("played") / "store.db"
    play(
        "lite",
        store,
        Settings(faults=Faults({"mixed": 0.3})),
        names=("stubborn", "agreeable", "debris"),
        runs=2,
    )
    return store


def exported(store: Path, folder: Path, **options: Any) -> dict[str, int]:
    """The rows of each file of an export."""
    with open_store(store) as opened:
        return dict(write_export(opened, folder, "cc-by-4.0", **options).rows)


def lines(folder: Path, name: str) -> list[Any]:
    """A file of JSON Lines."""
    return [
        json.loads(line)
        for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    ]


@pytest.mark.parametrize("raw", [False, True], ids=["plain", "raw"])
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_datasets_loads_every_file(
    played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: Form, raw: bool
) -> None:
    """By the card's configurations and types, row by row what was written."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_OFFLINE", True)
    rows = exported(played, tmp_path / "out", form=form, raw=raw)
    plain = tmp_path / "plain"
    exported(played, plain, form="jsonl", raw=raw)

    filled = {name for name, count in rows.items() if count}
    cache = str(tmp_path / "cache")
    assert set(datasets.get_dataset_config_names(str(tmp_path / "out"), cache_dir=cache)) == filled
    for name in filled:
        loaded = datasets.load_dataset(str(tmp_path / "out"), name, split="train", cache_dir=cache)
        wanted = lines(plain, name)
        assert loaded.num_rows == rows[name]
        # bodies are bytes there
        if not (raw and form == "parquet" and name in ("calls", "attempts")):
            assert loaded.to_list() == wanted
