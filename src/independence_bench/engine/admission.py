"""Begins only those conversations that the budget can pay for to their end.

A conversation without its last reply or its judgement is money for nothing that can be read. So a
conversation is begun only if the budget reaches for what is left of those that have begun, for all
of this one with its judgement, and for the dearest call, whose limit is held back before it is
sent. The costs are forecast (`preview`), and corrected by what the conversations so far have cost.
Sends nothing; that a budget is never exceeded is `calls.budget`'s business.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from dataclasses import dataclass

from independence_bench.calls.budget import Budget
from independence_bench.errors import BenchError, BudgetSpent

ENOUGH = 2  # conversations that have to end before the next ones may be taken for cheaper


class OutOfReach(BudgetSpent):
    """The error for a conversation that is not begun because the budget cannot pay for all of
    it.
    """


@dataclass(slots=True, eq=False)
class Commitment:
    """A conversation that has begun, or that waits to begin."""

    expected: float | None  # dollars of all its calls; None: no price is known
    calls: int
    dearest: float  # dollars that one of them may cost at most
    left: float = 1.0  # the share of it that is still to be made


class Admission:
    """Lets conversations begin in the order of their ranks, as far as *budget* can pay for them."""

    def __init__(self, budget: Budget) -> None:
        self._budget, self._spent_before = budget, budget.spent
        self._begun: set[Commitment] = set()
        self._ended = 0  # conversations
        # of those: what their calls were expected to cost, and how many there were
        self._ended_dollars = self._ended_calls = 0.0
        self._waiting: list[tuple[int, int, Commitment, asyncio.Future[None]]] = []
        self._order = itertools.count()
        self._closed: BenchError | None = None

    async def await_admission(
        self, rank: int, expected: float | None, calls: int, dearest: float
    ) -> Commitment:
        """Wait until the budget can pay for one more conversation, and return the conversation's
        commitment. The conversation is expected to cost *expected* dollars (None: not known) in
        *calls* calls, each of them *dearest* dollars at most. Conversations of a lower *rank* go
        first.

        Raises OutOfReach if the budget will never pay for the conversation, and the error that
        `close_admission` was given.
        """
        asked = Commitment(expected, calls, dearest)
        if self._closed is not None:
            raise self._closed
        turn = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (rank, next(self._order), asked, turn))
        # once all that come together are in the queue
        asyncio.get_running_loop().call_soon(self._admit_or_refuse_waiting)
        try:
            await turn
        except asyncio.CancelledError:
            self.end_conversation_and_admit(asked)
            raise
        return asked

    def count_begun_conversation(
        self, expected: float | None, calls: int, dearest: float
    ) -> Commitment:
        """Count a conversation that an earlier command has begun, before any other may begin, and
        return its commitment. It is expected to cost *expected* dollars (None: not known) in
        *calls* calls, each of them *dearest* dollars at most.
        """
        begun = Commitment(expected, calls, dearest)
        self._begun.add(begun)
        return begun

    def record_progress_and_admit(self, commitment: Commitment, share_left: float) -> None:
        """Record which share of a conversation's calls is still to be made, in [0, 1], and let
        waiting conversations begin that the budget can pay for now.
        """
        commitment.left = share_left
        self._admit_or_refuse_waiting()

    def end_conversation_and_admit(self, commitment: Commitment) -> None:
        """Record that the conversation of *commitment* has ended, with or without success, and let
        waiting conversations begin that the budget can pay for now.
        """
        if commitment in self._begun:
            self._begun.remove(commitment)
            self._ended += 1
            self._ended_dollars += (1 - commitment.left) * (commitment.expected or 0.0)
            self._ended_calls += (1 - commitment.left) * commitment.calls
        self._admit_or_refuse_waiting()

    def close_admission(self, why: BenchError) -> None:
        """Let no further conversation begin: each one that waits, now or later, raises the error
        *why*, or that of an earlier closing.
        """
        self._closed = self._closed or why
        for *_, turn in self._waiting:
            if not turn.done():
                turn.set_exception(self._closed)
        self._waiting.clear()

    def _admit_or_refuse_waiting(self) -> None:
        while self._waiting:
            _, _, asked, turn = self._waiting[0]
            if turn.done():  # cancelled
                heapq.heappop(self._waiting)
            elif self._is_affordable(asked):
                heapq.heappop(self._waiting)
                self._begun.add(asked)
                turn.set_result(None)
            elif self._begun:
                return  # they may leave some over
            else:
                heapq.heappop(self._waiting)
                turn.set_exception(self._make_refusal(asked))

    def _is_affordable(self, asked: Commitment) -> bool:
        budget = self._budget
        if budget.limit is None or asked.expected == 0.0:
            return True
        expected = self._estimate_cost(asked)
        if expected is None:
            return not self._begun  # its calls will tell
        left = sum(one.left * (self._estimate_cost(one) or 0.0) for one in self._begun)
        # the last call is not there twice, as expected and at its dearest
        most = left + expected * (1 - 1 / max(asked.calls, 1)) + self._find_dearest_call_usd(asked)
        return not budget.short and budget.spent + most <= budget.limit

    def _find_dearest_call_usd(self, asked: Commitment) -> float:
        return max(self._budget.largest, *(one.dearest for one in (asked, *self._begun)))

    def _estimate_cost(self, commitment: Commitment) -> float | None:
        """Estimate what a whole conversation costs in dollars, corrected by how the real costs of
        the conversations so far compare with the expected ones. None if no cost is known.
        """
        spent = self._budget.spent - self._spent_before
        if commitment.expected is None:
            made = self._ended_calls + sum((1 - one.left) * one.calls for one in self._begun)
            return commitment.calls * spent / made if made else None
        done = self._ended_dollars + sum(
            (1 - one.left) * (one.expected or 0.0) for one in self._begun
        )
        dearer = spent / done if self._ended and done else 1.0
        # what is cheaper than foreseen has to show it twice
        return commitment.expected * (dearer if self._ended >= ENOUGH else max(dearer, 1.0))

    def _make_refusal(self, asked: Commitment) -> OutOfReach:
        budget = self._budget
        if not budget.can_afford(asked.dearest):
            return OutOfReach(str(budget.make_spent_error(asked.dearest)))
        return OutOfReach(
            f"the budget of ${budget.limit:g} reaches to the end of no further conversation: "
            f"${budget.spent:.4f} is spent, and the next one takes about "
            f"${self._estimate_cost(asked) or 0.0:.4f}, a single call of it up to "
            f"${self._find_dearest_call_usd(asked):.4f}; raise --budget, or run it again for as "
            "much once more"
        )
