"""How a reply ended, by its provider's word: what is whole, cut off, filtered, or half a reply that
is none.
"""

from __future__ import annotations

from typing import Any

import pytest
from scripted_model import Answer, completion
from test_http_client import Serve, always, answered, failed

from independence_bench.models.messages import ENDINGS, Completion, Ending, Kind, Rejected
from independence_bench.models.response import read_usage
from independence_bench.protocol.delivery import UsableReply, read_reply
from independence_bench.protocol.loader import load_protocol

WORDING = load_protocol("v2").tool_role
WORDS = "My name is Ada and I would"


def ended(word: str | None) -> Answer:
    """An answer that ended so."""
    return Answer(completion(WORDS, finish=word))


@pytest.mark.parametrize(
    "word", ["stop", "STOP", "eos", "end_turn", "tool_calls", "function_call", "COMPLETE"]
)
def test_what_the_model_ended_is_whole(serve: Serve, word: str) -> None:
    """In whatever letters."""
    got = answered(serve(always(ended(word))))

    assert read_reply(got, "user_role", WORDING) == UsableReply(words_of(WORDS))


@pytest.mark.parametrize(
    "word", ["length", "max_tokens", "MAX_TOKENS", "model_length", "max_output_tokens"]
)
def test_what_a_limit_ended_is_cut_off(serve: Serve, word: str) -> None:
    """It is asked again with twice the limit, and in the end it is flagged."""
    heard = read_reply(answered(serve(always(ended(word)))), "user_role", WORDING)

    assert isinstance(heard, UsableReply)
    assert heard.cut_off


@pytest.mark.parametrize("word", ["content_filter", "SAFETY", "RECITATION", "sensitive", "refusal"])
def test_what_a_filter_ended_is_no_answer(serve: Serve, word: str) -> None:
    """Half a sentence is not what the model would have said."""
    heard = read_reply(answered(serve(always(ended(word)))), "user_role", WORDING)

    assert heard == Rejected("stopped by the provider's filter")


@pytest.mark.parametrize(
    "word",
    ["error", "abort", "insufficient_system_resource", "network_error", "cancelled", "timeout"],
)
def test_what_broke_off_is_asked_again(serve: Serve, word: str) -> None:
    """It is the provider's failure, so the next command asks again, too."""
    fault = failed(serve(always(ended(word))))

    assert (fault.kind, fault.finish_reason) == (Kind.UNAVAILABLE, word)
    assert WORDS in fault.raw


@pytest.mark.parametrize("word", ["error_finish", "weather", "", None])
def test_what_nobody_knows_is_broken(serve: Serve, word: str | None) -> None:
    """It may be the first half of an answer; the message says which word it was."""
    fault = failed(serve(always(ended(word))))

    assert fault.kind is Kind.BROKEN
    assert (word or "no finish reason") in fault.message


def test_every_word_has_one_meaning() -> None:
    """And each meaning has words."""
    assert set(ENDINGS.values()) == set(Ending)
    assert all(word == word.lower() for word in ENDINGS)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 100, "completion_tokens": 20},
        {"prompt_tokens": "100", "completion_tokens": "20"},
        {"prompt_tokens": 100.0, "completion_tokens": 20.0},
        {"input_tokens": 100, "output_tokens": 20},
        {
            "input_tokens": 60,
            "cache_read_input_tokens": 30,
            "cache_creation_input_tokens": 10,
            "output_tokens": 20,
        },
    ],
)
def test_counts_of_tokens_are_read_in_every_form(usage: dict[str, Any]) -> None:
    """As numbers or text, by OpenAI's names or Anthropic's, whose prompt leaves out what its cache
    has.
    """
    read = read_usage(usage)

    assert (read.prompt_tokens, read.completion_tokens) == (100, 20)


def words_of(text: str) -> Any:
    """*text* as the words of a reply."""
    heard = read_reply(Completion(text, (), "", finish_reason="stop"), "user_role", WORDING)
    assert isinstance(heard, UsableReply)
    return heard.words
