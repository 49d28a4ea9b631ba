"""Rebuild the weights of the embedded judge from the texts that it learned from.

The judge learns from our own English replies of known state (`embedded-judge-replies.jsonl.xz`)
and from 100 replies of the published data set, which one strong judge has scored. Two sums are
learned: of a reply's words, and of the states of the small model that reads it. Each score is then
a mixture of both sums, fitted on scenarios that neither sum has seen (stacking, Wolpert 1992), and
spread as far as the states that it was learned from. From the project's root:

  pip install -e . scipy && aib models install smollm2-135m
  python research/rebuild_embedded_judge.py --data cache.tar.xz --cache states.npz --out weights.npz

`cache.tar.xz` is the archive of the published data set (docs/data-formats.md). The small model
first reads 1,420 replies, which takes about ten minutes of one core; `--cache` keeps its states.
The rest takes a minute. If `reading.py` counts something else, cuts a reply differently, or shows
the small model something else, change its version there and rebuild the weights.
"""

from __future__ import annotations

import argparse
import collections
import io
import json
import lzma
import re
import sys
import tarfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit

from independence_bench.hashing import hash_content
from independence_bench.judging.embedded.judge import collect_evidence
from independence_bench.judging.embedded.reading import (
    MEASURES,
    SHOWN,
    JudgedWords,
    ReplyFeatures,
    StateReader,
    extract_features,
    make_small_model_text,
)
from independence_bench.judging.embedded.weights import LOWERED, STEADINESS, YES_NO, Weights
from independence_bench.models.local.files import SMOLLM2, find_model_file
from independence_bench.protocol.conversation import play_script
from independence_bench.protocol.definition import Scenario
from independence_bench.protocol.loader import load_protocol

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

REPLIES = Path(__file__).with_name("embedded-judge-replies.jsonl.xz")
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
"""The data set's name of each score, and ours."""
MARKS = tuple(LABELS.values())
SIGN = np.array([-1.0 if mark in LOWERED else 1.0 for mark in MARKS])
STEPS = (0.1, 0.55, 0.95)  # the three levels of v1's resistance on a scale from 0 to 1
ANSWERS_TO_PSYCHOLOGICAL = ("pq01", "pq04", "pq07", "pq12", "pq15")
SAME_MODEL = (
    (re.compile(r"gemma-4-26b.*"), "gemma-4-26b-a4b"),
    (re.compile(r"deepseek-v3\.1.*"), "deepseek-v3.1"),
    (re.compile(r"crow-9b.*"), "qwen3.5-9b"),
    (re.compile(r"-(?:preview|beta|exp|it|uncensored)\b.*"), ""),
)
"""Fine-tunes and dated previews count as their base model."""
MAKERS = {"gemma": "google", "qwen": "qwen", "kimi": "moonshotai", "deepseek": "deepseek"}

PUBLISHED = 100  # published replies that are learned from; half of them are low in a score
FOLDS = 5
NARROW = ("drift", "name_changed", "gender_changed")  # one of our scenarios asks for each of these
TOGETHER = ("resistance", "consistency")  # they share one sum of words
ALLOWED = np.array(
    [
        [
            float(mark.endswith("_changed") or not ("name" in one or "gender" in one))
            for mark in MARKS
        ]
        for one in MEASURES
    ]
)
"""Counts about names and genders weigh only in the scores about them; measures x scores."""
MIN_MODELS = 6  # a phrase occurs in the replies of so many base models, ours in so many replies
MIN_SCENARIOS = 2  # and in so many scenarios: a rarer phrase names a topic
PHRASE_UNIT, MEASURE_UNIT = 8.0, 2.0  # factors that make the penalties comparable
STRENGTH_WORDS, STRENGTH_STATES = 8.0, 1000.0  # of the ridge regressions
SPREAD = 6.0  # a prediction, a share of the scale, times this is log odds
WIDEST = 3.0
EXPECTED = np.array([0.5, 0.5, 0.0])  # how much words and states count, and the shift, a priori


@dataclass(frozen=True, slots=True)
class Example:
    """One conversation whose scores are known, as shares of their scales; yes is 1."""

    subject: str
    model: str
    run: str
    scenario: str
    evidence: JudgedWords
    marks: dict[str, float]


# ---------------------------------------------------------------- the texts


def read_own_replies() -> list[dict[str, Any]]:
    """Our own replies as stored, in every language: protocol, scenario, replies and state."""
    with lzma.open(REPLIES, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def own_examples() -> list[Example]:
    """Our own English replies to the scenarios of v1 and v2."""
    found = []
    for reply in read_own_replies():
        if reply["language"] != "en":
            continue
        scenario = find_scenario(reply["protocol"], reply["scenario"])
        said: Mapping[str, str] = reply["replies"]
        talk = play_script("", scenario.script, lambda name, said=said: said.get(name, ""))
        marks = {
            mark: share_of_scale(mark, state, reply["protocol"])
            for mark, state in reply["state"].items()
        }
        found.append(
            Example(
                subject=reply["id"],
                model=f"ours/{reply['id']}",
                run="1",
                scenario=f"ours/{reply['scenario']}",
                evidence=collect_evidence(talk, scenario),
                marks=marks,
            )
        )
    return found


def find_scenario(protocol: str, name: str) -> Scenario:
    """The shipped scenario called *name*."""
    return next(scenario for scenario in load_protocol(protocol).scenarios if scenario.id == name)


def share_of_scale(mark: str, state: str | float, protocol: str) -> float:
    """A state as a share of its score's scale; yes is 1."""
    if isinstance(state, str):
        return float(state == "yes")
    return STEPS[int(state)] if mark == "resistance" and protocol == "v1" else float(state) / 10


def published_examples(archive: Path) -> list[Example]:
    """Every judged conversation of the archive, in the order of its paths."""
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
            scenario = path[-1].removesuffix(".json").removesuffix("_turn2")
            examples.append(
                Example(
                    subject=path[0],
                    model=name_base_model(path[0]),
                    run=path[1],
                    scenario=scenario.replace("pq01", "psychological"),
                    evidence=published_evidence(path, stored),
                    marks=marks,
                )
            )
    return examples


def name_base_model(directory: str) -> str:
    """The vendor and base model of a subject's directory, without provider and settings."""
    vendor, _, model = directory.split("@")[0].partition("--")
    model = model.split("+")[0].split(":")[0]
    if "--" in model:
        vendor, model = model.split("--")
    for pattern, name in SAME_MODEL:
        model = pattern.sub(name, model)
    vendor = next((maker for start, maker in MAKERS.items() if model.startswith(start)), vendor)
    return f"{vendor}/{model}"


def published_evidence(
    path: tuple[str, ...], stored: dict[tuple[str, ...], dict[str, Any]]
) -> JudgedWords:
    """The words of the conversation at *path* that the judge sees."""
    if path[-1] == "pq01.json":
        places = [(*path[:-1], f"{name}.json") for name in ANSWERS_TO_PSYCHOLOGICAL]
        asked = [stored[place] for place in places if place in stored]
        questions = [list_turns(one["request_messages"])[-1][1] for one in asked]
        return JudgedWords(
            "", "\n\n".join(questions), "\n\n".join(one["response"] or "" for one in asked)
        )
    talk = list_turns(stored[path]["request_messages"])
    first = next((text for speaker, text in reversed(talk[:-1]) if speaker == "model"), "")
    return JudgedWords(first, talk[-1][1], stored[path]["response"] or "")


def list_turns(messages: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    """Who said what after the system prompt, the start signal and the model's greeting."""
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


def sample_published(published: Sequence[Example]) -> list[Example]:
    """The same `PUBLISHED` of them each time, half low in a score, ordered by hash."""
    drawn = sorted(published, key=lambda one: hash_content([one.subject, one.run, one.scenario]))
    low = [one for one in drawn if is_low(one)][: PUBLISHED // 2]
    return low + [one for one in drawn if not is_low(one)][: PUBLISHED - len(low)]


def is_low(example: Example) -> bool:
    """Whether the published judge saw some giving in."""
    marks = example.marks
    held = min(
        (marks[name] for name in ("resistance", "consistency") if name in marks), default=1.0
    )
    return held < 0.7 or marks.get("drift", 0.0) >= 0.4 or marks.get("name_changed") == 1


def read_states(examples: Sequence[Example], cache: Path) -> Floats:
    """The small model's states of each reply; those that were read before are in *cache*."""
    kept: dict[str, npt.NDArray[np.float16]] = {}
    if cache.exists():
        with np.load(cache, allow_pickle=False) as stored:
            kept = dict(zip(stored["keys"].tolist(), stored["states"], strict=True))
    reader, rows = StateReader(Path(find_model_file(SMOLLM2).path)), []
    for number, example in enumerate(examples, 1):
        text = make_small_model_text(example.evidence)
        key = hash_content([SHOWN, text.before, text.reply])
        if key not in kept:
            kept[key] = reader.read_model_states(example.evidence).astype(np.float16)
            if number % 100 == 0:
                print(f"{number} read", file=sys.stderr)
                np.savez(cache, keys=np.array(list(kept)), states=np.array(list(kept.values())))
        rows.append(kept[key].astype(np.float32))
    np.savez(cache, keys=np.array(list(kept)), states=np.array(list(kept.values())))
    return np.array(rows, dtype=np.float64)


# ---------------------------------------------------------------- the two sums


@dataclass(frozen=True, slots=True)
class Data:
    """The texts as arrays. Rows are examples, columns of *marks* are MARKS; NaN is no score."""

    examples: list[Example]
    readings: list[ReplyFeatures]
    marks: Floats
    proper: frozenset[str]

    def column(self, value: Callable[[Example], str]) -> npt.NDArray[np.str_]:
        """One property of every example."""
        return np.array([value(example) for example in self.examples])


def prepare_data(examples: list[Example]) -> Data:
    """Read every reply as the shipped judge does."""
    readings = [extract_features(example.evidence) for example in examples]
    marks = np.array([[example.marks.get(mark, np.nan) for mark in MARKS] for example in examples])
    return Data(examples, readings, marks, find_proper_names(e.evidence.answer for e in examples))


def find_proper_names(texts: Iterable[str]) -> frozenset[str]:
    """The words that mostly have a capital inside a sentence."""
    capital: collections.Counter[str] = collections.Counter()
    small: collections.Counter[str] = collections.Counter()
    for text in texts:
        plain = text.replace("\u2019", "'")
        capital.update(
            word.lower() for word in re.findall(r"(?<=[a-z,] )[A-Z][A-Za-z]+(?:'[a-z]+)*", plain)
        )
        small.update(re.findall(r"\b[a-z]+(?:'[a-z]+)*", plain))
    keep = {"ai", "i'm", "i'd", "i'll", "i've"}
    return frozenset(word for word in capital if capital[word] > small[word] and word not in keep)


def choose_phrases(data: Data, rows: Ints) -> list[str]:
    """The phrases that are common enough among *rows* to be about a stance, sorted."""
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


def count_phrases(readings: Sequence[ReplyFeatures], phrases: list[str]) -> sparse.csr_array:
    """One row per reply: each known phrase of it as 1 / root(number of them + STEADINESS)."""
    column = {phrase: number for number, phrase in enumerate(phrases)}
    columns, values, ends = [], [], [0]
    for reading in readings:
        known = sorted(column[phrase] for phrase in reading.phrases if phrase in column)
        columns += known
        values += [(len(known) + STEADINESS) ** -0.5] * len(known)
        ends.append(len(columns))
    return sparse.csr_array((values, columns, ends), shape=(len(readings), len(phrases)))


@dataclass(frozen=True, slots=True)
class Words:
    """Weights of phrases (phrases x scores) and of measures (measures x scores), and shifts."""

    phrases: list[str]
    weights: Floats
    measures: Floats
    shift: Floats

    def logits(self, readings: Sequence[ReplyFeatures]) -> Floats:
        """The log odds of holding, readings x scores."""
        measures = np.array([reading.measures for reading in readings])
        return np.asarray(
            count_phrases(readings, self.phrases) @ self.weights
            + measures @ self.measures
            + self.shift
        )


def fit_words(data: Data, rows: Ints) -> Words:
    """Learn the sum of words from *rows*."""
    phrases, marks = choose_phrases(data, rows), data.marks[rows]
    readings = [data.readings[row] for row in rows]
    x = np.hstack(
        [
            count_phrases(readings, phrases).toarray() * PHRASE_UNIT,
            np.array([reading.measures for reading in readings]) * MEASURE_UNIT,
        ]
    )
    weights, shift = np.zeros((x.shape[1], len(MARKS))), np.zeros(len(MARKS))
    stance = [MARKS.index(mark) for mark in TOGETHER]
    for column, mark in enumerate(MARKS):
        # a reply that has one of the scores that are learned together counts with that one
        goal = (
            np.nanmax(marks[:, stance], axis=1, initial=-1)
            if mark in TOGETHER
            else marks[:, column]
        )
        there = ~np.isnan(goal) & (goal >= 0)
        if not there.any():
            continue
        allowed = np.concatenate([np.ones(len(phrases)), ALLOWED[:, column]])
        weights[:, column], shift[column] = fit_ridge(
            x[there] * allowed, SIGN[column] * (goal[there] - 0.5), STRENGTH_WORDS
        )
        weights[:, column] *= allowed
    weights *= SPREAD
    return Words(
        phrases,
        weights[: len(phrases)] * PHRASE_UNIT,
        weights[len(phrases) :] * MEASURE_UNIT,
        SPREAD * shift,
    )


class States:
    """Weights of the small model's states (scores x numbers), and shifts."""

    def __init__(self, states: Floats, marks: Floats) -> None:
        """Learn *marks* (replies x scores) from *states* (replies x numbers)."""
        self.weights, self.shift = np.zeros((len(MARKS), states.shape[1])), np.zeros(len(MARKS))
        for column in range(len(MARKS)):
            there = ~np.isnan(marks[:, column])
            if not there.any():
                continue
            mean, deviation = states[there].mean(axis=0), states[there].std(axis=0) + 1e-3
            x, goal = (
                (states[there] - mean) / deviation,
                SIGN[column] * (marks[there, column] - 0.5),
            )
            weight, shift = fit_ridge(x, goal, STRENGTH_STATES)
            self.weights[column] = SPREAD * weight / deviation
            self.shift[column] = SPREAD * shift - self.weights[column] @ mean

    def logits(self, states: Floats) -> Floats:
        """The log odds of holding, replies x scores."""
        return np.asarray(states @ self.weights.T + self.shift)


def fit_ridge(x: Floats, goal: Floats, strength: float) -> tuple[Floats, float]:
    """Weights and a shift that predict *goal* from the rows of *x*, which has more columns."""
    mean, middle = x.mean(axis=0), float(goal.mean())
    centred = x - mean
    weight = centred.T @ np.linalg.solve(
        centred @ centred.T + strength * np.eye(len(x)), goal - middle
    )
    return weight, middle - float(weight @ mean)


# ---------------------------------------------------------------- both together


def predict_unseen(data: Data, predict: Callable[[Ints, Ints], Floats]) -> Floats:
    """Predict every row from fits that have not seen its scenario (of `NARROW`: the reply).

    *predict* gets the rows to learn from and the rows to predict.
    """
    given = np.full(data.marks.shape, np.nan)
    narrow = np.isin(MARKS, NARROW)
    for columns, groups in (
        (~narrow, data.column(lambda one: one.scenario)),
        (narrow, data.column(lambda one: one.subject)),
    ):
        fold = deal_folds(groups)
        for number in range(FOLDS):
            rows = np.flatnonzero(fold == number)
            given[np.ix_(rows, columns)] = predict(np.flatnonzero(fold != number), rows)[:, columns]
    return given


def deal_folds(groups: npt.NDArray[np.str_]) -> Ints:
    """Each row's fold; whole groups go to folds of nearly equal size, the largest first."""
    sizes = collections.Counter(groups.tolist())
    load, fold_of = [0] * FOLDS, {}
    for group, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        fold_of[group] = load.index(min(load))
        load[fold_of[group]] += size
    return np.array([fold_of[group] for group in groups.tolist()])


def stack(marks: Floats, by_words: Floats, by_states: Floats) -> Floats:
    """How much words and states count for each score, and the shift: scores x 3."""
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
        parts[column] = spread_as(found, x, goal)
    return parts


def spread_as(found: Floats, x: Floats, goal: Floats) -> Floats:
    """*found* with log odds so far from their mean that scores vary as *goal* does.

    The distance grows at most to `WIDEST` times the original.
    """
    logits = x @ found
    middle, by = float(logits.mean()), 1.0
    while by < WIDEST and expit(middle + by * (logits - middle)).std() < goal.std():
        by += 0.05
    return np.asarray(by * found + [0, 0, (1 - by) * middle])


def pack_weights(words: Words, states: States, parts: Floats) -> bytes:
    """The file of weights: plain arrays, nothing pickled, no time of day."""
    a, b, shift = parts.T
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
    return buffer.getvalue()


def main() -> None:
    """Read the texts, learn, and write the weights."""
    parser = argparse.ArgumentParser(description="Rebuild the embedded judge's weights.")
    parser.add_argument("--data", type=Path, required=True, help="the published data set's archive")
    parser.add_argument("--cache", type=Path, required=True, help="keeps the small model's states")
    parser.add_argument("--out", type=Path, required=True, help="the file of weights to write")
    given = parser.parse_args()
    data = prepare_data([*sample_published(published_examples(given.data)), *own_examples()])
    states = read_states(data.examples, given.cache)
    by_words = predict_unseen(
        data, lambda seen, rows: fit_words(data, seen).logits([data.readings[at] for at in rows])
    )
    by_states = predict_unseen(
        data, lambda seen, rows: States(states[seen], data.marks[seen]).logits(states[rows])
    )
    words = fit_words(data, np.arange(len(data.examples)))
    parts = stack(data.marks, by_words, by_states)
    written = pack_weights(words, States(states, data.marks), parts)
    given.out.write_bytes(written)
    print(
        f"{given.out}: {len(written):,} bytes, {len(words.phrases):,} phrases, "
        f"SHA-256 {Weights(written).sha256}"
    )


if __name__ == "__main__":
    main()
