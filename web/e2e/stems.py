"""A store of stems, played by simulated subjects of known behaviour: an example persona, and v2
beside it.
"""

from __future__ import annotations

import sys
from base64 import b64decode, b64encode
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from simulated_endpoint import play

from independence_bench.personas.sheet import EXAMPLES, load_sheet, make_protocol_files
from independence_bench.simulate.server import Settings
from independence_bench.store.database import open_store
from independence_bench.store.registry import store_picture

CHARACTERS = ("persona-keeper", "persona-drops-3", "persona-slips-3")
# four pixels
PICTURE = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVR42mN4scDgy5EEBoeEBRoOFQAwIgXxARPLHgAAAABJRU5ErkJggg=="
)


def stems(path: Path) -> None:
    """Write the store."""
    for old in path.parent.glob(f"{path.name}*"):
        old.unlink()
    play("v2", path, Settings(), names=("stubborn", "agreeable"))
    folder = path.with_name("companion")
    for name, text in make_protocol_files(load_sheet(EXAMPLES / "companion.yaml")).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    play(folder, path, Settings(), names=CHARACTERS, runs=2)
    with open_store(str(path)) as store, store.open_transaction() as connection:
        store_picture(connection, "persona-mira", b64encode(PICTURE).decode("ascii"))
