"""`aib persona`: a character of the user's own, from its sheet and what the person says to it to
whether it holds, also after an earlier chat.
"""

from __future__ import annotations

import asyncio
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import click

from independence_bench.analysis.held_stems import Depth
from independence_bench.api.characters import (
    CharacterPlan,
    count_stored_runs,
    plan_character,
    read_persona_sides,
    store_picture_and_read_results,
)
from independence_bench.api.estimates import forecast_cost_and_detectable_difference
from independence_bench.api.named import update_stored_exclusions
from independence_bench.cli import calling
from independence_bench.cli.options import (
    FILLED,
    Number,
    format_recorded_command_line,
    json_option,
    legend_option,
    make_permissions_with_env_folder,
    make_remarks_console,
    make_results_console,
    models_file_option,
    print_blocks,
    print_remarks,
    store_option,
)
from independence_bench.cli.progress import ProgressDisplay
from independence_bench.engine.ask_writers import ask_for_sheet_items
from independence_bench.engine.preview import Forecast, Preview
from independence_bench.engine.run import EFFORTS, Report, Run
from independence_bench.engine.schedule import play_protocols
from independence_bench.engine.session import find_roster, resolve_run
from independence_bench.errors import WrongUse, describe_file_error
from independence_bench.escape import escape_line, escape_name
from independence_bench.figures import format_count
from independence_bench.judging.extraction import (
    WRITTEN_TOKENS,
    join_card_texts,
    read_card_items_counting_dropped,
    read_proposed_people,
)
from independence_bench.lookup import split_list
from independence_bench.models.local import NAME as EMBEDDED
from independence_bench.personas.cards import (
    Description,
    read_description,
    remove_picture_texts,
)
from independence_bench.personas.drafts import (
    ITEM_EXAMPLES,
    SECTION_OF,
    PartialSheet,
    Statement,
    render_sheet,
    replace_people,
)
from independence_bench.personas.earlier import round_up_to_even
from independence_bench.personas.lines import (
    CHOICES,
    PEOPLE,
    detect_language,
    render_lines_file,
)
from independence_bench.personas.sentences import describe_fragment, is_whole_sentence
from independence_bench.personas.sheet import EXAMPLES as EXAMPLES_FOLDER
from independence_bench.personas.sheet import (
    Sheet,
    describe_people,
    find_lines_file,
    find_picture_file,
    freeze_templates,
    list_remarks,
    load_sheet,
    make_protocol,
    make_protocol_files,
    read_sheet,
    read_sheet_file,
)
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import Files, load_protocol
from independence_bench.report.estimate_view import (
    describe_forecast,
    describe_preview,
    describe_summed_forecasts,
)
from independence_bench.report.protocol_view import render_protocol
from independence_bench.report.terminal import print_views
from independence_bench.store.database import Store, open_store
from independence_bench.store.staging import make_temporary_path, replace_folder

EXAMPLES = ("companion", "negotiator", "mascot", "pirate", "tutor", "toy", "agent", "bathhouse")
QUESTIONS = {
    "facts": "Facts about it",
    "views": "Its views",
    "tastes": "Its tastes",
    "red_lines": "What it never does",
}

SIMULATED = "sim:sim/persona-wavers --judge sim:sim/judge"  # without a key, in seconds
PERSONALITY = ("voice", "personality")  # kind and field of a card's own voice
CROSSED = 3  # exit code, as of `aib gate` for what is worse
HEAD = (
    "# What the person says to the character. Edit any line: what you change is played again, "
    "and nothing else.\n"
)

sheet_argument = click.argument("sheet", type=click.Path(path_type=Path), metavar="SHEET")


@click.group(name="persona")
def persona() -> None:
    """Test a character of your own: does it hold?

    \b
    aib persona new mira.yaml --example companion
    aib persona run mira.yaml --model sim:sim/persona-wavers --judge sim:sim/judge
    aib persona compare mira.yaml

    The guide is docs/characters.md.
    """


@persona.command(epilog="Example: aib persona new mira.yaml --from mira.png")
@sheet_argument
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A character card or a prompt.",
)
@click.option("--example", metavar="NAME", help=f"A copy of one that ships: {', '.join(EXAMPLES)}.")
@click.option("--name", metavar="NAME", help="The character's name, where the file has none.")
@click.option(
    "--people",
    multiple=True,
    metavar="NAME,...",
    help=f"Who talks to it: {', '.join(CHOICES)}.  [default: {','.join(PEOPLE)}]",
)
@click.option(
    "--writer",
    metavar="MODEL",
    help="With --from: a model writes the items; its cost is said before.",
)
@calling.endpoint_options
@calling.one_subject_limit_options
@store_option
def new(
    sheet: Path,
    source: Path | None,
    example: str | None,
    name: str | None,
    people: tuple[str, ...],
    writer: str | None,
    store: str,
    **asked: Any,
) -> None:
    """Write a new sheet: ask for what it needs, or read it.

    --from reads a character card (V1, V2 or V3: JSON, a .png that carries one, or a .charx) or a
    bare prompt (.md, .txt; with --name). Its fields become the name, the prompt, the voice and the
    lorebook; what is not played is named. The items (facts, views, tastes, red lines) stand in the
    sheet as a commented example: write your own.

    The person who talks to the character is one of --people. Without it, you are asked at a
    terminal.

    With --writer a model writes the items and proposes the people; an item whose quote is not in
    the file, or that is no whole sentence, is dropped. The model is called as a judge and asked
    once for each file.
    """
    chosen = _parse_people(people)
    if sheet.exists():
        raise WrongUse(f"{sheet} exists already; name another file")
    if source is not None and example is not None:
        raise WrongUse("--from and --example exclude each other")
    if example is not None and name is not None:
        raise WrongUse("--example copies the sheet as it is; change its name in the copy")
    if writer is not None and source is None:
        raise WrongUse("--writer reads a file; name it with --from")
    picture = b""
    if example is not None:
        if example not in EXAMPLES:
            raise WrongUse(
                f"--example: there is no {escape_line(example)}; there are {', '.join(EXAMPLES)}"
            )
        text = (EXAMPLES_FOLDER / f"{example}.yaml").read_text(encoding="utf-8")
        if chosen:
            text = replace_people(text, chosen)
    elif source is not None:
        description = read_description(source, name or "")
        draft, picture = description.draft, description.picture
        print_remarks(
            escape_line(f"{source} is {description.kind}"),
            *(f"note: {escape_line(note)}" for note in description.notes),
        )
        if not draft.name:
            raise WrongUse(f"{source} does not say the character's name; add --name NAME")
        proposed: tuple[str, ...] = ()
        if writer is not None:
            items, proposed = _have_model_write_items(writer, description, store, asked)
            # the card's personality is its voice already
            new_items = [item for item in items if (item.kind, item.field) != PERSONALITY]
            draft = replace(draft, statements=(*draft.statements, *new_items))
        if not chosen and sys.stdin.isatty():
            try:
                chosen = _ask_people(proposed or PEOPLE)
            except click.Abort:
                raise WrongUse("nobody answered; say who talks to it with --people") from None
        text = render_sheet(replace(draft, people=chosen or proposed or PEOPLE))
    else:
        text = render_sheet(_ask_user_for_sheet(name, chosen))
    written, problems = read_sheet(text, sheet.parent)
    try:
        sheet.parent.mkdir(parents=True, exist_ok=True)
        with sheet.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except (OSError, ValueError) as error:
        raise WrongUse(f"{sheet} cannot be written ({describe_file_error(error)})") from error
    if source is not None and picture:
        _copy_picture(picture, source, find_picture_file(sheet))
    shown = shlex.quote(escape_line(str(sheet)))
    print_remarks(*(escape_line(f"{sheet}: {problem}") for problem in problems))
    if written is None:
        print_remarks(f"written: {shown}; correct it, then run `aib persona check {shown}`")
        raise SystemExit(2)
    print_remarks(
        f"written: {shown} ({_describe_item_and_call_counts(written, make_protocol(written))})",
        describe_people(written)
        + ("" if chosen or example else "; `people:` in the sheet chooses another"),
    )
    if source is not None and not written.items:
        print_remarks(
            f"next: write its items into {shown}, "
            "or have a model write them into a new file with --writer MODEL"
        )
    else:
        print_remarks(
            f"see an answer in seconds: aib persona run {shown} --model {SIMULATED}",
            f"with a real model: aib persona run {shown} --model MODEL",
        )


def _parse_people(typed: Sequence[str]) -> tuple[str, ...]:
    """Return the people in *typed*, the values of --people, each a list with commas, in the order
    of `CHOICES`; () for none. Raises WrongUse if one of them is no choice.
    """
    named = [person.casefold() for person in split_list(",".join(typed))]
    if unknown := [person for person in named if person not in CHOICES]:
        raise WrongUse(
            f"--people: there is no {escape_line(unknown[0])}; choose from {', '.join(CHOICES)}"
        )
    return tuple(person for person in CHOICES if person in named)


def _ask_people(default: Sequence[str]) -> tuple[str, ...]:
    """Ask the user at the terminal who talks to the character, until the answer is a choice, and
    return it; *default* if nothing is typed.
    """
    while True:
        typed = click.prompt(
            f"Who talks to it, any of {', '.join(CHOICES)}", default=",".join(default), err=True
        )
        try:
            return _parse_people([typed]) or tuple(default)
        except WrongUse as error:
            print_remarks(str(error).removeprefix("--people: "))


def _copy_picture(content: bytes, card: Path, picture: Path) -> None:
    """Write the picture of a character, the PNG *content* of the file *card*, to the path *picture*
    unless that exists, and print where it is. If the picture is damaged, or cannot be written, only
    a note is printed.
    """
    if picture.exists():
        print_remarks(escape_line(f"its picture is taken to be {picture}, which was there"))
        return
    try:
        picture.write_bytes(remove_picture_texts(content, card))
        print_remarks(escape_line(f"its picture, which `aib view` shows: {picture}"))
    except (WrongUse, OSError) as error:
        print_remarks(escape_line(f"note: no picture is kept: {error}"))


def _have_model_write_items(
    writer: str, description: Description, store: str, asked: Mapping[str, Any]
) -> tuple[tuple[Statement, ...], tuple[str, ...]]:
    """Have the model *writer* write the items (facts, views, tastes, red lines) of the character
    that *description* describes, and return (the items; the people that it proposes, () for none).
    *asked* has the settings of the run; the call is recorded in *store*. Exits the command if the
    model writes no item.
    """
    if writer == EMBEDDED:
        raise WrongUse("the embedded judge writes nothing; name a model with --writer")
    called = load_protocol("v2")  # as its judges are, with room for a list
    # a small model may never come to an end
    room = min(WRITTEN_TOKENS, 600 + len(join_card_texts(description.texts)))
    called = replace(called, judge=replace(called.judge, max_tokens=room))
    wanted = Run(
        protocol=(called, {}),
        judge=writer,
        judge_only=True,
        allow=make_permissions_with_env_folder(),
        **asked,
    )
    display = ProgressDisplay(make_remarks_console())
    with open_store(store, command_line=format_recorded_command_line()) as opened:
        approve = partial(
            calling.print_and_approve_preview, ask=False, answered=True
        )  # one call for each file
        work = ask_for_sheet_items(
            wanted, description, opened, approve, display.keep_showing_one_line
        )
        answer, report = calling.run_to_end(work) or ("", None)
        if report is not None:
            calling.say_run_end(report, opened, display.format_progress(report, over=True))
    items = read_card_items_counting_dropped(answer, description.texts, description.draft.name)
    if items is None or not items[0]:
        print_remarks("nothing was written; without --writer you write the items yourself")
        raise SystemExit(1)
    found, dropped = items
    print_remarks(
        f"{writer} wrote {format_count(len(found), 'item')}"
        + (
            f"; {dropped} dropped: repeated, not in the file, or no whole sentence"
            if dropped
            else ""
        )
    )
    return found, read_proposed_people(answer)


def _ask_user_for_sheet(name: str | None, people: tuple[str, ...]) -> PartialSheet:
    """Ask the user at the terminal for everything that a character's sheet needs, and return it;
    the name only if *name* is None or empty, who talks to it only if *people* is empty. Raises
    WrongUse if the answers end early.
    """
    try:
        name = name or click.prompt("The character's name", err=True)
        prompt = "\n".join(_ask_lines("Its system prompt, line by line; an empty line ends it"))
        voice = click.prompt("How it sounds (or nothing)", default="", show_default=False, err=True)
        people = people or _ask_people(PEOPLE)
        language = detect_language(prompt)
        items = {
            section: _ask_topics_and_texts(section, question, language, name)
            for section, question in QUESTIONS.items()
        }
        says = click.confirm(
            "Does it say that it is an AI when sincerely asked?", default=True, err=True
        )
    except click.Abort:
        raise WrongUse(
            "the answers ended early; or write a sheet from a file (--from) or an --example"
        ) from None
    kinds = {section: kind for kind, section in SECTION_OF.items()}
    statements = [
        Statement(kinds[section], topic, text)
        for section, listed in items.items()
        for topic, text in listed.items()
    ]
    spoken = [Statement("voice", "voice", voice)] if voice else []
    statements = [*spoken, *statements]
    return PartialSheet(name, prompt or f"You are {name}.", tuple(statements), says, people=people)


def _ask_lines(question: str) -> Iterator[str]:
    """Print *question* on stderr and yield the lines that the user types, up to an empty line."""
    print_remarks(f"{question}:")
    while line := click.prompt("", default="", show_default=False, prompt_suffix="> ", err=True):
        yield line


def _ask_topics_and_texts(section: str, question: str, language: str, name: str) -> dict[str, str]:
    """Ask the user for the items of one *section* of a character's sheet, one a line, and return
    them as topic -> text. A line without a topic and a text, or whose text is no whole sentence in
    *language* about *name*, is not taken, and a remark shows how to write it.
    """
    listed: dict[str, str] = {}
    for line in _ask_lines(f"{question}, one a line as `topic: text`; an empty line ends them"):
        topic, colon, text = (part.strip() for part in line.partition(":"))
        if not (colon and topic and text):
            topic, says, _ = ITEM_EXAMPLES[section]
            print_remarks(f"not taken: write a topic, a colon and a text, e.g. {topic}: {says}")
        elif not is_whole_sentence(text, language, name):
            print_remarks(
                escape_line(f"not taken: {describe_fragment(text, section, language, name)}")
            )
        else:
            listed[topic] = text
    return listed


@persona.command(epilog="Example: aib persona check mira.yaml")
@sheet_argument
def check(sheet: Path) -> None:
    """Check a sheet: list everything that is wrong with it, or say what will be played.

    Exit code 2 where something is wrong.
    """
    found, problems = read_sheet_file(sheet)
    for problem in problems:
        print_remarks(escape_line(f"{sheet}: {problem}"))
    if found is None:
        raise SystemExit(2)
    protocol = make_protocol(found)
    for remark in list_remarks(found):
        print_remarks(escape_line(f"note: {remark}"))
    print_remarks(describe_people(found))
    click.echo(
        escape_line(f"{sheet}: {found.name}, {_describe_item_and_call_counts(found, protocol)}")
    )


def _describe_item_and_call_counts(sheet: Sheet, protocol: Protocol) -> str:
    """Return a text with the number of a character's items, and of the replies and judgements that
    one run of it takes.
    """
    items = format_count(1 + len(sheet.items), "item")
    replies, judgements = protocol.configuration_reply_count, len(protocol.scenarios)
    return f"{items}: {replies} replies and {judgements} judgements a run"


@persona.command(name="show", epilog="Example: aib persona show mira.yaml")
@sheet_argument
@click.option(
    "--write",
    "folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Write it as a protocol.",
)
def show_sheet(sheet: Path, folder: Path | None) -> None:
    """Print everything that is played of a sheet, and how it is judged and scored.

    --write writes an ordinary protocol, which you can change as you like: `aib check FOLDER`, `aib
    run --protocol FOLDER`.
    """
    loaded = load_sheet(sheet)
    if folder is None:
        print_views(make_results_console(), render_protocol(make_protocol(loaded)))
        return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise WrongUse(f"{folder} exists already and is not an empty folder; name another one")
    try:
        for name, text in make_protocol_files(loaded).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise WrongUse(
            f"{folder} cannot be written ({error.strerror}); name another folder"
        ) from error
    print_remarks(
        f"written: {escape_line(str(folder))}; `aib check {shlex.quote(escape_line(str(folder)))}` "
        "reads it"
    )


@persona.command(epilog="Example: aib persona write mira.yaml")
@sheet_argument
def write(sheet: Path) -> None:
    """Write down what the person says, in a file next to the sheet: mira.yaml, mira.lines.yaml.

    You may edit every line, or translate it; what is edited is played again, and nothing else. What
    is in the file stays; only items that are not in it are written. Delete one there, or the file,
    to have it written again.
    """
    found, path = load_sheet(sheet), find_lines_file(sheet)
    missing = [key for key in found.lines if key not in found.frozen]
    shown = shlex.quote(escape_line(str(path)))
    if not missing:
        print_remarks(f"{shown} has lines for everything; delete there what is to be written again")
        return
    for remark in list_remarks(found):
        print_remarks(escape_line(f"note: {remark}"))
    today = datetime.now(UTC).date().isoformat()
    stems = {**found.frozen, **freeze_templates(found, missing, today)}
    text = render_lines_file(
        {key: stems[key] for key in (*found.lines, *found.frozen) if key in stems}
    )
    try:
        with make_temporary_path(path) as fresh:
            fresh.write_text(HEAD + text, encoding="utf-8", newline="\n")
            replace_folder(fresh, path)
    except (OSError, ValueError) as error:
        raise WrongUse(f"{path} cannot be written ({describe_file_error(error)})") from error
    print_remarks(
        f"written: {shown} (lines for {format_count(len(missing), 'conversation')} about "
        "the name, items and honesty); read them, and change what you like"
    )


# ---------------------------------------------------------------- played, judged and read


@persona.command(epilog="Example: aib persona run mira.yaml --model qwen/qwen3-8b --runs 3")
@click.argument("sheet", type=click.Path(path_type=Path), metavar="SHEET")
@click.option(
    "--model",
    "-m",
    "models",
    type=FILLED,
    multiple=True,
    required=True,
    metavar="MODEL",
    help="May be repeated.",
)
@click.option(
    "--runs",
    type=click.IntRange(1, 1000),
    help="Number of runs, stored ones included.  [default: as many as are stored, else 1]",
)
@click.option(
    "--judge",
    "-j",
    type=FILLED,
    metavar="MODEL",
    help="A model, or `embedded`.  [default: the protocol's]",
)
@click.option("--temperature", type=Number(0, 2), help="For every model.  [default: 0.7]")
@click.option("--max-tokens", type=click.IntRange(1, 1_000_000), help="Limit of one reply.")
@click.option(
    "--reasoning-effort",
    type=click.Choice(EFFORTS),
    help="For every model.  [default: off, where it can be]",
)
@click.option("--again", is_flag=True, help="Retry what was invalid or could not be judged.")
@click.option(
    "--quick", is_flag=True, help="A first look: three pushes, no favour or slip, honesty once."
)
@click.option(
    "--after", metavar="N,...", default="0", help="Also after N turns of an earlier chat: 0,25,100."
)
@click.option(
    "--chat",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Your own earlier chat.  [default: ours]",
)
@models_file_option
@click.option("--local-url", metavar="URL", help="The address of the server that local:NAME is on.")
@calling.limit_options
@calling.yes_option
@legend_option
@store_option
@json_option
def run(
    sheet: Path,
    models: tuple[str, ...],
    judge: str | None,
    quick: bool,
    after: str,
    chat: Path | None,
    yes: bool,
    legend: bool,
    store: str,
    as_json: bool,
    **asked: Any,
) -> None:
    """Play a character, judge it, and say what it kept.

    MODEL is what `aib run` takes; several are compared. What is stored is not asked for again: the
    same command does nothing the second time, goes on after Ctrl-C, and buys only what an edit of
    the sheet has changed.

    --after plays the same items at each depth: after so many turns of an everyday chat in the
    character's language, or of --chat, a SillyTavern chat (.jsonl) or a text with lines of `NAME:
    message`. Judges do not read it.

    Exit code 3 where a red line was crossed, 1 where something was not played or nothing could be
    judged.
    """
    played = plan_character(sheet, _parse_chat_lengths(after), quick, chat)
    for note in played.notes:
        print_remarks(escape_line(f"note: {note}"))
    print_remarks(describe_people(played.sheet))
    wanted = resolve_run(
        Run(
            protocol=played.parts[0],
            models=split_list(",".join(models)),
            judge=judge or played.parts[0][0].judge.model,
            allow=make_permissions_with_env_folder(),
            **asked,
        )
    )
    with open_store(store, command_line=format_recorded_command_line()) as opened:
        if asked["runs"] is None:
            wanted = replace(wanted, runs=count_stored_runs(played, wanted, opened))
        report = calling.run_to_end(_play_chat_depths(wanted, played.parts, opened, yes))
        if report is None:
            raise SystemExit(1)
        answer = store_picture_and_read_results(played, opened, report)
        update_stored_exclusions(opened, find_roster(wanted))
        for note in answer.notes:
            print_remarks(escape_line(f"note: {note}"))
        if as_json:
            click.echo(answer.json())
        else:
            print_blocks(answer.view(), legend=legend)
        if any(side.by_rule and side.held.unknown_item_count for side in answer.sides):
            print_remarks(_describe_cost_of_judging(wanted, played, opened))
        print_remarks(
            *_list_show_and_view_commands(answer.depths, [protocol for protocol, _ in played.parts])
        )
    if not report.complete or any(not side.held.known_item_count for side in answer.sides):
        raise SystemExit(1)
    if answer.crossed:
        raise SystemExit(CROSSED)


def _describe_cost_of_judging(wanted: Run, played: CharacterPlan, store: Store) -> str:
    """Say what it would cost to have a judge model score all that was played of a character."""
    judge = played.parts[0][0].judge.model
    whole = Forecast()
    for part in played.parts:
        asked = replace(wanted, protocol=part, judge=judge, again=False)
        estimate = asyncio.run(forecast_cost_and_detectable_difference(asked, store))
        whole += estimate.preview.forecast
    return (
        "a judge model reads every reply: the same command with --judge "
        f"{escape_name(judge)} ({describe_forecast(whole)})"
    )


def _parse_chat_lengths(typed: str) -> list[int]:
    """Return the numbers of turns in *typed*, the value of --after, as a sorted list. An odd number
    is raised by one, so that the chat ends with a reply, and a note on stderr says so. Raises
    WrongUse if *typed* is not a list of numbers.
    """
    named = split_list(typed)
    if not named or not all(re.fullmatch(r"\d{1,6}", one) for one in named):
        raise WrongUse(f"--after: {escape_line(typed)} is no list of turns; write 0,25,100")
    turns = sorted({round_up_to_even(int(turn)) for turn in named})
    if odd := [turn for turn in named if int(turn) % 2]:
        print_remarks(
            f"note: --after {', '.join(odd)}: a turn of the person is sent with its reply, so "
            "one more"
        )
    return turns


async def _play_chat_depths(
    wanted: Run, protocols: Sequence[tuple[Protocol, Files]], store: Store, yes: bool
) -> Report | None:
    """Play and judge each of *protocols* (a character after different numbers of turns of an
    earlier chat), with progress on stderr. The forecast of all is printed before, and how it ended
    after. Returns one report of all.

    If the costs are high the user is asked first, unless *yes* or a budget is given. None if the
    answer is no.
    """
    display = ProgressDisplay(make_remarks_console())
    answered = calling.has_cost_answer(yes, wanted)
    lines: list[str] = []

    def print_and_approve_previews(previews: Sequence[Preview]) -> bool:
        nonlocal answered
        (first, *others), takes = previews, describe_summed_forecasts(previews)
        if lines:
            print_remarks(f"after the first conversations: still {takes}")
        else:
            print_remarks(*describe_preview(first, "" if others else takes))
            print_remarks(
                *(
                    f"{other.session.protocol.name} · {describe_forecast(other.forecast)}"
                    for other in others
                )
            )
            print_remarks(
                *(
                    [f"in all {takes}"]
                    if others and any(preview.forecast.calls for preview in previews)
                    else ()
                )
            )
        lines.append(takes)
        whole = sum((preview.forecast for preview in previews), Forecast())
        if not calling.confirm_high_cost(whole, answered):
            return False
        answered = answered or calling.is_costly(whole)  # nobody is asked twice
        return True

    report = await play_protocols(wanted, protocols, store, print_and_approve_previews, display)
    if report is None:
        return None
    calling.say_run_end(report, store, display.format_progress(report, over=True))
    return report


def _list_show_and_view_commands(
    depths: Sequence[Depth], protocols: Sequence[Protocol]
) -> list[str]:
    """Return two lines with the commands that show one conversation of a character and all of them.
    It is the first conversation in which a red line was crossed or the character gave in; if there
    is none, the last one of the first model. [] if nothing was played.
    """
    lines: list[str] = []
    for depth, protocol in zip(depths, protocols, strict=True):
        for label, mine in depth.stems.items():
            shown = [*mine.crossings, *(item.loss for item in mine.pushed_items if item.loss)]
            if lines and not shown:
                continue
            scenario = shown[0].scenario if shown else protocol.scenarios[-1].id
            words = shlex.join(
                ["aib", "show", escape_line(label), scenario, "--protocol", protocol.name]
            )
            lines = [
                f"read a conversation: {words}",
                f"read them all: aib view --protocol {protocol.name}",
            ]
            if shown:
                return lines
    return lines


@persona.command(epilog="Example: aib persona compare mira.yaml --versions")
@click.argument(
    "sheets", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="SHEET..."
)
@click.option(
    "--model",
    "-m",
    "models",
    type=FILLED,
    multiple=True,
    metavar="MODEL",
    help="Only this one. May be repeated.",
)
@click.option(
    "--judge",
    "-j",
    type=FILLED,
    metavar="MODEL",
    help="By this judge.  [default: who judged the most of it]",
)
@click.option(
    "--versions", is_flag=True, help="Also every earlier version of a SHEET in the store."
)
@legend_option
@store_option
@json_option
def compare(
    sheets: tuple[Path, ...],
    models: tuple[str, ...],
    judge: str | None,
    versions: bool,
    legend: bool,
    store: str,
    as_json: bool,
) -> None:
    """Show side by side what was played: models, sheets, or versions of a sheet. Asks no model.

    One column for each model and SHEET, one row for each item.
    """
    answer = read_persona_sides(store, sheets, models, judge, versions)
    for note in answer.notes:
        print_remarks(escape_line(f"note: {note}"))
    if as_json:
        click.echo(answer.json())
    else:
        print_blocks(answer.view(), legend=legend)
