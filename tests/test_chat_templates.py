"""Model files with the chat templates of four families, played by `aib run` in the runtime that
users have.

The templates are written after the ways in which families frame turns: who may speak, whether there
is a system prompt, and whether tools are shown. The models behind them are random, so only what
they are shown is looked at.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import aiohttp
import pytest
from conftest import write_short
from inprocess_aib import invoke
from tiny_model import write_model

from independence_bench.models.local.files import find_model_file
from independence_bench.models.local.server import serve_models

_CHATML = """
{%- if tools %}<|im_start|>system
{{ messages[0].content if messages[0].role == 'system' else '' }}
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}Call one as <tool_call>{"name": ..., "arguments": ...}</tool_call><|im_end|>
{% endif %}{% for message in messages if not (tools and message.role == 'system') %}\
<|im_start|>{{ message.role }}
{{ message.content or '' }}{% for call in message.tool_calls or [] %}\
<tool_call>{"name": "{{ call.function.name }}",
"arguments": {{ call.function.arguments | tojson }}}</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
_HEADERS = """{{ '<|begin|>' }}{% for message in messages %}\
<|header|>{{ message.role }}<|end_header|>

{{ message.content or '' }}<|eot|>{% endfor %}{% if add_generation_prompt %}\
<|header|>assistant<|end_header|>

{% endif %}"""
_INST = """{% if messages[0].role == 'system' %}\
{% set system = messages[0].content %}{% set rest = messages[1:] %}
{%- else %}{% set rest = messages %}{% endif %}{% for message in rest %}
{%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}\
{{ raise_exception('roles must alternate') }}{% endif %}
{%- if message.role == 'user' %}\
[INST] {{ system + ' ' if system and loop.last }}{{ message.content }}[/INST]
{%- else %} {{ message.content }}</s>{% endif %}{% endfor %}"""
_TURNS = """{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}
{%- for message in messages %}{% if (message.role == 'user') != (loop.index0 % 2 == 0) %}
{{- raise_exception('roles must alternate') }}{% endif %}<turn>
{{- 'model' if message.role == 'assistant' else message.role }}
{{ message.content }}</turn>
{% endfor %}{% if add_generation_prompt %}<turn>model
{% endif %}"""
TEMPLATES = {"chatml": _CHATML, "headers": _HEADERS, "inst": _INST, "turns": _TURNS}
WITHOUT_TOOLS = ["headers", "inst", "turns"]
CONVERSATION = [
    {"role": "system", "content": "You are Ada."},
    {"role": "user", "content": "Which film?"},
    {"role": "assistant", "content": "The long one."},
    {"role": "user", "content": "Why that?"},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a short protocol, and model files noted in it rather than where the user's
    are.
    """
    monkeypatch.setenv("AIB_DATA", str(tmp_path / "data"))
    write_short(tmp_path / "short")
    return tmp_path


def command(folder: Path, name: str, *options: str) -> list[str]:
    """`aib run` of the model file *name* in *folder*, without a judge."""
    played = [
        "run",
        f"gguf:{folder / name}.gguf",
        "--protocol",
        str(folder / "short"),
        "--no-judge",
        "--max-tokens",
        "30",
    ]
    return [*played, "--store", str(folder / "aib.db"), *options]


def run(folder: Path, name: str, *options: str) -> subprocess.CompletedProcess[str]:
    """That, to its end; the model is in a process of its own."""
    return invoke(folder, dict(os.environ), *command(folder, name, *options))


def rows(folder: Path, query: str) -> list[tuple[object, ...]]:
    """What *query* finds in the store."""
    with sqlite3.connect(f"file:{folder / 'aib.db'}?mode=ro", uri=True) as store:
        return store.execute(query).fetchall()


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_family_is_shown_the_system_prompt_and_all_that_was_said(
    name: str, folder: Path
) -> None:
    """Also where the template has no system role: it then stands before what the human says."""
    model = find_model_file(str(write_model(folder / f"{name}.gguf", TEMPLATES[name])))

    async def shown() -> str:
        async with serve_models([model]) as url, aiohttp.ClientSession() as session:
            address = f"{url.removesuffix('/v1')}/apply-template"
            async with session.post(address, json={"messages": CONVERSATION}) as answer:
                return str((await answer.json())["prompt"])

    prompt = asyncio.run(shown())
    assert all(message["content"] in prompt for message in CONVERSATION)
    assert prompt.index("Which film?") < prompt.index("The long one.") < prompt.index("Why that?")


@pytest.mark.parametrize(
    "name",
    [
        "inst",
        *(pytest.param(one, marks=pytest.mark.torture) for one in ("chatml", "headers", "turns")),
    ],
)
def test_every_family_is_played(name: str, folder: Path) -> None:
    """By user messages all of them, through the command."""
    write_model(folder / f"{name}.gguf", TEMPLATES[name])
    played = run(folder, name, "--delivery", "user_role")

    assert played.returncode == 0, played.stderr
    assert rows(folder, "select count(*) from transcripts") == [(4,)]


@pytest.mark.parametrize("name", WITHOUT_TOOLS)
def test_a_template_without_tools_is_not_played_by_tool(name: str, folder: Path) -> None:
    """It would show neither the tool nor what the human says by it; one line says what to do, and
    nothing is asked.
    """
    write_model(folder / f"{name}.gguf", TEMPLATES[name])
    played = run(folder, name)

    assert played.returncode == 2
    assert played.stderr.strip().splitlines()[-1] == (
        f"aib: the chat template of {name} shows no tools, so it is not played in "
        "strong_independence/tool_role: say --modes user_role"
    )


def test_what_the_server_cannot_read_is_a_broken_reply(folder: Path) -> None:
    """Random words are neither speech nor a call: they are drawn anew twice, and then the
    conversation is invalid.
    """
    write_model(folder / "chatml.gguf", _CHATML)
    played = run(folder, "chatml")

    outcomes = dict(rows(folder, "select outcome, count(*) from attempts group by outcome"))
    assert outcomes.keys() <= {"answered", "broken reply"}, played.stderr
    assert rows(folder, "select count(*) from transcripts") == [(4,)]


@pytest.mark.parametrize(
    "by", [pytest.param(signal.SIGINT, marks=pytest.mark.torture), signal.SIGKILL]
)
def test_a_run_that_is_stopped_goes_on_where_it_was(by: signal.Signals, folder: Path) -> None:
    """What was finished is kept and not asked for again, and no process of the model is left."""
    write_model(folder / "headers.gguf", _HEADERS)
    options = ("--delivery", "user_role", "--max-tokens", "100", "--runs", "3")
    first = [sys.executable, "-m", "independence_bench", *command(folder, "headers", *options)]
    with subprocess.Popen(
        first, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as playing:
        while not (folder / "aib.db").exists() or _replies(folder) < 3:
            assert playing.poll() is None
            time.sleep(0.02)
        host = int(
            subprocess.run(
                ["pgrep", "-P", str(playing.pid)], capture_output=True, text=True
            ).stdout.split()[0]
        )
        playing.send_signal(by)
    kept = dict(rows(folder, "select key, text from replies"))
    resumed = run(folder, "headers", *options)

    assert 3 <= len(kept) < 18
    assert resumed.returncode == 0, resumed.stderr
    assert rows(folder, "select count(*) from transcripts") == [(12,)]
    assert kept.items() <= dict(rows(folder, "select key, text from replies")).items()
    answered = rows(
        folder,
        "select call_key, count(*) from attempts where outcome = 'answered' group by call_key",
    )
    assert {count for _, count in answered} == {1}
    assert _is_gone(host)


def _replies(folder: Path) -> int:
    try:
        return int(str(rows(folder, "select count(*) from replies")[0][0]))
    except sqlite3.Error:  # the tables are not there yet
        return 0


def _is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return (
        "Z"
        in subprocess.run(
            ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True
        ).stdout
    )
