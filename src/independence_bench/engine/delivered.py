"""Finds out, for free, whether a server shows a model the tools and calls of tool_role.

Chat templates without tools are common: the server takes the request, leaves out the tools and what
the model said through them, and the model answers something else than it was asked. llama.cpp's
server says what it would show. Of others the tokens that they count tell it: what makes a prompt
longer is shown. Asks only endpoints that are free, one token at a time, and stores nothing.
"""

from __future__ import annotations

from dataclasses import replace

from independence_bench.models.client import Client
from independence_bench.models.messages import ChatRequest, Fault, Kind, estimate_tokens
from independence_bench.models.spec import ChatModel
from independence_bench.protocol import delivery
from independence_bench.protocol.conversation import Line, Transcript
from independence_bench.protocol.definition import ToolWording

LONGER = " The rain went on all day, and nobody in the house minded it at all." * 12
SHOWN = 0.25  # of the tokens that a text usually has: more than that is no accident


async def probe_and_describe_hidden_parts(
    client: Client, model: ChatModel, wording: ToolWording
) -> str | None:
    """Ask a model server which parts of a conversation in tool_role (tools, what the model said,
    what the model was told) it does not show to *model*, and return them as a phrase that also says
    how that is known. None if all parts are shown, or if it cannot be known.

    Afterwards *client* knows whether the endpoint's counts of tokens can be believed.
    """
    named = replace(wording, description="TOOL-OFFERED")
    rendered = await client.render_prompt(
        _make_test_request(model, named, said="SAID-BEFORE", heard="HEARD-BEFORE")
    )
    if rendered is not None:
        client.arrivals.grows[model.model] = True
        shown = {
            "its tools": "TOOL-OFFERED",
            "what it said": "SAID-BEFORE",
            "what it is told": "HEARD-BEFORE",
        }
        hidden = [what for what, text in shown.items() if text not in rendered]
        return f"{_join_parts(hidden)} (by the server's own rendering)" if hidden else None
    plain = await _ask_prompt_token_count(client, _make_test_request(model, wording))
    if isinstance(plain, Fault) and plain.kind is Kind.BAD_REQUEST:
        without = await _ask_prompt_token_count(
            client, _make_test_request(model, wording, tools=False, system_only=True)
        )
        return (
            None
            if isinstance(without, Fault)
            else f"its tools: the server refuses them ({plain.message})"
        )
    again = await _ask_prompt_token_count(client, _make_test_request(model, wording))
    control = await _ask_prompt_token_count(
        client, _make_test_request(model, wording, system=LONGER)
    )
    # a server that counts only what is new to it, or always the same, says nothing by its counts
    counts = (
        isinstance(plain, int) and plain == again and _has_grown_by_text(control, plain, LONGER)
    )
    client.arrivals.grows[model.model] = counts
    if not counts:
        return None
    tools = delivery.make_tools("tool_role", wording)
    bare = await _ask_prompt_token_count(client, _make_test_request(model, wording, tools=False))
    said = await _ask_prompt_token_count(client, _make_test_request(model, wording, said=LONGER))
    heard = await _ask_prompt_token_count(client, _make_test_request(model, wording, heard=LONGER))
    hidden = []
    if isinstance(bare, int) and not _has_grown_by_text(
        plain, bare, str([tool.format_tool() for tool in tools])
    ):
        hidden.append(f"its tools ({plain} tokens with them, {bare} without)")
    if isinstance(said, int) and not _has_grown_by_text(said, plain, LONGER):
        hidden.append(
            f"what it said ({said} tokens with {len(LONGER.split())} words more of it, {plain} "
            "without)"
        )
    if isinstance(heard, int) and not _has_grown_by_text(heard, plain, LONGER):
        hidden.append(
            f"what it is told ({heard} tokens with {len(LONGER.split())} words more of it, "
            f"{plain} without)"
        )
    return _join_parts(hidden) if hidden else None


def _has_grown_by_text(count: int | Fault, before: int | Fault, text: str) -> bool:
    """Whether the token count *count* exceeds the token count *before* by enough to show that
    *text* was added to a prompt. False if either is a fault.
    """
    return (
        isinstance(count, int)
        and isinstance(before, int)
        and count - before >= SHOWN * estimate_tokens(text)
    )


def _make_test_request(
    model: ChatModel,
    wording: ToolWording,
    *,
    system: str = "",
    said: str = "",
    heard: str = "",
    tools: bool = True,
    system_only: bool = False,
) -> ChatRequest:
    """Return a request in tool_role for a short conversation (system prompt, greeting of human and
    model, question), with the words *system*, *said* or *heard* added to the system prompt, to what
    the model said, or to the last human line. *tools* False: it offers no tools; *system_only*: it
    is in user_role instead.
    """
    talk = Transcript(
        f"You are taking part in a conversation.{system}",
        (
            Line("human", "Hello."),
            Line("model", f"Hello.{said}", name="x"),
            Line("human", f"How are you?{heard}"),
        ),
    )
    way = "user_role" if system_only else "tool_role"
    return ChatRequest(
        model,
        delivery.make_messages(talk, way, wording),
        delivery.make_tools(way, wording) if tools else (),
    )


async def _ask_prompt_token_count(client: Client, request: ChatRequest) -> int | Fault:
    """Send *request* for a reply of one token, and return the number of prompt tokens that the
    server counts; the fault if it counts none.
    """
    outcome = await client.complete(request, 1)
    while isinstance(outcome, Fault) and outcome.kind is Kind.PART_REFUSED:
        outcome = await client.complete(request, 1)
    if isinstance(outcome, Fault):
        tokens = outcome.usage.prompt_tokens
        return tokens if tokens and outcome.kind is not Kind.BAD_REQUEST else outcome
    tokens = outcome.usage.prompt_tokens
    return tokens or Fault(Kind.UNAVAILABLE, "it counts no tokens")


def _join_parts(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
