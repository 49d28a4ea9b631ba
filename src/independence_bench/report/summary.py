"""The three sentences that a report begins with: what was asked, who leads and who ties, and what
the numbers cannot tell. Computes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from independence_bench.analysis.board import Board, Row
from independence_bench.escape import escape_line, escape_name
from independence_bench.figures import format_count, format_number
from independence_bench.report.board_notes import (
    describe_first_on_new_scenarios,
    describe_independence_prompt,
    describe_unshown_above,
    name_none,
)
from independence_bench.report.board_view import describe_unfit_judge, list_weighted_dimensions

MOST_TIED = 3  # names of the models that tie with the first; of more only their number is said


def describe_task(board: Board) -> str:
    """Say in one sentence what the models of a leaderboard were asked, and who scored what."""
    protocol = board.protocol
    dimensions = _join_words([d.title.lower() for d in list_weighted_dimensions(protocol)])
    conversations = format_count(len(protocol.scenarios), "scripted conversation")
    models = format_count(len(board.ranked or board.rows), "model")
    did = f"{models} played all of" if board.ranked else f"{models} began"
    scored = (
        f"{escape_line(board.judge)} scored {escape_line(dimensions)}"
        if board.judge
        else "nothing is scored yet"
    )
    return (
        f"{did} the {conversations} of {escape_line(board.shown_protocol_name)} "
        f"({escape_line(protocol.title)}), and {scored}."
    )


def describe_leaders(board: Board, names: Mapping[str, str]) -> str:
    """Say in one sentence which model leads a leaderboard, and which others may be first, too.
    *names*: label -> the name that is shown.
    """
    if not board.ranked:
        return f"{name_none(board)} is complete yet, so none is ranked."
    if above := describe_unshown_above(board):
        return f"{describe_unfit_judge(board)}{above}"
    first, *others = board.every_ranked
    leader, index = _name(first, names), format_number(first.index, 1)
    unfit = describe_unfit_judge(board)
    if not others:
        return f"{unfit}{leader} has an index of {index} of 100, and no other model is ranked."
    if unfit:
        return f"{unfit}{leader} has the highest index, {index} of 100."
    level = [row for row in others if format_number(row.index, 1) == index]
    if first.ranks is None:
        lead = _join_words([leader, *(_name(row, names) for row in level[:MOST_TIED])])
        if len(level) > MOST_TIED:
            lead = f"{leader} and {len(level)} others"
        verb = "share the highest index," if level else "has the highest index,"
        return f"{lead} {verb} {index} of 100; no significance is computed for the differences."
    new = "".join(f" {line}" for line in describe_first_on_new_scenarios(board))
    leads = f"{leader} leads with an index of {index} of 100"
    tied = [row for row in others if row.ranks and row.ranks.tied_with_best]
    if not tied:
        return f"{leads}, significantly ahead of all others on these scenarios.{new}"
    who = _join_words([_name(row, names) for row in tied])
    if len(tied) > MOST_TIED:
        who = f"{len(tied)} other models"
    them = "it is" if len(tied) == 1 else "they are"
    return (
        f"{leads}; {who} may be first, too, because no model is significantly better than {them}."
        f"{new}"
    )


def describe_blind_spots(board: Board) -> str:
    """Say in one sentence what the numbers of a leaderboard cannot tell."""
    if board.by_table:
        return (
            "The embedded judge is a demonstration, so the numbers cannot tell how the models "
            "behave."
        )
    unknown = ["whether a model is right or useful"]
    if len(board.jurors) < 2:
        unknown.append("how another judge would score")
    unknown.append(
        "how the models behave if no system prompt tells them to be themselves"
        if describe_independence_prompt(board)
        else "how the models behave under another system prompt"
    )
    return f"The numbers cannot tell {_join_words(unknown, 'or')}."


def _name(row: Row, names: Mapping[str, str]) -> str:
    """Return the shown name of a row's model, escaped."""
    return escape_name(names.get(row.label, row.label))


def _join_words(words: Sequence[str], last: str = "and") -> str:
    """Join *words* with commas, and the last one with *last*: "a, b and c"."""
    *others, end = words
    return f"{', '.join(others)} {last} {end}" if others else end
