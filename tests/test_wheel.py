"""What is packed: never without the page by accident, and complete where nothing else is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from simulated_endpoint import aib, simulating

ROOT = Path(__file__).parent.parent
PAGE = Path("src/independence_bench/viewer/page")

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What git has of this project, without the page."""
    folder = tmp_path_factory.mktemp("sources")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


BIN = Path(sys.executable).parent
UV = BIN / "uv"  # where the environment was made by it; it takes a tenth of pip's time
PIP: list[str | Path] = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]


def packed(sources: Path, into: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """The wheel of it, built."""
    by_pip = [*PIP, "wheel", "--no-deps", "-w", into, sources]
    return by_either([UV, "build", "--wheel", "-o", into, sources], by_pip, **more)


def installed(wheel: Path, python: Path) -> None:
    """Install it for *python*, with what it needs; what is imported is compiled then."""
    what = ["-c", ROOT / "constraints.txt", wheel]
    by_pip = [*PIP, "--python", python, "install", "--no-compile", *what]
    done = by_either([UV, "pip", "install", "--quiet", "--python", python, *what], by_pip)
    assert done.returncode == 0, done.stderr


def by_either(
    uv: list[str | Path], pip: list[str | Path], **more: str
) -> subprocess.CompletedProcess[str]:
    """By uv; by pip where there is none, or it finds less than pip, whose settings it does not
    read.
    """
    for command in [uv, pip] if UV.exists() else [pip]:
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | more)
        if done.returncode == 0:
            break
    return done


def test_a_wheel_without_the_page_has_to_be_meant(sources: Path, tmp_path: Path) -> None:
    """The build stops with what to do; a variable says that it is meant."""
    refused = packed(sources, tmp_path)
    meant = packed(
        sources, tmp_path, AIB_NO_PAGE="1", AIB_PROJECT_URL="https://git.example/ada/bench/"
    )

    assert refused.returncode != 0
    assert "run `make page` first, or set AIB_NO_PAGE=1" in refused.stdout + refused.stderr
    assert meant.returncode == 0, meant.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        (about,) = (name for name in opened.namelist() if name.endswith("METADATA"))
        told = opened.read(about).decode()
    assert "Project-URL: Repository, https://git.example/ada/bench\n" in told
    assert "Project-URL: Issues, https://git.example/ada/bench/issues\n" in told


def test_a_wheel_is_all_that_a_site_needs(sources: Path, tmp_path: Path) -> None:
    """In an empty environment both commands work, and `site` writes the page with a store's
    board.
    """
    whole, place = tmp_path / "whole", tmp_path / "place"
    shutil.copytree(sources, whole)
    shutil.copytree(ROOT / PAGE, whole / PAGE)
    made = packed(whole, tmp_path)
    assert made.returncode == 0, made.stderr
    (wheel,) = tmp_path.glob("*.whl")
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    programs = venv / "bin"
    installed(wheel, programs / "python")
    place.mkdir()
    with simulating(place):
        ran = aib(
            place,
            "run",
            "sim:sim/stubborn",
            "--judge",
            "sim:sim/judge",
            "--runs",
            "1",
            "--store",
            "a.db",
        )
    assert ran.returncode == 0, ran.stderr

    named = subprocess.run(
        [programs / "ai-independence-bench", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    site = [str(programs / "aib"), "site", "--store", "a.db", "site"]
    written = subprocess.run(site, cwd=place, capture_output=True, text=True)

    assert named.stdout.startswith("aib")
    assert written.returncode == 0, written.stderr
    assert (place / "site" / "index.html").is_file()
    assert any((place / "site" / "api" / "packs").iterdir())
