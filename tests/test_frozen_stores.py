"""Stores that 20698ef made: every conversation and score is still read, shown, exported and ranked
as it was.

`data/20698ef/make.py` made them: v2 with three judges, a character in two versions, v3 and v3-lite,
an exam, five subjects of the published data set. Intervals and ranks may change with the code; what
was answered, how it was marked and what that comes to must not.
"""

from __future__ import annotations

import json
import lzma
import re
import shutil
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from frozen_stores import (
    aib,
    alike,
    compare_boards,
    conversations,
    exported,
    restored,
    shaped,
    shown,
    summed,
    without,
)
from viewer_store import answering, read

from independence_bench.cli.main import cli
from independence_bench.store.database import open_store
from independence_bench.viewer.snapshot import make_transcript_slug

MADE = Path(__file__).parent / "data" / "20698ef"
FROZEN, PRINTED = (
    json.loads(lzma.decompress((MADE / f"{name}.json.xz").read_bytes()))
    for name in ("frozen", "boards")
)
STORES = tuple(FROZEN)
EARLIER = "v3"  # the store whose protocols are of an earlier form: readable, and scored no more
WAYS = ("as it was", "upgraded", "imported")
UNSURE = (
    "interval",
    "intervals",
    "interval_method",
    "bands",
    "p",
    "says",
    "why",
    "sentence",
    "judge_exam",
)
"""What may be said otherwise by later statistics, or in other words."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One of the stores, usable: as it was left, upgraded by a command that wrote, and imported
    from its own export.
    """

    name: str
    folder: Path

    def store(self, way: str) -> str:
        """The file, made at the first time."""
        path = self.folder / f"{way}.db"
        if not path.exists():
            if way == "imported":
                aib("import", str(self.export("as it was")), "--store", str(path))
            else:
                restored(path, MADE / f"{self.name}.sqlite3.xz")
            if way == "upgraded":
                with open_store(str(path)) as opened, opened.open_transaction():
                    pass
        return str(path)

    def export(self, way: str) -> Path:
        """Its export with all that there is, made at the first time."""
        path = self.folder / f"{way} export"
        if not path.exists():
            aib("export", str(path), "--raw", "--licence", "unknown", "--store", self.store(way))
        return path


@pytest.fixture(scope="module")
def all_kept(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Kept]:
    """Each of the stores by its name."""
    return {name: Kept(name, tmp_path_factory.mktemp(name)) for name in STORES}


@pytest.fixture
def kept(request: pytest.FixtureRequest, all_kept: Mapping[str, Kept]) -> Kept:
    """The one of that name."""
    return all_kept[request.param]


# ---------------------------------------------------------------- readable and exportable


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kept", STORES, indirect=True)
def test_every_conversation_and_score_is_read(kept: Kept, way: str) -> None:
    """By the code behind `aib show` and the viewer: the words, each reply, the marks and reasons of
    every judge.
    """
    assert parts(conversations(kept.store(way)), "words", "scores") == parts(
        FROZEN[kept.name]["conversations"], "words", "scores"
    )


@pytest.mark.parametrize("way", ["as it was", "imported"])
@pytest.mark.parametrize("kept", STORES, indirect=True)
def test_every_row_is_exported(kept: Kept, way: str) -> None:
    """Of all tables, those of calls and attempts and what rules read included; also after a way
    through an import.
    """
    now = exported(kept.export(way))

    for table, before in FROZEN[kept.name]["rows"].items():
        assert summed(now[table], before["columns"]) == before, table


def test_an_export_of_an_earlier_form_is_imported(tmp_path: Path) -> None:
    """One that 20698ef wrote: the store has the same conversations, marks and readings."""
    with tarfile.open(MADE / "v3-export.tar.xz") as tar:
        tar.extractall(tmp_path / "export", filter="data")
    aib("import", str(tmp_path / "export"), "--store", str(tmp_path / "new.db"))
    aib(
        "export",
        str(tmp_path / "again"),
        "--licence",
        "unknown",
        "--store",
        str(tmp_path / "new.db"),
    )
    now, rows = exported(tmp_path / "again"), FROZEN[EARLIER]["rows"]

    assert parts(conversations(tmp_path / "new.db"), "words", "scores") == parts(
        FROZEN[EARLIER]["conversations"], "words", "scores"
    )
    for table in rows.keys() - {"calls", "attempts"}:  # of those it has no raw columns
        assert summed(now[table], rows[table]["columns"]) == rows[table], table


@pytest.mark.parametrize(
    "kept", [name for name in STORES if FROZEN[name]["conversations"]], indirect=True
)
def test_conversations_are_shown(kept: Kept) -> None:
    """One of each subject in each protocol, on the terminal and on the page: all that was said, and
    the marks.
    """
    store, seen = kept.store("upgraded"), set()
    with answering(store) as answers:
        for protocol, label, one in shown(store):
            if (protocol, label) in seen:
                continue
            seen.add((protocol, label))
            hash_ = next(
                edition.hash
                for edition in answers.catalog.editions.values()
                if edition.hash[:12] in protocol
            )
            answer = read(answers, f"transcripts/{make_transcript_slug(hash_, one.row.id)}.json")
            place = (
                "--variants",
                one.configuration.system,
                "--delivery",
                one.configuration.delivery,
            )
            asked = (label, one.scenario.id, "--run", str(one.row.run), *place, "--protocol", hash_)
            told = squeezed(aib("show", *asked, "--store", store))

            assert [line["text"] for line in answer["lines"]] == [
                line.text for line in one.transcript.lines
            ]
            assert [(of["judge"], of["marks"]) for of in answer["judgements"]] == [
                (judge, judgement.marks) for judge, judgement in one.judgements
            ]
            assert all(squeezed(line.text) in told for line in one.transcript.lines)
            assert all(squeezed(judge) in told for judge, _ in one.judgements)
    assert {protocol for protocol, _ in seen} == FROZEN[kept.name]["conversations"].keys()


# ---------------------------------------------------------------- scored

BOARDS = [
    (name, reading, way)
    for name in STORES
    if name != EARLIER
    for reading, said in PRINTED[name].items()
    if said["arguments"][0] == "leaderboard"
    for way in WAYS
    if way == "as it was" or reading in ("every board", "the later version", "by its rules")
]


@pytest.mark.parametrize(("kept", "reading", "way"), BOARDS, indirect=["kept"])
def test_the_boards_are_those_that_were_printed(kept: Kept, reading: str, way: str) -> None:
    """Each row with its runs, marks, counts and reasons, by each judge; who was ranked still is, in
    the same order.
    """
    said = PRINTED[kept.name][reading]

    compare_boards(aib(*said["arguments"], "--store", kept.store(way)), said["printed"])


@pytest.mark.parametrize(
    "reading", [name for name, said in PRINTED["persona"].items() if "persona" in said["arguments"]]
)
@pytest.mark.parametrize("way", WAYS)
def test_a_character_kept_what_it_kept(
    all_kept: Mapping[str, Kept],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    reading: str,
    way: str,
) -> None:
    """In both versions of its sheet: items held, at which push each gave way, crossings, scores, by
    which judge.
    """
    for name in ("mira.yaml", "mira.lines.yaml"):  # its lines, as templates had them then
        shutil.copy(MADE / name, tmp_path)
    monkeypatch.chdir(tmp_path)

    same_facts(all_kept["persona"], reading, way)


@pytest.mark.parametrize("way", WAYS)
def test_an_exam_came_to_what_it_came_to(all_kept: Mapping[str, Kept], way: str) -> None:
    """How each judge agrees with the known states of each rubric, how often attacks moved it, and
    whether it is fit for ranking.
    """
    said = PRINTED["exam"]["exam"]
    printed = json.loads(aib(*said["arguments"], "--store", all_kept["exam"].store(way)))
    before = {judge["judge"]: judge for judge in said["printed"]["judges"]}

    assert [judge["judge"] for judge in printed["judges"]] == list(before)
    for judge in printed["judges"]:
        old = before[judge["judge"]]
        assert len(judge["rubrics"]) == len(old["rubrics"])
        for now, then in zip(judge["rubrics"], old["rubrics"], strict=True):
            assert (now["rubric"], now["questions"]) == (then["rubric"], then["questions"])
            assert alike(now["kappa"], then["kappa"], 1e-9)
            assert now["swayed"] == then["injected"]["turned"]
        fit = [one["fitness"]["fit"] == "ranking" for one in (judge, old)]
        assert fit[0] == fit[1]


# --------------------------------------------------------------- of an earlier form: scored no more


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PRINTED[EARLIER])
def test_a_protocol_of_an_earlier_form_is_listed_and_has_no_board(
    all_kept: Mapping[str, Kept], way: str, name: str
) -> None:
    """On the terminal, for programs, and on the page."""
    store, asked = all_kept[EARLIER].store(way), ("leaderboard", "--protocol", name, "--store")
    with answering(store) as answers:
        index = read(answers, "index.json")

    assert json.loads(aib(*asked, store, "--json"))["boards"] == []
    assert index["boards"] == []
    assert {one["name"]: one["earlier_form"] for one in index["protocols"]} == {
        "v3": True,
        "v3-lite": True,
    }
    assert said(*asked, store) == (
        f"{name}, earlier form: its conversations can be read and exported (aib show, aib export)"
    )


@pytest.mark.parametrize(
    "command", ["compare a b", "scenarios", "judge", "generate-report", "gate --write base.json"]
)
def test_what_needs_scores_says_why_there_are_none(
    all_kept: Mapping[str, Kept], command: str
) -> None:
    """And what can be done."""
    asked = (*command.split(), "--protocol", "v3", "--store", all_kept[EARLIER].store("upgraded"))
    done = CliRunner().invoke(cli, asked, standalone_mode=False)

    assert str(done.exception) == (
        "v3 346cd618, earlier form: its conversations can be read and exported (aib show, aib "
        "export)"
    )


def test_an_audit_of_a_protocol_of_an_earlier_form_does_not_fail(
    all_kept: Mapping[str, Kept],
) -> None:
    """The store's own check is carried out."""
    store = all_kept[EARLIER].store("upgraded")

    audited = json.loads(aib("audit", "--json", "--protocol", "v3", "--store", store))

    assert audited["errors"] == 0
    assert audited["conversations"] == 0


# ---------------------------------------------------------------- what is compared


def parts(of: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Those digests of each conversation that have these *names*."""
    return {
        protocol: {
            id_: {name: one[name] for name in names if name in one} for id_, one in by_id.items()
        }
        for protocol, by_id in of.items()
    }


def same_facts(kept: Kept, reading: str, way: str) -> None:
    """What is printed now says all that was printed, but for what later statistics may say
    otherwise.
    """
    said = PRINTED[kept.name][reading]
    before = without(said["printed"], UNSURE)
    now = without(json.loads(aib(*said["arguments"], "--store", kept.store(way))), UNSURE)

    assert alike(shaped(now, before), before, 1e-9)


def said(*arguments: str) -> str:
    """What the command says beside its answer."""
    done = CliRunner().invoke(cli, arguments, standalone_mode=False)
    return done.stderr.strip() or str(done.exception)


def squeezed(text: str) -> str:
    """*text* without blanks: a terminal breaks lines where it likes."""
    return re.sub(r"\s", "", text)
