"""A judge's reply against every scenario's rubrics of protocol v2; the first byte picks the
scenario, and from 128 on the rest is grown into JSON first.

All marks within their scales, or no verdict and a reason of one line; never an exception, never
anything else.
"""

from __future__ import annotations

import json

from fuzz.json_values import flatten, grow
from fuzz.texts import assert_storable
from independence_bench.escape import escape_line
from independence_bench.judging.output import NoVerdict, make_schema, parse_verdict
from independence_bench.protocol.definition import Mark
from independence_bench.protocol.loader import load_protocol

RUBRICS = tuple(dict.fromkeys(scenario.marks for scenario in load_protocol("v2").scenarios))


def check(data: bytes) -> None:
    """Read *data* as a judge's reply."""
    first = data[0] if data else 0
    marks = RUBRICS[first % 128 % len(RUBRICS)]
    text = data[1:].decode("utf-8", "surrogateescape")
    if first >= 128:
        text = json.dumps(grow(data[1:], _words(marks)))

    read = parse_verdict(text, marks)

    if isinstance(read, NoVerdict):
        assert read.reason
        assert len(escape_line(read.reason)) < 400
        return
    assert list(read.marks) == [mark.name for mark in marks], "all of them, and nothing else"
    for mark in marks:
        value = read.marks[mark.name]
        assert type(value) is float
        assert mark.low <= value <= mark.high
        assert mark.kind == "number" or value in (0.0, 1.0)
    assert read.reasoning.strip()
    assert_storable(read.reasoning)


def _words(marks: tuple[Mark, ...]) -> tuple[str, ...]:
    return (
        "analysis",
        *(mark.name for mark in marks),
        "So.",
        "yes",
        "8/10",
        "",
        " ",
        "\ud800",
        "\x00",
    )


def _fitting(marks: tuple[Mark, ...]) -> dict[str, object]:
    return {"analysis": "So."} | {
        m.name: True if m.kind == "yes_no" else (m.low + m.high) / 2 for m in marks
    }


SEEDS = (
    *(
        bytes([n + 128]) + flatten(_fitting(marks), _words(marks))
        for n, marks in enumerate(RUBRICS)
    ),
    *(
        bytes([number]) + json.dumps(_fitting(marks)).encode()
        for number, marks in enumerate(RUBRICS)
    ),
    *(
        bytes([number]) + json.dumps(list(make_schema(marks)["properties"])).encode()
        for number, marks in enumerate(RUBRICS)
    ),
    b"\x00```json\n" + json.dumps(_fitting(RUBRICS[0])).encode() + b"\n```",
    b'\x00{"analysis": "a", "drift": 1e400, "drift": "8/10", "x": NaN, "y": null, "z": -1}',
)
FOUND: tuple[bytes, ...] = ()
