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
    """Store the *files* (path -> text) of the protocol version with the hash *protocol_hash*,
    unless they are stored, and record that it is played at *now* (seconds since 1970; None: it is
    not played).
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
    """Record that the protocol with the hash *protocol_hash* is played at *now* (seconds since
    1970). Commands that name no protocol take the one that was played last.
    """
    connection.execute(
        update(protocols).where(protocols.c.hash == protocol_hash).values(played_at=now)
    )


def read_play_times(connection: Connection) -> dict[str, float]:
    """Return hash -> when a command played it last (seconds since 1970; 0: never) of every protocol
    version in the store.
    """
    rows = connection.execute(select(protocols.c.hash, protocols.c.played_at))
    return {row[0]: row[1] for row in rows}


def read_protocols(connection: Connection) -> list[tuple[str, str, dict[str, str]]]:
    """Return (hash, name, files as path -> text) of every protocol version in the store, the one
    that was played last first.
    """
    rows = connection.execute(
        select(protocols.c.hash, protocols.c.name, protocols.c.files).order_by(
            protocols.c.played_at.desc()
        )
    )
    with report_damage():
        return [(row[0], row[1], json.loads(unpack_text(row[2]))) for row in rows]


def store_subject(connection: Connection, subject: ChatModel) -> None:
    """Store the settings and label of a tested model under the hash of these settings, unless they
    are stored.
    """
    insert_missing_row(
        connection,
        subjects,
        {"hash": subject.hash, "label": subject.label, "spec": subject.settings_json},
    )


def read_subjects(connection: Connection) -> dict[str, ChatModel]:
    """Return hash -> tested model with its settings, for every tested model in the store, sorted by
    label.
    """
    rows = connection.execute(
        select(subjects.c.hash, subjects.c.spec).order_by(subjects.c.label, subjects.c.hash)
    )
    with report_damage():
        return {row[0]: read_chat_model(json.loads(row[1])) for row in rows}


def parse_model(settings: Mapping[str, Any]) -> ChatModel | None:
    """Return the model that *settings*, the part of a stored request about the model, describe;
    None if they cannot be read.
    """
    try:
        return read_chat_model(settings)
    except (TypeError, KeyError, ValueError):
        return None


def store_judge(connection: Connection, judge_hash: str, label: str, spec: str) -> None:
    """Store the *label* and the settings *spec* (JSON) of the judge with the hash *judge_hash*,
    unless they are stored.
    """
    insert_missing_row(connection, judges, {"hash": judge_hash, "label": label, "spec": spec})


def read_judge_labels(connection: Connection) -> dict[str, str]:
    """Return hash -> label of every judge in the store. If several judges have the same label, the
    first six digits of the hash are added to each.
    """
    rows = connection.execute(
        select(judges.c.hash, judges.c.label).order_by(judges.c.label, judges.c.hash)
    )
    return _add_hash_suffixes({row.hash: row.label for row in rows})


def read_judge_specs(connection: Connection) -> dict[str, dict[str, Any]]:
    """Return hash -> settings, a JSON object, of every judge in the store; the settings are {} if
    they are not known.
    """
    settings = {}
    for judge, spec in connection.execute(select(judges.c.hash, judges.c.spec)):
        with report_damage():
            read = json.loads(spec)
        settings[judge] = read if isinstance(read, dict) else {}
    return settings


def find_human_judge_hashes(connection: Connection) -> frozenset[str]:
    """Return the hashes of those judges in the store that are people."""
    return frozenset(
        judge
        for judge, spec in read_judge_specs(connection).items()
        if spec.get("kind") == "person"
    )


def store_abilities(
    connection: Connection, endpoint: str, model: str, abilities: Abilities, now: float
) -> None:
    """Store *abilities*, what requests to *model* at *endpoint* may contain as learned from its
    answers until *now* (seconds since 1970), in place of what was stored before.
    """
    where = (known_abilities.c.endpoint == endpoint, known_abilities.c.model == model)
    connection.execute(delete(known_abilities).where(*where))
    row = {"endpoint": endpoint, "model": model, "known": abilities.json_text, "learned_at": now}
    insert_missing_row(connection, known_abilities, row)


def read_stored_abilities(connection: Connection) -> dict[str, dict[str, Abilities]]:
    """Return endpoint -> model's name -> what requests to that model may contain, for the models
    about which something was learned; {} in a store of an older version.
    """
    found: dict[str, dict[str, Abilities]] = {}
    for endpoint, model, known, _ in read_all_rows(connection, known_abilities):
        with report_damage():
            found.setdefault(endpoint, {})[model] = read_abilities(known)
    return found


def record_begun_runs(
    connection: Connection, protocol_hashes_and_jobs: Sequence[tuple[str, Job]]
) -> list[None]:
    """Record in the store that the runs of *protocol_hashes_and_jobs*, as (protocol's hash, job),
    were begun: a run that fails leaves no other trace. Returns a None for each.
    """
    for protocol, job in protocol_hashes_and_jobs:
        where, run = (
            job.configuration,
            {"protocol_hash": protocol, "subject_hash": job.subject.hash, "run": job.run},
        )
        insert_missing_row(
            connection, begun, run | {"system": where.system, "delivery": where.delivery}
        )
    return [None] * len(protocol_hashes_and_jobs)


def read_begun_runs(
    connection: Connection, protocol_name: str, subject_hash: str | None = None
) -> set[tuple[str, int, str, str]]:
    """Return (tested model's hash, run's number, system prompt variant, delivery mode) of every run
    that was begun in any version of the protocol named *protocol_name*, whether it failed or not.
    *subject_hash*: the hash of the only model to look at; None: all models.
    """
    known: set[tuple[str, int, str, str]] = set()
    for table in (transcripts, begun):
        columns = (table.c.subject_hash, table.c.run, table.c.system, table.c.delivery)
        wanted = (
            select(*columns).join(protocols, protocols.c.hash == table.c.protocol_hash).distinct()
        )
        wanted = wanted.where(protocols.c.name == protocol_name)
        if subject_hash is not None:
            wanted = wanted.where(table.c.subject_hash == subject_hash)
        known |= {(of, run, system, way) for of, run, system, way in connection.execute(wanted)}
    return known


def read_judges_first_judgement_times(connection: Connection) -> dict[str, float]:
    """Return judge's hash -> when that judge's first judgement of a stored conversation was stored,
    in seconds since 1970. Judgements of the judges' exam do not count.
    """
    played = select(transcripts.c.heard_hash)
    earliest = select(judgements.c.judge_hash, func.min(judgements.c.stored_at)).group_by(
        judgements.c.judge_hash
    )
    earliest = earliest.where(judgements.c.heard_hash.in_(played))
    return {judge: float(first) for judge, first in connection.execute(earliest)}


def find_selectable_judge_names(connection: Connection) -> dict[str, str]:
    """Return judge's hash -> the name by which a user selects that judge: a model's name, or
    "embedded". Judges that are people or Python functions are left out.
    """
    with report_damage():
        names = {
            judge: find_selectable_judge_name(spec)
            for judge, spec in read_judge_specs(connection).items()
        }
    return {judge: name for judge, name in names.items() if name is not None}


def find_selectable_judge_name(spec: Mapping[str, Any]) -> str | None:
    """Return the name by which a user selects the judge that has the settings *spec*: a model's
    name, or "embedded" for the judge that is part of this program; None for a person or a Python
    function.
    """
    if spec.get("kind") in EMBEDDED_JUDGES:
        return EMBEDDED
    if "kind" in spec:
        return None
    model = read_chat_model(spec)
    # nothing is run here because a store names it
    return None if model.endpoint == PYTHON else model.name


def make_unique_labels(subjects: Mapping[str, ChatModel]) -> dict[str, str]:
    """Return hash -> label to show, for *subjects* (hash -> tested model). If several models have
    the same label, the first six digits of the hash are added to each.
    """
    return _add_hash_suffixes(
        {subject_hash: subject.label for subject_hash, subject in subjects.items()}
    )


def _add_hash_suffixes(labels: Mapping[str, str]) -> dict[str, str]:
    shown = {key: escape_name(label) for key, label in labels.items()}
    times = Counter(shown.values())
    return {
        key: label if times[label] == 1 else f"{label}#{key[:6]}" for key, label in shown.items()
    }


# ------------------------------------------------------------- what a person decided about subjects

COMMAND, MODELS_FILE = "command", "models.yaml"  # where it was said


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision about one tested model: to exclude it from the leaderboards, or to keep
    it although it would be excluded.
    """

    verdict: Literal["exclude", "keep"]
    reason: str  # shown next to the row
    origin: str = COMMAND  # or MODELS_FILE


def store_decision(connection: Connection, subject: str, decision: Decision, now: float) -> None:
    """Store a person's *decision* to exclude or keep the tested model with the hash *subject*, made
    at *now* (seconds since 1970), in place of an earlier decision about that model.
    """
    delete_decision(connection, subject)
    insert_rows(
        connection,
        decisions,
        [read_fields(decision) | {"subject_hash": subject, "decided_at": now}],
    )


def delete_decision(connection: Connection, subject: str) -> None:
    """Delete the stored decision to exclude or keep the tested model with the hash *subject*, if
    there is one.
    """
    connection.execute(delete(decisions).where(decisions.c.subject_hash == subject))


def read_decisions(connection: Connection) -> Mapping[str, Decision]:
    """Return tested model's hash -> a person's decision to exclude that model or keep it, for every
    model that has one; {} in a store of an older version.
    """
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
    """Store the leaderboard rows that others published with data that is imported, as tested
    model's hash -> row. Rows of other models that are stored stay.
    """
    every = {
        subject: read_fields(row)
        for subject, row in (read_published_rows(connection) | dict(rows)).items()
    }
    connection.execute(delete(meta).where(meta.c.name == ROWS))
    connection.execute(insert(meta).values(name=ROWS, value=write_canonical_json(every)))


def read_published_rows(connection: Connection) -> dict[str, PublishedRow]:
    """Return tested model's hash -> the leaderboard row that others published with imported data;
    {} if none is stored.
    """
    stored = connection.execute(select(meta.c.value).where(meta.c.name == ROWS)).scalar()
    with report_damage():
        return {subject: PublishedRow(**row) for subject, row in json.loads(stored or "{}").items()}


# ---------------------------------------------- pictures of characters, and what all of it comes to

PICTURE = "picture of "  # with a protocol's name, its name in `meta`


def store_picture(connection: Connection, protocol: str, png_base64: str | None) -> None:
    """Store *png_base64* (PNG, in base64) as the picture of the character that the protocol named
    *protocol* is about, in place of an earlier one. None: only delete that.
    """
    connection.execute(delete(meta).where(meta.c.name == PICTURE + protocol))
    if png_base64 is not None:
        connection.execute(insert(meta).values(name=PICTURE + protocol, value=png_base64))


def read_picture_base64(connection: Connection, protocol: str) -> str | None:
    """Return the picture (PNG, in base64) of the character that the protocol named *protocol* is
    about; None if none is stored.
    """
    return connection.execute(
        select(meta.c.value).where(meta.c.name == PICTURE + protocol)
    ).scalar()


def _make_time_checksum(time: ColumnElement[float]) -> ColumnElement[int]:
    """Return the SQL for a checksum of the column *time*: the sum of its values in whole
    milliseconds, each modulo 1,000,003. It does not depend on the order of rows, and hardly any
    other times give the same.
    """
    return func.sum(cast(func.round(time * 1000), BigInteger) % 1_000_003)


def hash_store_state(connection: Connection) -> str:
    """Return 16 hexadecimal digits that change with every conversation, judgement, begun run,
    protocol, decision, published row or picture that is stored. Attempts without a result do not
    change them.

    The same records give the same digits, in any store. Reads the time of every conversation and
    judgement, which takes milliseconds for ten thousand of them.
    """
    times = (transcripts.c.finished_at, judgements.c.stored_at)
    counted = [
        connection.execute(select(func.count(), func.max(time), _make_time_checksum(time))).one()
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
