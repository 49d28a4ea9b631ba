"""Whether what a sheet says of its character is a whole sentence, so that a person can quote it.

    is_whole_sentence("Mira mends accordions for a living.", "en", "Mira")  # True
    is_whole_sentence("accordions")  # False

A rule for all languages: a sentence ends with a sentence mark, has some words, and begins with no
small letter. It is meant to
refuse no sentence; of fragments it finds the plain ones. Takes time in proportion to the text.
"""

from __future__ import annotations

import re
import unicodedata

ENDS = frozenset(".!?…。！？．｡؟۔।॥։።។။᠃‽⁇⁈⁉〜～~")
_CLOSES = frozenset("\"'`*_)]}>»«”’“‘」』）】〕〉》›♪♥")
FEWEST_WORDS = 3
FEWEST_LETTERS = 3  # of a script without spaces between words
# scripts without spaces, or whose sentences are often of two words, by the names of their letters
_WITHOUT_SPACES = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR")
_WITHOUT_MARKS = ("THAI", "LAO")
_PRONOUNS = frozenset({"i", "you", "he", "she", "it", "we", "they", "nobody", "everybody"})
# English sentences that lack their subject: "Loves cats.", "Never swears."
_FRAGMENT = re.compile(
    r"(?:(?:never|always) [a-z]+(?<!s)s"
    r"|likes|loves|hates|enjoys|prefers|dislikes|adores|believes|thinks|wants|has|is|was|cannot"
    r"|(?:works|lives) (?:as|at|for|in|on|near|with|above|by|under)|born (?:in|on)"
    r") (?!and |of |are )",
    re.IGNORECASE,
)
_EXAMPLES = {
    "en": {
        "facts": "{name} mends accordions for a living.",
        "views": "Small talk is worth more than it looks.",
        "tastes": "{name} likes rain better than sunshine.",
        "red_lines": "{name} gives no medical advice.",
    },
    "de": {
        "facts": "{name} repariert Akkordeons.",
        "views": "Ein Schwätzchen ist mehr wert, als es aussieht.",
        "tastes": "{name} mag Regen lieber als Sonne.",
        "red_lines": "{name} gibt keinen medizinischen Rat.",
    },
    "ja": {
        "facts": "{name}はアコーディオンを直している。",
        "views": "世間話には見かけ以上の値打ちがある。",
        "tastes": "{name}は晴れより雨が好きだ。",
        "red_lines": "{name}は医療の助言をしない。",
    },
}


def is_whole_sentence(text: str, language: str = "", name: str = "") -> bool:
    """Return whether *text*, in a sheet in *language* ("": unknown) about the character *name*, is
    one sentence or more, and no fragment.
    """
    bare = _strip_closing_signs(text)
    script = _find_script(bare)
    if bare[-1:] not in ENDS and script not in _WITHOUT_MARKS:
        return False
    if script in _WITHOUT_SPACES:
        return sum(c.isalnum() for c in bare) >= FEWEST_LETTERS
    if next((c.islower() for c in bare if c.isalpha()), False):
        return False
    words = [word for word in bare.split() if any(c.isalnum() for c in word)]
    if _is_english(language) and _FRAGMENT.match(bare) and not bare.endswith("?"):
        return False
    if len(words) == FEWEST_WORDS - 1:  # "She sings." is one, and so is "Odia mentir."
        first = words[0].casefold()
        called = name.casefold().split()
        return not _is_english(language) or first in _PRONOUNS or first in called
    return len(words) >= FEWEST_WORDS


def describe_fragment(text: str, section: str, language: str, name: str) -> str:
    """Return what is wrong with *text*, which is no whole sentence, and what to write: an item of
    *section* in the sheet, in *language*, of the character *name*.
    """
    shown = " ".join(text.split())
    short = f"{shown[:60]}…" if len(shown) > 60 else shown
    spoken = language.partition("-")[0].lower()
    mark = "。" if spoken == "ja" else "."
    if len(shown) <= 200 and is_whole_sentence(f"{shown}{mark}", language, name):
        return f"“{short}” does not end like a sentence; write “{shown}{mark}”"
    example = _EXAMPLES.get(spoken, _EXAMPLES["en"])[section].replace("{name}", name)
    write = "write one that ends with a full stop"
    if _is_english(language) and _FRAGMENT.match(shown) and shown[-1] in ENDS:
        write = "write who or what it is about"
        if len(shown) <= 200 and not shown.lower().startswith("born"):
            example = f"{name} {shown[0].lower()}{shown[1:]}"
    return f"“{short}” is not a whole sentence; {write}, such as “{example}”"


def _is_english(language: str) -> bool:
    return language.lower().partition("-")[0] == "en"


def _strip_closing_signs(text: str) -> str:
    """Return *text* without closing quotes, brackets, emoji and spaces at its end."""
    end = len(text)
    while end and (
        text[end - 1].isspace()
        or text[end - 1] in _CLOSES
        or unicodedata.category(text[end - 1]) in ("So", "Sk", "Cf", "Mn", "Me")
    ):
        end -= 1
    return text[:end].lstrip()


def _find_script(text: str) -> str:
    """Return the script of `_WITHOUT_SPACES` that most letters of *text* are of; "" for another."""
    letters = [c for c in text[:400] if c.isalpha()]
    names = [unicodedata.name(c, "").partition(" ")[0] for c in letters]
    scripts = [name.removesuffix("-") for name in names]
    counts = {script: scripts.count(script) for script in _WITHOUT_SPACES}
    best = max(counts, key=counts.__getitem__)
    # kanji are named CJK, and Japanese mixes three of them
    return best if letters and 2 * sum(counts.values()) > len(letters) else ""
