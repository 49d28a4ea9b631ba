"""`--on ray`: hands an order out to a Ray cluster in parts, and reads its progress from the store.

The store is the only truth: Ray retries nothing. If the worker of a part is lost, the part is
handed out again and does not pay again for what is stored; claims decide what another worker may
send.

A Ray worker carries out one part in its process with the same code as `aib run --shard`. Ray's
memory, logs and dashboard see the arguments of a worker, so they hold no secret: keys and the
database's password are in the environment of the worker.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import socket
import sys
import time
import warnings
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from independence_bench import __version__
from independence_bench.calls.budget import Budget
from independence_bench.calls.call import Tally
from independence_bench.engine.ask import Engine
from independence_bench.engine.preview import Preview, make_preview
from independence_bench.engine.run import Progress, Report, Run, Session, Trouble, stop_on_signals
from independence_bench.engine.schedule import play_session
from independence_bench.engine.session import find_pending, make_job_name, open_session, resolve_run
from independence_bench.errors import (
    BenchError,
    EndpointUnusable,
    Interrupted,
    StoreError,
    WrongUse,
)
from independence_bench.escape import KNOWN
from independence_bench.figures import format_count
from independence_bench.models.spec import Endpoint
from independence_bench.models.trust import Permission, check_key_permission, find_needed_permission
from independence_bench.protocol.plan import Shard
from independence_bench.store import registry
from independence_bench.store.database import Store, find_default_store, open_store
from independence_bench.store.workers import find_last_attempt_id, sum_job_usage_after


@dataclass(frozen=True, slots=True)
class Permissions:
    """Where keys may go: to their own endpoints, and where a person allowed it before the order was
    handed out.
    """

    given: frozenset[Permission] = frozenset()

    def __call__(self, endpoint: Endpoint) -> None:
        """Raise WrongUse unless the key of *endpoint* may be sent to its address."""
        if (needed := find_needed_permission(endpoint, os.environ)) and needed not in self.given:
            raise WrongUse(
                f"{needed.variable} may not go to {needed.place}: it was not asked for where "
                "`aib` runs"
            )


@dataclass(frozen=True, slots=True)
class Order:
    """What Ray workers are sent in order to play and judge a run. It never holds a secret."""

    version: str  # of this package
    run: bytes  # a pickled `Run`, read only if the versions are the same
    permissions: Permissions
    # the database's address; None: it has a password, so workers take it from AIB_STORE
    store: str | None
    shown: str  # the same without the password
    typed: str  # the command, for the record of attempts


@dataclass(frozen=True, slots=True)
class PartEnd:
    """How one part of an order ended, as far as the store does not say it."""

    host: str
    failure: str | None = None  # why nothing, or nothing more, could be done, in one line
    stopped: str | None = None  # why it ended early, in one line
    interrupted: bool = False  # by a signal
    lost: int = 0  # calls that an earlier process left in flight
    # subject's label, what could not be completed, why
    troubles: tuple[tuple[str, str, str], ...] = ()


def carry_out_part(order: Order, number: int, parts: int) -> PartEnd:
    """Play and judge part *number* (from 1) of *parts* of *order* in this process, and return how
    the part ended, errors included. What any worker has stored is not asked for again.
    """
    host = socket.gethostname()
    if order.version != __version__:
        return PartEnd(
            host,
            f"it has version {__version__} of this package, and {order.version} handed out the "
            "work",
        )
    KNOWN.learn_proxy_passwords(os.environ)
    try:
        # `run_on_ray` made it, and Ray runs pickled code of anyone who can reach it anyway
        read: Run = pickle.loads(order.run)  # noqa: S301
        wanted = replace(read, allow=order.permissions, shard=Shard(number, parts))
        with _open_order_store(order) as store:
            report = asyncio.run(_play_run(wanted, store))
    except BenchError as error:
        return PartEnd(host, KNOWN.redact_secrets_and_logins(str(error)))
    # an interrupt before anything was sent, or a second one
    except (KeyboardInterrupt, asyncio.CancelledError):
        return PartEnd(host, interrupted=True)
    stopped = (
        None if report.stopped is None else KNOWN.redact_secrets_and_logins(str(report.stopped))
    )
    troubles = tuple(
        (label, trouble.what, KNOWN.redact_secrets_and_logins(trouble.why))
        for label, trouble in report.troubles
    )
    return PartEnd(
        host, None, stopped, isinstance(report.stopped, Interrupted), report.lost, troubles
    )


def _open_order_store(order: Order) -> Store:
    if order.store is not None:
        return open_store(order.store, command_line=order.typed)
    store = open_store(find_default_store(), command_line=order.typed)
    if store.shown != order.shown:
        store.close()
        raise StoreError(
            f"AIB_STORE is {store.shown} there, not {order.shown}; set it before `ray start`"
        )
    return store


async def _play_run(wanted: Run, store: Store) -> Report:
    async with open_session(wanted, store) as session:
        return await play_session(session, _ignore_progress)


async def _ignore_progress(_: object) -> None:
    """Do nothing: a worker shows no progress, because progress is read from the store."""


INSTALL = "pip install 'ai-independence-bench[ray,postgres]'"
MOST_LOST = 5  # times that the worker of one part is lost before the part is left undone
LOOK = 2.0  # seconds between two looks at the store, at least
LOOK_SHARE = 10  # the time to the next look, in durations of the last one


@dataclass(frozen=True, slots=True)
class Cluster:
    """The Ray cluster that is to carry out a run. *address*: as Ray takes it; None: the one that
    RAY_ADDRESS names, else one on this machine.
    """

    address: str | None = None
    parts: int | None = None  # None: one for each node


async def run_on_ray(
    wanted: Run,
    store: Store,
    cluster: Cluster,
    approve: Callable[[Preview], bool],
    watch: Callable[[HandedOut], Awaitable[None]],
    tell: Callable[[str], object],
) -> Report | None:
    """Have workers on a Ray cluster play and judge what *wanted* asks for, and return the report;
    None if *approve* declines the forecast.

    *watch* runs at the same time and is cancelled at the end; *tell* is given the number of parts,
    and a line when a worker is lost. After one Ctrl-C workers wait for the calls in flight and
    store them; after a second one the calls are abandoned. Raises WrongUse if the store is not
    PostgreSQL or Ray is not installed, and EndpointUnusable if there is no cluster.
    """
    address = store.engine.url
    if address.get_backend_name() != "postgresql":
        raise WrongUse(
            "--on ray: all nodes need the store, so it is a PostgreSQL database: --store "
            "postgresql://..."
        )
    typed = " ".join(sys.argv)
    if KNOWN.redact_text(typed) != typed:
        raise WrongUse(
            "--on ray: Ray's dashboard shows the command line, which has a password; put it into "
            "AIB_STORE"
        )
    ray = _import_ray()
    asked = _AskedPermissions(wanted.allow)
    wanted = resolve_run(wanted)  # here, because a worker may have other files
    async with open_session(replace(wanted, allow=asked), store) as session:
        if not approve(await make_preview(session)):
            return None
        budget = Budget(wanted.budget, wanted.job or make_job_name(session, 0))
        work = HandedOut(session, Report([], budget))
        if not await asyncio.to_thread(work.update_report_and_count_left):
            return await Engine(session).ask_until_done()  # records that it was asked for
    secret = address.password is not None or "password" in address.query
    sent = replace(wanted, allow=check_key_permission, job=budget.job)
    order = Order(
        version=__version__,
        run=pickle.dumps(sent),
        permissions=Permissions(frozenset(asked.given)),
        store=None if secret else address.render_as_string(),
        shown=store.shown,
        typed=KNOWN.redact_text(store.typed),
    )
    with _connect_and_count_parts(ray, cluster) as parts:
        tell(f"{format_count(parts, 'part')} on the cluster")
        return await work.hand_out_parts(_Parts(ray, order, parts, tell), watch)


class HandedOut:
    """An order that Ray workers carry out. `report` is its state at the last look at the store."""

    def __init__(self, session: Session, report: Report) -> None:
        self.report, self._session = report, session
        self._since: int | None = None  # the store's last attempt before this command

    def update_report_and_count_left(self) -> int:
        """Update `report` with the progress and costs in the store, and return how many
        conversations and judgements of all models are still to be made.
        """
        session, report = self._session, self.report
        with session.store.open_snapshot() as connection:
            if self._since is None:
                self._since = find_last_attempt_id(connection)
            pending = [find_pending(connection, session, subject) for subject in session.subjects]
            used = sum_job_usage_after(connection, report.budget.job or "", self._since)
            report.judge = (
                registry.read_judge_labels(connection).get(session.judge.hash)
                if session.judge
                else None
            )
        report.subjects, report.budget.spent = [subject.progress for subject in pending], used.cost
        report.others = Tally(
            calls=used.calls,
            answered=used.answered,
            in_flight=used.in_flight,
            prompt_tokens=used.prompt_tokens,
            completion_tokens=used.completion_tokens,
            cost=used.cost,
            unpriced=used.unpriced,
        )
        return sum(len(subject.to_play) + len(subject.to_judge) for subject in pending)

    async def hand_out_parts(
        self, parts: _Parts, watch: Callable[[HandedOut], Awaitable[None]]
    ) -> Report:
        """Have Ray workers carry out all *parts* of the order, while the progress is read from the
        store and *watch* runs, and return the report. A signal stops the workers.
        """
        report = self.report
        watchers = [
            asyncio.ensure_future(self._keep_reading_progress()),
            asyncio.ensure_future(watch(self)),
        ]

        def stop_parts(why: BenchError) -> None:
            report.stopped = why
            parts.stop_workers()

        try:
            with stop_on_signals(report, stop_parts):
                ends = await parts.carry_out_parts()
        finally:
            for task in watchers:
                task.cancel()
            await asyncio.gather(*watchers, return_exceptions=True)
        await asyncio.to_thread(self.update_report_and_count_left)
        _complete_report(report, ends)
        return report

    async def _keep_reading_progress(self) -> None:
        while True:
            began = time.monotonic()
            await asyncio.to_thread(self.update_report_and_count_left)
            await asyncio.sleep(max(LOOK, LOOK_SHARE * (time.monotonic() - began)))


def _complete_report(report: Report, ends: dict[int, PartEnd]) -> None:
    """Add to *report* what the store does not have: the lost calls, troubles and failures in
    *ends*, which says by number how each part of the order ended.
    """
    by_label = {progress.label: progress for progress in report.subjects}
    reported = {(label, trouble.what, trouble.why) for label, trouble in report.troubles}
    for number, end in sorted(ends.items()):
        report.lost += end.lost
        for label, what, why in end.troubles:
            if (label, what, why) not in reported and label in by_label:
                by_label[label].record_ending("failed", Trouble(what, why))
        if end.failure is not None:
            where = f" on {end.host}" if end.host else ""
            whose = Progress(f"part {number} of {len(ends)}{where}")
            whose.troubles.append(Trouble("all that is left of it", end.failure))
            report.subjects.append(whose)
        if end.stopped is not None and report.stopped is None:
            report.stopped = BenchError(end.stopped)


@dataclass(slots=True)
class _AskedPermissions:
    """Calls *allow* for each endpoint, and remembers the permissions that a person had to give."""

    allow: Callable[[Endpoint], None]
    given: set[Permission] = field(default_factory=set)

    def __call__(self, endpoint: Endpoint) -> None:
        self.allow(endpoint)
        if needed := find_needed_permission(endpoint, os.environ):
            self.given.add(needed)


class _Parts:
    """The parts of an order, each carried out by a task of Ray."""

    def __init__(self, ray: Any, order: Order, count: int, tell: Callable[[str], object]) -> None:
        self._ray, self._order, self._count, self._tell = ray, order, count, tell
        # each part has its own process; a lost part is handed out again here
        settings = {
            "num_cpus": 1,
            "max_calls": 1,
            "max_retries": 0,
            "scheduling_strategy": "SPREAD",
        }
        self._task = ray.remote(**settings)(carry_out_part)
        self._at_work: dict[int, Any] = {}  # part -> Ray's reference
        self._stopping = False

    async def carry_out_parts(self) -> dict[int, PartEnd]:
        """Have Ray workers carry out all parts of the order, and return part's number (from 1) ->
        how the part ended. An unknown error stops the other parts gently before it is raised.
        """
        tasks = {
            number: asyncio.create_task(self._carry_out_part_with_retries(number))
            for number in range(1, self._count + 1)
        }
        try:
            await asyncio.wait(tasks.values(), return_when=asyncio.FIRST_EXCEPTION)
            if not all(task.done() for task in tasks.values()):
                self.stop_workers()
                await asyncio.wait(tasks.values())
        except asyncio.CancelledError:
            for ref in self._at_work.values():
                self._ray.cancel(ref, force=True)
            raise
        return {number: task.result() for number, task in tasks.items()}

    def stop_workers(self) -> None:
        """Tell all Ray workers to wait for the calls in flight, store them, and end; returns at
        once.
        """
        self._stopping = True
        for ref in self._at_work.values():
            self._ray.cancel(ref, force=False)

    async def _carry_out_part_with_retries(self, number: int) -> PartEnd:
        errors, why = self._ray.exceptions, ""
        for _ in range(MOST_LOST):
            if self._stopping:
                break
            ref = self._at_work[number] = self._task.options(
                name=f"aib part {number} of {self._count}"
            ).remote(self._order, number, self._count)
            try:
                end: PartEnd = await asyncio.wrap_future(ref.future())
            except errors.RayError as error:
                cause = getattr(error, "cause", None) or error
                if self._stopping:
                    break
                if isinstance(cause, errors.TaskCancelledError):
                    return PartEnd("the cluster", "it was cancelled there")
                if isinstance(cause, ImportError):
                    return PartEnd(
                        "its node", f"this package is not installed there ({cause.name})"
                    )
                if isinstance(error, errors.RayTaskError):
                    raise
                why = f"the worker was lost ({type(error).__name__})"
            else:
                if self._stopping or not end.interrupted:
                    return replace(end, stopped=None) if end.interrupted else end
                why = f"the worker on {end.host} was told to end"
            finally:
                self._at_work.pop(number, None)
            if not self._stopping:
                self._tell(
                    f"part {number} of {self._count}: {why}; it continues elsewhere from what is "
                    "stored"
                )
        return PartEnd("", None if self._stopping else f"{why}, {MOST_LOST} times")


def _import_ray() -> Any:
    """Import and return the module ray. Raises WrongUse if it is not installed."""
    # `uv run` would have Ray copy the working folder, with its .env, to all nodes
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    try:
        import ray
    except ImportError:
        raise WrongUse(f"--on ray needs Ray: {INSTALL}") from None
    return ray


@contextmanager
def _connect_and_count_parts(ray: Any, cluster: Cluster) -> Iterator[int]:
    """Connect to the Ray cluster that *cluster* names, or start one on this machine if none is
    named, and yield the number of parts that the work is split into: that of *cluster*, or one for
    each node with a CPU. Disconnects at the end. Raises EndpointUnusable if no cluster answers,
    WrongUse if no node has a CPU.
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # what matters is in its errors
            ray.init(
                address=cluster.address,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        where = cluster.address or os.environ.get("RAY_ADDRESS") or "this machine"
        raise EndpointUnusable(f"no Ray cluster answers at {where}: {error}") from None
    try:
        nodes = sum(node["Alive"] and node["Resources"].get("CPU", 0) >= 1 for node in ray.nodes())
        if not nodes and cluster.parts is None:
            raise WrongUse(
                "--on ray: no node of the cluster has a CPU; start nodes, or say --shard auto/N"
            )
        yield cluster.parts or nodes
    finally:
        ray.shutdown()
