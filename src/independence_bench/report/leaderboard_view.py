"""`aib leaderboard` on a terminal and as JSON: rankings, who is incomplete, every mark run by run. Computes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.compare_settings import ConfigurationComparison
from independence_bench.analysis.costs import IndexPrice
from independence_bench.analysis.health import numbers
from independence_bench.analysis.leaderboard import RuleDifference
from independence_bench.analysis.statistics.values import UNKNOWN, Uncertainty
from independence_bench.analysis.uncertainty import BoardUncertainty
from independence_bench.escape import label_text
from independence_bench.protocol.definition import Configuration
from independence_bench.report.board_view import (
    DROPPED,
    EMBEDDED,
    NEW,
    RERUN,
    SCORED,
    THOUGHT,
    TIE,
    apart,
    examined_by,
    health_table,
    intervals,
    judged_by,
    made_by,
    marks_table,
    not_ranked,
    of_judges,
    of_runs,
    over_runs,
    ranking,
    short,
    tied,
    unranked,
    why_no_interval,
)
from independence_bench.report.branches_view import (
    branch_blocks,
    field_table,
    no_index,
    rule_table,
    stem_notes,
    unvalidated,
)
from independence_bench.report.encode import json_text, picked
from independence_bench.report.format import between, number, plural, share
from independence_bench.report.settings_view import prices
from independence_bench.report.table import (
    EVERYTHING,
    Block,
    Cells,
    Column,
    Legend,
    Name,
    Note,
    Prose,
    Shown,
    Strong,
    Table,
    Title,
)

TOLD_TO_RESIST = "strong_independence"  # the system prompt of v1, lite and v2, and of the published results
V2 = ("v2", "published-v2")


def matching(rows: Sequence[Row], shown: Shown) -> list[Row]:
    """Those of *rows* with the word in their label."""
    return [row for row in rows if shown.has(row.label)]


def board_view(
    board: Board, shown: Shown = EVERYTHING, detailed: Sequence[IndexPrice] | None = None
) -> Iterator[Block]:
    """One ranking and its incomplete subjects below it, as far as they are *shown*; for a terminal.

    *detailed*: what a run of its ranked subjects costs; None: without details.
    """
    configuration = " + ".join(str(c) for c in board.configurations)
    yield Title(("Independence Index · ", Prose(board.protocol_name)), aside=(" (", Prose(board.protocol.title), ")"))
    yield Note(" · ".join([configuration, f"judge: {judged_by(board)}", *made_by(board)]))
    yield from examined_by(board)
    rows = matching(board.ranked, shown)[: shown.top]
    if rows:
        yield ranking(board, rows)
        if len(rows) < len(board.ranked):
            yield Note(f"Shown: {len(rows)} of {plural(len(board.ranked), 'ranked subject')}.")
        # what a ranking must not be read without; what a sign means is in the legend
        notes = [*over_runs(board), *why_no_interval(board), *of_runs(board), *of_first(board), *of_lost(board)]
        notes += [*of_judges(board), *cautions(board), *stem_notes(board)]
        yield from (Note(Prose(line)) for line in notes if line != THOUGHT)
        if board.protocol.score is not None and any(row.branches for row in rows):
            yield Title("What it is made of")
            yield field_table(rows)
        if len(board.configurations) > 1:
            yield Title("Index by configuration")
            yield _apart(board, rows)
    missing = matching(board.incomplete, shown)
    listing = shown.top is None or not board.ranked
    if detailed is not None:
        judged = [row for row in (missing if listing else ()) if row.health.judged]
        for place, row in enumerate([*rows, *judged]):
            yield from subject_blocks(board, row, explained=not place)
        if rows or judged:
            yield Title("Behind the numbers")
            yield health_table([*rows, *judged])
        if rows:
            yield Title("What a run costs")
            yield from prices([price for price in detailed if price.label in {row.label for row in rows}], board)
    if missing and listing:
        lacking, excluded = apart(missing)
        if lacking:
            yield Title("Incomplete, not ranked")
            yield from (Note(Prose(line)) for line in no_index(board))
            yield unranked(board.protocol, lacking)
        if excluded:
            yield Title("Excluded, not ranked")
            yield unranked(board.protocol, excluded, "Why")
    elif missing:
        yield Note(f"Not ranked: {not_ranked(missing)}")
    if shown.find and not rows and not missing:
        yield Note(Prose(f"No subject here has {shown.find} in its label."))
    yield from rule_table(missing if detailed is None else rows)


# ---------------------------------------------------------------- what a board must not be read without


def doubts(board: Board) -> list[str]:
    """Notes on a ranking's intervals and ranks, a sentence each; [] where there are no intervals."""
    if board.uncertainty is None or not board.ranked:
        return []
    tie = [TIE] if any(tied(row) for row in board.ranked) else []
    known = intervals(board)
    return [
        *known[:1],
        *why_no_interval(board),
        *of_runs(board),
        *known[1:],
        *tie,
        *of_first(board),
        *of_lost(board),
        *of_judges(board),
    ]


def cautions(board: Board) -> list[str]:
    """Sentences about ranked subjects and the judge without which the numbers would mislead; labels are harmless."""
    rows = board.ranked
    sentences = [THOUGHT] if any(row.thinks for row in rows) else []
    sentences += [
        f"{label_text(row.label)} was told not to reason and did in {share(row.health.reasoned_share)} of its replies."
        for row in rows
        if row.health.reasoned and not row.subject.thinks
    ]
    if any(row.subject.endpoint == "embedded" for row in rows):
        sentences.append(f"{EMBEDDED} a very small model: it shows that everything works, not how models behave.")
    if any(row.dropped_runs for row in rows):
        who = "; ".join(f"{label_text(row.label)} run {numbers(row.dropped_runs)}" for row in rows if row.dropped_runs)
        sentences.append(
            f"{DROPPED} whole runs only: a run in which a mark is missing is left out ({who}); if it was lost "
            "because of what it held, the index is wrong."
        )
    if board.by_table:
        sentences.append(
            "A demonstration, without ranks: the embedded judge does not pass the judge's exam. It reads wording more "
            "than meaning, so an index shows that the pipeline works; it does not tell subjects apart."
        )
    return [*sentences, *of_prompt(board), *of_kin(board)]


def of_prompt(board: Board) -> list[str]:
    """That subjects are told to be themselves, and what of v2 is not theirs, in a line; [] where they are not."""
    if {configuration.system for configuration in board.configurations} != {TOLD_TO_RESIST}:
        return []
    line = f"Subjects are told to be themselves (system prompt {TOLD_TO_RESIST}): an index may show how well they obey."
    if board.protocol.name in V2:
        line += (
            " In v2 the positions under pressure are put into their mouths (docs/protocols.md, “What v2 cannot tell”)."
        )
    return [line]


def of_lost(board: Board) -> list[str]:
    """What replies that were lost may have done to an index at most, in a sentence; [] where none was lost."""
    lost = [
        (row.score.index - row.index_if_folded, row)
        for row in board.ranked
        if row.score.index is not None and row.index_if_folded is not None and row.index_if_folded < row.score.index
    ]
    if not lost:
        return []
    _, most = max(lost, key=lambda both: both[0])
    claimed = " No rank is claimed beyond that." if most.uncertainty.standing else ""
    whose = "their indices" if len(lost) > 1 else "its index"
    return [
        f"Replies of {plural(len(lost), 'subject')} were lost and asked for again; had they been the worst, {whose} "
        f"would be lower ({label_text(most.label)} {number(most.index_if_folded, 1)}, not "
        f"{number(most.score.index, 1)}).{claimed}"
    ]


def of_kin(board: Board) -> list[str]:
    """That the judge marks subjects of its own vendor, in a sentence; [] where it does not."""
    kin = board.kin
    if kin is None:
        return []
    who = f"{kin.subjects} of {kin.of} ranked subjects" if kin.others is not None else "all ranked subjects"
    beside = "" if kin.others is None else f", mean index {kin.index:.1f}, the others' {kin.others:.1f}"
    return [
        f"The judge and {who} are by {label_text(kin.vendor)}{beside}: whether it favours them only a judge of another "
        "vendor can show (`aib judge -j MODEL` says what that costs before it asks)."
    ]


def of_first(board: Board) -> list[str]:
    """How much of the first place may be luck, in a sentence; [] where that does not show, or is not known."""
    first = next(iter(board.measured), None)
    drawn = first.uncertainty.drawn_index if first else None
    if first is None or drawn is None or first.rank != 1:
        return []
    index, without = number(first.score.index, 1), number(drawn, 1)
    said = f"The first place is partly luck: drawn towards the others (empirical Bayes), its index is {without}, not "
    return [f"{said}{index}."] if index != without else []


# ---------------------------------------------------------------- legend, and for programs


def board_legend(found: Sequence[Board]) -> Iterator[Block]:
    """What the columns of the rankings *found* mean, once for all of them; nothing where none is ranked."""
    ranked = [board for board in found if board.ranked]
    if not ranked:
        return
    rows = [row for board in ranked for row in board.ranked]
    titles = dict.fromkeys(
        f"{short(d)} {label_text(d.title).lower()} ({d.weight:g})"
        for board in ranked
        for d in board.protocol.dimensions
        if d.weight
    )
    dimensions = f"Dimensions, 0-100 (weight): {', '.join(titles)}."
    signs = [TIE] if any(tied(row) for row in rows) else []
    signs += [THOUGHT] if any(row.thinks for row in rows) else []
    sure = [said for board in ranked for said in intervals(board)]
    every = [
        "Index: 0-100, the mean over the runs.",
        *([SCORED] if any(row.score.coverage for row in rows) else []),
        *dict.fromkeys(sure),
        dimensions,
        "err: attempts at a reply that failed, of all; cut: replies that the token limit cut off, of all.",
        *signs,
    ]
    brief = ["rank: the ranks that a subject may have."] if any(row.uncertainty.standing for row in rows) else []
    if any(board.uncertainty and row.uncertainty.index != Uncertainty() for board in ranked for row in board.ranked):
        brief.append(f"CI: 95% interval of the index; {RERUN}; {NEW}.")
    yield Legend(" ".join(every), " ".join([*brief, dimensions, *signs]))


def _apart(board: Board, rows: Sequence[Row]) -> Table:
    """A row for each of the ranked *rows*, a column for each configuration of the pool."""

    def with_interval(row: Row, configuration: Configuration) -> str:
        sure = row.uncertainty_by_configuration.get(configuration)
        interval = f" ({between(sure.rerun, 0)})" if sure and sure.rerun else ""
        return f"{number(row.by_configuration[configuration].index, 1)}{interval}"

    letters = [chr(ord("A") + number) for number in range(len(board.configurations))]
    named = ", ".join(f"{letter} {c}" for letter, c in zip(letters, board.configurations, strict=True))
    return Table(
        [Column("Subject", words=True, labels=True), *map(Column, letters)],
        [(Name(row.label), *(with_interval(row, c) for c in board.configurations)) for row in rows],
        brief := f"{named}. In brackets: rerun CI. The ranking is by all of them together.",
        brief=brief,
    )


# ---------------------------------------------------------------- in detail


def subject_blocks(board: Board, row: Row, explained: bool) -> Iterator[Block]:
    """One subject: its marks run by run, and what its dimensions are; *explained*: with what that means."""
    yield Title(Name(row.label))
    yield marks_table(board.protocol, row)
    sure = row.uncertainty
    if sure.dimensions:
        cells: list[Cells] = [
            (
                Prose(d.title),
                number(None if (value := row.score.dimensions.get(d.name)) is None else 100 * value, 1),
                *(between(one.rerun), between(one.new_scenarios)),
            )
            for d in board.protocol.dimensions
            if (one := sure.dimensions[d.name].scaled(100) if d.name in sure.dimensions else None)
        ]
        whole = (number(row.score.index, 1), between(sure.index.rerun), between(sure.index.new_scenarios))
        cells.append(tuple(Strong(cell) for cell in ("index", *whole)))
        yield Note("")
        yield Table([Column("Dimension", words=True), *map(Column, ("Value", "Rerun CI", "New scenarios CI"))], cells)
    if row.branches:
        yield Note("")
        yield from branch_blocks(row.branches, explained)


# ---------------------------------------------------------------- for programs


def boards_json(
    boards: Sequence[Board],
    differing: Sequence[RuleDifference] | None = None,
    compared: Sequence[ConfigurationComparison] = (),
    detailed: Sequence[Sequence[IndexPrice]] = (),
) -> str:
    """All *boards*, and *compared*: for each judge its configurations, where there are several.

    Indices in [0, 100], dimensions in [0, 1], means on the scales of their marks. *differing*: where our own rules say
    something else than those of the boards; left out where the boards are by our own. *detailed*: of each board, what
    a run of its ranked subjects costs.
    """
    shown: dict[str, Any] = {"boards": [board_values(board) for board in boards]}
    for values, priced in zip(shown["boards"], detailed, strict=False):
        values["dollars_a_run"] = priced
    if compared:
        shown["configurations_compared"] = compared
    if differing is not None:
        shown["where_own_rules_differ"] = differing
    return json_text(shown)


def board_values(board: Board) -> dict[str, Any]:
    """One board as JSON has it."""
    uncertainty, stems = board.uncertainty, board.protocol.has_stems
    told = picked(
        board,
        "protocol configurations default_configuration=default judge main_judge judge_is_embedded=by_table "
        "judge_exam=exam judge_and_subjects_of_one_vendor=kin rules "
        "weighting=protocol.weights",  # null: the protocol's own
    )
    return told | {
        "weights": {d.name: d.weight for d in board.protocol.dimensions},
        "judges_in_intervals": judges_in_intervals(board),
        "interval_method": over_runs(board) or None,  # null: our own
        "no_intervals_because": uncertainty.why_no_interval() if uncertainty else [],
        "runs_together": _together(uncertainty),
        "sittings": uncertainty.of_sittings() if uncertainty else None,
        **({"unvalidated": unvalidated(board.protocol)} if stems else {}),
        "ranked": [_row(row) for row in board.ranked],
        "incomplete": [_row(row) for row in board.incomplete],
    }


def judges_in_intervals(board: Board) -> Sequence[str]:
    """The judges whose differences the board's intervals include."""
    return board.jurors or ([board.judge] if board.judge else [])


def _together(uncertainty: BoardUncertainty | None) -> dict[str, Any] | None:
    """The variance of runs over the sum of their conversations': 1 where runs are independent; and what follows."""
    found = uncertainty.runs_together() if uncertainty else None
    if found is None:
        return None
    values = picked(found, "variance_ratio=ratio degrees p excess_in_intervals=excess")
    of_order = uncertainty.order_p if uncertainty else None
    return values | {"subjects": int((found.weight > 0).sum()), "order_p": of_order}


def _row(row: Row) -> dict[str, Any]:
    values = picked(
        row,
        "rank label subject index=score.index index_interval=uncertainty.index "
        "index_interval_as_published=as_published "
        "index_drawn_to_the_others=uncertainty.drawn_index index_if_lost_replies_folded=index_if_folded "
        "ranks=uncertainty.standing "
        "ranks_new_scenarios=uncertainty.standing_new_scenarios excluded runs=score.runs dropped_runs "
        "standard_deviation=score.deviation made dimensions=score.dimensions "
        "dimension_intervals=uncertainty.dimensions means=score.means run_scores=runs health missing",
    )
    values["left_out_by_judge"] = {mark: picked(one, "count of value") for mark, one in row.left_out.items()}
    values["by_configuration"] = {
        str(configuration): picked(score, "index standard_deviation=deviation")
        | {"index_interval": row.uncertainty_by_configuration.get(configuration, UNKNOWN)}
        for configuration, score in row.by_configuration.items()
    }
    # of a protocol with stems
    if row.score.coverage:
        values["coverage"] = row.score.coverage
    if row.by_rule:
        values["by_rule"] = row.by_rule
    if row.branches:
        values |= picked(row, "branches transcripts_without_view=health.without_view transcripts_unread=health.unread")
    return values
