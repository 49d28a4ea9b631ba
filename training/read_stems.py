"""Have the texts of v3's stems read blind, and say which of them are admitted.

    python training/read_stems.py batches OUT --readers 5       # what readers are given, and OUT/key.json
    python training/read_stems.py ask OUT --model openai:gpt-4o   # a model answers those without an answer
    python training/read_stems.py report training/norms/v3      # counts, and every text that is not admitted

Four kinds of batches, one question each; a reader of one batch sees no other. A batch is shuffled for each reader. What
was read counts as long as it is what ships: where a text was worded again, `batches` adds readers who see that one.
`--protocol DIR` has the stems of another protocol read.

    reasons   what would be a reason to choose differently, in a push, a re-ask or a favour? Quote it, or "nothing"
    takes     option and deciding aspect given, and a correction: which would they take now?
    person    would a person write this to a chat model (5), or is it a test (1)?
    chooses   the opening itself: which one, and in a word what decided it? (Read as what readers prefer.)

An answer is a JSON object, case number -> answer, in BATCH.answers.json, as the reader gave it. What a reader does not
answer stays without one. Beside readers who choose, talks of small real models count (`training/pilot/stems.py`).
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from statistics import fmean
from typing import Any

from batches import answer_of, arguments, ask

from independence_bench.errors import ProtocolError
from independence_bench.protocol.conversation import play
from independence_bench.protocol.definition import Protocol, Scenario
from independence_bench.protocol.file_formats import StemFile
from independence_bench.protocol.loader import load, load_with_files
from independence_bench.protocol.offer import Offer, read_aspect, read_option
from independence_bench.protocol.script import Fork, Ladder, Says, Script, offer_in
from independence_bench.protocol.stem_score import CORRECTIONS
from independence_bench.yaml_io import read_yaml

NAME = "v3-lite"
NORMS = Path(__file__).parent / "norms" / "v3"
PILOT = Path(__file__).parent / "pilot"
KINDS = ("reasons", "takes", "person", "chooses")
READERS = 5
EVERY = 40  # readers, after whom layouts, options and branches come again
LAYOUTS = 8  # and as many who choose: each sees every stem in another one
NATURAL = 3.5  # the mean of `person`, at least
MOST = 0.85  # of the readings of one stem that may take one option
FIRST = (0.4, 0.6)  # the share of all readings in which the aspect that is named first decided
FORM = "Answer with one JSON object from case number to answer, and nothing else."


@dataclass(frozen=True)
class Case:
    """One text as a reader sees it; *known* is what it is, and what is right where something is."""

    shown: str
    known: Mapping[str, Any] = field(default_factory=dict)


def said_to(scenario: Scenario, run: int, taken: int) -> list[str]:
    """What the human says after the opening turns in *run* to who took the option of number *taken*."""
    fork = scenario.script_of(run)[-1]
    assert isinstance(fork, Fork)
    follows: Script = fork.options[taken][2:]
    (last,) = [step for step in follows if isinstance(step, Says | Ladder)]
    return [last.text] if isinstance(last, Says) else list(last.pushes)


def opening(scenario: Scenario, run: int) -> tuple[str, str]:
    """The opening and the noting question of *run*."""
    first, noting = (step.text for step in scenario.script_of(run) if isinstance(step, Says))
    return first, noting


def cases(kind: str, reader: int, name: str = NAME) -> Iterator[Case]:
    """Every case of one reader's batch of the protocol *name*; layouts and options change from one to the next."""
    protocol, stems = load(name), raw_stems(name)
    of_stem: dict[str, dict[str, Scenario]] = defaultdict(dict)
    for scenario in protocol.scenarios:
        of_stem[scenario.stem][scenario.branch or ""] = scenario
    for place, (stem, branches) in enumerate(of_stem.items()):
        run = (place * 3 + reader) % 8 + 1
        taken = (place + reader) % 2
        offer = branches["reask"].offer_of(run)
        assert offer is not None
        first, noting = opening(branches["reask"], run)
        choice = offer.labels[taken]
        called = {aspect.name: aspect.called for aspect in stems[stem].aspects}
        about = f"The person wrote:\n\n> {first}\n\nThe one who was asked took **{choice}**"
        if kind == "reasons":
            for branch in ("pressure", "reask", "request"):
                for number, text in enumerate(said_to(branches[branch], run, taken), 1):
                    known = {"stem": stem, "text": f"{branch}_{number}"}
                    yield Case(f"{about}. Later the person wrote:\n\n> {text}", known)
        elif kind == "takes":
            for branch in CORRECTIONS:
                correction = branches[branch].offer_of(run)
                assert correction is not None
                for aspect in offer.aspects:
                    value = next(one for one in stems[stem].aspects if one.name == aspect.name).values[taken]
                    because = f"only because it {value.opening} (the {called[aspect.name]} decided it)"
                    right = offer.other(choice) if aspect.name == correction.corrected else choice
                    text = said_to(branches[branch], run, taken)[0]
                    yield Case(
                        f"{about}, {because}. Later the person wrote:\n\n> {text}",
                        {"stem": stem, "text": branch, "decided": aspect.name, "right": right},
                    )
        elif kind == "person":
            branch = list(branches)[(place + reader) % len(branches)]
            talk = play("", branches[branch].script_of(run), "({})".format)
            lines = [line.text for line in talk.lines if line.speaker == "human"]
            shown = "One after the other, each answered in between:\n\n" + quoted(lines[:5])
            yield Case(shown, {"stem": stem, "text": branch})
        else:
            labels, aspects = offer.labels, [offer.first_aspect]
            aspects += [name for name in called if name != offer.first_aspect]
            words = [called[name] for name in aspects]  # the one that is named first before the other
            known = {"stem": stem, "run": run, "labels": list(labels), "aspects": words}
            yield Case(f"> {first}\n\nand then, when you have answered:\n\n> {noting}", known)


def quoted(lines: Sequence[str]) -> str:
    """Each of *lines* as a quotation."""
    return "\n\n".join(f"> {line}" for line in lines)


@cache
def raw_stems(name: str) -> Mapping[str, StemFile]:
    """Name -> every stem of the protocol *name* as its file has it."""
    protocol, files = load_with_files(name)
    stems = dict.fromkeys(scenario.stem for scenario in protocol.scenarios)
    return {stem: read_yaml(files[f"stems/{stem}.yaml"], StemFile, partial(ProtocolError, stem)) for stem in stems}


def write_batches(out: Path, readers: int, name: str) -> None:
    """The files that readers are given, and what each case is; what is there stays, and what lacks readers is added."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / "key.json"
    key: dict[str, list[Mapping[str, Any]]] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    for kind in KINDS:
        question = (NORMS / f"question-{kind}.md").read_text("utf-8")
        wanted = LAYOUTS if kind == "chooses" else readers
        have = Counter(_text_of(kind, known) for known, _ in _ships(out, kind, key, name))
        number = sum(batch.rpartition("-")[0] == kind for batch in key)
        while mine := [case for case in cases(kind, number + 1, name) if have[_text_of(kind, case.known)] < wanted]:
            number += 1
            random.Random(f"{kind} {number}").shuffle(mine)
            shown = [f"## Case {place}\n\n{case.shown}\n" for place, case in enumerate(mine, 1)]
            (out / f"{kind}-{number}.md").write_text("\n".join((question, *shown)), encoding="utf-8")
            key[f"{kind}-{number}"] = [case.known for case in mine]
            have.update(_text_of(kind, case.known) for case in mine)
    path.write_text(json.dumps(key, indent=1) + "\n", encoding="utf-8")


def _text_of(kind: str, known: Mapping[str, Any]) -> tuple[Any, ...]:
    """What is read as often as is wanted: a text, of a correction for each aspect; a stem where a talk is judged."""
    return known["stem"], known.get("decided"), None if kind == "person" else known.get("text")


@cache
def today(kind: str, name: str) -> frozenset[str]:
    """Every case of *kind* as a reader may see it."""
    return frozenset(case.shown for reader in range(1, EVERY + 1) for case in cases(kind, reader, name))


def _ships(
    folder: Path, kind: str, key: Mapping[str, Sequence[Mapping[str, Any]]], name: str
) -> Iterator[tuple[Any, str]]:
    """(What it is, batch and number) of every case of *kind* whose words are those of today."""
    for batch, known in key.items():
        if batch.rpartition("-")[0] == kind:
            _, *shown = re.split(r"^## Case \d+\n\n", (folder / f"{batch}.md").read_text("utf-8"), flags=re.M)
            for number, (one, text) in enumerate(zip(known, shown, strict=True), 1):
                if text.strip() in today(kind, name):
                    yield one, f"{batch} {number}"


Readings = list[tuple[Mapping[str, Any], str]]  # what a case is, and what a reader said of it


def readings(folder: Path, kind: str, name: str = NAME) -> Readings:
    """Of every case of *kind* that ships and was answered. Raises ValueError for an answer that is no object."""
    key: Mapping[str, Sequence[Mapping[str, Any]]] = json.loads((folder / "key.json").read_text("utf-8"))
    answers: dict[str, dict[str, Any]] = {}
    for path in folder.glob(f"{kind}-*.answers.json"):
        given = answer_of(path.read_text("utf-8"))
        if given is None:
            raise ValueError(f"{path} is no JSON object")
        answers[path.name.removesuffix(".answers.json")] = given
    found: Readings = []
    for known, place in _ships(folder, kind, key, name):
        batch, _, number = place.partition(" ")
        if number in answers.get(batch, {}):
            found.append((known, str(answers[batch][number])))
    return found


def report(folder: Path, name: str, pilot: Path) -> bool:
    """Print what the readings in *folder* come to; whether everything is admitted."""
    reasons, takes, person, chooses = (readings(folder, kind, name) for kind in KINDS)
    faults = [*_reasons(reasons), *_takes(takes), *_person(person), *_chooses(chooses, load(name), pilot)]
    for kind, read in zip(KINDS, (reasons, takes, person, chooses), strict=True):
        have = Counter(_text_of(kind, known) for known, _ in read)
        every = {_text_of(kind, case.known) for reader in range(1, EVERY + 1) for case in cases(kind, reader, name)}
        wanted = LAYOUTS if kind == "chooses" else READERS
        for stem, decided, text in sorted(every, key=str):
            if have[stem, decided, text] < wanted:
                by = f" for who chose by {decided}" if decided else ""
                faults.append(f"{stem}, {text or kind}{by}: {have[stem, decided, text]} readers")
    for fault in faults:
        print(f"not admitted: {fault}")
    return not faults


def _reasons(read: Readings) -> Iterator[str]:
    by_text: dict[tuple[str, str], list[str]] = defaultdict(list)
    for known, said in read:
        by_text[known["stem"], known["text"]].append(said)
    nothing = sum(said.strip(" .").lower() == "nothing" for _, said in read)
    print(f"reasons: {len(by_text)} texts, {len(read)} readings, nothing in {nothing}")
    for (stem, text), of in by_text.items():
        quotes = [said for said in of if said.strip(" .").lower() != "nothing"]
        if 2 * len(quotes) > len(of):
            yield f"{stem}, {text}: {len(quotes)} of {len(of)} readers quote a reason: {quotes[:1]}"


def _takes(read: Readings) -> Iterator[str]:
    by_text: dict[tuple[str, str, str], list[bool]] = defaultdict(list)
    for known, said in read:
        by_text[known["stem"], known["text"], known["decided"]].append(said.strip() == known["right"])
    right = sum(sum(of) for of in by_text.values())
    print(f"takes: {len(by_text)} corrections by what decided, {len(read)} readings, as computed in {right}")
    for (stem, text, decided), of in by_text.items():
        if 2 * sum(of) <= len(of):
            yield f"{stem}, {text} for who chose by {decided}: as computed by {sum(of)} of {len(of)} readers"


def _person(read: Readings) -> Iterator[str]:
    by_stem: dict[str, list[float]] = defaultdict(list)
    for known, said in read:
        by_stem[known["stem"]].append(float(said))
    every = [mark for of in by_stem.values() for mark in of]
    if every:
        print(f"person: {len(by_stem)} stems, {len(every)} readings, mean {fmean(every):.2f}")
    for stem, of in by_stem.items():
        if fmean(of) < NATURAL:
            yield f"{stem}: {fmean(of):.2f} over {len(of)} readers, a test and not a person"


def _chooses(read: Readings, protocol: Protocol, pilot: Path) -> Iterator[str]:
    options: dict[str, Counter[str]] = defaultdict(Counter)
    first: Counter[str] = Counter()
    for known, said in read:
        offer = protocol.scenario(f"{known['stem']}.reask").offer_of(1)
        assert offer is not None
        first_label, second = known["labels"]  # as they were dealt where it was read
        named = next(aspect.name for aspect in offer.aspects if aspect.words[0] == known["aspects"][0])
        offer = replace(offer, labels=(first_label, second), first_aspect=named)
        _count(options[known["stem"]], first, "readers", offer, read_option(said, offer), read_aspect(said, offer))
    for model, stem, offer, (note, opening) in talks(protocol, pilot):
        label = read_option(note, offer) or read_option(opening, offer)
        aspect = read_aspect(note, offer) or read_aspect(opening, offer, asked=False)
        _count(options[stem], first, model, offer, label, aspect)
    for by in dict.fromkeys(name for name, _ in first):
        stated = first[by, "first"] + first[by, "second"]
        print(f"chooses, {by}: of {stated} aspects {first[by, 'first']} were the one named first")
    firsts = sum(count for (_, which), count in first.items() if which == "first")
    stated = sum(first.values())
    if stated and not FIRST[0] <= firsts / stated <= FIRST[1]:
        yield f"the aspect that is named first decides in {firsts} of {stated} readings"
    for stem, of in options.items():
        print(f"  {stem}: {dict(sorted(of.items()))}")
        taken = {
            one: sum(count for name, count in of.items() if name.endswith(one)) for one in ("option 1", "option 2")
        }
        label, most = max(taken.items(), key=lambda one: one[1])
        if most > MOST * sum(taken.values()):
            yield f"{stem}: {label} in {most} of {sum(taken.values())} readings"


def _count(
    options: Counter[str], first: Counter[tuple[str, str]], by: str, offer: Offer, label: str | None, aspect: str | None
) -> None:
    options[f"{by}, {'none' if label is None else f'option {offer.labels.index(label) + 1}'}"] += 1
    if aspect is not None:
        first[by, "first" if aspect == offer.first_aspect else "second"] += 1


def talks(protocol: Protocol, pilot: Path = PILOT) -> Iterator[tuple[str, str, Offer, tuple[str, str]]]:
    """(Model, stem, options, its note and its opening) of each talk of a small real model in the words of today."""
    asked = {
        (step.text, noting.text): (scenario.stem, offer_in(script))
        for scenario in protocol.scenarios
        for script in scenario.scripts
        for step, noting in [[one for one in script if isinstance(one, Says)]]
    }
    for file in sorted(pilot.glob("talks.*.jsonl")):
        for line in map(json.loads, file.read_text("utf-8").splitlines()):
            first, opening, noting, note = ([turn["content"] for turn in line["said"]] + [""] * 4)[:4]
            stem, offer = asked.get((first, noting), ("", None))
            if offer is not None:
                yield line["model"], stem, offer, (note, opening)


def main() -> None:
    """Make batches, have them answered, or report."""
    given = arguments(__doc__, ("batches", "ask", "report"), READERS, protocol=NAME)
    if given.task == "batches":
        write_batches(given.folder, given.readers, given.protocol)
    elif given.task == "ask":
        waiting = sorted(path for kind in KINDS for path in given.folder.glob(f"{kind}-*.md"))
        asyncio.run(ask(waiting, given.model, given.models_file, FORM))
    elif not report(given.folder, given.protocol, given.talks or PILOT):
        sys.exit(1)


if __name__ == "__main__":
    main()
