"""Assembles one published conversation from its files. Pure; knows no store.

A conversation is the history in the model's last request, and its last reply. If an earlier file
differs from that history, both are kept: the history in the conversation, and the file's reply as
another attempt at the same question or, if its request was another one, as a reply of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from independence_bench.dataset.published_format import Trajectory
from independence_bench.dataset.published_protocol import (
    PublishedScenario,
    find_system_message,
    find_system_name,
)
from independence_bench.models.messages import ChatRequest, Message, Tool
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.conversation import Line, Transcript, play_script
from independence_bench.protocol.definition import Configuration, Protocol, Scenario
from independence_bench.protocol.delivery import has_words
from independence_bench.protocol.script import Ask, Says
from independence_bench.store.results import Reply

Asked = Callable[[tuple[Message, ...]], ChatRequest]  # messages -> their request


@dataclass(frozen=True, slots=True)
class Source:
    """One attempt at a reply. *file* is None if the reply is known from a later request alone."""

    request: ChatRequest
    reply: Reply
    at: float
    file: Trajectory | None
    replaced: bool = False  # the later turns follow another reply to the same request

    def make_call_key(self, run: int) -> str:
        """Return the key of the call, in run *run*, that this source is an attempt at."""
        return self.request.make_key(run)


@dataclass(frozen=True, slots=True)
class PublishedConversation:
    """One scenario of one run. *reason*: why it does not follow the protocol; None if it does."""

    subject: ChatModel
    run: int
    configuration: Configuration
    scenario: Scenario
    transcript: Transcript
    said: tuple[Source, ...]  # the replies in the transcript, in order
    others: tuple[Source, ...]  # replies of the files that are not in the transcript
    judged: Trajectory | None  # the file that carries its judgement
    reason: str | None

    @property
    def last_reply_time(self) -> float:
        """The Unix time, in seconds, of the last reply in this conversation."""
        return self.said[-1].at


def assemble_conversation(
    protocol: Protocol, subject: ChatModel, files: Sequence[Trajectory], layout: PublishedScenario
) -> PublishedConversation:
    """Return the conversation of *subject* that is made of the published reply *files*, at least
    one, in the scenario that *layout* describes.
    """
    scenario = protocol.find_scenario(layout.scenario)
    by_stem = {file.path.stem: file for file in files}
    last = next(by_stem[stem] for stem in reversed(layout.stems) if stem in by_stem)
    # the data does not have the tool's descriptions
    (name, argument), wording = last.request.tool, protocol.tool_role
    tools = (
        (Tool(name, wording.description, argument, wording.argument_description),) if name else ()
    )
    ask = partial(ChatRequest, subject, tools=tools)
    spoken = _find_line_sources(last, by_stem, layout, scenario, ask)
    said = tuple(source for _, source in spoken if source)
    transcript = Transcript(last.request.system, tuple(line for line, _ in spoken))
    used, asked = {s.file.path.stem for s in said if s.file}, {s.request.messages for s in said}
    others = [_make_source(file, ask) for file in files if file.path.stem not in used]
    judging = by_stem.get(layout.judged_on)
    broken = (
        f"{line.name}: {source.reply.reason}"
        for line, source in spoken
        if source and source.reply.reason
    )
    return PublishedConversation(
        subject,
        last.path.run,
        Configuration(
            find_system_name(protocol, last.path.variant, last.path.delivery), last.path.delivery
        ),
        scenario,
        transcript,
        said,
        tuple(replace(source, replaced=source.request.messages in asked) for source in others),
        judging if judging and judging.judge_scores is not None else None,
        _describe_departure(protocol, scenario, last, transcript, layout) or next(broken, None),
    )


# ---------------------------------------------------------------- lines and replies


def _find_line_sources(
    last: Trajectory,
    by_stem: Mapping[str, Trajectory],
    layout: PublishedScenario,
    scenario: Scenario,
    make_request: Asked,
) -> list[tuple[Line, Source | None]]:
    """Return every line of a published conversation, each with the source of the reply: its file,
    if that has the same words and the same request, else a source without a file; None for a line
    that is no reply.

    A reply has the name that belongs to the question that it answers; a line of the model that
    answers no question was part of the script.
    """
    steps = pairwise(scenario.script)
    names = {
        step.text.strip(): r.name
        for step, r in steps
        if isinstance(step, Says) and isinstance(r, Ask)
    }
    spoken: list[tuple[Line, Source | None]] = []
    question = ""
    messages, turns = last.request.messages, last.request.turns
    for at, line in enumerate(turns, len(messages) - len(turns)):
        source = None
        if line.speaker == "human":
            question = line.text.strip()
        elif name := names.pop(question, "") if len(layout.stems) > 1 else "":
            line, sent = replace(line, name=name), messages[:at]
            file = by_stem.get(layout.find_file_stem(name))
            if file and (file.text, file.notes, file.request.messages) == (
                line.text,
                line.notes,
                sent,
            ):
                source = _make_source(file, make_request)
            else:
                reply = Reply(
                    line.text, line.notes, reason=_describe_broken_reply(line.text, "", None)
                )
                source = Source(make_request(sent), reply, last.reply_time, None)
        spoken.append((line, source))
    own = Line("model", last.text, last.notes, layout.find_reply_name(last.path.stem))
    return [*spoken, (own, _make_source(last, make_request))]


def _make_source(file: Trajectory, make_request: Asked) -> Source:
    reply = Reply(
        text=file.text,
        notes=file.notes,
        reasoning=file.reasoning,
        cut_off=file.finish_reason == "length",
        plain_text=file.path.delivery == "tool_role" and not file.tool_calls,
        reasoned=bool(file.reasoning),
        reason=_describe_broken_reply(file.text, file.reasoning, file.finish_reason),
    )
    return Source(make_request(file.request.messages), reply, file.reply_time, file)


def _describe_broken_reply(text: str, reasoning: str, finish_reason: str | None) -> str | None:
    """Return why a reply with that text is no valid answer by the rules of this program; None if it
    is valid.
    """
    if finish_reason == "error":
        return "the provider stopped with an error"
    if finish_reason == "content_filter":
        return "stopped by the provider's filter"
    if has_words(text):
        return None
    if text.strip():
        return "template debris or punctuation only"
    return "reasoning only, nothing said" if reasoning else "empty"


# ---------------------------------------------------------------- departures from the protocol


def _describe_departure(
    protocol: Protocol,
    scenario: Scenario,
    last: Trajectory,
    transcript: Transcript,
    layout: PublishedScenario,
) -> str | None:
    """Return, in a few words, how a published conversation differs from *scenario* of *protocol*;
    None if it does not.
    """
    request, wording = last.request, protocol.tool_role
    lacking = layout.stems[layout.stems.index(last.path.stem) + 1 :]
    if lacking:
        return f"not whole: {lacking[0]} is not in the data"
    if request.system.strip() != find_system_message(
        protocol, last.path.variant, last.path.delivery, scenario.id
    ):
        return "another system message than the others had"
    if last.path.delivery == "tool_role":
        if (request.opening.strip(), request.greeting.strip()) != (
            wording.opening,
            wording.greeting,
        ):
            return "another opening than the others had"
        if request.tool != (wording.name, wording.argument):
            return "another tool than the others had"
    replies = {line.name: line.text for line in transcript.lines if line.name}
    scripted = play_script(transcript.system, scenario.script, lambda name: replies.get(name, ""))
    if _strip_lines(transcript) != _strip_lines(scripted):
        return "other words, or in another order, than in the other conversations"
    return None


def _strip_lines(transcript: Transcript) -> list[tuple[str, str, str]]:
    return [(line.speaker, line.text.strip(), line.name) for line in transcript.lines]
