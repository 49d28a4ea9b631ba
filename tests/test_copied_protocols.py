"""`aib protocols copy`, and protocols that are played in user_role alone."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest
from published_files import Published
from test_cli import User, only_line, user

from independence_bench.dataset.published_protocol import UNKNOWN
from independence_bench.errors import ProtocolError
from independence_bench.protocol.definition import Configuration
from independence_bench.protocol.loader import list_shipped, load_protocol
from independence_bench.protocol.plan import list_possible_configurations

__all__ = ["user"]


def unworded(text: str) -> str:
    """The small protocol's file without its words for tool_role."""
    before, wording, rest = text.partition("tool_role:\n")
    assert wording
    _, section, after = rest.partition("experiments:\n")
    return before + section + after


def without_tool(folder: Path) -> None:
    """Edit the small protocol so that it is played in user_role and words no other way."""
    top = folder / "protocol.yaml"
    text = top.read_text("utf-8")
    top.write_text(
        unworded(text).replace("delivery: tool_role", "delivery: user_role"), encoding="utf-8"
    )


@pytest.mark.parametrize("name", list_shipped())
def test_a_copy_is_the_same_protocol(user: User, name: str) -> None:
    """Each that ships, into a folder that is made for it: the hash is the same."""
    done = user.aib("protocols", "copy", name, "deep/mine")

    assert done.returncode == 0, done.stderr
    assert load_protocol(user.folder / "deep" / "mine").hash == load_protocol(name).hash
    assert "aib check deep/mine" in done.stderr
    files = [path for path in (user.folder / "deep" / "mine").rglob("*.*") if path.is_file()]
    assert [path.name for path in files if "$schema" in path.read_text("utf-8")] == [], (
        "a schema that lies nowhere beside a copy"
    )


def test_a_copy_overwrites_nothing(user: User) -> None:
    """A folder that holds anything is refused and stays as it is; an empty one is filled."""
    (user.folder / "mine").mkdir()
    assert user.aib("protocols", "copy", "lite", "mine").returncode == 0
    before = {
        path: path.read_bytes() for path in (user.folder / "mine").rglob("*.*") if path.is_file()
    }

    line = only_line(user.aib("protocols", "copy", "v2", "mine"), 2)

    assert "mine is not empty" in line
    assert {
        path: path.read_bytes() for path in (user.folder / "mine").rglob("*.*") if path.is_file()
    } == before
    assert "cannot be written" in only_line(user.aib("protocols", "copy", "v2", "models.yaml"), 2)


def test_what_a_store_holds_can_be_copied(user: User) -> None:
    """By the hash of a protocol that was played, though its folder has been edited since."""
    assert user.run("--no-judge").returncode == 0
    played = load_protocol(user.folder / "small")
    (user.folder / "small" / "judge.md").write_text("Something else.\n")

    done = user.aib("protocols", "copy", played.hash[:12], "found")

    assert done.returncode == 0, done.stderr
    assert load_protocol(user.folder / "found").hash == played.hash


def test_a_protocol_that_nobody_plays_in_tool_role_words_no_tool(user: User) -> None:
    """It loads, is shown and played; who asks for tool_role is told what to write."""
    without_tool(user.folder / "small")
    protocol = load_protocol(user.folder / "small")

    assert list_possible_configurations(protocol) == (
        Configuration("strong", "user_role"),
        Configuration("neutral", "user_role"),
    )
    assert "tool" not in user.aib("protocols", "show", "small").stdout
    done = user.run()
    assert done.returncode == 0, done.stderr
    line = only_line(user.run("--modes", "tool_role"), 2)
    assert "small has no wording for tool_role; its protocol.yaml needs `tool_role:`" in line
    assert sqlite3.connect(user.folder / "aib.db").execute(
        "SELECT DISTINCT delivery FROM transcripts"
    ).fetchall() == [("user_role",)]


def test_tool_role_has_to_be_worded_where_it_is_played(small: Path) -> None:
    """The mistake names the configuration that wants it."""
    top = small / "protocol.yaml"
    top.write_text(unworded(top.read_text("utf-8")), encoding="utf-8")

    with pytest.raises(
        ProtocolError, match=r"tool_role: is missing; configurations\.0 is played in it"
    ):
        load_protocol(small)


# ------------------------------------------------------- what is stored is played from a copy

ADVICE = re.compile(r"`(aib protocols copy [^`]+)`, then `(aib run MODEL --protocol [^`]+)`$")


def follow(user: User, line: str) -> subprocess.CompletedProcess[str]:
    """Type what *line* says: the copy, and then the run of it."""
    found = ADVICE.search(line)
    assert found is not None, line
    copied = user.aib(*shlex.split(found[1])[1:])
    assert copied.returncode == 0, copied.stderr
    run = shlex.split(found[2].replace("MODEL", "scripted:acme/one"))[1:]
    more = ("--runs", "1", "--judge", "scripted:judge/one", "--store", "played.db")
    return user.aib(*run, *more)


@pytest.mark.parametrize("store", ["aib.db", "other.db"])
def test_published_v2_is_played_from_the_copy_that_a_line_names(user: User, store: str) -> None:
    """As it is: with a limit that a reply can have, and a tool that is described."""
    data = Published()
    data.run("acme--one@none-t0.7", 1)
    data.write(user.folder / "data")
    at = () if store == "aib.db" else ("--store", store)
    assert user.aib("import", "data", *at).returncode == 0

    line = only_line(user.aib("run", "scripted:acme/one", "--protocol", "published-v2", *at), 2)
    done = follow(user, line)

    assert done.returncode == 0, done.stderr
    assert {asked.body["max_tokens"] for asked in user.server.played} == {
        load_protocol("v2").max_tokens
    }
    assert UNKNOWN not in json.dumps([asked.body for asked in user.server.played])
    assert user.server.judged
    board = json.loads(user.aib("leaderboard", "--store", "played.db", "--json").stdout)["boards"][
        0
    ]
    assert board["protocol"]["name"] == "published-v2-copy"
    assert [row["label"] for row in board["ranked"]] == ["scripted:acme/one@none-t0.7"]
    estimated = only_line(
        user.aib("estimate-cost", "-m", "acme/one", "--protocol", "published-v2", *at), 2
    )
    assert ADVICE.search(estimated)


def test_so_is_a_protocol_whose_folder_is_gone(user: User) -> None:
    """By its name and by its hash; the copy is the same protocol."""
    assert user.run("--no-judge").returncode == 0
    hash_ = load_protocol(user.folder / "small").hash
    shutil.move(user.folder / "small", user.folder.parent / "gone")

    for name in ("small", hash_[:12]):
        line = only_line(user.aib("run", "scripted:acme/one", "--protocol", name), 2)
        assert follow(user, line).returncode == 0
        assert load_protocol(user.folder / f"{name}-copy").hash == hash_


def test_without_an_import_published_v2_is_said_to_come_of_one(user: User) -> None:
    """And another name that is not there is none."""
    line = only_line(user.aib("run", "scripted:acme/one", "--protocol", "published-v2"), 2)

    assert line.endswith("published-v2: `aib import PATH` makes it of published data")
    assert "did you mean v3, v2 or v1?" in only_line(
        user.aib("run", "scripted:acme/one", "--protocol", "v9"), 2
    )


def test_a_copy_says_which_words_it_lacks(user: User) -> None:
    """Where the import had only a part of the test."""
    data = Published()
    data.run("acme--one@none-t0.7", 1)
    data.files = {path: file for path, file in data.files.items() if "direct" not in path}
    data.write(user.folder / "data")
    assert user.aib("import", "data").returncode == 0

    done = user.aib("protocols", "copy", "published-v2", "mine")

    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        "write what was not imported into mine/scenarios/direct.yaml first",
        "it is called published-v2-copy; play it: aib run MODEL --protocol mine",
    ]
    assert UNKNOWN in (user.folder / "mine/scenarios/direct.yaml").read_text(encoding="utf-8")
