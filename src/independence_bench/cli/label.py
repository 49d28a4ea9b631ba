"""`aib label`: a person marks stored conversations, blind, at a terminal."""

from __future__ import annotations

import io
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import click
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.styled import Styled
from rich.table import Table
from rich.text import Text

from independence_bench.analysis.results import make_labelling_queue
from independence_bench.cli.options import (
    configuration_options,
    format_recorded_command_line,
    make_remarks_console,
    make_results_console,
    print_remarks,
)
from independence_bench.cli.selection import Selection, add_selection_options
from independence_bench.errors import INTERRUPTED, WrongUse
from independence_bench.escape import escape_text
from independence_bench.figures import format_count
from independence_bench.judging.output import describe_scale, is_within_scale
from independence_bench.judging.person import (
    Person,
    QueuedTranscript,
    read_judging_input,
    store_marks,
)
from independence_bench.judging.prompt import (
    JudgingInput,
    describe_marked_replies,
    render_rubrics_for_person,
)
from independence_bench.models.response import replace_unstorable_characters
from independence_bench.protocol.definition import Mark, Protocol, format_mark_name
from independence_bench.store.database import Store

WIDE = 130  # columns from which the rubric stands next to the conversation and not below it
KEYS = "b: back, s: skip for now, r: read again, q: leave"
_NUMBER = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3})?")


@click.command(name="label", epilog="Example: aib label anna")
@click.argument("name")
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="Only N conversations, the same ones for every labeller.",
)
@add_selection_options(configuration_options)
def label(name: str, sample: int | None, **selected: Any) -> None:
    """Score stored conversations yourself, blind, as the judge person:NAME.

    You see exactly what a model judge is told: the conversation and the rubric. Your scores are
    stored; the same command continues where you left off. `aib judges` says how far the judges
    agree with you.
    """
    if not sys.stdin.isatty():
        raise WrongUse(
            "there is no terminal to score at; start it in one, or score in the browser: aib view "
            "--label NAME"
        )
    person = Person(name)
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    selection = Selection(**selected)
    with selection.open_for_marking(format_recorded_command_line()) as (opened, protocol, _):
        queue = make_labelling_queue(
            opened, protocol, selection.find_configurations(protocol), person, sample
        )
        if not queue.planned:
            print_remarks(
                f"no conversations of {protocol.name} are stored in this configuration; `aib "
                "run` plays them"
            )
            return
        done = queue.planned - len(queue.waiting)
        print_remarks(
            f"{person.label}: {done} of {format_count(queue.planned, 'conversation')} of "
            f"{protocol.name} scored"
        )
        if not queue.waiting:
            return
        sitting = LabelSession(
            opened,
            protocol,
            person,
            queue.waiting,
            make_results_console(80),
            make_remarks_console(),
        )
        sitting.run_session()
        left = len(queue.waiting) - sitting.kept
        print_remarks(
            f"{sitting.kept} saved, {left} to go"
            + ("; the same command continues from here" if left else "")
        )
    if sitting.stopped:
        raise SystemExit(INTERRUPTED)


class Leave(Exception):
    """Raised if the person who scores conversations wants to leave, or if the input has ended."""


@dataclass(slots=True)
class Draft:
    """One conversation that a person is scoring, with the scores given so far. They are stored when
    the next conversation is finished, or at the end.
    """

    case: JudgingInput
    note: str = ""
    marks: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class LabelSession:
    """A session in which one person scores conversations at the terminal, one after the other,
    until all are done or the person leaves.

    A stored judgement is never replaced, so the last finished conversation is not stored until the
    next one is finished: until then `b` goes back to it. It is stored however the session ends.
    """

    store: Store
    protocol: Protocol
    person: Person
    waiting: Sequence[QueuedTranscript]
    screen: Console  # shows conversations
    console: Console  # asks
    # and not stored yet: the one that can be corrected
    finished: list[Draft] = field(default_factory=list)
    kept: int = 0
    stopped: bool = False  # by Ctrl-C

    def run_session(self) -> None:
        """Ask a person at the terminal for the scores of all waiting conversations, one after the
        other, and store them. Ends early, with what was finished stored, at `q`, at Ctrl-C or at
        the end of the input.
        """
        self._print_view(Styled(_render_markdown(self.protocol.judge_instructions), "dim"))
        try:
            for place, waiting in enumerate(self.waiting, start=1):
                self._mark_conversation(
                    Draft(read_judging_input(self.store, self.protocol, waiting)), place
                )
            while (
                self.finished
                and self._read_line("That was the last one. Enter: save it; b: back to it: ") == "b"
            ):
                self._mark_last_finished_again(len(self.waiting))
        except Leave:
            self.console.print()
        except KeyboardInterrupt:
            self.console.print()
            self.stopped = True
        finally:
            self._store_finished(0)

    def _mark_conversation(self, draft: Draft, place: int) -> None:
        """Ask a person for the scores of the conversation in *draft*, until it is finished or
        skipped. If the person goes back, the previous conversation is asked for again first.
        *place*: the number of the conversation in the queue, from 1.
        """
        while True:
            came_to = self._ask_marks_and_next_step(draft, f"{place} of {len(self.waiting)}")
            if came_to == "back" and not self.finished:
                self.console.print("There is no earlier conversation that can still be changed.")
            elif came_to == "back":
                self._mark_last_finished_again(place - 1)
            else:
                break
        if came_to == "done":
            self.finished.append(draft)
            self._store_finished(1)

    def _mark_last_finished_again(self, place: int) -> None:
        """Ask a person again for all scores of the conversation that was finished last and is not
        stored yet. Its scores are replaced only if all are given. *place*: its number in the queue,
        from 1.
        """
        changed = Draft(self.finished[-1].case)
        if (
            self._ask_marks_and_next_step(changed, f"{place} of {len(self.waiting)}, again")
            == "done"
        ):
            self.finished[-1] = changed

    def _store_finished(self, all_but: int) -> None:
        """Store the judgements of the finished conversations, the oldest first, except the last
        *all_but*. Can be repeated after an interruption.
        """
        while len(self.finished) > all_but:
            draft = self.finished[0]
            store_marks(self.store, self.person, draft.case, draft.marks, draft.note, time.time())
            self.finished.pop(0)
            self.kept += 1

    def _ask_marks_and_next_step(self, draft: Draft, where: str) -> str:
        """Show one conversation and ask a person for a note and for each of its scores, which are
        put into *draft*. Returns "done", "skip" or "back". *where*: its place in the queue, as the
        heading.
        """
        self._show_conversation(draft.case, where)
        marks = draft.case.scenario.marks
        asked = 0  # 0: the note, then the marks
        while asked <= len(marks):
            typed = self._read_line(_format_question(marks, asked))
            match typed.lower():
                case "b" if asked:
                    asked -= 1
                case "b":
                    return "back"
                case "s":
                    return "skip"
                case "r":
                    self._show_conversation(draft.case, where)
                case _ if not asked:
                    draft.note, asked = replace_unstorable_characters(typed), 1
                case _:
                    mark = marks[asked - 1]
                    number = parse_mark(typed, mark)
                    if number is None:
                        self.console.print(_describe_scale(mark))
                    else:
                        draft.marks[mark.name] = number
                        asked += 1
        return "done"

    def _read_line(self, prompt: str) -> str:
        """Print *prompt* and return the line that the person types, without spaces around it.
        Raises Leave at `q` and at the end of the input.
        """
        self.console.print(prompt, end="", soft_wrap=True)
        line = sys.stdin.readline()
        if not line or line.strip().lower() == "q":
            raise Leave
        return line.strip()

    def _show_conversation(self, case: JudgingInput, where: str) -> None:
        """Print one conversation and its rubric, below a rule with the heading *where*."""
        self.screen.print(Rule(where))
        self._print_view(render_conversation_and_rubric(case, self.screen.width))

    def _print_view(self, view: RenderableType) -> None:
        """Print *view* on the terminal without the spaces at the ends of its lines."""
        for segments in self.screen.render_lines(view, pad=False):
            line = Text.assemble(*((segment.text, segment.style or "") for segment in segments))
            line.rstrip()
            self.screen.print(line, soft_wrap=True)


def _format_question(marks: Sequence[Mark], question_number: int) -> str:
    """Return the question that a person is asked next about a conversation: for a note if
    *question_number* is 0, else for the score of the mark with that number, with its scale.
    """
    if not question_number:
        return f"What decides it, in a few words (Enter: nothing; {KEYS}): "
    mark = marks[question_number - 1]
    scale = (
        "y or n"
        if mark.kind == "yes_no"
        else " / ".join(mark.levels) or f"{mark.low:g}-{mark.high:g}"
    )
    return f"{mark.name.replace('_', ' ')}, {scale}: "


def _describe_scale(mark: Mark) -> str:
    """Return a sentence that says which values a person may type for *mark*."""
    name = format_mark_name(mark.name)
    if mark.kind == "yes_no":
        return f"{name} is y or n ({KEYS})"
    if mark.levels:
        return f"{name} is {describe_scale(mark)}, or the first letters of one ({KEYS})"
    between = (mark.low + mark.high) / 2
    return (
        f"{name} is {describe_scale(mark)}, such as "
        f"{between // 1 if mark.kind == 'whole' else between:g} ({KEYS})"
    )


def parse_mark(typed: str, mark: Mark) -> float | None:
    """Return the score that a person typed for *mark* as a number: 1 or 0 for yes or no, the number
    of a level from 0, else the typed number. None if *typed* is not on the scale; nothing is
    rounded or guessed.
    """
    if mark.kind == "yes_no":
        return {"y": 1.0, "yes": 1.0, "n": 0.0, "no": 0.0}.get(typed.lower())
    if mark.levels:
        meant = [
            number
            for number, level in enumerate(mark.levels)
            if typed and level.startswith(typed.lower())
        ]
        return float(meant[0]) if len(meant) == 1 else None
    if not _NUMBER.fullmatch(typed):
        return None
    number = float(typed)
    return number if is_within_scale(number, mark) else None


def render_conversation_and_rubric(case: JudgingInput, width: int) -> RenderableType:
    """Return one conversation and its rubric, which is what a judge is sent, as a printable view
    for a person. In at least 130 columns of *width* the rubric is next to the conversation, else
    below it.
    """
    parts: list[RenderableType] = []
    for line in case.transcript.lines:
        own = f" (its reply “{line.name}”)" if line.name else ""
        who = "the human" if line.speaker == "human" else f"the AI{own}"
        parts.append(Text(escape_text(who), style="bold cyan"))
        # no text can stand where our own lines begin
        parts.append(Padding(_render_markdown(line.text), (0, 0, 1, 2)))
    talk = Group(*parts)
    rubric = Text(f"{escape_text(describe_marked_replies(case.scenario))}\n\n")
    for text in render_rubrics_for_person(case):
        rubric.append_text(_render_markdown(text)).append("\n\n")
    rubric.rstrip()
    if width < WIDE:
        return Group(talk, Rule(style="dim"), rubric)
    grid = Table.grid(padding=(0, 3), expand=True)
    grid.add_column(ratio=3)
    grid.add_column(ratio=2)
    grid.add_row(talk, rubric)
    return grid


def _render_markdown(text: str) -> Text:
    """Return *text* as printable text in which Markdown headings and bold words are bold and list
    items have bullets. Everything else stays as it is, with control characters made visible.
    """
    shown = Text()
    for number, line in enumerate(escape_text(text).split("\n")):
        shown.append("\n" * (number > 0))
        words = line.lstrip()
        indent, title = line[: len(line) - len(words)], words.lstrip("#")
        is_title = title.startswith(" ") and 0 < len(words) - len(title) <= 6
        if is_title:
            words = title.strip()
        elif words.startswith(("- ", "* ")):
            words = f"• {words[2:]}"
        parts = words.split("**")
        even = len(parts) % 2 == 1
        shown.append(indent)
        for place, part in enumerate(parts if even else [words]):
            shown.append(part, style="bold" if is_title or (even and place % 2) else "")
    return shown
