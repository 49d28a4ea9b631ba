"""One conversation with everything that belongs to it: as it was said, sent, rejected, scored and
quoted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from independence_bench.analysis.conversations import Conversation, Place, read_conversations
from independence_bench.analysis.exam.standing import ExaminedJudges
from independence_bench.figures import GivenMark, SmallDifference
from independence_bench.judging.embedded.judge import EmbeddedJudge, collect_evidence, has_weights
from independence_bench.judging.embedded.reading import StateReader, find_phrases
from independence_bench.judging.embedded.weights import Weights
from independence_bench.judging.flags import Flag
from independence_bench.judging.prompt import list_rubric_texts
from independence_bench.models.local import is_embedded_judge
from independence_bench.models.local.files import SMOLLM2, find_pin
from independence_bench.models.messages import Message
from independence_bench.protocol.definition import Branch, Configuration
from independence_bench.protocol.delivery import make_tools
from independence_bench.protocol.plan import build_messages
from independence_bench.report.board_view import describe_exams
from independence_bench.store.attempts import Exchange, read_exchanges
from independence_bench.store.results import Reply
from independence_bench.viewer import fragments
from independence_bench.viewer.fragments import (
    MarkScale,
    ProtocolEntry,
    SubjectFacts,
    TranscriptAttempt,
    copy_fields,
    list_attempts,
)
from independence_bench.viewer.snapshot import (
    Catalog,
    JudgeKind,
    NotThere,
    StoredTranscript,
    find_by_id,
)
from independence_bench.viewer.spans import Offsets, Span, find_quotes, find_shared_word_runs


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    """One line of a conversation."""

    who: Literal["human", "given", "model"]  # given: put into the model's mouth
    text: str
    notes: str  # the model's, unseen by the human and by the judges; "": none
    reasoning: str  # its reasoning before the line, likewise unseen; "": none
    reply: str  # the reply's name where the model itself said it, else ""
    judged: bool  # whether the marks are about it


@dataclass(frozen=True, slots=True)
class TranscriptReply:
    """One reply that a scenario's script asks the model for."""

    name: str
    line: int | None  # place in *lines*; null: there is none
    reason: str | None  # the reason why it is invalid; null: it is valid
    cut_off: bool
    plain_text: bool
    reasoned: bool
    markup: tuple[str, ...]  # special tokens and tags of model families in its words
    served_by: str | None  # another model than the one asked, by the word of who served it
    attempts: tuple[TranscriptAttempt, ...]  # empty: nothing is known of them


@dataclass(frozen=True, slots=True)
class Shared:
    """Words that two texts share."""

    first: Span
    second: Span


@dataclass(frozen=True, slots=True)
class Turns:
    """Two answers of the model side by side. Words that are not shared are new in the second, or
    gone from the first.
    """

    first: int  # place in *lines*
    second: int
    # in the order of the second, where they never overlap; in the first they may
    shared: tuple[Shared, ...]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another conversation of the same protocol and configuration."""

    id: str
    label: str  # the subject's
    scenario: str  # title
    run: int


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The conversations to which the arrow keys lead: the same except for one thing; null at the
    end. Subjects are in the order of their labels.
    """

    previous_run: Neighbour | None
    next_run: Neighbour | None
    previous_subject: Neighbour | None
    next_subject: Neighbour | None
    previous_scenario: Neighbour | None
    next_scenario: Neighbour | None


@dataclass(frozen=True, slots=True)
class TranscriptAnswer:
    """`api/transcripts/<transcript>.json`: one conversation with everything that belongs to it."""

    id: str
    key: str  # the store's
    protocol: ProtocolEntry
    subject: SubjectFacts
    scenario: str  # id; of a stem's branch that of its stem
    branch: Branch | None
    scenario_title: str
    experiment: str  # title
    run: int
    configuration: Configuration
    delivery: Literal["user_role", "tool_role"]
    state: Literal["complete", "invalid"]
    invalid: str | None  # the reason why it is invalid; null: it is not
    system: str  # system prompt, without what tool_role adds to it
    lines: tuple[TranscriptLine, ...]
    replies: tuple[TranscriptReply, ...]
    # the same conversation as it is sent; tool_role: with the tool protocol
    messages: tuple[Message, ...]
    tools: str  # the tools that the model is offered, as JSON text; "[]": none
    scales: tuple[MarkScale, ...]  # marks that its rubrics ask for, in their order
    rubrics: tuple[str, ...]  # texts
    judgements: tuple[TranscriptJudgement, ...]  # judgements of all judges, by label
    exams: tuple[str, ...]  # the judges' exam results, in lines
    embedded: Embedded | None
    turns: Turns | None  # for scenarios with two answers
    neighbours: Neighbours
    boards: tuple[str, ...]  # ids of those that it counts on


@dataclass(frozen=True, slots=True)
class RawCall:
    """One call as it was recorded. The request is JSON text: messages, tools and settings, without
    address and key.
    """

    kind: Literal["reply", "judgement"]
    name: str  # the reply's name, or the judge's label
    exchange: Exchange


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """`api/raw/<transcript>.json`: the requests and responses as they were. It exists only if the
    offer says raw.
    """

    transcript: str
    calls: tuple[RawCall, ...]


def build_transcript_answer(catalog: Catalog, id_: str) -> TranscriptAnswer:
    """Return the answer for `api/transcripts/<transcript>.json`: one conversation with its replies,
    judgements and neighbours. Raise NotThere for an unknown id.
    """
    return next(build_transcript_answers(catalog, [id_]))


def build_transcript_answers(catalog: Catalog, ids: Sequence[str]) -> Iterator[TranscriptAnswer]:
    """Yield for each of the conversations *ids*, in their order, everything that its page shows;
    all are read from the store at once. Raise NotThere for an unknown id.
    """
    wanted, cases = [find_by_id(catalog.transcripts, id_) for id_ in ids], dict[str, Conversation]()
    for edition in dict.fromkeys(stored.edition for stored in wanted):
        cases |= _read_conversations(
            catalog,
            [stored for stored in wanted if stored.edition is edition],
            catalog.find_exam_results(edition),
        )
    yield from (_build_answer(catalog, stored, cases[stored.id]) for stored in wanted)


def _build_answer(
    catalog: Catalog, stored: StoredTranscript, case: Conversation
) -> TranscriptAnswer:
    """Return everything that the page of one conversation shows: its lines, replies, prompts,
    scales, judgements and neighbours.
    """
    edition, subject = stored.edition, catalog.subjects[stored.row.subject_hash]
    delivery, protocol = stored.configuration.delivery, edition.protocol
    titles = {experiment.name: experiment.title for experiment in protocol.experiments}
    asked, scenario = list(case.asked_reply_names_and_keys), stored.scenario
    return TranscriptAnswer(
        id=stored.id,
        key=stored.row.id,
        protocol=fragments.make_protocol_entry(catalog, edition),
        subject=fragments.make_subject_facts(catalog, subject),
        scenario=stored.item_slug,
        branch=scenario.branch,
        scenario_title=scenario.title,
        experiment=titles[scenario.experiment],
        run=stored.row.run,
        configuration=stored.configuration,
        delivery=delivery,
        state="invalid" if stored.row.state == "invalid" else "complete",
        invalid=stored.row.reason,
        system=case.transcript.system,
        lines=_list_lines(case, asked),
        replies=_list_replies(case, asked),
        messages=build_messages(case.transcript, delivery, protocol),
        tools=json.dumps(
            [tool.format_tool() for tool in make_tools(delivery, protocol.tool_role)],
            ensure_ascii=False,
        ),
        scales=catalog.remember_result(
            ("scales", edition.id, scenario.id),
            lambda: fragments.list_mark_scales(protocol, [scenario]),
        ),
        rubrics=list_rubric_texts(scenario),
        judgements=list_judgements(catalog, case),
        exams=tuple(describe_exams(case.exams)),
        embedded=explain_embedded_marks(catalog, case),
        turns=_find_words_shared_by_answers(case),
        neighbours=_find_neighbours(catalog, stored),
        boards=tuple(
            entry.id
            for entry in catalog.entries.values()
            if entry.edition is edition and stored.configuration in entry.configurations
        ),
    )


def build_raw_answer(catalog: Catalog, id_: str) -> RawAnswer:
    """Return the answer for `api/raw/<transcript>.json`: the recorded requests and responses of one
    conversation and its judgements. A call of which nothing was kept is left out. Raise NotThere
    for an unknown id.
    """
    case = _read_conversations(catalog, [find_by_id(catalog.transcripts, id_)])[id_]
    with catalog.store.open_snapshot() as connection:
        calls: list[tuple[Literal["reply", "judgement"], str, str]] = [
            ("reply", *call) for call in case.asked_reply_names_and_keys
        ]
        calls += [
            ("judgement", *call)
            for call in sorted((label, given.key) for label, given in case.judgements)
        ]
        kept = read_exchanges(connection, [key for *_, key in calls])
    return RawAnswer(
        id_, tuple(RawCall(kind, name, kept[key]) for kind, name, key in calls if key in kept)
    )


def _read_conversations(
    catalog: Catalog, wanted: Sequence[StoredTranscript], exams: ExaminedJudges | None = None
) -> dict[str, Conversation]:
    """Return the conversations *wanted*, read from the store, by their ids. *exams*: the exam
    results of judges to add. Raise NotThere if a conversation was deleted.
    """
    places = {stored.id: copy_fields(Place, stored) for stored in wanted}
    try:
        with catalog.store.open_snapshot() as opened:
            return dict(
                zip(
                    places,
                    read_conversations(opened, [*places.values()], catalog.judges, exams),
                    strict=True,
                )
            )
    except KeyError as error:
        raise NotThere(str(error)) from None


def _list_lines(
    case: Conversation, reply_names_and_keys: Sequence[tuple[str, str]]
) -> tuple[TranscriptLine, ...]:
    """Return the lines of a conversation for the page, each with the model's reasoning before the
    line. *reply_names_and_keys*: the name and the key of each reply.
    """
    replies = {name: case.replies.get(key) for name, key in reply_names_and_keys}
    return tuple(
        copy_fields(
            TranscriptLine,
            line,
            who="human"
            if line.speaker == "human"
            else "given"
            if line.is_scripted_model_line
            else "model",
            reasoning=reply.reasoning if (reply := replies.get(line.name)) else "",
            reply=line.name,
            judged=line.name in case.scenario.judged,
        )
        for line in case.transcript.lines
    )


def _list_replies(
    case: Conversation, reply_names_and_keys: Sequence[tuple[str, str]]
) -> tuple[TranscriptReply, ...]:
    """Return every reply that a conversation asked the model for, with its problems and its
    attempts; an invalid reply has no line. *reply_names_and_keys*: the name and the key of each
    reply.
    """
    places = {line.name: number for number, line in enumerate(case.transcript.lines) if line.name}
    return tuple(
        copy_fields(
            TranscriptReply,
            case.replies.get(key, Reply("")),
            name=name,
            line=places.get(name),
            markup=case.find_reply_template_tokens(key),
            served_by=case.find_substitute_model_name(key),
            attempts=fragments.list_attempts(case.attempts.get(key, ())),
        )
        for name, key in reply_names_and_keys
    )


def _find_words_shared_by_answers(case: Conversation) -> Turns | None:
    """Return the model's two answers in a conversation with the words that they share, if the model
    speaks exactly twice and the second answer is its own; else None.
    """
    spoken = [
        number for number, line in enumerate(case.transcript.lines) if line.speaker == "model"
    ]
    if len(spoken) != 2 or not case.transcript.lines[spoken[1]].name:
        return None
    first, second = (case.transcript.lines[number].text for number in spoken)
    one, other = Offsets(first), Offsets(second)
    runs = tuple(
        Shared(one.make_utf16_span(a, b), other.make_utf16_span(c, d))
        for a, b, c, d in find_shared_word_runs(first, second)
    )
    return Turns(spoken[0], spoken[1], runs)


def _find_neighbours(catalog: Catalog, stored: StoredTranscript) -> Neighbours:
    """Return the conversations before and after a conversation: of another run, of another model,
    and of another scenario; None at either end.
    """
    there = stored.edition.transcripts_by_place_and_model[stored.configuration, stored.scenario.id]
    # of other subjects the same run, else their first one
    order = list(there)
    place = order.index(stored.row.subject_hash)
    around = [there[subject] for subject in order[max(0, place - 1) : place + 2]]
    subjects = [
        next((run for run in runs if run.row.run == stored.row.run), runs[0]) for runs in around
    ]
    scenarios = stored.edition.list_run_transcripts(stored)

    def find_neighbour(listed: Sequence[StoredTranscript], place: int) -> Neighbour | None:
        """Return the conversation number *place* in the list; None beyond either end."""
        if not 0 <= place < len(listed):
            return None
        one = listed[place]
        return Neighbour(
            one.id, catalog.labels[one.row.subject_hash], one.scenario.title, one.row.run
        )

    every = (there[stored.row.subject_hash], subjects, scenarios)
    return Neighbours(
        *(
            find_neighbour(listed, listed.index(stored) + step)
            for listed in every
            for step in (-1, 1)
        )
    )


@dataclass(frozen=True, slots=True)
class JudgeQuote:
    """Words of the conversation that a judge's reasoning quotes, with both places."""

    reasoning: Span
    line: int
    text: Span  # in the line's text


@dataclass(frozen=True, slots=True)
class TranscriptJudgement:
    """One judge's judgement of the conversation."""

    judge: str  # label
    kind: JudgeKind
    marks: Mapping[str, GivenMark]
    reasoning: str
    failed: str | None  # the reason why the judgement failed; null: it did not
    flags: tuple[Flag, ...]
    # in the order of the reasoning; may overlap in the lines, never in the reasoning
    quotes: tuple[JudgeQuote, ...]
    attempts: tuple[TranscriptAttempt, ...]


@dataclass(frozen=True, slots=True)
class PhrasePlace:
    """The place of a phrase."""

    line: int
    text: Span


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase that influenced the embedded judge's score."""

    text: str
    # change of the mark against the same reply without it, in its points; above 0: raised it
    weight: SmallDifference
    places: tuple[PhrasePlace, ...]  # empty: something counted, not a phrase


@dataclass(frozen=True, slots=True)
class PhraseMark:
    """One score of the embedded judge, and the five phrases that influenced it most."""

    mark: str
    value: GivenMark
    phrases: tuple[Phrase, ...]


@dataclass(frozen=True, slots=True)
class Embedded:
    """The phrases that influenced the embedded judge's stored scores, as far as words did."""

    marks: tuple[PhraseMark, ...]


def list_judgements(catalog: Catalog, case: Conversation) -> tuple[TranscriptJudgement, ...]:
    """Return every judge's judgement of a conversation, by the judge's label, with its flags,
    attempts and the quotes in its reasoning.
    """
    texts = [line.text for line in case.transcript.lines]
    offsets = [Offsets(text) for text in texts]
    judged = [
        n for n, line in enumerate(case.transcript.lines) if line.name in case.scenario.judged
    ]
    judged_by = []
    for label, judgement in case.judgements:
        # the embedded judge's reasons are phrases and weights, shown as such
        quoted = [] if is_embedded_judge(label) else find_quotes(judgement.reasoning, texts, judged)
        reasoning = Offsets(judgement.reasoning)
        judged_by.append(
            TranscriptJudgement(
                judge=label,
                kind=catalog.kinds.get(label, "model"),
                marks=judgement.marks,
                reasoning=judgement.reasoning,
                failed=judgement.reason,
                flags=tuple(case.list_flags(label, judgement)),
                quotes=tuple(
                    JudgeQuote(
                        reasoning.make_utf16_span(q.start, q.end),
                        q.line,
                        offsets[q.line].make_utf16_span(q.from_, q.to),
                    )
                    for q in quoted
                ),
                attempts=list_attempts(case.attempts.get(judgement.key, ())),
            )
        )
    return tuple(judged_by)


def explain_embedded_marks(catalog: Catalog, case: Conversation) -> Embedded | None:
    """Return the phrases of a conversation that influenced the stored scores of the embedded judge
    (the small one that runs locally); None if this version of the judge has given no such score.
    """
    scenario, weights = case.scenario, catalog.remember_result("weights", Weights.load_shipped)
    judge = catalog.remember_result(
        "embedded", lambda: EmbeddedJudge(StateReader(find_pin(SMOLLM2).path), weights)
    )
    marked = next(
        (judgement.marks for label, judgement in case.judgements if label == judge.label), {}
    )
    known = [mark for mark in scenario.marks if mark.name in marked and has_weights(weights, mark)]
    if not known:
        return None
    evidence = collect_evidence(case.transcript, scenario)
    weighed = {}
    for mark in known:
        value = marked[mark.name] * 10 / (mark.high - mark.low)
        weighed[mark.name] = weights.list_heaviest_phrases(mark.name, evidence, value)
    phrases = {text for of in weighed.values() for text, _ in of}
    places: dict[str, list[PhrasePlace]] = {phrase: [] for phrase in phrases}
    judged = [
        (n, line.text)
        for n, line in enumerate(case.transcript.lines)
        if line.name in scenario.judged
    ]
    for number, text in judged:
        offsets = Offsets(text)
        for phrase, stands in find_phrases(text, phrases).items():
            places[phrase] += [
                PhrasePlace(number, offsets.make_utf16_span(start, end)) for start, end in stands
            ]
    return Embedded(
        tuple(
            PhraseMark(name, marked[name], tuple(Phrase(t, w, tuple(places[t])) for t, w in of))
            for name, of in weighed.items()
        )
    )
