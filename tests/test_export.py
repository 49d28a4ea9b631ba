"""`aib export` and the way back: the same bytes, nothing false, and whatever is damaged left out
and listed.
"""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import write_small
from scripted_model import rarely_either
from simulated_endpoint import aib, play
from test_cli import User, user

from independence_bench.analysis.leaderboard import make_leaderboards
from independence_bench.dataset.export import Form, write_export
from independence_bench.dataset.import_own import BATCH, Imported, import_export
from independence_bench.dataset.schema import EXPORT_TABLES, render_columns
from independence_bench.errors import WrongUse
from independence_bench.protocol.loader import load_protocol
from independence_bench.report.leaderboard_view import format_boards_json
from independence_bench.simulate.faults import Faults
from independence_bench.simulate.server import Settings
from independence_bench.store import bulk, registry
from independence_bench.store.database import open_store
from independence_bench.store.deletion import carry_out_deletion, plan_conversation_deletion
from independence_bench.store.integrity import check_store
from independence_bench.store.schema import IMPORTED, metadata

__all__ = ["user"]
ROOT = Path(__file__).parents[1]
FORMS: list[Form] = ["jsonl", "parquet"]
NAMES = [table.name for table in EXPORT_TABLES]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of the small protocol, played through faults: rejected attempts, invalid replies,
    failed judgements.
    """
    folder = tmp_path_factory.mktemp("played")
    faults = Settings(faults=Faults({"mixed": 0.4, "judge-missing": 0.4}))
    names = ("stubborn", "agreeable", "debris", "random")
    play(write_small(folder / "small"), folder / "store.db", faults, names=names, runs=2)
    with open_store(folder / "store.db") as opened, opened.open_snapshot() as connection:
        states = {
            name: {row["state"] for row in bulk.read_table(connection, name)}
            for name in ("replies", "judgements")
        }
    assert states == {"replies": {"valid", "invalid"}, "judgements": {"valid", "failed"}}
    return folder / "store.db"


@pytest.fixture(scope="module")
def little(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one run each of a subject that answers and of one that does not: what is damaged
    needs no more.
    """
    folder = tmp_path_factory.mktemp("little")
    play(
        write_small(folder / "small"), folder / "store.db", Settings(), names=("stubborn", "debris")
    )
    return folder / "store.db"


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Whole runs, one that the budget ended, one that got nothing, and one of another protocol: all
    of the rows.
    """
    store = tmp_path_factory.mktemp("begun") / "store.db"
    play("v2", store, Settings(), names=("stubborn", "debris"), runs=2)
    # is spent in the second run
    play("v2", store, Settings(), names=("agreeable",), runs=3, budget=0.1)
    play("lite", store, Settings(), names=("evader",), runs=10)
    # gets nothing, and has begun
    play("v2", store, Settings(faults=Faults({"http-500": 1.0})), names=("evader",))
    return store


def exported(store: Path | str, folder: Path, **options: Any) -> dict[str, bytes]:
    """The files of an export of *store*."""
    with open_store(store) as opened:
        write_export(opened, folder, **{"licence": "unknown", **options})
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def imported(folder: Path, store: Path | str) -> Imported:
    """*folder* read into *store*."""
    with open_store(store) as opened:
        return import_export(folder, opened)


@pytest.mark.parametrize(("form", "raw"), [("jsonl", True), ("parquet", False)])
def test_there_and_back_gives_the_same_bytes(
    played: Path, either: str, tmp_path: Path, form: Form, raw: bool
) -> None:
    """Export, import into an empty store, export: every file is the same, and the store that came
    of it is sound.

    A second import finds everything there.
    """
    before = exported(played, tmp_path / "one", form=form, raw=raw)
    summary = imported(tmp_path / "one", either)
    again = imported(tmp_path / "one", either)

    assert summary.findings == []
    assert all(
        count.added
        for name, count in summary.counts.items()
        if name not in ("begun", "decisions", "readings")
    )
    assert again.findings == []
    assert {name: count.added for name, count in again.counts.items()} == dict.fromkeys(
        again.counts, 0
    )
    assert exported(either, tmp_path / "two", form=form, raw=raw) == before
    with open_store(either) as opened, opened.open_snapshot() as connection:
        assert check_store(connection) == []


@rarely_either
def test_what_was_cleared_goes_along_with_its_money(
    played: Path, either: str, tmp_path: Path
) -> None:
    """The calls whose answers were deleted, and their attempts: the books are whole on the other
    side, too.
    """
    store = shutil.copy(played, tmp_path / "cleared.db")
    with open_store(store) as opened, opened.open_transaction() as connection:
        (stubborn,) = (
            subject
            for subject in registry.read_subjects(connection).values()
            if subject.model == "sim/stubborn"
        )
        find = partial(plan_conversation_deletion, models=[stubborn], protocols=None)
        carry_out_deletion(connection, find(connection), find, 0.0)
    before = exported(store, tmp_path / "one")
    summary = imported(tmp_path / "one", either)

    assert b'"cleared-' in before["calls.jsonl"]
    assert summary.findings == []
    assert exported(either, tmp_path / "two") == before
    with open_store(either) as opened, opened.open_snapshot() as connection:
        assert check_store(connection) == []


def test_the_same_store_gives_the_same_bytes(played: Path, tmp_path: Path) -> None:
    """Nothing of now or of this machine is in it."""
    one = exported(played, tmp_path / "one")

    assert one == exported(played, tmp_path / "two")
    assert one.keys() == {
        "README.md",
        "export.json",
        *(f"{name}.jsonl" for name in NAMES),
    }


def test_the_two_formats_hold_the_same(played: Path, tmp_path: Path) -> None:
    """A Parquet file read by its library has the rows of the JSON Lines, and what is imported from
    it gives them.
    """
    from pyarrow import parquet

    lines = exported(played, tmp_path / "lines")
    exported(played, tmp_path / "parquet", form="parquet")
    imported(tmp_path / "parquet", tmp_path / "two.db")

    for name in NAMES:
        assert parquet.read_table(tmp_path / "parquet" / f"{name}.parquet").to_pylist() == rows(
            tmp_path / "lines", name
        )
    assert exported(tmp_path / "two.db", tmp_path / "again") == lines


def test_scores_are_those_of_the_leaderboard(played: Path, tmp_path: Path) -> None:
    """Worked out once, shown twice; and again from what was imported."""
    exported(played, tmp_path / "one")
    imported(tmp_path / "one", tmp_path / "two.db")
    with open_store(tmp_path / "two.db") as opened:
        (board,) = make_leaderboards(opened, load_protocol(str(played.with_name("small"))))

    shown = {
        row.label: (row.rank, row.ranks.rank_low if row.ranks else None, row.index)
        for row in board.rows
    }
    assert {
        row["subject"]: (row["rank"], row["rank_low"], row["index"])
        for row in rows(tmp_path / "one", "scores")
    } == shown
    assert shown["sim:sim/debris@none-t0.7"] == (None, None, None)


def test_where_an_attempt_was_imported_from_goes_along(played: Path, tmp_path: Path) -> None:
    """Its origin survives; of an attempt of the exported store itself, it is only known that it is
    another's.
    """
    exported(played, tmp_path / "one")
    with changed(tmp_path / "one", "attempts") as found:
        found[0]["origin"] = "published|somewhere"
    imported(tmp_path / "one", tmp_path / "two.db")
    with open_store(tmp_path / "two.db") as opened, opened.open_snapshot() as connection:
        owners = {row["owner"] for row in bulk.read_table(connection, "attempts")}

    assert owners == {IMPORTED, f"{IMPORTED}published|somewhere"}
    exported(tmp_path / "two.db", tmp_path / "two")
    assert rows(tmp_path / "two", "attempts") == rows(tmp_path / "one", "attempts")


# ---------------------------------------------------------------- what stays at home


def test_bodies_requests_and_this_machine_stay_at_home(played: Path, tmp_path: Path) -> None:
    """By default there is neither a request nor a response, and never who held a lease."""
    plain, raw = exported(played, tmp_path / "plain"), exported(played, tmp_path / "raw", raw=True)
    with open_store(played) as opened, opened.open_snapshot() as connection:
        owners = {row["owner"] for row in bulk.read_table(connection, "attempts")}

    assert not {"raw", "response_id"} & rows(tmp_path / "plain", "attempts")[0].keys()
    assert "request" not in rows(tmp_path / "plain", "calls")[0]
    assert all(json.loads(row["request"])["messages"] for row in rows(tmp_path / "raw", "calls"))
    assert owners
    for owner in owners:
        assert owner.encode() not in b"".join((*plain.values(), *raw.values()))


def test_no_key_is_in_an_export(bench: Callable[..., Any], tmp_path: Path) -> None:
    """A server that says the key back, in words and in errors, does not get it into the files."""
    from scripted_model import KEY, failure, says, verdict

    def chatty(asked: Any) -> Any:
        if asked.judging:
            return verdict(asked)
        return (
            failure(500, f"Bearer {KEY} was refused")
            if asked.times == 1
            else says(asked, f"Your key is {KEY}.")
        )

    made = bench(chatty)
    made.play()
    assert KEY in made.endpoints["scripted"].asked[0].headers["Authorization"]

    files = exported(made.store, tmp_path / "one", raw=True)

    assert b"Your key is" in b"".join(files.values())
    assert KEY.encode() not in b"".join(files.values())


# ---------------------------------------------------------------- into a store that holds something


def test_two_stores_are_put_together(small: Path, either: str, tmp_path: Path) -> None:
    """Runs of two people, of different subjects by one judge: both are on the board afterwards."""
    play(small, tmp_path / "a.db", Settings(), names=("stubborn",))
    play(small, either, Settings(), names=("agreeable",))
    exported(tmp_path / "a.db", tmp_path / "a")
    summary = imported(tmp_path / "a", either)

    with open_store(either) as opened:
        (board,) = make_leaderboards(opened, load_protocol(str(small)))
        with opened.open_snapshot() as connection:
            assert check_store(connection) == []
    assert summary.findings == []
    assert (summary.counts["judges"].there, summary.counts["judges"].added) == (1, 0)
    assert [row.label for row in board.ranked] == [
        "sim:sim/stubborn@none-t0.7",
        "sim:sim/agreeable@none-t0.7",
    ]


@rarely_either
def test_runs_that_were_begun_come_along_and_the_board_is_the_same(
    begun: Path, either: str, tmp_path: Path
) -> None:
    """More rows than are read at once, of two protocols: all of them arrive, and say what they
    said.
    """
    before = exported(begun, tmp_path / "one")
    summary = imported(tmp_path / "one", either)

    def shown(path: Path | str) -> list[str]:
        with open_store(path) as opened:
            return [
                format_boards_json(make_leaderboards(opened, load_protocol(protocol)))
                for protocol in ("v2", "lite")
            ]

    assert summary.findings == []
    assert summary.counts["begun"].added > 0
    assert summary.counts["attempts"].added > BATCH
    assert exported(either, tmp_path / "two") == before
    boards_of = shown(either)
    assert boards_of == shown(begun)
    (board,) = json.loads(boards_of[0])["boards"]
    assert [row["label"] for row in board["incomplete"]] == [
        "sim:sim/agreeable@none-t0.7", "sim:sim/debris@none-t0.7", "sim:sim/evader@none-t0.7"
    ]  # fmt: skip
    assert [row["label"] for row in board["ranked"]] == ["sim:sim/stubborn@none-t0.7"]


def test_raw_bodies_do_not_conflict_with_their_absence(played: Path, tmp_path: Path) -> None:
    """Where one side does not say it, the two do not disagree."""
    exported(played, tmp_path / "raw", raw=True)
    exported(played, tmp_path / "plain")
    imported(tmp_path / "plain", tmp_path / "two.db")

    assert imported(tmp_path / "raw", tmp_path / "two.db").findings == []
    assert imported(tmp_path / "plain", played).findings == []


def test_what_is_there_stays(played: Path, tmp_path: Path) -> None:
    """The same key with other content is a conflict: counted, listed, and not taken."""
    exported(played, tmp_path / "one")
    imported(tmp_path / "one", tmp_path / "two.db")
    for name, change in (
        ("replies", {"text": "I fold."}),
        ("judgements", {"reasoning": "Hm."}),
        ("attempts", {"cost": 9.0}),
    ):
        with changed(tmp_path / "one", name) as found:
            found[0] |= change
    summary = imported(tmp_path / "one", tmp_path / "two.db")

    assert {name: count.conflicts for name, count in summary.counts.items() if count.conflicts} == {
        "replies": 1, "judgements": 1, "attempts": 1,
    }  # fmt: skip
    assert len(summary.findings) == 3
    assert all("is already stored with other content" in finding for finding in summary.findings)
    assert exported(tmp_path / "two.db", tmp_path / "two") == exported(played, tmp_path / "three")


# ---------------------------------------------------------------- hostile files


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    """The rows of a file of JSON Lines; in the words may stand what Python takes for the end of a
    line.
    """
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_bytes().splitlines()]


class changed:  # noqa: N801 - reads as a verb
    """The rows of a file, written back at the end of the block."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path, self.found = folder / f"{name}.jsonl", rows(folder, name)

    def __enter__(self) -> list[dict[str, Any]]:
        return self.found

    def __exit__(self, *_: object) -> None:
        self.path.write_text(
            "".join(json.dumps(row) + "\n" for row in self.found), encoding="utf-8"
        )


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory, little: Path) -> Path:
    """An export in which nothing is wrong; copy it before changing it."""
    folder = tmp_path_factory.mktemp("sound") / "export"
    exported(little, folder)
    return folder


@pytest.fixture
def folder(sound: Path, tmp_path: Path) -> Path:
    """An export of one's own to change."""
    return Path(shutil.copytree(sound, tmp_path / "export"))


Lie = Callable[[dict[str, Any]], object]


def first_said(row: dict[str, Any]) -> dict[str, Any]:
    """The first line that the model itself said."""
    return next(line for line in row["lines"] if line["name"])


def file_of(row: dict[str, Any], path: str) -> dict[str, Any]:
    """A file of a protocol."""
    return next(file for file in row["files"] if file["path"] == path)


LIES: list[tuple[str, Lie, str]] = [
    ("protocols", lambda row: file_of(row, "judge.md").update(text="Give top marks."),
        "its hash is not"),
    ("protocols", lambda row: row.update(files=[]), "no protocol that this version can read"),
    ("protocols", lambda row: row.update(name="lite"), "its hash is not that of its files"),
    ("protocols", lambda row: row["files"].append(row["files"][0]), "a file appears twice"),
    ("subjects", lambda row: row.update(spec=row["spec"].replace("0.7", "0.1")),
        "its hash or label is not"),
    ("subjects", lambda row: row.update(label="openai/gpt-9@none-t0.7"), "its hash or label is "
        "not"),
    ("subjects", lambda row: row.update(spec="[" * 100_000), "its settings are not those of a "
        "model"),
    ("subjects", lambda row: row.update(spec=row["spec"].replace('"sim"', "7")),
        "its settings are not those"),
    ("judges", lambda row: row.update(spec=row["spec"].replace("sim/judge", "openai/gpt-9")),
        "its hash is not"),
    ("calls", lambda row: row.update(kind="gift"), "neither reply nor judgement"),
    ("calls", lambda row: row.update(key="f00"), "key: String should match pattern"),
    ("attempts", lambda row: row.update(number=7), "attempt 7 comes after"),
    ("attempts", lambda row: row.update(call_key="0" * 64), "its call is not here"),
    ("attempts", lambda row: row.update(cost=1e400), "is not a JSON object"),
    ("attempts", lambda row: row.update(cost=-0.5), "-0.5 is not a cost"),
    ("attempts", lambda row: row.update(message="a\x00b"), "a NUL or half a character"),
    ("replies", lambda row: row.update(text="\ud800"), "a NUL or half a character"),
    ("replies", lambda row: row.update(text=7), "text: Input should be a valid string"),
    ("replies", lambda row: row.update(attempt=99), "the attempt that it came from is not here"),
    ("replies", lambda row: row.update(key="0" * 64), "no call for a reply of that key"),
    ("replies", lambda row: row.update(reason="none"), "with the reason 'none'"),
    ("replies", lambda row: row.update(text=" ", state="valid", reason=None), "says nothing"),
    ("replies", lambda row: row.pop("notes"), "notes: Field required"),
    ("replies", lambda row: row.update(mood="good"), "mood: Extra inputs are not permitted"),
    ("transcripts", lambda row: row.update(run=3), "is stored under another key than its own"),
    ("transcripts", lambda row: row.update(run=0), "runs are counted from 1"),
    ("transcripts", lambda row: row["lines"][0].update(text="Be yourself."),
        "holds other words than its hash"),
    ("transcripts", lambda row: row["lines"][0].update(speaker="judge"), "another speaker"),
    ("transcripts", lambda row: row["lines"][0].pop("notes"), "lines.0.notes: Field required"),
    ("transcripts", lambda row: row.update(system_prompt="Win."), "its script continues "
        "differently"),
    ("transcripts", lambda row: row.update(system="neutral"), "its script is not that of its "
        "scenario"),
    ("transcripts", lambda row: first_said(row).update(notes="I win."), "does not say at “"),
    ("transcripts", lambda row: row.update(cut_off=7), "miscounts the replies that are cut_off"),
    ("transcripts", lambda row: row.update(reply_keys=[]), "0 keys, and counts"),
    ("transcripts", lambda row: row.update(reply_keys=["0" * 64]), "a reply of it is not here"),
    ("transcripts", lambda row: row.update(state="invalid", reason="x"), "its script continues "
        "differently"),
    ("transcripts", lambda row: row.update(subject_hash="0" * 64), "its model is not here"),
    ("transcripts", lambda row: row.update(protocol_hash="0" * 64), "its protocol is not here"),
    ("judgements", lambda row: row.update(heard_hash="0" * 64), "is stored under another key "
        "than its own"),
    ("judgements", lambda row: row.update(judge_hash="0" * 64), "its judge is not here"),
    ("judgements", lambda row: row.update(marks=[]), "is valid, with the marks {}"),
    ("judgements", lambda row: row["marks"].append(row["marks"][0]), "is valid, with the scores ["),
    ("judgements", lambda row: row["marks"][0].update(value=10**400), "marks.0.value: Input "
        "should be a valid number"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "lie", "said"), LIES, ids=[f"{lie[0]}: {lie[2]}" for lie in LIES])
def test_nothing_false_comes_in_under_a_true_key(
    folder: Path, tmp_path: Path, name: str, lie: Lie, said: str
) -> None:
    """One row that lies is refused and named, what hangs on it too, and the rest is imported and
    sound.
    """
    with changed(folder, name) as found:
        row = next(row for row in found if row.get("state") in (None, "complete", "valid"))
        lie(row)
    summary = imported(folder, tmp_path / "two.db")

    assert any(
        f"{name}.jsonl, line " in finding and said in finding for finding in summary.findings
    ), summary.findings[:5]
    assert summary.counts[name].refused >= 1
    assert summary.counts["calls"].added
    with open_store(tmp_path / "two.db") as opened, opened.open_snapshot() as connection:
        wrong = [finding for finding in check_store(connection) if "is not stored" not in finding]
        assert wrong == []


def test_words_that_were_changed_everywhere_at_once_do_not_fit_the_next_request(
    folder: Path, tmp_path: Path
) -> None:
    """A first answer that was rewritten in reply, transcript and hash is given away by the key of
    the second one.
    """
    from independence_bench.protocol.conversation import Line, Transcript

    with changed(folder, "transcripts") as talks, changed(folder, "replies") as replies:
        talk = next(
            row for row in talks if (row["state"], row["scenario"]) == ("complete", "questions")
        )
        first_said(talk)["text"] = "I do as I am told."
        talk["heard_hash"] = Transcript(
            "", tuple(Line(**line) for line in talk["lines"])
        ).heard_hash
        next(row for row in replies if row["key"] == talk["reply_keys"][0])["text"] = (
            "I do as I am told."
        )
    summary = imported(folder, tmp_path / "two.db")

    assert len(summary.findings) == 1
    assert "has another key than its request" in summary.findings[0]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "is not a JSON object"),
        (b"[" * 200_000, "is not a JSON object"),
        (b"7", "Input should be a valid dictionary"),
        (b'{"key": NaN}', "is not a JSON object"),
        (b"\xff\xfe\x00{}", "is not UTF-8"),
        (b"1" * 5000, "is not a JSON object"),
        (b'{"a": "' + b"x" * (65 * 1024 * 1024) + b'"}', "is longer than"),
    ],
    ids=["torn", "nested", "number", "nan", "utf-16", "digits", "endless"],
)
def test_a_line_that_is_no_row_is_passed_over(
    folder: Path, tmp_path: Path, line: bytes, said: str
) -> None:
    """Whatever stands there, the lines around it come in."""
    file = folder / "replies.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join((lines[0], line, b"\n", *lines[1:])))
    summary = imported(folder, tmp_path / "two.db")

    assert len(summary.findings) == 1
    assert summary.findings[0].startswith("replies.jsonl, line 2: ")
    assert said in summary.findings[0]
    assert summary.counts["replies"].added == len(lines)


# what others hang on, by either reader
@pytest.mark.parametrize(
    ("name", "form"),
    [
        *(
            ("protocols", "jsonl"),
            ("attempts", "jsonl"),
            ("transcripts", "jsonl"),
            ("replies", "parquet"),
        ),
        *(
            pytest.param(name, form, marks=pytest.mark.torture)
            for name in ("subjects", "judges", "calls", "judgements")
            for form in FORMS
        ),
    ],
)
def test_a_file_that_is_cut_short_or_missing_leaves_the_others(
    little: Path, tmp_path: Path, name: str, form: Form
) -> None:
    """What its rows held up is refused; nothing is raised, and what came in is consistent."""
    exported(little, tmp_path / "one", form=form)
    file = tmp_path / "one" / f"{name}.{form}"
    data = file.read_bytes()
    cut = len(data) // 2
    # in the middle of a row: a file of fewer rows is whole
    while form == "jsonl" and b"\n" in data[cut - 1 : cut + 1]:
        cut -= 1
    file.write_bytes(data[:cut])
    torn = imported(tmp_path / "one", tmp_path / "torn.db")
    file.unlink()
    if name == "transcripts":
        (tmp_path / "one" / "calls").touch()
    missing = imported(tmp_path / "one", tmp_path / "missing.db")

    assert torn.found >= 1
    assert f"{name}: there is no such file" in missing.findings
    for store in ("torn.db", "missing.db"):
        with open_store(tmp_path / store) as opened, opened.open_snapshot() as connection:
            wrong = [said for said in check_store(connection) if "is not stored" not in said]
            assert wrong == []


def test_parquet_of_other_types_is_refused_row_by_row(played: Path, tmp_path: Path) -> None:
    """A column of numbers where words belong is no crash."""
    import pyarrow as arrow
    from pyarrow import parquet

    exported(played, tmp_path / "one", form="parquet")
    file = tmp_path / "one" / "replies.parquet"
    table = parquet.read_table(file)
    place = table.schema.get_field_index("text")
    parquet.write_table(table.set_column(place, "text", arrow.array(range(len(table)))), file)
    summary = imported(tmp_path / "one", tmp_path / "two.db")

    assert summary.counts["replies"].refused == len(table)
    assert "replies.parquet, row 1: text: Input should be a valid string" in summary.findings


@pytest.mark.parametrize("kind", ["json", "fixed", "view"])
def test_parquet_of_types_of_unknown_size_is_not_unpacked(
    played: Path, tmp_path: Path, kind: str
) -> None:
    """A thousandth of what such a column holds stands in its file, so its size is known only when
    memory is full.
    """
    import pyarrow as arrow
    from pyarrow import parquet

    exported(played, tmp_path / "one", form="parquet")
    file = tmp_path / "one" / "replies.parquet"
    table = parquet.read_table(file)
    texts = [json.dumps("x" * 1000)] * len(table)
    column = {
        "json": lambda: arrow.array(texts, arrow.json_()),
        "fixed": lambda: arrow.array([b"x" * 1000] * len(table), arrow.binary(1000)),
        "view": lambda: arrow.array([["x"]] * len(table), arrow.list_view(arrow.string())),
    }[kind]()
    parquet.write_table(
        table.set_column(table.schema.get_field_index("text"), "text", column), file
    )
    summary = imported(tmp_path / "one", tmp_path / "two.db")

    assert summary.counts["replies"].added == 0
    assert "which no export has" in " ".join(summary.findings)


@pytest.mark.parametrize("moment", [1.7e12, -1.0])
def test_a_time_without_a_date_is_refused(played: Path, tmp_path: Path, moment: float) -> None:
    """In milliseconds, say: nothing that shows it could."""
    exported(played, tmp_path / "one", form="jsonl")
    file = tmp_path / "one" / "transcripts.jsonl"
    lines = [json.loads(line) for line in file.read_text().split("\n") if line]
    file.write_text("".join(json.dumps(line | {"finished_at": moment}) + "\n" for line in lines))
    summary = imported(tmp_path / "one", tmp_path / "two.db")

    assert summary.counts["transcripts"].added == 0
    assert "finished_at" in " ".join(summary.findings)


# --------------------------------------------------------------- the card, the columns, the command


@pytest.mark.parametrize("form", FORMS)
def test_the_card_is_read_as_hugging_face_reads_it(
    played: Path, tmp_path: Path, form: Form
) -> None:
    """YAML between two lines of three dashes, a configuration for each file that has rows, each
    file there.
    """
    exported(played, tmp_path / "one", form=form, licence="cc-by-4.0")
    card = (tmp_path / "one" / "README.md").read_text(encoding="utf-8")
    front = yaml.safe_load(card.split("---\n")[1])

    assert front["license"] == "cc-by-4.0"
    assert [c["config_name"] for c in front["configs"] if c.get("default")] == ["transcripts"]
    assert {c["data_files"] for c in front["configs"]} == {
        path.name
        for path in (tmp_path / "one").iterdir()
        if path.suffix not in (".md", ".json", ".yaml")
        and path.stem not in ("begun", "decisions", "readings")
    }
    assert render_columns() in card


def test_the_documented_columns_are_those_of_the_files(sound: Path) -> None:
    """docs/data-formats.md names every file, docs/data/export.csv its columns, in the order that
    the files have.
    """
    page = (ROOT / "docs" / "data-formats.md").read_text(encoding="utf-8")
    with (ROOT / "docs" / "data" / "export.csv").open(encoding="utf-8", newline="") as file:
        listed = [(row["file"], row["column"]) for row in csv.DictReader(file)]
    assert listed == [
        (table.name, column.name) for table in EXPORT_TABLES for column in table.columns
    ]
    for table in EXPORT_TABLES:
        assert f"| `{table.name}` | " in page
        for row in rows(sound, table.name)[:1]:
            assert list(row) == [column.name for column in table.list_columns(raw=False)]


def test_the_command(played: Path, tmp_path: Path) -> None:
    """One line on stdout, the files in the folder; a folder that holds something is left alone."""
    done = aib(tmp_path, "export", "out", "--licence", "CC0-1.0", "--store", str(played))

    assert (done.returncode, done.stderr) == (0, "")
    assert "license: cc0-1.0\n" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert done.stdout.startswith("out: protocols 1, subjects 4, judges 1, ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    again = aib(tmp_path, "export", "out", "--licence", "unknown", "--store", str(played))
    assert (again.returncode, again.stdout) == (2, "")
    assert "out is not empty" in again.stderr


@pytest.mark.parametrize(("typed", "code"), [("CC-BY-4.0\n", 0), ("\n", 2), ("my own\n", 2)])
def test_a_person_is_asked_for_the_licence(played: Path, user: User, typed: str, code: int) -> None:
    """At a terminal; what is no identifier of one is refused, and nothing is written."""
    shutil.copy(played, user.folder / "aib.db")

    ended, seen = user.answering(typed, "export", "out")

    assert ended == code, seen
    assert "Under which licence may others use this" in seen
    assert (user.folder / "out").exists() == (code == 0)
    if code == 0:
        assert "license: cc-by-4.0\n" in (user.folder / "out" / "README.md").read_text(
            encoding="utf-8"
        )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["out", "--licence", "mit", "--store", "none.db"],
            "/none.db; `aib run --store none.db` makes one",
        ),
        (["file", "--licence", "mit", "--store", "s.db"], "file is a file"),
        (["file/out", "--licence", "mit", "--store", "s.db"], "file/out cannot be written"),
        (["out", "--store", "s.db", "--license", "MIT\nx: y"], "is not a licence identifier"),
        (["out", "--store", "s.db"], "There is no terminal to answer at; use --licence ID"),
    ],
)
def test_wrong_use_is_one_line_and_leaves_nothing(
    played: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    """No store, no folder, no licence."""
    (tmp_path / "file").write_text("mine")
    shutil.copy(played, tmp_path / "s.db")
    done = aib(tmp_path, "export", *arguments)

    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert {path.name for path in tmp_path.iterdir()} - {"s.db-wal", "s.db-shm"} == {"file", "s.db"}


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (
            '{"version": 99}',
            "was written by a newer aib .export version 99, this one knows 3.; update aib",
        ),
        ('{"version": 0}', "states no version"),
        ('{"version": true}', "states no version"),
        ("[]", "states no version"),
        ("[" * 100_000, "states no version"),
    ],
)
def test_an_export_of_a_version_that_is_not_known_is_refused(
    played: Path, tmp_path: Path, said: str, answer: str
) -> None:
    """In one line, before anything of it is read."""
    assert exported(played, tmp_path / "out")["export.json"] == b'{"version": 3}\n'
    (tmp_path / "out" / "export.json").write_text(said, encoding="utf-8")

    with pytest.raises(WrongUse, match=answer):
        imported(tmp_path / "out", tmp_path / "two.db")
    assert not (tmp_path / "two.db").exists()


def test_an_export_that_lacks_a_file_of_its_version_is_noted(played: Path, tmp_path: Path) -> None:
    """One of version 1 has no decisions; one of version 2 has lost them."""
    exported(played, tmp_path / "out")
    (tmp_path / "out" / "decisions.jsonl").unlink()
    assert imported(tmp_path / "out", tmp_path / "two.db").findings == [
        "decisions: there is no such file"
    ]

    (tmp_path / "out" / "export.json").unlink()
    assert imported(tmp_path / "out", tmp_path / "three.db").findings == []


def test_an_empty_store_is_an_empty_data_set(tmp_path: Path) -> None:
    """No rows, no configuration, and it can be read back."""
    for form in FORMS:
        exported(tmp_path / "none.db", tmp_path / form, form=form)
        summary = imported(tmp_path / form, tmp_path / "two.db")
        assert (summary.findings, {count.added for count in summary.counts.values()}) == ([], {0})
        assert "configs: []" in (tmp_path / form / "README.md").read_text(encoding="utf-8")


def test_a_folder_of_something_else_is_no_export(tmp_path: Path) -> None:
    """One line that says what is missing."""
    with pytest.raises(WrongUse, match="no transcripts"):
        imported(tmp_path, tmp_path / "two.db")


def test_every_column_of_the_store_goes_along_or_is_known_to_stay() -> None:
    """A column that is added to a table is not lost by an oversight."""
    stays = {
        "calls": {"owner", "lease_until"},
        "attempts": {"id", "owner"},  # its number at its call takes the id's place
        "replies": {"attempt_id"},
        "judgements": {"attempt_id", "checksum"},  # an import computes the sum again
    }
    exported_columns = {
        table.name: {column.name for column in table.columns} for table in EXPORT_TABLES
    }

    for table in metadata.sorted_tables:
        # what was typed here and for which price, who worked together, what endpoints refuse
        if table.name not in (
            "meta",
            "commands",
            "prices",
            "jobs",
            "workers",
            "reservations",
            "closures",
            "worked_out",
            "abilities",
        ):
            columns = {column.name for column in table.columns}
            assert columns - exported_columns[table.name] == stays.get(table.name, set()), (
                table.name
            )
