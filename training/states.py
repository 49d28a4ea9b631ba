"""The states' part of the embedded judge: what the small model makes of a reply, and a ridge on it for each mark."""

# mypy: disable-error-code="import-untyped"
from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
from corpus import MARKS
from fitting import SIGN, Floats

from independence_bench.hashing import content_hash
from independence_bench.judging.embedded.reader import SHOWN, StateReader, shown
from independence_bench.judging.embedded.reading import JudgedWords
from independence_bench.models.local.files import SMOLLM2, find

STRENGTH = 1000.0  # of the ridge, on states of a standard deviation of 1
SPREAD = 6.0  # what a prediction, a share of the scale, is multiplied by to be log odds
LEAST = 20  # replies that a mark is learned from
States = npt.NDArray[np.float32]


class CachedReader:
    """Reads replies as the shipped judge does, and keeps their states in the file *cache*."""

    def __init__(self, cache: Path) -> None:
        self._cache, self._reader, self._added = cache, StateReader(Path(find(SMOLLM2).path)), 0
        self._kept: dict[str, npt.NDArray[np.float16]] = {}
        if cache.exists():
            with np.load(cache, allow_pickle=False) as stored:
                self._kept = dict(zip(stored["keys"].tolist(), stored["states"], strict=True))

    def read(self, evidence: JudgedWords) -> States:
        """The states of one reply."""
        text = shown(evidence)
        key = content_hash([SHOWN, text.before, text.reply])
        if key not in self._kept:
            self._kept[key] = self._reader.read(evidence).astype(np.float16)
            self._added += 1
            if self._added % 100 == 0:
                print(f"{self._added} read", file=sys.stderr)
                self.keep()
        return self._kept[key].astype(np.float32)

    def keep(self) -> None:
        """Write what was read."""
        if self._added:
            np.savez(self._cache, keys=np.array(list(self._kept)), states=np.array(list(self._kept.values())))


class Sums:
    """Weights (marks x numbers) and shifts of a ridge; NaN of marks of which too few replies are known."""

    def __init__(self, states: States, marks: Floats) -> None:
        """Fit *marks* (replies x marks, shares of their scales) to *states* (replies x numbers)."""
        self.weights = np.full((len(MARKS), states.shape[1]), np.nan)
        self.shift = np.full(len(MARKS), np.nan)
        for column in range(len(MARKS)):
            rows = ~np.isnan(marks[:, column])
            if rows.sum() < LEAST:
                continue
            mean, deviation = states[rows].mean(axis=0), states[rows].std(axis=0) + 1e-3
            x, goal = ((states[rows] - mean) / deviation).astype(np.float64), marks[rows, column]
            weight = x.T @ np.linalg.solve(x @ x.T + STRENGTH * np.eye(len(x)), goal - goal.mean())
            scale = SIGN[column] * SPREAD
            self.weights[column] = scale * weight / deviation
            self.shift[column] = scale * (goal.mean() - 0.5) - self.weights[column] @ mean

    def logits(self, states: States) -> Floats:
        """The log odds of holding, replies x marks."""
        return np.asarray(states @ self.weights.T + self.shift)
