"""What differs between settings of one model, and between configurations; and prices. Computes
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from independence_bench.analysis.board import Board
from independence_bench.analysis.compare_settings import (
    ConfigurationComparison,
    Effect,
    SettingComparison,
    Variant,
)
from independence_bench.analysis.costs import IndexPrice
from independence_bench.report.board_view import NEW, RERUN
from independence_bench.report.format import between, from_to, number, paid, plural, signed
from independence_bench.report.table import (
    Block,
    Column,
    Legend,
    Name,
    Note,
    Prose,
    Strong,
    Table,
    Text,
    Title,
    listed,
)


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
        [
            (Name(v.label), Prose(v.setting), *_difference(v))
            for c in comparisons
            for v in c.variants
        ],
        "Subjects that differ only in their reasoning effort. Difference: points relative to the lowest effort of the "
        f"same model that has an index. {_differences_sure(comparisons)}",
        words="Subject Effort",
    )


def served_by(served: Sequence[tuple[str, int]]) -> Text:
    """Providers with their numbers of answers; () for none."""
    return listed([(Prose(name), f" ({count:,})") for name, count in served])


DIFFERENCE = ("Index", "Difference", "Rerun CI", "New scenarios CI", "Detects", "Runs")


def _difference(variant: Variant) -> list[Text]:
    """The index, its difference, strong where it stands, two intervals, what could have been seen
    of each; the runs.
    """
    rerun = new_scenarios = seen = "–"
    if apart := variant.apart:
        rerun, new_scenarios = (
            from_to(apart.uncertainty.rerun),
            from_to(apart.uncertainty.new_scenarios),
        )
        seen = f"{number(apart.seen_rerun, 1)} / {number(apart.seen_new_scenarios, 1)}"
    shown = signed(variant.difference)
    difference = Strong(shown) if variant.stands else shown
    return [number(variant.index, 1), difference, rerun, new_scenarios, seen, str(variant.runs)]


def _differences_sure(comparisons: Sequence[SettingComparison]) -> str:
    stands = [
        variant.stands
        for comparison in comparisons
        for variant in comparison.variants
        if variant.stands is not None
    ]
    sentence = ""
    if any(stands):
        sentence = (
            f" Bold: significant among {plural(len(stands), 'difference')} (Holm); the chance that any of these is not "
            "a real difference is at most 5%."
        )
    elif stands:
        sentence = f" Of {plural(len(stands), 'difference')} none is significant (Holm): the largest may be chance."
    return (
        f"CI: 95% interval of the difference, each by itself; {RERUN}; {NEW}. Detects: the smallest true difference "
        "that such a comparison detects in 80 of 100 repetitions, by each of the two. A dash: not ranked, or the "
        f"ranking has no such intervals.{sentence}"
    )


def prices(subjects: Sequence[IndexPrice], board: Board) -> Iterator[Block]:
    """What one run of each ranked subject of *board* cost, next to its index."""
    if not subjects:
        yield Note("No subject is ranked.")
        return
    yield Table(
        [
            *(
                Column("Subject", words=True, labels=True),
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
                *(Name(p.label), number(p.index, 1)),
                *(
                    paid(dollars)
                    for dollars in (p.replies_per_run, p.judging_per_run, p.dollars_per_run)
                ),
                "–" if p.points_per_dollar is None else f"{p.points_per_dollar:,.0f}",
            )
            for p in subjects
        ],
        (
            "Replies: the cost of the replies of one run; judge: what ",
            judge_of(board),
            " cost to mark them; both include rejected attempts. Dollars a run: both; points a dollar: the index over "
            "that. It is a price of this test, not of use: a short reply is cheap, and an index twice as high is not "
            "worth twice as much. A dash: a price is not known, or it is free.",
        ),
        gap=0,
        brief="points a dollar: the index over the dollars of one run of this test, subject and judge; a dash: free, "
        "or a price is not known.",
    )


# ---------------------------------------------------------------- cells


def report_table(
    titles: Sequence[str], rows: Sequence[Sequence[Text]], legend: Text = "", words: str = ""
) -> Table:
    """A table of the report alone; the first column is of words, or those in *words*."""
    columns = [
        Column(title, words=title in words if words else not place)
        for place, title in enumerate(titles)
    ]
    return Table(columns, rows, legend)


def judge_of(board: Board) -> Text:
    """Whose marks a board's numbers are made of."""
    if board.judge is None:
        return "none yet"
    remarks = ["embedded, a demonstration"] if board.by_table else []
    if len(board.judges) > 1 and board.judge == board.main_judge:
        remarks.append(f"the main one of {len(board.judges)}")
    return (Name(board.judge), f" ({'; '.join(remarks)})" if remarks else "")


# ---------------------------------------------------------------- configurations


EFFECTS_SURE = (
    "CI: 95% interval of an effect on these scenarios, each by itself. New-subjects: if the subjects are a sample of "
    "those that might have been tested; a dash: fewer than three. Rerun: for these very subjects, over very many "
    "runs; a dash: one of them was played once, or is not ranked."
)


def configurations_view(compared: ConfigurationComparison) -> Iterator[Block]:
    """The index per configuration, what prompt and tool change in it, and what that means; for a
    terminal.
    """
    yield Title("Configurations compared", aside=("  judge: ", Prose(compared.judge or "none yet")))
    yield _places(compared)
    yield from _headlines(compared)
    single = _of_one_factor(compared)
    if not single:
        return
    yield Note("")
    yield _effects([effect for effect in single if effect.within is None] or single)
    yield Legend(
        "points: of the index, each subject compared with itself; the mean over those that have all that is compared. "
        "main effect: averaged over the other factor; interaction: what tool_role changes with the one prompt, minus "
        f"what it changes with the other. {EFFECTS_SURE}",
        "points: of the index, each subject compared with itself. CI: 95% interval.",
    )


def configurations_report(compared: ConfigurationComparison | None) -> Iterator[Block]:
    """The same for a report, with every effect and every subject; None: nothing to compare."""
    if compared is None:
        yield Note(
            "No subject has an index in more than one configuration, so there is nothing to compare."
        )
        return
    yield _places(compared)
    yield Note(
        "Mean index: over the subjects that have an index there, who need not be the same. Same subjects: over those "
        f"that have one in every configuration of the table ({compared.paired})."
    )
    yield from _headlines(compared)
    if single := _of_one_factor(compared):
        yield _effects(single)
        yield Note(
            "Points of the index, the mean over the subjects that have all the indices needed, each compared with "
            "itself. Interaction: how much more the tool changes under the one prompt than under the other; 0 means "
            f"that prompt and tool simply add up. {EFFECTS_SURE}"
        )
    yield Table(
        [
            Column("Subject", words=True),
            *(Column(Name(place.configuration)) for place in compared.places),
        ],
        [
            (
                Name(s.label),
                *(
                    number(index, 1) + (f" ({between(interval)})" if interval else "")
                    for index, interval in zip(s.indices, s.intervals, strict=True)
                ),
            )
            for s in compared.subjects
        ],
        "The index of every subject that has one in two configurations or more, and in brackets its rerun CI; a dash: "
        "it has none there.",
    )
    yield from _changes(compared)


def _headlines(compared: ConfigurationComparison) -> Iterator[Block]:
    """What prompt and tool together change against the baseline, a sentence for each prompt; first
    of all.
    """
    for both in (effect for effect in compared.effects if effect.factor == "both"):
        sure = [(from_to(both.sampled), "over subjects like these")] if both.sampled else []
        sure += [(from_to(both.rerun), "over reruns")] if both.rerun else []
        limits = "; ".join(f"{limits} {over}" for limits, over in sure)
        interval_text = f"95%: {limits}" if sure else "no interval"
        yield Note("")
        yield Note(
            (
                Prose(f"{_title(both)}: "),
                Strong(f"{signed(both.points)} points"),
                f" ({interval_text}), {plural(both.subjects, 'subject')} played in both.",
            ),
            "",
        )


def _of_one_factor(compared: ConfigurationComparison) -> list[Effect]:
    return [effect for effect in compared.effects if effect.factor != "both"]


def _places(compared: ConfigurationComparison) -> Table:
    differ = any(place.subjects != compared.paired for place in compared.places)
    paired = Column(
        "Mean index, same subjects",
        short=f"of the {compared.paired} in all",
        on=None if differ else "report",
    )
    return Table(
        [Column("Configuration", words=True), Column("Subjects"), Column("Mean index"), paired],
        [
            (
                Name(place.configuration),
                str(place.subjects),
                number(place.mean, 1),
                number(place.paired, 1),
            )
            for place in compared.places
        ],
        gap=2,
    )


def _effects(effects: Sequence[Effect]) -> Table:
    return Table(
        [
            Column("What it changes", words=True),
            *map(Column, ("Subjects", "Points", "New-subjects CI", "Rerun CI")),
        ],
        [
            (
                Prose(_title(e)),
                str(e.subjects),
                signed(e.points),
                from_to(e.sampled),
                from_to(e.rerun),
            )
            for e in effects
        ],
        gap=2,
    )


def _title(effect: Effect) -> str:
    """What an effect compares, in words."""
    if effect.factor == "both":
        return f"{effect.level} + tool_role against {effect.base} + user_role"
    if effect.factor == "interaction":
        return f"tool_role and {effect.level} (not {effect.base}), interaction"
    where = "main effect" if effect.within is None else f"with {effect.within}"
    return f"{effect.level} instead of {effect.base}, {where}"


def _changes(compared: ConfigurationComparison) -> Iterator[Block]:
    """What each subject by itself shows of the main effects, or where there are none of all."""
    mains = [place for place, effect in enumerate(compared.effects) if effect.within is None]
    shown = mains or list(range(len(compared.effects)))
    if not shown:
        return
    yield Table(
        [
            Column("Subject", words=True),
            *(Column(Prose(_title(compared.effects[n]))) for n in shown),
        ],
        [
            (
                Name(s.label),
                *(
                    f"{signed(c.points)} ({from_to(c.rerun)})" if (c := s.changes[n]) else "–"
                    for n in shown
                ),
            )
            for s in compared.subjects
        ],
        "The same for each subject, in points of the index, with its 95% rerun CI in brackets: runs of two "
        "configurations have nothing in common. Of twenty effects that are 0, one is expected to seem otherwise.",
    )
