"""How a text becomes words that can be searched for: the same for a site's files and a server's full-text index.

`SearchIndex` states it in words; the page does it a second time, for queries (`web/src/lib/searchTerms.ts`). The two
have to agree.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache

Words = list[str]
RULE = "words 1"  # names what is stated here: what the words of another rule were indexed by is indexed again
LONGEST = 24  # UTF-16 code units of a word

_WORD = re.compile(r"[^\W_]+")
# What is written without spaces between words: Thai, Lao, Burmese, Khmer, kana, Han. The page has the same ranges
DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
)
_DENSE, _PARTS = re.compile(f"[{DENSE}]"), re.compile(f"[{DENSE}]+|[^{DENSE}]+")
# the character first: where it is none there is nothing to look round for
_APOSTROPHE = re.compile(r"['’](?<=[^\W\d_].)(?=[^\W\d_])")
# What most texts that are not ASCII have beside it, as what stands for it: a text without it takes the short way
_TYPOGRAPHY = (("’", "'"), *((sign, " ") for sign in "‘“”—–…•→\u2011\u202f"))
# lower case; all but letters and digits is a space
_PLAIN = bytes(ord(chr(code).lower()) if chr(code).isalnum() else 32 for code in range(128)) + bytes([32]) * 128


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
        found = text.encode("ascii").translate(_PLAIN).decode("ascii").split()
        return found if max(map(len, found), default=0) <= LONGEST else [word[:LONGEST] for word in found]
    words = _WORD.findall(text.lower())
    if _DENSE.search(text):
        parts = [part for word in words for part in _PARTS.findall(word)]
        words = [word for part in parts for word in (_pairs(part) if _DENSE.match(part) else (part,))]
    # no half of a character
    units = (word.encode("utf-16-le", "replace")[: 2 * LONGEST] for word in words)
    return [word.decode("utf-16-le", "ignore") for word in units]


def _pairs(run: str) -> Words:
    """Each character with the one after it; the last one alone, or none would begin with it."""
    return [run[place : place + 2] for place in range(len(run))]


@cache
def _marks() -> dict[int, None]:
    """Everything that stands on a letter: accents, points, strokes."""
    return {code: None for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code))[0] == "M"}
