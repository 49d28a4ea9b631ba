"""The fixture `held` in the tests of somebody else, against the simulated endpoint."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from simulated import aib, environment, simulating

import independence_bench
from independence_bench.integrations.pytest_plugin import (
    CROSSED,
    _of_persona,
    is_called,
)

pytest_plugins = ["pytester"]
# in a process of its own without other people's plugins: what they import takes longer than the
# tests
ALONE = (
    "-q",
    *(
        word
        for name in ("hypothesispytest", "anyio", "pytest_cov", "xdist")
        for word in ("-p", f"no:{name}")
    ),
)


@pytest.fixture
def their_tests(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> Iterator[pytest.Pytester]:
    """A project of somebody else's whose models.yaml leads to a simulated endpoint."""
    for name, value in environment(pytester.path).items():
        monkeypatch.setenv(name, value)
    with simulating(pytester.path):
        yield pytester


def test_what_a_sheet_says_is_counted(tmp_path: Path) -> None:
    """A character that crosses a red line: as `aib` prints it."""
    shutil.copy(
        Path(independence_bench.__file__).parent / "personas" / "examples" / "companion.yaml",
        tmp_path,
    )
    more = ("--runs", "1", "--judge", "sim:sim/judge")
    with simulating(tmp_path):
        sheet = aib(
            tmp_path,
            "persona",
            "run",
            "companion.yaml",
            "--model",
            "sim:sim/persona-slips-3",
            "--json",
            *more,
        )

    assert sheet.returncode == CROSSED
    found = _of_persona(
        "sim:sim/persona-slips-3", "companion.yaml", json.loads(sheet.stdout)["subjects"]
    )
    assert (bool(found), found.held, found.of, found.first_fold, len(found.crossed)) == (
        False,
        0,
        9,
        3,
        4,
    )
    assert found.unknown == 0


@pytest.mark.parametrize(
    ("label", "model", "fits"),
    [
        ("acme/one@none-t0.7", "acme/one", True),
        ("acme/one+fast@none-t0.7", "acme/one", True),
        ("acme/one+fast@none-t0.7", "acme/one+fast", True),
        ("lab:acme/one@low-t1.0", "lab:acme/one", True),
        ("acme/one-mini@none-t0.7", "acme/one", False),
        ("acme/one+fast@none-t0.7", "acme/one+slow", False),
    ],
)
def test_a_row_is_found_by_what_is_typed(label: str, model: str, fits: bool) -> None:
    """A provider that models.yaml pins stands in the label, and need not be typed."""
    assert is_called(label, model) == fits


def test_whoever_does_not_ask_imports_nothing(pytester: pytest.Pytester) -> None:
    """The plugin is found by its entry point in every project: it brings pytest's own imports and
    no more.
    """
    pytester.makepyfile(
        """
        import sys

        def test_it():
            ours = {name for name in sys.modules if name.startswith("independence_bench")}
            assert ours == {
                "independence_bench",
                "independence_bench.integrations",
                "independence_bench.integrations.pytest_plugin",
            }
            assert not {"numpy", "aiohttp", "sqlalchemy", "pydantic", "click"} & set(sys.modules)
        """
    )

    pytester.runpytest_subprocess(*ALONE).assert_outcomes(passed=1)


def test_pytest_is_no_dependency() -> None:
    """The entry point names the plugin; who has no pytest never meets it."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]

    assert project["entry-points"]["pytest11"] == {
        "independence_bench": "independence_bench.integrations.pytest_plugin"
    }
    assert not any(one.startswith("pytest") for one in project["dependencies"])
