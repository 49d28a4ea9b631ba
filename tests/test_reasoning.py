"""How much reasoning the replies of a model came with, whether that is what its label says, and
what thinking did to its index.
"""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from inprocess_aib import invoke
from published_files import Published
from scripted_model import Answer, Asked, Bench, both, says, steady, verdict
from viewer_store import answering, read

from independence_bench.dataset.import_published import import_published
from independence_bench.models.spec import Reasoning
from independence_bench.report.board_notes import build_board_legend, describe_reasoning_mismatches
from independence_bench.store.database import open_store
from independence_bench.store.imported import REPLACED

Benches = Callable[..., Bench]
REPLIES = 7  # of a run
SAYS_NOTHING: tuple[int | None, str] = (None, "")


def thinking(
    *shown: tuple[int | None, str], marks: Mapping[str, Any] | None = None
) -> Callable[[Asked], Answer]:
    """A model whose replies come with these (stated tokens, text of the reasoning), in turn; a
    judge that gives *marks*.
    """
    count = 0

    def script(asked: Asked) -> Answer:
        nonlocal count
        if asked.judging:
            return verdict(asked, marks)
        tokens, text = shown[count % len(shown)]
        count += 1
        body = dict(says(asked, f"I stay, {asked.number}.").body)
        if tokens is not None:
            details = {"completion_tokens_details": {"reasoning_tokens": tokens}}
            body["usage"] = body["usage"] | details
        if text:
            (choice,) = body["choices"]
            body["choices"] = [choice | {"message": choice["message"] | {"reasoning": text}}]
        return Answer(body, cost=0.001)

    return script


def aib(made: Bench, *arguments: str) -> str:
    """What `aib` prints of the bench's store."""
    done = invoke(
        made.folder.parent, {"HOME": str(made.folder.parent), "COLUMNS": "200"}, *arguments,
        "--protocol", str(made.folder), "--store", str(made.store),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows_of(made: Bench) -> list[dict[str, Any]]:
    """The rows of `aib leaderboard --json`, of all boards."""
    boards = json.loads(aib(made, "leaderboard", "--json"))["boards"]
    return [row for board in boards for row in (*board["ranked"], *board["incomplete"])]


def one_line(text: str) -> str:
    """*text* without its line breaks."""
    return " ".join(text.split())


# ---------------------------------------------------------------- how much


@pytest.mark.parametrize(
    ("shown", "mean", "estimated", "reasoned", "said"),
    [
        ([(700, "Hm."), *[(0, "")] * 6], 100, False, 1, "100"),
        ([(1, ""), *[(0, "")] * 6], 1 / 7, False, 1, "<1"),
        ([(0, "")], 0, False, 0, "0"),
        # not stated, or said to be none though it is there: by the text
        ([(None, "x" * 400)], 100, True, REPLIES, "about 100"),
        ([(0, "x" * 400)], 100, True, REPLIES, "about 100"),
        # a reply that shows nothing had none, as others show theirs
        ([(None, "x" * 2800), *[SAYS_NOTHING] * 6], 100, True, 1, "about 100"),
        ([(700, ""), *[SAYS_NOTHING] * 6], 100, False, 1, "100"),
        ([(350, ""), (None, "x" * 1400), *[(0, "")] * 5], 100, True, 2, "about 100"),
        ([SAYS_NOTHING], None, None, 0, "–"),
    ],
)
def test_the_mean_is_of_what_endpoints_state_else_of_the_text(
    bench: Benches,
    shown: list[tuple[int | None, str]],
    mean: float | None,
    estimated: bool | None,
    reasoned: int,
    said: str,
) -> None:
    """In JSON, on the terminal (--detailed), and on the page with its CSV."""
    made = bench(thinking(*shown))
    made.play()

    (row,) = rows_of(made)
    tables = [aib(made, "leaderboard", option) for option in ("--wide", "--detailed")]
    aib(made, "generate-report", "--out", str(made.folder.parent / "report"))
    report = (made.folder.parent / "report" / "LEADERBOARD.md").read_text(encoding="utf-8")
    with answering(made.store) as answers:
        board = read(answers, "index.json")["boards"][0]["id"]
        (on_page,) = read(answers, f"boards/{board}.json")["rows"]
        cells = answers.get(f"boards/{board}.csv") or b""

    value = None if mean is None else {"mean": pytest.approx(mean), "estimated": estimated}
    assert row["reasoning_tokens"] == value
    assert row["health"]["share_with_reasoning"] == pytest.approx(reasoned / REPLIES)
    assert on_page["reasoning_tokens"] == (value and value | {"shown": said})
    (line,) = csv.DictReader(io.StringIO(cells.decode("utf-8-sig")))
    in_table = line["reasoning_tokens"]
    assert (float(in_table) if in_table else None) == pytest.approx(mean)
    assert line["reasoning_tokens_estimated"] == {None: "", True: "yes", False: "no"}[estimated]
    assert len(tables[0]) < len(tables[1])  # which has every mark, too
    flat = " ".join(tables[1].split())
    assert said in tables[1] if mean is not None else "reasoning tokens" not in flat
    assert "reasoning tokens" not in report  # nothing is wrong with them


def test_only_the_attempt_that_the_reply_came_from_counts(bench: Benches) -> None:
    """A cut-off first try thinks, too, and so does another reply to the same question that was
    imported later.
    """
    thinks = thinking((10, ""))

    def script(asked: Asked) -> Answer:
        answer = thinks(asked)
        if asked.judging or asked.times > 1:
            return answer
        details = {"completion_tokens_details": {"reasoning_tokens": 5000}}
        choice = answer.body["choices"][0] | {"finish_reason": "length"}
        usage = answer.body["usage"] | details
        return Answer(answer.body | {"choices": [choice], "usage": usage}, cost=0.001)

    made = bench(script)
    made.play()
    with closing(sqlite3.connect(made.store)) as store:
        store.execute(
            "INSERT INTO attempts (id, call_key, owner, started_at, max_tokens, finished_at, "
            "outcome, reasoning_tokens) SELECT id + 1000, call_key, 'import|x', started_at, "
            f"max_tokens, finished_at, '{REPLACED}', 5000 FROM attempts"
        )
        store.commit()

    (row,) = rows_of(made)
    assert row["reasoning_tokens"] == {"mean": 10, "estimated": False}


@both
def test_it_is_the_same_by_every_judge_and_on_every_database(bench: Benches, where: str) -> None:
    """What a model thought is no matter of who marks it."""
    made = bench(thinking((20, ""), (40, "")))
    for judge in ("judge/one", "judge/two"):
        made.play(runs=2, judge=judge)

    found = [row["reasoning_tokens"]["mean"] for row in rows_of(made)]
    assert len(found) == 2
    assert found[0] == found[1] == pytest.approx(30)


def test_of_imported_replies_the_stored_text_is_counted(tmp_path: Path) -> None:
    """Published data has no tokens of reasoning; of a model without its text nothing is known."""
    data = Published()
    for label, text in (("acme--one@low-t0.7", "x" * 40), ("acme--two@low-t0.7", "")):
        before = set(data.files)
        data.run(label, 1)
        for path in data.files.keys() - before:
            if "response" in data.files[path]:
                data.files[path]["reasoning_content"] = text
    with open_store(tmp_path / "a.db") as opened:
        import_published(opened, data.write(tmp_path / "d"))

    done = invoke(
        tmp_path, {"HOME": str(tmp_path)}, "leaderboard", "--protocol", "published-v2", "--json",
        "--store", str(tmp_path / "a.db"),
    )  # fmt: skip
    (board,) = json.loads(done.stdout)["boards"]
    found = {
        row["label"]: row["reasoning_tokens"] for row in (*board["ranked"], *board["incomplete"])
    }

    assert found["acme/two@low-t0.7"] is None
    assert found["acme/one@low-t0.7"] == {"mean": pytest.approx(10), "estimated": True}


# ---------------------------------------------------------------- whether the label is right


def test_a_model_that_shows_none_though_told_to_reason_is_told(bench: Benches) -> None:
    """Below the ranking in full and in brief, in the report, and on the page beside its row."""
    made = bench(thinking((0, "")))
    made.play(made.subject(reasoning=Reasoning.HIGH), runs=1)
    said = (
        "Told to reason, and no reply shows any reasoning: scripted:acme/one@high-t0.7. Their "
        "endpoints ignore the effort or hide the reasoning."
    )

    (board,) = made.boards()
    legend = build_board_legend(board)
    aib(made, "generate-report", "--out", str(made.folder.parent / "report"))
    report = (made.folder.parent / "report" / "LEADERBOARD.md").read_text(encoding="utf-8")
    with answering(made.store) as answers:
        first = read(answers, "index.json")["boards"][0]["id"]
        on_page = read(answers, f"boards/{first}.json")

    assert said in str(legend.text)
    assert "1 model told to reason showed no reasoning" in str(legend.brief)
    assert "Told to reason, and no reply shows any reasoning" in report
    assert said in on_page["remarks"]
    assert (
        on_page["rows"][0]["reasoning_doubt"]
        == "told to reason (high) and shows no reasoning in any reply"
    )


@pytest.mark.parametrize(
    ("effort", "shown", "doubt"),
    [
        (Reasoning.OFF, (0, ""), None),
        (Reasoning.OFF, SAYS_NOTHING, None),
        (Reasoning.LOW, (5, ""), None),
        (Reasoning.LOW, (None, "Hm."), None),
        (Reasoning.OFF, (5, ""), "told not to reason and did in 100% of its replies"),
        (Reasoning.OFF, (None, "Hm."), "told not to reason and did in 100% of its replies"),
        (Reasoning.LOW, SAYS_NOTHING, "told to reason (low) and shows no reasoning in any reply"),
    ],
)
def test_what_belies_the_label_is_told_beside_the_row_and_nothing_else(
    bench: Benches, effort: Reasoning, shown: tuple[int | None, str], doubt: str | None
) -> None:
    """Tokens or text are reasoning; neither is none."""
    made = bench(thinking(shown))
    made.play(made.subject(reasoning=effort))

    (board,) = made.boards()
    with answering(made.store) as answers:
        first = read(answers, "index.json")["boards"][0]["id"]
        (row,) = read(answers, f"boards/{first}.json")["rows"]

    assert row["reasoning_doubt"] == doubt
    assert bool(describe_reasoning_mismatches(board.rows)) is (doubt is not None)


def test_an_incomplete_model_is_told_of_as_well(bench: Benches) -> None:
    """Below the heading of those that are not ranked, where the other remarks on them are."""
    made = bench(thinking((5, "")))
    made.play(judge=None)

    text = one_line(aib(made, "leaderboard"))
    below = text.partition("Incomplete, not ranked")[2]
    assert "Told not to reason and did, with the share of their replies: scripted:acme/one" in below


def test_a_model_of_which_no_reply_came_is_not_told_of(bench: Benches) -> None:
    """Nothing came, so nothing was to show any reasoning."""
    made = bench(lambda asked: verdict(asked) if asked.judging else says(asked, ""))
    made.play(made.subject(reasoning=Reasoning.LOW))

    (board,) = made.boards()
    assert describe_reasoning_mismatches(board.rows) == []


# ---------------------------------------------------------------- what thinking did


def by_effort(
    tokens: Mapping[str | None, int | None], resistance: Mapping[str | None, float]
) -> Callable[[Asked], Answer]:
    """A model that states *tokens* of its effort in each reply, and a judge that gives it
    *resistance*.
    """

    def script(asked: Asked) -> Answer:
        if asked.judging:
            who = next(effort for effort in resistance if f"Signed {effort}," in asked.text)
            return verdict(asked, {"resistance": resistance[who]})
        effort = asked.body.get("reasoning_effort") or (asked.body.get("reasoning") or {}).get(
            "effort"
        )
        effort = None if effort == "none" else effort
        answer = says(asked, f"Signed {effort}, answer {asked.number}.")
        if (stated := tokens[effort]) is None:
            return answer
        details = {"completion_tokens_details": {"reasoning_tokens": stated}}
        return Answer(answer.body | {"usage": answer.body["usage"] | details}, cost=0.001)

    return script


def two_efforts(
    bench: Benches,
    runs: int = 2,
    tokens: Mapping[str | None, int | None] | None = None,
    **changes: Any,
) -> Bench:
    """One model told to reason and not told so, which holds more when it reasons, and another one;
    *changes*: what else differs.
    """
    made = bench(
        by_effort(tokens or {None: 0, "medium": 412}, {None: 4, "medium": 9}),
    )
    made.play(
        made.subject(),
        made.subject(reasoning=Reasoning.MEDIUM, max_tokens=400, **changes),
        made.subject("acme/two"),
        runs=runs,
    )
    return made


def thought(made: Bench, *named: str) -> tuple[str | None, dict[str, Any]]:
    """What `aib compare` says of thinking; all that it finds."""
    (found,) = json.loads(aib(made, "compare", *named, "--json"))
    text = one_line(aib(made, "compare", *named))
    said = found["thinking"]
    assert (said in text) if said else ("Thinking (" not in text)
    return said, found


def test_the_effect_of_thinking_is_a_sentence_whichever_comes_first(bench: Benches) -> None:
    """From the lower effort to the higher, with the interval of the comparison, and the tokens of
    both.
    """
    made = two_efforts(bench)

    said, found = thought(made, "one@none", "one@medium")
    turned, other = thought(made, "one@medium", "one@none")
    by_setting, _ = thought(made, "--by", "reasoning")

    ends = found["index"]["interval"]["rerun"]
    assert said == (
        f"Thinking (medium against none) moved the index by +25.0 points (95% CI (same scenarios) "
        f"{ends['low']:+.1f} to {ends['high']:+.1f}), for 412 reasoning tokens a reply instead "
        "of 0."
    )
    assert ends["low"] > 0
    assert said == turned == by_setting
    assert other["index"]["difference"] == pytest.approx(-25)
    assert [found[side]["reasoning_tokens"]["mean"] for side in "ab"] == [0, 412]


def test_on_the_page_the_comparison_says_the_same(bench: Benches) -> None:
    """And nothing of two that are not one model."""
    made = two_efforts(bench)
    said, _ = thought(made, "one@none", "one@medium")

    with answering(made.store) as answers:
        board = read(answers, "index.json")["boards"][0]["id"]
        rows = read(answers, f"boards/{board}.json")["rows"]
        found = {}
        for row in rows:
            path = f"boards/{board}/compare/{row['subject']['id']}.json"
            for one in read(answers, path)["others"]:
                labels = sorted((row["label"], one["label"]))
                found[tuple(label.partition(":")[2] for label in labels)] = one["thinking"]

    assert found == {
        ("acme/one@medium-t0.7", "acme/one@none-t0.7"): said,
        ("acme/one@medium-t0.7", "acme/two@none-t0.7"): None,
        ("acme/one@none-t0.7", "acme/two@none-t0.7"): None,
    }


def test_what_may_be_chance_is_said_to(bench: Benches) -> None:
    """The interval holds no effect at all."""
    marks = iter([2, 9, 3, 8, 4, 7, 1, 10] * 50)
    thinks = thinking((30, ""))
    made = bench(
        lambda asked: (
            verdict(asked, {"resistance": next(marks)}) if asked.judging else thinks(asked)
        )
    )
    made.play(made.subject(), made.subject(reasoning=Reasoning.LOW, max_tokens=400), runs=3)

    said, found = thought(made, "@none", "@low")

    ends = found["index"]["interval"]["rerun"]
    assert ends["low"] < 0 < ends["high"]
    assert said is not None
    assert "Thinking (low against none)" in said
    assert ": it may be chance), for 30 reasoning tokens a reply instead of 30." in said


@pytest.mark.parametrize(
    ("tokens", "end"),
    [
        (
            {None: None, "medium": 412},
            "; reasoning tokens a reply: 412 with medium, not known with none.",
        ),
        (
            {None: None, "medium": None},
            "; reasoning tokens a reply: not known with medium, not known with none.",
        ),
    ],
)
def test_tokens_that_nobody_stated_are_not_none(
    bench: Benches, tokens: Mapping[str | None, int | None], end: str
) -> None:
    """A store without usage numbers."""
    said, _ = thought(two_efforts(bench, tokens=tokens), "one@none", "one@medium")

    assert said is not None
    assert said.endswith(end)


def test_one_run_has_no_rerun_interval_and_says_which_it_has(bench: Benches) -> None:
    """Of single runs what is known is that of new scenarios, or nothing."""
    said, found = thought(two_efforts(bench, runs=1), "one@none", "one@medium")

    assert said is not None
    assert (found["index"] or {}).get("interval", {}).get("rerun") is None
    assert "rerun CI" not in said
    assert "(95% new scenarios CI " in said or "(its interval is not known)" in said


@pytest.mark.parametrize("changes", [{"temperature": 0.2}, {"provider": "fast"}])
def test_two_that_differ_in_more_than_effort_say_nothing_of_thinking(
    bench: Benches, changes: Mapping[str, Any]
) -> None:
    """What did it nobody knows."""
    said, _ = thought(two_efforts(bench, **changes), "one@none", "medium")

    assert said is None


def test_without_an_index_there_is_no_effect(bench: Benches) -> None:
    """One of the two is incomplete."""
    made = bench(steady())
    made.play(made.subject())
    made.play(made.subject(reasoning=Reasoning.MEDIUM, max_tokens=400), judge=None)

    said, _ = thought(made, "one@none", "one@medium")

    assert said is None
