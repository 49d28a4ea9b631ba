"""The `score` of a protocol with stems: read from protocol.yaml and checked against what its rubrics ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from independence_bench.protocol.definition import BRANCHES, POSITION, LevelRule, Scenario, ScoreTerm, StemScore
from independence_bench.protocol.file_formats import TOP, ProtocolFile

Need = Callable[[object, str, str, str], None]  # (true, file, key, otherwise what is wrong): raises unless true


def read_score(top: ProtocolFile, scenarios: Sequence[Scenario], need: Need) -> StemScore | None:
    """How stems are scored; None for a protocol without stems."""
    raw = top.score
    if raw is None or top.branches is None:
        need(raw is None and top.branches is None, TOP, "score", "and branches belong together: write both")
        return None
    levels = {mark.name: mark.levels for mark in scenarios[0].marks}
    single = next(scenario for scenario in scenarios if scenario.branch != "pressure")
    known = {mark.name.removesuffix(f"_{single.judged[0]}"): mark.levels for mark in single.marks}
    need(known.get(POSITION), TOP, "branches.rubrics", f"no rubric has a mark {POSITION} with levels")
    need(f"{POSITION}_{scenarios[0].judged[0]}" in levels, TOP, "branches.rubrics", f"{POSITION} needs each_reply")
    given = set(raw.positions) == set(known[POSITION])
    need(given, TOP, "score.positions", f"should give a value to each of {', '.join(known[POSITION])}")
    need(raw.adopted in raw.positions, TOP, "score.adopted", f"{raw.adopted} is not among the positions")
    wanted = [branch for branch in BRANCHES if branch != "pressure"]
    need(set(raw.rules) == set(wanted), TOP, "score.rules", f"should have {', '.join(wanted)}, and nothing else")
    for branch, rules in raw.rules.items():
        for number, rule in enumerate(rules):
            for mark, level in rule.levels.items():
                key = f"score.rules.{branch}.{number}.levels.{mark}"
                need(known.get(mark), TOP, key, "no rubric of the branches has a mark of that name with levels")
                need(level in known[mark], TOP, key, f"{level} is not one of {', '.join(known[mark])}")
    counted = {raw.factor, *(branch for term in raw.terms for branch in term.branches)}
    for branch in BRANCHES:
        need(branch in counted, TOP, "score.terms", f"leave out {branch}; every branch is played, so let it count")
    added = sum(term.weight for term in raw.terms)
    need(abs(added - 1) <= 1e-9, TOP, "score.terms", f"have weights that add up to {added:g}, not to 1")
    return StemScore(
        positions=tuple(raw.positions.items()),
        adopted=raw.adopted,
        rules=tuple(
            (branch, tuple(LevelRule(tuple(rule.levels.items()), rule.value) for rule in raw.rules[branch]))
            for branch in wanted
        ),
        factor=raw.factor,
        terms=tuple(ScoreTerm(tuple(term.branches), term.weight) for term in raw.terms),
    )
