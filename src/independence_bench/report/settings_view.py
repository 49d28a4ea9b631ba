"""Settings of one model, and prices: the report's sections about what differs between subjects. Computes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from independence_bench.analysis.board import Board
from independence_bench.analysis.compare_settings import SettingComparison, Variant
from independence_bench.report.board_view import NEW, RERUN
from independence_bench.report.contents import Contents
from independence_bench.report.format import from_to, number, paid, plural, signed
from independence_bench.report.table import Block, Column, Name, Note, Prose, Strong, Table, Text, listed


def providers(comparisons: Sequence[SettingComparison]) -> Iterator[Block]:
    """Subjects that differ in their provider alone."""
    if not comparisons:
        yield Note("No model was played under more than one provider setting.")
        return
    yield report_table(
        ("Model", "Provider", *DIFFERENCE, "Served by"),
        [
            (Name(c.model), Prose(v.setting), *_difference(v), served_by(v.served) or "–")
            for c in comparisons
            for v in c.variants
        ],
        "Subjects that differ only in the provider that they are pinned to. Difference: points relative to the model's "
        "first line with an index, which is the unpinned one where that has an index. Served by: the providers that "
        f"the replies name, with their numbers of replies. {_differences_sure(comparisons)}",
        words="Model Provider Served by",
    )


def efforts(comparisons: Sequence[SettingComparison]) -> Iterator[Block]:
    """Subjects that differ in their reasoning effort alone."""
    if not comparisons:
        yield Note("No model was played with more than one reasoning effort.")
        return
    yield report_table(
        ("Subject", "Effort", *DIFFERENCE),
        [(Name(v.label), Prose(v.setting), *_difference(v)) for c in comparisons for v in c.variants],
        "Subjects that differ only in their reasoning effort. Difference: points relative to the lowest effort of the "
        f"same model that has an index. {_differences_sure(comparisons)}",
        words="Subject Effort",
    )


def served_by(served: Sequence[tuple[str, int]]) -> Text:
    """Providers with their numbers of answers; () for none."""
    return listed([(Prose(name), f" ({count:,})") for name, count in served])


DIFFERENCE = ("Index", "Difference", "Rerun CI", "New scenarios CI", "Detects", "Runs")


def _difference(variant: Variant) -> list[Text]:
    """The index, its difference, strong where it stands, two intervals, what could have been seen of each; the runs."""
    rerun = new_scenarios = seen = "–"
    if apart := variant.apart:
        rerun, new_scenarios = from_to(apart.uncertainty.rerun), from_to(apart.uncertainty.new_scenarios)
        seen = f"{number(apart.seen_rerun, 1)} / {number(apart.seen_new_scenarios, 1)}"
    shown = signed(variant.difference)
    difference = Strong(shown) if variant.stands else shown
    return [number(variant.index, 1), difference, rerun, new_scenarios, seen, str(variant.runs)]


def _differences_sure(comparisons: Sequence[SettingComparison]) -> str:
    stands = [variant.stands for one in comparisons for variant in one.variants if variant.stands is not None]
    told = ""
    if any(stands):
        told = (
            f" Bold: significant among {plural(len(stands), 'difference')} (Holm); the chance that any of these is not "
            "a real difference is at most 5%."
        )
    elif stands:
        told = f" Of {plural(len(stands), 'difference')} none is significant (Holm): the largest may be chance."
    return (
        f"CI: 95% interval of the difference, each by itself; {RERUN}; {NEW}. Detects: the smallest true difference "
        "that such a comparison detects in 80 of 100 repetitions, by each of the two. A dash: not ranked, or the "
        f"ranking has no such intervals.{told}"
    )


def prices(contents: Contents) -> Iterator[Block]:
    """What one run of each ranked subject cost, beside its index."""
    if not contents.prices:
        yield Note("No subject is ranked.")
        return
    yield report_table(
        ("Subject", "Index", "Replies", "Judge", "Dollars a run"),
        [
            (
                *(Name(p.label), number(p.index, 1)),
                *(paid(dollars) for dollars in (p.replies_per_run, p.judging_per_run, p.dollars_per_run)),
            )
            for p in contents.prices
        ],
        (
            "Replies: the cost of the replies of one run; judge: what ",
            judge_of(contents.main),
            " cost to mark them; both include rejected attempts. A dash: not known for all of them.",
        ),
    )


# ---------------------------------------------------------------- cells


def report_table(titles: Sequence[str], rows: Sequence[Sequence[Text]], legend: Text = "", words: str = "") -> Table:
    """A table of the report alone; the first column is of words, or those in *words*."""
    columns = [Column(title, words=title in words if words else not place) for place, title in enumerate(titles)]
    return Table(columns, rows, legend)


def judge_of(board: Board) -> Text:
    """Whose marks a board's numbers are made of."""
    if board.judge is None:
        return "none yet"
    said = ["embedded, a demonstration"] if board.by_table else []
    if len(board.judges) > 1 and board.judge == board.main_judge:
        said.append(f"the main one of {len(board.judges)}")
    return (Name(board.judge), f" ({'; '.join(said)})" if said else "")
