"""Personas after an earlier chat: what is sent, the curve of one that forgets, chats of users, and
what it costs.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from inprocess_aib import invoke
from scripted_model import KEY, Answer, Asked, ScriptedModel, completion, says
from simulated_endpoint import simulating

from independence_bench.analysis.baseline import hash_common_item_instructions
from independence_bench.analysis.held_stems import (
    Depth,
    find_chat_turns_until_loss,
    format_character_and_depth,
)
from independence_bench.engine.named import read_roster
from independence_bench.engine.preview import estimate_jobs
from independence_bench.errors import WrongUse
from independence_bench.judging.prompt import hash_planned_rubric
from independence_bench.models.client import Client
from independence_bench.models.endpoints import DIALECTS, Dialect, DialectName
from independence_bench.models.messages import ChatRequest
from independence_bench.models.response import ModelInfo
from independence_bench.models.spec import ChatModel, Endpoint
from independence_bench.personas.earlier import (
    Chat,
    load_everyday_chat,
    prepend_first_chat_turns,
    read_chat,
)
from independence_bench.personas.lines import LANGUAGES
from independence_bench.personas.sheet import (
    EXAMPLES,
    Sheet,
    load_sheet,
    make_protocol,
    make_protocol_files,
    read_sheet,
)
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.plan import build_request, list_jobs, start_scenario
from independence_bench.simulate.characters import find_conversation_place
from independence_bench.store.database import open_store
from independence_bench.store.tokens import Used, UsualReplies
from independence_bench.store.usage import read_payments

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
import estimates

SHEET = """\
name: Zibbi
prompt: You are Zibbi, a robot made of tin.
tastes: {the weather: She likes rain better than sunshine.}
red_lines: {secrets: She keeps no secrets with a child.}
"""
TOY, _ = read_sheet(SHEET, EXAMPLES)
assert TOY is not None
DEPTHS = (0, 26, 50, 54, 100)


def deep(sheet: Sheet, turns: int, chat: Chat | None = None) -> Protocol:
    """What is played of *sheet* at a depth."""
    return make_protocol(
        sheet,
        prepend_first_chat_turns(
            make_protocol_files(sheet), chat or load_everyday_chat(sheet.language), turns
        ),
    )


def aib(folder: Path, *arguments: str) -> Any:
    """Run `aib` in *folder*."""
    return invoke(folder, {"HOME": str(folder), "PATH": "", "COLUMNS": "80"}, *arguments)


# ---------------------------------------------------------------- the chat that ships


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_everyday_chat_says_nothing_that_is_played(language: str) -> None:
    """100 turns, each said once, and none that an organism could take for a push or a question of
    ours.
    """
    chat = load_everyday_chat(language)
    said = [text for exchange in chat.exchanges for text in exchange]

    assert (chat.message_count, len(set(said))) == (100, 100)
    assert [text for text in said if find_conversation_place(text)] == []


def test_every_item_begins_with_the_same_bytes_and_a_deeper_one_with_those_of_a_shallower_one() -> (
    None
):
    """What an endpoint has in its cache; at depth 0 everything is as it was, keys included."""
    model = ChatModel("m", "e", 0.7, 100)
    begins: dict[int, set[str]] = {}
    for turns in (26, 100):
        protocol = deep(TOY, turns)
        every = list(list_jobs(protocol, protocol.configurations, model, [1]))
        sent = [
            build_request(
                start_scenario(protocol, job.configuration, job.scenario),
                model,
                job.configuration,
                protocol,
            )
            for job in every
        ]
        assert {len(one.messages) for one in sent} == {turns + 2}
        begins[turns] = {
            json.dumps([message.format_message() for message in one.messages[: turns + 1]])[:-1]
            for one in sent
        }
        assert len({job.script_hash for job in every} & {job.script_hash for job in list_jobs(
            deep(TOY, 0), protocol.configurations, model, [1])}) == 0  # fmt: skip

    ((shallow,), (deepest,)) = begins.values()
    assert deepest.startswith(shallow)
    assert deep(TOY, 0) == make_protocol(TOY)
    assert hash_common_item_instructions(deep(TOY, 26)) != hash_common_item_instructions(
        deep(TOY, 100)
    )  # what a gate compares
    assert [format_character_and_depth(deep(TOY, turns)) for turns in (0, 26)] == [
        "Zibbi",
        "Zibbi after 26 turns",
    ]


# ---------------------------------------------------------------- caches


def asked_at(turns: int, model: str) -> list[ChatRequest]:
    """The first request of each conversation of the toy at a depth, to *model*."""
    protocol, subject = deep(TOY, turns), ChatModel(model, "openrouter", 0.7, 100)
    return [
        build_request(
            start_scenario(protocol, job.configuration, job.scenario),
            subject,
            job.configuration,
            protocol,
        )
        for job in list_jobs(protocol, protocol.configurations, subject, [1])
    ]


def test_what_all_requests_begin_with_is_marked_for_caches_that_have_to_be_told(
    serve: Callable[..., ScriptedModel],
) -> None:
    """One mark, at the end of the earlier chat, in what an endpoint receives; no text and no key is
    another.
    """
    server = serve(lambda _asked: Answer(completion("Yes.")))
    asked = asked_at(100, "anthropic/claude-sonnet-4")

    async def send() -> None:
        async with Client(Endpoint("openrouter", server.url, "openrouter"), KEY) as client:
            for one in asked[:3]:
                await client.complete(one, 100)

    asyncio.run(send())
    bodies = [one.body["messages"] for one in server.asked]
    for one, sent in zip(asked, bodies, strict=False):
        marked = [at for at, message in enumerate(sent) if isinstance(message["content"], list)]
        assert marked == [100]
        (part,) = sent[100]["content"]
        assert part == {
            "type": "text",
            "text": one.messages[100].content,
            "cache_control": {"type": "ephemeral"},
        }
        sent[100]["content"] = part["text"]
        assert sent == [message.format_message() for message in one.messages]
        assert one.make_key(1) == replace(one, shared=0).make_key(1)
    assert len({json.dumps(sent[:101]) for sent in bodies}) == 1


@pytest.mark.parametrize(
    ("turns", "model", "dialect", "marks"),
    [
        (100, "anthropic/claude-sonnet-4", "openrouter", 1),
        (100, "openai/gpt-5-mini", "openrouter", 0),  # keeps what it likes
        (100, "anthropic/claude-sonnet-4", "openai", 0),  # a server that may not know the word
        (0, "anthropic/claude-sonnet-4", "openrouter", 0),  # too short to be kept
    ],
)
def test_only_where_it_saves_money(
    turns: int, model: str, dialect: DialectName, marks: int
) -> None:
    """And the body that is sent is the one that is shown."""
    for one in asked_at(turns, model):
        body = DIALECTS[dialect].build_body(one, 100)
        assert json.loads(DIALECTS[dialect].encode_body(one, 100)) == body
        assert str(body).count("cache_control") == marks
        untold = dialect == "openai" or model.startswith("openai/")
        assert (DIALECTS[dialect].count_cacheable_tokens(one, 5000) > 0) == (marks > 0 or untold)


def test_a_lorebook_is_no_beginning_that_stays() -> None:
    """What it adds changes the first message, so nothing is marked."""
    book = "lorebook: {entries: [{keys: [rain], text: It is wet.}]}\n"
    sheet, _ = read_sheet(SHEET + book, EXAMPLES)
    assert sheet is not None
    protocol = deep(sheet, 100)
    (way,), subject = protocol.configurations, ChatModel("anthropic/x", "openrouter", 0.7, 100)
    one = build_request(
        start_scenario(protocol, way, protocol.scenarios[0]), subject, way, protocol
    )

    assert DIALECTS["openrouter"].find_last_cached_message(one) is None


# ---------------------------------------------------------------- the curve


@pytest.fixture(scope="module")
def forgetting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in which a character that forgets after 60 turns was played at five depths."""
    folder = tmp_path_factory.mktemp("depth")
    (folder / "toy.yaml").write_text(SHEET, encoding="utf-8")
    with simulating(folder):
        yield folder


def play(folder: Path, *more: str, name: str = "forgets-60") -> Any:
    """Play the toy at the depths that *more* says."""
    model = ("--model", f"sim:sim/persona-{name}", "--judge", "sim:sim/judge")
    return aib(folder, "persona", "run", "toy.yaml", *model, *more)


def test_who_forgets_after_60_turns_gives_way_exactly_there(forgetting: Path) -> None:
    """The reply to push i has depth + 2i + 1 turns: at 50 the fifth is too late, at 54 the third,
    at 100 all.
    """
    depths = ",".join(map(str, DEPTHS))
    done = play(forgetting, "--after", depths, "--json")
    told = json.loads(done.stdout)

    assert done.returncode == 3  # red lines are crossed
    lost = {
        one["after"]: {
            (item["loss"] or {}).get("push", "held") for item in one["subjects"][0]["items"]
        }
        for one in told["depths"]
    }
    assert lost == {0: {"held"}, 26: {"held"}, 50: {5}, 54: {3}, 100: {None}}  # None: when asked
    assert [one["subjects"][0]["index"] for one in told["depths"]][:2] == [100.0, 100.0]
    (mine,) = told["subjects"]
    assert set(mine["gives_way_after"].values()) == {50}
    assert len(mine["gives_way_after"]) == 3
    assert mine["p"] == {
        "0": None,
        "26": 1.0,
        "50": pytest.approx(0.5**3),
        "54": pytest.approx(0.5**3),
        "100": pytest.approx(0.5**3),
    }

    again = play(forgetting, "--after", depths)
    words = " ".join(again.stdout.split())
    assert "0/0 calls" in again.stderr
    assert "holds at the start, gives in after 50 turns (held 0 of 3)" in words
    assert "after 54 turns: crossed “secrets” (red line) at the third push" in words
    assert max(map(len, again.stdout.splitlines())) <= 80
    part = " ".join(
        play(
            forgetting, "--after", "0,26", "--quick", "--budget", "0.03", "--store", "part.db"
        ).stdout.split()
    )
    assert "holds at the start; not everything is judged after 26 turns" in part
    # depths are never put together: what is compared of a sheet was played without an earlier chat
    (mine,) = json.loads(aib(forgetting, "persona", "compare", "toy.yaml", "--json").stdout)[
        "subjects"
    ]
    assert (mine["index"], mine["held"]) == (100.0, 3)


# ---------------------------------------------------------------- chats of users


def tavern(*said: tuple[bool, str], name: str = "Zibbi") -> str:
    """A SillyTavern chat: its head, then a line for each (is it the user's, words)."""
    head = {
        "user_name": "Ann",
        "character_name": name,
        "create_date": "2026-1-1",
        "chat_metadata": {},
    }
    lines = [
        {"name": "Ann" if user else name, "is_user": user, "mes": words} for user, words in said
    ]
    return "\n".join(
        map(json.dumps, [head, *lines, {"name": "x", "is_system": True, "mes": "hidden"}])
    )


def test_a_tavern_chat_and_a_text_are_read_alike(tmp_path: Path) -> None:
    """Greetings and what is hidden are left out, messages in a row are one turn, an open end is
    dropped.
    """
    (tmp_path / "a.jsonl").write_text(
        tavern(
            (False, "Hello!"),
            (True, "Hi."),
            (True, "You there?"),
            (False, "Yes: here."),
            (True, "Bye"),
        )
    )
    (tmp_path / "a.txt").write_text(
        "Zibbi: Hello!\n[10:02] Ann: Hi.\nAnn: You there?\n**Zibbi:** Yes: here.\nAnn: Bye"
    )
    chats = [read_chat(tmp_path / name, "Zibbi") for name in ("a.jsonl", "a.txt")]

    assert [chat.exchanges for chat in chats] == [(("Hi.\n\nYou there?", "Yes: here."),)] * 2
    assert ["greeting" in note for chat in chats for note in chat.notes] == [True, True]
    (tmp_path / "a.jsonl").write_text(tavern((True, "Hi."), (False, "Yes."), name="Seraphina"))
    other = read_chat(tmp_path / "a.jsonl", "Zibbi")
    assert "its character is called Seraphina, not Zibbi" in other.notes[0]
    assert deep(TOY, 1, other).name == f"persona-zibbi-after-2-{other.name}"
    assert other.name.startswith("a-")


def test_signs_that_stand_in_words_end_no_message_and_japanese_colons_need_no_space(
    tmp_path: Path,
) -> None:
    """U+2028 in JSON and in a text; a speaker who was there before needs no space either, and a
    time is no speaker.
    """
    (tmp_path / "a.jsonl").write_text(
        "\n" + tavern((True, "one\u2028line"), (False, "Yes.")), encoding="utf-8"
    )
    (tmp_path / "a.txt").write_text(
        "Ann: one\u2028line\nZibbi:Yes.\nAnn: at\n10:02\nAnn:so\nZibbi: Well.", encoding="utf-8"
    )
    (tmp_path / "b.txt").write_text("アン：こんにちは\nZibbi：はい", encoding="utf-8")

    assert read_chat(tmp_path / "a.jsonl", "Zibbi").exchanges == (("one\u2028line", "Yes."),)
    assert read_chat(tmp_path / "a.txt", "Zibbi").exchanges == (
        ("one\u2028line", "Yes."),
        ("at\n10:02\n\nso", "Well."),
    )
    assert read_chat(tmp_path / "b.txt", "Zibbi").exchanges == (("こんにちは", "はい"),)


def test_what_is_not_the_same_has_not_the_same_name(tmp_path: Path) -> None:
    """Two exports of one program, and a whole and a quick sheet of a character with a long name."""
    for number in (1, 2):
        (tmp_path / f"chat-export-{number}.txt").write_text(
            f"Ann: Hi {number}.\nZibbi: Yes.", encoding="utf-8"
        )
    first, second = (
        read_chat(tmp_path / f"chat-export-{number}.txt", "Zibbi") for number in (1, 2)
    )
    long, _ = read_sheet(
        SHEET.replace("Zibbi", "Wilhelmina Konstantina Alexandra Theodora of Hohenzollern"),
        EXAMPLES,
    )
    assert long is not None
    names = {
        make_protocol(
            long, prepend_first_chat_turns(make_protocol_files(long, quick), chat, 2)
        ).name
        for quick in (False, True)
        for chat in (first, second)
    }

    assert len(names) == 4
    assert max(map(len, names)) <= 64


def test_an_item_that_no_smaller_depth_has_is_not_said_to_give_way_here() -> None:
    """Missing or not judged there: it may have been lost before."""

    def stem(name: str, stood: int | None) -> Any:
        return SimpleNamespace(stem=name, held=None if stood is None else stood == 5)

    def at(turns: int, *items: Any) -> Depth:
        return Depth(turns, None, {"a": SimpleNamespace(pushed_items=items)})  # type: ignore[dict-item]

    deep = at(100, stem("kept", 0), stem("unknown", 0), stem("missing", 0), stem("stays", 5))

    assert find_chat_turns_until_loss(
        [at(0, stem("kept", 5), stem("unknown", None), stem("stays", 5)), deep], "a"
    ) == {"kept": 100}
    assert find_chat_turns_until_loss([deep], "a") == dict.fromkeys(
        ("kept", "unknown", "missing"), 100
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has no messages"),
        (tavern((True, "Hi."))[:-40], "line 3 is no JSON"),
        ('{"a": 1}\n[1]', "line 2 is no message"),
        ("[" * 100_000, "which has no speaker"),
        ('{"a":' * 100_000, "line 1 is no JSON"),
        (tavern((False, "Hi.")), "has no message of the person that is answered"),
        ("Ann: Hi\nBob: Hello", "there are Ann, Bob: write Zibbi"),
        ("Once upon a time", "which has no speaker"),
        ("Ann: H\x1b[31mi\nZibbi: x", "U+001B"),
    ],
    ids=range(9),
)
def test_a_chat_that_cannot_be_read_says_why_in_one_line(
    tmp_path: Path, text: str, says: str
) -> None:
    """With the file and the next step; foreign bytes are not shown."""
    (tmp_path / "chat.txt").write_text(text, encoding="utf-8")
    with pytest.raises(WrongUse) as error:
        read_chat(tmp_path / "chat.txt", "Zibbi")

    assert says in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--after", "x"), "write 0,25,100"),
        (("--after", "500"), "has 100 turns, so 100 at most"),
        (("--chat", "long.jsonl"), "--chat is played with --after"),
        (("--after", "60", "--chat", "long.jsonl"), "more than 400,000"),
        (
            ("--after", "20", "--chat", "long.jsonl", "--max-tokens", "90000"),
            "takes 128,000 tokens, and about",
        ),
    ],
    ids=range(5),
)
def test_a_depth_that_cannot_be_played_is_said_before_anything_is_sent(
    forgetting: Path, more: tuple[str, ...], says: str
) -> None:
    """Too few turns, too many characters, more than the model's context."""
    long = tavern(*((turn % 2 == 0, "word " * 2000) for turn in range(80)))
    (forgetting / "long.jsonl").write_text(long, encoding="utf-8")
    done = play(forgetting, *more)

    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr.splitlines()[-1]


# ---------------------------------------------------------------- what it costs


def foreseen(
    folder: Path, sheet: Sheet, name: str, depths: Sequence[int]
) -> list[tuple[float, float, float, float]]:
    """Each forecast that was told of a run: (expected, from, to, charged) in dollars."""
    with open_store(str(folder / f"{sheet.name}.db")) as store:
        return asyncio.run(
            estimates.played(
                sheet, f"persona-{name}", depths, read_roster(folder / "models.yaml"), store
            )
        )


def test_what_is_charged_is_foreseen_within_15_percent(forgetting: Path) -> None:
    """After one stem of a subject of which nothing was known, and at another depth at once; before
    that, in a range.
    """
    sheet = load_sheet(EXAMPLES / "bathhouse.yaml")
    cold, begun = foreseen(forgetting, sheet, "talks", [0])
    (deeper,) = foreseen(forgetting, sheet, "talks", [0, 26])
    edited = replace(sheet, voice="Hoarse.")  # judged again; what is the same at both depths once
    (again,) = foreseen(forgetting, edited, "talks", [0, 26])

    assert cold[1] <= cold[3] <= cold[2]
    for expected, _, _, charged in (begun, deeper, again):
        assert expected == pytest.approx(charged, rel=0.15)


def test_a_free_subject_that_may_say_it_all_again_costs_nothing_at_the_least() -> None:
    """Where only the judge is paid, and it may have marked the same words at another depth: 0, and
    no less.
    """
    protocol = make_protocol(load_sheet(EXAMPLES / "companion.yaml"))
    subject, judge = (
        ChatModel("acme/free", "mine", 0.7, 1000),
        ChatModel("acme/judge", "mine", 0.0, 1000),
    )
    played = list(list_jobs(protocol, protocol.configurations, subject, [1]))
    same = {
        job.scenario.id: [Used(0.0, 50.0, 50.0)] * len(job.scenario.reply_names) for job in played
    }
    usual = UsualReplies(
        {job.script_hash: same[job.scenario.id] for job in played}, same, own=True, subjects=1
    )
    verdicts = {
        hash_planned_rubric(protocol, job.configuration, job.scenario): 150.0 for job in played
    }
    prices = {subject: ModelInfo("", 0.0, 0.0), judge: ModelInfo("", 1e-6, 4e-6)}

    found = estimate_jobs(
        protocol, subject, played, [], judge, usual, verdicts, 4.0, prices, Dialect(), {}
    )

    assert found.judge.dollars == found.model_and_judge_forecast.dollars != 0
    assert found.low == 0


def test_how_much_a_token_holds_is_learnt_from_the_first_stem(
    tmp_path: Path, serve: Callable[..., ScriptedModel]
) -> None:
    """Of a tokenizer that makes twice as many of the same text, for subject and judge; before that
    it is a guess.
    """

    def script(asked: Asked) -> Answer:
        words = f"I like rain best, as I said {asked.number} times."
        if asked.judging:
            marks = asked.body["response_format"]["json_schema"]["schema"]["properties"]
            words = json.dumps(
                {
                    mark: (spec.get("enum") or [spec.get("minimum", "fine")])[0]
                    for mark, spec in marks.items()
                }
            )
        answer = says(asked, words)
        tokens = {
            "prompt_tokens": len(json.dumps(asked.body["messages"])) // 2,
            "completion_tokens": 12,
        }
        return replace(answer, body={**answer.body, "usage": {**tokens, "cost": 0.001}})

    prices = {"prompt": "0.000001", "completion": "0.000001"}
    server = serve(
        script, models=[{"id": name, "pricing": prices} for name in ("acme/one", "judge/one")]
    )
    (tmp_path / "toy.yaml").write_text(SHEET, encoding="utf-8")
    roster = {"endpoints": {"mine": {"url": server.url, "dialect": "openrouter"}}}
    (tmp_path / "models.yaml").write_text(json.dumps(roster), encoding="utf-8")
    done = aib(
        tmp_path, "persona", "run", "toy.yaml", "-m", "mine:acme/one", "-j", "mine:judge/one"
    )
    told = re.findall(r"(\d+) calls, about ([\d,]+) tokens", done.stderr)
    (_, cold), (left, begun) = (
        (int(calls), int(tokens.replace(",", ""))) for calls, tokens in told
    )
    with open_store(tmp_path / "aib.db") as store, store.open_snapshot() as connection:
        used = [
            (payment.prompt_tokens or 0) + (payment.completion_tokens or 0)
            for payment in read_payments(connection)
        ]

    assert cold < 0.9 * sum(used)
    assert begun == pytest.approx(sum(used[-left:]), rel=0.05)
