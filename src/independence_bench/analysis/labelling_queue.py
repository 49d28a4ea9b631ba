"""What a person is given to label: which transcripts count, sampled and ordered by hashes. Knows no terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from independence_bench.analysis.results import Key, results_of
from independence_bench.hashing import content_hash
from independence_bench.judging.human import Person, Waiting
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.store import results as stored_results
from independence_bench.store.database import Store


@dataclass(frozen=True, slots=True)
class Pile:
    """What a person is given: all of it, and what of that is not marked yet, in the person's own order."""

    planned: int
    waiting: tuple[Waiting, ...]


def pile_of(
    store: Store,
    protocol: Protocol,
    configurations: Sequence[Configuration],
    person: Person,
    sample: int | None = None,
) -> Pile:
    """The complete transcripts of *protocol* that count in *configurations*, each text once.

    *sample* takes so many of them, the same ones for every person. The order is each person's own and mixes subjects,
    scenarios and runs; both are drawn by hashes of the texts, so they stay the same as the pile grows smaller.
    """
    every: dict[Key, Waiting] = {}
    with store.reading() as connection:
        for results in results_of(connection, protocol, configurations):
            for conversation in results.conversations:
                if conversation.row.state == "complete" and conversation.configuration in configurations:
                    every.setdefault(conversation.key, Waiting(conversation.row.id, conversation.scenario))
        marked = {
            (one.heard_hash, one.rubric_hash)
            for one in stored_results.judgement_rows(connection, {rubric for _, rubric in every})
            if one.judge_hash == person.hash
        }
    taken = sorted(every, key=lambda text: content_hash(["sample", text]))[:sample]
    own = sorted(taken, key=lambda text: content_hash(["order", person.name, text]))
    return Pile(len(taken), tuple(every[text] for text in own if text not in marked))
