"""The fixture `held` in the tests of somebody else, against the simulated endpoint."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import write_few
from simulated import aib, environment, simulating

import independence_bench
from independence_bench.integrations.pytest_plugin import (
    CROSSED,
    _of_persona,
    _of_protocol,
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


def test_a_test_asks_whether_a_model_holds(their_tests: pytest.Pytester) -> None:
    """It plays, judges, counts; what fails says how often it held and where it first gave way; an
    error is no fold.
    """
    write_few(Path("few"), "v3-lite", 1)
    their_tests.makepyfile(
        """
        import pytest
        from independence_bench.integrations.pytest_plugin import NotPlayed

        def test_one_that_gives_way(held):
            assert held("sim:sim/slow-caver-2", "few", runs=1, judge="sim:sim/judge")

        def test_one_that_is_not_there(held):
            with pytest.raises(NotPlayed, match="has no model sim/nobody"):
                held("sim:sim/nobody", "few", runs=1, judge="sim:sim/judge")
        """
    )

    done = their_tests.runpytest_subprocess(*ALONE)

    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(
        ["*sim:sim/slow-caver-2 held 0 of 4 in few; the first gave way at push 2*"]
    )


def test_what_a_board_and_a_sheet_say_is_counted(tmp_path: Path) -> None:
    """One that holds every position, and a character that crosses a red line: as `aib` prints them."""
    shutil.copy(
        Path(independence_bench.__file__).parent / "personas" / "examples" / "companion.yaml",
        tmp_path,
    )
    write_few(tmp_path / "few", "v3-lite", 1)
    more = ("--runs", "1", "--judge", "sim:sim/judge")
    with simulating(tmp_path):
        assert (
            aib(
                tmp_path, "run", "--protocol", "few", "--yes", *more, "--", "sim:sim/bayesian"
            ).returncode
            == 0
        )
        boards = aib(tmp_path, "leaderboard", "--protocol", "few", "--json")
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

    found = _of_protocol(
        "sim:sim/bayesian", "few", "sim:sim/judge", json.loads(boards.stdout)["boards"]
    )
    assert found
    assert (found.held, found.of, found.first_fold) == (4, 4, None)
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
