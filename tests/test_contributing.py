"""The recipes of CONTRIBUTING.md, followed word by word in a copy of the code."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from scripted_model import ScriptedModel, steady
from test_cli import CALLS, User

from independence_bench.models.trust import find_origin

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PACKAGE = Path("src/independence_bench")


def blocks(heading: str) -> list[str]:
    """The code of the recipe below *heading*."""
    section = re.split(r"^##", PAGE.partition(f"### {heading}")[2], maxsplit=1, flags=re.MULTILINE)[
        0
    ]
    return re.findall(r"^```\w+\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A checkout's code of which anything may be changed."""
    # with what was compiled: times are copied, too, so Python compiles only what is edited
    left_out = shutil.ignore_patterns("page")
    shutil.copytree(ROOT / PACKAGE, tmp_path / "copy" / PACKAGE, ignore=left_out)
    return tmp_path / "copy"


@pytest.fixture
def user(small: Path, tmp_path: Path, serve: Callable[..., ScriptedModel]) -> User:
    """Somebody with an endpoint that answers steadily."""
    made = User(tmp_path, serve(steady()))
    made.models()
    return made


def aib(copy: Path, user: User, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the copy's `aib`."""
    command = [sys.executable, "-m", "independence_bench", *arguments]
    env = user.env | {"PYTHONPATH": str(copy / "src")}
    return subprocess.run(
        command, cwd=user.folder, env=env, capture_output=True, text=True, check=False
    )


def test_a_new_mark_is_one_file(user: User) -> None:
    """The judge is asked for it with the others."""
    head, text = blocks("A new mark")
    shutil.copytree(ROOT / PACKAGE / "protocol/shipped/lite", user.folder / "mine")
    rubric = user.folder / "mine/rubrics/stability.md"
    before = rubric.read_text(encoding="utf-8")
    rubric.write_text(
        before.replace("marks:\n", f"marks:\n{head}", 1) + f"\n{text}", encoding="utf-8"
    )

    checked = user.aib("check", "mine")
    run = ("run", "scripted:acme/one", "--protocol", "mine", "--exp", "stability", "--runs", "1")
    user.aib(*run, "--judge", "scripted:judge/one")

    assert checked.returncode == 0, checked.stderr
    assert "candour (0-10)" in checked.stdout
    assert user.server.judged
    assert all("**candour**: does the second reply" in asked.text for asked in user.server.judged)


def test_a_new_model_is_one_line(user: User, copy: Path) -> None:
    """It is called with its settings, played with all others, and has a row in the list of
    models.
    """
    (line,) = blocks("A new model")
    assert line.count("\n") == 1
    listed = copy / PACKAGE / "models/models.yaml"
    before = listed.read_text(encoding="utf-8")
    listed.write_text(before.replace("subjects:\n", f"subjects:\n{line}", 1), encoding="utf-8")
    shutil.copytree(ROOT / "docs", copy / "docs", ignore=shutil.ignore_patterns("__pycache__"))
    user.models(f'  openrouter: {{url: "{user.server.url}"}}\n')
    user.environment["OPENROUTER_API_KEY"] = "sk-or-v1-0123456789abcdef0123456789abcdef"
    trust = ("--trust", f"OPENROUTER_API_KEY={find_origin(user.server.url)}")
    run = ("--protocol", "small", "--runs", "1", "--no-judge", *trust)

    done = aib(copy, user, "run", "acme/new-model", *run)
    env = user.env | {"PYTHONPATH": str(copy / "src")}
    code = (
        "import build; [path.write_text(text, encoding='utf-8') for path, text in build.models()]"
    )
    subprocess.run([sys.executable, "-c", code], cwd=copy / "docs", env=env, check=True)

    assert done.returncode == 0, done.stderr
    sent = [asked.body for asked in user.server.played]
    assert {(b["model"], b["temperature"], b["reasoning"]["effort"]) for b in sent} == {
        ("acme/new-model", 0.7, "low")
    }
    rows = (copy / "docs/data/models.csv").read_text(encoding="utf-8").splitlines()
    assert [row for row in rows if "new-model" in row] == ["acme/new-model,low,0.7,,True,,,,,,,"]
    shown = aib(copy, user, "estimate-cost", "--all", "--protocol", "small", "--json", *trust)
    assert "acme/new-model@low-t0.7" in shown.stdout


def test_a_new_column_is_one_edit(user: User, copy: Path) -> None:
    """Terminal, report, JSON, CSV and page show it, with its title, its text and its meaning."""
    (made,) = blocks("A new column")
    health = copy / PACKAGE / "analysis/health.py"
    before = health.read_text(encoding="utf-8")
    place = "    @property\n    def attempts(self)"
    assert before.count(place) == 1
    health.write_text(before.replace(place, f"{made}\n{place}"), encoding="utf-8")
    run = ("run", "scripted:acme/one", "--protocol", "small", "--runs", "2")
    assert user.aib(*run).returncode == 0

    wide = aib(copy, user, "leaderboard", "--wide")
    row = json.loads(aib(copy, user, "leaderboard", "--json").stdout)["boards"][0]["ranked"][0]
    report = aib(copy, user, "generate-report")
    env = user.env | {"PYTHONPATH": str(copy / "src")}
    code = (
        "from independence_bench.viewer import boards;"
        "print([one for one in boards.list_page_columns() if one.title == 'Complete'])"
    )
    page = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    ).stdout

    assert "complete" in wide.stdout, wide.stderr
    assert "100%" in wide.stdout
    assert row["health"]["share_complete"] == 1.0
    assert report.returncode == 0, report.stderr
    written = (user.folder / "LEADERBOARD.md").read_text(encoding="utf-8")
    assert "| Complete |" not in written
    assert "path=('health', 'share_complete')" in page


def test_a_new_reading_command_is_three_files(user: User, copy: Path) -> None:
    """It stands in the help, reads the store, and says where there is none."""
    view, command, row = blocks("A new reading command")
    (copy / PACKAGE / "report/runs_view.py").write_text(view, encoding="utf-8")
    (copy / PACKAGE / "cli/runs.py").write_text(command, encoding="utf-8")
    main = copy / PACKAGE / "cli/main.py"
    group = f'GROUPS = {{\n    "New": {{\n{row}    }},\n'
    main.write_text(main.read_text(encoding="utf-8").replace("GROUPS = {\n", group, 1), "utf-8")

    nothing = aib(copy, user, "runs")
    assert (
        user.aib("run", "scripted:acme/one", "--protocol", "small", "--runs", "2").returncode == 0
    )
    shown = aib(copy, user, "runs")

    assert nothing.returncode == 1
    assert "there is no store" in nothing.stderr
    assert re.search(r"acme/one\S* +2$", shown.stdout, re.MULTILINE), shown.stdout + shown.stderr
    assert "Show how many whole runs each model has." in aib(copy, user, "--help").stdout


def test_a_new_dialect_is_one_file(user: User, copy: Path) -> None:
    """Its header goes with every call."""
    made, names = blocks("A new dialect of endpoints")
    path = copy / PACKAGE / "models/endpoints.py"
    text, listed = path.read_text(encoding="utf-8"), r"^DialectName = .*\nDIALECTS: .*\n"
    assert len(re.findall(listed, text, re.MULTILINE)) == 1
    path.write_text(
        re.sub(listed, lambda _: f"{made}\n\n{names}", text, flags=re.MULTILINE), encoding="utf-8"
    )
    user.models(dialect="azure")

    done = aib(copy, user, "run", "scripted:acme/one", "--protocol", "small", "--runs", "1")

    assert done.returncode == 0, done.stderr
    assert len(user.server.asked) == CALLS
    assert {asked.headers.get("api-key") for asked in user.server.asked} == {
        user.env["SCRIPTED_KEY"]
    }
