"""Labels of one leaderboard that a reader may take for each other: they look alike, or mix
alphabets in a word.

It is for the eye: two labels look alike if they differ only in letter case, in characters that are
not seen, in forms of one character (Unicode's NFKC), or in letters of the table below. The table
has what resembles one ASCII letter, digit or sign, as Unicode lists it (UTS 39, confusables.txt),
and a few more letters of Cyrillic and Greek. It has no letters that resemble two ("rn" and "m"),
and none of other alphabets that resemble each other. A label whose words are each of one alphabet
is somebody's name: it is doubted only beside one that it looks like.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from independence_bench.columns import HIDDEN, SENT
from independence_bench.escape import UNSEEN_IN_NAMES, escape_name

_RESEMBLING = {
    "+": "\u16ed\u2795\U0001029b",
    "-": "\u02d7\u2010\u2012\u2013\u2043\u2212\u2796\u2cba",
    ".": "\u06f0\ua4f8\ua60e\U0001d16d",
    "/": "\u1735\u2041\u2044\u2215\u2571\u27cb\u29f8\u2cc6\u3033\u30ce\u31d3\u4e3f\U0001d23a",
    "2": "\u01a7\u03e8\u14bf\ua644\ua6ef\ua75a",
    "3": "\u01b7\u021c\u0417\u04e0\u2ccc\ua76a\ua7ab\U000118ca\U00016f3b\U0001d206",
    "4": "\u13ce\U000118af",
    "5": "\u01bc\U000118bb",
    "6": "\u0431\u13ee\u2cd2\U000118d5",
    "7": "\U000104d2\U000118c6\U0001d212",
    "8": "\u0222\u0223\u09ea\u0a6a\u0b03\U0001031a",
    "9": "\u09ed\u0a67\u0b68\u0d6d\u2cca\ua76e\U000118ac\U000118cc\U000118d6",
    ":": "\u02d0\u02f8\u0589\u0903\u0a83\u16ec\u1803\u1809\u205a\u2236\ua4fd\ua789",
    "a": "\u0251\u0391\u03b1\u0410\u0430\u13aa\u15c5\u237a\ua4ee\U000102a0\U00016f40",
    "b": "\u0184\u0392\u0412\u042c\u0432\u13cf\u13f4\u1472\u15af\u15f7\ua4d0\ua7b4\U00010282"
    "\U000102a1\U00010301",
    "c": "\u0421\u0441\u13df\u1d04\u2ca4\u2ca5\ua4da\uabaf\U000102a2\U00010302\U00010415\U0001043d"
    "\U0001051c\U000118e9\U000118f2\U0001f74c",
    "d": "\u0501\u13a0\u13e7\u146f\u15de\u15ea\ua4d2\ua4d3",
    "e": "\u0395\u0415\u0435\u0454\u04bd\u13ac\u212e\u22ff\u2d39\ua4f0\uab32\U00010286\U000118a6"
    "\U000118ae",
    "f": "\u03dc\u0584\u15b4\u1e9d\ua4dd\ua798\ua799\uab35\U00010287\U000102a5\U00010525\U000118a2"
    "\U000118c2\U0001d213",
    "g": "\u018d\u0261\u050c\u0581\u13c0\u13f3\u1d83\ua4d6",
    "h": "\u0397\u041d\u043d\u04bb\u0570\u13bb\u13c2\u157c\u2c8e\ua4e7\U000102cf",
    "i": "\u0131\u0269\u026a\u03b9\u0456\u04cf\u13a5\u2373\ua647\uab75\U000118c3",
    "j": "\u037f\u03f3\u0408\u0458\u13ab\u148d\ua4d9\ua7b2",
    "k": "\u039a\u03ba\u041a\u043a\u13e6\u16d5\u2c94\ua4d7\U00010518",
    "l": "\u0196\u01c0\u0399\u0406\u04c0\u06f1\u13de\u14aa\u16c1\u2223\u23fd\u2c92\u2cd0\u2d4f"
    "\ua4e1\ua4f2\U0001028a\U00010309\U00010320\U0001041b\U00010526\U000118a3\U000118b2\U00016f16"
    "\U00016f28\U0001d22a",
    "m": "\u039c\u03fa\u041c\u043c\u13b7\u15f0\u16d6\u2c98\ua4df\U000102b0\U00010311",
    "n": "\u039d\u0578\u057c\u2c9a\ua4e0\U00010513",
    "o": "\u039f\u03bf\u03c3\u041e\u043e\u0555\u0585\u06f5\u0966\u09e6\u0a66\u0ae6\u0b20\u0b66"
    "\u0be6\u0c02\u0c66\u0c82\u0ce6\u0d02\u0d20\u0d66\u0d82\u0e50\u0ed0\u101d\u1040\u10ff\u12d0"
    "\u1d0f\u1d11\u2c9e\u2c9f\u2d54\u3007\ua4f3\uab3d\U00010292\U000102ab\U00010404\U0001042c"
    "\U000104c2\U000104ea\U00010516\U000114d0\U000118b5\U000118c8\U000118d7\U000118e0",
    "p": "\u03a1\u03c1\u0420\u0440\u13e2\u146d\u2374\u2ca2\u2ca3\ua4d1\U00010295",
    "q": "\u051b\u0563\u0566\u2d55",
    "r": "\u01a6\u0433\u13a1\u13d2\u1587\u1d26\u2c85\ua4e3\uab47\uab48\uab81\U000104b4\U00016f35"
    "\U0001d216",
    "s": "\u01bd\u0405\u0455\u054f\u13d5\u13da\ua4e2\ua731\uabaa\U00010296\U00010420\U00010448"
    "\U000118c1\U00016f3a",
    "t": "\u03a4\u03c4\u0422\u0442\u13a2\u22a4\u27d9\u2ca6\ua4d4\U00010297\U000102b1\U00010315"
    "\U000118bc\U00016f0a\U0001f768",
    "u": "\u028b\u03c5\u054d\u057d\u1200\u144c\u1d1c\u222a\u22c3\ua4f4\ua79f\uab4e\uab52\U000104ce"
    "\U000104f6\U000118b8\U000118d8\U00016f42",
    "v": "\u03bd\u0474\u0475\u06f7\u13d9\u142f\u1d20\u2228\u22c1\u2d38\ua4e6\ua6df\uaba9\U0001051d"
    "\U00011706\U000118a0\U000118c0\U00016f08\U0001d20d",
    "w": "\u026f\u0461\u051c\u051d\u0561\u13b3\u13d4\u1d21\ua4ea\uab83\U0001170a\U0001170e"
    "\U0001170f\U000118e6\U000118ef",
    "x": "\u00d7\u03a7\u0425\u0445\u1541\u157d\u166d\u166e\u16b7\u2573\u292b\u292c\u2a2f\u2cac"
    "\u2d5d\ua4eb\ua7b3\U00010290\U000102b4\U00010317\U00010322\U00010527\U000118ec",
    "y": "\u0263\u028f\u03a5\u03b3\u0423\u0443\u04ae\u04af\u10e7\u13a9\u13bd\u1d8c\u1eff\u2ca8"
    "\ua4ec\uab5a\U000102b2\U000118a4\U000118dc\U00016f43",
    "z": "\u0396\u13c3\u1d22\ua4dc\uab93\U000102f5\U000118a9\U000118c4\U000118e5",
}
_LETTERS = str.maketrans(
    {c: letter for letter, every in _RESEMBLING.items() for c in every}
    | dict(zip("0O1I|", "oolll", strict=True))
)
_WORD = re.compile(r"[^\W\d_](?:[^\W_]*[^\W\d_])?")
_SIZE = re.compile(r"(?<!\d)\d+[bBkKmM]\b", re.ASCII)  # 7b stands behind a name in any alphabet
# one word of Chinese, Japanese or Korean may have Latin letters, and those of two of its own
# scripts
_TOGETHER = frozenset({"Latin", "Cjk", "Hiragana", "Katakana", "Bopomofo", "Hangul"})
# first words of names that are no script
_OF_ANY = frozenset({"Modifier", "Katakana-Hiragana", "Ideographic", ""})


@dataclass(frozen=True, slots=True)
class LabelDoubt:
    """Why a reader may take a leaderboard's label for another one: labels that it looks like, or
    alphabets that are mixed in one of its words.
    """

    label: Annotated[str, HIDDEN]
    reads_like: tuple[str, ...]  # the labels that it looks like, as they are shown
    # the alphabets of its first word that mixes some; () where none does
    mixed_scripts: tuple[str, ...]

    @property
    def says(self) -> Annotated[str, SENT]:
        """A phrase that shows the label in ASCII and says why a reader may take it for another
        label.
        """
        like, scripts = self.reads_like, self.mixed_scripts
        more = f" and {len(like) - 1} more" if len(like) > 1 else ""
        why = [f"reads like {like[0]}{more}"] if like else []
        why += [f"has {' and '.join(scripts)} letters in one word"] if scripts else []
        return f"{escape_non_ascii(self.label)} {' and '.join(why)}"


def find_label_doubts(shown_by_label: Mapping[str, str]) -> dict[str, LabelDoubt]:
    """Return label -> why a reader may take it for another label, for those of a leaderboard's
    *shown_by_label* (label -> how it is shown) that look like another one of them or mix alphabets
    in a word; {} if none does.
    """
    alike: dict[str, list[str]] = defaultdict(list)
    for label in shown_by_label:
        alike[make_label_skeleton(label)].append(label)
    doubts = {}
    for every in alike.values():
        for label in every:
            others = tuple(
                sorted(
                    (shown_by_label[one] for one in every if one != label),
                    key=lambda shown: (len(shown), shown),
                )
            )
            if others or find_scripts_mixed_in_word(label):
                doubts[label] = LabelDoubt(label, others, find_scripts_mixed_in_word(label))
    return doubts


def make_label_skeleton(label: str) -> str:
    """Return a text by which labels are compared: it is equal for labels that look alike. It is
    never shown as a label.
    """
    seen = label
    if not label.isascii():
        seen = unicodedata.normalize("NFKC", UNSEEN_IN_NAMES.sub(_drop_unseen_except_spaces, label))
        seen = "".join(c for c in seen if unicodedata.category(c) not in ("Cf", "Cc"))
    return " ".join(seen.translate(_LETTERS).casefold().split())


def _drop_unseen_except_spaces(found: re.Match[str]) -> str:
    """Return what a label has in place of an invisible character, which a regular expression
    *found*: a space if that character is white space, else nothing. So `a b` and `ab` do not look
    alike.
    """
    return " " if found[0].isspace() else ""


def find_scripts_mixed_in_word(label: str) -> tuple[str, ...]:
    """Return the alphabets, such as Latin and Cyrillic, of the first word of *label* that mixes
    alphabets which do not belong together; () if no word does.
    """
    if label.isascii():
        return ()
    seen = unicodedata.normalize("NFKC", UNSEEN_IN_NAMES.sub(_drop_unseen_except_spaces, label))
    for word in _WORD.findall(_SIZE.sub("", seen)):
        scripts = dict.fromkeys(_find_script(c) for c in word if c.isalpha())
        mixed = tuple(script for script in scripts if script not in _OF_ANY)
        if len(mixed) > 1 and not _TOGETHER.issuperset(mixed):
            return mixed
    return ()


def _find_script(letter: str) -> str:
    """Return the alphabet of a letter, such as Latin: the first word of its Unicode name, which
    says the alphabet for all letters but a few; "" if the letter has no name.
    """
    return unicodedata.name(letter, "").partition(" ")[0].capitalize()


def escape_non_ascii(label: str) -> str:
    """Return *label* in ASCII: every other character is written out as its hexadecimal code."""
    return "".join(c if c.isascii() else f"\\u{{{ord(c):x}}}" for c in escape_name(label))
