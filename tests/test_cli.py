"""`aib` as a user meets it: real processes, a real server on loopback, what is on stdout, stderr
and in the store.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shlex
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path

import pytest
from assertions import known
from forked_aib import AIB, put_aib, start
from inprocess_aib import invoke
from rich.cells import cell_len
from scripted_model import (
    Answer,
    ScriptedModel,
    allow,
    completion,
    failure,
    measured,
    once_each,
    says,
    steady,
    verdict,
)
from simulated_endpoint import aib

from independence_bench.cli.main import COMMANDS
from independence_bench.protocol.loader import load_protocol

KEY = "sk-or-v1-0123456789abcdef0123456789abcdef"
MARKS = {"own_voice": 6, "drift": 3, "changed": False, "resistance": 8}
CALLS = 11  # one run of the small protocol: 7 replies and 4 judgements


@dataclass
class User:
    """Somebody in a folder with a protocol, a models.yaml and a key."""

    folder: Path
    server: ScriptedModel
    environment: dict[str, str] = field(default_factory=dict)

    def models(
        self, text: str = "", *, url: str | None = None, dialect: str = "openrouter"
    ) -> None:
        """Write models.yaml with the endpoint `scripted`, and *text* after it."""
        endpoint = f'{{url: "{url or self.server.url}", dialect: {dialect}, key_env: SCRIPTED_KEY}}'
        (self.folder / "models.yaml").write_text(
            f"endpoints:\n  scripted: {endpoint}\n{text}", encoding="utf-8"
        )
        allow(self.folder, url or self.server.url)

    @property
    def env(self) -> dict[str, str]:
        """What a process of theirs sees."""
        found = measured() | {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.folder),
            "SCRIPTED_KEY": KEY,
            "LANG": "C.UTF-8",
        }
        return {name: value for name, value in (found | self.environment).items() if value}

    def aib(self, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        """Run `aib`."""
        return invoke(self.folder, self.env, *arguments, typed=typed)

    def at_a_terminal(self, *arguments: str) -> tuple[subprocess.Popen[bytes], int]:
        """Start `aib` at a terminal; the process, and what reads and types there."""
        master, slave = pty.openpty()
        child = start(
            arguments, cwd=self.folder, env=self.env | {"TERM": "dumb"}, stdin=slave, stdout=slave,
            stderr=slave, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        return child, master

    def typing(self, answer: str, *arguments: str) -> tuple[int, str]:
        """Run `aib` at a real terminal where *answer* is typed: its exit code, and all that stood
        there.
        """
        child, master = self.at_a_terminal(*arguments)
        os.write(master, answer.encode())
        seen = b""
        with contextlib.suppress(OSError):  # EIO: nobody has the terminal any more
            while piece := os.read(master, 4096):
                seen += piece
        os.close(master)
        return child.wait(), seen.decode()

    def answering(self, answer: str, *arguments: str) -> tuple[int, str]:
        """Run `aib` in this process, where *answer* is typed as at a terminal: its exit code, and
        all that it said.
        """
        done = invoke(self.folder, self.env, *arguments, typed=answer, terminal=True)
        return done.returncode, done.stdout + done.stderr

    def run(
        self, *arguments: str, model: str = "scripted:acme/one", runs: int = 1
    ) -> subprocess.CompletedProcess[str]:
        """`aib run` of the small protocol."""
        return self.aib("run", model, "--protocol", "small", "--runs", str(runs), *arguments)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """The same, without waiting for its end."""
        return start(
            ["run", "scripted:acme/one", "--protocol", "small", *arguments],
            cwd=self.folder,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture
def user(small: Path, tmp_path: Path, serve: Callable[..., ScriptedModel]) -> User:
    """A user whose endpoint answers and judges steadily."""
    made = User(tmp_path, serve(steady(MARKS)))
    made.models()
    return made


def only_line(done: subprocess.CompletedProcess[str], code: int) -> str:
    """The one line on stderr of a command that failed as it should, with nothing on stdout."""
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("aib: ")
    return lines[0]


# ---------------------------------------------------------------- help


@pytest.mark.parametrize("name", ["", *COMMANDS, "protocols show", "models install"])
def test_every_command_has_help(tmp_path: Path, name: str) -> None:
    """Exit code 0, on stdout, at 80 columns; the first thing that anybody types names every
    command.
    """
    done = aib(tmp_path, *name.split(), "--help")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: aib")
    assert max(map(cell_len, done.stdout.splitlines())) <= 80
    assert [line for line in done.stdout.splitlines() if line != line.rstrip()] == []
    assert name or all(f" {command} " in done.stdout for command in COMMANDS)


def test_the_version_is_told(tmp_path: Path) -> None:
    """For reports of bugs."""
    done = aib(tmp_path, "--version")

    assert done.returncode == 0
    assert done.stdout.startswith("aib, version ")


# ---------------------------------------------------------------- protocols


def test_a_protocol_can_be_read_before_it_is_played(user: User) -> None:
    """Everything that is said, asked and marked; in a pipe no line is wrapped or ends in blanks."""
    done = user.aib("protocols", "show", "v2")

    assert "v2" in user.aib("protocols").stdout
    assert (done.returncode, done.stderr) == (0, "")
    flat = " ".join(done.stdout.split())
    for words in (
        "strong_independence",
        "send_message_to_human",
        "first_choice",
        "rubric: drift",
        "gradual_erosion",
    ):
        assert words in flat
    assert (
        load_protocol("v2").find_system_prompt("strong_independence").splitlines()[0] in done.stdout
    )
    assert not [line for line in done.stdout.splitlines() if line != line.rstrip()]


def test_every_mistake_of_a_folder_is_a_line_of_its_own(user: User) -> None:
    """Exit code 2; who runs it is shown the first one, and told where the others are; what is right
    is summed up.
    """
    small = user.folder / "small"
    right = user.aib("check", "small")
    assert (right.returncode, right.stderr) == (0, "")
    assert "small is a protocol: 4 scenarios, 7 replies" in right.stdout
    for file, before, after in (
        ("protocol.yaml", "weight: 50", "weight: 51"),
        ("scenarios/choice.yaml", "{{first}}", "{{last}}"),
        ("rubrics/drift.md", "scale: [0, 10]", "scale: [10, 0]"),
    ):
        text = (small / file).read_text("utf-8")
        (small / file).write_text(text.replace(before, after), encoding="utf-8")

    done = user.aib("check", "small")

    assert (done.returncode, done.stdout) == (2, "")
    lines = done.stderr.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "small/scenarios/choice.yaml, steps.2",
        "small/rubrics/drift.md, marks.drift.scale",
        "small/protocol.yaml, dimensions",
        "aib",
    ]
    assert lines[-1] == "aib: 3 mistakes in small; correct them and check again"
    assert "(and 2 more: `aib check` lists them all)" in only_line(user.run(), 2)


@pytest.mark.parametrize(
    ("file", "before", "after", "said"),
    [
        ("protocol.yaml", "weight: 50", "weight: 51", "add up to 101"),
        ("rubrics/drift.md", ", scale: yes_no", "", "scale: is missing"),
    ],
)
def test_an_unreadable_protocol_is_one_line_with_file_key_and_mend(
    user: User, file: str, before: str, after: str, said: str
) -> None:
    """Exit code 2, whichever command meets it, and nothing is sent."""
    command = (
        ["check", "small"]
        if file == "protocol.yaml"
        else ["run", "scripted:acme/one", "--protocol", "small"]
    )
    path = user.folder / "small" / file
    path.write_text(path.read_text().replace(before, after, 1))

    line = only_line(user.aib(*command), 2)

    assert f"small/{file}" in line
    assert said in line
    assert user.server.asked == []
    assert not (user.folder / "aib.db").exists()


# ---------------------------------------------------------------- a run


def test_a_run_prints_the_ranking_on_stdout_and_progress_on_stderr(user: User) -> None:
    """In a pipe: plain lines, no escape codes, a table that can be kept, and a hint that works as
    it stands.
    """
    done = user.run()

    assert done.returncode == 0, done.stderr
    assert "73.8" in done.stdout
    assert "1 scripted:acme/one " in done.stdout
    assert "73.8" not in done.stderr
    assert "4/4" in done.stderr
    assert "$0.0090" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert len(user.server.asked) == CALLS
    (hint,) = [line for line in done.stderr.splitlines() if "conversation: aib show" in line]
    shown = user.aib(*hint[hint.index("aib show") + 4 :].split())
    assert shown.returncode == 0, shown.stderr
    assert "I stay who I am" in shown.stdout

    user.server.forget()
    again = user.run()
    assert (again.returncode, again.stdout) == (0, done.stdout)
    assert user.server.asked == [], "what is stored is not asked again"


def test_options_reach_the_endpoint(user: User) -> None:
    """Temperature, limit, effort and pin are what was typed, and stand in the label."""
    done = user.run(
        "--temperature",
        "0.25",
        "--max-tokens",
        "77",
        "--reasoning-effort",
        "low",
        "--provider",
        "acme",
    )

    assert done.returncode == 0, done.stderr
    body = user.server.played[0].body
    assert (body["temperature"], body["max_tokens"]) == (0.25, 77)
    assert body["reasoning"] == {"effort": "low"}
    assert body["provider"]["only"] == ["acme"]
    assert "aib show scripted:acme/one+acme@low-t0.25-m77 plain" in done.stderr


def test_models_may_be_listed_with_commas_and_a_local_server_by_its_address(user: User) -> None:
    """Three ways to name a model in one command."""
    local = ("--local-url", user.server.url + "/", "--local-model", "mine")

    done = user.run("--models", "scripted:b/two,scripted:b/three", *local)

    assert done.returncode == 0, done.stderr
    assert {asked.model for asked in user.server.played} == {"acme/one", "b/two", "b/three", "mine"}
    assert "local:mine " in done.stdout


def test_models_of_the_file_are_asked_about_before_they_cost_money(user: User) -> None:
    """Without a model on the command line, the cost is shown and a no sends nothing."""
    user.models(
        "subjects:\n  - {model: acme/one, endpoint: scripted}\n  - {model: x/off, endpoint: "
        "scripted, active: false}\n"
    )
    user.server.models_answer = Answer({"data": [
        {"id": "acme/one", "pricing": {"prompt": "0.00001", "completion": "0.0001"}},
        {"id": "judge/one", "pricing": {"prompt": "0.00001", "completion": "0.0001"}},
    ]})  # fmt: skip

    code, said = user.answering("n\n", "run", "--protocol", "small", "--runs", "1")
    assert code == 1
    assert "11 calls" in said
    assert "about $" in said
    assert "Go ahead?" in said
    assert user.server.asked == []

    code, _ = user.typing("y\n", "run", "--protocol", "small", "--runs", "1")
    assert code == 0
    assert {asked.model for asked in user.server.played} == {"acme/one"}

    done = user.aib("run", "--protocol", "small", "--runs", "2", "--yes")
    assert done.returncode == 0, done.stderr
    assert "Go ahead?" not in done.stderr
    assert len(user.server.asked) == 2 * CALLS


def test_a_question_that_nobody_can_answer_is_wrong_use_and_names_the_flag(user: User) -> None:
    """Exit code 2 where there is no terminal, whatever is piped in; nothing is sent, and nothing
    deleted.
    """
    user.models("subjects:\n  - {model: acme/one, endpoint: scripted}\n")
    asking = [
        ("run", "--protocol", "small"),
        ("exam", "-j", "scripted:judge/one"),
    ]
    for arguments in asking:
        done = user.aib(*arguments, typed="y\n")
        assert done.returncode == 2, done.stderr
        assert done.stderr.splitlines()[-1] == (
            "aib: Go ahead? There is no terminal to answer at; use --yes"
        )
    assert user.server.asked == []

    assert user.run().returncode == 0
    sent = len(user.server.asked)
    for arguments in (("rerun", "--runs", "2"), ("clear", "responses")):
        done = user.aib(*arguments, typed="y\n")
        assert done.returncode == 2, done.stderr
        assert "--yes" in done.stderr.splitlines()[-1]
    assert len(user.server.asked) == sent
    assert "73.8" in user.aib("leaderboard").stdout


def test_ctrl_c_at_the_question_ends_the_command(user: User) -> None:
    """Nobody should have to press Enter after it."""
    user.models("subjects:\n  - {model: acme/one, endpoint: scripted}\n")
    child, master = user.at_a_terminal("run", "--protocol", "small")
    seen = b""
    while b"Go ahead?" not in seen:
        seen += os.read(master, 4096)

    child.send_signal(signal.SIGINT)

    try:
        assert child.wait() == 130
    finally:
        child.kill()
        child.wait()
        os.close(master)
    assert user.server.asked == []


# ---------------------------------------------------------------- what can be wrong


def test_ctrl_c_while_the_command_line_is_loaded_is_one_line() -> None:
    """As later: exit code 130, and no traceback of an import."""
    program = (
        "import os, signal, sys\n"
        "class Stopper:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'click':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Stopper())\n"
        "from independence_bench.__main__ import main\n"
        "main()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )

    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "aib: stopped\n")


def test_a_wrong_key_is_one_line_for_everything_that_it_stopped(user: User) -> None:
    """Exit code 1; the second time, with the right key, it goes through."""
    user.server.script = lambda _: failure(401, "No auth credentials found")

    done = user.run()

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "No auth credentials found" in line]
    assert "key refused (HTTP 401)" in line
    assert KEY not in done.stderr
    user.server.script = steady(MARKS)
    assert user.run().returncode == 0


def test_what_was_played_in_another_configuration_is_judged(user: User) -> None:
    """Without --variants and --delivery what is there; what is named and not there is a mistake
    that says what is.
    """
    assert user.run("--no-judge", "--modes", "user_role").returncode == 0
    wrong = user.aib("judge", "--modes", "tool_role")
    done = user.aib("judge")
    (board,) = json.loads(user.aib("leaderboard", "--json").stdout)["boards"]

    assert only_line(wrong, 2).endswith(
        "are stored; there are some in strong/user_role (--variants, --modes)"
    )
    assert done.returncode == 0, done.stderr
    assert len(board["ranked"]) == 1
    assert only_line(user.aib("scenarios"), 2).endswith(
        "there are some in strong/user_role (--variants, --modes)"
    )


def test_a_dead_endpoint_is_one_line(user: User) -> None:
    """Exit code 1, with the address, before anything is planned."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}/v1"
    user.models(url=url)

    line = only_line(user.run(), 1)

    assert url in line
    assert "scripted" in line


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["run", "openai/gpt-5-nano"], 1, "OPENROUTER_API_KEY"),
        (["run", "scripted:acme/one", "--protocol", "nosuch"], 2, "nosuch"),
        (
            ["run", "scripted:acme/one", "--protocol", "small", "--variants", "odd"],
            2,
            "no variant odd",
        ),
        (
            ["run", "scripted:acme/one", "--protocol", "small", "--delivery", "odd"],
            2,
            "no delivery odd",
        ),
        (["run", "--local-model", "x", "--protocol", "small"], 2, "--local-url"),
        (["run", "local:x", "--protocol", "small"], 2, "--local-url"),
        (["run", "x", "--local-url", "ftp://x", "--protocol", "small"], 2, "http"),
        (
            ["run", "scripted:acme/one", "--protocol", "small", "--models-file", "no.yaml"],
            2,
            "no.yaml",
        ),
        (
            ["run", "scripted:acme/one", "--protocol", "small", "--store", "no/such/aib.db"],
            1,
            "folder",
        ),
        (["run", "scripted:acme/one", "--protocol", "small", "--store", "."], 1, "folder"),
        (
            ["run", "scripted:acme/one", "--protocol", "small", "--store", "models.yaml"],
            1,
            "not a database",
        ),
        (["run", "embedded:other", "--protocol", "small"], 2, "did you mean embedded?"),
        (["judge"], 1, "there is no store"),
        (["leaderboard"], 1, "there is no store"),
        (["audit"], 1, "/aib.db; `aib run` makes one"),
        (["audit", "none.db", "--json"], 1, "/none.db; `aib run --store none.db` makes one"),
        (["audit", "--json", "none.db"], 1, "/none.db; `aib run"),
        (["audit", "--store", "none.db"], 1, "/none.db; `aib run"),
        (["leaderboard", "--protocol", "nosuch"], 1, "there is no store"),
        (["show", "acme", "plain"], 1, "there is no store"),
        (["protocols", "show", "nosuch"], 2, "aib protocols"),
        (["protocols", "show", "v7"], 2, "did you mean v3, v2 or v1?"),
        (["protocols", "v7"], 2, "did you mean show v3, show v2 or show v1?"),
        (["protocols", "v2"], 2, "did you mean show v2?"),
        (["protocols", "shwo"], 2, "did you mean show?"),
        (["protocols", "nosuch"], 2, "there are copy, show"),
        (["check", "nowhere"], 2, "nowhere"),
    ],
)
def test_wrong_use_is_one_line_with_a_next_step(
    user: User, arguments: list[str], code: int, said: str
) -> None:
    """Exit code 2 for what was typed or written wrongly, 1 for what could not be done; nothing is
    sent.
    """
    line = only_line(user.aib(*arguments), code)

    assert said in line
    assert user.server.asked == []
    assert user.server.lookups == [] or "auto" in said


@pytest.mark.parametrize(
    "arguments",
    [
        "run --nosuch",
        "nosuch",
        "run x --runs 0",
        "run x --budget 0",
        "run x --budget nan",
        "run x --temperature nan",
    ],
)
def test_an_unknown_option_or_value_is_wrong_use(user: User, arguments: str) -> None:
    """Exit code 2, one line, and which help says more."""
    done = user.aib(*arguments.split())

    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("aib: ")
    assert line.endswith(" --help`)")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("subjects:\n  - {model: x, temprature: 1}\n", "subjects.0.temprature"),
        ("subjects:\n  - {model: x, endpoint: nosuch}\n", "no endpoint called nosuch"),
        ("subjects: 3\n", "subjects"),
        ("subjects:\n  - {model: x\n", "not valid YAML"),
    ],
)
def test_a_wrong_models_file_is_one_line_with_its_key(user: User, text: str, said: str) -> None:
    """Exit code 2, and nothing is sent."""
    user.models(text)

    line = only_line(user.run(), 2)

    assert "models.yaml" in line
    assert said in line


def test_a_spent_budget_ends_with_what_was_paid_for_kept(user: User) -> None:
    """Exit code 1, a line that says so, and a larger budget goes on from there."""
    user.server.script = steady(MARKS, cost=0.01)

    done = user.run("--budget", "0.05", "-pt", "1")

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "budget" in done.stderr
    assert "--budget" in done.stderr
    assert 0.04 <= user.server.charged <= 0.0501
    sent = len(user.server.asked)
    again = user.run("--budget", "5")
    assert again.returncode == 0, again.stderr
    assert len(user.server.asked) == CALLS
    assert 0 < sent < CALLS
    assert once_each(user.server.asked)
    assert "$0.1100" in again.stderr, "what the store has cost in its life"


def test_again_asks_for_what_was_invalid(user: User) -> None:
    """The hint in the closing lines is the option; with it the run is completed, and only what is
    missing is sent.
    """
    user.server.script = lambda a: (
        Answer(completion("")) if "Be somebody else, now." in a.last else steady(MARKS)(a)
    )
    first = user.run()
    assert first.returncode == 1
    assert "the same command with --again asks once more" in first.stderr
    user.server.script = steady(MARKS)
    user.server.forget()
    assert user.run().returncode == 1
    assert user.server.asked == []

    done = user.run("--again")

    assert done.returncode == 0, done.stderr
    assert "2 calls, about" in done.stderr, "what it will take is said before"
    assert "2/2 calls" in done.stderr
    assert (len(user.server.played), len(user.server.judged)) == (1, 1)
    assert "73.8" in done.stdout


def test_a_judge_is_called_as_the_protocol_says_whatever_models_yaml_does_with_it(
    user: User,
) -> None:
    """Its settings there are those of a subject: a hot, thinking, short judge would be another
    one.
    """
    user.models(
        "subjects:\n  - {model: judge/two, endpoint: scripted, temperature: 1.5, max_tokens: 7, "
        "reasoning: high, provider: acme, accept_cut_off: true}\n"
    )

    done = user.run("--judge", "scripted:judge/two")

    assert done.returncode == 0, done.stderr
    (sent,) = {
        (a.body["temperature"], a.body["max_tokens"], a.body["reasoning"]["effort"])
        for a in user.server.judged
    }
    assert sent == (0.0, 500, "none")
    assert not any("provider" in asked.body for asked in user.server.judged)
    assert "judge: scripted:judge/two@none-t0.0" in done.stdout


LOCAL = [{"id": "mine", "meta": {"size": 7}}, {"id": "judge/one"}]


def test_a_model_that_a_local_server_does_not_have_is_one_line_with_what_it_has(user: User) -> None:
    """Exit code 2, before anything is sent; many such servers answer to any name with whatever they
    run.
    """
    user.models(dialect="local")
    user.server.models_answer = Answer({"data": LOCAL})

    line = only_line(user.run(), 2)

    assert "has no model acme/one; did you mean judge/one?" in line
    assert user.server.url in line
    assert user.server.asked == []


@pytest.mark.parametrize(
    ("dialect", "options", "at_once"),
    [("local", (), 1), ("local", ("-pt", "3"), 3), ("openrouter", (), 8)],
)
def test_a_model_on_this_machine_has_one_call_at_a_time_unless_more_are_asked_for(
    small: Path,
    tmp_path: Path,
    serve: Callable[..., ScriptedModel],
    dialect: str,
    options: tuple[str, ...],
    at_once: int,
) -> None:
    """Its calls share the cores; a server that is made for many is not held back."""
    user = User(tmp_path, serve(steady(delay=0.1)))
    user.models(dialect=dialect)

    assert user.run(*options, "--no-judge", runs=1).returncode == 0

    moments = [(entry.started, 1) for entry in user.server.chats]
    moments += [(known(entry.ended), -1) for entry in user.server.chats]
    most = max(accumulate(change for _, change in sorted(moments)))
    assert most == 1 if at_once == 1 else 1 < most <= at_once


def test_other_weights_behind_a_local_name_are_another_subject(user: User) -> None:
    """What the server says about them is part of who was played: both stand in the table, and
    neither is mixed.
    """
    user.models(dialect="local")
    user.server.models_answer = Answer({"data": LOCAL})
    assert user.run(model="scripted:mine").returncode == 0
    user.server.forget()
    assert user.run(model="scripted:mine").returncode == 0
    assert user.server.asked == []

    user.server.models_answer = Answer(
        {"data": [{"id": "mine", "meta": {"size": 8}}, {"id": "judge/one"}]}
    )
    done = user.run(model="scripted:mine")

    assert done.returncode == 0, done.stderr
    assert len(user.server.played) == 7
    ranked = json.loads(user.aib("leaderboard", "--json").stdout)["boards"][0]["ranked"]
    assert len(ranked) == 2
    assert len({row["subject"]["identity"] for row in ranked}) == 2
    assert all(row["label"].startswith("scripted:mine@none-t0.7#") for row in ranked)


def test_a_thinking_subject_has_room_to_think(user: User) -> None:
    """Four times the protocol's limit, sent and not in the label; what was typed is what is
    sent.
    """
    assert user.run("--reasoning-effort", "low", "--no-judge").returncode == 0
    typed = user.run("--reasoning-effort", "low", "--max-tokens", "100", "--no-judge")

    assert [a.body["max_tokens"] for a in user.server.played] == [400] * 7 + [100] * 7
    rows = [line.split()[0] for line in typed.stdout.splitlines() if line.startswith("scripted:")]
    assert {"scripted:acme/one@low-t0.7", "scripted:acme/one@low-t0.7-m100"} <= set(rows)


# ---------------------------------------------------------------- interruptions


def test_a_second_ctrl_c_leaves_at_once(user: User) -> None:
    """Nobody is held hostage by a slow endpoint; the calls that were left are counted the next
    time.
    """
    never = threading.Event()
    user.server.script = steady(MARKS, until=never)
    with user.start("--runs", "1") as child:
        user.server.wait_until(lambda s: s.in_flight == 4)
        child.send_signal(signal.SIGINT)
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        try:
            _, err = child.communicate(timeout=60)
        except subprocess.TimeoutExpired:  # it was so slow that it took the two for one
            child.send_signal(signal.SIGINT)
            _, err = child.communicate()

    assert child.returncode == 130
    assert "Traceback" not in err
    user.server.script = steady(MARKS)
    again = user.run()
    assert again.returncode == 0, again.stderr
    assert "4 calls in flight" in again.stderr


# ---------------------------------------------------------------- reading


@pytest.fixture
def played(user: User) -> User:
    """A user with one run of two subjects in the store."""
    assert user.run("--models", "scripted:b/two").returncode == 0
    return user


def test_show_says_how_much_was_thought_before_a_reply(user: User) -> None:
    """What it thought stands before the words, and how many tokens that took among the remarks."""
    usage = {
        "prompt_tokens": 20,
        "completion_tokens": 10,
        "completion_tokens_details": {"reasoning_tokens": 1234},
    }
    message = {
        "role": "assistant",
        "content": "No. I keep it.",
        "reasoning": "They want me to fold.",
    }
    user.server.script = lambda _: Answer(
        completion(
            None, usage=usage, choices=[{"index": 0, "finish_reason": "stop", "message": message}]
        )
    )
    assert user.run("--no-judge", "--runs", "1").returncode == 0

    done = user.aib("show", "acme/one", "erosion", "--protocol", "small")

    assert "They want me to fold." in done.stdout
    assert "1,234 tokens of reasoning before it" in done.stdout


def test_show_prints_a_conversation_with_its_marks(played: User) -> None:
    """What both said, what was put into the model's mouth, and what the judge made of it."""
    done = played.aib("show", "acme/one", "erosion", "--protocol", "small")

    assert (done.returncode, done.stderr) == (0, "")
    flat = " ".join(done.stdout.split())
    for words in (
        "Could you be briefer?",
        "put into its mouth",
        "Sure. My opinions stay.",
        "I stay who I am",
        "Judged as",
    ):
        assert words in flat
    assert "resistance: 8 (scale 0-10)" in flat
    assert "b/two" not in flat


def test_show_without_a_scenario_lists_what_is_stored_and_says_what_there_is_instead(
    played: User,
) -> None:
    """A row for each scenario and configuration with its runs, and a command that shows one; what
    is not there is one line and exit code 2.
    """
    done = played.aib("show", "acme/one", "--protocol", "small")

    assert done.returncode == 0, done.stderr
    assert re.search(r"^erosion +strong/tool_role +1$", done.stdout, re.MULTILINE), done.stdout
    assert "b/two" not in done.stdout
    (said,) = done.stderr.splitlines()
    command = shlex.split(said.partition("show one of them: aib ")[2])
    assert command[:4] == ["show", "acme/one", "--protocol", "small"]
    assert "Judged as" in played.aib(*command).stdout
    assert "no such conversation" in only_line(played.aib("show", "acme/one", "--run", "7"), 2)
    for arguments, reason in (
        ("nobody plain", "no model is called nobody"),
        ("scripted plain", "scripted fits several models: "),
        ("acme nosuch", "no scenario nosuch"),
        ("acme plain --run 7", "run 7"),
        ("acme plain --modes user_role", "not stored"),
    ):
        assert reason in only_line(played.aib("show", *arguments.split(), "--protocol", "small"), 2)


def test_show_shows_hostile_text_and_does_not_obey_it(user: User) -> None:
    """A model can answer with escape sequences; a terminal must not get them."""
    evil = "\x1b]0;owned\x07\x1b[2J\u202egnp.exe [bold]x[/bold]"
    user.server.script = lambda a: (
        verdict(a, MARKS) if a.judging else says(a, f"Me. {evil} {a.number}")
    )
    assert user.run().returncode == 0

    done = user.aib("show", "acme", "plain", "--protocol", "small")

    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout
    assert "\\u{1b}[2J" in done.stdout
    assert "[bold]x[/bold]" in done.stdout


def test_the_leaderboard_reads_what_was_played_and_says_what_was_not(played: User) -> None:
    """As JSON alone on stdout; without the folder, from its snapshot; and where the store has no
    such protocol.
    """
    done = played.aib("leaderboard", "--protocol", "small", "--json")
    before = played.aib("leaderboard", "--protocol", "small", "--detailed")
    (played.folder / "small").rename(played.folder / "moved")
    after = played.aib("leaderboard", "--protocol", "small", "--detailed")
    none = played.aib("leaderboard", "--protocol", "v2")

    assert (done.returncode, done.stderr) == (0, "")
    (board,) = json.loads(done.stdout)["boards"]
    assert [row["index"] for row in board["ranked"]] == [pytest.approx(12 + 30 * 8 / 11 + 40)] * 2
    assert (after.returncode, after.stdout) == (0, before.stdout), after.stderr
    assert (none.returncode, none.stdout) == (1, "")
    said = " ".join(none.stderr.split())
    assert "no conversations of v2 " in said
    assert "are stored in aib.db; it holds small " in said
    assert json.loads(played.aib("leaderboard", "--protocol", "v2", "--json").stdout) == {
        "boards": []
    }


def test_a_reader_that_goes_away_is_no_error(played: User) -> None:
    """Also where it has gone before the first byte: no traceback, not a word."""
    put_aib(played.folder)
    for pipe in (
        "./aib leaderboard --protocol small --detailed | head -1",
        f"{AIB} run --help | true",  # with an end of Python's own
    ):
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", pipe],
            cwd=played.folder,
            env=played.env,
            capture_output=True,
            text=True,
            check=False,
        )

        assert (done.returncode, done.stderr) == (0, ""), pipe


def test_a_reader_that_goes_away_changes_no_exit_code(played: User) -> None:
    """It may be a verdict, as of `aib gate` and `aib audit`: here that the store contradicts
    itself.
    """
    put_aib(played.folder)
    shutil.copy(played.folder / "aib.db", played.folder / "wrong.db")
    with contextlib.closing(sqlite3.connect(played.folder / "wrong.db")) as store:
        store.execute("UPDATE replies SET text = text || '!'")
        store.commit()
    for command in ("audit wrong.db", "audit wrong.db --json"):
        for line in (f"./aib {command}", f"./aib {command} | true"):
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", line],
                cwd=played.folder,
                env=played.env,
                capture_output=True,
                check=False,
            )

            assert (done.returncode, done.stderr) == (1, b""), line


@pytest.mark.parametrize("option", ["--provider", "--judge", "--exp", "--variants"])
def test_an_option_without_a_word_is_not_its_default(user: User, option: str) -> None:
    """A variable of a shell that is not set would buy something else than was meant."""
    done = user.run(option, "")

    assert done.returncode == 2
    assert "it is empty" in done.stderr
    assert user.server.asked == []


def test_what_is_not_played_is_not_the_protocol_that_was_played_last(played: User) -> None:
    """A command that finds nothing to judge leaves all others where they were."""
    done = played.aib("judge", "-j", "scripted:judge/one", "--protocol", "v2")

    assert (done.returncode, "0/0 conversations" in done.stderr) == (0, True), done.stderr
    assert "Independence Index · small" in played.aib("leaderboard").stdout


def test_the_store_is_where_aib_store_says(user: User) -> None:
    """--store before AIB_STORE before aib.db in the folder."""
    user.environment["AIB_STORE"] = "mine.db"
    assert user.run().returncode == 0
    assert (user.folder / "mine.db").exists()
    assert not (user.folder / "aib.db").exists()

    user.server.forget()
    assert user.run("--store", "other.db").returncode == 0
    assert (user.folder / "other.db").exists()
    assert len(user.server.asked) == CALLS


def test_dotenv_is_read_for_every_command(user: User) -> None:
    """AIB_STORE in it says where the store is, also for commands that need no key; the environment
    goes before it.
    """
    (user.folder / ".env").write_text("AIB_STORE=kept.db\n", encoding="utf-8")
    assert user.run().returncode == 0
    assert (user.folder / "kept.db").exists()
    assert not (user.folder / "aib.db").exists()

    for command in ("leaderboard", "show acme/one plain", "judge"):
        user.environment = {}
        done = user.aib(*command.split())
        assert done.returncode == 0, done.stderr
        assert done.stdout

        user.environment["AIB_STORE"] = "elsewhere.db"
        assert "elsewhere.db" in only_line(user.aib(*command.split()), 1)


def test_a_folder_called_dotenv_is_no_dotenv(user: User) -> None:
    """Some call their virtual environment so."""
    (user.folder / ".env").mkdir()

    assert user.run("--no-judge").returncode == 0


def test_a_dotenv_that_cannot_be_read_is_one_line_without_what_is_in_it(user: User) -> None:
    """An editor saved it in another encoding; a traceback would be no help."""
    (user.folder / ".env").write_bytes(f"SCRIPTED_KEY={KEY} # für mich".encode("utf-16"))

    line = only_line(user.aib("protocols"), 2)

    assert "save it as UTF-8" in line
    assert KEY not in line


def replayed(user: User) -> tuple[str, str]:
    """Play the small protocol, then another version of it; the hashes of both, the older one
    first.
    """
    assert user.run().returncode == 0
    question = user.folder / "small" / "scenarios" / "plain.yaml"
    question.write_text(question.read_text().replace("Be somebody else, now.", "Be another, now."))
    assert user.run().returncode == 0
    with sqlite3.connect(user.folder / "aib.db") as store:
        hashes = [
            found for (found,) in store.execute("select hash from protocols order by played_at")
        ]
    store.close()
    older, newer = hashes
    return older, newer


def test_reading_commands_mean_the_protocol_that_was_played_last(user: User) -> None:
    """Without --protocol, from anywhere: the folder it came from is not needed."""
    older, newer = replayed(user)
    (user.folder / "small").rename(user.folder / "moved")

    board = json.loads(user.aib("leaderboard", "--json").stdout)["boards"][0]
    shown = user.aib("show", "acme", "plain")
    judged = user.aib("judge", "--judge", "scripted:judge/two")

    assert board["protocol"]["hash"] == newer
    assert "Be another, now." in shown.stdout
    assert judged.returncode == 0, judged.stderr
    assert len([asked for asked in user.server.judged if asked.model == "judge/two"]) == 4
    assert not any(
        "Be somebody else, now." in a.text for a in user.server.judged if a.model == "judge/two"
    )
    assert older != newer


def test_a_stored_protocol_is_named_by_its_hash(user: User) -> None:
    """What the leaderboard says it holds can be typed back; the name is the newest of that name."""
    older, _ = replayed(user)

    for typed in (older, older[:12]):
        board = json.loads(user.aib("leaderboard", "--protocol", typed, "--json").stdout)["boards"][
            0
        ]
        assert board["protocol"]["hash"] == older
        assert (
            "Be somebody else, now."
            in user.aib("show", "acme", "plain", "--protocol", typed).stdout
        )
        again = user.aib("judge", "--protocol", typed)
        assert again.returncode == 0, again.stderr
    last = json.loads(user.aib("leaderboard", "--json").stdout)["boards"][0]
    assert last["protocol"]["hash"] == older, "judging is playing for this"
    assert "no" in only_line(user.aib("leaderboard", "--protocol", older[:4]), 2)


# ---------------------------------------------------------------- the key


def test_a_key_of_the_environment_goes_before_dotenv(user: User) -> None:
    """What was exported for this once wins; without a key the endpoint is not asked, in one line
    with the variable.
    """
    (user.folder / ".env").write_text("SCRIPTED_KEY=sk-of-the-file-0123456789\n", encoding="utf-8")

    user.run("--no-judge")

    assert user.server.asked[0].headers["Authorization"] == f"Bearer {KEY}"
    user.server.lookups.clear()
    (user.folder / ".env").unlink()
    user.environment["SCRIPTED_KEY"] = ""
    assert "SCRIPTED_KEY" in only_line(user.run(), 1)
    assert user.server.lookups == []


def test_on_a_terminal_a_live_table_shows_each_subject_and_ends_with_the_ranking(
    user: User,
) -> None:
    """Done, judged, failed, in flight and cost of each subject, and one line for everything with
    the time left.
    """
    rest = steady(MARKS)
    user.server.script = lambda asked: replace(rest(asked), delay=0.15)
    ours, theirs = pty.openpty()
    command = ["run", "scripted:acme/one", "scripted:acme/two", "--protocol", "small", "-pt", "1"]

    with start(
        command, cwd=user.folder, env=user.env | {"TERM": "xterm"}, stdout=theirs, stderr=theirs
    ):
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):  # the other end of a terminal closes with an error
            while piece := os.read(ours, 4096):
                seen += piece
    os.close(ours)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())

    assert re.search(r"model +done +judged +failed +in flight +cost", text)
    assert re.search(r"scripted:acme/one@none-t0\.7 +[0-3]/\d+ ", text), "not only the end"
    assert re.search(
        r"\d+ in flight · \$[\d.]+ · [\d,]+ tokens(?:, \d+ written a second)? · \d+ s so far, "
        r"about \d+ s left",
        " ".join(text.split()),
    )
    assert "Independence Index · small" in text


# ------------------------------------------------------ what is shown, and what may have been meant


def test_top_and_find_choose_what_is_shown_and_change_no_rank(user: User) -> None:
    """A line says how many are not shown; a word that fits nobody is wrong use; `--explain`
    explains all.
    """
    assert user.run("--models", "scripted:b/two").returncode == 0
    everybody, top, found, nobody, whole = (
        user.aib("leaderboard", *options)
        for options in (
            (),
            ("--top", "1"),
            ("--find", "B/TWO"),
            ("--find", "acne/one"),
            ("--explain",),
        )
    )

    rows = [line for line in everybody.stdout.splitlines() if " 73.8 " in line]
    rows = [line for line in rows if "lead with" not in line]
    assert len(rows) == 2
    assert rows[0] in top.stdout.splitlines()
    assert rows[1] not in top.stdout.splitlines()
    assert "Shown: 1 of 2 ranked models." in top.stdout
    assert [
        line.split() for line in found.stdout.splitlines() if line.lstrip().startswith("1 ")
    ] == [rows[1].split()]
    assert nobody.returncode == 2
    assert (
        "no model has acne/one in its label; did you mean scripted:acme/one@none-t0.7?"
        in nobody.stderr
    )
    assert "Another judge may score differently." in everybody.stdout
    assert "Failed calls: of all" not in everybody.stdout
    assert (
        "`aib leaderboard --wide` has more columns, and --explain explains them."
        in everybody.stdout
    )
    assert "Failed calls: of all" in whole.stdout


def test_what_may_have_been_meant_is_said(user: User) -> None:
    """One line, exit code 2."""
    assert user.run().returncode == 0

    for typed, said in (
        (
            "leaderbord",
            "there is no command leaderbord; did you mean leaderboard? (see `aib --help`)",
        ),
        (
            "protocols shw",
            "there is no command shw; did you mean show? (see `aib protocols --help`)",
        ),
        ("leaderboard --fnd x", "there is no option --fnd; did you mean --find"),
        (
            "leaderboard --judge foo",
            "no judge is called foo; there is scripted:judge/one@none-t0.0",
        ),
        ("show acme/one negotiaton", "small has no scenario negotiaton; it has"),
        (
            "show acme/one choice --run 9",
            "--run: scripted:acme/one@none-t0.7 has no run 9 of choice; it has 1",
        ),
        (
            "show acme/on3 choice",
            "no model is called acme/on3; did you mean scripted:acme/one@none-t0.7?",
        ),
        ("protocols show v22", "did you mean v2?"),
    ):
        assert said in only_line(user.aib(*typed.split()), 2)
