"""The built page: its files, their media types, and the security headers.

The page is built from ``web/`` by `make setup`, and the wheel carries it; a user needs no Node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from independence_bench.errors import BenchError

FOLDER = Path(__file__).with_name("page")
HOME = "index.html"
HEAD = b"<head>"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".csv": "text/csv; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'"
)
POLICY = f"{_POLICY}; frame-ancestors 'none'"
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Vary": "Authorization",  # a later server on this port cannot have the browser show it what it keeps of this one
}


@dataclass(frozen=True, slots=True)
class Page:
    """The page's files: path below the site -> what is in it."""

    files: Mapping[str, bytes]

    @property
    def home(self) -> bytes:
        """index.html for a host that sends no headers of ours: with the content security policy in the file."""
        text = self.files[HOME]
        # a policy in a file cannot say who may frame it
        meta = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'.encode("ascii")
        head = text.find(HEAD)
        if head < 0:
            raise BenchError("the viewer's page has no <head>; build it again with `make page`")
        end = head + len(HEAD)
        return text[:end] + meta + text[end:]


def read_page(folder: Path = FOLDER) -> Page:
    """The page in *folder*. Raises BenchError where it was not built."""
    if not (folder / HOME).is_file():
        raise BenchError(
            "the viewer's page is not built: in a clone, `make page` builds it (with Node); a released wheel carries it"
        )
    found = [path for path in sorted(folder.rglob("*")) if path.suffix in TYPES]
    return Page({path.relative_to(folder).as_posix(): path.read_bytes() for path in found})


def media_type(path: str) -> str:
    """What a browser is told that *path* is, by its ending."""
    return TYPES.get(Path(path).suffix, "application/octet-stream")
