"""The exam of two judges in a store: one that knows the correct marks, and one that sees
nothing.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from simulated_endpoint import aib, simulating

JUDGES = ("sim:sim/exam-blind", "sim:sim/exam-perfect")
RUBRIC = "name_and_gender"


def sit(store: Path) -> None:
    """Both sit one rubric; their answers are added to the store."""
    asked = [part for judge in JUDGES for part in ("-j", judge)]
    with tempfile.TemporaryDirectory() as folder, simulating(Path(folder)):
        done = aib(Path(folder), "exam", *asked, "--rubric", RUBRIC, "-y", "--store", str(store))
    if done.returncode:
        raise SystemExit(done.stderr)
