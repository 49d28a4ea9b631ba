"""What a search can be narrowed to: subject, scenario, and the mark that the main judge gave."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from independence_bench.protocol.definition import Mark
from independence_bench.viewer.postings import distances
from independence_bench.viewer.snapshot import Catalog, Edition, StoredTranscript

FEW = 3  # a scale that is no longer has each of its numbers by itself
BANDS = 3  # parts of a longer one


@dataclass(frozen=True, slots=True)
class SearchBand:
    """The documents whose mark lies in one part of its scale: their numbers' distances, as in `SearchWords`."""

    title: str
    documents: str


@dataclass(frozen=True, slots=True)
class SearchMark:
    """A mark by the main judge of its protocol, the parts of its scale from low to high."""

    id: str
    name: str
    protocol: str  # name
    bands: tuple[SearchBand, ...]


@dataclass(frozen=True, slots=True)
class SearchFacets:
    """`api/search/<build>/facets/0.json`: what to narrow a search to."""

    subjects: tuple[str, ...]  # labels
    subject: tuple[int, ...]  # of each document: the place of its subject's label
    scenarios: tuple[str, ...]  # titles
    scenario: tuple[int, ...]
    marks: tuple[SearchMark, ...]


Documents = Sequence[tuple[Edition, StoredTranscript]]


def search_facets(catalog: Catalog, stored: Documents) -> SearchFacets:
    """The facets of the documents *stored*, whose places are their numbers."""
    labels = [catalog.labels[one.row.subject_hash] for _, one in stored]
    titles = [one.scenario.title for _, one in stored]
    subjects, scenarios = sorted(set(labels), key=str.casefold), list(dict.fromkeys(titles))
    of_subject = {label: number for number, label in enumerate(subjects)}
    of_scenario = {title: number for number, title in enumerate(scenarios)}
    return SearchFacets(
        subjects=tuple(subjects),
        subject=tuple(of_subject[label] for label in labels),
        scenarios=tuple(scenarios),
        scenario=tuple(of_scenario[title] for title in titles),
        marks=tuple(mark for edition in catalog.editions.values() for mark in _marks(catalog, edition, stored)),
    )


def band_of(mark: Mark, value: float) -> tuple[int, str]:
    """The part of the mark's scale that *value* lies in: its number from the low end, and its name."""
    if mark.kind == "yes_no":
        return (1, "yes") if value >= 0.5 else (0, "no")
    number = round(value)
    if mark.levels:
        return number, mark.levels[number]
    low, length = round(mark.low), round(mark.high) - round(mark.low)
    if length <= FEW:
        return number - low, str(number)
    edges = [low + (length + 1) * part // BANDS for part in range(BANDS + 1)]
    part = next((part for part in range(BANDS) if number < edges[part + 1]), BANDS - 1)
    return part, f"{edges[part]} to {edges[part + 1] - 1}"


def _marks(catalog: Catalog, edition: Edition, stored: Documents) -> list[SearchMark]:
    """The marks that the edition's main judge gave, in the order of its scenarios; none where nobody judged."""
    main = next((board.main_judge for board in catalog.boards(edition).values()), None)
    given = {
        about: one.marks
        for about, every in catalog.judgements(edition).items()
        for one in every
        if one.reason is None and catalog.judges.get(one.judge_hash) == main
    }
    found: dict[str, dict[tuple[int, str], list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, (whose, one) in enumerate(stored):
        if whose is edition and one.key in given and one.row.state != "invalid":
            for mark in one.scenario.marks:
                if (value := given[one.key].get(mark.name)) is not None:
                    found[mark.name][band_of(mark, value)].append(number)
    return [
        SearchMark(
            id=f"{edition.id}.{name}",
            name=name,
            protocol=edition.protocol.name,
            bands=tuple(SearchBand(title, distances(numbers)) for (_, title), numbers in sorted(bands.items())),
        )
        for name, bands in found.items()
    ]
