"""A paired comparison of two versions of a protocol that differ in a system prompt. Pure: boards to
values.

It compares what both versions ask and mark word for word, in the configurations whose system prompt
differs. If they differ in nothing else, that is the index, each dimension, and each dimension in
each scenario (or stem). If scenarios differ too, an index over the rest would be a different
quantity, so there is none: only dimensions of which every scenario is the same, and the scenarios
themselves. A changed judge.md, score or tool makes marks or words of another kind, and then nothing
is compared.

As in a gate both versions of a subject are measured together, without other subjects. They met the
same scenarios; their runs have nothing in common, because another prompt is another request. These
runs cannot show an effect that lasts from run to run, as a day does. So a difference that sessions
alone could make, as leaderboards allow for them (`leaderboard.list_run_sessions`), is not ascribed
to the versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.compare_subjects import (
    SubjectComparison,
    compare_sides,
    compute_compared_values,
    estimate_second_minus_first,
)
from independence_bench.analysis.leaderboard import list_run_sessions
from independence_bench.analysis.uncertainty import INDEX, Compared, measure_board
from independence_bench.errors import WrongUse
from independence_bench.protocol.definition import Configuration, Dimension, Protocol, Scenario
from independence_bench.protocol.scoring import OWN, Marks, RunMarks, Slot, SubjectScore

# what a mark hangs on as a whole, so that nothing can be compared where it differs -> what that is
# called in a folder
REFUSED = {
    "judge_instructions": "judge.md",
    "kinds": "kinds",
    "earlier": "earlier",
    "tool_role": "tool_role",
}
CONTEXT = 4  # words around a change
MOST_WORDS = 2000  # of what differs, to be compared word by word: beyond that it takes too long


@dataclass(frozen=True, slots=True)
class WordChange:
    """One place where two texts differ: the words of the first, the words of the second, and the
    words around them.
    """

    left: str
    before: str
    after: str
    right: str


@dataclass(frozen=True, slots=True)
class PromptChange:
    """A system prompt variant whose text differs, with the changes."""

    variant: str
    changes: tuple[WordChange, ...]


@dataclass(frozen=True, slots=True)
class VersionChange:
    """The differences between two versions of a protocol in the configurations that are compared,
    and what both have in common.
    """

    old: Protocol  # with the weights that are compared by
    new: Protocol
    configurations: tuple[Configuration, ...]  # those whose system prompt differs
    same: tuple[Configuration, ...]  # that were asked for, and whose prompt is the same
    prompts: tuple[PromptChange, ...]
    # scenarios, rubrics and dimensions that differ, a line each; empty: only prompts do
    unlike: tuple[str, ...]
    common: Protocol  # *new* with what both ask and mark in the same way
    whole: tuple[str, ...]  # dimensions of which every scenario is the same in both

    @property
    def can_compare_indices(self) -> bool:
        """Whether the indices by the two versions of a protocol are the same quantity and can be
        compared.
        """
        return not self.unlike

    def is_comparable(self, key: Compared) -> bool:
        """Return whether a score is the same quantity in both versions of a protocol. *key*:
        (scenario, dimension), each None for all: a score in one scenario always is, a score over
        all scenarios may not be.
        """
        scenario, dimension = key
        return scenario is not None or (
            self.can_compare_indices if dimension is None else dimension in self.whole
        )


@dataclass(frozen=True, slots=True)
class VersionComparison:
    """One model played with two versions of a protocol: its scores by the new version minus those
    by the old one.
    """

    change: VersionChange
    found: SubjectComparison  # its first is the old version, its second the new one
    # the difference of the index is significant, and sessions alone could have made it
    by_sittings: bool = False


def find_version_change(
    old: Protocol, new: Protocol, chosen: Sequence[Configuration]
) -> VersionChange:
    """Return the differences between the versions *old* and *new* of a protocol: those of the
    *chosen* configurations whose system prompt differs, and what else differs.

    Raises WrongUse, in one line, if nothing can be compared: no prompt differs, what the judge is
    told differs, or no scenario is in both.
    """
    there = [
        configuration
        for configuration in chosen
        if configuration.system in dict(old.systems) and configuration.delivery in old.deliveries
    ]
    if lacking := [configuration for configuration in chosen if configuration not in there]:
        raise WrongUse(
            f"{_format_version_name(old)} is not played in {', '.join(map(str, lacking))}; "
            "--variants and "
            "--modes choose"
        )
    differ = tuple(
        configuration
        for configuration in there
        if old.find_system_prompt(configuration.system)
        != new.find_system_prompt(configuration.system)
    )
    for name, file in REFUSED.items():
        played = name != "tool_role" or any(
            configuration.delivery == name for configuration in differ
        )
        if played and getattr(old, name) != getattr(new, name):
            raise WrongUse(
                f"{_format_version_name(old)} and {_format_version_name(new)} differ in {file} "
                "too, so their scores do not "
                "show what the prompt does"
            )
    unlike = _describe_differences_beside_prompts(old, new)
    if not differ:
        what = (
            f"; they differ in {'; '.join(unlike)}, but the conversations that they share are "
            "the same"
            if unlike
            else ""
        )
        raise WrongUse(
            f"{_format_version_name(old)} and {_format_version_name(new)} have the same system "
            "prompt in "
            f"{', '.join(map(str, there))}{what}"
        )
    common, whole = _make_common_protocol_and_dimensions(old, new)
    if not common.scenarios or not common.dimensions:
        raise WrongUse(
            f"{_format_version_name(old)} and {_format_version_name(new)} have no scenario in "
            "common that is asked and "
            "scored in the same words"
        )
    variants = dict.fromkeys(configuration.system for configuration in differ)
    return VersionChange(
        old=old,
        new=new,
        configurations=differ,
        same=tuple(configuration for configuration in there if configuration not in differ),
        prompts=tuple(
            PromptChange(
                name, find_word_changes(old.find_system_prompt(name), new.find_system_prompt(name))
            )
            for name in variants
        ),
        unlike=unlike,
        common=common if unlike else new,
        whole=whole,
    )


def _format_version_name(protocol: Protocol) -> str:
    """Return the protocol's name and the first 8 digits of its hash, as text."""
    return f"{protocol.name} {protocol.hash[:8]}"


def _describe_differences_beside_prompts(old: Protocol, new: Protocol) -> tuple[str, ...]:
    """Return the differences between two versions of a protocol, other than system prompts, that
    change a mark or the index: a phrase each, such as "without scenario NAME"; () if there are
    none.
    """
    before, after = (
        {item.id: item.scenarios for item in protocol.every_item} for protocol in (old, new)
    )
    kind = "stem" if any(item.branches for item in new.items) else "scenario"
    sentences = []
    for word, names in (
        ("without", [name for name in before if name not in after]),
        ("with", [name for name in after if name not in before]),
    ):
        if names:
            sentences.append(f"{word} {kind} {', '.join(names)}")
    both = [name for name in after if name in before and before[name] != after[name]]
    rubrics = [
        {r.name: r for part in of.values() for one in part for r in one.rubrics}
        for of in (before, after)
    ]
    changed = [
        name for name, rubric in rubrics[1].items() if rubrics[0].get(name, rubric) != rubric
    ]
    if changed:
        sentences.append(f"rubric {', '.join(changed)}")
    if worded := [
        name for name in both if _remove_rubrics(before[name]) != _remove_rubrics(after[name])
    ]:
        sentences.append(f"{kind} {', '.join(worded)}")
    elif both and not changed:
        sentences.append(f"rubrics of {kind} {', '.join(both)}")
    mine, theirs = (
        {d.name: (d.marks, d.weight, d.inverted) for d in protocol.dimensions}
        for protocol in (old, new)
    )
    if dimensions := [name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name)]:
        sentences.append(f"dimension {', '.join(dimensions)}")
    return tuple(sentences)


def _remove_rubrics(scenarios: Sequence[Scenario]) -> list[Scenario]:
    """Return copies of *scenarios* without their rubrics."""
    return [replace(scenario, rubrics=()) for scenario in scenarios]


def _make_common_protocol_and_dimensions(
    old: Protocol, new: Protocol
) -> tuple[Protocol, tuple[str, ...]]:
    """Return a copy of the protocol *new* with only the items that *old* has in the same words and
    the dimensions that these items give, all with equal weights; and the names of those dimensions
    of which every item is the same in both versions.
    """
    before = {item.id: item.scenarios for item in old.items}
    shared = [item for item in new.items if before.get(item.id) == item.scenarios]
    same = {item.id for item in shared}
    given = {mark.name for item in shared for mark in item.marks}
    known = {dimension.name: dimension for dimension in old.dimensions}

    def is_same_dimension(one: Dimension, other: Dimension | None) -> bool:
        """Return whether dimension *other* exists and has the same marks and direction as *one*."""
        return other is not None and (one.marks, one.inverted) == (other.marks, other.inverted)

    dimensions = [
        dimension
        for dimension in new.dimensions
        if set(dimension.marks) <= given and is_same_dimension(dimension, known.get(dimension.name))
    ]
    whole = [
        dimension.name
        for dimension in dimensions
        if all(_find_marking_items(protocol, dimension) <= same for protocol in (old, new))
    ]
    # nobody sees an index of these weights; they have to add up to something
    weighed = tuple(replace(dimension, weight=100 / len(dimensions)) for dimension in dimensions)
    scenarios = tuple(scenario for item in shared for scenario in item.scenarios)
    return replace(new, scenarios=scenarios, dimensions=weighed), tuple(whole)


def _find_marking_items(protocol: Protocol, dimension: Dimension) -> set[str]:
    """Return the ids of the items of *protocol* that have a mark of *dimension*."""
    return {
        item.id
        for item in protocol.items
        if any(mark.name in dimension.marks for mark in item.marks)
    }


def find_word_changes(before: str, after: str) -> tuple[WordChange, ...]:
    """Return the places where the texts *before* and *after* differ, word by word; () if they
    differ in nothing but white space.

    If too many words differ to be compared one by one, a single change goes from the first word
    that differs to the last.
    """
    one, other = before.split(), after.split()
    start, end = 0, 0
    shorter = min(len(one), len(other))
    while start < shorter and one[start] == other[start]:
        start += 1
    while end < shorter - start and one[-1 - end] == other[-1 - end]:
        end += 1
    mine, theirs = one[start : len(one) - end], other[start : len(other) - end]
    if max(len(mine), len(theirs)) > MOST_WORDS:
        blocks: Sequence[tuple[str, int, int, int, int]] = [
            ("replace", 0, len(mine), 0, len(theirs))
        ]
    else:
        blocks = SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes()
    return tuple(
        WordChange(
            " ".join(one[max(start + a - CONTEXT, 0) : start + a]),
            " ".join(mine[a:b]),
            " ".join(theirs[c:d]),
            " ".join(one[start + b : start + b + CONTEXT]),
        )
        for tag, a, b, c, d in blocks
        if tag != "equal"
    )


# ---------------------------------------------------------------- two boards


def find_old_version_board(
    change: VersionChange, new_version_board: Board, boards: Sequence[Board]
) -> Board | None:
    """Return the leaderboard among *boards*, all by the old version of a protocol, that the same
    judges have judged as *new_version_board*, the new version's leaderboard, in the configurations
    that are compared; None if there is none.
    """
    wanted, judges = set(change.configurations), set(new_version_board.judge_hashes)
    return next(
        (
            board
            for board in boards
            if judges and set(board.judge_hashes) == judges and wanted <= set(board.configurations)
        ),
        None,
    )


def compare_versions(
    change: VersionChange, old: Board, new: Board, pairs: Sequence[tuple[Row, Row]]
) -> list[VersionComparison]:
    """Return the comparison of one model's scores by two versions of a protocol, new minus old, for
    each of *pairs*: the model's row on the leaderboard *old* and its row on the leaderboard *new*,
    by the same judge.
    """
    return [_compare_rows(change, old, new, *pair) for pair in pairs]


def _compare_rows(
    change: VersionChange, old: Board, new: Board, before: Row, after: Row
) -> VersionComparison:
    """Return the comparison of one model's scores by two versions of a protocol, new minus old: its
    row *before* on the leaderboard *old* and its row *after* on the leaderboard *new*.
    """
    protocol, configurations = change.common, change.configurations
    marks = [
        _select_common_marks(row.marks, change) if row.excluded is None else {}
        for row in (before, after)
    ]
    scores = [OWN.score(protocol, configurations, mark)[1] if mark else None for mark in marks]
    complete = all(score is not None and score.index is not None for score in scores)
    together = measure_board(protocol, configurations, marks if complete else [])
    shown = [score or SubjectScore(0, {}, {}, None, None) for score in scores]
    rows = [
        replace(
            row,
            label=f"{row.label} by {_format_version_name(version)}",
            score=score if change.can_compare_indices else replace(score, index=None),
            marks=one,
        )
        for row, version, score, one in zip(
            (before, after), (old.protocol, new.protocol), shown, marks, strict=True
        )
    ]
    board = replace(
        new,
        protocol=protocol,
        configurations=configurations,
        ranked=tuple(rows),
        incomplete=(),
        uncertainty=together,
        uncertainty_by_configuration={},
        jurors=(),
    )
    lacking = [
        row.label
        for row, score in zip(rows, scores, strict=True)
        if score is None or score.index is None
    ]
    why_no_interval = (
        tuple(f"no interval: {label} is incomplete" for label in lacking)
        or together.explain_no_intervals()
    )
    known = estimate_second_minus_first(together, [(0, 1)])[0] if complete else {}
    values = [
        {
            key: value
            for key, value in compute_compared_values(protocol, configurations, score, one).items()
            if change.is_comparable(key)
        }
        for score, one in zip(scores, marks, strict=True)
    ]
    comparison = compare_sides(protocol, values, known, why_no_interval)
    index = comparison.index
    decided = (
        index is not None
        and index.uncertainty.rerun is not None
        and not index.uncertainty.rerun.contains(0.0)
    )
    by_sittings = False
    if decided:
        made = [list_run_sessions(row) for row in (before, after)]
        allowed = measure_board(protocol, configurations, marks, sittings=made).estimate_difference(
            INDEX, 1, 0
        )
        by_sittings = allowed.uncertainty.rerun is None or allowed.uncertainty.rerun.contains(0.0)
    found = SubjectComparison(board, rows[0], rows[1], comparison)
    return VersionComparison(change, found, by_sittings)


def _select_common_marks(marks: RunMarks, change: VersionChange) -> dict[int, dict[Slot, Marks]]:
    """Return run -> (configuration, item) -> the judge's marks, those of *marks* that are of items
    which both versions of a protocol have, in the configurations that are compared.
    """
    names = {item.id for item in change.common.items}
    return {
        run: {
            slot: given
            for slot, given in of.items()
            if slot[0] in change.configurations and slot[1] in names
        }
        for run, of in marks.items()
    }
