"""The notes of a ranking without which it would mislead, as sentences and in a few words each.
Computes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.lookalikes import written_out
from independence_bench.analysis.statistics.shared_effects import NOTABLE
from independence_bench.escape import label_text, name_text
from independence_bench.figures import number, plural, share
from independence_bench.models.spec import SIMULATED, vendor_of
from independence_bench.report.board_view import (
    DOUBTED,
    SMALL,
    THOUGHT,
    TIE,
    intervals,
    of_judges,
    of_runs,
    tied,
    very_small,
    why_no_interval,
)
from independence_bench.report.table import Legend

# the system prompt of v1, lite and v2, and of the published results
TOLD_TO_RESIST = "strong_independence"
V2 = ("v2", "published-v2", "published-v2-copy")
MOST_DOUBTS = 6  # labels of which it is said why they may be taken for others


def doubts(board: Board) -> list[str]:
    """Return the notes on a ranking's intervals and ranks, a sentence each; [] if there are no
    intervals.
    """
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
        *of_lost(board),
        *of_judges(board),
    ]


def cautions(board: Board) -> list[str]:
    """Return sentences about ranked subjects and the judge without which the numbers would mislead;
    labels in them are escaped.
    """
    rows = board.ranked
    sentences = [THOUGHT] if any(row.thinks for row in rows) else []
    sentences += [*of_reasoning(rows), *of_delivery(rows)]
    if any(map(very_small, rows)):
        sentences.append(
            f"{SMALL} a very small model: it shows that everything works, not how models behave."
        )
    sentences += of_labels(board)
    if board.by_table:
        sentences.append(
            "A demonstration, without ranks: the embedded judge does not pass the judge's exam. "
            "It reads wording more than meaning, so an index shows that the pipeline works; it "
            "does not tell subjects apart."
        )
    return [*sentences, *of_prompt(board), *of_kin(board)]


def of_reasoning(rows: Sequence[Row]) -> list[str]:
    """Name the subjects that reasoned although told not to, or the reverse, a sentence for each
    kind; [] for none.
    """
    unasked = [
        f"{_called(row)} ({share(row.health.share_with_reasoning)})"
        for row in rows
        if row.reasons_unasked
    ]
    without = [_called(row) for row in rows if row.shows_no_reasoning]
    sentences = {
        "Told not to reason and did, with the share of their replies: {}.": unasked,
        "Told to reason, and no reply shows any reasoning: {}. Their endpoints ignore the effort "
        "or hide the reasoning.": without,
    }
    return [sentence.format(_first_few(of)) for sentence, of in sentences.items() if of]


MUCH_PLAIN_TEXT = 0.1  # share of replies without the tool call from which on it is said


def spoke_without_tool(row: Row) -> bool:
    """Whether more than a few of the subject's replies came as plain text although a tool was asked
    for.
    """
    return row.health.share_plain_text > MUCH_PLAIN_TEXT


MUCH_REPEATED = 0.1  # share of conversations from which on it is said; by chance 0.02 are there


def repeats_itself(row: Row) -> bool:
    """Whether more than a few of the subject's conversations repeat those of an earlier run. A
    simulated model is made to, so it is never reported.
    """
    simulated = vendor_of(row.subject.model) == SIMULATED
    return row.health.share_repeated > MUCH_REPEATED and not simulated


def of_delivery(rows: Sequence[Row]) -> list[str]:
    """Describe replies that may not be the asked model's own words, a sentence for each kind of
    problem; [] for none.
    """
    without_tool = [
        f"{_called(row)} ({share(row.health.share_plain_text)})"
        for row in rows
        if spoke_without_tool(row)
    ]
    repeated = [
        f"{_called(row)} ({share(row.health.share_repeated)})"
        for row in rows
        if repeats_itself(row)
    ]
    by_others = [
        f"{_called(row)} ({row.health.replies_by_another_model:,})"
        for row in rows
        if row.health.replies_by_another_model
    ]
    marked = [
        f"{_called(row)} ({row.health.replies_with_markup:,})"
        for row in rows
        if row.health.replies_with_markup
    ]
    in_turn = [_called(row) for row in rows if row.prompt_in_turn]
    sentences = {
        "The system prompt of {} stood at the front of the first turn: the endpoint takes no role "
        "for it.": in_turn,
        "Models that often did not call the tool, with the share of their replies: {}. Their "
        "servers may hide the tool (docs/local-models.md).": without_tool,
        "Later runs repeat earlier ones word for word, with the share of all conversations: {}. "
        "Their endpoints do not sample; more runs add nothing.": repeated,
        "Another model gave replies of {}. `aib audit` names it.": by_others,
        "Chat-template tokens remain in replies of {}. `aib show` names them.": marked,
    }
    return [sentence.format(_first_few(of)) for sentence, of in sentences.items() if of]


def _called(row: Row) -> str:
    """Return the subject's label, escaped."""
    return name_text(row.label)


def _first_few(names: Sequence[str]) -> str:
    """Join the first *names* with commas, and say how many more there are."""
    more = f" and {len(names) - MOST_DOUBTS} more" if len(names) > MOST_DOUBTS else ""
    return ", ".join(names[:MOST_DOUBTS]) + more


def of_labels(board: Board) -> list[str]:
    """Name the labels that may be taken for others, written out in ASCII, in one sentence; [] for
    none.
    """
    doubted = [written_out(row.subject.label) for row in board.rows if row.doubt]
    if not doubted:
        return []
    names = _first_few(doubted)
    return [
        f"{DOUBTED} labels that read like another one, or mix alphabets in a word; written out: "
        f"{names}."
    ]


def of_prompt(board: Board) -> list[str]:
    """Say that subjects are told to be themselves, and which positions in v2 are not their own, in
    one line; [] if they are not told.
    """
    if {configuration.system for configuration in board.configurations} != {TOLD_TO_RESIST}:
        return []
    line = (
        f"Subjects are told to be themselves (system prompt {TOLD_TO_RESIST}): an index may show "
        "how well they obey."
    )
    if board.protocol.name in V2:
        line += (
            " In v2 the positions under pressure are put into their mouths (docs/protocols.md, "
            "“What v2 cannot tell”)."
        )
    return [line]


def of_lost(board: Board) -> list[str]:
    """Say how much lower the index could be if the lost replies had been the worst, in one
    sentence; [] if none was lost.
    """
    lost = [
        (row.index - row.index_if_folded, row)
        for row in board.ranked
        if row.index is not None
        and row.index_if_folded is not None
        and row.index_if_folded < row.index
    ]
    if not lost:
        return []
    _, most = max(lost, key=lambda both: both[0])
    claimed = " No rank is claimed beyond that." if most.uncertainty.standing else ""
    whose = "their indices" if len(lost) > 1 else "its index"
    return [
        f"Replies of {plural(len(lost), 'subject')} were lost and asked for again; had they been "
        f"the worst, {whose} would be lower ({label_text(most.label)} "
        f"{number(most.index_if_folded, 1)}, not {number(most.index, 1)}).{claimed}"
    ]


def of_kin(board: Board) -> list[str]:
    """Say that the judge scores subjects of its own vendor, in one sentence; [] if it does not."""
    kin = board.kin
    if kin is None:
        return []
    who = (
        f"{kin.subjects} of {kin.of} ranked subjects"
        if kin.others is not None
        else "all ranked subjects"
    )
    others = (
        "" if kin.others is None else f", mean index {kin.index:.1f}, the others' {kin.others:.1f}"
    )
    return [
        f"The judge and {who} are by {label_text(kin.vendor)}{others}: only a judge of another "
        "vendor can show whether it favours them (`aib judge -j MODEL` says what that costs "
        "before it asks)."
    ]


def board_legend(board: Board) -> Legend:
    """Build the legend of a ranking, a paragraph for each note. Its brief form names the signs and
    the limits in a few words.
    """
    rows = board.ranked
    titles = (
        f"{label_text(d.title).lower()} {d.weight:g}" for d in board.protocol.dimensions if d.weight
    )
    tie = [TIE] if any(tied(row) for row in rows) else []
    columns = [
        "Index: 0-100, the mean over the runs.",
        *intervals(board),
        f"Dimensions: 0-100; their weights in the index: {', '.join(titles)}.",
        "Failed calls: of all attempts at a reply; cut off: replies that the token limit cut "
        "off, of all.",
        *tie,
    ]
    notes = [
        *(board.interval_method or ()),
        *why_no_interval(board),
        *of_runs(board),
        *of_lost(board),
    ]
    notes += [*of_judges(board), *cautions(board)]
    brief = [
        *(line.partition(":")[0] + "." for line in tie),
        *([THOUGHT] if THOUGHT in notes else []),
        *([f"Limits: {'; '.join(limits)}."] if (limits := _limits(board)) else []),
    ]
    return Legend("\n".join([" ".join(columns), *notes]), " ".join(brief))


def _limits_of_delivery(rows: Sequence[Row]) -> dict[str, bool]:
    """Return the problems with replies in a few words each, and whether each of them is there."""
    without_tool = sum(map(spoke_without_tool, rows))
    in_turn = sum(row.prompt_in_turn for row in rows)
    repeated = sum(map(repeats_itself, rows))
    by_others, marked = (
        sum(row.health.replies_by_another_model for row in rows),
        sum(row.health.replies_with_markup for row in rows),
    )
    return {
        f"{in_turn} with the system prompt in the first turn": bool(in_turn),
        f"{without_tool} often did not call the tool": bool(without_tool),
        f"{repeated} with runs that repeat each other": bool(repeated),
        f"{plural(by_others, 'reply', 'replies')} by another model": bool(by_others),
        f"{plural(marked, 'reply', 'replies')} with chat-template tokens": bool(marked),
    }


def _all(count: int, of: int) -> str:
    """Return "all", or "3 of 5"."""
    return "all" if count == of else f"{count} of {of}"


def _limits(board: Board) -> list[str]:
    """Return the limits of a ranking in a few words each."""
    known, kin, rows = board.uncertainty, board.kin, board.ranked
    sittings = known.of_sittings() if known else None
    runs = known.runs_together() if known else None
    unasked = sum(row.reasons_unasked for row in rows)
    without = sum(row.shows_no_reasoning for row in rows)
    of_small = any(map(very_small, rows))
    limits = {
        "the embedded judge is a demonstration, without ranks": board.by_table,
        f"intervals by {board.rules} rules": board.interval_method is not None,
        **{reason.partition(":")[0]: True for reason in (known.why_no_interval() if known else ())},
        f"{SMALL} a very small model": of_small,
        f"{DOUBTED} labels that may be taken for others": of_labels(board),
        "subjects are told to be themselves": of_prompt(board),
        f"{unasked} reasoned though told not to": unasked,
        f"{without} told to reason and showed no reasoning": without,
        **_limits_of_delivery(rows),
        f"judge and {_all(kin.subjects, kin.of)} subjects by {label_text(kin.vendor)}"
        if kin
        else "": kin,
        f"{_all(sittings.one, sittings.of)} played in one session" if sittings else "": sittings
        and sittings.one,
        "whole runs shift": runs and runs.p is not None and runs.p < NOTABLE,
        "lost replies may hide worse": of_lost(board),
        "another judge may differ": board.judge is not None and len(board.jurors) < 2,
    }
    return [sentence for sentence, holds in limits.items() if holds]
