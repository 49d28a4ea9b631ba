"""`aib persona run` and `aib persona compare` as functions: what a character held, item by item."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from independence_bench.analysis.board import Board
from independence_bench.analysis.held_stems import Depth, held
from independence_bench.analysis.leaderboard import boards
from independence_bench.api.answers import Answer
from independence_bench.api.commands import Tell, Work, permissions_of
from independence_bench.api.named import keep_exclusions
from independence_bench.engine.run import Report, Run
from independence_bench.engine.session import find, find_roster
from independence_bench.errors import WrongUse
from independence_bench.escape import name_text
from independence_bench.lookup import fit, listed
from independence_bench.personas.cards import read_picture
from independence_bench.personas.earlier import (
    at_depth,
    everyday_chat,
    read_chat,
    whole_turns,
)
from independence_bench.personas.sheet import (
    Sheet,
    load_sheet,
    picture_file,
    protocol_files,
    protocol_of,
    remarks,
)
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import Files, parse_stored
from independence_bench.report.persona_view import (
    Side,
    depths_json,
    depths_view,
    persona_json,
    persona_view,
    sides_of,
)
from independence_bench.report.table import Block
from independence_bench.store import registry
from independence_bench.store.database import Store, default_store, open_store


def _item_rows(persona: str, subjects: Sequence[dict[str, Any]], **of: Any) -> list[dict[str, Any]]:
    """Make a row for each item of each of the *subjects*, with the values of the whole subject and
    *of*.
    """
    return [
        {
            "persona": persona,
            **of,
            "subject": subject["subject"],
            "index": subject["index"],
            "interval": subject["interval"],
            **item,
        }
        for subject in subjects
        for item in subject["items"]
    ]


# ---------------------------------------------------------------- played, at one depth or several


@dataclass(frozen=True, slots=True)
class Play:
    """A character that is going to be played: its sheet, and a protocol for each of its depths."""

    sheet: Sheet
    path: Path
    turns: tuple[int, ...]
    parts: tuple[tuple[Protocol, Files], ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Played(Answer):
    """What a character held, at one depth or several. `rows` has a row for each item of each model
    at each depth.
    """

    character: str
    depths: tuple[Depth, ...]
    judge: str | None
    complete: bool
    cost: float  # dollars that the endpoints said it took, rejected attempts included
    notes: tuple[str, ...] = ()

    @property
    def sides(self) -> tuple[Side, ...]:
        """Each model at its first depth, the ranked ones first."""
        return tuple(sides_of(self.depths[0].board, self.depths[0].stems))

    @property
    def crossed(self) -> bool:
        """Whether a red line was crossed."""
        return any(mine.crossings for depth in self.depths for mine in depth.stems.values())

    @property
    def _deep(self) -> bool:
        return any(depth.turns for depth in self.depths)

    def json(self) -> str:
        """Return what `aib persona run --json` prints."""
        if self._deep:
            return depths_json(self.character, self.depths, self.judge)
        return persona_json(self.character, self.depths[0].board, self.sides, self.judge)

    def view(self) -> Iterator[Block]:
        """Return the same as blocks that can be printed."""
        if self._deep:
            return depths_view(self.character, self.depths)
        return persona_view(self.character, self.sides, self.depths[0].board)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each item of each model, at each depth."""
        values = self.values()
        if not self._deep:
            return _item_rows(self.character, values["subjects"], after=0)
        return [
            row
            for depth in values["depths"]
            for row in _item_rows(self.character, depth["subjects"], after=depth["after"])
        ]


def persona(
    sheet: str | Path,
    models: str | Sequence[str],
    *,
    after: int | Sequence[int] = 0,
    quick: bool = False,
    chat: str | Path | None = None,
    store: str | Path | None = None,
    trust: str | Sequence[str] = (),
    tell: Tell | None = None,
    **settings: Any,
) -> Played:
    """Play the character of *sheet* with *models*, have it judged, and return what it held, as `aib
    persona run` does.

    Stored replies are not asked for again. *after*: play it also after so many turns of an earlier
    *chat*. *quick*: play a first look only. *settings* are those of `Run`, by default one run.
    *trust*, *tell* and the errors are those of `run`.
    """
    wanted = replace(Run(models, runs=1), **settings)
    wanted.check()
    depths = [after] if isinstance(after, int) else after
    turns = sorted({whole_turns(turn) for turn in depths})
    played = play_of(Path(sheet), turns, quick, None if chat is None else Path(chat))
    protocol, _ = played.parts[0]
    judge = wanted.judge or protocol.judge.model
    allow = permissions_of(trust)
    wanted = find(replace(wanted, protocol=played.parts[0], judge=judge, allow=allow))
    work = Work(tell)
    with open_store(str(store or default_store()), typed="independence_bench.persona") as opened:
        report = work.done(work.report_on_each(wanted, played.parts, opened))
        answer = read_played(played, opened, report)
        keep_exclusions(opened, find_roster(wanted))
    return replace(answer, notes=(*played.notes, *answer.notes))


def play_of(sheet: Path, turns: Sequence[int], quick: bool, chat: Path | None) -> Play:
    """Make the plan for playing the character of *sheet* after each number of *turns* of an earlier
    *chat*; None: the chat that ships. Raises WrongUse for files that cannot be read.
    """
    loaded = load_sheet(sheet)
    earlier = everyday_chat(loaded.language) if chat is None else read_chat(chat, loaded.name)
    if chat is not None and not any(turns):
        raise WrongUse("--chat is played with --after, which says after how many of its turns")
    files = [at_depth(protocol_files(loaded, quick), earlier, depth) for depth in turns]
    parts = tuple((protocol_of(loaded, texts), texts) for texts in files)
    return Play(loaded, sheet, tuple(turns), parts, (*map(str, remarks(loaded)), *earlier.notes))


def read_played(played: Play, store: Store, report: Report) -> Played:
    """Read the results of the character *played*, by the judge of *report*; stores its picture."""
    notes = _keep_picture(played, store)
    labels = {name_text(progress.label) for progress in report.subjects}
    depths = tuple(
        _depth(store, turns, protocol, report.judge, labels)
        for turns, (protocol, _) in zip(played.turns, played.parts, strict=True)
    )
    return Played(played.sheet.name, depths, report.judge, report.complete, report.cost, notes)


def _depth(
    store: Store, turns: int, protocol: Protocol, judge: str | None, played: Collection[str]
) -> Depth:
    """Read the results at one depth, of the subjects whose labels are in *played*."""
    board = next((one for one in boards(store, protocol) if one.judge == judge), None)
    stems = held(store, protocol, judge)
    mine = {label: of for label, of in stems.items() if label.partition("#")[0] in played}
    return Depth(turns, board, mine)


def _keep_picture(played: Play, store: Store) -> tuple[str, ...]:
    """Store the picture that lies next to the sheet, for `aib view`. Returns a note if it cannot be
    read.
    """
    path, picture, notes = picture_file(played.path), None, ()
    if path.exists():
        try:
            picture = b64encode(read_picture(path)).decode("ascii")
        except WrongUse as error:
            notes = (f"it is shown without its picture: {error}",)
    names = [protocol.name for protocol, _ in played.parts]
    with store.reading() as connection:
        changed = [name for name in names if registry.stored_picture(connection, name) != picture]
    if changed:
        with store.writing() as connection:
            for name in changed:
                registry.keep_picture(connection, name, picture)
    return notes


# ---------------------------------------------------------------- side by side


@dataclass(frozen=True, slots=True)
class PersonaSides(Answer):
    """Results of characters side by side: models, sheets, or versions of a sheet. `rows` has a row
    for each item of each side.
    """

    character: str
    sides: tuple[Side, ...]
    board: Board | None
    notes: tuple[str, ...] = ()  # which of them the judge has not judged

    def json(self) -> str:
        """Return what `aib persona compare --json` prints."""
        judge = self.board.judge if self.board else None
        return persona_json(self.character, self.board, self.sides, judge)

    def view(self) -> Iterator[Block]:
        """Return the same as blocks that can be printed."""
        return persona_view(self.character, self.sides, self.board)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each item of each side."""
        return _item_rows(self.character, self.values()["subjects"])


def compare_personas(
    sheets: str | Path | Sequence[str | Path],
    *,
    models: str | Sequence[str] = (),
    judge: str | None = None,
    versions: bool = False,
    store: str | Path | None = None,
) -> PersonaSides:
    """Compare the stored results of *sheets* side by side, as `aib persona compare` shows them;
    asks no model.

    *models* are parts of labels. *judge* fits one judge; None: the one that judged the most.
    *versions*: include every earlier version of a sheet. Raises StoreError if there is no store,
    WrongUse if nothing was played.
    """
    paths = [sheets] if isinstance(sheets, str | Path) else sheets
    address = str(store or default_store())
    return read_sides(address, [Path(path) for path in paths], listed(models), judge, versions)


def read_sides(
    store: str, sheets: Sequence[Path], models: Sequence[str], judge: str | None, versions: bool
) -> PersonaSides:
    """Read what `compare_personas` returns from the store at the address *store*."""
    loaded = [load_sheet(path) for path in sheets]
    with open_store(store, create=False) as opened:
        played = {str(path): protocol_of(sheet) for path, sheet in zip(sheets, loaded, strict=True)}
        if versions:
            played |= _earlier(opened, list(played.values()))
        ranked = {called: boards(opened, protocol) for called, protocol in played.items()}
        by = _judge(judge, ranked.values())
        sides, notes, first = list[Side](), list[str](), None
        for called, protocol in played.items():
            board = next((board for board in ranked[called] if board.judge == by), None)
            first = first or board
            stems = held(opened, protocol, by)
            if stems and ranked[called] and board is None:
                notes.append(
                    f"{called} was not judged by {by}: persona run with --judge, or aib judge, "
                    "does it"
                )
            sides += [
                replace(side, label=f"{side.label} · {called}" if len(played) > 1 else side.label)
                for side in sides_of(board, stems)
                if not models or any(model in side.label for model in models)
            ]
        if not sides:
            of_models = f" by {' or '.join(models)}" if models else ""
            raise WrongUse(
                f"nothing of {', '.join(map(str, sheets))} was played{of_models} into "
                f"{opened.shown}; aib persona run"
            )
    return PersonaSides(loaded[0].name, tuple(sides), first, tuple(notes))


def _earlier(store: Store, today: Sequence[Protocol]) -> dict[str, Protocol]:
    """Return the stored versions of the characters of *today* that differ from these, by the first
    eight characters of their hash.
    """
    names, hashes = {one.name for one in today}, {one.hash for one in today}
    with store.reading() as connection:
        stored = registry.stored_protocols(connection)
    return {
        hash_[:8]: parse_stored(hash_, files, name)
        for hash_, name, files in stored
        if name in names and hash_ not in hashes
    }


def _judge(typed: str | None, ranked: Collection[Sequence[Board]]) -> str | None:
    """Choose the one judge for the whole comparison: the one that fits *typed*, else the one that
    judged the most, and the first main judge among equals.

    None if nothing is judged. Raises WrongUse if no judge fits *typed*, or several do.
    """
    counts = Counter(
        board.judge
        for boards_of in ranked
        for board in boards_of
        if board.judge and len(board.judge_hashes) == 1
    )
    if typed is not None:
        return fit({judge: judge for judge in counts}, typed, "judge", "judges here:")
    return max(counts, key=counts.__getitem__, default=None)
