"""How stems are scored: read from protocol.yaml and checked against what the rubrics ask for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from independence_bench.protocol.definition import BRANCHES, POSITION, LevelRule, Scenario, ScoreTerm, StemScore
from independence_bench.protocol.file_formats import TOP, ProtocolFile, ScoreFile

Need = Callable[[object, str, str, str], None]  # (true, file, key, otherwise what is wrong): raises unless true


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
    found = []
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
        found.append((name, _score(kind.score, where, kind.branches, mine, need)))
    return tuple(found)


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
