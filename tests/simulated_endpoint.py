"""The simulated endpoint for tests: beside the test or as a process, and runs against it in
simulated time.

    with simulating(folder, "--fault", "mixed=0.2"):
        # served by a thread, its models.yaml in the folder
        aib(folder, "run", "sim:sim/stubborn", ...)

    played = play(small, store, Settings(faults=...))
        # engine and endpoint in one loop, an hour in a second
    played.report, played.entries, played.index

There, time stands still while anything is done and leaps over every wait (time-outs, leases,
Retry-After, the endpoint's minutes): the code under test and its numbers are those of every day,
however fast the machine is.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import random
import selectors
import signal
import subprocess
import sys
import termios
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from forked_aib import start
from inprocess_aib import invoke
from scripted_model import measured

from independence_bench.analysis.board import Board
from independence_bench.analysis.leaderboard import make_leaderboards
from independence_bench.calls.budget import Budget
from independence_bench.calls.limits import Clocks, Policy
from independence_bench.cli.simulate import (
    READY,
    map_request_numbers_to_faults,
    parse_fault_rates,
    parse_latency,
)
from independence_bench.cli.simulate import command as serving
from independence_bench.engine.ask import Asker, Engine
from independence_bench.engine.ask_judges import ExamAsker
from independence_bench.engine.run import Report, Session
from independence_bench.judging.exam.cases import list_exam_cases
from independence_bench.judging.judge import ModelJudge
from independence_bench.models.client import Client
from independence_bench.models.spec import ChatModel, Endpoint
from independence_bench.protocol.loader import load_protocol_and_files
from independence_bench.protocol.plan import Shard
from independence_bench.simulate.catalog import Entry
from independence_bench.simulate.faults import Faults
from independence_bench.simulate.server import Settings, Simulation, simulate
from independence_bench.store import attempts
from independence_bench.store.attempts import Spending
from independence_bench.store.database import Store, open_store

CENT = 0.01  # dollars
# simulated seconds that doing anything takes, so that nobody waits for ever for a rounding error
STEP = 1e-6
# real seconds in which what is on its way in the system must arrive, before time goes on
LOOK = 0.001
LONG = 1.0  # real seconds: what ends in another thread wakes whoever waits for it
T = TypeVar("T")

# ---------------------------------------------------------------- the endpoint, and commands


@contextmanager
def simulating(folder: Path, *arguments: str) -> Iterator[Simulation]:
    """What `aib simulate` with *arguments* serves, in a thread of this process; its models.yaml is
    in *folder*.
    """
    typed = serving.make_context("simulate", list(arguments)).params
    settings = Settings(
        seed=typed["seed"],
        latency=parse_latency(typed["latency"], typed["scale"]),
        faults=Faults(
            parse_fault_rates(typed["rates"]),
            map_request_numbers_to_faults(typed["script"] and folder / typed["script"]),
        ),
        requests_per_minute=typed["requests_per_minute"],
    )
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def there(work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    endpoint = AsyncExitStack()
    try:
        ledger = folder / typed["ledger"] if typed["ledger"] else None
        simulation = there(endpoint.enter_async_context(simulate(settings, ledger)))
        _tell(folder, READY.format(url=simulation.url))
        yield simulation
    finally:
        there(endpoint.aclose())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextmanager
def simulating_apart(folder: Path, *arguments: str) -> Iterator[list[str]]:
    """`aib simulate` in a process of its own; its models.yaml is in *folder*, its last words in the
    list at the end.
    """
    command = ["simulate", *arguments]
    with start(
        command, cwd=folder, env=environment(folder), stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        spoken: list[str] = []
        try:
            while not spoken or "Ctrl-C" not in spoken[-1]:
                line = server.stdout.readline()
                assert line, "the server has ended"
                spoken.append(line)
            _tell(folder, "".join(spoken))
            yield spoken
        finally:
            server.send_signal(signal.SIGINT)
            spoken.extend(server.communicate()[0].splitlines(keepends=True))
        assert server.returncode == 0


def _tell(folder: Path, said: str) -> None:
    """Make the models.yaml that a server has *said*."""
    (folder / "models.yaml").write_text(
        said[said.index("endpoints:") : said.index("aib run")], encoding="utf-8"
    )


def environment(folder: Path) -> dict[str, str]:
    """What a process of the user's sees."""
    return measured() | {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}


def aib(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `aib` to its end, in this process."""
    return invoke(folder, environment(folder), *arguments)


def start_aib(
    folder: Path, *arguments: str, more: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Start `aib`, with *more* in its environment; whoever starts it waits for it or kills it."""
    env, pipe = environment(folder) | dict(more or {}), subprocess.PIPE
    return start(arguments, cwd=folder, env=env, stdout=pipe, stderr=pipe, text=True)


# ---------------------------------------------------------------- what its ledger comes to


@dataclass(frozen=True, slots=True)
class Audit:
    """What the requests for completions came to; dollars."""

    requests: int
    distinct: int
    answered: int  # usable answers that went out to their last byte
    charged: float
    told: float
    again: tuple[str, ...]  # models, one for each request answered more often than wanted
    faults: tuple[tuple[str, int], ...]  # by name, the most frequent first


def read_ledger(path: Path) -> list[Entry]:
    """The entries in the file at *path*; a last line that was torn off is left out."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return [Entry(**json.loads(line)) for line in lines[:-1]]


def audit(entries: Iterable[Entry], runs: int = 1) -> Audit:
    """What *entries* come to, where each request may be answered once in each of the *runs*."""
    entries = list(entries)
    answers = Counter(
        (entry.request, entry.model) for entry in entries if entry.completed and entry.answer
    )
    return Audit(
        requests=len(entries),
        distinct=len({entry.request for entry in entries}),
        answered=answers.total(),
        charged=sum(entry.charged for entry in entries),
        told=sum(entry.told for entry in entries),
        again=tuple(model for (_, model), times in answers.items() if times > runs),
        faults=tuple(Counter(entry.fault for entry in entries if entry.fault).most_common()),
    )


# ---------------------------------------------------------------- simulated time


class _Selector(selectors.DefaultSelector):  # type: ignore[misc, valid-type]
    """Waits for what happens, and has the clock leap where nothing will."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.at_work = 0.0, 0  # simulated seconds; calls in other threads

    def select(self, timeout: float | None = None) -> Any:
        """As its base, except that a *timeout* takes no real time."""
        self.now += STEP
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        while not (events := super().select(LONG if self.at_work else LOOK)):
            if not self.at_work and not self._on_its_way():
                self.now += timeout
                break
        return events

    def _on_its_way(self) -> bool:
        """Whether any connection is being made, or has bytes that its other end has not
        acknowledged.
        """
        return any(
            key.events & selectors.EVENT_WRITE or _unacknowledged(key.fd)
            for key in self.get_map().values()
        )


def _unacknowledged(fd: int) -> int:
    try:
        return int.from_bytes(fcntl.ioctl(fd, termios.TIOCOUTQ, bytes(4)), sys.byteorder)
    except OSError:  # it listens
        return 0


class SimulatedTime(asyncio.SelectorEventLoop):
    """An event loop whose clock all but stands still while anything is done, and leaps over every
    wait.
    """

    def __init__(self) -> None:
        self._waits = _Selector()
        super().__init__(self._waits)

    def time(self) -> float:
        """Seconds since the loop was made."""
        return self._waits.now

    def run_in_executor(self, *call: Any) -> asyncio.Future[Any]:
        """As its base; time stands still until it is done."""
        self._waits.at_work += 1
        made = super().run_in_executor(*call)
        made.add_done_callback(self._done)
        return made

    def _done(self, _call: object) -> None:
        self._waits.at_work -= 1


# ---------------------------------------------------------------- runs


@dataclass(frozen=True, slots=True, repr=False)  # `asyncio.run` writes down what it returns
class Played:
    """What one command came to, and what its endpoints' ledgers say: of subjects first, then of
    judges.
    """

    report: Report
    entries: list[Entry]
    spending: Spending  # of the store's whole life
    boards: list[Board]
    seconds: float  # of simulated time
    runs: int  # that were ordered

    @property
    def audit(self) -> Audit:
        """The ledgers, audited."""
        return audit(self.entries, self.runs)

    @property
    def indices(self) -> list[float | None]:
        """The index of each ranked subject, the best first; [] where nobody has one."""
        return [row.index for board in self.boards for row in board.ranked]


@dataclass(frozen=True, slots=True)
class Command:
    """What `play` carries out."""

    names: Sequence[str] = ("stubborn",)
    runs: int = 1
    judged: bool = True
    judge: str = "judge"
    budget: float | None = None
    job: str | None = None
    shard: Shard | None = None
    at_once: int = 4
    calls_at_once: int = 8
    again: bool = False
    policy: Policy = field(default_factory=Policy)
    seed: int = 7
    changes: Mapping[str, Any] = field(default_factory=dict)  # of every subject's settings
    exam: Sequence[str] = ()  # rubrics: nothing is played, the judge sits the exam in these
    # beside the asking; ends with it at the latest
    during: Callable[[Asker], Coroutine[Any, Any, None]] | None = None


def play(
    folder: Path | str,
    store: Path | str,
    settings: Settings,
    judging: Settings | None = None,
    **command: Any,
) -> Played:
    """Carry out one command in simulated time; *command* as `Command`.

    The judge is behind the subjects' endpoint, or behind one of its own that behaves as *judging*
    says.
    """
    with asyncio.Runner(loop_factory=SimulatedTime) as runner:
        return runner.run(_carry_out(folder, store, settings, judging, Command(**command)))


def play_together(
    folder: Path | str, store: Path | str, settings: Settings, commands: Sequence[Command]
) -> tuple[list[Report], list[Entry]]:
    """Carry out *commands* side by side in one simulated time, each with a store of its own, at one
    endpoint.

    Returns their reports and the endpoint's ledger.
    """

    async def one(command: Command, simulation: Simulation) -> Report:
        loop = asyncio.get_running_loop()
        with open_store(store) as opened:
            async with Client(Endpoint("sim", simulation.url, "openrouter")) as client:
                await client.list_models()
                clocks = Clocks(
                    loop.time, loop.time, random.Random(command.seed).random, command.policy
                )
                budget = Budget(command.budget, command.job)
                session = _session(folder, command, "sim", opened, {"sim": client}, budget, clocks)
                return await Engine(session).ask_until_done()

    async def every() -> tuple[list[Report], list[Entry]]:
        async with simulate(settings) as simulation:
            reports = await asyncio.gather(*(one(command, simulation) for command in commands))
            while simulation.in_flight:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.1)
            return reports, simulation.ledger.entries

    with asyncio.Runner(loop_factory=SimulatedTime) as runner:
        return runner.run(every())


async def _carry_out(
    folder: Path | str,
    store: Path | str,
    settings: Settings,
    judging: Settings | None,
    command: Command,
) -> Played:
    """One command, one or two endpoints, one loop; the loop's clock is everybody's."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SimulatedTime)
    async with AsyncExitStack() as stack:
        opened = stack.enter_context(open_store(store))
        behaviours = {"sim": settings} if judging is None else {"sim": settings, "bench": judging}
        simulations = {
            name: await stack.enter_async_context(simulate(behaviour))
            for name, behaviour in behaviours.items()
        }
        clients = {}
        for name, simulation in simulations.items():
            made = Client(Endpoint(name, simulation.url, "openrouter"))
            clients[name] = await stack.enter_async_context(made)
            await made.list_models()
        clocks = Clocks(loop.time, loop.time, random.Random(command.seed).random, command.policy)
        judge_at = "sim" if judging is None else "bench"
        budget = Budget(command.budget)
        session = _session(folder, command, judge_at, opened, clients, budget, clocks)
        asker = _asker(session, command.exam)
        began = loop.time()
        beside = asyncio.ensure_future(command.during(asker)) if command.during else None
        report = await asker.ask_until_done()
        seconds = loop.time() - began
        if beside is not None:
            beside.cancel()
            with suppress(asyncio.CancelledError):
                await beside
        while any(simulation.in_flight for simulation in simulations.values()):  # noqa: ASYNC110
            await asyncio.sleep(0.1)  # whom we left is written down a moment later
        with opened.open_snapshot() as connection:
            spending = attempts.sum_spending(connection)
        entries = [
            entry for simulation in simulations.values() for entry in simulation.ledger.entries
        ]
        return Played(
            report,
            entries,
            spending,
            make_leaderboards(opened, session.protocol),
            seconds,
            command.runs,
        )


def _asker(session: Session, exam: Sequence[str]) -> Asker:
    if not exam:
        return Engine(session)
    judge = session.judge
    assert judge is not None, "an exam is of a judge"
    return ExamAsker(
        [(judge, case) for case in list_exam_cases(exam)], session, session.calls_at_once
    )


def _session(
    folder: Path | str,
    command: Command,
    judging: str,
    store: Store,
    clients: Mapping[str, Client],
    budget: Budget,
    clocks: Clocks,
) -> Session:
    protocol, files = load_protocol_and_files(str(folder))
    # room for what the characters say: what is cut off is asked for twice
    sampling: dict[str, Any] = {"temperature": protocol.temperature, "max_tokens": 1000}
    judge = ChatModel(f"sim/{command.judge}", judging, 0.0, protocol.judge.max_tokens)
    return Session(
        protocol=protocol,
        files=files,
        configurations=protocol.configurations,
        subjects=tuple(
            ChatModel(f"sim/{name}", "sim", **sampling | dict(command.changes))
            for name in command.names
        ),
        runs=command.runs,
        judge=ModelJudge(judge, command.again) if command.judged else None,
        store=store,
        clients=clients,
        budget=budget,
        clocks=clocks,
        again=command.again,
        shard=command.shard,
        at_once=command.at_once,
        calls_at_once=command.calls_at_once,
    )


def most_in_flight(entries: Sequence[Entry]) -> int:
    """How many of the requests were there at once, at most; 0 for none."""
    steps = sorted(
        [(entry.at, 1) for entry in entries] + [(entry.at + entry.seconds, -1) for entry in entries]
    )
    there = most = 0
    for _, step in steps:
        there += step
        most = max(most, there)
    return most
