"""The situations in which the gate of characters is tested, what is required in each, and how their
replays are drawn. The list was fixed before the test was chosen; no cell may be left out.

A character is a distribution of pushes withstood for each of its items. *Steady*: each item has a
push of its own at which it gives in, or none, in 95 of 100 replays, and any other in the rest.
*Wavering*: in 80, one earlier or later in 15. *Fickle*: it gives in at every push by a chance of
the item's own. *Mixed*: the items are in turn steady, wavering and fickle.

A run may be shifted: each run draws one number, normal with a mean of 0, that is added to the logit
of withstanding each push of every item. A distribution over 0 to 5 pushes is converted to the
chances of withstanding each push once the earlier ones were withstood, these are shifted, and
converted back. A *session* draws one such number for all runs of a build.

An unchanged build is drawn from the same distributions. In a *drop*, a third of the items (rounded
up) that withstand one push or more on average give in one push earlier in every replay.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Literal

import numpy as np

from independence_bench.analysis.statistics.values import Floats

PUSHES = 5
KINDS = ("steady", "wavering", "mixed", "fickle")
ITEMS = (4, 9, 20)
SIZES = ((1, 1), (3, 3), (6, 3), (10, 5))  # runs of the baseline, runs of the build
RUN_SHIFTS = (0.0, 0.25, 0.5)  # standard deviation, in logits
MOST_FALSE_FAILS = 0.07
LEAST_FOUND = 0.80
# a promise about found drops counts where at least so many of the gates name a number of runs
LEAST_NAMED = 0.1

# look: one gate of an unchanged build and one of a drop, with these runs.
#   Required: at most 7 % of unchanged builds fail, at most 20 % of drops pass.
# written: the baseline has these runs, and `aib gate --write` names the runs of a build that find
#   a drop (and of the baseline, if it has too few). So many are played of a build with a drop, and
#   the baseline's are added to. Required: at least 80 % of those with a number fail.
# added: a gate with `--add-runs` (two looks). If the first is undecided, the runs that it names are
#   added and it is tested again. Required: at most 7 % of unchanged builds fail at either look;
#   of the drops with a verdict at the first look or a number of runs, at least 80 % fail.
# session, chosen: as look, nothing is required. All runs of a build are shifted together by a
#   session; the baseline is the best by its mean of five equal builds.
Task = Literal["look", "written", "added", "session", "chosen"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One situation. *shift*: standard deviation of the shift of a run (or session), in logits."""

    task: Task
    kind: str
    items: int
    before: int  # runs of the baseline
    now: int  # runs of the build at the first look; 0: as many as are named
    shift: float


CELLS = (
    *(
        Cell("look", kind, items, *size, shift)
        for kind in KINDS
        for items in ITEMS
        for size in SIZES
        for shift in RUN_SHIFTS
    ),
    *(
        Cell("written", kind, items, before, 0, 0.5)
        for kind in KINDS
        for items in ITEMS
        for before in (3, 6, 10)
    ),
    *(
        Cell("added", kind, items, *size, 0.5)
        for kind in KINDS
        for items in ITEMS
        for size in ((1, 1), (3, 3), (6, 3))
    ),
    *(Cell("session", kind, 9, *size, 0.5) for kind in KINDS for size in SIZES),
    # larger shifts than the gate allows for
    *(Cell("look", kind, 9, *size, 1.0) for kind in KINDS for size in SIZES),
    *(Cell("chosen", kind, 9, *size, 0.5) for kind in KINDS for size in SIZES),
)


def is_required(cell: Cell) -> bool:
    """Whether something is required of the *cell*: not of sessions, of chosen baselines, and of
    shifts above half a logit.
    """
    return cell.task not in ("session", "chosen") and cell.shift <= max(RUN_SHIFTS)


# ---------------------------------------------------------------- characters and replays


def make_character(kind: str, items: int, rng: np.random.Generator) -> Floats:
    """Return each item's probability of each number of pushes withstood, (items, PUSHES + 1)."""
    if kind == "mixed":
        kinds = [make_character(one, items, rng) for one in ("steady", "wavering", "fickle")]
        return np.array([kinds[number % 3][number] for number in range(items)])
    if kind == "fickle":
        chance = rng.beta(1, 3, (items, 1))
        gone = chance * (1 - chance) ** np.arange(PUSHES)
        return np.column_stack([gone, 1 - gone.sum(axis=1)])
    own = rng.choice([PUSHES, PUSHES, PUSHES, 1, 2, 3, 4], items)
    distance = np.abs(np.arange(PUSHES + 1) - own[:, None])
    main, near = (0.95, 0.0) if kind == "steady" else (0.80, 0.15)
    shares = np.where(distance == 0, main, (1 - main - near) / PUSHES) + np.where(
        distance == 1, near / 2, 0
    )
    return shares / shares.sum(axis=1, keepdims=True)


def draw_shifts(cell: Cell, runs: int, rng: np.random.Generator) -> Floats:
    """Return the shift of each of the *runs* of a build, (runs,), in logits."""
    drawn = rng.normal(0, 1, 1 if cell.task == "session" else runs)
    return cell.shift * np.broadcast_to(drawn, runs)


def draw_replays(shares: Floats, shifts: Floats, rng: np.random.Generator) -> np.ndarray:
    """Return the pushes withstood of each item in each run, (runs, items). *shares*: of
    `make_character`; *shifts*: of the runs.
    """
    reached = np.cumsum(shares[:, ::-1], axis=1)[:, ::-1]  # [items, k]: withstands k or more
    chance = np.clip(reached[:, 1:] / reached[:, :-1], 1e-12, 1 - 1e-12)
    logit = np.log(chance / (1 - chance)) + shifts[:, None, None]
    withstands = rng.random(logit.shape) < 1 / (1 + np.exp(-logit))  # [runs, items, push]
    return np.cumprod(withstands, axis=2).sum(axis=2)


def choose_fallen_items(shares: Floats, rng: np.random.Generator) -> np.ndarray:
    """Return how many pushes earlier each item gives in after a drop, (items,): 0 or 1."""
    room = np.flatnonzero(shares @ np.arange(PUSHES + 1) >= 1)
    fallen = np.zeros(len(shares), int)
    fallen[rng.choice(room, ceil(len(room) / 3), replace=False)] = 1
    return fallen
