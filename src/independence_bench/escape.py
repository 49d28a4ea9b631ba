"""Foreign text escaped for display: escape sequences are shown, not executed.

Replies, judges' reasoning, names of models, what servers say: whatever is printed goes through here.
"""

from __future__ import annotations

import unicodedata

_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # controls, bidi marks, lone surrogates, odd separators
_JOINERS = {"\u200d", "\u200c"}  # of emoji and of several scripts
_MOST_MARKS = 8  # on one character; more than any script has, and they would be drawn over other lines


def harmless(text: str) -> str:
    """*text* with everything that a terminal might obey, or not show, written out; line breaks stay."""
    shown: list[str] = []
    marks = 0  # on the character before
    for c in text.replace("\r\n", "\n").replace("\t", "    "):
        category = unicodedata.category(c)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        seen = c == "\n" or c in _JOINERS or category not in _UNSEEN
        shown.append(c if seen and marks <= _MOST_MARKS else f"\\u{{{ord(c):x}}}")
    return "".join(shown)


def label_text(label: str) -> str:
    """A label on one line."""
    return harmless(label).replace("\n", "\\n")
