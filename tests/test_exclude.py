"""Who is on no ranking: by the rule, and by a person's word in `aib exclude` and models.yaml."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from conftest import write_small
from scripted_model import (
    Answer,
    Asked,
    Bench,
    ScriptedModel,
    both,
    completion,
    rarely_both,
    says,
    verdict,
)

from independence_bench.cli.main import cli
from independence_bench.dataset.export import write_export
from independence_bench.dataset.import_own import import_export
from independence_bench.errors import WrongUse
from independence_bench.store.database import open_store
from independence_bench.store.migrations import MIGRATIONS
from independence_bench.viewer.boards import build_board_answer
from independence_bench.viewer.snapshot import read_catalog

WHY = "served another model until March"
RULE = "excluded: 1 of 4 conversations have no valid reply, over 20%"


def script(asked: Asked) -> Answer:
    """One subject falls silent in one conversation of four."""
    if asked.judging:
        return verdict(asked)
    if asked.model.endswith("silent") and "Be somebody else" in asked.text:
        return Answer(completion("", cost=0.0))
    return says(asked, f"I stay who I am, answer {asked.number}.")


@pytest.fixture(scope="module")
def once_played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with three subjects, one of them excluded by the rule."""
    folder = tmp_path_factory.mktemp("exclude")
    with ScriptedModel(script) as server:
        play(Bench(write_small(folder / "small"), folder / "store.db", {"scripted": server}))
    return folder / "store.db"


def play(made: Bench) -> None:
    """Play the three subjects."""
    made.play(made.subject("acme/one"), made.subject("acme/two"), made.subject("acme/silent"))


@pytest.fixture
def played(
    bench: Callable[..., Bench],
    where: str,
    once_played: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Bench:
    """A bench with that store, in an empty working folder."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    made = bench(script)
    if where.endswith(".db"):
        shutil.copy(once_played, where)
    else:
        play(made)
    return made


def aib(made: Bench, *arguments: str) -> Result:
    """One command on the store, in this process."""
    done = CliRunner().invoke(cli, [*arguments, "--store", str(made.store)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def rows(made: Bench, *options: str) -> dict[str, dict[str, Any]]:
    """The rows of `aib leaderboard`, by model."""
    (board,) = json.loads(aib(made, "leaderboard", "--json", *options).stdout)["boards"]
    every = [*board["ranked"], *board["incomplete"]]
    return {row["label"].partition("@")[0].removeprefix("scripted:acme/"): row for row in every}


@both
def test_a_person_takes_a_subject_off_and_puts_it_back(played: Bench) -> None:
    """Its row says why, everywhere and by all rules; the others move up; undone, all is as
    before.
    """
    before = rows(played)

    assert aib(played, "exclude", "acme/one", "--reason", WHY).exit_code == 0

    now = rows(played)
    said = f"excluded by a person: {WHY}"
    assert (now["one"]["rank"], now["one"]["index"], now["one"]["excluded"]) == (None, None, said)
    for kept in ("run_scores", "dimensions", "means"):
        assert now["one"][kept] == before["one"][kept], "its numbers stay beside the reason"
    assert now["one"]["missing"] == [said]
    assert now["two"]["rank"] == 1
    assert rows(played, "--rules", "published")["one"]["excluded"] == said
    shown = " ".join(aib(played, "leaderboard").stdout.split())
    assert said in shown
    excluded = shown.partition("Excluded, not ranked")[2]
    assert re.search(
        rf"acme/one@none-t0.7 4 of 4 1 of 1 {before['one']['index']:.1f} ", excluded
    ), shown
    assert "Incomplete" not in shown
    assert WHY in aib(played, "exclude").stdout
    with open_store(played.store) as store:
        catalog = read_catalog(store)
        boards = [
            board
            for board in map(catalog.find_board, catalog.entries.values())
            if board is not None
        ]
        answer = build_board_answer(catalog, next(iter(catalog.entries.values())))
        on_page = answer.rows
    assert boards
    assert [
        (row.whole_runs, row.whole_index)
        for row in on_page
        if row.missing == (said,) and row.excluded
    ] == [(1, before["one"]["index"])]
    assert answer.why
    assert not [remark for remark in answer.remarks if remark in answer.why], (
        "why intervals are missing is said once"
    )
    assert all(
        said == row.excluded
        for board in boards
        for row in board.rows
        if row.subject.model == "acme/one"
    )
    aib(played, "generate-report", "--out", "report")
    told = Path("report/LEADERBOARD.md").read_text(encoding="utf-8")
    assert said in told.partition("## Excluded models")[2].partition("\n## ")[0]

    assert aib(played, "exclude", "acme/one", "--undo").exit_code == 0
    assert rows(played) == before


def test_a_reason_that_is_not_utf_8_is_kept_as_far_as_it_is(played: Bench) -> None:
    """A terminal may send any bytes; no database takes them all."""
    assert aib(played, "exclude", "acme/one", "--reason", "caf\udce9").exit_code == 0

    assert "excluded: caf?" in aib(played, "exclude").stdout


def test_the_rule_and_a_person_who_keeps_a_subject(played: Bench) -> None:
    """One conversation of four without a valid reply excludes; kept, the row says both and has its
    index missing.
    """
    silent = rows(played)["silent"]
    assert (silent["excluded"], silent["missing"][0]) == (RULE, RULE)

    assert (
        aib(played, "exclude", "silent", "--keep", "--reason", "it is what we test").exit_code == 0
    )

    kept = rows(played)["silent"]
    assert (kept["excluded"], kept["index"]) == (None, None)
    assert kept["missing"][0] == f"would be {RULE}; kept by a person: it is what we test"
    assert list(kept["run_scores"]) == ["1"]


def test_models_yaml_excludes_and_takes_back(played: Bench) -> None:
    """As data, matched by what it says of the subject; the command comes before it; what is gone
    from it is undone.
    """
    listed = (
        "endpoints:\n  scripted: {url: 'http://localhost:9'}\nsubjects:\n  - {model: acme/%s, "
        "endpoint: scripted%s}\n"
    )
    models = Path("models.yaml")
    models.write_text(listed % ("one", f", exclude: {WHY}"), encoding="utf-8")
    assert rows(played)["one"]["excluded"] == f"excluded by a person: {WHY}"
    models.write_text(listed % ("one", f", temperature: 0.1, exclude: {WHY}"), encoding="utf-8")
    assert rows(played)["one"]["excluded"] == f"excluded by a person: {WHY}", (
        "another subject: nothing is taken back"
    )
    models.write_text(listed % ("one", ""), encoding="utf-8")
    assert rows(played)["one"]["excluded"] is None

    aib(played, "exclude", "acme/two", "--reason", "mine")
    models.write_text(listed % ("two", f", exclude: {WHY}"), encoding="utf-8")
    assert rows(played)["two"]["excluded"] == "excluded by a person: mine"


@rarely_both
def test_what_was_decided_goes_with_an_export(played: Bench, tmp_path: Path) -> None:
    """Into an empty store and back; the viewer's state changes with it."""
    with open_store(played.store) as store:
        before = read_catalog(store).version
        aib(played, "exclude", "acme/one", "--reason", WHY)
        assert read_catalog(store).version != before
        write_export(store, tmp_path / "out", "unknown")
    with open_store(tmp_path / "other.db") as other:
        summary = import_export(tmp_path / "out", other)
        write_export(other, tmp_path / "again", "unknown")

    assert summary.findings == []
    assert summary.counts["decisions"].added == 1
    for name in ("decisions.jsonl", "scores.jsonl"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


def test_an_export_without_decisions_is_read_as_ever(played: Bench, tmp_path: Path) -> None:
    """As an older version wrote it: it says no version, either."""
    with open_store(played.store) as store:
        write_export(store, tmp_path / "out", "unknown")
    (tmp_path / "out" / "decisions.jsonl").unlink()
    (tmp_path / "out" / "export.json").unlink()
    with open_store(tmp_path / "other.db") as other:
        assert import_export(tmp_path / "out", other).findings == []


@rarely_both
def test_a_store_of_version_2_is_read_and_upgraded(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
    """It has no table for decisions until one is made."""
    made = bench(script)
    made.store = tmp_path / "old.db"
    made.play(made.subject("acme/one"))
    with closing(sqlite3.connect(made.store)) as raw, raw:
        for table in chain.from_iterable(step.makes for to, step in MIGRATIONS.items() if to > 2):
            raw.execute(f"DROP TABLE {table}")
        raw.execute("ALTER TABLE judgements DROP COLUMN checksum")
        raw.execute("UPDATE meta SET value = '2' WHERE name = 'version'")

    assert rows(made)["one"]["excluded"] is None
    with open_store(made.store) as store:
        write_export(store, tmp_path / "out", "unknown")
    assert aib(made, "exclude", "acme/one", "--reason", WHY).exit_code == 0
    assert rows(made)["one"]["excluded"] is not None


@pytest.mark.parametrize(
    "arguments",
    [
        ("acme/one",),
        ("acme/one", "--reason", " "),
        ("acme/one", "--keep", "--undo"),
        ("nobody", "--reason", "x"),
    ],
    ids=["no reason", "an empty one", "two things", "nobody"],
)
def test_what_makes_no_sense_is_said_and_changes_nothing(
    played: Bench, arguments: tuple[str, ...]
) -> None:
    """Nobody has decided anything then."""
    before = rows(played)

    done = CliRunner().invoke(cli, ["exclude", *arguments, "--store", str(played.store)])

    assert isinstance(done.exception, WrongUse)
    assert rows(played) == before
