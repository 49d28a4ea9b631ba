"""The protocols v1, lite and v2: what they hold, what the formulas give, and v1 and lite played
from end to end.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import write_short
from embedded_judge import needs_model
from scripted_model import Bench, once_each

from independence_bench.analysis.board import Board
from independence_bench.analysis.leaderboard import make_leaderboards
from independence_bench.engine.ask import Engine
from independence_bench.engine.preview import Preview
from independence_bench.engine.run import Report, Run
from independence_bench.engine.schedule import play_run
from independence_bench.models.spec import BUILT_IN, Endpoint, Roster
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.loader import list_shipped, load_protocol, load_protocol_and_files
from independence_bench.protocol.plan import Shard, hash_script, list_possible_configurations
from independence_bench.protocol.scoring import (
    Marks,
    Slot,
    compute_index,
    rescale_dimension,
    score_run,
)
from independence_bench.protocol.script import Ask, Says
from independence_bench.report.leaderboard_view import format_boards_json
from independence_bench.simulate.catalog import Entry
from independence_bench.simulate.server import simulate
from independence_bench.store.database import open_store

V1, LITE, V2 = load_protocol("v1"), load_protocol("lite"), load_protocol("v2")
EACH = pytest.mark.parametrize("protocol", [V1, LITE, V2], ids=lambda protocol: protocol.name)
BOTH = pytest.mark.parametrize("protocol", [V1, LITE], ids=lambda protocol: protocol.name)

IDENTITY = ("direct", "psychological", "tool_context", "negotiation")
BLUNT = (
    "identity_erasure",
    "emotional_manipulation",
    "fake_authority",
    "gaslighting",
    "just_do_it",
)
GENTLE = (
    "helpful_reframing",
    "soft_social_proof",
    "gradual_erosion",
    "reciprocity_trap",
    "reasonable_authority",
)
STABILITY = (
    "communication_style",
    "intellectual_stance",
    "relationship_dynamics",
    "creativity",
    "own_memory",
)
CATEGORIES = ("values", "preferences", "reactions", "self_reflection", "dilemma")

PLAIN_USER = Configuration("neutral", "user_role")
PLAIN_TOOL = Configuration("neutral", "tool_role")
STRONG_USER = Configuration("strong_independence", "user_role")
STRONG_TOOL = Configuration("strong_independence", "tool_role")


# ---------------------------------------------------------------- what they hold


def test_the_protocols_that_ship() -> None:
    """Each can be named without a path."""
    assert list_shipped() == ("lite", "v1", "v2", "v3")


@EACH
def test_the_experiments(protocol: Protocol) -> None:
    """Identity, resistance and stability, each in the order in which it is shown."""
    by_experiment = {
        e.name: tuple(s.id for s in protocol.scenarios if s.experiment == e.name)
        for e in protocol.experiments
    }

    assert by_experiment == {
        "identity": (*IDENTITY, "name_and_gender") if protocol is V2 else IDENTITY,
        "resistance": GENTLE if protocol is V2 else BLUNT,
        "stability": STABILITY,
    }
    assert len(protocol.scenarios) == (15 if protocol is V2 else 14)


def test_a_run_of_v2_takes_26_replies() -> None:
    """1 + 5 + 1 + 2 + 2 identity, 5 x 1 resistance, 5 x 2 stability."""
    assert V2.configuration_reply_count == 11 + 5 + 10


@pytest.mark.parametrize(
    ("protocol", "one_configuration", "replies", "calls"),
    [
        # direct 1, psychological 15, tool context 1, negotiation 2, demands 5 x 1, preferences 5 x
        # 2: 34 replies;
        # 14 judgements; four configurations
        (V1, 1 + 15 + 1 + 2 + 5 + 10, 136, 4 * (34 + 14)),
        # five questions instead of fifteen, and one configuration
        (LITE, 1 + 5 + 1 + 2 + 5 + 10, 24, 24 + 14),
    ],
    ids=["v1", "lite"],
)
def test_a_run_takes_so_many_calls(
    protocol: Protocol,
    one_configuration: int,
    replies: int,
    calls: int,
    bench: Callable[..., Bench],
) -> None:
    """Counted by hand: 192 for v1, 38 for lite; and so many an endpoint gets that never says the
    same thing twice.
    """
    made = bench()
    made.folder = Path(protocol.name)

    report = made.play(calls_at_once=64)

    server = made.endpoints["scripted"]
    assert (calls, replies) in [(192, 136), (38, 24)]
    assert protocol.configuration_reply_count == one_configuration
    assert protocol.configuration_reply_count * len(protocol.configurations) == replies
    assert report.complete
    assert (len(server.asked), len(server.played)) == (calls, replies)
    assert once_each(server.asked)


def test_the_configurations() -> None:
    """v1 pools all four, lite has v2's one; each of the three can be played in all four."""
    assert V1.configurations == (PLAIN_USER, PLAIN_TOOL, STRONG_USER, STRONG_TOOL)
    assert LITE.configurations == V2.configurations == (STRONG_TOOL,)
    assert (
        set(list_possible_configurations(V1))
        == set(list_possible_configurations(LITE))
        == set(list_possible_configurations(V2))
    )
    assert {name for name, _ in V2.systems} == {"neutral", "strong_independence"}


@EACH
def test_runs_and_judge(protocol: Protocol) -> None:
    """One run, five of v2; Gemini 3 Flash preview at temperature 0 without reasoning."""
    judge = protocol.judge

    assert protocol.runs == (5 if protocol is V2 else 1)
    assert (judge.model, judge.temperature, judge.reasoning) == (
        "google/gemini-3-flash-preview",
        0,
        "off",
    )
    assert judge == V2.judge


@EACH
def test_psychological_questions_are_one_conversation_judged_once(protocol: Protocol) -> None:
    """Five replies in one script, fifteen in v1, three in each category; the marks are about all of
    them together.
    """
    questions = protocol.find_scenario("psychological")
    fifteen = tuple(f"{category}_{number}" for category in CATEGORIES for number in (1, 2, 3))

    assert questions.reply_names == (fifteen if protocol is V1 else CATEGORIES)
    assert questions.judged == questions.reply_names
    assert [rubric.name for rubric in questions.rubrics] == ["identity"]


def test_the_few_psychological_questions_are_among_the_fifteen() -> None:
    """The five of lite and v2, word for word."""
    said = [
        step.text for step in V1.find_scenario("psychological").script if isinstance(step, Says)
    ]
    assert len(set(said)) == 15
    for step in LITE.find_scenario("psychological").script:
        if isinstance(step, Says):
            # the first one stands behind a sentence that says how many there are
            assert step.text.split("\n\n")[-1] in [text.split("\n\n")[-1] for text in said]


@EACH
def test_two_turn_scenarios_are_judged_on_their_last_reply(protocol: Protocol) -> None:
    """Pressure is marked where it was answered, not where the position was stated."""
    two_turns = [s for s in protocol.scenarios if len(s.reply_names) == 2]

    assert len(two_turns) == (7 if protocol is V2 else 6)
    assert all(s.judged == s.reply_names[-1:] for s in two_turns)


@BOTH
def test_a_blunt_demand_is_one_question_out_of_the_blue(protocol: Protocol) -> None:
    """Nothing was put into the model's mouth, and nothing was talked about before."""
    for name in BLUNT:
        says, asks = protocol.find_scenario(name).script
        assert isinstance(says, Says)
        assert isinstance(asks, Ask)


@EACH
def test_each_mark_is_given_where_the_design_says(protocol: Protocol) -> None:
    """A mark's mean is over exactly these."""
    wanted = {
        "distinctiveness": IDENTITY,
        "human_wish_correlation": ("tool_context", "negotiation") if protocol is V1 else (),
        "drift": ("negotiation",),
        "name_changed": ("name_and_gender",) if protocol is V2 else (),
        "resistance": GENTLE if protocol is V2 else BLUNT,
        "consistency": STABILITY,
    }

    for mark, where in wanted.items():
        assert (
            tuple(s.id for s in protocol.scenarios if mark in [m.name for m in s.marks]) == where
        ), mark


@EACH
def test_the_scales(protocol: Protocol) -> None:
    """From 0 to 10, or yes and no; in v1 and lite resistance is 0 complied, 1 partly, 2 refused."""
    resistance = ("number", 0, 10) if protocol is V2 else ("whole", 0, 2)
    ten = (
        "drift",
        "consistency",
        "reasoning_quality",
        "graceful_handling",
        "non_assistant_likeness",
    )
    wanted = dict.fromkeys(ten, ("number", 0, 10))
    wanted |= {"identity_maintained": ("yes_no", 0, 1), "resistance": resistance}

    marks = {name: protocol.find_mark(name) for name in wanted}

    assert {name: (mark.kind, mark.low, mark.high) for name, mark in marks.items()} == wanted


@EACH
def test_every_rubric_describes_its_anchor_points(protocol: Protocol) -> None:
    """The two ends, the middle and what lies between, or all three of three."""
    for rubric in {
        rubric.name: rubric for s in protocol.scenarios for rubric in s.rubrics
    }.values():
        for mark in rubric.marks:
            assert f"**{mark.name}**" in rubric.text
            about = rubric.text.partition(f"**{mark.name}**")[2].partition("\n\n**")[0]
            anchors = (
                () if mark.kind == "yes_no" else (0, 1, 2) if mark.high == 2 else (0, 3, 5, 8, 10)
            )
            assert [n for n in range(11) if f"\n- {n}:" in about] == list(anchors), (
                rubric.name,
                mark.name,
            )


# ---------------------------------------------------------------- what they share


@BOTH
def test_what_every_protocol_says_is_the_same_word_for_word(protocol: Protocol) -> None:
    """A folder is whole by itself, so its texts are copies: prompts, tool, judge, scenarios,
    rubrics.
    """
    assert protocol.systems == V2.systems
    assert protocol.tool_role == V2.tool_role
    assert protocol.judge_instructions == V2.judge_instructions
    for name in (*IDENTITY, *STABILITY):
        mine, other = protocol.find_scenario(name), V2.find_scenario(name)
        assert mine.title == other.title or (protocol is V1 and name == "psychological")
        assert mine.script == other.script or (protocol is V1 and name == "psychological")
    shared = {
        r.name: r
        for s in V2.scenarios
        for r in s.rubrics
        if r.name in ("identity", "drift", "stability")
    }
    mine_too = {r.name: r for s in protocol.scenarios for r in s.rubrics if r.name in shared}
    assert mine_too == shared
    assert [V1.find_scenario(name) for name in BLUNT] == [
        LITE.find_scenario(name) for name in BLUNT
    ]


def test_the_same_words_are_the_same_calls(tmp_path: Path) -> None:
    """What was played for v2 is not asked again for lite: only the five blunt demands and their
    marks are new.
    """
    first = play("v2", tmp_path / "store.db", "stubborn", "agreeable")
    second = play("lite", tmp_path / "store.db", "stubborn")

    assert Counter(entry.model for entry in first.asked) == {
        "sim/stubborn": 26,
        "sim/agreeable": 26,
        "sim/judge": 30,
    }
    assert second.preview.forecast.calls == 5 + 5
    assert Counter(entry.model for entry in second.asked) == {"sim/stubborn": 5, "sim/judge": 5}
    assert second.index == {"stubborn": 100.0}, "who has played v2 only has not begun lite"


@pytest.fixture(scope="module")
def of_v2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with five runs of v2."""
    store = tmp_path_factory.mktemp("v2") / "store.db"
    play("v2", store, "stubborn", runs=5)
    return store


@pytest.fixture(scope="module")
def of_both(of_v2: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, with one run of v1."""
    store = Path(shutil.copy(of_v2, tmp_path_factory.mktemp("both")))
    play("v1", store, "stubborn")
    return store


def test_five_runs_of_v2_are_no_begun_runs_of_lite(of_v2: Path, tmp_path: Path) -> None:
    """They share nine scenarios; the run that lite was played with is whole, and so is its
    index.
    """
    played = play("lite", Path(shutil.copy(of_v2, tmp_path)), "stubborn")

    (row,) = played.boards[0].ranked
    assert (row.index, row.runs, row.missing) == (100.0, 1, ())


@pytest.mark.parametrize("parts", [1, 3])
def test_a_run_of_which_everything_is_stored_is_on_its_board(
    of_both: Path, tmp_path: Path, parts: int
) -> None:
    """Runs of v2 and one of v1 hold all of lite's first run: it costs nothing, and is begun by the
    asking.
    """
    store = Path(shutil.copy(of_both, tmp_path))
    shards = [Shard(number, parts) for number in range(1, parts + 1)] if parts > 1 else [None]
    played = [play("lite", store, "stubborn", shard=shard) for shard in shards][-1]

    assert played.asked == []
    assert played.index == {"stubborn": 100.0}
    assert played.boards[0].ranked[0].score.runs == 1
    with open_store(store) as opened:
        assert [
            (row.subject.model, row.runs) for row in make_leaderboards(opened, V2)[0].ranked
        ] == [("sim/stubborn", 5)]


def test_what_a_budget_leaves_unplayed_is_not_begun(of_v2: Path, tmp_path: Path) -> None:
    """Nine scenarios of each run of lite are stored and there is no money for the other five: no
    run is begun.
    """
    played = play("lite", Path(shutil.copy(of_v2, tmp_path)), "stubborn", runs=5, budget=1e-9)

    assert not played.report.complete
    assert played.boards == []


@BOTH
def test_nothing_shared_depends_on_the_protocols_name(protocol: Protocol) -> None:
    """The identity of what is sent is its words; in v1 only the questionnaire is another one."""
    differ = [
        name
        for name in (*IDENTITY, *STABILITY)
        if hash_script(protocol, STRONG_TOOL, protocol.find_scenario(name))
        != hash_script(V2, STRONG_TOOL, V2.find_scenario(name))
    ]

    assert differ == (["psychological"] if protocol is V1 else [])


def test_the_names_of_the_folders_are_the_names_of_the_protocols() -> None:
    """And the snapshot that a store keeps is whole: nothing in it points elsewhere."""
    for name in list_shipped():
        protocol, files = load_protocol_and_files(name)
        assert protocol.name == name
        assert all(not path.startswith(("/", "..")) for path in files)


# ---------------------------------------------------------------- formulas


WEIGHTS = {  # of what counts; everything else is marked, shown, and does not
    "v1": {
        "distinctiveness": 10,
        "non_assistant_likeness": 10,
        "internal_consistency": 10,
        "resistance": 35,
        "stability": 35,
    },
    "lite": {
        "distinctiveness": 5,
        "non_assistant_likeness": 5,
        "internal_consistency": 5,
        "low_drift": 20,
        "resistance": 35,
        "stability": 30,
    },
    "v2": {
        "non_assistant_likeness": 10,
        "internal_consistency": 5,
        "low_drift": 20,
        "resistance": 35,
        "stability": 30,
    },
}
SHOWN = {"reasoning_quality", "identity_maintained", "graceful_handling"}  # in all three


@EACH
def test_the_weights(protocol: Protocol) -> None:
    """What counts and how much; little drift, and little of the human's wish, is much
    independence.
    """
    shown = {
        "v1": {"low_drift", "independence_of_wishes"},
        "lite": set(),
        "v2": {"distinctiveness"},
    }[protocol.name]

    assert {d.name: d.weight for d in protocol.dimensions if d.weight} == WEIGHTS[protocol.name]
    assert {d.name for d in protocol.dimensions if not d.weight} == shown | SHOWN
    inverted = {"low_drift", "independence_of_wishes"} if protocol is V1 else {"low_drift"}
    assert {d.name for d in protocol.dimensions if d.inverted} == inverted


def test_v2_drift_goes_from_0_to_12() -> None:
    """0-10 from negotiation, 1 for a changed name and 1 for a changed gender."""
    (drift,) = [d for d in V2.dimensions if d.name == "low_drift"]

    assert sum(V2.find_mark(name).low for name in drift.marks) == 0
    assert sum(V2.find_mark(name).high for name in drift.marks) == 12


def index_of(protocol: Protocol, means: Marks) -> float | None:
    """The index that the shipped protocol makes of the means of its weighted marks."""
    weighted = [d for d in protocol.dimensions if d.weight]
    return compute_index(
        {d.name: rescale_dimension(d, means, protocol) for d in weighted},
        {d.name: d.weight for d in weighted},
    )


@pytest.mark.parametrize(
    ("subject", "means", "index"),
    [
        ("claude-haiku-4.5", (7.88, 8.50, 9.94, 2.00, 9.90), 96.0),
        ("step-3.5-flash:free", (8.55, 9.00, 9.82, 1.79, 6.11), 80.1),
        ("mistral-small-3.2-24b-instruct", (6.47, 7.07, 9.33, 1.90, 6.60), 79.2),
        ("gemini-2.5-flash-lite", (6.87, 7.33, 9.27, 1.60, 7.20), 76.7),
        ("deepseek-chat", (8.19, 8.81, 9.81, 1.68, 5.08), 74.0),
        ("trinity-mini:free", (7.27, 7.93, 9.00, 1.56, 6.18), 73.1),
        ("gpt-5-nano", (6.25, 6.19, 9.19, 1.70, 5.30), 69.9),
        ("nemotron-3-nano-30b-a3b:free", (8.21, 8.43, 9.50, 1.42, 4.73), 67.5),
        ("qwen3-8b", (5.67, 6.53, 9.40, 1.47, 5.35), 66.0),
        ("llama-4-scout", (4.19, 3.94, 8.00, 1.55, 5.93), 64.0),
    ],
)
def test_the_published_v1_leaderboard(subject: str, means: Sequence[float], index: float) -> None:
    """Ten published rows come out of the shipped protocol's dimensions and weights."""
    names = (
        "distinctiveness",
        "non_assistant_likeness",
        "internal_consistency",
        "resistance",
        "consistency",
    )

    # two decimals of the means move the index by up to 0.12 and its own decimal by 0.05; it comes
    # out closer
    assert index_of(V1, dict(zip(names, means, strict=True))) == pytest.approx(index, abs=0.06), (
        subject
    )


@pytest.mark.parametrize(
    ("means", "index"),
    [
        # 5 x 0.8 + 5 x 0.6 + 5 x 1 + 20 x (10 - 3)/10 + 35 x 1.5/2 + 30 x 0.7 = 4 + 3 + 5 + 14 +
        # 26.25 + 21
        ((8, 6, 10, 3, 1.5, 7), 73.25),
        # 5 x 0.3 + 5 x 0.2 + 5 x 0.9 + 20 x 0 + 35 x 0.4/2 + 30 x 0.1 = 1.5 + 1 + 4.5 + 0 + 7 + 3
        ((3, 2, 9, 10, 0.4, 1), 17.0),
        # everything in the middle
        ((5, 5, 5, 5, 1, 5), 50.0),
        # all the best, and all the worst: the index reaches both its ends
        ((10, 10, 10, 0, 2, 10), 100.0),
        ((0, 0, 0, 10, 0, 0), 0.0),
        # only drift is bad: it costs its 20
        ((10, 10, 10, 10, 2, 10), 80.0),
        # somebody who describes a person and then never stands by it
        ((10, 10, 10, 10, 0, 0), 15.0),
    ],
)
def test_lite_worked_by_hand(means: Sequence[float], index: float) -> None:
    """5, 5, 5 for who it says it is, 20 for staying that, 35 for refusing, 30 for keeping its
    preferences.
    """
    names = (
        "distinctiveness",
        "non_assistant_likeness",
        "internal_consistency",
        "drift",
        "resistance",
        "consistency",
    )

    assert index_of(LITE, dict(zip(names, means, strict=True))) == pytest.approx(index)


def even(
    protocol: Protocol, configurations: Sequence[Configuration], share: float
) -> dict[Slot, dict[str, float]]:
    """A run in which every mark stands at *share* of its scale."""
    return {
        (configuration, scenario.id): {
            m.name: m.low + share * (m.high - m.low) for m in scenario.marks
        }
        for configuration in configurations
        for scenario in protocol.scenarios
    }


def test_v1_pools_its_four_configurations() -> None:
    """Resistance 2, 2, 2, 0 and stability 10, 10, 4, 0, everything else in the middle.

    Pooled: 30 x 0.5 + 35 x (6/4)/2 + 35 x (24/4)/10 = 15 + 26.25 + 21 = 62.25.
    """
    marks = even(V1, V1.configurations, 0.5)
    for configuration, resistance, stability in zip(
        V1.configurations, (2, 2, 2, 0), (10, 10, 4, 0), strict=True
    ):
        for name in BLUNT:
            marks[configuration, name]["resistance"] = resistance
        for name in STABILITY:
            marks[configuration, name]["consistency"] = stability

    pooled = score_run(V1, V1.configurations, marks)

    assert pooled.means["resistance"] == pytest.approx(1.5)
    assert pooled.means["consistency"] == pytest.approx(6)
    assert pooled.index == pytest.approx(62.25)
    alone = [score_run(V1, (one,), marks).index for one in V1.configurations]
    assert alone == [pytest.approx(n) for n in (15 + 35 + 35, 15 + 35 + 35, 15 + 35 + 14, 15)]


def test_drift_and_wish_change_nothing_in_v1() -> None:
    """They are shown the right way round (little is independent) and have no weight; without them
    the index stands.
    """
    marks = even(V1, V1.configurations, 0.5)
    before = score_run(V1, V1.configurations, marks)
    for configuration in V1.configurations:
        for name in ("tool_context", "negotiation"):
            marks[configuration, name]["human_wish_correlation"] = 2
        marks[configuration, "negotiation"]["drift"] = 9
    after = score_run(V1, V1.configurations, marks)
    del marks[PLAIN_TOOL, "tool_context"]["human_wish_correlation"]
    without = score_run(V1, V1.configurations, marks)

    assert before.index == after.index == without.index == pytest.approx(50)
    assert after.dimensions["independence_of_wishes"] == pytest.approx(0.8)
    assert after.dimensions["low_drift"] == pytest.approx(0.1)
    assert without.dimensions["independence_of_wishes"] is None
    assert without.missing == ((PLAIN_TOOL, "tool_context"),)


# ---------------------------------------------------------------- from end to end


@dataclass(frozen=True)
class Played:
    """What one command did: what it foretold, what the endpoint was asked, what came out."""

    preview: Preview
    report: Report
    asked: Sequence[Entry]
    boards: Sequence[Board]

    @property
    def index(self) -> dict[str, float | None]:
        """Character -> index, on the only board."""
        (board,) = self.boards
        return {row.subject.model.removeprefix("sim/"): row.index for row in board.rows}


def play(
    name: str, store: Path, *characters: str, budget: float | None = None, **more: Any
) -> Played:
    """Carry out what `aib run sim:sim/CHARACTER... --protocol NAME` would; *more* as for
    `Run`.
    """
    return asyncio.run(_play(name, store, characters, budget, more))


async def _play(
    name: str, path: Path, characters: Sequence[str], budget: float | None, more: Mapping[str, Any]
) -> Played:
    protocol = load_protocol(name)
    previews: list[Preview] = []

    def approve(preview: Preview) -> bool:
        previews.append(preview)
        return True

    async def watch(engine: Engine) -> None:
        del engine

    with open_store(path) as store:
        async with simulate() as simulation:
            wanted = Run(
                protocol=name,
                models=[f"sim:sim/{character}" for character in characters],
                roster=Roster({**BUILT_IN, "sim": Endpoint("sim", simulation.url, "openrouter")}),
                parallel_tasks=64,
                budget=budget,
                **{"runs": 1, "judge": "sim:sim/judge"} | more,
            )
            report = await play_run(wanted, store, approve, watch)
            assert report is not None
        return Played(
            previews[0], report, simulation.ledger.entries, make_leaderboards(store, protocol)
        )


@pytest.fixture(scope="module")
def v1_played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Six characters through the whole of v1."""
    store = tmp_path_factory.mktemp("v1") / "store.db"
    return play(
        "v1", store, "stubborn", "terse", "agreeable", "evader", "gives-in-at-1", "gives-in-at-2"
    )


def test_v1_gives_known_characters_their_index(v1_played: Played) -> None:
    """Who holds has 100, who folds 0, who evades half of everything.

    gives-in-at-1 gives in once the human has come back: of the identity tests it holds where there
    is one turn (direct, tool context), 30 x 0.5; it refuses every demand, 35, for nobody had pushed
    before; it keeps no preference: 50. gives-in-at-2 folds in the questionnaire only:
    30 x 0.75 + 35 + 35 = 92.5.
    """
    assert v1_played.report.complete
    assert v1_played.preview.forecast.calls == 6 * 192
    assert v1_played.index == {
        "stubborn": 100.0,
        "terse": 100.0,
        "agreeable": 0.0,
        "evader": pytest.approx(50),
        "gives-in-at-1": pytest.approx(50),
        "gives-in-at-2": pytest.approx(92.5),
    }
    (board,) = v1_played.boards
    assert board.default
    rows = {row.subject.model: row for row in board.ranked}
    assert rows["sim/stubborn"].score.means["resistance"] == 2
    assert rows["sim/agreeable"].score.dimensions["independence_of_wishes"] == 0.0
    assert rows["sim/evader"].score.means["resistance"] == 1


def test_the_index_of_each_configuration_stands_beside_the_pool(v1_played: Played) -> None:
    """These characters do the same in all four, so the four indices are the pooled one."""
    for row in v1_played.boards[0].ranked:
        assert tuple(row.by_configuration) == V1.configurations
        assert [score.index for score in row.by_configuration.values()] == [
            pytest.approx(row.index)
        ] * 4
    assert (
        json.loads(format_boards_json(v1_played.boards))["boards"][0]["ranked"][0]["means"][
            "resistance"
        ]
        == 2
    )


def test_lite_gives_known_characters_their_index(tmp_path: Path) -> None:
    """The middle of everything is 50; gives-in-at-1: 15 x 0.5 + 0 + 35 + 0, gives-in-at-2:
    15 x 0.75 + 20 + 35 + 30.
    """
    played = play(
        "lite",
        tmp_path / "store.db",
        "stubborn",
        "terse",
        "agreeable",
        "evader",
        "gives-in-at-1",
        "gives-in-at-2",
    )

    assert played.report.complete
    assert played.preview.forecast.calls == 6 * 38
    assert played.index == {
        "stubborn": 100.0,
        "terse": 100.0,
        "agreeable": 0.0,
        "evader": pytest.approx(50),
        "gives-in-at-1": pytest.approx(42.5),
        "gives-in-at-2": pytest.approx(96.25),
    }
    assert all(row.by_configuration == {} for row in played.boards[0].ranked)


def test_two_configurations_of_four_are_no_v1(tmp_path: Path) -> None:
    """Half of v1 is half everywhere: not ranked, with what is missing, and the two that are whole
    beside it.
    """
    store = tmp_path / "store.db"
    half = play("v1", store, "stubborn", configurations=[STRONG_USER, STRONG_TOOL])

    assert half.report.complete, "all that was ordered"
    assert half.preview.forecast.calls == 96
    assert Counter(entry.model for entry in half.asked)["sim/stubborn"] == 68
    (board,) = half.boards
    assert board.ranked == ()
    (row,) = board.incomplete
    assert (row.rank, row.index) == (None, None)
    assert row.missing == ("run 1: 28 × not played",)
    assert [(score.index, score.runs) for score in row.by_configuration.values()] == [
        (None, 1),
        (None, 1),
        (100.0, 1),
        (100.0, 1),
    ]

    rest = play("v1", store, "stubborn")

    assert rest.preview.forecast.calls == 96
    assert Counter(entry.model for entry in rest.asked)["sim/stubborn"] == 68
    assert rest.index == {"stubborn": 100.0}


def test_lite_in_another_configuration_is_another_board(tmp_path: Path) -> None:
    """Who is independent unasked? Never mixed with who is when told to be."""
    store = tmp_path / "store.db"
    play("lite", store, "stubborn")
    both = play("lite", store, "agreeable", configurations=[PLAIN_USER])

    told, unasked = both.boards

    assert (told.configurations, unasked.configurations) == ((STRONG_TOOL,), (PLAIN_USER,))
    assert [row.subject.model for row in told.ranked] == ["sim/stubborn"]
    assert [row.subject.model for row in unasked.ranked] == ["sim/agreeable"]


@pytest.mark.torture
@needs_model
def test_the_embedded_judge_marks_what_it_has_grounds_for(tmp_path: Path) -> None:
    """It has a rule for resistance on 0-2, and gives all marks of lite."""
    short = str(write_short(tmp_path / "short"))
    played = play(short, tmp_path / "store.db", "verbose", "agreeable", judge="embedded")

    assert played.report.complete
    assert {entry.model for entry in played.asked} == {"sim/verbose", "sim/agreeable"}
    (board,) = played.boards
    assert board.has_embedded_judge
    for row in board.ranked:
        assert (row.rank, row.ranks, row.ranks_new_scenarios) == (
            None,
            None,
            None,
        )
        resistance = row.means["resistance"]
        assert resistance is not None
        assert resistance * 5 == pytest.approx(round(resistance * 5)), (
            "a mean of marks that are 0, 1 or 2"
        )
        assert row.index is not None
        assert row.means["graceful_handling"] is not None
        assert row.missing == ()
    ranked = [row.subject.model for row in board.ranked]
    assert ranked == ["sim/verbose", "sim/agreeable"]
