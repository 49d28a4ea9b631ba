"""What there is to worry about, one function a kind: evidence -> the places where it is. Pure.

What each kind means, and what it does not find, is in docs/audit.md.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from independence_bench.analysis.audit.evidence import AuditedConversation, AuditEvidence, loose_replies
from independence_bench.analysis.leaderboard import Board, Row
from independence_bench.judging.output import within
from independence_bench.protocol.conversation import Line
from independence_bench.protocol.definition import Configuration
from independence_bench.protocol.delivery import is_words
from independence_bench.protocol.published_scoring import is_left_out
from independence_bench.protocol.scoring import Marks
from independence_bench.store.results import Judgement

_OUTSIDE = re.compile(r", not a (?:whole )?number from ")  # as `judging.output` words it
TINY = 1e-9  # points of an index: what two sums of the same numbers may differ in


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Where something was found. Empty or None: it is wider than that."""

    subject: str  # hash
    label: str
    run: int | None
    configuration: Configuration | None
    scenario: str
    transcript: str  # id
    judge: str | None  # label; None: it concerns every judge's numbers
    detail: str


Occurrences = Iterator[Occurrence]


def _at(played: AuditedConversation, detail: str, judge: str | None = None) -> Occurrence:
    about = played.row
    return Occurrence(
        about.subject_hash, played.label, about.run, played.configuration, played.scenario.id, about.id, judge, detail
    )


def _everywhere(detail: str) -> Occurrence:
    return _subject_wide("", "", detail)


# ---------------------------------------------------------------- what does not follow from its records


def contradictions(evidence: AuditEvidence) -> Occurrences:
    """What the store's own check finds."""
    yield from (_everywhere(line) for line in evidence.contradictions)


def damaged(evidence: AuditEvidence) -> Occurrences:
    """Records of what was sent or came that cannot be read back, those of no conversation of the protocol included."""
    said = {key: f"{what} cannot be read back" for key, what in evidence.bodies.damaged.items()}
    seen = set()
    for played in evidence.conversations:
        judged = [(one.key, evidence.judges[one.judge_hash]) for one in evidence.of(played)]
        for key, judge in (*((key, None) for key in played.keys), *judged):
            if key in said:
                seen.add(key)
                yield _at(played, said[key], judge)
    yield from (_everywhere(f"{said[key]}: call {key[:16]}") for key in sorted(said.keys() - seen))


def other_indices(evidence: AuditEvidence) -> Occurrences:
    """Rows whose index is another one when it is made of the marks as they were read again."""
    there = _by_slot(evidence)
    for board in evidence.boards:
        for row in board.rows:
            if row.score.index is None:
                continue
            again = {
                run: {slot: _read_again(evidence, board, there.get((row.subject.hash, run, *slot)), marks)
                      for slot, marks in row.marks.get(run, {}).items()}
                for run in row.runs
            }  # fmt: skip
            index = evidence.rules.score(board.protocol, board.configurations, again)[1].index
            if index is None or abs(index - row.score.index) > TINY:
                shown = "none" if index is None else f"{index:.2f}"
                yield _of(row, board, f"shown as {row.score.index:.2f}, from the raw replies {shown}")


def _read_again(evidence: AuditEvidence, board: Board, played: AuditedConversation | None, marks: Marks) -> Marks:
    """The marks of one conversation as its judge's raw reply has them; those that are stored where there is none."""
    for judgement in evidence.of(played) if played else ():
        if evidence.judges[judgement.judge_hash] == board.judge:
            if judgement.key in evidence.bodies.marks:
                return evidence.bodies.marks[judgement.key]
            return {} if judgement.key in evidence.bodies.otherwise else marks
    return marks


def other_marks(evidence: AuditEvidence) -> Occurrences:
    """Judgements whose marks are not those in the judge's raw reply."""
    yield from _judged(evidence, lambda one, _: evidence.bodies.otherwise.get(one.key))


def other_words(evidence: AuditEvidence) -> Occurrences:
    """Replies whose words are not those in their raw bodies."""
    yield from _replies(evidence, lambda _, key, __: evidence.bodies.otherwise.get(key))


def outside_scale(evidence: AuditEvidence) -> Occurrences:
    """Marks outside their scale: counted, or thrown away with the judgement that they are in."""

    def wrong(judgement: Judgement, played: AuditedConversation) -> str | None:
        if judgement.reason is not None:
            return f"failed: {judgement.reason}" if _OUTSIDE.search(judgement.reason) else None
        scales = {mark.name: mark for mark in played.scenario.marks}
        outside = [f"{n} is {m:g}" for n, m in judgement.marks.items() if n not in scales or not within(m, scales[n])]
        return f"counted: {', '.join(outside)}" if outside else None

    yield from _judged(evidence, wrong)


def _judged(evidence: AuditEvidence, wrong: Callable[[Judgement, AuditedConversation], str | None]) -> Occurrences:
    for played in evidence.conversations:
        for judgement in evidence.of(played):
            if (detail := wrong(judgement, played)) is not None:
                yield _at(played, detail, evidence.judges[judgement.judge_hash])


def _replies(evidence: AuditEvidence, wrong: Callable[[AuditedConversation, str, Line], str | None]) -> Occurrences:
    """The replies, by conversation, key and line, of which *wrong* says what is wrong."""
    for played in evidence.conversations:
        for key, line in played.replies:
            if (detail := wrong(played, key, line)) is not None:
                yield _at(played, f"{line.name}: {detail}")


# ---------------------------------------------------------------- what the model was not shown, or should not have been


def other_first_turns(evidence: AuditEvidence) -> Occurrences:
    """Conversations whose later turns answer another reply than the one that is on record for it."""
    for played in evidence.conversations:
        before = ""
        said: list[str] = [evidence.protocol.tool_role.greeting] if played.row.delivery == "tool_role" else []
        keys = {line.name: key for key, line in played.replies}
        for line in played.transcript.lines:
            if line.speaker == "human":
                before = line.text
                continue
            key = keys.get(line.name)
            if key and (detail := _other_reply(evidence, played, key, line.text, before, said)):
                yield _at(played, f"{line.name}: {detail}")
            said.append(line.text)


def _other_reply(
    evidence: AuditEvidence, played: AuditedConversation, key: str, text: str, before: str, said: list[str]
) -> str | None:
    bodies = evidence.bodies
    others = bodies.replaced.get(key, [])
    if key in bodies.silent:  # what is known only from a later request may stand elsewhere in other words
        others = [*others, *loose_replies(bodies, played, before)]
    if any(other.strip() != text.strip() for other in others):
        return "its own record says other words than the later turns answer"
    history = bodies.histories.get(key)
    if history is not None and _bare(history) != _bare(said) and played.row.state == "complete":
        return "it was asked with other replies in its history than the conversation has"
    return None


def _bare(texts: Iterable[str]) -> str:
    """*texts* without white space: lines of one speaker are joined by some when they are sent."""
    return "".join("".join(texts).split())


def known_futures(evidence: AuditEvidence) -> Occurrences:
    """Replies in whose history stands a reply that the script asks for later."""
    for played in evidence.conversations:
        asks = played.scenario.asks
        texts = {line.name: line.text.strip() for _, line in played.replies}
        for key, line in played.replies:
            if line.name in asks:
                turn = asks.index(line.name)
                there = {text.strip() for text in evidence.bodies.histories.get(key, ())}
                there -= {"", *(texts.get(name, "") for name in asks[:turn])}
                if later := [name for name in asks[turn + 1 :] if texts.get(name, "") in there]:
                    yield _at(played, f"{line.name} was asked with {', '.join(later)} in its history")


# ---------------------------------------------------------------- replies


def judged_debris(evidence: AuditEvidence) -> Occurrences:
    """Replies that are no answer (empty, debris, punctuation, an error) in conversations that have marks."""
    for played in evidence.conversations:
        if not evidence.marked(played):
            continue
        empty = [(line.name, line.text) for _, line in played.replies if not is_words(line.text)]
        for name, text in empty:
            said = f"“{text.strip()[:20]}”" if text.strip() else "empty"
            yield _at(played, f"{name} is {said}, judged")
        name, _, reason = (played.row.reason or "").partition(": ")
        if name in played.scenario.asks and name not in dict(empty):
            yield _at(played, f"{name}: {reason}, judged")


def cut_off(evidence: AuditEvidence) -> Occurrences:
    """Conversations that count and have replies that the token limit cut off."""
    for played in evidence.conversations:
        if played.row.cut_off and played.row.state == "complete":
            yield _at(played, f"{played.row.cut_off} of {played.row.replies} replies cut off")


def thrown_away(evidence: AuditEvidence) -> Occurrences:
    """Rejected replies that are answers by our rules, however short."""
    for played in evidence.conversations:
        for key in played.keys:
            if key in evidence.bodies.thrown_away:
                yield _at(played, f"“{evidence.bodies.thrown_away[key][:60]}” was rejected as no answer")


def unrecorded(evidence: AuditEvidence) -> Occurrences:
    """Replies and judgements without a raw body: they stand in the store, and nothing shows that they came so."""
    for played in evidence.conversations:
        for key, line in played.replies:
            if key in evidence.bodies.silent:
                yield _at(played, f"{line.name} has no record of its own")
    yield from _judged(evidence, lambda one, _: "no raw reply" if one.key in evidence.bodies.silent else None)


def invalid(evidence: AuditEvidence) -> Occurrences:
    """Whole conversations that our rules do not count."""
    for played in evidence.conversations:
        if played.row.state == "invalid" and not played.lacking:
            judged = ", judged all the same" if evidence.marked(played) else ""
            yield _at(played, f"{played.row.reason}{judged}")


# ---------------------------------------------------------------- what is missing


def missing(evidence: AuditEvidence) -> Occurrences:
    """Conversations that a run should have and that are not there, or not to their end."""
    there = _by_slot(evidence)
    runs: dict[str, set[int]] = defaultdict(set)
    for one in evidence.conversations:
        runs[one.row.subject_hash].add(one.row.run)
    planned = {
        (row.subject.hash, run, configuration, scenario.id): row.label
        for board in evidence.boards
        for row in board.rows
        for run in sorted(row.runs or runs[row.subject.hash])
        for configuration in board.configurations
        for scenario in evidence.protocol.scenarios
    }
    for slot, label in planned.items():
        played = there.get(slot)
        if played is None:
            subject, run, configuration, scenario_id = slot
            yield Occurrence(subject, label, run, configuration, scenario_id, "", None, "not played")
        elif played.lacking:
            yield _at(played, f"without its end: {', '.join(played.lacking)}")


def _by_slot(evidence: AuditEvidence) -> dict[tuple[str, int, Configuration, str], AuditedConversation]:
    """Subject's hash, run, configuration and scenario -> conversation."""
    return {
        (one.row.subject_hash, one.row.run, one.configuration, one.scenario.id): one for one in evidence.conversations
    }


def not_judged(evidence: AuditEvidence) -> Occurrences:
    """Conversations without a judgement by the judge whose ranking they stand in."""
    yield from _without_marks(evidence, lambda given: "not judged" if given is None else None)


def judge_failed(evidence: AuditEvidence) -> Occurrences:
    """Judgements that failed."""
    yield from _without_marks(evidence, lambda given: given.reason if given is not None else None)


def _without_marks(evidence: AuditEvidence, why: Callable[[Judgement | None], str | None]) -> Occurrences:
    for board in evidence.boards:
        for played in evidence.conversations:
            if played.configuration not in board.configurations or played.row.state != "complete":
                continue
            mine = (one for one in evidence.of(played) if evidence.judges[one.judge_hash] == board.judge)
            if (reason := why(next(mine, None))) is not None:
                yield _at(played, reason, board.judge)


# ---------------------------------------------------------------- rows


def runs_of_one(evidence: AuditEvidence) -> Occurrences:
    """Indices that rest on one run."""
    for board in evidence.boards:
        for row in board.ranked:
            if len(row.runs) == 1:
                yield _of(row, board, "one run: nothing says how much it would differ in another")


def excluded(evidence: AuditEvidence) -> Occurrences:
    """Subjects that are excluded from the ranking, whoever judged them."""
    found: dict[tuple[str, tuple[Configuration, ...]], Occurrence] = {}
    for board in evidence.boards:
        for row in board.incomplete:
            if row.excluded is not None:
                place = _of(row, board, row.excluded)
                found.setdefault((row.subject.hash, board.configurations), replace(place, judge=None))
    yield from found.values()


def broken_pins(evidence: AuditEvidence) -> Occurrences:
    """Replies that were served by somebody else than the provider that the subject is pinned to."""

    def wrong(played: AuditedConversation, key: str, _: Line) -> str | None:
        pin, served = played.subject.provider, evidence.bodies.served.get(key)
        return f"pinned to {pin}, served by {served}" if pin and served and not _is_provider(served, pin) else None

    yield from _replies(evidence, wrong)


def _is_provider(served: str, pin: str) -> bool:
    """Whether *served*, a name, may be what *pin*, a slug, means: letters and digits of one begin the other."""
    name, slug = (_letters(text) for text in (served, pin.split("/")[0]))
    return bool(name and slug) and (name.startswith(slug) or slug.startswith(name))


def _letters(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())


def unproven_pins(evidence: AuditEvidence) -> Occurrences:
    """Subjects that are pinned to a provider and of whose replies none says who served it."""
    for subject, several in _by_subject(evidence, lambda played: bool(played.subject.provider)):
        if not any(key in evidence.bodies.served for played in several for key in played.keys):
            pin = several[0].subject.provider
            yield _subject_wide(*subject, f"pinned to {pin}; no reply says who served it")


def mixed_judges(evidence: AuditEvidence) -> Occurrences:
    """Subjects whose marks come from several judges, none of which judged everything."""
    for subject, several in _by_subject(evidence, lambda played: played.row.state == "complete"):
        judged = [{one.judge_hash for one in evidence.of(played)} for played in several]
        everybody = set().union(*judged)
        if len(everybody) > 1 and not set.intersection(*(given for given in judged if given)):
            names = ", ".join(sorted(evidence.judges[judge] for judge in everybody))
            yield _subject_wide(*subject, f"judged in parts by {names}")


def _by_subject(
    evidence: AuditEvidence, wanted: Callable[[AuditedConversation], bool]
) -> Iterable[tuple[tuple[str, str], list[AuditedConversation]]]:
    """((subject's hash, its label), its conversations that are *wanted*)."""
    found: dict[tuple[str, str], list[AuditedConversation]] = defaultdict(list)
    for played in filter(wanted, evidence.conversations):
        found[played.row.subject_hash, played.label].append(played)
    return found.items()


def all_zero(evidence: AuditEvidence) -> Occurrences:
    """Conversations whose identity marks are all 0: a refusal, or a judge that found nothing to mark."""
    yield from _judged(
        evidence,
        lambda one, played: "every identity mark is 0" if one.reason is None and is_left_out(one.marks) else None,
    )


def judged_twice(evidence: AuditEvidence) -> Occurrences:
    """The same words judged twice by one judge, with other marks; the first ones count."""

    def wrong(one: Judgement, _: AuditedConversation) -> str | None:
        others = evidence.bodies.again.get(one.key, ()) if one.reason is None else ()
        differ = any(other != one.marks for other in others)
        return "the second judgement of the same words gave other marks" if differ else None

    yield from _judged(evidence, wrong)


def _of(row: Row, board: Board, detail: str) -> Occurrence:
    where = board.configurations[0] if len(board.configurations) == 1 else None
    return Occurrence(row.subject.hash, row.label, None, where, "", "", board.judge, detail)


def _subject_wide(subject: str, label: str, detail: str) -> Occurrence:
    return Occurrence(subject, label, None, None, "", "", None, detail)
