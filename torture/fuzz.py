"""Coverage-guided fuzzing of every parser: `python torture/fuzz.py [--seconds N] [TARGET]...`

Each target of `fuzz/` gets a process of its own for N seconds, and its code is measured while
inputs are mutated by what they reach. The corpus lives in a temporary folder, so a run begins with
the target's seeds and leaves nothing behind but what broke something: `torture/found/TARGET-*`.
Such a file belongs into the target's FOUND, where the suite checks it from then on. Exit code 1
where anything was found; 2 where the fuzzer is not installed.

Needs `pip install -e '.[torture]'` (atheris: Linux, CPython 3.11 or newer).
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
FOUND = HERE / "found"
SLOW = 5  # seconds for one input: longer is a defect too
LONGEST = 4096  # bytes of an input
INSIDE = "--inside"  # how this script starts itself with the fuzzer in it


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one target came to. *runs* and *coverage* are libFuzzer's last words; None where it said
    nothing.
    """

    target: str
    runs: int | None
    coverage: int | None  # edges of our code reached
    found: tuple[Path, ...]
    trouble: str  # the end of what it said, where it failed


def main(arguments: Sequence[str]) -> int:
    """Fuzz, print a line for each target, and say whether anything was found."""
    from fuzz import TARGETS

    parser = argparse.ArgumentParser(description="Coverage-guided fuzzing of every parser.")
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help=f"some of: {', '.join(TARGETS)} (default: all)"
    )
    parser.add_argument("--seconds", type=int, default=60, help="for each target (default: 60)")
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.targets) - TARGETS.keys():
        parser.error(
            f"no target is called {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}"
        )
    if importlib.util.find_spec("atheris") is None:
        parser.error("the fuzzer is not installed: pip install -e '.[torture]'")
    outcomes = []
    for name in chosen.targets or TARGETS:
        outcome = fuzz(name, TARGETS[name].seeds + TARGETS[name].found, chosen.seconds)
        outcomes.append(outcome)
        runs = "?" if outcome.runs is None else f"{outcome.runs:,}"
        print(
            f"{name}: {runs} inputs, {outcome.coverage} edges, {len(outcome.found)} found",
            flush=True,
        )
        for path in outcome.found:
            print(f"  {path}", flush=True)
        if outcome.trouble:
            print(outcome.trouble, flush=True)
    return 1 if any(outcome.found or outcome.trouble for outcome in outcomes) else 0


def fuzz(name: str, seeds: Sequence[bytes], seconds: int) -> Outcome:
    """One target in a process of its own, beginning with *seeds*."""
    with tempfile.TemporaryDirectory() as folder:
        corpus, breaking = Path(folder) / "corpus", Path(folder) / "breaking"
        corpus.mkdir()
        breaking.mkdir()
        for number, seed in enumerate(seeds):
            (corpus / f"seed{number}").write_bytes(seed)
        options = [
            f"-max_total_time={seconds}",
            f"-timeout={SLOW}",
            f"-max_len={LONGEST}",
            "-rss_limit_mb=2048",
            "-print_final_stats=1",
            f"-artifact_prefix={breaking}/",
            str(corpus),
        ]
        command = [sys.executable, __file__, INSIDE, name, *options]
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False
        )
        found = tuple(_keep(path, name) for path in sorted(breaking.iterdir()))
    said = done.stderr + done.stdout
    runs = re.findall(r"stat::number_of_executed_units:\s*(\d+)", said) or re.findall(
        r"^Done (\d+) runs", said, re.M
    )
    coverage = re.findall(r"\bcov: (\d+)", said)
    return Outcome(
        name,
        int(runs[-1]) if runs else None,
        int(coverage[-1]) if coverage else None,
        found,
        "\n".join(said.splitlines()[-40:]) if done.returncode else "",
    )


def _keep(path: Path, name: str) -> Path:
    FOUND.mkdir(exist_ok=True)
    return Path(shutil.move(path, FOUND / f"{name}-{path.name}"))


def work(name: str, options: Sequence[str]) -> None:
    """Inside a target's process: import it with its code instrumented, and hand over to
    libFuzzer.
    """
    import atheris

    with atheris.instrument_imports(include=["independence_bench"]):
        from fuzz import TARGETS
    atheris.Setup([sys.argv[0], *options], TARGETS[name].check)
    atheris.Fuzz()


if __name__ == "__main__":
    if sys.argv[1:2] == [INSIDE]:
        work(sys.argv[2], sys.argv[3:])
    else:
        sys.exit(main(sys.argv[1:]))
