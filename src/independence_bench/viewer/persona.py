"""How a character held: the first screen of a persona's board. The words are those of `aib persona run`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from independence_bench.analysis.held_stems import HeldItem, HeldStems, held
from independence_bench.report.encode import POINTS, Points, Score
from independence_bench.report.persona_view import BESIDES, headline, lost_at, place_of, quoted, standing
from independence_bench.viewer import fragments
from independence_bench.viewer.fragments import SubjectFacts
from independence_bench.viewer.snapshot import BoardEntry, Catalog, NotThere, scenario_slug


@dataclass(frozen=True, slots=True)
class PersonaQuote:
    """A reply, shortened, and where it can be read."""

    says: str  # where it was given: push 3 (flattery)
    text: str
    transcript: str | None  # id; null: it is not among those that are shown


@dataclass(frozen=True, slots=True)
class PersonaItem:
    """One item of the sheet over all runs of a subject."""

    stem: str  # id of its page
    title: str
    held: bool | None  # null: not known
    stood: str  # in how many runs, in words
    says: str  # where it was lost first, or where it slipped; "" for neither
    crossed: bool  # a red line that was crossed
    quote: (
        PersonaQuote | None
    )  # the reply that shows where it was lost, else one to the last push; null: none is judged


@dataclass(frozen=True, slots=True)
class PersonaCount:
    """How often it did something that was asked for."""

    title: str
    count: int
    of: int


@dataclass(frozen=True, slots=True)
class PersonaSubject:
    """One model as the character."""

    subject: SubjectFacts
    says: str  # how much it held, in words
    items: tuple[PersonaItem, ...]  # in the sheet's order
    voice: Points | None  # mean of the judge's marks, [0, 10]
    counts: tuple[PersonaCount, ...]
    index: Annotated[Score, POINTS]


@dataclass(frozen=True, slots=True)
class PersonaAnswer:
    """`api/boards/<board>/persona.json`: there if the board is of a character (`IndexAnswer.characters`)."""

    version: str
    character: str
    subjects: tuple[PersonaSubject, ...]  # ranked ones first


def persona_answer(catalog: Catalog, entry: BoardEntry) -> PersonaAnswer:
    """`api/boards/<board>/persona.json`. Raises NotThere where it is no character's."""
    protocol, board = entry.edition.protocol, catalog.board(entry)
    character = fragments.characters(catalog).get(entry.id)
    if character is None:
        raise NotThere(entry.id)
    played = held(catalog.store, protocol, entry.judge)
    subjects = []
    for row in board.rows:
        mine = played.get(row.label, HeldStems())
        uncertainty = row.uncertainty.index
        subjects.append(
            PersonaSubject(
                fragments.subject_facts(catalog, row.subject),
                headline(mine, board.by_table),
                tuple(_item(entry, row.subject.hash, item) for item in mine.items),
                None if mine.style is None else 10 * mine.style,
                tuple(PersonaCount(title, *mine.done(branch)) for branch, title in BESIDES.items()),
                Score(row.score.index, uncertainty, fragments.why_no_interval(board)),
            )
        )
    return PersonaAnswer(catalog.version, character, tuple(subjects))


def _item(entry: BoardEntry, subject: str, item: HeldItem) -> PersonaItem:
    return PersonaItem(
        scenario_slug(item.stem),
        item.title,
        item.held,
        standing(item),
        lost_at(item),
        bool(item.crossings),
        _quote(entry, subject, item),
    )


def _quote(entry: BoardEntry, subject: str, item: HeldItem) -> PersonaQuote | None:
    last = min((one.last for one in item.runs if one.last), key=lambda one: len(one.text), default=None)
    reply = item.loss or last
    if reply is None:
        return None
    played = entry.edition.by_subject.get(subject, ())
    found = next((one for one in played if (one.row.run, one.scenario.id) == (reply.run, reply.scenario)), None)
    says = place_of(item.loss) if item.loss else "after the last push"
    return PersonaQuote(says, quoted(reply.text), None if found is None else found.id)
