"""What kind of failure an endpoint's error is: by its status, and by its words where the same
status means several things.

Providers send 429 for a rate limit and for an empty account, 400 for a bad request and for a busy
server, and 200 for anything. The words below are in small letters; each list says who sends them.
Reads no bytes and asks nothing again (`calls.limits` decides that).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from independence_bench.models.messages import Kind

SERVED = frozenset({200, 201, 202, 203})  # statuses that a completion may come with
MOST_TOLD = 20_000  # characters of an error that are looked at

# The account is empty, whatever status says so. OpenAI and DashScope (code), Moonshot, Zhipu,
# DeepSeek, Anthropic, xAI, Gemini's prepaid plan, Fireworks, Hugging Face, LiteLLM's budgets.
_EMPTY = (
    *("insufficient_quota", "exceeded_current_quota_error", "billing_hard_limit_reached"),
    *("billing_not_active", "insufficient balance", "insufficient_balance", "insufficient account"),
    *(
        "insufficient credit",
        "insufficient funds",
        "credit balance",
        "out of credits",
        "no credits",
    ),
    *("any credits or licenses", "used all available credits", "spending limit"),
    *("credits are depleted", "depleted your monthly", "arrearage", "accountoverdue"),
    *("unpaid invoice", "please recharge", "余额不足", "欠费"),
    *("budget has been exceeded", "exceededbudget", "requires billing to be enabled"),
)
# Zhipu: no balance, the account's plan has ended, its use is suspended
_EMPTY_CODES = frozenset({"1113", "1112", "1309"})
# Of a 429 they mean the same, unless it says how long to wait: Gemini has one sentence for both,
# and Groq's and OpenAI's rate limits name the page on which more can be bought.
_PERHAPS_EMPTY = ("exceeded your current quota", "billing")
# Of a 429 that is a rate limit after all. DashScope's code for tokens a minute is OpenAI's for an
# empty account.
_WAIT = re.compile(
    r"retryinfo|retry_?delay|(?:retry|try again) (?:in|after) [\d.]+|per ?(?:minute|second|min\b)"
    r"|rate limit|rate_limit|throttl|too many requests|requests? rate"
)
_THROTTLED = ("throttl", "rate_limit_reached", "allocated quota exceeded")
# This model has no quota, others may have some: Gemini's and DashScope's free tiers.
_NO_SHARE = re.compile(r"\blimit: ?0\b")
_NO_SHARE_WORDS = ("free tier of the model has been exhausted", "allocationquota.freetieronly")

# A server that is busy, said with a 4xx: DeepSeek, Moonshot, SiliconFlow, Vertex, proxies.
_BUSY = (
    *("overloaded", "server is busy", "server busy", "system busy", "engine is busy"),
    *("try again later", "retry later", "temporarily unavailable", "at capacity"),
    *("capacity exceeded", "high demand"),
)
# 409 and 424: something behind the server; 498: Groq's capacity; 499: a proxy gave up
_PASSING = frozenset({408, 409, 424, 425, 498, 499})

# The model's reply was bad, not the request. Groq: it could not read the call of a tool, or the
# JSON; llama.cpp's server: neither words nor the call of a tool. With the same seed it would be
# the same.
_BAD_REPLY = (
    *("json_validate_failed", "tool_use_failed", "output_parse_failed", "failed_generation"),
    "model produced output that does not match",
)

# A template that cannot show this conversation, whatever status says so: llama.cpp's server, vLLM,
# LM Studio, TGI. And LiteLLM's name for a model that it does not have.
_TEMPLATE = (
    *("jinja", "templateerror", "chat template", "roles must alternate"),
    *("system role not supported", "system role is not supported", "conversation roles"),
    *("error rendering prompt", "only user and assistant roles", "only user, assistant"),
)
_NO_MODEL = ("invalid model name passed in model=",)
# LiteLLM without a database, of any key but its own
_WRONG_KEY = ("no_db_connection",)
# LM Studio, with status 200
_NO_API = ("unexpected endpoint or method",)

_PAGE = re.compile(r"(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.DOTALL)
_TITLE = re.compile(r"<title[^>]*>([^<]{1,200})", re.IGNORECASE)


def classify_error(
    status: int, came_with_200: bool, error: Any, told: str, retry_after: float | None
) -> Kind:
    """Return the kind of failure that an endpoint's error is, by its HTTP *status* and its words.

    *came_with_200*: the error came with HTTP 200, and *status* is the code that it names itself.
    *error* is the error as JSON, *told* its whole text. *retry_after*: seconds that the endpoint
    asks to wait; None if it does not.
    """
    told = told[:MOST_TOLD].lower()
    if status == 403 and _is_moderation_error(error):
        return Kind.REFUSED_PROMPT
    if _has_any_word(told, _BAD_REPLY):
        return Kind.BROKEN
    if _has_any_word(told, _NO_API):
        return Kind.WRONG_ADDRESS
    if (
        empty := _classify_empty_account(status, came_with_200, error, told, retry_after)
    ) is not None:
        return empty
    if status == 429:
        # no waiting makes it smaller
        too_large = "request too large" in told and "must be reduced" in told
        return Kind.BAD_REQUEST if too_large else Kind.RATE_LIMITED
    if status not in (401, 402) and _has_any_word(told, _TEMPLATE + _NO_MODEL):
        return Kind.BAD_REQUEST
    # the provider had already begun: its key, credits and routing are not those of the user
    if came_with_200:
        return Kind.UNAVAILABLE
    if status == 402:
        return Kind.NO_CREDITS if retry_after is None else Kind.RATE_LIMITED
    if status == 401 or _has_any_word(told, _WRONG_KEY):
        return Kind.UNAUTHORIZED
    refused = status == 501 or (400 <= status < 500 and status not in _PASSING)
    if refused and status not in (404, 405, 501) and _has_any_word(told, _BUSY):
        return Kind.UNAVAILABLE
    return Kind.BAD_REQUEST if refused else Kind.UNAVAILABLE


def describe_remedy(kind: Kind, told: str) -> str:
    """Return what the user can do about an endpoint's error of the kind *kind*, whose text is
    *told*, to stand behind the error's message; "" if the message says enough.
    """
    if kind in (Kind.WRONG_ADDRESS, Kind.BAD_REQUEST) and find_page_title(told) is not None:
        return (
            "check the address (does it end in /v1?), and whether a login, a proxy or a check for "
            "people stands before it"
        )
    told = told[:MOST_TOLD].lower()
    if kind is Kind.WRONG_ADDRESS:
        return "the address must be the one before /chat/completions, which mostly ends in /v1"
    if kind is Kind.NO_QUOTA:
        return "choose another model, or a plan that includes this one"
    if kind is Kind.BAD_REQUEST and _has_any_word(told, _NO_MODEL):
        return "ask for a name of the endpoint's own list"
    if kind is Kind.BAD_REQUEST and _has_any_word(told, _TEMPLATE):
        return (
            "the model's chat template on that server cannot show this conversation: try "
            "--modes user_role, or a server or template that knows system prompts and tools"
        )
    return ""


def find_page_title(text: str) -> str | None:
    """Return the title of the web page that *text* is, or "a web page" if it has no title; None if
    *text* is no web page.
    """
    if not _PAGE.match(text.lstrip("\ufeff \t\r\n")[:MOST_TOLD].lower()):
        return None
    title = _TITLE.search(text[:MOST_TOLD])
    return " ".join(title[1].split()) if title and title[1].strip() else "a web page"


def _classify_empty_account(
    status: int, came_with_200: bool, error: Any, told: str, retry_after: float | None
) -> Kind | None:
    """Return `NO_CREDITS` if an endpoint's error says that the user's account has nothing left to
    spend, `NO_QUOTA` if that is so for this model alone or for a provider behind the endpoint; None
    for any other error.

    *came_with_200*, *error*, *told* and *retry_after* are those of `classify_error`.
    """
    if status not in (200, 400, 402, 403, 412, 429):
        return None
    if status == 402 and retry_after is not None:  # OpenRouter asks to come back
        return None
    # whatever else it says, such as how long to wait: a limit of nothing is always reached
    if _has_any_word(told, _NO_SHARE_WORDS) or (status == 429 and _NO_SHARE.search(told)):
        return Kind.NO_QUOTA
    if _has_any_word(told, _THROTTLED):
        return None
    waits = retry_after is not None or _WAIT.search(told) is not None
    sure = _has_any_word(told, _EMPTY) or str(_get_member(error, "code")) in _EMPTY_CODES
    perhaps = status == 429 and not waits and _has_any_word(told, _PERHAPS_EMPTY)
    if not sure and not perhaps:
        return None
    # what a provider behind the endpoint says is of its account, not of the user's
    behind = came_with_200 or bool(_get_member(_get_member(error, "metadata"), "provider_name"))
    return Kind.NO_QUOTA if behind else Kind.NO_CREDITS


def _is_moderation_error(error: Any) -> bool:
    """Return whether *error*, an endpoint's error as JSON, says that moderation flagged the
    prompt.
    """
    metadata = _get_member(error, "metadata")
    return isinstance(metadata, Mapping) and bool({"reasons", "flagged_input"} & metadata.keys())


def _get_member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


def _has_any_word(told: str, words: tuple[str, ...]) -> bool:
    return any(word in told for word in words)
