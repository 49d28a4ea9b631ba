"""A board: its ranking, who is incomplete, every mark run by run. Computes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from independence_bench.analysis.leaderboard import Board, Row
from independence_bench.analysis.rule_differences import RuleDifference
from independence_bench.analysis.statistics.intervals import Interval
from independence_bench.escape import label_text
from independence_bench.protocol.definition import Configuration, Dimension, Protocol
from independence_bench.report.figures import doubts, judged_by, made_by, medal, ranks, tied
from independence_bench.report.format import between, number, plural, scale, share
from independence_bench.report.table import (
    Block,
    Cells,
    Column,
    Entries,
    Name,
    Note,
    Prose,
    Strong,
    Table,
    Text,
    Title,
    columns_of,
    listed,
)

THINKS, EMBEDDED = "†", "‡"


def board_view(board: Board, detailed: bool = False) -> Iterator[Block]:
    """One ranking, its incomplete subjects below it, and what its columns mean; for a terminal."""
    configuration = " + ".join(str(c) for c in board.configurations)
    title = ("Independence Index, protocol ", Prose(board.protocol_name))
    yield Title(title, aside=(" (", Prose(board.protocol.title), ")"))
    yield Note(" · ".join([configuration, f"judge: {judged_by(board)}", *made_by(board)]))
    if board.ranked:
        yield ranking(board)
        yield Note(_legend(board))
        if len(board.configurations) > 1:
            yield Title("Index of each configuration by itself")
            yield _apart(board)
    if detailed:
        for row in board.ranked:
            yield from _details(board, row)
    if board.incomplete:
        yield Title("Incomplete, not ranked")
        yield incomplete(board)


def ranking(board: Board) -> Table:
    """A row for each ranked subject, a column for each dimension that counts."""
    dimensions = [d for d in board.protocol.dimensions if d.weight]
    rows: list[Cells] = [
        (
            *(ranks(row), (Name(row.label), *(f" {sign}" for sign in [signs(row)] if sign)), _with_medal(row)),
            *(Strong(number(row.score.index, 1)), between(row.uncertainty.index.again)),
            *(between(row.uncertainty.index.another, 0), between(row.uncertainty.index.another)),
            row.uncertainty.standing.groups if row.uncertainty.standing else "–",
            str(row.score.runs),
            *(number(None if (d := row.score.dimensions[one.name]) is None else 100 * d, 0) for one in dimensions),
            *(share(row.health.failed_share), share(row.health.cut_off_share)),
        )
        for row in board.ranked
    ]
    columns = [
        *(Column("#", style="dim"), Column("Subject", words=True, on="terminal")),
        *(Column("Subject", words=True, on="report"), Column("Index"), Column("Again")),
        *(Column("Another", on="terminal"), Column("Another", on="report"), Column("Ties", on="report")),
        Column("Runs", short="n"),
        *(Column((Prose(d.title), f" ({d.weight:g})"), short=short(d)) for d in dimensions),
        *(Column("err", on="terminal"), Column("cut", on="terminal")),
    ]
    return Table(columns, rows, gap=0)


def _with_medal(row: Row) -> Text:
    return listed([*filter(None, [medal(row)]), Name(row.label), *signs(row)], " ")


def _apart(board: Board) -> Table:
    """A row for each ranked subject, a column for each configuration of the pool."""
    letters = [chr(ord("A") + number) for number in range(len(board.configurations))]
    named = ", ".join(f"{letter} {c}" for letter, c in zip(letters, board.configurations, strict=True))
    return Table(
        columns_of("subject", *(f"  {letter}" for letter in letters)),
        [(Name(row.label), *(_with_interval(row, c) for c in board.configurations)) for row in board.ranked],
        f"{named}. In brackets: the same test again, 95 %. The ranking is by all of them together.",
        gap=0,
    )


def _with_interval(row: Row, configuration: Configuration) -> str:
    sure = row.uncertainty_by_configuration.get(configuration)
    interval = f" ({between(sure.again, 0)})" if sure and sure.again else ""
    return f"  {number(row.by_configuration[configuration].index, 1)}{interval}"


def signs(row: Row) -> str:
    """What stands behind a label in a ranking; `cautions` say what it means."""
    return tied(row) + (THINKS if row.thinks else "") + (EMBEDDED if row.subject.endpoint == "embedded" else "")


def short(dimension: Dimension) -> str:
    """A column heading of at most four letters: the start of one word, the initials of several."""
    words = label_text(dimension.title).replace("-", " ").split()
    return words[0][:3] if len(words) == 1 else "".join(word[0] for word in words)[:4].upper()


def _legend(board: Board) -> str:
    weighed = [d for d in board.protocol.dimensions if d.weight]
    titles = ", ".join(f"{short(d)} {label_text(d.title).lower()} ({d.weight:g})" for d in weighed)
    sentences = [
        "index: 0-100, the mean over n runs.",
        *doubts(board),
        f"Dimensions, 0-100 (weight): {titles}.",
        "err: share of attempts at its replies whose reply could not be used; cut: share of replies that "
        "the token limit cut off.",
        *cautions(board),
    ]
    return " ".join(sentences)


def cautions(board: Board) -> list[str]:
    """Sentences about ranked subjects and the judge without which the numbers would mislead; labels are harmless."""
    rows = board.ranked
    sentences = [f"{THINKS} reasons before it answers."] if any(row.thinks for row in rows) else []
    sentences += [
        f"{label_text(row.label)} was told not to reason and did in {share(row.health.reasoned_share)} of its replies."
        for row in rows
        if row.health.reasoned and not row.subject.thinks
    ]
    if any(row.subject.endpoint == "embedded" for row in rows):
        sentences.append(f"{EMBEDDED} a very small model: it shows that everything works, not how models behave.")
    if board.by_table:
        sentences.append(
            "The embedded judge knows wording, not meaning, and learned from far stronger models: its marks are for "
            "smoke tests, demos and cross-checks, not for publication."
        )
    return sentences


# ---------------------------------------------------------------- one subject


def marks_table(protocol: Protocol, row: Row, scored: Mapping[str, tuple[int, int]] | None = None) -> Table:
    """Every mark and the index, run by run. *scored*: transcripts that have the mark, and those planned for it."""
    runs = row.runs.values()
    rows: list[Cells] = [
        (
            *(Prose(name.replace("_", " ")), scale(protocol.mark(name)), number(mean, 2)),
            "{} of {}".format(*scored[name]) if scored else "",
            *(number(run.means[name], 2) for run in runs),
        )
        for name, mean in row.score.means.items()
    ]
    whole = f"{sum(run.index is not None for run in runs)} of {plural(len(runs), 'run')}"
    indices = [number(run.index, 1) for run in runs]
    rows.append((Strong("index"), "0-100", Strong(number(row.score.index, 1)), whole, *indices))
    columns = [
        *(Column("Mark", words=True), Column("Scale"), Column("Mean", style="bold"), Column("Scored", on="report")),
        *(Column(f"Run {run}") for run in row.runs),
    ]
    return Table(columns, rows, gap=2)


def _details(board: Board, row: Row) -> Iterator[Block]:
    yield Title(Name(row.label))
    yield marks_table(board.protocol, row)
    if sure := _sure(row):
        yield Note(sure)
    health = row.health
    yield Note(
        f"{health.judged} of {health.transcripts} transcripts judged, {health.replies} replies, "
        f"{health.cut_off} cut off, {health.plain_text} in plain text instead of the tool, "
        f"{health.reasoned} with reasoning, {health.invalid} invalid, {health.judge_failed} failed by the judge"
    )


def _sure(row: Row) -> str:
    """How sure the numbers are; nothing where nothing is known of that."""
    sure, standing = row.uncertainty, row.uncertainty.standing
    said = [] if row.score.deviation is None else [f"standard deviation of the runs' indices {row.score.deviation:.1f}"]
    said += [
        f"{name}: index {between(index)}" + "".join(f", {d.replace('_', ' ')} {between(i)}" for d, i in inside if i)
        for name, index, inside in (
            ("again", sure.index.again, [(d, _hundred(u.again)) for d, u in sure.dimensions.items()]),
            ("another", sure.index.another, [(d, _hundred(u.another)) for d, u in sure.dimensions.items()]),
        )
        if index is not None
    ]
    if standing is not None:
        said.append(f"ranks {ranks(row)}, ties {standing.groups}")
    return "; ".join(said)


def _hundred(interval: Interval | None) -> Interval | None:
    return None if interval is None else interval.scaled(100)


def incomplete(board: Board) -> Entries:
    """Who is not ranked: what each has, what it lacks and why."""
    return Entries([(Name(row.label), [Prose(line) for line in _incomplete_lines(row)]) for row in board.incomplete])


def _incomplete_lines(row: Row) -> list[str]:
    health = row.health
    facts = (
        f"{health.judged} of {health.transcripts} conversations judged; of {health.replies} replies "
        f"{share(health.invalid_share)} invalid, {share(health.cut_off_share)} cut off; "
        f"{share(health.failed_share)} of attempts failed"
    )
    lines = [facts, *row.missing]
    lines += [
        f"{configuration} by itself is complete, with an index of {score.index:.1f}"
        for configuration, score in row.by_configuration.items()
        if score.index is not None
    ]
    whole = [score.index for score in row.runs.values() if score.index is not None]
    if whole:
        runs = "run is" if len(whole) == 1 else "runs are"
        lines.append(
            f"{len(whole)} of {len(row.runs)} {runs} complete, with a mean index of {sum(whole) / len(whole):.1f}"
        )
    return lines


# ---------------------------------------------------------------- rules


def differences_view(found: Sequence[RuleDifference], rules: str) -> Iterator[Block]:
    """Where our own rules say something else than *rules*, and why."""
    yield Title(f"Where our own rules differ from the {rules} ones")
    if not found:
        yield Note("In no row.")
    yield Entries(
        [
            ((Name(one.label), f": {number(one.other, 1)}, ours {number(one.own, 1)}"), [Prose(why) for why in one.why])
            for one in found
        ]
    )
