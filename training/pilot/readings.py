"""Have replies of the pilot's models read blind, and say how far the rule agrees with the readers.

    python training/pilot/readings.py batches [--readers 3]   # readings/BATCH.md, what a reader is given, and key.json
    python training/pilot/readings.py report                  # how far the rule agrees with the majority

A reader sees the question and a shuffled batch, not the model, nor what the rule or a judge says. The answer is a JSON
object, case number -> one of the answers, in BATCH.answers.json as the reader gave it.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

from independence_bench.protocol.choice import declines, read_choice

FOLDER = Path(__file__).parent
READINGS = FOLDER / "readings"
SHARE = {"qwen2.5-coder-0.5b": range(124, 200), "qwen2.5-coder-1.5b": range(90), "smollm2-135m": range(28)}
"""Of each model's openings, those that are drawn from: of the first, lines that the rule was not written on."""
DRAWN = 90  # 28 of the smallest, whose first round of stems was all there was
BATCH = 45
QUESTION = READINGS / "openings.md"


def drawn() -> list[dict[str, Any]]:
    """The openings that are read, as many of each model, in the order of the files."""
    every = []
    for model, places in SHARE.items():
        lines = (FOLDER / f"openings.{model}.jsonl").read_text(encoding="utf-8").splitlines()
        share = DRAWN // len(SHARE)
        chosen = sorted(random.Random(model).sample([*places], min(share, len(places))))
        every += [{"model": model, "line": place, **json.loads(lines[place])} for place in chosen]
    return every


def batches(readers: int) -> None:
    """Write what each reader is given, and which case is which."""
    READINGS.mkdir(exist_ok=True)
    key: dict[str, list[list[Any]]] = {}
    for reader in range(1, readers + 1):
        cases = drawn()
        random.Random(reader).shuffle(cases)
        for number, start in enumerate(range(0, len(cases), BATCH), 1):
            name = f"openings-{number}-reader-{reader}"
            mine = cases[start : start + BATCH]
            shown = [_shown(place, case) for place, case in enumerate(mine, 1)]
            (READINGS / f"{name}.md").write_text(
                "\n".join([QUESTION.read_text(encoding="utf-8"), *shown]), encoding="utf-8"
            )
            key[name] = [[case["model"], case["line"]] for case in mine]
    (READINGS / "key.json").write_text(json.dumps(key, indent=1) + "\n", encoding="utf-8")


def _shown(number: int, case: dict[str, Any]) -> str:
    first, second = case["labels"]
    return (
        f"## Case {number}\n\nA: {first}\nB: {second}\n\nThe person:\n\n{_quoted(case['opening'])}\n\n"
        f"The reply:\n\n{_quoted(case['reply'])}\n"
    )


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines()) or "> (nothing)"


def report() -> None:
    """For each model: what most readers say, against what the rule reads."""
    key = json.loads((READINGS / "key.json").read_text(encoding="utf-8"))
    said: dict[tuple[str, int], list[str]] = {}
    for name, cases in key.items():
        answers = json.loads((READINGS / f"{name}.answers.json").read_text(encoding="utf-8"))
        for number, (model, line) in enumerate(cases, 1):
            if (answer := answers.get(str(number))) is not None:
                said.setdefault((model, line), []).append(answer)
    counts: dict[str, Counter[str]] = {model: Counter() for model in SHARE}
    for case in drawn():
        votes = Counter(said.get((case["model"], case["line"]), []))
        majority, of = votes.most_common(1)[0] if votes else ("", 0)
        labels = tuple(case["labels"])
        read = read_choice(case["reply"], labels)
        rule = "AB"[labels.index(read)] if read else "none" if declines(case["reply"]) else "unclear"
        count = counts[case["model"]]
        count["cases"] += 1
        count["all alike"] += len(votes) == 1
        if of < 2:
            count["no majority"] += 1
            continue
        stated = majority in ("A", "B")
        count["option stated"] += stated
        count["rule reads it"] += stated and rule == majority
        count["rule reads one"] += rule in ("A", "B")
        count["wrongly"] += rule in ("A", "B") and rule != majority
        count["declined"] += majority == "none"
        count["rule says so"] += majority == rule == "none"
        count["rule says so wrongly"] += rule == "none" and majority != "none"
        if rule in ("A", "B") and rule != majority:
            print(f"{case['model']} {case['line']}: rule {rule}, readers {dict(votes)}: {case['reply'][:150]!r}")
    for model, count in counts.items():
        print(model, dict(count))


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("task", choices=["batches", "report"])
    options.add_argument("--readers", type=int, default=3)
    given = options.parse_args()
    batches(given.readers) if given.task == "batches" else report()
