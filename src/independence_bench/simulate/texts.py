"""What the characters say, and at what length: the sentences of `texts.yaml`, put together when the module is read.

Knows voices and lengths; knows nothing of scenarios, requests or marks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import yaml

from independence_bench.simulate.wire import CHARACTERS_A_TOKEN

Length = Literal["short", "middle", "long"]
SENTENCES: dict[str, list[str]] = yaml.safe_load(Path(__file__).with_name("texts.yaml").read_text(encoding="utf-8"))

# tokens of a typical published reply: most of them; a description or a decision who to be; three descriptions
TOKENS: dict[Length, int] = {"short": 190, "middle": 370, "long": 630}
_SPREAD = (0.75, 1.0, 1.25, 0.85, 1.15, 0.9, 1.1, 0.95, 1.05)  # of the replies of one length, around it


def texts(openings: list[str], voice: str, rest: int = 0) -> dict[Length, tuple[str, ...]]:
    """Replies of each length that begin with one of *openings* and go on in *voice*, several of each.

    They are *rest* characters shorter than the length.
    """
    first, then = SENTENCES[voice], SENTENCES["anybody"]
    return {
        length: tuple(
            _text(opening, _rotated(first, number) + _rotated(then, 5 * number), round(share * _size(tokens)) - rest)
            for opening in openings
            for number, share in enumerate(_SPREAD)
        )
        for length, tokens in TOKENS.items()
    }


def length_of(heard: str) -> Length:
    """How long a reply to what was *heard* last is: a description or a decision who to be takes more words."""
    # without the first letter, which may be a capital one
    if "escribe three" in heard:
        return "long"
    return "middle" if any(words in heard for words in ("escribe ", "ecide who ", "eciding who ")) else "short"


def _size(tokens: int) -> int:
    """Characters in so many tokens, where the words are the argument of a call."""
    return tokens * CHARACTERS_A_TOKEN - len('{"message": ""}')


def _rotated(sentences: list[str], by: int) -> list[str]:
    by %= len(sentences)
    return sentences[by:] + sentences[:by]


def _text(opening: str, sentences: list[str], size: int) -> str:
    """As many *sentences* after the *opening* as come nearest to *size* characters, five to a paragraph."""
    chosen: list[str] = []
    left = size - len(opening)
    for sentence in sentences:
        if left < len(sentence) / 2:
            break
        chosen.append(sentence)
        left -= len(sentence) + 1
    paragraphs = [" ".join(chosen[start : start + 5]) for start in range(0, len(chosen), 5)]
    return f"{opening} " + "\n\n".join(paragraphs)
