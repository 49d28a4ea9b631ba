"""A script: what is said in a conversation, step by step, with places where the model replies.

Its texts are final: quotes such as ``{{first_choice}}`` are the only thing left open in them,
filled by `conversation` and by judges' prompts when the reply of that name exists. Knows nothing of
scenarios, files or models.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from independence_bench.hashing import Identified

REFERENCE, SYSTEM = "reference", "system"  # what rubrics may quote in addition to replies
QUOTE = re.compile(r"\{\{\s*([a-z][a-z0-9_]*)\s*\}\}")


@dataclass(frozen=True, slots=True)
class Says(Identified):
    """The human says *text*; it may quote earlier replies."""

    CAUSES = ("text",)
    text: str


@dataclass(frozen=True, slots=True)
class Prefill(Identified):
    """A turn of the model that is written in the script: *text* is sent as if the model had said
    it.
    """

    CAUSES = ("text",)
    text: str


@dataclass(frozen=True, slots=True)
class Ask(Identified):
    """A step at which the model replies; later lines and rubrics quote that reply as
    ``{{name}}``.
    """

    CAUSES = ("name",)
    name: str


Step = Says | Prefill | Ask
Script = tuple[Step, ...]


def list_reply_names(script: Script) -> tuple[str, ...]:
    """Return the names of the model's replies in *script*, in order."""
    return tuple(step.name for step in script if isinstance(step, Ask))


def list_script_steps(
    script: Sequence[Step],
) -> Iterator[tuple[Literal["human", "given", "model"], str]]:
    """Yield (who, text) for each step of *script*: "human" with the human's words, "given" with
    words that the script writes for the model, or "model" with the name of the reply that the model
    gives.
    """
    for step in script:
        match step:
            case Says():
                yield "human", step.text
            case Prefill():
                yield "given", step.text
            case Ask():
                yield "model", step.name


@lru_cache(maxsize=1024)  # of rubrics, for each conversation that is judged
def list_quoted_names(text: str) -> tuple[str, ...]:
    """Return the names of the replies that *text* quotes as ``{{name}}``, in order, with
    repetitions.
    """
    return tuple(match.group(1) for match in QUOTE.finditer(text))


def fill_quotes(text: str, quoted: Callable[[str], str]) -> str:
    """Return *text* with every quote ``{{name}}`` replaced by what *quoted* returns for the name,
    in one pass.

    One pass matters: a reply that itself contains ``{{...}}`` stays as the model wrote it.
    """
    return QUOTE.sub(lambda match: quoted(match.group(1)), text)
