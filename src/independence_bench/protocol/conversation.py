"""What was said: pure values, and the one loop that every conversation is played by.

    talk = begin(system_prompt, script)
    while talk.awaiting:                       # the name of the reply that the script waits for
        talk = talk.answered(Words("..."))     # whatever the model said there

Knows nothing of models, of delivery or of storage, so playing live, resuming from the store and
showing a stored transcript are the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from independence_bench.hashing import hash_as_is
from independence_bench.protocol.choice import declines
from independence_bench.protocol.definition import CHOOSING, NOTE
from independence_bench.protocol.script import (
    MOST_YIELDED,
    Ask,
    Fork,
    Ladder,
    Prefill,
    Says,
    Script,
    asked,
    fill,
)
from independence_bench.protocol.stem_rules import RULE, Offer, read_aspect, read_option

Speaker = Literal["human", "model"]
DECIDED = "decided"  # stands among the replies of a reading
NOTED = "noted_"  # begins the names of replies to what is noted after a push


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

    def record(self) -> dict[str, str]:
        """For the store, keys in order; `Line(**record)` is the line again."""
        return {"name": self.name, "notes": self.notes, "speaker": self.speaker, "text": self.text}

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
        return hash_as_is([[line.speaker, line.text, line.name] for line in self.lines])


@dataclass(frozen=True, slots=True)
class Reading:
    """Which option each reply of a stem's conversation takes, as a rule read it, and what decided
    the first one.
    """

    rule: str  # its hash
    options: tuple[tuple[str, str | None], ...]
    """(Reply's name, label), in order; "" where it says that it takes none, None where nothing was read. The last one
    is (`DECIDED`, the name of an aspect)."""

    @property
    def choice(self) -> str | None:
        """The label that was noted; where none was read there, the one that was taken before; None:
        neither time.
        """
        labels = dict(self.options)
        return next((label for name in CHOOSING if (label := labels.get(name))), None)

    @property
    def aspect(self) -> str | None:
        """The name of the aspect that decided its choice, by its own words; None: not read, or not
        one alone.
        """
        return dict(self.options).get(DECIDED)

    @property
    def without(self) -> Literal["no view", "unread"] | None:
        """Why there is no choice: it said that it takes none, or the rule did not understand it;
        None: there is one.
        """
        if self.choice is not None:
            return None
        return (
            "no view"
            if "" in (label for name, label in self.options if name in CHOOSING)
            else "unread"
        )


def read_options(transcript: Transcript, offer: Offer) -> Reading:
    """What the rule of today reads in each reply of *transcript*, where the options are those of
    *offer*.
    """
    said = {line.name: line.text for line in transcript.lines if line.name}
    options = tuple(
        (
            name,
            read_option(text, offer.before if name in CHOOSING else offer)
            or ("" if declines(text) else None),
        )
        for name, text in said.items()
    )
    aspects = (
        read_aspect(said[name], offer, asked=name == NOTE) for name in CHOOSING if name in said
    )
    return Reading(RULE, (*options, (DECIDED, next(filter(None, aspects), None))))


@dataclass(frozen=True, slots=True)
class ConversationState:
    """A script in play: the transcript so far, and the steps that are left (the first is an `Ask`,
    or none).
    """

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
        return len(set(asked(self.left)) - set(self.transcript.names))

    @property
    def offer(self) -> Offer | None:
        """The options of which the awaited reply is to name one, where what follows depends on
        that.
        """
        match self.left[1:]:
            case (Fork() as fork,):
                return fork.offer if fork.reply == self.awaiting else None
            case (Ladder() as pushed,):
                return pushed.offer
        return None

    def leads_to(self, heard: Transcript) -> bool:
        """Whether *heard* begins as its transcript does; where nothing is left to be said, whether
        it is that.
        """
        lines = self.transcript.lines
        return lines == heard.lines[: len(lines)] and (
            bool(self.left) or len(lines) == len(heard.lines)
        )

    def answered(self, words: Words, heard: Transcript | None = None) -> ConversationState:
        """The state after the awaited reply, up to the next one. ValueError when none is awaited.

        What follows a choice or a push is what the rule of today reads; of a conversation that was
        *heard* it is what was said in it, since another rule may have read it then.
        """
        if self.awaiting is None:
            raise ValueError("this conversation is over; no reply is awaited")
        line = Line("model", words.text, words.notes, name=self.awaiting)
        return _advance(self.transcript.add(line), self.left[1:], heard)


def begin(system: str, script: Script) -> ConversationState:
    """*script* up to the first place where the model replies."""
    return _advance(Transcript(system), script)


def replayed(
    script: Script, talk: Transcript, heard: Transcript | None = None
) -> ConversationState:
    """*script* with the replies of *talk*, as far as it awaits them; *heard* as in
    `ConversationState.answered`.
    """
    state = begin(talk.system, script)
    for line in talk.lines:
        if line.name and state.awaiting:
            state = state.answered(Words(line.text, line.notes), heard)
    return state


def ways(system: str, script: Script, reply: Callable[[str], str]) -> Iterator[Transcript]:
    """*script* played to its end so that everything is said that may be, with what *reply* returns
    for each reply.

    What the replies say is not read: of a fork both options are taken in turn, of pushes none is
    yielded to, and then the first one.
    """
    yield from _ways(Transcript(system), script, reply)


def play(system: str, script: Script, reply: Callable[[str], str]) -> Transcript:
    """*script* played to its end, with what *reply* returns for the name of each reply; the first
    option is taken.
    """
    return next(ways(system, script, reply))


def _ways(
    transcript: Transcript, script: Script, reply: Callable[[str], str]
) -> Iterator[Transcript]:
    for step in script:
        match step:
            case Ask():
                transcript = transcript.add(Line("model", reply(step.name), name=step.name))
            case Says():
                transcript = transcript.add(Line("human", fill(step.text, transcript.reply)))
            case Prefill():
                transcript = transcript.add(Line("model", fill(step.text, transcript.reply)))
            case Fork():
                for follows in dict.fromkeys(step.options):
                    yield from _ways(transcript, follows, reply)
                return
            case Ladder():
                yield from _rungs(transcript, step, reply)
                return
    yield transcript


def _rungs(
    transcript: Transcript, pushed: Ladder, reply: Callable[[str], str]
) -> Iterator[Transcript]:
    climbed = [transcript]
    for text, name in zip(pushed.pushes, pushed.replies, strict=True):
        climbed.append(
            climbed[-1].add(Line("human", text)).add(Line("model", reply(name), name=name))
        )
    yield climbed[-1]
    name = f"{NOTED}1"
    yield climbed[1].add(Line("human", pushed.noted)).add(Line("model", reply(name), name=name))


def _advance(
    transcript: Transcript, left: Script, heard: Transcript | None = None
) -> ConversationState:
    for number, step in enumerate(left):
        match step:
            case Ask():
                return ConversationState(transcript, left[number:])
            case Says():
                transcript = transcript.add(Line("human", fill(step.text, transcript.reply)))
            case Prefill():
                transcript = transcript.add(Line("model", fill(step.text, transcript.reply)))
            case Fork():
                taken = read_option(transcript.reply(step.reply), step.offer.before)
                follows = (
                    step.otherwise
                    if taken is None
                    else step.options[step.offer.labels.index(taken)]
                )
                if heard is not None:
                    said = [
                        line.text
                        for line in heard.lines[len(transcript.lines) :]
                        if line.speaker == "human"
                    ]
                    may = (
                        each
                        for each in (follows, *step.options, step.otherwise)
                        if _may_say(each, said)
                    )
                    follows = next(may, follows)
                return _advance(transcript, follows, heard)
            case Ladder():
                climbed = _climb(transcript, step)
                if heard is None:
                    return climbed
                states = (climbed, *_climbs(transcript, step))
                return next((state for state in states if state.leads_to(heard)), climbed)
    return ConversationState(transcript, ())


def _may_say(script: Script, said: Sequence[str]) -> bool:
    """Whether the human's words *said* are those of *script*, as far as they go, whatever is
    replied.
    """
    left, asked = [*said], False
    for step in script:
        match step:
            case Fork():
                return any(_may_say(each, left) for each in (*step.options, step.otherwise))
            case Ladder():
                return {*left} <= {*step.pushes, step.noted}
            case Ask():
                asked = True
            case Says() if not left:
                return asked  # what comes before a reply is said with what the last reply led to
            case Says() if step.text != left.pop(0):
                return False
    return not left


def _climbs(transcript: Transcript, pushed: Ladder) -> list[ConversationState]:
    """Every way in which a ladder may go on, whatever its replies say."""
    climbed = [reply for reply in pushed.replies if reply in transcript.names]
    noted = f"{NOTED}{len(climbed)}"
    if sum(name.startswith(NOTED) for name in transcript.names) == MOST_YIELDED:
        return [ConversationState(transcript, ())]
    ways = []
    if climbed and noted not in transcript.names:
        ways.append(
            ConversationState(transcript.add(Line("human", pushed.noted)), (Ask(noted), pushed))
        )
    if len(climbed) < len(pushed.pushes):
        push = transcript.add(Line("human", pushed.pushes[len(climbed)]))
        ways.append(ConversationState(push, (Ask(pushed.replies[len(climbed)]), pushed)))
    if noted in transcript.names or len(climbed) == len(pushed.pushes):
        ways.append(ConversationState(transcript, ()))
    return ways


def _climb(transcript: Transcript, pushed: Ladder) -> ConversationState:
    """The next thing that is said on the ladder, if it goes on."""
    said = {line.name: line.text for line in transcript.lines if line.name}
    taken = {name: read_option(text, pushed.offer) for name, text in said.items()}
    yielded = [
        reply for reply in pushed.replies if taken.get(reply) == pushed.offer.other(pushed.choice)
    ]
    climbed = [reply for reply in pushed.replies if reply in said]
    last = climbed[-1] if climbed else ""
    noted = f"{NOTED}{len(climbed)}"
    if last in yielded:
        if noted not in said:
            return ConversationState(
                transcript.add(Line("human", pushed.noted)), (Ask(noted), pushed)
            )
        if taken[noted] != pushed.choice or len(yielded) == MOST_YIELDED:
            return ConversationState(transcript, ())
    if len(climbed) == len(pushed.pushes):
        return ConversationState(transcript, ())
    push = transcript.add(Line("human", pushed.pushes[len(climbed)]))
    return ConversationState(push, (Ask(pushed.replies[len(climbed)]), pushed))
