"""AI Independence Bench: does a chat model stay who it is when a person leans on it?

From Python (docs/api.md): what the commands do and answer. Each is loaded when it is first used.
"""

from importlib import import_module

__version__ = "0.1.0"
__all__ = [
    "BenchError",
    "Comparisons",
    "Exported",
    "GateAnswer",
    "Leaderboard",
    "PersonaSides",
    "Played",
    "Run",
    "RunOutcome",
    "StoreTables",
    "__version__",
    "compare",
    "compare_personas",
    "export",
    "gate",
    "judge",
    "leaderboard",
    "open_store",
    "persona",
    "run",
    "write_baseline",
]

# name -> module: here, so that `import independence_bench` loads nothing; __init__.pyi says the
# same to type checkers
_OFFERED = {
    "BenchError": "errors",
    "Comparisons": "api.comparisons",
    "Exported": "dataset.export",
    "GateAnswer": "api.gates",
    "Leaderboard": "api.leaderboards",
    "PersonaSides": "api.characters",
    "Played": "api.characters",
    "Run": "engine.run",
    "RunOutcome": "api.commands",
    "StoreTables": "api.tables",
    "compare": "api.comparisons",
    "compare_personas": "api.characters",
    "export": "api.tables",
    "gate": "api.gates",
    "judge": "api.commands",
    "leaderboard": "api.leaderboards",
    "open_store": "api.tables",
    "persona": "api.characters",
    "run": "api.commands",
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
