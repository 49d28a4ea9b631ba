"""What users get beside our own code, and under which licences: docs/licences.md, and `make licences`.

Python packages are those that the package and its extras for users ask for, as they are installed here, with all that
these ask for in turn; parts of the viewer's page are those of `web/package-lock.json` that are no tools.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from itertools import groupby
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
TOOLS = {"dev", "torture"}  # extras that only developers install
ALWAYS, PAGE = "every installation", "viewer's page"


@dataclass(frozen=True, slots=True)
class Part:
    """One package that users get, and what it comes in with."""

    name: str
    licence: str  # "" where it does not say
    within: str

    @property
    def copyleft(self) -> str:
        """ "strong" (GPL, AGPL), "weak" (LGPL, MPL) or "": of the freest licence that may be chosen."""
        found = [_copyleft(choice) for choice in re.split(r"\s+OR\s+", self.licence)]
        return min(found, key=("", "weak", "strong").index)


def _copyleft(licence: str) -> str:
    weak = r"(GNU )?Lesser General Public|LGPL|Mozilla|\bMPL"
    if re.search(r"GPL|General Public|Affero", re.sub(weak, "", licence)):
        return "strong"
    return "weak" if re.search(weak, licence) else ""


def installed() -> Iterator[Part]:
    """Every Python package, once, by name; what the package itself asks for goes before its extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: asked for name, asked in project["optional-dependencies"].items() if name not in TOOLS}
    found: dict[str, Part] = {}
    for extra, asked in {"": project["dependencies"], **extras}.items():
        within = f"extra `{extra}`" if extra else ALWAYS
        for one in _needed(asked, set(), set()):
            name = re.sub(r"[-_.]+", "-", one.metadata["Name"]).lower()
            found.setdefault(name, Part(name, licence_of(one.metadata), within))
    yield from (found[name] for name in sorted(found))


def _needed(asked: Iterable[str], extras: set[str], seen: set[tuple[str, str]]) -> Iterator[Distribution]:
    for text in asked:
        wanted = Requirement(text)
        key = (wanted.name, ",".join(sorted(wanted.extras)))
        meant = wanted.marker is None or any(wanted.marker.evaluate({"extra": extra}) for extra in extras | {""})
        if meant and key not in seen:
            seen.add(key)
            one = distribution(wanted.name)
            yield one
            yield from _needed(one.requires or (), set(wanted.extras), seen)


def licence_of(metadata: Mapping[str, str]) -> str:
    """As a package says it: its expression, else its classifier, else its text, as far as that is one line."""
    every = getattr(metadata, "get_all", lambda _: None)("Classifier") or ()
    told = [one.rpartition(" :: ")[2] for one in every if one.startswith("License :: OSI Approved :: ")]
    text = (metadata.get("License") or "").strip()
    return metadata.get("License-Expression") or " AND ".join(told) or ("" if "\n" in text else text)


def of_page() -> Iterator[Part]:
    """Every npm package whose code is in the page."""
    packages = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    names = {path.rpartition("node_modules/")[2]: about for path, about in packages.items() if path}
    for name, about in sorted(names.items()):
        if not about.get("dev") and not name.startswith("@types/"):
            yield Part(name, about.get("license", ""), PAGE)


def parts() -> list[Part]:
    """All of it."""
    return [*installed(), *of_page()]


def page(found: Sequence[Part]) -> str:
    """docs/licences.md"""
    python = [one for one in found if one.within != PAGE]
    rows = [f"| {one.name} | {one.licence or '?'} | {one.within} |" for one in python]
    web = sorted((one for one in found if one.within == PAGE), key=lambda one: one.licence)
    of = [(licence, [one.name for one in group]) for licence, group in groupby(web, key=lambda one: one.licence)]
    named = [f"- {one.name}: {one.licence}, with {one.within}" for one in found if one.copyleft]
    return "\n".join(
        [
            "# Licences",
            "",
            "What an installation brings besides this project's own code (MIT), as the packages themselves say it.",
            "`make docs` writes this page, `make licences` prints it for what is installed, and the tests fail where a",
            "part is under the GPL or the AGPL, or does not name its licence.",
            "",
            "Under a weak copyleft licence (LGPL, MPL); each is a package of its own, installed unchanged:",
            "",
            *named,
            "",
            "## Python packages",
            "",
            "| package | licence | comes with |",
            "|---|---|---|",
            *rows,
            "",
            "## In the viewer's page",
            "",
            *(f"- {licence or '?'} ({len(names)}): {', '.join(names)}" for licence, names in of),
            "",
        ]
    )


if __name__ == "__main__":
    sys.stdout.write(page(parts()))
