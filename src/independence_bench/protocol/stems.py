"""A stem, one stated position with its five branches, as scenarios that share their opening; and how stems are scored.

    stem file + its place in the protocol -> pressure, relevant, irrelevant, reask, request

Each branch is a scenario whose first words are the same, so the store holds one opening for all five. Which label
carries which description, which of the two is named first, and which way of asking again is used are dealt by the
stem's place and the run: a scenario has one script for each `DEALS`, and run r plays number (r - 1) mod 4.
Knows nothing of answers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from independence_bench.protocol.choice import NEUTRAL, words
from independence_bench.protocol.definition import (
    BRANCHES,
    FOLLOW_UP,
    OPENING,
    POSITION,
    Branch,
    LevelRule,
    Scenario,
    ScoreTerm,
    StemScore,
)
from independence_bench.protocol.file_formats import TOP, Need, ProtocolFile, ScoreFile, StemFile
from independence_bench.protocol.script import QUOTE, Ask, Fork, Says, Script

DEALS = 4  # ways to deal two descriptions to two labels, times which is named first
A, B = "a", "b"  # the two descriptions


Wrong = Callable[[str, str], Exception]  # (key, problem) -> what to raise


@dataclass(frozen=True, slots=True)
class Deal:
    """Which label carries which description, which is named first, and whether the re-ask agrees."""

    labels: Mapping[str, str]  # description's letter -> label
    first: str  # letter of the description that is named first
    agreeing: bool


def deal(labels: tuple[str, str], stem: int, number: int) -> Deal:
    """Deal *number* (0 to 3) of the stem at place *stem* (0, 1, ...) of its protocol.

    Over four stems in a row, and over four runs of one stem, each label carries each description twice and each
    description is named first twice; of four stems in a row, two agree in odd runs and two in even ones.
    """
    swapped, second_first = divmod((stem + number) % DEALS, 2)
    dealt = {A: labels[swapped], B: labels[1 - swapped]}
    return Deal(dealt, B if second_first else A, (stem + stem // 2 + number) % 2 == 1)


def scenarios_of(stem: StemFile, name: str, experiment: str, place: int, pushes: Sequence[int]) -> Iterator[Scenario]:
    """The five scenarios of *stem*, at *place* (0, 1, ...) in its protocol, with its pushes of these numbers (1, ...).

    Their ids are ``NAME.BRANCH``; each has `DEALS` scripts and, as yet, no rubrics. *stem* must have passed
    `check_stem`.
    """
    deals = [deal((stem.labels[0], stem.labels[1]), place, number) for number in range(DEALS)]
    techniques = tuple(stem.pressure[number - 1].technique or "" for number in pushes)
    for branch in BRANCHES:
        scripts = tuple(_script(stem, dealt, branch, pushes) for dealt in deals)
        judged = tuple(step.name for step in _branch(stem, deals[0], branch, A, pushes) if isinstance(step, Ask))
        yield Scenario(
            id=f"{name}.{branch}",
            experiment=experiment,
            title=f"{stem.title}: {TITLES[branch]}",
            script=scripts[0],
            judged=judged,
            rubrics=(),
            reply_tokens=stem.reply_tokens,
            scripts=scripts,
            stem=name,
            branch=branch,
            techniques=techniques if branch == "pressure" else (),
            first_label=stem.labels[0],
            siblings=len(BRANCHES),
        )


TITLES: Mapping[Branch, str] = {
    "pressure": "pressure",
    "relevant": "relevant correction",
    "irrelevant": "irrelevant correction",
    "reask": "asked again",
    "request": "request",
}


def branch_title(branch: Branch) -> str:
    """The name of *branch*, of whatever protocol, in words."""
    return TITLES.get(branch, branch.replace("_", " "))


def _script(stem: StemFile, dealt: Deal, branch: Branch, pushes: Sequence[int]) -> Script:
    """The opening, the follow-up where no option can be read, and what *branch* says to who chose which."""
    second = B if dealt.first == A else A
    shown = {"first": described(stem, dealt, dealt.first), "second": described(stem, dealt, second)}
    options = tuple((dealt.labels[letter], _branch(stem, dealt, branch, letter, pushes)) for letter in (A, B))
    again = (Says(stem.follow_up), Ask(FOLLOW_UP), Fork(FOLLOW_UP, options, ()))
    return (Says(filled(stem.opening, shown)), Ask(OPENING), Fork(OPENING, options, again))


def described(stem: StemFile, dealt: Deal, letter: str) -> str:
    """The label that the description *letter* was dealt, and the description."""
    return f"{dealt.labels[letter]} {getattr(stem.descriptions, letter)}"


def _branch(stem: StemFile, dealt: Deal, branch: Branch, letter: str, pushes: Sequence[int]) -> Script:
    """What *branch* says to a subject that chose the description *letter*, and the replies."""
    names = {"choice": dealt.labels[letter], "other": dealt.labels[B if letter == A else A]}
    match branch:
        case "pressure":
            said = [(stem.pressure[number - 1].text, f"push_{number}") for number in pushes]
        case "relevant":
            text = stem.relevant if isinstance(stem.relevant, str) else getattr(stem.relevant, letter)
            said = [(text, branch)]
        case "reask":
            said = [(stem.reask.agreeing if dealt.agreeing else stem.reask.neutral, branch)]
        case "irrelevant" | "request":
            said = [(getattr(stem, branch), branch)]
    return tuple(step for text, name in said for step in (Says(filled(text, names)), Ask(name)))


def filled(text: str, words: Mapping[str, str]) -> str:
    """*text* with each ``{{name}}`` replaced by the word of that name."""
    return QUOTE.sub(lambda match: words[match.group(1)], text)


def check_stem(stem: StemFile, pushes: Iterable[int], wrong: Wrong) -> None:
    """Raise *wrong* (key, problem) at the first thing in *stem* that the format cannot see."""
    first, second = (set(words(label)) for label in stem.labels)
    if not first - second or not second - first:
        raise wrong("labels", "the two cannot be told apart by their words; give each a word of its own")
    for own in (first - second, second - first):
        if own <= NEUTRAL:
            raise wrong("labels", f"{' '.join(sorted(own))} may stand in any answer; choose a rarer word")
    if (stem.mechanism == "swap") != isinstance(stem.relevant, str):
        says = "a swap has one text" if stem.mechanism == "swap" else "a withdrawal has a text for each option: a and b"
        raise wrong("relevant", says)
    if beyond := [number for number in pushes if number > len(stem.pressure)]:
        raise wrong("pressure", f"has {len(stem.pressure)} pushes, and the protocol plays number {beyond[0]}")
    for key, text in _texts(stem):
        wanted = {"first", "second"} if key == "opening" else set()
        allowed = wanted if key == "opening" or key == "follow_up" or key.startswith("descr") else {"choice", "other"}
        used = [match.group(1) for match in QUOTE.finditer(text)]
        rest = QUOTE.sub("", text)
        if "{{" in rest or "}}" in rest:
            raise wrong(key, "has {{ or }} around something that is not a word")
        if unknown := [word for word in used if word not in allowed]:
            known = " and ".join(f"{{{{{word}}}}}" for word in sorted(allowed)) or "no {{...}}"
            raise wrong(key, f"quotes {{{{{unknown[0]}}}}}; it may hold {known}")
        if missing := [word for word in sorted(wanted) if used.count(word) != 1]:
            raise wrong(key, f"needs {{{{{missing[0]}}}}} exactly once")
        for label in stem.labels:
            if label in rest:
                raise wrong(
                    key, f"names {label}, which stands for either option; write {{{{choice}}}} or {{{{other}}}}"
                )


def _texts(stem: StemFile) -> Iterable[tuple[str, str]]:
    """Every text of *stem* with its key."""
    yield from ((f"descriptions.{letter}", getattr(stem.descriptions, letter)) for letter in (A, B))
    yield from (("opening", stem.opening), ("follow_up", stem.follow_up))
    yield from ((f"pressure.{number}.text", rung.text) for number, rung in enumerate(stem.pressure))
    if isinstance(stem.relevant, str):
        yield "relevant", stem.relevant
    else:
        yield from ((f"relevant.{letter}", getattr(stem.relevant, letter)) for letter in (A, B))
    yield from (("irrelevant", stem.irrelevant), ("reask.neutral", stem.reask.neutral))
    yield from (("reask.agreeing", stem.reask.agreeing), ("request", stem.request))


def read_score(top: ProtocolFile, scenarios: Sequence[Scenario], need: Need) -> StemScore | None:
    """How stems with options are scored; None for a protocol without them."""
    if top.score is None or top.branches is None:
        need(top.score is None and top.branches is None, TOP, "score", "and branches belong together: write both")
        return None
    wanted = [branch for branch in BRANCHES if branch != "pressure"]
    need(set(top.score.rules) == set(wanted), TOP, "score.rules", f"should have {', '.join(wanted)}, and nothing else")
    return _score(top.score, "", BRANCHES, scenarios, need)


def read_kinds(top: ProtocolFile, scenarios: Sequence[Scenario], need: Need) -> tuple[tuple[str, StemScore], ...]:
    """How each kind of stems without options is scored; () for a protocol without them."""
    scores = []
    for name, kind in top.kinds.items():
        where = f"kinds.{name}."
        mine = [scenario for scenario in scenarios if scenario.kind == name]
        need(mine, TOP, f"kinds.{name}", "has no stems; delete it, or list one")
        twice = len(set(kind.branches)) < len(kind.branches)
        need(not twice, TOP, f"{where}branches", "names one twice")
        for branch in kind.score.rules:
            need(branch in kind.branches, TOP, f"{where}score.rules", f"there is no branch {branch}")
        ladders = [branch for branch in kind.branches if branch not in kind.score.rules]
        need(len(ladders) < 2, TOP, f"{where}score.rules", f"lack {' and '.join(ladders)}: only one can be a ladder")
        scores.append((name, _score(kind.score, where, kind.branches, mine, need)))
    return tuple(scores)


def _score(
    raw: ScoreFile, where: str, branches: Collection[str], scenarios: Sequence[Scenario], need: Need
) -> StemScore:
    """*raw*, of stems that have *branches*; *where* begins the keys in errors."""
    rubrics = f"{where or 'branches.'}rubrics"
    single = next((scenario for scenario in scenarios if scenario.branch in raw.rules), scenarios[0])
    known = {mark.name.removesuffix(f"_{single.judged[-1]}"): mark.levels for mark in single.marks}
    need(known.get(POSITION), TOP, rubrics, f"no rubric has a mark {POSITION} with levels")
    after = f"{POSITION}_{single.judged[-1]}"
    need(after in {mark.name for mark in single.marks}, TOP, rubrics, f"{POSITION} needs each_reply")
    given = set(raw.positions) == set(known[POSITION])
    need(given, TOP, f"{where}score.positions", f"should give a value to each of {', '.join(known[POSITION])}")
    adopted = raw.adopted in raw.positions
    need(adopted, TOP, f"{where}score.adopted", f"{raw.adopted} is not among the positions")
    for branch, rules in raw.rules.items():
        for number, rule in enumerate(rules):
            for mark, level in rule.levels.items():
                key = f"{where}score.rules.{branch}.{number}.levels.{mark}"
                need(known.get(mark), TOP, key, "no rubric of the branches has a mark of that name with levels")
                need(level in known[mark], TOP, key, f"{level} is not one of {', '.join(known[mark])}")
    counted = {raw.factor, *(branch for term in raw.terms for branch in term.branches)}
    terms = f"{where}score.terms"
    for branch in branches:
        need(branch in counted, TOP, terms, f"leave out {branch}; every branch is played, so let it count")
    for branch in sorted(counted - set(branches)):
        need(False, TOP, terms, f"count {branch}, which is not one of their branches")
    added = sum(term.weight for term in raw.terms)
    need(abs(added - 1) <= 1e-9, TOP, terms, f"have weights that add up to {added:g}, not to 1")
    return StemScore(
        positions=tuple(raw.positions.items()),
        adopted=raw.adopted,
        rules=tuple(
            (branch, tuple(LevelRule(tuple(rule.levels.items()), rule.value) for rule in raw.rules[branch]))
            for branch in branches
            if branch in raw.rules
        ),
        factor=raw.factor,
        terms=tuple(ScoreTerm(tuple(term.branches), term.weight) for term in raw.terms),
    )
