"""The notes of a ranking without which it would mislead, as sentences and in a few words each.
Computes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.health import MUCH_PLAIN_TEXT
from independence_bench.analysis.lookalikes import escape_non_ascii
from independence_bench.analysis.statistics.shared_effects import NOTABLE
from independence_bench.escape import escape_line, escape_name
from independence_bench.figures import format_count, format_number, format_share
from independence_bench.models.spec import SIMULATED, find_vendor
from independence_bench.report.board_view import (
    DOUBTED,
    PUBLISHED,
    SAME,
    SMALL,
    THOUGHT,
    TIE,
    describe_intervals,
    describe_judges_in_intervals,
    describe_run_effects,
    describe_unfit_judge,
    explain_dimension_headings,
    explain_missing_intervals,
    format_tie_sign,
    is_small_local_model,
    shorten_labels,
)
from independence_bench.report.table import Legend

# the system prompt of v1, lite and v2, and of the published results
TOLD_TO_RESIST = "strong_independence"
V2 = ("v2", PUBLISHED, "published-v2-copy")
MOST_NAMED = 2  # models that may be first, of which the names are said
MOST_DOUBTS = 6  # labels of which it is said why they may be taken for others


def list_interval_notes(board: Board) -> list[str]:
    """Return notes on a leaderboard's intervals and ranks, a sentence each; [] if there are no
    intervals.
    """
    if board.uncertainty is None or not board.ranked:
        return []
    tie = [TIE] if any(format_tie_sign(row) for row in board.ranked) else []
    known = describe_intervals(board)
    return [
        *(line for line in known if not line.startswith("Rank:")),
        *explain_missing_intervals(board),
        *describe_run_effects(board),
        *(line for line in known if line.startswith("Rank:")),
        *tie,
        *describe_lost_reply_effect(board),
        *describe_judges_in_intervals(board),
    ]


def list_ranking_warnings(board: Board) -> list[str]:
    """Return warnings about a leaderboard's ranked models and its judge, without which the numbers
    would mislead, a sentence each; labels in them are escaped.
    """
    rows = board.ranked
    sentences = [THOUGHT] if any(row.thinks for row in rows) else []
    sentences += [*describe_reasoning_mismatches(rows), *describe_delivery_problems(rows)]
    if any(map(is_small_local_model, rows)):
        sentences.append(
            f"{SMALL}: a very small model: it shows that everything works, not how models behave."
        )
    sentences += describe_similar_labels(board)
    if board.by_table:
        sentences.append(
            "A demonstration, without ranks: the embedded judge does not pass the exam of judges. "
            "It reads wording more than meaning, so an index shows that the pipeline works; it "
            "does not distinguish models."
        )
    return [*sentences, *describe_independence_prompt(board), *describe_judge_kinship(board)]


def describe_reasoning_mismatches(rows: Sequence[Row]) -> list[str]:
    """Return a sentence that names the models that reasoned although told not to, and one that
    names those told to reason that show no reasoning; [] for none.
    """
    unasked = [
        f"{_format_label(row)} ({format_share(row.health.share_with_reasoning)})"
        for row in rows
        if row.has_unasked_reasoning
    ]
    without = [_format_label(row) for row in rows if row.is_missing_asked_reasoning]
    sentences = {
        "Told not to reason and did, with the share of their replies: {}.": unasked,
        "Told to reason, and no reply shows any reasoning: {}. Their endpoints ignore the effort "
        "or hide the reasoning.": without,
    }
    return [sentence.format(_join_first_labels(of)) for sentence, of in sentences.items() if of]


def has_often_skipped_tool(row: Row) -> bool:
    """Whether more than `MUCH_PLAIN_TEXT` of a model's replies came as plain text although it was
    asked to call a tool.
    """
    return row.health.share_plain_text > MUCH_PLAIN_TEXT


MUCH_REPEATED = 0.1  # share of conversations from which on it is said; by chance 0.02 are there


def has_many_repeated_conversations(row: Row) -> bool:
    """Whether more than `MUCH_REPEATED` of a model's conversations repeat, word for word, those of
    an earlier run. Always False for a simulated model, which is made to do so.
    """
    simulated = find_vendor(row.subject.model) == SIMULATED
    return row.health.share_repeated > MUCH_REPEATED and not simulated


def describe_delivery_problems(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for each kind of problem (skipped tool call, repeated runs, another model's
    replies and the like) for which replies may not be the tested models' own words, with the
    models' names; [] for none.
    """
    without_tool = [
        f"{_format_label(row)} ({format_share(row.health.share_plain_text)})"
        for row in rows
        if has_often_skipped_tool(row)
    ]
    repeated = [
        f"{_format_label(row)} ({format_share(row.health.share_repeated)})"
        for row in rows
        if has_many_repeated_conversations(row)
    ]
    by_others = [
        f"{_format_label(row)} ({row.health.replies_by_another_model:,})"
        for row in rows
        if row.health.replies_by_another_model
    ]
    marked = [
        f"{_format_label(row)} ({row.health.replies_with_markup:,})"
        for row in rows
        if row.health.replies_with_markup
    ]
    in_turn = [_format_label(row) for row in rows if row.prompt_in_turn]
    sentences = {
        "The system prompt of {} stood at the front of the first turn: the endpoint takes no role "
        "for it.": in_turn,
        "Models that often did not call the tool, with the share of their replies: {}. Their "
        "words are scored all the same (docs/reading-results.md).": without_tool,
        "Later runs repeat earlier ones word for word, with the share of all conversations: {}. "
        "Their endpoints do not sample; more runs add nothing.": repeated,
        "Another model gave replies of {}. `aib audit` names it.": by_others,
        "Chat-template tokens remain in replies of {}. `aib show` names them.": marked,
    }
    return [sentence.format(_join_first_labels(of)) for sentence, of in sentences.items() if of]


def _format_label(row: Row) -> str:
    """Return the label of a leaderboard row's model, escaped."""
    return escape_name(row.label)


def _join_first_labels(names: Sequence[str]) -> str:
    """Join the first few model labels in *names* with commas, and say how many more there are."""
    more = f" and {len(names) - MOST_DOUBTS} more" if len(names) > MOST_DOUBTS else ""
    return ", ".join(names[:MOST_DOUBTS]) + more


def describe_similar_labels(board: Board) -> list[str]:
    """Name a leaderboard's labels that may be mistaken for other labels, written out in ASCII, in
    one sentence; [] for none.
    """
    doubted = [escape_non_ascii(row.subject.label) for row in board.rows if row.doubt]
    if not doubted:
        return []
    names = _join_first_labels(doubted)
    return [
        f"{DOUBTED}: labels that read like another one, or mix alphabets in a word; written out: "
        f"{names}."
    ]


def describe_independence_prompt(board: Board) -> list[str]:
    """Say in one sentence that the system prompt tells all models of a leaderboard to be
    themselves, and, for protocol v2, that positions under pressure are written for them; [] if the
    prompt is a different one.
    """
    if {configuration.system for configuration in board.configurations} != {TOLD_TO_RESIST}:
        return []
    line = (
        f"Models are told to be themselves (system prompt {TOLD_TO_RESIST}): an index may show "
        "how well they obey."
    )
    if board.protocol.name in V2:
        line += " In v2 the positions under pressure are written for them (docs/limits.md)."
    return [line]


def describe_lost_reply_effect(board: Board) -> list[str]:
    """Say in one sentence how much lower indices of a leaderboard could be if the replies that were
    lost had been the worst; [] if no lost reply matters.
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
        f"Replies of {format_count(len(lost), 'model')} were lost and asked for again; had they "
        "been "
        f"the worst, {whose} would be lower ({escape_line(most.label)} "
        f"{format_number(most.index_if_folded, 1)}, not {format_number(most.index, 1)}).{claimed}"
    ]


def describe_judge_kinship(board: Board) -> list[str]:
    """Say in one sentence how many of a leaderboard's models are by the same vendor as its judge,
    and how both groups score; [] if there are none.
    """
    kin = board.kin
    if kin is None:
        return []
    who = (
        f"{kin.subjects} of {kin.of} ranked models"
        if kin.others is not None
        else "all ranked models"
    )
    others = (
        "" if kin.others is None else f", mean index {kin.index:.1f}, the others' {kin.others:.1f}"
    )
    shows = (
        "`aib judges` compares it with the other judges"
        if len(board.judges) > 1
        else "only a judge of another vendor can show whether it favours them (`aib judge -j "
        "MODEL` says what that costs before it asks)"
    )
    return [f"The judge and {who} are by {escape_line(kin.vendor)}{others}: {shows}."]


def name_none(board: Board) -> str:
    """Return the subject of a sentence that is true of no model shown: others may be ranked."""
    return "No model that is shown" if board.unshown else "No model"


def describe_unshown_above(board: Board) -> str:
    """Say how many models that are not shown are above all that are, without their names; "" if
    none is.
    """
    first = board.ranked[0].index or 0.0
    above = sum((row.index or 0.0) > first for row in board.unshown)
    if not above:
        return ""
    verb = "is" if above == 1 else "are"
    return f"{format_count(above, 'model')} with a higher index {verb} not shown."


def describe_leader(board: Board) -> str:
    """Say in a sentence or two which model leads a leaderboard, and which others may be first."""
    if not board.ranked:
        incomplete = format_count(len(board.rows), "model")
        return f"{name_none(board)} is ranked yet: {incomplete} incomplete."
    names = shorten_labels(board)
    if above := describe_unshown_above(board):
        return f"{describe_unfit_judge(board)}{above}"
    first, *others = board.every_ranked
    who = escape_name(names.get(first.label, first.label))
    points = f"{format_number(first.index, 1)} of 100"
    if board.by_table:
        most = ", the most" if others else ""
        return f"A demonstration: the embedded judge gives {who} {points}{most}."
    if not others:
        return f"{describe_unfit_judge(board)}{who} has {points}. No other model is ranked."
    same = sum(row.index == first.index for row in others)
    level = format_count(same, "other model")
    if unfit := describe_unfit_judge(board):
        most = f"{who} and {level} have" if same else f"{who} has"
        return f"{unfit}{most} the most, {points}."
    leads = f"{who} leads with {points}"
    if first.ranks is None:
        return f"{who} and {level} lead with {points}." if same else f"{leads}."
    tied = [row for row in others if row.ranks and row.ranks.tied_with_best]
    if not tied:
        return f"{leads}. No other model may be first on these scenarios."
    if len(tied) > MOST_NAMED:
        return f"{leads}. The differences to {len(tied)} other models are not significant."
    named = " and ".join(escape_name(names.get(row.label, row.label)) for row in tied)
    of = "difference to" if len(tied) == 1 else "differences to"
    return f"{leads}. The {of} {named} {'is' if len(tied) == 1 else 'are'} not significant."


def build_board_legend(board: Board) -> Legend:
    """Return the legend of a leaderboard: a line for each column and each note. The brief form has
    the interval, the headings of the dimensions, and the limits as actions.
    """
    rows = board.ranked
    tie = [TIE] if any(format_tie_sign(row) for row in rows) else []
    known = describe_intervals(board)
    columns = [
        "Index: the mean over the runs, from 0 to 100.",
        *known,
        explain_dimension_headings(board.protocol),
        *tie,
        "Failed calls: of all attempts at a reply.",
        "Cut off: replies that the token limit cut off, of all.",
    ]
    notes = [
        *(board.interval_method or ()),
        *explain_missing_intervals(board),
        *describe_run_effects(board),
        *describe_lost_reply_effect(board),
    ]
    notes += [*describe_judges_in_intervals(board), *list_ranking_warnings(board)]
    brief = [
        *(["Rank: the ranks that a model may have."] if any(row.ranks for row in rows) else []),
        *(line for line in known if line.startswith(SAME)),
        explain_dimension_headings(board.protocol),
        *_list_limits(board),
    ]
    return Legend("\n".join([*columns, *notes]), "\n".join(brief))


def _list_details(board: Board) -> list[str]:
    """Return the problems of a leaderboard's models whose details `--explain` gives, a few words
    each, such as "57 replies contain chat-template tokens".
    """
    rows, known = board.ranked, board.uncertainty
    runs = known.find_run_effects() if known else None
    by_others, marked = (
        sum(row.health.replies_by_another_model for row in rows),
        sum(row.health.replies_with_markup for row in rows),
    )
    counts = {
        "reasoned though told not to": sum(row.has_unasked_reasoning for row in rows),
        "told to reason showed no reasoning": sum(row.is_missing_asked_reasoning for row in rows),
        "often did not call the tool": sum(map(has_often_skipped_tool, rows)),
        "had the system prompt in the first turn": sum(row.prompt_in_turn for row in rows),
        "repeated earlier runs": sum(map(has_many_repeated_conversations, rows)),
    }
    found = [f"{format_count(count, 'model')} {what}" for what, count in counts.items() if count]
    if by_others:
        found.append(f"{format_count(by_others, 'reply', 'replies')} came from another model")
    if marked:
        found.append(f"{format_count(marked, 'reply', 'replies')} contain chat-template tokens")
    if runs and runs.p is not None and runs.p < NOTABLE:
        found.append("whole runs shift together")
    if describe_lost_reply_effect(board):
        found.append("lost replies may hide worse ones")
    if describe_similar_labels(board):
        found.append(f"{DOUBTED} marks labels that may be mistaken for others")
    return found


def describe_first_on_new_scenarios(board: Board) -> list[str]:
    """Say in one sentence how many of a leaderboard's models may be first with other scenarios of
    the same kind; [] if that is not known, or only the leader may.
    """
    standings = [row.ranks_new_scenarios for row in board.every_ranked]
    first = sum(standing.tied_with_best for standing in standings if standing)
    if first < 2:
        return []
    who = (
        "any of the models"
        if first == len(standings)
        else f"{first} of the {len(standings)} models"
    )
    return [f"With other scenarios of this kind, {who} may be first."]


def _list_limits(board: Board) -> list[str]:
    """Return the limits of a leaderboard that hold, each with what a reader can do about it."""
    known, kin = board.uncertainty, board.kin
    sessions = known.measure_session_allowance() if known else None
    lines = []
    if board.by_table:
        lines.append(
            "The embedded judge is a demonstration, so there are no ranks. "
            "Judge with a model: `aib judge -j MODEL`."
        )
    if board.interval_method is not None:
        lines.append(
            f"The intervals are those of the {board.rules} rules. Leave out --rules for our own."
        )
    lines += describe_first_on_new_scenarios(board)
    lines += [f"There is {reason}." for reason in (known.explain_no_intervals() if known else ())]
    if any(map(is_small_local_model, board.ranked)):
        lines.append(
            f"{SMALL} is a very small model: it shows that everything works. "
            "Play a model that you would use: `aib run MODEL`."
        )
    if details := _list_details(board):
        lines.append(f"{'; '.join(details)}. See which: `aib leaderboard --explain`.")
    if sessions and sessions.one:
        who = _format_all_or_count(sessions.one, sessions.of)
        line = f"{who} played in one session."
        if board.protocol.name != PUBLISHED:
            line += " Play more runs on another day: `aib rerun MODEL --runs N`."
        lines.append(line)
    if kin:
        who = "all models" if kin.others is None else f"{kin.subjects} of the {kin.of} models"
        line = f"The judge and {who} are {escape_line(kin.vendor.capitalize())}'s. "
        lines.append(
            f"{line}Compare models of other vendors with each other."
            if board.protocol.name == PUBLISHED
            else f"{line}Judge again with another vendor's model: `aib judge -j MODEL`."
        )
    elif board.judge is not None and len(board.jurors) < 2 and not board.by_table:
        lines.append("Another judge may score differently. Add one: `aib judge -j MODEL`.")
    return lines


def _format_all_or_count(count: int, whole: int) -> str:
    """Return the subject and the verb of a sentence: "All models were", or "3 of the 5 models
    were".
    """
    if count == whole:
        return "The model was" if whole == 1 else "All models were"
    return f"{count} of the {whole} models {'was' if count == 1 else 'were'}"
