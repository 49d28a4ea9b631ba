"""Access control: the printed address has a token in its fragment, and who asks for data sends it in a header.

Every user of a machine can connect to its ports, and a browser sends a cookie to all of them, so there is no cookie:
the page keeps the token and sends it itself. It is drawn anew for each server. The browser that `aib view` opens gets
another one, which is exchanged for it once: everybody can read the arguments of its process.
"""

from __future__ import annotations

from collections.abc import Sequence
from hmac import compare_digest
from secrets import token_urlsafe

BYTES = 32  # of a token
EXCHANGE = "/api/token"  # where the token that is good once becomes the one that lasts


class AccessTokens:
    """The tokens of the server on one port of *host*."""

    def __init__(self, host: str, port: int) -> None:
        self._at = f"http://{host}:{port}/"
        self._token, self._once = token_urlsafe(BYTES), token_urlsafe(BYTES)
        self._spent = False

    @property
    def address(self) -> str:
        """The address that is printed: valid as long as the server runs. No browser sends what is behind the #."""
        return f"{self._at}#token={self._token}"

    @property
    def opened(self) -> str:
        """The address that a browser is started with: valid once."""
        return f"{self._at}#once={self._once}"

    @property
    def header(self) -> str:
        """The Authorization header of whoever may ask."""
        return f"Bearer {self._token}"

    def knows(self, authorization: Sequence[str]) -> bool:
        """Whether these Authorization headers are the right one alone."""
        return len(authorization) == 1 and _same(authorization[0], self.header)

    def exchange(self, authorization: Sequence[str]) -> str | None:
        """The token that lasts, for the one that is good once; None for any other, and the second time."""
        if len(authorization) != 1 or not _same(authorization[0], f"Bearer {self._once}"):
            return None
        first, self._spent = not self._spent, True
        return self._token if first else None


def _same(one: str, other: str) -> bool:
    """Comparison in constant time."""
    return compare_digest(one.encode("utf-8", "replace"), other.encode())
