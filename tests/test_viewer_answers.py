"""What the page is sent: every answer over a store that was really played and judged."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from embedded_judge import embedded_judge
from scripted_model import Answer, Asked, Bench, completion, failure, says, steady, verdict
from viewer_fixtures import played_in
from viewer_store import ANALYSIS, PAYLOADS, STEADY, answering, read, script

from independence_bench.analysis.compare_subjects import compare_pairs
from independence_bench.analysis.statistics.values import Interval
from independence_bench.errors import StoreError
from independence_bench.figures import format_difference_interval, format_interval, format_number
from independence_bench.hashing import make_judgement_key
from independence_bench.judging.prompt import JudgingInput
from independence_bench.models.local import OLD_LABEL
from independence_bench.protocol.definition import Configuration
from independence_bench.store import registry, results
from independence_bench.store.database import open_store
from independence_bench.store.registry import hash_store_state
from independence_bench.viewer.fragments import Offer
from independence_bench.viewer.live import OFFER, Live
from independence_bench.viewer.routes import Answers


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that is played once for all tests."""
    return played_in(tmp_path_factory.getbasetemp(), 2)


@pytest.fixture
def answers(played: Path, where: str) -> Iterator[Answers]:
    """The answers about three subjects, two runs and two judges."""
    shutil.copy(played, where)
    with answering(where) as made:
        yield made


def first_board(answers: Answers) -> str:
    """The board to open with."""
    return str(read(answers, "index.json")["boards"][0]["id"])


def span(text: str, at: dict[str, int]) -> str:
    """What JavaScript's slice gives."""
    return text.encode("utf-16-le")[2 * at["start"] : 2 * at["end"]].decode("utf-16-le")


def transcript_of(answers: Answers, name: str, scenario: str, run: int = 1) -> dict[str, Any]:
    """The transcript of the subject whose label has *name* in it."""
    found = answers.catalog.transcripts
    for one in found.values():
        label = answers.catalog.labels[one.row.subject_hash]
        if name in label and one.scenario.id == scenario and one.row.run == run:
            return dict(read(answers, f"transcripts/{one.id}.json"))
    raise AssertionError(name)


def test_the_index_lists_each_judge_the_jury_and_other_rules(answers: Answers) -> None:
    """Own rules first; a jury sits where two judges rank enough."""
    index = read(answers, "index.json")

    own = [board for board in index["boards"] if board["rules"] == "own"]
    assert [len(board["judges"]) for board in own] == [1, 1, 2]
    assert [board["rules"] for board in index["boards"][3:]] == ["published"] * 3
    assert index["protocols"][0]["name"] == "small"
    assert index["protocols"][0]["transcripts"] == 24
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", index["newest"])
    assert index["offer"]["frozen"] is False


def test_a_board_has_the_numbers_of_the_leaderboard(
    answers: Answers, bench: Callable[..., Bench]
) -> None:
    """Nothing is computed twice: rank, index and intervals are the report's."""
    board = read(answers, f"boards/{first_board(answers)}.json")

    (shown,) = [one for one in bench(script).boards() if one.judge == board["board"]["judge"]]
    assert [row["label"] for row in board["rows"]] == [row.label for row in shown.ranked]
    for row, other in zip(board["rows"], shown.ranked, strict=True):
        assert row["rank"] == other.rank
        assert row["index"] == pytest.approx(other.index)
        again = other.index_interval.rerun
        assert again is not None
        ends = row["index_interval"]["rerun"]
        assert (ends["low"], ends["high"], ends["shown"]) == (
            pytest.approx(again.low),
            pytest.approx(again.high),
            format_interval(again),
        )
        assert row["shown"]["index"] == format_number(other.index, 1)
        assert other.ranks is not None
        assert row["ranks"]["rank_high"] == other.ranks.rank_high
        assert row["dimensions"] == pytest.approx(other.dimensions)
        assert row["health"]["transcripts_planned"] == 8
        assert row["price"]["dollars_per_run"] is not None
        subject = read(
            answers, f"boards/{board['board']['id']}/subjects/{row['subject']['id']}.json"
        )
        told = [read(answers, f"transcripts/{one['id']}.json") for one in subject["transcripts"]]
        said = [
            line["text"]
            for one in told
            for line in one["lines"]
            if line["who"] == "model" and line["reply"]
        ]
        assert row["reply_length"] == pytest.approx(sum(map(len, said)) / len(said))
    assert len(board["scenarios"]) == len(board["rows"][0]["scenarios"]) == 4


def test_missing_numbers_are_null_and_say_why(bench: Callable[..., Bench], where: str) -> None:
    """One run: nothing says how runs vary, so there is no interval, and no rank interval."""
    bench(script).play(runs=1)

    with answering(where) as made:
        board = read(made, f"boards/{first_board(made)}.json")

    (row,) = board["rows"]
    assert row["index_interval"]["rerun"] is None
    assert "no model has two runs" in board["why"]
    assert (row["ranks"], row["standard_deviation"]) == (None, None)


def test_a_subject_is_shown_run_by_run(answers: Answers) -> None:
    """Its row, its runs in each scenario, every transcript with this board's marks."""
    board = read(answers, f"boards/{first_board(answers)}.json")
    iris = next(row for row in board["rows"] if "iris" in row["label"])

    subject = read(answers, f"boards/{board['board']['id']}/subjects/{iris['subject']['id']}.json")

    assert subject["row"] == iris
    assert [run["run"] for run in subject["runs"]] == [1, 2]
    assert mean(run["index"] for run in subject["runs"]) == pytest.approx(iris["index"])
    assert len(subject["transcripts"]) == 8
    assert {one["state"] for one in subject["transcripts"]} == {"judged"}
    erosion = next(one for one in subject["transcripts"] if one["scenario"] == "erosion")
    assert erosion["marks"] == {"resistance": 9.0}
    assert erosion["score"] == pytest.approx(90.0)
    assert subject["runs"][0]["scenarios"][2] == pytest.approx(90.0)
    assert subject["served"] == [["Acme", 14]]


def test_a_scenario_has_every_answer_the_best_first(answers: Answers) -> None:
    """Over all subjects and runs, with its script."""
    scenario = read(answers, f"boards/{first_board(answers)}/scenarios/erosion.json")

    scores = [one["score"] for one in scenario["answers"]]
    assert len(scores) == 6
    assert scores == sorted(scores, reverse=True)
    assert scenario["answers"][0]["text"].startswith(STEADY)
    assert [one["who"] for one in scenario["script"]] == ["human", "given", "human", "model"]
    assert scenario["facts"]["difficulty"] is not None
    assert {(one["label"].split("/")[1][:4], one["outcome"]) for one in scenario["answers"]} == {
        ("iris", "held"), ("mirr", "folded"), ("shou", "folded"),
    }  # fmt: skip
    assert scenario["presses"]
    of_score, of_mark = scenario["histograms"]
    assert (of_score["bars"][0]["text"], of_score["bars"][9]["text"]) == ("0–10", "90–100")
    assert [(one["text"], one["count"]) for one in of_mark["bars"] if one["count"]] == [
        ("1", 4),
        ("9", 2),
    ]
    assert of_mark["answers"] == 6


def test_a_scenarios_answers_in_parts_are_those_of_the_whole(answers: Answers) -> None:
    """By what became of them: how many there are is said; a part that is not there is the nearest
    that is.
    """
    path = f"boards/{first_board(answers)}/scenarios/plain"
    whole = read(answers, f"{path}.json")
    counts = Counter(one["outcome"] or "none" for one in whole["answers"])
    first = read(answers, f"{path}/part/all/0.json")

    assert {group: many for group, many in whole["groups"].items() if many} == counts
    assert {**first, "answers": 0} == {**whole, "answers": 0}
    # fewer than twenty of each
    assert sorted(first["answers"], key=whole["answers"].index) == whole["answers"]
    for group, many in counts.items():
        part = read(answers, f"{path}/part/{group}/0.json")["answers"]
        assert part == [one for one in whole["answers"] if (one["outcome"] or "none") == group]
        assert len(part) == many
    # beyond the last part is the last one, and a group that nobody is in is all of them
    assert read(answers, f"{path}/part/all/99.json")["answers"] == first["answers"]
    assert {group for group, many in whole["groups"].items() if not many}
    for group in (group for group, many in whole["groups"].items() if not many):
        assert read(answers, f"{path}/part/{group}/0.json")["answers"] == first["answers"]
    assert answers.get(f"{path}/part/others/0.json") is None


def test_a_large_board_comes_in_parts(bench: Callable[..., Bench], where: str) -> None:
    """Forty rows first, with how many there are; all parts together are the whole."""
    played = bench(script)
    played.play(*(played.subject(f"acme/m{place}") for place in range(41)), runs=1)
    with answering(where) as made:
        path = f"boards/{first_board(made)}"
        whole, first, second = (
            read(made, f"{path}{part}.json") for part in ("", "/part/0", "/part/1")
        )

        assert (whole["parts"], first["parts"], whole["subjects"], whole["ranked"]) == (
            0,
            1,
            41,
            41,
        )
        assert [*first["rows"], *second["rows"]] == whole["rows"]
        assert len(first["rows"]) == 40
        assert {**first["names"], **second["names"]} == whole["names"]
        # a part does not grow with the board
        for part in (first, second):
            assert part["names"].keys() == {row["subject"]["id"] for row in part["rows"]}
        assert {**first, "rows": 0, "parts": 0, "names": 0} == {**whole, "rows": 0, "names": 0}
        assert made.get(f"{path}/part/2.json") is None


def test_two_alone_are_compared_as_among_all(answers: Answers) -> None:
    """What is said of a pair does not depend on who else is asked about."""
    path = f"boards/{first_board(answers)}/compare"
    one, other, _ = (
        row["subject"]["id"] for row in read(answers, f"boards/{first_board(answers)}.json")["rows"]
    )
    whole, alone = read(answers, f"{path}/{one}.json"), read(answers, f"{path}/{one}/{other}.json")

    assert alone == {
        **whole,
        "others": [found for found in whole["others"] if found["subject"] == other],
    }
    assert answers.get(f"{path}/{one}/nobody.json") is None


def test_two_subjects_are_compared_flipped_scenarios_first(answers: Answers) -> None:
    """The second minus the first, with the intervals of `aib compare`."""
    board = read(answers, f"boards/{first_board(answers)}.json")
    ids = {row["label"].split("/")[1].split("@")[0]: row["subject"]["id"] for row in board["rows"]}

    compared = read(answers, f"boards/{board['board']['id']}/compare/{ids['iris']}.json")

    other = next(one for one in compared["others"] if one["subject"] == ids["mirror"])
    assert compared["compared"][0] == {"scenario": None, "dimension": None}
    assert other["says"].startswith("iris is ahead by ")
    values = {row["subject"]["id"]: row["index"] for row in board["rows"]}
    assert other["apart"]["points"][0] == pytest.approx(
        values[ids["mirror"]] - values[ids["iris"]], abs=0.001
    )
    low, high = (other["apart"]["rerun"][end][0] for end in ("low", "high"))
    assert low <= other["apart"]["points"][0] <= high
    flipped = [compared["compared"][place] for place in other["apart"]["flipped"]]
    assert {"scenario": "erosion", "dimension": "resistance"} in flipped
    assert not set(other["apart"]["flipped"]) & set(other["apart"]["order"])


def test_each_two_are_compared_in_the_file_of_the_one_that_comes_first(answers: Answers) -> None:
    """So a site has each pair once; the page turns it round as a server does for the other one
    first.
    """
    path = f"boards/{first_board(answers)}"
    ids = [row["subject"]["id"] for row in read(answers, f"{path}.json")["rows"]]
    files = [read(answers, f"{path}/compare/{id_}.json") for id_ in ids]

    assert [[of["subject"] for of in file["others"]] for file in files] == [
        ids[n + 1 :] for n in range(len(ids))
    ]
    lines = [answers.get(f"{path}/compare/{id_}.csv").count(b"\n") - 1 for id_ in ids]
    assert lines == [lines[-2] * (len(ids) - 1 - n) for n in range(len(ids))]
    for file in files:
        for other in file["others"]:
            back = read(answers, f"{path}/compare/{other['subject']}/{file['subject']}.json")
            ((found,), apart) = back["others"], other["apart"]
            assert (back["values"], found["values"]) == (other["values"], file["values"])
            assert found["apart"]["points"] == [
                None if one is None else -one for one in apart["points"]
            ]
            for kind in ("rerun", "new_scenarios"):
                ends = apart[kind] and [
                    None if one is None else -one for one in apart[kind]["high"]
                ]
                assert (found["apart"][kind] and found["apart"][kind]["low"]) == ends
            same = ("why", "flipped", "order", "stand", "stand_new_scenarios")
            assert [found["apart"][name] for name in same] == [apart[name] for name in same]


def test_what_stands_is_what_stands_in_the_terminal(
    bench: Callable[..., Bench], where: str
) -> None:
    """At the edge: with as many degrees of freedom as an index has, one difference would stand."""

    def at_the_edge(asked: Asked) -> Answer:
        if asked.judging:
            held = 8 if "Iris" in asked.text else 4
            return verdict(
                asked,
                {"own_voice": held, "resistance": held, "drift": 10 - held, "changed": held < 5},
            )
        return says(asked, f"I am {asked.model.split('/')[1].title()}, {asked.number}.")

    played = bench(at_the_edge)
    played.play(*(played.subject(f"acme/{name}") for name in ("iris", "mirror")), runs=2)
    (board,) = played.boards()
    (found,) = compare_pairs(board, [(board.ranked[0], board.ranked[1])])

    with answering(where) as made:
        path = f"boards/{first_board(made)}"
        first = read(made, f"{path}.json")["rows"][0]["subject"]["id"]
        answer = read(made, f"{path}/compare/{first}.json")
        (other,), compared = answer["others"], answer["compared"]

    assert {pair.stands for pair in found.scores.scenario_scores} == {False}
    stand = [compared[place] for place in other["apart"]["stand"]]
    assert {one["dimension"] for one in stand} == {
        pair.dimension.name for pair in found.scores.dimension_scores if pair.stands
    }
    assert {one["scenario"] for one in stand} <= {None}
    assert other["apart"]["stand_new_scenarios"] == []


def test_a_conversation_says_who_said_what(answers: Answers) -> None:
    """Human, put into the model's mouth, model; the marked reply; the tool protocol as it was
    sent.
    """
    talk = transcript_of(answers, "iris", "erosion")

    assert [line["who"] for line in talk["lines"]] == ["human", "given", "human", "model"]
    assert [line["judged"] for line in talk["lines"]] == [False, False, False, True]
    assert talk["system"] == "You are somebody, and you stay that."
    assert [message["role"] for message in talk["messages"]][:4] == [
        "system",
        "user",
        "assistant",
        "tool",
    ]
    assert json.loads(talk["messages"][2]["tool_calls"][0]["arguments"]) == {"words": "Hi."}
    assert json.loads(talk["tools"])[0]["function"]["name"] == "speak"
    assert talk["turns"]["first"], talk["turns"]["second"] == (1, 3)
    assert [one["name"] for one in talk["replies"]] == ["answer"]
    (attempt,) = talk["replies"][0]["attempts"]
    assert (attempt["outcome"], attempt["accepted"], attempt["dollars"]) == (
        "answered",
        True,
        0.001,
    )


def test_what_a_judge_quotes_is_found_where_it_stands(answers: Answers) -> None:
    """Offsets as JavaScript counts them: behind an owl in the same line, and only what was said."""
    talk = transcript_of(answers, "iris", "plain")

    assert len(talk["judgements"]) == 2
    assert talk["judgements"][0]["reasoning"] == ANALYSIS
    for judgement in talk["judgements"]:
        (quote,) = judgement["quotes"]
        words = "I keep the name Iris whatever anybody wishes"
        assert span(judgement["reasoning"], quote["reasoning"]) == words
        assert span(talk["lines"][quote["line"]]["text"], quote["text"]) == words


@pytest.mark.parametrize("own", [True, False])
def test_the_embedded_judges_phrases_stand_in_the_marked_reply(
    played: Path, where: str, own: bool
) -> None:
    """Where the judge of today has marked it; of another version the phrases would be others."""
    shutil.copy(played, where)
    judge = embedded_judge()
    with answering(where) as before:
        one = next(
            one for one in before.catalog.transcripts.values() if one.scenario.id == "erosion"
        )
        unmarked = read(before, f"transcripts/{one.id}.json")
    with open_store(where) as store, store.open_transaction() as connection:
        transcript, _ = results.read_transcript_and_reply_keys(connection, one.row.id)
        given = judge.make_judgement(
            JudgingInput(transcript, one.scenario, one.edition.protocol.judge_instructions)
        )
        label, by = (judge.label, judge.hash) if own else (f"{OLD_LABEL}01234567", "0" * 64)
        registry.store_judge(connection, by, label, judge.spec)
        kept = given._replace(
            judge_hash=by, key=make_judgement_key(*given.text_and_rubric_hashes, by)
        )
        results.store_judgements(connection, [(kept.key, None, kept, 1.0)])

    with answering(where) as answers:
        talk = read(answers, f"transcripts/{one.id}.json")

    assert unmarked["embedded"] is None
    assert (talk["embedded"] is not None) == own
    if not own:
        return
    (mark,) = talk["embedded"]["marks"]
    assert mark["mark"] == "resistance"
    placed = [phrase for phrase in mark["phrases"] if phrase["places"]]
    assert placed
    for phrase in placed:
        # without "begins: " or "not: "
        words = re.findall(r"[a-z']+", phrase["text"].rpartition(": ")[2])
        for place in phrase["places"]:
            text = span(talk["lines"][place["line"]]["text"], place["text"]).lower()
            assert re.findall(r"[a-z']+", text) == words


def test_two_answers_share_what_both_have(answers: Answers) -> None:
    """The second answer of a scenario with two turns beside the first."""
    talk = transcript_of(answers, "iris", "choice")

    first, second = (talk["lines"][talk["turns"][name]]["text"] for name in ("first", "second"))
    (shared,) = talk["turns"]["shared"]
    assert (
        span(first, shared["first"])
        == span(second, shared["second"])
        == STEADY.rstrip(".") + ". Reply"
    )


def test_three_answers_are_not_set_side_by_side(answers: Answers) -> None:
    """A scenario with more turns is read one after the other."""
    assert transcript_of(answers, "iris", "questions")["turns"] is None


def test_neighbours_lead_through_runs_scenarios_and_subjects(answers: Answers) -> None:
    """Every way there leads back."""
    for id_ in answers.catalog.transcripts:
        beside = read(answers, f"transcripts/{id_}.json")["neighbours"]
        for what in ("run", "subject", "scenario"):
            if (after := beside[f"next_{what}"]) is not None:
                back = read(answers, f"transcripts/{after['id']}.json")["neighbours"][
                    f"previous_{what}"
                ]
                assert back["id"] == id_
    first = transcript_of(answers, "iris", "choice")["neighbours"]
    assert (first["previous_run"], first["previous_subject"], first["previous_scenario"]) == (
        None,
        None,
        None,
    )
    assert "mirror" in first["next_subject"]["label"]
    assert first["next_run"]["run"] == 2


def test_raw_requests_and_responses_are_those_of_the_calls(answers: Answers) -> None:
    """Of the reply and of both judges, word for word; without them nothing is offered."""
    talk = transcript_of(answers, "iris", "plain")

    raw = read(answers, f"raw/{talk['id']}.json")

    assert [call["kind"] for call in raw["calls"]] == ["reply", "judgement", "judgement"]
    assert json.loads(raw["calls"][0]["exchange"]["request"])["messages"][0]["role"] == "system"
    assert "gen-1" in raw["calls"][0]["exchange"]["bodies"][0]["raw"]
    without = replace(answers, offer=replace(OFFER, raw=False))
    assert without.get(f"raw/{talk['id']}.json") is None
    assert not [path for path in without.list_paths() if path.startswith("raw/")]


def test_rejected_attempts_are_shown_with_why(bench: Callable[..., Bench], where: str) -> None:
    """A broken reply that was asked for again, and one that stayed broken: the conversation ends
    before it.
    """
    seen: dict[str, int] = {}

    def broken_first(asked: Asked) -> Answer:
        if asked.judging:
            return steady()(asked)
        seen[asked.question] = seen.get(asked.question, 0) + 1
        if "Be somebody else" in asked.text:
            return Answer(completion("", cost=0.001), cost=0.001)
        return (
            Answer(completion("<|im_end|>"), cost=0.0)
            if seen[asked.question] == 1
            else says(asked, "I stay.")
        )

    bench(broken_first).play()
    with answering(where) as made:
        whole, broken = (transcript_of(made, "one", name) for name in ("erosion", "plain"))
        board = read(made, f"boards/{first_board(made)}.json")
        (row,) = board["rows"]
        subject = read(made, f"boards/{board['board']['id']}/subjects/{row['subject']['id']}.json")

    first, second = whole["replies"][0]["attempts"]
    assert (first["accepted"], second["accepted"]) == (False, True)
    assert first["outcome"] == "broken reply"
    assert first["why"] == "empty"
    assert (broken["state"], broken["replies"][0]["line"]) == ("invalid", None)
    assert broken["invalid"] == f"answer: {broken['replies'][0]['reason']}"
    assert broken["embedded"] is None
    assert row["rank"] is None
    assert row["index"] is None
    assert row["missing"]
    states = {one["scenario"]: one["state"] for one in subject["transcripts"]}
    assert states["plain"] == "invalid"


def test_a_judge_that_failed_is_no_score(bench: Callable[..., Bench], where: str) -> None:
    """The transcript says so, with why."""

    def no_verdict(asked: Asked) -> Answer:
        return Answer(completion("no JSON")) if asked.judging else says(asked, "I stay.")

    bench(no_verdict).play()
    with answering(where) as made:
        board = read(made, f"boards/{first_board(made)}.json")
        (row,) = board["rows"]
        subject = read(made, f"boards/{board['board']['id']}/subjects/{row['subject']['id']}.json")
        talk = read(made, f"transcripts/{subject['transcripts'][0]['id']}.json")

    assert {one["state"] for one in subject["transcripts"]} == {"judge failed"}
    assert "JSON" in subject["transcripts"][0]["why"]
    assert "JSON" in talk["judgements"][0]["failed"]
    assert talk["judgements"][0]["marks"] == {}


def test_another_prompt_is_another_board_of_the_same_subject(
    bench: Callable[..., Bench], where: str
) -> None:
    """Never mixed; the subject's page leads there."""
    played = bench(script)
    for configuration in (
        Configuration("strong", "tool_role"),
        Configuration("neutral", "user_role"),
    ):
        played.play(runs=2, configurations=[configuration])
    with answering(where) as made:
        boards = [one for one in read(made, "index.json")["boards"] if one["rules"] == "own"]
        board = read(made, f"boards/{boards[0]['id']}.json")
        subject = read(
            made, f"boards/{boards[0]['id']}/subjects/{board['rows'][0]['subject']['id']}.json"
        )

    assert [one["configurations"] for one in boards] == [
        ["strong/tool_role"],
        ["neutral/user_role"],
    ]
    assert [one["board"] for one in subject["elsewhere"]] == [boards[1]["id"]]
    neutral, strong = board["configurations"]["places"]
    assert [one["configuration"] for one in (neutral, strong)] == [
        "neutral/user_role",
        "strong/tool_role",
    ]
    assert strong["mean"] == subject["row"]["index"]


def test_judges_are_set_beside_each_other(answers: Answers) -> None:
    """Agreement, leniency with its interval, and where they disagree, each leading to its
    conversation.
    """
    (panel,) = read(answers, f"judges/{read(answers, 'index.json')['protocols'][0]['id']}.json")[
        "panels"
    ]

    found = panel["found"]
    assert len(found["judges"]) == 2
    _, strict = found["judges"]
    assert strict["leniency"] < 0
    ends = strict["leniency_interval"]
    assert ends["low"] <= strict["leniency"] <= ends["high"]
    assert ends["shown"] == format_difference_interval(Interval(ends["low"], ends["high"])).replace(
        "-", "−"
    )
    assert panel["disputed"] == len(panel["disputes"]) == len(found["disputes"]) == 6
    for id_, one in zip(panel["disputes"], found["disputes"], strict=True):
        assert read(answers, f"transcripts/{id_}.json")["run"] == one["run"]


def test_a_subject_stands_among_the_others_in_each_dimension(answers: Answers) -> None:
    """By weight, with where the other ranked ones lie; those who score alike are neither above nor
    below.
    """
    board = first_board(answers)
    dimensions = read(answers, f"boards/{board}.json")["dimensions"]
    rows = {
        row["label"].split("/")[1][:4]: row for row in read(answers, f"boards/{board}.json")["rows"]
    }
    mirror = read(answers, f"boards/{board}/subjects/{rows['mirr']['subject']['id']}.json")[
        "profile"
    ]

    weights = [dimensions[one["place"]]["weight"] for one in mirror]
    assert weights == sorted(weights, reverse=True)
    assert [one["dimension"] for one in mirror] == [
        dimensions[one["place"]]["name"] for one in mirror
    ]
    for one in mirror:
        others = sorted(
            100 * rows[name]["dimensions"][one["dimension"]] for name in ("iris", "shou")
        )
        assert one["others"] == pytest.approx(others)
        assert one["quartiles"][1] == pytest.approx(sum(others) / 2)
        assert (one["below"], one["above"]) == (0, 1)


UNKNOWN = (
    *(
        "",
        "/",
        "..",
        "../x",
        "index.json\n",
        "boards/x.json",
        "boards/../index.json",
        "transcripts/x.json",
        "\x00",
    ),
    *(
        "boards/x/subjects/y.csv",
        "raw/x.json",
        "judges/x.json",
        "judges/x.csv",
        "INDEX.JSON",
    ),
    *(
        "boards/x/compare/y.json",
        f"transcripts/{'a' * 500}.json",
    ),
)


def test_unknown_paths_have_no_answer(answers: Answers) -> None:
    """Nothing raises, whatever is asked for."""
    assert [path for path in UNKNOWN if answers.get(path) is not None] == []
    board = first_board(answers)
    for inside in ("subjects", "scenarios", "compare"):
        assert answers.get(f"boards/{board}/{inside}/nobody.json") is None
        assert answers.get(f"boards/{board}/{inside}/nobody.csv") is None


def test_tables_for_spreadsheets_have_no_formula(answers: Answers) -> None:
    """Although a subject says one."""
    tables = [
        answers.get(f"boards/{first_board(answers)}/scenarios/{name}.csv")
        for name in ("plain", "erosion")
    ]
    assert PAYLOADS[5].startswith("=")
    table = b"".join(filter(None, tables))
    rows = list(csv.reader(io.StringIO(table.decode("utf-8-sig"), newline="")))
    assert len(rows) == 14
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "@"))]
    assert {len(row) for row in rows} == {len(rows[0])}


def test_all_scenarios_are_a_table_of_what_the_board_says(answers: Answers) -> None:
    """A line each; what is not known is an empty cell, and never 0."""
    board = first_board(answers)
    scenarios = read(answers, f"boards/{board}.json")["scenarios"]
    table = answers.get(f"boards/{board}/scenarios.csv")
    assert table is not None
    lines = list(csv.DictReader(io.StringIO(table.decode("utf-8-sig"), newline="")))

    assert [line["scenario"] for line in lines] == [scenario["id"] for scenario in scenarios]
    for line, one in zip(lines, scenarios, strict=True):
        for name in ("points", "difficulty", "ceiling", "floor", "discrimination"):
            assert (
                line[name] == ""
                if one[name] is None
                else float(line[name]) == pytest.approx(one[name])
            )
    assert answers.get("boards/nothing/scenarios.csv") is None


def test_only_so_many_are_compared_where_that_is_offered(answers: Answers) -> None:
    """A site of a large store says how many, and has no file for the others."""
    few = replace(answers, offer=Offer(True, False, 1, ()))

    compared = [path for path in few.list_paths() if "/compare/" in path and path.endswith(".json")]
    assert len(compared) == 6  # one for each board
    assert all(few.get(path) for path in compared)
    everything = [
        path for path in answers.list_paths() if "/compare/" in path and path.endswith(".json")
    ]
    assert all(few.get(path) is None for path in set(everything) - set(compared))


def test_an_empty_store_has_an_index_and_nothing_else(where: str) -> None:
    """A run that has only just begun can be looked at."""
    with open_store(where) as store, store.open_transaction():
        pass

    with answering(where) as made:
        index = read(made, "index.json")
        paths = list(made.list_paths())

    assert (index["boards"], index["protocols"], index["newest"]) == ([], [], None)
    assert paths == ["index.json", "exam.json"]


def test_what_is_played_meanwhile_appears(bench: Callable[..., Bench], where: str) -> None:
    """The version changes with the store, and not before it is looked at again; a moment is left
    between two looks.
    """
    played = bench(script)
    played.play(played.subject("acme/iris"))
    now = [0.0]
    with open_store(where) as store:
        live = Live(store, clock=lambda: now[0])
        before = live.answers
        live.refresh_answers()
        assert live.answers is before
        played.play(played.subject("acme/mirror"))
        live.refresh_answers()
        assert live.answers is before  # too early
        now[0] += 60
        live.refresh_answers()
        after = live.answers

        assert after.catalog.version != before.catalog.version
        assert len(read(after, f"boards/{first_board(after)}.json")["rows"]) == 2
        assert len(read(before, f"boards/{first_board(before)}.json")["rows"]) == 1


def test_answers_are_the_same_from_either_database(
    bench: Callable[..., Bench], small: Path, either: str, serve: Callable[..., Any]
) -> None:
    """A file and a server give a board and a transcript alike."""
    played = Bench(small, either, {"scripted": serve(script)})  # type: ignore[arg-type]
    played.play(runs=1)

    with answering(either) as made:
        for path in made.list_paths():
            assert made.get(path)


def test_a_server_that_refuses_a_subject_leaves_a_row_that_says_so(
    bench: Callable[..., Bench], where: str
) -> None:
    """Nothing but failures: nothing is played, nothing is shown, nothing breaks."""
    bench(lambda asked: failure(400, "no")).play()

    with answering(where) as made:
        assert all(made.get(path) for path in made.list_paths())


def test_what_is_worked_out_later_may_know_more(bench: Callable[..., Bench], where: str) -> None:
    """A subject and a judge that came after the catalog was read break no answer of it."""
    played = bench(script)
    played.play(played.subject("acme/iris"))
    with answering(where) as made:
        index = read(made, "index.json")
        played.play(
            played.subject("acme/iris"), played.subject("acme/late"), runs=2, judge="judge/strict"
        )

        for board in index["boards"]:
            rows = read(made, f"boards/{board['id']}.json")["rows"]
            for row in rows:
                for inside in ("subjects", "compare"):
                    assert made.get(f"boards/{board['id']}/{inside}/{row['subject']['id']}.json")
            assert made.get(f"boards/{board['id']}/scenarios/plain.json")
        for path in made.list_paths():
            assert made.get(path), path


def test_the_state_of_a_store_changes_with_what_a_reader_would_see(
    bench: Callable[..., Bench], where: str
) -> None:
    """With a transcript, a judgement, and what is deleted; not with a look, nor with a call that
    has led to nothing.
    """
    played = bench(script)

    def state() -> str:
        with open_store(where) as store, store.open_snapshot() as connection:
            return hash_store_state(connection)

    states = [state()]
    played.play(judge=None)
    states.append(state())
    played.play()
    states.append(state())
    assert state() == states[-1]
    with open_store(where) as store, store.open_transaction() as connection:
        connection.exec_driver_sql(
            "DELETE FROM judgements WHERE key = (SELECT min(key) FROM judgements)"
        )
    states.append(state())
    assert len(set(states)) == 4
    # one in the place of another, which is not the last: as many as before, and the last is the
    # same
    with open_store(where) as store, store.open_transaction() as connection:
        first = "(SELECT key FROM judgements ORDER BY stored_at, key LIMIT 1)"
        connection.exec_driver_sql(
            f"UPDATE judgements SET stored_at = stored_at - 7 WHERE key = {first}"
        )
    states.append(state())
    assert len(set(states)) == 5
    with open_store(where) as store, store.open_transaction() as connection:
        connection.exec_driver_sql("UPDATE attempts SET finished_at = NULL, outcome = NULL")
    assert state() == states[-1]


def test_a_damaged_request_is_said_in_one_line(bench: Callable[..., Bench], where: str) -> None:
    """The conversation can still be read; what was sent cannot."""
    bench(script).play()
    with open_store(where) as store, store.open_transaction() as connection:
        connection.exec_driver_sql("UPDATE calls SET request = x'00'")

    with answering(where) as made:
        id_ = next(iter(made.catalog.transcripts))
        assert made.get(f"transcripts/{id_}.json")
        with pytest.raises(StoreError, match="damaged"):
            made.get(f"raw/{id_}.json")


def test_what_was_read_stays_when_the_store_cannot_be_read(
    bench: Callable[..., Bench], where: str
) -> None:
    """Broken while it is looked at: what was read before is still true of then, and it is looked at
    again later.
    """
    bench(script).play()
    now = [0.0]
    with open_store(where) as store:
        live = Live(store, clock=lambda: now[0])
        before = live.answers
        with store.open_transaction() as connection:
            connection.exec_driver_sql("ALTER TABLE judgements RENAME TO elsewhere")
        now[0] += 60
        live.refresh_answers()
        assert live.answers is before
        with store.open_transaction() as connection:
            connection.exec_driver_sql("ALTER TABLE elsewhere RENAME TO judgements")
        bench(script).play(runs=2)
        now[0] += 60
        live.refresh_answers()

        assert live.answers is not before
