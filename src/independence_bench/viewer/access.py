"""Access control: the printed address has a token, and the browser that opens it gets a cookie.

Every user of a machine can connect to its ports. The token in the address is drawn anew for each server. The browser
that `aib view` opens gets another one, which is accepted once: everybody can read the arguments of its process.
"""

from __future__ import annotations

from collections.abc import Mapping
from hmac import compare_digest
from secrets import token_urlsafe
from urllib.parse import parse_qsl, urlencode

BYTES = 32  # of a token
QUERY = "token"


class AccessTokens:
    """The tokens of the server on one port of *host*."""

    def __init__(self, host: str, port: int) -> None:
        self._at = f"http://{host}:{port}/"
        self._token, self._once = token_urlsafe(BYTES), token_urlsafe(BYTES)
        self._spent = False
        self._cookie = f"aib-{port}"  # browsers send a cookie to every port of a host

    @property
    def address(self) -> str:
        """The address that is printed: valid as long as the server runs."""
        return f"{self._at}?{urlencode({QUERY: self._token})}"

    @property
    def opened(self) -> str:
        """The address that a browser is started with: valid once."""
        return f"{self._at}?{urlencode({QUERY: self._once})}"

    @property
    def cookie(self) -> str:
        """The cookie of a browser that has opened one of the addresses."""
        return f"{self._cookie}={self._token}"

    def knows(self, cookies: list[str]) -> bool:
        """Whether one of these Cookie headers has the right cookie."""
        return any(_same(value, self._token) for value in _named(self._cookie, cookies))

    def admits(self, path: str, query: str) -> Mapping[str, str] | None:
        """Headers of a redirect to *path* (as sent) that sets the cookie; None without a valid token in *query*."""
        asked = parse_qsl(query, keep_blank_values=True) if QUERY in query else []
        tokens = [value for name, value in asked if name == QUERY]
        if not any(self._opens(token) for token in tokens):
            return None
        rest = urlencode([(name, value) for name, value in asked if name != QUERY])
        return {
            "Location": "/" + path.lstrip("/\\") + (f"?{rest}" if rest else ""),  # never another host
            "Set-Cookie": f"{self.cookie}; Path=/; HttpOnly; SameSite=Strict",
            "Cache-Control": "no-store",
        }

    def _opens(self, token: str) -> bool:
        if _same(token, self._once):
            first, self._spent = not self._spent, True
            return first
        return _same(token, self._token)


def _same(one: str, other: str) -> bool:
    """Comparison in constant time."""
    return compare_digest(one.encode("utf-8", "replace"), other.encode())


def _named(name: str, cookies: list[str]) -> list[str]:
    pairs = (pair.partition("=") for header in cookies for pair in header.split(";"))
    return [value.strip() for own, _, value in pairs if own.strip() == name]
