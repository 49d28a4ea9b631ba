"""The differences between settings of one model, and between configurations; and prices. Computes
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from independence_bench.analysis.board import Board, IndexPrice
from independence_bench.analysis.compare_settings import (
    ConfigurationComparison,
    SettingComparison,
    SubjectEffect,
    Variant,
)
from independence_bench.figures import (
    format_cost,
    format_count,
    format_difference,
    format_difference_interval,
    format_number,
)
from independence_bench.report.board_view import MEANINGS, NEW, SAME
from independence_bench.report.table import (
    Block,
    Column,
    Name,
    Note,
    Prose,
    Strong,
    Table,
    Text,
    Title,
    join_texts,
)


def render_settings(comparisons: Sequence[SettingComparison], by: str) -> Iterator[Block]:
    """Yield a table of models that were played under several values of one setting, with their
    indices and differences. *by*: the setting, "provider" or "reasoning effort".
    """
    yield make_report_table(
        ("Model", by.capitalize(), *DIFFERENCE, "Served by"),
        [
            (
                *(Name(variant.label), Prose(variant.setting), *_make_difference_cells(variant)),
                format_providers(tuple(variant.served.items())) or "–",
            )
            for comparison in comparisons
            for variant in comparison.variants
        ],
        f"Models that differ only in their {by}. Difference: points relative to the first line "
        "of the same model that has an index. Served by: the providers that the replies name, "
        f"with their numbers of replies. {_describe_certainty(comparisons)}",
        word_titles=f"Model {by.capitalize()} Served by",
    )


def format_providers(served: Sequence[tuple[str, int]]) -> Text:
    """Return the names of providers, each with the number of replies that it served, joined by
    commas; () for none.
    """
    return join_texts([(Prose(name), f" ({count:,})") for name, count in served])


DIFFERENCE = (
    "Index",
    "Difference",
    "95% CI (same scenarios)",
    "95% CI (new scenarios)",
    "Minimum detectable difference",
    "Runs",
)


def _make_difference_cells(variant: Variant) -> list[Text]:
    """Return the table cells of a model under one setting: its index, the difference to the first
    setting (bold if significant), two intervals, the minimum detectable differences, and the number
    of runs.
    """
    rerun = new_scenarios = seen = "–"
    if apart := variant.apart:
        rerun, new_scenarios = (
            format_difference_interval(apart.uncertainty.rerun),
            format_difference_interval(apart.uncertainty.new_scenarios),
        )
        seen = (
            f"{format_number(apart.seen_rerun, 1)} / {format_number(apart.seen_new_scenarios, 1)}"
        )
    shown = format_difference(variant.difference)
    difference = Strong(shown) if variant.stands else shown
    return [
        format_number(variant.index, 1),
        difference,
        rerun,
        new_scenarios,
        seen,
        str(variant.runs),
    ]


def _describe_certainty(comparisons: Sequence[SettingComparison]) -> str:
    """Return sentences that explain the intervals of a table of differences between settings, and
    how many of the differences are significant.
    """
    stands = [
        variant.stands
        for comparison in comparisons
        for variant in comparison.variants
        if variant.stands is not None
    ]
    sentence = ""
    if any(stands):
        sentence = (
            f" Bold: significant among {format_count(len(stands), 'difference')} (Holm); the "
            "chance "
            "that any of these is not a real difference is at most 5%."
        )
    elif stands:
        sentence = (
            f" Of {format_count(len(stands), 'difference')} none is significant (Holm): the "
            "largest "
            "may be chance."
        )
    return (
        f"CI: 95% interval of the difference, each by itself; {SAME}: "
        f"{MEANINGS[SAME]}; {NEW}: {MEANINGS[NEW]}. Minimum detectable difference: the "
        "smallest true difference that such a comparison detects in 80 of 100 repetitions, by "
        f"each of the two. A dash: not ranked, or the ranking has no such intervals.{sentence}"
    )


def render_prices(subjects: Sequence[IndexPrice], board: Board) -> Iterator[Block]:
    """Yield a table of what one run of each ranked model costs in dollars, for replies and for
    judging, next to its index; only a note if no model is ranked.
    """
    if not subjects:
        yield Note("No model is ranked.")
        return
    yield Table(
        [
            *(
                Column("Model", words=True, labels=True),
                Column("Index"),
                Column("Replies", spare=2),
            ),
            *(
                Column("Judge", spare=1),
                Column("Dollars a run", short="$ a run"),
                Column("Points a dollar"),
            ),
        ],
        [
            (
                *(Name(p.label), format_number(p.index, 1)),
                *(
                    format_cost(dollars)
                    for dollars in (p.replies_per_run, p.judging_per_run, p.dollars_per_run)
                ),
                "–" if p.points_per_dollar is None else f"{p.points_per_dollar:,.0f}",
            )
            for p in subjects
        ],
        (
            "Replies: the cost of the replies of one run; judge: what ",
            format_judge(board),
            " cost to score them; both include rejected attempts. Dollars a run: both; points a "
            "dollar: the index over that. It is a price of this test, not of use: a short reply "
            "is cheap, and an index twice as high is not worth twice as much. A dash: a price is "
            "not known, or it is free.",
        ),
        gap=0,
        brief="points a dollar: the index over the dollars of one run of this test, model and "
        "judge; a dash: free, "
        "or a price is not known.",
    )


# ---------------------------------------------------------------- cells


def make_report_table(
    titles: Sequence[str], rows: Sequence[Sequence[Text]], legend: Text, word_titles: str = ""
) -> Table:
    """Return a table for the Markdown report alone. Columns whose titles are in *word_titles* hold
    words, the others numbers; if *word_titles* is "", only the first column holds words.
    """
    columns = [
        Column(title, words=title in word_titles if word_titles else not place)
        for place, title in enumerate(titles)
    ]
    return Table(columns, rows, legend)


def format_judge(board: Board) -> Text:
    """Return the name of the judge whose scores a leaderboard is based on, with remarks; "none yet"
    if nothing is judged.
    """
    if board.judge is None:
        return "none yet"
    remarks = ["embedded, a demonstration"] if board.by_table else []
    if len(board.judges) > 1 and board.judge == board.main_judge:
        remarks.append(f"the main one of {len(board.judges)}")
    return (Name(board.judge), f" ({'; '.join(remarks)})" if remarks else "")


# ---------------------------------------------------------------- configurations


def render_configurations(compared: ConfigurationComparison) -> Iterator[Block]:
    """Yield a title and a table of how the configurations (system prompt and delivery mode) change
    the mean index, for a terminal.
    """
    yield Title("Configurations compared", aside=("  judge: ", Prose(compared.judge or "none yet")))
    yield _build_configurations_table(compared)


def render_configurations_report(compared: ConfigurationComparison) -> Iterator[Block]:
    """Yield two tables for a report: how the configurations (system prompt and delivery mode)
    change the mean index, and the index of every model in each.
    """
    yield _build_configurations_table(compared)
    yield Table(
        [
            Column("Model", words=True),
            *(Column(Name(place.configuration)) for place in compared.places),
        ],
        [
            (Name(s.label), *map(_format_index_change, s.indices, s.changes))
            for s in compared.subjects
        ],
        "The index of every model that has one in two configurations or more, and in brackets "
        "the difference to the first one with its 95% CI (same scenarios). A dash: no index there.",
    )


def _build_configurations_table(compared: ConfigurationComparison) -> Table:
    """Return a table of the configurations (system prompt and delivery mode), each with its mean
    index over models and the difference to the first one.
    """
    effects = [place.effect for place in compared.places]
    first = compared.places[0].configuration
    return Table(
        [
            Column("Configuration", words=True),
            *map(Column, ("Models", "Mean index", "Difference")),
            Column("95% CI (new models)", short="95% CI\n(new\nmodels)"),
            Column("95% CI (same scenarios)", short="95% CI\n(same\nscenarios)"),
        ],
        [
            (
                *(Name(place.configuration), str(place.subjects), format_number(place.mean, 1)),
                format_difference(effect.points if effect else None),
                format_difference_interval(effect.sampled if effect else None),
                format_difference_interval(effect.rerun if effect else None),
            )
            for place, effect in zip(compared.places, effects, strict=True)
        ],
        (
            "Difference: points of the index relative to ",
            Name(first),
            ", each model compared with itself; the mean over those that have an index in "
            "both. CI: 95% interval of the difference on these scenarios, each by itself. New "
            "models: if the models are a sample of those that might have been tested; a "
            "dash: fewer than three. Same scenarios: for these very models, over very many runs; a "
            "dash: one of them was played once, or is not ranked.",
        ),
        gap=2,
        brief=("difference: relative to ", Name(first), ", each model compared with itself."),
    )


def _format_index_change(index: float | None, change: SubjectEffect | None) -> str:
    """Format a model's index in one configuration, and in brackets its difference to the first
    configuration with the interval; only the index if *change* is None.
    """
    if change is None:
        return format_number(index, 1)
    return (
        f"{format_number(index, 1)} ({format_difference(change.points)}; "
        f"{format_difference_interval(change.rerun)})"
    )
