"""How far a ranking depends on the weights of a stem's score, which are a choice of values and not a measurement.

The score of a stem is its factor times a weighted sum of terms, so an index is the sum over terms of weight x what the
index would be if that term had all the weight. Those numbers, one for each term, are all that is needed to rank by any
other weights. Knows nothing of how sure an index is (`uncertainty.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from independence_bench.analysis.results import Key, Results
from independence_bench.protocol.scoring import mean_of, score
from independence_bench.store.results import Judgement

STEPS, LEAST = 20, 2  # weights are twentieths, and every term has two of them at least
ROUNDING = 1e-9  # two indices that differ by less are equal


@dataclass(frozen=True, slots=True)
class PairOrder:
    """Two subjects that the protocol's own weights put into this order."""

    first: str
    second: str
    share: float  # of the grid, [0, 1]: weights under which it holds; two that are equal must stay equal


@dataclass(frozen=True, slots=True)
class RankStability:
    """How much of a grid of weights gives the same order."""

    order: tuple[str, ...]  # by the protocol's own weights, the best first; equal indices in the order of names
    pairs: tuple[PairOrder, ...]  # every two of them
    whole: float  # share of the grid under which all pairs keep their order, [0, 1]; 1 for fewer than two subjects
    grid: int  # how many weightings were looked at

    def with_others(self, name: str) -> dict[str, PairOrder]:
        """Another subject -> the pair of it and *name*."""
        pairs = [pair for pair in self.pairs if name in (pair.first, pair.second)]
        return {pair.second if pair.first == name else pair.first: pair for pair in pairs}

    def least_held(self, name: str | None = None) -> PairOrder | None:
        """The pair, of *name* or of all, whose order holds in the fewest; None: every order holds in all of them."""
        pairs = [pair for pair in self.pairs if pair.share < 1 and name in (None, pair.first, pair.second)]
        return min(pairs, key=lambda pair: pair.share, default=None)


def weight_grid(terms: int) -> Iterator[tuple[float, ...]]:
    """All weights of *terms* that are multiples of 1/`STEPS`, each at least `LEAST` of them, and sum to 1.

    ValueError where there are none.
    """
    if terms < 1 or terms * LEAST > STEPS:
        raise ValueError(f"{STEPS} steps cannot give {terms} terms {LEAST} each")
    for counts in _compositions(terms, STEPS - terms * LEAST):
        yield tuple((count + LEAST) / STEPS for count in counts)


def _compositions(parts: int, whole: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (whole,)
        return
    for first in range(whole + 1):
        for others in _compositions(parts - 1, whole - first):
            yield (first, *others)


def rank_stability(terms: Mapping[str, Sequence[float]], weights: Sequence[float]) -> RankStability:
    """Of subjects with their *terms* (each the index if that term had all the weight), under a grid of weights.

    *weights* are the protocol's own. ValueError where a subject has another number of terms than there are weights.
    """
    indices = {name: _weighed(of, weights) for name, of in terms.items()}
    order = sorted(terms, key=lambda name: (-indices[name], name))
    pairs = [(first, second) for place, first in enumerate(order) for second in order[place + 1 :]]
    grid = list(weight_grid(len(weights)))
    held = dict.fromkeys(pairs, 0)
    whole = 0
    for other in grid:
        under = {name: _weighed(of, other) for name, of in terms.items()}
        kept = [(a, b) for a, b in pairs if _sign(under[a] - under[b]) == _sign(indices[a] - indices[b])]
        for pair in kept:
            held[pair] += 1
        whole += len(kept) == len(pairs)
    shares = tuple(PairOrder(*pair, held[pair] / len(grid)) for pair in pairs)
    return RankStability(tuple(order), shares, whole / len(grid), len(grid))


def _weighed(terms: Sequence[float], weights: Sequence[float]) -> float:
    return sum(weight * term for weight, term in zip(weights, terms, strict=True))


def _sign(number: float) -> int:
    return 0 if abs(number) < ROUNDING else 1 if number > 0 else -1


def index_by_term(
    results: Results, subject: str, judges: Sequence[Mapping[Key, Judgement]]
) -> tuple[float, ...] | None:
    """The index of *subject* (its hash), [0, 100], if the first, the second, ... term had all the weight.

    By *judges*, one or those of a jury, whose indices are averaged. Their sum weighted by the terms' weights is the
    index. None where the protocol has no stems or the subject lacks a mark.
    """
    rule = results.protocol.score
    if rule is None or subject not in results.by_subject:
        return None
    indices = []
    for term in rule.terms:
        alone = replace(results.protocol, score=replace(rule, terms=(replace(term, weight=1.0),)))
        of_judges = []
        for given in judges:
            marks = replace(results, protocol=alone).unit_marks(results.by_subject[subject], given)
            of_runs = {run: marks.get(run, {}) for run in results.runs[subject]}
            of_judges.append(score(alone.units, results.configurations, of_runs)[1].index)
        indices.append(mean_of(of_judges))
    known = tuple(index for index in indices if index is not None)
    return known if len(known) == len(indices) else None
