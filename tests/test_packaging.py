"""What others install, complete and cite by: names and versions agree, and the shells' scripts
work.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from forked_aib import AIB, start
from simulated_endpoint import environment

from independence_bench import __version__
from independence_bench.cli.main import COMMANDS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def completed(folder: Path, shell: str, words: str, **more: str) -> str:
    """What `aib` writes for *shell* to complete the last of *words*."""
    told = {
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
        "_AIB_COMPLETE": f"{shell}_complete",
    }
    return written(folder, told | more)


def written(folder: Path, told: Mapping[str, str]) -> str:
    """What `aib` without a word writes where *told* is in its environment."""
    pipe = subprocess.PIPE
    with start(
        [], env=environment(folder) | told, stdout=pipe, stderr=pipe, text=True, cwd=folder
    ) as ran:
        out, err = ran.communicate()
    assert (ran.returncode, err) == (0, "")
    return str(out)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script_that_the_page_names(tmp_path: Path, shell: str) -> None:
    """Written by the command that docs/configuration.md has; it asks `aib` for what it shows."""
    script = written(tmp_path, {"_AIB_COMPLETE": f"{shell}_source"})

    assert f"_AIB_COMPLETE={shell}_complete" in script
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert f"`_AIB_COMPLETE={shell}_source aib > " in page
    if shutil.which(shell):
        checked = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True)
        assert (checked.returncode, checked.stderr) == (0, "")


def test_commands_options_and_choices_are_completed(tmp_path: Path) -> None:
    """In the words that each shell reads; every command for none."""
    assert completed(tmp_path, "bash", "aib lea") == "plain,leaderboard\n"
    assert completed(tmp_path, "bash", "aib ").count("plain,") == len(COMMANDS)
    assert completed(tmp_path, "bash", "aib export --format par") == "plain,parquet\n"
    assert completed(tmp_path, "fish", "aib leaderboard --jury", COMP_CWORD="--jury").startswith(
        "plain,--jury"
    )
    assert "leaderboard\nsee who leads" in completed(tmp_path, "zsh", "aib lea")


def test_bash_itself_completes(tmp_path: Path) -> None:
    """The script, read by a real shell, whose completion is then asked for."""
    script = written(tmp_path, {"_AIB_COMPLETE": "bash_source"})
    asking = (
        f'{script}\nCOMP_WORDS=(aib lea); COMP_CWORD=1; _aib_completion {AIB}; printf "%s\\n" '
        f'"${{COMPREPLY[@]}}"'
    )
    path = {"PATH": f"{Path(AIB).parent}{os.pathsep}{os.environ['PATH']}"}
    ran = subprocess.run(
        ["bash", "-c", asking], env=environment(tmp_path) | path, capture_output=True, text=True
    )

    assert ran.stdout == "leaderboard\n", ran.stderr


def test_what_is_cited_is_what_is_packed() -> None:
    """Title, version, licence and authors are those of the package, in each format's own fields."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    archived = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))

    assert cited.keys() >= {"cff-version", "message", "title", "authors"}
    assert {cited["version"], archived["version"]} == {__version__}
    assert "version" in PROJECT["dynamic"]
    assert {PROJECT["license"], cited["license"], archived["license"]} == {"MIT"}
    assert cited["title"] == archived["title"] == "AI Independence Bench"
    assert PROJECT["authors"] == cited["authors"] == archived["creators"]
    assert cited["abstract"] == archived["description"] == PROJECT["description"]


def test_the_container_runs_a_wheel_as_nobody_in_particular() -> None:
    """Instructions in a known order, what is copied is what is packed, and what is started is a
    script of ours.
    """
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    steps = [line.split(None, 1) for line in text.splitlines() if line and not line.startswith("#")]
    by_name = dict(steps)

    assert [name for name, _ in steps] == [
        "FROM", "COPY", "RUN", "USER", "WORKDIR", "ENV", "VOLUME", "ENTRYPOINT", "CMD",
    ]  # fmt: skip
    assert by_name["COPY"].startswith(f"dist/{PROJECT['name'].replace('-', '_')}-*.whl ")
    (extras,) = re.findall(r"whl\)\[([a-z,]+)\]", by_name["RUN"])
    assert set(extras.split(",")) <= PROJECT["optional-dependencies"].keys()
    assert json.loads(by_name["ENTRYPOINT"])[0] in PROJECT["scripts"]
    assert by_name["USER"] == "aib"
    assert f"useradd --create-home --uid 1000 {by_name['USER']}" in by_name["RUN"]
    assert (ROOT / ".dockerignore").read_text(encoding="utf-8").split() == ["*", "!dist/*.whl"]
