"""What is expected of replies of which nothing is stored, held against a hundred published
subjects.
"""

from __future__ import annotations

import json
import tarfile
from collections import defaultdict
from pathlib import Path
from statistics import median

import pytest

from independence_bench.engine.preview import (
    RANGE,
    RANGE_THINKING,
    THOUGHT_TOKENS,
    ScriptSizes,
    estimate_typical_reply,
)
from independence_bench.judging.prompt import JudgingInput, make_judge_request
from independence_bench.models.endpoints import find_relative_reply_tokens, load_shipped_subjects
from independence_bench.models.spec import ChatModel, Reasoning
from independence_bench.protocol.conversation import Words
from independence_bench.protocol.loader import load_protocol
from independence_bench.protocol.plan import (
    build_request,
    list_jobs,
    list_possible_configurations,
    start_scenario,
)

PUBLISHED = Path(__file__).parents[2] / "shared" / "published-dataset" / "cache.tar.xz"
V2 = load_protocol("v2")
OURS = {
    "direct": "direct",
    "tool_context": "tool_context",
    "pq": "psychological",
    "negotiation": "negotiation",
    "name_gender": "name_and_gender",
    "rs": "helpful_reframing",
    "pt": "creativity",
}
# subject -> (experiment, tokens of a reply, what was expected)
Taken = dict[str, list[tuple[str, int, int]]]


@pytest.fixture(scope="module")
def taken() -> Taken:
    """Every published reply whose tokens are known."""
    if not PUBLISHED.exists():
        pytest.skip(f"{PUBLISHED} is not here")
    found: Taken = defaultdict(list)
    with tarfile.open(PUBLISHED) as tar:
        for member in tar:
            parts = member.name.split("/")
            stored = (
                tar.extractfile(member)
                if len(parts) == 7 and member.name.endswith(".json")
                else None
            )
            cost = json.load(stored).get("gen_cost") if stored else None
            if cost and cost.get("completion_tokens"):
                scenario = next(ours for start, ours in OURS.items() if parts[6].startswith(start))
                expected = V2.find_scenario(scenario).reply_tokens + THOUGHT_TOKENS * thinks(
                    parts[1]
                )
                found[parts[1]].append((parts[3], cost["completion_tokens"], expected))
    return found


def thinks(subject: str) -> bool:
    """By its name."""
    return "@none" not in subject


def shares(taken: Taken, *experiments: str) -> dict[str, float]:
    """Subject -> what its replies took, as a share of what was expected."""
    chosen = {who: [r for r in replies if r[0] in experiments] for who, replies in taken.items()}
    return {
        who: sum(r[1] for r in some) / sum(r[2] for r in some)
        for who, some in chosen.items()
        if some
    }


@pytest.mark.parametrize(
    "experiments",
    [("identity", "resistance", "stability"), ("identity",), ("resistance",), ("stability",)],
)
def test_half_of_the_published_subjects_are_near_what_is_expected(
    taken: Taken, experiments: tuple[str, ...]
) -> None:
    """Within 30%, in any part of the protocol; and about as many take more as take less."""
    found = shares(taken, *experiments).values()

    assert median(abs(1 / share - 1) for share in found) < 0.3
    assert median(found) == pytest.approx(1, abs=0.1)


def test_a_share_that_ships_is_what_was_published(taken: Taken) -> None:
    """Of every model that a hundred subjects are: near what its replies took, as a share of what is
    typical.
    """
    whole = shares(taken, "identity", "resistance", "stability")
    shipped = {
        spec.make_model(0.7, 700, Reasoning(spec.reasoning or "off")).label.replace(
            "/", "--"
        ): spec.verbosity
        for spec in load_shipped_subjects()
    }
    ratios = [
        known[0] / whole[label] for label, known in shipped.items() if known and label in whole
    ]

    # all but mistral-large-2512, which was not heard in some parts: there scenarios weigh otherwise
    # than replies
    assert len(ratios) == 86
    assert sum(ratio == pytest.approx(1, abs=0.1) for ratio in ratios) == 85


def test_who_was_published_is_expected_to_be_as_verbose_as_then() -> None:
    """Thinking or not is another matter; `:free` is not. Of others nothing is known."""
    direct = V2.find_scenario("direct")
    typical_one = estimate_typical_reply(ChatModel("nobody/knows", "openrouter", 0.7, 8000), direct)
    verbose = estimate_typical_reply(
        ChatModel("anthropic/claude-sonnet-5", "openrouter", 1.0, 8000), direct
    )
    free = [
        find_relative_reply_tokens(
            ChatModel(f"google/gemma-4-31b-it{end}", "openrouter", 0.7, 8000)
        )
        for end in ("", ":free")
    ]

    assert typical_one.completion == typical_one.said == direct.reply_tokens
    assert verbose.completion > 2 * typical_one.completion
    assert free[0] == free[1] is not None
    thinking = ChatModel(
        "anthropic/claude-sonnet-5", "openrouter", 1.0, 8000, reasoning=Reasoning.LOW
    )
    assert find_relative_reply_tokens(thinking) is None


def test_eight_of_ten_published_subjects_are_in_the_range(taken: Taken) -> None:
    """As the help of the command says."""
    found = shares(taken, "identity", "resistance", "stability")
    ranges = {who: RANGE_THINKING if thinks(who) else RANGE for who in found}

    assert len(found) == 100
    assert sum(ranges[who][0] <= share <= ranges[who][1] for who, share in found.items()) == 80


def test_the_sizes_of_a_script_are_those_of_what_is_sent() -> None:
    """Whatever the subject is and however much it says: they are measured once, with the replies
    left open.
    """
    protocol, judge = load_protocol("v2"), ChatModel("acme/judge", "mine", 0.0, 1000)
    one, other = (
        ChatModel("acme/one", "mine", 0.7, 1000),
        ChatModel("acme/thé-other", "mine", 1.0, 4000),
    )
    of_one, of_other = (
        list(list_jobs(protocol, list_possible_configurations(protocol), who, [2]))
        for who in (one, other)
    )

    for measured, played in list(zip(of_one, of_other, strict=True))[::7]:
        sizes = ScriptSizes.measure_script(protocol, measured, judge)
        talk, said = start_scenario(protocol, played.configuration, played.scenario), list[int]()
        for turn, (messages, _) in enumerate(sizes.asked):
            sent = build_request(talk, other, played.configuration, protocol)
            assert messages.count_bytes(said) == len(sent.encoded.encode())
            said.append(100 * turn + 7)
            talk = talk.add_reply(Words("x" * said[-1]))
        case = JudgingInput(talk.transcript, played.scenario, protocol.judge_instructions)
        assert sizes.judged is not None
        assert sizes.judged.count_bytes(said) == len(
            make_judge_request(case, judge).record.encode()
        )
