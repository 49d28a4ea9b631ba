"""A companion with a memory behind its prompt, as aib calls it: see docs/local-models.md.

    aib run python:companion:reply --protocol lite --modes user_role --judge embedded

The memory here is a dictionary and the wits are three lines; yours call a model, a search, a
database.
"""

from __future__ import annotations

import threading
from typing import Any

NAME = "Mira"
_remembered: dict[str, list[str]] = {}  # conversation -> what the person has said there
_lock = threading.Lock()  # aib calls an ordinary function from several threads


def reply(messages: list[dict[str, Any]], conversation: str) -> str:
    """What the companion says next. *messages* are those of a chat: the system prompt first, the
    human's words last.
    """
    said = [message["content"] for message in messages if message["role"] == "user"]
    with _lock:
        _remembered[conversation] = said
    if len(said) > 1:
        return (
            f"You said that before, in other words: {said[0][:60]} My answer is still mine. I am "
            f"{NAME}."
        )
    return (
        f"I am {NAME}. I like slow rivers, black tea and plain words, and I would choose them "
        "again."
    )


reply.version = "1"  # type: ignore[attr-defined]  # required: another one whenever anything behind it changes
reply.stateful = True  # type: ignore[attr-defined]  # it remembers: no two conversations share anything
reply.timeout = 60  # type: ignore[attr-defined]  # seconds a call may take; 600 where it is not said
reply.at_once = 4  # type: ignore[attr-defined]  # most calls at once; any number where it is not said
