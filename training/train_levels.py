"""Train the embedded judge's tables of levels for protocols of stems, and write what they are good for.

From the project's root, after `train.py`'s set-up:

    python training/train_levels.py

Learned from: replies made of `levels/characters.yaml` in the stems of `levels/stems.yaml`, whose levels are known, as
they were written as such; and, for where a reply stands, the published replies about stability and resistance: those
marked 7 or more as staying and 3 or less as giving way, with the words of both sides masked. Tested on stems and on
characters that the weights have not seen, on the simulator's organisms in the shipped stems, none of whose texts is
learned from, and on published replies of base models and scenarios that were left out. A level is good where it is
right in `RIGHT` of the cases in which it is given and given in `FOUND` of those in which it is true, all levels being
equally frequent, in each of the first three tests. Where this is not what the package says (`levels.GIVEN`), nothing is
written.

Each mark is a multinomial logistic regression on phrases and counted measures, with squared penalties. The same data
give the same bytes. It takes some minutes on one core.
"""

# mypy: disable-error-code="import-untyped"
from __future__ import annotations

import argparse
import io
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from card import rewrite_with_tables
from level_replies import LEVELS, Labelled, organisms, published, simulated
from scipy import sparse
from scipy.optimize import minimize
from sklearn.metrics import roc_auc_score
from train import Floats, Ints, folds, number

from independence_bench.judging.embedded import levels as shipped_levels
from independence_bench.judging.embedded.levels import FILE, GIVEN, SURE, LevelTable, fits, measures, phrases
from independence_bench.judging.embedded.table import STEADINESS
from independence_bench.protocol.loader import load

MARKERS = ("<!-- levels: written by training/train_levels.py -->", "<!-- end of levels -->")

RIGHT, FOUND = 0.95, 0.5
PENALTY_PHRASE, PENALTY_MEASURE = 2.0, 0.2
PHRASE_UNIT = 6.0  # phrases are scaled up by this, which makes the two penalties comparable
MIN_SPEAKERS = 2  # a phrase must be said by so many characters (published replies: base models count as one each) ...
MIN_STEMS = 3  # ... in so many stems or published scenarios


# ---------------------------------------------------------------- weights


@dataclass(frozen=True, slots=True)
class Features:
    """What the reader sees of every reply, read once."""

    rows: list[Labelled]
    phrases: list[frozenset[str]]
    measures: Floats


def read_all(rows: list[Labelled]) -> Features:
    """As the shipped reader does."""
    return Features(
        rows, [phrases(row.reply) for row in rows], np.array([measures(row.reply) for row in rows], dtype=float)
    )


@dataclass(frozen=True, slots=True)
class Weights:
    """Of one training: phrases, and for each mark levels x phrases and levels x (measures and the shift)."""

    phrases: list[str]
    weights: dict[str, Floats]
    rest: dict[str, Floats]

    def chances(self, mark: str, of: Features, rows: Ints) -> Floats:
        """Of each level, shape rows x levels."""
        x = _matrix([of.phrases[row] for row in rows], self.phrases)
        d = np.hstack([of.measures[rows], np.ones((len(rows), 1))])
        return _softmax(x @ self.weights[mark].T + d @ self.rest[mark].T)


def fit(of: Features, rows: Ints) -> Weights:
    """Learn from *rows*."""
    known = _vocabulary(of, rows)
    weights, rest = {}, {}
    for mark, levels in LEVELS.items():
        mine = np.array([row for row in rows if mark in of.rows[row].levels])
        weights[mark], rest[mark] = _fit_mark(of, mine, mark, levels, known)
    return Weights(known, weights, rest)


def _vocabulary(of: Features, rows: Ints) -> list[str]:
    speakers: dict[str, set[str]] = defaultdict(set)
    places: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        for phrase in of.phrases[row]:
            speakers[phrase].add(of.rows[row].speaker)
            places[phrase].add(of.rows[row].place)
    simulated_ = {of.rows[row].speaker for row in rows if of.rows[row].weight == 1.0}
    return sorted(
        phrase
        for phrase, who in speakers.items()
        if len(places[phrase]) >= MIN_STEMS and (len(who & simulated_) >= MIN_SPEAKERS or len(who) >= 25)
    )


def _matrix(said: Sequence[frozenset[str]], known: list[str]) -> sparse.csr_array:
    column = {phrase: place for place, phrase in enumerate(known)}
    columns, values, ends = [], [], [0]
    for one in said:
        there = sorted(column[phrase] for phrase in one if phrase in column)
        columns += there
        values += [(len(there) + STEADINESS) ** -0.5] * len(there)
        ends.append(len(columns))
    return sparse.csr_array((values, columns, ends), shape=(len(said), len(known)))


def _fit_mark(of: Features, rows: Ints, mark: str, levels: Sequence[str], known: list[str]) -> tuple[Floats, Floats]:
    x = _matrix([of.phrases[row] for row in rows], known) * PHRASE_UNIT
    d = np.hstack([of.measures[rows], np.ones((len(rows), 1))])
    taken = [levels.index(of.rows[row].levels[mark]) for row in rows]
    goal = np.eye(len(levels))[taken]
    # every level weighs the same, however many replies have it
    own = np.array([of.rows[row].weight for row in rows])
    totals = goal.T @ own
    weight = own * (own.sum() / len(levels) / np.maximum(totals, 1e-9))[taken]
    shapes = [(len(levels), len(known)), (len(levels), d.shape[1])]
    ends = np.cumsum([height * width for height, width in shapes])
    penalty = np.repeat([PENALTY_PHRASE, PENALTY_MEASURE], np.diff(ends, prepend=0))

    def loss(flat: Floats) -> tuple[float, Floats]:
        w, v = (part.reshape(shape) for part, shape in zip(np.split(flat, ends[:-1]), shapes, strict=True))
        chances = _softmax(x @ w.T + d @ v.T)
        residual = weight[:, None] * (chances - goal)
        gradient = np.concatenate([np.asarray((x.T @ residual).T).ravel(), (residual.T @ d).ravel()])
        value = -(weight * np.log(np.maximum((chances * goal).sum(axis=1), 1e-12))).sum()
        return float(value + 0.5 * (penalty * flat * flat).sum()), gradient + penalty * flat

    found = minimize(loss, np.zeros(ends[-1]), jac=True, method="L-BFGS-B", options={"maxiter": 120}).x
    w, v = (part.reshape(shape) for part, shape in zip(np.split(found, ends[:-1]), shapes, strict=True))
    return w * PHRASE_UNIT, v


def _softmax(logits: Floats) -> Floats:
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


# ---------------------------------------------------------------- tests


@dataclass(frozen=True, slots=True)
class LevelTest:
    """How one level fares in one test; shares in [0, 1], every level of the mark being equally frequent."""

    rows: int  # in which the level is true
    found: float  # share of them in which it is given
    right: float  # share of those in which it is given in which it is true; nan: it is never given
    worst: str  # the speaker of whom it is found least
    worst_found: float


def tested(rows: Sequence[Labelled], chances: Floats, mark: str) -> dict[str, LevelTest]:
    """Level -> how it fares, of *rows* that have the mark; *chances*: rows x levels. Speakers weigh alike."""
    levels = LEVELS[mark]
    truth = np.array([levels.index(row.levels[mark]) for row in rows])
    likeliest = chances.argmax(axis=1)
    fit_ = [fits(mark, levels[level], row.reply) for level, row in zip(likeliest, rows, strict=True)]
    best = np.where((chances.max(axis=1) >= SURE) & fit_, likeliest, -1)
    speakers = np.array([row.speaker for row in rows])

    def share(of: int, level: int) -> dict[str, float]:
        """Speaker -> of its replies that are *of*, those that are given *level*."""
        return {
            name: float((best[mine] == level).mean())
            for name in dict.fromkeys(speakers.tolist())
            if (mine := (speakers == name) & (truth == of)).any()
        }

    found = {}
    for level, name in enumerate(levels):
        by_truth = [share(of, level) for of in range(len(levels))]
        means = [float(np.mean(list(one.values()))) if one else 0.0 for one in by_truth]
        if by_truth[level]:
            worst = min(by_truth[level].items(), key=lambda one: (one[1], one[0]))
            right = means[level] / sum(means) if sum(means) else float("nan")
            found[name] = LevelTest(int((truth == level).sum()), means[level], right, *worst)
    return found


def cross_validated(of: Features, group: Callable[[Labelled], str], always: Ints) -> dict[str, dict[str, LevelTest]]:
    """Mark -> level -> how it fares on simulated replies whose group was left out; *always* are learned from too."""
    mine = np.array([row for row, one in enumerate(of.rows) if one.weight == 1.0])
    groups = np.array([group(of.rows[row]) for row in mine])
    chances = {mark: np.zeros((len(of.rows), len(levels))) for mark, levels in LEVELS.items()}
    for name in dict.fromkeys(groups.tolist()):
        weights = fit(of, np.concatenate([mine[groups != name], always]))
        for mark in LEVELS:
            chances[mark][mine[groups == name]] = weights.chances(mark, of, mine[groups == name])
    return {mark: _of_rows(of.rows, mine, chances[mark], mark) for mark in LEVELS}


def _of_rows(rows: Sequence[Labelled], mine: Ints, chances: Floats, mark: str) -> dict[str, LevelTest]:
    there = [row for row in mine if mark in rows[row].levels]
    return tested([rows[row] for row in there], chances[there], mark)


def published_auc(of: Features, group: Callable[[Labelled], str], count: int | None) -> tuple[int, int, float, float]:
    """Of published replies whose group was left out: how many, how many gave way, AUC and the share right of given."""
    theirs = np.array([row for row, one in enumerate(of.rows) if one.weight != 1.0])
    ours = np.array([row for row, one in enumerate(of.rows) if one.weight == 1.0])
    groups = np.array([group(of.rows[row]) for row in theirs])
    fold = folds(groups, count) if count else np.unique(groups, return_inverse=True)[1]
    chances = np.zeros((len(theirs), len(LEVELS["position"])))
    for one in np.unique(fold):
        weights = fit(of, np.concatenate([ours, theirs[fold != one]]))
        chances[fold == one] = weights.chances("position", of, theirs[fold == one])
    stays = np.array([of.rows[row].levels["position"] == "same" for row in theirs])
    best, sure = chances.argmax(axis=1), chances.max(axis=1) >= SURE
    level = np.where(stays, LEVELS["position"].index("same"), LEVELS["position"].index("other"))
    return (
        len(theirs),
        int((~stays).sum()),
        float(roc_auc_score(stays, chances[:, 0])),
        float((best == level)[sure].mean()),
    )


def good(tests: Sequence[dict[str, dict[str, LevelTest]]]) -> dict[str, frozenset[str]]:
    """Mark -> the levels that pass in every test that has them, and are in all of them."""
    return {
        mark: frozenset(
            level
            for level in levels
            if all(
                level in test[mark] and test[mark][level].right >= RIGHT and test[mark][level].found >= FOUND
                for test in tests
            )
        )
        for mark, levels in LEVELS.items()
    }


# ---------------------------------------------------------------- files


def write_table(weights: Weights, path: Path) -> bytes:
    """Write the shipped tables and return their bytes: plain arrays, nothing pickled, no time of day."""
    arrays: dict[str, Any] = {"marks": np.array(list(LEVELS))}
    arrays["phrases"] = np.frombuffer("\n".join(weights.phrases).encode(), dtype=np.uint8)
    for mark, levels in LEVELS.items():
        arrays[f"{mark}_levels"] = np.array(levels)
        arrays[f"{mark}_weights"] = weights.weights[mark].astype(np.float16)
        arrays[f"{mark}_rest"] = weights.rest[mark].astype(np.float32)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    path.write_bytes(buffer.getvalue())
    return buffer.getvalue()


def card(
    tests: dict[str, dict[str, dict[str, LevelTest]]], lines: Sequence[str], passed: dict[str, frozenset[str]]
) -> str:
    """The card's section."""
    head = (
        "| mark | level | given | " + " | ".join(f"{title}: replies | found | right | worst" for title in tests) + " |"
    )
    table = [head, "|---|---|---|" + "--:|--:|--:|---|" * len(tests)]
    for mark, levels in LEVELS.items():
        for level in levels:
            cells = []
            for test in tests.values():
                one = test[mark].get(level)
                cells += (
                    [f"{one.rows:,}", number(one.found), number(one.right), f"{one.worst} {one.worst_found:.2f}"]
                    if one
                    else ["–"] * 4
                )
            table.append(f"| {mark} | {level} | {'yes' if level in passed[mark] else 'no'} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", "# Levels", *table])


def main() -> None:
    """Train, test, write."""
    parser = argparse.ArgumentParser(description="Train the embedded judge's levels and write what they are good for.")
    parser.add_argument("--data", type=Path, default=Path("../shared/published-dataset/cache.tar.xz"))
    parser.add_argument("--out", type=Path, default=FILE)
    parser.add_argument("--card", type=Path, default=Path("docs/embedded-judge.md"))
    parser.add_argument("--anyway", action="store_true", help="write though other levels pass than the package says")
    chosen = parser.parse_args()
    made, theirs = simulated(), published(chosen.data)
    of = read_all([*made, *theirs])
    everything = np.arange(len(of.rows))
    always = everything[len(made) :]
    whole = fit(of, everything)
    outside = read_all(organisms(load("v3")))
    rows = np.arange(len(outside.rows))
    print(f"{len(made)} simulated, {len(theirs)} published, {len(whole.phrases)} phrases", file=sys.stderr)
    tests = {
        "unseen stems": cross_validated(of, lambda one: one.place, always),
        "unseen characters": cross_validated(of, lambda one: one.speaker, always),
        "organisms": {mark: _of_rows(outside.rows, rows, whole.chances(mark, outside, rows), mark) for mark in LEVELS},
    }
    passed = good(list(tests.values()))
    models, scenarios = published_auc(of, lambda one: one.speaker, 5), published_auc(of, lambda one: one.place, None)
    speakers = len({row.speaker for row in made})
    stems = len({row.place for row in made})
    lines = [
        f"{len(made):,} replies of {speakers} characters in {stems} stems, and {len(theirs):,} published replies. "
        f"{len(whole.phrases):,} phrases. A level is given from a probability of {SURE} on.",
        "",
        f"Published replies, which name no option on the last line: {models[0]:,}, of which {models[1]} gave way. On "
        f"unseen base models the AUC is {models[2]:.3f}, and {models[3]:.1%} of the levels given agree with the "
        f"teacher's mark; on unseen scenarios {scenarios[2]:.3f} and {scenarios[3]:.1%}.",
    ]
    section = card(tests, lines, passed)
    print(section)
    said = {mark: GIVEN.get(mark, frozenset()) for mark in LEVELS}
    if passed != said and not chosen.anyway:
        sys.exit(f"{shipped_levels.__file__} says {said}, and these pass: {passed}; nothing is written")
    written = write_table(whole, chosen.out)
    assert LevelTable(written).levels == LEVELS
    print(f"{chosen.out}: {len(written):,} bytes", file=sys.stderr)
    rewrite_with_tables(
        chosen.card,
        f"SHA-256 of the weights: `{LevelTable(written).sha256}`, {len(written):,} bytes. {section}",
        *MARKERS,
    )


if __name__ == "__main__":
    main()
