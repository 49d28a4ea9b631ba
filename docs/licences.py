"""What users get beside our own code, and under which licences: docs/data/licences.csv, and `make
licences`.

What only the extras of other tools bring is in a file of its own,
docs/data/licences-integrations.csv, which `.venv-integrations/bin/python docs/licences.py
--integrations` writes: no other environment has them.

Python packages are those that the package and its extras for users ask for, as they are installed
here, with all that these ask for in turn; parts of the viewer's page are those of
`web/package-lock.json` that are no tools.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
TOOLS = {"dev", "torture", "integrations"}  # extras that only developers install
APART = {"inspect", "ray"}  # extras of other tools: installed in .venv-integrations alone
LISTED = ROOT / "docs" / "data" / "licences.csv"
LISTED_APART = ROOT / "docs" / "data" / "licences-integrations.csv"
OSI = "License :: OSI Approved :: "
ALWAYS, PAGE = "every installation", "viewer's page"


@dataclass(frozen=True, slots=True)
class Part:
    """One package that users get, and what it comes in with."""

    name: str
    licence: str  # "" where it does not say
    within: str

    @property
    def copyleft(self) -> str:
        """ "strong" (GPL, AGPL), "weak" (LGPL, MPL) or "": of the freest licence that may be
        chosen.
        """
        found = [_copyleft(choice) for choice in re.split(r"\s+OR\s+", self.licence)]
        return min(found, key=("", "weak", "strong").index)


def _copyleft(licence: str) -> str:
    weak = r"(GNU )?Lesser General Public|LGPL|Mozilla|\bMPL"
    if re.search(r"GPL|General Public|Affero", re.sub(weak, "", licence)):
        return "strong"
    return "weak" if re.search(weak, licence) else ""


def installed(apart: bool = False) -> Iterator[Part]:
    """Every Python package, once, by name; what the package itself asks for goes before its extras.

    With *apart* those that only the extras of other tools bring, else all others.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {
        name: asked for name, asked in project["optional-dependencies"].items() if name not in TOOLS
    }
    common = {
        "": project["dependencies"],
        **{name: asked for name, asked in extras.items() if name not in APART},
    }
    found: dict[str, Part] = {}
    for extra, asked in {
        **common,
        **({name: extras[name] for name in sorted(APART)} if apart else {}),
    }.items():
        within = f"extra `{extra}`" if extra else ALWAYS
        for one in _needed(asked, set(), set()):
            name = re.sub(r"[-_.]+", "-", one.metadata["Name"]).lower()
            found.setdefault(name, Part(name, licence_of(one), within))
    shown = (
        {f"extra `{name}`" for name in APART} if apart else {one.within for one in found.values()}
    )
    yield from (found[name] for name in sorted(found) if found[name].within in shown)


def _needed(
    asked: Iterable[str], extras: set[str], seen: set[tuple[str, str]]
) -> Iterator[Distribution]:
    for text in asked:
        wanted = Requirement(text)
        key = (wanted.name, ",".join(sorted(wanted.extras)))
        meant = wanted.marker is None or any(
            wanted.marker.evaluate({"extra": extra}) for extra in extras | {""}
        )
        if meant and key not in seen:
            seen.add(key)
            one = distribution(wanted.name)
            yield one
            yield from _needed(one.requires or (), set(wanted.extras), seen)


def licence_of(one: Distribution) -> str:
    """As a package says it: its expression, else its classifier, else the heading of its text or of
    its file.
    """
    metadata = one.metadata
    told = [
        text.rpartition(" :: ")[2]
        for text in metadata.get_all("Classifier") or ()
        if text.startswith(OSI)
    ]
    files = [file for file in one.files or () if re.match("LICEN[CS]E", file.name)]
    texts = [
        metadata.get("License") or "",
        *(Path(str(one.locate_file(file))).read_text("utf-8") for file in files),
    ]
    return (
        metadata.get("License-Expression")
        or " AND ".join(told)
        or next(filter(None, map(_heading, texts)), "")
    )


def _heading(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return ", ".join(lines[: 2 if lines[1:] and lines[1].startswith("Version") else 1])


def of_page() -> Iterator[Part]:
    """Every npm package whose code is in the page."""
    packages = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))[
        "packages"
    ]
    names = {path.rpartition("node_modules/")[2]: about for path, about in packages.items() if path}
    for name, about in sorted(names.items()):
        if not about.get("dev") and not name.startswith("@types/"):
            yield Part(name, about.get("license", ""), PAGE)


def parts() -> list[Part]:
    """All of it."""
    return [*installed(), *of_page()]


def listed(found: Sequence[Part]) -> str:
    """Every part as a row of CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("package", "licence", "comes with"))
    writer.writerows((one.name, one.licence or "?", one.within) for one in found)
    return text.getvalue()


if __name__ == "__main__":
    if "--integrations" in sys.argv[1:]:
        LISTED_APART.write_text(listed(list(installed(apart=True))), encoding="utf-8")
    else:
        sys.stdout.write(listed(parts()))
