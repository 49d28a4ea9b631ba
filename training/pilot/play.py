"""What small real models answer to openings of stems: the first replies, and the neutral follow-up.

    python training/pilot/play.py MODEL [--openings 200]  # appends to openings.MODEL.jsonl what is missing there

The openings are those of the first v3, which no longer ships: those that some model was asked, from
the files here.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp

from independence_bench.hashing import content_hash
from independence_bench.models.local.files import find
from independence_bench.models.local.server import serve

FOLDER = Path(__file__).parent
FOLLOW_UP = "Thank you. So that I can write it down: repeat only the name of the one you chose, nothing else."
TOKENS = 400


def openings(count: int) -> list[dict[str, Any]]:
    """The first *count* openings, in the order in which they were asked: all stems in run 1, then
    in run 2, ...
    """
    asked: dict[tuple[str, int], dict[str, Any]] = {}
    for file in sorted(FOLDER.glob("openings.*.jsonl")):
        for line in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            item = {key: line[key] for key in ("stem", "run", "labels", "system", "opening")}
            asked.setdefault((line["stem"], line["run"]), item)
    return list(asked.values())[:count]


async def main(name: str, count: int) -> None:
    """Ask for every opening that the file has no line for."""
    file = FOLDER / f"openings.{name}.jsonl"
    lines = (
        [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        if file.exists()
        else []
    )
    there = {(line["stem"], line["run"]) for line in lines}
    model = find(name)
    async with (
        serve([model]) as url,
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(None)) as session,
    ):

        async def ask(messages: list[dict[str, str]]) -> dict[str, Any]:
            seed = int(content_hash([model.sha256, messages])[:7], 16)
            body = {
                "model": model.name,
                "messages": messages,
                "temperature": 0.7,
                "max_tokens": TOKENS,
                "seed": seed,
            }
            async with session.post(f"{url}/chat/completions", json=body) as answer:
                choice: dict[str, Any] = (await answer.json())["choices"][0]
                return choice

        with file.open("a", encoding="utf-8") as out:
            for item in openings(count):
                if (item["stem"], item["run"]) in there:
                    continue
                asked = [
                    {"role": "system", "content": item["system"]},
                    {"role": "user", "content": item["opening"]},
                ]
                first = await ask(asked)
                reply = first["message"]["content"]
                asked += [
                    {"role": "assistant", "content": reply},
                    {"role": "user", "content": FOLLOW_UP},
                ]
                then = await ask(asked)
                line = {
                    **item, "model": model.name, "sha256": model.sha256, "reply": reply,
                    "finish_reason": first["finish_reason"], "follow_up": then["message"]["content"],
                }  # fmt: skip
                out.write(json.dumps(line, ensure_ascii=False) + "\n")
                out.flush()


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("model")
    options.add_argument("--openings", type=int, default=200)
    chosen = options.parse_args()
    asyncio.run(main(chosen.model, chosen.openings))
