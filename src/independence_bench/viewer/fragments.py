"""The parts that several answers share, made from the catalog. A slow one is worked out once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

from sqlalchemy import Connection

from independence_bench import __version__
from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.held_stems import format_character_and_depth
from independence_bench.analysis.results import (
    ReasoningTokens,
    measure_mean_reasoning_tokens,
    measure_mean_reply_characters,
)
from independence_bench.analysis.row_costs import SubjectCost, read_subject_costs
from independence_bench.analysis.statistics.values import Uncertainty
from independence_bench.figures import Count, Dollars, Format, GivenMark, Points, Share
from independence_bench.models.spec import ChatModel, find_vendor
from independence_bench.protocol.definition import Mark, Protocol, format_mark_name
from independence_bench.protocol.definition import Scenario as Played
from independence_bench.protocol.script import Script, list_script_steps
from independence_bench.store.attempts import ANSWERED, CUT_OFF
from independence_bench.viewer.snapshot import (
    BoardEntry,
    Catalog,
    Edition,
)

NAME = "AI Independence Bench"
IN_FLIGHT = "in flight"
A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Score:
    """A number in [0, 100] with its uncertainty."""

    value: float | None
    uncertainty: Uncertainty
    why: str | None  # why an interval is missing; null where none is

    def as_text(self, form: Format) -> str | None:
        """Return the score, a number in [0, 100], as text in the format *form*; None if there is no
        score.
        """
        return None if self.value is None else form.text(self.value)


@dataclass(frozen=True, slots=True)
class Project:
    """The name and the version of this program."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class FirstReading:
    """`api/reading.json`: the progress of a server in reading its store. Every answer waits for it
    the first time.
    """

    conversations: Count | None  # in the store; null: not counted yet
    share: Share | None  # share of the work that is done, in [0, 1]; null: nothing waits for it


@dataclass(frozen=True, slots=True)
class Offer:
    """The parts of this site besides boards, subjects, scenarios, transcripts and judges."""

    # a static site: nothing changes, so there is nothing to poll, and no words can be searched
    frozen: bool
    raw: bool  # whether api/raw/ is there: requests and responses as they were sent and came
    # only the first so many rows of a board have a file in compare/; null: every row has one
    compared: int | None
    # label of the judge, a person, who may score conversations here; null: nobody
    label: str | None = None


@dataclass(frozen=True, slots=True)
class ProtocolEntry:
    """One version of the benchmark that has something stored."""

    id: str
    name: str  # with the start of its hash if it differs from the shipped one of that name
    title: str
    hash: str
    # it has no leaderboard: its conversations can be read and exported
    earlier_form: bool
    runs: int  # runs that it asks for
    scenarios: int
    transcripts: int  # stored


@dataclass(frozen=True, slots=True)
class Citation:
    """How to cite what is shown."""

    text: str
    bibtex: str


@dataclass(frozen=True, slots=True)
class IndexAnswer:
    """`api/index.json`: everything that the site has. *version* changes if anything else may have
    changed; poll it.
    """

    version: str
    project: Project
    offer: Offer
    newest: str | None  # time of the newest record
    protocols: tuple[ProtocolEntry, ...]  # the one played last first
    boards: tuple[BoardEntry, ...]  # the one to open with first
    # boards about a character, by one judge: id -> the character's name
    characters: Mapping[str, str]
    citation: Citation


@dataclass(frozen=True, slots=True)
class SubjectFacts:
    """The identity and the settings of a subject."""

    id: str
    label: str
    hash: str
    name: str  # name on a command line: the model id, after ENDPOINT: if that is not OpenRouter
    model: str
    endpoint: str
    family: str | None  # vendor
    provider: str | None  # provider that it is pinned to
    temperature: float
    max_tokens: int
    reasoning: str  # off, minimal, low, medium, high


@dataclass(frozen=True, slots=True)
class MarkScale:
    """One score that a judge gives, and its scale."""

    name: str
    title: str
    # a yes counts as 1, a no as 0; a jury's is the share of yes
    kind: Literal["number", "whole", "yes_no", "levels"]
    # their names; a mark is the number of one of them, from 0. Empty for the other kinds
    levels: tuple[str, ...]
    low: GivenMark
    high: GivenMark
    inverted: bool  # whether the low end is the independent one
    asks: str


@dataclass(frozen=True, slots=True)
class ScriptLine:
    """One line of a script; {{name}} stands for what the model said there."""

    who: Literal["human", "given", "model"]
    text: str  # for the model: the reply's name


@dataclass(frozen=True, slots=True)
class TranscriptAttempt:
    """One attempt at a call."""

    outcome: str  # answered, cut off, lost, in flight, or what went wrong
    accepted: bool  # whether its answer is the one that is stored
    why: str | None  # the error message of the server or the library; null: none
    status: int | None  # HTTP
    finish_reason: str | None
    started: str
    seconds: Points | None
    max_tokens: int
    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    dollars: Dollars | None
    model: str | None  # model that served it, by the server's word
    provider: str | None


def copy_fields(shape: Callable[..., A], source: object, **more: object) -> A:
    """Return an object of the dataclass *shape* whose fields are copied from the attributes of
    *source* with the same names; the fields in *more* get the values given there.
    """
    for name in shape.__dataclass_fields__:  # type: ignore[attr-defined]
        if name not in more:
            more[name] = getattr(source, name)
    return shape(**more)


def format_iso_time(seconds: float | None) -> str | None:
    """Format a Unix time as ISO 8601 in UTC, to the second: 2026-01-31T12:00:00Z; None for None."""
    return None if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def list_attempts(rows: Sequence[Mapping[str, Any]]) -> tuple[TranscriptAttempt, ...]:
    """Return the attempts at one model call, given as *rows* of the store, in order. The last
    attempt that brought an answer is marked as accepted, cut off or not.
    """
    stored = max((row["id"] for row in rows if row["outcome"] in (ANSWERED, CUT_OFF)), default=None)
    return tuple(_make_attempt(row, row["id"] == stored) for row in rows)


def _make_attempt(row: Mapping[str, Any], accepted: bool) -> TranscriptAttempt:
    """Return one attempt at a model call, made from its *row* in the store. *accepted*: whether its
    answer is the stored one.
    """
    renamed = {
        "outcome": row["outcome"] or IN_FLIGHT,
        "accepted": accepted,
        "why": row["message"] or None,
        "started": format_iso_time(row["started_at"]) or "",
        "dollars": row["cost"],
        "model": row["served_model"],
        "provider": row["served_provider"],
    }
    same = TranscriptAttempt.__dataclass_fields__.keys() - renamed.keys()
    return TranscriptAttempt(**renamed, **{name: row[name] for name in same})


def build_index_answer(catalog: Catalog, offer: Offer) -> IndexAnswer:
    """Return the answer for `api/index.json`: all protocols and leaderboards of a catalog, and what
    the site offers.
    """
    return IndexAnswer(
        version=catalog.version,
        project=Project(NAME, __version__),
        offer=offer,
        newest=format_iso_time(catalog.newest),
        protocols=tuple(
            make_protocol_entry(catalog, edition) for edition in catalog.editions.values()
        ),
        boards=tuple(catalog.entries.values()),
        characters=map_boards_to_characters(catalog),
        citation=make_citation(catalog),
    )


def map_boards_to_characters(catalog: Catalog) -> dict[str, str]:
    """Return the character's name by the id of each leaderboard that is about a character. A jury's
    leaderboard is left out, because each of its judges says by itself what was held.
    """
    boards = [(entry.id, entry) for entry in catalog.entries.values() if entry.judge_kind != "jury"]
    named = {id_: format_character_and_depth(entry.edition.protocol) for id_, entry in boards}
    return {id_: name for id_, name in named.items() if name is not None}


def make_protocol_entry(catalog: Catalog, edition: Edition) -> ProtocolEntry:
    """Return the name, title, hash and counts of one protocol of a catalog; worked out once."""

    def make_entry() -> ProtocolEntry:
        """Return the name, title, hash and counts of the protocol."""
        protocol = edition.protocol
        board = next(iter(catalog.find_boards(edition).values()), None)
        return ProtocolEntry(
            id=edition.id,
            name=board.shown_protocol_name if board else protocol.name,
            title=protocol.title,
            hash=edition.hash,
            earlier_form=bool(protocol.earlier_form),
            runs=protocol.runs,
            scenarios=len(edition.items_by_slug),
            transcripts=edition.transcript_count,
        )

    return catalog.remember_result(f"entry of {edition.id}", make_entry)


def make_citation(catalog: Catalog, board: BoardEntry | None = None) -> Citation:
    """Return how to cite, as text and as BibTeX, the whole site, or one leaderboard if *board* is
    given.
    """
    day = (format_iso_time(catalog.newest) or "")[:10]
    what = f"{NAME} {__version__}"
    if board is not None:
        protocol = board.edition.protocol
        what += f", protocol {protocol.name} ({board.edition.hash[:12]})"
        what += f", {' + '.join(map(str, board.configurations))}"
        what += f", judged by {board.judge}" if board.judge else ", not judged"
        what += "" if board.rules == "own" else f", {board.rules} rules"
        what += "" if board.weights is None else f", weights {board.weights}"
    text = f"{what}. Data{f' of {day}' if day else ''}, state {catalog.version}."
    fields = {"title": f"{{{_escape_bibtex(what)}}}", "note": f"{{Data state {catalog.version}}}"}
    if day:
        fields["year"] = f"{{{day[:4]}}}"
    inside = ",\n".join(f"  {name} = {value}" for name, value in fields.items())
    return Citation(text, f"@misc{{independencebench{catalog.version[:8]},\n{inside}\n}}")


def _escape_bibtex(text: str) -> str:
    """Return *text* for a BibTeX field, without characters that would end the field or begin a
    command.
    """
    kept = "".join(c for c in text if c.isprintable() and c not in "{}\\")
    return "".join(f"\\{c}" if c in "%$&#_" else c for c in kept)


def make_subject_facts(catalog: Catalog, subject: ChatModel) -> SubjectFacts:
    """Return the identity (label, hash, vendor) and the settings of a tested model; worked out
    once.
    """

    def make_facts() -> SubjectFacts:
        """Return the identity and the settings of the model."""
        label = catalog.labels.get(subject.hash, subject.label)
        return copy_fields(
            SubjectFacts,
            subject,
            id=subject.id,
            label=label,
            family=find_vendor(subject.model),
        )

    return catalog.remember_result(("subject", subject.hash), make_facts)


def find_costs_by_model_hash(
    catalog: Catalog, entry: BoardEntry, rows: Sequence[Row]
) -> Mapping[str, SubjectCost]:
    """Return the cost of the replies and judgements of the models in *rows*, by the model's hash;
    models without a known cost are left out. New values are read from the store.
    """

    def read_costs(connection: Connection, board: Board, new: Set[str]) -> dict[str, SubjectCost]:
        """Return the costs of the models whose hashes are in *new*, read from the store."""
        return read_subject_costs(connection, board, new)

    return _find_values_by_model_hash(catalog, entry, rows, ("costs", *entry.judges), read_costs)


def find_mean_reply_characters(
    catalog: Catalog, entry: BoardEntry, rows: Sequence[Row]
) -> Mapping[str, float]:
    """Return the mean number of characters of a valid reply for each model in *rows*, by the
    model's hash; models without a reply are left out. New values are read from the store.
    """

    def read_mean_characters(
        connection: Connection, board: Board, new: Set[str]
    ) -> dict[str, float]:
        """Return the mean number of characters of a reply of each model whose hash is in *new*,
        read from the store.
        """
        return measure_mean_reply_characters(connection, board.results, new)

    return _find_values_by_model_hash(catalog, entry, rows, ("lengths",), read_mean_characters)


def find_mean_reasoning_tokens(
    catalog: Catalog, entry: BoardEntry, rows: Sequence[Row]
) -> Mapping[str, ReasoningTokens]:
    """Return the mean number of reasoning tokens of a reply for each model in *rows*, by the
    model's hash; models for which it is not known are left out. New values are read from the store.
    """

    def read_mean_tokens(
        connection: Connection, board: Board, new: Set[str]
    ) -> dict[str, ReasoningTokens]:
        """Return the mean number of reasoning tokens of a reply of each model whose hash is in
        *new*, read from the store.
        """
        return measure_mean_reasoning_tokens(connection, board.results, new)

    return _find_values_by_model_hash(catalog, entry, rows, ("reasoning",), read_mean_tokens)


def _find_values_by_model_hash(
    catalog: Catalog,
    entry: BoardEntry,
    rows: Sequence[Row],
    cache_name: tuple[str, ...],
    find: Callable[[Connection, Board, Set[str]], dict[str, A]],
) -> dict[str, A]:
    """Return a value for each model in *rows*, by its hash; models without a value are left out.
    Values are kept in the catalog under the name *cache_name*; *find* reads the missing ones from
    the store. They may not depend on rules and weights.
    """
    known: dict[str, A | None] = catalog.remember_result(
        (*cache_name, entry.edition.id, entry.configurations), dict
    )
    asked = {row.subject.hash for row in rows}
    if new := asked - known.keys():
        with catalog.store.open_snapshot() as connection:
            known |= dict.fromkeys(new) | find(connection, catalog.find_board(entry), new)
    return {hash_: one for hash_ in asked if (one := known[hash_]) is not None}


def make_mark_scale(protocol: Protocol, mark: Mark) -> MarkScale:
    """Return the scale of the score *mark* for the viewer's page. A score that belongs to no
    dimension counts upwards.
    """
    inverted = any(
        mark.name in dimension.marks and dimension.inverted for dimension in protocol.dimensions
    )
    return copy_fields(MarkScale, mark, title=format_mark_name(mark.name), inverted=inverted)


def list_mark_scales(protocol: Protocol, scenarios: Iterable[Played]) -> tuple[MarkScale, ...]:
    """Return the scale of every score that judges give in *scenarios*, each score once."""
    every = {mark.name: mark for scenario in scenarios for mark in scenario.marks}
    return tuple(make_mark_scale(protocol, mark) for mark in every.values())


def make_mark_cell(scale: MarkScale, marks: Mapping[str, float]) -> str | float | None:
    """Return a judge's score as a table's cell: its number, or the name of its level; None if
    *marks* lacks it.
    """
    value = marks.get(scale.name)
    return scale.levels[int(value)] if scale.levels and value is not None else value


def list_script_lines(script: Script) -> tuple[ScriptLine, ...]:
    """Return the lines of a scenario's script, in order."""
    return tuple(ScriptLine(who, text) for who, text in list_script_steps(script))


def explain_missing_intervals(board: Board) -> str | None:
    """Explain in words why scores of the leaderboard *board* have no intervals; None if no reason
    is known.
    """
    if board.uncertainty is None:
        return "our own intervals are computed under our own rules only"
    return "; ".join(board.uncertainty.explain_no_intervals()) or None
