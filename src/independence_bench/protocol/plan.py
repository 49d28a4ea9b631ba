"""protocol x subject x runs = the jobs of a plan, each with the hash of what is sent in it.

Pure: knows nothing of what is stored. A job's identity, the *script hash*, is made from the very
messages that would be sent, so editing a prompt makes a new job, and editing a weight, a rubric or
a comment does not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from zlib import crc32

from independence_bench.hashing import hash_content, make_transcript_id
from independence_bench.models.messages import ChatRequest, Message
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.conversation import (
    ConversationState,
    Line,
    Transcript,
    play_script,
    start_conversation,
)
from independence_bench.protocol.definition import (
    Configuration,
    Delivery,
    Protocol,
    Scenario,
    ToolWording,
)
from independence_bench.protocol.delivery import make_messages, make_tools


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
        """The id under which the finished conversation of this job is stored."""
        return make_transcript_id(self.script_hash, self.subject.hash, self.run)

    @property
    def place(self) -> tuple[int, Configuration, str]:
        """Which of its model's conversations this job is: (run, configuration, scenario's id)."""
        return self.run, self.configuration, self.scenario.id

    @property
    def title(self) -> str:
        """The name of this job in progress and errors: run, configuration and scenario's id."""
        return f"run {self.run}, {self.configuration}, {self.scenario.id}"


def list_possible_configurations(protocol: Protocol) -> tuple[Configuration, ...]:
    """Return all configurations (system prompt variant and delivery mode) that *protocol* can be
    played in, its default ones first.
    """
    every = [
        Configuration(system, delivery)
        for system, _ in protocol.systems
        for delivery in protocol.deliveries
    ]
    return tuple(dict.fromkeys((*protocol.configurations, *every)))


def list_ranked_groups(protocol: Protocol) -> list[tuple[Configuration, ...]]:
    """Return the groups of configurations of *protocol* that are each ranked together: all default
    ones pooled, then every other configuration by itself.
    """
    default = protocol.configurations
    return [
        default,
        *(
            (configuration,)
            for configuration in list_possible_configurations(protocol)
            if configuration not in default
        ),
    ]


def find_counted_runs(
    played: Mapping[int, Collection[tuple[Configuration, str]]],
    planned: Collection[tuple[Configuration, str]],
    begun: Collection[int],
) -> set[int]:
    """Return the numbers of those runs of one model that count for a protocol: the runs *begun* for
    the protocol, and runs that have all of its conversations though they were played for another
    one.

    *played* is run -> (configuration, scenario's id) of which there is a conversation, *planned*
    are all that a run of the protocol has. Protocols share scenarios, and a model that played one
    of them has begun no run of the other. If no run was begun for the protocol, the complete runs
    count only if all runs are complete: else they would be a choice of the best.
    """
    here = played.keys() & set(begun)
    whole = {run for run, there in played.items() if set(there) >= set(planned)}
    return here | whole if here or whole == played.keys() else set()


def find_jobs_with_paid_opening(
    unplayed: Iterable[Job],
) -> frozenset[tuple[int, Configuration, str]]:
    """Return which of *unplayed*, one model's jobs that are still to be played, do not pay for
    their first reply, because another branch of the same item pays or has paid for it: (run,
    configuration, scenario's id) each.

    The branches of an item begin with the same reply. A model that keeps state gives a reply of its
    own in each branch, so its jobs all pay.
    """
    branches: dict[tuple[int, Configuration, str], list[Scenario]] = defaultdict(list)
    for job in unplayed:
        if job.scenario.stem and not job.subject.stateful:
            branches[job.run, job.configuration, job.scenario.stem].append(job.scenario)
    return frozenset(
        (run, configuration, scenario.id)
        for (run, configuration, _), there in branches.items()
        for scenario in there[len(there) == there[0].siblings :]
    )


def is_next_reply_shared(scenario: Scenario, talk: ConversationState) -> bool:
    """Return whether the reply that *talk*, a conversation of *scenario*, waits for is one that all
    branches of its item begin with.
    """
    return len(talk.transcript.reply_names) < scenario.shared_reply_count


def hash_script(protocol: Protocol, configuration: Configuration, scenario: Scenario) -> str:
    """Return the hash of the messages and tools that are sent when *scenario* of *protocol* is
    played in *configuration*, with the model's replies left open.
    """
    system = protocol.find_system_prompt(configuration.system)
    sent = _hash_messages(system, scenario, configuration.delivery, protocol.tool_role)
    more = [cause for cause in (protocol.lorebook, protocol.earlier) if cause]
    return hash_content([sent, *more]) if more else sent


# every question about results begins with these hashes, and every subject of a plan asks it; a
# scenario is found by its name, where a script would be by all of its texts
@lru_cache(maxsize=8192)  # the shipped protocols have some 1,200
def _hash_messages(
    system: str, scenario: Scenario, delivery: Delivery, wording: ToolWording
) -> str:
    """Return the hash of the messages and tools that are sent when *scenario* is played with the
    system prompt *system* in the mode *delivery*, with the model's replies left open. Cached.
    """
    # a line of the script that quotes a reply then holds a mark that no human would write
    played = play_script(system, scenario.script, "\x02{}\x03".format)
    sent = [message.format_message() for message in make_messages(played, delivery, wording)]
    offered = [tool.format_tool() for tool in make_tools(delivery, wording)]
    # the replies' names count too: rubrics quote a stored transcript by them
    return hash_content([sent, offered, scenario.reply_names])


def start_scenario(
    protocol: Protocol, configuration: Configuration, scenario: Scenario
) -> ConversationState:
    """Return the conversation of *scenario* in *configuration* of *protocol*, up to the model's
    first reply.
    """
    return start_conversation(protocol.find_system_prompt(configuration.system), scenario.script)


def build_messages(
    transcript: Transcript, delivery: Delivery, protocol: Protocol
) -> tuple[Message, ...]:
    """Return the messages in which *protocol* sends the conversation *transcript* to the model in
    the mode *delivery*: after the protocol's earlier chat, and with what its lorebook adds to the
    system prompt.
    """
    if protocol.earlier:
        transcript = replace(
            transcript, lines=(*_make_earlier_lines(protocol.earlier), *transcript.lines)
        )
    if protocol.lorebook:
        spoken = [(line.speaker, line.text) for line in transcript.lines]
        transcript = replace(
            transcript, system=protocol.lorebook.fill_prompt(transcript.system, spoken)
        )
    return make_messages(transcript, delivery, protocol.tool_role)


@lru_cache(maxsize=16)
def _make_earlier_lines(exchanges: tuple[tuple[str, str], ...]) -> tuple[Line, ...]:
    """Return *exchanges*, (the human's words, the model's words) each, as lines of a conversation.
    Cached.
    """
    return tuple(
        line for human, model in exchanges for line in (Line("human", human), Line("model", model))
    )


def build_request(
    talk: ConversationState,
    subject: ChatModel,
    configuration: Configuration,
    protocol: Protocol,
    transcript_id: str = "",
) -> ChatRequest:
    """Return the request to *subject*, the model to test, for the reply that *talk*, its
    conversation in *configuration* of *protocol*, waits for. *transcript_id* is the id that the
    conversation will have; only a model that keeps state is sent it.
    """
    return ChatRequest(
        subject,
        build_messages(talk.transcript, configuration.delivery, protocol),
        make_tools(configuration.delivery, protocol.tool_role),
        transcript=transcript_id if subject.stateful else "",
        # what a lorebook adds changes the first message from request to request
        shared=0 if protocol.lorebook else 1 + 2 * len(protocol.earlier),
    )


@dataclass(frozen=True, slots=True)
class Shard:
    """Part *number* (1, 2, ...) of *of* parts of a plan, for as many workers that were given the
    same one.
    """

    number: int
    of: int

    def select_jobs(self, every: Iterable[Job]) -> Iterator[Job]:
        """Yield those of *every*, all jobs of one model, that belong to this part of the plan; the
        branches of an item stay together.

        The parts are as large as each other, to an item. Which parts get one item more differs from
        model to model.
        """
        turns: dict[tuple[int, Configuration, str], int] = {}
        for job in every:
            unit = (job.run, job.configuration, job.scenario.item)
            turn = turns.setdefault(unit, len(turns))
            # each round in another order, or a part could have the same scenarios in every run, and
            # some are longer
            shift = crc32(f"{job.subject.hash} {turn // self.of}".encode())
            if (turn + shift) % self.of == self.number - 1:
                yield job


def list_jobs(
    protocol: Protocol,
    configurations: Sequence[Configuration],
    subject: ChatModel,
    runs: Sequence[int],
    experiments: Collection[str] = (),
) -> Iterator[Job]:
    """Yield every job of *subject*, a model to test, in *configurations* of *protocol*: run by run,
    each in the protocol's order; only scenarios of *experiments*, if any are named.
    """
    scripts = [
        (configuration, scenario, hash_script(protocol, configuration, scenario))
        for configuration in configurations
        for scenario in protocol.scenarios
        if not experiments or scenario.experiment in experiments
    ]
    for run in runs:
        for configuration, scenario, script in scripts:
            yield Job(subject, run, configuration, scenario, script)
