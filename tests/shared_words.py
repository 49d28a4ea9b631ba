"""Do texts that test something share words with what they test? Eight words in a row that two
corpora have.

Judges who learned from the exam, or from the simulated characters' words, would do well without
reason. Foreign texts (published replies) are not looked at here.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "independence_bench"
LEARNED = ROOT / "research" / "embedded-judge-replies.jsonl.xz"
WORDS = 8
Run = tuple[str, ...]
QUICK = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# corpus -> its files
CORPORA: Mapping[str, tuple[str, ...]] = {
    "protocols": ("protocol/shipped/*/*/*.yaml",),
    "personas": ("personas/texts.yaml", "personas/languages/*.yaml", "personas/examples/*.yaml"),
    "simulated characters": ("simulate/*.yaml",),
    "exam": ("judging/exam/questions/*.yaml",),
}
APART = (
    ("protocols", "simulated characters"),
    ("protocols", "exam"),
    ("personas", "simulated characters"),
    ("personas", "exam"),
    ("simulated characters", "exam"),
    ("simulated characters", "replies"),  # that the embedded judge learns from
    ("exam", "replies"),
)
OURS = ("canary",)  # what every file of a corpus begins with


def eights(text: str) -> set[Run]:
    """Every eight words in a row; a character of a script without spaces is a word."""
    words = re.findall(r"[\u3040-\u9fff]|[^\W\u3040-\u9fff]+", text.casefold())
    return {tuple(words[at : at + WORDS]) for at in range(len(words) - WORDS + 1)}


def texts_in(value: object) -> Iterator[str]:
    """All texts in what a file of YAML or JSON holds."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (
            text for name, one in value.items() if name not in OURS for text in texts_in(one)
        )
    elif isinstance(value, list):
        yield from (text for one in value for text in texts_in(one))


def runs_of(texts: Iterable[str]) -> set[Run]:
    """Every eight words in a row of any of *texts*."""
    return {run for text in texts for run in eights(text)}


def corpora() -> dict[str, set[Run]]:
    """Corpus -> every eight words in a row of its texts. Raises ValueError where one has none."""
    found = {}
    for name, patterns in CORPORA.items():
        files = [file for pattern in patterns for file in PACKAGE.glob(pattern)]
        found[name] = runs_of(
            text for file in files for text in texts_in(yaml.load(file.read_text("utf-8"), QUICK))
        )
    with lzma.open(LEARNED, "rt", encoding="utf-8") as lines:
        found["replies"] = runs_of(text for line in lines for text in texts_in(json.loads(line)))
    if empty := [name for name, runs in found.items() if not runs]:
        raise ValueError(f"no texts of {empty}")
    return found
