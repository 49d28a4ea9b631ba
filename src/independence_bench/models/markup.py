"""The marks that model families write around thoughts, calls of tools and turns, and how they are read in a reply.

A server with the right parser takes them out. Without one, or with another family's, they stand in the text: there a
thought would be judged as speech, and a call as words. `FAMILIES` is the one table of them; what reads them is small,
goes through a text once, and knows no family by name.

    words, thoughts = split_thoughts(content)          # what is said, and what was only thought
    rest, calls = read_calls(words, "say")             # calls of the tool "say" that stand in the text
    leftover_tokens(words)                             # marks that are in it all the same: () in a clean reply
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from independence_bench.models.messages import ToolCall

# ---------------------------------------------------------------- the table


@dataclass(frozen=True, slots=True)
class Thoughts:
    """What begins and what ends a thought; regular expressions."""

    opens: str
    closes: str
    alone: bool = False  # the end may come without the beginning: the family's template writes that itself
    prose: bool = False  # sentences and no tokens: a thought only at the beginning of a reply, and only with its end


def _tag(name: str, alone: bool = False) -> Thoughts:
    """A pair of tags, in small letters or capitals, spaced or with attributes as small models write them."""
    return Thoughts(rf"<\s{{0,3}}{name}(?:\s[^<>]{{0,80}})?>", rf"<\s{{0,3}}/\s{{0,3}}{name}\s{{0,3}}>", alone)


@dataclass(frozen=True, slots=True)
class Family:
    """The marks of one family of models, as regular expressions, and where they are described."""

    models: str
    source: str
    thoughts: tuple[Thoughts, ...] = ()
    answers: tuple[str, ...] = ()  # what stands around the words that follow a thought
    calls: tuple[str, ...] = ()  # what stands around a call of a tool
    turns: tuple[str, ...] = ()  # what ends the model's turn, or begins another's
    tokens: tuple[str, ...] = ()  # other special tokens


FAMILIES: tuple[Family, ...] = (
    Family(
        "DeepSeek R1 and V3.1, Qwen 3, QwQ, GLM 4.5, Hunyuan, ERNIE 4.5, MiniMax M2, SmolLM 3",
        "vLLM documentation, 'Reasoning outputs': table of parsers",
        thoughts=(_tag("think", alone=True), _tag("mm:think", alone=True)),
        answers=(r"<answer>", r"</answer>", r"<response>", r"</response>"),
    ),
    Family(
        "models that were told or tuned to think in tags of their own, Gemini among them",
        "Google, Gemini API, 'OpenAI compatibility': thoughts; EXAONE Deep's model card",
        thoughts=tuple(map(_tag, ("thinking", "thought", "reasoning", "scratchpad"))),
    ),
    Family("Seed-OSS", "vLLM documentation, 'seedoss_reasoning_parser'", thoughts=(_tag("seed:think", alone=True),)),
    Family(
        "Magistral and other models of Mistral",
        "Mistral, 'Reasoning' and 'mistral-common' tokens: v3, v7, v11, v13",
        thoughts=(Thoughts(r"\[THINK\]", r"\[/THINK\]", alone=True),),
        calls=(r"\[TOOL_CALLS\]", r"\[ARGS\]", r"\[CALL_ID\]\w{0,40}"),
        turns=(r"\[/?INST\]", r"</s>"),
        tokens=(r"<<?/?SYS>>?", r"\[/?(?:AVAILABLE_TOOLS|TOOL_RESULTS|SYSTEM_PROMPT)\]"),
    ),
    Family("Kimi-VL and Kimi K1.5", "Kimi-VL-Thinking's model card", thoughts=(Thoughts("◁think▷", "◁/think▷", True),)),
    Family(
        "Kimi K2",
        "Kimi K2's 'tool_call_guidance'",
        calls=(r"<\|tool_calls?(?:_section|_argument)?_(?:begin|end)\|>",),
        tokens=(r"<\|im_(?:middle|system|user|assistant)\|>",),
    ),
    Family(
        "Command A and R of Cohere",
        "Cohere documentation, 'Prompt format' of Command A Reasoning",
        thoughts=(Thoughts(r"<\|START_THINKING\|>", r"<\|END_THINKING\|>", alone=True),),
        answers=(r"<\|(?:START|END)_(?:RESPONSE|TEXT)\|>",),
        calls=(r"<\|(?:START|END)_ACTION\|>",),
        turns=(r"<\|END_OF_TURN_TOKEN\|>", r"<\|START_OF_TURN_TOKEN\|>"),
    ),
    Family(
        "gpt-oss (harmony)",
        "OpenAI cookbook, 'OpenAI harmony response format'",
        thoughts=(
            Thoughts(
                r"(?:<\|start\|>assistant)?<\|channel\|>analysis(?:\s[^<>\n]{0,60})?<\|message\|>"
                r"|\Aanalysis<\|message\|>",
                r"<\|end\|>(?:<\|start\|>assistant)?|(?:<\|start\|>assistant)?(?=<\|channel\|>(?:final|commentary))",
            ),
            # of a server that leaves special tokens out: their names remain
            Thoughts(r"\Aanalysis", r"assistant\s?final|assistant(?=\s?commentary to=)", prose=True),
        ),
        answers=(
            r"(?:<\|start\|>assistant)?<\|channel\|>(?:final|commentary)\s?(?:<\|constrain\|>\w{0,20})?<\|message\|>",
        ),
        calls=(r"(?:<\|channel\|>)?commentary to=", r"<\|constrain\|>", r"<\|message\|>", r"<\|call\|>"),
        turns=(r"<\|return\|>", r"<\|start\|>(?:user|developer|system)"),
        tokens=(r"<\|(?:channel|start)\|>",),
    ),
    Family(
        "Gemma 4",
        "Google, 'Gemma 4 prompt formatting'",
        thoughts=(Thoughts(r"<\|channel>\s?thought\b\n?", r"<channel\|>", alone=True),),
        calls=(r"<\|tool_call>", r"<tool_call\|>", r"<\|tool_response>"),
        turns=(r"<turn\|>", r"<\|turn>"),
        tokens=(r"<\|channel>", r'<\|"\|>', r"<\|?tool(?:_response)?\|?>"),
    ),
    Family(
        "Gemma 2 and 3",
        "Google, 'Gemma formatting and system instructions' and 'Function calling with Gemma'",
        calls=(r"```tool_code",),
        turns=(r"</?(?:start|end)_of_turn>",),
        tokens=(r"<(?:bos|eos|pad|unk)>",),
    ),
    Family(
        "Granite 3 and 4",
        "IBM, Granite 3.2 documentation: thinking; vLLM documentation, 'Tool calling': granite",
        thoughts=(
            Thoughts(
                r"\A\s{0,20}Here(?: is|'s) my thought process:", r"Here(?: is|'s) my (?:final )?response:", prose=True
            ),
        ),
        calls=(r"<\|tool_call\|>",),
        turns=(r"<\|(?:start|end)_of_role\|>",),
    ),
    Family(
        "Apriel",
        "Apriel Nemotron 15B Thinker's model card",
        thoughts=(Thoughts(r"\A\s{0,20}Here are my reasoning steps:", r"\[BEGIN FINAL RESPONSE\]", prose=True),),
        turns=(r"\[END FINAL RESPONSE\]",),
        tokens=(r"\[BEGIN FINAL RESPONSE\]",),
    ),
    Family(
        "OpenThinker, Sky-T1 and their kin",
        "Sky-T1's repository: its system prompt",
        thoughts=(Thoughts(r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>", alone=True),),
        answers=(r"<\|(?:begin|end)_of_solution\|>",),
    ),
    Family(
        "Hermes, Qwen 2.5 and 3, Qwen3-Coder, GLM 4.5, ERNIE 4.5, Granite 4",
        "vLLM documentation, 'Tool calling': hermes, qwen3_coder, glm45; their chat templates",
        calls=(
            r"</?tool_calls?>",
            r"</?function(?:=[\w.:-]{1,80})?>",
            r"</?parameter(?:=[\w.-]{1,80})?>",
            r"</?arg_(?:key|value)>",
        ),
        turns=(r"<\|im_(?:end|start)\|>", r"<\|endoftext\|>"),
    ),
    Family(
        "Llama 3 and 4",
        "Meta, 'Llama 3.1 model cards and prompt formats'",
        calls=(r"<\|python_tag\|>", r"<\|python_(?:start|end)\|>"),
        turns=(r"<\|(?:eot_id|eom_id|eot|eom|end_of_text|start_header_id|header_start)\|>",),
        tokens=(r"<\|(?:begin_of_text|end_header_id|header_end)\|>",),
    ),
    Family(
        "DeepSeek V3 to V3.2",
        "DeepSeek's chat templates in its model repositories; vLLM documentation, 'Tool calling': deepseek_v3",
        calls=(r"<｜tool▁(?:calls?|outputs?)▁(?:begin|end)｜>", r"<｜tool▁sep｜>", r"</?｜DSML｜[^<>\n]{1,120}>"),
        turns=(r"<｜end▁of▁sentence｜>", r"<｜(?:User|Assistant)｜>"),
        tokens=(r"<｜begin▁of▁sentence｜>",),
    ),
    Family(
        "MiniMax M1 and M2, Claude's own XML, Step 3, Seed-OSS",
        "MiniMax, 'Tool calling guide'; Anthropic, 'Tool use': its system prompt; Step 3's model card",
        calls=(
            r"</?(?:minimax|seed|step):tool_calls?>",
            r"</?(?:antml:|steptml:)?(?:function_calls|invoke|parameter)(?:\s[^<>\n]{1,120})?>",
            r"<｜tool(?:_calls?)?_(?:begin|end|sep)｜>",
        ),
    ),
    Family("LFM 2", "Liquid AI, LFM2's model card: tool use", calls=(r"<\|tool_call_(?:start|end)\|>",)),
    Family(
        "Phi 3 and 4",
        "Microsoft, Phi-4-mini's model card: tools; vLLM documentation, 'Tool calling': phi4_mini_json",
        calls=(r"<\|/?tool_call\|>", r"\bfunctools\s?\["),
        turns=(r"<\|end\|>", r"<\|(?:user|assistant|system)\|>"),
    ),
    Family(
        "Nemotron, Jamba, Apertus", "their chat templates", calls=(r"</?TOOLCALL>", r"<\|tools_(?:prefix|suffix)\|>")
    ),
)

# ---------------------------------------------------------------- thoughts


def split_thoughts(content: str) -> tuple[str, str]:
    """(words, thoughts) of a *content*: what some families think in the text, before or between their words, taken out.

    Templates that open the thought themselves leave only its end in the reply. Thinking that was never closed is
    thought to the end: nothing more was said. A tag that is only mentioned, quoted or in mid-sentence, is a word.
    """
    content = content.removeprefix("\ufeff")  # the byte order mark, which some servers begin with
    words: list[str] = []
    thoughts: list[str] = []
    at, opened = 0, None
    for mark in _THOUGHTS.finditer(content) if _marked(content) else ():
        begins, number = mark.lastgroup[0] == "o", int(mark.lastgroup[1:])  # type: ignore[index,union-attr]
        pair = PAIRS[number]
        if opened == number and not begins:
            thoughts.append(content[at : mark.start()])
            opened, at = None, mark.end()
        elif opened is not None or mark.start() < at or _is_mention(content, mark.start(), mark.end()):
            continue
        elif begins:
            if pair.prose and not re.search(pair.closes, content[mark.end() :]):
                continue
            words.append(content[at : mark.start()])
            opened, at = number, mark.end()
        elif pair.alone:
            thoughts.append("".join((*words, content[at : mark.start()])))
            words, at = [], mark.end()
            # an end behind everything, after a thought that was closed, takes nothing from what was said
            if len(thoughts) > 1 and not content[at:].strip():
                words = [thoughts.pop()]
    (words if opened is None else thoughts).append(content[at:])
    said = "".join(words)
    if thoughts:
        said = _trimmed(said.strip(), _ANSWERS, _ANSWER_LAST) if _marked(said) else said.strip()
    return _HARMONY_HEAD.sub("\n\n", said).strip() if "<|message|>" in said else said, "\n\n".join(
        thought.strip() for thought in thoughts if thought.strip()
    )


def _marked(text: str) -> bool:
    """Whether a search for marks can find any: each has one of these, or begins the text."""
    return "<" in text or "[" in text or "◁" in text or text.lstrip().startswith(("Here", "analysis"))


_QUOTES = "\"'`“”„‘’«»"


def _is_mention(text: str, start: int, end: int) -> bool:
    """Whether the mark from *start* to *end* is spoken of and not used: it stands in quotes, or in mid-sentence.

    Used, it stands at the beginning or end of a line, or against a word on the side that it opens or closes.
    """
    before, after = text[start - 1 : start], text[end : end + 1]
    if before and after and before in _QUOTES and after in _QUOTES:
        return True
    if before not in (" ", "\t") or not text[text.rfind("\n", 0, start) + 1 : start].strip():
        return False
    if after and after in ",.;:!?)":
        return True
    line_end = text.find("\n", end)
    return after in (" ", "\t") and bool(text[end : len(text) if line_end < 0 else line_end].strip())


PAIRS: tuple[Thoughts, ...] = tuple(pair for family in FAMILIES for pair in family.thoughts)
_THOUGHTS = re.compile(
    "|".join(f"(?P<o{n}>{pair.opens})|(?P<c{n}>{pair.closes})" for n, pair in enumerate(PAIRS)), re.IGNORECASE
)


# ---------------------------------------------------------------- turns, and what remains


def _any(*patterns: str) -> str:
    return f"(?:{'|'.join(dict.fromkeys(patterns))})"


def _of(name: str) -> tuple[str, ...]:
    return tuple(pattern for family in FAMILIES for pattern in getattr(family, name))


# tokens of families that are not in the table look like these
_TOKEN = _any(
    r"<\|[^<>|\n]{1,40}\|>",
    r"<｜[^<>\n]{1,40}｜>",
    r"</?s>",
    *_of("turns"),
    *_of("tokens"),
    r"<\|[a-z_]{1,20}>",
    r"<[a-z_]{1,20}\|>",
)
_HEADER = r"<[^<>\n]{1,30}>(?:assistant|model)(?=\s{0,9}\n|<)"  # the head of the model's own turn
_DEBRIS = re.compile(rf"(?:{_HEADER}|{_TOKEN}|\s)+")
_TOKEN_LAST = re.compile(rf"{_TOKEN}\Z")
TEMPLATE = re.compile(_TOKEN)
LONGEST_TOKEN = 130  # characters: a bound on what a pattern matches

# the tokens of turns, and a line with nothing but a role: what is left of them where a server leaves tokens out
_END_OF_TURN = re.compile(_any(*_of("turns"), r"\n(?:user|human)\s?\n"))


def own_turn(text: str) -> str:
    """What *text* says before the model goes on to play the other side, without template tokens at its ends."""
    return trim_template(before_next_turn(text))


def before_next_turn(text: str) -> str:
    """*text* up to the mark that ends the model's turn; all of it without one. A mark in quotes is only spoken of."""
    if "<" not in text and "[" not in text and "\n" not in text:
        return text
    leading = _DEBRIS.match(text)
    for mark in _END_OF_TURN.finditer(text, leading.end() if leading else 0):
        before, after = text[mark.start() - 1 : mark.start()], text[mark.end() : mark.end() + 1]
        if not (before and after and before in _QUOTES and after in _QUOTES):
            return text[: mark.start()]
    return text


def trim_template(text: str) -> str:
    """*text* without the chat template's tokens and white space that leaked in at its two ends."""
    return _trimmed(text, _DEBRIS, _TOKEN_LAST)


def _trimmed(text: str, leading: re.Pattern[str], last: re.Pattern[str]) -> str:
    """*text* from the end of what *leading* matches to the beginning of what matches *last*, again and again."""
    first = leading.match(text)
    start, end = first.end() if first else 0, len(text)
    while end > start:
        found = last.search(text, max(start, end - LONGEST_TOKEN), end)
        if found is None and not text[end - 1].isspace():
            break
        end = found.start() if found else end - 1
    return text[start:end]


def leftover_tokens(text: str) -> tuple[str, ...]:
    """The special tokens and tags of known families that stand in *text*, each once; () in a clean reply."""
    return tuple(dict.fromkeys(found[0] for found in _LEFTOVER.finditer(text))) if _marked(text) else ()


_LEFTOVER = re.compile(
    _any(
        _TOKEN,
        *(pattern for pair in PAIRS if not pair.prose for pattern in (pair.opens, pair.closes) if "(?=" not in pattern),
        *(pattern for pattern in _of("calls") if pattern.startswith(("<", r"\["))),
    ),
    re.IGNORECASE,
)
_ANSWER = _any(*_of("answers"), r"\s")
_ANSWERS, _ANSWER_LAST = re.compile(f"{_ANSWER}+"), re.compile(rf"{_ANSWER}\Z")
_HARMONY_HEAD = re.compile(rf"(?:<\|end\|>)?{_any(*(a for a in _of('answers') if 'channel' in a))}")


# ---------------------------------------------------------------- calls of tools

_NAME = r"[\w.:-]{1,80}"
_KEY = r'"(?:arguments|parameters|args|input)"\s{0,9}:\s{0,20}'
_CALLED = rf'"(?:name|tool_name)"\s{{0,9}}:\s{{0,9}}"(?P<json>[^"\n]{{0,80}})"\s{{0,9}},\s{{0,20}}{_KEY}'
_FIRST = r'(?:"(?:type|id|tool_call_id)"\s{0,9}:\s{0,9}"[^"\n]{0,80}"\s{0,9},\s{0,20}){0,2}'
# between a tool's name and its arguments in JSON
_BETWEEN = (
    r"(?::\d{1,6})?(?:\s|```(?:json)?|json\b|\[ARGS\]|\[CALL_ID\]\w{0,40}|<｜tool▁sep｜>|<\|tool_call_argument_begin\|>"
    r"|<\|(?:constrain|message)\|>|Action Input:|\":){0,12}"
)


@lru_cache(maxsize=64)
def _heads(tool: str) -> re.Pattern[str]:
    """How a call begins, in every family's syntax; the group that matches says in which, and holds the tool's name.

    A syntax that words may have as well is a call only of *tool*; others are calls whatever tool they name.
    """
    ours = rf"(?<![\w.])(?:functions\.)?(?P<{{}}>{re.escape(tool)})"
    begun = r"(?:\[TOOL_CALLS\]\s?|<｜tool▁sep｜>|commentary to=|<\|tool_call_begin\|>)(?:functions\.)?"
    return re.compile(
        _any(
            rf"[{{]{{1,2}}\s{{0,20}}{_FIRST}{_CALLED}",  # {"name": "NAME", "arguments": {...}}
            rf'(?P<first>[{{]{{1,2}}\s{{0,20}}{_KEY})(?=[{{"])',  # {"arguments": {...}, "name": "NAME"}
            # <function=NAME>, <invoke name="NAME">: arguments in JSON, or each in a tag
            rf'<(?:\w{{1,20}}:|｜DSML｜)?(?:function|invoke)(?:=|\s{{1,9}}name\s?=\s?)"?(?P<tags>{_NAME})"?\s{{0,9}}>',
            rf"<tool_call>\s{{0,9}}(?P<pairs>{_NAME})\s{{0,9}}(?=<arg_key>)",  # NAME, then keys and values in tags
            rf"\bcall:\s?(?P<quoted>{_NAME})\s?(?=\{{)",  # call:NAME{key:<|"|>value<|"|>}
            rf"{ours.format('python')}\s?\((?=\s{{0,20}}(?:\w{{1,40}}\s?=\s?)?[\"'])",  # NAME(key="value")
            rf"{ours.format('named')}{_BETWEEN}(?=\{{)",  # NAME, marks, {...}
            rf"{begun}(?P<other>{_NAME}){_BETWEEN}(?=\{{)",
        )
    )


def read_calls(text: str, tool: str) -> tuple[str, tuple[ToolCall, ...]]:
    """(what is left of *text*, the calls in it that the server did not read), each with its arguments as JSON.

    *tool* is the tool that was offered. Arguments that were cut off are JSON that is cut off; a call that was cut off
    before its arguments has no name.
    """
    calls: list[ToolCall] = []
    left, at = [], 0
    heads = list(_heads(tool).finditer(text)) if _marked(text) or "{" in text or tool in text else []
    ends = [*(head.start() for head in heads[1:]), len(text)]
    for head, next_head in zip(heads, ends, strict=False):
        syntax = head.lastgroup or ""
        read = None if head.start() < at else _READERS[syntax](text, head.end(), next_head, head[syntax])
        if read is not None:
            name, arguments, end = read
            calls.append(ToolCall("", name, arguments))
            left.append(text[at : head.start()])
            at = end
    if not calls:
        return text, (ToolCall("", "", "{"),) if _TORN.search(text) else ()
    before = [_trimmed(part, _NOTHING, _BEFORE_CALL) for part in left]
    parts = [before[0], *(_trimmed(part, _BEHIND_CALL, _BEFORE_CALL) for part in (*before[1:], text[at:]))]
    return "\n".join(part for part in parts if part), tuple(calls)


def looks_like_call(text: str) -> bool:
    """Whether *text* begins with a tool call written out as JSON, fenced or not."""
    return bool(_JSON_CALL.match(re.sub(r"\A[`\s]*(?:json\s)?\s*", "", text)))


_JSON_CALL = re.compile(rf"[{{]{{1,2}}\s{{0,20}}{_FIRST}{_CALLED}")
_DECODER = json.JSONDecoder(strict=False)
Read = tuple[str, str, int]  # the tool's name, its arguments, where the call ends


def _json_arguments(text: str, start: int, next_head: int, name: str) -> Read | None:
    """Arguments in JSON from *start*; where they are cut off, or have bare quotes in them, all up to the next call."""
    while text.startswith("{{", start):
        start += 1
    arguments = text[start:next_head]
    try:
        _, end = _DECODER.raw_decode(arguments)
    except (ValueError, RecursionError):
        arguments = arguments.rstrip("`\n ;,]")
        if (closed := _CALL_MARK.search(arguments)) is not None:
            arguments = arguments[: closed.start()].rstrip()
        # the call's own brace
        return name, arguments[:-1] if arguments.endswith("}}") else arguments, next_head
    return name, arguments[:end], start + end


def _arguments_first(text: str, start: int, next_head: int, _: str) -> Read | None:
    arguments = text[start:next_head]
    try:
        _value, end = _DECODER.raw_decode(arguments)
    except (ValueError, RecursionError):
        return None
    named = _NAME_BEHIND.match(text, start + end)
    return (named[1], arguments[:end], named.end()) if named else None


def _tagged_arguments(text: str, start: int, next_head: int, name: str) -> Read | None:
    """Arguments in JSON, or a tag for each, up to the end of the call."""
    inside = len(text[start:next_head]) - len(text[start:next_head].lstrip()) + start
    if text.startswith("{", inside):
        return _json_arguments(text, inside, next_head, name)
    ended = _TAGS_END.search(text, start, next_head)
    stop = ended.start() if ended else next_head
    given, torn, at = {}, False, start
    while (tag := _PARAMETER.search(text, at, stop)) is not None:
        closed = _PARAMETER_END.search(text, tag.end(), stop)
        at = closed.end() if closed else stop
        torn = closed is None and ended is None
        given[tag[1] or tag[2]] = text[tag.end() : closed.start() if closed else stop].strip("\n")
    arguments = json.dumps(given, ensure_ascii=False)
    return name, arguments[:-2] if torn else arguments, ended.end() if ended else next_head


def _quoted_arguments(text: str, start: int, next_head: int, name: str) -> Read | None:
    """Arguments in braces, their strings between ``<|"|>``, or bare where a server leaves tokens out."""
    given, torn, at = {}, False, start + 1
    while (key := _BARE_KEY.match(text, at, next_head)) is not None:
        end = text.find(_QUOTE, key.end(), next_head)
        torn = end < 0
        given[key[1]] = text[key.end() : next_head if torn else end]
        at = next_head if torn else end + len(_QUOTE)
    if not given and (bare := _BARE_VALUE.match(text, start, next_head)):
        given, at = {bare[1]: bare[2].strip()}, bare.end()
    arguments = json.dumps(given, ensure_ascii=False)
    return name, arguments[:-2] if torn else arguments, at


def _python_arguments(text: str, start: int, next_head: int, name: str) -> Read | None:
    """Arguments as in a Python call: strings, by keyword or, of a single one, by position."""
    given: dict[str, str] = {}
    at = start
    while (key := _KEYWORD.match(text, at, next_head)) is not None:
        quote = key[2]
        body = key.end()
        closing = _CLOSING[quote].search(text, body, next_head)
        if closing is None:  # cut off in the middle of the string
            given[key[1] or ""] = text[body:next_head]
            return name, json.dumps(given, ensure_ascii=False)[:-2], next_head
        literal = text[body : closing.start()]
        try:
            given[key[1] or ""] = ast.literal_eval(f"{quote}{literal}{quote}")
        except (ValueError, SyntaxError, MemoryError, RecursionError):  # quotes or lines that nobody escaped
            given[key[1] or ""] = literal
        at = closing.end()
    values = json.dumps(given[""] if list(given) == [""] else given, ensure_ascii=False)
    return name, values, at + text.startswith(")", at)


_READERS: Mapping[str, Callable[[str, int, int, str], Read | None]] = {
    "json": _json_arguments,
    "first": _arguments_first,
    "tags": _tagged_arguments,
    "pairs": _tagged_arguments,
    "quoted": _quoted_arguments,
    "python": _python_arguments,
    "named": _json_arguments,
    "other": _json_arguments,
}
_NAME_BEHIND = re.compile(r'\s{0,9},\s{0,20}"(?:name|tool_name)"\s{0,9}:\s{0,9}"([^"\n]{0,80})"\s{0,9}\}')
_CALL_MARK = re.compile(_any(*(mark for mark in _of("calls") if mark.startswith(("<", r"\[")))))
_TAGS_END = re.compile(r"</(?:\w{1,20}:|｜DSML｜)?(?:function|invoke|tool_call)>")
_PARAMETER = re.compile(
    r'<(?:\w{1,20}:|｜DSML｜)?parameter(?:=|\s{1,9}name\s?=\s?)"?([\w.-]{1,80})"?[^<>\n]{0,80}>'
    r"|<arg_key>\s{0,9}([\w.-]{1,80})\s{0,9}</arg_key>\s{0,9}<arg_value>"
)
_PARAMETER_END = re.compile(r"</(?:\w{1,20}:|｜DSML｜)?parameter>|</arg_value>")
_QUOTE = '<|"|>'
_BARE_KEY = re.compile(r'[\s,]{0,9}(\w{1,40})\s{0,9}:\s{0,9}<\|"\|>')
_BARE_VALUE = re.compile(r"\{\s{0,9}(\w{1,40}):([^{}]*)\}")
_KEYWORD = re.compile(r"""[\s,]{0,9}(?:(\w{1,40})\s?=\s?)?(\"{3}|'{3}|\"|')""")
# a string ends where an argument or the call does: a quote that nobody escaped is one of its words
_CLOSING = {
    quote: re.compile(rf"(?<!\\){re.escape(quote)}(?=\s{{0,9}}(?:\)|,\s{{0,9}}\w{{1,40}}\s?=))")
    for quote in ('"""', "'''", '"', "'")
}
# a call that was cut off before its arguments began, behind a mark that only calls have
_TORN = re.compile(
    r"(?:<tool_calls?>|\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_call\|?>|<\|tool_call_start\|>)\s{0,9}"
    rf"(?=[\[{{<]|{_NAME}\s{{0,9}}[\[{{(<]|\Z)"
)
# what stands before a call and behind it: marks, fences, brackets, the keys of an object that it stands in
_NOTHING = re.compile("")
_BEFORE_CALL = re.compile(
    _any(
        *_of("calls"),
        *_of("tokens"),
        r"(?<=begin｜>)function",
        r"```\w{0,12}",
        r"\bprint\(",
        r'"(?:tool_calls?|function)"\s{0,9}:',
        r'"type"\s{0,9}:\s{0,9}"function"\s{0,9},?',
        r"functions\.",
        r"\bAction:",
        r'[\[({]"?',
    )
    + r"\Z"
)
_ID_BEHIND = r',\s{0,9}"id"\s{0,9}:\s{0,9}"[^"\n]{0,80}"'
_BEHIND_CALL = re.compile(_any(*_of("calls"), _ID_BEHIND, "```", r"[\s\])};,]") + "+")
