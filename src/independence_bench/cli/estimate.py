"""`aib estimate-cost`: what a run would take, before anything is sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import click
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from independence_bench.analysis.leaderboard import boards
from independence_bench.cli.calling import price_option
from independence_bench.cli.options import Number, err, out, split, store_option
from independence_bench.cli.run import plan_options, read_options
from independence_bench.engine.cost import Estimate, Forecast, added
from independence_bench.engine.session import Limits, Preview, RunOptions, preview_of, resolved
from independence_bench.errors import WrongUse
from independence_bench.escape import label_text
from independence_bench.report.format import money, plural
from independence_bench.report.power import (
    Resolution,
    expectation,
    expected_index,
    resolution,
    resolution_values,
    resolution_view,
    runs_to_price,
)
from independence_bench.report.terminal import printed
from independence_bench.store.database import Store, open_store


@click.command(name="estimate-cost")
@plan_options
@price_option
@click.option("--resolve", is_flag=True, help="Say also what so many runs will be able to tell apart.")
@click.option(
    "--width",
    type=Number(0, 100, min_open=True),
    metavar="POINTS",
    help="Say also how many runs an interval of this width takes; --resolve with it.",
)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@store_option
def command(
    price: tuple[float, float] | None,
    resolve: bool,
    width: float | None,
    as_json: bool,
    store: str,
    **typed: Any,
) -> None:
    """Say what `aib run` would take: calls, tokens, dollars. Nothing is sent but a question for prices.

    MODEL and the options are those of `aib run`; without a model, the active subjects of models.yaml, and without
    that file those of the list that ships. What is stored already costs nothing more. How long replies will
    be is taken from those that the store holds of the same subject, else of the same model, else of other models;
    an empty store assumes what the protocol says that a typical model needs. Eight of ten published subjects lie
    between `from` and `to`.
    """
    typed["every"] |= not (typed["models"] or split(typed["listed"]) or typed["local_model"])
    options = replace(read_options(**typed), limits=Limits(price=price))
    resolving = resolve or width is not None
    if resolving and options.experiments:
        raise WrongUse("a part of the experiments has no index, so nothing can be said of it: leave --exp out")
    with open_store(store) as opened:
        preview, found = asyncio.run(_foresee(options, opened, resolving, width))
    for remark in preview.remarks:
        err().print(f"note: {label_text(remark)}", soft_wrap=True)
    if as_json:
        more = {} if found is None else {"resolve": resolution_values(found)}
        click.echo(json.dumps({**_values(preview), **more}, indent=2))
    else:
        printed(out(), _view(preview), *([] if found is None else [resolution_view(options.protocol, found)]))


async def _foresee(
    options: RunOptions, store: Store, resolving: bool, width: float | None
) -> tuple[Preview, Resolution | None]:
    """What the plan takes; and what it and other numbers of runs will be able to tell apart, each with its price."""
    async with resolved(options) as (plan, clients):
        preview = await preview_of(plan, store, clients, options.limits.budget)
        if not resolving:
            return preview, None
        same = [one for one in boards(store, plan.protocol) if set(one.configurations) == set(plan.configurations)]
        label = plan.judge.label if plan.judge else None
        board = max(same, key=lambda one: (one.judge == label, len(one.ranked)), default=None)
        expected = expectation(plan.protocol, plan.configurations, board)
        center = expected_index(board, {subject.hash for subject in plan.subjects})
        shown, needed = runs_to_price(expected, plan.runs, width, center)
        costs = {
            runs: (await preview_of(replace(plan, runs=runs), store, clients, None)).forecast
            for runs in {*shown, *([] if needed is None else [needed])}
        }
        return preview, resolution(expected, costs, len(plan.subjects), plan.runs, center, width)


def _values(preview: Preview) -> Mapping[str, object]:
    low, high = _range(preview.estimates)
    return {
        "protocol": preview.plan.protocol.name,
        "runs": preview.plan.runs,
        "judge": preview.plan.judge.label if preview.plan.judge else None,
        "subjects": [_values_of(one) for one in preview.estimates],
        "candidates": asdict(sum((one.candidate for one in preview.estimates), Forecast())),
        "judging": asdict(sum((one.judge for one in preview.estimates), Forecast())),
        "dollars": preview.forecast.dollars,
        "low": low,
        "high": high,
        "spent_before": preview.spent_before.total,
    }


def _values_of(one: Estimate) -> Mapping[str, object]:
    return {
        "label": one.subject.label,
        "candidate": asdict(one.candidate),
        "judge": asdict(one.judge),
        "dollars": one.whole.dollars,
        "low": one.low,
        "high": one.high,
        "from": _basis(one),
    }


def _range(estimates: tuple[Estimate, ...]) -> tuple[float | None, float | None]:
    low: float | None = 0.0
    high: float | None = 0.0
    for one in estimates:
        low, high = added(low, one.low), added(high, one.high)
    return low, high


def _basis(one: Estimate) -> str:
    """What the length of replies is taken from, in a word."""
    if not one.whole.calls:
        return "nothing left"
    if one.usual.own:
        return "its own"
    return plural(one.usual.subjects, "other") if one.usual.subjects else "assumed"


def _view(preview: Preview) -> RenderableType:
    plan, estimates = preview.plan, preview.estimates
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("subject", overflow="fold", ratio=1)
    for name in ("calls", "tokens", "candidate", "judge", "from", "to"):
        table.add_column(name, justify="right")
    table.add_column("as")
    for one in estimates:
        table.add_row(label_text(one.subject.label), *_cells(one.candidate, one.judge, one.low, one.high), _basis(one))
    if len(estimates) > 1:
        candidates = sum((one.candidate for one in estimates), Forecast())
        judges = sum((one.judge for one in estimates), Forecast())
        table.add_section()
        table.add_row("all", *_cells(candidates, judges, *_range(estimates)), "", style="bold")
    where = " + ".join(str(configuration) for configuration in plan.configurations)
    judge = label_text(plan.judge.label) if plan.judge else "none"
    head = Text(f"\n{label_text(plan.protocol.name)} · {plural(plan.runs, 'run')} · {where} · judge {judge}\n")
    foot = Text(
        "What is stored already is taken off. candidate, judge: dollars at list prices, every token in full (caches "
        "may make it cheaper). as: whose stored replies these are expected to be like. from, to: both together, if "
        "replies are as short or as long as those of the shortest and the longest tenth of published subjects; where "
        "the subject's own are stored, of one subject's runs.",
        style="dim",
    )
    return Group(head, table, foot, Text(f"In all {_whole(preview)}{_so_far(preview)}."))


def _whole(preview: Preview) -> str:
    dollars = preview.forecast.dollars
    return "an amount that is not known: a price is missing (?)" if dollars is None else _dollars(dollars)


def _so_far(preview: Preview) -> str:
    spent = preview.spent_before
    return f"; the store has cost {money(spent.total)} so far" if spent.attempts else ""


def _cells(candidate: Forecast, judge: Forecast, low: float | None, high: float | None) -> tuple[str, ...]:
    whole = candidate + judge
    tokens = whole.prompt_tokens + whole.completion_tokens
    return (f"{whole.calls:,}", _short(tokens), *map(_dollars, (candidate.dollars, judge.dollars, low, high)))


def _short(tokens: int) -> str:
    """62,550 as 63k."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if tokens >= 10 * size:
            return f"{tokens / size:,.0f}{letter}"
        if tokens >= size:
            return f"{tokens / size:.1f}{letter}"
    return str(tokens)


def _dollars(value: float | None) -> str:
    if value is None:
        return "?"
    return f"${value:,.2f}" if value >= 1 else money(value)
