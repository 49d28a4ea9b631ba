"""A board: its ranking, who is incomplete, every mark run by run. Computes nothing."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.exam.result import BoardExam, Fit
from independence_bench.analysis.lookalikes import written_out
from independence_bench.analysis.statistics.values import Uncertainty
from independence_bench.escape import label_text
from independence_bench.models.local.files import SMOLLM2
from independence_bench.models.spec import GGUF
from independence_bench.protocol.definition import Dimension, Protocol, mark_words
from independence_bench.protocol.scoring import OWN, mean_of
from independence_bench.report.format import (
    between,
    number,
    plural,
    scale,
    share,
    tokens_text,
)
from independence_bench.report.table import (
    Cells,
    Column,
    Drawn,
    Legend,
    Name,
    Prose,
    Remark,
    Strong,
    Table,
    listed,
)

THINKS, SMALL, TIED, DOUBTED = "†", "‡", "≈", "!"
THOUGHT, TIE = (
    f"{THINKS} told to reason before it answers, or mostly does.",
    f"{TIED} may be first: no other is significantly better, each tested at 5% over their number; "
    "the best subject has this sign in 95% of rankings.",
)
REASONING_TOKENS = (
    "{Reasoning tokens}: of a mean valid reply, as the endpoint states them; “about”: it does not, "
    "and the text of the reasoning that it shows is counted, at 4 characters a token; a dash: "
    "nothing is known."
)
RERUN = "rerun: where it would lie over very many runs of the same scenarios"
NEW = "new scenarios: where it would lie with other scenarios of the same kind"


def ranking(
    board: Board, shown: Sequence[Row] | None = None, marks: Collection[str] | None = None
) -> Table:
    """A row for each ranked subject (or those *shown*), a column for each dimension that counts and
    consists of some of *marks* (None: of any).
    """
    rows = board.ranked if shown is None else shown
    dimensions = weighted(board.protocol, marks)
    own = board.rules == OWN.name
    published = any(row.as_published for row in rows)
    cells: list[Cells] = [
        (
            *(ranks(row), Name(row.label), signs(row)),
            listed([Name(row.label), *signs(row)], " "),
            *(Strong(number(row.score.index, 1)), between(rerun)),
            *((between(row.uncertainty.index.new_scenarios, 0),) if own else ()),
            *((between(row.as_published),) if published else ()),
            Drawn(row.score.index or 0.0, (rerun.low, rerun.high) if rerun else None),
            str(row.score.runs),
            *(_hundredths(row.score.dimensions[dimension.name]) for dimension in dimensions),
            *(share(row.health.failed_share), share(row.health.cut_off_share)),
        )
        for row in rows
        for rerun in (row.uncertainty.index.rerun,)
    ]
    lows = [d.interval[0] for row in cells for d in row if isinstance(d, Drawn) and d.interval]
    least = min([*lows, *(row.score.index or 0.0 for row in rows)], default=0.0)
    several = any(row.uncertainty.standing for row in rows)
    columns = [
        Column("Possible ranks", short="may\nrank") if several else Column("Rank"),
        Column("Subject", words=True, on="terminal", labels=True),
        Column("", words=True, on="terminal"),
        *(Column("Subject", words=True, on="report"), Column("Index")),
        Column("Rerun CI", short="rerun\n95% CI")
        if own
        else Column("CI over runs", short="CI over\nruns"),
        *((Column("New scenarios CI", short="new\nscenarios\n95% CI", spare=1),) if own else ()),
        *((Column("CI as published", short="CI as\npublished"),) if published else ()),
        Column("Rerun CI, drawn", on="terminal", drawn=(10.0 * (least // 10), 100.0)),
        Column("Runs", spare=2),
        *(dimension_column(d) for d in dimensions),
        *(
            Column("Failed", short="failed\ncalls", on="terminal", spare=4),
            Column("Cut off", on="terminal", spare=4),
        ),
    ]
    return Table(columns, cells, gap=0)


def weighted(protocol: Protocol, marks: Collection[str] | None = None) -> list[Dimension]:
    """The dimensions that count in the index, and consist of some of *marks*; None: of any."""
    return [
        dimension
        for dimension in protocol.dimensions
        if dimension.weight and (marks is None or {*dimension.marks} & {*marks})
    ]


def signs(row: Row) -> str:
    """What follows a label in a ranking; `cautions` say what it means."""
    return (
        tied(row)
        + (THINKS if row.thinks else "")
        + (SMALL if very_small(row) else "")
        + (DOUBTED if row.doubt else "")
    )


def doubt_text(row: Row) -> str | None:
    """Why the label of *row* may be taken for another one, after it is written out in ASCII; None:
    it may not.
    """
    if row.doubt is None:
        return None
    like, scripts = row.doubt.reads_like, row.doubt.mixed_scripts
    more = f" and {len(like) - 1} more" if len(like) > 1 else ""
    why = [f"reads like {like[0]}{more}"] if like else []
    why += [f"has {' and '.join(scripts)} letters in one word"] if scripts else []
    return f"{written_out(row.subject.label)} {' and '.join(why)}"


def very_small(row: Row) -> bool:
    """Whether the subject is the model of the demonstration, by today's name or by that of earlier
    stores.
    """
    return row.subject.endpoint == "embedded" or (row.subject.endpoint, row.subject.model) == (
        GGUF,
        SMOLLM2,
    )


def dimension_column(dimension: Dimension) -> Column:
    """A column headed by the dimension's title, a word a line."""
    words = label_text(dimension.title.lower()).replace("-", "-\n").replace(" ", "\n")
    return Column(Prose(dimension.title), short=words, spare=3)


# ---------------------------------------------------------------- one subject


def marks_table(
    protocol: Protocol, row: Row, scored: Mapping[str, tuple[int, int]] | None = None
) -> Table:
    """Every mark and the index, run by run. *scored*: transcripts that have the mark, and those
    planned for it; other marks are left out.
    """
    runs = row.runs.values()
    rows: list[Cells] = [
        (
            *(Prose(mark_words(name)), scale(protocol.mark(name)), number(mean, 2)),
            "{} of {}".format(*scored[name]) if scored else "",
            *(number(run.means[name], 2) for run in runs),
        )
        for name, mean in row.score.means.items()
        if scored is None or name in scored
    ]
    whole = f"{sum(run.index is not None for run in runs)} of {plural(len(runs), 'run')}"
    indices = [number(run.index, 1) for run in runs]
    rows.append((Strong("index"), "0-100", Strong(number(row.score.index, 1)), whole, *indices))
    columns = [
        *(
            Column("Mark", words=True),
            Column("Scale"),
            Column("Mean", style="bold"),
            Column("Scored", on="report"),
        ),
        *(Column(f"Run {run}") for run in row.runs),
    ]
    return Table(columns, rows, gap=2)


def health_table(rows: Sequence[Row]) -> Table:
    """A line for each of *rows*: what its index was made of; with shares in a report, which has
    room for them.
    """
    cells: list[Cells] = []
    for row in rows:
        health = row.health
        invalid, cut = f"{health.invalid:,}", f"{health.cut_off:,}"
        cells.append(
            (
                *(Name(row.label), ranks(row), number(row.score.deviation, 1)),
                *(
                    f"{health.judged} of {health.transcripts}",
                    f"{health.replies:,}",
                ),
                *(f"{invalid} ({share(health.invalid_share)})", share(health.failed_share)),
                *(
                    f"{cut} ({share(health.cut_off_share)})",
                    cut,
                    f"{health.plain_text:,}",
                    f"{health.reasoned:,}",
                    f"{health.reasoned:,} ({share(health.reasoned_share)})",
                    tokens_text(row.reasoning_tokens),
                ),
                *(invalid, f"{health.judge_failed:,}"),
            )
        )
    columns = [
        *(Column("Subject", words=True, labels=True), Column("Rank", on="terminal")),
        Column("SD", on="terminal", spare=2),
        *(
            Column("Judged"),
            Column("Replies"),
            Column("Invalid", on="report"),
            Column("Failed attempts", on="report"),
        ),
        *(Column("Cut off", on="report"), Column("Cut off", short="cut\noff", on="terminal")),
        *(
            Column("Plain text", short="plain\ntext", spare=1),
            Column("Reasoned", on="terminal", spare=1),
            Column("Reasoned", on="report"),
            Column("Reasoning tokens", short="reasoning\ntokens", spare=1),
        ),
        *(Column("Invalid", on="terminal"), Column("Judge failed", short="judge\nfailed")),
    ]
    brief = (
        "judged: conversations with a verdict, of those planned. plain text: without the tool "
        "call. reasoning tokens: of a mean reply."
    )
    legend = (
        "{SD}: standard deviation of the runs' indices. {Judged}: conversations with a verdict, of "
        "those planned. {Replies}: of them those that the token limit cut off, that are in plain "
        "text, without calling the tool, that came with reasoning, and that are invalid. "
        f"{REASONING_TOKENS} {{Judge failed}}: conversations on which the judge gave no valid "
        "verdict."
    )
    return Table(columns, cells, legend, gap=0, brief=brief)


def apart(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Of *rows* that are not ranked: the incomplete, and the excluded."""
    return [row for row in rows if row.excluded is None], [
        row for row in rows if row.excluded is not None
    ]


def not_ranked(rows: Sequence[Row]) -> str:
    """How many of *rows*, none of which is ranked, are incomplete, and how many excluded."""
    missing, excluded = map(len, apart(rows))
    return f"{missing} incomplete" + (f", {excluded} excluded" if excluded else "")


def unranked(protocol: Protocol, rows: Sequence[Row], why: str = "What is missing") -> Table:
    """Who is not ranked: what each has, what it lacks and *why*."""
    # of a dimension that no subject has there is nothing to show
    there = [
        d
        for d in protocol.dimensions
        if d.weight and any(row.score.dimensions[d.name] is not None for row in rows)
    ]
    cells: list[Cells | Remark] = []
    for row in rows:
        missing = Prose("; ".join(_missing(row)))
        health = row.health
        cells.append(
            (
                Name(row.label) if row.doubt is None else (Name(row.label), f" {DOUBTED}"),
                f"{health.judged} of {health.transcripts}",
                f"{len(row.whole)} of {len(row.runs)}",
                number(mean_of(row.whole), 1),
                *(_hundredths(row.score.dimensions[d.name]) for d in there),
                *(
                    share(one)
                    for one in (health.invalid_share, health.failed_share, health.cut_off_share)
                ),
                missing,
            )
        )
        cells.append(Remark(missing))
    columns = [
        *(
            Column("Subject", words=True, labels=True),
            Column("Judged"),
            Column("Whole runs", short="whole\nruns"),
        ),
        Column("Their mean index", short="mean\nindex"),
        *map(dimension_column, there),
        *(
            Column("Invalid", spare=1),
            Column("Failed", short="failed\ncalls", spare=2),
            Column("Cut off", spare=2),
        ),
        Column(why, words=True, on="report"),
    ]
    dimensions = " Dimensions, 0-100: where all marks of all its runs are there." if there else ""
    only = "Only subjects with every mark of every run are ranked"
    brief = f"Below each: {why.lower()}. {only}."
    legend = (
        "{Judged}: conversations with a verdict, of those planned in the runs that were begun. "
        "{Their mean index}: of "
        "the whole runs. {Invalid}, {Cut off}: of the replies; {Failed}: of the attempts at them. "
        f"{only}.{dimensions}"
    )
    return Table(columns, cells, legend, gap=0, brief=brief)


def _hundredths(dimension: float | None) -> str:
    return number(None if dimension is None else 100 * dimension, 0)


def _missing(row: Row) -> Iterator[str]:
    yield from row.missing
    for configuration, score in row.by_configuration.items():
        if score.index is not None:
            yield f"{configuration} by itself is complete, with an index of {score.index:.1f}"


# ---------------------------------------------- what is said of a board and its rows in every table


def judged_by(board: Board) -> str:
    """Whose marks a board's numbers are made of, and which judge is the main one where there are
    several.
    """
    if board.judge is None:
        return "none yet"
    remarks = ["a demonstration"] if board.demonstration else []
    if len(board.judges) > 1:
        main = board.main_judge == board.judge
        remarks.append(
            f"the main one of {len(board.judges)}"
            if main
            else f"the main one is {board.main_judge}"
        )
    return label_text(board.judge) + (f" ({label_text('; '.join(remarks))})" if remarks else "")


def examined_by(board: Board) -> tuple[Legend, ...]:
    """What the exam says of the judge or jury, a line, once a screen; () where it says nothing."""
    line = exam_line(board.exam)
    return () if line is None else (Legend(Prose(line), Prose(line)),)


def made_by(board: Board) -> tuple[str, ...]:
    """The rules of a board's numbers, where they are not our own; else ()."""
    return () if board.rules == OWN.name else (f"{board.rules} rules, not our own",)


def ranks(row: Row) -> str:
    """The ranks that a subject may have: 3, or 1–12; its place in the order where nothing is known
    of that; or none.
    """
    standing = row.uncertainty.standing
    if standing is None:
        return "–" if row.rank is None else str(row.rank)
    return (
        str(standing.rank_low) if standing.certain else f"{standing.rank_low}–{standing.rank_high}"
    )


def tied(row: Row) -> str:
    """≈ for a subject that may be first, as others may; else nothing."""
    standing = row.uncertainty.standing
    return TIED if standing and standing.tied_with_best and not standing.certain else ""


def of_runs(board: Board) -> list[str]:
    """Whether the runs of the ranked are independent, and in how many sittings they were made, a
    sentence each.
    """
    if board.uncertainty is None:
        return []
    sittings = board.uncertainty.of_sittings()
    sentences = [*board.uncertainty.of_runs(), *([str(sittings)] if sittings else [])]
    return [f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences]


def intervals(board: Board) -> list[str]:
    """What a ranking's intervals and ranks are, a sentence each; [] where it has none."""
    if board.uncertainty is None or not board.ranked:
        return []
    sure, sentences = board.ranked[0].uncertainty, []
    if sure.index != Uncertainty():
        kinds = [RERUN] if sure.index.rerun else []
        kinds += [NEW] if sure.index.new_scenarios else []
        sentences.append(f"CI: 95% confidence interval of the index; {'; '.join(kinds)}.")
    if sure.standing is not None:
        sentences.append(
            "Possible ranks: those that a subject may have on this test, by comparison with "
            "every other one (Bonferroni); they hold for each row by itself at 95%."
        )
    return sentences


def over_runs(board: Board) -> list[str]:
    """What the intervals of a ranking by other rules than our own are, in sentences; [] by our
    own.
    """
    if board.rules == OWN.name or not board.ranked:
        return []
    sentence = (
        "CI over runs: the interval of the published leaderboard, a percentile bootstrap over "
        "runs with 10,000 draws. It is called 95% and covers 50 to 85%"
    )
    if any(row.as_published for row in board.ranked):
        sentence += "; as published: the one that came with the imported data"
    return [f"{sentence} (docs/research/coverage.md)."]


def why_no_interval(board: Board) -> list[str]:
    """Why a ranking, or a row of it, has no intervals of one kind or the other, a sentence each."""
    reasons = list(board.uncertainty.why_no_interval() if board.uncertainty else ())
    return [f"There is {reason}." for reason in reasons]


def of_judges(board: Board) -> list[str]:
    """Whether the noise of judges is in a ranking's intervals, in a sentence; [] where it has
    none.
    """
    if board.uncertainty is None or not board.ranked:
        return []
    if len(board.jurors) > 1:
        return [f"The intervals include how much {len(board.jurors)} judges differ."]
    if board.judge is not None:
        return ["The intervals do not cover how another judge would have marked."]
    return []


# ---------------------------------------------------------------- what the exam says of the judge
# with a date and not with how long ago that was, so that the same store gives the same bytes


FIT_TEXT: Mapping[Fit, str] = {
    "ranking": "fit for ranking",
    "not fit": "not fit for ranking",
    "not known": "fitness not known",
}


def exam_line(exam: BoardExam | None) -> str | None:
    """exam: kappa 0.86, fit for ranking, 2026-01-31. None for marks of people and simulated judges,
    and for none.

    Kappa is that of the weakest rubric, which the fitness is of, too. Labels in it are harmless on
    one line.
    """
    if exam is None:
        return None
    if exam.no_questions:
        return "exam: it has no questions for what is marked here"
    if exam.standing is None:
        if not exam.lacking:
            return None
        return _not_sat(
            f"of the jury {', '.join(map(label_text, exam.lacking))}" if exam.jury else "the judge",
            [exam],
        )
    standing = exam.standing
    kappa = [] if standing.kappa is None else [f"kappa {number(standing.kappa, 2)}"]
    missing = [f"{plural(len(standing.missing), 'rubric')} not sat"] if standing.missing else []
    of = "exam of the jury" if exam.jury else "exam"
    parts = [*kappa, FIT_TEXT[standing.result.fitness.fit], *missing]
    return f"{of}: {', '.join(parts)}, {standing.result.when:%Y-%m-%d}"


def exam_lines(exams: Sequence[tuple[str, BoardExam | None]]) -> list[str]:
    """The same of several judges, with what each is called; who has not sat is in one line, the
    last.
    """
    if len(exams) == 1:
        return [line for _, exam in exams if (line := exam_line(exam))]
    said, absent = defaultdict[str, list[str]](list), dict[str, BoardExam]()
    for name, exam in exams:
        if exam and exam.lacking and not exam.standing and not exam.no_questions:
            absent[label_text(name)] = exam
        elif line := exam_line(exam):
            said[line].append(label_text(name))
    lines = [f"{', '.join(who)}: {line}" for line, who in said.items()]
    return [*lines, _not_sat(", ".join(absent), list(absent.values()))] if absent else lines


def _not_sat(who: str, exams: Sequence[BoardExam]) -> str:
    """*who* has not, and the command that has them sit."""
    has = "have" if sum(len(exam.lacking) for exam in exams) > 1 else "has"
    sit = " ".join(f"-j {shlex.quote(label_text(name))}" for exam in exams for name in exam.typed)
    return f"{who} {has} not sat the exam" + (f": aib exam {sit}" if sit else "")
