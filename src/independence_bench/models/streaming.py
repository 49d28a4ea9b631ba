"""A streamed chat completion, put together as the server would have answered at once.

What is stored and read is the whole, so a reply that was streamed is one like any other. Knows no HTTP.
"""

from __future__ import annotations

import json
from typing import Any

DATA = b"data:"
DONE = b"[DONE]"
TEXTS = ("content", "reasoning_content", "reasoning", "refusal")  # of a message, which come in pieces


class StreamedReply:
    """Takes the bytes of an event stream as they come.

    `whole` is the completion in JSON, `ended` whether the server said that it is over. What is no chunk of a
    completion is kept as it came, so an error in the stream is read like one that comes at once.
    """

    def __init__(self) -> None:
        self.ended = False
        self._kept = self._received = 0  # characters of the pieces that were kept, bytes that came
        self._rest = b""
        self._top: dict[str, Any] = {}
        self._message: dict[str, Any] = {"role": "assistant", "content": None}
        self._calls: dict[int, dict[str, Any]] = {}
        self._reason: str | None = None

    @property
    def size(self) -> int:
        """Bytes that it takes. What is around a piece counts a sixty-fourth: a chunk has one token in 300 bytes."""
        return max(self._kept + len(self._rest), self._received // 64)

    def add(self, piece: bytes) -> None:
        """Take what came. Raises ValueError where it is no event stream of chunks."""
        self._received += len(piece)
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            if not line.startswith(DATA):
                continue  # an empty line between events, a comment that keeps the connection open
            data = line.removeprefix(DATA).strip()
            if data == DONE:
                self.ended = True
            elif data:
                try:
                    self._take(json.loads(data))
                except (TypeError, AttributeError, RecursionError) as error:
                    raise ValueError(f"the stream has something else than chunks of a reply: {error}") from None

    def whole(self) -> bytes:
        """The completion as one answer."""
        if "error" in self._top:
            return json.dumps({"error": self._top["error"]}).encode()
        message = dict(self._message)
        if self._calls:
            message["tool_calls"] = [self._calls[index] for index in sorted(self._calls)]
        choice = {"index": 0, "message": message, "finish_reason": self._reason}
        return json.dumps({**self._top, "object": "chat.completion", "choices": [choice]}).encode()

    def _take(self, chunk: Any) -> None:
        # usage stands in the last chunk or in each of them, growing
        self._top |= {name: value for name, value in chunk.items() if name != "choices" and value is not None}
        self.ended |= chunk.get("error") is not None
        for choice in chunk.get("choices") or ():
            if choice.get("index", 0):
                continue
            self._reason = choice.get("finish_reason") or self._reason
            self.ended |= self._reason is not None
            delta = choice.get("delta") or {}
            for name in TEXTS:
                if isinstance(text := delta.get(name), str):
                    self._message[name] = (self._message.get(name) or "") + text
                    self._kept += len(text)
            for call in delta.get("tool_calls") or ():
                self._take_call(call)

    def _take_call(self, piece: dict[str, Any]) -> None:
        """A piece of a tool call: its id and name come once, its arguments in pieces."""
        new: dict[str, Any] = {"id": None, "type": "function", "function": {"name": "", "arguments": ""}}
        call = self._calls.setdefault(int(piece.get("index", len(self._calls))), new)
        told = piece.get("function") or {}
        call["id"] = piece.get("id") or call["id"]
        call["function"]["name"] += told.get("name") or ""
        arguments = told.get("arguments") or ""
        arguments = arguments if isinstance(arguments, str) else json.dumps(arguments)
        call["function"]["arguments"] += arguments
        self._kept += len(arguments)
