"""Two answers side by side: the words that they share. Pure: two texts -> spans.

Words are compared without regard to case. A run counts from three words on: shorter ones are shared by any two texts.
The second text is read from left to right, and at every word the longest run is taken that the first text has
anywhere, so that a sentence that has moved is shared too. Time grows with the length of the texts, whatever they say.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

SHORTEST = 3  # words in a row
PLACES = 16  # of a run's beginning in the first text that are tried
LONGEST = 100_000  # characters of a text that is looked at

_WORD = re.compile(r"\w+(?:['’]\w+)*")
Run = tuple[int, int, int, int]  # (start, end) in the first text, (start, end) in the second, in characters


def shared(first: str, second: str) -> list[Run]:
    """Every run of words in *second*, in its order, that *first* has too; [] where they share none.

    Runs do not overlap in *second*; in *first* they may, where the second text says something twice.
    """
    one = list(_WORD.finditer(first[:LONGEST]))
    other = list(_WORD.finditer(second[:LONGEST]))
    said, words = [word[0].casefold() for word in one], [word[0].casefold() for word in other]
    begins: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place in range(len(said) - SHORTEST + 1):
        begins[tuple(said[place : place + SHORTEST])].append(place)
    runs = []
    at = 0
    while at <= len(words) - SHORTEST:
        places = begins.get(tuple(words[at : at + SHORTEST]), ())[:PLACES]
        size, place = max(((_length(said, place, words, at), -place) for place in places), default=(0, 0))
        if size:
            last, end = one[-place + size - 1], other[at + size - 1]
            runs.append((one[-place].start(), last.end(), other[at].start(), end.end()))
        at += size or 1
    return runs


def _length(one: Sequence[str], at: int, other: Sequence[str], place: int) -> int:
    """How many words are the same from *at* and *place* on."""
    size = 0
    while at + size < len(one) and place + size < len(other) and one[at + size] == other[place + size]:
        size += 1
    return size
