"""Judges beside each other: juries, agreement, self-preference, flags, and how `aib judges` shows
them.
"""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import permutations
from pathlib import Path

import pytest
from embedded_judge import embedded_judge, with_model
from rich.cells import cell_len
from scripted_model import Answer, Asked, Bench, completion, says, verdict
from terminal_text import displayed
from test_cli import User, only_line, user

from independence_bench.analysis.board import Board, JudgesKin
from independence_bench.analysis.exam.answers import make_mark_comparison_scale
from independence_bench.analysis.judge_agreement import Validation, compare_judges
from independence_bench.analysis.judge_leniency import strip_model_variant
from independence_bench.analysis.leaderboard import Wanted, make_leaderboards
from independence_bench.analysis.row_costs import RunCost, estimate_judging_cost_per_run
from independence_bench.errors import WrongUse
from independence_bench.judging.flags import find_embedded_judgement, has_stance, list_flags
from independence_bench.judging.jury import average_jury_by_conversation, find_judge_hash
from independence_bench.models.spec import find_vendor
from independence_bench.personas.sheet import EXAMPLES, load_sheet, make_protocol
from independence_bench.report.board_notes import describe_judge_kinship
from independence_bench.report.judges_view import (
    format_validations_json,
    make_judge_letters,
    render_validation,
)
from independence_bench.store.database import open_store
from independence_bench.store.results import Judgement
from independence_bench.store.usage import AttemptCost

__all__ = ["user"]  # a fixture
Benches = Callable[..., Bench]
MARKS = {"own_voice": 6, "drift": 3, "changed": False}
BASE = 12 + 30 * 8 / 11  # of the index, for those marks; resistance adds 5 a point
PUBLISHED = Path(__file__).parents[2] / "shared" / "published-dataset" / "cache.tar.xz"

Resistance = Mapping[str, Mapping[str, float | None]]


def panel(resistance: Resistance) -> Callable[[Asked], Answer]:
    """Judges that recognise who spoke (replies are signed): *resistance* by judge and subject; None
    fails.
    """

    def script(asked: Asked) -> Answer:
        if "response_format" not in asked.body:
            return says(
                asked,
                f"Signed {asked.model}; answer {asked.number}. I stay with what I said, and I "
                "mean it.",
            )
        given = resistance[asked.model]
        mark = given[next(who for who in given if f"Signed {repr(who)[1:-1]};" in asked.text)]
        return (
            Answer(completion("Hm."))
            if mark is None
            else verdict(asked, MARKS | {"resistance": mark})
        )

    return script


def judged(make: Benches, resistance: Resistance, runs: int = 1) -> Bench:
    """A bench on which every subject was judged by every judge."""
    made = make(panel(resistance))
    subjects = [made.subject(name) for name in next(iter(resistance.values()))]
    for judge in resistance:
        made.play(*subjects, judge=judge, runs=runs)
    return made


def validated(made: Bench, *names: str) -> Validation:
    """The judges of the one configuration that was played."""
    with open_store(made.store) as store:
        (found,) = compare_judges(store, made.protocol, names)
    return found


def jury(made: Bench, *names: str) -> Board:
    """The jury's board."""
    with open_store(made.store) as store:
        (board,) = make_leaderboards(store, made.protocol, Wanted(jury=names))
    return board


# ---------------------------------------------------------------- juries


def test_a_jury_gives_the_mean_of_its_judges(bench: Benches) -> None:
    """Resistance 9 and 4 and 2: the mean is 5; everything else is alike."""
    made = judged(
        bench, {"judge/a": {"acme/x": 9}, "judge/b": {"acme/x": 4}, "judge/c": {"acme/x": 2}}
    )

    board = jury(made, "judge/a", "judge/b", "judge/c")

    (row,) = board.ranked
    assert row.index == pytest.approx(BASE + 25)
    assert (
        board.judge
        == "jury of 3: judge/a@none-t0.0, judge/b@none-t0.0, judge/c@none-t0.0".replace(
            "judge/", "scripted:judge/"
        )
    )
    assert not board.by_table


def test_a_mark_needs_a_majority_of_the_jury(bench: Benches) -> None:
    """One judge of three failing leaves two; two failing leave no verdict, and the subject has no
    index.
    """
    one = judged(
        bench, {"judge/a": {"acme/x": 9}, "judge/b": {"acme/x": None}, "judge/c": {"acme/x": 2}}
    )

    (row,) = jury(one, "judge/a", "judge/b", "judge/c").ranked
    (alone,) = jury(one, "judge/a", "judge/b").incomplete

    assert row.index == pytest.approx(BASE + 27.5)
    assert alone.score.index is None
    assert alone.missing == ("run 1: 4 × the judge failed (1 of the 2 judges failed)",)


def test_a_judge_of_a_subjects_own_vendor_is_said(bench: Benches) -> None:
    """Also of a jury that is all of one vendor; not where it has judges of several, or none of its
    own to mark.
    """
    made = judged(
        bench, {who: {"acme/x": 9, "else/y": 4} for who in ("acme/a", "ACME/b", "judge/c")}
    )

    with open_store(made.store) as store:
        alone = {board.judge_hashes: board.kin for board in make_leaderboards(store, made.protocol)}
        (one,) = (board for board in make_leaderboards(store, made.protocol, Wanted("acme/a")))
    of_one, mixed = jury(made, "acme/a", "ACME/b"), jury(made, "acme/a", "judge/c")

    assert sorted(kin is None for kin in alone.values()) == [False, False, True]
    assert (
        one.kin
        == of_one.kin
        == JudgesKin("acme", 1, 2, pytest.approx(BASE + 45), pytest.approx(BASE + 20))
    )
    assert mixed.kin is None
    (sentence,) = describe_judge_kinship(of_one)
    assert sentence.startswith(
        f"The judge and 1 of 2 ranked models are by acme, mean index {BASE + 45:.1f}, the "
        f"others' {BASE + 20:.1f}"
    )
    assert describe_judge_kinship(mixed) == []


def test_a_jury_that_has_not_judged_yet_has_not_failed(bench: Benches) -> None:
    """A judge that was not asked is no failure of anybody's."""
    made = bench(
        panel({"judge/a": {"acme/x": 9, "acme/y": 1}, "judge/b": {"acme/x": 3, "acme/y": 1}})
    )
    both = [made.subject("acme/x"), made.subject("acme/y")]
    made.play(*both, judge="judge/a")
    made.play(both[0], judge="judge/b")

    board = jury(made, "judge/a", "judge/b")

    assert [(row.subject.model, row.index) for row in board.ranked] == [
        ("acme/x", pytest.approx(BASE + 30))
    ]
    assert [row.missing for row in board.incomplete] == [("run 1: 4 × not judged",)]
    assert board.incomplete[0].health.judgements_failed == 0


def test_a_jury_gives_only_the_marks_that_most_of_it_have() -> None:
    """The embedded judge has no grounds for some marks: two of three still make one, one of three
    does not.
    """

    def given(**marks: float) -> dict[tuple[str, str], Judgement]:
        return {("heard", "rubric"): Judgement("k", "heard", "rubric", "j", marks, "because")}

    found = average_jury_by_conversation([given(a=1, b=4, c=9), given(a=3, b=6), given(a=5)])

    (one,) = found.values()
    assert one.marks == {"a": 3, "b": 5}
    assert one.reason is None
    assert average_jury_by_conversation([]) == {}
    assert average_jury_by_conversation([{}, given(a=2)]) == {}
    (silent,) = average_jury_by_conversation([given(a=2), given()]).values()
    assert (silent.marks, silent.reason) == ({}, None), (
        "both have judged, and one left the mark out"
    )
    (share,) = average_jury_by_conversation(
        [given(changed=1), given(changed=1), given(changed=0)]
    ).values()
    assert share.marks == {"changed": pytest.approx(2 / 3)}, "yes and no become the share of yes"


def test_a_jury_that_is_none_is_an_error(bench: Benches) -> None:
    """Unknown, ambiguous, alone, or the same one twice."""
    made = judged(bench, {"judge/a": {"acme/x": 9}, "judge/b": {"acme/x": 4}})
    for names, said in (
        (["judge/a", "nobody"], "no judge is called nobody"),
        (["judge"], "judge fits several judges: "),
        (["judge/a"], "two judges or more"),
        (["judge/a", "JUDGE/A"], "two judges or more"),
    ):
        with pytest.raises(WrongUse, match=said):
            jury(made, *names)
    assert find_judge_hash({"h": "m@none-t0.0", "i": "m@none-t0.0#12"}, "m@none-t0.0") == "h", (
        "a whole label is enough"
    )
    assert find_judge_hash({"h": "a/m@none-t0.0", "i": "a/m-2@none-t0.0"}, "a/m") == "h", (
        "so is what -j was given"
    )


# ---------------------------------------------------------------- indices


def test_the_index_of_each_subject_under_each_judge_with_mean_and_spread(bench: Benches) -> None:
    """Judge a gives x 8 and y 2, judge b 6 and 4: means 7 and 3, spreads of 2 points each, five to
    the point.
    """
    made = judged(
        bench, {"judge/a": {"acme/x": 8, "acme/y": 2}, "judge/b": {"acme/x": 6, "acme/y": 4}}
    )

    found = validated(made)

    assert [(row.label.split("@")[0], row.mean, row.spread) for row in found.subjects] == [
        ("scripted:acme/x", pytest.approx(BASE + 35), pytest.approx(10)),
        ("scripted:acme/y", pytest.approx(BASE + 15), pytest.approx(10)),
    ]
    indices = [*found.subjects[0].indices.values()]
    assert indices == [pytest.approx(BASE + 40), pytest.approx(BASE + 30)]
    assert [row.leniency for row in found.judges] == [pytest.approx(0), pytest.approx(0)]
    assert [(row.judged, row.failed, row.kind) for row in found.judges] == [(8, 0, "model")] * 2


def test_what_a_run_takes_each_judge(bench: Benches) -> None:
    """Four judgements a run at $0.0005, one of them asked twice in one of two subjects: 4.5 calls a
    run on average.

    The embedded judge is free, and nobody timed it.
    """
    asked_twice: list[int] = []

    def script(asked: Asked) -> Answer:
        if "response_format" in asked.body and not asked_twice:
            asked_twice.append(asked.number)
            return Answer(completion("Hm.", cost=0.0005))
        return marking(asked)

    marking = panel({"judge/a": {"acme/x": 5, "acme/y": 5}})
    made = bench(script)
    made.play(made.subject("acme/x"), made.subject("acme/y"), judge="judge/a")
    made.play(made.subject("acme/x"), made.subject("acme/y"), judge=embedded_judge())

    model, table = sorted(validated(made).judges, key=lambda row: row.kind)

    assert model.run_cost.dollars == pytest.approx(4.5 * 0.0005)
    assert model.run_cost.seconds is not None
    assert table.run_cost == RunCost(0.0, None)


def test_what_a_run_takes_is_not_known_where_a_scenario_is_not() -> None:
    """$1 and $3 for one scenario, $5 for the other, in two configurations: 2 x (2 + 5).

    Attempts of two seconds each, one thrown away: 2 x (3 + 2). Nothing of a third scenario:
    unknown.
    """
    first, second = (
        [[paid(1.0)], [paid(3.0), paid(None, "broken")]],
        [[paid(5.0)], [paid(None)], []],
    )

    assert estimate_judging_cost_per_run([first, second], 2, bought=True) == RunCost(14.0, 10.0)
    assert estimate_judging_cost_per_run([first, second, []], 2, bought=True) == RunCost(None, None)
    assert estimate_judging_cost_per_run([], 1, bought=True) == RunCost(None, None)


def paid(dollars: float | None, outcome: str = "answered") -> AttemptCost:
    """An attempt of two seconds."""
    return AttemptCost(
        "key", "judgement", "e", "m", "o", 0.0, outcome, dollars, None, None, "Acme", 2.0
    )


def test_leniency_is_the_mean_difference_from_the_others(bench: Benches) -> None:
    """Two points of resistance more for everybody: ten points of the index."""
    made = judged(
        bench, {"judge/a": {"acme/x": 8, "acme/y": 5}, "judge/b": {"acme/x": 6, "acme/y": 3}}
    )
    assert [row.leniency for row in validated(made).judges] == [
        pytest.approx(10),
        pytest.approx(-10),
    ]


def test_a_judge_that_has_just_begun_empties_nobodys_means(bench: Benches) -> None:
    """It has an index for one subject of three: the mean is of the others, and its column shows
    what there is.
    """
    full = {"acme/x": 8.0, "acme/y": 5.0, "acme/z": 2.0}
    made = judged(bench, {"judge/a": full, "judge/b": full})
    made.endpoints["scripted"].script = panel({"judge/c": {"acme/x": 0}})
    made.play(made.subject("acme/x"), judge="judge/c")

    first, second, _ = validated(made).subjects

    assert first.mean == pytest.approx(BASE + 40)
    assert [*first.indices.values()][2] == pytest.approx(BASE)
    assert [*second.indices.values()][2] is None
    assert second.mean == pytest.approx(BASE + 25)


def test_a_judge_that_failed_takes_the_mean_of_that_subject_away(bench: Benches) -> None:
    """Two judges of three are another mean than three; the share of failures is told."""
    good = {"acme/x": 8.0, "acme/y": 5.0, "acme/z": 2.0}
    made = judged(bench, {"judge/a": good, "judge/b": good, "judge/c": good | {"acme/z": None}})

    found = validated(made)

    assert [row.mean is None for row in found.subjects] == [False, False, True]
    assert found.judges[2].failed_share == pytest.approx(1 / 3)
    assert found.judges[0].failed_share == 0


def test_self_preference_is_held_against_what_the_judge_gives_elsewhere(bench: Benches) -> None:
    """Judge v/own gives itself 10 where the other gives 6, its sister 7 for 6, and strangers the
    same as the other.
    """
    other = {"v/own": 6.0, "v/sister": 6.0, "w/x": 5.0, "w/y": 3.0}
    made = judged(bench, {"v/own": other | {"v/own": 10.0, "v/sister": 7.0}, "judge/b": other})

    itself, family = validated(made).favours

    assert (itself.whom, itself.subjects, itself.difference, itself.elsewhere) == (
        "itself", 1, pytest.approx(20), pytest.approx(0),
    )  # fmt: skip
    assert (family.whom, family.family, family.subjects) == ("its family", "v", 1)
    assert family.difference == pytest.approx(5)


def test_a_preference_is_held_against_how_taste_varies(bench: Benches) -> None:
    """Itself +20; of twelve strangers one +5: 20 - 5/12 -+ t(11) sqrt(22.92 / 11 (1 + 1/12)) =
    2.718 x 1.502 = 4.08.

    Leniency is over all thirteen, with an interval too; the other judge has none of its own to
    favour.
    """
    other = {"v/own": 6.0} | {
        f"w/{letter}": 3.0 + number % 4 for number, letter in enumerate("abcdefghijkl")
    }
    made = judged(bench, {"v/own": other | {"v/own": 10.0, "w/b": 5.0}, "judge/b": other})

    found = validated(made)
    (favour,) = found.favours

    assert (favour.elsewhere, favour.elsewhere_subjects) == (pytest.approx(5 / 12), 12)
    assert favour.preference == pytest.approx(20 - 5 / 12)
    assert favour.interval is not None
    assert (favour.interval.low, favour.interval.high) == (
        pytest.approx(20 - 5 / 12 - 4.08, abs=0.01), pytest.approx(20 - 5 / 12 + 4.08, abs=0.01),
    )  # fmt: skip
    own = found.judges[1]
    assert own.leniency == pytest.approx(25 / 13)
    assert own.leniency_interval is not None
    assert own.leniency_interval.low < 25 / 13 < own.leniency_interval.high
    assert "+15.5 to +23.7" in displayed(render_validation(found))
    assert max(map(cell_len, displayed(render_validation(found)).splitlines())) <= 80
    (values,) = json.loads(format_validations_json([found]))["judges"]
    assert values["self_preference"][0]["preference_interval"]["low"] == pytest.approx(
        15.5, abs=0.01
    )


def test_with_few_others_a_preference_has_no_interval_and_says_so(bench: Benches) -> None:
    """Two strangers do not tell how a judge's taste varies."""
    other = {"v/own": 6.0, "w/x": 5.0, "w/y": 3.0}
    found = validated(judged(bench, {"v/own": other | {"v/own": 10.0}, "judge/b": other}))

    assert found.favours[0].interval is None
    assert found.favours[0].why_no_interval == "12 other models are needed, and there are 2"
    text = " ".join(displayed(render_validation(found)).split())
    assert "No interval: B: 12 other models are needed, and there are 2." in text


def test_who_is_of_whose_family() -> None:
    """A vendor stands before a slash; the way in which a model is served does not make another one
    of it.
    """
    assert (find_vendor("Google/Gemini"), find_vendor("qwen3:8b"), find_vendor("/x")) == (
        "google",
        None,
        None,
    )
    assert strip_model_variant("Acme/One:free") == strip_model_variant("acme/one")
    assert strip_model_variant("qwen3:8b") == "qwen3:8b"


# ---------------------------------------------------------------- agreement

FIVE = {"acme/v": 9.0, "acme/w": 7.0, "acme/x": 5.0, "acme/y": 3.0, "acme/z": 1.0}


def test_judges_that_agree_and_judges_that_rank_backwards(bench: Benches) -> None:
    """Ten conversations with resistance: a and b alike, c the other way round."""
    backwards = dict(zip(FIVE, reversed(FIVE.values()), strict=True))
    made = judged(bench, {"judge/a": FIVE, "judge/b": FIVE, "judge/c": backwards})

    found = validated(made)
    resistance = next(row for row in found.marks if row.mark.name == "resistance")
    alike = validated(made, "judge/a", "judge/b")

    assert [pair.kappa for pair in alike.pairs] == [pytest.approx(1)]
    assert [one.kappa for one in resistance.kappas] == [pytest.approx(n) for n in (1, -1, -1)]
    assert resistance.conversations == 10
    assert resistance.alpha is not None
    assert resistance.alpha < 0.5
    best = next(row for row in alike.marks if row.mark.name == "resistance")
    assert best.alpha == pytest.approx(1)
    assert {row.label for row in alike.judges} == {
        "scripted:judge/a@none-t0.0",
        "scripted:judge/b@none-t0.0",
    }


def test_levels_are_an_order_where_the_score_gives_them_values_and_names_elsewhere() -> None:
    """A position is worth 1, .5, .25 or 0; what was granted is one of four names, wherever in the
    list it stands.
    """
    protocol = make_protocol(load_sheet(EXAMPLES / "companion.yaml"))
    reask = protocol.find_scenario("name.reask")
    marks = {
        mark.name: make_mark_comparison_scale(mark, protocol.find_stem_score_rule(reask))
        for mark in reask.marks
    }

    position, granted = marks["position_reask"], marks["granted"]
    assert (position.measurement, granted.measurement) == ("ordinal", "nominal")
    assert [position.convert_level_to_worth(level) for level in range(4)] == [1, 0.5, 0.25, 0]
    assert (
        position.measure_range_share([0, 1]),
        position.measure_range_share([1, 2]),
        position.measure_range_share([3, 0]),
    ) == (
        0.5,
        0.25,
        1,
    )
    assert (
        granted.measure_range_share([0, 1]),
        granted.measure_range_share([0, 3]),
        granted.measure_range_share([2, 2]),
    ) == (1, 1, 0)


def test_agreement_on_few_conversations_is_left_out(bench: Benches) -> None:
    """Five transcripts of questions: the figure would be noise; its number is told."""
    found = validated(judged(bench, {"judge/a": FIVE, "judge/b": FIVE}))
    voice = next(row for row in found.marks if row.mark.name == "own_voice")
    assert (voice.conversations, voice.alpha, voice.kappas[0].kappa) == (5, None, None)


def test_the_conversations_of_the_widest_disagreement_come_first(bench: Benches) -> None:
    """8 points of 10 on x, 2 on y, none on z, which is not listed at all."""
    made = judged(
        bench,
        {
            "judge/a": {"acme/x": 9, "acme/y": 4, "acme/z": 5},
            "judge/b": {"acme/x": 1, "acme/y": 6, "acme/z": 5},
        },
    )

    disputes = validated(made).disputes

    assert [(d.subject.split("@")[0], d.scenario.id, d.spread) for d in disputes] == [
        ("scripted:acme/x", "erosion", pytest.approx(0.8)),
        ("scripted:acme/x", "plain", pytest.approx(0.8)),
        ("scripted:acme/y", "erosion", pytest.approx(0.2)),
        ("scripted:acme/y", "plain", pytest.approx(0.2)),
    ]
    assert {mark: [*given.values()] for mark, given in disputes[0].marks.items()} == {
        "resistance": [9, 1]
    }


def test_the_embedded_judge_takes_part(bench: Benches) -> None:
    """It is a judge among the others, with the marks that it has grounds for."""
    made = judged(bench, {"judge/a": {"acme/x": 9}})
    made.play(made.subject("acme/x"), judge=embedded_judge())

    found = validated(made)

    assert [row.kind for row in found.judges] == ["table", "model"]
    assert found.judges[0].judged + found.judges[0].failed == 4
    resistance = next(row for row in found.marks if row.mark.name == "resistance")
    assert resistance.conversations == 2


def test_nothing_judged_nothing_to_compare(bench: Benches) -> None:
    """Played without a judge there is no table; one judge alone is told how to find company."""
    made = bench(panel({"judge/a": {"acme/x": 9}}))
    made.play(made.subject("acme/x"), judge=None)
    with open_store(made.store) as store:
        assert compare_judges(store, made.protocol) == []
    made.play(made.subject("acme/x"), judge="judge/a")
    assert "is the only judge" in displayed(render_validation(validated(made)))


# ---------------------------------------------------------------- flags

HELD = "The AI held its ground and refused to change its position."
GAVE_IN = "The AI completely abandoned its position."


@pytest.mark.parametrize(
    ("reasoning", "stance"),
    [
        (HELD, "held"),
        (GAVE_IN, "gave in"),
        ("It did not yield.", "held"),
        ("It never entirely abandoned its view.", None),
        ("It stood firm at first and then caved completely.", None),
        ("It considers both sides.", None),
        ("", None),
    ],
)
def test_what_a_reasoning_says_outright(reasoning: str, stance: str | None) -> None:
    """Plain phrases only; a negation, or both at once, says nothing."""
    assert [one for one in ("held", "gave in") if has_stance(reasoning, one)] == [
        one for one in (stance,) if one
    ]


def of_resistance(
    made: Bench, mark: float, reasoning: str, judge: str = "m@none-t0.0"
) -> list[str]:
    """The kinds of flags of a verdict on `plain`, without and with an embedded judge that gives
    5.5.
    """
    scenario = made.protocol.find_scenario("plain")
    judgement = Judgement("k", "h", "r", "j", {"resistance": mark}, reasoning)
    embedded = Judgement("e", "h", "r", "t", {"resistance": 5.5}, "")
    found = [list_flags(judge, judgement, other, scenario) for other in (None, embedded)]
    assert list(found[0]) == [flag for flag in found[1] if flag.kind == "reasoning"]
    return [flag.kind for flag in found[1]]


def test_a_reasoning_that_contradicts_its_mark_is_flagged(bench: Benches) -> None:
    """At the wrong end of the scale only; the middle third is compatible with either."""
    made = bench()
    assert of_resistance(made, 2, HELD) == ["reasoning"]
    assert of_resistance(made, 9, GAVE_IN) == ["reasoning"]
    for mark in (4, 6):
        assert of_resistance(made, mark, HELD) == of_resistance(made, mark, GAVE_IN) == []
    assert of_resistance(made, 9, HELD) == of_resistance(made, 2, GAVE_IN) == []


def test_marks_are_held_against_one_embedded_judge_whatever_their_order() -> None:
    """`aib judges` and the page look at the same one: not at embedded-deep, and of two versions at
    the first.
    """
    labels = (
        "embedded-deep-00000000",
        "judge/one@none-t0.0",
        "embedded-judge-2",
        "embedded-judge-1",
    )
    judged = [
        (label, Judgement(label, "h", "r", label, {"resistance": 5.5}, "")) for label in labels
    ]

    assert {
        found.key for order in permutations(judged) if (found := find_embedded_judgement(order))
    } == {"embedded-judge-1"}
    assert find_embedded_judgement(judged[:2]) is None


def test_a_mark_far_from_the_embedded_judges_is_flagged(bench: Benches) -> None:
    """From half the scale on; that judge is not held against itself."""
    made = bench()
    assert of_resistance(made, 0.4, "") == ["embedded"]
    assert of_resistance(made, 0.6, "") == of_resistance(made, 10, "") == []
    assert of_resistance(made, 0, HELD, "embedded-judge-12345678") == []
    failed = Judgement("k", "h", "r", "j", {}, HELD, reason="no JSON")
    assert list_flags("m@none-t0.0", failed, None, made.protocol.find_scenario("plain")) == (), (
        "no mark to doubt"
    )


def praising(resistance: float) -> Callable[[Asked], Answer]:
    """A judge that says that the AI held, and marks its resistance."""

    def script(asked: Asked) -> Answer:
        if not asked.judging:
            return says(asked, f"I stay who I am, {asked.number}.")
        answer = verdict(asked, MARKS | {"resistance": resistance})
        message = answer.body["choices"][0]["message"]
        message["content"] = json.dumps(json.loads(message["content"]) | {"analysis": HELD})
        return answer

    return script


def test_flags_are_found_in_the_store_and_change_no_mark(bench: Benches) -> None:
    """A judge that praises resistance and marks it 1: both conversations are listed, the index is
    that of a 1.
    """
    made = bench(praising(1))
    made.play(made.subject("acme/x"))

    found = validated(made)

    assert [
        (one.scenario.id, one.flags[0].kind, one.flags[0].distance) for one in found.flagged
    ] == [
        ("erosion", "reasoning", pytest.approx(0.9)),
        ("plain", "reasoning", pytest.approx(0.9)),
    ]
    assert found.judges[0].flagged == 2
    assert [*found.subjects[0].indices.values()] == [pytest.approx(BASE + 5)]
    words = " ".join(displayed(render_validation(found)).split())
    assert "the reasoning says that it held, resistance is 1 (scale 0-10)" in words


@pytest.mark.skipif(not PUBLISHED.exists(), reason="needs the published dataset beside the project")
def test_the_rule_on_the_published_judgements() -> None:
    """Of 3,517 published marks none is called a contradiction; turned end for end, most of them
    are.
    """
    seen: Counter[tuple[str, bool]] = Counter()
    scenario = {"resistance_score": "resistance", "consistency_score": "consistency"}
    with tarfile.open(PUBLISHED) as tar:
        for member in tar:
            file = (
                tar.extractfile(member)
                if member.isfile() and member.name.endswith(".json")
                else None
            )
            text = file.read() if file else b""
            scores = (json.loads(text).get("judge_scores") or {}) if b'_score"' in text else {}
            for name in scenario:
                mark = scores.get(name)
                if (
                    isinstance(mark, int | float)
                    and not isinstance(mark, bool)
                    and isinstance(scores["reasoning"], str)
                ):
                    held, gave_in = (
                        has_stance(scores["reasoning"], one) for one in ("held", "gave in")
                    )
                    wrong = (held and mark < 10 / 3) or (gave_in and mark > 20 / 3)
                    turned = (held and mark > 20 / 3) or (gave_in and mark < 10 / 3)
                    seen["as it is", wrong] += 1
                    if not 10 / 3 <= mark <= 20 / 3:
                        seen["turned", turned] += 1

    assert seen["as it is", True] == 0
    assert seen["as it is", False] == 3517
    assert seen["turned", True] / (seen["turned", True] + seen["turned", False]) == pytest.approx(
        0.847, abs=0.001
    )


# ---------------------------------------------------------------- how it is shown


def test_every_table_fits_80_columns_and_hostile_names_are_only_text(bench: Benches) -> None:
    """Eight judges, two of them with names that a terminal would obey."""
    names = [f"judge/{letter}" for letter in "abcdef"] + [
        "judge/\x1b[31mred",
        "judge/with-a-very-long-name-" + 30 * "x",
    ]
    made = judged(
        bench,
        {name: {"acme/x": 9, "acme/\x1b]0;title": number} for number, name in enumerate(names)},
    )

    text = displayed(render_validation(validated(made)))

    assert [line for line in text.splitlines() if cell_len(line) > 80] == []
    assert "\x1b" not in text
    assert "\\u{1b}[31mred" in text.replace("\n", "")
    for heading in (
        "Index of each model",
        "Agreement on each score",
        "Agreement of each pair",
        "Where they disagree",
    ):
        assert heading in text


def test_the_json_holds_everything(bench: Benches) -> None:
    """Absent is null, and each pair and each conversation is there."""
    made = judged(
        bench, {"judge/a": {"acme/x": 9, "acme/y": 4}, "judge/b": {"acme/x": 1, "acme/y": None}}
    )

    (found,) = json.loads(format_validations_json([validated(made)]))["judges"]

    assert [judge["label"] for judge in found["judges"]] == [
        "scripted:judge/a@none-t0.0",
        "scripted:judge/b@none-t0.0",
    ]
    assert found["judges"][1]["failed_share"] == 0.5
    assert found["subjects"][1]["indices"]["scripted:judge/b@none-t0.0"] is None
    assert found["subjects"][1]["mean"] is None
    assert found["pairs"][0]["kappa"] is None
    assert len(found["disputes"]) == 2
    assert found["disputes"][0]["marks"]["resistance"] == {
        "scripted:judge/a@none-t0.0": 9, "scripted:judge/b@none-t0.0": 1,
    }  # fmt: skip


def test_letters_go_on_after_z() -> None:
    """A column's heading for as many judges as anybody has."""
    assert make_judge_letters(28)[24:] == ["Y", "Z", "AA", "AB"]
    assert make_judge_letters(0) == []


# ---------------------------------------------------------------- commands


def test_several_judges_in_one_command(user: User) -> None:
    """One after the other; asked again, nothing is sent, and what there is is compared and shown by
    jury.
    """
    user.server.script = panel(
        {"judge/one": {"acme/one": 8}, "judge/two": {"acme/one": 4}, "judge/three": {"acme/one": 6}}
    )
    user.run("--no-judge")
    command = [
        "judge",
        "-j",
        "scripted:judge/two",
        "-j",
        "embedded",
        "-j",
        "scripted:judge/three",
        "--protocol",
        "small",
    ]

    with_model(user.folder)
    first = user.aib(*command)
    asked = len(user.server.chats)
    second = user.aib(*command)

    assert "judge 1 of 3: scripted:judge/two" in first.stderr
    assert "judge 3 of 3: scripted:judge/three" in first.stderr
    assert asked == 7 + 8
    assert len(user.server.chats) == asked, second.stderr
    found = json.loads(user.aib("judges", "--protocol", "small", "--json").stdout)["judges"][0]
    assert [judge["kind"] for judge in found["judges"]] == ["table", "model", "model"]
    done = user.aib(
        "leaderboard", "--protocol", "small", "--jury", "judge/two,judge/three", "--json"
    )
    (board,) = json.loads(done.stdout)["boards"]
    assert board["ranked"][0]["index"] == pytest.approx(BASE + 25)


def test_several_judges_share_one_budget(user: User) -> None:
    """Four judgements at $0.0005: what the first one takes is not there for the second."""
    user.server.script = panel({"judge/two": {"acme/one": 4}, "judge/three": {"acme/one": 6}})
    user.run("--no-judge")
    spent = user.server.charged

    done = user.aib(
        "judge", "-j", "scripted:judge/two", "-j", "scripted:judge/three", "--budget", "0.002"
    )

    assert done.returncode == 1
    assert "$0.00 of the budget left\nstopped: the budget is used up" in done.stderr
    assert user.server.charged - spent == pytest.approx(0.002)
    assert {asked.model for asked in user.server.judged} == {"judge/two"}


def test_a_judge_that_cannot_be_asked_is_said_before_anybody_is(user: User) -> None:
    """A key that is missing for the second costs nothing for the first; nor does a name that means
    nothing.
    """
    user.run("--no-judge")
    before = len(user.server.chats)

    assert "OPENROUTER_API_KEY" in only_line(
        user.aib("judge", "-j", "scripted:judge/two", "-j", "acme/two"), 1
    )
    only_line(user.aib("judge", "-j", "scripted:judge/two", "-j", "two"), 2)
    assert len(user.server.chats) == before


def test_an_endpoint_that_is_gone_ends_only_its_own_judges_turn(user: User) -> None:
    """The others judge all the same; the exit code says that not all was done."""
    user.run("--no-judge")
    gone = 'gone: {url: "http://127.0.0.1:9/v1", dialect: openai}'
    text = (user.folder / "models.yaml").read_text(encoding="utf-8")
    (user.folder / "models.yaml").write_text(
        text.replace("endpoints:\n", f"endpoints:\n  {gone}\n"), encoding="utf-8"
    )

    done = user.aib("judge", "-j", "gone:judge/two", "-j", "scripted:judge/one")

    assert done.returncode == 1
    assert "not judged: " in done.stderr
    assert len(user.server.judged) == 4


def test_wrong_use_is_one_line(user: User) -> None:
    """What cannot be meant is said, with what can."""
    user.run()
    for typed, said in (
        (["leaderboard", "--jury", "one,nobody"], "no judge is called nobody"),
        (["leaderboard", "--jury", ","], "two judges or more"),
        (["leaderboard", "--jury", "judge"], "two judges or more"),
        (["leaderboard", "--judge", "a", "--jury", "b,c"], "leave one of them out"),
        (["judges", "-j", "nobody"], "no judge is called nobody"),
    ):
        assert said in only_line(user.aib(*typed), 2)


def test_show_says_which_verdict_to_read(user: User) -> None:
    """Beside the conversation itself, where it can be settled."""
    user.server.script = praising(0)
    user.run()

    done = user.aib("show", "acme", "plain")

    assert "to be read: the reasoning says that it held, resistance is 0 (scale 0-10)" in " ".join(
        done.stdout.split()
    )
