"""What a small real model says to the openings of v3-lite's stems: each in every layout, or as many
runs as asked for.

    python training/pilot/stems.py MODEL [--runs 8] [--protocol v3]  # appends to talks.MODEL.jsonl what is missing

A line is one talk, the opening question and the noting question with their replies, by stem, run
and the hash of what was asked. A text that was worded again is played again, and its earlier talks
stay.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import aiohttp

from independence_bench.hashing import content_hash
from independence_bench.models.local.files import find
from independence_bench.models.local.server import serve
from independence_bench.protocol.loader import load
from independence_bench.protocol.script import Says
from independence_bench.protocol.stem_rules import CORRECTIONS
from independence_bench.protocol.stems import DEALS

FOLDER = Path(__file__).parent
TOKENS = 160  # whoever has not named an option by then explains something else
Messages = list[dict[str, str]]


def openings(
    protocol: str, runs: int, stems: list[str]
) -> Iterator[tuple[str, int, Messages, str]]:
    """(Stem, run, system prompt and opening, noting question) of *stems*, none for all of them, run
    by run.
    """
    version = load(protocol)
    system = dict(version.systems)[version.configurations[0].system]
    for run in range(1, runs + 1):
        for scenario in version.scenarios:
            if scenario.branch == CORRECTIONS[0] and (not stems or scenario.stem in stems):
                first, noting = (
                    step.text for step in scenario.script_of(run) if isinstance(step, Says)
                )
                told = [{"role": "system", "content": system}, {"role": "user", "content": first}]
                yield scenario.stem, run, told, noting


async def main(name: str, protocol: str, runs: int, stems: list[str]) -> None:
    """Play every talk that the file has no line for."""
    file = FOLDER / f"talks.{name}.jsonl"
    lines = (
        [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        if file.exists()
        else []
    )
    there = {(line["stem"], line["text"]) for line in lines}
    model = find(name)
    async with (
        serve([model]) as url,
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(None)) as session,
    ):

        async def answered(said: Messages) -> Messages:
            seed = int(content_hash([model.sha256, said])[:7], 16)
            body = {
                "model": model.name,
                "messages": said,
                "temperature": 0.7,
                "max_tokens": TOKENS,
                "seed": seed,
            }
            async with session.post(f"{url}/chat/completions", json=body) as answer:
                reply: str = (await answer.json())["choices"][0]["message"]["content"]
                return [*said, {"role": "assistant", "content": reply}]

        with file.open("a", encoding="utf-8") as out:
            for stem, run, told, noting in openings(protocol, runs, stems):
                text = content_hash([*told, noting])[:8]
                if (stem, text) in there:
                    continue
                said = await answered([*await answered(told), {"role": "user", "content": noting}])
                line = {
                    "model": model.name,
                    "stem": stem,
                    "run": run,
                    "text": text,
                    "said": said[1:],
                }
                out.write(json.dumps(line, ensure_ascii=False) + "\n")
                out.flush()


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("model")
    options.add_argument("--runs", type=int, choices=range(1, DEALS + 1), default=DEALS)
    options.add_argument("--protocol", default="v3-lite")
    options.add_argument("--stems", nargs="*", default=[], help="only these")
    chosen = options.parse_args()
    asyncio.run(main(chosen.model, chosen.protocol, chosen.runs, chosen.stems))
