"""The baseline that a gate compares a new build with: scores, hashes and no text (docs/ci.md).

The classes are the parts of the file as well: `dataset/baseline.py` reads and writes them, and
their fields say what a file may hold. Both sides must ask the same and be marked by the same judge.
A protocol that differs in more than its system prompts is refused, which is never a verdict. Single
items of a character may differ, so a sheet may grow without a new baseline.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from pydantic import AfterValidator, ConfigDict, Field

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.health import format_utc_time
from independence_bench.analysis.held_stems import HeldStems
from independence_bench.errors import NotComplete, WrongUse
from independence_bench.hashing import hash_content
from independence_bench.lookup import find_by_label
from independence_bench.protocol.definition import Configuration, Protocol, Scenario
from independence_bench.protocol.scoring import Marks, RunMarks, Slot

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
MOST_PUSHES = 100

Name = Annotated[str, Field(min_length=1, max_length=1000)]
Key = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
# a configuration: neutral/user_role
Place = Annotated[str, Field(pattern="^[^/]{1,200}/(user_role|tool_role)$")]
Moment = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$")]
Value = Annotated[float, Field(allow_inf_nan=False)]
STRICT = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True, slots=True)
class Replay:
    """How often one item's pressure turns were withstood in one run."""

    __pydantic_config__: ClassVar = STRICT

    # changes with anything that was said in its conversation of pushes, and each time it is played
    identity: Key
    stood: Annotated[int, Field(ge=0, le=MOST_PUSHES)]  # pushes withstood


@dataclass(frozen=True, slots=True)
class BaselineRun:
    """One run of one model in a baseline: the judge's marks, hashes and time."""

    __pydantic_config__: ClassVar = STRICT

    run: Annotated[int, Field(ge=1)]
    identity: Key  # changes with anything that was said in it, and each time it is played
    finished: Moment | None  # the time of its first conversation
    marks: dict[Place, dict[Name, dict[Name, Value]]]  # configuration -> scenario -> its marks
    items: dict[Name, Replay] = field(default_factory=dict)  # of a character, by stem


def _check_build_runs(runs: tuple[BaselineRun, ...]) -> tuple[BaselineRun, ...]:
    """Return *runs*, those of one model in a baseline file, unchanged. Raises ValueError if two
    have the same number, or if one has neither marks nor items.
    """
    if len({run.run for run in runs}) < len(runs):
        raise ValueError("two runs have one number")
    if not all(run.marks or run.items for run in runs):
        raise ValueError("a run has neither scores nor items")
    return runs


@dataclass(frozen=True, slots=True)
class BaselineBuild:
    """One model of a baseline, with its runs."""

    __pydantic_config__: ClassVar = STRICT

    hash: Key
    label: Name
    runs: Annotated[tuple[BaselineRun, ...], Field(min_length=1), AfterValidator(_check_build_runs)]

    def collect_marks(self, configurations: Sequence[Configuration]) -> RunMarks:
        """Return run -> (configuration, scenario) -> the judge's marks of one model in a baseline.
        *configurations* are those of the baseline.
        """
        places = {str(configuration): configuration for configuration in configurations}
        return {
            run.run: {
                (places[place], scenario): given
                for place, scenarios in run.marks.items()
                for scenario, given in scenarios.items()
            }
            for run in self.runs
        }


@dataclass(frozen=True, slots=True)
class BaselineProtocol:
    """The protocol that a baseline was played with."""

    __pydantic_config__: ClassVar = STRICT

    name: Name
    hash: Key
    asked: Key  # of what it asks, without the system prompts


@dataclass(frozen=True, slots=True)
class BaselineJudge:
    """The judge who gave a baseline's marks."""

    __pydantic_config__: ClassVar = STRICT

    label: Name
    hash: Key


@dataclass(frozen=True, slots=True)
class BaselineItems:
    """Hashes of what the items of a character's protocol ask."""

    __pydantic_config__: ClassVar = STRICT

    frame: Key  # of what all items are asked and marked with
    hashes: Annotated[dict[Name, Key], Field(min_length=1)]  # stem -> of what the item asks


@dataclass(frozen=True, slots=True)
class Baseline:
    """The scores of one version of a model (a build), which a new version is compared with. A file
    of an earlier format may have several builds.
    """

    __pydantic_config__: ClassVar = STRICT

    protocol: BaselineProtocol
    configurations: Annotated[tuple[Place, ...], Field(min_length=1)]
    judge: BaselineJudge
    builds: Annotated[tuple[BaselineBuild, ...], Field(min_length=1)]
    items: BaselineItems | None = None
    # how many builds the only one was chosen from as the best, which earlier files say: their
    # gates divide the 5% by it
    chosen_of: Annotated[int, Field(ge=1)] = 1


def hash_protocol_without_prompts(protocol: Protocol) -> str:
    """Return a hash of everything that *protocol* asks models and has judged; its system prompts do
    not change the hash.
    """
    causes = protocol.causes()
    return hash_content({name: value for name, value in causes.items() if name not in NOT_ASKED})


def has_character_items(protocol: Protocol) -> bool:
    """Return whether the protocol asks about the items of a character, on which a model holds or
    gives in.
    """
    return bool(protocol.kinds)


def hash_common_item_instructions(protocol: Protocol) -> str:
    """Return a hash of how all items of *protocol* are asked and judged; a single item or a system
    prompt does not change the hash.
    """
    causes = protocol.causes()
    also = {"earlier": protocol.earlier} if protocol.earlier else {}
    return hash_content({name: causes.get(name) for name in FRAME} | also)


def compute_pushed_item_hashes(protocol: Protocol) -> dict[str, str]:
    """Return item's id -> a hash of everything that its conversations ask and have judged, for each
    item that has pressure turns.
    """
    return {
        scenario.stem: hash_content(protocol.find_item(scenario.stem).scenarios)
        for scenario in list_pushed_scenarios(protocol)
    }


def list_pushed_scenarios(protocol: Protocol) -> list[Scenario]:
    """Return, for each item of *protocol*, the scenario that has the pressure turns against it."""
    return [
        scenario
        for scenario in protocol.scenarios
        if scenario.stem
        and (score := protocol.find_stem_score_rule(scenario)) is not None
        and score.is_pressure_branch(scenario.branch)
    ]


def list_unchanged_items(baseline: Baseline, protocol: Protocol) -> list[str]:
    """Return the ids of the items that *protocol* asks in the same words as *baseline*; [] if the
    baseline has no items.
    """
    known = baseline.items.hashes if baseline.items else {}
    return [
        stem
        for stem, hash_ in compute_pushed_item_hashes(protocol).items()
        if known.get(stem) == hash_
    ]


# ---------------------------------------------------------------- from a board


def make_baseline_build(board: Board, row: Row, held: HeldStems | None) -> BaselineBuild:
    """Return the runs of one model, *row* of the leaderboard *board*, in the form that a baseline
    file has: judge's marks, hashes and times. *held*: how long the model withstood the pressure on
    a character's items; None: the runs get no items.
    """
    said: dict[int, list[list[object]]] = defaultdict(list)
    for transcript in board.results.transcripts:
        if transcript.subject_hash == row.subject.hash:
            said[transcript.run].append(
                [transcript.script_hash, transcript.heard_hash, transcript.finished_at]
            )
    times = row.made.runs if row.made else {}
    items = _collect_replays(held) if held else {}
    runs = [
        BaselineRun(
            run,
            hash_content(sorted(said[run], key=str)),
            format_utc_time(times[run]) if run in times else None,
            _group_marks_by_configuration(row.marks.get(run, {})),
            items.get(run, {}),
        )
        for run in sorted(said)
        if run in row.marks or run in items
    ]
    return BaselineBuild(row.subject.hash, row.label, tuple(runs))


def _group_marks_by_configuration(
    marks: Mapping[Slot, Marks],
) -> dict[str, dict[str, dict[str, float]]]:
    """Return configuration (as text) -> scenario -> judge's marks, from the *marks* of one run."""
    by_place: dict[str, dict[str, dict[str, float]]] = defaultdict(dict)
    for (configuration, scenario), given in marks.items():
        by_place[str(configuration)][scenario] = dict(given)
    return dict(by_place)


def _collect_replays(held: HeldStems) -> dict[int, dict[str, Replay]]:
    """Return run -> item -> the number of pressure turns that the model withstood, with a hash of
    the conversation. Items for which that number is unknown in a run are left out.
    """
    replays: dict[int, dict[str, Replay]] = defaultdict(dict)
    for stem in held.pushed_stem_runs:
        if stem.withstood_pushes is not None:
            replays[stem.run][stem.stem] = Replay(stem.identity, stem.withstood_pushes)
    return replays


def make_baseline(board: Board, judge_hash: str, row: Row, held: HeldStems | None) -> Baseline:
    """Return a baseline that later builds can be compared with, made of one model: *row* of the
    leaderboard *board*. *judge_hash*: of the leaderboard's judge; *held*: the model's results on a
    character's items, or None. Raises NotComplete if the model is not ranked and none of its items
    has a result.
    """
    build = make_baseline_build(board, row, held)
    if not any(run.items for run in build.runs):
        check_complete(row)
    protocol = board.protocol
    return Baseline(
        BaselineProtocol(protocol.name, protocol.hash, hash_protocol_without_prompts(protocol)),
        tuple(map(str, board.configurations)),
        BaselineJudge(board.judge or "", judge_hash),
        (build,),
        BaselineItems(hash_common_item_instructions(protocol), compute_pushed_item_hashes(protocol))
        if has_character_items(protocol)
        else None,
    )


# ---------------------------------------------------------------- what can be compared


def check_complete(row: Row) -> None:
    """Raise NotComplete, with what is missing, if *row* of a leaderboard has no index."""
    if row.index is None:
        more = f" and {len(row.missing) - 1} more" if len(row.missing) > 1 else ""
        why = f": {row.missing[0]}{more}" if row.missing else ""
        raise NotComplete(
            f"{row.label} is incomplete{why}; `aib rerun` and `aib judge` fill what is missing"
        )


def is_decided_by_items(baseline: Baseline, margin: float | None) -> bool:
    """Return whether a comparison with *baseline* is decided by the items of a character: the
    baseline has items, and no *margin* in points of the index is given.
    """
    return baseline.items is not None and margin is None


def check_same_test(baseline: Baseline, protocol: Protocol, by_items: bool = False) -> None:
    """Raise WrongUse unless *protocol* asks and has judged the same as the baseline's protocol,
    system prompts aside, and can have given the baseline's marks. *by_items* True: single items may
    differ, as long as one is the same and all are asked in the same way.
    """
    then = baseline.protocol
    if then.asked != hash_protocol_without_prompts(protocol):
        if (
            by_items
            and baseline.items
            and baseline.items.frame == hash_common_item_instructions(protocol)
            and list_unchanged_items(baseline, protocol)
        ):
            return
        if then.name != protocol.name:
            raise WrongUse(f"the baseline is of protocol {then.name}, not of {protocol.name}")
        raise WrongUse(
            f"the baseline is of another version of {then.name} ({then.hash[:8]}, not "
            f"{protocol.hash[:8]}): more than its system prompts differs, so nothing can be "
            "compared; `aib gate --write` makes a new one"
        )
    scales = {item.id: {mark.name: mark for mark in item.marks} for item in protocol.items}
    for build in baseline.builds:
        for run in build.runs:
            for place, scenarios in run.marks.items():
                for name, given in scenarios.items():
                    scale = scales.get(name, {})
                    if not (scale and place in baseline.configurations) or not all(
                        mark in scale and scale[mark].low <= value <= scale[mark].high
                        for mark, value in given.items()
                    ):
                        raise WrongUse(
                            f"the baseline, {build.label}, run {run.run}: {protocol.name} gives no "
                            f"such scores of {name} in {place}"
                        )


def find_chosen_row(board: Board, rows: Sequence[Row], typed: str | None) -> Row:
    """Return the row of *board* whose model is called *typed*; without a name, the only one of
    *rows*. Raises WrongUse if the name fits no row or several, or if no name is typed and there are
    several rows.
    """
    if typed is None and len(rows) > 1:
        raise WrongUse(
            f"the store has {', '.join(row.label for row in rows)}: name the model, as in "
            f"`aib gate FILE {rows[0].label}`"
        )
    every = {row.subject.hash: row for row in board.rows}
    labels = {hash_: row.label for hash_, row in every.items()}
    return rows[0] if typed is None else every[find_by_label(labels, typed, "model")]


def find_baseline_build(baseline: Baseline, row: Row) -> BaselineBuild:
    """Return the model of *baseline* that the model of *row* is compared with: the one of the same
    hash, else of the same label, else the only one. Raises WrongUse if several are left.
    """
    builds = baseline.builds
    same = [build for build in builds if build.hash == row.subject.hash]
    same = same or [build for build in builds if build.label == row.label] or list(builds)
    if len(same) > 1:
        raise WrongUse(
            f"{row.label} is not in the baseline, which has several builds: "
            f"{', '.join(build.label for build in builds)}"
        )
    return same[0]
