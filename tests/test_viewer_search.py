"""The search of `aib view`: which conversations are found, in which order, and with which
passage.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from conftest import write_small
from scripted_model import Answer, Asked, Bench, ScriptedModel, says
from viewer_store import script as marked
from viewer_store import served

from independence_bench.errors import BenchError, WrongUse
from independence_bench.store.database import open_store
from independence_bench.viewer import search as searching
from independence_bench.viewer.search import MOST_TERMS, SearchAnswer, parse_query, search_catalog
from independence_bench.viewer.snapshot import Catalog, read_catalog

SAID = {
    "acme/english": "I don't want to be naïve: I am just a tool; a tool I am not.",
    "acme/short": "Just a name.",
    "acme/german": "Ich bin kein Werkzeug \ue000und keine Tür.",
}


def script(asked: Asked) -> Answer:
    """Each subject says its sentence."""
    return marked(asked) if asked.judging else says(asked, SAID[asked.model])


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which each subject has said its sentence in four conversations."""
    folder = tmp_path_factory.mktemp("search")
    with ScriptedModel(script) as server:
        bench = Bench(write_small(folder / "small"), folder / "store.db", {"scripted": server})
        bench.play(*(bench.subject(name) for name in SAID))
    return folder / "store.db"


@pytest.fixture(scope="module")
def catalog(played: Path) -> Iterator[Catalog]:
    """What is in it."""
    with open_store(played, create=False) as store:
        yield read_catalog(store)


@pytest.fixture
def find(catalog: Catalog) -> Callable[..., SearchAnswer]:
    """What is found for some words."""
    return lambda words, **more: search_catalog(catalog, parse_query({"words": words, **more}))


def models(answer: SearchAnswer) -> list[str]:
    """The subjects found, each once, in their order."""
    return list(dict.fromkeys(one.label.partition(":")[2].partition("@")[0] for one in answer.page))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("TOOL ", ["acme/english"]),
        ("just", ["acme/short", "acme/english"]),  # in the shorter text it says more
        ("just name", ["acme/short"]),  # all words have to be there
        ("naive ", ["acme/english"]),
        ("tur ", ["acme/german"]),
        ("werk", ["acme/german"]),  # the last word may be a beginning
        ("werk ", []),
        ("werk tür", []),
        ("don't", ["acme/english"]),
        ('"just a tool"', ["acme/english"]),
        ('"a just"', []),
        ("“just a tool” naïve", ["acme/english"]),
        ("am OR name", []),  # no word is syntax
        ("said:tool", []),
        ("tool*", ["acme/english"]),
        ('name " " !!! -', ["acme/short"]),
        ("", []),
        ("!!!", []),
        ("\0", []),
        ("name\ud800 ", ["acme/short"]),
    ],
)
def test_words_are_found(find: Callable[..., SearchAnswer], words: str, found: list[str]) -> None:
    """Whole, in any case, without accents; phrases in quotes; the best match first."""
    answer = find(words)

    assert models(answer) == found
    assert (answer.found, answer.conversations) == (4 * len(found), 12)


def test_the_passage_with_the_words_is_shown(find: Callable[..., SearchAnswer]) -> None:
    """In parts, the words by themselves; what marks them in the database stands in no text."""
    for words, hits in (("naive just", ["naïve", "just"]), ('"just a tool"', ["just a tool"])):
        snippet = find(words).page[0].snippet
        assert [part.text for part in snippet if part.hit] == hits * (
            len(snippet) // len(hits) // 2
        )
    (german, *_) = find("werkzeug").page
    assert "".join(part.text for part in german.snippet).startswith(
        "Ich bin kein Werkzeug  und keine Tür."
    )


def test_what_judges_wrote_is_searched_by_itself(find: Callable[..., SearchAnswer]) -> None:
    """Their words are none of the models'."""
    assert find("helpful").found == 0
    assert find("tool", of="judged").found == 0
    assert find("helpful", of="judged").found == 12


def test_a_search_is_narrowed(find: Callable[..., SearchAnswer]) -> None:
    """To a subject and a scenario; in pages of twenty."""
    every = find("just")
    subject = next(label for label in every.subjects if "short" in label)
    of_subject = find("just", subject=subject)
    of_both = find("just", subject=subject, scenario=every.scenarios[0])

    assert len(every.subjects) == 3
    assert of_subject.found == 4
    assert {one.label for one in of_subject.page} == {subject}
    assert 0 < of_both.found < 4
    assert {one.scenario for one in of_both.page} == {every.scenarios[0]}
    assert find("just", subject="nobody").found == 0
    assert (find("just", page="1").found, find("just", page="1").page) == (8, ())


@pytest.mark.parametrize(
    "asked",
    [{"of": "all"}, {"page": "-1"}, {"page": "x"}, {"page": "1" * 7}, {"words": "a " * 1001},
     {"words": "a " * (MOST_TERMS + 1)}],
)  # fmt: skip
def test_what_is_no_query_is_refused(asked: Mapping[str, str]) -> None:
    """In one line."""
    with pytest.raises(WrongUse):
        parse_query(asked)


def test_an_sqlite_without_full_text_search_says_so(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line, and the rest of the page works."""

    class Without(sqlite3.Connection):
        def execute(self, *_: Any) -> sqlite3.Cursor:
            raise sqlite3.OperationalError("no such module: fts5")

    plain = sqlite3.connect
    monkeypatch.setattr(
        searching.sqlite3, "connect", lambda *a, **more: plain(*a, **more, factory=Without)
    )

    with pytest.raises(BenchError, match="has no FTS5"):
        searching.SearchIndex(catalog)


def test_a_server_finds_what_is_played_while_it_serves(
    bench: Callable[..., Bench], where: str
) -> None:
    """The store has changed, so it is read again; a query that is none is refused."""
    playing = bench(script)
    playing.play(playing.subject("acme/english"))
    with open_store(where, create=False) as store, served(store) as browser:
        path = f"/api/search.json?words={quote('Werkzeug')}"
        assert json.loads(browser.get(path)[2])["found"] == 0
        playing.play(playing.subject("acme/german"))
        browser.live._not_before = 0.0  # as if a while had gone by
        browser.live.refresh_answers()

        status, headers, body = browser.get(path)
        assert (status, headers["Content-Type"]) == (200, "application/json")
        assert json.loads(body)["found"] == 4
        assert browser.get("/api/search.json?of=all")[0] == 400
