"""A command with a budget, drawn at random: prices, faults, parallelism, and how much there is to
spend.

    found = spend(folder, store, seed)
    found.findings                     # a line each for what went wrong

With prices in the endpoint's list the bound is tight: the endpoint has never charged more than the
budget, replies that were paid for and never arrived included. Without them the budget is kept up to
the calls in flight, as far as replies say what they cost.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

from simulated_endpoint import CENT, Command, Played, play

from independence_bench.calls.limits import Policy
from independence_bench.simulate.faults import FAULTS, MIXED, Faults
from independence_bench.simulate.server import Latency, Settings
from independence_bench.simulate.wire import Price, Prices

NAMES = ("stubborn", "agreeable", "evader", "terse", "verbose", "refuser", "debris")
TOO_SLOW = ("silence",)  # changes nothing about money
# tokens of one run of the small protocol, about: sent, written
A_RUN = (7 * 800 + 4 * 1500, 7 * 350 + 4 * 160)
ROUNDING = 1e-9  # dollars


@dataclass(slots=True)
class Found:
    """What one command came to."""

    seed: int
    listed: bool
    budget: float
    paid: float  # dollars, by the endpoint's ledger
    counted: float  # dollars that the budget counted
    requests: int
    at_once: int
    dearest: float  # dollars of the dearest request
    ended: str  # complete, budget, other
    findings: list[str] = field(default_factory=list)

    @property
    def beyond(self) -> float:
        """Dollars beyond the budget; 0 where it was kept."""
        return max(self.paid - self.budget, 0.0)

    def line(self) -> str:
        """All of it in a line."""
        known = "prices known" if self.listed else "prices unknown"
        return (
            f"{self.seed}: {known}, budget ${self.budget:.6f}, paid ${self.paid:.6f}, counted "
            f"${self.counted:.6f}, {self.requests} requests, {self.at_once} at once, "
            f"{self.ended}; " + ("; ".join(self.findings) or "nothing wrong")
        )


def draw_command(seed: int) -> tuple[Settings, Command]:
    """An endpoint and a command, the same for the same *seed*, for the small protocol."""
    draw = random.Random(seed)
    prices = Prices(_price(draw), _price(draw), listed=draw.random() < 0.75)
    names = tuple(draw.sample(NAMES, draw.randint(1, 3)))
    runs = draw.randint(1, 2)
    command = Command(
        names=names,
        runs=runs,
        budget=_guess(prices, len(names) * runs) * 10 ** draw.uniform(-2.0, 0.5),
        at_once=draw.randint(1, 4),
        calls_at_once=draw.choice([1, 2, 4, 8, 16]),
        policy=Policy(patience=60.0, first_wait=0.5),
        seed=seed,
    )
    return Settings(
        seed, Latency(draw.choice([0.0, 1.0, 5.0]), 1.0), _faults(draw), prices=prices
    ), command


def _price(draw: random.Random) -> Price:
    written = 10 ** draw.uniform(-8, -3)
    return Price(prompt=written * draw.uniform(0.05, 1.0), completion=written)


def _guess(prices: Prices, runs: int) -> float:
    """What so many runs cost, about."""
    sent, written = A_RUN
    return runs * (sent * prices.subject.prompt + written * prices.subject.completion)


def _faults(draw: random.Random) -> Faults:
    kind = draw.randrange(4)
    if kind == 0:
        return Faults()
    if kind == 1:
        return Faults({MIXED: draw.uniform(0.05, 0.6)})
    few = draw.sample([name for name in FAULTS if name not in TOO_SLOW], draw.randint(1, 4))
    return Faults({name: draw.uniform(0.02, 0.9) / len(few) for name in few})


def spend(folder: Path | str, store: Path, seed: int) -> Found:
    """Carry out the command of *seed* and compare what it cost with what it was given.

    *folder* is that of the small protocol.
    """
    settings, command = draw_command(seed)
    assert command.budget is not None
    played = play(
        folder,
        store,
        settings,
        **{name: getattr(command, name) for name in Command.__dataclass_fields__},
    )
    stopped = str(played.report.stopped or "")
    found = Found(
        seed=seed,
        listed=settings.prices.listed,
        budget=command.budget,
        paid=played.audit.charged,
        counted=played.report.budget.spent,
        requests=len(played.entries),
        at_once=command.at_once * command.calls_at_once,
        dearest=max((entry.charged for entry in played.entries), default=0.0),
        ended="complete"
        if played.report.complete
        else "budget"
        if "budget" in stopped
        else "other",
    )
    found.findings = [words for words, is_so in _wrongs(played, found).items() if is_so]
    return found


def _wrongs(played: Played, found: Found) -> dict[str, bool]:
    """What would be wrong, and whether it is."""
    told = all(entry.told or not entry.charged for entry in played.entries)
    room = found.dearest * found.at_once
    hidden = not played.report.complete and not played.report.stopped and not played.report.troubles
    return {
        f"${found.beyond:.9f} beyond the budget, with known prices": found.listed
        and found.beyond > ROUNDING,
        f"it counted ${found.counted:.9f} of ${found.paid:.9f} paid, with known prices": (
            found.listed and found.counted < found.paid - ROUNDING
        ),
        f"${found.beyond:.9f} beyond the budget, and ${room:.9f} can have been in flight": (
            not found.listed and told and found.beyond > room + ROUNDING
        ),
        "the books are apart": abs(played.spending.total - played.audit.told) > CENT / 100,
        "a completed reply was bought again": bool(played.audit.again),
        "it ended without saying why": hidden,
        f"it stopped for another reason than the budget: {played.report.stopped}": (
            bool(played.report.stopped) and found.ended != "budget"
        ),
    }
