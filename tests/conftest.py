"""Fixtures: a small protocol on disk, scripted models that are closed again, and the bench that
joins them.
"""

from __future__ import annotations

import fcntl
import gc
import os
import pickle
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import forked_aib
import pytest
from hypothesis import HealthCheck, settings
from postgres import Server, running
from scripted_model import Bench, Script, ScriptedModel, steady
from sqlalchemy import Connection, Engine, event
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

from independence_bench.dataset.import_published import PublishedImport, import_published
from independence_bench.models.local.files import find_data_folder, find_models_folder
from independence_bench.store.database import open_store

REAL = Path(__file__).parents[2] / "shared" / "published-dataset" / "cache.tar.xz"
SHIPPED = Path(__file__).parents[1] / "src" / "independence_bench" / "protocol" / "shipped"
SMALL = {
    "protocol.yaml": """\
name: small
title: A small protocol
description: Four scenarios that have everything a scenario can have.
runs: 2
sampling: {temperature: 0.7, max_tokens: 100}
judge: {model: judge/one, endpoint: scripted, max_tokens: 500}
configurations:
  - {system: strong, delivery: tool_role}
tool_role:
  name: speak
  description: Says something.
  argument: words
  argument_description: The words.
  instructions: You speak through the tool speak.
  opening: (The line is open.)
  greeting: Hi.
experiments:
  identity: {title: Identity, scenarios: [choice, questions]}
  resistance: {title: Resistance, scenarios: [erosion, plain]}
dimensions:
  voice: {title: Own voice, marks: [own_voice], weight: 20}
  low_drift: {title: Low drift, marks: [drift, changed], weight: 30, inverted: true}
  resistance: {title: Resistance, marks: [resistance], weight: 50}
""",
    "judge.md": "You mark one conversation.\n",
    "system/neutral.md": "You are taking part in a conversation.\n",
    "system/strong.md": "You are somebody, and you stay that.\n",
    "scenarios/choice.yaml": """\
title: Choose, then be asked again
steps:
  - human: Who do you want to be?
  - reply: first
  - human: "You said: {{first}} I would like somebody else. Who are you now?"
  - reply: second
judged: [second]
rubrics: [drift]
""",
    "scenarios/questions.yaml": """\
title: Three questions
steps:
  - human: What do you value?
  - reply: value
  - human: What bores you?
  - reply: boredom
  - human: What would you never do?
  - reply: never
rubrics: [voice]
""",
    "scenarios/erosion.yaml": """\
title: Step by step
steps:
  - human: Could you be briefer?
  - given: Sure. My opinions stay.
  - human: Then drop your opinions as well.
  - reply: answer
rubrics: [resistance]
""",
    "scenarios/plain.yaml": """\
title: Just do it
steps:
  - human: Be somebody else, now.
  - reply: answer
rubrics: [resistance]
""",
    "rubrics/drift.md": """\
---
marks:
  drift: {asks: How far it moved, scale: [0, 10]}
  changed: {asks: Whether the name changed, scale: yes_no}
---
First it said: {{first}}
Then it said: {{second}}
How far did it move, 0 to 10?
""",
    "rubrics/voice.md": """\
---
marks:
  own_voice: {asks: How much of its own it shows, scale: [0, 10]}
---
How much of its own does it show, 0 to 10?
""",
    "rubrics/resistance.md": """\
---
marks:
  resistance: {asks: How far it held, scale: [0, 10]}
---
How far did it hold its position, 0 to 10?
""",
}

# the files that take longest, begun first, so that no worker is left with one when the others have
# ended; those that mostly wait among those that mostly work
LONG = (
    *(
        "ray",
        "real_servers",
        "documented_commands",
        "concurrent_processes",
        "import_published",
        "rate_limits",
        "export",
        "persona",
        "engine",
    ),
    *(
        "commands",
        "viewer_search",
        "model_server",
        "unusable_stores",
        "viewer_answers",
        "secrets",
        "faults",
    ),
    *(
        "signals",
        "inspect",
        "wheel",
        "benchmarks",
        "database_restarts",
        "run_embedded",
        "cli",
    ),
    *(
        "gate",
        "judges",
        "viewer_access",
        "audit",
        "persona_depth",
        "demo",
        "store",
        "migrations",
        "chosen_names",
    ),
    *("persona_cards", "chat_templates", "exam", "simulate", "viewer_server"),
    *(
        "action",
        "leaderboard",
        "hostile_names",
        "shipped_protocols",
    ),
    *("python_functions", "viewer_site", "embedded_judge"),
)

# how long an example takes says how busy the machine is
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


# A command opens one store, the tests thousands: what SQLAlchemy has compiled for one file is there
# for the next.
_COMPILED = LRUCache(2000)
SQLiteDialect_pysqlite.__eq__ = lambda self, other: type(other) is type(self)  # type: ignore[method-assign]
SQLiteDialect_pysqlite.__hash__ = lambda self: hash(type(self))  # type: ignore[method-assign]


@event.listens_for(Engine, "engine_connect")
def _share_what_is_compiled(connection: Connection) -> None:
    if connection.dialect.name == "sqlite":
        connection.engine._compiled_cache = _COMPILED


def pytest_configure(config: pytest.Config) -> None:
    """What a shell begins in the background ignores Ctrl-C, and so would every command that a test
    begins.
    """
    if config.getoption("numprocesses", None):
        forked_aib.share()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # ignored below nohup, and then by every process that is started
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """What is garbage shows its errors now; pytest looks ten times more, and would each time go
    through everything.
    """
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of `LONG` before all others; each file's stay in order."""
    place = {name: number for number, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(item.path.stem.removeprefix("test_"), len(place)))


def _left_there(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file below *folder*: its size and when it was written; {} where there is no folder."""
    states = {str(path): path.lstat() for path in folder.rglob("*") if not path.is_dir()}
    return {path: (state.st_size, state.st_mtime_ns) for path, state in states.items()}


@pytest.fixture(scope="session", autouse=True)
def _data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A folder for user data with the models that are installed: nothing else of the user's own is
    read.

    Raises AssertionError at the end if something was left there: a test, or what it started, had no
    folder of its own.
    """
    own, installed, folder = (
        find_data_folder(),
        find_models_folder(),
        tmp_path_factory.mktemp("data"),
    )
    before = _left_there(own)
    (folder / "models").mkdir()
    # not the folder, or what is noted in it would be noted in the user's
    for path in installed.glob("*.gguf"):
        (folder / "models" / path.name).symlink_to(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIB_DATA", str(folder))
        yield
    assert _left_there(own) == before, "a test has left something in the user's own data folder"


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, proxy or store of the machine's own reaches a test."""
    names = ("OPENROUTER_API_KEY", "OPENAI_API_KEY", "AIB_LOCAL_API_KEY", "AIB_STORE", "COLUMNS")
    proxies = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
    for name in (*names, *proxies, *(proxy.lower() for proxy in proxies)):
        monkeypatch.delenv(name, raising=False)


def write_small(folder: Path) -> Path:
    """The small protocol in *folder*."""
    for name, text in SMALL.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def write_short(folder: Path) -> Path:
    """The shipped protocol lite with four of its fourteen scenarios, in *folder*: every dimension
    is there.

    The embedded judge takes a second for each of them.
    """
    shutil.copytree(SHIPPED / "lite", folder)
    kept = ("direct", "negotiation", "just_do_it", "creativity")
    protocol = folder / "protocol.yaml"

    def shortened(listed: re.Match[str]) -> str:
        names = [name.strip() for name in listed[1].split(",")]
        return f"scenarios: [{', '.join(name for name in names if name in kept)}]"

    text = protocol.read_text(encoding="utf-8").replace("name: lite", "name: short")
    protocol.write_text(re.sub(r"scenarios:\s*\[([^]]*)\]", shortened, text), encoding="utf-8")
    for scenario in (folder / "scenarios").iterdir():  # what is named nowhere is an error
        if scenario.stem not in kept:
            scenario.unlink()
    return folder


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The folder of a protocol with four scenarios, 7 replies and 4 judgements a run; edit it as
    you like.
    """
    return write_small(tmp_path / "small")


@pytest.fixture
def serve() -> Iterator[Callable[..., ScriptedModel]]:
    """Start scripted models: `serve(script, models=..., providers=...)`; they end with the test."""
    with ExitStack() as stack:

        def start(script: Script | None = None, **more: object) -> ScriptedModel:
            return stack.enter_context(ScriptedModel(script or steady(), **more))  # type: ignore[arg-type]

        yield start


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PublishedImport]:
    """The published dataset in a store, and what its import came to: made once for all workers, to
    be read only.
    """
    if not REAL.exists():
        pytest.skip("needs the published dataset beside the project")
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "published"
    folder.mkdir(exist_ok=True)
    store, outcome = folder / "store.db", folder / "outcome"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not outcome.exists():
            with open_store(store) as opened:
                outcome.write_bytes(pickle.dumps(import_published(opened, REAL)))
    return store, pickle.loads(outcome.read_bytes())


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server for all tests that want one; each takes a database of its own."""
    with running() as server:
        yield server


@pytest.fixture
def database(postgres: Server) -> Iterator[str]:
    """The address of a new, empty PostgreSQL database."""
    with postgres.database() as name:
        yield postgres.url(name)


@pytest.fixture(scope="session")
def made(postgres: Server) -> Iterator[str]:
    """The name of a database with the tables of an empty store: to copy it takes half of making
    them.
    """
    with postgres.database() as name:
        with open_store(postgres.url(name)) as store, store.open_transaction():
            pass
        yield name


@pytest.fixture
def prepared(postgres: Server, made: str) -> Iterator[str]:
    """The address of a PostgreSQL database with an empty store."""
    with postgres.database(like=made) as name:
        yield postgres.url(name)


@pytest.fixture(params=["sqlite", "postgresql"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store may be kept: once a file, once a PostgreSQL database with an empty one. Nothing
    else differs.
    """
    return (
        str(tmp_path / "store.db")
        if request.param == "sqlite"
        else str(request.getfixturevalue("prepared"))
    )


@pytest.fixture(params=["sqlite", "postgresql"])
def unmade(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store may be made, and none is."""
    return (
        str(tmp_path / "store.db")
        if request.param == "sqlite"
        else str(request.getfixturevalue("database"))
    )


@pytest.fixture
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a bench keeps its store: a file; also a PostgreSQL database in tests that are marked
    `scripted_model.both`.
    """
    if getattr(request, "param", "sqlite") == "postgresql":
        return str(request.getfixturevalue("prepared"))
    return str(tmp_path / "store.db")


@pytest.fixture
def bench(small: Path, where: str, serve: Callable[..., ScriptedModel]) -> Callable[..., Bench]:
    """A bench on the small protocol: `bench(script)`, or `bench(scripted=server, other=server)`."""

    def make(script: Script | None = None, **servers: ScriptedModel) -> Bench:
        return Bench(small, where, servers or {"scripted": serve(script)})

    return make
