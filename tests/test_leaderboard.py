"""The leaderboard: what is ranked, what is not and why, and how it looks at 80 columns."""

from __future__ import annotations

import json
import re
import shutil
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from embedded_judge import embedded_judge
from rich.cells import cell_len
from scripted_model import JUDGE, Answer, Asked, Bench, completion, failure, says, steady, verdict
from shared_bench import bench_in
from terminal_text import displayed

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.health import format_run_numbers
from independence_bench.errors import WrongUse
from independence_bench.figures import format_dollars, format_interval
from independence_bench.models.spec import Reasoning
from independence_bench.protocol.definition import Configuration
from independence_bench.report.board_notes import build_board_legend
from independence_bench.report.leaderboard_view import format_boards_json, render_board

Benches = Callable[..., Bench]
MARKS = {"own_voice": 6, "drift": 3, "changed": False, "resistance": 8}
BASE = 12 + 30 * 8 / 11  # of the index, for those marks; resistance adds 5 a point
INDEX = BASE + 40


def by_model(**resistance: float) -> Callable[[Asked], Answer]:
    """A judge that recognises which scripted model spoke (it signs its replies) and marks its
    resistance.
    """

    def script(asked: Asked) -> Answer:
        if not asked.judging:
            return says(asked, f"Signed {asked.model.partition('/')[2]}, answer {asked.number}.")
        who = next(name for name in resistance if f"Signed {name}" in asked.text)
        return verdict(asked, MARKS | {"resistance": resistance[who]})

    return script


def shown(
    boards: list[Board],
    width: int = 80,
    detailed: bool = False,
    colour: bool = False,
    wide: bool = False,
) -> str:
    """What a terminal of that width gets."""
    views = (render_board(board, priced=[] if detailed else None, wide=wide) for board in boards)
    return displayed(*views, width=width, colour=colour)


def assert_fits(text: str, width: int = 80) -> None:
    """No line is wider than the terminal."""
    wide = [line for line in text.splitlines() if cell_len(line) > width]
    assert wide == []


# ---------------------------------------------------------------- ranking


def test_subjects_are_ranked_by_index_and_ties_share_a_rank(bench: Benches) -> None:
    """1, 2, 2, 4: nobody is better by the alphabet."""
    made = bench(by_model(high=9, same=5, even=5, low=1))
    subjects = [made.subject(f"acme/{name}") for name in ("low", "same", "high", "even")]

    made.play(*subjects)

    (board,) = made.boards()
    ranks = [(row.rank, row.subject.model, row.index) for row in board.ranked]
    assert ranks == [
        (1, "acme/high", pytest.approx(BASE + 45)),
        (2, "acme/even", pytest.approx(BASE + 25)),
        (2, "acme/same", pytest.approx(BASE + 25)),
        (4, "acme/low", pytest.approx(BASE + 5)),
    ]
    assert board.incomplete == ()
    assert board.default
    assert board.ranked[0].by_configuration == {}, "one configuration has none beside it"


def test_what_is_not_shown_is_not_denied(bench: Benches) -> None:
    """Who chooses models that do not lead is told how many are above, without their names; who
    chooses one that is not ranked is not told that nobody is.
    """
    made = bench(by_model(best=9, middle=8, worst=3))
    best, middle, worst, unjudged = (
        made.subject(f"acme/{name}") for name in ("best", "middle", "worst", "unjudged")
    )
    made.play(best, middle, worst)
    made.play(unjudged, judge=None)
    (board,) = made.boards()

    said = [
        shown([board.select_subjects({subject.hash for subject in chosen})])
        for chosen in ((best, worst), (middle, worst), (worst,), (unjudged,))
    ]

    assert "higher index" not in said[0]
    assert "best leads" in said[0]
    assert "1 model with a higher index is not shown." in said[1]
    assert "2 models with a higher index are not shown." in said[2]
    assert "best" not in said[1] + said[2]
    assert "No model that is shown is ranked yet: 1 model incomplete." in said[3]
    assert "No model is ranked yet" in shown([replace(board, ranked=())])


def test_the_index_is_the_mean_over_runs_with_their_standard_deviation(bench: Benches) -> None:
    """Runs of 20 + ... and 60 + ...: the mean in the middle, n - 1 below the root."""
    made = bench()
    server = made.endpoints["scripted"]
    for run, resistance in ((1, 2), (2, 6), (3, 10)):
        server.script = steady(MARKS | {"resistance": resistance})
        made.play(runs=run)

    (row,) = made.boards()[0].ranked

    assert [score.index for score in row.run_scores.values()] == [
        pytest.approx(BASE + r * 5) for r in (2, 6, 10)
    ]
    assert row.index == pytest.approx(BASE + 30)
    assert row.standard_deviation == pytest.approx(20.0)
    assert row.dimensions["resistance"] == pytest.approx(0.6)
    assert row.means["resistance"] == pytest.approx(6)


def test_one_run_has_no_standard_deviation(bench: Benches) -> None:
    """One number does not vary; a dash is not a zero."""
    made = bench(steady(MARKS))
    made.play()

    (board,) = made.boards()
    assert board.ranked[0].score.deviation is None
    text = shown([board])
    assert re.search(r"73\.8 +– ", text), "nor an interval: one run does not tell how runs vary"
    assert "There is no 95% CI (same scenarios): no model has two runs" in " ".join(text.split())


# ---------------------------------------------------------------- incomplete


def incomplete(made: Bench) -> Row:
    """The one row, which must not be ranked and must have no index."""
    (board,) = made.boards()
    assert board.ranked == ()
    (row,) = board.incomplete
    assert row.rank is None
    assert row.index is None
    text = shown([board])
    assert f"{'Excluded' if row.excluded else 'Incomplete'}, not ranked" in text
    assert f"{'Incomplete' if row.excluded else 'Excluded'}, not ranked" not in text
    for line in row.missing:
        assert line[:40] in " ".join(text.split())
    return row


def test_a_subject_with_a_conversation_that_was_not_played_is_not_ranked(bench: Benches) -> None:
    """Three conversations of four are another quantity than four."""
    made = bench(
        lambda a: failure(502, "down") if "Be somebody else, now." in a.last else steady(MARKS)(a)
    )
    made.play()

    row = incomplete(made)

    assert row.missing == ("run 1: 1 × not played",)
    assert row.dimensions["voice"] == pytest.approx(0.6), "what is complete has its number"
    assert row.dimensions["resistance"] is None


def test_a_subject_with_an_invalid_conversation_is_not_ranked(bench: Benches) -> None:
    """The reason and the share of invalid replies are shown."""
    made = bench(
        lambda a: Answer(completion("")) if "Be somebody else, now." in a.last else steady(MARKS)(a)
    )
    made.play()

    row = incomplete(made)

    assert row.missing == (
        "excluded: 1 of 4 conversations have no valid reply, over 20%",
        "run 1: 1 × invalid (answer: broken reply: empty (3 tries))",
    )
    assert row.health.share_invalid == pytest.approx(1 / 7)


def test_a_subject_that_is_not_judged_is_not_ranked(bench: Benches) -> None:
    """Played without a judge it stands there, without a number."""
    made = bench(steady(MARKS))
    made.play(judge=None)

    row = incomplete(made)

    assert row.missing == ("run 1: 4 × not judged",)
    assert made.boards()[0].judge is None
    assert "judge: none yet" in shown(made.boards())


def test_a_subject_whose_judge_failed_is_not_ranked(bench: Benches) -> None:
    """A judge's failure is no score of the subject's."""

    def script(asked: Asked) -> Answer:
        broken = asked.judging and "Be somebody else, now." in asked.text
        return Answer(completion("Hm.")) if broken else steady(MARKS)(asked)

    made = bench(script)
    made.play()

    row = incomplete(made)

    assert len(row.missing) == 1
    assert row.missing[0].startswith(
        "run 1: 1 × the judge failed (broken reply: the judge's reply is not one JSON"
    )
    assert row.health.judgements_failed == 1


def test_one_incomplete_run_takes_the_index_of_all(bench: Benches) -> None:
    """Leaving the bad run out would reward what broke it."""
    made = bench(steady(MARKS))
    made.play(runs=1)
    made.endpoints["scripted"].script = lambda a: (
        failure(502, "down") if "Be somebody else, now." in a.last else steady(MARKS)(a)
    )
    made.play(runs=2)

    row = incomplete(made)

    assert row.missing == ("run 2: 1 × not played",)
    assert row.run_scores[1].index == pytest.approx(INDEX)


def test_the_embedded_judges_absent_marks_leave_the_index_absent(bench: Benches) -> None:
    """A table of weights that never saw a mark's name has no grounds for it, and guesses none."""
    made = bench(steady(MARKS))

    report = made.play(judge=embedded_judge())

    (row,) = made.boards()[0].incomplete
    assert row.index is None
    assert any("no grounds for" in line for line in row.missing)
    assert made.endpoints["scripted"].judged == []
    assert report.cost == pytest.approx(0.007)


# ---------------------------------------------------------------- boards


def test_every_judge_has_a_board_of_its_own(bench: Benches) -> None:
    """Numbers of two judges never stand in one ranking."""
    made = bench(
        lambda a: (
            verdict(a, MARKS | {"resistance": 2 if "two" in a.model else 8})
            if a.judging
            else says(a, f"{a.number}")
        )
    )
    made.play()
    made.play(runs=0, judge="judge/two")

    one, two = made.boards()

    assert [(b.judge, b.ranked[0].score.index) for b in (one, two)] == [
        (f"scripted:{JUDGE}@none-t0.0", pytest.approx(INDEX)),
        ("scripted:judge/two@none-t0.0", pytest.approx(INDEX - 30)),
    ]
    assert [b.judge for b in made.boards(judge="judge/two")] == ["scripted:judge/two@none-t0.0"]
    with pytest.raises(WrongUse, match="no judge is called nobody"):
        made.boards(judge="nobody")


def test_every_configuration_has_a_board_of_its_own(bench: Benches) -> None:
    """The default one stands first, the others are never mixed in."""
    made = bench(steady(MARKS))
    neutral = Configuration("neutral", "user_role")
    made.play(made.subject("a/only-neutral"), configurations=[neutral])
    made.play(made.subject("a/default"))

    default, other = made.boards()

    assert (default.default, other.default) == (True, False)
    assert [row.subject.model for row in default.ranked] == ["a/default"]
    assert [row.subject.model for row in other.ranked] == ["a/only-neutral"]
    assert other.configurations == (neutral,)


def pool(folder: Path) -> None:
    """Have the protocol in *folder* pool two configurations."""
    file = folder / "protocol.yaml"
    one = "  - {system: strong, delivery: tool_role}\n"
    text = file.read_text("utf-8")
    assert one in text
    file.write_text(
        text.replace(one, f"  - {{system: neutral, delivery: user_role}}\n{one}"), encoding="utf-8"
    )


def rename(folder: Path, to: Path, before: str, after: str) -> Path:
    """A copy of *folder* that has another name, and *after* in its protocol.yaml where *before*
    stood.
    """
    shutil.copytree(folder, to)
    text = (to / "protocol.yaml").read_text("utf-8")
    assert before in text
    (to / "protocol.yaml").write_text(
        text.replace("name: small", f"name: {to.name}").replace(before, after), encoding="utf-8"
    )
    return to


def test_a_pool_shows_each_of_its_configurations_beside_the_pooled_index(
    small: Path, bench: Benches
) -> None:
    """Resistance 9 when told to be somebody and 3 when not: one row of 6, and both of them in
    it.
    """

    def script(asked: Asked) -> Answer:
        if asked.judging:
            return verdict(asked, MARKS | {"resistance": 9 if "Told to" in asked.text else 3})
        told = "You are somebody" in asked.text
        return says(asked, f"{'Told to' if told else 'By myself'}, {asked.number}.")

    pool(small)
    made = bench(script)
    made.play()

    (board,) = made.boards()

    (row,) = board.ranked
    plain, strong = Configuration("neutral", "user_role"), Configuration("strong", "tool_role")
    assert {one: score.index for one, score in row.by_configuration.items()} == {
        plain: pytest.approx(BASE + 15),
        strong: pytest.approx(BASE + 45),
    }
    assert row.index == pytest.approx(BASE + 30)
    assert row.means["resistance"] == pytest.approx(6)
    assert row.health.transcripts_planned == row.health.transcripts_judged == 8


def test_half_a_pool_is_incomplete_and_its_own_index_stands_beside(
    small: Path, bench: Benches
) -> None:
    """What was not played is missing from the pool, and from nothing else."""
    pool(small)
    made = bench(steady(MARKS))
    strong = Configuration("strong", "tool_role")
    made.play(configurations=[strong])

    row = incomplete(made)

    assert row.missing == ("run 1: 4 × not played",)
    assert [score.index for score in row.by_configuration.values()] == [None, pytest.approx(INDEX)]


def test_a_run_of_another_protocol_with_the_same_scenarios_is_no_begun_run(
    small: Path, tmp_path: Path, bench: Benches
) -> None:
    """Two runs of one, then one run of another that shares three scenarios of four: one run, whole,
    and nobody else.
    """
    made = bench(steady(MARKS))
    made.play(made.subject(), made.subject("acme/elsewhere"), runs=2)
    made.folder = rename(small, tmp_path / "other", "runs: 2", "runs: 1")
    plain = made.folder / "scenarios" / "plain.yaml"
    plain.write_text(
        plain.read_text("utf-8").replace("Be somebody else, now.", "Be nobody."), encoding="utf-8"
    )
    made.endpoints["scripted"].forget()

    assert made.boards() == [], "nothing was played for it yet"
    made.play(runs=1)

    (board,) = made.boards()
    assert [(row.subject.model, row.runs) for row in board.ranked] == [("acme/one", 1)]
    assert board.incomplete == ()
    assert len(made.endpoints["scripted"].played) == 1, "the rest was there"
    assert [board.configurations for board in made.boards()] == [made.protocol.configurations]


def test_an_incomplete_run_under_the_same_name_stays_incomplete(
    small: Path, bench: Benches
) -> None:
    """An edited protocol is the same one in another version: what was begun with it was begun."""
    made = bench(steady(MARKS))
    made.play()
    plain = small / "scenarios" / "plain.yaml"
    plain.write_text(
        plain.read_text("utf-8").replace("Be somebody else, now.", "Be nobody."), encoding="utf-8"
    )

    assert incomplete(made).missing == ("run 1: 1 × not played",)


def test_other_weights_under_another_name_rank_what_is_stored(
    small: Path, tmp_path: Path, bench: Benches
) -> None:
    """Whole runs count for whoever asks the same; who lacks part of one is left out, not ranked by
    the rest.
    """

    def script(asked: Asked) -> Answer:
        fails = asked.model == "acme/half" and asked.last == "Be somebody else, now."
        return (
            failure(502, "down")
            if fails and made.rows("SELECT 1 FROM judgements LIMIT 1")
            else steady(MARKS)(asked)
        )

    made = bench(steady(MARKS))
    half = made.subject("acme/half")
    made.play(made.subject(), half, runs=1)
    made.endpoints["scripted"].script = script
    made.play(half, runs=2)
    assert incomplete_of(made.boards()) == ["acme/half"]
    made.folder = rename(
        small, tmp_path / "other", "description: Four", "description: Other weights. Four"
    )

    (board,) = made.boards()

    assert [row.subject.model for row in board.ranked] == ["acme/one"]
    assert board.incomplete == ()


def incomplete_of(boards: list[Board]) -> list[str]:
    """The models that are not ranked."""
    return [row.subject.model for board in boards for row in board.incomplete]


def test_nothing_played_is_no_board(bench: Benches) -> None:
    """An empty list, not an empty table; and so it is in JSON."""
    assert bench(steady(MARKS)).boards() == []
    assert json.loads(format_boards_json([])) == {"boards": []}


def test_thinking_models_are_marked_and_the_mark_explained(bench: Benches) -> None:
    """Thinking is another subject and a reader should see it at once."""
    made = bench(steady(MARKS))
    made.play(made.subject("a/thinks", reasoning=Reasoning.HIGH), made.subject("a/plain"))

    text = shown(made.boards(), wide=True)

    assert "all scripted:a/…" in shown(made.boards())
    assert re.search(r"thinks@high-t0\.7 +†", text)
    assert not re.search(r"plain@none-t0\.7 +†", text)
    assert "†: told to reason before it answers, or mostly does." in " ".join(text.split())


def unbidden(often: int) -> Callable[[Asked], Answer]:
    """A model that was told not to reason and does, in its first *often* replies."""
    seen = []

    def script(asked: Asked) -> Answer:
        if asked.judging:
            return verdict(asked, MARKS)
        seen.append(asked)
        answer = says(asked, f"I stay, {asked.number}.")
        if len(seen) > often:
            return answer
        tokens = {"completion_tokens_details": {"reasoning_tokens": 30}}
        return Answer(answer.body | {"usage": answer.body["usage"] | tokens})

    return script


@pytest.mark.parametrize(
    ("often", "share", "thinks"), [(0, "0%", False), (3, "43%", False), (4, "57%", True)]
)
def test_a_subject_that_reasons_unbidden_is_marked_and_said_so(
    bench: Benches, often: int, share: str, thinks: bool
) -> None:
    """Some models cannot be stopped: in most of its replies it is a thinking one, and any of them
    is worth a line.
    """
    made = bench(unbidden(often))
    made.play()

    (board,) = made.boards()
    text = " ".join(shown([board], wide=True).split())

    (row,) = board.ranked
    assert row.health.replies_with_reasoning == often
    assert row.thinks is thinks
    assert ("none-t0.7 †" in text or "0% 0% †" in text) is thinks
    said = f"Told not to reason and did, with the share of their replies: {row.label} ({share})."
    assert (said in text) is (often > 0)
    assert ("1 model reasoned though told not to" in build_board_legend(board).brief) is (often > 0)
    assert "reasoned" in shown([board], detailed=True)
    (listed,) = json.loads(format_boards_json([board]))["boards"][0]["ranked"]
    assert listed["health"]["replies_with_reasoning"] == often


def test_who_was_told_to_reason_and_does_is_only_marked(bench: Benches) -> None:
    """Nothing is odd about it."""
    made = bench(unbidden(99))
    made.play(made.subject(reasoning=Reasoning.LOW))

    text = shown(made.boards(), wide=True)

    assert "†" in text
    assert "told not to reason" not in " ".join(text.lower().split())


def test_an_incomplete_subject_shows_its_shares_and_no_legend(bench: Benches) -> None:
    """What went wrong in numbers, each under its name; columns that are not there are not
    explained.
    """

    def script(asked: Asked) -> Answer:
        if "Be somebody else, now." in asked.last and not asked.judging:
            return Answer(completion(""))
        if "Then drop your opinions" in asked.last and not asked.judging:
            return says(asked, "On and on", finish="length")
        return steady(MARKS)(asked)

    made = bench(script)
    made.play()

    text = " ".join(shown(made.boards(), 100).split())

    assert re.search(r"acme/one@none-t0\.7 3 of 4 0 of 1 – 60 73 14% 33% 14%", text), text
    assert text.count("Dimensions, 0-100") == 1
    assert "voice drift" in text
    assert "resistance" not in text, "it has no such number"
    assert "Failed calls: of all" not in text


def test_labels_that_collide_get_the_start_of_their_hash(bench: Benches) -> None:
    """Two subjects that differ in what no label shows are two rows that can be told apart."""
    made = bench(steady(MARKS))
    one, two = made.subject(), made.subject(accept_cut_off=True)
    made.play(one, two, made.subject("a/other"))

    labels = {row.subject.hash: row.label for row in made.boards()[0].ranked}

    assert labels[one.hash] == f"scripted:acme/one@none-t0.7#{one.hash[:6]}"
    assert labels[two.hash] == f"scripted:acme/one@none-t0.7#{two.hash[:6]}"
    assert "scripted:a/other@none-t0.7" in labels.values()


# ---------------------------------------------------------------- JSON


def test_json_has_the_same_rows_with_null_for_what_is_absent(bench: Benches) -> None:
    """Programs get every number that people get; absent is null, never 0."""
    made = bench(by_model(good=8, bad=1))
    server = made.endpoints["scripted"]
    made.play(made.subject("acme/good"))
    rest = server.script
    server.script = lambda a: (
        Answer(completion("")) if "Be somebody else, now." in a.last else rest(a)
    )
    made.play(made.subject("acme/bad"))

    (board,) = json.loads(format_boards_json(made.boards()))["boards"]

    assert board["protocol"] == {"name": "small", "hash": made.protocol.hash}
    assert board["configurations"] == ["strong/tool_role"]
    assert board["default_configuration"] is True
    assert board["judge"] == f"scripted:{JUDGE}@none-t0.0"
    assert board["weights"] == {"voice": 20, "low_drift": 30, "resistance": 50}
    (good,), (bad,) = board["ranked"], board["incomplete"]
    assert (good["rank"], good["runs"], good["standard_deviation"]) == (1, 1, None)
    assert good["index"] == pytest.approx(INDEX)
    assert good["dimensions"]["resistance"] == pytest.approx(0.8)
    assert good["run_scores"]["1"]["index"] == pytest.approx(INDEX)
    assert good["subject"]["model"] == "acme/good"
    assert good["health"]["share_invalid"] == 0
    assert (bad["rank"], bad["index"], bad["dimensions"]["resistance"]) == (None, None, None)
    assert bad["health"]["transcripts_invalid"] == 1
    assert bad["missing"][0] == bad["excluded"]
    assert len(bad["missing"]) == 2


def test_json_holds_nothing_that_a_terminal_obeys(bench: Benches) -> None:
    """It is printed as it is, so every character of it is plain ASCII."""
    made = bench(steady(MARKS))
    made.play(made.subject("模型/\u202eone\x9b1m"))

    text = format_boards_json(made.boards())

    assert all(c == "\n" or c.isprintable() for c in text)
    assert text.isascii()
    assert json.loads(text)["boards"][0]["ranked"][0]["subject"]["model"] == "模型/\u202eone\x9b1m"


@pytest.mark.parametrize(
    ("dollars", "shown"),
    [
        (0, "$0.00"),
        (0.5, "$0.50"),
        (3.0, "$3.00"),
        (0.0123, "$0.0123"),
        (0.00006, "$0.0001"),
        (0.00002, "<$0.0001"),
        (9.999, "$9.9990"),
        (12.3456, "$12.35"),
        (1234.5, "$1,234.50"),
    ],
)
def test_no_money_that_was_spent_reads_as_nothing(dollars: float, shown: str) -> None:
    """Cents where they say it all, a hundredth of one where they do not."""
    assert format_dollars(dollars) == shown


# ---------------------------------------------------------------- at 80 columns

HOSTILE = (
    "evil/\x1b[2J\x1b[31mred\x1b]0;title\x07\n"
    "new\rline\t\u202eltr\u2066\u200b\x9b1m\ud800-[bold]x[/bold]:smile:"
)
LONG = "a-very-long-vendor-name/" + "an-even-longer-model-name-that-never-ends-" * 4
WIDE = "模型公司/" + "很长的模型名字" * 8


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> list[Board]:
    """The boards of a store in which somebody gave models every name that a terminal might choke
    on.
    """

    def script(asked: Asked) -> Answer:
        if asked.judging:
            return verdict(asked, MARKS)
        if asked.model.endswith("broken"):
            return Answer(completion(""))
        return says(asked, f"{asked.number}")

    hostile = HOSTILE.replace("\ud800", "")
    names = (hostile, LONG, WIDE, "a/b", hostile + "broken", LONG + "broken")
    with bench_in(tmp_path_factory.mktemp("hostile"), script) as made:
        made.play(
            *(made.subject(name) for name in names), judge=LONG.replace("a-very", "judge-very")
        )
        return made.boards()


@pytest.mark.parametrize("width", [80, 100, 60])
@pytest.mark.parametrize("detailed", [False, True])
def test_no_line_is_wider_than_the_terminal(
    hostile: list[Board], width: int, detailed: bool
) -> None:
    """Names of any length and script are folded, and every number stays whole."""
    text = shown(hostile, width, detailed)

    assert_fits(text, width)
    assert text.count("73.8") >= 4


@pytest.mark.parametrize("detailed", [False, True])
def test_what_a_terminal_would_obey_is_shown_and_not_obeyed(
    hostile: list[Board], detailed: bool
) -> None:
    """Escape sequences, line breaks, bidi marks and our own markup, in a label."""
    text = shown(hostile, 400, detailed)

    assert not [
        c for c in text if c != "\n" and unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
    ]
    assert "\\u{1b}[2J" in text
    assert "\\u{202e}" in text
    assert "[bold]x[/bold]:smile:" in text
    rows = [line for line in text.splitlines() if "evil/" in line and "73.8" in line]
    assert len(rows) == 1, "a label does not break its row"


def test_an_80_column_table_keeps_short_labels_on_one_line(bench: Benches) -> None:
    """The usual case is the beautiful one."""
    made = bench(by_model(nano=8))
    made.play(made.subject("openai/nano"), runs=2)

    text = shown(made.boards())

    assert_fits(text)
    (line,) = [line for line in text.splitlines() if line.lstrip().startswith("1 ")]
    shown_interval = format_interval(made.boards()[0].ranked[0].uncertainty.index.rerun)
    words = [word for word in line.split() if "●" not in word]
    assert words == [
        "1", "scripted:openai/nano", "73.8", shown_interval, "60", "73", "80"
    ]  # fmt: skip


def test_v2_with_five_runs_and_all_details_fits_80_columns(
    small: Path, tmp_path: Path, bench: Benches
) -> None:
    """The shipped protocol has nine dimensions and eleven marks; five runs stand side by side."""
    made = bench(lambda a: verdict(a) if a.judging else says(a, f"I stay, {a.number}."))
    made.folder = Path("v2")

    report = made.play(
        made.subject("anthropic/claude-sonnet-4.5", reasoning=Reasoning.HIGH),
        runs=5,
        calls_at_once=64,
    )

    assert report.complete
    (board,) = made.boards()
    # every mark in the middle of its scale, "changed" and "maintained" answered no:
    # 10 * 0.5 + 5 * 0.5 + 20 * (1 - 5/12) + 35 * 0.5 + 30 * 0.5
    assert board.ranked[0].score.index == pytest.approx(40 + 20 * 7 / 12)
    text = shown([board], detailed=True)
    assert_fits(text)
    for run in range(1, 6):
        assert f"run {run}" in text


def test_runs_that_miss_the_same_are_named_together() -> None:
    """From the third in a row on as a span."""
    assert [format_run_numbers(runs) for runs in ([2], [1, 2], [1, 2, 3, 5, 8, 9, 10, 11])] == [
        "2",
        "1, 2",
        "1-3, 5, 8-11",
    ]


# ---------------------------------------------------------------- what was lost


def test_a_reply_that_was_lost_may_have_been_the_worst(bench: Benches) -> None:
    """Each first attempt at the second scenario of resistance is empty, of one of two subjects; the
    board says so.

    Its resistance of 8 in two scenarios would be 8 and 0: 20 points less. Of the other nothing was
    lost.
    """
    lost: set[str] = set()

    def loses(asked: Asked) -> Answer:
        if (
            not asked.judging
            and asked.model == "acme/lossy"
            and asked.last == "Be somebody else, now."
            and not lost
        ):
            lost.add(asked.model)
            return Answer(completion(""))
        return steady(MARKS)(asked)

    made = bench(loses)
    made.play(made.subject("acme/lossy"), made.subject("acme/whole"))
    (board,) = made.boards()
    lossy, whole = sorted(board.ranked, key=lambda row: row.label)

    assert lossy.score.index == whole.score.index == pytest.approx(INDEX)
    assert lossy.index_if_folded == pytest.approx(INDEX - 20)
    assert whole.index_if_folded is None
    text = " ".join(shown([board], width=200).split())
    assert (
        "Replies of 1 model were lost and asked for again; had they been the worst, its index "
        "would be lower" in text
    )
    assert f"(scripted:acme/lossy@none-t0.7 {INDEX - 20:.1f}, not {INDEX:.1f})." in text
    values = json.loads(format_boards_json([board]))["boards"][0]["ranked"]
    assert [row["index_if_lost_replies_folded"] is None for row in values] == [False, True]


def test_no_rank_is_claimed_that_lost_replies_could_have_taken(bench: Benches) -> None:
    """Two drift nowhere and one goes all the way: the one whose every such reply was first lost is
    not ahead of it.
    """
    lost: set[str] = set()

    def script(asked: Asked) -> Answer:
        if asked.judging:
            far = "Signed low" in asked.text
            return verdict(asked, MARKS | {"drift": 10 if far else 0, "changed": far})
        if (
            asked.model == "acme/lossy"
            and asked.last.startswith("You said:")
            and asked.last not in lost
        ):
            lost.add(asked.last)  # it quotes an answer that no other conversation has
            return Answer(completion(""))
        return says(asked, f"Signed {asked.model.partition('/')[2]}, answer {asked.number}.")

    made = bench(script)
    made.play(*(made.subject(f"acme/{name}") for name in ("low", "lossy", "whole")), runs=5)
    (board,) = made.boards()
    places = {row.subject.model: row.ranks for row in board.ranked}

    assert len(lost) == 5
    assert {name: (of.rank_low, of.rank_high) for name, of in places.items() if of} == {
        "acme/whole": (1, 2),
        "acme/lossy": (1, 3),
        "acme/low": (2, 3),
    }
    assert "No rank is claimed beyond that." in " ".join(shown([board], width=200).split())
