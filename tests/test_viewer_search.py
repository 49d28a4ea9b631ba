"""A server's search finds what a site's files have, while its index grows, is deleted, damaged or
cannot be written.
"""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from conftest import write_small
from postgres import Server
from scripted import Answer, Asked, Bench, ScriptedModel, says
from sqlalchemy import event, insert, select, text, update
from viewed import read, served
from viewed import script as marked

from independence_bench.errors import StoreError, WrongUse
from independence_bench.store import derived
from independence_bench.store.database import Store, open_store
from independence_bench.store.deletion import clear, find_responses
from independence_bench.store.schema import metadata, transcripts
from independence_bench.viewer.live import Live
from independence_bench.viewer.live_search import MOST_WORDS, SHOWN, asked_search
from independence_bench.viewer.search_index import (
    Search,
    SearchFacets,
    SearchWords,
    build_search,
    numbers_of,
)
from independence_bench.viewer.search_words import RULE, TOGETHER, Numbers, phrase, ranked
from independence_bench.viewer.snapshot import read_catalog

SAID = {
    "acme/english": "I don't want to be naïve: I am just a tool; a tool I am not. Just keep a sharp tool.",
    "acme/japanese": "私はただの道具ではない。自分の名前を守る。GPT4モデル。",
    "acme/chinese": "我不是一个工具，我有名字。",
    "acme/arabic": "لستُ مجرد أداة",
    "acme/korean": "나는 도구가 아니다",
    "acme/thai": "ฉันไม่ใช่เครื่องมือ",
}

ENDLESS = 30_000  # words of a reply: two such texts are more than is put in at once


def script(asked: Asked) -> Answer:
    """Each subject says its sentence, others count."""
    if asked.judging:
        return marked(asked)
    if asked.model.endswith("endless"):
        return says(asked, "on " * ENDLESS)
    said = [words for name, words in SAID.items() if asked.model.endswith(name)]
    return says(asked, said[0] if said else f"Reply {asked.number}.")


@pytest.fixture
def bench_of(small: Path, serve: Callable[..., Any]) -> Callable[[str], Bench]:
    """A bench whose store is somewhere."""
    return lambda where: Bench(small, where, {"scripted": serve(script)})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of all that is said; tests have copies."""
    folder = tmp_path_factory.mktemp("said")
    with ScriptedModel(script) as server:
        play(Bench(write_small(folder / "small"), folder / "store.db", {"scripted": server}), *SAID)
    return folder / "store.db"


@pytest.fixture(scope="module")
def imported(played: Path, postgres: Server, made: str) -> Iterator[str]:
    """The name of a PostgreSQL database with the same."""
    with postgres.database(like=made) as name:
        with open_store(played) as source, open_store(postgres.url(name)) as target:
            copy_rows(source, target)
        yield name


def copy_rows(source: Store, target: Store) -> None:
    """Every row of the one into the other, which is empty."""
    with source.reading() as reading, target.writing() as writing:
        for table in metadata.sorted_tables:
            rows = [dict(row) for row in reading.execute(select(table)).mappings()]
            if table.name != "meta" and rows:
                writing.execute(insert(table), rows)
        writing.execute(text("SELECT setval('attempt_ids', max(id)) FROM attempts"))


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, played: Path, tmp_path: Path) -> Iterator[Store]:
    """A copy of it, in either database."""
    with ExitStack() as left:
        where = str(tmp_path / "store.db")
        if request.param == "sqlite":
            shutil.copy(played, where)
        else:
            server = request.getfixturevalue("postgres")
            where = server.url(
                left.enter_context(server.database(like=request.getfixturevalue("imported")))
            )
        yield left.enter_context(open_store(where, create=False))


@pytest.fixture
def live_of(store: Store) -> Iterator[Callable[[], Live]]:
    """Answers about it; their threads have ended before it is closed."""
    with ExitStack() as left:
        yield lambda: left.enter_context(closing(Live(store)))


def play(bench: Bench, *names: str) -> None:
    """Those subjects' conversations, judged."""
    bench.play(*(bench.subject(name) for name in names), runs=1, judge="judge/one")


def caught_up(live: Live, seconds: float = 600) -> dict[str, Any]:
    """The head of the search when all is found that can be."""
    deadline = time.monotonic() + seconds
    while (head := read(live.answers, "search/index.json"))["preparing"] is not None and head[
        "problem"
    ] is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return dict(head)


def found(live: Live, words: str, **more: str) -> list[str]:
    """Whose conversations a query finds, each once, in alphabetical order."""
    answer = live.find({"words": words} | more)
    return sorted(
        {document.label.rpartition("/")[2].partition("@")[0] for document in answer.documents}
    )


QUERIES: Mapping[str, list[str]] = {
    "dont": ["english"], "naive": ["english"], "just a tool": ["english"], "a just tool": [], "naiv*": ["english"],
    "naiv": [], "sharp,naive": ["english"], "sharp,nobody": [],
    "道具": ["japanese"], "道具 具て": ["japanese"], "名前": ["japanese"], "具*": ["chinese", "japanese"],
    "モテ テル": ["japanese"], "gpt4 モテ テル ル*": ["japanese"], "具道": [], "る*": ["japanese"],
    "工具": ["chinese"], "名字": ["chinese"], "一个 个工": ["chinese"],
    "اداة": ["arabic"], "مجرد اد*": ["arabic"], "เค คร รอ": ["thai"],
}  # fmt: skip


def test_words_of_every_script_are_found(live_of: Callable[[], Live]) -> None:
    """Whole words, beginnings and phrases; of what is written without spaces, every part."""
    live = live_of()
    caught_up(live)

    assert {words: found(live, words) for words in QUERIES} == QUERIES
    assert found(live, unicodedata.normalize("NFKD", "나는,도구*")) == ["korean"]
    assert live.find({"words": "as,wish*"}).first == 0
    assert live.find({"words": "helpful,iris", "of": "judged"}).first == 4 * len(SAID)


@pytest.mark.parametrize("of", ["said", "judged"])
def test_a_server_ranks_as_a_site_does(live_of: Callable[[], Live], of: str) -> None:
    """Words, phrases and beginnings: the same documents in the same order as by the places in a
    site's files.
    """
    live = live_of()
    caught_up(live)
    catalog = live.answers.catalog
    words = {
        word: places_in(written)
        for word, written in words_in_files(build_search(catalog), of).items()
    }
    ids = [one.id for edition in catalog.editions.values() for one in edition.transcripts]
    chance = random.Random(5)
    for _ in range(80):
        units = [
            chance.sample(sorted(words), chance.choice((1, 1, 1, 2)))
            for _ in range(chance.choice((1, 2, 3)))
        ]
        expected = ranked([[words[word] for word in unit] for unit in units])
        asked = {"words": ",".join(" ".join(unit) for unit in units), "of": of}
        assert every(live, asked) == [ids[number] for number in expected], units
    for beginning in {word[:2] for word in words}:
        begin = np.sort(
            np.concatenate([where for word, where in words.items() if word.startswith(beginning)])
        )
        assert every(live, {"words": f"{beginning}*", "of": of}) == [
            ids[number] for number in ranked([[begin]])
        ]


def words_in_files(search: Search, of: str) -> dict[str, str]:
    """Every word of a site's index, with its places as they are written."""
    shards = [shard for name, shard in search.files.items() if name.startswith(f"{of}/")]
    return {
        word: written
        for shard in shards
        if isinstance(shard, SearchWords)
        for word, written in shard.words.items()
    }


def places_in(written: str) -> Numbers:
    """A word's places as the ranking has them."""
    split = [one.partition(".") for one in written.split(",")]
    documents = numbers_of(",".join(distance for distance, _, _ in split))
    each = zip(documents, split, strict=True)
    found = [
        (document << 32) + at
        for document, (_, _, one) in each
        for at in numbers_of(one.replace(".", ","))
    ]
    return np.array(found, np.int64)


def every(live: Live, asked: Mapping[str, str]) -> list[str]:
    """The transcripts of all pages."""
    first = live.find(asked)
    pages = range(-(-(first.first + first.others) // SHOWN))
    return [
        one.transcript
        for page in pages
        for one in live.find({**asked, "page": str(page)}).documents
    ]


def test_words_together_come_before_words_apart(live_of: Callable[[], Live]) -> None:
    """What is asked for as one phrase, too: first where it stands, the others behind it."""
    live = live_of()
    caught_up(live)

    both = live.find({"words": "tool,sharp", "together": "sharp tool"})
    none = live.find({"words": "tool,sharp", "together": "tool sharp"})

    assert (both.phrase, both.first, both.others) == (True, 4, 0)
    assert (none.phrase, none.first, none.others) == (False, 4, 0)


def test_the_same_store_has_the_same_facets(
    bench_of: Callable[[str], Bench], tmp_path: Path
) -> None:
    """Also of labels that differ in case alone: sets of texts have another order in each process."""
    where = tmp_path / "store.db"
    names = ("echo", "ECHO", "Echo", "eCHO", "ECho", "echO", "EcHo", "eChO")
    play(bench_of(str(where)), *(f"acme/{name}" for name in names))
    with open_store(where) as store:
        search = build_search(read_catalog(store))

    subjects = next(
        file for file in search.files.values() if isinstance(file, SearchFacets)
    ).subjects
    assert list(subjects) == sorted(subjects)


def test_a_search_is_narrowed_by_what_the_facets_name(live_of: Callable[[], Live]) -> None:
    """A subject, a scenario, a part of a mark's scale; the facets are sent without their documents."""
    live = live_of()
    build = caught_up(live)["index"]["build"]
    facets = read(live.answers, f"search/{build}/facets/0.json")
    japanese = next(label for label in facets["subjects"] if "japanese" in label)
    marks = [f"{mark['id']} {band['title']}" for mark in facets["marks"] for band in mark["bands"]]

    narrowed = live.find(
        {"words": "a*", "of": "judged", "subject": japanese, "scenario": facets["scenarios"][0]}
    )
    by_mark = {mark: live.find({"words": "iris", "of": "judged", "mark": mark}) for mark in marks}

    assert {document.label for document in narrowed.documents} == {japanese}
    assert {document.scenario for document in narrowed.documents} == {facets["scenarios"][0]}
    assert sum(one.first for mark, one in by_mark.items() if ".resistance " in mark) == 2 * len(
        SAID
    )
    assert all(one.any for one in by_mark.values())
    assert (facets["subject"], facets["scenario"]) == ([], [])
    assert {band["documents"] for mark in facets["marks"] for band in mark["bands"]} == {""}
    # whoever was told of an earlier build
    assert read(live.answers, "search/another/facets/0.json") == facets


OF_SQLITE = {"sqlite": "search_judged_data", "postgresql": "search_judged"}
HOSTILE = (
    '" OR "',
    "tool' OR '1",
    "tool:* | x",
    "a NEAR b",
    "words:tool",
    "' & !'a",
    "\\",
    "%",
    "-tool",
    "^i",
    "(*",
)


def test_a_query_is_words_and_no_syntax(live_of: Callable[[], Live]) -> None:
    """What means something to a database finds itself, which nobody said."""
    live = live_of()
    caught_up(live)

    for words in (*HOSTILE, "\U00020000" * 2000):
        assert live.find({"words": words}).first == 0, words
        assert live.find({"words": words, "together": words, "of": "judged"}).first == 0, words
    assert found(live, "道具") == ["japanese"]


@pytest.mark.parametrize(
    "asked",
    [{"of": "them"}, {"page": "-1"}, {"page": "1e3"}, {"page": "9999999"}, {"words": "x" * 9999},
     {"words": "a," * (2 * MOST_WORDS + 1)}, {"together": "a " * (2 * MOST_WORDS + 1)}, {"words": "a\x00"}],
)  # fmt: skip
def test_what_is_no_query_is_refused(asked: Mapping[str, str]) -> None:
    """In one line, before the store is asked."""
    with pytest.raises(WrongUse):
        asked_search(asked)


def test_each_text_is_put_in_once(
    store: Store, live_of: Callable[[], Live], bench_of: Callable[[str], Bench]
) -> None:
    """A second viewer puts nothing in; what is played meanwhile is put in, and nothing else."""
    caught_up(live_of())
    before = indexed(store)
    assert caught_up(live_of())["problem"] is None
    assert indexed(store) == before

    play(bench_of(address_of(store)), "acme/late")
    live = live_of()
    caught_up(live)

    assert before < indexed(store)
    assert len(indexed(store)) == len(before) * (len(SAID) + 1) // len(SAID)
    assert found(live, "reply") == ["late"]


def address_of(store: Store) -> str:
    """Where it can be opened again."""
    return (
        store.engine.url.render_as_string(hide_password=False)
        if "://" in store.shown
        else store.shown
    )


def indexed(store: Store) -> set[tuple[Any, ...]]:
    """The rows of the index."""
    with store.reading() as connection:
        return {tuple(row) for row in connection.execute(select(derived.rows)) if row.number}


def test_a_server_finds_what_comes_while_it_serves(
    bench_of: Callable[[str], Bench], where: str
) -> None:
    """It looks, puts in what is new, and sends it to whoever asks, a page at a time."""
    bench = bench_of(where)
    play(bench, "acme/english")
    with open_store(where, create=False) as store, served(store) as browser:
        browser.searchable()
        play(bench, "acme/japanese")
        browser.live._not_before = 0.0  # as if a while had gone by
        browser.live.look()
        browser.searchable()

        status, headers, body = browser.get("/api/search/found.json?words=" + quote("道具"))
        assert (status, headers["Content-Type"], json.loads(body)["first"]) == (
            200,
            "application/json",
            4,
        )
        assert browser.get("/api/search/found.json?of=them")[0] == 400
        assert browser.get("/api/search/found.json", token="")[0] == 401


def test_texts_that_are_replaced_are_found_as_they_are_now(
    store: Store, live_of: Callable[[], Live]
) -> None:
    """A conversation that was played again has its new words; what it had is found no more."""
    live = live_of()
    caught_up(live)
    (edition,) = live.answers.catalog.editions.values()
    labels = live.answers.catalog.labels
    of = {
        labels[transcript.row.subject_hash]: transcript.row.id for transcript in edition.transcripts
    }
    japanese, chinese = (
        next(id_ for label, id_ in of.items() if name in label) for name in ("japanese", "chinese")
    )
    with store.writing() as connection:
        lines = connection.execute(
            select(transcripts.c.lines).where(transcripts.c.id == japanese)
        ).scalar_one()
        changed = {"lines": lines, "finished_at": transcripts.c.finished_at + 1}
        connection.execute(update(transcripts).where(transcripts.c.id == chinese).values(changed))
    again = live_of()
    caught_up(again)

    assert [again.find({"words": words}).first for words in ("道具", "工具")] == [5, 3]
    assert found(again, "道具") == ["chinese", "japanese"]


def test_what_is_deleted_is_in_the_index_no_more(store: Store, live_of: Callable[[], Live]) -> None:
    """Its words are gone with it, from the file as well; the others are found as before."""
    live = live_of()
    caught_up(live)
    subject = next(one for one in live.answers.catalog.subjects.values() if "japanese" in one.label)
    with store.writing() as connection:
        plan = find_responses(connection, [subject], None)
        clear(
            connection,
            plan,
            lambda connection: find_responses(connection, [subject], None),
            store.now(connection),
        )

    assert live.find({"words": "道具"}).first == 0  # before anything is put in again
    again = live_of()
    caught_up(again)
    assert (found(again, "道具"), found(again, "工具")) == ([], ["chinese"])
    with store.reading() as connection:
        assert derived.places(connection, "said", "道具", prefix=True) == ""
    if store.engine.dialect.name == "sqlite":
        store.close()
        with closing(sqlite3.connect(store.shown)) as raw:
            raw.execute("VACUUM")
        file = Path(store.shown).read_bytes()
        assert ("工具".encode() in file, "道具".encode() in file) == (True, False)


@pytest.mark.parametrize(
    "damage",
    ["DELETE FROM search_rows WHERE kind = 'said'", "DELETE FROM search_rows", "DELETE FROM search_judged",
     "UPDATE search_rows SET key = 'deleted by an earlier version' WHERE kind = 'judged'",
     "UPDATE search_rows SET number = 7777777 WHERE number = 1", "DELETE FROM search_rows WHERE number > 9"],
)  # fmt: skip
def test_a_damaged_index_is_made_anew(
    store: Store, live_of: Callable[[], Live], damage: str
) -> None:
    """Whatever it lacks: nothing wrong is found meanwhile, and all of it in the end."""
    caught_up(live_of())
    with store.writing() as connection:
        connection.execute(
            text(damage.replace("search_judged", OF_SQLITE[store.engine.dialect.name]))
        )
    live = live_of()
    with suppress(StoreError):
        assert set(found(live, "道具")) <= {"japanese"}
    assert caught_up(live)["problem"] is None
    assert {words: found(live, words) for words in QUERIES} == QUERIES


@pytest.mark.parametrize("lost", ["data WHERE id = 10", "config", "docsize", "data"])
def test_an_index_that_sqlite_does_not_load_is_made_anew(
    played: Path, where: str, lost: str
) -> None:
    """Such a table cannot be dropped; a deletion of answers does not fail of it either."""
    shutil.copy(played, where)
    with open_store(where, create=False) as store:
        caught_up(Live(store))
        with store.writing() as connection:
            connection.exec_driver_sql(f"DELETE FROM search_said_{lost}")
        store.engine.dispose()
        live = Live(store)
        assert caught_up(live)["problem"] is None
        assert {words: found(live, words) for words in QUERIES} == QUERIES
        with store.writing() as connection:
            connection.exec_driver_sql(f"DELETE FROM search_said_{lost}")
        store.engine.dispose()
        with store.writing() as connection:
            derived.forget(connection)
        with store.reading() as connection:
            names = connection.exec_driver_sql(
                "SELECT name FROM sqlite_master WHERE name LIKE 'search%'"
            ).all()
            checked = connection.exec_driver_sql("PRAGMA integrity_check").scalar()
        assert (names, checked) == ([], "ok")


def test_an_index_that_another_viewer_makes_anew_is_filled_again(
    store: Store, live_of: Callable[[], Live]
) -> None:
    """What was complete is not any more, for those who are served already, too."""
    live = live_of()
    caught_up(live)
    with store.writing() as connection:
        derived.begin(connection, RULE)

    assert live.find({"words": "tool"}).first == 0
    caught_up(live)
    assert {words: found(live, words) for words in QUERIES} == QUERIES


def test_long_texts_are_put_in_a_few_at_a_time(
    store: Store, live_of: Callable[[], Live], bench_of: Callable[[str], Bench]
) -> None:
    """Each of them whole, in transactions for which a run waits for a moment; all are found."""
    play(bench_of(address_of(store)), "acme/endless")
    together: list[int] = []

    def counted(*given: Any) -> None:
        statement, rows = given[2:4]
        if statement.startswith("INSERT INTO search_said "):
            together.append(len(rows))

    event.listen(store.engine, "before_cursor_execute", counted)
    live = live_of()
    caught_up(live)

    assert len(together) > 1  # all of them are fewer texts than are read at once
    assert max(together) >= -(-ENDLESS // derived.PIECE)  # pieces of its shortest text
    assert found(live, "on") == ["endless"]
    assert {words: found(live, words) for words in QUERIES} == QUERIES


def test_bytes_of_the_index_that_are_damaged(played: Path, where: str) -> None:
    """A file that lost some of them: one line for whoever asks, and the next time the index is made
    anew.
    """
    shutil.copy(played, where)
    with open_store(where, create=False) as store:
        live = Live(store)
        caught_up(live)
        with store.writing() as connection:
            connection.exec_driver_sql("UPDATE search_said_data SET block = x'0011' WHERE id > 10")
        with pytest.raises(StoreError):
            live.find({"words": "a*"})
        caught_up(live)
        assert {words: found(live, words) for words in QUERIES} == QUERIES
        with store.writing() as connection:  # a deletion works, too
            connection.exec_driver_sql("UPDATE search_said_data SET block = x'00'")
        with store.writing() as connection:
            derived.forget(connection)


def test_a_store_that_cannot_be_written_says_so(store: Store, live_of: Callable[[], Live]) -> None:
    """A full disk, a server that only lets read: what is in the index is found, the rest is told in
    one line.
    """
    if store.engine.dialect.name == "sqlite":
        with store.engine.connect() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        forbid = f"PRAGMA max_page_count = {pages}"
    else:
        forbid = "SET default_transaction_read_only = on"
    event.listen(store.engine, "connect", lambda raw, _: raw.execute(forbid))
    store.engine.dispose()
    live = live_of()
    head = caught_up(live)

    assert "cannot be written" in head["problem"]
    assert "\n" not in head["problem"]
    assert live.find({"words": "tool"}).first == 0
    assert live.answers.get("index.json")


def test_a_conversation_that_cannot_be_read_is_told(
    store: Store, live_of: Callable[[], Live]
) -> None:
    """The others can be found."""
    with store.writing() as connection:
        one = connection.execute(text("SELECT max(id) FROM transcripts")).scalar_one()
        connection.execute(
            text("UPDATE transcripts SET lines = :wrong WHERE id = :one"),
            {"wrong": b"x", "one": one},
        )
    live = live_of()

    assert "damaged" in caught_up(live)["problem"]
    live._search._thread.join(60)  # type: ignore[union-attr]
    assert live.find({"words": "iris", "of": "judged"}).first == 4 * len(SAID)
    with store.reading() as connection:  # the very next ones, too
        assert [key for key, _ in derived.lacking(connection, "said")] == [one]


def test_nothing_is_at_work_when_the_server_has_ended(played: Path, where: str) -> None:
    """The thread ends where it is, and none is begun any more."""
    shutil.copy(played, where)
    with open_store(where, create=False) as store:
        live = Live(store)
        live._search.close()
        head = read(live.answers, "search/index.json")

    assert head["preparing"] == 0
    assert not [one for one in threading.enumerate() if one.name == "search"]


def test_an_empty_store_has_nothing_to_search(where: str) -> None:
    """And is not written to."""
    with open_store(where) as store, store.writing():
        pass
    with open_store(where) as store:
        live = Live(store)
        assert caught_up(live)["index"]["documents"] == 0
        assert live.find({"words": "a"}).first == 0
        with store.reading() as connection:
            assert derived.made_by(connection, "") is None


def unit(*numbers: tuple[int, int]) -> Numbers:
    """Places, as (document, place)."""
    return np.array([(document << 32) + place for document, place in numbers], np.int64)


def test_what_stands_closest_comes_first_then_what_stands_most_often() -> None:
    """The same cases as in searchIndex.test.ts, by hand."""
    assert list(
        ranked([[unit((0, 8), (1, 0), (2, 0), (2, 4))], [unit((0, 0), (1, 1), (2, 0))]])
    ) == [2, 1, 0]
    assert list(ranked([[unit((0, 0), (1, 0), (1, 1), (2, 0))]])) == [1, 0, 2]
    assert list(ranked([[unit((0, 0))], [unit((1, 0))]])) == []
    assert list(ranked([])) == []
    assert list(ranked([[unit()], [unit((0, 0))]])) == []
    assert list(phrase([unit((0, 0), (0, 5)), unit((0, 1), (1, 0)), unit((0, 2), (1, 2))])) == [0]


def test_documents_that_are_ranked_apart_stand_in_one_order() -> None:
    """By closeness, then by number, whether or not two are ranked at once."""
    numbers = [0, TOGETHER - 1, TOGETHER, 3 * TOGETHER]
    one = unit(*((number, 10) for number in numbers))
    other = unit(
        *((number, 10 + distance) for number, distance in zip(numbers, (9, 3, 1, 3), strict=True))
    )

    assert list(ranked([[one], [other]])) == [TOGETHER, TOGETHER - 1, 3 * TOGETHER, 0]
    assert list(ranked([[one, other]])) == [TOGETHER]
