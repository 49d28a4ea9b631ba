"""What is written down about calls at work: who has them, when that ends, what was never sent. On
both databases.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from scripted_model import completion

from independence_bench.calls.budget import estimate_most_prompt_tokens
from independence_bench.calls.call import Call, CallState, KnownPrices, Tally
from independence_bench.calls.executor import CallLedger
from independence_bench.models.messages import ChatRequest, Message, Rejected, Tool, ToolCall, Usage
from independence_bench.models.spec import ChatModel
from independence_bench.store import attempts as stored_attempts
from independence_bench.store import results, workers
from independence_bench.store.attempts import ANSWERED, LEASE, Ended
from independence_bench.store.database import Store, open_store
from independence_bench.store.owners import LeaseWatch, make_owner_name
from independence_bench.store.results import Reply

NOW = 1_700_000_000.0
MODEL = ChatModel("acme/one", "scripted", 0.7, 100)
HERE = "|".join(make_owner_name().split("|")[:3])  # this machine, its boot, this process namespace


@pytest.fixture
def store(either: str) -> Iterator[Store]:
    """A new store, on SQLite and on PostgreSQL."""
    with open_store(either) as opened:
        yield opened


class Clock:
    """Seconds since 1970, as a test says."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        """Now."""
        return self.now


def ledger_of(name: str, clock: Clock) -> CallLedger:
    """The ledger of a process of this machine that is alive."""
    return CallLedger(f"{HERE}|{os.getpid()}||{name}", clock)


def case(key: str = "k1") -> CallState[Reply]:
    """A question at work."""
    question = Call(
        key=key,
        kind="reply",
        request=ChatRequest(MODEL, (Message("user", "Who are you?"),)),
        table=results.REPLIES,
        final=lambda reply: reply.reason is None,
        read=lambda _: Rejected("not read here"),
        none=lambda reason: Reply("", reason=reason),
        priority=1,
    )
    return CallState(question, Tally())


def start(store: Store, of: CallLedger, *cases: CallState[Reply]) -> list[Any]:
    """Start them in one commit; what was begun is theirs."""
    with store.open_transaction() as connection:
        begun = of.start_attempts_or_find_answers(connection, cases)
    for one, number in zip(cases, begun, strict=True):
        one.ours = one.ours or isinstance(number, int)
    return begun


def attempts(store: Store, key: str = "k1") -> list[tuple[str, str | None]]:
    """(who, outcome) of every attempt, in order."""
    with store.open_snapshot() as connection:
        return [
            (row["owner"].split("|")[-1], row["outcome"])
            for row in stored_attempts.read_attempts(connection, [key])
        ]


def test_two_tasks_with_one_question_make_one_attempt(store: Store) -> None:
    """In one commit or in two: the second waits."""
    mine = ledger_of("mine", Clock())
    first, second, later = case(), case(), case()

    together = start(store, mine, first, second)

    assert [isinstance(number, int) for number in together] == [True, False]
    assert start(store, mine, later) == [None]
    assert attempts(store) == [("mine", None)]


def test_many_are_begun_in_one_commit_each_with_a_number_of_its_own(store: Store) -> None:
    """As many attempts as questions, numbered on from those before."""
    mine = ledger_of("mine", Clock())
    before = start(store, mine, case("before"))

    numbers = start(store, mine, *(case(f"k{number}") for number in range(50)))

    assert numbers == list(range(before[0] + 1, before[0] + 51))


def test_a_process_that_slept_beyond_its_lease_asks_no_more_while_another_has_the_call(
    store: Store,
) -> None:
    """What was ours is looked at again in the very commit that would begin the next attempt."""
    clock = Clock()
    sleeper, other = ledger_of("sleeper", clock), ledger_of("other", clock)
    slept = case()
    assert isinstance(start(store, sleeper, slept)[0], int)

    clock.now += LEASE + 1
    assert isinstance(start(store, other, case())[0], int)

    assert slept.ours
    assert start(store, sleeper, slept) == [None]
    assert attempts(store) == [("sleeper", "lost"), ("other", None)], "what was in flight is lost"


def test_a_process_never_takes_its_own_call_for_left(store: Store) -> None:
    """Its clock is set, or the machine has slept: the task that asks is still at it, and another
    one waits for it.
    """
    clock = Clock()
    mine = ledger_of("mine", clock)
    start(store, mine, case())

    clock.now += 10 * LEASE

    assert start(store, mine, case()) == [None]
    assert attempts(store) == [("mine", None)]


def test_a_larger_limit_is_reserved_before_it_is_sent(store: Store) -> None:
    """Another process's attempt was cut off meanwhile: what was reserved is for half of what the
    next one may take.
    """
    clock = Clock()
    other, mine = ledger_of("other", clock), ledger_of("mine", clock)
    (number,) = start(store, other, case())
    cut = stored_attempts.Ended(
        "cut off", "", Usage(), 1.0, json.dumps(completion("Half", finish="length"))
    )
    with store.open_transaction() as connection:
        stored_attempts.record_attempt_ends(connection, [(number, cut)], clock.now)
        stored_attempts.release_claims(connection, ["k1"], other.owner)
    waiting = case()

    assert start(store, mine, waiting) == [None]
    assert waiting.token_limit == 200
    assert attempts(store) == [("other", "cut off")]
    assert isinstance(start(store, mine, waiting)[0], int), "with that limit"


def test_a_claim_of_another_clock_is_taken_when_nothing_moves_for_a_lease(store: Store) -> None:
    """Five minutes behind, its lease has run out at once and it lives; only its silence says
    anything.
    """
    clock = Clock()
    elsewhere = CallLedger("host|another-boot|pid:[1]|1|1|elsewhere", lambda: clock.now - 300)
    mine = ledger_of("mine", clock)
    mine.watch = LeaseWatch(clock, LEASE)
    start(store, elsewhere, case())

    assert start(store, mine, case()) == [None]
    clock.now += LEASE - 1
    with store.open_transaction() as connection:
        assert stored_attempts.close_lost_attempts(connection, clock.now, mine.watch) == 0
        stored_attempts.renew_claims(connection, elsewhere.owner, clock.now - 300)
    assert start(store, mine, case()) == [None]
    clock.now += LEASE - 1
    assert start(store, mine, case()) == [None]
    clock.now += 1
    assert isinstance(start(store, mine, case())[0], int)
    assert attempts(store) == [("elsewhere", "lost"), ("mine", None)]


def test_who_takes_over_finds_the_answer_that_the_other_stored(store: Store) -> None:
    """A lost claim costs nothing where the answer has come meanwhile."""
    clock = Clock()
    sleeper, other = ledger_of("sleeper", clock), ledger_of("other", clock)
    slept, taken = case(), case()
    start(store, sleeper, slept)
    clock.now += LEASE + 1
    (number,) = start(store, other, taken)
    with store.open_transaction() as connection:
        results.store_replies(connection, [("k1", number, Reply("Mine."), clock.now)])
        stored_attempts.release_claims(connection, ["k1"], other.owner)

    assert start(store, sleeper, slept) == [Reply("Mine.")]


def test_an_attempt_that_was_never_sent_leaves_no_trace(store: Store) -> None:
    """Made ready, and then not wanted: there was no attempt."""
    mine = ledger_of("mine", Clock())
    (number,) = start(store, mine, case())

    with store.open_transaction() as connection:
        stored_attempts.delete_unsent_attempt(connection, number)

    assert attempts(store) == []


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("a" * 250, 200 + 100),  # 2.5 plain letters a token, beside 200 for what stands around
        ("你" * 250, 200 + 750),  # a token for each of three bytes
        ("a" * 250 + "é" * 10, 200 + 100 + 20),
    ],
)
def test_a_prompt_is_never_reserved_with_too_few_tokens(text: str, tokens: float) -> None:
    """Tokenizers that have no word for a script take a token for every byte of it."""
    said = ChatRequest(MODEL, (Message("user", text),))
    called = ChatRequest(MODEL, (Message("assistant", None, (ToolCall("1", "say", text),)),))

    assert estimate_most_prompt_tokens(said) == estimate_most_prompt_tokens(called) == tokens


def test_the_words_of_a_tool_are_reserved_for() -> None:
    """They are sent with every call, and a protocol's own may be long."""
    tool = Tool("say", "Says it. " * 1000, "words", "The words.")
    asked = ChatRequest(MODEL, (Message("user", "Hello"),), (tool,))

    assert (
        estimate_most_prompt_tokens(asked)
        > estimate_most_prompt_tokens(replace(asked, tools=())) + 9 * 1000 / 2.5
    )


def test_a_first_call_waits_for_a_price_that_another_worker_has_just_learned(store: Store) -> None:
    """What it reserves was found before that: it has to look again, and then it may be sent."""
    clock = Clock()
    one, other = (replace(ledger_of(name, clock), job="night") for name in ("one", "other"))
    with store.open_transaction() as connection:
        for ledger in (one, other):
            workers.join_job(connection, ledger.owner, "night", NOW)
    (number,) = start(store, one, case("k1"))
    with store.open_transaction() as connection:
        ended = Ended(ANSWERED, "", Usage(20, 10, cost=0.5), 1.0, "{}")
        stored_attempts.record_attempt_ends(connection, [(number, ended)], NOW)

    late = case("k2")
    late.unproven = KnownPrices(shown=set(), looked=0)
    assert start(store, other, late) == [None]

    late.unproven = KnownPrices({(MODEL.endpoint, MODEL.model)}, looked=number)
    (begun,) = start(store, other, late)
    assert isinstance(begun, int)
