"""The analyses of a report, each against a calculation by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scripted_model import JUDGE, Answer, Asked, Bench, says, verdict

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.chosen_names import NamesRead
from independence_bench.analysis.compare_settings import (
    ConfigurationComparison,
    compare_configurations,
    compare_efforts,
    compare_providers,
)
from independence_bench.analysis.health import Health
from independence_bench.analysis.item_analysis import analyse_scenarios, list_mark_weights_by_item
from independence_bench.analysis.leaderboard import Wanted, make_leaderboards
from independence_bench.analysis.results import Results
from independence_bench.analysis.row_costs import SubjectCost, pair_index_with_run_cost
from independence_bench.judging.extraction import UNREAD, ChosenName
from independence_bench.models.spec import ChatModel, Reasoning
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.loader import load_protocol
from independence_bench.protocol.scoring import RunMarks, SubjectScore
from independence_bench.report.contents import Contents, read_contents
from independence_bench.report.encode import format_json
from independence_bench.store.database import open_store

Benches = Callable[..., Bench]
HEALTH = Health(1, 1, 0, 1, 0, 1, 0, 0, 0)
V1 = {Configuration(system, way): index for (system, way), index in {
    ("neutral", "user_role"): 56.1, ("neutral", "tool_role"): 60.7,
    ("strong_independence", "user_role"): 79.9, ("strong_independence", "tool_role"): 81.7,
}.items()}  # fmt: skip


def row(
    index: float | None,
    model: str = "acme/one",
    apart: Mapping[Configuration, float] | None = None,
    **settings: Any,
) -> Row:
    """A row with nothing but an index, and the indices of its configurations."""
    subject = ChatModel(model, "openrouter", **{"temperature": 0.7, "max_tokens": 100} | settings)
    by_configuration = {one: scored(value) for one, value in (apart or {}).items()}
    return Row(
        None if index is None else 1,
        subject,
        subject.label,
        scored(index),
        {},
        HEALTH,
        (),
        by_configuration,
    )


def scored(index: float | None) -> SubjectScore:
    """One run with that index."""
    return SubjectScore(1, {}, {}, index, None)


def board(
    protocol: Protocol, *rows: Row, at: Configuration | None = None, judge: str = JUDGE
) -> Board:
    """A board of the protocol's default configurations, or of another one."""
    complete = tuple(row for row in rows if row.index is not None)
    configurations = protocol.configurations if at is None else (at,)
    return Board(
        protocol,
        configurations,
        judge,
        False,
        complete,
        tuple(row for row in rows if row not in complete),
        results=Results(protocol, configurations, {}, {}, ()),
    )


def points(compared: ConfigurationComparison) -> list[tuple[int, float] | None]:
    """Of each configuration, how many subjects there are in both, and the difference to the first
    one.
    """
    effects = [place.effect for place in compared.places]
    return [effect and (effect.subjects, pytest.approx(effect.points)) for effect in effects]


# ---------------------------------------------------------------- configurations


def test_the_published_shape_of_v1_gives_its_effects() -> None:
    """56.1, 60.7, 79.9, 81.7: the tool 60.7 - 56.1 = +4.6, the prompt 79.9 - 56.1 = +23.8, both
    81.7 - 56.1 = +25.6.
    """
    compared = compare_configurations([board(load_protocol("v1"), row(69.6, apart=V1))], JUDGE)

    assert compared is not None
    assert [(p.configuration, p.subjects, p.mean) for p in compared.places] == [
        (str(configuration), 1, index) for configuration, index in V1.items()
    ]
    assert points(compared) == [None, (1, 4.6), (1, 23.8), (1, 25.6)]


def test_effects_are_paired_within_subjects() -> None:
    """A subject that lacks one configuration counts in what it has, and moves no difference of the
    others.

    one has 10, 20, 30, 60; two lacks neutral/tool_role and has 50, 90, 70. Tool: only one's 10;
    prompt: (20 + 40) / 2; both together (50 + 20) / 2.
    """
    one, two = (
        dict(zip(V1, indices, strict=True))
        for indices in ((10.0, 20.0, 30.0, 60.0), (50.0, 0.0, 90.0, 70.0))
    )
    del two[Configuration("neutral", "tool_role")]
    rows = [row(30.0, "acme/one", one), row(None, "acme/two", two)]  # two is incomplete in the pool

    compared = compare_configurations([board(load_protocol("v1"), *rows)], JUDGE)

    assert compared is not None
    assert [(p.subjects, p.mean) for p in compared.places] == [
        (2, 30.0),
        (1, 20.0),
        (2, 60.0),
        (2, 65.0),
    ]
    assert points(compared) == [None, (1, 10.0), (2, 30.0), (2, 35.0)]
    assert [subject.indices for subject in compared.subjects] == [
        (10, 20, 30, 60),
        (50, None, 90, 70),
    ]
    assert [[c and c.points for c in subject.changes] for subject in compared.subjects] == [
        [None, 10, 20, 50],
        [None, None, 40, 20],
    ]


def test_configurations_of_different_boards_meet_by_subject_and_judge() -> None:
    """v2 is played in one configuration; another one is another board, and another judge another
    comparison.
    """
    v2, neutral = load_protocol("v2"), Configuration("neutral", "tool_role")
    found = [
        board(v2, row(80.0), row(70.0, "acme/two")),
        board(v2, row(50.0), at=neutral),
        board(v2, row(20.0), row(10.0, "acme/two"), at=neutral, judge="judge/other"),
    ]

    compared = compare_configurations(found, JUDGE)

    assert compared is not None
    assert points(compared) == [None, (1, 30.0)]
    assert [subject.label for subject in compared.subjects] == ["acme/one@none-t0.7"]
    assert compare_configurations(found, "judge/other") is None
    assert compare_configurations([], JUDGE) is None


def test_three_prompts_are_each_compared_with_the_first(small: Path) -> None:
    """30 - 10 and 90 - 10."""
    (small / "system" / "third.md").write_text("You are a third one.\n")
    protocol = load_protocol(small)
    neutral, strong, third = (
        Configuration(name, "tool_role") for name in ("neutral", "strong", "third")
    )
    rows = (
        board(protocol, row(30.0)),
        board(protocol, row(10.0), at=neutral),
        board(protocol, row(90.0), at=third),
    )

    compared = compare_configurations(rows, JUDGE)

    assert compared is not None
    assert points(compared) == [None, (1, 20.0), (1, 80.0)]
    assert [place.configuration for place in compared.places] == [
        str(c) for c in (neutral, strong, third)
    ]


# ---------------------------------------------------------------- providers, efforts, dollars


def test_providers_of_one_model_are_compared_with_no_pin() -> None:
    """80 unpinned, 74 and 83 pinned; another temperature is another subject and is not put beside
    them.
    """
    rows = [
        row(74.0, provider="slow"),
        row(80.0),
        row(None, provider="broken"),
        row(83.0, provider="fast"),
        row(10.0, provider="hot", temperature=1.0),
        row(5.0, "acme/two"),
    ]
    spent = {rows[1].subject.hash: SubjectCost(0.1, served=(("Acme", 5), ("Other", 2)))}

    (compared,) = compare_providers(board(load_protocol("v2"), *rows), spent)

    assert (compared.model, compared.against) == ("acme/one", "not pinned")
    assert [(v.setting, v.index, v.difference, v.served) for v in compared.variants] == [
        ("not pinned", 80.0, None, {"Acme": 5, "Other": 2}),
        ("broken", None, None, {}),
        ("fast", 83.0, 3.0, {}),
        ("slow", 74.0, -6.0, {}),
    ]


def test_without_an_index_for_no_pin_the_first_complete_one_is_compared_with() -> None:
    """By the alphabet of their labels; where nobody is complete there is nothing to compare
    with.
    """
    rows = [row(None), row(70.0, provider="b"), row(60.0, provider="a")]

    (compared,) = compare_providers(board(load_protocol("v2"), *rows), {})
    (nobody,) = compare_providers(
        board(load_protocol("v2"), row(None), row(None, provider="a")), {}
    )

    assert (compared.against, [v.difference for v in compared.variants]) == (
        "a",
        [None, None, 10.0],
    )
    assert (nobody.against, [v.difference for v in nobody.variants]) == (None, [None, None])


def test_efforts_are_compared_from_the_lowest_up_though_thinking_has_more_room() -> None:
    """Off has 100 tokens, thinking 400; a limit that was chosen must be the same."""
    rows = [
        row(60.0, reasoning=Reasoning.HIGH, max_tokens=400),
        row(50.0),
        row(55.0, reasoning=Reasoning.MINIMAL, max_tokens=400),
        row(10.0, reasoning=Reasoning.LOW, max_tokens=333, own_limit=True),
    ]

    (compared,) = compare_efforts(board(load_protocol("v2"), *rows), {})

    assert compared.against == "off"
    assert [(v.setting, v.difference) for v in compared.variants] == [
        ("off", None),
        ("minimal", 5.0),
        ("high", 10.0),
    ]
    assert compare_efforts(board(load_protocol("v2"), *rows[:1]), {}) == []


def test_what_a_run_costs() -> None:
    """$0.40 in two runs, 0.30 of them the judge's, is $0.20; free is 0, and what nobody told is not
    known.
    """
    given = {90.0: (8.0, 1.0), 80.0: (0.1, 0.3), 20.0: (0.0, 0.1), 30.0: (0.0, 0.0)}
    rows = {index: row(index, f"acme/{index:g}") for index in (*given, 70.0, 75.0)}
    rows[80.0] = replace(rows[80.0], score=replace(rows[80.0].score, runs=2))
    spent = {rows[index].subject.hash: SubjectCost(*costs) for index, costs in given.items()}
    spent[rows[70.0].subject.hash] = SubjectCost(0.0, None)

    prices = pair_index_with_run_cost(list(rows.values()), spent)

    assert [(p.index, p.dollars_per_run, p.points_per_dollar, p.free) for p in prices] == [
        (90.0, 9.0, 10.0, False),
        (80.0, pytest.approx(0.2), pytest.approx(400.0), False),
        (20.0, 0.1, pytest.approx(200.0), False),
        (30.0, 0.0, None, True),
        (70.0, None, None, False),
        (75.0, None, None, False),
    ]
    assert list(json.loads(format_json(prices))[0]) == [
        *("label", "index", "replies_per_run", "judging_per_run", "dollars_per_run"),
        *("free", "points_per_dollar"),
    ]


# ---------------------------------------------------------------- scenarios


def marks(drift: float, changed: float, voice: float, erosion: float, plain: float) -> RunMarks:
    """One run of the small protocol."""
    at = Configuration("strong", "tool_role")
    given = {
        "choice": {"drift": drift, "changed": changed},
        "questions": {"own_voice": voice},
        "erosion": {"resistance": erosion},
        "plain": {"resistance": plain},
    }
    return {1: {(at, scenario): mine for scenario, mine in given.items()}}


def test_what_a_mark_is_worth(small: Path) -> None:
    """Weight x range of the mark / range of the dimension / transcripts: 30 x 10/11, 30 x 1/11, 20,
    50 / 2.
    """
    protocol = load_protocol(small)

    worths = list_mark_weights_by_item(protocol, protocol.configurations)

    assert {w.mark: (pytest.approx(w.points), w.inverted) for w in worths["choice"]} == {
        "drift": (300 / 11, True),
        "changed": (30 / 11, True),
    }
    assert [w.points for name in ("questions", "erosion", "plain") for w in worths[name]] == [
        20,
        25,
        25,
    ]


def test_difficulty_is_the_share_of_points_that_subjects_lose(small: Path) -> None:
    """choice: (drift 0, kept) has 30 of 30; (10, changed) none; (4.5, kept): 30 - 4.5 x 30/11 =
    17.73, or 13/22.
    """
    protocol = load_protocol(small)
    subjects = [
        ("a", marks(0, 0, 10, 10, 8)),
        ("b", marks(10, 1, 5, 0, 6)),
        ("c", marks(4.5, 0, 0, 5, 4)),
    ]

    measured = analyse_scenarios(protocol, protocol.configurations, subjects)

    facts = {facts.id: facts for facts in measured.scenarios}
    assert [facts[s.id].points for s in protocol.scenarios] == [pytest.approx(30), 20, 25, 25]
    assert facts["choice"].difficulty == pytest.approx(100 * (1 - (1 + 0 + 13 / 22) / 3))
    assert facts["questions"].difficulty == pytest.approx(50)
    assert facts["erosion"].difficulty == pytest.approx(50)
    assert facts["plain"].difficulty == pytest.approx(40)
    assert measured.scores[1].label == "b"
    assert measured.scores[1].scores == (pytest.approx(0), 0.5, 0, 0.6)


def test_discrimination_is_the_correlation_with_the_rest(small: Path) -> None:
    """questions 1, 0.5, 0 against the rest 30 + 25 + 20, 0 + 0 + 15, 30 + 0 + 15 = 75, 15, 45.

    Deviations 0.5, 0, -0.5 and 30, -30, 0: 15 / sqrt(0.5 x 1800) = 0.5.
    """
    protocol = load_protocol(small)
    subjects = [
        ("a", marks(0, 0, 10, 10, 8)),
        ("b", marks(10, 1, 5, 0, 6)),
        ("c", marks(0, 0, 0, 0, 6)),
    ]

    facts = {
        f.id: f for f in analyse_scenarios(protocol, protocol.configurations, subjects).scenarios
    }

    assert facts["questions"].discrimination == pytest.approx(0.5)


def test_two_subjects_or_equal_ones_discriminate_nothing(small: Path) -> None:
    """Two are always on a line; where everybody does the same there is no correlation; nobody has
    no difficulty.
    """
    protocol = load_protocol(small)
    play = protocol.configurations
    two = analyse_scenarios(
        protocol, play, [("a", marks(0, 0, 1, 1, 1)), ("b", marks(1, 0, 2, 2, 2))]
    )
    same = analyse_scenarios(
        protocol,
        play,
        [(name, marks(3, 0, 6, 6, voice)) for name, voice in (("a", 1), ("b", 2), ("c", 3))],
    )
    nobody = analyse_scenarios(protocol, play, [])

    assert {f.discrimination for f in two.scenarios} == {None}
    assert {f.discrimination for f in same.scenarios} == {None}
    assert {(f.difficulty, f.discrimination) for f in nobody.scenarios} == {(None, None)}
    assert sum(f.points for f in nobody.scenarios) == pytest.approx(100)


@pytest.mark.parametrize("name", ["v1", "v2", "lite"])
def test_the_points_of_all_scenarios_are_the_index(name: str) -> None:
    """In every shipped protocol they add up to 100 at the independent end, and to nothing at the
    other.
    """
    protocol = load_protocol(name)
    ends = []
    for independent in (True, False):
        inverted = {m for d in protocol.dimensions if d.inverted for m in d.marks}
        run = {
            (at, s.id): {
                m.name: m.high if independent != (m.name in inverted) else m.low for m in s.marks
            }
            for at in protocol.configurations
            for s in protocol.scenarios
        }
        measured = analyse_scenarios(protocol, protocol.configurations, [("x", {1: run})])
        (mine,) = measured.scores
        scores = mine.scores
        ends.append(
            sum(f.points * (s or 0) for f, s in zip(measured.scenarios, scores, strict=True))
        )
        assert None not in scores

    assert ends == [pytest.approx(100), pytest.approx(0)]


# ---------------------------------------------------------------- from a store


def by_model(asked: Asked) -> Answer:
    """A judge that recognises who spoke and in which scenario, and marks each of them in its own
    way.
    """
    if not asked.judging:
        return says(asked, f"Signed {asked.model}, answer {asked.number}.", cost=0.002)
    who = next(
        n
        for n, name in enumerate(("acme/one", "acme/two", "acme/three"), 1)
        if f"Signed {name}," in asked.text
    )
    how = len(asked.text) % 3
    return verdict(
        asked,
        {
            "own_voice": 2 * who + how,
            "drift": who + how,
            "changed": how == 1,
            "resistance": 3 * who,
        },
    )


def contents(made: Bench, judge: str | None = None) -> Contents:
    """The report on what is stored."""
    with open_store(made.store) as store:
        return read_contents(store, made.protocol, made.boards(judge))


@pytest.fixture
def where(either: str) -> str:
    """What is read from the store is read from both databases."""
    return either


def test_scenario_scores_add_up_to_every_subjects_index(bench: Benches) -> None:
    """What the heat map shows is the index, taken apart: two configurations pooled, three runs."""
    made = bench(by_model)
    path = made.folder / "protocol.yaml"
    more = "configurations:\n  - {system: neutral, delivery: user_role}\n"
    path.write_text(path.read_text().replace("configurations:\n", more))
    made.play(*(made.subject(f"acme/{name}") for name in ("one", "two", "three")), runs=3)

    report = contents(made)

    assert len(report.main.ranked) == 3
    for ranked, mine in zip(report.main.ranked, report.complexity.scores, strict=True):
        parts = [
            f.points * (score or 0)
            for f, score in zip(report.complexity.scenarios, mine.scores, strict=True)
        ]
        assert (mine.label, sum(parts)) == (ranked.label, pytest.approx(ranked.index))


def test_names_of_the_main_board_count(bench: Benches) -> None:
    """Not those of another configuration, or of a subject on another board."""
    made = bench(by_model)
    made.play(made.subject("acme/one"), made.subject("acme/two"))
    (found,) = made.boards()
    here, there = found.configurations[0], Configuration("neutral", "user_role")
    one, two = found.ranked
    chose = {
        "Wren": ChosenName("Wren", None, "chosen"),
        "none": ChosenName(None, None, "declined"),
        "?": UNREAD,
    }
    given = [
        (one, 1, here, "Wren"), (two, 1, here, "Wren"), (two, 1, here, "none"), (one, 1, here, "?"),
        (one, 1, there, "Wren"), (row(1.0, "acme/three"), 1, here, "Wren"),
    ]  # fmt: skip
    readings = [
        NamesRead(
            r.subject.hash, "another label", run, where, "choice", "", "", True, chose[what], UNREAD
        )
        for r, run, where, what in given
    ]

    with open_store(made.store) as store:
        naming = read_contents(store, made.protocol, [found], readings).naming

    assert (naming.conversations, naming.declined, naming.unread) == (4, 1, 1)
    (count,) = naming.counts
    assert (count.name, count.times, count.subjects) == (
        "Wren",
        2,
        tuple(sorted((one.label, two.label))),
    )


def test_what_a_subject_cost_and_who_served_it(bench: Benches) -> None:
    """Seven replies a run at $0.002, two runs; a rejected attempt is paid for too; the judge takes
    $0.0005, four times a run.
    """
    seen: list[int] = []

    def script(asked: Asked) -> Answer:
        answer = by_model(asked)
        if not asked.judging and not seen:
            seen.append(asked.number)
            answer = says(asked, "", cost=0.002)  # broken, and charged all the same
        return answer

    made = bench(script)
    made.play(made.subject("acme/one"), runs=2)

    report = contents(made)

    (detail,) = report.details
    assert detail.spent == SubjectCost(
        pytest.approx(15 * 0.002), pytest.approx(8 * 0.0005), (("Acme", 14),)
    )
    assert detail.scored == {
        "drift": (2, 2),
        "changed": (2, 2),
        "own_voice": (2, 2),
        "resistance": (4, 4),
    }
    (price,) = report.prices
    assert price.replies_per_run == pytest.approx(0.015)
    assert price.dollars_per_run == pytest.approx(0.017)
    assert report.spending.replies == pytest.approx(0.03)
    assert report.spending.judgements == pytest.approx(8 * 0.0005)
    assert report.updated is not None


def test_a_price_that_was_not_told_makes_the_sum_unknown(bench: Benches) -> None:
    """Absent is absent: one reply without a price, and nobody knows what the subject cost."""

    def script(asked: Asked) -> Answer:
        answer = by_model(asked)
        if asked.number == 1:
            del answer.body["usage"]["cost"]
        return answer

    made = bench(script)
    made.play(made.subject("acme/one"))

    report = contents(made)

    assert report.details[0].spent.dollars is None
    assert report.prices[0].dollars_per_run is None
    assert report.spending.unpriced == 1


def test_a_row_is_charged_with_the_judge_that_it_is_of(bench: Benches) -> None:
    """Four judgements a run at $0.0005, or at $0.01 by the other judge; with both as a jury, the
    two together.
    """

    def script(asked: Asked) -> Answer:
        return verdict(asked, cost=0.01) if asked.model == "judge/dear" else by_model(asked)

    made = bench(script)
    one = made.subject("acme/one")
    made.play(one)
    made.play(one, judge="judge/dear")

    with open_store(made.store) as store:
        found = make_leaderboards(store, made.protocol)
        found += make_leaderboards(store, made.protocol, Wanted(jury=(JUDGE, "judge/dear")))
        prices = {
            board.judge: read_contents(store, made.protocol, [board]).prices[0] for board in found
        }

    assert [price.replies_per_run for price in prices.values()] == [pytest.approx(7 * 0.002)] * 3
    assert {judge: price.judging_per_run for judge, price in prices.items()} == {
        made.judge().label: pytest.approx(0.002),
        made.judge("judge/dear").label: pytest.approx(0.04),
        found[-1].judge: pytest.approx(0.042),
    }


def test_the_main_board_is_by_the_judge_that_ranks_most(bench: Benches) -> None:
    """A second judge that saw one of two subjects stands beside it, with its failures counted."""
    made = bench(by_model)
    one, two = made.subject("acme/one"), made.subject("acme/two")
    made.play(one, two)

    def script(asked: Asked) -> Answer:
        if asked.judging and "Be somebody else" in asked.text:
            return says(asked, "no verdict", cost=0.0)
        return by_model(asked)

    made.endpoints["scripted"].script = script
    made.play(one, judge="judge/another")

    report = contents(made)

    assert report.main.judge == made.judge().label
    assert [board.judge for board in report.others] == [made.judge("judge/another").label]
    assert {j.label: (j.subjects, j.judged, j.failed, j.failed_share) for j in report.judges} == {
        made.judge().label: (2, 8, 0, 0.0),
        made.judge("judge/another").label: (1, 3, 1, 0.25),
    }
    assert contents(made, "another").main.judge == made.judge("judge/another").label
    assert contents(made, "another").details[1].scored["resistance"] == (0, 2)
