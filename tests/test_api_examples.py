"""docs/integrations.md and the notebook beside it, run as a reader would run them: with what other
tools make of our tables.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from simulated_endpoint import simulating

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "integrations.md"
NOTEBOOK = ROOT / "docs" / "examples" / "notebook.ipynb"
VALUE = re.compile(r"^(?P<code>\S.*?)\s*# -> (?P<value>.*)$|^# -> (?P<below>.*)$")

pytestmark = pytest.mark.integration


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose models.yaml has a simulated endpoint."""
    with simulating(tmp_path):
        monkeypatch.chdir(tmp_path)
        yield tmp_path


def promises(block: str) -> Iterator[tuple[str, str]]:
    """Each expression of an example that says what it is, and that value."""
    before = ""
    for line in block.splitlines():
        if found := VALUE.match(line):
            yield found["code"] or before, found["value"] or found["below"]
        before = line


def test_every_example_says_the_truth(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The blocks of the page follow each other; what stands behind an arrow is what comes out."""
    known: dict[str, object] = {}
    checked = 0
    for block in re.findall(
        r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    ):
        exec(compile(ast.parse(block), str(PAGE), "exec"), known)
        for code, value in promises(block):
            assert eval(code, known) == ast.literal_eval(value), code
            checked += 1

    assert checked >= 8
    assert "v9" in capsys.readouterr().out


def test_the_notebook_runs(place: Path) -> None:
    """In its own kernel, from the first cell to the last; what is kept in git has no outputs."""
    import nbclient
    import nbformat

    kept = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(kept)
    assert all(
        not cell.outputs and cell.execution_count is None
        for cell in kept.cells
        if cell.cell_type == "code"
    )
    shutil.copy(NOTEBOOK, place)

    ran = nbclient.NotebookClient(
        kept, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(place)}}
    ).execute()

    outputs = [out for cell in ran.cells if cell.cell_type == "code" for out in cell.outputs]
    assert not [out for out in outputs if out.output_type == "error"]
    assert any("sim/stubborn" in str(out) for out in outputs)


def test_pandas_and_polars_copy_no_column(place: Path) -> None:
    """Their columns lie where Arrow's do."""
    import pandas
    import polars
    import pyarrow

    import independence_bench as aib

    assert aib.run("sim:sim/stubborn", protocol="lite", judge="sim:sim/judge", runs=1).complete
    table = aib.open_store("aib.db").marks()
    address = table.column("value").chunk(0).buffers()[1].address

    frame = table.to_pandas(types_mapper=pandas.ArrowDtype)
    assert (
        pyarrow.chunked_array(frame["value"].array.__arrow_array__()).chunk(0).buffers()[1].address
        == address
    )
    series = polars.from_arrow(table)["value"]
    assert series.to_arrow().buffers()[1].address == address
    assert os.path.exists("aib.db")
