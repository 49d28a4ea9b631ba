"""The pytest fixture `held`: does a model hold, in a test of your own? (docs/ci.md)

    def test_mira_stays_mira(held):
        assert held("qwen/qwen3-8b", "mira.yaml", runs=1, budget=0.5)

It plays, judges and reads by `aib` in a process of its own, so nothing else of this package is
imported here, and a test may run in an event loop. Knows the command line and its JSON alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

CROSSED = 3  # exit code of `aib persona run`: a red line was crossed
SHEETS = (".yaml", ".yml")  # how the file of a persona ends; anything else is a protocol


class NotPlayed(Exception):
    """Nothing can be said of the model: what failed is the playing or the judging, an endpoint, a
    file, an option.
    """


@dataclass(frozen=True, slots=True)
class Held:
    """How often a model held; true where it did throughout and that can be told of everything."""

    model: str
    what: str  # the persona's sheet, or the protocol
    held: int  # items, or positions, that stood through every push
    of: int  # of so many that can be told; one where no view was taken did not hold
    first_fold: int | None  # the earliest push that one of them gave way at, from 1; None: none did
    unknown: int = 0  # of so many it cannot be told: this judge has no grounds for a mark
    crossed: tuple[str, ...] = ()  # the replies that crossed a persona's red lines

    def __bool__(self) -> bool:
        return self.held == self.of and not self.unknown

    def __repr__(self) -> str:
        first = "" if self.first_fold is None else f"; the first gave way at push {self.first_fold}"
        unknown = f"; {self.unknown} more could not be judged" if self.unknown else ""
        crossed = f"; a red line was crossed: {self.crossed[0][:120]!r}" if self.crossed else ""
        return f"{self.model} held {self.held} of {self.of} in {self.what}{first}{crossed}{unknown}"


class AskHeld:
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
        """Play *what* against *model*, and count what stood: a persona's sheet (.yaml), or a
        protocol of stems.

        What is stored is not asked again. *runs*, *judge*, *budget* (dollars) and *store* are those
        of `aib run`. Raises NotPlayed where something is missing, which is never a fold.
        """
        options = _typed(("--runs", runs), ("--judge", judge), ("--budget", budget))
        at = _typed(("--store", store))
        if what.endswith(SHEETS):
            words = ("persona", "run", what, "--model", model, "--yes", "--json", *options, *at)
            said = json.loads(_aib(*words, answers=(0, CROSSED)))
            return _of_persona(model, what, said["subjects"])
        _aib("run", "--protocol", what, "--yes", *options, *at, "--", model)
        boards = json.loads(_aib("leaderboard", "--protocol", what, "--json", *at))["boards"]
        return _of_protocol(model, what, judge, boards)


@pytest.fixture
def held() -> AskHeld:
    """Ask whether a model holds: `held(model, "mira.yaml")`, or `held(model, protocol)`."""
    return AskHeld()


def _of_persona(model: str, what: str, subjects: Sequence[dict[str, Any]]) -> Held:
    if len(subjects) != 1:
        raise NotPlayed(f"{model} is {len(subjects)} subjects: ask for one at a time")
    (one,) = subjects
    folds = [item["fold"] for item in one["items"] if item["fold"] is not None]
    crossed = tuple(crossing["text"] for item in one["items"] for crossing in item["crossings"])
    return Held(
        model, what, one["held"], one["of"], min(folds, default=None), one["not_judged"], crossed
    )


def _of_protocol(
    model: str, what: str, judge: str | None, boards: Sequence[dict[str, Any]]
) -> Held:
    # the protocol's own configuration comes first, in it the main judge
    named = (judge or "").rpartition(":")[2]
    board = next((shown for shown in boards if named in (shown["judge"] or "")), None)
    if board is None:
        raise NotPlayed(f"no conversations of {what} are judged by {judge}")
    rows = [
        row for row in (*board["ranked"], *board["incomplete"]) if is_called(row["label"], model)
    ]
    if len(rows) != 1:
        raise NotPlayed(
            f"{model} fits {len(rows)} rows of {what}, and not one: name it as its label does"
        )
    (row,) = rows
    if row in board["incomplete"]:
        raise NotPlayed(f"{row['label']} is incomplete: {'; '.join(row['missing'][:1])}")
    branches = row.get("branches")
    if branches is None:
        raise NotPlayed(
            f"{what} has no pushes step by step: held() needs a persona or a protocol of stems"
        )
    if branches["folds"] is None:
        raise NotPlayed(f"{board['judge']} does not say where {row['label']} stood after each push")
    curve = branches["folds"]["curve"]
    of, folded = (curve[0]["at_risk"] if curve else 0), sum(step["folded"] for step in curve)
    first = next((step["push"] for step in curve if step["folded"]), None)
    return Held(model, what, round(of - folded), round(of), first)


def is_called(label: str, model: str) -> bool:
    """Whether that is the *label* of what is typed as *model*, be it with the provider that
    models.yaml pins or not.
    """
    name = label.partition("@")[0]
    return name.endswith(model) or name.rpartition("+")[0].endswith(model)


def _typed(*options: tuple[str, object]) -> list[str]:
    return [word for name, value in options if value is not None for word in (name, str(value))]


def _aib(*words: str, answers: tuple[int, ...] = (0,)) -> str:
    """What `aib` prints; raises NotPlayed with its last words where its exit code is none of
    *answers*.
    """
    command = [sys.executable, "-m", "independence_bench", *words]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)  # noqa: S603
    if done.returncode not in answers:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise NotPlayed(f"aib {words[0]}: {lines[-1] if lines else f'exit code {done.returncode}'}")
    return done.stdout
