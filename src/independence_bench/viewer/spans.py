"""Words of one text that are also in another: quotes in a judge's reasoning, and words that two
replies share. Pure.

A quote is the text between quotation marks. It is looked for without regard to case, spaces, the
kind of its quotation marks and dashes, and Markdown's emphasis; an ellipsis in it leaves something
out. Short quotes are not looked for: a word or two are in any text, and would be found in places
that the judge did not mean.

Shared words are compared without regard to case. A run counts from three words on: any two texts
share shorter ones. The second text is read from left to right, and at every word the longest run is
taken that the first text has anywhere, so that a sentence that has moved is shared too. Time grows
with the length of the texts, whatever they say.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

SHORTEST = 12  # characters of a quote, or of a part of one, that is looked for
MOST = 200  # quotes of one reasoning
LONGEST = 100_000  # characters of a text that is looked at

# a quotation mark that opens stands behind no letter: don't, the 90's
_QUOTED = re.compile(
    r"“([^“”]{3,1500})”|„([^„“”]{3,1500})[“”]|«([^«»]{3,1500})»|(?<!\w)\"([^\"]{3,1500})\"(?!\w)"
    r"|(?<!\w)'((?:[^']|(?<=\w)'(?=\w)){3,1500})'(?!\w)|(?<!\w)‘([^‘]{3,1500}?)’(?!\w)"
    r"|`([^`]{3,1500})`"
)
_LEFT_OUT = re.compile(r"\[?\.{3,}\]?|\[?…\]?")
_SAME = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "–": "-", "—": "-", "‑": "-", "\u00a0": " "}
)
_EMPHASIS = frozenset("*_`")
_ENDS = " \t\r\n.,;:!?\"'()[]-"


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class FoundQuote:
    """One quote from a conversation: its place in a judge's reasoning, and the line that it is from
    with the place there, in characters.
    """

    start: int
    end: int
    line: int
    from_: int
    to: int


def find_quotes(
    reasoning: str, lines: Sequence[str], first_searched_lines: Sequence[int] = ()
) -> list[FoundQuote]:
    """Return every quote in a judge's *reasoning* that *lines* of the conversation contain, in the
    order of the reasoning. Each quote is found once, in the first line that has it.

    *first_searched_lines*: the numbers of the lines that are searched before the others. [] if
    nothing is quoted.
    """
    order = [
        *first_searched_lines,
        *(number for number in range(len(lines)) if number not in first_searched_lines),
    ]
    quotes = []
    for start, end in _find_quoted_parts(reasoning[:LONGEST]):
        wanted = _ComparableText(reasoning[start:end]).text.strip(_ENDS)
        if len(wanted) < SHORTEST:
            continue
        for number in order:
            if (place := _make_comparable(lines[number]).find_phrase_span(wanted)) is not None:
                quotes.append(FoundQuote(start, end, number, *place))
                break
    return quotes


def _find_quoted_parts(reasoning: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end, in characters, of every part of *reasoning* that stands in
    quotation marks, without the marks; a quote with an ellipsis has several parts.
    """
    for number, match in enumerate(_QUOTED.finditer(reasoning)):
        if number == MOST:
            return
        group = match.lastindex or 0
        begin, text = match.start(group), match[group]
        cuts = [0, *(edge for gap in _LEFT_OUT.finditer(text) for edge in gap.span()), len(text)]
        for start, end in zip(cuts[::2], cuts[1::2], strict=True):
            part = text[start:end]
            # what is left out stands between spaces, which are no part of what is quoted
            first = start + (len(part) - len(part.lstrip()) if start else 0)
            last = end - (len(part) - len(part.rstrip()) if end < len(text) else 0)
            if last > first:
                yield begin + first, begin + last


@lru_cache(maxsize=64)
def _make_comparable(line: str) -> _ComparableText:
    """Return *line* in the form in which quotes are looked up. The results are cached, because the
    human says the same in every conversation of a scenario, and two judges quote one reply.
    """
    return _ComparableText(line)


class _ComparableText:
    """A text in the form in which quotes are looked up (lower case, plain quotation marks, single
    spaces), with the original place of each character.
    """

    def __init__(self, text: str) -> None:
        kept: list[str] = []
        places: list[int] = []
        for place, character in enumerate(text[:LONGEST].translate(_SAME)):
            if character in _EMPHASIS:
                continue
            character = " " if character.isspace() else character.lower()
            # "İ" becomes two characters: what came of one keeps its place
            if character != " " or (kept and kept[-1] != " "):
                kept.extend(character)
                places.extend([place] * len(character))
        self.text, self._places = "".join(kept), places

    def find_phrase_span(self, wanted: str) -> tuple[int, int] | None:
        """Return the start and the end of *wanted* in the original text, in characters, at the
        edges of words; None if the text does not contain it.
        """
        start = self.text.find(wanted)
        while start >= 0:
            end = start + len(wanted)
            if self._is_word_edge(start) and self._is_word_edge(end):
                return self._places[start], self._places[end - 1] + 1
            start = self.text.find(wanted, start + 1)
        return None

    def _is_word_edge(self, place: int) -> bool:
        """Whether the character number *place* of this text is not inside a word."""
        return not (
            0 < place < len(self.text)
            and self.text[place - 1].isalnum()
            and self.text[place].isalnum()
        )


_WIDE = re.compile("[\U00010000-\U0010ffff]")


class Offsets:
    """Converts places in *text*, counted in characters, to spans of its UTF-16 code units, as
    browsers count.
    """

    def __init__(self, text: str) -> None:
        self._wide = [] if text.isascii() else [found.start() for found in _WIDE.finditer(text)]

    def make_utf16_span(self, start: int, end: int) -> Span:
        """Return the part of the text from character *start* up to *end* as a span of UTF-16 code
        units.
        """
        return Span(start + bisect_left(self._wide, start), end + bisect_left(self._wide, end))


# ---------------------------------------------------------------- shared words

FEWEST = 3  # words in a row
PLACES = 16  # places of a run's beginning in the first text that are tried
_WORD = re.compile(r"(\w+(?:['’]\w+)*)")
# (start, end) in the first text, (start, end) in the second, in characters
Run = tuple[int, int, int, int]


def find_shared_word_runs(first: str, second: str) -> list[Run]:
    """Return every run of three or more words in *second*, in its order, that *first* contains,
    too: its start and end in *first*, then in *second*, in characters; [] if the texts share none.

    Runs do not overlap in *second*; in *first* they may, if the second text says something twice.
    """
    (ends, said), (others, words) = (
        _split_word_edges_and_words(first),
        _split_word_edges_and_words(second),
    )
    three, wanted = (list(zip(of, of[1:], of[2:], strict=False)) for of in (said, words))
    common, begins = set(wanted).intersection(three), defaultdict[tuple[str, ...], list[int]](list)
    for place, begin in enumerate(three):
        if begin in common:
            begins[begin].append(place)
    starts = [of[:PLACES] if of else () for of in map(begins.get, wanted)]
    said, words = [*said, "."], [*words, ","]  # a word that is in no other place ends each text
    runs = []
    at = 0
    while at < len(starts):
        size, longest = 0, 0
        for place in starts[at]:
            # a longer run has the word that ends the longest one so far, too
            if place + size < len(said) and said[place + size] == words[at + size]:
                length = FEWEST
                while said[place + length] == words[at + length]:
                    length += 1
                if length > size:
                    size, longest = length, place
        if size:
            here = ends[2 * longest], ends[2 * (longest + size) - 1]
            runs.append((*here, others[2 * at], others[2 * (at + size) - 1]))
        at += size or 1
    return runs


def _split_word_edges_and_words(text: str) -> tuple[list[int], list[str]]:
    """Return the places in *text*, in characters, at which each word begins and ends, one after the
    other, and the words in lower case.
    """
    parts = _WORD.split(text[:LONGEST])  # what is between words, and they
    words = "\n".join(parts[1::2]).casefold().split("\n") if len(parts) > 1 else []
    return list(accumulate(map(len, parts))), words
