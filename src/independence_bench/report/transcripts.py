"""One stored conversation with everything that belongs to it, and how a terminal shows it; a
protocol, likewise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from independence_bench.analysis.exam.result import ExaminedJudges, examined_judges
from independence_bench.analysis.results import Key, stored_at
from independence_bench.errors import WrongUse
from independence_bench.judging.judge import Flag, embedded_of, flags_of
from independence_bench.lookup import fit, instead
from independence_bench.models.markup import leftover_tokens
from independence_bench.models.served import is_same_model
from independence_bench.protocol.conversation import Transcript, replayed
from independence_bench.protocol.definition import EARLIER_FORM, Configuration, Protocol, Scenario
from independence_bench.protocol.delivery import messages
from independence_bench.protocol.script import spelled_out
from independence_bench.report.board_view import exam_lines
from independence_bench.report.format import mark_text, plural, scale
from independence_bench.report.table import (
    Block,
    Bullets,
    Cells,
    Column,
    Name,
    Note,
    Passage,
    Prose,
    Table,
    Title,
    columns_of,
)
from independence_bench.store import attempts, registry, results
from independence_bench.store.attempts import ANSWERED, CUT_OFF
from independence_bench.store.database import Store
from independence_bench.store.registry import unique_labels
from independence_bench.store.results import Judgement, Reply, TranscriptRow


@dataclass(frozen=True, slots=True)
class Conversation:
    """What the store has of one transcript."""

    row: TranscriptRow
    scenario: Scenario
    configuration: Configuration
    transcript: Transcript
    keys: Sequence[str]  # of its replies, as far as they were asked for
    replies: Mapping[str, Reply]  # by key; others' may be among them
    judgements: Sequence[tuple[str, Judgement]]  # (judge's label, judgement), by label
    # rows by the key of the reply, or of the judgement
    attempts: Mapping[str, Sequence[Mapping[str, Any]]]
    exams: Sequence[str] = ()  # what the exam says of the judges, a line each
    model: str = ""  # that was asked; "" where that is not known

    @property
    def asked(self) -> Iterable[tuple[str, str]]:
        """(name, key) of each reply that was asked for; the last one may be invalid, and have no
        line.
        """
        talk = replayed(self.scenario.script, self.transcript)
        return zip((*self.transcript.names, talk.awaiting or ""), self.keys, strict=False)

    def markup(self, key: str) -> tuple[str, ...]:
        """Special tokens and tags of model families in the words of the reply *key*."""
        return leftover_tokens(self.replies[key].text) if key in self.replies else ()

    def served_by(self, key: str) -> str | None:
        """The other model that gave the reply *key*, by the word of who served it; None where it
        was the one asked.
        """
        served = [
            row["served_model"]
            for row in self.attempts.get(key, ())
            if row["outcome"] in (ANSWERED, CUT_OFF)
        ]
        return next(
            (name for name in served[-1:] if name and not is_same_model(self.model, name)), None
        )

    def flags(self, label: str, judgement: Judgement) -> Sequence[Flag]:
        """Why a person should read this judgement; docs/judges.md says how far to trust it."""
        return flags_of(label, judgement, embedded_of(self.judgements), self.scenario)


@dataclass(frozen=True, slots=True)
class Place:
    """Which transcript is meant, and what it is in a protocol. *key*: what its judgements are
    of.
    """

    row: TranscriptRow
    scenario: Scenario
    configuration: Configuration
    key: Key


def read_conversations(
    connection: Connection,
    places: Sequence[Place],
    judges: Mapping[str, str],
    examined: ExaminedJudges | None = None,
) -> Iterator[Conversation]:
    """The conversation at each of *places*, all read at once. Raises KeyError where one was
    deleted.
    """
    by_id = results.read_transcripts(connection, (place.row.id for place in places))
    judged = results.judgements_of(connection, (place.key for place in places))
    asked = [key for _, keys in by_id.values() for key in keys]
    replies = results.find_replies(connection, asked)
    models = registry.stored_subjects(connection)
    tried: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    judgement_keys = [one.key for each in judged.values() for one in each]
    for attempt in attempts.attempts_of(connection, [*asked, *judgement_keys]):
        tried[attempt["call_key"]].append(attempt)
    for place in places:
        transcript, keys = by_id[place.row.id]
        by = (
            (judges.get(judgement.judge_hash, judgement.judge_hash), judgement)
            for judgement in judged.get(place.key, ())
        )
        of_it = sorted(by, key=lambda pair: pair[0])
        exams = (
            [(label, examined.exam_of([judgement.judge_hash])) for label, judgement in of_it]
            if examined
            else []
        )
        yield Conversation(
            place.row,
            place.scenario,
            place.configuration,
            transcript,
            keys,
            replies,
            of_it,
            tried,
            exam_lines(exams),
            model=models[place.row.subject_hash].model,
        )


def find_transcripts(
    store: Store,
    protocol: Protocol,
    configurations: Sequence[Configuration],
    subject: str,
    scenario_id: str,
    run: int | None = None,
) -> tuple[str, list[Conversation]]:
    """A subject's label, and its transcripts of one scenario that fit, by configuration and run.

    *subject* is a label or a part of one. Raises WrongUse where it fits none or several, or where
    there is no such scenario.
    """
    try:
        scenario = protocol.scenario(scenario_id)
    except KeyError:
        known = instead(scenario_id, [scenario.id for scenario in protocol.scenarios])
        raise WrongUse(f"{protocol.name} has no scenario {scenario_id}; {known}") from None
    with store.reading() as connection:
        meant, label = _meant(connection, subject)
        judges = registry.stored_judges(connection)
        examined = examined_judges(connection, protocol)
        places = []
        for configuration in configurations:
            stored = stored_at(connection, protocol, configuration, scenario, meant)
            places += [
                Place(row, scenario, configuration, key)
                for row, key in stored
                if run is None or row.run == run
            ]
        return label, list(read_conversations(connection, places, judges, examined))


def stored_scenarios(
    store: Store,
    protocol: Protocol,
    configurations: Sequence[Configuration],
    subject: str,
    run: int | None,
) -> tuple[str, Mapping[tuple[str, Configuration], Sequence[int]]]:
    """A subject's label, and the runs of each scenario that is stored of it, by scenario and
    configuration.

    *subject* as in `find_transcripts`.
    """
    with store.reading() as connection:
        meant, label = _meant(connection, subject)
        runs_at = {
            (scenario.id, configuration): [
                row.run
                for row, _ in stored_at(connection, protocol, configuration, scenario, meant)
                if run is None or row.run == run
            ]
            for scenario in protocol.scenarios
            for configuration in configurations
        }
    return label, {place: sorted(runs) for place, runs in runs_at.items() if runs}


def _meant(connection: Connection, subject: str) -> tuple[str, str]:
    """Hash and label of the stored subject that is called so. Raises WrongUse where that fits none
    or several.
    """
    labels = unique_labels(registry.stored_subjects(connection))
    meant = fit(labels, subject, there="the store has")
    return meant, labels[meant]


# ---------------------------------------------------------------- on a terminal


def scenarios_view(
    label: str, stored: Mapping[tuple[str, Configuration], Sequence[int]]
) -> Iterator[Block]:
    """What is stored of the subject called *label*: a row for each scenario and configuration."""
    yield Title(Name(label))
    rows = [
        (Name(id_), str(place), ", ".join(map(str, runs))) for (id_, place), runs in stored.items()
    ]
    yield Table(columns_of("scenario", "configuration", "runs", words=3), rows)


def transcript_view(label: str, shown: Conversation, protocol: Protocol) -> Iterator[Block]:
    """The whole conversation of the subject *label*, what is to be noticed in it, and its marks."""
    yield Title(
        Prose(f"{label} · {shown.scenario.title} · {shown.configuration} · run {shown.row.run}")
    )
    if protocol.earlier:
        yield Note(
            f"after {2 * len(protocol.earlier)} turns of an earlier chat, which judges do not read"
        )
    for remark in _remarks(shown):
        yield Note(Prose(remark), "yellow")
    wording, delivery = protocol.tool_role, shown.configuration.delivery
    first, *_ = messages(Transcript(shown.transcript.system), delivery, wording)
    preamble = [("system prompt", first.content or "")]
    if delivery == "tool_role":
        preamble += [
            ("opening message", wording.opening),
            ("the model's first call, made for it", wording.greeting),
        ]
    for role, text in preamble:
        yield Note(f"\n{role}", "dim bold")
        yield Passage(text, "dim")
    reasoning = {
        name: shown.replies[key].reasoning for name, key in shown.asked if key in shown.replies
    }
    for line in shown.transcript.lines:
        if line.speaker == "human":
            yield Note("\nhuman", "bold cyan")
        elif line.given:
            yield Note("\nmodel (put into its mouth)", "bold magenta")
        else:
            if thought := reasoning.get(line.name, ""):
                yield Note("\nmodel, reasoning (the human does not see it)", "dim bold")
                yield Passage(thought, "dim")
            if line.notes:
                yield Note("\nmodel, notes (the human does not see them)", "dim bold")
                yield Passage(line.notes, "dim")
            mark = " · marked" if line.name in shown.scenario.judged else ""
            yield Note(f"\nmodel: {line.name}{mark}", "bold green")
        yield Passage(line.text)
    if not shown.judgements:
        yield Note("\nnot judged yet; `aib judge` does it", "yellow")
    for judge, judgement in shown.judgements:
        yield Title(("judge ", Prose(judge)))
        if len(shown.judgements) == 1:
            yield from (Note(Prose(line)) for line in shown.exams)
        yield from _marks(judgement, shown.scenario)
    if len(shown.judgements) > 1 and shown.exams:
        yield Title("What the exam says of them")
        yield Bullets([Prose(line) for line in shown.exams])


def _remarks(shown: Conversation) -> Iterator[str]:
    """Invalid, cut off, plain text, rejected attempts; and which judgements a person should
    read.
    """
    if shown.row.reason:
        yield f"invalid: {shown.row.reason}"
    for name, key in shown.asked:
        reply = shown.replies.get(key)
        if reply is None:
            continue
        if reply.cut_off:
            yield f"{name}: cut off by the token limit"
        if reply.plain_text:
            yield f"{name}: said in plain text, without calling the tool"
        if marks := shown.markup(key):
            yield f"{name}: chat-template tokens remain in its words: {', '.join(marks)}"
        if other := shown.served_by(key):
            yield f"{name}: another model answered, by its server's word: {other}"
        for attempt in shown.attempts.get(key, ()):
            if attempt["outcome"] == CUT_OFF:
                yield f"{name}: a first reply was cut off, and asked again with twice the limit"
            elif attempt["outcome"] == ANSWERED and attempt["reasoning_tokens"]:
                yield (
                    f"{name}: {plural(attempt['reasoning_tokens'], 'token')} of reasoning before it"
                )
            elif attempt["outcome"] not in (ANSWERED, None):
                why = f": {attempt['message']}" if attempt["message"] else ""
                yield f"{name}: an attempt was rejected ({attempt['outcome']}{why})"
    for label, judgement in shown.judgements:
        for flag in shown.flags(label, judgement):
            yield f"verdict of {label} to be read: {flag.why}"


def _marks(judgement: Judgement, scenario: Scenario) -> Iterator[Block]:
    if judgement.reason is not None:
        yield Note(f"  failed: {judgement.reason}", "red")
        return
    for mark in scenario.marks:
        yield Note(
            f"  {mark.name.replace('_', ' ')}: {mark_text(mark, judgement.marks.get(mark.name))}",
            "",
        )
    yield Passage(judgement.reasoning, "dim")


# ---------------------------------------------------------------- a protocol


def protocol_view(protocol: Protocol) -> Iterator[Block]:
    """What will be asked, said and marked, to be read from top to bottom."""
    judge = protocol.judge
    yield Title((f"{protocol.name}: ", Prose(protocol.title)))
    if protocol.earlier_form:
        yield Note(f"{protocol.name}, {EARLIER_FORM}", "yellow")
    yield Passage(protocol.description, indent=0, reflow=True)
    yield Note(
        (
            f"\n{len(protocol.scenarios)} scenarios, "
            f"{protocol.replies * len(protocol.configurations)} replies a run, "
            f"{plural(protocol.runs, 'run')}; "
            f"temperature {protocol.temperature:g}, at most {protocol.max_tokens} tokens a reply\n"
            f"played as {' + '.join(str(c) for c in protocol.configurations)}; judge ",
            *(Prose(judge.model), " on ", Prose(judge.endpoint), f"\nhash {protocol.hash[:16]}\n"),
        )
    )
    yield _weights(protocol)
    for variant, text in protocol.systems:
        yield Title(f"system prompt: {variant}")
        yield Passage(text, reflow=True)
    if protocol.lorebook:
        yield Title("lorebook: in the system prompt while it is talked of")
        for entry in protocol.lorebook.entries:
            keys = "always" if entry.constant else ", ".join(entry.keys)
            yield Passage(f"{keys}: {entry.text}", reflow=True)
    if protocol.earlier:
        yield Title(
            f"earlier chat: {2 * len(protocol.earlier)} turns before each conversation; judges "
            "do not read it"
        )
        for human, model in protocol.earlier:
            yield Passage(f"human: {human}\nmodel: {model}")
    tool = protocol.tool_role
    if tool.name:
        yield Title("tool_role")
        yield Passage(
            f"{tool.instructions}\n\ntool {tool.name}({tool.argument}): {tool.description} "
            f"{tool.argument_description}\nfirst message: {tool.opening}\nfirst call: "
            f"{tool.greeting}"
        )
    for experiment in protocol.experiments:
        yield Note(("\n", Prose(experiment.title)), "bold underline")
        for scenario in protocol.scenarios:
            if scenario.experiment == experiment.name:
                yield from _scenario(scenario)
    yield Note("\nEvery judge is told", "bold underline")
    yield Passage(protocol.judge_instructions, reflow=True)
    for name, text in {
        one.name: one.text for scenario in protocol.scenarios for one in scenario.rubrics
    }.items():
        yield Title(f"rubric: {name}")
        yield Passage(text, reflow=True)


def _scenario(scenario: Scenario) -> Iterator[Block]:
    rubrics = ", ".join(rubric.name for rubric in scenario.rubrics)
    yield Title((f"{scenario.id}: ", Prose(scenario.title)), aside=f"  (rubric: {rubrics})")
    if scenario.reference:
        yield Note("  only judges are told:", "magenta")
        yield Passage(scenario.reference, indent=4, reflow=True)
    for who, text in spelled_out(scenario.script):
        if who == "model":
            judged = ", marked" if text in scenario.judged else ""
            yield Note(f"  → the model replies ({text}{judged})", "green")
        else:
            yield Note(
                *(
                    ("  written for the model:", "magenta")
                    if who == "given"
                    else ("  human:", "cyan")
                )
            )
            yield Passage(text, indent=4, reflow=True)


def _weights(protocol: Protocol) -> Table:
    rows: list[Cells] = []
    for d in protocol.dimensions:
        marks = " + ".join(
            f"{name.replace('_', ' ')} ({scale(protocol.mark(name))})" for name in d.marks
        )
        weights = [
            d.weight,
            *(dict(weighting.weights).get(d.name, 0.0) for weighting in protocol.weightings),
        ]
        shown = [f"{weight:g}" if weight else "–" for weight in weights]
        rows.append((Prose(d.title), *shown, marks + (", inverted" if d.inverted else "")))
    columns = [
        *columns_of("dimension", "weight", *(weighting.name for weighting in protocol.weightings)),
        Column("marks", words=True),
    ]
    return Table(columns, rows, gap=2)
