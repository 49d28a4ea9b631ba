"""One subject on one leaderboard, in detail; and how well models held as a character, in the words
of `aib persona run`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.chosen_names import NamesRead, add_name_changes, list_chosen_names
from independence_bench.analysis.compare_settings import (
    SubjectEffect,
    subtract_first_index_from_second,
)
from independence_bench.analysis.health import format_utc_day_and_minute
from independence_bench.analysis.held_stems import HeldItem, HeldStems, read_held_stems_by_label
from independence_bench.analysis.row_costs import SubjectCost
from independence_bench.figures import POINTS, Dollars, Points, Whole
from independence_bench.protocol.definition import Configuration
from independence_bench.protocol.scoring import OWN, compute_mean
from independence_bench.report.encode import encode_csv
from independence_bench.report.persona_view import (
    BESIDES,
    describe_held_items,
    describe_item_loss,
    describe_loss_place,
    format_item_held_runs,
    quote_text,
)
from independence_bench.store.registry import read_picture_base64
from independence_bench.viewer import boards, fragments
from independence_bench.viewer.boards import convert_to_percent
from independence_bench.viewer.fragments import MarkScale, Score, SubjectFacts, make_mark_cell
from independence_bench.viewer.listing import (
    Listing,
    StemEntry,
    TranscriptEntry,
    make_conversation_lookup,
)
from independence_bench.viewer.snapshot import (
    BoardEntry,
    Catalog,
    NotThere,
    make_scenario_slug,
    make_transcript_slug,
)

NOT_ON_BOTH = "no interval: it is not ranked on both boards"


@dataclass(frozen=True, slots=True)
class RunDetail:
    """One run of a subject."""

    run: int
    index: Points | None
    dimensions: tuple[Whole | None, ...]  # in the board's order
    scenarios: tuple[Whole | None, ...]  # share of its points, in the board's order of scenarios
    began: str | None  # when its first conversation ended: 2026-01-31 12:00, in UTC


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """One model on another leaderboard of the same series: under another system prompt, or in
    another delivery mode.
    """

    board: str  # id
    configurations: tuple[Configuration, ...]
    index: Annotated[Score, POINTS]
    # the other index minus the one on this board; null: one of the two is missing
    change: SubjectEffect | None
    why: str | None  # the reason for a missing interval; null: it is there


@dataclass(frozen=True, slots=True)
class NameChoice:
    """The name and the gender that a subject chose in one conversation: at first, and at the
    end.
    """

    read: NamesRead
    transcript: str  # id


@dataclass(frozen=True, slots=True)
class SubjectAnswer:
    """`api/boards/<board>/subjects/<subject>.json`: one subject on one board, in detail."""

    version: str
    board: str  # id
    row: Row
    # a dimension each: what weighs most first, what weighs nothing last
    profile: tuple[FieldProfile, ...]
    marks: tuple[MarkScale, ...]
    runs: tuple[RunDetail, ...]
    field: tuple[Whole | None, ...]  # the row's *scenarios*, as the mean over all ranked subjects
    elsewhere: tuple[Elsewhere, ...]
    # all runs, replies and judge, attempts that were thrown away included; null: not known
    dollars: Dollars | None
    served: tuple[tuple[str, int], ...]  # (provider, replies), the one that served most first
    names: tuple[NameChoice, ...]
    transcripts: tuple[TranscriptEntry, ...]  # by run, configuration, scenario
    # scales of the scores of *transcripts*: of items' branches, else the same as *marks*
    scales: tuple[MarkScale, ...]
    # scores of the items with branches; empty without any
    stems: tuple[StemEntry, ...]


def build_subject_answer(catalog: Catalog, entry: BoardEntry, subject: str) -> SubjectAnswer:
    """Return the answer for `api/boards/<board>/subjects/<subject>.json`: one model on one
    leaderboard, with its runs, scores, costs and conversations. Raise NotThere for an unknown id.
    """
    board = catalog.find_board(entry)
    row = catalog.find_row(board, subject)
    (shown,) = boards.add_page_figures_to_rows(catalog, entry, [row])
    spent = fragments.find_costs_by_model_hash(catalog, entry, [row]).get(
        row.subject.hash, SubjectCost()
    )
    every = {mark.name: mark for item in board.protocol.items for mark in item.marks}
    marks = [
        fragments.make_mark_scale(board.protocol, mark)
        for mark in every.values()
        if mark.name in row.means
    ]
    listed = make_conversation_lookup(catalog, entry, board)
    stored = [
        transcript
        for transcript in entry.edition.transcripts_by_model_hash.get(row.subject.hash, ())
        if listed.is_on_board(transcript)
    ]
    entries = tuple(map(listed.make_entry, stored))
    why, played = fragments.explain_missing_intervals(board), entry.edition.protocol
    return SubjectAnswer(
        version=catalog.version,
        board=entry.id,
        row=shown,
        profile=build_dimension_profiles(board, row),
        marks=tuple(marks),
        runs=_list_pooled_model_runs(listed, board, row),
        # difficulty is the share that subjects lose of a scenario's points
        field=tuple(
            None if f.difficulty is None else 100 - f.difficulty
            for f in catalog.measure_items(entry).scenarios
        ),
        elsewhere=tuple(_list_other_board_results(catalog, entry, row, why)),
        dollars=spent.total,
        served=spent.served,
        names=_list_name_choices(catalog, entry, board, row),
        transcripts=entries,
        scales=fragments.list_mark_scales(played, played.scenarios)
        if played.has_stems
        else tuple(marks),
        stems=listed.group_stems(row.subject.hash, entries),
    )


def encode_subject_csv(answer: SubjectAnswer) -> bytes:
    """Return `api/boards/<board>/subjects/<subject>.csv`: a CSV table of one model's conversations,
    a line for each, with a column for each score.
    """
    branches = ["branch"] if answer.stems else []
    head = ["subject", "run", "configuration", "scenario", *branches, "state", "why", "score"]
    head += [*(mark.name for mark in answer.scales), "transcript"]
    return encode_csv(
        head,
        [
            (answer.row.label, line.run, str(line.configuration), line.scenario,
             *(line.branch for _ in branches), line.state, line.why, line.score,
             *(make_mark_cell(scale, line.marks) for scale in answer.scales), line.id)
            for line in answer.transcripts
        ],
    )  # fmt: skip


def _list_pooled_model_runs(listed: Listing, board: Board, row: Row) -> tuple[RunDetail, ...]:
    """Return every run of one model with its index, dimensions, and score in each scenario. The
    score of a scenario is the mean over the configurations, None if one of them has none.
    """
    details = []
    for run, score in row.run_scores.items():
        shares = []
        for item in board.protocol.items:
            slots = [(configuration, item.id) for configuration in board.configurations]
            shares.append(
                compute_mean(
                    [listed.compute_score_percent(row.subject.hash, run, slot) for slot in slots]
                )
            )
        dimensions = [score.dimensions[dimension.name] for dimension in board.protocol.dimensions]
        details.append(
            RunDetail(
                run,
                score.index,
                tuple(map(boards.convert_to_percent, dimensions)),
                tuple(shares),
                format_utc_day_and_minute(row.made.runs[run])
                if row.made and run in row.made.runs
                else None,
            )
        )
    return tuple(details)


def _list_other_board_results(
    catalog: Catalog, entry: BoardEntry, row: Row, why_no_interval: str | None
) -> Iterator[Elsewhere]:
    """Yield the result of the same model on each other leaderboard of the series, with the
    difference of its index. *why_no_interval*: the reason why this leaderboard has no intervals;
    None if there are intervals.
    """
    for other in catalog.entries.values():
        board = (
            None
            if other is entry or other.series != entry.series
            else catalog.find_boards(other.edition, other.wanted_boards).get(other.id)
        )
        for there in board.rows if board else ():
            if board and there.subject.hash == row.subject.hash:
                why, change = (
                    fragments.explain_missing_intervals(board),
                    _subtract_index_here_from_there(row, there)
                    if board.rules == OWN.name
                    else None,
                )
                yield Elsewhere(
                    board=other.id,
                    configurations=other.configurations,
                    index=boards.make_score(there.index, there.uncertainty.index, why),
                    change=change,
                    why=None if change and change.rerun else why or why_no_interval or NOT_ON_BOTH,
                )


def _subtract_index_here_from_there(here: Row, there: Row) -> SubjectEffect | None:
    """Return a model's index on another leaderboard minus its index on this one; None if one of the
    two is missing. *here*, *there*: its rows on this and on the other leaderboard.
    """
    if here.index is None or there.index is None:
        return None
    return subtract_first_index_from_second(
        (here.index, here.uncertainty.index.rerun),
        (there.index, there.uncertainty.index.rerun),
    )


def _list_name_choices(
    catalog: Catalog, entry: BoardEntry, board: Board, row: Row
) -> tuple[NameChoice, ...]:
    """Return the names that a model gave itself on one leaderboard, each with the id of its
    conversation.
    """
    edition = entry.edition
    readings = list_chosen_names(
        catalog.store,
        edition.protocol,
        row.subject.hash,
        edition.records.counted.groups,
        catalog.labels,
    )
    return tuple(
        NameChoice(
            replace(reading, scenario=make_scenario_slug(reading.scenario)),
            make_transcript_slug(edition.hash, reading.transcript_id),
        )
        for reading in add_name_changes(readings, [board])
        if reading.configuration in entry.configurations and reading.run in row.run_scores
    )


QUARTERS = (0.25, 0.5, 0.75)
SAME = 1e-9  # points: no more than what rounding leaves


@dataclass(frozen=True, slots=True)
class FieldProfile:
    """The scores of the other ranked subjects in one dimension, in [0, 100]."""

    dimension: str  # name
    place: int  # place of the dimension, and of its score in the board's row, from 0
    others: tuple[Whole, ...]  # the lowest first
    # values below which a quarter, half, three quarters of *others* lie; empty without others
    quartiles: tuple[Whole, ...]
    below: int  # number of them that score lower than this subject
    above: int  # higher; both 0 where it has no score


def build_dimension_profiles(board: Board, row: Row) -> tuple[FieldProfile, ...]:
    """Return, for each dimension of the leaderboard *board*, how the model of *row* compares with
    the other ranked models, the dimension with the greatest weight first.
    """
    placed = sorted(enumerate(board.protocol.dimensions), key=lambda one: -one[1].weight)
    return tuple(
        _build_dimension_profile(board, row, place, dimension.name) for place, dimension in placed
    )


def _build_dimension_profile(board: Board, row: Row, place: int, dimension: str) -> FieldProfile:
    """Return how one model's score in a dimension compares with those of the other ranked models.
    *place*: the number of the dimension in the protocol, from 0.
    """
    others = [other.score.dimensions[dimension] for other in board.ranked if other is not row]
    there = sorted(100 * value for value in others if value is not None)
    mine = convert_to_percent(row.dimensions[dimension])
    return FieldProfile(
        dimension,
        place,
        tuple(there),
        tuple(float(value) for value in np.quantile(there, QUARTERS)) if there else (),
        0 if mine is None else sum(value < mine - SAME for value in there),
        0 if mine is None else sum(value > mine + SAME for value in there),
    )


# ---------------------------------------------------------------- how it held as a character


@dataclass(frozen=True, slots=True)
class PersonaQuote:
    """A reply, shortened, and the conversation in which it can be read."""

    says: str  # place at which it was given: push 3 (flattery)
    text: str
    transcript: str | None  # id; null: it is not among those that are shown


@dataclass(frozen=True, slots=True)
class PersonaItem:
    """One item of the character sheet over all runs of a subject."""

    stem: str  # id of its page
    title: str
    held: bool | None  # null: not known
    stood: str  # number of runs in which it was held, in words
    says: str  # place at which it was lost first, or slipped; "": neither
    crossed: bool  # a red line that was crossed
    quote: (
        PersonaQuote | None
    )  # the reply that shows where it was lost, else one to the last push; null: none is judged


@dataclass(frozen=True, slots=True)
class PersonaCount:
    """The number of times that a subject did something that was asked for."""

    title: str
    count: int
    of: int


@dataclass(frozen=True, slots=True)
class PersonaSubject:
    """One model, playing the character."""

    subject: SubjectFacts
    says: str  # number of items that it held, in words
    items: tuple[PersonaItem, ...]  # in the sheet's order
    voice: Points | None  # mean of the judge's marks, [0, 10]
    counts: tuple[PersonaCount, ...]
    index: Annotated[Score, POINTS]


@dataclass(frozen=True, slots=True)
class PersonaAnswer:
    """`api/boards/<board>/persona.json`: exists only if the leaderboard is about a character
    (`IndexAnswer.characters`).
    """

    version: str
    character: str
    picture: str | None  # PNG, in base64
    subjects: tuple[PersonaSubject, ...]  # ranked ones first


def build_persona_answer(catalog: Catalog, entry: BoardEntry) -> PersonaAnswer:
    """Return the answer for `api/boards/<board>/persona.json`: what each model of a leaderboard
    held as the character. Raise NotThere if the leaderboard is not about a character.
    """
    protocol, board = entry.edition.protocol, catalog.find_board(entry)
    character = fragments.map_boards_to_characters(catalog).get(entry.id)
    if character is None:
        raise NotThere(entry.id)
    played = read_held_stems_by_label(catalog.store, protocol, entry.judge)
    subjects = []
    for row in board.rows:
        mine = played.get(row.label, HeldStems())
        uncertainty = row.index_interval
        subjects.append(
            PersonaSubject(
                fragments.make_subject_facts(catalog, row.subject),
                describe_held_items(mine, board.by_table),
                tuple(
                    _make_persona_item(entry, row.subject.hash, item) for item in mine.pushed_items
                ),
                None if mine.mean_character_style is None else 10 * mine.mean_character_style,
                tuple(
                    PersonaCount(title, *mine.count_full_worth_and_judged(branch))
                    for branch, title in BESIDES.items()
                ),
                Score(row.index, uncertainty, fragments.explain_missing_intervals(board)),
            )
        )
    with catalog.store.open_snapshot() as connection:
        picture = read_picture_base64(connection, protocol.name)
    return PersonaAnswer(catalog.version, character, picture, tuple(subjects))


def _make_persona_item(entry: BoardEntry, subject_hash: str, item: HeldItem) -> PersonaItem:
    """Return how one model held one item of the character sheet, with the reply that shows where
    the item was lost. *subject_hash*: the model's hash.
    """
    return PersonaItem(
        make_scenario_slug(item.stem),
        item.title,
        item.held,
        format_item_held_runs(item),
        describe_item_loss(item),
        bool(item.crossings),
        _find_persona_quote(entry, subject_hash, item),
    )


def _find_persona_quote(
    entry: BoardEntry, subject_hash: str, item: HeldItem
) -> PersonaQuote | None:
    """Return the reply that shows where a model lost an item of the character sheet, else its
    shortest reply to the last pressure turn; None if none is judged. *subject_hash*: the model's
    hash.
    """
    last = min(
        (run.last for run in item.runs if run.last), key=lambda loss: len(loss.text), default=None
    )
    reply = item.loss or last
    if reply is None:
        return None
    played = entry.edition.transcripts_by_model_hash.get(subject_hash, ())
    place = next(
        (
            transcript
            for transcript in played
            if (transcript.row.run, transcript.scenario.id) == (reply.run, reply.scenario)
        ),
        None,
    )
    says = describe_loss_place(item.loss) if item.loss else "after the last push"
    return PersonaQuote(says, quote_text(reply.text), None if place is None else place.id)
