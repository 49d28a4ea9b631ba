"""One conversation with everything that belongs to it: as it was said, sent, rejected, marked and quoted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from independence_bench.judging.embedded.table import Table, find_phrases
from independence_bench.judging.embedded.table_judge import evidence_of
from independence_bench.judging.review_flags import flags_of
from independence_bench.models.local import is_table_judge
from independence_bench.protocol.conversation import Transcript as Talk
from independence_bench.protocol.delivery import messages, tools
from independence_bench.store import attempts as stored_attempts
from independence_bench.store import results
from independence_bench.store.attempts import ANSWERED, CUT_OFF
from independence_bench.store.raw_calls import exchanges_of
from independence_bench.store.results import Judgement, Reply
from independence_bench.viewer import fragments, shapes
from independence_bench.viewer.quotes import Offsets, find_quotes
from independence_bench.viewer.shared_text import shared
from independence_bench.viewer.slugs import scenario_slug
from independence_bench.viewer.snapshot import Catalog, Edition, Stored, subject_id

IN_FLIGHT = "in flight"


@dataclass(frozen=True, slots=True)
class _Case:
    """What is read from the store of one transcript."""

    edition: Edition
    stored: Stored
    talk: Talk
    keys: Sequence[str]  # of its replies, as far as they were asked for
    replies: Mapping[str, Reply]
    judgements: Sequence[tuple[str, Judgement]]  # (label, judgement), by label
    attempts: Mapping[str, Sequence[shapes.Attempt]]  # by the key of the reply, or of the judgement


def transcript_answer(catalog: Catalog, id_: str) -> shapes.Transcript | None:
    """`api/transcripts/<transcript>.json`; None for an unknown id, and for one that was deleted meanwhile."""
    place = catalog.held.transcripts.get(id_)
    if place is None:
        return None
    edition, number = place
    with catalog.store.reading() as connection:
        case = _read(connection, catalog, edition, edition.transcripts[number])
    if case is None:
        return None
    stored, protocol, subject = case.stored, edition.protocol, catalog.held.subjects[case.stored.row.subject_hash]
    delivery, wording = stored.configuration.delivery, protocol.tool_role
    titles = {one.name: one.title for one in protocol.experiments}
    return shapes.Transcript(
        id=id_,
        key=stored.row.id,
        protocol=fragments.protocol_entry(catalog, edition),
        subject=fragments.subject_facts(catalog, subject),
        scenario=scenario_slug(stored.scenario.id),
        scenario_title=stored.scenario.title,
        experiment=titles[stored.scenario.experiment],
        run=stored.row.run,
        configuration=str(stored.configuration),
        delivery=delivery,
        state="invalid" if stored.row.state == "invalid" else "complete",
        invalid=stored.row.reason,
        system=case.talk.system,
        lines=_lines(case),
        replies=_replies(case),
        messages=tuple(
            shapes.Message(
                sent.role,
                sent.content,
                tuple(shapes.ToolCall(call.id, call.name, call.arguments) for call in sent.tool_calls),
                sent.tool_call_id,
            )
            for sent in messages(case.talk, delivery, wording)
        ),
        tools=json.dumps([tool.wire() for tool in tools(delivery, wording)], ensure_ascii=False),
        scales=tuple(fragments.scale(protocol, mark) for mark in stored.scenario.marks),
        rubrics=tuple(rubric.text for rubric in stored.scenario.rubrics),
        judgements=_judgements(catalog, case),
        embedded=_embedded(catalog, case),
        turns=_turns(case),
        neighbours=_neighbours(catalog, edition, stored),
        boards=tuple(
            shapes.TranscriptPlace(ranking.id, subject_id(subject))
            for ranking in catalog.rankings.values()
            if ranking.edition is edition and stored.configuration in ranking.configurations
        ),
    )


def raw_answer(catalog: Catalog, id_: str) -> shapes.Raw | None:
    """`api/raw/<transcript>.json`; None for an unknown id. A call of which nothing was kept is left out."""
    place = catalog.held.transcripts.get(id_)
    if place is None:
        return None
    edition, number = place
    with catalog.store.reading() as connection:
        case = _read(connection, catalog, edition, edition.transcripts[number])
        if case is None:
            return None
        asked = [("reply", name, key) for name, key in zip(case.stored.scenario.asks, case.keys, strict=False)]
        marked = [("judgement", label, judgement.key) for label, judgement in case.judgements]
        kept = exchanges_of(connection, [key for *_, key in asked + marked])
    return shapes.Raw(
        id_,
        tuple(
            shapes.RawCall(
                "reply" if kind == "reply" else "judgement",
                name,
                kept[key].request,
                tuple(shapes.RawAttempt(one.outcome or IN_FLIGHT, one.status, one.raw) for one in kept[key].bodies),
            )
            for kind, name, key in asked + marked
            if key in kept
        ),
    )


def _read(connection: Connection, catalog: Catalog, edition: Edition, stored: Stored) -> _Case | None:
    try:
        talk, keys = results.read_transcript(connection, stored.row.id)
    except KeyError:
        return None
    judges = catalog.held.judges
    judged = sorted(
        ((judges.get(one.judge_hash, one.judge_hash), one) for one in results.judgements_of(connection, *stored.key)),
        key=lambda pair: pair[0],
    )
    return _Case(
        edition=edition,
        stored=stored,
        talk=talk,
        keys=keys,
        replies=results.find_replies(connection, keys),
        judgements=judged,
        attempts=_attempts(connection, [*keys, *(judgement.key for _, judgement in judged)]),
    )


def _attempts(connection: Connection, keys: Sequence[str]) -> dict[str, list[shapes.Attempt]]:
    rows = stored_attempts.attempts_of(connection, keys)
    # the last one that brought an answer is the one that is stored, cut off or not
    stored = {row["call_key"]: row["id"] for row in rows if row["outcome"] in (ANSWERED, CUT_OFF)}
    found: dict[str, list[shapes.Attempt]] = {}
    for row in rows:
        accepted = stored.get(row["call_key"]) == row["id"]
        found.setdefault(row["call_key"], []).append(_attempt(row, accepted))
    return found


def _attempt(row: Mapping[str, Any], accepted: bool) -> shapes.Attempt:
    """An attempt as the store has it: its columns have the types that the shape states."""
    same = ("status", "finish_reason", "seconds", "max_tokens", "prompt_tokens", "completion_tokens")
    return shapes.Attempt(
        outcome=row["outcome"] or IN_FLIGHT,
        accepted=accepted,
        why=row["message"] or None,
        started=fragments.moment(row["started_at"]) or "",
        reasoning_tokens=row["reasoning_tokens"],
        dollars=row["cost"],
        model=row["served_model"],
        provider=row["served_provider"],
        **{name: row[name] for name in same},
    )


# ---------------------------------------------------------------- what was said


def _lines(case: _Case) -> tuple[shapes.Line, ...]:
    reply = dict(zip(case.stored.scenario.asks, case.keys, strict=False))
    found = []
    for line in case.talk.lines:
        kept = case.replies.get(reply.get(line.name, ""))
        found.append(
            shapes.Line(
                who="human" if line.speaker == "human" else "given" if line.given else "model",
                text=line.text,
                notes=line.notes,
                reasoning=kept.reasoning if kept else "",
                reply=line.name,
                judged=line.name in case.stored.scenario.judged,
            )
        )
    return tuple(found)


def _replies(case: _Case) -> tuple[shapes.Reply, ...]:
    """Every reply that was asked for; one that is invalid has no line."""
    places = {line.name: number for number, line in enumerate(case.talk.lines) if line.name}
    found = []
    for name, key in zip(case.stored.scenario.asks, case.keys, strict=False):
        kept = case.replies.get(key)
        found.append(
            shapes.Reply(
                name=name,
                line=places.get(name),
                invalid=kept.reason if kept else None,
                cut_off=kept is not None and kept.cut_off,
                plain_text=kept is not None and kept.plain_text,
                reasoned=kept is not None and kept.reasoned,
                attempts=tuple(case.attempts.get(key, ())),
            )
        )
    return tuple(found)


def _turns(case: _Case) -> shapes.Turns | None:
    """The two answers of a scenario in which the model speaks twice, or once after words put into its mouth."""
    spoken = [number for number, line in enumerate(case.talk.lines) if line.speaker == "model"]
    if len(spoken) != 2 or not case.talk.lines[spoken[1]].name:
        return None
    first, second = (case.talk.lines[number].text for number in spoken)
    one, other = Offsets(first), Offsets(second)
    runs = tuple(shapes.Shared(one.span(a, b), other.span(c, d)) for a, b, c, d in shared(first, second))
    return shapes.Turns(spoken[0], spoken[1], runs)


# ---------------------------------------------------------------- what was made of it


def _judgements(catalog: Catalog, case: _Case) -> tuple[shapes.Judgement, ...]:
    texts = [line.text for line in case.talk.lines]
    offsets = [Offsets(text) for text in texts]
    judged = [n for n, line in enumerate(case.talk.lines) if line.name in case.stored.scenario.judged]
    embedded = next((one for label, one in case.judgements if is_table_judge(label)), None)
    found = []
    for label, judgement in case.judgements:
        # the embedded judge's reasons are phrases and weights, shown as such
        quoted = [] if is_table_judge(label) else find_quotes(judgement.reasoning, texts, judged)
        reasoning = Offsets(judgement.reasoning)
        found.append(
            shapes.Judgement(
                judge=label,
                kind=catalog.held.kinds.get(label, "model"),
                marks=judgement.marks,
                reasoning=judgement.reasoning,
                failed=judgement.reason,
                flags=tuple(
                    shapes.Flag(flag.kind, flag.mark, flag.why)
                    for flag in flags_of(label, judgement, embedded, case.stored.scenario)
                ),
                quotes=tuple(
                    shapes.Quote(reasoning.span(q.start, q.end), q.line, offsets[q.line].span(q.from_, q.to))
                    for q in quoted
                ),
                attempts=tuple(case.attempts.get(judgement.key, ())),
            )
        )
    return tuple(found)


def _embedded(catalog: Catalog, case: _Case) -> shapes.Embedded | None:
    """How the embedded judge reads it; None for a conversation that has not come to its end."""
    scenario = case.stored.scenario
    judged = [(n, line.text) for n, line in enumerate(case.talk.lines) if line.name in scenario.judged]
    if len(judged) < len(scenario.judged):
        return None
    table = catalog.kept("table", Table.load)
    evidence = evidence_of(case.talk, scenario)
    marks = []
    for mark in scenario.marks:
        given = table.mark(mark.name, evidence, mark.low, mark.high)
        if given is not None and isinstance(given.value, bool) == (mark.kind == "yes_no"):
            marks.append((mark.name, float(given.value), given.phrases))
    phrases = {text for *_, weighed in marks for text, _ in weighed}
    places: dict[str, list[shapes.PhrasePlace]] = {phrase: [] for phrase in phrases}
    for number, text in judged:
        offsets = Offsets(text)
        for phrase, stands in find_phrases(text, phrases).items():
            places[phrase] += [shapes.PhrasePlace(number, offsets.span(start, end)) for start, end in stands]
    stored = any(is_table_judge(label) for label, _ in case.judgements)
    return shapes.Embedded(
        stored,
        tuple(
            shapes.PhraseMark(name, value, tuple(shapes.Phrase(t, w, tuple(places[t])) for t, w in weighed))
            for name, value, weighed in marks
        ),
    )


# ---------------------------------------------------------------- what is beside it


def _neighbours(catalog: Catalog, edition: Edition, stored: Stored) -> shapes.Neighbours:
    mine = catalog.of_subject(edition, stored.row.subject_hash)
    runs = [one for one in mine if (one.configuration, one.scenario.id) == (stored.configuration, stored.scenario.id)]
    scenarios = [one for one in mine if (one.configuration, one.row.run) == (stored.configuration, stored.row.run)]
    before_run, after_run = _beside(runs, stored)
    before_scenario, after_scenario = _beside(scenarios, stored)
    before_subject, after_subject = _other_subjects(catalog, edition, stored)

    def shown(one: Stored | None) -> shapes.Neighbour | None:
        if one is None:
            return None
        return shapes.Neighbour(one.id, catalog.held.labels[one.row.subject_hash], one.scenario.title, one.row.run)

    return shapes.Neighbours(
        previous_run=shown(before_run),
        next_run=shown(after_run),
        previous_subject=shown(before_subject),
        next_subject=shown(after_subject),
        previous_scenario=shown(before_scenario),
        next_scenario=shown(after_scenario),
    )


def _beside(listed: Sequence[Stored], one: Stored) -> tuple[Stored | None, Stored | None]:
    place = listed.index(one)
    return (listed[place - 1] if place else None), (listed[place + 1] if place + 1 < len(listed) else None)


def _other_subjects(catalog: Catalog, edition: Edition, one: Stored) -> tuple[Stored | None, Stored | None]:
    """The same scenario of the subjects before and after: in the same run, else in their first one."""
    by_subject = catalog.subjects_in(edition, one.configuration, one.scenario)
    subjects = list(by_subject)
    place = subjects.index(one.row.subject_hash)

    def in_run(number: int) -> Stored | None:
        if not 0 <= number < len(subjects):
            return None
        there = by_subject[subjects[number]]
        return next((other for other in there if other.row.run == one.row.run), there[0])

    return in_run(place - 1), in_run(place + 1)
