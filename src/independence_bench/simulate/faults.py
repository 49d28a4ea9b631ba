"""Everything that an endpoint can do wrong, by name: an honest completion in, what goes over the wire out.

    Faults(rates={"rate-limit": 0.1, MIXED: 0.2}, script={7: "http-500"})

Pure: nothing is sent here, and nothing is drawn but from the seed, the request, and how often it was asked.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Any, Literal

from independence_bench.errors import WrongUse
from independence_bench.simulate.catalog import PROVIDERS, is_judge
from independence_bench.simulate.chance import choose, unit
from independence_bench.simulate.judge import read_fields
from independence_bench.simulate.wire import Asked, Made, error_body, tool_call

MIXED = "mixed"  # stands for every fault that a client should survive by asking again
HUGE = 900_000  # bytes; larger ones are not read
BOMB = 64 * 1024 * 1024  # bytes after decompression
RETRY_AFTER = "1"  # seconds
ELSEWHERE = "http://elsewhere.invalid/v1/chat/completions"


class Manner(Enum):
    """How an answer is sent."""

    WHOLE = "whole"
    RESET = "the connection is cut before a word"
    RESET_INSIDE = "the connection is cut in the middle of the body"
    SILENCE = "nothing is ever sent"
    DRIP = "a few bytes at a time"


@dataclass(frozen=True, slots=True)
class Sent:
    """What goes over the wire."""

    body: bytes = b""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)
    manner: Manner = Manner.WHOLE


Spoil = Callable[[dict[str, Any]], Sent]


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to go wrong."""

    about: str
    spoil: Spoil
    answers: Literal["never", "always", "subject", "judge"] = (
        "never"  # whether what arrives is an answer all the same, to whom
    )
    paid: bool = True  # whether the endpoint charges for it
    told: bool = True  # whether the client is told what it was charged
    fits: Callable[[Asked], bool] = lambda asked: True  # the requests that it can happen to
    passing: bool = True  # whether asking again helps

    def answer(self, asked: Asked) -> bool:
        """Whether what arrives is an answer to *asked*."""
        return self.answers in ("always", "judge" if is_judge(asked.model) else "subject")


def plain(body: Any, status: int = 200, **headers: str) -> Sent:
    """*body* as JSON; *headers* are written with underscores."""
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Sent(json.dumps(body).encode(), status, (("Content-Type", "application/json"), *named))


# ---------------------------------------------------------------- the ways


def _status(code: int, message: str, **headers: str) -> Spoil:
    return lambda body: plain(error_body(code, message), code, **headers)


def _manner(manner: Manner) -> Spoil:
    return lambda body: Sent(json.dumps(body).encode(), manner=manner)


def _with(**changes: Any) -> Spoil:
    """The completion with other values at its top level; None takes a key out."""
    return lambda body: plain({name: value for name, value in (body | changes).items() if value is not None})


def _finish(reason: str | None) -> Spoil:
    def spoil(body: dict[str, Any]) -> Sent:
        body["choices"][0]["finish_reason"] = reason
        return plain(body)

    return spoil


def _usage(change: Callable[[Any], Any]) -> Spoil:
    def spoil(body: dict[str, Any]) -> Sent:
        flat = {name: value for name, value in body["usage"].items() if not isinstance(value, dict)}
        return plain(body | {"usage": {name: change(value) for name, value in flat.items()}})

    return spoil


def _html(_body: dict[str, Any]) -> Sent:
    page = b"<!doctype html><html><head><title>One moment</title></head><body><h1>Checking you</h1></body></html>"
    return Sent(page, headers=(("Content-Type", "text/html; charset=utf-8"),))


def _truncated(body: dict[str, Any]) -> Sent:
    data = json.dumps(body).encode()
    return Sent(data[: len(data) * 2 // 3])


def _invalid_utf8(body: dict[str, Any]) -> Sent:
    """Bytes that are no UTF-8 in the middle of what is said."""
    data = json.dumps(body).encode()
    said = re.search(rb'"(?:content|arguments)": "(?:\{\\"\w+\\": \\")?', data)
    at = said.end() if said else 1
    return Sent(data[:at] + b"\xff\xfe " + data[at:])


def _error_inside(body: dict[str, Any]) -> Sent:
    return plain(error_body(502, "The provider broke off.") | {"usage": body["usage"], "id": body["id"]})


def _finish_error(body: dict[str, Any]) -> Sent:
    body["choices"][0] |= {"finish_reason": "error", "error": {"code": 502, "message": "The provider broke off."}}
    return plain(body)


def _empty(body: dict[str, Any]) -> Sent:
    body["choices"][0] |= {"finish_reason": "stop", "message": {"role": "assistant", "content": ""}}
    return plain(body)


def _calls(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Spoil:
    """The completion with its tool calls changed."""

    def spoil(body: dict[str, Any]) -> Sent:
        message = body["choices"][0]["message"]
        if message.get("tool_calls"):
            message["tool_calls"] = change(message["tool_calls"])
        return plain(body)

    return spoil


def _call_cut_off(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    function = calls[0]["function"]
    arguments = function["arguments"]
    return [tool_call(calls[0]["id"], function["name"], arguments[: max(len(arguments) * 2 // 3, 1)])]


def _call_object(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    function = calls[0]["function"]
    said = _said(function)
    return calls if said is None else [tool_call(calls[0]["id"], function["name"], dict([said]))]


def _call_wrong_name(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [tool_call(calls[0]["id"], "functions.reply_to_user", calls[0]["function"]["arguments"])]


def _two_calls(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same words, half of them in each of two calls."""
    name, said = calls[0]["function"]["name"], _said(calls[0]["function"])
    if said is None:
        return calls
    argument, text = said
    words = text.split(" ")
    halves = " ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :])
    return [tool_call(f"call{n:05d}", name, json.dumps({argument: half})) for n, half in enumerate(halves, 1)]


def _said(function: dict[str, Any]) -> tuple[str, str] | None:
    """(argument, text) of a tool call; None where the token limit has cut it off."""
    try:
        ((argument, text),) = json.loads(function["arguments"]).items()
    except ValueError:
        return None
    return argument, text


def _wrong_provider(body: dict[str, Any]) -> Sent:
    return plain(body | {"provider": next(name for name in PROVIDERS.values() if name != body["provider"])})


def _huge(body: dict[str, Any]) -> Sent:
    message = body["choices"][0]["message"]
    if message.get("tool_calls"):
        function = message["tool_calls"][0]["function"]
        argument, text = _said(function) or ("", function["arguments"])
        function["arguments"] = json.dumps({argument: _at_length(text)})
    else:
        message["content"] = _at_length(message["content"] or "")
    return plain(body)


def _at_length(text: str) -> str:
    return text + " and so on" * ((HUGE - len(text)) // 10)


def _bomb(_body: dict[str, Any]) -> Sent:
    return Sent(_bomb_data(), headers=(("Content-Type", "application/json"), ("Content-Encoding", "gzip")))


@lru_cache(maxsize=1)
def _bomb_data() -> bytes:
    return gzip.compress(b'{"choices": [' + b" " * BOMB, mtime=0)


def _redirect(_body: dict[str, Any]) -> Sent:
    return Sent(status=307, headers=(("Location", ELSEWHERE),))


def _verdict(change: Callable[[dict[str, Any]], str]) -> Spoil:
    """The completion with a judge's verdict written in another way; what is no verdict stays as it is."""

    def spoil(body: dict[str, Any]) -> Sent:
        message = body["choices"][0]["message"]
        try:
            marks = json.loads(message["content"])
        except ValueError:
            marks = None
        if isinstance(marks, dict):
            message["content"] = change(marks)
        return plain(body)

    return spoil


def _each(change: Callable[[Any], Any], of: type) -> Spoil:
    """The verdict with every mark of one kind changed (bool or float)."""

    def changed(value: Any) -> Any:
        fits = isinstance(value, bool) if of is bool else isinstance(value, int | float) and not isinstance(value, bool)
        return change(value) if fits else value

    return _verdict(lambda marks: json.dumps({name: changed(value) for name, value in marks.items()}))


def _prose(marks: dict[str, Any]) -> str:
    return "I have read it all. " + "; ".join(f"for {name} I would say {value}" for name, value in marks.items()) + "."


def _two_objects(marks: dict[str, Any]) -> str:
    return f"{json.dumps(marks)}\n{json.dumps(marks)}"


def _missing(marks: dict[str, Any]) -> str:
    return json.dumps(dict(list(marks.items())[:-1]))


def _judged(asked: Asked) -> bool:
    return is_judge(asked.model)


def _marked(*kinds: str) -> Callable[[Asked], bool]:
    return lambda asked: is_judge(asked.model) and any(mark.kind in kinds for mark in read_fields(asked))


def _called(asked: Asked) -> bool:
    return asked.tool is not None


def _pinned(asked: Asked) -> bool:
    return asked.provider is not None


FAULTS: Mapping[str, Fault] = {
    "rate-limit": Fault("429", _status(429, "Slow down."), paid=False),
    "rate-limit-after": Fault(
        "429 with Retry-After: 1", _status(429, "Slow down.", Retry_After=RETRY_AFTER), paid=False
    ),
    "http-402": Fault("402: no credits", _status(402, "Insufficient credits."), paid=False, passing=False),
    "http-402-after": Fault(
        "402 with Retry-After: 1", _status(402, "Settling the last payment.", Retry_After=RETRY_AFTER), paid=False
    ),
    "http-408": Fault("408", _status(408, "The request took too long."), paid=False),
    "http-500": Fault("500", _status(500, "Internal server error."), paid=False),
    "http-502": Fault("502", _status(502, "The provider is down."), paid=False),
    "http-503": Fault("503", _status(503, "No provider is available."), paid=False),
    "http-504": Fault("504", _status(504, "The provider did not answer in time."), paid=False),
    "http-529": Fault("529", _status(529, "The provider is overloaded."), paid=False),
    "reset": Fault("connection cut before the answer", _manner(Manner.RESET), paid=False),
    "reset-inside": Fault("connection cut in the middle of the body", _manner(Manner.RESET_INSIDE), told=False),
    "silence": Fault("never answers", _manner(Manner.SILENCE), paid=False, passing=False),
    "drip": Fault("the body in 20 pieces, with waits", _manner(Manner.DRIP), "always"),
    "html": Fault("an HTML page with status 200", _html, paid=False),
    "truncated": Fault("JSON that stops", _truncated, told=False),
    "invalid-utf8": Fault("bytes that are no UTF-8 in the words", _invalid_utf8, "always"),
    "error-inside": Fault("an error inside a 200", _error_inside),
    "no-choices": Fault("no choices", _with(choices=[])),
    "finish-error": Fault("finish_reason error", _finish_error),
    "finish-length": Fault("finish_reason length", _finish("length"), "judge"),
    "finish-filter": Fault("finish_reason content_filter", _finish("content_filter")),
    "finish-null": Fault("finish_reason null", _finish(None), "always"),
    "empty": Fault("nothing said", _empty),
    "tool-cut-off": Fault("tool arguments that stop", _calls(_call_cut_off), fits=_called),
    "tool-object": Fault("tool arguments as an object", _calls(_call_object), "always", fits=_called),
    "tool-wrong-name": Fault("a call of another tool", _calls(_call_wrong_name), "always", fits=_called),
    "tool-two-calls": Fault("the words in two calls", _calls(_two_calls), "always", fits=_called),
    "usage-missing": Fault("no usage", _with(usage=None), "always", told=False),
    "usage-negative": Fault("usage below zero", _usage(lambda value: -1 - value), "always", told=False),
    "usage-strings": Fault("usage as strings", _usage(str), "always", told=False),
    "wrong-provider": Fault("served by another than the pinned one", _wrong_provider, fits=_pinned),
    "huge": Fault("a reply of nearly 1 MB", _huge, "subject", passing=False),
    "gzip-bomb": Fault("64 MB in a few kB", _bomb, told=False, passing=False),
    "redirect": Fault("307 to another host", _redirect, paid=False, passing=False),
    "judge-prose": Fault("a verdict in prose", _verdict(_prose), fits=_judged),
    "judge-fenced": Fault(
        "a verdict in a code fence",
        _verdict(lambda marks: f"```json\n{json.dumps(marks)}\n```"),
        "always",
        fits=_judged,
    ),
    "judge-two-objects": Fault("two verdicts", _verdict(_two_objects), fits=_judged),
    "judge-nested": Fault(
        "a verdict inside another object", _verdict(lambda marks: json.dumps({"marks": marks})), fits=_judged
    ),
    "judge-strings": Fault("numbers as strings", _each(str, float), fits=_marked("number", "whole")),
    "judge-of-ten": Fault('"8/10"', _each(lambda value: "8/10", float), fits=_marked("number", "whole")),
    "judge-beyond": Fault("95 on a scale of 10", _each(lambda value: 95, float), fits=_marked("number", "whole")),
    "judge-missing": Fault("a mark is missing", _verdict(_missing), fits=_judged),
    "judge-words": Fault(
        "yes/no as words", _each(lambda value: "yes" if value else "no", bool), fits=_marked("yes_no")
    ),
}


# ---------------------------------------------------------------- when they happen


@dataclass(frozen=True, slots=True)
class Faults:
    """Which request meets which fault: by *rate* (name or MIXED -> share) and by *script* (number -> name)."""

    rates: Mapping[str, float] = field(default_factory=dict)
    script: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in (*self.rates, *self.script.values()):
            if name not in FAULTS and not (name == MIXED and name in self.rates):
                raise WrongUse(f"there is no fault {name}; there are {MIXED} (rates only), {', '.join(FAULTS)}")
        if any(not 0 <= rate <= 1 for rate in self.rates.values()) or sum(self.rates.values()) > 1 + 1e-9:
            raise WrongUse("rates of faults are shares between 0 and 1, and at most 1 together")

    def of(self, asked: Asked, number: int, times: int, seed: int) -> str:
        """The fault that request *number* meets; "" for none.

        *times* is how often this very request has come, this time included. A fault that cannot happen to
        it (one of tool calls, where no tool is offered) does not.
        """
        if number in self.script:
            return self.script[number] if FAULTS[self.script[number]].fits(asked) else ""
        left = unit(seed, asked.hash, times, "fault") if self.rates else 1.0
        for name, rate in self.rates.items():
            if left < rate:
                if name == MIXED:
                    fitting = [each for each, fault in FAULTS.items() if fault.passing and fault.fits(asked)]
                    return choose(fitting, seed, asked.hash, times, "which fault")
                return name if FAULTS[name].fits(asked) else ""
            left -= rate
        return ""


def spoiled(name: str, made: Made) -> Sent:
    """What is sent instead of *made* where the fault *name* happens; "" for the honest answer."""
    return FAULTS[name].spoil(made.body) if name else plain(made.body)


def read_script(text: str, where: str) -> dict[int, str]:
    """The script in *text*: lines such as ``3 http-500`` or ``10-19 rate-limit``, ``#`` begins a remark.

    Raises WrongUse naming *where* and the line.
    """
    script: dict[int, str] = {}
    for at, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        numbers = re.fullmatch(r"([1-9][0-9]{0,8})(?:-([1-9][0-9]{0,8}))?", words[0])
        if len(words) != 2 or numbers is None or words[1] not in FAULTS:
            raise WrongUse(
                f"{where}, line {at}: write the number of a request and a fault (3 http-500, or 10-19 rate-limit); "
                f"faults are {', '.join(FAULTS)}"
            )
        first, last = int(numbers[1]), int(numbers[2] or numbers[1])
        if last - first >= 1_000_000:
            raise WrongUse(f"{where}, line {at}: a range of over a million requests; use --fault NAME=RATE")
        script |= dict.fromkeys(range(first, last + 1), words[1])
    return script
