"""What the small model makes of replies, kept from run to run."""

# mypy: disable-error-code="import-untyped"
from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

from independence_bench.hashing import content_hash
from independence_bench.judging.embedded.reading import SHOWN, JudgedWords, StateReader, shown
from independence_bench.models.local.files import SMOLLM2, find

Row = npt.NDArray[np.float32]


class CachedReader:
    """Reads replies as the shipped judge does, and keeps their states in the file *cache*."""

    def __init__(self, cache: Path) -> None:
        self._cache, self._reader, self._added = cache, StateReader(Path(find(SMOLLM2).path)), 0
        self._kept: dict[str, npt.NDArray[np.float16]] = {}
        if cache.exists():
            with np.load(cache, allow_pickle=False) as stored:
                self._kept = dict(zip(stored["keys"].tolist(), stored["states"], strict=True))

    def read(self, evidence: JudgedWords) -> Row:
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
            np.savez(
                self._cache,
                keys=np.array(list(self._kept)),
                states=np.array(list(self._kept.values())),
            )
