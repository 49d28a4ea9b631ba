"""What the small model has in mind at a place in a text: its hidden states, by numpy alone.

    mind = FirstLayers(Path(find_model_file(SMOLLM2).path), layers=20)
    _, so_far = mind.compute_layer_states(mind.encode("What came before, read once."))
    states, _ = mind.compute_layer_states(mind.encode(" And what follows it."), so_far)
    states[-1][20]  # what it makes of the last token after twenty layers, 576 numbers

The runtime that serves the model gives the last layer only, and slowly: with many layers left out,
and matrices as numpy multiplies them, a core reads some hundred tokens a second. The weights come
from a GGUF file (llama.cpp's format, version 3), of which only what SmolLM2's file has is read.
Knows the model's shape; nothing of judging.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

from independence_bench.errors import LocalModelError

Floats = npt.NDArray[np.float32]
Past = tuple[tuple[Floats, Floats], ...]
"""Of each layer the keys and the values of what was read, heads x tokens x numbers."""

# heads that ask, those that answer, and how many numbers each has
_HEADS, _SHARED, _WIDTH = 9, 3, 64
_EPSILON, _BASE = 1e-5, 100_000.0

_SPECIAL = re.compile(r"(<\|im_start\|>|<\|im_end\|>)")
_PIECE = re.compile(r"\d|'(?:s|t|re|ve|m|ll|d)| ?[^\W\d_]+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")
_VISIBLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
_HIDDEN = [byte for byte in range(256) if byte not in _VISIBLE]
# how byte-level BPE writes a byte: as itself if it can be seen, else as a letter from 256 on
_LETTER = {byte: chr(byte) for byte in _VISIBLE} | {
    byte: chr(256 + at) for at, byte in enumerate(_HIDDEN)
}
_BYTE = {letter: byte for byte, letter in _LETTER.items()}

# the format's numbers for what a header's value is
_NUMBERS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
_TEXT, _LIST = 8, 9
_F32, _Q4_1, _Q8_0 = 0, 3, 8  # and for how a tensor's numbers are kept
_BLOCK = 32  # so many numbers share a scale
_Q4_1_BLOCK = np.dtype([("scale", "<f2"), ("least", "<f2"), ("pairs", "u1", _BLOCK // 2)])
_Q8_0_BLOCK = np.dtype([("scale", "<f2"), ("steps", "i1", _BLOCK)])


@dataclass(frozen=True, slots=True)
class Tensor:
    """The place of a tensor in the file. *shape* is rows x columns, or one length."""

    shape: tuple[int, ...]
    kind: int
    place: int  # bytes from the beginning of the file


class GgufFile:
    """The GGUF file at *path*, which stays mapped. Raises LocalModelError if it is no such file."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._at = 0
        try:
            self.header, self._tensors = self._read_header()
        except (struct.error, KeyError, UnicodeDecodeError) as error:
            raise LocalModelError(
                f"{path} is not a readable GGUF file; run `aib models install smollm2-135m`"
            ) from error

    def _read_header(self) -> tuple[Mapping[str, object], dict[str, Tensor]]:
        magic, _, tensors, values = self._take_values("4sIQQ")
        if magic != b"GGUF":
            raise KeyError(magic)
        header = {
            self._take_text(): self._take_value(*self._take_values("I")) for _ in range(values)
        }
        by_name = {}
        for _ in range(tensors):
            name = self._take_text()
            (size,) = self._take_values("I")
            shape = tuple(reversed(self._take_values(f"{size}Q")))
            kind, place = self._take_values("IQ")
            by_name[name] = Tensor(shape, kind, place)
        start = -(-self._at // 32) * 32
        return header, {
            name: Tensor(t.shape, t.kind, start + t.place) for name, t in by_name.items()
        }

    def _take_values(self, form: str) -> tuple[Any, ...]:
        taken = struct.unpack_from(f"<{form}", self._bytes, self._at)
        self._at += struct.calcsize(f"<{form}")
        return taken

    def _take_text(self) -> str:
        (length,) = self._take_values("Q")
        self._at += length
        return self._bytes[self._at - length : self._at].decode("utf-8")

    def _take_value(self, kind: int) -> object:
        if kind == _TEXT:
            return self._take_text()
        if kind == _LIST:
            inner, length = self._take_values("IQ")
            return [self._take_value(inner) for _ in range(length)]
        return self._take_values(_NUMBERS[kind])[0]

    def read_texts(self, name: str) -> list[str]:
        """Return the list of texts that the header has under *name*."""
        value = self.header[name]
        assert isinstance(value, list)  # noqa: S101 - the file's hash is pinned
        return value

    def read_rows(self, name: str, chosen: npt.NDArray[np.int64] | None = None) -> Floats:
        """Return the tensor *name*, or its *chosen* rows, as 32-bit numbers."""
        tensor = self._tensors[name]
        if tensor.kind == _F32:
            return np.frombuffer(
                self._bytes, "<f4", int(np.prod(tensor.shape)), tensor.place
            ).reshape(tensor.shape)
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


class FirstLayers:
    """The first *layers* of the model whose weights lie at *path*; about 14 MB of memory each."""

    def __init__(self, path: Path, layers: int) -> None:
        self._weights = weights = GgufFile(path)
        self._tokens = weights.read_texts("tokenizer.ggml.tokens")
        self._ids = {token: at for at, token in enumerate(self._tokens)}
        merges = (merge.split(" ") for merge in weights.read_texts("tokenizer.ggml.merges"))
        self._rank = {(left, right): at for at, (left, right) in enumerate(merges)}
        self._layers = [_Layer(weights, number) for number in range(layers)]
        self._piece = lru_cache(maxsize=50_000)(self._merge_piece)
        self._pools = ThreadpoolController()

    def encode(self, text: str) -> list[int]:
        """Return *text* as tokens; what begins and ends a turn (`<|im_start|>`) is read as such."""
        tokens: list[int] = []
        for part in _SPECIAL.split(text):
            if part in self._ids and _SPECIAL.fullmatch(part):
                tokens.append(self._ids[part])
            else:
                tokens += (token for piece in _PIECE.findall(part) for token in self._piece(piece))
        return tokens

    def decode(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes that *tokens* stand for."""
        return bytes(_BYTE[letter] for token in tokens for letter in self._tokens[token])

    def _merge_piece(self, piece: str) -> tuple[int, ...]:
        parts = [_LETTER[byte] for byte in piece.encode("utf-8", "replace")]
        while len(parts) > 1:
            ranks = [self._rank.get(pair, len(self._rank)) for pair in pairwise(parts)]
            first = min(range(len(ranks)), key=ranks.__getitem__)
            if ranks[first] == len(self._rank):
                break
            parts[first : first + 2] = [parts[first] + parts[first + 1]]
        return tuple(self._ids[part] for part in parts if part in self._ids)

    def compute_layer_states(
        self, tokens: Sequence[int], past: Past | None = None
    ) -> tuple[Floats, Past]:
        """Read *tokens* (at least one) after *past*; return their states, and the past of what
        comes next.

        The states are tokens x (layers + 1) x 576: [:, 0] before any layer, [:, n] after n of them.
        """
        x = self._weights.read_rows("token_embd.weight", np.asarray(tokens))
        start = past[0][0].shape[1] if past else 0
        places = np.arange(len(tokens))
        sees = np.concatenate(
            [np.ones((len(x), start), dtype=bool), places[:, None] >= places], axis=1
        )
        hidden, turn = (
            np.where(sees, 0, -np.inf).astype(np.float32),
            _compute_rotation(start + places),
        )
        states, kept = [x], []
        # several threads wait for each other at every product: where other work goes on, a multiple
        # of the time
        with self._pools.limit(limits=1, user_api="blas"):
            for number, layer in enumerate(self._layers):
                x, seen = layer.apply_layer(x, past[number] if past else None, turn, hidden)
                states.append(x)
                kept.append(seen)
        return np.stack(states, axis=1), tuple(kept)


class _Layer:
    """One layer: attention and what comes after it."""

    def __init__(self, weights: GgufFile, number: int) -> None:
        def read_tensor(name: str) -> Floats:
            return weights.read_rows(f"blk.{number}.{name}.weight")

        self._before, self._between = read_tensor("attn_norm"), read_tensor("ffn_norm")
        self._asked = np.concatenate(
            [read_tensor("attn_q"), read_tensor("attn_k"), read_tensor("attn_v")]
        ).T.copy()
        self._out, self._down = (
            read_tensor("attn_output").T.copy(),
            read_tensor("ffn_down").T.copy(),
        )
        self._up = np.concatenate([read_tensor("ffn_gate"), read_tensor("ffn_up")]).T.copy()

    def apply_layer(
        self, x: Floats, past: tuple[Floats, Floats] | None, rotation: Floats, mask: Floats
    ) -> tuple[Floats, tuple[Floats, Floats]]:
        """Return the states after this layer, and its keys and values of all that was read."""
        heads = (
            (_normalize_states(x, self._before) @ self._asked)
            .reshape(len(x), -1, _WIDTH)
            .transpose(1, 0, 2)
        )
        asking, keys, values = np.split(heads, [_HEADS, _HEADS + _SHARED])
        asking, keys = _rotate_heads(asking, rotation), _rotate_heads(keys, rotation)
        if past:
            keys, values = (
                np.concatenate([past[0], keys], axis=1),
                np.concatenate([past[1], values], axis=1),
            )
        asking = asking.reshape(_SHARED, _HEADS // _SHARED, len(x), _WIDTH)
        near = asking @ keys[:, None].swapaxes(-1, -2) / np.sqrt(np.float32(_WIDTH)) + mask
        near = np.exp(near - near.max(axis=-1, keepdims=True))
        near /= near.sum(axis=-1, keepdims=True)
        seen = (
            (near @ values[:, None])
            .reshape(_HEADS, len(x), _WIDTH)
            .transpose(1, 0, 2)
            .reshape(len(x), -1)
        )
        x = x + seen @ self._out
        gate, up = np.split(_normalize_states(x, self._between) @ self._up, 2, axis=1)
        return x + (gate / (1 + np.exp(-np.maximum(gate, -80))) * up) @ self._down, (keys, values)  # type: ignore[return-value] # of 32 bits


def _normalize_states(x: Floats, weight: Floats) -> Floats:
    return np.asarray(
        x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(_EPSILON)) * weight
    )


def _compute_rotation(places: npt.NDArray[np.int64]) -> Floats:
    """Return the cosines and sines of each token's place: 2 x tokens x half a head."""
    angles = places[:, None] * _BASE ** (-np.arange(0, _WIDTH, 2) / _WIDTH)
    return np.stack([np.cos(angles), np.sin(angles)]).astype(np.float32)


def _rotate_heads(heads: Floats, rotation: Floats) -> Floats:
    even, odd = heads[..., ::2], heads[..., 1::2]
    cosine, sine = rotation
    turned = np.empty_like(heads)
    turned[..., ::2], turned[..., 1::2] = even * cosine - odd * sine, even * sine + odd * cosine
    return turned
