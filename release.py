"""Make a release in one command: `make release VERSION=0.2.0`.

Checks that a release can be made, writes the version wherever it stands, builds the viewer's page,
a wheel and a source archive into dist/, tries the wheel in an empty environment, commits, and tags.
Nothing is sent anywhere: `git push --follow-tags` starts the workflow that publishes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).parent
DIST = ROOT / "dist"
MODULE = "src/independence_bench/__init__.py"
CHANGELOG = "CHANGELOG.md"
OPEN = "This release is not published yet."  # a section of the changelog that is still written
# file -> what stands around the version in it
PLACES = {
    MODULE: r'(?<=^__version__ = ")[^"]+(?="$)',
    "CITATION.cff": r"(?<=^version: ).+$",
    ".zenodo.json": r'(?<="version": ")[^"]+(?=",)',
}


class CannotRelease(Exception):
    """A release cannot be made, and why, in one line."""


def run(*command: str | Path, **more: str) -> str:
    """What *command* prints, run in the checkout with *more* in its environment. Raises
    CannotRelease if it fails.
    """
    done = subprocess.run(
        list(map(str, command)), cwd=ROOT, env=os.environ | more, capture_output=True, text=True
    )
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["it says nothing"]
        raise CannotRelease(f"{' '.join(map(str, command[:3]))} failed: {last[0]}")
    return done.stdout


def check_release(text: str) -> Version:
    """The version that *text* names. Raises CannotRelease if it is none, or is not newer than the
    last one, if the checkout has changes that are not committed, or if the changelog says nothing.
    """
    try:
        version = Version(text)
    except InvalidVersion:
        raise CannotRelease(f"{text!r} is not a version; write one such as 0.2.0") from None
    released = list_released_versions()
    if released and version <= max(released):
        raise CannotRelease(f"{version} is not newer than {max(released)}, which is released")
    if (branch := run("git", "branch", "--show-current").strip()) != "main":
        at = f"the branch {branch}" if branch else "no branch"
        raise CannotRelease(f"the checkout is on {at}; a release is made from the branch main")
    if run("git", "status", "--porcelain", "--untracked-files=no"):
        raise CannotRelease("the checkout has changes that are not committed")
    if stray := run("git", "ls-files", "--others", "--exclude-standard", "src").split("\n")[0]:
        raise CannotRelease(f"{stray} would be packed, but git does not have it: add or delete it")
    if not find_notes(version):
        raise CannotRelease(f"{CHANGELOG} has no section ## {version} that says what is new")
    return version


def list_released_versions() -> list[Version]:
    """The versions that tags name; a tag such as v0-import names none."""
    versions = []
    for tag in run("git", "tag", "--list", "v[0-9]*").split():
        with suppress(InvalidVersion):
            versions.append(Version(tag[1:]))
    return versions


def find_notes(version: Version) -> str:
    """What the changelog says of *version*, without the heading and the line that it is open; ""
    if it has no such section.
    """
    text = (ROOT / CHANGELOG).read_text(encoding="utf-8")
    found = _match_section(version, text)
    return found["notes"].replace(OPEN, "").strip() if found else ""


def _match_section(version: Version, text: str) -> re.Match[str] | None:
    """The section of *version*, not released yet, in the changelog's *text*."""
    heading = rf"^## {re.escape(str(version))}\n"
    return re.search(rf"{heading}(?P<notes>(?:(?!## ).*\n?)*)", text, re.MULTILINE)


def write_version(version: Version, today: str) -> None:
    """Write *version* wherever it stands, and close its section of the changelog: *today*."""
    for name, pattern in PLACES.items():
        path = ROOT / name
        text, count = re.subn(
            pattern, str(version), path.read_text(encoding="utf-8"), flags=re.MULTILINE
        )
        if count != 1:
            raise CannotRelease(f"{name} has {count} versions")
        path.write_text(text, encoding="utf-8")
    path = ROOT / CHANGELOG
    text = path.read_text(encoding="utf-8")
    if section := _match_section(version, text):
        notes = section["notes"].replace(f"{OPEN}\n\n", "")
        text = f"{text[: section.start()]}## {version} ({today})\n{notes}{text[section.end() :]}"
        path.write_text(text, encoding="utf-8")


def build() -> tuple[Path, Path]:
    """The wheel and the source archive, built anew in dist/."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "uv", "build", "--quiet", "-o", DIST, ".", AIB_RELEASE="1")
    (wheel,), (archive,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    return wheel, archive


def try_wheel(wheel: Path, version: Version) -> None:
    """Install *wheel* in an empty environment, and play the demo there and write its site."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        venv.create(place / "venv", with_pip=False)
        python, aib = place / "venv/bin/python", place / "venv/bin/aib"
        install = ["pip", "install", "--quiet", "--python", python, "-c", "constraints.txt", wheel]
        run(sys.executable, "-m", "uv", *install)
        if (named := run(aib, "--version").split()[-1]) != str(version):
            raise CannotRelease(f"{wheel.name} says that it is {named}")
        run(aib, "demo", "--no-open", "--store", place / "demo.db")
        run(aib, "site", place / "site", "--store", place / "demo.db")


def main(arguments: Sequence[str]) -> None:
    """Make the release that *arguments* name; with --check only say if it cannot be made."""
    if len(named := [word for word in arguments if word != "--check"]) != 1:
        raise CannotRelease("name one version: make release VERSION=0.2.0")
    version = check_release(named[0])
    if "--check" in arguments:
        return
    notes = find_notes(version)
    try:
        write_version(version, f"{datetime.now(UTC):%Y-%m-%d}")
        run("make", "page")
        wheel, archive = build()
        try_wheel(wheel, version)
        run("git", "commit", "--quiet", "--all", "--allow-empty", "-m", f"Release {version}")
    except BaseException:  # Ctrl-C, too
        run("git", "checkout", "HEAD", "--", *PLACES, CHANGELOG)
        raise
    # verbatim: a line that begins with # is no comment
    run("git", "tag", "--annotate", "--cleanup=verbatim", "-m", notes, f"v{version}")
    print(f"{wheel.relative_to(ROOT)}\n{archive.relative_to(ROOT)}")
    print(f"tagged v{version}. To publish it: git push --follow-tags")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except CannotRelease as error:
        sys.exit(f"release: {error}")
    except KeyboardInterrupt:
        sys.exit("release: stopped; nothing was committed")
