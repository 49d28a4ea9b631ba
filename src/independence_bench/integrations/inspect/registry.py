"""What Inspect finds under the prefix `independence_bench/`: the entry point that pyproject.toml names."""

from independence_bench.integrations.inspect.provider import aib
from independence_bench.integrations.inspect.scorer import dimensions, independence, independence_index, index_interval
from independence_bench.integrations.inspect.solver import conversations
from independence_bench.integrations.inspect.tasks import lite, own, v1, v2, v3, v3_lite

__all__ = [
    "aib",
    "conversations",
    "dimensions",
    "independence",
    "independence_index",
    "index_interval",
    "lite",
    "own",
    "v1",
    "v2",
    "v3",
    "v3_lite",
]
