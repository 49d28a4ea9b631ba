"""An earlier chat, after which a character's items are played: a user's own, or one that ships with
us.

    chat = load_everyday_chat("en")  # 50 exchanges that no character says otherwise than another
    chat = read_chat(path, "Mira")  # a SillyTavern chat (JSONL), or a text of `NAME: message`
    files = prepend_first_chat_turns(make_protocol_files(sheet), chat, turns=100)

Both sides are sent word for word, so that every model and every item comes after the same chat, and
endpoints can cache it. Depths are protocols of their own: nothing of two depths is ever ranked or
compared as one. The first turns are sent, so that a smaller depth begins as a larger one does.
Knows nothing of models or stores.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from independence_bench.errors import WrongUse
from independence_bench.escape import check_printable
from independence_bench.hashing import hash_content
from independence_bench.personas.lines import choose_template_language
from independence_bench.personas.sheet import make_topic_slug
from independence_bench.protocol.loader import Files
from independence_bench.yaml_io import format_yaml, load_shipped_yaml, read_text_file

CHATS = Path(__file__).parent / "chats"
LARGEST_CHAT = 20_000_000  # bytes of a file; what is sent of it has at most
LONGEST = 400_000  # characters
LONGEST_NAME = 64  # of a protocol
# a message of a text: “Mira: hello”, “[10:04] **Mira**: hello”; what follows belongs to it up to
# the next one
_MESSAGE = re.compile(
    r"^(?:\[[^\]\n]{1,40}\] ?)?(?:\*\*)?([^\s:：*][^:：*\n]{0,59})(?:\*\*)?([:：])(?:\*\*)?(\s|$)?"
)


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat of a person and a character, at least one exchange."""

    name: str  # tells it from others in the name of a protocol; "": the one that ships with us
    exchanges: tuple[tuple[str, str], ...]  # (person, character)
    notes: tuple[str, ...] = ()  # remarks on what was left out or guessed, a line each

    @property
    def message_count(self) -> int:
        """Number of messages in the chat, of both sides together."""
        return 2 * len(self.exchanges)


@cache
def load_everyday_chat(language: str) -> Chat:
    """Return the everyday chat of 100 messages that ships with the package, in *language* if it has
    that language, else in English.
    """
    rows = load_shipped_yaml(
        (CHATS / f"{choose_template_language(language)}.yaml").read_text(encoding="utf-8")
    )
    return Chat("", tuple((human, model) for human, model in rows))


def read_chat(path: Path, character: str) -> Chat:
    """Read a chat with the character called *character* from the file at *path*: a SillyTavern chat
    (JSON lines), or a text of `NAME: message`. Raises WrongUse if the file has no such chat.
    """
    text = read_text_file(path, LARGEST_CHAT)
    notes: list[str] = []
    try:
        said = list(
            _read_json_messages(text)
            if text.lstrip().startswith("{")
            else _read_text_messages(text, character)
        )
        names = {
            side: dict.fromkeys(name for of, name, _ in said if of == side)
            for side in ("human", "model")
        }
        if not said:
            raise ValueError(
                "has no messages; a chat has lines of JSON with `mes`, or of `NAME: message`"
            )
        if not names["model"]:
            there = ", ".join(list(names["human"])[:5])
            raise ValueError(
                f"has no message by {character}; there are {there}: write {character} for the "
                "character"
            )
        check_printable("".join(text for _, _, text in said))
    except ValueError as error:
        raise WrongUse(f"{path}: {error}") from None
    if not any(_is_same_name(name, character) for name in names["model"]):
        notes.append(
            f"its character is called {', '.join(names['model'])}, not {character}; it is sent "
            "as it is"
        )
    for side, who in (("human", "the person"), ("model", "the character")):
        if len(names[side]) > 1:
            notes.append(f"{', '.join(list(names[side])[:5])} are all taken for {who}")
    turns: list[tuple[str, str]] = []
    for side, _, words in said:
        if turns and turns[-1][0] == side:
            turns[-1] = side, f"{turns[-1][1]}\n\n{words}"
        else:
            turns.append((side, words))
    if turns[0][0] == "model":
        notes.append("its greeting is left out: a chat has to begin with the person")
        del turns[0]
    exchanges = tuple(
        (human, model) for (_, human), (_, model) in zip(turns[::2], turns[1::2], strict=False)
    )
    if not exchanges:
        raise WrongUse(f"{path}: has no message of the person that is answered")
    # with a start of its hash, since exports of one program begin alike
    named = f"{make_topic_slug(path.stem, 12).replace('_', '-')}-{hash_content(exchanges)[:4]}"
    return Chat(named, exchanges, tuple(f"{path}: {note}" for note in notes))


Said = tuple[str, str, str]
"""("human" or "model", name, words)."""


def _read_json_messages(text: str) -> Iterator[Said]:
    """Yield ("human" or "model", speaker's name, words) for each message of *text*, a SillyTavern
    chat in JSON lines. Raises ValueError, which names the line, for a line that is no message.
    """
    head = True
    for number, line in enumerate(text.split("\n"), 1):  # U+2028 and its like stand in words
        if not line.strip():
            continue
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            raise ValueError(
                f"line {number} is no JSON; a chat has one message a line: export it again"
            ) from None
        if not isinstance(message, dict) or (not head and not isinstance(message.get("mes"), str)):
            raise ValueError(
                f"line {number} is no message (`mes` is missing); export the chat again"
            )
        head = False
        words = str(message.get("mes") or "").strip().replace("\r\n", "\n")
        if words and not message.get("is_system"):  # hidden from the model, or the program's own
            yield (
                "human" if message.get("is_user") else "model",
                str(message.get("name") or "")[:60],
                words,
            )


def _read_text_messages(text: str, character: str) -> Iterator[Said]:
    """Yield ("human" or "model", speaker's name, words) for each message of *text*, which has lines
    of `NAME: message`; *character* is the name of the model's side. Raises ValueError if the text
    does not begin with a speaker.
    """
    name, words, known = "", list[str](), set[str]()
    for line in [*text.split("\n"), None]:
        begins = None if line is None else _MESSAGE.match(line)
        # after a colon of ASCII, which times and addresses have too, a space follows or a speaker
        # stands before it
        if begins and not (
            begins[2] == "：" or begins[3] is not None or _is_same_name(begins[1], character)
        ):
            begins = begins if begins[1].strip() in known else None
        if (line is None or begins) and name and (message := "\n".join(words).strip()):
            yield "model" if _is_same_name(name, character) else "human", name, message
        if line is not None and begins:
            name, words = begins[1].strip(), [line[begins.end() :]]
            known.add(name)
        elif line is not None and (name or not line.strip()):
            words.append(line)
        elif line is not None:
            raise ValueError(
                f"begins with {line.strip()[:40]!r}, which has no speaker; write `NAME: message`"
            )


def _is_same_name(name: str, character: str) -> bool:
    """Return whether *name* and *character* may be names of one character, as Mira and Mira Santos:
    all words of one name are in the other.
    """
    one, other = set(name.casefold().split()), set(character.casefold().split())
    return bool(one) and (one <= other or other <= one)


def round_up_to_even(turns: int) -> int:
    """Return the number of messages *turns*, rounded up to an even number: a chat is continued
    after the character's reply, not after the person's message.
    """
    return turns + turns % 2


def prepend_first_chat_turns(files: Files, chat: Chat, turns: int) -> Files:
    """Return the protocol *files* changed so that every conversation comes after the first *turns*
    messages (rounded up to an even number) of *chat*; unchanged for 0. Raises WrongUse if the chat
    has fewer messages, or these are too long.
    """
    turns = round_up_to_even(turns)
    if not turns:
        return files
    if turns > chat.message_count:
        longer = "" if chat.name else "; --chat FILE takes a longer one of your own"
        raise WrongUse(
            f"--after {turns}: the chat has {chat.message_count} turns, so {chat.message_count} at "
            f"most{longer}"
        )
    exchanges = chat.exchanges[: turns // 2]
    if (size := sum(map(len, sum(exchanges, ())))) > LONGEST:
        raise WrongUse(
            f"--after {turns}: these turns have {size:,} characters, more than {LONGEST:,}; say "
            "fewer"
        )
    top = load_shipped_yaml(files["protocol.yaml"])
    depth = f"-after-{turns}{chat.name and f'-{chat.name}'}"
    name, room = top["name"], LONGEST_NAME - len(depth)
    if len(name) > room:  # others may begin like it
        name = f"{name[: room - 5]}-{hash_content(name)[:4]}"
    top["name"] = f"{name}{depth}"
    top["title"] += f" after {turns} turns of an earlier chat"
    return {
        **files,
        "protocol.yaml": format_yaml(
            {**top, "earlier": [list(exchange) for exchange in exchanges]}
        ),
    }
