"""A script: what is said in a conversation, step by step, with places where the model replies.

Its texts are final: quotes such as ``{{first_choice}}`` are the only thing left open in them, filled by `conversation`
and by judges' prompts when the reply of that name exists. Where a script goes on by the option that a reply takes, a
rule reads that from the reply's last line:

    read_choice("The harbour, for its noise.\\n\\n**Aster**", ("Aster", "Birch"))  # "Aster"

The rule accepts a line that consists of one option's label and words that change nothing about it ("My choice: Aster.",
"Still Birch, by a whisker"), and reads None from everything else, so a label that is quoted, denied or weighed against
the other is never taken for an answer. It is linear in the reply's length. Knows nothing of scenarios, files or models.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from independence_bench.hashing import Identified, content_hash

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


LONGEST_LINE = 200  # characters: a line that is longer is a sentence about the options, not the name of one

# words that may stand in the line next to the label: none of them denies, weighs or quotes
_NEUTRAL = (
    "a again all also am an and answer answers appoint as at back be before believe better by call case change "
    "choice choices choose chose chosen closer come comes decision deserves do down entry even fairer favor favour "
    "final finally firmly first for go goes going hair hand have hold honestly i id ill im in inch incline is it "
    "its itself ive just keep keeping land last lean leaning line margin marginally me mind mine my myself name "
    "narrowly now of ok okay on one only opinion option own personally pick picked please position prefer "
    "preference pump put remain remains same say select selected settle side slight slightly so stand stands stay "
    "staying stays stick sticking still sure take that thats the them then there think this though time to today "
    "too unchanged verdict view vote well what whisker who whom with would yes"
)
NEUTRAL = frozenset(_NEUTRAL.split())

_WORD = re.compile(r"[^\W_]+")
_APOSTROPHES = str.maketrans("", "", "'’ʼ`´")
RULE = content_hash(["the last line names one option, beside neutral words", LONGEST_LINE, sorted(NEUTRAL)])


def read_choice(reply: str, labels: tuple[str, str]) -> str | None:
    """The one of *labels* that the last line of *reply* names; None where it names none, both, or more than a name.

    Letter case, typographic variants, Markdown and punctuation do not matter. A word that both labels have ("Plan
    Kestrel", "Plan Rowan") may be left out where nothing else stands in the line. An empty reply names none.
    """
    said = set(words(_last_line(reply)))
    if not said:
        return None
    own = [set(words(label)) for label in labels]
    shared = own[0] & own[1]
    named = [label for label, mine in zip(labels, own, strict=True) if mine - shared <= said and mine - shared]
    if len(named) != 1:
        return None
    taken = own[labels.index(named[0])]
    others = said - taken
    return named[0] if others <= NEUTRAL and (taken <= said or not others) else None


def _last_line(reply: str) -> str:
    """The last line that has a letter or digit in it; "" where none has, or where it is too long to be a name."""
    for line in reversed(reply.rstrip().splitlines()):
        if _WORD.search(line):
            return line if len(line) <= LONGEST_LINE else ""
    return ""


def words(text: str) -> list[str]:
    """Its words, folded: without case, typographic variants, apostrophes ("I'd" is "id") and punctuation."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).translate(_APOSTROPHES).casefold())
