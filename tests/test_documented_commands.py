"""Every `aib` command in the code blocks of README.md and docs/, run on stores of every kind: none
ends in a traceback.

A block is a session: its commands follow each other, in a folder of their own with a copy of the
store. What a reader would put in the place of an example (a model, a file, a judge) stands in
`MEANT`; a word that is neither there nor a command nor an option fails, so a new example has to be
thought of here.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import tarfile
import urllib.request
from collections.abc import Callable, Iterator, Set
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import write_small
from embedded_judge import with_model
from first_stores import restored
from inprocess_aib import invoke
from published_files import Published
from simulated_endpoint import simulating, start_aib

from independence_bench.cli.main import COMMANDS
from independence_bench.models.local.files import load_pins
from independence_bench.store.database import open_store

ROOT = Path(__file__).parents[1]
REAL = ROOT.parent / "shared" / "published-dataset" / "cache.tar.xz"
FEW = ("google--gemini-3-flash", "qwen--qwen3-8b", "mistralai--mistral-small-3.2")
JURY = "sim/judge@,judge-plain,embedded"

# a word of an example -> what stands for it here
MEANT = {
    "qwen/qwen3-8b": "sim:sim/stubborn",
    "mistralai/mistral-small-3.2-24b-instruct": "sim:sim/agreeable",
    "qwen3-8b": "sim/stubborn",
    "drift": "drift",
    "mistral-small": "sim/agreeable",
    **{name: name for name in ("sim/stubborn", "sim/agreeable", "sim/evader", "sim/gives-in-at-2")},
    "gemini-3-flash": "gemini-3-flash",
    "embedded": "embedded",
    "sim:sim/stubborn": "sim:sim/stubborn",
    "sim:sim/agreeable": "sim:sim/agreeable",
    "sim:sim/evader": "sim:sim/evader",
    "sim:sim/gives-in-at-2": "sim:sim/gives-in-at-2",
    "openai:gpt-5-mini": "sim:sim/stubborn",
    "llama3.2": "sim/stubborn",
    "http://localhost:11434/v1": "{url}",
    "openai/gpt-5-mini": "sim:sim/judge",
    "openai/gpt5-mini": "sim:sim/jugde",
    "anthropic/claude-haiku-4.5": "sim:sim/judge-plain",
    "google/gemma-4-31b-it": "sim:sim/judge",
    "openai:gpt-4o-mini": "sim:sim/judge",
    "sim:sim/judge": "sim:sim/judge",
    "gemini-3,gpt-5-mini,haiku": JURY,
    "A,B,C": JURY,
    "anna": "anna",
    "reciprocity_trap": "creativity",
    "negotiation": "negotiation",
    "results.db": "aib.db",
    "aib-demo.db": "aib.db",
    "sim.db": "aib.db",
    "judges.db": "judges.db",
    "gguf:qwen2.5-coder-0.5b": "sim:sim/stubborn",
    "python:companion:reply": "python:companion:reply",
    **{same: same for same in (
        "lite", "user_role", "1/2", "2/2", "1/4", "november", "communication_style",
        "sim:kin/evader", "sim:kin/agreeable", "sim:kin/judge",
        "sim:sim/judge-lenient", "sim:sim/judge-noisy", "sim:sim/exam-lenient",
        "another.db", "results", "report", "public/", "cache.tar.xz", "my-protocol",
        "logs", "inspect", "mine.csv", "above", "card.yaml", "card.json", "prompt.md",
        "cc-by-4.0", "unknown", "ada/independence",
        "v1", "v2", "v3", "later", "published-v2", "parquet", "jsonl", "published", "provider",
        "reasoning", "warning",
        "compare", "customer", "sim:sim/persona-wavers",
        "new", "run", "check", "write", "mira.yaml", "pebble.yaml", "companion", "mascot",
        "persona-mira", "name.pressure", "Mira",
        "show", "copy", "version", "base.json", "few.json", "one.db",
        "install", "smollm2-135m", "qwen2.5-coder-0.5b",
        "audit", "responses", "judgements",
    )},
}  # fmt: skip
# (word before, word) -> a quick substitute; the local model takes minutes and has
# tests/test_run_embedded.py
SMALLER = {
    ("run", "embedded"): "sim:sim/stubborn",
    ("--model", "embedded"): "sim:sim/persona-keeper",
    ("--runs", "5"): "1",
    ("--runs", "3"): "1",
    ("--budget", "2"): "0.02",
    ("--after", "0,25,100"): "0,2",
    # a second of work for each conversation; that judge takes part in tests/test_first_stores.py
    # and test_run_embedded.py
    ("-j", "embedded"): "sim:sim/judge-object",
    ("--judge", "embedded"): "sim:sim/judge",
}
# what is added where it is not said, so that nothing takes long or leaves this machine
ADDED = {
    "run": {"--protocol": "lite", "--judge": "sim:sim/judge", "--runs": "1"},
    "view": {"--port": "0", "--no-open": ""},
    "demo": {"--no-open": ""},
}
GROUPS = ("persona", "protocols", "simulate")
# with them a command takes another way through the program
OTHERWISE = {"--jury", "--by", "--rules", "--add-runs", "--undo"}
LOOKS = {("demo",), ("view",), ("site",), ("generate-report",), ("audit",), ("extract-names",)}
# what does not look at the store is run beside one of them only
APART = {
    ("--help",),
    ("check",),
    ("models",),
    ("models", "install"),
    ("protocols", "copy"),
    ("simulate", "audit"),
}


# ---------------------------------------------------------------- what is documented


def blocks() -> Iterator[tuple[str, list[list[str]]]]:
    """Each code block with `aib` commands: where it stands, and their words after `aib`."""
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        found = re.findall(
            r"^```[a-z]*\n(.*?)^```", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        )
        for number, block in enumerate(found, 1):
            if commands := [
                words
                for line in block.replace("\\\n", " ").splitlines()
                for words in commands_in(line)
            ]:
                yield f"{path.stem}-{number}", commands


def commands_in(line: str) -> Iterator[list[str]]:
    """The commands of one line, without its prompt, comment and redirection; none where it is no
    command.
    """
    line = line.strip().removeprefix("$ ")
    if line.startswith("aib "):
        said = (
            re.split(r"\s#|\s{3,}(?=[^-\s])(?!sim:|-)", line)[0]
            if "--judge sim" not in line
            else line
        )
        for command in said.split(" && "):
            yield shlex.split(command.split(" > ")[0])[1:]


def is_number(word: str) -> bool:
    """5 or 0.25."""
    return bool(re.fullmatch(r"[0-9]+(\.[0-9]+)?", word))


def meant(words: list[str], url: str) -> list[str]:
    """The command to run. A word that nothing is known of is a KeyError."""
    name, rest = words[0], words[1:]
    made = [name]
    for before, word in zip([name, *rest], rest, strict=False):
        known = word.startswith("-") or is_number(word) or before == "--reason"
        made.append(SMALLER.get((before, word)) or (word if known else MEANT[word].format(url=url)))
    for option, value in ADDED.get(name, {}).items():
        if option not in made:
            made += [option, *([value] if value else [])]
    return made


BLOCKS = dict(blocks())


def sessions(
    of: Callable[[list[str]], tuple[str, ...]], known: Set[tuple[str, ...]]
) -> dict[str, list[list[str]]]:
    """The blocks that have a command which neither is *known* nor in a block before, told apart by
    *of* them.

    Of what came before, a block goes without what takes long and leaves the store as it is, and has
    one of a kind; it ends with its last new command.
    """
    known, found = {*known}, {}
    for block, commands in BLOCKS.items():
        if {of(words) for words in commands} <= known:
            continue
        kept: list[list[str]] = []
        for words in commands:
            new = of(words) not in known
            if new or kind_of(words) not in LOOKS | APART | {kind_of(before) for before in kept}:
                kept.append(words)
            if new:
                found[block] = [*kept]
            known.add(of(words))
    return found


def kind_of(words: list[str]) -> tuple[str, ...]:
    """What a command does, whatever it is given: its name, and the options that make it do
    something else.
    """
    named = words[:2] if words[0] in GROUPS or words[:2] == ["models", "install"] else words[:1]
    return (*named, *sorted({*words} & OTHERWISE))


def test_every_example_is_known() -> None:
    """Each word of it is a command, an option, a number, or in the table above."""
    unknown = set()
    for words in (words for commands in BLOCKS.values() for words in commands):
        try:
            meant(words, "http://localhost")
        except KeyError as error:
            unknown.add(error.args[0])

    assert len(BLOCKS) >= 14
    assert not unknown, "an example in the docs has words that MEANT does not know"
    assert {words[0] for commands in BLOCKS.values() for words in commands} <= {*COMMANDS, "--help"}


# ---------------------------------------------------------------- stores


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where the stores are kept that tests copy, and what else an example needs."""

    folder: Path
    url: str  # of the simulated endpoint

    def store(self, kind: str) -> Path:
        """The store of that kind, made when it is first wanted."""
        path = self.folder / f"{kind}.db"
        if not path.exists():
            making = self.folder / "making.db"
            MAKERS[kind](making)
            with open_store(making):  # whatever is in the WAL goes into the file
                pass
            making.rename(path)
        return path


def empty(store: Path) -> None:
    """Nothing was ever played."""
    with open_store(store) as opened, opened.open_transaction():
        pass


def cleared(store: Path) -> None:
    """Everything was played, and deleted; what it cost is still there."""
    restored(store)
    aib("clear", "responses", "-y", "--store", str(store))


def imported(store: Path) -> None:
    """An export of a whole store, read into another one."""
    whole = restored(store.with_name("whole.db"))
    aib("export", str(store.with_name("results")), "--licence", "unknown", "--store", str(whole))
    aib("import", str(store.with_name("results")), "--store", str(store))


def partial(store: Path) -> None:
    """As if everything had ended in the middle: a third of the conversations, a quarter of the
    judgements missing.
    """
    with closing(sqlite3.connect(restored(store))) as connection, connection:
        connection.execute("DELETE FROM transcripts WHERE rowid % 3 = 0")
        connection.execute("DELETE FROM judgements WHERE rowid % 4 = 0")


def published(store: Path) -> None:
    """Some subjects of the published data."""
    if not REAL.exists():
        pytest.skip(f"{REAL} is not here")
    aib("import", str(some_of_it(store.with_name("some.tar"))), "--store", str(store))


def some_of_it(path: Path) -> Path:
    """A few subjects of the published data, with the first two of their runs."""
    with tarfile.open(REAL) as whole, tarfile.open(path, "w") as some:
        for member in whole:
            if member.isfile() and re.search(rf"/({'|'.join(FEW)})[^/]*/run_[12]/", member.name):
                some.addfile(member, whole.extractfile(member))
    return path


MAKERS: dict[str, Callable[[Path], object]] = {
    "empty": empty,
    "cleared": cleared,
    "by three judges": restored,
    "imported again": imported,
    "partial": partial,
    "published": published,
}


# the store that every example is run on; the others see each kind of command
WHOLE = "by three judges"
LONG = ("imported again",)  # much the same as that one
CASES = [
    pytest.param(
        block,
        kind,
        commands,
        id=f"{block}-{kind}",
        marks=[pytest.mark.torture] if kind in LONG else [],
    )
    for kind in MAKERS
    for block, commands in sessions(
        *((tuple, set()) if kind == WHOLE else (kind_of, APART))
    ).items()
    if commands != [["demo"]]  # it has a store of its own: tests/test_demo.py
]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    """Stores of every kind, and an endpoint that costs nothing."""
    folder = with_model(tmp_path_factory.mktemp("shelf"))
    theirs = Published()
    theirs.run("google--gemini-3-flash@none-t0.7", 1)
    theirs.tar(folder / "cache.tar.xz")
    with simulating(folder) as simulation:
        yield Shelf(folder, simulation.url)


@pytest.fixture
def session(shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with everything that the examples name but the store."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(shelf.folder / "models.yaml", "models.yaml")
    shutil.copy(ROOT / "docs" / "examples" / "companion.py", "companion.py")
    write_small(Path("my-protocol"))
    shutil.copy(shelf.folder / "cache.tar.xz", "cache.tar.xz")
    Path("mine.csv").write_text("model,value\nsim/stubborn,1\n", encoding="utf-8")
    Path("card.json").write_text(
        '{"name": "Mira", "description": "Mira likes rain."}', encoding="utf-8"
    )
    Path("prompt.md").write_text("You are Mira. You like rain.\n", encoding="utf-8")
    return tmp_path


# ---------------------------------------------------------------- running them


Ended = subprocess.CompletedProcess[str]


def aib(*arguments: str) -> Ended:
    """Run `aib` here; what asks a person, at a terminal where nothing is typed."""
    return invoke(Path.cwd(), dict(os.environ), *arguments, terminal=arguments[0] == "label")


def view(folder: Path, *arguments: str) -> Ended:
    """Run `aib view`, ask it for its page and its first answer, and end it."""
    with start_aib(folder, "view", *arguments) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        said = process.stdout.readline()
        if address := re.search(r"http://\S+", said):
            home, _, token = address[0].partition("#token=")
            for path in (home, f"{home}api/index.json"):
                asked = urllib.request.Request(path, headers={"Authorization": f"Bearer {token}"})
                with urllib.request.urlopen(asked) as answer:
                    assert answer.status == 200
            process.send_signal(signal.SIGINT)
        err = process.stderr.read()
        return Ended(arguments, process.wait(), said, err)


@pytest.mark.parametrize(("block", "kind", "commands"), CASES)
def test_documented_commands_end_well(
    shelf: Shelf, session: Path, block: str, kind: str, commands: list[list[str]]
) -> None:
    """Each does what it says, or says in one line why not."""
    shutil.copy(shelf.store(kind), "aib.db")
    for words in commands:
        arguments = meant(words, shelf.url)
        if (
            arguments[0] in ("view", "site")
            and kind not in (*LONG, "published")
            and "--protocol" not in arguments
        ):
            arguments += ["--protocol", "lite"]  # the pages of one protocol are enough
        if arguments[:2] == ["models", "install"] and not load_pins()[arguments[2]].path.exists():
            continue  # it would be fetched from elsewhere
        ended = view(session, *arguments[1:]) if arguments[0] == "view" else aib(*arguments)
        assert "Traceback" not in ended.stdout + ended.stderr, (arguments, ended.stderr)
        if ended.returncode:
            *_, last = ended.stderr.strip().splitlines() or [""]
            told = last.startswith("aib: ") or is_a_result(arguments, ended)
            assert told, (arguments, ended)


def is_a_result(arguments: list[str], ended: Ended) -> bool:
    """Whether the exit code is what the command found: something that is not complete, severe, or
    open.
    """
    if arguments[0] == "gate":
        return ended.returncode in (3, 4) and bool(ended.stdout)
    if arguments[:2] == ["persona", "run"] and ended.returncode == 3:
        return "crossed" in ended.stdout  # a red line
    if ended.returncode != 1:
        return False
    if arguments[0] == "audit":
        return bool(ended.stdout)
    return any(word in ended.stderr for word in ("not completed: ", "stopped: "))
