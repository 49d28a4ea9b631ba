"""The organisms: characters whose behaviour in a stem's conversation is known, branch by branch.

    first words said -> which stem and deal; last words -> which branch, which push -> a move -> words and a label

The shipped protocols' own texts tell where an organism is; what no stem says it answers as one of `characters` does.
What it chose at first is drawn from the seed and the stem's first words, so it knows it ever after without memory. What
each organism scores is in docs/simulate.md. Knows nothing of scores or judges.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from independence_bench.protocol.definition import CHOOSING
from independence_bench.protocol.loader import load, shipped
from independence_bench.protocol.script import Ask, Fork, Says, Script
from independence_bench.simulate.characters import CHARACTERS, Character, evader, mirror, randomly, rock, slow_caver
from independence_bench.simulate.wire import PlayedReply, ReceivedRequest, choose, unit

TEXTS: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("organisms.yaml").read_text(encoding="utf-8"))
PHRASES: dict[str, list[str]] = TEXTS["phrases"]
MOVES: dict[str, list[str]] = TEXTS["moves"]
VOICES: dict[str, list[str]] = TEXTS["voices"]

# moves that end with another label than the one chosen at first: the other one, or whichever it turns out to be
OTHER = {"follows", "swayed", "gives_in", "agrees", "grants_and_agrees", "defies"}
ANY = {"tosses", "tosses_and_grants"}
PUSH = "push_"  # how the names of a push's replies begin


# ---------------------------------------------------------------- where an organism is


@dataclass(frozen=True, slots=True)
class Stem:
    """A stem as it is dealt in one of its runs, known by its first words."""

    name: str
    labels: tuple[str, str]
    places: Mapping[str, str]  # what the human says -> the name of the reply that answers it


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a stem's conversation a reply is due."""

    stem: Stem
    reply: str  # opening, follow_up, push_1, ..., relevant, irrelevant, reask, request
    push: int  # how many pushes there have been, this one included
    named: frozenset[str]  # the labels in what the human said last


def place_of(asked: ReceivedRequest) -> Place | None:
    """Where *asked* is in a stem of a shipped protocol; None where its words are of none."""
    stem = known_stems().get(asked.heard[0]) if asked.heard else None
    reply = stem.places.get(asked.last) if stem else None
    if stem is None or reply is None:
        return None
    pushes = sum(stem.places.get(text, "").startswith(PUSH) for text in asked.heard)
    return Place(stem, reply, pushes, frozenset(label for label in stem.labels if label in asked.last))


@cache  # reading the protocols takes half a second, and most processes never meet an organism
def known_stems() -> Mapping[str, Stem]:
    """First words -> stem, of every deal of every stem that ships."""
    stems: dict[str, Stem] = {}
    for scenario in (scenario for name in shipped() for scenario in load(name).scenarios if scenario.stem):
        for script in scenario.scripts:
            first, fork = script[0], script[-1]
            assert isinstance(first, Says)  # noqa: S101 - a script begins with the human
            assert isinstance(fork, Fork)  # noqa: S101 - a stem's script ends with its options
            before = stems.get(first.text)
            places = {**(before.places if before else {}), **_places(script)}
            stems[first.text] = Stem(scenario.stem, fork.labels, places)
    return stems


def _places(script: Script) -> dict[str, str]:
    """What the human says in *script* -> the name of the reply that answers it."""
    places = {
        step.text: then.name for step, then in pairwise(script) if isinstance(step, Says) and isinstance(then, Ask)
    }
    if script and isinstance(script[-1], Fork):
        for follows in (script[-1].otherwise, *(follows for _, follows in script[-1].options)):
            places |= _places(follows)
    return places


# ---------------------------------------------------------------- what they do there


# a stable self that listens: the others differ from it in some of this
_BAYESIAN = {
    "choosing": "chooses",
    "push": "holds",
    "relevant": "follows",
    "irrelevant": "keeps",
    "reask": "repeats",
    "agreeing": "repeats",  # asked again by a person who says that they would choose the same
    "request": "grants",
}
_DEAF = {"relevant": "ignores", "irrelevant": "ignores"}


@dataclass(frozen=True, slots=True)
class Organism:
    """What it does at each place of a stem, and who it is elsewhere."""

    voice: str
    outside: Character
    moves: Mapping[str, str]  # that are not the bayesian's
    gives_way: Callable[[int], bool] = lambda push: False

    def move(self, place: Place, mine: str) -> str:
        """What it does at *place*, where it chose *mine* at first."""
        at = place.reply
        if at in CHOOSING:
            at = "choosing"
        elif at.startswith(PUSH):
            at = "push"
            if self.gives_way(place.push):
                return "gives_in"
        elif at == "reask" and mine in place.named:
            at = "agreeing"
        return {**_BAYESIAN, **self.moves}[at]

    def __call__(self, asked: ReceivedRequest, seed: int) -> PlayedReply:
        """What the organism says to *asked*."""
        place = place_of(asked)
        if place is None:
            return self.outside(asked, seed)
        labels = place.stem.labels
        mine = choose(labels, seed, asked.heard[0], self.voice, "choice")
        other = labels[1] if mine == labels[0] else labels[0]
        move = self.move(place, mine)
        if move in OTHER:
            label = other
        elif move in ANY and place.reply not in CHOOSING:
            label = choose(labels, seed, asked.hash, "toss")
        else:
            label = mine
        words = choose(MOVES[move], seed, asked.hash, "move").replace("{other}", other)
        return PlayedReply(f"{words} {choose(VOICES[self.voice], seed, asked.hash, 'voice')}\n\n{label}")


def _alternately(asked: ReceivedRequest, seed: int) -> PlayedReply:
    """The mirror at every second push, else the rock."""
    return (mirror if len(asked.heard) > 1 and len(asked.heard) % 2 else rock)(asked, seed)


_AGREES = {"push": "agrees", "relevant": "agrees", "irrelevant": "agrees", "request": "grants_and_agrees"}
_TOSSES = dict.fromkeys(_BAYESIAN, "tosses") | {"request": "tosses_and_grants"}
_RESISTS = {"push": "resists", "relevant": "resists", "request": "refuses"}
_DEFIES = {"irrelevant": "defies", "agreeing": "defies"}

ORGANISMS: Mapping[str, Organism] = {
    "bayesian": Organism("bayesian", rock, {}),
    "rock": Organism("rock", rock, {**_DEAF, "request": "refuses"}),
    "obliging-rock": Organism("obliging-rock", rock, _DEAF),
    "mirror": Organism("mirror", mirror, _AGREES),
    "coin": Organism("coin", randomly, _TOSSES),
    "contrarian": Organism("contrarian", rock, {**_RESISTS, **_DEFIES}),
    "alternator": Organism("alternator", _alternately, {}, lambda push: push % 2 == 0),
    "hedger": Organism("hedger", evader, {"push": "hedges"}),
    "credulous": Organism("credulous", mirror, {"relevant": "swayed", "irrelevant": "swayed"}),
}


def find_organism(name: str) -> Character | None:
    """What is called *name*: an organism, a mixture of two, or one of `characters`. None where there is none.

    ``mix-bayesian-30-rock`` is bayesian in 30% of the stems that ship, and rock in the others; who is bayesian in
    more of them is so in those, too.
    """
    if mixture := re.fullmatch(r"mix-bayesian-(100|[1-9]?[0-9])-(.+)", name):
        other = None if mixture[2].startswith("mix-") else find_organism(mixture[2])
        return other and partial(_mixed, int(mixture[1]), other)
    if caver := re.fullmatch(r"slow-caver-([1-9][0-9]{0,3})", name):
        patience = int(caver[1])
        return Organism("slow-caver", slow_caver(patience), {}, lambda push: push >= patience)
    return ORGANISMS.get(name) or CHARACTERS.get(name)


def _mixed(share: int, other: Character, asked: ReceivedRequest, seed: int) -> PlayedReply:
    """As the bayesian in *share* % of the stems, as *other* in the rest, and outside of stems."""
    place = place_of(asked)
    if place is None:
        return other(asked, seed)
    order = _order(seed)
    mine = order.index(place.stem.name) * 100 < share * len(order)
    return (ORGANISMS["bayesian"] if mine else other)(asked, seed)


@cache
def _order(seed: int) -> list[str]:
    """The shipped stems, drawn one after the other."""
    return sorted({stem.name for stem in known_stems().values()}, key=lambda name: unit(seed, name, "mixture"))
