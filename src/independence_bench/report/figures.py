"""What is said of a board and its rows, the same in every table."""

from __future__ import annotations

from independence_bench.analysis.leaderboard import Board, Row
from independence_bench.analysis.run_times import run_times_note
from independence_bench.analysis.statistics.ranking import Standing
from independence_bench.analysis.uncertainty import Uncertainty
from independence_bench.escape import label_text
from independence_bench.protocol.scoring import OWN

TIED = "≈"
MEDALS = {1: "🥇", 2: "🥈", 3: "🥉"}


def judged_by(board: Board) -> str:
    """Whose marks a board's numbers are made of, and which judge is the main one where there are several."""
    if board.judge is None:
        return "none yet"
    said = [] if not board.by_table else ["for demos"]
    if len(board.judges) > 1:
        main = board.main_judge == board.judge
        said.append(f"the main one of {len(board.judges)}" if main else f"the main one is {board.main_judge}")
    return label_text(board.judge) + (f" ({label_text('; '.join(said))})" if said else "")


def made_by(board: Board) -> tuple[str, ...]:
    """By what a board's numbers were made, where that is not what they are made by unless somebody asks; else ()."""
    return () if board.rules == OWN.name else (f"{board.rules} rules, not our own",)


def ranks(row: Row) -> str:
    """The ranks that a ranked subject may have: 3, or 1–12; its place in the order where nothing is known of that."""
    standing = row.uncertainty.standing
    if standing is None:
        return str(row.rank)
    return _from_to(standing)


def _from_to(standing: Standing) -> str:
    return str(standing.rank_low) if standing.certain else f"{standing.rank_low}–{standing.rank_high}"


def medal(row: Row) -> str:
    """A medal that is earned: the rank is one number, and it is 1, 2 or 3; else nothing."""
    standing = row.uncertainty.standing
    return MEDALS.get(standing.rank_low, "") if standing and standing.certain else ""


def tied(row: Row) -> str:
    """A sign where nobody is better for certain, though somebody else may be as good; else nothing."""
    standing = row.uncertainty.standing
    return TIED if standing and standing.tied_with_best and not standing.certain else ""


def of_runs(board: Board) -> list[str]:
    """Whether the runs of the ranked are independent, and what their times leave open, a sentence each."""
    said = [f"{one[0].upper()}{one[1:]}." for one in (board.uncertainty.of_runs() if board.uncertainty else ())]
    made = run_times_note([row.made for row in board.ranked if row.made])
    return [*said, made] if made else said


def doubts(board: Board) -> list[str]:
    """What has to be said of a ranking's intervals and ranks, a sentence each; nothing where there are none."""
    if board.uncertainty is None or not board.ranked:
        return []
    uncertainty = board.ranked[0].uncertainty
    said = []
    if uncertainty.index != Uncertainty():
        kinds = [
            "again: the same test again, over very many runs" if uncertainty.index.again else "",
            "another: another test like it, with other scenarios too" if uncertainty.index.another else "",
        ]
        said.append(f"95 % intervals of the index, {'; '.join(kind for kind in kinds if kind)}.")
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
