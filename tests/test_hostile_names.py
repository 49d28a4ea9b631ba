"""Names from outside: no path leaves its folder, no line is broken, nothing that a terminal would
obey gets through.

Through the real commands against a real endpoint, in a pipe and on a terminal.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import sys
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import write_small
from forked_aib import start
from scripted_model import Answer, Asked, Bench, ScriptedModel, completion, failure, steady, verdict
from simulated_endpoint import aib
from test_cli import KEY, MARKS, User
from viewer_store import answering, read

from independence_bench.analysis.lookalikes import find_label_doubts
from independence_bench.cli.main import main
from independence_bench.errors import ProtocolError, SubjectError
from independence_bench.escape import escape_line, escape_text
from independence_bench.models.endpoints import parse_models_file
from independence_bench.models.spec import ChatModel, ModelSpec
from independence_bench.protocol.loader import load_protocol, parse_protocol
from independence_bench.store import registry
from independence_bench.store.database import open_store

STORM = "Z" + "\u0301\u0489\u0338" * 60
# what a terminal obeys, or what turns and hides what is read: refused as a name, written out as a
# text
OBEYED = {
    "newline": "a/x\ny",
    "return": "a/x\ry",
    "tab": "a/x\ty",
    "colour": "a/\x1b[35;7;53mx",
    "clear": "a/\x1b[2Jx",
    "title": "a/\x1b]0;owned\x07x",
    "link": "a/\x1b]8;;http://evil.invalid\x1b\\x\x1b]8;;\x1b\\",
    "clipboard": "a/\x1b]52;c;ZXZpbA==\x07x",
    "c1": "a/\x9b31mx\x9d0;y\x9c",
    "delete": "a/x\x7f\x08y",
    "bidi": "a/\u202etxt.exe\u2066",
    "zero width": "a/x\u200b\u2060\ufeffy",
    "line separator": "a/x\u2028y",
    "tags": "a/x\U000e0041y",
    "private": "a/\ue000x",
    "half a pair": "a/\udcff\ud800x",
}
# odd, and somebody's name all the same: shown as it is
ODD = {
    "up": "../../x",
    "absolute": "/etc/passwd",
    "dots": "x/..",
    "device": "x/CON",
    "long": "a/" + "a" * 300,
    "markup": "a/[red]x[/red][/][link=http://evil.invalid]y[/link]:smile:",
    "formula": "a/=cmd|' /C calc'!A0",
    "pipe": "a/x|y",
    "code": "a/`x`$(touch owned);touch owned",
    "html": "a/<script>alert(1)</script>",
    "wide": "模型公司/很长的模型名字😀",
    "storm": f"a/{STORM}",
    "percent": "a/%s{0}{name}%(x)s",
    "space": "a/x y",
}
EVIL = (
    " ".join(text.removeprefix("a/") for text in (*OBEYED.values(), *ODD.values()))
    .encode("utf-8", "replace")
    .decode()
)


def width(line: str) -> int:
    """Columns that *line* takes, by the Unicode tables."""
    return sum(
        0
        if unicodedata.category(c) in ("Mn", "Me", "Cf")
        else 2
        if unicodedata.east_asian_width(c) in "WF"
        else 1
        for c in line
    )


def assert_tame(text: str, columns: int | None = None) -> None:
    """Lines of plain characters, at most *columns* wide; no crash; no storm of accents over other
    lines.
    """
    assert "Traceback" not in text, text
    odd = [c for c in text if c not in "\n\u200c\u200d" and not c.isprintable()]
    assert odd == []
    assert not re.search("[\u0300-\u036f\u0483-\u0489]{12}", text)
    if columns is not None:
        assert [line for line in text.splitlines() if width(line) > columns] == []


def evil_answers(asked: Asked) -> Answer:
    """Subjects and judges that say everything that a terminal might obey; who is called fails says
    it in an error.
    """
    if asked.model.endswith("fails"):
        return failure(400, EVIL)
    if asked.judging:
        answer = verdict(asked, MARKS | {"analysis": EVIL}, cost=0.0)
        answer.body["choices"][0]["message"]["content"] = json.dumps(
            {"analysis": EVIL} | MARKS_OF(asked)
        )
        return answer
    return Answer(completion(f"I stay. {asked.number} {EVIL}", provider=EVIL, model=EVIL, id=EVIL))


def MARKS_OF(asked: Asked) -> dict[str, object]:  # noqa: N802
    """The marks that the request asks for."""
    wanted = asked.body["response_format"]["json_schema"]["schema"]["properties"]
    return {name: MARKS[name] for name in wanted if name != "analysis"}


@pytest.fixture
def user(small: Path, tmp_path: Path, serve: Callable[..., ScriptedModel]) -> User:
    """A user whose endpoint says evil things."""
    made = User(tmp_path, serve(evil_answers))
    made.models()
    return made


def names(folder: Path) -> set[str]:
    """Every file below *folder*."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


# -------------------------------------------------------------- model ids, labels, and what is said


def test_odd_names_are_only_names(user: User) -> None:
    """Paths, formulas, markup and shell words as model ids: played, ranked, read; nothing else is
    made or broken.
    """
    before = names(user.folder)
    user.environment["COLUMNS"] = "80"
    subjects = [f"scripted:{name}" for name in ODD.values()]

    done = user.aib(
        "run", *subjects, "scripted:a/fails", "--protocol", "small", "--runs", "1", "-p", "20"
    )
    board = user.aib("leaderboard", "--detailed")
    judged = user.aib("judge", "--judge", "scripted:judge/=two|[bold]")
    listed = user.aib("leaderboard", "--json")

    assert [done.returncode, board.returncode, judged.returncode, listed.returncode] == [
        1,
        0,
        0,
        0,
    ], judged.stderr
    for result in (done, board, judged):
        assert_tame(result.stdout, 80)
        assert_tame(result.stderr)
    assert "not completed: scripted:a/fails" in done.stderr
    assert listed.stdout.isascii()
    ranked = json.loads(listed.stdout)["boards"][0]["ranked"]
    assert {row["subject"]["model"] for row in ranked} == set(ODD.values())
    assert "[red]x[/red][/][link=http://evil.invalid]y[/link]:smile:" in "".join(
        board.stdout.split()
    )
    assert {name for name in names(user.folder) - before if not name.startswith("aib.db")} == set()


@pytest.mark.parametrize("name", ["markup", "storm"])
def test_what_is_said_is_shown_and_not_obeyed(user: User, name: str) -> None:
    """`aib show` of a conversation in which model, provider and judge say everything that a
    terminal might obey.
    """
    user.environment["COLUMNS"] = "80"
    assert user.run(model=f"scripted:{ODD[name]}").returncode == 0

    shown = user.aib("show", ODD[name], "choice")

    assert (shown.returncode, shown.stderr) == (0, "")
    assert_tame(shown.stdout, 80)
    flat = "".join(shown.stdout.split())
    for seen in (
        "\\u{1b}]52;c;ZXZpbA==\\u{7}",
        "\\u{202e}",
        "\\u{9b}31m",
        "=cmd|'/Ccalc'!A0",
        "<script>",
        "[red]",
    ):
        assert seen in flat


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
def test_on_a_terminal_nothing_but_our_own_codes_arrives(user: User, terminal: bool) -> None:
    """Live table, notes, troubles and ranking: colours and cursor of ours, and no other control
    character.
    """
    steady_ = user.server.script
    user.server.script = lambda asked: replace(steady_(asked), delay=0.05)
    subjects = [f"scripted:{ODD[name]}" for name in ("markup", "wide", "storm", "formula", "long")]
    command = ["run", *subjects, "scripted:x/fails", "--protocol", "small", "--runs", "1"]
    ours, theirs = pty.openpty() if terminal else os.pipe()

    with start(
        command,
        cwd=user.folder,
        env=user.env | {"TERM": "xterm-256color", "COLUMNS": "80"},
        stdout=theirs,
        stderr=theirs,
    ):
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):  # the other end of a terminal closes with an error
            while piece := os.read(ours, 65536):
                seen += piece
    os.close(ours)

    text = seen.decode()
    assert ("\x1b[" in text) == terminal
    assert "\x1b[35;7;53" not in text
    plain = re.sub(r"\x1b\[(?:[0-9;]*m|\?25[lh]|1A|2K)", "", text).replace("\r", "")
    assert_tame(plain)
    table = plain[plain.index("rank model") :]
    rows = [line for line in table.splitlines() if "73.8" in line]
    assert len(rows) == 5
    assert len({width(line[: line.index("73.8")]) for line in rows}) == 1, "the column is straight"
    assert all(width(line) <= 80 for line in table.partition("\n\n")[0].splitlines())


def test_accents_stand_on_their_letter_and_storms_are_written_out() -> None:
    """What several scripts need stays; sixty accents on one letter would be drawn over other
    lines.
    """
    assert escape_text("Tiếng Việt, עִבְרִית, हिन्दी, é, 👩‍👩‍👧") == (
        "Tiếng Việt, עִבְרִית, हिन्दी, é, 👩‍👩‍👧"
    )
    assert escape_text("a" + "\u0301" * 10) == "a" + "\u0301" * 8 + "\\u{301}" * 2
    assert escape_line("a\nb\r\nc\td") == "a\\nb\\nc    d"


ROCK = "sim/rock"
# read as `sim/rock`, and how they are shown
ROCKS = {
    "sim/ro\ufe0fck": "sim/ro\\u{fe0f}ck",
    "sim/ro\u034fck": "sim/ro\\u{34f}ck",
    "sim/ro\u3164ck": "sim/ro\\u{3164}ck",
    "sim/ro\u200dck": "sim/ro\\u{200d}ck",
    "sim/r\u043eck": "sim/r\u043eck",
}
OTHERS = ("日本/モデル", "Лаб/Модель-7b", "Qwen/模型VL")  # somebody's names


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of all of these; to be read only."""
    folder = tmp_path_factory.mktemp("alike")
    with ScriptedModel(steady(MARKS)) as server:
        bench = Bench(write_small(folder / "small"), folder / "aib.db", {"scripted": server})
        bench.play(*(bench.subject(name) for name in (ROCK, *ROCKS, *OTHERS)))
    return folder


def test_labels_that_read_alike_are_written_out_and_marked(alike: Path, tmp_path: Path) -> None:
    """On a terminal, in Markdown, in CSV and in JSON; names in one other alphabet, or in Japanese,
    are not marked.
    """
    shown = {ROCK: ROCK, **ROCKS}
    board = aib(alike, "leaderboard", "--wide").stdout
    made = aib(alike, "generate-report", "--out", str(tmp_path / "report"))
    assert made.returncode == 0, made.stderr
    report = (tmp_path / "report/LEADERBOARD.md").read_text(encoding="utf-8")
    ranked = json.loads(aib(alike, "leaderboard", "--json").stdout)["boards"][0]["ranked"]

    for name in shown.values():
        assert re.search(rf" scripted:{re.escape(name)}@none-t0.7 +! ", board), board
        assert f"`scripted:{name}` ! " in report.replace("&#33;", "!")
    for name in OTHERS:
        assert re.search(rf" scripted:{name}@none-t0.7 +[0-9]", board)
        assert f"`scripted:{name}` |" in report
    assert "! marks labels that may be mistaken for others" in board
    legend = " ".join(aib(alike, "leaderboard", "--explain").stdout.split())
    assert (
        "!: labels that read like another one, or mix alphabets in a word; written out: " in legend
    )
    assert "scripted:sim/r\\u{43e}ck@none-t0.7" in legend
    doubts = {row["subject"]["model"]: row["label_doubt"] for row in ranked}
    assert {name for name, doubt in doubts.items() if doubt} == set(shown)
    assert all(len(doubts[name]["reads_like"]) == 5 for name in shown)
    assert {name for name in shown if doubts[name]["mixed_scripts"]} == {"sim/r\u043eck"}
    assert {row["label"] for row in ranked} >= {
        f"scripted:{name}@none-t0.7" for name in shown.values()
    }
    for text in (board, report, legend):
        assert not re.search("[\ufe0f\u034f\u3164\u200d]", text)


def test_the_page_is_sent_labels_without_what_is_not_seen_and_why_they_are_doubted(
    alike: Path,
) -> None:
    """In JSON, and in the table for a spreadsheet."""
    with answering(alike / "aib.db") as answers:
        board = read(answers, "index.json")["boards"][0]["id"]
        rows = read(answers, f"boards/{board}.json")["rows"]
        table = (answers.get(f"boards/{board}.csv") or b"").decode()

    doubted = {row["label"]: row["label_doubt"]["says"] for row in rows if row["label_doubt"]}
    assert set(doubted) == {f"scripted:{name}@none-t0.7" for name in (ROCK, *ROCKS.values())}
    mixed = doubted["scripted:sim/r\u043eck@none-t0.7"]
    assert mixed == (
        "scripted:sim/r\\u{43e}ck@none-t0.7 reads like scripted:sim/rock@none-t0.7 and 4 more "
        "and has Latin and Cyrillic letters in one word"
    )
    assert "scripted:sim/ro\\u{3164}ck@none-t0.7" in table


def test_a_label_is_found_as_it_is_and_as_it_is_shown(alike: Path) -> None:
    """So that what a table shows can be typed, and nothing is stored under another name."""
    for typed in ("scripted:sim/ro\ufe0fck", "scripted:sim/ro\\u{fe0f}ck"):
        done = aib(alike, "show", typed, "plain")
        assert done.returncode == 0, done.stderr
    with open_store(alike / "aib.db") as store, store.open_snapshot() as connection:
        stored = registry.read_subjects(connection).values()
    assert {subject.model for subject in stored} == {ROCK, *ROCKS, *OTHERS}


@pytest.mark.parametrize(
    "pair",
    [
        ("acme/Rock", "acme/rock"),
        ("acme/gpt-4o", "acme/gpt-40"),
        ("acme/AI-1", "acme/Al-l"),
        ("acme/rock", "acme/\uff52\uff4f\uff43\uff4b"),  # full width
        ("acme/rock", "acme/\U0001d42b\U0001d428\U0001d41c\U0001d424"),  # bold of mathematics
        ("acme/cop", "acme/\u0441\u043e\u0440"),  # all of it Cyrillic
        ("acme/BETA", "acme/\u0392\u0395\u03a4\u0391"),  # all of it Greek
        ("acme/a b", "acme/a\u00a0 b"),
        ("acme/rock", "acme/ro\u00adck"),
        ("acme/rock-1", "acme/rock\u20131"),
    ],
)
def test_what_looks_alike_is_doubted_on_both_sides(pair: tuple[str, str]) -> None:
    """And alone, neither is."""
    doubts = find_label_doubts(dict(zip(pair, ("first", "second"), strict=True)))

    assert {label: doubt.reads_like for label, doubt in doubts.items()} == {
        pair[0]: ("second",),
        pair[1]: ("first",),
    }
    assert find_label_doubts({pair[0]: "first"}) == find_label_doubts({pair[1]: "second"}) == {}


def test_a_word_of_several_alphabets_is_doubted_unless_they_stand_together() -> None:
    """Alphabets are told apart by the word, so that an author and a model may have different
    ones.
    """
    alone = ("acme/rоck", "acme/αlpha-7b", "acme/Ꮋello", "acme/mоdel-日本")
    apart = (
        "лаб/rock",
        "acme/β-rock",
        "acme/Модель7b",
        "日本語モデル/LLM模型",
        "한국어/모델2",
        "acme/naïve-Zoë",
        "a/b_в_c",
    )

    assert set(find_label_doubts({name: name for name in (*alone, *apart)})) == set(alone)
    assert find_label_doubts({}) == {}


def test_no_two_labels_are_shown_as_one() -> None:
    """One that is written as another one is shown has the start of its hash behind it."""
    models = [ChatModel(name, "lab", 0.7, 100) for name in ("a/b\ufe0fc", "a/b\\u{fe0f}c", "a/bc")]
    shown = registry.make_unique_labels({model.hash: model for model in models})

    assert len(set(shown.values())) == 3
    assert shown[models[2].hash] == "lab:a/bc@none-t0.7"
    assert shown[models[0].hash] == f"lab:a/b\\u{{fe0f}}c@none-t0.7#{models[0].hash[:6]}"


# ---------------------------------------------------------------- what is typed


def outcome(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, *typed: str
) -> tuple[int, str]:
    """(exit code, everything printed) of `aib` with these arguments."""
    monkeypatch.setattr(sys, "argv", ["aib", *typed])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capfdbinary.readouterr()
    return int(ended.value.code or 0), (printed.out + printed.err).decode()


TYPED = [
    ["run", "{}"],
    ["run", "scripted:{}"],
    ["run", "--models", "{}"],
    ["run", "scripted:a/b", "--judge", "{}"],
    ["run", "scripted:a/b", "--judge", "scripted:{}"],
    ["run", "scripted:a/b", "--protocol", "{}"],
    ["run", "scripted:a/b", "--models-file", "{}"],
    ["run", "scripted:a/b", "--variants", "{}"],
    ["run", "scripted:a/b", "--modes", "{}"],
    ["run", "scripted:a/b", "--local-url", "{}"],
    ["run", "scripted:a/b", "--local-url", "http://{}"],
    ["run", "scripted:a/b", "--provider", "{}"],
    ["run", "--local-url", "http://127.0.0.1:1/v1", "--local-model", "{}"],
    ["leaderboard", "--store", "{}"],
    ["leaderboard", "--store", "x://{}"],
    ["leaderboard", "--protocol", "{}"],
    ["leaderboard", "--judge", "{}"],
    ["judge", "--judge", "{}"],
    ["show", "{}", "plain"],
    ["show", "acme", "{}"],
    ["check", "{}"],
    ["protocols", "show", "{}"],
    ["simulate", "audit", "{}"],
    ["simulate", "--fault", "{}"],
    ["simulate", "--script", "{}"],
    ["{}"],
    ["run", "--{}"],
    ["gate", "{}"],
    ["gate", "--write", "base.json", "{}"],
]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with something in its store; its endpoint has gone."""
    folder = tmp_path_factory.mktemp("stored")
    with ScriptedModel(steady(MARKS)) as server:
        Bench(write_small(folder / "small"), folder / "aib.db", {"scripted": server}).play()
        User(folder, server).models(url="http://127.0.0.1:1/v1")
    return folder


@pytest.fixture
def played(stored: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That folder, worked in."""
    monkeypatch.chdir(stored)
    monkeypatch.setenv("SCRIPTED_KEY", KEY)
    # where `models` has allowed that
    monkeypatch.setenv("AIB_DATA", str(stored / ".local/share/aib"))
    return stored


@pytest.mark.parametrize("typed", TYPED, ids=" ".join)
def test_whatever_is_typed_where_a_name_belongs_is_one_line(
    typed: list[str],
    played: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No traceback, nothing that a terminal obeys, an exit code that says so, and no file."""
    before = names(played)
    # who types a storm gets it back
    odd = [value for name, value in ODD.items() if name != "storm"]
    # no system can hand that over
    obeyed = [value.replace("\ud800", "") for value in OBEYED.values()]
    together = "a/" + "".join(value.removeprefix("a/") for value in obeyed)
    for value in (
        *(obeyed if typed == ["run", "{}"] else [together]),
        *odd,
        "..",
        "CON",
        "~nobody/x",
        " ",
    ):
        code, printed = outcome(
            capfdbinary, monkeypatch, *(part.replace("{}", value) for part in typed)
        )

        assert_tame(printed)
        assert len(printed) < 4000
        if typed != ["leaderboard", "--judge", "{}"]:
            assert code in (1, 2), (value, printed)
    assert names(played) - {"aib.db-wal", "aib.db-shm"} == before - {"aib.db-wal", "aib.db-shm"}


def test_a_store_may_be_called_anything(user: User) -> None:
    """Its file is made where it was said, with that name, and its name is shown and not obeyed."""
    name = "a\n\x1b[31m\u202e[red]\udcff.db"

    done = user.run("--store", name)
    board = user.aib("leaderboard", "--store", name, "--judge", "nobody")

    assert (done.returncode, board.returncode) == (0, 2), done.stderr
    assert_tame(done.stderr)
    assert_tame(board.stderr)
    assert (user.folder / name).is_file()


# ---------------------------------------------------------------- what is written in files


@pytest.mark.parametrize("value", [*OBEYED.values(), "x\0y"], ids=[*OBEYED, "nul"])
@pytest.mark.parametrize("key", ["model", "provider", "endpoint", "key_env", "name", "url"])
def test_a_name_in_models_yaml_is_one_line_of_plain_characters(key: str, value: str) -> None:
    """Anything else is an error of one line that says where."""
    text = json.dumps(value)  # YAML reads what JSON writes
    subject = {"model": "a/b"} | ({key: value} if key in ("model", "provider", "endpoint") else {})
    endpoint = {"url": "http://x/v1"} | ({key: value} if key == "key_env" else {})
    endpoint |= {"url": f"http://{value}/v1"} if key == "url" else {}
    written = json.dumps(
        {"endpoints": {value if key == "name" else "lab": endpoint}, "subjects": [subject]}
    )
    assert text[1:-1] in written

    with pytest.raises(SubjectError) as caught:
        parse_models_file(written, "models.yaml")

    assert_tame(str(caught.value).encode("ascii", "backslashreplace").decode())


@pytest.mark.parametrize("value", OBEYED.values(), ids=OBEYED)
def test_a_provider_that_is_typed_is_one_line_of_plain_characters(value: str) -> None:
    """It stands in the label and in the store, which could not hold half a character."""
    with pytest.raises(SubjectError, match="the provider"):
        ModelSpec("a/b", provider=value)


@pytest.mark.parametrize("name", ODD)
def test_an_odd_name_in_models_yaml_is_a_name(name: str) -> None:
    """It is the endpoint that knows what its models are called."""
    roster = parse_models_file(
        json.dumps({"subjects": [{"model": ODD[name], "provider": ODD[name]}]}, ensure_ascii=False),
        "models.yaml",
    )

    assert roster.specs[0].model == roster.specs[0].provider == ODD[name]


@pytest.mark.parametrize("value", OBEYED.values(), ids=OBEYED)
def test_a_title_is_one_line_of_plain_characters(small: Path, value: str) -> None:
    """In a protocol of somebody else's too."""
    path = small / "protocol.yaml"
    path.write_text(
        path.read_text().replace("title: A small protocol", f"title: {json.dumps(value)}")
    )

    with pytest.raises(ProtocolError, match="title"):
        load_protocol(small)


def test_a_protocol_may_say_odd_things(user: User) -> None:
    """Markup, formulas and long words in its texts are printed as they stand, within 80 columns."""
    path = user.folder / "small" / "protocol.yaml"
    odd = "[red]x[/red] [/] =cmd|' /C calc'!A0 <script> `x` 模型😀 " + "w" * 200
    path.write_text(
        path.read_text().replace(
            "title: A small protocol", f"title: {json.dumps(odd, ensure_ascii=False)}"
        )
    )

    user.environment["COLUMNS"] = "80"
    done = user.aib("protocols", "show", "small")

    assert (done.returncode, done.stderr) == (0, "")
    assert_tame(done.stdout, 80)
    assert "[red]x[/red] [/] =cmd|' /C calc'!A0 <script>" in done.stdout


@pytest.mark.parametrize(
    "name", ["\x1b[31m", "a\nb", "CON", "\udcff", "a" * 100, "x y", "=1+1", "\u202ea"], ids=ascii
)
def test_a_system_variants_file_has_a_plain_name(small: Path, name: str) -> None:
    """Its name becomes part of every configuration."""
    (small / "system" / f"{name}.md").write_text("Be.")

    with pytest.raises(ProtocolError, match="call the file by a word"):
        load_protocol(small)


@pytest.mark.parametrize(
    "name", ["../../secret", "/etc/passwd", "..", "a/b", "a\\b", "con.", "a\0b", "CON", "a" * 300]
)
@pytest.mark.parametrize("kind", ["scenario", "rubric"])
def test_a_protocol_reads_no_file_outside_its_folder(small: Path, name: str, kind: str) -> None:
    """The names of scenarios and rubrics become file names: words, and nothing that leads
    elsewhere.
    """
    (small.parent / "secret.yaml").write_text("title: secret\n")
    file, before = (
        ("protocol.yaml", "[erosion, plain]")
        if kind == "scenario"
        else ("scenarios/plain.yaml", "[resistance]")
    )
    path = small / file
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, json.dumps([name])))

    with pytest.raises(ProtocolError) as caught:
        load_protocol(small)

    assert caught.value.file.endswith(file)
    assert "secret" not in str(caught.value).replace("../../secret", "")


@pytest.mark.parametrize(
    "path",
    ["../../x.md", "/etc/x.md", "system/../x.md", "system/\x1b[31m.md", "\udcff.md", "a\nb.md"],
)
def test_a_stored_protocol_with_odd_paths_is_refused_and_writes_nothing(
    user: User, path: str
) -> None:
    """A store may come from somebody else; the files of its protocols are texts in it and never
    become files.
    """
    files = {
        str(f.relative_to(user.folder / "small")): f.read_text()
        for f in (user.folder / "small").rglob("*.*")
    }
    with open_store(user.folder / "aib.db") as store, store.open_transaction() as connection:
        registry.store_protocol(connection, "f" * 64, "small", files | {path: "x"}, 1.0)
    before = names(user.folder.parent)

    done = user.aib("leaderboard", "--protocol", "f" * 64)

    assert done.returncode == 2
    assert_tame(done.stderr)
    assert done.stderr.count("\n") == 1
    after = names(user.folder.parent)
    assert {name for name in after - before if not name.endswith(("-wal", "-shm"))} == set()


def test_names_from_an_endpoints_list_are_shown_and_not_obeyed(user: User) -> None:
    """A local server that has other models than the one asked for."""
    user.server.models_answer = Answer(
        {"data": [{"id": name} for name in (*OBEYED.values(), *ODD.values())]}
    )
    user.models(dialect="local")

    done = user.run(model="scripted:mine")

    assert done.returncode == 2
    assert_tame(done.stderr)
    assert done.stderr.count("\n") == 1


def test_a_snapshot_is_parsed_from_its_texts_alone() -> None:
    """No file is looked for on the disk, whatever the snapshot names."""
    with pytest.raises(ProtocolError, match=r"protocol\.yaml: is missing"):
        parse_protocol({"../../etc/passwd.md": "x"}, where="stored")
