"""Whether a store has changed: one short text that is another one as soon as a reader would see something else."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from independence_bench.hashing import content_hash
from independence_bench.store.exclusions import decided
from independence_bench.store.schema import begun, judgements, protocols, transcripts

LENGTH = 16  # hexadecimal digits


def state_of(connection: Connection) -> str:
    """The state of what was played and judged. Attempts that have led to nothing yet are no part of it.

    The same records give the same state, in whatever store they are. Takes a look at every transcript and judgement:
    milliseconds for ten thousand of them.
    """
    counted = [
        connection.execute(select(func.count(), func.max(time))).one()
        for time in (transcripts.c.finished_at, judgements.c.stored_at)
    ]
    others = [connection.execute(select(func.count()).select_from(table)).scalar() for table in (begun, protocols)]
    said = {subject: [one.verdict, one.reason] for subject, one in decided(connection).items()}
    return content_hash([[list(row) for row in counted], others, said])[:LENGTH]
