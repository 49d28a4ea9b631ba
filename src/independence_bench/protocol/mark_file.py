"""A mark as a rubric's file describes it -> the mark, checked."""

from __future__ import annotations

from independence_bench.protocol.definition import Mark
from independence_bench.protocol.file_formats import MarkFile
from independence_bench.protocol.score_file import Need


def read_mark(file: str, name: str, spec: MarkFile, need: Need) -> Mark:
    """The mark *name* as *file* describes it. *need* raises at what is wrong."""
    key = f"marks.{name}"
    need(name != "analysis", file, key, "is the judge's own text; call the mark something else")
    need(
        spec.scale or spec.levels,
        file,
        f"{key}.scale",
        "is missing; add it: [low, high] or yes_no, or levels in its place",
    )
    need(not (spec.scale and spec.levels), file, f"{key}.levels", "stand in place of a scale; delete one")
    if spec.scale is None or spec.scale == "yes_no":
        need(not spec.whole, file, f"{key}.whole", f"is for numbers; {spec.scale or 'a level'} has none")
    if spec.scale is None:
        distinct = len(set(spec.levels)) == len(spec.levels) > 1
        need(distinct, file, f"{key}.levels", "should be two or more names, none of them twice")
        return Mark(name, "levels", 0, len(spec.levels) - 1, spec.asks, tuple(spec.levels))
    if spec.scale == "yes_no":
        return Mark(name, "yes_no", 0, 1, spec.asks)
    low, high = spec.scale
    need(low < high, file, f"{key}.scale", f"goes from {low:g} to {high:g}; write [low, high]")
    whole = low.is_integer() and high.is_integer()
    need(whole or not spec.whole, file, f"{key}.scale", "has whole: true; write whole numbers there")
    return Mark(name, "whole" if spec.whole else "number", low, high, spec.asks)
