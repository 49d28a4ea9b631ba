"""A bound in dollars on what one command spends, judges and retries included.

Every call reserves the most it can cost before it is sent and settles for what it did cost. Where prices are
not known the reservation is a guess from what has been seen, and the bound is then kept up to the calls in
flight. Knows no endpoint and no model.
"""

from __future__ import annotations

import asyncio

from independence_bench.errors import BudgetSpent


class Budget:
    """*limit* in US dollars, None for no bound. *spent* is kept either way."""

    def __init__(self, limit: float | None = None) -> None:
        self.limit = limit
        self.spent = 0.0
        self.reserved = 0.0
        self.in_flight = 0
        self.settled = asyncio.Event()  # set when a call has settled, then a new one

    def reserve(self, most: float) -> Reservation:
        """Hold *most* dollars while a block runs; waits for calls in flight that may leave some over.

        Entering it raises BudgetSpent when nothing is in flight and it still does not fit.
        """
        return Reservation(self, most)

    def fits(self, most: float) -> bool:
        """Whether a call of up to *most* dollars stays within the limit; at the limit nothing more does."""
        if self.limit is None:
            return True
        return self.spent + self.reserved + most <= self.limit and self.spent < self.limit


class Reservation:
    """A block of code that may cost something. Set *cost* to what it did, in dollars; left alone, it cost nothing."""

    __slots__ = ("_budget", "_most", "cost")

    def __init__(self, budget: Budget, most: float) -> None:
        self._budget, self._most = budget, most
        self.cost = 0.0

    async def __aenter__(self) -> Reservation:
        budget, most = self._budget, self._most
        while not budget.fits(most):
            if budget.reserved == 0:
                raise BudgetSpent(
                    f"the budget of ${budget.limit:g} is used up: ${budget.spent:.4f} is spent and the next call "
                    f"may cost ${most:.4f}; raise --budget, or run it again for as much once more"
                )
            await budget.settled.wait()
        budget.reserved += most
        budget.in_flight += 1
        return self

    async def __aexit__(self, *exc: object) -> None:
        # no await in here: whoever waits is told, even if this call is being cancelled
        budget = self._budget
        budget.in_flight -= 1
        budget.reserved = budget.reserved - self._most if budget.in_flight else 0.0  # what would be left is rounding
        budget.spent += self.cost
        if budget.limit is not None:
            budget.settled.set()
            budget.settled = asyncio.Event()
