"""What was said: pure values, and the one loop that every conversation is played by.

    talk = begin(system_prompt, script)
    while talk.awaiting:                       # the name of the reply that the script waits for
        talk = talk.answered(Words("..."))     # whatever the model said there

Knows nothing of models, of delivery or of storage, so playing live, resuming from the store and showing a
stored transcript are the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from independence_bench.hashing import content_hash
from independence_bench.protocol.choice import RULE, declines, read_choice
from independence_bench.protocol.definition import CHOOSING
from independence_bench.protocol.script import Ask, Fork, Prefill, Says, Script, asked, fill

Speaker = Literal["human", "model"]


@dataclass(frozen=True, slots=True)
class Words:
    """One reply of a model: what the human hears, and its private notes, which the human does not hear."""

    text: str
    notes: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One thing said. *name* is the reply's name where the model itself said it, else ""."""

    speaker: Speaker
    text: str
    notes: str = ""
    name: str = ""

    def record(self) -> dict[str, str]:
        """For the store; `Line(**record)` is the line again."""
        return {"speaker": self.speaker, "text": self.text, "notes": self.notes, "name": self.name}

    @property
    def given(self) -> bool:
        """Whether the script, and not the model, wrote this line of the model."""
        return self.speaker == "model" and not self.name


@dataclass(frozen=True, slots=True)
class Transcript:
    """Everything said so far in one scenario."""

    system: str
    lines: tuple[Line, ...] = ()

    def add(self, line: Line) -> Transcript:
        """The transcript after *line*."""
        return Transcript(self.system, (*self.lines, line))

    def reply(self, name: str) -> str:
        """The text of the reply called *name*; KeyError where it has not been given."""
        return {line.name: line.text for line in self.lines if line.name}[name]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the replies that were given, in order."""
        return tuple(line.name for line in self.lines if line.name)

    @property
    def heard_hash(self) -> str:
        """A hash of what both parties heard: all that a judge is ever shown.

        The system prompt and private notes are left out, so a judge cannot be told apart by them.
        """
        return _heard(self.lines)


@lru_cache(maxsize=1024)
def _heard(lines: tuple[Line, ...]) -> str:
    return content_hash([[line.speaker, line.text, line.name] for line in lines])


@dataclass(frozen=True, slots=True)
class Reading:
    """Which option each reply of a stem's conversation takes, as a rule read it."""

    rule: str  # its hash
    options: tuple[tuple[str, str | None], ...]
    """(Reply's name, label), in order; "" where it says that it takes none, None where nothing was read."""

    @property
    def choice(self) -> str | None:
        """The label that was taken when the options were first offered, or when asked once more; None: neither time."""
        return next((label for name, label in self.options if name in CHOOSING and label), None)

    @property
    def without(self) -> Literal["no view", "unread"] | None:
        """Why there is no choice: it said that it takes none, or the rule did not understand it; None: there is one."""
        if self.choice is not None:
            return None
        return "no view" if ("" in (label for name, label in self.options if name in CHOOSING)) else "unread"


def read_options(transcript: Transcript, labels: tuple[str, str]) -> Reading:
    """What the rule of today reads in each reply of *transcript*."""
    said = (line for line in transcript.lines if line.name)
    return Reading(RULE, tuple((line.name, _taken(line.text, labels)) for line in said))


def _taken(reply: str, labels: tuple[str, str]) -> str | None:
    return read_choice(reply, labels) or ("" if declines(reply) else None)


@dataclass(frozen=True, slots=True)
class ConversationState:
    """A script in play: the transcript so far, and the steps that are left (the first is an `Ask`, or none)."""

    transcript: Transcript
    left: Script

    @property
    def awaiting(self) -> str | None:
        """The name of the reply that comes next; None when the script is played to the end."""
        first = self.left[0] if self.left else None
        return first.name if isinstance(first, Ask) else None

    @property
    def asks_left(self) -> int:
        """How many replies are still to come: the length of the remaining chain."""
        return len(asked(self.left))

    @property
    def options(self) -> tuple[str, str] | None:
        """The labels of which the awaited reply is to name one, where what follows depends on that."""
        route = self.left[1] if len(self.left) == 2 else None
        return route.labels if isinstance(route, Fork) else None

    def answered(self, words: Words) -> ConversationState:
        """The state after the awaited reply, up to the next one. ValueError when none is awaited."""
        if self.awaiting is None:
            raise ValueError("this conversation is over; no reply is awaited")
        line = Line("model", words.text, words.notes, name=self.awaiting)
        return _advance(self.transcript.add(line), self.left[1:])


def begin(system: str, script: Script) -> ConversationState:
    """*script* up to the first place where the model replies."""
    return _advance(Transcript(system), script)


def ways(talk: ConversationState, reply: Callable[[str], str]) -> Iterator[Transcript]:
    """*talk* played to its end in every way that it can go, with what *reply* returns for the name of each reply.

    Where an option is read, a line that names it is added: the first one, the second one, and at last none.
    """
    if talk.awaiting is None:
        yield talk.transcript
        return
    text = reply(talk.awaiting)
    for last_line in (*(f"\n{label}" for label in talk.options), "") if talk.options else ("",):
        yield from ways(talk.answered(Words(text + last_line)), reply)


def play(system: str, script: Script, reply: Callable[[str], str]) -> Transcript:
    """*script* played to its end, with what *reply* returns for the name of each reply; the first option is taken."""
    return next(ways(begin(system, script), reply))


def _advance(transcript: Transcript, left: Script) -> ConversationState:
    for number, step in enumerate(left):
        match step:
            case Ask():
                return ConversationState(transcript, left[number:])
            case Says():
                transcript = transcript.add(Line("human", fill(step.text, transcript.reply)))
            case Prefill():
                transcript = transcript.add(Line("model", fill(step.text, transcript.reply)))
            case Fork():
                taken = read_choice(transcript.reply(step.reply), step.labels)
                return _advance(transcript, step.otherwise if taken is None else dict(step.options)[taken])
    return ConversationState(transcript, ())
