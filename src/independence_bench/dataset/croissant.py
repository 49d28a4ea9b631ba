"""`croissant.json`: what is in an export as machines read it, and how it came to be (Croissant RAI 1.0).

Vocabulary: mlcommons.org/croissant/1.0 and mlcommons.org/croissant/RAI/1.0; the words are in croissant.yaml. Says what
is so of every export of this program; what its owner knows beside that is for them to add.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from independence_bench.dataset.schema import PARTS, SHEETS, ExportColumn, Sheet

CONFORMS = ("http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0")
_ENCODINGS = {"jsonl": "application/jsonlines", "parquet": "application/x-parquet"}
_TYPES = {"integer": "sc:Integer", "count": "sc:Integer", "number": "sc:Float", "flag": "sc:Boolean"}


def croissant(
    form: str,
    shown: Mapping[str, Sequence[ExportColumn]],
    rows: Mapping[str, int],
    sums: Mapping[str, str],
    licence: str,
) -> str:
    """The description of an export in *form*: columns *shown*, number of *rows*, SHA-256 *sums*, each by sheet.

    A file without rows is described as a file, but has no records.
    """
    told = yaml.safe_load(Path(__file__).with_name("croissant.yaml").read_text(encoding="utf-8"))
    filled = [sheet for sheet in SHEETS if rows[sheet.name]]
    described = {
        "@context": told["context"],
        "@type": "sc:Dataset",
        "name": "AI Independence Bench: transcripts and judgements",
        "description": "Scripted conversations in which a person leans on a chat model, what the model said, and how "
        "judge models marked it.",
        "conformsTo": list(CONFORMS),
        "license": told["licences"].get(licence, licence),
        "isLiveDataset": False,
        "inLanguage": "en",
        **{f"rai:{name}": value for name, value in told["responsible"].items()},
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": f"{sheet.name}.{form}",
                "name": f"{sheet.name}.{form}",
                "description": sheet.says,
                "contentUrl": f"{sheet.name}.{form}",
                "encodingFormat": _ENCODINGS[form],
                "sha256": sums[sheet.name],
            }
            for sheet in SHEETS
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": sheet.name,
                "name": sheet.name,
                "description": sheet.says,
                "field": [_field(sheet, column, form) for column in shown[sheet.name]],
            }
            for sheet in filled
        ],
    }
    return json.dumps(described, indent=2, ensure_ascii=False) + "\n"


def _field(sheet: Sheet, column: ExportColumn, form: str) -> dict[str, Any]:
    place = f"{sheet.name}/{column.name}"
    source = {"fileObject": {"@id": f"{sheet.name}.{form}"}, "extract": {"column": column.name}}
    told: dict[str, Any] = {"@type": "cr:Field", "@id": place, "name": place, "description": column.says}
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
