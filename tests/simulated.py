"""The simulated endpoint for tests: `aib simulate` as a process, and runs against it in hurried time.

    with simulating(folder, "--fault", "mixed=0.2"):     # a process of its own, its models.yaml in the folder
        aib(folder, "run", "sim:sim/rock", ...)

    played = play(small, store, Settings(faults=...))    # engine and endpoint in one loop, minutes in seconds
    played.report, played.entries, played.index

In hurried time a second of everybody (waits, time-outs, leases, Retry-After, the endpoint's minutes) takes a
fraction of a second: the code under test and its numbers are those of every day.
"""

from __future__ import annotations

import asyncio
import os
import random
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from invoked import invoke
from scripted import measured

from independence_bench.analysis.leaderboard import Board, boards
from independence_bench.calls.budget import Budget
from independence_bench.calls.pool import Clocks
from independence_bench.calls.retry import Policy
from independence_bench.engine.player import Engine
from independence_bench.engine.run import Report, RunPlan
from independence_bench.judging.judge import ModelJudge
from independence_bench.models.client import Client
from independence_bench.models.spec import ChatModel, Endpoint
from independence_bench.protocol.loader import load_with_files
from independence_bench.simulate.ledger import Audit, Entry, audit
from independence_bench.simulate.server import Settings, simulate
from independence_bench.store import attempts
from independence_bench.store.attempts import Spending
from independence_bench.store.database import open_store

AIB = str(Path(sys.executable).with_name("aib"))
CENT = 0.01  # dollars
SPEED = 200.0  # seconds of hurried time in a real one
T = TypeVar("T")

# ---------------------------------------------------------------- processes


@contextmanager
def simulating(folder: Path, *arguments: str) -> Iterator[list[str]]:
    """`aib simulate` in a process of its own; its models.yaml is in *folder*, its last words in the list at the end."""
    command = [AIB, "simulate", *arguments]
    with subprocess.Popen(command, cwd=folder, env=environment(folder), stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        spoken: list[str] = []
        try:
            while not spoken or "Ctrl-C" not in spoken[-1]:
                line = server.stdout.readline()
                assert line, "the server has ended"
                spoken.append(line)
            text = "".join(spoken)
            (folder / "models.yaml").write_text(
                text[text.index("endpoints:") : text.index("aib run")], encoding="utf-8"
            )
            yield spoken
        finally:
            server.send_signal(signal.SIGINT)
            spoken.extend(server.communicate(timeout=60)[0].splitlines(keepends=True))
        assert server.returncode == 0


def environment(folder: Path) -> dict[str, str]:
    """What a process of the user's sees."""
    return measured() | {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}


def aib(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `aib` to its end, in this process."""
    return invoke(folder, environment(folder), *arguments)


def start_aib(folder: Path, *arguments: str, more: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Start `aib`, with *more* in its environment; whoever starts it waits for it or kills it."""
    return subprocess.Popen(
        [AIB, *arguments],
        cwd=folder,
        env=environment(folder) | dict(more or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


# ---------------------------------------------------------------- hurried time


class _Selector(selectors.DefaultSelector):  # type: ignore[misc, valid-type]
    """Waits for a fraction of what it is told."""

    speed = 1.0

    def select(self, timeout: float | None = None) -> Any:
        """As its base, with a shorter *timeout*."""
        return super().select(timeout / self.speed if timeout and timeout > 0 else timeout)


class HurriedLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock, and with it every wait and time-out, can go faster than real time."""

    def __init__(self) -> None:
        self._waits = _Selector()
        self._since, self._then = 0.0, 0.0  # since that real time it has gone at this speed; what it showed then
        super().__init__(self._waits)

    def time(self) -> float:
        """Seconds, hurried ones from `hurry` on."""
        return self._then + (super().time() - self._since) * self._waits.speed

    def hurry(self, speed: float) -> None:
        """From now on *speed* seconds pass in a real one."""
        self._then, self._since = self.time(), super().time()
        self._waits.speed = speed


# ---------------------------------------------------------------- runs


@dataclass(frozen=True, slots=True)
class Played:
    """What one command came to, and what its endpoints' ledgers say: of subjects first, then of judges."""

    report: Report
    entries: list[Entry]
    spending: Spending  # of the store's whole life
    boards: list[Board]
    seconds: float  # of hurried time
    runs: int  # that were ordered

    @property
    def audit(self) -> Audit:
        """The ledgers, audited."""
        return audit(self.entries, self.runs)

    @property
    def indices(self) -> list[float | None]:
        """The index of each ranked subject, the best first; [] where nobody has one."""
        return [row.score.index for board in self.boards for row in board.ranked]


@dataclass(frozen=True, slots=True)
class Command:
    """What `play` carries out."""

    names: Sequence[str] = ("rock",)
    runs: int = 1
    judged: bool = True
    judge: str = "judge"
    budget: float | None = None
    at_once: int = 4
    calls_at_once: int = 8
    again: bool = False
    policy: Policy = field(default_factory=Policy)
    seed: int = 7
    changes: Mapping[str, Any] = field(default_factory=dict)  # of every subject's settings
    during: Callable[[Engine], Coroutine[Any, Any, None]] | None = None  # beside the engine; ends with it at the latest


def play(
    folder: Path | str,
    store: Path | str,
    settings: Settings,
    judging: Settings | None = None,
    speed: float = SPEED,
    **command: Any,
) -> Played:
    """Carry out one command in hurried time; *command* as `Command`.

    The judge is behind the subjects' endpoint, or behind one of its own that behaves as *judging* says.
    """
    with asyncio.Runner(loop_factory=HurriedLoop) as runner:
        return runner.run(_carry_out(folder, store, settings, judging, speed, Command(**command)))


async def _carry_out(
    folder: Path | str,
    store: Path | str,
    settings: Settings,
    judging: Settings | None,
    speed: float,
    command: Command,
) -> Played:
    """One command, one or two endpoints, one loop; the loop's clock is everybody's."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, HurriedLoop)
    async with AsyncExitStack() as stack:
        opened = stack.enter_context(open_store(store))
        behaviours = {"sim": settings} if judging is None else {"sim": settings, "bench": judging}
        simulations = {
            name: await stack.enter_async_context(simulate(behaviour)) for name, behaviour in behaviours.items()
        }
        clients = {}
        for name, simulation in simulations.items():
            # a connection takes real time, which is not to be hurried on a busy machine
            made = Client(Endpoint(name, simulation.url, "openrouter"), connect=3600.0)
            clients[name] = await stack.enter_async_context(made)
            await made.models()
        plan = _plan(folder, command, "sim" if judging is None else "bench")
        clocks = Clocks(loop.time, loop.time, random.Random(command.seed).random, command.policy)
        engine = Engine(plan, opened, clients, Budget(command.budget), clocks)
        loop.hurry(speed)
        began = loop.time()
        beside = asyncio.ensure_future(command.during(engine)) if command.during else None
        report = await engine.run()
        seconds = loop.time() - began
        if beside is not None:
            beside.cancel()
            with suppress(asyncio.CancelledError):
                await beside
        while any(simulation.in_flight for simulation in simulations.values()):  # noqa: ASYNC110
            await asyncio.sleep(0.1)  # whom we left is written down a moment later
        with opened.reading() as connection:
            spending = attempts.spending(connection)
        entries = [entry for simulation in simulations.values() for entry in simulation.ledger.entries]
        return Played(report, entries, spending, boards(opened, plan.protocol), seconds, command.runs)


def _plan(folder: Path | str, command: Command, judging: str) -> RunPlan:
    protocol, files = load_with_files(str(folder))
    # room for what the characters say: what is cut off is asked for twice
    sampling: dict[str, Any] = {"temperature": protocol.temperature, "max_tokens": 1000}
    judge = ChatModel(f"sim/{command.judge}", judging, 0.0, protocol.judge.max_tokens)
    return RunPlan(
        protocol=protocol,
        files=files,
        configurations=protocol.configurations,
        subjects=tuple(ChatModel(f"sim/{name}", "sim", **sampling | dict(command.changes)) for name in command.names),
        runs=command.runs,
        judge=ModelJudge(judge, command.again) if command.judged else None,
        again=command.again,
        at_once=command.at_once,
        calls_at_once=command.calls_at_once,
    )


def most_in_flight(entries: Sequence[Entry]) -> int:
    """How many of the requests were there at once, at most; 0 for none."""
    steps = sorted([(entry.at, 1) for entry in entries] + [(entry.at + entry.seconds, -1) for entry in entries])
    there = most = 0
    for _, step in steps:
        there += step
        most = max(most, there)
    return most
