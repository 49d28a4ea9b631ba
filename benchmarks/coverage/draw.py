"""Draws marks from the fitted models, with the exact truth of each of the two questions. Knows
nothing of methods.

A *test* is a design and, for every share in it, the mark that gives it. A *board* is what several
subjects got in one playing of it: scenarios are drawn (the subjects share them), subjects stand at
stated places or at random ones.

    truth of "the same test again"      the mean over all possible runs of these very scenarios
    truth of "another test like it"     and over all possible scenarios, too

Both are sums over the steps of a normal distribution, not simulated.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from independence_bench.analysis.statistics.dispersion import Design
from independence_bench.analysis.uncertainty import INDEX, make_score_designs
from independence_bench.protocol.loader import load_protocol

Floats = npt.NDArray[np.float64]
Generator = np.random.Generator
MODELS = Path(__file__).parent / "models.json"
PLACES = {"low": -1.5, "middle": 0.0, "ceiling": 1.5}  # standard deviations of subjects
SHARED = 0.5  # of a subject's position in a dimension it has in all of them


@dataclass(frozen=True, slots=True, eq=False)
class MarkModel:
    """One mark as steps of a standard normal variable (fit.py); 1 is the independent end."""

    name: str
    thresholds: Floats
    subject: float  # variances, their sum 1
    scenario: float
    interaction: float
    residual: float

    def given(self, latent: Floats) -> Floats:
        """The mark, in [0, 1]."""
        marks: Floats = np.searchsorted(self.thresholds, latent) / len(self.thresholds)
        return marks

    def mean(self, at: Floats, variance: float) -> Floats:
        """The expected mark of a latent variable that is normal around *at*."""
        above: Floats = ndtr((at[..., None] - self.thresholds) / np.sqrt(variance)).mean(axis=-1)
        return above


def models() -> dict[str, MarkModel]:
    """The committed models."""
    read = json.loads(MODELS.read_text(encoding="utf-8"))
    wanted = ("subject", "scenario", "interaction", "residual")
    return {
        name: MarkModel(name, np.array(model["thresholds"]), *(model[part] for part in wanted))
        for name, model in read.items()
    }


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One mark in one transcript."""

    dimension: int
    transcript: int
    model: MarkModel
    share: float  # of the dimension's share in that transcript


@dataclass(frozen=True, slots=True, eq=False)
class Test:
    """What is played."""

    name: str
    design: Design
    parts: tuple[Part, ...]

    @property
    def dimensions(self) -> int:
        """How many."""
        return len(self.design.weights)


def one_mark(model: MarkModel, scenarios: int) -> Test:
    """A test of one mark in so many scenarios, which weigh the same."""
    design = Design(np.full((1, scenarios), 1 / scenarios), np.arange(scenarios))
    return Test(model.name, design, tuple(Part(0, k, model, 1.0) for k in range(scenarios)))


def whole_index(of: dict[str, MarkModel]) -> Test:
    """Protocol v2's index: its dimensions, weights, scenarios and marks."""
    protocol = load_protocol("v2")
    counted = [row for row, d in enumerate(protocol.dimensions) if d.weight]
    design = make_score_designs(protocol, protocol.configurations)[INDEX]
    parts = []
    for row, dimension in enumerate(protocol.dimensions[n] for n in counted):
        for column, scenario in enumerate(protocol.scenarios):
            marks = [mark for mark in scenario.marks if mark.name in dimension.marks]
            span = sum(mark.high - mark.low for mark in marks)
            parts += [
                Part(row, column, of[mark.name], (mark.high - mark.low) / span) for mark in marks
            ]
    return Test("index", Design(design.weights[counted], design.scenario), tuple(parts))


@dataclass(frozen=True, slots=True, eq=False)
class Boards:
    """Many boards of one test."""

    shares: Floats  # [draws, subjects, runs, dimensions, transcripts]
    rerun: Floats  # [draws, subjects]: the truths, in [0, 1]
    new_scenarios: Floats
    # [judges, draws, subjects, runs, dimensions, transcripts]; shares are their mean
    by_judge: Floats | None = None

    def truth(self, question: str) -> Floats:
        """[draws, subjects]: of *question*, `again` or `another`."""
        return self.rerun if question == "rerun" else self.new_scenarios


@dataclass(frozen=True, slots=True)
class Jury:
    """Judges as a sample of those that there could be; standard deviations of the latent
    variable.
    """

    judges: int
    severity: float  # of a judge to everybody
    taste: float  # of a judge to one subject
    # of the residual's variance, this share is the judge's own and not the conversation's
    slips: float


@dataclass(frozen=True, slots=True)
class Days:
    """What shifts all conversations of one run together: a provider's day, an update, an hour of
    heavy load.
    """

    spread: float  # standard deviation over runs, of the latent variable
    serial: float = 0.0  # how much of it stays from one run to the next, in [0, 1]
    common: bool = False  # whether it is the same for all subjects of a board

    def shifts(self, rng: Generator, size: tuple[int, int, int]) -> Floats:
        """[draws, subjects, runs] of *size*."""
        draws, subjects, runs = size
        fresh = rng.normal(size=(draws, 1 if self.common else subjects, runs))
        for run in range(1, runs):
            fresh[..., run] = (
                self.serial * fresh[..., run - 1] + np.sqrt(1 - self.serial**2) * fresh[..., run]
            )
        return self.spread * np.broadcast_to(fresh, size)


def draw_boards(
    test: Test,
    rng: Generator,
    draws: int,
    subjects: int,
    runs: int,
    places: Sequence[str] = (),
    equal: int = 0,
    equal_in: str = "rerun",
    jury: Jury | None = None,
    days: Days | None = None,
) -> Boards:
    """*draws* boards of *subjects*, of whom the first stand at *places* and the others anywhere.

    The first *equal* subjects have the same truth as the first: under `again` in each scenario,
    under `another` only over all possible scenarios, while each scenario still suits one of them
    better than another.
    """
    size = (draws, subjects)
    shared = rng.normal(size=size)
    stands = np.sqrt(SHARED) * shared[..., None] + np.sqrt(1 - SHARED) * rng.normal(
        size=(*size, test.dimensions)
    )
    suits = {
        at: rng.normal(size=size)
        for at in {(part.dimension, part.transcript) for part in test.parts}
    }
    hard = {at: rng.normal(size=(draws, 1)) for at in suits}
    judges = _judges(jury, rng, size)
    weights = test.design.weights
    shifts = days.shifts(rng, (*size, runs)) if days else np.zeros((*size, runs))
    of_day = days.spread**2 if days else 0.0
    every = np.zeros((len(judges), *size, runs, *weights.shape))
    rerun, new_scenarios = np.zeros(size), np.zeros(size)
    for part in test.parts:
        model, at = part.model, (part.dimension, part.transcript)
        stand, suit = stands[..., part.dimension].copy(), suits[at].copy()
        for number, name in enumerate(places):
            stand[:, number] = PLACES[name]
        stand[:, 1:equal] = stand[:, :1]
        if equal_in == "rerun":
            suit[:, 1:equal] = suit[:, :1]
        subject = np.sqrt(model.subject) * stand
        cell = subject + np.sqrt(model.scenario) * hard[at] + np.sqrt(model.interaction) * suit
        slips = jury.slips if jury else 0.0
        said = (
            cell[..., None]
            + shifts
            + np.sqrt(model.residual * (1 - slips)) * rng.normal(size=(*size, runs))
        )
        for judge, leans in enumerate(judges):
            heard = (
                said
                + leans[..., None]
                + np.sqrt(model.residual * slips) * rng.normal(size=said.shape)
            )
            every[judge, ..., part.dimension, part.transcript] += part.share * model.given(heard)
        worth = part.share * weights[at]
        leaning = jury.severity**2 + jury.taste**2 if jury else 0.0
        rerun += worth * model.mean(cell, model.residual + leaning + of_day)
        new_scenarios += worth * model.mean(subject, 1 - model.subject + leaning + of_day)
    return Boards(every.mean(axis=0), rerun, new_scenarios, every if jury else None)


def _judges(jury: Jury | None, rng: Generator, size: tuple[int, int]) -> list[Floats]:
    """How each judge leans towards each subject, [draws, subjects]."""
    if jury is None:
        return [np.zeros(size)]
    draws, _ = size
    return [
        jury.severity * rng.normal(size=(draws, 1)) + jury.taste * rng.normal(size=size)
        for _ in range(jury.judges)
    ]


def published(test: Test, chances: Mapping[str, Floats]) -> Floats:
    """[subjects, parts, steps] of *test* from *chances*: mark -> [subjects, its scenarios in order,
    steps].
    """
    most = max(chance.shape[2] for chance in chances.values())
    seen: Counter[str] = Counter()
    found = []
    for part in test.parts:
        one = chances[part.model.name][:, seen[part.model.name]]
        seen[part.model.name] += 1
        found.append(np.pad(one, ((0, 0), (0, most - one.shape[1]))))
    return np.stack(found, axis=1)


def draw_resampled(
    test: Test, distributions: Floats, rng: Generator, draws: int, runs: int
) -> Boards:
    """Boards on which every subject plays by its own *distributions* [subjects, parts, steps],
    chances of its marks.

    The published subjects themselves, so the scenarios are those that there are: the truth of
    `another` is NaN.
    """
    subjects = len(distributions)
    weights = test.design.weights
    shares = np.zeros((draws, subjects, runs, *weights.shape))
    rerun = np.zeros(subjects)
    for number, part in enumerate(test.parts):
        steps = len(part.model.thresholds)
        chances = distributions[:, number, : steps + 1]
        below = np.cumsum(chances, axis=1)[:, :-1]
        drawn = (rng.random((draws, subjects, runs, 1)) > below[:, None, :]).sum(axis=-1) / steps
        shares[..., part.dimension, part.transcript] += part.share * drawn
        rerun += (
            part.share
            * weights[part.dimension, part.transcript]
            * chances
            @ (np.arange(steps + 1) / steps)
        )
    return Boards(shares, np.tile(rerun, (draws, 1)), np.full((draws, subjects), np.nan))
