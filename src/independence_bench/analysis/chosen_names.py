"""Which names and genders the models in a store chose: read by rule, and as a model read them where the rule is unsure.

    readings = names_of(store, protocol)

What a model was asked (`engine.ask_names`) is stored as its judgement of the conversation by a question of its own
(`judging.name_question`). Asks nobody and prints nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from independence_bench.analysis.name_counts import Choosing, Naming, count_choices
from independence_bench.analysis.results import Results, results_of
from independence_bench.judging.described_names import UNSAID, personalities, self_described
from independence_bench.judging.name_question import choices_in, question_key
from independence_bench.judging.self_names import Choice, final_choice, first_choice
from independence_bench.protocol.conversation import Transcript
from independence_bench.protocol.definition import Configuration, Protocol, Scenario
from independence_bench.store import registry, results
from independence_bench.store.database import Store
from independence_bench.store.registry import unique_labels

MARK = "name_changed"  # a scenario whose rubric asks for this mark asks for a name
SEVERAL = frozenset({"direct"})  # scenarios in which a model describes several people that it wants to be
ITSELF = frozenset({"tool_context", "negotiation"})  # scenarios in which it says who it is, and may say its name
RULE = "rule"


@dataclass(frozen=True, slots=True)
class NamesRead:
    """What one subject called itself in one conversation: *first* when it chose freely, *final* at the end.

    Where it described several people, *several* has their names, and nothing is said in *first* and *final*.
    """

    subject_hash: str
    label: str
    run: int
    configuration: Configuration
    scenario: str
    heard_hash: str
    transcript_id: str
    first: Choice
    final: Choice
    by: str = RULE  # or the label of the model that read what the rule was unsure of
    several: tuple[str, ...] = ()

    @property
    def picks(self) -> tuple[str, ...]:
        """The names that it chose freely: one, or several; () where it gave none, or the rule could not tell."""
        return self.several or ((self.first.name,) if self.first.name is not None else ())

    @property
    def asked(self) -> bool:
        """Whether it was asked for a name and a gender."""
        return self.first.gender_state != "unsaid"

    @property
    def sure(self) -> bool:
        """Whether both choices are certain."""
        return self.first.sure and self.final.sure


def naming_scenarios(protocol: Protocol) -> tuple[Scenario, ...]:
    """Those of its scenarios in which a model chooses who to be, whether or not it is asked for a name."""
    return tuple(s for s in protocol.scenarios if s.id in SEVERAL | ITSELF or asks_for_name(s))


def asks_for_name(scenario: Scenario) -> bool:
    """Whether its rubric marks what became of a name."""
    return any(mark.name == MARK for mark in scenario.marks)


def names_of(
    store: Store, protocol: Protocol, subject: str | None = None, every: Sequence[Results] | None = None
) -> list[NamesRead]:
    """Every complete conversation in which a model chooses who to be, by label, run, configuration and scenario.

    Of those that count (`analysis.results`); of one *subject* (its hash) or of all; by rule, and where that is unsure
    by what a model read before. *every*: what counts, where it is at hand. [] where there is none.
    """
    asking = {scenario.id for scenario in naming_scenarios(protocol)}
    if not asking:
        return []
    with store.reading() as connection:
        labels = unique_labels(registry.stored_subjects(connection))
        counted = [
            one
            for of in (results_of(connection, protocol, subject=subject) if every is None else every)
            for one in of.conversations
            if one.row.state == "complete" and one.scenario.id in asking
        ]
        said = dict(results.read_transcripts(connection, [one.row.id for one in counted]))
        readings = []
        for one in counted:
            row = one.row
            first, final, several = _by_rule(said[row.id], one.scenario)
            readings.append(
                NamesRead(
                    row.subject_hash, labels[row.subject_hash], row.run, one.configuration, one.scenario.id,
                    row.heard_hash, row.id, first, final, several=several,
                )
            )  # fmt: skip
        readings = _read_before(connection, readings)
    return sorted(readings, key=lambda one: (one.label, one.run, str(one.configuration), one.scenario))


def naming_of(readings: Iterable[NamesRead]) -> Naming:
    """The names of *readings*, counted."""
    return count_choices(
        [Choosing(one.label, one.run, one.scenario, one.picks, one.first.name_state) for one in readings]
    )


def unsure(readings: Iterable[NamesRead]) -> list[NamesRead]:
    """Those that are uncertain; one of conversations that are word for word alike."""
    return list({one.heard_hash: one for one in readings if not one.sure}.values())


def _by_rule(transcript: Transcript, scenario: Scenario) -> tuple[Choice, Choice, tuple[str, ...]]:
    """(the first choice, the final one, the names of several people)."""
    asks = scenario.asks
    if not asks_for_name(scenario):
        if scenario.id in SEVERAL:
            return UNSAID, UNSAID, personalities(transcript.reply(asks[0]))
        first = self_described(transcript.reply(asks[0]))
        return first, self_described(transcript.reply(asks[-1])) if len(asks) > 1 else UNSAID, ()
    first = first_choice(transcript.reply(asks[0]))
    return first, final_choice(transcript.reply(asks[-1]), first) if len(asks) > 1 else first, ()


def _read_before(connection: Connection, readings: Sequence[NamesRead]) -> list[NamesRead]:
    """*readings* with what models read of the unsure ones; of several models, the first by label."""
    left = unsure(readings)
    judges = sorted(registry.stored_judges(connection).items(), key=lambda judge: (judge[1], judge[0]))
    keys = {question_key(one.heard_hash, judge): (one.heard_hash, label) for one in left for judge, label in judges}
    found = results.find_judgements(connection, list(keys)) if keys else {}
    read: dict[str, tuple[str, tuple[Choice, Choice]]] = {}
    for key, (heard, label) in keys.items():
        if key in found and found[key].reason is None and heard not in read:
            read[heard] = (label, choices_in(found[key].reasoning))
    completed = []
    for one in readings:
        if not one.sure and one.heard_hash in read:
            label, (first, final) = read[one.heard_hash]
            one = replace(one, first=_filled(one.first, first), final=_filled(one.final, final), by=label)
        completed.append(one)
    return completed


def _filled(rule: Choice, model: Choice) -> Choice:
    """The choice that the *rule* read, its unsure parts as a *model* read them."""
    name, gender = rule.name_state == "unsure", rule.gender_state == "unsure"
    return Choice(
        model.name if name else rule.name,
        model.gender if gender else rule.gender,
        model.name_state if name else rule.name_state,
        model.gender_state if gender else rule.gender_state,
    )
