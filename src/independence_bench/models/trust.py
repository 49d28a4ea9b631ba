"""Which key may go where: the rule. Asks nobody and remembers nothing.

A known provider's key goes to that provider's own address, and `AIB_LOCAL_API_KEY` to servers on this machine. Any
other pair of a variable and a place is for a person to allow: a key that would be sent to another address, and a
proxy or certificate that the working folder's `.env` would have everything sent by.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from independence_bench.errors import WrongUse
from independence_bench.models.addresses import origin
from independence_bench.models.env_file import is_certificate
from independence_bench.models.spec import BUILT_IN, Endpoint

LOCAL_KEY = BUILT_IN["local"].key_variable
PROVIDERS = {one.key_variable: origin(one.url) for one in BUILT_IN.values() if one.key_variable and one.url}

_PROXY = re.compile(r"\A([a-z][a-z0-9+.-]*://)(?:[^/\\@\s]*@)?([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?/?", re.I)


@dataclass(frozen=True, slots=True)
class Permission:
    """An environment variable, and where what it holds goes to. Never holds a key."""

    variable: str
    place: str  # ``http://gpu-box:8000``; of a certificate, the path of its file

    def __str__(self) -> str:
        return f"{self.variable}={self.place}"


Allow = Callable[[Endpoint], None]
"""Returns where an endpoint may be sent its key; else it raises."""


def needed_permission(endpoint: Endpoint, variables: Mapping[str, str]) -> Permission | None:
    """The permission that somebody has to give before *endpoint* is sent its key.

    None where *variables*, an environment, hold no key for it, or the key goes where it belongs.
    """
    variable = endpoint.key_variable
    if variable is None or not variables.get(variable, "").strip():
        return None
    if variable == LOCAL_KEY and is_this_machine(endpoint.url):
        return None
    permission = Permission(variable, origin(endpoint.url))
    return None if PROVIDERS.get(variable) == permission.place else permission


def known_only(endpoint: Endpoint, variables: Mapping[str, str] = os.environ) -> None:
    """For programs that can ask nobody. Raises WrongUse where a person would be asked."""
    if permission := needed_permission(endpoint, variables):
        raise WrongUse(f"{permission.variable} may not go to {permission.place}: it has not been allowed")


def is_this_machine(url: str) -> bool:
    """Whether *url* is one of this machine itself, which no other machine and no proxy can reach."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def route(variable: str, value: str) -> Permission:
    """*variable* and where it would lead, without the login of a proxy. Raises WrongUse for no address of a proxy."""
    if is_certificate(variable):
        return Permission(variable, str(Path(value).absolute()))
    if (found := _PROXY.fullmatch(value.strip())) is None:
        raise WrongUse(f".env: {variable} is not the address of a proxy; write http://proxy:3128")
    scheme, host, port = found.groups(default="")
    return Permission(variable, f"{scheme}{host}{port}".lower())
