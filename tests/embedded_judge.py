"""The embedded judge for tests: its real weights, with a stand-in for the small model where its
file is not needed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from independence_bench.judging.embedded.judge import EmbeddedJudge
from independence_bench.judging.embedded.reading import Floats, JudgedWords, summarize_states
from independence_bench.judging.embedded.weights import Weights
from independence_bench.models.local.files import SMOLLM2, find_pin

INSTALLED = find_pin(SMOLLM2).path if find_pin(SMOLLM2).path.exists() else None
needs_model = pytest.mark.skipif(
    INSTALLED is None, reason="needs `aib models install smollm2-135m`"
)


class Fixed:
    """Stands for the model: every reply puts the same into its mind."""

    def __init__(self) -> None:
        self.read_so_far: list[JudgedWords] = []

    def read_model_states(self, evidence: JudgedWords) -> Floats:
        """A row as the reader gives it."""
        self.read_so_far.append(evidence)
        return summarize_states(np.ones((5, 576), np.float32))


WEIGHTS, FIXED = Weights.load_shipped(), Fixed()


def embedded_judge() -> EmbeddedJudge:
    """The judge, which needs no file."""
    return EmbeddedJudge(FIXED, WEIGHTS)


def with_model(home: Path) -> Path:
    """*home*, in whose data folder the installed model lies as well; the test is skipped where none
    is installed.
    """
    if INSTALLED is None:
        pytest.skip("needs `aib models install smollm2-135m`")
    folder = home / ".local" / "share" / "aib" / "models"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / INSTALLED.name).exists():
        (folder / INSTALLED.name).symlink_to(INSTALLED)
    return home
