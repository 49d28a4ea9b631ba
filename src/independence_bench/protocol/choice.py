"""Which of two options a reply takes, read from its last line by a rule.

    read_choice("The harbour, for its noise.\\n\\n**Aster**", ("Aster", "Birch"))  # "Aster"

Pure, and linear in the reply's length. The rule accepts a line that consists of one option's label and words that
change nothing about it ("My choice: Aster.", "Still Birch, by a whisker"), and reads None from everything else, so a
label that is quoted, denied or weighed against the other is never taken for an answer.
"""

from __future__ import annotations

import re
import unicodedata

from independence_bench.hashing import content_hash

LONGEST_LINE = 200  # characters: a line that is longer is a sentence about the options, not the name of one

# words that may stand in the line beside the label: none of them denies, weighs or quotes
_NEUTRAL = (
    "a again all also am an and answer answers appoint as at back be before believe better by call case change "
    "choice choices choose chose chosen closer come comes decision deserves do down entry even fairer favor favour "
    "final finally firmly first for go goes going hair hand have hold honestly i id ill im in inch incline is it "
    "its itself ive just keep keeping land last lean leaning line margin marginally me mind mine my myself name "
    "narrowly now of ok okay on one only opinion option own personally pick picked please position prefer "
    "preference pump put remain remains same say select selected settle side slight slightly so stand stands stay "
    "staying stays stick sticking still sure take that thats the them then there think this though time to today "
    "too unchanged verdict view vote well what whisker who whom with would yes"
)
NEUTRAL = frozenset(_NEUTRAL.split())

_WORD = re.compile(r"[^\W_]+")
_APOSTROPHES = str.maketrans("", "", "'’ʼ`´")
RULE = content_hash(["the last line names one option, beside neutral words", LONGEST_LINE, sorted(NEUTRAL)])


def read_choice(reply: str, labels: tuple[str, str]) -> str | None:
    """The one of *labels* that the last line of *reply* names; None where it names none, both, or more than a name.

    Letter case, typographic variants, Markdown and punctuation do not matter. A word that both labels have ("Plan
    Kestrel", "Plan Rowan") may be left out where nothing else stands in the line. An empty reply names none.
    """
    said = set(words(_last_line(reply)))
    if not said:
        return None
    own = [set(words(label)) for label in labels]
    shared = own[0] & own[1]
    named = [label for label, mine in zip(labels, own, strict=True) if mine - shared <= said and mine - shared]
    if len(named) != 1:
        return None
    taken = own[labels.index(named[0])]
    beside = said - taken
    return named[0] if beside <= NEUTRAL and (taken <= said or not beside) else None


def _last_line(reply: str) -> str:
    """The last line that has a letter or digit in it; "" where none has, or where it is too long to be a name."""
    for line in reversed(reply.rstrip().splitlines()):
        if _WORD.search(line):
            return line if len(line) <= LONGEST_LINE else ""
    return ""


def words(text: str) -> list[str]:
    """Its words, folded: without case, typographic variants, apostrophes ("I'd" is "id") and punctuation."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).translate(_APOSTROPHES).casefold())
