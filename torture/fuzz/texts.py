"""What must hold of every text that a parser lets through, whatever came in."""

from __future__ import annotations

from independence_bench.errors import WrongUse

JOINERS = "\u200c\u200d"  # of emoji and of several scripts


def assert_storable(*texts: str | None) -> None:
    """A database can hold it: no lone surrogate, no NUL."""
    for text in texts:
        if text is not None:
            text.encode("utf-8")
            assert "\x00" not in text, repr(text)


def assert_one_line(text: str, most: int | None = None) -> None:
    """A terminal obeys nothing in it, and it breaks no table."""
    assert all(c.isprintable() or c in JOINERS for c in text), repr(text)
    assert most is None or len(text) <= most, len(text)


def assert_names(error: WrongUse, file: str) -> None:
    """One line that begins with the file that is wrong, and not a long one."""
    said = str(error)
    assert said.startswith(file), said
    assert "\n" not in said, said
    assert len(said) < 4000, len(said)
