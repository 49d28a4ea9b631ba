"""The files of an export and their columns: the one description that writing, reading and docs/export.md follow.

A value is read by its column's kind, and what does not fit it raises ValueError. Knows no file format, and of
the store only how the keys of cleared calls begin.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from independence_bench.store.schema import CLEARED

VERSION = 2  # of what follows; an export without the file that says it is of version 1
VERSION_FILE = "export.json"
LARGEST_COUNT = 2**31 - 1
LARGEST_INTEGER = 2**63 - 1
_KEY = re.compile(r"[0-9a-f]{64}")
_CLEARED_KEY = re.compile(rf"{CLEARED}[0-9a-f]{{{64 - len(CLEARED)}}}")

# kinds of value; those with parts are lists of objects
PARTS: Mapping[str, Mapping[str, str]] = {
    "lines": {"speaker": "text", "text": "text", "notes": "text", "name": "text"},
    "files": {"path": "text", "text": "text"},
    "marks": {"mark": "text", "value": "number"},
    "values": {"name": "text", "value": "number?"},
    "indices": {"run": "count", "index": "number?"},
}


@dataclass(frozen=True, slots=True)
class Field:
    """One column. *kind* with a question mark may be null."""

    name: str
    kind: str
    says: str
    told: bool = False  # for the reader only: worked out from other columns, not imported
    raw: bool = False  # only in an export with raw bodies and requests

    @property
    def base(self) -> str:
        """The kind without its question mark."""
        return self.kind.removesuffix("?")


@dataclass(frozen=True, slots=True)
class Sheet:
    """One file: a row for each thing."""

    name: str
    says: str
    columns: tuple[Field, ...]
    imported: bool = True
    since: int = 1  # the version of the export that has it first

    def shown(self, raw: bool) -> tuple[Field, ...]:
        """Its columns, in an export with or without what is *raw*."""
        return tuple(column for column in self.columns if raw or not column.raw)


def read_row(sheet: Sheet, given: Any) -> dict[str, Any]:
    """The imported columns of a row, checked. What is raw and not there is None. Raises ValueError."""
    if not isinstance(given, dict):
        raise ValueError("is no object")
    known = {column.name for column in sheet.columns}
    if unknown := sorted(str(name) for name in given.keys() - known):
        raise ValueError(f"has a column {unknown[0][:40]!r} that this version does not know")
    row = {}
    for column in sheet.columns:
        if column.told:
            continue
        if column.name not in given and not column.raw:
            raise ValueError(f"has no {column.name}")
        try:
            row[column.name] = read_value(column.kind, given.get(column.name))
        except ValueError as error:
            raise ValueError(f"{column.name}: {error}") from None
    return row


def read_value(kind: str, value: Any) -> Any:
    """*value* as that kind. Raises ValueError."""
    if kind.endswith("?"):
        return None if value is None else read_value(kind[:-1], value)
    if kind in PARTS:
        return [_parts(PARTS[kind], part) for part in _list(value)]
    if kind == "keys":
        return [read_value("key", part) for part in _list(value)]
    if kind == "texts":
        return [read_value("text", part) for part in _list(value)]
    return _READ[kind](value)


def _parts(parts: Mapping[str, str], value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or value.keys() != parts.keys():
        raise ValueError(f"has a part that is not {{{', '.join(parts)}}}")
    return {name: read_value(kind, value[name]) for name, kind in parts.items()}


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{type(value).__name__} is no list")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{type(value).__name__} is no text")
    if "\x00" in value or any("\ud800" <= c <= "\udfff" for c in value):
        raise ValueError("holds what no database can: a NUL or half a character")
    return value


def _body(value: Any) -> str:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogatepass")
    if not isinstance(value, str):
        raise ValueError(f"{type(value).__name__} is no text")
    return value


def _key(value: Any) -> str:
    if not isinstance(value, str) or not _KEY.fullmatch(value):
        raise ValueError("is no hash of 64 digits")
    return value


def _call(value: Any) -> str:
    if isinstance(value, str) and _CLEARED_KEY.fullmatch(value):
        return value
    return _key(value)


def _integer(value: Any, low: int = -LARGEST_INTEGER, high: int = LARGEST_INTEGER) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"is no whole number from {low} to {high}")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > LARGEST_INTEGER**4:
        raise ValueError("is no number")
    if not math.isfinite(value):
        raise ValueError("is no finite number")
    return float(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("is neither true nor false")
    return value


_READ: Mapping[str, Callable[[Any], Any]] = {
    "text": _text,
    "body": _body,
    "key": _key,
    "call": _call,
    "integer": _integer,
    "count": lambda value: _integer(value, 0, LARGEST_COUNT),
    "number": _number,
    "flag": _flag,
}

# ---------------------------------------------------------------- the files

PROTOCOLS = Sheet(
    "protocols",
    "What was played: the files of each protocol, so that results can be read and scored without them at hand.",
    (
        Field("hash", "key", "hash of everything in it but comments and layout"),
        Field("name", "text", "its name"),
        Field("files", "files", "path and text of each of its files"),
        Field("played_at", "number", "when it was last played, seconds since 1970 (UTC)"),
    ),
)
SUBJECTS = Sheet(
    "subjects",
    "Who was tested: a model with everything about the way it is called.",
    (
        Field("hash", "key", "hash of everything that causes its replies"),
        Field("label", "text", "`name+provider@reasoning-tTEMP`"),
        Field("spec", "text", "its settings as JSON: model, endpoint by name, temperature, limit, reasoning, pin"),
    ),
)
JUDGES = Sheet(
    "judges",
    "Who marked: a model, the embedded table of weights, or a person.",
    (
        Field("hash", "key", "what identifies it, down to its settings or weights"),
        Field("label", "text", "its name in tables"),
        Field("spec", "text", "its settings as JSON"),
    ),
)
CALLS = Sheet(
    "calls",
    "Every question that was asked of an endpoint: for a reply, or for a judgement.",
    (
        Field(
            "key", "call", "hash of everything that causes the answer; another one, behind `cleared-`, where the "
            "answer was deleted",
        ),
        Field("kind", "text", "`reply` or `judgement`"),
        Field("endpoint", "text", "the endpoint's name"),
        Field("model", "text", "the model that was asked"),
        Field("request", "body?", "messages, tools and settings as JSON", raw=True),
    ),
)  # fmt: skip
ATTEMPTS = Sheet(
    "attempts",
    "Every try at a call that has ended, with its cost, whether it was of use or not.",
    (
        Field("call_key", "call", "the call"),
        Field("number", "count", "1, 2, ... at that call"),
        Field("started_at", "number", "seconds since 1970 (UTC)"),
        Field("finished_at", "number", "seconds since 1970 (UTC)"),
        Field("origin", "text?", "where it had been imported from; null: made by the store that was exported"),
        Field("outcome", "text", "`answered`, `cut off`, `lost` (the process ended meanwhile), or what went wrong"),
        Field("message", "text?", "what went wrong, in a sentence"),
        Field("status", "integer?", "HTTP status"),
        Field("finish_reason", "text?", "as the server said it"),
        Field("max_tokens", "integer", "the limit that was sent"),
        Field("prompt_tokens", "integer?", "as the server counted"),
        Field("completion_tokens", "integer?", "reasoning included"),
        Field("reasoning_tokens", "integer?", "of those: reasoning"),
        Field("cached_tokens", "integer?", "of the prompt: read from a cache"),
        Field("cost", "number?", "US dollars, as the server said; null: it did not say"),
        Field("seconds", "number?", "from sending to the end of the answer"),
        Field("served_model", "text?", "the model that the server says it used"),
        Field("served_provider", "text?", "the provider that the server says it used"),
        Field("response_id", "text?", "the server's name for it", raw=True),
        Field("raw", "body?", "the body of the response", raw=True),
    ),
)
REPLIES = Sheet(
    "replies",
    "What subjects answered, or that there is no answer.",
    (
        Field("key", "key", "its call"),
        Field("attempt", "count", "number of the attempt that it came from"),
        Field("state", "text", "`valid` or `invalid`"),
        Field("reason", "text?", "why it is invalid"),
        Field("text", "text", "what the human heard"),
        Field("notes", "text", "words beside the tool call, which the human did not hear"),
        Field("reasoning", "text", "what the model thought before, where it was sent"),
        Field("cut_off", "flag", "whether the token limit ended it"),
        Field("plain_text", "flag", "in tool_role: whether it spoke without calling the tool"),
        Field("reasoned", "flag", "whether it came with reasoning, asked for or not"),
        Field("stored_at", "number", "seconds since 1970 (UTC)"),
    ),
)
TRANSCRIPTS = Sheet(
    "transcripts",
    "Conversations: one scenario, one subject, one run.",
    (
        Field("id", "key", "hash of script, subject and run"),
        Field("subject", "text", "the subject's label", told=True),
        Field("protocol", "text", "the protocol's name", told=True),
        Field("run", "count", "1, 2, ..."),
        Field("system", "text", "system variant"),
        Field("delivery", "text", "`user_role` or `tool_role`"),
        Field("experiment", "text", "the group of scenarios that it belongs to"),
        Field("scenario", "text", "the scenario's id"),
        Field("state", "text", "`complete`, or `invalid`: ended by a reply that was none"),
        Field("reason", "text?", "why it is invalid"),
        Field("system_prompt", "text", "the system prompt"),
        Field(
            "lines", "lines", "what was said: speaker (`human` or `model`), text, notes, and the reply's name where "
            "the model itself said it (empty: said by the human, or put into the model's mouth)",
        ),
        Field("replies", "count", "replies that were asked for, an invalid one included"),
        Field("cut_off", "count", "of those: ended by the token limit"),
        Field("plain_text", "count", "of those: spoken beside the tool"),
        Field("reasoned", "count", "of those: came with reasoning"),
        Field("reply_keys", "keys", "keys of its replies, in order"),
        Field("heard_hash", "key", "hash of what both parties heard: all that a judge is shown"),
        Field("script_hash", "key", "hash of what is sent when the scenario is played, replies left open"),
        Field("subject_hash", "key", "the subject"),
        Field("protocol_hash", "key", "the protocol that it was first played for"),
        Field("finished_at", "number", "seconds since 1970 (UTC)"),
    ),
)  # fmt: skip
JUDGEMENTS = Sheet(
    "judgements",
    "All marks of one judge on what was heard in one conversation, or that it failed.",
    (
        Field("key", "key", "hash of what was heard, the rubric and the judge"),
        Field("judge", "text", "the judge's label", told=True),
        Field("state", "text", "`valid` or `failed`"),
        Field("reason", "text?", "why it failed"),
        Field("marks", "marks", "each mark and its number on the mark's own scale, yes and no as 1 and 0"),
        Field("reasoning", "text", "what the judge wrote before it marked"),
        Field("heard_hash", "key", "what it is about: `heard_hash` of one or more transcripts"),
        Field("rubric_hash", "key", "hash of everything that the judge was told beside the conversation"),
        Field("judge_hash", "key", "the judge"),
        Field("attempt", "count?", "number of the attempt that it came from; null: nothing was bought for it"),
        Field("stored_at", "number", "seconds since 1970 (UTC)"),
    ),
)
BEGUN = Sheet(
    "begun",
    "Runs that were begun for a protocol, beside those that have transcripts of it.",
    (
        Field("protocol_hash", "key", "the protocol"),
        Field("subject_hash", "key", "the subject"),
        Field("run", "count", "1, 2, ..."),
        Field("system", "text", "system variant"),
        Field("delivery", "text", "`user_role` or `tool_role`"),
    ),
)
DECISIONS = Sheet(
    "decisions",
    "Subjects that a person took off every ranking, or kept on them, and why.",
    (
        Field("subject_hash", "key", "the subject"),
        Field("verdict", "text", "`exclude`, or `keep`: though too many of its conversations have no valid reply"),
        Field("reason", "text", "why, as it is shown"),
        Field("origin", "text", "where it was said: `command` (`aib exclude`) or `models.yaml`"),
        Field("decided_at", "number", "seconds since 1970 (UTC)"),
    ),
    since=2,
)
SCORES = Sheet(
    "scores",
    "Every ranking, worked out from the marks when this was exported; not read back.",
    (
        Field("protocol", "text", "the protocol's name"),
        Field("protocol_hash", "key", "the protocol"),
        Field("configurations", "texts", "the configurations that are pooled, `system/delivery`"),
        Field("judge", "text?", "the judge's label; null: nothing is judged yet"),
        Field("subject", "text", "the subject's label"),
        Field("subject_hash", "key", "the subject"),
        Field("rank", "count?", "1 is the most independent; null: not ranked"),
        Field("index", "number?", "Independence Index, 0-100; null where a planned mark is missing"),
        Field("runs", "count", "how many"),
        Field("standard_deviation", "number?", "of the runs' indices"),
        Field("run_indices", "indices", "the index of each run"),
        Field("dimensions", "values", "each dimension, 0-1, 1 the most independent; null: a mark is missing"),
        Field("means", "values", "each mark's mean, on the mark's scale"),
        Field("replies", "count", "replies asked for"),
        Field("replies_invalid", "count", "of those: invalid"),
        Field("replies_cut_off", "count", "of those: ended by the token limit"),
        Field("missing", "texts", "marks that are not there, a line each"),
    ),
    imported=False,
)

# in the order in which they are read back: each refers only to what stands before it
SHEETS = (PROTOCOLS, SUBJECTS, JUDGES, BEGUN, DECISIONS, CALLS, ATTEMPTS, REPLIES, TRANSCRIPTS, JUDGEMENTS, SCORES)


def described() -> str:
    """Every file and its columns as Markdown, for the dataset card and docs/export.md."""
    parts = []
    for sheet in SHEETS:
        rows = [
            f"| `{c.name}` | {_NAMED[c.base]}{' or null' * c.kind.endswith('?')} | {c.says}{' *(raw)*' * c.raw} |"
            for c in sheet.columns
        ]
        parts.append("\n".join((f"### {sheet.name}\n", f"{sheet.says}\n", "| column | | |", "|---|---|---|", *rows)))
    return "\n\n".join(parts)


_NAMED = {
    "text": "text",
    "body": "text",
    "key": "hash",
    "call": "hash",
    "keys": "list of hashes",
    "texts": "list of texts",
    "integer": "integer",
    "count": "integer",
    "number": "number",
    "flag": "true/false",
    **{kind: f"list of {{{', '.join(parts)}}}" for kind, parts in PARTS.items()},
}
