"""Names of models: which ones a server may give for the one that it was asked for."""

from __future__ import annotations

import pytest

from independence_bench.models.served import is_same_model


@pytest.mark.parametrize(
    ("asked", "served"),
    [
        ("gpt-4o", "gpt-4o"),
        ("gpt-4o", "gpt-4o-2024-08-06"),
        ("gpt-4o-2024-08-06", "gpt-4o"),  # a router that leaves the date out
        ("openai/gpt-4o", "GPT-4o-2024-08-06"),
        ("gpt-4", "gpt-4-0613"),
        ("mistral-large-latest", "mistral-large-2407"),
        ("command-r", "command-r-08-2024"),
        ("gemini-1.5-flash", "models/gemini-1.5-flash-002"),
        ("deepseek-r1", "deepseek-r1-250528"),
        ("o1-preview", "o1-preview-2024-09-12"),
        ("llama3.2", "llama3.2:latest"),
        ("llama3.2", "llama3.2:3b"),
        ("llama3.2:3b", "llama3.2:3b"),
        ("deepseek/deepseek-r1:free", "deepseek/deepseek-r1"),
        ("anthropic/claude-x", "claude-x-20260101"),
        ("anthropic/claude-3.5-sonnet", "claude-3-5-sonnet-20241022"),
        ("claude-3-5-sonnet-20241022", "us.anthropic.claude-3-5-sonnet-20241022-v2:0"),
        ("claude-3-5-sonnet", "claude-3-5-sonnet@20240620"),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b-instruct"),
        ("meta/llama-3-8b", "accounts/fireworks/models/llama-3-8b"),
        ("hf.co/them/Llama-3.2-3B-GGUF:Q4_K_M", "hf.co/them/llama-3.2-3b-gguf:q4_k_m"),
        # whatever the server was started with
        ("llama3.2", "/models/Llama-3.2-3B-Instruct-Q4_K_M.gguf"),
        ("default", "C:\\models\\qwen.gguf"),
        ("local", "Llama-3.2-3B.gguf"),
        ("/srv/a/qwen.gguf", "qwen.gguf"),
        ("gpt-4o", ""),
        (" gpt-4o ", "gpt-4o"),
    ],
)
def test_another_name_of_the_same_model(asked: str, served: str) -> None:
    """Its dated, tagged, shortened or otherwise written form; and what says nothing."""
    assert is_same_model(asked, served)


@pytest.mark.parametrize(
    ("asked", "served"),
    [
        ("gpt-4o", "gpt-4o-mini"),
        ("gpt-4o", "gpt-4o-mini-2024-07-18"),
        ("gpt-4", "gpt-4-32k"),
        ("o1", "o1-preview-2024-09-12"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06"),
        ("mistral-large-2402", "mistral-large-2407"),
        ("llama3.2:1b", "llama3.2:3b"),
        ("llama3.2:latest", "llama3.2:1b"),
        ("llama3.2", "llama3.1"),
        ("gemini-1.5-pro", "gemini-2.5-pro"),
        ("anthropic/claude-x", "openai/gpt-x"),
        ("qwen2.5-7b-instruct", "qwen2.5-7b"),
        ("/models/qwen.gguf", "/models/llama.gguf"),
        ("acme/one", "acme/other"),
    ],
)
def test_the_name_of_another_model(asked: str, served: str) -> None:
    """Another size, version, release or tag is another model."""
    assert not is_same_model(asked, served)
    assert not is_same_model(served, asked)
