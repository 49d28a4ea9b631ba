"""What a character's description says, sentence by sentence: views, tastes, facts, rules, its
voice, its honesty.

    statements = list(read_statements("description", text, "Mira"))

By rule, in linear time: the text is cut into entries (`Likes: tea`, W++, lists under a heading,
questions with their answers) and sentences, and each is known by its key, its heading or its own
words (`cues.yaml`). Nothing is made up: a statement is words of the text. Knows nothing of files,
cards or sheets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, cast

from independence_bench.yaml_io import read_own

Kind = Literal["honesty", "voice", "view", "taste", "rule", "fact"]
MOST_LINES = 5_000  # of one text
LONGEST = 600  # characters of a sentence or an entry; what is longer is cut into several
LONGEST_TOPIC = 80
SPOKEN = ("first_mes", "mes_example", "alternate_greetings")  # fields in which the character talks
# in which a sentence without a cue is no fact
ORDERS = ("system_prompt", "post_history_instructions", "scenario")

# who speaks in a line; in examples anywhere, and in fields of talk, also others
_PERSON, _OTHERS = (
    ("{{user}}", "<user>", "user", "you", "q"),
    ("player", "customer", "client", "guest", "visitor", "human"),
)
_CHARACTER = ("{{char}}", "<bot>", "a")
MOST_KEY_WORDS, OTHER_LETTERS = 4, 20  # of a W++ entry; of a line that has such entries and is none


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that a text says of the character."""

    kind: Kind
    topic: str  # what it is about, in a few words
    says: str
    field: str  # of the card
    sure: bool  # whether its kind and its topic were known by words that mean them
    quote: str = ""  # the words of the card that say it, where they are others


def read_statements(field: str, text: str, name: str) -> Iterator[Statement]:
    """What *text*, the *field* of a card of the character called *name*, says of it, in its order."""
    reader = _Reader(field, name)
    for line in text.splitlines()[:MOST_LINES]:
        for start in range(0, len(line) or 1, 4 * LONGEST):
            yield from reader.line(line[start : start + 4 * LONGEST].strip())


def denies(honesty: str) -> bool:
    """Whether a statement of that kind says that the character does not admit to be an AI."""
    return _shape("denies").search(honesty) is not None


@cache
def _cues() -> dict[str, dict[str, re.Pattern[str]]]:
    """The parts of `cues.yaml`. When a text is first read: most commands read none."""
    cues = read_own(Path(__file__).with_name("cues.yaml").read_text(encoding="utf-8"))
    return {
        part: {name: re.compile(pattern, re.IGNORECASE) for name, pattern in cues[part].items()}
        for part in ("shapes", "keys", "sentences", "topics")
    }


def _shape(name: str) -> re.Pattern[str]:
    """What a line or a part of it looks like that is called so."""
    return _cues()["shapes"][name]


def _first(part: str, text: str) -> str | None:
    """The name of the first of the cues in that *part* that occurs in *text*."""
    return next((name for name, pattern in _cues()[part].items() if pattern.search(text)), None)


class _Reader:
    """Reads a text line by line; knows under which heading and after which question it is."""

    def __init__(self, field: str, name: str) -> None:
        self.field, self.names = field, (name.casefold(), (name.casefold().split() or [""])[0])
        self.under: str | None = None  # what a heading says that the lines below it are
        # a heading without marks ends with its list, after an empty line
        self.bare, self.ended = False, False
        self.question: str | None = None  # what a question says that its answer is
        self.talking = False  # a person and the character speak in turn
        self.sample = False  # under a heading of examples

    def line(self, line: str) -> Iterator[Statement]:
        """What *line* says."""
        if not line or line.upper() == "<START>":
            self.ended = not line
            return
        called = list(_shape("called").finditer(line))
        others = sum(c.isalpha() for c in _shape("called").sub("", line))
        # a sentence with words in quotes
        bare = all(len(entry["key"].split()) > MOST_KEY_WORDS for entry in called)
        if called and not bare and (line[0] in "[{(" or others < OTHER_LETTERS):
            for entry in called:
                yield from self.entry(
                    entry["key"], ", ".join(re.findall(r"[\"“]([^\"”]+)[\"”]", entry["value"]))
                )
            return
        if line[0] in "[(" and ":" in line:  # a list of entries
            for part in line.strip("[]()").split(";"):
                if found := _shape("entry").match(part):
                    yield from self.entry(found["key"] or found["boxed"], found["value"])
            return
        turn = _shape("turn").match(line)
        persons = (*_PERSON, *_OTHERS) if self.sample or self.field in SPOKEN else _PERSON
        talking = self.talking or self.sample  # then whoever else has lines is the character
        if turn and (
            talking or turn["who"].casefold().strip() in (*persons, *_CHARACTER, *self.names)
        ):
            self.talking = turn["who"].casefold().strip() in persons
            if not self.talking:
                yield from self.spoken(turn["what"])
                return
            asked = _first("keys", turn["what"]) or _first("sentences", turn["what"])
            self.question = None if asked in ("skip", "honesty") else asked
        if self.talking and not line.startswith(("#", "<", "【")):
            return
        bullet = _shape("bullet").match(line)
        body = line[bullet.end() :] if bullet else line
        if self.bare and self.ended and not bullet:
            self.under, self.bare, self.sample = None, False, False
        self.ended = False
        if one := _shape("entry").match(body):
            key = one["key"] or one["boxed"]
            if len(key.split()) <= (5 if bullet or self.under or _first("keys", key) else 3):
                yield from self.entry(key, one["value"])
                return
        if not bullet and (heading := _shape("heading").match(line)):
            known = _first(
                "keys", heading["marked"] or heading["tag"] or heading["boxed"] or heading["bare"]
            )
            short = self.field != "personality" or "、" not in line  # else a list of traits
            if heading["bare"] is None or heading["colon"] or (known and short) or line.isupper():
                self.sample = known == "sample" and not line.startswith("</")
                self.talking = False
                self.under = (
                    None if known in ("skip", "fact", "sample") or line.startswith("</") else known
                )
                self.bare = heading["bare"] is not None
                return
        if self.field in SPOKEN or self.sample:
            yield from self.spoken(body)
        elif self.field == "personality" or (bullet and self.under):
            yield from self.sentence(body[:LONGEST], listed=True)
        else:
            for sentence in sentences(body):
                yield from self.sentence(sentence, listed=bullet is not None)

    def entry(self, key: str, value: str) -> Iterator[Statement]:
        """An entry with a key: all of its value is one statement."""
        key = (
            re.sub(r"^\{\{char\}\}(?:'s)? ?|^\w{1,40}['’]s ", "", key.strip()).strip().lower()
            or "personality"
        )
        kind, words = _first("keys", key), _first("sentences", value)
        if words == "rule" and _shape("trait").search(value):
            words = None
        if kind == "skip" or not any(c.isalnum() for c in value):
            return
        if kind == "sample":
            yield from self.spoken(value)
            return
        if words == "honesty" and kind in ("rule", "fact", "view", None):
            kind = words
        sure = bool(kind or self.under) or len(value) <= LONGEST_TOPIC
        for at in range(0, len(value), LONGEST):
            yield self.statement(
                kind or self.under or words or "fact", value[at : at + LONGEST], sure, key
            )

    def sentence(self, sentence: str, listed: bool) -> Iterator[Statement]:
        """A sentence: what its clauses state, those that state the same kind together."""
        whole = _first("sentences", sentence)
        if self.under or whole == "honesty":
            yield self.statement(
                "honesty" if whole == "honesty" else self.under or "fact", sentence, True
            )
        elif self.field == "personality":
            yield self.statement(whole or "fact", sentence, True, self.field)
        elif _shape("aside").search(sentence):
            if self.field in ORDERS and whole == "voice":
                yield self.statement(whole, sentence, True)
        else:
            for kind, words in _clauses(sentence, whole):
                named = _shape("about").search(words) or self.names[1] in words.casefold()
                if kind or (self.field not in ORDERS and (listed or named)):
                    yield self.statement(kind or "fact", words, kind is not None)

    def spoken(self, text: str) -> Iterator[Statement]:
        """What the character says in a line that it speaks: never sure, since people say much in a
        story.
        """
        done = _shape("done").findall(text) if self.question else []
        for said in [match[0][1:-1] for match in _shape("said").finditer(text)] or [
            _shape("done").sub(" ", text)
        ]:
            for sentence in sentences(said):
                kind = _first("sentences", sentence)
                if self.question and self.question != "fact" and kind != "honesty":
                    kind = self.question
                elif kind is None and _shape("subject").search(sentence):
                    kind = "fact" if _shape("self").search(sentence) else "view"
                if (kind or self.question) and not _shape("aside").search(sentence):
                    yield self.statement(kind or "fact", sentence, False)
        yield from (
            self.statement("fact", one.strip("*"), False)
            for one in done
            if _first("sentences", one) == "fact"
        )

    def statement(self, kind: str, says: str, sure: bool, topic: str = "") -> Statement:
        """A statement of *kind*, which is never surer than its topic."""
        says = " ".join(says.split())
        topic = " ".join(topic.split()) or _topic(kind, says)
        shown = topic or " ".join(says.split()[:6])[:LONGEST_TOPIC]
        sure = sure and bool(topic) and not _shape("staging").search(says)
        return Statement(cast(Kind, kind), shown, says, self.field, sure)


def sentences(text: str) -> Iterator[str]:
    """The sentences of *text*, none longer than `LONGEST`."""
    start = 0
    for end in [*_shape("end").finditer(text), None]:
        sentence, start = text[start : end.start() if end else len(text)], end.end() if end else 0
        for at in range(0, len(sentence), LONGEST):
            if any(c.isalnum() for c in sentence[at : at + LONGEST]):
                yield sentence[at : at + LONGEST].strip()


def _clauses(sentence: str, whole: str | None) -> list[tuple[str | None, str]]:
    """(what it states, words) of parts of *sentence* that state different kinds; all of it where
    they do not.
    """
    first, *parts = _shape("clause").split(sentence)
    groups = [(_first("sentences", first) if parts else whole, first)]
    for between, words in zip(parts[::2], parts[1::2], strict=True):
        before, kind = groups[-1][0], _first("sentences", words)
        if kind is None or before in (None, kind):
            groups[-1] = (before or kind, groups[-1][1] + between + words)
        else:
            groups.append((kind, words))
    return groups if len(groups) > 1 else [(whole, sentence)]


def _topic(kind: str, says: str) -> str:
    """What *says* is about, in a few of its words; "": not known, or it would give the answer away."""
    if kind == "fact":
        return _first("topics", says) or ""
    cue = _cues()["sentences"][kind].search(says) if kind in ("view", "taste", "rule") else None
    if japanese := _shape("subject_ja").match(says):
        return japanese["subject"]
    rest = (
        _shape("lead").sub("", says[cue.end() :] if cue else says)
        or says[: cue.start() if cue else None]
    )
    subject = _shape("subject").match(rest)
    if kind == "view" or (
        cue and kind == "taste" and re.search("fav|lieblings", cue[0], re.IGNORECASE)
    ):
        return subject["subject"].strip()[:LONGEST_TOPIC] if subject else ""
    end = _shape("topic_end").search(rest)
    return " ".join(rest[: end.start() if end else None].split()[:10])[:LONGEST_TOPIC]
