"""What is stored is read back as it was: texts of any content, in every place where the store keeps
texts.

The parts of *data* between zero bytes are the texts. Each round is a transaction that is taken
back.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from sqlalchemy import Connection

from independence_bench.errors import StoreError
from independence_bench.escape import escape_name
from independence_bench.models.response import replace_unstorable_characters
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.conversation import Line, Transcript
from independence_bench.protocol.definition import Configuration, Scenario
from independence_bench.protocol.plan import Job
from independence_bench.store import attempts, registry, results, schema
from independence_bench.store.attempts import CallInfo
from independence_bench.store.blobs import pack_text, unpack_text
from independence_bench.store.database import Store, open_store
from independence_bench.store.results import Judgement, PlayedJob, Reply


@cache
def _store() -> Store:
    folder = tempfile.mkdtemp(prefix="aib-fuzz-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    store = open_store(Path(folder) / "stored.db")
    atexit.register(store.close)
    return store


def check(data: bytes) -> None:
    """Store *data* everywhere and compare; then put it where something of ours was."""
    odd = data.decode("utf-8", "surrogateescape")
    assert unpack_text(pack_text(odd)) == odd, "blobs hold even what columns cannot"
    parts = [
        replace_unstorable_characters(part.decode("utf-8", "surrogateescape"))
        for part in data.split(b"\0")
    ]
    with suppress(TakenBack), _store().open_transaction() as connection:
        _round(connection, parts, odd)
        _damage(connection, data, parts[0])
        raise TakenBack


class TakenBack(Exception):
    """Ends a round, so that the next one begins with an empty store."""


def _round(connection: Connection, parts: Sequence[str], odd: str) -> None:
    one, two, three = (*parts, *parts, *parts)[:3]
    subject = ChatModel(one, two, 0.7, 100, provider=three)
    registry.store_subject(connection, subject)
    assert registry.read_subjects(connection) == {subject.hash: subject}

    files = {f"{number}/{part}": odd for number, part in enumerate(parts)}
    registry.store_protocol(connection, "p", one, files, 1.0)
    assert registry.read_protocols(connection) == [("p", one, files)]

    attempts.claim_calls(connection, [CallInfo("k", "reply", one, two, odd)], {}, "me", 1.0)
    (attempt,) = attempts.begin_attempts(connection, [("k", 100)], "me", 1.0)
    reply = Reply(one, two, three, reason=one)
    results.store_replies(connection, [("k", attempt, reply, 1.0)])
    assert results.find_replies(connection, ["k"]) == {"k": reply}

    talk = Transcript(one, tuple(Line("model", part, two, name=three) for part in parts))
    keys = tuple(parts)
    job = Job(
        subject, 1, Configuration(one, "user_role"), Scenario(two, three, one, (), (), ()), "s"
    )
    played = PlayedJob(job, "p", talk, [(key, reply) for key in keys], reason=two)
    results.store_transcripts(connection, [(played, 1.0)])
    assert results.read_transcript_and_reply_keys(connection, job.transcript_id) == (talk, keys)

    registry.store_judge(connection, "j", one, "{}")
    assert registry.read_judge_labels(connection) == {"j": escape_name(one)}, "as labels are shown"
    judgement = Judgement("g", talk.heard_hash, "r", "j", dict.fromkeys(parts, 0.1), one, two)
    results.store_judgements(connection, [("g", attempt, judgement, 1.0)])
    assert results.find_judgements(connection, ["g"]) == {"g": judgement}


def _damage(connection: Connection, blob: bytes, text: str) -> None:
    """What is not ours any more is read as something, or as one error of ours."""
    connection.execute(schema.protocols.update().values(files=blob))
    connection.execute(schema.transcripts.update().values(lines=pack_text(text), reply_keys=text))
    connection.execute(schema.judgements.update().values(marks=text))
    connection.execute(schema.subjects.update().values(spec=text))
    for read in (
        lambda: registry.read_protocols(connection),
        lambda: list(results.read_script_transcripts(connection, ["s"])),
        lambda: results.find_judgements(connection, ["g"]),
        lambda: registry.read_subjects(connection),
    ):
        with suppress(StoreError):
            read()


SEEDS = (
    b"I stay.\0a note\0because",
    b"\xed\xa0\x80\0\xff\xfe\0'; DROP TABLE replies; --",
    "模型\0\u202e\0\x1b[2J".encode(),
    b"\0\0\0",
    b'{"a": [1]}\0=cmd|x\0../../x',
)
SEEDS += (
    pack_text('{"a.yaml": "text"}'),
    b'["system", [{"speaker": "model", "text": "x"}]]',
    b'{"reasoning": "off"}',
)
FOUND = (pack_text("[" * 100_000),)
