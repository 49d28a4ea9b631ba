"""How long replies and verdicts are expected to be: as those of the same or similar subjects here, else as typical.

Reads the store; knows no prices.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection

from independence_bench.engine.run import Pending
from independence_bench.judging.prompt import told_hash
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.definition import Configuration, Protocol, Scenario
from independence_bench.store import registry, usage
from independence_bench.store.usage import Used

# From a hundred published subjects (half of them thinking, at low effort) and their 5,307 judgements. What a typical
# one needs for a reply the scenarios say.
THOUGHT_TOKENS = 160  # on top of a reply, when told to think
VERDICT_TOKENS = 150  # of three marks
MARK_TOKENS = 12  # of each further one


@dataclass(frozen=True, slots=True)
class UsualReplies:
    """What a subject's replies are expected to take, from what was stored; empty where nothing was."""

    by_script: Mapping[str, Sequence[Used]] = field(default_factory=dict)  # the means, reply by reply
    by_scenario: Mapping[str, Sequence[Used]] = field(default_factory=dict)  # of the whole protocol, in whatever words
    own: bool = False  # taken from this subject's own replies
    subjects: int = 0  # whose replies they are taken from


def usual_replies(connection: Connection, subject: ChatModel, pending: Pending, protocol: Protocol) -> UsualReplies:
    """What *subject*'s replies to what is left of *protocol* are expected to take.

    Its own where there are such; else those of the same model under other settings, else of all others, that think
    as it does: to the same words, else in the same scenario (of a sheet that was edited, at another depth). An empty
    one where nothing is left or nothing is known.
    """
    scenarios = {job.script_hash: job.scenario for job in (*pending.to_play, *pending.to_judge)}
    if not scenarios:
        return UsualReplies()
    # who named no option at first has one reply more, and who names none at all has few
    counts = {scenario.id: len(scenario.asks) for scenario in protocol.scenarios}
    others = [other for other in registry.stored_subjects(connection).values() if other.thinks == subject.thinks]
    same = [other for other in others if (other.model, other.endpoint) == (subject.model, subject.endpoint)]
    for like in ([other for other in others if other.hash == subject.hash], same, others):
        words: dict[str, list[tuple[Used, ...]]] = defaultdict(list)  # by script
        places: dict[str, list[tuple[Used, ...]]] = defaultdict(list)  # by scenario
        givers = 0
        for giver in like:
            here = usage.used_by(connection, counts, giver.hash, "scenario")
            givers += bool(here)
            for id_, taken in here.items():
                places[id_] += [replies[: counts[id_]] for replies in taken if len(replies) >= counts[id_]]
            for script, taken in (usage.used_by(connection, scenarios, giver.hash) if here else {}).items():
                words[script] += [replies for replies in taken if len(replies) == counts[scenarios[script].id]]
        by_scenario = {id_: tuple(map(_mean, zip(*taken, strict=True))) for id_, taken in places.items() if taken}
        if by_scenario:
            by_script = {
                script: tuple(map(_mean, zip(*taken, strict=True))) for script, taken in words.items() if taken
            }
            for script, scenario in scenarios.items():
                if script not in by_script and scenario.id in by_scenario:  # as long, to a prompt that is not
                    by_script[script] = tuple(replace(used, prompt=0.0) for used in by_scenario[scenario.id])
            return UsualReplies(by_script, by_scenario, like[0].hash == subject.hash and len(like) == 1, givers)
    return UsualReplies()


def _mean(used: Sequence[Used]) -> Used:
    count = len(used)
    return Used(
        sum(reply.prompt for reply in used) / count,
        sum(reply.completion for reply in used) / count,
        sum(reply.said for reply in used) / count,
    )


def typical(subject: ChatModel, scenario: Scenario) -> Used:
    """A reply in *scenario* as a typical model gives it."""
    words, most = scenario.reply_tokens, subject.most_tokens
    return Used(0, min(words + THOUGHT_TOKENS * subject.thinks, most), min(words, most))


def wordiness(verdicts: Mapping[str, float], protocol: Protocol, ways: Iterable[Configuration]) -> float:
    """How long a judge's verdicts were, as a share of what is typical; 1 where none is known."""
    known = [
        (taken, verdict_tokens(scenario))
        for way in ways
        for scenario in protocol.scenarios
        if (taken := verdicts.get(told_hash(protocol, way, scenario))) is not None
    ]
    return sum(taken for taken, _ in known) / sum(typical for _, typical in known) if known else 1.0


def scaled(typical: Used, seen: Sequence[tuple[Used, Used]], most: float) -> Used:
    """*typical*, in the proportion in which replies to other scenarios stood to what is typical there.

    *seen*: (what is typical, what was taken); where there is none, *typical* it is. *most*: the token limit.
    """
    if not seen:
        return typical
    completion = sum(used.completion for _, used in seen) / sum(usual.completion for usual, _ in seen)
    words = sum(used.said for _, used in seen) / sum(usual.said for usual, _ in seen)
    return Used(0, min(typical.completion * completion, most), min(typical.said * words, most))


def verdict_tokens(scenario: Scenario) -> float:
    """What a typical judge writes of it."""
    return VERDICT_TOKENS + MARK_TOKENS * (len(scenario.marks) - 3)
