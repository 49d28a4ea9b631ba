"""How long a user waits for nothing: `aib --help` beside a bare Python, and what `aib leaderboard`
imports.

    python benchmarks/start.py                           # 41 pairs
    python benchmarks/start.py --pairs 5

The two are started in turn, so that both meet the same machine; the numbers are medians. *ratio* is
the median of help over the median of Python.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from rescore import build
from results import Target, table, verdict

MOST = 4.0  # times a bare Python
PYTHON = (sys.executable, "-c", "pass")
HELP = (str(Path(sys.executable).with_name("aib")), "--help")
MODULE = (sys.executable, "-m", "independence_bench")

# what serves and what connects; a ranking needs none of it
NOT_FOR_A_RANKING = frozenset(
    {
        "aiohttp",
        "starlette",
        "uvicorn",
        "fastapi",
        "xllamacpp",
        "torch",
        "sklearn",
        "transformers",
    }
)


def seconds(command: Sequence[str]) -> float:
    """How long *command* takes from start to end, its output thrown away."""
    started = time.perf_counter()
    # without a timeout: with one, Python looks for the end in steps that double, up to 50 ms
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def pairs(count: int) -> tuple[list[float], list[float]]:
    """(seconds of a bare Python, seconds of the help), *count* times in turn; one pair before it to
    warm up.
    """
    seconds(PYTHON), seconds(HELP)
    measured = [(seconds(PYTHON), seconds(HELP)) for _ in range(count)]
    return [pair[0] for pair in measured], [pair[1] for pair in measured]


def imported(arguments: Sequence[str]) -> set[str]:
    """The top-level names of everything that ``aib`` imports for *arguments*, as -X importtime
    tells.
    """
    ran = subprocess.run(
        [MODULE[0], "-X", "importtime", *MODULE[1:], *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    lines = [
        line
        for line in ran.stderr.splitlines()
        if line.startswith("import time:") and line.count("|") == 2
    ]
    return {line.rpartition("|")[2].strip().split(".")[0] for line in lines}


def main() -> int:
    """Measure, print, and say with the exit code whether every target was met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=41)
    chosen = parser.parse_args()
    python, helped = pairs(chosen.pairs)
    ratio = median(helped) / median(python)
    rows = [
        (
            name,
            f"{1000 * median(taken):.1f}",
            f"{1000 * min(taken):.1f}",
            f"{median(taken) / median(python):.2f}",
        )
        for name, taken in (("python -c pass", python), ("aib --help", helped))
    ]
    print(f"in turn, pairs: {chosen.pairs}\n")
    print(table(("ms", "median", "fastest", "x python"), rows))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        build(path, 2, 1)
        names = imported(("leaderboard", "--store", str(path)))
    if not {"independence_bench", "sqlalchemy", "rich"} <= names:
        raise RuntimeError(f"the list of imports is not one: {len(names)} names")
    unwanted = sorted(NOT_FOR_A_RANKING & names)
    print(f"aib leaderboard imports {len(names)} top-level modules; of what serves, connects or")
    print(f"trains: {', '.join(unwanted) or 'nothing'}\n")
    return verdict(
        [
            Target("aib --help x python -c pass, medians", ratio, MOST),
            Target("modules of aib leaderboard that it has no use for", len(unwanted), 0),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
