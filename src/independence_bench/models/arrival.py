"""Whether what was sent has reached the model, by the tokens that a server says a prompt had.

A server whose context is too small may cut a prompt without a word (Ollama's ``num_ctx``), and the
model then answers something that nobody asked. How many tokens a text has depends on the tokenizer,
so only what no tokenizer could make of it counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from independence_bench.hashing import hash_presorted_content
from independence_bench.models.messages import ChatRequest, Completion, Message
from independence_bench.models.response import shorten_line
from independence_bench.models.served import is_same_model

# no tokenizer takes more than about 8 bytes of prose, in any language, into a token: 12 has room
MOST_BYTES_A_TOKEN = 12.0
FEWEST_TOKENS = 8  # of any prompt: a chat template alone has more, so a smaller count is no count
MOST_OF_A_WORD = 96  # tokens of a prompt of one word: the longest chat templates have about 70
LAST_TURNS = (2, 4, 6)  # messages that a conversation may have more than at its reply before


def count_text_bytes(messages: Sequence[Message]) -> int:
    """Count the UTF-8 bytes of the words in *messages*: message contents, and arguments of tool
    calls.

    The content of a message with tool calls is not counted, because many chat templates leave that
    out.
    """
    texts = [message.content or "" for message in messages if not message.tool_calls]
    texts += [call.arguments for message in messages for call in message.tool_calls]
    return sum(len(text.encode("utf-8", "replace")) for text in texts)


@dataclass(slots=True)
class Arrivals:
    """The token counts that one endpoint has given of the prompts that it read."""

    # model -> whether its counts are known to grow with what is sent; not in it: nobody looked
    grows: dict[str, bool] = field(default_factory=dict)
    # hash of a prompt -> its tokens, as the endpoint said
    counted: dict[str, int] = field(default_factory=dict)

    def note_tokens_and_describe_cut(self, request: ChatRequest, tokens: int | None) -> str | None:
        """Return a sentence that says that the server cut the prompt of *request*, if *tokens*, the
        server's own count of the prompt's tokens, shows a cut; None if nothing shows one. Remembers
        *tokens* as the count of that prompt.

        A cut shows if the prompt has far too many bytes for the count. For a model whose counts are
        known to grow with the prompt, a cut also shows if the count grew too little since the
        conversation's previous prompt. A count below `FEWEST_TOKENS` shows nothing.
        """
        messages, grows = request.messages, self.grows.get(request.model.model)
        if tokens is None or tokens < FEWEST_TOKENS or grows is False:
            return None
        self.counted[_hash_prompt(request, messages)] = tokens
        if count_text_bytes(messages) > 2 * MOST_BYTES_A_TOKEN * tokens:
            return _describe_cut(tokens, messages)
        if grows and (grown := self.count_token_and_byte_growth(request, tokens)) is not None:
            more, added = grown
            if more < added / MOST_BYTES_A_TOKEN:
                return _describe_cut(tokens, messages)
        return None

    def count_token_and_byte_growth(
        self, request: ChatRequest, tokens: int
    ) -> tuple[int, int] | None:
        """Count the (tokens, bytes) that the prompt of *request* has more than the same
        conversation's previous prompt; *tokens* is the server's count for *request*. None if no
        previous prompt was counted.
        """
        messages = request.messages
        for more in LAST_TURNS:
            before = (
                self.counted.get(_hash_prompt(request, messages[:-more]))
                if len(messages) > more + 1
                else None
            )
            if before is not None:
                return tokens - before, count_text_bytes(messages[-more:])
        return None


USUAL_BYTES_A_TOKEN = 5.6  # of English, in any tokenizer of chat models: at most about 5
ENOUGH = 200  # bytes that a prompt must have grown by: less may be rounding


def list_reply_warnings(
    request: ChatRequest, completion: Completion, arrivals: Arrivals, skips_token_check: bool
) -> Iterator[str]:
    """Yield warnings, one line each, that *completion* may not answer *request*: that the server
    names another model than was asked for, and that the server counted too few prompt tokens for
    the whole prompt with its tools.

    *skips_token_check*: the endpoint was asked beforehand what it shows a model
    (`engine.delivered`), so its token counts are not checked.
    """
    model, served = request.model, completion.served_model
    if served and not is_same_model(model.model, served):
        yield (
            f"another model than {model.name} answered, by its server's word: "
            f"{shorten_line(served, 60)}"
        )
    tokens = completion.usage.prompt_tokens
    # other scripts take more bytes a token
    latin = len(request.encoded.encode("utf-8", "replace")) < 1.05 * len(request.encoded)
    if not tokens or not request.tools or not latin or skips_token_check:
        return
    sent = count_text_bytes(request.messages) + len(
        str([tool.format_tool() for tool in request.tools])
    )
    more, added = arrivals.count_token_and_byte_growth(request, tokens) or (0, 0)
    if sent > USUAL_BYTES_A_TOKEN * tokens or (
        added >= ENOUGH and added > USUAL_BYTES_A_TOKEN * more
    ):
        yield (
            f"{model.name}: the endpoint counted fewer tokens than its prompts contain, so it may "
            "hide the tool or earlier replies from the model; read a conversation (aib show), or "
            "use --modes user_role"
        )


def _describe_cut(tokens: int, messages: Sequence[Message]) -> str:
    """Return the error message for a prompt, *messages*, of which the server read only *tokens*
    tokens.
    """
    return (
        f"the server read only {tokens:,} tokens of a prompt of {count_text_bytes(messages):,} "
        "bytes, "
        "so it cut the prompt; give the server a larger context (Ollama: OLLAMA_CONTEXT_LENGTH, "
        "llama.cpp: --ctx-size)"
    )


def _hash_prompt(request: ChatRequest, messages: Sequence[Message]) -> str:
    """Return the hash of a prompt: the model and the tool names of *request* with *messages*, the
    first messages of that request.
    """
    tools = [tool.name for tool in request.tools]
    return hash_presorted_content(
        [request.model.model, tools, [message.format_message() for message in messages]]
    )
