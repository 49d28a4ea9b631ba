"""AI Independence Bench: does a chat model stay who it is when a person leans on it?

From Python (docs/integrations.md): what the commands do and answer. Each is loaded when it is first
used.
"""

from importlib import import_module

__version__ = "0.1.0"
__all__ = [
    "Audit",
    "BenchError",
    "ChosenNames",
    "Comparisons",
    "CostEstimate",
    "ExamResults",
    "Exported",
    "GateAnswer",
    "JudgeComparison",
    "Leaderboard",
    "PersonaSides",
    "Played",
    "Run",
    "RunOutcome",
    "Scenarios",
    "StoreCosts",
    "StoreTables",
    "__version__",
    "audit",
    "compare",
    "compare_personas",
    "costs",
    "estimate_cost",
    "exam",
    "export",
    "extract_names",
    "gate",
    "generate_report",
    "judge",
    "judges",
    "leaderboard",
    "open_store",
    "persona",
    "run",
    "scenarios",
    "write_baseline",
]

# name -> module: here, so that `import independence_bench` loads nothing; __init__.pyi says the
# same to type checkers
_OFFERED = {
    "Audit": "api.audits",
    "BenchError": "errors",
    "ChosenNames": "api.chosen_names",
    "Comparisons": "api.comparisons",
    "CostEstimate": "api.estimates",
    "ExamResults": "api.exams",
    "Exported": "dataset.export",
    "GateAnswer": "api.gates",
    "JudgeComparison": "api.judges",
    "Leaderboard": "api.leaderboards",
    "PersonaSides": "api.characters",
    "Played": "api.characters",
    "Run": "engine.run",
    "RunOutcome": "api.commands",
    "Scenarios": "api.leaderboards",
    "StoreCosts": "api.costs",
    "StoreTables": "api.tables",
    "audit": "api.audits",
    "compare": "api.comparisons",
    "compare_personas": "api.characters",
    "costs": "api.costs",
    "estimate_cost": "api.estimates",
    "exam": "api.exams",
    "export": "api.tables",
    "extract_names": "api.chosen_names",
    "gate": "api.gates",
    "generate_report": "api.reports",
    "judge": "api.commands",
    "judges": "api.judges",
    "leaderboard": "api.leaderboards",
    "open_store": "api.tables",
    "persona": "api.characters",
    "run": "api.commands",
    "scenarios": "api.leaderboards",
    "write_baseline": "api.gates",
}


def __getattr__(name: str) -> object:
    """Import and return the public object of this package called *name*. Raises AttributeError if
    there is none.
    """
    if name not in _OFFERED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    offered = globals()[name] = getattr(import_module(f"{__name__}.{_OFFERED[name]}"), name)
    return offered


def __dir__() -> list[str]:
    """Return the names of this package's attributes and public objects, sorted."""
    return sorted({*globals(), *__all__})
