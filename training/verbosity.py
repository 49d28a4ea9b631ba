"""How verbose the published subjects are: tokens of their replies as shares of what a typical model
needs.

    python training/verbosity.py --data PATH/TO/cache.tar.xz            what it would be right for, and the shares
    python training/verbosity.py --data PATH/TO/cache.tar.xz --write    put them into models.yaml

A subject's shares are sums over every published scenario that it was heard in: tokens that replies
took, and that they said without thoughts, each over what `engine/preview.typical` expects. What is
printed first is how far a share from two of the three experiments is from that of the third, in
which nothing of it is known: README.md has the figures.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import mean, median, quantiles
from tempfile import TemporaryDirectory

from sqlalchemy import Connection, func, select

from independence_bench.dataset.import_published import import_published
from independence_bench.engine.preview import THOUGHT_TOKENS
from independence_bench.models.endpoints import SHIPPED, read_models
from independence_bench.models.messages import BYTES_A_TOKEN
from independence_bench.models.spec import ChatModel, ModelSpec, Reasoning
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import load
from independence_bench.store import registry
from independence_bench.store.database import open_store
from independence_bench.store.results import reply_characters
from independence_bench.store.schema import attempts, transcripts

NEAR = 0.15  # as near as an estimate is wanted
Shares = tuple[float, float]
Sums = tuple[float, float, float, float]  # tokens taken and said; what was expected of both
Place = tuple[str, str, int]  # experiment, scenario, turn
Heard = dict[Place, list[tuple[float, float]]]


def main() -> None:
    """Print how well a share foretells, and the shares."""
    options = argparse.ArgumentParser()
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--write", action="store_true")
    given = options.parse_args()
    protocol = load("v2")
    with TemporaryDirectory() as folder, open_store(Path(folder) / "store.db") as store:
        import_published(store, given.data)
        with store.reading() as connection:
            heard = {
                one: heard_of(connection, one)
                for one in registry.stored_subjects(connection).values()
            }
    whole = {subject: sums_of(protocol, subject, replies) for subject, replies in heard.items()}
    print(
        "left out      subjects  off by, median  within 15 %  eight of ten; the same without any share"
    )
    for experiment in protocol.experiments:
        full = {
            subject: parts
            for subject, parts in whole.items()
            if len(parts) == len(protocol.experiments)
        }
        print(f"{experiment.name:<12}", *foretold(full, experiment.name))
    shares = {subject: share(parts.values()) for subject, parts in whole.items() if parts}
    for subject, (taken, said) in sorted(shares.items(), key=lambda one: one[1]):
        print(f"{taken:6.2f} {said:6.2f}  {subject.label}")
    if given.write:
        write(SHIPPED, shares)


def heard_of(connection: Connection, subject: ChatModel) -> Heard:
    """Tokens that each reply of *subject* took and said, by place; without those whose tokens are
    not known.

    What it said is told by its letters: published replies do not tell thoughts from words.
    """
    rows = connection.execute(
        select(transcripts.c.experiment, transcripts.c.scenario, transcripts.c.reply_keys).where(
            transcripts.c.subject_hash == subject.hash, transcripts.c.state == "complete"
        )
    ).all()
    keyed = [(experiment, scenario, json.loads(keys)) for experiment, scenario, keys in rows]
    keys = list(dict.fromkeys(key for _, _, each in keyed for key in each))
    letters = reply_characters(connection, keys)
    counts = select(attempts.c.call_key, func.sum(attempts.c.completion_tokens)).group_by(
        attempts.c.call_key
    )
    taken = dict(connection.execute(counts.where(attempts.c.call_key.in_(keys))).all())
    heard: Heard = defaultdict(list)
    for experiment, scenario, each in keyed:
        for turn, key in enumerate(each):
            if taken.get(key):
                heard[experiment, scenario, turn].append((taken[key], letters[key] / BYTES_A_TOKEN))
    return heard


def sums_of(protocol: Protocol, subject: ChatModel, heard: Heard) -> dict[str, Sums]:
    """By experiment, over the means of each place. A published scenario that v2 has not counts as
    one of its kind.
    """
    sums: dict[str, Sums] = {}
    for (experiment, id_, _), replies in heard.items():
        alike = [scenario for scenario in protocol.scenarios if scenario.experiment == experiment]
        words = next((one for one in alike if one.id == id_), alike[-1]).reply_tokens
        here = (
            *map(mean, zip(*replies, strict=True)),
            words + THOUGHT_TOKENS * subject.thinks,
            words,
        )
        before = sums.get(experiment, (0.0, 0.0, 0.0, 0.0))
        sums[experiment] = tuple(a + b for a, b in zip(before, here, strict=True))  # type: ignore[assignment]
    return sums


def share(parts: Collection[Sums]) -> Shares:
    """What was taken and said in *parts*, over what was expected."""
    taken, said, expected, words = (sum(one) for one in zip(*parts, strict=True))
    return taken / expected, said / words


def foretold(whole: Mapping[ChatModel, Mapping[str, Sums]], left_out: str) -> Iterator[str]:
    """How far the share in *left_out* is from that in the others, and from 1."""
    yield f"{len(whole):>9}"
    there = {who: share([parts[left_out]])[0] for who, parts in whole.items()}
    others = {
        who: share([part for name, part in parts.items() if name != left_out])[0]
        for who, parts in whole.items()
    }
    for guess in (others, dict.fromkeys(whole, 1.0)):
        ratios = sorted(there[who] / guess[who] for who in whole)
        off = [abs(math.log(ratio)) for ratio in ratios]
        low, *_, high = quantiles(ratios, n=10)
        near = sum(one < math.log1p(NEAR) for one in off)
        yield f"{math.expm1(median(off)):>14.0%}{near:>13}{low:>6.2f} to {high:.2f}"


def is_meant(spec: ModelSpec, subject: ChatModel) -> bool:
    """Whether *subject* was played as *spec* says, thinking or not. Published names have no slash
    in a provider.
    """
    provider = spec.provider and spec.provider.replace("/", "-")
    thinks = spec.reasoning not in (None, Reasoning.OFF)
    of = replace(spec, provider=None, reasoning=None)
    return (
        subject.provider == provider
        and subject.thinks == thinks
        and of.fits(replace(subject, provider=None))
    )


def write(path: Path, shares: Mapping[ChatModel, Shares]) -> None:
    """Put *shares* into the entries of models.yaml at *path*, each as its last key."""
    head, *entries = re.split(r"(?m)^(?=  - model: )", path.read_text(encoding="utf-8"))
    specs = read_models(path).specs
    written = []
    for entry, spec in zip(entries, specs, strict=True):
        known = [both for subject, both in shares.items() if is_meant(spec, subject)]
        bare = re.sub(r"    verbosity: .*\n", "", entry)
        line = f"    verbosity: [{known[0][0]:.2f}, {known[0][1]:.2f}]\n" if known else ""
        written.append(bare.rstrip("\n") + "\n" + line + bare[len(bare.rstrip("\n")) + 1 :])
    path.write_text(head + "".join(written), encoding="utf-8")


if __name__ == "__main__":
    main()
