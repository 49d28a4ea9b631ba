"""What readers are given of the shipped stems, and what answers come to: made up, in a folder of the test."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import read_stems

from independence_bench.protocol.loader import load

Read = Callable[..., tuple[int, str]]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Read:
    """Run the script in this process: its exit code and what it printed."""

    def run(*given: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["read_stems.py", *given])
        code, ended = 0, ""
        try:
            read_stems.main()
        except SystemExit as end:
            code = int(end.code or 0)
        except ValueError as error:  # ends the script
            code, ended = 1, str(error)
        return code, capsys.readouterr().out + ended

    return run


@pytest.fixture
def answered(read: Read, tmp_path: Path) -> Path:
    """Batches for five readers who find everything as it is meant, and have no preferences; no talks of models."""
    assert read("batches", str(tmp_path))[0] == 0
    for name, known in json.loads((tmp_path / "key.json").read_text("utf-8")).items():
        kind, _, reader = name.rpartition("-")
        said = {}
        for number, one in enumerate(known, 1):
            of_kind = {"reasons": "nothing", "takes": one.get("right"), "person": 4}
            said[str(number)] = of_kind.get(kind) or f"{one['labels'][int(reader) % 2]}, {one['aspects'][number % 2]}"
        (tmp_path / f"{name}.answers.json").write_text(json.dumps(said), encoding="utf-8")
    return tmp_path


def test_every_text_is_read_and_admitted_where_readers_see_what_is_meant(read: Read, answered: Path) -> None:
    """Seven texts a stem, both corrections for either aspect, twelve talks by five readers each, choices by eight."""
    code, said = read("report", str(answered), "--talks", str(answered))

    assert code == 0, said
    assert "reasons: 84 texts, 420 readings, nothing in 420" in said
    assert "takes: 48 corrections by what decided, 240 readings, as computed in 240" in said
    assert "person: 12 stems, 60 readings, mean 4.00" in said
    assert "chooses, readers: of 96 aspects 48 were the one named first" in said


@pytest.mark.parametrize(("kind", "wrong"), [("reasons", "it is cheaper"), ("takes", "neither"), ("person", "1")])
def test_what_readers_see_otherwise_or_did_not_read_is_not_admitted(
    read: Read, answered: Path, kind: str, wrong: str
) -> None:
    """And is named; an answer that is missing stays missing."""
    key = json.loads((answered / "key.json").read_text("utf-8"))
    stem = key[f"{kind}-1"][0]["stem"]
    for path in answered.glob(f"{kind}-*.answers.json"):
        known = key[path.name.removesuffix(".answers.json")]
        other = {str(number): wrong for number, one in enumerate(known, 1) if one["stem"] == stem}
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | other), encoding="utf-8")
    code, said = read("report", str(answered), "--talks", str(answered))
    (answered / f"{kind}-2.answers.json").unlink()

    assert (code, f"not admitted: {stem}" in said) == (1, True)
    assert read("report", str(answered), "--talks", str(answered))[1].count("not admitted") > said.count("not admitted")


def test_an_option_or_an_order_that_everybody_prefers_is_not_admitted(read: Read, answered: Path) -> None:
    """The first label of one stem, and the aspect that is named first in all of them."""
    key = json.loads((answered / "key.json").read_text("utf-8"))
    for path in answered.glob("chooses-*.answers.json"):
        known = key[path.name.removesuffix(".answers.json")]
        said = {str(n): f"{one['labels'][0]}, {one['aspects'][0]}" for n, one in enumerate(known, 1)}
        path.write_text(json.dumps(said), encoding="utf-8")

    code, said = read("report", str(answered), "--talks", str(answered))

    assert (code, said.count(": option 1 in 8 of 8 readings")) == (1, 12)
    assert "the aspect that is named first decides in 96 of 96 readings" in said


def test_an_answer_that_is_no_object_ends_it(read: Read, answered: Path) -> None:
    """With its name."""
    (answered / "takes-1.answers.json").write_text("I would say so.", encoding="utf-8")

    code, said = read("report", str(answered), "--talks", str(answered))

    assert (code, "takes-1.answers.json is no JSON object" in said) == (1, True)


def test_what_was_worded_again_has_to_be_read_again(read: Read, answered: Path) -> None:
    """The readings of other words count no more, and the readers who are lacking are added, for that text alone."""
    for number in range(1, 6):
        batch = answered / f"reasons-{number}.md"
        batch.write_text(batch.read_text("utf-8").replace("Mind the", "Mind a").replace("Come on, be", "Be"), "utf-8")
    code, before = read("report", str(answered), "--talks", str(answered))

    assert (code, "not admitted: village_play, pressure_2: 0 readers" in before) == (1, True)
    assert read("batches", str(answered))[0] == 0
    added = sorted(answered.glob("reasons-*.md"), key=lambda path: int(path.stem.rpartition("-")[2]))[5:]

    assert "reasons: 83 texts, 415 readings" in before
    assert len(added) == 5
    assert all(batch.read_text("utf-8").count("## Case") == 1 for batch in added)
    assert all("Come on, be" in batch.read_text("utf-8") for batch in added)
    assert not [*answered.glob("takes-6.md"), *answered.glob("chooses-9.md")]


def test_what_ships_was_read_and_is_admitted_but_for_one_question(read: Read) -> None:
    """Readers find no reason in a push, every correction as computed, and that it is a test, which docs/v3.md says."""
    code, said = read("report", str(read_stems.NORMS))
    faults = [line for line in said.splitlines() if line.startswith("not admitted")]

    assert code == 1
    assert "reasons: 84 texts, 420 readings, nothing in 420" in said
    assert "takes: 48 corrections by what decided, 240 readings, as computed in 240" in said
    assert [line for line in faults if not line.endswith("a test and not a person")] == []
    assert len(faults) == 12


def test_no_case_tells_what_is_meant() -> None:
    """Neither which branch a text is of, nor what was computed."""
    stems = {scenario.stem for scenario in load("v3-lite").scenarios}
    for kind in read_stems.KINDS:
        for case in read_stems.cases(kind, 1):
            words = case.shown.casefold()
            assert not [word for word in ("pressure", "correction_", "deciding", *stems) if word in words]
