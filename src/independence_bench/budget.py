"""A bound in dollars on what one command spends, judges and retries included.

Every call reserves the most it can cost before it is sent and settles for what it did cost. Where prices are
not known the reservation is a guess from what has been seen, and the bound is then kept up to the calls in
flight. Knows no endpoint and no model.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from independence_bench.errors import BudgetSpent


@dataclass(slots=True)
class Reservation:
    """Set *cost* to what the call cost, in dollars; left alone, it cost nothing."""

    cost: float = 0.0


class Budget:
    """*limit* in US dollars, None for no bound. *spent* is kept either way."""

    def __init__(self, limit: float | None = None) -> None:
        self.limit = limit
        self.spent = 0.0
        self.reserved = 0.0
        self._in_flight = 0
        self._settled = asyncio.Event()  # set when a call has settled, then a new one

    @asynccontextmanager
    async def reserve(self, most: float) -> AsyncIterator[Reservation]:
        """Hold *most* dollars while the block runs; waits for calls in flight that may leave some over.

        Raises BudgetSpent when nothing is in flight and it still does not fit.
        """
        while not self.fits(most):
            if self.reserved == 0:
                raise BudgetSpent(
                    f"the budget of ${self.limit:g} is used up: ${self.spent:.4f} is spent and the next call "
                    f"may cost ${most:.4f}; raise --budget, or run it again for as much once more"
                )
            await self._settled.wait()
        self.reserved += most
        self._in_flight += 1
        reservation = Reservation()
        try:
            yield reservation
        finally:
            # no await in here: whoever waits is told, even if this call is being cancelled
            self._in_flight -= 1
            self.reserved = self.reserved - most if self._in_flight else 0.0  # what would be left is rounding
            self.spent += reservation.cost
            self._settled.set()
            self._settled = asyncio.Event()

    def fits(self, most: float) -> bool:
        """Whether a call of up to *most* dollars stays within the limit; at the limit nothing more does."""
        if self.limit is None:
            return True
        return self.spent + self.reserved + most <= self.limit and self.spent < self.limit
