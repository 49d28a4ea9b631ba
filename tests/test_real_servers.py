"""`aib run --local-url` against real servers: llama.cpp's, and `transformers serve` where it is
installed.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_servers import (
    KEY,
    RealServer,
    check_delivery,
    check_key,
    check_restart,
    check_wrong_model,
    llama_cpp,
    transformers_serve,
)

from independence_bench.models.local import files
from independence_bench.models.local.files import SMOLLM2

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        not files.find_pin(SMOLLM2).path.exists(), reason="needs `aib models install smollm2-135m`"
    ),
]
TORCH = importlib.util.find_spec("torch") and importlib.util.find_spec("transformers")


@pytest.fixture(scope="module", params=["llama.cpp", "transformers"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealServer]:
    """Each of them, for all tests of the file."""
    folder = tmp_path_factory.mktemp("server")
    if request.param == "transformers" and not TORCH:
        pytest.skip("needs torch and transformers[serving]: see torture/servers.py")
    if request.param == "llama.cpp":
        pytest.importorskip("xllamacpp")
    made = (
        llama_cpp(folder, key=KEY) if request.param == "llama.cpp" else transformers_serve(folder)
    )
    with made as running:
        yield running


@pytest.mark.parametrize("mode", ["tool_role", "user_role"])
def test_a_run_and_its_judge_are_served(server: RealServer, tmp_path: Path, mode: str) -> None:
    """Both deliveries, eight calls at once, a judge on the same server."""
    check_delivery(server, tmp_path, mode)


def test_a_model_that_it_lacks_is_said_before_anything_is_sent(
    server: RealServer, tmp_path: Path
) -> None:
    """In a line that names what it has."""
    check_wrong_model(server, tmp_path)


def test_a_key_that_is_missing_is_said(server: RealServer, tmp_path: Path) -> None:
    """With the variable that it is read from."""
    if not server.key:
        pytest.skip("it knows no key")
    check_key(server, tmp_path)


def test_a_server_that_is_killed_and_started_again_costs_nothing_that_was_stored(
    server: RealServer, tmp_path: Path
) -> None:
    """The command waits for it, and ends as if nothing had been."""
    check_restart(server, tmp_path)
