"""The value of a Retry-After header: seconds between none and a day, or nothing at all."""

from __future__ import annotations

from independence_bench.models.client import LONGEST_RETRY_AFTER, _parse_retry_seconds


def check(data: bytes) -> None:
    """Read *data* as the header's value, as aiohttp decodes it."""
    seconds = _parse_retry_seconds(data.decode("utf-8", "surrogateescape"))

    assert seconds is None or 0 <= seconds <= LONGEST_RETRY_AFTER


SEEDS = (
    b"120",
    b"1.5",
    b"1e3",
    b"nan",
    b"-inf",
    b"Wed, 21 Oct 2099 07:28:00 GMT",
    b"Wednesday, 21-Oct-99 07:28:00 GMT",
    b"21 Oct 2099 07:28 +0100 (a comment)",
    b"Wed Oct 21 07:28:00 2099 -0000",
)
FOUND: tuple[bytes, ...] = (
    b"Mon, 01 Jan 99999999999999999999 00:00:00 GMT",
    b"Mon, 01 Jan 2024 00:00:00 +99999999999999999999",
)
