"""A GGUF file of weights as arrays: what its header says, its tokens, its tensors. Reads only what SmolLM2's file has.

Knows the format (llama.cpp's, version 3) and nothing of what the arrays are for.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from independence_bench.errors import EmbeddedError

Floats = npt.NDArray[np.float32]

# the format's numbers for what a header's value is
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _LIST = 8, 9
_F32, _Q4_1, _Q8_0 = 0, 3, 8  # and for how a tensor's numbers are kept
_BLOCK = 32  # so many numbers share a scale
_Q4_1_BLOCK = np.dtype([("scale", "<f2"), ("least", "<f2"), ("pairs", "u1", _BLOCK // 2)])
_Q8_0_BLOCK = np.dtype([("scale", "<f2"), ("steps", "i1", _BLOCK)])


@dataclass(frozen=True, slots=True)
class Tensor:
    """Where a tensor lies. *shape* is rows x columns, or one length."""

    shape: tuple[int, ...]
    kind: int
    place: int  # bytes from the beginning of the file


class Weights:
    """The file at *path*, which stays mapped. Raises EmbeddedError where it is no such file."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._at = 0
        try:
            self.header, self._tensors = self._read()
        except (struct.error, KeyError, UnicodeDecodeError) as error:
            raise EmbeddedError(f"{path} is not a readable GGUF file; run `aib embedded install`") from error

    def _read(self) -> tuple[Mapping[str, object], dict[str, Tensor]]:
        magic, _, tensors, values = self._take("4sIQQ")
        if magic != b"GGUF":
            raise KeyError(magic)
        header = {self._text(): self._value(*self._take("I")) for _ in range(values)}
        found = {}
        for _ in range(tensors):
            name = self._text()
            (size,) = self._take("I")
            shape = tuple(reversed(self._take(f"{size}Q")))
            kind, place = self._take("IQ")
            found[name] = Tensor(shape, kind, place)
        start = -(-self._at // 32) * 32
        return header, {name: Tensor(one.shape, one.kind, start + one.place) for name, one in found.items()}

    def _take(self, form: str) -> tuple[Any, ...]:
        taken = struct.unpack_from(f"<{form}", self._bytes, self._at)
        self._at += struct.calcsize(f"<{form}")
        return taken

    def _text(self) -> str:
        (length,) = self._take("Q")
        self._at += length
        return self._bytes[self._at - length : self._at].decode("utf-8")

    def _value(self, kind: int) -> object:
        if kind == _TEXT:
            return self._text()
        if kind == _LIST:
            inner, length = self._take("IQ")
            return [self._value(inner) for _ in range(length)]
        return self._take(_NUMBERS[kind])[0]

    def texts(self, name: str) -> list[str]:
        """The list of texts that the header has under *name*."""
        found = self.header[name]
        assert isinstance(found, list)  # noqa: S101 - the file's hash is pinned
        return found

    def rows(self, name: str, chosen: npt.NDArray[np.int64] | None = None) -> Floats:
        """The tensor *name*, or its *chosen* rows, as 32-bit numbers."""
        tensor = self._tensors[name]
        if tensor.kind == _F32:
            return np.frombuffer(self._bytes, "<f4", int(np.prod(tensor.shape)), tensor.place).reshape(tensor.shape)
        form = {_Q4_1: _Q4_1_BLOCK, _Q8_0: _Q8_0_BLOCK}[tensor.kind]
        height, width = tensor.shape
        blocks = np.frombuffer(self._bytes, form, height * width // _BLOCK, tensor.place)
        blocks = blocks.reshape(height, width // _BLOCK)
        if chosen is not None:
            blocks = blocks[chosen]
        scale = blocks["scale"].astype(np.float32)[..., None]
        if tensor.kind == _Q8_0:
            numbers = blocks["steps"] * scale
        else:
            pairs = blocks["pairs"]
            steps = np.concatenate([pairs & 15, pairs >> 4], axis=-1)
            numbers = steps * scale + blocks["least"].astype(np.float32)[..., None]
        return numbers.reshape(len(blocks), width).astype(np.float32, copy=False)
