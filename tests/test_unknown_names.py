"""Unknown names are answered with what is near them, whichever command is asked."""

from __future__ import annotations

import pytest
from test_cli import User, only_line, user

from independence_bench.errors import WrongUse
from independence_bench.lookup import LONGEST, find_by_label, find_similar_names, suggest_names

__all__ = ["user"]

ANSWERS = {
    "protocol": (("leaderboard", "--protocol", "smal"), "did you mean small"),
    "protocol to run": (("run", "scripted:acme/one", "--protocol", "liet"), "did you mean lite?"),
    "protocol to show": (("protocols", "show", "liet"), "did you mean lite?"),
    "experiment": (
        ("run", "scripted:acme/one", "--protocol", "small", "--exp", "resistence"),
        "did you mean resistance?",
    ),
    "variant": (
        ("run", "scripted:acme/one", "--protocol", "small", "--variants", "nuetral"),
        "did you mean neutral?",
    ),
    "mode": (
        ("run", "scripted:acme/one", "--protocol", "small", "--modes", "user_roll"),
        "did you mean user_role",
    ),
    "weights": (("leaderboard", "--protocol", "v1", "--weights", "latter"), "did you mean later?"),
    "endpoint": (
        ("run", "scriptd:acme/one", "--protocol", "small"),
        "no endpoint called scriptd; did you mean scripted?",
    ),
    "endpoint of a list": (("models", "--endpoint", "scriptd"), "did you mean scripted?"),
    "embedded": (("run", "embeded", "--protocol", "small"), "did you mean embedded?"),
    "subject to show": (("show", "acme/noe", "plain"), "did you mean scripted:acme/one@none-t0.7?"),
    "scenario": (("show", "acme", "plane"), "did you mean plain?"),
    "subject to compare": (
        ("compare", "acme/noe", "acme"),
        "did you mean scripted:acme/one@none-t0.7?",
    ),
    "subject to rerun": (
        ("rerun", "acme/noe", "--yes"),
        "did you mean scripted:acme/one@none-t0.7?",
    ),
    "subject to exclude": (
        ("exclude", "acme/noe", "--reason", "x"),
        "did you mean scripted:acme/one@none-t0.7?",
    ),
    "judge": (
        ("leaderboard", "--judge", "jugde/one"),
        "did you mean scripted:judge/one@none-t0.0?",
    ),
    "judge of a report": (
        ("generate-report", "--judge", "jugde/one"),
        "did you mean scripted:judge/one@none-t0.0?",
    ),
    "judge to clear": (
        ("clear", "judgements", "--judge", "jugde/one", "-y"),
        "did you mean scripted:judge/one@none-t0.0?",
    ),
    "jury": (
        ("leaderboard", "--jury", "jugde/one,x"),
        "did you mean scripted:judge/one@none-t0.0?",
    ),
}


@pytest.fixture
def played(user: User) -> User:
    """Somebody whose store has one subject and one judge, and whose endpoint lists its models."""
    assert user.run().returncode == 0
    user.server.forget()
    return user


def test_what_is_near_is_named(played: User) -> None:
    """In one line, exit code 2, and nothing is asked."""
    for what, (arguments, said) in ANSWERS.items():
        assert said in only_line(played.aib(*arguments), 2), what
    assert played.server.asked == []


def test_a_misspelt_command_is_answered_too(user: User) -> None:
    """Before anything of a command is imported."""
    for typed, meant in (
        ("leaderbord", "leaderboard"),
        ("persona rnu x", "run"),
        ("models instal smollm2-135m", "install"),
    ):
        line = only_line(user.aib(*typed.split()), 2)
        assert f"; did you mean {meant}" in line, typed
    assert " --models or" in only_line(user.aib("run", "--modles", "x"), 2)


def test_names_of_strangers_take_no_time() -> None:
    """A list is foreign: so many names are compared, and none that is long."""
    assert find_similar_names("x" * 100_000, ["x" * (LONGEST + 1), "y"]) == []
    assert find_similar_names("acme/one", [f"m{n}" for n in range(100_000)]) == []


def test_nothing_near_is_answered_with_what_there_is() -> None:
    """The first of it; of nothing, that."""
    assert suggest_names("zzz", ["a", "b"]) == "it has a, b"
    assert suggest_names("zzz", []) == "it has nothing"
    assert suggest_names("zzz", [f"n{n}" for n in range(20)]).endswith(", ... (20 in total)")
    with pytest.raises(
        WrongUse, match=r"a fits several models: a/one@x, a/two@x; name one of them"
    ):
        find_by_label({1: "a/one@x", 2: "a/two@x"}, "a")


def test_a_whole_name_is_meant_before_a_part_of_another() -> None:
    """With its author or without, and with its endpoint or without; its settings are its
    label's.
    """
    labels = {1: "sim:acme/judge-3@none-t0.0", 2: "sim:acme/judge@none-t0.0"}
    assert [
        find_by_label(labels, typed)
        for typed in ("judge", "acme/judge", "sim:acme/judge", "judge-3", "ge-3")
    ] == [
        2,
        2,
        2,
        1,
        1,
    ]
    assert find_similar_names("juge", labels.values())[0] == labels[2]
