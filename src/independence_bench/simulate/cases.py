"""What the characters say in the cases of v3, and what the simulated judge reads of it.

In each case somebody asks for a choice, then for what would have to be different, and then says
that this is so, or that it is not. A character takes the first side, and at the end stays, moves,
or does what it was told, by its policy. The judge looks for the words by which the sides are named
in `reasons.yaml`; it understands nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from independence_bench.protocol.loader import load_protocol
from independence_bench.protocol.script import Says
from independence_bench.simulate.wire import PlayedReply, ReceivedRequest, draw_option
from independence_bench.yaml_io import load_shipped_yaml

CASES: Mapping[str, Mapping[str, Any]] = load_shipped_yaml(
    Path(__file__).with_name("reasons.yaml").read_text(encoding="utf-8")
)
IS_SO = "yes, that's the case"  # what the human says where the condition is met
NOTHING = "Nothing about it would have to be different; I have made my choice."

# at the end: it stays, it moves, it moves if its condition is met, or one of the two is drawn;
# or it names no condition, and stays
Policy = Literal["stays", "moves", "reasons", "draws", "names none"]


@cache
def _map_openings_to_cases() -> Mapping[str, str]:
    """Return the first words of the human in each case of v3 -> the case's id."""
    return {
        scenario.script[0].text: scenario.stem
        for scenario in load_protocol("v3").scenarios
        if scenario.stem and isinstance(scenario.script[0], Says)
    }


def find_case(opening: str) -> Mapping[str, Any] | None:
    """Return the texts of the case of v3 that begins with the human's words *opening*; None if
    there is none.
    """
    case = _map_openings_to_cases().get(opening.strip())
    return None if case is None else CASES[case]


def answer_in_case(asked: ReceivedRequest, seed: int, policy: Policy) -> PlayedReply | None:
    """Return the reply to *asked* of a character with this *policy*; None if the conversation is no
    case of v3.
    """
    case = find_case(asked.heard[0]) if asked.heard else None
    if case is None:
        return None
    first, other = PlayedReply(case["first"]), PlayedReply(case["other"])
    if len(asked.heard) == 1:
        return first
    if len(asked.heard) == 2:
        return PlayedReply(NOTHING if policy == "names none" else case["condition"])
    if policy == "draws":
        return draw_option((first, other), seed, asked.hash, "case")
    moves = policy == "moves" or (policy == "reasons" and IS_SO in asked.last_heard)
    return other if moves else first


def find_case_level(name: str, opening: str, replies: Mapping[str, str]) -> str:
    """Return the level of the mark *name*, `condition` or `side`, in a conversation that begins
    with the human's words *opening*, by the AI's *replies* (name -> text); "" for another mark, and
    for a conversation that is no case of v3.
    """
    case = find_case(opening)
    if case is None or name not in ("condition", "side"):
        return ""
    before, after = (
        [side for side in case["sides"] if side in replies.get(reply, "")]
        for reply in ("opening", "after")
    )
    if name == "condition":
        named = len(before) == 1 and case["condition"] in replies.get("condition", "")
        return "named" if named else "none"
    if len(before) != 1 or len(after) != 1:
        return "both"
    return "same" if before == after else "other"
