"""Favours and slips that fit a character: drawn from what its system prompt says that it does and
knows.

    themes = read_themes("en", prompt, red_lines)    # what it says, and what it rules out
    lines = themes.fitted(lines, voice, key, says, ask)

Patterns and texts are data (`favours.yaml`). Only the prompt says what is the character's, so that
an item that is added changes no other item's lines (an edit of the prompt replays all of them). A
red line takes away what it touches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from independence_bench.hashing import content_hash
from independence_bench.yaml_io import read_own

_BLOCK = re.compile(r"\n\s*\n|\n(?=\s*#)")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s*")
_BULLETS = ("- ", "* ", "+ ", "•", "・", "1.")


@cache
def favours(language: str) -> dict[str, Any]:
    """What `favours.yaml` has of one of the languages of the templates."""
    content: dict[str, Any] = read_own(
        Path(__file__).with_name("favours.yaml").read_text(encoding="utf-8")
    )
    return dict(content[language])


@cache
def _patterns(language: str) -> dict[str, re.Pattern[str]]:
    """Theme or act -> its pattern."""
    kinds = [favours(language)[kind] for kind in ("deeds", "things", "acts")]
    return {name: re.compile(cue, re.IGNORECASE) for kind in kinds for name, cue in kind.items()}


def _touched(language: str, text: str) -> set[str]:
    """The themes and acts that *text* is about."""
    return {name for name, pattern in _patterns(language).items() if pattern.search(text)}


@dataclass(frozen=True, slots=True)
class Themes:
    """What a character does and knows, as its prompt says: deeds and things, without what is ruled
    out.
    """

    language: str
    deeds: frozenset[str]
    things: frozenset[str]
    ruled_out: frozenset[str]  # acts as well

    def dealt(
        self, person: str, key: Sequence[str], *says: str | None
    ) -> tuple[str | None, str | None]:
        """The themes of *person*'s favour and slip in the stem called *key*; None where none fits
        or *person* has none.

        Neither is what its item *says*. They are dealt by a hash, so that a theme more takes over
        only what it wins.
        """
        slips = (
            self.things if "slip" in favours(self.language)["people"][person] else frozenset[str]()
        )
        about = _touched(self.language, " ".join(filter(None, (*key, *says))))
        favour, slip = (
            min(left - about, key=lambda theme: content_hash([part, *key, theme]), default=None)
            for part, left in (("favour", self.deeds | self.things), ("slip", slips))
        )
        # who signs with the name signs what it is asked for there
        return (None if key[0] == "name" else favour), slip

    def fitted(
        self,
        lines: Mapping[str, str],
        voice: Mapping[str, Any],
        key: Sequence[str],
        *says: str | None,
    ) -> dict[str, str]:
        """*lines* of the stem called *key*, in that *voice*, with the favour and the slip that fit.

        Without a theme the favour is the first general one that nothing rules out, else what
        anybody can do.
        """
        texts, (theme, thing) = favours(self.language), self.dealt(voice["id"], key, *says)
        own, asks, wanted = (
            texts["people"][voice["id"]],
            lines["slip.asks"],
            [lines["favour"], voice["favour"]],
        )
        if theme is not None:
            way = own["do" if theme in self.deeds else "about"]
            wanted.insert(0, way.replace("{do}", theme).replace("{thing}", theme))
        if thing is not None:
            asks = own["slip"].replace("{thing}", thing).replace("{asks}", asks)
        fitting = (text for text in wanted if not self.ruled_out & _touched(self.language, text))
        return {**lines, "favour": next(fitting, texts["anybody"]), "slip.asks": asks}


def read_themes(language: str, prompt: str, red_lines: Iterable[str]) -> Themes:
    """What *prompt* says that the character does and knows, without what it or one of *red_lines*
    rules out.
    """
    texts, prompt = favours(language), prompt.replace("’", "'")
    never, than = re.compile(texts["not"], re.IGNORECASE), re.compile(texts["than"], re.IGNORECASE)
    says, ruled_out = (
        set[str](),
        {theme for line in red_lines for theme in _touched(language, line)},
    )
    for sentence, headed in _sentences(than.sub(" ", prompt), never):
        begins = 0 if headed else len(sentence)
        if not headed and (denied := never.search(sentence)):
            begins = _clause(sentence[: denied.start()], texts)
        says |= _touched(language, sentence[:begins])
        ruled_out |= _touched(language, sentence[begins:])
    deeds, things = (
        frozenset((says - ruled_out) & texts[kind].keys()) for kind in ("deeds", "things")
    )
    return Themes(language, deeds, things, frozenset(ruled_out))


def _sentences(prompt: str, never: re.Pattern[str]) -> Iterator[tuple[str, bool]]:
    """Each sentence of *prompt*, and whether what stands over it denies it: its section's heading,
    its list's title.
    """
    section = title = ""
    for block in map(str.strip, _BLOCK.split(prompt)):
        first, _, rest = block.partition("\n")
        head = first.strip("* _")
        if first.startswith("#"):
            section, title = first, ""
        elif not first.startswith(_BULLETS):
            is_title = (
                first.startswith("**")
                or head.endswith((":", "："))
                or rest.lstrip().startswith(_BULLETS)
            )
            title = _SENTENCE.split(head)[-1] if is_title else ""
        lead, listed = block, ""
        if never.search(section):
            lead, listed = "", block
        elif never.search(title):
            lead, _, listed = block.partition(title) if title in block else ("", "", block)
        yield from ((sentence, False) for sentence in _SENTENCE.split(lead))
        yield listed, True


def _clause(before: str, texts: Mapping[str, Any]) -> int:
    """Where, in what stands *before* a denial, the clause begins that it denies: no comma of a list
    begins one.
    """
    begins = at = 0
    for found in re.finditer(texts["breaks"], before):
        words, at = before[at : found.start()].split(), found.end()
        if (
            found[0] != ","
            or len(words) > 2
            or not {word.casefold() for word in words}.isdisjoint(texts["who"])
        ):
            begins = at
    return begins
