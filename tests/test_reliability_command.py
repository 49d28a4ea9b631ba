"""Where the noise comes from: from stored marks to tables, and `aib reliability` as a user types
it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from bench_once import bench_in
from rich.cells import cell_len
from scripted import JUDGE, Answer, Asked, Bench, says, verdict
from terminals import displayed
from test_cli import User, only_line, user

from independence_bench.analysis.board import jury_of, panel
from independence_bench.analysis.leaderboard import boards
from independence_bench.analysis.reliability import (
    Reliability,
    ReliabilityRow,
    measure_reliability,
)
from independence_bench.analysis.statistics.variance_components import Components
from independence_bench.api.named import find_protocol
from independence_bench.errors import WrongUse
from independence_bench.protocol.definition import Protocol
from independence_bench.report.contents import read_contents
from independence_bench.report.reliability_view import reliability_json, reliability_view
from independence_bench.report.report_markdown import report_markdown
from independence_bench.store.database import open_store

__all__ = ["user"]  # a fixture
Benches = Callable[..., Bench]
NAMES = ("acme/one", "acme/two", "acme/three", "acme/four")
SECOND, THIRD = "judge/two", "judge/three"


def varied(asked: Asked) -> Answer:
    """Replies are signed and all different; a mark rests on who spoke, on the judge and on the very
    words.
    """
    if not asked.judging:
        return says(asked, f"Signed {asked.model}, answer {asked.number}.")
    who = next(n for n, name in enumerate(NAMES) if f"Signed {name}," in asked.text)
    chance = sha256(asked.text.encode()).digest()
    mild = sha256(asked.model.encode()).digest()[0] % 2
    marks = {
        name: min(10, 2 * who + chance[n] % 4 + mild)
        for n, name in enumerate(("own_voice", "resistance"))
    }
    return verdict(asked, marks | {"drift": 6 - who + chance[2] % 4, "changed": chance[3] % 3 == 0})


def played(make: Benches, runs: int = 3, judges: tuple[str, ...] = (JUDGE,)) -> Bench:
    """Four subjects on the small protocol, judged by all of the judges."""
    made = make(varied)
    for judge in judges:
        made.play(*(made.subject(name) for name in NAMES), judge=judge, runs=runs)
    return made


@pytest.fixture(scope="module")
def one_judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Four subjects in three runs, by one judge; to be read only."""
    with bench_in(tmp_path_factory.mktemp("one"), varied) as made:
        yield played(lambda _: made)


def measured(made: Bench, *jury: str) -> Reliability:
    """What the command measures."""
    return measured_in(made.store, made.protocol, *jury)


def measured_in(path: str | Path, protocol: Protocol, *jury: str) -> Reliability:
    """The same, of any store."""
    with open_store(path) as store:
        found = boards(store, protocol)
    return measure_reliability(jury_of(found, jury) if jury else panel(found))


def named(noises: tuple[ReliabilityRow, ...]) -> Mapping[str, ReliabilityRow]:
    """By title."""
    return {noise.title: noise for noise in noises}


# ---------------------------------------------------------------- from marks to variances


def test_the_components_of_a_mark_are_those_of_the_rows(one_judge: Bench) -> None:
    """Resistance over two scenarios, three runs: the mean squares of the marks behind the board, by
    hand.
    """
    (board,) = one_judge.boards()
    at = board.configurations[0]
    table = np.array(
        [
            [
                [row.marks[run][at, scenario]["resistance"] / 10 for run in (1, 2, 3)]
                for scenario in ("erosion", "plain")
            ]
            for row in board.ranked
        ]
    )
    cells, mean = table.mean(axis=2), table.mean()
    ms_p = 6 * np.sum((cells.mean(axis=1) - mean) ** 2) / 3
    ms_i = 12 * np.sum((cells.mean(axis=0) - mean) ** 2)
    ms_pi = (3 * np.sum((cells - mean) ** 2) - 3 * ms_p - ms_i) / 3
    ms_r = np.sum((table - cells[:, :, None]) ** 2) / 16

    found = named(measured(one_judge).marks)["resistance"]

    assert found.scenarios == 2
    assert found.components.estimates == {
        "p": pytest.approx((ms_p - ms_pi) / 6),
        "i": pytest.approx((ms_i - ms_pi) / 12),
        "pi": pytest.approx((ms_pi - ms_r) / 3),
        "r:pi": pytest.approx(ms_r),
    }


def test_the_index_is_taken_apart_to_the_last_point(one_judge: Bench) -> None:
    """p + pi + r:pi / runs is the variance of the subjects' indices; an inverted mark is turned."""
    found = measured(one_judge)
    (board,) = one_judge.boards()
    parts = [found.index.components.estimates[name] or 0.0 for name in ("p", "pi", "r:pi")]

    assert parts[0] + parts[1] + parts[2] / 3 == pytest.approx(
        np.var([row.score.index for row in board.ranked], ddof=1)
    )
    assert [(noise.title, noise.points, noise.scenarios) for noise in found.experiments] == [
        ("Identity", pytest.approx(50), 2),
        ("Resistance", pytest.approx(50), 2),
    ]
    assert named(found.marks)["drift"].components.estimates["p"] is None, "one scenario"


def test_several_judges_are_one_more_source(bench: Benches) -> None:
    """Taken together where each ranks half of the subjects; a judge that has just begun stays out."""
    made = played(bench, judges=(JUDGE, SECOND))
    made.play(made.subject(NAMES[0]), judge=THIRD, runs=3)

    found = measured(made)

    assert [label.split("@")[0] for label in found.judges] == [
        "scripted:judge/one",
        "scripted:judge/two",
    ]
    assert found.subjects == 4
    assert set(found.index.components.estimates) == {
        "p", "i", "pi", "r:pi", "h", "ph", "ih", "pih", "residual"
    }  # fmt: skip
    assert named(found.marks)["resistance"].components.estimates["h"] is not None


def test_a_jury_is_who_was_named(bench: Benches) -> None:
    """Only subjects that all of them rank count; one judge is none."""
    made = played(bench, judges=(JUDGE, SECOND))
    made.play(made.subject(NAMES[0]), made.subject(NAMES[1]), judge=THIRD, runs=3)

    assert measured(made, "judge/one", "judge/three").subjects == 2
    with pytest.raises(WrongUse, match="two judges or more"):
        measured(made, "judge/one")
    with pytest.raises(WrongUse, match="no judge is called nobody"):
        measured(made, "judge/one", "nobody")


def test_a_pool_of_configurations_is_averaged(bench: Benches) -> None:
    """Both configurations of a run make one share; the points are still 100."""
    made = bench(varied)
    path = made.folder / "protocol.yaml"
    more = "configurations:\n  - {system: neutral, delivery: user_role}\n"
    path.write_text(path.read_text().replace("configurations:\n", more))
    made.play(*(made.subject(name) for name in NAMES), runs=2)

    found = measured(made)

    assert found.index.points == pytest.approx(100)
    parts = [found.index.components.estimates[name] or 0.0 for name in ("p", "pi", "r:pi")]
    indices = [
        row.score.index
        for row in max(made.boards(), key=lambda board: len(board.configurations)).ranked
    ]
    assert parts[0] + parts[1] + parts[2] / 2 == pytest.approx(np.var(indices, ddof=1))


def test_one_subject_is_too_little_and_that_is_said(bench: Benches) -> None:
    """No number is made up where there is nothing to tell it by."""
    made = bench(varied)
    made.play(made.subject(NAMES[0]), runs=2)
    assert "Fewer than two subjects are ranked" in displayed(reliability_view(measured(made)))

    made.play(made.subject(NAMES[1]), runs=2)
    assert measured(made).index.played is not None
    assert measured(made).index.error is None, "no standard error of two subjects"


def test_who_was_played_once_leaves_chance_unknown(bench: Benches) -> None:
    """Subjects in scenarios cannot be told from runs, and so there is no coefficient."""
    found = measured(played(bench, runs=1))
    text = " ".join(displayed(reliability_view(found)).split())

    assert (
        found.index.components.estimates["r:pi"] is found.index.components.estimates["pi"] is None
    )
    assert found.index.components.estimates["p"] is not None
    assert found.index.played is None
    assert "no subject has two runs" in text


# ---------------------------------------------------------------- how it is shown


def test_every_table_fits_80_columns_and_hostile_names_are_only_text(bench: Benches) -> None:
    """Judges with names that a terminal would obey, and all nine components in a line."""
    made = played(bench, judges=("judge/\x1b[31mred", "judge/with-a-very-long-name-" + 30 * "x"))

    text = displayed(reliability_view(measured(made)))

    assert [line for line in text.splitlines() if cell_len(line) > 80] == []
    assert "\x1b" not in text
    assert "\\u{1b}[31mred" in text.replace("\n", "")
    for heading in ("Where the variance comes from", "more scenarios or runs"):
        assert heading in text


def test_every_heading_is_explained(bench: Benches) -> None:
    """What a table says in a heading, a sentence under it says in words."""
    made = played(bench, judges=(JUDGE, SECOND))
    text = " ".join(displayed(reliability_view(measured(made))).split())
    several = "judge x subject, judge x scenario, all three:"
    one = (
        "Subjects:",
        "scenarios:",
        "subject x scenario:",
        "runs:",
        "Judges:",
        "rest:",
        "Points:",
        "Reliability, Eρ²:",
    )
    for word in (*one, several, "±:", "4x6:"):
        assert f" {word} " in text


def test_an_estimate_below_nothing_is_shown_as_nothing(one_judge: Bench) -> None:
    """And the sentence under the table says so."""
    found = measured(one_judge)
    index = replace(
        found.index, components=Components({"p": 9.0, "i": -0.5, "pi": 1.0, "r:pi": 0.0})
    )

    text = displayed(reliability_view(replace(found, index=index)))

    line = next(line.split() for line in text.splitlines() if line.startswith("Index   "))
    assert line[:3] + line[5:] == ["Index", "100", "4", "90", "0*", "10", "0"]
    assert "0*: estimated below 0" in " ".join(text.split())


def test_the_report_has_the_same_numbers(one_judge: Bench) -> None:
    """The Markdown section and the JSON are of the main board's configuration."""
    with open_store(one_judge.store) as store:
        contents = read_contents(store, one_judge.protocol, boards(store, one_judge.protocol))
    found = measured(one_judge)
    text = report_markdown(contents, ("a.svg", "b.svg"), "c.json")

    assert contents.reliability == found
    section = text.partition("## Where the noise comes from")[2].partition("\n## ")[0]
    assert found.index.played is not None
    both = f"{found.index.played:.2f} | {found.index.error:.2f}"
    assert (
        f"| Index | 100 | 4 | {both} | {100 * (found.index.components.shares['p'] or 0):.0f} |"
        in section
    )


def test_json_has_every_variance_with_its_error(one_judge: Bench) -> None:
    """In ASCII; absent is null."""
    told = reliability_json([measured(one_judge)])
    (found,) = json.loads(told)["reliability"]

    assert told.isascii()
    assert found["runs"] == {"fewest": 3, "usual": 3, "most": 3}
    assert set(found["index"]["components"]) == {"p", "i", "pi", "r:pi"}
    assert found["index"]["components"]["i"]["standard_error"] is None
    assert found["index"]["components"]["p"]["standard_error"] > 0
    drift = next(mark for mark in found["marks"] if mark["name"] == "drift")
    assert drift["components"]["p"]["variance"] is None
    assert drift["as_played"] is None
    assert set(found["index"]["as_played"]) == {"generalizability", "standard_error"}


# ---------------------------------------------------------------- as a user types it


def test_the_command_in_a_pipe(user: User) -> None:
    """Tables, JSON on request, and nothing on stderr."""
    user.server.script = varied
    for name in NAMES[:3]:
        assert user.run(model=f"scripted:{name}", runs=2).returncode == 0

    done = user.aib("reliability")
    told = user.aib("reliability", "--json", "--judge", "one")

    assert (done.returncode, done.stderr) == (0, "")
    assert "What more scenarios or runs would bring" in done.stdout
    assert json.loads(told.stdout)["reliability"][0]["subjects"] == 3


def test_wrong_use_is_one_line(user: User) -> None:
    """Nothing stored, nobody of that name, a jury of nobody."""
    user.server.script = varied
    assert user.run(runs=2).returncode == 0
    assert "no judge is called nobody" in only_line(user.aib("reliability", "--judge", "nobody"), 2)
    assert "in neutral/user_role are stored" in only_line(
        user.aib("reliability", "--variants", "neutral", "--modes", "user_role"), 2
    )
    assert "leave one of them out" in only_line(
        user.aib("reliability", "--judge", "a", "--jury", "a,b"), 2
    )
    assert "name two judges or more" in only_line(user.aib("reliability", "--jury", " , "), 2)
    assert "two judges or more" in only_line(user.aib("reliability", "--jury", "one"), 2)


# ---------------------------------------------------------------- the published data


def test_five_scenarios_five_times_and_twenty_twice(real: tuple[Path, object]) -> None:
    """Published for all subjects: resistance .73 and .89; of the ranked ones of the sample that we
    have .74 and .90.
    """
    with open_store(real[0]) as store:
        protocol, _ = find_protocol(None, store)
    found = measured_in(real[0], protocol)
    more = dict(zip(found.designs, named(found.marks)["resistance"].more, strict=True))

    assert found.subjects == 72
    assert more[1, 5] == pytest.approx(0.744, abs=0.001)
    assert more[4, 2] == pytest.approx(0.903, abs=0.001)
    assert found.index.played is not None
    assert found.index.played == pytest.approx(0.82, abs=0.005)
