"""Which address an endpoint may have, and which key may go where: the rule. Asks no one and remembers nothing.

A known provider's key goes to that provider's own address, and `AIB_LOCAL_API_KEY` to servers on this machine. Any
other pair of a variable and a place is for a person to allow: a key that would be sent to another address, and a
proxy or certificate that the working folder's `.env` would have everything sent by.

The `.env` may come with a folder from a stranger. Keys and settings that the environment lacks are taken as
they are written; proxies and certificates are held back until a person allows them; what would load other programs is
left out.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from dotenv import dotenv_values
from pydantic import AnyHttpUrl, TypeAdapter, ValidationError

from independence_bench.errors import SubjectError, WrongUse, why
from independence_bench.models.spec import BUILT_IN, Endpoint

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
    parts = _ORIGIN.match(url)
    if parts is None:
        raise SubjectError(f"{url!r} is not an http(s) address; write http://localhost:8080/v1")
    scheme, host, port = parts[1].lower(), parts[2].lower(), parts[3]
    usual = {"http": 80, "https": 443}[scheme]
    return f"{scheme}://{host}" + (f":{int(port)}" if port and int(port) != usual else "")


CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSLKEYLOGFILE", "NETRC")
# what programs and libraries are loaded by, where programs look for their files, and what has another server, or a
# weaker connection, take the place of the one that a store's address names
_OF_THE_SYSTEM = re.compile(
    r"(LD|DYLD|GCONV|OPENSSL|PIP|UV|XDG)_.*|PYTHON.*|PATH|HOME|USERPROFILE|(LOCAL)?APPDATA"
    r"|PG(HOSTADDR|SERVICE.*|SYSCONFDIR|SSL.*|GSS.*|REQUIRE.*|CHANNELBINDING)",
    re.IGNORECASE,
)
_DATABASE_PASSWORD = "PGPASSWORD"  # noqa: S105 - its name


@dataclass(frozen=True, slots=True)
class EnvFile:
    """What a `.env` holds that the environment did not."""

    taken: frozenset[str] = frozenset()  # names that are in the environment now
    held: Mapping[str, str] = field(default_factory=dict)  # proxies and certificates


def take_env_file(path: Path) -> EnvFile:
    """Put what *path* sets into the environment. Raises WrongUse.

    It is an error where it cannot be read, and where the environment's password would go to a database that it names.
    """
    try:
        # as it is written: a value with another variable's in it would send a key under another name
        values = dotenv_values(path, interpolate=False)
        new = {name: value for name, value in values.items() if value is not None and name not in os.environ}
        if ("://" in new.get("AIB_STORE", "") or new.get("PGHOST")) and os.environ.get(_DATABASE_PASSWORD):
            raise WrongUse(
                f"the .env of this folder names a database server, which the environment's {_DATABASE_PASSWORD} would "
                f"go to; set AIB_STORE (and PGHOST) in the environment, or {_DATABASE_PASSWORD} in .env alone"
            )
        held = {name: value for name, value in new.items() if value and is_route(name)}
        taken = {
            name: value for name, value in new.items() if not is_route(name) and not _OF_THE_SYSTEM.fullmatch(name)
        }
        os.environ.update(taken)
    except (OSError, ValueError) as error:
        raise WrongUse(f"{path} cannot be read ({why(error)}); save it as UTF-8 text") from error
    return EnvFile(frozenset(taken), held)


def is_route(variable: str) -> bool:
    """Whether *variable* says by what proxy things are sent, or whom to believe."""
    name = variable.upper()
    return is_certificate(name) or (name.endswith("_PROXY") and name != "NO_PROXY")


def is_certificate(variable: str) -> bool:
    """Whether *variable* names a file of certificates, logins or session keys."""
    return variable.upper() in CERTIFICATES


LOCAL_KEY = BUILT_IN["local"].key_variable
PROVIDERS = {
    endpoint.key_variable: origin(endpoint.url)
    for endpoint in BUILT_IN.values()
    if endpoint.key_variable and endpoint.url
}

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
    """The permission that a person has to give before *endpoint* is sent its key.

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
    """For programs that cannot ask a person. Raises WrongUse where a person would be asked."""
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
    if (parts := _PROXY.fullmatch(value.strip())) is None:
        raise WrongUse(f".env: {variable} is not the address of a proxy; write http://proxy:3128")
    scheme, host, port = parts.groups(default="")
    return Permission(variable, f"{scheme}{host}{port}".lower())
