from independence_bench.api.commands import RunOutcome as RunOutcome
from independence_bench.api.commands import judge as judge
from independence_bench.api.commands import run as run
from independence_bench.api.tables import StoreTables as StoreTables
from independence_bench.api.tables import open_store as open_store
from independence_bench.engine.run import Run as Run
from independence_bench.errors import BenchError as BenchError

__version__: str
