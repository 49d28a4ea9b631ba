"""Stores what was played and by whom: protocols, subjects, judges, runs that were begun, and
subjects that were excluded.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    cast,
    delete,
    func,
    insert,
    select,
    update,
)

from independence_bench.escape import escape_name
from independence_bench.hashing import hash_content, write_canonical_json
from independence_bench.models.abilities import Abilities, read_abilities
from independence_bench.models.local import JUDGES as EMBEDDED_JUDGES
from independence_bench.models.local import NAME as EMBEDDED
from independence_bench.models.spec import PYTHON, ChatModel, read_chat_model
from independence_bench.protocol.plan import Job
from independence_bench.store.blobs import pack_text, report_damage, unpack_text
from independence_bench.store.rows import (
    insert_missing_row,
    insert_rows,
    read_all_rows,
    read_fields,
)
from independence_bench.store.schema import (
    begun,
    decisions,
    judgements,
    judges,
    known_abilities,
    meta,
    protocols,
    subjects,
    transcripts,
)


def store_protocol(
    connection: Connection,
    protocol_hash: str,
    name: str,
    files: Mapping[str, str],
    now: float | None,
) -> None:
    """Store the protocol's files, once for each of its versions, and that it is played *now*; None:
    it is not.
    """
    row = {
        "hash": protocol_hash,
        "name": name,
        "files": pack_text(write_canonical_json(dict(files))),
        "played_at": now or 0.0,
    }
    insert_missing_row(connection, protocols, row)
    if now is not None:
        store_play_time(connection, protocol_hash, now)


def store_play_time(connection: Connection, protocol_hash: str, now: float) -> None:
    """Record that the protocol is played *now*. The one played last is meant if none is named."""
    connection.execute(
        update(protocols).where(protocols.c.hash == protocol_hash).values(played_at=now)
    )


def read_protocols(connection: Connection) -> list[tuple[str, str, dict[str, str]]]:
    """Return (hash, name, files) of every protocol that was played, the last one first."""
    rows = connection.execute(
        select(protocols.c.hash, protocols.c.name, protocols.c.files).order_by(
            protocols.c.played_at.desc()
        )
    )
    with report_damage():
        return [(row[0], row[1], json.loads(unpack_text(row[2]))) for row in rows]


def store_subject(connection: Connection, subject: ChatModel) -> None:
    """Store a subject's settings."""
    insert_missing_row(
        connection, subjects, {"hash": subject.hash, "label": subject.label, "spec": subject.spec}
    )


def read_subjects(connection: Connection) -> dict[str, ChatModel]:
    """Return hash -> settings of every subject that was played."""
    rows = connection.execute(
        select(subjects.c.hash, subjects.c.spec).order_by(subjects.c.label, subjects.c.hash)
    )
    with report_damage():
        return {row[0]: read_chat_model(json.loads(row[1])) for row in rows}


def parse_model(settings: Mapping[str, Any]) -> ChatModel | None:
    """Return the model whose `causes` *settings* are, as a request has them; None if they are not
    known.
    """
    try:
        return read_chat_model(settings)
    except (TypeError, KeyError, ValueError):
        return None


def store_judge(connection: Connection, judge_hash: str, label: str, spec: str) -> None:
    """Store a judge's settings (*spec* is JSON)."""
    insert_missing_row(connection, judges, {"hash": judge_hash, "label": label, "spec": spec})


def read_judge_labels(connection: Connection) -> dict[str, str]:
    """Return hash -> label of every judge that scored. Labels that occur twice get the start of
    their hash behind them.
    """
    rows = connection.execute(
        select(judges.c.hash, judges.c.label).order_by(judges.c.label, judges.c.hash)
    )
    return _add_suffixes({row.hash: row.label for row in rows})


def read_judge_specs(connection: Connection) -> dict[str, dict[str, Any]]:
    """Return hash -> settings of every judge, a JSON object; {} if they are not known."""
    settings = {}
    for judge, spec in connection.execute(select(judges.c.hash, judges.c.spec)):
        with report_damage():
            read = json.loads(spec)
        settings[judge] = read if isinstance(read, dict) else {}
    return settings


def find_human_judges(connection: Connection) -> frozenset[str]:
    """Return the hashes of the judges that are people."""
    return frozenset(
        judge
        for judge, spec in read_judge_specs(connection).items()
        if spec.get("kind") == "person"
    )


def store_abilities(
    connection: Connection, endpoint: str, model: str, abilities: Abilities, now: float
) -> None:
    """Store what was learned about a model at an endpoint, in place of what was known."""
    where = (known_abilities.c.endpoint == endpoint, known_abilities.c.model == model)
    connection.execute(delete(known_abilities).where(*where))
    row = {"endpoint": endpoint, "model": model, "known": abilities.json_text, "learned_at": now}
    insert_missing_row(connection, known_abilities, row)


def read_stored_abilities(connection: Connection) -> dict[str, dict[str, Abilities]]:
    """Return endpoint -> model -> abilities, as far as they were learned; {} in a store of a
    version that had none.
    """
    found: dict[str, dict[str, Abilities]] = {}
    for endpoint, model, known, _ in read_all_rows(connection, known_abilities):
        with report_damage():
            found.setdefault(endpoint, {})[model] = read_abilities(known)
    return found


def begin_runs(connection: Connection, jobs: Sequence[tuple[str, Job]]) -> list[None]:
    """Record that the runs of jobs were begun, each for the protocol of that hash. A run that fails
    leaves no other trace.
    """
    for protocol, job in jobs:
        where, run = (
            job.configuration,
            {"protocol_hash": protocol, "subject_hash": job.subject.hash, "run": job.run},
        )
        insert_missing_row(
            connection, begun, run | {"system": where.system, "delivery": where.delivery}
        )
    return [None] * len(jobs)


def read_begun_runs(
    connection: Connection, protocol: str, subject: str | None = None
) -> set[tuple[str, int, str, str]]:
    """Return the runs that were begun for any version of the protocol of that name: (subject, run,
    system, delivery).

    *subject*: a hash; None: of all. A run is begun if something was played for it, or failed.
    """
    known: set[tuple[str, int, str, str]] = set()
    for table in (transcripts, begun):
        columns = (table.c.subject_hash, table.c.run, table.c.system, table.c.delivery)
        wanted = (
            select(*columns).join(protocols, protocols.c.hash == table.c.protocol_hash).distinct()
        )
        wanted = wanted.where(protocols.c.name == protocol)
        if subject is not None:
            wanted = wanted.where(table.c.subject_hash == subject)
        known |= {(of, run, system, way) for of, run, system, way in connection.execute(wanted)}
    return known


def read_first_judgement_times(connection: Connection) -> dict[str, float]:
    """Return judge's hash -> when its first judgement of a stored conversation was stored. Exams do
    not count.
    """
    played = select(transcripts.c.heard_hash)
    earliest = select(judgements.c.judge_hash, func.min(judgements.c.stored_at)).group_by(
        judgements.c.judge_hash
    )
    earliest = earliest.where(judgements.c.heard_hash.in_(played))
    return {judge: float(first) for judge, first in connection.execute(earliest)}


def find_judge_names(connection: Connection) -> dict[str, str]:
    """Return judge's hash -> the name by which a user asks it again: a model's name, or "embedded".
    People are left out.
    """
    with report_damage():
        names = {
            judge: find_judge_name(spec) for judge, spec in read_judge_specs(connection).items()
        }
    return {judge: name for judge, name in names.items() if name is not None}


def find_judge_name(spec: Mapping[str, Any]) -> str | None:
    """Return the name by which a user asks a judge of these settings; None for a person and for a
    Python function.
    """
    if spec.get("kind") in EMBEDDED_JUDGES:
        return EMBEDDED
    if "kind" in spec:
        return None
    model = read_chat_model(spec)
    # nothing is run here because a store names it
    return None if model.endpoint == PYTHON else model.name


def make_unique_labels(subjects: Mapping[str, ChatModel]) -> dict[str, str]:
    """Return hash -> label as it is shown. Labels that occur twice get the start of their hash
    behind them.
    """
    return _add_suffixes(
        {subject_hash: subject.label for subject_hash, subject in subjects.items()}
    )


def _add_suffixes(labels: Mapping[str, str]) -> dict[str, str]:
    shown = {key: escape_name(label) for key, label in labels.items()}
    times = Counter(shown.values())
    return {
        key: label if times[label] == 1 else f"{label}#{key[:6]}" for key, label in shown.items()
    }


# ------------------------------------------------------------- what a person decided about subjects

COMMAND, MODELS_FILE = "command", "models.yaml"  # where it was said


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision about one subject: taken off the leaderboards, or kept although it would
    be excluded.
    """

    verdict: Literal["exclude", "keep"]
    reason: str  # shown next to the row
    origin: str = COMMAND  # or MODELS_FILE


def store_decision(connection: Connection, subject: str, decision: Decision, now: float) -> None:
    """Store *decision* about the subject with that hash, in place of an earlier one."""
    delete_decision(connection, subject)
    insert_rows(
        connection,
        decisions,
        [read_fields(decision) | {"subject_hash": subject, "decided_at": now}],
    )


def delete_decision(connection: Connection, subject: str) -> None:
    """Delete the decision about the subject with that hash."""
    connection.execute(delete(decisions).where(decisions.c.subject_hash == subject))


def read_decisions(connection: Connection) -> Mapping[str, Decision]:
    """Return subject's hash -> the decision about it; {} in a store of a version that had none."""
    return {
        subject: Decision(*decision)
        for subject, *decision, _ in read_all_rows(connection, decisions)
    }


# ------------------------------------------------------------ what was published with imported data

ROWS = "published rows"  # their name in `meta`


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A subject's leaderboard row as others published it: index and interval in [0, 100]."""

    index: float
    low: float
    high: float
    runs: int


def store_published_rows(connection: Connection, rows: Mapping[str, PublishedRow]) -> None:
    """Store the published row of each subject (by hash), next to those that are stored."""
    every = {
        subject: read_fields(row)
        for subject, row in (read_published_rows(connection) | dict(rows)).items()
    }
    connection.execute(delete(meta).where(meta.c.name == ROWS))
    connection.execute(insert(meta).values(name=ROWS, value=write_canonical_json(every)))


def read_published_rows(connection: Connection) -> dict[str, PublishedRow]:
    """Return subject's hash -> its row as it was published with imported data."""
    stored = connection.execute(select(meta.c.value).where(meta.c.name == ROWS)).scalar()
    with report_damage():
        return {subject: PublishedRow(**row) for subject, row in json.loads(stored or "{}").items()}


# ---------------------------------------------- pictures of characters, and what all of it comes to

PICTURE = "picture of "  # with a protocol's name, its name in `meta`


def store_picture(connection: Connection, protocol: str, picture: str | None) -> None:
    """Store the picture (PNG, in base64) of the character that *protocol* is about; None: delete
    it.
    """
    connection.execute(delete(meta).where(meta.c.name == PICTURE + protocol))
    if picture is not None:
        connection.execute(insert(meta).values(name=PICTURE + protocol, value=picture))


def read_stored_picture(connection: Connection, protocol: str) -> str | None:
    """Return the picture of the character that *protocol* is about (PNG, in base64); None if there
    is none.
    """
    return connection.execute(
        select(meta.c.value).where(meta.c.name == PICTURE + protocol)
    ).scalar()


def _sum_times(time: ColumnElement[float]) -> ColumnElement[int]:
    """Make the SQL sum of *time*, in whole milliseconds: such a sum does not depend on the order,
    and other times hardly give the same.
    """
    return func.sum(cast(func.round(time * 1000), BigInteger) % 1_000_003)


def hash_store_state(connection: Connection) -> str:
    """Return a short text that changes with anything that was played, judged or decided. Attempts
    without a result do not change it.

    The same records give the same text, in any store. It looks at every transcript and judgement:
    milliseconds for ten thousand of them.
    """
    times = (transcripts.c.finished_at, judgements.c.stored_at)
    counted = [
        connection.execute(select(func.count(), func.max(time), _sum_times(time))).one()
        for time in times
    ]
    others = [
        connection.execute(select(func.count()).select_from(table)).scalar()
        for table in (begun, protocols)
    ]
    verdicts = {
        subject: [decision.verdict, decision.reason]
        for subject, decision in read_decisions(connection).items()
    }
    rows = [read_fields(row) for row in read_published_rows(connection).values()]
    # has the sum of a picture's bytes
    end = func.substr(meta.c.value, func.length(meta.c.value) - 47)
    pictures = (
        select(meta.c.name, end)
        .where(meta.c.name.startswith(PICTURE, autoescape=True))
        .order_by(meta.c.name)
    )
    shown = [list(row) for row in connection.execute(pictures)]
    return hash_content(
        [
            [[count, latest, int(total or 0)] for count, latest, total in counted],
            others,
            verdicts,
            *rows,
            *shown,
        ]
    )[:16]
