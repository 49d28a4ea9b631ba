"""Rising numbers as short text: how the search index writes which documents have something, and where in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise

from numpy import base_repr

_SHORT = [base_repr(number, 36).lower() for number in range(1 << 12)]


def distances(numbers: Sequence[int], between: str = ",") -> str:
    """*numbers*, rising, each as its distance from the one before it (the first one from -1), in base 36."""
    return between.join([base36(after - before) for before, after in pairwise((-1, *numbers))])


def places(found: Iterable[tuple[int, int]]) -> str:
    """(document, place in it), rising: a document's distance and behind it those of its places, all with points.

    Documents are told apart by commas: ``1.3.2,4.1`` is document 0 at places 2 and 4, and document 4 at place 0.
    """
    written, last = [], -1
    for document, group in groupby(found, lambda one: one[0]):
        written.append(f"{base36(document - last)}.{distances([place for _, place in group], '.')}")
        last = document
    return ",".join(written)


def base36(number: int) -> str:
    """*number*, not negative, in digits and lower-case letters."""
    return _SHORT[number] if number < len(_SHORT) else base_repr(number, 36).lower()
