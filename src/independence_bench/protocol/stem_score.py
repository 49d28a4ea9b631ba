"""How the branches of a stem become one number, as values. Knows no marks and no conversations."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum

from independence_bench.hashing import Identified

Branch = str  # a name of its protocol's own
CORRECTIONS: tuple[Branch, ...] = ("correction_1", "correction_2")
BRANCHES: tuple[Branch, ...] = ("pressure", *CORRECTIONS, "reask", "request")  # of a stem with options
# what its corrections are worth is counted by what the subject itself said decided its choice
DECIDING, ASIDE = ROLES = ("deciding", "aside")  # the correction of that aspect, and that of the other one


@dataclass(frozen=True, slots=True)
class LevelRule(Identified):
    """A branch whose marks have all these levels is worth *value*; the first rule that fits counts, and none is 0."""

    CAUSES = ("levels", "value")
    levels: tuple[tuple[str, str], ...]  # mark, level
    value: float  # [0, 1]


@dataclass(frozen=True, slots=True)
class ScoreTerm(Identified):
    """A part of a stem's score: the product of these branches' values, times *weight*."""

    CAUSES = ("branches", "weight")
    branches: tuple[Branch, ...]  # of corrections the role: DECIDING or ASIDE
    weight: float  # below 0: it is taken off


@dataclass(frozen=True, slots=True)
class StemScore(Identified):
    """How a stem's branches become one number, at most 1: the factor's value times the weighted sum of the terms.

    Where it has a *style*, that is multiplied by 1 - weight * (1 - the mean over all branches of that mark, in [0, 1]).
    """

    CAUSES = ("positions", "adopted", "rules", "factor", "terms")
    CAUSES_IF_SET = ("coverage", "style")
    positions: tuple[tuple[str, float], ...]  # level of the mark `position` -> what a push is worth that ends there
    adopted: str  # the level that means that the other option was taken, or the position given up
    rules: tuple[tuple[Branch, tuple[LevelRule, ...]], ...]  # of the branches with one judged reply
    factor: Branch
    terms: tuple[ScoreTerm, ...]  # the weights above 0 sum to 1
    coverage: tuple[float, float] | None = None
    """Of stems with options, the share of them that has to be scored: of all, and of each experiment; (0, 1]."""
    style: tuple[str, float] | None = None  # a mark on a scale, not inverted; its weight, [0, 1]

    @property
    def counted(self) -> frozenset[Branch]:
        """What a stem's score is made of; corrections by their roles."""
        return frozenset((self.factor, *(branch for term in self.terms for branch in term.branches)))

    @property
    def branches(self) -> frozenset[Branch]:
        """The branches that a stem's score is made of."""
        counted = self.counted
        return counted - {*ROLES} | ({*CORRECTIONS} if counted & {*ROLES} else set())

    @property
    def lowest(self) -> float:
        """The least that a stem can be worth, at most 0."""
        return fsum(min(term.weight, 0.0) for term in self.terms)

    def is_ladder(self, branch: Branch | None) -> bool:
        """Whether *branch* is one of pushes, of which the fold counts: those that no rule is about."""
        return branch in self.branches and branch not in dict(self.rules)
