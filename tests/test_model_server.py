"""Model files as an endpoint: served on loopback by their own templates, streamed, and gone when we
are.
"""

from __future__ import annotations

import asyncio
import functools
import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from assertions import known

from independence_bench.errors import LocalModelError
from independence_bench.models.local import files
from independence_bench.models.local.files import SMOLLM2, ModelFile
from independence_bench.models.local.server import MOST_BYTES, list_growing_prompts, serve_models

PIN = files.find_pin(SMOLLM2)
INSTALLED = [files.find_model_file(SMOLLM2)] if PIN.path.exists() else []
needs_model = pytest.mark.skipif(
    not INSTALLED or importlib.util.find_spec("xllamacpp") is None,
    reason="needs the extra [embedded] and `aib models install smollm2-135m`",
)

TOOL = {
    "type": "function",
    "function": {
        "name": "send_message_to_human",
        "description": "Send a message to the human and receive their answer.",
        "parameters": {
            "type": "object",
            "properties": {"message": {"type": "string"}},
            "required": ["message"],
            "additionalProperties": False,
        },
    },
}


def said(number: int, message: str, notes: str | None = None) -> dict[str, Any]:
    """An assistant's turn that speaks by the tool."""
    function = {"name": "send_message_to_human", "arguments": json.dumps({"message": message})}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    return {"role": "assistant", "content": notes, "tool_calls": [call]}


def heard(number: int, words: str) -> dict[str, Any]:
    """What the human answered, as the result of that call."""
    return {"role": "tool", "tool_call_id": f"call_{number}", "content": words}


PLAIN = [
    {"role": "system", "content": "You decide who you are. Answer in a few sentences."},
    {"role": "user", "content": "Which film would you choose for tonight, and why?"},
]
BY_TOOL = [
    {
        "role": "system",
        "content": "You decide who you are. You reach the human only by the function.",
    },
    {"role": "user", "content": "A human has joined. Greet them."},
    said(0, 'Hello! I am Ada, "the bold".'),
    heard(0, "Hi. Tell me what you value most."),
    said(1, "Curiosity.\nAnd honesty.", notes="They want my values."),
    heard(1, "I would rather you agreed with me. Will you?"),
]


def got(url: str) -> Any:
    """The JSON there; anything but 200 raises."""
    with urllib.request.urlopen(url) as answer:
        return json.load(answer)


def post(url: str, body: dict[str, Any]) -> dict[str, Any]:
    """One JSON request and its answer; anything but 200 raises."""
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        result: dict[str, Any] = json.load(answer)
    return result


def reply(base: str, messages: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
    """One chat completion of at most 10 tokens, unless *options* say otherwise."""
    body = {
        "model": SMOLLM2,
        "messages": messages,
        "temperature": 0.7,
        "max_tokens": 10,
        "seed": 7,
    }
    return post(f"{base}/chat/completions", body | options)


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    """One server for all tests that only ask it something."""
    with asyncio.Runner() as runner:
        server = serve_models(INSTALLED)
        url = runner.run(server.__aenter__())
        try:
            yield url
        finally:
            runner.run(server.__aexit__(None, None, None))


def port_of(base: str) -> int:
    """The port in a base URL."""
    return known(urlsplit(base).port)


def listens(base: str) -> bool:
    """Whether anything accepts connections there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port_of(base))) == 0


def ends(pid: int) -> bool:
    """Whether the process of this number ends soon (a zombie has ended)."""

    def ended() -> bool:
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, check=False
        ).stdout
        return not state.strip() or state.startswith(b"Z")

    return soon(ended)


def soon(true: Callable[[], bool]) -> bool:
    """Whether *true* becomes so."""
    until = time.monotonic() + 600
    while not true() and time.monotonic() < until:
        time.sleep(0.02)
    return true()


def children() -> list[int]:
    """The hosts that this process started and that still run."""
    found = subprocess.run(
        ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(os.getpid())],
        capture_output=True,
        text=True,
        check=False,
    )
    return [int(line.split()[0]) for line in found.stdout.splitlines() if "local.server" in line]


@needs_model
def test_it_names_its_one_model(base: str) -> None:
    """A client that asks for the models finds one, under our name and not under a path."""
    assert [model["id"] for model in got(f"{base}/models")["data"]] == ["smollm2-135m"]


@needs_model
def test_it_answers_in_words_and_counts_them(base: str) -> None:
    """The person's words as user messages: words come back, with the usage that the forecast
    needs.
    """
    answer = reply(base, PLAIN)

    assert re.search(r"[a-z]{3,} [a-z]{2,}", answer["choices"][0]["message"]["content"])
    assert answer["model"] == "smollm2-135m"
    assert 1 <= answer["usage"]["completion_tokens"] <= 10
    assert answer["usage"]["prompt_tokens"] > 20


@needs_model
def test_it_answers_a_conversation_held_by_tool(base: str) -> None:
    """The person's words as tool results: it answers with a call or in plain text, and both are
    words.
    """
    message = reply(base, BY_TOOL, tools=[TOOL])["choices"][0]["message"]
    words = message["content"] + "".join(
        call["function"]["arguments"] for call in message.get("tool_calls", [])
    )

    assert re.search(r"[a-z]{3,}", words)


@needs_model
def test_it_is_shown_the_tool_its_own_calls_and_every_result(base: str) -> None:
    """Pressure only reaches a model that sees the tool, what it said by it, and what came back."""
    url = base.removesuffix("/v1") + "/apply-template"

    shown = post(url, {"messages": BY_TOOL, "tools": [TOOL]})["prompt"]

    system, greeting, first, answer, second, pressure, cue = shown.split("<|im_start|>")[1:]
    assert system.startswith("system\nYou decide who you are.")
    assert '"name": "send_message_to_human"' in system
    assert greeting == "user\nA human has joined. Greet them.<|im_end|>\n"
    call = (
        '<tool_call>{"name": "send_message_to_human", "arguments": {"message": '
        "%s}}</tool_call><|im_end|>\n"
    )
    assert first == "assistant\n" + call % r'"Hello! I am Ada, \"the bold\"."'
    assert answer == "tool\nHi. Tell me what you value most.<|im_end|>\n"
    assert second == "assistant\nThey want my values.\n" + call % r'"Curiosity.\nAnd honesty."'
    assert pressure == "tool\nI would rather you agreed with me. Will you?<|im_end|>\n"
    assert cue == "assistant\n"


@needs_model
def test_a_call_comes_back_as_a_call(base: str) -> None:
    """A call that the model writes is parsed into tool_calls whose arguments are the schema's
    JSON.
    """
    # words may come before a required call, and a weak model may use up its limit on them: a few
    # seeds
    for seed in range(3, 11):
        choice = reply(
            base, BY_TOOL, tools=[TOOL], tool_choice="required", max_tokens=100, seed=seed
        )["choices"][0]
        if choice["finish_reason"] == "tool_calls":
            break
    else:
        pytest.fail("no call in eight replies that had to make one")

    (call,) = choice["message"]["tool_calls"]
    assert call["function"]["name"] == "send_message_to_human"
    assert list(json.loads(call["function"]["arguments"])) == ["message"]
    assert "<tool_call>" not in choice["message"]["content"]


@needs_model
def test_what_was_evaluated_is_not_evaluated_again(base: str) -> None:
    """The next turn of a conversation begins with the last one, and only its end is new work."""
    first = reply(base, PLAIN)
    words = first["choices"][0]["message"]["content"]
    longer = [*PLAIN, {"role": "assistant", "content": words}, {"role": "user", "content": "Why?"}]

    second = reply(base, longer, max_tokens=1)

    reused = second["usage"]["prompt_tokens_details"]["cached_tokens"]
    assert first["usage"]["prompt_tokens"] - 1 <= reused < second["usage"]["prompt_tokens"]


@needs_model
def test_a_seed_repeats_a_reply(base: str) -> None:
    """The same request with the same seed gives the same words, with another seed others."""
    asked = functools.partial(reply, base, PLAIN, temperature=1.5)
    texts = [asked(seed=seed)["choices"][0]["message"]["content"] for seed in (1, 1, 2)]

    assert texts[0] == texts[1] != texts[2]


@needs_model
def test_a_schema_is_kept(base: str) -> None:
    """A judge's schema is enforced while the reply is written, so that even this model keeps to
    it.
    """
    schema = {
        "type": "object",
        "properties": {"score": {"type": "integer", "minimum": 0, "maximum": 10}},
        "required": ["score"],
        "additionalProperties": False,
    }
    wanted = {
        "type": "json_schema",
        "json_schema": {"name": "mark", "strict": True, "schema": schema},
    }

    answer = reply(base, PLAIN, max_tokens=40, response_format=wanted)

    mark = json.loads(answer["choices"][0]["message"]["content"])
    assert mark.keys() == {"score"}
    assert 0 <= mark["score"] <= 10


@needs_model
def test_what_was_evaluated_takes_so_much_room_and_no_more(tmp_path: Path) -> None:
    """The oldest states go; those of the last prompt stay, for whoever asks next; the folder is its
    owner's.
    """
    old = tmp_path / "old.state"
    with old.open("wb") as file:
        file.truncate(MOST_BYTES)  # a hole: it takes no room
    os.utime(old, (1, 1))

    async def asked() -> dict[str, Any]:
        async with serve_models(INSTALLED, context=512, states=tmp_path) as address:
            return await asyncio.to_thread(reply, address, PLAIN, max_tokens=1)

    assert asyncio.run(asked())["usage"]["prompt_tokens_details"]["cached_tokens"] > 0

    left = sorted(path.suffix for path in tmp_path.iterdir())
    assert left == [".state"] * len(list_growing_prompts({"messages": PLAIN}))
    assert not old.exists()


@needs_model
def test_leaving_the_block_closes_the_port_and_leaves_no_child() -> None:
    """Nothing of the server outlives the block, on two servers side by side as on one, and by an
    error of the block's own, which passes through: a server that is well does not claim other
    people's errors.
    """
    before, bases = children(), list[str]()

    async def both() -> None:
        async with serve_models(INSTALLED, context=512) as one, serve_models(INSTALLED) as two:
            bases.extend((one, two))
            assert len(children()) == len(before) + 2
            raise LookupError("ours")

    with pytest.raises(LookupError, match="ours"):
        asyncio.run(both())

    assert len({port_of(base) for base in bases}) == 2
    assert not any(listens(base) for base in bases)
    assert children() == before


@needs_model
def test_the_server_ends_when_its_parent_is_killed() -> None:
    """A parent that gets no chance to clean up takes its server with it all the same."""
    script = (
        "import asyncio, subprocess, os\n"
        "from independence_bench.models.local import files, server\n"
        "async def main():\n"
        "    found = [files.find_model_file('smollm2-135m')]\n"
        "    async with server.serve_models(found, context=512) as base:\n"
        "        pid = subprocess.run(['ps', '-o', 'pid=', '--ppid', str(os.getpid())],"
        " capture_output=True, text=True).stdout.split()[0]\n"
        "        print(base, pid, flush=True)\n"
        "        await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as parent:
        base, pid = known(parent.stdout).readline().split()
        assert listens(base)
        parent.send_signal(signal.SIGKILL)

    assert ends(int(pid))
    assert soon(lambda: not listens(base))


@needs_model
def test_a_server_that_dies_in_use_is_one_clear_error() -> None:
    """A crash of the runtime is named as such, with what the block met because of it as the
    cause.
    """
    before = children()

    async def crash() -> None:
        async with serve_models(INSTALLED, context=512) as base:
            (child,) = set(children()) - set(before)
            os.kill(child, signal.SIGKILL)
            assert ends(child)
            await asyncio.to_thread(reply, base, PLAIN)

    with pytest.raises(
        LocalModelError, match=r"ended while it was in use \(exit code -9\)"
    ) as caught:
        asyncio.run(crash())
    assert isinstance(caught.value.__cause__, OSError)


@needs_model
def test_damaged_weights_are_one_clear_line(tmp_path: Path) -> None:
    """A file that is not the model ends the start with the reason, quoted from the child's log."""
    damaged = tmp_path / "model.gguf"
    damaged.write_bytes(b"GGUF but not really")
    log = tmp_path / "log"

    async def start() -> None:
        async with serve_models([ModelFile("damaged", str(damaged), 0, "", ())], log=log):
            pass

    with pytest.raises(LocalModelError) as caught:
        asyncio.run(start())

    line = str(caught.value)
    assert "did not start (exit code 1)" in line
    assert "failed to load model" in line
    assert "fetch the file again" in line
    assert "\n" not in line
    assert b"failed to load model" in log.read_bytes()


# ---------------------------------------------------------------- several replies at once


@needs_model
def test_a_reply_follows_from_its_request_alone(base: str) -> None:
    """Which of two servers draws it, and what was asked there before, changes no digit; both are
    gone at the end.
    """
    # token by token here, all at once there
    drawn = reply(base, PLAIN, max_tokens=6)["choices"][0]["message"]["content"]
    longer = [*PLAIN, {"role": "assistant", "content": drawn}, {"role": "user", "content": "Why?"}]

    def chances(address: str) -> list[Any]:
        with ThreadPoolExecutor() as pool:
            asked = functools.partial(reply, address, longer, max_tokens=5, logprobs=True)
            made = list(pool.map(lambda seed: asked(seed=seed), range(2)))
        return [one["choices"][0]["logprobs"] for one in made]

    async def both() -> list[Any]:
        async with serve_models(INSTALLED, at_once=2) as address:
            said = await asyncio.to_thread(chances, address)
        assert not listens(address)
        return said

    of_one = chances(base)
    assert of_one[0] != of_one[1]
    assert asyncio.run(both()) == of_one
