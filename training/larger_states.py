"""Whether the embedded judge would be better with the hidden states of a larger model:
Qwen2.5-Coder 0.5B for SmolLM2.

    python training/larger_states.py read --data PATH/TO/cache.tar.xz --cache qwen.npz --minutes 35
    python training/larger_states.py compare --data PATH/TO/cache.tar.xz --cache qwen.npz --smollm2 states.npz

`read` shows the larger model what the small one was shown, of the texts that the embedded judge
learned from and of the exam's questions, in a seeded order of which any beginning is a stratified
sample; it goes on where it was. `compare` learns the embedded judge's weights from that sample,
once with each model's states and once with both, all else alike, and has each sit the exam.
README.md has the results.
"""

# mypy: disable-error-code="import-untyped"
from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import gguf
import numpy as np
import numpy.typing as npt
from cached import CachedReader
from corpus import MARKS, Example, read_dataset, read_replies
from fitting import SIGN, STRENGTH_STATES, Data, States, Words, fit_words, prepare
from ours import HIGH, LOW, is_ours
from plain_questions import area, read_exam
from sit_exam import answers_of
from train import published_sample, stack, unseen, write_weights

from independence_bench.analysis.exam.answers import ExamAnswer
from independence_bench.analysis.exam.result import exam_result, judge_differences
from independence_bench.hashing import content_hash
from independence_bench.judging.embedded.judge import EmbeddedJudge, evidence_of
from independence_bench.judging.embedded.reading import JudgedWords, features, shown
from independence_bench.judging.embedded.weights import Weights
from independence_bench.judging.exam.cases import ExamCase
from independence_bench.models.local.files import pin_of

Floats = npt.NDArray[np.float32]
QWEN = "qwen2.5-coder-0.5b"
KEPT = (10, 13, 16)  # layers, of 24, after which states are kept
SEED = 32
OUT = Path(__file__).with_name("larger_states.csv")
SMOLLM2_NUMBERS = 3 * 576  # that SmolLM2 makes of a reply
DRAWS = 500
BROKEN_AFTER = 50  # texts, after which what was read is written
HEADS, SHARED, WIDTH = 14, 2, 64  # heads that ask, those that answer, and how many numbers each has
EPSILON, BASE = 1e-6, 1_000_000.0
PIECE = re.compile(
    r"'(?:s|t|re|ve|m|ll|d)|(?:[^\r\n\w]|_)?[^\W\d_]+|\d| ?(?:[^\s\w]|_)+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    re.IGNORECASE,
)
SPECIAL = re.compile(r"(<\|im_start\|>|<\|im_end\|>)")
VISIBLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
LETTER = {byte: chr(byte) for byte in VISIBLE} | {
    byte: chr(256 + at)
    for at, byte in enumerate(byte for byte in range(256) if byte not in VISIBLE)
}
Past = list[tuple[Floats, Floats]]


class Qwen:
    """The first *layers* of a Qwen2 model whose weights lie at *path*, by numpy."""

    def __init__(self, path: Path, layers: int) -> None:
        file = gguf.GGUFReader(path)
        self._tensors = {tensor.name: tensor for tensor in file.tensors}
        self._ids = {
            token: at for at, token in enumerate(file.fields["tokenizer.ggml.tokens"].contents())
        }
        merges = (merge.split(" ") for merge in file.fields["tokenizer.ggml.merges"].contents())
        self._rank = {(left, right): at for at, (left, right) in enumerate(merges)}
        self._piece = lru_cache(maxsize=50_000)(self._merged)
        self._layers = [self._layer(f"blk.{number}.") for number in range(layers)]

    def rows(self, name: str, chosen: Sequence[int] | None = None) -> Floats:
        """The tensor *name*, or its *chosen* rows."""
        tensor = self._tensors[name]
        data = tensor.data if chosen is None else tensor.data[list(chosen)]
        return gguf.quants.dequantize(data, tensor.tensor_type).astype(np.float32, copy=False)

    def _layer(self, start: str) -> Mapping[str, Floats]:
        def joined(*names: str) -> Floats:
            return np.concatenate([self.rows(f"{start}{name}") for name in names]).T.copy()

        return {
            "before": self.rows(f"{start}attn_norm.weight"),
            "asked": joined("attn_q.weight", "attn_k.weight", "attn_v.weight"),
            "bias": joined("attn_q.bias", "attn_k.bias", "attn_v.bias"),
            "out": joined("attn_output.weight"),
            "between": self.rows(f"{start}ffn_norm.weight"),
            "up": joined("ffn_gate.weight", "ffn_up.weight"),
            "down": joined("ffn_down.weight"),
        }

    def encode(self, text: str) -> list[int]:
        """*text* as tokens."""
        tokens: list[int] = []
        for part in SPECIAL.split(text):
            if SPECIAL.fullmatch(part):
                tokens.append(self._ids[part])
            else:
                tokens += (token for piece in PIECE.findall(part) for token in self._piece(piece))
        return tokens

    def _merged(self, piece: str) -> tuple[int, ...]:
        parts = [LETTER[byte] for byte in piece.encode("utf-8", "replace")]
        while len(parts) > 1:
            ranks = [self._rank.get(pair, len(self._rank)) for pair in pairwise(parts)]
            first = min(range(len(ranks)), key=ranks.__getitem__)
            if ranks[first] == len(self._rank):
                break
            parts[first : first + 2] = [parts[first] + parts[first + 1]]
        return tuple(self._ids[part] for part in parts)

    def read(
        self, tokens: Sequence[int], past: Past | None = None
    ) -> tuple[dict[int, Floats], Past]:
        """Read *tokens* after *past*; the states after each layer, tokens x 896, and the past of
        what comes next.
        """
        x = self.rows("token_embd.weight", tokens)
        start = past[0][0].shape[1] if past else 0
        places = np.arange(len(tokens))
        sees = np.concatenate(
            [np.ones((len(x), start), dtype=bool), places[:, None] >= places], axis=1
        )
        hidden = np.where(sees, 0, -np.inf).astype(np.float32)
        angles = (start + places)[:, None] * BASE ** (-np.arange(0, WIDTH, 2) / WIDTH)
        turn = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        states, kept = {}, []
        for number, layer in enumerate(self._layers):
            x, seen = attended(layer, x, past[number] if past else None, turn, hidden)
            states[number + 1] = x
            kept.append(seen)
        return states, kept


def attended(
    layer: Mapping[str, Floats],
    x: Floats,
    past: tuple[Floats, Floats] | None,
    turn: tuple[Floats, Floats],
    hidden: Floats,
) -> tuple[Floats, tuple[Floats, Floats]]:
    """The states after *layer*, and its keys and values of all that was read."""
    heads = normed(x, layer["before"]) @ layer["asked"] + layer["bias"]
    heads = heads.reshape(len(x), -1, WIDTH).transpose(1, 0, 2)
    asking, keys, values = np.split(heads, [HEADS, HEADS + SHARED])
    asking, keys = turned(asking, turn), turned(keys, turn)
    if past:
        keys, values = (
            np.concatenate([past[0], keys], axis=1),
            np.concatenate([past[1], values], axis=1),
        )
    asking = asking.reshape(SHARED, HEADS // SHARED, len(x), WIDTH)
    near = asking @ keys[:, None].swapaxes(-1, -2) / np.float32(WIDTH**0.5) + hidden
    near = np.exp(near - near.max(axis=-1, keepdims=True))
    near /= near.sum(axis=-1, keepdims=True)
    seen = (
        (near @ values[:, None])
        .reshape(HEADS, len(x), WIDTH)
        .transpose(1, 0, 2)
        .reshape(len(x), -1)
    )
    x = x + seen @ layer["out"]
    gate, up = np.split(normed(x, layer["between"]) @ layer["up"], 2, axis=1)
    return x + (gate / (1 + np.exp(-np.maximum(gate, -80))) * up) @ layer["down"], (keys, values)


def normed(x: Floats, weight: Floats) -> Floats:
    """*x* with a mean square of 1, times *weight*."""
    return np.asarray(
        x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(EPSILON)) * weight
    )


def turned(heads: Floats, turn: tuple[Floats, Floats]) -> Floats:
    """*heads* with the place of each token in them: a number turns with the one that is half a head
    on.
    """
    (left, right), (cosine, sine) = np.split(heads, 2, axis=-1), turn
    return np.concatenate([left * cosine - right * sine, left * sine + right * cosine], axis=-1)


# ---------------------------------------------------------------- states


def key_of(evidence: JudgedWords) -> str:
    """What the states of a text are kept under."""
    text = shown(evidence)
    return content_hash([text.before, text.reply])


def learned(data: Path) -> list[Example]:
    """The texts that the embedded judge learned from."""
    return [
        *published_sample(read_dataset(data)),
        *(reply for reply in read_replies() if reply.language == "en"),
    ]


def in_order(data: Path) -> list[JudgedWords]:
    """Every text once, so that any beginning has as much of each scenario or rubric; the exam's
    twice as early.
    """
    groups: dict[tuple[str, str], list[JudgedWords]] = defaultdict(list)
    for one in learned(data):
        groups["learned", one.scenario].append(one.evidence)
    for case in read_exam():
        groups["exam", case.rubric].append(evidence_of(case.transcript, case.scenario))
    placed = []
    for (kind, name), texts in groups.items():
        draw = random.Random(f"{SEED} {kind} {name}")
        draw.shuffle(texts)
        placed += [
            ((at + draw.random()) / len(texts) / (1 + (kind == "exam")), text)
            for at, text in enumerate(texts)
        ]
    return [text for _, text in sorted(placed, key=lambda one: one[0])]


def kept_in(cache: Path) -> dict[str, npt.NDArray[np.float16]]:
    """Key -> layers x numbers, of what was read."""
    if not cache.exists():
        return {}
    with np.load(cache, allow_pickle=False) as stored:
        return dict(zip(stored["keys"].tolist(), stored["states"], strict=True))


def read_states(data: Path, cache: Path, minutes: float) -> None:
    """Read what *cache* does not have, for so long at most."""
    kept, until = kept_in(cache), time.monotonic() + 60 * minutes
    waiting = [text for text in in_order(data) if key_of(text) not in kept]
    times = Counter(shown(text).before for text in waiting)
    model = Qwen(pin_of(QWEN).path, max(KEPT))
    befores: dict[str, Past] = {}
    tokens, began = 0, time.process_time()

    def write() -> None:
        part = cache.with_suffix(".part.npz")
        np.savez(part, keys=np.array(list(kept)), states=np.array(list(kept.values())))
        part.replace(cache)

    for number, evidence in enumerate(waiting, 1):
        text = shown(evidence)
        past = befores.get(text.before)
        if past is None:
            before = model.encode(text.before)
            _, past = model.read(before)
            tokens += len(before)
            if times[text.before] > 1:
                befores[text.before] = past
        reply = model.encode(text.reply)
        states, _ = model.read(reply, past)
        tokens += len(reply)
        kept[key_of(evidence)] = np.array(
            [features(states[layer]) for layer in KEPT], dtype=np.float16
        )
        if number % BROKEN_AFTER == 0 or time.monotonic() > until:
            write()
            speed = tokens / (time.process_time() - began)
            print(
                f"{number} of {len(waiting)}: {tokens} tokens, {speed:.0f} a second of a core",
                file=sys.stderr,
            )
        if time.monotonic() > until:
            return
    write()


# ---------------------------------------------------------------- comparison


class Kept:
    """States that were read before."""

    def __init__(self, rows: Mapping[str, Floats]) -> None:
        self._rows = rows

    def read(self, evidence: JudgedWords) -> Floats:
        """The row of a text; KeyError where it was not read."""
        return self._rows[key_of(evidence)]


@dataclass(frozen=True, slots=True)
class Learned:
    """What came of one way of reading: marks of texts whose scenario was not seen, and answers to
    the exam.
    """

    marks: Floats
    answers: tuple[ExamAnswer, ...]


def learn(
    data: Data,
    by_words: Floats,
    words: Words,
    rows: Mapping[str, Floats],
    cases: Sequence[ExamCase],
) -> Learned:
    """The embedded judge as `train.py` makes it, with the states *rows*; the ridge is as strong for
    each number.
    """
    states = np.array(
        [rows[key_of(example.evidence)] for example in data.examples], dtype=np.float64
    )
    strength = STRENGTH_STATES * states.shape[1] / SMOLLM2_NUMBERS
    by_states = unseen(
        data,
        lambda seen, others: States(states[seen], data.marks[seen], strength).logits(
            states[others]
        ),
    )
    stacked = stack(data.marks, by_words, by_states)
    with TemporaryDirectory() as folder:
        sums = States(states, data.marks, strength)
        weights = Weights(write_weights(words, sums, stacked, Path(folder) / "weights.npz"))
    judge = EmbeddedJudge(Kept(rows), weights)
    return Learned(SIGN * stacked.predict(by_words, by_states), tuple(answers_of(judge, cases)))


def areas(marks: Floats, given: Floats) -> Floats:
    """AUC of each mark, high against low known states; NaN where there is none of one."""
    found = np.full(len(MARKS), np.nan)
    for column, sign in enumerate(SIGN):
        held = marks[:, column] if sign > 0 else 1 - marks[:, column]
        ends = (held >= HIGH) | (held <= LOW)
        if 0 < (held[ends] >= HIGH).sum() < ends.sum():
            found[column] = area(held[ends] >= HIGH, given[ends, column])
    return found


def unseen_lines(name: str, marks: Floats, base: Floats, given: Floats) -> Iterator[str]:
    """AUC by *base* and by *given* of each mark and of their mean, and 95% limits of the
    difference: texts drawn.
    """
    draw = np.random.default_rng(SEED)

    def both(rows: npt.NDArray[np.int64]) -> Floats:
        pair = np.array([areas(marks[rows], of[rows]) for of in (base, given)])
        return np.concatenate([pair, np.nanmean(pair, axis=1, keepdims=True)], axis=1)

    first, second = both(np.arange(len(marks)))
    drawn = np.array([both(draw.integers(len(marks), size=len(marks))) for _ in range(DRAWS)])
    low, high = np.nanquantile(drawn[:, 1] - drawn[:, 0], [0.025, 0.975], axis=0)
    counts = [*(~np.isnan(marks)).sum(axis=0), len(marks)]
    for column, mark in enumerate((*MARKS, "mean")):
        numbers = f"{first[column]:.3f},{second[column]:.3f},{low[column]:+.3f},{high[column]:+.3f}"
        yield f"unseen AUC,{name},{mark},{counts[column]},{numbers}"


def exam_lines(name: str, base: Sequence[ExamAnswer], given: Sequence[ExamAnswer]) -> Iterator[str]:
    """Kappa and rank correlation of both in each rubric, and 95% limits of the difference as the
    exam has them.
    """
    one, other = exam_result(base), exam_result(given)
    assert one is not None
    assert other is not None
    for of in judge_differences(given, base):
        for figure in ("kappa", "ranks"):
            first, second = (getattr(result.rubric(of.rubric), figure) for result in (one, other))
            apart = getattr(of, figure)
            if first and second and apart and apart.interval:
                numbers = f"{first.value:.3f},{second.value:.3f},{apart.interval.low:+.3f},{apart.interval.high:+.3f}"
                yield f"exam {figure},{name},{of.rubric},{of.questions},{numbers}"


def compare(data_file: Path, cache: Path, smollm2: Path) -> Iterator[str]:
    """The tables. Words are learned from every text, states from those that the larger model has
    read.
    """
    kept = kept_in(cache)
    every = prepare(learned(data_file))
    read = np.flatnonzero([key_of(example.evidence) in kept for example in every.examples])
    by_words = unseen(
        every, lambda seen, rows: fit_words(every, seen).logits([every.readings[at] for at in rows])
    )
    words = fit_words(every, np.arange(len(every.examples)))
    data = prepare([every.examples[at] for at in read])
    cases = [
        case for case in read_exam() if key_of(evidence_of(case.transcript, case.scenario)) in kept
    ]
    texts = [example.evidence for example in data.examples] + [
        evidence_of(case.transcript, case.scenario) for case in cases
    ]
    reader = CachedReader(smollm2)
    small = {key_of(text): reader.read(text) for text in texts}
    reader.keep()
    ways = {"SmolLM2": small, "none": {key: row[:1] * 0 for key, row in small.items()}}
    for at, layer in enumerate(KEPT):
        large = {key_of(text): kept[key_of(text)][at].astype(np.float32) for text in texts}
        ways[f"0.5B at layer {layer}"] = large
        ways[f"both at layer {layer}"] = {
            key: np.concatenate([small[key], large[key]]) for key in large
        }
    judges = {name: learn(data, by_words[read], words, rows, cases) for name, rows in ways.items()}
    base = judges.pop("SmolLM2")
    yield "figure,states,mark or rubric,texts,SmolLM2,these,difference from,to"
    for name, judge in judges.items():
        yield from unseen_lines(name, data.marks, base.marks, judge.marks)
        yield from exam_lines(name, base.answers, judge.answers)
    print(
        f"states of {len(read)} texts ({int(is_ours(data).sum())} ours), {len(cases)} questions",
        file=sys.stderr,
    )


def main() -> None:
    """Do what was typed."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("task", choices=["read", "compare"])
    options.add_argument(
        "--data", type=Path, default=Path("../shared/published-dataset/cache.tar.xz")
    )
    options.add_argument(
        "--cache", type=Path, required=True, help="states of the larger model, kept from run to run"
    )
    options.add_argument(
        "--smollm2", type=Path, help="compare: states of the small model, as train.py keeps them"
    )
    options.add_argument("--minutes", type=float, default=35)
    given = options.parse_args()
    if given.task == "read":
        read_states(given.data, given.cache, given.minutes)
    else:
        lines = list(compare(given.data, given.cache, given.smollm2))
        OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print("\n".join(lines))


if __name__ == "__main__":
    main()
