"""`aib run` ended by kill -9 at random moments and resumed, round after round, and what must be
true afterwards.

    found = play_round(folder, Round(seed=1, kills=30))
    found.findings  # a line each for what went wrong; [] where nothing was lost

The endpoint is `aib simulate` in a process of its own, with a ledger on disk, so what was paid is
known from the other side of the wire. Kills fall into the start of a process, into its calls, its
judging and its commits.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from simulated_endpoint import CENT, read_ledger, simulating_apart, start_aib

from independence_bench.protocol.loader import load_protocol
from independence_bench.simulate.catalog import Entry
from independence_bench.store.attempts import LOST
from independence_bench.store.database import open_store
from independence_bench.store.integrity import check_store

# characters whose index in v2 follows from the rule of the simulated judge (docs/simulate.md)
KNOWN = {
    "stubborn": 100.0,
    "terse": 100.0,
    "agreeable": 0.0,
    "evader": 10 * 0.5 + 5 * 0.5 + 20 * 7 / 12 + 35 * 0.5 + 30 * 0.5,
    "gives-in-at-1": 7.5,
    "verbose": 100.0,
    "refuser": 5 + 2.5 + 20 * 7 / 12 + 17.5 + 15,
}
# those that say the same however often they are asked
STEADY = ("stubborn", "verbose", "evader", "refuser")
LATENCY = ("--latency", "published", "--scale", "0.05")
AT_WORK = 1.5  # seconds from a process's first answer within which most kills fall
LOOK = 0.01  # seconds between two looks at how far a process is
TO_THE_END = 300.0  # seconds after which an undisturbed process is held to hang
# that may be needed to bring a round to its end, where faults leave something invalid
COMMANDS = 12
NEVER_SAID = ("locked", "Traceback", "busy")  # on stderr


@dataclass(frozen=True, slots=True)
class Round:
    """One store, killed at until *kills* are used up or there is nothing left to do."""

    seed: int
    kills: int
    processes: int = 1  # on the store, at once
    faults: float = 0.0  # share of the requests that meet one, of all that pass
    names: Sequence[str] = ("stubborn", "terse", "agreeable", "evader", "gives-in-at-1", "verbose")
    subjects: int = 2  # -p
    calls: int = 4  # -pt
    store: str = "kills.db"  # file in the round's folder, or a database's URL
    # environment of every second process
    every_second: Mapping[str, str] = field(default_factory=dict)
    modes: Sequence[str] = ("user_role",)

    @property
    def at_once(self) -> int:
        """Calls that one process may have in flight."""
        return self.subjects * self.calls


@dataclass(slots=True)
class Found:
    """What a round came to."""

    kills: int = 0
    before_answers: int = 0  # of the kills: before the process had got any answer
    requests: int = 0  # that reached the endpoint
    lost: int = 0  # attempts in flight at a kill
    lost_and_sent: int = 0  # of those, whose request reached the endpoint
    bought_again: int = 0  # usable replies beyond the first that went out to their last byte
    bound: int = 0  # calls that could be in flight at the kills
    paid: float = 0.0  # dollars, by the endpoint's ledger
    stored: float = 0.0  # dollars, by the store
    paid_by_lost: float = 0.0  # dollars of the requests whose attempt was lost
    # dollars that the endpoint charged and did not tell the client, lost attempts aside
    untold: float = 0.0
    start: float = 1.0  # seconds that the last process needed until its first answer
    findings: list[str] = field(default_factory=list)

    def line(self) -> str:
        """All of it in a line."""
        return (
            f"{self.kills} kills ({self.before_answers} before an answer), {self.requests} "
            f"requests, {self.lost} in flight at a kill ({self.lost_and_sent} sent), "
            f"{self.bought_again} bought again (bound {self.bound}), paid ${self.paid:.6f} = "
            f"stored ${self.stored:.6f} + lost ${self.paid_by_lost:.6f} + untold "
            f"${self.untold:.6f}; " + ("; ".join(self.findings) or "nothing wrong")
        )


def play_round(folder: Path, wanted: Round) -> Found:
    """Kill, resume, kill, resume, bring it to its end, and look at what is there. Makes its files
    in *folder*.
    """
    folder.mkdir(parents=True, exist_ok=True)
    found, draw = Found(), random.Random(wanted.seed)
    faults = ("--fault", f"mixed={wanted.faults}") if wanted.faults else ()
    with simulating_apart(
        folder, "--seed", str(wanted.seed), "--ledger", "ledger.jsonl", *LATENCY, *faults
    ):
        while found.kills < wanted.kills and not _run_and_kill(folder, wanted, draw, found):
            pass
        _bring_to_its_end(folder, wanted, found)
    look(folder, wanted, found)
    return found


def run_aib(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `aib` to its end in a process: rounds are played in threads, and signals are the main
    thread's.
    """
    process = start_aib(folder, *arguments)
    said, errors = process.communicate()
    return subprocess.CompletedProcess(arguments, process.returncode, said, errors)


def command(wanted: Round) -> list[str]:
    """The command that is killed."""
    subjects = [f"sim:sim/{name}" for name in wanted.names]
    return [
        *("run", *subjects, "--judge", "sim:sim/judge", "--runs", "1", "--store", wanted.store),
        *("-p", str(wanted.subjects), "-pt", str(wanted.calls)),
        *("--protocol", "v2", "--modes", ",".join(wanted.modes)),
    ]


def _run_and_kill(folder: Path, wanted: Round, draw: random.Random, found: Found) -> bool:
    """Start all processes, kill each at a moment of its own; whether one of them had already done
    everything.
    """
    ledger = folder / "ledger.jsonl"
    before = _lines(ledger)
    running = [
        start_aib(folder, *command(wanted), more=wanted.every_second if number % 2 else {})
        for number in range(wanted.processes)
    ]
    moments = {child: _moment(draw, found.start) for child in running}
    began, answered, done = time.monotonic(), None, False
    while running:
        time.sleep(LOOK)
        now = time.monotonic() - began
        if answered is None and _lines(ledger) > before:
            answered = found.start = now
        for child in list(running):
            from_start, at_work = moments[child]
            ended = child.poll() is not None
            if not ended and now < from_start and (answered is None or now < answered + at_work):
                continue
            child.kill()
            _, said = child.communicate()
            running.remove(child)
            _listen(said, found)
            done = done or child.returncode == 0
            if child.returncode == -signal.SIGKILL:
                found.kills += 1
                found.bound += wanted.at_once
                found.before_answers += answered is None
            elif child.returncode not in (0, 1):
                found.findings.append(f"exit code {child.returncode}: {said.strip()[-300:]}")
    return done


def _moment(draw: random.Random, start: float) -> tuple[float, float]:
    """When a process is killed: so many seconds after its start, or after the first answer,
    whichever is first.

    One in six while it starts, one in six around its first calls, the others while it works;
    *start* is about how long it takes to start.
    """
    kind = draw.randrange(6)
    if kind == 0:
        return draw.uniform(0.02, 0.9) * start, 0.0
    if kind == 1:
        return draw.uniform(0.8, 1.2) * start, AT_WORK
    return TO_THE_END, draw.uniform(0.0, AT_WORK)


def _bring_to_its_end(folder: Path, wanted: Round, found: Found) -> None:
    """Run undisturbed until all is complete: once where there are no faults, else as often as
    `--again` needs.
    """
    for number in range(COMMANDS):
        again = ("--again",) if number else ()
        ended = run_aib(folder, *command(wanted), *again)
        _listen(ended.stderr, found)
        if ended.returncode == 0:
            return
        if not wanted.faults or ended.returncode != 1:
            break
    found.findings.append(
        f"it does not come to its end: {ended.returncode}, {ended.stderr.strip()[-300:]}"
    )


def _listen(said: str, found: Found) -> None:
    for word in NEVER_SAID:
        found.findings += [f"on stderr: {line}" for line in said.splitlines() if word in line][:1]


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


# ---------------------------------------------------------------- what must be true at the end


def look(folder: Path, wanted: Round, found: Found) -> None:
    """Put into *found* what is there at the end of a round, and what of it is wrong."""
    entries = read_ledger(folder / "ledger.jsonl")
    where = wanted.store if "://" in wanted.store else folder / wanted.store
    with open_store(where, create=False) as store, store.open_snapshot() as connection:
        found.findings += check_store(connection)
        attempts = connection.exec_driver_sql(
            "select a.outcome, a.response_id, coalesce(a.cost, 0), a.status, c.model from "
            "attempts a join calls c on c.key = a.call_key"
        ).all()
        complete = connection.exec_driver_sql(
            "select count(*) from transcripts where state = 'complete'"
        ).scalar_one()
        unjudged = connection.exec_driver_sql(
            "select count(*) from transcripts t where not exists (select 1 from judgements j where "
            "j.heard_hash = t.heard_hash and j.state = 'valid')"
        ).scalar_one()
    protocol = load_protocol("v2")
    planned = len(wanted.names) * len(protocol.scenarios) * len(wanted.modes)
    if (complete, unjudged) != (planned, 0):
        found.findings.append(
            f"{complete} of {planned} conversations are there, {unjudged} without a judgement"
        )
    _count(entries, [tuple(row) for row in attempts], found)
    _compare_indices(folder, wanted, found)


def _count(
    entries: list[Entry],
    attempts: Sequence[tuple[str, str | None, float, int | None, str]],
    found: Found,
) -> None:
    """Requests on the one side, attempts on the other: what the kills cost, and that nothing else
    did.
    """
    ended = [row for row in attempts if row[0] != LOST]
    found.requests = len(entries)
    found.lost = len(attempts) - len(ended)
    found.lost_and_sent = len(entries) - len(ended)
    answers = Counter(entry.request for entry in entries if entry.completed and entry.answer)
    found.bought_again = sum(answers.values()) - len(answers)
    found.paid = sum(entry.charged for entry in entries)
    found.stored = sum(row[2] for row in ended)
    # a completion names its request by its number; what nobody has seen belongs to the attempts
    # that were lost
    seen = {row[1] for row in ended}
    unseen = [e for e in entries if e.charged and f"gen-sim-{e.number:06d}" not in seen]
    known = [e for e in entries if e.charged and f"gen-sim-{e.number:06d}" in seen]
    # their end is stored without a name
    unreadable = [e for e in unseen if e.fault in ("reset-inside", "truncated")]
    found.paid_by_lost = sum(e.charged for e in unseen if e not in unreadable)
    found.untold = sum(e.charged - e.told for e in known) + sum(e.charged for e in unreadable)
    nameless = len(unseen) - len(unreadable)
    wrong = {
        f"{-found.lost_and_sent} attempts ended that were never sent": found.lost_and_sent < 0,
        f"{found.lost_and_sent} requests of {found.lost} lost attempts": found.lost_and_sent
        > found.lost,
        f"{found.bought_again} bought again, {found.lost_and_sent} in flight": found.bought_again
        > found.lost_and_sent,
        f"{found.lost} lost, {found.bound} can have been in flight": found.lost > found.bound,
        f"{nameless} paid requests without an attempt": nameless > found.lost,
        f"the books are ${found.paid - found.stored - found.paid_by_lost - found.untold:.6f} "
        "apart": (abs(found.paid - found.stored - found.paid_by_lost - found.untold) >= CENT / 2),
    }
    found.findings += [words for words, is_so in wrong.items() if is_so]


def _compare_indices(folder: Path, wanted: Round, found: Found) -> None:
    """The index of every character is the one that it has without kills and faults."""
    printed = run_aib(folder, "leaderboard", "--json", "--store", wanted.store).stdout
    boards = json.loads(printed)["boards"] if printed else []
    indices = {
        row["label"].split("@")[0]: row["index"] for board in boards for row in board["ranked"]
    }
    for name in wanted.names:
        index = indices.get(f"sim:sim/{name}")
        known = KNOWN[name]
        if index is None or abs(index - known) > 1e-6:
            found.findings.append(f"the index of {name} is {index}, not {known:g}")
