"""The workers of one job, on any number of machines: what each has reserved and spent, and which
endpoints are closed.

A job's budget is what all its workers may spend, whenever they work. A worker reserves some of it
at once and hands that out to its calls, so that no call waits for a statement of its own; what it
spends is written down in the commit that ends an attempt. What a dead worker had reserved and not
spent is free again with its lease, but for the calls that it had in flight: they may have been paid
for, so each counts as the most that it can cost.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, and_, case, delete, func, select, update

from independence_bench.store.attempts import ANSWERED, CUT_OFF, LEASE, Holder
from independence_bench.store.owners import LeaseWatch
from independence_bench.store.rows import insert_missing_row, insert_rows
from independence_bench.store.schema import attempts, calls, closures, jobs, reservations, workers

LEAST = 1e-6  # dollars: less is rounding
# of what is left of a budget, one for each worker and as many again: what a worker reserves at once
PARTS = 4


@dataclass(frozen=True, slots=True)
class Grant:
    """The part of its job's budget that a worker got, and the state of the budget, in dollars."""

    granted: float  # 0: nothing
    spent: float  # by all workers since the job began
    lost: float  # the most that calls of dead workers may have cost on top
    elsewhere: float  # reserved by other workers that are alive, who may leave some over


def join_job(connection: Connection, owner: str, job: str, now: float) -> None:
    """Record the process named *owner* as a worker of the job named *job*, with nothing reserved
    and nothing spent; the first worker makes the job. *now*: seconds since 1970.
    """
    insert_missing_row(connection, jobs, {"name": job, "began_at": now})
    row = {"owner": owner, "job": job, "reserved": 0.0, "spent": 0.0, "lease_until": now + LEASE}
    insert_rows(connection, workers, [row])


def reserve_budget(
    connection: Connection,
    owner: str,
    job: str,
    limit: float,
    needed: float,
    held: float,
    now: float,
    watch: LeaseWatch | None = None,
) -> Grant:
    """Reserve *needed* dollars or more for the worker *owner*, if all workers of *job* together
    stay within *limit* dollars; else reserve nothing. Returns what was granted and the state of the
    job's budget.

    *held*: the dollars that this worker has reserved and not spent. If it slept beyond its lease,
    others may have had those.
    """
    # the job's row is the lock: workers take turns here, so that no two are granted the same
    # dollars, and nowhere else
    connection.execute(select(jobs.c.name).where(jobs.c.name == job).with_for_update())
    spent = lost = elsewhere = 0.0
    others = 0
    unended = _sum_highest_costs_in_flight(connection, job)
    wanted = select(workers.c.owner, workers.c.spent, workers.c.reserved, workers.c.lease_until)
    for worker, used, reserved, until in connection.execute(
        wanted.where(workers.c.job == job)
    ).all():
        spent += used
        if worker != owner and reserved > 0 and not Holder(worker, until).is_gone(now, watch):
            elsewhere += reserved
            others += 1
        elif worker != owner:
            lost += unended.get(worker, 0.0)
    left = limit - spent - lost - held - elsewhere
    fits = left > 0 and left >= needed
    granted = max(needed, left / (PARTS * (1 + others)), min(left, LEAST)) if fits else 0.0
    changed = {"reserved": held + granted, "lease_until": now + LEASE}
    connection.execute(update(workers).where(workers.c.owner == owner).values(changed))
    return Grant(granted, spent, lost, elsewhere)


def _sum_highest_costs_in_flight(connection: Connection, job: str) -> dict[str, float]:
    """Return worker's name -> the most US dollars that its attempts without an end can cost, for
    the workers of *job* that have such attempts.
    """
    summed = select(reservations.c.owner, func.sum(reservations.c.dollars)).group_by(
        reservations.c.owner
    )
    of_job = reservations.c.owner.in_(select(workers.c.owner).where(workers.c.job == job))
    return {owner: float(dollars) for owner, dollars in connection.execute(summed.where(of_job))}


def find_others_models_in_flight(
    connection: Connection, owner: str, job: str, now: float, watch: LeaseWatch | None
) -> set[tuple[str, str]]:
    """Return (endpoint, model) of the attempts that living workers of *job* other than *owner* have
    in flight.

    Locks the job until the commit: no other worker asks the same meanwhile or is granted dollars.
    """
    connection.execute(select(jobs.c.name).where(jobs.c.name == job).with_for_update())
    flying = select(
        calls.c.endpoint, calls.c.model, workers.c.owner, workers.c.lease_until
    ).distinct()
    flying = flying.select_from(
        attempts.join(calls).join(workers, workers.c.owner == attempts.c.owner)
    )
    others = (attempts.c.finished_at.is_(None), workers.c.job == job, workers.c.owner != owner)
    return {
        (endpoint, model)
        for endpoint, model, worker, until in connection.execute(flying.where(*others))
        if not Holder(worker, until).is_gone(now, watch)
    }


def store_reservations(
    connection: Connection, owner: str, highest_costs: Mapping[int, float]
) -> None:
    """Record the most US dollars that attempts of the worker *owner*, about to be sent, can cost:
    *highest_costs* is attempt's id -> dollars. Attempts that cost nothing are left out.
    """
    rows = [
        {"attempt_id": attempt, "owner": owner, "dollars": dollars}
        for attempt, dollars in highest_costs.items()
        if dollars
    ]
    if rows:
        insert_rows(connection, reservations, rows)


def delete_reservations(connection: Connection, attempt_ids: Collection[int]) -> None:
    """Delete the records of the most dollars that the attempts with the ids *attempt_ids* could
    cost, because these attempts have ended or were not sent.
    """
    connection.execute(delete(reservations).where(reservations.c.attempt_id.in_(list(attempt_ids))))


def record_spending(connection: Connection, owner: str, dollars: float) -> None:
    """Add *dollars* to what the worker *owner* has spent, and subtract them from what it has
    reserved.
    """
    changed = {"spent": workers.c.spent + dollars, "reserved": workers.c.reserved - dollars}
    connection.execute(update(workers).where(workers.c.owner == owner).values(changed))


def free_budget(connection: Connection, owner: str) -> None:
    """Free the dollars that the worker *owner* has reserved and not spent, so that other workers of
    its job can have them. No attempt of this worker may be in flight.
    """
    connection.execute(update(workers).where(workers.c.owner == owner).values(reserved=0.0))


def renew_worker(connection: Connection, owner: str, now: float) -> None:
    """Extend the lease of the worker *owner*, and so its reserved dollars, to `LEASE` seconds after
    *now* (seconds since 1970).
    """
    connection.execute(
        update(workers).where(workers.c.owner == owner).values(lease_until=now + LEASE)
    )


@dataclass(frozen=True, slots=True)
class JobSpending:
    """The dollars that the workers of a job have spent. *open*: what their calls without an end may
    cost on top.
    """

    spent: float
    open: float
    workers: int  # that there ever were


def sum_job_spending(connection: Connection, job: str) -> JobSpending:
    """Return the US dollars that all workers of *job* have spent, the most that their attempts
    without an end may cost on top, and the number of workers.
    """
    wanted = select(func.coalesce(func.sum(workers.c.spent), 0.0), func.count()).where(
        workers.c.job == job
    )
    dollars, count = connection.execute(wanted).one()
    return JobSpending(
        float(dollars), sum(_sum_highest_costs_in_flight(connection, job).values()), int(count)
    )


@dataclass(frozen=True, slots=True)
class JobUsage:
    """The sums of the attempts of a job's workers; dollars and tokens as far as they are known."""

    cost: float
    prompt_tokens: int
    completion_tokens: int
    calls: int  # attempts that ended
    in_flight: int
    unpriced: int  # with a reply of unknown cost
    answered: int


def find_last_attempt_id(connection: Connection) -> int:
    """Return the id of the latest attempt at a model call in the store; 0 if there is none."""
    return int(connection.execute(select(func.coalesce(func.max(attempts.c.id), 0))).scalar_one())


def sum_job_usage_after(connection: Connection, job: str, attempt: int) -> JobUsage:
    """Return the US dollars, tokens and numbers of attempts that the workers of *job* have used in
    attempts with an id above *attempt*.
    """
    ended = attempts.c.finished_at.is_not(None)
    unpriced = and_(attempts.c.cost.is_(None), attempts.c.outcome.in_((ANSWERED, CUT_OFF)))
    answered = attempts.c.outcome == ANSWERED
    counts = [func.count(case((which, 1))) for which in (ended, ~ended, unpriced, answered)]
    sums = [
        func.coalesce(func.sum(attempts.c[name]), 0)
        for name in ("cost", "prompt_tokens", "completion_tokens")
    ]
    of_job = attempts.c.owner.in_(select(workers.c.owner).where(workers.c.job == job))
    row = connection.execute(select(*sums, *counts).where(attempts.c.id > attempt, of_job)).one()
    return JobUsage(float(row[0]), *map(int, row[1:]))


def close_endpoint(
    connection: Connection, job: str, endpoint: str, reason: str, now: float
) -> None:
    """Record that *endpoint* takes no more calls of *job* from *now* on (seconds since 1970), and
    the *reason*, in place of an earlier record.
    """
    where = (closures.c.job == job, closures.c.endpoint == endpoint)
    connection.execute(select(jobs.c.name).where(jobs.c.name == job).with_for_update())
    connection.execute(delete(closures).where(*where))
    insert_rows(
        connection,
        closures,
        [{"job": job, "endpoint": endpoint, "reason": reason, "closed_at": now}],
    )


def find_closed_endpoints(connection: Connection, job: str, since: float) -> dict[str, str]:
    """Return endpoint -> why a worker of *job* has closed it for the job, for endpoints that were
    closed at *since* or later (seconds since 1970). A worker that begins later tries them anew.
    """
    wanted = select(closures.c.endpoint, closures.c.reason).where(
        closures.c.job == job, closures.c.closed_at >= since
    )
    return {row[0]: row[1] for row in connection.execute(wanted)}
