"""What providers refuse, as they say it: status and body of each refusal, with its source.

    refusal = refused("xAI grok-4", body)  # Answer of that provider to a request; None: it takes it

The bodies are those that users of the providers reported; where only another field of the same
form was reported, the form is theirs and the field is one that is sent here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scripted_model import Answer

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rule:
    """A request that *meets* it is refused."""

    meets: Callable[[Body], bool]
    answer: Answer


@dataclass(frozen=True, slots=True)
class Provider:
    """One of them, with the models that it was reported of, and how it is reached here."""

    name: str
    dialect: str
    source: str
    rules: tuple[Rule, ...]
    label: str  # what follows @ in a subject's label, once all is settled
    judge: str  # the same of a judge


def openai(message: str, status: int = 400, **error: Any) -> Answer:
    """OpenAI's form, which many have taken over."""
    return Answer({"error": {"message": message, "type": "invalid_request_error"} | error}, status)


def forbidden(*fields: str) -> Answer:
    """Mistral's form, which is pydantic's."""
    entries = [
        {"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted"}
        for name in fields
    ]
    return Answer(
        {
            "object": "error",
            "message": {"detail": entries},
            "type": "invalid_request_error",
            "param": None,
            "code": None,
        },
        422,
    )


def has(*names: str) -> Callable[[Body], bool]:
    """Whether a request has one of those fields."""
    return lambda body: any(name in body for name in names)


def form(kind: str) -> Callable[[Body], bool]:
    """Whether a request asks for that form of an answer."""
    return lambda body: body.get("response_format", {}).get("type") == kind


def limited(body: Body) -> bool:
    """Whether a schema has limits."""
    return '"minimum"' in json.dumps(body.get("response_format", ""))


def hot(body: Body) -> bool:
    """Whether a temperature is sent that is not 1."""
    return body.get("temperature", 1) != 1


TEMPERATURE = Rule(
    hot,
    openai(
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) "
        "value is supported.",
        param="temperature",
        code="unsupported_value",
    ),
)
MAX_TOKENS = Rule(
    has("max_tokens"),
    openai(
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
        "'max_completion_tokens' instead.",
        param="max_tokens",
        code="unsupported_parameter",
    ),
)
NOT_NONE = Rule(
    lambda body: body.get("reasoning_effort") == "none",
    openai(
        "Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported "
        "values are: 'minimal', 'low', 'medium', and 'high'.",
        param="reasoning_effort",
        code="unsupported_value",
    ),
)
TEMPLATE = Rule(
    has("chat_template_kwargs"),
    openai("Unknown parameter: 'chat_template_kwargs'.", param="chat_template_kwargs"),
)
STREAM_OPTIONS = Rule(
    has("stream_options"), openai("Extra inputs are not permitted, field: 'stream_options'")
)
SYSTEM_BODY = {
    "object": "error",
    "message": "System role not supported",
    "type": "BadRequestError",
    "param": None,
    "code": 400,
}


def says_system(body: Body) -> bool:
    """Whether there is a message of the system."""
    return any(message["role"] == "system" for message in body["messages"])


PROVIDERS: Sequence[Provider] = (
    Provider(
        "OpenAI gpt-5",
        "openai",
        "github.com/gabrii/Cursor-Azure-GPT-5/issues/33, OpenHands/OpenHands/issues/4131",
        (TEMPERATURE, MAX_TOKENS, NOT_NONE),
        "low-t1.0",
        "low-t1.0",
    ),
    Provider(
        "OpenAI gpt-5 behind a proxy of one's own, value first",
        "local",
        "the same; vllm-project/semantic-router/issues/1901",
        (TEMPERATURE, MAX_TOKENS, NOT_NONE, TEMPLATE),
        "low-t1.0",
        "low-t1.0",
    ),
    Provider(
        "OpenAI gpt-4o-mini",
        "local",
        "github.com/davidmigloz/langchain_dart/issues/712, TutteInstitute/toponymy/pull/148",
        (
            Rule(
                has("reasoning_effort"),
                openai(
                    "Unrecognized request argument supplied: reasoning_effort",
                    param=None,
                    code=None,
                ),
            ),
            Rule(
                has("chat_template_kwargs"),
                openai("Unrecognized request argument supplied: chat_template_kwargs"),
            ),
        ),
        "unset-t0.7",
        "unset-t0.0",
    ),
    Provider(
        "OpenAI o1-mini",
        "openai",
        "github.com/CherryHQ/cherry-studio/issues/1403",
        (
            Rule(
                says_system,
                openai(
                    "Unsupported value: 'messages[0].role' does not support 'system' with this "
                    "model.",
                    param="messages[0].role",
                    code="unsupported_value",
                ),
            ),
            TEMPERATURE,
        ),
        "none-t1.0",
        "none-t1.0",
    ),
    Provider(
        "OpenAI, an organization that is not verified",
        "local",
        "github.com/lobehub/lobehub/issues/9385",
        (
            Rule(
                has("stream"),
                openai(
                    "Your organization must be verified to stream this model.",
                    param="stream",
                    code="unsupported_value",
                ),
            ),
        ),
        "none-t0.7",
        "none-t0.0",
    ),
    Provider(
        "Anthropic claude-opus-4.7",
        "openai",
        "github.com/rocketride-org/rocketride-server/issues/1194, "
        "sherifkozman/the-llm-council/pull/55",
        (
            Rule(
                has("temperature"),
                Answer(
                    {
                        "type": "error",
                        "error": {
                            "type": "invalid_request_error",
                            "message": "'temperature' is deprecated for this model.",
                        },
                    },
                    400,
                ),
            ),
            Rule(
                limited,
                Answer(
                    {
                        "error": {
                            "message": "output_config.format.schema: For 'number' type, properties "
                            "maximum, minimum are not supported"
                        }
                    },
                    400,
                ),
            ),
        ),
        "none-tunset",
        "none-tunset",
    ),
    Provider(
        "Anthropic Claude through OpenRouter",
        "openrouter",
        "github.com/moeru-ai/xsai/issues/202 (the form), agentjido/req_llm/issues/302 (the words)",
        (
            Rule(
                limited,
                Answer(
                    {
                        "error": {
                            "message": "Provider returned error",
                            "code": 400,
                            "metadata": {
                                "raw": json.dumps(
                                    {
                                        "type": "error",
                                        "error": {
                                            "type": "invalid_request_error",
                                            "message": "output_format.schema: For 'integer' type, "
                                            "property 'minimum' is not supported",
                                        },
                                    }
                                ),
                                "provider_name": "Anthropic",
                            },
                        }
                    },
                    400,
                ),
            ),
        ),
        "none-t0.7",
        "none-t0.0",
    ),
    Provider(
        "DeepSeek",
        "openai",
        "github.com/llm-exe/llm-exe/issues/662, shareAI-lab/Kode-CLI/pull/182",
        (
            Rule(
                form("json_schema"),
                openai(
                    "This response_format type is unavailable now",
                    param=None,
                    code="invalid_request_error",
                ),
            ),
            Rule(
                has("tool_choice"),
                Answer(
                    {"error": {"message": "Thinking mode does not support this tool_choice"}}, 400
                ),
            ),
        ),
        "none-t0.7",
        "none-t0.0",
    ),
    Provider(
        "xAI grok-4",
        "openai",
        "github.com/BerriAI/litellm/pull/16265",
        (
            Rule(
                has("reasoning_effort"),
                Answer(
                    {
                        "code": "Client specified an invalid argument",
                        "error": "Model grok-4-latest does not support parameter reasoningEffort.",
                    },
                    400,
                ),
            ),
        ),
        "unset-t0.7",
        "unset-t0.0",
    ),
    Provider(
        "Mistral",
        "local",
        "github.com/editor-code-assistant/eca/issues/231 (the form)",
        (
            Rule(
                has("chat_template_kwargs", "stream_options"),
                forbidden("stream_options", "chat_template_kwargs"),
            ),
            Rule(has("reasoning_effort"), forbidden("reasoning_effort")),
        ),
        "unset-t0.7",
        "unset-t0.0",
    ),
    Provider(
        "Groq llama-3.3-70b",
        "local",
        "github.com/CherryHQ/cherry-studio/issues/1099, fanenr/chatbot/issues/21 (the form)",
        (
            Rule(
                has("reasoning_effort"),
                openai(
                    "property 'reasoning_effort' is unsupported, did you mean 'reasoning_format'?"
                ),
            ),
            Rule(
                has("chat_template_kwargs"),
                openai("property 'chat_template_kwargs' is unsupported"),
            ),
            Rule(
                form("json_schema"),
                openai(
                    "This model does not support response format `json_schema`.",
                    param="response_format",
                ),
            ),
        ),
        "unset-t0.7",
        "unset-t0.0",
    ),
    Provider(
        "Cohere",
        "openai",
        "github.com/davidmigloz/ai_clients_dart/issues/26 (the form)",
        (
            Rule(
                has("reasoning_effort"),
                Answer(
                    {
                        "id": "3039bcc8-6be7-4c38-a667-5de880ca2c80",
                        "message": "unprocessable entity: reasoning_effort is not supported",
                    },
                    422,
                ),
            ),
        ),
        "unset-t0.7",
        "unset-t0.0",
    ),
    Provider(
        "Google Gemini",
        "openrouter",
        "github.com/SuzumiyaAkizuki/ComfyUI-NewBie-LLM-Formatter/issues/3",
        (
            Rule(
                has("reasoning"),
                Answer(
                    [
                        {
                            "error": {
                                "code": 400,
                                "message": 'Invalid JSON payload received. Unknown name "reasoning"'
                                ": Cannot find field.",
                                "status": "INVALID_ARGUMENT",
                            }
                        }
                    ],
                    400,
                ),
            ),
        ),
        "unset-t0.7",
        "unset-t0.0",
    ),
    Provider(
        "Moonshot kimi-k2.5",
        "openai",
        "github.com/HKUDS/nanobot/pull/202",
        (Rule(hot, openai("invalid temperature: only 1 is allowed for this model")),),
        "none-t1.0",
        "none-t1.0",
    ),
    Provider(
        "Fireworks",
        "local",
        "github.com/FlowiseAI/Flowise/issues/2866",
        (STREAM_OPTIONS,),
        "none-t0.7",
        "none-t0.0",
    ),
    Provider(
        "Ollama",
        "local",
        "github.com/ollama/ollama/issues/12561 (the form)",
        (
            Rule(
                has("reasoning_effort"),
                openai('think value "none" is not supported for this model', type="api_error"),
            ),
        ),
        "none-t0.7",
        "none-t0.0",
    ),
    Provider(
        "vLLM with Gemma's template",
        "local",
        "github.com/vllm-project/vllm/pull/2964",
        (Rule(says_system, Answer(SYSTEM_BODY, 400)),),
        "none-t0.7",
        "none-t0.0",
    ),
    Provider(
        "llama.cpp, a schema that it makes no grammar of",
        "local",
        "github.com/flagdizero/jenny-android-ai-agent/issues/2",
        (
            Rule(
                form("json_schema"),
                Answer(
                    {
                        "code": 400,
                        "message": "Failed to initialize samplers: failed to parse grammar",
                        "type": "invalid_request_error",
                    },
                    400,
                ),
            ),
        ),
        "none-t0.7",
        "none-t0.0",
    ),
)


def refused(provider: Provider, body: Body) -> Answer | None:
    """The refusal of the first rule that *body* meets; None: it is taken."""
    return next((rule.answer for rule in provider.rules if rule.meets(body)), None)
