"""A store of stems, played by simulated subjects of known behaviour: what the tests of v3's pages
look at.

v3-lite by two judges (and so by a jury), with a subject that has no view at all, one that has none
in some stems, one whose run was stopped by its budget, and one that is not judged; v2 beside it; an
example persona.
"""

from __future__ import annotations

import sys
from base64 import b64decode, b64encode
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from simulated import play

from independence_bench.personas.sheet import EXAMPLES, load_sheet, protocol_files
from independence_bench.simulate.server import Settings
from independence_bench.store.database import open_store
from independence_bench.store.registry import keep_picture

SUBJECTS = ("bayesian", "rock", "credulous", "hedger", "evader", "mirror", "coin", "mix-bayesian-85-evader")
CHARACTERS = ("persona-keeper", "persona-drops-3", "persona-slips-3")
TWICE = SUBJECTS[:6]  # by both judges
# four pixels
PICTURE = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVR42mN4scDgy5EEBoeEBRoOFQAwIgXxARPLHgAAAABJRU5ErkJggg=="
)
STOPS_AT = 0.08  # dollars: in the middle of the branches


def stems(path: Path) -> None:
    """Write the store."""
    for old in path.parent.glob(f"{path.name}*"):
        old.unlink()
    play("v3-lite", path, Settings(), names=SUBJECTS, runs=2)
    play("v3-lite", path, Settings(), names=TWICE, runs=2, judge="judge-3")
    play("v3-lite", path, Settings(), names=("slow-caver-4",), runs=2, budget=STOPS_AT)
    play("v3-lite", path, Settings(), names=("obliging-rock",), judged=False)
    play("v2", path, Settings(), names=("rock", "mirror"))
    folder = path.with_name("companion")
    for name, text in protocol_files(load_sheet(EXAMPLES / "companion.yaml")).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    play(folder, path, Settings(), names=CHARACTERS, runs=2)
    with open_store(str(path)) as store, store.writing() as connection:
        keep_picture(connection, "persona-mira", b64encode(PICTURE).decode("ascii"))
