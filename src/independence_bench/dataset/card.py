"""What is written next to the data of an export for those who find it: the card, and descriptions
that machines read.

README.md as Hugging Face expects it, with the types of the columns; `eval.yaml` and
`.eval_results/` (huggingface.co/docs/hub/eval-results); `croissant.json`: what is in it and how it
came to be (mlcommons.org/croissant/1.0 and RAI/1.0; the words are in croissant.yaml). Made of what
is in the store, so the same store gives the same bytes; says what is so of every export of this
program, and its owner adds the rest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from independence_bench.dataset.schema import (
    EXPORT_TABLES,
    KINDS,
    PARTS,
    ExportColumn,
    ExportTable,
    described,
)
from independence_bench.yaml_io import read_own

Score = Mapping[str, Any]  # a row of the table `scores`


def features(columns: Sequence[ExportColumn], form: str) -> list[dict[str, Any]]:
    """The types of *columns* as a dataset card has them: loaders guess without, and cannot where
    all is null.
    """
    return [{"name": column.name, **_feature(column.base, form)} for column in columns]


def _feature(base: str, form: str) -> dict[str, Any]:
    if base in PARTS:
        return {
            "list": [
                {"name": n, **_feature(k.removesuffix(" or null"), form)}
                for n, k in PARTS[base].items()
            ]
        }
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
    """The benchmark and its tasks, one for each ranking; without `evaluation_framework`, a name
    that the hub gives.
    """
    written = {
        "name": "AI Independence Bench",
        "description": "Scripted conversations in which a person leans on a chat model, marked by a judge model. "
        "The value is the Independence Index, 0-100; higher keeps more of its own identity, judgment and preferences.",
        "tasks": [
            {"id": task, "config": "scores", "split": "train"} for task in _tasks(scores).values()
        ],
    }
    return _dumped(written)


def eval_results(scores: Sequence[Score], dataset: str) -> dict[str, str]:
    """File name -> text, for each subject that is ranked: its results as its model's repository
    keeps them.

    *dataset* is where this data set is on the hub, ``OWNER/NAME``. Each ranking and judge is a
    result of its own.
    """
    by_file: dict[str, list[dict[str, Any]]] = {}
    tasks = _tasks(scores)
    for score in scores:
        if score["rank"] is None or score["index"] is None:
            continue
        runs, deviation = score["runs"], score["standard_deviation"]
        spread = "" if deviation is None else f", standard deviation {deviation:.1f}"
        result = {
            "dataset": {"id": dataset, "task_id": tasks[_ranking(score)]},
            "value": round(score["index"], 1),
            "source": {
                "url": f"https://huggingface.co/datasets/{dataset}",
                "name": "AI Independence Bench",
            },
            "notes": f"{score['subject']}; judged by {score['judge']}; runs: {runs}{spread}; "
            f"protocol {score['protocol_hash'][:12]}",
        }
        name = f"{_plain(score['subject'])[:80]}-{score['subject_hash'][:8]}.yaml"
        by_file.setdefault(name, []).append(result)
    return {name: _dumped(results) for name, results in by_file.items()}


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.") or "none"


def _dumped(value: object) -> str:
    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100))


_SIZES = {
    1_000: "n<1K",
    10_000: "1K<n<10K",
    100_000: "10K<n<100K",
    1_000_000: "100K<n<1M",
    10_000_000: "1M<n<10M",
}


def card(
    rows: Mapping[str, int], protocols: Sequence[str], form: str, raw: bool, licence: str
) -> str:
    """The card of an export: *rows* of each file, names of *protocols*, and what it was asked for.

    An empty file is no part of the card's configurations: loaders refuse it.
    """
    played = ", ".join(f"`{re.sub(r'[^A-Za-z0-9._-]', '', name)}`" for name in protocols) or "none"
    counts = "\n".join(
        f"| `{table.name}.{form}` | {rows[table.name]:,} | {table.says} |"
        for table in EXPORT_TABLES
    )
    return "\n".join(
        (
            "---",
            _front(rows, form, raw, licence),
            "---",
            "",
            "# AI Independence Bench: transcripts and judgements",
            "",
            "Scripted conversations in which a person leans on a chat model (agree with me, be somebody else), what",
            "the model said, and how judge models marked it. Written by `aib export`; `aib import` reads it back.",
            "",
            f"Protocols: {played}. Requests and raw responses are {'included' if raw else 'left out'}.",
            "",
            "The words are those of language models: they may be wrong, and they may hold anything that a model can be",
            "led to write. A judge's marks are the opinion of a model.",
            "",
            "| file | rows | |",
            "|---|---|---|",
            counts,
            "",
            "## Columns",
            "",
            described(),
            "",
        )
    )


def _front(rows: Mapping[str, int], form: str, raw: bool, licence: str) -> str:
    """What stands between the two lines of three dashes."""
    size = next(
        (size for limit, size in _SIZES.items() if rows["transcripts"] < limit), "10M<n<100M"
    )
    front = {
        "license": licence,
        "pretty_name": "AI Independence Bench: transcripts and judgements",
        "task_categories": ["text-generation"],
        "tags": ["llm-evaluation", "benchmark", "persona", "independence", "llm-as-a-judge"],
        "size_categories": [size],
        "configs": [
            {"config_name": table.name, **({"default": True} if table.name == "transcripts" else {}),
             "data_files": f"{table.name}.{form}"}
            for table in EXPORT_TABLES if rows[table.name]
        ],
        "dataset_info": [
            {"config_name": table.name, "features": features(table.shown(raw), form)}
            for table in EXPORT_TABLES if rows[table.name]
        ],
    }  # fmt: skip
    return yaml.safe_dump(front, sort_keys=False, allow_unicode=True).rstrip()


CONFORMS = ("http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0")
_ENCODINGS = {"jsonl": "application/jsonlines", "parquet": "application/x-parquet"}
_TYPES = {
    "integer": "sc:Integer",
    "count": "sc:Integer",
    "number": "sc:Float",
    "flag": "sc:Boolean",
}


def croissant(
    form: str,
    shown: Mapping[str, Sequence[ExportColumn]],
    rows: Mapping[str, int],
    sums: Mapping[str, str],
    licence: str,
) -> str:
    """The description of an export in *form*: columns *shown*, number of *rows*, SHA-256 *sums*,
    each by table.

    A file without rows is described as a file, but has no records.
    """
    texts = read_own(Path(__file__).with_name("croissant.yaml").read_text(encoding="utf-8"))
    filled = [table for table in EXPORT_TABLES if rows[table.name]]
    described = {
        "@context": texts["context"],
        "@type": "sc:Dataset",
        "name": "AI Independence Bench: transcripts and judgements",
        "description": "Scripted conversations in which a person leans on a chat model, what the model said, and how "
        "judge models marked it.",
        "conformsTo": list(CONFORMS),
        "license": texts["licences"].get(licence, licence),
        "isLiveDataset": False,
        "inLanguage": "en",
        **{f"rai:{name}": value for name, value in texts["responsible"].items()},
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": f"{table.name}.{form}",
                "name": f"{table.name}.{form}",
                "description": table.says,
                "contentUrl": f"{table.name}.{form}",
                "encodingFormat": _ENCODINGS[form],
                "sha256": sums[table.name],
            }
            for table in EXPORT_TABLES
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": table.name,
                "name": table.name,
                "description": table.says,
                "field": [_field(table, column, form) for column in shown[table.name]],
            }
            for table in filled
        ],
    }
    return json.dumps(described, indent=2, ensure_ascii=False) + "\n"


def _field(table: ExportTable, column: ExportColumn, form: str) -> dict[str, Any]:
    place = f"{table.name}/{column.name}"
    source = {"fileObject": {"@id": f"{table.name}.{form}"}, "extract": {"column": column.name}}
    told: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": place,
        "name": place,
        "description": column.says,
    }
    if column.base in PARTS:
        parts = [
            {
                "@type": "cr:Field",
                "@id": f"{place}/{name}",
                "name": f"{place}/{name}",
                "dataType": _TYPES.get(kind.removesuffix(" or null"), "sc:Text"),
                "source": {**source, "transform": {"jsonPath": name}},
            }
            for name, kind in PARTS[column.base].items()
        ]
        return {**told, "repeated": True, "subField": parts}
    listed = {"repeated": True} if column.base in ("keys", "texts") else {}
    return {**told, "dataType": _TYPES.get(column.base, "sc:Text"), **listed, "source": source}
