"""The tables and sentences of a leaderboard: its ranking, incomplete subjects, every score run by
run. Computes nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.exam.standing import BoardExam, describe_missing_exam
from independence_bench.analysis.statistics.values import Uncertainty
from independence_bench.columns import list_table_columns
from independence_bench.escape import escape_line
from independence_bench.figures import (
    HUNDRED,
    format_count,
    format_interval,
    format_number,
    format_share,
)
from independence_bench.models.local.files import SMOLLM2
from independence_bench.models.spec import GGUF, SIMULATED, find_vendor
from independence_bench.protocol.definition import Dimension, Protocol, format_mark_name
from independence_bench.protocol.scoring import OWN, compute_mean
from independence_bench.report.format import format_scale
from independence_bench.report.table import (
    Cells,
    Column,
    Drawn,
    Legend,
    Medium,
    Name,
    Prose,
    Remark,
    Strong,
    Table,
    Text,
    join_texts,
)

THINKS, SMALL, TIED, DOUBTED = "†", "‡", "≈", "!"
THOUGHT, TIE = (
    f"{THINKS}: told to reason before it answers, or mostly does.",
    f"{TIED}: may be first: no other model is significantly better, each tested at 5% over their "
    "number; the best model has this sign in 95% of rankings.",
)
SIMULATED_JUDGE = "The judge is simulated, so its scores of other models mean nothing."
PUBLISHED = "published-v2"  # the protocol of imported results, which nobody can play
SAME = "95% CI (same scenarios)"
NEW = "95% CI (new scenarios)"
MEANINGS = {
    SAME: "where it would lie over very many runs of the same scenarios",
    NEW: "where it would lie with other scenarios of the same kind",
}
# headings of shipped dimensions; others have the first six letters of their last word
SHORT_HEADINGS = {
    "non_assistant_likeness": "person",
    "internal_consistency": "consis",
    "low_drift": "drift",
    "resistance": "resist",
    "stability": "stable",
}
LONGEST_HEADING = 6


def build_ranking_table(
    board: Board,
    shown: Sequence[Row] | None = None,
    marks: Collection[str] | None = None,
    wide: bool = False,
) -> Table:
    """Return the ranking of a leaderboard as a table: a line for each ranked model (or for each of
    *shown*), and columns for the index, its intervals, each dimension with a weight, and the
    figures that `Row` declares. *marks*: only dimensions that use one of these scores; None: all.

    A terminal has the index, the intervals and the dimensions, as far as there is room; with
    *wide* also whole labels, and how many runs and failed calls there are.
    """
    rows = board.ranked if shown is None else shown
    more: Medium | None = None if wide else "report"  # where further columns stand
    known = any(row.index_interval.new_scenarios for row in rows)
    new_on: Medium | None = None if known else "report"
    names = shorten_labels(board)
    own = board.rules == OWN.name
    several = any(row.ranks for row in rows)
    published = any(row.as_published for row in rows)
    rerun = [row.index_interval.rerun for row in rows]
    lows = [interval.low for interval in rerun if interval]
    least = min([*lows, *(row.index or 0.0 for row in rows)], default=0.0)
    columns: list[tuple[Column, Iterable[Text]]] = [
        (
            Column("Possible ranks", short="rank") if several else Column("Rank"),
            map(format_ranks, rows),
        ),
        (
            Column("Model", words=True, on="terminal", labels=True),
            [
                join_texts([Name(row.label), *format_label_signs(row)], " ")
                if wide
                else join_texts([Name(names[row.label]), *format_warning_signs(row)], " ")
                for row in rows
            ],
        ),
        (
            Column("Model", words=True, on="report"),
            [join_texts([Name(row.label), *format_label_signs(row)], " ") for row in rows],
        ),
        (Column("Index"), [Strong(format_number(row.index, 1)) for row in rows]),
        (
            Column(SAME, short="95% CI") if own else Column("CI over runs", short="CI over\nruns"),
            map(format_interval, rerun),
        ),
    ]
    if own:
        columns.append(
            (
                Column(NEW, short="95% CI\n(new sc.)", on=new_on, spare=5),
                [format_interval(row.index_interval.new_scenarios, 0) for row in rows],
            )
        )
    if published:
        columns.append(
            (
                Column("CI as published", short="CI as\npublished"),
                [format_interval(row.as_published) for row in rows],
            )
        )
    columns.append(
        (
            Column("95% CI, drawn", on="terminal", drawn=(10.0 * (least // 10), 100.0)),
            [
                Drawn(row.index or 0.0, (ends.low, ends.high) if ends else None)
                for row, ends in zip(rows, rerun, strict=True)
            ],
        )
    )
    columns += [
        (
            make_dimension_column(one),
            [format_dimension_score(row.dimensions[one.name]) for row in rows],
        )
        for one in list_weighted_dimensions(board.protocol, marks)
    ]
    columns += [
        (replace(column, on=more), cells) for column, cells in build_row_columns(rows, behind=False)
    ]
    return join_columns(columns)


def shorten_labels(board: Board) -> dict[str, str]:
    """Return the label of each row of a leaderboard -> the name that a terminal shows: without the
    settings, unless another row has the same name with other settings.
    """
    bare = {
        row.label: row.label.partition("@")[0].removesuffix(f"+{row.subject.provider}")
        for row in board.rows
    }
    counts = Counter(bare.values())
    return {label: label if counts[name] > 1 else name for label, name in bare.items()}


def build_row_columns(
    rows: Sequence[Row], behind: bool = True
) -> list[tuple[Column, Iterable[str]]]:
    """Return the columns that the class `Row` declares for a leaderboard, each with its cells for
    *rows*. *behind*: with the figures behind the index, and not only the openness and those beside
    it. A column without any value is left out.
    """
    every = [
        one
        for one in list_table_columns(Row)
        if behind or not one.column.wide or one.path[0] == "reasons"
    ]
    if behind:  # what the numbers are based on before the numbers
        every.sort(key=lambda one: len(one.path) == 1)
    return [
        (
            Column(one.column.title, short=one.column.short or None, spare=one.column.spare),
            [one.format_cell(row) for row in rows],
        )
        for one in every
        if any(one.find_value(row) is not None for row in rows)
    ]


def join_columns(
    columns: Sequence[tuple[Column, Iterable[Text]]], legend: Text = "", brief: Text = ""
) -> Table:
    """Return a table made of *columns*, each with its cells; all columns have the same number of
    cells.
    """
    cells = zip(*(cells for _, cells in columns), strict=True)
    return Table([column for column, _ in columns], list(cells), legend, gap=0, brief=brief)


def list_weighted_dimensions(
    protocol: Protocol, marks: Collection[str] | None = None
) -> list[Dimension]:
    """Return the dimensions of *protocol* that have a weight in the index; if *marks* is given,
    only those that use at least one of these scores.
    """
    return [
        dimension
        for dimension in protocol.dimensions
        if dimension.weight and (marks is None or {*dimension.marks} & {*marks})
    ]


def format_label_signs(row: Row) -> str:
    """Return the signs that follow a model's label in a ranking, such as † (told to reason) and ≈
    (may be first); "" if there are none.
    """
    return format_tie_sign(row) + (THINKS if row.thinks else "") + format_warning_signs(row)


def format_warning_signs(row: Row) -> str:
    """Return the signs that warn of a row, ‡ of a very small model and ! of a label that may be
    mistaken for another one; "" if there are none.
    """
    return (SMALL if is_small_local_model(row) else "") + (DOUBTED if row.doubt else "")


def is_small_local_model(row: Row) -> bool:
    """Whether the model of a leaderboard row is the small local model of the demonstration, by its
    current name or by the name in earlier stores.
    """
    return row.subject.endpoint == "embedded" or (row.subject.endpoint, row.subject.model) == (
        GGUF,
        SMOLLM2,
    )


def make_dimension_column(dimension: Dimension) -> Column:
    """Return a table column for the scores of *dimension*, headed by its title; on a terminal by at
    most six letters.
    """
    return Column(Prose(dimension.title), short=shorten_dimension_title(dimension), spare=3)


def shorten_dimension_title(dimension: Dimension) -> str:
    """Return a heading of at most six letters for *dimension*: the first ones of the last word of
    its title, unless it is a shipped one.
    """
    *_, last = escape_line(dimension.title).lower().split() or [dimension.name]
    return SHORT_HEADINGS.get(dimension.name, last[:LONGEST_HEADING])


def explain_dimension_headings(protocol: Protocol) -> str:
    """Say in one sentence which dimension each short heading stands for, and its weight in the
    index.
    """
    named = ", ".join(
        f"{shorten_dimension_title(one)} = {escape_line(one.title).lower()} ({one.weight:g})"
        for one in list_weighted_dimensions(protocol)
    )
    return f"Dimensions, with their points of the index's 100: {named}."


# ---------------------------------------------------------------- one subject


def build_marks_table(
    protocol: Protocol, row: Row, scored: Mapping[str, tuple[int, int]] | None = None
) -> Table:
    """Return a table of one model's scores and index: for each score its scale, its mean and its
    mean in each run. *scored*: for each score, how many conversations have it and how many were
    planned; scores that are not in it are left out. None: all scores.
    """
    runs = row.run_scores.values()
    rows: list[Cells] = [
        (
            *(
                Prose(format_mark_name(name)),
                format_scale(protocol.find_mark(name)),
                format_number(mean, 2),
            ),
            "{} of {}".format(*scored[name]) if scored else "",
            *(format_number(run.means[name], 2) for run in runs),
        )
        for name, mean in row.means.items()
        if scored is None or name in scored
    ]
    whole = f"{sum(run.index is not None for run in runs)} of {format_count(len(runs), 'run')}"
    indices = [format_number(run.index, 1) for run in runs]
    rows.append((Strong("index"), "0-100", Strong(format_number(row.index, 1)), whole, *indices))
    columns = [
        *(
            Column("Score", words=True),
            Column("Scale"),
            Column("Mean", style="bold"),
            Column("Scored", on="report"),
        ),
        *(Column(f"Run {run}") for run in row.run_scores),
    ]
    return Table(columns, rows, gap=2)


def build_health_table(rows: Sequence[Row]) -> Table:
    """Return a table of what each model's index is based on, such as counts of runs and shares of
    failed calls, with a line for each of *rows*.
    """
    columns: list[tuple[Column, Iterable[Text]]] = [
        (Column("Model", words=True, labels=True), [Name(row.label) for row in rows]),
        (Column("Rank", on="terminal"), map(format_ranks, rows)),
        *build_row_columns(rows),
    ]
    meanings = [
        f"{{{one.column.title}}}: {one.column.meaning}."
        for one in list_table_columns(Row)
        if one.column.meaning and any(one.find_value(row) is not None for row in rows)
    ]
    return join_columns(columns, legend=" ".join(meanings))


def split_incomplete_and_excluded(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Split *rows*, the models of a leaderboard that are not ranked, into the incomplete and the
    excluded ones.
    """
    return [row for row in rows if row.excluded is None], [
        row for row in rows if row.excluded is not None
    ]


def describe_unranked_counts(rows: Sequence[Row]) -> str:
    """Describe how many of *rows*, the models of a leaderboard that are not ranked, are incomplete
    and how many are excluded: "3 incomplete, 1 excluded".
    """
    missing, excluded = map(len, split_incomplete_and_excluded(rows))
    return f"{missing} incomplete" + (f", {excluded} excluded" if excluded else "")


def build_unranked_table(
    protocol: Protocol, rows: Sequence[Row], why: str = "What is missing"
) -> Table:
    """Return a table of the models that a leaderboard does not rank: how much of each is judged,
    its scores so far, and what is missing. *why*: the heading of the reasons.
    """
    # of a dimension that no subject has there is nothing to show
    there = [
        d
        for d in protocol.dimensions
        if d.weight and any(row.dimensions[d.name] is not None for row in rows)
    ]
    cells: list[Cells | Remark] = []
    for row in rows:
        missing = Prose("; ".join(_list_missing_parts(row)))
        health = row.health
        cells.append(
            (
                Name(row.label) if row.doubt is None else (Name(row.label), f" {DOUBTED}"),
                f"{health.transcripts_judged} of {health.transcripts_planned}",
                f"{len(row.complete_run_indices)} of {len(row.run_scores)}",
                format_number(compute_mean(row.complete_run_indices), 1),
                *(format_dimension_score(row.dimensions[d.name]) for d in there),
                *(
                    format_share(one)
                    for one in (
                        health.share_invalid,
                        health.share_attempts_failed,
                        health.share_cut_off,
                    )
                ),
                missing,
            )
        )
        cells.append(Remark(missing))
    columns = [
        *(
            Column("Model", words=True, labels=True),
            Column("Judged"),
            Column("Whole runs", short="whole\nruns"),
        ),
        Column("Their mean index", short="mean\nindex"),
        *map(make_dimension_column, there),
        *(
            Column("Invalid", spare=1),
            Column("Failed", short="failed\ncalls", spare=2),
            Column("Cut off", spare=2),
        ),
        Column(why, words=True, on="report"),
    ]
    dimensions = " Dimensions, 0-100: only with all scores of all runs." if there else ""
    only = "Only models with every score of every run are ranked"
    brief = f"Below each: {why.lower()}. {only}."
    legend = (
        "{Judged}: conversations with a judgement, of those planned in the runs that were begun. "
        "{Their mean index}: of "
        "the whole runs. {Invalid}, {Cut off}: of the replies; {Failed}: of the attempts at them. "
        f"{only}.{dimensions}"
    )
    return Table(columns, cells, legend, gap=0, brief=brief)


def format_dimension_score(dimension: float | None) -> str:
    """Format a dimension's score, given in [0, 1], on the scale from 0 to 100; a dash for None."""
    return "–" if dimension is None else HUNDRED.text(dimension)


def _list_missing_parts(row: Row) -> Iterator[str]:
    """Yield a text for each part that a model lacks on a leaderboard, and a sentence for each
    configuration in which it is complete.
    """
    yield from row.missing
    for configuration, score in row.by_configuration.items():
        if score.index is not None:
            yield f"{configuration} by itself is complete, with an index of {score.index:.1f}"


# ---------------------------------------------- what is said of a board and its rows in every table


def describe_judge(board: Board) -> str:
    """Describe the judge or jury of a leaderboard, and whether it is the main one of several; "none
    yet" if nothing is judged.
    """
    if board.judge is None:
        return "none yet"
    remarks = ["a demonstration"] if board.has_embedded_judge else []
    if len(board.judges) > 1:
        main = board.main_judge == board.judge
        remarks.append(
            f"the main one of {len(board.judges)}"
            if main
            else f"the main one is {board.main_judge}"
        )
    return escape_line(board.judge) + (f" ({escape_line('; '.join(remarks))})" if remarks else "")


def make_exam_legend(board: Board) -> tuple[Legend, ...]:
    """Return a legend with the exam result of a leaderboard's judge or jury, printed once a screen;
    () if there is nothing to say.
    """
    line = board.exam_line
    return () if line is None else (Legend(Prose(line), Prose(line)),)


def describe_unfit_judge(board: Board) -> str:
    """Return a sentence that warns of a judge or jury that cannot rank the models, with a space
    after it, to stand before what is said of their order: one that the exam found not fit, or a
    simulated one of other models than simulated ones; "" for others.
    """
    models = {find_vendor(row.subject.model) for row in board.rows}
    if board.vendor == SIMULATED and models != {SIMULATED}:
        return f"{SIMULATED_JUDGE} "
    if board.exam is None or board.exam.fit != "not fit":
        return ""
    who = "These judges are" if len(board.jurors) > 1 else "The judge is"
    return f"{who} not fit for ranking, by the exam, so the order may be wrong. "


def describe_foreign_rules(board: Board) -> tuple[str, ...]:
    """Return a sentence that names the scoring rules of a leaderboard, in a tuple; () if they are
    our own rules.
    """
    return () if board.rules == OWN.name else (f"{board.rules} rules, not our own",)


def format_ranks(row: Row) -> str:
    """Format the ranks that a model may have on a leaderboard: 3, or 1–12. If possible ranks are
    not computed, return its position in the ranking; a dash if it is not ranked.
    """
    standing = row.ranks
    if standing is None:
        return "–" if row.rank is None else str(row.rank)
    return (
        str(standing.rank_low)
        if standing.is_certain
        else f"{standing.rank_low}–{standing.rank_high}"
    )


def format_tie_sign(row: Row) -> str:
    """Return ≈ for a ranked model that may be first but is not certainly so; else ""."""
    standing = row.ranks
    return TIED if standing and standing.tied_with_best and not standing.is_certain else ""


def describe_run_effects(board: Board) -> list[str]:
    """Return sentences on whether the runs of a leaderboard's ranked models are independent, and on
    how many of the models were played in a single session; [] if no intervals are computed.
    """
    if board.uncertainty is None:
        return []
    sittings = board.uncertainty.measure_session_allowance()
    sentences = [
        *board.uncertainty.describe_run_independence(),
        *([str(sittings)] if sittings else []),
    ]
    return [f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences]


def describe_intervals(board: Board) -> list[str]:
    """Return sentences that explain the intervals and the possible ranks of a leaderboard; [] if it
    has none.
    """
    if board.uncertainty is None or not board.ranked:
        return []
    sure, sentences = board.ranked[0].uncertainty, []
    if sure.index != Uncertainty():
        kinds = [SAME] if sure.index.rerun else []
        kinds += [NEW] if sure.index.new_scenarios else []
        sentences += [f"{kind}: {MEANINGS[kind]}." for kind in kinds]
    if sure.standing is not None:
        sentences.append(
            "Rank: the ranks that a model may have on this test, by comparison with "
            "every other one (Bonferroni); they hold for each row by itself at 95%."
        )
    return sentences


def explain_missing_intervals(board: Board) -> list[str]:
    """Return a sentence for each reason why a leaderboard, or one of its rows, lacks a kind of
    interval; [] if none is missing.
    """
    reasons = list(board.uncertainty.explain_no_intervals() if board.uncertainty else ())
    return [f"There is {reason}." for reason in reasons]


def describe_judges_in_intervals(board: Board) -> list[str]:
    """Say in one sentence whether a leaderboard's intervals include the differences between judges;
    [] if there are no intervals or no judge.
    """
    if board.uncertainty is None or not board.ranked:
        return []
    if len(board.jurors) > 1:
        return [f"The intervals include how much {len(board.jurors)} judges differ."]
    if board.judge is not None:
        return ["The intervals do not cover how another judge would score."]
    return []


# ---------------------------------------------------------------- what the exam says of the judge
# with a date and not with how long ago that was, so that the same store gives the same bytes


def describe_exams(exams: Sequence[tuple[str, BoardExam | None]]) -> list[str]:
    """Return a line for each exam result of several judges, with the judges' names. All judges that
    have not been validated share the last line. For a single judge, return its result without a
    name.
    """
    if len(exams) == 1:
        return [line for _, exam in exams if (line := exam.line if exam else None)]
    said, absent = defaultdict[str, list[str]](list), dict[str, BoardExam]()
    for name, exam in exams:
        if exam and exam.lacking and not exam.standing and not exam.no_questions:
            absent[escape_line(name)] = exam
        elif line := exam.line if exam else None:
            said[line].append(escape_line(name))
    lines = [f"{', '.join(who)}: {line}" for line, who in said.items()]
    return (
        [*lines, describe_missing_exam(", ".join(absent), list(absent.values()))]
        if absent
        else lines
    )
