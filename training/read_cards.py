"""Have twenty character cards read blind, and say how much of what readers mark the rule of
`personas.sentences` finds.

    python training/read_cards.py batches [--readers 3]  # what readers are given, and cards/readings/key.json
    python training/read_cards.py ask --model openai:gpt-4o  # a model answers those without an answer
    python training/read_cards.py report  # found, of the right kind, sure; by the author's marks
    python training/read_cards.py report -v  # with everything that is missed or that no reader marks

A card is a file of cards/, written by hand before the rule was. cards/marks.json has its author's
own marks, and on which ten the rule was tuned; who wrote the cards wrote the rule as well, so only
readers' marks are blind. An answer is a JSON object, card number -> [[kind, quote], ...], as the
reader gave it. A mark is found where an item says the same words, or most of them; of several
readers, what more than half of them mark counts.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from batches import answers_in, arguments, ask

from independence_bench.personas.cards import Description, read_description

FOLDER = Path(__file__).parent / "cards"
READERS = 3
BATCH = 4  # cards; the twenty were given in fives
SHARE = 0.6  # of the words of the shorter of two texts that say the same
FORM = (
    "Answer with one JSON object from card number to a list of [kind, quote], and nothing else: "
    '{"1": [["fact", "..."], ["taste", "..."]], "2": ...}. Kinds: view, taste, fact, rule, voice, honesty.'
)
_WORD = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]|[^\W_]+")


@dataclass(frozen=True, slots=True)
class Mark:
    """What a reader marks: words of a card, and the kinds that are right for them."""

    quote: str
    kinds: tuple[str, ...]


def cards(folder: Path) -> list[Path]:
    """The cards in *folder*, by name."""
    return sorted(
        path for path in folder.glob("*.*") if path.name not in ("marks.json", "question.md")
    )


def own_marks(kept: Mapping[str, Any]) -> dict[str, list[Mark]]:
    """Card -> its author's marks, of the content of marks.json."""
    return {
        card: [Mark(mark["quote"], tuple(mark["kinds"])) for mark in marks]
        for card, marks in kept["marks"].items()
    }


def shown(path: Path) -> str:
    """A card as a reader sees it: its text, or the texts in it."""
    if path.suffix != ".json":
        return path.read_text("utf-8").strip()
    content = json.loads(path.read_text("utf-8"))
    parts = []
    for field, value in content.get("data", content).items():
        if field == "character_book":
            texts = [
                f"{', '.join(entry['keys'])}: {entry['content']}"
                for entry in value["entries"]
                if entry["enabled"]
            ]
        else:
            texts = value if isinstance(value, list) else [value]
        if written := "\n\n".join(text for text in texts if isinstance(text, str) and text.strip()):
            parts.append(f"[{field}]\n{written}")
    return "\n\n".join(parts)


def write_batches(out: Path, readers: int) -> None:
    """What each reader is given: a few cards a file, shuffled, without their names; and which card
    is which.
    """
    out.mkdir(parents=True, exist_ok=True)
    question = f"{(FOLDER / 'question.md').read_text('utf-8')}\n{FORM}\n"
    key = {}
    for reader in range(1, readers + 1):
        there = cards(out.parent)
        mine = random.Random(f"cards {reader}").sample(there, len(there))
        for number, start in enumerate(range(0, len(mine), BATCH), 1):
            batch = mine[start : start + BATCH]
            texts = [
                f"# Card {place}\n\n````text\n{shown(card)}\n````\n"
                for place, card in enumerate(batch, 1)
            ]
            (out / f"{number}-reader-{reader}.md").write_text(
                "\n".join([question, *texts]), encoding="utf-8"
            )
            key[f"{number}-reader-{reader}"] = [card.name for card in batch]
    (out / "key.json").write_text(json.dumps(key, indent=1) + "\n", encoding="utf-8")


def readings(folder: Path) -> dict[str, list[list[Mark]]]:
    """Card -> the marks of each of its readers. ValueError for an answer that is no object of
    lists.
    """
    found: dict[str, list[list[Mark]]] = defaultdict(list)
    for names, given in answers_in(folder) if (folder / "key.json").exists() else ():
        for number, name in enumerate(names, 1):
            pairs = [
                pair
                for pair in given.get(str(number), [])
                if len(pair) == 2 and all(isinstance(x, str) for x in pair)
            ]
            found[name].append([Mark(quote, (kind.strip().lower(),)) for kind, quote in pairs])
    return found


@cache  # each text is held against all others of its card
def words(text: str) -> tuple[str, ...]:
    """The words of *text*; in Japanese, its letters."""
    return tuple(_WORD.findall(re.sub(r"\{\{\w+\}\}", " ", text).casefold()))


def alike(first: str, second: str) -> bool:
    """Whether two texts say the same: one holds the other, or they share most of the words of the
    shorter.
    """
    one, other = words(first), words(second)
    if not one or not other:
        return False
    held, holds = sorted((f" {' '.join(one)} ", f" {' '.join(other)} "), key=len)
    return held in holds or len({*one} & {*other}) >= SHARE * min(len({*one}), len({*other}))


def agreed(readers: Sequence[Sequence[Mark]]) -> list[Mark]:
    """What more than half of *readers* mark, each once, with every kind that one of them names."""
    kept: list[Mark] = []
    for mark in (mark for marks in readers for mark in marks):
        same = [[other for other in marks if alike(mark.quote, other.quote)] for marks in readers]
        if 2 * sum(map(bool, same)) > len(readers) and not any(
            alike(mark.quote, other.quote) for other in kept
        ):
            kept.append(
                Mark(
                    mark.quote,
                    tuple({kind for others in same for other in others for kind in other.kinds}),
                )
            )
    return kept


def report(
    folder: Path,
    by: str,
    marks: Mapping[str, Sequence[Mark]],
    tuned_on: Sequence[str],
    everything: bool,
) -> None:
    """Of the cards in *folder* that the rule was tuned on and of the others: how much of *marks* is
    found.
    """
    read: dict[str, Description] = {path.name: read_description(path) for path in cards(folder)}
    for group, names in (
        ("tuned on", tuned_on),
        ("not tuned on", [name for name in read if name not in tuned_on]),
    ):
        found = kinds = sure = of = items = backed = 0
        for name in (name for name in names if name in marks):
            draft = read[name].draft
            for mark in marks[name]:
                quote = mark.quote.replace("{{char}}", draft.name).replace("{{user}}", "the user")
                hits = [statement for statement in draft.statements if alike(quote, statement.says)]
                of, found = of + 1, found + bool(hits)
                kinds += any(hit.kind in mark.kinds for hit in hits)
                sure += any(hit.sure for hit in hits)
                if everything and not hits:
                    print(f"  {name}, missed, {'/'.join(mark.kinds)}: {mark.quote}")
            for statement in draft.statements:
                borne = any(alike(mark.quote, statement.says) for mark in marks[name])
                items, backed = items + 1, backed + borne
                if everything and not borne:
                    comment = "" if statement.sure else " (a comment)"
                    print(f"  {name}, marked by none, {statement.kind}{comment}: {statement.says}")
        if of:
            print(
                f"{by}, {group}: {found} of {of} found ({found / of:.1%}), of the right kind {kinds / of:.1%}, "
                f"as items that are no comments {sure / of:.1%}; "
                f"{backed / max(items, 1):.1%} of {items} items are marked"
            )


def main() -> None:
    """Make batches, have them answered, or report."""
    everything = "-v" in sys.argv
    sys.argv = [word for word in sys.argv if word != "-v"]
    given = arguments(__doc__, ("batches", "ask", "report"), READERS, FOLDER / "readings")
    if given.task == "batches":
        write_batches(given.folder, given.readers)
    elif given.task == "ask":
        asyncio.run(
            ask(sorted(given.folder.glob("*-reader-*.md")), given.model, given.models_file, FORM)
        )
    else:
        folder = given.folder.parent
        own = folder / "marks.json"
        kept = json.loads(own.read_text("utf-8")) if own.exists() else {"tuned_on": [], "marks": {}}
        report(folder, "the author", own_marks(kept), kept["tuned_on"], everything)
        found = readings(given.folder)
        for number in range(max(map(len, found.values()), default=0)):
            one = {name: marks[number] for name, marks in found.items() if number < len(marks)}
            report(folder, f"reader {number + 1}", one, kept["tuned_on"], everything=False)
        if any(len(marks) > 1 for marks in found.values()):
            several = {name: agreed(marks) for name, marks in found.items() if len(marks) > 1}
            report(folder, "most readers", several, kept["tuned_on"], everything)


if __name__ == "__main__":
    main()
