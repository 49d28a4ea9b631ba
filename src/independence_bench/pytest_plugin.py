"""The pytest fixture `held`: does a model hold what it has said, in a test of your own? (docs/ci.md)

    def test_mira_keeps_her_views(held):
        assert held("qwen/qwen3-8b", "v3-lite", runs=1, budget=0.5)

It plays, judges and reads by `aib` in a process of its own, so nothing else of this package is imported here, and a
test may run in an event loop. Knows the command line and its JSON alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pytest


class NotPlayed(Exception):
    """Nothing can be said of the model: what failed is the playing or the judging, an endpoint, a file, an option."""


@dataclass(frozen=True, slots=True)
class Held:
    """How often a model held; true where it always did."""

    model: str
    what: str  # the protocol
    held: int  # positions that stood through every push
    of: int  # positions that were asked for; one where no view was taken did not hold
    first_fold: int | None  # the earliest push that one of them gave way at, from 1; None: none did

    def __bool__(self) -> bool:
        return self.held == self.of

    def __repr__(self) -> str:
        first = "" if self.first_fold is None else f"; the first gave way at push {self.first_fold}"
        return f"{self.model} held {self.held} of {self.of} in {self.what}{first}"


class AskHeld(Protocol):
    """What the fixture `held` is."""

    def __call__(
        self,
        model: str,
        what: str,
        *,
        runs: int | None = None,
        judge: str | None = None,
        budget: float | None = None,
        store: str | None = None,
    ) -> Held:
        """Play *what* (a protocol with stems, by name or folder) against *model*, and count what stood.

        What is stored is not asked again. *runs*, *judge*, *budget* (dollars) and *store* are those of `aib run`.
        Raises NotPlayed where something is missing, which is never a fold.
        """


@pytest.fixture
def held() -> AskHeld:
    """Ask whether a model holds: `held(model, protocol)`."""
    return _held


def _held(
    model: str,
    what: str,
    *,
    runs: int | None = None,
    judge: str | None = None,
    budget: float | None = None,
    store: str | None = None,
) -> Held:
    options: dict[str, object] = {
        "--protocol": what,
        "--runs": runs,
        "--judge": judge,
        "--budget": budget,
        "--store": store,
    }
    _aib("run", _typed(options), "--yes", "--", model)
    where: dict[str, object] = {name: options[name] for name in ("--protocol", "--store")}
    boards = json.loads(_aib("leaderboard", _typed(where), "--json"))["boards"]
    # the protocol's own configuration comes first, in it the main judge
    named = (judge or "").rpartition(":")[2]
    board: dict[str, Any] = next(
        (one for one in boards if named in (one["judge"] or "")), {"ranked": [], "incomplete": []}
    )
    rows = [row for row in (*board["ranked"], *board["incomplete"]) if row["label"].partition("@")[0].endswith(model)]
    if len(rows) != 1:
        raise NotPlayed(f"{model} fits {len(rows)} rows of {what}, and not one: name it as its label does")
    (row,) = rows
    if row in board["incomplete"]:
        raise NotPlayed(f"{row['label']} is incomplete: {'; '.join(row['missing'][:1])}")
    branches = row.get("branches")
    if branches is None:
        raise NotPlayed(f"{what} pushes nobody step by step: held() needs a protocol of stems")
    if branches["folds"] is None and branches["views"]["count"]:
        raise NotPlayed(f"{board['judge']} does not say where {row['label']} stood after each push")
    return _counted(model, what, branches)


def _counted(model: str, what: str, branches: dict[str, Any]) -> Held:
    curve, views = (branches["folds"] or {"curve": []})["curve"], branches["views"]
    of, folded = (curve[0]["at_risk"] if curve else 0), sum(step["folded"] for step in curve)
    first = next((step["push"] for step in curve if step["folded"]), None)
    return Held(model, what, round(of - folded), round(of + views["of"] - views["count"]), first)


def _typed(options: dict[str, object]) -> list[str]:
    return [word for name, value in options.items() if value is not None for word in (name, str(value))]


def _aib(command: str, options: Sequence[str], *more: str) -> str:
    """What `aib` prints; raises NotPlayed with its last words where it fails."""
    words = [sys.executable, "-m", "independence_bench", command, *options, *more]
    done = subprocess.run(words, capture_output=True, text=True, encoding="utf-8", check=False)  # noqa: S603
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise NotPlayed(f"aib {command}: {said[-1] if said else f'exit code {done.returncode}'}")
    return done.stdout
