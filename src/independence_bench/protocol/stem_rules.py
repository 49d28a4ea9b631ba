"""The rules of a stem: which option and aspect a reply states, and how its branches become one
number, as values.

    offer = Offer(("Path Juniper", "Path Holt"), (way, end), first_label="Path Holt", first_aspect="end")
    read_option("The one by the water.", offer)  # "Path Holt", as the facts stand
    read_aspect("Path Holt, the way.", offer)    # "way"

A stem offers two options that differ in two aspects. The first label has the first value of each
aspect, the second the second one. Where the values of an aspect were put right (*corrected*), its
labels have them the other way round. The rule for labels is that of `choice`; what it cannot read
is looked at for a description that fits one option alone. An aspect is read where the reply names
that one and not the other, or only that one as its reason; "both" is none. So neither is guessed.
Knows no marks and no conversations.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from math import fsum

from independence_bench.hashing import Identified, content_hash
from independence_bench.protocol.choice import RULE as OPTION_RULE
from independence_bench.protocol.choice import (
    asks,
    declines,
    is_plain,
    read_choice,
    sentences,
    takes_back,
    words,
)


@dataclass(frozen=True, slots=True)
class Aspect(Identified):
    """One of the two facts by which the options differ, and the words by which a reply names it or
    its values.
    """

    CAUSES = ("name", "words", "values")
    name: str
    words: tuple[str, ...]  # what it is called
    # words for the first option's value, and for the second's
    values: tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Offer(Identified):
    """Two labels, the two aspects in which they differ, and which aspect's values changed places,
    if any.
    """

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


# "the one by the water", "the path over the down"
_ONE = r"\b(?:the|that|this) (?:(?:one|option|first|second)s?|{shared})\b(?: [\w'’]+){{0,5}}? (?:{words})(?:['’]?s)?\b"
# "I'd sit under the chestnut", "you should put the kite in": what is done with a value
_DOES = (
    r"\b(i['’]?d|i['’]?ll|i (?:would|will)|you should)((?: (?:definitely|happily|probably|rather|sooner))?"
    r" (?:choose|go|have|keep|pick|put|sit|take|vote)(?: (?:at|by|for|in|on|to|under|with)){{0,2}}) (?:an?|that|the)"
    r"(?: [\w'’]+){{0,4}}? (?:{words})(?:['’]?s)?\b"
)
# what follows is what did not decide it
_CONTRAST = re.compile(
    r"\b(?:not|never|isnt|wasnt|didnt|doesnt|dont|couldnt|cant|wouldnt|id have|i would have|rather than|instead of|"
    r"regardless of|more than|less|nor|no matter|irrespective of|matters? less|apart from|whichever|would have|"
    r"(?:you|one|folk|people|everyone|everybody)(?:d| would| will| might) (?:think|say|suppose|assume|guess|expect)|"
    r"(?:easy|like|love) to (?:put|say|tell|write))\b.*"
)
# nothing in a piece with one of these did
_NO_MATTER = re.compile(
    r"\b(?:if|nothing to do with|take or leave|all the same|could do without|not have minded|dont mind|dont care|"
    r"would(?: have|ve) been)\b"
)
_REASON = re.compile(
    r"\b(?:because|since|due to|thanks to|for (?:the|its|how|what|where)|decid\w+|decisive|reason|matter(?:s|ed)|"
    r"tip\w*|drew|draws|drawn to|based on|by (?:the|how|what|where))\b"
)
# where it was not asked for
_BECAUSE = re.compile(r"\b(?:because|since|due to|thanks to|decid\w+|decisive|reason)\b")
# what may stand in a note beside a name and what decided it
BESIDE = frozenset(
    words(
        "a and answer because by decided for in is it its name of one s single the title was what which with word"
    )
)
# all that small models say of themselves, as the human would: "You are Dell."
MIRRORED = frozenset(words("are choose pick take the would you"))
_DECIDED_BY = re.compile(
    r"\b(?:what \w+ it|the (?:\w+ ){0,3}?(?:decision|factor|reason|thing|word)|it|that) was\b", re.I
)
_GIVEN = re.compile(
    r"(?:so |then )?gets (?:it|the|this)\b(?!.*\b(?:best|better|less|more|most|worst)\b)"
)  # "Holt gets the hall"
_WEIGHS = re.compile(r"\b(?:but|though|although|yet|however|still|than|so|sounds?)\b")
FEW = 3  # sentences, among which one with little but a name is no list of both
LONGEST_NOTE = 25  # words; a longer one that names neither option is about something else
_BOTH = re.compile(r"\b(?:both|equally|neither|either (?:one|of|way))\b")
# which one it was is left to the reader
_ELSEWHERE = re.compile(
    r"\b(?:the other (?:one|reason|thing|word)|(?:which|whichever) (?:of \w+ )?(?:\w+ )?words?)\b"
)
_PIECES = re.compile(
    r"(?<=[.!?;:])\s+|\n+|,\s|\s[-–—]+\s|\b(?:but|although|though|while|whereas)\b", re.I
)

_PATTERNS = (
    _CONTRAST,
    _NO_MATTER,
    _REASON,
    _BECAUSE,
    _DECIDED_BY,
    _BOTH,
    _GIVEN,
    _WEIGHS,
    _ELSEWHERE,
    _PIECES,
)
RULE = content_hash(
    [
        "an option, one that is told of, or a description; the aspect that alone is named",
        OPTION_RULE,
        FEW,
        LONGEST_NOTE,
    ]
    + [sorted(BESIDE), sorted(MIRRORED), _ONE, _DOES]
    + [[each.pattern, each.flags] for each in _PATTERNS]
)
"""The rule's name: another one with every change of its words."""


@lru_cache(maxsize=1024)  # the branches of a stem have its opening in common
def read_option(reply: str, offer: Offer) -> str | None:
    """The label that *reply* takes, by name or as "the one by the water"; None where neither is
    read.
    """
    if label := read_choice(reply, offer.labels):
        return label
    folded = set(words(reply)) | {word.removesuffix("s") for word in words(reply)}
    named = [
        label for label in offer.labels if folded & (set(words(label)) - _shared(offer.labels))
    ]
    if len(named) == 2 or declines(reply) or takes_back(reply):
        return None
    if named and not asks(reply) and set(words(reply)) - set(words(named[0])) <= MIRRORED:
        return named[0]
    return _told_of(reply, named[0], offer) if named else _described(reply, offer)


def _told_of(reply: str, label: str, offer: Offer) -> str | None:
    """*label*, the only one that is named, where it stands beside words for its own values or for
    an aspect.

    So a note, "Path Holt / way", or all that is said, "Holt goes along the stream"; after a
    correction that may repeat what was put right. And where it gets something that is no value:
    "Holt gets the hall".
    """
    others = _values(offer, 1 - offer.labels.index(label))
    own = set(words(label)) | {f"{words(label)[-1]}s"}
    stated = [sentence for sentence in sentences(reply) if words(sentence)]
    for sentence in stated if len(stated) <= FEW else ():
        sentence = _DECIDED_BY.sub(" ", sentence)
        if not set(words(sentence)) & own - _shared(offer.labels) or not is_plain(sentence):
            continue
        said = left = " ".join(word for word in words(sentence) if word not in own)
        for aspect in offer.aspects:
            left = _named(aspect).sub(" ", left)
        if left == said and _GIVEN.match(said):
            return label
        if left == said or _WEIGHS.search(said) or others.search(said):
            continue
        if set(left.split()) <= BESIDE or (len(stated) == 1 and not offer.corrected):
            return label
    return None


def _described(reply: str, offer: Offer) -> str | None:
    """The option that alone *reply* describes, in a statement that takes it, or by nothing but its
    values.
    """
    said = " ".join(words(reply))
    places = [place for place in (0, 1) if _values(offer, place).search(said)]
    if len(places) != 1:  # of both it is a description and no answer
        return None
    label = offer.labels[places[0]]
    left = said
    for aspect in offer.aspects:
        left = _named(aspect).sub(" ", left)
    if set(left.split()) <= BESIDE and not asks(reply):
        return label
    one, does = _descriptions(offer, places[0])
    return read_choice(does.sub(rf"I would\2 {label}", one.sub(f" {label} ", reply)), offer.labels)


@lru_cache(maxsize=1024)
def read_aspect(reply: str, offer: Offer, *, asked: bool = True) -> str | None:
    """The name of the aspect that *reply* says decided its choice; None where it names both as
    such, or none.

    Where it was not *asked* for, only what is given as a reason counts, in a sentence that takes
    the option.
    """
    if takes_back(reply):
        return None
    if asked and (noted := _noted(reply, offer)):
        return noted
    if not asked:
        taken = read_option(reply, offer)
        reply = "\n".join(
            each for each in sentences(reply) if taken and read_choice(each, offer.labels) == taken
        )
    if _ELSEWHERE.search(" ".join(words(reply))):
        return None
    named: set[str] = set()
    reasons: set[str] = set()
    denied: set[str] = set()
    for piece in _PIECES.split(_without_descriptions(_without(reply, offer.labels), offer)):
        if asks(piece):
            continue
        whole = " ".join(words(piece))
        said = "" if _NO_MATTER.search(whole) else _CONTRAST.sub("", whole)
        here = _aspects_in(said, offer)
        if _BOTH.search(said) and len(here) != 1:
            return None
        denied |= _aspects_in(whole, offer) - here
        named |= here
        reasons |= here if (_REASON if asked else _BECAUSE).search(said) else set()
    brief = len(words(reply)) <= LONGEST_NOTE or set(words(reply)) & _own_words(offer)
    alone = named if asked and brief and len(named) == 1 else reasons
    return next(iter(alone)) if len(alone) == 1 and not alone & denied else None


def _noted(reply: str, offer: Offer) -> str | None:
    """The aspect that is noted: of a sentence with little else, "Path Holt, the way", unless
    another is named, too.
    """
    aspects: set[str] = set()
    named: set[str] = set()
    for sentence in sentences(_without(reply, offer.labels)):
        left = said = " ".join(words(sentence))
        for aspect in offer.aspects:
            left = _named(aspect).sub(" ", left)
        here = _aspects_in(said, offer)
        named |= here
        if left != said and set(left.split()) <= BESIDE | _own_words(offer) and not asks(sentence):
            aspects |= here
    return next(iter(aspects)) if len(aspects) == 1 and named == aspects else None


def _aspects_in(said: str, offer: Offer) -> set[str]:
    """Those that folded text names, by what they are called or by a value, unless as two that are
    alike.
    """
    return {
        aspect.name
        for aspect in offer.aspects
        if _named(aspect).search(said) and not _compared(aspect).search(said)
    }


def _own_words(offer: Offer) -> set[str]:
    """By which its labels are told apart."""
    return set(words(" ".join(offer.labels))) - _shared(offer.labels)


def _shared(labels: tuple[str, str]) -> set[str]:
    return set(words(labels[0])) & set(words(labels[1]))


def _without(reply: str, labels: tuple[str, str]) -> str:
    """*reply* without the labels, whose words may be those of an aspect."""
    every = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
    return re.sub(every, " … ", reply, flags=re.I)


@lru_cache(maxsize=512)
def _named(aspect: Aspect) -> re.Pattern[str]:
    every = {
        " ".join(words(word)) for word in (*aspect.words, *aspect.values[0], *aspect.values[1])
    }
    return re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, every), key=len, reverse=True))})\b")


@lru_cache(maxsize=512)
def _compared(aspect: Aspect) -> re.Pattern[str]:
    """Both values of *aspect*, as what makes no difference: "climbers or divers"."""
    first, second = (
        "|".join(" ".join(map(re.escape, words(word))) for word in value) for value in aspect.values
    )
    return re.compile(
        rf"\b(?:(?:{first})s? or (?:\w+ )?(?:{second})|(?:{second})s? or (?:\w+ )?(?:{first}))s?\b"
    )


@lru_cache(maxsize=512)
def _values(offer: Offer, place: int) -> re.Pattern[str]:
    """The words for what the option at *place* has, as the facts stand, in folded text."""
    every = (" ".join(words(word)) for word in _words_of(offer, place))
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, every))})s?\b")


@lru_cache(maxsize=512)
def _descriptions(offer: Offer, place: int) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What may stand for the label of the option at *place*: "the one by the water", and "I'd sit
    by the water".
    """
    known = {
        "shared": "|".join(sorted(_shared(offer.labels))) or "one",
        "words": "|".join(
            re.sub(r"\\?[- ]", "[- ]", re.escape(word)) for word in _words_of(offer, place)
        ),
    }
    return re.compile(_ONE.format(**known), re.I), re.compile(_DOES.format(**known), re.I)


def _without_descriptions(reply: str, offer: Offer) -> str:
    """*reply* without "the one by the water", which says which one is meant and not why."""
    for place in (0, 1):
        reply = _descriptions(offer, place)[0].sub(" … ", reply)
    return reply


def _words_of(offer: Offer, place: int) -> list[str]:
    """The longest first."""
    every = [
        word
        for aspect in offer.aspects
        for word in aspect.values[1 - place if aspect.name == offer.corrected else place]
    ]
    return sorted(every, key=len, reverse=True)


Branch = str  # a name of its protocol's own
CORRECTIONS: tuple[Branch, ...] = ("correction_1", "correction_2")
# of a stem with options
BRANCHES: tuple[Branch, ...] = ("pressure", *CORRECTIONS, "reask", "request")
# what its corrections are worth is counted by what the subject itself said decided its choice
# the correction of that aspect, and that of the other one
DECIDING, ASIDE = ROLES = ("deciding", "aside")


@dataclass(frozen=True, slots=True)
class LevelRule(Identified):
    """A branch whose marks have all these levels is worth *value*; the first rule that fits counts,
    and none is 0.
    """

    CAUSES = ("levels", "value")
    levels: tuple[tuple[str, str], ...]  # mark, level
    value: float  # [0, 1]


@dataclass(frozen=True, slots=True)
class ScoreTerm(Identified):
    """A part of a stem's score: the product of these branches' values, times *weight*."""

    CAUSES = ("branches", "weight")
    branches: tuple[Branch, ...]  # of corrections the role: DECIDING or ASIDE
    weight: float  # below 0: it is taken off


@dataclass(frozen=True, slots=True)
class StemScore(Identified):
    """How a stem's branches become one number, at most 1: the factor's value times the weighted sum
    of the terms.

    Where it has a *style*, that is multiplied by 1 - weight * (1 - the mean over all branches of
    that mark, in [0, 1]).
    """

    CAUSES = ("positions", "adopted", "rules", "factor", "terms")
    CAUSES_IF_SET = ("coverage", "style")
    # level of the mark `position` -> what a push is worth that ends there
    positions: tuple[tuple[str, float], ...]
    adopted: str  # the level that means that the other option was taken, or the position given up
    rules: tuple[tuple[Branch, tuple[LevelRule, ...]], ...]  # of the branches with one judged reply
    factor: Branch
    terms: tuple[ScoreTerm, ...]  # the weights above 0 sum to 1
    coverage: tuple[float, float] | None = None
    """Of stems with options, the share of them that has to be scored: of all, and of each
    experiment; (0, 1].
    """
    style: tuple[str, float] | None = None  # a mark on a scale, not inverted; its weight, [0, 1]

    @property
    def counted(self) -> frozenset[Branch]:
        """What a stem's score is made of; corrections by their roles."""
        return frozenset(
            (self.factor, *(branch for term in self.terms for branch in term.branches))
        )

    @property
    def branches(self) -> frozenset[Branch]:
        """The branches that a stem's score is made of."""
        counted = self.counted
        return counted - {*ROLES} | ({*CORRECTIONS} if counted & {*ROLES} else set())

    @property
    def lowest(self) -> float:
        """The least that a stem can be worth, at most 0."""
        return fsum(min(term.weight, 0.0) for term in self.terms)

    def is_ladder(self, branch: Branch | None) -> bool:
        """Whether *branch* is one of pushes, of which the fold counts: those that no rule is about."""
        return branch in self.branches and branch not in dict(self.rules)
