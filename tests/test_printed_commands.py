"""Commands that are printed can be typed as they are: they name the store that was meant. What is
not there is said with its whole path, and nothing that a shell stands in is taken away.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import click
import pytest
from simulated_endpoint import aib

from independence_bench.cli.main import cli
from independence_bench.report.commands import (
    WITHOUT_STORE,
    WITHOUT_STORE_OF_TWO,
    add_store_option,
)

AT = "--store lab.db"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two simulated models in lab.db."""
    made = tmp_path_factory.mktemp("lab")
    models = ("sim:sim/stubborn", "sim:sim/agreeable")
    plan = ("--judge", "sim:sim/judge", "--protocol", "lite", "--runs", "1")
    assert aib(made, "run", *models, *plan, *AT.split()).returncode == 0
    return made


@pytest.mark.parametrize(
    "command",
    [
        "leaderboard", "compare stubborn agreeable", "judges", "scenarios", "costs", "audit",
        "show stubborn", "exam", "exclude", "extract-names", "leaderboard --find nobody",
        "compare stubborn", "clear judgements", "show nobody direct",
    ],
)  # fmt: skip
def test_printed_commands_name_the_store(folder: Path, command: str) -> None:
    """Also those in errors, and where a table's legend has them."""
    done = aib(folder, *command.split(), *AT.split())

    text = re.sub(r"\s+", " ", done.stdout + done.stderr)
    for printed in re.findall(r"`(aib [^`]+)`", text):
        words = printed.split()
        if words[1] not in WITHOUT_STORE and printed != "aib protocols":
            assert printed.endswith(AT), printed


def test_a_command_of_the_default_store_names_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its name, or by the variable: the next command finds it, too."""
    (folder / "aib.db").write_bytes((folder / "lab.db").read_bytes())

    for typed in ((), ("--store", "aib.db")):
        done = aib(folder, "judges", *typed)
        assert "`aib judge -j MODEL`" in re.sub(r"\s+", " ", done.stdout)


def test_the_option_is_added_where_a_command_ends() -> None:
    """Between backticks or at the end of a line, once, and not to commands without a store."""
    text = "read: aib show A x\nsee `aib judges`, `aib check DIR` and `aib run --store b.db`"

    assert add_store_option(text, " --store 'my lab.db'") == (
        "read: aib show A x --store 'my lab.db'\n"
        "see `aib judges --store 'my lab.db'`, `aib check DIR` and `aib run --store b.db`"
    )
    assert add_store_option(text, "") == text


def test_the_commands_without_a_store_are_those_that_are_listed() -> None:
    """All others have the option, so that what is printed can be typed."""
    lacking = set()
    for name in cli.list_commands(click.Context(cli)):
        command = cli.get_command(click.Context(cli), name)
        if isinstance(command, click.Group):
            lacking |= {
                f"{name} {one}"
                for one, below in command.commands.items()
                if not any("--store" in option.opts for option in below.params)
            }
        elif command and not any("--store" in option.opts for option in command.params):
            lacking.add(name)

    # `aib models` has none in either of its forms
    lacking = {"models" if name.startswith("models ") else name for name in lacking}
    assert lacking | {"demo", "protocols"} == WITHOUT_STORE | WITHOUT_STORE_OF_TWO


def test_where_no_store_is_the_whole_path_is_said(folder: Path) -> None:
    """The mistake is mostly the folder."""
    done = aib(folder, "leaderboard", "--store", "none.db")

    assert done.returncode == 1
    assert f"there is no store at {folder / 'none.db'}; `aib run --store none.db`" in done.stderr


@pytest.mark.parametrize("as_json", [False, True])
def test_a_leaderboard_of_nothing_fails_and_says_what_to_do(folder: Path, as_json: bool) -> None:
    """A script notices, and a person reads one line."""
    typed = ("--protocol", "v1", *["--json"] * as_json)
    done = aib(folder, "leaderboard", *typed, *AT.split())

    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "no conversations of v1" in done.stderr
    assert "--protocol chooses" in done.stderr
    assert not as_json or json.loads(done.stdout)["boards"] == []


@pytest.mark.parametrize("typed", [".", "..", "../here"])
def test_a_site_does_not_replace_the_folder_of_the_shell(
    folder: Path, tmp_path: Path, typed: str
) -> None:
    """Nor one above it: one line says so, and the folder stays as it is."""
    here = tmp_path / "here"
    here.mkdir()
    done = aib(here, "site", typed, "--store", str(folder / "lab.db"))

    assert done.returncode == 2
    assert "name another one, such as `aib site site/" in done.stderr
    assert here.is_dir()
    assert not list(here.iterdir())


def list_commands(group: click.Group, *above: str) -> list[tuple[str, click.Command]]:
    """The commands of *group* that do something themselves, with the words to type for each."""
    context = click.Context(group, obj=None)
    found: list[tuple[str, click.Command]] = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        words = (*above, name)
        if isinstance(command, click.Group):
            found += list_commands(command, *words)
        else:
            found.append((" ".join(words), command))
    return found


COMMANDS = dict(list_commands(cli, "aib"))


@pytest.mark.parametrize("typed", COMMANDS)
def test_help_ends_with_an_example_that_can_be_typed(typed: str) -> None:
    """`aib run` has its own above, in two columns."""
    command = COMMANDS[typed]
    text = command.epilog or command.help or ""
    example = re.search(rf"{typed}\b(?:[^\n]*?(?=   )|[^\n]*)", text)

    assert example is not None
    arguments = shlex.split(example[0])[len(typed.split()) :]
    command.make_context(typed, arguments)  # raises an error for what it does not take
