"""The parts that several answers share: from the benchmark's values to shapes. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import fsum

from independence_bench import __version__
from independence_bench.analysis.item_analysis import MarkWeight
from independence_bench.analysis.judge_agreement import family_of
from independence_bench.analysis.spending import SubjectCost
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.definition import Ask, Dimension, Mark, Protocol, Says
from independence_bench.protocol.definition import Scenario as Played
from independence_bench.viewer.shapes import (
    BoardEntry,
    Citation,
    DimensionFacts,
    MarkScale,
    ProtocolEntry,
    Said,
    Served,
    SubjectFacts,
)
from independence_bench.viewer.snapshot import Catalog, Edition, Ranking, series_id, subject_id

NAME = "AI Independence Bench"


def moment(seconds: float | None) -> str | None:
    """A time as ISO 8601 in UTC, to the second."""
    return None if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def protocol_entry(catalog: Catalog, edition: Edition) -> ProtocolEntry:
    """What is said of a protocol wherever it is named."""

    def made() -> ProtocolEntry:
        protocol = edition.protocol
        board = next(iter(catalog.boards(edition).values()), None)
        return ProtocolEntry(
            id=edition.id,
            name=board.protocol_name if board else protocol.name,
            title=protocol.title,
            hash=edition.hash,
            runs=protocol.runs,
            scenarios=len(protocol.scenarios),
            transcripts=len(edition.transcripts),
        )

    return catalog.kept(f"entry of {edition.id}", made)


def board_entry(ranking: Ranking) -> BoardEntry:
    """What is said of a board wherever it is listed."""
    return BoardEntry(
        id=ranking.id,
        protocol=ranking.edition.id,
        configurations=tuple(map(str, ranking.configurations)),
        default_configuration=ranking.configurations == ranking.edition.protocol.configurations,
        judge=ranking.judge,
        judge_kind=ranking.kind,
        judges=ranking.judges,
        main=ranking.main,
        rules=ranking.rules,
        weights=ranking.weights,
        series=series_id(ranking),
    )


def citation(catalog: Catalog, ranking: Ranking | None = None) -> Citation:
    """How to cite the whole, or one board."""
    day = (moment(catalog.held.newest) or "")[:10]
    what = f"{NAME} {__version__}"
    if ranking is not None:
        protocol = ranking.edition.protocol
        what += (
            f", protocol {protocol.name} ({ranking.edition.hash[:12]}), {' + '.join(map(str, ranking.configurations))}"
        )
        what += f", judged by {ranking.judge}" if ranking.judge else ", not judged"
        what += "" if ranking.rules == "own" else f", {ranking.rules} rules"
        what += "" if ranking.weights is None else f", weights {ranking.weights}"
    text = f"{what}. Data{f' of {day}' if day else ''}, state {catalog.version}."
    fields = {"title": f"{{{_bibtex(what)}}}", "note": f"{{Data state {catalog.version}}}"}
    if day:
        fields["year"] = f"{{{day[:4]}}}"
    inside = ",\n".join(f"  {name} = {value}" for name, value in fields.items())
    return Citation(text, f"@misc{{independencebench{catalog.version[:8]},\n{inside}\n}}")


def _bibtex(text: str) -> str:
    """*text* without what ends a field or begins a command."""
    kept = "".join(c for c in text if c.isprintable() and c not in "{}\\")
    return "".join(f"\\{c}" if c in "%$&#_" else c for c in kept)


def subject_facts(catalog: Catalog, subject: ChatModel) -> SubjectFacts:
    """What is known of a subject."""
    return SubjectFacts(
        id=subject_id(subject),
        label=catalog.held.labels.get(subject.hash, subject.label),
        hash=subject.hash,
        name=subject.name,
        model=subject.model,
        endpoint=subject.endpoint,
        family=family_of(subject.model),
        provider=subject.provider,
        temperature=subject.temperature,
        max_tokens=subject.max_tokens,
        reasoning=subject.reasoning.value,
    )


def served(spent: SubjectCost) -> tuple[Served, ...]:
    """Who served a subject's replies."""
    return tuple(Served(provider, replies) for provider, replies in spent.served)


def dimension_facts(dimension: Dimension) -> DimensionFacts:
    """A dimension."""
    return DimensionFacts(dimension.name, dimension.title, dimension.weight, dimension.inverted, dimension.marks)


def scale(protocol: Protocol, mark: Mark) -> MarkScale:
    """A mark; one that stands in no dimension counts upwards."""
    inverted = any(mark.name in one.marks and one.inverted for one in protocol.dimensions)
    title = mark.name.replace("_", " ")
    return MarkScale(mark.name, title, mark.kind, mark.low, mark.high, inverted, mark.asks)


def script(scenario: Played) -> tuple[Said, ...]:
    """A scenario's script, line by line."""
    return tuple(
        Said("model", step.name)
        if isinstance(step, Ask)
        else Said("human" if isinstance(step, Says) else "given", step.text)
        for step in scenario.script
    )


def share_of_points(worths: Sequence[MarkWeight], marks: Mapping[str, float]) -> float | None:
    """What a transcript has of the points that it can have, in [0, 100]; None: a mark is missing, or none counts."""
    to_be_had = fsum(worth.points for worth in worths)
    if not to_be_had or any(worth.mark not in marks for worth in worths):
        return None
    return 100 * fsum(worth.earned(marks[worth.mark]) for worth in worths) / to_be_had
