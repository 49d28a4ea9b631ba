"""The whole audit as one value: every kind of trouble, where it is, and what each index is without
it.

*Without it* means without the runs that it is in: the mean of the subject's other runs, by the one
scorer. A run that lacks a mark has no index, so nothing smaller can be taken out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from independence_bench.analysis.audit import checks as f
from independence_bench.analysis.audit.checks import Occurrence
from independence_bench.analysis.audit.evidence import AuditEvidence, gather
from independence_bench.protocol.definition import WITHHELD, Protocol
from independence_bench.protocol.scoring import OWN, Rules
from independence_bench.store.database import Store

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Check:
    """One kind of trouble; docs/audit.md has a paragraph for each.

    *find* looks for it; *runs*: whether the runs that it is in can be taken out to weigh it.
    """

    name: str
    severity: Severity
    title: str
    meaning: str
    find: f.Find
    runs: bool = True


# In the order in which they are shown: the worst first.
CHECKS: tuple[Check, ...] = (
    Check("store", "error", "the store contradicts itself",
         "Keys, hashes and records do not follow from each other; nothing can be relied on.", f.contradictions, False),
    Check("damaged", "error", "records that cannot be read back",
         "What was sent or came is no longer what was written: nothing shows what the number rests on.", f.damaged),
    Check("index", "error", "index differs from its records",
         "Computed again from the judges' raw replies, the index differs from the one shown.", f.other_indices, False),
    Check("marks", "error", "marks differ from the raw reply",
         "Read again, the judge's raw reply gives different marks than those that count, or none.", f.other_marks),
    Check("words", "error", "judged text differs from the raw reply",
         "What was judged is not what the raw body gives when it is read again.", f.other_words),
    Check("scale", "error", "marks outside their scale",
         "The rubric does not allow the number: it counts, or the whole judgement failed because of it.",
         f.outside_scale),
    Check("first-turn", "error", "first turn differs from its record",
         "The later turns answer a different reply than the one on record.", f.other_first_turns),
    Check("future", "error", "later answer in an earlier history",
         "A question was asked when the model had already answered a later one.", f.known_futures),
    Check("debris", "error", "judged without an answer",
         "A judge gave marks where there was no answer: debris, a lone sign, nothing, an error.", f.judged_debris),
    Check("pin", "error", "served by another provider",
         "A provider other than the one in the subject's name served it.", f.broken_pins),
    Check("model", "error", "another model answered",
         "By the server's own word replies come from another model than the one asked, or from several.",
         f.other_models, False),
    Check("response-id", "error", "an answer came twice",
         "An endpoint gave several calls an answer with the same id: some replies may belong to other questions.",
         f.repeated_ids, False),
    Check("terse", "error", "valid answer discarded",
         "A short answer is an answer; asking again until a longer one comes biases the results.", f.thrown_away),
    Check("missing", "warning", "conversations missing",
         "Not played, or not to the end: the run has no index.", f.missing),
    Check("invalid", "warning", "invalid conversations",
         "They are not what the protocol asks for: the run has no index.", f.invalid),
    Check("not-judged", "warning", "conversations without a judgement",
         "The run has no index in that judge's ranking.", f.not_judged),
    Check("judge-failed", "warning", "failed judgements",
         "The run has no index in that judge's ranking.", f.judge_failed),
    Check("judges", "warning", "marks of several judges",
         "No judge marked everything, so no ranking has the whole subject.", f.mixed_judges, False),
    Check("call", "warning", "a tool call stands in the words",
         "The model wrote a call out as text, and that text was judged as what it said.", f.written_calls),
    Check("cut-off", "warning", "replies cut off by the token limit",
         "They were judged as far as they went.", f.cut_off),
    Check("excluded", "warning", "excluded subjects",
         "A person excluded them, or too many of their conversations have no valid reply for the rest to be a fair "
         "selection.", f.excluded, False),
    Check("one-run", "warning", "index from one run",
         "It has no spread, and another run may differ by several points.", f.runs_of_one, False),
    Check("zeros", "note", "every identity mark is 0",
         "A refusal, or a judge that found nothing; the published rules leave it out, ours count it.", f.all_zero),
    Check("malformed", "note", "judge's reply is not proper JSON",
         "With an unescaped quote, for example: it cannot be read strictly, and the marks in it are those that count.",
         f.malformed),
    Check("twice", "note", "judged twice, differently",
         "The same words got other marks the second time; the first ones count.", f.judged_twice),
    Check("unrecorded", "note", "no raw record",
         "It cannot be read again: its raw body was never stored, or left out of an export.", f.unrecorded),
    Check("no-ids", "note", "endpoint without usable response ids",
         "Its ids do not tell answers apart, so an answer that came twice cannot be found.", f.useless_ids, False),
    Check("pin-unproven", "note", "provider that cannot be verified",
         "The provider is in the name, and no reply says who served it.", f.unproven_pins, False),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class IndexChange:
    """One row of one ranking with and without the runs that a finding is in."""

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
    def count(self) -> int:
        """How many places there are."""
        return len(self.places)

    @property
    def subjects(self) -> int:
        """How many subjects it touches."""
        return len({place.subject for place in self.places if place.subject})

    @property
    def change(self) -> float | None:
        """The biggest change of an index, with its sign; None where no index has one."""
        return max(
            (effect.change for effect in self.effects if effect.change is not None),
            key=abs,
            default=None,
        )


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The findings, the worst first, and how much was read for them."""

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
    """Look through everything that *store* has of *protocol*; an empty store has no finding. Raises
    StoreError.
    """
    evidence = gather(store, protocol, rules)
    findings = []
    for kind in CHECKS:
        if places := tuple(_told(protocol, place) for place in kind.find(evidence)):
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


def _told(protocol: Protocol, place: Occurrence) -> Occurrence:
    """*place*, without what may quote a private text."""
    return replace(place, detail=WITHHELD) if protocol.canary else place


def _effects(evidence: AuditEvidence, places: Sequence[Occurrence]) -> Iterator[IndexChange]:
    rules = evidence.rules
    for board in evidence.boards:
        touched: dict[str, set[int]] = defaultdict(set)
        for place in places:
            if place.configuration in board.configurations and place.judge in (None, board.judge):
                touched[place.subject] |= {place.run} if place.run is not None else set()
        for row in board.rows:
            # who is excluded has no index that a finding could change
            if row.excluded is None and (runs := touched.get(row.subject.hash)):
                counted = {
                    run
                    for run, score in row.runs.items()
                    if rules.partial or score.index is not None
                }
                rest = {run: row.marks.get(run, {}) for run in row.runs if run in counted - runs}
                without = (
                    rules.score(board.protocol, board.configurations, rest)[1].index
                    if rest
                    else None
                )
                where, score = tuple(map(str, board.configurations)), row.score
                yield IndexChange(
                    row.label, board.judge, where, score.index, without, score.runs, len(rest)
                )
