"""Writes the parts of the documentation that are made from the code; `--check` only compares.

    docs/schema/*.json        JSON Schema of the files that people write
    docs/cli.md               the help of every command
    docs/data/models.csv      the subjects worth testing, from models.yaml, with what was published
                              of them
    docs/choose-a-model.md    the highest of those of which something was, between two markers
    docs/data/licences.csv    what users get beside our own code
    docs/data/export.csv      the columns of an export
    docs/*.md                 what commands print, below each line `<!-- console -->` (`consoles`)
    web/src/api/types.ts      what the viewer's page is sent, from the classes of its answers

Run it with `make docs`; `make test` runs the check, so none of these can rot. `--published FILE`
makes docs/data/published.csv first, of what `aib leaderboard --rules published --detailed --json`
says of the published data.
"""

from __future__ import annotations

import csv
import io
import json
import sys
import textwrap
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click
import licences
import yaml
from consoles import consoles
from typescript import typescript

from independence_bench.cli.main import GROUPS, cli
from independence_bench.dataset.schema import EXPORT_TABLES
from independence_bench.models.endpoints import SHIPPED, ModelsFile
from independence_bench.protocol.file_formats import make_json_schemas
from independence_bench.viewer.routes import ANSWERS

ROOT = Path(__file__).parent.parent
DATA = ROOT / "docs" / "data"
BEGIN_MODELS, END_MODELS = "<!-- models: made by docs/build.py -->", "<!-- end of models -->"
WIDTH = 80
SHOWN_MODELS = 16  # rows of docs/choose-a-model.md; the CSV file has all
Option = tuple[str, str]  # how it is written, and its help


def schemas() -> Iterator[tuple[Path, str]]:
    """Every schema, as a file."""
    every = {**make_json_schemas(), "models": ModelsFile.model_json_schema()}
    for name, schema in every.items():
        text = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        yield ROOT / "docs" / "schema" / f"{name}.schema.json", text


def commands(
    command: click.Command, path: tuple[str, ...]
) -> Iterator[tuple[click.Command, click.Context]]:
    """*command* and all below it, each with the context that its help is written in."""
    context = click.Context(
        command, info_name=" ".join(path), terminal_width=WIDTH, max_content_width=WIDTH
    )
    yield command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                yield from commands(below, (*path, name))


def options(command: click.Command, context: click.Context) -> dict[Option, str]:
    """The options of *command* as its help has them, each with its long name; without `--help`."""
    params = [
        param
        for param in command.get_params(context)
        if isinstance(param, click.Option) and not param.hidden
    ]
    records = {
        param.get_help_record(context): next(one for one in param.opts if one[:2] == "--")
        for param in params
        if "--help" not in param.opts
    }
    return {record: name for record, name in records.items() if record is not None}


def shared_options(every: Iterable[dict[Option, str]]) -> list[Option]:
    """The options that several commands have; of those with one name the most frequent."""
    counts = Counter(option for of_one in every for option in of_one.items())
    found: dict[str, Option] = {}
    for (option, name), number in counts.most_common():
        if number > 1:
            found.setdefault(name, option)
    return [option for option, name in counts if found.get(name) == option]


def help_of(
    command: click.Command,
    context: click.Context,
    shared: Container[Option],
    told: dict[Option, str],
) -> str:
    """The help of *command* as Markdown, without what stands elsewhere on the page.

    Its options in *shared* are only named, and so are those in *told*: option -> the command that
    has explained it, where its own are added. A group's commands have sections of their own.
    """
    formatter = context.make_formatter()
    if arguments := [
        piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]"
    ]:
        formatter.write(f"Usage: {context.info_name} {' '.join(arguments)}\n")
    command.format_help_text(context, formatter)
    mine = options(command, context)
    if own := [option for option in mine if option not in shared and option not in told]:
        with formatter.section("Options"):
            formatter.write_dl(own)
    if command.epilog:
        formatter.write(f"\n{command.epilog}\n")
    text = (
        f"## {context.info_name}\n\n```text\n{formatter.getvalue().strip(chr(10)).rstrip()}\n```\n"
    )
    named = [f"`{name}`" for option, name in mine.items() if option in shared and name != "--store"]
    if set(CALLING) <= {name.strip("`") for name in named}:
        named = ["*all of calls*", *(name for name in named if name.strip("`") not in CALLING)]
    of: dict[str, list[str]] = {}
    for option, name in mine.items():
        if option in told:
            of.setdefault(told[option], []).append(f"`{name}`")
    named += [f"{', '.join(names)} of `{where}`" for where, names in of.items()]
    told |= dict.fromkeys(own, context.info_name or "")
    if context.parent is None and isinstance(command, type(cli)):  # `aib` itself
        text += "".join(
            f"\n{title}: {', '.join(f'[{one}](#aib-{one})' for one in group)}.\n"
            for title, group in GROUPS.items()
        )
    also = textwrap.fill(f"And {', '.join(named)}.", 120, break_on_hyphens=False)
    return f"{text}\n{also}\n" if named else text


def command_line() -> tuple[Path, str]:
    """docs/cli.md"""
    every = list(commands(cli, ("aib",)))
    shared = shared_options(options(*one) for one in every)
    cells = ((name.replace("|", "\\|"), said.replace("|", "\\|")) for name, said in shared)
    rows = "\n".join(f"| `{name}` | {said} |" for name, said in cells)
    told: dict[Option, str] = {}
    parts = [f"{CLI_HEAD}{rows}\n", *(help_of(*one, shared, told) for one in every)]
    return ROOT / "docs" / "cli.md", "\n".join(parts)


CALLING = ("--models-file", "--trust", "--local-url", "--parallel-tasks", "--budget", "--price")

CLI_HEAD = """\
# The command line

Made from `aib --help` and its commands by `make docs`.

## Options of several commands

Options that several commands have are explained here; \
each command names its own after *And*, all but `--help` and
`--store` (of every command with a store). *All of calls*: \
`--models-file`, `--trust`, `--local-url`,
`--parallel-tasks`, `--budget`, `--price`.

| option | |
|---|---|
"""


def as_csv(rows: Iterable[Sequence[object]]) -> str:
    """The *rows* as the text of a CSV file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


SUBJECT, FIGURES = (
    ("model", "reasoning", "temperature", "provider"),
    ("index", "low", "high", "runs", "dollars_a_run", "complete"),
)
PUBLISHED = DATA / "published.csv"


def published(told: Mapping[str, Any]) -> str:
    """The text of `PUBLISHED`, from the leaderboard's JSON: the published index, its interval, and
    what a run cost.
    """
    (board,) = told["boards"]
    incomplete = {
        one["label"] for one in told["where_own_rules_differ"] if one["own_index"] is None
    }
    dollars = {one["label"]: one["dollars_per_run"] for one in board["dollars_a_run"]}
    rows = []
    for row in board["ranked"]:
        subject, interval = (
            row["subject"],
            row["index_interval_as_published"] or {"low": None, "high": None},
        )
        if subject["endpoint"] == "openrouter":
            of_run = "" if (paid := dollars[row["label"]]) is None else f"{paid:.4f}"
            rows.append(
                (
                    *(subject[name] for name in SUBJECT),
                    row["index"],
                    *interval.values(),
                    row["runs"],
                    of_run,
                    row["label"] not in incomplete,
                )
            )
    return as_csv([(*SUBJECT, *FIGURES), *sorted(rows, key=lambda row: tuple(map(str, row)))])


def models() -> Iterator[tuple[Path, str]]:
    """docs/data/models.csv, and docs/choose-a-model.md with the highest published indices."""
    listed = ModelsFile.model_validate(yaml.safe_load(SHIPPED.read_text(encoding="utf-8"))).subjects
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        figures = {tuple(row[name] for name in SUBJECT): row for row in csv.DictReader(file)}
    rows, lines = [], []
    for one in listed:
        subject = (
            one.model,
            str(one.reasoning or "off"),
            f"{one.temperature:.1f}",
            one.provider or "",
        )
        # published names of providers are those of folders, which have no slash
        known = figures.get((*subject[:3], subject[3].replace("/", "-")), {})
        rows.append((*subject, one.active, one.notes, *(known.get(name) for name in FIGURES)))
        if known:
            interval = f"{known['low']}–{known['high']}" if known["low"] else "–"
            paid = known["dollars_a_run"]
            name = f"`{one.model}`" + (f" at {one.provider}" if one.provider else "")
            cells = (
                name if known["complete"] == "True" else f"{name}, incomplete",
                subject[1],
                known["index"],
                interval,
                known["runs"],
                f"{float(paid):.3f}" if paid else "–",
            )
            lines.append((-float(known["index"]), f"| {' | '.join(cells)} |"))
    yield DATA / "models.csv", as_csv([(*SUBJECT, "active", "notes", *FIGURES), *rows])
    table = [
        "| model | reasoning | index | 95% CI as published | runs | dollars a run |",
        "|---|---|--:|--:|--:|--:|",
        *(line for _, line in sorted(lines)[:SHOWN_MODELS]),
    ]
    path = ROOT / "docs" / "choose-a-model.md"
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN_MODELS)
    yield (
        path,
        f"{before}{BEGIN_MODELS}\n"
        + "\n".join(table)
        + f"\n{END_MODELS}{rest.partition(END_MODELS)[2]}",
    )


def export_columns() -> tuple[Path, str]:
    """docs/data/export.csv"""
    rows = (
        (s.name, c.name, c.documented_kind, c.says, "--raw" if c.raw else "")
        for s in EXPORT_TABLES
        for c in s.columns
    )
    return DATA / "export.csv", as_csv([("file", "column", "type", "meaning", "only with"), *rows])


def page_types() -> tuple[Path, str]:
    """web/src/api/types.ts"""
    return ROOT / "web" / "src" / "api" / "types.ts", typescript(ANSWERS)


def main() -> int:
    """Write what has changed, or with --check list it and return 1."""
    check = "--check" in sys.argv[1:]
    if sys.argv[1:2] == ["--published"]:
        PUBLISHED.write_text(
            published(json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))), encoding="utf-8"
        )
    stale = []
    of_parts = (licences.LISTED, licences.listed(licences.parts()))
    made = (
        *schemas(),
        command_line(),
        *models(),
        export_columns(),
        of_parts,
        page_types(),
    )
    # a page is read when what else is made in it is written
    for path, text in chain(made, consoles(ROOT / "docs")):
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path.relative_to(ROOT).as_posix())
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if stale:
        print(("out of date, run `make docs`: " if check else "written: ") + ", ".join(stale))
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
