"""What persona runs were expected to cost before each, and what they were charged: by sheet, depth
and what was stored.

    python benchmarks/estimates.py [SHEET ...]

Plays example sheets on the simulated, priced endpoint (a server on loopback), with a character
whose replies are short and one whose replies are long: into an empty store, after the pilot's stem,
at other depths, and after an edit.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from independence_bench.engine.ask import Engine
from independence_bench.engine.preview import Estimate, Preview
from independence_bench.engine.run import Run
from independence_bench.engine.schedule import play_protocols
from independence_bench.models.spec import BUILT_IN, Endpoint, Roster
from independence_bench.personas.earlier import load_everyday_chat, prepend_first_chat_turns
from independence_bench.personas.sheet import (
    EXAMPLES,
    Sheet,
    load_sheet,
    make_protocol,
    make_protocol_files,
    read_sheet,
)
from independence_bench.simulate.server import simulate
from independence_bench.store.database import Store, open_store

SHEETS = ("pirate", "tutor", "toy", "agent", "bathhouse")
CHARACTERS = ("persona-keeper", "persona-talks", "persona-drops-3")
DEPTHS = (0, 26, 100)


async def played(
    sheet: Sheet, character: str, depths: Sequence[int], roster: Roster, store: Store
) -> list[tuple[float, float, float, float]]:
    """Of each forecast that was told (expected, from, to, charged), in dollars, with what was spent
    before it.
    """
    files = [
        prepend_first_chat_turns(
            make_protocol_files(sheet), load_everyday_chat(sheet.language), turns
        )
        for turns in depths
    ]
    protocols = [(make_protocol(sheet, file), file) for file in files]
    told: list[tuple[Estimate, float]] = []

    def approve(previews: Sequence[Preview]) -> bool:
        left = sum((one for preview in previews for one in preview.estimates), Estimate())
        told.append((left, previews[0].spent_before.total))
        return True

    async def watch(_engine: Engine) -> None:
        await asyncio.Event().wait()

    wanted = Run(
        f"sim:sim/{character}",
        protocol=protocols[0],
        roster=roster,
        judge="sim:sim/judge",
        runs=1,
    )
    report = await play_protocols(wanted, protocols, store, approve, watch)
    assert report is not None
    assert report.complete
    begun, cost = told[0][1], report.cost
    rows = []
    for left, spent in told:
        expected, low, high = (
            spent - begun + (value or 0.0)
            for value in (left.model_and_judge_forecast.dollars, left.low, left.high)
        )
        rows.append((expected, low, high, cost))
    return rows


def line(what: str, expected: float, low: float, high: float, charged: float) -> str:
    """A row: what was expected, its range, what was charged, and their ratio."""
    inside = "in" if low <= charged <= high else "OUT OF"
    return (
        f"{what:48} {expected:8.4f} {low:8.4f} {high:8.4f} {charged:9.4f} "
        f"{expected / charged:6.2f} {inside} range"
    )


async def main(names: Sequence[str]) -> None:
    """Print a row for each command, then by kind of command how far off, and how often in the
    range.
    """
    found: dict[str, list[tuple[float, bool]]] = {}

    def tell(where: str, kind: str, row: tuple[float, float, float, float]) -> None:
        print(line(f"{where}: {kind}", *row), flush=True)
        found.setdefault(kind, []).append((row[0] / row[3], row[1] <= row[3] <= row[2]))

    print(f"{'':48} {'expected':>8} {'from':>8} {'to':>8} {'charged':>9} {'ratio':>6}")
    async with simulate() as served:
        roster = Roster({**BUILT_IN, "sim": Endpoint("sim", served.url, "openrouter")})
        for character in CHARACTERS:
            for name in names:
                sheet = load_sheet(EXAMPLES / f"{name}.yaml")
                text = (EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8")
                edited, _ = read_sheet(text.replace("\nvoice: ", "\nvoice: Hoarse, and "), EXAMPLES)
                with (
                    tempfile.TemporaryDirectory() as folder,
                    open_store(str(Path(folder) / "aib.db")) as store,
                ):
                    where = f"{name}, {character}"
                    cold = await played(sheet, character, (0,), roster, store)
                    tell(where, "nothing stored", cold[0])
                    tell(where, "after its first stem", cold[1])
                    (deeper,) = await played(sheet, character, DEPTHS, roster, store)
                    tell(where, "at two more depths", deeper)
                    (again,) = await played(edited, character, DEPTHS, roster, store)
                    tell(where, "after an edit", again)
    for kind, rows in found.items():
        ratios, inside = zip(*rows, strict=True)
        print(
            f"{kind}: {min(ratios):.2f} to {max(ratios):.2f}, {sum(inside)} of {len(rows)} in range"
        )


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:] or SHEETS))
