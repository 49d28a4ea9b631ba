"""The answers of the Python functions: values, the JSON of `--json`, a table, a data frame.

Every answer says the same in all of them. Tables need pyarrow, data frames pyarrow and pandas:
pip install 'ai-independence-bench[export]' pandas.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from independence_bench.dataset.schema import load_pyarrow
from independence_bench.errors import WrongUse

if TYPE_CHECKING:
    import pandas
    import pyarrow


class Answer(ABC):
    """The answer of a command."""

    __slots__ = ()

    @abstractmethod
    def json(self) -> str:
        """Return what the command prints with `--json`."""

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of `table`, each with the keys and the numbers of `values`."""

    def values(self) -> Any:
        """Return what the command prints with `--json`, as dictionaries, lists and numbers."""
        return json.loads(self.json())

    def table(self) -> pyarrow.Table:
        """Return `rows` as a table. A value inside another value has its own column, such as
        `index_interval.rerun.low`.

        Raises WrongUse if pyarrow is not installed.
        """
        arrow = load_pyarrow()
        flat = [dict(flatten_values(row)) for row in self.rows()]
        names = dict.fromkeys(name for row in flat for name in row)
        columns = {name: [row.get(name) for row in flat] for name in names}
        # what is absent in one row is several columns in another
        within = {name[:dot] for name in names for dot, sign in enumerate(name) if sign == "."}
        return arrow.table({name: of for name, of in columns.items() if name not in within})

    def frame(self) -> pandas.DataFrame:
        """Return `table` as a data frame. Raises WrongUse if pyarrow or pandas is not installed."""
        table = self.table()
        try:
            import pandas
        except ImportError:
            raise WrongUse(
                "data frames need pandas: pip install 'ai-independence-bench[export]' pandas"
            ) from None
        return table.to_pandas(types_mapper=pandas.ArrowDtype)


def flatten_values(values: Mapping[str, Any], above: str = "") -> Sequence[tuple[str, Any]]:
    """Return (name, value) of every value in *values* and in the dictionaries inside it. A name
    inside a dictionary follows that dictionary's name and a dot; *above* is put before all names.
    """
    found: list[tuple[str, Any]] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            found += flatten_values(value, f"{above}{name}.")
        else:
            found.append((f"{above}{name}", value))
    return found
