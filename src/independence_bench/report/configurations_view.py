"""Configurations compared: the index in each, what prompt and tool change in it. Computes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from independence_bench.analysis.branch_values import BranchDifference
from independence_bench.analysis.compare_settings import ConfigurationComparison, Effect
from independence_bench.analysis.statistics.values import Interval
from independence_bench.report.format import between, from_to, number, plural, signed
from independence_bench.report.table import Block, Column, Legend, Name, Note, Prose, Table, Title

EFFECTS_SURE = (
    "CI: 95% interval of an effect on these scenarios, each by itself. New-subjects: if the subjects are a sample of "
    "those that might have been tested; a dash: fewer than three. Rerun: for these very subjects, over very many "
    "runs; a dash: one of them was played once, or is not ranked."
)


def configurations_view(compared: ConfigurationComparison) -> Iterator[Block]:
    """The index per configuration, what prompt and tool change in it, and what that means; for a terminal."""
    yield Title("Configurations compared", aside=("  judge: ", Prose(compared.judge or "none yet")))
    yield _places(compared)
    yield from _prompts(compared)
    if not compared.effects:
        return
    yield Note("")
    yield _effects([effect for effect in compared.effects if effect.within is None] or compared.effects)
    yield Legend(
        "points: of the index, each subject compared with itself; the mean over those that have all that is compared. "
        "main effect: averaged over the other factor; interaction: what tool_role changes with the one prompt, minus "
        f"what it changes with the other. {EFFECTS_SURE}",
        "points: of the index, each subject compared with itself. CI: 95% interval.",
    )


def configurations_report(compared: ConfigurationComparison | None) -> Iterator[Block]:
    """The same for a report, with every effect and every subject; None: nothing to compare."""
    if compared is None:
        yield Note("No subject has an index in more than one configuration, so there is nothing to compare.")
        return
    yield _places(compared)
    yield Note(
        "Mean index: over the subjects that have an index there, who need not be the same. Same subjects: over those "
        f"that have one in every configuration of the table ({compared.paired})."
    )
    yield from _prompts(compared)
    if compared.effects:
        yield _effects(compared.effects)
        yield Note(
            "Points of the index, the mean over the subjects that have all the indices needed, each compared with "
            "itself. Interaction: how much more the tool changes under the one prompt than under the other; 0 means "
            f"that prompt and tool simply add up. {EFFECTS_SURE}"
        )
    yield Table(
        [Column("Subject", words=True), *(Column(Name(place.configuration)) for place in compared.places)],
        [
            (Name(s.label), *(_with_interval(*one) for one in zip(s.indices, s.intervals, strict=True)))
            for s in compared.subjects
        ],
        "The index of every subject that has one in two configurations or more, and in brackets its rerun CI; a dash: "
        "it has none there.",
    )
    yield from _changes(compared)


def _prompts(compared: ConfigurationComparison) -> Iterator[Block]:
    """What a prompt buys in hold and costs in openness, a sentence for each; nothing where there are no stems."""
    for one in compared.prompts:
        parts = [_changed("hold (h)", one.hold), _changed("openness (e r)", one.openness)]
        yield Note("")
        yield Note(
            (
                *(Name(one.level), " instead of ", Name(one.base), f", with {one.within}, over "),
                f"{plural(one.subjects, 'subject')}: {'; '.join(parts)}.",
            ),
            "",
        )
    if compared.prompts:
        yield Note(
            "Hold and openness from 0 to 1, each stem compared with itself; intervals at 95% for these subjects, over "
            "runs and other stems of the kind, each by itself."
        )


def _changed(title: str, one: BranchDifference | None) -> str:
    if one is None:
        return f"nothing is known about {title}"
    if one.interval is None:
        return (
            f"{title} changes by {signed(one.difference, 2)} over {plural(one.stems, 'stem')}, too few for an interval"
        )
    told = "gains" if one.interval.low > 0 else "loses" if one.interval.high < 0 else "may be unchanged:"
    return f"{title} {told} {signed(one.difference, 2)} ({from_to(one.interval, 2)}, {plural(one.stems, 'stem')})"


def _places(compared: ConfigurationComparison) -> Table:
    differ = any(place.subjects != compared.paired for place in compared.places)
    paired = Column(
        "Mean index, same subjects", short=f"of the {compared.paired} in all", on=None if differ else "report"
    )
    return Table(
        [Column("Configuration", words=True), Column("Subjects"), Column("Mean index"), paired],
        [
            (Name(place.configuration), str(place.subjects), number(place.mean, 1), number(place.paired, 1))
            for place in compared.places
        ],
        gap=2,
    )


def _effects(effects: Sequence[Effect]) -> Table:
    return Table(
        [Column("What it changes", words=True), *map(Column, ("Subjects", "Points", "New-subjects CI", "Rerun CI"))],
        [(Prose(_title(e)), str(e.subjects), signed(e.points), from_to(e.sampled), from_to(e.rerun)) for e in effects],
        gap=2,
    )


def _title(effect: Effect) -> str:
    """What an effect compares, in words."""
    if effect.factor == "interaction":
        return f"tool_role and {effect.level} (not {effect.base}), interaction"
    where = "main effect" if effect.within is None else f"with {effect.within}"
    return f"{effect.level} instead of {effect.base}, {where}"


def _changes(compared: ConfigurationComparison) -> Iterator[Block]:
    """What each subject by itself shows of the main effects, or where there are none of all."""
    mains = [place for place, effect in enumerate(compared.effects) if effect.within is None]
    shown = mains or list(range(len(compared.effects)))
    if not shown:
        return
    yield Table(
        [Column("Subject", words=True), *(Column(Prose(_title(compared.effects[n]))) for n in shown)],
        [
            (
                Name(s.label),
                *(f"{signed(c.points)} ({from_to(c.rerun)})" if (c := s.changes[n]) else "–" for n in shown),
            )
            for s in compared.subjects
        ],
        "The same for each subject, in points of the index, with its 95% rerun CI in brackets: runs of two "
        "configurations have nothing in common. Of twenty effects that are 0, one is expected to seem otherwise.",
    )


def _with_interval(index: float | None, interval: Interval | None) -> str:
    return number(index, 1) + (f" ({between(interval)})" if interval else "")
