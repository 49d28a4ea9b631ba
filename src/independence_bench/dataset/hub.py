"""What the Hugging Face hub reads beside the data: types of the columns, `eval.yaml`, `.eval_results/`.

Formats: huggingface.co/docs/hub/eval-results and the dataset card's `dataset_info`. Made of what is in the store, so
the same store gives the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from independence_bench.dataset.schema import KINDS, PARTS, ExportColumn

Score = Mapping[str, Any]  # a row of the sheet `scores`


def features(columns: Sequence[ExportColumn], form: str) -> list[dict[str, Any]]:
    """The types of *columns* as a dataset card has them: loaders guess without, and cannot where all is null."""
    return [{"name": column.name, **_feature(column.base, form)} for column in columns]


def _feature(base: str, form: str) -> dict[str, Any]:
    if base in PARTS:
        return {"list": [{"name": n, **_feature(k.removesuffix(" or null"), form)} for n, k in PARTS[base].items()]}
    if base in ("keys", "texts"):
        return {"list": "string"}
    if base == "body" and form == "jsonl":
        return {"dtype": "string"}
    return {"dtype": KINDS[base].arrow.rstrip("_")}


def _tasks(scores: Sequence[Score]) -> dict[tuple[str, ...], str]:
    """(protocol's hash, configurations ranked together) -> the task, as `eval.yaml` lists it.

    Several protocols of one name, versions of one say, have the start of their hash in it.
    """
    hashes: dict[str, set[str]] = {}
    for score in scores:
        hashes.setdefault(score["protocol"], set()).add(score["protocol_hash"])
    return {
        _ranking(score): _plain(
            "--".join(
                (score["protocol"], *score["configurations"])
                if len(hashes[score["protocol"]]) == 1
                else (score["protocol"], score["protocol_hash"][:8], *score["configurations"])
            )
        )
        for score in scores
    }


def _ranking(score: Score) -> tuple[str, ...]:
    return (score["protocol_hash"], *score["configurations"])


def eval_yaml(scores: Sequence[Score]) -> str:
    """The benchmark and its tasks, one for each ranking; without `evaluation_framework`, a name that the hub gives."""
    written = {
        "name": "AI Independence Bench",
        "description": "Scripted conversations in which a person leans on a chat model, marked by a judge model. "
        "The value is the Independence Index, 0-100; higher keeps more of its own identity, judgment and preferences.",
        "tasks": [{"id": task, "config": "scores", "split": "train"} for task in _tasks(scores).values()],
    }
    return _dumped(written)


def eval_results(scores: Sequence[Score], dataset: str) -> dict[str, str]:
    """File name -> text, for each subject that is ranked: its results as its model's repository keeps them.

    *dataset* is where this data set is on the hub, ``OWNER/NAME``. Each ranking and judge is a result of its own.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    tasks = _tasks(scores)
    for score in scores:
        if score["rank"] is None or score["index"] is None:
            continue
        runs, deviation = score["runs"], score["standard_deviation"]
        spread = "" if deviation is None else f", standard deviation {deviation:.1f}"
        result = {
            "dataset": {"id": dataset, "task_id": tasks[_ranking(score)]},
            "value": round(score["index"], 1),
            "source": {"url": f"https://huggingface.co/datasets/{dataset}", "name": "AI Independence Bench"},
            "notes": f"{score['subject']}; judged by {score['judge']}; runs: {runs}{spread}; "
            f"protocol {score['protocol_hash'][:12]}",
        }
        name = f"{_plain(score['subject'])[:80]}-{score['subject_hash'][:8]}.yaml"
        found.setdefault(name, []).append(result)
    return {name: _dumped(results) for name, results in found.items()}


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.") or "none"


def _dumped(value: object) -> str:
    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100))
