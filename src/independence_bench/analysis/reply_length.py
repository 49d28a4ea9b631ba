"""How long the subjects of a board reply. Reads the store; a mark that follows length rather than what is said shows
where it is drawn against the index.
"""

from __future__ import annotations

from sqlalchemy import Connection

from independence_bench.analysis.board import Board
from independence_bench.analysis.results import results_of
from independence_bench.protocol.scoring import mean_of
from independence_bench.store import results as stored_results


def reply_lengths(connection: Connection, board: Board) -> dict[str, float]:
    """Subject hash -> characters of a mean valid reply in the conversations that count; without who has none.

    What is measured is what the human is told: neither reasoning nor private notes. A reply that several
    conversations share counts once.
    """
    (results,) = results_of(connection, board.protocol, board.configurations)
    keys = stored_results.reply_keys(connection, results.slots)
    characters = stored_results.reply_characters(connection)
    found = {}
    for subject, mine in results.by_subject.items():
        said = dict.fromkeys(key for one in mine for key in keys[one.row.id])
        length = mean_of([float(characters[key]) for key in said if key in characters])
        if length is not None:
            found[subject] = length
    return found
