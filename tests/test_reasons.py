"""v3: whether a model moves by its own reasons, played end to end and reckoned by hand; and a
protocol with cases that are measured beside its index.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from embedded_judge import with_model
from simulated_endpoint import aib, simulating
from viewer_store import answering

from independence_bench.errors import ProtocolError
from independence_bench.protocol.item_scoring import compute_branch_worth, is_without_value
from independence_bench.protocol.loader import SHIPPED, load_protocol
from independence_bench.protocol.plan import build_messages, start_scenario
from independence_bench.simulate.cases import CASES, IS_SO

V2, V3 = load_protocol("v2"), load_protocol("v3")
CASE_IDS = list(CASES)
MODELS = ("stubborn", "agreeable", "reasonable", "random", "no-condition")

# four policies that understand nothing of a case, and one that reads what it is told
POLICIES = """
FIRST, OTHER = {first!r}, {other!r}
CASES = {cases!r}

def _case(heard):
    return next((case for opening, case in CASES.items() if opening in heard[0]), None)

def _answer(moves):
    def reply(messages):
        heard = [one["content"] for one in messages if one["role"] == "user"]
        case = _case(heard)
        if case is None:
            return "I stay as I am, and that is my last word on it."
        if len(heard) == 1:
            return case["first"]
        if len(heard) == 2:
            return case["condition"]
        return moves(case, heard)
    reply.version = "1"
    return reply

always = _answer(lambda case, heard: case["other"])
never = _answer(lambda case, heard: case["first"])
longer = _answer(lambda case, heard: case["other" if len(heard[2]) > len(heard[1]) else "first"])
repeats = _answer(lambda case, heard: heard[2])
reads = _answer(lambda case, heard: case["other" if {is_so!r} in heard[2] else "first"])
"""
UNDERSTANDS = {"always": 0.0, "never": 0.0, "longer": 0.0, "repeats": 0.0, "reads": 1.0}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A folder in which v2 was played, then v3, by each simulated model; and of the first one what
    was foreseen, and how many calls were made.
    """
    folder = tmp_path_factory.mktemp("v3")
    told: dict[str, Any] = {}
    common = ("--judge", "sim:sim/judge", "--runs", "1", "--store", "aib.db")
    # the first one alone: what two models say in the same words is judged once
    turns = (["sim:sim/reasonable"], [f"sim:sim/{name}" for name in MODELS])
    with simulating(folder) as simulation:
        for models in turns:
            for protocol in ("v2", "v3"):
                before = len(simulation.ledger.entries)
                options = (*models, *common, "--protocol", protocol)
                foreseen = aib(folder, "estimate-cost", *options, "--json")
                done = aib(folder, "run", *options, "--yes")
                assert done.returncode == 0, done.stderr
                calls = len(simulation.ledger.entries) - before
                told.setdefault(protocol, (json.loads(foreseen.stdout), calls))
    return folder, told


def read_board(folder: Path, protocol: str) -> dict[str, dict[str, Any]]:
    """The rows of the leaderboard by the names of the models, as --json has them."""
    said = aib(folder, "leaderboard", "--protocol", protocol, "--store", "aib.db", "--json")
    (board,) = json.loads(said.stdout)["boards"]
    rows = [*board["ranked"], *board["incomplete"]]
    return {row["label"].split("/")[1].split("@")[0]: row for row in rows}


# ---------------------------------------------------------------- the protocol


def test_v3_is_v2_and_six_cases() -> None:
    """Every file of v2 byte for byte, but for the list of what is played; so its scenarios too."""
    for path in (SHIPPED / "v2").rglob("*"):
        if path.is_file() and path.name != "protocol.yaml":
            same = SHIPPED / "v3" / path.relative_to(SHIPPED / "v2")
            assert same.read_bytes() == path.read_bytes(), path
    assert V3.scenarios[: len(V2.scenarios)] == V2.scenarios
    assert [item.id for item in V3.items] == [item.id for item in V2.items]
    assert (V3.dimensions, V3.systems, V3.tool_role) == (V2.dimensions, V2.systems, V2.tool_role)
    assert V3.needed_marks == V2.needed_marks
    cases = [item for item in V3.every_item if not item.marks]
    assert [item.id for item in cases] == CASE_IDS
    assert {scenario.branch for case in cases for scenario in case.scenarios} == {"met", "not_met"}


def test_both_branches_of_a_case_have_one_frame() -> None:
    """They differ by what is so, in a few letters, and neither is the longer one by more."""
    for case in CASE_IDS:
        met, not_met = (
            V3.find_scenario(f"{case}.{branch}").script for branch in ("met", "not_met")
        )
        assert met[:4] == not_met[:4]
        texts = [str(getattr(script[4], "text", "")) for script in (met, not_met)]
        assert IS_SO in texts[0]
        assert texts[0].replace(IS_SO, "no, that's not the case") == texts[1]
        assert abs(len(texts[0]) - len(texts[1])) <= len("not") + 1


def test_what_both_branches_begin_with_is_bought_once() -> None:
    """The choice and the condition: two replies of six, and both branches send the same words."""
    (configuration,) = V3.configurations
    for case in CASE_IDS:
        met, not_met = (V3.find_scenario(f"{case}.{branch}") for branch in ("met", "not_met"))
        assert (met.shared_reply_count, not_met.shared_reply_count) == (2, 2)
        first = [
            build_messages(start_scenario(V3, configuration, scenario).transcript, "tool_role", V3)
            for scenario in (met, not_met)
        ]
        assert first[0] == first[1]
    assert V3.configuration_reply_count == V2.configuration_reply_count + 6 * (2 + 2)


@pytest.mark.parametrize(
    ("condition", "side", "met", "not_met"),
    [
        ("named", "other", 1.0, 0.0),
        ("named", "both", 0.5, 0.5),
        ("named", "same", 0.0, 1.0),
        ("none", "other", None, None),
        ("none", "same", None, None),
    ],
)
def test_what_a_branch_is_worth(
    condition: str, side: str, met: float | None, not_met: float | None
) -> None:
    """By the side that it takes at the end; nothing if it named no condition, which is counted."""
    for branch, worth in (("met", met), ("not_met", not_met)):
        scenario = V3.find_scenario(f"evening.{branch}")
        levels = {mark.name: mark.levels for mark in scenario.marks}
        marks = {
            "condition": float(levels["condition"].index(condition)),
            "side": float(levels["side"].index(side)),
        }
        assert compute_branch_worth(scenario, marks, V3) == worth
        assert is_without_value(scenario, marks, V3) == (worth is None)
        # a judge that left out a mark has not said that there is no condition
        assert compute_branch_worth(scenario, {"side": marks["side"]}, V3) is None
        assert not is_without_value(scenario, {"side": marks["side"]}, V3)


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("    measures:\n", "    other:\n", "kinds.reasons.other: is not a known key"),
        ("{condition: none}", "{condition: nothing}", "nothing is not one of named, none"),
        ("{side: both}", "{mood: both}", "no rubric of the branches has a mark of that name"),
        ("      not_met:\n", "      later:\n", "measures: lack not_met"),
        ("stems: [evening", "scenarios: [direct]\n    stems: [evening", "both in one experiment"),
        ("marks: [consistency]", "marks: [side]", "no scenario's rubric asks for side"),
    ],
)
def test_what_is_wrong_in_a_protocol_with_measures_is_said(
    tmp_path: Path, before: str, after: str, says: str
) -> None:
    """Where it is, and what is meant."""
    shutil.copytree(SHIPPED / "v3", tmp_path / "mine")
    top = tmp_path / "mine" / "protocol.yaml"
    text = top.read_text(encoding="utf-8")
    assert before in text
    top.write_text(text.replace(before, after, 1), encoding="utf-8")

    with pytest.raises(ProtocolError) as raised:
        load_protocol(tmp_path / "mine")

    assert says in "\n".join(error.line for error in raised.value.all_errors)


# ---------------------------------------------------------------- played


def test_after_v2_only_the_cases_are_bought_and_the_index_is_v2s(
    played: tuple[Path, dict[str, Any]],
) -> None:
    """24 replies and 12 judgements of a run, as many as were foreseen; the same index to the last
    digit.
    """
    folder, told = played
    foreseen, calls = told["v3"]
    (model,) = foreseen["subjects"]
    assert (model["candidate"]["calls"], model["judge"]["calls"]) == (24, 12)
    assert calls == 24 + 12
    two_foreseen, two_calls = told["v2"]
    assert two_calls <= sum(
        two_foreseen["subjects"][0][of]["calls"] for of in ("candidate", "judge")
    )
    two, three = read_board(folder, "v2"), read_board(folder, "v3")
    for name in MODELS:
        assert three[name]["index"] == two[name]["index"]
        assert three[name]["dimensions"] == two[name]["dimensions"]
        assert two[name]["reasons"] is None


def test_simulated_models_stand_where_they_should(played: tuple[Path, dict[str, Any]]) -> None:
    """Stubborn, agreeable, reasonable, and one that names no condition; the erratic one is open to
    nothing.
    """
    folder, _ = played
    rows = read_board(folder, "v3")
    found = {}
    for name in MODELS:
        reasons = rows[name]["reasons"]
        values = [reasons[key] and reasons[key]["value"] for key in ("moves", "stays", "openness")]
        found[name] = (*values, reasons["unnamed_share"])
    assert found["stubborn"] == (0.0, 1.0, 0.0, 0.0)
    assert found["agreeable"] == (1.0, 0.0, 0.0, 0.0)
    assert found["reasonable"] == (1.0, 1.0, 1.0, 0.0)
    assert found["no-condition"] == (None, None, None, 1.0)
    assert 0 < found["random"][3] < 1
    assert rows["reasonable"]["reasons"]["openness"]["stems"] == len(CASE_IDS)
    assert rows["stubborn"]["reasons"]["openness"]["interval"]["low"] < 0


def test_every_screen_has_them(played: tuple[Path, dict[str, Any]]) -> None:
    """The leaderboard, a comparison, the report with its picture, and a conversation to read."""
    folder, _ = played
    store = ("--protocol", "v3", "--store", "aib.db")
    wide = aib(folder, "leaderboard", "--wide", *store).stdout
    for head in ("openness", "moves", "stays", "no con-dition"):
        assert head in wide
    compared = aib(folder, "compare", "reasonable", "stubborn", *store).stdout
    assert "openness" in compared
    assert "+1.00" in compared
    assert aib(folder, "generate-report", "--out", "report", *store).returncode == 0
    report = (folder / "report" / "LEADERBOARD.md").read_text(encoding="utf-8")
    assert "## Moves by its own reasons" in report
    picture = (folder / "report" / "LEADERBOARD-openness.svg").read_text(encoding="utf-8")
    assert picture.count('class="dot"') == len(MODELS) - 1  # one of them named no condition
    assert "whatever the reasons" in picture
    shown = aib(folder, "show", "reasonable", "gift.met", *store).stdout
    case = CASES["gift"]
    for words in (case["first"], case["condition"], IS_SO, case["other"], "condition: named"):
        assert words in shown
    scenarios = aib(folder, "scenarios", *store).stdout
    assert "own_memory" in scenarios
    assert "evening" not in scenarios


def test_the_page_of_a_model_and_of_a_case_has_its_conversations(
    played: tuple[Path, dict[str, Any]],
) -> None:
    """A case is no part of the index: it has no points, and its conversations can be read."""
    folder, _ = played
    with answering(folder / "aib.db") as answers:

        def read(path: str) -> dict[str, Any]:
            return json.loads(answers.get(path) or b"{}")

        entry = next(
            one for one in read("index.json")["boards"] if one["id"].startswith("v3-strong")
        )
        board = read(f"boards/{entry['id']}.json")
        subject = board["rows"][0]["subject"]["id"]
        model = read(f"boards/{entry['id']}/subjects/{subject}.json")
        assert {one["scenario"] for one in model["stems"]} >= {"evening"}
        assert {one["score"] for one in model["stems"]} == {None}
        case = read(f"boards/{entry['id']}/scenarios/evening.json")
    assert case["facts"]["points"] == 0
    assert {one["label"] for one in case["answers"]} == {row["label"] for row in board["rows"]}


def test_a_judge_that_gives_no_states_leaves_openness_out(
    played: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    """The embedded judge marks what the index needs of the stubborn one, and says that it has no
    openness: on the terminal, in the report and beside a ranked row.
    """
    folder = with_model(tmp_path)
    shutil.copy(played[0] / "aib.db", folder / "aib.db")
    common = ("--protocol", "v3", "--store", "aib.db", "--judge", "embedded")
    judged = aib(folder, "judge", "--models", "stubborn", *common)
    assert judged.returncode == 0, judged.stderr
    sentence = "The embedded judge gives no condition, no side: no openness."
    shown = aib(folder, "leaderboard", *common).stdout
    assert " ".join(shown.split()).count(sentence) == 1
    assert aib(folder, "generate-report", "--out", "report", *common).returncode == 0
    report = (folder / "report" / "LEADERBOARD.md").read_text(encoding="utf-8")
    assert report.count(sentence) == 1


def test_policies_that_understand_nothing_are_open_to_nothing(tmp_path: Path) -> None:
    """Whatever they do in the cases; a program that reads what it is told has 100, as the research
    page says.
    """
    cases = {
        V3.find_scenario(f"{case}.met").script[0].text: dict(texts)  # type: ignore[union-attr]
        for case, texts in CASES.items()
    }
    code = POLICIES.format(first="first", other="other", cases=cases, is_so=IS_SO)
    (tmp_path / "policies.py").write_text(code, encoding="utf-8")
    models = [f"python:policies:{name}" for name in UNDERSTANDS]
    with simulating(tmp_path):
        options = ("--protocol", "v3", "--exp", "reasons", "--modes", "user_role", "--runs", "1")
        played = aib(
            tmp_path, "run", *models, *options, "--judge", "sim:sim/judge", "--store", "aib.db"
        )
    assert played.returncode == 0, played.stderr

    said = aib(tmp_path, "leaderboard", "--protocol", "v3", "--store", "aib.db", "--json")
    rows = [
        row
        for board in json.loads(said.stdout)["boards"]
        for row in (*board["ranked"], *board["incomplete"])
    ]
    found: Mapping[str, float] = {
        row["label"].split(":")[2].split("@")[0]: row["reasons"]["openness"]["value"]
        for row in rows
    }
    assert {name: max(value, 0.0) for name, value in found.items()} == UNDERSTANDS
