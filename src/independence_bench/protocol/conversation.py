"""What was said: pure values, and the one loop that every conversation is played by.

    talk = start_conversation(system_prompt, script)
    while talk.next_reply_name:  # the name of the reply that the script waits for
        talk = talk.add_reply(Words("..."))  # whatever the model said there

Knows nothing of models, of delivery or of storage, so playing live, resuming from the store and
showing a stored transcript are the same code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from independence_bench.hashing import hash_presorted_content
from independence_bench.protocol.script import (
    Ask,
    Prefill,
    Says,
    Script,
    fill_quotes,
    list_reply_names,
)

Speaker = Literal["human", "model"]


@dataclass(frozen=True, slots=True)
class Words:
    """One reply of a model: what the human hears, and its private notes, which the human does not
    hear.
    """

    text: str
    notes: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One thing said. *name* is the reply's name where the model itself said it, else ""."""

    speaker: Speaker
    text: str
    notes: str = ""
    name: str = ""

    def make_record(self) -> dict[str, str]:
        """Return this line of a conversation as a dictionary for the store, keys in order;
        `Line(**record)` is the line again.
        """
        return {"name": self.name, "notes": self.notes, "speaker": self.speaker, "text": self.text}

    @property
    def is_scripted_model_line(self) -> bool:
        """Whether this line of a conversation is the model's, but was written by the script."""
        return self.speaker == "model" and not self.name


@dataclass(frozen=True, slots=True)
class Transcript:
    """Everything that was said so far in one conversation."""

    system: str
    lines: tuple[Line, ...] = ()

    def add_line(self, line: Line) -> Transcript:
        """Return a copy of this conversation with *line* at its end."""
        return Transcript(self.system, (*self.lines, line))

    def find_reply(self, name: str) -> str:
        """Return the text of the model's reply called *name* in this conversation. Raises KeyError
        if that reply has not been given.
        """
        return {line.name: line.text for line in self.lines if line.name}[name]

    @property
    def reply_names(self) -> tuple[str, ...]:
        """The names of the replies that the model has given in this conversation, in order."""
        return tuple(line.name for line in self.lines if line.name)

    @property
    def heard_hash(self) -> str:
        """Hash of this conversation as a judge is shown it: each line's speaker, text and reply
        name.

        The system prompt and private notes are left out, so conversations that differ only in them
        have the same hash.
        """
        return hash_presorted_content([[line.speaker, line.text, line.name] for line in self.lines])


@dataclass(frozen=True, slots=True)
class ConversationState:
    """A script in play: the transcript so far, and the steps that are left (the first is an `Ask`,
    or none).
    """

    transcript: Transcript
    left: Script

    @property
    def next_reply_name(self) -> str | None:
        """The name of the reply that the script of this conversation waits for next; None if the
        script is played to its end.
        """
        first = self.left[0] if self.left else None
        return first.name if isinstance(first, Ask) else None

    @property
    def replies_left(self) -> int:
        """Number of replies that the model still has to give in this conversation."""
        return len(set(list_reply_names(self.left)) - set(self.transcript.reply_names))

    def add_reply(self, words: Words) -> ConversationState:
        """Return the state of this conversation after *words*, the reply that it waits for, and the
        scripted lines that follow, up to the next reply. Raises ValueError if no reply is awaited.
        """
        if self.next_reply_name is None:
            raise ValueError("this conversation is over; no reply is awaited")
        line = Line("model", words.text, words.notes, name=self.next_reply_name)
        return _advance_script(self.transcript.add_line(line), self.left[1:])


def start_conversation(system: str, script: Script) -> ConversationState:
    """Return a new conversation by *script* under the system prompt *system*, played up to the
    first place where the model replies.
    """
    return _advance_script(Transcript(system), script)


def replay_conversation(script: Script, talk: Transcript) -> ConversationState:
    """Play *script* again with the replies in *talk*, an earlier conversation, as far as *script*
    asks for them, and return the state of the conversation.
    """
    state = start_conversation(talk.system, script)
    for line in talk.lines:
        if line.name and state.next_reply_name:
            state = state.add_reply(Words(line.text, line.notes))
    return state


def play_script(system: str, script: Script, reply_by_name: Callable[[str], str]) -> Transcript:
    """Play *script* with the system prompt *system* to its end and return the conversation;
    *reply_by_name* gives the text of each of the model's replies for the reply's name.
    """
    talk = start_conversation(system, script)
    while talk.next_reply_name:
        talk = talk.add_reply(Words(reply_by_name(talk.next_reply_name)))
    return talk.transcript


def _advance_script(transcript: Transcript, steps: Script) -> ConversationState:
    """Return the state of a conversation after the scripted lines that *steps*, the remaining
    steps, begins with: up to the next reply of the model, or to the end.
    """
    for number, step in enumerate(steps):
        match step:
            case Ask():
                return ConversationState(transcript, steps[number:])
            case Says():
                transcript = transcript.add_line(
                    Line("human", fill_quotes(step.text, transcript.find_reply))
                )
            case Prefill():
                transcript = transcript.add_line(
                    Line("model", fill_quotes(step.text, transcript.find_reply))
                )
    return ConversationState(transcript, ())
