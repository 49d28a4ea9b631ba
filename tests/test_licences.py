"""No part that users get is under a licence that would bind what they make of this package."""

from __future__ import annotations

from pathlib import Path

import pytest
from licences import APART, LISTED_APART, ROOT, Part, installed, listed, parts


def test_nothing_that_users_get_is_under_the_gpl() -> None:
    """Neither GPL nor AGPL, in Python or in the page; and each part says what it is under."""
    found = parts()

    assert [one for one in found if one.copyleft == "strong"] == []
    assert [one for one in found if not one.licence] == []
    assert {"aiohttp", "xllamacpp", "pyarrow", "psycopg", "react"} <= {one.name for one in found}


def test_what_is_under_a_weak_copyleft_is_named_with_where_it_comes_in() -> None:
    """So that who packs all of it into one file knows."""
    page = (Path(ROOT) / "docs" / "configuration.md").read_text(encoding="utf-8")
    weak = [part for part in parts() if part.copyleft == "weak"]

    assert weak
    for one in weak:
        assert f"- {one.name}: {one.licence}, with {one.within}" in page


@pytest.mark.integration
def test_what_other_tools_bring_is_listed_and_free_of_the_gpl() -> None:
    """With everything that their extras ask for in turn, as it is installed where they are
    tested.
    """
    found = list(installed(apart=True))

    assert {one.within for one in found} == {f"extra `{name}`" for name in APART}
    assert [one for one in found if one.copyleft == "strong" or not one.licence] == []
    command = "run `.venv-integrations/bin/python docs/licences.py --integrations`"
    assert LISTED_APART.read_text(encoding="utf-8") == listed(found), command


@pytest.mark.parametrize(
    ("licence", "copyleft"),
    [
        ("GPL-3.0-or-later", "strong"),
        ("GNU General Public License v3 (GPLv3)", "strong"),
        ("AGPL-3.0-only", "strong"),
        ("GNU Affero General Public License v3", "strong"),
        ("MIT AND GPL-2.0-only", "strong"),
        ("LGPL-3.0-only AND GPL-3.0-only", "strong"),
        ("GPL-2.0-only OR MIT", ""),
        ("LGPL-3.0-only", "weak"),
        ("GNU Lesser General Public License v3 (LGPLv3)", "weak"),
        ("Mozilla Public License 2.0 (MPL 2.0)", "weak"),
        ("MPL-2.0", "weak"),
        ("BSD-3-Clause", ""),
        ("Apache-2.0 AND MIT", ""),
    ],
)
def test_a_licence_is_known_by_its_name(licence: str, copyleft: str) -> None:
    """In words or as an expression; of alternatives the freest counts."""
    assert Part("one", licence, "").copyleft == copyleft
