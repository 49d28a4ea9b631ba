"""`aib persona run` and `aib persona compare` as functions: what a character held, item by item."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from independence_bench.analysis.board import Board
from independence_bench.analysis.character_changes import (
    CharacterChange,
    Play,
    compare_plays,
    find_plays_to_compare,
    list_plays,
)
from independence_bench.analysis.held_stems import Depth, read_held_stems_by_label
from independence_bench.analysis.leaderboard import make_leaderboards
from independence_bench.api.answers import Answer
from independence_bench.api.commands import Tell, Work, learn_secrets_and_make_permissions
from independence_bench.api.named import update_stored_exclusions
from independence_bench.engine.run import Report, Run
from independence_bench.engine.session import find_roster, resolve_run
from independence_bench.errors import WrongUse
from independence_bench.escape import escape_name
from independence_bench.lookup import find_by_label, normalize_names
from independence_bench.personas.cards import read_picture_without_texts
from independence_bench.personas.earlier import (
    load_everyday_chat,
    prepend_first_chat_turns,
    read_chat,
    round_up_to_even,
)
from independence_bench.personas.sheet import (
    Sheet,
    find_picture_file,
    list_remarks,
    load_sheet,
    make_protocol,
    make_protocol_files,
)
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import Files, parse_stored_protocol
from independence_bench.report.board_view import describe_unfit_judge
from independence_bench.report.character_change_view import build_change_values, render_change
from independence_bench.report.encode import format_json
from independence_bench.report.persona_view import (
    Side,
    build_depths_values,
    build_persona_values,
    make_sides,
    render_chat_depths,
    render_persona,
)
from independence_bench.report.table import Block, Note, Prose
from independence_bench.store import registry
from independence_bench.store.database import Store, find_default_store, open_store


def _make_item_rows(
    persona: str, subjects: Sequence[dict[str, Any]], **extra_columns: Any
) -> list[dict[str, Any]]:
    """Return one dictionary for each item of the character *persona* and each of the *subjects*,
    which are models' results as in the JSON output.

    Each dictionary has the item's values, the model's label, index and interval, and the keyword
    arguments *extra_columns*.
    """
    return [
        {
            "persona": persona,
            **extra_columns,
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
class CharacterPlan:
    """What is going to be played of a character: its sheet, and one protocol for each number of
    turns of an earlier chat that come before the test.
    """

    sheet: Sheet
    path: Path
    turns: tuple[int, ...]
    parts: tuple[tuple[Protocol, Files], ...]
    # at the first of these depths: the whole form of the sheet, if the short one is played
    other_form: Protocol
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Played(Answer):
    """Which items of a character the models held, after one number of turns of an earlier chat or
    after several (each is a depth).

    `rows` has a row for each item of each model at each depth.
    """

    character: str
    depths: tuple[Depth, ...]
    judge: str | None
    complete: bool
    cost: float  # dollars that the endpoints said it took, rejected attempts included
    # since each model's run before, at the first depth
    changes: tuple[CharacterChange, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def sides(self) -> tuple[Side, ...]:
        """The results of each model that played the character, at the first depth (the smallest
        number of turns of an earlier chat). Ranked models come first.
        """
        return tuple(make_sides(self.depths[0].board, self.depths[0].stems))

    @property
    def crossed(self) -> bool:
        """Whether any model crossed one of the character's red lines, at any depth (number of turns
        of an earlier chat).
        """
        return any(mine.crossings for depth in self.depths for mine in depth.stems.values())

    @property
    def _has_earlier_chat(self) -> bool:
        """Whether the character was also played after an earlier chat, not only from the start of a
        conversation.
        """
        return any(depth.turns for depth in self.depths)

    def json(self) -> str:
        """Return which items of a character each model held as JSON text, as `aib persona run
        --json` prints it. The results are listed by depth if an earlier chat came before the test.
        """
        of = (
            build_depths_values(self.character, self.depths, self.judge)
            if self._has_earlier_chat
            else build_persona_values(self.character, self.depths[0].board, self.sides, self.judge)
        )
        return format_json(of | {"changes": list(map(build_change_values, self.changes))})

    def view(self) -> Iterator[Block]:
        """Yield which items of a character each model held as printable blocks (tables and notes),
        as `aib persona run` shows them, and what changed since the run before.
        """
        board = self.depths[0].board
        if unfit := describe_unfit_judge(board) if board else "":
            yield Note(Prose(unfit.strip()))
        if self._has_earlier_chat:
            yield from render_chat_depths(self.character, self.depths)
        else:
            yield from render_persona(self.character, self.sides, self.depths[0].board)
        for change in self.changes:
            yield from render_change(change)

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary for each item of the character, for each model and each depth. Its
        key `after` is the depth: the number of turns of an earlier chat, 0 without one.
        """
        values = self.values()
        if not self._has_earlier_chat:
            return _make_item_rows(self.character, values["subjects"], after=0)
        return [
            row
            for depth in values["depths"]
            for row in _make_item_rows(self.character, depth["subjects"], after=depth["after"])
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
    """Play the character that the file *sheet* describes with each of *models*, have a judge score
    the conversations, and return which items each model held, as `aib persona run` does.

    Replies and judgements are kept in *store*, and stored ones are not asked for again. *after*:
    how many turns of an earlier *chat* come before the test; of several numbers, each is tested.
    *quick*: play only a short version. *settings* are those of `Run`; by default there are as many
    runs as the models have of this character, else one. *trust*, *tell* and the errors are those of
    `run`.
    """
    wanted = replace(Run(models), **settings)
    wanted.check_settings()
    depths = [after] if isinstance(after, int) else after
    turns = sorted({round_up_to_even(turn) for turn in depths})
    played = plan_character(Path(sheet), turns, quick, None if chat is None else Path(chat))
    protocol, _ = played.parts[0]
    judge = wanted.judge or protocol.judge.model
    allow = learn_secrets_and_make_permissions(trust)
    runs = wanted.runs
    wanted = resolve_run(replace(wanted, protocol=played.parts[0], judge=judge, allow=allow))
    work = Work(tell)
    with open_store(
        str(store or find_default_store()), command_line="independence_bench.persona"
    ) as opened:
        wanted = replace(wanted, runs=runs or count_stored_runs(played, wanted, opened))
        report = work.run_work(work.play_protocols(wanted, played.parts, opened))
        answer = store_picture_and_read_results(played, opened, report)
        update_stored_exclusions(opened, find_roster(wanted))
    return replace(answer, notes=(*played.notes, *answer.notes))


def plan_character(
    sheet: Path, chat_turn_counts: Sequence[int], quick: bool, chat: Path | None
) -> CharacterPlan:
    """Return the plan for playing the character of the file *sheet*: one protocol for each number
    in *chat_turn_counts*, which says how many turns of an earlier chat come before the test.

    *quick*: plan only a short version. *chat*: the file of the earlier chat; None: the one that
    ships. Raises WrongUse for a file that cannot be read, and for a *chat* if all
    *chat_turn_counts* are 0.
    """
    loaded = load_sheet(sheet)
    earlier = load_everyday_chat(loaded.language) if chat is None else read_chat(chat, loaded.name)
    if chat is not None and not any(chat_turn_counts):
        raise WrongUse("--chat is played with --after, which says after how many of its turns")

    def make_part(is_quick: bool, depth: int) -> tuple[Protocol, Files]:
        texts = prepend_first_chat_turns(make_protocol_files(loaded, is_quick), earlier, depth)
        return make_protocol(loaded, texts), texts

    return CharacterPlan(
        loaded,
        sheet,
        tuple(chat_turn_counts),
        tuple(make_part(quick, depth) for depth in chat_turn_counts),
        make_part(not quick, chat_turn_counts[0])[0],
        (*map(str, list_remarks(loaded)), *earlier.notes),
    )


def count_stored_runs(played: CharacterPlan, wanted: Run, store: Store) -> int:
    """Return the most runs that a model of the resolved *wanted* has of any stored version of the
    character *played*, so that an edited item is played as often as the others; 1 if there is none.
    """
    models = [one for one in wanted.models if not isinstance(one, str)]
    current = [protocol for protocol, _ in played.parts] + [played.other_form]
    versions = [*current, *_read_other_versions(store, current)]
    return max(
        (
            len(play.runs)
            for play in list_plays(store, versions)
            if any(_is_label_of(play.label, one.model) for one in models)
        ),
        default=1,
    )


def _is_label_of(label: str, model: str) -> bool:
    """Return whether *label* is that of *model*, at any endpoint and with any settings."""
    name = label.partition("@")[0]
    return name.partition("+")[0].endswith(f":{model}") or name.partition("+")[0] == model


def store_picture_and_read_results(played: CharacterPlan, store: Store, report: Report) -> Played:
    """Return which items of the character *played* the models of *report* held, at each depth, by
    the scores of the judge of *report*. The results are read from *store*; the character's picture
    is stored in it.
    """
    notes = _store_picture(played, store)
    labels = {escape_name(progress.label) for progress in report.subjects}
    depths = tuple(
        _read_held_items_at_depth(store, turns, protocol, report.judge, labels)
        for turns, (protocol, _) in zip(played.turns, played.parts, strict=True)
    )
    (protocol, _), *_ = played.parts
    others = _read_other_versions(store, [protocol, played.other_form])
    pairs = find_plays_to_compare(store, [protocol], others, depths[0].stems.__contains__)
    changes = _compare_pairs(store, pairs.values(), report.judge)
    return Played(
        played.sheet.name, depths, report.judge, report.complete, report.cost, changes, notes
    )


def _compare_pairs(
    store: Store, pairs: Iterable[tuple[Play, Play]], judge: str | None
) -> tuple[CharacterChange, ...]:
    """Return what changed in each of *pairs* (the earlier play, the later one) by the scores of
    *judge*, without the pairs of which that judge scored only one play.
    """
    found = (compare_plays(store, before, now, judge) for before, now in pairs)
    return tuple(change for change in found if change is not None)


def _read_other_versions(store: Store, current: Sequence[Protocol]) -> list[Protocol]:
    """Return the stored versions of the characters whose sheets make the protocols *current*,
    without these, the one that was played last first.
    """
    names, hashes = {one.name for one in current}, {one.hash for one in current}
    with store.open_snapshot() as connection:
        stored = registry.read_protocols(connection)
    return [
        parse_stored_protocol(hash_, files, name)
        for hash_, name, files in stored
        if name in names and hash_ not in hashes
    ]


def _read_held_items_at_depth(
    store: Store,
    chat_turn_count: int,
    protocol: Protocol,
    judge: str | None,
    played_labels: Collection[str],
) -> Depth:
    """Return which items of a character the models held after *chat_turn_count* turns of an earlier
    chat, with the leaderboard of *judge* (None if there is none). Both are read from *store*.

    Only models whose labels are in *played_labels* are included.
    """
    board = next((one for one in make_leaderboards(store, protocol) if one.judge == judge), None)
    stems = read_held_stems_by_label(store, protocol, judge)
    mine = {label: of for label, of in stems.items() if label.partition("#")[0] in played_labels}
    return Depth(chat_turn_count, board, mine)


def _store_picture(played: CharacterPlan, store: Store) -> tuple[str, ...]:
    """Store the picture that lies next to a character's sheet in *store*, where `aib view` finds
    it; without such a file, delete the stored one. Returns one note if the picture cannot be read,
    else an empty tuple.
    """
    path, picture, notes = find_picture_file(played.path), None, ()
    if path.exists():
        try:
            picture = b64encode(read_picture_without_texts(path)).decode("ascii")
        except WrongUse as error:
            notes = (f"it is shown without its picture: {error}",)
    names = [protocol.name for protocol, _ in played.parts]
    with store.open_snapshot() as connection:
        changed = [
            name for name in names if registry.read_picture_base64(connection, name) != picture
        ]
    if changed:
        with store.open_transaction() as connection:
            for name in changed:
                registry.store_picture(connection, name, picture)
    return notes


# ---------------------------------------------------------------- compared


@dataclass(frozen=True, slots=True)
class PersonaSides(Answer):
    """What is stored of characters: what changed between the last two plays of each model, and the
    results side by side, one column for each model, sheet, or version of a sheet. `rows` has a row
    for each item of each column.
    """

    character: str
    sides: tuple[Side, ...]
    board: Board | None
    changes: tuple[CharacterChange, ...] = ()
    notes: tuple[str, ...] = ()  # what is not compared

    def json(self) -> str:
        """Return the comparison of characters as JSON text, as `aib persona compare --json` prints
        it.
        """
        judge = self.board.judge if self.board else None
        values = build_persona_values(self.character, self.board, self.sides, judge)
        return format_json(values | {"changes": list(map(build_change_values, self.changes))})

    def view(self) -> Iterator[Block]:
        """Yield the comparison of characters as printable blocks (tables and notes), as `aib
        persona compare` shows them: what changed if that is known, else the results side by side.
        """
        for change in self.changes:
            yield from render_change(change)
        if not self.changes or len(self.sides) > 1:
            yield from render_persona(self.character, self.sides, self.board)

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary for each item of a character and each compared column (a model, a
        sheet, or a version of a sheet).
        """
        return _make_item_rows(self.character, self.values()["subjects"])


def compare_personas(
    sheets: str | Path | Sequence[str | Path],
    *,
    models: str | Sequence[str] = (),
    judge: str | None = None,
    versions: bool = False,
    store: str | Path | None = None,
) -> PersonaSides:
    """Return what is stored of the character files *sheets*, as `aib persona compare` shows it: of
    one file, what changed between the last two plays of each model; of two, what changed from the
    first to the second; and the results side by side. Asks no model.

    *models*: include only models whose label contains one of these texts; empty: all. *judge*: the
    judge whose scores are used, as a part of its label; None: the judge that judged the most.
    *versions*: show every stored version of a sheet side by side. Raises StoreError if there is no
    store, WrongUse if nothing was played.
    """
    paths = [sheets] if isinstance(sheets, str | Path) else sheets
    address = str(store or find_default_store())
    return read_persona_sides(
        address, [Path(path) for path in paths], normalize_names(models), judge, versions
    )


def read_persona_sides(
    store_address: str,
    sheets: Sequence[Path],
    models: Sequence[str],
    judge: str | None,
    versions: bool,
) -> PersonaSides:
    """Return the comparison of the character files *sheets*, read from the store at the address
    *store_address*: what `compare_personas` returns for the same arguments.

    Raises StoreError if there is no store, WrongUse if nothing was played.
    """
    loaded = [load_sheet(path) for path in sheets]
    with open_store(store_address, create=False) as opened:
        stored = [
            _find_stored_forms(opened, path, sheet)
            for path, sheet in zip(sheets, loaded, strict=True)
        ]
        found = [one for one in stored if one is not None]
        if not found:
            raise WrongUse(
                f"nothing of {', '.join(map(str, sheets))} was played into {opened.shown}; "
                f"aib persona run {sheets[0]}"
            )
        shown = {str(one.path): one.shown for one in found}
        if versions:
            shown |= {
                other.hash[:8]: other
                for one in found
                for other in one.others
                if other.name == one.shown.name
            }
        ranked = {called: make_leaderboards(opened, protocol) for called, protocol in shown.items()}
        by = _choose_judge_label(judge, ranked.values())
        sides, notes, first = _make_all_sides(opened, shown, ranked, by, models)
        if not sides:
            raise WrongUse(
                f"nothing of {', '.join(map(str, sheets))} was played by "
                f"{' or '.join(models)} into {opened.shown}; aib persona run"
            )
        changes = () if versions else _compare_found(opened, found, by, models)
        notes += [
            f"{one.path} as it is now was not played yet: this is its version "
            f"{one.shown.hash[:8]}, which was played last"
            for one in found
            if one.is_earlier
        ]
    return PersonaSides(loaded[0].name, sides, first, changes, tuple(notes))


@dataclass(frozen=True, slots=True)
class _Found:
    """What is stored of one sheet."""

    path: Path
    # what was played of it: its forms, whole or short; if nothing was, the version played last
    current: tuple[Protocol, ...]
    others: tuple[Protocol, ...]  # the other stored versions
    is_earlier: bool  # whether nothing of the sheet as it is now was played

    @property
    def shown(self) -> Protocol:
        """The form whose results are shown: the whole one, if it was played."""
        return self.current[0]


def _find_stored_forms(store: Store, path: Path, sheet: Sheet) -> _Found | None:
    """Return what of the character *sheet*, the file *path*, is stored; None if no version was
    played.
    """
    forms = [make_protocol(sheet, make_protocol_files(sheet, quick)) for quick in (False, True)]
    others = _read_other_versions(store, forms)
    played = {play.protocol.hash for play in list_plays(store, forms)}
    current = tuple(form for form in forms if form.hash in played)
    if current:
        return _Found(path, current, tuple(others), is_earlier=False)
    plays = list_plays(store, others)
    if not plays:
        return None
    last = plays[-1].protocol
    return _Found(path, (last,), tuple(one for one in others if one != last), is_earlier=True)


def _compare_found(
    store: Store, found: Sequence[_Found], judge: str | None, models: Sequence[str]
) -> tuple[CharacterChange, ...]:
    """Return what changed, by the scores of *judge*: of one sheet, between the last two plays of
    each model; of two, from the first sheet to the second; () for more. *models*: only models whose
    labels contain one of these texts; empty: all.
    """

    def is_chosen(label: str) -> bool:
        return not models or any(model in label for model in models)

    pairs: Iterable[tuple[Play, Play]] = ()
    if len(found) == 1:
        pairs = find_plays_to_compare(store, found[0].current, found[0].others, is_chosen).values()
    elif len(found) == 2 and found[0].shown.name == found[1].shown.name:  # one character
        before, now = (
            {play.label: play for play in list_plays(store, [one.shown])} for one in found
        )
        pairs = [
            (before[label], now[label]) for label in now if label in before and is_chosen(label)
        ]
    return _compare_pairs(store, pairs, judge)


def _make_all_sides(
    store: Store,
    protocols: Mapping[str, Protocol],
    ranked: Mapping[str, Sequence[Board]],
    judge: str | None,
    models: Sequence[str],
) -> tuple[tuple[Side, ...], list[str], Board | None]:
    """Return (the results of each model in each of *protocols*, remarks on those that *judge* has
    not judged, the first leaderboard). *ranked*: the leaderboards of each of them. *models*: only
    models whose labels contain one of these texts; empty: all.
    """
    sides, notes, first = list[Side](), list[str](), None
    for called, protocol in protocols.items():
        board = next((board for board in ranked[called] if board.judge == judge), None)
        first = first or board
        stems = read_held_stems_by_label(store, protocol, judge)
        if stems and ranked[called] and board is None:
            notes.append(
                f"{called} was not judged by {judge}: persona run with --judge, or aib judge, does "
                "it"
            )
        sides += [
            replace(side, label=f"{side.label} · {called}" if len(protocols) > 1 else side.label)
            for side in make_sides(board, stems)
            if not models or any(model in side.label for model in models)
        ]
    return tuple(sides), notes, first


def _choose_judge_label(typed: str | None, board_lists: Collection[Sequence[Board]]) -> str | None:
    """Choose the judge for a comparison of characters: the one whose label fits *typed*, else the
    one with the most leaderboards in *board_lists*. Of equals, the judge that is listed first wins.

    Returns the judge's label; None if nothing is judged. Raises WrongUse if no judge fits *typed*,
    or several do.
    """
    counts = Counter(
        board.judge
        for boards_of in board_lists
        for board in boards_of
        if board.judge and len(board.judge_hashes) == 1
    )
    if typed is not None:
        return find_by_label({judge: judge for judge in counts}, typed, "judge", "judges here:")
    return max(counts, key=counts.__getitem__, default=None)
