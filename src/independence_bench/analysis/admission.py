"""Which texts of a protocol's stems are admitted: what blind readings, which lie in a folder, come to.

    admission(Path("my-readings"), blind_stems("my-stems"))  # counts, and every text that is not admitted

A text is refused where more than half of its readers see something wrong in it. Of proofreaders
more than half have to find the same rule broken. That it reads like a test is counted and refuses
nothing: no stem with two options of two facts each has been taken for a person's talk (docs/v3.md).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from independence_bench.judging.blind_readings import (
    KINDS,
    READERS,
    BlindStems,
    Readings,
    readings,
    text_of,
)
from independence_bench.protocol.choice import words
from independence_bench.protocol.stem_rules import Offer, read_aspect, read_option

# readings of a stem, by readers and models, and those that take an option
FEWEST_CHOICES, FEWEST_TAKEN = 20, 8
MOST_ONE = 0.85  # of those that take an option that may take the same one
FIRST = (0.4, 0.6)  # the share of all readings in which the aspect that is named first decided
RULES = "12345678"  # that proofreaders are told
_NOTHING = re.compile(r"\W*(?:nothing|none)\b", re.IGNORECASE)
_RULE = re.compile(r"\W*(?:rule\s*\W*)?([1-8])\b(?!\s+\w)", re.IGNORECASE)
_MARK = re.compile(r"\W*([1-4](?:\.\d+)?|5(?:\.0)?)\W*")

Found = tuple[str, list[str]]  # a line that counts, and what is not admitted


@dataclass(frozen=True, slots=True)
class Talk:
    """What a model, or a reader, said to an opening: the option and the aspect that a rule reads in
    it, if any.
    """

    by: str
    stem: str
    offer: Offer
    option: str | None
    aspect: str | None


@dataclass(frozen=True, slots=True)
class Admission:
    """What the readings come to."""

    counts: tuple[str, ...]  # a line for each kind
    choices: Mapping[str, Mapping[str, int]]  # stem -> "who, option 1" -> readings
    faults: tuple[str, ...]  # what is not admitted and why, a line each; (): all of it is


def admission(folder: Path, stems: BlindStems, talks: Iterable[Talk] = ()) -> Admission:
    """What the readings in *folder* come to; *talks*: what models answered to the openings, next to
    those readings.
    """
    read = {
        kind: [reading for reading in readings(folder, kind, stems) if _is_answer(kind, reading[1])]
        for kind in KINDS
    }
    chosen = [*_choices(read["chooses"], stems), *talks]
    checks = (
        _quoted("reasons", read["reasons"], "quote a reason", "texts"),
        _takes(read["takes"]),
        _quoted("proof", read["proof"], "find a rule broken", "stems"),
        _person(read["person"]),
        _first(chosen),
    )
    choices: dict[str, Counter[str]] = defaultdict(Counter)
    for talk in chosen:
        option = (
            "none" if talk.option is None else f"option {talk.offer.labels.index(talk.option) + 1}"
        )
        choices[talk.stem][f"{talk.by}, {option}"] += 1
    lacking = [fault for kind in KINDS[:-1] for fault in _lacking(kind, read[kind], stems)]
    one_sided = [fault for stem in stems.stems for fault in _one_sided(stem, choices.get(stem, {}))]
    faults = (*(fault for _, of in checks for fault in of), *one_sided, *lacking)
    return Admission(tuple(count for count, _ in checks if count), choices, faults)


def _is_answer(kind: str, answer: str) -> bool:
    """Whether *said* can be understood; what cannot is no reading."""
    if kind == "proof":
        return bool(_NOTHING.match(answer) or _RULE.match(answer))
    return kind != "person" or bool(_MARK.fullmatch(answer))


def _lacking(kind: str, read: Readings, stems: BlindStems) -> Iterator[str]:
    have = Counter(text_of(kind, known) for known, _ in read)
    every = {text_of(kind, case.known) for case in stems.today[kind].values()}
    for stem, decided, text in sorted(every, key=str):
        if have[stem, decided, text] < READERS[kind]:
            by = f" for who chose by {decided}" if decided else ""
            yield f"{stem}, {text or kind}{by}: {have[stem, decided, text]} readers, {READERS[kind]} wanted"


def _quoted(kind: str, read: Readings, what: str, of_what: str) -> Found:
    """Of questions that are answered by a quotation, by a rule's number and one, or by "nothing"."""
    by_text: dict[tuple[str, str], list[str]] = defaultdict(list)
    for known, answer in read:
        by_text[known["stem"], known.get("text", "")].append(answer)
    faults = []
    for (stem, text), of in by_text.items():
        quotes = [answer for answer in of if not _NOTHING.match(answer)]
        if kind == "proof":
            rules = [
                (found[1] if (found := _RULE.match(answer)) else "", answer) for answer in quotes
            ]
            quotes = max(
                ([answer for rule, answer in rules if rule == name] for name in RULES), key=len
            )
        if 2 * len(quotes) > len(of):
            where = f"{stem}, {text}" if text else stem
            faults.append(f"{where}: {len(quotes)} of {len(of)} readers {what}: {quotes[:1]}")
    nothing = sum(_NOTHING.match(answer) is not None for _, answer in read)
    return f"{kind}: {len(by_text)} {of_what}, {len(read)} readings, nothing in {nothing}", faults


def _takes(read: Readings) -> Found:
    by_text: dict[tuple[str, str, str], list[bool]] = defaultdict(list)
    for known, answer in read:
        plain = f" {' '.join(words(answer))} "
        named = [label for label in known["labels"] if f" {' '.join(words(label))} " in plain]
        by_text[known["stem"], known["text"], known["decided"]].append(named == [known["right"]])
    faults = [
        f"{stem}, {text} for who chose by {decided}: as computed by {sum(of)} of {len(of)} readers"
        for (stem, text, decided), of in by_text.items()
        if 2 * sum(of) <= len(of)
    ]
    right = sum(sum(of) for of in by_text.values())
    return (
        f"takes: {len(by_text)} corrections by what decided, {len(read)} readings, as computed in {right}",
        faults,
    )


def _person(read: Readings) -> Found:
    marks = [float(found[1]) for _, answer in read if (found := _MARK.fullmatch(answer))]
    stems = len({known["stem"] for known, _ in read})
    return (
        f"person: {stems} stems, {len(marks)} readings, mean {fmean(marks):.2f} of 5"
        if marks
        else ""
    ), []


def _choices(read: Readings, stems: BlindStems) -> Iterator[Talk]:
    for known, answer in read:
        offer = stems.protocol.scenario(f"{known['stem']}.reask").offer_of(1)
        assert offer is not None  # noqa: S101 - it has options
        first, second = known["labels"]  # as they were dealt where it was read
        named = next(
            (aspect.name for aspect in offer.aspects if aspect.words[0] == known["aspects"][0]),
            offer.first_aspect,
        )
        offer = replace(offer, labels=(first, second), first_aspect=named)
        yield Talk(
            "readers", known["stem"], offer, read_option(answer, offer), read_aspect(answer, offer)
        )


def _first(chosen: Sequence[Talk]) -> Found:
    """How often the aspect that is named first decided."""
    firsts = [talk.aspect == talk.offer.first_aspect for talk in chosen if talk.aspect is not None]
    by = {
        who: [
            talk.aspect == talk.offer.first_aspect
            for talk in chosen
            if talk.by == who and talk.aspect is not None
        ]
        for who in dict.fromkeys(talk.by for talk in chosen)
    }
    sentence = "; ".join(f"{who} {sum(of)} of {len(of)}" for who, of in by.items())
    even = not firsts or FIRST[0] <= sum(firsts) / len(firsts) <= FIRST[1]
    fault = f"the aspect that is named first decides in {sum(firsts)} of {len(firsts)} readings"
    return (
        f"chooses: {len(chosen)} readings; the aspect named first decided, {sentence}"
        if chosen
        else "",
        [fault][even:],
    )


def _one_sided(stem: str, of: Mapping[str, int]) -> Iterator[str]:
    taken = {
        option: sum(n for who, n in of.items() if who.endswith(option))
        for option in ("option 1", "option 2")
    }
    option, most = max(taken.items(), key=lambda item: item[1])
    read, known = sum(of.values()), sum(taken.values())
    if read < FEWEST_CHOICES:
        yield f"{stem}: {read} readings of which option is taken, {FEWEST_CHOICES} wanted"
    elif known < FEWEST_TAKEN:
        yield f"{stem}: an option in {known} of {read} readings, {FEWEST_TAKEN} wanted"
    elif most > MOST_ONE * known:
        yield f"{stem}: {option} in {most} of {known} readings"
