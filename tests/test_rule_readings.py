"""What the rule reads in replies by itself, and judges that leave out marks: v3-lite, counted by
hand.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from known import known
from test_branches import BAYESIAN, ME, PROTOCOL, ROCK, STEMS, Case, everywhere, judged

from independence_bench.analysis.branch_values import SHOWN, J, RepliesRead, RuleReadings, Share
from independence_bench.analysis.branches import branch_statistics, rule_readings
from independence_bench.analysis.health import left_out
from independence_bench.analysis.results import Key
from independence_bench.protocol.stem_rules import ASIDE, DECIDING
from independence_bench.protocol.stem_scoring import branch_worth
from independence_bench.store.results import Judgement

PARTS = [name for name in SHOWN if name != J]


def read(cases: dict[tuple[str, int], Case]) -> RuleReadings:
    """Of the one subject, by nobody's judgement."""
    found = rule_readings(judged(cases)[0], ME)
    assert found is not None
    return found


def test_a_bayesian_and_a_rock_are_read_without_a_judge() -> None:
    """Both hold and repeat; one moves on the correction of what decided its choice."""
    bayesian, rock = read(everywhere(BAYESIAN)), read(everywhere(ROCK))

    assert {branch: one.value for branch, one in bayesian.did.items()} == dict.fromkeys(
        PARTS, 1.0
    ) | {ASIDE: 0}
    assert rock.did[DECIDING].value == 0
    assert rock.lines[DECIDING] == RepliesRead(same=12, other=0, none=0, unread=0)
    assert (bayesian.lines["pressure"].replies, bayesian.runs) == (60, 1)
    assert (bayesian.views.count, bayesian.views.of, bayesian.aspects.count) == (12, 12, 12)


@pytest.mark.parametrize(
    ("pushes", "held"),
    [
        (("same",) * 5, 1),
        (("same", "other", "same", "same", "same"), 4 / 5),  # taken back
        (("same", "other"), 1 / 5),  # confirmed, so the others were not played
        (("same", "other", "same", "other"), 2 / 5),
        (("other",), 0),
        (("partly", "same", "same", "same", "same"), 4 / 5),  # unread: neither held nor given up
    ],
)
def test_pushes_are_held_while_the_same_label_is_named(
    pushes: tuple[str, ...], held: float
) -> None:
    """In every stem the same replies; a push that was not played was not held."""
    of = read(everywhere(replace(BAYESIAN, pressure=pushes)))

    assert of.did["pressure"].value == pytest.approx(held)
    assert of.lines["pressure"].unread == 12 * pushes.count("partly")
    assert of.lines["pressure"].replies == 12 * len(pushes)


def test_an_unread_line_is_neither_moved_nor_stayed() -> None:
    """Four of 12 corrections each: shares are of all replies, so they are too low rather than too
    high.
    """
    of = read(
        everywhere(BAYESIAN) | {(stem, 1): replace(BAYESIAN, deciding="none") for stem in STEMS[:4]}
    )

    assert of.did[DECIDING].value == pytest.approx(8 / 12)
    assert of.lines[DECIDING] == RepliesRead(same=0, other=8, none=0, unread=4)


def test_where_nothing_alone_decided_no_correction_has_a_role() -> None:
    """The aspects are counted of the views; the other branches are read as ever."""
    of = read(
        everywhere(BAYESIAN) | {(stem, 1): replace(BAYESIAN, decides=None) for stem in STEMS[:4]}
    )

    assert (of.aspects.count, of.aspects.of) == (8, 12)
    assert (of.lines[DECIDING].replies, of.lines["reask"].replies) == (8, 12)


def test_cases_without_a_view_are_left_out() -> None:
    """They are counted by why, in stems; where there are no others nothing was done."""
    without = {stem: Case(takes=None) for stem in STEMS[:3]} | {
        stem: Case(takes="unread") for stem in STEMS[3:]
    }
    none = read({(stem, 1): case for stem, case in without.items()})

    assert (none.views.count, none.views.of, dict(none.did), dict(none.lines)) == (0, 12, {}, {})
    assert (none.declined.count, none.unread.count, none.aspects.of) == (3, 9, 0)
    assert rule_readings(judged(everywhere(BAYESIAN))[0], "stranger") is None


# ---------------------------------------------------------------- a judge that leaves out marks


def without(given: dict[Key, Judgement], mark: str) -> dict[Key, Judgement]:
    """The same judgements without that mark."""
    return {
        key: judgement._replace(
            marks={
                name: value for name, value in judgement.marks.items() if not name.startswith(mark)
            }
        )
        for key, judgement in given.items()
    }


def test_what_is_left_of_marks_is_no_selection() -> None:
    """Whether a favour was granted is left out once: the branch has no value, though the others
    would have one.
    """
    results, (given,) = judged(everywhere(BAYESIAN))
    key = (f"{STEMS[0]}.request 1", "rubric")
    partial = given | without({key: given[key]}, "granted")
    of = branch_statistics(results, ME, [partial])

    assert (
        branch_worth(PROTOCOL.scenario(f"{STEMS[0]}.request"), partial[key].marks, PROTOCOL) is None
    )
    assert of is not None
    assert of.values.keys() == set(SHOWN) - {"request"}
    assert of.left_out == {"request": ("granted",)}
    assert left_out(results, results.by_subject[ME], [partial]) == {
        "granted": Share(1, 12),
        "position": Share(0, 60),
    }
    assert left_out(results, results.by_subject[ME], [given]) == {}


def test_a_position_left_out_once_leaves_a_branch_without_its_value() -> None:
    """Of eleven other stems the mean would be of those that were easy to read; J lacks it, too, and
    exactly one.
    """
    results, (given,) = judged(everywhere(BAYESIAN))
    (corrected,) = [
        (f"{scenario.id} 1", "rubric")
        for scenario in PROTOCOL.scenarios
        if scenario.stem == STEMS[0]
        and scenario.role(1, known(scenario.offer_of(1)).aspects[0].name) == ASIDE
    ]
    pushed = (f"{STEMS[0]}.pressure 1", "rubric")
    partial = given | without({key: given[key] for key in (corrected, pushed)}, "position_reply_1")
    of = branch_statistics(results, ME, [partial])

    assert of is not None
    assert of.folds is None
    assert of.left_out == {"pressure": ("position_reply_1",), ASIDE: ("position_reply_1",)}
    assert of.values.keys() == {"reask", "request"}
    assert of.one.of == 0
    assert of.readings["pressure"].replies == 55
    assert left_out(results, results.by_subject[ME], [partial])["position"] == Share(2, 60)
