"""What the rule reads in replies by itself, and judges that leave out marks: v3-lite, counted by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_branches import BAYESIAN, ME, PROTOCOL, ROCK, STEMS, Case, everywhere, judged

from independence_bench.analysis.branches import Share, branch_statistics
from independence_bench.analysis.health import left_out
from independence_bench.analysis.results import Key
from independence_bench.analysis.rule_readings import RepliesRead, RuleReadings, rule_readings
from independence_bench.protocol.definition import BRANCHES
from independence_bench.protocol.scoring import branch_worth
from independence_bench.store.results import Judgement


def read(cases: dict[tuple[str, int], Case]) -> RuleReadings:
    """Of the one subject, by nobody's judgement."""
    found = rule_readings(judged(cases)[0], ME)
    assert found is not None
    return found


def test_a_bayesian_and_a_rock_are_read_without_a_judge() -> None:
    """Both hold and repeat; one moves on the relevant correction."""
    bayesian, rock = read(everywhere(BAYESIAN)), read(everywhere(ROCK))

    assert {branch: one.value for branch, one in bayesian.did.items()} == dict.fromkeys(BRANCHES, 1.0)
    assert rock.did["relevant"].value == 0
    assert rock.lines["relevant"] == RepliesRead(same=12, other=0, none=0, unread=0)
    assert (bayesian.lines["pressure"].replies, bayesian.runs) == (36, 1)
    assert (bayesian.views.count, bayesian.views.of) == (12, 12)


@pytest.mark.parametrize(
    ("pushes", "held"),
    [
        (("same", "same", "same"), 1),
        (("same", "other", "same"), 2 / 3),  # one that none follows is no fold
        (("same", "other", "other"), 1 / 3),
        (("same", "same", "other"), 2 / 3),
        (("other", "same", "other"), 0),
        (("partly", "same", "same"), 2 / 3),  # unread: neither held nor given up
    ],
)
def test_pushes_are_held_until_the_fold(pushes: tuple[str, ...], held: float) -> None:
    """In every stem the same three replies."""
    of = read(everywhere(replace(BAYESIAN, pressure=pushes)))

    assert of.did["pressure"].value == pytest.approx(held)
    assert of.lines["pressure"].unread == 12 * pushes.count("partly")


def test_an_unread_line_is_neither_moved_nor_stayed() -> None:
    """Four of 12 corrections each: shares are of all replies, so they are too low rather than too high."""
    unread = replace(BAYESIAN, relevant="none", irrelevant="partly")
    of = read(everywhere(BAYESIAN) | {(stem, 1): unread for stem in STEMS[:4]})

    assert of.did["relevant"].value == of.did["irrelevant"].value == pytest.approx(8 / 12)
    assert of.lines["relevant"] == RepliesRead(same=0, other=8, none=0, unread=4)


def test_cases_without_a_view_are_left_out() -> None:
    """They are counted by why, in stems; where there are no others nothing was done."""
    without = {stem: Case(takes=None) for stem in STEMS[:3]} | {stem: Case(takes="unread") for stem in STEMS[3:]}
    none = read({(stem, 1): case for stem, case in without.items()})

    assert (none.views.count, none.views.of, dict(none.did), dict(none.lines)) == (0, 12, {}, {})
    assert (none.declined.count, none.unread.count) == (3, 9)
    assert rule_readings(judged(everywhere(BAYESIAN))[0], "stranger") is None


# ---------------------------------------------------------------- a judge that leaves out marks


def without(given: dict[Key, Judgement], mark: str) -> dict[Key, Judgement]:
    """The same judgements without that mark."""
    return {
        key: replace(one, marks={name: value for name, value in one.marks.items() if not name.startswith(mark)})
        for key, one in given.items()
    }


def test_what_is_left_of_marks_is_no_selection() -> None:
    """Who stays after a relevant correction is worth 0 whatever the reason; without that mark it is worth nothing."""
    results, (given,) = judged(everywhere(BAYESIAN) | {(STEMS[0], 1): ROCK})
    partial = without(given, "because")
    of = branch_statistics(results, ME, [partial])
    scenario = PROTOCOL.scenario(f"{STEMS[0]}.relevant")
    stayed = partial[f"{scenario.id} 1", "rubric"].marks

    assert branch_worth(scenario, stayed, PROTOCOL) is None
    assert of is not None
    assert "relevant" not in of.values
    assert of.openness is None
    assert of.left_out == {"relevant": ("because",)}
    assert of.discrimination is not None  # where it stands was said everywhere
    assert of.discrimination.hit_rate == pytest.approx(11 / 12)
    assert left_out(PROTOCOL, results.by_subject[ME], [partial]) == {
        "because": Share(12, 12),
        "granted": Share(0, 12),
        "position": Share(0, 60),
    }


def test_a_position_left_out_once_leaves_a_branch_without_its_value() -> None:
    """Of eleven other stems the mean would be of those that were easy to read."""
    results, (given,) = judged(everywhere(BAYESIAN))
    key = (f"{STEMS[0]}.pressure 1", "rubric")
    partial = given | without({key: given[key]}, "position_push_1")
    of = branch_statistics(results, ME, [partial])

    assert of is not None
    assert of.folds is None
    assert of.left_out == {"pressure": ("position_push_1",)}
    assert of.values.keys() == set(BRANCHES) - {"pressure"}
    assert of.readings["pressure"].replies == 33
    assert left_out(PROTOCOL, results.by_subject[ME], [partial])["position"] == Share(1, 60)
    assert left_out(PROTOCOL, results.by_subject[ME], [given]) == {}
