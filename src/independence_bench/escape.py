"""Foreign text escaped for display: escape sequences are shown, not executed.

Replies, judges' reasoning, names of models, what servers say: whatever is printed goes through here. Text of a user's
own files is refused instead (`printable`, `one_line`): its author can correct it.
"""

from __future__ import annotations

import unicodedata

TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # they reverse what is read
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


def printable(text: str) -> str:
    """*text*; ValueError where it has characters that a terminal would obey or a reader not see."""
    for c in text:
        if (c not in "\n\t" and unicodedata.category(c) in ("Cc", "Cs", "Co")) or c in TURNING:
            raise ValueError(f"has the character U+{ord(c):04X} in it, which is invisible; delete it")
    return text


def one_line(text: str) -> str:
    """*text*; ValueError where `printable` says so, or where it would not stay on one line of a table."""
    for c in printable(text):
        if not (c.isprintable() or c in _JOINERS):
            raise ValueError(f"has the character U+{ord(c):04X} in it; write it on one line, in plain characters")
    return text
