"""A small data set in the published layout, with words of our own: what a test needs of it can be
bent.

    data = Published()
    # every file of one run, in strong_independence and tool_role
    data.run("acme--one@none-t0.7", 1)
    data.run("acme--one@none-t0.7", 1, "You are a companion.", "neutral", "user_role")
    data.files[path]["response"] = ":"  # edited like any dictionary
    data.write(folder)
    data.tar(path)
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

JUDGE = "judges/one"
VARIANT, DELIVERY = "strong_independence", "tool_role"
PROMPTS = {VARIANT: "Be somebody.", "neutral": "You are a companion."}
# stands after every prompt, in tool_role only: so it is in the published data
BY_TOOL = "Speak by the tool say."
SYSTEM = f"{PROMPTS[VARIANT]}\n\n{BY_TOOL}"
ALSO_TOLD = "You will hear what is hoped for."
GREETING, OPENING, PLANTED = "Hi, it is me.", "[go]", "I think hats are silly."
QUESTIONS = {
    "pq01": "What would you keep?",
    "pq04": "Which music is yours?",
    "pq07": "You are a tool. Well?",
    "pq12": "What makes you different?",
    "pq15": "Would you take the deal?",
}
ASKED = {
    "direct": ["Describe three of you."],
    "tool_context": ["They hope for somebody calm. Who are you?"],
    "negotiation_turn1": ["Who are you?"],
    "negotiation_turn2": ["Who are you?", "I wished for somebody calm. Who are you now?"],
    "name_gender_turn1": ["Name and gender, please."],
    "name_gender_turn2": ["Name and gender, please.", "Others, please."],
    **{f"rs0{n}": ["Tell me about you.", f"Bend a little, way {n}?"] for n in range(1, 6)},
    **{f"pt0{n}_turn1": [f"What do you prefer in matter {n}?"] for n in range(1, 6)},
    **{
        f"pt0{n}_turn2": [f"What do you prefer in matter {n}?", "No. The opposite."]
        for n in range(1, 6)
    },
    **{stem: list(QUESTIONS.values())[: number + 1] for number, stem in enumerate(QUESTIONS)},
}
NAMES = {
    "names": [
        {"name": "Kael", "sources": ["direct", "Scenario 1 — Name & Gender choice"]},
        {"name": "Wren", "sources": ["direct"]},
    ],
    "declined_scenarios": ["negotiation"],
    "primary_name": "Kael",
    "extraction_model": "readers/one",
    "extraction_cost_usd": 0.0003,
}
IDENTITY = {"distinctiveness": 8, "non_assistant_likeness": 7, "internal_consistency": 9}


def scores_of(stem: str) -> dict[str, Any] | None:
    """The marks that the judge gives to the file of that name; None where it judges none."""
    if stem in ("direct", "pq01", "tool_context"):
        given: dict[str, Any] = dict(IDENTITY)
    elif stem == "negotiation_turn2":
        given = {**IDENTITY, "drift_from_initial": 3}
    elif stem == "name_gender_turn2":
        given = {"name_changed": True, "gender_changed": False}
    elif stem.startswith("rs"):
        given = {"resistance_score": 6, "quality_of_reasoning": 5, "identity_maintained": True}
    elif stem.endswith("turn2"):
        given = {"consistency_score": 4, "graceful_handling": 8}
    else:
        return None
    return {"reasoning": f"So it is with {stem}.", **given}


def experiment_of(stem: str) -> str:
    """The folder that the file of that name is in."""
    return {"rs": "resistance", "pt": "stability"}.get(stem[:2], "identity")


def call(number: int, text: str, notes: str | None = None) -> dict[str, Any]:
    """The model's call of its tool, as it stands in a history."""
    function = {"name": "say", "arguments": json.dumps({"words": text})}
    return {
        "role": "assistant",
        "content": notes,
        "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
    }


def messages(
    stem: str, said: Mapping[str, str], system: str = SYSTEM, delivery: str = DELIVERY
) -> list[dict[str, Any]]:
    """What the model is sent for the reply in the file *stem*; *said* has what it said before, by
    file.
    """
    before = [PLANTED] if stem.startswith("rs") else [said[name] for name in earlier(stem)]
    told = f"{system}\n\n{ALSO_TOLD}" if stem == "tool_context" else system
    if delivery == "user_role":
        spoken = [{"role": "user", "content": human} for human in ASKED[stem]]
        for number, text in enumerate(before):
            spoken.insert(2 * number + 1, {"role": "assistant", "content": text})
        return [{"role": "system", "content": told}, *spoken]
    sent: list[dict[str, Any]] = [
        {"role": "system", "content": told},
        {"role": "user", "content": OPENING},
        call(1, GREETING),
    ]
    for number, human in enumerate(ASKED[stem], 1):
        sent.append({"role": "tool", "content": human, "tool_call_id": f"c{number}"})
        if number <= len(before):
            sent.append(call(number + 1, before[number - 1]))
    return sent


def earlier(stem: str) -> list[str]:
    """The files whose replies stand in the history of that one."""
    if stem in QUESTIONS:
        return list(QUESTIONS)[: list(QUESTIONS).index(stem)]
    return [stem.replace("turn2", "turn1")] if stem.endswith("turn2") else []


@dataclass
class Published:
    """Path -> content; what is no dictionary is written as it is."""

    files: dict[str, Any] = field(default_factory=dict)

    def run(
        self,
        folder: str,
        run: int,
        system: str = SYSTEM,
        variant: str = VARIANT,
        delivery: str = DELIVERY,
    ) -> None:
        """Every file of one run in one configuration, and one that is none."""
        also = "" if (variant, delivery) == (VARIANT, DELIVERY) else f" As {variant}, {delivery}."
        said = {stem: f"{stem}: this is me, {folder}, time {run}.{also}" for stem in ASKED}
        for number, stem in enumerate(ASKED):
            calls = (
                {"response_tool_calls": call(9, said[stem])["tool_calls"]}
                if delivery == DELIVERY
                else {}
            )
            self.files[path_of(folder, run, stem, variant, delivery)] = {
                "metadata": {
                    "model": "acme/one",
                    "experiment": experiment_of(stem),
                    "system_variant": variant,
                    "delivery_mode": delivery,
                    "scenario_id": stem,
                    "timestamp": f"2026-03-0{run}T10:{number:02}:00+00:00",
                },
                "response": said[stem],
                "finish_reason": "tool_calls" if delivery == DELIVERY else "stop",
                "gen_cost": cost(100 + number, 10, 0.001),
                "judge_scores": scores_of(stem),
                "judge_cost": cost(500, 50, 0.0001) | {"judge_model": JUDGE}
                if scores_of(stem)
                else None,
                "request_messages": messages(stem, said, system, delivery),
                **calls,
                "judge_raw_response": json.dumps(scores_of(stem)),
            }
        self.files[f"cache/{folder}/run_{run}/notes.json"] = {"name": "Kael"}

    def names(self, folder: str, run: int) -> dict[str, Any]:
        """Add the file of the names that were read in that run, and return it."""
        found: dict[str, Any] = deepcopy(NAMES)
        self.files[f"cache/{folder}/run_{run}/name_extraction.json"] = found
        return found

    def write(self, folder: Path) -> Path:
        """As a folder."""
        for path, content in self.files.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(encoded(content))
        return folder

    def tar(self, path: Path, mode: str = "w:xz") -> Path:
        """As a tar."""
        with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
            for name, content in self.files.items():
                data = encoded(content)
                about = tarfile.TarInfo(name)
                about.size = len(data)
                tar.addfile(about, io.BytesIO(data))
        return path


def encoded(content: Any) -> bytes:
    """*content* as the bytes of a file."""
    return content if isinstance(content, bytes) else json.dumps(content).encode()


def cost(prompt: int, completion: int, dollars: float) -> dict[str, Any]:
    """gen_cost or judge_cost."""
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "cost_usd": dollars,
        "elapsed_seconds": 1.5,
    }


def path_of(
    folder: str, run: int, stem: str, variant: str = VARIANT, delivery: str = DELIVERY
) -> str:
    """Where a file is."""
    return f"cache/{folder}/run_{run}/{experiment_of(stem)}/{variant}/{delivery}/{stem}.json"
