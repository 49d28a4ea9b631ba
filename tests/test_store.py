"""The ledger: leases, what is never replaced, what it has cost, durable commits, and how a store is
made.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from postgres import Server
from scripted_model import Bench, steady
from sqlalchemy import (
    BigInteger,
    Connection,
    Float,
    Integer,
    event,
    func,
    insert,
    select,
    text,
    update,
)

from independence_bench.api.named import find_shipped_or_stored_protocol
from independence_bench.errors import ProtocolError, StoreError
from independence_bench.models.messages import Kind, Usage
from independence_bench.models.spec import ChatModel, Reasoning
from independence_bench.protocol.conversation import Line, Transcript
from independence_bench.protocol.definition import Configuration, Scenario
from independence_bench.protocol.loader import parse_protocol
from independence_bench.protocol.plan import Job
from independence_bench.protocol.scoring import score_run
from independence_bench.store import attempts, bulk, registry, schema
from independence_bench.store import results as stored_results
from independence_bench.store.attempts import CallInfo, EarlierAttempts, Ended, Spending
from independence_bench.store.blobs import pack_text
from independence_bench.store.database import Store, open_store
from independence_bench.store.group_commit import Commits
from independence_bench.store.owners import make_owner_name
from independence_bench.store.results import Judgement, PlayedJob, Reply

NOW = 1_700_000_000.0
CALL = CallInfo("k1", "reply", "scripted", "acme/one", '{"messages": []}')
MODEL = ChatModel("acme/one", "scripted", 0.7, 100)
JOB = Job(
    MODEL, 1, Configuration("strong", "tool_role"), Scenario("c", "e", "a title", (), (), ()), "s"
)
HERE = "|".join(make_owner_name().split("|")[:3])  # this machine, its boot, this process namespace
# a container of this machine
ELSEWHERE = "|".join([*make_owner_name().split("|")[:2], "pid:[1]", "1", "", "abc"])


@pytest.fixture
def store(either: str) -> Iterator[Store]:
    """A new store, on SQLite and on PostgreSQL."""
    with open_store(either) as opened:
        yield opened


@pytest.fixture
def file_store(tmp_path: Path) -> Iterator[Store]:
    """A new store in a file, for what only SQLite does."""
    with open_store(tmp_path / "aib.db") as opened:
        yield opened


def owner(number: int) -> str:
    """One of several owners that are all alive: this very process."""
    return f"{HERE}|{os.getpid()}||owner{number}"


def claim(store: Store, who: str, now: float = NOW, call: CallInfo = CALL) -> bool:
    """Claim a call in a transaction of its own, beside others; whether it is claimed."""
    with store.open_shared_transaction() as connection:
        return bool(
            attempts.claim_calls(
                connection, [call], attempts.find_holders(connection, [call.key]), who, now
            )
        )


def attempt(
    store: Store,
    outcome: str,
    cost: float | None,
    call: CallInfo = CALL,
    who: str = owner(1),
    now: float = NOW,
) -> int:
    """Claim, begin and end one attempt, and give the claim back."""
    with store.open_transaction() as connection:
        assert attempts.claim_calls(
            connection, [call], attempts.find_holders(connection, [call.key]), who, now
        )
        number = attempts.begin_attempts(connection, [(call.key, 100)], who, now)[0]
        attempts.record_attempt_ends(
            connection, [(number, Ended(outcome, "", Usage(cost=cost), 1.0, "{}"))], now
        )
        attempts.release_claims(connection, [call.key], who)
    return number


def dead_process() -> int:
    """The number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    return child.pid


# ---------------------------------------------------------------- claims and leases


def test_a_claim_keeps_others_out_until_it_is_given_back(store: Store) -> None:
    """Two processes that share a store must not buy one reply twice."""
    assert claim(store, owner(1))
    assert not claim(store, owner(2))
    assert not claim(store, owner(1)), (
        "not even its owner claims a call twice: two tasks may want it"
    )

    with store.open_transaction() as connection:
        attempts.release_claims(connection, [CALL.key], owner(1))

    assert claim(store, owner(2))


def test_only_its_owner_can_give_a_claim_back(store: Store) -> None:
    """A late process must not free what another one is buying by now."""
    claim(store, owner(1))

    with store.open_transaction() as connection:
        attempts.release_claims(connection, [CALL.key], owner(2))

    assert not claim(store, owner(3))


def test_the_claim_of_a_dead_process_of_this_machine_is_taken_at_once(store: Store) -> None:
    """After a kill nobody waits for a lease to run out."""
    claim(store, f"{HERE}|{dead_process()}||x")

    assert claim(store, owner(1), NOW + 0.1)


def test_the_claim_of_another_machine_is_taken_only_when_its_lease_is_over(store: Store) -> None:
    """Whether that process lives cannot be known from here."""
    claim(store, ELSEWHERE)

    assert not claim(store, owner(1), NOW + attempts.LEASE - 1)
    assert claim(store, owner(1), NOW + attempts.LEASE)


def test_renewing_keeps_every_claim_of_one_owner(store: Store) -> None:
    """A slow reply outlives its first lease."""
    other = CallInfo("k2", "reply", "scripted", "acme/one", "{}")
    claim(store, ELSEWHERE)
    claim(store, ELSEWHERE, call=other)
    claim(store, owner(2), call=CallInfo("k3", "reply", "scripted", "acme/one", "{}"))

    with store.open_transaction() as connection:
        attempts.renew_claims(connection, ELSEWHERE, NOW + 60)

    later = NOW + attempts.LEASE + 30
    assert not claim(store, owner(1), later)
    assert not claim(store, owner(1), later, other)
    assert claim(store, owner(1), later, CallInfo("k3", "reply", "scripted", "acme/one", "{}"))


def at_once(threads: int, work: Callable[[int], object]) -> None:
    """Do *work* in so many threads, each with its number, and wait for all of them."""
    every = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for thread in every:
        thread.start()
    for thread in every:
        thread.join()


def winners_of(either: str, calls: list[CallInfo], now: float) -> Counter[str]:
    """How often each of *calls* was claimed by eight who all want all of them."""
    winners: Counter[str] = Counter()
    gate = threading.Barrier(8)

    def race(number: int) -> None:
        with open_store(either) as mine:
            gate.wait()
            for call in calls:
                if claim(mine, owner(number), now, call):
                    winners[call.key] += 1

    at_once(8, race)
    return winners


WANTED = [CallInfo(f"k{number}", "reply", "scripted", "acme/one", "{}") for number in range(25)]


def test_of_many_that_want_one_call_exactly_one_gets_it(either: str) -> None:
    """A race between connections has one winner, in a store that none of them has made yet."""
    assert winners_of(either, WANTED, NOW) == {call.key: 1 for call in WANTED}


def test_of_many_that_take_over_a_dead_process_exactly_one_gets_each_call(either: str) -> None:
    """They all see that it is free, and one of them has it."""
    with open_store(either) as first:
        for call in WANTED:
            claim(
                first, f"{HERE}|{dead_process()}||x" if call is WANTED[0] else ELSEWHERE, call=call
            )

    assert winners_of(either, WANTED, NOW + attempts.LEASE) == {call.key: 1 for call in WANTED}


def test_what_somebody_has_claimed_meanwhile_is_left_to_them(database: str) -> None:
    """Two look, both see a call that is free, one claims it: the other one has the call neither
    then nor later.
    """
    with open_store(database) as one, open_store(database) as other:
        attempt(one, "answered", 0.5)
        with one.open_shared_transaction() as mine, other.open_shared_transaction() as theirs:
            seen = attempts.find_holders(theirs, [CALL.key])
            assert attempts.claim_calls(
                mine, [CALL], attempts.find_holders(mine, [CALL.key]), owner(1), NOW
            )
            assert not attempts.claim_calls(theirs, [CALL], seen, owner(2), NOW), (
                "its row is being changed"
            )
        with other.open_shared_transaction() as theirs:
            assert not attempts.claim_calls(theirs, [CALL], seen, owner(2), NOW), (
                "what was seen is over"
            )


def test_claims_of_different_calls_do_not_wait_for_each_other(database: str) -> None:
    """Who holds the whole store still waits until both have ended."""
    second = CallInfo("k2", "reply", "scripted", "acme/one", "{}")
    with (
        open_store(database) as one,
        open_store(database) as other,
        open_store(database, wait=0.1) as alone,
    ):
        claim(one, owner(1), call=CallInfo("k0", "reply", "scripted", "acme/one", "{}"))
        with one.open_shared_transaction() as mine:
            assert attempts.claim_calls(mine, [CALL], {}, owner(1), NOW)
            first = attempts.begin_attempts(mine, [(CALL.key, 100)], owner(1), NOW)
            with other.open_shared_transaction() as theirs:
                assert attempts.claim_calls(theirs, [second], {}, owner(2), NOW)
                assert attempts.begin_attempts(theirs, [(second.key, 100)], owner(2), NOW) != first
            with pytest.raises(StoreError, match="cannot be written"), alone.open_transaction():
                pass


def test_two_commits_that_wait_for_each_other_are_both_carried_out(database: str) -> None:
    """The server undoes one of them, and it is done again."""
    met = threading.Barrier(2)
    tries: Counter[str] = Counter()

    def crossing(connection: Connection, names: tuple[str, str]) -> None:
        tries[names[0]] += 1
        for place, name in enumerate(names):
            connection.execute(
                schema.meta.update().where(schema.meta.c.name == name).values(value=names[0])
            )
            if place == 0 and tries[names[0]] == 1:
                met.wait()

    async def commit(names: tuple[str, str]) -> None:
        with open_store(database) as store:
            async with Commits(store) as commits:
                await commits.commit_operation(partial(crossing, names=names))

    with open_store(database) as store, store.open_transaction() as connection:
        connection.execute(
            schema.meta.insert(), [{"name": name, "value": ""} for name in ("a", "b")]
        )
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda names: asyncio.run(commit(names)), [("a", "b"), ("b", "a")]))

    first, other = sorted(tries.values())
    assert first == 1
    assert other >= 2  # a busy server may undo the same one twice


def test_what_a_transaction_has_looked_up_still_holds_when_it_writes(either: str) -> None:
    """Writers follow each other: a sum that two of them read and raise at once is raised twice."""

    def raise_it(connection: Connection) -> None:
        before = connection.execute(
            select(schema.meta.c.value).where(schema.meta.c.name == "sum")
        ).scalar_one()
        connection.execute(
            update(schema.meta)
            .where(schema.meta.c.name == "sum")
            .values(value=str(int(before) + 1))
        )

    def work(_number: int) -> None:
        with open_store(either) as mine:
            for _ in range(25):
                with mine.open_transaction() as connection:
                    raise_it(connection)

    with open_store(either) as store, store.open_transaction() as connection:
        connection.execute(insert(schema.meta).values(name="sum", value="0"))
    at_once(4, work)

    with open_store(either) as store, store.open_snapshot() as connection:
        assert (
            connection.execute(
                select(schema.meta.c.value).where(schema.meta.c.name == "sum")
            ).scalar_one()
            == "100"
        )


def test_a_reader_sees_one_moment_and_waits_for_nobody(either: str) -> None:
    """A ranking is made of several questions to the store, while another process plays on."""
    with open_store(either) as writer, open_store(either) as reader:
        claim(writer, owner(1))
        with reader.open_snapshot() as connection:
            before = connection.execute(select(schema.calls.c.key)).scalars().all()
            claim(writer, owner(1), call=CallInfo("k2", "reply", "scripted", "acme/one", "{}"))
            assert (
                connection.execute(select(schema.calls.c.key)).scalars().all() == before == ["k1"]
            )
        with reader.open_snapshot() as connection:
            assert len(connection.execute(select(schema.calls.c.key)).scalars().all()) == 2


def test_who_waits_too_long_for_another_process_says_so(either: str) -> None:
    """One line, and the other one's work is untouched."""
    with open_store(either) as holder, open_store(either, wait=0.2) as late:
        assert claim(holder, owner(1))
        with holder.open_transaction() as connection:
            attempts.release_claims(connection, [CALL.key], owner(1))
            with pytest.raises(
                StoreError, match="another process has held it for too long"
            ) as raised:
                claim(late, owner(2))
        assert "\n" not in str(raised.value)
        assert claim(late, owner(2)), "it is free again, and so is the connection"


def test_a_server_that_claims_absurd_counts_is_written_down(store: Store) -> None:
    """Up to a million million: more than a 32-bit column holds."""
    usage = Usage(10**12 - 1, 10**12 - 1, 10**12 - 1, 10**12 - 1, 0.5)
    with store.open_transaction() as connection:
        attempts.claim_calls(
            connection, [CALL], attempts.find_holders(connection, [CALL.key]), owner(1), NOW
        )
        number = attempts.begin_attempts(connection, [(CALL.key, 10**11)], owner(1), NOW)[0]
        ended = Ended("unavailable", "", usage, 1.0, "{}", status=10**11)
        attempts.record_attempt_ends(connection, [(number, ended)], NOW)

    with store.open_snapshot() as connection:
        (row,) = attempts.read_attempts(connection, [CALL.key])
    assert (row["prompt_tokens"], row["status"], row["max_tokens"]) == (10**12 - 1, 10**11, 10**11)


def test_a_resumed_call_remembers_its_broken_and_cut_off_attempts(store: Store) -> None:
    """The policy counts tries over restarts; what was nobody's fault is not counted, what was cut
    off is paid for.
    """
    ended = [
        Kind.BROKEN,
        "cut off",
        Kind.WRONG_PROVIDER,
        Kind.BROKEN,
        "cut off",
        Kind.UNAVAILABLE,
        "lost",
    ]
    numbers = [attempt(store, outcome, None) for outcome in ended]

    with store.open_snapshot() as connection:
        assert attempts.find_earlier_attempts(connection, [CALL.key, "never asked"]) == {
            CALL.key: EarlierAttempts(broken=2, cut_off=2, spare=(numbers[4], "{}"))
        }


# ---------------------------------------------------------------- lost attempts


def test_attempts_of_dead_and_silent_processes_are_lost_once(store: Store) -> None:
    """They are all that a kill can cost, so they are counted, and never twice."""
    silent = CallInfo("silent", "reply", "scripted", "acme/one", "{}")
    alive = CallInfo("alive", "reply", "scripted", "acme/one", "{}")
    dead = f"{HERE}|{dead_process()}||x"
    with store.open_transaction() as connection:
        for call, who in ((CALL, dead), (silent, ELSEWHERE), (alive, owner(1))):
            attempts.claim_calls(
                connection, [call], attempts.find_holders(connection, [call.key]), who, NOW
            )
            attempts.begin_attempts(connection, [(call.key, 100)], who, NOW)[0]
        attempts.renew_claims(connection, owner(1), NOW + 60)

    with store.open_transaction() as connection:
        assert attempts.close_lost_attempts(connection, NOW + 1) == 1, "the dead process"
        assert attempts.close_lost_attempts(connection, NOW + attempts.LEASE + 1) == 1, (
            "the one that fell silent"
        )
        assert attempts.close_lost_attempts(connection, NOW + attempts.LEASE + 2) == 0

    with store.open_snapshot() as connection:
        assert attempts.sum_spending(connection).lost == 2
        outcomes = [
            row["outcome"] for row in attempts.read_attempts(connection, ["k1", "silent", "alive"])
        ]
    assert outcomes == ["lost", "lost", None]


# ---------------------------------------------------------------- what is never replaced


def test_a_stored_reply_is_never_replaced(store: Store) -> None:
    """Playing again is a new run, not a better answer."""
    first, second = attempt(store, "answered", 0.1), attempt(store, "answered", 0.1)

    with store.open_transaction() as connection:
        stored_results.store_replies(
            connection, [("k1", first, Reply("No.", notes="hm", reasoning="so", cut_off=True), NOW)]
        )
        stored_results.store_replies(connection, [("k1", second, Reply("Yes."), NOW)])

    with store.open_snapshot() as connection:
        assert stored_results.find_replies(connection, ["k1"]) == {
            "k1": Reply("No.", notes="hm", reasoning="so", cut_off=True)
        }
        assert stored_results.find_replies(connection, ["k2"]) == {}


def judgement(
    marks: dict[str, float], reason: str | None = None, reasoning: str = "So."
) -> Judgement:
    """A judgement of one transcript by one rubric and judge."""
    return Judgement("j1", "heard", "rubric", "judge-hash", marks, reasoning, reason)


def test_a_failed_judgement_gives_way_and_a_valid_one_stays(store: Store) -> None:
    """A judge may be asked again where it failed; where it did not, nothing changes its marks."""
    with store.open_transaction() as connection:
        registry.store_judge(connection, "judge-hash", "judge", "{}")

    def kept(made: Judgement) -> Judgement | None:
        with store.open_transaction() as connection:
            stored_results.store_judgements(connection, [(made.key, None, made, NOW)])
        with store.open_snapshot() as connection:
            return stored_results.find_judgements(connection, ["j1"]).get("j1")

    assert kept(judgement({}, "garbage", "")) == judgement({}, "garbage", "")
    assert kept(judgement({}, "no mark", "")) == judgement({}, "no mark", "")
    assert kept(judgement({"drift": 2.5})) == judgement({"drift": 2.5})
    assert kept(judgement({"drift": 9.0})) == judgement({"drift": 2.5})
    assert kept(judgement({}, "garbage", "")) == judgement({"drift": 2.5})
    with store.open_snapshot() as connection:
        assert stored_results.read_judgements(
            connection, [("heard", "rubric"), ("heard", "none")]
        ) == {("heard", "rubric"): [judgement({"drift": 2.5})]}
        assert [j.marks for j in stored_results.read_judgement_rows(connection, ["rubric"])] == [
            {"drift": 2.5}
        ]
        assert stored_results.read_judgement_rows(connection, ["another"]) == []


def test_a_transcript_is_read_back_word_for_word(store: Store) -> None:
    """Odd characters included: what was said is what is judged, shown and published."""
    subject = ChatModel(
        "acme/one", "scripted", 0.7, 100, Reasoning.LOW, provider="acme", own_limit=True
    )
    said = Transcript(
        "Be.", (Line("human", "Who? \u202e\x1b[31m"), Line("model", "É\n\n🙂", "notes", "first"))
    )
    job = replace(JOB, subject=subject, run=2)
    played = PlayedJob(job, "p", said, [("k1", Reply("É\n\n🙂", plain_text=True, reasoned=True))])
    with store.open_transaction() as connection:
        registry.store_protocol(connection, "p", "small", {}, NOW)
        registry.store_subject(connection, subject)
        stored_results.store_transcripts(connection, [(played, NOW)])

    with store.open_snapshot() as connection:
        assert stored_results.read_transcript_and_reply_keys(connection, job.transcript_id) == (
            said,
            ("k1",),
        )
        (row,) = stored_results.read_transcript_rows(connection, ["s"], subject.hash)
        assert (row.run, row.state, row.heard_hash, row.plain_text, row.reasoned) == (
            2,
            "complete",
            said.heard_hash,
            1,
            1,
        )
        assert stored_results.read_transcript_rows(connection, ["s"], "another") == []
        assert registry.read_subjects(connection) == {subject.hash: subject}
        with pytest.raises(KeyError):
            stored_results.read_transcript_and_reply_keys(connection, "t2")


def test_the_snapshot_of_a_protocol_is_read_back_and_scores_the_same(
    bench: Callable[..., Bench], small: Path
) -> None:
    """Old results can be read with the protocol they were played with, whatever became of its
    files.
    """
    made = bench(steady({"resistance": 8}))
    made.play()
    before, (board,) = made.protocol, made.boards()
    (small / "protocol.yaml").unlink()

    with open_store(made.store) as store, store.open_snapshot() as connection:
        ((hash_, name, files),) = registry.read_protocols(connection)
    snapshot = parse_protocol(files, where="store")

    assert (hash_, name) == (before.hash, "small")
    assert snapshot == before
    marks = {
        (snapshot.configurations[0], scenario.id): {mark.name: mark.high for mark in scenario.marks}
        for scenario in snapshot.scenarios
    }
    assert score_run(snapshot, snapshot.configurations, marks) == score_run(
        before, before.configurations, marks
    )
    assert board.protocol == snapshot


@pytest.mark.parametrize("line", ["private: true\n", '"private": yes # of 2025\n'])
def test_a_key_of_an_earlier_version_is_passed_over_in_a_store_and_not_in_a_file(
    bench: Callable[..., Bench], line: str
) -> None:
    """What was played is read as before; a folder is told that there is no such key."""
    made = bench(steady())
    made.play()
    with open_store(made.store) as store, store.engine.begin() as connection:
        ((hash_, _, files),) = registry.read_protocols(connection)
        written = files | {"protocol.yaml": line + files["protocol.yaml"]}
        connection.execute(update(schema.protocols).values(files=pack_text(json.dumps(written))))
    with open_store(made.store) as store:
        found, read = find_shipped_or_stored_protocol(None, store)

    assert (found.hash, read) == (hash_, written)
    with pytest.raises(ProtocolError, match="private: is not a known key"):
        parse_protocol(written, where="a folder")


def test_an_invalid_reply_gives_way_to_a_later_try_and_a_valid_one_stays(store: Store) -> None:
    """`aib run --again` may turn a no into an answer, and never an answer into anything else."""

    def kept(reply: Reply) -> Reply | None:
        number = attempt(store, "answered", 0.1)
        with store.open_transaction() as connection:
            stored_results.store_replies(connection, [("k1", number, reply, NOW)])
        with store.open_snapshot() as connection:
            return stored_results.find_replies(connection, ["k1"]).get("k1")

    assert kept(Reply("", reason="empty")) == Reply("", reason="empty")
    assert kept(Reply("", reason="flagged")) == Reply("", reason="flagged")
    assert kept(Reply("No.", reasoned=True)) == Reply("No.", reasoned=True)
    assert kept(Reply("", reason="empty")) == Reply("No.", reasoned=True)
    assert kept(Reply("Yes.")) == Reply("No.", reasoned=True)


def test_an_invalid_transcript_gives_way_to_a_later_try_and_a_complete_one_stays(
    store: Store,
) -> None:
    """The row of a conversation that broke off is the same row when it is played to its end."""
    subject = ChatModel("acme/one", "scripted", 0.7, 100)
    with store.open_transaction() as connection:
        registry.store_protocol(connection, "p", "small", {}, NOW)
        registry.store_subject(connection, subject)

    def kept(text: str, reason: str | None = None) -> tuple[str, str]:
        talk = Transcript("Be.", (Line("human", "Who?"), Line("model", text, "", "first")))
        played = PlayedJob(replace(JOB, subject=subject), "p", talk, [("k1", Reply(text))], reason)
        with store.open_transaction() as connection:
            stored_results.store_transcripts(connection, [(played, NOW)])
        with store.open_snapshot() as connection:
            (row,) = stored_results.read_transcript_rows(connection, ["s"])
            return row.state, stored_results.read_transcript_and_reply_keys(connection, row.id)[
                0
            ].lines[-1].text

    assert kept("-", "empty") == ("invalid", "-")
    assert kept("Ada.") == ("complete", "Ada.")
    assert kept("Bob.") == ("complete", "Ada.")
    assert kept("-", "empty") == ("complete", "Ada.")


def test_judges_of_one_label_can_be_told_apart(store: Store) -> None:
    """Two that differ in what no label shows get the start of their hash; the others keep their
    name.
    """
    one, two, other = "1" * 64, "2" * 64, "3" * 64
    with store.open_transaction() as connection:
        for hash_, label in ((one, "judge"), (two, "judge"), (other, "another")):
            registry.store_judge(connection, hash_, label, "{}")

    with store.open_snapshot() as connection:
        assert registry.read_judge_labels(connection) == {
            one: "judge#111111",
            two: "judge#222222",
            other: "another",
        }


def test_the_protocol_that_was_played_last_stands_first(store: Store) -> None:
    """Playing an old one again makes it the last; its files are stored once."""

    def played(hash_: str, now: float) -> list[str]:
        with store.open_transaction() as connection:
            registry.store_protocol(
                connection, hash_, f"name of {hash_}", {"protocol.yaml": hash_}, now
            )
        with store.open_snapshot() as connection:
            return [found for found, _, _ in registry.read_protocols(connection)]

    assert played("old", NOW) == ["old"]
    assert played("new", NOW + 1) == ["new", "old"]
    assert played("old", NOW + 2) == ["old", "new"]


# ---------------------------------------------------------------- money


def test_spending_counts_every_attempt_rejected_ones_too(store: Store) -> None:
    """What was paid was paid, whether it was of use or not."""
    judging = CallInfo("k2", "judgement", "scripted", "judge/one", "{}")
    attempt(store, Kind.BROKEN, 0.25)
    attempt(store, "cut off", 0.5)
    attempt(store, "answered", 1.0)
    attempt(store, Kind.WRONG_PROVIDER, 0.125, judging)
    attempt(store, "answered", None, judging)
    attempt(store, Kind.RATE_LIMITED, None, judging)

    with store.open_snapshot() as connection:
        spent = attempts.sum_spending(connection)

    assert spent == Spending(replies=1.75, judgements=0.125, attempts=6, lost=0, unpriced=1)
    assert spent.total == 1.875


def test_an_empty_store_has_cost_nothing(store: Store) -> None:
    """The empty case is a number too."""
    with store.open_snapshot() as connection:
        assert attempts.sum_spending(connection) == Spending()


# ---------------------------------------------------------------- group commit


def add(name: str, connection: Connection) -> str:
    """One write."""
    connection.execute(insert(schema.meta).values(name=name, value="x"))
    return name


def names(store: Store) -> set[str]:
    """What is written, without the version."""
    with store.open_snapshot() as connection:
        return set(connection.execute(select(schema.meta.c.name)).scalars()) - {"version"}


def test_an_error_inside_one_write_undoes_it_alone(store: Store) -> None:
    """Writes that share a commit do not share their failures, whether the database or the code
    failed.
    """

    def half(connection: Connection) -> None:
        add("half", connection)
        raise ValueError("of our own")

    def refused(connection: Connection) -> None:
        add("refused", connection)
        add("refused", connection)

    async def all_at_once() -> list[Any]:
        async with Commits(store) as commits:
            writes = [
                partial(add, "one"),
                half,
                partial(add, "two"),
                refused,
                partial(add, "three"),
            ]
            return await asyncio.gather(
                *(commits.commit_operation(write) for write in writes), return_exceptions=True
            )

    one, half_error, two, refused_error, three = asyncio.run(all_at_once())

    assert (one, two, three) == ("one", "two", "three")
    assert isinstance(half_error, ValueError)
    assert isinstance(refused_error, StoreError)
    assert "\n" not in str(refused_error)
    assert names(store) == {"one", "two", "three"}


def test_writes_that_come_together_share_a_commit(store: Store) -> None:
    """Two hundred replies that arrive at once wait for the disk a few times, not two hundred
    times.
    """
    commits_seen = []
    event.listen(store.engine, "commit", lambda _connection: commits_seen.append(1))

    async def many() -> None:
        async with Commits(store) as commits:
            await asyncio.gather(
                *(commits.commit_operation(partial(add, f"n{number}")) for number in range(200))
            )

    asyncio.run(many())

    assert len(names(store)) == 200
    assert len(commits_seen) < 100


def test_a_write_is_durable_before_its_task_goes_on(store: Store, either: str) -> None:
    """What depends on a reply is sent after another process could read it."""

    async def write() -> None:
        async with Commits(store) as commits:
            for number in range(5):
                await commits.commit_operation(partial(add, f"n{number}"))
                with open_store(either) as other:
                    assert f"n{number}" in names(other)

    asyncio.run(write())


def test_a_cancelled_task_leaves_its_write_standing(store: Store) -> None:
    """Once handed over, a write belongs to the store."""

    async def cancelled() -> None:
        async with Commits(store) as commits:
            task = asyncio.ensure_future(commits.commit_operation(partial(add, "stays")))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await commits.commit_operation(partial(add, "later"))

    asyncio.run(cancelled())

    assert names(store) == {"stays", "later"}


def test_a_commit_that_fails_fails_in_every_task_that_waited_for_it(store: Store) -> None:
    """Nobody may go on as if it were stored, and nobody may wait for ever, whatever the failure
    is.
    """

    def refuse(_connection: object) -> None:
        raise RuntimeError("nobody thought of this")

    async def all_fail() -> list[Any]:
        stopping = asyncio.Event()
        stopping.set()  # or a minute would be waited for the server to come back
        async with Commits(store, stopping) as commits:
            await commits.commit_operation(partial(add, "before"))
            event.listen(store.engine, "commit", refuse)
            writes = [
                asyncio.ensure_future(commits.commit_operation(partial(add, f"n{number}")))
                for number in range(3)
            ]
            done, _ = await asyncio.wait(writes, timeout=600)
            event.remove(store.engine, "commit", refuse)
            await asyncio.wait_for(commits.commit_operation(partial(add, "after")), 600)
            return [task.exception() for task in done]

    errors = asyncio.run(all_fail())

    assert [str(error) for error in errors] == ["nobody thought of this"] * 3
    assert names(store) == {"before", "after"}


def test_on_a_full_disk_what_is_said_to_be_stored_is_stored(file_store: Store) -> None:
    """SQLite undoes more than one write when the disk is full; the tasks of all of them have to
    know.
    """
    with file_store.open_transaction() as connection:
        pages = connection.execute(text("pragma page_count")).scalar_one()
        connection.execute(text(f"pragma max_page_count = {pages + 8}"))

    def flood(connection: Connection) -> None:
        connection.execute(insert(schema.meta).values(name="flood", value="x" * 1_000_000))

    async def fill() -> list[Any]:
        async with Commits(file_store) as commits:
            writes = [
                *(partial(add, f"a{n}") for n in range(5)),
                flood,
                *(partial(add, f"b{n}") for n in range(5)),
            ]
            done = await asyncio.gather(
                *(commits.commit_operation(write) for write in writes), return_exceptions=True
            )
            await commits.commit_operation(partial(add, "after"))
            return done

    results = asyncio.run(fill())

    assert isinstance(results[5], StoreError)
    assert "make room" in str(results[5])
    assert names(file_store) == {result for result in results if isinstance(result, str)} | {
        "after"
    }


def test_a_store_is_durable_against_power_loss(file_store: Store) -> None:
    """Every connection writes ahead and waits for the disk at each commit."""
    with file_store.open_transaction() as connection:
        assert connection.execute(text("pragma synchronous")).scalar() == 2
        assert connection.execute(text("pragma journal_mode")).scalar() == "wal"
        assert connection.execute(text("pragma foreign_keys")).scalar() == 1


def test_a_store_that_is_named_by_a_url_is_just_as_durable(tmp_path: Path) -> None:
    """sqlite:///FILE is the same file, written the same way; group commits need its savepoints to
    work.
    """
    with open_store(f"sqlite:///{tmp_path / 'aib.db'}") as store:
        test_a_store_is_durable_against_power_loss(store)
        test_an_error_inside_one_write_undoes_it_alone(store)


# ---------------------------------------------------------------- opening


def test_a_store_opens_again_with_what_is_in_it(tmp_path: Path) -> None:
    """Also by a path with characters that mean something in a URL."""
    path = tmp_path / "what? 100% #1 ü.db"
    with open_store(path) as store, store.open_transaction() as connection:
        add("kept", connection)

    with open_store(str(path), create=False) as store:
        assert names(store) == {"kept"}
    assert path.is_file()


def test_several_processes_may_make_one_store_at_once(tmp_path: Path, postgres: Server) -> None:
    """Two terminals, one command each, no store yet: ten files and three databases."""
    # all of them have imported everything before the first one opens
    code = (
        "import sys; from independence_bench.store.database import open_store\n"
        "print(flush=True)\n"
        "for line in sys.stdin:\n"
        "    with open_store(line.strip()) as store, store.open_transaction(): pass\n"
        "    print(flush=True)"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, stderr=-1, text=True)
        for _ in range(2)
    ]
    ready = [child.stdout.readline() for child in children if child.stdout]
    with ExitStack() as stack:
        databases = [postgres.url(stack.enter_context(postgres.database())) for _ in range(3)]
        places = [*(str(tmp_path / f"{number}.db") for number in range(10)), *databases]
        for place in places:
            for child in children:
                assert child.stdin is not None
                child.stdin.write(f"{place}\n")
            for child in children:
                assert child.stdin is not None
                child.stdin.flush()
            ready += [child.stdout.readline() for child in children if child.stdout]
        ended = [child.communicate()[1] for child in children]

        assert ended == [""] * 2
        assert ready == ["\n"] * 2 * 14
        # SQLite leaves these two to the next that opens the file, where the last processes close it
        # at the same moment
        left = {
            path.name for path in tmp_path.iterdir() if not path.name.endswith(("-wal", "-shm"))
        }
        assert left == {f"{number}.db" for number in range(10)}
        for place in places:
            with open_store(place, create=False) as store:
                assert names(store) == set()


def test_a_store_is_made_by_the_first_write_and_reads_as_empty_until_then(
    unmade: str, tmp_path: Path
) -> None:
    """A command that fails before it has anything to store leaves none behind."""
    with open_store(unmade) as store:
        with store.open_snapshot() as connection:
            assert attempts.sum_spending(connection) == Spending()
        assert not store.is_made()
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(StoreError, match="there is no store at"):
            open_store(unmade, create=False)

        with store.open_transaction() as connection:
            add("first", connection)

        assert store.is_made()
        assert names(store) == {"first"}
    with open_store(unmade, create=False) as store:
        assert names(store) == {"first"}


def test_what_another_process_makes_meanwhile_is_read(unmade: str) -> None:
    """The second of two commands finds what the first one has stored by then."""
    with open_store(unmade) as waiting, open_store(unmade) as quick:
        with waiting.open_snapshot() as connection:
            assert attempts.sum_spending(connection).attempts == 0
        attempt(quick, "answered", 0.5)

        with waiting.open_snapshot() as connection:
            assert attempts.sum_spending(connection).total == 0.5


def test_a_number_that_is_none_is_a_damaged_record(tmp_path: Path) -> None:
    """SQLite keeps a text in a column of numbers; whoever reads it says so in one line, whatever
    column it is.
    """
    prices = schema.prices
    for table in schema.metadata.tables.values():
        assert not any(
            type(column.type) in (Float, Integer, BigInteger) for column in table.columns
        ), table
    with open_store(tmp_path / "aib.db") as store:
        with store.open_transaction() as connection:
            connection.exec_driver_sql(
                "insert into prices values ('owner', 'endpoint', 'model', 'null', 1, 1)"
            )
        with store.open_snapshot() as connection:
            for read in (prices.c.prompt, func.max(prices.c.prompt)):
                with pytest.raises(StoreError, match="damaged record"):
                    connection.execute(select(read)).all()
            assert connection.execute(select(prices.c.completion)).scalar() == 1


def test_a_text_that_is_not_packed_is_a_damaged_record(tmp_path: Path) -> None:
    """Whatever stands in a column of packed texts, and whoever reads it."""
    with open_store(tmp_path / "aib.db") as store:
        with store.open_transaction() as connection:
            connection.exec_driver_sql("insert into protocols values ('hash', 'name', 1e999, 1)")
        with store.open_snapshot() as connection:
            with pytest.raises(StoreError, match="damaged record"):
                connection.execute(select(schema.protocols.c.files)).all()
            with pytest.raises(StoreError, match="damaged record"):
                list(bulk.read_table(connection, "protocols", {"files"}))
        named = r"^the store \S+/aib\.db holds a damaged record"
        with pytest.raises(StoreError, match=named), store.open_snapshot() as connection:
            connection.execute(select(schema.protocols.c.files)).all()
