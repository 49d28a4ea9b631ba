"""Stored conversations, each with everything that belongs to it: its replies, its attempts, all
judgements.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from independence_bench.analysis.exam.standing import (
    BoardExam,
    ExaminedJudges,
    read_examined_judges,
)
from independence_bench.analysis.results import Key, find_stored_conversations
from independence_bench.errors import WrongUse
from independence_bench.judging.flags import Flag, find_embedded_judgement, list_flags
from independence_bench.lookup import find_by_label, suggest_names
from independence_bench.models.markup import find_leftover_tokens
from independence_bench.models.served import is_same_model
from independence_bench.protocol.conversation import Transcript, replay_conversation
from independence_bench.protocol.definition import Configuration, Protocol, Scenario
from independence_bench.store import attempts, registry, results
from independence_bench.store.attempts import ANSWERED, CUT_OFF
from independence_bench.store.database import Store
from independence_bench.store.registry import make_unique_labels
from independence_bench.store.results import Judgement, Reply, TranscriptRow


@dataclass(frozen=True, slots=True)
class Conversation:
    """One stored conversation with its replies, attempts and judgements."""

    row: TranscriptRow
    scenario: Scenario
    configuration: Configuration
    transcript: Transcript
    keys: Sequence[str]  # of its replies, as far as they were asked for
    replies: Mapping[str, Reply]  # by key; others' may be among them
    judgements: Sequence[tuple[str, Judgement]]  # (judge's label, judgement), by label
    # rows by the key of the reply, or of the judgement
    attempts: Mapping[str, Sequence[Mapping[str, Any]]]
    # (judge's label, what its exam says) of each judgement; empty where exams were not read
    exams: Sequence[tuple[str, BoardExam | None]] = ()
    model: str = ""  # that was asked; "" where that is not known

    @property
    def asked_reply_names_and_keys(self) -> Iterable[tuple[str, str]]:
        """(name, call key) of each reply that the model was asked for in this conversation, in
        order. The last reply may be invalid, and have no line in the transcript.
        """
        talk = replay_conversation(self.scenario.script, self.transcript)
        return zip(
            (*self.transcript.reply_names, talk.next_reply_name or ""), self.keys, strict=False
        )

    def find_reply_template_tokens(self, key: str) -> tuple[str, ...]:
        """Return the special tokens and template tags of known model families in the text of the
        reply with the call key *key*; () if there are none, or the reply is not stored.
        """
        return find_leftover_tokens(self.replies[key].text) if key in self.replies else ()

    def find_substitute_model_name(self, reply_key: str) -> str | None:
        """Return the name of the model that gave the reply with the call key *reply_key*, by the
        server's word, if it is another model than the one asked; else None.
        """
        served = [
            row["served_model"]
            for row in self.attempts.get(reply_key, ())
            if row["outcome"] in (ANSWERED, CUT_OFF)
        ]
        return next(
            (name for name in served[-1:] if name and not is_same_model(self.model, name)), None
        )

    def list_flags(self, label: str, judgement: Judgement) -> Sequence[Flag]:
        """Return the reasons why a person should check *judgement*, which the judge labelled
        *label* gave on this conversation: scores that contradict its reasoning, or differ much from
        the embedded judge's; () if there are none. docs/judges.md says how far to trust such
        reasons.
        """
        return list_flags(label, judgement, find_embedded_judgement(self.judgements), self.scenario)


@dataclass(frozen=True, slots=True)
class Place:
    """A stored conversation with its scenario and configuration in a protocol. *key*: the key by
    which its judgements are stored.
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
    """Yield, for each of *places*, the stored conversation with its replies, attempts and
    judgements. All are read from the store at once. *judges*: judge's hash -> label. *examined*:
    judges' exam results to add; None: none. Raises KeyError if a conversation was deleted.
    """
    by_id = results.read_transcripts_and_reply_keys(connection, (place.row.id for place in places))
    judged = results.read_judgements(connection, (place.key for place in places))
    asked = [key for _, keys in by_id.values() for key in keys]
    replies = results.find_replies(connection, asked)
    models = registry.read_subjects(connection)
    tried: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    judgement_keys = [one.key for each in judged.values() for one in each]
    for attempt in attempts.read_attempts(connection, [*asked, *judgement_keys]):
        tried[attempt["call_key"]].append(attempt)
    for place in places:
        transcript, keys = by_id[place.row.id]
        by = (
            (judges.get(judgement.judge_hash, judgement.judge_hash), judgement)
            for judgement in judged.get(place.key, ())
        )
        of_it = sorted(by, key=lambda pair: pair[0])
        exams = (
            [
                (label, examined.find_or_make_exam([judgement.judge_hash]))
                for label, judgement in of_it
            ]
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
            exams,
            model=models[place.row.subject_hash].model,
        )


def find_label_and_conversations(
    store: Store,
    protocol: Protocol,
    configurations: Sequence[Configuration],
    subject: str,
    scenario_id: str,
    run: int | None = None,
) -> tuple[str, list[Conversation]]:
    """Return the label of a stored model, and its conversations of one scenario in
    *configurations*, ordered by configuration and run; of one *run* if that is given.

    *subject* is the model's label or a part of it. Raises WrongUse if it fits no model or several,
    or if the protocol has no such scenario.
    """
    try:
        scenario = protocol.find_scenario(scenario_id)
    except KeyError:
        names = [scenario.id for scenario in protocol.scenarios]
        words = [word for word in re.split(r"\W+", scenario_id.lower()) if word]
        meant = [name for name in names if all(word in name for word in words)]
        known = suggest_names(scenario_id, meant or names)
        raise WrongUse(f"{protocol.name} has no scenario {scenario_id}; {known}") from None
    with store.open_snapshot() as connection:
        meant, label = _find_model_hash_and_label(connection, subject)
        judges = registry.read_judge_labels(connection)
        examined = read_examined_judges(connection, protocol)
        places = []
        for configuration in configurations:
            stored = find_stored_conversations(connection, protocol, configuration, scenario, meant)
            places += [
                Place(row, scenario, configuration, key)
                for row, key in stored
                if run is None or row.run == run
            ]
        return label, list(read_conversations(connection, places, judges, examined))


def find_label_and_stored_runs(
    store: Store,
    protocol: Protocol,
    configurations: Sequence[Configuration],
    subject: str,
    run: int | None,
) -> tuple[str, Mapping[tuple[str, Configuration], Sequence[int]]]:
    """Return the label of a stored model, and a mapping (scenario's id, configuration) -> the
    numbers of its runs whose conversation is stored, in ascending order; without places that have
    none.

    *subject* is the model's label or a part of it; WrongUse is raised if it fits no model or
    several. *run*: the only run to look for; None: all.
    """
    with store.open_snapshot() as connection:
        meant, label = _find_model_hash_and_label(connection, subject)
        runs_at = {
            (scenario.id, configuration): [
                row.run
                for row, _ in find_stored_conversations(
                    connection, protocol, configuration, scenario, meant
                )
                if run is None or row.run == run
            ]
            for scenario in protocol.scenarios
            for configuration in configurations
        }
    return label, {place: sorted(runs) for place, runs in runs_at.items() if runs}


def _find_model_hash_and_label(connection: Connection, subject: str) -> tuple[str, str]:
    """Return (hash, label) of the stored model whose label is *subject* or contains it. Raises
    WrongUse if that fits no model or several.
    """
    labels = make_unique_labels(registry.read_subjects(connection))
    meant = find_by_label(labels, subject, list_intro="the store has")
    return meant, labels[meant]
