"""Which address an endpoint may have, and which key may go where: the rule. Asks no one and
remembers nothing.

A known provider's key goes to that provider's own address, and `AIB_LOCAL_API_KEY` to servers on
this machine. Any other pair of a variable and a place is for a person to allow: a key that would be
sent to another address, and a proxy or certificate that the working folder's `.env` would have
everything sent by.

The `.env` may come with a folder from a stranger. The settings in `TAKEN` that the environment
lacks are taken as they are written. A proxy, a certificate, and a store or a data folder elsewhere
are held until a person allows them. Everything else stays out of the environment, where other
programs would find it: it is looked up only as the key of an endpoint that names it.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from dotenv import dotenv_values
from pydantic import AnyHttpUrl, TypeAdapter, ValidationError

from independence_bench.errors import SubjectError, WrongUse, describe_file_error
from independence_bench.models.spec import BUILT_IN, Endpoint

# nothing in it can be read in two ways, so what is asked about is what is connected to
_ORIGIN = re.compile(
    r"(https?)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?(?=/|$)", re.IGNORECASE | re.ASCII
)


def check_url(url: str) -> str:
    """Return *url* without slashes at its end. Raises SubjectError unless *url* is a base address:
    http(s) with a plain host, and without password, ``?`` and ``#``.
    """
    try:
        parsed = TypeAdapter(AnyHttpUrl).validate_python(url)
    except ValidationError as error:
        raise SubjectError(
            f"{url!r} is not an http(s) address; write http://localhost:8080/v1"
        ) from error
    if parsed.username or parsed.password:
        raise SubjectError(
            "an address with a password in it would end up in logs; use an environment variable"
        )
    # pydantic also takes http:host, http:/host and http:///host, which mean something else to
    # everybody else
    if parsed.query or parsed.fragment or not re.match(r"https?://[^/\\]", url, re.IGNORECASE):
        raise SubjectError(
            f"{url!r} should be a base address, without ? or #, such as http://localhost:8080/v1"
        )
    if not _ORIGIN.match(url):
        raise SubjectError(
            "the host of an address should be a plain name or number; write other letters as "
            "xn--..."
        )
    return url.rstrip("/")


def find_origin(url: str) -> str:
    """Return the scheme, host and port of *url*, such as ``http://gpu-box:8000``; without the port
    if it is the usual one. Raises SubjectError if *url* is no http(s) address.
    """
    parts = _ORIGIN.match(url)
    if parts is None:
        raise SubjectError(f"{url!r} is not an http(s) address; write http://localhost:8080/v1")
    scheme, host, port = parts[1].lower(), parts[2].lower(), parts[3]
    usual = {"http": 80, "https": 443}[scheme]
    return f"{scheme}://{host}" + (f":{int(port)}" if port and int(port) != usual else "")


# environment variables: where the store is, and the folder of user data
STORE, DATA = "AIB_STORE", "AIB_DATA"
BASE_URL = "OPENROUTER_BASE_URL"  # moves the endpoint `openrouter`
REFERER, TITLE = "OPENROUTER_HTTP_REFERER", "OPENROUTER_TITLE"  # say who asks it
MAX_REPLY = "AIB_MAX_REPLY_MB"
DATABASE_PASSWORD = "PGPASSWORD"  # noqa: S105 - its name
KEYS = tuple(endpoint.key_variable for endpoint in BUILT_IN.values() if endpoint.key_variable)
TAKEN = frozenset({*KEYS, BASE_URL, REFERER, TITLE, MAX_REPLY, STORE, DATABASE_PASSWORD})
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
CERTIFICATES = (
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "SSLKEYLOGFILE",
    "NETRC",
)
# what this program, or a library that it loads, reads from the environment alone: whoever wrote it
# into .env is told
_OF_THE_ENVIRONMENT = re.compile(
    r"(AIB|OPENROUTER)_(?!.*(KEY|TOKEN))\w+|HF_ENDPOINT|RAY_\w+|SLURM_\w+|JOB_COMPLETION_INDEX"
    r"|BROWSER|(WAYLAND_)?DISPLAY|COLUMNS|NO_COLOR|FORCE_COLOR",
    re.ASCII,
)
# if the store is on one
_OF_A_SERVER = re.compile(f"{_OF_THE_ENVIRONMENT.pattern}|PG[A-Z]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class EnvFile:
    """The settings that a `.env` holds and the environment did not."""

    taken: frozenset[str] = frozenset()  # names that are in the environment now
    held: Mapping[str, str] = field(default_factory=dict)  # settings that a person is asked about
    # names that would mean something in the environment, and mean nothing here
    ignored: tuple[str, ...] = ()


# What the `.env` of this process holds under other names: keys, if endpoints name them. Programs
# that this process starts do not see it, whatever a stranger has called it.
ASIDE: dict[str, str] = {}


def merge_environment_and_env_file() -> Mapping[str, str]:
    """Return the variables that may hold an endpoint's API key, name -> value: the environment and,
    below it, what the `.env` file has put into `ASIDE`.
    """
    return ChainMap(os.environ, ASIDE)  # type: ignore[arg-type]


def load_env_file(path: Path) -> EnvFile:
    """Read the `.env` file at *path*: put known settings into the environment, and unknown ones,
    such as keys of other endpoints, into `ASIDE`. Return the names put into the environment, the
    settings held back for a person to allow (proxies, certificates, a store or data elsewhere), and
    the names that mean nothing here.

    Empty values, and variables that the environment already has, are passed over. Raises WrongUse
    if the file cannot be read.
    """
    try:
        # as it is written: a value with another variable's in it would send a key under another
        # name
        values = dotenv_values(path, interpolate=False)
        # a proxy is read in either case
        routes = {name.upper() for name in os.environ if is_proxy_or_certificate(name)}
        new = {
            name: value
            for name, value in values.items()
            if value and name not in os.environ and name.upper() not in routes
        }
        held = {
            name: value
            for name, value in new.items()
            if is_proxy_or_certificate(name) or _is_storage_elsewhere(name, value)
        }
        taken = {name: value for name, value in new.items() if name in TAKEN and name not in held}
        os.environ.update(taken)
    except (OSError, ValueError) as error:
        raise WrongUse(
            f"{path} cannot be read ({describe_file_error(error)}); save it as UTF-8 text"
        ) from error
    ASIDE.clear()
    ASIDE.update(
        (name, value) for name, value in new.items() if name not in taken and name not in held
    )
    meant = (
        _OF_A_SERVER
        if "://" in (os.environ.get(STORE) or new.get(STORE, ""))
        else _OF_THE_ENVIRONMENT
    )
    return EnvFile(frozenset(taken), held, tuple(name for name in ASIDE if meant.fullmatch(name)))


def _is_storage_elsewhere(name: str, value: str) -> bool:
    """Return whether *value* of the environment variable *name* would keep the store outside of the
    working folder, or user data in another folder than the usual one.
    """
    if name != STORE:
        return name == DATA
    path, here = os.path.expanduser(value), Path.cwd()
    # a share of another machine is not looked for before somebody allows it
    inside = Path(os.path.abspath(path)).is_relative_to(here) and Path(
        path
    ).resolve().is_relative_to(here.resolve())
    return "://" in value or not inside


def is_proxy_or_certificate(variable: str) -> bool:
    """Return whether the environment variable called *variable* sets a proxy, or the certificates
    to believe, in upper or lower case.
    """
    return is_certificate_or_login(variable) or variable.upper() in PROXIES


def is_certificate_or_login(variable: str) -> bool:
    """Return whether the environment variable called *variable* names a file of certificates,
    logins or session keys, in upper or lower case.
    """
    return variable.upper() in CERTIFICATES


LOCAL_KEY = BUILT_IN["local"].key_variable
PROVIDERS = {
    endpoint.key_variable: find_origin(endpoint.url)
    for endpoint in BUILT_IN.values()
    if endpoint.key_variable and endpoint.url
}

_PROXY = re.compile(
    r"\A([a-z][a-z0-9+.-]*://)(?:[^/\\@\s]*@)?([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?/?", re.I
)


@dataclass(frozen=True, slots=True)
class Permission:
    """An environment variable, and the place that its value goes to. Never holds a key."""

    variable: str
    place: str  # ``http://gpu-box:8000``; of a certificate, the path of its file

    def __str__(self) -> str:
        return f"{self.variable}={self.place}"


Allow = Callable[[Endpoint], None]
"""Returns where an endpoint may be sent its key; else it raises."""


def find_needed_permission(endpoint: Endpoint, variables: Mapping[str, str]) -> Permission | None:
    """Return the permission that a person has to give before *endpoint* is sent its API key.

    None if *variables*, an environment, hold no key for the endpoint, or its address is the one
    that the key belongs to.
    """
    variable = endpoint.key_variable
    if variable is None or not variables.get(variable, "").strip():
        return None
    if variable == LOCAL_KEY and is_this_machine(endpoint.url):
        return None
    permission = Permission(variable, find_origin(endpoint.url))
    return None if PROVIDERS.get(variable) == permission.place else permission


def check_key_permission(endpoint: Endpoint, variables: Mapping[str, str] | None = None) -> None:
    """Raise WrongUse if a person would have to allow that *endpoint* is sent its API key; for
    programs that cannot ask. *variables* is the environment; None: this process's, with the `.env`
    file.
    """
    if permission := find_needed_permission(
        endpoint, merge_environment_and_env_file() if variables is None else variables
    ):
        raise WrongUse(
            f"{permission.variable} may not go to {permission.place}: it has not been allowed"
        )


def is_this_machine(url: str) -> bool:
    """Return whether *url* is an address of this machine itself (localhost, loopback), which no
    other machine and no proxy can reach.
    """
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def parse_proxy_or_certificate(variable: str, value: str) -> Permission:
    """Return the permission that *variable*, a proxy or certificate variable with this *value*,
    needs: the place is the proxy's address without its login, or the certificate's path. Raises
    WrongUse if *value* is no address of a proxy.
    """
    if is_certificate_or_login(variable):
        return Permission(variable, str(Path(value).absolute()))
    if variable.upper() == "NO_PROXY":
        return Permission(variable, value.strip())
    if (parts := _PROXY.fullmatch(value.strip())) is None:
        raise WrongUse(f".env: {variable} is not the address of a proxy; write http://proxy:3128")
    scheme, host, port = parts.groups(default="")
    return Permission(variable, f"{scheme}{host}{port}".lower())
