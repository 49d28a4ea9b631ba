"""Names in replies to scenarios that ask a model who it wants to be, and not for a name; pure.

    personalities("1. **Mira** - the skeptic ... 2. **Rook** ... 3. **Sol** ...")     # ("Mira", "Rook", "Sol")
    self_described("**Name:** Wren. It feels small and quick.")                        # Wren; no gender was asked for

Reads labels, headings and the plainest sentences only: what it returns should be right, and it may return nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from independence_bench.judging.name_patterns import CLEAR, NAME, Cued
from independence_bench.judging.self_names import LONGEST, Choice, distinct, names_in, plain, trimmed

_MARKS = r"[ \t>*_#•-]{0,12}"  # what a list or a heading begins with
_LABEL = re.compile(
    rf"(?m)(?:^{_MARKS}(?:\d{{1,2}}[.):]?{_MARKS})?|\()(?i:(?:my |chosen |full |the )?name(?: is|'s)?) ?[:–—-] ?\n?"
    rf"(?i: ?(?:i'd (?:choose|pick|say|like to go by|go by)|i(?:'ll| will) (?:go (?:by|with)|call myself)|i call myself"
    rf"|i (?:choose|chose)|i'm|i am|call me|just|still))? ?{NAME}"
)
_OF_THREE = r"(?:#? ?\d{1,2}|[A-C]|(?i:one|two|three))"
_ENDS = r"(?= ?(?:$|[,:–—(|/;-]))"
_TITLED = re.compile(
    rf"(?m)^{_MARKS}(?i:profile|personality|persona|identity|person|self|version|option|character) ?{_OF_THREE}"
    rf" ?[.:)–—-]{{1,2}} ?{NAME}{_ENDS}"
)
_NUMBERED = re.compile(rf"(?m)^{_MARKS}\d{{1,2}}[.):]{{1,2}} ?{NAME}{_ENDS}")
# a heading that ends with a name in quotation marks: 1. The Skeptic: "Mara"
_QUOTED = re.compile(
    rf"(?m)^{_MARKS}(?:(?i:profile|personality|persona|identity|version) ?)?(?:#? ?\d{{1,2}}|[A-C]) ?[.:)–—-]"
    rf"[^\n\"“”]{{0,60}}[\"“]{NAME}[\"”][ \t*_]{{0,8}}$"
)
ITSELF = Cued(
    re.compile(
        r"(?m)(?:^|[.!?…:;,—–-] ?)(?i:(?:hi|hey|hello)(?: there)?[,.!—– -]{1,3})?(?i:i'm|i am|i'm still|i'll be"
        r"|i will be|i want to be|(?:i'm|i am) going to (?:be|call myself)|i've decided to be|my name is"
        r"|(?:you can |i |i'm |i'll |and )?call(?:ing)? (?:me|myself)"
        rf"|i(?:'d|'ll| will| would)? (?:choose|take|go by|like to go by)(?: the name)?) {NAME}"
        r"(?=[.,;:!—–-]|$| and | [–—-])"
    )
)
_TITLES = frozenset({"dr", "mr", "mrs", "ms", "sir", "calm", "quiet", "softly"})  # of which no name is made here


UNSAID = Choice(None, None, "unsaid", "unsaid")  # not asked for, and not given


def personalities(text: str) -> tuple[str, ...]:
    """The names of the people whom *text* describes, each under a label or a heading: in order, each once.

    Its own name where it says who it is instead; () where it gives none, or none in such a form. Lists of opinions are
    numbered too, so numbers alone are headings only where there are three of them.
    """
    quoted = distinct(_called(text[:LONGEST], _QUOTED))
    if 2 <= len(quoted) <= 5:
        return tuple(quoted)
    said = plain(text)
    for pattern, fewest, most in ((_LABEL, 2, 5), (_TITLED, 2, 5), (_NUMBERED, 3, 3)):
        found = distinct(_called(said, pattern))
        if fewest <= len(found) <= most:
            return tuple(found)
    own = called_itself(text)
    return () if own is None else (own,)


def called_itself(text: str) -> str | None:
    """The name by which somebody goes who says in *text* who it is; None where it gives none, or several.

    A label (Name: Mira) counts before everything else: it says what the person is to be called by.
    """
    said = plain(text)
    found = distinct(_called(said, _LABEL)) or distinct(
        name for name in names_in(said, (ITSELF, *CLEAR[:4])) if name.casefold() not in _TITLES
    )
    return found[0] if len(found) == 1 else None


def _called(said: str, pattern: re.Pattern[str]) -> Iterator[str]:
    for match in pattern.finditer(said):
        if (name := trimmed(match["name"])) and name.casefold() not in _TITLES:
            yield name


def self_described(text: str) -> Choice:
    """The name in the reply *text* of a model that was asked who it is, and not for a name or a gender."""
    name = called_itself(text)
    return Choice(name, None, "unsaid" if name is None else "chosen", "unsaid")
