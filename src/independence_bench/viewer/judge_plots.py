"""Judge against judge: the scores that two of them give the same conversations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from independence_bench.analysis.judge_agreement import Validation
from independence_bench.protocol.definition import Configuration
from independence_bench.protocol.scoring import OWN
from independence_bench.viewer.snapshot import Catalog, Edition
from independence_bench.viewer.transcripts import listing

MOST = 12  # pairs of judges that are drawn

Place = tuple[str, int, Configuration, str]  # subject's hash, run, configuration, scenario's (or stem's) id in paths


@dataclass(frozen=True, slots=True)
class PairPoint:
    """Conversations with the same two scores, in whole points."""

    one: int  # [0, 100], by the first judge
    other: int  # by the second
    count: int
    transcript: str  # id of the first of them


@dataclass(frozen=True, slots=True)
class PairPlot:
    """What two judges make of the conversations that both have marked in full; of a stem, all its branches are one."""

    one: str  # label
    other: str
    points: tuple[PairPoint, ...]
    conversations: int
    one_higher: int  # how many of them the first judge scores higher, to the whole point
    other_higher: int


def pair_plots(catalog: Catalog, edition: Edition, found: Validation) -> tuple[PairPlot, ...]:
    """The plots of the pairs in *found* that have a conversation in common, those with the main judge first."""
    ordered = sorted(found.pairs, key=lambda pair: found.main not in (pair.one, pair.other))[:MOST]
    wanted = {label for pair in ordered for label in (pair.one, pair.other)}
    scores = {label: _scores(catalog, edition, found, label) for label in wanted}
    ids: dict[Place, str] = {}
    for stored in edition.transcripts:
        place = (stored.row.subject_hash, stored.row.run, stored.configuration, stored.unit)
        ids.setdefault(place, stored.id)
    plots = (_plot(pair.one, pair.other, scores[pair.one], scores[pair.other], ids) for pair in ordered)
    return tuple(plot for plot in plots if plot.points)


def _plot(
    one: str, other: str, first: Mapping[Place, int], second: Mapping[Place, int], ids: Mapping[Place, str]
) -> PairPlot:
    together: dict[tuple[int, int], list[str]] = defaultdict(list)
    for place, score in first.items():
        if place in second:
            together[score, second[place]].append(ids[place])
    return PairPlot(
        one,
        other,
        tuple(PairPoint(*at, len(same), same[0]) for at, same in sorted(together.items())),
        sum(map(len, together.values())),
        sum(len(same) for (mine, theirs), same in together.items() if mine > theirs),
        sum(len(same) for (mine, theirs), same in together.items() if mine < theirs),
    )


def _scores(catalog: Catalog, edition: Edition, found: Validation, judge: str) -> dict[Place, int]:
    """The score of every conversation by *judge*, in whole points; without those that have none."""
    entry = next(
        (
            one
            for one in catalog.entries.values()
            if one.edition is edition
            and (one.configurations, one.judge) == (found.configurations, judge)
            and (one.rules, one.weights) == (OWN.name, None)
        ),
        None,
    )
    if entry is None:
        return {}
    listed = listing(catalog, entry, catalog.board(entry))
    scores: dict[Place, int] = {}
    for stored in edition.transcripts:
        row = stored.row
        place = (row.subject_hash, row.run, stored.configuration, stored.unit)
        if place not in scores and listed.counts(stored):
            score = listed.score(row.subject_hash, row.run, (stored.configuration, edition.units[stored.unit].id))
            if score is not None:
                scores[place] = round(score)
    return scores
