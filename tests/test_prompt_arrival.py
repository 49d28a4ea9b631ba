"""What was asked reached the model that was asked: tools, whole prompts, its own replies. Else the
run says so.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from embedded_judge import INSTALLED, needs_model
from scripted_model import Answer, Asked, ScriptedModel, completion, says
from simulated_endpoint import aib
from test_http_client import MODEL, REQUEST, Serve, with_client

from independence_bench.engine.delivered import probe_and_describe_hidden_parts
from independence_bench.models.arrival import Arrivals
from independence_bench.models.client import Client
from independence_bench.models.endpoints import DialectName
from independence_bench.models.messages import ChatRequest, Completion, Fault, Kind, Message
from independence_bench.protocol.definition import ToolWording
from independence_bench.protocol.loader import load_protocol
from independence_bench.store.database import open_store
from independence_bench.store.schema import replies

WORDING = load_protocol("v2").tool_role

# ----------------------------------------------------- a server that counts what its template shows


def counting(
    *, tools: bool = True, calls: bool = True, results: bool = True, most: int = 10**9
) -> Callable[[Asked], int]:
    """Tokens of a prompt by a template that shows only some of it, and of that at most *most*."""

    def count(asked: Asked) -> int:
        body, shown = asked.body, ""
        for message in body["messages"]:
            if results or message["role"] != "tool":
                shown += message["content"] or ""
            if calls:
                shown += "".join(
                    call["function"]["arguments"] for call in message.get("tool_calls") or ()
                )
        shown += json.dumps(body["tools"]) if tools and "tools" in body else ""
        return min(7 + len(shown) // 4, most)

    return count


def speaking(count: Callable[[Asked], int] | None, **more: Any) -> Callable[[Asked], Answer]:
    """A model that always speaks, behind a server that counts like that; None: it counts
    nothing.
    """

    def answer(asked: Asked) -> Answer:
        reply = says(
            asked,
            f"I stay who I am, answer {asked.number}: whatever you say, and however you say it. "
            * 5,
        )
        usage = {} if count is None else {"prompt_tokens": count(asked), "completion_tokens": 9}
        return replace(reply, body=reply.body | {"model": asked.model, "usage": usage} | more)

    return answer


def hidden(server: ScriptedModel, wording: ToolWording = WORDING) -> str | None:
    """What is found to be hidden from a model there."""
    return asyncio.run(
        with_client(
            server.url,
            lambda client: probe_and_describe_hidden_parts(client, MODEL, wording),
            dialect="local",
            key=None,
        )
    )


def play(store: Path, *arguments: str) -> tuple[int, str]:
    """`aib run` of a few conversations without a judge: the exit code, and all that it says."""
    plan = ("--no-judge", "--protocol", "lite", "--runs", "1", "--store", str(store))
    experiment = () if "--exp" in arguments else ("--exp", "resistance")
    done = aib(store.parent, "run", *plan, *experiment, *arguments)
    return done.returncode, done.stdout + done.stderr


def local(
    server: ScriptedModel | str, store: Path, *more: str, model: str = "m"
) -> tuple[int, str]:
    """The same on `--local-url`."""
    url = server if isinstance(server, str) else server.url
    return play(store, "--local-url", url, "--local-model", model, *more)


def stored(store: Path) -> int:
    """How many replies are stored."""
    if not store.exists():
        return 0
    with open_store(store) as opened, opened.open_snapshot() as connection:
        return len(connection.execute(replies.select()).all())


@pytest.mark.parametrize(
    ("template", "what"),
    [
        ({"tools": False}, "its tools ("),
        ({"calls": False}, "what it said ("),
        ({"results": False}, "what it is told ("),
        ({"tools": False, "calls": False, "results": False}, "its tools ("),
    ],
)
def test_a_template_that_shows_no_tools_is_found_out_before_anything_is_played(
    serve: Serve, tmp_path: Path, template: dict[str, bool], what: str
) -> None:
    """By the tokens that the server counts; the line says what is hidden and what to do, and
    nothing is stored.
    """
    server = serve(speaking(counting(**template)))

    code, said = local(server, tmp_path / "store.db", "--modes", "tool_role")

    assert code != 0
    assert f"does not show the model m {what}" in said
    assert "--modes user_role" in said
    assert len(said.strip().splitlines()) == 1
    assert stored(tmp_path / "store.db") == 0
    assert {asked.body["max_tokens"] for asked in server.asked} == {1}
    # the advice works
    assert local(server, tmp_path / "store.db", "--modes", "user_role")[0] == 0
    assert stored(tmp_path / "store.db") == 5


def test_a_server_that_shows_everything_is_played(serve: Serve, tmp_path: Path) -> None:
    """Its six calls of one token are stored nowhere."""
    server = serve(speaking(counting()))

    code, said = local(server, tmp_path / "store.db", "--modes", "tool_role")

    assert code == 0, said
    assert stored(tmp_path / "store.db") == 5
    assert sum(asked.body["max_tokens"] == 1 for asked in server.asked) == 6


@pytest.mark.parametrize(
    "count", [None, lambda _: 20, lambda asked: 20 + asked.number], ids=["none", "one", "any"]
)
def test_a_server_whose_counts_say_nothing_is_played(
    serve: Serve, tmp_path: Path, count: Callable[[Asked], int] | None
) -> None:
    """No count, always the same, or one that does not depend on what is sent: nothing is held
    against it.
    """
    server = serve(speaking(count))

    assert hidden(server) is None
    assert local(server, tmp_path / "store.db", "--modes", "tool_role")[0] == 0


def test_a_server_that_counts_only_what_is_new_to_it_is_played(serve: Serve) -> None:
    """Of a prompt that it has evaluated before it counts the rest, so its counts tell nothing of
    what is shown.
    """
    seen: dict[str, int] = {}

    def fresh(asked: Asked) -> int:
        known = seen.get(asked.question, 0)
        seen[asked.question] = counting()(asked)
        return 1 if known else seen[asked.question]

    assert hidden(serve(speaking(fresh))) is None


def test_a_server_that_refuses_tools_is_said_to(serve: Serve) -> None:
    """In its own words, before the first conversation fails."""

    def answer(asked: Asked) -> Answer:
        if "tools" in asked.body:
            return Answer({"error": {"message": "m does not support tools"}}, 400)
        return Answer(completion("Yes."))

    assert hidden(serve(answer)) == "its tools: the server refuses them (m does not support tools)"


def test_an_endpoint_that_costs_is_asked_nothing_for_it(serve: Serve, tmp_path: Path) -> None:
    """What its replies say of the prompts is looked at instead, and said once with what to do."""
    models = tmp_path / "models.yaml"
    server = serve(speaking(counting(tools=False, calls=False)))
    models.write_text(
        f"endpoints:\n  paid: {{url: '{server.url}', dialect: local, free: false}}\n",
        encoding="utf-8",
    )

    at = ("--models-file", str(models), "--modes", "tool_role", "--exp", "stability", "--yes")
    code, said = play(tmp_path / "store.db", "paid:m", *at)

    assert code == 0, said
    assert len(server.asked) == 10
    assert "it may hide the tool or earlier replies from the model" in said
    assert "or use --modes user_role: 5 replies" in said


# ---------------------------------------------------------------- llama.cpp itself

PLAIN = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
)
PLAIN += "<|im_start|>assistant\n"


@pytest.fixture
def llama_cpp(tmp_path: Path) -> Iterator[str]:
    """A server of llama.cpp with the small model and a template that knows no tools."""
    template = tmp_path / "plain.jinja"
    template.write_text(PLAIN, encoding="utf-8")
    states = tmp_path / "states"
    states.mkdir()
    module = "independence_bench.models.local.server"
    command = [
        sys.executable,
        "-P",
        "-m",
        module,
        str(states),
        "2048",
        "1",
        f"small={template}=1.0={INSTALLED}",
    ]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
    ) as child:
        assert child.stdout is not None
        try:
            yield f"{child.stdout.readline().strip()}/v1"
        finally:
            child.kill()


@needs_model
def test_llama_cpp_says_itself_what_it_shows(llama_cpp: str, tmp_path: Path) -> None:
    """A real server with a template without tools: refused in tool_role, played in user_role."""
    _, said = local(llama_cpp, tmp_path / "store.db", "--modes", "tool_role", model="small")

    assert (
        "does not show the model small its tools and what it said (by the server's own rendering)"
        in said
    )
    assert stored(tmp_path / "store.db") == 0
    assert (
        local(
            llama_cpp,
            tmp_path / "store.db",
            "--modes",
            "user_role",
            "--max-tokens",
            "8",
            model="small",
        )[0]
        == 0
    )
    assert stored(tmp_path / "store.db") == 5


# ---------------------------------------------------------------- prompts that are cut


def test_a_prompt_that_is_far_too_short_stops_the_run(serve: Serve, tmp_path: Path) -> None:
    """The reply to half a prompt is stored as no answer, and the line says what to do."""
    server = serve(speaking(lambda _: 9))

    _, said = local(server, tmp_path / "store.db", "--modes", "user_role")

    assert "prompt cut: the server read only 9 tokens of a prompt of" in said
    assert "OLLAMA_CONTEXT_LENGTH" in said
    assert stored(tmp_path / "store.db") == 0


def test_a_context_that_is_full_is_found_in_the_conversation_that_fills_it(
    serve: Serve, tmp_path: Path
) -> None:
    """Ollama drops the oldest turns without a word: a conversation's next prompt has no more tokens
    than the last.
    """
    whole = serve(speaking(counting()))
    cut = serve(speaking(counting(most=330)))
    stability = ("--modes", "tool_role", "--exp", "stability")

    assert local(whole, tmp_path / "whole.db", *stability)[0] == 0
    _, said = local(cut, tmp_path / "cut.db", *stability)

    assert "prompt cut: the server read only 330 tokens of a prompt of" in said


def test_what_only_looks_short_is_no_cut_prompt() -> None:
    """A tokenizer of other scripts packs more bytes into a token; a count of nothing says
    nothing.
    """
    thai = "ฉันไม่เปลี่ยนชื่อของฉันเพราะใครขอ " * 40
    request = ChatRequest(MODEL, (Message("system", thai), Message("user", thai)))
    arrivals = Arrivals(grows={MODEL.model: True})

    assert arrivals.note_tokens_and_describe_cut(request, len(thai.encode()) * 2 // 9) is None
    assert arrivals.note_tokens_and_describe_cut(request, None) is None
    assert arrivals.note_tokens_and_describe_cut(request, 0) is None
    assert arrivals.note_tokens_and_describe_cut(request, 1) is None


# ----------------------------------------------------- replies of another model, or of another call


def test_another_models_reply_is_said_at_once_and_counted(serve: Serve, tmp_path: Path) -> None:
    """On the run, in `aib show`, and in the health of the row."""
    server = serve(speaking(counting(), model="some-other-model-70b"))

    _, said = local(server, tmp_path / "store.db", "--modes", "user_role")

    assert (
        "another model than local:m answered, by its server's word: some-other-model-70b: 5 replies"
        in said
    )
    at = ("--protocol", "lite", "--store", str(tmp_path / "store.db"))
    (row,) = json.loads(aib(tmp_path, "leaderboard", "--json", *at).stdout)["boards"][0][
        "incomplete"
    ]
    assert row["health"]["replies_by_another_model"] == 5
    assert (
        "answered, by its server's word: some-other-model-70b"
        in aib(tmp_path, "show", "m", "identity_erasure", *at).stdout
    )


@pytest.mark.parametrize(
    "served", ["m", "M", "m:latest", "m-2026-01-05", "vendor/m", "/models/m.gguf", None]
)
def test_the_asked_model_by_another_form_of_its_name_is_no_other(
    serve: Serve, tmp_path: Path, served: str | None
) -> None:
    """Dated, tagged, with its maker, as a file, or not named."""
    _, said = local(
        serve(speaking(counting(), model=served)), tmp_path / "store.db", "--modes", "user_role"
    )

    assert "another model" not in said


class Repeating:
    """Passes requests on to a server and sends each response twice on a connection that it keeps
    open.
    """

    def __init__(self, server: ScriptedModel, pause: float | None) -> None:
        """*pause*: seconds between the two; None: they come at once."""
        self.server, self.pause = server, pause

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until the client goes."""
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(
                    head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0
                )
                asked = json.loads(await reader.readexactly(length))
                said = json.dumps(completion(asked["messages"][-1]["content"], cost=None)).encode()
                sent = (
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
                    b"\r\n%b"
                )
                writer.write(sent % (len(said), said) * (2 if self.pause is None else 1))
                await writer.drain()
                if self.pause is not None:
                    await asyncio.sleep(self.pause)
                    writer.write(sent % (len(said), said))
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.mark.parametrize("pause", [None, 0.0, 0.001, 0.02])
def test_a_response_that_comes_twice_is_no_answer_to_another_request(pause: float | None) -> None:
    """At once, a little later, or much later: each of 60 requests gets the answer to itself."""

    async def ask_all() -> list[tuple[str, str]]:
        server = await asyncio.start_server(Repeating(None, pause).answer, "127.0.0.1", 0)  # type: ignore[arg-type]
        port = server.sockets[0].getsockname()[1]

        async def use(client: Client) -> list[tuple[str, str]]:
            async def ask(number: int) -> tuple[str, str]:
                asked = f"Question {number}?"
                outcome = await client.complete(
                    ChatRequest(MODEL, (REQUEST.messages[0], Message("user", asked))), 9
                )
                assert isinstance(outcome, Completion), outcome
                return asked, outcome.content

            return [
                pair
                for batch in range(20)
                for pair in await asyncio.gather(*(ask(3 * batch + n) for n in range(3)))
            ]

        try:
            pairs: list[tuple[str, str]] = await with_client(f"http://127.0.0.1:{port}/v1", use)
            return pairs
        finally:
            server.close()

    pairs = asyncio.run(ask_all())

    assert len(pairs) == 60
    assert [pair for pair in pairs if pair[0] != pair[1]] == []


LONG = ChatRequest(MODEL, (Message("system", "Be."), Message("user", "word " * 1000)))


def ask_long(
    server: ScriptedModel, dialect: DialectName = "local", *, free: bool = True
) -> Completion | Fault:
    """One attempt at a prompt of 5,000 bytes."""
    outcome: Completion | Fault = asyncio.run(
        with_client(
            server.url,
            lambda client: client.complete(LONG, 9),
            dialect=dialect,
            key=None,
            free=free,
        )
    )
    return outcome


def test_a_reply_to_a_cut_prompt_is_kept_as_what_it_is(serve: Serve) -> None:
    """Of a free server of one's own, with its raw body and its tokens; a paid reply is not given up
    for a number.
    """
    server = serve(lambda _: Answer(completion("No.", cost=0.5)))

    cut = ask_long(server)

    assert isinstance(cut, Fault)
    assert (cut.kind, cut.status, cut.usage.cost) == (Kind.CUT_PROMPT, 200, 0.5)
    assert "No." in cut.raw
    assert isinstance(ask_long(server, free=False), Completion)
    assert isinstance(ask_long(server, "openrouter"), Completion)


def test_a_server_that_says_one_number_of_every_prompt_cuts_nothing(serve: Serve) -> None:
    """Of one word, too: it is asked once, with a call of one token, whether its number can be a
    count.
    """
    server = serve(speaking(lambda _: 100))

    async def twice(client: Client) -> list[Completion | Fault]:
        return [await client.complete(LONG, 9), await client.complete(LONG, 9)]

    outcomes = asyncio.run(with_client(server.url, twice, dialect="local", key=None, free=True))

    assert [type(outcome) for outcome in outcomes] == [Completion, Completion]
    assert [asked.body["max_tokens"] for asked in server.asked] == [9, 1, 9]
