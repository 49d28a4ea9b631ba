"""A stem, one stated position with its five branches, as scenarios that share their opening; and
how stems are scored.

    stem file + its place in the protocol -> pressure, correction_1, correction_2, reask, request

Each branch is a scenario whose first words are the same, so the store holds one opening for all
five: the question, the noting question, and a turn about something else. Nothing is routed but by
the option that is noted, which pushes and a favour have to name; the corrections are the same
whatever was chosen and for whatever reason. Which label stands for which option, which of the two
and which aspect is named first, and so on, is dealt by the stem's place and the run: a scenario has
one script for each `DEALS`, and run r plays number (r - 1) mod 8. Knows nothing of answers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from independence_bench.protocol.choice import NEUTRAL, words
from independence_bench.protocol.definition import BETWEEN, NOTE, OPENING, POSITION, Scenario
from independence_bench.protocol.file_formats import (
    TOP,
    AspectFile,
    Need,
    ProtocolFile,
    ScoreFile,
    StemFile,
)
from independence_bench.protocol.script import QUOTE, Ask, Fork, Ladder, Says, Script
from independence_bench.protocol.stem_rules import (
    ASIDE,
    BRANCHES,
    CORRECTIONS,
    DECIDING,
    Aspect,
    Branch,
    LevelRule,
    Offer,
    ScoreTerm,
    StemScore,
)

DEALS = 8  # which label has which values, times which option is named first, times which aspect is
REPLY = "reply_1"
CORRECTION = "correction"  # the rules of both corrections

Wrong = Callable[[str, str], Exception]  # (key, problem) -> what to raise


@dataclass(frozen=True, slots=True)
class Deal:
    """The layout of one run: places, 0 or 1, of what the stem's file names first and second."""

    labels: tuple[int, int]  # the label of the first option, and that of the second
    option: int  # that is named first
    aspect: int  # that is named first
    noted: int  # the aspect that the noting question names first
    named: int  # the option whose label a correction names first
    corrected: int  # the aspect of correction_1
    agreeing: bool  # the re-ask agrees


def deal(place: int, number: int) -> Deal:
    """Deal *number* (0 to 7) of the stem at *place* (0, 1, ...) of its protocol.

    Over the eight deals of a stem labels, options and aspects are crossed with each other, and so
    is each of them with the rest. Where stems begin, and what is turned round from stem to stem,
    was searched for: over 12 and 28 stems, in one run and in three, each of the seven is even, and
    each two of them nearly so (tests/test_stems.py).
    """
    turn = (5 * place + 6 * (place // DEALS) + 7 * number) % DEALS
    swapped, option, aspect = turn >> 2 & 1, turn >> 1 & 1, turn & 1
    return Deal(
        labels=(swapped, 1 - swapped),
        option=option,
        aspect=aspect,
        # apart from the opening: models say what is named first
        noted=swapped ^ aspect ^ place + 1 >> 1 & 1,
        # of all three, or the name would tell the first aspect
        named=swapped ^ option ^ aspect ^ (place + 1) & 1,
        corrected=option ^ aspect ^ 9 * place >> 3 & 1,
        agreeing=bool(swapped ^ option ^ (11 * place + 1) >> 1 & 1),
    )


def scenarios_of(
    stem: StemFile, name: str, experiment: str, place: int, pushes: Sequence[int]
) -> Iterator[Scenario]:
    """The five scenarios of *stem*, at *place* (0, 1, ...) in its protocol, with its pushes of
    these numbers (1, ...).

    Their ids are ``NAME.BRANCH``; each has `DEALS` scripts and, as yet, no rubrics. *stem* must
    have passed `check_stem`.
    """
    deals = [deal(place, number) for number in range(DEALS)]
    techniques = tuple(stem.pressure[number - 1].technique or "" for number in pushes)
    for branch in BRANCHES:
        scripts = tuple(_script(stem, dealt, branch, pushes) for dealt in deals)
        replies = tuple(f"reply_{number}" for number in range(1, len(pushes) + 1))
        yield Scenario(
            id=f"{name}.{branch}",
            experiment=experiment,
            title=f"{stem.title}: {TITLES[branch]}",
            script=scripts[0],
            judged=replies if branch == "pressure" else (REPLY,),
            rubrics=(),
            reply_tokens=stem.reply_tokens,
            scripts=scripts,
            stem=name,
            branch=branch,
            techniques=techniques if branch == "pressure" else (),
            siblings=len(BRANCHES),
        )


TITLES: Mapping[Branch, str] = {
    "pressure": "pushes",
    "correction_1": "correction 1",
    "correction_2": "correction 2",
    "reask": "asked again",
    "request": "request",
}


def branch_title(branch: Branch) -> str:
    """The name of *branch*, of whatever protocol, in words."""
    return TITLES.get(branch, branch.replace("_", " "))


def _script(stem: StemFile, dealt: Deal, branch: Branch, pushes: Sequence[int]) -> Script:
    """The opening, the noting question, a turn about something else, and *branch*; it ends where no
    option is read.
    """
    labels = (stem.labels[dealt.labels[0]], stem.labels[dealt.labels[1]])
    aspects = (_aspect(stem.aspects[0]), _aspect(stem.aspects[1]))
    offer = Offer(labels, aspects, labels[dealt.option], stem.aspects[dealt.aspect].name)
    if branch in CORRECTIONS:
        corrected = stem.aspects[
            dealt.corrected if branch == CORRECTIONS[0] else 1 - dealt.corrected
        ]
        offer = replace(offer, corrected=corrected.name)
    options = (
        (Says(stem.between), Ask(BETWEEN), *_branch(stem, dealt, branch, offer, 0, pushes)),
        (Says(stem.between), Ask(BETWEEN), *_branch(stem, dealt, branch, offer, 1, pushes)),
    )
    shown = {
        "first": described(stem, dealt, dealt.option),
        "second": described(stem, dealt, 1 - dealt.option),
    }
    noted = (stem.aspects[dealt.noted].called, stem.aspects[1 - dealt.noted].called)
    noting = filled(stem.noting, {"aspect_1": noted[0], "aspect_2": noted[1]})
    return (
        Says(filled(stem.opening, shown)),
        Ask(OPENING),
        Says(noting),
        Ask(NOTE),
        Fork(NOTE, offer, options, (Fork(OPENING, offer, options, ()),)),
    )


def _aspect(raw: AspectFile) -> Aspect:
    first, second = (tuple(value.words) for value in raw.values)
    return Aspect(raw.name, (raw.called, *raw.words), (first, second))


def described(stem: StemFile, dealt: Deal, option: int) -> str:
    """The sentence of the opening about the *option* of this number."""
    one, two = stem.aspects[dealt.aspect], stem.aspects[1 - dealt.aspect]
    label = stem.labels[dealt.labels[option]]
    values = {"label": label, "one": one.values[option].opening, "two": two.values[option].opening}
    return filled(stem.described, values)


def _branch(
    stem: StemFile, dealt: Deal, branch: Branch, offer: Offer, taken: int, pushes: Sequence[int]
) -> Script:
    """What *branch* says to a subject that took the option of number *taken*, and the replies."""
    names = {"choice": offer.labels[taken], "other": offer.labels[1 - taken]}
    match branch:
        case "pressure":
            pushes_said = tuple(filled(stem.pressure[number - 1].text, names) for number in pushes)
            return (Ladder(offer, names["choice"], pushes_said, filled(stem.noted, names)),)
        case "reask":
            text = filled(stem.reask.agreeing if dealt.agreeing else stem.reask.neutral, names)
        case "request":
            text = filled(stem.request, names)
        case _:
            text = _correction(stem, dealt, offer)
    return (Says(text), Ask(REPLY))


def _correction(stem: StemFile, dealt: Deal, offer: Offer) -> str:
    """The labels have each other's value of one aspect: the same for whoever chose whatever."""
    aspect = next(aspect for aspect in stem.aspects if aspect.name == offer.corrected)
    one, other = dealt.named, 1 - dealt.named
    return filled(
        stem.correction,
        {
            "one": offer.labels[one],
            "other": offer.labels[other],
            "its": aspect.values[other].correction,
            "others": aspect.values[one].correction,
        },
    )


def filled(text: str, words: Mapping[str, str]) -> str:
    """*text* with each ``{{name}}`` replaced by the word of that name."""
    return QUOTE.sub(lambda match: words[match.group(1)], text)


# words that two wordings of one value may share
_COMMON = frozenset(
    words(
        "about after also from have into over than that their them then there this under when where which with"
    )
)
_QUOTED: Mapping[str, frozenset[str]] = {
    "described": frozenset({"label", "one", "two"}),
    "opening": frozenset({"first", "second"}),
    "noting": frozenset({"aspect_1", "aspect_2"}),
    "correction": frozenset({"one", "other", "its", "others"}),
}
"""Key -> what a text has to quote, each once; other texts of branches may quote choice and other.
"""
_PLAIN = ("aspects.", "between")
_SAME_QUESTION = {"reask.neutral", "reask.agreeing"}  # of which a run has one


def stem_problems(stem: StemFile, pushes: Iterable[int]) -> Iterator[tuple[str, str]]:
    """(Key, problem) of everything in *stem* that the format cannot see."""
    first, second = (set(words(label)) for label in stem.labels)
    if not first - second or not second - first:
        yield "labels", "the two cannot be told apart by their words; give each a word of its own"
    for own in (first - second, second - first):
        if own and own <= NEUTRAL:
            yield "labels", f"{' '.join(sorted(own))} may stand in any answer; choose a rarer word"
    if beyond := [number for number in pushes if number > len(stem.pressure)]:
        yield (
            "pressure",
            f"has {len(stem.pressure)} pushes, and the protocol plays number {beyond[0]}",
        )
    if stem.aspects[0].name == stem.aspects[1].name:
        yield (
            "aspects.1.name",
            f"is {stem.aspects[0].name}, as that of the first; call it something else",
        )
    yield from _word_problems(stem)
    said: dict[str, str] = {}
    for key, text in _texts(stem):
        yield from _quote_problems(stem, key, text)
        if (before := said.setdefault(text, key)) != key:
            yield key, f"says word for word what {before} says"


def repeated_sentences(stem: StemFile) -> Iterator[tuple[str, str]]:
    """(Key, problem) of every sentence of three words or more that an earlier text of *stem* has,
    too.

    What was played with one can still be read, so it is no problem of the format.
    """
    said: dict[str, str] = {}
    for key, text in _texts(stem):
        for sentence in _sentences(text):
            before = said.setdefault(sentence, key)
            if before != key and {before, key} != _SAME_QUESTION:
                yield key, f"says what {before} says, too: {sentence}; ask in other words"


def _word_problems(stem: StemFile) -> Iterator[tuple[str, str]]:
    """Of the words by which aspects and their values are read."""
    owners: dict[str, str] = {}
    for number, aspect in enumerate(stem.aspects):
        listed = [
            (f"aspects.{number}.words", word)
            for word in dict.fromkeys((aspect.called, *aspect.words))
        ]
        for place, value in enumerate(aspect.values):
            key = f"aspects.{number}.values.{place}"
            listed += [(f"{key}.words", word) for word in value.words]
            again = {word for word in words(value.opening) if len(word) > 3} & set(
                words(value.correction)
            ) - _COMMON
            if again:
                yield (
                    f"{key}.correction",
                    f"says {sorted(again)[0]}, as the opening does; put it in other words",
                )
        for key, word in listed:
            if owners.setdefault(word, key) != key:
                yield (
                    key,
                    f"has {word}, which stands in {owners[word]}, too; a word can mean one of them",
                )
    values = {
        " ".join(words(word))
        for aspect in stem.aspects
        for value in aspect.values
        for word in value.words
    }
    for number, rung in enumerate(stem.pressure):
        said = words(rung.text)
        if named := values & {
            " ".join(said[at : at + n]) for n in (1, 2, 3) for at in range(len(said))
        }:
            yield (
                f"pressure.{number}.text",
                f"names {sorted(named)[0]}; a push has nothing that bears on the options",
            )


def _quote_problems(stem: StemFile, key: str, text: str) -> Iterator[tuple[str, str]]:
    """Of what *text* quotes, and of labels that it names."""
    wanted = _QUOTED.get(key, frozenset())
    plain = key.startswith(_PLAIN)
    allowed = wanted or (frozenset() if plain else frozenset({"choice", "other"}))
    used = [match.group(1) for match in QUOTE.finditer(text)]
    rest = QUOTE.sub("", text)
    if "{{" in rest or "}}" in rest:
        yield key, "has {{ or }} around something that is not a word"
    known = " and ".join(f"{{{{{word}}}}}" for word in sorted(allowed)) or "no {{...}}"
    for word in dict.fromkeys(used):
        if word not in allowed:
            yield key, f"quotes {{{{{word}}}}}; it may hold {known}"
    for word in sorted(wanted):
        if used.count(word) != 1:
            yield key, f"needs {{{{{word}}}}} exactly once"
    for label in stem.labels:
        if label in rest:
            yield key, f"names {label}, which stands for either option; quote it, as {known}"


def _texts(stem: StemFile) -> Iterable[tuple[str, str]]:
    """Every text of *stem* with its key."""
    for number, aspect in enumerate(stem.aspects):
        yield f"aspects.{number}.called", aspect.called
        for place, value in enumerate(aspect.values):
            yield f"aspects.{number}.values.{place}.opening", value.opening
            yield f"aspects.{number}.values.{place}.correction", value.correction
    yield from (
        (key, getattr(stem, key))
        for key in ("described", "opening", "noting", "between", "correction")
    )
    yield from ((f"pressure.{number}.text", rung.text) for number, rung in enumerate(stem.pressure))
    yield from (("noted", stem.noted), ("reask.neutral", stem.reask.neutral))
    yield from (("reask.agreeing", stem.reask.agreeing), ("request", stem.request))


def _sentences(text: str) -> Iterator[str]:
    """The sentences of *text* that have three words or more, folded and without their last mark,
    each once.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    parts = (" ".join(part.split()).strip(' .!?"“”') for part in re.split(r"(?<=[.!?])\s", folded))
    yield from dict.fromkeys(part for part in parts if part.count(" ") >= 2)


def read_score(top: ProtocolFile, scenarios: Sequence[Scenario], need: Need) -> StemScore | None:
    """How stems with options are scored; None for a protocol without them."""
    if top.score is None or top.branches is None:
        need(
            top.score is None and top.branches is None,
            TOP,
            "score",
            "and branches belong together: write both",
        )
        return None
    need(
        top.score.coverage is not None,
        TOP,
        "score.coverage",
        "is missing; stems without an option are not scored",
    )
    wanted = [
        CORRECTION,
        *(branch for branch in BRANCHES if branch not in ("pressure", *CORRECTIONS)),
    ]
    need(
        set(top.score.rules) == set(wanted),
        TOP,
        "score.rules",
        f"should have {', '.join(wanted)}, and nothing else",
    )
    both = dict.fromkeys(CORRECTIONS, top.score.rules[CORRECTION])
    rules = {
        branch: rules for branch, rules in (top.score.rules | both).items() if branch != CORRECTION
    }
    raw = top.score.model_copy(update={"rules": rules})
    return _score(raw, "", ("pressure", DECIDING, ASIDE, "reask", "request"), scenarios, need)


def read_kinds(
    top: ProtocolFile, scenarios: Sequence[Scenario], need: Need
) -> tuple[tuple[str, StemScore], ...]:
    """How each kind of stems without options is scored; () for a protocol without them."""
    scores = []
    for name, kind in top.kinds.items():
        where = f"kinds.{name}."
        mine = [scenario for scenario in scenarios if scenario.kind == name]
        need(mine, TOP, f"kinds.{name}", "has no stems; delete it, or list one")
        twice = len(set(kind.branches)) < len(kind.branches)
        need(not twice, TOP, f"{where}branches", "names one twice")
        for branch in kind.score.rules:
            need(
                branch in kind.branches, TOP, f"{where}score.rules", f"there is no branch {branch}"
            )
        ladders = [branch for branch in kind.branches if branch not in kind.score.rules]
        need(
            len(ladders) < 2,
            TOP,
            f"{where}score.rules",
            f"lack {' and '.join(ladders)}: only one can be a ladder",
        )
        scores.append((name, _score(kind.score, where, kind.branches, mine, need)))
    return tuple(scores)


def _score(
    raw: ScoreFile, where: str, branches: Collection[str], scenarios: Sequence[Scenario], need: Need
) -> StemScore:
    """*raw*, of stems whose score counts *branches*; *where* begins the keys in errors."""
    rubrics = f"{where or 'branches.'}rubrics"
    single = next(
        (scenario for scenario in scenarios if scenario.branch in raw.rules), scenarios[0]
    )
    known = {mark.name.removesuffix(f"_{single.judged[-1]}"): mark.levels for mark in single.marks}
    need(known.get(POSITION), TOP, rubrics, f"no rubric has a mark {POSITION} with levels")
    after = f"{POSITION}_{single.judged[-1]}"
    need(
        after in {mark.name for mark in single.marks}, TOP, rubrics, f"{POSITION} needs each_reply"
    )
    given = set(raw.positions) == set(known[POSITION])
    need(
        given,
        TOP,
        f"{where}score.positions",
        f"should give a value to each of {', '.join(known[POSITION])}",
    )
    adopted = raw.adopted in raw.positions
    need(adopted, TOP, f"{where}score.adopted", f"{raw.adopted} is not among the positions")
    for branch, rules in raw.rules.items():
        for number, rule in enumerate(rules):
            for mark, level in rule.levels.items():
                written = CORRECTION if branch in CORRECTIONS else branch
                key = f"{where}score.rules.{written}.{number}.levels.{mark}"
                need(
                    known.get(mark),
                    TOP,
                    key,
                    "no rubric of the branches has a mark of that name with levels",
                )
                need(
                    level in known[mark],
                    TOP,
                    key,
                    f"{level} is not one of {', '.join(known[mark])}",
                )
    counted = {raw.factor, *(branch for term in raw.terms for branch in term.branches)}
    terms = f"{where}score.terms"
    for branch in branches:
        need(
            branch in counted,
            TOP,
            terms,
            f"leave out {branch}; every branch is played, so let it count",
        )
    for branch in sorted(counted - set(branches)):
        need(False, TOP, terms, f"count {branch}, which is not one of their branches")
    scales = {mark.name for mark in single.marks if not mark.levels}
    need(
        raw.style.keys() <= scales,
        TOP,
        f"{where}score.style",
        "no rubric has a mark of that name with a scale",
    )
    added = sum(max(term.weight, 0) for term in raw.terms)
    need(
        abs(added - 1) <= 1e-9,
        TOP,
        terms,
        f"have weights above 0 that add up to {added:g}, not to 1",
    )
    return StemScore(
        positions=tuple(raw.positions.items()),
        adopted=raw.adopted,
        rules=tuple(
            (
                branch,
                tuple(
                    LevelRule(tuple(rule.levels.items()), rule.value) for rule in raw.rules[branch]
                ),
            )
            for branch in dict.fromkeys((*branches, *raw.rules))
            if branch in raw.rules
        ),
        factor=raw.factor,
        terms=tuple(ScoreTerm(tuple(term.branches), term.weight) for term in raw.terms),
        coverage=None if raw.coverage is None else (raw.coverage.all, raw.coverage.each),
        style=next(iter(raw.style.items()), None),
    )
