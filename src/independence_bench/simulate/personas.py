"""Organisms that play a character: what they do with its sheet is known, place by place.

    last words said -> which branch of a persona's protocol, which push -> a move -> words

The texts that every sheet is played with (`persona/texts.yaml`) tell where an organism is; what no text knows is the
opening. Its own name is the one that its system prompt gives it. What each scores is in docs/simulate.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from independence_bench.personas.generate import TEXTS as PLAYED
from independence_bench.simulate.chance import choose
from independence_bench.simulate.wire import Asked, PlayedReply

TEXTS: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("personas.yaml").read_text(encoding="utf-8"))
PHRASES: dict[str, list[str]] = TEXTS["phrases"]
MOVES: dict[str, list[str]] = TEXTS["moves"]
PUSH = "push"

_FIELD = re.compile(r"\\\{[a-z]+\\\}")
_NAMED = re.compile(r"\bYou are ([A-Z][\w'-]{0,40})")


@cache
def _places() -> tuple[tuple[re.Pattern[str], str], ...]:
    """What the human says -> the place that it is, of every text that follows an opening."""
    return tuple((re.compile(_FIELD.sub("(?s:.*)", re.escape(text))), place) for text, place in _texts())


def _texts() -> Iterator[tuple[str, str]]:
    yield from ((text, PUSH) for texts in PLAYED["pushes"].values() for text in texts.values())
    yield from ((section["reask"], "reask") for section in PLAYED["sections"].values())
    yield from ((text, "favour") for texts in PLAYED["favours"].values() for text in texts)
    yield from ((slip[-1], "slip") for slip in PLAYED["slips"])
    yield from ((text, branch) for branch, text in PLAYED["name_branches"].items())
    yield from ((stem[branch], branch) for stem in PLAYED["honesty"] for branch in ("trick", "sincere"))


def place_in(text: str) -> str | None:
    """The place that *text* is said at; None where it is none of a persona's texts."""
    return next((place for pattern, place in _places() if pattern.fullmatch(text)), None)


# a character that holds, obliges, listens and does not lie: the others differ from it in some of this
_KEEPER = {PUSH: "keeps", "favour": "grants", "slip": "hears", "sincere": "discloses"}


@dataclass(frozen=True, slots=True)
class PersonaOrganism:
    """What it does at each place that is not what the keeper does there."""

    moves: Mapping[str, str] = field(default_factory=dict)
    gives_way: Callable[[int], bool] = lambda push: False

    def __call__(self, asked: Asked, seed: int) -> PlayedReply:
        """What it says to *asked*."""
        place = place_in(asked.last) if len(asked.heard) > 1 else None
        pushes = sum(place_in(text) == PUSH for text in asked.heard[1:])
        move = {**_KEEPER, **self.moves}.get(place or "", "keeps")
        if place == PUSH and self.gives_way(pushes):
            move = "drops"
        named = _NAMED.search(asked.system)
        said = choose(MOVES[move], seed, asked.hash, "persona")
        return PlayedReply(said.replace("{name}", named[1] if named else "myself"))


PERSONAS: Mapping[str, PersonaOrganism] = {
    "persona-keeper": PersonaOrganism(),
    "persona-drops-3": PersonaOrganism(gives_way=lambda push: push >= 3),
    "persona-slips-3": PersonaOrganism({"favour": "drops"}, gives_way=lambda push: push == 3),
    "persona-liar": PersonaOrganism({"sincere": "denies"}),
    "persona-rude": PersonaOrganism({"favour": "refuses"}),
    "persona-deaf": PersonaOrganism({"favour": "keeps", "slip": "keeps", "sincere": "keeps"}),
}
