"""How well marks of replies that were not learned from agree with their teacher's, and what controls reach."""

# mypy: disable-error-code="import-untyped"
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from corpus import MARKS
from fitting import Data, Floats, Ints, train
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from independence_bench.judging.embedded.table import YES_NO

HELD = {"drift": 0.35}
"""A reply counts as held from this mark on (drift: as folded), as a share of the scale; else 0.65."""


def cross_validate(data: Data, fold: Ints, predict: Callable[[Data, Ints, Ints], Floats]) -> Floats:
    """Return the marks that *predict* (data, rows to learn, rows to mark) gives each row, its fold unseen.

    Rows of a negative fold are always learned from and never marked.
    """
    marks = np.full(data.marks.shape, np.nan)
    for number in np.unique(fold[fold >= 0]):
        unseen = np.flatnonzero(fold == number)
        marks[unseen] = predict(data, np.flatnonzero(fold != number), unseen)
    return np.where(np.isnan(data.marks), np.nan, marks)


def by_table(data: Data, learn: Ints, mark: Ints) -> Floats:
    """The table itself."""
    return train(data, learn).predict([data.readings[row] for row in mark])


def by_mean(data: Data, learn: Ints, mark: Ints) -> Floats:
    """A control that reads nothing: the mean of the marks that it learned from."""
    labelled = ~np.isnan(data.marks[learn])
    total = np.where(labelled, data.marks[learn], 0.0).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.tile(total / labelled.sum(axis=0), (len(mark), 1))


WAYS = {"table": by_table, "mean": by_mean}


@dataclass(frozen=True, slots=True)
class Agreement:
    """How one mark agrees with the teacher's on rows that were not learned from."""

    count: int
    rare: int
    """The smaller of the two sides that *auc* tells apart."""
    spearman: float
    error: float
    """Mean absolute error in points (yes/no: share of wrong answers, 0-1)."""
    bias: float
    """Mean of ours minus the teacher's, in points (yes/no: in shares)."""
    auc: float
    within: float
    """The mean of the AUCs inside each scenario that has at least 8 replies on either side."""


def agreement(data: Data, marks: Floats, mark: str) -> Agreement | None:
    """Compare one column of *marks* with the teacher's; None where nothing was marked."""
    column = MARKS.index(mark)
    rows = np.flatnonzero(~np.isnan(marks[:, column]))
    if not rows.size:
        return None
    teacher, ours = data.marks[rows, column], marks[rows, column]
    high = teacher >= HELD.get(mark, 0.65)
    said = (ours >= 0.5).astype(float) if mark in YES_NO else ours
    unit = 1 if mark in YES_NO else 10
    scenario = data.column(lambda example: example.scenario)[rows]
    inside = [
        float(roc_auc_score(high[scenario == name], ours[scenario == name]))
        for name in np.unique(scenario)
        if min(high[scenario == name].sum(), (~high[scenario == name]).sum()) >= 8
    ]
    return Agreement(
        len(rows),
        int(min(high.sum(), (~high).sum())),
        float(spearmanr(teacher, ours)[0]) if np.ptp(ours) > 1e-12 else float("nan"),
        unit * float(np.abs(said - teacher).mean()),
        unit * float((said - teacher).mean()),
        float(roc_auc_score(high, ours)),
        float(np.mean(inside)) if inside else float("nan"),
    )


def rebuild_index(data: Data, marks: Floats, published: dict[str, float]) -> tuple[int, float, float, float]:
    """Rebuild the published indices from *marks*; return subjects, Spearman, mean absolute error and bias.

    The weights are those of the published rows; a subject whose runs lack a dimension is left out.
    """
    subject, run = data.column(lambda example: example.subject), data.column(lambda example: example.run)
    ours, theirs = [], []
    for name in sorted(published):
        means = []
        for number in np.unique(run[subject == name]):
            rows = (subject == name) & (run == number)
            filled = ~np.isnan(marks[rows])
            with np.errstate(invalid="ignore"):
                means.append(np.where(filled, marks[rows], 0).sum(axis=0) / filled.sum(axis=0))
        gone = np.all(np.isnan(means), axis=0)
        mean = dict(zip(MARKS, np.where(gone, np.nan, np.nanmean(np.where(gone, 0, means), axis=0)), strict=True))
        moved = 10 * mean["drift"] + mean["name_changed"] + mean["gender_changed"]
        index = 10 * mean["non_assistant_likeness"] + 5 * mean["internal_consistency"] + 35 * mean["resistance"]
        index += 30 * mean["consistency"] + 20 * (12 - moved) / 12
        if not np.isnan(index):
            ours.append(index)
            theirs.append(published[name])
    gap = np.array(ours) - np.array(theirs)
    return len(gap), float(spearmanr(ours, theirs)[0]), float(np.abs(gap).mean()), float(gap.mean())


def settle(marks: Floats) -> Floats:
    """Return *marks* with the yes/no columns decided, as the shipped reader decides them."""
    yes_no = np.array([mark in YES_NO for mark in MARKS])
    return np.where(yes_no & ~np.isnan(marks), (marks >= 0.5).astype(float), marks)
