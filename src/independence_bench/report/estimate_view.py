"""What a run takes before it is begun, and which differences it can detect: values, text and JSON.
Sends no request.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from independence_bench.analysis.board import Board
from independence_bench.analysis.leaderboard import sittings_shift
from independence_bench.analysis.statistics.intervals import LEVEL
from independence_bench.analysis.statistics.planning import (
    MOST_RUNS,
    Expected,
    expect,
    runs_for_width,
    seen_apart,
    width_new_scenarios,
    width_rerun,
)
from independence_bench.analysis.uncertainty import INDEX, designs
from independence_bench.engine.preview import Estimate, Forecast, Preview
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.report.board_view import exam_line
from independence_bench.report.format import money, plural
from independence_bench.report.keys import picked
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
    columns_of,
)

# ---------------------------------------------------------------- calls, tokens, dollars


def estimate_values(preview: Preview) -> Mapping[str, object]:
    """What a run takes, for `json_text`."""
    whole = sum(preview.estimates, Estimate())
    subjects = [
        picked(estimate, "label candidate judge dollars=whole.dollars low high")
        | {"from": _basis(estimate)}
        for estimate in preview.estimates
    ]
    return {
        **picked(
            preview,
            "protocol=plan.protocol.name runs=plan.runs judge=plan.judge.label judge_exam=exam",
        ),
        "subjects": subjects,
        **picked(whole, "candidates=candidate judging=judge low high"),
        **picked(preview, "dollars=forecast.dollars spent_before=spent_before.total"),
    }


def _basis(estimate: Estimate) -> str:
    """Whose stored replies the estimate is based on."""
    if not estimate.whole.calls:
        return "nothing left"
    if estimate.usual.own:
        return "its own"
    if estimate.usual.subjects:
        return plural(estimate.usual.subjects, "other")
    return "published" if estimate.usual.published else "assumed"


def estimate_view(preview: Preview) -> Iterator[Block]:
    """A row for each subject: what is left to be asked of it, and what that costs."""
    plan, estimates = preview.plan, preview.estimates
    where = " + ".join(str(configuration) for configuration in plan.configurations)
    judge = plan.judge.label if plan.judge else "none"
    runs = plural(plan.runs, "run")
    yield Note(
        ("\n", Name(plan.protocol.name), f" · {runs} · {where} · judge ", Name(judge)), style=""
    )
    if exam := exam_line(preview.exam):
        yield Note(Prose(exam))
    yield Note("")
    rows: list[Cells | Group] = [
        _cells(Name(estimate.label), estimate, _basis(estimate)) for estimate in estimates
    ]
    if len(estimates) > 1:
        rows += [
            Group(),
            [Strong(cell) for cell in _cells("total", sum(estimates, Estimate()), "")],
        ]
    titles = ("subject", "calls", "tokens", "candidate", "judge", "from", "to")
    yield Table([*columns_of(*titles), Column("based on", words=True)], rows)
    at_most = (
        " calls: at most. A subject that takes no option is asked nothing more, and conversations in which the same "
        "was said are judged once."
    )
    yield Legend(
        "What is stored already is not counted. candidate, judge: dollars at list prices without discounts for cached "
        "tokens. based on: the stored replies whose length is assumed, or published ones of the model. from, to: both "
        "together, if replies are as short as those of the shortest tenth of published subjects, or as long as those "
        "of the longest; where the model's own are published or stored, as far as one's parts and runs "
        "differ." + at_most * preview.forecast.at_most,
        "What is stored already is not counted. from, to: for replies as short, or as long, as published subjects'."
        + " calls: at most." * preview.forecast.at_most,
    )
    dollars, spent = preview.forecast.dollars, preview.spent_before
    whole = "not known, a price is missing (?)" if dollars is None else _dollars(dollars)
    so_far = f"; the store has cost {money(spent.total)} so far" if spent.attempts else ""
    yield Note(f"Total: {whole}{so_far}.", style="")


def _cells(label: Text, estimate: Estimate, basis: str) -> list[Text]:
    tokens = estimate.whole.prompt_tokens + estimate.whole.completion_tokens
    dollars = map(
        _dollars, (estimate.candidate.dollars, estimate.judge.dollars, estimate.low, estimate.high)
    )
    return [label, f"{estimate.whole.calls:,}", _short(tokens), *dollars, basis]


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


# ---------------------------------------------------------------- what a number of runs can tell

MEANS = (50.0, 80.0, 95.0)  # indices: what can be told depends on where one stands
ASSUMED = 80.0  # the index that is expected where no subject has one
TABLE_OF = 10  # runs, and those that were asked for


@dataclass(frozen=True, slots=True)
class AtRuns:
    """What so many runs of each subject tell at each of `MEANS`, in points of the index; None:
    nothing can be said.
    """

    runs: int
    widths: tuple[float | None, ...]  # of the interval of the same test again, from end to end
    apart: tuple[float | None, ...]  # smallest difference that 80 of 100 repetitions would see
    calls: int  # that are left to make
    dollars: float | None  # None: a price is not known


@dataclass(frozen=True, slots=True)
class Center:
    """The index that is expected, and why."""

    index: float
    source: str


@dataclass(frozen=True, slots=True)
class ForWidth:
    """How many runs a wanted width takes at the expected index."""

    width: float
    index: float
    source: str  # of the index
    runs: int | None  # None: more than anybody plays
    calls: int | None
    dollars: float | None


@dataclass(frozen=True, slots=True)
class Resolution:
    """What is expected of a run before it is begun."""

    expected: Expected
    rows: tuple[AtRuns, ...]
    # widths at each of `MEANS`; of stems with the runs that were asked for
    new_scenarios: tuple[float | None, ...]
    subjects: int  # that are ordered
    asked: int  # runs
    # the smallest difference seen at index 80 with these runs if all of them are ranked
    in_ranking: float | None
    for_width: ForWidth | None = None


def expectation(
    protocol: Protocol,
    configurations: Sequence[Configuration],
    board: Board | None,
    subjects: Iterable[ChatModel],
) -> Expected:
    """How the index of *subjects* is expected to vary: as that of those on *board* does; None: none
    is stored.

    With what a board allows for one sitting, unless none of them can be shifted by it.
    """
    uncertainty = None if board is None else board.uncertainty
    measured = (
        uncertainty.measures[INDEX].measured
        if uncertainty is not None and uncertainty.measures
        else None
    )
    design, shifted = (
        designs(protocol.units, configurations)[INDEX],
        any(map(sittings_shift, subjects)),
    )
    return expect(design, measured, shifted)


def expected_index(board: Board | None, subjects: Collection[str]) -> Center:
    """The mean index of these *subjects* (hashes) on *board*, else of all on it, else `ASSUMED`."""
    ranked = () if board is None else board.ranked
    own = [row for row in ranked if row.subject.hash in subjects]
    indices = [row.score.index for row in own or ranked if row.score.index is not None]
    if not indices:
        return Center(ASSUMED, "assumed: no subject is stored")
    whose = "the mean of these subjects so far" if own else "the mean of the stored subjects"
    return Center(sum(indices) / len(indices), whose)


def runs_to_price(
    expected: Expected, asked: int, width: float | None, center: Center
) -> tuple[list[int], int | None]:
    """Numbers of runs that a table shows, and the one that *width* takes (None: not asked for, or
    never).
    """
    shown = sorted({*range(1, TABLE_OF + 1), asked})
    return shown, None if width is None else runs_for_width(
        expected, center.index / 100, width / 100
    )


def resolution(
    expected: Expected,
    costs: Mapping[int, Forecast],
    subjects: int,
    asked: int,
    center: Center,
    width: float | None,
) -> Resolution:
    """What can be told; *costs*: numbers of runs -> what is left to pay for so many of each of
    *subjects*.
    """
    shown, needed = runs_to_price(expected, asked, width, center)
    rows = []
    for runs in shown:
        widths = tuple(_in_points(width_rerun(expected, mean / 100, runs)) for mean in MEANS)
        apart = tuple(_in_points(seen_apart(expected, mean / 100, runs)) for mean in MEANS)
        rows.append(AtRuns(runs, widths, apart, costs[runs].calls, costs[runs].dollars))
    pairs = subjects * (subjects - 1) // 2
    of_pairs = 1 - (1 - LEVEL) / max(pairs, 1)
    seen = seen_apart(expected, 0.8, asked, of_pairs) if pairs > 1 else None
    ranking = _in_points(seen)
    cost = Forecast(dollars=None) if needed is None else costs[needed]
    calls = None if needed is None else cost.calls
    wanted = (
        None
        if width is None
        else ForWidth(width, center.index, center.source, needed, calls, cost.dollars)
    )
    new_scenarios = tuple(
        _in_points(width_new_scenarios(expected, mean / 100, asked)) for mean in MEANS
    )
    return Resolution(expected, tuple(rows), new_scenarios, subjects, asked, ranking, wanted)


def resolution_values(power: Resolution) -> Mapping[str, object]:
    """For `json_text`: points of the index, dollars; null where nothing can be said."""
    values = picked(
        power,
        "from_subjects=expected.subjects dispersion_of_a_run=expected.rerun "
        "dispersion_over_scenarios=expected.new_scenarios variance_between_sittings=expected.between_sittings "
        "width_of_new_scenarios=new_scenarios apart_in_a_ranking=in_ranking for_width",
    )
    runs = [
        picked(row, "runs width=widths apart calls dollars")
        | {"half_width": [None if width is None else width / 2 for width in row.widths]}
        for row in power.rows
    ]
    return values | {"at_index": MEANS, "runs": runs}


def resolution_view(protocol: Protocol, power: Resolution) -> Iterator[Block]:
    """The table and what it means, 80 columns."""
    basis = (
        f"measured on {plural(power.expected.subjects, 'stored subject')} with two runs or more"
        if power.expected.subjects
        else "assumed, cautiously: no stored subject has two runs"
    ) + ("; played in one sitting" if power.expected.between_sittings else "")
    heading = (
        f": what these runs can tell at an index of 50, 80 and 95 (variation of scores: {basis})\n"
    )
    yield Note(("\n", Prose(protocol.name), heading), "")
    titles = [title for mean in MEANS for title in (f"at {mean:g}:\nwidth", "\napart")]
    rows: list[Cells] = []
    for row in power.rows:
        numbers = [
            _number(value) for pair in zip(row.widths, row.apart, strict=True) for value in pair
        ]
        cells = (
            str(row.runs),
            *numbers,
            f"{row.calls:,}",
            "?" if row.dollars is None else money(row.dollars),
        )
        rows.append([Strong(cell) for cell in cells] if row.runs == power.asked else cells)
    yield Table(
        columns_of("runs", *titles, "\ncalls", "\ndollars", words=0),
        rows,
        "width: of the 95% rerun interval, from end to end. apart: the smallest true difference of two subjects that "
        "is detected in 80 of 100 repetitions. Both have what a board allows for one sitting, unless all of the models "
        "are known by a hash of their weights. calls, dollars: still to be paid for this number of runs of each "
        "subject.",
    )
    if power.new_scenarios[0] is None:
        sentence = "not known, because one dimension is marked in a single scenario."
    else:
        widths = ", ".join(
            f"{_number(width)} at {mean:g}"
            for width, mean in zip(power.new_scenarios, MEANS, strict=True)
        )
        sentence = f"about {widths}, with any number of runs; only more scenarios narrow it."
        if protocol.has_stems:
            runs = plural(power.asked, "run")
            sentence = f"with {runs} about {widths}; more runs narrow it little, more stems do."
    yield Note(f"Width of the new scenarios interval: {sentence}", "")
    if power.in_ranking is not None:
        ranking = f"In a ranking of {plural(power.subjects, 'subject')}, with {plural(power.asked, 'run')}"
        yield Note(f"{ranking}, at 80: {_number(power.in_ranking)} apart.", "")
    if power.for_width is not None:
        yield Note(_for_width(power.for_width, bool(power.expected.between_sittings)), "bold")


def _for_width(wanted: ForWidth, shifted: bool) -> str:
    in_one = " in one sitting; further sittings (`aib run --sittings`) narrow it" if shifted else ""
    where = f"An interval of {wanted.width:g} at an index of {wanted.index:.1f} ({wanted.source})"
    if wanted.runs is None:
        return f"{where} takes more than {MOST_RUNS:,} runs{in_one}."
    cost = "cost not known" if wanted.dollars is None else money(wanted.dollars)
    return f"{where} takes {plural(wanted.runs, 'run')}: {plural(wanted.calls or 0, 'more call')}, {cost}."


def _in_points(share: float | None) -> float | None:
    """A part of the scale, [0, 1], in points of the index."""
    return None if share is None else 100 * share


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"
