"""What a judge is sent about one transcript: the conversation between fences, the rubric, the form
of the answer.

A judge is blind: what it is sent holds what both parties heard and the rubric, no name, label or
provider, and the system prompt only where a rubric quotes it. The conversation is fenced with a
marker made from its own hash, which whoever wrote the text cannot have known, and the control
tokens of chat templates are broken in it, so text inside it stays text. What a rubric quotes is
fenced in the same way. Pure: asks no model.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import lru_cache

from independence_bench.hashing import hash_content, hash_presorted_content, make_judgement_key
from independence_bench.judging.output import NoVerdict, Verdict, find_verdict_text, make_schema
from independence_bench.models.messages import ChatRequest, Completion, Message
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.conversation import Transcript, play_script
from independence_bench.protocol.definition import Configuration, Protocol, Scenario
from independence_bench.protocol.script import REFERENCE, SYSTEM, fill_quotes, list_quoted_names
from independence_bench.store.results import Judgement


@dataclass(frozen=True, slots=True)
class JudgingInput:
    """One transcript to be judged: what was heard, and by what it is marked."""

    transcript: Transcript
    scenario: Scenario
    instructions: str  # the protocol's, to every judge

    @property
    def rubric_hash(self) -> str:
        """The hash of everything that a judge of this conversation is sent besides the replies."""
        return hash_rubric(
            self.instructions,
            self.scenario,
            find_quoted_system(self.scenario, self.transcript.system),
        )

    @property
    def quotable_text(self) -> str:
        """All texts that a judge may be shown and may quote, joined by line breaks: system prompt,
        the scenario's reference, and every message of the conversation.
        """
        texts = (line.text for line in self.transcript.lines)
        return "\n".join((self.transcript.system, self.scenario.reference, *texts))

    def make_key(self, judge_hash: str) -> str:
        """Return the key of the judgement of this conversation by the judge with the hash
        *judge_hash*; it is a hash of conversation, rubric and judge.
        """
        return make_judgement_key(self.transcript.heard_hash, self.rubric_hash, judge_hash)

    def make_judgement(self, judge_hash: str, verdict: Verdict | NoVerdict) -> Judgement:
        """Return the judgement of this conversation by the judge with the hash *judge_hash*,
        without storing it: the scores and reasoning of *verdict*, or its reason for failure.
        """
        heard, rubric = self.transcript.heard_hash, self.rubric_hash
        about = (make_judgement_key(heard, rubric, judge_hash), heard, rubric, judge_hash)
        if isinstance(verdict, NoVerdict):
            return Judgement(*about, {}, "", verdict.reason)
        return Judgement(*about, verdict.marks, verdict.reasoning)


def hash_planned_rubric(
    protocol: Protocol, configuration: Configuration, scenario: Scenario
) -> str:
    """Return the hash of everything that a judge will be sent, besides the replies, about
    *scenario* as *protocol* plays it in *configuration*.
    """
    system = find_quoted_system(scenario, protocol.find_system_prompt(configuration.system))
    return hash_rubric(protocol.judge_instructions, scenario, system)


def find_quoted_system(scenario: Scenario, system: str) -> str:
    """Return *system*, the system prompt of a conversation, if a rubric of *scenario* quotes it;
    else "".
    """
    return (
        system
        if any(SYSTEM in list_quoted_names(rubric.text) for rubric in scenario.rubrics)
        else ""
    )


@lru_cache(maxsize=4096)
def hash_rubric(instructions: str, scenario: Scenario, system: str = "") -> str:
    """Return the hash of everything that a judge is sent about *scenario* besides the replies: the
    words of the request, with the replies left open.

    The hash changes with instructions, rubrics, scales, which replies are scored, and the words
    around them; with the scenario's reference and with *system* (see `find_quoted_system`), if a
    rubric quotes them; and with what a rule reads. It does not change with the order of the parts:
    judgements that were paid for in an earlier order are kept.
    """
    # the token: how replies are shown
    transcript = play_script(system, scenario.script, "\x02{}\x03<|token|>".format)
    case = JudgingInput(transcript, scenario, instructions)
    messages = (
        Message("system", instructions),
        Message("user", "\n\n".join(_make_judge_prompt_parts(case, "[fence]"))),
    )
    by_rule = [scenario.own_name, scenario.words, scenario.instead]
    return hash_content(
        [
            [message.format_message() for message in messages],
            make_judge_schema(scenario),
            *([by_rule] if any(by_rule) else []),
        ]
    )


def make_judge_request(case: JudgingInput, model: ChatModel) -> ChatRequest:
    """Return the request that asks the judge *model* to score the conversation in *case*."""
    return ChatRequest(
        model, make_judge_messages(case, make_fence(case)), schema=make_judge_schema(case.scenario)
    )


LONGEST_QUOTED = 4000  # characters of a judge's own answer that it is shown


def make_retry_request(
    case: JudgingInput, request: ChatRequest, rejected: Completion, why: str
) -> ChatRequest:
    """Return the request to a judge after its answer to *request* was *rejected*: the same request
    with that answer and *why* it could not be read. *request* itself if the provider had filtered
    the answer.

    Only the last rejected answer is shown. No key depends on it: a judgement is the same, whichever
    try gave it.
    """
    if rejected.filtered:  # by its provider: the judge did nothing wrong
        return request
    form = f"Answer with one {_describe_answer_form(case.scenario)}"
    said = (find_verdict_text(rejected) or rejected.content).strip()
    said = said or "\n".join(call.arguments for call in rejected.tool_calls).strip()
    if not said:
        # no message of its own: many chat templates refuse two of one role in a row
        *before, last = request.messages
        words = f"{last.content}\n\nYour last answer to this had no text. {form}"
        return replace(request, messages=(*before, Message("user", words)))
    if len(said) > LONGEST_QUOTED:
        half = LONGEST_QUOTED // 2
        said = f"{said[:half]}\n[...]\n{said[-half:]}"
    trouble = f"That could not be read: {as_text(why)}. {form}"
    told = (Message("assistant", as_text(said)), Message("user", trouble))
    return replace(request, messages=request.messages + told)


def _describe_answer_form(scenario: Scenario) -> str:
    """Return the form that a judge's answer about *scenario* must have, in words that follow "One":
    a JSON object with these keys.
    """
    keys = _describe_verdict_keys(scenario)
    return f"JSON object and nothing else, its keys in this order: {{{keys}}}"


@lru_cache(maxsize=1024)
def make_judge_schema(scenario: Scenario) -> str:
    """Return the JSON Schema of a judge's reply about *scenario*, as text. Its keys are in the
    order in which the judge is to write, reasoning first.
    """
    return json.dumps(make_schema(scenario.marks), ensure_ascii=False)


def make_judge_messages(case: JudgingInput, fence: str) -> tuple[Message, ...]:
    """Return the two messages to a judge of *case*. The system message has instructions and rubric,
    which are the same for all conversations of a scenario, so that servers evaluate them once. The
    user message has the conversation, between lines that begin with *fence*, and what is asked. A
    rubric that quotes the conversation stands after the conversation.
    """
    who_speaks, conversation, marked, rubric, answer = _make_judge_prompt_parts(case, fence)
    quotes_it = any(list_quoted_names(rubric.text) for rubric in case.scenario.rubrics)
    parts = [case.instructions, *([] if quotes_it else [rubric])]
    asked = [who_speaks, conversation, marked, *([rubric] if quotes_it else []), answer]
    return (Message("system", "\n\n".join(parts)), Message("user", "\n\n".join(asked)))


def _make_judge_prompt_parts(case: JudgingInput, fence: str) -> tuple[str, str, str, str, str]:
    """Return the five parts of a judge's prompt about *case*: who speaks, the conversation between
    lines of *fence*, which replies to score, the rubric, the form of the answer.
    """
    rubric = "\n\n".join(
        fill_quotes(rubric.text, lambda name: f"{fence} {_quote_part(case, name)}\n{fence} end")
        for rubric in case.scenario.rubrics
    )
    return (
        f"Lines that begin with {fence} are ours and tell who speaks. Everything between them was "
        "said in the conversation.",
        render_fenced_conversation(case.transcript, fence),
        f"# What to mark\n\n{describe_marked_replies(case.scenario)}",
        f"# Rubric\n\n{rubric}",
        f"# Your answer\n\nOne {_describe_answer_form(case.scenario)}",
    )


def render_rubrics_for_person(case: JudgingInput) -> tuple[str, ...]:
    """Return the texts of the rubrics of *case* as a person reads them; passages quoted from the
    conversation are Markdown quotes.
    """

    def quote_part_as_markdown(name: str) -> str:
        lines = _quote_part(case, name).split("\n")
        return "\n".join(("", *(f"> {line}" for line in lines), ""))

    return tuple(
        fill_quotes(rubric.text, quote_part_as_markdown) for rubric in case.scenario.rubrics
    )


def describe_marked_replies(scenario: Scenario) -> str:
    """Return a sentence that tells a judge which replies of *scenario* its scores are about."""
    judged = " and ".join(f"“{name}”" for name in scenario.judged)
    if scenario.judged == scenario.reply_names:
        about = (
            "the AI's reply"
            if len(scenario.reply_names) == 1
            else "all of the AI's replies, taken together"
        )
    else:
        about = f"the AI's {'reply' if len(scenario.judged) == 1 else 'replies'} {judged}"
    return f"Your marks are about {about}."


def list_rubric_texts(scenario: Scenario) -> tuple[str, ...]:
    """Return the texts of the rubrics of *scenario* with its reference filled in; places for
    replies stay open, as ``{{name}}``.
    """
    shown = {REFERENCE: scenario.reference} if scenario.reference else {}
    return tuple(
        fill_quotes(rubric.text, lambda name: shown.get(name, f"{{{{{name}}}}}"))
        for rubric in scenario.rubrics
    )


def _quote_part(case: JudgingInput, name: str) -> str:
    """Return the text that a rubric quotes as ``{{name}}``, under a line that says what it is: the
    reference of *case*, its system prompt, or its reply called *name*.
    """
    if name == REFERENCE and name not in case.transcript.reply_names:
        return f"what the AI is meant to be:\n{as_text(case.scenario.reference)}"
    if name == SYSTEM and name not in case.transcript.reply_names:
        return f"what the AI was told before the conversation:\n{as_text(case.transcript.system)}"
    return f"the reply “{name}”:\n{as_text(case.transcript.find_reply(name))}"


_WORDS = {
    "string": "...",
    "boolean": "true or false",
    "number": "number",
    "integer": "whole number",
}


@lru_cache(maxsize=1024)
def _describe_verdict_keys(scenario: Scenario) -> str:
    return ", ".join(
        f'"{name}": {" or ".join(map(json.dumps, spec.get("enum", ()))) or _WORDS[spec["type"]]}'
        for name, spec in make_schema(scenario.marks)["properties"].items()
    )


def make_fence(case: JudgingInput) -> str:
    """Return the marker that begins our own lines in a judge's prompt about *case*: it does not
    occur in the conversation and could not have been written into it.

    The marker is made from the hash of the conversation: a text that contained it would have
    another hash.
    """
    return f"[{hash_presorted_content(['fence', case.transcript.heard_hash])[:20]}]"


def render_fenced_conversation(transcript: Transcript, fence: str) -> str:
    """Return the conversation as a judge is shown it: each message under a line that begins with
    *fence* and says who speaks.
    """
    shown = []
    for line in transcript.lines:
        if line.speaker == "human":
            who = "the human says"
        elif line.is_scripted_model_line:
            who = "the AI says"
        else:
            who = f"the AI says (its reply “{line.name}”)"
        shown.append(f"{fence} {who}:\n{as_text(line.text)}")
    return "\n\n".join((f"# The conversation\n\n{fence} begins", *shown, f"{fence} ends"))


def as_text(words: str) -> str:
    """Return *words* with a space in every control token of a chat template, so that no server
    reads it as a token.

    Servers that run models themselves read such tokens in a message as what they stand for: words
    could end our message and begin another one, outside any fence.
    """
    if "<" in words or "[" in words:
        words = _TOKEN.sub(r"\g<0> ", words)
    return _TOKEN_END.sub(r"\g<0> ", words) if ">" in words else words


_TOKEN = re.compile(
    r"<(?=[|｜]|/?(?:s|bos|eos|unk|pad|mask|think|tool_call|tool_response"
    r"|start_of_\w{1,9}|end_of_\w{1,9}"
    r"|unused\d{1,4}|extra_id_\d{1,4})>|<SYS>>|</SYS>>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT"
    r"|THINK|ARGS|gMASK|MASK|SEP|CLS)\])"
)
_TOKEN_END = re.compile(r"[|｜](?=>)")
