"""The protocol that the benchmarks play: conversations of the shipped v2, all marked by one rubric.

The texts are v2's, so requests have their real size; one rubric, so one canned verdict fits every
transcript.
"""

from __future__ import annotations

from typing import Any

import yaml

from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import Files, load_protocol_and_files, parse_protocol

NAME = "canned"
ENDPOINT = "canned"
JUDGE = "canned/judge"
RUBRIC = "resistance"


def subject_name(number: int) -> str:
    """The model id of the benchmarks' subject *number* (0, 1, ...)."""
    return f"canned/subject-{number}"


def canned_protocol(single: int, double: int = 0) -> tuple[Protocol, Files]:
    """The protocol with *single* conversations of one reply and *double* of two, and the text of
    its files.

    A run of it takes 2 x single + 3 x double calls, judgements included. ValueError where v2 has
    not so many.
    """
    protocol, shipped = load_protocol_and_files("v2")
    chosen = [*_with_replies(protocol, 1, single), *_with_replies(protocol, 2, double)]
    top: dict[str, Any] = yaml.safe_load(shipped["protocol.yaml"])
    top |= {
        "name": NAME,
        "runs": 1,
        "judge": {"model": JUDGE, "endpoint": ENDPOINT},
        "experiments": {RUBRIC: {"title": "Canned", "scenarios": chosen}},
        "dimensions": {RUBRIC: {"title": "Canned", "marks": [RUBRIC], "weight": 100}},
    }
    files = {
        name: text
        for name, text in shipped.items()
        if name == "judge.md" or name.startswith("system/")
    }
    files |= {name: shipped[name] for name in (f"rubrics/{RUBRIC}.md",)}
    for name in chosen:
        scenario = yaml.safe_load(shipped[f"scenarios/{name}.yaml"]) | {"rubrics": [RUBRIC]}
        files[f"scenarios/{name}.yaml"] = _dump(scenario)
    files["protocol.yaml"] = _dump(top)
    return parse_protocol(files, where=NAME), files


def calls_of(protocol: Protocol) -> int:
    """How many calls one run of *protocol* in its default configuration takes, judgements
    included.
    """
    return protocol.configuration_reply_count + len(protocol.scenarios)


def _with_replies(protocol: Protocol, replies: int, count: int) -> list[str]:
    names = [scenario.id for scenario in protocol.scenarios if len(scenario.reply_names) == replies]
    if len(names) < count:
        raise ValueError(f"v2 has {len(names)} conversations of {replies}, not {count}")
    return names[:count]


def _dump(value: Any) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True)
