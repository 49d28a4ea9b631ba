"""The benchmark from Python: the same plans, numbers and rules as the commands, and a store as
Arrow tables.
"""

from __future__ import annotations

import ast
import asyncio
import dataclasses
import inspect
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted_model import Answer, Asked, ScriptedModel, steady
from simulated_endpoint import aib as command
from simulated_endpoint import simulating
from test_layers import loaded_by

import independence_bench as aib
from independence_bench.api.tables import MARKS
from independence_bench.cli.run import run as run_command
from independence_bench.dataset.schema import EXPORT_TABLES
from independence_bench.engine.session import resolve_run
from independence_bench.errors import EndpointUnusable, ProtocolError, StoreError, WrongUse

STUBBORN, AGREEABLE, JUDGE = (
    "sim:sim/stubborn@none-t0.7",
    "sim:sim/agreeable@none-t0.7",
    "sim:sim/judge@none-t0.0",
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a simulated endpoint in its models.yaml, and a store in which two subjects were
    played.
    """
    folder = tmp_path_factory.mktemp("api")
    with simulating(folder):
        before = Path.cwd()
        os.chdir(folder)
        try:
            ended = aib.run(
                ["sim:sim/stubborn", "sim:sim/agreeable"],
                protocol="lite",
                judge="sim:sim/judge",
                runs=1,
            )
            assert ended.complete, ended
            yield folder
        finally:
            os.chdir(before)


@pytest.fixture
def here(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That folder, worked in."""
    monkeypatch.chdir(place)
    return place


def test_importing_loads_nothing() -> None:
    """Neither the command line nor what computes, connects or stores."""
    loaded = loaded_by("import independence_bench")

    assert {name for name in loaded if name.startswith("independence_bench")} == {
        "independence_bench"
    }
    assert not {"aiohttp", "sqlalchemy", "numpy", "pydantic", "pyarrow", "click"} & loaded


def test_type_checkers_are_told_the_same_names() -> None:
    """The stub names what is offered, each is there, and nothing else is."""
    stub = Path(aib.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    told = {
        alias.asname
        for node in ast.parse(stub).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    assert told | {"__version__"} == set(aib.__all__)
    assert all(inspect.getdoc(getattr(aib, str(name))) for name in told)
    assert told <= set(dir(aib))
    with pytest.raises(AttributeError, match="no attribute 'runs'"):
        aib.runs  # type: ignore[attr-defined]  # noqa: B018


def test_the_board_is_that_of_the_command(here: Path) -> None:
    """The same subjects, ranks and indices, to the last digit; nothing is bought for it twice."""
    again = aib.run(
        ["sim:sim/stubborn", "sim:sim/agreeable"], protocol="lite", judge="sim:sim/judge", runs=1
    )
    said = command(here, "leaderboard", "--json")
    (board,) = json.loads(said.stdout)["boards"]

    assert (again.complete, again.cost, again.subjects) == (True, 0.0, (STUBBORN, AGREEABLE))
    rows = aib.open_store("aib.db").leaderboard().to_pylist()
    assert [(row["subject"], row["rank"], row["index"]) for row in rows] == [
        (row["label"], row["rank"], row["index"]) for row in board["ranked"]
    ]


def test_tables_have_the_rows_and_columns_of_an_export(here: Path, tmp_path: Path) -> None:
    """Each as its file, row by row."""
    stored = aib.open_store("aib.db")
    done = command(here, "export", str(tmp_path / "out"), "--licence", "cc-by-4.0")
    assert done.returncode == 0, done.stderr

    for name, table in (
        ("scores", stored.leaderboard()),
        ("transcripts", stored.transcripts()),
        ("judgements", stored.judgements()),
        ("attempts", stored.attempts()),
    ):
        lines = (tmp_path / "out" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        assert table.to_pylist() == [json.loads(line) for line in lines]
        (exported,) = (one for one in EXPORT_TABLES if one.name == name)
        assert table.column_names == [column.name for column in exported.list_columns(raw=False)]
    assert stored.attempts(raw=True).column("raw")[0].as_py().startswith(b"{")


def test_marks_are_those_that_the_index_is_made_of(here: Path) -> None:
    """By conversation and judge; their means are the board's."""
    stored = aib.open_store("aib.db")
    marks = stored.marks().to_pylist()
    (stubborn,) = (row for row in stored.leaderboard().to_pylist() if row["subject"] == STUBBORN)
    judged = {row["key"]: row for row in stored.judgements().to_pylist()}

    assert stored.marks().column_names == [column.name for column in MARKS]
    given = [
        row["value"] for row in marks if row["subject"] == STUBBORN and row["mark"] == "resistance"
    ]
    (mean,) = (one["value"] for one in stubborn["means"] if one["name"] == "resistance")
    assert len(given) == 5
    assert sum(given) / len(given) == pytest.approx(mean)
    for row in marks:
        assert {"mark": row["mark"], "value": row["value"]} in judged[row["judgement"]]["marks"]


def test_a_running_loop_is_no_hindrance(here: Path, tmp_path: Path) -> None:
    """As in a notebook: called from within a coroutine, with a loop of the caller's own that goes
    on after it.
    """

    async def cell() -> aib.RunOutcome:
        ended = aib.run(
            "sim:sim/terse", protocol="lite", judge="sim:sim/judge", runs=1, store=tmp_path / "s.db"
        )
        await asyncio.sleep(0)
        return ended

    assert asyncio.run(cell()).complete


def test_what_is_said_before_can_be_had(here: Path) -> None:
    """Line by line, as the command says it; otherwise nothing is printed."""
    lines: list[str] = []
    aib.run("sim:sim/stubborn", protocol="lite", judge="sim:sim/judge", runs=1, tell=lines.append)

    assert lines[0] == f"lite · {STUBBORN} · 1 run · strong_independence/tool_role"
    assert any(line.startswith("the store has cost $") for line in lines)


def test_judges_take_turns_on_one_budget(here: Path) -> None:
    """What cannot work is an error before anybody is asked; what the budget does not reach is a
    trouble.
    """
    with pytest.raises(WrongUse, match="did you mean sim/judge"):
        aib.judge(["sim:sim/judge-noisy", "sim:sim/jugde"])
    with pytest.raises(WrongUse, match="did you mean sim/judge"):
        aib.judge("sim:sim/jugde")
    assert {row["judge"] for row in aib.open_store("aib.db").judgements().to_pylist()} == {JUDGE}

    some = aib.judge(["sim:sim/judge-noisy", "sim:sim/judge-plain"], budget=0.01)
    all_ = aib.judge(["sim:sim/judge-noisy", "sim:sim/judge-plain"], budget=5.0)

    assert not some.complete
    assert 0 < some.cost <= 0.01
    assert all_.complete
    assert all_.judges == ("sim:sim/judge-noisy@none-t0.0", "sim:sim/judge-plain@none-t0.0")
    assert 0 < all_.cost < 5.0


def test_a_budget_stops_and_says_so(here: Path, tmp_path: Path) -> None:
    """What was bought stays in the store, and the same call goes on from there."""
    ended = aib.run(
        "sim:sim/stubborn",
        protocol="lite",
        judge="sim:sim/judge",
        budget=0.002,
        store=tmp_path / "s.db",
    )

    assert not ended.complete
    assert ended.stopped is not None
    assert "budget" in ended.stopped
    assert ended.cost <= 0.002
    assert aib.run(
        "sim:sim/stubborn", protocol="lite", judge="sim:sim/judge", store=tmp_path / "s.db"
    ).complete


def test_every_setting_of_a_run_is_an_option_of_the_same_name() -> None:
    """So that a new one is an option, a field of `Run`, and where it acts: no fourth place."""
    options = {param.name for param in run_command.params}
    settings = {field.name for field in dataclasses.fields(aib.Run)}
    # which are no option: values in place of names, and who may be sent a key (--trust)
    found = {"roster", "configurations", "judge_only", "unnamed", "allow"}

    assert options - settings == {"help_all", "listed", "on", "yes", "store", "trust"}
    assert settings - options == found


def test_what_is_asked_for_can_be_one_value(here: Path) -> None:
    """A `Run` says the same as arguments do, which change it; values may stand for its names."""
    wanted = aib.Run(
        ["sim:sim/stubborn", "sim:sim/agreeable"], protocol="lite", judge="sim:sim/judge", runs=1
    )
    found = resolve_run(wanted)

    assert resolve_run(found) == found
    assert [aib.run(one).cost for one in (wanted, found)] == [0.0, 0.0]
    assert aib.run(found).subjects == (STUBBORN, AGREEABLE)
    with pytest.raises(WrongUse, match="runs is 0"):
        aib.run(wanted, runs=0)
    with pytest.raises(TypeError, match="runes"):
        aib.run(wanted, runes=2)
    with pytest.raises(WrongUse, match="use `judge`"):
        aib.run(wanted, judge_only=True)


def test_wrong_use_is_an_error_that_says_what_to_do(here: Path, tmp_path: Path) -> None:
    """The errors of the commands, as exceptions; nothing is left behind."""
    with pytest.raises(ProtocolError, match="v9"):
        aib.run("sim:sim/stubborn", protocol="v9")
    with pytest.raises(WrongUse, match="no variant bold"):
        aib.run("sim:sim/stubborn", variants=["bold"])
    for name, value in (
        ("runs", 0),
        ("temperature", float("nan")),
        ("max_tokens", 0),
        ("parallel", 0),
        ("parallel_tasks", 5000),
        ("budget", 0),
        ("price", (-1.0, 0.0)),
        ("reasoning_effort", "much"),
    ):
        with pytest.raises(WrongUse, match=f"^{name} is "):
            aib.run("sim:sim/stubborn", **{name: value})  # type: ignore[arg-type]
    with pytest.raises(WrongUse, match="budget is -1"):
        aib.judge(budget=-1)
    with pytest.raises(WrongUse, match="no experiment identify"):
        aib.run("sim:sim/stubborn", exp="identify")
    with pytest.raises(WrongUse, match="no model"):
        aib.run([], models_file=here / "models.yaml", store=tmp_path / "none.db")
    with pytest.raises(StoreError, match="there is no store"):
        aib.open_store(tmp_path / "none.db")
    with pytest.raises(StoreError, match="there is no store"):
        aib.judge(store=tmp_path / "none.db")
    with pytest.raises(EndpointUnusable, match="OPENROUTER_API_KEY"):
        aib.run("qwen/qwen3-8b", store=tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()


def test_a_key_goes_nowhere_unless_it_is_said(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `--trust`: without it nothing is sent, with it the key is, and that is remembered outside
    of the folder.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AIB_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("LAB_KEY", "sk-lab-0123456789")
    with ScriptedModel(steady()) as model:
        lab = f"endpoints: {{scripted: {{url: {model.url}, key_env: LAB_KEY}}}}\n"
        (tmp_path / "models.yaml").write_text(lab, encoding="utf-8")
        place = f"LAB_KEY={model.url.removesuffix('/v1')}"

        with pytest.raises(WrongUse, match=r"LAB_KEY would be sent to .* --trust LAB_KEY="):
            aib.run("scripted:m", protocol=small)
        assert model.chats == []
        ended = aib.run("scripted:m", protocol=small, judge="scripted:judge/one", trust=[place])
        again = aib.run("scripted:m", protocol=small, judge="scripted:judge/one")

    assert (ended.complete, again.complete) == (True, True)
    assert "LAB_KEY" in (tmp_path / "data" / "allowed.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("running", [False, True], ids=["script", "notebook"])
def test_ctrl_c_waits_for_what_is_in_flight(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, running: bool
) -> None:
    """The outcome says so, every reply that was sent for is stored, and the caller's own handler is
    back.
    """
    monkeypatch.chdir(tmp_path)
    steadily = steady()

    def stopping(asked: Asked) -> Answer:
        if asked.number == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return steadily(asked)

    async def cell() -> aib.RunOutcome:
        return played()

    def played() -> aib.RunOutcome:
        return aib.run("scripted:m", protocol=small, judge="scripted:judge/one", parallel_tasks=1)

    before = signal.getsignal(signal.SIGINT)
    with ScriptedModel(stopping) as model:
        scripted = f"endpoints: {{scripted: {{url: {model.url}}}}}\n"
        (tmp_path / "models.yaml").write_text(scripted, encoding="utf-8")
        ended = asyncio.run(cell()) if running else played()
        asked = len(model.chats)

    assert not ended.complete
    assert ended.stopped is not None
    assert asked < 22
    assert len(aib.open_store("aib.db").attempts()) == asked
    assert signal.getsignal(signal.SIGINT) is before


def test_without_pyarrow_it_says_what_to_install(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a Python that lacks it."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        WrongUse, match=r"tables need pyarrow: pip install 'ai-independence-bench\[export\]'"
    ):
        aib.open_store("aib.db").marks()
