"""The architecture as a list: each room imports only from the ones above it, and no modules in a
circle.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import independence_bench

ROOT = Path(independence_bench.__file__).parent
PACKAGE = "independence_bench"
ARCHITECTURE = Path(__file__).parent.parent / "docs" / "architecture.md"

# Top to bottom. A room may import from every line above its own, and from nothing below it.
ROOMS = """
    errors hashing escape yaml_io lookup figures columns __init__
    models
    protocol
    personas
    store
    calls
    judging
    simulate
    analysis
    dataset
    engine
    report
    viewer
    integrations
    api
    cli
    __main__
"""
ROOM_OF = {
    name: number for number, line in enumerate(ROOMS.strip().splitlines()) for name in line.split()
}
MODULES = {
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."): path
    for path in sorted(ROOT.rglob("*.py"))
}


def own_imports(tree: ast.AST) -> set[str]:
    """The modules of the package that *tree* imports, wherever in it the import stands."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide what is imported"
            # `from package import module` imports the module, `from module import name` only that
            # module
            base = node.module or ""
            names = [
                f"{base}.{alias.name}" if is_module(f"{base}.{alias.name}") else base
                for alias in node.names
            ]
        else:
            continue
        found |= {name for name in names if name.split(".")[0] == PACKAGE}
    return {short(name) for name in found}


def is_module(name: str) -> bool:
    """Whether *name* is a module or a package of ours."""
    return short(name) in MODULES


def short(name: str) -> str:
    """``independence_bench.store`` -> ``store.__init__``, ``independence_bench.errors`` ->
    ``errors``.
    """
    inner = name.removeprefix(PACKAGE).removeprefix(".")
    if inner in MODULES:
        return inner
    return f"{inner}.__init__" if inner else "__init__"


@cache
def imports_of(module: str) -> set[str]:
    """The modules of the package that *module* imports."""
    return own_imports(parsed(module))


@cache
def parsed(module: str) -> ast.Module:
    """The syntax tree of *module*."""
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def room(module: str) -> str:
    """``store.schema`` -> ``store``; what lies at the top of the package is a room of its own."""
    return module.split(".")[0]


def test_every_module_has_its_room() -> None:
    """A new folder is put into the list, and a deleted one is taken out; nothing else lies at the
    top.
    """
    assert {room(module) for module in MODULES} == ROOM_OF.keys()


def test_rooms_import_one_way() -> None:
    """Only upwards, inside functions too."""
    downwards = {
        f"{module} imports {imported}"
        for module in MODULES
        for imported in imports_of(module)
        if room(module) != room(imported) and ROOM_OF[room(imported)] >= ROOM_OF[room(module)]
        if not {
            "errors",
            "hashing",
            "escape",
            "yaml_io",
            "lookup",
            "figures",
            "columns",
            "__init__",
        }
        >= {module, imported}
    }

    assert downwards == set()


def test_no_modules_import_each_other_in_a_circle() -> None:
    """All of them can be put into one order."""
    TopologicalSorter({module: imports_of(module) - {module} for module in MODULES}).prepare()


def test_the_documentation_draws_the_same_rooms() -> None:
    """docs/architecture.md has the list as a table, in the same order, and says nothing of rooms
    that are not there.
    """
    text = ARCHITECTURE.read_text(encoding="utf-8")
    first_cells = [
        line.split("|")[1]
        for line in text.partition("\n## ")[0].splitlines()
        if line.startswith("| `")
    ]
    drawn = [name for cell in first_cells for name in re.findall(r"`(\w+)`", cell)]

    assert drawn == [name for name in ROOM_OF if not name.startswith("__")]
    named = set(re.findall(rf"`((?:{'|'.join(drawn)})/[a-z_/]+)(?:\.py)?`", text))
    assert not {
        name for name in named if not (ROOT / f"{name}.py").exists() and not (ROOT / name).exists()
    }


def test_what_differs_between_endpoints_is_in_one_module() -> None:
    """A new dialect is one object: no other module asks which one an endpoint speaks."""
    asks = re.compile(r"(?<!connection\.)\bdialect (?:==|!=|in|not in) ")

    assert [
        name for name in MODULES if asks.search(MODULES[name].read_text(encoding="utf-8"))
    ] == []


def test_the_list_is_read_as_it_is_meant() -> None:
    """The reading itself: known imports are seen, in every way of writing them."""
    own = {"columns", "errors", "escape", "hashing", "lookup"}
    assert own == own_imports(parsed("models.spec"))
    assert "store.results" in own_imports(ast.parse("from independence_bench.store import results"))
    assert "errors" in own_imports(
        ast.parse("def f():\n    from independence_bench.errors import BenchError")
    )
    assert "calls.call" in own_imports(ast.parse("import independence_bench.calls.call as c, json"))
    assert own_imports(ast.parse("from independence_bench import __version__")) == {"__init__"}


def test_nothing_of_ours_is_imported_lazily() -> None:
    """A lazy import of our own code means that it is in the wrong place; commands, users'
    functions and what `import independence_bench` offers load by name. The exam's questions, with
    a character among them, are loaded only where a judge has answered some.
    """
    lazy = []
    for module in MODULES:
        if module == "analysis.exam.standing":
            continue
        tree = parsed(module)
        inside = [
            node
            for function in ast.walk(tree)
            # nor can a lambda hold an import
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
            for node in ast.walk(function)
            if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        lazy += [module for node in inside if own_imports(node)]
        called = {getattr(node, "id", getattr(node, "attr", "")) for node in names_in(tree)}
        if module not in ("__init__", "__main__", "cli.main", "models.functions"):
            lazy += [module for name in ("import_module", "__import__") if name in called]

    assert lazy == []


def names_in(tree: ast.AST) -> list[ast.expr]:
    """What *tree* calls, by a name or as something's attribute."""
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [node for node in called if isinstance(node, ast.Name | ast.Attribute)]


def loaded_by(program: str) -> set[str]:
    """The top-level names of all modules that *program* has loaded at its end, in a Python of its
    own.
    """
    ran = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys; sys.stderr.write(' '.join(sys.modules))"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(ran.stderr.split())


def test_that_there_is_no_store_is_said_before_anything_heavy_is_loaded(tmp_path: Path) -> None:
    """Of every command that needs one, whatever else is missing in what was typed."""
    loaded = loaded_by(
        f"import os, sys\nos.chdir({str(tmp_path)!r})\nfrom independence_bench.cli.main import "
        "COMMANDS, main\n"
        "for name in [name for name, one in COMMANDS.items() if one.reads_store]:\n    sys.argv "
        "= ['aib', name]\n"
        "    try:\n        main()\n    except SystemExit as end:\n        assert end.code == 1, "
        "(name, end.code)"
    )

    assert "independence_bench.cli.main" in loaded
    assert not {"aiohttp", "sqlalchemy", "numpy", "pydantic", "rich", "yaml"} & loaded


def test_help_loads_nothing_heavy() -> None:
    """`aib --help` answers at once: no HTTP, no database, no numbers, no validation."""
    loaded = loaded_by(
        "import sys\nfrom independence_bench.cli.main import main\nsys.argv = ['aib', '--help']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code"
    )

    assert "independence_bench.cli.main" in loaded
    assert not {"aiohttp", "sqlalchemy", "numpy", "pydantic", "rich", "yaml", "xllamacpp"} & loaded
    ours = {name for name in loaded if name.startswith(PACKAGE)}
    assert ours == {
        PACKAGE,
        f"{PACKAGE}.cli",
        f"{PACKAGE}.cli.invocation",
        f"{PACKAGE}.cli.main",
        f"{PACKAGE}.errors",
        f"{PACKAGE}.escape",
        f"{PACKAGE}.report",
        f"{PACKAGE}.report.commands",
    }


def test_the_pure_middle_knows_no_http_and_no_database() -> None:
    """What computes can be used without what connects."""
    pure = (
        *[
            "protocol.loader",
            "protocol.conversation",
            "protocol.delivery",
            "protocol.scoring",
            "protocol.plan",
        ],
        *["models.spec", "models.messages", "models.response", "judging.output", "calls.limits"],
    )
    loaded = loaded_by("\n".join(f"import {PACKAGE}.{module}" for module in pure))

    assert f"{PACKAGE}.protocol.plan" in loaded
    assert not {"aiohttp", "sqlalchemy", "numpy", "rich", "click"} & loaded


def test_a_command_that_only_reads_imports_nothing_that_calls_or_serves() -> None:
    """They would take longer to import than a leaderboard takes to be shown."""
    reads = "import sys, independence_bench.cli.rankings as _; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", reads], capture_output=True, text=True, check=True)

    loaded = {*done.stdout.split()}
    assert {"aiohttp", "starlette", "uvicorn", "torch"} & loaded == set()
    others = (f"{PACKAGE}.personas", f"{PACKAGE}.judging.exam", f"{PACKAGE}.analysis.exam.result")
    assert not [name for name in loaded if name.startswith(others)]
