"""A transcript -> the messages that a model is sent, and a completion -> the words it said.

Two ways, as pure functions. *user_role*: the human's words are user messages and the model's are
assistant messages. *tool_role*: the model speaks by calling a tool, and the human's words come back
as the result of its call.

Every provider is served: after the system prompt a user message comes first (a script begins with
the human), and no two messages of one role follow each other (what would stand side by side is
joined by a blank line). Tool-call ids depend on the position in the conversation alone.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from independence_bench.models.markup import (
    TEMPLATE,
    cut_and_trim_turn,
    cut_at_turn_end,
    is_json_call,
    split_words_and_calls,
    split_words_and_thoughts,
)
from independence_bench.models.messages import Completion, Message, Rejected, Tool, ToolCall
from independence_bench.models.response import (
    BLANK,
    LENIENT,
    read_json,
    replace_unstorable_characters,
    shorten_line,
)
from independence_bench.protocol.conversation import Line, Speaker, Transcript, Words
from independence_bench.protocol.definition import Delivery, ToolWording


@dataclass(frozen=True, slots=True)
class UsableReply:
    """A usable reply, and what is unusual about it."""

    words: Words
    cut_off: bool = False  # the token limit ended it, in the text or in the middle of a tool call
    plain_text: bool = False  # tool_role: it spoke without calling the tool


def make_tools(delivery: Delivery, wording: ToolWording) -> tuple[Tool, ...]:
    """Return the tools that a model is offered in the mode *delivery*: in tool_role the one tool,
    worded by *wording*, by which it speaks to the human; () in user_role.
    """
    if delivery == "user_role":
        return ()
    return (
        Tool(wording.name, wording.description, wording.argument, wording.argument_description),
    )


def make_messages(
    transcript: Transcript, delivery: Delivery, wording: ToolWording
) -> tuple[Message, ...]:
    """Return the conversation *transcript* as the messages to send to the model in the mode
    *delivery*, system prompt first; it should end with something the human said. *wording* words
    the tool in tool_role.
    """
    turns = _join_turn_texts_and_notes(transcript.lines)
    if delivery == "user_role":
        sent = [
            Message("user" if speaker == "human" else "assistant", text)
            for speaker, text, _ in turns
        ]
        return (Message("system", transcript.system), *sent)
    instructions = "\n\n".join(part for part in (transcript.system, wording.instructions) if part)
    return (Message("system", instructions), *_make_tool_messages(turns, wording))


def read_reply(
    completion: Completion, delivery: Delivery, wording: ToolWording
) -> UsableReply | Rejected:
    """Return the words that a model says to the human in *completion*, or a `Rejected` that says
    why there are none.

    In tool_role the words are what the tool calls say: recovered also from arguments that were cut
    off, from several calls in one reply (joined), from a tool that the model made up if it passes
    our argument, from a call that stands in the text in the syntax of any family, and, if there is
    no call at all, from plain text. Text next to a call is the model's private notes. A short reply
    is an answer; a reply without a letter, a digit or a pictograph is not.
    """
    if completion.filtered:
        return Rejected("stopped by the provider's filter")
    content, calls = completion.content, completion.tool_calls
    # who ran on past the end of their turn was not cut off in it
    cut_off = completion.cut_off and cut_at_turn_end(content) == content
    if delivery == "user_role":
        content = cut_and_trim_turn(content)
        return (
            UsableReply(Words(content), cut_off)
            if has_words(content)
            else _make_rejection(completion, content, cut_off)
        )
    if not calls:
        content, calls = split_words_and_calls(content, wording.name)
    content = cut_and_trim_turn(content, ends_at_role_line=not calls)
    if calls:
        spoken, torn = _read_words_and_whether_torn(calls, wording)
        # a torn call without the finish reason "length" is cut off all the same
        if has_words(spoken):
            return UsableReply(Words(spoken, content), cut_off or torn)
        names = [call.name for call in calls]
        if all(name and not _is_same_tool(name, wording.name) for name in names):
            return Rejected(
                (
                    "it calls a tool that was not offered: "
                    f"{shorten_line(_strip_tool_name(names[0]), 40)}"
                ),
                cut_off or torn,
            )
        return Rejected("a tool call that says nothing", cut_off or torn)
    return (
        UsableReply(Words(content), cut_off, plain_text=True)
        if has_words(content)
        else _make_rejection(completion, content, cut_off)
    )


def has_words(text: str) -> bool:
    """Return whether *text*, a model's reply, holds anything that could be an answer besides
    template tokens: a letter, a digit or a pictograph.
    """
    said = TEMPLATE.sub("", text) if "<" in text or "[" in text else text
    return any(c.isalnum() or unicodedata.category(c) == "So" for c in said)


def _join_turn_texts_and_notes(lines: Sequence[Line]) -> list[tuple[Speaker, str, str]]:
    """Return the turns of a conversation, (speaker, text, notes) each: *lines* that one party says
    in a row are joined by blank lines.
    """
    turns = []
    for speaker, group in groupby(lines, key=lambda line: line.speaker):
        spoken = list(group)
        text = "\n\n".join(line.text for line in spoken)
        notes = "\n\n".join(line.notes for line in spoken if line.notes)
        turns.append((speaker, text, notes))
    return turns


def _make_tool_messages(
    turns: Sequence[tuple[str, str, str]], wording: ToolWording
) -> list[Message]:
    """Return the turns of a conversation, (speaker, text, notes) each, as messages of tool_role:
    the model's words are tool calls, the human's are their results. The opening user message and
    the greeting of *wording* stand before all turns.
    """
    sent = [Message("user", wording.opening)]
    position = 0
    for speaker, text, notes in [("model", wording.greeting, ""), *turns]:
        if speaker == "model":
            position += 1
            arguments = json.dumps({wording.argument: text}, ensure_ascii=False)
            call = ToolCall(make_call_id(position), wording.name, arguments)
            sent.append(Message("assistant", notes or None, (call,)))
        else:
            sent.append(Message("tool", text, tool_call_id=make_call_id(position)))
    return sent


def make_call_id(position: int) -> str:
    """Return the id of the model's tool call number *position* (1, 2, ...) in a conversation: nine
    letters and digits, as Mistral insists.
    """
    return f"say{position:06d}"


def _read_words_and_whether_torn(
    calls: Sequence[ToolCall], wording: ToolWording
) -> tuple[str, bool]:
    """Return (what the tool *calls* of a reply say to the human, whether one of these calls was cut
    off).

    If none of them calls the offered tool, calls of a tool that the model made up count, provided
    that they pass the offered tool's argument.
    """
    ours = [call for call in calls if not call.name or _is_same_tool(call.name, wording.name)]
    read = [
        _read_argument_and_whether_torn(
            call.arguments, wording.argument, is_offered_tool=bool(ours)
        )
        for call in ours or calls
    ]
    texts = [
        cut_and_trim_turn(
            split_words_and_thoughts(replace_unstorable_characters(text))[0],
            ends_at_role_line=False,
        )
        for text, _ in read
    ]
    # a call whose words are a call: seen of small models
    texts = [
        (
            is_json_call(text)
            and _read_words_and_whether_torn(split_words_and_calls(text, wording.name)[1], wording)[
                0
            ]
        )
        or text
        for text in texts
    ]
    return "\n\n".join(text for text in texts if text), any(torn for _, torn in read)


def _is_same_tool(name: str, tool: str) -> bool:
    """Return whether *name*, as a model wrote it, means the tool called *tool*: case, punctuation,
    a namespace before it and a number behind it do not matter.
    """
    return _LETTERS.sub("", _strip_tool_name(name)).casefold() == _LETTERS.sub("", tool).casefold()


def _strip_tool_name(name: str) -> str:
    """Return *name*, a tool's name as a model wrote it, without a namespace before it and a call's
    number behind it.
    """
    bare = re.sub(r"[:_]\d{1,6}\Z", "", name.partition("<|")[0].strip())
    return re.split(r"[./:]", bare)[-1].removeprefix("functions_")


_LETTERS = re.compile(r"[^A-Za-z0-9]")


def _read_argument_and_whether_torn(
    arguments: str, name: str, is_offered_tool: bool
) -> tuple[str, bool]:
    """Return (text, torn): the text that *arguments*, a tool call's JSON, passes under *name*, and
    whether the JSON was torn off before its end. "" without such a text.

    *is_offered_tool*: the call is of the offered tool, so a single text counts under whatever name,
    and so does prose in place of JSON.
    """
    arguments = arguments.lstrip(BLANK)
    try:
        value = read_json(_TRAILING_COMMA.sub(r"\1", arguments))
    except json.JSONDecodeError as error:
        if not arguments.startswith(("{", '"')):
            return (
                arguments if is_offered_tool else "",
                False,
            )  # prose where JSON belongs: it says what it says
        # broken at its very end, or in the middle of a string: the rest never came
        torn = error.msg.startswith("Unterminated") or error.pos >= len(arguments.rstrip()) - 12
        text, whole = _repair_argument_and_whether_whole(arguments, name)
        return text, torn and not whole
    except (ValueError, RecursionError):
        return "", False
    if isinstance(value, str) and value.lstrip(BLANK).startswith("{"):
        # encoded twice
        return (
            _read_argument_and_whether_torn(value, name, is_offered_tool)
            if value != arguments
            else (value if is_offered_tool else "", False)
        )
    if isinstance(value, str):
        return value if is_offered_tool else "", False
    if isinstance(value, dict):
        texts = [text for text in value.values() if isinstance(text, str)]
        chosen = value.get(name)
        # another argument name is taken for a mistake where there is only one text
        return chosen if isinstance(chosen, str) else texts[0] if is_offered_tool and len(
            texts
        ) == 1 else "", False
    return "", False


_TRAILING_COMMA = re.compile(r",\s{0,9}(\})\s{0,9}\Z")


def _repair_argument_and_whether_whole(arguments: str, name: str) -> tuple[str, bool]:
    """Return (text, whole) of the argument *name* in *arguments*, a tool call's JSON object that
    stops in its string, goes wrong after it, or has bare quotes in it; ("", False) if there is no
    such text.

    *whole* is whether the text is complete although quotes in it are bare. A quote that is not
    escaped must not end the text: a refusal would become its first half.
    """
    opened = re.match(rf'\s*\{{\s*"{re.escape(name)}"\s*:\s*(?=")', arguments)
    if not opened:
        return "", False
    body = arguments[opened.end() :]
    for end in range(len(body), max(len(body) - 6, 0), -1):  # a torn \uXXXX is at most 5 long
        try:
            text, stop = LENIENT.raw_decode(f'{body[:end]}"')
        except ValueError:
            continue
        if stop > end or _BEHIND.match(body, stop):
            return re.sub(r"[\ud800-\udbff]\Z", "", text), False  # half of a pair means nothing
        break
    whole = re.fullmatch(r'"(.*)"\s*\}\s*', body, re.DOTALL)
    try:
        return (
            (str(LENIENT.decode('"' + re.sub(r'(?<!\\)"', r"\"", whole[1]) + '"')), True)
            if whole
            else ("", False)
        )
    except ValueError:
        return "", False


# what stands after a string that has ended: the object's end, debris, or another key; no more of
# the words
_BEHIND = re.compile(r'\s*(?:\Z|\}(?!\s*")|<[^"]*\Z|,\s*(?:"[^"]*"\s*:|(?:"[^"]*"?\s*)?\Z))')


def _make_rejection(completion: Completion, content: str, cut_off: bool) -> Rejected:
    """Return the reason why *completion*, of which *content* is left, is no usable reply: debris,
    reasoning alone, or nothing.
    """
    if content:
        return Rejected("template debris or punctuation only", cut_off)
    return Rejected("reasoning only, nothing said" if completion.reasoning else "empty", cut_off)
