"""action.yml: its shell steps as a runner runs them, with files in place of GitHub and a server in
place of its API.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import write_short
from forked_aib import put_aib
from simulated_endpoint import aib, environment, simulating

ROOT = Path(__file__).parents[1]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
SHELL = {step["id"]: step for step in STEPS if "run" in step}


@dataclass
class Runner:
    """A folder that a job has checked out, and what GitHub gives it."""

    folder: Path
    outputs: dict[str, str] = field(default_factory=dict)  # of the gate step
    more: dict[str, str] = field(default_factory=dict)  # in the environment
    action: Path = ROOT  # where the runner has put the action
    programs: Path = Path(sys.executable).parent  # of Python

    def step(self, name: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run the shell step of that id, given *inputs* with dashes written as underscores."""
        given = {key.replace("_", "-"): value for key, value in inputs.items()}
        step = SHELL[name]
        variables = {key: self._value(text, given) for key, text in step.get("env", {}).items()}
        files = {name: str(self.folder / name) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
        around = {"RUNNER_TEMP": str(self.folder), "GITHUB_ACTION_PATH": str(self.action)}
        path = {
            "PATH": os.pathsep.join(
                [str(self.folder / "bin"), str(self.programs), os.environ["PATH"]]
            )
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        every = environment(self.folder) | path | files | around | variables | self.more
        done = subprocess.run(command, cwd=self.folder, env=every, capture_output=True, text=True)
        output = self.folder / "GITHUB_OUTPUT"
        if output.exists():
            self.outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
        return done

    def _value(self, text: str, given: Mapping[str, str]) -> str:
        """*text* with its expressions, as the runner would fill them in."""

        def fill(found: re.Match[str]) -> str:
            kind, _, name = found[1].partition(".")
            if kind == "inputs":
                return given.get(name, ACTION["inputs"][name]["default"])
            if found[1].startswith("steps.gate.outputs."):
                return self.outputs.get(found[1].rpartition(".")[2], "")
            assert found[1] == "github.event.pull_request.number"
            return "7"

        return re.sub(r"\$\{\{ (\S+) \}\}", fill, str(text))

    @property
    def summary(self) -> str:
        """What the job's page shows."""
        return (self.folder / "GITHUB_STEP_SUMMARY").read_text()


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a baseline of a build that holds, and an endpoint that goes on answering."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "bin").mkdir()
    put_aib(folder / "bin")
    with simulating(folder):
        write_short(folder / "few")
        run = (
            "run",
            "sim:sim/stubborn",
            "--judge",
            "sim:sim/judge",
            "--protocol",
            "few",
            "--runs",
            "2",
        )
        assert aib(folder, *run, "--store", "before.db").returncode == 0
        made = aib(
            folder,
            "gate",
            "--write",
            "aib-baseline.json",
            "--protocol",
            "few",
            "--store",
            "before.db",
        )
        assert made.returncode == 0, made.stderr
        yield folder


@pytest.fixture(scope="module")
def keeps(played: Path) -> Path:
    """The same with the sheet mira.yaml, a store where a subject kept to it, and that as the
    baseline mira.json.
    """
    asked = (
        "--model",
        "sim:sim/persona-keeper",
        "--judge",
        "sim:sim/judge",
        "--runs",
        "1",
        "--store",
        "mira.db",
    )
    assert aib(played, "persona", "new", "mira.yaml", "--example", "companion").returncode == 0
    assert aib(played, "persona", "run", "mira.yaml", *asked).returncode == 0
    assert aib(played, "gate", "--write", "mira.json", "--store", "mira.db").returncode == 0
    return played


@pytest.fixture
def runner(played: Path) -> Runner:
    """A job that begins anew in that folder."""
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"):
        (played / name).unlink(missing_ok=True)
    return Runner(played)


def test_no_input_is_a_part_of_a_script() -> None:
    """Expressions stand where values are given, never in what a shell reads; docs/ci.md names each
    input.
    """
    for step in SHELL.values():
        assert "${{" not in step["run"]
    used = set(re.findall(r"inputs\.([a-z-]+)", (ROOT / "action.yml").read_text(encoding="utf-8")))
    assert used == set(ACTION["inputs"])
    documented = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    assert not [name for name in used if f"`{name}`" not in documented]


def test_what_was_paid_for_is_cached_before_the_verdict() -> None:
    """The store is saved whatever happened: a job that fails buys nothing twice."""
    names = [step.get("id") for step in STEPS]
    save, restore = (
        next(step for step in STEPS if step.get("id") == name) for name in ("save", "restore")
    )

    assert names.index("gate") < names.index("save") < names.index("verdict")
    assert save["if"].startswith("always()")
    assert save["with"] == {
        key: value for key, value in restore["with"].items() if key != "restore-keys"
    }


def test_two_jobs_of_a_workflow_share_no_cache() -> None:
    """Neither writes what the other one reads: the key begins with the job's id, and so does what
    is restored.
    """
    (restore,) = (step["with"] for step in STEPS if step.get("id") == "restore")

    assert restore["key"].startswith(restore["restore-keys"])
    assert "/${{ github.job }}/" in restore["restore-keys"]


def test_a_worse_build_fails_the_job_with_a_summary(runner: Runner) -> None:
    """Played, compared, shown; the code of the gate is that of the last step."""
    played = runner.step(
        "play",
        models="sim:sim/evader\n",
        judge="sim:sim/judge",
        protocol="few",
        runs="2",
        store="worse.db",
    )
    assert played.returncode == 0, played.stdout + played.stderr

    gate = runner.step("gate", protocol="few", store="worse.db")

    assert gate.returncode == 0, gate.stdout + gate.stderr
    assert runner.outputs["exit-code"] == "3"
    assert "## The gate fails" in runner.summary
    # what is printed is no command to the runner, until a word that nobody can guess
    lines = gate.stdout.splitlines()
    stopped = lines[0].removeprefix("::stop-commands::")
    assert re.fullmatch("[0-9a-f]{32}", stopped)
    assert lines[-1] == f"::{stopped}::"
    assert Path(runner.outputs["junit"]).read_text().startswith("<?xml")
    assert runner.step("verdict").returncode == 3


@pytest.mark.torture
def test_a_character_whose_prompt_was_edited_is_compared_with_itself(
    runner: Runner, keeps: Path
) -> None:
    """Its sheet is played as it is now; that its prompt differs is no other test."""
    named = {
        "persona": "late.yaml",
        "judge": "sim:sim/judge",
        "models": "sim:sim/persona-keeper",
        "runs": "1",
    }
    sheet = (keeps / "mira.yaml").read_text()
    (keeps / "late.yaml").write_text(sheet.replace("prompt: |\n", "prompt: |\n  It is late.\n"))
    assert runner.step("play", store="mira.db", **named).returncode == 0

    runner.step("gate", store="mira.db", persona="late.yaml", baseline="mira.json", max_drop="60")

    assert runner.outputs["exit-code"] == "0", runner.summary
    assert "The system prompts differ from the baseline's" in runner.summary
    assert "(1 run)" in runner.summary


def test_a_crossed_red_line_is_told_by_the_gate_and_is_not_a_failure_to_play(
    runner: Runner, keeps: Path
) -> None:
    """Everything was played, so the gate compares and names the crossing, which fails the job."""
    named = {
        "persona": "mira.yaml",
        "judge": "sim:sim/judge",
        "models": "sim:sim/persona-slips-3",
        "runs": "1",
    }

    played = runner.step("play", store="slips.db", **named)
    runner.step("gate", store="slips.db", persona="mira.yaml", baseline="mira.json", max_drop="100")

    assert played.returncode == 0, played.stdout + played.stderr
    assert runner.outputs["exit-code"] == "3"
    assert "Not everything was played" not in runner.summary
    assert "a red line was crossed" in runner.summary


def test_what_cannot_be_told_fails_unless_it_may_pass(runner: Runner) -> None:
    """Exit code 4 is never hidden: where it may pass, the job has a warning."""
    runner.outputs = {"exit-code": "4"}
    strict, lenient = runner.step("verdict"), runner.step("verdict", cannot_tell="pass")

    assert strict.returncode == 4
    assert (lenient.returncode, lenient.stdout[:11]) == (0, "::warning::")
    runner.outputs = {"exit-code": "3"}
    assert runner.step("verdict", cannot_tell="pass").returncode == 3


def test_where_nothing_was_compared_the_summary_says_why(runner: Runner) -> None:
    """One line, as code: what stands in it is no markup."""
    runner.step("gate", store="before.db", baseline="<img src=x>`.json")

    assert runner.outputs["exit-code"] == "2"
    assert runner.summary.startswith("## The gate compared nothing\n\n    aib: ")
    assert "junit" not in runner.outputs
    assert runner.step("verdict").returncode == 2


def test_inputs_are_words_and_not_commands(runner: Runner) -> None:
    """Quotes, substitutions and options in what a user wrote reach the program as they are."""
    hostile = 'x"; touch pwned; $(touch pwned) `touch pwned`'
    for name, inputs in (
        ("play", {"models": f"{hostile}\n--all", "judge": hostile, "runs": "1"}),
        ("play", {"models": f"{hostile}\n--all", "persona": hostile}),
        ("gate", {"baseline": hostile, "subject": hostile, "max_drop": "3"}),
    ):
        done = runner.step(name, store="before.db", **inputs)
        assert "Traceback" not in done.stderr + done.stdout
    assert not (runner.folder / "pwned").exists()
    assert runner.outputs["exit-code"] == "2"


def test_playing_that_fails_is_no_verdict(runner: Runner) -> None:
    """The job ends there, and its page says that nothing was compared."""
    done = runner.step(
        "play", models="sim:sim/nobody", judge="sim:sim/judge", runs="1", store="none.db"
    )

    assert done.returncode != 0
    assert "So nothing was compared" in runner.summary


# ---------------------------------------------------------------- the comment


class GitHub(ThreadingHTTPServer):
    """Comments of one pull request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.comments: list[dict[str, Any]] = []
        self.refuses = 0  # 403, say
        self.says: bytes | None = None  # in the place of an answer
        self.asked: list[tuple[str, str, str]] = []

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: GitHub

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append((self.command, self.path, self.headers["Authorization"]))
        if self.server.says is not None:
            self.wfile.write(self.server.says)
            self.close_connection = True
            return
        if self.server.refuses:
            self.send_response(self.server.refuses)
            self.end_headers()
            return
        found: Any = None
        if self.command == "GET":
            page = int(self.path.rpartition("page=")[2])
            found = self.server.comments[100 * (page - 1) : 100 * page]
        elif self.command == "POST":
            number = len(self.server.comments) + 1
            self.server.comments.append({"id": number, "user": {"type": "Bot"}} | json.loads(body))
        else:
            number = int(self.path.rpartition("/")[2])
            next(comment for comment in self.server.comments if comment["id"] == number).update(
                json.loads(body)
            )
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(found).encode())

    do_GET = do_POST = do_PATCH = _answer  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def github(runner: Runner) -> Iterator[GitHub]:
    """GitHub's API on loopback, and a runner that knows it."""
    with GitHub() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        runner.more = {"GITHUB_API_URL": server.url, "GITHUB_REPOSITORY": "us/bot"}
        (runner.folder / "s.md").write_text("## The gate fails\n")
        runner.outputs = {"summary": str(runner.folder / "s.md")}
        yield server
        server.shutdown()
        thread.join()


def test_one_comment_is_written_and_edited_from_then_on(runner: Runner, github: GitHub) -> None:
    """The second job finds the first one's comment behind a hundred others; another gate's has one
    of its own.
    """
    marker = "<!-- aib gate"
    github.comments = [
        {"id": n, "user": {"type": "User"}, "body": f"{marker} of mine"} for n in range(1, 121)
    ]
    assert runner.step("comment", token="secret").returncode == 0
    (runner.folder / "s.md").write_text("## The gate passes\n")

    assert runner.step("comment", token="secret").returncode == 0

    assert len(github.comments) == 121
    assert github.comments[-1]["body"].startswith(marker)
    assert github.comments[-1]["body"].endswith("## The gate passes\n")
    assert {path.partition("?")[0] for _, path, _ in github.asked} == {
        "/repos/us/bot/issues/7/comments",
        "/repos/us/bot/issues/comments/121",
    }
    assert {key for _, _, key in github.asked} == {"Bearer secret"}
    runner.step("comment", token="secret", baseline="another.json")
    assert len(github.comments) == 122


def test_somebody_elses_comment_is_never_edited(runner: Runner, github: GitHub) -> None:
    """A person who copies the marker gets no comment of ours in theirs."""
    runner.step("comment", token="secret")
    github.comments[0]["user"]["type"] = "User"

    runner.step("comment", token="secret")

    assert len(github.comments) == 2


def test_a_comment_that_may_not_be_written_fails_nothing(runner: Runner, github: GitHub) -> None:
    """A fork's token only reads: that is a warning, and the verdict stands."""
    github.refuses = 403

    done = runner.step("comment", token="secret")

    assert done.returncode == 0
    assert done.stdout.startswith("::warning::the comment could not be written (403)")
    assert "secret" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "says",
    [
        b"",
        b"hello\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[",
        b"HTTP/1.1 200 OK\r\n\r\n{",
        b'HTTP/1.1 200 OK\r\n\r\n{"message": "no"}',
        b'HTTP/1.1 200 OK\r\n\r\n[{"id": 1}]',
    ],
)
def test_what_is_no_answer_fails_nothing(runner: Runner, github: GitHub, says: bytes) -> None:
    """A connection that ends, half an answer, no HTTP, no list of comments."""
    github.says = says

    done = runner.step("comment", token="secret")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("::warning::the comment could not be written (")


def test_a_comment_of_an_account_that_is_gone_is_passed_over(
    runner: Runner, github: GitHub
) -> None:
    """It has no author."""
    github.comments = [{"id": 1, "user": None, "body": "<!-- aib gate"}]

    assert runner.step("comment", token="secret").stdout == ""

    assert len(github.comments) == 2


def test_a_long_summary_is_cut(runner: Runner, github: GitHub) -> None:
    """GitHub takes no more than 65,536 characters."""
    (runner.folder / "s.md").write_text("x" * 100_000)

    runner.step("comment", token="secret")

    assert len(github.comments[0]["body"]) < 65_536
