"""An export as other tools read it: `datasets` in every form, the hub's own reader of results,
Croissant's.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import yaml
from simulated import play

from independence_bench.dataset.export import Form, export
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
        names=("rock", "mirror", "debris"),
        runs=2,
    )
    return store


def exported(store: Path, folder: Path, **options: Any) -> dict[str, int]:
    """The rows of each file of an export."""
    with open_store(store) as opened:
        return dict(export(opened, folder, "cc-by-4.0", hub="ada/independence", **options).rows)


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


def test_results_are_read_by_the_hub_s_library(played: Path, tmp_path: Path) -> None:
    """A file for each ranked subject, each entry of a task that eval.yaml lists; who is not ranked
    has none.
    """
    from huggingface_hub import parse_eval_result_entries

    exported(played, tmp_path / "out")
    listed = yaml.safe_load((tmp_path / "out" / "eval.yaml").read_text(encoding="utf-8"))
    files = sorted((tmp_path / "out" / ".eval_results").iterdir())
    scores = lines(tmp_path / "out", "scores")

    assert [task["id"] for task in listed["tasks"]] == ["lite--strong_independence-tool_role"]
    assert all(task["config"] == "scores" for task in listed["tasks"])
    ranked = [score for score in scores if score["rank"]]
    assert (
        0
        < len(files)
        == len({score["subject"] for score in ranked})
        < len({score["subject"] for score in scores})
    )
    values = set()
    for file in files:
        for entry in parse_eval_result_entries(yaml.safe_load(file.read_text(encoding="utf-8"))):
            assert entry.dataset_id == "ada/independence"
            assert entry.task_id in {task["id"] for task in listed["tasks"]}
            values.add(entry.value)
    assert values == {round(score["index"], 1) for score in ranked}


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_croissant_describes_it(
    played: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, form: Form
) -> None:
    """Its own reader finds nothing wrong, checks the sums of the files, and reads the records."""
    import mlcroissant

    rows = exported(played, tmp_path / "out", form=form)
    described = tmp_path / "out" / "croissant.json"
    with caplog.at_level(logging.WARNING):
        read = mlcroissant.Dataset(jsonld=described)

    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert list(read.metadata.conforms_to)[1].endswith("RAI/1.0")
    assert read.metadata.data_limitations
    assert read.metadata.personal_sensitive_information
    assert {one.name for one in read.metadata.record_sets} == {
        name for name, count in rows.items() if count
    }
    exported(played, tmp_path / "plain")
    for name in ("transcripts", "judgements", "scores"):
        records = list(read.records(name))
        assert len(records) == rows[name]
        wanted = lines(tmp_path / "plain", name)
        key = "state" if name != "scores" else "subject"
        assert [record[f"{name}/{key}"].decode() for record in records] == [
            row[key] for row in wanted
        ]
