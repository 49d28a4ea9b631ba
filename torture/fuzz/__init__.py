"""Targets for the coverage-guided fuzzer, one file each; `torture/fuzz.py` runs them, and so does
the suite.

A target is a module with

    check(data)     reads *data* with one of our parsers and asserts what must hold whatever it is
    SEEDS           inputs to begin with, so that the first mutation is already deep inside
    FOUND           inputs that once broke something; the suite checks them first

`check` knows nothing of who calls it: libFuzzer with bytes that it mutates by coverage, or
hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fuzz import (
    baselines,
    cards,
    completions,
    judge_replies,
    lists,
    models_file,
    protocols,
    retry_after,
    stored,
    words,
)


@dataclass(frozen=True, slots=True)
class Target:
    """What is fuzzed, and what is known to be worth trying."""

    check: Callable[[bytes], None]
    seeds: tuple[bytes, ...]
    found: tuple[bytes, ...] = ()


TARGETS = {
    module.__name__.rpartition(".")[2]: Target(module.check, module.SEEDS, module.FOUND)
    for module in (
        baselines,
        cards,
        completions,
        judge_replies,
        lists,
        models_file,
        protocols,
        retry_after,
        stored,
        words,
    )
}
