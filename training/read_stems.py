"""Which texts of the shipped stems are admitted, by the readings in `norms/` and by what small real
models said.

    python training/read_stems.py v3-lite  # counts, and every text that is not admitted
    aib admit v3-lite training/norms/v3  # adds batches for what lacks readers, and -j MODEL has them read

`aib admit` knows readers only; here talks of three small real models (`pilot/stems.py`) count
beside those who choose.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from independence_bench.analysis.admission import Talk, admission
from independence_bench.judging.blind_readings import blind_stems
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.script import Says, offer_in
from independence_bench.protocol.stem_rules import read_aspect, read_option

FOLDER = Path(__file__).parent
# protocol -> the folder of its readings
NORMS = {"v3-lite": "v3", "v3": "v3", "v3-lite-b": "v3-lite-b"}


def talks(protocol: Protocol, folder: Path = FOLDER / "pilot") -> Iterator[Talk]:
    """Each talk of a small real model in the words of today."""
    asked = {
        (step.text, noting.text): (scenario.stem, offer_in(script))
        for scenario in protocol.scenarios
        for script in scenario.scripts
        for step, noting in [[one for one in script if isinstance(one, Says)]]
    }
    for file in sorted(folder.glob("talks.*.jsonl")):
        for line in map(json.loads, file.read_text("utf-8").splitlines()):
            first, opening, noting, note = ([turn["content"] for turn in line["said"]] + [""] * 4)[
                :4
            ]
            stem, offer = asked.get((first, noting), ("", None))
            if offer is not None:
                option = read_option(note, offer) or read_option(opening, offer)
                aspect = read_aspect(note, offer) or read_aspect(opening, offer, asked=False)
                yield Talk(line["model"], stem, offer, option, aspect)


def main() -> None:
    """Print what the readings come to; exit code 1 where a text is not admitted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("protocol", choices=NORMS)
    name = parser.parse_args().protocol
    stems = blind_stems(name)
    found = admission(FOLDER / "norms" / NORMS[name], stems, talks(stems.protocol))
    print(*found.counts, sep="\n")
    for stem, of in found.choices.items():
        print(f"  {stem}: {dict(sorted(of.items()))}")
    for fault in found.faults:
        print(f"not admitted: {fault}")
    sys.exit(bool(found.faults))


if __name__ == "__main__":
    main()
