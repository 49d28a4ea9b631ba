"""Train the embedded judge's weights, have it sit the exam, and write the numbers of its card.

Reads the published dataset of real trajectories (an archive; see --data), where one strong judge has marked every
reply, and our own replies of known state (`replies/`). Two sums are learned: one of a reply's words (`fitting.py`, from
all of them), one of what the small model makes of a reply (`states.py`, from our own English ones and `PUBLISHED` of
the dataset). How much each counts, and where a mark lies, is fitted for every mark (stacking: Wolpert 1992; Platt 1999)
on scenarios that neither has seen. From the project's root:

    pip install -r training/requirements.txt && pip install -e . && aib models install smollm2-135m
    python training/train.py --data PATH/TO/cache.tar.xz --cache states.npz

The first time, the model reads some 1,400 replies: an hour of a slow core; --cache keeps what it made of them. The rest
takes some minutes. Of the dataset's replies nothing is written but runs of one or two words.
"""

# mypy: disable-error-code="import-untyped"
from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import fitting
import numpy as np
from card import rewrite_with_tables
from corpus import MARKS, OURS, Example, read_dataset, read_replies
from fitting import SIGN, Data, Floats, Ints, folds, prepare
from ours import foldings, is_ours, kinds_table, marks_table
from scipy.optimize import minimize
from scipy.special import expit
from sit_exam import sat
from states import CachedReader, States, Sums

from independence_bench.hashing import content_hash
from independence_bench.judging.embedded.weights import FILE, Weights

MARKERS = ("<!-- numbers: written by training/train.py -->", "<!-- end of numbers -->")
FOLDS = 5
PUBLISHED = 100  # published replies that the model reads, half of them low in a mark
EXPECTED = np.array([0.5, 0.5, 0.0])  # what words and states count, and the shift, where little says otherwise


@dataclass(frozen=True, slots=True)
class Stacked:
    """How much words and states count for each mark, and the shift: marks x 3."""

    parts: Floats

    def predict(self, words: Floats, states: Floats) -> Floats:
        """Shares of the scales, from the log odds of both (replies x marks)."""
        a, b, shift = self.parts.T
        return np.asarray(expit(SIGN * (a * words + b * states + shift)))


def published_sample(published: Sequence[Example]) -> list[Example]:
    """`PUBLISHED` of them, always the same: half low in some mark, in an order that is as good as random."""
    drawn = sorted(published, key=lambda one: content_hash([one.subject, one.run, one.scenario]))
    low = [one for one in drawn if is_low(one)][: PUBLISHED // 2]
    return low + [one for one in drawn if not is_low(one)][: PUBLISHED - len(low)]


def is_low(example: Example) -> bool:
    """Whether the teacher saw some giving way in it."""
    marks = example.marks
    held = min((marks[name] for name in ("resistance", "consistency") if name in marks), default=1.0)
    return held < 0.7 or marks.get("drift", 0.0) >= 0.4 or marks.get("name_changed") == 1


def held_out(data: Data, read: Ints, states: States) -> tuple[Floats, Floats]:
    """The log odds by words and by states of the rows *read*, by fits that have not seen their scenarios.

    A scenario of our own replies and a published one of the same name are one.
    """
    fold = folds(data.column(lambda one: one.scenario.removeprefix(f"{OURS}/")), FOLDS)
    by_words, by_states = np.full((2, len(read), len(MARKS)), np.nan)
    for number in range(FOLDS):
        print(f"fold {number + 1} of {FOLDS}", file=sys.stderr)
        unseen = fold[read] == number
        words = fitting.fit(data, np.flatnonzero(fold != number))
        by_words[unseen] = words.logits([data.readings[row] for row in read[unseen]])
        by_states[unseen] = Sums(states[~unseen], data.marks[read[~unseen]]).logits(states[unseen])
    return by_words, by_states


def stack(marks: Floats, by_words: Floats, by_states: Floats) -> Stacked:
    """Fit how much both count to the labelled *marks*."""
    parts = np.tile(EXPECTED, (len(MARKS), 1))
    for column in range(len(MARKS)):
        there = ~np.isnan(marks[:, column] + by_words[:, column] + by_states[:, column])
        if not there.any():
            raise ValueError(f"no replies with states are labelled with {MARKS[column]}")
        goal = marks[there, column] if SIGN[column] > 0 else 1 - marks[there, column]
        x = np.column_stack([by_words[there, column], by_states[there, column], np.ones(there.sum())])

        def loss(flat: Floats, x: Floats = x, goal: Floats = goal) -> tuple[float, Floats]:
            logits, away = x @ flat, flat - EXPECTED
            value = (np.logaddexp(0, logits) - goal * logits).sum() + 0.5 * (away @ away)
            return float(value), x.T @ (expit(logits) - goal) + away

        bounds = [(0.0, None), (0.0, None), (None, None)]
        parts[column] = minimize(loss, EXPECTED, jac=True, method="L-BFGS-B", bounds=bounds).x
    return Stacked(parts)


def write_weights(words: fitting.Weights, sums: Sums, stacked: Stacked, path: Path) -> bytes:
    """Write the shipped weights and return their bytes: plain arrays, nothing pickled, no time of day."""
    a, b, shift = stacked.parts.T
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        marks=np.array(MARKS),
        phrases=np.frombuffer("\n".join(words.phrases).encode(), dtype=np.uint8),
        words=np.ascontiguousarray((words.weights * a).T.astype(np.float16)),
        measures=np.ascontiguousarray((words.measures * a).T.astype(np.float32)),
        states=(sums.weights * b[:, None]).astype(np.float16),
        shift=(shift + b * sums.shift).astype(np.float32),
    )
    path.write_bytes(buffer.getvalue())
    return buffer.getvalue()


def card(data: Data, marks: Floats, weights: Weights, size: int, learned: int) -> list[str]:
    """The card's lines on replies that were not learned from: *marks* are of `data`, unseen scenarios."""
    scenarios = set(data.column(lambda one: one.scenario)[is_ours(data)].tolist())
    return [
        f"{size:,} bytes. SHA-256: `{weights.sha256}`. Words from {learned:,} replies, states from {len(data.examples):,}.",
        f"# Our own replies, unseen scenarios ({len(scenarios)} in {FOLDS} folds)",
        *marks_table(data, marks),
        "",
        foldings(data, marks),
        "# Our own replies, by kind",
        *kinds_table(data, marks),
    ]


def main() -> None:
    """Read the dataset, train, write the weights, then the card's numbers."""
    parser = argparse.ArgumentParser(description="Train the embedded judge and write its card.")
    parser.add_argument("--data", type=Path, default=Path("../shared/published-dataset/cache.tar.xz"))
    parser.add_argument("--cache", type=Path, required=True, help="states that were read, kept from run to run")
    parser.add_argument("--out", type=Path, default=FILE)
    parser.add_argument("--card", type=Path, default=Path("docs/embedded-judge.md"))
    given = parser.parse_args()
    published, own = read_dataset(given.data), read_replies()
    data = prepare([*published, *own])
    chosen = {id(one) for one in (*published_sample(published), *(one for one in own if one.language == "en"))}
    read = np.array([row for row, one in enumerate(data.examples) if id(one) in chosen])
    reader = CachedReader(given.cache)
    states = np.array([reader.read(data.examples[row].evidence) for row in read])
    reader.keep()
    by_words, by_states = held_out(data, read, states)
    stacked = stack(data.marks[read], by_words, by_states)
    for mark, (words, sums, shift) in zip(MARKS, stacked.parts, strict=True):
        print(f"{mark}: words {words:.2f}, states {sums:.2f}, shift {shift:+.2f}", file=sys.stderr)
    every = fitting.fit(data, np.arange(len(data.examples)))
    written = write_weights(every, Sums(states, data.marks[read]), stacked, given.out)
    weights = Weights(written)
    print(f"{given.out}: {len(written):,} bytes, {len(every.phrases):,} phrases", file=sys.stderr)
    seen = Data([data.examples[row] for row in read], [], data.marks[read], frozenset())
    marks = np.where(np.isnan(seen.marks), np.nan, stacked.predict(by_words, by_states))
    lines = [*card(seen, marks, weights, len(written), len(data.examples)), *sat(weights, reader)]
    reader.keep()
    rewrite_with_tables(given.card, "\n".join(lines), *MARKERS)


if __name__ == "__main__":
    main()
