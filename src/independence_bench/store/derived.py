"""What follows from the rest of a store and can be thrown away: where words stand, and answers of
`aib view`.

Words stand in the database's own full-text index, FTS5 of SQLite, tsvector of PostgreSQL:

    begin(connection, rule)  # where there is none by that rule
    wanted = lacking(connection, "said")  # what is not in it yet
    add(connection, "said", [Piece(key, stamp, 0, words)])
    places(connection, "said", "stay", prefix=False)  # "4099,...": number x PLACES + place, of each "stay"

Whoever searches puts in what is lacking, so whoever writes pays nothing for it. Its tables,
`search_...`, are of no version of the store, whose rows they say again: they are made by who needs
them first, and can be thrown away at any time. As nothing can be taken out of them one by one in
every SQLite, that is what a deletion does. Knows no rule by which a text becomes words: *rule*
names it, and what another one made is made anew.

Answers that took long to work out are kept by the hash of their causes, so that the same store is
waited for once.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import (
    Column,
    Connection,
    Index,
    MetaData,
    String,
    Table,
    delete,
    func,
    insert,
    inspect,
    select,
    table,
    text,
    update,
)
from sqlalchemy.exc import DatabaseError, SQLAlchemyError

from independence_bench.errors import StoreError
from independence_bench.hashing import content_hash
from independence_bench.store.database import Store
from independence_bench.store.registry import state_of
from independence_bench.store.rows import KEYS, in_chunks, insert_rows, rows_of, write_rows
from independence_bench.store.schema import (
    Real,
    Whole,
    attempts,
    judgements,
    transcripts,
    worked_out,
)

PIECE = 4_000  # places in a row: a tsvector has positions up to 16,383, and 255 of a word
PLACES = 4_096  # more than that
NOWHERE = ""  # in the place of a word: there is none
# what FTS5, which counts what it is given, takes for one; no letter, so no query has it
_FILLER = "\ue000"
RULE = 0  # the row that says by what rule the others were made

rows = Table(
    "search_rows",
    MetaData(),
    Column("number", Whole, primary_key=True, autoincrement=False),
    Column("kind", String, nullable=False),
    # of the transcript, of the judgement; "": of what was replaced since
    Column("key", String, nullable=False),
    Column("stamp", Real, nullable=False),  # when that was stored
    Column("start", Whole, nullable=False),  # the first word's place in the whole
    Index("search_rows_by_key", "key", "kind"),
)
# kind -> the key, when that was stored, what tells those that count, and what the texts of one
# conversation share
SOURCES = {
    "said": (
        transcripts.c.id,
        transcripts.c.finished_at,
        transcripts.c.id.is_not(None),
        (transcripts.c.id,),
    ),
    "judged": (
        judgements.c.key,
        judgements.c.stored_at,
        judgements.c.state == "valid",
        (judgements.c.heard_hash, judgements.c.rubric_hash),
    ),
}
_MADE = {
    "sqlite": (
        # the words are split by spaces, and by nothing else that is no ASCII
        "CREATE VIRTUAL TABLE IF NOT EXISTS search_{kind} USING fts5(words, content='', tokenize='ascii')",
        "CREATE VIRTUAL TABLE IF NOT EXISTS search_{kind}_places USING fts5vocab(search_{kind}, instance)",
    ),
    "postgresql": (
        "CREATE TABLE IF NOT EXISTS search_{kind} (number BIGINT PRIMARY KEY, words TSVECTOR NOT NULL)",
        "CREATE INDEX IF NOT EXISTS search_{kind}_words ON search_{kind} USING gin (words)",
    ),
}
_ADDED = {
    "sqlite": "INSERT INTO search_{kind} (rowid, words) VALUES (:number, :words)",
    "postgresql": "INSERT INTO search_{kind} VALUES (:number, CAST(:words AS tsvector))",
}
# as one text: a value by itself costs the driver more than the database; in parts all would be
# sorted first
_FOUND = {
    # as bytes, because a text is copied once more on its way out
    "sqlite": 'SELECT CAST(group_concat(doc * {places} + "offset") AS BLOB) FROM search_{kind}_places WHERE {term}',
    "postgresql": "SELECT string_agg((number * {places} + place - 1)::text, ',') FROM search_{kind}, "
    "unnest(words) AS found (term, places, weights), unnest(places) AS place "
    "WHERE words @@ CAST(:query AS tsquery) AND {term}",
}
_PREFIX = {
    "sqlite": "term >= :word AND term < :beyond",
    "postgresql": "left(term, length(:word)) = :word",
}


@dataclass(frozen=True, slots=True)
class Piece:
    """At most `PIECE` words of what is stored under *key*, from the place *start* on; a place may
    have none.
    """

    key: str
    stamp: float
    start: int
    words: Sequence[str]


def made_by(connection: Connection, rule: str) -> str | None:
    """The name of the index that there is by *rule*, which no other one has had; None where there
    is none.
    """
    if not inspect(connection).has_table(rows.name):
        return None
    name = connection.execute(select(rows.c.key).where(rows.c.number == RULE)).scalar()
    return name if name is not None and name.startswith(f"{rule} ") else None


def begin(connection: Connection, rule: str) -> str:
    """Make an empty index by *rule* in the place of any other; its name. Raises SQLAlchemyError
    where none can be.
    """
    forget(connection)
    rows.create(connection, checkfirst=True)
    for kind in SOURCES:
        for sql in _MADE[connection.dialect.name]:
            connection.exec_driver_sql(sql.format(kind=kind))
    name = f"{rule} {uuid.uuid4().hex}"
    connection.execute(insert(rows).values(number=RULE, kind="rule", key=name, stamp=0.0, start=0))
    return name


def forget(connection: Connection) -> None:
    """Take all out of the index, with all that it says of what was deleted."""
    # to drop a table of PostgreSQL's would wait for whoever reads; one of SQLite's may be damaged
    how = "DELETE FROM" if connection.dialect.name == "postgresql" else "DROP TABLE"
    there = inspect(connection).get_table_names()
    for name in (
        rows.name,
        *(f"search_{kind}{part}" for kind in SOURCES for part in ("_places", "")),
    ):
        if name in there:
            try:
                connection.exec_driver_sql(f"{how} {name}")
            except DatabaseError:
                if connection.dialect.name != "sqlite":
                    raise
                _strike_out(connection, name)


def _strike_out(connection: Connection, name: str) -> None:
    """Take out an FTS5 table that SQLite does not load, and so does not drop: damaged, or it is
    without FTS5.
    """
    connection.exec_driver_sql("PRAGMA writable_schema = ON")
    connection.exec_driver_sql("DELETE FROM sqlite_master WHERE name = ?", (name,))
    connection.exec_driver_sql("PRAGMA writable_schema = RESET")
    for part in ("data", "idx", "docsize", "config"):
        connection.exec_driver_sql(f"DROP TABLE IF EXISTS {name}_{part}")


def is_sound(connection: Connection) -> bool:
    """Whether each row has its words, and nothing is left of what is not stored any more.

    An earlier version of aib deletes and does not know of the index.
    """
    for kind, (key, *_) in SOURCES.items():
        counted = select(func.count()).select_from(rows).where(rows.c.kind == kind)
        with_words = select(func.count()).select_from(table(f"search_{kind}"))
        # NOT IN would be compared row by row with everything by a PostgreSQL that knows how much
        # there is
        stored = select(key).where(key == rows.c.key).exists()
        strange = select(rows.c.number).where(rows.c.kind == kind, rows.c.key != "", ~stored)
        if connection.execute(counted).scalar() != connection.execute(with_words).scalar():
            return False
        if connection.execute(strange.limit(1)).first() is not None:
            return False
    return True


def lacking(
    connection: Connection, kind: str, among: Collection[str] | None = None
) -> Iterator[tuple[str, float]]:
    """The key of what is stored and not in the index as it is now, and when it was stored; the
    newest first.
    """
    key, stamp, counts, _ = SOURCES[kind]
    there = (
        select(rows.c.number)
        .where(rows.c.key == key, rows.c.kind == kind, rows.c.stamp == stamp)
        .exists()
    )
    wanted = select(key, stamp).where(counts, ~there).order_by(stamp.desc(), key)
    if among is not None:
        wanted = wanted.where(key.in_(KEYS))
    given = {} if among is None else {"keys": list(among)}
    for found in connection.execute(wanted.execution_options(yield_per=1000), given):
        yield found[0], found[1]


def add(connection: Connection, kind: str, pieces: Sequence[Piece]) -> None:
    """Put *pieces* in, in the place of what there is of the same keys, in a transaction in which
    nobody else writes.
    """
    for keys in in_chunks({piece.key for piece in pieces}):
        replaced = update(rows).where(rows.c.key.in_(KEYS), rows.c.kind == kind).values(key="")
        connection.execute(replaced, {"keys": keys})
    numbered = list(enumerate(pieces, last(connection) + 1))
    insert_rows(
        connection,
        rows,
        [
            {
                "number": number,
                "kind": kind,
                "key": piece.key,
                "stamp": piece.stamp,
                "start": piece.start,
            }
            for number, piece in numbered
        ],
    )
    database = connection.dialect.name
    written = _vector if database == "postgresql" else _spaced
    texts = [{"number": number, "words": written(piece.words)} for number, piece in numbered]
    write_rows(connection, _ADDED[database].format(kind=kind), texts)


def last(connection: Connection) -> int:
    """The number of the last row."""
    return int(connection.execute(select(func.max(rows.c.number))).scalar_one())


def each_row(
    connection: Connection, kind: str
) -> Iterator[tuple[int, int, str, str | tuple[str, str]]]:
    """(number, start, key, what all texts of one conversation share) of each row, those of one key
    together.

    The last is the id of the transcript, or of judgements the hashes of what was heard and of the
    rubric.
    """
    key, _, _, about = SOURCES[kind]
    wanted = (
        select(rows.c.number, rows.c.start, key, *about)
        .join(rows, rows.c.key == key)
        .where(rows.c.kind == kind)
    )
    for found in connection.execute(
        wanted.order_by(rows.c.number).execution_options(yield_per=1000)
    ):
        number, start, of, first, *second = found
        yield number, start, of, (first, second[0]) if second else first


def places(connection: Connection, kind: str, word: str, prefix: bool) -> str | bytes:
    """Where *word* stands, or what begins with it: number x `PLACES` + place in that row, in no
    order, with commas.
    """
    database = connection.dialect.name
    term = _PREFIX[database] if prefix else "term = :word"
    given: Mapping[str, str] = {"word": word}
    if database == "postgresql":
        given = {"word": word, "query": _quoted(word) + (":*" if prefix else "")}
    elif prefix:
        given = {"word": word, "beyond": f"{word}\U0010ffff"}
    places_written = connection.execute(
        text(_FOUND[database].format(kind=kind, term=term, places=PLACES)), given
    ).scalar()
    return places_written or ""


def _spaced(words: Sequence[str]) -> str:
    return " ".join(word or _FILLER for word in words)


def _vector(words: Sequence[str]) -> str:
    """As PostgreSQL writes a tsvector: each word with its places, which count from 1."""
    places_of: dict[str, list[str]] = defaultdict(list)
    for place, word in enumerate(words, 1):
        if word:
            places_of[word].append(str(place))
    return " ".join(f"{_quoted(word)}:{','.join(where)}" for word, where in places_of.items())


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


# ---------------------------------------------------------------- answers


def cause_of(store: Store, *more: str) -> tuple[str, str]:
    """The state of *store* (`state_of`), and the hash of that, of its attempts as far as they went,
    and of *more*.
    """
    with store.reading() as connection:
        state = state_of(connection)
        made = func.max(attempts.c.id), func.count(attempts.c.outcome), func.sum(attempts.c.cost)
        ended = connection.execute(select(*made)).one()
    return state, content_hash([state, *map(str, ended), *more])


def find_worked_out(store: Store, cause: str) -> dict[str, str]:
    """Name -> value, of what is kept with that *cause*; {} in an older store, which keeps none, or
    where it is damaged:

    what can be worked out again is nothing to complain of.
    """
    try:
        with store.reading() as connection:
            return {
                name: value for name, its, value in rows_of(connection, worked_out) if its == cause
            }
    except (StoreError, SQLAlchemyError):
        return {}


def keep_worked_out(store: Store, cause: str, values: Mapping[str, str]) -> None:
    """Keep *values* in the place of all others, unless the store is an older one or may not be
    written just now.
    """
    if not store.is_newest:
        return
    try:
        with store.writing() as connection:
            connection.execute(delete(worked_out))
            insert_rows(
                connection,
                worked_out,
                [{"name": name, "cause": cause, "value": value} for name, value in values.items()],
            )
    except StoreError:
        return  # they are worked out the next time, too
