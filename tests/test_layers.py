"""The architecture as a list: each module imports only from the ones above it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import independence_bench

ROOT = Path(independence_bench.__file__).parent
PACKAGE = "independence_bench"

# Top to bottom. A module may import from every line above its own, and from nothing on or below it.
LAYERS = """
    __init__  embedded.__init__  simulate.__init__  store.__init__  report.__init__  cli.__init__  probe.__init__
    statistics.__init__  dataset.__init__  audit.__init__  viewer.__init__
    errors  hashing  shown  redaction  unpacking  staging
    yaml_files  env_file
    protocol
    protocol_files  subject
    conversation  chat  trust
    completion  remembered
    delivery  verdict  scoring  names  statistics.agreement  statistics.components
    statistics.composite
    statistics.decision
    statistics.student  statistics.between_runs  statistics.coins
    statistics.intervals
    statistics.dispersion  statistics.ranking  statistics.judging  statistics.items  statistics.paired
    statistics.questions
    statistics.leaving_out  statistics.planning
    statistics.adaptive
    brief  plan  described_names
    store.tables  store.owners
    store.sqlite_file  store.postgresql  store.calls  store.records  store.participants  store.consumption
    store.decisions
    store.payments  store.clearing  store.bodies  store.sent  store.changes
    store.exchange
    store.check
    store.database
    store.commits
    retry  throttle  budget
    offers
    endpoint
    lookup
    question
    books
    buying
    report.results
    judge  shop  labelling  together
    probe.attacks
    probe.talks
    probe.pairs
    order
    forecast
    stock
    engine
    embedded.weights  embedded.table
    embedded.host  embedded.judge
    embedded.server
    simulate.chance  simulate.latency  simulate.wire  simulate.ledger
    simulate.talk
    simulate.characters
    simulate.judge  simulate.catalog
    simulate.faults
    simulate.server
    conduct
    probe.probing  spread
    report.called
    report.flags  report.markup  report.jury  report.certainty  report.made
    report.rows
    rounds
    report.figures  report.spent
    dataset.files  store.imported
    dataset.published
    dataset.wording
    dataset.retold
    dataset.importing
    dataset.columns
    dataset.card  dataset.forms
    dataset.checks  dataset.sheets
    dataset.export  dataset.exported
    audit.rereading
    audit.evidence
    audit.findings
    audit.kinds
    audit.auditing
    name_reading
    report.configurations  report.scenarios  report.naming  report.judges  report.paired
    report.comparisons  report.paired_configurations
    report.differences
    report.reliability
    report.json  report.terminal  report.costs
    report.paired_view  report.resolving  report.transcripts  report.scenarios_view  report.reliability_view
    report.contents  report.plots
    report.contents_json  report.markdown
    report.probe  report.judges_view  report.names_view  report.audit  report.costs_view
    viewer.rounding
    viewer.shapes  viewer.slugs  viewer.writing  viewer.quoting  viewer.turns  viewer.page
    viewer.serving  viewer.door  viewer.offsets  viewer.equations  viewer.catalog
    viewer.terms
    viewer.parts
    viewer.ranking  viewer.reading  viewer.transcripts  viewer.judging  viewer.methods  viewer.searching
    viewer.subjects  viewer.scenarios  viewer.comparing
    viewer.routes
    viewer.shelf
    viewer.live  viewer.freeze
    viewer.app
    cli.options  cli.progress
    cli.until  cli.spread  cli.allowing
    cli.leaderboard  cli.protocols  cli.check  cli.embedded  cli.simulate  cli.judges  cli.label  cli.report
    cli.exclude
    cli.run  cli.show  cli.models  cli.compare  cli.scenarios  cli.clear  cli.audit  cli.view  cli.site  cli.reliability
    cli.estimate  cli.rerun
    cli.export  cli.names  cli.import_  cli.costs
    cli.probe
    cli.judge
    cli.main
    __main__
"""
LAYER_OF = {name: number for number, line in enumerate(LAYERS.strip().splitlines()) for name in line.split()}
MODULES = {
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."): path for path in sorted(ROOT.rglob("*.py"))
}


def own_imports(tree: ast.AST) -> set[str]:
    """The modules of the package that *tree* imports, wherever in it the import stands."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide what is imported"
            # `from package import module` imports the module, `from module import name` only that module
            base = node.module or ""
            names = [f"{base}.{alias.name}" if is_module(f"{base}.{alias.name}") else base for alias in node.names]
        else:
            continue
        found |= {name for name in names if name.split(".")[0] == PACKAGE}
    return {short(name) for name in found}


def is_module(name: str) -> bool:
    """Whether *name* is a module or a package of ours."""
    return short(name) in MODULES


def short(name: str) -> str:
    """``independence_bench.store`` -> ``store.__init__``, ``independence_bench.chat`` -> ``chat``."""
    inner = name.removeprefix(PACKAGE).removeprefix(".")
    if inner in MODULES:
        return inner
    return f"{inner}.__init__" if inner else "__init__"


def parsed(module: str) -> ast.Module:
    """The syntax tree of *module*."""
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def test_every_module_has_its_layer() -> None:
    """A new module is put into the list, and a deleted one is taken out."""
    assert LAYER_OF.keys() == MODULES.keys()


def test_imports_go_one_way() -> None:
    """Only upwards, inside functions too; so there is no cycle either."""
    downwards = {
        f"{module} imports {imported}"
        for module in MODULES
        for imported in own_imports(parsed(module))
        if LAYER_OF[imported] >= LAYER_OF[module]
    }

    assert downwards == set()


def test_the_list_is_read_as_it_is_meant() -> None:
    """The reading itself: known imports are seen, in every way of writing them."""
    assert {"errors", "hashing", "yaml_files"} == own_imports(parsed("subject"))
    assert "store.records" in own_imports(ast.parse("from independence_bench.store import records"))
    assert "errors" in own_imports(ast.parse("def f():\n    from independence_bench.errors import BenchError"))
    assert "chat" in own_imports(ast.parse("import independence_bench.chat as c, json"))
    assert own_imports(ast.parse("from independence_bench import __version__")) == {"__init__"}


def test_nothing_of_ours_is_imported_lazily() -> None:
    """A lazy import of our own code means that a module is in the wrong place; only the command list loads by name."""
    lazy = []
    for module in MODULES:
        tree = parsed(module)
        inside = [
            node
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for node in ast.walk(function)
        ]
        lazy += [
            module for node in inside if own_imports(ast.Module([node], []) if isinstance(node, ast.stmt) else node)
        ]
        called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        if module != "cli.main":
            lazy += [module for name in ("importlib.import_module", "import_module", "__import__") if name in called]

    assert lazy == []


def loaded_by(program: str) -> set[str]:
    """The top-level names of all modules that *program* has loaded at its end, in a Python of its own."""
    ran = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys; sys.stderr.write(' '.join(sys.modules))"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(ran.stderr.split())


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
        f"{PACKAGE}.cli.main",
        f"{PACKAGE}.errors",
        f"{PACKAGE}.redaction",
        f"{PACKAGE}.shown",
    }


def test_the_pure_middle_knows_no_http_and_no_database() -> None:
    """What computes can be used without what connects."""
    pure = (
        *["protocol_files", "subject", "conversation", "chat", "completion", "delivery", "verdict"],
        *["scoring", "plan", "retry", "throttle"],
    )
    loaded = loaded_by("\n".join(f"import {PACKAGE}.{module}" for module in pure))

    assert f"{PACKAGE}.plan" in loaded
    assert not {"aiohttp", "sqlalchemy", "numpy", "rich", "click"} & loaded
