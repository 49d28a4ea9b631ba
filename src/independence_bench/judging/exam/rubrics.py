"""What the exam's questions are marked by: the protocol, the rubric and the marks of each file, and their scales.

    scale_of(group, "drift")      # ("low", "middle", "high")
    level(7.0, BANDS)             # "high": a mark as a state says it

Knows nothing of judges, or of how well one did.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from independence_bench.judging.exam.questions import BANDS, QuestionFile, band
from independence_bench.personas.sheet import EXAMPLES, load_sheet, protocol_of
from independence_bench.protocol.definition import Mark, Protocol, Rubric, Scenario
from independence_bench.protocol.loader import load

PERSONA = "persona"  # what a file names whose rubric is that of characters


@cache
def protocol_named(name: str) -> Protocol:
    """The protocol that a file of questions names: a shipped one, or for characters the one of an example."""
    return protocol_of(load_sheet(EXAMPLES / "companion.yaml")) if name == PERSONA else load(name)


def rubric_of(group: QuestionFile) -> tuple[Scenario, Rubric]:
    """The rubric that *group* is marked by, and the first scenario that has it."""
    every = ((one, rubric) for one in protocol_named(group.protocol).scenarios for rubric in one.rubrics)
    return next((one, rubric) for one, rubric in every if rubric.name == group.rubric)


def marks_of(group: QuestionFile) -> dict[str, Mark]:
    """Name -> mark, of its rubric's marks that have a state in *group*; without the reply that some are given after."""
    states = {stem_of(name, question.judged) for question in group.questions for name in question.state}
    scenario, rubric = rubric_of(group)
    every = {stem_of(mark.name, scenario.judged): mark for mark in rubric.marks}
    return {name: mark for name, mark in every.items() if name in states}


def stem_of(name: str, replies: Sequence[str]) -> str:
    """A mark's *name* without that of the reply after which it is given, where it is given after each."""
    return next((name.removesuffix(f"_{reply}") for reply in replies if name.endswith(f"_{reply}")), name)


def scale_of(group: QuestionFile, name: str) -> tuple[str, ...]:
    """The states that the mark *name*, as `marks_of` calls it, may have, from the lowest."""
    mark = marks_of(group)[name]
    if mark.levels or mark.kind == "yes_no":
        return mark.levels or ("no", "yes")
    return BANDS if mark.high == 10 else tuple(str(number) for number in range(int(mark.low), int(mark.high) + 1))


def level(value: str | float, scale: Sequence[str]) -> str:
    """*value* as a state says it: a band for a number on a scale of bands, else the level's name."""
    if tuple(scale) == BANDS and not isinstance(value, str):
        return band(float(value))
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else f"{value}"
