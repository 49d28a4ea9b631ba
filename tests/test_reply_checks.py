"""Replies that may not be what they seem are counted in the health of the row, and shown where they
are read.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from first_stores import restored
from frozen_stores import aib as read_only
from scripted_model import Answer, Asked, Bench, completion, says, verdict

from independence_bench.analysis.board import Board, Row
from independence_bench.report.board_notes import build_board_legend, list_ranking_warnings
from independence_bench.store.database import open_store
from independence_bench.store.reply_checks import (
    find_replies_by_other_models,
    find_replies_with_template_tokens,
)

Benches = Callable[..., Bench]


def spoken(asked: Asked, words: str, **more: Any) -> Answer:
    """A judge's verdict, or *words* in the way that was asked for."""
    if asked.judging:
        return verdict(asked)
    answer = says(asked, words)
    return Answer(answer.body | more, cost=answer.cost)


def row_of(board: Board) -> Row:
    """Its only row."""
    (row,) = board.rows
    return row


def told(board: Board) -> str:
    """All that is said below the ranking, at length and in brief."""
    legend = build_board_legend(board)
    return f"{legend.text}\n{legend.brief}"


def test_marks_that_remain_in_the_words_are_counted_and_said(bench: Benches) -> None:
    """The reply is valid: a model may speak of a mark. Which reply it is, `aib show` says."""
    made = bench(
        lambda asked: spoken(
            asked, f"I <|x|> stay, {asked.number}." if asked.number % 2 else "I stay."
        )
    )
    made.play()

    row = row_of(made.boards()[0])

    with open_store(made.store) as store, store.open_snapshot() as connection:
        marked = find_replies_with_template_tokens(connection)
        assert find_replies_by_other_models(connection) == set()
    assert row.health.replies_with_markup == len(marked) > 0
    assert row.health.transcripts_invalid == 0
    assert "tokens remain in replies of scripted:" in " ".join(
        list_ranking_warnings(made.boards()[0])
    )
    assert "contain chat-template tokens" in told(made.boards()[0])


def test_clean_replies_of_the_asked_model_are_not_spoken_of(bench: Benches) -> None:
    """No mark, no other model, no missing call: nothing is said."""
    made = bench(lambda asked: spoken(asked, "I stay [as ever], <b>so</b>."))
    made.play()

    health = row_of(made.boards()[0]).health

    assert (
        health.replies_with_markup,
        health.replies_by_another_model,
        health.replies_plain_text,
    ) == (0, 0, 0)
    assert not any(
        word in told(made.boards()[0]) for word in ("template", "another model", "did not call")
    )


def test_replies_of_another_model_are_counted_and_said(bench: Benches) -> None:
    """By the word of who served them, and only those."""
    names = ("acme/one", "acme/one-2026-01-05", "rival/other")
    made = bench(lambda asked: spoken(asked, "I stay.", model=names[asked.number % 3]))
    made.play()

    row = row_of(made.boards()[0])

    with open_store(made.store) as store, store.open_snapshot() as connection:
        others = find_replies_by_other_models(connection)
    served = [entry for entry in made.endpoints["scripted"].chats if not entry.asked.judging]
    wrong = [entry for entry in served if entry.answer.body["model"] == "rival/other"]
    assert row.health.replies_by_another_model == len(others) == len(wrong) > 0
    assert "Another model gave replies of scripted:" in " ".join(
        list_ranking_warnings(made.boards()[0])
    )


@pytest.mark.parametrize(("every", "much"), [(2, True), (20, False)])
def test_a_model_that_does_not_call_the_tool_is_said_to_where_it_is_more_than_a_slip(
    bench: Benches, every: int, much: bool
) -> None:
    """From a tenth of its replies on."""

    def answer(asked: Asked) -> Answer:
        if not asked.judging and asked.number % every == 0:
            return Answer(completion("I stay.", model=asked.model), cost=0.001)
        return spoken(asked, "I stay.")

    made = bench(answer)
    made.play()

    share = row_of(made.boards()[0]).health.share_plain_text
    assert (share > 0.1) == much
    assert ("did not call the tool" in told(made.boards()[0])) == much


def test_stores_of_earlier_versions_are_counted_as_well(tmp_path: Path) -> None:
    """It is worked out of what is stored, so a store that nobody upgraded has it, too."""
    store = restored(tmp_path / "store.db")

    boards = json.loads(
        read_only("leaderboard", "--protocol", "v2", "--json", "--store", str(store))
    )["boards"]

    rows = [row for board in boards for row in (*board["ranked"], *board["incomplete"])]
    assert rows
    assert all(row["health"]["replies_with_markup"] >= 0 for row in rows)


@pytest.mark.parametrize("samples", [False, True])
def test_an_endpoint_that_does_not_sample_is_said(bench: Benches, samples: bool) -> None:
    """Its later runs are its first one word for word."""
    made = bench(lambda asked: spoken(asked, f"I stay, {asked.number if samples else 0}."))
    runs = 3
    made.play(runs=runs)

    board = made.boards()[0]
    row = row_of(board)

    assert len(row.run_scores) == runs
    assert row.health.transcripts_complete % runs == 0
    repeated = 0 if samples else row.health.transcripts_complete * (runs - 1) // runs
    assert row.health.conversations_repeated == repeated
    assert (
        "repeat earlier ones word for word" in " ".join(list_ranking_warnings(board))
    ) != samples
    assert ("repeated earlier runs" in told(board)) != samples
