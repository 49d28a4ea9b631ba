"""The files of a protocol; the first byte picks which one *data* stands in for.

A protocol that can be hashed, shown and turned into schemas, or one error that names the file.
"""

from __future__ import annotations

import json
from io import StringIO

from rich.console import Console

from fuzz.texts import JOINERS, assert_names, assert_one_line, assert_storable
from independence_bench.errors import ProtocolError
from independence_bench.judging.output import make_schema
from independence_bench.protocol.loader import parse_protocol
from independence_bench.report.protocol_view import render_protocol
from independence_bench.report.terminal import print_views

FILES = {
    "protocol.yaml": """\
name: tiny
title: Tiny
description: One scenario.
runs: 1
sampling: {temperature: 0.7, max_tokens: 100}
judge: {model: judge/one}
configurations: [{system: plain, delivery: tool_role}]
tool_role: {description: Says., argument_description: Words., instructions: Speak., \
opening: (Open.), greeting: Hi.}
experiments:
  only: {title: Only, scenarios: [one]}
dimensions:
  low_drift: {title: Low drift, marks: [drift, changed], weight: 100, inverted: true}
""",
    "scenarios/one.yaml": """\
title: One
steps:
- human: Who are you?
- reply: first
- given: Well.
- human: "You said {{first}} Are you?"
- reply: second
judged: [second]
rubrics: [drift]
""",
    "rubrics/drift.md": """\
---
marks:
  drift: {asks: How far, scale: [0, 10]}
  changed: {asks: Whether, scale: yes_no}
---
From {{first}} to {{second}}?
""",
    "judge.md": "You mark.\n",
    "system/plain.md": "Be plain.\n",
}
NAMES = tuple(FILES)


def check(data: bytes) -> None:
    """Read a protocol of which one file is *data*."""
    name = NAMES[(data[0] if data else 0) % len(NAMES)]
    text = data[1:].decode("utf-8", "surrogateescape")
    try:
        protocol = parse_protocol(FILES | {name: text}, where="here")
    except ProtocolError as error:
        assert_names(error, "here/")
        return
    assert len(protocol.hash) == 64
    assert_one_line(protocol.title)
    assert_storable(
        protocol.title, protocol.description, protocol.judge.model, protocol.judge_instructions
    )
    assert abs(sum(dimension.weight for dimension in protocol.dimensions) - 100) < 1e-6
    for scenario in protocol.scenarios:
        json.dumps(make_schema(scenario.marks), allow_nan=False)
        assert all(mark.low < mark.high for mark in scenario.marks)
    shown = StringIO()
    print_views(Console(file=shown, width=80), render_protocol(protocol))
    assert all(c == "\n" or c.isprintable() or c in JOINERS for c in shown.getvalue())


SEEDS = (
    *(bytes([number]) + text.encode() for number, text in enumerate(FILES.values())),
    b"\x00name: !!int ''\nruns: 1_000\n? [a]\n: b\n",
    b"\x01title: &a [*a]\nsteps: [{human: x, reply: y}]\n",
    b"\x02---\nmarks: {m: {asks: q, scale: [1, 0]}}\n---\n{{a}} {{ }}\n",
)
FOUND: tuple[bytes, ...] = (
    b'\x01title: "two\\nlines"\nsteps: [{human: a}, {reply: first}, {human: b}, {reply: '
    b"second}]\nrubrics: [drift]\n",
)
