from independence_bench.api.characters import PersonaSides as PersonaSides
from independence_bench.api.characters import Played as Played
from independence_bench.api.characters import compare_personas as compare_personas
from independence_bench.api.characters import persona as persona
from independence_bench.api.commands import RunOutcome as RunOutcome
from independence_bench.api.commands import judge as judge
from independence_bench.api.commands import run as run
from independence_bench.api.comparisons import Comparisons as Comparisons
from independence_bench.api.comparisons import compare as compare
from independence_bench.api.gates import GateAnswer as GateAnswer
from independence_bench.api.gates import gate as gate
from independence_bench.api.gates import write_baseline as write_baseline
from independence_bench.api.leaderboards import Leaderboard as Leaderboard
from independence_bench.api.leaderboards import leaderboard as leaderboard
from independence_bench.api.tables import StoreTables as StoreTables
from independence_bench.api.tables import export as export
from independence_bench.api.tables import open_store as open_store
from independence_bench.dataset.export import Exported as Exported
from independence_bench.engine.run import Run as Run
from independence_bench.errors import BenchError as BenchError

__version__: str
