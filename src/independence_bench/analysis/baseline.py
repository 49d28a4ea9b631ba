"""What builds are compared with by a gate: marks, identities and no text; and which builds are
compared (docs/ci.md).

Pure: a board to values; the store is asked only for what tells two playings of a run apart.
Compared is what asks the same and is marked by the same judge: a protocol in which anything else
differs than the system prompts is refused, which is never a verdict. Of a character single items
may differ, so a sheet may grow without a new baseline.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.held_stems import HeldStems
from independence_bench.analysis.results import results_of
from independence_bench.errors import NotComplete, WrongUse
from independence_bench.hashing import content_hash
from independence_bench.lookup import fit
from independence_bench.protocol.definition import Configuration, Protocol, Scenario
from independence_bench.protocol.scoring import Marks, Slot

# of a protocol, what is neither asked nor marked: its name, to whom it is said, and what is in a
# build's own identity
NOT_ASKED = frozenset(
    (
        "name",
        "title",
        "description",
        "runs",
        "temperature",
        "max_tokens",
        "judge",
        "systems",
        "lorebook",
        "configurations",
    )
)
# of a protocol, what says how an item's conversation is asked and marked, in addition to the item
# itself
FRAME = ("judge_instructions", "tool_role", "kinds")


@dataclass(frozen=True, slots=True)
class Replay:
    """One item in one run."""

    # changes with anything that was said in its conversation of pushes, and each time it is played
    identity: str
    stood: int  # pushes withstood


@dataclass(frozen=True, slots=True)
class BaselineRun:
    """One run of a build, scored as units."""

    run: int
    identity: str  # changes with anything that was said in it, and each time it is played
    finished_at: float | None  # of its first conversation, in seconds since 1970
    marks: Mapping[Slot, Marks]
    # of a character: stem -> where it gave way
    items: Mapping[str, Replay] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BaselineBuild:
    """One subject of a baseline."""

    hash: str
    label: str
    runs: tuple[BaselineRun, ...]  # at least one

    @property
    def marks(self) -> dict[int, Mapping[Slot, Marks]]:
        """Run -> its marks."""
        return {run.run: run.marks for run in self.runs}


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
    chosen_of: int = 1  # how many builds there were where the one that is here is the best of them
    frame_hash: str = ""  # of a character: of what all its items are asked and marked with
    # of a character: stem -> of what the item asks
    item_hashes: Mapping[str, str] = field(default_factory=dict)


def asked_hash(protocol: Protocol) -> str:
    """Changes with anything that *protocol* asks or has marked, but not with its system prompts."""
    causes = protocol.written.causes()
    return content_hash({name: value for name, value in causes.items() if name not in NOT_ASKED})


def has_items(protocol: Protocol) -> bool:
    """Whether its stems are items of a character, which are held or not."""
    return bool(protocol.kinds)


def frame_hash(protocol: Protocol) -> str:
    """Changes with what all items have in common of how they are asked and marked; not with system
    prompts.
    """
    causes = protocol.written.causes()
    also = {"earlier": protocol.earlier} if protocol.earlier else {}
    return content_hash({name: causes.get(name) for name in FRAME} | also)


def item_hashes(protocol: Protocol) -> dict[str, str]:
    """Stem that is pushed -> changes with anything that is asked or marked in one of its branches."""
    branches: dict[str, list[Scenario]] = defaultdict(list)
    for scenario in protocol.written.scenarios:
        branches[scenario.stem].append(scenario)
    return {
        stem: content_hash(of)
        for stem, of in branches.items()
        if any(_is_pushed(protocol, scenario) for scenario in of)
    }


def _is_pushed(protocol: Protocol, scenario: Scenario) -> bool:
    score = protocol.score_of(scenario) if scenario.stem else None
    return score is not None and score.is_ladder(scenario.branch)


def pushes_of(protocol: Protocol) -> int:
    """How many pushes its longest item has; 0 where it has no items."""
    return max(
        (
            len(scenario.judged)
            for scenario in protocol.written.scenarios
            if _is_pushed(protocol, scenario)
        ),
        default=0,
    )


def item_titles(protocol: Protocol) -> dict[str, str]:
    """Stem that is pushed -> its title."""
    pushed = (scenario for scenario in protocol.written.scenarios if _is_pushed(protocol, scenario))
    return {scenario.stem: scenario.title.rpartition(": ")[0] for scenario in pushed}


def replays_of(held: HeldStems) -> dict[int, dict[str, Replay]]:
    """Run -> stem -> its replay; without those of which it is unknown where they gave way."""
    replays: dict[int, dict[str, Replay]] = defaultdict(dict)
    for stem in held.ladders:
        if stem.stood is not None:
            replays[stem.run][stem.stem] = Replay(stem.identity, stem.stood)
    return replays


def stored_builds(
    connection: Connection,
    board: Board,
    rows: Sequence[Row],
    held: Mapping[str, HeldStems] | None = None,
) -> dict[str, BaselineBuild]:
    """Subject's hash -> what *board* has of it, of *rows*. *held*: of a character, label -> its
    items.
    """
    identities: dict[str, dict[int, list[list[object]]]] = {}
    (results,) = results_of(connection, board.protocol, board.configurations)
    for transcript in results.transcripts:
        of_run = identities.setdefault(transcript.subject_hash, {}).setdefault(transcript.run, [])
        of_run.append([transcript.script_hash, transcript.heard_hash, transcript.finished_at])
    builds = {}
    for row in rows:
        times = row.made.runs if row.made else {}
        items = replays_of(held[row.label]) if held and row.label in held else {}
        runs = [
            BaselineRun(
                run,
                content_hash(sorted(said, key=str)),
                times.get(run),
                row.marks.get(run, {}),
                items.get(run, {}),
            )
            for run, said in sorted(identities[row.subject.hash].items())
            if run in row.marks or run in items
        ]
        builds[row.subject.hash] = BaselineBuild(row.subject.hash, row.label, tuple(runs))
    return builds


def baseline_of(
    connection: Connection,
    board: Board,
    judge_hash: str,
    rows: Sequence[Row],
    held: Mapping[str, HeldStems] | None = None,
) -> Baseline:
    """A baseline of *rows* of *board*. Raises NotComplete where one of them is not ranked, or no
    item of it is read.

    *held*: of a character, label -> its items, which need no index.
    """
    builds = stored_builds(connection, board, rows, held)
    made = tuple(builds[row.subject.hash] for row in rows)
    for row, build in zip(rows, made, strict=True):
        if not any(run.items for run in build.runs):
            check_complete(row)
    items = has_items(board.protocol)
    return Baseline(
        board.protocol.name,
        board.protocol.hash,
        asked_hash(board.protocol),
        board.configurations,
        board.judge or "",
        judge_hash,
        made,
        _chosen_of(board, rows),
        frame_hash(board.protocol) if items else "",
        item_hashes(board.protocol) if items else {},
    )


def _chosen_of(board: Board, rows: Sequence[Row]) -> int:
    """Of how many builds the only one of *rows* is the best; 1 where it is not, or there are
    several.

    The best of several is better here than it will be again, so what is compared with it seems
    worse than it is.
    """
    scored = [row.score.index for row in board.rows if row.score.index is not None]
    mine = rows[0].score.index if len(rows) == 1 else None
    return len(scored) if mine is not None and mine >= max(scored) else 1


def check_complete(row: Row) -> None:
    """Raises NotComplete, with what is missing, for a row without an index."""
    if row.score.index is None:
        more = f" and {len(row.missing) - 1} more" if len(row.missing) > 1 else ""
        why = f": {row.missing[0]}{more}" if row.missing else ""
        raise NotComplete(
            f"{row.label} is incomplete{why}; `aib rerun` and `aib judge` fill what is missing"
        )


def check_same_test(baseline: Baseline, protocol: Protocol, by_items: bool = False) -> None:
    """Raises WrongUse where *protocol* asks something else than the baseline's did, or has no such
    marks.

    *by_items*: single items may differ, which are left out.
    """
    differs = baseline.asked_hash != asked_hash(protocol)
    if (
        by_items
        and differs
        and baseline.frame_hash == frame_hash(protocol)
        and same_items(baseline, protocol)
    ):
        return
    if differs and baseline.protocol != protocol.name:
        raise WrongUse(f"the baseline is of protocol {baseline.protocol}, not of {protocol.name}")
    if differs:
        raise WrongUse(
            f"the baseline is of another version of {baseline.protocol} ({baseline.protocol_hash[:8]}, not "
            f"{protocol.hash[:8]}): more than its system prompts differs, so nothing can be compared; "
            "`aib gate --write` makes a new one"
        )
    units = protocol.units
    scenarios = {scenario.id: scenario for scenario in units.scenarios}
    for build in baseline.builds:
        for run in build.runs:
            for (configuration, name), marks in run.marks.items():
                known = (
                    {mark.name: mark for mark in scenarios[name].marks} if name in scenarios else {}
                )
                where = f"the baseline, {build.label}, run {run.run}, {name}"
                if configuration not in baseline.configurations or not known:
                    raise WrongUse(
                        f"{where}: {protocol.name} has no such conversation in {configuration}"
                    )
                for mark, value in marks.items():
                    scale = known.get(mark)
                    if scale is None or not scale.low <= value <= scale.high:
                        raise WrongUse(
                            f"{where}: {mark} is not a mark there, or {value:g} is not on its scale"
                        )


def same_items(baseline: Baseline, protocol: Protocol) -> list[str]:
    """The stems that *protocol* asks in the words of the baseline's."""
    return [
        stem
        for stem, hash_ in item_hashes(protocol).items()
        if baseline.item_hashes.get(stem) == hash_
    ]


def paired_builds(
    baseline: Baseline, board: Board, typed: Sequence[str], against: str | None
) -> list[tuple[Row, BaselineBuild]]:
    """Who is compared with whom. *typed*: of the board; none named: those of the baseline.
    *against*: of the baseline.

    A build is compared with itself in the baseline, by its hash or by its label, else with the only
    one that is there. Raises WrongUse where it is not clear who is meant, so that none is left out
    unseen.
    """
    labels = {row.subject.hash: row.label for row in board.rows}
    rows = {row.subject.hash: row for row in board.rows}
    named = {build.hash: build.label for build in baseline.builds}
    builds = {build.hash: build for build in baseline.builds}
    chosen = [rows[hash_] for hash_ in dict.fromkeys(fit(labels, name) for name in typed)]
    meant = None if against is None else builds[fit(named, against, "build of the baseline")]
    if not chosen:
        chosen = list(board.rows)
        strangers = [row.label for row in chosen if _itself(row, baseline) is None]
        if strangers and len(chosen) > 1:
            raise WrongUse(
                f"the store has {', '.join(strangers)} which the baseline does not have: name the subjects to "
                f"compare, as in `aib gate {strangers[0]} --baseline ...`"
            )
    paired = []
    for row in chosen:
        build = meant or _itself(row, baseline)
        if build is None and len(builds) > 1:
            there = ", ".join(named.values())
            raise WrongUse(
                f"{row.label} is not in the baseline, which has {there}: --against names one of them"
            )
        paired.append((row, build or baseline.builds[0]))
    return paired


def _itself(row: Row, baseline: Baseline) -> BaselineBuild | None:
    same = [build for build in baseline.builds if build.hash == row.subject.hash]
    same = same or [build for build in baseline.builds if build.label == row.label]
    return same[0] if len(same) == 1 else None
