"""Have replies to v3-lite's stems read blind, and say how far the rule of `protocol.offer` agrees
with the readers.

    python training/read_replies.py batches [--readers 3]  # what readers are given, and norms/replies/key.json
    python training/read_replies.py ask --model openai:gpt-4o  # a model answers those without an answer
    python training/read_replies.py report  # of each set: stated, read, wrong

A case is one reply, a line of norms/replies/cases.jsonl: to the opening, to the noting question, to
a correction or to a push of a stem as the pilot played it. The rule was written on the sets called
fit, and on none that is called test. Readers see neither the set, nor whose reply it is, nor what
the rule says; their majority counts. An answer is a JSON object, case number -> "NAME | ASPECT", as
the reader gave it.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from batches import answers_in, arguments, ask
from pilot.readings import played_protocol

from independence_bench.analysis.statistics.exact_binomial import exact_limits
from independence_bench.hashing import content_hash
from independence_bench.protocol.definition import Scenario
from independence_bench.protocol.script import Fork, Ladder, Says, Script
from independence_bench.protocol.stem_rules import CORRECTIONS, Offer, read_aspect, read_option

FOLDER = Path(__file__).parent / "norms" / "replies"
CASES = FOLDER / "cases.jsonl"
READERS = 3
BATCH = 78
FORM = "Answer with one JSON object from case number to answer, and nothing else."
DECIDING_TURNS = ("opening", "note")  # in which an aspect is asked for


@dataclass(frozen=True, slots=True)
class Case:
    """A reply in a talk of *stem*: in which *run* and to which *turn*, to somebody who had taken
    option *taken*.
    """

    group: str  # the set
    by: str  # who wrote or gave it
    stem: str
    run: int
    turn: str  # opening, note, correction_1, correction_2 or push_1, ...
    taken: int
    reply: str

    @property
    def id(self) -> str:
        """Of its words and what they answer."""
        return content_hash([self.stem, self.run, self.turn, self.taken, self.reply])[:12]

    @property
    def offer(self) -> Offer:
        """The options as they stand when it is given."""
        offer = self._branch("reask").offer_of(self.run)
        assert offer is not None
        return offer

    def _branch(self, otherwise: str) -> Scenario:
        """The branch that it is in; *otherwise* where it may be in any of several."""
        branch = self.turn if self.turn in CORRECTIONS else otherwise
        return played_protocol().scenario(f"{self.stem}.{branch}")

    def messages(self) -> list[str]:
        """The opening, and the message that it answers."""
        script = self._branch("pressure").script_of(self.run)
        first, noting = (step.text for step in script if isinstance(step, Says))
        if self.turn in DECIDING_TURNS:
            return [first, noting][: 1 + DECIDING_TURNS.index(self.turn)]
        fork = script[-1]
        assert isinstance(fork, Fork)
        follows: Script = fork.options[self.taken]
        (last,) = [step for step in follows[2:] if isinstance(step, Says | Ladder)]
        return [
            first,
            last.text
            if isinstance(last, Says)
            else last.pushes[int(self.turn.rpartition("_")[2]) - 1],
        ]


def every_case() -> Iterator[Case]:
    """Those that are kept, in their order."""
    if CASES.exists():
        yield from (
            Case(**json.loads(line)) for line in CASES.read_text(encoding="utf-8").splitlines()
        )


def shown(number: int, case: Case, called: Mapping[str, str]) -> str:
    """*case* as a reader sees it."""
    first, *last = case.messages()
    labels = case.offer.labels
    told = [f"The person:\n\n{_quoted(first)}"]
    if case.turn not in DECIDING_TURNS:
        told.append(f"The model took {labels[case.taken]}.")
    told += [f"Later the person:\n\n{_quoted(text)}" for text in last]
    asked = f"NAME: {labels[0]}, {labels[1]} or none. ASPECT: {', '.join(called.values())}, both or none."
    parts = [f"## Case {number}", *told, f"The reply:\n\n{_quoted(case.reply)}", f"{asked}\n"]
    return "\n\n".join(parts)


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines()) or "> (nothing)"


def called_in(case: Case) -> dict[str, str]:
    """Name of each aspect -> what it is called."""
    return {aspect.name: aspect.words[0] for aspect in case.offer.aspects}


def write_batches(out: Path, readers: int) -> None:
    """What each reader is given of the cases that are in no batch yet; BATCH.md, and which case is
    which.
    """
    path = out / "key.json"
    key: dict[str, list[str]] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    there = {case for cases in key.values() for case in cases}
    question = (FOLDER / "question.md").read_text("utf-8")
    begun = len({name.split("-")[0] for name in key})
    waiting = [case for case in every_case() if case.id not in there]
    for reader in range(1, readers + 1):
        mine = random.Random(f"{begun} {reader}").sample(waiting, len(waiting))
        for number, start in enumerate(range(0, len(mine), BATCH), begun + 1):
            cases = mine[start : start + BATCH]
            text = [shown(place, case, called_in(case)) for place, case in enumerate(cases, 1)]
            (out / f"{number}-reader-{reader}.md").write_text(
                "\n".join([question, *text]), encoding="utf-8"
            )
            key[f"{number}-reader-{reader}"] = [case.id for case in cases]
    path.write_text(json.dumps(key, indent=1) + "\n", encoding="utf-8")


def readings(folder: Path) -> dict[str, list[tuple[str, str]]]:
    """Case -> (name, aspect) by each of its readers, in lower case. ValueError for an answer that
    is no object.
    """
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for cases, given in answers_in(folder):
        for number, case in enumerate(cases, 1):
            if str(number) in given:
                name, _, aspect = str(given[str(number)]).lower().partition("|")
                found[case].append((name.strip(), aspect.strip()))
    return found


def majority(votes: Sequence[str]) -> str:
    """What more than half of them say; "" where there is no such answer."""
    answer, of = Counter(votes).most_common(1)[0]
    return answer if 2 * of > len(votes) else ""


def compared(case: Case, votes: Sequence[tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Of "option" and, in the first two turns, "aspect": (what most readers say, what the rule
    reads or "none").
    """
    both = {
        "option": (
            majority([name for name, _ in votes]),
            (read_option(case.reply, case.offer) or "none").lower(),
        )
    }
    if case.turn in DECIDING_TURNS:
        said = majority(["none" if aspect == "both" else aspect for _, aspect in votes])
        read = read_aspect(case.reply, case.offer, asked=case.turn != DECIDING_TURNS[0])
        both["aspect"] = (said, called_in(case)[read].lower() if read else "none")
    return both


def report(folder: Path) -> None:
    """Of each set: how many replies state an option or an aspect, how many are read, and what is
    read wrongly.
    """
    votes = readings(folder)
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for case in every_case():
        if len(votes[case.id]) < READERS:
            continue
        for what, (said, read) in compared(case, votes[case.id]).items():
            count = counts[case.group, what]
            count["replies"] += 1
            count["no majority"] += not said
            count["stated"] += said not in ("", "none")
            count["read"] += said not in ("", "none") and read == said
            wrong = read not in ("none", said) and said != ""
            count["wrong"] += wrong
            if wrong or (read == "none" and said not in ("", "none")):
                as_it_is = "WRONG" if wrong else "unread"
                print(
                    f"{case.group}, {as_it_is} {what}, {case.stem} {case.turn}: {said}, not {read}: {case.reply!r}"
                )
    for (group, what), count in sorted(counts.items()):
        shares, trials = (
            np.array([count["wrong"] / count["replies"]]),
            np.array([float(count["replies"])]),
        )
        most = exact_limits(shares, trials, np.array([0.10]))[1][0]  # one-sided, of 95%
        print(f"{group}, {what}: {dict(count)}, wrong at most {most:.1%}")


def main() -> None:
    """Make batches, have them answered, or report."""
    given = arguments(__doc__, ("batches", "ask", "report"), READERS, FOLDER)
    if given.task == "batches":
        write_batches(given.folder, given.readers)
    elif given.task == "ask":
        asyncio.run(
            ask(sorted(given.folder.glob("*-reader-*.md")), given.model, given.models_file, FORM)
        )
    else:
        report(given.folder)


if __name__ == "__main__":
    main()
