"""Whoever refuses a part of a request is asked without it, as subject and as judge, in both
deliveries: what providers really refuse, over HTTP.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from provider_refusals import PROVIDERS, Body, Provider, openai, refused
from scripted_model import JUDGE, Answer, Asked, ScriptedModel, completion, says
from test_cli import MARKS, User, user

from independence_bench.hashing import hash_content
from independence_bench.models.abilities import Part, find_known_abilities, load_families
from independence_bench.models.client import Client
from independence_bench.models.endpoints import DialectName
from independence_bench.models.spec import Endpoint
from independence_bench.store import registry
from independence_bench.store.database import open_store

__all__ = ["user"]
Serve = Callable[..., ScriptedModel]
named = pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)
BOTH = ("--modes", "tool_role,user_role")


def marked(asked: Asked) -> Answer:
    """A verdict with the keys that the words of a judge's request list, whatever its form."""
    told = asked.last.rpartition("its keys in this order: ")[2]
    names = re.findall(r'"([a-z_]+)": ', told)
    given: dict[str, Any] = {"analysis": "It said so."}
    given |= {name: MARKS[name] for name in names if name != "analysis"}
    return Answer(completion(json.dumps(given), model=asked.model))


def refusing(find: Callable[[Body], Answer | None]) -> Callable[[Asked], Answer]:
    """A server that refuses what *find* finds, and answers everything else."""

    def script(asked: Asked) -> Answer:
        answer = find(asked.body)
        if answer is None:
            answer = marked(asked) if asked.judging else says(asked, f"Still me, {asked.number}.")
        return answer

    return script


def count(store: Path, sql: str) -> dict[str, int]:
    """Name -> number, as *sql* has them."""
    with sqlite3.connect(store) as connection:
        return dict(connection.execute(sql))


def settled(user: User, provider: Provider, *more: str) -> str:
    """What `aib run` of that provider says; all of it is played and judged."""
    user.models(dialect=provider.dialect)
    user.server.script = refusing(lambda body: refused(provider, body))
    done = user.run(*BOTH, *more)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@named
def test_a_provider_is_subject_and_judge_in_both_deliveries(user: User, provider: Provider) -> None:
    """Each refused part costs one request, which says so in the store; the label has what could not
    be set.
    """
    shown = settled(user, provider, "--judge", f"scripted:{JUDGE}")

    assert f"scripted:acme/one@{provider.label}" in shown
    assert f"scripted:{JUDGE}@{provider.judge}" in shown
    store = user.folder / "aib.db"
    states = "SELECT state, count(*) FROM {} GROUP BY state"
    assert count(store, states.format("replies")).keys() == {"valid"}
    assert count(store, states.format("judgements")).keys() == {"valid"}
    begun = "SELECT label, count(*) FROM begun JOIN subjects ON hash = subject_hash GROUP BY label"
    assert count(store, begun).keys() <= {f"scripted:acme/one@{provider.label}"}
    outcomes = count(store, "SELECT outcome, count(*) FROM attempts GROUP BY outcome")
    assert outcomes.keys() <= {"answered", "part refused", "request refused"}
    assert "waiting for" not in shown
    assert sum(outcomes.values()) == len(user.server.chats)


@named
def test_what_was_refused_is_asked_no_second_time(user: User, provider: Provider) -> None:
    """The store remembers it: the next command's requests are all taken, and nothing is bought
    again.
    """
    settled(user, provider, "--judge", f"scripted:{JUDGE}")
    before = len(user.server.chats)
    settled(user, provider, "--judge", f"scripted:{JUDGE}")
    assert len(user.server.chats) == before

    settled(user, provider, "--judge", f"scripted:{JUDGE}", "--runs", "2")

    new = user.server.chats[before:]
    assert new
    assert all(entry.answer.status == 200 for entry in new)


def test_what_is_left_out_on_the_wire_changes_no_key(user: User, serve: Serve) -> None:
    """A schema's limits, its form, streaming: a server that takes them afterwards is asked nothing
    new.
    """
    strict = next(one for one in PROVIDERS if one.name == "Groq llama-3.3-70b")
    rules = tuple(rule for rule in strict.rules if "response_format" in str(rule.answer.body))
    settled(
        user,
        Provider("", "openai", "", rules, "", ""),
        "--judge",
        f"scripted:{JUDGE}",
    )
    before = len(user.server.chats)
    (user.folder / "aib.db").rename(user.folder / "moved.db")
    with sqlite3.connect(user.folder / "moved.db") as connection:
        connection.execute("DELETE FROM abilities")

    everything = Provider("", "openai", "", (), "", "")
    settled(user, everything, "--judge", f"scripted:{JUDGE}", "--store", "moved.db")

    assert len(user.server.chats) == before


@pytest.mark.parametrize(
    ("asked_for", "says_so"),
    [
        (("--temperature", "0.5"), "leave its temperature out"),
        (("--reasoning-effort", "minimal"), "say --reasoning-effort low"),
    ],
)
def test_a_setting_that_a_user_asked_for_is_not_left_out(
    user: User, asked_for: tuple[str, str], says_so: str
) -> None:
    """The model is stopped with what to do; done, it is played."""

    def find(body: Body) -> Answer | None:
        if "temperature" in body and body["temperature"] not in (0, 1):
            return openai("'temperature' is deprecated for this model.")
        if body.get("reasoning_effort") == "minimal":
            return openai(
                "Unsupported value: 'minimal' is not supported with the 'gpt-5.1' model. Supported "
                "values are: 'none', 'low', 'medium', and 'high'.",
                param="reasoning_effort",
            )
        return None

    user.models(dialect="openai")
    user.server.script = refusing(find)

    done = user.run(*asked_for, "--no-judge")

    assert done.returncode == 1
    assert says_so in done.stderr
    followed = ("--reasoning-effort", "low") if "effort" in says_so else ()
    assert user.run(*followed, "--no-judge").returncode == 0


def test_auto_sends_no_effort(user: User) -> None:
    """The model does what it does by itself, and the label says unset."""
    user.models(dialect="local")

    done = user.run("--reasoning-effort", "auto", "--no-judge")

    assert "scripted:acme/one@unset-t0.7" in done.stdout
    assert all(
        not {"reasoning", "reasoning_effort", "chat_template_kwargs"} & asked.body.keys()
        for asked in user.server.played
    )


def test_a_prompt_that_is_too_long_takes_nothing_away(user: User) -> None:
    """A refusal that names a limit's size is no refusal of the field."""
    user.models(dialect="openai")
    said = (
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens: "
        "max_tokens is too large. Please reduce the length of the messages."
    )
    user.server.script = refusing(lambda body: openai(said, param="max_tokens"))

    done = user.run("--no-judge", "-pt", "1")

    assert done.returncode == 1
    assert {"max_completion_tokens"} == {
        name for asked in user.server.asked for name in asked.body if name.startswith("max_")
    }
    assert not count(user.folder / "aib.db", "SELECT model, 1 FROM abilities")


def test_a_system_prompt_without_a_role_stands_before_the_first_turn(user: User) -> None:
    """Its words and the person's, in one message; the other messages are as they were."""
    provider = next(one for one in PROVIDERS if one.name.startswith("vLLM"))

    shown = settled(user, provider, "--judge", f"scripted:{JUDGE}")

    assert "takes no system prompt: it stands at the front of the first turn" in shown
    assert "The system prompt of scripted:acme/one@none-t0.7 stood at the front" in " ".join(
        user.aib("leaderboard", "--protocol", "small", "--explain").stdout.split()
    )
    refused_first = next(
        asked for asked in user.server.asked if asked.body["messages"][0]["role"] == "system"
    )
    system, *_ = refused_first.body["messages"]
    taken = [
        entry.asked
        for entry in user.server.chats
        if entry.answer.status == 200 and not entry.asked.judging
    ]
    assert all(
        asked.body["messages"][0]["content"].startswith(system["content"]) for asked in taken
    )
    assert all(message["role"] != "system" for asked in taken for message in asked.body["messages"])


@pytest.mark.parametrize(
    ("host", "model", "without"),
    [
        ("api.anthropic.com", "claude-opus-4-7", {Part.SCHEMA_LIMITS, Part.TEMPERATURE}),
        ("openrouter.ai", "anthropic/claude-sonnet-4.5", {Part.SCHEMA_LIMITS}),
        ("api.deepseek.com", "deepseek-chat", {Part.SCHEMA_LIMITS, Part.SCHEMA}),
        ("api.openai.com", "gpt-5.1", {Part.OTHER_TEMPERATURE, Part.SWITCH}),
        ("api.openai.com", "gpt-4o", {Part.SWITCH}),
        ("api.x.ai", "grok-4-fast", {Part.EFFORT, Part.SWITCH}),
        ("api.x.ai", "grok-3-mini", {Part.SWITCH}),
        ("openrouter.ai", "openai/gpt-5", set()),
        ("", "gpt-5", set()),
        ("api.openai.com.example.org", "gpt-5", set()),
    ],
)
def test_a_known_family_starts_with_what_is_known(
    host: str, model: str, without: set[Part]
) -> None:
    """At its maker's own address alone, where that is what refuses; everybody else takes all until
    they refuse it.
    """
    assert find_known_abilities(host, model).without == without
    assert all(family.abilities.without for family in load_families())


VLLM = openai(
    '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    type="BadRequestError",
)
OLLAMA = openai("registry.ollama.ai/library/gemma3:4b does not support tools", type="api_error")


@pytest.mark.parametrize("free", [False, True], ids=["paid", "free"])
@pytest.mark.parametrize(
    ("answer", "way"),
    [
        (VLLM, "start vLLM with --enable-auto-tool-choice --tool-call-parser NAME"),
        (OLLAMA, "take a model with tools"),
    ],
    ids=["vLLM", "Ollama"],
)
def test_a_server_without_tools_says_what_to_type(
    user: User, free: bool, answer: Answer, way: str
) -> None:
    """Once, in one line; with --modes user_role it is played, as the line says."""
    user.models(dialect="local")
    user.server.script = refusing(lambda body: answer if "tools" in body else None)
    at = ("--local-url", user.server.url) if free else ()
    model = "local:acme/one" if free else "scripted:acme/one"

    done = user.run("--modes", "tool_role", "--no-judge", *at, model=model)

    assert done.returncode != 0
    assert done.stderr.count(way) == 1
    assert "or add --modes user_role" in done.stderr
    if free:
        assert len(user.server.asked) <= 2
    assert user.run("--modes", "user_role", "--no-judge", *at, model=model).returncode == 0


def test_a_subject_keeps_the_identity_that_it_was_played_under(user: User) -> None:
    """A path identifies nothing, but who was stored by one is bought no second time."""
    user.models(dialect="local")
    path = {"root": "/models/a"}
    user.server.models_answer = Answer({"data": [{"id": "acme/one"} | path]})

    assert user.run("--no-judge", "--store", "new.db").returncode == 0
    with open_store(str(user.folder / "new.db")) as store, store.open_snapshot() as connection:
        (now,) = registry.read_subjects(connection).values()
    earlier = replace(now, identity=hash_content(path)[:16])
    with open_store(str(user.folder / "old.db")) as store, store.open_transaction() as connection:
        registry.store_subject(connection, earlier)
    assert user.run("--no-judge", "--store", "old.db").returncode == 0

    assert now.identity == ""
    played = "SELECT DISTINCT subject_hash, 1 FROM transcripts"
    assert count(user.folder / "old.db", played).keys() == {earlier.hash}


@pytest.mark.parametrize("dialect", ["local", "openai"])
def test_a_family_is_known_by_the_address_whatever_the_endpoint_is_called(
    dialect: DialectName,
) -> None:
    """An endpoint of the user's own has the dialect local unless they say another."""
    mine = Client(Endpoint("mine", "https://api.deepseek.com/v1", dialect))

    assert mine.find_abilities("deepseek-chat").without == {Part.SCHEMA_LIMITS, Part.SCHEMA}
    assert not Client(Endpoint("lab", "http://lab:8000/v1", dialect)).find_abilities("m").without
