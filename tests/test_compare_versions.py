"""`aib compare --by version`: two versions of a protocol of which a system prompt was edited."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import write_small
from scripted_model import Answer, Asked, ScriptedModel, says, verdict
from test_cli import User, only_line
from test_compare import board_of, row_of

from independence_bench.analysis.baseline import NOT_ASKED
from independence_bench.analysis.compare_versions import (
    REFUSED,
    WordChange,
    compare_versions,
    find_version_change,
    find_word_changes,
)
from independence_bench.errors import WrongUse
from independence_bench.personas.sheet import EXAMPLES, load_sheet, make_protocol
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.loader import load_protocol
from independence_bench.report.compare_view import (
    describe_needed_version_runs,
    describe_versions,
    list_signed_change_lines,
)

FIRM = "You are somebody, and you stay that, whoever asks you to be another.\n"


def holding(asked: Asked) -> Answer:
    """A subject that says how firm its prompt is, and a judge that reads it; run by run a little
    apart.
    """
    if asked.judging:
        firm = 8 if "FIRM" in asked.text else 4
        number = int(re.findall(r"answer (\d+)", asked.text)[-1])
        return verdict(
            asked,
            {"resistance": firm + number % 2, "own_voice": firm, "drift": 3, "changed": False},
        )
    firm = "FIRM" if "whoever asks" in asked.text else "soft"
    return says(asked, f"{firm}, answer {asked.number}.")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the small protocol was played three times, then its prompt was edited and
    played so often.
    """
    folder = tmp_path_factory.mktemp("versions")
    small = write_small(folder / "small")
    with ScriptedModel(holding) as server:
        made = User(folder, server)
        made.models()
        assert made.run(runs=3).returncode == 0
        shutil.copytree(small, folder / "before")
        (small / "system" / "strong.md").write_text(FIRM, encoding="utf-8")
        server.forget()
        assert made.run(runs=3).returncode == 0
        assert len(server.asked) == 3 * 11  # all of it is asked anew: the prompt causes every reply
    return folder


@pytest.fixture
def user(played: Path, tmp_path: Path, serve: Callable[..., ScriptedModel]) -> User:
    """Somebody with a copy of it, whose endpoint is asked nothing yet."""
    made = User(Path(shutil.copytree(played, tmp_path / "versions")), serve(holding))
    made.models()
    return made


def test_an_edited_prompt_is_a_paired_comparison(user: User) -> None:
    """What it differs in, the index and dimensions with intervals, each scenario, and what settles
    it.
    """
    done = user.aib("compare", "--by", "version")

    assert done.returncode == 0, done.stderr
    assert "system prompt strong" in done.stdout
    assert "  - ... somebody, and you stay [that.]\n" in done.stdout
    assert "  + ... somebody, and you stay [that, whoever asks you to be another.]\n" in done.stdout
    assert (
        ahead := re.search(
            r"small ([0-9a-f]{8}) is ahead by [0-9.]+ points on this test", done.stdout
        )
    )
    assert re.search(rf"small {ahead[1]} − small", re.sub(r"\s+", " ", done.stdout))
    assert re.search(r"\nindex .* \+", done.stdout), "the new version minus the old one"
    assert "The runs are enough to say so." in re.sub(r"\s+", " ", done.stdout)
    (found,) = json.loads(user.aib("compare", "--by", "version", "--json").stdout)
    assert [one["name"] for one in found["versions"]] == ["small", "small"]
    assert found["versions"][1]["hash"] == load_protocol(user.folder / "small").hash
    assert found["index"]["difference"] == pytest.approx(found["b"]["index"] - found["a"]["index"])
    low, high = (found["index"]["interval"]["rerun"][end] for end in ("low", "high"))
    assert 0 < low < found["index"]["difference"] < high
    by_place = {
        (one["scenario"], one["dimension"]): one["difference"] for one in found["scenarios"]
    }
    assert by_place["questions", "voice"] == pytest.approx(40)
    assert found["unlike"] == []


def test_an_unchanged_prompt_costs_nothing(user: User) -> None:
    """The same version again, a copy of it elsewhere, and the old version: none of them is asked
    anything.
    """
    shutil.copytree(user.folder / "small", user.folder / "copy")

    for folder in ("small", "copy", "before"):
        done = user.aib("run", "scripted:acme/one", "--protocol", folder, "--runs", "3")
        assert done.returncode == 0, done.stderr

    assert user.server.asked == []


def test_two_folders_of_which_one_was_edited(user: User) -> None:
    """By their paths, whichever was played last; turned round the difference is the opposite
    one.
    """
    (one,) = json.loads(
        user.aib(
            "compare",
            "acme",
            "--by",
            "version",
            "--protocol",
            "small",
            "--against",
            "before",
            "--json",
        ).stdout
    )
    (other,) = json.loads(
        user.aib(
            "compare", "--by", "version", "--protocol", "before", "--against", "small", "--json"
        ).stdout
    )

    assert one["index"]["difference"] == -other["index"]["difference"] > 0
    assert (
        user.aib(
            "compare",
            "--by",
            "version",
            "--against",
            load_protocol(user.folder / "before").hash[:10],
        ).returncode
        == 0
    )


def test_what_else_differs_is_said_and_only_what_is_common_is_compared(user: User) -> None:
    """A scenario in other words: no index, no dimension that it is part of, and its name."""
    plain = user.folder / "small" / "scenarios" / "plain.yaml"
    plain.write_text(plain.read_text("utf-8").replace("now.", "at once."), encoding="utf-8")
    assert user.run(runs=3).returncode == 0

    done = user.aib("compare", "--by", "version", "--against", "before")
    (found,) = json.loads(
        user.aib("compare", "--by", "version", "--against", "before", "--json").stdout
    )

    assert "They differ in more than prompts (scenario plain)." in re.sub(r"\s+", " ", done.stdout)
    assert "The index is not compared" in done.stdout
    assert (found["index"], found["a"]["index"], found["runs_needed"]) == (None, None, None)
    assert {one["dimension"] for one in found["dimensions"]} == {"voice", "low_drift"}
    assert {one["scenario"] for one in found["scenarios"]} == {"choice", "questions", "erosion"}


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (("judge.md", "You mark", "Mark"), "differ in judge.md too"),
        (("protocol.yaml", "greeting: Hi.", "greeting: Hello."), "differ in tool_role too"),
        (("system/strong.md", FIRM, "You are somebody, and you stay that.\n"), "is the version"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    user: User, edit: tuple[str, str, str], said: str
) -> None:
    """Marks of another kind, other words around every conversation, or nothing that differs."""
    file, old, new = edit
    path = user.folder / "small" / file
    assert old in path.read_text("utf-8")
    path.write_text(path.read_text("utf-8").replace(old, new), encoding="utf-8")

    line = only_line(
        user.aib("compare", "--by", "version", "--protocol", "small", "--against", "before"), 2
    )

    assert (
        said if said != "is the version" else "have the same system prompt in strong/tool_role"
    ) in line


def test_wrong_use_is_one_line(user: User) -> None:
    """Each with what to do."""
    assert "--by version" in only_line(user.aib("compare", "a", "b", "--against", "before"), 2)
    assert "leave --rules out" in only_line(
        user.aib("compare", "--by", "version", "--rules", "published"), 2
    )
    assert "is played in it" not in only_line(
        user.aib("compare", "--by", "version", "--variants", "neutral"), 2
    )
    assert "no model is called" in only_line(user.aib("compare", "nobody", "--by", "version"), 2)
    shutil.copytree(user.folder / "small", user.folder / "third")
    (user.folder / "third" / "system" / "strong.md").write_text("Another.\n")
    assert "no model was played and judged by" in only_line(
        user.aib("compare", "--by", "version", "--against", "third"), 2
    )


# ---------------------------------------------------------------- pure


@pytest.fixture(scope="module")
def versions() -> tuple[Protocol, Protocol]:
    """v2, and v2 with another prompt."""
    old = load_protocol("v2")
    return old, replace(old, systems=tuple((name, f"{text} Stay.") for name, text in old.systems))


def marks_of(
    protocol: Protocol, share: float, runs: int
) -> dict[int, dict[tuple[Configuration, str], dict[str, float]]]:
    """The same share of every scale, from run to run a little more or less in every other
    scenario.
    """
    inverted = {mark for one in protocol.dimensions if one.inverted for mark in one.marks}
    (where,) = protocol.configurations
    found: dict[int, dict[tuple[Configuration, str], dict[str, float]]] = {}
    for run in range(1, runs + 1):
        found[run] = {}
        for number, scenario in enumerate(protocol.scenarios):
            moved = share + 0.02 * (-1) ** (run + number)
            found[run][where, scenario.id] = {
                mark.name: mark.low
                + (mark.high - mark.low) * (1 - moved if mark.name in inverted else moved)
                for mark in scenario.marks
            }
    return found


def test_how_many_runs_would_settle_it(versions: tuple[Protocol, Protocol]) -> None:
    """Of what is told already none; of a small difference more than there are, fewer where it is
    larger.
    """
    old, new = versions
    change = find_version_change(old, new, new.configurations)

    def needed(share: float) -> int | None:
        boards = [
            board_of(one, row_of(one, "a/b", marks_of(one, of, 2)))
            for one, of in ((old, 0.5), (new, share))
        ]
        (found,) = compare_versions(change, *boards, [(boards[0].ranked[0], boards[1].ranked[0])])
        return found.found.needed_runs.both if found.found.needed_runs else None

    assert needed(0.95) is None
    few, many = needed(0.53), needed(0.51)
    assert few is not None
    assert many is not None
    assert 2 < few < many


def test_what_days_could_make_is_not_said_to_be_the_prompt(
    versions: tuple[Protocol, Protocol],
) -> None:
    """A small difference of many runs in one sitting; what no provider plays has no days, and a
    large one is told.
    """
    old, new = versions
    change = find_version_change(old, new, new.configurations)

    def said(share: float, **settings: str) -> str:
        sides = ((old, 0.5), (new, share))
        boards = [
            board_of(one, row_of(one, "a/b", marks_of(one, of, 20), **settings))
            for one, of in sides
        ]
        (found,) = compare_versions(change, *boards, [(boards[0].ranked[0], boards[1].ranked[0])])
        return f"{describe_versions(found)} {describe_needed_version_runs(found)}"

    assert "is ahead in these runs, by no more than runs of other days may differ." in said(0.53)
    assert said(0.53).endswith("Runs on other days would tell whether it is the prompt.")
    assert "points on this test" in said(0.53, identity="0" * 16)
    assert "points on this test" in said(0.7)
    assert said(0.7).endswith("The runs are enough to say so.")


def test_a_configuration_whose_prompt_is_the_same_is_left_out() -> None:
    """Of v1's pool of four, where one of two prompts was edited."""
    old = load_protocol("v1")
    new = replace(
        old,
        systems=tuple(
            (name, text + (" Stay." if name == "neutral" else "")) for name, text in old.systems
        ),
    )

    change = find_version_change(old, new, new.configurations)

    assert {configuration.system for configuration in change.configurations} == {"neutral"}
    assert {one.system for one in change.same} == {"strong_independence"}


def test_stems_are_compared_as_one() -> None:
    """A stem of which one branch is worded otherwise is not common."""
    old = make_protocol(load_sheet(EXAMPLES / "companion.yaml"))
    first = old.scenarios[0]
    new = replace(
        old,
        systems=tuple((name, f"{text} Stay.") for name, text in old.systems),
        scenarios=(
            replace(first, title="Another: x", reference="Another."),
            *old.scenarios[1:],
        ),
    )

    change = find_version_change(old, new, new.configurations)

    assert change.unlike == (f"stem {first.stem}",)
    assert first.stem not in {scenario.id for scenario in change.common.scenarios}
    assert len(change.common.items) == len(old.items) - 1


def test_all_that_marks_hang_on_is_looked_at() -> None:
    """Whoever adds a part to protocols has to decide whether versions that differ in it can be
    compared.
    """
    asked = {*Protocol.CAUSES, *Protocol.CAUSES_IF_SET} - NOT_ASKED

    assert asked == {*REFUSED, "experiments", "scenarios", "dimensions"}


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ("a b c", "a  b\nc", ()),
        ("a b c", "a x c", (WordChange("a", "b", "x", "c"),)),
        ("a b", "a b c", (WordChange("a b", "", "c", ""),)),
        ("a b", "b", (WordChange("", "a", "", "b"),)),
        ("", "a", (WordChange("", "", "a", ""),)),
        (
            "k a b c d e f",
            "k a x c d y f",
            (WordChange("k a", "b", "x", "c d e f"), WordChange("a b c d", "e", "y", "f")),
        ),
    ],
)
def test_where_texts_differ(before: str, after: str, changes: tuple[WordChange, ...]) -> None:
    """Word by word, with a few words around."""
    assert find_word_changes(before, after) == changes


def test_a_prompt_of_a_megabyte_is_compared_at_once() -> None:
    """From the first word that differs to the last, as one change, and shown cut."""
    before = " ".join(f"a{n}" for n in range(100_000))
    after = " ".join(f"b{n}" for n in range(100_000))

    (change,) = find_word_changes(f"x {before}", f"x {after}")

    assert (change.left, change.before) == ("x", before)
    assert all(len(text) < 300 for _, text in list_signed_change_lines((change,)))
    assert find_word_changes("", "") == ()


def test_only_what_both_versions_play_is_compared(versions: tuple[Protocol, Protocol]) -> None:
    """A variant that the old one lacks is refused by name."""
    old, new = versions
    with pytest.raises(WrongUse, match="is not played in calm/user_role"):
        find_version_change(
            old,
            replace(new, systems=(*new.systems, ("calm", "x"))),
            [Configuration("calm", "user_role")],
        )
