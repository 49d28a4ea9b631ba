"""How a text becomes words that can be searched for, the same for a site's files and a server's
full-text index, and which documents a server finds by where they stand.

`SearchIndex` states it in words; the page does it a second time, for queries
(`web/src/lib/searchTerms.ts`) and in a site's files (`searchIndex.ts`). The two have to agree.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Sequence
from functools import cache, reduce

import numpy as np
from numpy.typing import NDArray

Words = list[str]
Numbers = NDArray[np.int64]
# names what is stated here: what the words of another rule were indexed by is indexed again
RULE = "words 1"
LONGEST = 24  # UTF-16 code units of a word

_WORD = re.compile(r"[^\W_]+")
# What is written without spaces between words: Thai, Lao, Burmese, Khmer, kana, Han. The page has
# the same ranges
DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
)
_DENSE, _PARTS = re.compile(f"[{DENSE}]"), re.compile(f"[{DENSE}]+|[^{DENSE}]+")
# the character first: where it is none there is nothing to look round for
_APOSTROPHE = re.compile(r"['’](?<=[^\W\d_].)(?=[^\W\d_])")
# What most texts that are not ASCII have beside it, as what stands for it: a text without it takes
# the short way
_TYPOGRAPHY = (("’", "'"), *((sign, " ") for sign in "‘“”—–…•→\u2011\u202f"))
# lower case; all but letters and digits is a space
_PLAIN = (
    bytes(ord(chr(code).lower()) if chr(code).isalnum() else 32 for code in range(128))
    + bytes([32]) * 128
)


def words_of(text: str) -> Words:
    """The words of *text* in their order, as `SearchIndex` says."""
    if not text.isascii():
        for sign, plain in _TYPOGRAPHY:
            text = text.replace(sign, plain)
        if not text.isascii():
            text = unicodedata.normalize("NFKD", text).translate(_marks())
    if "'" in text or "’" in text:
        text = _APOSTROPHE.sub("", text)
    if text.isascii():
        split = text.encode("ascii").translate(_PLAIN).decode("ascii").split()
        return (
            split
            if max(map(len, split), default=0) <= LONGEST
            else [word[:LONGEST] for word in split]
        )
    words = _WORD.findall(text.lower())
    if _DENSE.search(text):
        parts = [part for word in words for part in _PARTS.findall(word)]
        words = [
            word for part in parts for word in (_pairs(part) if _DENSE.match(part) else (part,))
        ]
    # no half of a character
    units = (word.encode("utf-16-le", "replace")[: 2 * LONGEST] for word in words)
    return [word.decode("utf-16-le", "ignore") for word in units]


def _pairs(run: str) -> Words:
    """Each character with the one after it; the last one alone, or none would begin with it."""
    return [run[place : place + 2] for place in range(len(run))]


@cache
def _marks() -> dict[int, None]:
    """Everything that stands on a letter: accents, points, strokes."""
    return {
        code: None
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code))[0] == "M"
    }


# ---------------------------------------------------------------- which documents fit

DOCUMENT = 32  # bits before the number of the document, in a place
# documents that are ranked at once: their places are held a second time, and no others
TOGETHER = 4_096
FAR = np.iinfo(np.int64).max


def phrase(words: Sequence[Numbers]) -> Numbers:
    """Where words follow each other, each in the places that its *words* say: the places of the
    first; at least one.
    """
    first, *rest = words
    for distance, word in enumerate(rest, 1):
        # both rise, so that nothing has to be sorted
        at = np.searchsorted(word, first + distance)
        first = first[np.append(word, -1)[at] == first + distance]
    return first


def ranked(units: Sequence[Sequence[Numbers]]) -> Numbers:
    """The documents that have all *units*, each words that follow each other where their places
    say; none for no units.

    First those in which the units stand closest, then those with the most of them, then by number.
    """
    ends = [int(word[-1] >> DOCUMENT) for unit in units for word in unit if word.size]
    hits_of_units = [
        _measured([phrase([_of(word, begin) for word in unit]) for unit in units])
        for begin in range(0, max(ends, default=-1) + 1, TOGETHER)
    ]
    documents, hits, spans = np.concatenate([np.empty((3, 0), np.int64), *hits_of_units], axis=1)
    in_order: Numbers = documents[np.lexsort((documents, -hits, spans))]
    return in_order


def _of(word: Numbers, begin: int) -> Numbers:
    """The places in the documents from the number *begin* on that are ranked at once."""
    first, end = np.searchsorted(word, (begin << DOCUMENT, begin + TOGETHER << DOCUMENT))
    return word[first:end]


def _measured(units: Sequence[Numbers]) -> Numbers:
    """The documents that have all *units*, at least one, how many of them they have, and how close
    these stand.
    """
    documents = reduce(np.intersect1d, [np.unique(unit >> DOCUMENT) for unit in units])
    if not documents.size:
        return np.empty((3, 0), np.int64)
    units = [unit[np.isin(unit >> DOCUMENT, documents)] for unit in units]
    counts = [np.bincount(np.searchsorted(documents, unit >> DOCUMENT)) for unit in units]
    return np.stack((documents, np.sum(counts, axis=0), _spans(documents, units)))


def _spans(documents: Numbers, units: Sequence[Numbers]) -> Numbers:
    """In each of *documents*, all of which have all units, the fewest places from one of each unit
    to the last.
    """
    if len(units) == 1:
        return np.zeros_like(documents)
    places, which = (
        np.concatenate(units),
        np.repeat(np.arange(len(units)), [unit.size for unit in units]),
    )
    order = np.argsort(places, kind="stable")
    places, which = places[order], which[order]
    # the last of each unit up to here, and of those the first
    latest = (
        np.maximum.accumulate(np.where(which == unit, places, -1)) for unit in range(len(units))
    )
    begin = reduce(np.minimum, latest)
    spans = np.where(begin >> DOCUMENT == places >> DOCUMENT, places - begin, FAR)
    return np.minimum.reduceat(spans, np.searchsorted(places >> DOCUMENT, documents))
