"""Reads what an endpoint sends back: a reply (bytes -> a `Completion` or a `Fault`), and its lists
of models.

An answer from an endpoint is hostile: nothing in it is trusted to have the right type, to be small
or to be there. Knows no HTTP and asks nothing again; never raises, whatever the bytes are.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from independence_bench.errors import SubjectError
from independence_bench.escape import SENT
from independence_bench.hashing import hash_content
from independence_bench.models.abilities import (
    NOTHING_REFUSED,
    find_least_effort_above_off,
    read_refusal,
)
from independence_bench.models.failure import classify_error, describe_remedy, find_page_title
from independence_bench.models.markup import split_words_and_thoughts
from independence_bench.models.messages import (
    Completion,
    Ending,
    Fault,
    Kind,
    ToolCall,
    Usage,
    find_ending,
)
from independence_bench.models.spec import AUTO, Reasoning
from independence_bench.models.stream import StreamedReply, find_error, read_words_and_thoughts

Json = Mapping[str, Any]

# The names in a reply. What is called like one of them cannot be taken out of it without breaking
# it.
FIELDS = frozenset(
    {
        *(
            "provider",
            "choices",
            "message",
            "content",
            "refusal",
            "reasoning",
            "reasoning_content",
            "tool_calls",
        ),
        *(
            "reasoning_details",
            "function",
            "arguments",
            "finish_reason",
            "prompt_tokens",
            "completion_tokens",
        ),
        *(
            "total_tokens",
            "reasoning_tokens",
            "cached_tokens",
            "cost_details",
            "completion_tokens_details",
        ),
        *(
            "prompt_tokens_details",
            "upstream_inference_cost",
            "is_byok",
            "metadata",
            "provider_name",
            "assistant",
        ),
        *("length", "object", "created", "system_fingerprint", "logprobs"),
    }
)
LARGEST_COUNT = 2**31 - 1  # of tokens; every database has a column for it
LONGEST_MESSAGE = 300  # characters of what is shown of an error
LONGEST_REFUSAL = 4000  # characters of an error that are searched for what it refuses
NOT_OF_A_PART = frozenset({401, 402, 403, 405, 413})  # statuses of a refusal of the whole request


def get_nested_value(value: Any, *path: str | int) -> Any:
    """Return the value at *path*, keys and indices, inside *value*, an endpoint's JSON; None if
    there is nothing.
    """
    for step in path:
        try:
            value = value[step]
        except (TypeError, LookupError):
            return None
    return value


def read_completion(
    body: bytes, status: int, retry_after: float | None, seconds: float = 0.0
) -> Completion | Fault:
    """Return the reply that *body*, an endpoint's answer with the HTTP *status*, holds, or a
    `Fault` that says what is wrong. Never raises, whatever the bytes are.

    *seconds* is how long the answer took, *retry_after* how many seconds the endpoint asks to wait
    (None: it does not). A fault keeps the usage that came with the answer: a rejected attempt can
    have cost money.
    """
    raw = body.decode("utf-8", "replace")
    try:
        parsed = _read_strict_json(body)
        if parsed is None:
            parsed = _read_lenient_json_reply(raw)
        if "\x00" in raw or _ESCAPED.search(raw):
            parsed = _replace_unstorable_in_json(parsed)
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, list) and len(parsed) == 1:  # Gemini's errors; replies of some proxies
        parsed = parsed[0]
    reply = _read_object(parsed)
    usage = read_usage(reply.get("usage") or get_nested_value(reply, "choices", 0, "usage"))
    about: dict[str, Any] = {
        "usage": usage,
        "raw": raw,
        "seconds": seconds,
        "served_model": _read_text(reply.get("model")) or None,
        "served_provider": _read_text(reply.get("provider")) or None,
        "response_id": _read_text(reply.get("id")) or None,
    }
    error = find_error(reply)
    if status != 200 or error:
        inside, code = status == 200, _read_count(get_nested_value(error, "code"))
        shown = code if inside and code else status
        plain = _describe_page(raw) or shorten_line(raw, LONGEST_MESSAGE) or "it says nothing"
        message = _describe_error(error, reply, raw) if reply else plain
        if status in (404, 405, 501) and not reply:
            message = (
                "no chat completions at this address (does it end in /v1?): "
                f"{shorten_line(raw, 80)}"
            )
        told = json.dumps(error, ensure_ascii=False) if error else raw
        kind = classify_error(shown, inside, error, told, retry_after)
        refusal = (
            read_refusal([error, reply], f"{message} {raw[:LONGEST_REFUSAL]}")
            if kind is Kind.BAD_REQUEST and shown not in NOT_OF_A_PART
            else NOTHING_REFUSED
        )
        if way := describe_remedy(kind, told):
            message = f"{shorten_line(message, LONGEST_MESSAGE - len(way) - 2)}; {way}"
        return Fault(kind, message, shown, retry_after=retry_after, refusal=refusal, **about)
    if not reply:
        if (page := _describe_page(raw)) is not None:
            page = f"{page}; {describe_remedy(Kind.WRONG_ADDRESS, raw)}"
            return Fault(Kind.WRONG_ADDRESS, page, status, **about)
        return Fault(
            Kind.UNAVAILABLE, f"not JSON: {shorten_line(raw, 16) or '(nothing)'}", status, **about
        )
    choice = get_nested_value(reply, "choices", 0)
    if not isinstance(choice, dict):
        return Fault(
            Kind.UNAVAILABLE,
            "no choices in the reply (the model may be starting up)",
            status,
            **about,
        )
    finish = _read_text(choice.get("finish_reason")) or None
    ending = find_ending(finish)
    if ending is Ending.BROKEN or choice.get("error"):
        message = _describe_error(
            choice.get("error"), reply, f"the provider stopped with an error ({finish})"
        )
        return Fault(Kind.UNAVAILABLE, message, status, finish_reason=finish, **about)
    if ending is None:  # whether it is whole, nobody knows: it may be the first half of an answer
        word = (
            f"an unknown finish reason, {shorten_line(finish, 40)!r}"
            if finish
            else "no finish reason"
        )
        return Fault(
            Kind.BROKEN,
            f"the server sent {word}, so it may be half a reply",
            status,
            finish_reason=finish,
            **about,
        )
    said = _read_object(choice.get("message"))
    words, beside = _join_words_and_thoughts(said.get("content", choice.get("text")))
    # OpenAI puts a refusal in the model's own words next to the content: it is what the model said
    came = words or _read_text(said.get("refusal"))
    content, thought = split_words_and_thoughts(came)
    told = ("".join(_join_words_and_thoughts(said.get(name))) for name in REASONING)
    reasoning = next((text for text in told if text), "")
    return Completion(
        content=content,
        tool_calls=_read_tool_calls(said.get("tool_calls"), said.get("function_call")),
        reasoning="\n\n".join(part for part in (reasoning, beside, thought) if part),
        unsplit="" if content == came else came,
        finish_reason=finish,
        **about,
    )


# fields of thoughts, the best first
REASONING = ("reasoning", "reasoning_content", "thinking", "reasoning_details")


def _join_words_and_thoughts(value: Any) -> tuple[str, str]:
    """Return (words, thoughts) of *value*, the content of a model's message: a text, or a list of
    parts. Secrets whose pieces stood in different parts are taken out once the parts are joined.
    """
    words, thoughts = read_words_and_thoughts(value)
    if isinstance(value, str):
        return words, thoughts
    # a secret whose halves stand in two parts is none before they are joined
    return SENT.redact_text(words), SENT.redact_text(thoughts)


def read_usage(value: Any) -> Usage:
    """Return the token counts and US dollars in *value*, the ``usage`` object of an endpoint's
    answer; each is None if it is missing, negative or no number.

    If the user pays the provider with a key of their own, ``cost`` is the service fee alone, and
    the provider's price in ``cost_details.upstream_inference_cost`` is added; without that price
    the cost is None.
    """
    given = _read_object(value)
    cost = _read_dollars(given.get("cost"))
    inference = _read_dollars(
        _read_object(given.get("cost_details")).get("upstream_inference_cost")
    )
    if given.get("is_byok") is True:
        cost = None if inference is None else inference + (cost or 0.0)
    # Anthropic's names; its prompt is counted without what its cache has
    parts = [
        _read_count(given.get(f"{name}input_tokens"))
        for name in ("", "cache_read_", "cache_creation_")
    ]
    prompt = _read_count(given.get("prompt_tokens"))
    if prompt is None and parts[0] is not None:
        prompt = _read_count(sum(part or 0 for part in parts))
    completion = _read_count(given.get("completion_tokens"))
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=_read_count(given.get("output_tokens"))
        if completion is None
        else completion,
        reasoning_tokens=_read_count(
            _read_object(given.get("completion_tokens_details")).get("reasoning_tokens")
        ),
        cached_tokens=_read_count(
            _read_object(given.get("prompt_tokens_details")).get("cached_tokens")
        ),
        cost=cost,
    )


def shorten_line(text: str, most: int) -> str:
    """Return *text* on one line of at most *most* characters, with "…" at its end if it was cut;
    control characters are written out.
    """
    folded = " ".join(text.split())
    printable = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in folded[: most + 1])
    return printable if len(printable) <= most else printable[: most - 1] + "…"


def _describe_page(raw: str) -> str | None:
    """Return a sentence with the page's title if *raw*, an endpoint's answer, is a web page; None
    if it is none.
    """
    title = find_page_title(raw)
    return None if title is None else f"a web page came and no reply ({shorten_line(title, 80)})"


def _describe_error(error: Any, reply: Json, fallback: str) -> str:
    """Return what *error*, an endpoint's error as JSON or text, says, on one line of at most
    `LONGEST_MESSAGE` characters. If it says nothing: the message in *reply*, the whole answer, or
    *fallback*.
    """
    if isinstance(error, dict):
        provider, raw = (
            get_nested_value(error, "metadata", "provider_name"),
            get_nested_value(error, "metadata", "raw"),
        )
        said = (
            _read_text(error.get("message"))
            or _read_text(error.get("detail"))
            or _read_text(error.get("text"))
        )
        parts = [said, f"({_read_text(provider)})" if provider else "", _read_text(raw)]
    else:
        parts = [
            _read_text(error)
            or _read_text(reply.get("message"))
            or _read_text(reply.get("detail"))
            or fallback
        ]
    return (
        shorten_line(" ".join(part for part in parts if part), LONGEST_MESSAGE)
        or shorten_line(fallback, LONGEST_MESSAGE)
        or "it says nothing"
    )


def _read_tool_calls(value: Any, single: Any) -> tuple[ToolCall, ...]:
    """Return the tool calls in a model's message. *value* is a list of calls or one call; *single*
    is the function call of the older format, which counts if *value* has none. () without any.
    """
    given = [value] if isinstance(value, dict) else value if isinstance(value, list) else []
    if not given and isinstance(single, dict):
        given = [{"function": single}]
    calls = []
    for number, call in enumerate(given):
        function = get_nested_value(call, "function")
        if function is None and isinstance(call, dict) and {"name", "arguments"} & call.keys():
            function = call
        if not isinstance(function, dict):
            continue
        arguments = function.get("arguments")
        text = (
            arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        )
        calls.append(
            ToolCall(
                _read_text(call.get("id")) or f"call{number}",
                _read_text(function.get("name")),
                text,
            )
        )
    return tuple(calls)


def _read_object(value: Any) -> Json:
    """Return *value* if it is a JSON object, else {}."""
    return value if isinstance(value, dict) else {}


def _read_text(value: Any) -> str:
    """Return *value* if it is a text, else ""."""
    return value if isinstance(value, str) else ""


def _read_count(value: Any) -> int | None:
    """Return the count in *value*, an endpoint's number of tokens, which may also come as a float
    or as digits in a text; None for anything else.
    """
    if (
        isinstance(value, str)
        and value.isascii()
        and value.isdigit()
        and len(value) <= len(str(LARGEST_COUNT))
    ):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return (
        value
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_COUNT
        else None
    )


def _read_dollars(value: Any) -> float | None:
    """Return the US dollars in *value*: a number, one as text, or an object that has them as its
    ``total_cost``; None for anything else, and for amounts below 0 or from a million on.
    """
    value = value.get("total_cost") if isinstance(value, dict) else value
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1e6 and math.isfinite(value) else None


# not inf, nan or 1_000, which float takes
_NUMBER = re.compile(r"[0-9]{1,20}(\.[0-9]{0,30})?([eE][-+]?[0-9]{1,3})?")


# bears bare control characters in strings, as some servers send them
LENIENT = json.JSONDecoder(strict=False)
# NaN and Infinity: absent
_WITHOUT_CONSTANTS = json.JSONDecoder(parse_constant=lambda _: None, strict=False)
# what may stand before JSON: white space, and the mark that some servers begin with
BLANK = "\ufeff \t\r\n"


def read_json(text: str, decoder: json.JSONDecoder = LENIENT) -> Any:
    """Return the JSON value in *text*, a text by an endpoint or a model; white space and a byte
    order mark before it are passed over. The default *decoder* also takes control characters inside
    strings. Raises ValueError or RecursionError as *decoder* does.
    """
    return decoder.decode(text.lstrip(BLANK))


def _read_lenient_json_reply(raw: str) -> Any:
    """Return the reply in *raw*, an endpoint's answer that is not strictly JSON: it may have
    comments before the JSON, anything behind it, or a line of JSON for each streamed piece of the
    reply.

    Raises ValueError or RecursionError if there is no JSON, and ValueError if the pieces are no
    whole reply.
    """
    text = raw.lstrip(BLANK)
    while text.startswith(":"):  # of an event stream, which keep the connection open
        text = text.partition("\n")[2].lstrip(BLANK)
    value, end = _WITHOUT_CONSTANTS.raw_decode(text)
    if not text[end:].strip(BLANK + "\x00"):
        return value
    # what comes behind a whole reply takes nothing from it
    if isinstance(get_nested_value(value, "choices", 0, "message"), dict) or find_error(
        _read_object(value)
    ):
        return value
    pieces = StreamedReply(lines=True)
    pieces.add_bytes(text.encode("utf-8", "replace"))
    pieces.close()
    if not pieces.ended:
        raise ValueError("the pieces end before the reply does")
    return json.loads(pieces.encode_completion())


def _read_strict_json(body: bytes) -> Any:
    """Return the value in *body* if that is strictly valid JSON; None for anything else, and for
    null. Takes a third of the time of the tolerant reader.
    """
    try:
        return from_json(body, allow_inf_nan=False)
    except ValueError:
        return None


def replace_unstorable_characters(text: str) -> str:
    """Return *text* with lone surrogates replaced by "?" and NULs by "�": no database and no
    terminal can hold them.

    JSON inside JSON (a tool call's arguments, a verdict) can bring in new ones: `\\ud800` is plain
    text outside.
    """
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "�")


# decoded bytes hold no surrogate: only an escape in the JSON brings one in
_ESCAPED = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")


def _replace_unstorable_in_json(value: Any) -> Any:
    """Return the JSON *value* with lone surrogates and NULs replaced in all of its texts and
    keys.
    """
    if isinstance(value, str):
        return replace_unstorable_characters(value)
    if isinstance(value, list):
        return [_replace_unstorable_in_json(part) for part in value]
    if isinstance(value, dict):
        return {
            _replace_unstorable_in_json(key): _replace_unstorable_in_json(part)
            for key, part in value.items()
        }
    return value


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """One model in an endpoint's list; prices in dollars a token, None if the list says nothing."""

    id: str
    prompt_price: float | None = None
    completion_price: float | None = None
    request_price: float = 0.0
    parameters: frozenset[str] | None = None  # those that it supports
    # that it takes, where the list says so; OFF is none of them
    efforts: tuple[Reasoning, ...] | None = None
    always_reasons: bool = False  # it cannot be told not to
    identity: str = ""  # the weights behind the name, as a local server tells
    earlier_identity: str = ""  # the same, as it was once read: with paths, which identify nothing
    cached_price: float | None = None  # of a token of the prompt in the endpoint's cache
    context: int | None = None  # tokens that a request may have with its reply

    def compute_cost(self, prompt_tokens: float, completion_tokens: float) -> float | None:
        """Return the US dollars that a call to this model costs with so many tokens; None if the
        model's prices are not known.
        """
        if self.prompt_price is None or self.completion_price is None:
            return None
        return (
            self.request_price
            + prompt_tokens * self.prompt_price
            + completion_tokens * self.completion_price
        )

    @property
    def takes_temperature(self) -> bool:
        """Whether this model can be given a temperature; True if its endpoint does not say."""
        return self.parameters is None or "temperature" in self.parameters

    def choose_effort(self, asked: str | None) -> Reasoning:
        """Return the reasoning effort to send to this model if a user asks for *asked*. None means
        off, or the least effort if the model always reasons. ``auto`` is what the model does by
        itself, so that nothing is sent.

        Raises SubjectError if *asked* is off and the endpoint says that the model always reasons.
        """
        if asked == AUTO:
            return Reasoning.UNSET
        if asked != Reasoning.OFF and asked is not None:
            return Reasoning(asked)
        if not self.always_reasons:
            return Reasoning.OFF
        least = find_least_effort_above_off(self.efforts)
        if asked is not None:
            raise SubjectError(
                f"{self.id} cannot be told not to reason; --reasoning-effort {least} is the least"
            )
        return least


def read_model_list(value: Any) -> list[ModelInfo]:
    """Return the models that *value*, an endpoint's answer to ``/models`` as JSON, lists, with
    their prices, context and parameters. Entries without an id are left out; [] without a list.
    """
    return [
        ModelInfo(
            id=entry["id"],
            prompt_price=_read_price(get_nested_value(entry, "pricing", "prompt")),
            completion_price=_read_price(get_nested_value(entry, "pricing", "completion")),
            request_price=_read_price(get_nested_value(entry, "pricing", "request")) or 0.0,
            parameters=frozenset(p for p in supported if isinstance(p, str))
            if isinstance(supported, list)
            else None,
            # those that we know, the lowest first
            efforts=tuple(effort for effort in Reasoning if effort.value in efforts)
            if isinstance(efforts, list)
            else None,
            always_reasons=get_nested_value(entry, "reasoning", "mandatory") is True,
            identity=_hash_weights_identity(entry),
            earlier_identity=_hash_weights_identity(entry, include_paths=True),
            cached_price=_read_price(get_nested_value(entry, "pricing", "input_cache_read")),
            context=_read_context(entry),
        )
        for entry in _list_entries(get_nested_value(value, "data"))
        if isinstance(entry.get("id"), str)
        for supported, efforts in [
            (
                entry.get("supported_parameters"),
                get_nested_value(entry, "reasoning", "supported_efforts"),
            )
        ]
    ]


def _list_entries(value: Any) -> list[dict[str, Any]]:
    """Return the JSON objects in the list *value*; [] if *value* is no list."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


# where servers say how many tokens a request may have with its reply: OpenRouter and Together;
# vLLM; Mistral and LM Studio; Groq
_CONTEXTS = ("context_length", "max_model_len", "max_context_length", "context_window")


def _read_context(entry: dict[str, Any]) -> int | None:
    """Return how many tokens a request and its reply may have together, by *entry*, a model in a
    server's list; None if the list does not say.

    llama.cpp says it in `meta`, by the name `n_ctx`; `n_ctx_train` is that of the model.
    """
    given = [_read_count(entry.get(name)) for name in _CONTEXTS] + [
        _read_count(get_nested_value(entry, "meta", "n_ctx"))
    ]
    return next((context for context in given if context), None)


_PATH = re.compile(r"[/~\\.]|[A-Za-z]:[/\\]")


def _hash_weights_identity(entry: dict[str, Any], include_paths: bool = False) -> str:
    """Return a hash (16 hexadecimal digits) of what *entry*, a model in a local server's list, says
    about its weights; "" if it gives no more than a name.

    llama.cpp: `meta` (parameters, size, vocabulary); vLLM: `root`, unless it is a path, under which
    any weights may lie (*include_paths*: also then); a digest where a server gives one. Not
    `created`, which some servers fill with the time of the question.
    """
    given = {name: entry[name] for name in ("meta", "root", "digest") if entry.get(name)}
    if not include_paths and _PATH.match(_read_text(given.get("root"))):
        del given["root"]
    if isinstance(given.get("meta"), dict):
        given["meta"] = {name: value for name, value in given["meta"].items() if name != "n_ctx"}
    try:
        return hash_content(given)[:16] if given else ""
    except (TypeError, ValueError, RecursionError):
        return ""


def read_provider_names_by_slug(value: Any) -> dict[str, str]:
    """Return the providers that *value*, OpenRouter's answer about one model as JSON, lists:
    provider tag (slug) -> display name.
    """
    return {
        entry["tag"]: entry["provider_name"]
        for entry in _list_entries(get_nested_value(value, "data", "endpoints"))
        if isinstance(entry.get("tag"), str) and isinstance(entry.get("provider_name"), str)
    }


def _read_price(value: Any) -> float | None:
    """Return the US dollars in *value*, a price in an endpoint's list of models; None unless it is
    a number from 0 to below a million.
    """
    try:
        price = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return price if 0 <= price < 1e6 else None  # -1 stands for "it depends"; NaN fails both
