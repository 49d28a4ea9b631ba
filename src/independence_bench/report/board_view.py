"""A board: its ranking, who is incomplete, every mark run by run. Computes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from independence_bench.analysis.leaderboard import Board, Row
from independence_bench.analysis.rule_differences import RuleDifference
from independence_bench.analysis.run_times import run_times_note
from independence_bench.analysis.uncertainty import Uncertainty
from independence_bench.escape import label_text
from independence_bench.protocol.definition import Configuration, Dimension, Protocol
from independence_bench.protocol.scoring import OWN
from independence_bench.report.branches_view import branch_blocks, no_index, rule_table, stem_notes
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
    Title,
    columns_of,
    listed,
)

THINKS, EMBEDDED, TIED = "†", "‡", "≈"
MEDALS = {1: "🥇", 2: "🥈", 3: "🥉"}


def board_view(board: Board, detailed: bool = False) -> Iterator[Block]:
    """One ranking, its incomplete subjects below it, and what its columns mean; for a terminal."""
    configuration = " + ".join(str(c) for c in board.configurations)
    title = ("Independence Index, protocol ", Prose(board.protocol_name))
    yield Title(title, aside=(" (", Prose(board.protocol.title), ")"))
    yield Note(" · ".join([configuration, f"judge: {judged_by(board)}", *made_by(board)]))
    if board.ranked:
        yield ranking(board)
        yield Note(_legend(board))
        yield from (Note(Prose(line)) for line in stem_notes(board))
        if len(board.configurations) > 1:
            yield Title("Index of each configuration by itself")
            yield _apart(board)
    if detailed:
        for place, row in enumerate(board.ranked):
            yield from _details(board, row, explained=not place)
    if board.incomplete:
        yield Title("Incomplete, not ranked")
        yield from (Note(Prose(line)) for line in no_index(board))
        yield incomplete(board)
    yield from rule_table(board.rows if detailed else board.incomplete)


def ranking(board: Board) -> Table:
    """A row for each ranked subject, a column for each dimension that counts."""
    dimensions = [d for d in board.protocol.dimensions if d.weight]
    rows: list[Cells] = [
        (
            *(ranks(row), (Name(row.label), f" {signs(row)}" if signs(row) else "")),
            listed([*filter(None, [medal(board, row)]), Name(row.label), *signs(row)], " "),
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


def _apart(board: Board) -> Table:
    """A row for each ranked subject, a column for each configuration of the pool."""

    def with_interval(row: Row, configuration: Configuration) -> str:
        sure = row.uncertainty_by_configuration.get(configuration)
        interval = f" ({between(sure.again, 0)})" if sure and sure.again else ""
        return f"  {number(row.by_configuration[configuration].index, 1)}{interval}"

    letters = [chr(ord("A") + number) for number in range(len(board.configurations))]
    named = ", ".join(f"{letter} {c}" for letter, c in zip(letters, board.configurations, strict=True))
    return Table(
        columns_of("subject", *(f"  {letter}" for letter in letters)),
        [(Name(row.label), *(with_interval(row, c) for c in board.configurations)) for row in board.ranked],
        f"{named}. In brackets: the same test again, 95 %. The ranking is by all of them together.",
        gap=0,
    )


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
            *(Prose(name.replace("_", " ")), scale(protocol.units.mark(name)), number(mean, 2)),
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


def _details(board: Board, row: Row, explained: bool) -> Iterator[Block]:
    yield Title(Name(row.label))
    yield marks_table(board.protocol, row)
    if row.branches:
        yield from branch_blocks(row.branches, explained)
    if sure := _sure(row):
        yield Note(sure)
    health = row.health
    yield Note(
        f"{health.judged} of {health.transcripts} transcripts judged{without_view(row)}, {health.replies} replies, "
        f"{health.cut_off} cut off, {health.plain_text} in plain text instead of the tool, "
        f"{health.reasoned} with reasoning, {health.invalid} invalid, {health.judge_failed} failed by the judge"
    )


def without_view(row: Row) -> str:
    """How many conversations have nothing to judge, as no option was taken in them; nothing for none."""
    return f" ({row.health.without_view} without a view)" if row.health.without_view else ""


def _sure(row: Row) -> str:
    """How sure the numbers are; nothing where nothing is known of that."""
    sure, standing = row.uncertainty, row.uncertainty.standing
    said = [] if row.score.deviation is None else [f"standard deviation of the runs' indices {row.score.deviation:.1f}"]
    for kind in ("again", "another"):
        inside = {name: getattr(one.scaled(100), kind) for name, one in sure.dimensions.items()}
        if index := getattr(sure.index, kind):
            parts = [f"{name.replace('_', ' ')} {between(interval)}" for name, interval in inside.items() if interval]
            said.append(", ".join([f"{kind}: index {between(index)}", *parts]))
    if standing is not None:
        said.append(f"ranks {ranks(row)}, ties {standing.groups}")
    return "; ".join(said)


def incomplete(board: Board) -> Entries:
    """Who is not ranked: what each has, what it lacks and why."""
    return Entries([(Name(row.label), [Prose(line) for line in _incomplete_lines(row)]) for row in board.incomplete])


def _incomplete_lines(row: Row) -> Iterator[str]:
    health = row.health
    yield (
        f"{health.judged} of {health.transcripts} conversations judged{without_view(row)}; of {health.replies} replies "
        f"{share(health.invalid_share)} invalid, {share(health.cut_off_share)} cut off; "
        f"{share(health.failed_share)} of attempts failed"
    )
    yield from row.missing
    for configuration, score in row.by_configuration.items():
        if score.index is not None:
            yield f"{configuration} by itself is complete, with an index of {score.index:.1f}"
    if whole := [score.index for score in row.runs.values() if score.index is not None]:
        runs = "run is" if len(whole) == 1 else "runs are"
        mean = sum(whole) / len(whole)
        yield f"{len(whole)} of {len(row.runs)} {runs} complete, with a mean index of {mean:.1f}"


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


# ---------------------------------------------------------------- what is said of a board and its rows in every table


def judged_by(board: Board) -> str:
    """Whose marks a board's numbers are made of, and which judge is the main one where there are several."""
    if board.judge is None:
        silent = all(row.health.complete == row.health.without_view > 0 for row in board.rows)
        return "none, as no option was taken" if silent else "none yet"
    said = [] if not board.by_table else ["for demos"]
    if len(board.judges) > 1:
        main = board.main_judge == board.judge
        said.append(f"the main one of {len(board.judges)}" if main else f"the main one is {board.main_judge}")
    return label_text(board.judge) + (f" ({label_text('; '.join(said))})" if said else "")


def made_by(board: Board) -> tuple[str, ...]:
    """The rules behind a board's numbers, where they are not our own; else ()."""
    return () if board.rules == OWN.name else (f"{board.rules} rules, not our own",)


def ranks(row: Row) -> str:
    """The ranks that a ranked subject may have: 3, or 1–12; its place in the order where nothing is known of that."""
    standing = row.uncertainty.standing
    if standing is None:
        return str(row.rank)
    return str(standing.rank_low) if standing.certain else f"{standing.rank_low}–{standing.rank_high}"


def medal(board: Board, row: Row) -> str:
    """A medal for a rank that is certain, and 1, 2 or 3; none by a judge for demos, or where nobody else is ranked."""
    standing = row.uncertainty.standing
    if board.by_table or board.judge is None or len(board.ranked) < 2:
        return ""
    return MEDALS.get(standing.rank_low, "") if standing and standing.certain else ""


def tied(row: Row) -> str:
    """≈ for a subject that cannot be told from the best one; else nothing."""
    standing = row.uncertainty.standing
    return TIED if standing and standing.tied_with_best and not standing.certain else ""


def of_runs(board: Board) -> list[str]:
    """Whether the runs of the ranked are independent, and what their times leave open, a sentence each."""
    said = [f"{one[0].upper()}{one[1:]}." for one in (board.uncertainty.of_runs() if board.uncertainty else ())]
    made = run_times_note([row.made for row in board.ranked if row.made])
    return [*said, made] if made else said


def doubts(board: Board) -> list[str]:
    """Notes on a ranking's intervals and ranks, a sentence each; [] where there are no intervals."""
    if board.uncertainty is None or not board.ranked:
        return []
    uncertainty = board.ranked[0].uncertainty
    said = []
    if uncertainty.index != Uncertainty():
        kinds = ["again: the same test again, over very many runs"] if uncertainty.index.again else []
        kinds += ["another: another test like it, with other scenarios too"] if uncertainty.index.another else []
        said.append(f"95 % intervals of the index, {'; '.join(kinds)}.")
    said += [f"There is {reason}." for reason in board.uncertainty.unsaid()]
    said += of_runs(board)
    if uncertainty.standing is not None:
        said.append(
            "#: the ranks that a subject may have on this test; the chance that any of them is wrong is at most 5 %, "
            "on boards and runs as docs/statistics.md names."
        )
    if any(tied(row) for row in board.ranked):
        said.append(f"{TIED} cannot be told from the best.")
    if len(board.jurors) > 1:
        said.append(f"The intervals include how much {len(board.jurors)} judges differ.")
    elif board.judge is not None:
        said.append("What another judge would have marked is not in the intervals.")
    return said
