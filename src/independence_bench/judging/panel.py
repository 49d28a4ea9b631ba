"""A jury: several judges as one. Each mark is the mean of theirs, where a majority of the jury gave it.

Pure: takes judgements as values. A jury stands in tables like any judge; nothing of it is stored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import fsum

from independence_bench.errors import WrongUse
from independence_bench.lookup import fit
from independence_bench.store.results import Judgement

Judgements = Mapping[tuple[str, str], Judgement]  # (heard hash, rubric hash) -> one judge's judgement


def find_judge(labels: Mapping[str, str], name: str) -> str:
    """The hash of the judge that *name* fits: its label, what was typed after -j, or a part that fits one alone.

    *labels* by hash. Raises WrongUse where it fits none or several.
    """
    return fit(labels, name, "judge")


def find_jury(labels: Mapping[str, str], names: Sequence[str]) -> tuple[str, ...]:
    """The hashes of the judges of a jury, each named once. Raises WrongUse for fewer than two."""
    jury = tuple(dict.fromkeys(find_judge(labels, name) for name in names))
    if len(jury) < 2:
        raise WrongUse("a jury has two judges or more: --jury A,B,C; one judge's tables are shown by --judge")
    return jury


def jury_label(labels: Sequence[str]) -> str:
    """What a jury is called in tables."""
    return f"jury of {len(labels)}: {', '.join(labels)}"


def jury_judgements(jury: Sequence[Judgements]) -> dict[tuple[str, str], Judgement]:
    """What *jury* came to, transcript by transcript. Only a mark that more than half of it gave is one.

    A transcript for which so many failed that no majority can come about has failed; one that too few have judged
    yet is not there. yes/no is the share of yes.
    """
    asked: dict[tuple[str, str], list[Judgement]] = defaultdict(list)
    for given in jury:
        for key, judgement in given.items():
            asked[key].append(judgement)
    found = {}
    for (heard, rubric), judgements in asked.items():
        marks = _means(judgements, len(jury))
        failed = sum(judgement.reason is not None for judgement in judgements)
        hopeless = 2 * (len(jury) - failed) <= len(jury)
        if marks or hopeless or len(judgements) == len(jury):  # at last: a verdict of judges who left the marks out
            reason = f"{failed} of the {len(jury)} judges failed" if hopeless and not marks else None
            found[heard, rubric] = Judgement("", heard, rubric, "", marks, "", reason)
    return found


def _means(judgements: Sequence[Judgement], jurors: int) -> dict[str, float]:
    given: dict[str, list[float]] = defaultdict(list)
    for judgement in judgements:
        for name, mark in judgement.marks.items():
            given[name].append(mark)
    return {name: fsum(marks) / len(marks) for name, marks in given.items() if 2 * len(marks) > jurors}
