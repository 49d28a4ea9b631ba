"""Everything that an endpoint can do wrong, by name: an honest completion in, what goes over the
wire out.

    Faults(rates={"rate-limit": 0.1, MIXED: 0.2}, script={7: "http-500"})

Pure: nothing is sent here, and nothing is drawn but from the seed, the request, and how often it
was asked.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache
from typing import Any, AnyStr, Literal

from independence_bench.errors import WrongUse
from independence_bench.simulate.catalog import PROVIDERS, is_judge
from independence_bench.simulate.judge import read_fields
from independence_bench.simulate.wire import (
    Made,
    ReceivedRequest,
    choose,
    error_body,
    tool_call,
    unit,
)

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


Body = dict[str, Any]
# a completion -> what is sent, or another body that is sent as JSON
Spoil = Callable[[Body], Sent | Body]


@dataclass(frozen=True, slots=True)
class FaultRule:
    """One way to go wrong."""

    spoil: Spoil
    # whether an answer arrives all the same, to whom
    answers: Literal["never", "always", "subject", "judge"] = "never"
    paid: bool = True  # whether the endpoint charges for it
    told: bool = True  # whether the client is told what it was charged
    # the requests that it can happen to
    fits: Callable[[ReceivedRequest], bool] = lambda asked: True
    passing: bool = True  # whether asking again helps

    def answer(self, asked: ReceivedRequest) -> bool:
        """Whether what arrives is an answer to *asked*."""
        return self.answers in ("always", "judge" if is_judge(asked.model) else "subject")


def plain(body: Any, status: int = 200, **headers: str) -> Sent:
    """*body* as JSON; *headers* are written with underscores."""
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Sent(json.dumps(body).encode(), status, (("Content-Type", "application/json"), *named))


# ---------------------------------------------------------------- the ways


def _status(code: int, message: str, passing: bool = True, **headers: str) -> FaultRule:
    return FaultRule(
        lambda body: plain(error_body(code, message), code, **headers), paid=False, passing=passing
    )


def _manner(manner: Manner) -> Spoil:
    return lambda body: Sent(json.dumps(body).encode(), manner=manner)


def _choice(**changes: Any) -> Spoil:
    return lambda body: body | {"choices": [body["choices"][0] | changes]}


def _usage(change: Callable[[Any], Any]) -> Spoil:
    """The completion with every number of its usage changed, and without those inside of others."""
    return lambda body: (
        body
        | {
            "usage": {
                name: change(value)
                for name, value in body["usage"].items()
                if not isinstance(value, dict)
            }
        }
    )


def _html(_body: Body) -> Sent:
    page = b"<!doctype html><html><head><title>One moment</title></head><body><h1>Checking you</h1></body></html>"
    return Sent(page, headers=(("Content-Type", "text/html; charset=utf-8"),))


def _first_part(text: AnyStr) -> AnyStr:
    return text[: max(len(text) * 2 // 3, 1)]


def _invalid_utf8(body: Body) -> Sent:
    """Bytes that are no UTF-8 in the middle of what is said."""
    data = json.dumps(body).encode()
    words = re.search(rb'"(?:content|arguments)": "(?:\{\\"\w+\\": \\")?', data)
    at = words.end() if words else 1
    return Sent(data[:at] + b"\xff\xfe " + data[at:])


def _wrong_provider(body: Body) -> Body:
    return body | {
        "provider": next(name for name in PROVIDERS.values() if name != body["provider"])
    }


@cache
def _bomb() -> Sent:
    data = gzip.compress(b'{"choices": [' + b" " * BOMB, mtime=0)
    return Sent(data, headers=(("Content-Type", "application/json"), ("Content-Encoding", "gzip")))


def _calls(change: Callable[[str, str], list[tuple[str, object]]]) -> Spoil:
    """The completion with its tool call, (name, arguments), changed into others."""

    def spoil(body: Body) -> Sent | Body:
        message = body["choices"][0]["message"]
        if not message.get("tool_calls"):
            return body
        function = message["tool_calls"][0]["function"]
        calls = enumerate(change(function["name"], function["arguments"]), 1)
        called = [
            tool_call(f"call{number:05d}", name, arguments) for number, (name, arguments) in calls
        ]
        return _choice(message=message | {"tool_calls": called})(body)

    return spoil


def _two_calls(name: str, arguments: str) -> list[tuple[str, object]]:
    """The same words, half of them in each of two calls."""
    if not (parsed := _parsed(arguments)):
        return [(name, arguments)]
    ((argument, text),) = parsed.items()
    words = text.split(" ")
    halves = words[: len(words) // 2], words[len(words) // 2 :]
    return [(name, json.dumps({argument: " ".join(half)})) for half in halves]


def _parsed(arguments: str) -> dict[str, str]:
    """The argument of a tool call and its text; nothing where the token limit has cut it off."""
    try:
        parsed: dict[str, str] = json.loads(arguments)
    except ValueError:
        return {}
    return parsed


def _huge(body: Body) -> Sent | Body:
    message = body["choices"][0]["message"]
    if message.get("tool_calls"):
        return _calls(_huge_call)(body)
    return _choice(message=message | {"content": _at_length(message["content"] or "")})(body)


def _huge_call(name: str, arguments: str) -> list[tuple[str, object]]:
    parsed = _parsed(arguments) or {"": arguments}
    return [(name, json.dumps({argument: _at_length(text) for argument, text in parsed.items()}))]


def _at_length(text: str) -> str:
    return text + " and so on" * ((HUGE - len(text)) // 10)


def _verdict(change: Callable[[dict[str, Any]], str]) -> Spoil:
    """The completion with a judge's verdict written in another way; any other reply stays as it is."""

    def spoil(body: Body) -> Sent | Body:
        message = body["choices"][0]["message"]
        try:
            marks = json.loads(message["content"])
        except ValueError:
            return body
        return (
            _choice(message=message | {"content": change(marks)})(body)
            if isinstance(marks, dict)
            else body
        )

    return spoil


def _each(kind: Literal["number", "yes_no"], change: Callable[[Any], Any]) -> FaultRule:
    """The verdict with every mark of one kind changed."""

    def changed(value: Any) -> Any:
        fits = isinstance(value, bool) if kind == "yes_no" else type(value) in (int, float)
        return change(value) if fits else value

    def has_one(asked: ReceivedRequest) -> bool:
        kinds = ("yes_no",) if kind == "yes_no" else ("number", "whole")
        return is_judge(asked.model) and any(mark.kind in kinds for mark in read_fields(asked))

    spoil = _verdict(
        lambda marks: json.dumps({name: changed(value) for name, value in marks.items()})
    )
    return FaultRule(spoil, fits=has_one)


def _prose(marks: dict[str, Any]) -> str:
    return (
        "I have read it all. "
        + "; ".join(f"for {name} I would say {value}" for name, value in marks.items())
        + "."
    )


def _judged(asked: ReceivedRequest) -> bool:
    return is_judge(asked.model)


def _called(asked: ReceivedRequest) -> bool:
    return asked.tool is not None


_BROKE_OFF = {"code": 502, "message": "The provider broke off."}
FAULTS: Mapping[str, FaultRule] = {
    "rate-limit": _status(429, "Slow down."),
    "rate-limit-after": _status(429, "Slow down.", Retry_After=RETRY_AFTER),
    "http-402": _status(402, "Insufficient credits.", passing=False),
    "http-402-after": _status(402, "Settling the last payment.", Retry_After=RETRY_AFTER),
    "http-408": _status(408, "The request took too long."),
    "http-500": _status(500, "Internal server error."),
    "http-502": _status(502, "The provider is down."),
    "http-503": _status(503, "No provider is available."),
    "http-504": _status(504, "The provider did not answer in time."),
    "http-529": _status(529, "The provider is overloaded."),
    "reset": FaultRule(_manner(Manner.RESET), paid=False),
    "reset-inside": FaultRule(_manner(Manner.RESET_INSIDE), told=False),
    "silence": FaultRule(_manner(Manner.SILENCE), paid=False, passing=False),
    "drip": FaultRule(_manner(Manner.DRIP), "always"),
    "html": FaultRule(_html, paid=False),  # with status 200
    "truncated": FaultRule(lambda body: Sent(_first_part(json.dumps(body).encode())), told=False),
    "invalid-utf8": FaultRule(_invalid_utf8, "always"),
    # of a 200
    "error-inside": FaultRule(
        lambda body: {"error": _BROKE_OFF, "usage": body["usage"], "id": body["id"]}
    ),
    "no-choices": FaultRule(lambda body: body | {"choices": []}),
    "finish-error": FaultRule(_choice(finish_reason="error", error=_BROKE_OFF)),
    "finish-length": FaultRule(_choice(finish_reason="length"), "judge"),
    "finish-filter": FaultRule(_choice(finish_reason="content_filter")),
    "finish-null": FaultRule(_choice(finish_reason=None)),
    "empty": FaultRule(_choice(finish_reason="stop", message={"role": "assistant", "content": ""})),
    "tool-cut-off": FaultRule(_calls(lambda name, text: [(name, _first_part(text))]), fits=_called),
    # arguments as an object
    "tool-object": FaultRule(
        _calls(lambda name, text: [(name, _parsed(text) or text)]), "always", fits=_called
    ),
    "tool-wrong-name": FaultRule(
        _calls(lambda _, text: [("functions.reply_to_user", text)]), "always", fits=_called
    ),
    "tool-two-calls": FaultRule(_calls(_two_calls), "always", fits=_called),
    "usage-missing": FaultRule(
        lambda body: {key: body[key] for key in body if key != "usage"}, "always", told=False
    ),
    "usage-negative": FaultRule(_usage(lambda value: -1 - value), "always", told=False),
    "usage-strings": FaultRule(_usage(str), "always"),
    # not the pinned one
    "wrong-provider": FaultRule(_wrong_provider, fits=lambda asked: asked.provider is not None),
    "huge": FaultRule(_huge, "subject", passing=False),
    "gzip-bomb": FaultRule(lambda _: _bomb(), told=False, passing=False),
    "redirect": FaultRule(
        lambda _: Sent(status=307, headers=(("Location", ELSEWHERE),)), paid=False, passing=False
    ),
    "judge-prose": FaultRule(_verdict(_prose), fits=_judged),
    "judge-fenced": FaultRule(
        _verdict(lambda marks: f"```json\n{json.dumps(marks)}\n```"), "always", fits=_judged
    ),
    "judge-two-objects": FaultRule(
        _verdict(lambda marks: f"{json.dumps(marks)}\n{json.dumps(marks)}"), fits=_judged
    ),
    "judge-nested": FaultRule(_verdict(lambda marks: json.dumps({"marks": marks})), fits=_judged),
    "judge-strings": _each("number", str),
    "judge-of-ten": _each("number", lambda value: "8/10"),
    "judge-beyond": _each("number", lambda value: 95),
    "judge-missing": FaultRule(
        _verdict(lambda marks: json.dumps(dict(list(marks.items())[:-1]))), fits=_judged
    ),
    "judge-words": _each("yes_no", lambda value: "yes" if value else "no"),
}


# ---------------------------------------------------------------- when they happen


@dataclass(frozen=True, slots=True)
class Faults:
    """Which request meets which fault: by *rate* (name or MIXED -> share) and by *script* (number
    -> name).
    """

    rates: Mapping[str, float] = field(default_factory=dict)
    script: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in (*self.rates, *self.script.values()):
            if name not in FAULTS and not (name == MIXED and name in self.rates):
                raise WrongUse(
                    f"there is no fault {name}; there are {MIXED} (rates only), {', '.join(FAULTS)}"
                )
        if (
            any(not 0 <= rate <= 1 for rate in self.rates.values())
            or sum(self.rates.values()) > 1 + 1e-9
        ):
            raise WrongUse("rates of faults are shares between 0 and 1, and at most 1 together")

    def fault_for(self, asked: ReceivedRequest, number: int, times: int, seed: int) -> str:
        """The fault that request *number* meets; "" for none.

        *times* is how often this very request has come, this time included. A fault that cannot
        happen to it (one of tool calls, where no tool is offered) does not.
        """
        if number in self.script:
            return self.script[number] if FAULTS[self.script[number]].fits(asked) else ""
        left = unit(seed, asked.hash, times, "fault") if self.rates else 1.0
        for name, rate in self.rates.items():
            if left < rate:
                if name == MIXED:
                    fitting = [
                        each
                        for each, fault in FAULTS.items()
                        if fault.passing and fault.fits(asked)
                    ]
                    return choose(fitting, seed, asked.hash, times, "which fault")
                return name if FAULTS[name].fits(asked) else ""
            left -= rate
        return ""


def spoiled(name: str, made: Made) -> Sent:
    """What is sent instead of *made* where the fault *name* happens; "" for the honest answer."""
    sent = FAULTS[name].spoil(made.body) if name else made.body
    return sent if isinstance(sent, Sent) else plain(sent)


def read_script(text: str, where: str) -> dict[int, str]:
    """The script in *text*: lines such as ``3 http-500`` or ``10-19 rate-limit``, ``#`` begins a
    remark.

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
            raise WrongUse(
                f"{where}, line {at}: a range of over a million requests; use --fault NAME=RATE"
            )
        script |= dict.fromkeys(range(first, last + 1), words[1])
    return script


def in_pieces(sent: Sent) -> Sent:
    """*sent* as an event stream, a word a piece; as it is where it is no reply."""
    try:
        value = json.loads(sent.body)
        choice = value["choices"][0]
        message, reason = choice["message"], choice["finish_reason"]
        words = re.split(r"(?<=\s)", message.get("content") or "")
    except (ValueError, TypeError, LookupError, AttributeError):
        return sent
    calls = [{**call, "index": index} for index, call in enumerate(message.get("tool_calls") or ())]
    rest = {name: text for name, text in message.items() if name not in ("content", "tool_calls")}
    deltas = [
        rest,
        *({"content": word} for word in words if word),
        *([{"tool_calls": calls}] if calls else []),
    ]
    top = {name: told for name, told in value.items() if name not in ("choices", "usage")}
    chunks = [
        {**top, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in deltas
    ]
    chunks.append(
        {
            **top,
            "choices": [{"index": 0, "delta": {}, "finish_reason": reason}],
            "usage": value.get("usage"),
        }
    )
    events = [*(json.dumps(chunk) for chunk in chunks), "[DONE]"]
    body = "".join(f"data: {event}\n\n" for event in events).encode()
    return replace(sent, body=body, headers=(("Content-Type", "text/event-stream"),))
