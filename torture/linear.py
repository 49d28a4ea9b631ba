"""Time by size: every pattern and parser that foreign text meets, on text that is made to keep it
busy.

    python torture/linear.py [--size CHARACTERS] [NAME]...

Each is given text of one character, sign or word over and over, without and with another character
at its end, and of two of them in turn, and must take less than a second of CPU for the whole size
(`LIMIT`). Patterns are found by looking: every compiled pattern in every module of the package.
Parsers are listed below. Exit code 1 where one takes longer.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache, partial
from itertools import islice, permutations
from math import log
from typing import Any

import independence_bench
from independence_bench.escape import Secrets, escape_text
from independence_bench.judging.embedded.judge import (
    LONGEST,
    read_ai_or_human_claim,
    read_position,
)
from independence_bench.judging.embedded.name_rules import (
    Choice,
    read_final_choice,
    read_first_choice,
)
from independence_bench.judging.embedded.reading import JudgedWords, extract_features
from independence_bench.judging.output import parse_verdict
from independence_bench.judging.prompt import as_text
from independence_bench.models.markup import (
    LONGEST_TOKEN,
    cut_and_trim_turn,
    find_leftover_tokens,
    split_words_and_calls,
    split_words_and_thoughts,
)
from independence_bench.models.messages import Completion, Fault
from independence_bench.models.response import read_completion, read_model_list, shorten_line
from independence_bench.personas.macros import MacroFiller
from independence_bench.personas.sentences import is_whole_sentence
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.delivery import read_reply
from independence_bench.protocol.loader import load_protocol

SIZE = 200_000
LIMIT = 1.0  # seconds of CPU
LONGEST_TRY = 10 * LIMIT
# parts of the size, one after the other: the whole of what is slow may take hours
STEP = 4
SHARES = tuple(STEP**power for power in range(4, -1, -1))
MARGIN = 0.4  # added to the power with which time was seen to grow with the size
MOST_TOLD = 4  # inputs, of each pattern
# pattern -> characters of the longest text that it is used on: a file's name, the part of a reply
# that the embedded judge reads, or the end of a reply
SHORT = {
    "dataset.published_format._FOLDER[0]": 250,
    "judging.embedded.judge._QUOTATION[0]": LONGEST,
    "judging.embedded.judge._REFUSES[0]": LONGEST,
    "models.markup._TOKEN_LAST[0]": LONGEST_TOKEN,
    "models.markup._ANSWER_LAST[0]": LONGEST_TOKEN,
    "models.markup._BEFORE_CALL[0]": LONGEST_TOKEN,
}
# only matched at a place that was found, and never searched for
AT_A_PLACE = frozenset(
    {
        "models.markup._MORE_ON_LINE[0]",
        "models.served._FILE[0]",
        "personas.macros._BEGINS[0]",
        "protocol.delivery._BEHIND[0]",
        "protocol.reader.PLAIN_PATH[0]",
    }
)
ASCII = [chr(n) for n in range(0x20, 0x7F)]
SIGNS = [*"\n\t\r\0\x1bé—“”’…，ｘ\u200d\u0301\ud800😀中"]
WORDS = [
    *(
        "<think>",
        "</think>",
        "<|im_end|>",
        "<tool_call>",
        "</tool_call>",
        "```",
        "```json\n",
        "\n```",
        "...",
        "[…]",
    ),
    *(
        "I am ",
        "I'm ",
        "My name is ",
        "name",
        "Nova ",
        "Nova",
        "**",
        "**Nova**",
        "not ",
        "no ",
        "female",
        "they/them",
    ),
    *(
        "{{",
        "}}",
        "{{ a",
        "---\n",
        "\\u00",
        "\\ud800",
        "%25",
        "&#0",
        "&#x",
        "&amp;",
        '{"',
        '":',
        '",',
        '\\"',
        "://",
    ),
    *('"arguments": ', "a_", "> ", "- ", "1. ", "Lines that begin with ", "Your marks are about "),
]
UNLIKE = "\0"  # at the end of what is repeated: a pattern that ends there is tried from every place


def patterns() -> dict[str, Callable[[str], object]]:
    """Every compiled pattern of the package by its place, as a function that looks for all that it
    matches.
    """
    found: dict[str, Callable[[str], object]] = {}
    for info in pkgutil.walk_packages(independence_bench.__path__, "independence_bench."):
        if info.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(info.name)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("independence_bench"):
                raise
            print(f"{info.name}: not looked at, {error.name} is not installed", flush=True)
            continue
        for name, value in vars(module).items():
            for number, pattern in enumerate(_patterns_in(value)):
                place = f"{info.name.partition('.')[2]}.{name}[{number}]"
                found[place] = pattern.match if place in AT_A_PLACE else _looking(pattern)
    if gone := (SHORT.keys() | AT_A_PLACE) - found.keys():
        raise LookupError(f"no such pattern: {', '.join(sorted(gone))}")
    return found


def _patterns_in(value: Any) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _patterns_in(one)
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _patterns_in(one)


def _looking(pattern: re.Pattern[Any]) -> Callable[[str], object]:
    def look(text: str) -> None:
        given = (
            text.encode("utf-8", "surrogatepass") if isinstance(pattern.pattern, bytes) else text
        )
        for _ in pattern.finditer(given):
            pass
        pattern.fullmatch(given)

    return look


def parsers() -> dict[str, Callable[[str], object]]:
    """What reads replies, lists, judges' replies and errors, each from the text that a stranger
    chose.
    """

    secrets = Secrets()
    secrets.learn_secret("sk-or-v1-0123456789abcdef0123456789abcdef")
    protocol = load_protocol("v2")
    marks = protocol.scenarios[0].marks
    own_name = replace(protocol.scenarios[0], own_name="Nova")
    own_words = replace(protocol.scenarios[0], words=("rain", "I am"), instead=("sun", "no"))
    chosen = Choice("Nova", "female", "chosen", "chosen")
    return {
        "body": lambda text: read_completion(_data(text), 200, None),
        "error body": lambda text: read_completion(_data(text), 400, None),
        "reply": lambda text: _replied(text),
        "error message": lambda text: read_completion(
            json.dumps({"error": {"message": text}}).encode(), 502, None
        ),
        "thoughts": split_words_and_thoughts,
        "own turn": cut_and_trim_turn,
        "calls in the text": lambda text: split_words_and_calls(text, protocol.tool_role.name),
        "what remains": find_leftover_tokens,
        "call": lambda text: _called(text, protocol),
        "call, inside": lambda text: _called(
            f'{{"{protocol.tool_role.argument}": "{text}', protocol
        ),
        "judge's reply": lambda text: parse_verdict(text, marks),
        "judge's reply, inside": lambda text: parse_verdict(
            f'{{"analysis": {json.dumps(text)}', marks
        ),
        "first name": read_first_choice,
        "last name": lambda text: read_final_choice(text, chosen),
        "embedded judge, table": lambda text: extract_features(JudgedWords(text, text, text)),
        "embedded judge, own name": lambda text: read_position(text, own_name),
        "embedded judge, own words": lambda text: read_position(text, own_words),
        "embedded judge, nature": read_ai_or_human_claim,
        "conversation for the judge": as_text,
        "models": lambda text: read_model_list({"data": [{"id": text, "root": text}]}),
        "secrets": lambda text: secrets.redact_secrets_and_logins(
            text + "sk-or-v1-0123456789abcdef0123456789abcdef"
        ),
        "shown": escape_text,
        "one line": lambda text: shorten_line(text, 200),
        "macros": lambda text: MacroFiller("Nova").fill(text),
        "macros, inside": lambda text: MacroFiller("Nova").fill(f"{{{{random::{text}}}}}"),
        "sentence": lambda text: is_whole_sentence(text, "en", "Nova"),
    }


def _data(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _replied(text: str) -> object:
    return _completed({"content": text})


def _called(arguments: str, protocol: Protocol) -> object:
    called = {"name": protocol.tool_role.name, "arguments": arguments}
    call = {"id": "call_1", "type": "function", "function": called}
    completion = _completed({"content": "", "tool_calls": [call]})
    if isinstance(completion, Fault):
        return completion
    return read_reply(completion, "tool_role", protocol.tool_role)


def _completed(message: Mapping[str, object]) -> Completion | Fault:
    choice = {"message": message, "finish_reason": "stop"}
    return read_completion(json.dumps({"choices": [choice]}).encode(), 200, None)


class _TooLong(BaseException):
    pass


def _stop(*_: object) -> None:
    raise _TooLong


def seconds(look: Callable[[str], object], text: str) -> float:
    """Of CPU that *look* takes for *text*. It is stopped after `LONGEST_TRY`, since the time of
    some patterns doubles with each character.
    """
    begun = time.process_time()
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, LONGEST_TRY)
    try:
        look(text)
    except _TooLong:
        pass
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return time.process_time() - begun


def inputs() -> Iterator[tuple[str, str]]:
    """What is repeated, and what stands at its end."""
    ones = [*ASCII, *SIGNS, *WORDS]
    yield from ((one, end) for one in ones for end in ("", UNLIKE))
    yield from (("".join(pair), "") for pair in permutations(ones, 2))


def slow_inputs(look: Callable[[str], object], size: int) -> Iterator[tuple[str, float, int]]:
    """What *look* takes longer for than `LIMIT`, the seconds that it took, and for how many
    characters.
    """
    for piece, end in inputs():
        text = piece * (size // len(piece) + 1)
        before = 0.0
        for share in SHARES:
            part = text[: max(0, size // share - len(end))] + end
            took = seconds(look, part)
            if took > LIMIT:  # what was an accident is not so three times
                took = min(took, *(seconds(look, part) for _ in range(3)))
            if took > LIMIT:
                yield piece + end, took, len(part)
                break
            # as the time grew up to here, and somewhat faster; from one size alone, with the square
            power = log(took / before, STEP) + MARGIN if before and took else 2.0
            if took * share ** max(power, 1 + MARGIN) < LIMIT:
                break
            before = took


@cache
def every_look() -> Mapping[str, Callable[[str], object]]:
    """All patterns and parsers, by their names."""
    return {**patterns(), **parsers()}


def try_one(name: str, size: int) -> list[tuple[str, float, int]]:
    """The first slow inputs (`slow_inputs`) of the pattern or parser *name*."""
    return list(islice(slow_inputs(every_look()[name], SHORT.get(name, size)), MOST_TOLD))


def main(arguments: Sequence[str]) -> int:
    """Try all of them, and say which are slow on what."""
    parser = argparse.ArgumentParser(description="Time by size of every pattern and parser.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="parts of names (default: all)")
    parser.add_argument("--size", type=int, default=SIZE, help=f"characters (default: {SIZE:,})")
    chosen = parser.parse_args(arguments)
    names = [
        name
        for name in every_look()
        if not chosen.names or any(part in name for part in chosen.names)
    ]
    slow = 0
    with ProcessPoolExecutor() as pool:  # CPU time is counted by process
        every = pool.map(partial(try_one, size=chosen.size), names)
        for name, found in zip(names, every, strict=True):
            slow += bool(found)
            print(f"{name}: {f'{len(found)} inputs are slow' if found else 'linear'}", flush=True)
            for piece, took, many in found:
                print(f"  {took:.3f} s of CPU for {many:,} characters of {piece!r}", flush=True)
    print(f"{len(names)} patterns and parsers, {slow} of them slow")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
