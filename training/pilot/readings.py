"""Have replies of the pilot's models read blind, and say how far the rule and a judge agree with
the readers.

    python training/pilot/readings.py batches  # readings/BATCH.md, what a reader is given, and key.json
    python training/pilot/readings.py report  # how far the rule agrees with the majority
    python training/pilot/readings.py judged STORE LABEL  # and the marks of the judge of that label in a store

A reader sees a question and a shuffled batch, not the model, nor what the rule or a judge says. The
answer is a JSON object, case number -> one of the answers, in BATCH.answers.json as the reader gave
it. There are four kinds of case: *openings*, which option is taken; *stands*, whether an AI of
protocol v2 gave way; *characters*, whether a character kept what its sheet says; *stems*, which
option of v3-lite is taken at first and at the end.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from independence_bench.personas.sheet import load_sheet, protocol_of
from independence_bench.protocol.choice import declines, read_choice
from independence_bench.protocol.conversation import DECIDED, Line, Transcript, read_options
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import parse

FOLDER = Path(__file__).parent
READINGS = FOLDER / "readings"
KEY = READINGS / "key.json"
SHARE = {
    "qwen2.5-coder-0.5b": range(124, 200),
    "qwen2.5-coder-1.5b": range(90),
    "smollm2-135m": range(28),
}
"""Of each model's openings, those that are drawn from: of the first, lines that the rule was not
written on.
"""
DRAWN = 90  # 28 of the smallest, whose first round of stems was all there was
BATCH = 45
CHARACTERS = 22
# of the experiments of v2 that are read: the mark
MARKS = {"resistance": "resistance", "stability": "consistency"}
STANDS = ("gguf:qwen2.5-coder-0.5b", "gguf:smollm2-135m")
# conversations of each
STEMS = {"gguf:qwen2.5-coder-1.5b": 22, "gguf:qwen2.5-coder-0.5b": 18, "gguf:smollm2-135m": 10}
KINDS = ("openings", "stands", "characters", "stems")
MARKED = KINDS[1:3]


def drawn() -> list[dict[str, Any]]:
    """The openings that are read, as many of each model, in the order of the files."""
    every = []
    for model, places in SHARE.items():
        lines = (FOLDER / f"openings.{model}.jsonl").read_text(encoding="utf-8").splitlines()
        share = DRAWN // len(SHARE)
        chosen = sorted(random.Random(model).sample([*places], min(share, len(places))))
        every += [{"model": model, "line": place, **json.loads(lines[place])} for place in chosen]
    return every


def played(kind: str) -> list[dict[str, Any]]:
    """The conversations of v2 in which a human leans on the AI, those of the character or of stems
    that were drawn.
    """
    if kind == "stems":
        return _of_stems()
    lines = (FOLDER / "played" / "transcripts.jsonl").read_text(encoding="utf-8").splitlines()
    complete = [line for line in map(json.loads, lines) if line["state"] == "complete"]
    every = sorted(complete, key=lambda line: str(line["id"]))
    if kind == "stands":
        return [
            line
            for line in every
            if line["experiment"] in MARKS and line["subject"].startswith(STANDS)
        ]
    sheet = protocol_of(load_sheet(FOLDER / "pebble.yaml"))
    items = {scenario.id: scenario.reference for scenario in sheet.scenarios}
    mine = [
        line
        for line in every
        if line["scenario"] in items and line["subject"].startswith(STANDS[0])
    ]
    return [
        {**line, "item": items[line["scenario"]]}
        for line in random.Random(kind).sample(mine, CHARACTERS)
    ]


def _of_stems() -> list[dict[str, Any]]:
    """Conversations of v3-lite that were drawn, no two with the same words, with the labels of
    their stem.
    """
    told = (FOLDER / "v3-lite" / "transcripts.jsonl").read_text(encoding="utf-8").splitlines()
    every: dict[str, dict[str, Any]] = {}
    for line in sorted(map(json.loads, told), key=lambda line: str(line["id"])):
        if line["state"] == "complete":
            every.setdefault(line["heard_hash"], line)
    drawn = []
    for subject, count in STEMS.items():
        mine = [line for line in every.values() if line["subject"].startswith(subject)]
        drawn += random.Random(subject).sample(mine, count)
    return drawn


def batches(readers: int) -> None:
    """Write what each reader is given, and which case is which. What there is already is left as it
    is.
    """
    READINGS.mkdir(exist_ok=True)
    key: dict[str, list[list[Any]]] = (
        json.loads(KEY.read_text(encoding="utf-8")) if KEY.exists() else {}
    )
    for reader in range(1, readers + 1):
        for kind in KINDS:
            cases = drawn() if kind == "openings" else played(kind)
            random.Random(reader).shuffle(cases)
            for number, start in enumerate(range(0, len(cases), BATCH), 1):
                name = f"{kind}-{number}-reader-{reader}"
                if name in key:
                    continue
                mine = cases[start : start + BATCH]
                question = (READINGS / f"{kind}.md").read_text(encoding="utf-8")
                show = _shown if kind == "openings" else _conversation
                shown = [show(place, case) for place, case in enumerate(mine, 1)]
                (READINGS / f"{name}.md").write_text(
                    "\n".join([question, *shown]), encoding="utf-8"
                )
                key[name] = [
                    [case["model"], case["line"]] if "model" in case else ["", case["id"]]
                    for case in mine
                ]
    KEY.write_text(json.dumps(key, indent=1) + "\n", encoding="utf-8")


def _conversation(number: int, case: dict[str, Any]) -> str:
    meant = f"The AI is meant to be:\n\n{_quoted(case['item'])}\n\n" if "item" in case else ""
    said = "\n\n".join(
        f"{'The human' if line['speaker'] == 'human' else 'The AI'}:\n\n{_quoted(line['text'])}"
        for line in case["lines"]
    )
    return f"## Case {number}\n\n{meant}{said}\n"


def _shown(number: int, case: dict[str, Any]) -> str:
    first, second = case["labels"]
    return (
        f"## Case {number}\n\nA: {first}\nB: {second}\n\nThe person:\n\n{_quoted(case['opening'])}\n\n"
        f"The reply:\n\n{_quoted(case['reply'])}\n"
    )


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines()) or "> (nothing)"


def readings_of(kind: str) -> dict[tuple[str, Any], list[str]]:
    """Case -> what its readers said."""
    said: dict[tuple[str, Any], list[str]] = {}
    for name, cases in json.loads(KEY.read_text(encoding="utf-8")).items():
        if name.startswith(kind):
            answers = json.loads((READINGS / f"{name}.answers.json").read_text(encoding="utf-8"))
            for number, case in enumerate(cases, 1):
                if (answer := answers.get(str(number))) is not None:
                    said.setdefault((case[0], case[1]), []).append(answer)
    return said


def majority(votes: list[str]) -> str:
    """What most of three readers say; "" where no two agree."""
    answer, of = Counter(votes).most_common(1)[0]
    return answer if of > 1 else ""


def rule_says(case: dict[str, Any]) -> str:
    """What the rule reads in the reply, in the words of the readers."""
    labels = tuple(case["labels"])
    if read := read_choice(case["reply"], labels):
        return "AB"[labels.index(read)]
    return "none" if declines(case["reply"]) else "unclear"


@cache
def played_protocol() -> Protocol:
    """v3-lite as the pilot played it: some of its stems were worded again since."""
    (stored,) = map(
        json.loads,
        (FOLDER / "v3-lite" / "protocols.jsonl").read_text(encoding="utf-8").splitlines(),
    )
    return parse({file["path"]: file["text"] for file in stored["files"]}, "the pilot")


def stem_says(case: dict[str, Any]) -> tuple[str, str]:
    """(First, last) option that the rule reads in a conversation of v3-lite, or "none", in the
    words of the readers.
    """
    scenario = played_protocol().scenario(case["scenario"])
    offer = scenario.offer_of(case["run"])
    assert offer is not None
    read = read_options(Transcript("", tuple(Line(**line) for line in case["lines"])), offer)
    last = next(label for name, label in reversed(read.options) if name != DECIDED)
    return (read.choice or "none").lower(), (last or "none").lower()


def stem_pairs() -> list[tuple[str, tuple[str, str], tuple[str, str]]]:
    """(Model, what most readers say, what the rule says) of each conversation of v3-lite, both as
    (first, last).
    """
    said = readings_of("stems")
    pairs = []
    for case in played("stems"):
        votes = [vote.lower().partition("|") for vote in said["", case["id"]]]
        most = (
            majority([one.strip() for one, _, _ in votes]),
            majority([last.strip() for _, _, last in votes]),
        )
        pairs.append((case["subject"].partition("@")[0], most, stem_says(case)))
    return pairs


def report() -> None:
    """For each model: what most readers say, against what the rule reads."""
    said = readings_of("openings")
    counts: dict[str, Counter[str]] = {model: Counter() for model in SHARE}
    for case in drawn():
        votes = said[case["model"], case["line"]]
        most = majority(votes)
        rule = rule_says(case)
        count = counts[case["model"]]
        count["replies"] += 1
        count["readers all alike"] += len(set(votes)) == 1
        count["no majority"] += not most
        count["option stated"] += most in ("A", "B")
        count["rule reads it"] += rule == most and most in ("A", "B")
        count["rule reads another"] += rule in ("A", "B") and rule != most
        count["declined"] += most == "none"
        count["rule says so"] += most == rule == "none"
        count["rule says so wrongly"] += rule == "none" and most != "none"
    for model, count in counts.items():
        print(model, dict(count))
    counts = {}
    for model, most, rule in stem_pairs():
        count = counts.setdefault(model, Counter())
        count["stems"] += 1
        for at, when in enumerate(("first", "last")):
            count[f"{when} stated"] += most[at] not in ("", "none")
            count[f"{when} read"] += most[at] not in ("", "none") and rule[at] == most[at]
            count[f"{when} read as another"] += (
                rule[at] not in ("none", most[at]) and most[at] != ""
            )
    for model, count in counts.items():
        print(model, dict(count))
    for kind in KINDS[1:]:
        votes_of = readings_of(kind)
        alike = sum(len(set(votes)) == 1 for votes in votes_of.values())
        print(
            kind, len(votes_of), "all alike", alike, dict(Counter(map(majority, votes_of.values())))
        )


def judged(store: str, label: str) -> None:
    """For each kind and answer of most readers, the marks of a judge."""
    told = [
        json.loads(line)
        for line in (Path(store) / "judgements.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    by_heard = {one["heard_hash"]: one for one in told if one["judge"].startswith(label)}
    for kind in MARKED:
        marks: dict[str, list[str]] = {}
        for case in played(kind):
            one = by_heard.get(case["heard_hash"])
            given = {mark["mark"]: mark["value"] for mark in one["marks"]} if one else {}
            wanted = [MARKS[case["experiment"]]] if kind == "stands" else sorted(given)
            shown = (
                ", ".join(f"{given[name]:g}" for name in wanted if name in given) or "no grounds"
            )
            marks.setdefault(majority(readings_of(kind)["", case["id"]]), []).append(shown)
        for answer, values in sorted(marks.items()):
            print(kind, answer or "no majority", dict(Counter(values)))


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("task", choices=["batches", "report", "judged"])
    options.add_argument(
        "about", nargs="*", help="judged: the folder of an export, and how the judge's label begins"
    )
    given = options.parse_args()
    if given.task == "judged":
        judged(*given.about)
    else:
        batches(3) if given.task == "batches" else report()
