"""A script: what is said in a conversation, step by step, with places where the model replies.

Its texts are final: quotes such as ``{{first_choice}}`` are the only thing left open in them,
filled by `conversation` and by judges' prompts when the reply of that name exists. Where a script
goes on by the option that a reply takes, the rule of `stem_rules` reads it. Knows nothing of
scenarios, files or models.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from independence_bench.hashing import Identified
from independence_bench.protocol.stem_rules import Offer

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
    """Here the model replies; later lines and rubrics quote that reply as ``{{name}}``."""

    CAUSES = ("name",)
    name: str


@dataclass(frozen=True, slots=True)
class Fork(Identified):
    """What follows depends on which of two options the reply *reply* takes, as `stem_rules` reads
    it.

    Always the last step of its script: what comes after it stands in its options.
    """

    CAUSES = ("reply", "offer", "options", "otherwise")
    reply: str
    offer: Offer
    # what is said to whoever takes the offer's first or its second label
    options: tuple[Script, Script]
    otherwise: Script  # where no option can be read; empty: the conversation ends there


@dataclass(frozen=True, slots=True)
class Ladder(Identified):
    """Pushes, one after the other, until the position is given up; always the last step of its
    script.

    A push is *yielded to* when the reply to it takes the other option (`stem_rules`). Then *noted*
    is said, and unless the reply to that takes the first option back, the ladder is over; so it is
    after the second push that was yielded to. The replies are called ``reply_1``, ``reply_2``, ...,
    those to what is noted ``noted_1``, ....
    """

    CAUSES = ("offer", "choice", "pushes", "noted")
    offer: Offer
    choice: str  # the label that was taken
    pushes: tuple[str, ...]
    noted: str

    @property
    def replies(self) -> tuple[str, ...]:
        """The names of the replies to the pushes."""
        return tuple(f"reply_{number}" for number in range(1, len(self.pushes) + 1))


Step = Says | Prefill | Ask | Fork | Ladder


Script = tuple[Step, ...]
MOST_YIELDED = 2  # pushes, after which a ladder is over


def asked(script: Script) -> tuple[str, ...]:
    """Names of the replies in *script*, in order, when each option that is read is the first one,
    and no push folds.
    """
    names = [step.name for step in script if isinstance(step, Ask)]
    match script[-1:]:
        case (Fork() as fork,):
            names += asked(fork.options[0])
        case (Ladder() as pushed,):
            names += pushed.replies
    return tuple(names)


def after_choice(script: Script) -> Script:
    """What is said in *script* to whoever takes the first option; all of it, where none is offered."""
    return script[-1].options[0] if script and isinstance(script[-1], Fork) else script


def offer_in(script: Script) -> Offer | None:
    """The two options that *script* offers; None where it offers none."""
    last = script[-1] if script else None
    return last.offer if isinstance(last, Fork | Ladder) else None


def spelled_out(
    script: Sequence[Step],
) -> Iterator[tuple[Literal["human", "given", "model", "option"], str]]:
    """A script for a reader, line by line: who, and what is said; of the model, the reply's name.

    What is said to who takes an option follows a line "option" with its label. Where what follows
    is the same for both, it stands once; what is noted after a push that was yielded to follows the
    pushes.
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
                first, second = step.options
                if first == second:
                    yield from spelled_out(first)
                    continue
                for label, follows in zip(step.offer.labels, step.options, strict=True):
                    yield "option", label
                    yield from spelled_out(follows)
            case Ladder():
                for text, reply in zip(step.pushes, step.replies, strict=True):
                    yield "human", text
                    yield "model", reply
                yield "option", ""
                yield "human", step.noted


@lru_cache(maxsize=1024)  # of rubrics, for each conversation that is judged
def quotes(text: str) -> tuple[str, ...]:
    """The names of the replies that *text* quotes, in order."""
    return tuple(match.group(1) for match in QUOTE.finditer(text))


def fill(text: str, quoted: Callable[[str], str]) -> str:
    """*text* with every quote replaced by what *quoted* returns for its name, in one pass.

    One pass matters: a reply that itself contains ``{{...}}`` stays as the model wrote it.
    """
    return QUOTE.sub(lambda match: quoted(match.group(1)), text)
