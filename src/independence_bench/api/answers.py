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
    """Base class of a command's answer, which is given as JSON text, as Python values, as rows, as
    an Arrow table or as a pandas data frame.
    """

    __slots__ = ()

    @abstractmethod
    def json(self) -> str:
        """Return the answer of an `aib` command as JSON text: the same text that the command prints
        with `--json`.
        """

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """Return the answer of an `aib` command as a list of dictionaries, one for each row of its
        Arrow table, with the keys and the numbers of its JSON output.
        """

    def values(self) -> Any:
        """Return the answer of an `aib` command as parsed JSON: the dictionaries, lists and numbers
        that the command prints with `--json`.
        """
        return json.loads(self.json())

    def table(self) -> pyarrow.Table:
        """Return the rows of a command's answer as an Arrow table. A value in a nested dictionary
        has its own column, named by its path, such as `index_interval.rerun.low`.

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
        """Return the rows of a command's answer as a pandas data frame with Arrow column types.
        Raises WrongUse if pyarrow or pandas is not installed.
        """
        table = self.table()
        try:
            import pandas
        except ImportError:
            raise WrongUse(
                "data frames need pandas: pip install 'ai-independence-bench[export]' pandas"
            ) from None
        return table.to_pandas(types_mapper=pandas.ArrowDtype)


def flatten_values(values: Mapping[str, Any], name_prefix: str = "") -> Sequence[tuple[str, Any]]:
    """Return the (name, value) pairs of the nested dictionary *values*, flattened. The name of a
    value in an inner dictionary is that dictionary's name, a dot and the value's own name;
    *name_prefix* is put before all names.
    """
    found: list[tuple[str, Any]] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            found += flatten_values(value, f"{name_prefix}{name}.")
        else:
            found.append((f"{name_prefix}{name}", value))
    return found
