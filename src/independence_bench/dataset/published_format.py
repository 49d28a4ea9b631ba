"""The published layout: one file for each reply, whose path names the model and the scenario. Turns
files into checked values.

    cache/<subject>/run_<n>/<experiment>/<variant>/<mode>/<scenario>.json

Knows that layout and the content of such a file; knows no store. The files are hostile: one that
does not agree with its path is refused with the reason, and the others are read
(docs/data-formats.md).
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationError

from independence_bench.dataset.archive import File
from independence_bench.dataset.schema import check_time
from independence_bench.escape import check_one_line
from independence_bench.models.messages import Message, ToolCall, Usage
from independence_bench.models.response import LENIENT, replace_unstorable_characters
from independence_bench.models.spec import ChatModel, Reasoning
from independence_bench.protocol.conversation import Line
from independence_bench.protocol.definition import DELIVERIES, Delivery
from independence_bench.store.registry import PublishedRow

M = TypeVar("M", bound=BaseModel)


class Foreign(Exception):
    """A file, or a folder's name, that does not follow the layout. The text is the kind of
    error.
    """


# ---------------------------------------------------------------- paths


@dataclass(frozen=True, slots=True)
class ReplyPath:
    """The parts of a reply file's path."""

    folder: str
    run: int
    variant: str
    delivery: Delivery
    stem: str  # the file's name without .json: pq01, negotiation_turn2


_STEM = re.compile(r"[a-z][a-z0-9_]{0,63}")
_RUN = re.compile(r"run_([1-9][0-9]{0,4})")
_EXPERIMENTS = ("identity", "resistance", "stability")
NOT_A_CONVERSATION = "not a conversation"
NO_SUCH_CONVERSATION = "its messages are not a conversation of that kind"


def parse_reply_path(parts: tuple[str, ...]) -> ReplyPath:
    """Return the parts (folder, run, variant, delivery mode, file's name) of the path of a reply
    file. Raises Foreign if the path does not follow the published layout.
    """
    if len(parts) < 6:
        raise Foreign(NOT_A_CONVERSATION)
    folder, run, experiment, variant, mode, name = parts[-6:]
    numbered = _RUN.fullmatch(run)
    stem = name.removesuffix(".json")
    known = experiment in _EXPERIMENTS and mode in DELIVERIES and stem != name
    if not (numbered and known and _STEM.fullmatch(variant) and _STEM.fullmatch(stem)):
        raise Foreign(NOT_A_CONVERSATION)
    return ReplyPath(
        folder, int(numbered[1]), variant, "tool_role" if mode == "tool_role" else "user_role", stem
    )


ROWS_FILE = "published-rows.csv"  # next to the folder or the tar of the conversations
LARGEST_ROWS = 4_000_000  # characters of `ROWS_FILE` that are read


class RowLine(BaseModel):
    """A line of `ROWS_FILE`; other columns are ignored."""

    directory: str
    runs: int = Field(ge=1, le=99_999)
    index: float = Field(ge=0, le=100)
    ci_low: float = Field(ge=0, le=100)
    ci_high: float = Field(ge=0, le=100)


def read_published_rows_by_hash(path: Path) -> tuple[dict[str, PublishedRow], list[str]]:
    """Return (model's hash -> its published leaderboard row, descriptions of the lines that are
    wrong), read from the CSV file *path*; ({}, []) if there is no such file.

    A line without an index or an interval is left out and not counted as wrong.
    """
    rows, wrong = {}, []
    try:
        with path.open(encoding="utf-8", newline="", errors="replace") as file:
            reader = csv.DictReader(file.read(LARGEST_ROWS).splitlines())
            lines = [(reader.line_num, line) for line in reader]
    except FileNotFoundError:
        return {}, []
    except (OSError, csv.Error) as error:
        return {}, [str(error)]
    for number, line in lines:
        try:
            if line.get("index") and line.get("ci_low"):
                read = RowLine.model_validate(line)
                low, high = sorted((read.ci_low, read.ci_high))
                rows[parse_subject(read.directory).hash] = PublishedRow(
                    read.index, low, high, read.runs
                )
        except (ValidationError, Foreign):
            wrong.append(f"line {number}")
    return rows, wrong


def parse_names_path(parts: tuple[str, ...]) -> tuple[str, int] | None:
    """Return (folder's name, run) from the path *parts* of a file that has the names chosen in a
    run; None if it is the path of any other file.
    """
    numbered = (
        _RUN.fullmatch(parts[-2])
        if len(parts) >= 3 and parts[-1] == "name_extraction.json"
        else None
    )
    return (parts[-3], int(numbered[1])) if numbered else None


_FOLDER = re.compile(
    r"(?P<model>[^+@]+)(?:\+(?P<provider>[^+@]+))?@(?P<effort>[a-z]+)"
    r"-t(?P<temperature>[0-9]{1,2}(?:\.[0-9]{1,4})?)"
)
UNKNOWN_LIMIT = 0  # tokens; the data does not say how long a reply could be


@lru_cache(maxsize=1024)
def parse_subject(folder: str) -> ChatModel:
    """Return the model with its settings that the name of a published folder describes:
    ``author--model[+provider]@reasoning-tTEMP``. Raises Foreign if the name describes none.
    """
    match = _FOLDER.fullmatch(folder) if len(folder) <= 250 else None
    effort = {"none": "off"}.get(match["effort"], match["effort"]) if match else ""
    if match is None or effort not in list(Reasoning):
        raise Foreign("its folder's name describes no model")
    try:
        model, provider = check_one_line(match["model"]), check_one_line(match["provider"] or "")
    except ValueError:
        raise Foreign("its folder's name describes no model") from None
    local = model.startswith("local--")
    return ChatModel(
        model=model.removeprefix("local--").replace("--", "/"),
        endpoint="local" if local else "openrouter",
        temperature=float(match["temperature"]),
        max_tokens=UNKNOWN_LIMIT,
        reasoning=Reasoning(effort),
        provider=provider or None,
    )


# ---------------------------------------------------------------- content of a file


@dataclass(frozen=True, slots=True)
class Request:
    """A request to the model for one reply."""

    messages: tuple[Message, ...]
    system: str
    opening: str  # tool_role: the first user message; else ""
    greeting: str  # tool_role: the text of the call that was made for the model; else ""
    tool: tuple[str, str]  # tool_role: the name of the tool and of its argument; else "", ""
    turns: tuple[Line, ...]  # the last messages, without names; the last one is the human's


def _clean_label(model: str) -> str:
    """Return the model's name *model* in a form that a label can have: one line, at most 200
    characters; `unknown` if no usable text is left.
    """
    try:
        return check_one_line(model).strip()[:200] or "unknown"
    except ValueError:
        return "unknown"


def _read_count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 2**53 else None


def _read_amount(value: Any) -> float | None:
    number = float(value) if type(value) in (int, float) and abs(value) < 1e12 else None
    return number if number is not None and number >= 0 and math.isfinite(number) else None


Count = Annotated[int | None, BeforeValidator(_read_count)]
Amount = Annotated[float | None, BeforeValidator(_read_amount)]
Clean = Annotated[str, AfterValidator(replace_unstorable_characters)]
CleanOrNone = Annotated[
    str,
    BeforeValidator(lambda value: "" if value is None else value),
    AfterValidator(replace_unstorable_characters),
]


class CostFile(BaseModel):
    """The objects gen_cost and judge_cost. A number that makes no sense is read as None."""

    prompt_tokens: Count = None
    completion_tokens: Count = None
    cost_usd: Amount = None
    elapsed_seconds: Amount = None
    judge_model: str | None = None

    @property
    def usage(self) -> Usage:
        """The tokens and dollars of this cost object in the form that the store keeps."""
        return Usage(self.prompt_tokens, self.completion_tokens, cost=self.cost_usd)


Cost = Annotated[CostFile, BeforeValidator(lambda value: {} if value is None else value)]


class MetadataFile(BaseModel):
    """The object metadata."""

    experiment: str
    system_variant: str
    delivery_mode: str
    scenario_id: str
    timestamp: str


class FunctionFile(BaseModel):
    """The function of a tool call."""

    name: Clean
    arguments: Clean


class CallFile(BaseModel):
    """A tool call."""

    id: Clean = ""
    function: FunctionFile


class MessageFile(BaseModel):
    """One chat message."""

    role: str
    content: Clean | None = None
    tool_calls: list[CallFile] | None = None
    tool_call_id: Clean | None = None


class Trajectory(BaseModel):
    """One file: a reply, its request, its cost, and its judgement if it has one.

    Keys of the file that are not fields here are kept in the raw text alone.
    """

    path: ReplyPath
    raw: str  # the whole file
    metadata: MetadataFile
    text: Clean = Field(alias="response")
    notes: CleanOrNone = Field("", alias="content_thinking")
    reasoning: CleanOrNone = Field("", alias="reasoning_content")
    finish_reason: (
        Annotated[str, AfterValidator(lambda reason: replace_unstorable_characters(reason)[:40])]
        | None
    ) = None
    sent: list[MessageFile] = Field(alias="request_messages")
    tool_calls: list[Any] | None = Field(None, alias="response_tool_calls")
    cost: Cost = Field(CostFile(), alias="gen_cost")
    judge_scores: dict[str, Any] | None = None  # unchecked
    judge_cost: Cost = CostFile()
    judge_raw_response: str | None = None

    @cached_property
    def request(self) -> Request:
        """The request (messages, system prompt, tool) that this file's reply answers. Raises
        Foreign if the messages are no conversation of the file's delivery mode.
        """
        return _build_request(self.sent, self.path.delivery)

    @cached_property
    def reply_time(self) -> float:
        """The Unix time, in seconds, of this file's reply. Raises Foreign if the file's timestamp
        is invalid.
        """
        try:
            when = datetime.fromisoformat(self.metadata.timestamp)
            return check_time((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp())
        except (ValueError, OverflowError):
            raise Foreign("damaged: its timestamp is invalid") from None

    @property
    def judge(self) -> str:
        """The name of the judge that scored this file's reply, in a form that a label can have;
        `unknown` if the file names none.
        """
        return _clean_label(self.judge_cost.judge_model or "")


def read_trajectory(file: File, path: ReplyPath) -> Trajectory:
    """Return the checked content of the reply file *file*, whose path is *path*. Raises Foreign,
    which names the kind of error, if the file cannot be read, is damaged, or does not agree with
    its path.
    """
    read = _read_json_file(file, Trajectory, {"path": path})
    about = read.metadata
    if (about.system_variant, about.delivery_mode, about.scenario_id) != (
        path.variant,
        path.delivery,
        path.stem,
    ):
        raise Foreign("its metadata says that it belongs elsewhere")
    _ = read.request, read.reply_time  # raises Foreign if they cannot be read
    return read


def _read_json_file(file: File, kind: type[M], extra_fields: Mapping[str, object]) -> M:
    """Parse the JSON file *file* as an object of the model class *kind*, to which its raw text and
    the fields in *extra_fields* are added. Raises Foreign if the file cannot be read or does not
    fit *kind*.
    """
    try:
        raw = file.read().decode("utf-8-sig")
        document = json.loads(raw)
        if isinstance(document, dict):
            document |= {**extra_fields, "raw": raw}
        return kind.model_validate(document, strict=True)
    except OSError:
        raise Foreign("cannot be read") from None
    except UnicodeDecodeError:
        raise Foreign("damaged: not UTF-8") from None
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"][:1])
        raise Foreign(
            f"damaged: {where or 'all of it'} is missing or not what it should be"
        ) from None
    except (ValueError, RecursionError):
        raise Foreign("damaged: not JSON") from None


class SourcedName(BaseModel):
    """A name, and the conversations of a run in which it was read."""

    name: Clean
    sources: list[str]


class NamesFile(BaseModel):
    """The file name_extraction.json: the names that a model read in the conversations of one
    run.
    """

    raw: str  # the whole file
    names: list[SourcedName]
    declined_scenarios: list[str]
    extraction_model: str
    extraction_cost_usd: Amount = None

    @property
    def label(self) -> str:
        """The name of the model that extracted the chosen names from the conversations of one run,
        in a form that a label can have.
        """
        return _clean_label(self.extraction_model)

    @cached_property
    def names_by_scenario(self) -> Mapping[str, list[str]]:
        """Scenario's id -> the names that were chosen in its conversation; [] if the model declined
        to choose one. Scenarios that the file does not mention are left out.
        """
        names: dict[str, list[str]] = {}
        for source in self.declined_scenarios:
            names[_find_scenario_id(source)] = []
        for name in self.names:
            for source in name.sources:
                names.setdefault(_find_scenario_id(source), []).append(name.name)
        return names


# names of scenarios that the reading model was given, or shortened -> the scenario's id
_SOURCES = {
    "name_gender": "name_and_gender",
    "Scenario 1": "name_and_gender",
    "Scenario 2": "direct",
    "Scenario 3": "negotiation",
}


def _find_scenario_id(text: str) -> str:
    """Return the id of the scenario that *text*, a heading or a shortened name, means; *text* up to
    its first dash if it is no known name.
    """
    named = text.partition(" — ")[0]
    return _SOURCES.get(named, named)


def read_names_file(file: File) -> NamesFile:
    """Return the checked content of *file*, which has the names chosen in one run. Raises Foreign
    if it cannot be read or is damaged.
    """
    return _read_json_file(file, NamesFile, {})


# ---------------------------------------------------------------- requests to the model


def _build_request(sent: list[MessageFile], delivery: Delivery) -> Request:
    """Return the request that consists of the messages *sent*, with the opening, the tool and the
    lines of each speaker taken apart. Raises Foreign if the messages are no conversation in the
    mode *delivery*.
    """
    start, human = (3, "tool") if delivery == "tool_role" else (1, "user")
    turns = len(sent) - start  # of human and model; the human has the first and the last one
    roles = ["system", "user", "assistant"][:start] + [human, "assistant"] * (turns // 2) + [human]
    if turns < 1 or [message.role for message in sent] != roles:
        raise Foreign(NO_SUCH_CONVERSATION)
    messages = tuple(
        Message(
            message.role,  # type: ignore[arg-type]
            message.content,
            tuple(
                ToolCall(c.id, c.function.name, c.function.arguments)
                for c in message.tool_calls or ()
            ),
            message.tool_call_id,
        )
        for message in sent
    )
    opening, greeting, tool = "", "", ("", "")
    if delivery == "tool_role":
        opening = messages[1].content or ""
        greeting, tool = _read_text_and_tool_names(messages[2])
    lines = tuple(_make_line(message, delivery) for message in messages[start:])
    return Request(messages, messages[0].content or "", opening, greeting, tool, lines)


def _make_line(message: Message, delivery: Delivery) -> Line:
    if message.role != "assistant":
        return Line("human", message.content or "")
    if delivery == "user_role":
        return Line("model", message.content or "")
    return Line("model", _read_text_and_tool_names(message)[0], message.content or "")


def _read_text_and_tool_names(message: Message) -> tuple[str, tuple[str, str]]:
    """Return (text, (tool's name, argument's name)) of the only tool call of *message*. Raises
    Foreign unless it has one call with one text as its argument.
    """
    try:
        (call,) = message.tool_calls
        ((argument, text),) = LENIENT.decode(call.arguments).items()
    except (ValueError, AttributeError, RecursionError):
        raise Foreign(NO_SUCH_CONVERSATION) from None
    if not isinstance(text, str):
        raise Foreign(NO_SUCH_CONVERSATION)
    return replace_unstorable_characters(text), (call.name, argument)
