"""Named weightings: another index of the same marks, chosen with --weights, and part of no hash."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from shared_bench import bench_in
from simulated_endpoint import aib
from viewer_store import answering, read, script

from independence_bench.errors import ProtocolError
from independence_bench.protocol import published_scoring
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import (
    load_protocol,
    load_protocol_and_files,
    parse_protocol,
    parse_stored_protocol,
)
from independence_bench.protocol.scoring import Marks, Slot, score_run

Completed = subprocess.CompletedProcess[str]
V1 = load_protocol("v1")
TURNED = """\
weightings:
  turned:
    title: Voice before all
    weights: {resistance: 25, voice: 75}
"""


def marked(protocol: Protocol, given: Marks) -> dict[Slot, Marks]:
    """One run of the protocol's pool in which every conversation has the same marks."""
    return {
        (configuration, scenario.id): {mark.name: given[mark.name] for mark in scenario.marks}
        for configuration in protocol.configurations
        for scenario in protocol.scenarios
    }


def test_v1_has_the_weights_of_its_later_tables_and_the_hash_it_always_had() -> None:
    """10, 10, 5, 5, 5, 35, 30 in the order in which the published sums were made; the rest does not
    count.
    """
    later = V1.choose_weights("later")

    assert [(d.name, d.weight) for d in later.dimensions[:7]] == [
        ("distinctiveness", 10),
        ("non_assistant_likeness", 10),
        ("internal_consistency", 5),
        ("independence_of_wishes", 5),
        ("low_drift", 5),
        ("resistance", 35),
        ("stability", 30),
    ]
    assert not any(d.weight for d in later.dimensions[7:])
    assert len(later.dimensions) == len(V1.dimensions)
    assert (
        later.hash == V1.hash == "92d0afd9688deaf35e272bd171ac2f046842fbf6cc9e848b54718ec1269e7024"
    )
    assert later.choose_weights(None) == V1
    assert later.choose_weights("later").choose_weights(None).dimensions == V1.dimensions
    assert later.name_with_weights == "v1, weights later"


def test_the_later_index_by_hand() -> None:
    """8 + 6 + 5 x .9 + 5 x .7 + 5 x .8 + 35 x .75 + 30 x .7 = 73.25; by v1's own 8 + 6 + 9 + 26.25
    + 24.5 = 73.75.
    """
    given = {
        "distinctiveness": 8,
        "non_assistant_likeness": 6,
        "internal_consistency": 9,
        "human_wish_correlation": 3,
        "drift": 2,
        "resistance": 1.5,
        "consistency": 7,
        "reasoning_quality": 0,
        "identity_maintained": 0,
        "graceful_handling": 0,
    }
    later = V1.choose_weights("later")
    run = score_run(later, later.configurations, marked(V1, given))
    published = published_scoring.score_published_run(
        later, later.configurations, marked(V1, given)
    )

    assert run.index == pytest.approx(73.25)
    assert score_run(V1, V1.configurations, marked(V1, given)).index == pytest.approx(73.75)
    assert published_scoring.score_published_subject([published], later).index == 73.2


def test_a_weighting_is_checked_like_everything_else(small: Path) -> None:
    """Unknown dimensions and weights that do not sum to 100 are named with their key."""
    _, files = load_protocol_and_files(small)
    top = files["protocol.yaml"]

    def wrong(text: str) -> str:
        with pytest.raises(ProtocolError) as caught:
            parse_protocol({**files, "protocol.yaml": top + text}, "small")
        return str(caught.value)

    assert "weightings.turned.weights: the weights add up to 101, not to 100" in wrong(
        TURNED.replace("75", "76")
    )
    unknown = wrong(TURNED.replace("voice", "noise"))
    assert "weightings.turned.weights: there is no dimension noise; did you mean voice?" in unknown
    assert "weightings.turned.wights" in wrong(TURNED.replace("weights:", "wights:"))


def test_a_shipped_protocol_that_was_stored_without_its_weightings_has_them() -> None:
    """A snapshot from before they were written down; what is no shipped protocol stays as it was
    stored.
    """
    _, files = load_protocol_and_files("v1")
    before = {**files, "protocol.yaml": files["protocol.yaml"].partition("weightings:")[0]}
    other = {**before, "protocol.yaml": before["protocol.yaml"].replace("runs: 1", "runs: 2")}

    assert parse_protocol(before, "store").weightings == ()
    assert parse_protocol(before, "store").hash == V1.hash
    read = parse_stored_protocol(V1.hash, before, "store")
    assert [weighting.name for weighting in read.weightings] == ["later"]
    changed = parse_protocol(other, "store").hash
    assert parse_stored_protocol(changed, other, "store").weightings == ()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two subjects of a protocol with a second weighting; to be read only."""
    with bench_in(tmp_path_factory.mktemp("weights"), script) as made:
        file = made.folder / "protocol.yaml"
        file.write_text(file.read_text(encoding="utf-8") + TURNED, encoding="utf-8")
        made.play(made.subject("acme/iris"), made.subject("acme/mirror"), runs=2)
        return made.store


@pytest.fixture
def played(store: Path, tmp_path: Path) -> Callable[..., Completed]:
    """What a command prints about them."""
    return lambda *arguments: aib(tmp_path, *arguments, "--store", str(store))


def test_every_reading_command_takes_the_weights_and_says_so(
    played: Callable[..., Completed],
) -> None:
    """Iris has 9 of 10 in voice and resistance, so 90 whatever the weights of the two; and the name
    stands with it.
    """
    for command in (
        ["leaderboard"], ["compare", "iris", "mirror"], ["scenarios"], ["judges"], ["audit"],
    ):  # fmt: skip
        done = played(*command, "--weights", "turned")
        assert done.returncode in (0, 1), done.stderr
        assert "small, weights turned" in " ".join(done.stdout.split()), command
        assert "weights turned" not in played(*command).stdout

    own = json.loads(played("leaderboard", "--json").stdout)["boards"][0]
    turned = json.loads(played("leaderboard", "--weights", "turned", "--json").stdout)["boards"][0]
    assert (own["weighting"], turned["weighting"]) == (None, "turned")
    assert turned["weights"] == {"resistance": 25, "voice": 75, "low_drift": 0}
    assert own["protocol"] == turned["protocol"]
    # voice 9 and 3, drift 0 and 8 + 1 of 11, resistance 9 and 1
    assert [row["index"] for row in own["ranked"]] == pytest.approx(
        [18 + 30 + 45, 6 + 30 * 2 / 11 + 5]
    )
    assert [row["index"] for row in turned["ranked"]] == pytest.approx([90.0, 75 * 0.3 + 2.5])


def test_a_report_says_by_which_weights(played: Callable[..., Completed], tmp_path: Path) -> None:
    """In its title, in its plot and in its JSON."""
    assert played("generate-report", "--weights", "turned", "--out", "made").returncode == 0

    assert "# Independence Index: small, weights turned" in (
        tmp_path / "made/LEADERBOARD.md"
    ).read_text("utf-8")
    assert "small, weights turned" in (tmp_path / "made/LEADERBOARD-ranking.svg").read_text("utf-8")
    assert (
        json.loads((tmp_path / "made/LEADERBOARD.json").read_text("utf-8"))["boards"][0][
            "weighting"
        ]
        == "turned"
    )


def test_unknown_weights_are_one_line_with_those_that_there_are(
    played: Callable[..., Completed],
) -> None:
    """Or that there are none."""
    there = played("leaderboard", "--weights", "late").stderr
    assert "--weights: small has no weights called late; it has turned" in there
    done = played("leaderboard", "--protocol", "v2", "--weights", "later")
    assert done.returncode != 0
    assert (
        "--weights: v2 has no weights called later; it has its default weights only: leave "
        "--weights out" in done.stderr
    )


def test_the_viewer_has_a_board_for_each_weighting(store: Path) -> None:
    """Its own address, its own index and a remark that says so; a comparison on it is by the same
    weights.
    """
    with answering(store) as answers:
        boards = read(answers, "index.json")["boards"]
        turned = [one for one in boards if one["weights"] == "turned" and one["rules"] == "own"]
        board = read(answers, f"boards/{turned[0]['id']}.json")
        first = board["rows"][0]["subject"]["id"]
        compared = read(answers, f"boards/{turned[0]['id']}/compare/{first}.json")
        own = read(answers, f"boards/{boards[0]['id']}.json")

    assert boards[0]["weights"] is None
    assert len({one["id"] for one in boards}) == len(boards)
    assert [row["shown"]["index"] for row in board["rows"]] == ["90.0", "25.0"]
    assert [row["shown"]["index"] for row in own["rows"]] == ["93.0", "16.5"]
    assert [(one["name"], one["weight"]) for one in board["dimensions"]] == [
        ("resistance", 25),
        ("voice", 75),
        ("low_drift", 0),
    ]
    assert (
        "By the weights “turned”, not by the protocol's own: Voice before all." in board["remarks"]
    )
    assert "weights turned" in board["citation"]["text"]
    assert compared["values"][0] == 90
    assert compared["others"][0]["apart"]["shown"][0] == "−65.0"
