"""The published layout: one file a reply, its path saying who gave it where. Files -> checked values.

    cache/<subject>/run_<n>/<experiment>/<variant>/<mode>/<scenario>.json

Knows that layout and what stands in such a file; knows no store. What it is read from is hostile: a file that is not
what its path says is refused with the reason, and the rest is read (docs/published-data.md).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ValidationError

from independence_bench.dataset.archive import File
from independence_bench.models.messages import Message, ToolCall, Usage
from independence_bench.models.response import clean_text
from independence_bench.models.spec import ChatModel, Reasoning
from independence_bench.protocol.definition import DELIVERIES, Delivery
from independence_bench.yaml_io import one_line


class Foreign(Exception):
    """A file, or a folder's name, that is not what the layout says. The text is the kind of thing that is wrong."""


# ---------------------------------------------------------------- where a file is


@dataclass(frozen=True, slots=True)
class ReplyPath:
    """What a path says."""

    folder: str
    run: int
    variant: str
    delivery: Delivery
    stem: str  # the file's name without .json: pq01, negotiation_turn2


_STEM = re.compile(r"[a-z][a-z0-9_]{0,63}")
_RUN = re.compile(r"run_([1-9][0-9]{0,4})")
_EXPERIMENTS = ("identity", "resistance", "stability")
NOT_A_CONVERSATION = "not a conversation"


def reply_path(parts: tuple[str, ...]) -> ReplyPath:
    """What the path *parts* says. Raises Foreign where it is not one of the layout's."""
    if len(parts) < 6:
        raise Foreign(NOT_A_CONVERSATION)
    folder, run, experiment, variant, mode, name = parts[-6:]
    numbered = _RUN.fullmatch(run)
    stem = name.removesuffix(".json")
    known = experiment in _EXPERIMENTS and mode in DELIVERIES and stem != name
    if not (numbered and known and _STEM.fullmatch(variant) and _STEM.fullmatch(stem)):
        raise Foreign(NOT_A_CONVERSATION)
    return ReplyPath(folder, int(numbered[1]), variant, "tool_role" if mode == "tool_role" else "user_role", stem)


_FOLDER = re.compile(
    r"(?P<model>[^+@]+)(?:\+(?P<provider>[^+@]+))?@(?P<effort>[a-z]+)-t(?P<temperature>[0-9]{1,2}(?:\.[0-9]{1,4})?)"
)
UNKNOWN_LIMIT = 0  # tokens; how long a reply could be is not in the data


def subject_of(folder: str) -> ChatModel:
    """The subject that a folder's name describes: ``author--model[+provider]@reasoning-tTEMP``. Raises Foreign."""
    found = _FOLDER.fullmatch(folder) if len(folder) <= 250 else None
    effort = {"none": "off"}.get(found["effort"], found["effort"]) if found else ""
    if found is None or effort not in list(Reasoning):
        raise Foreign("its folder's name describes no subject")
    try:
        model, provider = one_line(found["model"]), one_line(found["provider"] or "")
    except ValueError:
        raise Foreign("its folder's name describes no subject") from None
    local = model.startswith("local--")
    return ChatModel(
        model=model.removeprefix("local--").replace("--", "/"),
        endpoint="local" if local else "openrouter",
        temperature=float(found["temperature"]),
        max_tokens=UNKNOWN_LIMIT,
        reasoning=Reasoning(effort),
        provider=provider or None,
    )


# ---------------------------------------------------------------- what a file says


@dataclass(frozen=True, slots=True)
class Turn:
    """One message after the opening: of the human, or of the model (with what stood beside its call)."""

    message: int  # its number among the messages
    speaker: str  # human | model
    text: str
    notes: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """What the model was sent for one reply."""

    messages: tuple[Message, ...]
    system: str
    opening: str  # tool_role: the first user message; else ""
    greeting: str  # tool_role: the call that was made for the model; else ""
    tool: tuple[str, str]  # tool_role: the name of the tool and of its argument; else "", ""
    turns: tuple[Turn, ...]  # the last one is the human's


@dataclass(frozen=True, slots=True)
class PublishedJudgement:
    """What the judge of the data gave; *scores* are as they stand there, unchecked."""

    judge: str
    scores: Mapping[str, Any]
    usage: Usage
    seconds: float | None
    raw: str


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One file: a reply, what caused it, what it cost, and its judgement where it carries one."""

    path: ReplyPath
    request: Request
    text: str
    notes: str
    reasoning: str
    finish_reason: str | None
    called: bool  # whether it spoke by a tool call
    usage: Usage
    seconds: float | None
    at: float  # when it was given, seconds since 1970
    given: PublishedJudgement | None
    raw: str  # the whole file


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 2**53 else None


def _amount(value: Any) -> float | None:
    number = float(value) if type(value) in (int, float) and abs(value) < 1e12 else None
    return number if number is not None and number >= 0 and math.isfinite(number) else None


Count = Annotated[int | None, BeforeValidator(_count)]
Amount = Annotated[float | None, BeforeValidator(_amount)]


class CostFile(BaseModel):
    """gen_cost, judge_cost. A number that makes no sense is none."""

    prompt_tokens: Count = None
    completion_tokens: Count = None
    cost_usd: Amount = None
    elapsed_seconds: Amount = None
    judge_model: str | None = None

    @property
    def usage(self) -> Usage:
        """As the store keeps it."""
        return Usage(self.prompt_tokens, self.completion_tokens, cost=self.cost_usd)


class MetadataFile(BaseModel):
    """metadata"""

    experiment: str
    system_variant: str
    delivery_mode: str
    scenario_id: str
    timestamp: str


class FunctionFile(BaseModel):
    """The function that a tool call calls."""

    name: str
    arguments: str


class CallFile(BaseModel):
    """A tool call."""

    id: str = ""
    function: FunctionFile


class MessageFile(BaseModel):
    """One chat message."""

    role: str
    content: str | None = None
    tool_calls: list[CallFile] | None = None
    tool_call_id: str | None = None


class TrajectoryFile(BaseModel):
    """One file; keys that it does not name are kept in the raw text alone."""

    metadata: MetadataFile
    response: str
    finish_reason: str | None = None
    gen_cost: CostFile | None = None
    judge_scores: dict[str, Any] | None = None
    judge_cost: CostFile | None = None
    judge_raw_response: str | None = None
    request_messages: list[MessageFile]
    response_tool_calls: list[Any] | None = None
    reasoning_content: str | None = None
    content_thinking: str | None = None


def read_trajectory(file: File, path: ReplyPath) -> Trajectory:
    """What *file* says. Raises Foreign, with the kind of thing that is wrong."""
    raw, document = _json(file)
    try:
        said = TrajectoryFile.model_validate(document, strict=True)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"][:1])
        raise Foreign(f"damaged: {where or 'all of it'} is missing or not what it should be") from None
    about = said.metadata
    if (about.system_variant, about.delivery_mode, about.scenario_id) != (path.variant, path.delivery, path.stem):
        raise Foreign("its metadata says that it belongs elsewhere")
    cost = said.gen_cost or CostFile()
    return Trajectory(
        path=path,
        request=_request(said.request_messages, path.delivery),
        text=clean_text(said.response),
        notes=clean_text(said.content_thinking or ""),
        reasoning=clean_text(said.reasoning_content or ""),
        finish_reason=None if said.finish_reason is None else clean_text(said.finish_reason)[:40],
        called=bool(said.response_tool_calls),
        usage=cost.usage,
        seconds=cost.elapsed_seconds,
        at=_time(about.timestamp),
        given=_given(said),
        raw=raw,
    )


def _json(file: File) -> tuple[str, Any]:
    try:
        raw = file.read().decode("utf-8")
    except OSError:
        raise Foreign("cannot be read") from None
    except UnicodeDecodeError:
        raise Foreign("damaged: not UTF-8") from None
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError):
        raise Foreign("damaged: not JSON") from None
    return raw, document


def _given(said: TrajectoryFile) -> PublishedJudgement | None:
    if said.judge_scores is None:
        return None
    cost = said.judge_cost or CostFile()
    return PublishedJudgement(
        judge=_judge(cost.judge_model or ""),
        scores=said.judge_scores,
        usage=cost.usage,
        seconds=cost.elapsed_seconds,
        raw=said.judge_raw_response or "",
    )


def _judge(name: str) -> str:
    """A judge's name as a label can have it."""
    try:
        return one_line(name).strip()[:200] or "unknown"
    except ValueError:
        return "unknown"


def _time(text: str) -> float:
    try:
        when = datetime.fromisoformat(text)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise Foreign("damaged: its timestamp is none") from None


# ---------------------------------------------------------------- what the model was sent


def _request(sent: list[MessageFile], delivery: Delivery) -> Request:
    """The messages as values, and who says what in them. Raises Foreign where it is no such conversation."""
    messages = tuple(_message(message) for message in sent)
    roles = [message.role for message in messages]
    start = 3 if delivery == "tool_role" else 1
    if roles[:1] != ["system"] or len(roles) <= start or roles[start:] != _turn_about(len(roles) - start, delivery):
        raise Foreign("its messages are no such conversation")
    opening = greeting = ""
    tool = ("", "")
    if delivery == "tool_role":
        if roles[1:3] != ["user", "assistant"]:
            raise Foreign("its messages are no such conversation")
        opening = messages[1].content or ""
        greeting, tool = _spoken(messages[2])
    turns = tuple(_turn(at, messages[at], delivery) for at in range(start, len(messages)))
    return Request(messages, messages[0].content or "", opening, greeting, tool, turns)


def _message(said: MessageFile) -> Message:
    if said.role not in ("system", "user", "assistant", "tool"):
        raise Foreign("its messages are no such conversation")
    called = tuple(
        ToolCall(clean_text(c.id), clean_text(c.function.name), clean_text(c.function.arguments))
        for c in said.tool_calls or ()
    )
    content = None if said.content is None else clean_text(said.content)
    return Message(said.role, content, called, said.tool_call_id and clean_text(said.tool_call_id))  # type: ignore[arg-type]


def _turn_about(count: int, delivery: Delivery) -> list[str]:
    """The roles of *count* messages, of human and model in turn, if the human has the first and the last."""
    human = "tool" if delivery == "tool_role" else "user"
    return [human if at % 2 == 0 else "assistant" for at in range(count)] if count % 2 else []


def _turn(at: int, message: Message, delivery: Delivery) -> Turn:
    if message.role != "assistant":
        return Turn(at, "human", message.content or "")
    if delivery == "user_role":
        return Turn(at, "model", message.content or "")
    text, _ = _spoken(message)
    return Turn(at, "model", text, message.content or "")


def _spoken(message: Message) -> tuple[str, tuple[str, str]]:
    """(what the one call of *message* says, the names of the tool and of the argument)."""
    try:
        (call,) = message.tool_calls
        ((argument, text),) = json.loads(call.arguments, strict=False).items()
    except (ValueError, AttributeError, RecursionError):
        raise Foreign("its messages are no such conversation") from None
    if not isinstance(text, str):
        raise Foreign("its messages are no such conversation")
    return clean_text(text), (call.name, argument)
