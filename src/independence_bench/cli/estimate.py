"""`aib estimate-cost`: what a run would take, before anything is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import replace

import click

from independence_bench.analysis.leaderboard import boards
from independence_bench.api.orders import RunOrder, run_options
from independence_bench.cli.calling import permissions, price_option
from independence_bench.cli.options import Number, out, say, store_option
from independence_bench.cli.run import plan_options
from independence_bench.engine.preview import Estimate, Preview, preview_of
from independence_bench.engine.session import Limits, RunOptions, resolved
from independence_bench.errors import WrongUse
from independence_bench.escape import label_text
from independence_bench.report.board_view import exam_line
from independence_bench.report.encode import json_text, picked
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
from independence_bench.report.table import Block, Cells, Column, Group, Name, Note, Prose, Strong, Table, columns_of
from independence_bench.report.table import Text as Cell
from independence_bench.report.terminal import printed
from independence_bench.store.database import Store, open_store


@click.command(name="estimate-cost")
@plan_options
@price_option
@click.option("--resolve", is_flag=True, help="Also say which differences this many runs can detect.")
@click.option(
    "--width",
    type=Number(0, 100, min_open=True),
    metavar="POINTS",
    help="Also say how many runs give an interval of this width (implies --resolve).",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, for programs.")
@store_option
def command(
    order: RunOrder,
    price: tuple[float, float] | None,
    resolve: bool,
    width: float | None,
    as_json: bool,
    store: str,
) -> None:
    """Estimate the calls, tokens and dollars of `aib run`. Only the list of prices is requested, without a key
    where none is set.

    MODEL and the options are those of `aib run`; without a model, the active subjects of models.yaml, and without
    that file those of the shipped list. Stored replies cost nothing more. The length of replies is estimated from
    stored ones of the same subject, else of the same model, else of other models; with an empty store, from the
    protocol's typical model. The cost of eight of ten published subjects lies between `from` and `to`.
    """
    order = replace(order, every=order.every or not order.named)
    options = run_options(order, permissions(), Limits(price=price))
    resolving = resolve or width is not None
    if resolving and options.experiments:
        raise WrongUse("an index needs all experiments, and --resolve and --width need an index: leave --exp out")
    with open_store(store) as opened:
        preview, found = asyncio.run(_foresee(options, opened, resolving, width))
    for remark in preview.remarks:
        say(f"note: {label_text(remark)}")
    if as_json:
        more = {} if found is None else {"resolve": resolution_values(found)}
        click.echo(json_text({**_values(preview), **more}))
    else:
        printed(out(), _view(preview), *([] if found is None else [resolution_view(options.protocol, found)]))


async def _foresee(
    options: RunOptions, store: Store, resolving: bool, width: float | None
) -> tuple[Preview, Resolution | None]:
    """The forecast of the plan; and which differences it and other numbers of runs can detect, with their prices."""
    async with resolved(options, store, asking=False) as (plan, session):
        preview = await preview_of(plan, session)
        if not resolving:
            return preview, None
        same = [one for one in boards(store, plan.protocol) if set(one.configurations) == set(plan.configurations)]
        judge = (plan.judge.hash,) if plan.judge else ()
        board = max(same, key=lambda one: (one.judge_hashes == judge, len(one.ranked)), default=None)
        expected = expectation(plan.protocol, plan.configurations, board)
        center = expected_index(board, {subject.hash for subject in plan.subjects})
        shown, needed = runs_to_price(expected, plan.runs, width, center)
        costs = {
            runs: (await preview_of(replace(plan, runs=runs), session)).forecast
            for runs in {*shown, *([] if needed is None else [needed])}
        }
        return preview, resolution(expected, costs, len(plan.subjects), plan.runs, center, width)


def _values(preview: Preview) -> Mapping[str, object]:
    whole = sum(preview.estimates, Estimate())
    subjects = [
        picked(one, "label candidate judge dollars=whole.dollars low high") | {"from": _basis(one)}
        for one in preview.estimates
    ]
    return {
        **picked(preview, "protocol=plan.protocol.name runs=plan.runs judge=plan.judge.label judge_exam=exam"),
        "subjects": subjects,
        **picked(whole, "candidates=candidate judging=judge low high"),
        **picked(preview, "dollars=forecast.dollars spent_before=spent_before.total"),
    }


def _basis(one: Estimate) -> str:
    """Whose stored replies the estimate is based on."""
    if not one.whole.calls:
        return "nothing left"
    if one.usual.own:
        return "its own"
    return plural(one.usual.subjects, "other") if one.usual.subjects else "assumed"


def _view(preview: Preview) -> Iterator[Block]:
    plan, estimates = preview.plan, preview.estimates
    where = " + ".join(str(configuration) for configuration in plan.configurations)
    judge = plan.judge.label if plan.judge else "none"
    runs = plural(plan.runs, "run")
    yield Note(("\n", Name(plan.protocol.name), f" · {runs} · {where} · judge ", Name(judge)), style="")
    if exam := exam_line(preview.exam):
        yield Note(Prose(exam))
    yield Note("")
    rows: list[Cells | Group] = [_cells(Name(one.label), one, _basis(one)) for one in estimates]
    if len(estimates) > 1:
        rows += [Group(), [Strong(cell) for cell in _cells("total", sum(estimates, Estimate()), "")]]
    titles = ("subject", "calls", "tokens", "candidate", "judge", "from", "to")
    yield Table([*columns_of(*titles), Column("based on", words=True)], rows)
    yield Note(
        "What is stored already is not counted. candidate, judge: dollars at list prices without discounts for cached "
        "tokens. based on: the stored replies whose length is assumed. from, to: both together, if replies are as "
        "short as those of the shortest tenth of published subjects, or as long as those of the longest; where the "
        "subject's own replies are stored, the range of a subject's runs."
    )
    if preview.forecast.at_most:
        yield Note(
            "calls: at most. A subject that takes no option is asked nothing more, and conversations in which the same "
            "was said are judged once."
        )
    dollars, spent = preview.forecast.dollars, preview.spent_before
    whole = "not known, a price is missing (?)" if dollars is None else _dollars(dollars)
    so_far = f"; the store has cost {money(spent.total)} so far" if spent.attempts else ""
    yield Note(f"Total: {whole}{so_far}.", style="")


def _cells(label: Cell, one: Estimate, basis: str) -> list[Cell]:
    tokens = one.whole.prompt_tokens + one.whole.completion_tokens
    dollars = map(_dollars, (one.candidate.dollars, one.judge.dollars, one.low, one.high))
    return [label, f"{one.whole.calls:,}", _short(tokens), *dollars, basis]


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
