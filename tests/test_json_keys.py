"""The keys under which `--json` has its values stay: programs read them.

`data/json-keys.json.xz` has those of thirteen commands on frozen stores, as they were when values
began to describe themselves. A key may be added; none may go.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from frozen_stores import aib, restored

DATA = Path(__file__).parent / "data"
KEYS: dict[str, list[str]] = json.loads(lzma.decompress((DATA / "json-keys.json.xz").read_bytes()))
# of the gates among the commands: the build that the baseline is of
BASELINES = {"persona.json": "sim:sim/persona-keeper@none-t0.7", "v2.json": "sim:sim/rock"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Has a store for each name in front of a command."""
    made = tmp_path_factory.mktemp("frozen")
    for name in {command.partition(":")[0] for command in KEYS}:
        restored(made / name, DATA / "20698ef" / f"{name}.sqlite3.xz")
    return made


@pytest.mark.parametrize("command", sorted(KEYS))
def test_no_key_of_a_command_has_gone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Every key is where it was, in lists, too."""
    monkeypatch.chdir(folder)
    name, _, typed = command.partition(": ")
    words = typed.split()
    if words[0] == "gate" and not (folder / words[1]).exists():
        aib("gate", "--write", words[1], BASELINES[words[1]], "--store", name)

    answer = json.loads(aib(*words, "--json", "--store", name))

    assert set(KEYS[command]) <= set(keys_in(answer))


def keys_in(value: Any, place: str = "") -> list[str]:
    """Where each key of *value* stands: `boards[].ranked[].index`."""
    if isinstance(value, list):
        return [found for item in value for found in keys_in(item, f"{place}[]")]
    if not isinstance(value, dict):
        return []
    found = []
    for key, inside in value.items():
        here = f"{place}.{key}" if place else key
        found += [here, *keys_in(inside, here)]
    return found
