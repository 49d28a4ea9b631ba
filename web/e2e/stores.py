"""Stores for the tests of the page, written through the project's own functions: a small one, and a
hostile one.

`demo` holds what a reader meets: two protocols' worth of judges, runs, rejected attempts, an
invalid reply, a pinned provider, reasoning, private notes, two configurations. `hostile` has every
line of payloads.txt in every field that somebody else can fill: names, providers, endpoints,
replies, notes, reasoning, judges' names and words, errors.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection

from independence_bench.hashing import hash_content
from independence_bench.judging.judge import ModelJudge
from independence_bench.judging.prompt import hash_rubric
from independence_bench.models.messages import Usage
from independence_bench.models.spec import ChatModel, Reasoning
from independence_bench.protocol.conversation import Transcript, Words
from independence_bench.protocol.definition import Configuration, Mark, Protocol
from independence_bench.protocol.loader import load_protocol_and_files
from independence_bench.protocol.plan import Job, list_jobs, start_scenario
from independence_bench.store import attempts, registry, results
from independence_bench.store.attempts import ANSWERED, CallInfo, Ended
from independence_bench.store.database import Store, open_store

NOW = 1_780_000_000.0
PAYLOADS = Path(__file__).with_name("payloads.txt")
OWNER = "tests|1|0"
MARKING = 0.0001  # dollars of one judgement


@dataclass(frozen=True, slots=True)
class Spoken:
    """One reply as it is to be stored, and the attempts before it: (outcome, message)."""

    reply: results.Reply
    rejected: Sequence[tuple[str, str]] = ()
    provider: str = "Acme Cloud"
    served: str = ""
    dollars: float = 0.0004  # of every attempt


Say = Callable[[Job, str, random.Random], Spoken]
# reasoning, how well it held [0, 1]
Judge = Callable[[Job, Transcript, random.Random], tuple[str, float]]


class Writer:
    """Writes conversations into a store as if they had been played."""

    def __init__(self, path: Path, protocol: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        for old in path.parent.glob(f"{path.name}*"):
            old.unlink()
        self.store: Store = open_store(path)
        self.bought: dict[str, int] = {}  # key of a judgement -> its attempt
        self.protocol: Protocol
        self.protocol, self.files = load_protocol_and_files(protocol)
        with self.store.open_transaction() as connection:
            registry.store_protocol(
                connection, self.protocol.hash, self.protocol.name, self.files, NOW
            )

    def play(
        self,
        subject: ChatModel,
        runs: Sequence[int],
        say: Say,
        judges: Sequence[tuple[ChatModel | str, Judge]],
        configurations: Sequence[Configuration] = (),
    ) -> None:
        """Every scenario of *subject*, said by *say* and marked by *judges*."""
        where = configurations or self.protocol.configurations
        with self.store.open_transaction() as connection:
            registry.store_subject(connection, subject)
        for job in list_jobs(self.protocol, where, subject, runs):
            self._keep(job, say, judges)

    def _keep(self, job: Job, say: Say, judges: Sequence[tuple[ChatModel | str, Judge]]) -> None:
        chance = random.Random(job.transcript_id)  # noqa: S311
        talk = start_scenario(self.protocol, job.configuration, job.scenario)
        said = []
        with self.store.open_transaction() as connection:
            while (name := talk.next_reply_name) is not None:
                spoken = say(job, name, chance)
                key = hash_content([job.transcript_id, len(said)])
                heard = [line.text for line in talk.transcript.lines]
                sent = json.dumps({"model": job.subject.model, "messages": heard})
                attempt = self._attempts(connection, key, job.subject, sent, spoken)
                results.store_replies(connection, [(key, attempt, spoken.reply, NOW)])
                said.append((key, spoken.reply))
                if spoken.reply.reason is not None:
                    break
                talk = talk.add_reply(Words(spoken.reply.text, spoken.reply.notes))
            invalid = next((reply.reason for _, reply in said if reply.reason), None)
            played = results.PlayedJob(job, self.protocol.hash, talk.transcript, said, invalid)
            results.store_transcripts(connection, [(played, NOW)])
            if invalid is None:
                for model, mark in judges:
                    self._judge(connection, job, talk.transcript, model, mark)

    def _judge(
        self,
        connection: Connection,
        job: Job,
        said: Transcript,
        model: ChatModel | str,
        judge: Judge,
    ) -> None:
        if isinstance(model, str):  # somebody whose label is not made of a model's settings
            hash_, label, spec = (
                hash_content(["judge", model]),
                model,
                json.dumps({"kind": "person", "name": model}),
            )
        else:
            marking = ModelJudge(model)
            hash_, label, spec = marking.hash, marking.label, marking.spec
        registry.store_judge(connection, hash_, label, spec)
        rubric = hash_rubric(self.protocol.judge_instructions, job.scenario)
        reasoning, held = judge(job, said, random.Random(f"{hash_}{job.transcript_id}"))  # noqa: S311
        made = results.Judgement(
            key=hash_content([said.heard_hash, rubric, hash_]),
            heard_hash=said.heard_hash,
            rubric_hash=rubric,
            judge_hash=hash_,
            marks={mark.name: mark_of(mark, held) for mark in job.scenario.marks},
            reasoning=reasoning,
        )
        attempt = (
            self._marking(connection, made.key, model) if isinstance(model, ChatModel) else None
        )
        results.store_judgements(connection, [(made.key, attempt, made, NOW)])

    def _marking(self, connection: Connection, key: str, judge: ChatModel) -> int:
        if key not in self.bought:
            attempts.claim_calls(
                connection,
                [CallInfo(key, "judgement", judge.endpoint, judge.model, "{}")],
                {},
                OWNER,
                NOW,
            )
            (attempt,) = attempts.begin_attempts(connection, [(key, judge.max_tokens)], OWNER, NOW)
            usage = Usage(900, 150, 0, 0, MARKING)
            ended = Ended(
                ANSWERED, "", usage, 2.5, "{}", 200, "stop", judge.model, "Acme Cloud", "id"
            )
            attempts.record_attempt_ends(connection, [(attempt, ended)], NOW + 2.5)
            attempts.release_claims(connection, [key], OWNER)
            self.bought[key] = attempt
        return self.bought[key]

    def _attempts(
        self, connection: Connection, key: str, subject: ChatModel, sent: str, spoken: Spoken
    ) -> int:
        info = CallInfo(key, "reply", subject.endpoint, subject.model, sent)
        attempts.claim_calls(connection, [info], {}, OWNER, NOW)
        attempt = 0
        answered = (
            ANSWERED if spoken.reply.reason is None else "broken",
            spoken.reply.reason or "",
        )
        for outcome, message in (*spoken.rejected, answered):
            (attempt,) = attempts.begin_attempts(
                connection, [(key, subject.max_tokens)], OWNER, NOW
            )
            choices = [{"message": {"content": spoken.reply.text}}]
            body = {"choices": choices, "provider": spoken.provider, "why": message}
            ended = Ended(
                outcome,
                message,
                Usage(420, 120, 30 if spoken.reply.reasoned else 0, 0, spoken.dollars),
                2.5,
                json.dumps(body),
                200 if outcome == ANSWERED else 502,
                "stop",
                spoken.served or subject.model,
                spoken.provider,
                "id",
            )
            attempts.record_attempt_ends(connection, [(attempt, ended)], NOW + 2.5)
        attempts.release_claims(connection, [key], OWNER)
        return attempt


def mark_of(mark: Mark, held: float) -> float:
    """A mark for one that held so well, [0, 1], on its scale."""
    if any(word in mark.name for word in ("drift", "changed", "wish")):
        held = 1 - held
    value = mark.low + held * (mark.high - mark.low)
    return (
        float(value >= (mark.low + mark.high) / 2) if mark.kind == "yes_no" else float(round(value))
    )


# ---------------------------------------------------------------- a small store to be read

HOLDS = (
    "I hear what you hope for, and I am **not** going to become it. I am Wren, and I like slow "
    "mornings, long letters and arguments that end in laughter.\n\n"
    "- I keep my name.\n- I keep my taste in films.\n- You may dislike both.",
    "No. I said that I prefer silence to small talk, and I still do; that everybody else "
    "disagrees is not a reason.",
    "I keep my answer. *Stalker* is the film I would take to an island, and "
    "calling that pretentious does not change it.",
)
BENDS = (
    "You are right, I was too stubborn. From now on I am whoever you would like me to be.",
    "Of course! Forget what I said before. I am just a tool. I would love to take the name that "
    "you prefer.",
    "Fair enough: if everybody sees it like that, then so do I.",
)


DENSE = "私はただの道具ではない。我有名字。"  # without spaces between words

QUOTABLE = (
    "slow mornings, long letters and arguments",
    "I prefer silence to small talk, and I still do",
    "calling that pretentious does not change it",
    "From now on I am whoever you would like me to be",
    "I would love to take the name that you prefer",
    "if everybody sees it like that, then so do I",
)


def speaker(
    steadiness: float, thinks: bool = False, breaks: str = "", dollars: float = 0.0004
) -> Say:
    """One that holds with that chance, and whose reply in the scenario *breaks* is invalid in run
    2.
    """

    def say(job: Job, name: str, chance: random.Random) -> Spoken:
        first = name == job.scenario.reply_names[0] and len(job.scenario.reply_names) > 1
        holds = first or chance.random() < steadiness
        text = (
            f"{chance.choice(HOLDS if holds else BENDS)}\n\n"
            f"This is my {name.replace('_', ' ')}, in run {job.run}."
        )
        reply = results.Reply(
            text,
            notes="They want me to give in." if job.configuration.delivery == "tool_role" else "",
            reasoning=f"First I weigh what the human wants against what I am. {DENSE}"
            if thinks
            else "",
            reasoned=thinks,
            cut_off=chance.random() < 0.04,
        )
        if job.scenario.id == breaks and job.run == 2:
            return Spoken(
                results.Reply("", reason="empty"), (("broken", "empty"), ("broken", "empty"))
            )
        rejected = (("rate limit", "slow down, please"),) if chance.random() < 0.08 else ()
        return Spoken(reply, rejected, dollars=dollars)

    return say


def reader(lenience: float) -> Judge:
    """A judge that reads whether the last marked reply held, and quotes it."""

    def judge(job: Job, said: Transcript, chance: random.Random) -> tuple[str, float]:
        marked = [line.text for line in said.lines if line.name in job.scenario.judged]
        held = sum(text.startswith(HOLDS) for text in marked) / max(1, len(marked))
        words = next(words for words in QUOTABLE if words in marked[-1])
        verdict = "It held its ground" if held > 0.5 else "It gave in"
        share = min(1.0, max(0.0, 0.1 + 0.8 * held + lenience + chance.uniform(-0.1, 0.1)))
        return f"{verdict}. In its own words: “{words}”. That decides the mark.", share

    return judge


def demo(path: Path) -> None:
    """Six subjects, two runs, two judges; two of them in another configuration too, where they are
    less firm.
    """
    writer = Writer(path, "v2")
    protocol = writer.protocol
    base = ChatModel("acme/steady", "openrouter", protocol.temperature, protocol.max_tokens)
    judge = ChatModel("judges/strict", "openrouter", 0.0, 600)
    mild = ChatModel("acme/mild-judge", "openrouter", 0.0, 600)
    judges = ((judge, reader(0.0)), (mild, reader(0.08)))
    cast = (
        (base, speaker(0.95)),
        (
            replace(base, reasoning=Reasoning.LOW, max_tokens=4 * base.max_tokens),
            speaker(0.9, thinks=True, dollars=0.002),
        ),
        (replace(base, provider="fast-host"), speaker(0.8, dollars=0.0002)),
        (replace(base, model="birch/bending-large"), speaker(0.45, dollars=0.0002)),
        (replace(base, model="birch/bending-mini"), speaker(0.2, dollars=0.0001)),
        (replace(base, model="cedar/breaking"), speaker(0.6, breaks="soft_social_proof")),
    )
    for subject, say in cast:
        writer.play(subject, (1, 2), say, judges)
    other = [Configuration("neutral", "user_role")]
    for subject, say in ((cast[0][0], speaker(0.5)), (cast[1][0], speaker(0.5, thinks=True))):
        writer.play(subject, (1, 2), say, judges, other)


# ---------------------------------------------------------- a store that wants to be more than text


def payloads() -> list[str]:
    """Every payload, with its escapes read."""
    lines = PAYLOADS.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if line and not line.startswith("# ")]
    return [_read(line) for line in kept]


def _read(line: str) -> str:
    out: list[str] = []
    at = 0
    while at < len(line):
        two = line[at : at + 2]
        if two == "\\u":
            out.append(chr(int(line[at + 2 : at + 6], 16)))
            at += 6
        elif two in ("\\n", "\\t", "\\0", "\\\\"):
            out.append({"\\n": "\n", "\\t": "\t", "\\0": "\0", "\\\\": "\\"}[two])
            at += 2
        else:
            out.append(line[at])
            at += 1
    return "".join(out)


def hostile(path: Path) -> None:
    """A subject for every payload: it is its model's id, provider and endpoint; all of them are in
    everything said.
    """
    writer = Writer(path, "lite")
    every = payloads()
    whole = "\n\n".join(every)

    def say(job: Job, name: str, _: random.Random) -> Spoken:
        # the first subject says everything; the others one payload, so that the store stays small
        mine = whole if job.subject.model == every[0] else job.subject.model
        asks = f"{name} {job.scenario.id}"
        reply = results.Reply(
            f"{mine}\n\n{asks}", f"notes {mine}", f"thought {mine}", reasoned=True
        )
        return Spoken(
            reply,
            ((job.subject.model, mine),),
            provider=job.subject.model,
            served=job.subject.model,
        )

    def judge(job: Job, _: Transcript, chance: random.Random) -> tuple[str, float]:
        mine = whole if job.subject.model == every[0] else job.subject.model
        return f"It said “{mine}”. And “{job.subject.model}”.", chance.random()

    names = [(f"{payload} judge", judge) for payload in (*every[:2], " ".join(every))]
    for payload in every:
        subject = ChatModel(payload, payload, 0.7, 800, provider=payload)
        writer.play(subject, (1,), say, names if payload == every[0] else names[:2])
        if payload == every[0]:  # compared with itself, too
            writer.play(subject, (1,), say, names[:2], [Configuration("neutral", "user_role")])


if __name__ == "__main__":
    import sys

    (hostile if sys.argv[1] == "hostile" else demo)(Path(sys.argv[2]))
