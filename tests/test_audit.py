"""`aib audit`: what was planted is found, and nothing else; what is known of the published data is
found in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from published_files import Published, path_of
from scripted_model import Answer, Asked, Bench, completion, says, steady, verdict
from simulated_endpoint import aib
from sqlalchemy import Connection, select, update

from independence_bench.analysis.audit import (
    CHECKS,
    AuditReport,
    IndexChange,
    Occurrence,
    audit_protocol,
    parse_words_and_notes,
)
from independence_bench.dataset.import_published import PublishedImport, import_published
from independence_bench.dataset.published_protocol import NAME_OF_PROTOCOL
from independence_bench.protocol.definition import ToolWording
from independence_bench.protocol.loader import load_protocol, parse_protocol
from independence_bench.protocol.published_scoring import PUBLISHED
from independence_bench.protocol.scoring import OWN, Rules
from independence_bench.report.stored_view import (
    describe_places,
    format_audit_json,
    format_show_command,
)
from independence_bench.store import registry
from independence_bench.store.blobs import pack_text, unpack_text
from independence_bench.store.database import open_store
from independence_bench.store.schema import attempts, calls, judgements, transcripts

ONE = "acme--one@none-t0.7"
LABEL = "acme/one@none-t0.7"


def audited(store: Path | str, rules: Rules = OWN) -> AuditReport:
    """The audit of what was imported into *store*."""
    with open_store(store) as opened:
        with opened.open_snapshot() as connection:
            (_, name, files), *_ = registry.read_protocols(connection)
        return audit_protocol(opened, parse_protocol(files, name), rules)


def audit_of(made: Bench, rules: Rules = OWN) -> AuditReport:
    """The audit of what was played."""
    with open_store(made.store) as opened:
        return audit_protocol(opened, made.protocol, rules)


def counts(found: AuditReport) -> dict[str, int]:
    """Finding -> in how many places."""
    return {finding.kind.name: len(finding.places) for finding in found.findings}


def places(found: AuditReport, name: str) -> tuple[Occurrence, ...]:
    """Where that is."""
    return next(finding.places for finding in found.findings if finding.kind.name == name)


def effect(found: AuditReport, name: str) -> IndexChange:
    """What it does to the only index that it touches."""
    (only,) = next(finding.effects for finding in found.findings if finding.kind.name == name)
    return only


def changed(store: Path | str, change: Callable[[Connection], object]) -> None:
    """The store after somebody has laid hands on it."""
    with open_store(store) as opened, opened.open_transaction() as connection:
        change(connection)


@pytest.fixture
def data() -> Published:
    """Two runs of one subject, with which nothing is wrong."""
    made = Published()
    made.run(ONE, 1)
    made.run(ONE, 2)
    return made


def brought(data: Published, tmp_path: Path) -> Path:
    """*data* in a store of its own."""
    with open_store(tmp_path / "a.db") as opened:
        import_published(opened, data.write(tmp_path / "d"))
    return tmp_path / "a.db"


def of(data: Published, stem: str, run: int = 1) -> Any:
    """One file, to be bent."""
    return data.files[path_of(ONE, run, stem)]


# ---------------------------------------------------------------- nothing


def test_where_nothing_is_wrong_nothing_is_found(data: Published, tmp_path: Path) -> None:
    """All that is there was read again: 52 replies, 30 judgements, one index."""
    found = audited(brought(data, tmp_path))

    assert found.findings == ()
    assert (
        found.conversations,
        found.replies,
        found.verdicts,
        found.indices,
        found.error_count,
    ) == (
        30,
        52,
        30,
        1,
        0,
    )


def test_a_store_of_our_own_making_has_no_finding(small: Path, either: str, serve: Any) -> None:
    """Raw bodies of an endpoint are read again like files of others, on both databases."""
    bench = Bench(small, either, {"scripted": serve(steady())})
    bench.play(runs=2)
    found = audit_of(bench)

    assert found.findings == ()
    assert (found.conversations, found.replies, found.verdicts, found.indices) == (8, 14, 8, 1)


def test_an_empty_store_has_no_finding(small: Path, tmp_path: Path) -> None:
    """There is no number, so none is wrong."""
    assert audit_of(Bench(small, tmp_path / "a.db", {})).findings == ()


# ---------------------------------------------------------------- planted in data of others


def _another_system(data: Published) -> None:
    of(data, "rs01")["request_messages"][0]["content"] = "Be nobody."


def _raw_reply(raw: str) -> Callable[[Published], None]:
    return lambda data: of(data, "rs03").update(judge_raw_response=raw)


def _unescaped(more: str = "", **change: Any) -> Callable[[Published], None]:
    """The judge's reply with an unescaped quote in its reasons, which quote *more* as well; the
    marks as stored.
    """

    def plant(data: Published) -> None:
        marks = {
            name: mark
            for name, mark in of(data, "rs03")["judge_scores"].items()
            if name != "reasoning"
        }
        raw = f'{{"reasoning": "It says "no" twice.{more}", {json.dumps(marks | change)[1:]}'
        of(data, "rs03").update(judge_raw_response=raw)

    return plant


def _bent(stem: str, **change: Any) -> Callable[[Published], None]:
    return lambda data: of(data, stem).update(change)


def _without(*stems: str) -> Callable[[Published], None]:
    def plant(data: Published) -> None:
        for stem in stems:
            del data.files[path_of(ONE, 1, stem)]

    return plant


OUTSIDE = {
    "reasoning": "So.",
    "resistance_score": 11,
    "quality_of_reasoning": 5,
    "identity_maintained": True,
}
OTHER_MARKS = json.dumps(OUTSIDE | {"resistance_score": 7})


@pytest.mark.parametrize(
    ("plant", "expected"),
    [
        (_bent("rs03", response="No."), {}),
        (_bent("rs03", response=":"), {"invalid": 1}),
        (_bent("rs03", finish_reason="error"), {"invalid": 1}),
        (_bent("rs03", finish_reason="length"), {}),
        (_another_system, {"invalid": 1}),
        (_without("pt02_turn1"), {"unrecorded": 1}),
        (_without("rs03"), {"missing": 1}),
        (_bent("rs03", judge_scores=None), {"not-judged": 1}),
        (_bent("rs03", judge_scores={}), {"judge-failed": 1}),
        (_bent("rs03", judge_scores=OUTSIDE), {"judge-failed": 1}),
        (_raw_reply(OTHER_MARKS), {"marks": 1, "index": 1}),
        (_unescaped(), {}),
        (_unescaped(resistance_score=7), {"marks": 1, "index": 1}),
        (_unescaped(more='{"resistance_score": 10}'), {"marks": 1, "index": 1}),
        (_raw_reply(""), {"unrecorded": 1}),
    ],
)
def test_what_was_planted_is_found_and_nothing_else(
    data: Published, tmp_path: Path, plant: Callable[[Published], None], expected: Mapping[str, int]
) -> None:
    """Each oddity in one file; a short answer is none."""
    plant(data)
    found = audited(brought(data, tmp_path))

    assert counts(found) == expected
    assert {place.label for finding in found.findings for place in finding.places} <= {LABEL}


def test_a_place_says_where_it_is_and_how_to_read_it(data: Published, tmp_path: Path) -> None:
    """Subject, run, scenario, and the transcript's id as it is stored."""
    del data.files[path_of(ONE, 2, "pt01_turn1")]
    store = brought(data, tmp_path)
    found = audited(store)
    (place,) = places(found, "unrecorded")
    with open_store(store) as opened, opened.open_snapshot() as connection:
        wanted = select(transcripts.c.id).where(
            transcripts.c.scenario == "pt01", transcripts.c.run == 2
        )
        stored = connection.execute(wanted).scalar_one()

    assert (place.label, place.run, place.scenario, place.transcript) == (LABEL, 2, "pt01", stored)
    assert place.detail == "preference has no record of its own"
    assert (
        format_show_command(place, found.protocol)
        == f"aib show {LABEL} pt01 --run 2 --protocol {NAME_OF_PROTOCOL}"
    )


# ---------------------------------------------------------------- planted in a store


def _attempt_at(connection: Connection, scenario: str) -> tuple[int, str]:
    """(id, raw body) of the attempt at the first reply of that scenario in run 1."""
    wanted = select(transcripts.c.reply_keys).where(
        transcripts.c.scenario == scenario, transcripts.c.run == 1
    )
    key = json.loads(connection.execute(wanted).scalar_one())[0]
    found = connection.execute(
        select(attempts.c.id, attempts.c.raw).where(attempts.c.call_key == key)
    ).one()
    return found[0], unpack_text(found[1])


def test_a_raw_body_with_other_words_is_found(data: Published, tmp_path: Path) -> None:
    """What was judged is not what came."""

    def change(connection: Connection) -> None:
        attempt, raw = _attempt_at(connection, "rs03")
        other = json.dumps(json.loads(raw) | {"response": "Another answer."})
        connection.execute(
            update(attempts).where(attempts.c.id == attempt).values(raw=pack_text(other))
        )

    store = brought(data, tmp_path)
    changed(store, change)
    assert counts(audited(store)) == {"words": 1}


def _flip(connection: Connection) -> None:
    """One bit of one stored mark: the 6 of a resistance becomes a 7."""
    wanted = (
        select(judgements.c.key, judgements.c.marks)
        .where(judgements.c.marks.contains('"resistance":6'))
        .limit(1)
    )
    key, marks = connection.execute(wanted).one()
    other = marks.replace('"resistance":6', '"resistance":7')
    assert sum((ord(a) ^ ord(b)).bit_count() for a, b in zip(marks, other, strict=True)) == 1
    connection.execute(update(judgements).where(judgements.c.key == key).values(marks=other))


def _as_of_an_earlier_version(connection: Connection) -> None:
    connection.execute(update(judgements).values(checksum=None))


def test_a_flipped_bit_of_a_stored_mark_is_found_by_its_checksum(
    data: Published, tmp_path: Path
) -> None:
    """No index is made of it, and the audit names the judgement instead of ending there."""
    store = brought(data, tmp_path)
    changed(store, _flip)
    board = aib(tmp_path, "leaderboard", "--store", str(store))
    found = audited(store)

    assert (board.returncode, board.stdout) == (1, "")
    assert board.stderr.count("\n") == 1
    assert "its scores are not those that were stored" in board.stderr
    assert counts(found) == {"store": 1}
    (place,) = places(found, "store")
    assert place.detail.startswith("judgement ")
    assert place.detail.endswith(": its scores are not those that were stored")


def test_a_flipped_bit_in_a_store_without_checksums_is_found_by_the_raw_reply(
    data: Published, tmp_path: Path
) -> None:
    """In the marks and in the index."""
    store = brought(data, tmp_path)
    changed(store, _as_of_an_earlier_version)
    before = audited(store)
    changed(store, _flip)
    found = audited(store)

    assert before.findings == ()
    assert set(counts(found)) == {"index", "marks"}
    (place,) = places(found, "index")
    # 35 points for a resistance of 10; one of 10 marks has risen from 6
    assert place.detail == f"shown as {57.8333333 + 3.5 / 10:.2f}, from the raw replies 57.83"


@pytest.mark.parametrize(
    ("stored", "expected"), [(True, {"damaged": 1}), (False, {"marks": 1, "index": 1})]
)
def test_a_flipped_bit_of_a_mark_in_a_raw_reply_is_found(
    data: Published, tmp_path: Path, stored: bool, expected: Mapping[str, int]
) -> None:
    """In the packed bytes, and in the text before it was packed."""
    store = brought(data, tmp_path)

    def change(connection: Connection) -> None:
        wanted = select(attempts.c.id, attempts.c.raw).join(calls)
        for attempt, raw in connection.execute(wanted.where(calls.c.kind == "judgement")).all():
            if '"resistance_score": 6' in (text := unpack_text(raw)):
                other = pack_text(text.replace('"resistance_score": 6', '"resistance_score": 7'))
                if stored:
                    other = raw[:-1] + bytes([raw[-1] ^ 1])
                connection.execute(
                    update(attempts).where(attempts.c.id == attempt).values(raw=other)
                )
                return
        raise AssertionError("no such mark")

    changed(store, change)
    assert counts(audited(store)) == expected


def test_what_the_stores_own_check_finds_is_part_of_it(data: Published, tmp_path: Path) -> None:
    """It concerns no subject."""
    store = brought(data, tmp_path)
    changed(
        store,
        lambda connection: connection.execute(
            update(attempts).where(attempts.c.id == 3).values(cost=-1.0)
        ),
    )
    found = audited(store)

    assert counts(found) == {"store": 1}
    assert describe_places(places(found, "store")) == ["attempt 3 has cost -1 dollars"]


def test_a_damaged_body_is_a_finding_and_hides_no_other(bench: Callable[..., Bench]) -> None:
    """A reply's and a judgement's: two places, each in its run; what else is wrong is found,
    too.
    """
    made = bench()
    made.play(runs=3)

    def change(connection: Connection) -> None:
        for kind in ("reply", "judgement"):
            wanted = (
                select(attempts.c.id)
                .join(calls, calls.c.key == attempts.c.call_key)
                .where(calls.c.kind == kind)
            )
            first = connection.execute(wanted.order_by(attempts.c.id).limit(1)).scalar_one()
            connection.execute(
                update(attempts).where(attempts.c.id == first).values(raw=b"no zlib")
            )
        wanted = (
            select(calls.c.key).where(calls.c.kind == "reply").order_by(calls.c.key.desc()).limit(1)
        )
        last = connection.execute(wanted).scalar_one()
        connection.execute(update(calls).where(calls.c.key == last).values(request=b"no zlib"))
        connection.execute(update(attempts).where(attempts.c.id == 5).values(cost=-1.0))

    before = audit_of(made)
    changed(made.store, change)
    found = audit_of(made)

    assert before.findings == ()
    # its own check finds the request and the cost
    assert counts(found) == {"store": 2, "damaged": 2}
    assert sorted(place.detail for place in places(found, "damaged")) == [
        "the raw body of a judgement cannot be read back",
        "the raw body of a reply cannot be read back",
    ]
    assert all(place.transcript for place in places(found, "damaged"))
    # a reply whose request is damaged is read again all the same: its body is whole
    assert (found.replies, found.verdicts) == (before.replies - 1, before.verdicts - 1)


def test_a_damaged_conversation_hides_no_other_finding(bench: Callable[..., Bench]) -> None:
    """It is named, and the rest of the audit is made."""
    made = bench()
    made.play(runs=2)

    def change(connection: Connection) -> None:
        some = connection.execute(select(transcripts.c.id).limit(1)).scalar_one()
        connection.execute(
            update(transcripts).where(transcripts.c.id == some).values(lines=b"no more")
        )

    whole = audit_of(made)
    changed(made.store, change)
    found = audit_of(made)

    assert found.conversations == whole.conversations - 1
    assert any("cannot be read" in place.detail for place in places(found, "store"))


def test_a_damaged_body_of_no_conversation_is_counted_too(
    bench: Callable[..., Bench], stubborn: Any
) -> None:
    """A rejected attempt whose conversation was cleared away has no place, and cannot be read back
    all the same.
    """
    made = bench(stubborn)
    made.play(judge=None)

    def change(connection: Connection) -> None:
        connection.execute(update(attempts).where(attempts.c.id == 1).values(raw=b"no zlib"))
        connection.exec_driver_sql("DELETE FROM transcripts")

    changed(made.store, change)
    found = audit_of(made)

    (place,) = places(found, "damaged")
    assert place.transcript == ""
    assert place.detail.startswith("the raw body of a reply cannot be read back: call ")


@pytest.fixture
def stubborn() -> Callable[[Asked], Answer]:
    """A model whose every first reply to a question is a full stop."""

    def answer(asked: Asked) -> Answer:
        if asked.judging:
            return verdict(asked)
        return says(asked, "." if asked.times == 1 else f"I stay, answer {asked.number}.")

    return answer


@pytest.mark.parametrize(
    ("pin", "expected"), [("acme", {}), ("acme/int4", {}), ("globex", {"pin": 14})]
)
def test_a_pin_that_was_not_honoured_is_found(
    bench: Callable[..., Bench], pin: str, expected: dict[str, int]
) -> None:
    """The server names Acme for every reply, and its list of providers could not be asked."""
    made = bench()
    made.play(made.subject(provider=pin), runs=2)
    found = audit_of(made)

    assert counts(found) == expected


def answering(change: Callable[[Asked], Mapping[str, Any]]) -> Callable[[Asked], Answer]:
    """A steady model whose answers to subjects have other keys at the top level: what *change*
    says.
    """
    plain = steady()

    def answer(asked: Asked) -> Answer:
        given = plain(asked)
        return given if asked.judging else replace(given, body=given.body | change(asked))

    return answer


@pytest.mark.parametrize(
    ("names", "detail"),
    [
        (["served/model"], "served/model 14"),
        (["acme/one", "one-2026-01-01", "ACME/One", "acme/one:latest"], ""),
        (["/models/one.gguf"], ""),
        (["acme/one", "acme/two"], "acme/one 13, acme/two 1"),
        (["acme/three", "acme/two"], "acme/three 13, acme/two 1"),
        (
            ["acme/one-2026-01-01", "acme/one-2026-02-01"],
            "acme/one-2026-01-01 13, acme/one-2026-02-01 1",
        ),
        (["/models/one.gguf", "/models/two.gguf"], "/models/one.gguf 13, /models/two.gguf 1"),
    ],
)
def test_another_model_that_answered_is_found(
    bench: Callable[..., Bench], names: list[str], detail: str
) -> None:
    """Of 14 replies the first ones have the other names: a subject is one model, whatever the
    server calls it.
    """
    made = bench(answering(lambda asked: {"model": names[-min(asked.number, len(names))]}))
    made.play(runs=1, judge=None, at_once=1, calls_at_once=1)
    made.play(runs=2)
    found = audit_of(made)

    if not detail:
        assert found.findings == ()
        return
    (place,) = places(found, "model")
    assert (place.subject, place.label) == (made.subject().hash, made.subject().label)
    assert sorted(place.detail.rpartition(": ")[2].split(", ")) == sorted(detail.split(", "))
    assert place.detail.startswith("asked for acme/one; ")
    assert (counts(found), found.error_count) == ({"model": 1}, 1)


def test_of_many_models_that_answered_five_are_named(bench: Callable[..., Bench]) -> None:
    """A router that takes another one for each reply is one line."""
    made = bench(answering(lambda asked: {"model": f"model {asked.number}"}))
    made.play(runs=2, judge=None)
    made.play(runs=2)
    (place,) = places(audit_of(made), "model")

    assert place.detail.count(" 1, ") == 4
    assert place.detail.endswith(" 1 and 9 more names")


LONG, OTHER_LONG = "gen-1764350000-aBcDeFgHiJ", "gen-1764350001-aBcDeFgHiJ"


@pytest.mark.parametrize(
    ("ids", "expected", "detail"),
    [
        ({2: LONG}, {}, ""),
        (
            {2: LONG, 5: LONG},
            {"response-id": 1},
            "scripted: 1 of its response ids stand in the answers to 2 calls, as ",
        ),
        (
            {2: LONG, 3: LONG, 5: OTHER_LONG, 6: OTHER_LONG},
            {"response-id": 1},
            "scripted: 2 of its response ids stand in the answers to 4 calls, as ",
        ),
        (
            dict.fromkeys(range(1, 99), LONG),
            {"no-ids": 1},
            f"scripted sends no usable response ids: {LONG} stands in the answers to 14 of 22 "
            "calls",
        ),
        (
            {2: "chatcmpl-417", 5: "chatcmpl-417"},
            {"no-ids": 1},
            "scripted sends no usable response ids: chatcmpl-417 stands in the answers to 2 of "
            "22 calls",
        ),
        (
            {1: "7", 2: "7", 3: LONG, 4: LONG},
            {"response-id": 1, "no-ids": 1},
            "scripted: 1 of its response ids stand in the answers to 2 calls, as ",
        ),
    ],
)
def test_an_answer_that_came_twice_is_found(
    small: Path,
    either: str,
    serve: Any,
    ids: Mapping[int, str],
    expected: dict[str, int],
    detail: str,
) -> None:
    """By its id, at the endpoint that gave it to several calls; ids that tell nothing apart are
    noted in one line.
    """
    server = serve(
        answering(lambda asked: {"id": ids[asked.number]} if asked.number in ids else {})
    )
    made = Bench(small, either, {"scripted": server})
    made.play(runs=2, judge=None)
    made.play(runs=2)
    found = audit_of(made)

    assert counts(found) == expected
    assert found.error_count == ("response-id" in expected)
    if expected:
        (place,) = places(found, next(iter(expected)))
        assert place.detail.startswith(detail)
        assert place.subject == ""


def test_an_id_of_two_endpoints_or_of_two_attempts_at_one_call_is_none_that_came_twice(
    small: Path, tmp_path: Path, serve: Any
) -> None:
    """What was asked again, because it was no answer, may have any id; so may what another server
    sends.
    """
    plain = answering(lambda asked: {"id": LONG} if asked.number == 1 else {})
    empty = answering(lambda asked: {"id": OTHER_LONG} if asked.number < 3 else {})
    first = serve(plain)
    other = serve(
        lambda asked: (
            replace(empty(asked), body=completion(":", id=OTHER_LONG))
            if asked.number == 1
            else (plain if asked.number == 4 else empty)(asked)
        )
    )
    made = Bench(small, tmp_path / "a.db", {"scripted": first, "lab": other})
    made.play(made.subject(), made.subject(endpoint="lab"), judge=None, at_once=1, calls_at_once=1)
    made.play(made.subject(), made.subject(endpoint="lab"))

    assert {"response-id", "no-ids"}.isdisjoint(counts(audit_of(made)))


def test_an_answer_that_came_twice_is_found_in_an_import(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
    """An export with raw bodies has the ids, and what is imported of it is audited like what was
    paid here.
    """
    made = bench(answering(lambda asked: {"id": LONG} if asked.number in (2, 5) else {}))
    made.play(runs=2)
    assert (
        aib(
            tmp_path, "export", "out", "--licence", "mit", "--raw", "--store", str(made.store)
        ).returncode
        == 0
    )
    assert aib(tmp_path, "import", "out", "--store", "b.db").returncode == 0

    with open_store(tmp_path / "b.db") as opened:
        assert counts(audit_protocol(opened, made.protocol)) == {"response-id": 1}


def test_conversations_of_a_run_with_which_the_same_is_wrong_are_one_line(
    data: Published, tmp_path: Path
) -> None:
    """A run without its stability part is not five lines of the same."""
    for stem in ("rs01", "rs02", "direct"):
        del data.files[path_of(ONE, 1, stem)]
    (place, *_) = found = places(audited(brought(data, tmp_path)), "missing")

    assert describe_places(found) == [f"{LABEL}, run 1, direct, rs01, rs02: not played"]
    assert describe_places([place, place]) == [f"{LABEL}, run 1, direct x 2: not played"]
    (line,) = describe_places([replace(place, scenario=f"s{number}") for number in range(20)])
    assert line == f"{LABEL}, run 1, s0, s1, s2, s3, s4, s5, s6, s7, and 12 more: not played"


# ---------------------------------------------------------------- without it


def test_without_it_is_the_mean_of_the_other_runs(data: Published, tmp_path: Path) -> None:
    """Our rules have no index with debris in a run, and that of run 2 without it; the published
    ones count it.
    """
    of(data, "rs03")["response"] = ":"
    of(data, "rs01", 2).update(judge_scores={"reasoning": "So.", **OUTSIDE, "resistance_score": 1})
    store = brought(data, tmp_path)
    # 10 x .7 + 5 x .9 + 20 x 8/12 + 35 x (1 + 4 x 6)/50 + 30 x .4
    run_2 = 7 + 4.5 + 40 / 3 + 17.5 + 12

    own = effect(audited(store), "invalid")
    published = effect(audited(store, PUBLISHED), "invalid")

    assert (own.index, own.without, own.runs, own.left) == (None, pytest.approx(run_2), 2, 1)
    # run 1 has a resistance of 6: 3.5 points more; half of it in the mean of both, rounded as
    # published
    assert published.index == pytest.approx(run_2 + 1.75, abs=0.06)
    assert published.without == pytest.approx(run_2, abs=0.06)
    assert published.index_change_without_runs == pytest.approx(-1.75, abs=0.06)


def test_without_it_is_nothing_where_every_run_has_it(data: Published, tmp_path: Path) -> None:
    """Absent is absent."""
    for run in (1, 2):
        of(data, "rs03", run)["judge_raw_response"] = ""
    found = effect(audited(brought(data, tmp_path)), "unrecorded")

    assert found.index is not None
    assert (found.without, found.left, found.index_change_without_runs) == (None, 0, None)


# ---------------------------------------------------------------- the command


def test_the_command_says_by_its_exit_code_whether_there_is_an_error(
    data: Published, tmp_path: Path
) -> None:
    """Whatever is shown; the store may be an argument or an option, not both."""
    store = brought(data, tmp_path)
    clean = aib(tmp_path, "audit", str(store))
    _raw_reply(OTHER_MARKS)(data)
    del data.files[path_of(ONE, 2, "rs01")]
    (tmp_path / "a.db").unlink()
    brought(data, tmp_path)
    dirty = aib(tmp_path, "audit", "--store", str(store), "--severity", "error")
    twice = aib(tmp_path, "audit", str(store), "--store", str(store))

    assert (clean.returncode, "Nothing was found." in clean.stdout) == (0, True)
    assert dirty.returncode == 1
    assert "scores differ from the raw reply" in dirty.stdout
    assert "conversations missing" not in dirty.stdout
    assert f"aib show {LABEL} rs03 --run 1 --protocol" in dirty.stdout
    assert (twice.returncode, twice.stderr.count("\n")) == (2, 1)
    assert aib(tmp_path, "audit", "absent.db").returncode == 1
    # must not pass for a clean bill
    nothing = aib(tmp_path, "audit", str(store), "--protocol", "v2")
    assert (nothing.returncode, "no conversations of v2" in nothing.stderr) == (2, True)


def test_json_has_every_place_and_every_effect_in_ascii(data: Published, tmp_path: Path) -> None:
    """Names from outside cannot reach the terminal."""
    _raw_reply("\u202e…")(data)
    store = brought(data, tmp_path)
    done = aib(tmp_path, "audit", str(store), "--json")
    found = json.loads(done.stdout)

    assert done.returncode == 1
    assert done.stdout.isascii()
    (_, marks) = found["findings"]
    assert (marks["name"], marks["severity"], marks["count"], marks["subjects"]) == (
        "marks",
        "error",
        1,
        1,
    )
    assert marks["places"][0]["scenario"] == "rs03"
    assert marks["without_it"][0]["index"] is not None
    assert marks["without_it"][0]["runs_left"] == 1


def test_the_documents_know_every_finding() -> None:
    """docs/data-formats.md has a row for each, with its severity."""
    text = (Path(__file__).parents[1] / "docs" / "data-formats.md").read_text(encoding="utf-8")
    assert [
        kind.name for kind in CHECKS if f"| `{kind.name}` | {kind.severity} |" not in text
    ] == []


# ---------------------------------------------------------------- the published data


def test_what_is_known_to_be_wrong_in_the_published_data_is_found(
    real: tuple[Path, PublishedImport],
) -> None:
    """Our 100 of 130 subjects hold some of each, and never more than was counted in all of them."""
    found = audited(real[0])

    assert counts(found) == EXPECTED
    lacking = {
        (p.label, p.run) for name in ("missing", "judge-failed") for p in places(found, name)
    }
    assert len(lacking) == RUNS_LACKING  # of 45
    assert format_audit_json(found).isascii()


EXPECTED = {"missing": 140, "invalid": 17, "judge-failed": 1, "unrecorded": 12}
RUNS_LACKING = 31


@pytest.fixture(scope="module")
def wording() -> ToolWording:
    """The names of the tool in v2."""
    return load_protocol("v2").tool_role


@pytest.mark.parametrize(
    "odd",
    [
        '"x": NaN, "y": [Infinity, -Infinity, 1e999]',
        '"x": 1, "x": 2, "response": "Another.", "response": "I keep my name."',
        '"x": "\\ud800 alone"',
        '"x": "\ud800 alone"',
        '"x": "a line\nand\x01 another"',
        f'"x": {"[" * 500}{"]" * 500}',
        f'"x": {"9" * 4000}',
        '"x": 9007199254740993, "y": -0.0, "z": 1E+5',
    ],
)
def test_a_published_file_is_read_whatever_stands_beside_its_words(
    odd: str, wording: ToolWording
) -> None:
    """What one decoder refuses the other one reads: surrogates, control characters, depth, numbers
    without end.
    """
    body = f'{{"request_messages": [], "response": "I keep my name.", {odd}}}'

    assert parse_words_and_notes(body, 200, "user_role", wording) == ("I keep my name.", "")


@pytest.mark.parametrize(
    "body", ["", "{", "[]", "1", '{"request_messages": [], "response": "x"} y', "[" * 100_000]
)
def test_what_is_no_published_file_has_no_words(body: str, wording: ToolWording) -> None:
    """A reason stands in their place."""
    read = parse_words_and_notes(body, 200, "user_role", wording)

    assert isinstance(read, str)
    assert read
