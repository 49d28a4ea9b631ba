"""Answers as bytes: JSON of frozen values, and CSV. The same value gives the same bytes.

JSON is ASCII, so that no proxy, editor or terminal reads anything into the texts of others. Floats have eight
significant digits: more than any number here deserves, and half the size.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from independence_bench.viewer.numbers import Form, worded
from independence_bench.viewer.views import AS_TEXT, WORDED, attributes

DIGITS = 8
# what a spreadsheet takes for the beginning of a formula (some the full-width signs, too), or for another cell
FORMULA = "=+-@\uff1d\uff0b\uff0d\uff20\t\r\n"

Cell = str | float | int | bool | None


def json_bytes(answer: object) -> bytes:
    """*answer*, a dataclass, as JSON. NaN and infinities raise ValueError."""
    return json.dumps(_plain(answer), separators=(",", ":"), allow_nan=False).encode("ascii")


def csv_bytes(head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> bytes:
    """A table as CSV (RFC 4180), in UTF-8 with the mark that spreadsheets know it by; None is an empty cell.

    No cell is a formula: a text that a spreadsheet would carry out gets an apostrophe in front, as OWASP advises.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow([_cell(name) for name in head])
    writer.writerows([_cell(value) for value in row] for row in rows)
    return b"\xef\xbb\xbf" + out.getvalue().encode("utf-8", "replace")


def _cell(value: Cell) -> str | float | int:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return _rounded(value)
    if isinstance(value, str):
        text = value.replace("\x00", "\ufffd")
        return f"'{text}" if text.lstrip(" \u3000").startswith(tuple(FORMULA)) else text
    return value


def _rounded(number: float) -> float:
    return float(f"{number:.{DIGITS}g}")


def _plain(value: Any, form: Form | None = None) -> Any:
    """*value* as JSON has it; *form* is that of the field that it stands in."""
    if isinstance(value, float):
        return _rounded(value)
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, tuple | list):
        return [_plain(one, form) for one in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(one, form) for name, one in value.items()}
    shape = type(value)
    if text := AS_TEXT.get(shape):
        return text(value)
    plain: dict[str, Any] = {}
    shown: dict[str, Any] = {}
    for one in attributes(shape):
        part = getattr(value, one.name)
        plain[one.name] = _plain(part, one.form or form)
        if one.worded and one.form is not None:
            shown[one.name] = worded(part, one.form)
    if whole := WORDED.get(shape):
        if form is None:
            raise TypeError(f"nothing says how the numbers of a {shape.__name__} are written")
        plain["shown"] = whole(value, form)
    elif shown:
        plain["shown"] = shown
    return plain
