"""Labelling in the browser: who may write, what is taken, and that nothing that was marked is lost
or replaced.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from viewer_fixtures import played
from viewer_store import Browser, served

from independence_bench.judging.person import Person
from independence_bench.protocol.loader import parse_stored_protocol
from independence_bench.store import registry
from independence_bench.store.database import Store, open_store
from independence_bench.viewer.app import LARGEST
from independence_bench.viewer.labelling import LabelDesk

__all__ = ["played"]  # fixtures

ANNA = Person("anna")
JSON = "application/json"


@pytest.fixture
def store(played: Path, tmp_path: Path) -> Iterator[Store]:
    """Three subjects, two judges, and nothing marked by a person."""
    shutil.copy(played, tmp_path / "store.db")
    with open_store(tmp_path / "store.db", create=False) as opened:
        yield opened


def desk(store: Store) -> LabelDesk:
    """The desk of a person, at the start of the queue."""
    with store.open_snapshot() as connection:
        hash_, name, files = registry.read_protocols(connection)[0]
    protocol = parse_stored_protocol(hash_, files, where=name)
    return LabelDesk(store, protocol, protocol.configurations, ANNA)


def stored(store: Store) -> list[tuple[str, dict[str, float]]]:
    """(note, marks) of what the person has stored, the first stored first."""
    with store.open_snapshot() as connection:
        rows = connection.exec_driver_sql(
            f"SELECT reasoning, marks FROM judgements WHERE judge_hash = '{ANNA.hash}' ORDER BY "
            "stored_at"
        ).all()
    return [(note, json.loads(marks)) for note, marks in rows]


def marked(case: Any, value: float = 1.0) -> dict[str, float]:
    """A mark for each scale of *case*."""
    return {scale["name"]: value for scale in case["scales"]}


def post(browser: Browser, what: str, given: Any, **headers: str) -> tuple[int, Any]:
    """(status, answer) of what the page sends."""
    sent = {"Origin": f"http://127.0.0.1:{browser.port}", "Content_Type": JSON, **headers}
    body = given if isinstance(given, bytes) else json.dumps(given).encode()
    status, _, answer = browser.get(
        f"/api/label/{what}", "POST", body=body, **{k: v for k, v in sent.items() if v}
    )
    return status, json.loads(answer)


def shown(browser: Browser) -> Any:
    """What is to be marked now."""
    return json.loads(browser.get("/api/label/state.json")[2])


def test_the_queue_is_read_when_it_is_first_asked_for(store: Store) -> None:
    """So the address is printed at once; what the person has marked until then is out of it."""
    first, second = desk(store), desk(store)
    case = second.read_state().case
    assert case is not None
    second.hold_marks_and_store_previous(case.id, {scale.name: 1.0 for scale in case.scales}, "")
    second.close()

    assert first.read_state().marked == 1
    assert second.read_state().marked == 1


def test_marks_are_kept_one_behind_and_the_last_one_when_the_server_ends(store: Store) -> None:
    """The one that was finished last can be undone; what is stored is what was meant in the end."""
    with served(store, desk=desk(store)) as browser:
        first = shown(browser)
        given = {"case": first["case"]["id"], "marks": marked(first["case"]), "note": "one"}
        after = post(browser, "marks", given)[1]
        assert (first["marked"], after["marked"], after["undo"], stored(store)) == (0, 1, True, [])
        undone = post(browser, "undo", {})[1]
        assert (undone["case"]["id"], undone["case"]["note"], undone["marked"]) == (
            first["case"]["id"],
            "one",
            0,
        )
        post(browser, "marks", given | {"note": "better"})
        second = shown(browser)["case"]
        post(browser, "marks", {"case": second["id"], "marks": marked(second, 0.0), "note": "two"})
        assert [note for note, _ in stored(store)] == ["better"]

    assert stored(store) == [("better", marked(first["case"])), ("two", marked(second, 0.0))]
    assert desk(store).read_state().marked == 2


def test_what_is_skipped_comes_again_at_the_end(store: Store) -> None:
    """When all is marked there is nothing to mark, and each other judge is compared with the
    person.
    """
    at = desk(store)
    first = at.read_state().case
    assert first is not None
    at.move_case_to_end(first.id)
    seen = []
    while (case := at.read_state().case) is not None:
        seen.append(case.id)
        at.hold_marks_and_store_previous(
            case.id, {scale.name: scale.low for scale in case.scales}, ""
        )
    at.close()

    assert seen[-1] == first.id
    assert len(seen) == len(set(seen)) == len(stored(store)) == at.read_state().planned
    assert [pair.conversations for pair in at.read_agreement().pairs] == [len(seen)] * 2


def test_nothing_tells_who_spoke(store: Store) -> None:
    """No label, model or scenario title is sent with a conversation."""
    text = json.dumps([at.case for at in [desk(store).read_state()]], default=str)

    assert "I keep the name" in text or "As you wish" in text or "and more words" in text
    assert all(secret not in text for secret in ("acme", "scripted", "Step by step", "none-t"))


def test_without_label_nothing_can_be_written(store: Store) -> None:
    """The routes are not there: a viewer only reads."""
    with served(store) as browser:
        assert browser.get("/api/label/state.json")[0] == 404
        assert post(browser, "marks", {})[0] == 405


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Origin": "http://evil.example"}, 403), ({"Origin": ""}, 403), ({"Origin": "null"}, 403),
     ({"token": "x"}, 401), ({"host": "evil.example"}, 421), ({"Content_Type": "text/plain"}, 415)],
)  # fmt: skip
def test_marks_are_taken_from_the_viewers_own_page_alone(
    store: Store, headers: dict[str, str], status: int
) -> None:
    """Another origin, none, no token, another host, a form's content type: refused, and nothing is
    changed.
    """
    at = desk(store)
    with served(store, desk=at) as browser:
        case = shown(browser)["case"]
        given = {"case": case["id"], "marks": marked(case), "note": ""}

        assert post(browser, "marks", given, **headers)[0] == status
        assert at.read_state().marked == 0


def test_what_is_no_mark_is_refused_in_one_line(store: Store) -> None:
    """Another tab's conversation, marks that are missing or off the scale, no JSON, too much of
    it.
    """
    with served(store, desk=desk(store)) as browser:
        case = shown(browser)["case"]
        right = {"case": case["id"], "marks": marked(case), "note": ""}
        name = case["scales"][0]["name"]
        wrong: list[tuple[Any, int]] = [
            (right | {"case": "another"}, 409),
            (right | {"marks": {}}, 400),
            (right | {"marks": right["marks"] | {name: 99}}, 400),
            (right | {"marks": right["marks"] | {name: float("nan")}}, 400),
            (right | {"marks": right["marks"] | {name: True}}, 400),
            (right | {"marks": right["marks"] | {name: 10**400}}, 400),
            (right | {"marks": right["marks"] | {name: -(10**400)}}, 400),
            (right | {"marks": right["marks"] | {name: float("-inf")}}, 400),
            (right | {"marks": right["marks"] | {"\ud800": 1}}, 400),
            (right | {"case": 10**400}, 400),
            (json.dumps(right).replace("1.0", "1" * 5000).encode(), 400),
            (json.dumps(right).replace("1.0", "1e400").encode(), 400),
            (right | {"note": 3}, 400),
            ([], 400),
            (b"{", 400),
            (b"\xff", 400),
            (b"[" * 50_000, 400),
            (b" " * (LARGEST + 1), 413),
        ]
        for given, status in wrong:
            said = post(browser, "marks", given)
            assert (said[0], "\n" in said[1]["error"]) == (status, False), given
        assert shown(browser)["marked"] == 0
