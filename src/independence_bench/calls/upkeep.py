"""Opens the executor of one command and keeps up what it works with: its leases, the store, and
replies not stored yet.

Its claims are renewed, and whether the store is still there and ours alone is looked at. A disk is
full, or a database stays away: replies that arrived and could not be stored are saved in a file,
which the next command takes in. Attempts are in the store before they are sent, so what is missing
of them is how they ended: that is saved, with the bodies of the replies, and the answers are read
from those anew. Knows nothing of what is asked.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import os
import tempfile
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, or_, select

from independence_bench.calls.budget import Budget
from independence_bench.calls.executor import CallLedger, EndedAttempt, Executor
from independence_bench.calls.limits import Clocks, EndpointLimiter
from independence_bench.errors import StoreError
from independence_bench.escape import KNOWN, SENT
from independence_bench.models.client import Client
from independence_bench.models.local.files import data_folder
from independence_bench.models.messages import Usage
from independence_bench.store import attempts, schema, workers
from independence_bench.store.attempts import LEASE, LOST, Ended
from independence_bench.store.database import Store
from independence_bench.store.group_commit import Commits, Operation
from independence_bench.store.owners import LeaseWatch, host_of, new_owner
from independence_bench.store.rows import in_chunks, shared_time
from independence_bench.store.usage import Command, keep_command
from independence_bench.store.workers import Grant

LOOK = 1.0  # seconds between two checks that the store is still there
LISTEN = 1.0  # seconds between two looks at what other workers of the job have closed
LOOKS_ELSEWHERE = 5  # of those, between two checks whether another machine uses it
# new objects before Python looks for cycles among them; our calls leave none behind
COLLECTED = 100_000
REPLACED = "was deleted or replaced while it was in use"


@asynccontextmanager
async def open_executor(
    store: Store,
    clients: Mapping[str, Client],
    budget: Budget,
    stopping: asyncio.Event,
    most: int,
    clocks: Clocks,
    notice: Callable[[str], None] = lambda _: None,
    warn: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[Executor]:
    """An executor that sends at most *most* calls at once to an endpoint, until *stopping* is set.

    Its claims are renewed while the block runs. Raises StoreError where the store cannot be
    written, and at the end of the block, *stopping* having been set, where it turned out not to be
    this machine's alone or was replaced. Replies that could not be stored are saved in a file;
    until a folder takes it they are kept, and *notice* is called.
    *warn* is called for each reply that may not be what was asked for.
    """
    commits = Commits(store, stopping)
    upkeep = _Upkeep(store, commits, stopping, clocks)
    try:
        async with commits:
            lost = await upkeep.begin()
            ledger = CallLedger(upkeep.owner, upkeep.now, upkeep.watch, budget.job)
            executor = Executor(commits, clients, budget, ledger, clocks, stopping, lost, warn)
            for name, client in clients.items():
                at_once = min(most, client.endpoint.at_once or most)
                executor.limiters[name] = EndpointLimiter(at_once, clocks.clock, executor.pause)
            tasks = [asyncio.create_task(upkeep.renew()), asyncio.create_task(upkeep.look())]
            worker = (
                None if budget.job is None else Worker(budget.job, ledger, commits, executor.pause)
            )
            try:
                if worker is not None:
                    tasks.append(
                        asyncio.create_task(worker.work(await worker.join(), executor.closed))
                    )
                    budget.attach(worker if budget.limit is not None else None)
                with _rare_collection():
                    yield executor
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                if worker is not None:
                    budget.attach(None)
                    # where the store has failed, it is free with the lease
                    with suppress(StoreError):
                        await worker.give_back()
    finally:
        await upkeep.save_unstored(notice)
    upkeep.conclude()


@contextmanager
def _rare_collection() -> Iterator[None]:
    """Collect garbage rarely: scanning the live objects of thousands of calls in flight takes 10%
    of our CPU.

    Of several at the same time, in whatever order they end, the last one gives back what the first
    one has found.
    """
    _THRESHOLDS.append(gc.get_threshold())
    gc.set_threshold(COLLECTED, 20, 50)
    try:
        yield
    finally:
        before = _THRESHOLDS[0]
        _THRESHOLDS.pop()
        if not _THRESHOLDS:
            gc.set_threshold(*before)


_THRESHOLDS: list[tuple[int, int, int]] = []  # as each that goes on has found them


class _Upkeep:
    """What goes on in a store while calls are made: claims are renewed, and whether it is still
    ours is looked at.
    """

    def __init__(
        self, store: Store, commits: Commits, stopping: asyncio.Event, clocks: Clocks
    ) -> None:
        self.owner = new_owner()
        self.watch: LeaseWatch | None = None
        self._store, self._commits, self._stopping, self._clocks = store, commits, stopping, clocks
        # a server's time, and our clocks when it was read
        self._read: tuple[float, float, float] | None = None
        # owners with another clock who had leases when we began
        self._elsewhere: dict[str, float] = {}
        self._trouble: str | None = None

    def now(self) -> float:
        """Seconds since 1970 on the store's clock, where it has one; else on ours."""
        if self._read is None:
            return self._clocks.now()
        server_time, now, clock = self._read
        # our clock may be set back and our monotonic one stands still while the machine sleeps: who
        # is behind errs
        return server_time + max(self._clocks.now() - now, self._clocks.clock() - clock)

    async def begin(self) -> int:
        """Set the clock, and store who begins to call.

        Returns how many calls earlier processes left in flight.
        """
        if await self._set_clock() is None:
            self.watch = LeaseWatch(self._clocks.clock, LEASE)
            self._elsewhere = await self._commits.do(attempts.leases_elsewhere)
        saved = await self._commits.do(partial(take_in, store_folder=self._store.backend.folder()))
        for file in saved:
            file.unlink(missing_ok=True)
        command = Command(self._store.session, self.now(), KNOWN.redacted_text(self._store.typed))
        await self._commits.do(partial(keep_command, owner=self.owner, command=command))
        return await self._commits.do(partial(attempts.mark_lost, now=self.now(), watch=self.watch))

    async def _set_clock(self) -> float | None:
        server_time = await self._commits.do(shared_time)
        if server_time is not None:
            self._read = server_time, self._clocks.now(), self._clocks.clock()
        return server_time

    async def renew(self) -> None:
        """Renew our claims until cancelled."""
        while True:
            # so that two renewals may fail before others take our calls
            await asyncio.sleep(LEASE / 4)
            with suppress(StoreError):  # the next call that needs the store reports it
                await self._set_clock()
                await self._commits.do(partial(attempts.renew, owner=self.owner, now=self.now()))

    async def look(self) -> None:
        """Stop everything as soon as another machine uses the store, or it is gone."""
        for second in itertools.count():
            await asyncio.sleep(LOOK)
            if self._store.backend.is_replaced():
                self._trouble = REPLACED
            elif self._elsewhere and second % LOOKS_ELSEWHERE == 0:
                with suppress(StoreError):
                    await self._look_elsewhere()
            if self._trouble:
                self._stopping.set()
                return

    async def _look_elsewhere(self) -> None:
        leases = await self._commits.do(attempts.leases_elsewhere)
        for owner, until in self._elsewhere.items():
            # a lease that ends at another time than before was renewed: its owner is alive, on
            # another machine
            if leases.get(owner, until) != until:
                self._trouble = (
                    f"another machine ({host_of(owner)}) uses the store {self._store.shown}; a "
                    "file is for the processes of one machine: wait until that one has ended, or "
                    "use a PostgreSQL database"
                )

    async def save_unstored(self, notice: Callable[[str], None]) -> None:
        """Save the replies that could not be stored, and raise StoreError that says where; do
        nothing without such.
        """
        failed = [
            (item, error) for operation, item, error in self._commits.failed if is_finish(operation)
        ]
        if not failed:
            return
        now = self.now()
        ends = [saved_end(self.owner, ended, now) for ended, _ in failed]
        unstored = f"what came of {len(ends)} call{'' if len(ends) == 1 else 's'} since"
        while (path := save(ends, self._store.backend.folder())) is None:
            notice(f"{unstored} is kept in memory until there is room for it, Ctrl-C gives it up")
            await asyncio.sleep(LOOK)
        error = failed[0][1]
        raise StoreError(
            f"{error}; {unstored} is saved in {path}, and the same command takes it in"
        ) from error

    def conclude(self) -> None:
        """Raise StoreError for what `look` has found, once everything that was in flight is
        stored.
        """
        if self._trouble is REPLACED:
            copy = self._store.backend.rescue()
            saved = (
                f"what was in it, with all that was bought since, is in {copy}"
                if copy
                else "it could not be saved"
            )
            raise StoreError(f"the store {self._store.shown} {REPLACED}; {saved}")
        if self._trouble:
            raise StoreError(self._trouble)


# ---------------------------------------------------------------- replies that could not be stored

PREFIX, SUFFIX = "aib-unstored-", ".jsonl"
UNREADABLE = (ValueError, TypeError, LookupError, OverflowError)


def is_finish(operation: Operation) -> bool:
    """Whether a write of the store is how attempts ended."""
    return getattr(operation, "__func__", None) is CallLedger.finish


@dataclass(frozen=True, slots=True)
class SavedEnd:
    """One line of a file: how an attempt of *owner* at the call *key* ended."""

    owner: str
    key: str
    attempt: int
    at: float  # seconds since 1970
    charge: float  # dollars that a budget counts for it
    ended: Ended


def saved_end(owner: str, finished: EndedAttempt, now: float) -> SavedEnd:
    """What is saved of a *finished* attempt: no secret that this process knows."""
    state, attempt, ended, step = finished
    ended = replace(
        ended, raw=SENT.redacted_text(ended.raw), message=KNOWN.redacted_message(ended.message)
    )
    return SavedEnd(owner, state.key, attempt, now, step.charge, ended)


def save(ends: Sequence[SavedEnd], store_folder: Path | None) -> Path | None:
    """Write a file, whole or not at all, to the first folder that takes it; None where none
    does.
    """
    for folder in _folders(store_folder):
        path = folder / f"{PREFIX}{uuid.uuid4().hex}{SUFFIX}"
        fresh = path.with_suffix(".making")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with open(
                os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8"
            ) as file:
                file.writelines(f"{json.dumps(asdict(end))}\n" for end in ends)
                file.flush()
                os.fsync(file.fileno())
            fresh.rename(path)
        except OSError:  # the next folder may be on another disk
            with suppress(OSError):
                fresh.unlink()
        else:
            return path
    return None


def take_in(connection: Connection, store_folder: Path | None) -> list[Path]:
    """Write down how the saved attempts of this store ended. Returns the files that can be deleted
    once that is durable.
    """
    taken = []
    for path, saved in _files(store_folder):
        # an id and an owner's name are of this store or of none: a file of another store has no
        # line for it
        here = [end for ends in in_chunks(saved) for end in _stored(connection, ends)]
        if not here:
            continue
        for end in here:
            # another process may have taken it for lost meanwhile, but it has not seen how that
            # ended
            row = schema.attempts.c
            no_end = or_(row.finished_at.is_(None), row.outcome == LOST)
            if (
                connection.execute(select(row.id).where(row.id == end.attempt, no_end)).first()
                is not None
            ):
                attempts.end_attempts(connection, [(end.attempt, end.ended)], end.at)
                workers.settle(connection, [end.attempt])
                workers.spend(connection, end.owner, end.charge)
        taken.append(path)
    return taken


def _stored(connection: Connection, ends: Sequence[SavedEnd]) -> list[SavedEnd]:
    """Those of attempts of this store, found by one query: files of other stores may lie there for
    ever.
    """
    row = schema.attempts.c
    listed = select(row.id, row.call_key, row.owner).where(
        row.id.in_([end.attempt for end in ends])
    )
    held = {tuple(row) for row in connection.execute(listed)}
    return [end for end in ends if (end.attempt, end.key, end.owner) in held]


def _folders(store_folder: Path | None) -> Iterator[Path]:
    """Where files are saved and looked for: user data, the store's folder, the system's for
    temporary files.
    """
    yield data_folder()
    if store_folder is not None:
        yield store_folder
    yield Path(tempfile.gettempdir())


def _files(store_folder: Path | None) -> Iterator[tuple[Path, list[SavedEnd]]]:
    """The files that this user has saved, and their lines; what is not such a file is left
    alone.
    """
    for folder in dict.fromkeys(_folders(store_folder)):
        with suppress(OSError):
            for path in sorted(folder.glob(f"{PREFIX}*{SUFFIX}")):
                # anybody may put a file into a folder for temporary ones
                if not path.is_symlink() and (os.name == "nt" or path.stat().st_uid == os.getuid()):
                    with suppress(OSError, *UNREADABLE):
                        yield (
                            path,
                            [_read(line) for line in path.read_text(encoding="utf-8").splitlines()],
                        )


def _read(line: str) -> SavedEnd:
    """Raises one of UNREADABLE for anything but a line as `save` writes it."""
    saved = json.loads(line)
    ended = Ended(**saved["ended"] | {"usage": Usage(**saved["ended"]["usage"])})
    number = int(saved["attempt"]), float(saved["at"]), float(saved["charge"])
    return SavedEnd(str(saved["owner"]), str(saved["key"]), *number, ended)


@dataclass(slots=True)
class Worker:
    """The process that *ledger* belongs to, as a worker of *job*: the `Purse` of its budget."""

    job: str
    ledger: CallLedger
    commits: Commits
    pause: Callable[[float], Awaitable[None]]
    kept_until: float = 0.0  # seconds since 1970: what it has drawn is its own so long

    async def join(self) -> float:
        """Become one of the job's workers. Returns when that was, on the store's clock."""
        now = self.ledger.now()
        await self.commits.do(partial(workers.join, owner=self.ledger.owner, job=self.job, now=now))
        self.kept_until = now + LEASE
        return now

    def lapsed(self) -> bool:
        """Whether it slept so long that its lease has ended."""
        return self.ledger.now() >= self.kept_until

    async def draw(self, limit: float, needed: float, held: float) -> Grant:
        """Ask the store for more."""
        now, watch = self.ledger.now(), self.ledger.watch
        ask = partial(
            workers.draw,
            owner=self.ledger.owner,
            job=self.job,
            limit=limit,
            needed=needed,
            held=held,
        )
        grant = await self.commits.do(partial(ask, now=now, watch=watch))
        self.kept_until = now + LEASE
        return grant

    async def give_back(self) -> None:
        """Leave to the job's other workers what is not spent."""
        await self.commits.do(partial(workers.give_back, owner=self.ledger.owner))

    async def work(self, since: float, closed: dict[str, str]) -> None:
        """Keep the lease, and put into *closed* what others have closed *since* then, until
        cancelled.
        """
        clock = asyncio.get_running_loop().time  # the other one may be set
        renewed = clock()
        while True:
            await asyncio.sleep(LISTEN)
            with suppress(StoreError):  # the next call that needs the store reports it
                if clock() >= renewed + LEASE / 4:
                    now = self.ledger.now()
                    await self.commits.do(partial(workers.stay, owner=self.ledger.owner, now=now))
                    # a lease that has lapsed is not revived: others may have had what was drawn, so
                    # it is drawn anew
                    renewed, self.kept_until = (
                        clock(),
                        self.kept_until if self.lapsed() else now + LEASE,
                    )
                closures = await self.commits.do(
                    partial(workers.closed_since, job=self.job, since=since)
                )
                for endpoint, reason in closures.items():
                    closed.setdefault(
                        endpoint, f"{reason} (another worker of the job {self.job} was told)"
                    )
