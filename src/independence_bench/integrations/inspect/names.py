"""Under which name Inspect keeps what is registered here: behind `independence_bench/`, however this is installed."""

from inspect_ai._util.registry import registry_name

from independence_bench.integrations.inspect.samples import PREFIX


def named(name: str) -> str:
    """*name* as it has to be registered: Inspect adds the prefix by itself, but not in an editable installation."""
    return name if registry_name(named, name) != name else f"{PREFIX}/{name}"
