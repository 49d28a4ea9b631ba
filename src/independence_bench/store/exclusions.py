"""What a person decided about a subject's place on the boards: taken off them, or kept on though it would be excluded.

Functions on a connection; opens nothing. A store before version 3 holds none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, delete, insert, inspect, select

from independence_bench.store.schema import decisions, fields_of

Verdict = Literal["exclude", "keep"]
COMMAND, MODELS_FILE = "command", "models.yaml"  # where it was said


@dataclass(frozen=True, slots=True)
class Decision:
    """One subject's."""

    verdict: Verdict
    reason: str  # shown beside the row
    origin: str = COMMAND  # or MODELS_FILE


def decide(connection: Connection, subject: str, decision: Decision, now: float) -> None:
    """Write *decision* about the subject with that hash down, in the place of an earlier one."""
    connection.execute(delete(decisions).where(decisions.c.subject_hash == subject))
    connection.execute(insert(decisions).values(subject_hash=subject, decided_at=now, **fields_of(decision)))


def undo(connection: Connection, subject: str) -> None:
    """Forget what was decided about the subject with that hash."""
    connection.execute(delete(decisions).where(decisions.c.subject_hash == subject))


def decided(connection: Connection) -> Mapping[str, Decision]:
    """Subject's hash -> what was decided about it."""
    if not inspect(connection).has_table(decisions.name):
        return {}
    columns = (decisions.c.subject_hash, decisions.c.verdict, decisions.c.reason, decisions.c.origin)
    return {subject: Decision(*values) for subject, *values in connection.execute(select(*columns))}
