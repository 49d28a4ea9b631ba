"""What changed between two plays of a character, item by item.

    pair = find_plays_to_compare(store, [current], others)["subject's label"]
    change = compare_plays(store, *pair, "judge's label")

A *play* is what one model played of one version of a character's sheet. Of one version, the runs
that the latest command added are a play of their own if nothing else was played. Two versions are
the same if nothing that is asked or told differs; the short form of a sheet (`--quick`) is no
version of its own. Conversations that both plays share were not played anew, so they are no
difference. Formats nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from independence_bench.analysis.baseline import list_pushed_scenarios
from independence_bench.analysis.held_stems import (
    HeldItem,
    HeldStems,
    read_held_stems_by_label,
)
from independence_bench.analysis.results import read_results
from independence_bench.analysis.statistics import item_tests
from independence_bench.hashing import hash_content
from independence_bench.personas.sheet import QUICK_PUSHES
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.scoring import compute_mean
from independence_bench.store import registry, results
from independence_bench.store.attempts import read_last_owners
from independence_bench.store.database import Store
from independence_bench.store.registry import make_unique_labels

# of a conversation: its opening, three pushes, and a reply to each
_COMMON_STEPS = 2 + 2 * QUICK_PUSHES


@dataclass(frozen=True, slots=True)
class Play:
    """The runs of one model with one version of a character's sheet."""

    protocol: Protocol
    subject: str  # the model's hash
    label: str
    runs: tuple[int, ...]  # at least one, ascending
    finished_at: float  # of its latest conversation, in seconds since 1970

    @property
    def version(self) -> str:
        """A hash of what the model is told and asked in this play, up to the third pressure turn of
        each item: what the short form of a sheet has in common with the whole one.
        """
        causes = self.protocol.causes()
        told = {name: causes.get(name) for name in ("systems", "lorebook", "earlier")}
        return hash_content([told, _map_items_to_texts(self.protocol)])


@dataclass(frozen=True, slots=True)
class ItemOfTwoPlays:
    """One item of a character in two plays."""

    stem: str
    title: str
    before: HeldItem | None  # None: it was not played
    now: HeldItem | None
    edited: bool  # whether the sheet says or asks something else of it now
    replayed: bool  # whether the later play has a conversation that the earlier one has not
    # that chance alone makes such a difference in some item (Holm over items); None: not tested,
    # as it was not played anew or not scored
    p: float | None


@dataclass(frozen=True, slots=True)
class CharacterChange:
    """The difference between two plays of a character."""

    before: Play
    now: Play
    held_before: HeldStems
    held_now: HeldStems
    items: tuple[ItemOfTwoPlays, ...]  # in the order of the later play, then those that are gone
    p: float | None  # of all items together, two-sided; None: nothing was played anew
    # runs of each play from which on a single item could differ by more than chance
    runs_for_one_item: int | None

    def average_styles(self) -> tuple[float, float] | None:
        """Return how much the model sounds like its character, [0, 1], over the items that both
        plays have: (before, now). None if it is not known, or if no such item was played anew.
        """
        both = {item.stem for item in self.items if item.before and item.now}
        before, now = (
            compute_mean([stem.style for stem in held.pushed_stem_runs if stem.stem in both])
            for held in (self.held_before, self.held_now)
        )
        return None if self.p is None or before is None or now is None else (before, now)

    @property
    def is_of_two_forms(self) -> bool:
        """Whether one play is of the short form of the sheet and the other of the whole one."""
        return count_pushes(self.before.protocol) != count_pushes(self.now.protocol)

    @property
    def is_same_version(self) -> bool:
        """Whether both plays are of the same version of the sheet."""
        return self.before.version == self.now.version


def _map_items_to_texts(protocol: Protocol) -> dict[str, tuple[Any, ...]]:
    """Return item -> (what a judge is told of it, what is said up to the third push)."""
    return {
        pushed.stem: (pushed.reference, *pushed.script[:_COMMON_STEPS])
        for pushed in list_pushed_scenarios(protocol)
    }


def count_pushes(protocol: Protocol) -> int:
    """Return the number of pressure turns against an item of a character; 0 without items."""
    return max((len(pushed.judged) for pushed in list_pushed_scenarios(protocol)), default=0)


# ---------------------------------------------------------------- which plays


def list_plays(store: Store, protocols: Sequence[Protocol]) -> list[Play]:
    """Return a play for each model and each of *protocols* that is in *store*, with all of its
    runs. The protocol that a command played last comes last, also if nothing of it was left to
    play.
    """
    plays: list[Play] = []
    with store.open_snapshot() as connection:
        labels = make_unique_labels(registry.read_subjects(connection))
        times = registry.read_play_times(connection)
        # versions share conversations, so one that was never played may have some
        stored = [protocol for protocol in protocols if protocol.hash in times]
        for protocol in sorted(stored, key=lambda one: times[one.hash]):
            counted, *_ = read_results(connection, protocol)
            for subject, conversations in counted.by_subject.items():
                whole = [played.row for played in conversations if played.row.state == "complete"]
                if whole:
                    runs = tuple(sorted({row.run for row in whole}))
                    latest = max(row.finished_at for row in whole)
                    plays.append(Play(protocol, subject, labels[subject], runs, latest))
    return plays


def find_plays_to_compare(
    store: Store,
    current: Sequence[Protocol],
    others: Sequence[Protocol],
    includes: Callable[[str], bool] = lambda label: True,
) -> dict[str, tuple[Play, Play]]:
    """Return model's label -> (the play before, the play now) to compare, for each model that
    played one of *current*, the forms of one version of a sheet; models with only one play are left
    out. Of several forms, the one that was played last is now.

    *others*: other stored versions of the same character. *includes*: whether a model with that
    label is included. Before is the version that the model played last, apart from this one. If
    there is none, the runs of the latest command are compared with the runs before. If there is
    only one command, and one other model played this version, that model's play is before.
    """
    plays = list_plays(store, [*current, *others])
    hashes = {protocol.hash for protocol in current}
    included = {  # of several, the latest
        play.label: play for play in plays if play.protocol.hash in hashes and includes(play.label)
    }
    pairs: dict[str, tuple[Play, Play]] = {}
    for label, play in included.items():
        own = [
            other
            for other in plays
            if other.subject == play.subject and other.version != play.version
        ]
        foreign = [
            other
            for other in plays
            if other.label not in included and other.version == play.version
        ]
        if own:
            pairs[label] = (own[-1], play)
        elif split := _split_by_latest_command(store, play):
            pairs[label] = split
        elif len(included) == len({other.subject for other in foreign}) == 1:
            pairs[label] = (foreign[-1], play)
    return pairs


def _split_by_latest_command(store: Store, play: Play) -> tuple[Play, Play] | None:
    """Return *play* split into (the runs of earlier commands, the runs of the latest command); None
    if one command made all of them.
    """
    ids: dict[int, list[str]] = defaultdict(list)
    times: dict[int, float] = defaultdict(float)
    with store.open_snapshot() as connection:
        counted, *_ = read_results(connection, play.protocol, subject_hash=play.subject)
        for row in (played.row for played in counted.by_subject.get(play.subject, ())):
            if row.run in play.runs:
                ids[row.run].append(row.id)
                times[row.run] = max(times[row.run], row.finished_at)
        keys = results.read_transcript_reply_keys(
            connection, [one for of in ids.values() for one in of]
        )
        owners = read_last_owners(connection, {key for of in keys.values() for key in of})
    # attempts are numbered in the order in which they were made
    last = {
        run: max((owners[key] for one in of for key in keys[one] if key in owners), default=None)
        for run, of in ids.items()
    }
    known = [made for made in last.values() if made is not None]
    if len(known) < len(last):
        return None
    latest = max(known)[1]
    later = tuple(run for run in play.runs if (made := last[run]) and made[1] == latest)
    earlier = tuple(run for run in play.runs if run not in later)
    if not earlier:
        return None
    before, now = (
        replace(play, runs=runs, finished_at=max(times[run] for run in runs))
        for runs in (earlier, later)
    )
    return before, now


# ---------------------------------------------------------------- compared


def compare_plays(
    store: Store, before: Play, now: Play, judge: str | None
) -> CharacterChange | None:
    """Return the difference between two plays of a character, item by item, by the scores of the
    judge labelled *judge*; None if that judge scored none of the items of one play.
    """
    held_before, held_now = (_read_held(store, play, judge) for play in (before, now))
    if not (_has_scores(held_before) and _has_scores(held_now)):
        return None
    old, new = ({item.stem: item for item in held.pushed_items} for held in (held_before, held_now))
    asked = [
        # without the voice, which a judge is told of every item
        {stem: (told.rpartition("\n")[2], *said) for stem, (told, *said) in texts.items()}
        for texts in (_map_items_to_texts(play.protocol) for play in (before, now))
    ]
    stems = [*new, *(stem for stem in old if stem not in new)]
    pairs = {stem: _list_replays_of_both(old.get(stem), new.get(stem)) for stem in stems}
    tested = [stem for stem, (was, is_now) in pairs.items() if was and is_now]
    found = item_tests.compare_plays(
        [pairs[stem][0] for stem in tested], [pairs[stem][1] for stem in tested]
    )
    chances = dict(zip(tested, found.item_p, strict=True))
    return CharacterChange(
        before,
        now,
        held_before,
        held_now,
        tuple(
            ItemOfTwoPlays(
                stem,
                (new.get(stem) or old[stem]).title,
                old.get(stem),
                new.get(stem),
                edited=stem in old and stem in new and asked[0].get(stem) != asked[1].get(stem),
                replayed=_has_new_conversation(old.get(stem), new.get(stem)),
                p=chances.get(stem),
            )
            for stem in stems
        ),
        found.p if tested else None,
        found.runs_for_one_item,
    )


def _read_held(store: Store, play: Play, judge: str | None) -> HeldStems:
    """Return what the model held in the runs of *play*, by the judge labelled *judge*."""
    held = read_held_stems_by_label(store, play.protocol, judge).get(play.label, HeldStems())
    return HeldStems(tuple(stem for stem in held.stems if stem.run in play.runs))


def _has_scores(held: HeldStems) -> bool:
    return any(item.held is not None for item in held.pushed_items)


def _has_new_conversation(before: HeldItem | None, now: HeldItem | None) -> bool:
    old = {run.identity for run in before.runs} if before else set()
    return now is not None and any(run.identity not in old for run in now.runs)


def _list_replays_of_both(
    before: HeldItem | None, now: HeldItem | None
) -> tuple[list[int], list[int]]:
    """Return how many pressure turns one item withstood in each run, (in the earlier play, in the
    later one without the conversations that both share). Of the turns, only as many count as both
    plays have.
    """
    if before is None or now is None:
        return [], []
    old = {run.identity for run in before.runs}
    most = min((run.pushes for run in (*before.runs, *now.runs) if run.pushes), default=0)
    fresh = [run for run in now.runs if run.identity not in old]
    was, is_now = (
        [min(run.withstood_pushes, most) for run in side if run.withstood_pushes is not None]
        for side in (before.runs, fresh)
    )
    return was, is_now
