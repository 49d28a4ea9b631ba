"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import math
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.text import Text

from independence_bench.errors import ProtocolError, StoreError, WrongUse
from independence_bench.escape import harmless
from independence_bench.lookup import fit, instead, near
from independence_bench.models.addresses import check_url
from independence_bench.models.spec import ChatModel, Roster, moved_by, read_models
from independence_bench.protocol.definition import DELIVERIES, Configuration, Protocol
from independence_bench.protocol.loader import Files, load_with_files, parse_stored
from independence_bench.store import registry
from independence_bench.store.database import Store, default_store, open_store
from independence_bench.store.registry import Decision, unique_labels

A = TypeVar("A")
F = TypeVar("F", bound=Callable[..., object])
MODELS_FILE = "models.yaml"
MILLION = 1_000_000
LONGEST_COMMAND = 2000  # characters of a command line that are kept


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator, in the order in which --help lists them."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


class Number(click.FloatRange):
    """A number in a range. NaN is refused, which no comparison does."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """*value* as a number; click's usage error where it is none."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


store_option = click.option(
    "--store",
    default=default_store,
    metavar="PATH",
    help="Where everything is kept: a file, or a database URL.  [default: $AIB_STORE, else aib.db]",
)
stored_protocol_option = click.option(
    "--protocol",
    "protocol_name",
    metavar="NAME|PATH|HASH",
    help="A protocol, its folder, or the hash of a stored one.  [default: the one played last]",
)
configuration_options = together(
    click.option("--variants", metavar="LIST", help="System variants, e.g. neutral.  [default: the protocol's]"),
    click.option("--modes", metavar="LIST", help="Delivery modes: user_role, tool_role.  [default: the protocol's]"),
)
runs_option = click.option(
    "--runs", type=click.IntRange(1, 1000), help="Fill up to this many runs.  [default: the protocol's]"
)
models_file_option = click.option(
    "--models-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"Subjects and endpoints of your own.  [default: {MODELS_FILE}, where it exists]",
)
weights_option = click.option(
    "--weights", metavar="NAME", help="A weighting that the protocol names.  [default: the protocol's weights]"
)


def command_line() -> str:
    """The command line that is being carried out, for the ledger, without --store."""
    words = iter(click.get_current_context().meta.get("aib.typed", ()))
    kept = []
    for word in words:
        if word == "--store":
            next(words, None)
        elif not word.startswith("--store="):
            kept.append(word)
    return shlex.join(["aib", *kept])[:LONGEST_COMMAND]


def find_protocol(name: str | None, store: Store) -> tuple[Protocol, Files]:
    """The protocol of that name or path; else the stored one of that name or hash; for None the last one played.

    Raises ProtocolError where there is none of that name, WrongUse where nothing was played yet.
    """
    with store.reading() as connection:
        played = registry.stored_protocols(connection)
    if name is None:
        if not played:
            raise WrongUse(f"nothing is stored in {store.shown}; `aib run` plays and judges")
        _, _, files = played[0]
        return parse_stored(files, where=f"{store.shown}: {played[0][1]}"), files
    try:
        return load_with_files(name)
    except ProtocolError as error:
        for hash_, stored, files in played:
            if stored == name or (len(name) >= 8 and hash_.startswith(name)):
                return parse_stored(files, where=f"{store.shown}: {stored}"), files
        close = [] if os.path.exists(name) else near(name, dict.fromkeys(stored for _, stored, _ in played))
        if close:
            stored_too = f"{store.shown} has {' and '.join(close)}"
            raise ProtocolError(error.file, error.key, f"{error.problem}; {stored_too}") from None
        raise error from None


def stored_subjects(store: Store, protocol: Protocol | None, typed: Sequence[str]) -> list[ChatModel]:
    """The subjects that were named, of those that *protocol* was begun with (None: of all); all of them without a name.

    Raises WrongUse where a name fits none or several, or where there is no subject.
    """
    with store.reading() as connection:
        found = registry.stored_subjects(connection)
        if protocol is not None:
            begun = {subject for subject, *_ in registry.begun_runs(connection, protocol.name)}
            found = {hash_: subject for hash_, subject in found.items() if hash_ in begun}
    labels = unique_labels(found)
    if not labels:
        of = f" of {protocol.name}" if protocol else ""
        raise WrongUse(f"nothing{of} was played into {store.shown}; `aib run` does")
    return [found[one] for one in dict.fromkeys(fit(labels, name) for name in typed)] or list(found.values())


def experiments_of(protocol: Protocol, listed: str | None) -> tuple[str, ...]:
    """The experiments that were asked for; none for all of them. Raises WrongUse for an unknown one."""
    wanted = split(listed)
    known = [experiment.name for experiment in protocol.experiments]
    for name in wanted:
        if name not in known:
            raise WrongUse(f"--exp: {protocol.name} has no experiment {name}; {instead(name, known)}")
    return tuple(name for name in known if name in wanted)


def read_roster(models_file: Path | None, local_url: str | None = None) -> Roster:
    """Endpoints and subjects: those built in, and those of models.yaml; `OPENROUTER_BASE_URL` goes before both.

    *local_url*: where the endpoint `local` is.
    """
    listed = models_file is not None or Path(MODELS_FILE).is_file()
    roster = moved_by(os.environ, read_models(models_file or Path(MODELS_FILE)) if listed else Roster())
    return roster.moved("local", check_url(local_url)) if local_url else roster


@contextmanager
def open_results(store: str) -> Iterator[Store]:
    """The store at *store*, which is there; who models.yaml in the working folder excludes is off its boards."""
    with open_store(store, create=False) as opened:
        keep_exclusions(opened, read_roster(None))
        yield opened


def keep_exclusions(store: Store, roster: Roster) -> None:
    """Store which subjects models.yaml excludes, and remove exclusions that it had before and has no more.

    What `aib exclude` said stays. Where the store cannot be written, that is said and no more.
    """
    with store.reading() as connection:
        subjects, known = registry.stored_subjects(connection), registry.decided(connection)
    changes: dict[str, Decision | None] = {}
    for hash_, subject in subjects.items():
        listed = [spec for spec in roster.specs if spec.fits(subject)]
        reason = next((spec.exclude for spec in listed if spec.exclude), None)
        wanted = Decision("exclude", reason, MODELS_FILE) if reason else None
        before = known.get(hash_)
        if listed and wanted != before and (before is None or before.origin == MODELS_FILE):
            changes[hash_] = wanted
    if not changes:
        return
    try:
        with store.writing() as connection:
            for hash_, decision in changes.items():
                if decision is None:
                    registry.undo(connection, hash_)
                else:
                    registry.decide(connection, hash_, decision, time.time())
    except StoreError as error:
        err().print(f"models.yaml's `exclude` is not applied: {error}", soft_wrap=True)


def configurations(protocol: Protocol, variants: str | None, modes: str | None) -> tuple[Configuration, ...]:
    """The configurations that were asked for, each variant in each mode. Raises WrongUse for unknown ones."""
    if variants is None and modes is None:
        return protocol.configurations
    known = [name for name, _ in protocol.systems]
    wanted = split(variants) or list(dict.fromkeys(c.system for c in protocol.configurations))
    ways = split(modes) or list(dict.fromkeys(c.delivery for c in protocol.configurations))
    for name in wanted:
        if name not in known:
            raise WrongUse(f"--variants: {protocol.name} has no variant {name}; {instead(name, known)}")
    for way in ways:
        if way not in DELIVERIES:
            raise WrongUse(f"--modes: there is no mode {way}; {instead(way, DELIVERIES, 'there are')}")
        if way not in protocol.deliveries:
            raise WrongUse(f"--modes: {protocol.name} has no wording for {way}; its protocol.yaml needs `{way}:`")
    return tuple(Configuration(name, way) for name in wanted for way in DELIVERIES if way in ways)


def weighed(protocol: Protocol, weights: str | None) -> Protocol:
    """*protocol* with the weights of that name; None: with its own. Raises WrongUse where it names none such."""
    names = [one.name for one in protocol.weightings]
    if weights is not None and weights not in names:
        there = instead(weights, names) if names else "it has its own alone: leave --weights out"
        raise WrongUse(f"--weights: {protocol.name} has no weights called {weights}; {there}")
    return protocol.weighed(weights)


def split(listed: str | None) -> list[str]:
    """The parts of a list with commas, without empty ones and repetitions."""
    return list(dict.fromkeys(part.strip() for part in (listed or "").split(",") if part.strip()))


def confirmed(question: str, flag: str = "--yes") -> bool:
    """Ask whether to go on; *flag* says so on the command line.

    Raises WrongUse where there is no terminal to ask at, click.Abort at Ctrl-C.
    """
    if not sys.stdin.isatty():
        raise WrongUse(f"{question} Nobody can answer, for there is no terminal here; {flag} does")
    try:
        with handling(signal.default_int_handler, "SIGINT"):  # asyncio's own would have Ctrl-C wait for the answer
            while True:
                click.echo(f"{question} [y/N]: ", nl=False, err=True)
                # not input(): GNU readline loses a Ctrl-C that comes while it sets up the terminal
                answer = sys.stdin.readline()
                if not answer:
                    raise click.Abort
                if answer.strip().lower() in ("y", "yes"):
                    return True
                if answer.strip().lower() in ("", "n", "no"):
                    return False
    except KeyboardInterrupt:
        raise click.Abort from None


@contextmanager
def handling(handler: Callable[[int, FrameType | None], object], *names: str) -> Iterator[None]:
    """Have *handler* handle the signals of those names while a block runs; those that this system lacks are left out.

    Not the event loop's own handlers: those do not exist on Windows.
    """
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, handled in before.items():
            signal.signal(number, handled)


class Plain(Console):
    """A console that takes text as it is: no markup, and what a terminal would obey is shown instead."""

    def __init__(self, *, stderr: bool = False, width: int | None = None) -> None:
        super().__init__(stderr=stderr, width=width, highlight=False, emoji=False, markup=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """*text* made harmless: paths, labels and names come from outside."""
        return super().render_str(harmless(text), **options)


class Output(Plain):
    """A console whose reader may leave early (`| head`): nothing is wrong then."""

    def on_broken_pipe(self) -> None:
        """End quietly and well."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0)


def out() -> Console:
    """Where results go: stdout, 80 columns wide in a pipe."""
    console = Output()
    return console if console.is_terminal else Output(width=80)


def err() -> Console:
    """Where progress and remarks go: stderr."""
    return Plain(stderr=True)


def say(*lines: str) -> None:
    """Each of *lines* on stderr, however long, as one line."""
    for line in lines:
        err().print(line, soft_wrap=True)
