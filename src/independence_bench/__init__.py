"""AI Independence Bench: does a chat model stay who it is when a person leans on it?

From Python (docs/api.md): `run`, `judge`, `open_store`. Each is loaded when it is first used.
"""

from importlib import import_module

__version__ = "0.1.0"
__all__ = [
    "BenchError",
    "Run",
    "RunOutcome",
    "StoreTables",
    "__version__",
    "judge",
    "open_store",
    "run",
]

# name -> module: here, so that `import independence_bench` loads nothing; __init__.pyi says the
# same to type checkers
_OFFERED = {
    "BenchError": "errors",
    "Run": "engine.run",
    "RunOutcome": "api.commands",
    "StoreTables": "api.tables",
    "judge": "api.commands",
    "open_store": "api.tables",
    "run": "api.commands",
}


def __getattr__(name: str) -> object:
    """What is offered under *name*."""
    if name not in _OFFERED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    offered = globals()[name] = getattr(import_module(f"{__name__}.{_OFFERED[name]}"), name)
    return offered


def __dir__() -> list[str]:
    """What is offered, and what is there."""
    return sorted({*globals(), *__all__})
