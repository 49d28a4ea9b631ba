"""The tables as they are now; `migrations` leads there from those of older versions.

Times are seconds since 1970 (UTC), costs are US dollars, blobs are zlib-compressed UTF-8.

    protocols     snapshot of each protocol that was played, so that old results can be read
    subjects      each subject that was played, by the hash of all its settings
    judges        each judge that marked, likewise
    calls         one request for a reply or a judgement, and the lease of who makes it
    attempts      every try at a call: written before it is sent, completed when it has ended
    replies       the answer to a call of a subject, or that it has none (invalid)
    transcripts   one scenario played to its end, or to the reply that was invalid
    judgements    all marks of one judge on the words of one transcript, or that it failed
    begun         runs that were begun for a protocol, next to those that have transcripts of it
    commands      what each owner of attempts was: the command, as it was typed (version 2)
    prices        what an endpoint listed for a model when it was called (version 2)
    decisions     which subjects a person took off the boards, or kept there, and why (version 3)
    readings      which option each reply of a stem's conversation takes (version 4; no longer made)
    jobs          what several workers do together (version 6)
    workers       each worker of a job: an owner of attempts, and its part of the budget (version 6)
    closures      endpoints that take no more calls of a job: no money, key refused (version 6)
    worked_out    what took long to work out of all this, while it stays as it is (version 8)
    abilities     what requests to a model may hold, learned from what was refused (version 10)
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Sequence,
    String,
    Table,
    Text,
    TypeDecorator,
)

from independence_bench.store.blobs import Damaged

# how the owner of an attempt begins that was imported: others made and paid for it
IMPORTED = "import|"
CLEARED = "cleared-"  # how the keys of calls begin whose answers were deleted

metadata = MetaData()
# in PostgreSQL, where writers do not take turns
ATTEMPT_IDS = Sequence("attempt_ids", metadata=metadata)


class _Checked(TypeDecorator[Any]):
    """A column type whose values are checked. SQLite stores anything in a column: a value of
    another type raises StoreError when it is read.
    """

    allowed: tuple[type, ...]

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        """Return the function through which SQLAlchemy passes every value that is read from a
        column of this type: it raises StoreError for a value of a wrong type. It is made once and
        called for every row.
        """
        allowed, as_usual = self.allowed, self.impl_instance.result_processor(dialect, coltype)

        def check_type_and_convert(value: Any) -> Any:
            if value is not None and not isinstance(value, allowed):
                raise Damaged(TypeError(f"{value!r:.40} does not belong in its column"))
            return value if as_usual is None else as_usual(value)

        return check_type_and_convert


class _Number(_Checked):
    allowed = (int, float, Decimal)


class Real(_Number):
    """Seconds, dollars: any number."""

    impl, cache_ok = Float, True


class Whole(_Number):
    """A count or an id."""

    impl, cache_ok = Integer, True


class LargeWhole(_Number):
    """A whole number that a server reports: it may be any."""

    impl, cache_ok = BigInteger, True


class Packed(_Checked):
    """A text as `blobs.pack` makes it."""

    impl, cache_ok = LargeBinary, True
    allowed = (bytes,)


# SQL, after the tables are made: an `Index` with a WHERE would import the dialects of all databases
PARTIAL_INDEXES = (
    "CREATE INDEX IF NOT EXISTS calls_by_owner ON calls (owner) WHERE owner IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS attempts_in_flight ON attempts (id) WHERE finished_at IS NULL",
)

meta = Table(
    "meta",
    metadata,
    Column("name", String, primary_key=True),
    Column("value", String, nullable=False),
)

protocols = Table(
    "protocols",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("name", String, nullable=False),
    Column("files", Packed, nullable=False),  # JSON: path -> text
    Column("played_at", Real, nullable=False),  # last
)

subjects = Table(
    "subjects",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("label", String, nullable=False),
    Column("spec", Text, nullable=False),  # JSON of ChatModel
)

judges = Table(
    "judges",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("label", String, nullable=False),
    Column("spec", Text, nullable=False),
)

calls = Table(
    "calls",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("kind", String, nullable=False),  # reply | judgement
    Column("endpoint", String, nullable=False),
    Column("model", String, nullable=False),
    Column("request", Packed, nullable=False),
    Column("owner", String),  # the process that has claimed it; NULL: none
    Column("lease_until", Real),
)
# of claimed calls alone: an index of all would be written to twice with every call

attempts = Table(
    "attempts",
    metadata,
    Column("id", Whole, primary_key=True, autoincrement=False),
    Column("call_key", String(64), ForeignKey("calls.key"), nullable=False, index=True),
    # the process that made it; IMPORTED and where it is from
    Column("owner", String, nullable=False),
    Column("started_at", Real, nullable=False),
    Column("max_tokens", LargeWhole, nullable=False),
    Column("finished_at", Real),
    Column("outcome", String),  # NULL: in flight; answered, cut off, lost, or a `Kind` of fault
    Column("message", Text),
    Column("status", LargeWhole),
    Column("finish_reason", String),
    Column("prompt_tokens", LargeWhole),  # a server may say any number
    Column("completion_tokens", LargeWhole),
    Column("reasoning_tokens", LargeWhole),
    Column("cached_tokens", LargeWhole),
    Column("cost", Real),
    Column("seconds", Real),
    Column("served_model", String),
    Column("served_provider", String),
    Column("response_id", String),
    Column("raw", Packed),
)

replies = Table(
    "replies",
    metadata,
    Column("key", String(64), ForeignKey("calls.key"), primary_key=True),
    Column("attempt_id", Whole, ForeignKey("attempts.id"), nullable=False),
    Column("state", String, nullable=False),  # valid | invalid
    Column("reason", Text),  # why it is invalid
    Column("text", Text, nullable=False),
    Column("notes", Text, nullable=False),
    Column("reasoning", Text, nullable=False),
    Column("cut_off", Boolean, nullable=False),
    Column("plain_text", Boolean, nullable=False),
    Column("reasoned", Boolean, nullable=False),
    Column("stored_at", Real, nullable=False),
)

transcripts = Table(
    "transcripts",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("script_hash", String(64), nullable=False, index=True),
    Column("subject_hash", String(64), ForeignKey("subjects.hash"), nullable=False, index=True),
    Column("protocol_hash", String(64), ForeignKey("protocols.hash"), nullable=False),
    Column("run", Whole, nullable=False),
    Column("system", String, nullable=False),
    Column("delivery", String, nullable=False),
    Column("experiment", String, nullable=False),
    Column("scenario", String, nullable=False),
    Column("state", String, nullable=False),  # complete | invalid
    Column("reason", Text),
    Column("heard_hash", String(64), nullable=False, index=True),
    Column("lines", Packed, nullable=False),  # JSON
    Column("reply_keys", Text, nullable=False),  # JSON, in order
    Column("replies", Whole, nullable=False),  # asked for, the invalid one included
    Column("cut_off", Whole, nullable=False),  # of those
    Column("plain_text", Whole, nullable=False),
    Column("reasoned", Whole, nullable=False),
    # whether anything is new is asked every few seconds
    Column("finished_at", Real, nullable=False, index=True),
)

judgements = Table(
    "judgements",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("heard_hash", String(64), nullable=False),
    Column("rubric_hash", String(64), nullable=False),
    Column("judge_hash", String(64), ForeignKey("judges.hash"), nullable=False),
    Column("state", String, nullable=False),  # valid | failed
    Column("reason", Text),
    Column("marks", Text, nullable=False),  # JSON: mark -> number
    Column("reasoning", Text, nullable=False),
    Column("attempt_id", Whole, ForeignKey("attempts.id")),  # NULL: no call was made for it
    Column("stored_at", Real, nullable=False, index=True),
    # of what it is scored by (since version 9); NULL: stored by an earlier version
    Column("checksum", LargeWhole),
    Index("judgements_by_heard", "heard_hash", "rubric_hash"),
)

begun = Table(
    "begun",
    metadata,
    Column("protocol_hash", String(64), ForeignKey("protocols.hash"), primary_key=True),
    Column("subject_hash", String(64), ForeignKey("subjects.hash"), primary_key=True),
    Column("run", Whole, primary_key=True, autoincrement=False),
    Column("system", String, primary_key=True),
    Column("delivery", String, primary_key=True),
)

commands = Table(
    "commands",
    metadata,
    Column("owner", String, primary_key=True),  # as in attempts
    # one command may have several owners, one after the other
    Column("session", String, nullable=False),
    Column("began_at", Real, nullable=False),
    # without secrets; "": by a program that uses the library
    Column("typed", Text, nullable=False),
)

prices = Table(
    "prices",
    metadata,
    Column("owner", String, primary_key=True),
    Column("endpoint", String, primary_key=True),
    Column("model", String, primary_key=True),
    Column("prompt", Real, nullable=False),  # dollars a token
    Column("completion", Real, nullable=False),
    Column("request", Real, nullable=False),  # dollars a call
)

jobs = Table(
    "jobs",
    metadata,
    Column("name", String, primary_key=True),
    Column("began_at", Real, nullable=False),
)

workers = Table(
    "workers",
    metadata,
    Column("owner", String, primary_key=True),  # as in attempts
    Column("job", String, ForeignKey("jobs.name"), nullable=False, index=True),
    Column("reserved", Real, nullable=False),  # dollars of the job's budget that it may still spend
    Column("spent", Real, nullable=False),  # dollars that the budget counts
    Column("lease_until", Real, nullable=False),
)

# of calls of workers that share a budget: in flight, or lost in flight
reservations = Table(
    "reservations",
    metadata,
    Column("attempt_id", Whole, primary_key=True, autoincrement=False),
    Column("owner", String, nullable=False, index=True),  # as in workers
    Column("dollars", Real, nullable=False),  # that it costs at most
)

closures = Table(
    "closures",
    metadata,
    Column("job", String, ForeignKey("jobs.name"), primary_key=True),
    Column("endpoint", String, primary_key=True),
    Column("reason", Text, nullable=False),
    Column("closed_at", Real, nullable=False),
)

readings = Table(
    "readings",
    metadata,
    Column("transcript", String(64), ForeignKey("transcripts.id"), primary_key=True),
    Column("rule", String(64), nullable=False),  # hash of the rule that read
    Column("options", Text, nullable=False),  # JSON: [reply's name, label or null], in order
)

worked_out = Table(
    "worked_out",
    metadata,
    Column("name", String, primary_key=True),
    # hash of what it was worked out of, and by what program
    Column("cause", String(64), nullable=False),
    Column("value", Text, nullable=False),
)

# what a request may hold, by what was refused
known_abilities = Table(
    "abilities",
    metadata,
    Column("endpoint", String, primary_key=True),
    Column("model", String, primary_key=True),
    Column("known", Text, nullable=False),  # JSON: parts that are left out, efforts
    Column("learned_at", Real, nullable=False),
)

decisions = Table(
    "decisions",
    metadata,
    Column("subject_hash", String(64), ForeignKey("subjects.hash"), primary_key=True),
    Column("verdict", String, nullable=False),  # exclude | keep
    Column("reason", Text, nullable=False),
    Column("origin", String, nullable=False),  # command | models.yaml
    Column("decided_at", Real, nullable=False),
)
