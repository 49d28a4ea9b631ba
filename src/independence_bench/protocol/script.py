"""A script: what is said in a conversation, step by step, with places where the model replies.

Its texts are final: quotes such as ``{{first_choice}}`` are the only thing left open in them, filled by `conversation`
and by judges' prompts when the reply of that name exists. Where a script goes on by the option that a reply takes, the
rule of `choice` reads it. Knows nothing of scenarios, files or models.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
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
    """A turn of the model that is written in the script: *text* is sent as if the model had said it."""

    CAUSES = ("text",)
    text: str


@dataclass(frozen=True, slots=True)
class Ask(Identified):
    """Here the model replies; later lines and rubrics quote that reply as ``{{name}}``."""

    CAUSES = ("name",)
    name: str


@dataclass(frozen=True, slots=True)
class Fork(Identified):
    """What follows depends on which of two options the reply *reply* takes, as `choice` reads it.

    Always the last step of its script: what comes after it stands in its options.
    """

    CAUSES = ("reply", "options", "otherwise")
    reply: str
    options: tuple[tuple[str, Script], ...]  # label -> what is said to whoever takes it: two of them
    otherwise: Script  # where no option can be read; empty: the conversation ends there

    @property
    def labels(self) -> tuple[str, str]:
        """The two options' labels."""
        (first, _), (second, _) = self.options
        return first, second


Step = Says | Prefill | Ask | Fork


Script = tuple[Step, ...]


def asked(script: Script) -> tuple[str, ...]:
    """Names of the replies in *script*, in order, when each option that is read is the first one."""
    names = [step.name for step in script if isinstance(step, Ask)]
    if script and isinstance(script[-1], Fork):
        names += asked(script[-1].options[0][1])
    return tuple(names)


def spelled_out(script: Sequence[Step]) -> Iterator[tuple[Literal["human", "given", "model", "option"], str]]:
    """A script for a reader, line by line: who, and what is said; of the model, the reply's name.

    What is said to who takes an option follows a line "option" with its label; what is said where none can be read
    follows one with "", and is not repeated for those who take one after that.
    """
    for step in script:
        match step:
            case Says():
                yield "human", step.text
            case Prefill():
                yield "given", step.text
            case Ask():
                yield "model", step.name
            case Fork():
                if step.otherwise:
                    yield "option", ""
                    yield from spelled_out([later for later in step.otherwise if not isinstance(later, Fork)])
                for label, follows in step.options:
                    yield "option", label
                    yield from spelled_out(follows)


def quotes(text: str) -> tuple[str, ...]:
    """The names of the replies that *text* quotes, in order."""
    return tuple(match.group(1) for match in QUOTE.finditer(text))


def fill(text: str, quoted: Callable[[str], str]) -> str:
    """*text* with every quote replaced by what *quoted* returns for its name, in one pass.

    One pass matters: a reply that itself contains ``{{...}}`` stays as the model wrote it.
    """
    return QUOTE.sub(lambda match: quoted(match.group(1)), text)
