"""Values as JSON, in full for programs and with texts beside the numbers for the page; tables as
CSV.

Both get the fields that a class sends (`columns`). The page gets each number, to sort and draw by,
and under *shown* its text, in the format of its field; the page rounds nothing. JSON is ASCII, so
that no proxy, editor or terminal reads anything into the texts of others. Floats that the page gets
have eight significant digits.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from independence_bench.columns import AS_IT_IS, TEXTS, list_sent_parts
from independence_bench.figures import Format

DIGITS = 8  # digits of a float: more than any number here deserves, and half the size
# in our numbers, and in what models say
OFTEN = {one.encode(): json.dumps(one)[1:-1].encode() for one in "−–—’“”"}
# what a spreadsheet takes for the beginning of a formula (some the full-width signs, too), or for
# another cell
FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20\t\r\n")

Cell = str | float | int | bool | None
Worded = str | None | list["Worded"] | dict[str, "Worded"]


def format_json(value: object, indent: int = 2) -> str:
    """Return *value* as JSON for programs, indented by *indent* blanks: all fields, in ASCII, so
    that a terminal obeys no escape sequence in it. An absent value is null, never 0.
    """
    return json.dumps(value, indent=indent, default=convert_value_one_level)


def convert_value_one_level(value: Any) -> Any:
    """Return *value* as the JSON output sends it, converted one level deep: a copy of a mapping,
    the text of a class that is sent as text, the result of its method `sent`, or a dictionary of
    its fields.
    """
    shape: Any = type(value)
    if text := TEXTS.get(shape):
        return text(value)
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "sent"):
        return value.sent()
    return {part.key: getattr(value, part.name) for part in list_sent_parts(shape)}


def encode_page_json(answer: object) -> bytes:
    """Return *answer*, a dataclass, as compact ASCII JSON for the viewer's page. Raise ValueError
    for NaN and infinities.
    """
    plain = _convert_value_with_texts(answer)
    with suppress(PydanticSerializationError):  # half of a surrogate pair
        body = to_json(plain)  # in a third of the time of `json`
        if b"NaN" not in body and b"Infinity" not in body:
            return _escape_non_ascii(body)
    return json.dumps(plain, separators=(",", ":"), allow_nan=False).encode("ascii")


def _escape_non_ascii(body: bytes) -> bytes:
    """Return *body*, JSON in UTF-8, in ASCII: with every other character written as an escape, as
    Python's `json` does it.
    """
    for text, escaped in OFTEN.items():
        if body.isascii() and b"\x7f" not in body:
            return body
        body = body.replace(text, escaped)
    return re.sub(
        "[^\x00-~]+", lambda found: json.dumps(found[0])[1:-1], body.decode("utf-8")
    ).encode("ascii")


def encode_csv(
    head: Sequence[str], rows: Iterable[Sequence[Cell]], is_encoded: bool = False
) -> bytes:
    """Return a table as the bytes of a CSV file (RFC 4180), in UTF-8 with a byte order mark for
    spreadsheets; None becomes an empty cell.

    No cell is a formula: a text that a spreadsheet would carry out gets an apostrophe in front, as
    OWASP advises.

    *head*: the column titles. *is_encoded*: the cells of *rows* have already been converted by
    `encode_csv_cell`.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow([encode_csv_cell(name) for name in head])
    writer.writerows(
        rows if is_encoded else ([encode_csv_cell(value) for value in row] for row in rows)
    )
    return b"\xef\xbb\xbf" + out.getvalue().encode("utf-8", "replace")


def encode_csv_cell(value: Cell) -> str | float | int:
    """Return *value* as a cell of a CSV file: a float with eight significant digits, "yes" or "no"
    for a bool, "" for None, and a text with an apostrophe in front if it reads like a formula.
    """
    if isinstance(value, float):
        return _round_to_eight_digits(value)
    if isinstance(value, str):
        return _encode_csv_text(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else value


@lru_cache
def _encode_csv_text(value: str) -> str:
    """Return a text as a cell of a CSV file, with an apostrophe in front if it reads like a
    formula. The results are cached, because most texts of a table are names that are in every row.
    """
    text = value.replace("\x00", "\ufffd")
    return f"'{text}" if text.lstrip(" \u3000").startswith(FORMULA) else text


def _round_to_eight_digits(number: float) -> float:
    """Return *number* rounded to eight significant digits."""
    if number.is_integer() and abs(number) < 10**DIGITS:  # most marks are, and have no more digits
        return number
    return float(f"{number:.{DIGITS}g}")


def _convert_value_with_texts(value: Any, form: Format | None = None) -> Any:
    """Return *value* as plain lists, dictionaries, texts and numbers for the JSON of the viewer's
    page; a dataclass gets a key "shown" with the texts of its numbers. *form*: the format of the
    field that holds *value*. Raise TypeError if a number's class has no format to be shown in.
    """
    shape: Any = type(value)
    if shape in AS_IT_IS:
        return value
    if isinstance(value, float):
        return _round_to_eight_digits(value)
    if shape is tuple or shape is list:
        return [
            item if type(item) in AS_IT_IS else _convert_value_with_texts(item, form)
            for item in value
        ]
    if text := TEXTS.get(shape):
        return text(value)
    if hasattr(value, "sent"):
        return _convert_value_with_texts(value.sent(), form)
    if not hasattr(value, "__dataclass_fields__"):
        if isinstance(value, Mapping):
            return {
                str(name): item if type(item) in AS_IT_IS else _convert_value_with_texts(item, form)
                for name, item in value.items()
            }
        return (
            value
            if isinstance(value, str | int)
            else [_convert_value_with_texts(item, form) for item in value]
        )
    plain, shown = dict[str, Any](), dict[str, Any]()
    for sent in list_sent_parts(shape):
        if not sent.on_page:
            continue
        part, own = getattr(value, sent.name), sent.format
        plain[sent.key] = (
            part
            if sent.as_it_is or type(part) in AS_IT_IS
            else _convert_value_with_texts(part, own or form)
        )
        if sent.worded and own is not None:
            shown[sent.key] = format_numbers(part, own)
    if hasattr(value, "as_text"):
        if form is None:
            raise TypeError(f"nothing says how the numbers of a {shape.__name__} are written")
        plain["shown"] = value.as_text(form)
    elif shown:
        plain["shown"] = shown
    return plain


def format_numbers(value: Any, form: Format) -> Worded:
    """Return *value* with each number in it, at any depth, replaced by its text in the format
    *form*; texts and None stay as they are.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (tuple, list)):
        return [format_numbers(item, form) for item in value]
    if isinstance(value, Mapping):
        return {str(name): format_numbers(item, form) for name, item in value.items()}
    return form.text(float(value))
