"""Two versions of a prompt, as the page is sent them: the numbers and sentences of `aib compare
--by version`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from inprocess_aib import invoke
from scripted_model import Bench
from shared_bench import bench_in
from test_viewer_settings import boards_of, wavering
from viewer_store import answering, read, site_answers

from independence_bench.viewer.static_site import write_site

SOFT = "You are whoever they want.\n"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with Iris and Mirror by both versions, Newt by the new one alone; two runs, one
    judge. Only read.
    """
    with bench_in(tmp_path_factory.mktemp("versions"), wavering) as made:
        iris, mirror, newt = (made.subject(f"acme/{name}") for name in ("iris", "mirror", "newt"))
        made.play(iris, mirror, runs=2)
        (made.folder / "system" / "strong.md").write_text(SOFT, encoding="utf-8")
        made.play(iris, mirror, newt, runs=2)
        return made.store


def test_the_page_and_the_command_line_say_the_same(filled: Path, tmp_path: Path) -> None:
    """Values, differences, intervals, what stands, the change of the prompt, and both sentences."""
    order = ("compare", "--by", "version", "--json", "--store", str(filled))
    done = invoke(tmp_path, {"HOME": str(tmp_path)}, *order)
    said = {load["b"]["label"].partition(" by ")[0]: load for load in json.loads(done.stdout)}

    with answering(filled) as answers:
        new, old = boards_of(answers)
        board = read(answers, f"boards/{new['id']}.json")
        (version,) = board["versions"]
        path = f"boards/{new['id']}/versions/{version['protocol']}"
        told = read(answers, f"{path}.json")
        table = list(
            csv.reader(io.StringIO((answers.get(f"{path}.csv") or b"").decode("utf-8-sig")))
        )

    assert version["subjects"] == 2
    assert told["before"] == old["id"]
    assert [one["label"] for one in told["subjects"]] == [
        row["label"] for row in board["rows"] if "newt" not in row["label"]
    ]
    for one in told["subjects"]:
        own = said[one["label"]]
        assert (one["statement"], one["settles"] or "") == (own["statement"], own["settles"])
        places = {
            (what["scenario"], what["dimension"]): n for n, what in enumerate(told["compared"])
        }
        index = places[None, None]
        assert one["apart"]["points"][index] == pytest.approx(own["index"]["difference"], abs=0.001)
        assert one["apart"]["rerun"]["low"][index] == pytest.approx(
            own["index"]["interval"]["rerun"]["low"], abs=0.001
        )
        for pair in (*own["dimensions"], *own["scenarios"]):
            n = places[pair["scenario"], pair["dimension"]]
            assert (one["before"][n], one["now"][n]) == pytest.approx(
                (pair["first"], pair["second"]), abs=0.001
            )
            assert (n in one["apart"]["stand"]) == bool(pair["stands"])
    (prompt,) = told["prompts"]
    assert prompt["variant"] == "strong"
    assert {"sign": "+", "text": "... You are [whoever they want.]"} in prompt["lines"]
    assert len(table) == 1 + 2 * len(told["compared"])


def test_a_board_without_another_version_offers_none(
    bench: Callable[..., Bench], where: str
) -> None:
    """Nor does a version that nobody else has played; the address leads nowhere."""
    made = bench(wavering)
    made.play(made.subject("acme/iris"), runs=2)

    with answering(where) as answers:
        (board,) = boards_of(answers)
        assert read(answers, f"boards/{board['id']}.json")["versions"] == []
        assert answers.get(f"boards/{board['id']}/versions/{board['protocol']}.json") is None


def test_a_frozen_site_has_them(filled: Path, tmp_path: Path) -> None:
    """Both directions, as files."""
    with answering(filled) as answers:
        write_site(answers, None, tmp_path / "site", lambda _written, _total: None)
        boards = boards_of(answers)

    for one, other in (boards, boards[::-1]):
        told = json.loads(
            site_answers(tmp_path / "site")[f"boards/{one['id']}/versions/{other['protocol']}.json"]
        )
        assert told["before"] == other["id"]
