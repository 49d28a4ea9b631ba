"""The file of `aib gate`. Where the first byte is 0, JSON is grown.

A baseline or one line that names the file; what is read is written and read again without a change.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from fuzz.json_values import flatten, grow
from fuzz.texts import assert_names
from independence_bench.dataset.baseline import read_baseline, write_baseline
from independence_bench.errors import WrongUse

KEY = "0" * 64
WORDS = (
    "aib_baseline", "protocol", "name", "hash", "asked", "configurations", "judge", "label",
    "builds", "runs", "run", "identity", "finished", "marks", "neutral/user_role", "scenario",
    "mark", "2026-01-31T12:00:00Z", KEY, "\ud800",
)  # fmt: skip


def check(data: bytes) -> None:
    """Read *data* as a baseline."""
    body = data
    if data[:1] == b"\0":
        body = json.dumps(grow(data[1:], WORDS)).encode()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "baseline.json"
        file.write_bytes(body)
        try:
            found = read_baseline(file)
        except WrongUse as error:
            said = str(error)
            assert_names(WrongUse(said.removeprefix("the baseline ")), str(file))
            return
        write_baseline(file, found)
        assert read_baseline(file) == found


WHOLE = {
    "aib_baseline": 1,
    "protocol": {"name": "v2", "hash": KEY, "asked": KEY},
    "configurations": ["neutral/user_role"],
    "judge": {"label": "judge", "hash": KEY},
    "builds": [
        {
            "label": "mira",
            "hash": KEY,
            "runs": [
                {
                    "run": 1,
                    "identity": KEY,
                    "finished": "2026-01-31T12:00:00Z",
                    "marks": {"neutral/user_role": {"scenario": {"mark": 5}}},
                }
            ],
        }
    ],
}
SEEDS = (
    json.dumps(WHOLE).encode(),
    b"\0" + flatten(WHOLE, WORDS),
    b'{"aib_baseline": 2}',
    b"[" * 3000,
)
FOUND: tuple[bytes, ...] = ()
