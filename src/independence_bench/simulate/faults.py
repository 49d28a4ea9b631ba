"""Everything that an endpoint can do wrong, by name: turns a correct completion into what goes over
the wire.

    Faults(rates={"rate-limit": 0.1, MIXED: 0.2}, script={7: "http-500"})

Pure: the module sends nothing, and draws only from the seed, the request, and how often the request
has come.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

from independence_bench.errors import WrongUse
from independence_bench.simulate.catalog import is_judge
from independence_bench.simulate.wire import (
    ReceivedRequest,
    SimulatedCompletion,
    draw_number,
    draw_option,
    make_error_body,
)

MIXED = "mixed"  # means every fault that a client should survive by asking again
RETRY_AFTER = "1"  # seconds


class Manner(Enum):
    """The way in which an answer is sent."""

    WHOLE = "whole"
    RESET = "the connection is cut before a word"
    RESET_INSIDE = "the connection is cut in the middle of the body"
    SILENCE = "nothing is ever sent"


@dataclass(frozen=True, slots=True)
class Sent:
    """An HTTP response, and the manner in which it is sent."""

    body: bytes = b""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)
    manner: Manner = Manner.WHOLE


Body = dict[str, Any]
# turns a completion into a response, or into another body that is sent as JSON
Spoil = Callable[[Body], Sent | Body]


@dataclass(frozen=True, slots=True)
class FaultRule:
    """One way in which an answer goes wrong."""

    spoil: Spoil
    # from which models a usable answer arrives all the same
    answers: Literal["never", "always", "judge"] = "never"
    paid: bool = True  # whether the endpoint charges for it
    told: bool = True  # whether the client is told what it was charged
    of_judges: bool = False  # whether it happens to judges only
    passing: bool = True  # whether asking again helps

    def can_affect(self, asked: ReceivedRequest) -> bool:
        """Return whether this fault can happen to the request *asked*: some faults happen to judges
        only.
        """
        return is_judge(asked.model) or not self.of_judges

    def has_usable_answer(self, asked: ReceivedRequest) -> bool:
        """Return whether a usable answer to the request *asked* arrives in spite of this fault."""
        return self.answers == "always" or (self.answers == "judge" and is_judge(asked.model))


def make_json_response(body: Any, status: int = 200, **headers: str) -> Sent:
    """Return the HTTP response with *body* as JSON. *headers*: further headers, whose names have
    underscores for hyphens.
    """
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Sent(json.dumps(body).encode(), status, (("Content-Type", "application/json"), *named))


# ---------------------------------------------------------------- the kinds of faults


def _make_status_fault(code: int, message: str, passing: bool = True, **headers: str) -> FaultRule:
    return FaultRule(
        lambda body: make_json_response(make_error_body(code, message), code, **headers),
        paid=False,
        passing=passing,
    )


def _make_manner_spoiler(manner: Manner) -> Spoil:
    return lambda body: Sent(json.dumps(body).encode(), manner=manner)


def _make_choice_spoiler(**changes: Any) -> Spoil:
    return lambda body: body | {"choices": [body["choices"][0] | changes]}


def _make_html_response(_body: Body) -> Sent:
    page = (
        b"<!doctype html><html><head><title>One moment</title></head><body><h1>Checking "
        b"you</h1></body></html>"
    )
    return Sent(page, headers=(("Content-Type", "text/html; charset=utf-8"),))


def _truncate_body(body: Body) -> Sent:
    data = json.dumps(body).encode()
    return Sent(data[: len(data) * 2 // 3])


def _make_verdict_spoiler(change: Callable[[dict[str, Any]], str]) -> Spoil:
    """Return a function that spoils a completion: it rewrites a judge's verdict in it by *change*,
    and leaves any other reply as it is.
    """

    def spoil_verdict(body: Body) -> Sent | Body:
        message = body["choices"][0]["message"]
        try:
            marks = json.loads(message["content"])
        except ValueError:
            return body
        return (
            _make_choice_spoiler(message=message | {"content": change(marks)})(body)
            if isinstance(marks, dict)
            else body
        )

    return spoil_verdict


def _write_prose(marks: dict[str, Any]) -> str:
    return (
        "I have read it all. "
        + "; ".join(f"for {name} I would say {value}" for name, value in marks.items())
        + "."
    )


FAULTS: Mapping[str, FaultRule] = {
    "rate-limit": _make_status_fault(429, "Slow down."),
    "rate-limit-after": _make_status_fault(429, "Slow down.", Retry_After=RETRY_AFTER),
    "http-402": _make_status_fault(402, "Insufficient credits.", passing=False),
    "http-500": _make_status_fault(500, "Internal server error."),
    "http-503": _make_status_fault(503, "No provider is available."),
    "reset": FaultRule(_make_manner_spoiler(Manner.RESET), paid=False),
    "reset-inside": FaultRule(_make_manner_spoiler(Manner.RESET_INSIDE), told=False),
    "silence": FaultRule(_make_manner_spoiler(Manner.SILENCE), paid=False, passing=False),
    "html": FaultRule(_make_html_response, paid=False),  # with status 200
    "truncated": FaultRule(_truncate_body, told=False),
    # an error in the body of a response with status 200
    "error-inside": FaultRule(
        lambda body: {
            "error": {"code": 502, "message": "The provider broke off."},
            "usage": body["usage"],
            "id": body["id"],
        }
    ),
    "no-choices": FaultRule(lambda body: body | {"choices": []}),
    "finish-length": FaultRule(_make_choice_spoiler(finish_reason="length"), "judge"),
    "finish-filter": FaultRule(_make_choice_spoiler(finish_reason="content_filter")),
    "empty": FaultRule(
        _make_choice_spoiler(finish_reason="stop", message={"role": "assistant", "content": ""})
    ),
    "usage-missing": FaultRule(
        lambda body: {key: body[key] for key in body if key != "usage"}, "always", told=False
    ),
    "judge-prose": FaultRule(_make_verdict_spoiler(_write_prose), of_judges=True),
    "judge-missing": FaultRule(
        _make_verdict_spoiler(lambda marks: json.dumps(dict(list(marks.items())[:-1]))),
        of_judges=True,
    ),
}


# ---------------------------------------------------------------- when they happen


@dataclass(frozen=True, slots=True)
class Faults:
    """Which request meets which fault: by *rates* (name or MIXED -> share) and by *script* (number
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

    def choose_fault(self, asked: ReceivedRequest, number: int, times: int, seed: int) -> str:
        """Return the name of the fault that the request *asked*, the *number*-th of all, meets; ""
        for none.

        *times* is how often the same request has come, this time included. A fault of judges
        happens to no other model.
        """
        if number in self.script:
            return self.script[number] if FAULTS[self.script[number]].can_affect(asked) else ""
        left = draw_number(seed, asked.hash, times, "fault") if self.rates else 1.0
        for name, rate in self.rates.items():
            if left < rate:
                if name == MIXED:
                    fitting = [
                        each
                        for each, fault in FAULTS.items()
                        if fault.passing and fault.can_affect(asked)
                    ]
                    return draw_option(fitting, seed, asked.hash, times, "which fault")
                return name if FAULTS[name].can_affect(asked) else ""
            left -= rate
        return ""


def spoil_completion(fault_name: str, made: SimulatedCompletion) -> Sent:
    """Return the HTTP response that is sent instead of the completion *made* under the fault called
    *fault_name*; the correct response if *fault_name* is "".
    """
    sent = FAULTS[fault_name].spoil(made.body) if fault_name else made.body
    return sent if isinstance(sent, Sent) else make_json_response(sent)


def parse_fault_script(text: str, where: str) -> dict[int, str]:
    """Return the faults in the script *text*, as number of a request -> name of its fault. Its
    lines are such as ``3 http-500`` or ``10-19 rate-limit``; ``#`` begins a comment.

    Raises WrongUse, which names the script (*where*) and the line, for any other line.
    """
    script: dict[int, str] = {}
    for at, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        numbers = re.fullmatch(r"([1-9][0-9]{0,8})(?:-([1-9][0-9]{0,8}))?", words[0])
        if len(words) != 2 or numbers is None or words[1] not in FAULTS:
            raise WrongUse(
                f"{where}, line {at}: write the number of a request and a fault (3 http-500, or "
                f"10-19 rate-limit); faults are {', '.join(FAULTS)}"
            )
        first, last = int(numbers[1]), int(numbers[2] or numbers[1])
        if last - first >= 1_000_000:
            raise WrongUse(
                f"{where}, line {at}: a range of over a million requests; use --fault NAME=RATE"
            )
        script |= dict.fromkeys(range(first, last + 1), words[1])
    return script
