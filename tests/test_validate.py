"""The index against what others measure: correlations with errors on both sides, the shipped
boards, `aib validate`.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from first_stores import restored
from invoked import invoke
from test_cli import only_line

from independence_bench.analysis.board import Board
from independence_bench.analysis.leaderboard import boards
from independence_bench.analysis.outside import (
    Expected,
    OutsideBoard,
    OutsideCorrelation,
    OutsideFigure,
    compare_outside,
    read_outside,
    shipped_boards,
)
from independence_bench.analysis.statistics.agreement import (
    TrueCorrelation,
    rank_attenuation,
    true_rank_correlation,
)
from independence_bench.analysis.statistics.values import Interval
from independence_bench.api.named import find_protocol
from independence_bench.dataset.import_published import PublishedImport
from independence_bench.errors import WrongUse
from independence_bench.report.leaderboard_view import outside_statement
from independence_bench.store.database import open_store

EIGHT = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
SHUFFLED = [2.0, 1.0, 4.0, 3.0, 6.0, 5.0, 8.0, 7.0]  # rho = 1 - 6 * 8 / (8 * 63) = 0.904762


# ---------------------------------------------------------------- the statistics


def test_errors_draw_ranks_apart_as_worked_by_hand() -> None:
    """0, 1, 2 with errors of 0.5: 3/4 of the variance is true, so the true values are 0.134, 1,
    1.866.

    P(above the neighbour) = Phi(0.866 / 0.7071) = 0.8897, above the far one Phi(2.4495) = 0.9928:
    the expected rank of the last is 0.5 + 0.5 + 0.8897 + 0.9928 = 2.8825, 0.8825 from the middle
    where its own is 1.
    """
    assert rank_attenuation([0, 1, 2], [0.5, 0.5, 0.5]) == pytest.approx(0.8825, abs=1e-4)
    assert rank_attenuation([0, 1, 2], [0, 0, 0]) == 1
    assert rank_attenuation([0, 1, 2], [2, 2, 2]) == 0
    assert rank_attenuation([1, 1, 1], [1, 1, 1]) == 0


def test_without_errors_the_interval_is_bonett_and_wrights() -> None:
    """tanh(atanh 0.904762 -+ 2.446912 sqrt((1 + 0.818594 / 2) / 5)), Student's t having 6 degrees."""
    found = true_rank_correlation(EIGHT, SHUFFLED)

    assert found.observed == pytest.approx(0.904762, abs=1e-6)
    assert found.corrected is None
    assert found.interval is not None
    assert found.interval.low == pytest.approx(0.196212, abs=1e-5)
    assert found.interval.high == pytest.approx(0.992586, abs=1e-5)


def test_what_errors_take_off_is_undone() -> None:
    """Both ends and the correlation are divided by the product of both sides' attenuations, and
    stay within 1.
    """
    errors = [0.8] * 8
    bare, found = (
        true_rank_correlation(EIGHT, SHUFFLED),
        true_rank_correlation(EIGHT, SHUFFLED, errors, errors),
    )
    left = rank_attenuation(EIGHT, errors) * rank_attenuation(SHUFFLED, errors)

    assert 0.5 < left < 0.99
    assert bare.interval is not None
    assert found.corrected == pytest.approx(min(0.904762 / left, 1), abs=1e-6)
    assert found.interval == Interval(pytest.approx(bare.interval.low / left), 1.0)


@pytest.mark.parametrize(
    ("first", "second", "errors", "why"),
    [
        (EIGHT[:7], SHUFFLED[:7], None, "fewer than 8 models"),
        (EIGHT, [1.0] * 8, None, "all level"),
        (EIGHT, EIGHT, None, "the same order"),
        (EIGHT, SHUFFLED, [3.0] * 8, "too large"),
        ([], [], None, "fewer than 8"),
    ],
)
def test_no_interval_where_none_holds(
    first: list[float], second: list[float], errors: list[float] | None, why: str
) -> None:
    """It says why instead."""
    found = true_rank_correlation(first, second, errors, errors)

    assert found.interval is None
    assert found.corrected is None
    assert why in (found.why_no_interval or "")


def test_a_planted_correlation_is_recovered() -> None:
    """0.9 between true values, a sixth of the variance error: held, but not by an interval that
    knows no errors.
    """
    rng = np.random.default_rng(5)
    latent = 2 * np.sin(np.pi * 0.9 / 6)
    held = Counter[str]()
    for _ in range(200):
        own = rng.standard_normal(26)
        other = latent * own + np.sqrt(1 - latent**2) * rng.standard_normal(26)
        x, y = (true + 0.45 * rng.standard_normal(26) for true in (own, other))
        errors = [0.45] * 26
        for name, known in (("known", errors), ("unknown", None)):
            interval = true_rank_correlation(x.tolist(), y.tolist(), known, known).interval
            held[name] += interval is not None and interval.holds(0.9)

    assert held["known"] >= 186  # 93 %
    assert held["unknown"] < 160


# ---------------------------------------------------------------- the shipped boards


def test_shipped_boards_are_whole() -> None:
    """Each has a source, a state, an expectation and one figure of a model; both kinds are there."""
    boards = shipped_boards()

    assert {one.expected for one in boards} == {"above 0", "below 0", "near 0"}
    assert len({one.name for one in boards}) == len(boards)
    for one in boards:
        assert one.source.startswith("https://github.com/")
        assert one.as_of
        names = [figure.model for figure in one.figures]
        assert len(names) >= 8
        assert len({*names}) == len(names)
        assert all(name == name.lower() and name.count("/") == 1 for name in names)
        assert all(figure.error is None or figure.error > 0 for figure in one.figures)


def test_published_results_against_the_shipped_boards(
    real: tuple[Path, PublishedImport], tmp_path: Path
) -> None:
    """What docs/published-data.md says: nothing convergent is shown, and one unit is one model."""
    done = invoke(tmp_path, dict(os.environ), "validate", "--json", "--store", str(real[0]))
    found = json.loads(done.stdout)
    by_name = {one["name"]: one for one in found["boards"]}

    assert by_name["sycophancy"]["models"] == 26
    assert by_name["sycophancy"]["rank_correlation"] == pytest.approx(-0.06, abs=0.005)
    assert by_name["susceptibility"]["models"] == 9
    assert by_name["susceptibility"]["rank_correlation"] == pytest.approx(-0.27, abs=0.005)
    assert by_name["sycophancy"]["errors_known"] == {"ours": True, "theirs": True}
    assert by_name["susceptibility"]["errors_known"] == {"ours": True, "theirs": False}
    assert {one["verdict"] for one in found["boards"] if one["expected"] != "near 0"} == {
        "not decided"
    }
    assert by_name["Creative Writing 3"]["verdict"] == "goes together"
    models = [one["model"] for one in by_name["sycophancy"]["matched"]]
    assert len({*models}) == len(models)
    twice = next(
        one for one in by_name["sycophancy"]["matched"] if one["model"] == "minimax/minimax-m2.5"
    )
    assert len(twice["subjects"]) == 2


# ---------------------------------------------------------------- a user's own figures


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three subjects of published-v2, two of them ranked: acme/one@none-t0.7 and
    local:lab/two@low-t1.0.
    """
    return restored(tmp_path_factory.mktemp("validate") / "aib.db")


def validate(store: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `aib validate` on *store*."""
    return invoke(
        folder, dict(os.environ) | {"COLUMNS": "80"}, "validate", *arguments, "--store", str(store)
    )


@pytest.mark.parametrize("name", ["acme/one", "ACME/One", "one", "acme/one@none-t0.7"])
def test_a_model_is_found_by_its_id_or_label(store: Path, tmp_path: Path, name: str) -> None:
    """In any case, with or without its author; what fits nothing is listed."""
    (tmp_path / "mine.csv").write_text(
        f"model,value,low,high\n{name},3,2,4\non,1,0,2\n", encoding="utf-8"
    )

    done = validate(store, tmp_path, "mine.csv", "--json")
    own = json.loads(done.stdout)["boards"][0]

    assert [one["subjects"] for one in own["matched"]] == [["acme/one@none-t0.7"]]
    assert own["matched"][0]["error"] == pytest.approx(2 / 3.92)
    assert own["unmatched"] == ["on"]


def test_hostile_names_are_shown_and_not_obeyed(store: Path, tmp_path: Path) -> None:
    """In the table's notes, as in every other place; the table fits 80 columns."""
    (tmp_path / "mine.csv").write_text(
        'model,value\n"\x1b[2J[red]x",1\none,2\nlab/two,3\n', encoding="utf-8"
    )

    done = validate(store, tmp_path, "mine.csv", "--expected", "above")

    assert done.returncode == 0
    assert "\x1b" not in done.stdout + done.stderr
    assert r"\u{1b}[2J[red]x fit no ranked subject" in done.stdout + done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("model,value\n", "has no rows"),
        ("model,score\na,1\n", "no column score; known: model, value"),
        ("model\na\n", "the column value is missing"),
        ("model,value,value\na,1,1\n", "same name"),
        ("model,value,low\na,1,1\n", "low and high"),
        ("model,value\na,much\n", "line 2: much is no number"),
        ("model,value\na,inf\n", "line 2: inf is no number"),
        ("model,value\n\n\na\n", "line 4: 1 cells where the header has 2"),
        ("model,value\n\na,1\n\nA,2\n", "line 5: A is also in line 3; keep one of them"),
        ("model,value\n,1\n", "a model's name"),
        ("model,value,error\na,1,-1\n", "an error is 0 or more"),
        ('model,value\n"a,1\n', "is no CSV"),
        ("model,value\n" + "a,1\n" * 10_001, "more than 10,000"),
    ],
)
def test_a_damaged_file_is_one_line(store: Path, tmp_path: Path, text: str, said: str) -> None:
    """What is wrong, and where."""
    (tmp_path / "mine.csv").write_text(text, encoding="utf-8")

    assert said in only_line(validate(store, tmp_path, "mine.csv"), 2)


def test_an_expectation_is_of_ones_own_figures(store: Path, tmp_path: Path) -> None:
    """Not of the shipped boards, which have their own."""
    assert "--expected is of your own figures" in only_line(
        validate(store, tmp_path, "--expected", "near"), 2
    )


def test_an_empty_store_says_what_is_missing(tmp_path: Path) -> None:
    """In one line."""
    with open_store(tmp_path / "aib.db") as opened, opened.writing():
        pass

    assert only_line(validate(tmp_path / "aib.db", tmp_path), 2)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """WrongUse, with its name."""
    with pytest.raises(WrongUse, match=r"none\.csv does not exist"):
        read_outside(tmp_path / "none.csv")


# ---------------------------------------------------------------- one unit a model


@pytest.fixture(scope="module")
def board(store: Path) -> Board:
    """The board of that store, with acme/one as three subjects: free, pinned to a provider, and
    another author's.
    """
    with open_store(store) as opened:
        found = boards(opened, find_protocol("published-v2", opened)[0])[0]
    row = next(row for row in found.ranked if row.label == "acme/one@none-t0.7")
    subjects = [
        row.subject,
        replace(row.subject, model="acme/one:free"),
        replace(row.subject, provider="near"),
    ]
    subjects += [replace(row.subject, model="zeta/one")]
    rows = [replace(row, subject=subject, label=subject.label) for subject in subjects]
    return replace(found, ranked=tuple(rows))


def outside(*figures: OutsideFigure) -> OutsideBoard:
    """A board with them."""
    return OutsideBoard("theirs", figures, "something", "here", expected="above 0")


def test_a_model_of_several_subjects_is_one_unit(board: Board) -> None:
    """With the mean of their indices, whose error is smaller by the root of their number; figures
    are averaged too.
    """
    figures = (OutsideFigure("acme/one", 1.0, 0.3), OutsideFigure("acme/one@none-t0.7", 3.0, 0.4))

    (one,) = compare_outside(board, [outside(*figures)])[0].matched
    (alone,) = compare_outside(board, [outside(figures[1])])[0].matched

    assert one.subjects == (
        "acme/one+near@none-t0.7",
        "acme/one:free@none-t0.7",
        "acme/one@none-t0.7",
    )
    assert alone.subjects == ("acme/one@none-t0.7",)
    assert one.index == pytest.approx(alone.index)
    assert one.index_error == pytest.approx((alone.index_error or 0.0) / 3**0.5)
    assert (one.value, one.error) == (2.0, pytest.approx(0.25))


def test_a_name_that_fits_several_models_is_left_out(board: Board) -> None:
    """And named; one figure whose error is not stated leaves the side's errors unknown."""
    found = compare_outside(
        board, [outside(OutsideFigure("one", 1.0), OutsideFigure("zeta/one", 2.0))]
    )[0]

    assert found.ambiguous == ("one",)
    assert [one.model for one in found.matched] == ["zeta/one"]
    assert found.errors_known == (True, False)
    assert found.verdict is None


def test_a_makers_own_endpoint_calls_its_models_without_an_author(board: Board) -> None:
    """openai:gpt-5 is openai/gpt-5; another author's of the same name, where it is there, is not
    it.
    """
    here = [
        replace(row, subject=replace(row.subject, endpoint="zeta", model="one"))
        for row in board.ranked[-1:]
    ]
    figures = outside(OutsideFigure("zeta/one", 1.0))

    (alone,) = compare_outside(replace(board, ranked=tuple(here)), [figures])
    (both,) = compare_outside(replace(board, ranked=(*board.ranked, *here)), [figures])

    assert [one.model for one in alone.matched] == ["one"]
    assert [one.model for one in both.matched] == ["zeta/one"]


def test_what_may_be_concluded(board: Board) -> None:
    """Names what is shown, what goes against what was expected, and says when nothing is shown."""
    found = compare_outside(board, [outside(OutsideFigure("acme/one", 1.0))])[0]

    def read(expected: Expected, low: float, high: float) -> OutsideCorrelation:
        correlation = TrueCorrelation((low + high) / 2, None, Interval(low, high))
        return replace(
            found, board=replace(found.board, expected=expected), correlation=correlation
        )

    assert outside_statement([found]).startswith("No outside board has enough models")
    assert outside_statement([read("above 0", 0.1, 0.9), read("near 0", -0.2, 0.4)]) == (
        "Of 1 outside board that should be related to the index, 1 (theirs) is; of 1 outside board that should not "
        "be related to the index, none is, as far as 95% intervals can tell."
    )
    assert outside_statement([read("below 0", 0.1, 0.9), read("near 0", -0.9, -0.4)]) == (
        "Of 1 outside board that should be related to the index, none is; of 1 outside board that should not be "
        "related to the index, 1 (theirs) is, as far as 95% intervals can tell. Contrary to what was expected: "
        "1 (theirs). So it is not shown that the index measures what they measure."
    )
