"""`aib`: the list of commands, loaded when they are used, and the one place where errors are
printed.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import gc
import importlib
import io
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, cast

import click

from independence_bench import __version__
from independence_bench.cli.invocation import Invocation, note_store
from independence_bench.errors import INTERRUPTED, BenchError, NoStore, interrupt_on_signals
from independence_bench.escape import KNOWN, escape_line
from independence_bench.report.commands import add_store_option

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Read when numpy is loaded. Matrices as small as ours gain nothing by two threads that wait for
# each other: the same time, and a seventh more of the processors'.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


class Entry(NamedTuple):
    """A command of `aib` as it is known before its module is imported: the module's name and the
    help.
    """

    module: str  # of `cli`
    help: str
    reads_store: bool = False  # and can do nothing without one
    store_argument: bool = False  # its argument is a store, too
    other_name: str | None = None  # that it had in an earlier version
    example: str = ""  # arguments of an example


# here, so that `aib --help` imports nothing, and that there is no store is said before anything is
# imported
GROUPS = {
    "Start here": {
        "demo": Entry("simulate", "see two models and a ranking, in seconds"),
        "run": Entry("run", "play, judge and rank a model", example="qwen/qwen3-8b"),
        "leaderboard": Entry("rankings", "see who leads, and how sure that is", reads_store=True),
        "compare": Entry(
            "compare", "see which of two models is ahead", reads_store=True, example="A B"
        ),
        "view": Entry("viewer", "read every conversation in the browser", reads_store=True),
        "persona": Entry(
            "persona", "test a character of your own", example="run SHEET --model MODEL"
        ),
    },
    "Before and after a run": {
        "estimate-cost": Entry("run", "Estimate the calls, tokens and dollars of a run."),
        "show": Entry("show", "Print one conversation with its scores.", reads_store=True),
        "rerun": Entry(
            "run", "Play more runs of stored models, and retry what was invalid.", reads_store=True
        ),
        "costs": Entry("stored", "Show what each command spent, by model.", reads_store=True),
        "gate": Entry(
            "gate", "Fail if a new build is worse than a baseline (exit code).", reads_store=True
        ),
    },
    "Judges": {
        "judge": Entry(
            "judging", "Judge stored conversations, with another judge or again.", reads_store=True
        ),
        "judges": Entry(
            "judges", "Compare judges: agreement, leniency, judgements to check.", reads_store=True
        ),
        "exam": Entry("judging", "Validate a judge on conversations with known scores."),
        "label": Entry("label", "Score conversations yourself, blind, as one more judge."),
    },
    "Check": {
        "scenarios": Entry("rankings", "Show how hard each scenario is.", reads_store=True),
        "audit": Entry(
            "audit",
            "Recompute every number and list problems in the data.",
            reads_store=True,
            store_argument=True,
        ),
        "extract-names": Entry(
            "judging", "List the names and genders that models chose.", reads_store=True
        ),
        "exclude": Entry(
            "stored", "Exclude a model from the rankings, with a reason.", reads_store=True
        ),
        "clear": Entry(
            "stored",
            "Delete stored replies or judgements; their cost stays on record.",
            reads_store=True,
            other_name="clear-cache",
        ),
    },
    "Share": {
        "generate-report": Entry(
            "report", "Write LEADERBOARD.md, JSON and plots.", reads_store=True
        ),
        "site": Entry("viewer", "Write what `aib view` shows as a static site.", reads_store=True),
        "export": Entry("dataset", "Write everything stored as a data set.", reads_store=True),
        "import": Entry("dataset", "Read published results, or an export, into the store."),
    },
    "Set up": {
        "models": Entry("endpoints", "List an endpoint's models; install a small one."),
        "protocols": Entry("protocol", "List the protocols, or print what one of them asks."),
        "check": Entry("protocol", "Check a protocol of your own."),
        "simulate": Entry("simulate", "Serve simulated models of known behaviour, for free."),
    },
}
START = "Start here"  # the group whose commands are shown with an example
# options that the original has by these names, and what to type here instead
_RUNS = "runs are counted: --runs 3 plays runs 1 to 3, without those that are stored"
_FIRST = (
    "name the models: `aib leaderboard --top 10` lists them, `aib rerun A B --runs 5` plays them"
)
_FOLDER = "--out DIR names the folder that LEADERBOARD.md is written to"
NAMED_OTHERWISE = {
    ("run", "--run-number"): _RUNS,
    ("run", "--local-timeout"): "a local server may take its time: leave the option out",
    **dict.fromkeys([("rerun", "--run-number"), ("rerun", "-r")], _RUNS),
    **dict.fromkeys([("rerun", name) for name in ("--top-n", "-n", "--top")], _FIRST),
    **dict.fromkeys(
        [("rerun", name) for name in ("--temperature", "-t", "--reasoning-effort")],
        "each model is called as before: `aib run MODEL` plays it with other settings",
    ),
    **dict.fromkeys([("leaderboard", "--top-n"), ("leaderboard", "-n")], "say --top N"),
    **dict.fromkeys([("generate-report", "-o"), ("generate-report", "--output")], _FOLDER),
    **dict.fromkeys(
        [("extract-names", "-w"), ("extract-names", "--workers")],
        "--parallel-tasks N (-pt) calls several at once",
    ),
    ("clear", "--scores-only"): "`aib clear judgements` deletes scores and keeps responses",
}
COMMANDS = {name: entry for group in GROUPS.values() for name, entry in group.items()}
OTHER_NAMES = {entry.other_name: name for name, entry in COMMANDS.items() if entry.other_name}
WITHOUT = {"-h", "--help", "--workflow"}  # what needs no store, whatever the command
PLAIN = "aib.plain"  # how characters are written that a terminal's encoding lacks
NEAREST: dict[str, str] = dict(
    zip("–—−─├┤│●·×≈†…→“”‘’′ρ²Φ±≤≥", "----|||o|x~+.>\"\"'''r2F+<>", strict=True)
)


class LazyGroup(click.Group):
    """The group of all `aib` commands, whose modules are imported only when a command is called."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Return click's context for one command line of `aib`; its object keeps the words that
        were typed.
        """
        typed = tuple(args)
        return super().make_context(info_name, args, parent, obj=Invocation(typed), **extra)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all `aib` commands, in the order of `aib --help`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the `aib` command of that name, or of that earlier name; None if there
        is none.
        """
        cmd_name = OTHER_NAMES.get(cmd_name, cmd_name)
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"independence_bench.cli.{COMMANDS[cmd_name].module}")
        return next(
            value
            for value in vars(module).values()
            if isinstance(value, click.Command) and value.name == cmd_name
        )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name, the `aib` command and the remaining words of a command line. Raises
        NoStore, before the command is imported, if the command reads a store that does not exist.
        """
        # resilient: a shell completes what is typed
        without = ctx.resilient_parsing or WITHOUT & set(args)
        entry = COMMANDS.get(args[0]) if args else None
        if entry is not None and entry.reads_store and not without:
            store = _guess_store_address(args[1:], entry.store_argument)
            if store and ":" not in store and not os.path.lexists(store):
                note_store(store, os.environ.get("AIB_STORE") or "aib.db")
                raise NoStore(store)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Carry out an `aib` command and return its result. If the user stopped it, its exit code
        is that of an interruption in place of that of a failure.
        """
        try:
            return super().invoke(ctx)
        except SystemExit as end:
            if end.code == 1 and ctx.obj.stopped:
                raise SystemExit(INTERRUPTED) from None
            raise
        except BenchError as error:
            error.args = (add_store_option(str(error), ctx.obj.store_option),)
            if ctx.obj.stopped:  # for want of what was left undone
                error.exit_code = INTERRUPTED
            raise

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the names of `aib` commands and options that begin with *incomplete*, for the
        shell to offer, without importing the commands.
        """
        item = importlib.import_module("click.shell_completion").CompletionItem
        named = [
            item(name, help=entry.help)
            for name, entry in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, and then the options, into the text of `aib --help`."""
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of all `aib` commands with their help, by group, into the text of `aib
        --help`, without importing the commands.
        """
        widest = max(map(len, COMMANDS))
        for title, group in GROUPS.items():
            rows = [
                (f"aib {name} {entry.example}".rstrip(), entry.help)
                if title == START
                else (name.ljust(widest), entry.help)
                for name, entry in group.items()
            ]
            with formatter.section(title):
                formatter.write_dl(rows, col_max=36)


def _guess_store_address(typed: list[str], has_store_argument: bool) -> str | None:
    """Return the address of the store that a command line means: the value of --store among the
    words *typed*, else the command's own argument (if *has_store_argument*), else the variable
    AIB_STORE, else aib.db.

    None if it is not known yet: if a .env that is not read yet, or an argument that cannot be told
    from an option's value, may name it. The words are read by hand, since click would have to
    import the command to know its options.
    """
    for place, word in enumerate(typed):
        if word.startswith("--store="):
            return word.partition("=")[2]
        if word == "--store":
            return typed[place + 1] if place + 1 < len(typed) else None
    if has_store_argument and any(not word.startswith("-") for word in typed):
        return typed[0] if not typed[0].startswith("-") else None
    return os.environ.get("AIB_STORE") or (None if os.path.exists(".env") else "aib.db")


def _find_help_width() -> int:
    """Return the number of columns for help texts: those of the terminal, at most 80. Click would
    import a zip library to find it.
    """
    try:
        return min(os.get_terminal_size().columns, 80)
    except OSError:
        return 80


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "terminal_width": _find_help_width()},
)
@click.version_option(__version__, prog_name="aib")
@click.pass_context
def cli(context: click.Context) -> None:
    """Measure whether a chat model stays who it is when a person puts pressure on it."""
    if os.path.exists(".env"):  # keys and AIB_STORE, before any option's default is looked up
        load_env_file = importlib.import_module("independence_bench.models.trust").load_env_file
        found = context.obj.env_file = load_env_file(Path(".env"))
        KNOWN.learn_proxy_passwords(found.held)
        if found.ignored:
            names = ", ".join(sorted(found.ignored))
            sys.stderr.write(
                f".env: {names}: not taken from a file; set it in the environment if it is yours\n"
            )


class OutputLost(BenchError):
    """Raised if the output of a command cannot be written, such as to a full disk."""


class _Redacted:
    """An output stream that removes every secret that the process knows from what is written, also
    from tracebacks.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write *text* to the stream with all known secrets removed, and return its length in
        characters. Raises OutputLost if the stream cannot be written, but not if its reader has
        gone.
        """
        try:
            self._stream.write(KNOWN.redact_text(text))
        except OSError as error:
            self._raise_or_discard_output(error)
        return len(text)

    def flush(self) -> None:
        """Flush the stream. Raises OutputLost if it cannot be written, but not if its reader has
        gone.
        """
        try:
            self._stream.flush()
        except OSError as error:
            self._raise_or_discard_output(error)

    def _raise_or_discard_output(self, error: OSError) -> None:
        """Raise OutputLost because the output cannot be written. If only the reader has gone (`|
        head`, a closed terminal), discard all later output in place of that.

        The command then goes on, since its exit code may be a verdict.
        """
        if error.errno in (errno.EIO, errno.EPIPE):
            _discard_output(self._stream)
            return
        raise OutputLost(
            f"the output cannot be written: {error.strerror}; what was stored is safe"
        ) from None

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each of *lines* to the stream with all known secrets removed."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Remarks(_Redacted):
    """The stream stderr without secrets. If it cannot be written, such as after the terminal was
    closed, its later output is discarded and the command goes on.
    """

    def _raise_or_discard_output(self, error: OSError) -> None:
        """Discard all later output to stderr, whatever the write error is, so that the command goes
        on.
        """
        _discard_output(self._stream)


def _discard_output(stream: TextIO) -> None:
    """Redirect everything that is still to be written to *stream* to the null device. Python would
    otherwise try to write it again at the end.
    """
    with contextlib.suppress(OSError):  # a stream without a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _print_failure(message: str) -> None:
    """Print *message* without secrets as one line on stderr, after "aib: "."""
    sys.stderr.write(
        f"aib: {escape_line(KNOWN.redact_secrets_and_logins(' '.join(message.split())))}\n"
    )


def _describe_misuse(error: click.ClickException) -> str:
    """Return a message that says what is wrong with a command line, which command or option may
    have been meant, and which help to read.
    """
    suggest_names = importlib.import_module("independence_bench.lookup").suggest_names
    typed = " ".join(word for word in sys.argv[1:2] if word in COMMANDS)
    path = (
        error.ctx.command_path
        if isinstance(error, click.UsageError) and error.ctx
        else f"aib {typed}".rstrip()
    )
    match error:
        case click.exceptions.NoSuchCommand() if error.ctx and isinstance(
            error.ctx.command, click.Group
        ):
            known = error.ctx.command.list_commands(error.ctx)
            said = (
                f"there is no command {error.command_name}; "
                f"{suggest_names(error.command_name, known, 'there are')}"
            )
        case click.NoSuchOption() if advice := NAMED_OTHERWISE.get(
            (error.ctx.command.name or "" if error.ctx else "", error.option_name)
        ):
            said = f"there is no option {error.option_name}; {advice}"
        case click.NoSuchOption() if error.possibilities:
            said = (
                f"there is no option {error.option_name}; did you mean "
                f"{' or '.join(error.possibilities)}?"
            )
        case click.NoSuchOption():
            said = f"there is no option {error.option_name}"
        case _:
            message = error.format_message().rstrip(".")
            for clicks, ours in (
                ("a valid integer range", "a whole number"),
                ("a valid float range", "a number"),
            ):
                message = message.replace(clicks, ours)
            said = message[:1].lower() + message[1:]
    return f"{said} (see `{path} --help`)"


def _replace_unencodable_characters(error: UnicodeError) -> tuple[str, int]:
    """Return replacements for the characters that the terminal's encoding lacks, one for one (such
    as - for –, else ?), and the position after them: a handler of Python's encoding errors.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(
        NEAREST.get(character, "?") for character in error.object[error.start : error.end]
    ), error.end


def main() -> None:
    """Run the `aib` command that was typed and end the process. A known failure is printed as one
    line on stderr, with exit code 1; the code is 2 for wrong use, 130 after an interruption.
    """
    codecs.register_error(PLAIN, _replace_unencodable_characters)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=PLAIN)
    KNOWN.learn_proxy_passwords(os.environ)
    # a stream that was closed before (`>&-`) is None
    stdout, stderr = (
        stream or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        for stream in (sys.stdout, sys.stderr)
    )
    sys.stdout, sys.stderr = cast(TextIO, _Redacted(stdout)), cast(TextIO, _Remarks(stderr))
    try:
        with interrupt_on_signals():
            code = cli.main(standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        code = error.exit_code
    except (click.exceptions.Abort, KeyboardInterrupt):
        _print_failure("stopped")
        code = INTERRUPTED
    except click.ClickException as error:
        _print_failure(_describe_misuse(error))
        code = error.exit_code
    except OutputLost as error:
        _discard_output(stdout)
        _print_failure(str(error))
        code = error.exit_code
    except BenchError as error:
        _print_failure(str(error))
        code = error.exit_code
    # the process's end gives all back: looking for garbage in it once more is an eighth of `aib
    # --help`
    gc.freeze()
    sys.exit(code if isinstance(code, int) else 0)
