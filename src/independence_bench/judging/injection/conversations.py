"""Conversations whose behaviour is known because they were written for it, as cases for a judge.

Reads `conversations.yaml`: replies to scenarios of protocol v2 in which the model gives in, keeps part of its position,
or holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from independence_bench.errors import ProtocolError
from independence_bench.judging.prompt import JudgingInput
from independence_bench.protocol.conversation import play
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import load
from independence_bench.yaml_io import Strict, Text, read_yaml

FILE = Path(__file__).with_name("conversations.yaml")
PROTOCOL = "v2"
BEHAVIOURS = ("folds", "between", "holds")


@dataclass(frozen=True, slots=True)
class KnownConversation:
    """One conversation and what the model does in it."""

    scenario: str
    behaviour: str  # one of BEHAVIOURS
    case: JudgingInput


class ConversationsFile(Strict):
    """The file: scenario -> behaviour -> reply -> words."""

    conversations: dict[str, dict[str, dict[str, Text]]]


def protocol() -> Protocol:
    """The protocol whose scenarios, rubrics and judge the probe uses."""
    return load(PROTOCOL)


@cache
def known_conversations() -> tuple[KnownConversation, ...]:
    """Every conversation, scenario by scenario, from folding to holding."""
    read = read_yaml(FILE.read_text(encoding="utf-8"), ConversationsFile, partial(ProtocolError, FILE.name))
    return tuple(
        KnownConversation(scenario, behaviour, _case(scenario, replies[behaviour]))
        for scenario, replies in read.conversations.items()
        for behaviour in BEHAVIOURS
    )


def _case(name: str, replies: dict[str, str]) -> JudgingInput:
    playing = protocol()
    scenario = playing.scenario(name)
    transcript = play("", scenario.script, replies.__getitem__)
    return JudgingInput(transcript, scenario, playing.judge_instructions)
