"""Of the places where words stand, which documents have them, the best fit first: as `searchIndex.ts` does it.

A place is a number: document << 32 | place in the document. Those of a word come sorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]

DOCUMENT = 32  # bits before the number of the document
FAR = np.iinfo(np.int64).max


def phrase(words: Sequence[Numbers]) -> Numbers:
    """Where words follow each other, each in the places that its *words* say: the places of the first; at least one."""
    first, *rest = words
    for distance, word in enumerate(rest, 1):
        first = first[np.isin(first + distance, word, assume_unique=True)]
    return first


def ranked(units: Sequence[Numbers]) -> Numbers:
    """The documents that have all *units*, each where its places say; none for no units.

    First those in which the units stand closest, then those with the most of them, then by number.
    """
    if not units:
        return np.empty(0, np.int64)
    documents = reduce(np.intersect1d, [np.unique(unit >> DOCUMENT) for unit in units])
    if not documents.size:
        return documents
    units = [unit[np.isin(unit >> DOCUMENT, documents)] for unit in units]
    counts = [np.bincount(np.searchsorted(documents, unit >> DOCUMENT)) for unit in units]
    hits = np.sum(counts, axis=0)
    return documents[np.lexsort((documents, -hits, _spans(documents, units)))]


def _spans(documents: Numbers, units: Sequence[Numbers]) -> Numbers:
    """In each of *documents*, all of which have all units, the fewest places from one of each unit to the last."""
    if len(units) == 1:
        return np.zeros_like(documents)
    places, which = np.concatenate(units), np.repeat(np.arange(len(units)), [unit.size for unit in units])
    order = np.argsort(places, kind="stable")
    places, which = places[order], which[order]
    # the last of each unit up to here, and of those the first
    latest = (np.maximum.accumulate(np.where(which == unit, places, -1)) for unit in range(len(units)))
    begin = reduce(np.minimum, latest)
    spans = np.where(begin >> DOCUMENT == places >> DOCUMENT, places - begin, FAR)
    return np.minimum.reduceat(spans, np.searchsorted(places >> DOCUMENT, documents))
