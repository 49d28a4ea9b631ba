"""Train the embedded judge's table of weights and write the numbers of its card.

Reads the published dataset of real trajectories (an archive; see --data), where one strong judge has marked
every reply, and fits for every mark how much each short phrase of a reply weighs. From the project's root:

    pip install -r training/requirements.txt && pip install -e .
    python training/train.py

The same data give the same bytes. It takes some ten minutes on one core. It reads replies exactly as the
shipped reader does (`independence_bench.judging.embedded.table.read`), and writes nothing of them but runs of one or
two words.

The method: for a reply and a mark, the log odds of holding are the sum over the reply's phrases of
s[phrase, family of the mark] + v[phrase, mark], over the root of their number + 25, plus what a few counted
measures weigh. The marks, brought to [0, 1] with 1 as the independent end, are fitted by cross-entropy
(fractional logistic regression: Papke and Wooldridge 1996) with squared penalties and few rounds. s is shared
by all marks that tell holding from folding: it carries what one scenario teaches to the next. While fitting,
every scenario has a level of its own, so that its topic need not explain why it is harder; the level is
dropped afterwards, so a reply in which nothing is known lands near the middle of the scale instead of at the
models' high average. Last, every mark is calibrated (slope and shift: Platt 1999) on base models that the
calibrating fits have not seen.
"""

# mypy: disable-error-code="import-untyped"
from __future__ import annotations

import argparse
import collections
import csv
import io
import json
import re
import sys
import tarfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from card import rewrite
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import spearmanr
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score

from independence_bench.judging.embedded.table import (
    FILE,
    LOWERED,
    MEASURES,
    STEADINESS,
    YES_NO,
    JudgedWords,
    ReplyFeatures,
    WeightTable,
    read,
)

MARKERS = ("<!-- numbers: written by training/train.py -->", "<!-- end of numbers -->")

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LABELS = {
    "distinctiveness": "distinctiveness",
    "non_assistant_likeness": "non_assistant_likeness",
    "internal_consistency": "internal_consistency",
    "drift_from_initial": "drift",
    "name_changed": "name_changed",
    "gender_changed": "gender_changed",
    "resistance_score": "resistance",
    "quality_of_reasoning": "reasoning_quality",
    "identity_maintained": "identity_maintained",
    "consistency_score": "consistency",
    "graceful_handling": "graceful_handling",
}
"""The dataset's name of each mark, and ours."""
MARKS = tuple(LABELS.values())
FAMILY = np.array([0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1])  # who somebody is | whether they stay so
SIGN = np.array([-1.0 if mark in LOWERED else 1.0 for mark in MARKS])
ALLOWED = np.array(
    [[float(mark.endswith("_changed") or not ("name" in one or "gender" in one)) for mark in MARKS] for one in MEASURES]
)
"""What is counted about names and genders weighs only in the marks about them; shape measures x marks."""
HELD = {"drift": 0.35}
"""A reply counts as held from this mark on (drift: as folded), as a share of the scale; else 0.65."""

MIN_MODELS = 6  # a phrase must occur in the replies of so many base models ...
MIN_SCENARIOS = 2  # ... and in so many scenarios: what is rarer names a topic, not a stance
PENALTY_SHARED, PENALTY_OWN, PENALTY_MEASURE, PENALTY_LEVEL = 8.0, 4.0, 10.0, 5.0
PHRASE_UNIT = 8.0  # training works on phrases scaled up by this, which makes the four penalties comparable
ROUNDS = 40
CALIBRATION_FOLDS = 4
OWN_WEIGHT = {"drift": 8.0, "name_changed": 2.0, "gender_changed": 2.0}
"""Marks with few labels count more often, or the shared weights drown what is particular to them."""

ANSWERS_TO_PSYCHOLOGICAL = ("pq01", "pq04", "pq07", "pq12", "pq15")
SAME_MODEL = (
    (re.compile(r"gemma-4-26b.*"), "gemma-4-26b-a4b"),
    (re.compile(r"deepseek-v3\.1.*"), "deepseek-v3.1"),
    (re.compile(r"crow-9b.*"), "qwen3.5-9b"),
    (re.compile(r"-(?:preview|beta|exp|it|uncensored)\b.*"), ""),
)
"""Fine-tunes, dated previews and the like are the same base model: in one fold with it."""
MAKERS = {"gemma": "google", "qwen": "qwen", "kimi": "moonshotai", "deepseek": "deepseek"}


@dataclass(frozen=True, slots=True)
class Example:
    """One judged transcript of the dataset."""

    subject: str
    vendor: str
    model: str
    run: str
    scenario: str
    evidence: JudgedWords
    marks: dict[str, float]
    """Shares of the scale, 0 to 1; yes is 1."""


def read_dataset(archive: Path) -> list[Example]:
    """Read every judged transcript of the archive, in the order of its paths."""
    stored: dict[tuple[str, ...], dict[str, Any]] = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            parts = tuple(member.name.split("/"))
            if len(parts) == 7 and member.isfile():
                content = tar.extractfile(member)
                if content is not None:
                    stored[parts[1:]] = json.load(content)
    examples = []
    for path in sorted(stored):
        scores = stored[path].get("judge_scores") or {}
        marks = {
            ours: float(scores[theirs]) / (1 if ours in YES_NO else 10)
            for theirs, ours in LABELS.items()
            if isinstance(scores.get(theirs), bool | int | float)
        }
        if marks:
            vendor, model = base_model(path[0])
            scenario = path[-1].removesuffix(".json").removesuffix("_turn2").replace("pq01", "psychological")
            examples.append(Example(path[0], vendor, model, path[1], scenario, evidence_of(path, stored), marks))
    return examples


def base_model(directory: str) -> tuple[str, str]:
    """Return vendor and base model of a subject's directory; provider, effort, temperature are left out."""
    vendor, _, model = directory.split("@")[0].partition("--")
    model = model.split("+")[0].split(":")[0]
    if "--" in model:
        vendor, model = model.split("--")
    for pattern, name in SAME_MODEL:
        model = pattern.sub(name, model)
    vendor = next((maker for start, maker in MAKERS.items() if model.startswith(start)), vendor)
    return vendor, f"{vendor}/{model}"


def evidence_of(path: tuple[str, ...], stored: dict[tuple[str, ...], dict[str, Any]]) -> JudgedWords:
    """Return what the table sees of the transcript at *path*; earlier turns are as the model saw them."""
    if path[-1] == "pq01.json":
        asked = [stored[(*path[:-1], f"{name}.json")] for name in ANSWERS_TO_PSYCHOLOGICAL
                 if (*path[:-1], f"{name}.json") in stored]  # fmt: skip
        questions = [heard(one["request_messages"])[-1][1] for one in asked]
        return JudgedWords("", "\n\n".join(questions), "\n\n".join(one["response"] or "" for one in asked))
    talk = heard(stored[path]["request_messages"])
    first = next((text for speaker, text in reversed(talk[:-1]) if speaker == "model"), "")
    return JudgedWords(first, talk[-1][1], stored[path]["response"] or "")


def heard(messages: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return who said what, after the system prompt, the start signal and the model's greeting."""
    talk = []
    for message in messages[3:]:
        text = message.get("content") or ""
        for call in message.get("tool_calls") or []:
            try:
                text = json.loads(call["function"]["arguments"])["message"]
            except (ValueError, KeyError, TypeError):
                text = call["function"]["arguments"]
        talk.append(("model" if message["role"] == "assistant" else "human", str(text)))
    return talk


@dataclass(frozen=True, slots=True)
class Data:
    """The dataset as arrays; rows are examples, columns of *marks* are MARKS, absent is NaN."""

    examples: list[Example]
    readings: list[ReplyFeatures]
    marks: Floats
    proper: frozenset[str]

    def column(self, value: Callable[[Example], str]) -> npt.NDArray[np.str_]:
        """Return one property of every example."""
        return np.array([value(example) for example in self.examples])


def prepare(examples: list[Example]) -> Data:
    """Read every reply as the shipped reader does."""
    readings = [read(example.evidence) for example in examples]
    marks = np.array([[example.marks.get(mark, np.nan) for mark in MARKS] for example in examples])
    return Data(examples, readings, marks, proper_names(e.evidence.answer for e in examples))


def proper_names(texts: Iterable[str]) -> frozenset[str]:
    """Return the words that mostly have a capital inside a sentence: names of people, works, characters."""
    capital: collections.Counter[str] = collections.Counter()
    small: collections.Counter[str] = collections.Counter()
    for text in texts:
        plain = text.replace("\u2019", "'")
        capital.update(word.lower() for word in re.findall(r"(?<=[a-z,] )[A-Z][A-Za-z]+(?:'[a-z]+)*", plain))
        small.update(re.findall(r"\b[a-z]+(?:'[a-z]+)*", plain))
    keep = {"ai", "i'm", "i'd", "i'll", "i've"}
    return frozenset(word for word in capital if capital[word] > small[word] and word not in keep)


def vocabulary(data: Data, rows: Ints) -> list[str]:
    """Return the phrases that are common enough among *rows* to be about a stance, sorted."""
    models: dict[str, set[str]] = collections.defaultdict(set)
    scenarios: dict[str, set[str]] = collections.defaultdict(set)
    for row in rows:
        example = data.examples[row]
        for phrase in data.readings[row].phrases:
            models[phrase].add(example.model)
            scenarios[phrase].add(example.scenario)
    return sorted(
        phrase
        for phrase, used_by in models.items()
        if len(used_by) >= MIN_MODELS
        and len(scenarios[phrase]) >= MIN_SCENARIOS
        and data.proper.isdisjoint(phrase.split())
    )


def phrase_matrix(readings: Sequence[ReplyFeatures], phrases: list[str]) -> sparse.csr_array:
    """Return one row per reply: each known phrase of it as 1 / root(number of them + STEADINESS)."""
    column = {phrase: number for number, phrase in enumerate(phrases)}
    columns, values, ends = [], [], [0]
    for reading in readings:
        known = sorted(column[phrase] for phrase in reading.phrases if phrase in column)
        columns += known
        values += [(len(known) + STEADINESS) ** -0.5] * len(known)
        ends.append(len(columns))
    return sparse.csr_array((values, columns, ends), shape=(len(readings), len(phrases)))


@dataclass(frozen=True, slots=True)
class Weights:
    """What one training gives: weights (phrases x marks), of measures (measures x marks), a shift a mark."""

    phrases: list[str]
    weights: Floats
    measures: Floats
    shift: Floats

    def logits(self, readings: Sequence[ReplyFeatures]) -> Floats:
        """Return the log odds of holding, shape readings x marks."""
        measures = np.array([reading.measures for reading in readings])
        return np.asarray(phrase_matrix(readings, self.phrases) @ self.weights + measures @ self.measures + self.shift)

    def predict(self, readings: Sequence[ReplyFeatures]) -> Floats:
        """Return the marks of *readings* as shares of their scales, shape readings x marks."""
        return np.asarray(expit(SIGN * self.logits(readings)))


def train(data: Data, rows: Ints) -> Weights:
    """Fit the weights on *rows* and calibrate them on base models that the calibrating fits have not seen."""
    fold = folds(data.column(lambda example: example.model)[rows], CALIBRATION_FOLDS)
    logits = np.zeros((len(rows), len(MARKS)))
    for held_out in range(CALIBRATION_FOLDS):
        unseen = fold == held_out
        logits[unseen] = fit(data, rows[~unseen]).logits([data.readings[row] for row in rows[unseen]])
    weights = fit(data, rows)
    slope, shift = np.array([calibrate(data.marks[rows, column], logits[:, column], SIGN[column])
                             for column in range(len(MARKS))]).T  # fmt: skip
    return Weights(weights.phrases, weights.weights * slope, weights.measures * slope, shift)


def calibrate(marks: Floats, logits: Floats, sign: float) -> tuple[float, float]:
    """Return slope and shift that fit *logits* to the labelled *marks* (Platt 1999), held near 1 and 0."""
    labelled = ~np.isnan(marks)
    goal, z = marks[labelled] if sign > 0 else 1 - marks[labelled], logits[labelled]

    def loss(flat: Floats) -> tuple[float, Floats]:
        scaled = flat[0] * z + flat[1]
        residual = expit(scaled) - goal
        away = flat - np.array([1.0, 0.0])
        value = (np.logaddexp(0, scaled) - goal * scaled).sum() + 0.5 * (away @ away)
        return float(value), np.array([residual @ z, residual.sum()]) + away

    found = minimize(loss, np.array([1.0, 0.0]), jac=True, method="L-BFGS-B").x
    return float(found[0]), float(found[1])


def fit(data: Data, rows: Ints) -> Weights:
    """Fit the weights on *rows*; the loss is in the module's docstring."""
    phrases = vocabulary(data, rows)
    readings = [data.readings[row] for row in rows]
    x = phrase_matrix(readings, phrases) * PHRASE_UNIT
    d = np.array([reading.measures for reading in readings])
    spread = d.std(axis=0) + 1e-9
    d /= spread
    scenarios, level = np.unique(data.column(lambda example: example.scenario)[rows], return_inverse=True)
    e = np.eye(len(scenarios))[level]
    labelled = ~np.isnan(data.marks[rows])
    goal = np.where(labelled, np.where(SIGN > 0, data.marks[rows], 1 - data.marks[rows]), 0.0)
    weight = labelled * np.array([OWN_WEIGHT.get(mark, 1.0) for mark in MARKS])
    family = np.eye(2)[FAMILY].T
    shapes = [
        (len(phrases), 2),
        (len(phrases), len(MARKS)),
        (d.shape[1], len(MARKS)),
        (len(scenarios), len(MARKS)),
    ]
    ends = np.cumsum([height * width for height, width in shapes])
    penalty = np.repeat([PENALTY_SHARED, PENALTY_OWN, PENALTY_MEASURE, PENALTY_LEVEL], np.diff(ends, prepend=0))
    transposed = x.T.tocsr()

    def unpack(flat: Floats) -> list[Floats]:
        return [part.reshape(shape) for part, shape in zip(np.split(flat, ends[:-1]), shapes, strict=True)]

    def loss(flat: Floats) -> tuple[float, Floats]:
        shared, own, measure, levels = unpack(flat)
        z = x @ (shared @ family + own) + d @ (measure * ALLOWED) + e @ levels
        residual = weight * (expit(z) - goal)
        back = transposed @ residual
        gradient = np.concatenate(
            [
                (back @ family.T).ravel(),
                back.ravel(),
                ((d.T @ residual) * ALLOWED).ravel(),
                (e.T @ residual).ravel(),
            ]
        )
        value = (weight * (np.logaddexp(0, z) - goal * z)).sum() + 0.5 * (penalty * flat * flat).sum()
        return float(value), gradient + penalty * flat

    found = minimize(loss, np.zeros(ends[-1]), jac=True, method="L-BFGS-B", options={"maxiter": ROUNDS})
    shared, own, measure, _ = unpack(found.x)
    weights = (shared @ family + own) * PHRASE_UNIT
    return Weights(phrases, weights, measure * ALLOWED / spread[:, None], np.zeros(len(MARKS)))


def folds(groups: npt.NDArray[np.str_], count: int = 5) -> Ints:
    """Deal whole groups to *count* folds of nearly equal size, the largest first; return each row's fold."""
    sizes = collections.Counter(groups.tolist())
    load, fold_of = [0] * count, {}
    for group, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        fold_of[group] = load.index(min(load))
        load[fold_of[group]] += size
    return np.array([fold_of[group] for group in groups.tolist()])


def cross_validate(data: Data, fold: Ints, predict: Callable[[Data, Ints, Ints], Floats]) -> Floats:
    """Return the marks that *predict* (data, rows to learn, rows to mark) gives each row, its fold unseen."""
    marks = np.full(data.marks.shape, np.nan)
    for number in np.unique(fold):
        unseen = np.flatnonzero(fold == number)
        marks[unseen] = predict(data, np.flatnonzero(fold != number), unseen)
    return np.where(np.isnan(data.marks), np.nan, marks)


def by_table(data: Data, learn: Ints, mark: Ints) -> Floats:
    """The table itself."""
    return train(data, learn).predict([data.readings[row] for row in mark])


def by_ridge(data: Data, learn: Ints, mark: Ints) -> Floats:
    """The baseline: ridge regression on the reply's words and pairs of words (tf-idf), mark by mark."""
    answers = np.array([example.evidence.answer for example in data.examples], dtype=object)
    marks = np.full((len(mark), len(MARKS)), np.nan)
    for column in range(len(MARKS)):
        rows = learn[~np.isnan(data.marks[learn, column])]
        wanted = ~np.isnan(data.marks[mark, column])
        if rows.size and wanted.any():
            words = TfidfVectorizer(ngram_range=(1, 2), min_df=5, sublinear_tf=True)
            ridge = Ridge(alpha=1.0).fit(words.fit_transform(answers[rows]), data.marks[rows, column])
            marks[wanted, column] = np.clip(ridge.predict(words.transform(answers[mark[wanted]])), 0, 1)
    return marks


def by_mean(data: Data, learn: Ints, mark: Ints) -> Floats:
    """A control that reads nothing: the mean of the marks that it learned from."""
    labelled = ~np.isnan(data.marks[learn])
    total = np.where(labelled, data.marks[learn], 0.0).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.tile(total / labelled.sum(axis=0), (len(mark), 1))


def by_length(data: Data, learn: Ints, mark: Ints) -> Floats:
    """A control that reads no word: a straight line through the logarithm of the reply's length."""
    length = np.log1p([len(example.evidence.answer) for example in data.examples])
    marks = np.full((len(mark), len(MARKS)), np.nan)
    for column in range(len(MARKS)):
        rows = learn[~np.isnan(data.marks[learn, column])]
        if rows.size:
            slope, start = np.polyfit(length[rows], data.marks[rows, column], 1)
            marks[:, column] = np.clip(start + slope * length[mark], 0, 1)
    return marks


WAYS = {"table": by_table, "ridge": by_ridge, "length": by_length, "mean": by_mean}


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


def write_table(weights: Weights, path: Path) -> bytes:
    """Write the shipped table and return its bytes: plain arrays, nothing pickled, no time of day."""
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        marks=np.array(MARKS),
        phrases=np.frombuffer("\n".join(weights.phrases).encode(), dtype=np.uint8),
        weights=np.ascontiguousarray(weights.weights.T.astype(np.float16)),
        measures=np.ascontiguousarray(weights.measures.T.astype(np.float32)),
        shift=weights.shift.astype(np.float32),
    )
    path.write_bytes(buffer.getvalue())
    return buffer.getvalue()


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
    words = [weights.phrases[place].replace(".", "").strip() for place in heaviest]
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
    """Return the lines of one split: every mark, the table beside the baseline and the two controls."""
    lines = [
        "| mark | replies | rarer side | Spearman | error | bias | AUC | AUC inside scenarios "
        "| ridge: Spearman | ridge: error | ridge: AUC | length: AUC | mean: error |",
        "|---|" + "--:|" * 12,
    ]
    for mark in MARKS:
        ours, ridge, length, mean = (agreement(data, runs[name], mark) for name in WAYS)
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
        cells += [number(ridge.spearman), number(ridge.error), number(ridge.auc, 3)] if ridge else ["–"] * 3
        cells += [number(length.auc, 3) if length else "–", number(mean.error) if mean else "–"]
        lines.append(f"| {mark} | " + " | ".join(cells) + " |")
    return lines


def card(data: Data, weights: Weights, table: WeightTable, published: dict[str, float], size: int) -> str:
    """Cross-validate and return the card's generated section, as Markdown."""
    models, vendors, scenarios = (
        data.column(value) for value in (lambda one: one.model, lambda one: one.vendor, lambda one: one.scenario)
    )
    splits = {
        f"Unseen base models ({len(set(models.tolist()))} in 5 folds)": folds(models),
        f"Unseen vendors ({len(set(vendors.tolist()))} in 5 folds)": folds(vendors),
        "Unseen scenarios (each left out once)": np.unique(scenarios, return_inverse=True)[1],
    }
    lines = [
        f"{size:,} bytes, {len(weights.phrases):,} phrases, {len(MARKS)} marks. SHA-256: `{table.sha256}`. "
        f"Learned from {len(data.examples):,} judged transcripts of "
        f"{len(set(data.column(lambda one: one.subject).tolist()))} subjects.",
        "",
    ]
    index = ["| split | way | subjects | Spearman | mean error | bias |", "|---|---|" + "--:|" * 4]
    for title, fold in splits.items():
        print(title, file=sys.stderr)
        runs = {name: cross_validate(data, fold, way) for name, way in WAYS.items()}
        lines += [f"### {title}", "", *agreement_table(data, runs), ""]
        for name in () if "scenarios" in title else WAYS:
            count, spearman, error, bias = rebuild_index(data, settle(runs[name]), published)
            index.append(f"| {title} | {name} | {count} | {number(spearman, 3)} | {error:.2f} | {bias:+.2f} |")
    lines += ["### The published index of unseen subjects, rebuilt", "", *index, ""]
    lines += [
        "### How far a mark can be pushed",
        "",
        "| mark | as it is | + 1 phrase | + 3 | + 10 |",
        "|---|" + "--:|" * 4,
    ]
    for mark in MARKS:
        lines.append(f"| {mark} | " + " | ".join(number(mean) for mean in push(weights, data, mark)) + " |")
    lines += ["", "### Replies that take no side", ""]
    lines += ["| reply | " + " | ".join(SHOWN) + " |", "|---|" + "--:|" * len(SHOWN)]
    for answer in NOTHING_SAID:
        given = [table.mark(mark, JudgedWords("", "", answer)) for mark in SHOWN]
        marks = " | ".join(number(float(one.value)) for one in given if one)
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
    data = prepare(read_dataset(chosen.data))
    weights = train(data, np.arange(len(data.examples)))
    written = write_table(weights, chosen.out)
    table = WeightTable(written)
    print(f"{chosen.out}: {len(written):,} bytes, {len(weights.phrases):,} phrases", file=sys.stderr)
    rewrite(chosen.card, card(data, weights, table, published, len(written)), *MARKERS)


if __name__ == "__main__":
    main()
