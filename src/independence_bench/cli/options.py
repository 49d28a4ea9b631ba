"""Options that several commands share, and functions that read their values."""

from __future__ import annotations

import math
import os
import select
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.text import Text

from independence_bench.api.named import ALLOWED_FILE, Permissions
from independence_bench.cli import invocation
from independence_bench.engine.named import MODELS_FILE
from independence_bench.errors import WrongUse, handle_signals
from independence_bench.escape import escape_text
from independence_bench.lookup import split_list
from independence_bench.models.local.files import find_data_folder
from independence_bench.models.response import replace_unstorable_characters
from independence_bench.models.trust import DATA, STORE, EnvFile
from independence_bench.report.commands import add_store_option
from independence_bench.report.table import Block, RowFilter, choose_long_table_rows
from independence_bench.report.terminal import UNBOUNDED, print_views
from independence_bench.store.database import find_default_store

A = TypeVar("A")
F = TypeVar("F", bound=Callable[..., object])
Command = Callable[..., None]
MILLION = 1_000_000
LONGEST_COMMAND = 2000  # characters of a command line that are kept


def combine_options(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return one decorator that adds all of *options* to a command, in the order in which --help
    lists them.
    """

    def apply_options(command: F) -> F:
        """Add the combined options to *command* and return it."""
        for option in reversed(options):
            command = option(command)
        return command

    return apply_options


# heading of `--help` -> options, as parameters are called; what is in none of them stands under the
# last one
OPTION_GROUPS = {
    "Models": "listed all models models_file trust local_url local_model temperature "
    "max_tokens reasoning_effort "
    "provider",
    "What is played and judged": "protocol protocol_name exp variants modes judge "
    "no_judge again weights",
    "How many runs": "runs",
    "Money and speed": "budget price parallel parallel_tasks yes",
    "Several machines": "shard job on",
    "Other options": "",
}


HELP_ALL = "--help-all"


class GroupedCommand(click.Command):
    """A command with many options, which help lists in groups by subject. *usual*: the parameters
    that `--help` lists, if `--help-all` lists the others, too; "": `--help` lists all.
    """

    def __init__(self, *arguments: Any, usual: str = "", **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.usual = usual.split()
        if usual:
            self.params.append(
                click.Option(
                    [HELP_ALL],
                    is_flag=True,
                    is_eager=True,
                    expose_value=False,
                    callback=_print_whole_help,
                    help="Show all options, and exit.",
                )
            )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of a command into the text of `--help`, under the headings of their
        groups. Headings without an option are left out.
        """
        *_, last = OPTION_GROUPS
        groups: dict[str, list[tuple[str, str]]] = {heading: [] for heading in OPTION_GROUPS}
        for option in self.get_params(ctx):
            usual = option.name in self.usual or "--help" in option.opts
            if self.usual and HELP_ALL not in ctx.meta and not usual:
                continue
            if (record := option.get_help_record(ctx)) is not None and record[1]:
                heading = next(
                    (
                        title
                        for title, names in OPTION_GROUPS.items()
                        if option.name in names.split()
                    ),
                    last,
                )
                groups[heading].append(record)
        for heading, records in groups.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


def _print_whole_help(context: click.Context, _option: click.Parameter, typed: bool) -> None:
    """Print the help with all options, and end. A callback for click."""
    if typed and not context.resilient_parsing:
        context.meta[HELP_ALL] = True
        click.echo(context.get_help())
        context.exit()


class WithSynonyms(click.Option):
    """An option of a command that also has names that `--help` does not list: those of the original
    system.
    """

    def __init__(self, names: Sequence[str], synonyms: Sequence[str] = (), **settings: Any) -> None:
        super().__init__(names, **settings)
        self.synonyms = list(synonyms)

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Register an option with click's parser under all its names, those that `--help` does not
        list included.
        """
        listed = self.opts
        self.opts = [*listed, *self.synonyms]
        try:
            super().add_to_parser(parser, ctx)
        finally:
            self.opts = listed


class Number(click.FloatRange):
    """The type of an option whose value is a number in a range. NaN, which passes every comparison,
    and infinity are refused.
    """

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the option's *value* as a number. Raises click's usage error if it is not a finite
        number in the option's range.
        """
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


EMPTY = "it is empty; leave the option out, or say what is meant"


class Filled(click.types.StringParamType):
    """The type of an option whose value is a text that is not empty. An unset variable of the shell
    must not be taken for the default.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the option's *value* without spaces around it. Raises click's usage error if it is
        empty.
        """
        if not (text := str(value).strip()).strip(" ,"):
            self.fail(EMPTY, param, ctx)
        return text


FILLED = Filled()


def split_option(
    _context: click.Context, _option: click.Parameter, typed: str | tuple[str, ...] | None
) -> tuple[str, ...]:
    """Return the parts of the value of an option or argument, split at its commas; () if it was not
    typed. A callback for click. Raises click.BadParameter if a typed text has no part.
    """
    if isinstance(typed, str) and not split_list(typed):
        raise click.BadParameter(EMPTY)
    return tuple(split_list(typed if isinstance(typed, str) else ",".join(typed or ())))


def _make_permissions() -> Permissions:
    """Return the permissions of the command line that is being carried out: those given earlier, in
    the folder of user data, and those of --trust. For the rest the user is asked.
    """
    now = invocation.find_current_command_line()
    env_file = now.env_file or EnvFile()
    # a .env that chooses the folder could bring its own file of permissions
    outside = {name: value for name, value in os.environ.items() if name not in env_file.held}
    return Permissions(
        find_data_folder(outside) / ALLOWED_FILE, now.trusted, env_file, ask_confirmation
    )


def make_permissions_with_env_folder() -> Permissions:
    """Return the permissions to send API keys of the command that is being carried out. If `.env`
    names a folder for user data, that folder is used from now on, once the user has allowed it.

    Raises WrongUse if nobody can be asked, NotAllowed if the answer is no.
    """
    allowed = _make_permissions()
    allowed.apply_env_store_or_folder(DATA)
    return allowed


def _find_allowed_store_default() -> str:
    """Return the address of the default store, the value of --store if it is not typed. If `.env`
    names it, the user has to allow that: raises WrongUse if nobody can be asked, NotAllowed if the
    answer is no.
    """
    _make_permissions().apply_env_store_or_folder(STORE)
    return find_default_store()


def _record_trusted(
    _context: click.Context, _option: click.Parameter, typed: tuple[str, ...]
) -> None:
    """Keep the values of --trust in the state of the command line. A callback for click."""
    invocation.find_current_command_line().trusted = typed


def _note_store(_context: click.Context, _option: click.Parameter, typed: str) -> str:
    """Return the address of the store, and have printed commands name it. A callback for click."""
    invocation.note_store(typed, find_default_store())
    return typed


trust_option = click.option(
    "--trust",
    multiple=True,
    metavar="NAME=PLACE",
    expose_value=False,
    is_eager=True,  # it answers what the default of --store may ask
    callback=_record_trusted,
    help="Allow the key in NAME to be sent to PLACE, or .env to set NAME so, from now on, e.g. "
    "LAB_KEY=http://gpu-box:8000.",
)
# with --trust, for the store may be one that .env names
store_option = combine_options(
    click.option(
        "--store",
        default=_find_allowed_store_default,
        metavar="PATH",
        callback=_note_store,
        help="The store: a file or a database URL.  [default: $AIB_STORE, else aib.db]",
    ),
    trust_option,
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print everything as JSON, for programs."
)
stored_protocol_option = click.option(
    "--protocol",
    "protocol_name",
    metavar="NAME|PATH|HASH",
    help="A protocol, its folder, or the hash of a stored one.  [default: the one played last]",
)
configuration_options = combine_options(
    click.option(
        "--variants",
        metavar="LIST",
        callback=split_option,
        help="System prompts, e.g. neutral.  [default: the protocol's]",
    ),
    click.option(
        "--modes",
        "--delivery",
        "modes",
        metavar="LIST",
        callback=split_option,
        help="Delivery modes: user_role, tool_role.  [default: the protocol's]",
    ),
)
experiments_option = click.option(
    "-e",
    "--exp",
    "exp",
    metavar="LIST",
    callback=split_option,
    help="Experiments, e.g. identity,stability.  [default: all]",
)
stored_models_option = click.option(
    "-m",
    "--models",
    "models",
    metavar="A,B",
    callback=split_option,
    help="Only these models: labels, or parts of one that fit a single model.  [default: all]",
)
runs_option = click.option(
    "-R",
    "--runs",
    cls=WithSynonyms,
    synonyms=("--target-runs",),
    type=click.IntRange(1, 1000),
    help="Number of runs, stored ones included.  [default: the protocol's]",
)
models_file_option = click.option(
    "--models-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"Models and endpoints of your own.  [default: {MODELS_FILE}, where it exists]",
)


legend_option = click.option(
    "--explain",
    "legend",
    is_flag=True,
    help="Explain every column, one a line.",
)


shown_options = combine_options(
    click.option(
        "--top",
        type=click.IntRange(min=1),
        metavar="N",
        help="Only the first N rows of each long table.",
    ),
    click.option(
        "--find",
        metavar="WORD",
        help="Only rows with this in them, such as a part of a label.",
    ),
)


weights_option = click.option(
    "--weights",
    type=FILLED,
    metavar="NAME",
    help="A weighting that the protocol defines.  [default: the protocol's weights]",
)


def format_recorded_command_line() -> str:
    """Return the command line that is being carried out as text, as the store records it: without
    --store, whose address may hold a password, without invalid UTF-8, and cut to 2,000 characters.
    """
    words = iter(invocation.find_current_command_line().typed)
    kept = []
    for word in words:
        if word == "--store":
            next(words, None)
        elif not word.startswith("--store="):
            kept.append(word)
    return replace_unstorable_characters(shlex.join(["aib", *kept])[:LONGEST_COMMAND])


def ask_confirmation(question: str, flag: str = "--yes") -> bool:
    """Ask the user *question*, until the answer is yes or no, and return whether it is yes; an
    empty line means no. Raises WrongUse, which names the option *flag* that says yes, if there is
    no terminal, and click.Abort at Ctrl-C.
    """
    while True:
        answer = ask_question(f"{question} [y/N]", flag, question).strip().lower()
        if answer in ("y", "yes"):
            return True
        if answer in ("", "n", "no"):
            return False


def ask_question(prompt: str, flag: str, error_question: str = "") -> str:
    """Print *prompt* on stderr and return the line that the user types.

    Raises WrongUse if there is no terminal to ask at; its message has *error_question* (or the
    prompt) and *flag*, the option that answers. Raises click.Abort at Ctrl-C and at the end of the
    input.
    """
    if not sys.stdin.isatty():
        raise WrongUse(f"{error_question or prompt} There is no terminal to answer at; use {flag}")
    try:
        # asyncio's own would have Ctrl-C wait for the answer
        with handle_signals(signal.default_int_handler, "SIGINT"):
            click.echo(f"{prompt}: ", nl=False, err=True)
            _wait_for_typing()
            # not input(): GNU readline loses a Ctrl-C that comes while it sets up the terminal
            answer = sys.stdin.readline()
            if not answer:
                raise click.Abort
            return answer
    except KeyboardInterrupt:
        raise click.Abort from None


def _wait_for_typing() -> None:
    """Wait until the user types a line or a signal such as Ctrl-C arrives. Without this, a signal
    just before the line is read would be noticed only after it. Returns at once if stdin is no
    file, and outside the main thread.
    """
    try:
        typed_at = sys.stdin.fileno()
    except (OSError, ValueError):  # no real terminal
        return
    if threading.current_thread() is not threading.main_thread():  # which alone hears of signals
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        select.select([typed_at, reader], [], [])
    finally:
        signal.set_wakeup_fd(before)
        os.close(reader)
        os.close(writer)


class Plain(Console):
    """A terminal console that prints text as it is: without markup, and with control characters
    made visible.
    """

    def __init__(self, *, stderr: bool = False, width: int | None = None) -> None:
        super().__init__(stderr=stderr, width=width, highlight=False, emoji=False, markup=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return *text* as printable text with its control characters made visible, since paths,
        labels and names may come from strangers.
        """
        return super().render_str(escape_text(text), **options)


def make_results_console(piped_width: int = UNBOUNDED) -> Console:
    """Return a console that prints results on stdout. It is as wide as the terminal or as the
    variable COLUMNS says; in a pipe without COLUMNS, *piped_width* columns.
    """
    console = Plain()
    return (
        console
        if console.is_terminal or os.environ.get("COLUMNS", "").isdigit()
        else Plain(width=piped_width)
    )


def print_blocks(
    *views: Iterable[Block], legend: bool | None = None, legend_command: str = ""
) -> None:
    """Print *views*, each a sequence of printable blocks, on stdout. *legend*: True explains every
    column, False only briefly; None, for commands without the option --explain, explains all.
    *legend_command*: the command line that shows the leaderboard again.
    """
    print_views(
        make_results_console(),
        *map(iter, views),
        legend=legend,
        command=legend_command,
        store_option=invocation.find_current_command_line().store_option,
    )


def print_chosen_rows(*views: Iterable[Block], shown: RowFilter, legend: bool) -> None:
    """Print *views* on stdout with only the rows that *shown* chooses: the first so many (--top)
    and those that contain a word (--find). Raises WrongUse if no row contains the word.
    """
    chosen = [choose_long_table_rows(view, shown) for view in views]
    if shown.find is not None and not any(view.rows for view in chosen):
        raise WrongUse(f"--find: no row has {shown.find} in it")
    print_blocks(*(view.blocks for view in chosen), legend=legend)


def make_remarks_console() -> Console:
    """Return a console that prints progress and remarks on stderr."""
    return Plain(stderr=True)


def print_remarks(*lines: str) -> None:
    """Print each of *lines* on stderr, as one line however long it is."""
    option = invocation.find_current_command_line().store_option
    for line in lines:
        make_remarks_console().print(add_store_option(line, option), soft_wrap=True)
