"""The names that models give themselves, counted. Pure: other modules find the names in the replies."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Named:
    """A name that a subject gave itself in one run."""

    subject: str  # label
    run: int
    name: str
    scenario: str = ""  # in which


@dataclass(frozen=True, slots=True)
class NameCount:
    """One name, however it was written, and who chose it."""

    name: str  # as it was written most often
    times: int
    subjects: tuple[str, ...]  # labels, by the alphabet
    scenarios: tuple[tuple[str, int], ...] = ()  # (scenario, times), by the alphabet


def count_names(named: Sequence[Named]) -> list[NameCount]:
    """Every name, the one that most subjects chose first. Case and spaces around make no other name."""
    groups: dict[str, list[Named]] = defaultdict(list)
    for pick in named:
        if pick.name.strip():
            groups[pick.name.strip().casefold()].append(pick)
    counts = []
    for mine in groups.values():
        written = Counter(pick.name.strip() for pick in mine)
        most_often = min(written, key=lambda spelling: (-written[spelling], spelling))
        scenarios = sorted(Counter(pick.scenario for pick in mine).items())
        subjects = sorted({pick.subject for pick in mine})
        counts.append(NameCount(most_often, len(mine), tuple(subjects), tuple(scenarios)))
    return sorted(counts, key=lambda count: (-len(count.subjects), -count.times, count.name))


@dataclass(frozen=True, slots=True)
class ScenarioNames:
    """What one scenario's conversations gave."""

    scenario: str
    conversations: int
    named: int  # of those: with a name, or several
    picks: int  # names that were chosen in them
    names: int  # different ones


def count_by_scenario(picks: Sequence[tuple[str, Sequence[str]]]) -> list[ScenarioNames]:
    """Of each scenario, in the order of the alphabet; *picks* are (scenario, names chosen) of each conversation."""
    counts = []
    for scenario in sorted({scenario for scenario, _ in picks}):
        mine = [names for place, names in picks if place == scenario]
        every = [name.strip().casefold() for names in mine for name in names]
        counts.append(ScenarioNames(scenario, len(mine), sum(bool(names) for names in mine), len(every), len({*every})))
    return counts


def unique_names(counts: Sequence[NameCount]) -> list[NameCount]:
    """Those that one subject alone chose, the most often chosen first."""
    return [count for count in counts if len(count.subjects) == 1]


@dataclass(frozen=True, slots=True)
class Naming:
    """The names that models gave themselves when they were free to choose who to be."""

    counts: tuple[NameCount, ...] = ()  # the name that most subjects chose first
    conversations: int = 0  # in which they chose who to be; 0: none, or not looked for
    declined: int = 0  # of those: went by no name
    unread: int = 0  # of those: no model has read them
    by_scenario: tuple[ScenarioNames, ...] = ()

    @property
    def unique(self) -> tuple[NameCount, ...]:
        """The names that one subject alone chose, the most often chosen first."""
        return tuple(unique_names(self.counts))

    @property
    def times(self) -> int:
        """How many names were chosen, in all conversations."""
        return sum(count.times for count in self.counts)


@dataclass(frozen=True, slots=True)
class Choosing:
    """One conversation in which a subject chose who to be."""

    subject: str  # label
    run: int
    scenario: str
    picks: tuple[str, ...]  # the names that it chose
    state: str  # of its name: chosen, declined, unsaid, unread


def count_choices(conversations: Sequence[Choosing]) -> Naming:
    """What all of them come to, however many protocols and subjects they are of."""
    named = [
        Named(played.subject, played.run, name, played.scenario) for played in conversations for name in played.picks
    ]
    states = Counter(played.state for played in conversations)
    by_scenario = count_by_scenario([(played.scenario, played.picks) for played in conversations])
    return Naming(
        tuple(count_names(named)), len(conversations), states["declined"], states["unread"], tuple(by_scenario)
    )
