"""Writes the parts of the documentation that are made from the code; `--check` only compares.

    docs/schema/*.json        JSON Schema of the files that people write
    docs/cli.md               the help of every command
    docs/models.md            the subjects worth testing, from models.yaml
    docs/licences.md          what users get beside our own code
    docs/architecture.md      the file tree, between two markers
    web/src/api/types.ts      what the viewer's page is sent, from the classes of its answers
    .../viewer/equations.json the equations of its glossary, drawn

Run it with `make docs`; `make test` runs the check, so none of these can rot.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import licences
import yaml
from mathml import equations_json
from typescript import typescript

from independence_bench.cli.main import cli
from independence_bench.models.models_file import SHIPPED, ModelsFile
from independence_bench.protocol.file_formats import json_schemas
from independence_bench.viewer.routes import ANSWERS

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "independence_bench"
BEGIN, END = "<!-- tree: made by docs/build.py -->", "<!-- end of tree -->"
WIDTH = 80


def schemas() -> Iterator[tuple[Path, str]]:
    """Every schema, as a file."""
    every = {**json_schemas(), "models": ModelsFile.model_json_schema()}
    for name, schema in every.items():
        text = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        yield ROOT / "docs" / "schema" / f"{name}.schema.json", text


def helps(command: click.Command, path: tuple[str, ...]) -> Iterator[str]:
    """The help of *command* and of all below it, as Markdown."""
    context = click.Context(command, info_name=" ".join(path), terminal_width=WIDTH, max_content_width=WIDTH)
    yield f"## {' '.join(path)}\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                yield from helps(below, (*path, name))


def command_line() -> tuple[Path, str]:
    """docs/cli.md"""
    head = "# The command line\n\nMade from `aib --help` and its commands by `make docs`.\n\n"
    return ROOT / "docs" / "cli.md", head + "\n".join(helps(cli, ("aib",)))


MODELS_HEAD = """\
# Models worth testing

Made from [models.yaml](../src/independence_bench/models/models.yaml), which ships with the package, by `make docs`: the
settings that published runs were made with, and what is known of each model.

- `aib run MODEL` calls a model as its first row here says, active ones before others, unless your own models.yaml lists
  it. Options such as `--temperature` and `--reasoning-effort` go before both.
- `aib run --all` plays every active row, where you have no models.yaml; it says what that costs and asks first.
  `aib estimate-cost --all` only says it.
- To keep some of them, or to change one, copy entries into your own models.yaml.

A row that is not active has no published index (it lacks a part of the test), or is another temperature of a row that
is. For current prices and providers: `aib models WORD`.

| note | means |
|---|---|
| requires reasoning | reasoning cannot be turned off; with reasoning off it refuses or still reasons |
| ignores temperature | takes only its own, whatever the label says |
| strict message order | refuses two messages of one role in a row |
| reasons although told not to | at least half of its published replies came with reasoning |
| shows no reasoning | was told to reason, and none of its published replies came with any |
| often answers in plain text | a third of its published replies in tool_role or more came without calling the tool |
| daily limit | free variants have one |
"""


def models() -> tuple[Path, str]:
    """docs/models.md"""
    listed = ModelsFile.model_validate(yaml.safe_load(SHIPPED.read_text(encoding="utf-8"))).subjects
    lines = [
        f"{MODELS_HEAD}\n{len(listed)} subjects, {sum(one.active for one in listed)} of them active.\n",
        "| model | reasoning | temperature | provider | active | notes |",
        "|---|---|---|---|---|---|",
    ]
    for one in listed:
        cells = (
            one.model,
            one.reasoning or "off",
            f"{one.temperature:.1f}",
            one.provider or "",
            "yes" if one.active else "no",
            one.notes,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return ROOT / "docs" / "models.md", "\n".join(lines) + "\n"


def tree() -> str:
    """The package's modules and folders, each with the first sentence of its docstring."""
    lines = []
    for path in sorted(PACKAGE.iterdir(), key=lambda p: (p.is_dir(), p.name)):
        source = path / "__init__.py" if path.is_dir() else path
        if path.name.startswith("_") or source.suffix != ".py" or not source.exists():
            continue
        docstring = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
        sentence = " ".join(docstring.split("\n\n")[0].split()).split(". ")[0].rstrip(".")
        lines.append(f"{path.name + '/' if path.is_dir() else path.name:<18} {sentence}")
    return "```text\nsrc/independence_bench/\n" + "\n".join(f"  {line}" for line in lines) + "\n```"


def architecture() -> tuple[Path, str]:
    """docs/architecture.md with its tree of today."""
    path = ROOT / "docs" / "architecture.md"
    text = path.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return path, f"{before}{BEGIN}\n{tree()}\n{END}{after}"


def page_types() -> tuple[Path, str]:
    """web/src/api/types.ts"""
    return ROOT / "web" / "src" / "api" / "types.ts", typescript(ANSWERS)


def equations() -> tuple[Path, str]:
    """The equations of viewer/glossary.yaml, and what stands for each letter in them."""
    terms = yaml.safe_load((PACKAGE / "viewer" / "glossary.yaml").read_text(encoding="utf-8"))
    written = (tex for term in terms for tex in (*term.get("equations", ()), *term.get("where", ())))
    return PACKAGE / "viewer" / "equations.json", equations_json(written)


def main() -> int:
    """Write what has changed, or with --check list it and return 1."""
    check = "--check" in sys.argv[1:]
    stale = []
    of_parts = (ROOT / "docs" / "licences.md", licences.page(licences.parts()))
    for path, text in (*schemas(), command_line(), models(), of_parts, architecture(), equations(), page_types()):
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
