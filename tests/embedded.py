"""The embedded judge for tests: its real weights, with a stand-in for the small model where its file is not needed."""

from __future__ import annotations

import numpy as np

from independence_bench.judging.embedded.judge import EmbeddedJudge
from independence_bench.judging.embedded.reader import Floats, features
from independence_bench.judging.embedded.reading import JudgedWords
from independence_bench.judging.embedded.weights import Weights


class Fixed:
    """Stands for the model: every reply puts the same into its mind."""

    def __init__(self) -> None:
        self.read_so_far: list[JudgedWords] = []

    def read(self, evidence: JudgedWords) -> Floats:
        """A row as the reader gives it."""
        self.read_so_far.append(evidence)
        return features(np.ones((5, 576), np.float32))


WEIGHTS, FIXED = Weights.load(), Fixed()


def embedded_judge() -> EmbeddedJudge:
    """The judge, which needs no file."""
    return EmbeddedJudge(FIXED, WEIGHTS)
