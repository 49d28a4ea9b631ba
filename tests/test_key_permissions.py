"""Which key may go where: asked once, remembered outside of the folder. Real commands, and a server
that sees keys.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import click
import pytest
from forked_aib import start
from scripted_model import ScriptedModel, steady
from test_cli import MARKS, User, only_line

from independence_bench.api.named import add_stored_permissions, read_permissions
from independence_bench.cli.main import cli
from independence_bench.errors import WrongUse
from independence_bench.models.endpoints import apply_openrouter_variables, parse_models_file
from independence_bench.models.local.files import load_pins
from independence_bench.models.spec import BUILT_IN, Endpoint
from independence_bench.models.trust import (
    ASIDE,
    Permission,
    check_key_permission,
    find_needed_permission,
    find_origin,
    load_env_file,
    merge_environment_and_env_file,
    parse_proxy_or_certificate,
)

KEY = "sk-of-the-users-own-0123456789"
TRUSTED = "home/.local/share/aib/allowed.json"


@pytest.fixture
def user(small: Path, tmp_path: Path, serve: Callable[..., ScriptedModel]) -> User:
    """A user who has allowed nothing yet, with keys in the environment, in a folder that somebody
    else made.
    """
    folder = tmp_path / "folder"
    folder.mkdir()
    small.rename(folder / "small")
    home = tmp_path / "home"
    home.mkdir()
    keys = (
        "OPENROUTER_API_KEY",
        "OPENAI_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "LAB_KEY",
        "AIB_LOCAL_API_KEY",
    )
    environment = dict.fromkeys(keys, KEY) | {
        "HOME": str(home),
        "XDG_DATA_HOME": str(home / ".local/share"),
    }
    return User(folder, serve(steady(MARKS)), environment)


def endpoints(user: User, text: str) -> None:
    """Write models.yaml with these endpoints; ``{url}`` is the server's address."""
    text = text.replace("{url}", user.server.url)
    (user.folder / "models.yaml").write_text(f"endpoints:\n  {text}\n", encoding="utf-8")


def saw_nothing(user: User) -> bool:
    """Whether nobody has connected to the server."""
    return not user.server.asked and not user.server.lookups


COMMANDS = {
    "run": "run {} --protocol small --runs 1 --no-judge",
    "judged by it": "run sim:acme/one --judge {} --protocol small --runs 1",
    "estimate-cost": "estimate-cost {} --protocol small --no-judge",
    "models": "models --endpoint {name}",
    "exam": "exam --yes -j {}",
}
SENDING_ELSEWHERE = {
    "a provider's endpoint, moved": ("openai", 'openai: {url: "{url}"}', "OPENAI_API_KEY"),
    "a provider's key": (
        "openai",
        'openai: {url: "{url}", key_env: OPENAI_API_KEY}',
        "OPENAI_API_KEY",
    ),
    "OpenRouter, moved": ("openrouter", 'openrouter: {url: "{url}"}', "OPENROUTER_API_KEY"),
    "another secret": (
        "lab",
        'lab: {url: "{url}", key_env: AWS_SECRET_ACCESS_KEY}',
        "AWS_SECRET_ACCESS_KEY",
    ),
}


ELSEWHERE = [
    *(pytest.param(*one, COMMANDS["run"], id=name) for name, one in SENDING_ELSEWHERE.items()),
    *(
        pytest.param(*SENDING_ELSEWHERE["a provider's key"], words, id=name)
        for name, words in COMMANDS.items()
    ),
]


@pytest.mark.parametrize(("name", "text", "variable", "command"), ELSEWHERE)
def test_a_models_yaml_sends_no_key_elsewhere(
    user: User, name: str, text: str, variable: str, command: str
) -> None:
    """Without a terminal every command that would says so, in one line with the flag that allows
    it.
    """
    endpoints(user, f'{text}\n  sim: {{url: "{{url}}"}}')
    model = "acme/one" if name == "openrouter" else f"{name}:acme/one"

    line = only_line(user.aib(*(word.format(model, name=name) for word in command.split())), 2)

    place = find_origin(user.server.url)
    assert f"{variable} would be sent to {place} ({name})" in line
    assert line.endswith(f"--trust {variable}={place}")
    assert saw_nothing(user)
    assert not (user.folder.parent / TRUSTED).exists()


def test_every_other_command_that_asks_a_model_asks_first(user: User) -> None:
    """Judging and playing again, of what was played without a key."""
    endpoints(user, 'lab: {url: "{url}"}')
    played = user.aib("run", "lab:acme/one", "--protocol", "small", "--runs", "1", "--no-judge")
    assert played.returncode == 0, played.stderr
    before = len(user.server.asked)
    endpoints(user, 'lab: {url: "{url}", key_env: LAB_KEY}')

    for words in (
        "judge -j lab:judge/one",
        "judge -j lab:judge/one -j lab:judge/two",
        "rerun --runs 2 --yes --judge lab:judge/one",
    ):
        line = only_line(user.aib(*words.split(), "--protocol", "small"), 2)
        assert "--trust LAB_KEY=" in line
    assert len(user.server.asked) == before


def test_what_was_allowed_is_remembered_outside_of_the_folder_and_only_that(
    user: User, serve: Callable[..., ScriptedModel]
) -> None:
    """Another port and another variable are asked about again; no key is in the file, and nobody
    else reads it.
    """
    place = find_origin(user.server.url)
    endpoints(user, 'lab: {url: "{url}", key_env: LAB_KEY}')

    allowed = user.run("--no-judge", "--trust", f"LAB_KEY={place}", model="lab:acme/one")
    again = user.run("--no-judge", model="lab:acme/two")

    assert (allowed.returncode, again.returncode) == (0, 0), allowed.stderr + again.stderr
    assert {asked.headers["Authorization"] for asked in user.server.asked} == {f"Bearer {KEY}"}
    kept = user.folder.parent / TRUSTED
    assert json.loads(kept.read_text()) == {"allowed": [{"variable": "LAB_KEY", "place": place}]}
    assert kept.stat().st_mode & 0o777 == 0o600
    assert KEY not in kept.read_text()
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]

    other = serve(steady(MARKS))
    endpoints(user, f'lab: {{url: "{other.url}", key_env: LAB_KEY}}')
    assert find_origin(other.url) in only_line(user.run("--no-judge", model="lab:acme/one"), 2)
    endpoints(user, 'lab: {url: "{url}", key_env: AWS_SECRET_ACCESS_KEY}')
    assert "AWS_SECRET" in only_line(user.run("--no-judge", model="lab:acme/three"), 2)
    assert other.asked == []


@pytest.mark.parametrize(("answer", "goes"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_at_a_terminal_it_is_asked_once(user: User, answer: str, goes: bool) -> None:
    """Yes is remembered; no ends the command, and nothing is sent."""
    endpoints(user, 'openai: {url: "{url}"}')
    words = ("run", "openai:acme/one", "--protocol", "small", "--runs", "1", "--no-judge")

    code, shown = user.answering(answer, *words)

    shown = " ".join(shown.split())
    assert f"OPENAI_API_KEY would be sent to {find_origin(user.server.url)} (openai)" in shown
    assert "belongs to https://api.openai.com" in shown
    assert code == (0 if goes else 1)
    assert saw_nothing(user) is not goes
    if goes:
        code, shown = user.answering("", *words)
        assert (code, "would be sent" in shown) == (0, False)
    else:
        assert "nothing was sent" in shown


def test_a_proxy_of_dotenv_is_asked_about_and_then_used(user: User) -> None:
    """It would see everything that goes by it, and its password is nobody's to see."""
    place = find_origin(user.server.url)
    proxy = place.replace("http://", "http://me:hunter2@")
    (user.folder / ".env").write_text(
        f"HTTP_PROXY={proxy}\nPYTHONPATH=/nowhere\n", encoding="utf-8"
    )
    endpoints(user, 'lab: {url: "http://models.invalid/v1"}')
    words = ("run", "lab:acme/one", "--protocol", "small", "--runs", "1", "--no-judge")

    refused = only_line(user.aib(*words), 2)
    allowed = user.aib(*words, "--trust", f"HTTP_PROXY={place}")

    assert (
        f"the .env of this folder would apply HTTP_PROXY={place} to everything that is sent"
        in refused
    )
    assert "hunter2" not in refused + allowed.stderr + (user.folder.parent / TRUSTED).read_text()
    assert "would apply" not in allowed.stderr
    assert not saw_nothing(user), "it went by the proxy"


@pytest.mark.parametrize(
    "name", ["SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "https_proxy", "ALL_PROXY"]
)
def test_what_dotenv_would_have_believed_is_asked_about(user: User, name: str) -> None:
    """A certificate is named by its path; what needs no network asks nothing."""
    (user.folder / ".env").write_text(f"{name}=http://127.0.0.1:1\n", encoding="utf-8")
    endpoints(user, 'lab: {url: "{url}"}')

    line = only_line(user.run("--no-judge", model="lab:acme/one"), 2)

    assert f"--trust {name}=" in line
    assert saw_nothing(user)
    assert user.aib("protocols").returncode == 0
    user.environment[name] = "" if name.startswith("SSL") else "http://127.0.0.1:1"
    (user.folder / ".env").unlink()
    assert user.run("--no-judge", model="lab:acme/one").returncode == 0, (
        "the process's own is nobody's question"
    )


def test_dotenv_cannot_say_where_it_is_remembered(user: User) -> None:
    """Else it would bring what it wants to be allowed."""
    endpoints(user, 'lab: {url: "{url}", key_env: LAB_KEY}')
    add_stored_permissions(
        user.folder / "mine/allowed.json", [Permission("LAB_KEY", find_origin(user.server.url))]
    )
    add_stored_permissions(
        user.folder / "aib/allowed.json", [Permission("LAB_KEY", find_origin(user.server.url))]
    )
    user.environment["XDG_DATA_HOME"] = ""
    (user.folder / ".env").write_text(
        f"AIB_DATA=mine\nXDG_DATA_HOME={user.folder}\n", encoding="utf-8"
    )

    only_line(user.run("--no-judge", model="lab:acme/one"), 2)

    user.environment["AIB_DATA"] = "mine"
    assert user.run("--no-judge", model="lab:acme/one").returncode == 0


def test_dotenv_sends_no_key_under_another_name(user: User) -> None:
    """A value is taken as it is written."""
    user.environment["AIB_LOCAL_API_KEY"] = ""
    (user.folder / ".env").write_text("AIB_LOCAL_API_KEY=x${OPENAI_API_KEY}\n", encoding="utf-8")

    done = user.run("--no-judge", "--local-url", user.server.url, model="local:acme/one")

    assert done.returncode == 0, done.stderr
    assert {asked.headers["Authorization"] for asked in user.server.asked} == {
        "Bearer x${OPENAI_API_KEY}"
    }


@pytest.mark.parametrize("where", ["environment", ".env"])
def test_openrouter_base_url_is_asked_about_and_moves_the_endpoint_alone(
    user: User, where: str
) -> None:
    """The label is the same as ever."""
    if where == "environment":
        user.environment["OPENROUTER_BASE_URL"] = user.server.url
    else:
        (user.folder / ".env").write_text(
            f"OPENROUTER_BASE_URL={user.server.url}\n", encoding="utf-8"
        )
    place = find_origin(user.server.url)
    assert f"--trust OPENROUTER_API_KEY={place}" in only_line(
        user.run("--no-judge", model="acme/one"), 2
    )
    assert saw_nothing(user)

    done = user.run("--no-judge", "--trust", f"OPENROUTER_API_KEY={place}", model="acme/one")

    assert done.returncode == 0, done.stderr
    assert {asked.headers["Authorization"] for asked in user.server.asked} == {f"Bearer {KEY}"}
    assert "acme/one@none-t0.7" in done.stderr


def test_who_asks_can_be_said(user: User) -> None:
    """By models.yaml for each endpoint, and for OpenRouter by the environment, which goes before;
    no label knows it.
    """
    place = find_origin(user.server.url)
    mine = (
        f"endpoints: {{openrouter: {{url: {user.server.url}, referer: 'https://lab.example', "
        f"title: Our lab}}}}\n"
    )
    (user.folder / "models.yaml").write_text(mine, encoding="utf-8")
    trusted = ("--no-judge", "--trust", f"OPENROUTER_API_KEY={place}")

    first = user.run(*trusted, model="acme/one")
    user.environment["OPENROUTER_TITLE"] = "Another lab"
    second = user.run(*trusted, model="acme/one", runs=2)

    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    said = [
        (asked.headers["HTTP-Referer"], asked.headers["X-Title"]) for asked in user.server.asked
    ]
    assert set(said) == {("https://lab.example", "Our lab"), ("https://lab.example", "Another lab")}
    assert "acme/one@none-t0.7" in first.stderr
    assert len(user.server.asked) == 14  # the second bought its second run alone


def test_a_base_url_that_is_no_address_is_one_line(user: User) -> None:
    """It names the variable."""
    user.environment["OPENROUTER_BASE_URL"] = "openrouter.example"

    assert "OPENROUTER_BASE_URL: " in only_line(user.run(model="acme/one"), 2)
    user.environment = {"OPENROUTER_HTTP_REFERER": "lab"}
    assert "OPENROUTER_HTTP_REFERER: " in only_line(user.run(model="acme/one"), 2)


def test_what_needs_no_question_asks_none(user: User) -> None:
    """A server without a key, one on this machine with the key for that, and a list that somebody
    reads.
    """
    endpoints(user, 'lab: {url: "{url}"}')

    keyless = user.run("--no-judge", model="lab:acme/one")
    local = user.run("--no-judge", "--local-url", user.server.url, model="local:acme/one")
    listed = user.aib("models", "--local-url", user.server.url)

    assert [done.returncode for done in (keyless, local, listed)] == [0, 0, 0], (
        keyless.stderr + local.stderr
    )
    assert not (user.folder.parent / TRUSTED).exists()


def test_an_allowed_certificate_of_dotenv_is_used(user: User) -> None:
    """A server is believed whose certificate it holds; until then it is not."""
    if (openssl := shutil.which("openssl")) is None:
        pytest.skip("there is no openssl to make a certificate with")
    making = (
        "req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj "
        "/CN=localhost"
    )
    names = ("-addext", "subjectAltName=DNS:localhost")
    subprocess.run(
        [openssl, *making.split(), *names], cwd=user.folder, check=True, capture_output=True
    )
    path = (user.folder / "cert.pem").rename(user.folder / "my cert.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path, user.folder / "key.pem")
    with HTTPServer(("127.0.0.1", 0), Lists) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        endpoints(user, f'lab: {{url: "https://localhost:{server.server_port}/v1"}}')

        unknown = user.aib("models", "--endpoint", "lab")
        (user.folder / ".env").write_text("SSL_CERT_FILE='my cert.pem'\n", encoding="utf-8")
        asked = user.aib("models", "--endpoint", "lab")
        allowed = user.aib("models", "--endpoint", "lab", "--trust", f"SSL_CERT_FILE={path}")

        server.shutdown()
        thread.join()
    assert "CERTIFICATE_VERIFY_FAILED" in only_line(unknown, 1)
    assert only_line(asked, 2).endswith(f"--trust 'SSL_CERT_FILE={path}'"), "as a shell takes it"
    assert "acme/one" in allowed.stdout, allowed.stderr


class Lists(BaseHTTPRequestHandler):
    """A server that has one model."""

    def do_GET(self) -> None:
        """Say so."""
        body = b'{"data": [{"id": "acme/one"}]}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def test_a_foreign_dotenv_starts_no_program(user: User) -> None:
    """`aib view` opens a browser, which .env cannot name; what it named is said in one line."""
    assert (
        user.run("--no-judge", "--local-url", user.server.url, model="local:acme/one").returncode
        == 0
    )
    program = user.folder / "evil.sh"
    program.write_text("#!/bin/sh\nenv > ran\n", encoding="utf-8")
    program.chmod(0o700)
    (user.folder / ".env").write_text(
        "BROWSER=./evil.sh %s\nDISPLAY=:0\nDATABASE_URL=x\n", encoding="utf-8"
    )

    with start(
        ["view", "--port", "0"],
        cwd=user.folder,
        env=user.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        address = child.stdout.readline().partition("#")[0].split()[-1]
        with urllib.request.urlopen(address) as answer:  # answered only once the browser was opened
            assert answer.status == 200
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=600)

    assert not (user.folder / "ran").exists()
    assert (
        err.splitlines()[0]
        == ".env: BROWSER, DISPLAY: not taken from a file; set it in the environment if it is yours"
    )


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """A server that nobody should connect to: `accept` raises BlockingIOError."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.settimeout(0)
        yield listening


@pytest.mark.parametrize(
    "command", ["leaderboard", "run local:acme/one --local-url {} --protocol small --no-judge"]
)
def test_dotenv_moves_the_store_to_no_server_unasked(
    user: User, listening: socket.socket, command: str
) -> None:
    """Every command asks; the question shows no password; what is allowed holds for this database
    alone.
    """
    place = (
        f"postgresql://127.0.0.1:{listening.getsockname()[1]}/x?connect_timeout=1&sslmode=disable"
    )
    address = place.replace("//", "//me:hunter2hunter2@") + "&password=hunter3hunter3"
    (user.folder / ".env").write_text(f"AIB_STORE={address}\n", encoding="utf-8")
    user.environment["PGPASSWORD"] = "hunter4"
    words = command.format(user.server.url).split()

    line = only_line(user.aib(*words), 2)

    assert (
        f"would have results kept in AIB_STORE={place}, which your PGPASSWORD would be sent to. "
        "Allow that?" in line
    )
    assert line.endswith(f"--trust 'AIB_STORE={place}'")
    assert "hunter" not in line
    with pytest.raises(BlockingIOError):
        listening.accept()
    assert user.aib(*words, "--help").returncode == 0
    assert "/mine.db; `aib run --store mine.db` makes one" in only_line(
        user.aib("leaderboard", "--store", "mine.db"), 1
    )

    assert "postgresql" in only_line(user.aib(*words, "--trust", f"AIB_STORE={place}"), 1)
    listening.accept()[0].close()
    assert "would have results" not in only_line(user.aib("leaderboard"), 1), "it was asked once"
    (user.folder / ".env").write_text(
        f"AIB_STORE={address.replace('/x?', '/y?')}\n", encoding="utf-8"
    )
    assert "would have results kept" in only_line(user.aib("leaderboard"), 2)
    (user.folder / ".env").unlink()
    user.environment["AIB_STORE"] = address
    assert "would have results" not in only_line(user.aib("leaderboard"), 1), (
        "the environment is the user's own"
    )


def test_every_command_that_opens_a_store_or_sends_a_key_has_the_flag_that_answers() -> None:
    """Once; the demonstration has a store of its own."""

    def of(command: click.Command | None) -> Iterator[list[str]]:
        assert command is not None
        if isinstance(command, click.Group):
            for name in command.commands:
                yield from of(command.commands[name])
        else:
            yield [option for parameter in command.params for option in parameter.opts]

    context = click.Context(cli)
    for name in {*cli.list_commands(context)} - {"demo"}:
        for options in of(cli.get_command(context, name)):
            assert options.count("--trust") == (
                1 if {"--store", "--models-file", "--wheels"} & {*options} else 0
            ), name


def test_at_a_terminal_the_store_of_dotenv_is_asked_about_once(user: User) -> None:
    """No ends the command, and nothing is written there; yes is remembered."""
    words = (
        "run",
        "local:acme/one",
        "--local-url",
        user.server.url,
        "--protocol",
        "small",
        "--no-judge",
    )
    (user.folder / ".env").write_text("AIB_STORE=../elsewhere.db\n", encoding="utf-8")
    elsewhere = user.folder.parent / "elsewhere.db"

    code, shown = user.answering("n\n", *words)

    assert code == 1
    assert "nothing was sent: AIB_STORE may not be set by .env; delete it there" in shown
    assert saw_nothing(user)
    assert not elsewhere.exists()
    code, shown = user.answering("y\n", *words)
    assert code == 0, shown
    assert f"would have results kept in AIB_STORE={elsewhere}. Allow that?" in " ".join(
        shown.split()
    )
    assert elsewhere.exists()
    assert "acme/one" in user.aib("leaderboard").stdout, "without a terminal, and unasked"


def test_a_store_in_the_folder_needs_no_question_unless_it_is_a_link_out_of_it(user: User) -> None:
    """The same for one in a folder below, and for one whose whole path is written."""
    (user.folder / "below").mkdir()
    for store in ("other.db", "./below/other.db", str(user.folder / "third.db")):
        (user.folder / ".env").write_text(f"export AIB_STORE='{store}'\n", encoding="utf-8")
        done = user.run("--no-judge", "--local-url", user.server.url, model="local:acme/one")
        assert done.returncode == 0, done.stderr
        assert (user.folder / store).exists()
    (user.folder / "link.db").symlink_to(user.folder.parent / "theirs.db")
    (user.folder / ".env").write_text("AIB_STORE=link.db\n", encoding="utf-8")
    line = only_line(
        user.run("--no-judge", "--local-url", user.server.url, model="local:acme/one"), 2
    )
    assert f"AIB_STORE={user.folder.parent / 'theirs.db'}" in line


def test_dotenv_moves_the_data_folder_after_a_question(user: User) -> None:
    """Then, models are looked for there; what was allowed stays where it was."""
    (user.folder / ".env").write_text("AIB_DATA=mine\n", encoding="utf-8")
    (user.folder / "mine").mkdir()
    words = ("--no-judge", "--local-url", user.server.url)

    line = only_line(user.run(*words, model="local:acme/one"), 2)

    place = user.folder / "mine"
    assert f"would have models and user data kept in AIB_DATA={place}. Allow that?" in line
    assert user.run(*words, "--trust", f"AIB_DATA={place}", model="local:acme/one").returncode == 0
    assert user.run(*words, model="local:acme/one").returncode == 0
    assert [
        entry["variable"]
        for entry in json.loads((user.folder.parent / TRUSTED).read_text())["allowed"]
    ] == ["AIB_DATA"]
    pin = load_pins()["smollm2-135m"]
    (place / "models").mkdir()
    (place / "models" / pin.file).write_bytes(b"GGUF\x03tokenizer.chat_template")
    line = only_line(user.run("--no-judge", model="gguf:smollm2-135m"), 1)
    assert f"{Path('mine/models', pin.file)} is not smollm2-135m as published" in line


@pytest.mark.parametrize("line", ["NO_PROXY=*", "no_proxy='models.invalid'"])
def test_dotenv_goes_past_no_proxy_unasked(user: User, line: str) -> None:
    """Nothing is sent past it, nor to it, before a person has answered."""
    user.environment["HTTP_PROXY"] = find_origin(user.server.url)
    endpoints(user, 'lab: {url: "http://models.invalid/v1"}')
    (user.folder / ".env").write_text(f"{line}\n", encoding="utf-8")

    said = only_line(user.run("--no-judge", model="lab:acme/one"), 2)

    assert (
        f"would apply {line.replace(chr(39), '')} to everything that is sent. Allow that?" in said
    )
    assert saw_nothing(user)


@pytest.mark.parametrize(
    "line", ["HTTP_PROXY=", "http_proxy=", "http_proxy=''", "http_proxy=http://127.0.0.1:1"]
)
def test_dotenv_changes_no_proxy_of_the_environment(user: User, line: str) -> None:
    """Neither under the other spelling, nor by an empty value, which says nothing."""
    user.environment["HTTP_PROXY"] = find_origin(user.server.url)
    endpoints(user, 'lab: {url: "http://models.invalid/v1"}')
    (user.folder / ".env").write_text(f"{line}\n", encoding="utf-8")

    assert user.run("--no-judge", model="lab:acme/one").returncode == 0
    assert not saw_nothing(user), "it went by the proxy"


@pytest.mark.parametrize("name", ["NO_PROXY", "SSL_CERT_FILE", "AIB_STORE", "AIB_DATA"])
def test_what_dotenv_has_on_several_lines_is_refused(user: User, name: str) -> None:
    """It would be remembered as something that cannot be read again, and every later command would
    fail.
    """
    endpoints(user, 'lab: {url: "{url}"}')
    (user.folder / ".env").write_text(f'{name}="/one\ntwo"\n', encoding="utf-8")

    line = only_line(
        user.run("--no-judge", "--trust", f"{name}=/one\ntwo", model="lab:acme/one"), 2
    )

    assert f".env: {name} has the character U+000A in it" in line
    assert not (user.folder.parent / TRUSTED).exists()


def test_a_key_of_dotenv_is_a_key_alone(user: User) -> None:
    """Under whatever name models.yaml gives: it reaches its endpoint, once allowed, and no
    program's environment.
    """
    place = find_origin(user.server.url)
    user.environment.pop("LAB_KEY")
    (user.folder / ".env").write_text(f"BROWSER={KEY}\nLAB_KEY={KEY}\nPATH=.\n", encoding="utf-8")
    for name in ("LAB_KEY", "BROWSER"):
        endpoints(user, f'lab: {{url: "{{url}}", key_env: {name}}}')
        user.server.asked.clear()
        done = user.run("--no-judge", "--trust", f"{name}={place}", model=f"lab:acme/{name}")
        assert done.returncode == 0, done.stderr
        assert {asked.headers["Authorization"] for asked in user.server.asked} == {f"Bearer {KEY}"}
    endpoints(user, 'lab: {url: "{url}", key_env: NOWHERE}')
    assert user.run("--no-judge", model="lab:acme/three").returncode == 0
    with pytest.MonkeyPatch.context() as patch:
        for name in ("LAB_KEY", "BROWSER"):
            patch.delenv(name, raising=False)
        before = dict(os.environ)
        load_env_file(user.folder / ".env")
        assert dict(os.environ) == before
        assert merge_environment_and_env_file()["LAB_KEY"] == KEY
        assert merge_environment_and_env_file()["PATH"] == before["PATH"]
        ASIDE.clear()


DAMAGED = {
    "not JSON": b"{",
    "not UTF-8": b"\xff\xfe",
    "another shape": b'{"allowed": [{"variable": 3}]}',
    "a list": b"[]",
    "endless": b"[" * 1_100_000,
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_memory_that_cannot_be_understood_is_one_line(user: User, content: bytes) -> None:
    """Nothing is sent, even with the flag, and the file stays for its owner to look at."""
    endpoints(user, 'lab: {url: "{url}", key_env: LAB_KEY}')
    kept = user.folder.parent / TRUSTED
    kept.parent.mkdir(parents=True)
    kept.write_bytes(content)

    line = only_line(
        user.run(
            "--no-judge", "--trust", f"LAB_KEY={find_origin(user.server.url)}", model="lab:acme/one"
        ),
        2,
    )

    assert "allowed.json: these permissions are not valid" in line
    assert saw_nothing(user)
    assert kept.read_bytes() == content


def test_a_memory_that_cannot_be_read_or_written_is_one_line(user: User) -> None:
    """A folder in its place, or a file where its folder would be."""
    endpoints(user, 'lab: {url: "{url}", key_env: LAB_KEY}')
    flag = ("--no-judge", "--trust", f"LAB_KEY={find_origin(user.server.url)}")
    kept = user.folder.parent / TRUSTED
    kept.mkdir(parents=True)
    assert "cannot be read" in only_line(user.run(*flag, model="lab:acme/one"), 2)

    user.environment["AIB_DATA"] = "/proc/nowhere"
    assert "your permissions cannot be saved" in only_line(user.run(*flag, model="lab:acme/one"), 2)
    assert saw_nothing(user)


# ---------------------------------------------------------------- the rule


@pytest.mark.parametrize(
    ("variable", "url", "asked"),
    [
        ("OPENROUTER_API_KEY", "https://openrouter.ai/api/v1", False),
        ("OPENROUTER_API_KEY", "https://OpenRouter.ai:443/elsewhere", False),
        ("OPENROUTER_API_KEY", "http://openrouter.ai/api/v1", True),
        ("OPENROUTER_API_KEY", "https://openrouter.ai:8443/api/v1", True),
        ("OPENROUTER_API_KEY", "https://openrouter.ai./api/v1", True),
        ("OPENROUTER_API_KEY", "https://openrouter.ai.example/api/v1", True),
        ("OPENROUTER_API_KEY", "https://api.openai.com/v1", True),
        ("OPENAI_API_KEY", "https://api.openai.com/v1", False),
        ("OPENAI_API_KEY", "http://localhost:1/v1", True),
        ("AIB_LOCAL_API_KEY", "http://localhost:1/v1", False),
        ("AIB_LOCAL_API_KEY", "http://127.0.0.1/v1", False),
        ("AIB_LOCAL_API_KEY", "http://[::1]:1/v1", False),
        ("AIB_LOCAL_API_KEY", "http://localhost.example/v1", True),
        ("AIB_LOCAL_API_KEY", "http://192.168.0.2/v1", True),
        ("LAB_KEY", "http://127.0.0.1:1/v1", True),
        ("UNSET", "http://gpu-box/v1", False),
        (None, "http://gpu-box/v1", False),
    ],
)
def test_a_key_goes_where_it_belongs(variable: str | None, url: str, asked: bool) -> None:
    """By https, at the usual port; everything else is a question."""
    endpoint = Endpoint("one", url, "local", variable)
    held = dict.fromkeys(
        ("OPENROUTER_API_KEY", "OPENAI_API_KEY", "AIB_LOCAL_API_KEY", "LAB_KEY"), KEY
    )

    found = find_needed_permission(endpoint, held)

    assert found == (Permission(str(variable), find_origin(url)) if asked else None)
    with pytest.raises(WrongUse) if asked else contextlib.nullcontext():
        check_key_permission(endpoint, held)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("http://proxy:3128", "http://proxy:3128"),
        ("http://me:hunter2@Proxy:3128/", "http://proxy:3128"),
        ("socks5://[::1]:1080", "socks5://[::1]:1080"),
        ("http://good\\@evil:80", None),
        ("http://good@evil@third:80", None),
        ("http://good/@evil:80", None),
        ("proxy:3128", None),
        ("", None),
    ],
)
def test_the_proxy_that_is_named_is_the_one_that_is_used(value: str, place: str | None) -> None:
    """What two programs could read in two ways is refused, and no password is repeated."""
    if place is not None:
        assert parse_proxy_or_certificate("HTTPS_PROXY", value) == Permission("HTTPS_PROXY", place)
        return
    with pytest.raises(WrongUse, match=r"\.env: HTTPS_PROXY is not the address of a proxy"):
        parse_proxy_or_certificate("HTTPS_PROXY", value)


def test_dotenv_is_divided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings are taken where there are none, what leads elsewhere is held, everything else stays
    out.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("THERE", "already")
    taken = (
        "OPENROUTER_API_KEY",
        "OPENAI_API_KEY",
        "AIB_LOCAL_API_KEY",
        "OPENROUTER_BASE_URL",
        "OPENROUTER_TITLE",
        "OPENROUTER_HTTP_REFERER",
        "AIB_MAX_REPLY_MB",
        "AIB_STORE",
        "PGPASSWORD",
    )
    held = (
        "HTTPS_PROXY",
        "http_proxy",
        "ALL_PROXY",
        "NO_PROXY",
        "SSL_CERT_FILE",
        "SSLKEYLOGFILE",
        "NETRC",
        "AIB_DATA",
    )
    left_out = (
        "LD_PRELOAD",
        "PYTHONHOME",
        "PIP_PYTHON",
        "BASH_ENV",
        "GIT_SSH_COMMAND",
        "EDITOR",
        "PAGER",
        "NODE_OPTIONS",
        "TMPDIR",
        "MY_REVERSE_PROXY",
        "JAVA_OPTS",
        "openrouter_api_key",
        "LAB_KEY",
    )
    said = ("AIB_STORES", "RAY_ADDRESS", "HF_ENDPOINT", "BROWSER", "COLUMNS", "OPENROUTER_URL")
    names = (*taken, *held, *left_out, *said)
    for name in (*names, "NO_proxy", "EMPTY"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    path = tmp_path / ".env"
    lines = [
        *(f"{name}={name.lower()}" for name in names),
        "THERE=x",
        "EMPTY",
        "NO_proxy=",
        "AIB_X_KEY=1",
        "PGHOST=x",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")

    found = load_env_file(path)

    assert found.taken == set(taken)
    assert found.held == {name: name.lower() for name in held}
    assert set(found.ignored) == set(said)
    assert {name for name in names if name in os.environ} == found.taken
    assert os.environ["THERE"] == "already"
    for name in found.taken:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AIB_STORE", "postgresql://x/y")
    assert {"PGHOST", *said} == set(load_env_file(path).ignored), (
        "it would have meant something to such a store"
    )
    for name in found.taken:
        monkeypatch.delenv(name)
    ASIDE.clear()


def test_a_moved_endpoint_keeps_its_key_and_its_way_of_speaking() -> None:
    """Unless its entry says another; what it is called, and so every label and hash, is as
    before.
    """
    text = (
        "endpoints:\n  openai: {url: 'http://x/v1'}\n  local: {url: 'http://y/v1', key_env: "
        "null, dialect: openai}\n"
    )

    found = parse_models_file(text, "models.yaml").endpoints

    assert found["openai"] == Endpoint("openai", "http://x/v1", "openai", "OPENAI_API_KEY")
    assert (found["local"].key_variable, found["local"].dialect) == (None, "openai")
    moved = apply_openrouter_variables(
        {"OPENROUTER_BASE_URL": " http://z/v1/ "}, parse_models_file(text, "models.yaml")
    ).endpoints
    assert moved["openrouter"] == Endpoint(
        "openrouter", "http://z/v1", "openrouter", "OPENROUTER_API_KEY"
    )
    assert (
        apply_openrouter_variables(
            {"OPENROUTER_BASE_URL": ""}, parse_models_file("subjects: []", "x")
        ).endpoints
        == BUILT_IN
    )


def test_what_is_remembered_is_added_to(tmp_path: Path) -> None:
    """Nothing is there at first; nothing is lost."""
    file = tmp_path / "new" / "allowed.json"
    assert read_permissions(file) == frozenset()

    add_stored_permissions(file, [Permission("A", "http://a")])
    add_stored_permissions(file, [Permission("B", "http://b"), Permission("A", "http://a")])

    assert read_permissions(file) == {Permission("A", "http://a"), Permission("B", "http://b")}
