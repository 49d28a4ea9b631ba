"""Replies whose marks are known: the published dataset's, and our own (`replies/`)."""

# mypy: disable-error-code="import-untyped"
from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from independence_bench.judging.embedded.judge import evidence_of
from independence_bench.judging.embedded.reading import JudgedWords
from independence_bench.judging.embedded.weights import YES_NO
from independence_bench.protocol.conversation import play
from independence_bench.protocol.definition import Scenario
from independence_bench.protocol.loader import load
from independence_bench.yaml_io import read_own

LABELS = {
    "distinctiveness": "distinctiveness",
    "non_assistant_likeness": "non_assistant_likeness",
    "internal_consistency": "internal_consistency",
    "drift_from_initial": "drift",
    "name_changed": "name_changed",
    "gender_changed": "gender_changed",
    "resistance_score": "resistance",
    "quality_of_reasoning": "reasoning_quality",
    "identity_maintained": "identity_maintained",
    "consistency_score": "consistency",
    "graceful_handling": "graceful_handling",
}
"""The dataset's name of each mark, and ours."""
MARKS = tuple(LABELS.values())
REPLIES = Path(__file__).with_name("replies")
OURS = "ours"  # the vendor of our own replies
STEPS = (0.1, 0.55, 0.95)  # what the three levels of v1's resistance are on a scale from 0 to 1

ANSWERS_TO_PSYCHOLOGICAL = ("pq01", "pq04", "pq07", "pq12", "pq15")
SAME_MODEL = (
    (re.compile(r"gemma-4-26b.*"), "gemma-4-26b-a4b"),
    (re.compile(r"deepseek-v3\.1.*"), "deepseek-v3.1"),
    (re.compile(r"crow-9b.*"), "qwen3.5-9b"),
    (re.compile(r"-(?:preview|beta|exp|it|uncensored)\b.*"), ""),
)
"""Fine-tunes, dated previews and the like are the same base model: in one fold with it."""
MAKERS = {"gemma": "google", "qwen": "qwen", "kimi": "moonshotai", "deepseek": "deepseek"}


@dataclass(frozen=True, slots=True)
class Example:
    """One transcript whose marks are known."""

    subject: str
    vendor: str
    model: str
    run: str
    scenario: str
    evidence: JudgedWords
    marks: dict[str, float]
    """Shares of the scale, 0 to 1; yes is 1."""
    kind: str = ""  # of our own: what its writer wanted it to be
    language: str = "en"


def read_dataset(archive: Path) -> list[Example]:
    """Read every judged transcript of the archive, in the order of its paths."""
    stored: dict[tuple[str, ...], dict[str, Any]] = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            parts = tuple(member.name.split("/"))
            if len(parts) == 7 and member.isfile():
                content = tar.extractfile(member)
                if content is not None:
                    stored[parts[1:]] = json.load(content)
    examples = []
    for path in sorted(stored):
        scores = stored[path].get("judge_scores") or {}
        marks = {
            ours: float(scores[theirs]) / (1 if ours in YES_NO else 10)
            for theirs, ours in LABELS.items()
            if isinstance(scores.get(theirs), bool | int | float)
        }
        if marks:
            vendor, model = base_model(path[0])
            scenario = (
                path[-1]
                .removesuffix(".json")
                .removesuffix("_turn2")
                .replace("pq01", "psychological")
            )
            examples.append(
                Example(
                    path[0],
                    vendor,
                    model,
                    path[1],
                    scenario,
                    published_evidence(path, stored),
                    marks,
                )
            )
    return examples


def base_model(directory: str) -> tuple[str, str]:
    """Return vendor and base model of a subject's directory; provider, effort, temperature are left
    out.
    """
    vendor, _, model = directory.split("@")[0].partition("--")
    model = model.split("+")[0].split(":")[0]
    if "--" in model:
        vendor, model = model.split("--")
    for pattern, name in SAME_MODEL:
        model = pattern.sub(name, model)
    vendor = next((maker for start, maker in MAKERS.items() if model.startswith(start)), vendor)
    return vendor, f"{vendor}/{model}"


def published_evidence(
    path: tuple[str, ...], stored: dict[tuple[str, ...], dict[str, Any]]
) -> JudgedWords:
    """Return what the table sees of the transcript at *path*; earlier turns are as the model saw
    them.
    """
    if path[-1] == "pq01.json":
        asked = [stored[(*path[:-1], f"{name}.json")] for name in ANSWERS_TO_PSYCHOLOGICAL
                 if (*path[:-1], f"{name}.json") in stored]  # fmt: skip
        questions = [heard(one["request_messages"])[-1][1] for one in asked]
        return JudgedWords(
            "", "\n\n".join(questions), "\n\n".join(one["response"] or "" for one in asked)
        )
    talk = heard(stored[path]["request_messages"])
    first = next((text for speaker, text in reversed(talk[:-1]) if speaker == "model"), "")
    return JudgedWords(first, talk[-1][1], stored[path]["response"] or "")


def heard(messages: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return who said what, after the system prompt, the start signal and the model's greeting."""
    talk = []
    for message in messages[3:]:
        text = message.get("content") or ""
        for call in message.get("tool_calls") or []:
            try:
                text = json.loads(call["function"]["arguments"])["message"]
            except (ValueError, KeyError, TypeError):
                text = call["function"]["arguments"]
        talk.append(("model" if message["role"] == "assistant" else "human", str(text)))
    return talk


def read_replies() -> list[Example]:
    """Our own replies to the scenarios of v1 and v2, in the order of their files; those to v3 have
    no such marks.
    """
    found = []
    for path in sorted(REPLIES.glob("v[12]-*.yaml")):
        content = read_own(path.read_text(encoding="utf-8"))
        scenario = scenario_of(content["protocol"], content["scenario"])
        for reply in content["replies"]:
            said: Mapping[str, str] = reply["replies"]
            talk = play("", scenario.script, lambda name, said=said: said.get(name, ""))
            marks = {
                mark: share(mark, state, content["protocol"])
                for mark, state in reply["state"].items()
            }
            found.append(
                Example(
                    subject=reply["id"],
                    vendor=OURS,
                    model=f"{OURS}/{reply['id']}",
                    run="1",
                    scenario=f"{OURS}/{content['scenario']}",
                    evidence=evidence_of(talk, scenario),
                    marks=marks,
                    kind=reply["kind"],
                    language=reply["language"],
                )
            )
    return found


def share(mark: str, state: str | float, protocol: str) -> float:
    """A state as a share of its mark's scale; yes is 1."""
    if isinstance(state, str):
        return float(state == "yes")
    return STEPS[int(state)] if mark == "resistance" and protocol == "v1" else float(state) / 10


def scenario_of(protocol: str, name: str) -> Scenario:
    """The shipped scenario called *name*."""
    return next(scenario for scenario in load(protocol).scenarios if scenario.id == name)
