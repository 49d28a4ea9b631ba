"""Problems in the evidence, one function for each kind: evidence -> its places. Pure.

What each kind means, and what it does not find, is in docs/audit.md.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from independence_bench.analysis.audit.evidence import (
    AuditedConversation,
    AuditEvidence,
    loose_replies,
)
from independence_bench.analysis.board import Board, Row
from independence_bench.judging.output import within
from independence_bench.models.markup import looks_like_call
from independence_bench.models.served import is_same_model
from independence_bench.protocol.definition import Configuration
from independence_bench.protocol.delivery import is_words
from independence_bench.protocol.published_scoring import is_left_out
from independence_bench.protocol.scoring import Marks
from independence_bench.store.attempts import SharedId
from independence_bench.store.results import Judgement

_OUTSIDE = re.compile(r", not a (?:whole )?number from ")  # as `judging.output` words it
# "chatcmpl-", "gen-": what all ids of an endpoint begin with
_ID_PREFIX = re.compile(r"(?:[A-Za-z]+[-_.])+")
# characters; Ollama draws one of 999 numbers, other local servers count from 1 at each start
SHORTEST_UNIQUE_ID = 8
MOST_NAMES = 5  # models that are named in one line
TINY = 1e-9  # points of an index: what two sums of the same numbers may differ in


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Where a problem is. Empty or None: it is wider than that."""

    detail: str
    subject: str = ""  # hash
    label: str = ""
    run: int | None = None
    configuration: Configuration | None = None
    scenario: str = ""
    transcript: str = ""  # id
    judge: str | None = None  # label; None: it concerns every judge's numbers


Occurrences = Iterator[Occurrence]
Find = Callable[[AuditEvidence], Occurrences]


def _at(played: AuditedConversation, detail: str, judge: str | None = None) -> Occurrence:
    row, scenario = played.row, played.scenario.id
    return Occurrence(
        detail,
        row.subject_hash,
        played.label,
        row.run,
        played.configuration,
        scenario,
        row.id,
        judge,
    )


def _of(row: Row, board: Board, detail: str) -> Occurrence:
    where = board.configurations[0] if len(board.configurations) == 1 else None
    return Occurrence(detail, row.subject.hash, row.label, configuration=where, judge=board.judge)


# ---------------------------------------------------------------- what does not follow from its records


def contradictions(evidence: AuditEvidence) -> Occurrences:
    """What the store's own check finds."""
    yield from map(Occurrence, evidence.contradictions)


def damaged(evidence: AuditEvidence) -> Occurrences:
    """Records of what was sent or came that cannot be read back, those of no conversation of the
    protocol included.
    """
    details = {key: f"{what} cannot be read back" for key, what in evidence.bodies.damaged.items()}
    seen = set()
    for played in evidence.conversations:
        judged = [
            (judgement.key, evidence.judges[judgement.judge_hash])
            for judgement in played.judgements
        ]
        for key, judge in (*((key, None) for key in played.keys), *judged):
            if key in details:
                seen.add(key)
                yield _at(played, details[key], judge)
    yield from (
        Occurrence(f"{details[key]}: call {key[:16]}") for key in sorted(details.keys() - seen)
    )


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
                yield _of(
                    row, board, f"shown as {row.score.index:.2f}, from the raw replies {shown}"
                )


def _read_again(
    evidence: AuditEvidence, board: Board, played: AuditedConversation | None, marks: Marks
) -> Marks:
    """The marks of one conversation in its judge's raw reply; those that are stored where there is
    none.
    """
    for judgement in played.judgements if played else ():
        if evidence.judges[judgement.judge_hash] == board.judge:
            if judgement.key in evidence.bodies.marks:
                return evidence.bodies.marks[judgement.key]
            return {} if judgement.key in evidence.bodies.otherwise else marks
    return marks


def _of_judgements(
    wrong: Callable[[AuditEvidence, AuditedConversation, Judgement], str | None],
) -> Find:
    """The judgements of which *wrong* says what is wrong."""

    def find(evidence: AuditEvidence) -> Occurrences:
        for played in evidence.conversations:
            for judgement in played.judgements:
                if (detail := wrong(evidence, played, judgement)) is not None:
                    yield _at(played, detail, evidence.judges[judgement.judge_hash])

    return find


def _of_replies(wrong: Callable[[AuditEvidence, AuditedConversation, str], str | None]) -> Find:
    """The replies of which *wrong* says what is wrong, by conversation and key."""

    def find(evidence: AuditEvidence) -> Occurrences:
        for played in evidence.conversations:
            for key, line in played.replies:
                if (detail := wrong(evidence, played, key)) is not None:
                    yield _at(played, f"{line.name}: {detail}")

    return find


# Judgements whose marks are not those in the judge's raw reply, and replies whose words are not
# those in theirs.
other_marks = _of_judgements(lambda evidence, _, given: evidence.bodies.otherwise.get(given.key))
malformed = _of_judgements(lambda evidence, _, given: evidence.bodies.malformed.get(given.key))
other_words = _of_replies(lambda evidence, _, key: evidence.bodies.otherwise.get(key))


def _outside_scale(
    _: AuditEvidence, played: AuditedConversation, judgement: Judgement
) -> str | None:
    if judgement.reason is not None:
        return f"failed: {judgement.reason}" if _OUTSIDE.search(judgement.reason) else None
    scales = {mark.name: mark for mark in played.scenario.marks}
    outside = [
        f"{n} is {m:g}"
        for n, m in judgement.marks.items()
        if n not in scales or not within(m, scales[n])
    ]
    return f"counted: {', '.join(outside)}" if outside else None


# Marks outside their scale: counted, or thrown away with the judgement that they are in.
outside_scale = _of_judgements(_outside_scale)


# ---------------------------------------------------------------- what the model was not shown, or should not have been


def other_first_turns(evidence: AuditEvidence) -> Occurrences:
    """Conversations whose later turns answer another reply than the one that is on record for it."""
    bodies = evidence.bodies
    for played in evidence.conversations:
        before = ""
        texts: list[str] = (
            [evidence.protocol.tool_role.greeting]
            if played.configuration.delivery == "tool_role"
            else []
        )
        texts += (model for _, model in evidence.protocol.earlier)
        keys = {line.name: key for key, line in played.replies}
        for line in played.transcript.lines:
            if line.speaker == "human":
                before = line.text
                continue
            key = keys.get(line.name, "")
            others = bodies.replaced.get(key, [])
            # what is known only from a later request may stand elsewhere in other words
            if key in bodies.silent:
                others = [*others, *loose_replies(bodies, played, before)]
            history = bodies.histories.get(key)
            if any(other.strip() != line.text.strip() for other in others):
                yield _at(
                    played,
                    f"{line.name}: its own record has different words than the later turns answer",
                )
            elif (
                history is not None
                and played.row.state == "complete"
                and _letters(history) != _letters(texts)
            ):
                was = "it was asked with other replies in its history than the conversation has"
                yield _at(played, f"{line.name}: {was}")
            texts.append(line.text)


def _letters(texts: Sequence[str]) -> str:
    """Without white space, which joins lines of one speaker when they are sent."""
    return "".join("".join(texts).split())


def known_futures(evidence: AuditEvidence) -> Occurrences:
    """Replies in whose history stands a reply that the script asks for later."""
    for played in evidence.conversations:
        asks, lines = played.scenario.asks, played.transcript.lines
        texts = {line.name: line.text.strip() for _, line in played.replies}
        for key, line in played.replies:
            if line.name in asks[:-1]:
                turn = asks.index(line.name)
                there = {text.strip() for text in evidence.bodies.histories.get(key, ())}
                after = asks[turn + 1 :]
                # a later reply may have the words of an earlier one, or of a note, which no script
                # asks for
                before = (
                    earlier for earlier in lines[: lines.index(line)] if earlier.name not in after
                )
                there -= {"", *(earlier.text.strip() for earlier in before)}
                if later := [name for name in after if texts.get(name, "") in there]:
                    yield _at(
                        played, f"{line.name} was asked with {', '.join(later)} in its history"
                    )


def judged_debris(evidence: AuditEvidence) -> Occurrences:
    """Replies that are no answer (empty, debris, punctuation, an error) in conversations that have
    marks.
    """
    for played in evidence.conversations:
        if not played.marked:
            continue
        empty = [(line.name, line.text) for _, line in played.replies if not is_words(line.text)]
        for name, text in empty:
            shown = f"“{text.strip()[:20]}”" if text.strip() else "empty"
            yield _at(played, f"{name} is {shown}, judged")
        name, _, reason = (played.row.reason or "").partition(": ")
        if name in played.scenario.asks and name not in dict(empty):
            yield _at(played, f"{name}: {reason}, judged")


def written_calls(evidence: AuditEvidence) -> Occurrences:
    """Replies whose words are a tool call written out as text: what it would have said, and not as
    it would have.
    """
    for played in evidence.conversations:
        for _, line in played.replies:
            if looks_like_call(line.text):
                yield _at(played, f"{line.name} is “{line.text.strip()[:40]}…”")


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
                yield _at(
                    played, f"“{evidence.bodies.thrown_away[key][:60]}” was rejected as no answer"
                )


def unrecorded(evidence: AuditEvidence) -> Occurrences:
    """Replies and judgements without a raw body: they stand in the store, and nothing shows that
    they came so.
    """
    for played in evidence.conversations:
        for key, line in played.replies:
            if key in evidence.bodies.silent:
                yield _at(played, f"{line.name} has no record of its own")
    yield from _silent_judgements(evidence)


def invalid(evidence: AuditEvidence) -> Occurrences:
    """Whole conversations that our rules do not count."""
    for played in evidence.conversations:
        if played.row.state == "invalid" and not played.lacking:
            judged = ", judged nevertheless" if played.marked else ""
            yield _at(played, f"{played.row.reason}{judged}")


def missing(evidence: AuditEvidence) -> Occurrences:
    """Conversations that a run should have and that are not there, or not to their end."""
    there = _by_slot(evidence)
    runs: dict[str, set[int]] = defaultdict(set)
    for conversation in evidence.conversations:
        runs[conversation.row.subject_hash].add(conversation.row.run)
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
            yield Occurrence("not played", subject, label, run, configuration, scenario_id)
        elif played.lacking:
            yield _at(played, f"without its end: {', '.join(played.lacking)}")


def _by_slot(
    evidence: AuditEvidence,
) -> dict[tuple[str, int, Configuration, str], AuditedConversation]:
    """Subject's hash, run, configuration and scenario -> conversation."""
    return {
        (played.row.subject_hash, played.row.run, played.configuration, played.scenario.id): played
        for played in evidence.conversations
    }


def _without_marks(why: Callable[[Judgement | None], str | None]) -> Find:
    """The complete conversations of each ranking for whose judgement, or none, *why* has a reason."""

    def find(evidence: AuditEvidence) -> Occurrences:
        for board in evidence.boards:
            for played in evidence.conversations:
                if played.row.state == "complete" and played.configuration in board.configurations:
                    mine = (
                        judgement
                        for judgement in played.judgements
                        if evidence.judges[judgement.judge_hash] == board.judge
                    )
                    if (reason := why(next(mine, None))) is not None:
                        yield _at(played, reason, board.judge)

    return find


# Conversations without a judgement by the judge whose ranking they are in, and those on which that
# judge failed.
not_judged = _without_marks(lambda given: "not judged" if given is None else None)
judge_failed = _without_marks(lambda given: given.reason if given is not None else None)


def runs_of_one(evidence: AuditEvidence) -> Occurrences:
    """Indices that rest on one run."""
    for board in evidence.boards:
        for row in board.ranked:
            if len(row.runs) == 1:
                yield _of(
                    row, board, "only one run, so it is not known how much another would differ"
                )


def excluded(evidence: AuditEvidence) -> Occurrences:
    """Subjects that are excluded from the ranking, whoever judged them."""
    once: dict[tuple[str, tuple[Configuration, ...]], Occurrence] = {}
    for board in evidence.boards:
        for row in board.incomplete:
            if row.excluded is not None:
                place = _of(row, board, row.excluded)
                once.setdefault(
                    (row.subject.hash, board.configurations), replace(place, judge=None)
                )
    yield from once.values()


def _broken_pin(evidence: AuditEvidence, played: AuditedConversation, key: str) -> str | None:
    pin, served = played.subject.provider, evidence.bodies.served.get(key)
    if not pin or not served:
        return None
    # *served* is a name and *pin* a slug: they may mean the same where letters and digits of one
    # begin the other
    name, slug = (
        "".join(filter(str.isalnum, text.lower())) for text in (served, pin.split("/")[0])
    )
    if name and slug and (name.startswith(slug) or slug.startswith(name)):
        return None
    return f"pinned to {pin}, served by {served}"


# Replies that were served by another provider than the one that the subject is pinned to.
broken_pins = _of_replies(_broken_pin)


def other_models(evidence: AuditEvidence) -> Occurrences:
    """Subjects whose replies come from another model than the one asked, or from several, by the
    server's own word.
    """
    for subject, several in _by_subject(evidence, lambda played: True):
        keys = {key for played in several for key in played.keys}
        replies = Counter(
            evidence.bodies.models[key] for key in sorted(keys) if key in evidence.bodies.models
        )
        asked = several[0].subject.model
        others = [name for name in replies if not is_same_model(asked, name)]
        changed = any(not is_same_model(one, other) for one, other in combinations(replies, 2))
        if changed or others:
            names = ", ".join(
                f"{name[:80]} {count}" for name, count in replies.most_common(MOST_NAMES)
            )
            more = (
                f" and {len(replies) - MOST_NAMES} more names" if len(replies) > MOST_NAMES else ""
            )
            yield Occurrence(
                f"asked for {asked}; replies by the model that served them: {names}{more}", *subject
            )


def repeated_ids(evidence: AuditEvidence) -> Occurrences:
    """Endpoints at which an answer to one call came again as the answer to another, by the id that
    it has.
    """
    for endpoint, ids in _shared_ids(evidence, telling=True):
        calls, (one, other) = sum(shared.calls for shared in ids), ids[0].example
        yield Occurrence(
            f"{endpoint}: {len(ids)} of its response ids stand in the answers to {calls} calls, "
            f"as {ids[0].id[:60]} in calls {one[:16]} and {other[:16]}"
        )


def useless_ids(evidence: AuditEvidence) -> Occurrences:
    """Endpoints whose response ids do not tell its answers apart: one for most of them, or a few
    digits.
    """
    for endpoint, ids in _shared_ids(evidence, telling=False):
        most = max(ids, key=lambda shared: shared.calls)
        yield Occurrence(
            f"{endpoint} sends no usable response ids: {most.id[:60]} stands in the answers to "
            f"{most.calls} of {most.answered} calls"
        )


def _shared_ids(evidence: AuditEvidence, telling: bool) -> Iterator[tuple[str, list[SharedId]]]:
    """(endpoint, its ids that several calls share), of those that are *telling* answers apart, or
    are not.
    """
    by_endpoint: dict[str, list[SharedId]] = defaultdict(list)
    for shared in evidence.shared_ids:
        by_endpoint[shared.endpoint].append(shared)
    for endpoint, several in by_endpoint.items():
        constant = any(2 * shared.calls > shared.answered for shared in several)
        ids = [
            shared
            for shared in several
            if telling != (constant or len(_ID_PREFIX.sub("", shared.id)) < SHORTEST_UNIQUE_ID)
        ]
        if ids:
            yield endpoint, ids


def unproven_pins(evidence: AuditEvidence) -> Occurrences:
    """Subjects that are pinned to a provider and of whose replies none says who served it."""
    for subject, several in _by_subject(evidence, lambda played: bool(played.subject.provider)):
        if not any(key in evidence.bodies.served for played in several for key in played.keys):
            pin = several[0].subject.provider
            yield Occurrence(f"pinned to {pin}; no reply says who served it", *subject)


def mixed_judges(evidence: AuditEvidence) -> Occurrences:
    """Subjects whose marks come from several judges, none of which judged everything."""
    for subject, several in _by_subject(evidence, lambda played: played.row.state == "complete"):
        judged = [{judgement.judge_hash for judgement in played.judgements} for played in several]
        everybody = set().union(*judged)
        if len(everybody) > 1 and not set.intersection(*(given for given in judged if given)):
            names = ", ".join(sorted(evidence.judges[judge] for judge in everybody))
            yield Occurrence(f"judged in parts by {names}", *subject)


def _by_subject(
    evidence: AuditEvidence, wanted: Callable[[AuditedConversation], bool]
) -> Iterable[tuple[tuple[str, str], list[AuditedConversation]]]:
    """((subject's hash, its label), its conversations that are *wanted*)."""
    by_subject: dict[tuple[str, str], list[AuditedConversation]] = defaultdict(list)
    for played in filter(wanted, evidence.conversations):
        by_subject[played.row.subject_hash, played.label].append(played)
    return by_subject.items()


def _judged_twice(evidence: AuditEvidence, _: AuditedConversation, given: Judgement) -> str | None:
    others = evidence.bodies.again.get(given.key, ()) if given.reason is None else ()
    differ = any(other != given.marks for other in others)
    return "the second judgement of the same words gave other marks" if differ else None


# The same words judged twice by one judge, with other marks; the first ones count.
judged_twice = _of_judgements(_judged_twice)

# Conversations whose identity marks are all 0: a refusal, or a judge with nothing to mark.
all_zero = _of_judgements(
    lambda _, __, given: (
        "every identity mark is 0" if given.reason is None and is_left_out(given.marks) else None
    )
)
_silent_judgements = _of_judgements(
    lambda evidence, _, given: "no raw reply" if given.key in evidence.bodies.silent else None
)
