"""The pages of README, docs/ and beside the code: no dead link, every page to be reached, every
command there is.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from independence_bench.cli.main import cli

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
CODE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def pages() -> list[Path]:
    """Every page of Markdown that people read."""
    kept = subprocess.check_output(["git", "ls-files", "*.md"], cwd=ROOT, text=True).splitlines()
    return [ROOT / path for path in kept]


def anchors(text: str) -> set[str]:
    """Where a link into a page may lead: its headings, as GitHub names them; a second one of a name
    has -1.
    """
    titles = re.findall(r"^#{1,6} (.*)$", text, re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in titles]
    names = [re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in plain]
    seen: Counter[str] = Counter()
    found = set()
    for name in names:
        found.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return found


def links(page: Path) -> Iterator[tuple[str, Path, str]]:
    """Each link of a page to a file of ours: as it is written, the file, and the place in it."""
    for target in re.findall(r"\]\(([^)\s]+)\)", CODE.sub("", page.read_text(encoding="utf-8"))):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = target.partition("#")
            yield target, (page.parent / path).resolve() if path else page, anchor


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="the list of pages is git's")
def test_no_link_is_dead_and_every_page_is_reached() -> None:
    """Files and headings that links name are there; from the index a reader comes to all pages of
    docs/.
    """
    every = pages()
    known = {page: anchors(CODE.sub("", page.read_text(encoding="utf-8"))) for page in every}

    dead = [
        f"{page.relative_to(ROOT)}: {written}"
        for page in every
        for written, target, anchor in links(page)
        if not target.exists()
        or (anchor and target.suffix == ".md" and anchor not in known[target])
    ]
    linked = {target for _, target, _ in links(DOCS / "index.md")}

    assert dead == []
    assert {page for page in every if page.parent == DOCS} - linked == {DOCS / "index.md"}


def test_commands_between_words_are_there() -> None:
    """What a sentence calls `aib ...` is a command with such options; blocks of code are run
    elsewhere.
    """
    wrong = []
    for page in (ROOT / "README.md", *DOCS.glob("*.md")):
        for said in re.findall(r"`aib ([a-z][^`|\[]*)`", page.read_text(encoding="utf-8")):
            words = [word for word in shlex.split(said.replace('"', "")) if word != "..."]
            wrong += [f"{page.name}: aib {said}: {fault}" for fault in unknown(words)]

    assert wrong == []


def unknown(words: list[str]) -> list[str]:
    """Of a command's words: what is no command, or no option of it."""
    command, context = cli, click.Context(cli)
    while isinstance(command, click.Group) and words and words[0] != "--help":
        named = command.get_command(context, words[0])
        # what `aib models` does, whatever follows
        found = named or command.get_command(context, "list")
        if found is None and words[0].startswith("-"):
            break
        if found is None:
            return [words[0]]
        command, context, words = (
            found,
            click.Context(found, parent=context),
            words[1:] if named else words,
        )
    options = {name for one in command.params for name in (*one.opts, *one.secondary_opts)} | {
        "--help"
    }
    return [
        word
        for word in words
        if re.match(r"--?[a-z]", word) and word.partition("=")[0] not in options
    ]


def test_percents_are_written_alike() -> None:
    """95%, without a blank: on our pages, in the viewer, and in what commands print."""
    source = ROOT / "src" / "independence_bench"
    printing = [
        file for room in ("cli", "report", "viewer") for file in (source / room).glob("*.*")
    ]
    files = [
        ROOT / "README.md",
        ROOT / "CHANGELOG.md",
        *DOCS.glob("*.md"),
        *printing,
        *ROOT.glob("web/src/**/*.tsx"),
    ]

    apart = [
        f"{file.relative_to(ROOT)}: {found}"
        for file in files
        for found in re.findall(r".{0,30}[0-9}] %(?![\w%]).{0,9}", file.read_text(encoding="utf-8"))
    ]
    assert len(files) > 100
    assert apart == []
