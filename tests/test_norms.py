"""Every text of a shipped stem was read blind, as it is today, and did what it is meant to do."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import read_stems

ROOT = Path(__file__).parent.parent
NORMS = ROOT / "training" / "norms" / "v3"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Run the script in this process, from the project's root: its exit code and what it printed."""
    monkeypatch.chdir(ROOT)

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


def test_every_text_is_admitted() -> None:
    """By at least five readers each, nearly all of one mind; by the script as it is documented."""
    script = [sys.executable, "training/read_stems.py", "report", str(NORMS)]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "308 texts" in done.stdout
    assert "0 texts not admitted" in done.stdout


def test_what_was_read_is_what_ships(read: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    """Whoever changes a word of a stem has it read again."""
    assert read("batches", str(tmp_path))[0] == 0
    made = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    assert len(made) == 56
    assert made == {name: (NORMS / name).read_text("utf-8") for name in made}


@pytest.mark.parametrize("spoiled", ["an answer taken away", "a mind changed", "no yes and no no"])
def test_what_was_not_read_or_did_not_do_is_not_admitted(
    read: Callable[..., tuple[int, str]], tmp_path: Path, spoiled: str
) -> None:
    """A text without five readings, or with readings that say otherwise, is named; an answer is never made up."""
    for path in NORMS.iterdir():
        if path.suffix == ".json":
            (tmp_path / path.name).write_text(path.read_text("utf-8"))
    batches = [tmp_path / f"batch-01-reader-{reader}.answers.json" for reader in (1, 2)]
    if spoiled == "an answer taken away":
        batches[0].unlink()
    elif spoiled == "a mind changed":
        for path in batches:
            answers = json.loads(path.read_text("utf-8"))
            turned = {number: "no" if said == "yes" else "yes" for number, said in answers.items()}
            path.write_text(json.dumps(turned))
    else:
        batches[0].write_text('{"1": "perhaps"}')

    code, said = read("report", str(tmp_path))

    assert code == 1
    wanted = "is no object of yes and no" if spoiled == "no yes and no no" else "28 texts not admitted"
    assert wanted in said
