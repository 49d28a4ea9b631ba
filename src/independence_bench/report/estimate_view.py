"""The estimated cost of a run, and the difference that it can detect: text and JSON.

Sends no request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from independence_bench.analysis.detectable import Detectable
from independence_bench.engine.preview import Estimate, Forecast, Preview
from independence_bench.escape import escape_line, escape_name
from independence_bench.figures import format_count, format_dollars
from independence_bench.report.table import (
    Block,
    Cells,
    Column,
    Group,
    Legend,
    Name,
    Note,
    Prose,
    Strong,
    Table,
    Text,
    make_columns,
)

# ---------------------------------------------------------------- said before anything is sent


def describe_preview(preview: Preview, cost_sentence: str = "") -> list[str]:
    """Return lines that describe what a run of `aib` is about to do, what it will cost, what the
    store has cost so far, and remarks.

    *cost_sentence*: a sentence that replaces the one on the cost.
    """
    session, forecast, before = preview.session, preview.forecast, preview.spent_before
    lines = []
    if session.runs:
        who = (
            session.subjects[0].label
            if len(session.subjects) == 1
            else f"{len(session.subjects)} models"
        )
        where = (
            " · " + " + ".join(map(str, session.configurations))
            if len(session.protocol.systems) > 1  # else there is nothing to choose
            else ""
        )
        only = f" · only {', '.join(session.experiments)}" if session.experiments else ""
        part = f" · part {session.shard.number} of {session.shard.of}" if session.shard else ""
        lines.append(
            f"{session.protocol.name} · {escape_name(who)} · {format_count(session.runs, 'run')}"
            f"{where}{only}{part}"
        )
    if forecast.calls:
        lines.append(cost_sentence or describe_forecast(forecast))
    if before.attempts:
        lost = f", {before.lost} of them lost in flight" if before.lost else ""
        lines.append(
            f"the store has cost {format_dollars(before.total)} so far in "
            f"{format_count(before.attempts, 'call')}{lost}"
        )
    if forecast.calls and preview.exam and preview.exam.line:
        lines.append(
            f"judge {escape_name(session.judge.label)} · {preview.exam.line}"
            if session.judge
            else preview.exam.line
        )
    return [*lines, *(f"note: {escape_line(remark)}" for remark in preview.remarks)]


def describe_summed_forecasts(previews: Sequence[Preview]) -> str:
    """Describe in one line the calls, tokens and dollars of all *previews* (planned runs) together,
    with the range of the cost and what caching could save.
    """
    whole = sum((one for preview in previews for one in preview.estimates), Estimate())
    forecast = sum((preview.forecast for preview in previews), Forecast(at_most=len(previews) > 1))
    line = describe_forecast(forecast)
    if forecast.dollars and whole.low is not None and whole.high is not None:
        line += f" ({format_dollars(whole.low)} to {format_dollars(whole.high)})"
    if forecast.prompt_tokens and any(preview.session.protocol.earlier for preview in previews):
        share = forecast.repeated_tokens / forecast.prompt_tokens
        line += (
            f"; {share:.0%} of what is sent repeats an earlier request, which is cheaper where "
            "it is cached"
        )
        if (
            forecast.cached_dollars
            and forecast.dollars
            and forecast.cached_dollars < forecast.dollars
        ):
            line += f": {format_dollars(forecast.cached_dollars)} at best"
    return line


def describe_forecast(forecast: Forecast) -> str:
    """Describe the size and cost of planned calls: "12 calls, about 3,400 tokens, about $0.01",
    after "at most" if fewer calls may do.
    """
    dollars = forecast.dollars
    cost = (
        "price not known"
        if dollars is None
        else "free"
        if dollars == 0
        else f"about {format_dollars(dollars)}"
    )
    tokens = forecast.prompt_tokens + forecast.completion_tokens
    most = "at most " if forecast.at_most else ""
    return f"{most}{format_count(forecast.calls, 'call')}, about {tokens:,} tokens, {cost}"


# ---------------------------------------------------------------- calls, tokens, dollars


def build_estimate_values(preview: Preview, detectable: Detectable | None) -> Mapping[str, object]:
    """Return the estimated cost of a planned run, in dollars, for each model and in sum, and the
    difference that the run can detect, as values for JSON.
    """
    session, whole = preview.session, sum(preview.estimates, Estimate())
    subjects = [
        {
            "label": estimate.label,
            "candidate": estimate.candidate,
            "judge": estimate.judge,
            "dollars": estimate.model_and_judge_forecast.dollars,
            "low": estimate.low,
            "high": estimate.high,
            "from": _describe_basis(estimate),
        }
        for estimate in preview.estimates
    ]
    return {
        "protocol": session.protocol.name,
        "runs": session.runs,
        "judge": session.judge.label if session.judge else None,
        "judge_exam": preview.exam,
        "subjects": subjects,
        "candidates": whole.candidate,
        "judging": whole.judge,
        "low": whole.low,
        "high": whole.high,
        "dollars": preview.forecast.dollars,
        "spent_before": preview.spent_before.total,
        "detectable": detectable,
    }


def _describe_basis(estimate: Estimate) -> str:
    """Describe in a few words which replies a model's cost estimate is based on: "its own", "3
    other models", "published" or "assumed"; "nothing left" if no call is planned.
    """
    if not estimate.model_and_judge_forecast.calls:
        return "nothing left"
    if estimate.usual.own:
        return "its own"
    if estimate.usual.subjects:
        return format_count(estimate.usual.subjects, "other model")
    return "published" if estimate.usual.published else "assumed"


def render_estimate(preview: Preview) -> Iterator[Block]:
    """Yield the output blocks of a cost estimate: a table line for each model with the calls that
    remain and their cost in dollars, and the total.
    """
    session, estimates = preview.session, preview.estimates
    where = " + ".join(str(configuration) for configuration in session.configurations)
    judge = session.judge.label if session.judge else "none"
    runs = format_count(session.runs, "run")
    dollars, spent = preview.forecast.dollars, preview.spent_before
    whole = (
        "not known, a price is missing (?)"
        if dollars is None
        else _format_estimate_dollars(dollars)
    )
    so_far = f"; the store has cost {format_dollars(spent.total)} so far" if spent.attempts else ""
    yield Note(f"Total: {whole}{so_far}.", style="")
    yield Note(
        (Name(session.protocol.name), f" · {runs} · {where} · judge ", Name(judge)), style=""
    )
    if exam := (preview.exam.line if preview.exam else None):
        yield Note(Prose(exam))
    yield Note("")
    rows: list[Cells | Group] = [
        _make_estimate_row(Name(estimate.label), estimate, _describe_basis(estimate))
        for estimate in estimates
    ]
    if len(estimates) > 1:
        rows += [
            Group(),
            [Strong(cell) for cell in _make_estimate_row("total", sum(estimates, Estimate()), "")],
        ]
    titles = ("model", "calls", "tokens", "replies", "judge", "from", "to")
    yield Table([*make_columns(*titles), Column("based on", words=True)], rows)
    at_most = " calls: at most, because conversations in which the same was said are judged once."
    yield Legend(
        "What is stored already is not counted. replies, judge: dollars at list prices without "
        "discounts for cached tokens. based on: the stored replies whose length is assumed, or "
        "published ones of the model. from, to: both together, if replies are as short as those "
        "of the shortest tenth of published models, or as long as those of the longest; where "
        "the model's own are published or stored, as far as one's parts and runs differ."
        + at_most
        * preview.forecast.at_most,
        "What is stored already is not counted. from, to: for replies as short, or as long, as "
        "published models'." + " calls: at most." * preview.forecast.at_most,
    )


def _make_estimate_row(label: Text, estimate: Estimate, basis: str) -> list[Text]:
    """Return the cells of one row of the cost estimate's table: *label*, calls, tokens, dollars of
    the model and of the judge, lowest and highest total, *basis*.
    """
    tokens = (
        estimate.model_and_judge_forecast.prompt_tokens
        + estimate.model_and_judge_forecast.completion_tokens
    )
    dollars = map(
        _format_estimate_dollars,
        (estimate.candidate.dollars, estimate.judge.dollars, estimate.low, estimate.high),
    )
    return [
        label,
        f"{estimate.model_and_judge_forecast.calls:,}",
        _shorten_token_count(tokens),
        *dollars,
        basis,
    ]


def _shorten_token_count(tokens: int) -> str:
    """Format a number of tokens in short: 62,550 as 63k."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if tokens >= 10 * size:
            return f"{tokens / size:,.0f}{letter}"
        if tokens >= size:
            return f"{tokens / size:.1f}{letter}"
    return str(tokens)


def _format_estimate_dollars(value: float | None) -> str:
    """Format an estimated cost in dollars; a question mark for None."""
    if value is None:
        return "?"
    return f"${value:,.2f}" if value >= 1 else format_dollars(value)


def render_detectable_difference(found: Detectable) -> Iterator[Block]:
    """Yield a note that says which difference between two models their planned runs will detect."""
    if found.points is None:
        sentence = "A single run does not show which differences are chance: play two or more."
    else:
        runs = f"{format_count(found.runs, 'run')} of each model"
        sentence = (
            f"{runs} will show a true difference of {found.points:.1f} points between two of them "
            f"in 80 of 100 repetitions, around an index of {found.index:.1f}; more runs show "
            "smaller ones."
        )
    yield Note(sentence, style="")
