"""What an endpoint's error means: the same status is a rate limit or an empty account, a bad
request or a busy server.

The bodies are those of public reports; each case names its provider.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from scripted_model import Answer
from test_http_client import Serve, always, failed

from independence_bench.models.messages import Fault, Kind
from independence_bench.models.response import read_completion

GEMINI = (
    "You exceeded your current quota, please check your plan and billing details. For more "
    "information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits. "
    "\n* Quota exceeded for metric: generativelanguage.googleapis.com/"
)


def read(body: Any, status: int = 200, retry_after: float | None = None) -> Fault:
    """What that answer is, which must be a fault."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    outcome = read_completion(data, status, retry_after)
    assert isinstance(outcome, Fault), outcome
    return outcome


def told(message: str, **more: Any) -> dict[str, Any]:
    """An error of that form."""
    return {"error": {"message": message, **more}}


@pytest.mark.parametrize(
    ("status", "body"),
    [
        # OpenAI, in the form of today and without its code
        (
            429,
            told(
                "You exceeded your current quota, please check your plan and billing details.",
                type="insufficient_quota",
                code="insufficient_quota",
            ),
        ),
        (429, told("You exceeded your current quota, please check your plan and billing details.")),
        (400, told("Billing hard limit has been reached", code="billing_hard_limit_reached")),
        # Moonshot
        (
            429,
            told(
                "Your account is suspended due to insufficient balance, please recharge your "
                "account or check your plan and billing details",
                type="exceeded_current_quota_error",
            ),
        ),
        # Zhipu, in English, in Chinese, and by its code alone
        (429, told("Insufficient balance or no resource package. Please recharge.", code="1113")),
        (429, told("余额不足或无可用资源包,请充值。")),
        (429, told("No.", code="1113")),
        # Anthropic
        (
            400,
            told(
                "Your credit balance is too low to access the Anthropic API. Please go to Plans & "
                "Billing to upgrade or purchase credits.",
                type="invalid_request_error",
            ),
        ),
        # xAI: JSON whose error is a text, and no JSON
        (403, {"code": "x", "error": "You have run out of credits or need a Grok subscription."}),
        (
            429,
            b"Your team 16f has either used all available credits or reached its monthly spending "
            b"limit.",
        ),
        # Gemini's prepaid plan, in a list as it sends errors
        (429, [told("Your prepayment credits are depleted.", status="RESOURCE_EXHAUSTED")]),
        # LiteLLM's budgets
        (400, told("ExceededBudget: Budget has been exceeded! Current cost: 10.1, Max budget: 10")),
        (402, told("Insufficient Balance")),
    ],
)
def test_an_empty_account_is_not_waited_for(status: int, body: Any) -> None:
    """Nothing that is sent later is served, whatever status it has."""
    assert read(body, status).kind is Kind.NO_CREDITS


@pytest.mark.parametrize(
    ("body", "retry_after"),
    [
        # Groq and OpenAI name the page on which more can be bought
        (
            told(
                "Rate limit reached for model `llama` on tokens per minute (TPM): Limit 6000, Used "
                "5034, Requested 1443. Please try again in 4.77s. Need more tokens? Upgrade to Dev "
                "Tier today at https://console.groq.com/settings/billing"
            ),
            None,
        ),
        (
            told(
                "Rate limit reached for gpt-4 on requests per min. Limit: 3 / min. Please try "
                "again in 20s. Visit https://platform.openai.com/account/billing to add a card."
            ),
            None,
        ),
        # Gemini's limits of a minute have the sentence of an empty account
        (told(f"{GEMINI}free_tier_requests, limit: 20, model: m\nPlease retry in 51.606s."), None),
        (
            told(
                GEMINI,
                details=[
                    {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "51s"}
                ],
            ),
            None,
        ),
        (
            told(
                GEMINI,
                details=[{"quotaId": "GenerateContentInputTokensPerModelPerMinute-FreeTier"}],
            ),
            None,
        ),
        (told("You exceeded your current quota, please check your plan."), 20.0),
        # DashScope's tokens a minute have OpenAI's code of an empty account
        (told("Throttling.AllocationQuota", code="insufficient_quota"), None),
        (told("Allocated quota exceeded, please increase it.", type="insufficient_quota"), None),
        # Moonshot, Mistral, xAI, LiteLLM
        (
            told("Your account request reached max request: 3, please try again after 1 seconds"),
            None,
        ),
        (told("Service tier capacity exceeded for this model."), None),
        (b"Too many tokens for team e9. Your team's rate limit is: Tokens per Minute", None),
        (told("No deployments available for selected model, Try again in 60 seconds."), None),
        (
            told("Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 a day"),
            None,
        ),
    ],
)
def test_a_mere_rate_limit_is_waited_for(body: Any, retry_after: float | None) -> None:
    """It passes, although it speaks of quota, credits or billing."""
    assert read(body, 429, retry_after).kind is Kind.RATE_LIMITED


def test_no_quota_for_one_model_says_nothing_of_the_others() -> None:
    """Gemini's free tier has none for some models, and says so with a time to come back."""
    none = f"{GEMINI}free_tier_requests, limit: 0, model: gemini-2.5-pro\nPlease retry in 7.9s."
    behind = {"provider_name": "Moonshot", "raw": '{"error":{"message":"insufficient balance"}}'}

    for fault in (
        read(told(none), 429, 7.9),
        read(told("The free tier of the model has been exhausted."), 403),
        # the account of a provider behind the endpoint is not the user's
        read(told("Provider returned error", code=429, metadata=behind), 429),
    ):
        assert fault.kind is Kind.NO_QUOTA
        assert fault.message.endswith("choose another model, or a plan that includes this one")


def test_a_key_that_a_proxy_does_not_know_is_a_wrong_key() -> None:
    """LiteLLM 1.108.7 without a database says this of any key but its own."""
    body = told("No connected db.", type="no_db_connection", param=None, code="400")

    assert read(body, 400).kind is Kind.UNAUTHORIZED


@pytest.mark.parametrize("status", [409, 424, 498, 499, 529])
def test_what_passes_is_unavailable(status: int) -> None:
    """Behind the server something failed, or a proxy gave up: none of it is the request's fault."""
    assert read(told("x"), status).kind is Kind.UNAVAILABLE


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "The server is busy. Please try again later."),
        (400, "The engine is currently overloaded"),
        (403, "This model is currently experiencing high demand."),
        (422, "Model temporarily unavailable"),
    ],
)
def test_a_busy_server_is_unavailable_whatever_its_status(status: int, message: str) -> None:
    """DeepSeek and others say it with a 4xx."""
    assert read(told(message), status).kind is Kind.UNAVAILABLE
    assert read(told("Model not found, try again later"), 404).kind is Kind.BAD_REQUEST


@pytest.mark.parametrize("code", ["json_validate_failed", "tool_use_failed"])
def test_a_reply_that_groq_cannot_read_is_a_broken_reply(code: str) -> None:
    """The request was right; whatever the model wrote in it, another try may be."""
    error = told("Failed.", code=code, failed_generation="the server is busy, billing, Jinja")

    assert read(error, 400).kind is Kind.BROKEN
    assert read(error).kind is Kind.BROKEN


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (
            500,
            "While executing CallExpression at line 47: Error: Jinja Exception: After the optional "
            "system message, conversation roles must alternate user and assistant roles.",
        ),
        (400, "System role not supported"),
        (400, "Error rendering prompt with jinja template: unknown operator"),
        (200, "TemplateError: Conversation roles must alternate user/assistant/user/..."),
    ],
)
def test_a_template_that_cannot_show_the_conversation_refuses_it(status: int, message: str) -> None:
    """It will do so every time: with a way on, and without another try."""
    fault = read(told(message), status)

    assert fault.kind is Kind.BAD_REQUEST
    assert message[:40] in fault.message
    assert "--modes user_role" in fault.message


def test_a_name_that_a_proxy_does_not_have_is_refused() -> None:
    """LiteLLM's form of it."""
    message = "Invalid model name passed in model=x. Call `/v1/models` to view available models."

    assert read(told(message), 500).kind is Kind.BAD_REQUEST
    assert "endpoint's own list" in read(told(message), 400).message


def test_a_request_too_large_for_the_limit_is_refused() -> None:
    """A 429 that no waiting mends."""
    message = (
        "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389. The "
        "input or output tokens must be reduced in order to run successfully."
    )
    assert read(told(message), 429).kind is Kind.BAD_REQUEST


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"\n<!DOCTYPE html><html><title>Sign\n in</title></html>", "(Sign in)"),
        (b"<!-- x --><html><body>Hello</body></html>", "(a web page)"),
        (b"<html><title>\x1b[2J</title>", r"\x1b"),
    ],
)
def test_a_web_page_is_a_wrong_address(body: bytes, said: str) -> None:
    """A login or a proxy's page is said with its title, and what to look at."""
    fault = read(body)

    assert fault.kind is Kind.WRONG_ADDRESS
    assert said in fault.message
    assert "does it end in /v1?" in fault.message


def test_a_page_with_an_errors_status_is_that_error(serve: Serve) -> None:
    """A gateway that is down, and a challenge for people."""
    page = b"<!DOCTYPE html><html><title>Just a moment...</title></html>"

    assert failed(serve(always(Answer(page, 502)))).kind is Kind.UNAVAILABLE
    challenge = failed(serve(always(Answer(page, 403))))
    assert challenge.kind is Kind.BAD_REQUEST
    assert "Just a moment..." in challenge.message
    assert "a check for people" in challenge.message


def test_an_address_without_v1_is_said_by_lm_studio_inside_a_200(serve: Serve) -> None:
    """It is no error of a provider that has begun."""
    unexpected = {"error": "Unexpected endpoint or method. (POST /chat/completions)"}

    fault = failed(serve(always(Answer(unexpected))))

    assert fault.kind is Kind.WRONG_ADDRESS
    assert "ends in /v1" in fault.message


def test_words_of_a_reply_are_no_error() -> None:
    """A model may speak of quotas, templates and busy servers while its provider fails."""
    words = "insufficient balance, Jinja, unexpected endpoint or method, json_validate_failed"
    half = {"choices": [{"message": {"content": words}}], "error": {"message": "boom", "code": 502}}

    assert read(half).kind is Kind.UNAVAILABLE
