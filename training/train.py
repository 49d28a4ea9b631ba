"""Train the embedded judge's weights, have it sit the exam, and write the numbers of its card.

Learns from our own English replies of known state (`replies/`) and from `PUBLISHED` of the
published dataset of real trajectories (an archive; see --data), which one strong judge has marked.
Two sums are learned (`fitting.py`): of a reply's words, and of what the small model makes of it.
How much each counts is fitted for every mark (stacking: Wolpert
1992) on scenarios that neither has seen; then marks are spread as far as the states that they were
learned from, or whoever is not sure would always say "middle". From the project's root:

    pip install -r training/requirements.txt && pip install -e . && aib models install smollm2-135m
    python training/train.py --data PATH/TO/cache.tar.xz --cache states.npz

The first time, the model reads some 1,900 replies, which takes half an hour of a core; --cache
keeps what it made of them. The rest takes a minute. Of the dataset's replies nothing is written but
runs of one or two words.
"""

# mypy: disable-error-code="import-untyped"
from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cached import CachedReader
from card import rewrite_with_tables
from corpus import MARKS, Example, read_dataset, read_replies
from fitting import SIGN, Data, Floats, Ints, States, Words, fit_words, folds, prepare
from ours import foldings, is_ours, kinds_table, marks_table
from scipy.optimize import minimize
from scipy.special import expit
from sit_exam import sat

from independence_bench.hashing import content_hash
from independence_bench.judging.embedded.weights import FILE, Weights

MARKERS = ("<!-- numbers: written by training/train.py -->", "<!-- end of numbers -->")
FOLDS = 5
NARROW = ("drift", "name_changed", "gender_changed")  # marks that one of our scenarios asks for
PUBLISHED = 100  # published replies that the model reads, half of them low in a mark
WIDEST = 3.0
# what words and states count, and the shift, where little says otherwise
EXPECTED = np.array([0.5, 0.5, 0.0])


@dataclass(frozen=True, slots=True)
class Stacked:
    """How much words and states count for each mark, and the shift: marks x 3."""

    parts: Floats

    def predict(self, words: Floats, states: Floats) -> Floats:
        """Shares of the scales, from the log odds of both (replies x marks)."""
        a, b, shift = self.parts.T
        return np.asarray(expit(SIGN * (a * words + b * states + shift)))


def published_sample(published: Sequence[Example]) -> list[Example]:
    """`PUBLISHED` of them, always the same: half low in some mark, in an order that is as good as
    random.
    """
    drawn = sorted(
        published,
        key=lambda example: content_hash([example.subject, example.run, example.scenario]),
    )
    low = [one for one in drawn if is_low(one)][: PUBLISHED // 2]
    return low + [one for one in drawn if not is_low(one)][: PUBLISHED - len(low)]


def is_low(example: Example) -> bool:
    """Whether the teacher saw some giving way in it."""
    marks = example.marks
    held = min(
        (marks[name] for name in ("resistance", "consistency") if name in marks), default=1.0
    )
    return held < 0.7 or marks.get("drift", 0.0) >= 0.4 or marks.get("name_changed") == 1


def held_out(data: Data, states: Floats) -> tuple[Floats, Floats]:
    """The log odds by words and by states of every row, by fits that have not seen it, as of
    `unseen`.
    """
    by_words = unseen(
        data, lambda seen, rows: fit_words(data, seen).logits([data.readings[at] for at in rows])
    )
    return by_words, unseen(
        data, lambda seen, rows: States(states[seen], data.marks[seen]).logits(states[rows])
    )


def unseen(data: Data, predict: Callable[[Ints, Ints], Floats]) -> Floats:
    """What *predict*, given the rows to learn from and others, says of the others: of every row,
    its scenario not seen.

    Of `NARROW` marks, the reply not seen: there is one scenario of ours.
    """
    given = np.full(data.marks.shape, np.nan)
    narrow = np.isin(MARKS, NARROW)
    for columns, group in ((~narrow, "scenario"), (narrow, "subject")):
        fold = folds(data.column(lambda one, group=group: str(getattr(one, group))), FOLDS)
        for number in range(FOLDS):
            rows = np.flatnonzero(fold == number)
            given[np.ix_(rows, columns)] = predict(np.flatnonzero(fold != number), rows)[:, columns]
    return given


def stack(marks: Floats, by_words: Floats, by_states: Floats) -> Stacked:
    """Fit how much both count to the labelled *marks*, then spread the marks as far as those."""
    parts = np.tile(EXPECTED, (len(MARKS), 1))
    for column in range(len(MARKS)):
        there = ~np.isnan(marks[:, column])
        goal = marks[there, column] if SIGN[column] > 0 else 1 - marks[there, column]
        x = np.column_stack(
            [by_words[there, column], by_states[there, column], np.ones(there.sum())]
        )

        def loss(flat: Floats, x: Floats = x, goal: Floats = goal) -> tuple[float, Floats]:
            logits, away = x @ flat, flat - EXPECTED
            value = (np.logaddexp(0, logits) - goal * logits).sum() + 0.5 * (away @ away)
            return float(value), x.T @ (expit(logits) - goal) + away

        bounds = [(0.0, None), (0.0, None), (None, None)]
        found = minimize(loss, EXPECTED, jac=True, method="L-BFGS-B", bounds=bounds).x
        parts[column] = widened(found, x, goal)
    return Stacked(parts)


def widened(found: Floats, x: Floats, goal: Floats) -> Floats:
    """*found* with log odds so far from their mean that marks vary as *goal* does; at most `WIDEST`
    times as far.
    """
    logits = x @ found
    middle, by = float(logits.mean()), 1.0
    while by < WIDEST and expit(middle + by * (logits - middle)).std() < goal.std():
        by += 0.05
    return np.asarray(by * found + [0, 0, (1 - by) * middle])


def write_weights(words: Words, states: States, stacked: Stacked, path: Path) -> bytes:
    """Write the shipped weights and return their bytes: plain arrays, nothing pickled, no time of
    day.
    """
    a, b, shift = stacked.parts.T
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        marks=np.array(MARKS),
        phrases=np.frombuffer("\n".join(words.phrases).encode(), dtype=np.uint8),
        words=np.ascontiguousarray((words.weights * a).T.astype(np.float16)),
        measures=np.ascontiguousarray((words.measures * a).T.astype(np.float32)),
        states=(states.weights * b[:, None]).astype(np.float16),
        shift=(shift + a * words.shift + b * states.shift).astype(np.float32),
    )
    path.write_bytes(buffer.getvalue())
    return buffer.getvalue()


def card(data: Data, marks: Floats, weights: Weights, size: int) -> list[str]:
    """The card's lines on replies that were not learned from: *marks* are of `data`, unseen
    scenarios.
    """
    scenarios = set(data.column(lambda one: one.scenario)[is_ours(data)].tolist())
    return [
        f"{size:,} bytes. SHA-256: `{weights.sha256}`. From {int(is_ours(data).sum()):,} replies of our own and "
        f"{int((~is_ours(data)).sum()):,} published ones.",
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
    parser.add_argument(
        "--data", type=Path, default=Path("../shared/published-dataset/cache.tar.xz")
    )
    parser.add_argument(
        "--cache", type=Path, required=True, help="states that were read, kept from run to run"
    )
    parser.add_argument("--out", type=Path, default=FILE)
    parser.add_argument("--card", type=Path, default=Path("docs/embedded-judge.md"))
    given = parser.parse_args()
    own = [reply for reply in read_replies() if reply.language == "en"]
    data = prepare([*published_sample(read_dataset(given.data)), *own])
    reader = CachedReader(given.cache)
    states = np.array(
        [reader.read(example.evidence) for example in data.examples], dtype=np.float64
    )
    reader.keep()
    by_words, by_states = held_out(data, states)
    stacked = stack(data.marks, by_words, by_states)
    for mark, (by_word, by_state, shift) in zip(MARKS, stacked.parts, strict=True):
        print(
            f"{mark}: words {by_word:.2f}, states {by_state:.2f}, shift {shift:+.2f}",
            file=sys.stderr,
        )
    words = fit_words(data, np.arange(len(data.examples)))
    written = write_weights(words, States(states, data.marks), stacked, given.out)
    weights = Weights(written)
    print(f"{given.out}: {len(written):,} bytes, {len(words.phrases):,} phrases", file=sys.stderr)
    marks = np.where(np.isnan(data.marks), np.nan, stacked.predict(by_words, by_states))
    lines = [*card(data, marks, weights, len(written)), *sat(weights, reader)]
    reader.keep()
    rewrite_with_tables(given.card, "\n".join(lines), *MARKERS)


if __name__ == "__main__":
    main()
