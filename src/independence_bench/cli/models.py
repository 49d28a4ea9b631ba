"""`aib models`: what an endpoint offers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

import click
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from independence_bench.cli.options import err, models_file_option, out, read_roster
from independence_bench.cli.trust import permissions, trust_option
from independence_bench.errors import EndpointUnusable, SubjectError
from independence_bench.escape import label_text
from independence_bench.models.client import Client, read_key
from independence_bench.models.listing import ModelInfo
from independence_bench.models.spec import Endpoint
from independence_bench.report.format import plural
from independence_bench.report.terminal import printed

MILLION = 1_000_000
MOST_ASKED = 3  # models whose providers are looked up: a question each

Providers = Mapping[str, Mapping[str, str]]  # model -> slug -> name


@click.command(name="models")
@click.argument("word", required=False)
@click.option("--endpoint", "name", default="openrouter", show_default=True, metavar="NAME", help="Whose models.")
@models_file_option
@trust_option
@click.option("--local-url", metavar="URL", help="The server behind `local`.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def command(word: str | None, name: str, models_file: Path | None, local_url: str | None, as_json: bool) -> None:
    """List the models of an endpoint: prices, and whether they reason, call tools and answer by a schema.

    WORD keeps those whose id contains it. Where few are left, it also says who serves them (OpenRouter): the slug is
    what --provider and models.yaml take.
    """
    roster = read_roster(models_file, local_url)
    if local_url and name == "openrouter":
        name = "local"
    endpoint = roster.endpoint(name)
    if name == "embedded":
        raise SubjectError("the embedded endpoint has one model; write `aib run embedded`")
    if not endpoint.url:
        raise SubjectError(f"the endpoint {name} has no address; say --local-url http://localhost:8080/v1")
    offered, providers = asyncio.run(_ask(endpoint, _key(endpoint), (word or "").lower()))
    if as_json:
        click.echo(json.dumps([_values(info, providers.get(info.id)) for info in offered], indent=2))
    elif offered:
        printed(out(), _view(offered, providers))
    else:
        err().print(f"{name} lists no model{f' with {word} in its id' if word else ''}", soft_wrap=True)


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
        "reasoning": _can(info, "reasoning"),
        "tools": _can(info, "tools"),
        "structured_outputs": _can(info, "structured_outputs"),
        "temperature": _can(info, "temperature"),
    }
    return told if providers is None else told | {"providers": dict(providers)}


def _can(info: ModelInfo, parameter: str) -> bool | None:
    return None if info.parameters is None else parameter in info.parameters


def _view(offered: list[ModelInfo], providers: Providers) -> RenderableType:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("model", overflow="fold", ratio=1)
    for name in ("$/M in", "$/M out"):
        table.add_column(name, justify="right")
    for name in ("reason", "tools", "schema", "temp"):
        table.add_column(name)
    for info in offered:
        can = [_can(info, parameter) for parameter in ("reasoning", "tools", "structured_outputs", "temperature")]
        table.add_row(
            label_text(info.id),
            _price(info.prompt_price),
            _price(info.completion_price),
            *("–" if one is None else "yes" if one else "no" for one in can),
        )
    served = [Text(f"{label_text(model)} is served by " + _served(by)) for model, by in providers.items() if by]
    foot = Text(
        f"{plural(len(offered), 'model')}. Dollars a million tokens, prompt and reply; what each says it supports: "
        "reasoning, tools (tool_role needs them), answers by a JSON schema (judges), temperature. –: it does not say.",
        style="dim",
    )
    return Group(Text(), table, *served, foot)


def _served(by: Mapping[str, str]) -> str:
    return ", ".join(f"{label_text(slug)} ({label_text(name)})" for slug, name in by.items())


def _price(dollars: float | None) -> str:
    return "–" if dollars is None else f"{dollars * MILLION:,.2f}"
