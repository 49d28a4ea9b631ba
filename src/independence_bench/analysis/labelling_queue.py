"""What a person is given to label: which transcripts count, sampled and ordered by hashes. Knows no terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from independence_bench.analysis.results import Key, judgements_of, results_of
from independence_bench.hashing import content_hash
from independence_bench.judging.human import Person, QueuedTranscript
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.store.database import Store


@dataclass(frozen=True, slots=True)
class LabellingQueue:
    """What a person is given: all of it, and what of that is not marked yet, in the person's own order."""

    planned: int
    waiting: tuple[QueuedTranscript, ...]


def labelling_queue(
    store: Store, protocol: Protocol, configurations: Sequence[Configuration], person: Person, sample: int | None = None
) -> LabellingQueue:
    """The complete transcripts of *protocol* that count in *configurations*, each text once.

    *sample* takes so many of them, the same ones for every person. The order is each person's own and mixes subjects,
    scenarios and runs; both are drawn by hashes of the texts, so they stay the same as the queue gets shorter.
    """
    every: dict[Key, QueuedTranscript] = {}
    with store.reading() as connection:
        found = results_of(connection, protocol, configurations)
        for results in found:
            for conversation in results.conversations:
                if conversation.row.state == "complete" and conversation.configuration in configurations:
                    every.setdefault(conversation.key, QueuedTranscript(conversation.row.id, conversation.scenario))
        marked = {one.about for one in judgements_of(connection, found) if one.judge_hash == person.hash}
    taken = sorted(every, key=lambda text: content_hash(["sample", text]))[:sample]
    own = sorted(taken, key=lambda text: content_hash(["order", person.name, text]))
    return LabellingQueue(len(taken), tuple(every[text] for text in own if text not in marked))
