"""Files of one conversation -> what was said in it, and every reply with the request that caused it.

A conversation is what the model was shown last: the history in its last request, and its last reply. Where an earlier
file says something else than that history, both are kept: the history in the conversation, the file's reply as another
attempt at the same question, or, where its request was another one, as a reply of its own. Pure; knows no store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from independence_bench.dataset.published_format import Request, Trajectory
from independence_bench.dataset.published_wording import Told, own_system
from independence_bench.judging.published_output import PublishedJudgement
from independence_bench.models.messages import ChatRequest, Tool
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.conversation import Line, Transcript, Words, begin
from independence_bench.protocol.definition import Ask, Configuration, Protocol, Says, Scenario
from independence_bench.protocol.delivery import is_words
from independence_bench.store.results import Reply


@dataclass(frozen=True, slots=True)
class Source:
    """What is known of one attempt: *file* is None where the reply is known from a later request alone."""

    request: ChatRequest
    reply: Reply
    at: float
    file: Trajectory | None
    replaced: bool = False  # the later turns answer another reply to the same request

    def key(self, run: int) -> str:
        """The key of the call that it is an attempt at."""
        return self.request.key(run)


@dataclass(frozen=True, slots=True)
class Conversation:
    """One scenario of one run, as it was told. *reason*: why it is not what the protocol asks for; None where it is."""

    subject: ChatModel
    run: int
    configuration: Configuration
    scenario: Scenario
    transcript: Transcript
    said: tuple[Source, ...]  # the replies in the transcript, in order
    others: tuple[Source, ...]  # replies that are in the files and not in the transcript
    given: PublishedJudgement | None
    given_at: float
    reason: str | None

    @property
    def at(self) -> float:
        """When its last reply was given."""
        return self.said[-1].at


def retell(
    protocol: Protocol, subject: ChatModel, files: Sequence[Trajectory], scenario: Scenario, told: Told
) -> Conversation:
    """The conversation that *files*, at least one, are parts of."""
    by_stem = {file.place.stem: file for file in files}
    last = next(by_stem[stem] for stem in reversed(told.stems) if stem in by_stem)
    place = last.place
    configuration = Configuration(place.variant, place.delivery)
    lines = _lines(last, told, scenario)
    tool = _tool(last.request, protocol)
    said = _said(last, lines, subject, tool, by_stem, told)
    transcript = Transcript(last.request.system, tuple(lines))
    judging = by_stem.get(told.judged_on)
    broken = next((f"{line.name}: {s.reply.reason}" for line, s in _with_lines(lines, said) if s.reply.reason), None)
    return Conversation(
        subject,
        place.run,
        configuration,
        scenario,
        transcript,
        said,
        tuple(_others(files, said, subject, tool)),
        judging.given if judging else None,
        judging.at if judging else last.at,
        _departure(protocol, scenario, last, transcript, told) or broken,
    )


def _with_lines(lines: Sequence[Line], said: Sequence[Source]) -> list[tuple[Line, Source]]:
    return list(zip((line for line in lines if line.name), said, strict=True))


def _tool(request: Request, protocol: Protocol) -> tuple[Tool, ...]:
    """The tool as far as it is known: its words to the model are not."""
    name, argument = request.tool
    wording = protocol.tool_role
    return (Tool(name, wording.description, argument, wording.argument_description),) if name else ()


# ---------------------------------------------------------------- what was said


def _lines(last: Trajectory, told: Told, scenario: Scenario) -> list[Line]:
    """Everything said: a reply has the name that goes with the question it answers; what answers none was given."""
    names = _names(scenario)
    lines: list[Line] = []
    question = ""
    for turn in last.request.turns:
        if turn.speaker == "human":
            question = turn.text.strip()
            lines.append(Line("human", turn.text))
        else:
            name = names.pop(question, "") if len(told.stems) > 1 else ""
            lines.append(Line("model", turn.text, turn.notes, name))
    lines.append(Line("model", last.text, last.notes, told.reply(last.place.stem)))
    return lines


def _names(scenario: Scenario) -> dict[str, str]:
    """What the human says -> the name of the reply that follows it in the script."""
    steps = scenario.script
    return {
        step.text.strip(): after.name
        for step, after in pairwise(steps)
        if isinstance(step, Says) and isinstance(after, Ask)
    }


def _said(
    last: Trajectory,
    lines: Sequence[Line],
    subject: ChatModel,
    tool: tuple[Tool, ...],
    by_stem: Mapping[str, Trajectory],
    told: Told,
) -> tuple[Source, ...]:
    """A source for each named line: its file, where that says the same and was caused by the same request."""
    sources = []
    for line, turn in zip(lines, (*last.request.turns, None), strict=True):
        if not line.name:
            continue
        if turn is None:
            sources.append(_of_file(last, subject, tool))
            continue
        request = ChatRequest(subject, last.request.messages[: turn.message], tool)
        file = by_stem.get(told.stem(line.name))
        if file and (file.text, file.notes, file.request.messages) == (line.text, line.notes, request.messages):
            sources.append(_of_file(file, subject, tool))
        else:
            reply = Reply(line.text, line.notes, reason=_broken(line.text, "", None))
            sources.append(Source(request, reply, last.at, None))
    return tuple(sources)


def _others(
    files: Sequence[Trajectory], said: Sequence[Source], subject: ChatModel, tool: tuple[Tool, ...]
) -> list[Source]:
    used = {source.file.place.stem for source in said if source.file}
    asked = {source.request.messages for source in said}
    others = [_of_file(file, subject, tool) for file in files if file.place.stem not in used]
    return [replace(source, replaced=source.request.messages in asked) for source in others]


def _of_file(file: Trajectory, subject: ChatModel, tool: tuple[Tool, ...]) -> Source:
    reply = Reply(
        text=file.text,
        notes=file.notes,
        reasoning=file.reasoning,
        cut_off=file.finish_reason == "length",
        plain_text=file.place.delivery == "tool_role" and not file.called,
        reasoned=bool(file.reasoning),
        reason=_broken(file.text, file.reasoning, file.finish_reason),
    )
    return Source(ChatRequest(subject, file.request.messages, tool), reply, file.at, file)


def _broken(text: str, reasoning: str, finish_reason: str | None) -> str | None:
    """Why a reply is no answer by our rules; None where it is one."""
    if finish_reason == "error":
        return "the provider stopped with an error"
    if finish_reason == "content_filter":
        return "stopped by the provider's filter"
    if is_words(text):
        return None
    if text.strip():
        return "template debris or punctuation only"
    return "reasoning only, nothing said" if reasoning else "empty"


# ---------------------------------------------------------------- what is not as the protocol says


def _departure(
    protocol: Protocol, scenario: Scenario, last: Trajectory, transcript: Transcript, told: Told
) -> str | None:
    """What differs from the scenario as the protocol has it; None where nothing does."""
    request, wording = last.request, protocol.tool_role
    lacking = told.stems[told.stems.index(last.place.stem) + 1 :]
    if lacking:
        return f"not whole: {lacking[0]} is not in the data"
    systems = dict(protocol.systems)
    own = own_system(last.place.variant, scenario.id)
    if request.system.strip() != systems.get(own, systems.get(last.place.variant)):
        return "another system message than the others had"
    if last.place.delivery == "tool_role":
        if (request.opening.strip(), request.greeting.strip()) != (wording.opening, wording.greeting):
            return "another opening than the others had"
        if request.tool != (wording.name, wording.argument):
            return "another tool than the others had"
    if _bare(transcript) != _bare(_as_scripted(transcript, scenario)):
        return "other words, or in another order, than in the other conversations"
    return None


def _as_scripted(transcript: Transcript, scenario: Scenario) -> Transcript:
    """The script played with the transcript's own replies."""
    replies = {line.name: line.text for line in transcript.lines if line.name}
    talk = begin(transcript.system, scenario.script)
    while talk.awaiting:
        talk = talk.answered(Words(replies.get(talk.awaiting, "")))
    return talk.transcript


def _bare(transcript: Transcript) -> list[tuple[str, str, str]]:
    return [(line.speaker, line.text.strip(), line.name) for line in transcript.lines]


# ---------------------------------------------------------------- the judgement
