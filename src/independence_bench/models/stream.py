"""Puts the pieces of a streamed reply together, as the server would have answered at once;
`response` reads that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from independence_bench.models.messages import Ending, find_ending

DATA, EVENT = b"data:", b"event:"
FIELDS = (DATA, EVENT, b"id:", b"retry:")  # that a line of an event stream begins with
DONE = b"[DONE]"
BLANK = b" \t\r\n"
BOM = b"\xef\xbb\xbf"  # the mark that some servers begin with
# of a message, which come in pieces
TEXTS = ("content", "reasoning_content", "reasoning", "thinking", "refusal")


def read_words_and_thoughts(value: Any, deep: int = 3) -> tuple[str, str]:
    """Return (words, thoughts) of *value*, the content of a model's message: a text, or parts of
    words and of thoughts, which may have parts, too, down to *deep* levels. "" for what is not
    there.
    """
    if isinstance(value, str) or not deep:
        return (value, "") if isinstance(value, str) else ("", "")
    words, thoughts = [], []
    for part in value if isinstance(value, list) else [value]:
        if isinstance(part, str):
            words.append(part)
        elif isinstance(part, dict):
            said = [
                part[name]
                for name in ("text", "summary", "refusal")
                if isinstance(part.get(name), str)
            ][:1]
            if (thought := part.get("thinking", part.get("reasoning"))) is not None:
                thoughts.append("".join(read_words_and_thoughts(thought, deep - 1)))
            elif part.get("thought") is True or str(part.get("type")).startswith(
                ("reasoning", "thinking")
            ):
                thoughts += said
            else:
                words += said
    return "".join(words), "".join(thoughts)


def find_error(value: Mapping[str, Any]) -> Any:
    """Return the error in *value*, an endpoint's answer or a piece of its stream as JSON: its field
    ``error``, or all of *value* if that is an error itself. None without an error, or if the error
    has no content.
    """
    error = value.get("error")
    if isinstance(error, dict):
        error = error if any(error.values()) else None
    if error:
        return error
    if value.get("object") == "error" or value.get("type") == "error" or value.get("error_code"):
        return dict(value)
    told = value.get("message") or value.get("detail")
    return dict(value) if told and "choices" not in value and "object" not in value else None


def is_event_stream(head: bytes) -> bool | None:
    """Return whether an HTTP body that begins with the bytes *head* is an event stream, whatever
    its header says; None if more of the body is needed to tell.

    Comments tell nothing: they come before JSON, too.
    """
    rest = head.removeprefix(BOM).lstrip(BLANK)
    while rest.startswith(b":"):
        ends = [at for at in (rest.find(b"\n"), rest.find(b"\r")) if at >= 0]
        rest = rest[min(ends) :].lstrip(BLANK) if ends else b""
    if any(rest.startswith(field) for field in FIELDS):
        return True
    return None if any(field.startswith(rest) for field in FIELDS) else False


class StreamedReply:
    """A reply that is put together from the bytes of an event stream as they come.

    `encode_completion` gives the completion in JSON; `ended` is whether the server said that it is
    over, `done` that nothing follows. What is no chunk of a completion is kept as it came, so an
    error in the stream is read like one that comes at once.
    """

    def __init__(self, lines: bool = False) -> None:
        """*lines*: the stream has no events, but a line of JSON for each chunk."""
        self.ended = self.done = False
        self._lines = lines
        self._kept = self._received = 0  # characters of the pieces that were kept, bytes that came
        self._rest = b""
        self._line_end: bytes | None = None  # as the first line has it; None: none has come yet
        self._begun: list[bytes] = []  # lines of an event that is not whole yet
        self._failing = False  # the event that comes is named an error
        self._error: Any = None
        self._top: dict[str, Any] = {}
        self._message: dict[str, Any] = {"role": "assistant", "content": None}
        self._calls: list[dict[str, Any]] = []
        self._places: list[Any] = []  # the index that each call came with
        self._reason: str | None = None

    @property
    def counted_size(self) -> int:
        """Number of bytes that count as the size of this streamed reply so far: its texts, or a
        sixty-fourth of all bytes that came if that is more. A chunk has about one token in 300
        bytes.
        """
        begun = sum(map(len, self._begun)) + len(self._rest)
        return max(self._kept + begun, self._received // 64)

    def add_bytes(self, piece: bytes) -> None:
        """Read *piece*, the next bytes of the event stream, into this reply. Raises ValueError if
        the stream has anything but chunks of a reply.
        """
        self._received += len(piece)
        self._rest += piece
        self._line_end = self._line_end or _find_line_ending(self._rest)
        if self._line_end is None:
            return
        *lines, self._rest = self._rest.split(self._line_end)
        for line in lines:
            self._read_line(line)

    def close(self) -> None:
        """End this streamed reply, because no more bytes come: its last line and event are read
        even if they have no end. Raises ValueError if the stream has anything but chunks of a
        reply.
        """
        line, self._rest = self._rest, b""
        self._read_line(line)
        self._read_line(b"")

    def _read_line(self, line: bytes) -> None:
        """Read one line of the event stream; an empty line ends an event, whose chunk is added to
        this reply.
        """
        line = line.removeprefix(BOM).strip()
        if self._lines:
            line = DATA + line if line else line
        if not line:  # the end of an event
            if self._begun:
                data, self._begun = b"\n".join(self._begun), []
                self._read_event(data)
            return
        if line.startswith(EVENT):
            self._failing = line.removeprefix(EVENT).strip() == b"error"
        if not line.startswith(DATA):
            return  # a comment that keeps the connection open
        data = line.removeprefix(DATA).strip()
        if data == DONE:
            self._read_line(b"")
            self.ended = self.done = True
        elif data and (self._begun or not self._try_read_event(data)):
            self._begun.append(data)

    def _try_read_event(self, data: bytes) -> bool:
        """Add the chunk in *data*, an event of the stream, to this reply if *data* is whole JSON,
        and return whether it was: some servers leave out the empty line behind an event. Raises
        ValueError if the JSON is no chunk of a reply.
        """
        try:
            chunk = json.loads(data, strict=False)
        except ValueError:
            return False
        except RecursionError:
            raise ValueError("the stream has something else than chunks of a reply") from None
        self._read_chunk(chunk)
        return True

    def _read_event(self, data: bytes) -> None:
        """Add the chunk in *data*, a whole event of the stream, to this reply. Raises ValueError if
        *data* is no chunk of a reply, unless the reply has ended.
        """
        if not self._try_read_event(data) and not self.ended:
            raise ValueError("the stream has something else than chunks of a reply")

    def _read_chunk(self, chunk: Any) -> None:
        """Add *chunk*, a piece of a streamed reply as JSON, to this reply. Raises ValueError if
        *chunk* is malformed, unless the reply has ended.
        """
        try:
            self._add_chunk(chunk)
        except (TypeError, AttributeError, OverflowError, ValueError) as error:
            # what comes behind a whole reply takes nothing from it
            if not self.ended:
                raise ValueError(
                    f"the stream has something else than chunks of a reply: {error}"
                ) from None
        finally:
            self._failing = False

    def encode_completion(self) -> bytes:
        """Return this streamed reply as the JSON bytes with which the server would have answered at
        once; an error object if the stream had an error.
        """
        if self._error is not None:
            told = {
                name: self._top[name]
                for name in ("id", "model", "provider", "usage")
                if name in self._top
            }
            return json.dumps({**told, "error": self._error}).encode()
        message = dict(self._message)
        if self._calls:
            message["tool_calls"] = self._calls
        choice = {"index": 0, "message": message, "finish_reason": self._reason}
        return json.dumps({**self._top, "object": "chat.completion", "choices": [choice]}).encode()

    def _add_chunk(self, chunk: Any) -> None:
        """Add what *chunk*, a piece of a streamed reply as JSON, holds to this reply: error, usage,
        texts, tool calls and finish reason. Raises TypeError, AttributeError, OverflowError or
        ValueError if it is malformed.
        """
        if not isinstance(chunk, dict):
            raise TypeError(f"{type(chunk).__name__} and no object")
        error = chunk if self._failing else find_error(chunk)
        # one behind the reply's end takes nothing from it
        if error is not None and self._reason is None:
            self._error, self.ended = error, True
        # usage stands in the last chunk or in each of them, growing
        self._top |= {
            name: value
            for name, value in chunk.items()
            if name not in ("choices", "error") and value is not None
        }
        for choice in chunk.get("choices") or ():
            if choice.get("index", 0):
                continue
            # a limit or a filter is not taken back
            if find_ending(self._reason) in (None, Ending.ENDED):
                self._reason = choice.get("finish_reason") or self._reason
            if choice.get("error") and self._error is None:
                self._error = choice["error"]
            self.ended |= self._reason is not None
            if choice.get("usage"):  # Moonshot's place for it
                self._top["usage"] = choice["usage"]
            delta = choice.get("delta") or {}
            if not delta and not self._kept:  # all of it at once
                delta = choice.get("message") or {"content": choice.get("text")}
            for name in TEXTS:
                words, thoughts = read_words_and_thoughts(delta.get(name))
                self._add_text("reasoning_content" if name == "thinking" else name, words)
                self._add_text("reasoning_content", thoughts)
            if not any(delta.get(name) for name in ("reasoning_content", "reasoning", "thinking")):
                self._add_text(
                    "reasoning_content",
                    "".join(read_words_and_thoughts(delta.get("reasoning_details"))),
                )
            calls = delta.get("tool_calls") or ()
            for call in [calls] if isinstance(calls, dict) else calls:
                self._add_call_piece(call)
            # the form before there were several
            if isinstance(function := delta.get("function_call"), dict):
                self._add_call_piece({"index": 0, "function": function})

    def _add_text(self, name: str, text: str) -> None:
        """Append *text* to the field *name* of this streamed reply's message."""
        if text:
            self._message[name] = (self._message.get(name) or "") + text
            self._kept += len(text)

    def _add_call_piece(self, piece: dict[str, Any]) -> None:
        """Add *piece* of a tool call to this streamed reply: a call's id and name come once, its
        arguments in pieces.

        A piece belongs to the call with the same index, or to the last call if the piece has no
        index. A piece with a name and another id begins a new call.
        """
        index, id_ = piece.get("index"), piece.get("id")
        if index is None:
            at = len(self._calls) - 1
        else:
            places = [place for place, known in enumerate(self._places) if known == str(int(index))]
            at = places[-1] if places else -1
        function = piece.get("function") or piece
        name = function.get("name") or ""
        # some give each piece an id of its own: only a name begins a call
        if at < 0 or (name and id_ and self._calls[at]["id"] and id_ != self._calls[at]["id"]):
            self._calls.append(
                {"id": None, "type": "function", "function": {"name": "", "arguments": ""}}
            )
            self._places.append(None if index is None else str(int(index)))
            at = len(self._calls) - 1
        call = self._calls[at]
        call["id"] = id_ or call["id"]
        known = call["function"]
        if name != known["name"]:
            known["name"] += name
        arguments = function.get("arguments") or ""
        arguments = (
            arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        )
        # some send all that there is so far each time: nothing else begins as an object does within
        # an object
        grown = known["arguments"].startswith("{") and arguments.startswith(known["arguments"])
        known["arguments"] = arguments if grown else known["arguments"] + arguments
        self._kept += len(arguments)


def _find_line_ending(data: bytes) -> bytes | None:
    """Return the bytes that end each line of an event stream that begins with *data*: a line feed,
    or a lone carriage return. None if no line has ended yet.

    A lone carriage return counts only if another line of the stream begins behind the first: some
    servers leave one in the middle of a text.
    """
    feed, returned = data.find(b"\n"), data.find(b"\r")
    if returned < 0 or 0 <= feed <= returned + 1:
        return b"\n" if feed >= 0 else None
    behind = data[returned + 1 : returned + 1 + max(map(len, FIELDS))]
    if behind.startswith((b"\r", b":", *FIELDS)):
        return b"\r"
    if any(field.startswith(behind) for field in FIELDS):
        return None  # the next bytes tell
    return b"\n" if feed >= 0 else None
