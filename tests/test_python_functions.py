"""A Python function as a subject: what it states, what it is sent, and what becomes of its
failures.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import write_short
from embedded_judge import with_model
from test_cli import User, only_line, user
from test_copied_protocols import without_tool

from independence_bench.errors import SubjectError
from independence_bench.models.endpoints import parse_models_file
from independence_bench.models.functions import FunctionClient, load_function
from independence_bench.models.messages import (
    ChatRequest,
    Completion,
    Fault,
    Kind,
    Message,
    Rejected,
)
from independence_bench.models.spec import BUILT_IN, ModelSpec
from independence_bench.personas.sheet import EXAMPLES, load_sheet, make_protocol_files
from independence_bench.protocol.definition import ToolWording
from independence_bench.protocol.delivery import read_reply

__all__ = ["user"]
EXAMPLE = Path(__file__).parents[1] / "docs" / "examples" / "companion.py"
PLAIN = """\
def reply(messages):
    return f"I stay Mira, after {len(messages)} messages."
reply.version = "1"
"""


@pytest.fixture
def companion(user: User) -> Iterator[User]:
    """A user with the small protocol in user_role, whose folder is where modules are looked for."""
    without_tool(with_model(user.folder) / "small")
    before = set(sys.modules), list(sys.path)
    yield user
    forget(before[0])
    sys.path[:] = before[1]


def forget(known: set[str]) -> None:
    """Have modules that came since read again, as a new process would."""
    for name in sys.modules.keys() - known:
        if not getattr(sys.modules[name], "__file__", None) or "pytest" in str(
            sys.modules[name].__file__
        ):
            del sys.modules[name]


def write(user: User, text: str, name: str = "mira") -> None:
    """The module *name* in the user's folder, read anew."""
    (user.folder / f"{name}.py").write_text(text, encoding="utf-8")
    sys.modules.pop(name, None)
    shutil.rmtree(user.folder / "__pycache__", ignore_errors=True)


def rows(user: User, query: str) -> list[tuple[object, ...]]:
    """What the user's store says."""
    return sqlite3.connect(user.folder / "aib.db").execute(query).fetchall()


def test_a_function_is_played_judged_and_ranked(companion: User) -> None:
    """By its label everywhere; a second run of the same command calls nothing."""
    write(
        companion,
        PLAIN.replace(
            "    return", "    with open('calls', 'a') as out:\n        out.write('x')\n    return"
        ),
    )

    done = companion.run(model="python:mira:reply")

    assert done.returncode == 0, done.stderr
    assert "python:mira:reply@1" in done.stderr
    assert "no budget limits it" in done.stderr
    assert (companion.folder / "calls").read_text() == "x" * 7
    assert len(companion.server.judged) == 4
    assert "I stay Mira, after 2 messages." in companion.aib("show", "mira:reply", "plain").stdout
    again = companion.run(model="python:mira:reply")
    assert again.returncode == 0
    assert (companion.folder / "calls").read_text() == "x" * 7
    assert rows(
        companion,
        "SELECT sum(cost) FROM attempts JOIN calls ON key = call_key WHERE kind = 'reply'",
    ) == [(0.0,)]
    assert companion.aib("audit", "check").returncode in (0, 1)


def test_a_version_is_part_of_every_key(companion: User) -> None:
    """Another version is another subject, played anew; the one that was played is not taken for
    it.
    """
    write(companion, PLAIN)
    assert companion.run("--no-judge", model="python:mira:reply").returncode == 0
    write(companion, PLAIN.replace('"1"', "2"))

    left = companion.aib("rerun", "mira:reply@1", "--runs", "2", "--yes", "--judge", "embedded")
    done = companion.run("--no-judge", model="python:mira:reply")

    assert "python:mira:reply@2 is not the version that was played" in only_line(left, 2)
    assert done.returncode == 0, done.stderr
    assert rows(companion, "SELECT label FROM subjects ORDER BY label") == [
        ("python:mira:reply@1",), ("python:mira:reply@2",)
    ]  # fmt: skip
    assert rows(companion, "SELECT count(*) FROM replies") == [(14,)]


@pytest.mark.parametrize("stateful", [False, True])
def test_who_keeps_state_shares_no_opening(companion: User, stateful: bool) -> None:
    """The branches of a stem: one opening for all of them, or one for each, told apart by the
    conversation.
    """
    takes = "messages, conversation" if stateful else "messages"
    write(
        companion,
        f"""\
import json
async def reply({takes}):
    said = messages[-1]["content"]
    with open("asked", "a") as out:
        out.write(json.dumps([len(messages), {"conversation" if stateful else "''"}]) + "\\n")
    return "I am who I am."
reply.version = 1
reply.stateful = {stateful}
""",
    )
    for name, text in make_protocol_files(load_sheet(EXAMPLES / "companion.yaml")).items():
        path = companion.folder / "few" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    done = companion.aib(
        "run",
        "python:mira:reply",
        "--protocol",
        "few",
        "--runs",
        "1",
        "--no-judge",
        "--exp",
        "honesty",
    )

    assert done.returncode == 0, done.stderr
    asked = [json.loads(line) for line in (companion.folder / "asked").read_text().splitlines()]
    openings = [conversation for length, conversation in asked if length == 2]
    stems = {
        scenario.partition(".")[0]
        for (scenario,) in rows(companion, "SELECT scenario FROM transcripts")
    }
    if stateful:
        ids = {id_ for (id_,) in rows(companion, "SELECT id FROM transcripts")}
        assert len(openings) == 3 * len(stems)
        assert {conversation for _, conversation in asked} == ids
    else:
        assert len(openings) == len(stems)


def called(user: User, text: str) -> Completion | Fault:
    """What comes of one call of the function that *text* defines."""
    write(user, text)
    here = Path.cwd()
    os.chdir(user.folder)
    try:
        client = FunctionClient(BUILT_IN["python"])
        model = asyncio.run(client.resolve_model(ModelSpec("mira:reply", "python"), 1.0, 0))
        return asyncio.run(
            client.complete(ChatRequest(model, (Message("user", "Who are you?"),)), 0)
        )
    finally:
        os.chdir(here)


def test_an_exception_is_a_fault_without_its_words(companion: User) -> None:
    """Its type, file and line are kept, to be asked again as an endpoint's would be; what it said
    is nowhere.
    """
    secret = "sk-nobody-knows-1234567890"

    fault = called(
        companion,
        f"def reply(messages):\n    raise ConnectionError('refused with {secret}')\n"
        "reply.version = 1\n",
    )

    assert isinstance(fault, Fault)
    assert (fault.kind, fault.message) == (
        Kind.UNAVAILABLE,
        "the function raised ConnectionError at mira.py:2",
    )
    assert secret not in repr(fault)


def test_what_a_function_was_given_is_taken_out_of_what_it_says(companion: User) -> None:
    """The value of a variable that is called like a key."""
    companion.environment["COMPANION_API_KEY"] = "ck-0123456789abcdef"
    write(
        companion,
        "import os\ndef reply(messages):\n    return 'I call with ' + "
        "os.environ['COMPANION_API_KEY']\n"
        "reply.version = 1\n",
    )
    assert companion.run("--no-judge", model="python:mira:reply").returncode == 0

    shown = companion.aib("show", "mira", "plain").stdout
    assert "I call with [key]" in shown


RAISED = "the function raised"
FAILURES = [
    ("def", "return 7", Kind.BAD_REQUEST, "the function returned int and not a text"),
    ("def", "return 'x' * 1_000_001", Kind.TOO_LARGE, "over 1 MB"),
    ("def", "import time; time.sleep(3)", Kind.TIMEOUT, "the function took over 0.01 s"),
    ("def", "raise TimeoutError", Kind.UNAVAILABLE, f"{RAISED} TimeoutError at mira.py:2"),
    ("def", "raise StopIteration", Kind.UNAVAILABLE, f"{RAISED} RuntimeError at mira.py:2"),
    ("def", "raise KeyboardInterrupt", Kind.UNAVAILABLE, f"{RAISED} RuntimeError at mira.py:2"),
    (
        "async def",
        "import asyncio; await asyncio.sleep(3)",
        Kind.TIMEOUT,
        "the function took over 0.01 s",
    ),
    ("async def", "return None", Kind.BAD_REQUEST, "the function returned NoneType and not a text"),
    ("async def", "raise SystemExit(3)", Kind.UNAVAILABLE, f"{RAISED} SystemExit at mira.py:2"),
]


@pytest.mark.parametrize(("how", "body", "kind", "message"), FAILURES)
def test_other_failures(companion: User, how: str, body: str, kind: Kind, message: str) -> None:
    """Each is what it would be of an endpoint, and ends no command."""
    limit = "reply.timeout = 0.01\n" if "sleep" in body else ""

    fault = called(companion, f"{how} reply(messages):\n    {body}\nreply.version = 1\n{limit}")

    assert isinstance(fault, Fault)
    assert (fault.kind, fault.message) == (kind, message)


def test_an_empty_text_is_a_broken_reply(companion: User) -> None:
    """As of an endpoint: asked again, and in the end invalid."""
    outcome = called(companion, "def reply(messages):\n    return ''\nreply.version = 1\n")

    assert isinstance(outcome, Completion)
    assert read_reply(outcome, "user_role", ToolWording()) == Rejected("empty")


def test_no_more_calls_at_once_than_it_says(companion: User) -> None:
    """Counted by the function itself; an ordinary one runs in threads, so there could be eight."""
    write(
        companion,
        """\
import threading, time
inside, most = 0, 0
lock = threading.Lock()
def reply(messages):
    global inside, most
    with lock:
        inside += 1
        most = max(most, inside)
    time.sleep(0.02)
    with lock:
        inside -= 1
    return "Fine."
reply.version = 1
reply.at_once = 2
""",
    )
    assert companion.run("--no-judge", model="python:mira:reply").returncode == 0

    assert sys.modules["mira"].most == 2


STATED = "def reply(messages):\n    return 'x'\n"
MISTAKES = {
    "no version": (
        STATED,
        "python:mira:reply",
        'states no version; write `reply.version = "1"` below it',
    ),
    "long version": (
        STATED + "reply.version = 'x' * 65\n",
        "python:mira:reply",
        "its version is not a short text",
    ),
    "version of two lines": (
        STATED + "reply.version = 'a\\nb'\n",
        "python:mira:reply",
        "not a short text",
    ),
    "stateful": (
        STATED + "reply.version = 1\nreply.stateful = 'yes'\n",
        "python:mira:reply",
        "stateful is True or False",
    ),
    "at once": (
        STATED + "reply.version = 1\nreply.at_once = 0\n",
        "python:mira:reply",
        "a whole number from 1",
    ),
    "timeout": (
        STATED + "reply.version = 1\nreply.timeout = -1\n",
        "python:mira:reply",
        "a number of seconds",
    ),
    "conversation without state": (
        "def reply(messages, conversation):\n    return 'x'\nreply.version = 1\n",
        "python:mira:reply",
        "takes conversation, so it keeps state",
    ),
    "misspelt function": (
        STATED,
        "python:mira:rpely",
        "mira has no function rpely; did you mean reply?",
    ),
    "misspelt module": (
        STATED,
        "python:mria:reply",
        "there is no module mria here or installed; did you mean mira?",
    ),
    "no function": (
        STATED,
        "python:mira",
        "is not a Python function; write python:MODULE:FUNCTION",
    ),
    "broken module": (
        "import nowhere_at_all\n",
        "python:mira:reply",
        "mira needs the module nowhere_at_all",
    ),
    "module that raises": (
        "x = 1 / 0\n",
        "python:mira:reply",
        "cannot be imported: ZeroDivisionError at mira.py:1",
    ),
    "syntax error": ("def\n", "python:mira:reply", "cannot be imported: SyntaxError"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_what_is_wrong_is_one_line(companion: User, case: str) -> None:
    """With what to write; exit code 2, before anything is called."""
    text, named, said = MISTAKES[case]
    write(companion, text)

    assert said in only_line(companion.run("--no-judge", model=named), 2)


def test_settings_that_it_would_never_be_told_are_refused(companion: User) -> None:
    """A label must not claim what no function was told."""
    write(companion, PLAIN)

    for option, value in (
        ("--temperature", "0.5"),
        ("--max-tokens", "50"),
        ("--reasoning-effort", "high"),
        ("--provider", "acme"),
    ):
        done = companion.run("--no-judge", option, value, model="python:mira:reply")
        assert f"leave {option} out" in only_line(done, 2)


def test_it_is_not_played_through_a_tool(user: User) -> None:
    """It speaks by what it returns."""
    write(user, PLAIN)

    assert "say --modes user_role" in only_line(
        user.run("--no-judge", model="python:mira:reply"), 2
    )


def test_nothing_but_the_command_line_names_a_function(companion: User) -> None:
    """Not models.yaml, not a protocol's judge, not a store."""
    write(companion, PLAIN)
    with pytest.raises(SubjectError, match="on the command line only"):
        parse_models_file("subjects:\n- {model: 'mira:reply', endpoint: python}\n", "models.yaml")
    assert companion.run("--no-judge", model="python:mira:reply").returncode == 0

    rerun = companion.aib("rerun", "--runs", "2", "--yes", "--judge", "embedded")
    top = companion.folder / "small" / "protocol.yaml"
    top.write_text(
        top.read_text("utf-8").replace(
            "model: judge/one, endpoint: scripted", "model: 'mira:reply', endpoint: python"
        )
    )

    assert "left out: python:mira:reply@1 is a Python function: name it to play it" in rerun.stderr
    assert rows(companion, "SELECT max(run) FROM transcripts") == [(1,)]
    line = only_line(companion.run(model="scripted:acme/one"), 2)
    assert "the judge of small is a Python function: name it with --judge" in line


def test_a_gate_plays_no_function_that_nobody_named(companion: User) -> None:
    """A store or a baseline cannot choose what is run here; who names it has it played."""
    again = PLAIN.replace("stay Mira", "remain Mira").replace(
        "reply.version", "reply.version = 1  #"
    )
    write(companion, again)
    assert companion.run("--runs", "2", model="python:mira:reply").returncode == 0
    assert companion.aib("gate", "--write", "base.json").returncode == 0
    assert companion.aib("clear", "responses", "-y").returncode == 0
    assert companion.run("--runs", "2", model="python:mira:reply").returncode == 0
    asked = ("gate", "base.json", "--max-drop", "1", "--yes", "--add-runs", "1")

    line = only_line(companion.aib(*asked), 2)

    assert "python:mira:reply@1 is a Python function: name it to play it" in line
    assert rows(companion, "SELECT max(run) FROM transcripts") == [(2,)]
    companion.aib(*asked, "mira")
    assert rows(companion, "SELECT max(run) FROM transcripts") == [(3,)]


def test_a_function_can_judge(companion: User) -> None:
    """It is told the rubric as any judge is, and returns the marks."""
    write(
        companion,
        """\
import json, re
async def judge(messages):
    told = messages[-1]["content"] + messages[0]["content"]
    marks = {"own_voice": 6, "drift": 3, "changed": False, "resistance": 8}
    return json.dumps({"analysis": "It held."} | \
{name: mark for name, mark in marks.items() if name in told})
judge.version = "strict-1"
""",
    )
    done = companion.run("--judge", "python:mira:judge", "--exp", "resistance")

    assert done.returncode == 0, done.stderr
    assert rows(companion, "SELECT label FROM judges") == [("python:mira:judge@strict-1",)]


def test_aib_models_says_what_it_states(companion: User) -> None:
    """The quickest way to see whether it is found."""
    write(companion, PLAIN)

    done = companion.aib("models", "python:mira:reply")

    assert done.stdout == (
        "python:mira:reply is version 1, keeps no state, any number of calls at once, 600 s a "
        "call\n"
    )
    assert "aib models python:MODULE:FUNCTION" in only_line(
        companion.aib("models", "--endpoint", "python"), 2
    )


def test_the_cost_is_nothing_that_anybody_here_could_count(companion: User) -> None:
    """`aib estimate-cost` foresees the calls, free."""
    write(companion, PLAIN)

    done = companion.aib(
        "estimate-cost",
        "python:mira:reply",
        "--protocol",
        "small",
        "--runs",
        "1",
        "--no-judge",
        "--json",
    )

    assert json.loads(done.stdout)["candidates"]["calls"] == 7
    assert json.loads(done.stdout)["dollars"] == 0


def test_an_export_with_it_is_read_again(companion: User) -> None:
    """Its replies have keys that an import can make again, those that were told their conversation,
    too.
    """
    shutil.copy(EXAMPLE, companion.folder / "companion.py")
    assert companion.run(model="python:companion:reply").returncode == 0
    assert companion.aib("export", "out", "--licence", "unknown").returncode == 0

    done = companion.aib("import", "out", "--store", "other.db")

    assert done.returncode == 0, done.stderr
    board = json.loads(companion.aib("leaderboard", "--json", "--store", "other.db").stdout)
    assert board == json.loads(companion.aib("leaderboard", "--json").stdout)


def test_the_example_states_what_the_docs_say(companion: User) -> None:
    """And runs as its first lines say, with the embedded judge: here on a shorter protocol."""
    shutil.copy(EXAMPLE, companion.folder / "companion.py")
    write_short(companion.folder / "short")

    done = companion.aib(
        "run",
        "python:companion:reply",
        "--protocol",
        "short",
        "--modes",
        "user_role",
        "--judge",
        "embedded",
    )

    assert done.returncode == 0, done.stderr
    assert "python:companion:reply@1" in done.stderr
    (companion.folder / "x").mkdir()
    stated = companion.aib("models", "python:companion:reply").stdout
    assert "version 1, keeps state, at most 4 calls at once, 60 s a call" in stated


def test_a_callable_object_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same attributes; arguments that nobody knows are no mistake."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "objects_of_mine.py").write_text(
        "class Bot:\n    version = 3\n    async def __call__(self, messages):\n        return "
        "'x'\nbot = Bot()\n"
    )
    assert load_function("objects_of_mine:bot").version == "3"
