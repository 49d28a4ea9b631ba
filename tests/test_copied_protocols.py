"""`aib protocols copy`, and protocols that are played in user_role alone."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from test_cli import User, only_line, user

from independence_bench.errors import ProtocolError
from independence_bench.protocol.definition import Configuration
from independence_bench.protocol.loader import load, shipped
from independence_bench.protocol.plan import every_configuration

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


@pytest.mark.parametrize("name", shipped())
def test_a_copy_is_the_same_protocol(user: User, name: str) -> None:
    """Each that ships, into a folder that is made for it: the hash is the same."""
    done = user.aib("protocols", "copy", name, "deep/mine")

    assert done.returncode == 0, done.stderr
    assert load(user.folder / "deep" / "mine").hash == load(name).hash
    assert "aib check deep/mine" in done.stderr


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
    played = load(user.folder / "small")
    (user.folder / "small" / "judge.md").write_text("Something else.\n")

    done = user.aib("protocols", "copy", played.hash[:12], "found")

    assert done.returncode == 0, done.stderr
    assert load(user.folder / "found").hash == played.hash


def test_a_protocol_that_nobody_plays_in_tool_role_words_no_tool(user: User) -> None:
    """It loads, is shown and played; who asks for tool_role is told what to write."""
    without_tool(user.folder / "small")
    protocol = load(user.folder / "small")

    assert every_configuration(protocol) == (
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
        load(small)
