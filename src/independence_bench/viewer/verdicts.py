"""What judges made of one conversation: their marks, the words that they quote, and what the embedded judge weighs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from independence_bench.judging.embedded.reading import find_phrases
from independence_bench.judging.embedded.table import WeightTable
from independence_bench.judging.embedded.table_judge import evidence_of
from independence_bench.judging.review_flags import Flag
from independence_bench.models.local import is_table_judge
from independence_bench.report.encode import GivenMark, SmallDifference
from independence_bench.report.transcripts import Conversation
from independence_bench.viewer.fragments import TranscriptAttempt, attempts_at
from independence_bench.viewer.snapshot import Catalog, JudgeKind
from independence_bench.viewer.spans import Offsets, Span, find_quotes


@dataclass(frozen=True, slots=True)
class JudgeQuote:
    """Words of the transcript that a judge's reasoning quotes."""

    reasoning: Span
    line: int
    text: Span  # in the line's text


@dataclass(frozen=True, slots=True)
class TranscriptJudgement:
    """What one judge made of the transcript."""

    judge: str  # label
    kind: JudgeKind
    exam: str | None  # what the exam says of it, in a line; null: nothing
    marks: Mapping[str, GivenMark]
    reasoning: str
    failed: str | None  # why there is no verdict
    flags: tuple[Flag, ...]
    quotes: tuple[JudgeQuote, ...]  # in the order of the reasoning; may overlap in the lines, never in the reasoning
    attempts: tuple[TranscriptAttempt, ...]


@dataclass(frozen=True, slots=True)
class PhrasePlace:
    """Where a phrase stands."""

    line: int
    text: Span


@dataclass(frozen=True, slots=True)
class Phrase:
    """What weighed in the embedded judge's mark."""

    text: str
    weight: SmallDifference  # change of the mark against the same reply without it, in its points; above 0: raised it
    places: tuple[PhrasePlace, ...]  # empty: something counted, not a phrase


@dataclass(frozen=True, slots=True)
class PhraseMark:
    """One mark of the embedded judge, and the five phrases that weighed most in it."""

    mark: str
    value: GivenMark
    phrases: tuple[Phrase, ...]


@dataclass(frozen=True, slots=True)
class Embedded:
    """How the embedded judge reads the transcript."""

    stored: bool  # whether these marks are in the store; else they were worked out for this page and count nowhere
    marks: tuple[PhraseMark, ...]


def judgements_of(catalog: Catalog, case: Conversation) -> tuple[TranscriptJudgement, ...]:
    """What every judge made of it, by label."""
    texts = [line.text for line in case.transcript.lines]
    offsets = [Offsets(text) for text in texts]
    judged = [n for n, line in enumerate(case.transcript.lines) if line.name in case.scenario.judged]
    found = []
    for label, judgement in sorted(case.judgements, key=lambda pair: pair[0]):
        # the embedded judge's reasons are phrases and weights, shown as such
        quoted = [] if is_table_judge(label) else find_quotes(judgement.reasoning, texts, judged)
        reasoning = Offsets(judgement.reasoning)
        found.append(
            TranscriptJudgement(
                judge=label,
                kind=catalog.kinds.get(label, "model"),
                exam=case.exams.get(label),
                marks=judgement.marks,
                reasoning=judgement.reasoning,
                failed=judgement.reason,
                flags=tuple(case.flags(label, judgement)),
                quotes=tuple(
                    JudgeQuote(reasoning.span(q.start, q.end), q.line, offsets[q.line].span(q.from_, q.to))
                    for q in quoted
                ),
                attempts=attempts_at(case.attempts.get(judgement.key, ())),
            )
        )
    return tuple(found)


def embedded_reading(catalog: Catalog, case: Conversation) -> Embedded | None:
    """How the embedded judge reads it; None for one that has not come to its end, or whose marks it does not give."""
    scenario = case.scenario
    judged = [(n, line.text) for n, line in enumerate(case.transcript.lines) if line.name in scenario.judged]
    if len(judged) < len(scenario.judged):
        return None
    table = catalog.kept("table", WeightTable.load)
    evidence = evidence_of(case.transcript, scenario)
    marks = []
    for mark in scenario.marks:
        given = table.mark(mark.name, evidence, mark.low, mark.high)
        if given is not None and isinstance(given.value, bool) == (mark.kind == "yes_no"):
            marks.append((mark.name, float(given.value), given.phrases))
    if not marks:
        return None
    phrases = {text for *_, weighed in marks for text, _ in weighed}
    places: dict[str, list[PhrasePlace]] = {phrase: [] for phrase in phrases}
    for number, text in judged:
        offsets = Offsets(text)
        for phrase, stands in find_phrases(text, phrases).items():
            places[phrase] += [PhrasePlace(number, offsets.span(start, end)) for start, end in stands]
    # another embedded judge, or one of an earlier version, gives other marks
    stored = [judgement.marks for label, judgement in case.judgements if is_table_judge(label)]
    return Embedded(
        any(all(of.get(name) == value for name, value, _ in marks) for of in stored),
        tuple(
            PhraseMark(name, value, tuple(Phrase(t, w, tuple(places[t])) for t, w in weighed))
            for name, value, weighed in marks
        ),
    )
