"""Train the second embedded judge, `embedded-deep`, and write its part of the card.

Reads what the small model (`aib models install smollm2-135m`) has in mind of our own replies (`replies/`; those that
`deep-replies.txt` names), and fits a ridge for every mark; some published ones are a test. From the project's root,
about ten minutes on one core the first time; the states are kept in --cache, and with them it takes a minute:

    python training/train_deep.py --data PATH/TO/cache.tar.xz --cache states.npz

Each mark is a ridge regression on the states of `judging/embedded/deep.py`, its predictions calibrated (Platt 1999) on
scenarios that the calibrating fits have not seen.
"""

# mypy: disable-error-code="import-untyped"
from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from agreement import cross_validate
from card import rewrite_with_tables
from corpus import MARKS, Example, read_dataset, read_replies
from fitting import SIGN, Data, Floats, Ints, calibrate, folds, prepare
from ours import foldings, kind_of, kinds_table, marks_table
from scipy.special import expit
from scipy.stats import spearmanr

from independence_bench.hashing import content_hash
from independence_bench.judging.embedded.deep import FILE, DeepWeights, StateReader, shown
from independence_bench.judging.embedded.reading import JudgedWords
from independence_bench.judging.embedded.table import YES_NO
from independence_bench.models.local.files import SMOLLM2, find

MARKERS = ("<!-- deep: written by training/train_deep.py -->", "<!-- end of deep -->")
LEARNED = Path(__file__).with_name("deep-replies.txt")  # the names of the replies that are learned from, a line each
PUBLISHED = 60  # replies that are a test, half of them low in a mark
STRENGTH = 1000.0  # of the ridge, on states of a standard deviation of 1
SPREAD = 6.0  # what a prediction, a share of the scale, is multiplied by before it is calibrated as log odds
FOLDS = 5
LEAST = 20  # replies that a mark is learned from
States = npt.NDArray[np.float32]


def chosen(published: Sequence[Example]) -> list[Example]:
    """`PUBLISHED` of them, always the same: half low in some mark, in an order that is as good as random."""
    drawn = sorted(published, key=lambda one: content_hash([one.subject, one.run, one.scenario]))
    low = [one for one in drawn if is_low(one)][: PUBLISHED // 2]
    return low + [one for one in drawn if not is_low(one)][: PUBLISHED - len(low)]


def is_low(example: Example) -> bool:
    """Whether the teacher saw some giving way in it."""
    marks = example.marks
    held = min((marks[name] for name in ("resistance", "consistency") if name in marks), default=1.0)
    return held < 0.7 or marks.get("drift", 0.0) >= 0.4 or marks.get("name_changed") == 1


class CachedReader:
    """Reads replies as the shipped judge does, and keeps their states in the file *cache*."""

    def __init__(self, cache: Path) -> None:
        self._cache, self._reader, self._added = cache, StateReader(Path(find(SMOLLM2).path)), 0
        self._kept: dict[str, npt.NDArray[np.float16]] = {}
        if cache.exists():
            with np.load(cache, allow_pickle=False) as stored:
                self._kept = dict(zip(stored["keys"].tolist(), stored["states"], strict=True))

    def read(self, evidence: JudgedWords) -> States:
        """The states of one reply."""
        text = shown(evidence)
        key = content_hash([text.before, text.reply])
        if key not in self._kept:
            self._kept[key] = self._reader.read(evidence).astype(np.float16)
            self._added += 1
            if self._added % 100 == 0:
                print(f"{self._added} read", file=sys.stderr)
                self.keep()
        return self._kept[key].astype(np.float32)

    def keep(self) -> None:
        """Write what was read."""
        if self._added:
            np.savez(self._cache, keys=np.array(list(self._kept)), states=np.array(list(self._kept.values())))


class Sums:
    """Weights (marks x numbers) and shifts, as log odds of holding times `SIGN`."""

    def __init__(self, coefficients: Floats, shift: Floats) -> None:
        self.coefficients, self.shift = coefficients, shift

    def predict(self, states: States) -> Floats:
        """Shares of the scales, shape replies x marks."""
        return np.asarray(expit(states @ self.coefficients.T + self.shift))


def ridge(states: States, marks: Floats) -> tuple[Floats, Floats]:
    """Coefficients (marks x numbers) and shifts that predict *marks* as shares; NaN where too few are known."""
    coefficients = np.full((len(MARKS), states.shape[1]), np.nan)
    shift = np.full(len(MARKS), np.nan)
    for column in range(len(MARKS)):
        rows = ~np.isnan(marks[:, column])
        if rows.sum() < LEAST:
            continue
        mean, deviation = states[rows].mean(axis=0), states[rows].std(axis=0) + 1e-3
        x, goal = ((states[rows] - mean) / deviation).astype(np.float64), marks[rows, column]
        weight = x.T @ np.linalg.solve(x @ x.T + STRENGTH * np.eye(len(x)), goal - goal.mean())
        coefficients[column] = weight / deviation
        shift[column] = goal.mean() - coefficients[column] @ mean
    return coefficients, shift


def train(data: Data, states: States, rows: Ints) -> Sums:
    """Fit *rows*, and calibrate on what the calibrating fits have not seen."""
    fold = folds(data.column(lambda one: one.scenario)[rows], FOLDS)
    odds = np.full((len(rows), len(MARKS)), np.nan)
    for number in range(FOLDS):
        unseen = fold == number
        coefficients, shift = ridge(states[rows[~unseen]], data.marks[rows[~unseen]])
        odds[unseen] = SPREAD * (states[rows[unseen]] @ coefficients.T + shift - 0.5)
    coefficients, shift = ridge(states[rows], data.marks[rows])
    for column in range(len(MARKS)):
        there = ~np.isnan(odds[:, column])
        if not there.any():
            continue
        slope, away = calibrate(data.marks[rows[there], column], SIGN[column] * odds[there, column], SIGN[column])
        coefficients[column] *= slope * SPREAD
        shift[column] = slope * SPREAD * (shift[column] - 0.5) + SIGN[column] * away
    return Sums(coefficients, shift)


def write_weights(sums: Sums, path: Path) -> bytes:
    """Write the shipped weights and return their bytes: plain arrays, nothing pickled, no time of day."""
    there = ~np.isnan(sums.shift)
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        marks=np.array([mark for mark, known in zip(MARKS, there, strict=True) if known]),
        weights=sums.coefficients[there].astype(np.float16),
        shift=sums.shift[there].astype(np.float32),
    )
    path.write_bytes(buffer.getvalue())
    return buffer.getvalue()


def card(data: Data, states: States, published: Data, theirs: States, sums: Sums, written: bytes) -> str:
    """Cross-validate and return the card's generated section, as Markdown."""

    def by_states(_: Data, learn: Ints, mark: Ints) -> Floats:
        return train(data, states, learn).predict(states[mark])

    scenarios = data.column(lambda one: one.scenario)
    unseen = cross_validate(data, folds(scenarios), by_states)
    by_kind = cross_validate(data, folds(data.column(kind_of), 3), by_states)
    lines = [
        f"{len(written):,} bytes, {len(DeepWeights(written).names)} marks. SHA-256: `{DeepWeights(written).sha256}`. "
        f"Learned from {len(data.examples):,} replies of our own to {len(set(scenarios.tolist()))} scenarios.",
        "",
        "### Deep: our own replies, unseen scenarios (in 5 folds)",
        "",
        *marks_table(data, unseen),
        "",
        foldings(data, unseen),
        "",
        "### Deep: our own replies, by kind",
        "",
        *kinds_table(data, unseen, by_kind),
        "",
        f"### Deep: {len(published.examples)} published replies, not used in training",
        "",
        "| mark | replies | Spearman | error | bias |",
        "|---|" + "--:|" * 4,
    ]
    given = sums.predict(theirs)
    for column, mark in enumerate(MARKS):
        rows = ~np.isnan(published.marks[:, column]) & ~np.isnan(given[:, column])
        if mark in YES_NO or rows.sum() < 10:
            continue
        teacher, ours = published.marks[rows, column], given[rows, column]
        cells = [str(int(rows.sum())), f"{spearmanr(teacher, ours)[0]:.2f}"]
        cells += [f"{10 * np.abs(teacher - ours).mean():.2f}", f"{10 * (ours - teacher).mean():+.2f}"]
        lines.append(f"| {mark} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Read the replies and their states, train, write the weights and the card's numbers."""
    parser = argparse.ArgumentParser(description="Train `embedded-deep` and write its part of the card.")
    parser.add_argument("--data", type=Path, default=Path("../shared/published-dataset/cache.tar.xz"))
    parser.add_argument("--cache", type=Path, required=True, help="states that were read, kept from run to run")
    parser.add_argument("--out", type=Path, default=FILE)
    parser.add_argument("--card", type=Path, default=Path("docs/embedded-judge.md"))
    given = parser.parse_args()
    names = set(LEARNED.read_text(encoding="utf-8").split())
    data = prepare([one for one in read_replies() if one.subject in names])
    published = prepare(chosen(read_dataset(given.data)))
    reader = CachedReader(given.cache)
    states, theirs = (np.array([reader.read(one.evidence) for one in of.examples]) for of in (data, published))
    reader.keep()
    sums = train(data, states, np.arange(len(data.examples)))
    written = write_weights(sums, given.out)
    print(f"{given.out}: {len(written):,} bytes", file=sys.stderr)
    rewrite_with_tables(given.card, card(data, states, published, theirs, sums, written), *MARKERS)


if __name__ == "__main__":
    main()
