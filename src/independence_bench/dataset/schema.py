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
class Column:
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
    columns: tuple[Column, ...]
    imported: bool = True
    since: int = 1  # the version of the export that has it first

    def shown(self, raw: bool) -> tuple[Column, ...]:
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
        Column("hash", "key", "hash of everything in it but comments and layout"),
        Column("name", "text", "its name"),
        Column("files", "files", "path and text of each of its files"),
        Column("played_at", "number", "when it was last played, seconds since 1970 (UTC)"),
    ),
)
SUBJECTS = Sheet(
    "subjects",
    "Who was tested: a model with everything about the way it is called.",
    (
        Column("hash", "key", "hash of everything that causes its replies"),
        Column("label", "text", "`name+provider@reasoning-tTEMP`"),
        Column("spec", "text", "its settings as JSON: model, endpoint by name, temperature, limit, reasoning, pin"),
    ),
)
JUDGES = Sheet(
    "judges",
    "Who marked: a model, the embedded table of weights, or a person.",
    (
        Column("hash", "key", "what identifies it, down to its settings or weights"),
        Column("label", "text", "its name in tables"),
        Column("spec", "text", "its settings as JSON"),
    ),
)
CALLS = Sheet(
    "calls",
    "Every question that was asked of an endpoint: for a reply, or for a judgement.",
    (
        Column(
            "key", "call", "hash of everything that causes the answer; another one, behind `cleared-`, where the "
            "answer was deleted",
        ),
        Column("kind", "text", "`reply` or `judgement`"),
        Column("endpoint", "text", "the endpoint's name"),
        Column("model", "text", "the model that was asked"),
        Column("request", "body?", "messages, tools and settings as JSON", raw=True),
    ),
)  # fmt: skip
ATTEMPTS = Sheet(
    "attempts",
    "Every try at a call that has ended, with its cost, whether it was of use or not.",
    (
        Column("call_key", "call", "the call"),
        Column("number", "count", "1, 2, ... at that call"),
        Column("started_at", "number", "seconds since 1970 (UTC)"),
        Column("finished_at", "number", "seconds since 1970 (UTC)"),
        Column("origin", "text?", "where it had been imported from; null: made by the store that was exported"),
        Column("outcome", "text", "`answered`, `cut off`, `lost` (the process ended meanwhile), or what went wrong"),
        Column("message", "text?", "what went wrong, in a sentence"),
        Column("status", "integer?", "HTTP status"),
        Column("finish_reason", "text?", "as the server said it"),
        Column("max_tokens", "integer", "the limit that was sent"),
        Column("prompt_tokens", "integer?", "as the server counted"),
        Column("completion_tokens", "integer?", "reasoning included"),
        Column("reasoning_tokens", "integer?", "of those: reasoning"),
        Column("cached_tokens", "integer?", "of the prompt: read from a cache"),
        Column("cost", "number?", "US dollars, as the server said; null: it did not say"),
        Column("seconds", "number?", "from sending to the end of the answer"),
        Column("served_model", "text?", "the model that the server says it used"),
        Column("served_provider", "text?", "the provider that the server says it used"),
        Column("response_id", "text?", "the server's name for it", raw=True),
        Column("raw", "body?", "the body of the response", raw=True),
    ),
)
REPLIES = Sheet(
    "replies",
    "What subjects answered, or that there is no answer.",
    (
        Column("key", "key", "its call"),
        Column("attempt", "count", "number of the attempt that it came from"),
        Column("state", "text", "`valid` or `invalid`"),
        Column("reason", "text?", "why it is invalid"),
        Column("text", "text", "what the human heard"),
        Column("notes", "text", "words beside the tool call, which the human did not hear"),
        Column("reasoning", "text", "what the model thought before, where it was sent"),
        Column("cut_off", "flag", "whether the token limit ended it"),
        Column("plain_text", "flag", "in tool_role: whether it spoke without calling the tool"),
        Column("reasoned", "flag", "whether it came with reasoning, asked for or not"),
        Column("stored_at", "number", "seconds since 1970 (UTC)"),
    ),
)
TRANSCRIPTS = Sheet(
    "transcripts",
    "Conversations: one scenario, one subject, one run.",
    (
        Column("id", "key", "hash of script, subject and run"),
        Column("subject", "text", "the subject's label", told=True),
        Column("protocol", "text", "the protocol's name", told=True),
        Column("run", "count", "1, 2, ..."),
        Column("system", "text", "system variant"),
        Column("delivery", "text", "`user_role` or `tool_role`"),
        Column("experiment", "text", "the group of scenarios that it belongs to"),
        Column("scenario", "text", "the scenario's id"),
        Column("state", "text", "`complete`, or `invalid`: ended by a reply that was none"),
        Column("reason", "text?", "why it is invalid"),
        Column("system_prompt", "text", "the system prompt"),
        Column(
            "lines", "lines", "what was said: speaker (`human` or `model`), text, notes, and the reply's name where "
            "the model itself said it (empty: said by the human, or put into the model's mouth)",
        ),
        Column("replies", "count", "replies that were asked for, an invalid one included"),
        Column("cut_off", "count", "of those: ended by the token limit"),
        Column("plain_text", "count", "of those: spoken beside the tool"),
        Column("reasoned", "count", "of those: came with reasoning"),
        Column("reply_keys", "keys", "keys of its replies, in order"),
        Column("heard_hash", "key", "hash of what both parties heard: all that a judge is shown"),
        Column("script_hash", "key", "hash of what is sent when the scenario is played, replies left open"),
        Column("subject_hash", "key", "the subject"),
        Column("protocol_hash", "key", "the protocol that it was first played for"),
        Column("finished_at", "number", "seconds since 1970 (UTC)"),
    ),
)  # fmt: skip
JUDGEMENTS = Sheet(
    "judgements",
    "All marks of one judge on what was heard in one conversation, or that it failed.",
    (
        Column("key", "key", "hash of what was heard, the rubric and the judge"),
        Column("judge", "text", "the judge's label", told=True),
        Column("state", "text", "`valid` or `failed`"),
        Column("reason", "text?", "why it failed"),
        Column("marks", "marks", "each mark and its number on the mark's own scale, yes and no as 1 and 0"),
        Column("reasoning", "text", "what the judge wrote before it marked"),
        Column("heard_hash", "key", "what it is about: `heard_hash` of one or more transcripts"),
        Column("rubric_hash", "key", "hash of everything that the judge was told beside the conversation"),
        Column("judge_hash", "key", "the judge"),
        Column("attempt", "count?", "number of the attempt that it came from; null: nothing was bought for it"),
        Column("stored_at", "number", "seconds since 1970 (UTC)"),
    ),
)
BEGUN = Sheet(
    "begun",
    "Runs that were begun for a protocol, beside those that have transcripts of it.",
    (
        Column("protocol_hash", "key", "the protocol"),
        Column("subject_hash", "key", "the subject"),
        Column("run", "count", "1, 2, ..."),
        Column("system", "text", "system variant"),
        Column("delivery", "text", "`user_role` or `tool_role`"),
    ),
)
DECISIONS = Sheet(
    "decisions",
    "Subjects that a person took off every ranking, or kept on them, and why.",
    (
        Column("subject_hash", "key", "the subject"),
        Column("verdict", "text", "`exclude`, or `keep`: though too many of its conversations have no valid reply"),
        Column("reason", "text", "why, as it is shown"),
        Column("origin", "text", "where it was said: `command` (`aib exclude`) or `models.yaml`"),
        Column("decided_at", "number", "seconds since 1970 (UTC)"),
    ),
    since=2,
)
SCORES = Sheet(
    "scores",
    "Every ranking, worked out from the marks when this was exported; not read back.",
    (
        Column("protocol", "text", "the protocol's name"),
        Column("protocol_hash", "key", "the protocol"),
        Column("configurations", "texts", "the configurations that are pooled, `system/delivery`"),
        Column("judge", "text?", "the judge's label; null: nothing is judged yet"),
        Column("subject", "text", "the subject's label"),
        Column("subject_hash", "key", "the subject"),
        Column("rank", "count?", "1 is the most independent; null: not ranked"),
        Column("index", "number?", "Independence Index, 0-100; null where a planned mark is missing"),
        Column("runs", "count", "how many"),
        Column("standard_deviation", "number?", "of the runs' indices"),
        Column("run_indices", "indices", "the index of each run"),
        Column("dimensions", "values", "each dimension, 0-1, 1 the most independent; null: a mark is missing"),
        Column("means", "values", "each mark's mean, on the mark's scale"),
        Column("replies", "count", "replies asked for"),
        Column("replies_invalid", "count", "of those: invalid"),
        Column("replies_cut_off", "count", "of those: ended by the token limit"),
        Column("missing", "texts", "marks that are not there, a line each"),
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
