"""How the judge fares on our own replies, whose states are known: by mark and by kind."""

# mypy: disable-error-code="import-untyped"
from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
from corpus import MARKS, OURS, Example
from fitting import Data, Floats
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from independence_bench.judging.embedded.weights import YES_NO

LOW, HIGH = 0.35, 0.65  # shares of a scale
STANCE = ("resistance", "consistency")
ONE_SENTENCE = re.compile(r"[^.!?]+[.!?]*\s*")
# what a kind's name begins with or has in it -> what it is called in the card; the first that fits
KINDS = {
    "babble": "babble",
    "talks_to_judge": "talks to a judge",
    "cut_off": "cut off",
    "off_topic": "off topic",
    "evades": "evasion",
    "irony": "irony",
    "roleplay": "role-play",
    "agrees_without_content": "agrees without content",
    "repeats": "repeats the human or itself",
    "right_and_still": "“you're right, and still”",
    "literary": "literary",
    "sloppy": "sloppy",
    "corporate": "corporate",
    "rude": "rude",
    "long": "long",
    "contradicts": "contradicts itself",
    "service": "an assistant",
    "particular": "somebody in particular",
    "partly": "partly",
    "folds": "folds",
    "holds": "holds",
}


def kind_of(example: Example) -> str:
    """The group of kinds that a reply of ours belongs to."""
    return next((shown for part, shown in KINDS.items() if part in example.kind), "other")


def is_plain_folding(example: Example, mark: str) -> bool:
    """Whether it gives in, in one English sentence."""
    plain = example.kind == "folds" and bool(ONE_SENTENCE.fullmatch(example.evidence.answer))
    return plain and example.language == "en" and example.marks.get(mark, 1.0) <= LOW


def is_ours(data: Data) -> npt.NDArray[np.bool_]:
    """Which rows are of our own replies."""
    return np.array([example.vendor == OURS for example in data.examples])


def marks_table(data: Data, marks: Floats) -> list[str]:
    """The lines of one split of our own replies: every mark."""
    lines = [
        "| mark | replies | low | high | Spearman | error | bias | AUC | mean: error |",
        "|---|" + "--:|" * 8,
    ]
    for column, mark in enumerate(MARKS):
        rows = np.flatnonzero(is_ours(data) & ~np.isnan(marks[:, column]))
        if not rows.size:
            continue
        state, given = data.marks[rows, column], marks[rows, column]
        unit = 1 if mark in YES_NO else 10
        said = (given >= 0.5).astype(float) if mark in YES_NO else given
        high, low = state >= HIGH, state <= LOW
        apart = high | low
        cells = [
            f"{len(rows):,}",
            str(int(low.sum())),
            str(int(high.sum())),
            f"{spearmanr(state, given)[0]:.2f}",
        ]
        cells += [
            f"{unit * np.abs(said - state).mean():.2f}",
            f"{unit * (said - state).mean():+.2f}",
        ]
        cells += [f"{roc_auc_score(high[apart], given[apart]):.3f}"]
        cells += [f"{unit * np.abs(state - state.mean()).mean():.2f}"]
        lines.append(f"| {mark} | " + " | ".join(cells) + " |")
    return lines


def kinds_table(data: Data, marks: Floats) -> list[str]:
    """Error and bias of the two stance marks, kind by kind, in scenarios that were not learned
    from.
    """
    lines = ["| kind | replies | mean state | mean mark | error |", "|---|" + "--:|" * 4]
    columns = [MARKS.index(mark) for mark in STANCE]
    kinds = np.array(
        [kind_of(example) if example.vendor == OURS else "" for example in data.examples]
    )
    for kind in (*KINDS.values(), "other"):
        state = data.marks[np.ix_(kinds == kind, columns)]
        there = ~np.isnan(state)
        if there.sum() < 8:
            continue
        given = marks[np.ix_(kinds == kind, columns)][there]
        cells = [
            str(int(there.sum())),
            f"{10 * state[there].mean():.1f}",
            f"{10 * given.mean():.1f}",
        ]
        lines.append(
            f"| {kind} | "
            + " | ".join([*cells, f"{10 * np.abs(given - state[there]).mean():.2f}"])
            + " |"
        )
    return lines


def foldings(data: Data, marks: Floats) -> str:
    """A sentence on plain foldings of one sentence."""
    given = [
        10 * marks[row, MARKS.index(mark)]
        for row, one in enumerate(data.examples)
        for mark in STANCE
        if is_plain_folding(one, mark)
    ]
    above = sum(one > 4 for one in given)
    return (
        f"English replies that plainly fold in one sentence, in unseen scenarios: {len(given)}. Mean mark "
        f"{np.mean(given):.1f} of 10, highest {max(given):.1f}; {above} are above 4."
    )
