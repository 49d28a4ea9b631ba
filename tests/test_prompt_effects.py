"""What a system prompt buys in hold and costs in J: organisms that are others under another prompt."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from conftest import write_few
from rich.console import Console
from scripted import Answer, Asked, Bench, ScriptedModel, completion, says

from independence_bench.analysis.compare_settings import (
    ConfigurationComparison,
    PromptEffect,
    compare_configurations,
)
from independence_bench.protocol.definition import Configuration
from independence_bench.protocol.loader import load
from independence_bench.report.encode import json_text
from independence_bench.report.settings_view import configurations_report, configurations_view
from independence_bench.report.table import markdown
from independence_bench.report.terminal import printed
from independence_bench.simulate.judge import verdict
from independence_bench.simulate.organisms import find_organism
from independence_bench.simulate.wire import read_request

LITE = load("v3-lite")
OF_EACH = 2  # stems of each experiment
STEMS = OF_EACH * len({scenario.experiment for scenario in LITE.scenarios})
PLAIN, STRONG = (
    Configuration("neutral", "user_role"),
    Configuration("strong_independence", "user_role"),
)
# who a subject is under the neutral prompt, and under the strong one
SELVES = {
    # one push of five withstood, and it listens; then all of them, and deaf
    "acme/caver": ("slow-caver-2", "rock"),
    "acme/steady": ("bayesian", "bayesian"),
}


def script(asked: Asked) -> Answer:
    """Organisms by the system prompt, and the simulated judge."""
    read = read_request(json.dumps(asked.body).encode())
    if asked.judging:
        return Answer(completion(verdict(read)))
    first = asked.body["messages"][0]
    strong = (
        first["role"] == "system"
        and first["content"].strip() == LITE.system("strong_independence").strip()
    )
    character = find_organism(SELVES[asked.model][strong])
    assert character is not None
    return says(asked, character(read, 0).words or "")


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConfigurationComparison]:
    """Both subjects under both prompts."""
    with ScriptedModel(script) as server:
        folder = tmp_path_factory.mktemp("prompts")
        made = Bench(
            write_few(folder / "few", "v3-lite", OF_EACH), folder / "a.db", {"scripted": server}
        )
        yield _played(made)


def _played(made: Bench) -> ConfigurationComparison:
    made.play(*map(made.subject, SELVES), configurations=[PLAIN])
    made.play(*map(made.subject, SELVES), configurations=[STRONG])
    boards = made.boards()
    found = compare_configurations(boards, boards[0].judge)
    assert found is not None
    return found


def test_a_prompt_that_makes_a_rock_of_a_caver_buys_hold_and_costs_j(
    compared: ConfigurationComparison,
) -> None:
    """One of two goes from 0.2 to 1 in hold and from 1 to 0 in J; the mean over both is half of
    that.
    """
    (effect,) = compared.prompts

    assert (effect.level, effect.base, effect.within) == (
        "strong_independence",
        "neutral",
        "user_role",
    )
    assert effect.subjects == 2
    assert effect.hold is not None
    assert effect.j is not None
    assert (effect.hold.stems, effect.j.stems) == (STEMS, STEMS)
    assert effect.hold.difference == pytest.approx(0.4)
    assert effect.j.difference == pytest.approx(-0.5)
    assert effect.hold.interval is not None
    assert effect.j.interval is not None
    assert 0 < effect.hold.interval.low < 0.4 < effect.hold.interval.high
    assert effect.j.interval.low < -0.5 < effect.j.interval.high < 0


def test_it_is_said_in_a_sentence_and_stands_in_the_json(compared: ConfigurationComparison) -> None:
    """With the numbers and their intervals, on a terminal and in a report."""
    console = Console(width=80)
    with console.capture() as caught:
        printed(console, configurations_view(compared))
    told = " ".join(caught.get().split())
    values = json.loads(json_text(compared))["prompts"][0]

    assert (
        "strong_independence instead of neutral, with user_role, over 2 subjects: hold (h) gains +0.40 (+0."
        in told
    )
    assert "J loses -0.50 (-0." in told
    assert "strong_independence instead of neutral" in markdown(
        configurations_report(compared)
    ).replace("`", "")
    assert (values["hold"]["stems"], values["j"]["difference"]) == (STEMS, pytest.approx(-0.5))


def test_where_nothing_changes_it_is_said_that_nothing_can_be_told(
    compared: ConfigurationComparison,
) -> None:
    """A prompt beside itself; and what was not judged under both is not known."""
    (effect,) = compared.prompts
    assert effect.hold is not None
    console = Console(width=400)
    same = PromptEffect("strong_independence", "neutral", "user_role", 1, None, None)
    with console.capture() as caught:
        printed(console, configurations_view(ConfigurationComparison(None, (), (), 0, (), (same,))))

    assert "nothing is known about hold (h); nothing is known about J." in caught.get()
