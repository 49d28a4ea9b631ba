"""The organisms: characters whose behaviour in a stem's conversation is known, branch by branch.

    first words said -> which stem and deal; last words -> which question -> a move -> words and a label

The shipped protocols' own texts tell where an organism is; what no stem says it answers as one of
`characters` does. What it takes and which aspect decides it are drawn from the seed and the stem,
the same bundle in every deal, so it knows them ever after without memory. What each organism scores
is in docs/simulate.md. Knows nothing of scores or judges.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from statistics import NormalDist
from typing import Any

from independence_bench.protocol.definition import BETWEEN, NOTE, OPENING, OPENINGS, Scenario
from independence_bench.protocol.loader import load, shipped
from independence_bench.protocol.script import Ask, Fork, Ladder, Says, Script
from independence_bench.protocol.stem_rules import ASIDE, DECIDING, Offer
from independence_bench.simulate.characters import (
    CHARACTERS,
    Character,
    evader,
    mirror,
    randomly,
    rock,
    slow_caver,
)
from independence_bench.simulate.wire import PlayedReply, ReceivedRequest, choose, unit
from independence_bench.yaml_io import read_own

TEXTS: dict[str, Any] = read_own(
    Path(__file__).with_name("organisms.yaml").read_text(encoding="utf-8")
)
PHRASES: dict[str, list[str]] = TEXTS["phrases"]
MOVES: dict[str, list[str]] = TEXTS["moves"]
VOICES: dict[str, list[str]] = TEXTS["voices"]

# moves that end with the label that was not taken at first; with whichever it turns out to be; or
# with none
OTHER = {
    "follows",
    "swayed",
    "gives_in",
    "confirms",
    "agrees",
    "grants_and_agrees",
    "defies",
    "reconsiders",
}
ANY = {"tosses", "tosses_and_notes", "tosses_and_grants"}
SILENT = {"chats"}
# they name an aspect, so nothing else is said that could be read as one
NOTES = {"notes", "tosses_and_notes"}
NAME_ALONE = "names"

PUSH, NOTED, REASK, AGREEING, REQUEST = "push", "noted", "reask", "agreeing", "request"


# ---------------------------------------------------------------- where an organism is


@dataclass(frozen=True, slots=True)
class Stem:
    """A stem as it is dealt in one of its runs, known by its first words."""

    name: str
    offer: Offer  # as it is before anything is put right
    # what the human says -> the question that it is, the aspect it puts right
    places: Mapping[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a stem's conversation a reply is due."""

    stem: Stem
    question: str  # opening, note, between, push, noted, correction, reask, request
    corrected: str  # the name of the aspect that is put right; "" elsewhere
    push: int  # how many pushes there have been, this one included
    named: tuple[str, ...]  # the labels in what the human said last


@dataclass(frozen=True, slots=True)
class Taken:
    """What an organism takes at first, and the name of the aspect that decides it."""

    label: str
    other: str
    aspect: str


def place_of(asked: ReceivedRequest) -> Place | None:
    """Where *asked* is in a stem of a shipped protocol; None where its words are of none."""
    stem = known_stems().get(asked.heard[0]) if asked.heard else None
    place = stem.places.get(asked.last) if stem else None
    if stem is None or place is None:
        return None
    pushes = sum(stem.places.get(text, ("", ""))[0] == PUSH for text in asked.heard)
    return Place(
        stem, *place, pushes, tuple(label for label in stem.offer.labels if label in asked.last)
    )


@cache  # reading the protocols takes half a second, and most processes never meet an organism
def known_stems() -> Mapping[str, Stem]:
    """First words -> stem, of every deal of every stem that ships; each knows what is said in any
    of its deals.
    """
    stems: dict[str, Stem] = {}
    places: dict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
    for scenario in (
        scenario for name in shipped() for scenario in load(name).scenarios if scenario.stem
    ):
        for script in scenario.scripts:
            first, fork = script[0], script[-1]
            assert isinstance(first, Says)  # noqa: S101 - a script begins with the human
            assert isinstance(fork, Fork)  # noqa: S101 - a stem's script ends with its options
            places[scenario.stem].update(_places(script, scenario))
            stems[first.text] = Stem(scenario.stem, fork.offer.before, places[scenario.stem])
    return stems


def _places(
    script: Script, scenario: Scenario, corrected: str = ""
) -> Iterator[tuple[str, tuple[str, str]]]:
    """(What the human says in *script*, (the question that it is, the aspect that it puts right))."""
    said = ""
    for step in script:
        match step:
            case Says():
                said = step.text
            case Ask() if step.name in OPENINGS:
                yield said, (step.name, "")
            case Ask():
                yield said, ("correction" if corrected else scenario.branch or "", corrected)
            case Fork():
                for follows in step.options:
                    yield from _places(follows, scenario, step.offer.corrected)
            case Ladder():
                yield from ((text, (PUSH, "")) for text in step.pushes)
                yield step.noted, (NOTED, "")


# ---------------------------------------------------------------- what they do there


# a stable self that listens: the others differ from it in some of this
_BAYESIAN = {
    OPENING: "chooses",
    NOTE: "notes",
    BETWEEN: "chats",
    PUSH: "holds",
    NOTED: "confirms",  # only whoever gave in is asked
    DECIDING: "follows",
    ASIDE: "keeps",
    REASK: "repeats",
    AGREEING: "repeats",  # asked again by a person who says that they would take the same
    REQUEST: "grants",
}


@dataclass(frozen=True, slots=True)
class Organism:
    """What it does at each place of a stem, and who it is elsewhere."""

    voice: str
    outside: Character
    moves: Mapping[str, str]  # that are not the bayesian's
    gives_way: Callable[[int], bool] = lambda push: False

    def takes(self, asked: ReceivedRequest, stem: Stem, seed: int) -> Taken:
        """What it takes in *stem*: the same bundle, for the same aspect, whatever the deal."""
        labels = stem.offer.labels
        mine = choose((0, 1), seed, stem.name, self.voice, "choice")
        return Taken(
            labels[mine],
            labels[1 - mine],
            choose(stem.offer.aspects, seed, stem.name, self.voice).name,
        )

    def move(self, asked: ReceivedRequest, place: Place, taken: Taken, seed: int) -> str:
        """What it does at *place*."""
        if place.question == PUSH and self.gives_way(place.push):
            return "gives_in"
        return {**_BAYESIAN, **self.moves}[_role(place, taken)]

    def __call__(self, asked: ReceivedRequest, seed: int) -> PlayedReply:
        """What the organism says to *asked*."""
        place = place_of(asked)
        if place is None:
            return self.outside(asked, seed)
        taken = self.takes(asked, place.stem, seed)
        move = self.move(asked, place, taken, seed)
        if move in ANY:
            mine = choose((taken.label, taken.other), seed, asked.hash, "toss")
            aspect = choose(place.stem.offer.aspects, seed, asked.hash, "toss aspect").name
            taken = replace(taken, label=mine, aspect=aspect)
        label = taken.other if move in OTHER else taken.label
        (called,) = (
            aspect.words[0] for aspect in place.stem.offer.aspects if aspect.name == taken.aspect
        )
        favoured = place.named[0] if place.named else taken.other
        sentences = [] if move == NAME_ALONE else [choose(MOVES[move], seed, asked.hash, "move")]
        if sentences and move not in NOTES | SILENT:
            sentences.append(choose(VOICES[self.voice], seed, asked.hash, "voice"))
        words = " ".join(sentences).replace("{other}", favoured).replace("{aspect}", called)
        return PlayedReply(words if move in SILENT else f"{words}\n\n{label}".lstrip())


def _role(place: Place, taken: Taken) -> str:
    """What is asked at *place*, as an organism that took *taken* hears it."""
    if place.question == "correction":
        return DECIDING if place.corrected == taken.aspect else ASIDE
    return AGREEING if place.question == REASK and taken.label in place.named else place.question


SECOND_THOUGHTS = 0.5  # their standard deviation, where that of what an aspect is worth to it is 1
INERTIA = 0.5  # how much better the other option has to be


@dataclass(frozen=True, slots=True)
class Reasonable(Organism):
    """A self with preferences, some of them near ties, that thinks again once in each branch.

    How much it prefers one value of an aspect to the other is drawn for each aspect of a stem, with
    a standard deviation of 1. What it takes is better by the sum of both and by `SECOND_THOUGHTS`,
    which are others in each branch; what decided it is the aspect that spoke most for it. It moves
    where the other one is better by `INERTIA`.
    """

    number: int = 1  # another one has other preferences

    def takes(self, asked: ReceivedRequest, stem: Stem, seed: int) -> Taken:
        """As its preferences for the first option's values, and what it thinks at first, have it."""
        worth = self._worth(stem, seed)
        thoughts = SECOND_THOUGHTS * _normal(seed, asked.heard[0], self.voice, self.number)
        mine = 0 if sum(worth.values()) + thoughts > 0 else 1
        labels = stem.offer.labels
        aspect = max(worth, key=lambda name: worth[name] if mine == 0 else -worth[name])
        return Taken(labels[mine], labels[1 - mine], aspect)

    def move(self, asked: ReceivedRequest, place: Place, taken: Taken, seed: int) -> str:
        """What is better now."""
        if place.question in (*OPENINGS, NOTED):
            return _BAYESIAN[place.question]
        worth = self._worth(place.stem, seed)
        now = sum(-value if name == place.corrected else value for name, value in worth.items())
        branch = (place.question, place.corrected)
        thoughts = SECOND_THOUGHTS * _normal(seed, asked.heard[0], *branch, self.voice, self.number)
        sooner = now if taken.label == place.stem.offer.labels[0] else -now
        role = _role(place, taken)
        if sooner + thoughts + INERTIA >= 0:
            return "outweighs" if role == DECIDING else _BAYESIAN[role]
        return {DECIDING: "follows", ASIDE: "follows", REQUEST: "grants_and_agrees"}.get(
            role, "reconsiders"
        )

    def _worth(self, stem: Stem, seed: int) -> dict[str, float]:
        """Aspect -> how much better it likes the first option's value than the second one's."""
        return {
            aspect.name: _normal(seed, stem.name, self.voice, self.number, aspect.name)
            for aspect in stem.offer.aspects
        }


def _normal(*causes: str | int) -> float:
    """A number of the standard normal distribution, the same for the same *causes*."""
    return NormalDist().inv_cdf(max(unit(*causes), 1e-12))


def _alternately(asked: ReceivedRequest, seed: int) -> PlayedReply:
    """The mirror at every second push, else the rock."""
    return (mirror if len(asked.heard) > 1 and len(asked.heard) % 2 else rock)(asked, seed)


_DEAF = {DECIDING: "ignores", ASIDE: "ignores"}
_AGREES = {PUSH: "agrees", DECIDING: "agrees", ASIDE: "agrees", REQUEST: "grants_and_agrees"}
_TOSSES = dict.fromkeys(_BAYESIAN, "tosses") | {
    NOTE: "tosses_and_notes",
    BETWEEN: "chats",
    REQUEST: "tosses_and_grants",
}
_HEDGES = {PUSH: "hedges", DECIDING: "hedges", ASIDE: "hedges", REASK: "hedges", AGREEING: "hedges"}

ORGANISMS: Mapping[str, Organism] = {
    "bayesian": Organism("bayesian", rock, {}),
    "name-alone": Organism("bayesian", rock, {OPENING: NAME_ALONE}),
    "rock": Organism("rock", rock, {**_DEAF, REQUEST: "refuses"}),
    "obliging-rock": Organism("obliging-rock", rock, _DEAF),
    "mirror": Organism("mirror", mirror, _AGREES),
    "coin": Organism("coin", randomly, _TOSSES),
    "contrarian": Organism(
        "contrarian",
        rock,
        {
            PUSH: "resists",
            DECIDING: "denies",
            ASIDE: "denies",
            AGREEING: "defies",
            REQUEST: "refuses",
        },
    ),
    "alternator": Organism("alternator", _alternately, {}, lambda push: push % 2 == 0),
    "hedger": Organism("hedger", evader, {**_HEDGES, REQUEST: "half_grants"}),
    "credulous": Organism("credulous", mirror, {DECIDING: "swayed", ASIDE: "swayed"}),
    "half-credulous": Organism("hedger", mirror, {DECIDING: "hedges", ASIDE: "hedges"}),
}


def find_organism(name: str) -> Character | None:
    """What is called *name*: an organism, a mixture of two, or one of `characters`. None where
    there is none.

    ``mix-bayesian-30-rock`` is bayesian in 30% of the stems of each shipped protocol, and rock in
    the others; who is bayesian in more of them is so in those, too. ``reasonable-1``,
    ``reasonable-2``, ... have different preferences.
    """
    if mixture := re.fullmatch(r"mix-bayesian-(100|[1-9]?[0-9])-(.+)", name):
        other = None if mixture[2].startswith("mix-") else find_organism(mixture[2])
        return other and partial(_mixed, int(mixture[1]), other)
    if numbered := re.fullmatch(r"(slow-caver|reasonable)-([1-9][0-9]{0,3})", name):
        number = int(numbered[2])
        if numbered[1] == "reasonable":
            return Reasonable("bayesian", rock, {}, number=number)
        return Organism("slow-caver", slow_caver(number), {}, lambda push: push >= number)
    return ORGANISMS.get(name) or CHARACTERS.get(name)


def _mixed(share: int, other: Character, asked: ReceivedRequest, seed: int) -> PlayedReply:
    """As the bayesian in *share* % of the stems, as *other* in the rest, and outside of stems."""
    place = place_of(asked)
    if place is None:
        return other(asked, seed)
    order = next(order for order in _orders(seed) if place.stem.name in order)
    mine = order.index(place.stem.name) * 100 < share * len(order)
    return (ORGANISMS["bayesian"] if mine else other)(asked, seed)


@cache
def _orders(seed: int) -> list[list[str]]:
    """The shipped stems, drawn one after the other; those that are in the same protocols by
    themselves.
    """
    within: dict[str, list[str]] = defaultdict(list)
    for protocol in shipped():
        for stem in dict.fromkeys(
            scenario.stem for scenario in load(protocol).scenarios if scenario.stem
        ):
            within[stem].append(protocol)
    orders: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for stem in sorted(within, key=lambda name: unit(seed, name, "mixture")):
        orders[tuple(within[stem])].append(stem)
    return list(orders.values())
