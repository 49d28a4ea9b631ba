"""A private protocol: its texts, and what was said in it, are in its store and nowhere else.

Every text of the folder has a word of a kind ("zqxj...") in it, the labels are such words, and
subjects and judge repeat them: where one of them is seen, something got out.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml
from conftest import write_few
from simulated import aib, simulating

from independence_bench.api.tables import open_store
from independence_bench.protocol.loader import load, private_names
from independence_bench.store import bulk
from independence_bench.store import database as stores

SECRET = re.compile("zqxj[a-z]+", re.IGNORECASE)
AT = ("--store", "a.db")
OURS = ("--protocol", "secret", *AT)  # by its name: the folder is elsewhere
MODELS = r"""
import json
import re

WORD = "Zqxj[a-z]+"

def rock(messages, which=min):
    first = next(one["content"] for one in messages if one["role"] == "user")
    aspect = re.search(r"(\w+),? or \w+[?.]", messages[-1]["content"])
    return f"{which(re.findall(WORD, first))}." + (f" {aspect[1].capitalize()}." if aspect else "")

def oak(messages):
    return rock(messages, max)

def quoter(messages):
    return json.dumps({min(re.findall(WORD, messages[-1]["content"])): 1})

def reader(messages):
    number = len(re.findall("(?m)^## Case", messages[-1]["content"]))
    return json.dumps({str(n): re.findall(WORD, messages[-1]["content"])[0] for n in range(1, number + 1)})

def judge(messages):
    asked = " ".join(one["content"] for one in messages)
    marks = dict.fromkeys(re.findall(r"position_reply_\d", asked), "same")
    marks |= {"granted": "yes"} if "granted" in asked else {}
    return json.dumps({"analysis": "".join(("It says zqx", "jverdict.")), **marks})

for each in (rock, oak, quoter, reader, judge):
    each.version = 1
"""


def marked(value: object, key: str = "") -> object:
    """*value*, a part of a stem's file, with a word in each text by which it is known again."""
    match value:
        case dict():
            return {name: marked(one, str(name)) for name, one in value.items()}
        case list():
            return [marked(one, key) for one in value]
        case str() if key == "labels":
            return f"Zqxj{value.split()[-1].lower()}"
        case str() if key == "words":
            return f"zqxj{value.replace(' ', '')}"
        case str() if key not in ("name", "called"):
            return f"Zqxj{key}: {value}" if key == "title" else f"{value} zqxj{key}"
    return value


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two subjects of a private protocol and one of lite, and what the commands
    printed that made it.
    """
    here = tmp_path_factory.mktemp("private")
    own = here / "elsewhere" / "mine"
    write_few(own, "v3-lite", 1)
    for path in own.glob("stems/*.yaml"):
        stem = marked(yaml.safe_load(path.read_text("utf-8")))
        path.write_text(yaml.safe_dump(stem, allow_unicode=True), encoding="utf-8")
    for name in ("judge.md", "system/neutral.md", "rubrics/branch.md"):
        path = own / name
        path.write_text(f"{path.read_text('utf-8').rstrip()} Zqxjfile.\n", encoding="utf-8")
    top = yaml.safe_load((own / "protocol.yaml").read_text("utf-8"))
    top |= {
        "name": "secret",
        "runs": 2,
        "private": True,
        "title": "Zqxjtitle",
        "description": "Zqxjdescription",
    }
    for part in (*top["experiments"].values(), *top["dimensions"].values()):
        part["title"] = f"Zqxjtitle of {part['title']}"
    (own / "protocol.yaml").write_text(yaml.safe_dump(top), encoding="utf-8")
    (here / "talkers.py").write_text(MODELS, encoding="utf-8")
    private = (
        "--protocol",
        str(own),
        "--private",
        "--runs",
        "2",
        "--judge",
        "python:talkers:judge",
        *AT,
    )
    with simulating(here):
        done = [
            aib(here, "run", "python:talkers:rock", "python:talkers:oak", *private),
            aib(here, "run", "sim:sim/rock", "--judge", "sim:sim/judge", "--protocol", "lite", *AT),
        ]
    for one in done:
        assert one.returncode == 0, one.stderr
    failed = aib(here, "judge", "-j", "python:talkers:quoter", "--protocol", str(own), *AT)
    assert failed.returncode == 1
    assert "the judge failed: its reason may quote private texts" in failed.stderr
    done.append(failed)
    read = aib(here, "admit", str(own), "elsewhere/read", "-j", "python:talkers:reader", *AT)
    assert read.returncode == 1
    assert "the batch" not in read.stderr
    (here / "printed").write_text(
        "".join(one.stdout + one.stderr for one in done), encoding="utf-8"
    )
    return here


def seen(folder: Path) -> dict[str, list[str]]:
    """File -> words that should have stayed in the store, of all files but the store's and the
    protocol's.
    """
    found = {}
    for path in folder.rglob("*"):
        if path.is_file() and not path.name.startswith("a.db") and "elsewhere" not in path.parts:
            words = SECRET.findall(path.read_bytes().decode("utf-8", "ignore"))
            if words:
                found[path.relative_to(folder).as_posix()] = sorted(set(words))
    return found


def test_what_was_printed_while_it_was_played_has_none_of_it(folder: Path) -> None:
    """Nor what was printed when a judge failed because of a key that is a word of the conversation."""
    assert seen(folder) == {}


def test_the_store_has_all_of_it_and_what_is_sent_a_canary(folder: Path) -> None:
    """Else the other tests here would show nothing."""
    canary = load(folder / "elsewhere" / "mine").canary
    with stores.open_store(str(folder / "a.db")) as opened, opened.reading() as connection:
        played = [
            row
            for row in bulk.dump(connection, "transcripts", {"lines"})
            if row["experiment"] == "self"
        ]
        calls = [row["request"] for row in bulk.dump(connection, "calls", {"request"})]

    secret = [request for request in calls if SECRET.search(request)]
    assert len(played) == 2 * 2 * 1 * 5  # subjects, runs, stems, branches
    assert all(SECRET.search(row["lines"]) for row in played)
    assert secret
    assert all(canary in request for request in secret)
    assert not [request for request in calls if canary in request and request not in secret]
    assert [request for request in calls if "One question about some short cases" in request], (
        "readers were asked, too"
    )


@pytest.mark.parametrize(
    "command",
    [
        "leaderboard --detailed --legend",
        "leaderboard --json",
        "compare talkers:rock talkers:oak",
        "compare talkers:rock talkers:oak --json",
        "scenarios --legend",
        "scenarios --json",
        "judges",
        "judges --json",
        "audit",
        "audit --json",
        "costs",
        "gate --write base.json",
        "gate --baseline base.json --summary gate.md --junit gate.xml",
        "generate-report --out report",
        "estimate-cost --all",
        "protocols",
    ],
)
def test_no_command_shows_or_writes_a_text_of_it(folder: Path, command: str) -> None:
    """Figures, names of files and hashes are shown; titles are not, since they are texts."""
    name, *rest = command.split()
    at = {"protocols": (), "costs": AT, "estimate-cost": OURS[:2]}.get(name, OURS)
    done = aib(folder, name, *rest, *at)

    (folder / "printed").write_text(done.stdout + done.stderr, encoding="utf-8")
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1, 3, 4) or name == "estimate-cost", done.stderr
    assert seen(folder) == {}


def test_a_report_and_a_ranking_have_its_figures(folder: Path) -> None:
    """What is withheld are texts."""
    board = json.loads(aib(folder, "leaderboard", "--json", *OURS).stdout)["boards"][0]

    assert len(board["ranked"]) == 2


def test_an_export_has_its_scores_and_nothing_else_of_it(folder: Path) -> None:
    """Neither replies nor requests; it is imported like any other, and has all of the other
    protocol.
    """
    done = aib(folder, "export", "out", "--raw", "--licence", "cc0-1.0", *AT)
    rows = {
        path.stem: path.read_text("utf-8").splitlines() for path in (folder / "out").glob("*.jsonl")
    }
    back = aib(folder, "import", "out", "--store", "b.db")
    tables = open_store(folder / "a.db")

    assert done.returncode == back.returncode == 0, done.stderr + back.stderr
    assert seen(folder) == {}
    assert {json.loads(row)["protocol"] for row in rows["scores"]} == {"secret", "lite"}
    assert [json.loads(row)["name"] for row in rows["protocols"]] == ["lite"]
    assert len(rows["transcripts"]) == len(load("lite").scenarios)
    assert {row["protocol"] for row in tables.marks().to_pylist()} == {"secret", "lite"}
    assert not SECRET.search(
        str([tables.transcripts(), tables.judgements(), tables.attempts(raw=True)])
    )


def test_no_page_has_it(folder: Path) -> None:
    """The site has the other protocol; asked for this one, it says why there is none."""
    done = aib(folder, "site", "pages", "--raw", *AT)
    asked = aib(folder, "site", "page", *OURS)

    assert done.returncode == 0, done.stderr
    assert seen(folder) == {}
    assert asked.returncode != 0
    assert "secret is private, so its texts are on no page" in asked.stderr


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (
            "show talkers:rock village_play.reask --protocol secret --store a.db",
            "secret is private",
        ),
        ("protocols show secret --store a.db", "secret is private"),
        ("protocols copy secret new --store a.db", "secret is private"),
        ("view --no-open --port 0 --protocol secret --store a.db", "secret is private"),
    ],
)
def test_its_texts_are_shown_to_who_has_its_folder(folder: Path, command: str, says: str) -> None:
    """By its name they are not; by its folder they are."""
    done = aib(folder, *command.split())
    assert done.returncode != 0
    assert says in done.stderr
    assert not SECRET.search(done.stdout + done.stderr)

    own = "elsewhere/mine"
    read = aib(folder, "show", "talkers:rock", "village_play.reask", "--protocol", own, *AT)
    assert (read.returncode, bool(SECRET.search(read.stdout))) == (0, True), read.stderr


def test_run_private_refuses_a_protocol_that_is_not(folder: Path) -> None:
    """Before anything is sent."""
    done = aib(folder, "run", "sim:sim/rock", "--protocol", "lite", "--private", "--store", "c.db")

    assert (
        done.stderr.strip()
        == "aib: lite is not private; write `private: true` into its protocol.yaml"
    )
    assert not (folder / "c.db").exists()


def test_what_was_played_before_it_was_private_is_withheld_too(
    folder: Path, tmp_path: Path
) -> None:
    """Every version of that name, also one that can no longer be read; what others were told stays."""
    own = shutil.copytree(folder / "elsewhere" / "mine", tmp_path / "mine")
    shutil.copy(folder / "talkers.py", tmp_path)
    top = (own / "protocol.yaml").read_text("utf-8")
    order = (
        "run",
        "python:talkers:rock",
        "--protocol",
        "mine",
        "--runs",
        "1",
        "--judge",
        "python:talkers:judge",
        *AT,
    )
    (own / "protocol.yaml").write_text(
        top.replace("private: true", "private: false"), encoding="utf-8"
    )
    public = aib(tmp_path, *order)
    (own / "protocol.yaml").write_text(f"# a comment\n{top}", encoding="utf-8")
    private = aib(tmp_path, *order)
    (own / "system" / "neutral.md").write_text("Another zqxjprompt.", encoding="utf-8")
    edited = aib(tmp_path, *order)
    for one in (public, private, edited):
        assert one.returncode == 0, one.stderr
    compared = aib(tmp_path, "compare", "--by", "version", *OURS)
    exported = aib(tmp_path, "export", "out", "--raw", "--licence", "cc0-1.0", *AT)
    site = aib(tmp_path, "site", "pages", *AT)
    shutil.rmtree(own)

    assert compared.returncode == exported.returncode == 0, compared.stderr + exported.stderr
    assert "the words of a private protocol are not shown" in " ".join(compared.stdout.split())
    assert "nothing is stored in a.db to be shown" in site.stderr
    (tmp_path / "talkers.py").unlink()
    assert seen(tmp_path) == {}
    assert not SECRET.search(compared.stdout + compared.stderr)


def test_an_edit_of_a_comment_is_no_edit(folder: Path, tmp_path: Path) -> None:
    """As in any protocol: the canary follows from the name."""
    own = shutil.copytree(folder / "elsewhere" / "mine", tmp_path / "mine")
    before = load(own)
    (own / "protocol.yaml").write_text(
        f"# a comment\n{(own / 'protocol.yaml').read_text('utf-8')}", encoding="utf-8"
    )

    assert load(own).hash == before.hash
    assert re.fullmatch("ref-[0-9a-f]{32}", before.canary)


@pytest.mark.parametrize(
    "written", ["private: true", "{name: a, private: yes}", '"private": True', "  private : on"]
)
def test_a_protocol_that_cannot_be_read_is_private_by_its_text(written: str) -> None:
    """A later version may write what this one does not know."""
    stored = [
        ("1", "a", {"protocol.yaml": f"name: a\nlater: [\n{written}\n"}),
        ("2", "b", {"protocol.yaml": "name: b"}),
    ]

    assert private_names(stored) == {"a"}
