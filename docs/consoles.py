"""Runs the commands of the documentation and writes down what they print.

A code block below the line `<!-- console -->` is run: each of its lines that begins with `$ ` is a
command, and what the command prints follows it. All marked blocks of a page run in order, in one
empty folder. Between two of them, a comment edits a file, `<!-- edit FILE: OLD => NEW -->`, copies
one of docs/examples, `<!-- copy FILE -->`, saves the code block below it, `<!-- save FILE -->`, or
runs a command whose output is not shown, `<!-- run COMMAND -->`. `<!-- console 9 -->` keeps the
first 9 lines that each command prints, `<!-- console -9 -->` the last 9, and an ellipsis for the
others. Only simulated models are called, so the same commands print the same again, but for the
time, which is always the same here.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

MARK = "<!-- console"
WIDTH = 80
EXAMPLES = Path(__file__).parent / "examples"
SOURCE = Path(__file__).parents[1] / "src"  # of this checkout, whatever is installed
WHEN = "2026-11-29 12:00"
_STEP = re.compile(
    r"<!-- console(?: (?P<lines>-?\d+))? -->\n```console\n(?P<block>.*?)^```$"
    r"|<!-- run (?P<hidden>.*?) -->"
    r"|<!-- copy (?P<copied>\S+) -->"
    r"|<!-- save (?P<saved>\S+) -->\n```\w*\n(?P<content>.*?)^```$"
    r"|<!-- edit (?P<file>\S+): (?P<old>.*?) => (?P<new>.*?) -->",
    re.DOTALL | re.MULTILINE,
)
_TIME = re.compile(r"\b20\d\d-\d\d-\d\d \d\d:\d\d\b")
_DATE = re.compile(r"\b20\d\d-\d\d-\d\d\b")


def consoles(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield each page in *folder* that has marked blocks, with its text as it should be."""
    pages = [
        page for page in sorted(folder.glob("*.md")) if MARK in page.read_text(encoding="utf-8")
    ]
    with ThreadPoolExecutor(2) as threads:  # each waits for its commands
        yield from zip(pages, threads.map(rerun_page, pages), strict=True)


def rerun_page(page: Path) -> str:
    """Return the text of *page* with what its commands print now. Raises SystemExit if an edit does
    not fit its file.
    """
    with TemporaryDirectory(prefix="aib-docs-") as folder:

        def carry_out(step: re.Match[str]) -> str:
            if step["block"] is not None:
                commands = [
                    line.removeprefix("$ ")
                    for line in step["block"].replace("\\\n", "\\\0").splitlines()
                    if line.startswith("$ ")
                ]
                most = int(step["lines"]) if step["lines"] else None
                shown = "".join(run_command(command, Path(folder), most) for command in commands)
                return f"{step[0].partition(chr(10))[0]}\n```console\n{shown}```"
            if step["hidden"] is not None:
                run_command(step["hidden"], Path(folder))
                return step[0]
            if step["copied"] is not None:
                shutil.copy(EXAMPLES / step["copied"], folder)
                return step[0]
            path = Path(folder) / (step["saved"] or step["file"])
            if step["saved"]:
                path.write_text(step["content"], encoding="utf-8")
                return step[0]
            text = path.read_text(encoding="utf-8")
            if text.count(step["old"]) != 1:
                raise SystemExit(f"{page}: {step['file']} has not one {step['old']!r}")
            path.write_text(text.replace(step["old"], step["new"]), encoding="utf-8")
            return step[0]

        return _STEP.sub(carry_out, page.read_text(encoding="utf-8"))


def run_command(command: str, folder: Path, most: int | None = None) -> str:
    """Run *command* in *folder* and return it as a line with the prompt, and below it what it
    prints, its first *most* lines (its last, where *most* is negative): its answer, or what it says
    beside if it gives none.
    """
    words = shlex.split(command.replace("\\\0", " "))
    if words[0] != "aib":
        raise SystemExit(f"{command}: only aib is run")
    environment = {name: value for name, value in os.environ.items() if name == "PATH"}
    environment |= {"PYTHONPATH": str(SOURCE), "HOME": str(folder), "COLUMNS": str(WIDTH)}
    done = subprocess.run(  # noqa: S603 - the commands of our own pages
        [sys.executable, "-m", "independence_bench", *words[1:]],
        cwd=folder,
        env={**environment, "PYTHONUTF8": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if "Traceback" in done.stderr:
        raise SystemExit(f"{command}: {done.stderr}")
    printed = done.stdout if done.stdout.strip() else done.stderr
    told = _DATE.sub(WHEN[:10], _TIME.sub(WHEN, printed)).strip("\n")
    lines = [line.rstrip() for line in told.splitlines()]
    if most is not None and len(lines) > abs(most):
        kept = lines[:most] if most > 0 else lines[most:]
        kept = "\n".join(kept).strip("\n").splitlines()
        lines = [*kept, "..."] if most > 0 else ["...", *kept]
    return "\n".join([f"$ {command}".replace("\\\0", "\\\n"), *lines]).rstrip() + "\n"
