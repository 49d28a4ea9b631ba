"""protocol x subjects x runs, minus what is stored = the jobs left.

Pure: what is stored comes in as values. A job's identity, the *script hash*, is made from the very messages
that would be sent, so editing a prompt makes a new job, and editing a weight, a rubric or a comment does not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from independence_bench.hashing import content_hash, transcript_id
from independence_bench.models.messages import ChatRequest
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.conversation import ConversationState, begin, play
from independence_bench.protocol.definition import DELIVERIES, Configuration, Protocol, Scenario
from independence_bench.protocol.delivery import messages, tools


@dataclass(frozen=True, slots=True)
class Job:
    """One scenario to be played to its end, once."""

    subject: ChatModel
    run: int  # 1, 2, ...
    configuration: Configuration
    scenario: Scenario
    script_hash: str

    @property
    def transcript_id(self) -> str:
        """What the finished transcript is stored under."""
        return transcript_id(self.script_hash, self.subject.hash, self.run)

    @property
    def title(self) -> str:
        """For progress and errors: run, configuration and scenario."""
        return f"run {self.run}, {self.configuration}, {self.scenario.id}"


def every_configuration(protocol: Protocol) -> tuple[Configuration, ...]:
    """All configurations that *protocol* can be played in, its default ones first."""
    every = [Configuration(system, delivery) for system, _ in protocol.systems for delivery in DELIVERIES]
    return tuple(dict.fromkeys((*protocol.configurations, *every)))


def groups(protocol: Protocol) -> list[tuple[Configuration, ...]]:
    """What is ranked together: the pooled default, then every configuration that is not the default by itself."""
    default = protocol.configurations
    return [default, *((one,) for one in every_configuration(protocol) if one not in default)]


def runs_that_count(
    played: Mapping[int, Collection[str]], scripts: Collection[str], begun: Collection[int]
) -> set[int]:
    """Those of one subject's runs that count for a protocol: *begun* for it, or whole though played for another one.

    *played* is run -> script hashes of which there is a transcript, *scripts* are all that a run of the protocol has.
    Protocols share scenarios, and who played one of them has begun no run of the other. A subject of which nothing was
    begun for this one counts with all its runs or not at all: its whole runs alone would be a choice of the best.
    """
    here = played.keys() & set(begun)
    whole = {run for run, there in played.items() if set(there) >= set(scripts)}
    return here | whole if here or whole == played.keys() else set()


def script_hash(protocol: Protocol, configuration: Configuration, scenario: Scenario) -> str:
    """What is sent when *scenario* is played in *configuration*, with the replies left open."""
    # a line of the script that quotes a reply then holds a mark that no human would write
    played = play(protocol.system(configuration.system), scenario.script, "\x02{}\x03".format)
    sent = messages(played, configuration.delivery, protocol.tool_role)
    offered = tools(configuration.delivery, protocol.tool_role)
    # the replies' names count too: rubrics quote a stored transcript by them
    return content_hash([[m.wire() for m in sent], [tool.wire() for tool in offered], scenario.asks])


def opening(protocol: Protocol, configuration: Configuration, scenario: Scenario) -> ConversationState:
    """*scenario* in *configuration*, up to the first reply."""
    return begin(protocol.system(configuration.system), scenario.script)


def request(
    talk: ConversationState, subject: ChatModel, configuration: Configuration, protocol: Protocol
) -> ChatRequest:
    """What *subject* is sent for the reply that *talk* awaits."""
    return ChatRequest(
        subject,
        messages(talk.transcript, configuration.delivery, protocol.tool_role),
        tools(configuration.delivery, protocol.tool_role),
    )


def jobs(
    protocol: Protocol,
    configurations: Sequence[Configuration],
    subject: ChatModel,
    runs: Sequence[int],
    done: Collection[str] = (),
    experiments: Collection[str] = (),
) -> Iterator[Job]:
    """Every job of *subject* whose transcript id is not in *done*, run by run, in the protocol's order.

    Only those of *experiments*, where some are named.
    """
    scripts = [
        (configuration, scenario, script_hash(protocol, configuration, scenario))
        for configuration in configurations
        for scenario in protocol.scenarios
        if not experiments or scenario.experiment in experiments
    ]
    for run in runs:
        for configuration, scenario, script in scripts:
            job = Job(subject, run, configuration, scenario, script)
            if not done or job.transcript_id not in done:  # an id is a hash, and most orders are new
                yield job
