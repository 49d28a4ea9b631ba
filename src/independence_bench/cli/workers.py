"""--shard, --job and --on: one order carried out by several workers, by hand or on a cluster."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from independence_bench.cli.options import Command, say, together
from independence_bench.engine.run import Report
from independence_bench.errors import WrongUse
from independence_bench.escape import label_text
from independence_bench.integrations.ray_cluster import Cluster
from independence_bench.protocol.plan import Shard
from independence_bench.report.format import money, plural
from independence_bench.store.database import Store
from independence_bench.store.workers import spent_by

MOST_SHARDS = 10_000
LONGEST_JOB = 100  # characters of a name
SLURM, KUBERNETES = "SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"


def shard_of(typed: str | None, environ: Mapping[str, str]) -> Shard | None:
    """The part of the plan that *typed* means: I/N, or `auto` for I (and N) by what a cluster tells; None for all.

    Slurm counts from whatever its array begins with and says how many there are; Kubernetes counts from 0 and does not.
    Raises WrongUse where *typed* is none of these, or the cluster does not tell.
    """
    if typed is None:
        return None
    which, divided, of = typed.partition("/")
    if (divided and not re.fullmatch("[0-9]{1,5}", of)) or not re.fullmatch("auto|[0-9]{1,5}", which):
        raise WrongUse(f"--shard: {label_text(typed)} is not a shard; write 3/8, auto/8 or auto")
    if which == "auto":
        number, count = _told(environ, bool(divided))
    elif divided:
        number, count = int(which), None
    else:
        raise WrongUse(f"--shard: {which} of how many? Write {which}/8, for example")
    parts = int(of) if divided else count
    if parts is None:
        raise WrongUse(f"--shard auto: {KUBERNETES} does not say how many there are; write auto/N, N as `completions`")
    if not 1 <= number <= parts <= MOST_SHARDS:
        hint = "; a Slurm array needs no gaps: --array=1-N" if which == "auto" and SLURM in environ else ""
        raise WrongUse(f"--shard: there is no part {number} of {parts}; parts are 1 to N, at most {MOST_SHARDS}{hint}")
    return Shard(number, parts)


def _told(environ: Mapping[str, str], counted: bool) -> tuple[int, int | None]:
    """(which part this worker is, how many there are) by the cluster's word; *counted*: how many was said.

    An array of which some tasks are submitted again keeps their numbers, so with a count 1 is the first.
    """
    if SLURM in environ:
        first = 1 if counted else _number(environ, "SLURM_ARRAY_TASK_MIN", 1)
        step = 1 if counted else max(_number(environ, "SLURM_ARRAY_TASK_STEP", 1), 1)
        count = None if counted else _number(environ, "SLURM_ARRAY_TASK_COUNT")
        return (_number(environ, SLURM) - first) // step + 1, count
    if KUBERNETES in environ:
        return _number(environ, KUBERNETES) + 1, None
    raise WrongUse(
        f"--shard auto: neither {SLURM} nor {KUBERNETES} is set, so this is not an array job or an indexed one; "
        "write 3/8"
    )


def _number(environ: Mapping[str, str], name: str, default: int | None = None) -> int:
    told = environ.get(name, "" if default is None else str(default))
    if not re.fullmatch("[0-9]{1,9}", told):
        raise WrongUse(f"--shard auto: {name} is {label_text(told) or 'not set'}, which is not a number; write 3/8")
    return int(told)


def job_of(typed: str | None, environ: Mapping[str, str]) -> str | None:
    """The job that was named, else the Slurm array that this is a task of; None where there is neither."""
    if typed is None:
        array = environ.get("SLURM_ARRAY_JOB_ID")
        return f"slurm-{array}" if array else None
    if not typed.strip() or len(typed) > LONGEST_JOB or not typed.isprintable():
        raise WrongUse(f"--job: a name has 1 to {LONGEST_JOB} printable characters")
    return typed


def cluster_of(typed: str | None, shard: str | None) -> Cluster | None:
    """The cluster that *typed*, what --on was given, means, in the parts that *shard* asks for; None without one."""
    if typed is None:
        return None
    name, divided, where = typed.partition("://")
    if name != "ray" or (divided and not re.fullmatch(r"[A-Za-z0-9.\-_:\[\]]+", where)):
        raise WrongUse(f"--on: {label_text(typed)} is not a cluster; write ray, or ray://HOST:10001")
    parts = re.fullmatch("auto/([0-9]{1,5})", shard or "auto/1")
    if not parts or not 1 <= int(parts[1]) <= MOST_SHARDS:
        raise WrongUse(f"--on hands out all parts itself: write --shard auto/N, N from 1 to {MOST_SHARDS}, or leave it")
    return Cluster(typed if divided else None, int(parts[1]) if shard else None)


@dataclass(frozen=True, slots=True)
class Worker:
    """Which part of an order this process carries out, or the cluster that carries out all of it."""

    shard: Shard | None  # None: all of it
    job: str | None
    cluster: Cluster | None  # None: this process


def worker_options(command: Command) -> Command:
    """--shard, --job and --on; the command is given *worker*."""

    @wraps(command)
    def gathered(*, shard: str | None, job: str | None, on: str | None, **typed: Any) -> None:
        cluster = cluster_of(on, shard)
        part = None if cluster else shard_of(shard, os.environ)
        command(worker=Worker(part, job_of(job, os.environ), cluster), **typed)

    return together(
        click.option(
            "--shard",
            metavar="I/N",
            help="Only part I of N; `auto` for I asks Slurm or Kubernetes (docs/scaling.md).  [default: all]",
        ),
        click.option(
            "--job",
            metavar="NAME",
            help="All workers of this name share --budget, and stop where an endpoint refuses one of them.  "
            "[default: with --shard or --on, the same name for the same command]",
        ),
        click.option(
            "--on",
            metavar="ray[://ADDRESS]",
            help="Run on a Ray cluster, one part for each node; with --shard auto/N in N parts (docs/scaling.md).",
        ),
    )(gathered)


def say_job(report: Report, store: Store) -> None:
    """What the job of *report* has spent, all its workers together; nothing where it has none."""
    if (job := report.budget.job) is not None:
        with store.reading() as connection:
            found = spent_by(connection, job)
        spent = money(found.spent)
        if found.open:
            most = money(found.spent + found.open)
            spent = f"at least {spent}, at most {most} (calls in flight and lost ones included)"
        limit = "" if report.budget.limit is None else f" of {money(report.budget.limit)}"
        say(f"job {label_text(job)}: {spent}{limit} spent by {plural(found.workers, 'worker')}, ever")
