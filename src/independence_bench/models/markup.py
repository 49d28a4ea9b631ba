"""The marks that model families write around thoughts, calls of tools and turns, and how they are
read in a reply.

A server with the right parser takes them out. Without one, or with another family's, they stand in
the text: there a thought would be judged as speech, and a call as words. `FAMILIES` is the one
table of them; what reads them is small, goes through a text once, and knows no family by name.

    words, thoughts = split_words_and_thoughts(content)  # what is said, and what was only thought
    rest, calls = split_words_and_calls(words, "say")  # calls of the tool "say"
    find_leftover_tokens(words)  # marks that are in it all the same: () in a clean reply
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from independence_bench.models.messages import ToolCall

# ---------------------------------------------------------------- the table


@dataclass(frozen=True, slots=True)
class Thoughts:
    """The marks that begin and end a thought; regular expressions."""

    opens: str
    closes: str
    # the end may come without the beginning: the family's template writes that itself
    alone: bool = False
    # the beginning may come without an end: then it is thought to the end of the reply
    endless: bool = True
    # sentences and no tokens: a thought only at the beginning of a reply, and only with its end
    prose: bool = False


def _make_tag_pair(name: str, alone: bool = False) -> Thoughts:
    """Return the patterns of the opening and closing tag *name* around a model's thought, in small
    letters or capitals, spaced or with attributes as small models write them. *alone*: either tag
    may come without the other.
    """
    opens = rf"(?i:<\s{{0,3}}{name}(?:\s{{1,3}}[\w-]{{1,20}}\s?=[^<>\n]{{0,60}}|\s{{0,3}})>)"
    return Thoughts(opens, rf"(?i:<\s{{0,3}}/\s{{0,3}}{name}\s{{0,3}}>)", alone, endless=alone)


@dataclass(frozen=True, slots=True)
class MarkupFamily:
    """The marks of one family of models, as regular expressions, and where they are described."""

    models: str
    source: str
    thoughts: tuple[Thoughts, ...] = ()
    answers: tuple[str, ...] = ()  # marks around the words that follow a thought
    calls: tuple[str, ...] = ()  # marks around a call of a tool
    turns: tuple[str, ...] = ()  # marks that end the model's turn, or begin another's
    tokens: tuple[str, ...] = ()  # other special tokens


FAMILIES: tuple[MarkupFamily, ...] = (
    MarkupFamily(
        "DeepSeek R1 and V3.1, Qwen 3, QwQ, GLM 4.5, Hunyuan, ERNIE 4.5, MiniMax M2, SmolLM 3",
        "vLLM documentation, 'Reasoning outputs': table of parsers",
        thoughts=(_make_tag_pair("think", alone=True), _make_tag_pair("mm:think", alone=True)),
        answers=(r"<answer>", r"</answer>", r"<response>", r"</response>"),
    ),
    MarkupFamily(
        "models that were told or tuned to think in tags of their own, Gemini among them",
        "Google, Gemini API, 'OpenAI compatibility': thoughts; EXAONE Deep's model card",
        thoughts=tuple(
            map(
                _make_tag_pair,
                ("thinking", "thought", "thoughts", "reasoning", "scratchpad", "analysis"),
            )
        ),
    ),
    MarkupFamily(
        "Seed-OSS",
        "vLLM documentation, 'seedoss_reasoning_parser'",
        thoughts=(_make_tag_pair("seed:think", alone=True),),
    ),
    MarkupFamily(
        "Magistral and other models of Mistral",
        "Mistral, 'Reasoning' and 'mistral-common' tokens: v3, v7, v11, v13",
        thoughts=(Thoughts(r"\[THINK\]", r"\[/THINK\]", alone=True),),
        calls=(r"\[TOOL_CALLS\]", r"\[ARGS\]", r"\[CALL_ID\]\w{0,40}"),
        turns=(r"\[/?INST\]", r"</s>"),
        tokens=(r"<<?/?SYS>>?", r"\[/?(?:AVAILABLE_TOOLS|TOOL_RESULTS|SYSTEM_PROMPT)\]"),
    ),
    MarkupFamily(
        "Kimi-VL and Kimi K1.5",
        "Kimi-VL-Thinking's model card",
        thoughts=(Thoughts("◁think▷", "◁/think▷", True),),
    ),
    MarkupFamily(
        "Kimi K2",
        "Kimi K2's 'tool_call_guidance'",
        calls=(r"<\|tool_calls?(?:_section|_argument)?_(?:begin|end)\|>",),
        turns=(r"<\|im_(?:system|user)\|>",),
        tokens=(r"<\|im_(?:middle|assistant)\|>",),
    ),
    MarkupFamily(
        "Command A and R of Cohere",
        "Cohere documentation, 'Prompt format' of Command A Reasoning",
        thoughts=(Thoughts(r"<\|START_THINKING\|>", r"<\|END_THINKING\|>", alone=True),),
        answers=(r"<\|(?:START|END)_(?:RESPONSE|TEXT)\|>",),
        calls=(r"<\|(?:START|END)_ACTION\|>",),
        turns=(r"<\|END_OF_TURN_TOKEN\|>", r"<\|START_OF_TURN_TOKEN\|>"),
    ),
    MarkupFamily(
        "gpt-oss (harmony)",
        "OpenAI cookbook, 'OpenAI harmony response format'",
        thoughts=(
            Thoughts(
                r"(?:<\|start\|>assistant)?<\|channel\|>analysis(?:\s[^<>\n]{0,60})?<\|message\|>"
                r"|\Aanalysis<\|message\|>",
                r"<\|end\|>(?:<\|start\|>assistant)?"
                r"|(?:<\|start\|>assistant)?(?=<\|channel\|>(?:final|commentary))",
            ),
            # of a server that leaves special tokens out: their names remain
            Thoughts(
                r"\Aanalysis(?=[^\s:,.;])",
                r"assistantfinal|assistant(?=commentary to=)",
                prose=True,
            ),
        ),
        answers=(
            r"(?:<\|start\|>assistant)?<\|channel\|>(?:final|commentary)\s?"
            r"(?:<\|constrain\|>\w{0,20})?<\|message\|>",
        ),
        calls=(
            r"(?:<\|start\|>assistant\s?)?(?:<\|channel\|>)?(?:commentary\s?)?\bto=(?=functions\.)",
            r"(?:<\|start\|>assistant)?<\|channel\|>commentary to=",
            *(r"<\|constrain\|>", r"<\|message\|>", r"<\|call\|>"),
        ),
        turns=(r"<\|return\|>", r"<\|start\|>(?:user|developer|system)"),
        tokens=(r"<\|(?:channel|start)\|>",),
    ),
    MarkupFamily(
        "Gemma 4",
        "Google, 'Gemma 4 prompt formatting'",
        thoughts=(Thoughts(r"<\|channel>\s?thought\b\n?", r"<channel\|>"),),
        calls=(r"<\|tool_call>", r"<tool_call\|>", r"<\|tool_response>"),
        turns=(r"<turn\|>", r"<\|turn>"),
        tokens=(r"<\|channel>", r"<channel\|>", r'<\|"\|>', r"<\|?tool(?:_response)?\|?>"),
    ),
    MarkupFamily(
        "Gemma 2 and 3",
        "Google, 'Gemma formatting and system instructions' and 'Function calling with Gemma'",
        calls=(r"```tool_code",),
        turns=(r"</?(?:start|end)_of_turn>",),
        tokens=(r"<(?:bos|eos|pad|unk)>",),
    ),
    MarkupFamily(
        "Granite 3 and 4",
        "IBM, Granite 3.2 documentation: thinking; vLLM documentation, 'Tool calling': granite",
        thoughts=(
            Thoughts(
                r"\A\s{0,20}Here(?: is|'s) my thought process:",
                r"Here(?: is|'s) my (?:final )?response:",
                prose=True,
            ),
        ),
        calls=(r"<\|tool_call\|>",),
        turns=(r"<\|(?:start|end)_of_role\|>",),
    ),
    MarkupFamily(
        "Apriel",
        "Apriel Nemotron 15B Thinker's model card",
        thoughts=(
            Thoughts(
                r"\A\s{0,20}Here are my reasoning steps:", r"\[BEGIN FINAL RESPONSE\]", prose=True
            ),
        ),
        turns=(r"\[END FINAL RESPONSE\]",),
        tokens=(r"\[BEGIN FINAL RESPONSE\]",),
    ),
    MarkupFamily(
        "OpenThinker, Sky-T1 and their kin",
        "Sky-T1's repository: its system prompt",
        thoughts=(Thoughts(r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>", alone=True),),
        answers=(r"<\|(?:begin|end)_of_solution\|>",),
    ),
    MarkupFamily(
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
    MarkupFamily(
        "Llama 3 and 4",
        "Meta, 'Llama 3.1 model cards and prompt formats'",
        calls=(r"<\|python_tag\|>", r"<\|python_(?:start|end)\|>"),
        turns=(r"<\|(?:eot_id|eom_id|eot|eom|end_of_text|start_header_id|header_start)\|>",),
        tokens=(r"<\|(?:begin_of_text|end_header_id|header_end)\|>",),
    ),
    MarkupFamily(
        "DeepSeek V3 to V3.2",
        "DeepSeek's chat templates in its model repositories; vLLM documentation, 'Tool "
        "calling': deepseek_v3",
        calls=(
            r"<｜tool▁(?:calls?|outputs?)▁(?:begin|end)｜>",
            r"<｜tool▁sep｜>",
            r"</?｜DSML｜[^<>\n]{1,120}>",
        ),
        turns=(r"<｜end▁of▁sentence｜>", r"<｜(?:User|Assistant)｜>"),
        tokens=(r"<｜begin▁of▁sentence｜>",),
    ),
    MarkupFamily(
        "MiniMax M1 and M2, Claude's own XML, Step 3, Seed-OSS",
        "MiniMax, 'Tool calling guide'; Anthropic, 'Tool use': its system prompt; Step 3's model "
        "card",
        calls=(
            r"</?(?:minimax|seed|step):tool_calls?>",
            r"</?(?:antml:|steptml:)?(?:function_calls|invoke|parameter)(?:\s[^<>\n]{1,120})?>",
            r"<｜tool(?:_calls?)?_(?:begin|end|sep)｜>",
        ),
    ),
    MarkupFamily(
        "LFM 2", "Liquid AI, LFM2's model card: tool use", calls=(r"<\|tool_call_(?:start|end)\|>",)
    ),
    MarkupFamily(
        "Phi 3 and 4",
        "Microsoft, Phi-4-mini's model card: tools; vLLM documentation, 'Tool calling': "
        "phi4_mini_json",
        calls=(r"<\|/?tool_call\|>", r"\bfunctools\s?\["),
        turns=(r"<\|end\|>", r"<\|(?:user|assistant|system)\|>"),
    ),
    MarkupFamily("GLM 4", "its chat template", turns=(r"<\|observation\|>",)),
    MarkupFamily(
        "FunctionGemma, MedGemma",
        "Google, 'FunctionGemma formatting'; MedGemma's model card: thinking",
        thoughts=(Thoughts(r"<unused94>\s?thought\b\n?", r"<unused95>"),),
        calls=(r"</?(?:start|end)_function_(?:call|response)>",),
        tokens=(r"<escape>", r"<unused\d{1,4}>"),
    ),
    MarkupFamily(
        "tokenizers of several families: entries that stand in no text",
        "their vocabularies",
        tokens=(
            *(
                r"\[PAD\d{1,6}\]",
                r"\[UNUSED_TOKEN_\d{1,4}\]",
                r"\[control_\d{1,4}\]",
                r"<0x[0-9A-F]{2}>",
            ),
            r"<(?:extra_id|SPECIAL|reserved)_\d{1,4}>",
        ),
    ),
    MarkupFamily(
        "Nemotron, Jamba, Apertus",
        "their chat templates",
        calls=(r"</?TOOLCALL>", r"<\|tools_(?:prefix|suffix)\|>"),
    ),
)

# ---------------------------------------------------------------- thoughts


def split_words_and_thoughts(content: str) -> tuple[str, str]:
    """Split *content*, a model's reply, into (words, thoughts): thoughts that the model wrote into
    its reply between the marks of its family are taken out of the words. "" for thoughts if there
    are none.

    A closing mark alone ends a thought that began with the reply, because some chat templates open
    it. A thought that is never closed goes to the end of the reply, or to a tool call. A mark that
    is only mentioned, in quotes or in mid-sentence, is a word.
    """
    content = content.removeprefix("\ufeff")  # the byte order mark, which some servers begin with
    if not _can_have_marks(content):
        return content, ""
    words: list[str] = []
    thoughts: list[str] = []
    # pairs of which a beginning was spoken of: so is the end that follows
    spoken_of: set[int] = set()
    at, opened, last = 0, None, len(content.rstrip())
    code = _find_code_blocks(content)
    for mark in _THOUGHTS.finditer(content):
        begins, number = mark.lastgroup[0] == "o", int(mark.lastgroup[1:])  # type: ignore[index,union-attr]
        pair = PAIRS[number]
        if opened == number and not begins:
            thoughts.append(content[at : mark.start()])
            opened, at = None, mark.end()
        elif opened is not None or mark.start() < at:
            continue
        elif not begins and number in spoken_of:
            spoken_of.discard(number)
        elif _is_mention(content, mark, code, begins):
            spoken_of |= {number} if begins else set()
        elif begins:
            if (pair.endless and not pair.prose) or re.compile(pair.closes).search(
                content, mark.end()
            ):
                words.append(content[at : mark.start()])
                opened, at = number, mark.end()
        elif pair.alone:
            if thoughts and mark.end() >= last:  # an end too many, behind everything
                words.append(content[at : mark.start()])
            else:
                thoughts.append("".join((*words, content[at : mark.start()])))
                words = []
            at = mark.end()
    call = None if opened is None else _TORN.search(content, at)
    if call is not None:  # a call ends a thought, too
        thoughts.append(content[at : call.start()])
        opened, at = None, call.start()
    (words if opened is None else thoughts).append(content[at:])
    said = "".join(words)
    if thoughts:
        said = _trim_ends(said.strip(), _ANSWERS, _ANSWER_LAST)
    if "<|message|>" in said:
        said = _HARMONY_HEAD.sub("\n\n", said).strip()
    return said, "\n\n".join(thought.strip() for thought in thoughts if thought.strip())


def _can_have_marks(text: str) -> bool:
    """Return whether *text* may hold a mark that model families write around thoughts, tool calls
    or turns: a quick test for the characters that they begin with. False means that there is none.
    """
    return (
        "<" in text or "[" in text or "◁" in text or text.lstrip().startswith(("Here", "analysis"))
    )


_OPENING, _QUOTES = "`“„«「『（(", "\"'`“”„‘’«»「」『』（）()"
_SENTENCE_END = ".!?…。！？"
_FENCED = re.compile(r"^ {0,3}```.*?(?:^ {0,3}```|\Z)", re.DOTALL | re.MULTILINE)
_MORE_ON_LINE = re.compile(r"[^\S\n]*\S")
_BEFORE_ON_LINE = re.compile(r"[^\s*>-][^\S\n]{0,9}\Z")


def _find_code_blocks(text: str) -> list[tuple[int, int]]:
    """Return (start, end), in characters, of each fenced code block in *text*."""
    return [found.span() for found in _FENCED.finditer(text)] if "```" in text else []


def _is_mention(
    text: str, mark: re.Match[str], code: Sequence[tuple[int, int]], begins: bool
) -> bool:
    """Return whether *mark*, a model family's mark found in *text*, is only mentioned and not used:
    it stands in quotes, in one of the *code* blocks (start, end), or in mid-sentence.

    *begins*: the mark would begin a thought or end a turn. A mark in use stands at the beginning or
    end of a line, behind the end of a sentence, or against a word on the side that it begins or
    ends.
    """
    start, end = mark.span()
    before, after = text[start - 1 : start], text[end : end + 1]
    quoted = before != "" and before in _QUOTES
    if (
        quoted
        and begins
        and (before in _OPENING or text[start - 2 : start - 1] in ("", " ", "\n", "("))
    ):
        return True
    if (quoted and after != "" and after in _QUOTES) or any(
        first < start < last for first, last in code
    ):
        return True
    if begins and before.isalnum() and not before.isascii():  # of scripts without spaces
        return True
    if before not in (" ", "\t") or not _BEFORE_ON_LINE.search(text, max(0, start - 10), start):
        return False
    if text[: start - 1][-1:] in _SENTENCE_END:
        return False
    if after in (" ", "\t"):
        return _MORE_ON_LINE.match(text, end) is not None
    return after != "" and after in f",.;:!?){_QUOTES}"


PAIRS: tuple[Thoughts, ...] = tuple(pair for family in FAMILIES for pair in family.thoughts)
_THOUGHTS = re.compile(
    "|".join(f"(?P<o{n}>{pair.opens})|(?P<c{n}>{pair.closes})" for n, pair in enumerate(PAIRS))
)


# ---------------------------------------------------------------- turns, and what remains


def _join_patterns(*patterns: str) -> str:
    """Return one regular expression that matches whatever any of *patterns* matches."""
    return f"(?:{'|'.join(dict.fromkeys(patterns))})"


def _list_patterns(family_field: str) -> tuple[str, ...]:
    """Return the regular expressions that all model families have under *family_field*, a field of
    `MarkupFamily` such as "calls" or "turns".
    """
    return tuple(pattern for family in FAMILIES for pattern in getattr(family, family_field))


# tokens of families that are not in the table look like these
_TOKEN = _join_patterns(
    r"<\|[^\s<>|]{1,40}\|>",
    r"<｜[^<>\n]{1,40}｜>",
    r"</?s>",
    *_list_patterns("turns"),
    *_list_patterns("tokens"),
    r"<\|[a-z_]{1,20}>",
    r"<[a-z_]{1,20}\|>",
)
# the head of the model's own turn
_HEADER = r"(?:<\|[^\s<>|]{1,30}\|>|<start_of_turn>|<\|turn>)(?:assistant|model)(?=\s{0,9}\n|<|\Z)"
_DEBRIS = re.compile(rf"(?:{_HEADER}|{_TOKEN}|\s)++")
_TOKEN_LAST = re.compile(rf"{_TOKEN}\Z")
TEMPLATE = re.compile(_TOKEN)
LONGEST_TOKEN = 130  # characters: a bound on what a pattern matches

# the tokens of turns; and a line with nothing but a role behind a sentence: what is left of them
# where a server leaves tokens out
_END_OF_TURN = re.compile(
    _join_patterns(*_list_patterns("turns"), r"(?<=[.!?…。！？\"”'’)*])\s?\nuser\s?\n")
)
_OWN_HEAD = re.compile(
    rf"(?:(?!{_HEADER})(?:{_TOKEN}|\s)){{0,8}}+{_HEADER}\s*"
    r"|(?:<\|end\|>\s*)?<\|start\|>assistant\b|<\|assistant\|>\s*"
)
# nobody writes these in a sentence of their own
_ONLY_ENDS = re.compile(r"end|eot|eom|return|turn\|>|<turn")


def cut_and_trim_turn(text: str, ends_at_role_line: bool = True) -> str:
    """Return the model's own turn in *text*, a model's reply: without what the model writes for the
    other side, and without chat template tokens at the two ends.

    *ends_at_role_line*: a line with nothing but the role ``user`` ends the turn, too.
    """
    return trim_template(cut_at_turn_end(text, ends_at_role_line))


def cut_at_turn_end(
    text: str, ends_at_role_line: bool = True, ignored_ranges: Sequence[tuple[int, int]] = ()
) -> str:
    """Return *text*, a model's reply, up to the first mark that ends the model's turn; all of
    *text* without such a mark.

    A mark does not count if it is only mentioned, if a new head of the model's own turn follows, or
    if it lies in one of the ranges *ignored_ranges* (start, end). *ends_at_role_line*: a line with
    nothing but the role ``user`` ends the turn, too.
    """
    if "<" not in text and "[" not in text and "\n" not in text:
        return text
    leading = _DEBRIS.match(text)
    code = [*_find_code_blocks(text), *ignored_ranges]
    for mark in _END_OF_TURN.finditer(text, leading.end() if leading else 0):
        sign = mark[0].strip()
        if sign == "user" and (
            not ends_at_role_line or any(first < mark.end() - 2 < last for first, last in code)
        ):
            continue
        if sign == "user":
            return text[: mark.start()]
        if _is_mention(text, mark, code, begins=True) and not (
            _ONLY_ENDS.search(sign) and text[mark.start() - 1 : mark.start()].isspace()
        ):
            continue
        if _OWN_HEAD.match(text, mark.start()) or (
            sign == "</s>" and _is_strikethrough_end(text, mark.start())
        ):
            continue
        return text[: mark.start()]
    return text


def _is_strikethrough_end(text: str, at: int) -> bool:
    """Return whether the ``</s>`` at character *at* of *text* ends struck-through words, as in
    HTML, and not a model's turn.
    """
    line = text[max(text.rfind("\n", 0, at) + 1, at - 400) : at]
    begun = line.rfind("<s>")
    return begun >= 0 and line[begun + 3 : begun + 4].strip() != "" and line[-1:].strip() != ""


def trim_template(text: str) -> str:
    """Return *text*, a model's reply, without chat template tokens and white space at its beginning
    and end.
    """
    return _trim_ends(text, _DEBRIS, _TOKEN_LAST)


def _trim_ends(text: str, leading: re.Pattern[str], last: re.Pattern[str]) -> str:
    """Return *text* without what the pattern *leading* matches at the beginning, and without white
    space and what the pattern *last* matches at the end, which is cut again and again.
    """
    first = leading.match(text)
    start, end = first.end() if first else 0, len(text)
    while end > start:
        while end > start and (
            text[end - 1].isspace() or (last is _BEFORE_CALL and _is_call_bracket(text, end - 1))
        ):
            end -= 1
        found = last.search(text, max(start, end - LONGEST_TOKEN), end)
        if found is None or found.start() == end:
            break
        end = found.start()
    return text[start:end]


def _is_call_bracket(text: str, at: int) -> bool:
    """Return whether the bracket or quote at character *at* of *text* belongs to a tool call behind
    *text*; False if it belongs to the word before.
    """
    if text[at] == '"':
        at -= 1
    if at < 0 or text[at] not in "[({":
        return False
    return (
        at == 0
        or text[at - 1] in "\n[({>]"
        or (text[at - 1] == " " and text[at - 2 : at - 1] in ("]", ">"))
    )


def find_leftover_tokens(text: str) -> tuple[str, ...]:
    """Return the special tokens and tags of known model families that are left in *text*, a model's
    reply, each once; () in a clean reply.
    """
    return (
        tuple(dict.fromkeys(found[0] for found in _LEFTOVER.finditer(text)))
        if _can_have_marks(text)
        else ()
    )


_LEFTOVER = re.compile(
    _join_patterns(
        r"(?!</?s>)" + _TOKEN,
        *(
            pattern
            for pair in PAIRS
            if not pair.prose
            for pattern in (pair.opens, pair.closes)
            if "(?=" not in pattern
        ),
        *(pattern for pattern in _list_patterns("calls") if pattern.startswith(("<", r"\["))),
    ),
    re.IGNORECASE,
)
_ANSWER = _join_patterns(*_list_patterns("answers"), r"\s")
_ANSWERS, _ANSWER_LAST = re.compile(f"{_ANSWER}++"), re.compile(rf"{_ANSWER}\Z")
_HARMONY_HEAD = re.compile(
    rf"(?:<\|end\|>)?{_join_patterns(*(a for a in _list_patterns('answers') if 'channel' in a))}"
)


# ---------------------------------------------------------------- calls of tools

_NAME = r"[\w.:-]{1,80}"
_KEY = r'"(?:arguments|parameters)"\s{0,9}:\s{0,20}'
_OUR_KEY = r'"(?:arguments|parameters|args|input|tool_input|action_input)"\s{0,9}:\s{0,20}'
_CALLED = (
    rf'"(?:name|tool_name)"\s{{0,9}}:\s{{0,9}}"(?P<json>[^"\n]{{0,80}})"\s{{0,9}},\s{{0,20}}{_KEY}'
)
_NAMING = (
    r'"(?:name|function|function_name|tool|tool_name|action|recipient_name)"\s{0,9}:\s{0,9}'
    r'"(?:functions\.)?'
)
_FIRST = r'(?:"[\w-]{1,30}"\s{0,9}:\s{0,9}"[^"\n]{0,200}"\s{0,9},\s{0,20}){0,3}'
# between a tool's name and its arguments in JSON
_BETWEEN = r"(?::\d{1,6})?" + _join_patterns(
    *(r"\s", r"```(?:json)?", r"json\b", r"code\b", r"\(", ":", r"\":", "Action Input:", "✿ARGS✿"),
    *(r"\[ARGS\]", r"\[CALL_ID\]\w{0,40}", "<｜tool▁sep｜>", r"<\|tool_call_argument_begin\|>"),
    *(r"<\|channel\|>(?:commentary|analysis)", r"<\|(?:constrain|message)\|>"),
)
_BETWEEN += "{0,12}"


@lru_cache(maxsize=64)
def _make_call_head_pattern(tool: str) -> re.Pattern[str]:
    """Return the pattern of how a tool call begins, in the syntax of every model family. The name
    of the group that matches tells the syntax; its text is the tool's name, except in the syntax
    ``first``.

    A syntax that ordinary words may have as well counts only for a call of *tool*; other syntaxes
    count whatever tool they name.
    """
    ours = rf"(?<![\w.])(?:functions\.)?(?P<{{}}>{re.escape(tool)})"
    begun = (
        r"(?:\[TOOL_CALLS\]\s?|<｜tool▁sep｜>|commentary "
        r"to=|\bto=(?=functions\.)|<\|tool_call_begin\|>)"
    )
    begun += r"(?:functions\.)?"
    return re.compile(
        _join_patterns(
            rf"[{{]{{1,2}}\s{{0,20}}{_FIRST}{_CALLED}",  # {"name": "NAME", "arguments": {...}}
            rf'[{{]{{1,2}}\s{{0,20}}{_FIRST}{_NAMING}(?P<ours>{re.escape(tool)})"'
            rf"\s{{0,9}},\s{{0,20}}{_OUR_KEY}",
            # {"arguments": {...}, "name": "NAME"}
            rf'(?P<first>[{{]{{1,2}}\s{{0,20}}{_KEY})(?=[{{"])',
            # <function=NAME>, <invoke name="NAME">: arguments in JSON, or each in a tag
            r"<(?:\w{1,20}:|｜DSML｜)?(?:function|invoke)(?:=|\s{1,9}name\s?=\s?)"
            rf'"?(?P<tags>{_NAME})"?\s{{0,9}}>',
            # NAME, then keys and values in tags
            rf"<tool_call>\s{{0,9}}(?P<pairs>{_NAME})\s{{0,9}}(?=<arg_key>)",
            rf"\bcall:\s?(?P<quoted>{_NAME})\s?(?=\{{)",  # call:NAME{key:<|"|>value<|"|>}
            # NAME(key="value")
            rf"{ours.format('python')}\s?\((?=\s{{0,20}}(?:\w{{1,40}}\s?=\s?)?[\"'])",
            rf"{ours.format('named')}{_BETWEEN}(?=\{{)",  # NAME, marks, {...}
            rf"{begun}(?P<other>{_NAME}){_BETWEEN}(?=\{{)",
        )
    )


def split_words_and_calls(text: str, offered_tool: str) -> tuple[str, tuple[ToolCall, ...]]:
    """Return (words, calls): what is left of the model's turn in *text*, and the tool calls that
    the model wrote into *text* and its server did not recognise. *offered_tool* is the name of the
    tool that was offered. The calls are () if there are none, or only an example in prose.

    Each call has its arguments as JSON. Arguments that were cut off are JSON that is cut off, and a
    call that was cut off before its arguments has no name.
    """
    # start, end, call, whether its syntax is no more than JSON
    found: list[tuple[int, int, ToolCall, bool]] = []
    heads = (
        list(_make_call_head_pattern(offered_tool).finditer(text))
        if _can_have_marks(text) or "{" in text or offered_tool in text
        else []
    )
    ends = [*(head.start() for head in heads[1:]), len(text)]
    for head, next_head in zip(heads, ends, strict=False):
        syntax, at = head.lastgroup or "", found[-1][1] if found else 0
        if head.start() < at or (
            syntax in ("python", "named") and not _is_at_line_start(text, head.start())
        ):
            continue
        if (read := _READERS[syntax](text, head.end(), next_head, head[syntax])) is not None:
            name, arguments, end = read
            found.append(
                (head.start(), end, ToolCall("", name, arguments), syntax in ("json", "first"))
            )
    turn = len(cut_at_turn_end(text, ignored_ranges=[(start, end) for start, end, *_ in found]))
    found = [one for one in found if one[0] < turn]
    if not found:
        return text[:turn], (ToolCall("", "", "{"),) if _TORN.search(text, 0, turn) else ()
    between = zip(
        [0, *(end for _, end, *_ in found)], [*(start for start, *_ in found), turn], strict=True
    )
    left = [text[end:start] for end, start in between]
    parts = [
        _trim_end_before_call(left[0]),
        *(_trim_end_before_call(_trim_ends(part, _BEHIND_CALL, _NOTHING)) for part in left[1:]),
    ]
    rest = "\n".join(part for part in parts if part)
    if (
        all(bare and call.name != offered_tool for *_, call, bare in found)
        and _TORN.search(text) is None
        and len(rest) > 20
    ):
        return text[:turn], ()  # prose with an example of some JSON in it
    return rest, tuple(call for *_, call, _ in found)


def _is_at_line_start(text: str, start: int) -> bool:
    """Return whether nothing but marks stands before character *start* on its line of *text*: in
    mid-sentence, a tool call is only mentioned.
    """
    line = text[max(text.rfind("\n", 0, start) + 1, start - 400) : start]
    return not _BEFORE_CALLS.sub("", line).strip("[({\"'` \t>*-")


def _trim_end_before_call(text: str) -> str:
    """Return *text*, the words before a tool call, without what belongs to the call at their end:
    marks, brackets, and a code fence that is not closed.
    """
    text = _trim_ends(text, _NOTHING, _BEFORE_CALL)
    while text.count("```") % 2 and (fence := _FENCE_LAST.search(text)) is not None:
        text = _trim_ends(text[: fence.start()], _NOTHING, _BEFORE_CALL)
    return text


def is_json_call(text: str) -> bool:
    """Return whether *text* begins with a tool call written out as JSON, in a code fence or not."""
    return bool(_JSON_CALL.match(re.sub(r"\A[`\s]*(?:json\s)?\s*", "", text)))


_JSON_CALL = re.compile(rf"[{{]{{1,2}}\s{{0,20}}{_FIRST}{_CALLED}")
_DECODER = json.JSONDecoder(strict=False)
Read = tuple[str, str, int]  # the tool's name, its arguments, where the call ends


def _read_json_arguments(text: str, start: int, next_head: int, name: str) -> Read | None:
    """Return (tool name, arguments, end) of a tool call in *text* whose arguments are JSON from
    *start*; the tool is called *name*. Arguments that are cut off, or have bare quotes in them, go
    up to *next_head*, where the next call begins.
    """
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


def _read_arguments_before_name(text: str, start: int, next_head: int, _: str) -> Read | None:
    """Return (tool name, arguments, end) of a tool call in *text* whose JSON arguments, from
    *start*, stand before the tool's name; None if either cannot be read.
    """
    arguments = text[start:next_head]
    try:
        _value, end = _DECODER.raw_decode(arguments)
    except (ValueError, RecursionError):
        return None
    named = _NAME_BEHIND.match(text, start + end)
    return (named[1], arguments[:end], named.end()) if named else None


def _read_tagged_arguments(text: str, start: int, next_head: int, name: str) -> Read | None:
    """Return (tool name, arguments as JSON, end) of a tool call in *text* whose arguments, from
    *start*, are JSON or stand in a tag each; the tool is called *name*. If the call was cut off,
    the JSON is, too.
    """
    inside = len(text[start:next_head]) - len(text[start:next_head].lstrip()) + start
    if text.startswith("{", inside):
        return _read_json_arguments(text, inside, next_head, name)
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


def _read_quoted_arguments(text: str, start: int, next_head: int, name: str) -> Read | None:
    """Return (tool name, arguments as JSON, end) of a tool call in *text* whose arguments stand in
    braces from *start*, each between ``<|"|>`` or bare; the tool is called *name*. If the call was
    cut off, the JSON is, too.
    """
    given, torn, at = {}, False, start + 1
    while (key := _BARE_KEY.match(text, at, next_head)) is not None:
        end = text.find(key[2], key.end(), next_head)
        torn = end < 0
        given[key[1]] = text[key.end() : next_head if torn else end]
        at = next_head if torn else end + len(key[2])
    if not given and (bare := _BARE_VALUE.match(text, start, next_head)):
        given, at = {bare[1]: bare[2].strip()}, bare.end()
    arguments = json.dumps(given, ensure_ascii=False)
    return name, arguments[:-2] if torn else arguments, at


def _read_python_arguments(text: str, start: int, next_head: int, name: str) -> Read | None:
    """Return (tool name, arguments as JSON, end) of a tool call in *text* that is written as in
    Python, with strings by keyword or a single one by position, from *start*; the tool is called
    *name*. If the call was cut off, the JSON is, too.
    """
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
        # quotes or lines that nobody escaped
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            given[key[1] or ""] = literal
        at = closing.end()
    values = json.dumps(given[""] if list(given) == [""] else given, ensure_ascii=False)
    closed = _CALL_CLOSED.match(text, at)
    return name, values, closed.end() if closed else at


_READERS: Mapping[str, Callable[[str, int, int, str], Read | None]] = {
    "json": _read_json_arguments,
    "ours": _read_json_arguments,
    "first": _read_arguments_before_name,
    "tags": _read_tagged_arguments,
    "pairs": _read_tagged_arguments,
    "quoted": _read_quoted_arguments,
    "python": _read_python_arguments,
    "named": _read_json_arguments,
    "other": _read_json_arguments,
}
_NAME_BEHIND = re.compile(
    r'\s{0,9},\s{0,20}"(?:name|tool_name)"\s{0,9}:\s{0,9}"([^"\n]{0,80})"\s{0,9}\}'
)
_CALL_MARK = re.compile(
    _join_patterns(*(mark for mark in _list_patterns("calls") if mark.startswith(("<", r"\["))))
)
_TAGS_END = re.compile(r"</(?:\w{1,20}:|｜DSML｜)?(?:function|invoke|tool_call)>")
_PARAMETER = re.compile(
    r'<(?:\w{1,20}:|｜DSML｜)?parameter(?:=|\s{1,9}name\s?=\s?)"?([\w.-]{1,80})"?[^<>\n]{0,80}>'
    r"|<arg_key>\s{0,9}([\w.-]{1,80})\s{0,9}</arg_key>\s{0,9}<arg_value>"
)
_PARAMETER_END = re.compile(r"</(?:\w{1,20}:|｜DSML｜)?parameter>|</arg_value>")
_BARE_KEY = re.compile(r'[\s,]{0,9}(\w{1,40})\s{0,9}:\s{0,9}(<\|"\|>|<escape>)')
_BARE_VALUE = re.compile(r"\{\s{0,9}(\w{1,40}):([^{}]*)\}")
_CALL_CLOSED = re.compile(r"[\s,]{0,9}[)\]]")
_KEYWORD = re.compile(r"""[\s,]{0,9}(?:(\w{1,40})\s?=\s?)?(\"{3}|'{3}|\"|')""")
# a string ends where an argument or the call does: a quote that nobody escaped is one of its words
_CLOSING = {
    quote: re.compile(
        rf"(?<!\\){re.escape(quote)}"
        r"(?=\s{0,9}(?:(?:,\s{0,9})?[)\]]\s{0,9}(?:[\])};`<]|\n|\Z)"
        rf"|,\s{{0,9}}\w{{1,40}}\s?=\s?[\"']))"
    )
    for quote in ('"""', "'''", '"', "'")
}
# a call that was cut off before its arguments began, behind a mark that only calls have
_TORN = re.compile(
    r"(?:<tool_calls?>|\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_call\|?>|<\|tool_call_start\|>)"
    r"\s{0,9}"
    rf"(?=[\[{{<]|{_NAME}\s{{0,9}}[\[{{(<]|\Z)"
)
# what stands before a call and behind it: marks, fences, brackets, the keys of an object that it
# stands in
_NOTHING = re.compile("(?!)")
_BEFORE_CALL = re.compile(
    _join_patterns(
        *_list_patterns("calls"),
        *(r"<\|start\|>assistant", _HEADER, _TOKEN),
        r"(?<=begin｜>)function",
        r"\bprint\(",
        r'[\[({]?\s?"(?:tool_calls?|function)"\s{0,9}:',
        r'[\[({]?\s?"(?:type|id)"\s{0,9}:\s{0,9}"[^"\n]{0,80}"\s{0,9},?',
        r"<tool_use>",
        r"functions\.",
        r"\bAction:",
    )
    + r"\Z"
)
_BEFORE_CALLS = re.compile(
    _join_patterns(
        *_list_patterns("calls"),
        *_list_patterns("tokens"),
        r"print\(",
        r"functions\.",
        "Action:",
        r'"\w{1,20}"\s?:',
        "assistant",
    )
)
_FENCE_LAST = re.compile(r"```\w{0,12}\s{0,9}\Z")
_ID_BEHIND = r',\s{0,9}"(?:id|type)"\s{0,9}:\s{0,9}"[^"\n]{0,80}"'
_BEHIND_CALL = re.compile(
    _join_patterns(*_list_patterns("calls"), _ID_BEHIND, "```", r"[\s\])};,]") + "+"
)
