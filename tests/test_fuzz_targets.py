"""The fuzzer's targets under hypothesis: the same invariants, a moderate number of inputs, in every
test run.

`torture/fuzz/` states what must hold of each parser; `torture/fuzz.py` drives it by coverage, for
longer.
"""

from __future__ import annotations

import pytest
from fuzz import TARGETS, Target
from fuzz.json_values import flatten, grow
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

KNOWN = [
    (name, data) for name, target in TARGETS.items() for data in (*target.seeds, *target.found)
]


def inputs(target: Target) -> st.SearchStrategy[bytes]:
    """Any bytes; and seeds with a piece cut out, something put in its place, another seed's end, or
    lone surrogates.

    A lone surrogate comes as an escape in JSON or YAML, in quotes or not, or as bytes that are none
    of UTF-8.
    """
    seed = st.sampled_from(target.seeds + target.found)
    place = st.integers(0, 400)
    piece = st.one_of(
        st.binary(max_size=8),
        st.sampled_from(
            [
                b'"',
                b"\\",
                b"{",
                b"}",
                b"\n",
                b"\0",
                b"\x1b",
                b"\xed\xa0\x80",
                b"\\ud800",
                b"9" * 30,
                b"- ",
            ]
        ),
    )
    mutated = st.builds(
        lambda s, at, much, new: s[:at] + new + s[at + much :],
        seed,
        place,
        st.integers(0, 20),
        piece,
    )
    spliced = st.builds(
        lambda s, at, other, begin: s[:at] + other[begin:], seed, place, seed, place
    )
    lone = st.builds(
        _put,
        seed,
        st.lists(st.integers(0, 2000), min_size=1, max_size=6),
        st.sampled_from(SURROGATES),
    )
    return st.one_of(st.binary(max_size=200), mutated, spliced, lone)


SURROGATES = (b"\\ud800", b"\\udfff", b"\xed\xa0\x80", b"\x80", b'"\\ud800"', b"{{\\ud800}}")


def _put(text: bytes, places: list[int], piece: bytes) -> bytes:
    """*text* with *piece* at each of *places*, which are counted on from its beginning where it
    ends before them.
    """
    for place in sorted({place % (len(text) + 1) for place in places}, reverse=True):
        text = text[:place] + piece + text[place:]
    return text


@pytest.mark.parametrize(
    ("name", "data"), KNOWN, ids=[f"{name}-{n}" for n, (name, _) in enumerate(KNOWN)]
)
def test_what_is_known_to_be_worth_trying_holds(name: str, data: bytes) -> None:
    """Seeds, and everything that a fuzzer ever found: each finding was mended and stays so."""
    TARGETS[name].check(data)


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_breaks_a_parser(name: str) -> None:
    """Never an exception, never a mark outside its scale, never a text that no database or terminal
    can hold.
    """

    @settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
    @given(inputs(TARGETS[name]))
    def check(data: bytes) -> None:
        TARGETS[name].check(data)

    check()


def test_json_is_grown_from_any_bytes_and_its_seeds_from_json() -> None:
    """The shape of a seed survives the way there and back; bytes that end too soon are nulls."""
    value = {"data": [{"id": "a/b", "price": 0.5, "no": None, "yes": True}, "other", []]}
    words = ("data", "id", "price", "no", "yes", "a/b")

    assert grow(flatten(value, words), words) == value
    assert grow(b"", words) is None
    assert grow(b"\x05\x06\x00", words) == {"data": None}


def test_a_target_that_is_broken_is_found() -> None:
    """The check can fail: hypothesis finds a parser that cannot take a quote."""

    def fragile(data: bytes) -> None:
        if b'"' in data:
            raise ValueError("a quote")

    @settings(max_examples=300, database=None)
    @given(inputs(Target(fragile, (b'{"a": 1}',))))
    def check(data: bytes) -> None:
        fragile(data)

    with pytest.raises(ValueError, match="a quote"):
        check()
