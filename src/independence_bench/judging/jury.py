"""A jury: several judges as one. It stands in tables like any judge, and nothing of it is stored:
each mark is the mean of those of its judges, where a majority of them gave it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import fsum

from independence_bench.errors import WrongUse
from independence_bench.lookup import find_by_label
from independence_bench.store.results import Judgement

# (heard hash, rubric hash) -> one judge's judgement
Judgements = Mapping[tuple[str, str], Judgement]


def find_judge_hash(labels_by_hash: Mapping[str, str], name: str) -> str:
    """Return the hash of the judge that *name* means: by its whole label, by the model's name as
    typed after -j, or by a part that only one label has.

    *labels_by_hash*: hash -> label of each judge. Raises WrongUse if no label or several fit.
    """
    return find_by_label(labels_by_hash, name, "judge")


def find_jury_hashes(labels_by_hash: Mapping[str, str], names: Sequence[str]) -> tuple[str, ...]:
    """Return the hashes of the judges that *names* means, each once, as a jury. *labels_by_hash*:
    hash -> label of each judge. Raises WrongUse for fewer than two judges, or a name that fits none
    or several.
    """
    jury = tuple(dict.fromkeys(find_judge_hash(labels_by_hash, name) for name in names))
    if len(jury) < 2:
        raise WrongUse(
            "a jury has two judges or more: --jury A,B,C; one judge's tables are shown by --judge"
        )
    return jury


def make_jury_label(labels: Sequence[str]) -> str:
    """Return the name under which a jury of judges with these *labels* is listed: "jury of 2: A,
    B".
    """
    return f"jury of {len(labels)}: {', '.join(labels)}"


def average_jury_by_conversation(jury: Sequence[Judgements]) -> dict[tuple[str, str], Judgement]:
    """Return the joint judgement of a *jury* on each conversation, by (conversation hash, rubric
    hash): each score is the mean of the judges' scores, if more than half of the jury gave it. A
    yes/no score becomes the share of yes.

    A conversation has failed if so many judges failed that no majority is possible; it is left out
    as long as too few have judged it.
    """
    asked: dict[tuple[str, str], list[Judgement]] = defaultdict(list)
    for of_judge in jury:
        for key, judgement in of_judge.items():
            asked[key].append(judgement)
    joint = {}
    for (heard, rubric), judgements in asked.items():
        given: dict[str, list[float]] = defaultdict(list)
        for judgement in judgements:
            for name, mark in judgement.marks.items():
                given[name].append(mark)
        marks = {
            name: fsum(values) / len(values)
            for name, values in given.items()
            if 2 * len(values) > len(jury)
        }
        failed = sum(judgement.reason is not None for judgement in judgements)
        hopeless = 2 * (len(jury) - failed) <= len(jury)
        # at last: a verdict of judges who left the marks out
        if marks or hopeless or len(judgements) == len(jury):
            reason = (
                f"{failed} of the {len(jury)} judges failed" if hopeless and not marks else None
            )
            joint[heard, rubric] = Judgement("", heard, rubric, "", marks, "", reason)
    return joint
