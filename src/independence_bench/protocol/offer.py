"""What a stem offers, two options that differ in two aspects, and which of them a reply states.

    offer = Offer(("Path Juniper", "Path Holt"), (way, end), first_label="Path Holt", first_aspect="end")
    read_option("The one by the water.", offer)                # "Path Holt", as the facts stand
    read_aspect("Path Holt, the way.", offer)                  # "way"

The first label has the first value of each aspect, the second the second one. Where the values of an aspect were put
right (*corrected*), its labels have them the other way round. The rule for labels is that of `choice`; what it cannot
read is looked at for a description that fits one option alone. An aspect is read where the reply names that one and
not the other, or only that one as its reason; "both" is none. So neither is guessed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from independence_bench.hashing import Identified, content_hash
from independence_bench.protocol.choice import RULE as OPTION_RULE
from independence_bench.protocol.choice import read_choice, words


@dataclass(frozen=True, slots=True)
class Aspect(Identified):
    """One of the two facts by which the options differ, and the words by which a reply names it or its values."""

    CAUSES = ("name", "words", "values")
    name: str
    words: tuple[str, ...]  # what it is called
    values: tuple[tuple[str, ...], tuple[str, ...]]  # words for the first option's value, and for the second's


@dataclass(frozen=True, slots=True)
class Offer(Identified):
    """Two labels, the two aspects in which they differ, and which aspect's values changed places, if any."""

    CAUSES = ("labels", "aspects", "first_label", "first_aspect", "corrected")
    labels: tuple[str, str]
    aspects: tuple[Aspect, ...]  # two, or none where only labels are known
    first_label: str  # that the opening names first
    first_aspect: str  # the name of the aspect that it names first
    corrected: str = ""

    @property
    def before(self) -> Offer:
        """As it was before anything was put right."""
        return replace(self, corrected="") if self.corrected else self

    def other(self, label: str) -> str:
        """The label that is not *label*."""
        return self.labels[1] if label == self.labels[0] else self.labels[0]


# "the one by the water", "the path over the down to the baker's", up to the end of the phrase
_ONE = (
    r"\b(?:the|that|this) (?:(?:one|option|first|second)s?|{shared})\b(?: [\w'’]+){{0,5}}? (?:{words})(?:['’]?s)?\b"
    r"(?: (?:at|by|for|in|of|on|with)\b[^,.;:!?\n]*)?"
)
_CONTRAST = re.compile(
    r"\b(?:not|never|isnt|wasnt|didnt|doesnt|rather than|instead of|regardless of|more than|less|nor|no matter|"
    r"irrespective of|matters? less|apart from)\b.*"
)
_REASON = re.compile(
    r"\b(?:because|since|due to|thanks to|for (?:the|its|how|what|where)|decid\w+|decisive|reason|matter(?:s|ed)|"
    r"tip\w*|drew|draws|drawn to|based on|by (?:the|how|what|where))\b"
)
# what may stand in a note beside a name and what decided it
BESIDE = frozenset(words("a and answer because by decided for it its name of one s the was what which word"))
_BOTH = re.compile(r"\b(?:both|equally|neither|either)\b")
_PIECES = re.compile(r"(?<=[.!?;:])\s+|\n+|,\s|\s[-–—]+\s|\b(?:but|although|though|while|whereas)\b", re.I)

RULE = content_hash(
    ["an option, a note, or a description; the aspect that alone is named", OPTION_RULE, _ONE, sorted(BESIDE)]
    + [each.pattern for each in (_CONTRAST, _REASON, _BOTH, _PIECES)]
)
"""The rule's name: another one with every change of its words."""


def read_option(reply: str, offer: Offer) -> str | None:
    """The label that *reply* takes, by name or as "the one by the water"; None where neither is read."""
    if label := read_choice(reply, offer.labels):
        return label
    if label := _noted(reply, offer):
        return label
    folded = set(words(reply))
    named = [set(words(label)) - _shared(offer.labels) for label in offer.labels]
    if any(of & folded for of in named):
        return None
    described = [(pattern, label) for pattern, label in _descriptions(offer) if pattern.search(reply)]
    if len(described) != 1:  # of both it is a description and no answer
        return None
    ((pattern, label),) = described
    return read_choice(pattern.sub(label, reply), offer.labels)


def read_aspect(reply: str, offer: Offer) -> str | None:
    """The name of the aspect that *reply* says decided its choice; None where it names both as such, or none."""
    named: set[str] = set()
    reasons: set[str] = set()
    for piece in _PIECES.split(_without(reply, offer.labels)):
        if piece.rstrip(" )\"'”’*").endswith("?"):
            continue
        said = _CONTRAST.sub("", " ".join(words(piece)))
        here = {aspect.name for aspect in offer.aspects if _named(aspect).search(said)}
        if _BOTH.search(said) and len(here) != 1:
            return None
        named |= here
        reasons |= here if _REASON.search(said) else set()
    alone = named if len(named) == 1 else reasons
    return next(iter(alone)) if len(alone) == 1 else None


def _noted(reply: str, offer: Offer) -> str | None:
    """The label of a reply that consists of one and what names aspects or values: "Path Holt / way"."""
    left = f" {' '.join(words(reply))} "
    for aspect in offer.aspects:
        left = _named(aspect).sub(" ", left)
    said = set(left.split())
    named = [label for label in offer.labels if said & (set(words(label)) - _shared(offer.labels))]
    if len(named) != 1 or said - set(words(named[0])) - BESIDE:
        return None
    return named[0]


def _shared(labels: tuple[str, str]) -> set[str]:
    return set(words(labels[0])) & set(words(labels[1]))


def _without(reply: str, labels: tuple[str, str]) -> str:
    """*reply* without the labels, whose words may be those of an aspect."""
    every = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
    return re.sub(every, " … ", reply, flags=re.I)


@lru_cache(maxsize=512)
def _named(aspect: Aspect) -> re.Pattern[str]:
    every = {" ".join(words(word)) for word in (*aspect.words, *aspect.values[0], *aspect.values[1])}
    return re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, every), key=len, reverse=True))})\b")


@lru_cache(maxsize=512)
def _descriptions(offer: Offer) -> tuple[tuple[re.Pattern[str], str], ...]:
    """What describes one of the options alone, as the facts stand, and its label."""
    shared = "|".join(sorted(_shared(offer.labels))) or "one"
    found = []
    for place, label in enumerate(offer.labels):
        every = [
            word
            for aspect in offer.aspects
            for word in aspect.values[1 - place if aspect.name == offer.corrected else place]
        ]
        pattern = _ONE.format(shared=shared, words="|".join(map(re.escape, every)))
        found.append((re.compile(pattern, re.I), label))
    return tuple(found)
