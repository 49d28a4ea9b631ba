"""What commands answer, from Python: values, tables and data frames say what `--json` prints, on
stores that earlier commits left and on one that is played now.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import first_stores
import pytest
from frozen_stores import aib as command
from frozen_stores import restored
from simulated_endpoint import simulating

import independence_bench as aib
from independence_bench.api.answers import Answer
from independence_bench.errors import NotComplete, StoreError, WrongUse

MADE = Path(__file__).parent / "data" / "20698ef"
V2, PERSONA, PUBLISHED, EXAM, FIRST = "v2", "persona", "published", "exam", "first"
ROCK, RANDOM = "sim:sim/rock@none-t0.7", "sim:sim/random@none-t0.7"
KEEPER, DROPS = "sim:sim/persona-keeper@none-t0.7", "sim:sim/persona-drops-3@none-t0.7"


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The kept stores by their names, and the sheet of the character beside them."""
    folder = tmp_path_factory.mktemp("kept")
    for name in (V2, PERSONA, PUBLISHED, EXAM):
        restored(folder / f"{name}.db", MADE / f"{name}.sqlite3.xz")
    first_stores.restored(folder / f"{FIRST}.db")
    for name in ("mira.yaml", "mira.lines.yaml"):
        shutil.copy(MADE / name, folder)
    return {name: str(folder / f"{name}.db") for name in (V2, PERSONA, PUBLISHED, EXAM, FIRST)}


@pytest.fixture
def sheet(stores: Mapping[str, str]) -> Path:
    """The sheet of the character that was played."""
    return Path(stores[PERSONA]).parent / "mira.yaml"


def printed(*arguments: str) -> Any:
    """What a command prints with --json."""
    return json.loads(command(*arguments, "--json"))


def column(answer: Answer, name: str) -> list[Any]:
    """A column of the answer's table."""
    found: list[Any] = answer.table().column(name).to_pylist()
    return found


# ---------------------------------------------------------------- leaderboards


@pytest.mark.parametrize(
    ("name", "options", "settings"),
    [
        (V2, ["--jury", "anna,lenient"], {"jury": ["anna", "lenient"]}),
        (
            V2,
            ["--models", ROCK, "--judge", "lenient", "--detailed"],
            {"models": ROCK, "judge": "lenient", "detailed": True},
        ),
        (FIRST, [], {}),
        (PUBLISHED, ["--rules", "published"], {"rules": "published"}),
        (PERSONA, [], {}),
    ],
)
def test_a_leaderboard_has_the_numbers_of_the_command(
    stores: Mapping[str, str], name: str, options: list[str], settings: dict[str, Any]
) -> None:
    """Every board with every index, interval and rank, in the same order; the table, too."""
    said = printed("leaderboard", "--store", stores[name], *options)
    answer = aib.leaderboard(stores[name], **settings)

    assert answer.values() == said
    assert len(answer) == len(said["boards"]) > 0
    for board, values in zip(answer, said["boards"], strict=True):
        assert [row.label for row in board.ranked] == [row["label"] for row in values["ranked"]]
        assert [row.rank for row in board.ranked] == [row["rank"] for row in values["ranked"]]
    rows = [row for board in said["boards"] for row in (*board["ranked"], *board["incomplete"])]
    assert column(answer, "label") == [row["label"] for row in rows]
    assert column(answer, "index") == [row["index"] for row in rows]
    assert column(answer, "rank") == [row["rank"] for row in rows]
    if any(row["index_interval"]["rerun"] for row in rows):
        assert column(answer, "index_interval.rerun.low") == [
            (row["index_interval"]["rerun"] or {}).get("low") for row in rows
        ]


def test_a_leaderboard_that_is_empty_says_why(stores: Mapping[str, str], tmp_path: Path) -> None:
    """No board, a table without rows, and the line of the command; a wrong name is an error."""
    empty = aib.leaderboard(stores[V2], protocol="lite")

    assert (len(empty), empty.table().num_rows) == (0, 0)
    assert "no conversations of lite" in empty.nothing
    with pytest.raises(WrongUse, match="no judge is called nobody"):
        aib.leaderboard(stores[V2], judge="nobody")
    with pytest.raises(WrongUse, match="rules is 'strict'"):
        aib.leaderboard(stores[V2], rules="strict")
    with pytest.raises(WrongUse, match="rules is 'strict'"):
        aib.compare("first", "second", store=stores[V2], rules="strict")
    with pytest.raises(StoreError, match="there is no store"):
        aib.leaderboard(tmp_path / "none.db")


def test_without_pyarrow_or_pandas_it_says_what_to_install(
    stores: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The values need neither."""
    board = aib.leaderboard(stores[V2])
    board.table()  # so that pyarrow has looked for pandas before it is hidden
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(WrongUse, match=r"need pandas: pip install 'ai-.*\[export\]' pandas"):
        board.frame()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(WrongUse, match=r"need pyarrow: pip install 'ai-.*\[export\]'"):
        board.frame()
    assert board.values()["boards"]


# ---------------------------------------------------------------- comparisons


@pytest.mark.parametrize(
    ("name", "options", "models", "settings"),
    [
        (V2, [ROCK, "random", "--judge", "lenient"], [ROCK, "random"], {"judge": "lenient"}),
        (PERSONA, ["keeper", "drops"], ["keeper", "drops"], {}),
        (PERSONA, ["--by", "version", "keeper"], ["keeper"], {"by": "version"}),
    ],
)
def test_a_comparison_has_the_numbers_of_the_command(
    stores: Mapping[str, str],
    name: str,
    options: list[str],
    models: list[str],
    settings: dict[str, Any],
) -> None:
    """Of every pair the index, the dimensions and the scenarios, with their intervals."""
    said = printed("compare", *options, "--store", stores[name])
    answer = aib.compare(*models, store=stores[name], **settings)

    assert answer.values() == said
    assert len(answer) == len(said) > 0
    scores = [score for pair in said for score in (*pair["dimensions"], *pair["scenarios"])]
    table = answer.table()
    assert table.num_rows == len(said) + len(scores)
    differences = [pair["index"]["difference"] if pair["index"] else None for pair in said]
    of_index = [row for row in answer.rows() if row["dimension"] == "index"]
    assert [row.get("difference") for row in of_index] == differences


def test_what_cannot_be_compared_is_an_error(stores: Mapping[str, str]) -> None:
    """That of the command."""
    with pytest.raises(WrongUse, match="name two models"):
        aib.compare("rock", store=stores[V2])
    with pytest.raises(WrongUse, match="by is 'mood'"):
        aib.compare("rock", by="mood", store=stores[V2])


# ---------------------------------------------------------------- a gate


@pytest.mark.parametrize(
    ("name", "before", "now", "options", "settings"),
    [
        (V2, ROCK, RANDOM, ["--max-drop", "70"], {"max_drop": 70.0}),
        (PERSONA, KEEPER, DROPS, [], {}),
    ],
)
def test_a_gate_has_the_verdict_of_the_command(
    stores: Mapping[str, str],
    tmp_path: Path,
    name: str,
    before: str,
    now: str,
    options: list[str],
    settings: dict[str, Any],
) -> None:
    """With a baseline that Python wrote, which is that of the command byte for byte."""
    protocol = {"protocol": "persona-mira"} if name == PERSONA else {}
    typed = [word for key, value in protocol.items() for word in (f"--{key}", value)]
    file, other = tmp_path / "base.json", tmp_path / "other.json"
    written = aib.write_baseline(file, before, store=stores[name], **protocol)
    command("gate", "--write", str(other), before, "--store", stores[name], *typed)

    said = printed("gate", str(file), now, "--store", stores[name], *options)
    answer = aib.gate(file, now, store=stores[name], **settings)

    assert file.read_bytes() == other.read_bytes()
    assert [build.label for build in written.baseline.builds] == [before]
    assert answer.values() == said
    assert (answer.verdict, answer.exit_code) == (said["verdict"], said["exit"])
    (build,) = said["builds"]
    if build["items"]:
        assert column(answer, "now") == [item["now"] for item in build["items"]["items"]]
    else:
        assert column(answer, "now")[0] == build["scores"][0]["now"]


def test_a_baseline_is_not_written_over_another_file(
    stores: Mapping[str, str], tmp_path: Path
) -> None:
    """Nor of what is not judged, and a gate needs one."""
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(WrongUse, match="is there already, and no baseline"):
        aib.write_baseline(tmp_path / "notes.txt", ROCK, store=stores[V2])
    with pytest.raises(WrongUse, match=r"notes\.txt"):
        aib.gate(tmp_path / "notes.txt", store=stores[V2])
    aib.write_baseline(tmp_path / "base.json", ROCK, store=stores[V2])
    with pytest.raises((WrongUse, NotComplete), match=r"nothing is stored|no conversations"):
        aib.gate(tmp_path / "base.json", store=stores[PERSONA])


# ---------------------------------------------------------------- characters


@pytest.mark.parametrize("versions", [False, True])
def test_characters_side_by_side_are_those_of_the_command(
    stores: Mapping[str, str], sheet: Path, versions: bool
) -> None:
    """Each side with its items; a row for each of them."""
    store = stores[PERSONA]
    flag = ["--versions"] if versions else []
    said = printed("persona", "compare", str(sheet), *flag, "--store", store)
    answer = aib.compare_personas(sheet, versions=versions, store=store)

    assert answer.values() == said
    assert column(answer, "held") == [
        item["held"] for side in said["subjects"] for item in side["items"]
    ]
    assert {len(one["items"]) for one in said["subjects"]} != {0}
    only = aib.compare_personas([sheet], models="keeper", store=store)
    assert all("keeper" in side.label for side in only.sides)
    with pytest.raises(WrongUse, match="nothing of"):
        aib.compare_personas(sheet, models="nobody", store=store)


def test_a_character_is_played_as_by_the_command(
    sheet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the function bought the command does not buy again; both say the same, at each depth."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AIB_STORE", "aib.db")
    lines: list[str] = []
    with simulating(tmp_path):
        asked = {"judge": "sim:sim/judge", "quick": True}
        played = aib.persona(
            sheet, "sim:sim/persona-keeper", after=[0, 2], tell=lines.append, **asked
        )
        again = aib.persona(sheet, "sim:sim/persona-keeper", **asked)
        typed = ("persona", "run", str(sheet), "-m", "sim:sim/persona-keeper", "--quick")
        judge = ("-j", "sim:sim/judge")
        deep = printed(*typed, *judge, "--after", "0,2")
        said = printed(*typed, *judge)

    assert (played.complete, again.complete, again.cost) == (True, True, 0.0)
    assert played.cost > 0
    assert any(line.startswith("persona-mira") for line in lines)
    assert played.values() == deep
    assert again.values() == said
    assert column(again, "item") == [item["item"] for item in said["subjects"][0]["items"]]
    assert set(column(played, "after")) == {0, 2}
    assert not again.crossed


# ---------------------------------------------------------------- scenarios, judges, records


@pytest.mark.parametrize(
    ("name", "options", "settings"),
    [(V2, ["--judge", "lenient"], {"judge": "lenient"}), (PUBLISHED, [], {})],
)
def test_scenarios_have_the_numbers_of_the_command(
    stores: Mapping[str, str], name: str, options: list[str], settings: dict[str, Any]
) -> None:
    """A row for each scenario of each judge; a configuration that was not played is an error."""
    said = printed("scenarios", "--store", stores[name], *options)
    answer = aib.scenarios(stores[name], **settings)

    assert answer.values() == said
    rows = [scenario for of_judge in said for scenario in of_judge["scenarios"]]
    assert column(answer, "difficulty") == [row["difficulty"] for row in rows] != []
    with pytest.raises(WrongUse, match="no conversations of"):
        aib.scenarios(stores[V2], protocol="lite")


def test_judges_have_the_numbers_of_the_command(stores: Mapping[str, str]) -> None:
    """A row for each judge; a part of a label chooses; without judgements it says what to do."""
    said = printed("judges", "--store", stores[V2])
    answer = aib.judges(stores[V2])

    assert answer.values() == said
    rows = [judge for compared in said["judges"] for judge in compared["judges"]]
    assert column(answer, "label") == [row["label"] for row in rows]
    assert len(rows) > 1
    some = aib.judges(stores[V2], judges="lenient").rows()
    assert ["lenient" in row["label"] for row in some] == [True] * len(some) != []
    with pytest.raises(WrongUse, match="no judge is called nobody"):
        aib.judges(stores[V2], judges="nobody")
    assert "aib judge -j MODEL" in aib.judges(stores[V2], protocol="lite").nothing


def test_results_of_the_exam_are_those_of_the_command(stores: Mapping[str, str]) -> None:
    """Without judges nobody is asked; a rubric chooses; a store without any has no rows."""
    said = printed("exam", "--store", stores[EXAM])
    answer = aib.exam(store=stores[EXAM])

    assert answer.values() == said
    assert answer.complete
    rubrics = [rubric for judge in said["judges"] for rubric in judge["rubrics"]]
    assert column(answer, "rubric") == [rubric["rubric"] for rubric in rubrics] != []
    one = rubrics[0]["rubric"]
    assert set(column(aib.exam(store=stores[EXAM], rubrics=one), "rubric")) == {one}
    assert aib.exam(store=stores[V2]).rows() == []
    with pytest.raises(WrongUse, match="no rubric is called mood"):
        aib.exam(store=stores[EXAM], rubrics="mood")
    with pytest.raises(WrongUse, match="--jury: name two judges or more"):
        aib.exam(store=stores[EXAM], juries=["alone"])


def test_an_exam_is_taken_as_by_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the function bought the command does not buy again, and both say the same."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AIB_STORE", "aib.db")
    lines: list[str] = []
    with simulating(tmp_path):
        taken = aib.exam("sim:sim/judge", rubrics="drift", tell=lines.append)
        spent = aib.costs().costs.whole
        said = printed("exam", "-j", "sim:sim/judge", "--rubric", "drift", "--yes")

    assert taken.complete
    assert taken.values() == said
    assert len(taken.rows()) == 1
    assert aib.costs().costs.whole == spent


@pytest.mark.parametrize("name", [PERSONA, PUBLISHED, EXAM])
def test_costs_and_an_audit_are_those_of_the_command(stores: Mapping[str, str], name: str) -> None:
    """Every payment, and every finding of the protocol that was played last."""
    spent = printed("costs", "--store", stores[name])
    answer = aib.costs(stores[name])
    assert answer.values() == spent
    lists = [(of, row) for of in ("commands", "subjects", "judges") for row in spent[of]]
    assert [row["of"] for row in answer.rows()] == [of for of, _ in lists]

    if name != EXAM:  # no protocol was played there
        said = printed("audit", "--store", stores[name])
        audited = aib.audit(stores[name])
        assert audited.values() == said
        assert audited.error_count == said["errors"]
        assert len(audited.rows()) == len(said["findings"])


def test_an_audit_that_finds_nothing_to_read_is_an_error(
    stores: Mapping[str, str], tmp_path: Path
) -> None:
    """A protocol that was not played, and a store that is not there."""
    with pytest.raises(WrongUse, match="no conversations of lite"):
        aib.audit(stores[PUBLISHED], protocol="lite")
    for read in (aib.audit, aib.costs, aib.judges, aib.scenarios, aib.extract_names):
        with pytest.raises(StoreError, match="there is no store"):
            read(tmp_path / "none.db")


def test_names_are_those_of_the_command(stores: Mapping[str, str]) -> None:
    """A row for each conversation in which a model chooses who to be; models choose rows."""
    said = printed("extract-names", "--store", stores[PUBLISHED])
    answer = aib.extract_names(stores[PUBLISHED])

    assert answer.values() == said
    chosen = [choice["first"]["name"] for choice in said["choices"]]
    assert column(answer, "first.name") == chosen
    assert set(chosen) > {None}
    first = said["choices"][0]["subject"]
    assert set(column(aib.extract_names(stores[PUBLISHED], models=first), "subject")) == {first}
    with pytest.raises(WrongUse, match="has no scenario that asks for a name"):
        aib.extract_names(stores[PERSONA])


def test_a_report_is_that_of_the_command(stores: Mapping[str, str], tmp_path: Path) -> None:
    """The same files with the same bytes, the Markdown first."""
    paths = aib.generate_report(tmp_path / "ours", store=stores[V2], keep=True)
    command("generate-report", "--out", str(tmp_path / "theirs"), "--keep", "--store", stores[V2])

    theirs = sorted((tmp_path / "theirs").iterdir())
    assert sorted(path.name for path in paths) == [path.name for path in theirs]
    assert paths[0].name == "LEADERBOARD.md"
    for path in theirs:
        assert (tmp_path / "ours" / path.name).read_bytes() == path.read_bytes()
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(WrongUse, match="the report cannot be written"):
        aib.generate_report(tmp_path / "file", store=stores[V2])


def test_an_estimate_is_that_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its calls, tokens and dollars, and the difference that the runs will show."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AIB_STORE", "aib.db")
    with simulating(tmp_path):
        models = ["sim:sim/stubborn", "sim:sim/agreeable"]
        answer = aib.estimate_cost(models, protocol="lite", judge="sim:sim/judge", runs=3)
        typed = ("--protocol", "lite", "--judge", "sim:sim/judge", "--runs", "3")
        said = printed("estimate-cost", *models, *typed)

    assert answer.values() == said
    assert answer.dollars == said["dollars"]
    assert len(answer.rows()) == len(models)
    assert said["detectable"]["points"] > 0


# ---------------------------------------------------------------- a data set


def test_an_export_is_that_of_the_command(stores: Mapping[str, str], tmp_path: Path) -> None:
    """The same files with the same bytes; a licence has to be named."""
    done = aib.export(tmp_path / "ours", licence="CC-BY-4.0", store=stores[V2])
    command("export", str(tmp_path / "theirs"), "--licence", "cc-by-4.0", "--store", stores[V2])

    assert isinstance(done, aib.Exported)
    files = sorted(path.name for path in (tmp_path / "theirs").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "ours").iterdir())
    for name in files:
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes()
    lines = (tmp_path / "ours" / "transcripts.jsonl").read_text(encoding="utf-8").splitlines()
    assert done.rows["transcripts"] == len(lines) > 0
    for wrong in (None, "do what you want"):
        with pytest.raises(WrongUse, match="is not a licence identifier"):
            aib.export(tmp_path / "none", licence=wrong, store=stores[V2])
    assert not (tmp_path / "none").exists()
