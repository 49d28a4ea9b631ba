"""A stored conversation on a terminal, and the list of those that are stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from independence_bench.analysis.conversations import Conversation
from independence_bench.figures import format_count
from independence_bench.protocol.conversation import Transcript
from independence_bench.protocol.definition import Configuration, Protocol, Scenario
from independence_bench.protocol.delivery import make_messages
from independence_bench.report.board_view import describe_exams
from independence_bench.report.format import format_mark
from independence_bench.report.table import (
    Block,
    Bullets,
    Name,
    Note,
    Passage,
    Prose,
    Table,
    Title,
    make_columns,
)
from independence_bench.store.attempts import ANSWERED, CUT_OFF
from independence_bench.store.results import Judgement


def render_stored_scenarios(
    label: str, stored: Mapping[tuple[str, Configuration], Sequence[int]]
) -> Iterator[Block]:
    """Yield a title and a table of the stored conversations of the model *label*: a row for each
    scenario and configuration, with its runs.
    """
    yield Title(Name(label))
    rows = [
        (Name(id_), str(place), ", ".join(map(str, runs))) for (id_, place), runs in stored.items()
    ]
    yield Table(make_columns("scenario", "configuration", "runs", word_column_count=3), rows)


def render_conversation(label: str, shown: Conversation, protocol: Protocol) -> Iterator[Block]:
    """Yield the output blocks that show one conversation of the model *label*: remarks, prompts,
    every line, and each judge's scores with the reasoning.
    """
    yield Title(
        Prose(f"{label} · {shown.scenario.title} · {shown.configuration} · run {shown.row.run}")
    )
    if protocol.earlier:
        yield Note(
            f"after {2 * len(protocol.earlier)} turns of an earlier chat, which judges do not read"
        )
    for remark in _list_remarks(shown):
        yield Note(Prose(remark), "yellow")
    wording, delivery = protocol.tool_role, shown.configuration.delivery
    first, *_ = make_messages(Transcript(shown.transcript.system), delivery, wording)
    preamble = [("system prompt", first.content or "")]
    if delivery == "tool_role":
        preamble += [
            ("opening message", wording.opening),
            ("the model's first call, made for it", wording.greeting),
        ]
    for role, text in preamble:
        yield Note(f"\n{role}", "dim bold")
        yield Passage(text, "dim")
    reasoning = {
        name: shown.replies[key].reasoning
        for name, key in shown.asked_reply_names_and_keys
        if key in shown.replies
    }
    for line in shown.transcript.lines:
        if line.speaker == "human":
            yield Note("\nhuman", "bold cyan")
        elif line.is_scripted_model_line:
            yield Note("\nmodel (put into its mouth)", "bold magenta")
        else:
            if thought := reasoning.get(line.name, ""):
                yield Note("\nmodel, reasoning (the human does not see it)", "dim bold")
                yield Passage(thought, "dim")
            if line.notes:
                yield Note("\nmodel, notes (the human does not see them)", "dim bold")
                yield Passage(line.notes, "dim")
            mark = " · scored" if line.name in shown.scenario.judged else ""
            yield Note(f"\nmodel: {line.name}{mark}", "bold green")
        yield Passage(line.text)
    if not shown.judgements:
        yield Note("\nnot judged yet; `aib judge` does it", "yellow")
    exams = describe_exams(shown.exams)
    for judge, judgement in shown.judgements:
        yield Title(("judge ", Prose(judge)))
        if len(shown.judgements) == 1:
            yield from (Note(Prose(line)) for line in exams)
        yield from _render_judgement(judgement, shown.scenario)
    if len(shown.judgements) > 1 and exams:
        yield Title("What the exam says of them")
        yield Bullets([Prose(line) for line in exams])


def _list_remarks(shown: Conversation) -> Iterator[str]:
    """Yield a remark on each peculiar reply of a conversation (invalid, cut off, plain text,
    rejected attempts) and on each judgement that a person should read.
    """
    if shown.row.reason:
        yield f"invalid: {shown.row.reason}"
    for name, key in shown.asked_reply_names_and_keys:
        reply = shown.replies.get(key)
        if reply is None:
            continue
        if reply.cut_off:
            yield f"{name}: cut off by the token limit"
        if reply.plain_text:
            yield f"{name}: said in plain text, without calling the tool"
        if marks := shown.find_reply_template_tokens(key):
            yield f"{name}: chat-template tokens remain in its words: {', '.join(marks)}"
        if other := shown.find_substitute_model_name(key):
            yield f"{name}: another model answered, by its server's word: {other}"
        for attempt in shown.attempts.get(key, ()):
            if attempt["outcome"] == CUT_OFF:
                yield f"{name}: a first reply was cut off, and asked again with twice the limit"
            elif attempt["outcome"] == ANSWERED and attempt["reasoning_tokens"]:
                yield (
                    f"{name}: {format_count(attempt['reasoning_tokens'], 'token')} of reasoning "
                    "before it"
                )
            elif attempt["outcome"] not in (ANSWERED, None):
                why = f": {attempt['message']}" if attempt["message"] else ""
                yield f"{name}: an attempt was rejected ({attempt['outcome']}{why})"
    for label, judgement in shown.judgements:
        for flag in shown.list_flags(label, judgement):
            yield f"judgement of {label} to be read: {flag.why}"


def _render_judgement(judgement: Judgement, scenario: Scenario) -> Iterator[Block]:
    """Yield the scores of one judgement with the judge's reasoning, or the reason why it failed."""
    if judgement.reason is not None:
        yield Note(f"  failed: {judgement.reason}", "red")
        return
    for mark in scenario.marks:
        yield Note(
            f"  {mark.name.replace('_', ' ')}: {format_mark(mark, judgement.marks.get(mark.name))}",
            "",
        )
    yield Passage(judgement.reasoning, "dim")
