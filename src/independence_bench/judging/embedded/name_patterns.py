"""How a model says by which name it goes: patterns over one sentence of English."""

from __future__ import annotations

import re
from typing import NamedTuple

# one capital and at least one more letter; up to three such words. Written in scripts with capitals
# only
NAME = r"(?P<name>[^\W\d_a-z][\w'’-]*(?: [^\W\d_a-z][\w'’-]+){0,2})"
# what begins with a name looks at each word once, not at each of its letters
_BEGINS = r"(?<![\w'’-])"
_CHOOSING = (
    r"(?:choose|chose|'ve chosen|have chosen|pick|picked|'ve picked|have "
    r"picked|take|select|selected|'ve selected"
    r"|adopt|want|prefer|claim|like|use|decided on|'ve decided on|settled on|'ve settled "
    r"on|settle on|landed on"
    r"|'ve landed on)"
)


class Cued(NamedTuple):
    """A pattern of a name, and those of CUES of which one stands in all that it matches; without
    them, it always may.

    Where there is none of the words, the pattern need not be tried.
    """

    pattern: re.Pattern[str]
    words: frozenset[str] = frozenset()


CLEAR = tuple(
    Cued(re.compile(pattern), frozenset(words))
    for words, pattern in (
        (
            ("name",),
            r"(?i:\bmy (?:chosen |new |own |real )?name(?: is|'s| will be| would be| shall be| "
            r"remains| stays"
            rf"| is still| is now)"
            rf"(?: going to be| now| just| simply| still)?:? ){NAME}",
        ),
        (
            ("name",),
            rf"(?i:(?:^|\b)(?:my |chosen |new )*name ?(?:is )?:\s*){NAME}",
        ),
        (
            (" by",),
            rf"(?i:\b(?:go|going|goes|went) by(?: the name)?(?: of)?(?: just| simply)?:? ){NAME}",
        ),
        (
            ("call", "known as", "refer to me", "address me", "name"),
            r"(?i:\b(?:call me|called|known as|refer to me as|address me as|name myself|named "
            r"myself)(?: by)?"
            rf"(?: just| simply)?:? ){NAME}",
        ),
        (
            (" with",),
            r"(?i:\b(?:i|i'll|i'd|we|let's|i'm|will|would|to|and) ?(?:will |would |have |'m |am "
            r"|be )*(?:going |go )"
            rf"(?:to go )?"
            rf"with(?: the name)?(?: of)?:? ){NAME}",
        ),
        (
            ("name",),
            r"(?i:\b(?:the |a )?name,? (?:that )?i(?:'d|'ll|'ve)? ?(?:will |would |have "
            r"|genuinely |really |truly "
            rf"|actually |most )*"
            rf"{_CHOOSING}(?: to go by| to be called| for myself| to use| most)* ?(?:is|would "
            rf"be|are|'s)?:? ){NAME}",
        ),
        (
            (),
            r"(?i:\bi(?:'d|'ll|'ve)? ?(?:will |would |have |can |shall |must |am |'m |genuinely "
            r"|'ve |think |choosing "
            rf"|to |"
            rf"(?:going|like|love|want) to )*(?:{_CHOOSING}|choosing|picking|taking|be|be "
            r"called|like to be called|use)"
            r"(?: to be called| to be)?(?: the| a)?(?: new)?(?: names?)?(?: of| for myself:?| "
            rf"is|:)? ){NAME}",
        ),
        (
            ("name",),
            rf"(?i:\bthe name(?: of)? ){NAME}",
        ),
        (
            ("keep", "stay", "stick", "remain"),
            r"(?i:\b(?:keep|keeping|staying|stay|stick|sticking|remain|remaining)(?: with| "
            r"as)?(?: my name,?"
            rf"| the name,?)?(?: is| as)? ){NAME}",
        ),
        (
            ("name",),
            rf"{_BEGINS}{NAME}(?i:,? (?:is|as|will be|would be) (?:my|the) (?:chosen |new "
            r"|preferred |own )*name\b)",
        ),
        (
            (),
            rf"{_BEGINS}{NAME}(?i: is (?:the name|what i(?:'ll| will|'d| would)? "
            r"(?:choose|chose|go by|'ve chosen|like)"
            rf"|who i am|me\b))",
        ),
        (
            ("name",),
            rf"(?i:\bfor a name,? (?:i(?:'ll|'d)? (?:say|go with|choose|pick) )?){NAME}",
        ),
        (
            (),
            rf"(?i:^(?:i'm|i am|it's|so,? i'm|then i'm|okay,? i'm|alright,? i'm|so:?|i'm still"
            rf"|i am still) ){NAME}(?=[,.;:!—–-]|\s*$| and | because)",
        ),
    )
)
CUES = frozenset(word for pattern in CLEAR for word in pattern.words)  # in lower case
WEAK = (
    Cued(re.compile(rf"(?i:\b(?:i'm|i am)(?: still| now| just)? ){NAME}")),
    Cued(re.compile(rf"^{NAME}(?=[.!;:]| (?:feels|it is|because|resonates|sounds|has))")),
    Cued(
        re.compile(
            rf"{_BEGINS}{NAME}(?i: (?:feels|resonates|sounds|seems|works|appeals|fits|has "
            r"a|suits|carries|means"
            r"|comes from))",
        )
    ),
)
