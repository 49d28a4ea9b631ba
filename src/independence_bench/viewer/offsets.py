"""Offsets into a text as JavaScript counts them: in UTF-16 code units, of which one character may take two."""

from __future__ import annotations

import re
from bisect import bisect_left

from independence_bench.viewer.shapes import Span

_WIDE = re.compile("[\U00010000-\U0010ffff]")


class Offsets:
    """Turns places in *text* (characters) into spans of its UTF-16 code units."""

    def __init__(self, text: str) -> None:
        self._wide = [] if text.isascii() else [found.start() for found in _WIDE.finditer(text)]

    def span(self, start: int, end: int) -> Span:
        """The part from character *start* up to *end*."""
        return Span(start + bisect_left(self._wide, start), end + bisect_left(self._wide, end))
