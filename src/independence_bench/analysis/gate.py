"""What is stored now against a baseline, score by score: is a build worse by more than a margin? (docs/ci.md)

Pure: a board and a baseline to values; the store is asked only for what tells two playings of a run apart. A baseline
has marks and identities and no text. Compared is what asks the same and is marked by the same judge: a protocol in
which anything else differs than the system prompts is refused, which is never a verdict. Both builds are measured
together and nobody else with them, so that a verdict does not hang on what else a store holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.compare_subjects import (
    Comparison,
    ScorePair,
    Values,
    comparison_of,
    known_differences,
    values_of,
)
from independence_bench.analysis.held_stems import Crossing
from independence_bench.analysis.results import results_of
from independence_bench.analysis.statistics.margins import (
    RunsNeeded,
    Verdict,
    level_of,
    margin_test,
    runs_needed,
)
from independence_bench.analysis.statistics.values import Interval
from independence_bench.analysis.uncertainty import INDEX, BoardUncertainty, Compared, measure_board
from independence_bench.errors import NotComplete, WrongUse
from independence_bench.hashing import content_hash
from independence_bench.lookup import fit
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.scoring import OWN, Marks, RunMarks, Slot

# of a protocol, what is neither asked nor marked: its name and what follows from it, to whom it is said, and what is in
# a build's own identity
NOT_ASKED = frozenset(
    (
        "name",
        "canary",
        "title",
        "description",
        "runs",
        "temperature",
        "max_tokens",
        "judge",
        "systems",
        "configurations",
    )
)
ORDER: tuple[Verdict, ...] = ("worse", "open", "not worse")  # of several verdicts the first that there is


@dataclass(frozen=True, slots=True)
class BaselineRun:
    """One run of a build, scored as units."""

    run: int
    identity: str  # changes with anything that was said in it, and each time it is played
    finished_at: float | None  # of its first conversation, in seconds since 1970
    marks: Mapping[Slot, Marks]


@dataclass(frozen=True, slots=True)
class BaselineBuild:
    """One subject of a baseline."""

    hash: str
    label: str
    runs: tuple[BaselineRun, ...]  # at least one

    @property
    def marks(self) -> dict[int, Mapping[Slot, Marks]]:
        """Run -> its marks."""
        return {one.run: one.marks for one in self.runs}


@dataclass(frozen=True, slots=True)
class Baseline:
    """What builds are compared with."""

    protocol: str  # name
    protocol_hash: str
    asked_hash: str  # of what it asks, without the system prompts
    configurations: tuple[Configuration, ...]
    judge: str  # label
    judge_hash: str
    builds: tuple[BaselineBuild, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is said of one score of one build, in points of 100."""

    pair: ScorePair  # before and now, with the difference at 95%
    verdict: Verdict
    interval: Interval | None = None  # of the difference at the gate's level; None: nothing new, or `why_no_interval`
    over_scenarios: bool = False  # nobody has two runs, so it is paired by scenario
    smallest_drop: float | None = None  # a true drop of so many points fails in 80 of 100; None: not even one to 0
    passable: float | None = None  # a build that is no worse passes in 80 of 100 from this margin on
    needed: RunsNeeded | None = None  # of what is open: how many runs would decide


@dataclass(frozen=True, slots=True)
class BuildComparison:
    """One build now, and what it is compared with."""

    row: Row  # now
    before: BaselineBuild
    runs: tuple[int, ...]  # of now that are compared: those that are not the baseline's own; () where all are
    outcomes: tuple[Outcome, ...]
    details: Comparison  # before and now, at 95%
    why_no_interval: tuple[str, ...]  # why there is no interval, a sentence each
    run_dollars: float | None  # what a run of it cost, its judging too; None: not known
    crossings: tuple[Crossing, ...] = ()  # replies of the runs that are looked at that cross a persona's red line

    @property
    def unchanged(self) -> bool:
        """Whether nothing was played since: all conversations are the baseline's own."""
        return not self.runs


@dataclass(frozen=True, slots=True)
class Gate:
    """The verdict on all builds together."""

    baseline: Baseline
    board: Board
    margin: float  # points
    level: float  # of each interval, so that all of them together are right in 95 of 100
    looks: int  # that were planned
    builds: tuple[BuildComparison, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst of all; a crossed red line is worse than anything that the scores say."""
        if any(build.crossings for build in self.builds):
            return "worse"
        found = {one.verdict for build in self.builds for one in build.outcomes}
        return next(one for one in ORDER if one in found)

    @property
    def other_prompts(self) -> bool:
        """Whether the protocol's system prompts differ from those of the baseline."""
        return self.baseline.protocol_hash != self.board.protocol.hash


# ---------------------------------------------------------------- the two sides


def asked_hash(protocol: Protocol) -> str:
    """Changes with anything that *protocol* asks or has marked, but not with its system prompts."""
    causes = protocol.written.causes()
    return content_hash({name: value for name, value in causes.items() if name not in NOT_ASKED})


def stored_builds(connection: Connection, board: Board, rows: Sequence[Row]) -> dict[str, BaselineBuild]:
    """Subject's hash -> what *board* has of it, of *rows*, which are complete."""
    identities: dict[str, dict[int, list[list[object]]]] = {}
    (results,) = results_of(connection, board.protocol, board.configurations)
    for one in results.transcripts:
        of_run = identities.setdefault(one.subject_hash, {}).setdefault(one.run, [])
        of_run.append([one.script_hash, one.heard_hash, one.finished_at])
    found = {}
    for row in rows:
        times = row.made.runs if row.made else {}
        runs = [
            BaselineRun(run, content_hash(sorted(identities[row.subject.hash][run], key=str)), times.get(run), marks)
            for run, marks in sorted(row.marks.items())
        ]
        found[row.subject.hash] = BaselineBuild(row.subject.hash, row.label, tuple(runs))
    return found


def baseline_of(connection: Connection, board: Board, judge_hash: str, rows: Sequence[Row]) -> Baseline:
    """A baseline of *rows* of *board*. Raises NotComplete where one of them is not ranked."""
    for row in rows:
        check_complete(row)
    builds = stored_builds(connection, board, rows)
    return Baseline(
        board.protocol.name,
        board.protocol.hash,
        asked_hash(board.protocol),
        board.configurations,
        board.judge or "",
        judge_hash,
        tuple(builds[row.subject.hash] for row in rows),
    )


def check_complete(row: Row) -> None:
    """Raises NotComplete, with what is missing, for a row without an index."""
    if row.score.index is None:
        more = f" and {len(row.missing) - 1} more" if len(row.missing) > 1 else ""
        why = f": {row.missing[0]}{more}" if row.missing else ""
        raise NotComplete(f"{row.label} is incomplete{why}; `aib rerun` and `aib judge` fill what is missing")


def check_same_test(baseline: Baseline, protocol: Protocol) -> None:
    """Raises WrongUse where *protocol* asks something else than the baseline's did, or has no such marks."""
    if baseline.asked_hash != asked_hash(protocol) and baseline.protocol != protocol.name:
        raise WrongUse(f"the baseline is of protocol {baseline.protocol}, not of {protocol.name}")
    if baseline.asked_hash != asked_hash(protocol):
        raise WrongUse(
            f"the baseline is of another version of {baseline.protocol} ({baseline.protocol_hash[:8]}, not "
            f"{protocol.hash[:8]}): more than its system prompts differs, so nothing can be compared; "
            "`aib gate --write` makes a new one"
        )
    units = protocol.units
    scenarios = {scenario.id: scenario for scenario in units.scenarios}
    for build in baseline.builds:
        for one in build.runs:
            for (configuration, name), marks in one.marks.items():
                known = {mark.name: mark for mark in scenarios[name].marks} if name in scenarios else {}
                where = f"the baseline, {build.label}, run {one.run}, {name}"
                if configuration not in baseline.configurations or not known:
                    raise WrongUse(f"{where}: {protocol.name} has no such conversation in {configuration}")
                for mark, value in marks.items():
                    if mark not in known or not known[mark].low <= value <= known[mark].high:
                        raise WrongUse(f"{where}: {mark} is not a mark there, or {value:g} is not on its scale")


def paired_builds(
    baseline: Baseline, board: Board, typed: Sequence[str], against: str | None
) -> list[tuple[Row, BaselineBuild]]:
    """Who is compared with whom. *typed*: of the board; none named: those of the baseline. *against*: of the baseline.

    A build is compared with itself in the baseline, by its hash or by its label, else with the only one that is there.
    Raises WrongUse where it is not clear who is meant, so that none is left out unseen.
    """
    labels = {row.subject.hash: row.label for row in board.rows}
    rows = {row.subject.hash: row for row in board.rows}
    named = {build.hash: build.label for build in baseline.builds}
    builds = {build.hash: build for build in baseline.builds}
    chosen = [rows[one] for one in dict.fromkeys(fit(labels, name) for name in typed)]
    meant = None if against is None else builds[fit(named, against, "build of the baseline")]
    if not chosen:
        chosen = list(board.rows)
        strangers = [row.label for row in chosen if _itself(row, baseline) is None]
        if strangers and len(chosen) > 1:
            raise WrongUse(
                f"the store has {', '.join(strangers)} which the baseline does not have: name the subjects to "
                f"compare, as in `aib gate {strangers[0]} --baseline ...`"
            )
    found = []
    for row in chosen:
        build = meant or _itself(row, baseline)
        if build is None and len(builds) > 1:
            there = ", ".join(named.values())
            raise WrongUse(f"{row.label} is not in the baseline, which has {there}: --against names one of them")
        found.append((row, build or baseline.builds[0]))
    return found


def _itself(row: Row, baseline: Baseline) -> BaselineBuild | None:
    same = [build for build in baseline.builds if build.hash == row.subject.hash]
    same = same or [build for build in baseline.builds if build.label == row.label]
    return same[0] if len(same) == 1 else None


# ---------------------------------------------------------------- the verdict


def compare_builds(
    baseline: Baseline,
    board: Board,
    now: Mapping[str, BaselineBuild],
    pairs: Sequence[tuple[Row, BaselineBuild]],
    scores: Sequence[str],
    margin: float,
    looks: int = 1,
    run_dollars: Mapping[str, float | None] | None = None,
    crossings: Mapping[str, Sequence[Crossing]] | None = None,
) -> Gate:
    """Each of *pairs* in each of *scores* (INDEX or dimensions), with *margin* points of 100.

    *now*: as `stored_builds` has it. *looks*: how often it is looked at, this time included. *crossings*: by label, of
    every run. Raises NotComplete for a row that has no index, or lacks one of *scores*, WrongUse for a build of the
    baseline that does.
    """
    protocol, configurations = board.protocol, board.configurations
    level = level_of(max(len(pairs) * len(scores), 1) * looks)
    found = []
    for row, before in pairs:
        check_complete(row)
        old = {one.identity for one in before.runs}
        fresh: RunMarks = {one.run: one.marks for one in now[row.subject.hash].runs if one.identity not in old}
        runs = tuple(fresh)
        marks = fresh or row.marks  # nothing was played since: what there is, is the baseline
        values = [
            values_of(protocol, configurations, OWN.score(protocol, configurations, one)[1], one)
            for one in (before.marks, marks)
        ]
        _check_scores(protocol, scores, values, row, before)
        both = measure_board(protocol, configurations, [before.marks, marks])
        known = known_differences(both, [(0, 1)])[0] if runs else {}
        details = comparison_of(protocol, values, known)
        outcomes = [_outcome(both, details.scores[_key(one)], margin, level, bool(runs)) for one in scores]
        dollars = (run_dollars or {}).get(row.subject.hash)
        why_no_interval = both.why_no_interval() if runs and any(one.interval is None for one in outcomes) else ()
        crossed = tuple(one for one in (crossings or {}).get(row.label, ()) if one.run in marks)
        found.append(BuildComparison(row, before, runs, tuple(outcomes), details, why_no_interval, dollars, crossed))
    return Gate(baseline, board, margin, level, looks, tuple(found))


def _key(score: str) -> Compared:
    return None, None if score == INDEX else score


def _check_scores(
    protocol: Protocol, scores: Sequence[str], values: Sequence[Values], row: Row, before: BaselineBuild
) -> None:
    titles = {INDEX: INDEX} | {one.name: one.title for one in protocol.dimensions}
    for name in scores:
        if _key(name) not in values[1]:
            raise NotComplete(f"{row.label} has no {titles[name]}: marks of it are missing")
        if _key(name) not in values[0]:
            raise WrongUse(f"the baseline has no {titles[name]} of {before.label}: marks of it are missing")


def _outcome(both: BoardUncertainty, pair: ScorePair, margin: float, level: float, played: bool) -> Outcome:
    if not played:
        return Outcome(pair, "not worse")
    measured = both.measures[pair.dimension.name if pair.dimension else INDEX].measured
    points = 100 * (1 - both.protocol.lowest)  # from one end of the scale to the other
    test, share = margin_test(measured, 1, 0, level), margin / points
    if test is None:
        return Outcome(pair, "open")
    drop, verdict = test.smallest_drop(share), test.verdict(share)
    return Outcome(
        pair,
        verdict,
        test.interval.scaled(points).within(-100, 100),
        test.over_scenarios,
        None if drop is None or points * drop > 100 else points * drop,
        points * test.passable,
        runs_needed(measured, 1, 0, share, level) if verdict == "open" else None,
    )
