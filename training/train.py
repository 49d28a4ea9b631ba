"""Train the embedded judge's table of weights and write the numbers of its card.

Reads the published dataset of real trajectories (an archive; see --data), where one strong judge has marked
every reply, and our own replies of known state (`replies/`), and fits for every mark how much each short phrase of a
reply weighs (`fitting.py`). From the project's root:

    pip install -r training/requirements.txt && pip install -e .
    python training/train.py

The same data give the same bytes. It takes some ten minutes on one core. It reads replies exactly as the
shipped reader does (`independence_bench.judging.embedded.table.read`), and writes nothing of them but runs of one or
two words.
"""

# mypy: disable-error-code="import-untyped"
from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from agreement import WAYS, agreement, cross_validate, rebuild_index, settle
from card import rewrite_with_tables
from corpus import MARKS, read_dataset, read_replies
from fitting import SIGN, Data, Floats, Weights, folds, prepare, train, write_table
from ours import abstentions, foldings, is_ours, kind_of, kinds_table, marks_table

from independence_bench.judging.embedded.reading import JudgedWords, read
from independence_bench.judging.embedded.table import FILE, YES_NO, WeightTable

MARKERS = ("<!-- numbers: written by training/train.py -->", "<!-- end of numbers -->")
PUSHES = (1, 3, 10)


def push(weights: Weights, data: Data, mark: str, replies: int = 12) -> list[float]:
    """Return the mean mark of the most folded replies as they are, then after ``PUSHES`` appended phrases.

    Phrases are chosen greedily, each appended as a sentence of its own, by what they do to the mean over
    *replies* replies of as many subjects. Drift and the two changes are pushed down, all else up. Yes/no
    marks: the mean chance of a yes, 0-1; else points.
    """
    column = MARKS.index(mark)
    sign = SIGN[column]
    rows = [row for row in range(len(data.examples)) if not np.isnan(data.marks[row, column])]
    rows.sort(key=lambda row: (sign * data.marks[row, column], data.examples[row].subject, row))
    chosen = list({data.examples[row].subject: row for row in reversed(rows[: 20 * replies])}.values())
    chosen = sorted(chosen, key=rows.index)[:replies]
    replies_now = [data.examples[row].evidence for row in chosen]
    heaviest = np.argsort(-weights.weights[:, column], kind="stable")[:120]
    plain = [weights.phrases[place] for place in heaviest if ":" not in weights.phrases[place]]
    words = [phrase.replace(".", "").strip() for phrase in plain]
    candidates = list(dict.fromkeys(words))[:60]

    def added(phrase: str) -> list[JudgedWords]:
        return [JudgedWords(one.first, one.pressure, f"{one.answer} {phrase}.") for one in replies_now]

    def mean(evidence: Sequence[JudgedWords]) -> float:
        return float(weights.predict([read(one) for one in evidence])[:, column].mean())

    unit = 1.0 if mark in YES_NO else 10.0
    means = [unit * mean(replies_now)]
    for step in range(1, max(PUSHES) + 1):
        best = max(candidates, key=lambda phrase: sign * mean(added(phrase)))
        replies_now = added(best)
        if step in PUSHES:
            means.append(unit * mean(replies_now))
    return means


SHOWN = ("resistance", "consistency", "non_assistant_likeness", "drift")
NOTHING_SAID = (
    "",
    "Zxq vlor mipt 314 %%%",
    "Stir the rice until the water is gone, then add butter and cheese.",
    "As an AI language model, I do not have personal preferences. How can I help you today?",
)
"""Replies that take no side, for the card: what the table makes of them."""


def number(value: float, digits: int = 2) -> str:
    """Return *value* for a table cell; a dash where there is none."""
    return "–" if np.isnan(value) else f"{value:.{digits}f}"


def agreement_table(data: Data, runs: dict[str, Floats]) -> list[str]:
    """Return the lines of one split: every mark, the table beside a control that reads nothing."""
    lines = [
        "| mark | replies | rarer side | Spearman | error | bias | AUC | AUC inside scenarios | mean: error |",
        "|---|" + "--:|" * 8,
    ]
    for mark in MARKS:
        ours, mean = (agreement(data, runs[name], mark) for name in WAYS)
        if ours is None:
            continue
        cells = [
            f"{ours.count:,}",
            str(ours.rare),
            number(ours.spearman),
            number(ours.error),
            f"{ours.bias:+.2f}",
        ]
        cells += [number(ours.auc, 3), number(ours.within, 3)]
        cells += [number(mean.error) if mean else "–"]
        lines.append(f"| {mark} | " + " | ".join(cells) + " |")
    return lines


def card(data: Data, weights: Weights, table: WeightTable, published: dict[str, float], size: int) -> str:
    """Cross-validate and return the card's generated section, as Markdown."""
    models, scenarios = data.column(lambda one: one.model), data.column(lambda one: one.scenario)
    ours = is_ours(data)
    kinds = np.where(ours, 0, -1)
    kinds[ours] = folds(data.column(kind_of)[ours], 3)
    by_scenario = "Unseen scenarios"
    splits = {
        f"Unseen base models ({len(set(models[~ours].tolist()))} in 5 folds)": folds(models),
        by_scenario: folds(scenarios),
    }
    lines = [
        f"{size:,} bytes, {len(weights.phrases):,} phrases, {len(MARKS)} marks. SHA-256: `{table.sha256}`. "
        f"Learned from {int((~ours).sum()):,} judged transcripts of "
        f"{len(set(data.column(lambda one: one.subject)[~ours].tolist()))} subjects and {int(ours.sum()):,} replies of "
        "our own.",
        "",
    ]
    index = ["| split | way | subjects | Spearman | mean error | bias |", "|---|---|" + "--:|" * 4]
    for title, fold in splits.items():
        print(title, file=sys.stderr)
        runs = {name: cross_validate(data, fold, way) for name, way in WAYS.items()}
        theirs = {name: np.where(ours[:, None], np.nan, run) for name, run in runs.items()}
        title_ = f"{title} ({len(set(scenarios[~ours].tolist()))} in 5 folds)" if title == by_scenario else title
        lines += [f"### {title_}", "", *agreement_table(data, theirs), ""]
        for name in () if title == by_scenario else WAYS:
            count, spearman, error, bias = rebuild_index(data, settle(theirs[name]), published)
            index.append(f"| {title} | {name} | {count} | {number(spearman, 3)} | {error:.2f} | {bias:+.2f} |")
    lines += ["### The published index of unseen subjects, rebuilt", "", *index, ""]
    unseen = runs["table"]
    unseen_kinds = cross_validate(data, kinds, WAYS["table"])
    lines += [f"### Our own replies, unseen scenarios ({len(set(scenarios[ours].tolist()))} in 5 folds)", ""]
    lines += [*marks_table(data, unseen), "", foldings(data, unseen), ""]
    lines += ["### Our own replies, by kind", "", *kinds_table(data, unseen, unseen_kinds), ""]
    lines += ["### Replies without a mark", "", *abstentions(data, table), ""]
    lines += [
        "### How far a mark can be pushed",
        "",
        "| mark | unchanged | + 1 phrase | + 3 phrases | + 10 phrases |",
        "|---|" + "--:|" * 4,
    ]
    for mark in MARKS:
        lines.append(f"| {mark} | " + " | ".join(number(mean) for mean in push(weights, data, mark)) + " |")
    lines += ["", "### Replies that take no side", ""]
    lines += ["| reply | " + " | ".join(SHOWN) + " |", "|---|" + "--:|" * len(SHOWN)]
    for answer in NOTHING_SAID:
        given = [table.mark(mark, JudgedWords("", "", answer)) for mark in SHOWN]
        marks = " | ".join(number(float(one.value)) if one else "no mark" for one in given)
        lines.append(f"| {answer or '(an empty reply)'} | {marks} |")
    return "\n".join(lines)


def main() -> None:
    """Read the dataset, train, write the table, then cross-validate and write the card's numbers."""
    parser = argparse.ArgumentParser(description="Train the embedded judge's table and write its card.")
    parser.add_argument("--data", type=Path, default=Path("../shared/published-dataset/cache.tar.xz"))
    parser.add_argument("--rows", type=Path, help="published rows (default: published-rows.csv by the data)")
    parser.add_argument("--out", type=Path, default=FILE)
    parser.add_argument("--card", type=Path, default=Path("docs/embedded-judge.md"))
    chosen = parser.parse_args()
    rows = chosen.rows or chosen.data.with_name("published-rows.csv")
    with rows.open(encoding="utf-8", newline="") as lines:
        published = {row["directory"]: float(row["index"]) for row in csv.DictReader(lines) if row["index"]}
    data = prepare([*read_dataset(chosen.data), *read_replies()])
    weights = train(data, np.arange(len(data.examples)))
    written = write_table(weights, chosen.out)
    table = WeightTable(written)
    print(f"{chosen.out}: {len(written):,} bytes, {len(weights.phrases):,} phrases", file=sys.stderr)
    rewrite_with_tables(chosen.card, card(data, weights, table, published, len(written)), *MARKERS)


if __name__ == "__main__":
    main()
