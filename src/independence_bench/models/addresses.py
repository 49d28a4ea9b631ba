"""Addresses of endpoints: what one has to look like, and which of them are one place. Knows nothing of who is there."""

from __future__ import annotations

import re

from pydantic import AnyHttpUrl, TypeAdapter, ValidationError

from independence_bench.errors import SubjectError

# nothing in it can be read in two ways, so what is asked about is what is connected to
_ORIGIN = re.compile(r"(https?)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?(?=/|$)", re.IGNORECASE | re.ASCII)


def check_url(url: str) -> str:
    """*url* without a slash at the end. Raises SubjectError unless it is http(s) with a host and no password."""
    try:
        parsed = TypeAdapter(AnyHttpUrl).validate_python(url)
    except ValidationError as error:
        raise SubjectError(f"{url!r} is not an http(s) address; write http://localhost:8080/v1") from error
    if parsed.username or parsed.password:
        raise SubjectError("an address with a password in it would end up in logs; use an environment variable")
    # pydantic also takes http:host, http:/host and http:///host, which mean something else to everybody else
    if parsed.query or parsed.fragment or not re.match(r"https?://[^/\\]", url, re.IGNORECASE):
        raise SubjectError(f"{url!r} should be a base address, without ? or #, such as http://localhost:8080/v1")
    if not _ORIGIN.match(url):
        raise SubjectError("the host of an address should be a plain name or number; write other letters as xn--...")
    return url.rstrip("/")


def origin(url: str) -> str:
    """Scheme, host and port of *url*: ``http://gpu-box:8000``; without the port where it is the usual one."""
    found = _ORIGIN.match(url)
    if found is None:
        raise SubjectError(f"{url!r} is not an http(s) address; write http://localhost:8080/v1")
    scheme, host, port = found[1].lower(), found[2].lower(), found[3]
    usual = {"http": 80, "https": 443}[scheme]
    return f"{scheme}://{host}" + (f":{int(port)}" if port and int(port) != usual else "")
