"""Rows of the store <-> rows of an export. Pure; each pair of functions undoes the other.

`to_sheet` leaves out what belongs to one machine (who held a lease, numbers of attempts in one database) and what
is raw, unless that is wanted; `to_store` puts in what a store needs in its place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from independence_bench.dataset.schema import Sheet
from independence_bench.hashing import canonical
from independence_bench.store.schema import IMPORTED

Row = Mapping[str, Any]


def to_sheet(sheet: Sheet, stored: Row, told: Row) -> dict[str, Any]:
    """A *stored* row as the columns of *sheet* that it has; *told* has those that stand in other tables."""
    row = {**stored, **told}
    if sheet.name == "protocols":
        row["files"] = [{"path": path, "text": text} for path, text in sorted(json.loads(row["files"]).items())]
    elif sheet.name == "transcripts":
        row["system_prompt"], lines = json.loads(row["lines"])
        row["lines"] = [{part: line[part] for part in ("speaker", "text", "notes", "name")} for line in lines]
        row["reply_keys"] = json.loads(row["reply_keys"])
    elif sheet.name == "attempts":
        owner = row["owner"]
        row["origin"] = (owner.removeprefix(IMPORTED) or None) if owner.startswith(IMPORTED) else None
    elif sheet.name == "judgements":
        marks = sorted(json.loads(row["marks"]).items())
        row["marks"] = [{"mark": mark, "value": float(value)} for mark, value in marks]
    return {
        column.name: row[column.name] or None if column.raw else row[column.name]
        for column in sheet.columns
        if column.name in row
    }


def to_store(sheet: Sheet, row: Row) -> dict[str, Any]:
    """A checked *row* of *sheet* as the store keeps it; an attempt's number stays for whoever gives it an id."""
    stored = dict(row)
    if sheet.name == "protocols":
        stored["files"] = canonical({file["path"]: file["text"] for file in row["files"]})
    elif sheet.name == "transcripts":
        stored["lines"] = canonical([stored.pop("system_prompt"), row["lines"]])
        stored["reply_keys"] = canonical(row["reply_keys"])
    elif sheet.name == "judgements":
        stored["marks"] = canonical({mark["mark"]: mark["value"] for mark in row["marks"]})
    elif sheet.name == "calls":
        stored["request"] = row["request"] or ""
    elif sheet.name == "attempts":
        stored |= {"owner": IMPORTED + (stored.pop("origin") or ""), "raw": row["raw"] or ""}
    return stored


def same(sheet: Sheet, one: Row, other: Row) -> bool:
    """Whether two rows under one key say the same, as far as both say it.

    When a protocol was played and by which way an attempt came do not count.
    """
    compared = [c for c in sheet.columns if not c.told and c.name not in ("played_at", "origin")]
    return all(
        one.get(c.name) == other.get(c.name) or (c.raw and (one.get(c.name) is None or other.get(c.name) is None))
        for c in compared
    )
