"""Words that must not come back in texts that a user reads: the project has one name for one thing.

The texts are the help of every command, the screens of the main commands on a small store, and the
words of errors, as they stand in the source.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from simulated_endpoint import aib

import independence_bench
from independence_bench.cli.main import cli

# a word that must not come back -> what is said in its place
GONE = {
    r"subjects?": "model",
    r"candidates?": "model",
    r"verdicts?": "score, judgement, or result",
    r"(?<!question )marks?|marked|marking": "score",
    r"transcripts?": "conversation",
    r"boards?": "leaderboard",
    r"fold(s|ed)?|cave[sd]?|give(s)? way|gave way": "give in",
    r"sittings?": "session",
    r"sat the exam|not sat": "has not been validated: `aib exam`",
    r"told apart|tell (them |the two )?apart|cannot be told(?! not to)": "significant",
    r"rerun CI|rerun intervals?|new scenarios CI": "95% CI (same scenarios), (new scenarios)",
    r"stems?": "item, case",
    r"organisms?|rock|mirror|slow-caver": "simulated model, by its name",
    r"written a second": "nothing",
}
# what a text may say nevertheless
KEPT = (
    "transcripts.jsonl", "transcripts.parquet",  # files of a data set
    "! marks labels",  # a sign marks them
    ", subjects.",  # a key of models.yaml
    "https://huggingface.co",
)  # fmt: skip
# Modules whose errors speak of keys in files of protocols and sheets (`marks:`, `stems:`), of
# tables in the store, or of a judge's answer, or are for programmers: there the word is the name
# of the thing.
TECHNICAL = re.compile(
    r"analysis/statistics/|protocol/|personas/|store/|dataset/|judging/|simulate/|integrations/|"
    r"viewer/|models/markup"
)
SCREENS = (
    "leaderboard", "leaderboard --wide", "leaderboard --explain", "leaderboard --detailed",
    "compare stubborn agreeable --scenarios --explain", "judges --explain", "scenarios --explain",
    "costs --explain", "audit --explain", "show stubborn", "exam", "exclude", "extract-names",
    "estimate-cost sim:sim/evader --judge sim:sim/judge --explain",
    "gate --write base.json stubborn", "gate base.json stubborn",
    "rerun stubborn --runs 2 -y", "judge -j sim:sim/judge-plain",
    "protocols", "models sim",
)  # fmt: skip


def find_gone_words(text: str) -> list[str]:
    """The words in *text* that must not come back, each with the words around it."""
    for kept in KEPT:
        text = text.replace(kept, "")
    return [
        f"{text[max(found.start() - 30, 0) : found.end() + 30]!r}: say {instead}"
        for word, instead in GONE.items()
        for found in re.finditer(rf"\b(?:{word})\b", text, re.IGNORECASE)
    ]


def list_commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """The command and all below it, by what a user types."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from list_commands(below, f"{path} {name}")


@pytest.mark.parametrize("path", [path for path, _ in list_commands(cli, "aib")])
def test_help_speaks_of_one_thing_by_one_name(path: str) -> None:
    """With all options, those that only --help-all lists included."""
    command = dict(list_commands(cli, "aib"))[path]
    context = click.Context(command, info_name=path, terminal_width=400, max_content_width=400)
    options = [option.get_help_record(context) for option in command.get_params(context)]
    text = " ".join([command.get_help(context), *(" ".join(one) for one in options if one)])

    assert find_gone_words(text) == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of three simulated models."""
    made = tmp_path_factory.mktemp("words")
    models = ("sim:sim/stubborn", "sim:sim/agreeable", "sim:sim/random")
    plan = ("--judge", "sim:sim/judge", "--protocol", "lite", "--runs", "2")
    done = aib(made, "run", *models, *plan)
    assert done.returncode == 0, done.stderr
    assert find_gone_words(done.stdout + done.stderr) == []
    return made


@pytest.mark.parametrize("command", SCREENS)
def test_screens_speak_of_one_thing_by_one_name(folder: Path, command: str) -> None:
    """On stdout and stderr; what is asked and answered in a conversation is not ours."""
    done = aib(folder, *command.split())

    assert find_gone_words(done.stdout + done.stderr) == []


def list_error_words() -> Iterator[tuple[str, str]]:
    """(Place, words) of the texts in every `raise` of the package that users may read."""
    root = Path(str(independence_bench.__file__)).parent
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root).as_posix()
        if TECHNICAL.match(place):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and node.exc is not None:
                for part in ast.walk(node.exc):
                    if isinstance(part, ast.Constant) and " " in str(part.value):
                        yield f"{place}:{part.lineno}", str(part.value)


def test_errors_speak_of_one_thing_by_one_name() -> None:
    """Their words as they stand in the source."""
    found = {place: words for place, text in list_error_words() if (words := find_gone_words(text))}

    assert found == {}


def test_a_word_that_comes_back_is_found() -> None:
    """And a word that merely contains one is not."""
    assert len(find_gone_words("3 subjects, the board and its marks")) == 3
    assert find_gone_words("the leaderboard, a question mark, remarks and the system prompt") == []
