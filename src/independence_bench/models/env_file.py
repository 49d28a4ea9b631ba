"""The `.env` of the working folder: what of it reaches the environment, and what is held back.

It may come with a folder that somebody else made. Keys and settings that the environment lacks are taken as they are
written; proxies and certificates are held back until a person allows them; what would load other programs is left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dotenv import dotenv_values

from independence_bench.errors import WrongUse, why

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
        found = dotenv_values(path, interpolate=False)
        new = {name: value for name, value in found.items() if value is not None and name not in os.environ}
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
