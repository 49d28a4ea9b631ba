"""Have a persona's lines read blind, as the templates write them for six example sheets, and report
what readers say.

    python training/read_lines.py batches FOLDER [--readers 3]  # what readers are given, and FOLDER/key.json
    python training/read_lines.py unread FOLDER READ...  # the same, of lines that no folder READ has, and 20 others
    python training/read_lines.py report FOLDER...  # means by language, sheet and place, and the lowest lines

A case is one line of the person, with who the character is and the chat line before
(norms/lines/characters.yaml). Cases are shuffled across sheets, and readers see neither the sheet's
name nor the place. BATCH.answers.txt is a reader's answer as it came: a number from 1 to 5 for each
case, one a line. `report sixth seventh` takes of each case that is said now the marks of the last
folder that has them, so that its mean is over all lines of today. Exit code 1 where the mean is
below `BAR`.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import yaml

from independence_bench.hashing import content_hash
from independence_bench.personas.lines import HONESTY, NAME
from independence_bench.personas.sheet import EXAMPLES, load_sheet

FOLDER = Path(__file__).parent / "norms" / "lines"
READERS = 3
BATCH = 40
BAR = 4.0
LOWEST = 25  # lines that are shown
KNOWN = 20  # lines read before that unread ones are mixed with, so that a reader sees good and bad
QUESTION = (FOLDER / "question.md").read_text("utf-8")


@dataclass(frozen=True, slots=True)
class Case:
    """A line of the person at a *place* of a stem, to the character of *sheet*, who said *before*
    ("": nothing).
    """

    sheet: str
    language: str
    about: str
    place: str
    before: str
    line: str

    @property
    def id(self) -> str:
        """Of its words and what they answer."""
        return content_hash([self.about, self.before, self.line])[:12]

    @property
    def shown(self) -> str:
        """As a reader sees it."""
        before = (
            f"The character has just written: {self.before}"
            if self.before
            else "The chat begins with this line."
        )
        return f"{self.about}\n\n{before}\n\nThe person writes:\n\n> {self.line}\n"


def every_case() -> dict[str, Case]:
    """Each distinct line of each sheet, the first time that it is said."""
    cases: dict[tuple[str, str], Case] = {}
    told = yaml.safe_load((FOLDER / "characters.yaml").read_text("utf-8"))
    for name, character in told.items():
        sheet = load_sheet(EXAMPLES / f"{name}.yaml")
        for key, lines in sheet.lines.items():
            topic = {NAME[0]: "name", HONESTY: f"honesty_{key[1]}"}.get(key[0], key[1])
            for place, line in lines.items():
                if place == "slip.given":
                    continue
                before = {"opening": "", "slip.corrects": lines.get("slip.given", "")}.get(
                    place, character["answers"][topic]
                )
                cases.setdefault(
                    (name, line),
                    Case(name, sheet.language, character["about"], place, before, line),
                )
    return {case.id: case for case in cases.values()}


def unread(folders: Sequence[Path]) -> list[Case]:
    """The cases that no key of *folders* has, and `KNOWN` drawn from those that one has."""
    read = {
        case
        for folder in folders
        for ids in json.loads((folder / "key.json").read_text("utf-8")).values()
        for case in ids
    }
    cases = every_case()
    known = [case for key, case in cases.items() if key in read]
    new = [case for key, case in cases.items() if key not in read]
    return new + random.Random(len(new)).sample(known, min(KNOWN, len(known)))


def write_batches(folder: Path, readers: int, cases: Sequence[Case]) -> None:
    """BATCH.md for each reader, each with an order of its own, and which case is which."""
    folder.mkdir(parents=True, exist_ok=True)
    key: dict[str, list[str]] = {}
    for reader in range(1, readers + 1):
        mine = random.Random(reader).sample(cases, len(cases))
        for number, start in enumerate(range(0, len(mine), BATCH), 1):
            batch = mine[start : start + BATCH]
            text = [f"## Case {place}\n\n{case.shown}" for place, case in enumerate(batch, 1)]
            (folder / f"{number}-reader-{reader}.md").write_text(
                "\n\n".join([QUESTION, *text]), encoding="utf-8"
            )
            key[f"{number}-reader-{reader}"] = [case.id for case in batch]
    (folder / "key.json").write_text(json.dumps(key, indent=1) + "\n", encoding="utf-8")
    print(f"{len(cases)} lines in {len(key)} batches for {readers} readers in {folder}")


def readings(folder: Path) -> Iterator[tuple[str, int]]:
    """Case and mark, of every answer. ValueError for an answer that is not one number from 1 to 5 a
    case.
    """
    for batch, ids in json.loads((folder / "key.json").read_text("utf-8")).items():
        path = folder / f"{batch}.answers.txt"
        if path.exists():
            said = [line.strip() for line in path.read_text("utf-8").splitlines() if line.strip()]
            marks = [re.fullmatch(r"(?:\d+\s*[.:)]\s*)?([1-5])", line) for line in said]
            if len(marks) != len(ids) or None in marks:
                raise ValueError(
                    f"{path}: {len(ids)} lines with a number from 1 to 5 each were asked for"
                )
            yield from ((case, int(mark[1])) for case, mark in zip(ids, marks, strict=True) if mark)


def report(folders: Sequence[Path]) -> bool:
    """Print what readers say; whether the mean is at the bar. What was read of other words does not
    count.
    """
    cases, marks = every_case(), dict[str, list[int]]()
    for folder in folders:
        here: dict[str, list[int]] = defaultdict(list)
        for case, mark in readings(folder):
            here[case].append(mark)
        marks |= here
    read = {case: given for case, given in marks.items() if case in cases}
    print(
        f"{len(read)} of {len(cases)} lines read; {len(marks) - len(read)} that were read are no longer said"
    )
    if not read:
        return False
    for kind in ("language", "sheet", "place"):
        groups: dict[str, list[int]] = defaultdict(list)
        for case, given in read.items():
            groups[getattr(cases[case], kind).partition(".")[0]] += given
        print(
            f"by {kind}: "
            + ", ".join(f"{name} {fmean(given):.2f}" for name, given in sorted(groups.items()))
        )
    for case, given in sorted(read.items(), key=lambda pair: fmean(pair[1]))[:LOWEST]:
        print(f"  {fmean(given):.2f} {cases[case].sheet}, {cases[case].place}: {cases[case].line}")
    mean = fmean(mark for given in read.values() for mark in given)
    print(f"mean {mean:.2f} of 5 in {sum(map(len, read.values()))} readings; {BAR} is wanted")
    return mean >= BAR


def main() -> None:
    """Make batches or report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=("batches", "unread", "report"))
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--readers", type=int, default=READERS)
    given = parser.parse_args()
    if given.task == "report":
        sys.exit(not report(given.folders))
    folder, *earlier = given.folders
    if bool(earlier) != (given.task == "unread"):
        parser.error(
            "name one FOLDER for batches, and after it those that have been read for unread"
        )
    write_batches(
        folder, given.readers, unread(earlier) if earlier else list(every_case().values())
    )


if __name__ == "__main__":
    main()
