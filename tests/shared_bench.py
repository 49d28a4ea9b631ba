"""A bench for all tests of a file: what is played with it once is read, or copied, by each of
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conftest import write_small
from scripted_model import Bench, Script, ScriptedModel


@contextmanager
def bench_in(folder: Path, script: Script) -> Iterator[Bench]:
    """The small protocol, a store and a scripted model, in *folder*; the model ends with the
    block.
    """
    with ScriptedModel(script) as server:
        yield Bench(write_small(folder / "small"), folder / "store.db", {"scripted": server})
