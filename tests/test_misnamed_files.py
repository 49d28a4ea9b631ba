"""Files whose names are nearly right: models.yml is read, and what is named and not there is
answered with what is next to it.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from test_cli import User, only_line, user

from independence_bench.lookup import find_similar_files

__all__ = ["user"]

SHEET = "src/independence_bench/personas/examples"
ROOT = Path(__file__).parents[1]
RUN = ("run", "scripted:acme/one", "--protocol", "small", "--runs", "1")


@pytest.fixture
def sheet(user: User) -> Path:
    """A sheet in the user's folder."""
    found = next((ROOT / SHEET).glob("*.yaml"))
    return Path(shutil.copy(found, user.folder / "mira.yaml"))


def test_models_yml_is_read_where_there_is_no_models_yaml(user: User) -> None:
    """A line says so, once; commands that ask nobody use its exclusions without a word."""
    usual = user.folder / "models.yaml"
    text = usual.read_text(encoding="utf-8")
    listed = f"{text}subjects:\n  - {{model: acme/one, endpoint: scripted, exclude: not mine}}\n"
    usual.with_suffix(".yml").write_text(listed, encoding="utf-8")
    usual.unlink()

    done, board = user.aib(*RUN), user.aib("leaderboard")

    assert done.returncode == 0, done.stderr
    assert done.stderr.count("note: models.yml is read, there being no models.yaml") == 1
    assert "models.yml" not in board.stderr
    assert "not mine" in board.stdout
    usual.write_text(text, encoding="utf-8")
    assert "models.yml" not in user.aib(*RUN).stderr, "models.yaml goes before it"


@pytest.mark.parametrize("name", ["modles.yaml", "model.yaml", "Models.yaml", "modles.yml"])
def test_a_file_that_is_nearly_called_so_is_told_of(user: User, name: str) -> None:
    """It is not read, and under the name that the line says it is."""
    (user.folder / "models.yaml").rename(user.folder / name)

    left = user.aib(*RUN)

    assert left.returncode == 2
    told = re.search(r"note: (\S+) is not read; call it (\S+) if it is one", left.stderr)
    assert told is not None
    (user.folder / told[1]).rename(user.folder / told[2])
    assert user.aib(*RUN).returncode == 0


def test_other_files_are_no_models_files(user: User) -> None:
    """Nothing is said of them."""
    (user.folder / "models.yaml").unlink()
    for name in ("modalities.yaml", "docker-compose.yml", "models.txt"):
        (user.folder / name).write_text("x", encoding="utf-8")

    assert "note" not in user.aib(*RUN).stderr


@pytest.mark.parametrize("typed", ["mira.yml", "mria.yaml", "mira", "MIRA.yml"])
def test_a_sheet_that_is_not_there_is_answered_with_the_one_that_is(
    user: User, sheet: Path, typed: str
) -> None:
    """By its other ending, or nearly its name; what is suggested is a sheet."""
    line = only_line(user.aib("persona", "check", typed), 2)

    assert line.endswith("does not exist or is not a file; did you mean mira.yaml?")
    assert user.aib("persona", "check", sheet.name).returncode == 0


def test_so_are_models_files_baselines_and_protocols(user: User) -> None:
    """With their folder, so that what is suggested can be typed as it stands."""
    (user.folder / "mine").mkdir()
    shutil.copy(user.folder / "models.yaml", user.folder / "mine/lab.yaml")
    (user.folder / "mine/base.json").write_text("{}", encoding="utf-8")
    (user.folder / "aib.db").touch()

    models = only_line(user.aib(*RUN, "--models-file", "mine/lab.yml"), 2)
    baseline = only_line(user.aib("gate", "mine/bsae.json"), 2)
    protocol = only_line(user.aib("check", "small/protocl.yaml"), 2)

    assert models.endswith("did you mean mine/lab.yaml?")
    assert user.aib(*RUN, "--models-file", "mine/lab.yaml", "--store", "x.db").returncode == 0
    assert "did you mean mine/base.json?" in baseline
    assert protocol.partition("; did you mean ")[2] == "small/protocol.yaml?"
    assert user.aib("check", "small/protocol.yaml").returncode == 0
    assert "--models-file names another" in only_line(user.aib(*RUN, "--models-file", "zzz"), 2)


@pytest.mark.parametrize("typed", ["small", "small/protocol.yml", "small/protocol.yaml"])
@pytest.mark.parametrize("name", ["protocol.yml", "protocl.yaml"])
def test_a_protocol_whose_file_has_another_name_is_told_its_name(
    user: User, typed: str, name: str
) -> None:
    """And is a protocol under that."""
    top = user.folder / "small/protocol.yaml"
    top.rename(top.with_name(name))

    line = only_line(user.aib("check", typed), 2)

    told = re.search(r"; (\S+) is not read: call it (\S+)$", line)
    assert told is not None, line
    there = user.folder / told[1]
    there.rename(there.with_name(told[2]))
    assert user.aib("check", typed.removesuffix(".yml").removesuffix(".yaml")).returncode in (0, 2)
    assert user.aib("check", "small").returncode == 0


def test_names_of_strangers_are_shown_harmlessly_and_folders_are_no_files(user: User) -> None:
    """A folder may hold anything."""
    (user.folder / "m\x1b[31mra.yaml").write_text("x", encoding="utf-8")
    (user.folder / "mora.yaml").mkdir()

    line = only_line(user.aib("persona", "check", "mira.yaml"), 2)

    assert "\x1b" not in line
    assert "mora" not in line
    assert find_similar_files(user.folder / "nothing" / "mira.yaml") == []
    assert find_similar_files(Path("x" * 100_000)) == []
