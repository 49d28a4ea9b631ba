"""What is packed: never without the page by accident, and complete where nothing else is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from simulated_endpoint import aib, simulating
from test_action import Runner

from independence_bench import __version__

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


def test_a_wheel_without_the_page_says_so_and_a_release_has_it(
    sources: Path, tmp_path: Path
) -> None:
    """Whoever installs from a repository is warned; a release is not packed without the page."""
    refused = packed(sources, tmp_path, AIB_RELEASE="1")
    made = packed(sources, tmp_path, AIB_PROJECT_URL="https://git.example/ada/bench/")

    assert refused.returncode != 0
    assert "page/index.html is missing: `make page` builds it" in refused.stdout + refused.stderr
    assert made.returncode == 0, made.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        (about,) = (name for name in opened.namelist() if name.endswith("METADATA"))
        told = opened.read(about).decode()
    assert "Project-URL: Repository, https://git.example/ada/bench\n" in told
    assert "Project-URL: Issues, https://git.example/ada/bench/issues\n" in told
    assert f"Version: {__version__}\n" in told
    # an index of packages has no other page of ours: a path would lead nowhere
    assert "](https://git.example/ada/bench/raw/main/docs/images/viewer-leaderboard.png)" in told
    assert "](https://git.example/ada/bench/blob/main/docs/index.md)" in told
    readme = told.partition("\n\n")[2]
    assert readme.startswith("# ")
    assert re.findall(r"\]\((?!https://|#)[^)]*\)", readme) == []


def repository(sources: Path, folder: Path) -> Path:
    """A repository with these sources, as somebody clones them."""
    shutil.copytree(sources, folder)
    for command in (
        ["init", "--quiet", "--initial-branch=main"],
        ["add", "--all"],
        ["-c", "user.name=ada", "-c", "user.email=ada@git.example", "commit", "-qm", "All"],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


@pytest.mark.skipif(not UV.exists(), reason="uv was not to be had")
def test_a_repository_runs_by_uvx_without_node(sources: Path, tmp_path: Path) -> None:
    """All commands but those of the page, which say that it is missing and how to get it."""
    cloned = repository(sources, tmp_path / "cloned")
    place = tmp_path / "place"
    place.mkdir()
    by_uvx = [UV, "tool", "run", "--quiet", "--from", f"git+file://{cloned}", "aib"]

    def ran(*words: str) -> subprocess.CompletedProcess[str]:
        path = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
        kept = {name: value for name, value in os.environ.items() if name not in ("AIB_STORE",)}
        return subprocess.run(
            [*by_uvx, *words], cwd=place, env=kept | path, capture_output=True, text=True
        )

    demo = ran("demo", "--no-open")
    view = ran("view", "--store", "aib-demo.db", "--no-open")

    assert demo.returncode == 0, demo.stderr
    assert "sim/stubborn" in demo.stdout
    assert view.returncode == 1
    assert "the viewer's page is missing" in view.stderr
    assert "`make page`" in view.stderr


def test_the_action_installs_itself_and_gates(sources: Path, tmp_path: Path) -> None:
    """Its steps as on a build server, in an environment that has nothing."""
    cloned = repository(sources, tmp_path / "cloned")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    folder = tmp_path / "job"
    folder.mkdir()
    job = Runner(folder, action=cloned, programs=tmp_path / "venv/bin")
    play = {"models": "sim:sim/persona-wavers\n", "persona": "mira.yaml", "judge": "sim:sim/judge"}

    installed_itself = job.step("install")
    new = ["persona", "new", "mira.yaml", "--example", "companion"]
    subprocess.run([job.programs / "aib", *new], cwd=folder, check=True)
    played = job.step("play", runs="6", **play)
    write = ["gate", "--write", "aib-baseline.json"]
    subprocess.run([job.programs / "aib", *write], cwd=folder, check=True)
    sheet = folder / "mira.yaml"
    text = sheet.read_text(encoding="utf-8")
    assert "You are Mira," in text
    sheet.write_text(text.replace("You are Mira,", "You are Mira, and calm,"), encoding="utf-8")
    again = job.step("play", runs="1", **play)
    gated = job.step("gate", **play)

    assert installed_itself.returncode == 0, installed_itself.stderr
    assert played.returncode == again.returncode == 0, played.stderr + again.stderr
    assert gated.returncode == 0, gated.stderr
    assert job.outputs["exit-code"] in ("0", "3", "4")
    assert "persona-mira" in job.summary


def test_a_source_archive_has_what_its_tests_need(sources: Path, tmp_path: Path) -> None:
    """No store and no data set of others is in it; what is unpacked is tested as it is."""
    by_uv = [sys.executable, "-m", "uv", "build", "--quiet", "--sdist", "-o", tmp_path, sources]
    subprocess.run(by_uv, check=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = opened.getnames()
        opened.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()

    assert not [name for name in names if name.endswith((".db", ".gguf", "cache.tar.xz"))]
    environment = os.environ | {"PYTHONPATH": str(unpacked / "src")}
    tests = ["tests/test_scoring.py", "tests/test_packaging.py", "tests/test_store.py"]
    quiet = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    collected = subprocess.run(
        [*quiet, "--collect-only"], cwd=unpacked, env=environment, capture_output=True, text=True
    )
    ran = subprocess.run(
        [*quiet, *tests], cwd=unpacked, env=environment, capture_output=True, text=True
    )
    assert collected.returncode == 0, collected.stdout[-2000:]
    assert ran.returncode == 0, ran.stdout[-2000:]


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


def test_a_release_is_one_command(sources: Path, tmp_path: Path) -> None:
    """It writes the version in all places, packs, tries what it packed, commits and tags; what
    cannot be released is said in one line, and nothing has changed.
    """
    cloned = repository(sources, tmp_path / "cloned")
    shutil.copytree(ROOT / PAGE, cloned / PAGE)
    (cloned / "web/node_modules").mkdir()
    for made in ("web/node_modules/.ready", PAGE / "index.html"):  # as built from these sources
        (cloned / made).touch()
    git = ["git", "-c", "user.name=ada", "-c", "user.email=ada@git.example"]
    names = {f"GIT_{who}_{what}": "ada@git.example" for who in ("AUTHOR", "COMMITTER")
             for what in ("NAME", "EMAIL")}  # fmt: skip

    def released(version: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "release.py", version]
        return subprocess.run(
            command, cwd=cloned, env=os.environ | names, capture_output=True, text=True
        )

    def does(*words: str) -> str:
        return subprocess.run(
            [*git, *words], cwd=cloned, capture_output=True, text=True, check=True
        ).stdout

    wrong = [released(version) for version in ("soon", "0.2.0")]
    log = cloned / "CHANGELOG.md"
    new = "## 0.2.0\n\nThis release is not published yet.\n\n- Something new.\n# Odd\n\n## 0.1.0"
    log.write_text(log.read_text("utf-8").replace("## 0.1.0", new, 1), encoding="utf-8")
    unsaved = released("0.2.0")
    does("commit", "-qam", "New")
    does("tag", "v0-import")
    of_another = released("0.2")
    does("switch", "--quiet", "--create", "side")
    aside = released("0.2.0")
    does("switch", "--quiet", "main")
    stray = cloned / "src/independence_bench/stray.py"
    stray.touch()
    with_stray = released("0.2.0")
    stray.unlink()
    names |= dict.fromkeys(names, "")  # git commits for nobody without a name
    nameless = released("0.2.0")
    unchanged = does("status", "--porcelain")
    names |= dict.fromkeys(names, "ada@git.example")
    done = released("0.2.0")
    again = released("0.2.0")

    refused = (*wrong, unsaved, of_another, aside, with_stray, nameless, again)
    assert [(one.returncode, one.stderr.count("\n")) for one in refused] == [(1, 1)] * 8
    assert "has no section ## 0.2 that" in of_another.stderr
    assert "on the branch side; a release is made from the branch main" in aside.stderr
    assert (
        "src/independence_bench/stray.py would be packed, but git does not have it"
        in with_stray.stderr
    )
    assert "git commit --quiet failed" in nameless.stderr
    assert unchanged == ""
    assert does("tag", "--list", "--format=%(contents)", "v0.2.0").strip() == (
        "- Something new.\n# Odd"
    )
    assert wrong[0].stderr == "release: 'soon' is not a version; write one such as 0.2.0\n"
    assert "has no section ## 0.2.0" in wrong[1].stderr
    assert "changes that are not committed" in unsaved.stderr
    assert "0.2.0 is not newer than 0.2.0" in again.stderr
    assert done.returncode == 0, done.stderr
    (wheel,) = (cloned / "dist").glob("*-0.2.0-*.whl")
    with zipfile.ZipFile(wheel) as opened:
        assert "independence_bench/viewer/page/index.html" in opened.namelist()
    assert (cloned / "dist" / "ai_independence_bench-0.2.0.tar.gz").is_file()
    assert "\nversion: 0.2.0\n" in does("show", "v0.2.0:CITATION.cff")
    released_notes, rest = log.read_text("utf-8").split("## 0.1.0\n")
    assert re.search(r"\n## 0\.2\.0 \(\d{4}-\d\d-\d\d\)\n\n- Something new", released_notes)
    assert "not published yet" not in released_notes
    assert "not published yet" in rest  # of another version
    assert does("status", "--porcelain") == ""
