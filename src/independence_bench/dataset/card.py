"""The card of an export, README.md as Hugging Face expects it, with the types of the columns.

Made of what is in the store, so the same store gives the same bytes; says what is so of every
export of this program, and its owner adds the rest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from independence_bench.dataset.schema import (
    EXPORT_TABLES,
    KINDS,
    PARTS,
    ExportColumn,
    described,
)


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
