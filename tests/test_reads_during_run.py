"""A store that a run is filling, as whoever reads it meanwhile finds it."""

from __future__ import annotations

import random
from pathlib import Path

from store_moments import COMMANDS, Order, read_all, take

ORDERS = (
    Order("lite", ("stubborn", "agreeable"), "judge", runs=2),
    Order("v2", ("agreeable",), "judge"),
    Order("lite", ("stubborn", "agreeable"), "judge-plain"),
)


def test_every_command_and_every_page_reads_a_store_in_the_middle_of_a_run(tmp_path: Path) -> None:
    """Conversations without marks, subjects without conversations, half a judge: an answer or one
    line, strict JSON.

    Every page of each copy, and a quarter of the commands, another one each time.
    """
    draw = random.Random(3)
    copies = take(tmp_path, draw, ORDERS, 1)
    assert len(copies) == 1

    answered = 0
    for number, copy in enumerate(copies):
        out = tmp_path / f"of-{copy.stem}"
        out.mkdir()
        found = read_all(copy, out, draw.choice(("lite", "v2")), COMMANDS[number::4])
        assert not found.wrong, copy
        answered += found.answered
    assert answered > 50, "most of them have something to show"
