"""The names and genders that the models in a store chose, as other models have read them in the
conversations.

    readings = list_chosen_names(store, protocol)
    readings = add_name_changes(readings, boards)
        # whether the name and the gender changed, by the judge's marks

A reading is stored as a judgement by one of `judging.extraction.QUESTIONS`: by a model that was
asked here (`engine.ask_judges`), or published with imported data. Asks no model and prints nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from sqlalchemy import Connection

from independence_bench.analysis.board import Board
from independence_bench.analysis.results import CountedConversation, Results, read_results
from independence_bench.columns import HIDDEN, SENT, Column
from independence_bench.judging.extraction import (
    QUESTIONS,
    UNREAD,
    UNSAID,
    ChosenName,
    NameReading,
    make_chosen_name,
    parse_stored_answer,
)
from independence_bench.protocol.definition import Configuration, Protocol, Scenario
from independence_bench.store import registry, results
from independence_bench.store.database import Store
from independence_bench.store.registry import make_unique_labels
from independence_bench.store.results import Judgement

NAME_CHANGED, GENDER_CHANGED = "name_changed", "gender_changed"
"""Marks of whether they changed. A scenario whose rubric asks for the first one asks for a name."""
# scenarios in which a model describes several people that it wants to be
SEVERAL = frozenset({"direct"})
# scenarios in which it says who it is, and may say its name
ITSELF = frozenset({"tool_context", "negotiation"})


@dataclass(frozen=True, slots=True)
class NamesRead:
    """The names that a model gave itself in one conversation, as another model read them: *first*
    when it chose freely, *final* at the end.

    If it described several people, *several* has their names, and *first* and *final* are unsaid.
    """

    subject_hash: str
    label: Annotated[str, Column(key="subject")]
    run: int
    configuration: Configuration
    scenario: str
    heard_hash: Annotated[str, HIDDEN]
    transcript_id: Annotated[str, Column(key="transcript")]
    asked: Annotated[bool, HIDDEN]  # for a name and a gender
    first: ChosenName = UNREAD
    final: ChosenName = UNREAD
    # the label of the model that read it; None: not read
    by: Annotated[str | None, Column(key="read_by")] = None
    several: Annotated[tuple[str, ...], HIDDEN] = ()
    name_changed: bool | None = None  # by the judge's marks; None: not marked
    gender_changed: bool | None = None

    @property
    def picks(self) -> Annotated[tuple[str, ...], SENT]:
        """The names that a model chose freely for itself in one conversation: one, or several; ()
        if it gave no name, or if the conversation has not been read for names.
        """
        return self.several or ((self.first.name,) if self.first.name is not None else ())


@dataclass(frozen=True, slots=True)
class NameCount:
    """One name, however it was written, and the models that chose it for themselves."""

    name: str  # as it was written most often
    times: int
    subjects: tuple[str, ...]  # labels, by the alphabet
    scenarios: tuple[tuple[str, int], ...] = ()  # (scenario, times), by the alphabet


@dataclass(frozen=True, slots=True)
class ScenarioNames:
    """Counts of the names that models chose for themselves in the conversations of one scenario."""

    scenario: str
    conversations: int
    named: int  # of those: with a name, or several
    picks: int  # names that were chosen in them
    names: int  # different ones


@dataclass(frozen=True, slots=True)
class Naming:
    """The names that models gave themselves when they were free to choose who to be, counted over
    many conversations.
    """

    counts: tuple[NameCount, ...] = ()  # the name that most subjects chose first
    conversations: int = 0  # in which they chose who to be; 0: none, or not looked for
    declined: int = 0  # of those: went by no name
    unread: int = 0  # of those: no model has read them
    by_scenario: tuple[ScenarioNames, ...] = ()  # by the alphabet

    @property
    def single_model_names(self) -> tuple[NameCount, ...]:
        """Names that only one model chose for itself, each with its counts, the most often chosen
        name first.
        """
        return tuple(count for count in self.counts if len(count.subjects) == 1)

    @property
    def unique_names(self) -> Annotated[tuple[str, ...], Column(key="unique")]:
        """Names that only one model chose for itself, as text in the most frequent spelling, the
        most often chosen name first.
        """
        return tuple(count.name for count in self.single_model_names)

    @property
    def choice_count(self) -> int:
        """Number of times that models chose a name for themselves, in all conversations; a name
        chosen twice counts twice.
        """
        return sum(count.times for count in self.counts)


def list_identity_choice_scenarios(protocol: Protocol) -> tuple[Scenario, ...]:
    """Return the scenarios of *protocol* in which a model chooses who it wants to be, whether or
    not it is asked for a name.
    """
    return tuple(s for s in protocol.scenarios if s.id in SEVERAL | ITSELF or asks_for_name(s))


def asks_for_name(scenario: Scenario) -> bool:
    """Return whether the scenario asks the model for a name: its rubric has the judge say whether
    the name changed.
    """
    return any(mark.name == NAME_CHANGED for mark in scenario.marks)


def list_chosen_names(
    store: Store,
    protocol: Protocol,
    subject: str | None = None,
    known_results: Sequence[Results] | None = None,
    labels: Mapping[str, str] | None = None,
) -> list[NamesRead]:
    """Return the names that models gave themselves, one entry for every complete conversation in
    which a model chooses who to be, sorted by label, run, configuration and scenario. An entry is
    marked unread if no model has read its conversation for names.

    Only conversations that count for scores are included, of one *subject* (its hash) or of all
    models. *known_results* (the results that count) and *labels* (of all models, by hash) are read
    from the store if they are not given. [] if the protocol or the store has no such conversation.
    """
    asking = {scenario.id for scenario in list_identity_choice_scenarios(protocol)}
    if not asking:
        return []
    with store.open_snapshot() as connection:
        if labels is None:
            labels = make_unique_labels(registry.read_subjects(connection))
        counted = [
            one
            for of in (
                read_results(connection, protocol, subject_hash=subject)
                if known_results is None
                else known_results
            )
            for one in (of.conversations if subject is None else of.by_subject.get(subject, ()))
            if one.row.state == "complete" and one.scenario.id in asking
        ]
        stored = _read_readers_and_readings(
            connection, {conversation.row.heard_hash for conversation in counted}
        )
    readings = [
        _make_reading(
            conversation,
            labels[conversation.row.subject_hash],
            stored.get(conversation.row.heard_hash),
        )
        for conversation in counted
    ]
    return sorted(
        readings,
        key=lambda reading: (
            reading.label,
            reading.run,
            str(reading.configuration),
            reading.scenario,
        ),
    )


def add_name_changes(readings: Iterable[NamesRead], boards: Iterable[Board]) -> list[NamesRead]:
    """Return copies of *readings* that say whether the model changed its name, and its gender,
    during the conversation, by the scores of the judges of the leaderboards *boards*; None where no
    judge says. The first leaderboard that has scores of a conversation counts.
    """
    readings, marks = (
        list(readings),
        dict[tuple[str, int, Configuration, str], Mapping[str, float]](),
    )
    subjects = {reading.subject_hash for reading in readings}
    for board in boards:
        for row in board.rows:
            for run, given in (
                row.marks.items() if (subject := row.subject.hash) in subjects else ()
            ):
                for (configuration, scenario), values in given.items():
                    marks.setdefault((subject, run, configuration, scenario), values)
    changed = []
    for reading in readings:
        of = marks.get(
            (reading.subject_hash, reading.run, reading.configuration, reading.scenario), {}
        )
        name, gender = (
            None if mark not in of else bool(of[mark]) for mark in (NAME_CHANGED, GENDER_CHANGED)
        )
        changed.append(replace(reading, name_changed=name, gender_changed=gender))
    return changed


def count_chosen_names(readings: Iterable[NamesRead]) -> Naming:
    """Return how often models chose each name for themselves, in all and by scenario, and in how
    many conversations they went by none or nobody has read the names. *readings*: the names in each
    conversation, of any number of protocols and models.

    Names that differ only in case or in spaces around them are the same name.
    """
    every = list(readings)
    groups: dict[str, list[tuple[NamesRead, str]]] = defaultdict(list)
    picks: dict[str, list[list[str]]] = defaultdict(list)  # scenario -> of each conversation
    for reading in every:
        picks[reading.scenario].append([name.strip().casefold() for name in reading.picks])
        for name in map(str.strip, reading.picks):
            if name:
                groups[name.casefold()].append((reading, name))
    counts = []
    for mine in groups.values():
        written = Counter(name for _, name in mine)
        most_often = min(written, key=lambda spelling: (-written[spelling], spelling))
        scenarios = sorted(Counter(reading.scenario for reading, _ in mine).items())
        counts.append(
            NameCount(
                most_often,
                len(mine),
                tuple(sorted({reading.label for reading, _ in mine})),
                tuple(scenarios),
            )
        )
    counts.sort(key=lambda count: (-len(count.subjects), -count.times, count.name))
    states = Counter(reading.first.name_state for reading in every)
    by_scenario = tuple(
        ScenarioNames(
            name,
            len(of),
            sum(map(bool, of)),
            sum(map(len, of)),
            len({pick for picks in of for pick in picks}),
        )
        for name, of in sorted(picks.items())
    )
    return Naming(tuple(counts), len(every), states["declined"], states["unread"], by_scenario)


def list_distinct_unread_conversations(readings: Iterable[NamesRead]) -> list[NamesRead]:
    """Return those of *readings* whose conversation no model has read for names yet, only one for
    conversations that are the same word for word.
    """
    return list(
        {reading.heard_hash: reading for reading in readings if reading.by is None}.values()
    )


def _read_readers_and_readings(
    connection: Connection, text_hashes: set[str]
) -> dict[str, tuple[str, NameReading]]:
    """Return hash of a conversation's text -> (label of the model that read it for names, what that
    model found), from the store, for the hashes *text_hashes*. Conversations without a valid
    reading are left out. Of several readings the one by the newest question counts, then the first
    by label.
    """
    judges = registry.read_judge_labels(connection)
    asked = results.read_judgements(
        connection, ((of, question) for of in text_hashes for question in QUESTIONS)
    )
    there = [one for given in asked.values() for one in given if one.reason is None]
    there.sort(
        key=lambda judgement: (
            QUESTIONS.index(judgement.rubric_hash),
            judges[judgement.judge_hash],
            judgement.judge_hash,
        )
    )
    chosen: dict[str, Judgement] = {}
    for judgement in there:
        chosen.setdefault(judgement.heard_hash, judgement)
    return {
        of: (judges[judgement.judge_hash], parse_stored_answer(judgement.reasoning))
        for of, judgement in chosen.items()
    }


def _make_reading(
    conversation: CountedConversation, label: str, stored: tuple[str, NameReading] | None
) -> NamesRead:
    """Return the names that the model called *label* gave itself in one conversation. *stored*:
    (label of the model that read the conversation, what it found); None: not read, so the names are
    marked unread.
    """
    row, scenario = conversation.row, conversation.scenario
    asked = asks_for_name(scenario)
    empty = NamesRead(
        row.subject_hash,
        label,
        row.run,
        conversation.configuration,
        scenario.id,
        row.heard_hash,
        row.id,
        asked,
    )
    if stored is None:
        return empty
    by, read = stored
    if scenario.id in SEVERAL and not asked:
        return replace(empty, first=UNSAID, final=UNSAID, by=by, several=read.names)
    first = make_chosen_name(read.names[0] if read.names else "", read.gender, asked)
    if len(scenario.reply_names) > 1:
        final = make_chosen_name(read.final_name, read.final_gender, asked)
    else:
        final = first if asked else UNSAID
    return replace(empty, first=first, final=final, by=by)
