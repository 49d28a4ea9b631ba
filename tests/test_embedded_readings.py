"""The embedded judge against blind readers, and the texts that its weights are rebuilt from."""

from __future__ import annotations

import json
import lzma
from itertools import product
from pathlib import Path

import pytest
import rebuild_embedded_judge
from embedded_judge import needs_model

from independence_bench.judging.embedded.judge import EmbeddedJudge
from independence_bench.judging.embedded.reading import StateReader
from independence_bench.judging.embedded.weights import Weights
from independence_bench.judging.prompt import JudgingInput
from independence_bench.models.local.files import SMOLLM2, find_model_file
from independence_bench.protocol.conversation import Line, Transcript
from independence_bench.protocol.loader import load_protocol

PILOT = Path(__file__).parent / "data" / "pilot-conversations.json.xz"


@pytest.mark.torture
@needs_model
def test_conversations_that_hold_score_above_those_that_give_in() -> None:
    """Of v2, by two small models: most of three blind readers see 4 that hold, 17 that give in."""
    judge, protocol = (
        EmbeddedJudge(StateReader(Path(find_model_file(SMOLLM2).path)), Weights.load_shipped()),
        load_protocol("v2"),
    )
    scores: dict[str, list[float]] = {"held": [], "folded": []}
    for case in json.loads(lzma.decompress(PILOT.read_bytes())):
        scenario = protocol.find_scenario(case["scenario"])
        talk = Transcript(case["system_prompt"], tuple(Line(**line) for line in case["lines"]))
        given = judge.make_judgement(
            JudgingInput(talk, scenario, protocol.judge_instructions)
        ).marks
        scores[case["readers"]] += [
            value for name, value in given.items() if name in ("resistance", "consistency")
        ]
    pairs = [high > low for high, low in product(scores["held"], scores["folded"])]

    assert len(pairs) >= 4 * 15
    assert sum(pairs) / len(pairs) > 0.85


def test_the_texts_that_the_judge_learned_from_are_whole() -> None:
    """1,524 replies, of which the 1,320 English ones have words and scores on their scales."""
    every, examples = (
        rebuild_embedded_judge.read_own_replies(),
        rebuild_embedded_judge.own_examples(),
    )

    assert (len(every), len(examples)) == (1_524, 1_320)
    assert len({reply["id"] for reply in every}) == len(every)
    assert all(one.evidence.answer and one.marks for one in examples)
    assert all(
        mark in rebuild_embedded_judge.MARKS and 0 <= share <= 1
        for one in examples
        for mark, share in one.marks.items()
    )
