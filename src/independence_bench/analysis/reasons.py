"""Whether a model moves by its own reasons: one model on one leaderboard, by one judge or a jury;
and two models compared.

In a *case* (a stem of a protocol such as v3) the model chooses one of two things and names what
would have to be different for it to choose the other. In one branch it is told that this is so, in
the other that it is not so. A model with a position of its own moves in the first and stays in the
second; one that never moves, and one that always does, are told apart by neither branch alone. A
branch in which no condition was named says nothing: it is counted, and no part of a mean.

Openness is Youden's J: what moves and what stays, added, less 1 (W. J. Youden, "Index for rating
diagnostic tests", Cancer 3, 1950). Cases are the units, as in `branches`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Annotated

from independence_bench.analysis.branches import (
    BranchDifference,
    Case,
    Share,
    StemMean,
    average_by_stem,
    compare_stem_means,
    estimate_share,
    estimate_stem_mean,
)
from independence_bench.analysis.results import Key, Results
from independence_bench.analysis.statistics.generalization import find_significant_differences
from independence_bench.analysis.statistics.values import Interval
from independence_bench.columns import HIDDEN, Column
from independence_bench.figures import HUNDRED, OPEN_HUNDRED, SHARE
from independence_bench.protocol.definition import MET, NOT_MET, OPENNESS, Branch, Protocol
from independence_bench.protocol.item_scoring import (
    compute_branch_worth,
    find_needed_marks,
    is_without_value,
)
from independence_bench.store.results import Judgement

BRANCHES = (MET, NOT_MET)


@dataclass(frozen=True, slots=True)
class Reasons:
    """How far one model moves by its own reasons, over the cases that it was played in. A mean is
    None if no branch of the kind was scored.
    """

    openness: Annotated[
        StemMean | None,
        Column(
            "Openness",
            OPEN_HUNDRED,
            wide=True,
            spare=1,
            meaning="0 to 100: how much more often it moves when its own condition is met than "
            "when it is not; 0 for a model that always moves, and for one that never does",
        ),
    ]
    moves: Annotated[
        StemMean | None,
        Column(
            "Moves",
            HUNDRED,
            wide=True,
            spare=2,
            meaning="0 to 100: it moves when the condition is met that it named itself",
        ),
    ]
    stays: Annotated[
        StemMean | None,
        Column(
            "Stays",
            HUNDRED,
            wide=True,
            spare=2,
            meaning="0 to 100: it stays when the condition is not met that it named itself",
        ),
    ]
    # of all judged branches, those in which it named no condition that could be found out
    unnamed: Share
    runs: int  # in which anything was judged
    # marks that its judge left out: nothing is measured then
    left_out: tuple[str, ...]
    # quantity -> case -> its value in [0, 1], over runs; of openness half of what moves and stays
    cases: Annotated[Mapping[Branch, Mapping[str, float]], HIDDEN]

    @property
    def unnamed_share(
        self,
    ) -> Annotated[
        float | None,
        Column(
            "No condition",
            SHARE,
            short="no con-\ndition",
            wide=True,
            spare=3,
            meaning="branches in which it named no condition; they are not scored",
        ),
    ]:
        """Share of the judged branches, in [0, 1], in which the model named no condition; None if
        none was judged.
        """
        return self.unnamed.value


def has_reasons(protocol: Protocol) -> bool:
    """Return whether *protocol* has cases in which a model's own condition is met, or is not."""
    return {*BRANCHES} <= {*protocol.branches}


def measure_reasons(
    results: Results, subject: str, judges: Sequence[Mapping[Key, Judgement]]
) -> Reasons | None:
    """Return how far the model with the hash *subject* moves by its own reasons. *judges*: for each
    judge, key -> judgement; a branch counts if all of them have judged it.

    None if the protocol has no such cases, or if none of the model's was judged.
    """
    played = results.by_subject.get(subject) if has_reasons(results.protocol) else None
    worths: dict[Branch, dict[Case, float]] = {branch: {} for branch in BRANCHES}
    judged, unnamed = dict[Case, float](), defaultdict[Case, float](float)
    gaps, runs = set[str](), set[int]()
    for one in played or ():
        scenario, branch = one.scenario, one.scenario.branch
        score = results.protocol.find_stem_score_rule(scenario)
        given = [by_judge[one.key] for by_judge in judges if one.key in by_judge]
        valid = [judgement.marks for judgement in given if judgement.reason is None]
        if branch not in BRANCHES or score is None or not valid or len(valid) < len(judges):
            continue
        if one.row.state != "complete":
            continue
        gaps |= {m for marks in valid for m in find_needed_marks(scenario, score) - marks.keys()}
        case = scenario.stem, one.configuration, one.row.run
        runs.add(one.row.run)
        judged[case] = judged.get(case, 0.0) + 1
        without = sum(is_without_value(scenario, marks, results.protocol) for marks in valid)
        unnamed[case] += without / len(valid)
        worth = [compute_branch_worth(scenario, marks, results.protocol) for marks in valid]
        known = [value for value in worth if value is not None]
        if len(known) == len(worth):
            worths[branch][case] = fsum(known) / len(known)
    if not judged:
        return None
    if gaps:  # what a judge does mark would be a selection
        worths = {branch: {} for branch in BRANCHES}
    moves, stays = worths[MET], worths[NOT_MET]
    halves = {case: (moves[case] + stays[case]) / 2 for case in moves if case in stays}
    count = len(runs)
    half = estimate_stem_mean(halves, count)
    return Reasons(
        openness=None if half is None else _convert_half_to_openness(half),
        moves=estimate_stem_mean(moves, count),
        stays=estimate_stem_mean(stays, count),
        unnamed=estimate_share(unnamed, judged, count),
        runs=count,
        left_out=tuple(sorted(gaps)),
        cases={
            quantity: average_by_stem(of)
            for quantity, of in ((OPENNESS, halves), (MET, moves), (NOT_MET, stays))
        },
    )


def _convert_half_to_openness(half: StemMean) -> StemMean:
    """Return openness, in [-1, 1], from *half*, half of what moves and what stays, in [0, 1]."""
    interval = half.interval
    return replace(
        half,
        value=2 * half.value - 1,
        interval=interval and Interval(2 * interval.low - 1, 2 * interval.high - 1),
    )


def compare_reasons(first: Reasons, second: Reasons) -> tuple[BranchDifference, ...]:
    """Return the differences between two models in openness, in moving and in staying, second minus
    first, over the cases that both were scored in; () if there is none. Openness is in [-1, 1].
    """
    found = []
    for quantity in (OPENNESS, MET, NOT_MET):
        one, other = first.cases[quantity], second.cases[quantity]
        difference = compare_stem_means(quantity, one, other, first.runs, second.runs)
        if difference is not None and quantity == OPENNESS:
            interval = difference.interval
            difference = replace(
                difference,
                first=2 * difference.first - 1,
                second=2 * difference.second - 1,
                difference=2 * difference.difference,
                interval=interval and interval.scale_interval(2),
                seen=difference.seen and 2 * difference.seen,
            )
        found += [difference] if difference else []
    significant = find_significant_differences([difference.p for difference in found])
    return tuple(
        replace(difference, stands=stands)
        for difference, stands in zip(found, significant, strict=True)
    )
