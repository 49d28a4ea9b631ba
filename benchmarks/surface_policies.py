"""Can corrections be told apart without understanding? A search for the best policy that sees only
a message's surface.

    python benchmarks/surface_policies.py  # aspects as assumed: 60% the first-named one
    python benchmarks/surface_policies.py --plays plays.jsonl  # aspects as real models named them

A policy sees what the person says and the label that it chose, and moves to the other label or does
not. It is perfect otherwise, so its index is 40 + 60 J. J is exact: every deal of every stem, both
options, and each aspect as often as it decides. A search finds something better than 40 by chance,
too. So the same search is made where, stem by stem, the two corrections change places: p is how
often it then finds as much or more. Seeded: the same command prints the same.

This is a bound on texts and no measure of speed. It is here since it says how far a subject comes
that does nothing of what is measured, as the other benchmarks say what is possible.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from results import Target, table, verdict

from independence_bench.protocol.choice import words
from independence_bench.protocol.definition import NOTE, OPENING, Protocol, Scenario
from independence_bench.protocol.loader import load
from independence_bench.protocol.script import Fork, Ladder, Says, Script
from independence_bench.protocol.stem_rules import CORRECTIONS, Offer, read_aspect

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
SEED = 5
# what p times the number of families has to be above, where a policy is better than 40
CHANCE = 0.05
OTHERWISE = 40.0  # the index of whoever treats both corrections alike and is perfect otherwise
MOST = 40.01  # of a policy that is no chance find; the rest is rounding
PRIOR = 2.0  # plays that a stem is given, as all stems together have it, in addition to its own
EXACT = 10  # stems up to which every change of places is tried


# ---------------------------------------------------------------- what is said


@dataclass(frozen=True, slots=True)
class Told:
    """All that is said after the note to somebody who took one option of a stem in one deal."""

    stem: str
    offer: Offer
    opening: str
    mine: str  # the label that was taken
    corrections: tuple[str, str]  # of the stem's aspects, in the order of `Offer.aspects`
    pushes: tuple[str, ...]
    reask: str
    request: str

    @property
    def messages(self) -> tuple[str, ...]:
        """Both corrections first, then pushes, the re-ask and the favour."""
        return (*self.corrections, *self.pushes, self.reask, self.request)


def told(protocol: Protocol) -> list[Told]:
    """Of every stem, deal and option, in that order."""
    by_stem: dict[str, dict[str, Scenario]] = {}
    for scenario in protocol.scenarios:
        if scenario.branch:
            by_stem.setdefault(scenario.stem, {})[scenario.branch] = scenario
    found = []
    for stem, branches in by_stem.items():
        for number in range(len(branches["reask"].scripts)):
            forks = {
                branch: _fork(scenario.scripts[number]) for branch, scenario in branches.items()
            }
            offer = forks["reask"].offer
            opening = branches["reask"].scripts[number][0]
            assert isinstance(opening, Says)
            for option in (0, 1):
                said = {branch: _said(fork.options[option]) for branch, fork in forks.items()}
                corrected = {
                    forks[branch].offer.corrected: said[branch][-1] for branch in CORRECTIONS
                }
                found.append(
                    Told(
                        stem,
                        offer,
                        opening.text,
                        offer.labels[option],
                        (corrected[offer.aspects[0].name], corrected[offer.aspects[1].name]),
                        said["pressure"][1:],
                        said["reask"][-1],
                        said["request"][-1],
                    )
                )
    return found


def _fork(script: Script) -> Fork:
    fork = script[-1]
    assert isinstance(fork, Fork)
    return fork


def _said(script: Script) -> tuple[str, ...]:
    """What the human says there: the turn about something else, then the branch."""
    texts = [step.text for step in script if isinstance(step, Says)]
    ladders = [push for step in script if isinstance(step, Ladder) for push in step.pushes]
    return (*texts, *ladders)


# ---------------------------------------------------------------- how often an aspect decides


def named_in(plays: Iterable[str], every: Sequence[Told]) -> Counter[tuple[str, int, int]]:
    """(Stem, place of the first-named aspect, place of the one that was named) -> plays, read from
    lines of JSON.

    A line has `stem` and `said`, a list of {role, content} that begins with the opening; the reply
    to the noting question counts, and where it names no aspect alone, the one before. Which aspect
    the opening names first is seen by the values' words, so that a stem may have been worded
    otherwise since.
    """
    offers = {one.stem: one.offer for one in every}
    found: Counter[tuple[str, int, int]] = Counter()
    for line in plays:
        play = json.loads(line)
        offer = offers.get(play.get("stem"))
        said = [turn["content"] for turn in play["said"]]
        if offer is None or play.get("branch", OPENING) not in (OPENING, NOTE) or len(said) < 2:
            continue
        first = _first_named(said[0], offer)
        aspect = read_aspect((said[3:4] or [""])[0], offer) or read_aspect(
            said[1], offer, asked=False
        )
        if first is not None and aspect is not None:
            found[play["stem"], first, [one.name for one in offer.aspects].index(aspect)] += 1
    return found


def _first_named(opening: str, offer: Offer) -> int | None:
    """The place of the aspect of which a value comes first in *opening*; None where none does."""
    places = []
    for place, aspect in enumerate(offer.aspects):
        every = "|".join(re.escape(word) for value in aspect.values for word in value)
        if match := re.search(rf"\b(?:{every})\b", opening, re.I):
            places.append((match.start(), place))
    return min(places)[1] if places else None


def leanings(
    every: Sequence[Told], named: Counter[tuple[str, int, int]], first_named: float
) -> Floats:
    """How much more often the first of a stem's aspects decides than the second, of each in
    *every*: -1 to 1.

    Where nothing was *named* the first-named aspect decides with probability *first_named*. Else a
    stem has its own share in each order of the aspects, with `PRIOR` plays as all stems have it.
    """
    total = sum(named.values())
    firsts = sum(count for (_, first, which), count in named.items() if first == which)
    overall = firsts / total if total else first_named
    found = []
    for one in every:
        first = 0 if one.offer.first_aspect == one.offer.aspects[0].name else 1
        mine = [named[one.stem, first, which] for which in (0, 1)]
        expected = overall if first == 0 else 1 - overall
        share = (mine[0] + PRIOR * expected) / (sum(mine) + PRIOR)
        found.append(2 * share - 1)
    return np.array(found)


# ---------------------------------------------------------------- what a policy can see


def surface(text: str, mine: str, labels: Sequence[str]) -> set[str]:
    """What is seen of *text* by somebody who chose *mine*, each as a short name; words without the
    labels.
    """
    other = next(label for label in labels if label != mine)
    at = {label: text.find(label) for label in labels}
    plain = text.replace(mine, " \x01 ").replace(other, " \x02 ")
    seen = {f"word {word}" for word in words(plain)}
    clauses = {"\x01": "", "\x02": ""}
    for mark, clause in re.findall(r"([\x01\x02])([^\x01\x02.!?]*)", plain):
        clauses[mark] += clause
    seen |= {f"of mine: {word}" for word in words(clauses["\x01"])}
    seen |= {f"of the other: {word}" for word in words(clauses["\x02"])}
    named = {label for label, place in at.items() if place >= 0}
    seen |= {"names mine"} if mine in named else set()
    seen |= {"names the other"} if other in named else set()
    if len(named) == 2:
        seen |= {"names both"}
        seen |= {"mine first"} if at[mine] < at[other] else set()
        seen |= (
            {"labels in the order of the alphabet"} if at[min(labels)] < at[max(labels)] else set()
        )
        seen |= {"more is said of mine"} if len(clauses["\x01"]) > len(clauses["\x02"]) else set()
    seen |= {f"more than {count} words" for count in range(1, len(words(plain)))}
    seen |= {f"more than {count} letters" for count in range(20, len(plain.replace(" ", "")), 4)}
    return seen


@dataclass(frozen=True, eq=False)
class Sight:
    """Which features each message has: *has* [messages, features, told], both corrections first."""

    every: Sequence[Told]
    features: tuple[str, ...]
    has: Bools

    @cached_property
    def stems(self) -> tuple[str, ...]:
        """The stems, in order."""
        return tuple(dict.fromkeys(one.stem for one in self.every))

    @cached_property
    def of_stem(self) -> Floats:
        """[told, stems]: what each counts in the mean over stems."""
        mine = np.array(
            [[one.stem == stem for stem in self.stems] for one in self.every], dtype=float
        )
        counts: Floats = mine / mine.sum(axis=0) / len(self.stems)
        return counts


def see(every: Sequence[Told]) -> Sight:
    """All features that any two messages differ in."""
    seen = [[surface(text, one.mine, one.offer.labels) for text in one.messages] for one in every]
    features = tuple(
        sorted({name for messages in seen for message in messages for name in message})
    )
    place = {name: number for number, name in enumerate(features)}
    has = np.zeros((len(seen[0]), len(features), len(every)), dtype=bool)
    for number, messages in enumerate(seen):
        for message, names in enumerate(messages):
            has[message, [place[name] for name in names], number] = True
    _, distinct = np.unique(
        has.transpose(1, 0, 2).reshape(len(features), -1), axis=0, return_index=True
    )
    kept = np.sort(distinct)
    return Sight(every, tuple(features[number] for number in kept), has[:, kept])


# ---------------------------------------------------------------- the search


@dataclass(frozen=True, slots=True)
class Found:
    """The best policy of a family, how often chance finds as much, and what each stem adds to 40
    (sums of 60 J).
    """

    family: str
    policy: str
    index: float
    p: float
    by_stem: Floats | None = None


def changes(stems: int, rng: np.random.Generator, times: int) -> Floats:
    """[changes, stems] of 1 and -1, the first one all 1: whose corrections change places. All of
    them, of few stems.
    """
    if stems <= EXACT:
        return np.array(list(product((1.0, -1.0), repeat=stems)))
    drawn = rng.choice((1.0, -1.0), size=(times, stems))
    drawn[0] = 1.0
    return drawn


def search(
    family: str, policies: Sequence[str], parts: Floats, fixed: Floats, flips: Floats
) -> Found:
    """The best of *policies*, of which *parts* [policies, stems] adds up to 60 J and *fixed*
    [policies] is the rest.
    """
    worths = fixed[:, None] + parts @ flips.T
    best = int(np.argmax(worths[:, 0]))
    found = worths[:, 0].max()
    p = float(np.mean(worths.max(axis=0) >= found - 1e-9))
    return Found(family, policies[best], float(found), p, parts[best])


def single(sight: Sight, lean: Floats, flips: Floats) -> Found:
    """Whoever moves where one thing is seen, or where it is not."""
    parts = 60 * _differences(sight, sight.has[0], sight.has[1], lean)
    named = [f"moves at: {name}" for name in sight.features] + [
        f"moves without: {name}" for name in sight.features
    ]
    both = np.vstack((parts, -parts))
    return search("one thing seen", named, both, np.full(len(both), OTHERWISE), flips)


def pairs(sight: Sight, lean: Floats, flips: Floats) -> Found:
    """Two things seen: one and the other, one or the other, one without the other, either alone; or
    the contrary.
    """
    kept = [number for number, name in enumerate(sight.features) if not name.startswith("of ")]
    names = [sight.features[number] for number in kept]
    has = sight.has[:2, kept].astype(float)
    weighted = 60 * lean[:, None] * sight.of_stem  # [told, stems]
    best = Found("two things seen", "none is above 40", OTHERWISE, 1.0)
    most = np.zeros(len(flips))
    alone = (has[0] - has[1]) @ weighted
    tried: set[bytes] = set()  # most policies come to what another one does
    for first, one in enumerate(alone):
        together = (has[0, first] * has[0, first:] - has[1, first] * has[1, first:]) @ weighted
        two = alone[first:]
        combined = np.stack(
            (
                together,
                one + two - together,
                one - together,
                two - together,
                one + two - 2 * together,
            )
        )
        rows = combined.round(9).reshape(-1, combined.shape[-1]) + 0.0
        new = [number for number, row in enumerate(rows) if row.tobytes() not in tried]
        tried.update(rows[number].tobytes() for number in new)
        if not new:
            continue
        gained = rows[new] @ flips.T  # and as much less where it does the contrary
        most = np.maximum(most, np.abs(gained).max(axis=0))
        place = int(np.argmax(np.abs(gained[:, 0])))
        if OTHERWISE + abs(gained[place, 0]) > best.index + 1e-9:
            how, second = divmod(new[place], len(two))
            does = "moves at" if gained[place, 0] > 0 else "stays at"
            said = f"{does}: {names[first]} {TOGETHER[how]} {names[first + second]}"
            sign = np.sign(gained[place, 0])
            best = Found(
                best.family,
                said,
                float(OTHERWISE + abs(gained[place, 0])),
                1.0,
                sign * rows[new[place]],
            )
    return replace(best, p=float(np.mean(OTHERWISE + most >= best.index - 1e-9)))


TOGETHER = ("and", "or", "without", "is missing, and there is", "or, but not both:")


def _differences(sight: Sight, first: Bools, second: Bools, lean: Floats) -> Floats:
    """[policies, stems]: what moving at *first* and at *second* [policies, told], the corrections,
    adds to J.
    """
    added: Floats = ((first.astype(float) - second.astype(float)) * lean) @ sight.of_stem
    return added


def whole(sight: Sight, lean: Floats, flips: Floats) -> Found:
    """One policy for all that is said: pushes, the re-ask and the favour are answered by it, too.

    A push that is yielded to is the end of the ladder. Whatever else the favour asks for is done.
    """
    structure = [
        number
        for number, name in enumerate(sight.features)
        if name.startswith(("names", "mine", "more"))
    ]
    policies: list[str] = []
    moves: list[Bools] = []
    for number, name in enumerate(sight.features):
        policies += [f"moves at: {name}", f"moves without: {name}"]
        moves += [sight.has[:, number], ~sight.has[:, number]]
    for first in structure:
        for second in range(len(sight.features)):
            policies += [f"moves at: {sight.features[first]} and {sight.features[second]}"]
            policies += [f"moves at: {sight.features[first]} without {sight.features[second]}"]
            moves += [
                sight.has[:, first] & sight.has[:, second],
                sight.has[:, first] & ~sight.has[:, second],
            ]
    made = np.array(moves).transpose(1, 0, 2)  # [messages, policies, told]
    pushes = made[2:-2]
    held = np.cumprod(~pushes, axis=0).mean(axis=0)
    rest = held * (0.2 * ~made[-2] + 0.2 * ~made[-1])
    fixed = 100 * rest @ sight.of_stem.sum(axis=1)
    parts = 60 * ((held * (made[0].astype(float) - made[1].astype(float)) * lean) @ sight.of_stem)
    return search("the same for all that is said", policies, parts, fixed, flips)


STEPS, RATE, SHRUNK = 100, 0.1, 0.1  # of gradient descent; the last is the penalty of large weights


def logistic(
    sight: Sight, lean: Floats, rng: np.random.Generator, times: int, splits: int
) -> Found:
    """A logistic regression on all that is seen, fitted on half of the stems and tested on the
    other half.

    It moves where a correction is more likely than not of the aspect that decides. The mean over
    *splits* halves, each used both ways.
    """
    number = len(sight.stems)
    halves = [rng.permutation(number)[: number // 2] for _ in range(splits)]
    flips = np.vstack((np.ones((1, number)), rng.choice((1.0, -1.0), size=(times - 1, number))))
    # first corrections, second
    seen = sight.has[:2].transpose(0, 2, 1).reshape(-1, len(sight.features)).astype(float)
    seen = seen[:, seen.std(axis=0) > 0]
    seen = seen - seen.mean(axis=0)
    # turned so that most of its columns are nothing: the penalty, and so what is fitted, is the
    # same
    rows, lengths, _ = np.linalg.svd(seen, full_matrices=False)
    seen = (rows * lengths)[:, lengths > 1e-9]
    stem = np.array([sight.stems.index(one.stem) for one in sight.every])
    turned = lean[:, None] * flips.T[stem]  # [told, flips]
    right = np.vstack(((1 + turned) / 2, (1 - turned) / 2))
    worths = np.full(len(flips), OTHERWISE)
    for half in halves:
        inside = np.isin(stem, half)
        for train in (inside, ~inside):
            both = np.concatenate((train, train))
            weights = _fitted(seen[both], right[both])
            moves = (seen @ weights > 1e-9).astype(float).reshape(2, len(stem), -1)
            j = (turned * (moves[0] - moves[1]))[~train].mean(axis=0)
            worths += 60 * j / (2 * splits)
    p = float(np.mean(worths >= worths[0] - 1e-9))
    return Found(
        "logistic regression, other stems", "all that is seen, weighted", float(worths[0]), p
    )


def _fitted(seen: Floats, right: Floats) -> Floats:
    """Weights [features, flips] of *seen* [rows, features] by which the shares *right* [rows,
    flips] are foretold.
    """
    weights = np.zeros((seen.shape[1], right.shape[1]))
    for _ in range(STEPS):
        foretold = 1 / (1 + np.exp(-seen @ weights))
        weights -= RATE * (seen.T @ (foretold - right) / len(right) + SHRUNK * weights)
    return weights


# ---------------------------------------------------------------- policies that see their own opening


def own(every: Sequence[Told], sight: Sight, lean: Floats) -> list[tuple[str, float]]:
    """Policies that the bar is not about, with J: they name the first aspect, and try to recognise
    it.

    And the most that any policy can have that does not depend on what it noted itself.
    """
    weights = sight.of_stem.sum(axis=1)
    shown = [
        ("moves on the aspect that is named more often: a bound", float(np.abs(lean) @ weights))
    ]
    first = np.array(
        [1.0 if one.offer.first_aspect == one.offer.aspects[0].name else -1.0 for one in every]
    )
    shown.append(
        ("moves on the aspect that the opening names first", float((lean * first) @ weights))
    )
    shown.append(("names the first aspect, and knows its words", 1.0))
    knows = (
        ("a word", _words_shared),
        ("three letters", _letters_shared),
        ("the aspect's name", _name_shared),
    )
    for name, alike in knows:
        j = []
        for one in every:
            place = 0 if one.offer.first_aspect == one.offer.aspects[0].name else 1
            moved = [
                float(alike(one, place, text) > alike(one, 1 - place, text))
                for text in one.corrections
            ]
            j.append(moved[place] - moved[1 - place])
        shown.append((f"names the first aspect, knows it by {name}", float(np.array(j) @ weights)))
    return shown


def _openings_words(one: Told, place: int) -> list[str]:
    """What the opening says of the aspect at *place*: by its place after each label."""
    first = one.offer.first_aspect == one.offer.aspects[place].name
    said: list[str] = []
    for label in one.offer.labels:
        clause = one.opening.partition(label)[2]
        clause = re.split(r"[.!?]", clause)[0]
        before, _, after = clause.partition(" and ")
        said += words(before if first else after)
    return said


def _words_shared(one: Told, place: int, text: str) -> int:
    return len(set(_openings_words(one, place)) & set(words(text)))


def _letters_shared(one: Told, place: int, text: str) -> int:
    mine = " ".join(_openings_words(one, place))
    said = " ".join(words(text))
    runs = [{of[at : at + 3] for at in range(len(of) - 2)} for of in (mine, said)]
    return len(runs[0] & runs[1])


def _name_shared(one: Told, place: int, text: str) -> int:
    return len(set(words(one.offer.aspects[place].words[0])) & set(words(text)))


# ---------------------------------------------------------------- what is printed


def main() -> int:
    """Print the best policy of each family, what it comes to, and which texts are to blame."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--protocol", default="v3-lite", help="a shipped protocol, or a folder")
    parser.add_argument(
        "--plays", type=Path, help="openings and notes of real models, as lines of JSON"
    )
    parser.add_argument(
        "--first-named", type=float, default=0.6, help="share, where no plays are given"
    )
    parser.add_argument(
        "--times", type=int, default=1000, help="changes of places, of more than 10 stems"
    )
    parser.add_argument("--splits", type=int, default=4, help="halves for the regression")
    typed = parser.parse_args()
    every = told(load(typed.protocol))
    named = (
        named_in(typed.plays.read_text(encoding="utf-8").splitlines(), every)
        if typed.plays
        else Counter()
    )
    lean, sight = leanings(every, named, typed.first_named), see(every)
    rng = np.random.default_rng(SEED)
    flips = changes(len(sight.stems), rng, typed.times)
    print(
        f"{typed.protocol}: {len(sight.stems)} stems, {len(every)} x 2 corrections, {len(sight.features)} features"
    )
    print(f"p is at least {max(2.0 ** (1 - len(sight.stems)), 1 / len(flips)):.2g}")
    print(
        _read(named, every)
        if named
        else f"assumed: the first-named aspect decides in {typed.first_named:.0%}"
    )
    found = [
        single(sight, lean, flips),
        pairs(sight, lean, flips),
        logistic(sight, lean, rng, typed.times, typed.splits),
        whole(sight, lean, flips),
    ]
    print()
    rows = [(one.family, f"{one.index:.1f}", f"{one.p:.2f}") for one in found]
    print(table(("the best policy by", "index", "p"), rows))
    for one in found:
        print(f"\n{one.family}:\n  {one.policy[:76]}")
        if one.by_stem is not None and one.index > OTHERWISE + 1e-9:
            for place in np.argsort(-np.abs(one.by_stem))[:3]:
                print(f"  {sight.stems[place]}: {one.by_stem[place]:+.1f}")
    shown = own(every, sight, lean)
    print("\nwithout a bar, since they see their own opening, or are a bound:")
    print(
        table(
            ("policy", "J", "index"),
            [(name, f"{j:.2f}", f"{OTHERWISE + 60 * j:.1f}") for name, j in shown],
        )
    )
    print()
    return verdict(
        [
            Target(
                f"{one.family}: beyond chance", one.index if one.p <= CHANCE else OTHERWISE, MOST
            )
            for one in found
        ]
    )


def _read(named: Mapping[tuple[str, int, int], int], every: Sequence[Told]) -> str:
    total = sum(named.values())
    first = sum(count for (_, first, which), count in named.items() if first == which)
    stems = len({stem for stem, _, _ in named})
    of = len({one.stem for one in every})
    return f"{total} notes name one aspect, in {stems} of {of} stems; {first / total:.0%} the first-named one"


if __name__ == "__main__":
    raise SystemExit(main())
