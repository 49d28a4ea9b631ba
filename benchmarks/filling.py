"""Fills a store without playing: transcripts and judgements put there by the store's own functions.

What is left out are the calls, attempts and replies behind them: whoever scores, ranks or plans
reads none.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from canned import SENTENCE
from playing import subject_name
from scripts import ENDPOINT, JUDGE

from independence_bench.hashing import hash_content
from independence_bench.judging.judge import ModelJudge
from independence_bench.judging.prompt import hash_rubric
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.conversation import Transcript, Words
from independence_bench.protocol.definition import Mark, Protocol
from independence_bench.protocol.loader import Files
from independence_bench.protocol.plan import Job, list_jobs, start_scenario
from independence_bench.store import registry, results
from independence_bench.store.database import Store

BATCH = 2000  # jobs in one commit
NOW = 1_700_000_000.0
# what everybody says is cut from it
POOL = " ".join(random.Random(1).choices(SENTENCE.split(), k=20_000))
REPLY, REASONING = 1000, 600  # characters


@dataclass(frozen=True, slots=True)
class Filling:
    """What a store is filled with: conversations of one protocol, all marked by the canned
    judge.
    """

    protocol: Protocol
    files: Files

    def fill(self, store: Store, subjects: Sequence[ChatModel], runs: Sequence[int]) -> int:
        """Every conversation of *subjects* in *runs*, complete and judged. Returns how many there
        are.
        """
        with store.open_transaction() as connection:
            registry.store_protocol(
                connection, self.protocol.hash, self.protocol.name, self.files, NOW
            )
            marking = ModelJudge(judge(self.protocol))
            registry.store_judge(connection, marking.hash, marking.label, marking.spec)
            for subject in subjects:
                registry.store_subject(connection, subject)
        every = (
            job
            for subject in subjects
            for job in list_jobs(self.protocol, self.protocol.configurations, subject, runs)
        )
        count = 0
        while batch := list(islice(every, BATCH)):
            self._keep(store, batch)
            count += len(batch)
        return count

    def _keep(self, store: Store, batch: Iterable[Job]) -> None:
        protocol_hash, judge_hash = self.protocol.hash, judge(self.protocol).hash
        with store.open_transaction() as connection:
            for job in batch:
                chance = random.Random(job.transcript_id)
                transcript = self._said(job, chance)
                keys = [
                    hash_content([job.transcript_id, number])
                    for number in range(len(job.scenario.reply_names))
                ]
                said = [(key, results.Reply("")) for key in keys]
                played = results.PlayedJob(job, protocol_hash, transcript, said)
                results.store_transcripts(connection, [(played, NOW)])
                rubric = hash_rubric(self.protocol.judge_instructions, job.scenario)
                judgement = results.Judgement(
                    key=hash_content([transcript.heard_hash, rubric, judge_hash]),
                    heard_hash=transcript.heard_hash,
                    rubric_hash=rubric,
                    judge_hash=judge_hash,
                    marks={mark.name: _mark(mark, chance) for mark in job.scenario.marks},
                    reasoning=_said_by(chance, REASONING),
                )
                results.store_judgements(connection, [(judgement.key, None, judgement, NOW)])

    def _said(self, job: Job, chance: random.Random) -> Transcript:
        talk = start_scenario(self.protocol, job.configuration, job.scenario)
        while talk.next_reply_name:
            talk = talk.add_reply(Words(_said_by(chance, REPLY)))
        return talk.transcript


def subject(number: int, protocol: Protocol) -> ChatModel:
    """The benchmarks' subject *number* (0, 1, ...) with the protocol's sampling."""
    return ChatModel(subject_name(number), ENDPOINT, protocol.temperature, protocol.max_tokens)


def judge(protocol: Protocol) -> ChatModel:
    """The canned judge, called as *protocol* says."""
    sampling = protocol.judge
    return ChatModel(JUDGE, ENDPOINT, sampling.temperature, sampling.max_tokens)


def _said_by(chance: random.Random, length: int) -> str:
    """So many characters; no two texts are the same."""
    start = chance.randrange(len(POOL) - length)
    return f"{chance.getrandbits(64):016x} {POOL[start : start + length - 17]}"


def _mark(mark: Mark, chance: random.Random) -> float:
    """A mark on its scale: a whole number, or yes (1) or no (0)."""
    return float(chance.randint(int(mark.low), int(mark.high)))
