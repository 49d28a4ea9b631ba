"""The whole audit as one value: every kind of trouble, where it is, and what each index is without it.

*Without it* means without the runs that it is in: the mean of the subject's other runs, by the one scorer. A run that
lacks a mark has no index, so nothing smaller can be taken out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from independence_bench.analysis.audit.catalog import CHECKS, Check
from independence_bench.analysis.audit.checks import Occurrence
from independence_bench.analysis.audit.evidence import AuditEvidence, gather
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.scoring import OWN, Rules
from independence_bench.store.database import Store


@dataclass(frozen=True, slots=True)
class IndexChange:
    """One row of one ranking with and without the runs that something was found in."""

    label: str
    judge: str | None
    configurations: tuple[str, ...]
    index: float | None  # as it is shown, [0, 100]; None: incomplete
    without: float | None  # None: no run is left that has an index
    runs: int  # it has
    left: int  # runs that *without* is the mean of

    @property
    def change(self) -> float | None:
        """Points of the index; None where one of them is missing."""
        return None if self.index is None or self.without is None else self.without - self.index


@dataclass(frozen=True, slots=True)
class Finding:
    """One kind of trouble that there is. *effects* is empty where no run can be taken out for it."""

    kind: Check
    places: tuple[Occurrence, ...]
    effects: tuple[IndexChange, ...]

    @property
    def subjects(self) -> int:
        """How many subjects it touches."""
        return len({place.subject for place in self.places if place.subject})

    @property
    def change(self) -> float | None:
        """The biggest change of an index, with its sign; None where no index has one."""
        return max((effect.change for effect in self.effects if effect.change is not None), key=abs, default=None)


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What was found, the worst first, and what was read for it."""

    protocol: Protocol
    rules: str
    findings: tuple[Finding, ...]
    conversations: int
    replies: int  # read again from their raw bodies
    verdicts: int  # read again from their raw bodies
    indices: int  # made again

    @property
    def errors(self) -> int:
        """Kinds of severity error."""
        return sum(finding.kind.severity == "error" for finding in self.findings)


def audit(store: Store, protocol: Protocol, rules: Rules = OWN) -> AuditReport:
    """Look through everything that *store* has of *protocol*; an empty store has no finding. Raises StoreError."""
    evidence = gather(store, protocol, rules)
    findings = []
    for kind in CHECKS:
        if places := tuple(kind.find(evidence)):
            effects = tuple(_effects(evidence, places)) if kind.runs else ()
            findings.append(Finding(kind, places, effects))
    return AuditReport(
        protocol,
        rules.name,
        tuple(findings),
        len(evidence.conversations),
        evidence.bodies.replies,
        evidence.bodies.verdicts,
        sum(len(board.ranked) for board in evidence.boards),
    )


def _effects(evidence: AuditEvidence, places: Sequence[Occurrence]) -> Iterator[IndexChange]:
    rules = evidence.rules
    for board in evidence.boards:
        touched: dict[str, set[int]] = defaultdict(set)
        for place in places:
            if place.configuration in board.configurations and place.judge in (None, board.judge):
                touched[place.subject] |= {place.run} if place.run is not None else set()
        for row in board.rows:
            if runs := touched.get(row.subject.hash):
                counted = {run for run, score in row.runs.items() if rules.partial or score.index is not None}
                rest = {run: row.marks.get(run, {}) for run in row.runs if run in counted - runs}
                without = rules.score(board.protocol, board.configurations, rest)[1].index if rest else None
                where, score = tuple(map(str, board.configurations)), row.score
                yield IndexChange(row.label, board.judge, where, score.index, without, score.runs, len(rest))
