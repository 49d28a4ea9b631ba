"""The texts of a protocol's files, and a list of what is wrong with them. Knows no folders, and no protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import PurePosixPath
from typing import TypeVar

from independence_bench.errors import BenchError, ProtocolError
from independence_bench.escape import printable
from independence_bench.lookup import near
from independence_bench.yaml_io import Strict, read_yaml

Files = Mapping[str, str]  # path inside the folder, with forward slashes -> text
M = TypeVar("M", bound=Strict)


class ProtocolTexts:
    """The texts of one protocol's files: which of them were used, and everything that is wrong with them.

    *broken*: of files that could not be read, why. A part that is wrong is noted, and the others are read on.
    """

    def __init__(self, files: Files, broken: Mapping[str, ProtocolError]) -> None:
        self.files, self.broken, self.used = files, broken, set[str]()
        self.problems: list[ProtocolError] = [*broken.values()]
        self.told = {problem.line for problem in self.problems}

    @contextmanager
    def noting(self) -> Iterator[None]:
        """A block that ends where something in it is wrong, which is noted once."""
        try:
            yield
        except ProtocolError as error:
            for one in error.every:
                if one.line not in self.told:
                    self.told.add(one.line)
                    self.problems.append(one)

    def read(self, text: str, model: type[M], file: str) -> M:
        """*text*, which stands in *file*, as a *model*; further mistakes are noted."""
        others: list[BenchError] = []
        try:
            return read_yaml(text, model, partial(ProtocolError, file), others.append)
        except ProtocolError as error:
            raise ProtocolError(
                error.file, error.key, error.problem, [other for other in others if isinstance(other, ProtocolError)]
            ) from error.__cause__

    def need(self, true: object, file: str, key: str, otherwise: str) -> None:
        """Raise ProtocolError unless *true*."""
        if not true:
            raise ProtocolError(file, key, otherwise)

    def text(self, file: str, wanted_by: str) -> str:
        """The text of *file*, which *wanted_by* names. Raises ProtocolError where it is missing or cannot be read."""
        if file in self.broken:
            raise self.broken[file]
        if file not in self.files:
            path = PurePosixPath(file)
            siblings = [other for other in map(PurePosixPath, self.files) if other.parent == path.parent]
            close = near(path.stem, [other.stem for other in siblings if str(other) not in self.used])
            meant = f"; did you mean {' or '.join(str(path.with_stem(stem)) for stem in close)}?" if close else ""
            raise ProtocolError(file, "", f"is missing; {wanted_by} asks for it{meant}")
        self.used.add(file)
        try:
            return printable(self.files[file].replace("\r\n", "\n"))
        except ValueError as error:
            raise ProtocolError(file, "", str(error)) from error

    def need_noted(self, true: object, file: str, key: str, otherwise: str) -> None:
        """Note it unless *true*."""
        with self.noting():
            self.need(true, file, key, otherwise)
